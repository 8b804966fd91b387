/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing over buckets, rebuilt in place.
 *
 * I1. An entry lies in its home bucket or in a later one, and all buckets
 *     from its home up to where it lies are full.
 * I2. Within a bucket used slots come first. So a bucket whose last slot is
 *     empty ends every search.
 *
 * There is no wrap-around: PAD_BUCKETS lie behind the addressed ones. An
 * insertion goes at most PROBE_MAX buckets from home and reports FULL
 * otherwise; growing may lengthen that by two buckets a step (the rounding of
 * homes), in at most 32 steps, and dropping entries never does. Thus the last
 * pad bucket is always empty, and searches need no bound.
 *
 * Rebuilding walks the buckets upward, takes each bucket's entries out and
 * inserts them again. Every entry's new home is at or below the bucket it is
 * read from, and at most four come out of a bucket, so they always land at or
 * below it: never on what has not been read yet. To grow, the old buckets are
 * first moved to the end of the larger memory, by nr2 - nr buckets; an entry
 * at bucket p then had a home floor(x * nr) <= p, hence floor(x * nr2) <=
 * p + nr2 - nr, which is where it is read from.
 */
#include "base/check.h"
#include "base/mem.h"
#include "index/index_slots.h"

#define BUCKET_BYTES (BUCKET_SLOTS * sizeof(struct slot))
#define MIN_BUCKETS 64
#define PROBE_MAX 64
#define PAD_BUCKETS 129
static_assert(BUCKET_BYTES == 64, "a bucket is a cache line");
static_assert(PAD_BUCKETS > PROBE_MAX + 2 * 32, "the last bucket stays empty");
/* Above this load (percent) chains get long: 1.2 lines a probe at 80. */
#define MAX_LOAD 80
/* Places of one prefix in a multi table; more means something is odd, and
 * chains would get slow. */
#define MAX_COPIES 16

static struct slot *bucket(const struct slots *s, u64 b)
{
	return s->slots + b * BUCKET_SLOTS;
}

static u64 total_buckets(const struct slots *s)
{
	return s->nr_buckets ? s->nr_buckets + PAD_BUCKETS : 0;
}

static u64 load_limit(u64 nr_buckets)
{
	return nr_buckets * BUCKET_SLOTS * MAX_LOAD / 100;
}

/* The same for a given number of buckets; one line more, to align. */
static size_t bytes_for(u64 nr_buckets)
{
	return (nr_buckets + PAD_BUCKETS + 1) * BUCKET_BYTES;
}

void slots_init(struct slots *s, size_t max_bytes, bool multi)
{
	memset(s, 0, sizeof(*s));
	s->multi = multi;
	s->max_buckets = MIN_BUCKETS;
	if (max_bytes > bytes_for(MIN_BUCKETS))
		s->max_buckets = max_bytes / BUCKET_BYTES - PAD_BUCKETS - 1;
}

void slots_release(struct slots *s)
{
	mem_free(s->raw);
	s->raw = NULL;
	s->slots = NULL;
	s->nr_buckets = 0;
	s->nr = 0;
}

u64 slots_capacity(const struct slots *s)
{
	return load_limit(s->max_buckets);
}

size_t slots_bytes(const struct slots *s)
{
	return s->nr_buckets ? bytes_for(s->nr_buckets) : 0;
}

/* Where it goes in the end; the caller knows that it is not there. */
static void put_again(struct slots *s, const struct slot *e)
{
	u64 b = slots_home(s, e->prefix);
	struct slot *p;
	u32 i;

	for (;; b++) {
		akin_assert(b < total_buckets(s));
		p = bucket(s, b);
		for (i = 0; i < BUCKET_SLOTS; i++) {
			if (!p[i].word) {
				p[i] = *e;
				return;
			}
		}
	}
}

static void rebuild(struct slots *s, u64 from)
{
	struct slot out[BUCKET_SLOTS];
	struct slot *p;
	u64 b;
	u32 i;

	for (b = from; b < total_buckets(s); b++) {
		p = bucket(s, b);
		memcpy(out, p, sizeof(out));
		memset(p, 0, sizeof(out));
		for (i = 0; i < BUCKET_SLOTS; i++)
			if (out[i].word)
				put_again(s, &out[i]);
	}
}

/* False: at the limit, or no memory; then nothing has changed. */
static bool grow(struct slots *s, u64 nr_buckets)
{
	u64 old = total_buckets(s), shift;
	size_t at = s->raw ? (size_t)((u8 *)s->slots - (u8 *)s->raw) : 0;
	u8 *raw, *base;

	nr_buckets = min_u64(nr_buckets, s->max_buckets);
	if (nr_buckets <= s->nr_buckets)
		return false;
	raw = mem_realloc(s->raw, bytes_for(nr_buckets));
	if (!raw)
		return false;
	base = (u8 *)(((uintptr_t)raw + BUCKET_BYTES - 1) &
		      ~(uintptr_t)(BUCKET_BYTES - 1));
	shift = nr_buckets + PAD_BUCKETS - old;
	memmove(base + shift * BUCKET_BYTES, raw + at, old * BUCKET_BYTES);
	memset(base, 0, shift * BUCKET_BYTES);
	s->raw = raw;
	s->slots = (struct slot *)(void *)base;
	s->nr_buckets = nr_buckets;
	rebuild(s, shift);
	return true;
}

static bool grow_twofold(struct slots *s)
{
	return grow(s, max_u64(MIN_BUCKETS, 2 * s->nr_buckets));
}

void slots_reserve(struct slots *s, u64 nr)
{
	u64 want = s->nr_buckets;

	if (nr <= load_limit(s->nr_buckets))
		return;
	nr = min_u64(nr, slots_capacity(s));
	want = nr * 100 / MAX_LOAD / BUCKET_SLOTS + 1;
	(void)grow(s, max_u64(want, MIN_BUCKETS));	/* only a head start */
}

/*
 * The slot that holds the prefix (for a multi table: and the word), or the
 * empty one where it would go; NULL if the chain is too long.
 */
static struct slot *probe(const struct slots *s, u64 prefix, u64 word)
{
	u64 home = slots_home(s, prefix), b;
	u32 copies = 0, i;
	struct slot *p;

	for (b = home; b < home + PROBE_MAX; b++) {
		p = bucket(s, b);
		for (i = 0; i < BUCKET_SLOTS; i++) {
			if (!p[i].word)
				return &p[i];
			if (p[i].prefix != prefix)
				continue;
			if (!s->multi || p[i].word == word)
				return &p[i];
			if (++copies == MAX_COPIES)
				return NULL;
		}
	}
	return NULL;
}

enum slots_result slots_insert(struct slots *s, u64 prefix, u64 word)
{
	struct slot *p;

	for (;;) {
		p = s->nr_buckets ? probe(s, prefix, word) : NULL;
		if (p && p->word) {
			p->word = max_u64(p->word, word);
			return SLOTS_SAME;
		}
		if (p && s->nr < load_limit(s->nr_buckets)) {
			p->prefix = prefix;
			p->word = word;
			s->nr++;
			return SLOTS_ADDED;
		}
		if (!grow_twofold(s))
			return SLOTS_FULL;
	}
}

void slots_drop_below(struct slots *s, unsigned level)
{
	u64 n = total_buckets(s) * BUCKET_SLOTS, i;

	for (i = 0; i < n; i++) {
		if (s->slots[i].word && slot_level(s->slots[i].word) < level) {
			s->slots[i].word = 0;
			s->nr--;
		}
	}
	rebuild(s, 0);
}

u64 slots_find(const struct slots *s, u64 prefix)
{
	u64 word = 0;

	(void)slots_find_all(s, prefix, &word, 1);
	return word;
}

u32 slots_find_all(const struct slots *s, u64 prefix, u64 *words, u32 max)
{
	const struct slot *p;
	u32 nr = 0, i;

	if (!s->nr || !max)
		return 0;
	p = bucket(s, slots_home(s, prefix));
	for (;; p += BUCKET_SLOTS) {
		for (i = 0; i < BUCKET_SLOTS; i++) {
			if (p[i].prefix != prefix || !p[i].word)
				continue;
			words[nr++] = p[i].word;
			if (nr == max)
				return nr;
		}
		if (!p[BUCKET_SLOTS - 1].word)		/* I2 */
			return nr;
	}
}

static bool slot_less(const struct slot *a, const struct slot *b)
{
	return a->prefix != b->prefix ? a->prefix < b->prefix
				      : a->word < b->word;
}

/*
 * Entries are displaced by at most PROBE_MAX buckets, and seldom at all: this
 * is where insertion sort is linear.
 */
void slots_sort(struct slots *s)
{
	u64 n = total_buckets(s) * BUCKET_SLOTS, nr = 0, i, k;
	struct slot e;

	for (i = 0; i < n; i++) {
		if (!s->slots[i].word)
			continue;
		e = s->slots[i];
		for (k = nr++; k && slot_less(&e, &s->slots[k - 1]); k--)
			s->slots[k] = s->slots[k - 1];
		s->slots[k] = e;
	}
	akin_assert(nr == s->nr);
}

u64 slots_lower_bound(const struct slots *s, u64 prefix)
{
	u64 lo = 0, hi = s->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (s->slots[mid].prefix < prefix)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
