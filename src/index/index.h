/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fingerprint index under a memory contract.
 *
 * It answers: in which place does a chunk with this fingerprint probably live?
 * Answers are hints (64 bits of the fingerprint agree); the caller confirms
 * them against the container's directory. A missing answer costs space, never
 * correctness.
 *
 * Two parts. In memory, a table of (prefix, place) that holds every
 * fingerprint while it fits and one in 2, 4, 8... of them, uniformly sampled,
 * when it does not; filled from the runs' sampling levels on the first miss,
 * never at open. On the metadata disk, immutable runs (format_run.h), tiered,
 * merged sequentially, one page read per run and lookup.
 *
 * Memory: table, pending entries and the buffers of one load, one write and one
 * merge stay within @budget_bytes, whatever the pool's size; besides, 1 KiB and
 * an open file for each run in use, and 48 KiB for each index_lookup_disk() in
 * progress.
 *
 * A damaged run is never fatal: its bad pages are skipped and counted, its good
 * ones still answer, it is left out of merging (which would make the loss
 * permanent), and index_damage() names it, so that its entries can be written
 * again from the containers' directories.
 *
 * Thread safety: all functions may be called from many threads, but open and
 * close. Lookups do not wait for writing and merging; they may wait for
 * another one's slice of loading.
 */
#ifndef INDEX_H
#define INDEX_H

#include "base/counters.h"
#include "format/format_run.h"
#include "os/disk.h"

struct index;

/* The smallest budget; less is -AKIN_E_usage. */
#define INDEX_MIN_BYTES (1 * MiB)

struct index_run {
	u64 number;
	u32 tier;		/* of similar size, for merging */
	u64 nr_entries;
	u64 file_bytes;
};

struct index_options {
	struct pool_id pool;
	size_t budget_bytes;
	/* Reserve @count run numbers in a row, durably. May be called from
	 * several threads at once; must not call the index. */
	int (*reserve)(void *ctx, u32 count, u64 *first_ret,
		       struct akin_diag *diag);
	void *reserve_ctx;
	/*
	 * The manifest as the catalog has it now; *runs_ret from mem_alloc,
	 * taken. Asked by index_reload() and when the file of a run is gone:
	 * most likely another process has merged it. From any thread; must not
	 * call the index. NULL: a file that is gone is damage at once.
	 */
	int (*manifest)(void *ctx, struct index_run **runs_ret, u32 *nr_ret,
			struct akin_diag *diag);
	void *manifest_ctx;
	struct counters *counters;	/* borrowed; may be NULL */
};

/* Opens no file. @runs (copied) is the manifest. */
int index_open(struct disk *meta, const struct index_options *opt,
	       const struct index_run *runs, u32 nr_runs, struct index **out,
	       struct akin_diag *diag) __must_check;
void index_close(struct index *ix);
/*
 * Ask for the manifest (options.manifest, which must be there): runs that it
 * does not name any more go, new ones come (and are loaded, as far as they
 * fit, when fingerprints are missing). What this index wrote and no manifest
 * has named yet stays. On failure nothing has changed.
 */
int index_reload(struct index *ix, struct akin_diag *diag) __must_check;
/* How often that was done, for whatever reason: what was looked up in vain
 * before the number changed may be there now. */
u64 index_reloads(struct index *ix);
/*
 * Open every run, a page of each, so that index_damage() knows those whose
 * files are missing, cut off or something else. 0 also if there are such.
 */
int index_probe(struct index *ix, struct akin_diag *diag) __must_check;
/* Is there a run of this number in it, named by a manifest or not? */
bool index_has_run(struct index *ix, u64 number);

/*
 * Probe the memory table, batched with prefetch. out[i].container = 0 where
 * nothing is known. The first call that misses loads part of the runs into the
 * table (at most 8 MiB and @budget_bytes / 4 are read at once, more as misses
 * go on); an unreadable run is skipped and reported through index_damage().
 * Where a fingerprint is known in several places, the answer is the one in the
 * container of the highest number.
 */
int index_lookup(struct index *ix, const struct fp *fps, u32 n,
		 struct place *out, struct akin_diag *diag) __must_check;

/*
 * Exact, as far as the runs can be read: pending entries, then one page of
 * each run, eight at a time, newest run first, until @max places are found (of
 * one run, the highest containers first). *nr_ret may be 0. For restores whose
 * hints failed.
 */
int index_lookup_disk(struct index *ix, const struct fp *fp,
		      struct place *out, u32 max, u32 *nr_ret,
		      struct akin_diag *diag) __must_check;

/*
 * Remember a new chunk; visible to index_lookup at once, to other processes
 * after index_flush and the catalog's commit. Spills to a private run when the
 * pending share of the budget is full; if that fails nothing is forgotten, and
 * only @fp is not added. (After a spill, what sampling does not hold is found
 * by index_lookup_disk alone.)
 */
int index_add(struct index *ix, const struct fp *fp, const struct place *at,
	      struct akin_diag *diag) __must_check;

/* While it is @blind, what is added goes to runs and not into the table, which
 * nobody asks. */
void index_set_blind(struct index *ix, bool blind);

/* What to tell the catalog: runs added and runs made dead. Returns owned. */
struct index_changes {
	struct index_run *added;
	u32 nr_added;
	u64 *dead;
	u32 nr_dead;
};
void index_changes_release(struct index_changes *ch);

/*
 * Write all pending entries as runs, synced (the runs directory too). @out also
 * names the private runs written since the last flush. After a failure, call
 * it again: nothing is lost.
 */
int index_flush(struct index *ix, struct index_changes *out,
		struct akin_diag *diag) __must_check;
/* The commit of what index_flush() named has certainly not happened: the next
 * flush names it again. */
void index_unflush(struct index *ix, const struct index_changes *ch);
/*
 * The session has ended, and what it added since the last flush will never be
 * committed: forget it, remove its runs' files, and fill the table anew from
 * the runs when it is next needed. (An unnamed file of an ended session is
 * anybody's to remove.)
 */
void index_discard(struct index *ix);
/*
 * Merge tiers that are full (8 runs or more), from the manifest given at open
 * plus what was flushed; bounded memory, sequential. A tier holds runs of up to
 * eight times the size of the one below, so small runs are merged often and
 * large ones rarely, and their number grows with the logarithm of the pool.
 * The caller commits what was flushed before, then this change, and then calls
 * index_merged(), which drops the dead files (other processes may still want
 * them: see index_options.manifest). If the commit has certainly not happened,
 * it calls index_unmerge(), which removes what the merge made.
 * @skip(ctx, container) != 0 drops entries of dead containers; may be NULL.
 */
int index_merge(struct index *ix, int (*skip)(void *ctx, u64 container),
		void *ctx, struct index_changes *out, struct akin_diag *diag)
	__must_check;
int index_merged(struct index *ix, const struct index_changes *ch,
		 struct akin_diag *diag) __must_check;
void index_unmerge(struct index *ix, const struct index_changes *ch);

/* Numbers of the runs found damaged so far, up to @max; returns how many
 * there are. */
u32 index_damage(struct index *ix, u64 *runs_ret, u32 max);

struct index_stats {
	u64 lookups, hits;
	u64 page_reads;		/* run pages read one by one */
	u64 load_bytes;		/* read to fill the table */
	u64 table_entries, table_bytes;
	/* One in 2^shift fingerprints is held; RUN_LEVELS: what the runs have
	 * is not loaded yet. */
	u32 sample_shift;
	u64 pending_entries;
	u64 bad_pages;		/* skipped as damaged */
	u64 spill_entries;	/* of a run that is written when memory is full */
};
void index_get_stats(struct index *ix, struct index_stats *out);

#endif
