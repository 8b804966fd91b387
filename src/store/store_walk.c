/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk: names in order, each stat'ed, compared with the parent's node of
 * the same name, and kept, read, entered or noted.
 *
 * Depth costs heap, not stack: frames are a list.
 */
#include <errno.h>

#include "base/mem.h"
#include "store/store_walk.h"

/* Hints so small are handed on as they are: not worth a lookup. */
#define KEEP_HINT 16

/* One source failed; the walk goes on. @diag of class SOURCE is consumed. */
static void warn_and_clear(struct walk *w, const char *path, int err,
			   struct akin_diag *diag)
{
	backup_warn(w->b, path, err, diag->code ? diag->text :
		    akin_strerror(err));
	diag_clear(diag);
}

static bool is_source_error(int err)
{
	return akin_error_class(err) == AKIN_CLASS_SOURCE;
}

/* Pass an error up unless it only concerns this one source. */
static int settle(struct walk *w, const char *name, int err,
		  struct akin_diag *why, struct akin_diag *diag)
{
	if (!err)
		return 0;
	if (!is_source_error(err))
		return diag_set(diag, err, "%s", why->code ? why->text :
				akin_strerror(err));
	warn_and_clear(w, source_walk_path(w->source, name), err, why);
	return 0;
}

/* Parent's listing ----------------------------------------------------------*/

static void parent_close(struct walk_frame *f)
{
	tree_reader_close(f->parent);
	f->parent = NULL;
	f->peek = NULL;
}

/* A parent that cannot be read is no parent: everything is read instead. Nor is
 * a forced backup's, but for what its files resemble. */
static void parent_open(struct walk *w, struct walk_frame *f,
			const struct content *listing, const struct hint *hint)
{
	struct akin_pool *p = w->b->p;

	if (tree_reader_open(&p->depot, &p->dec, listing, hint, &f->parent,
			     NULL))
		f->parent = NULL;
	if (f->parent &&
	    tree_reader_next(f->parent, &f->peek, &f->peek_hint, NULL) <= 0)
		parent_close(f);
}

int store_narrow_hint(struct akin_pool *p, const struct content *ct,
		      const struct hint *from, struct hint *out,
		      struct akin_diag *diag)
{
	struct fp fps[CONTENT_INLINE_MAX];
	u32 n = 0, i;

	if (ct->kind == CONTENT_ROOT)
		fps[n++] = ct->root;
	for (i = 0; ct->kind == CONTENT_ENTRIES && i < ct->nr; i++) {
		if (ct->entries[i].type == RECIPE_CHUNK ||
		    ct->entries[i].type == RECIPE_REPEAT)
			fps[n++] = ct->entries[i].fp;
	}
	if (from->nr <= KEEP_HINT)
		return store_copy_hint(from, out, diag);
	return depot_narrow_hint(&p->depot, fps, n, from, out, diag);
}

static int keep_hint(struct walk *w, const struct walk_frame *f,
		     struct hint *out, struct akin_diag *diag)
{
	return store_narrow_hint(w->b->p, &f->peek->content, f->peek_hint, out,
				 diag);
}

/* What the parent's node that comes next holds; NULL if that helps nobody. */
static struct predecessor *predecessor_of(struct walk *w,
					  const struct walk_frame *f)
{
	struct predecessor *p;
	struct hint hint = { 0 };

	if (f->peek->type != NODE_FILE || keep_hint(w, f, &hint, NULL))
		return NULL;
	p = predecessor_new(&f->peek->content, &hint);
	mem_free(hint.containers);
	return p;
}

/* The parent's node called @name, or NULL. Names must come ascending. */
static const struct node *parent_seek(struct walk *w, struct walk_frame *f,
				      const char *name)
{
	int c;

	while (f->parent) {
		c = node_name_compare(f->peek->name, name);
		f->peek_taken = f->peek_taken || c == 0;
		if (c >= 0)
			return c == 0 ? f->peek : NULL;
		if (!f->peek_taken && f->peek->type == NODE_FILE) {
			predecessor_free(f->gone);
			f->gone = predecessor_of(w, f);
		}
		f->peek_taken = false;
		if (tree_reader_next(f->parent, &f->peek, &f->peek_hint,
				     NULL) <= 0)
			parent_close(f);
	}
	return NULL;
}

static bool is_unchanged(const struct node *old, const struct node *new_)
{
	return old->type == NODE_FILE && new_->type == NODE_FILE &&
	       !(old->flags & (NODE_CHANGED | NODE_UNREADABLE)) &&
	       old->size == new_->size && old->ino == new_->ino &&
	       old->mtime_sec == new_->mtime_sec &&
	       old->mtime_nsec == new_->mtime_nsec &&
	       old->ctime_sec == new_->ctime_sec &&
	       old->ctime_nsec == new_->ctime_nsec;
}

/* Tokens --------------------------------------------------------------------*/

static int mark_node(struct walk *w, struct backup_token *t,
		     struct akin_diag *diag)
{
	if (t->node.type == NODE_DIR)
		atomic_fetch_add(&w->b->dirs, 1);
	else if (t->node.type == NODE_FILE)
		backup_count_file(w->b);
	else
		atomic_fetch_add(&w->b->others, 1);
	return ingest_mark(w->b->stream, MARK_NODE, t, diag);
}

/* The parent's node as it is: nothing of the file changed. */
static int keep(struct walk *w, const struct walk_frame *f, u64 dev,
		struct akin_diag *diag)
{
	struct backup_token *t = backup_token_new(diag);
	int err;

	if (!t)
		return -AKIN_E_nomem;
	err = store_clone_node(f->peek, &t->node, diag);
	if (!err)
		err = keep_hint(w, f, &t->hint, diag);
	if (err) {
		backup_token_free(t);
		return err;
	}
	t->node.dev = dev;
	backup_count_file(w->b);
	atomic_fetch_add(&w->b->unchanged, 1);
	atomic_fetch_add(&w->b->bytes_kept, t->node.size);
	return ingest_mark(w->b->stream, MARK_KEPT, t, diag);
}

/* Files ---------------------------------------------------------------------*/

/* @fatal_ret: the pool's side failed, not the source's. */
static int copy_pieces(struct walk *w, struct source_file *f, bool *fatal_ret,
		       struct akin_diag *diag)
{
	struct ingest_stream *st = w->b->stream;
	struct source_piece piece;
	size_t cap;
	u8 *buf;
	int more, err;

	for (;;) {
		*fatal_ret = true;
		err = ingest_room(st, &buf, &cap, diag);
		if (err)
			return err;
		*fatal_ret = false;
		more = source_file_read(f, buf, cap, &piece, diag);
		if (more <= 0)
			return more;
		*fatal_ret = true;
		if (piece.type == SOURCE_HOLE) {
			err = ingest_hole(st, piece.len, diag);
		} else {
			ingest_filled(st, (size_t)piece.len);
			err = backup_pace(w->b, piece.len, diag);
		}
		if (err)
			return err;
	}
}

static int read_content(struct walk *w, const char *name,
			struct source_file *f, struct backup_token *t,
			struct predecessor *pred, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	bool fatal;
	int err, err2;

	err = ingest_object_begin_after(w->b->stream, TAKE(pred), diag);
	if (err)
		return err;
	err = copy_pieces(w, f, &fatal, &why);
	if (err && (fatal || !is_source_error(err)))
		return diag_pass(diag, err, &why);
	err2 = source_file_finish(f, &t->node, err ? NULL : &why);
	if (!err)
		err = err2;
	err = settle(w, name, err, &why, diag);
	if (!err && !err2 && (t->node.flags & NODE_CHANGED))
		backup_warn(w->b, source_walk_path(w->source, name),
			    -AKIN_E_source_changed, "changed while it was read");
	return err;
}

/* What the file most likely resembles. @old: the parent's node of that name, or
 * NULL. */
static struct predecessor *choose_predecessor(struct walk *w,
					      const struct node *old)
{
	struct predecessor *p = NULL;

	if (old)
		return predecessor_of(w, w->top);
	p = w->top->gone;
	w->top->gone = NULL;
	return p;
}

/* @old: the parent's node of that name, or NULL. */
static int add_file(struct walk *w, const char *name, struct backup_token *t,
		    const struct node *old, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct source_file *f;
	int err;

	err = source_file_open(w->source, name, &t->node, &f, &why);
	if (err) {
		backup_token_free(t);
		return settle(w, name, err, &why, diag);
	}
	err = read_content(w, name, f, t, choose_predecessor(w, old), diag);
	source_file_close(f);
	if (err) {
		backup_token_free(t);
		return err;
	}
	backup_count_file(w->b);
	return ingest_object_end(w->b->stream, TAKE(t), diag);
}

/* Directories ---------------------------------------------------------------*/

static bool is_pool(const struct walk *w, const struct node *n)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (n->dev == w->pool_dev[i] && n->ino == w->pool_ino[i] &&
		    n->ino)
			return true;
	}
	return false;
}

/* The directory stays in the snapshot, without what is in it. @flag says why. */
static int add_unlisted(struct walk *w, struct backup_token *t, u32 flag,
			struct akin_diag *diag)
{
	t->node.flags |= flag;
	return mark_node(w, TAKE(t), diag);
}

static bool holds(struct walk *w, const char *name)
{
	struct node n = { 0 };
	int err;

	err = source_stat(w->source, name, false, &n, NULL);
	source_node_release(&n);
	return err == 0;
}

static int push_frame(struct walk *w, struct walk_frame *f,
		      struct akin_diag *diag)
{
	int err;

	err = f->token ? ingest_mark(w->b->stream, MARK_DIR_BEGIN, NULL, diag)
		       : 0;
	if (err)
		return err;
	f->up = w->top;
	w->top = f;
	return 0;
}

static void frame_free(struct walk_frame *f)
{
	parent_close(f);
	predecessor_free(f->gone);
	source_dir_free(f->dir);
	backup_token_free(f->token);
	mem_free(f);
}

/* Entered already; list it (unless it leads to targets) and push it. */
static int open_frame(struct walk *w, struct walk_frame *f, const char *name,
		      const struct node *old, const struct hint *old_hint,
		      struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err = 0;

	if (f->lo == f->hi)
		err = source_dir_open(w->source, &f->dir, &why);
	if (!err) {
		if (old && old->type == NODE_DIR)
			parent_open(w, f, &old->content, old_hint);
		err = push_frame(w, f, diag);
		if (err)
			frame_free(f);
		return err;
	}
	ignore_result(source_walk_leave(w->source, NULL));
	err = settle(w, name, err, &why, diag);
	if (!err) {
		err = add_unlisted(w, TAKE(f->token), NODE_UNREADABLE, diag);
		f->token = NULL;
	}
	frame_free(f);
	return err;
}

static int add_dir(struct walk *w, const char *name, struct backup_token *t,
		   u32 lo, u32 hi, u32 depth, struct akin_diag *diag)
{
	const struct node *old = parent_seek(w, w->top, name);
	const struct hint *old_hint = w->top->peek_hint;
	struct akin_diag why = { 0 };
	struct walk_frame *f;
	int err;

	err = source_walk_enter(w->source, name, &why);
	if (err) {
		err = settle(w, name, err, &why, diag);
		if (err)
			backup_token_free(t);
		return err ? err : add_unlisted(w, TAKE(t), NODE_UNREADABLE,
						diag);
	}
	if (lo == hi && w->b->opt->exclude_if_present &&
	    holds(w, w->b->opt->exclude_if_present)) {
		backup_token_free(t);
		return settle(w, name, source_walk_leave(w->source, &why),
			      &why, diag);
	}
	f = mem_zalloc(sizeof(*f));
	if (!f) {
		backup_token_free(t);
		return diag_set(diag, -AKIN_E_nomem, "directory");
	}
	if (lo != hi)
		t->node.flags |= NODE_PARTIAL;
	f->token = t;
	f->lo = lo;
	f->hi = hi;
	f->depth = depth;
	f->dev = lo == hi ? t->node.dev : 0;
	backup_current(w->b, source_walk_path(w->source, NULL));
	return open_frame(w, f, name, old, old_hint, diag);
}

static int close_frame(struct walk *w, struct akin_diag *diag)
{
	struct walk_frame *f = w->top;
	struct akin_diag why = { 0 };
	int err = 0;

	w->top = f->up;
	if (f->token) {
		atomic_fetch_add(&w->b->dirs, 1);
		err = ingest_mark(w->b->stream, MARK_DIR_END, TAKE(f->token),
				  diag);
		f->token = NULL;
	}
	frame_free(f);
	if (!err && w->top)
		err = settle(w, NULL, source_walk_leave(w->source, &why),
			     &why, diag);
	return err;
}

/* Entries -------------------------------------------------------------------*/

static bool reads_as_file(const struct walk *w, const struct node *n)
{
	return n->type == NODE_FILE ||
	       (w->b->opt->read_special &&
		(n->type == NODE_FIFO || n->type == NODE_CHARDEV ||
		 n->type == NODE_BLOCKDEV));
}

static bool is_other_fs(const struct walk *w, const struct node *n)
{
	return w->b->opt->one_file_system && w->top->dev &&
	       n->dev != w->top->dev;
}

/*
 * Another file system is entered only if it, or something in it, was asked for
 * by name: [lo, hi) are the targets it leads to, empty for the whole of it.
 */
static bool may_cross(struct walk *w, const char *name, u32 *lo, u32 *hi)
{
	const char *path = source_walk_path(w->source, name);
	size_t n = strlen(path);
	u32 i;

	*lo = *hi = 0;
	for (i = 0; i < w->nr_targets; i++) {
		if (strncmp(w->targets[i].path, path, n))
			continue;
		if (!w->targets[i].path[n])
			return true;
		if (w->targets[i].path[n] != '/')
			continue;
		if (*hi == 0)
			*lo = i;
		*hi = i + 1;
	}
	return *hi > 0;
}

/* What was asked for by name and is not there did not vanish: it is missed. */
static int stat_error(const struct walk *w, int err)
{
	return err == -AKIN_E_source_vanished && !w->top->dir ?
		       -AKIN_E_source_read : err;
}

/* @t's node was stat'ed without attributes; [lo, hi) != empty: leads on. */
static int add_entry(struct walk *w, const char *name, struct backup_token *t,
		     u32 lo, u32 hi, struct akin_diag *diag)
{
	const struct node *old = parent_seek(w, w->top, name);
	struct akin_diag why = { 0 };
	u64 dev = t->node.dev;
	int err;

	if (old && !w->b->opt->force && is_unchanged(old, &t->node) &&
	    store_content_is_sound(w->sound, &old->content,
				   w->top->peek_hint)) {
		backup_token_free(t);
		return keep(w, w->top, dev, diag);
	}
	source_node_release(&t->node);
	err = source_stat(w->source, name, true, &t->node, &why);
	if (err) {
		backup_token_free(t);
		return settle(w, name, stat_error(w, err), &why, diag);
	}
	if (t->node.type == NODE_DIR && is_pool(w, &t->node)) {
		if (w->top->token)
			w->top->token->node.flags |= NODE_PARTIAL;
		backup_token_free(t);
		return 0;
	}
	if (t->node.type == NODE_DIR && is_other_fs(w, &t->node) &&
	    !may_cross(w, name, &lo, &hi))
		return add_unlisted(w, TAKE(t), NODE_PARTIAL, diag);
	if (t->node.type == NODE_DIR)
		return add_dir(w, name, TAKE(t), lo, hi, w->top->depth + 1,
			       diag);
	if (reads_as_file(w, &t->node))
		return add_file(w, name, TAKE(t), old, diag);
	return mark_node(w, TAKE(t), diag);
}

static bool is_excluded(struct walk *w, const char *name, u8 type)
{
	if (pattern_set_count(w->excludes) == 0)
		return false;
	return pattern_set_match(w->excludes,
				 source_walk_path(w->source, name),
				 type == NODE_DIR);
}

static int visit(struct walk *w, const char *name, u8 type, u32 lo, u32 hi,
		 struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct backup_token *t;
	int err;

	err = store_check_stop(w->b->p, diag);
	if (err)
		return err;
	if (type && lo == hi && is_excluded(w, name, type))
		return 0;
	t = backup_token_new(diag);
	if (!t)
		return -AKIN_E_nomem;
	t->from_source = true;
	err = source_stat(w->source, name, false, &t->node, &why);
	if (err) {
		backup_token_free(t);
		return settle(w, name, stat_error(w, err), &why, diag);
	}
	if (!type && lo == hi && is_excluded(w, name, t->node.type)) {
		backup_token_free(t);
		return 0;
	}
	return add_entry(w, name, TAKE(t), lo, hi, diag);
}

/* The next name on the way to targets: 1, or 0 at the end. */
static int next_towards(struct walk *w, struct walk_frame *f,
			struct akin_diag *diag)
{
	const char *name = w->targets[f->lo].parts[f->depth];
	u32 lo = f->lo, hi = lo;
	bool whole = false;
	int err;

	for (; hi < f->hi && !strcmp(w->targets[hi].parts[f->depth], name);
	     hi++)
		whole = whole || w->targets[hi].nr_parts == f->depth + 1;
	f->lo = hi;
	/* A frame that leads on is told so by a non-empty range. */
	err = visit(w, name, 0, whole ? 0 : lo, whole ? 0 : hi, diag);
	return err ? err : 1;
}

static int next_listed(struct walk *w, struct walk_frame *f,
		       struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	const char *name;
	int more, err;
	u8 type;

	more = source_dir_next(f->dir, &name, &type, &why);
	if (more < 0) {
		if (f->token)
			f->token->node.flags |= NODE_UNREADABLE;
		return settle(w, NULL, more, &why, diag);
	}
	if (more == 0)
		return 0;
	err = visit(w, name, type, 0, 0, diag);
	return err ? err : 1;
}

static int open_root(struct walk *w, struct akin_diag *diag)
{
	struct walk_frame *f = mem_zalloc(sizeof(*f));
	int err = 0;

	if (!f)
		return diag_set(diag, -AKIN_E_nomem, "directory");
	if (w->targets[0].nr_parts == 0) {
		err = source_dir_open(w->source, &f->dir, diag);
		source_walk_identity(w->source, &f->dev, &(u64){ 0 });
	} else {
		f->hi = w->nr_targets;
	}
	if (err) {
		frame_free(f);
		return err;
	}
	if (w->have_parent)
		parent_open(w, f, &w->parent.root, &w->parent.root_hint);
	return push_frame(w, f, diag);
}

int walk_run(struct walk *w, struct akin_diag *diag)
{
	struct walk_frame *f;
	int err, more;

	err = open_root(w, diag);
	while (!err && w->top) {
		f = w->top;
		if (f->dir)
			more = next_listed(w, f, diag);
		else
			more = f->lo < f->hi ? next_towards(w, f, diag) : 0;
		if (more < 0)
			err = more;
		else if (more == 0)
			err = close_frame(w, diag);
	}
	while (w->top) {
		f = w->top;
		w->top = f->up;
		frame_free(f);
	}
	return err;
}
