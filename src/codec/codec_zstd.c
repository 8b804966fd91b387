/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd frames, without content size and checksum: a group has both. Arrays of
 * samples of several bytes are compressed in planes, a frame for each, which is
 * a codec of its own on disk; nobody has to choose it.
 */
/* For ZSTD_c_literalCompressionMode; without it no trial is ever won. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/mem.h"
#include "codec/codec_internal.h"
#include "codec/codec_matches.h"
#include "codec/codec_planes.h"

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
#define SKIP_MAX_LOSS_PERCENT 5
/* In planes, which have gained more than that before. */
#define SKIP_MAX_LOSS_PLANES_PERCENT 8
/*
 * Samples of two bytes shrink by 12 to 15 % more in planes, at the speed of
 * skipping; they must gain PLANES_MIN_GAIN_PERCENT.
 */
#define PLANES_MIN_GAIN_PERCENT 3
/* Larger groups are left as they are: decoding takes a buffer of that size. */
#define PLANES_RAW_MAX (1u << 20)
/*
 * Trials. Every TRIAL_EVERY groups, and where matches pay, and so nothing is to
 * be tried, every TRIAL_AFTER_MATCHES.
 */
#define TRIAL_GROUP_MIN CODEC_SAMPLED_MIN
#define TRIAL_EVERY 32
#define TRIAL_AFTER_MATCHES 8
/* Of a sample that a quick search leaves: with less, matches are the gain. */
#define MATCHES_PAY_PERCENT 75

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
	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_blockDelimiters,
			       ZSTD_sf_explicitBlockDelimiters);
	ctx->zstd.level = level;
	ctx->zstd.trial_in = 0;
	ctx->zstd.skip = false;
	ctx->zstd.planes = 1;
	return 0;
}

static void zstd_release(struct codec_ctx *ctx)
{
	mem_free(ctx->planes);
	match_finder_free(ctx->zstd.finder);
	ZSTD_freeCCtx(ctx->zstd.c);
	ZSTD_freeDCtx(ctx->zstd.d);
}

/* Room for @n bytes in planes. */
static u8 *zstd_room(struct codec_ctx *ctx, size_t n)
{
	if (n > ctx->planes_bytes || !ctx->planes) {
		mem_free(ctx->planes);
		ctx->planes = mem_alloc(n ? n : 1);
		ctx->planes_bytes = ctx->planes ? n : 0;
	}
	return ctx->planes;
}

static size_t zstd_frame(struct codec_ctx *ctx, const void *data, size_t n,
			 u8 *out, size_t cap)
{
	size_t r = ZSTD_compress2(ctx->zstd.c, out, cap, data, n);

	return ZSTD_isError(r) ? 0 : r;
}

/* How a group is compressed. */
struct zstd_way {
	u32 planes;		/* 1: as it is */
	bool skip;		/* at level 1 only */
};

static size_t zstd_once(struct codec_ctx *ctx, struct zstd_way way,
			const void *data, size_t n, u8 *out, size_t cap)
{
	size_t len = n / way.planes, done = 1, r;
	u32 i;

	if (ctx->choice.level == 1)
		ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_targetLength,
				       way.skip ? ZSTD_SKIP_TARGET : 0);
	if (way.planes == 1)
		return zstd_frame(ctx, data, n, out, cap);
	codec_planes_split(way.planes, data, ctx->planes, n);
	out[0] = (u8)way.planes;
	for (i = 0; i < way.planes; i++) {
		r = i + 1 < way.planes ? len : n - i * len;
		r = zstd_frame(ctx, ctx->planes + i * len, r, out + done,
			       cap - done);
		if (!r)
			return 0;
		done += r;
	}
	return done;
}

/* 0 stands for what did not fit. */
static bool gains(size_t a, size_t b, u32 percent)
{
	return a && (!b || a * 100 <= b * (100 - percent));
}

/*
 * One group compressed in every way that may suit it, and at last by the best
 * one, but without skipping: what that costs must show, too.
 */
static size_t zstd_try(struct codec_ctx *ctx, const void *data, size_t n,
		       u8 *out, size_t cap, struct zstd_way *way)
{
	bool skip = ctx->choice.level == 1;
	size_t one, some = 0, full;
	u32 planes = 1;

	if (n <= PLANES_RAW_MAX && zstd_room(ctx, n))
		planes = codec_probe_planes(data, n);
	one = zstd_once(ctx, (struct zstd_way){ 1, skip }, data, n, out, cap);
	if (planes > 1)
		some = zstd_once(ctx, (struct zstd_way){ planes, skip }, data,
				 n, out, cap);
	way->planes = gains(some, one, PLANES_MIN_GAIN_PERCENT) ? planes : 1;
	/* Without skipping one of them may still fit. */
	if (!one && !some)
		way->planes = planes;
	way->skip = false;
	full = !skip && planes == 1 ? one :
	       zstd_once(ctx, *way, data, n, out, cap);
	if (!full && way->planes > 1) {
		way->planes = 1;
		full = zstd_once(ctx, *way, data, n, out, cap);
	}
	if (way->planes > 1)
		ctx->zstd.skip = skip && some && some * 100 <=
				 full * (100 + SKIP_MAX_LOSS_PLANES_PERCENT);
	else
		ctx->zstd.skip = skip && one && one * 100 <=
				 full * (100 + SKIP_MAX_LOSS_PERCENT);
	ctx->zstd.planes = way->planes;
	ctx->zstd.trial_in = TRIAL_EVERY - 1;
	return full;
}

/*
 * One group in TRIAL_EVERY is compressed in several ways, and those that follow
 * in the one that suited. Data of another kind in between shows in samples.
 * What was used is in @way.
 */
static size_t zstd_adapt(struct codec_ctx *ctx, const void *data, size_t n,
			 u8 *out, size_t cap, struct zstd_way *way)
{
	bool special = ctx->zstd.skip || ctx->zstd.planes > 1;

	*way = (struct zstd_way){ 1, false };
	if (n < TRIAL_GROUP_MIN)
		return zstd_once(ctx, *way, data, n, out, cap);
	if (ctx->zstd.trial_in > 0) {
		ctx->zstd.trial_in--;
		if (!special)
			return zstd_once(ctx, *way, data, n, out, cap);
	}
	if (codec_matches_pay(data, n, MATCHES_PAY_PERCENT)) {
		if (!special)
			ctx->zstd.trial_in = TRIAL_AFTER_MATCHES - 1;
		return zstd_once(ctx, *way, data, n, out, cap);
	}
	if (ctx->zstd.trial_in == 0)
		return zstd_try(ctx, data, n, out, cap, way);
	way->skip = ctx->zstd.skip;
	if (ctx->zstd.planes > 1 && n <= PLANES_RAW_MAX &&
	    zstd_room(ctx, n) &&
	    codec_probe_planes(data, n) == ctx->zstd.planes)
		way->planes = ctx->zstd.planes;
	return zstd_once(ctx, *way, data, n, out, cap);
}

static long zstd_compress(struct codec_ctx *ctx, const void *data, size_t n,
			  u8 *out, size_t cap, u8 *id_ret)
{
	struct zstd_way way;
	int err = zstd_begin(ctx);
	size_t r;

	if (err)
		return err;
	r = zstd_adapt(ctx, data, n, out, cap, &way);
	if (way.planes > 1)
		*id_ret = CODEC_PLANES;
	return (long)r;
}

/*
 * Against a reference most of the gain is in long matches into it, so that the
 * table must hold positions all over reference and group. What is new in the
 * second release of a program and in the second state of a database, 25 MB each
 * in groups of 128 KiB, against 256 KiB of the first:
 *
 *	table			program	database
 *	library's, matches 6	0.68	2.29 MB
 *	2^15			0.63	1.94
 *	2^16			0.61	1.83
 *	2^17			0.60	1.78	512 KiB of memory
 *	2^18			0.59	1.76	slower by 10 %
 *	two (dfast), matches 5	0.57	1.76	slower by a quarter
 *	level 3			0.57	1.76	slower by a third
 *	none (no reference)	6.73	14.57
 *
 * In a whole series the double table saves 2.6 % and costs 12 % of the time.
 */
#define ZSTD_REF_HASH_LOG 17

/*
 * Where a group is mostly copied from its references, a search that is made for
 * that finds the same matches in a third of the time (codec_matches.c). What
 * comes out are frames like others.
 *
 * It also tells what is worth the library's search: of 13,000 groups of virtual
 * machines 87 % copy less than a tenth from what lies near, and have 8 % of
 * what references save.
 */
#define REFERRED_MIN_PART 10

/* A frame's bytes: magic, descriptor (0: no content size, checksum and
 * dictionary number), then the window (RFC 8878, 3.1.1.1.2). */
#define ZSTD_FRAME_DESCRIPTOR 4
#define ZSTD_FRAME_WINDOW 5
#define ZSTD_FRAME_MIN 9
#define ZSTD_WINDOW_LOG_MIN 10

static long zstd_search_ref(struct codec_ctx *ctx, const void *ref,
			    size_t ref_len, const void *data, size_t n,
			    u8 *out, size_t cap)
{
	size_t r;

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

/*
 * Matches as the library takes them. NULL: too many, or no memory.
 * *alike_ret: is it worth a search?
 */
static const ZSTD_Sequence *zstd_sequences(struct codec_ctx *ctx,
					   const void *ref, size_t ref_len,
					   const void *data, size_t n,
					   size_t *nr_ret, bool *alike_ret)
{
	struct match_tally tally;
	const struct match *m;
	ZSTD_Sequence *seqs;
	size_t i;

	if (!ctx->zstd.finder)
		ctx->zstd.finder = match_finder_new();
	if (!ctx->zstd.finder)
		return NULL;
	*nr_ret = match_finder_run(ctx->zstd.finder, ref, ref_len, data, n,
				   &m, &tally);
	*alike_ret = (u64)tally.referred * REFERRED_MIN_PART >= tally.looked_at;
	seqs = *nr_ret ? (void *)zstd_room(ctx, *nr_ret * sizeof(*seqs)) :
			 NULL;
	for (i = 0; seqs && i < *nr_ret; i++) {
		seqs[i].offset = m[i].dist;
		seqs[i].litLength = m[i].literals;
		seqs[i].matchLength = m[i].len;
		seqs[i].rep = 0;
	}
	return seqs;
}

/*
 * The library sees no references here, and makes the window of the group's
 * length; whoever keeps to it must reach all of them.
 */
static void zstd_widen_window(u8 *frame, size_t reach)
{
	u32 log = ZSTD_WINDOW_LOG_MIN;

	while ((size_t)1 << log < reach)
		log++;
	if (frame[ZSTD_FRAME_WINDOW] >> 3 < log - ZSTD_WINDOW_LOG_MIN)
		frame[ZSTD_FRAME_WINDOW] =
			(u8)((log - ZSTD_WINDOW_LOG_MIN) << 3);
}

static long zstd_compress_ref(struct codec_ctx *ctx, const void *ref,
			      size_t ref_len, const void *data, size_t n,
			      u8 *out, size_t cap)
{
	const ZSTD_Sequence *seqs = NULL;
	int err = zstd_begin(ctx);
	bool alike = true;
	size_t r, nr;

	if (err)
		return err;
	/* What did not fit last time has left it where no prefix is taken. */
	ZSTD_CCtx_reset(ctx->zstd.c, ZSTD_reset_session_only);
	if (ctx->choice.level == 1)
		seqs = zstd_sequences(ctx, ref, ref_len, data, n, &nr, &alike);
	if (!alike)
		return 0;
	if (!seqs)
		return zstd_search_ref(ctx, ref, ref_len, data, n, out, cap);
	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_targetLength, 0);
	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_hashLog, ZSTD_HASHLOG_MIN);
	r = ZSTD_compressSequences(ctx->zstd.c, out, cap, seqs, nr, data, n);
	ZSTD_CCtx_setParameter(ctx->zstd.c, ZSTD_c_hashLog,
			       ZSTD_FAST_HASH_LOG);
	if (ZSTD_isError(r) || r < ZSTD_FRAME_MIN ||
	    out[ZSTD_FRAME_DESCRIPTOR])
		return 0;
	zstd_widen_window(out, ref_len + n);
	return (long)r;
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

static int planes_decompress(struct codec_ctx *ctx, const void *data, size_t n,
			     u8 *out, size_t raw_len)
{
	const u8 *in = data;
	int err;

	if (n < 1 || (in[0] != 2 && in[0] != 4) || raw_len > PLANES_RAW_MAX)
		return -AKIN_E_bad_data;
	if (!zstd_room(ctx, raw_len))
		return -AKIN_E_nomem;
	/* All planes in one go: one frame after another. */
	err = zstd_decompress(ctx, in + 1, n - 1, ctx->planes, raw_len);
	if (!err)
		codec_planes_join(in[0], ctx->planes, out, raw_len);
	return err;
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
	.planes = true,
	.compress = zstd_compress,
	.decompress = zstd_decompress,
	.compress_ref = zstd_compress_ref,
	.decompress_ref = zstd_decompress_ref,
	.release = zstd_release,
};

const struct codec_ops codec_planes = {
	.name = "planes",
	.decompress = planes_decompress,
};
