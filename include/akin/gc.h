/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reclaiming: the space of what no snapshot needs any more.
 */
#ifndef AKIN_GC_H
#define AKIN_GC_H

#include "akin/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Places where a test may act, in this order, some again and again. */
enum akin_gc_point {
	AKIN_GC_MARKED,		/* nothing is condemned yet */
	AKIN_GC_CONDEMNED,	/* before the locks are tested */
	AKIN_GC_TESTED,		/* before names are dropped */
	AKIN_GC_UNNAMED,	/* before files are removed */
	AKIN_GC_WRITTEN,	/* copies are durable, the old ones in use */
	AKIN_GC_LISTED,		/* nameless files are known, not removed */
};

struct akin_gc_progress {
	const char *phase;	/* "marking"...; borrowed during the call */
	uint64_t snapshots, pieces;	/* marked so far, again in each pass */
	uint64_t containers, bytes;	/* freed so far */
	uint64_t elapsed_ns;
};

struct akin_gc_options {
	bool dry_run;		/* works on a pool opened for reading, too */
	/* Also what interrupted backups left for their next run. */
	bool drop_interrupted;
	/* Percent of a container that must be dead for the rest to be copied;
	 * 0: a default that was measured, above 100: never. */
	unsigned threshold;
	uint64_t limit_bytes;	/* of copies to write, about; 0: no limit */
	/* Not more than five times a second. */
	void (*progress)(void *ctx, const struct akin_gc_progress *p);
	void (*at)(void *ctx, enum akin_gc_point point);
	void *ctx;
};

struct akin_gc_result {
	uint64_t snapshots;		/* whose trees were marked */
	uint64_t containers, bytes;	/* all there were */
	uint64_t passes, marks_again;
	/* Wholly dead; the dry run's answer. */
	uint64_t dead_containers, dead_bytes;
	/* Dead in part, enough for the rest to be copied. */
	uint64_t partly_dead_containers, partly_dead_bytes;
	uint64_t deleted_files, deleted_bytes;
	uint64_t copied_containers;
	uint64_t copied_bytes, copied_from_bytes;
	uint64_t orphan_files, orphan_bytes;	/* of sessions that died */
	uint64_t freed_bytes;		/* all in all, less what was written */
	/* Dead and kept: among too much that lives, */
	uint64_t kept_below_bytes;
	/* because live data was compressed against it, */
	uint64_t kept_base_bytes;
	/* because somebody at work may read it (the next run deletes it), */
	uint64_t kept_held_bytes, kept_held_files;
	/* or for the next run of an interrupted backup. */
	uint64_t kept_interrupted_bytes;
	bool limited;		/* there was more to copy */
	bool index_rebuilt;	/* most of it was about what is gone */
	char holder[512];	/* who is at work; "" if nobody held anything */
};

/*
 * Safe to stop (akin_pool_stop) and to kill at any point; the next run goes
 * on. Backups and restores go on beside it; a second reclaim is -AKIN_E_busy.
 * -AKIN_E_fp_unknown and the like if data that a snapshot needs cannot be
 * found: then nothing is deleted. *out is filled also after errors.
 */
AKIN_API int akin_gc(struct akin_pool *p, const struct akin_gc_options *opt,
		     struct akin_gc_result *out, struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
