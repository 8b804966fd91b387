/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots into another pool, and snapshots without some of their paths.
 */
#ifndef AKIN_COPY_H
#define AKIN_COPY_H

#include "akin/backup.h"

#ifdef __cplusplus
extern "C" {
#endif

struct akin_copy_options {
	uint64_t snapshot;
	const char *compression;	/* NULL: the other pool's */
	uint64_t limit_write;		/* bytes a second; 0: none */
	void (*progress)(void *ctx, const struct akin_progress *p);
	/* Waiting for somebody, or something odd; @text says what. */
	void (*waiting)(void *ctx, const char *text);
	void *ctx;
};

struct akin_copy_result {
	char id[33];		/* the same in both pools */
	uint64_t number;	/* in the other pool */
	bool there;		/* it was there already: nothing was done */
	bool same_keys;		/* see akin_init_options.like */
	struct akin_backup_result backup;	/* unless it was there */
};

/*
 * Copy one snapshot of @from, which may have been opened for reading only, to
 * @to: with its id, time, host, paths and tags, as one commit. Copy older ones
 * first: what is unchanged in a file of the newest snapshot of the same host
 * and paths in @to is taken from there without reading it. Of what is read only
 * chunks are stored that @to does not have, compressed against similar ones as
 * in a backup. Between pools with the same keys that is decided by content,
 * else by size and times, as in a backup. Protection is not copied.
 *
 * Nothing is left of a copy that fails, but what it has stored so far, for the
 * next one to find. A snapshot with damaged data is not copied.
 */
AKIN_API int akin_copy(struct akin_pool *from, struct akin_pool *to,
		       const struct akin_copy_options *opt,
		       struct akin_copy_result *out, struct akin_diag *diag);

struct akin_rewrite_options {
	uint64_t snapshot;
	const char *const *drop;	/* paths in the snapshot */
	uint32_t nr_drop;
	bool keep;		/* do not forget the old one */
	bool dry_run;
	void (*progress)(void *ctx, const struct akin_progress *p);
	void (*waiting)(void *ctx, const char *text);
	void *ctx;
};

struct akin_rewrite_result {
	char old_id[33];	/* "": none of the paths is in it, it stays */
	uint64_t dropped;	/* of the paths, that were in it */
	bool forgotten;		/* the old one */
	struct akin_backup_result backup;	/* the new one */
};

/*
 * A new snapshot with everything of the old one but some paths, and what is
 * below them; with its time, host, paths and tags, but an id of its own. Then
 * the old one is forgotten. No data is read or written, only directories. If
 * none of the paths is in it, nothing is done. A protected one is refused
 * unless it is kept.
 */
AKIN_API int akin_rewrite(struct akin_pool *p,
			  const struct akin_rewrite_options *opt,
			  struct akin_rewrite_result *out,
			  struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
