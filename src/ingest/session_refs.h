/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the neighbours of a group's chunks to its references.
 *
 * A neighbour is advice; a reference is a promise that must be kept for as long
 * as the group lives. So each entry is looked up in its container's directory,
 * and taken only if
 *
 * R1. its container has a smaller number than the group's (no cycles), is of
 *     the same kind (listing metadata never touches data), and is named by the
 *     catalog or sealed by this session: what is still being written cannot be
 *     read by others, and what belongs to nobody may be removed;
 * R2. it is not known to be damaged, nor made from what is;
 * R3. its own group's depth leaves room for one more. One that is as deep as
 *     allowed is replaced by what it was made from: its part of its group's
 *     references.
 *
 * And as long as it fits: REFS_MAX_BYTES per byte of a full group, and
 * REFS_MAX_GROUPS groups to decode, which the best places of chunks choose; the
 * best place of every chunk comes before the second best of any. What is taken
 * is laid out in the order of arrival, which is mostly that of the old stream.
 *
 * Containers are sealed in an order in which no container comes before one it
 * refers to (R1), and published in that order: what a checkpoint or commit
 * names is closed under references.
 *
 * Thread safety: all functions from any thread.
 */
#ifndef INGEST_SESSION_REFS_H
#define INGEST_SESSION_REFS_H

#include "ingest/nearset.h"
#include "ingest/refset.h"
#include "ingest/session.h"

struct ref_memory;

int ref_memory_new(struct ref_memory **out, struct akin_diag *diag)
	__must_check;
/* NULL is fine. */
void ref_memory_free(struct ref_memory *m);

struct resolved_refs {
	struct refset set;
	u32 raw_len;		/* of the entries in @set */
	u8 depth;		/* of the group that refers to them */
};

/*
 * What of @near a group of @container may be compressed against; empty if
 * nothing. Unreadable directories and groups are passed over: the only error
 * is -AKIN_E_nomem. *out is owned by the caller in any case: refset_release.
 */
int session_resolve_refs(struct session *s, u64 container, u8 kind,
			 const struct nearset *near, struct resolved_refs *out,
			 struct akin_diag *diag) __must_check;

#endif
