/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading one directory's listing, node by node, in the order of the names.
 * Memory: one piece and one record.
 */
#ifndef TREE_READER_H
#define TREE_READER_H

#include "format/format_tree.h"
#include "recipe/recipe_reader.h"

struct tree_reader;

int tree_reader_open(struct depot *d, struct decoder *dec,
		     const struct content *listing, const struct hint *hint,
		     struct tree_reader **out, struct akin_diag *diag)
	__must_check;
void tree_reader_close(struct tree_reader *r);

/*
 * 1 and the next node, 0 at the end, or an error. *node_ret and *hint_ret (of
 * the node's content) are borrowed until the next call.
 */
int tree_reader_next(struct tree_reader *r, const struct node **node_ret,
		     const struct hint **hint_ret, struct akin_diag *diag)
	__must_check;
/* Called for every piece of the listing and of its recipe. */
void tree_reader_on_piece(struct tree_reader *r, recipe_piece_fn *fn,
			  void *ctx);

#endif
