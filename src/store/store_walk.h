/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of a tree backup: a stack of directories, each merged name by name
 * with the same directory of the parent snapshot.
 */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include "source/source.h"
#include "source/source_pattern.h"
#include "store/store_backup.h"
#include "store/store_sound.h"
#include "tree/tree_reader.h"

/* What was asked for, as components; sorted so that each directory's names
 * are together and ascend. */
struct walk_target {
	char *path;		/* absolute, owned */
	char **parts;		/* into @text */
	u32 nr_parts;
	char *text;
};

/* One directory being walked. */
struct walk_frame {
	struct walk_frame *up;
	/* Either all its names ... */
	struct source_dir *dir;
	/* ... or those that lead to targets [lo, hi), at component @depth. */
	u32 lo, hi, depth;
	struct backup_token *token;	/* its node; NULL for the root */
	u64 dev;			/* for --one-file-system */
	/* The parent snapshot's listing, one node ahead. */
	struct tree_reader *parent;
	const struct node *peek;
	const struct hint *peek_hint;
	bool peek_taken;	/* the source has this name, too */
	/* A file of the parent that the source does not have: a new name after
	 * it may be the same file's. */
	struct predecessor *gone;
};

struct walk {
	struct backup *b;
	struct source_walk *source;
	struct pattern_set *excludes;
	struct walk_target *targets;
	u32 nr_targets;
	struct walk_frame *top;
	struct snapshot parent;
	bool have_parent;
	struct store_soundness *sound;	/* with a parent, unless forced */
	u64 pool_dev[2], pool_ino[2];	/* never backed up into itself */
};

/* A listing's hint is that of all its files; one that is taken as it is needs
 * its own part. Replaces *out. */
int store_narrow_hint(struct akin_pool *p, const struct content *ct,
		      const struct hint *from, struct hint *out,
		      struct akin_diag *diag) __must_check;

/* The walk itself, after targets and parent are set. */
int walk_run(struct walk *w, struct akin_diag *diag) __must_check;
void walk_release(struct walk *w);

#endif
