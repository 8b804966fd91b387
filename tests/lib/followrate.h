/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What following and hooks find of what an exact index finds.
 *
 * Each source is backed up twice: into a pool whose index fits in memory, and
 * into one that is padded with made-up fingerprints, of which memory holds one
 * in 64 (the hooks), with 1 MiB for directories. What the second one stores,
 * and the first one does not, it has missed.
 *
 * Not thread safe.
 */
#ifndef FOLLOWRATE_H
#define FOLLOWRATE_H

#include "akin/akin.h"
#include "base/types.h"

struct disk;

#define FOLLOWRATE_HOOKS_LOG2 6
#define FOLLOWRATE_DIRECTORIES (1u << 20)

struct followrate_source {
	const char *name;
	u64 bytes;
	/* Exactly @n bytes from @off on. */
	int (*fill)(void *ctx, u64 off, void *data, size_t n);
	void *ctx;
};

/* Of one source; the second pool's unless it says exact. */
struct followrate {
	u64 bytes, chunks;
	u64 new_exact, new_chunks;
	u64 new_exact_bytes, new_bytes;
	u64 index_pages;	/* read of the index, 4 KiB each */
	u64 meta_reads;		/* operations; those of the index included */
	u64 data_reads;		/* directories, bases */
};

struct followrate_setup {
	/* Handles on the first or the @padded pool's disks; they are closed. */
	int (*disks)(void *ctx, bool padded, struct disk **meta,
		     struct disk **data, struct akin_diag *diag);
	void *ctx;
	struct akin_init_options init;	/* of both; no paths */
	u32 pad_factor;		/* fingerprints for each one of the sources' */
	u32 threads;
	size_t exact_memory;	/* --memory of the first pool */
};

/* Makes the pools; @out has room for @nr. */
int followrate_run(const struct followrate_setup *setup,
		   const struct followrate_source *sources, u32 nr,
		   struct followrate *out, struct akin_diag *diag)
	__must_check;

/* Of the duplicates of the exact index, how many were found. */
static inline double followrate_share(const struct followrate *r)
{
	u64 dups = r->chunks - r->new_exact;

	return dups ? 1 - (double)(s64)(r->new_chunks - r->new_exact) /
			  (double)dups : 1;
}

#endif
