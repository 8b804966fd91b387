/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores.
 *
 * Nothing is ever written outside the target directory, whatever the snapshot
 * holds. Restoring onto existing files is well defined and may be repeated.
 */
#ifndef AKIN_RESTORE_H
#define AKIN_RESTORE_H

#include "akin/backup.h"

#ifdef __cplusplus
extern "C" {
#endif

enum akin_overwrite {
	AKIN_OVERWRITE_IF_CHANGED = 0,	/* same size and mtime: left alone */
	AKIN_OVERWRITE_ALWAYS,		/* every byte is made right, in place */
	AKIN_OVERWRITE_NEVER,		/* existing files are left alone */
};

struct akin_restore_options {
	uint64_t snapshot;
	const char *path;	/* NULL: the whole snapshot, its absolute paths
				 * below target; else what is below @path (or
				 * the file itself) directly in target */
	const char *target;	/* made if it does not exist */
	const char *const *includes;	/* NULL: everything */
	uint32_t nr_includes;
	const char *const *excludes;
	uint32_t nr_excludes;
	enum akin_overwrite overwrite;
	bool delete_extra;	/* remove what the snapshot does not have */
	bool dry_run;
	bool verify;		/* read back and compare afterwards */

	void (*progress)(void *ctx, const struct akin_progress *p);
	void (*warning)(void *ctx, const char *path, int code,
			const char *text);
	void *ctx;
};

struct akin_restore_result {
	struct akin_progress total;
	uint64_t files_skipped;	/* already there */
	uint64_t removed;	/* delete_extra */
	uint64_t owner_failures;	/* ownership that could not be set */
};

/* 0, -AKIN_E_partial (warnings), or an error. */
AKIN_API int akin_restore(struct akin_pool *p,
			  const struct akin_restore_options *opt,
			  struct akin_restore_result *out,
			  struct akin_diag *diag);

struct akin_compare_options {
	uint64_t snapshot;
	const char *path;	/* NULL: the whole snapshot */
	/* What it is compared with: the directory or file that @path was, or,
	 * without @path, what "/" was. NULL: where it came from. */
	const char *live;
	const char *const *excludes;	/* paths in the snapshot */
	uint32_t nr_excludes;

	/*
	 * In the order of the tree: ADDED is live only and REMOVED in the
	 * snapshot only, each told once with all that is below; UNREADABLE
	 * says that one side could not be read (@code and @text: why; class
	 * SOURCE: the live one). @path is that in the snapshot.
	 */
	void (*differs)(void *ctx, enum akin_diff_kind kind, const char *path,
			int code, const char *text);
	void (*progress)(void *ctx, const struct akin_progress *p);
	void *ctx;
};

struct akin_compare_result {
	struct akin_progress total;
	uint64_t added, removed, content, metadata, type;
	uint64_t unreadable;
	uint64_t damaged;	/* of these: in the pool */
};

/*
 * Compare a snapshot with live data, every byte. 0: no difference;
 * -AKIN_E_differs; a code of class CORRUPT: what the snapshot holds cannot be
 * had. Times of change (ctime), inode numbers, and the owner and times of the
 * directories above what was backed up are no difference.
 */
AKIN_API int akin_compare(struct akin_pool *p,
			  const struct akin_compare_options *opt,
			  struct akin_compare_result *out,
			  struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
