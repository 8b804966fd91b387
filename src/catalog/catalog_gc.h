/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reclaiming, as the catalog sees it: what is condemned, which generations of
 * a container there are, and who revives what. docs/design/protocol.md has the
 * protocol, docs/design/reclaim.md what is made of it.
 *
 * A container's row names its *current* generation. Others that are still named
 * have rows of their own, all condemned. Of what is visible to somebody (not
 * condemned, or condemned above the number @view that he has locked and then
 * read), the oldest generation holds whatever the later ones hold: see
 * catalog_visible().
 *
 * Every change here touches CATALOG_BATCH containers at most, so that it fits
 * the preallocated journal and works on a full disk. Thread safety and errors
 * as in catalog.h.
 */
#ifndef CATALOG_GC_H
#define CATALOG_GC_H

#include "catalog/catalog.h"

#define CATALOG_BATCH 48

/*
 * The generation of container @number to read for who has looked at the catalog
 * at @view: the oldest that is not condemned at or below that. *out has its
 * file's figures. -AKIN_E_absent if there is none (any more).
 */
int catalog_visible(struct catalog *c, u64 number, u64 view,
		    struct catalog_container *out, struct akin_diag *diag)
	__must_check;

/* The last transactions, and the last container number given out. */
struct catalog_numbers {
	u64 txn;
	u64 root_txn;		/* that added a root */
	u64 condemn_txn;	/* that condemned anything */
	u64 last_container;
};
int catalog_numbers(struct catalog *c, struct catalog_numbers *out,
		    struct akin_diag *diag) __must_check;

/* Snapshots whose trees are roots: those listed, and forgotten ones that a
 * living session takes from. Ascending; borrowed during the call. */
int catalog_each_root(struct catalog *c,
		      int (*fn)(void *ctx, const struct snapshot *s),
		      void *ctx, struct akin_diag *diag) __must_check;

/* @session takes whole trees from @snapshot, which stays a root for as long as
 * it lives. -AKIN_E_snap_unknown if the snapshot is not listed (any more). */
int catalog_pin(struct catalog *c, u64 session, u64 snapshot,
		struct akin_diag *diag) __must_check;

/* A generation that replaces the current one, if that is still @from and not
 * condemned. */
struct catalog_switch {
	u64 number;
	u32 from, to;
	u64 file_bytes, dir_off, raw_bytes;
	u32 dir_len, nr_entries;
	bool done;		/* out */
};

/*
 * The condemn transaction: @numbers (those still not condemned), and what
 * @switches replace; both together CATALOG_BATCH at most. *txn_ret is its
 * number. If a root was added after @marked nothing is done: *grown_ret.
 */
int catalog_condemn(struct catalog *c, u64 marked, const u64 *numbers, u32 nr,
		    struct catalog_switch *switches, u32 nr_switches,
		    u64 *txn_ret, bool *grown_ret, struct akin_diag *diag)
	__must_check;

/* Number for a new generation of each of @numbers (CATALOG_BATCH at most),
 * never given out again. 0: no such container (any more). */
int catalog_reserve_generations(struct catalog *c, const u64 *numbers, u32 nr,
				u32 *out, struct akin_diag *diag) __must_check;

struct catalog_generation {
	u64 container;
	u32 generation;
	u64 file_bytes;
	u64 condemned_txn;
};

/*
 * Up to CATALOG_BATCH of what is still condemned, by transactions up to @upto,
 * loses its name; *nr_ret of them in @out, 0 at the end. The files are the
 * caller's to remove.
 */
int catalog_unname(struct catalog *c, u64 upto,
		   struct catalog_generation out[CATALOG_BATCH], u32 *nr_ret,
		   struct akin_diag *diag) __must_check;

/* The generations besides the current ones. Callbacks as in catalog.h. */
int catalog_each_generation(struct catalog *c,
			    int (*fn)(void *ctx,
				      const struct catalog_generation *g),
			    void *ctx, struct akin_diag *diag) __must_check;
/* Does the catalog name this file, current or not? */
int catalog_names_file(struct catalog *c, u64 container, u32 generation,
		       bool *out, struct akin_diag *diag) __must_check;

/* Does it have a row, listed or forgotten? */
int catalog_has_snapshot(struct catalog *c, u64 number, bool *out,
			 struct akin_diag *diag) __must_check;

/* What interrupted sessions left stops being a root; *nr_ret of them. */
int catalog_drop_interrupted(struct catalog *c, u32 *nr_ret,
			     struct akin_diag *diag) __must_check;
/* Marks of damage in containers that are gone. */
int catalog_drop_stale_damage(struct catalog *c, struct akin_diag *diag)
	__must_check;

/*
 * Who revives, in its checkpoint or commit, what it matched or stands on and
 * what has been condemned since @view. Only what somebody uses is looked at.
 */
struct catalog_reviver {
	u64 view;
	bool (*uses)(void *ctx, u64 container);
	/* Tell @fn the containers that groups of this generation refer to.
	 * Called inside the transaction; must not call the catalog. */
	int (*bases)(void *ctx, u64 container, u32 generation,
		     int (*fn)(void *call, u64 base), void *call,
		     struct akin_diag *diag);
	void *ctx;
};

#endif
