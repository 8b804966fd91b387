/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round of the scrub: which containers, and for how long.
 *
 * They are taken in batches: within one in the order of their numbers, because
 * bases come first; what is due next is asked after the batch has been noted,
 * so that rounds of two processes share the work rather than repeat it.
 */
#include <stdlib.h>

#include "os/clock.h"
#include "verify/verify_internal.h"

/* 8 containers are 64 MiB, a second of a slow disk: a budget of time is kept
 * to about that. */
#define BATCH 8

static int compare_rows(const void *a, const void *b)
{
	const struct catalog_container *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* How many of @nr rows to read yet; the first of a round in any case. */
static u32 affordable(const struct verify *v,
		      const struct catalog_container *rows, u32 nr,
		      u64 start_ns)
{
	const struct verify_options *opt = v->opt;
	u64 bytes = v->progress.bytes;
	u32 i;

	if (opt->budget_ns && v->progress.containers &&
	    clock_ns() - start_ns >= opt->budget_ns)
		return 0;
	for (i = 0; opt->budget_bytes && i < nr; i++) {
		if (bytes >= opt->budget_bytes)
			return i;
		bytes += rows[i].file_bytes;
	}
	return nr;
}

int verify_scrub(struct verify *v, struct akin_diag *diag)
{
	struct catalog_container rows[BATCH];
	struct catalog_scrub_cursor cur = { 0 };
	u64 start_ns = clock_ns();
	u32 nr, nsec;
	int err;

	v->progress.current = "containers";
	clock_wall(&cur.start_sec, &nsec);
	for (;;) {
		/* Without notes there is only one way through. */
		if (cur.all_were_read && (!v->opt->may_mark || v->unnoted))
			return 0;
		err = catalog_scrub_due(v->catalog, &cur, rows, BATCH, &nr,
					diag);
		if (err)
			return err;
		nr = affordable(v, rows, nr, start_ns);
		if (!nr)
			return 0;
		qsort(rows, nr, sizeof(*rows), compare_rows);
		err = verify_these(v, rows, nr, diag);
		if (!err)
			err = verify_flush_marks(v, diag);
		if (err)
			return err;
	}
}
