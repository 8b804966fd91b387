/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling a new catalog with what was found in the data pool
 * (docs/design/repair.md). For one who is alone with it: nobody else may open
 * the pool before it is done.
 *
 * Rows are believed as far as they go together; what a container or a record
 * says was checked by whoever read it. Thread safety and errors as in
 * catalog.h.
 */
#ifndef CATALOG_REBUILD_H
#define CATALOG_REBUILD_H

#include "catalog/catalog.h"
#include "format/format_label.h"

/* Numbers that were found somewhere, and will not be given out again. */
struct catalog_least {
	u64 txn, container, run, session, snapshot;
};
/* Those that are higher already stay. -AKIN_E_usage above CATALOG_NUMBER_MAX. */
int catalog_raise_numbers(struct catalog *c, const struct catalog_least *least,
			  struct akin_diag *diag) __must_check;

struct catalog_found {
	struct catalog_container row;	/* .condemned_txn 0 */
	u32 last_generation;		/* of which any file was found */
};
/* In one transaction; a few thousand at a time is best. -AKIN_E_exists. */
int catalog_add_found(struct catalog *c, const struct catalog_found *rows,
		      u32 nr, struct akin_diag *diag) __must_check;

struct catalog_record {
	const struct snapshot *snapshot;	/* borrowed, all */
	const struct label *label;		/* NULL: it has none */
	bool forgotten;		/* may be undeleted */
	s64 forgotten_sec;
};
/* Counts as a new root. -AKIN_E_exists. */
int catalog_add_record(struct catalog *c, const struct catalog_record *rec,
		       struct akin_diag *diag) __must_check;

#endif
