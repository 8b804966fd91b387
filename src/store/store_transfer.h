/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot's tree on its way into a new snapshot: of another pool (copy),
 * or of the same (rewrite), then without some paths.
 *
 * A walk over the old tree feeds a backup. What the other side has already is
 * taken from there unread: the content of the same file in the snapshot that
 * was copied before. What it does not have is read and cut there anew, by the
 * same rules, so that chunks that are known are found. In the same pool nothing
 * is read: contents are taken as they are.
 */
#ifndef STORE_TRANSFER_H
#define STORE_TRANSFER_H

#include "restore/fetcher.h"
#include "store/store_backup.h"
#include "store/store_sound.h"
#include "tree/tree_walk.h"

/* A directory on the way, and the same one of the other side's snapshot. */
struct transfer_dir {
	struct transfer_dir *up;
	struct backup_token *token;	/* its node; NULL: the root */
	struct tree_reader *parent;	/* NULL: it has none */
	const struct node *peek;	/* one ahead */
	const struct hint *peek_hint;
};

struct transfer {
	struct akin_pool *from;
	struct backup *b;		/* to; of @from itself: nothing is read */
	struct snapshot snap;		/* what is transferred */
	char **tags;			/* that it has now */
	u32 nr_tags;
	struct catalog_now now;
	bool is_protected;
	bool same_keys;
	const char *const *drop;	/* paths, each with a '/' in front and
					 * none behind */
	u32 nr_drop;
	u64 nr_dropped;			/* nodes at such paths */

	struct snapshot parent;		/* of the other side */
	bool have_parent;
	struct store_soundness *sound;
	struct fetcher *fetcher;
	struct transfer_dir *top;
};

/* @t zeroed, but for from: reads the snapshot and its tags. */
int transfer_load(struct transfer *t, u64 number, struct akin_diag *diag)
	__must_check;
/* From backup_begin() to the commit: @t->b has begun. The new snapshot gets
 * the old one's time, names and counts of what was not read. */
int transfer_run(struct transfer *t, struct akin_diag *diag) __must_check;
/* In any state. */
void transfer_release(struct transfer *t);

#endif
