/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of things.
 *
 *	pass:   mark -> plan -> condemn -> delete -> copy, delete, copy ...
 *	          ^               |                    |
 *	          '-- roots were added ----------------'
 *
 * A pass is about one range of container numbers, the highest first; small
 * pools have one. When copying has dropped references, a round of passes more
 * finds what they named dead.
 */
#include "base/mem.h"
#include "catalog/catalog_scrub.h"
#include "gc/gc_heirs.h"
#include "gc/gc_internal.h"
#include "os/clock.h"

#define REPORT_NS (200ull * 1000 * 1000)
/* Of the marks' memory, for pieces out of their range. */
#define SEEN_SHARE 8
/* Who commits faster than we mark wins; the next run tries again. */
#define MARK_TRIES 16
/* References lead to references: a chain of these is the deepest there is. */
#define ROUNDS_MAX 8

int gc_tick(struct gc *g, struct akin_diag *diag)
{
	u64 now;

	if (g->opt->stopped && g->opt->stopped(g->opt->store))
		return diag_set(diag, -AKIN_E_interrupted, "interrupted");
	if (!g->opt->progress)
		return 0;
	now = clock_ns();
	if (now - g->said_ns >= REPORT_NS) {
		g->said_ns = now;
		g->opt->progress(g->opt->ctx, &g->progress);
	}
	return 0;
}

void gc_at(struct gc *g, enum gc_point point)
{
	if (g->opt->at)
		g->opt->at(g->opt->ctx, point);
}

/* Marking -------------------------------------------------------------------*/

struct mark {
	struct gc *g;
	struct akin_diag *diag;
};

static int one_session(void *ctx, const struct catalog_session *s)
{
	struct mark *k = ctx;
	int err = 0;

	if (s->state == SESSION_LIVING || s->state == SESSION_INTERRUPTED)
		err = numset_add(&k->g->rooted, s->number);
	if (!err && s->state == SESSION_INTERRUPTED)
		err = numset_add(&k->g->interrupted, s->number);
	return err;
}

/* What a session has checkpointed and not yet committed. */
static int one_container(void *ctx, const struct catalog_container *row)
{
	struct mark *k = ctx;

	if (row->condemned_txn || !numset_has(&k->g->rooted, row->session))
		return 0;
	return gc_marks_whole(k->g->marks, row->number);
}

static int one_snapshot(void *ctx, const struct snapshot *s)
{
	struct mark *k = ctx;
	int err;

	err = gc_walk_snapshot(k->g, s, k->diag);
	if (err) {
		diag_prefix(k->diag, "snapshot %llu",
			    (unsigned long long)s->number);
		if (akin_error_class(err) == AKIN_CLASS_CORRUPT)
			diag_hint(k->diag, "Nothing may be reclaimed while "
				  "data cannot be found: run 'akin check'.");
		return err;
	}
	k->g->progress.snapshots++;
	k->g->result->snapshots++;
	return 0;
}

int gc_mark(struct gc *g, struct akin_diag *diag)
{
	struct mark k = { g, diag };
	struct catalog_numbers n;
	int err;

	g->progress.phase = "marking";
	g->progress.snapshots = g->progress.pieces = 0;
	g->result->snapshots = 0;
	numset_release(&g->rooted);
	numset_release(&g->interrupted);
	/* Whatever comes after this number is noticed when condemning. */
	err = catalog_numbers(g->catalog, &n, diag);
	if (err)
		return err;
	g->marked = n.txn;
	g->last_container = n.last_container;
	err = catalog_each_session(g->catalog, one_session, &k, diag);
	if (!err)
		err = catalog_each_container(g->catalog, one_container, &k,
					     diag);
	if (!err)
		err = catalog_each_root(g->catalog, one_snapshot, &k, diag);
	if (!err)
		err = gc_close(g, diag);
	return diag_said(diag, err);
}

/* Passes --------------------------------------------------------------------*/

static int mark_and_plan(struct gc *g, struct akin_diag *diag)
{
	int err = gc_mark(g, diag);

	return err ? err : gc_plan(g, diag);
}

/* Figures of a plan that was thrown away. */
static void forget_plan(struct gc_result *r, const struct gc_result *before)
{
	r->containers = before->containers;
	r->bytes = before->bytes;
	r->dead_containers = before->dead_containers;
	r->dead_bytes = before->dead_bytes;
	r->partly_dead_containers = before->partly_dead_containers;
	r->partly_dead_bytes = before->partly_dead_bytes;
	r->kept_below_bytes = before->kept_below_bytes;
	r->kept_base_bytes = before->kept_base_bytes;
	r->kept_interrupted_bytes = before->kept_interrupted_bytes;
}

int gc_mark_again(struct gc *g, const struct gc_result *before,
		  struct akin_diag *diag)
{
	int err;

	forget_plan(g->result, before);
	g->result->marks_again++;
	err = g->opt->move_lock(g->opt->store, diag);
	return err ? err : mark_and_plan(g, diag);
}

/* 0: what is dead in this range is condemned. */
static int condemn_pass(struct gc *g, struct akin_diag *diag)
{
	struct gc_result before = *g->result;
	int err = 0, done = 0, tries;

	for (tries = 0; !done && !err; tries++) {
		if (tries == MARK_TRIES)
			return diag_set(diag, -AKIN_E_busy, "others commit "
					"faster than can be marked");
		err = tries ? gc_mark_again(g, &before, diag) :
			      mark_and_plan(g, diag);
		if (err || g->opt->dry_run)
			return err;
		gc_at(g, GC_MARKED);
		done = gc_condemn_dead(g, diag);
		if (done < 0)
			err = done;
	}
	return err;
}

static int one_pass(struct gc *g, struct akin_diag *diag)
{
	struct gc_result before;
	bool held = false;
	int err;

	verify_seen_free(g->seen);
	g->seen = verify_seen_new(g->opt->memory_bytes / SEEN_SHARE);
	if (!g->seen)
		return diag_set(diag, -AKIN_E_nomem, "marks");
	g->result->passes++;
	before = *g->result;
	err = condemn_pass(g, diag);
	if (err || g->opt->dry_run)
		return err;
	err = gc_delete(g, &held, diag);
	/* What is copied while somebody holds the old takes space twice. */
	if (!err && !held)
		err = gc_copy(g, &before, diag);
	return err;
}

static int one_round(struct gc *g, struct akin_diag *diag)
{
	size_t bytes = g->opt->memory_bytes;
	int err;

	g->refs_dropped = false;
	g->leaving = false;
	g->batch_first = UINT64_MAX;
	g->marks = gc_marks_new(bytes - bytes / SEEN_SHARE);
	if (!g->marks)
		return diag_set(diag, -AKIN_E_nomem, "marks");
	do {
		err = one_pass(g, diag);
		spill_free(g->above);
		g->above = g->below;
		g->below = NULL;
	} while (!err && gc_marks_descend(g->marks));
	spill_free(g->above);
	g->above = NULL;
	gc_marks_free(g->marks);
	g->marks = NULL;
	gc_heirs_free(g->heirs);
	g->heirs = NULL;
	mem_free(g->unlearned);
	g->unlearned = NULL;
	g->nr_unlearned = 0;
	return err;
}

/* What is condemned and still there, and why. */
struct left {
	struct gc_result *r;
};

static int left_container(void *ctx, const struct catalog_container *row)
{
	struct left *l = ctx;

	if (row->condemned_txn) {
		l->r->kept_held_files++;
		l->r->kept_held_bytes += row->file_bytes;
	}
	return 0;
}

static int left_generation(void *ctx, const struct catalog_generation *row)
{
	struct left *l = ctx;

	l->r->kept_held_files++;
	l->r->kept_held_bytes += row->file_bytes;
	return 0;
}

static int count_left(struct gc *g, struct akin_diag *diag)
{
	struct left l = { g->result };
	int err;

	err = catalog_each_container(g->catalog, left_container, &l, diag);
	if (!err)
		err = catalog_each_generation(g->catalog, left_generation, &l,
					      diag);
	return err;
}

static void forget_round(struct gc_result *r)
{
	r->containers = r->bytes = 0;
	r->kept_below_bytes = r->kept_base_bytes = 0;
	r->kept_interrupted_bytes = 0;
}

static int run_rounds(struct gc *g, struct akin_diag *diag)
{
	int err = 0, i;

	if (!g->opt->dry_run)
		err = g->opt->move_lock(g->opt->store, diag);
	for (i = 0; !err && i < ROUNDS_MAX; i++) {
		if (i)
			forget_round(g->result);
		err = one_round(g, diag);
		if (err || !g->refs_dropped || g->result->held_txn ||
		    g->result->limited)
			break;
	}
	if (!err && !g->opt->dry_run)
		err = gc_sweep(g, diag);
	if (!err && !g->opt->dry_run)
		err = catalog_drop_stale_damage(g->catalog, diag);
	if (!err && !g->opt->dry_run)
		err = catalog_drop_stale_scrubs(g->catalog, diag);
	return err ? err : count_left(g, diag);
}

int gc_run(const struct gc_options *opt, struct gc_result *out,
	   struct akin_diag *diag)
{
	struct gc *g = mem_zalloc(sizeof(*g));
	u32 i;
	int err;

	memset(out, 0, sizeof(*out));
	if (!g)
		return diag_set(diag, -AKIN_E_nomem, "reclaim");
	g->opt = opt;
	g->depot = opt->depot;
	g->catalog = opt->catalog;
	g->result = out;
	g->threshold = opt->threshold ? opt->threshold : GC_THRESHOLD_DEFAULT;
	err = run_rounds(g, diag);
	verify_seen_free(g->seen);
	gc_marks_free(g->marks);
	spill_free(g->above);
	spill_free(g->below);
	numset_release(&g->rooted);
	numset_release(&g->interrupted);
	for (i = 0; i < ARRAY_SIZE(g->frames); i++) {
		recipe_piece_release(&g->frames[i].piece);
		buf_release(&g->frames[i].bytes);
		mem_free(g->frames[i].hint.containers);
	}
	mem_free(g->dead);
	mem_free(g->candidates);
	mem_free(g);
	return diag_said(diag, err);
}
