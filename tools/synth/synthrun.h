/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index runs of any size, from nothing.
 *
 * For what memory and speed are in pools that would take days to fill. The
 * i-th fingerprint and its place are functions of a seed, so nothing is kept:
 * a run of 100 million entries is written in a minute, within 2 MiB.
 *
 * Fingerprints are spread evenly (one at random in each of n equal parts of
 * the range) and their levels are exact halves; real ones vary a little.
 */
#ifndef SYNTHRUN_H
#define SYNTHRUN_H

#include "index/index.h"

struct synthrun {
	u64 seed;
	u64 nr;
	/* Places: that many in each container from this one on. */
	u64 first_container;
	u32 nr_per_container;	/* below CONTAINER_MAX_ENTRIES */
};

/* @i < s->nr. */
void synthrun_get(const struct synthrun *s, u64 i, struct fp *fp,
		  struct place *at);
/* Write them as run @number, synced; *out is its line of the manifest. */
int synthrun_write(const struct synthrun *s, struct disk *meta,
		   const struct pool_id *pool, u64 number, u32 tier,
		   struct index_run *out, struct akin_diag *diag) __must_check;

#endif
