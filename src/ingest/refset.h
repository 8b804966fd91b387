/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of places, as runs in the order in which they came: what one group may
 * be compressed against, or is.
 *
 * Neighbouring chunks name nearly the same places, so runs overlap: what is
 * there already is left out, what continues a run lengthens it. Bounded: what
 * does not fit any more is left out too.
 *
 * Thread safety: none; belongs to one group.
 */
#ifndef INGEST_REFSET_H
#define INGEST_REFSET_H

#include "format/format_container.h"

/* Zeroed = empty. */
struct refset {
	struct group_ref *refs;	/* owned; no entry twice */
	u32 nr, cap;
};

void refset_release(struct refset *rs);
static inline void refset_reset(struct refset *rs)
{
	rs->nr = 0;
}
/* 0, also where a part found no room; -AKIN_E_nomem, after adding a part. */
int refset_add(struct refset *rs, const struct group_ref *run) __must_check;
bool refset_has(const struct refset *rs, u64 container, u32 entry);

#endif
