/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public reclaim: gc/ over an opened pool, with its locks.
 *
 * It is a session like a backup's, so that what it writes has an owner, and it
 * holds a byte that a second reclaim finds taken: two would spoil each other's
 * work (docs/design/protocol.md, variants).
 */
#include <stdio.h>

#include "catalog/catalog_gc.h"
#include "gc/gc.h"
#include "os/clock.h"
#include "store/store.h"

/*
 * An index is built anew when a third of it is about what is gone; after all
 * has been stored again, it is a half. Entries, besides: 256 KiB of a small
 * pool's index are not worth it.
 */
#define INDEX_STALE_PERCENT 150
#define INDEX_SLACK 16384

struct reclaim {
	struct akin_pool *p;
	const struct akin_gc_options *opt;
	struct akin_gc_result *out;
	struct gc_result r;
	u64 session;
	u64 start_ns;
};

static_assert((int)GC_MARKED == AKIN_GC_MARKED &&
		      (int)GC_LISTED == AKIN_GC_LISTED,
	      "points are numbered alike");

static int move_lock(void *ctx, struct akin_diag *diag)
{
	struct reclaim *c = ctx;

	return store_lock_move(c->p, diag);
}

static int lock_below(void *ctx, u64 txn, u64 *txn_ret, struct akin_diag *diag)
{
	struct reclaim *c = ctx;

	return store_locked_below(c->p, txn, txn_ret, diag);
}

static int session_ended(void *ctx, u64 number)
{
	struct reclaim *c = ctx;

	return store_session_ended(c->p, number);
}

static bool alone(void *ctx)
{
	struct reclaim *c = ctx;

	return store_lives_alone(c->p);
}

static int stopped(void *ctx)
{
	struct reclaim *c = ctx;

	return store_check_stop(c->p, NULL);
}

static void progress(void *ctx, const struct gc_progress *gp)
{
	struct reclaim *c = ctx;
	struct akin_gc_progress out = {
		.phase = gp->phase,
		.snapshots = gp->snapshots,
		.pieces = gp->pieces,
		.containers = gp->containers,
		.bytes = gp->bytes,
		.elapsed_ns = clock_ns() - c->start_ns,
	};

	c->opt->progress(c->opt->ctx, &out);
}

static void at(void *ctx, enum gc_point point)
{
	struct reclaim *c = ctx;

	c->opt->at(c->opt->ctx, (enum akin_gc_point)point);
}

static void export_result(const struct gc_result *r, struct akin_gc_result *out)
{
	u64 gone = r->deleted_bytes + r->orphan_bytes;

	out->snapshots = r->snapshots;
	out->containers = r->containers;
	out->bytes = r->bytes;
	out->passes = r->passes;
	out->marks_again = r->marks_again;
	out->dead_containers = r->dead_containers;
	out->dead_bytes = r->dead_bytes;
	out->partly_dead_containers = r->partly_dead_containers;
	out->partly_dead_bytes = r->partly_dead_bytes;
	out->deleted_files = r->deleted_files;
	out->deleted_bytes = r->deleted_bytes;
	out->copied_containers = r->copied_containers;
	out->copied_bytes = r->copied_bytes;
	out->copied_from_bytes = r->copied_from_bytes;
	out->orphan_files = r->orphan_files;
	out->orphan_bytes = r->orphan_bytes;
	out->freed_bytes = gone - min_u64(gone, r->copied_bytes);
	out->kept_below_bytes = r->kept_below_bytes;
	out->kept_base_bytes = r->kept_base_bytes;
	out->kept_held_bytes = r->kept_held_bytes;
	out->kept_held_files = r->kept_held_files;
	out->kept_interrupted_bytes = r->kept_interrupted_bytes;
	out->limited = r->limited;
}

/* Who holds a lock? Sessions have names; others only read. */
static int one_holder(void *ctx, const struct catalog_session *s)
{
	struct reclaim *c = ctx;
	char *text = c->out->holder;
	size_t len = strlen(text), size = sizeof(c->out->holder);

	if (s->state != SESSION_LIVING || s->number == c->session ||
	    store_session_ended(c->p, s->number) > 0 || len + 1 >= size)
		return 0;
	snprintf(text + len, size - len, "%ssession %llu, pid %u on %.64s: "
		 "%.64s", len ? "; " : "", (unsigned long long)s->number,
		 s->pid, s->host, s->command);
	return 0;
}

static void name_holder(struct reclaim *c)
{
	/* Only for the message: without a name it says less. */
	ignore_result(catalog_each_session(c->p->catalog, one_holder, c, NULL));
	if (!c->out->holder[0])
		snprintf(c->out->holder, sizeof(c->out->holder),
			 "somebody who has read the pool since transaction "
			 "%llu", (unsigned long long)c->r.held_txn);
}

static int run(struct reclaim *c, struct akin_diag *diag)
{
	struct gc_options g = {
		.depot = &c->p->depot,
		.catalog = c->p->catalog,
		.dec = &c->p->dec,
		.session = c->session,
		.dry_run = c->opt->dry_run,
		/* No backup runs on this handle meanwhile. */
		.memory_bytes = c->p->budget.streams,
		.threshold = c->opt->threshold,
		.limit_bytes = c->opt->limit_bytes,
		.move_lock = move_lock,
		.lock_below = lock_below,
		.session_ended = session_ended,
		.alone = alone,
		.stopped = stopped,
		.store = c,
		.progress = c->opt->progress ? progress : NULL,
		.at = c->opt->at ? at : NULL,
		.ctx = c,
	};
	int err;

	err = gc_run(&g, &c->r, diag);
	export_result(&c->r, c->out);
	if (c->r.held_txn && c->r.kept_held_files)
		name_holder(c);
	return err;
}

static int add_entries(void *ctx, const struct catalog_container *row)
{
	u64 *sum = ctx;

	*sum += row->nr_entries;
	return 0;
}

/* The space is free already: whatever fails here is for the next time. */
static void tidy_index(struct reclaim *c)
{
	struct akin_pool *p = c->p;
	struct akin_index_result res;
	struct catalog_totals t;
	u64 entries = 0;

	if (p->rehearse || catalog_totals(p->catalog, &t, NULL) ||
	    catalog_each_container(p->catalog, add_entries, &entries, NULL) ||
	    t.run_entries < entries * INDEX_STALE_PERCENT / 100 + INDEX_SLACK)
		return;
	c->out->index_rebuilt = !store_reindex(p, NULL, &res, NULL);
}

static int run_in_session(struct reclaim *c, struct akin_diag *diag)
{
	struct catalog_session info = { 0 };
	struct akin_pool *p = c->p;
	u32 nr;
	int err;

	if (c->opt->drop_interrupted) {
		err = catalog_drop_interrupted(p->catalog, &nr, diag);
		if (err)
			return err;
	}
	store_session_info(NULL, "gc", &info);
	err = catalog_session_begin(p->catalog, &info, store_lock_session, p,
				    &info, diag);
	if (err)
		return err;
	c->session = info.number;
	p->reserve_session = info.number;
	err = run(c, diag);
	if (!err)
		tidy_index(c);
	p->reserve_session = 0;
	/* If that fails, it is reaped as one that died. */
	ignore_result(catalog_session_end(p->catalog, info.number, NULL));
	return err;
}

static int begin(struct reclaim *c, struct akin_diag *diag)
{
	struct akin_pool *p = c->p;
	u32 nr_reaped;
	int err;

	if (p->read_only)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	err = store_lock_gc(p, true, diag);
	if (err)
		return err;
	err = catalog_reap_sessions(p->catalog, store_session_ended, p,
				    &nr_reaped, diag);
	if (!err)
		err = store_refresh_index(p, diag);
	if (err >= 0)
		err = run_in_session(c, diag);
	if (p->locked_session)
		store_unlock_session(p, p->locked_session);
	ignore_result(store_lock_gc(p, false, NULL));	/* goes with the file */
	return err;
}

int akin_gc(struct akin_pool *p, const struct akin_gc_options *opt,
	    struct akin_gc_result *out, struct akin_diag *diag)
{
	struct reclaim c = { .p = p, .opt = opt, .out = out };
	int err;

	memset(out, 0, sizeof(*out));
	c.start_ns = clock_ns();
	err = opt->dry_run ? run(&c, diag) : begin(&c, diag);
	return diag_said(diag, err);
}
