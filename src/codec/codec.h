/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression codecs by name.
 *
 * A codec compresses one group at a time. What does not shrink enough is stored
 * raw (CODEC_NONE), so a compressed payload is always shorter than its raw
 * bytes. Ids are on disk (docs/format/container.md).
 *
 * Thread safety: a context belongs to one thread at a time.
 */
#ifndef CODEC_H
#define CODEC_H

#include "base/diag.h"
#include "base/types.h"

enum codec_id {
	CODEC_NONE = 0,
	CODEC_LZ4 = 1,
	CODEC_ZSTD = 2,
	CODEC_LZJB = 3,		/* of ZFS, to compare with it; its gzip too */
	CODEC_GZIP = 4,		/* DEFLATE, without gzip's head and checksum */
	CODEC_PLANES = 5,	/* zstd of byte planes: zstd chooses it itself */
	CODEC_NR
};

struct codec_choice {
	u8 id;
	s32 level;		/* zstd: 1..19, gzip: 1..9; otherwise 0 */
};

/* "none", "lzjb", "zstd", "gzip:9". -AKIN_E_usage with the list of names. */
int codec_parse(const char *text, struct codec_choice *out,
		struct akin_diag *diag) __must_check;
/* "zstd:3"; @out needs 16 bytes. */
void codec_print(const struct codec_choice *c, char out[16]);
/* NULL for ids this version does not know. */
const char *codec_name(u8 id);

struct codec_ctx;
int codec_ctx_new(const struct codec_choice *c, struct codec_ctx **out,
		  struct akin_diag *diag) __must_check;
void codec_ctx_free(struct codec_ctx *ctx);
/* Compress by this from now on; its id is known. Cheap if nothing changes. */
void codec_ctx_choose(struct codec_ctx *ctx, const struct codec_choice *c);

/* Bytes a compressed group may need while it is being made. */
size_t codec_bound(size_t raw_len);
/* How much a group must shrink to be stored compressed. */
enum codec_gain {
	CODEC_GAIN_EIGHTH,	/* data: decoding costs time; probed before */
	CODEC_GAIN_ANY,		/* metadata: mostly fingerprints, small */
};

/*
 * Compress @n bytes into @out (at least codec_bound(n) bytes). *id_ret is the
 * codec used, which may be a variant of the one chosen: CODEC_NONE means nothing
 * was written and the raw bytes are to be stored.
 */
int codec_compress(struct codec_ctx *ctx, enum codec_gain gain,
		   const void *data, size_t n, u8 *out, size_t *len_ret,
		   u8 *id_ret, struct akin_diag *diag)
	__must_check;
/* Codecs that can compress against other bytes. */
bool codec_has_ref(const struct codec_ctx *ctx);
/*
 * The same against @ref_len bytes of @ref, which decoding needs again, just as
 * they are. Never probes: similar data shrinks however random it looks. *id_ret
 * is CODEC_NONE if the group did not shrink. Only with codec_has_ref().
 */
int codec_compress_ref(struct codec_ctx *ctx, enum codec_gain gain,
		       const void *ref, size_t ref_len, const void *data,
		       size_t n, u8 *out, size_t *len_ret, u8 *id_ret,
		       struct akin_diag *diag) __must_check;
/* As codec_decompress(). -AKIN_E_bad_data also for a codec without @ref. */
int codec_decompress_ref(struct codec_ctx *ctx, u8 id, const void *ref,
			 size_t ref_len, const void *data, size_t n, u8 *out,
			 size_t raw_len) __must_check;
/*
 * Exactly @raw_len bytes come out of all @n, or -AKIN_E_bad_data; the input is
 * hostile. Any context decodes any codec.
 */
int codec_decompress(struct codec_ctx *ctx, u8 id, const void *data, size_t n,
		     u8 *out, size_t raw_len) __must_check;

#endif
