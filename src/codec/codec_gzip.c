/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DEFLATE, without the head and the checksum of gzip or zlib: a group knows its
 * length and has a checksum.
 */
#include <libdeflate.h>

#include "codec/codec_internal.h"

/* As everywhere where nothing is said. */
#define GZIP_LEVEL_DEFAULT 6

static void gzip_release(struct codec_ctx *ctx)
{
	libdeflate_free_compressor(ctx->gzip.c);
	libdeflate_free_decompressor(ctx->gzip.d);
}

static long gzip_compress(struct codec_ctx *ctx, const void *data, size_t n,
			  u8 *out, size_t cap, u8 *id_ret)
{
	if (ctx->gzip.c && ctx->gzip.level != ctx->choice.level) {
		libdeflate_free_compressor(ctx->gzip.c);
		ctx->gzip.c = NULL;
	}
	if (!ctx->gzip.c)
		ctx->gzip.c = libdeflate_alloc_compressor(ctx->choice.level);
	if (!ctx->gzip.c)
		return -AKIN_E_nomem;
	ctx->gzip.level = ctx->choice.level;
	return (long)libdeflate_deflate_compress(ctx->gzip.c, data, n, out,
						 cap);
}

static int gzip_decompress(struct codec_ctx *ctx, const void *data, size_t n,
			   u8 *out, size_t raw_len)
{
	size_t used = 0;

	if (!ctx->gzip.d)
		ctx->gzip.d = libdeflate_alloc_decompressor();
	if (!ctx->gzip.d)
		return -AKIN_E_nomem;
	/* Without a place for the length it must be the one given. */
	if (libdeflate_deflate_decompress_ex(ctx->gzip.d, data, n, out, raw_len,
					     &used, NULL) !=
		    LIBDEFLATE_SUCCESS || used != n)
		return -AKIN_E_bad_data;
	return 0;
}

const struct codec_ops codec_gzip = {
	.name = "gzip",
	.level_min = 1,
	.level_max = 9,
	.level_default = GZIP_LEVEL_DEFAULT,
	.compress = gzip_compress,
	.decompress = gzip_decompress,
	.release = gzip_release,
};
