/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash set of numbers with linear probing; removal moves later ones back, so
 * that there are no tombstones.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "akin/error.h"
#include "depot/depot_damage.h"

#define FIRST_SLOTS 64
#define ENTRY_BITS 15
#define ENTRY_WHOLE ((1u << ENTRY_BITS) - 1)

/* Container numbers are below 2^48 and at least 1, so a key is never 0. */
static u64 key_of(u64 container, u32 entry)
{
	return container << ENTRY_BITS |
	       (entry < ENTRY_WHOLE ? entry : ENTRY_WHOLE);
}

static u32 home_of(const struct depot_damage *d, u64 key)
{
	return (u32)((key * 0x9e3779b97f4a7c15ull) >> 32) & d->mask;
}

/* Its slot, or the free one where it would be. */
static u32 slot_of(const struct depot_damage *d, u64 key)
{
	u32 i = home_of(d, key);

	while (d->keys[i] && d->keys[i] != key)
		i = (i + 1) & d->mask;
	return i;
}

void depot_damage_release(struct depot_damage *d)
{
	mem_free(d->keys);
	memset(d, 0, sizeof(*d));
}

bool depot_damage_marked(const struct depot_damage *d, const struct place *at)
{
	return d->nr && d->keys[slot_of(d, key_of(at->container, at->entry))];
}

bool depot_damage_covers(const struct depot_damage *d, u64 container,
			 u32 entry)
{
	return d->nr && (d->keys[slot_of(d, key_of(container, entry))] ||
			 d->keys[slot_of(d, key_of(container, ENTRY_WHOLE))]);
}

static bool is_one_of(u64 container, const u64 *containers, u32 nr)
{
	u32 lo = 0, hi = nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (containers[mid] < container)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nr && containers[lo] == container;
}

bool depot_damage_in_any(const struct depot_damage *d, const u64 *containers,
			 u32 nr)
{
	u32 i;

	for (i = 0; d->nr && i <= d->mask; i++) {
		if (d->keys[i] && is_one_of(d->keys[i] >> ENTRY_BITS,
					    containers, nr))
			return true;
	}
	return false;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

int depot_damage_containers(const struct depot_damage *d, u64 **out,
			    u32 *nr_ret)
{
	u64 *p = mem_calloc(max_u64(d->nr, 1), sizeof(*p));
	u32 i, n = 0;

	if (!p)
		return -AKIN_E_nomem;
	for (i = 0; d->nr && i <= d->mask; i++)
		if (d->keys[i])
			p[n++] = d->keys[i] >> ENTRY_BITS;
	qsort(p, n, sizeof(*p), compare_u64);
	for (*nr_ret = 0, i = 0; i < n; i++)
		if (!*nr_ret || p[i] != p[*nr_ret - 1])
			p[(*nr_ret)++] = p[i];
	*out = p;
	return 0;
}

int depot_damage_each(const struct depot_damage *d,
		      int (*fn)(void *ctx, const struct place *at), void *ctx)
{
	struct place at;
	u32 i, entry;
	int err = 0;

	for (i = 0; !err && d->nr && i <= d->mask; i++) {
		if (!d->keys[i])
			continue;
		entry = (u32)(d->keys[i] & ENTRY_WHOLE);
		at.container = d->keys[i] >> ENTRY_BITS;
		at.entry = entry == ENTRY_WHOLE ? DAMAGE_WHOLE : entry;
		err = fn(ctx, &at);
	}
	return err;
}

static int grow(struct depot_damage *d)
{
	u32 n = d->keys ? (d->mask + 1) * 2 : FIRST_SLOTS, i;
	struct depot_damage bigger = *d;

	if (d->keys && d->nr < (d->mask + 1) / 2)
		return 0;
	bigger.keys = mem_calloc(n, sizeof(*bigger.keys));
	if (!bigger.keys)
		return -AKIN_E_nomem;
	bigger.mask = n - 1;
	for (i = 0; d->keys && i <= d->mask; i++) {
		if (d->keys[i])
			bigger.keys[slot_of(&bigger, d->keys[i])] = d->keys[i];
	}
	mem_free(d->keys);
	*d = bigger;
	return 0;
}

int depot_damage_add(struct depot_damage *d, const struct place *at,
		     struct place *kept_ret)
{
	struct place kept = *at;
	u32 slot;
	int err;

	err = grow(d);
	if (err)
		return err;
	if (kept.entry >= ENTRY_WHOLE || d->nr_chunks >= DAMAGE_CHUNKS_MAX)
		kept.entry = DAMAGE_WHOLE;
	slot = slot_of(d, key_of(kept.container, kept.entry));
	if (!d->keys[slot] && d->nr >= DAMAGE_MAX) {
		d->overflowed = true;
	} else if (!d->keys[slot]) {
		d->keys[slot] = key_of(kept.container, kept.entry);
		d->nr++;
		d->nr_chunks += kept.entry != DAMAGE_WHOLE;
	}
	if (kept_ret)
		*kept_ret = kept;
	return 0;
}

void depot_damage_drop(struct depot_damage *d, const struct place *at)
{
	u32 hole, i;

	if (!depot_damage_marked(d, at))
		return;
	hole = slot_of(d, key_of(at->container, at->entry));
	d->nr--;
	d->nr_chunks -= at->entry < ENTRY_WHOLE;
	for (i = (hole + 1) & d->mask; d->keys[i]; i = (i + 1) & d->mask) {
		/* One whose home lies behind the hole stays reachable. */
		if (((i - home_of(d, d->keys[i])) & d->mask) <
		    ((i - hole) & d->mask))
			continue;
		d->keys[hole] = d->keys[i];
		hole = i;
	}
	d->keys[hole] = 0;
}
