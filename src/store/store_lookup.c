/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Into a snapshot: one path, listings, contents.
 */
#include <stdio.h>

#include "base/mem.h"
#include "os/clock.h"
#include "restore/fetcher.h"
#include "store/store.h"
#include "tree/tree_walk.h"

int store_copy_hint(const struct hint *from, struct hint *to,
		     struct akin_diag *diag)
{
	u64 *p = NULL;

	if (from->nr) {
		p = mem_dup(from->containers, from->nr * sizeof(*p));
		if (!p)
			return diag_set(diag, -AKIN_E_nomem, "hint");
	}
	mem_free(to->containers);
	to->containers = p;
	to->nr = from->nr;
	return 0;
}

/* A node that owns its memory, by way of its record. */
int store_clone_node(const struct node *n, struct node *out,
		      struct akin_diag *diag)
{
	struct buf b = { 0 };
	size_t total;
	int err;

	err = node_encode(n, &b);
	if (!err)
		err = node_decode(b.data, b.len, out, &total);
	buf_release(&b);
	if (err)
		return diag_set(diag, err, "node: %s", akin_strerror(err));
	return 0;
}

static void root_node(const struct snapshot *s, struct node *out)
{
	memset(out, 0, sizeof(*out));
	out->type = NODE_DIR;
	out->name = "";
	out->mode = 0755;
	out->mtime_sec = s->time_sec;
	out->mtime_nsec = s->time_nsec;
	out->content = s->root;
}

/* Name [name, name + len) in the directory @dir. */
static int step(struct akin_pool *p, struct decoder *dec, struct node *dir,
		struct hint *hint, const char *name, size_t len,
		struct akin_diag *diag)
{
	const struct hint *child_hint;
	const struct node *n;
	struct tree_reader *r;
	struct node found;
	int more, err;

	err = tree_reader_open(&p->depot, dec, &dir->content, hint, &r, diag);
	if (err)
		return err;
	for (;;) {
		more = tree_reader_next(r, &n, &child_hint, diag);
		if (more <= 0 || (strlen(n->name) == len &&
				  memcmp(n->name, name, len) == 0))
			break;
	}
	err = more < 0 ? more : more == 0 ? -AKIN_E_path_unknown : 0;
	if (!err)
		err = store_clone_node(n, &found, diag);
	if (!err) {
		err = store_copy_hint(child_hint, hint, diag);
		node_release(dir);
		*dir = found;
	}
	tree_reader_close(r);
	return err;
}

int store_lookup(struct akin_pool *p, const struct snapshot *s,
		 const char *path, struct node *out, struct hint *hint,
		 struct akin_diag *diag)
{
	return store_lookup_with(p, &p->dec, s, path, out, hint, diag);
}

int store_lookup_with(struct akin_pool *p, struct decoder *dec,
		      const struct snapshot *s, const char *path,
		      struct node *out, struct hint *hint,
		      struct akin_diag *diag)
{
	const char *at = path ? path : "";
	size_t len;
	int err;

	memset(hint, 0, sizeof(*hint));
	root_node(s, out);
	err = store_copy_hint(&s->root_hint, hint, diag);
	while (!err) {
		at += strspn(at, "/");
		if (!*at)
			return 0;
		len = strcspn(at, "/");
		if (out->type != NODE_DIR)
			err = -AKIN_E_path_unknown;
		else
			err = step(p, dec, out, hint, at, len, diag);
		at += len;
	}
	node_release(out);
	mem_free(hint->containers);
	memset(hint, 0, sizeof(*hint));
	if (err == -AKIN_E_path_unknown) {
		diag_set(diag, err, "'%s': no such path in the snapshot",
			 path);
		diag_hint(diag, "'akin ls SNAP' shows what there is.");
	}
	return diag_said(diag, err);
}

void store_node_export(const struct node *n, const char *path,
		       struct akin_node *out)
{
	memset(out, 0, sizeof(*out));
	out->type = (enum akin_node_type)n->type;
	out->path = path;
	out->name = n->name;
	out->mode = n->mode;
	out->uid = n->uid;
	out->gid = n->gid;
	out->mtime_sec = n->mtime_sec;
	out->mtime_nsec = n->mtime_nsec;
	out->ctime_sec = n->ctime_sec;
	out->ctime_nsec = n->ctime_nsec;
	out->size = n->size;
	out->ino = n->ino;
	out->dev = n->dev;
	out->rdev = n->rdev;
	out->target = n->target;
	out->target_len = n->target_len;
	out->nr_xattrs = n->nr_xattrs;
	out->changed = n->flags & NODE_CHANGED;
	out->unreadable = n->flags & NODE_UNREADABLE;
	out->linked = n->flags & NODE_LINKED;
	out->partial = n->flags & NODE_PARTIAL;
}

static int list_tree(struct akin_pool *p, const struct content *ct,
		     const struct hint *hint, const char *base, bool recursive,
		     int (*fn)(void *ctx, const struct akin_node *n),
		     void *ctx, struct akin_diag *diag)
{
	struct akin_node out;
	struct tree_step step;
	struct tree_walk *w;
	int err, more;

	err = tree_walk_open(&p->depot, &p->dec, ct, hint, base, &w, diag);
	if (err)
		return err;
	while (!err) {
		err = store_check_stop(p, diag);
		if (err)
			break;
		more = tree_walk_next(w, &step, diag);
		if (more <= 0) {
			err = more;
			break;
		}
		if (step.event != TREE_NODE)
			continue;
		if (!recursive)
			tree_walk_skip(w);
		store_node_export(step.node, step.path, &out);
		err = fn(ctx, &out);
	}
	tree_walk_close(w);
	return err;
}

int akin_snapshot_list(struct akin_pool *p, uint64_t number, const char *path,
		       bool recursive,
		       int (*fn)(void *ctx, const struct akin_node *n),
		       void *ctx, struct akin_diag *diag)
{
	const char *base = path && *path ? path : "/";
	struct snapshot s = { 0 };
	struct akin_node out;
	struct hint hint;
	struct node n;
	int err;

	err = catalog_snapshot(p->catalog, number, &s, diag);
	if (err)
		return err;
	err = store_lookup(p, &s, path, &n, &hint, diag);
	if (err)
		goto out;
	store_node_export(&n, base, &out);
	err = fn(ctx, &out);
	if (!err && n.type == NODE_DIR)
		err = list_tree(p, &n.content, &hint, base, recursive, fn,
				ctx, diag);
	node_release(&n);
	mem_free(hint.containers);
out:
	snapshot_release(&s);	/* the root's content borrows from it */
	return err < 0 ? diag_said(diag, err) : err;
}

struct read_out {
	struct akin_pool *p;
	int (*data)(void *ctx, const void *data, size_t n);
	int (*hole)(void *ctx, uint64_t len);
	void *ctx;
};

static int read_data(void *ctx, const u8 *data, u64 len, int err,
		     const struct akin_diag *why, struct akin_diag *diag)
{
	struct read_out *r = ctx;

	if (err)
		return diag_pass(diag, err, why);
	err = store_check_stop(r->p, diag);
	return err ? err : r->data(r->ctx, data, (size_t)len);
}

static int read_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	static const u8 zeros[64 * KiB];
	struct read_out *r = ctx;
	u64 n;
	int err;

	if (r->hole)
		return r->hole(r->ctx, len);
	for (; len; len -= n) {
		n = min_u64(len, sizeof(zeros));
		err = read_data(ctx, zeros, n, 0, NULL, diag);
		if (err)
			return err;
	}
	return 0;
}

static int read_content(struct akin_pool *p, const char *path,
			const struct node *n,
			const struct hint *hint, struct read_out *out,
			struct akin_diag *diag)
{
	struct fetcher_options opt = { .window_bytes = p->budget.window,
				       .data = read_data, .hole = read_hole,
				       .ctx = out };
	struct fetcher *f;
	int err;

	opt.shown = counters_stream_begin(p->streams, AKIN_STREAM_OUT, path,
					  clock_ns());
	err = fetcher_new(&p->depot, &p->dec, &opt, &f, diag);
	if (err) {
		counters_stream_end(opt.shown);
		return err;
	}
	err = fetcher_content(f, &n->content, hint, 0, UINT64_MAX, diag);
	if (!err)
		err = fetcher_drain(f, diag);
	fetcher_free(f);
	counters_add(p->counters, files_restored, !err);
	counters_stream_end(opt.shown);
	return err;
}

int akin_snapshot_read(struct akin_pool *p, uint64_t number, const char *path,
		       int (*data)(void *ctx, const void *data, size_t n),
		       int (*hole)(void *ctx, uint64_t len), void *ctx,
		       struct akin_diag *diag)
{
	struct read_out out = { p, data, hole, ctx };
	struct snapshot s = { 0 };
	struct hint hint;
	struct node n;
	int err;

	err = catalog_snapshot(p->catalog, number, &s, diag);
	if (err)
		return diag_said(diag, err);
	err = store_lookup(p, &s, path, &n, &hint, diag);
	snapshot_release(&s);
	if (err)
		return err;
	if (n.type != NODE_FILE && n.type != NODE_STREAM)
		err = diag_set(diag, -AKIN_E_usage, "not a file");
	else
		err = read_content(p, path, &n, &hint, &out, diag);
	/* A callback's own code need not be one of ours. */
	if (err < 0)
		ignore_result(diag_said(diag, err));
	if (err)
		diag_prefix(diag, "'%s'", path);
	node_release(&n);
	mem_free(hint.containers);
	return err;
}
