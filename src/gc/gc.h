/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reclaim: find what no snapshot and no session needs, and give its space back
 * while backups and restores go on. The order of things, and why each is there,
 * is docs/design/protocol.md; how it is done, docs/design/reclaim.md.
 *
 *	mark     from all roots, bits for entries by container
 *	condemn  containers without a bit, high numbers first
 *	delete   what no lock protects any more
 *	copy     containers with few bits into new generations, in batches,
 *	         deleting the old ones in between
 *	sweep    files that nobody names
 *
 * It may be stopped and killed anywhere; the next one goes on.
 *
 * Memory: @memory_bytes for marks (pools that need more take several passes,
 * from high container numbers to low), the depot's caches, and one container
 * while it is copied.
 *
 * Thread safety: one reclaim on a depot, and nothing else on it meanwhile.
 */
#ifndef GC_H
#define GC_H

#include "catalog/catalog_gc.h"
#include "depot/depot.h"

/* Where a test may stop it; in this order, some again and again. */
enum gc_point {
	GC_MARKED,		/* before anything is condemned */
	GC_CONDEMNED,		/* before the locks are tested */
	GC_TESTED,		/* before names are dropped */
	GC_UNNAMED,		/* before files are removed */
	GC_WRITTEN,		/* new generations are durable, not switched */
	GC_LISTED,		/* nameless files are known, not removed */
};

struct gc_progress {
	const char *phase;	/* borrowed during the call */
	u64 snapshots, pieces;	/* marked so far, again in each pass */
	u64 containers;		/* deleted or written anew */
	u64 bytes;		/* freed so far */
};

struct gc_options {
	struct depot *depot;
	struct catalog *catalog;
	struct decoder *dec;
	u64 session;		/* a living one of the caller's; 0: dry run */
	bool dry_run;
	size_t memory_bytes;
	/* Percent of a container's stored bytes that must be dead for the rest
	 * to be copied, and of bases and differences for the bases to be left;
	 * 0: GC_THRESHOLD_DEFAULT, above 100: never. */
	unsigned threshold;
	u64 limit_bytes;	/* to be written, about; 0: no limit */

	/* Rely on what the catalog says from now on; drops caches. */
	int (*move_lock)(void *ctx, struct akin_diag *diag);
	/* *txn_ret: the lowest transaction below @txn that others have locked;
	 * 0: none. */
	int (*lock_below)(void *ctx, u64 txn, u64 *txn_ret,
			  struct akin_diag *diag);
	int (*session_ended)(void *ctx, u64 number);	/* > 0: yes */
	bool (*alone)(void *ctx);	/* no session but the caller's lives */
	int (*stopped)(void *ctx);	/* non-zero: end early */
	void *store;			/* their @ctx */

	void (*progress)(void *ctx, const struct gc_progress *p);
	void (*at)(void *ctx, enum gc_point point);
	void *ctx;
};

/* At worst a quarter of a pool is dead, and three bytes are written to free
 * one. Figures for lower values are in docs/design/reclaim.md. */
#define GC_THRESHOLD_DEFAULT 25

struct gc_result {
	u64 passes, marks_again;
	u64 snapshots;			/* roots walked */
	u64 containers, bytes;		/* all there were, files */
	u64 dead_containers, dead_bytes;	/* nobody needs any of it */
	u64 partly_dead_containers, partly_dead_bytes;	/* candidates */
	u64 deleted_files, deleted_bytes;
	u64 copied_containers, copied_bytes, copied_from_bytes;
	u64 orphan_files, orphan_bytes;
	/* Dead, but kept: too little of its container, */
	u64 kept_below_bytes;
	/* stood on by live data, */
	u64 kept_base_bytes;
	/* read by somebody who began before (see held_txn), */
	u64 kept_held_bytes, kept_held_files;
	/* or left by interrupted sessions. */
	u64 kept_interrupted_bytes;
	u64 held_txn;		/* 0: nobody held anything back */
	bool limited;		/* there was more to copy */
};

/* *out is filled also after errors. -AKIN_E_interrupted if stopped. */
int gc_run(const struct gc_options *opt, struct gc_result *out,
	   struct akin_diag *diag) __must_check;

#endif
