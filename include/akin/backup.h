/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backups: trees of files, or one stream.
 *
 * A backup is one session that ends in one snapshot, or in none. What was
 * acknowledged (return 0 or -AKIN_E_partial) survives any crash.
 */
#ifndef AKIN_BACKUP_H
#define AKIN_BACKUP_H

#include "akin/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct akin_progress {
	uint64_t files, dirs, others;	/* done so far */
	uint64_t bytes;			/* logical, done so far */
	uint64_t bytes_read;		/* of sources; a restore: of groups */
	uint64_t bytes_new;		/* raw bytes of new chunks */
	uint64_t bytes_stored;		/* written to the pool */
	uint64_t files_unchanged;	/* taken from the parent */
	uint64_t files_total, bytes_total;	/* 0: not known (yet) */
	uint64_t warnings;
	uint64_t elapsed_ns;
	const char *current;		/* path; borrowed during the call */
};

struct akin_backup_options {
	const char *const *paths;	/* absolute or relative to the cwd */
	uint32_t nr_paths;
	const char *const *tags;
	uint32_t nr_tags;
	const char *host;		/* NULL: this machine's name */
	const char *command;		/* for the record; may be NULL */
	const char *const *excludes;	/* patterns, in order */
	uint32_t nr_excludes;
	const char *const *exclude_files;	/* files of patterns */
	uint32_t nr_exclude_files;
	const char *exclude_if_present;	/* skip directories that hold it */
	bool one_file_system;
	bool force;			/* read everything */
	bool read_special;		/* contents of devices and FIFOs */
	bool dry_run;			/* read and look up; store nothing */
	const char *compression;	/* NULL: the pool's; see pool.h */
	int delta_depth;		/* 0: the pool's; else see pool.h */
	enum akin_verify verify;
	enum akin_engine engine;
	uint64_t limit_read;		/* bytes a second; 0: none */
	uint64_t limit_write;
	unsigned nr_streams;		/* 0: a default */

	/* From a thread of the library, about five times a second. */
	void (*progress)(void *ctx, const struct akin_progress *p);
	/* One source could not be (fully) read; the backup goes on. @vanished:
	 * it was removed while the tree was read. */
	void (*warning)(void *ctx, const char *path, int code,
			const char *text, bool vanished);
	/* Waiting for somebody or something; @text says for what. */
	void (*waiting)(void *ctx, const char *text);
	/* Something odd that the snapshot does not suffer from, such as a
	 * stored copy that cannot be read any more and was stored anew. From
	 * any thread, a bounded number of times. */
	void (*notice)(void *ctx, const char *text);
	void *ctx;
};

struct akin_backup_result {
	uint64_t number;		/* 0: dry run */
	char id[33];
	char parent[33];
	struct akin_progress total;
	uint64_t chunks, chunks_new;
	/* Only with verify: compared with stored copies; of these, had another
	 * chunk's fingerprint; copies that could not be read. */
	uint64_t chunks_compared, chunks_collided, chunks_unreadable;
	/* Raw bytes that were compressed against similar stored data, and what
	 * that saved, estimated by samples. */
	uint64_t bytes_referring, bytes_saved_referring;
	enum akin_engine engine;	/* that it was made with */
	/* With engines other than IDENTITY: what the similarity table takes in
	 * memory, and chunks that it gave something to be compressed against. */
	uint64_t similar_bytes, chunks_resembling;
};

/* 0, or -AKIN_E_partial: committed, with warnings. */
AKIN_API int akin_backup_tree(struct akin_pool *p,
			      const struct akin_backup_options *opt,
			      struct akin_backup_result *out,
			      struct akin_diag *diag);

/*
 * One stream, stored under @name. @read fills up to @cap bytes and returns
 * their number, 0 at the end, or a negative code, after which there is no
 * snapshot. @finish (may be NULL) is asked once after the end: non-zero means
 * the producer failed, no snapshot.
 */
AKIN_API int akin_backup_stream(struct akin_pool *p,
				const struct akin_backup_options *opt,
				const char *name,
				long (*read)(void *ctx, void *buf, size_t cap,
					     struct akin_diag *diag),
				int (*finish)(void *ctx,
					      struct akin_diag *diag),
				void *read_ctx, struct akin_backup_result *out,
				struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
