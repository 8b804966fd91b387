/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each means of saving saves, and what a restore has to do for it.
 */
#include "format/format_tree.h"
#include "os/clock.h"
#include "store/store.h"
#include "store/store_cost.h"
#include "tree/tree_walk.h"

#define PROGRESS_NS (200ull * 1000 * 1000)

struct costing {
	struct akin_pool *p;
	struct store_cost *cost;
	void (*progress)(void *ctx, const struct akin_progress *p);
	void *ctx;
	struct akin_progress now;
	u64 start_ns, shown_ns;
};

static int add_logical(void *ctx, const struct snapshot *s)
{
	u64 *sum = ctx;

	*sum += s->counts.bytes;
	return 0;
}

static int pool_factors(struct akin_pool *p, struct akin_factors *out,
			struct akin_diag *diag)
{
	struct catalog_totals t;
	u64 logical = 0;
	int err;

	err = catalog_totals(p->catalog, &t, diag);
	if (!err)
		err = catalog_each_snapshot(p->catalog, add_logical, &logical,
					    diag);
	if (err)
		return err;
	out->bytes_logical = logical;
	out->bytes_unique = t.raw_data_bytes;
	out->bytes_stored = t.data_bytes;
	out->bytes_plain = t.data_bytes + t.saved_data_bytes;
	out->bytes_metadata = t.meta_bytes;
	return 0;
}

static int run_factors(struct akin_pool *p, u64 number,
		       struct akin_factors *out, struct akin_diag *diag)
{
	struct snapshot s = { 0 };
	u64 saved;
	int err;

	err = catalog_snapshot(p->catalog, number, &s, diag);
	if (err)
		return err;
	err = catalog_session_saved(p->catalog, s.session, &saved, diag);
	if (!err) {
		out->bytes_logical = s.counts.bytes;
		out->bytes_unique = s.counts.bytes_new;
		out->bytes_stored = s.counts.bytes_stored;
		out->bytes_plain = s.counts.bytes_stored + saved;
		out->bytes_metadata = s.counts.bytes_meta;
	}
	snapshot_release(&s);
	return err;
}

int akin_stats_factors(struct akin_pool *p, uint64_t snapshot,
		       struct akin_factors *out, struct akin_diag *diag)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = snapshot ? run_factors(p, snapshot, out, diag) :
			 pool_factors(p, out, diag);
	return diag_said(diag, err);
}

/* What a restore costs ------------------------------------------------------*/

static int tick(void *ctx, struct akin_diag *diag)
{
	struct costing *c = ctx;
	u64 now = clock_ns();

	if (c->progress && now - c->shown_ns > PROGRESS_NS) {
		c->shown_ns = now;
		c->now.elapsed_ns = now - c->start_ns;
		c->progress(c->ctx, &c->now);
	}
	return store_check_stop(c->p, diag);
}

static int cost_of_tree(struct costing *c, struct tree_walk *tw,
			struct akin_diag *diag)
{
	struct tree_step step;
	const struct node *n;
	int err = 0, more;

	tree_walk_on_piece(tw, store_cost_piece, c->cost);
	while (!err) {
		more = tree_walk_next(tw, &step, diag);
		if (more <= 0)
			return more;
		n = step.node;
		if (step.event != TREE_NODE)
			continue;
		c->now.current = step.path;
		c->now.files++;
		if (n->type == NODE_FILE || n->type == NODE_STREAM) {
			c->now.bytes += n->content.bytes;
			err = store_cost_content(c->cost, &n->content,
						 step.hint, diag);
		}
		if (!err)
			err = tick(c, diag);
	}
	return err;
}

static int cost_of_snapshot(struct costing *c, const struct snapshot *s,
			    struct akin_restore_cost *out,
			    struct akin_diag *diag)
{
	struct akin_pool *p = c->p;
	struct tree_walk *tw;
	int err;

	err = tree_walk_open(&p->depot, &p->dec, &s->root, &s->root_hint, "",
			     &tw, diag);
	if (err)
		return err;
	c->now.files_total = s->counts.files + s->counts.dirs +
			     s->counts.others;
	err = cost_of_tree(c, tw, diag);
	tree_walk_close(tw);
	c->now.current = "references";
	return err ? err : store_cost_finish(c->cost, tick, c, out, diag);
}

int akin_restore_cost(struct akin_pool *p, uint64_t snapshot,
		      void (*progress)(void *ctx,
				       const struct akin_progress *p),
		      void *ctx, struct akin_restore_cost *out,
		      struct akin_diag *diag)
{
	struct costing c = { .p = p, .progress = progress, .ctx = ctx,
			     .start_ns = clock_ns() };
	struct snapshot s = { 0 };
	int err;

	memset(out, 0, sizeof(*out));
	err = catalog_snapshot(p->catalog, snapshot, &s, diag);
	if (err)
		return diag_said(diag, err);
	/* As when garbage is collected: no stream is open. */
	err = store_cost_new(&p->depot, &p->dec, p->budget.streams, &c.cost,
			     diag);
	if (!err)
		err = cost_of_snapshot(&c, &s, out, diag);
	store_cost_free(c.cost);
	snapshot_release(&s);
	return diag_said(diag, err);
}
