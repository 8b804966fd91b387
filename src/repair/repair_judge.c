/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging snapshots; see repair_judge.h. One bad file is enough: the rest of
 * that snapshot is not looked at. A directory is noted as whole only when all
 * below it was.
 */
#include "base/mem.h"
#include "repair/repair_judge.h"
#include "tree/tree_walk.h"
#include "verify/verify_content.h"

/* A directory that the walk is in. */
struct level {
	struct content listing;		/* without inline entries */
	struct hint hint;		/* owned */
};

struct repair_judge {
	struct depot *depot;
	struct decoder *dec;
	struct content_checker *checker;
	struct level *levels;
	u32 nr, cap;
};

int repair_judge_new(struct depot *depot, struct decoder *dec,
		     size_t memory_bytes, struct repair_judge **out,
		     struct akin_diag *diag)
{
	struct repair_judge *j = mem_zalloc(sizeof(*j));
	int err;

	if (!j)
		return diag_set(diag, -AKIN_E_nomem, "snapshots");
	j->depot = depot;
	j->dec = dec;
	err = content_checker_new(depot, dec, memory_bytes, &j->checker, diag);
	if (err) {
		repair_judge_free(j);
		return err;
	}
	content_checker_doubt_bases(j->checker);
	*out = j;
	return 0;
}

static void pop(struct repair_judge *j)
{
	mem_free(j->levels[--j->nr].hint.containers);
}

void repair_judge_free(struct repair_judge *j)
{
	if (!j)
		return;
	content_checker_free(j->checker);
	mem_free(j->levels);
	mem_free(j);
}

static int push(struct repair_judge *j, const struct content *listing,
		const struct hint *hint)
{
	u32 cap = j->cap ? j->cap * 2 : 16;
	struct level *l;

	if (j->nr == j->cap) {
		l = mem_realloc(j->levels, cap * sizeof(*l));
		if (!l)
			return -AKIN_E_nomem;
		j->levels = l;
		j->cap = cap;
	}
	l = &j->levels[j->nr];
	memset(l, 0, sizeof(*l));
	l->listing = *listing;
	if (hint->nr) {
		l->hint.containers = mem_dup(hint->containers, hint->nr *
					     sizeof(*hint->containers));
		if (!l->hint.containers)
			return -AKIN_E_nomem;
		l->hint.nr = hint->nr;
	}
	j->nr++;
	return 0;
}

/* 1: as good as it must be, 0: not. */
static int one_node(struct repair_judge *j, struct tree_walk *tw,
		    const struct tree_step *step, struct akin_diag *diag)
{
	const struct node *n = step->node;
	struct content_verdict v = { 0 };
	int err;

	if (n->type == NODE_FILE || n->type == NODE_STREAM) {
		err = content_checker_check(j->checker, &n->content, step->hint,
					    &v, diag);
		return err ? err : !v.nr_bad;
	}
	if (n->type != NODE_DIR)
		return 1;
	if (content_checker_seen(j->checker, &n->content, step->hint)) {
		tree_walk_skip(tw);
		return 1;
	}
	err = push(j, &n->content, step->hint);
	return err ? diag_set(diag, err, "snapshots") : 1;
}

/* 1: all of it is whole, 0: not. *any_ret: something could be listed. */
static int walk(struct repair_judge *j, struct tree_walk *tw,
		int (*stopped)(void *ctx), void *ctx, bool *any_ret,
		struct akin_diag *diag)
{
	struct tree_step step = { 0 };
	struct akin_diag why = { 0 };
	struct level *l;
	int more = 1, good = 1;

	while (good > 0) {
		if (stopped && stopped(ctx))
			return diag_set(diag, -AKIN_E_interrupted,
					"interrupted");
		diag_clear(&why);
		more = tree_walk_next(tw, &step, &why);
		if (more <= 0)
			break;
		*any_ret = true;
		if (step.event != TREE_LEAVE) {
			good = one_node(j, tw, &step, diag);
			continue;
		}
		l = &j->levels[j->nr - 1];
		content_checker_note(j->checker, &l->listing, &l->hint);
		pop(j);
	}
	if (more < 0 && !verify_is_damage(more))
		return diag_pass(diag, more, &why);
	return more < 0 ? 0 : good;
}

int repair_judge(struct repair_judge *j, const struct snapshot *s,
		 int (*stopped)(void *ctx), void *ctx,
		 enum repair_verdict *out, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct tree_walk *tw;
	bool any = false;
	int good;

	*out = REPAIR_WHOLE;
	if (content_checker_seen(j->checker, &s->root, &s->root_hint))
		return 0;
	good = tree_walk_open(j->depot, j->dec, &s->root, &s->root_hint, "",
			      &tw, &why);
	if (good && !verify_is_damage(good))
		return diag_pass(diag, good, &why);
	if (!good) {
		good = walk(j, tw, stopped, ctx, &any, diag);
		tree_walk_close(tw);
	} else {
		good = 0;
	}
	while (j->nr)
		pop(j);
	if (good > 0)
		content_checker_note(j->checker, &s->root, &s->root_hint);
	else
		*out = any ? REPAIR_PART : REPAIR_LOST;
	return good < 0 ? good : 0;
}
