/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 1 without vector instructions: two gear hashes in series.
 *
 * The first carries the partial sums of levels 0 to 2 for this position and
 * the next seven in the byte lanes of one word. A shift by a lane moves on by
 * a position; the sum that is complete, g3, comes out on top, and what is
 * older falls off. The second does the same for levels 3 and 4, whose taps
 * lie 8 positions apart: hence 8 states of 4 lanes, taken in turn. Its table
 * holds the target, so a candidate is a top lane of zero.
 */
#include "chunk/chunk_internal.h"

#define WIDE_LANE (1u << 24)

struct gear {
	u64 narrow;
	u32 wide[8];
};

/* Positions i to i + 7; returns their candidate bits. */
static inline __attribute__((always_inline)) u64
step8(const struct chunk_tables *t, struct gear *g, const u8 *p)
{
	u64 bits = 0;
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		g->narrow = g->narrow << 8 ^ t->gear[p[i]];
		g->wide[i] = g->wide[i] << 8 ^ t->wide[g->narrow >> 56];
		if (__builtin_expect(g->wide[i] < WIDE_LANE, 0))
			bits |= 1ull << i;
	}
	return bits;
}

void chunk_scan_portable(const struct chunk_tables *t, const u8 *p,
			 size_t nr_words, u64 *bits)
{
	struct gear g = { 0 };
	size_t w;
	u64 word;
	int i;

	/* 8 positions fill the narrow lanes, 24 more the wide ones. */
	for (i = -CHUNK_WINDOW; i < 0; i += 8)
		(void)step8(t, &g, p + i);
	for (w = 0; w < nr_words; w++) {
		word = 0;
		for (i = 0; i < CHUNK_WORD; i += 8)
			word |= step8(t, &g, p + i) << i;
		bits[w] = word;
		p += CHUNK_WORD;
	}
}
