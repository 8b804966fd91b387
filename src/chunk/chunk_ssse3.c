/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 1 with SSSE3: a matrix is two table lookups by nibble (pshufb).
 *
 * Level by level over the strip, through two buffers in L1, so that a shift
 * by 2^l positions is an unaligned load. Every level starts 32 positions
 * before the strip; each makes the first 2^l of those wrong, 31 in all, and
 * the strip itself right.
 */
#include <tmmintrin.h>

#include "chunk/chunk_internal.h"

#define LEAD 32		/* positions computed before the strip */
#define PAD 16		/* zeros before those, for the largest shift */
static_assert(LEAD >= CHUNK_WINDOW - 1, "the strip itself is right");
static_assert(LEAD + (1 << 0) <= CHUNK_HISTORY, "level 0 reads the input");
static_assert(PAD >= 1 << (CHUNK_LEVELS - 1), "other levels read a buffer");

struct maps {
	__m128i low, high;
};

static inline __m128i load(const u8 *p)
{
	return _mm_loadu_si128((const void *)p);
}

static inline struct maps load_maps(const struct chunk_tables *t,
				    unsigned int level)
{
	struct maps m = { load(t->low[level]), load(t->high[level]) };

	return m;
}

/* 16 positions of the next level from those of this one at @src. */
static inline __m128i next_level(struct maps m, const u8 *src, int shift)
{
	__m128i nibble = _mm_set1_epi8(15);
	__m128i x = load(src - shift);
	__m128i low = _mm_and_si128(x, nibble);
	__m128i high = _mm_and_si128(_mm_srli_epi16(x, 4), nibble);

	x = _mm_xor_si128(_mm_shuffle_epi8(m.low, low),
			  _mm_shuffle_epi8(m.high, high));
	return _mm_xor_si128(load(src), x);
}

static inline void pass(const struct chunk_tables *t, unsigned int level,
			const u8 *src, u8 *dst, ptrdiff_t n)
{
	struct maps m = load_maps(t, level);
	ptrdiff_t i;

	for (i = -LEAD; i < n; i += 32) {
		_mm_store_si128((void *)(dst + i),
				next_level(m, src + i, 1 << level));
		_mm_store_si128((void *)(dst + i + 16),
				next_level(m, src + i + 16, 1 << level));
	}
}

void chunk_scan_ssse3(const struct chunk_tables *t, const u8 *p,
		      size_t nr_words, u64 *bits)
{
	u8 buf_a[PAD + LEAD + CHUNK_STRIP] __attribute__((aligned(16)));
	u8 buf_b[PAD + LEAD + CHUNK_STRIP] __attribute__((aligned(16)));
	u8 *a = buf_a + PAD + LEAD, *b = buf_b + PAD + LEAD;
	__m128i target = _mm_set1_epi8((char)t->target), x;
	ptrdiff_t n = (ptrdiff_t)(nr_words * CHUNK_WORD), i;
	struct maps m = load_maps(t, 4);
	u64 word;
	int j;

	memset(buf_a, 0, PAD);
	memset(buf_b, 0, PAD);
	pass(t, 0, p, a, n);
	pass(t, 1, a, b, n);
	pass(t, 2, b, a, n);
	pass(t, 3, a, b, n);
	for (i = 0; i < n; i += CHUNK_WORD) {
		word = 0;
		for (j = 0; j < CHUNK_WORD; j += 16) {
			x = next_level(m, b + i + j, 1 << 4);
			x = _mm_cmpeq_epi8(x, target);
			word |= (u64)(u32)_mm_movemask_epi8(x) << j;
		}
		bits[i / CHUNK_WORD] = word;
	}
}
