/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of (prefix, place) that fills a given number of bytes.
 *
 * Open addressing over buckets of four 16-byte slots, one cache line each. An
 * entry's home bucket is (prefix * nr_buckets) >> 64, so buckets are in the
 * order of prefixes: filling from a sorted run walks memory forward, growing
 * and sampling move every entry in one pass and in place, and what is taken
 * out to be written is nearly sorted.
 *
 * Memory grows by doubling from 12 KiB up to the limit, and not beyond it
 * even while growing (mem_realloc, then in place).
 *
 * Thread safety: none; readers may run side by side.
 */
#ifndef INDEX_SLOTS_H
#define INDEX_SLOTS_H

#include "base/types.h"
#include "format/format_container.h"
#include "format/format_run.h"

/*
 * A place and its sampling level in one word: container (46 bits), entry (14),
 * level (4). 0 = empty: containers start at 1. 2^46 containers of 8 MiB are
 * half a zettabyte; what does not fit a word is not held in memory.
 */
#define SLOT_LEVEL_BITS 4
#define SLOT_ENTRY_BITS 14
#define SLOT_CONTAINER_BITS 46
static_assert(SLOT_LEVEL_BITS + SLOT_ENTRY_BITS + SLOT_CONTAINER_BITS == 64,
	      "one word");
static_assert(CONTAINER_MAX_ENTRIES <= 1 << SLOT_ENTRY_BITS,
	      "every entry number fits");
static_assert(RUN_LEVELS <= 1 << SLOT_LEVEL_BITS, "every level fits");

struct slot {
	u64 prefix;
	u64 word;
};

static inline bool slot_word_fits(u64 container, u64 entry)
{
	return container && container < 1ull << SLOT_CONTAINER_BITS &&
	       entry < 1u << SLOT_ENTRY_BITS;
}

static inline u64 slot_word(u64 container, u64 entry, unsigned level)
{
	return container << (SLOT_ENTRY_BITS + SLOT_LEVEL_BITS) |
	       entry << SLOT_LEVEL_BITS | level;
}

static inline u64 slot_container(u64 word)
{
	return word >> (SLOT_ENTRY_BITS + SLOT_LEVEL_BITS);
}

static inline u32 slot_entry(u64 word)
{
	return (u32)(word >> SLOT_LEVEL_BITS) & ((1u << SLOT_ENTRY_BITS) - 1);
}

static inline unsigned slot_level(u64 word)
{
	return word & ((1u << SLOT_LEVEL_BITS) - 1);
}

#define BUCKET_SLOTS 4

struct slots {
	struct slot *slots;	/* on a cache line, inside @raw */
	void *raw;
	u64 nr_buckets;		/* that prefixes address; 0 = no memory yet */
	u64 max_buckets;
	u64 nr;			/* slots in use */
	bool multi;
};

enum slots_result {
	SLOTS_ADDED,
	SLOTS_SAME,		/* was there, or only the place changed */
	SLOTS_FULL,		/* at the limit, or no memory to grow */
};

/*
 * @multi false: one place for each prefix, that of the highest number (the
 * newest); true: all places, but SLOTS_FULL when one prefix has very many.
 * No allocation; slots_release() drops the contents.
 */
void slots_init(struct slots *s, size_t max_bytes, bool multi);
void slots_release(struct slots *s);
enum slots_result slots_insert(struct slots *s, u64 prefix, u64 word);
/* Room for @nr entries in all, as far as the limit and memory allow. */
void slots_reserve(struct slots *s, u64 nr);
/* How many entries it can hold when fully grown. */
u64 slots_capacity(const struct slots *s);
size_t slots_bytes(const struct slots *s);
/* Drop all entries whose level is below @level. */
void slots_drop_below(struct slots *s, unsigned level);
/* The first word under that prefix, or 0. */
u64 slots_find(const struct slots *s, u64 prefix);
/* All of them, up to @max; returns how many. */
u32 slots_find_all(const struct slots *s, u64 prefix, u64 *words, u32 max);
/*
 * Turn the table into an array of @s->nr slots at @s->slots, sorted by prefix
 * and word. Then only slots_release() is allowed, until slots_init().
 */
void slots_sort(struct slots *s);
/* In a sorted array: index of the first slot with this prefix or above. */
u64 slots_lower_bound(const struct slots *s, u64 prefix);

__extension__ typedef unsigned __int128 u128;

static inline u64 slots_home(const struct slots *s, u64 prefix)
{
	return (u64)((u128)prefix * s->nr_buckets >> 64);
}

/* Start fetching the cache line that slots_find() will look at first. */
static inline void slots_prefetch(const struct slots *s, u64 prefix)
{
	__builtin_prefetch(s->slots + slots_home(s, prefix) * BUCKET_SLOTS);
}

#endif
