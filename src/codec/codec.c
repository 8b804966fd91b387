/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs: a table of operations, and the decision to store raw.
 *
 * Before a group is compressed, a probe looks at samples of it: data that
 * neither an entropy estimate nor a fast match search can shrink is not worth
 * the time. The probe errs towards compressing.
 */
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
/* For ZSTD_c_literalCompressionMode; without it no trial is ever won. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/mem.h"
#include "codec/codec.h"

struct codec_ctx {
	struct codec_choice choice;
	ZSTD_CCtx *zc;		/* made on first use */
	ZSTD_DCtx *zd;
	/* Skipping over what matches little; see zstd_adapt(). */
	u32 trial_in;		/* groups to come without another trial */
	bool skip;		/* what the last one said */
};

struct codec_ops {
	const char *name;
	s32 level_min, level_max, level_default;
	/* Bytes written, 0 if it does not fit into @cap; negative: error. */
	long (*compress)(struct codec_ctx *ctx, const void *data, size_t n,
			 u8 *out, size_t cap);
	bool (*decompress)(struct codec_ctx *ctx, const void *data, size_t n,
			   u8 *out, size_t raw_len);
	/* Against @ref; NULL: cannot. */
	long (*compress_ref)(struct codec_ctx *ctx, const void *ref,
			     size_t ref_len, const void *data, size_t n,
			     u8 *out, size_t cap);
	bool (*decompress_ref)(struct codec_ctx *ctx, const void *ref,
			       size_t ref_len, const void *data, size_t n,
			       u8 *out, size_t raw_len);
};

/*
 * PROBE_BYTES at three spots: enough for LZ4 to meet its own history, and for
 * the histogram of random bytes to read above 7.9 bits (its expectation at
 * 4 KiB is 7.955).
 */
#define PROBE_BYTES 4096
#define PROBE_MIN (8 * PROBE_BYTES)

/* @n is PROBE_MIN at least; @i of 0 to 2. */
static const u8 *probe_at(const u8 *data, size_t n, int i)
{
	return data + (n - PROBE_BYTES) / 2 * (size_t)i;
}

static long lz4_compress(struct codec_ctx *ctx, const void *data, size_t n,
			 u8 *out, size_t cap)
{
	return LZ4_compress_default(data, (char *)out, (int)n, (int)cap);
}

static bool lz4_decompress(struct codec_ctx *ctx, const void *data, size_t n,
			   u8 *out, size_t raw_len)
{
	return LZ4_decompress_safe(data, (char *)out, (int)n, (int)raw_len) ==
	       (int)raw_len;
}

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
#define SKIP_GROUP_MIN PROBE_MIN
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
	if (ctx->zc)
		return 0;
	ctx->zc = ZSTD_createCCtx();
	if (!ctx->zc)
		return -AKIN_E_nomem;
	ZSTD_CCtx_setParameter(ctx->zc, ZSTD_c_compressionLevel,
			       ctx->choice.level);
	if (ctx->choice.level == 1)
		zstd_set_fast(ctx->zc);
	/* The group knows its length and has a checksum. */
	ZSTD_CCtx_setParameter(ctx->zc, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(ctx->zc, ZSTD_c_checksumFlag, 0);
	return 0;
}

static size_t zstd_once(struct codec_ctx *ctx, bool skip, const void *data,
			size_t n, u8 *out, size_t cap)
{
	size_t r;

	ZSTD_CCtx_setParameter(ctx->zc, ZSTD_c_targetLength,
			       skip ? ZSTD_SKIP_TARGET : 0);
	r = ZSTD_compress2(ctx->zc, out, cap, data, n);
	return ZSTD_isError(r) ? 0 : r;
}

static bool matches_pay(const u8 *data, size_t n)
{
	char tmp[LZ4_COMPRESSBOUND(PROBE_BYTES)];
	int i, len = 0;

	for (i = 0; i < 3; i++)
		len += LZ4_compress_default((const char *)probe_at(data, n, i),
					    tmp, PROBE_BYTES, sizeof(tmp));
	return len * 100 < 3 * PROBE_BYTES * SKIP_SAMPLE_PERCENT;
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

	if (ctx->trial_in > 0 && !ctx->skip) {
		ctx->trial_in--;
		return zstd_once(ctx, false, data, n, out, cap);
	}
	if (n < SKIP_GROUP_MIN || matches_pay(data, n))
		return zstd_once(ctx, false, data, n, out, cap);
	if (ctx->trial_in > 0) {
		ctx->trial_in--;
		return zstd_once(ctx, true, data, n, out, cap);
	}
	skip = zstd_once(ctx, true, data, n, out, cap);
	full = zstd_once(ctx, false, data, n, out, cap);
	ctx->skip = skip && skip * 100 <= full * (100 + SKIP_MAX_LOSS_PERCENT);
	ctx->trial_in = SKIP_TRIAL_EVERY - 1;
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
	r = ZSTD_compress2(ctx->zc, out, cap, data, n);
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
	ZSTD_CCtx_reset(ctx->zc, ZSTD_reset_session_only);
	if (ctx->choice.level == 1) {
		ZSTD_CCtx_setParameter(ctx->zc, ZSTD_c_targetLength, 0);
		ZSTD_CCtx_setParameter(ctx->zc, ZSTD_c_hashLog,
				       ZSTD_REF_HASH_LOG);
	}
	r = ZSTD_CCtx_refPrefix(ctx->zc, ref, ref_len);
	if (!ZSTD_isError(r))
		r = ZSTD_compress2(ctx->zc, out, cap, data, n);
	if (ctx->choice.level == 1)
		ZSTD_CCtx_setParameter(ctx->zc, ZSTD_c_hashLog,
				       ZSTD_FAST_HASH_LOG);
	return ZSTD_isError(r) ? 0 : (long)r;
}

static bool zstd_decompress_ref(struct codec_ctx *ctx, const void *ref,
				size_t ref_len, const void *data, size_t n,
				u8 *out, size_t raw_len)
{
	if (!ctx->zd)
		ctx->zd = ZSTD_createDCtx();
	/* For one frame; gone after it, also after an error. */
	return ctx->zd &&
	       !ZSTD_isError(ZSTD_DCtx_refPrefix(ctx->zd, ref, ref_len)) &&
	       ZSTD_decompressDCtx(ctx->zd, out, raw_len, data, n) == raw_len;
}

static bool zstd_decompress(struct codec_ctx *ctx, const void *data, size_t n,
			    u8 *out, size_t raw_len)
{
	if (!ctx->zd)
		ctx->zd = ZSTD_createDCtx();
	return ctx->zd &&
	       ZSTD_decompressDCtx(ctx->zd, out, raw_len, data, n) == raw_len;
}

static const struct codec_ops codec_table[CODEC_NR] = {
	[CODEC_NONE] = { .name = "none" },
	[CODEC_LZ4] = { .name = "lz4", .compress = lz4_compress,
			.decompress = lz4_decompress },
	[CODEC_ZSTD] = { .name = "zstd", .level_min = 1, .level_max = 19,
			 .level_default = 3, .compress = zstd_compress,
			 .decompress = zstd_decompress,
			 .compress_ref = zstd_compress_ref,
			 .decompress_ref = zstd_decompress_ref },
};

const char *codec_name(u8 id)
{
	return id < CODEC_NR ? codec_table[id].name : NULL;
}

int codec_parse(const char *text, struct codec_choice *out,
		struct akin_diag *diag)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	const struct codec_ops *ops;
	char *end;
	long level;
	u8 id;

	for (id = 0; id < CODEC_NR; id++) {
		ops = &codec_table[id];
		if (strlen(ops->name) == n && memcmp(ops->name, text, n) == 0)
			break;
	}
	if (id == CODEC_NR)
		return diag_set(diag, -AKIN_E_usage,
				"'%s': no such compression; there are none, "
				"lz4 and zstd[:1-19]", text);
	level = ops->level_default;
	if (colon) {
		level = strtol(colon + 1, &end, 10);
		if (end == colon + 1 || *end || level < ops->level_min ||
		    level > ops->level_max || ops->level_max == 0)
			return diag_set(diag, -AKIN_E_usage,
					"'%s': %s has levels %d to %d", text,
					ops->name, (int)ops->level_min,
					(int)ops->level_max);
	}
	out->id = id;
	out->level = (s32)level;
	return 0;
}

void codec_print(const struct codec_choice *c, char out[16])
{
	const char *name = codec_name(c->id);

	if (c->level)
		snprintf(out, 16, "%s:%d", name ? name : "?", (int)c->level);
	else
		snprintf(out, 16, "%s", name ? name : "?");
}

int codec_ctx_new(const struct codec_choice *c, struct codec_ctx **out,
		  struct akin_diag *diag)
{
	struct codec_ctx *ctx;

	if (c->id >= CODEC_NR)
		return diag_set(diag, -AKIN_E_codec_unknown, "codec %u",
				c->id);
	ctx = mem_zalloc(sizeof(*ctx));
	if (!ctx)
		return diag_set(diag, -AKIN_E_nomem, "codec context");
	ctx->choice = *c;
	*out = ctx;
	return 0;
}

void codec_ctx_free(struct codec_ctx *ctx)
{
	if (!ctx)
		return;
	ZSTD_freeCCtx(ctx->zc);
	ZSTD_freeDCtx(ctx->zd);
	mem_free(ctx);
}

size_t codec_bound(size_t raw_len)
{
	return raw_len;
}

/* Order-0 entropy of a sample in bits per byte. */
static double sample_entropy(const u8 *p, size_t n)
{
	u32 count[256] = { 0 };
	double bits = 0;
	size_t i;

	for (i = 0; i < n; i++)
		count[p[i]]++;
	for (i = 0; i < 256; i++) {
		if (count[i])
			bits -= count[i] * log2((double)count[i] / (double)n);
	}
	return bits / (double)n;
}

static bool probe_worthwhile(const u8 *data, size_t n)
{
	char tmp[PROBE_BYTES];
	const u8 *at;
	int i, len;

	if (n < PROBE_MIN)
		return true;
	for (i = 0; i < 3; i++) {
		at = probe_at(data, n, i);
		if (sample_entropy(at, PROBE_BYTES) < 7.9)
			return true;
		len = LZ4_compress_fast((const char *)at, tmp, PROBE_BYTES,
					PROBE_BYTES - PROBE_BYTES / 32, 4);
		if (len > 0)
			return true;
	}
	return false;
}

int codec_compress(struct codec_ctx *ctx, enum codec_gain gain,
		   const void *data, size_t n, u8 *out, size_t *len_ret,
		   u8 *id_ret, struct akin_diag *diag)
{
	const struct codec_ops *ops = &codec_table[ctx->choice.id];
	long r = 0;

	*id_ret = CODEC_NONE;
	*len_ret = 0;
	if (!ops->compress || n < 32 ||
	    (gain == CODEC_GAIN_EIGHTH && !probe_worthwhile(data, n)))
		return 0;
	r = ops->compress(ctx, data, n, out,
			  gain == CODEC_GAIN_ANY ? n - 1 : n - n / 8);
	if (r < 0)
		return diag_set(diag, (int)r, "compressing %zu bytes", n);
	if (r > 0) {
		*id_ret = ctx->choice.id;
		*len_ret = (size_t)r;
	}
	return 0;
}

bool codec_has_ref(const struct codec_ctx *ctx)
{
	return codec_table[ctx->choice.id].compress_ref;
}

int codec_compress_ref(struct codec_ctx *ctx, enum codec_gain gain,
		       const void *ref, size_t ref_len, const void *data,
		       size_t n, u8 *out, size_t *len_ret, u8 *id_ret,
		       struct akin_diag *diag)
{
	const struct codec_ops *ops = &codec_table[ctx->choice.id];
	long r = 0;

	*id_ret = CODEC_NONE;
	*len_ret = 0;
	if (n < 32)
		return 0;
	r = ops->compress_ref(ctx, ref, ref_len, data, n, out,
			      gain == CODEC_GAIN_ANY ? n - 1 : n - n / 8);
	if (r < 0)
		return diag_set(diag, (int)r, "compressing %zu bytes", n);
	if (r > 0) {
		*id_ret = ctx->choice.id;
		*len_ret = (size_t)r;
	}
	return 0;
}

int codec_decompress(struct codec_ctx *ctx, u8 id, const void *data, size_t n,
		     u8 *out, size_t raw_len)
{
	if (id == CODEC_NONE) {
		if (n != raw_len)
			return -AKIN_E_bad_length;
		if (n)
			memcpy(out, data, n);
		return 0;
	}
	if (id >= CODEC_NR)
		return -AKIN_E_codec_unknown;
	if (raw_len > INT32_MAX || n > INT32_MAX)
		return -AKIN_E_bad_length;
	return codec_table[id].decompress(ctx, data, n, out, raw_len)
	       ? 0 : -AKIN_E_bad_data;
}

int codec_decompress_ref(struct codec_ctx *ctx, u8 id, const void *ref,
			 size_t ref_len, const void *data, size_t n, u8 *out,
			 size_t raw_len)
{
	if (id >= CODEC_NR)
		return -AKIN_E_codec_unknown;
	if (raw_len > INT32_MAX || n > INT32_MAX || ref_len > INT32_MAX)
		return -AKIN_E_bad_length;
	if (!codec_table[id].decompress_ref)
		return -AKIN_E_bad_data;
	return codec_table[id].decompress_ref(ctx, ref, ref_len, data, n, out,
					      raw_len) ? 0 : -AKIN_E_bad_data;
}
