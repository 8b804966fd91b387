/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repairing a pool that can be opened.
 *
 *	plan	a check, which says what is wrong and what is lost; records and
 *		labels; the index
 *	ask
 *	do	superblocks, records, sectors that parity makes up for,
 *		containers that cannot be opened, the index, damaged chunks in
 *		the others
 *	check	what is wrong still
 *
 * No backup and no reclaim may run meanwhile: the first could go back to a
 * container as it was before, the second works on the same ones.
 */
#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "store/store_repair.h"

struct plan {
	bool index;		/* to be built anew */
	u64 nr_records;
	struct store_broken_list broken;	/* containers */
	struct store_parity_list parity;
};

/* Looking -------------------------------------------------------------------*/

static int add_entries(void *ctx, const struct catalog_container *row)
{
	u64 *sum = ctx;

	*sum += row->nr_entries;
	return 0;
}

/* Damaged, or about less than half of what there is: a few entries less are
 * normal, and found by the way. */
static int look_at_index(struct store_repair *r, struct plan *plan,
			 struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	struct catalog_totals t;
	u64 entries = 0;
	u32 nr;
	int err;

	/* What it finds is remembered by the index. */
	ignore_result(index_probe(p->index, NULL));
	nr = index_damage(p->index, NULL, 0);
	err = catalog_totals(p->catalog, &t, diag);
	if (!err)
		err = catalog_each_container(p->catalog, add_entries, &entries,
					     diag);
	if (err)
		return err;
	plan->index = nr || t.run_entries < entries / 2;
	if (plan->index)
		store_repair_plan(r, "index", "build the index anew from the "
				  "containers");
	return 0;
}

static int look_at_records(struct store_repair *r, struct plan *plan,
			   struct akin_diag *diag)
{
	int err = store_repair_records(r, false, &plan->nr_records, diag);

	if (!err && plan->nr_records)
		store_repair_plan(r, "records", "write %llu records and labels "
				  "of snapshots or the policy anew from the "
				  "catalog",
				  (unsigned long long)plan->nr_records);
	return err;
}

/* 1: there is damage, 0: none, or an error. Tells of it with @tell. */
static int check(struct store_repair *r, bool read_data, bool tell,
		 struct akin_diag *why)
{
	struct akin_check_options opt = {
		.read_data = read_data,
		.progress = r->opt->progress,
		.finding = tell ? r->opt->finding : NULL,
		.ctx = r->opt->ctx,
	};
	int err;

	memset(why, 0, sizeof(*why));
	err = akin_check(r->p, &opt, &r->out->check, why);
	if (err && akin_error_class(err) == AKIN_CLASS_CORRUPT &&
	    r->out->check.findings)
		return 1;
	return err;
}

/* Doing ---------------------------------------------------------------------*/

static int write_supers(struct store_repair *r, struct akin_diag *diag)
{
	struct super s = r->super;
	int err;

	err = store_make_data(r->p->data, diag);
	if (!err && r->write_data_super) {
		err = store_super_write(r->p->data, &s, SUPER_DATA, diag);
		r->out->files_written += !err;
	}
	if (!err && r->write_meta_super) {
		err = store_super_write(r->p->meta, &s, SUPER_METADATA, diag);
		r->out->files_written += !err;
	}
	return err;
}

static int rebuild_index(struct store_repair *r, struct akin_diag *diag)
{
	struct akin_index_options opt = { .progress = r->opt->progress,
					  .ctx = r->opt->ctx };
	struct akin_index_result res;
	int err;

	err = akin_index_rebuild(r->p, &opt, &res, diag);
	if (!err)
		r->out->index_entries = res.entries;
	return err;
}

static int apply(struct store_repair *r, struct plan *plan,
		 struct akin_diag *diag)
{
	u64 nr;
	int err;

	err = write_supers(r, diag);
	if (!err && plan->nr_records)
		err = store_repair_records(r, true, &nr, diag);
	/* It makes what comes then read well. */
	if (!err)
		err = store_repair_parity(r, &plan->parity, diag);
	if (!err)
		err = store_repair_containers(r, &plan->broken, diag);
	if (!err && plan->index)
		err = rebuild_index(r, diag);
	/* It looks for copies, so the index comes before. */
	return err ? err : store_repair_heal(r, false, diag);
}

static int apply_locked(struct store_repair *r, struct plan *plan,
			struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	int err;

	err = store_lock_gc(p, true, diag);
	if (!err)
		err = store_lock_writers(p, true, diag);
	if (!err)
		err = apply(r, plan, diag);
	/* They go with the file. */
	ignore_result(store_lock_writers(p, false, NULL));
	ignore_result(store_lock_gc(p, false, NULL));
	return err;
}

/* The whole -----------------------------------------------------------------*/

/* What is left, with a hint for those who still have the data. */
static int conclude(struct store_repair *r, const struct akin_diag *why,
		    struct akin_diag *diag)
{
	int code = diag_set(diag, why->code, "%s: %s", r->opt->dry_run ?
			    "damage" : "damage is left", why->text);

	if (why->hint[0])
		diag_hint(diag, "%s", why->hint);
	return code;
}

static int look(struct store_repair *r, struct plan *plan,
		struct akin_diag *diag)
{
	int err;

	err = look_at_records(r, plan, diag);
	if (!err)
		err = store_repair_look_parity(r, &plan->parity, diag);
	if (!err)
		err = store_repair_look_containers(r, &plan->broken, diag);
	if (!err)
		err = look_at_index(r, plan, diag);
	return err ? err : store_repair_heal(r, true, diag);
}

int store_repair_pool(struct store_repair *r, struct akin_diag *diag)
{
	struct akin_diag why;
	struct plan plan = { 0 };
	int damaged, err;

	damaged = check(r, r->opt->read_data, true, &why);
	if (damaged < 0)
		return diag_pass(diag, damaged, &why);
	err = look(r, &plan, diag);
	if (!err && r->nr_steps && !r->opt->dry_run) {
		err = store_repair_confirm(r, diag);
		if (!err)
			err = apply_locked(r, &plan, diag);
		if (!err)
			damaged = check(r, false, false, &why);
		if (!err && damaged < 0)
			err = diag_pass(diag, damaged, &why);
	}
	mem_free(plan.broken.rows);
	mem_free(plan.parity.rows);
	if (err)
		return err;
	if (r->opt->dry_run && !damaged && r->nr_steps)
		return diag_set(diag, -AKIN_E_bad_data, "there is something "
				"to repair");
	if (damaged)
		return conclude(r, &why, diag);
	if (r->out->snapshots_lost)
		return diag_set(diag, -AKIN_E_bad_data, "%llu snapshots are "
				"lost; their records are in the quarantine",
				(unsigned long long)r->out->snapshots_lost);
	return 0;
}
