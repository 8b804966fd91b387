/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores: a walk over the snapshot's tree feeds a fetcher; what the fetcher
 * emits, in the same order, goes to the target.
 *
 * The walk runs ahead of the target by the fetcher's window. Where only the
 * target can say whether a file's content is wanted at all (it exists, or is
 * another name of one restored before), the walk waits for it to catch up.
 */
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "os/clock.h"
#include "store/store_restore.h"

enum restore_mark { MARK_ENTER = 1, MARK_LEAVE, MARK_BEGIN, MARK_END,
		    MARK_SPECIAL, MARK_KEEP,
		    MARK_KEEP_REST,	/* without a token */
};

struct restore_token {
	struct node node;
	bool partial;		/* not all of the directory's names come */
	char *path;		/* in the snapshot, for messages */
};

static void token_free(struct restore_token *t)
{
	if (!t)
		return;
	node_release(&t->node);
	mem_free(t->path);
	mem_free(t);
}

static struct restore_token *token_new(const struct node *n, const char *path,
				       struct akin_diag *diag)
{
	struct restore_token *t = mem_zalloc(sizeof(*t));

	if (!t) {
		diag_set(diag, -AKIN_E_nomem, "node");
		return NULL;
	}
	t->path = mem_strdup(path);
	if (!t->path || store_clone_node(n, &t->node, diag)) {
		diag_set(diag, -AKIN_E_nomem, "node");
		token_free(t);
		return NULL;
	}
	return t;
}

void restore_warn(struct restore *r, const char *path, int code,
		  const char *text)
{
	r->result.total.warnings++;
	counters_add(r->p->counters, warnings, 1);
	if (r->opt->warning)
		r->opt->warning(r->opt->ctx, path, code, text);
}

/* Errors that concern one entry become warnings; the others end it all. */
static int settle(struct restore *r, const char *path, int err,
		  const struct akin_diag *why, struct akin_diag *diag)
{
	if (!err)
		return 0;
	switch (akin_error_class(err)) {
	case AKIN_CLASS_NOSPACE:
	case AKIN_CLASS_NOMEM:
	case AKIN_CLASS_INTERRUPTED:
		return diag_set(diag, err, "%s", why->code ? why->text :
				akin_strerror(err));
	default:
		if (err == -AKIN_E_too_many_files)
			return diag_pass(diag, err, why);
		r->nr_failed++;
		restore_warn(r, path, err, why->code ? why->text :
			     akin_strerror(err));
		return 0;
	}
}

static void report(struct restore *r, bool force)
{
	u64 now = clock_ns();

	if (!r->opt->progress || (!force && now < r->next_report_ns))
		return;
	r->next_report_ns = now + 200 * 1000 * 1000;
	r->result.total.elapsed_ns = now - r->start_ns;
	r->result.total.bytes_read = restore_bytes_read(r) - r->read_before;
	r->opt->progress(r->opt->ctx, &r->result.total);
}

/* Content -------------------------------------------------------------------*/

/*
 * What the fetcher emits is some 20 KiB long, from anywhere to anywhere. A file
 * system has less to do with few, long and aligned writes, even after a copy:
 * 77 MB in pieces of 22 KB take 50 ms of processor time, in those of 128 KiB
 * or more 20.
 */
#define WRITE_BYTES (256 * KiB)

static int flush(struct restore *r, struct akin_diag *diag)
{
	size_t n = r->nr_pending;

	r->nr_pending = 0;
	return n ? target_file_data(r->target, r->off - n, r->pending, n, diag)
		 : 0;
}

/* Up to the next multiple of WRITE_BYTES it is gathered; what spans whole ones
 * goes straight through. */
static int write_data(struct restore *r, const u8 *data, u64 len,
		      struct akin_diag *diag)
{
	u64 room, n;
	int err = 0;

	for (; !err && len; data += n, len -= n) {
		room = WRITE_BYTES - r->off % WRITE_BYTES;
		if (!r->nr_pending && len >= room) {
			n = len - (r->off + len) % WRITE_BYTES;
			err = target_file_data(r->target, r->off, data,
					       (size_t)n, diag);
			r->off += n;
			continue;
		}
		n = min_u64(len, room);
		memcpy(r->pending + r->nr_pending, data, n);
		r->nr_pending += n;
		r->off += n;
		if (n == room)
			err = flush(r, diag);
	}
	return err;
}

/* Emission ------------------------------------------------------------------*/

static void emit_enter(struct restore *r, struct restore_token *t, int *err,
		       struct akin_diag *why)
{
	/* Below a directory that could not be made, nothing is tried. */
	if (r->dead_depth) {
		r->dead_depth++;
		return;
	}
	*err = target_dir_begin(r->target, &t->node,
				t->partial ? TARGET_DIR_PARTIAL : 0, why);
	if (*err)
		r->dead_depth = 1;
}

static void emit_leave(struct restore *r, struct restore_token *t, int *err,
		       struct akin_diag *why)
{
	if (r->dead_depth) {
		r->dead_depth--;
		return;
	}
	*err = target_dir_end(r->target, &t->node, why);
	r->result.total.dirs++;
}

static void emit_begin(struct restore *r, struct restore_token *t, int *err,
		       struct akin_diag *why)
{
	u64 linked = target_counts(r->target)->linked;

	r->off = 0;
	r->nr_pending = 0;
	r->file_state = FILE_DEAD;
	if (r->dead_depth)
		return;
	*err = target_file_begin(r->target, &t->node, &r->action, why);
	r->is_link = target_counts(r->target)->linked > linked;
	if (!*err)
		r->file_state = FILE_OPEN;
	snprintf(r->current, sizeof(r->current), "%s", t->path);
	r->result.total.current = r->current;
}

static void emit_end(struct restore *r, struct restore_token *t, int *err,
		     struct akin_diag *why)
{
	if (r->file_state == FILE_OPEN && r->action != TARGET_SKIP) {
		*err = flush(r, why);
		if (*err)
			r->file_state = FILE_FAILED;
	}
	if (r->file_state == FILE_OPEN)
		*err = target_file_end(r->target, &t->node, why);
	else if (r->file_state == FILE_FAILED)
		target_file_fail(r->target);
	if (r->file_state == FILE_OPEN && !*err) {
		r->result.total.files++;
		counters_add(r->p->counters, files_restored, 1);
	}
	counters_stream_item(r->shown);
	if (r->file_state == FILE_OPEN && r->action == TARGET_SKIP) {
		r->result.files_skipped += !r->is_link;
		r->result.total.bytes += t->node.size;
	}
	r->file_state = FILE_DEAD;
}

static int on_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	struct restore_token *t = token;
	struct akin_diag why = { 0 };
	struct restore *r = ctx;
	int err = 0;

	switch (what) {
	case MARK_ENTER:
		emit_enter(r, t, &err, &why);
		break;
	case MARK_LEAVE:
		emit_leave(r, t, &err, &why);
		break;
	case MARK_BEGIN:
		emit_begin(r, t, &err, &why);
		break;
	case MARK_END:
		emit_end(r, t, &err, &why);
		break;
	case MARK_KEEP:
		if (!r->dead_depth)
			err = target_keep(r->target, t->node.name, &why);
		break;
	case MARK_KEEP_REST:
		if (!r->dead_depth)
			target_keep_rest(r->target);
		break;
	default:
		if (!r->dead_depth)
			err = target_special(r->target, &t->node, &why);
		r->result.total.others++;
		break;
	}
	err = settle(r, t ? t->path : "", err, &why, diag);
	token_free(t);
	report(r, false);
	return err ? err : store_check_stop(r->p, diag);
}

static int file_failed(struct restore *r, int err, const struct akin_diag *why,
		       struct akin_diag *diag)
{
	if (r->file_state == FILE_OPEN)
		r->file_state = FILE_FAILED;
	return settle(r, r->current, err, why, diag);
}

static int on_data(void *ctx, const u8 *data, u64 len, int err,
		   const struct akin_diag *why, struct akin_diag *diag)
{
	struct akin_diag own = { 0 };
	struct restore *r = ctx;

	if (r->file_state != FILE_OPEN || r->action == TARGET_SKIP)
		return store_check_stop(r->p, diag);
	if (err)
		return file_failed(r, err, why, diag);
	err = write_data(r, data, len, &own);
	r->result.total.bytes += len;
	if (err)
		return file_failed(r, err, &own, diag);
	return store_check_stop(r->p, diag);
}

static int on_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	struct akin_diag own = { 0 };
	struct restore *r = ctx;
	int err;

	if (r->file_state != FILE_OPEN || r->action == TARGET_SKIP)
		return 0;
	err = flush(r, &own);
	if (!err)
		err = target_file_hole(r->target, r->off, len, &own);
	r->off += len;
	r->result.total.bytes += len;
	return err ? file_failed(r, err, &own, diag) : 0;
}

static void on_drop(void *ctx, int what, void *token)
{
	token_free(token);
}

/* The walk ------------------------------------------------------------------*/

static int push_mark(struct restore *r, int what, const struct node *n,
		     const char *path, bool partial, struct akin_diag *diag)
{
	struct restore_token *t = token_new(n, path, diag);

	if (!t)
		return -AKIN_E_nomem;
	t->partial = partial;
	return fetcher_mark(r->fetcher, what, t, diag);
}

static int push_file(struct restore *r, const struct node *n,
		     const struct hint *hint, const char *path,
		     struct akin_diag *diag)
{
	bool ask = !r->fresh || (n->flags & NODE_LINKED);
	int err;

	err = push_mark(r, MARK_BEGIN, n, path, false, diag);
	if (!err && ask)
		err = fetcher_drain(r->fetcher, diag);
	if (!err && !(ask && (r->file_state != FILE_OPEN ||
			      r->action == TARGET_SKIP)))
		err = fetcher_content(r->fetcher, &n->content, hint, 0,
				      UINT64_MAX, diag);
	if (!err)
		err = push_mark(r, MARK_END, n, path, false, diag);
	return err;
}

static bool is_wanted(const struct restore *r, const char *path, bool is_dir)
{
	if (r->excludes && pattern_set_match(r->excludes, path, is_dir))
		return false;
	return !r->includes ||
	       pattern_set_match_above(r->includes, path, is_dir);
}

/* Directories entered by the walk: which of them the target knows of. */
struct open_dir {
	struct node node;
	char *path;
	bool pushed;
	struct open_dir *up;
};

bool restore_is_complete(const struct node *dir)
{
	return !(dir->flags & (NODE_UNREADABLE | NODE_PARTIAL));
}

/* The target learns of a directory when something below it is wanted. */
static int push_dirs(struct restore *r, struct open_dir *d,
		     struct akin_diag *diag)
{
	struct open_dir *below;
	int err;

	while (d && !d->pushed) {
		/* the outermost first; chains of unpushed ones are short */
		for (below = d; below->up && !below->up->pushed;)
			below = below->up;
		err = push_mark(r, MARK_ENTER, &below->node, below->path,
				r->includes ||
				!restore_is_complete(&below->node), diag);
		if (err)
			return err;
		below->pushed = true;
	}
	return 0;
}

static int enter_dir(struct restore *r, const struct tree_step *s,
		     struct akin_diag *diag)
{
	struct open_dir *d = mem_zalloc(sizeof(*d));
	bool wanted = is_wanted(r, s->path, true);
	int err;

	if (!d)
		return diag_set(diag, -AKIN_E_nomem, "directory");
	d->up = r->dirs;
	r->dirs = d;
	d->path = mem_strdup(s->path);
	err = d->path ? store_clone_node(s->node, &d->node, diag)
		      : diag_set(diag, -AKIN_E_nomem, "directory");
	if (!err && wanted)
		err = push_dirs(r, d, diag);
	return err;
}

static void drop_dir(struct restore *r)
{
	struct open_dir *d = r->dirs;

	r->dirs = d->up;
	node_release(&d->node);
	mem_free(d->path);
	mem_free(d);
}

static int leave_dir(struct restore *r, struct akin_diag *diag)
{
	struct open_dir *d = r->dirs;
	int err = 0;

	if (!d)
		return 0;	/* the directory that was asked for itself */
	if (d->pushed)
		err = push_mark(r, MARK_LEAVE, &d->node, d->path, false,
				diag);
	drop_dir(r);
	return err;
}

/* Not restored, but the snapshot has it: deletion must spare it. */
static int skip_node(struct restore *r, struct tree_walk *w,
		     const struct tree_step *s, struct akin_diag *diag)
{
	tree_walk_skip(w);
	if (!r->opt->delete_extra || r->includes || (r->dirs &&
						     !r->dirs->pushed))
		return 0;
	return push_mark(r, MARK_KEEP, s->node, s->path, false, diag);
}

static int visit(struct restore *r, struct tree_walk *w,
		 const struct tree_step *s, struct akin_diag *diag)
{
	bool is_dir = s->node->type == NODE_DIR;
	int err;

	if (!is_wanted(r, s->path, is_dir) &&
	    !(is_dir && r->includes &&
	      !(r->excludes && pattern_set_match(r->excludes, s->path, true)) &&
	      pattern_set_may_match_below(r->includes, s->path)))
		return skip_node(r, w, s, diag);
	if (is_dir)
		return enter_dir(r, s, diag);
	err = push_dirs(r, r->dirs, diag);
	if (err)
		return err;
	if (s->node->type == NODE_FILE || s->node->type == NODE_STREAM)
		return push_file(r, s->node, s->hint, s->path, diag);
	return push_mark(r, MARK_SPECIAL, s->node, s->path, false, diag);
}

/* A listing is damaged: what it still had is lost, but not to be deleted. */
static int leave_damaged(struct restore *r, int code,
			 const struct akin_diag *why, struct akin_diag *diag)
{
	const char *path = r->dirs ? r->dirs->path : "/";
	int err;

	err = settle(r, path, code, why, diag);
	if (!err && (!r->dirs || r->dirs->pushed))
		err = fetcher_mark(r->fetcher, MARK_KEEP_REST, NULL, diag);
	return err ? err : leave_dir(r, diag);
}

static int walk_tree(struct restore *r, const struct content *listing,
		     const struct hint *hint, const char *base,
		     struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct tree_walk *w = NULL;
	struct tree_step s;
	int err, more;

	err = tree_walk_open(&r->p->depot, &r->p->dec, listing, hint, base, &w,
			     diag);
	while (!err) {
		more = tree_walk_next(w, &s, &why);
		if (more == 0)
			break;
		if (more < 0) {
			err = leave_damaged(r, more, &why, diag);
			diag_clear(&why);
		} else if (s.event == TREE_LEAVE) {
			err = leave_dir(r, diag);
		} else {
			err = visit(r, w, &s, diag);
		}
	}
	while (r->dirs)
		drop_dir(r);
	tree_walk_close(w);
	return err;
}

static int restore_node(struct restore *r, const struct node *n,
			const struct hint *hint, struct akin_diag *diag)
{
	const char *base = r->opt->path ? r->opt->path : "";
	int err;

	if (n->type == NODE_DIR)
		err = walk_tree(r, &n->content, hint, base, diag);
	else if (n->type == NODE_FILE || n->type == NODE_STREAM)
		err = push_file(r, n, hint, base, diag);
	else
		err = push_mark(r, MARK_SPECIAL, n, base, false, diag);
	if (!err)
		err = fetcher_drain(r->fetcher, diag);
	return err;
}

int restore_run(struct restore *r, const struct node *n,
		const struct hint *hint, struct akin_diag *diag)
{
	struct fetcher_options opt = { 0 };
	int err;

	opt.window_bytes = r->p->budget.window;
	opt.data = on_data;
	opt.hole = on_hole;
	opt.mark = on_mark;
	opt.drop = on_drop;
	opt.ctx = r;
	r->pending = mem_alloc(WRITE_BYTES);
	if (!r->pending)
		return diag_set(diag, -AKIN_E_nomem, "restore");
	r->shown = counters_stream_begin(r->p->streams, AKIN_STREAM_OUT,
					 r->opt->path ? r->opt->path : "/",
					 clock_ns());
	opt.shown = r->shown;
	err = fetcher_new(&r->p->depot, &r->p->dec, &opt, &r->fetcher, diag);
	if (!err)
		err = restore_node(r, n, hint, diag);
	fetcher_free(r->fetcher);
	r->fetcher = NULL;
	counters_stream_end(r->shown);
	mem_free(r->pending);
	r->pending = NULL;
	if (!err)
		report(r, true);
	return err;
}
