/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd frames, without content size and checksum: a group has both.
 */
/* For ZSTD_c_literalCompressionMode; without it no trial is ever won. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "codec/codec_internal.h"

/*
 * Level 1 of the library is made for speed on any input; for groups of 64 to
 * 128 KiB a table of 16 K entries and matches from 6 bytes on cost nothing
 * measurable and save 2 to 6 % (a database: 173 MB against 182; level 3 takes
 * 163 and 1.8 times the processor time).
 */
#define ZSTD_FAST_HASH_LOG 14
#define ZSTD_FAST_MIN_MATCH 6
/*
 * What makes the match search skip ahead quickly where it finds nothing. On
 * samples of images or sound, whose gain is nearly all in the entropy coder,
 * that doubles the speed of both directions for 2 to 3 % of size.
 */
#define ZSTD_SKIP_TARGET 64
#define SKIP_GROUP_MIN CODEC_SAMPLED_MIN
#define SKIP_TRIAL_EVERY 32
#define SKIP_MAX_LOSS_PERCENT 5
/* Of a sample that a quick search leaves: with less, matches are the gain. */
#define SKIP_SAMPLE_PERCENT 75

static void zstd_set_fast(ZSTD_CCtx *zc)
{
	ZSTD_CCtx_setParameter(zc, ZSTD_c_hashLog, ZSTD_FAST_HASH_LOG);
	ZSTD_CCtx_setParameter(zc, ZSTD_c_minMatch, ZSTD_FAST_MIN_MATCH);
	/* By itself the library gives this up together with matches. */
	ZSTD_CCtx_setParameter(zc, ZSTD_c_literalCompressionMode,
			       ZSTD_lcm_huffman);
}

static int zstd_begin(struct codec_ctx *ctx)
{
	s32 level = ctx->choice.level;

	if (ctx->zstd.c && ctx->zstd.level == level)
		return 0;
	if (!ctx->zstd.c)
		ctx->zstd.c = ZSTD_createCCtx();
	if (!ctx->zstd.c)
		return -AKIN_E_nomem;
	ZSTD_CCtx_reset(ctx->zstd.c, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_compressionLevel, level);
	if (level == 1)
		zstd_set_fast(ctx->zstd.c);
	/* The group knows its length and has a checksum. */
	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_checksumFlag, 0);
	ctx->zstd.level = level;
	return 0;
}

static void zstd_release(struct codec_ctx *ctx)
{
	ZSTD_freeCCtx(ctx->zstd.c);
	ZSTD_freeDCtx(ctx->zstd.d);
}

static size_t zstd_once(struct codec_ctx *ctx, bool skip, const void *data,
			size_t n, u8 *out, size_t cap)
{
	size_t r;

	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_targetLength,
			       skip ? ZSTD_SKIP_TARGET : 0);
	r = ZSTD_compress2(ctx->zstd.c, out, cap, data, n);
	return ZSTD_isError(r) ? 0 : r;
}

/*
 * One group in SKIP_TRIAL_EVERY is compressed both ways, and where skipping
 * lost little, those that follow are skipped through too. Data of another kind
 * in between shows in samples.
 */
static size_t zstd_adapt(struct codec_ctx *ctx, const void *data, size_t n,
			 u8 *out, size_t cap)
{
	size_t full, skip;

	if (ctx->zstd.trial_in > 0 && !ctx->zstd.skip) {
		ctx->zstd.trial_in--;
		return zstd_once(ctx, false, data, n, out, cap);
	}
	if (n < SKIP_GROUP_MIN ||
	    codec_matches_pay(data, n, SKIP_SAMPLE_PERCENT))
		return zstd_once(ctx, false, data, n, out, cap);
	if (ctx->zstd.trial_in > 0) {
		ctx->zstd.trial_in--;
		return zstd_once(ctx, true, data, n, out, cap);
	}
	skip = zstd_once(ctx, true, data, n, out, cap);
	full = zstd_once(ctx, false, data, n, out, cap);
	ctx->zstd.skip = skip && skip * 100 <=
			 full * (100 + SKIP_MAX_LOSS_PERCENT);
	ctx->zstd.trial_in = SKIP_TRIAL_EVERY - 1;
	return full;
}

static long zstd_compress(struct codec_ctx *ctx, const void *data, size_t n,
			  u8 *out, size_t cap)
{
	int err = zstd_begin(ctx);
	size_t r;

	if (err)
		return err;
	if (ctx->choice.level == 1)
		return (long)zstd_adapt(ctx, data, n, out, cap);
	r = ZSTD_compress2(ctx->zstd.c, out, cap, data, n);
	return ZSTD_isError(r) ? 0 : (long)r;
}

/*
 * Against a reference most of the gain is in long matches into it, so that the
 * table must hold positions all over reference and group.
 */
#define ZSTD_REF_HASH_LOG 17

static long zstd_compress_ref(struct codec_ctx *ctx, const void *ref,
			      size_t ref_len, const void *data, size_t n,
			      u8 *out, size_t cap)
{
	int err = zstd_begin(ctx);
	size_t r;

	if (err)
		return err;
	/* What did not fit last time has left it where no prefix is taken. */
	ZSTD_CCtx_reset(ctx->zstd.c, ZSTD_reset_session_only);
	if (ctx->choice.level == 1) {
		ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_targetLength, 0);
		ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_hashLog,
				       ZSTD_REF_HASH_LOG);
	}
	r = ZSTD_CCtx_refPrefix(ctx->zstd.c, ref, ref_len);
	if (!ZSTD_isError(r))
		r = ZSTD_compress2(ctx->zstd.c, out, cap, data, n);
	if (ctx->choice.level == 1)
		ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_hashLog,
				       ZSTD_FAST_HASH_LOG);
	return ZSTD_isError(r) ? 0 : (long)r;
}

static int zstd_finish(struct codec_ctx *ctx, const void *data, size_t n,
		       u8 *out, size_t raw_len)
{
	size_t r = ZSTD_decompressDCtx(ctx->zstd.d, out, raw_len, data, n);

	return r == raw_len ? 0 : -AKIN_E_bad_data;
}

static int zstd_decompress(struct codec_ctx *ctx, const void *data, size_t n,
			   u8 *out, size_t raw_len)
{
	if (!ctx->zstd.d)
		ctx->zstd.d = ZSTD_createDCtx();
	if (!ctx->zstd.d)
		return -AKIN_E_nomem;
	return zstd_finish(ctx, data, n, out, raw_len);
}

static int zstd_decompress_ref(struct codec_ctx *ctx, const void *ref,
			       size_t ref_len, const void *data, size_t n,
			       u8 *out, size_t raw_len)
{
	if (!ctx->zstd.d)
		ctx->zstd.d = ZSTD_createDCtx();
	if (!ctx->zstd.d)
		return -AKIN_E_nomem;
	/* For one frame; gone after it, also after an error. */
	if (ZSTD_isError(ZSTD_DCtx_refPrefix(ctx->zstd.d, ref, ref_len)))
		return -AKIN_E_nomem;
	return zstd_finish(ctx, data, n, out, raw_len);
}

const struct codec_ops codec_zstd = {
	.name = "zstd",
	.level_min = 1,
	.level_max = 19,
	.level_default = 3,
	.compress = zstd_compress,
	.decompress = zstd_decompress,
	.compress_ref = zstd_compress_ref,
	.decompress_ref = zstd_decompress_ref,
	.release = zstd_release,
};
