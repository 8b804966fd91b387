/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to snapshots after their commit: they are labelled, forgotten
 * and undeleted; and the policy that says which ones to forget.
 *
 *              forget                      purge
 *    listed -----------> forgotten ------------------> (no row)
 *       ^                    |      once anything was condemned since
 *       '--------------------'
 *          undelete, as long as nothing was
 *
 * A forgotten snapshot keeps its row and its record. What catalog_snapshot()
 * and catalog_each_snapshot() show are the listed ones, and those are roots.
 *
 * Files of the data pool that go with a change are written by the caller's
 * callback, inside the transaction, so that their order is that of
 * docs/design/protocol.md; callbacks must not call the catalog.
 */
#ifndef CATALOG_RETENTION_H
#define CATALOG_RETENTION_H

#include "catalog/catalog.h"
#include "format/format_label.h"
#include "format/format_rulebook.h"
#include "os/clock.h"

/*
 * What time it is. The age of a pool is a clock that no wall clock can push
 * forward: within one boot of the machine it goes as the kernel's clock does,
 * and across boots by what the wall clock says, but at most by
 * CATALOG_BOOT_STEP_SEC. It may be late, never early.
 */
#define CATALOG_BOOT_STEP_SEC ((u64)7 * 24 * 3600)
struct catalog_now {
	s64 wall_sec;
	u64 age_sec;
};
/* @now NULL: clock_read(). The first moves the clock on, as every commit and
 * every other change of this page does; the second writes nothing. */
int catalog_pass_time(struct catalog *c, const struct clock_reading *now,
		      struct catalog_now *out, struct akin_diag *diag)
	__must_check;
int catalog_now(struct catalog *c, const struct clock_reading *now,
		struct catalog_now *out, struct akin_diag *diag) __must_check;
/* @l may be NULL. */
bool catalog_is_protected(const struct label *l, const struct catalog_now *now);

struct catalog_status {
	u64 forgotten_txn;	/* 0: it is listed */
	s64 forgotten_sec;
	bool may_undelete;
	const struct label *label;	/* NULL: it has none */
};
enum catalog_which { CATALOG_LISTED, CATALOG_FORGOTTEN, CATALOG_UNKNOWN };
/* As catalog_each_snapshot(). What the record says of tags counts only if there
 * is no label. All is borrowed during the call. */
int catalog_each_status(struct catalog *c, enum catalog_which which,
			int (*fn)(void *ctx, const struct snapshot *s,
				  const struct catalog_status *st),
			void *ctx, struct akin_diag *diag) __must_check;
/* The same for one; -AKIN_E_snap_unknown. */
int catalog_status_of(struct catalog *c, enum catalog_which which, u64 number,
		      int (*fn)(void *ctx, const struct snapshot *s,
				const struct catalog_status *st),
		      void *ctx, struct akin_diag *diag) __must_check;
/* What the catalog knows of a number. */
int catalog_standing(struct catalog *c, u64 number, enum catalog_which *out,
		     struct akin_diag *diag) __must_check;

/*
 * Change the label of a listed snapshot. @change gets the one it has, or one
 * made from the record, to change in place; then @write makes the new one
 * durable in the data pool; then it is committed. A crash or an error between
 * the two leaves the data pool ahead of the catalog, which is right again with
 * the next change. -AKIN_E_snap_unknown.
 */
struct catalog_label_ops {
	/* Positive: leave it as it is. */
	int (*change)(void *ctx, const struct catalog_now *now,
		      struct label *l, struct akin_diag *diag);
	int (*write)(void *ctx, u64 number, const struct buf *bytes,
		     struct akin_diag *diag);
	void *ctx;
};
int catalog_change_label(struct catalog *c, u64 number,
			 const struct clock_reading *now,
			 const struct catalog_label_ops *ops,
			 struct akin_diag *diag) __must_check;

/* Forgetting: one transaction, which fits the preallocated journal. */
#define CATALOG_FORGET_MAX 64
enum catalog_outcome {
	FORGET_DONE,
	FORGET_ABSENT,		/* not listed (any more) */
	FORGET_PROTECTED,
	FORGET_CHANGED,		/* its label is younger than the caller's view */
};
struct catalog_forget {
	u64 number;
	enum catalog_outcome outcome;	/* set on return 0 */
};
/*
 * Up to CATALOG_FORGET_MAX snapshots; those with a label of a transaction above
 * @as_of stay. With @all, if one stays all stay, and the outcomes say why. The
 * caller then calls catalog_bury().
 */
int catalog_forget(struct catalog *c, struct catalog_forget *rows, u32 nr,
		   u64 as_of, bool all, const struct clock_reading *now,
		   struct akin_diag *diag) __must_check;
/*
 * Call @bury with those of @numbers (up to CATALOG_FORGET_MAX) that are still
 * forgotten, under the write lock; changes nothing else.
 */
int catalog_bury(struct catalog *c, const u64 *numbers, u32 nr,
		 int (*bury)(void *ctx, const u64 *numbers, u32 nr,
			     struct akin_diag *diag),
		 void *ctx, struct akin_diag *diag) __must_check;
/*
 * Make a forgotten snapshot listed again; @revive voids its tombstone, durably,
 * before. -AKIN_E_snap_unknown if it is not forgotten, -AKIN_E_snap_reclaimed
 * if anything was condemned since it was: its data may be among that. Counts
 * as a new root.
 */
int catalog_undelete(struct catalog *c, u64 number,
		     int (*revive)(void *ctx, u64 number,
				   struct akin_diag *diag),
		     void *ctx, struct akin_diag *diag) __must_check;
/* Forgotten snapshots, ascending, that can no longer be undeleted if
 * @reclaimed, else all. */
int catalog_each_forgotten(struct catalog *c, bool reclaimed,
			   int (*fn)(void *ctx, u64 number), void *ctx,
			   struct akin_diag *diag) __must_check;
/* Drop the rows of one that can no longer be undeleted, unless a living session
 * pins it; its files are for the caller to remove, if *purged_ret. */
int catalog_purge(struct catalog *c, u64 number, bool *purged_ret,
		  struct akin_diag *diag) __must_check;

/* The policy: rules as text, for others to make sense of. */
#define CATALOG_RULE_MAX 64
#define CATALOG_RULES_MAX 1024
struct catalog_rule {
	const char *rule;	/* shorter than CATALOG_RULE_MAX */
	const char *value;	/* at most SNAPSHOT_STRING_MAX bytes */
};
/* Makes the rules, all of them, durable in the data pool; @book is borrowed. */
typedef int (*catalog_book_fn)(void *ctx, const struct rulebook *book,
			       struct akin_diag *diag);
/* Replaces what there is; none clears it. @write may be NULL; it comes before
 * the commit, and a crash or an error between the two leaves the data pool
 * ahead of the catalog. */
int catalog_set_policy(struct catalog *c, const struct catalog_rule *rules,
		       u32 nr, catalog_book_fn write, void *ctx,
		       struct akin_diag *diag) __must_check;
/* Call @write with the rules as they are, under the write lock; the second only
 * reads, in one transaction. */
int catalog_copy_policy(struct catalog *c, catalog_book_fn write, void *ctx,
			struct akin_diag *diag) __must_check;
int catalog_look_policy(struct catalog *c, catalog_book_fn look, void *ctx,
			struct akin_diag *diag) __must_check;
/* In one transaction, with the handle's mutex held: @fn must not call the
 * catalog. Ordered by rule, then value. */
int catalog_each_rule(struct catalog *c,
		      int (*fn)(void *ctx, const struct catalog_rule *rule),
		      void *ctx, struct akin_diag *diag) __must_check;

#endif
