/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running backup: what trees and streams have in common. The feeder (the
 * caller's thread) reads; the stream's thread builds the tree from what comes
 * back. Only the feeder calls warning().
 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include <pthread.h>

#include "format/format_tree.h"
#include "ingest/stream.h"
#include "store/store.h"
#include "tree/tree_builder.h"

/* Marks in the stream. */
enum backup_mark {
	MARK_DIR_BEGIN = 1,
	MARK_DIR_END,		/* token: the directory's node */
	MARK_NODE,		/* token: a node without content to read */
	MARK_KEPT,		/* token: a record taken from the parent */
};

/* What travels through the stream; freed by whoever takes it out. */
struct backup_token {
	struct node node;	/* owned as decoded or by source */
	bool from_source;	/* how to release it */
	struct hint hint;	/* KEPT: of its content */
};

struct backup {
	struct akin_pool *p;
	const struct akin_backup_options *opt;
	struct session *session;
	struct ingest_stream *stream;
	struct tree_builder *tree;
	struct snapshot snap;
	struct hintset root_hint;
	u64 start_ns;
	/* Written by the feeder, read by the progress thread. */
	_Atomic u64 files, dirs, others, unchanged, warnings;
	_Atomic u64 bytes_read, bytes_kept;
	_Atomic u64 files_total, bytes_total;
	pthread_mutex_t lock;	/* guards current and done */
	pthread_cond_t ended;	/* done was set */
	char current[256];
	bool done;
	pthread_t progress_thread;
	bool have_progress;
	u8 engine;			/* enum super_engine */
	u64 similar_bytes;		/* see akin_backup_result */
	bool index_given_up;	/* it is damaged, and could not be rebuilt */
	/*
	 * For objects that are not nodes of a walk (store_txn.h): set before
	 * the beginning, instead of filling the tree; @ctx is the backup. Their
	 * tokens are not freed.
	 */
	int (*object_done)(void *ctx, void *token, const struct content *ct,
			   const struct hint *hint, struct akin_diag *diag);
	/* Likewise: memory that streams shall not have. */
	size_t set_aside;
	/* Of streams besides @stream, when they have been closed. */
	struct ingest_counts more;
};

/* @b: zeros, but for object_done and set_aside. */
int backup_begin(struct backup *b, struct akin_pool *p,
		 const struct akin_backup_options *opt,
		 const char *const *paths, u32 nr_paths,
		 struct akin_diag *diag) __must_check;
/* Commit, or end without a snapshot if @err; releases everything. */
int backup_finish(struct backup *b, int err, struct akin_backup_result *out,
		  struct akin_diag *diag) __must_check;

/* A stream with the backup's callbacks. */
int backup_open_stream(struct backup *b, bool threaded,
		       struct ingest_stream **out, struct akin_diag *diag)
	__must_check;

/* One more, whether it was read or not. */
static inline void backup_count_file(struct backup *b)
{
	atomic_fetch_add(&b->files, 1);
	counters_add(b->p->counters, files_stored, 1);
}

struct backup_token *backup_token_new(struct akin_diag *diag);
void backup_token_free(struct backup_token *t);
void backup_warn(struct backup *b, const char *path, int code,
		 const char *text);
void backup_current(struct backup *b, const char *path);
/* Sleep as --limit-read and --limit-write ask; @n bytes were just read. */
int backup_pace(struct backup *b, u64 n, struct akin_diag *diag) __must_check;

#endif
