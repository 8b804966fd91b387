/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAKE3, 16 lanes in two interleaved streams, for AVX-512.
 *
 * The 32 registers hold two states. On processors whose 512-bit additions take
 * two cycles (Zen 5) the second stream fills every other one of them. What is
 * left over, up to 16 jobs, runs in one stream.
 */
#define LANES 16
#define STREAMS 2
#define COLUMNS 4
/* Hardware prefetchers do not follow 32 places at once. */
#define LANES_PREFETCH 192
#include "hash/hash_blake3_lanes.h"

typedef u64 vec64 __attribute__((vector_size(4 * LANES)));

LANES_INLINE void lanes_ror(vec *x, int bits)
{
	*x = *x >> bits | *x << (32 - bits);
}

LANES_INLINE void lanes_zip32(vec *a, vec *b)
{
	vec lo = __builtin_shufflevector(*a, *b, 0, 16, 1, 17, 4, 20, 5, 21, 8,
					 24, 9, 25, 12, 28, 13, 29);
	vec hi = __builtin_shufflevector(*a, *b, 2, 18, 3, 19, 6, 22, 7, 23,
					 10, 26, 11, 27, 14, 30, 15, 31);

	*a = lo;
	*b = hi;
}

LANES_INLINE void lanes_zip64(vec *a, vec *b)
{
	vec64 lo = __builtin_shufflevector((vec64)*a, (vec64)*b, 0, 8, 2, 10,
					   4, 12, 6, 14);
	vec64 hi = __builtin_shufflevector((vec64)*a, (vec64)*b, 1, 9, 3, 11,
					   5, 13, 7, 15);

	*a = (vec)lo;
	*b = (vec)hi;
}

/* Of the eight 128-bit quarters of a and b, the even and the odd ones. */
LANES_INLINE void lanes_zip128(vec *a, vec *b)
{
	vec64 even = __builtin_shufflevector((vec64)*a, (vec64)*b, 0, 1, 4, 5,
					     8, 9, 12, 13);
	vec64 odd = __builtin_shufflevector((vec64)*a, (vec64)*b, 2, 3, 6, 7,
					    10, 11, 14, 15);

	*a = (vec)even;
	*b = (vec)odd;
}

/*
 * x[i] = 16 words of lane i -> x[w] = word w of 16 lanes. Two zips make 4 x 4
 * squares of words; two of quarters transpose the 4 x 4 squares.
 */
LANES_INLINE void lanes_transpose16(vec x[16])
{
	vec t;
	int i;

	LANES_UNROLL
	for (i = 0; i < 16; i += 2)
		lanes_zip32(&x[i], &x[i + 1]);
	LANES_UNROLL
	for (i = 0; i < 16; i += 4) {
		lanes_zip64(&x[i], &x[i + 2]);
		lanes_zip64(&x[i + 1], &x[i + 3]);
		t = x[i + 1];
		x[i + 1] = x[i + 2];
		x[i + 2] = t;
	}
	/* Now x[4 k + c], quarter q: word 4 q + c of lanes 4 k .. 4 k + 3. */
	LANES_UNROLL
	for (i = 0; i < 4; i++) {
		lanes_zip128(&x[i], &x[i + 4]);
		lanes_zip128(&x[i + 8], &x[i + 12]);
		lanes_zip128(&x[i], &x[i + 8]);
		lanes_zip128(&x[i + 4], &x[i + 12]);
	}
}

LANES_INLINE void lanes_load(vec m[16], const u8 *const block[LANES])
{
	int i;

	LANES_UNROLL
	for (i = 0; i < LANES; i++)
		memcpy(&m[i], block[i], BLAKE3_BLOCK);
	lanes_transpose16(m);
}

LANES_INLINE void lanes_store(vec h[8], u8 *const out[LANES])
{
	vec x[16] = { 0 };
	int i;

	memcpy(x, h, 8 * sizeof(vec));
	lanes_transpose16(x);
	for (i = 0; i < LANES; i++)
		memcpy(out[i], &x[i], BLAKE3_CV);
}

/* A function of its own, so that the compiler sees each loop alone. */
static __attribute__((noinline)) void
lanes_run_pair(const struct blake3_job *jobs, size_t n, const u32 key[8])
{
	lanes_run(jobs, n, key, 2);
}

static __attribute__((noinline)) void
lanes_run_single(const struct blake3_job *jobs, size_t n, const u32 key[8])
{
	lanes_run(jobs, n, key, 1);
}

void blake3_run_avx512(const struct blake3_job *jobs, size_t n,
		       const u32 key[8])
{
	size_t now;

	for (; n; n -= now, jobs += now) {
		now = min_u64(n, 2 * LANES);
		if (now > LANES)
			lanes_run_pair(jobs, now, key);
		else
			lanes_run_single(jobs, now, key);
	}
}
