/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of codec/ share: a context, and the operations of one codec.
 */
#ifndef CODEC_INTERNAL_H
#define CODEC_INTERNAL_H

#include "base/diag.h"
#include "codec/codec.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;
struct match_finder;
struct libdeflate_compressor;
struct libdeflate_decompressor;

/* Everything is made on first use, so a context costs what it is used for. */
struct codec_ctx {
	struct codec_choice choice;
	struct {
		struct ZSTD_CCtx_s *c;
		struct ZSTD_DCtx_s *d;
		s32 level;	/* that @c is set to */
		/* What suits the data of late; see zstd_adapt(). */
		u32 trial_in;	/* groups to come without another trial */
		bool skip;	/* what the last one said */
		u32 planes;
		struct match_finder *finder;
	} zstd;
	u32 nr_looked;		/* groups that codec_compress() has probed */
	u8 *planes;		/* a group in planes; see zstd_room() */
	size_t planes_bytes;
	struct {
		struct libdeflate_compressor *c;
		struct libdeflate_decompressor *d;
		s32 level;
	} gzip;
};

/* Levels are 0 for codecs that have none. */
struct codec_ops {
	const char *name;
	s32 level_min, level_max, level_default;
	bool planes;		/* it looks for samples of several bytes */
	/* Bytes written, 0 if it does not fit into @cap; negative: error.
	 * *id_ret is the codec of ctx->choice, and may become another. NULL:
	 * made by another codec, as it sees fit. */
	long (*compress)(struct codec_ctx *ctx, const void *data, size_t n,
			 u8 *out, size_t cap, u8 *id_ret);
	/* All of @data, and exactly @raw_len bytes: 0, -AKIN_E_bad_data or
	 * -AKIN_E_nomem. Sizes are at most INT32_MAX. */
	int (*decompress)(struct codec_ctx *ctx, const void *data, size_t n,
			  u8 *out, size_t raw_len);
	/* Against @ref; NULL: cannot. */
	long (*compress_ref)(struct codec_ctx *ctx, const void *ref,
			     size_t ref_len, const void *data, size_t n,
			     u8 *out, size_t cap);
	int (*decompress_ref)(struct codec_ctx *ctx, const void *ref,
			      size_t ref_len, const void *data, size_t n,
			      u8 *out, size_t raw_len);
	/* Drops what the context made for this codec; may be NULL. */
	void (*release)(struct codec_ctx *ctx);
};

extern const struct codec_ops codec_lz4, codec_zstd, codec_lzjb, codec_gzip;
extern const struct codec_ops codec_planes;

/*
 * Samples of a group: CODEC_SAMPLE_BYTES at CODEC_SAMPLES spots. Enough for
 * LZ4 to meet its own history, and for the histogram of random bytes to read
 * above 7.9 bits (its expectation at 4 KiB is 7.955).
 */
#define CODEC_SAMPLES 3
#define CODEC_SAMPLE_BYTES 4096
/* Smaller groups are not worth sampling. */
#define CODEC_SAMPLED_MIN (8 * CODEC_SAMPLE_BYTES)

/* @n is CODEC_SAMPLED_MIN at least; @i below CODEC_SAMPLES. */
static inline const u8 *codec_sample(const u8 *data, size_t n, int i)
{
	return data + (n - CODEC_SAMPLE_BYTES) / (CODEC_SAMPLES - 1) *
	       (size_t)i;
}

/* False for what neither matches nor an entropy coder can shrink, the latter
 * also not in planes if @planes. */
bool codec_probe(const u8 *data, size_t n, bool planes);
/* In how many planes (2 or 4) an entropy coder would gain; 1: not at all. @n is
 * CODEC_SAMPLED_MIN at least. */
u32 codec_probe_planes(const u8 *data, size_t n);
/* Do matches alone leave less than @percent of the samples? */
bool codec_matches_pay(const u8 *data, size_t n, int percent);

#endif
