/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at samples of a group before all of it is compressed.
 *
 * The probe is the same for all codecs and errs towards compressing. Codecs
 * without an entropy coder (lz4, lzjb) are let at data with a skewed histogram
 * too: short matches, which the samples' search does not look for, are what
 * such data has.
 */
#include <lz4.h>
#include <math.h>

#include "codec/codec_internal.h"
#include "codec/codec_planes.h"

/* Bits a byte; see CODEC_SAMPLE_BYTES. */
#define RANDOM_BITS 7.9
/* Faster, and finds every match that is worth something. */
#define PROBE_ACCELERATION 4
/* Of a sample, that matches must save. */
#define PROBE_SAVES (CODEC_SAMPLE_BYTES / 32)

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

/*
 * About log2(@x) for whole numbers, 0 for 0: the exponent, and a parabola for
 * the rest that is off by 0.01 at the most.
 */
static inline float log2_about(u32 x)
{
	float f = (float)(x ? x : 1), m;
	u32 bits;

	memcpy(&bits, &f, sizeof(bits));
	m = (float)((s32)(bits >> 23) - 127);
	bits = (bits & 0x7fffff) | 127u << 23;
	memcpy(&f, &bits, sizeof(f));
	return m + (2.0f - f / 3.0f) * f - 5.0f / 3.0f;
}

/* What a histogram's bytes cost an entropy coder, in bits. */
static float cost_bits(const u32 *count)
{
	float bits = 0;
	u32 i, n = 0;

	for (i = 0; i < 256; i++) {
		bits -= (float)count[i] * log2_about(count[i]);
		n += count[i];
	}
	return bits + (float)n * log2_about(n);
}

/* Bits a byte that planes must save, and that twice as many must save more. */
#define PLANES_SAVE 0.3f
#define MORE_PLANES_SAVE 0.15f

u32 codec_probe_planes(const u8 *data, size_t n)
{
	u32 count[CODEC_PLANES_MAX][256] = { 0 }, pair[2][256], all[256];
	const float bytes = CODEC_SAMPLES * CODEC_SAMPLE_BYTES;
	float one, two = 0, four = 0;
	const u8 *at;
	u32 i, k;

	for (i = 0; i < CODEC_SAMPLES; i++) {
		at = codec_sample(data, n, (int)i);
		at -= (size_t)(at - data) % CODEC_PLANES_MAX;
		for (k = 0; k < CODEC_SAMPLE_BYTES; k++)
			count[k % CODEC_PLANES_MAX][at[k]]++;
	}
	for (i = 0; i < 256; i++) {
		pair[0][i] = count[0][i] + count[2][i];
		pair[1][i] = count[1][i] + count[3][i];
		all[i] = pair[0][i] + pair[1][i];
	}
	one = cost_bits(all);
	for (k = 0; k < 2; k++)
		two += cost_bits(pair[k]);
	for (k = 0; k < 4; k++)
		four += cost_bits(count[k]);
	if (one - four >= PLANES_SAVE * bytes &&
	    two - four >= MORE_PLANES_SAVE * bytes)
		return 4;
	return one - two >= PLANES_SAVE * bytes ? 2 : 1;
}

bool codec_probe(const u8 *data, size_t n, bool planes)
{
	char tmp[CODEC_SAMPLE_BYTES];
	const u8 *at;
	int i, len;

	if (n < CODEC_SAMPLED_MIN)
		return true;
	for (i = 0; i < CODEC_SAMPLES; i++) {
		at = codec_sample(data, n, i);
		if (sample_entropy(at, CODEC_SAMPLE_BYTES) < RANDOM_BITS)
			return true;
		len = LZ4_compress_fast((const char *)at, tmp,
					CODEC_SAMPLE_BYTES,
					CODEC_SAMPLE_BYTES - PROBE_SAVES,
					PROBE_ACCELERATION);
		if (len > 0)
			return true;
	}
	/* Sound, and numbers of which one byte in four is not noise. */
	return planes && codec_probe_planes(data, n) > 1;
}

bool codec_matches_pay(const u8 *data, size_t n, int percent)
{
	char tmp[LZ4_COMPRESSBOUND(CODEC_SAMPLE_BYTES)];
	int i, len = 0;

	for (i = 0; i < CODEC_SAMPLES; i++)
		len += LZ4_compress_default((const char *)
					    codec_sample(data, n, i), tmp,
					    CODEC_SAMPLE_BYTES, sizeof(tmp));
	return len * 100 < CODEC_SAMPLES * CODEC_SAMPLE_BYTES * percent;
}
