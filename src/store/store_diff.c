/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two trees side by side: names ascend in both, so one pass merges them.
 * Directories whose listings are the same content are not read; one that is
 * there on one side only is reported with everything below it.
 *
 * Depth costs heap: frames are a list.
 */
#include "base/mem.h"
#include "store/store_compare.h"
#include "tree/tree_walk.h"

/* One side of a pair of directories; NULL reader: nothing there. */
struct side {
	struct tree_reader *reader;
	const struct node *node;	/* one ahead; NULL: at the end */
	const struct hint *hint;
};

struct pair {
	struct pair *up;
	struct side old, new_;
	size_t path_len;
};

struct diff {
	struct akin_pool *p;
	int (*fn)(void *ctx, enum akin_diff_kind kind,
		  const struct akin_node *old, const struct akin_node *new_);
	void *ctx;
	struct pair *top;
	struct buf path;
};

static int next(struct side *s, struct akin_diag *diag)
{
	int more;

	more = tree_reader_next(s->reader, &s->node, &s->hint, diag);
	if (more <= 0)
		s->node = NULL;
	return more < 0 ? more : 0;
}

static int side_open(struct diff *d, struct side *s, const struct content *ct,
		     const struct hint *hint, struct akin_diag *diag)
{
	int err;

	err = tree_reader_open(&d->p->depot, &d->p->dec, ct, hint, &s->reader,
			       diag);
	return err ? err : next(s, diag);
}

static void pair_free(struct pair *f)
{
	tree_reader_close(f->old.reader);
	tree_reader_close(f->new_.reader);
	mem_free(f);
}

static int push(struct diff *d, const struct content *old,
		const struct hint *old_hint, const struct content *new_,
		const struct hint *new_hint, struct akin_diag *diag)
{
	struct pair *f = mem_zalloc(sizeof(*f));
	int err;

	if (!f)
		return diag_set(diag, -AKIN_E_nomem, "diff");
	f->path_len = d->path.len;
	err = side_open(d, &f->old, old, old_hint, diag);
	if (!err)
		err = side_open(d, &f->new_, new_, new_hint, diag);
	if (err) {
		diag_prefix(diag, "'%s'", d->path.len ?
			    (char *)d->path.data : "/");
		pair_free(f);
		return err;
	}
	f->up = d->top;
	d->top = f;
	return 0;
}

/* Back to the path of the pair on top. */
static void cut_path(struct diff *d)
{
	d->path.len = d->top ? d->top->path_len : 0;
	if (d->path.data)
		d->path.data[d->path.len] = 0;
}

static int name_path(struct diff *d, const char *name, struct akin_diag *diag)
{
	buf_put_u8(&d->path, '/');
	buf_put(&d->path, name, strlen(name) + 1);
	if (buf_error(&d->path))
		return diag_set(diag, -AKIN_E_nomem, "diff");
	d->path.len--;
	return 0;
}

static bool same_entry(const struct recipe_entry *a,
		       const struct recipe_entry *b)
{
	if (a->type != b->type || a->len != b->len || a->count != b->count)
		return false;
	if (a->type == RECIPE_INLINE)
		return memcmp(a->data, b->data, a->len) == 0;
	return a->type == RECIPE_HOLE || fp_equal(&a->fp, &b->fp);
}

bool store_same_content(const struct content *a, const struct content *b)
{
	u32 i;

	if (a->kind != b->kind || a->bytes != b->bytes)
		return false;
	if (a->kind == CONTENT_ROOT)
		return a->level == b->level && fp_equal(&a->root, &b->root);
	if (a->kind != CONTENT_ENTRIES)
		return true;
	for (i = 0; a->nr == b->nr && i < a->nr; i++) {
		if (!same_entry(&a->entries[i], &b->entries[i]))
			return false;
	}
	return a->nr == b->nr;
}

static bool same_xattrs(const struct node *a, const struct node *b)
{
	const struct node_xattr *x, *y;
	u32 i;

	if (a->nr_xattrs != b->nr_xattrs)
		return false;
	for (i = 0; i < a->nr_xattrs; i++) {
		x = &a->xattrs[i];
		y = &b->xattrs[i];
		if (strcmp(x->name, y->name) || x->len != y->len ||
		    memcmp(x->value, y->value, x->len))
			return false;
	}
	return true;
}

bool store_same_metadata(const struct node *a, const struct node *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       a->mtime_sec == b->mtime_sec &&
	       a->mtime_nsec == b->mtime_nsec && a->rdev == b->rdev &&
	       a->target_len == b->target_len &&
	       memcmp(a->target_len ? a->target : (const u8 *)"",
		      b->target_len ? b->target : (const u8 *)"",
		      a->target_len) == 0 &&
	       same_xattrs(a, b);
}

static int report(struct diff *d, enum akin_diff_kind kind,
		  const struct node *old, const struct node *new_,
		  const char *path)
{
	struct akin_node a, b;

	if (old)
		store_node_export(old, path, &a);
	if (new_)
		store_node_export(new_, path, &b);
	return d->fn(d->ctx, kind, old ? &a : NULL, new_ ? &b : NULL);
}

/* Everything below a directory that the other side does not have. */
static int report_below(struct diff *d, enum akin_diff_kind kind,
			const struct node *dir, const struct hint *hint,
			struct akin_diag *diag)
{
	bool added = kind == AKIN_DIFF_ADDED;
	struct tree_step step;
	struct tree_walk *w;
	int err, more;

	err = tree_walk_open(&d->p->depot, &d->p->dec, &dir->content, hint,
			     (char *)d->path.data, &w, diag);
	if (err)
		return err;
	while (!err) {
		err = store_check_stop(d->p, diag);
		if (err)
			break;
		more = tree_walk_next(w, &step, diag);
		if (more <= 0) {
			err = more;
			break;
		}
		if (step.event == TREE_NODE)
			err = report(d, kind, added ? NULL : step.node,
				     added ? step.node : NULL, step.path);
	}
	tree_walk_close(w);
	return err;
}

/* Only one side has this name. */
static int one_sided(struct diff *d, enum akin_diff_kind kind,
		     struct side *s, struct akin_diag *diag)
{
	bool added = kind == AKIN_DIFF_ADDED;
	int err;

	err = name_path(d, s->node->name, diag);
	if (!err)
		err = report(d, kind, added ? NULL : s->node,
			     added ? s->node : NULL, (char *)d->path.data);
	if (!err && s->node->type == NODE_DIR)
		err = report_below(d, kind, s->node, s->hint, diag);
	cut_path(d);
	return err ? err : next(s, diag);
}

/* Of two kinds: one line, and what was or is below. */
static int other_type(struct diff *d, struct pair *f, struct akin_diag *diag)
{
	const struct node *old = f->old.node, *new_ = f->new_.node;
	int err;

	err = report(d, AKIN_DIFF_TYPE, old, new_, (char *)d->path.data);
	if (!err && old->type == NODE_DIR)
		err = report_below(d, AKIN_DIFF_REMOVED, old, f->old.hint,
				   diag);
	if (!err && new_->type == NODE_DIR)
		err = report_below(d, AKIN_DIFF_ADDED, new_, f->new_.hint,
				   diag);
	return err;
}

static int compare(struct diff *d, const struct node *old,
		   const struct node *new_)
{
	bool has_data = new_->type == NODE_FILE || new_->type == NODE_STREAM;

	if (has_data && (old->size != new_->size ||
			 !store_same_content(&old->content, &new_->content)))
		return report(d, AKIN_DIFF_CONTENT, old, new_,
			      (char *)d->path.data);
	if (!store_same_metadata(old, new_))
		return report(d, AKIN_DIFF_METADATA, old, new_,
			      (char *)d->path.data);
	return 0;
}

/* Both sides have this name. */
static int two_sided(struct diff *d, struct pair *f, struct akin_diag *diag)
{
	const struct node *old = f->old.node, *new_ = f->new_.node;
	bool enter = false;
	int err;

	err = name_path(d, new_->name, diag);
	if (!err && old->type != new_->type) {
		err = other_type(d, f, diag);
	} else if (!err) {
		err = compare(d, old, new_);
		enter = new_->type == NODE_DIR &&
			!store_same_content(&old->content, &new_->content);
	}
	/* The readers stand still until the pair below has been done. */
	if (!err && enter)
		return push(d, &old->content, f->old.hint, &new_->content,
			    f->new_.hint, diag);
	cut_path(d);
	if (!err)
		err = next(&f->old, diag);
	return err ? err : next(&f->new_, diag);
}

/* The directory on top is done; go on behind it in the one above. */
static int leave(struct diff *d, struct akin_diag *diag)
{
	struct pair *f = d->top;
	int err;

	d->top = f->up;
	pair_free(f);
	cut_path(d);
	f = d->top;
	if (!f)
		return 0;
	err = next(&f->old, diag);
	return err ? err : next(&f->new_, diag);
}

static int step(struct diff *d, struct akin_diag *diag)
{
	struct pair *f = d->top;
	int c;

	if (!f->old.node && !f->new_.node)
		return leave(d, diag);
	if (!f->old.node)
		return one_sided(d, AKIN_DIFF_ADDED, &f->new_, diag);
	if (!f->new_.node)
		return one_sided(d, AKIN_DIFF_REMOVED, &f->old, diag);
	c = node_name_compare(f->old.node->name, f->new_.node->name);
	if (c == 0)
		return two_sided(d, f, diag);
	return c < 0 ? one_sided(d, AKIN_DIFF_REMOVED, &f->old, diag) :
		       one_sided(d, AKIN_DIFF_ADDED, &f->new_, diag);
}

static int diff_roots(struct diff *d, const struct snapshot *a,
		      const struct snapshot *b, struct akin_diag *diag)
{
	int err;

	if (store_same_content(&a->root, &b->root))
		return 0;
	err = push(d, &a->root, &a->root_hint, &b->root, &b->root_hint, diag);
	while (!err && d->top) {
		err = store_check_stop(d->p, diag);
		if (!err)
			err = step(d, diag);
	}
	return err;
}

int akin_snapshot_diff(struct akin_pool *p, uint64_t a, uint64_t b,
		       int (*fn)(void *ctx, enum akin_diff_kind kind,
				 const struct akin_node *old,
				 const struct akin_node *new_),
		       void *ctx, struct akin_diag *diag)
{
	struct diff d = { .p = p, .fn = fn, .ctx = ctx };
	struct snapshot old = { 0 }, new_ = { 0 };
	struct pair *f;
	int err;

	err = catalog_snapshot(p->catalog, a, &old, diag);
	if (!err)
		err = catalog_snapshot(p->catalog, b, &new_, diag);
	if (!err)
		err = diff_roots(&d, &old, &new_, diag);
	while (d.top) {
		f = d.top;
		d.top = f->up;
		pair_free(f);
	}
	buf_release(&d.path);
	snapshot_release(&old);
	snapshot_release(&new_);
	return err;
}
