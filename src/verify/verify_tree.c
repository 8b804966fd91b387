/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every snapshot's tree. A directory whose listing was noted as whole is not
 * entered again; one is noted when everything below it was whole.
 */
#include <stdio.h>

#include "base/mem.h"
#include "tree/tree_walk.h"
#include "verify/verify_internal.h"

/* A directory on the way down. */
struct level {
	struct content listing;	/* no inline entries: those are never noted */
	struct hint hint;	/* owned */
	bool bad;
};

struct walk {
	struct verify *v;
	struct akin_diag *diag;
	struct level *levels;
	u32 nr, cap;
	char id[2 * SNAPSHOT_ID_BYTES + 1];
	u64 nr_bad;		/* paths of this snapshot */
};

static void hex_id(const u8 *id, char *out)
{
	u32 i;

	for (i = 0; i < SNAPSHOT_ID_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
}

static int push(struct walk *w, const struct content *listing,
		const struct hint *hint)
{
	struct level *l;
	u32 cap;

	if (w->nr == w->cap) {
		cap = w->cap ? w->cap * 2 : 16;
		l = mem_realloc(w->levels, cap * sizeof(*l));
		if (!l)
			return diag_set(w->diag, -AKIN_E_nomem, "check");
		w->levels = l;
		w->cap = cap;
	}
	l = &w->levels[w->nr];
	memset(l, 0, sizeof(*l));
	l->listing = *listing;
	if (hint->nr) {
		l->hint.containers = mem_dup(hint->containers, hint->nr *
					     sizeof(*hint->containers));
		if (!l->hint.containers)
			return diag_set(w->diag, -AKIN_E_nomem, "check");
		l->hint.nr = hint->nr;
	}
	w->nr++;
	return 0;
}

/* The topmost directory is done: note it, or spoil the one it is in. */
static void pop(struct walk *w)
{
	struct level *l = &w->levels[--w->nr];

	if (!l->bad)
		content_checker_note(w->v->checker, &l->listing, &l->hint);
	else if (w->nr)
		w->levels[w->nr - 1].bad = true;
	mem_free(l->hint.containers);
}

static void found(struct walk *w, const char *path, int code,
		  const char *text)
{
	struct verify_where where = { w->id, *path ? path : "/" };

	w->nr_bad++;
	w->v->result->files_damaged++;
	w->levels[w->nr - 1].bad = true;
	verify_found(w->v, VERIFY_FILE, code, &where, "%s", text);
}

static int check_file(struct walk *w, const struct tree_step *step)
{
	struct content_verdict verdict;
	char text[640];
	int err;

	err = content_checker_check(w->v->checker, &step->node->content,
				    step->hint, &verdict, w->diag);
	if (err || !verdict.nr_bad)
		return err;
	snprintf(text, sizeof(text), "%s", verdict.text);
	if (verdict.nr_bad > 1)
		snprintf(text, sizeof(text), "%s, and %llu more",
			 verdict.text, (unsigned long long)verdict.nr_bad - 1);
	found(w, step->path, verdict.code, text);
	return 0;
}

static int one_node(struct walk *w, struct tree_walk *tw,
		    const struct tree_step *step)
{
	const struct node *n = step->node;

	w->v->progress.files++;
	w->v->progress.current = step->path;
	if (n->type == NODE_FILE || n->type == NODE_STREAM)
		return check_file(w, step);
	if (n->type != NODE_DIR)
		return 0;
	if (content_checker_seen(w->v->checker, &n->content, step->hint)) {
		tree_walk_skip(tw);
		return 0;
	}
	return push(w, &n->content, step->hint);
}

/* A listing that could not be read: its directory is left (the walk says so)
 * or was not entered at all. */
static int one_failure(struct walk *w, const struct tree_step *step, int err,
		       const struct akin_diag *why)
{
	const char *path = step->event == TREE_LEAVE ? step->path : "";

	if (!verify_is_damage(err) || !w->nr)
		return diag_pass(w->diag, err, why);
	found(w, path, err, why->text);
	pop(w);
	return 0;
}

static int count_piece(void *ctx, const struct fp *fp, struct akin_diag *diag)
{
	struct walk *w = ctx;

	w->v->result->pieces++;
	return 0;
}

static int walk_tree(struct walk *w, struct tree_walk *tw)
{
	struct akin_diag why = { 0 };
	struct tree_step step;
	int err = 0, more;

	tree_walk_on_piece(tw, count_piece, w);
	while (!err) {
		err = verify_tick(w->v, w->diag);
		if (err)
			break;
		memset(&step, 0, sizeof(step));
		diag_clear(&why);
		more = tree_walk_next(tw, &step, &why);
		if (more == 0)
			break;
		if (more < 0)
			err = one_failure(w, &step, more, &why);
		else if (step.event == TREE_LEAVE)
			pop(w);
		else
			err = one_node(w, tw, &step);
	}
	return err;
}

static int walk_snapshot(struct walk *w, const struct snapshot *s)
{
	struct tree_step nowhere = { 0 };
	struct akin_diag why = { 0 };
	struct verify *v = w->v;
	struct tree_walk *tw;
	int err;

	if (content_checker_seen(v->checker, &s->root, &s->root_hint))
		return 0;
	err = push(w, &s->root, &s->root_hint);
	if (err)
		return err;
	err = tree_walk_open(v->depot, v->opt->dec, &s->root, &s->root_hint,
			     "", &tw, &why);
	if (err) {
		err = one_failure(w, &nowhere, err, &why);
	} else {
		err = walk_tree(w, tw);
		v->progress.current = "snapshots";
		tree_walk_close(tw);
	}
	/* The root is left by the end of the walk. */
	while (w->nr) {
		w->levels[w->nr - 1].bad |= err != 0;
		pop(w);
	}
	return err;
}

static int one_snapshot(void *ctx, const struct snapshot *s)
{
	struct walk *w = ctx;
	int err;

	hex_id(s->id, w->id);
	w->nr_bad = 0;
	err = walk_snapshot(w, s);
	if (err)
		return err;
	w->v->result->snapshots++;
	w->v->progress.snapshots++;
	w->v->result->snapshots_damaged += w->nr_bad != 0;
	return 0;
}

int verify_trees(struct verify *v, struct akin_diag *diag)
{
	struct content_checker_stats stats;
	struct akin_diag why = { 0 };
	struct walk w = { .v = v, .diag = &why };
	int err;

	v->progress.current = "snapshots";
	err = catalog_each_snapshot(v->catalog, one_snapshot, &w, &why);
	mem_free(w.levels);
	content_checker_get_stats(v->checker, &stats);
	v->result->pieces += stats.pieces;
	v->result->chunks_located = stats.chunks;
	return verify_settle(v, VERIFY_POOL, err, &why, diag, "%s", "");
}
