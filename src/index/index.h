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
 * Memory: table + pending entries + merge buffers stay within @budget_bytes,
 * whatever the pool's size.
 *
 * Thread safety: all functions may be called from many threads.
 */
#ifndef INDEX_H
#define INDEX_H

#include "format/format_run.h"
#include "os/disk.h"

struct index;

struct index_run {
	u64 number;
	u32 tier;
	u64 nr_entries;
	u64 file_bytes;
};

struct index_options {
	struct pool_id pool;
	size_t budget_bytes;
	/* Reserve @count run numbers in a row, durably. */
	int (*reserve)(void *ctx, u32 count, u64 *first_ret,
		       struct akin_diag *diag);
	void *reserve_ctx;
};

/* Opens no file. @runs (copied) is the manifest. */
int index_open(struct disk *meta, const struct index_options *opt,
	       const struct index_run *runs, u32 nr_runs, struct index **out,
	       struct akin_diag *diag) __must_check;
void index_close(struct index *ix);

/*
 * Probe the memory table, batched with prefetch. out[i].container = 0 where
 * nothing is known. The first call that misses loads the table from the runs
 * (bounded I/O: at most @budget_bytes / 4 read at once, more as misses go on);
 * an unreadable run is skipped and reported through index_damage().
 */
int index_lookup(struct index *ix, const struct fp *fps, u32 n,
		 struct place *out, struct akin_diag *diag) __must_check;

/*
 * Exact: also read the runs' pages. Up to @max places for one fingerprint,
 * newest run first; *nr_ret may be 0. For restores whose hints failed.
 */
int index_lookup_disk(struct index *ix, const struct fp *fp,
		      struct place *out, u32 max, u32 *nr_ret,
		      struct akin_diag *diag) __must_check;

/* Remember a new chunk; visible to index_lookup at once, to other processes
 * after index_flush and the catalog's commit. Spills to a private run when the
 * pending share of the budget is full. */
int index_add(struct index *ix, const struct fp *fp, const struct place *at,
	      struct akin_diag *diag) __must_check;

/* What to tell the catalog: runs added and runs made dead. Returns owned. */
struct index_changes {
	struct index_run *added;
	u32 nr_added;
	u64 *dead;
	u32 nr_dead;
};
void index_changes_release(struct index_changes *ch);

/* Write all pending entries as runs, synced (the runs directory too). */
int index_flush(struct index *ix, struct index_changes *out,
		struct akin_diag *diag) __must_check;
/*
 * Merge tiers that are full, from the manifest given at open plus what was
 * flushed; bounded memory, sequential. The caller commits the change to the
 * catalog and then calls index_merged() which drops the dead files.
 * @skip(ctx, container) != 0 drops entries of dead containers; may be NULL.
 */
int index_merge(struct index *ix, int (*skip)(void *ctx, u64 container),
		void *ctx, struct index_changes *out, struct akin_diag *diag)
	__must_check;
int index_merged(struct index *ix, const struct index_changes *ch,
		 struct akin_diag *diag) __must_check;

struct index_stats {
	u64 lookups, hits;
	u64 page_reads;		/* run pages read one by one */
	u64 load_bytes;		/* read to fill the table */
	u64 table_entries, table_bytes;
	u32 sample_shift;	/* one in 2^shift fingerprints is held */
	u64 pending_entries;
	u64 bad_pages;		/* skipped as damaged */
};
void index_get_stats(struct index *ix, struct index_stats *out);

#endif
