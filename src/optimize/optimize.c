/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which snapshots are stored again, and in what order: the newest of every
 * series first, because those are to refer to no older ones and must find
 * nothing that does; then, series by series, the older ones (optimize_plan.h).
 *
 *	walk a tree, store what is not fresh -> close, seal
 *	   -> checkpoint and new hint of the snapshot, in one transaction
 *
 * A series is in order if its newest snapshot's listing lies where a finished
 * run has put it. That survives backups of trees in which nothing has changed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "optimize/optimize_internal.h"
#include "optimize/optimize_plan.h"
#include "os/clock.h"

#define REPORT_NS (200ull * 1000 * 1000)

/* One snapshot. */
struct job {
	u64 number, parent;	/* parent: 0 for the newest */
	struct fp series;
	u64 newest;		/* of the series */
	u32 rank;		/* 0: it is that */
	u8 depth;
	bool in_order;
};

struct job_list {
	struct optimize *o;
	struct numset done, left;	/* sessions of this kind: finished, not */
	struct job *jobs;
	u32 nr, cap;
	struct akin_diag *diag;
};

static void report(struct optimize *o, bool now)
{
	struct optimize_progress p = { 0 };
	struct session_stats st;
	u64 ns;

	if (!o->opt->progress)
		return;
	ns = clock_ns();
	if (!now && ns - o->said_ns < REPORT_NS)
		return;
	o->said_ns = ns;
	session_get_stats(o->session, &st);
	p.snapshots = o->snapshots_done;
	p.snapshots_total = o->snapshots_total;
	p.bytes_read = o->result->bytes;
	p.bytes_stored = st.stored_data + st.stored_meta;
	o->opt->progress(o->opt->ctx, &p);
}

int optimize_settle(struct optimize *o, struct akin_diag *diag)
{
	int err, err2;

	err = packer_close(&o->data, diag);
	err2 = packer_close(&o->meta, err ? NULL : diag);
	if (!err)
		err = err2;
	return err ? err : session_settle(o->session, diag);
}

int optimize_tick(struct optimize *o, struct akin_diag *diag)
{
	int err;

	if (o->opt->stopped && o->opt->stopped(o->opt->ctx))
		return diag_set(diag, -AKIN_E_interrupted, "interrupted");
	report(o, false);
	if (!session_checkpoint_due(o->session))
		return 0;
	/* O1: all of it, or a piece would be named before what it names. */
	err = optimize_settle(o, diag);
	return err ? err : session_checkpoint(o->session, diag);
}

/* The list ------------------------------------------------------------------*/

static int series_of(struct optimize *o, const struct snapshot *s,
		     struct fp *out)
{
	struct buf all = { 0 };
	u32 i;
	int err;

	buf_put(&all, s->host, strlen(s->host) + 1);
	for (i = 0; i < s->nr_paths; i++)
		buf_put(&all, s->paths[i], strlen(s->paths[i]) + 1);
	err = buf_error(&all);
	if (!err)
		hasher_one(o->old->meta_hasher, all.data, all.len, out);
	buf_release(&all);
	return err;
}

static bool is_in_order(struct job_list *l, const struct snapshot *s)
{
	struct catalog_container row;
	u32 i;

	for (i = 0; i < s->root_hint.nr; i++) {
		if (catalog_container(l->o->opt->catalog,
				      s->root_hint.containers[i], &row, NULL) ||
		    !numset_has(&l->done, row.session))
			return false;
	}
	return s->root_hint.nr > 0;
}

static int add_job(void *ctx, const struct snapshot *s)
{
	struct job_list *l = ctx;
	u32 cap = l->cap ? l->cap * 2 : 64;
	struct job *p;

	if (l->nr == l->cap) {
		p = mem_realloc(l->jobs, cap * sizeof(*p));
		if (!p)
			return diag_set(l->diag, -AKIN_E_nomem, "snapshots");
		l->jobs = p;
		l->cap = cap;
	}
	p = &l->jobs[l->nr];
	memset(p, 0, sizeof(*p));
	p->number = s->number;
	p->in_order = is_in_order(l, s);
	if (series_of(l->o, s, &p->series))
		return diag_set(l->diag, -AKIN_E_nomem, "snapshots");
	l->nr++;
	return 0;
}

static int add_session(void *ctx, const struct catalog_session *s)
{
	struct job_list *l = ctx;

	if (strcmp(s->paths_key, OPTIMIZE_KEY))
		return 0;
	if (s->state == SESSION_COMMITTED)
		return numset_add(&l->done, s->number);
	return s->state == SESSION_INTERRUPTED ?
		       numset_add(&l->left, s->number) : 0;
}

static int add_container(void *ctx, const struct catalog_container *row)
{
	struct job_list *l = ctx;
	struct optimize_result *r = l->o->result;

	if (row->condemned_txn)
		return 0;
	r->containers_before++;
	r->bytes_before += row->file_bytes;
	if (!numset_has(&l->left, row->session))
		return 0;
	r->bytes_fresh += row->file_bytes;
	return fresh_add(&l->o->fresh, row->number);
}

static int by_series(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	int c = memcmp(&x->series, &y->series, sizeof(x->series));

	return c ? c : (x->number < y->number) - (x->number > y->number);
}

static int by_turn(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	if ((x->rank > 0) != (y->rank > 0))
		return x->rank > 0 ? 1 : -1;
	if (x->newest != y->newest)
		return x->newest < y->newest ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The series that begins at @jobs; *keep_ret of it are left to be done. */
static int plan_series(struct optimize *o, struct job *jobs, u32 nr,
		       struct job *to, u32 *keep_ret)
{
	struct optimize_step *steps;
	u32 i;

	o->result->series++;
	*keep_ret = 0;
	if (jobs[0].in_order && !o->opt->all) {
		o->result->series_in_order++;
		return 0;
	}
	steps = mem_calloc(nr, sizeof(*steps));
	if (!steps)
		return -AKIN_E_nomem;
	optimize_plan(nr, o->opt->delta_depth, steps);
	for (i = 0; i < nr; i++) {
		jobs[i].rank = i;
		jobs[i].newest = jobs[0].number;
		jobs[i].parent = i ? jobs[steps[i].parent].number : 0;
		jobs[i].depth = steps[i].depth;
	}
	mem_free(steps);
	memmove(to, jobs, nr * sizeof(*jobs));
	*keep_ret = nr;
	return 0;
}

static int plan(struct job_list *l)
{
	u32 i, end, n = 0, keep;
	int err = 0;

	if (l->nr)
		qsort(l->jobs, l->nr, sizeof(*l->jobs), by_series);
	for (i = 0; !err && i < l->nr; i = end) {
		for (end = i + 1; end < l->nr; end++) {
			if (!fp_equal(&l->jobs[end].series,
				      &l->jobs[i].series))
				break;
		}
		err = plan_series(l->o, l->jobs + i, end - i, l->jobs + n,
				  &keep);
		n += err ? 0 : keep;
	}
	l->nr = n;
	if (n)
		qsort(l->jobs, n, sizeof(*l->jobs), by_turn);
	l->o->result->snapshots = n;
	return err;
}

static int list_jobs(struct job_list *l)
{
	struct catalog *c = l->o->opt->catalog;
	int err;

	err = catalog_each_session(c, add_session, l, l->diag);
	if (!err)
		err = catalog_each_container(c, add_container, l, l->diag);
	if (!err)
		err = catalog_each_snapshot(c, add_job, l, l->diag);
	if (!err)
		err = plan(l);
	return diag_said(l->diag, err);
}

/* Snapshots -----------------------------------------------------------------*/

static bool same_hint(const struct hint *a, const struct hint *b)
{
	return a->nr == b->nr &&
	       (!a->nr || !memcmp(a->containers, b->containers,
				  a->nr * sizeof(*a->containers)));
}

static int publish(struct optimize *o, const struct snapshot *s,
		   const struct hint *hint, struct akin_diag *diag)
{
	bool done = true;
	int err;

	err = optimize_settle(o, diag);
	if (err)
		return err;
	if (same_hint(hint, &s->root_hint))
		err = session_checkpoint(o->session, diag);
	else
		err = session_rehint(o->session, s->number, hint, &done, diag);
	/* One that was forgotten meanwhile has no place. */
	o->result->moved += !err && done;
	return err;
}

/*
 * Whoever restores the newest version decodes one group more for each that
 * refers to something: that must be worth a third of it.
 */
#define NEWEST_GAIN_PERCENT 33

/* What is under way was closed with the snapshot before. */
static void set_depth(struct optimize *o, const struct job *j)
{
	o->newest = !j->parent;
	session_set_delta_depth(o->session, o->newest && o->opt->delta_depth ?
					    1 : j->depth);
	refgate_set_min_gain(o->data.gate, o->newest ? NEWEST_GAIN_PERCENT :
						       REFGATE_MIN_GAIN);
}

static int do_snapshot(struct optimize *o, const struct job *j,
		       struct akin_diag *diag)
{
	struct snapshot s = { 0 }, before = { 0 };
	struct catalog *c = o->opt->catalog;
	struct akin_diag why = { 0 };
	struct hintset hint = { 0 };
	bool have_before;
	int err;

	err = catalog_snapshot(c, j->number, &s, &why);
	if (err)	/* forgotten meanwhile */
		return err == -AKIN_E_snap_unknown ? 0 :
			       diag_pass(diag, err, &why);
	have_before = j->parent && !catalog_snapshot(c, j->parent, &before,
						     NULL);
	set_depth(o, j);
	err = optimize_tree(o, &s, have_before ? &before : NULL, &hint, &why);
	if (!err) {
		err = publish(o, &s, &hint.hint, diag);
	} else if (akin_error_class(err) == AKIN_CLASS_CORRUPT ||
		   akin_error_class(err) == AKIN_CLASS_ABSENT) {
		/* It stays where it is, with what it has. */
		o->result->damaged++;
		err = optimize_settle(o, diag);
	} else {
		err = diag_set(diag, err, "%s", why.code ? why.text :
			       akin_strerror(err));
	}
	hintset_release(&hint);
	snapshot_release(&s);
	snapshot_release(&before);
	return err;
}

static int do_jobs(struct optimize *o, const struct job_list *l,
		   struct akin_diag *diag)
{
	int err = 0;
	u32 i;

	o->snapshots_total = l->nr;
	for (i = 0; !err && i < l->nr; i++) {
		err = do_snapshot(o, &l->jobs[i], diag);
		o->snapshots_done++;
		report(o, true);
	}
	return err;
}

/* A run ---------------------------------------------------------------------*/

/* What interrupted runs have left is relied on. */
static int touch_left(void *ctx, const struct catalog_container *row)
{
	struct job_list *l = ctx;

	if (!row->condemned_txn && numset_has(&l->left, row->session))
		session_touch(l->o->session, row->number);
	return 0;
}

static int open_parts(struct optimize *o, struct job_list *l,
		      struct akin_diag *diag)
{
	struct session_options sopt = o->opt->session;
	int err;

	sopt.delta_depth = o->opt->delta_depth;
	sopt.vary_depth = false;
	sopt.patient = true;
	snprintf(sopt.info.paths_key, sizeof(sopt.info.paths_key), "%s",
		 OPTIMIZE_KEY);
	err = session_begin(o->new, o->opt->catalog, &sopt, &o->session, diag);
	if (err)
		return err;
	o->opt->owner(o->opt->ctx, session_number(o->session));
	err = catalog_each_container(o->opt->catalog, touch_left, l, diag);
	if (!err)
		err = packer_init(&o->data, o->session, CONTAINER_DATA, diag);
	if (!err)
		err = packer_init(&o->meta, o->session, CONTAINER_METADATA,
				  diag);
	o->follow = follow_new(o->new);
	if (!err && !o->follow)
		err = diag_set(diag, -AKIN_E_nomem, "predecessors");
	return err;
}

static void close_parts(struct optimize *o)
{
	struct piece_frame *f;
	u32 i;

	packer_release(&o->data);
	packer_release(&o->meta);
	follow_free(o->follow);
	optimize_kept_release(o);
	session_free(o->session);
	for (i = 0; i < ARRAY_SIZE(o->frames); i++) {
		f = &o->frames[i];
		recipe_piece_release(&f->piece);
		buf_release(&f->bytes);
		mem_free(f->old_hint.containers);
		hintset_release(&f->hint);
	}
}

/* What is published stays, and is what the next run begins with. */
static int end_session(struct optimize *o, int err, struct akin_diag *diag)
{
	struct session_stats st;
	bool keep = akin_error_class(err) == AKIN_CLASS_INTERRUPTED;

	if (o->data.session)
		ignore_result(packer_close(&o->data, NULL));
	if (o->meta.session)
		ignore_result(packer_close(&o->meta, NULL));
	if (!err)
		err = session_complete(o->session, diag);
	session_get_stats(o->session, &st);
	o->result->stored_data = st.stored_data;
	o->result->stored_meta = st.stored_meta;
	o->result->ref_groups = st.ref_groups;
	if (err)
		ignore_result(session_end(o->session, keep, NULL));
	o->opt->owner(o->opt->ctx, 0);
	/* For the next to do, if it fails. */
	if (!err)
		ignore_result(session_merge_runs(o->session, NULL));
	return err;
}

static int run(struct optimize *o, struct akin_diag *diag)
{
	struct job_list l = { .o = o, .diag = diag };
	int err;

	err = fresh_init(&o->fresh, o->opt, diag);
	o->new = &o->fresh.depot;
	if (!err)
		err = list_jobs(&l);
	if (!err && !o->opt->dry_run && (l.nr || o->result->bytes_fresh)) {
		err = open_parts(o, &l, diag);
		if (!err)
			err = do_jobs(o, &l, diag);
		if (o->session)
			err = end_session(o, err, diag);
	}
	mem_free(l.jobs);
	numset_release(&l.done);
	numset_release(&l.left);
	close_parts(o);
	fresh_release(&o->fresh);
	return err;
}

int optimize_run(const struct optimize_options *opt,
		 struct optimize_result *out, struct akin_diag *diag)
{
	struct optimize *o = mem_zalloc(sizeof(*o));
	int err;

	memset(out, 0, sizeof(*out));
	if (!o)
		return diag_set(diag, -AKIN_E_nomem, "optimize");
	o->opt = opt;
	o->result = out;
	o->old = opt->depot;
	err = run(o, diag);
	mem_free(o);
	return diag_said(diag, err);
}
