/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a stored tree depth first, names ascending.
 *
 * Depth costs heap, not stack. Memory: one reader for each level.
 */
#ifndef TREE_WALK_H
#define TREE_WALK_H

#include "tree/tree_reader.h"

struct tree_walk;

enum tree_event {
	TREE_NODE = 1,	/* a node; a directory is entered by the next call */
	TREE_LEAVE,	/* the directory at @path has been walked */
};

/* Borrowed until the next call. */
struct tree_step {
	enum tree_event event;
	const char *path;	/* @base, then "/name" for each level */
	const struct node *node;	/* NODE */
	const struct hint *hint;	/* NODE: of its content */
	u32 depth;		/* of the node: 1 = in the directory walked */
};

/* The listing @listing, whose own path is @base ("" for the root). */
int tree_walk_open(struct depot *d, struct decoder *dec,
		   const struct content *listing, const struct hint *hint,
		   const char *base, struct tree_walk **out,
		   struct akin_diag *diag) __must_check;
void tree_walk_close(struct tree_walk *w);
/* 1 and a step, 0 at the end, or an error: then the walk may go on behind the
 * directory that could not be read (which is left). */
int tree_walk_next(struct tree_walk *w, struct tree_step *out,
		   struct akin_diag *diag) __must_check;
/* Do not enter the directory just returned; there is no LEAVE for it. */
void tree_walk_skip(struct tree_walk *w);
/* For all listings entered from now on; see tree_reader_on_piece. */
void tree_walk_on_piece(struct tree_walk *w, recipe_piece_fn *fn, void *ctx);

#endif
