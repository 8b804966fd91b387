/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When each container was last read in full, and what came of it. Who reads
 * all of a pool piece by piece goes by that.
 *
 * A row counts for the generation that was read; another one has not been.
 * Losing rows costs reading again, nothing else.
 *
 * Thread safety: as catalog.h.
 */
#ifndef CATALOG_SCRUB_H
#define CATALOG_SCRUB_H

#include "catalog/catalog.h"

struct catalog_scrub {
	u64 container;
	u32 generation;
	u32 nr_bad;		/* chunks that could not be had, and sectors
				 * that were damaged */
	s64 sec;		/* since 1970; when it was read */
};

/* Replaces what was known of these containers. In several transactions: if one
 * fails, what the earlier ones did stays. Where space is short, no space is an
 * error, and what is kept for reclaiming is left alone. */
int catalog_note_scrubs(struct catalog *c, const struct catalog_scrub *rows,
			u32 nr, struct akin_diag *diag) __must_check;

/* The order in which containers are due. Zeroed, with the start of the run. */
struct catalog_scrub_cursor {
	s64 start_sec;		/* who was read since is done */
	u64 after;		/* of those never read, up to here all are */
	bool all_were_read;	/* once, at least */
};

/*
 * The next containers to read, at most @cap: those never read by number, then
 * those read longest ago, at last those that claim to have been read after
 * tomorrow (a clock was wrong). Nothing condemned. 0 rows: all is done. What
 * was returned must be noted before the next call.
 */
int catalog_scrub_due(struct catalog *c, struct catalog_scrub_cursor *cur,
		      struct catalog_container *out, u32 cap, u32 *nr_ret,
		      struct akin_diag *diag) __must_check;

/* The next containers behind @after of which something was bad. */
int catalog_read_badly(struct catalog *c, u64 after,
		       struct catalog_container *out, u32 cap, u32 *nr_ret,
		       struct akin_diag *diag) __must_check;

struct catalog_scrub_totals {
	u64 nr_never, bytes_never;	/* containers, and their files */
	u64 nr_bad;			/* containers with anything bad */
	s64 oldest_sec;			/* of those that were read; 0: none */
};
int catalog_scrub_totals(struct catalog *c, struct catalog_scrub_totals *out,
			 struct akin_diag *diag) __must_check;

/* Rows of containers that are gone; in batches. */
int catalog_drop_stale_scrubs(struct catalog *c, struct akin_diag *diag)
	__must_check;

#endif
