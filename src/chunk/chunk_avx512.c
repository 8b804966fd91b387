/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 1 with AVX-512 VBMI and GFNI: a matrix is one instruction.
 *
 * All five levels run in registers, 64 positions at a time. A shift by 2^l
 * positions takes the end of the previous block and the start of this one;
 * unaligned loads instead would each cross a cache line. The block before the
 * strip comes first, to have a previous one: its first 31 positions are wrong
 * and too far away to matter.
 */
#include <immintrin.h>

#include "chunk/chunk_internal.h"

static_assert(CHUNK_WORD == 64 && CHUNK_HISTORY >= 64,
	      "the block before the strip is there");

struct state {
	__m512i map[CHUNK_LEVELS];	/* the matrices */
	__m512i last[CHUNK_LEVELS];	/* M(l) g(l) of the previous block */
	__m512i by1, by2;		/* byte indexes of the small shifts */
	__m512i target;
};

/* Byte i of @block (64 bytes) delayed by @index's distance. */
static inline __m512i shift_bytes(__m512i last, __m512i block, __m512i index)
{
	return _mm512_permutex2var_epi8(last, index, block);
}

static inline __attribute__((always_inline)) u64
step(struct state *s, const u8 *p)
{
	__m512i x = _mm512_loadu_si512((const void *)p), m;

	m = _mm512_gf2p8affine_epi64_epi8(x, s->map[0], 0);
	x = _mm512_xor_si512(x, shift_bytes(s->last[0], m, s->by1));
	s->last[0] = m;
	m = _mm512_gf2p8affine_epi64_epi8(x, s->map[1], 0);
	x = _mm512_xor_si512(x, shift_bytes(s->last[1], m, s->by2));
	s->last[1] = m;
	m = _mm512_gf2p8affine_epi64_epi8(x, s->map[2], 0);
	x = _mm512_xor_si512(x, _mm512_alignr_epi32(m, s->last[2], 15));
	s->last[2] = m;
	m = _mm512_gf2p8affine_epi64_epi8(x, s->map[3], 0);
	x = _mm512_xor_si512(x, _mm512_alignr_epi64(m, s->last[3], 7));
	s->last[3] = m;
	m = _mm512_gf2p8affine_epi64_epi8(x, s->map[4], 0);
	x = _mm512_xor_si512(x, _mm512_alignr_epi64(m, s->last[4], 6));
	s->last[4] = m;
	return _mm512_cmpeq_epi8_mask(x, s->target);
}

/* Index vector: byte i of the result is byte i - @k of last:block. */
static inline __m512i shift_index(int k)
{
	u8 index[64];
	int i;

	/* bit 6 selects the block, and without it the previous one */
	for (i = 0; i < 64; i++)
		index[i] = (u8)(64 + i - k);
	return _mm512_loadu_si512(index);
}

void chunk_scan_avx512(const struct chunk_tables *t, const u8 *p,
		       size_t nr_words, u64 *bits)
{
	struct state s;
	size_t w;
	int l;

	for (l = 0; l < CHUNK_LEVELS; l++) {
		s.map[l] = _mm512_set1_epi64((long long)t->gfni[l]);
		s.last[l] = _mm512_setzero_si512();
	}
	s.by1 = shift_index(1);
	s.by2 = shift_index(2);
	s.target = _mm512_set1_epi8((char)t->target);
	(void)step(&s, p - 64);
	for (w = 0; w < nr_words; w++)
		bits[w] = step(&s, p + w * CHUNK_WORD);
}
