/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipe builder: one level for each height of the tree, the leaf first.
 */
#include "base/mem.h"
#include "recipe/recipe_builder.h"

/*
 * Entries of a leaf and children of a node. Small leaves are shared more
 * often between versions, large ones cost less above them; a change touches
 * one leaf, so its size is what a change costs (48 entries: about 1.7 KB).
 */
#define PIECE_MIN 16
#define PIECE_CUT 32		/* one entry in so many ends a piece */
#define PIECE_MAX 128
static_assert(PIECE_MAX <= RECIPE_LEAF_MAX && PIECE_MAX <= RECIPE_NODE_MAX,
	      "format limits");

struct recipe_level {
	u32 nr;
	u64 bytes, entries;
	u64 container;		/* of the child added last, 0: nowhere */
	struct hintset hint;
	union {
		struct recipe_entry entry[PIECE_MAX];	/* level 0 */
		struct recipe_child child[PIECE_MAX];
	};
};

void recipe_builder_init(struct recipe_builder *rb, piece_store_fn *store,
			 void *ctx)
{
	memset(rb, 0, sizeof(*rb));
	rb->store = store;
	rb->ctx = ctx;
}

void recipe_builder_release(struct recipe_builder *rb)
{
	u32 i;

	for (i = 0; i < rb->nr_levels; i++)
		hintset_release(&rb->levels[i].hint);
	mem_free(rb->levels);
	memset(rb, 0, sizeof(*rb));
}

static void level_reset(struct recipe_level *l)
{
	l->nr = 0;
	l->bytes = 0;
	l->entries = 0;
	hintset_reset(&l->hint);
}

static int need_level(struct recipe_builder *rb, u32 level,
		      struct akin_diag *diag)
{
	struct recipe_level *p;

	if (level < rb->nr_levels)
		return 0;
	if (level > RECIPE_MAX_LEVEL)
		return diag_set(diag, -AKIN_E_too_large, "recipe too deep");
	p = mem_realloc(rb->levels, (level + 1) * sizeof(*p));
	if (!p)
		return diag_set(diag, -AKIN_E_nomem, "recipe");
	rb->levels = p;
	memset(&p[level], 0, sizeof(*p));
	rb->nr_levels = level + 1;
	return 0;
}

/* Encode and store what level @level holds; the level is empty afterwards. */
static int store_level(struct recipe_builder *rb, u32 level,
		       struct recipe_child *child, u64 *container_ret,
		       struct akin_diag *diag)
{
	struct recipe_level *l = &rb->levels[level];
	struct buf b = { 0 };
	int err;

	rb->piece_level = level;
	rb->piece_bytes = l->bytes;
	if (level == 0)
		err = recipe_leaf_encode(l->entry, l->nr, &b);
	else
		err = recipe_node_encode((u8)level, l->child, l->nr, &b);
	if (!err && l->hint.failed)
		err = -AKIN_E_nomem;
	if (err)
		err = diag_set(diag, err, "recipe: %s", akin_strerror(err));
	else
		err = rb->store(rb->ctx, &b, &l->hint.hint, &child->fp,
				container_ret, diag);
	child->bytes = l->bytes;
	child->entries = l->entries;
	level_reset(l);
	buf_release(&b);
	return err;
}

static bool fp_ends_piece(const struct fp *fp)
{
	/* Bytes that neither the index's prefix nor its sampling uses. */
	return fp->b[24] % PIECE_CUT == 0;
}

static bool level_is_full(const struct recipe_level *l, const struct fp *last)
{
	return l->nr >= PIECE_MAX ||
	       (l->nr >= PIECE_MIN && last && fp_ends_piece(last));
}

/* Put a stored piece into the level above, which may close in turn. */
static int add_child(struct recipe_builder *rb, u32 level,
		     struct recipe_child child, u64 container,
		     struct akin_diag *diag)
{
	struct recipe_level *l;
	int err;

	for (;;) {
		err = need_level(rb, level, diag);
		if (err)
			return err;
		l = &rb->levels[level];
		l->child[l->nr++] = child;
		l->bytes += child.bytes;
		l->entries += child.entries;
		l->container = container;
		hintset_add(&l->hint, container);
		if (!level_is_full(l, &child.fp))
			return 0;
		err = store_level(rb, level, &child, &container, diag);
		if (err)
			return err;
		level++;
	}
}

static int close_leaf(struct recipe_builder *rb, struct akin_diag *diag)
{
	struct recipe_child child;
	u64 container;
	int err;

	err = store_level(rb, 0, &child, &container, diag);
	if (!err)
		err = add_child(rb, 1, child, container, diag);
	return err;
}

/* The pending entry can no longer grow: into the leaf with it. */
static int push_pending(struct recipe_builder *rb, struct akin_diag *diag)
{
	struct recipe_level *l;
	struct recipe_entry *e;
	int err;

	if (!rb->have_pending)
		return 0;
	rb->have_pending = false;
	err = need_level(rb, 0, diag);
	if (err)
		return err;
	l = &rb->levels[0];
	e = &l->entry[l->nr++];
	*e = rb->pending;
	l->bytes += recipe_entry_bytes(e);
	l->entries++;
	hintset_add(&l->hint, rb->pending_container);
	if (!level_is_full(l, e->type == RECIPE_HOLE ? NULL : &e->fp))
		return 0;
	return close_leaf(rb, diag);
}

static bool merge_pending(struct recipe_builder *rb,
			  const struct recipe_entry *e)
{
	struct recipe_entry *p = &rb->pending;

	if (!rb->have_pending)
		return false;
	if (p->type == RECIPE_HOLE && e->type == RECIPE_HOLE) {
		p->len += e->len;
		return true;
	}
	if (e->type == RECIPE_CHUNK && p->len == e->len &&
	    (p->type == RECIPE_CHUNK || p->type == RECIPE_REPEAT) &&
	    fp_equal(&p->fp, &e->fp)) {
		p->type = RECIPE_REPEAT;
		p->count++;
		return true;
	}
	return false;
}

int recipe_builder_add(struct recipe_builder *rb, const struct recipe_entry *e,
		       u64 container, struct akin_diag *diag)
{
	int err;

	/* Sums over an object stay exact, so merging cannot overflow either. */
	if (__builtin_add_overflow(rb->bytes, recipe_entry_bytes(e),
				   &rb->bytes)) {
		rb->bytes = UINT64_MAX;
		return diag_set(diag, -AKIN_E_too_large, "an object of 2^64 "
				"bytes or more");
	}
	if (merge_pending(rb, e))
		return 0;
	err = push_pending(rb, diag);
	if (err)
		return err;
	rb->pending = *e;
	rb->pending_container = container;
	rb->have_pending = true;
	if (e->type == RECIPE_INLINE) {
		memcpy(rb->inline_data, e->data, e->len);
		rb->pending.data = rb->inline_data;
	}
	return 0;
}

/* Short enough for the tree node itself? */
static bool finish_inline(struct recipe_builder *rb, struct content *out,
			  struct hintset *hint)
{
	struct recipe_level *l = rb->nr_levels ? &rb->levels[0] : NULL;
	u32 i;

	for (i = 1; i < rb->nr_levels; i++) {
		if (rb->levels[i].nr)
			return false;
	}
	if (l && l->nr > CONTENT_INLINE_MAX)
		return false;
	out->kind = l && l->nr ? CONTENT_ENTRIES : CONTENT_NONE;
	out->nr = l ? l->nr : 0;
	for (i = 0; i < out->nr; i++)
		out->entries[i] = l->entry[i];
	if (l) {
		hintset_add_all(hint, &l->hint.hint);
		level_reset(l);
	}
	return true;
}

/* Close every level from the leaf up; the last piece stored is the root. */
static int finish_tree(struct recipe_builder *rb, struct content *out,
		       struct hintset *hint, struct akin_diag *diag)
{
	struct recipe_child child;
	u64 container = 0;
	u32 level, above;
	int err = 0;

	for (level = 0; !err && level < rb->nr_levels; level++) {
		if (rb->levels[level].nr == 0)
			continue;
		for (above = level + 1; above < rb->nr_levels; above++) {
			if (rb->levels[above].nr)
				break;
		}
		if (above == rb->nr_levels && level > 0 &&
		    rb->levels[level].nr == 1) {
			/* a node of one child is that child */
			child = rb->levels[level].child[0];
			container = rb->levels[level].container;
			level_reset(&rb->levels[level]);
			out->level = (u8)(level - 1);
			break;
		}
		err = store_level(rb, level, &child, &container, diag);
		out->level = (u8)level;
		if (!err && above < rb->nr_levels)
			err = add_child(rb, level + 1, child, container, diag);
	}
	out->kind = CONTENT_ROOT;
	out->root = child.fp;
	hintset_add(hint, container);
	return err;
}

int recipe_builder_finish(struct recipe_builder *rb, struct content *out,
			  struct hintset *hint, struct akin_diag *diag)
{
	u32 i;
	int err;

	memset(out, 0, sizeof(*out));
	out->bytes = rb->bytes;
	err = push_pending(rb, diag);
	if (!err && !finish_inline(rb, out, hint))
		err = finish_tree(rb, out, hint, diag);
	for (i = 0; i < rb->nr_levels; i++)
		level_reset(&rb->levels[i]);
	rb->bytes = 0;
	rb->have_pending = false;
	if (!err && hint->failed)
		err = diag_set(diag, -AKIN_E_nomem, "hint");
	return err;
}
