/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the index share: run files and their sequential reader
 * (index_run.c), their writer (index_write.c), and struct index with its locks.
 */
#ifndef INDEX_INTERNAL_H
#define INDEX_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "index/index.h"
#include "index/index_slots.h"

/* ---- one run ---- */

enum run_state { RUN_UNREAD, RUN_OPEN, RUN_BAD };

struct run_file {
	struct index_run info;	/* of the manifest */
	_Atomic u32 refs;
	/* Set once under index.open_lock; the three below are constant then. */
	_Atomic int state;
	struct file *file;
	struct run_header header;
	u64 end_page[RUN_LEVELS];	/* of each level's extent, in the file */
	/* A page was unreadable: no merging, reported by index_damage(). */
	_Atomic bool damaged;
	/* Guarded by index.lock. Not yet flushed; seen in a manifest. */
	bool uncommitted, named;
	/* Next to load, guarded by index.load_lock; level -1: all loaded. */
	int load_level;
	u64 load_page;		/* relative to the level */
};

/* Unread, with one reference. */
struct run_file *run_file_new(const struct index_run *info);
struct run_file *run_file_get(struct run_file *r);
void run_file_put(struct run_file *r);

/* Pages of a level, extra ones included. */
static inline u64 run_file_pages(const struct run_file *r, unsigned level)
{
	const struct run_level *l = &r->header.levels[level];

	return l->nr_pages ? r->end_page[level] - l->first_page : 0;
}

/* ---- writing a run ---- */

struct run_writer;

/*
 * Create the file of run @number. @budget_bytes: for the writer's buffers (at
 * least RUN_WRITER_MIN_BYTES).
 */
#define RUN_WRITER_MIN_BYTES (16 * KiB)
int run_writer_open(struct disk *d, const struct pool_id *pool, u64 number,
		    size_t budget_bytes, struct run_writer **out,
		    struct akin_diag *diag) __must_check;
/*
 * Start a level; levels go down, those without entries may be left out.
 * @nr_expected sizes the level: pages are 80 % full if it is right, and a
 * search reads more than one page if it is far too low.
 */
int run_writer_level(struct run_writer *w, unsigned level, u64 nr_expected,
		     struct akin_diag *diag) __must_check;
/* Ascending by prefix, container, entry within the level. */
int run_writer_put(struct run_writer *w, const struct run_entry *e,
		   struct akin_diag *diag) __must_check;
/* Writes the rest and the header, syncs, closes. Call abort on failure. */
int run_writer_finish(struct run_writer *w, struct index_run *out,
		      struct akin_diag *diag) __must_check;
/* Unlinks what was written. NULL is fine; not after a finish that succeeded. */
void run_writer_abort(struct run_writer *w);
void run_writer_free(struct run_writer *w);

/* ---- the index ---- */

/* How the budget is split; see index.c. */
struct index_shares {
	size_t table, pending, load, write, merge;
};

/*
 * Locks, in this order; none is held while calling options.reserve but
 * merge_lock and write_lock, none while calling options.manifest but merge_lock
 * and load_lock.
 *
 *  merge_lock  one merge at a time; held during its I/O
 *  write_lock  sealing and writing pending entries; held during I/O
 *  load_lock   load cursors and the load_* fields; held during I/O
 *  open_lock   opening run files; held during I/O
 *  lock        everything else; never held during I/O
 */
struct index {
	struct disk *disk;
	struct index_options opt;
	struct index_shares share;
	u64 spill_entries;	/* that a full half of the pending share has */
	pthread_mutex_t merge_lock, write_lock, load_lock, open_lock;
	pthread_rwlock_t lock;

	struct slots table;	/* a sample of everything known */
	_Atomic unsigned shift;	/* levels below are not in @table */
	_Atomic bool blind;	/* nothing that is added goes into @table */
	struct slots pending;	/* added, not yet in a run */
	struct slots sealed;	/* sorted, being written; often empty */
	struct run_file **runs;	/* ascending by number */
	u32 nr_runs;

	_Atomic bool load_done;
	u64 load_credit;	/* bytes that may be read now */
	bool load_begun;
	int load_level;		/* the level whose size was checked */

	_Atomic u64 reloads;	/* applied so far */
	_Atomic u64 lookups, hits, page_reads, load_bytes, bad_pages;
};

/*
 * Read the header if that was not done. 0 with r->state RUN_OPEN or RUN_BAD;
 * an error only where a later try may succeed. INDEX_RUN_GONE: there is no
 * such file, now or any more; ask index_run_gone().
 */
#define INDEX_RUN_GONE 1
int index_run_open(struct index *ix, struct run_file *r,
		   struct akin_diag *diag) __must_check;
/*
 * Reload the manifest. If it names @r all the same, @r is lost, and RUN_BAD;
 * if not, it is no longer among the index's runs: take those anew. Each round
 * of such a retry needs another process that has just merged.
 */
int index_run_gone(struct index *ix, struct run_file *r,
		   struct akin_diag *diag) __must_check;
int index_run_gone_locked(struct index *ix, struct run_file *r,
			  struct akin_diag *diag) __must_check; /* load_lock */
void index_run_damaged(struct index *ix, struct run_file *r, u64 nr_pages);
/* References to all runs as they are now; *out from mem_alloc, NULL if 0. */
int index_runs_get(struct index *ix, struct run_file ***out, u32 *nr_ret)
	__must_check;
void index_runs_put(struct run_file **runs, u32 nr);
/* Like index_runs_get(), @ix->lock held. */
int index_runs_get_locked(struct index *ix, struct run_file ***out,
			  u32 *nr_ret) __must_check;
/* Room for @more runs; under @ix->lock, written. */
int index_runs_reserve_locked(struct index *ix, u32 more) __must_check;
/* Into its place by number; takes @r; room must be there. Nothing is done if
 * the number is there already. */
void index_runs_insert_locked(struct index *ix, struct run_file *r);
struct run_file *index_runs_find_locked(const struct index *ix, u64 number);

/* Into the table, sampling as needed; @ix->lock held for writing. */
void index_table_put_locked(struct index *ix, u64 prefix, u64 word);

/* Read some more of the runs into the table, after @nr_missed misses. */
int index_load(struct index *ix, u64 nr_missed, struct akin_diag *diag)
	__must_check;

/* Write the sealed entries, if any; then, if at least @nr_min are pending (so
 * nobody else has just done it), seal and write those. */
int index_write_pending(struct index *ix, u64 nr_min, struct akin_diag *diag)
	__must_check;

/* Tier of a run with that many entries: tier t holds up to 8^t spills. */
u32 index_tier_of(const struct index *ix, u64 nr_entries);

/* ---- reading a run in order ---- */

/* 0-initialised; release in any state. */
struct run_reader {
	struct index *ix;
	struct run_file *run;	/* both borrowed */
	unsigned level;
	u8 *raw;
	u64 max_raw;		/* pages that @raw takes */
	u64 nr_raw, at_raw;
	u64 page, end;		/* next to read from disk, relative */
	u64 seen;		/* entries of this level so far */
	struct run_entry *entries;
	u32 nr, at;
	u64 last_prefix;
};

/* @run must be open. */
int run_reader_init(struct run_reader *rd, struct index *ix,
		    struct run_file *run, size_t budget_bytes) __must_check;
void run_reader_release(struct run_reader *rd);
void run_reader_start(struct run_reader *rd, unsigned level);
/* 1: *out borrowed until the next call; 0: end of the level. A page that
 * cannot be believed marks the run as damaged. */
int run_reader_next(struct run_reader *rd, const struct run_entry **out,
		    struct akin_diag *diag) __must_check;

#endif
