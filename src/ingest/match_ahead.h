/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding ahead of a comparison: if a stream's duplicates come group after
 * group of a container, the next ones are decoded by the workers while the
 * stream is read, cut and looked up, and left in the group cache.
 *
 * Only help: whatever fails is found out by who needs the group.
 *
 * Threads: belongs to a lane and is used under the lane's lock.
 */
#ifndef INGEST_MATCH_AHEAD_H
#define INGEST_MATCH_AHEAD_H

#include "depot/depot.h"

struct match_ahead;

/* @d is borrowed. NULL if there is no memory. */
struct match_ahead *match_ahead_new(struct depot *d) __must_check;
/* Waits for what is being decoded. NULL is fine, here and below. */
void match_ahead_free(struct match_ahead *a);

struct group_at {
	u64 container;
	u32 group;
};
/* A batch needed @nr groups, the lowest and the highest of which are these. */
void match_ahead_note(struct match_ahead *a, struct group_at first,
		      struct group_at last, u32 nr);

#endif
