/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots: finding them, and looking into them.
 *
 * A snapshot is an immutable tree with a time, a host, tags and the paths that
 * were backed up. SNAP in a command is resolved here: a prefix of the id,
 * "latest", or "tag:T" (the newest with that tag).
 */
#ifndef AKIN_SNAPSHOT_H
#define AKIN_SNAPSHOT_H

#include "akin/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed during the callback that gets it. */
struct akin_snapshot {
	uint64_t number;
	char id[33];		/* 32 hex digits; 8 identify it to people */
	char parent[33];	/* "" if none */
	int64_t time_sec;
	uint32_t time_nsec;
	int32_t utc_offset_sec;
	const char *host, *user, *command;
	const char *const *paths;	/* bytes, NUL-terminated */
	const char *const *tags;
	uint32_t nr_paths, nr_tags;
	bool partial;		/* some source could not be read */
	uint64_t files, dirs, others;
	uint64_t bytes;		/* logical */
	uint64_t bytes_read, chunks, chunks_new, bytes_new;
	uint64_t bytes_stored, bytes_meta;	/* files its run added */
	uint64_t duration_ns, warnings;
	/* akin/retention.h: */
	bool is_protected;
	bool has_until;		/* protected only until @until_sec */
	int64_t until_sec;
	bool is_forgotten;
	bool may_undelete;
	int64_t forgotten_sec;
};

struct akin_snapshot_filter {
	const char *host;	/* NULL: any */
	const char *const *tags;	/* all of them */
	uint32_t nr_tags;
	const char *const *paths;	/* exactly these; NULL: any */
	uint32_t nr_paths;
	bool forgotten;		/* those, instead of those that are listed */
};

/* Oldest first. A non-zero return of @fn ends the walk and is returned. */
AKIN_API int akin_snapshot_each(struct akin_pool *p,
				const struct akin_snapshot_filter *filter,
				int (*fn)(void *ctx,
					  const struct akin_snapshot *s),
				void *ctx, struct akin_diag *diag);
/* @name as above; *number_ret. -AKIN_E_snap_unknown, -AKIN_E_snap_ambiguous. */
AKIN_API int akin_snapshot_find(struct akin_pool *p, const char *name,
				const struct akin_snapshot_filter *filter,
				uint64_t *number_ret, struct akin_diag *diag);

enum akin_node_type {
	AKIN_NODE_FILE = 1, AKIN_NODE_DIR, AKIN_NODE_SYMLINK, AKIN_NODE_FIFO,
	AKIN_NODE_SOCKET, AKIN_NODE_CHARDEV, AKIN_NODE_BLOCKDEV,
	AKIN_NODE_STREAM,
};

/* Borrowed during the callback that gets it. */
struct akin_node {
	enum akin_node_type type;
	const char *path;	/* from the snapshot's root, starts with '/' */
	const char *name;	/* its last component */
	uint32_t mode, uid, gid;
	int64_t mtime_sec, ctime_sec;
	uint32_t mtime_nsec, ctime_nsec;
	uint64_t size, ino, dev, rdev;
	const uint8_t *target;	/* symlinks */
	uint32_t target_len;
	uint32_t nr_xattrs;
	bool changed;		/* changed while it was read */
	bool unreadable;	/* content incomplete */
	bool linked;		/* has hard links */
	bool partial;		/* a directory: names were left out on purpose */
};

/*
 * The node at @path ("" or "/": the root), then, for a directory, what is in
 * it: everything below if @recursive. Depth first, names in byte order.
 */
AKIN_API int akin_snapshot_list(struct akin_pool *p, uint64_t number,
				const char *path, bool recursive,
				int (*fn)(void *ctx, const struct akin_node *n),
				void *ctx, struct akin_diag *diag);

enum akin_diff_kind {
	AKIN_DIFF_ADDED = '+', AKIN_DIFF_REMOVED = '-',
	AKIN_DIFF_CONTENT = 'M', AKIN_DIFF_METADATA = 'U',
	AKIN_DIFF_TYPE = 'T',
	AKIN_DIFF_UNREADABLE = '!',	/* akin_compare() only */
};
/* In tree order; subtrees that are the same are not read. */
AKIN_API int akin_snapshot_diff(struct akin_pool *p, uint64_t a, uint64_t b,
				int (*fn)(void *ctx, enum akin_diff_kind kind,
					  const struct akin_node *old,
					  const struct akin_node *new_),
				void *ctx, struct akin_diag *diag);

/*
 * The content of one file or stream, in order. @hole (may be NULL) gets holes;
 * without it they come as zeros.
 */
AKIN_API int akin_snapshot_read(struct akin_pool *p, uint64_t number,
				const char *path,
				int (*data)(void *ctx, const void *data,
					    size_t n),
				int (*hole)(void *ctx, uint64_t len),
				void *ctx, struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
