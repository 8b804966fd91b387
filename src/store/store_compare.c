/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot and live data side by side: names ascend in both, so one pass
 * merges them. What is there on one side only is told by its topmost name.
 *
 * A snapshot's tree begins at "/", with directories that lead to what was
 * backed up. Of these the snapshot knows only the next names, so nothing else
 * that is live there is too much, and their own times are not compared.
 *
 * Depth costs heap: pairs are a list.
 */
#include <errno.h>

#include "base/mem.h"
#include "os/clock.h"
#include "store/store_compare.h"

/* Memory for names of directories too large to sort at once. */
#define LIST_BYTES (8 * MiB)

static const char *path_of(const struct compare *c)
{
	return c->path.len ? (const char *)c->path.data : "/";
}

static void cut_path(struct compare *c, size_t len)
{
	c->path.len = len;
	if (c->path.data)
		c->path.data[len] = 0;
}

static int name_path(struct compare *c, const char *name,
		     struct akin_diag *diag)
{
	buf_put_u8(&c->path, '/');
	buf_put(&c->path, name, strlen(name) + 1);
	if (buf_error(&c->path))
		return diag_set(diag, -AKIN_E_nomem, "verify");
	c->path.len--;
	return 0;
}

/* Live data that cannot be read is a difference; other errors end it. */
static int settle(struct compare *c, int err, const struct akin_diag *why,
		  struct akin_diag *diag)
{
	if (!err)
		return 0;
	if (akin_error_class(err) != AKIN_CLASS_SOURCE)
		return diag_pass(diag, err, why);
	return compare_tell(c, AKIN_DIFF_UNREADABLE, path_of(c), err,
			    why->code ? why->text : akin_strerror(err), diag);
}

/* Sides ---------------------------------------------------------------------*/

static int next_stored(struct compare *c, struct compare_pair *f,
		       struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int more;

	more = tree_reader_next(f->reader, &f->node, &f->hint, &why);
	if (more <= 0)
		f->node = NULL;
	if (more >= 0 || akin_error_class(more) != AKIN_CLASS_CORRUPT)
		return diag_pass(diag, more < 0 ? more : 0, &why);
	/* Whether what is live belongs there cannot be known. */
	source_dir_free(f->dir);
	f->dir = NULL;
	f->name = NULL;
	return compare_tell(c, AKIN_DIFF_UNREADABLE, path_of(c), more,
			    why.text, diag);
}

static int next_live(struct compare *c, struct compare_pair *f,
		     struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int more;
	u8 type;

	more = source_dir_next(f->dir, &f->name, &type, &why);
	if (more <= 0)
		f->name = NULL;
	return more < 0 ? settle(c, more, &why, diag) : 0;
}

static void pair_free(struct compare_pair *f)
{
	tree_reader_close(f->reader);
	source_dir_free(f->dir);
	mem_free(f);
}

/* Is the directory at @path only on the way to what was backed up? */
static bool leads_on(const struct compare *c, const char *path)
{
	size_t n = strlen(path), k;
	const char *p;
	bool leads = false;
	u32 i;

	for (i = 0; i < c->snap.nr_paths; i++) {
		p = c->snap.paths[i];
		k = strlen(p);
		/* A stream has no directories; "/" was backed up whole. */
		if (*p != '/' || k == 1)
			return *p != '/';
		if (!strncmp(path, p, k) && (!path[k] || path[k] == '/'))
			return false;
		leads |= !strncmp(path, p, n) && p[n] == '/';
	}
	return leads;
}

/* The walk is in the live directory; the path names the stored one. */
static int push(struct compare *c, const struct content *listing,
		const struct hint *hint, struct akin_diag *diag)
{
	struct compare_pair *f = mem_zalloc(sizeof(*f));
	struct akin_diag why = { 0 };
	int err;

	if (!f)
		return diag_set(diag, -AKIN_E_nomem, "verify");
	f->path_len = c->path.len;
	f->up = c->top;
	c->top = f;
	err = tree_reader_open(&c->p->depot, &c->p->dec, listing, hint,
			       &f->reader, diag);
	if (err)
		return err;
	if (!leads_on(c, c->path.len ? (char *)c->path.data : "")) {
		err = settle(c, source_dir_open(c->walk, &f->dir, &why), &why,
			     diag);
		if (!err && f->dir)
			err = next_live(c, f, diag);
	}
	return err ? err : next_stored(c, f, diag);
}

static int pop(struct compare *c, struct akin_diag *diag)
{
	struct compare_pair *f = c->top;
	struct akin_diag why = { 0 };

	c->top = f->up;
	pair_free(f);
	c->out->total.dirs++;
	if (!c->top)
		return 0;
	cut_path(c, c->top->path_len);
	return settle(c, source_walk_leave(c->walk, &why), &why, diag);
}

/* One name ------------------------------------------------------------------*/

static bool is_excluded(struct compare *c, bool is_dir)
{
	return c->excludes && pattern_set_match(c->excludes, path_of(c),
						is_dir);
}

/* Live only. */
static int extra(struct compare *c, struct compare_pair *f,
		 struct akin_diag *diag)
{
	struct node live = { 0 };
	bool is_dir;
	int err;

	err = name_path(c, f->name, diag);
	if (err)
		return err;
	err = source_stat(c->walk, f->name, false, &live, NULL);
	is_dir = !err && live.type == NODE_DIR;
	source_node_release(&live);
	/* What has gone in the meantime is not there. */
	err = err == -AKIN_E_source_vanished || is_excluded(c, is_dir) ? 0 :
	      compare_tell(c, AKIN_DIFF_ADDED, path_of(c), 0, NULL, diag);
	cut_path(c, f->path_len);
	return err ? err : next_live(c, f, diag);
}

static bool has_data(const struct node *n)
{
	return n->type == NODE_FILE || n->type == NODE_STREAM;
}

/* A file on both sides. */
static int both_files(struct compare *c, const struct node *n,
		      const struct hint *hint, const char *name,
		      struct node *live, struct akin_diag *diag)
{
	/* A stream has a content and nothing else. */
	bool metadata = n->type == NODE_FILE && !store_same_metadata(n, live);
	struct akin_diag why = { 0 };
	struct source_file *file;
	int err;

	if (n->content.bytes != live->size)
		return compare_tell(c, AKIN_DIFF_CONTENT, path_of(c), 0, NULL,
				    diag);
	err = source_file_open(c->walk, name, live, &file, &why);
	if (err)
		return settle(c, err, &why, diag);
	return compare_file(c, n, hint, TAKE(file), metadata, diag);
}

static int enter(struct compare *c, const struct node *n,
		 const struct hint *hint, const char *name,
		 const struct node *live, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err = 0;

	if (!leads_on(c, path_of(c)) && !store_same_metadata(n, live))
		err = compare_tell(c, AKIN_DIFF_METADATA, path_of(c), 0, NULL,
				   diag);
	if (err)
		return err;
	err = source_walk_enter(c->walk, name, &why);
	if (err)
		return settle(c, err, &why, diag);
	return push(c, &n->content, hint, diag);
}

/* @n is @name here: both are there, or the live one has just gone. */
static int compare_node(struct compare *c, const struct node *n,
			const struct hint *hint, const char *name,
			struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct node live = { 0 };
	int err;

	err = source_stat(c->walk, name, true, &live, &why);
	if (err == -AKIN_E_source_vanished)
		err = compare_tell(c, AKIN_DIFF_REMOVED, path_of(c), 0, NULL,
				   diag);
	else if (err)
		err = settle(c, err, &why, diag);
	else if (has_data(n) && live.type == NODE_FILE)
		err = both_files(c, n, hint, name, &live, diag);
	else if (n->type != live.type)
		err = compare_tell(c, AKIN_DIFF_TYPE, path_of(c), 0, NULL,
				   diag);
	else if (n->type == NODE_DIR)
		err = enter(c, n, hint, name, &live, diag);
	else if (!store_same_metadata(n, &live))
		err = compare_tell(c, AKIN_DIFF_METADATA, path_of(c), 0, NULL,
				   diag);
	c->out->total.others += !has_data(n) && n->type != NODE_DIR;
	source_node_release(&live);
	return err;
}

/* The snapshot's next name, which may be live, too. */
static int stored(struct compare *c, struct compare_pair *f, bool live,
		  struct akin_diag *diag)
{
	int err;

	err = name_path(c, f->node->name, diag);
	if (!err && is_excluded(c, f->node->type == NODE_DIR))
		;
	else if (!err && live)
		err = compare_node(c, f->node, f->hint, f->node->name, diag);
	else if (!err)
		err = compare_tell(c, AKIN_DIFF_REMOVED, path_of(c), 0, NULL,
				   diag);
	/* The pair below cuts its path when it is left; this one goes on. */
	if (!err && live && f->dir)
		err = next_live(c, f, diag);
	if (!err)
		err = next_stored(c, f, diag);
	if (c->top == f)
		cut_path(c, f->path_len);
	return err;
}

static int step(struct compare *c, struct akin_diag *diag)
{
	struct compare_pair *f = c->top;
	int order;

	if (!f->node && !f->name)
		return pop(c, diag);
	if (!f->node)
		return extra(c, f, diag);
	if (!f->dir)
		return stored(c, f, true, diag);
	order = f->name ? node_name_compare(f->node->name, f->name) : -1;
	return order > 0 ? extra(c, f, diag) : stored(c, f, order == 0, diag);
}

/* The whole -----------------------------------------------------------------*/

/* The walk's place, and @name in it: the parent of a file, or the directory
 * itself. *name_ret is owned. */
static int open_walk(struct compare *c, const char *path, bool is_dir,
		     char **name_ret, struct akin_diag *diag)
{
	struct source_options opt = {
		.list_bytes = min_u64(LIST_BYTES, c->p->budget.streams / 4),
	};
	char *copy = mem_strdup(path), *slash;
	size_t n;
	int err;

	if (!copy)
		return diag_set(diag, -AKIN_E_nomem, "verify");
	for (n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = 0;
	if (is_dir) {
		*name_ret = mem_strdup(".");
		err = source_walk_open(copy, &opt, &c->walk, diag);
	} else {
		slash = strrchr(copy, '/');
		*name_ret = mem_strdup(slash ? slash + 1 : copy);
		if (slash)
			slash[slash == copy] = 0;
		err = source_walk_open(slash ? copy : ".", &opt, &c->walk,
				       diag);
	}
	mem_free(copy);
	return err ? err : *name_ret ? 0 : diag_set(diag, -AKIN_E_nomem,
						    "verify");
}

static int compare_root(struct compare *c, const struct node *n,
			const struct hint *hint, struct akin_diag *diag)
{
	const char *stored_path = c->opt->path ? c->opt->path : "";
	char *name = NULL;
	int err;

	buf_put(&c->path, stored_path, strlen(stored_path) + 1);
	if (buf_error(&c->path))
		return diag_set(diag, -AKIN_E_nomem, "verify");
	c->path.len--;
	while (c->path.len && c->path.data[c->path.len - 1] == '/')
		cut_path(c, c->path.len - 1);
	err = open_walk(c, c->opt->live ? c->opt->live :
			*stored_path ? stored_path : "/", n->type == NODE_DIR,
			&name, diag);
	if (!err && n->type == NODE_DIR)
		err = push(c, &n->content, hint, diag);
	else if (!err)
		err = compare_node(c, n, hint, name, diag);
	while (!err && c->top) {
		err = store_check_stop(c->p, diag);
		if (!err)
			err = step(c, diag);
	}
	mem_free(name);
	return err ? err : fetcher_drain(c->fetcher, diag);
}

static int collect(struct compare *c, struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	if (!c->opt->nr_excludes)
		return 0;
	c->excludes = pattern_set_new();
	if (!c->excludes)
		return diag_set(diag, -AKIN_E_nomem, "patterns");
	for (i = 0; !err && i < c->opt->nr_excludes; i++)
		err = pattern_set_add(c->excludes, c->opt->excludes[i], diag);
	return err;
}

static int run(struct compare *c, struct akin_diag *diag)
{
	struct hint hint = { 0 };
	struct node n = { 0 };
	int err;

	err = collect(c, diag);
	if (!err)
		err = catalog_snapshot(c->p->catalog, c->opt->snapshot,
				       &c->snap, diag);
	if (!err)
		err = store_lookup(c->p, &c->snap, c->opt->path, &n, &hint,
				   diag);
	if (err)
		return err;
	if (!c->opt->path) {
		c->out->total.files_total = c->snap.counts.files;
		c->out->total.bytes_total = c->snap.counts.bytes;
	}
	err = compare_files_open(c, diag);
	if (!err)
		err = compare_root(c, &n, &hint, diag);
	node_release(&n);
	mem_free(hint.containers);
	return err;
}

int akin_compare(struct akin_pool *p, const struct akin_compare_options *opt,
		 struct akin_compare_result *out, struct akin_diag *diag)
{
	struct compare c = { .p = p, .opt = opt, .out = out };
	struct compare_pair *f;
	int err;

	memset(out, 0, sizeof(*out));
	c.start_ns = clock_ns();
	err = run(&c, diag);
	compare_files_close(&c);
	while (c.top) {
		f = c.top;
		c.top = f->up;
		pair_free(f);
	}
	source_walk_free(c.walk);
	pattern_set_free(c.excludes);
	buf_release(&c.path);
	snapshot_release(&c.snap);
	out->total.elapsed_ns = clock_ns() - c.start_ns;
	ignore_result(diag_said(diag, err));
	if (!err && out->damaged)
		err = diag_set(diag, -AKIN_E_bad_data, "%llu files of the "
			       "snapshot cannot be read from the pool",
			       (unsigned long long)out->damaged);
	else if (!err && (out->added || out->removed || out->content ||
			  out->metadata || out->type || out->unreadable))
		err = diag_set(diag, -AKIN_E_differs, "live data differ from "
			       "the snapshot");
	return err;
}
