/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building directory listings, depth first: begin a directory, add its nodes
 * in the order of their names, end it and get the content that names its
 * listing; that content goes into the node of the directory, which is added
 * to the directory above.
 *
 * A listing is cut into pieces between records, by the names' checksums, so
 * that a changed name changes one piece. Memory: one piece a level in use.
 */
#ifndef TREE_BUILDER_H
#define TREE_BUILDER_H

#include "format/format_tree.h"
#include "recipe/recipe_builder.h"

struct tree_builder;

int tree_builder_new(piece_store_fn *store, void *ctx,
		     struct tree_builder **out, struct akin_diag *diag)
	__must_check;
void tree_builder_free(struct tree_builder *tb);

int tree_builder_begin(struct tree_builder *tb, struct akin_diag *diag)
	__must_check;
/* Names must ascend. @hint: the containers node->content's parts live in. */
int tree_builder_add(struct tree_builder *tb, const struct node *n,
		     const struct hint *hint, struct akin_diag *diag)
	__must_check;
/* *hint is added to. */
int tree_builder_end(struct tree_builder *tb, struct content *out,
		     struct hintset *hint, struct akin_diag *diag)
	__must_check;
u32 tree_builder_depth(const struct tree_builder *tb);

#endif
