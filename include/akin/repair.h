/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repairing a pool: what can be made whole again from what is there.
 */
#ifndef AKIN_REPAIR_H
#define AKIN_REPAIR_H

#include "akin/check.h"

#ifdef __cplusplus
extern "C" {
#endif

struct akin_repair_options {
	/* Tell the plan, change nothing. */
	bool dry_run;
	/* Look for damage in the data, too: reads all of it. */
	bool read_data;
	/* The handle that works from now on, for akin_pool_stop() and nothing
	 * else; NULL: it is about to be closed. May be NULL itself. */
	void (*opened)(void *ctx, struct akin_pool *p);
	/* What is wrong, as in struct akin_check_options: with a snapshot and a
	 * path it is what is lost. */
	void (*finding)(void *ctx, int code, const char *text,
			const char *snapshot, const char *path);
	/* One step of the plan. @action is a word for programs. */
	void (*step)(void *ctx, const char *action, const char *text);
	/*
	 * All of a plan has been told, and there is something in it: 0 to go
	 * on; anything else ends the repair with that code, and nothing has
	 * been changed. Asked a second time if metadata had to be made anew:
	 * only then it shows what else is wrong. NULL: go on.
	 */
	int (*confirm)(void *ctx);
	/* As in akin_check(). */
	void (*progress)(void *ctx, const struct akin_progress *p);
	void *ctx;
};

struct akin_repair_result {
	uint64_t steps;		/* planned */
	/* The metadata was made anew from the data directory, with: */
	bool rebuilt;
	bool policy_lost;	/* it must be set again */
	uint64_t containers;	/* readable ones, */
	uint64_t snapshots;	/* listed; of these */
	uint64_t snapshots_part;	/* not whole; not listed: */
	uint64_t snapshots_lost;	/* nothing of them can be read */
	uint64_t forgotten;	/* that can be undeleted */
	uint64_t index_entries;	/* of an index built anew */
	uint64_t files_written;	/* superblocks, records, labels */
	uint64_t quarantined;	/* files put aside */
	uint64_t groups_salvaged, chunks_salvaged;
	uint64_t chunks_healed;	/* from other copies */
	uint64_t sectors_healed;	/* of containers, from parity */
	/* At the end, or as planned: what is wrong still. */
	struct akin_check_result check;
};

/*
 * Opens the pool by itself, in whatever state it is; backups and reclaiming
 * must not run meanwhile (-AKIN_E_busy). It can be stopped and killed at any
 * time and run again. *out is filled also after errors.
 *
 * 0: everything is whole, or was made so. An error of class CORRUPT: there is
 * damage left (after a dry run: damage). @open->read_only is not looked at.
 */
AKIN_API int akin_repair(const struct akin_open_options *open,
			 const struct akin_repair_options *opt,
			 struct akin_repair_result *out,
			 struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
