/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building recipes: entries in, the content of an object out.
 *
 * Leaves are cut by content: after an entry whose fingerprint ends a leaf
 * (1 in LEAF_CUT), within LEAF_MIN and LEAF_MAX entries; nodes likewise by
 * their children's fingerprints. So an insertion changes the leaves around it
 * and the path to the root, and nothing else. Up to CONTENT_INLINE_MAX
 * entries need no leaf.
 *
 * A builder is used for one object after the other, by one thread.
 */
#ifndef RECIPE_BUILDER_H
#define RECIPE_BUILDER_H

#include "format/format_recipe.h"
#include "recipe/hintset.h"

/*
 * Where pieces go: store @bytes under its metadata fingerprint unless it is
 * there already; *container_ret says where it is. @hint: of its children.
 */
typedef int piece_store_fn(void *ctx, const struct buf *bytes,
			   const struct hint *hint, struct fp *fp_ret,
			   u64 *container_ret, struct akin_diag *diag);

struct recipe_level;

struct recipe_builder {
	piece_store_fn *store;
	void *ctx;
	struct recipe_level *levels;	/* [0] = leaf under construction */
	u32 nr_levels;
	u64 bytes;
	/* Of the piece that is being stored, for the store function. */
	u32 piece_level;
	u64 piece_bytes;
	struct recipe_entry pending;	/* not yet in the leaf: may repeat */
	u64 pending_container;
	bool have_pending;
	u8 inline_data[RECIPE_INLINE_MAX];
};

void recipe_builder_init(struct recipe_builder *rb, piece_store_fn *store,
			 void *ctx);
void recipe_builder_release(struct recipe_builder *rb);

/*
 * Append. Equal chunks in a row become one REPEAT, holes in a row one HOLE.
 * INLINE data is copied and allowed only as the sole entry of an object.
 * @container: where the chunk lives, 0 if it lives nowhere.
 */
int recipe_builder_add(struct recipe_builder *rb, const struct recipe_entry *e,
		       u64 container, struct akin_diag *diag) __must_check;
/*
 * The object ends. *out borrows INLINE data until the next add. @hint (added
 * to): the containers that whoever stores *out must name as its hint. The
 * builder is empty again, also after an error.
 */
int recipe_builder_finish(struct recipe_builder *rb, struct content *out,
			  struct hintset *hint, struct akin_diag *diag)
	__must_check;

#endif
