/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bitmaps in a chained hash table by container, and a ring of them in order of
 * creation. Snapshots are walked oldest first and share mostly with their
 * neighbours, so what is oldest is what is needed least.
 */
#include "base/mem.h"
#include "format/format_container.h"
#include "verify/verify_seen.h"

#define NR_BUCKETS 4096
#define BITMAP_BYTES (CONTAINER_MAX_ENTRIES / 8)

struct bitmap {
	u64 container;
	struct bitmap *chain;	/* in its bucket */
	struct bitmap *newer;
	u8 bits[BITMAP_BYTES];
};

struct verify_seen {
	size_t max, nr;
	struct bitmap *buckets[NR_BUCKETS];
	struct bitmap *oldest, *newest;
};

struct verify_seen *verify_seen_new(size_t budget_bytes)
{
	struct verify_seen *s = mem_zalloc(sizeof(*s));

	if (s)
		s->max = max_u64(1, budget_bytes / sizeof(struct bitmap));
	return s;
}

void verify_seen_free(struct verify_seen *s)
{
	struct bitmap *b, *next;

	for (b = s ? s->oldest : NULL; b; b = next) {
		next = b->newer;
		mem_free(b);
	}
	mem_free(s);
}

static struct bitmap *find(const struct verify_seen *s, u64 container)
{
	struct bitmap *b = s->buckets[container % NR_BUCKETS];

	while (b && b->container != container)
		b = b->chain;
	return b;
}

bool verify_seen_has(const struct verify_seen *s, u64 container, u32 entry)
{
	const struct bitmap *b = find(s, container);

	return b && entry < CONTAINER_MAX_ENTRIES &&
	       b->bits[entry / 8] >> (entry % 8) & 1;
}

static void drop_oldest(struct verify_seen *s)
{
	struct bitmap *b = s->oldest, **at;

	at = &s->buckets[b->container % NR_BUCKETS];
	while (*at != b)
		at = &(*at)->chain;
	*at = b->chain;
	s->oldest = b->newer;
	if (!s->oldest)
		s->newest = NULL;
	s->nr--;
	mem_free(b);
}

static struct bitmap *make(struct verify_seen *s, u64 container)
{
	struct bitmap *b;

	if (s->nr == s->max)
		drop_oldest(s);
	b = mem_zalloc(sizeof(*b));
	if (!b)
		return NULL;
	b->container = container;
	b->chain = s->buckets[container % NR_BUCKETS];
	s->buckets[container % NR_BUCKETS] = b;
	if (s->newest)
		s->newest->newer = b;
	else
		s->oldest = b;
	s->newest = b;
	s->nr++;
	return b;
}

void verify_seen_add(struct verify_seen *s, u64 container, u32 entry)
{
	struct bitmap *b = find(s, container);

	if (entry >= CONTAINER_MAX_ENTRIES)
		return;
	if (!b)
		b = make(s, container);
	if (b)
		b->bits[entry / 8] |= (u8)(1u << (entry % 8));
}
