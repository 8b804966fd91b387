/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run; shared by the files of optimize/.
 *
 * optimize.c        which snapshots, in what order; publishing
 * optimize_plan.c   what is made from what
 * optimize_fresh.c  the pool as if only new containers were there
 * optimize_tree.c   a snapshot's tree, beside its predecessor's
 * optimize_store.c  contents: pieces and chunks
 * optimize_kept.c   what the newest version may refer to
 *
 * O1. A piece of metadata is stored after all that it names has been stored or
 *     found fresh, and is published no earlier. So where a piece is fresh,
 *     nothing below it needs to be looked at.
 * O2. What is fresh refers to fresh containers only.
 */
#ifndef OPTIMIZE_INTERNAL_H
#define OPTIMIZE_INTERNAL_H

#include <pthread.h>

#include "base/numset.h"
#include "follow/follow.h"
#include "ingest/packer.h"
#include "optimize/optimize.h"
#include "recipe/hintset.h"

/* Containers of this run and of interrupted ones before it. */
struct fresh {
	pthread_mutex_t lock;	/* guards the set */
	struct numset set;
	const struct optimize_options *opt;
	struct depot depot;	/* that sees nothing else */
	bool have_depot;
	u64 last;		/* added; saves taking the lock */
};

int fresh_init(struct fresh *f, const struct optimize_options *opt,
	       struct akin_diag *diag) __must_check;
void fresh_release(struct fresh *f);
int fresh_add(struct fresh *f, u64 container) __must_check;

/* A piece of a recipe on the way down. */
struct piece_frame {
	struct recipe_piece piece;
	struct buf bytes;
	struct hint old_hint;
	struct hintset hint;
};

/* What an old group was made from. */
struct kept_group {
	u64 container;		/* 0: free */
	u32 group;		/* index in the container's directory */
	u32 nr;
	struct group_ref *refs;	/* owned */
};
#define KEPT_GROUPS 16

struct optimize {
	const struct optimize_options *opt;
	struct optimize_result *result;
	struct depot *old;
	struct depot *new;		/* fresh.depot */
	struct fresh fresh;
	struct session *session;
	struct packer data, meta;
	struct follow *follow;
	bool newest;		/* of a series: what is stored now */
	struct kept_group kept[KEPT_GROUPS];
	u32 kept_next;		/* the one to be replaced */
	u64 led;		/* container of data that has its first leaf */
	u64 bytes_total, said_ns, snapshots_total, snapshots_done;

	/* Of one leaf. */
	struct fp fps[RECIPE_LEAF_MAX];
	struct hash_item items[RECIPE_LEAF_MAX];
	struct dir_hit hits[RECIPE_LEAF_MAX];
	struct piece_frame frames[RECIPE_MAX_LEVEL + 1];
};

/* Report, and -AKIN_E_interrupted if asked to stop; a checkpoint if it is due.
 * Not while a piece is being built. */
int optimize_tick(struct optimize *o, struct akin_diag *diag) __must_check;
/* What is open is closed and sealed. */
int optimize_settle(struct optimize *o, struct akin_diag *diag) __must_check;

/* optimize_store.c --------------------------------------------------------*/

/* Where a piece of metadata is fresh; 0: nowhere. */
int optimize_find(struct optimize *o, const struct fp *fp, u64 *container_ret,
		  struct akin_diag *diag) __must_check;
/*
 * The content @ct and all that it names. @old_hint: of its children; those
 * where they are now are added to @hint. The predecessor has been told to
 * o->follow.
 */
int optimize_content(struct optimize *o, const struct content *ct,
		     const struct hint *old_hint, struct hintset *hint,
		     struct akin_diag *diag) __must_check;
/* Are all pieces that @ct itself names fresh? 1: they have been added to
 * @hint. */
int optimize_is_fresh(struct optimize *o, const struct content *ct,
		      struct hintset *hint, struct akin_diag *diag)
	__must_check;
/* A piece_store_fn; @ctx is the struct optimize. */
int optimize_store_piece(void *ctx, const struct buf *bytes,
			 const struct hint *hint, struct fp *fp_ret,
			 u64 *container_ret, struct akin_diag *diag);

/* optimize_kept.c ---------------------------------------------------------*/

/* Fresh places near which the chunk at @old lies, as the pool has known so far:
 * up to @max runs. */
u32 optimize_kept(struct optimize *o, const struct dir_hit *old,
		  struct group_ref *out, u32 max);
void optimize_kept_release(struct optimize *o);

/* optimize_tree.c ---------------------------------------------------------*/

/* All of @s, with @before (may be NULL) as its predecessor; where its root's
 * children are now is added to @hint. */
int optimize_tree(struct optimize *o, const struct snapshot *s,
		  const struct snapshot *before, struct hintset *hint,
		  struct akin_diag *diag) __must_check;

#endif
