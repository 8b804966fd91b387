/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading recipes: the entries of a content, in order.
 *
 * Walks the tree of pieces depth first; memory is one piece a level. Every
 * piece is checked against its fingerprint, its level against the level its
 * parent says, its bytes against the parent's sum.
 */
#ifndef RECIPE_READER_H
#define RECIPE_READER_H

#include "depot/depot.h"
#include "format/format_recipe.h"

struct recipe_reader;

/* @ct and @hint are copied; @dec is borrowed. */
int recipe_reader_open(struct depot *d, struct decoder *dec,
		       const struct content *ct, const struct hint *hint,
		       struct recipe_reader **out, struct akin_diag *diag)
	__must_check;
void recipe_reader_close(struct recipe_reader *r);

/*
 * The next entries of one leaf: 1 and *nr_ret of them, 0 at the
 * end, or an error. *hint_ret is the leaf's hint. Both are borrowed until the
 * next call.
 */
int recipe_reader_next(struct recipe_reader *r,
		       const struct recipe_entry **entries_ret, u32 *nr_ret,
		       const struct hint **hint_ret, struct akin_diag *diag)
	__must_check;
/*
 * Go on at byte @off: the next entries are those from the one that holds it;
 * *skip_ret = bytes of it that lie before. Beyond the end: the end.
 */
int recipe_reader_seek(struct recipe_reader *r, u64 off, u64 *skip_ret,
		       struct akin_diag *diag) __must_check;

/* Called for every leaf and node on the way (check, marking): its
 * fingerprint. A non-zero return ends the walk with it. */
typedef int recipe_piece_fn(void *ctx, const struct fp *fp,
			    struct akin_diag *diag);
void recipe_reader_on_piece(struct recipe_reader *r, recipe_piece_fn *fn,
			    void *ctx);

#endif
