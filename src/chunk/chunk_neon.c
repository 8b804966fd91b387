/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 1 with Advanced SIMD: a matrix is two table lookups by nibble (tbl).
 *
 * All five levels run in registers, 16 positions at a time; a shift by 2^l
 * positions takes the end of the previous block and the start of this one
 * (ext), and the shift by 16 is the previous block itself. Two blocks before
 * the strip come first, which covers the window.
 */
#include <arm_neon.h>

#include "chunk/chunk_internal.h"

static_assert(CHUNK_HISTORY >= 32, "two blocks before the strip are there");

struct state {
	uint8x16_t low[CHUNK_LEVELS], high[CHUNK_LEVELS];
	uint8x16_t last[CHUNK_LEVELS];	/* M(l) g(l) of the previous block */
	uint8x16_t target;
};

static inline uint8x16_t map(const struct state *s, int level, uint8x16_t x)
{
	uint8x16_t low = vandq_u8(x, vdupq_n_u8(15));
	uint8x16_t high = vshrq_n_u8(x, 4);

	return veorq_u8(vqtbl1q_u8(s->low[level], low),
			vqtbl1q_u8(s->high[level], high));
}

/* 0xff where a position is a candidate. */
static inline __attribute__((always_inline)) uint8x16_t
step(struct state *s, const u8 *p)
{
	uint8x16_t x = vld1q_u8(p), m;

	m = map(s, 0, x);
	x = veorq_u8(x, vextq_u8(s->last[0], m, 15));
	s->last[0] = m;
	m = map(s, 1, x);
	x = veorq_u8(x, vextq_u8(s->last[1], m, 14));
	s->last[1] = m;
	m = map(s, 2, x);
	x = veorq_u8(x, vextq_u8(s->last[2], m, 12));
	s->last[2] = m;
	m = map(s, 3, x);
	x = veorq_u8(x, vextq_u8(s->last[3], m, 8));
	s->last[3] = m;
	m = map(s, 4, x);
	x = veorq_u8(x, s->last[4]);
	s->last[4] = m;
	return vceqq_u8(x, s->target);
}

/* One bit a lane: weigh the lanes within eights, then add neighbours. */
static inline u64 to_bits(const uint8x16_t v[4])
{
	static const u8 weights[16] = { 1, 2, 4, 8, 16, 32, 64, 128,
					1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t w = vld1q_u8(weights);
	uint8x16_t a = vpaddq_u8(vandq_u8(v[0], w), vandq_u8(v[1], w));
	uint8x16_t b = vpaddq_u8(vandq_u8(v[2], w), vandq_u8(v[3], w));

	a = vpaddq_u8(a, b);
	a = vpaddq_u8(a, a);
	return vgetq_lane_u64(vreinterpretq_u64_u8(a), 0);
}

void chunk_scan_neon(const struct chunk_tables *t, const u8 *p,
		     size_t nr_words, u64 *bits)
{
	uint8x16_t v[4];
	struct state s;
	size_t w;
	int i;

	for (i = 0; i < CHUNK_LEVELS; i++) {
		s.low[i] = vld1q_u8(t->low[i]);
		s.high[i] = vld1q_u8(t->high[i]);
		s.last[i] = vdupq_n_u8(0);
	}
	s.target = vdupq_n_u8(t->target);
	(void)step(&s, p - 32);
	(void)step(&s, p - 16);
	for (w = 0; w < nr_words; w++) {
		for (i = 0; i < 4; i++)
			v[i] = step(&s, p + 16 * i);
		bits[w] = to_bits(v);
		p += CHUNK_WORD;
	}
}
