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

bool codec_probe(const u8 *data, size_t n)
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
	return false;
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
