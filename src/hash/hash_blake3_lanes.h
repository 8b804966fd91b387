/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of the BLAKE3 vector kernels, included once by each of them.
 *
 * State and message are transposed: v[s][i] holds word i of all lanes, so that
 * a round is the scalar round with vectors for words, and no data moves
 * between lanes. Blocks are loaded one per lane and transposed on the way in.
 * Several such groups ("streams", s) can run interleaved, so that the
 * instructions of one fill the latencies of the other.
 *
 * Lanes end at different blocks. Up to the first end all lanes agree and
 * nothing is masked; from there on a lane that is through keeps its chaining
 * value, and keeps reading its last block, which is always readable. The
 * caller sorts jobs by length, so little is wasted.
 *
 * Written in the compilers' vector extensions, so that every kernel compiles
 * for any processor and the wide ones can be tested where they would not run.
 * The kernel defines before it includes this file:
 *
 *   LANES            words in a vector: 8 or 16
 *   STREAMS          groups interleaved at most: 1 or 2
 *   COLUMNS          of the state's four, how many are interleaved: 1, 2, 4
 *   LANES_PREFETCH   bytes to prefetch ahead of the loads
 *
 * and after it the functions that are only declared here.
 */
#include "hash/hash_blake3.h"

typedef u32 vec __attribute__((vector_size(4 * LANES)));

#define LANES_INLINE static inline __attribute__((always_inline))
/* Loops over words and streams must vanish, or the arrays stay in memory. */
#ifdef __clang__
#define LANES_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LANES_UNROLL _Pragma("GCC unroll 16")
#endif

/* Block i of lane i -> m[w] = word w of all lanes. */
LANES_INLINE void lanes_load(vec m[16], const u8 *const block[LANES]);
/* h[w] = word w of all lanes -> out[i], 32 bytes. */
LANES_INLINE void lanes_store(vec h[8], u8 *const out[LANES]);
/* Each word rotated right by 16, 12, 8 or 7 bits (a constant). */
LANES_INLINE void lanes_ror(vec *x, int bits);

static const u32 lanes_iv[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* The message permutation of the specification, applied 0 to 6 times. */
static const u8 lanes_schedule[7][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8 },
	{ 3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1 },
	{ 10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6 },
	{ 12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4 },
	{ 9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7 },
	{ 11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13 },
};

/* One group of lanes per stream: its jobs, field by field. */
struct lanes_group {
	const u8 *in[LANES];
	const u8 *last[LANES];
	u8 *out[LANES];
	u32 nr_blocks[LANES];
	u32 last_len[LANES];
	u32 counter[LANES];
	u32 flags_first[LANES];
	u32 flags_last[LANES];
	vec h[8];
};

LANES_INLINE void lanes_read(vec *v, const u32 *words)
{
	memcpy(v, words, sizeof(*v));
}

LANES_INLINE void lanes_fill(vec *v, u32 word)
{
	*v = (vec){ 0 } + word;
}

/*
 * The state belongs into the registers, the message into memory: a word is
 * used once a round, as an operand of an addition. Compilers see it used seven
 * times, keep it, and spill the state; so they are told, once a round, that
 * the message may have changed.
 */
LANES_INLINE void lanes_pin(vec m[][16])
{
	__asm__ volatile("" : : "r"(m) : "memory");
}

/*
 * Half a round: the columns, or the diagonals of the state. They are taken
 * COLUMNS at a time, each step for all of these in all streams.
 */
LANES_INLINE void lanes_step_a(vec v[][16], vec m[][16], const int streams,
			       const u8 *words, const int first,
			       const int diagonal)
{
	int s, g;

	LANES_UNROLL
	for (s = 0; s < streams; s++) {
		LANES_UNROLL
		for (g = first; g < first + COLUMNS; g++)
			v[s][g] = v[s][g] + m[s][words[2 * g]] +
				  v[s][4 + (g + diagonal) % 4];
	}
}

LANES_INLINE void lanes_step_d(vec v[][16], const int streams, const int first,
			       const int diagonal, const int bits)
{
	int s, g;

	LANES_UNROLL
	for (s = 0; s < streams; s++) {
		LANES_UNROLL
		for (g = first; g < first + COLUMNS; g++) {
			vec *d = &v[s][12 + (g + 3 * diagonal) % 4];

			*d ^= v[s][g];
			lanes_ror(d, bits);
		}
	}
}

LANES_INLINE void lanes_step_cb(vec v[][16], const int streams,
				const int first, const int diagonal,
				const int bits)
{
	int s, g;

	LANES_UNROLL
	for (s = 0; s < streams; s++) {
		LANES_UNROLL
		for (g = first; g < first + COLUMNS; g++)
			v[s][8 + (g + 2 * diagonal) % 4] +=
				v[s][12 + (g + 3 * diagonal) % 4];
	}
	LANES_UNROLL
	for (s = 0; s < streams; s++) {
		LANES_UNROLL
		for (g = first; g < first + COLUMNS; g++) {
			vec *b = &v[s][4 + (g + diagonal) % 4];

			*b ^= v[s][8 + (g + 2 * diagonal) % 4];
			lanes_ror(b, bits);
		}
	}
}

LANES_INLINE void lanes_rounds(vec v[][16], vec m[][16], const int streams)
{
	int half, g;

	LANES_UNROLL
	for (half = 0; half < 14; half++) {
		const u8 *words = &lanes_schedule[half / 2][half % 2 * 8];
		const int diagonal = half % 2;

		lanes_pin(m);
		LANES_UNROLL
		for (g = 0; g < 4; g += COLUMNS) {
			lanes_step_a(v, m, streams, words, g, diagonal);
			lanes_step_d(v, streams, g, diagonal, 16);
			lanes_step_cb(v, streams, g, diagonal, 12);
			lanes_step_a(v, m, streams, words + 1, g, diagonal);
			lanes_step_d(v, streams, g, diagonal, 8);
			lanes_step_cb(v, streams, g, diagonal, 7);
		}
	}
}

/* Load block @b, the same for all lanes: none has its end before @b + 1. */
LANES_INLINE void lanes_load_even(vec m[16], const struct lanes_group *g,
				  u32 b)
{
	const u8 *block[LANES];
	int i;

	LANES_UNROLL
	for (i = 0; i < LANES; i++) {
		block[i] = g->in[i] + BLAKE3_BLOCK * b;
		__builtin_prefetch(block[i] + LANES_PREFETCH);
	}
	lanes_load(m, block);
}

LANES_INLINE void lanes_load_ends(vec m[16], const struct lanes_group *g,
				  u32 b)
{
	const u8 *block[LANES];
	int i;

	for (i = 0; i < LANES; i++)
		block[i] = b + 1 < g->nr_blocks[i] ?
				   g->in[i] + BLAKE3_BLOCK * b :
				   g->last[i];
	lanes_load(m, block);
}

/*
 * The state for block @b: chaining value, constants, counter, block length,
 * flags. At an @end, the last two differ between lanes.
 */
LANES_INLINE void lanes_enter(vec v[16], const struct lanes_group *g, u32 b,
			      bool end)
{
	vec nr, first, last, len, flags;
	int i;

	LANES_UNROLL
	for (i = 0; i < 8; i++)
		v[i] = g->h[i];
	LANES_UNROLL
	for (i = 0; i < 4; i++)
		lanes_fill(&v[8 + i], lanes_iv[i]);
	lanes_read(&v[12], g->counter);
	lanes_fill(&v[13], 0);
	lanes_fill(&v[14], BLAKE3_BLOCK);
	lanes_fill(&v[15], BLAKE3_KEYED_HASH);
	if (b == 0) {
		lanes_read(&first, g->flags_first);
		v[15] |= first;
	}
	if (end) {
		lanes_read(&nr, g->nr_blocks);
		lanes_read(&len, g->last_len);
		lanes_read(&flags, g->flags_last);
		last = (vec)(nr == b + 1);
		v[14] = (last & len) | (~last & v[14]);
		v[15] |= last & flags;
	}
}

/* The new chaining values of the lanes that are not through before @b. */
LANES_INLINE void lanes_leave(struct lanes_group *g, const vec v[16], u32 b,
			      bool end)
{
	vec nr, active, h;
	int i;

	lanes_read(&nr, g->nr_blocks);
	active = (vec)(nr > b);
	LANES_UNROLL
	for (i = 0; i < 8; i++) {
		h = v[i] ^ v[i + 8];
		g->h[i] = end ? (active & h) | (~active & g->h[i]) : h;
	}
}

/* Fill @g from @n jobs; lanes without a job repeat the first one. */
LANES_INLINE void lanes_gather(struct lanes_group *g,
			       const struct blake3_job *jobs, size_t n,
			       const u32 key[8], u8 *nowhere)
{
	size_t i;

	for (i = 0; i < LANES; i++) {
		const struct blake3_job *j = &jobs[i < n ? i : 0];

		g->in[i] = j->in;
		g->last[i] = j->last;
		g->out[i] = i < n ? j->out : nowhere;
		g->nr_blocks[i] = j->nr_blocks;
		g->last_len[i] = j->last_len;
		g->counter[i] = j->counter;
		g->flags_first[i] = j->flags_first;
		g->flags_last[i] = j->flags_last;
	}
	for (i = 0; i < 8; i++)
		lanes_fill(&g->h[i], key[i]);
}

/* Up to @streams * LANES jobs. */
LANES_INLINE void lanes_run(const struct blake3_job *jobs, size_t n,
			    const u32 key[8], const int streams)
{
	struct lanes_group g[STREAMS];
	vec v[STREAMS][16], m[STREAMS][16];
	u32 b, least = BLAKE3_LEAF_BLOCKS, most = 1;
	u8 nowhere[BLAKE3_CV];
	size_t i;
	int s;

	for (i = 0; i < n; i++) {
		least = least < jobs[i].nr_blocks ? least : jobs[i].nr_blocks;
		most = most > jobs[i].nr_blocks ? most : jobs[i].nr_blocks;
	}
	for (s = 0; s < streams; s++)
		lanes_gather(&g[s], jobs + s * LANES, n - s * LANES, key,
			     nowhere);
	for (b = 0; b < most; b++) {
		bool end = b + 1 >= least;

		LANES_UNROLL
		for (s = 0; s < streams; s++) {
			if (end)
				lanes_load_ends(m[s], &g[s], b);
			else
				lanes_load_even(m[s], &g[s], b);
			lanes_enter(v[s], &g[s], b, end);
		}
		lanes_rounds(v, m, streams);
		LANES_UNROLL
		for (s = 0; s < streams; s++)
			lanes_leave(&g[s], v[s], b, end);
	}
	for (s = 0; s < streams; s++)
		lanes_store(g[s].h, g[s].out);
}
