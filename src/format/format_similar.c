/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image of the similarity table's file.
 *
 *	head		48 bytes
 *	entries		12 bytes each, in any order
 *	checksum	le64 over everything before it
 *
 * Believed if and only if, in this order:
 *  - it has room for head and checksum		-AKIN_E_bad_length
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its major version is ours			-AKIN_E_bad_version
 *  - it is as long as its head says		-AKIN_E_bad_length
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - reserved bytes of a version we know are 0,
 *    there are 1..16 levels			-AKIN_E_bad_field
 *  - each entry's level is below that, its container not 0
 *						-AKIN_E_bad_field
 * Whether it is this pool's is for the caller to see.
 */
#include "format/format_internal.h"
#include "format/format_similar.h"

static const u8 similar_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_SIMILAR;

struct similar_head_disk {
	u8   magic[8];		/* +0x00  "AKINSIM\0"                   */
	le32 version;		/* +0x08                                */
	u8   levels;		/* +0x0c                                */
	u8   rsvd[3];		/* +0x0d  zero                          */
	u8   pool[16];		/* +0x10                                */
	le64 covered;		/* +0x20                                */
	le64 nr;		/* +0x28                                */
};
static_assert(sizeof(struct similar_head_disk) == SIMILAR_HEAD_BYTES,
	      "disk format");
static_assert(SIMILAR_SUM_BYTES == FORMAT_CHECKSUM_BYTES, "disk format");

struct similar_entry_disk {
	le64 key;		/* +0x00  level in its lowest four bits */
	le32 container;		/* +0x08                                */
};
static_assert(sizeof(struct similar_entry_disk) == SIMILAR_ENTRY_BYTES,
	      "disk format");

size_t similar_image_bytes(u32 nr)
{
	return SIMILAR_HEAD_BYTES + (size_t)nr * SIMILAR_ENTRY_BYTES +
	       FORMAT_CHECKSUM_BYTES;
}

void similar_image_begin(const struct similar_image *img, struct buf *out)
{
	struct similar_head_disk head;

	memset(&head, 0, sizeof(head));
	memcpy(head.magic, similar_magic, sizeof(head.magic));
	put_le32(head.version.b, FORMAT_VERSION);
	head.levels = img->levels;
	memcpy(head.pool, img->pool.b, sizeof(head.pool));
	put_le64(head.covered.b, img->covered);
	put_le64(head.nr.b, img->nr);
	buf_put(out, &head, sizeof(head));
}

void similar_image_put(struct buf *out, u64 key, u32 container)
{
	struct similar_entry_disk e;

	put_le64(e.key.b, key);
	put_le32(e.container.b, container);
	buf_put(out, &e, sizeof(e));
}

int similar_image_end(struct buf *out, size_t start)
{
	if (buf_error(out))
		return buf_error(out);
	buf_put_le64(out, format_checksum(out->data + start,
					  out->len - start));
	return buf_error(out);
}

static int similar_check_entries(const struct similar_image *img)
{
	u32 i, container;
	u64 key;

	for (i = 0; i < img->nr; i++) {
		similar_image_get(img, i, &key, &container);
		if (SIMILAR_LEVEL(key) >= img->levels || !container)
			return -AKIN_E_bad_field;
	}
	return 0;
}

int similar_image_extent(const void *data, size_t len, size_t *len_ret)
{
	struct similar_head_disk head;
	u64 nr;

	if (len < similar_image_bytes(0))
		return -AKIN_E_bad_length;
	memcpy(&head, data, sizeof(head));
	nr = get_le64(head.nr.b);
	if (nr > SIMILAR_MAX_ENTRIES || len < similar_image_bytes((u32)nr))
		return -AKIN_E_bad_length;
	*len_ret = similar_image_bytes((u32)nr);
	return 0;
}

int similar_image_decode(const void *data, size_t len,
			 struct similar_image *out)
{
	struct similar_head_disk head;
	u32 version;
	u64 nr;

	memset(out, 0, sizeof(*out));
	if (len < similar_image_bytes(0))
		return -AKIN_E_bad_length;
	memcpy(&head, data, sizeof(head));
	if (memcmp(head.magic, similar_magic, sizeof(head.magic)))
		return -AKIN_E_bad_magic;
	version = get_le32(head.version.b);
	if (format_version_check(version))
		return -AKIN_E_bad_version;
	nr = get_le64(head.nr.b);
	if (nr > SIMILAR_MAX_ENTRIES || len != similar_image_bytes((u32)nr))
		return -AKIN_E_bad_length;
	len -= FORMAT_CHECKSUM_BYTES;
	if (get_le64((const u8 *)data + len) != format_checksum(data, len))
		return -AKIN_E_bad_checksum;
	if ((format_version_known(version) &&
	     !format_is_zero(head.rsvd, sizeof(head.rsvd))) ||
	    !head.levels || head.levels > SIMILAR_LEVELS)
		return -AKIN_E_bad_field;
	memcpy(out->pool.b, head.pool, sizeof(head.pool));
	out->covered = get_le64(head.covered.b);
	out->levels = head.levels;
	out->nr = (u32)nr;
	out->entries = (const u8 *)data + SIMILAR_HEAD_BYTES;
	return similar_check_entries(out);
}

void similar_image_get(const struct similar_image *img, u32 i, u64 *key_ret,
		       u32 *container_ret)
{
	const u8 *p = img->entries + (size_t)i * SIMILAR_ENTRY_BYTES;

	*key_ret = get_le64(p);
	*container_ret = get_le32(p + 8);
}
