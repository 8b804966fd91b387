/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superblocks: two equal copies of one page.
 *
 * A copy is sound if and only if, in this order:
 *  - all of it is there			-AKIN_E_short_read
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its major version is ours			-AKIN_E_bad_version
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - reserved bytes of a version we know are 0	-AKIN_E_bad_field
 *  - no incompatible feature is unknown	-AKIN_E_feature
 *  - what super_check() lists
 *
 * The file is believed if a copy is sound; of two, the one with the higher
 * sequence, the first if they are equal. If none is, the error is that of the
 * copy that got furthest down the list, the first if equal; but a whole copy
 * (right magic and checksum) that we are too old for is never passed over for
 * one with a lower sequence: then the error is its own.
 */
#include "format/format_container.h"
#include "format/format_internal.h"
#include "format/format_parity.h"
#include "format/format_super.h"

static const u8 super_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_SUPER;

struct super_key_disk {
	u8   kind;		/* +0x00  enum super_key_kind           */
	u8   kdf;		/* +0x01  0: none                       */
	u8   rsvd[2];		/* +0x02  zero                          */
	le32 kdf_params[3];	/* +0x04                                */
	u8   salt[32];		/* +0x10                                */
	u8   wrapped[64];	/* +0x30                                */
	u8   rsvd2[16];		/* +0x70  zero                          */
};
static_assert(sizeof(struct super_key_disk) == 128, "disk format");

struct super_disk {
	u8   magic[8];		/* +0x000  "AKINSUP\0"                  */
	le32 version;		/* +0x008                               */
	u8   role;		/* +0x00c  1 metadata, 2 data           */
	u8   hash_id;		/* +0x00d  1 blake3, 2 sha256           */
	u8   chunk_method;	/* +0x00e  1 content-defined, 2 fixed   */
	u8   codec_id;		/* +0x00f                               */
	le64 feat_compat;	/* +0x010                               */
	le64 feat_ro_compat;	/* +0x018                               */
	le64 feat_incompat;	/* +0x020                               */
	u8   pool[16];		/* +0x028                               */
	le64 sequence;		/* +0x038                               */
	le64 created_sec;	/* +0x040  signed, since 1970           */
	le32 chunk_min;		/* +0x048  bytes                        */
	le32 chunk_avg;		/* +0x04c                               */
	le32 chunk_max;		/* +0x050                               */
	le32 codec_level;	/* +0x054  signed                       */
	le32 group_bytes;	/* +0x058                               */
	le32 container_bytes;	/* +0x05c                               */
	le32 container_chunks;	/* +0x060                               */
	u8   delta_depth;	/* +0x064                               */
	u8   engine;		/* +0x065                               */
	u8   verify;		/* +0x066                               */
	u8   parity;		/* +0x067  percent                      */
	u8   rsvd[8];		/* +0x068  zero                         */
	u8   share_seed[32];	/* +0x070                               */
	u8   rsvd2[112];	/* +0x090  zero                         */
	struct super_key_disk keys[SUPER_KEY_SLOTS];	/* +0x100       */
	u8   rsvd3[2808];	/* +0x500  zero                         */
	le64 checksum;		/* +0xff8  over +0x000 .. +0xff7        */
};
static_assert(sizeof(struct super_disk) == SUPER_COPY_BYTES, "disk format");
static_assert(offsetof(struct super_disk, keys) == 0x100, "disk format");
static_assert(offsetof(struct super_disk, rsvd3) == 0x500, "disk format");

static bool super_key_ok(const struct super_key_slot *k)
{
	switch (k->kind) {
	case SUPER_KEY_EMPTY:
		return !k->kdf && !k->kdf_params[0] && !k->kdf_params[1] &&
		       !k->kdf_params[2] &&
		       format_is_zero(k->salt, sizeof(k->salt)) &&
		       format_is_zero(k->wrapped, sizeof(k->wrapped));
	case SUPER_KEY_CLEAR:
		return format_is_zero(k->wrapped + 32, sizeof(k->wrapped) - 32);
	default:
		return true;	/* for whoever knows the kind */
	}
}

/*
 *  - role, hash, chunk method, verify, engine known
 *						-AKIN_E_bad_field, _feature
 *  - 1 <= chunk_min <= chunk_avg <= chunk_max <= CHUNK_MAX_RAW
 *						-AKIN_E_bad_field
 *  - group_bytes >= 1, and a chunk more fits a group
 *						-AKIN_E_bad_field
 *  - 1 <= container_bytes <= CONTAINER_MAX_BYTES / 2,
 *    1 <= container_chunks <= CONTAINER_MAX_ENTRIES
 *						-AKIN_E_bad_field
 *  - delta_depth <= GROUP_MAX_DEPTH		-AKIN_E_bad_field
 *  - parity <= PARITY_PERCENT_MAX		-AKIN_E_bad_field
 *  - empty key slots are zero, clear ones hold 32 bytes
 *						-AKIN_E_bad_field
 */
static int super_check(const struct super *s)
{
	u32 i;

	if (s->role != SUPER_METADATA && s->role != SUPER_DATA)
		return -AKIN_E_bad_field;
	if (s->hash_id < 1 || s->hash_id > 2 || s->chunk_method < 1 ||
	    s->chunk_method > 2 || s->verify > SUPER_VERIFY_WRITE ||
	    s->engine > SUPER_ENGINE_HYBRID)
		return -AKIN_E_feature;
	if (!s->chunk_min || s->chunk_min > s->chunk_avg ||
	    s->chunk_avg > s->chunk_max || s->chunk_max > CHUNK_MAX_RAW)
		return -AKIN_E_bad_field;
	if (!s->group_bytes || s->group_bytes > GROUP_MAX_RAW - CHUNK_MAX_RAW)
		return -AKIN_E_bad_field;
	if (!s->container_bytes ||
	    s->container_bytes > CONTAINER_MAX_BYTES / 2 ||
	    !s->container_chunks ||
	    s->container_chunks > CONTAINER_MAX_ENTRIES ||
	    s->delta_depth > GROUP_MAX_DEPTH ||
	    s->parity > PARITY_PERCENT_MAX)
		return -AKIN_E_bad_field;
	for (i = 0; i < SUPER_KEY_SLOTS; i++)
		if (!super_key_ok(&s->keys[i]))
			return -AKIN_E_bad_field;
	return 0;
}

static void super_key_put(const struct super_key_slot *k,
			  struct super_key_disk *d)
{
	u32 i;

	d->kind = k->kind;
	d->kdf = k->kdf;
	for (i = 0; i < ARRAY_SIZE(k->kdf_params); i++)
		put_le32(d->kdf_params[i].b, k->kdf_params[i]);
	memcpy(d->salt, k->salt, sizeof(d->salt));
	memcpy(d->wrapped, k->wrapped, sizeof(d->wrapped));
}

static void super_key_get(const struct super_key_disk *d,
			  struct super_key_slot *k)
{
	u32 i;

	k->kind = d->kind;
	k->kdf = d->kdf;
	for (i = 0; i < ARRAY_SIZE(k->kdf_params); i++)
		k->kdf_params[i] = get_le32(d->kdf_params[i].b);
	memcpy(k->salt, d->salt, sizeof(k->salt));
	memcpy(k->wrapped, d->wrapped, sizeof(k->wrapped));
}

static void super_put(const struct super *s, struct super_disk *d)
{
	u32 i;

	memset(d, 0, sizeof(*d));
	memcpy(d->magic, super_magic, sizeof(d->magic));
	put_le32(d->version.b, FORMAT_VERSION);
	d->role = s->role;
	d->hash_id = s->hash_id;
	d->chunk_method = s->chunk_method;
	d->codec_id = s->codec_id;
	put_le64(d->feat_compat.b, s->feat_compat);
	put_le64(d->feat_ro_compat.b, s->feat_ro_compat);
	put_le64(d->feat_incompat.b, s->feat_incompat);
	memcpy(d->pool, s->pool.b, sizeof(d->pool));
	put_le64(d->sequence.b, s->sequence);
	put_le64(d->created_sec.b, (u64)s->created_sec);
	put_le32(d->chunk_min.b, s->chunk_min);
	put_le32(d->chunk_avg.b, s->chunk_avg);
	put_le32(d->chunk_max.b, s->chunk_max);
	put_le32(d->codec_level.b, (u32)s->codec_level);
	put_le32(d->group_bytes.b, s->group_bytes);
	put_le32(d->container_bytes.b, s->container_bytes);
	put_le32(d->container_chunks.b, s->container_chunks);
	d->delta_depth = s->delta_depth;
	d->engine = s->engine;
	d->verify = s->verify;
	d->parity = s->parity;
	memcpy(d->share_seed, s->share_seed, sizeof(d->share_seed));
	for (i = 0; i < SUPER_KEY_SLOTS; i++)
		super_key_put(&s->keys[i], &d->keys[i]);
	put_le64(d->checksum.b,
		 format_checksum(d, offsetof(struct super_disk, checksum)));
}

static void super_get(const struct super_disk *d, struct super *s)
{
	u32 i;

	s->version = get_le32(d->version.b);
	s->role = d->role;
	s->hash_id = d->hash_id;
	s->chunk_method = d->chunk_method;
	s->codec_id = d->codec_id;
	s->feat_compat = get_le64(d->feat_compat.b);
	s->feat_ro_compat = get_le64(d->feat_ro_compat.b);
	s->feat_incompat = get_le64(d->feat_incompat.b);
	memcpy(s->pool.b, d->pool, sizeof(s->pool.b));
	s->sequence = get_le64(d->sequence.b);
	s->created_sec = (s64)get_le64(d->created_sec.b);
	s->chunk_min = get_le32(d->chunk_min.b);
	s->chunk_avg = get_le32(d->chunk_avg.b);
	s->chunk_max = get_le32(d->chunk_max.b);
	s->codec_level = (s32)get_le32(d->codec_level.b);
	s->group_bytes = get_le32(d->group_bytes.b);
	s->container_bytes = get_le32(d->container_bytes.b);
	s->container_chunks = get_le32(d->container_chunks.b);
	s->delta_depth = d->delta_depth;
	s->engine = d->engine;
	s->verify = d->verify;
	s->parity = d->parity;
	memcpy(s->share_seed, d->share_seed, sizeof(s->share_seed));
	for (i = 0; i < SUPER_KEY_SLOTS; i++)
		super_key_get(&d->keys[i], &s->keys[i]);
}

int super_encode(const struct super *s, u8 out[SUPER_FILE_BYTES])
{
	struct super_disk d;
	int err;

	err = super_check(s);
	if (err)
		return err;
	super_put(s, &d);
	memcpy(out, &d, sizeof(d));
	memcpy(out + SUPER_COPY_BYTES, &d, sizeof(d));
	return 0;
}

static bool super_reserved_zero(const struct super_disk *d)
{
	u32 i;

	for (i = 0; i < SUPER_KEY_SLOTS; i++)
		if (!format_is_zero(d->keys[i].rsvd, sizeof(d->keys[i].rsvd)) ||
		    !format_is_zero(d->keys[i].rsvd2, sizeof(d->keys[i].rsvd2)))
			return false;
	return format_is_zero(d->rsvd, sizeof(d->rsvd)) &&
	       format_is_zero(d->rsvd2, sizeof(d->rsvd2)) &&
	       format_is_zero(d->rsvd3, sizeof(d->rsvd3));
}

/* One copy. @whole: right magic and checksum, and so @out->sequence counts
 * even if the copy is not for us. */
static int super_copy_decode(const u8 *data, size_t len, struct super *out,
			     bool *whole)
{
	struct super_disk d;
	u32 version;

	*whole = false;
	memset(out, 0, sizeof(*out));
	if (len < sizeof(d))
		return -AKIN_E_short_read;
	memcpy(&d, data, sizeof(d));
	if (memcmp(d.magic, super_magic, sizeof(d.magic)))
		return -AKIN_E_bad_magic;
	*whole = get_le64(d.checksum.b) ==
		 format_checksum(&d, offsetof(struct super_disk, checksum));
	super_get(&d, out);
	version = out->version;
	if (format_version_check(version))
		return -AKIN_E_bad_version;
	if (!*whole)
		return -AKIN_E_bad_checksum;
	if (format_version_known(version) && !super_reserved_zero(&d))
		return -AKIN_E_bad_field;
	if (out->feat_incompat & ~(u64)SUPER_FEAT_INCOMPAT_KNOWN)
		return -AKIN_E_feature;
	return super_check(out);
}

/* How far down the list of conditions a copy got. */
static int super_rank(int err)
{
	static const int order[] = { AKIN_E_short_read, AKIN_E_bad_magic,
				     AKIN_E_bad_checksum, AKIN_E_bad_version,
				     AKIN_E_bad_field, AKIN_E_feature };
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(order); i++)
		if (-err == order[i])
			return i;
	return i;
}

/* @version 0: not known for sure. */
static int super_fail(int err, u32 version, struct akin_diag *diag)
{
	if (err == -AKIN_E_bad_version && version)
		return diag_set(diag, err, "superblock: the pool has format "
				"%u.%u, which is %s; this version is for %u.x",
				version >> 16, version & 0xffff,
				version < FORMAT_VERSION ? "too old" : "newer",
				FORMAT_VERSION >> 16);
	if (akin_error_class(err) == AKIN_CLASS_UNSUPPORTED)
		return diag_set(diag, err,
				"superblock was made by a newer version");
	return diag_set(diag, err, "no sound copy of the superblock: %s",
			akin_strerror(err));
}

int super_decode(const void *data, size_t len, struct super *out,
		 int *sound_ret, struct akin_diag *diag)
{
	const u8 *p = data;
	struct super second;
	bool whole[2];
	u32 version;
	int err[2], best;

	err[0] = super_copy_decode(p, len, out, &whole[0]);
	if (len > SUPER_COPY_BYTES)
		err[1] = super_copy_decode(p + SUPER_COPY_BYTES,
					   len - SUPER_COPY_BYTES, &second,
					   &whole[1]);
	else
		err[1] = super_copy_decode(p, 0, &second, &whole[1]);
	if (sound_ret)
		*sound_ret = !err[0] + !err[1];
	if (whole[0] && whole[1])
		best = second.sequence > out->sequence;
	else if (whole[0] || whole[1])
		best = whole[1];
	else
		best = super_rank(err[1]) > super_rank(err[0]);
	/* A whole copy that is not sound yields, unless we are too old for it:
	 * then what it says is news and the other copy is stale. */
	if (err[best] && !err[!best] &&
	    akin_error_class(err[best]) != AKIN_CLASS_UNSUPPORTED)
		best = !best;
	if (err[best]) {
		version = !whole[best] ? 0 : best ? second.version :
						    out->version;
		memset(out, 0, sizeof(*out));
		return super_fail(err[best], version, diag);
	}
	if (best)
		*out = second;
	return 0;
}
