/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot's tree beside that of its predecessor, which was stored before:
 * names ascend in both, so the same name in the same directory is found on the
 * way. What lies there is what a file most likely resembles.
 *
 * Listings are built anew from their nodes, with new hints. They must come out
 * as they were, to the byte, because everything above names them by their
 * fingerprints; one that does not (a program of another version made it) stays
 * where it is, with the hint it had.
 */
#include "base/mem.h"
#include "optimize/optimize_internal.h"
#include "tree/tree_builder.h"
#include "tree/tree_reader.h"

/* A directory on the way. What readers lend stays valid: nothing is read from
 * a level while one below it is open. */
struct tree_level {
	struct tree_reader *now, *before;	/* before: may be NULL */
	const struct node *before_node;		/* NULL: to be read */
	const struct hint *before_hint;
	/* The directory that was entered from here. */
	const struct node *dir;
	const struct hint *dir_hint;
};

struct tree_pass {
	struct optimize *o;
	struct tree_builder *builder;
	struct tree_level *levels;
	u32 nr, cap;
	const struct snapshot *s;
	struct hintset *root_hint;
};

static void close_before(struct tree_level *l)
{
	tree_reader_close(l->before);
	l->before = NULL;
	l->before_node = NULL;
}

static void pop_level(struct tree_pass *t)
{
	struct tree_level *l = &t->levels[--t->nr];

	close_before(l);
	tree_reader_close(l->now);
}

/* @before NULL: nothing is known of it. */
static int push_level(struct tree_pass *t, const struct content *ct,
		      const struct hint *hint, const struct content *before,
		      const struct hint *before_hint, struct akin_diag *diag)
{
	u32 cap = t->cap ? t->cap * 2 : 16;
	struct optimize *o = t->o;
	struct tree_level *l;
	int err;

	if (t->nr == t->cap) {
		l = mem_realloc(t->levels, cap * sizeof(*l));
		if (!l)
			return diag_set(diag, -AKIN_E_nomem, "tree");
		t->levels = l;
		t->cap = cap;
	}
	l = &t->levels[t->nr];
	memset(l, 0, sizeof(*l));
	err = tree_reader_open(o->old, o->opt->dec, ct, hint, &l->now, diag);
	if (err)
		return err;
	t->nr++;
	/* Without a predecessor it takes more space, that is all. */
	if (before && tree_reader_open(o->new, o->opt->dec, before,
				       before_hint, &l->before, NULL))
		l->before = NULL;
	return tree_builder_begin(t->builder, diag);
}

/* The node of that name in the predecessor's directory, or NULL. */
static const struct node *same_name(struct tree_level *l, const char *name)
{
	int order;

	while (l->before) {
		if (!l->before_node &&
		    tree_reader_next(l->before, &l->before_node,
				     &l->before_hint, NULL) <= 0) {
			close_before(l);
			break;
		}
		order = node_name_compare(l->before_node->name, name);
		if (order >= 0)
			return order ? NULL : l->before_node;
		l->before_node = NULL;
	}
	return NULL;
}

static int add_node(struct tree_pass *t, const struct node *n,
		    const struct hint *hint, struct akin_diag *diag)
{
	return tree_builder_add(t->builder, n, hint, diag);
}

static int add_file(struct tree_pass *t, struct tree_level *l,
		    const struct node *n, const struct hint *hint,
		    struct akin_diag *diag)
{
	const struct node *before = same_name(l, n->name);
	struct predecessor *p = NULL;
	struct hintset now = { 0 };
	int err;

	if (before && before->type == n->type)
		p = predecessor_new(&before->content, l->before_hint);
	follow_begin(t->o->follow, p);
	err = optimize_content(t->o, &n->content, hint, &now, diag);
	if (!err)
		err = add_node(t, n, &now.hint, diag);
	hintset_release(&now);
	return err ? err : optimize_tick(t->o, diag);
}

static int add_dir(struct tree_pass *t, struct tree_level *l,
		   const struct node *n, const struct hint *hint,
		   struct akin_diag *diag)
{
	const struct node *before;
	struct hintset now = { 0 };
	bool is_dir;
	int err;

	err = optimize_is_fresh(t->o, &n->content, &now, diag);
	if (err > 0)
		err = add_node(t, n, &now.hint, diag);
	else if (!err)
		err = 1;
	hintset_release(&now);
	if (err <= 0)
		return err;
	before = same_name(l, n->name);
	is_dir = before && before->type == NODE_DIR;
	l->dir = n;
	l->dir_hint = hint;
	/* @l moves if levels grow. */
	return push_level(t, &n->content, hint,
			  is_dir ? &before->content : NULL,
			  is_dir ? l->before_hint : NULL, diag);
}

static bool same_content(const struct content *a, const struct content *b)
{
	struct buf x = { 0 }, y = { 0 };
	bool same;

	content_encode(a, &x);
	content_encode(b, &y);
	same = !buf_error(&x) && !buf_error(&y) && x.len == y.len &&
	       memcmp(x.data, y.data, x.len) == 0;
	buf_release(&x);
	buf_release(&y);
	return same;
}

/* The directory on top has been read. */
static int leave_dir(struct tree_pass *t, struct akin_diag *diag)
{
	struct hintset now = { 0 };
	const struct hint *hint = &now.hint;
	const struct content *was;
	struct tree_level *up;
	struct content ct;
	int err;

	err = tree_builder_end(t->builder, &ct, &now, diag);
	pop_level(t);
	up = t->nr ? &t->levels[t->nr - 1] : NULL;
	was = up ? &up->dir->content : &t->s->root;
	if (!err && now.failed)
		err = diag_set(diag, -AKIN_E_nomem, "hint");
	if (!err && !same_content(&ct, was))
		hint = up ? up->dir_hint : &t->s->root_hint;
	if (!err && up)
		err = add_node(t, up->dir, hint, diag);
	else if (!err)
		hintset_add_all(t->root_hint, hint);
	hintset_release(&now);
	return err;
}

static int one_step(struct tree_pass *t, struct akin_diag *diag)
{
	struct tree_level *l = &t->levels[t->nr - 1];
	const struct hint *hint;
	const struct node *n;
	int more;

	more = tree_reader_next(l->now, &n, &hint, diag);
	if (more < 0)
		return more;
	if (!more)
		return leave_dir(t, diag);
	if (n->type == NODE_FILE || n->type == NODE_STREAM)
		return add_file(t, l, n, hint, diag);
	if (n->type == NODE_DIR)
		return add_dir(t, l, n, hint, diag);
	return add_node(t, n, NULL, diag);
}

int optimize_tree(struct optimize *o, const struct snapshot *s,
		  const struct snapshot *before, struct hintset *hint,
		  struct akin_diag *diag)
{
	struct tree_pass t = { .o = o, .s = s, .root_hint = hint };
	int err;

	err = optimize_is_fresh(o, &s->root, hint, diag);
	if (err)
		return err < 0 ? err : 0;
	err = tree_builder_new(optimize_store_piece, o, &t.builder, diag);
	if (!err)
		err = push_level(&t, &s->root, &s->root_hint,
				 before ? &before->root : NULL,
				 before ? &before->root_hint : NULL, diag);
	while (!err && t.nr)
		err = one_step(&t, diag);
	while (t.nr)
		pop_level(&t);
	mem_free(t.levels);
	tree_builder_free(t.builder);
	follow_begin(o->follow, NULL);
	return err ? err : (hint->failed ? diag_set(diag, -AKIN_E_nomem,
						    "hint") : 0);
}
