/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container header and footer: fixed size, one at each end of the file.
 *
 * A header is believed if and only if, in this order:
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its major version is ours			-AKIN_E_bad_version
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - reserved bytes of a version we know are 0	-AKIN_E_bad_field
 *  - number >= 1, kind is data or metadata	-AKIN_E_bad_field
 *  - the cipher is one we know (none)		-AKIN_E_feature
 *
 * A footer: the same down to the reserved bytes, then
 *  - number >= 1				-AKIN_E_bad_field
 *  - the directory lies behind the header and is not larger than a directory
 *    or the container may be			-AKIN_E_bad_length
 * That it ends where the footer starts is for the reader, who has the size.
 */
#include "format/format_container.h"
#include "format/format_internal.h"

static const u8 header_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_HEADER;
static const u8 footer_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_FOOTER;

struct container_header_disk {
	u8   magic[8];		/* +0x00  "AKINCON\0"                   */
	le32 version;		/* +0x08  major << 16 | minor           */
	le32 generation;	/* +0x0c                                */
	le64 number;		/* +0x10                                */
	le64 session;		/* +0x18                                */
	u8   pool[16];		/* +0x20                                */
	u8   salt[32];		/* +0x30                                */
	u8   kind;		/* +0x50  1 data, 2 metadata            */
	u8   cipher;		/* +0x51  0                             */
	u8   key_slot;		/* +0x52                                */
	u8   parity;		/* +0x53  0: none                       */
	u8   rsvd[36];		/* +0x54  zero                          */
	le64 checksum;		/* +0x78  over +0x00 .. +0x77           */
};
static_assert(sizeof(struct container_header_disk) == CONTAINER_HEADER_BYTES,
	      "disk format");

struct container_footer_disk {
	u8   magic[8];		/* +0x00  "AKINFOO\0"                   */
	le32 version;		/* +0x08                                */
	le32 generation;	/* +0x0c                                */
	le64 number;		/* +0x10                                */
	le64 dir_off;		/* +0x18  from the start of the file    */
	le32 dir_len;		/* +0x20                                */
	u8   rsvd[20];		/* +0x24  zero                          */
	le64 checksum;		/* +0x38  over +0x00 .. +0x37           */
};
static_assert(sizeof(struct container_footer_disk) == CONTAINER_FOOTER_BYTES,
	      "disk format");

void container_header_encode(const struct container_header *h,
			     u8 out[CONTAINER_HEADER_BYTES])
{
	struct container_header_disk d;

	memset(&d, 0, sizeof(d));
	memcpy(d.magic, header_magic, sizeof(d.magic));
	put_le32(d.version.b, FORMAT_VERSION);
	put_le32(d.generation.b, h->generation);
	put_le64(d.number.b, h->number);
	put_le64(d.session.b, h->session);
	memcpy(d.pool, h->pool.b, sizeof(d.pool));
	memcpy(d.salt, h->salt, sizeof(d.salt));
	d.kind = h->kind;
	d.cipher = h->cipher;
	d.key_slot = h->key_slot;
	d.parity = h->parity;
	put_le64(d.checksum.b,
		 format_checksum(&d, offsetof(struct container_header_disk,
					      checksum)));
	memcpy(out, &d, sizeof(d));
}

int container_header_decode(const u8 in[CONTAINER_HEADER_BYTES],
			    struct container_header *out)
{
	struct container_header_disk d;
	u32 version;

	memset(out, 0, sizeof(*out));
	memcpy(&d, in, sizeof(d));
	if (memcmp(d.magic, header_magic, sizeof(d.magic)))
		return -AKIN_E_bad_magic;
	version = get_le32(d.version.b);
	if (format_version_check(version))
		return -AKIN_E_bad_version;
	if (get_le64(d.checksum.b) !=
	    format_checksum(&d, offsetof(struct container_header_disk,
					 checksum)))
		return -AKIN_E_bad_checksum;
	if (format_version_known(version) &&
	    !format_is_zero(d.rsvd, sizeof(d.rsvd)))
		return -AKIN_E_bad_field;
	if (!get_le64(d.number.b) ||
	    (d.kind != CONTAINER_DATA && d.kind != CONTAINER_METADATA))
		return -AKIN_E_bad_field;
	if (d.cipher)
		return -AKIN_E_feature;
	out->generation = get_le32(d.generation.b);
	out->number = get_le64(d.number.b);
	out->session = get_le64(d.session.b);
	memcpy(out->pool.b, d.pool, sizeof(d.pool));
	memcpy(out->salt, d.salt, sizeof(d.salt));
	out->kind = d.kind;
	out->cipher = d.cipher;
	out->key_slot = d.key_slot;
	out->parity = d.parity;
	return 0;
}

void container_footer_encode(const struct container_footer *f,
			     u8 out[CONTAINER_FOOTER_BYTES])
{
	struct container_footer_disk d;

	memset(&d, 0, sizeof(d));
	memcpy(d.magic, footer_magic, sizeof(d.magic));
	put_le32(d.version.b, FORMAT_VERSION);
	put_le32(d.generation.b, f->generation);
	put_le64(d.number.b, f->number);
	put_le64(d.dir_off.b, f->dir_off);
	put_le32(d.dir_len.b, f->dir_len);
	put_le64(d.checksum.b,
		 format_checksum(&d, offsetof(struct container_footer_disk,
					      checksum)));
	memcpy(out, &d, sizeof(d));
}

int container_footer_decode(const u8 in[CONTAINER_FOOTER_BYTES],
			    struct container_footer *out)
{
	struct container_footer_disk d;
	u64 dir_off;
	u32 version, dir_len;

	memset(out, 0, sizeof(*out));
	memcpy(&d, in, sizeof(d));
	if (memcmp(d.magic, footer_magic, sizeof(d.magic)))
		return -AKIN_E_bad_magic;
	version = get_le32(d.version.b);
	if (format_version_check(version))
		return -AKIN_E_bad_version;
	if (get_le64(d.checksum.b) !=
	    format_checksum(&d, offsetof(struct container_footer_disk,
					 checksum)))
		return -AKIN_E_bad_checksum;
	if (format_version_known(version) &&
	    !format_is_zero(d.rsvd, sizeof(d.rsvd)))
		return -AKIN_E_bad_field;
	if (!get_le64(d.number.b))
		return -AKIN_E_bad_field;
	dir_off = get_le64(d.dir_off.b);
	dir_len = get_le32(d.dir_len.b);
	if (dir_off < CONTAINER_HEADER_BYTES ||
	    dir_off > CONTAINER_MAX_BYTES || dir_len > DIRECTORY_MAX_BYTES ||
	    dir_off + dir_len + CONTAINER_FOOTER_BYTES > CONTAINER_MAX_BYTES)
		return -AKIN_E_bad_length;
	out->number = get_le64(d.number.b);
	out->generation = get_le32(d.generation.b);
	out->dir_off = dir_off;
	out->dir_len = dir_len;
	return 0;
}
