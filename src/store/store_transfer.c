/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See store_transfer.h. The walk runs ahead; what it finds goes through the
 * fetcher as marks, with contents in between, and comes out in order to be fed
 * to the backup. Without a fetcher, in the same pool, marks go there at once.
 *
 * Depth costs heap: directories are a list.
 */
#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "store/store_compare.h"
#include "store/store_transfer.h"
#include "store/store_walk.h"

enum { PASS_DIR_BEGIN = 1, PASS_DIR_END, PASS_NODE, PASS_KEPT,
       PASS_BEGIN,	/* token: a predecessor, or NULL */
       PASS_END };

/* Coming out ----------------------------------------------------------------*/

static void on_drop(void *ctx, int what, void *token)
{
	if (what == PASS_BEGIN)
		predecessor_free(token);
	else
		backup_token_free(token);
}

static void count_node(struct backup *b, const struct node *n)
{
	if (n->type == NODE_DIR)
		atomic_fetch_add(&b->dirs, 1);
	else if (n->type == NODE_FILE || n->type == NODE_STREAM)
		backup_count_file(b);
	else
		atomic_fetch_add(&b->others, 1);
}

static int on_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	struct transfer *t = ctx;
	struct backup_token *k = token;
	struct backup *b = t->b;

	if (what != PASS_BEGIN && k)
		count_node(b, &k->node);
	switch (what) {
	case PASS_DIR_BEGIN:
		return ingest_mark(b->stream, MARK_DIR_BEGIN, NULL, diag);
	case PASS_DIR_END:
		return ingest_mark(b->stream, MARK_DIR_END, TAKE(k), diag);
	case PASS_NODE:
		return ingest_mark(b->stream, MARK_NODE, TAKE(k), diag);
	case PASS_KEPT:
		atomic_fetch_add(&b->unchanged, 1);
		atomic_fetch_add(&b->bytes_kept, k->node.size);
		return ingest_mark(b->stream, MARK_KEPT, TAKE(k), diag);
	case PASS_BEGIN:
		return ingest_object_begin_after(b->stream, TAKE(token), diag);
	default:
		return ingest_object_end(b->stream, TAKE(k), diag);
	}
}

/* A snapshot that cannot be read as a whole is not transferred at all. */
static int on_data(void *ctx, const u8 *data, u64 len, int err,
		   const struct akin_diag *why, struct akin_diag *diag)
{
	struct transfer *t = ctx;

	if (err)
		return diag_pass(diag, err, why);
	err = ingest_write(t->b->stream, data, (size_t)len, diag);
	return err ? err : backup_pace(t->b, len, diag);
}

static int on_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	struct transfer *t = ctx;

	return ingest_hole(t->b->stream, len, diag);
}

static int pass(struct transfer *t, int what, void *token,
		struct akin_diag *diag)
{
	return t->fetcher ? fetcher_mark(t->fetcher, what, token, diag) :
			    on_mark(t, what, token, diag);
}

/* The other side ------------------------------------------------------------*/

static void parent_close(struct transfer_dir *d)
{
	tree_reader_close(d->parent);
	d->parent = NULL;
	d->peek = NULL;
}

static void parent_next(struct transfer_dir *d)
{
	if (tree_reader_next(d->parent, &d->peek, &d->peek_hint, NULL) <= 0)
		parent_close(d);
}

/* One that cannot be read is none. */
static void parent_open(struct transfer *t, struct transfer_dir *d,
			const struct content *listing, const struct hint *hint)
{
	struct akin_pool *p = t->b->p;

	if (tree_reader_open(&p->depot, &p->dec, listing, hint, &d->parent,
			     NULL))
		d->parent = NULL;
	if (d->parent)
		parent_next(d);
}

/* Its node of that name, or NULL. Names come ascending. */
static const struct node *parent_seek(struct transfer_dir *d, const char *name)
{
	while (d->parent && node_name_compare(d->peek->name, name) < 0)
		parent_next(d);
	return d->parent && !strcmp(d->peek->name, name) ? d->peek : NULL;
}

static int find_parent(struct transfer *t, struct akin_diag *diag)
{
	const struct snapshot *s = &t->snap;
	struct akin_pool *p = t->b->p;
	struct akin_diag why = { 0 };
	int err;

	do {
		diag_clear(&why);
		err = store_find_parent(p, s->host, (const char *const *)
					s->paths, s->nr_paths, true,
					&t->parent, &why);
		if (!err)
			err = catalog_pin(p->catalog,
					  session_number(t->b->session),
					  t->parent.number, &why);
		if (err == -AKIN_E_snap_unknown)
			snapshot_release(&t->parent);
	} while (err == -AKIN_E_snap_unknown);
	if (err == -AKIN_E_absent)
		return 0;
	if (err)
		return diag_pass(diag, err, &why);
	t->have_parent = true;
	return store_soundness_new(p, &p->dec, &t->sound, diag);
}

/* Nodes ---------------------------------------------------------------------*/

static bool has_data(const struct node *n)
{
	return n->type == NODE_FILE || n->type == NODE_STREAM;
}

/* Does it need nothing but its node? */
static bool is_bare(const struct content *ct)
{
	u32 i;

	if (ct->kind == CONTENT_ROOT)
		return false;
	for (i = 0; ct->kind == CONTENT_ENTRIES && i < ct->nr; i++)
		if (ct->entries[i].type != RECIPE_INLINE &&
		    ct->entries[i].type != RECIPE_HOLE)
			return false;
	return true;
}

/* Does the other side have this very content at the same path? With other keys
 * only times can tell, as they do in a backup. */
static bool is_there(struct transfer *t, const struct node *old,
		     const struct node *n)
{
	if (!old || old->type != n->type ||
	    (old->flags & NODE_UNREADABLE) != (n->flags & NODE_UNREADABLE))
		return false;
	if (t->same_keys)
		return store_same_content(&old->content, &n->content);
	return n->type == NODE_FILE && old->size == n->size &&
	       old->ino == n->ino && store_same_metadata(old, n) &&
	       old->ctime_sec == n->ctime_sec &&
	       old->ctime_nsec == n->ctime_nsec &&
	       !((old->flags | n->flags) & NODE_CHANGED);
}

static struct backup_token *token_of(const struct node *n,
				     struct akin_diag *diag)
{
	struct backup_token *k = backup_token_new(diag);

	if (k && store_clone_node(n, &k->node, diag)) {
		backup_token_free(k);
		return NULL;
	}
	return k;
}

/* @n's content lies in the new snapshot's pool: @hint, or @hint's part. */
static int keep(struct transfer *t, const struct node *n,
		const struct hint *hint, struct akin_diag *diag)
{
	struct backup_token *k = token_of(n, diag);
	int err;

	if (!k)
		return -AKIN_E_nomem;
	err = is_bare(&n->content) ? 0 :
	      store_narrow_hint(t->b->p, &n->content, hint, &k->hint, diag);
	if (err) {
		backup_token_free(k);
		return err;
	}
	return pass(t, PASS_KEPT, TAKE(k), diag);
}

static int send(struct transfer *t, const struct node *n,
		const struct hint *hint, const struct node *old,
		struct akin_diag *diag)
{
	struct backup_token *k = token_of(n, diag);
	struct predecessor *pred = NULL;
	struct hint own = { 0 };
	int err;

	if (!k)
		return -AKIN_E_nomem;
	if (old && has_data(old) &&
	    !store_narrow_hint(t->b->p, &old->content, t->top->peek_hint, &own,
			       NULL)) {
		pred = predecessor_new(&old->content, &own);
		mem_free(own.containers);
	}
	err = pass(t, PASS_BEGIN, TAKE(pred), diag);
	if (!err)
		err = fetcher_content(t->fetcher, &n->content, hint, 0,
				      UINT64_MAX, diag);
	if (!err)
		return pass(t, PASS_END, TAKE(k), diag);
	backup_token_free(k);
	return err;
}

static int add_file(struct transfer *t, const struct node *n,
		    const struct hint *hint, const struct node *old,
		    struct akin_diag *diag)
{
	if (!t->fetcher || is_bare(&n->content))
		return keep(t, n, hint, diag);
	if (!is_there(t, old, n) ||
	    !store_content_is_sound(t->sound, &old->content,
				    t->top->peek_hint))
		return send(t, n, hint, old, diag);
	return keep(t, t->same_keys ? n : old, t->top->peek_hint, diag);
}

static int enter(struct transfer *t, const struct node *n,
		 const struct node *old, struct akin_diag *diag)
{
	struct transfer_dir *d = mem_zalloc(sizeof(*d));

	if (!d)
		return diag_set(diag, -AKIN_E_nomem, "directory");
	d->token = token_of(n, diag);
	if (!d->token) {
		mem_free(d);
		return -AKIN_E_nomem;
	}
	if (old && old->type == NODE_DIR)
		parent_open(t, d, &old->content, t->top->peek_hint);
	d->up = t->top;
	t->top = d;
	return pass(t, PASS_DIR_BEGIN, NULL, diag);
}

static void dir_free(struct transfer_dir *d)
{
	parent_close(d);
	backup_token_free(d->token);
	mem_free(d);
}

static int leave(struct transfer *t, struct akin_diag *diag)
{
	struct transfer_dir *d = t->top;
	struct backup_token *k = d->token;

	t->top = d->up;
	d->token = NULL;
	dir_free(d);
	return pass(t, PASS_DIR_END, TAKE(k), diag);
}

static bool is_dropped(const struct transfer *t, const char *path)
{
	u32 i;

	for (i = 0; i < t->nr_drop; i++)
		if (!strcmp(t->drop[i], path))
			return true;
	return false;
}

static int visit(struct transfer *t, struct tree_walk *w,
		 const struct tree_step *s, struct akin_diag *diag)
{
	const struct node *n = s->node, *old;
	struct backup_token *k;

	if (is_dropped(t, s->path)) {
		t->nr_dropped++;
		tree_walk_skip(w);
		return 0;
	}
	backup_current(t->b, s->path);
	old = parent_seek(t->top, n->name);
	if (n->type == NODE_DIR)
		return enter(t, n, old, diag);
	if (has_data(n))
		return add_file(t, n, s->hint, old, diag);
	k = token_of(n, diag);
	return k ? pass(t, PASS_NODE, TAKE(k), diag) : -AKIN_E_nomem;
}

/* The whole -----------------------------------------------------------------*/

static int walk_tree(struct transfer *t, struct akin_diag *diag)
{
	struct tree_walk *w;
	struct tree_step s;
	int err, more = 1;

	err = tree_walk_open(&t->from->depot, &t->from->dec, &t->snap.root,
			     &t->snap.root_hint, "", &w, diag);
	if (err)
		return err;
	while (!err && more > 0) {
		err = store_check_stop(t->b->p, diag);
		if (err)
			break;
		more = tree_walk_next(w, &s, diag);
		if (more < 0)
			err = more;
		else if (more)
			err = s.event == TREE_LEAVE ? leave(t, diag) :
						      visit(t, w, &s, diag);
	}
	tree_walk_close(w);
	if (!err && t->fetcher)
		err = fetcher_drain(t->fetcher, diag);
	return err;
}

static int open_fetcher(struct transfer *t, struct akin_diag *diag)
{
	struct fetcher_options opt = { .window_bytes = t->from->budget.window,
				       .data = on_data, .hole = on_hole,
				       .mark = on_mark, .drop = on_drop,
				       .ctx = t };

	return fetcher_new(&t->from->depot, &t->from->dec, &opt, &t->fetcher,
			   diag);
}

/* What the new snapshot says of itself. */
static int describe(struct transfer *t, struct akin_diag *diag)
{
	struct snapshot *to = &t->b->snap;
	const struct snapshot *s = &t->snap;
	char *user = mem_strdup(s->user), *command = mem_strdup(s->command);

	if (!user || !command) {
		mem_free(user);
		mem_free(command);
		return diag_set(diag, -AKIN_E_nomem, "snapshot");
	}
	mem_free(to->user);
	mem_free(to->command);
	to->user = user;
	to->command = command;
	to->time_sec = s->time_sec;
	to->time_nsec = s->time_nsec;
	to->utc_offset_sec = s->utc_offset_sec;
	to->flags = s->flags | SNAPSHOT_TRANSFERRED;
	memcpy(to->parent, s->parent, sizeof(to->parent));
	t->b->files_total = s->counts.files;
	t->b->bytes_total = s->counts.bytes;
	return 0;
}

int transfer_run(struct transfer *t, struct akin_diag *diag)
{
	bool in_place = t->from == t->b->p;
	int err;

	err = describe(t, diag);
	if (!err && !in_place)
		err = find_parent(t, diag);
	if (!err && !in_place)
		err = open_fetcher(t, diag);
	/* All of it is taken from there. */
	if (!err && in_place)
		err = catalog_pin(t->from->catalog,
				  session_number(t->b->session),
				  t->snap.number, diag);
	if (err)
		return err;
	t->top = mem_zalloc(sizeof(*t->top));
	if (!t->top)
		return diag_set(diag, -AKIN_E_nomem, "directory");
	if (t->have_parent)
		parent_open(t, t->top, &t->parent.root, &t->parent.root_hint);
	return walk_tree(t, diag);
}

static int take_tags(void *ctx, const struct snapshot *s,
		     const struct catalog_status *st)
{
	struct transfer *t = ctx;
	struct akin_snapshot out;
	u32 i;

	store_snapshot_export(s, st, &t->now, &out);
	t->is_protected = out.is_protected;
	t->tags = mem_calloc(out.nr_tags + 1u, sizeof(*t->tags));
	if (!t->tags)
		return -AKIN_E_nomem;
	for (i = 0; i < out.nr_tags; i++) {
		t->tags[i] = mem_strdup(out.tags[i]);
		if (!t->tags[i])
			return -AKIN_E_nomem;
		t->nr_tags++;
	}
	return 0;
}

int transfer_load(struct transfer *t, u64 number, struct akin_diag *diag)
{
	struct catalog *c = t->from->catalog;
	int err;

	err = catalog_now(c, store_clock(t->from), &t->now, diag);
	if (!err)
		err = catalog_snapshot(c, number, &t->snap, diag);
	if (!err)
		err = catalog_status_of(c, CATALOG_LISTED, number, take_tags,
					t, diag);
	return diag_said(diag, err);
}

void transfer_release(struct transfer *t)
{
	struct transfer_dir *d;
	u32 i;

	fetcher_free(t->fetcher);
	while (t->top) {
		d = t->top;
		t->top = d->up;
		dir_free(d);
	}
	store_soundness_free(t->sound);
	snapshot_release(&t->parent);
	snapshot_release(&t->snap);
	for (i = 0; i < t->nr_tags; i++)
		mem_free(t->tags[i]);
	mem_free(t->tags);
}
