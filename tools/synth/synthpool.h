/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool that looks large: its catalog and its index are those of a store of
 * any size, but the containers do not exist.
 *
 * For what starting, looking up and memory cost there. Nothing ever matches
 * the synthetic fingerprints.
 */
#ifndef SYNTHPOOL_H
#define SYNTHPOOL_H

#include "akin/akin.h"
#include "base/types.h"

/*
 * Make a pool at @path and fill it with @nr fingerprints: runs in the tiers
 * that merging would have left, 2,000 chunks to a container. In little memory.
 */
int synthpool_make(const char *path, u64 nr, struct akin_diag *diag)
	__must_check;
/* @nr more into a pool that exists, and whose index merges what they make too
 * many in the transactions that follow. */
int synthpool_grow(const char *path, u64 nr, struct akin_diag *diag)
	__must_check;
/* The same with a pool that is open; it does not know them until it is opened
 * again. */
int synthpool_fill(struct akin_pool *p, u64 nr, struct akin_diag *diag)
	__must_check;

#endif
