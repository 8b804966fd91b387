/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places known to be damaged: what the catalog has marks for, and what a check
 * in progress has found.
 *
 * Chunks that lie there are not matched by writers, and readers prefer other
 * copies. The set is small: beyond DAMAGE_CHUNKS_MAX chunks it goes by whole
 * containers, beyond DAMAGE_MAX keys it forgets (and says so). A question costs
 * one branch while it is empty.
 *
 * Thread safety: questions from many threads at once; changes only while
 * nobody asks.
 */
#ifndef DEPOT_DAMAGE_H
#define DEPOT_DAMAGE_H

#include "base/types.h"

/* Entry number that stands for a whole container, as in the catalog. */
#define DAMAGE_WHOLE UINT32_MAX
/* A mebibyte of table: some thousand damaged groups are a dying disk. */
#define DAMAGE_CHUNKS_MAX 65536
#define DAMAGE_MAX (4 * DAMAGE_CHUNKS_MAX)

/* Zeroed = empty. */
struct depot_damage {
	u64 *keys;		/* open addressing; 0 is free */
	u32 mask, nr, nr_chunks;
	bool overflowed;	/* there is more than it could keep */
};

void depot_damage_release(struct depot_damage *d);

static inline bool depot_damage_any(const struct depot_damage *d)
{
	return d->nr != 0;
}
/* Is this very place (or, with DAMAGE_WHOLE, container) in the set? */
bool depot_damage_marked(const struct depot_damage *d,
			 const struct place *at);
bool depot_damage_covers(const struct depot_damage *d, u64 container,
			 u32 entry);
/* The place itself or its whole container. */
static inline bool depot_damage_has(const struct depot_damage *d,
				    u64 container, u32 entry)
{
	return depot_damage_any(d) && depot_damage_covers(d, container, entry);
}
/* Is there anything of one of these containers (ascending) in the set? Looks
 * at all of it. */
bool depot_damage_in_any(const struct depot_damage *d, const u64 *containers,
			 u32 nr);
/* The containers that anything in it is about, ascending. Returns owned:
 * mem_free(). */
int depot_damage_containers(const struct depot_damage *d, u64 **out,
			    u32 *nr_ret) __must_check;
/* Each place in it, in no order; non-zero ends it with that. */
int depot_damage_each(const struct depot_damage *d,
		      int (*fn)(void *ctx, const struct place *at), void *ctx);
/* *kept_ret (may be NULL): what was added, @at or its whole container. */
int depot_damage_add(struct depot_damage *d, const struct place *at,
		     struct place *kept_ret) __must_check;
/* Absent is fine. */
void depot_damage_drop(struct depot_damage *d, const struct place *at);

#endif
