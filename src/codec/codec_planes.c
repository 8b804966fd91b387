/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splitting and joining: loops that compilers turn into shuffles of whole
 * vectors.
 */
#include "codec/codec_planes.h"

static void split2(const u8 *restrict in, u8 *restrict out, size_t len)
{
	u8 *restrict second = out + len;
	size_t i;

	for (i = 0; i < len; i++) {
		out[i] = in[2 * i];
		second[i] = in[2 * i + 1];
	}
}

static void join2(const u8 *restrict in, u8 *restrict out, size_t len)
{
	const u8 *restrict second = in + len;
	size_t i;

	for (i = 0; i < len; i++) {
		out[2 * i] = in[i];
		out[2 * i + 1] = second[i];
	}
}

static void split4(const u8 *restrict in, u8 *restrict out, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		out[i] = in[4 * i];
		out[len + i] = in[4 * i + 1];
		out[2 * len + i] = in[4 * i + 2];
		out[3 * len + i] = in[4 * i + 3];
	}
}

static void join4(const u8 *restrict in, u8 *restrict out, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		out[4 * i] = in[i];
		out[4 * i + 1] = in[len + i];
		out[4 * i + 2] = in[2 * len + i];
		out[4 * i + 3] = in[3 * len + i];
	}
}

void codec_planes_split(u32 nr, const u8 *in, u8 *out, size_t n)
{
	size_t len = n / nr;

	if (nr == 2)
		split2(in, out, len);
	else
		split4(in, out, len);
	memcpy(out + nr * len, in + nr * len, n - nr * len);
}

void codec_planes_join(u32 nr, const u8 *in, u8 *out, size_t n)
{
	size_t len = n / nr;

	if (nr == 2)
		join2(in, out, len);
	else
		join4(in, out, len);
	memcpy(out + nr * len, in + nr * len, n - nr * len);
}
