/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From roots to live entries: trees, listings, recipes, down to chunks.
 *
 * A piece of metadata whose bit is set is not entered again, so each is read
 * once however many snapshots share it. Pieces in containers out of the marks'
 * range are remembered as far as memory goes (verify_seen).
 *
 * Where something lives is asked of depot_locate(): hints, directories, index.
 * What is nowhere is damage, and then nothing at all may be deleted: the chunk
 * may be in a container that has just not been found.
 */
#include <stdio.h>

#include "base/mem.h"
#include "gc/gc_internal.h"
#include "tree/tree_walk.h"

/* A listing with a piece of that length may have records that run over its
 * end; the piece alone does not say what they are. */
#define PIECE_RUNS_OVER (64 * KiB)

/* *new_ret: it has not been gone into. */
static int mark_hit(struct gc *g, const struct dir_hit *hit, bool *new_ret,
		    struct akin_diag *diag)
{
	bool outside;
	int err;

	err = gc_marks_live(g->marks, hit->container, hit->entry, new_ret,
			    &outside);
	if (err)
		return diag_set(diag, err, "marking container %llu: %s",
				(unsigned long long)hit->container,
				akin_strerror(err));
	if (outside)
		*new_ret = !verify_seen_has(g->seen, hit->container,
					    hit->entry);
	return 0;
}

/* g->fps[0 .. n) into g->hits. */
static int locate(struct gc *g, u32 n, const struct hint *hint,
		  struct akin_diag *diag)
{
	return depot_locate(g->depot, hint, g->fps, n, g->hits, diag);
}

static int mark_entries(struct gc *g, const struct recipe_entry *e, u32 nr,
			const struct hint *hint, struct akin_diag *diag)
{
	u32 i, n = 0;
	bool is_new;
	int err;

	for (i = 0; i < nr; i++) {
		if (e[i].type == RECIPE_CHUNK || e[i].type == RECIPE_REPEAT)
			g->fps[n++] = e[i].fp;
	}
	err = n ? locate(g, n, hint, diag) : 0;
	for (i = 0; !err && i < n; i++)
		err = mark_hit(g, &g->hits[i], &is_new, diag);
	return err;
}

static void frame_reset(struct gc_frame *f)
{
	recipe_piece_release(&f->piece);
	memset(&f->piece, 0, sizeof(f->piece));
	f->next = 0;
}

/* 1: frame @level has the piece @fp; 0: it was gone into before. */
static int enter(struct gc *g, u32 level, const struct fp *fp,
		 const struct hint *hint, struct akin_diag *diag)
{
	struct gc_frame *f = &g->frames[level];
	struct dir_hit at;
	bool is_new;
	int err;

	frame_reset(f);
	g->fps[0] = *fp;
	err = locate(g, 1, hint, diag);
	at = g->hits[0];
	if (!err)
		err = mark_hit(g, &at, &is_new, diag);
	if (err || !is_new)
		return err;
	err = depot_read_piece(g->depot, g->opt->dec, fp, hint, &f->bytes,
			       &f->hint, diag);
	if (err)
		return err;
	verify_seen_add(g->seen, at.container, at.entry);
	g->progress.pieces++;
	err = recipe_piece_decode(f->bytes.data, f->bytes.len, &f->piece);
	if (!err && f->piece.level != level)
		err = -AKIN_E_bad_field;
	if (err)
		return diag_set(diag, err, "recipe piece in container %llu: %s",
				(unsigned long long)at.container,
				akin_strerror(err));
	return 1;
}

static int walk_recipe(struct gc *g, const struct content *ct,
		       const struct hint *hint, struct akin_diag *diag)
{
	u32 level = ct->level;
	struct gc_frame *f;
	int more;

	more = enter(g, level, &ct->root, hint, diag);
	while (more > 0) {
		f = &g->frames[level];
		if (level > 0 && f->next < f->piece.nr) {
			more = enter(g, level - 1,
				     &f->piece.children[f->next++].fp,
				     &f->hint, diag);
			if (more > 0)
				level--;
			else if (more == 0)
				more = 1;
			continue;
		}
		if (level == 0)
			more = mark_entries(g, f->piece.entries, f->piece.nr,
					    &f->hint, diag);
		else
			more = 0;
		if (!more)
			more = gc_tick(g, diag);
		if (!more)
			more = level++ < ct->level;
	}
	return more;
}

static int walk_content(struct gc *g, const struct content *ct,
			const struct hint *hint, struct akin_diag *diag)
{
	if (ct->kind == CONTENT_ENTRIES)
		return mark_entries(g, ct->entries, ct->nr, hint, diag);
	if (ct->kind == CONTENT_ROOT && ct->level <= RECIPE_MAX_LEVEL)
		return walk_recipe(g, ct, hint, diag);
	if (ct->kind == CONTENT_NONE)
		return 0;
	return diag_set(diag, -AKIN_E_bad_field, "a recipe is too deep");
}

/* Was this very listing walked before? 1 or 0. */
static int listing_known(struct gc *g, const struct content *ct,
			 const struct hint *hint, struct akin_diag *diag)
{
	struct gc_bits *b;
	u32 i, n = 0;
	int err;

	if (ct->kind == CONTENT_ROOT)
		g->fps[n++] = ct->root;
	for (i = 0; ct->kind == CONTENT_ENTRIES && i < ct->nr; i++) {
		if (ct->entries[i].type != RECIPE_CHUNK ||
		    (i + 1 < ct->nr && ct->entries[i].len >= PIECE_RUNS_OVER))
			return 0;
		g->fps[n++] = ct->entries[i].fp;
	}
	if (!n)
		return 0;
	err = locate(g, n, hint, diag);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		b = gc_marks_get(g->marks, g->hits[i].container);
		/* Whole ones were not walked. */
		if (!(b && gc_bit(b, b->live, g->hits[i].entry)) &&
		    !verify_seen_has(g->seen, g->hits[i].container,
				     g->hits[i].entry))
			return 0;
	}
	return 1;
}

/* A piece of a listing, or of its recipe, has been read. */
static int on_piece(void *ctx, const struct fp *fp, struct akin_diag *diag)
{
	struct gc *g = ctx;
	bool is_new;
	int err;

	g->fps[0] = *fp;
	err = locate(g, 1, NULL, diag);
	if (!err)
		err = mark_hit(g, &g->hits[0], &is_new, diag);
	if (err)
		return err;
	verify_seen_add(g->seen, g->hits[0].container, g->hits[0].entry);
	g->progress.pieces++;
	return 0;
}

static int one_node(struct gc *g, struct tree_walk *tw,
		    const struct tree_step *step, struct akin_diag *diag)
{
	const struct node *n = step->node;
	int known;

	if (n->type == NODE_FILE || n->type == NODE_STREAM)
		return walk_content(g, &n->content, step->hint, diag);
	if (n->type != NODE_DIR)
		return 0;
	known = listing_known(g, &n->content, step->hint, diag);
	if (known > 0)
		tree_walk_skip(tw);
	return known < 0 ? known : 0;
}

static int walk_tree(struct gc *g, struct tree_walk *tw,
		     struct akin_diag *diag)
{
	struct tree_step step;
	int err = 0;

	tree_walk_on_piece(tw, on_piece, g);
	while (!err) {
		err = gc_tick(g, diag);
		if (err)
			break;
		memset(&step, 0, sizeof(step));
		err = tree_walk_next(tw, &step, diag);
		if (err <= 0)
			break;
		err = step.event == TREE_NODE ? one_node(g, tw, &step, diag) :
						0;
	}
	return err;
}

int gc_walk_snapshot(struct gc *g, const struct snapshot *s,
		     struct akin_diag *diag)
{
	struct tree_walk *tw;
	u32 i;
	int err;

	err = listing_known(g, &s->root, &s->root_hint, diag);
	if (err > 0)
		return 0;
	if (!err)
		err = tree_walk_open(g->depot, g->opt->dec, &s->root,
				     &s->root_hint, "", &tw, diag);
	if (!err) {
		err = walk_tree(g, tw, diag);
		tree_walk_close(tw);
	}
	for (i = 0; i < ARRAY_SIZE(g->frames); i++)
		frame_reset(&g->frames[i]);
	return err;
}
