/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the catalog share: a scripted backup in steps, and the
 * catalog's whole content as bytes that can be compared.
 */
#ifndef CATALOG_CASES_H
#define CATALOG_CASES_H

#include "catalog/catalog.h"
#include "simdisk.h"

extern const struct pool_id case_pool;

/* A new machine with a catalog on it; asserts that this works. */
struct simdisk *case_disk(void);
/* Open with a short patience. */
int case_open(struct disk *d, bool read_only, struct catalog **out,
	      struct akin_diag *diag) __must_check;

/* A session of host and paths called @key. */
void case_session(struct catalog_session *out, const char *key);
/* The snapshot that @s may commit; its strings are static. With @large its
 * record takes 28 pages. */
void case_snapshot(struct snapshot *out, const struct catalog_session *s,
		   bool large);

/* One scripted backup: begin, reserve twice, two checkpoints, commit. */
enum { CASE_STEPS = 6 };
struct case_backup {
	const char *key;
	bool large;		/* the snapshot */
	struct catalog_session session;
	u64 first_container, first_run;
};
/* Step 0 .. CASE_STEPS - 1, in order. */
int case_step(struct catalog *c, struct case_backup *b, int step,
	      struct akin_diag *diag) __must_check;

/* Every row, and the newest transaction's number, appended to @out. */
int case_dump(struct catalog *c, struct buf *out, struct akin_diag *diag)
	__must_check;

#endif
