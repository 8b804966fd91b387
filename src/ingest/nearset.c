/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "ingest/nearset.h"

/* Of one chunk; what is further away is better found by the next ones. */
#define RANKS_MAX 32

void nearset_release(struct nearset *ns)
{
	mem_free(ns->places);
	memset(ns, 0, sizeof(*ns));
}

struct nearset nearset_take(struct nearset *ns)
{
	struct nearset out = *ns;

	memset(ns, 0, sizeof(*ns));
	return out;
}

static struct near_place *find(struct nearset *ns, u64 container, u32 entry)
{
	struct near_place *p;
	u32 i;

	/* Backwards: neighbours meet in the last places. */
	for (i = ns->nr; i > 0; i--) {
		p = &ns->places[i - 1];
		if (p->entry == entry && p->container == container)
			return p;
	}
	return NULL;
}

static int grow(struct nearset *ns)
{
	u32 cap = ns->cap ? ns->cap * 2 : 64;
	struct near_place *p;

	if (ns->nr < ns->cap)
		return 0;
	p = mem_realloc(ns->places, cap * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	ns->places = p;
	ns->cap = cap;
	return 0;
}

/*
 * Behind the others, but before those of this chunk, from @first on, that come
 * later in the same container: the order of a stream is worth as much as the
 * choice, as matches then follow each other at one distance.
 */
static int add_place(struct nearset *ns, u32 first, u64 container, u32 entry,
		     u32 rank)
{
	struct near_place *p = find(ns, container, entry);
	u32 at;
	int err;

	if (p)
		p->rank = (u32)min_u64(p->rank, rank);
	if (p || ns->nr == NEARSET_MAX)
		return 0;
	err = grow(ns);
	if (err)
		return err;
	for (at = first; at < ns->nr; at++) {
		if (ns->places[at].container == container &&
		    ns->places[at].entry > entry)
			break;
	}
	p = &ns->places[at];
	memmove(p + 1, p, (ns->nr++ - at) * sizeof(*p));
	p->container = container;
	p->entry = entry;
	p->rank = rank;
	return 0;
}

int nearset_add(struct nearset *ns, const struct group_ref *runs, u32 nr,
		u64 below)
{
	u32 i, k, rank = 0, first = ns->nr;
	int err = 0;

	for (i = 0; i < nr; i++) {
		if (!runs[i].container || runs[i].container >= below)
			continue;
		for (k = 0; !err && k < runs[i].nr && rank < RANKS_MAX; k++) {
			if (runs[i].entry >= CONTAINER_MAX_ENTRIES - k)
				break;
			err = add_place(ns, first, runs[i].container,
					runs[i].entry + k, rank++);
		}
	}
	return err;
}
