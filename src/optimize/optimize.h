/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storing what a pool holds in a better order: the newest version of each
 * series in one piece and with hardly any references, the older ones as
 * differences to newer ones. What it is for, what it costs, and why nothing can be lost is
 * docs/design/optimize.md.
 *
 * A session like a backup's: everything is stored again in new containers, by
 * chunk and piece of metadata, and snapshot after snapshot is told by the
 * catalog where it is found now. The old copies are then needed by nobody, and
 * the next reclaim deletes them. May be stopped and killed anywhere; the next
 * run goes on with what is published.
 *
 * Memory: the depot's caches, a second set of them (@fresh_dirs_bytes,
 * @fresh_groups_bytes) for what is new, a few bytes for each snapshot and each
 * new container, one piece of metadata for each level.
 *
 * Thread safety: one on a depot, and nothing else on it meanwhile.
 */
#ifndef OPTIMIZE_H
#define OPTIMIZE_H

#include "ingest/session.h"

/* Sessions of this kind know each other by their paths_key. */
#define OPTIMIZE_KEY "optimize"

struct optimize_progress {
	u64 snapshots, snapshots_total;
	u64 bytes_read;		/* raw bytes of chunks stored again */
	u64 bytes_stored;	/* files */
};

struct optimize_options {
	struct depot *depot;
	struct catalog *catalog;
	struct decoder *dec;		/* the calling thread's */
	size_t fresh_dirs_bytes, fresh_groups_bytes;
	unsigned nr_threads;		/* that compress */
	/* Which generation of a container may be read; as for the depot. */
	int (*generation)(void *ctx, u64 container, u32 *generation_ret,
			  struct akin_diag *diag);
	void *generation_ctx;
	/* info, lock, codec, verify and view are used. */
	struct session_options session;
	u8 delta_depth;			/* of the oldest versions */
	bool all;			/* also series that are in order */
	bool dry_run;			/* plan only; needs no session */
	/* For tests; see store_open_hashed(). */
	const struct hash_ops *data_hash;

	/* Whose files come from now on; 0: nobody's, the session has ended. */
	void (*owner)(void *ctx, u64 session);
	int (*stopped)(void *ctx);	/* non-zero: end early */
	void (*progress)(void *ctx, const struct optimize_progress *p);
	void *ctx;
};

struct optimize_result {
	u64 series, series_in_order;
	u64 snapshots;		/* of the others */
	u64 moved;		/* of these: told where they are now */
	u64 damaged;		/* that could not be read to the end */
	u64 containers_before, bytes_before;	/* in the catalog */
	u64 bytes_fresh;	/* of these: of runs that were interrupted */
	u64 chunks, bytes;	/* stored again, raw */
	u64 pieces;		/* of metadata */
	u64 unreadable;		/* chunks that stay where they are */
	u64 stored_data, stored_meta;	/* files written */
	u64 ref_groups;		/* with references */
};

/* *out is filled also after errors. -AKIN_E_interrupted if stopped. */
int optimize_run(const struct optimize_options *opt,
		 struct optimize_result *out, struct akin_diag *diag)
	__must_check;

#endif
