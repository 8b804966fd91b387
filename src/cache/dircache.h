/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locality cache: the directories of recently touched containers, and one
 * table over all their fingerprints. One read of a directory answers the next
 * thousand lookups, because a container holds what followed each other in a
 * stream (Zhu, Li and Patterson, "Avoiding the Disk Bottleneck in the Data
 * Domain Deduplication File System", FAST 2008).
 *
 * Open containers of this process are in it too, so that a chunk is found from
 * the moment it was added. Never holds chunk data: that is groupcache.
 *
 * Eviction is by last use over fixed slots; what is pinned stays. Directories
 * and table stay within the budget as long as the pinned ones do.
 *
 * Thread safety: all functions from any thread.
 */
#ifndef CACHE_DIRCACHE_H
#define CACHE_DIRCACHE_H

#include "base/counters.h"
#include "container/container_reader.h"
#include "container/container_writer.h"

struct dircache;

struct dircache_options {
	struct disk *data;
	struct pool_id pool;
	size_t budget_bytes;
	/* Which generation of a container to read; an error if none may be.
	 * NULL: always 0. */
	int (*generation)(void *ctx, u64 container, u32 *generation_ret,
			  struct akin_diag *diag);
	void *ctx;
	struct counters *counters;	/* borrowed; may be NULL */
};

int dircache_new(const struct dircache_options *opt, struct dircache **out,
		 struct akin_diag *diag) __must_check;
void dircache_free(struct dircache *dc);

/* Where a chunk was found. container = 0: nowhere. */
struct dir_hit {
	u64 container;
	u32 entry;
	u32 len;
};

/* Only what is in memory; no I/O. */
void dircache_lookup(struct dircache *dc, const struct fp *fps, u32 n,
		     struct dir_hit *out);
/* The same for a chunk that was looked for before; only a hit counts. */
void dircache_lookup_again(struct dircache *dc, const struct fp *fp,
			   struct dir_hit *out);

/*
 * Does @at hold @fp? Loads the directory if need be. out->container = 0 if
 * not; an error means that the directory could not be read.
 */
int dircache_verify(struct dircache *dc, const struct place *at,
		    const struct fp *fp, struct dir_hit *out,
		    struct akin_diag *diag) __must_check;

/*
 * The reader of @container, loaded if need be, pinned until dircache_put.
 * -AKIN_E_busy if it is an open container of this process.
 */
int dircache_get(struct dircache *dc, u64 container,
		 struct container_reader **out, struct akin_diag *diag)
	__must_check;
void dircache_put(struct dircache *dc, u64 container);
/* Bring @container's directory in without pinning it. */
int dircache_load(struct dircache *dc, u64 container, struct akin_diag *diag)
	__must_check;
/* It will be loaded soon, if it is not there: begin to read it. */
void dircache_prefetch(struct dircache *dc, u64 container);
bool dircache_has(struct dircache *dc, u64 container);
/*
 * Is @fp in @container, read entry by entry? For what the table may lack when
 * everything else has failed. Otherwise as dircache_verify.
 */
int dircache_search(struct dircache *dc, u64 container, const struct fp *fp,
		    struct dir_hit *out, struct akin_diag *diag) __must_check;
/*
 * The directory entries behind hits: entry.len = 0 where hits[i].container is
 * 0, the directory cannot be read, or has no such entry. Directories that were
 * dropped meanwhile are loaded again.
 */
struct dir_found {
	struct dir_entry entry;
	u32 generation;		/* of which group and offset hold */
};
void dircache_entries(struct dircache *dc, const struct dir_hit *hits, u32 n,
		      struct dir_found *out);
/*
 * A reader for group @index of an open container of this process, owned by the
 * caller (container_close). -AKIN_E_busy: it is not in the file yet, or the
 * container is not (no longer) open. May write and read.
 */
int dircache_peek(struct dircache *dc, u64 container, u32 index,
		  struct container_reader **out, struct akin_diag *diag)
	__must_check;
/* @container was removed: nothing is found in it any more. */
void dircache_forget(struct dircache *dc, u64 container);

/* The generations to read may be others from now on: everything that is not
 * pinned goes. */
void dircache_clear(struct dircache *dc);

/* Open containers: pinned from open to close. @w is borrowed in between. */
int dircache_open(struct dircache *dc, struct container_writer *w,
		  u32 *slot_ret, struct akin_diag *diag) __must_check;
/* @slot: from dircache_open. */
void dircache_note(struct dircache *dc, u32 slot, const struct fp *fp,
		   u32 entry);
/* The writer goes away (sealed or failed); its slot becomes free. Waits for
 * those who peek. */
void dircache_close(struct dircache *dc, u32 slot);

struct dircache_stats {
	u64 loads, load_failures, evictions, hits, misses;
	u64 bytes;
	u32 nr;
};
void dircache_get_stats(struct dircache *dc, struct dircache_stats *out);

#endif
