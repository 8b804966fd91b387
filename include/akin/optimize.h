/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storing what a pool holds in a better order: the newest snapshot of each
 * series in one piece and with few references, older ones as differences to
 * newer ones.
 */
#ifndef AKIN_OPTIMIZE_H
#define AKIN_OPTIMIZE_H

#include "akin/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What older snapshots may be made from; restores of the newest do not mind. */
#define AKIN_OPTIMIZE_DEPTH_DEFAULT AKIN_DELTA_DEPTH_MAX

struct akin_optimize_progress {
	uint64_t snapshots, snapshots_total;
	uint64_t bytes_read, bytes_stored;	/* raw; files */
	uint64_t elapsed_ns;
};

struct akin_optimize_options {
	bool dry_run;	/* works on a pool opened for reading, too */
	bool all;	/* also series in which nothing is new since the last */
	/* As for akin_init_options; 0: AKIN_OPTIMIZE_DEPTH_DEFAULT, or less
	 * if there is little memory. */
	int delta_depth;
	/* NULL: the pool's, of zstd a level that takes longer. */
	const char *compression;
	/* Say what a restore of the newest snapshot costs, before and after. */
	bool restore_cost;
	/* Not more than five times a second, and after each snapshot. */
	void (*progress)(void *ctx, const struct akin_optimize_progress *p);
	void *ctx;
};

struct akin_optimize_result {
	uint64_t series, series_in_order;
	uint64_t snapshots;	/* of series that were not */
	uint64_t snapshots_moved;
	uint64_t snapshots_damaged;	/* could not be read to the end */
	uint64_t containers_before, bytes_before;
	uint64_t bytes_read;	/* raw bytes of chunks stored again */
	uint64_t chunks, metadata_pieces;	/* stored again */
	uint64_t chunks_unreadable;	/* stay where they are */
	uint64_t bytes_stored;	/* files written, */
	uint64_t bytes_metadata;	/* of these: for directories, recipes */
	uint64_t bytes_resumed;	/* files that an interrupted run left */
	uint64_t groups_referring;
	/* Of the newest snapshot of all, if wanted; bytes_logical 0: not. */
	struct akin_restore_cost before, after;
};

/*
 * Needs space for the pool's content once more, until akin_gc() has deleted
 * what nobody needs then. Safe to stop (akin_pool_stop) and to kill at any
 * point; the next run goes on. Backups and restores go on beside it. *out is
 * filled also after errors. -AKIN_E_partial if something could not be read.
 */
AKIN_API int akin_optimize(struct akin_pool *p,
			   const struct akin_optimize_options *opt,
			   struct akin_optimize_result *out,
			   struct akin_diag *diag);

struct akin_parity_options {
	int percent;	/* from now on, 0: none; below 0: as the pool says */
	bool dry_run;	/* works on a pool opened for reading, too */
	/* @others are containers looked at, @bytes read of them, @bytes_stored
	 * parity written. */
	void (*progress)(void *ctx, const struct akin_progress *p);
	void *ctx;
};

struct akin_parity_result {
	unsigned percent;
	uint64_t containers;
	uint64_t had;		/* so much already */
	uint64_t made, removed;
	uint64_t damaged;	/* got none */
	uint64_t bytes_read, bytes_made;
};

/*
 * Give all containers so much parity, and all that are written from now on.
 * Backups go on; reclaiming and repairing do not (-AKIN_E_busy). It can be
 * stopped, and killed, at any time; the next run goes on. *out is filled also
 * after errors. -AKIN_E_partial: some are damaged.
 */
AKIN_API int akin_parity(struct akin_pool *p,
			 const struct akin_parity_options *opt,
			 struct akin_parity_result *out,
			 struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
