/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LZ4 blocks.
 */
#include <lz4.h>

#include "codec/codec_internal.h"

static long lz4_compress(struct codec_ctx *ctx, const void *data, size_t n,
			 u8 *out, size_t cap, u8 *id_ret)
{
	return LZ4_compress_default(data, (char *)out, (int)n, (int)cap);
}

static int lz4_decompress(struct codec_ctx *ctx, const void *data, size_t n,
			  u8 *out, size_t raw_len)
{
	int r = LZ4_decompress_safe(data, (char *)out, (int)n, (int)raw_len);

	return r == (int)raw_len ? 0 : -AKIN_E_bad_data;
}

const struct codec_ops codec_lz4 = {
	.name = "lz4",
	.compress = lz4_compress,
	.decompress = lz4_decompress,
};
