/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 1 with AVX2: a matrix is two table lookups by nibble (vpshufb).
 *
 * Level by level over the strip, through two buffers in L1, so that a shift
 * by 2^l positions is an unaligned load: keeping everything in registers
 * needs two shuffles for that, on the units that do the lookups, and is half
 * as fast. Every level starts 32 positions before the strip; each makes the
 * first 2^l of those wrong, 31 in all, and the strip itself right.
 */
#include <immintrin.h>

#include "chunk/chunk_internal.h"

#define LEAD 32		/* positions computed before the strip */
#define PAD 32		/* zeros before those, for the largest shift */
static_assert(LEAD >= CHUNK_WINDOW - 1, "the strip itself is right");
static_assert(LEAD + (1 << 0) <= CHUNK_HISTORY, "level 0 reads the input");
static_assert(PAD >= 1 << (CHUNK_LEVELS - 1), "other levels read a buffer");

struct maps {
	__m256i low, high;
};

static inline __m256i load(const u8 *p)
{
	return _mm256_loadu_si256((const void *)p);
}

static inline struct maps load_maps(const struct chunk_tables *t,
				    unsigned int level)
{
	__m128i low = _mm_loadu_si128((const void *)t->low[level]);
	__m128i high = _mm_loadu_si128((const void *)t->high[level]);
	struct maps m = { _mm256_broadcastsi128_si256(low),
			  _mm256_broadcastsi128_si256(high) };

	return m;
}

/* 32 positions of the next level from those of this one at @src. */
static inline __m256i next_level(struct maps m, const u8 *src, int shift)
{
	__m256i nibble = _mm256_set1_epi8(15);
	__m256i x = load(src - shift);
	__m256i low = _mm256_and_si256(x, nibble);
	__m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble);

	x = _mm256_xor_si256(_mm256_shuffle_epi8(m.low, low),
			     _mm256_shuffle_epi8(m.high, high));
	return _mm256_xor_si256(load(src), x);
}

static inline void pass(const struct chunk_tables *t, unsigned int level,
			const u8 *src, u8 *dst, ptrdiff_t n)
{
	struct maps m = load_maps(t, level);
	ptrdiff_t i;

	_mm256_store_si256((void *)(dst - LEAD),
			   next_level(m, src - LEAD, 1 << level));
	for (i = 0; i < n; i += 64) {
		_mm256_store_si256((void *)(dst + i),
				   next_level(m, src + i, 1 << level));
		_mm256_store_si256((void *)(dst + i + 32),
				   next_level(m, src + i + 32, 1 << level));
	}
}

/*
 * Most likely the next strip is wanted soon, and the hardware does not see
 * it coming: the input is read in bursts, a fifth of the time. May name
 * addresses behind the buffer, which a prefetch ignores.
 */
static inline void prefetch(const u8 *p, ptrdiff_t n)
{
	ptrdiff_t i;

	for (i = 0; i < n; i += 64)
		_mm_prefetch((const void *)((uintptr_t)p + (uintptr_t)i),
			     _MM_HINT_T0);
}

static inline u64 match(__m256i x, __m256i target)
{
	return (u32)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, target));
}

void chunk_scan_avx2(const struct chunk_tables *t, const u8 *p,
		     size_t nr_words, u64 *bits)
{
	u8 buf_a[PAD + LEAD + CHUNK_STRIP] __attribute__((aligned(32)));
	u8 buf_b[PAD + LEAD + CHUNK_STRIP] __attribute__((aligned(32)));
	u8 *a = buf_a + PAD + LEAD, *b = buf_b + PAD + LEAD;
	__m256i target = _mm256_set1_epi8((char)t->target);
	ptrdiff_t n = (ptrdiff_t)(nr_words * CHUNK_WORD), i;
	struct maps m = load_maps(t, 4);

	memset(buf_a, 0, PAD);
	memset(buf_b, 0, PAD);
	pass(t, 0, p, a, n);
	prefetch(p + n, n);
	pass(t, 1, a, b, n);
	pass(t, 2, b, a, n);
	pass(t, 3, a, b, n);
	for (i = 0; i < n; i += CHUNK_WORD)
		bits[i / CHUNK_WORD] =
			match(next_level(m, b + i, 1 << 4), target) |
			match(next_level(m, b + i + 32, 1 << 4), target) << 32;
}
