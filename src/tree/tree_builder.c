/* SPDX-License-Identifier: Apache-2.0 */
#include <xxhash.h>

#include "base/mem.h"
#include "tree/tree_builder.h"

/*
 * A record is about 60 bytes, so a piece of 8 KiB holds some hundred names:
 * small enough that one changed file costs little, large enough that a
 * listing is not mostly fingerprints.
 */
#define PIECE_MIN 2048
#define PIECE_MAX 32768
#define PIECE_CUT 64		/* one name in so many ends a piece */
/*
 * A record with very many attributes is split, whatever it holds. Not smaller
 * than an attribute can be: two pieces in a row are then never equal, and a
 * listing has no repetitions.
 */
#define PIECE_SPLIT (64 * 1024)
static_assert(PIECE_SPLIT >= PIECE_MAX, "pieces are cut before they are split");
static_assert(PIECE_SPLIT >= NODE_XATTR_VALUE_MAX, "no two equal in a row");
static_assert(PIECE_SPLIT <= RECIPE_PIECE_MAX, "a piece fits a group");

/* Levels kept for reuse when a directory ends. */
#define LEVELS_KEPT 16

struct tree_level {
	struct buf piece;
	struct hintset hint;
	struct recipe_builder recipe;
	char last_name[NODE_NAME_MAX + 1];
};

struct tree_builder {
	piece_store_fn *store;
	void *ctx;
	struct tree_level **levels;
	u32 depth, cap;
};

int tree_builder_new(piece_store_fn *store, void *ctx,
		     struct tree_builder **out, struct akin_diag *diag)
{
	struct tree_builder *tb = mem_zalloc(sizeof(*tb));

	if (!tb)
		return diag_set(diag, -AKIN_E_nomem, "tree");
	tb->store = store;
	tb->ctx = ctx;
	*out = tb;
	return 0;
}

static void level_free(struct tree_level *l)
{
	if (!l)
		return;
	buf_release(&l->piece);
	hintset_release(&l->hint);
	recipe_builder_release(&l->recipe);
	mem_free(l);
}

void tree_builder_free(struct tree_builder *tb)
{
	u32 i;

	if (!tb)
		return;
	for (i = 0; i < tb->cap; i++)
		level_free(tb->levels[i]);
	mem_free(tb->levels);
	mem_free(tb);
}

u32 tree_builder_depth(const struct tree_builder *tb)
{
	return tb->depth;
}

int tree_builder_begin(struct tree_builder *tb, struct akin_diag *diag)
{
	struct tree_level **p, *l;
	u32 cap;

	if (tb->depth == tb->cap) {
		cap = tb->cap ? tb->cap * 2 : 8;
		p = mem_realloc(tb->levels, cap * sizeof(*p));
		if (!p)
			return diag_set(diag, -AKIN_E_nomem, "tree");
		memset(p + tb->cap, 0, (cap - tb->cap) * sizeof(*p));
		tb->levels = p;
		tb->cap = cap;
	}
	l = tb->levels[tb->depth];
	if (!l) {
		l = mem_zalloc(sizeof(*l));
		if (!l)
			return diag_set(diag, -AKIN_E_nomem, "tree");
		recipe_builder_init(&l->recipe, tb->store, tb->ctx);
		tb->levels[tb->depth] = l;
	}
	l->last_name[0] = 0;
	tb->depth++;
	return 0;
}

/* Store @n bytes from the front of the level's buffer as one piece. */
static int store_piece(struct tree_builder *tb, struct tree_level *l, size_t n,
		       struct akin_diag *diag)
{
	struct buf bytes = { .data = l->piece.data, .len = n, .cap = n };
	struct recipe_entry e = { .type = RECIPE_CHUNK, .len = n, .count = 1 };
	u64 container;
	int err;

	if (l->hint.failed)
		return diag_set(diag, -AKIN_E_nomem, "hint");
	err = tb->store(tb->ctx, &bytes, &l->hint.hint, &e.fp, &container,
			diag);
	if (!err)
		err = recipe_builder_add(&l->recipe, &e, container, diag);
	if (err)
		return err;
	memmove(l->piece.data, l->piece.data + n, l->piece.len - n);
	l->piece.len -= n;
	if (l->piece.len == 0)
		hintset_reset(&l->hint);
	return 0;
}

int tree_builder_add(struct tree_builder *tb, const struct node *n,
		     const struct hint *hint, struct akin_diag *diag)
{
	struct tree_level *l = tb->levels[tb->depth - 1];
	size_t name_len = strlen(n->name);
	int err;

	if (l->last_name[0] && node_name_compare(l->last_name, n->name) >= 0)
		return diag_set(diag, -AKIN_E_bad_order,
				"listing: names out of order");
	err = node_encode(n, &l->piece);
	if (err)
		return diag_set(diag, err, "node: %s", akin_strerror(err));
	memcpy(l->last_name, n->name, name_len + 1);
	if (hint)
		hintset_add_all(&l->hint, hint);
	while (l->piece.len > PIECE_SPLIT) {
		err = store_piece(tb, l, PIECE_SPLIT, diag);
		if (err)
			return err;
	}
	if (l->piece.len >= PIECE_MAX ||
	    (l->piece.len >= PIECE_MIN &&
	     XXH3_64bits(n->name, name_len) % PIECE_CUT == 0))
		return store_piece(tb, l, l->piece.len, diag);
	return 0;
}

int tree_builder_end(struct tree_builder *tb, struct content *out,
		     struct hintset *hint, struct akin_diag *diag)
{
	struct tree_level *l = tb->levels[tb->depth - 1];
	int err = 0, err2;

	if (l->piece.len)
		err = store_piece(tb, l, l->piece.len, diag);
	err2 = recipe_builder_finish(&l->recipe, out, hint, diag);
	tb->depth--;
	if (tb->depth >= LEVELS_KEPT) {
		level_free(l);
		tb->levels[tb->depth] = NULL;
	} else {
		buf_reset(&l->piece);
		hintset_reset(&l->hint);
	}
	return err ? err : err2;
}
