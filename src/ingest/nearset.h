/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places near which the chunks of one group lie, in the order in which they
 * came, each once, with its rank: 0 for the most promising place of some chunk.
 *
 * The rank matters because there is room for some of them only: a group that
 * has the best place of every chunk is a tenth of the size of one that has all
 * places of its first chunks (a database of 8 KiB pages: 0.12 MB against 1.8).
 *
 * Thread safety: none; belongs to one group.
 */
#ifndef INGEST_NEARSET_H
#define INGEST_NEARSET_H

#include "format/format_container.h"

/* More than a group can be compressed against, unless chunks are tiny. */
#define NEARSET_MAX 512

struct near_place {
	u64 container;
	u32 entry;
	u32 rank;
};

/* Zeroed = empty. */
struct nearset {
	struct near_place *places;	/* owned */
	u32 nr, cap;
};

void nearset_release(struct nearset *ns);
/* All of @ns without it. */
struct nearset nearset_take(struct nearset *ns);
/*
 * What one chunk lies near: @nr runs, most promising entry first. Places in
 * @below and above are left out, as is what finds no room. 0 or -AKIN_E_nomem.
 */
int nearset_add(struct nearset *ns, const struct group_ref *runs, u32 nr,
		u64 below) __must_check;

#endif
