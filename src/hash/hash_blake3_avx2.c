/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAKE3, 8 lanes, for AVX2.
 *
 * One stream: the state alone fills the 16 registers. Two columns at a time
 * leave the word to be spilled unused for longest; out-of-order execution
 * overlaps them with the other two.
 */
#define LANES 8
#define STREAMS 1
#define COLUMNS 2
#define LANES_PREFETCH 256
#include "hash/hash_blake3_lanes.h"

typedef u8 bytes __attribute__((vector_size(4 * LANES)));
typedef u64 vec64 __attribute__((vector_size(4 * LANES)));

LANES_INLINE void lanes_ror(vec *x, int bits)
{
	/* There is no rotation, but whole bytes can be shuffled. */
	if (bits == 16)
		*x = (vec)__builtin_shufflevector((bytes)*x, (bytes)*x,
			2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
			18, 19, 16, 17, 22, 23, 20, 21, 26, 27, 24, 25, 30, 31,
			28, 29);
	else if (bits == 8)
		*x = (vec)__builtin_shufflevector((bytes)*x, (bytes)*x,
			1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12,
			17, 18, 19, 16, 21, 22, 23, 20, 25, 26, 27, 24, 29, 30,
			31, 28);
	else
		*x = *x >> bits | *x << (32 - bits);
}

LANES_INLINE void lanes_zip32(vec *a, vec *b)
{
	vec lo = __builtin_shufflevector(*a, *b, 0, 8, 1, 9, 4, 12, 5, 13);
	vec hi = __builtin_shufflevector(*a, *b, 2, 10, 3, 11, 6, 14, 7, 15);

	*a = lo;
	*b = hi;
}

LANES_INLINE void lanes_zip64(vec *a, vec *b)
{
	vec64 lo = __builtin_shufflevector((vec64)*a, (vec64)*b, 0, 4, 2, 6);
	vec64 hi = __builtin_shufflevector((vec64)*a, (vec64)*b, 1, 5, 3, 7);

	*a = (vec)lo;
	*b = (vec)hi;
}

LANES_INLINE void lanes_zip128(vec *a, vec *b)
{
	vec64 lo = __builtin_shufflevector((vec64)*a, (vec64)*b, 0, 1, 4, 5);
	vec64 hi = __builtin_shufflevector((vec64)*a, (vec64)*b, 2, 3, 6, 7);

	*a = (vec)lo;
	*b = (vec)hi;
}

/* x[i] = 8 words of lane i <-> x[w] = word w of 8 lanes. */
LANES_INLINE void lanes_transpose8(vec x[8])
{
	vec t;
	int i;

	LANES_UNROLL
	for (i = 0; i < 8; i += 2)
		lanes_zip32(&x[i], &x[i + 1]);
	LANES_UNROLL
	for (i = 0; i < 8; i += 4) {
		lanes_zip64(&x[i], &x[i + 2]);
		lanes_zip64(&x[i + 1], &x[i + 3]);
		t = x[i + 1];
		x[i + 1] = x[i + 2];
		x[i + 2] = t;
	}
	LANES_UNROLL
	for (i = 0; i < 4; i++)
		lanes_zip128(&x[i], &x[i + 4]);
}

LANES_INLINE void lanes_load(vec m[16], const u8 *const block[LANES])
{
	int i;

	LANES_UNROLL
	for (i = 0; i < LANES; i++) {
		memcpy(&m[i], block[i], sizeof(m[i]));
		memcpy(&m[i + 8], block[i] + 32, sizeof(m[i]));
	}
	lanes_transpose8(m);
	lanes_transpose8(m + 8);
}

LANES_INLINE void lanes_store(vec h[8], u8 *const out[LANES])
{
	int i;

	lanes_transpose8(h);
	for (i = 0; i < LANES; i++)
		memcpy(out[i], &h[i], BLAKE3_CV);
}

void blake3_run_avx2(const struct blake3_job *jobs, size_t n, const u32 key[8])
{
	size_t now;

	for (; n; n -= now, jobs += now) {
		now = min_u64(n, LANES);
		lanes_run(jobs, now, key, 1);
	}
}
