/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a restore back: the same walk, with the target's files opened for
 * reading beside it and compared byte by byte with what the pool has.
 */
#include "store/store_live.h"
#include "store/store_restore.h"

struct verify {
	struct restore *r;
	struct source_walk *walk;
	struct source_file *file;
	struct live_compare live;
};

static int on_data(void *ctx, const u8 *data, u64 len, int err,
		   const struct akin_diag *why, struct akin_diag *diag)
{
	struct verify *v = ctx;

	if (err)
		v->live.differs = true;
	else
		live_compare_data(&v->live, data, len);
	return store_check_stop(v->r->p, diag);
}

static int on_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	struct verify *v = ctx;

	live_compare_data(&v->live, NULL, len);
	return 0;
}

static int on_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	return 0;
}

static int compare_content(struct verify *v, const struct node *n,
			   const struct hint *hint, bool *differs_ret,
			   struct akin_diag *diag)
{
	struct fetcher_options opt = { 0 };
	struct fetcher *f;
	int err;

	opt.window_bytes = v->r->p->budget.window;
	opt.data = on_data;
	opt.hole = on_hole;
	opt.mark = on_mark;
	opt.ctx = v;
	err = fetcher_new(&v->r->p->depot, &v->r->p->dec, &opt, &f, diag);
	if (err)
		return err;
	live_compare_begin(&v->live, v->file);
	err = fetcher_content(f, &n->content, hint, 0, UINT64_MAX, diag);
	if (!err)
		err = fetcher_drain(f, diag);
	fetcher_free(f);
	/* Nothing may follow what the snapshot has. */
	if (!err && !live_compare_end(&v->live))
		*differs_ret = true;
	return err;
}

static int check_file(struct verify *v, const struct node *n,
		      const struct hint *hint, const char *path,
		      struct akin_diag *diag)
{
	struct node live = { 0 };
	bool differs = false;
	int err;

	err = source_stat(v->walk, n->name, false, &live, NULL);
	if (!err && (live.type != NODE_FILE || live.size != n->content.bytes))
		differs = true;
	if (!err && !differs)
		err = source_file_open(v->walk, n->name, &live, &v->file,
				       NULL);
	if (!err && !differs) {
		err = compare_content(v, n, hint, &differs, diag);
		source_file_close(v->file);
		if (err) {
			source_node_release(&live);
			return err;
		}
	}
	source_node_release(&live);
	if (err || differs)
		restore_warn(v->r, path, -AKIN_E_bad_data, err ?
			     "cannot be read back" :
			     "is not what the snapshot holds");
	return 0;
}

static bool wants(const struct restore *r, const char *path, bool is_dir)
{
	if (r->excludes && pattern_set_match(r->excludes, path, is_dir))
		return false;
	return is_dir || !r->includes ||
	       pattern_set_match_above(r->includes, path, false);
}

/* A listing that cannot be read was reported when it was restored. */
static int leave_damaged(struct verify *v, u32 *depth, int code,
			 struct akin_diag *why, struct akin_diag *diag)
{
	switch (akin_error_class(code)) {
	case AKIN_CLASS_NOMEM:
	case AKIN_CLASS_INTERRUPTED:
	case AKIN_CLASS_OTHER:
		return diag_set(diag, code, "%s", why->code ? why->text :
				akin_strerror(code));
	default:
		diag_clear(why);
		if (*depth == 0)
			return 0;
		(*depth)--;
		return source_walk_leave(v->walk, diag);
	}
}

static int check_tree(struct verify *v, const struct node *root,
		      const struct hint *hint, const char *base,
		      struct akin_diag *diag)
{
	struct restore *r = v->r;
	struct akin_diag why = { 0 };
	struct tree_walk *w = NULL;
	struct tree_step s;
	u32 depth = 0;
	int err, got;
	bool dir;

	err = tree_walk_open(&r->p->depot, &r->p->dec, &root->content, hint,
			     base, &w, diag);
	while (!err && (got = tree_walk_next(w, &s, &why)) != 0) {
		if (got < 0) {
			err = leave_damaged(v, &depth, got, &why, diag);
		} else if (s.event == TREE_LEAVE) {
			depth--;
			err = source_walk_leave(v->walk, diag);
		} else {
			dir = s.node->type == NODE_DIR;
			if (!wants(r, s.path, dir) ||
			    (dir && source_walk_enter(v->walk, s.node->name,
						      NULL)))
				tree_walk_skip(w);
			else if (dir)
				depth++;
			else if (s.node->type == NODE_FILE ||
				 s.node->type == NODE_STREAM)
				err = check_file(v, s.node, s.hint, s.path,
						 diag);
		}
	}
	tree_walk_close(w);
	return err;
}

int restore_verify(struct restore *r, const struct node *n,
		   const struct hint *hint, struct akin_diag *diag)
{
	const char *base = r->opt->path ? r->opt->path : "";
	struct source_options opt = { 0 };
	struct verify v = { .r = r };
	int err;

	if (live_compare_init(&v.live))
		return diag_set(diag, -AKIN_E_nomem, "verify");
	err = source_walk_open(r->opt->target, &opt, &v.walk, diag);
	if (!err && n->type == NODE_DIR)
		err = check_tree(&v, n, hint, base, diag);
	else if (!err && (n->type == NODE_FILE || n->type == NODE_STREAM))
		err = check_file(&v, n, hint, base, diag);
	source_walk_free(v.walk);
	live_compare_release(&v.live);
	return err;
}
