/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetcher: what the disk is asked for, long before anybody waits for it.
 *
 * Decoded groups are limited by the window; what is stored waits in the
 * system's memory, and may be further ahead: as many bytes as the window has,
 * which are a few times as many groups. They are begun in lots, in the order of
 * containers and places: neighbours of a stream come from a dozen containers in
 * turn, so that the more are sorted, the longer the requests, and what a disk
 * is slow at is their number.
 */
#include <stdlib.h>

#include "restore/fetcher_internal.h"

/* Neighbours in the stream look back so far for the same group; others cost a
 * request for what is there already. */
#define LOOK_BACK 16

static int compare_soon(const void *a, const void *b)
{
	const struct fetcher_soon *x = a, *y = b;

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

void fetcher_begin(struct fetcher *f)
{
	const struct fetcher_soon *lot = f->lot;
	u32 list[GROUPCACHE_PREFETCH_MAX], nr, i = 0;

	qsort(f->lot, f->lot_nr, sizeof(*lot), compare_soon);
	while (i < f->lot_nr) {
		u64 container = lot[i].container;

		for (nr = 0; i < f->lot_nr && nr < GROUPCACHE_PREFETCH_MAX &&
		     lot[i].container == container; i++) {
			if (!nr || list[nr - 1] != lot[i].group)
				list[nr++] = lot[i].group;
		}
		groupcache_prefetch(f->depot->groups, container, list, nr);
	}
	if (f->lot_nr == f->lot_max)
		f->lot_max = (u32)min_u64(2 * f->lot_max, FETCHER_LOT_MAX);
	f->lot_nr = 0;
	f->nr_begun = f->nr;
}

static bool is_known(struct fetcher *f, const struct item *it)
{
	u32 i;

	for (i = f->lot_nr; i > 0 && f->lot_nr - i < LOOK_BACK; i--) {
		if (f->lot[i - 1].container == it->container &&
		    f->lot[i - 1].group == it->spot.group)
			return true;
	}
	return fetcher_wants(f, it->container, it->spot.group);
}

void fetcher_plan(struct fetcher *f, struct item *it)
{
	struct fetcher_soon *soon;

	if (is_known(f, it))
		return;
	soon = &f->lot[f->lot_nr++];
	soon->container = it->container;
	soon->group = it->spot.group;
	it->ahead = it->spot.group_stored;
	f->ahead += it->ahead;
}
