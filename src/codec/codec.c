/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs: the table, names, contexts, and the decision to store raw.
 *
 * Before a group is compressed, a probe looks at samples of it: data that
 * neither an entropy coder nor a match search can shrink is not worth the time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "codec/codec_internal.h"

static const struct codec_ops codec_none = { .name = "none" };

static const struct codec_ops *const codec_table[CODEC_NR] = {
	[CODEC_NONE] = &codec_none,
	[CODEC_LZ4] = &codec_lz4,
	[CODEC_ZSTD] = &codec_zstd,
	[CODEC_LZJB] = &codec_lzjb,
	[CODEC_GZIP] = &codec_gzip,
	[CODEC_PLANES] = &codec_planes,
};

/* Smaller ones save nothing. */
#define COMPRESS_MIN 32

const char *codec_name(u8 id)
{
	return id < CODEC_NR ? codec_table[id]->name : NULL;
}

/* The number behind the colon. */
static int parse_level(const char *text, const char *word,
		       const struct codec_ops *ops, s32 *out,
		       struct akin_diag *diag)
{
	char *end;
	long level;

	if (!ops->level_max)
		return diag_set(diag, -AKIN_E_usage, "'%s': %s has no levels",
				text, ops->name);
	level = strtol(word, &end, 10);
	if (*word < '0' || *word > '9' || *end || level < ops->level_min ||
	    level > ops->level_max)
		return diag_set(diag, -AKIN_E_usage,
				"'%s': %s has levels %d to %d", text,
				ops->name, (int)ops->level_min,
				(int)ops->level_max);
	*out = (s32)level;
	return 0;
}

int codec_parse(const char *text, struct codec_choice *out,
		struct akin_diag *diag)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	const struct codec_ops *ops = NULL;
	u8 id;

	for (id = 0; id < CODEC_NR; id++) {
		ops = codec_table[id];
		if (strlen(ops->name) == n &&
		    memcmp(ops->name, text, n) == 0 &&
		    (ops->compress || id == CODEC_NONE))
			break;
	}
	if (id == CODEC_NR)
		return diag_set(diag, -AKIN_E_usage,
				"'%s': no such compression; there are none, "
				"lz4, zstd[:1-19], gzip[:1-9] and lzjb", text);
	out->id = id;
	out->level = ops->level_default;
	return colon ? parse_level(text, colon + 1, ops, &out->level, diag) : 0;
}

void codec_print(const struct codec_choice *c, char out[16])
{
	const char *name = codec_name(c->id);

	if (c->level)
		snprintf(out, 16, "%s:%d", name ? name : "?", (int)c->level);
	else
		snprintf(out, 16, "%s", name ? name : "?");
}

/* A level out of bounds comes from a disk, and is no reason not to read. */
void codec_ctx_choose(struct codec_ctx *ctx, const struct codec_choice *c)
{
	const struct codec_ops *ops = codec_table[c->id];

	ctx->choice = *c;
	if (ctx->choice.level < ops->level_min)
		ctx->choice.level = ops->level_min;
	if (ctx->choice.level > ops->level_max)
		ctx->choice.level = ops->level_max;
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
	codec_ctx_choose(ctx, c);
	*out = ctx;
	return 0;
}

void codec_ctx_free(struct codec_ctx *ctx)
{
	u8 id;

	if (!ctx)
		return;
	for (id = 0; id < CODEC_NR; id++) {
		if (codec_table[id]->release)
			codec_table[id]->release(ctx);
	}
	mem_free(ctx);
}

size_t codec_bound(size_t raw_len)
{
	return raw_len;
}

/* What a compressed group may have at the most. */
static size_t room_for(enum codec_gain gain, size_t n)
{
	return gain == CODEC_GAIN_ANY ? n - 1 : n - n / 8;
}

/* @r is what the codec returned, @id what it made. */
static int give(long r, u8 id, size_t n, size_t *len_ret, u8 *id_ret,
		struct akin_diag *diag)
{
	if (r < 0)
		return diag_set(diag, (int)r, "compressing %zu bytes", n);
	if (r > 0) {
		*id_ret = id;
		*len_ret = (size_t)r;
	}
	return 0;
}

/* Where planes were of no use of late, one look in so many will do: it takes
 * half as long as the rest of the probe. */
#define LOOK_FOR_PLANES_EVERY 8

static bool is_worthwhile(struct codec_ctx *ctx, const struct codec_ops *ops,
			  const void *data, size_t n)
{
	bool planes = ops->planes &&
		      (ctx->zstd.planes > 1 ||
		       ctx->nr_looked++ % LOOK_FOR_PLANES_EVERY == 0);

	return codec_probe(data, n, planes);
}

int codec_compress(struct codec_ctx *ctx, enum codec_gain gain,
		   const void *data, size_t n, u8 *out, size_t *len_ret,
		   u8 *id_ret, struct akin_diag *diag)
{
	const struct codec_ops *ops = codec_table[ctx->choice.id];
	u8 id = ctx->choice.id;
	long r;

	*id_ret = CODEC_NONE;
	*len_ret = 0;
	if (!ops->compress || n < COMPRESS_MIN ||
	    (gain == CODEC_GAIN_EIGHTH && !is_worthwhile(ctx, ops, data, n)))
		return 0;
	r = ops->compress(ctx, data, n, out, room_for(gain, n), &id);
	return give(r, id, n, len_ret, id_ret, diag);
}

bool codec_has_ref(const struct codec_ctx *ctx)
{
	return codec_table[ctx->choice.id]->compress_ref;
}

int codec_compress_ref(struct codec_ctx *ctx, enum codec_gain gain,
		       const void *ref, size_t ref_len, const void *data,
		       size_t n, u8 *out, size_t *len_ret, u8 *id_ret,
		       struct akin_diag *diag)
{
	const struct codec_ops *ops = codec_table[ctx->choice.id];
	long r;

	*id_ret = CODEC_NONE;
	*len_ret = 0;
	if (n < COMPRESS_MIN)
		return 0;
	r = ops->compress_ref(ctx, ref, ref_len, data, n, out,
			      room_for(gain, n));
	return give(r, ctx->choice.id, n, len_ret, id_ret, diag);
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
	return codec_table[id]->decompress(ctx, data, n, out, raw_len);
}

int codec_decompress_ref(struct codec_ctx *ctx, u8 id, const void *ref,
			 size_t ref_len, const void *data, size_t n, u8 *out,
			 size_t raw_len)
{
	if (id >= CODEC_NR)
		return -AKIN_E_codec_unknown;
	if (raw_len > INT32_MAX || n > INT32_MAX || ref_len > INT32_MAX)
		return -AKIN_E_bad_length;
	if (!codec_table[id]->decompress_ref)
		return -AKIN_E_bad_data;
	return codec_table[id]->decompress_ref(ctx, ref, ref_len, data, n, out,
					       raw_len);
}
