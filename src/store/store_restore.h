/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running restore; shared by store_restore.c (walk and emission),
 * store_restore_open.c (the public call) and store_restore_verify.c.
 */
#ifndef STORE_RESTORE_H
#define STORE_RESTORE_H

#include "restore/fetcher.h"
#include "source/source_pattern.h"
#include "store/store.h"
#include "target/target.h"
#include "tree/tree_walk.h"

enum file_state {
	FILE_DEAD,		/* none, or one that could not be begun */
	FILE_OPEN,
	FILE_FAILED,		/* its content cannot be had */
};

struct open_dir;

struct restore {
	struct akin_pool *p;
	const struct akin_restore_options *opt;
	struct pattern_set *includes, *excludes;	/* NULL: none */
	bool fresh;		/* the target was empty or absent */
	struct target *target;
	struct fetcher *fetcher;
	struct counters_stream *shown;	/* to others; may be NULL */
	struct open_dir *dirs;	/* where the walk is */

	/* Where the emission is. */
	u32 dead_depth;		/* levels below one that could not be made */
	enum file_state file_state;
	bool is_link;		/* the file is one more name of another */
	enum target_action action;
	u64 off;		/* bytes of the file so far */
	u8 *pending;		/* the last ones, not yet given to the target */
	size_t nr_pending;
	char current[512];	/* path of the file */

	u64 nr_failed;		/* entries that could not be restored */
	u64 start_ns, next_report_ns;
	u64 read_before;	/* of groups, when it began */
	struct akin_restore_result result;
};

/* Bytes of groups that the pool's readers have read so far. */
u64 restore_bytes_read(struct restore *r);

/* Are these all the names the directory had? Others may be deleted then. */
bool restore_is_complete(const struct node *dir);
/* Everything below (or the file) @n goes to r->target. */
int restore_run(struct restore *r, const struct node *n,
		const struct hint *hint, struct akin_diag *diag) __must_check;
void restore_warn(struct restore *r, const char *path, int code,
		  const char *text);
/* Read back what restore_run wrote and compare; differences are warnings. */
int restore_verify(struct restore *r, const struct node *n,
		   const struct hint *hint, struct akin_diag *diag)
	__must_check;

#endif
