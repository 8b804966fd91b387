/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalog: names, sessions, container states, the run manifest. The commit
 * point of the pool (a snapshot exists if and only if the catalog names it).
 *
 * SQLite in rollback-journal mode on the metadata disk, through a VFS over the
 * I/O table, pages checksummed in their reserved bytes. Small by design:
 * chunks and recipes are not here.
 *
 * Thread safety: the functions take the handle's mutex themselves. Several
 * processes, and several handles in one, may have it open; every change is one
 * short transaction (two and more only where said), and a busy database is
 * waited for (up to @busy_ms, then -AKIN_E_busy, with a hint that names the
 * living sessions).
 *
 * Numbers (containers, runs, sessions, snapshots, transactions) are reserved
 * durably, never reused, and at most CATALOG_NUMBER_MAX.
 *
 * Errors: damage is -AKIN_E_catalog; what the disk refuses comes with the
 * disk's own code and message (-AKIN_E_nospace, -AKIN_E_io, ...). A change
 * that failed has not happened, with one exception: after an error of class
 * IO (the sync at a commit's end) it may have; ask again to know.
 */
#ifndef CATALOG_H
#define CATALOG_H

#include "format/format_snapshot.h"
#include "os/disk.h"

struct catalog;
struct catalog_reviver;		/* catalog_gc.h */

/* Leaves room in a lock file's 63 bits of offsets for both transactions and
 * sessions: 2^62 + N is a session's. */
#define CATALOG_NUMBER_MAX (((u64)1 << 62) - 1)

struct catalog_options {
	bool read_only;		/* never writes; see catalog_open */
	/* All changes go to a copy in memory, made when it is opened, and are
	 * gone when it is closed. Only read locks are taken, and only then. */
	bool private_copy;
	u32 busy_ms;		/* 0: a default of 60 s */
	u32 cache_bytes;	/* page cache; 0: a default of 1 MiB */
};

/* A new, empty catalog; durable on return. -AKIN_E_exists. After a crash
 * within there is none, or a whole one. */
int catalog_create(struct disk *meta, const struct pool_id *pool,
		   struct akin_diag *diag) __must_check;
/*
 * -AKIN_E_absent if there is none; -AKIN_E_bad_identity if it is another
 * pool's; -AKIN_E_catalog if it is damaged; -AKIN_E_bad_version if it is a
 * newer one's.
 *
 * Read-only: nothing is written, whether the disk would allow it or not. What
 * a dead writer left half-done is rolled back in a private copy in memory,
 * which serves for as long as nobody has rolled back the real one. Read locks
 * are taken; where the medium has none, it is trusted not to change.
 */
int catalog_open(struct disk *meta, const struct pool_id *pool,
		 const struct catalog_options *opt, struct catalog **out,
		 struct akin_diag *diag) __must_check;
/* NULL is fine. */
void catalog_close(struct catalog *c);
/* Every page in use and every row; SQLite's integrity check. */
int catalog_check(struct catalog *c, struct akin_diag *diag) __must_check;

/* Sessions ----------------------------------------------------------------*/

enum session_state {
	SESSION_LIVING = 1,	/* begun; its lock tells whether it still is */
	SESSION_COMMITTED,
	SESSION_ABORTED,	/* ended by itself without a snapshot */
	SESSION_INTERRUPTED,	/* ended by death; what it sealed stays */
};

struct catalog_session {
	u64 number;
	enum session_state state;
	u64 begin_txn;		/* commit number it started from */
	s64 begun_sec;
	u32 pid;
	char host[256], user[64], command[256];
	char paths_key[65];	/* hex digest of host and paths; see store */
	u64 snapshot;		/* number reserved for it */
	/* What its data containers would take more if nothing had been
	 * compressed against references, estimated. Begins at 0. */
	u64 saved_bytes;
};

/*
 * Begin a writing session: reserves its number and its snapshot number, and
 * calls @lock (may be NULL) with its number and this transaction's, inside the
 * transaction before it commits; a non-zero return undoes it. @lock must not
 * call the catalog. On failure after that the caller drops the lock. Of *in
 * begun_sec, pid, the strings and paths_key are used; *out (may be @in) is all
 * of it.
 */
int catalog_session_begin(struct catalog *c, const struct catalog_session *in,
			  int (*lock)(void *ctx, u64 number, u64 txn,
				      struct akin_diag *diag),
			  void *ctx, struct catalog_session *out,
			  struct akin_diag *diag) __must_check;

enum catalog_number { NUMBER_CONTAINER, NUMBER_RUN };
/* @count numbers in a row for @session, durable on return. -AKIN_E_sequence
 * unless it is living; for runs 0 says nobody's (merging). */
int catalog_reserve(struct catalog *c, u64 session, enum catalog_number kind,
		    u32 count, u64 *first_ret, struct akin_diag *diag)
	__must_check;

struct catalog_container {
	u64 number;
	u32 generation;
	u8 kind;
	u64 session;
	u64 file_bytes;
	u64 dir_off;
	u32 dir_len;
	u32 nr_entries;
	u64 raw_bytes;		/* of its chunks */
	u64 condemned_txn;	/* 0: not condemned */
	/* What its groups would take more without references: the writer's
	 * estimate; in later generations its part, by raw_bytes. */
	u64 saved_bytes;
};

struct catalog_run {
	u64 number;
	u32 tier;
	u64 nr_entries;
	u64 file_bytes;
	u64 session;
};

/* What one checkpoint or commit of a session adds, and what runs it replaces.
 * All arrays are borrowed. Containers carry the session's number, reserved
 * numbers, and no condemned_txn, else -AKIN_E_usage; known ones are
 * -AKIN_E_exists, unknown dead runs -AKIN_E_absent. */
struct catalog_delta {
	const struct catalog_container *containers;
	u32 nr_containers;
	const struct catalog_run *runs;
	u32 nr_runs;
	const u64 *dead_runs;	/* merged away; must be in the manifest */
	u32 nr_dead_runs;
	/* What the session stands on is revived; NULL: it may rely on it that
	 * nothing was condemned. */
	const struct catalog_reviver *reviver;
};

/* The session's sealed things so far become roots; no snapshot. */
int catalog_checkpoint(struct catalog *c, u64 session,
		       const struct catalog_delta *delta,
		       struct akin_diag *diag) __must_check;
/*
 * The commit: @delta and @snapshot (its record's bytes are stored as they are)
 * become visible, the session becomes COMMITTED, interrupted sessions with the
 * same paths_key (if it is not empty) become COMMITTED too (their containers
 * stay as ordinary ones). The snapshot's pool, session and number must be the
 * session's. *txn_ret = number of this transaction.
 */
int catalog_commit(struct catalog *c, u64 session,
		   const struct catalog_delta *delta,
		   const struct snapshot *snapshot, u64 *txn_ret,
		   struct akin_diag *diag) __must_check;
/*
 * A checkpoint that also says where the pieces of a listed snapshot's top
 * listing live now: @hint takes the place of its record's. *done_ret: it is
 * still listed; else the rest has happened all the same. Nothing but that hint
 * ever changes in a record, and not in the data pool.
 */
int catalog_rehint(struct catalog *c, u64 session,
		   const struct catalog_delta *delta, u64 snapshot,
		   const struct hint *hint, bool *done_ret,
		   struct akin_diag *diag) __must_check;
/* The session becomes COMMITTED without a snapshot, and so do interrupted ones
 * with the same paths_key: all that is of use in its containers has been named
 * by catalog_rehint(). */
int catalog_complete(struct catalog *c, u64 session, struct akin_diag *diag)
	__must_check;
/* The session ends without a snapshot; checkpointed containers stay with it
 * as SESSION_INTERRUPTED if it has any, else SESSION_ABORTED. */
int catalog_session_end(struct catalog *c, u64 session,
			struct akin_diag *diag) __must_check;
/* Replace runs outside of any session's commit (merging). */
int catalog_replace_runs(struct catalog *c, const struct catalog_delta *delta,
			 struct akin_diag *diag) __must_check;
/* LIVING sessions whose lock is free (by @ended(ctx, number) > 0; an error is
 * returned) become INTERRUPTED (or ABORTED if they checkpointed nothing);
 * *nr_ret counts. @ended is asked outside of any transaction: that is safe
 * because a session's lock, once free, stays free. Looks at 128 living sessions
 * at most. */
int catalog_reap_sessions(struct catalog *c,
			  int (*ended)(void *ctx, u64 number), void *ctx,
			  u32 *nr_ret, struct akin_diag *diag) __must_check;

/* Reading. Callbacks may stop the walk with a non-zero code, which is
 * returned. Rows are copied out in batches: a callback may call the catalog,
 * and a row changed meanwhile by somebody else is seen or not. Ascending. */
int catalog_each_session(struct catalog *c,
			 int (*fn)(void *ctx, const struct catalog_session *s),
			 void *ctx, struct akin_diag *diag) __must_check;
int catalog_each_container(struct catalog *c,
			   int (*fn)(void *ctx,
				     const struct catalog_container *row),
			   void *ctx, struct akin_diag *diag) __must_check;
/* -AKIN_E_absent if there is no such row. */
int catalog_container(struct catalog *c, u64 number,
		      struct catalog_container *out, struct akin_diag *diag)
	__must_check;
int catalog_each_run(struct catalog *c,
		     int (*fn)(void *ctx, const struct catalog_run *run),
		     void *ctx, struct akin_diag *diag) __must_check;
/* Oldest first. The snapshot is borrowed during the call. */
int catalog_each_snapshot(struct catalog *c,
			  int (*fn)(void *ctx, const struct snapshot *s),
			  void *ctx, struct akin_diag *diag) __must_check;
/* Returns owned. -AKIN_E_snap_unknown. */
int catalog_snapshot(struct catalog *c, u64 number, struct snapshot *out,
		     struct akin_diag *diag) __must_check;
/* Number of the newest transaction. */
int catalog_txn(struct catalog *c, u64 *out, struct akin_diag *diag)
	__must_check;

struct catalog_totals {
	u64 nr_snapshots, nr_data_containers, nr_meta_containers;
	u64 data_bytes, meta_bytes;	/* files of containers */
	u64 raw_data_bytes, raw_meta_bytes;
	u64 saved_data_bytes;		/* by references, estimated */
	u64 nr_chunks;			/* entries in data containers */
	u64 nr_runs, run_bytes, run_entries;
	u64 nr_damaged;
};
/* saved_bytes of a session; 0 for one that is not known. */
int catalog_session_saved(struct catalog *c, u64 session, u64 *out,
			  struct akin_diag *diag) __must_check;
int catalog_totals(struct catalog *c, struct catalog_totals *out,
		   struct akin_diag *diag) __must_check;

/* Damage (D11): chunks found bad, until a good read lifts the mark. */
struct catalog_damage {
	struct place place;
	struct fp fp;
	s64 found_sec;
	int code;
};
/* Idempotent: the first mark of a place stays. entry = UINT32_MAX marks the
 * whole container. In transactions of 128 rows, so that it works on a full
 * disk; repeat the call if it fails. */
int catalog_mark_damaged(struct catalog *c, const struct catalog_damage *rows,
			 u32 nr, struct akin_diag *diag) __must_check;
int catalog_unmark_damaged(struct catalog *c, const struct place *places,
			   u32 nr, struct akin_diag *diag) __must_check;
int catalog_each_damage(struct catalog *c,
			int (*fn)(void *ctx, const struct catalog_damage *row),
			void *ctx, struct akin_diag *diag) __must_check;

#endif
