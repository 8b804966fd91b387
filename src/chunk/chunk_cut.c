/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cutter: phase 2, and the interface.
 *
 * Phase 1 fills a map of candidate positions, one bit a byte of the buffer,
 * strip by strip and only as far as the search has come; the min bytes behind
 * a cut, where no cut may be, are mostly never looked at. Phase 2 walks the
 * set bits. Its cost is bounded by one hash a byte, on data made of nothing
 * but candidates; memory does not depend on the data.
 *
 * A cut at length L decides by the 32 bytes before it. As min is larger than
 * that, the window lies within the chunk for every legal L, hence:
 *
 * I1. A chunk's length is a function of the bytes from its start to its end
 *     (and, for the last of a stream, of the end).
 */
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "chunk/chunk_internal.h"

static_assert(CHUNK_MIN_BYTES >= CHUNK_WINDOW, "I1");

struct chunker {
	struct chunk_tables tables;
	struct chunk_params params;
	/* A candidate is a cut if its hash is at most this: */
	u64 strict, loose;	/* before avg; from avg on */
	const struct chunk_kernel *kernel;
};

int chunk_params_check(const struct chunk_params *p, struct akin_diag *d)
{
	bool ordered = p->method == CHUNK_FIXED ?
		p->min <= p->avg && p->avg <= p->max :
		p->min < p->avg && p->avg < p->max;

	if (p->method != CHUNK_CDC && p->method != CHUNK_FIXED)
		return diag_set(d, -AKIN_E_feature,
				"chunk method %u is not known", p->method);
	if (!ordered || p->min < CHUNK_MIN_BYTES || p->max > CHUNK_MAX_BYTES)
		return diag_set(d, -AKIN_E_usage,
				"chunk sizes %u/%u/%u: need %u <= min < avg < max <= %u",
				p->min, p->avg, p->max, CHUNK_MIN_BYTES,
				CHUNK_MAX_BYTES);
	if (p->avg & (p->avg - 1))
		return diag_set(d, -AKIN_E_usage,
				"average chunk size %u is not a power of two",
				p->avg);
	return 0;
}

/*
 * Normalised chunking, level 2: a quarter of the plain probability before
 * avg, four times it behind. Phase 1 has taken 8 bits of it already.
 */
static void set_masks(struct chunker *c)
{
	int bits = __builtin_ctz(c->params.avg) - 8;
	int loose_bits = bits > 2 ? bits - 2 : 0;

	c->strict = UINT64_MAX >> (bits + 2);
	c->loose = UINT64_MAX >> loose_bits;
}

int chunker_new(const struct chunk_params *p, const u8 key[32],
		struct chunker **out, struct akin_diag *d)
{
	struct chunker *c;
	int err;

	*out = NULL;
	err = chunk_params_check(p, d);
	if (err)
		return err;
	c = mem_aligned(64, sizeof(*c));
	if (!c)
		return diag_set(d, -AKIN_E_nomem, "chunk tables");
	memset(c, 0, sizeof(*c));
	c->params = *p;
	chunk_tables_init(&c->tables, key);
	c->kernel = chunk_kernel_select(&c->tables);
	if (p->method == CHUNK_CDC)
		set_masks(c);
	*out = c;
	return 0;
}

void chunker_free(struct chunker *c)
{
	mem_free(c);
}

const char *chunker_kernel(const struct chunker *c)
{
	return c->params.method == CHUNK_CDC ? c->kernel->name : "fixed";
}

int chunk_scratch_new(size_t max_bytes, struct chunk_scratch **out,
		      struct akin_diag *d)
{
	size_t nr_words = max_bytes / CHUNK_WORD + 1;
	struct chunk_scratch *s;

	*out = NULL;
	s = mem_alloc(sizeof(*s) + nr_words * sizeof(s->bits[0]));
	if (!s)
		return diag_set(d, -AKIN_E_nomem, "chunk map of %zu bytes",
				max_bytes);
	s->max_bytes = max_bytes;
	s->scanned = 0;
	s->nr_hashed = 0;
	*out = s;
	return 0;
}

void chunk_scratch_free(struct chunk_scratch *s)
{
	mem_free(s);
}

/* Both halves of the 128-bit product, folded. */
static inline u64 fold(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (u64)product ^ (u64)(product >> 64);
}

/* get_le64 where it counts: not every compiler makes that one load. */
static inline u64 load_le64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
		v : __builtin_bswap64(v);
}

/* The window that ends with *last. */
static inline u64 window_hash(const u64 k[6], const u8 *last)
{
	const u8 *p = last - (CHUNK_WINDOW - 1);
	u64 a = fold(load_le64(p) ^ k[0], load_le64(p + 8) ^ k[1]);
	u64 b = fold(load_le64(p + 16) ^ k[2], load_le64(p + 24) ^ k[3]);

	return fold(a ^ k[4], b ^ k[5]);
}

/* The map's last word, of which the buffer has only some bytes. */
static void scan_tail(const struct chunker *c, struct chunk_scratch *s,
		      const u8 *data, size_t n)
{
	size_t word = n / CHUNK_WORD, rest = n % CHUNK_WORD;
	const u8 *from = data + word * CHUNK_WORD - CHUNK_HISTORY;

	memcpy(s->tail, from, CHUNK_HISTORY + rest);
	memset(s->tail + CHUNK_HISTORY + rest, 0, CHUNK_WORD - rest);
	c->kernel->scan(&c->tables, s->tail + CHUNK_HISTORY, 1,
			s->bits + word);
	s->bits[word] &= (1ull << rest) - 1;
}

/* Phase 1 for the strip that begins with @word, a word of the buffer. */
static void scan_strip(const struct chunker *c, struct chunk_scratch *s,
		       const u8 *data, size_t n, size_t word)
{
	size_t full = n / CHUNK_WORD;
	size_t take = min_u64(full - word, CHUNK_STRIP_WORDS);

	akin_dcheck(word * CHUNK_WORD >= CHUNK_HISTORY);
	if (take) {
		c->kernel->scan(&c->tables, data + word * CHUNK_WORD, take,
				s->bits + word);
		s->scanned = word + take;
	} else {
		scan_tail(c, s, data, n);
		s->scanned = word + 1;
	}
}

static inline void keep_sample(struct chunk_samples *sm, u64 hash)
{
	/* One more than there may be says that there was no room. */
	if (sm && sm->nr < sm->max)
		sm->hashes[sm->nr] = hash;
	if (sm && sm->nr <= sm->max)
		sm->nr++;
}

/* Length of the chunk at @from if a candidate within @n ends it, or 0. */
static size_t find_cut(const struct chunker *c, struct chunk_scratch *s,
		       const u8 *data, size_t n, size_t from,
		       struct chunk_samples *sm)
{
	size_t pos = from + c->params.min - 1, word = pos / CHUNK_WORD;
	size_t end = min_u64(n, from + c->params.max);
	size_t avg_pos = from + c->params.avg - 1;
	u64 bits, hash, skip = ~0ull << pos % CHUNK_WORD;

	for (; word * CHUNK_WORD < end; word++) {
		if (word >= s->scanned)
			scan_strip(c, s, data, n, word);
		bits = s->bits[word] & skip;
		for (; bits; bits &= bits - 1) {
			pos = word * CHUNK_WORD + (size_t)__builtin_ctzll(bits);
			if (pos >= end)
				return 0;
			s->nr_hashed++;
			hash = window_hash(c->tables.hash_key, data + pos);
			keep_sample(sm, hash);
			if (hash <= (pos < avg_pos ? c->strict : c->loose))
				return pos + 1 - from;
		}
		skip = ~0ull;
	}
	return 0;
}

/* Of the chunk whose samples began at @first. */
static void end_samples(struct chunk_samples *sm, size_t first, size_t chunk)
{
	if (sm->nr > sm->max)
		sm->nr = first;
	sm->nr = min_u64(sm->nr, first + CHUNK_SAMPLES_MAX);
	sm->ends[chunk] = (u32)sm->nr;
}

static size_t cut_cdc(const struct chunker *c, struct chunk_scratch *s,
		      const u8 *data, size_t n, bool final, u32 *lens,
		      size_t *nr_ret, struct chunk_samples *sm)
{
	size_t from = 0, nr = 0, first = 0, len;

	s->scanned = 0;
	while (from < n) {
		len = 0;
		first = sm ? sm->nr : 0;
		if (n - from >= c->params.min)
			len = find_cut(c, s, data, n, from, sm);
		if (!len && n - from >= c->params.max)
			len = c->params.max;
		else if (!len && final)
			len = n - from;
		else if (!len)
			break;
		if (sm)
			end_samples(sm, first, nr);
		lens[nr++] = (u32)len;
		from += len;
	}
	/* Those of what is left come when it is cut. */
	if (sm && from < n)
		sm->nr = first;
	*nr_ret = nr;
	return from;
}

static size_t cut_fixed(const struct chunker *c, size_t n, bool final,
			u32 *lens, size_t *nr_ret)
{
	size_t from = 0, nr = 0, size = c->params.avg;

	for (; n - from >= size; from += size)
		lens[nr++] = (u32)size;
	if (final && from < n) {
		lens[nr++] = (u32)(n - from);
		from = n;
	}
	*nr_ret = nr;
	return from;
}

int chunker_cut_sampled(const struct chunker *c, struct chunk_scratch *s,
			const u8 *data, size_t n, bool final, u32 *lens,
			size_t max_lens, size_t *nr_ret, size_t *consumed_ret,
			struct chunk_samples *samples)
{
	bool fixed = c->params.method == CHUNK_FIXED;
	size_t least = fixed ? c->params.avg : c->params.min;

	if (max_lens < n / least + 1)
		return -AKIN_E_usage;
	if (n > s->max_bytes)
		return -AKIN_E_too_large;
	*consumed_ret = fixed ? cut_fixed(c, n, final, lens, nr_ret) :
		cut_cdc(c, s, data, n, final, lens, nr_ret, samples);
	return 0;
}

int chunker_cut(const struct chunker *c, struct chunk_scratch *s,
		const u8 *data, size_t n, bool final, u32 *lens,
		size_t max_lens, size_t *nr_ret, size_t *consumed_ret)
{
	return chunker_cut_sampled(c, s, data, n, final, lens, max_lens, nr_ret,
				   consumed_ret, NULL);
}

/* Candidates of a strip into hashes. */
static size_t sample_bits(const struct chunker *c, const u8 *data,
			  const u64 *bits, size_t nr_words, u64 *out,
			  size_t max)
{
	size_t nr = 0, w;
	u64 left;

	for (w = 0; w < nr_words; w++) {
		for (left = bits[w]; left && nr < max; left &= left - 1)
			out[nr++] = window_hash(c->tables.hash_key, data +
						w * CHUNK_WORD +
						__builtin_ctzll(left));
	}
	return nr;
}

static_assert(CHUNK_SAMPLE_SKIP >= CHUNK_HISTORY &&
	      CHUNK_MIN_BYTES > CHUNK_HISTORY,
	      "a kernel reads no bytes in front of the data");

size_t chunker_sample(const struct chunker *c, const u8 *data, size_t n,
		      u64 *hashes_ret)
{
	size_t at = chunker_gives_samples(c) ? c->params.min - 1 :
					       CHUNK_SAMPLE_SKIP;
	size_t nr = 0, words, max = CHUNK_SAMPLES_MAX;
	u8 tail[CHUNK_HISTORY + CHUNK_WORD];
	u64 bits[CHUNK_STRIP_WORDS];

	for (; at < n && n - at >= CHUNK_WORD && nr < max;
	     at += words * CHUNK_WORD) {
		words = min_u64((n - at) / CHUNK_WORD, CHUNK_STRIP_WORDS);
		c->kernel->scan(&c->tables, data + at, words, bits);
		nr += sample_bits(c, data + at, bits, words, hashes_ret + nr,
				  max - nr);
	}
	if (at >= n || nr == max)
		return nr;
	/* The last word is not all there. */
	memset(tail, 0, sizeof(tail));
	memcpy(tail, data + at - CHUNK_HISTORY, CHUNK_HISTORY + n - at);
	c->kernel->scan(&c->tables, tail + CHUNK_HISTORY, 1, bits);
	bits[0] &= (1ull << (n - at)) - 1;
	return nr + sample_bits(c, tail + CHUNK_HISTORY, bits, 1,
				hashes_ret + nr, max - nr);
}

bool chunker_gives_samples(const struct chunker *c)
{
	return c->params.method == CHUNK_CDC;
}
