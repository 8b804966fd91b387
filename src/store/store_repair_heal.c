/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers that can be opened and in which chunks are marked as damaged, in
 * the order of their numbers: so what was compressed against a healed group is
 * looked at after it, and found sound.
 */
#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "repair/repair_heal.h"
#include "store/store_repair.h"

static int switch_over(struct store_repair *r, const struct repair_heal *h,
		       struct akin_diag *diag)
{
	struct catalog_switch s = {
		.number = h->number,
		.from = h->from,
		.to = h->to,
		.file_bytes = h->sealed.file_bytes,
		.dir_off = h->sealed.dir_off,
		.dir_len = h->sealed.dir_len,
		.raw_bytes = h->sealed.raw_bytes,
		.nr_entries = h->sealed.nr_entries,
	};
	bool grown;
	u64 txn;
	int err;

	/* It has all that the old one has: no root can be hurt. */
	err = catalog_condemn(r->p->catalog, UINT64_MAX, NULL, 0, &s, 1, &txn,
			      &grown, diag);
	if (!err && !s.done)
		err = diag_set(diag, -AKIN_E_busy, "container %llu changed "
			       "meanwhile", (unsigned long long)h->number);
	if (!err)
		r->out->chunks_healed += h->chunks_healed;
	return err;
}

static int lift(struct store_repair *r, const struct repair_heal *h,
		struct akin_diag *diag)
{
	u32 i;
	int err;

	err = catalog_unmark_damaged(r->p->catalog, h->lift, h->nr_lift, diag);
	for (i = 0; !err && i < h->nr_lift; i++)
		depot_damage_drop(&r->p->depot.damage, &h->lift[i]);
	return err;
}

/* What @look tells is what is then done, unless a base was healed meanwhile. */
static int heal(struct store_repair *r, struct repair_heal *h, bool look,
		struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	int err;

	err = repair_heal(&p->depot, &p->dec, h, diag);
	if (err || look || !h->groups_healed)
		return err;
	mem_free(h->lift);
	*h = (struct repair_heal){ .number = h->number, .from = h->from };
	err = catalog_reserve_generations(p->catalog, &h->number, 1, &h->to,
					  diag);
	if (!err && h->to)
		err = repair_heal(&p->depot, &p->dec, h, diag);
	if (!err && h->to && h->groups_healed)
		err = switch_over(r, h, diag);
	return err;
}

static void plan(struct store_repair *r, const struct repair_heal *h)
{
	if (h->groups_healed)
		store_repair_plan(r, "heal", "container %llu: make %u groups "
				  "(%llu chunks) again from other copies",
				  (unsigned long long)h->number,
				  h->groups_healed,
				  (unsigned long long)h->chunks_healed);
	if (h->groups_sound)
		store_repair_plan(r, "lift", "container %llu: %u groups that "
				  "are marked as damaged can be read; take "
				  "the marks off",
				  (unsigned long long)h->number,
				  h->groups_sound);
}

static int one_container(struct store_repair *r, u64 number, bool look,
			 struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct catalog_container row;
	struct repair_heal h = { .number = number };
	int err;

	err = catalog_container(r->p->catalog, number, &row, &why);
	if (err == -AKIN_E_absent || (!err && row.condemned_txn))
		return 0;
	h.from = row.generation;
	if (!err)
		err = heal(r, &h, look, &why);
	if (!err && look)
		plan(r, &h);
	if (!err && !look && h.nr_lift)
		err = lift(r, &h, &why);
	/* Generations and marks are others: nothing remembered holds. */
	if (!err && !look && h.nr_lift)
		err = store_repair_look_again(r, &why);
	mem_free(h.lift);
	return diag_pass(diag, err, &why);
}

int store_repair_heal(struct store_repair *r, bool look, struct akin_diag *diag)
{
	u64 *numbers;
	u32 nr, i;
	int err;

	err = depot_damage_containers(&r->p->depot.damage, &numbers, &nr);
	if (err)
		return diag_set(diag, err, "damage");
	for (i = 0; !err && i < nr; i++) {
		err = store_repair_tick(r, i, 0, "damaged chunks", diag);
		if (!err)
			err = one_container(r, numbers[i], look, diag);
	}
	mem_free(numbers);
	return diag_said(diag, err);
}
