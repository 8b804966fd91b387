/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the index share: a pool as far as the index sees it (a
 * disk, a manifest, run numbers), chunks by number, and checks of answers. The
 * checks assert with cmocka.
 */
#ifndef INDEXWORLD_H
#define INDEXWORLD_H

#include "index/index.h"
#include "simdisk.h"

extern const struct pool_id indexworld_pool;

struct world {
	struct simdisk *sd;	/* NULL: @d is of another kind */
	struct disk *d;
	_Atomic u64 next_number;
	struct index_run *runs;	/* the manifest */
	u32 nr_runs;
	struct index *ix;
	size_t budget;
	/* Bytes on the heap: at first, and at most so far. */
	size_t heap_base, heap_peak;
};

/* An empty pool on a disk in memory, opened. */
void world_init(struct world *w, size_t budget);
void world_release(struct world *w);
int world_open(struct world *w);
/* Close and open by the manifest: what was not committed is forgotten. */
void world_reopen(struct world *w);
/* What the catalog would do. */
void world_commit(struct world *w, struct index_changes *ch);
int world_flush(struct world *w);
int world_merge(struct world *w, int (*skip)(void *ctx, u64 container),
		void *ctx);
size_t heap_bytes(void);
void world_sample(struct world *w);
u64 files_in_runs(struct world *w);
u64 manifest_entries(const struct world *w);
struct index_stats stats_of(struct world *w);

/* The i-th chunk of the tests. */
void chunk(u64 i, struct fp *fp, struct place *at);
int add_chunks(struct world *w, u64 from, u64 to);
bool same_place(const struct place *a, const struct place *b);
/*
 * Look up chunks [from, to): those of @level and above must be found, nothing
 * wrong ever. Returns how many were.
 */
u64 check_memory(struct world *w, u64 from, u64 to, unsigned level);
/* Every @step-th chunk is found on disk, and nothing but it. */
void check_disk(struct world *w, u64 from, u64 to, u64 step);
/* Misses make it load; enough of them all that fits. */
void load_all(struct world *w);

#endif
