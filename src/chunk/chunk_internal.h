/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cutter, its tables and its phase 1 kernels share.
 *
 * Phase 1, over the bytes x: g0 = x and, for the levels l = 0 .. 4,
 *
 *	g(l+1)[i] = g(l)[i] ^ M(l) g(l)[i - 2^l]
 *
 * with keyed 8 x 8 bit matrices M. After five levels g5[i] is a linear hash
 * of the 32 bytes that end at i, and i is a candidate if it equals the target.
 */
#ifndef CHUNK_CHUNK_INTERNAL_H
#define CHUNK_CHUNK_INTERNAL_H

#include "base/cpu.h"
#include "chunk/chunk.h"

#define CHUNK_LEVELS 5
static_assert(1 << CHUNK_LEVELS == CHUNK_WINDOW, "the levels span the window");

/*
 * Positions come 64 to a word of the candidate map. A kernel is asked for at
 * most a strip: small, so that little is computed inside the min bytes behind
 * a cut, where nobody looks, and that intermediate levels stay in L1; large
 * against the history it must recompute.
 */
#define CHUNK_WORD 64
#define CHUNK_STRIP_WORDS 32
#define CHUNK_STRIP (CHUNK_STRIP_WORDS * CHUNK_WORD)

/*
 * Bytes in front of a strip that a kernel may read. Always there: the first
 * position ever asked about is min - 1, rounded down to a word.
 */
#define CHUNK_HISTORY 64
static_assert(CHUNK_HISTORY >= CHUNK_WINDOW - 1, "history spans the window");
static_assert(CHUNK_MIN_BYTES - CHUNK_WORD >= CHUNK_HISTORY,
	      "no strip starts nearer to the chunk's start than its history");

/* Everything that follows from the key. */
struct chunk_tables {
	/* M(l) of the nibble v, low[l][v] = M v and high[l][v] = M (v << 4) */
	u8 low[CHUNK_LEVELS][16];
	u8 high[CHUNK_LEVELS][16];
	u64 gfni[CHUNK_LEVELS];	/* the matrices as gf2p8affineqb reads them */
	/* For the portable kernel; see there. */
	u64 gear[256];		/* levels 0 to 2: 8 taps, one byte lane each */
	u32 wide[256];		/* levels 3 and 4: 4 taps, 8 positions apart */
	u8 target;
	u64 hash_key[6];	/* phase 2 */
};

void chunk_tables_init(struct chunk_tables *t, const u8 key[32]);
u8 chunk_map(const struct chunk_tables *t, unsigned int level, u8 x);
/* g5 within a run of equal bytes @x. A bijection; not target at 0 and 0xff. */
u8 chunk_run_value(const struct chunk_tables *t, u8 x);

/*
 * Sets bit b of bits[w] if g5[w * 64 + b] equals the target, clears it
 * otherwise, for 1 <= @nr_words <= CHUNK_STRIP_WORDS words. Reads
 * p[-CHUNK_HISTORY] to p[@nr_words * 64 - 1], nothing else.
 */
typedef void chunk_scan_fn(const struct chunk_tables *t, const u8 *p,
			   size_t nr_words, u64 *bits);

struct chunk_kernel {
	const char *name;
	enum cpu_level level;	/* what it needs */
	chunk_scan_fn *scan;
};

chunk_scan_fn chunk_scan_portable;
#if defined(__x86_64__)
chunk_scan_fn chunk_scan_ssse3;
chunk_scan_fn chunk_scan_avx2;
chunk_scan_fn chunk_scan_avx512;
#elif defined(__aarch64__)
chunk_scan_fn chunk_scan_neon;
#endif

/* The best kernel that needs no more than @level. */
const struct chunk_kernel *chunk_kernel_at(enum cpu_level level);
/* The self-test: @k finds what the portable kernel finds. Microseconds. */
bool chunk_kernel_agrees(const struct chunk_kernel *k,
			 const struct chunk_tables *t);
/* The best for this machine, stepping over any that fails its self-test. */
const struct chunk_kernel *chunk_kernel_select(const struct chunk_tables *t);

struct chunk_scratch {
	size_t max_bytes;
	size_t scanned;		/* words of @bits known, but for skipped gaps */
	u64 nr_hashed;		/* phase 2 evaluations since creation */
	u8 tail[CHUNK_HISTORY + CHUNK_WORD];	/* padded copy of a last word */
	u64 bits[];		/* candidate map of the buffer */
};

#endif
