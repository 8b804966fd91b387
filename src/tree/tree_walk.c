/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "tree/tree_walk.h"

struct level {
	struct tree_reader *r;
	size_t path_len;	/* of the directory itself */
	struct level *up;
};

struct tree_walk {
	struct depot *depot;
	struct decoder *dec;
	struct level *top;
	struct buf path;
	u32 depth;
	/* The node returned last, while it is the top reader's current one. */
	const struct node *node;
	const struct hint *hint;
	bool enter;		/* it is a directory to go into */
	recipe_piece_fn *on_piece;
	void *on_piece_ctx;
};

static void set_path_len(struct tree_walk *w, size_t len)
{
	w->path.len = len;
	w->path.data[len] = 0;
}

static int push(struct tree_walk *w, const struct content *listing,
		const struct hint *hint, struct akin_diag *diag)
{
	struct level *l = mem_zalloc(sizeof(*l));
	int err;

	if (!l)
		return diag_set(diag, -AKIN_E_nomem, "tree");
	err = tree_reader_open(w->depot, w->dec, listing, hint, &l->r, diag);
	if (err) {
		mem_free(l);
		return err;
	}
	if (w->on_piece)
		tree_reader_on_piece(l->r, w->on_piece, w->on_piece_ctx);
	l->path_len = w->path.len;
	l->up = w->top;
	w->top = l;
	w->depth++;
	return 0;
}

static void pop(struct tree_walk *w)
{
	struct level *l = w->top;

	set_path_len(w, l->path_len);
	w->top = l->up;
	tree_reader_close(l->r);
	mem_free(l);
	w->depth--;
}

int tree_walk_open(struct depot *d, struct decoder *dec,
		   const struct content *listing, const struct hint *hint,
		   const char *base, struct tree_walk **out,
		   struct akin_diag *diag)
{
	struct tree_walk *w = mem_zalloc(sizeof(*w));
	size_t n = strlen(base);
	int err;

	if (!w)
		return diag_set(diag, -AKIN_E_nomem, "tree");
	w->depot = d;
	w->dec = dec;
	while (n && base[n - 1] == '/')
		n--;
	buf_put(&w->path, base, n);
	buf_put_u8(&w->path, 0);
	err = buf_error(&w->path);
	if (err) {
		diag_set(diag, err, "tree");
	} else {
		set_path_len(w, n);
		err = push(w, listing, hint, diag);
	}
	if (err) {
		tree_walk_close(w);
		return err;
	}
	*out = w;
	return 0;
}

void tree_walk_close(struct tree_walk *w)
{
	if (!w)
		return;
	while (w->top)
		pop(w);
	buf_release(&w->path);
	mem_free(w);
}

void tree_walk_on_piece(struct tree_walk *w, recipe_piece_fn *fn, void *ctx)
{
	w->on_piece = fn;
	w->on_piece_ctx = ctx;
	if (w->top)
		tree_reader_on_piece(w->top->r, fn, ctx);
}

void tree_walk_skip(struct tree_walk *w)
{
	w->enter = false;
}

/* The path becomes that of @name in the top directory. */
static int name_path(struct tree_walk *w, const char *name)
{
	set_path_len(w, w->top->path_len);
	buf_put_u8(&w->path, '/');
	buf_put(&w->path, name, strlen(name) + 1);
	if (!w->path.failed)
		w->path.len--;
	return buf_error(&w->path);
}

static void leave(struct tree_walk *w, struct tree_step *out)
{
	memset(out, 0, sizeof(*out));
	out->event = TREE_LEAVE;
	pop(w);
	out->path = (char *)w->path.data;
	out->depth = w->depth;
}

int tree_walk_next(struct tree_walk *w, struct tree_step *out,
		   struct akin_diag *diag)
{
	int more, err;

	if (w->enter) {
		w->enter = false;
		err = push(w, &w->node->content, w->hint, diag);
		if (err)
			return err;
	}
	if (!w->top)
		return 0;
	more = tree_reader_next(w->top->r, &w->node, &w->hint, diag);
	if (more <= 0) {
		leave(w, out);
		if (more < 0)
			diag_prefix(diag, "'%s'", out->path);
		return more < 0 ? more : w->top != NULL;
	}
	if (name_path(w, w->node->name))
		return diag_set(diag, -AKIN_E_nomem, "path");
	w->enter = w->node->type == NODE_DIR;
	out->event = TREE_NODE;
	out->path = (char *)w->path.data;
	out->node = w->node;
	out->hint = w->hint;
	out->depth = w->depth;
	return 1;
}
