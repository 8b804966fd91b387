/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers that the catalog names and that cannot be opened. Of each, in the
 * order of their numbers, because later ones were compressed against earlier
 * ones:
 *
 *	1. what is left is written into a new generation, durably
 *	2. the file is put aside
 *	3. the catalog switches to the new generation
 *
 * Whoever dies between 2 and 3 leaves the file in the quarantine, where the
 * next repair takes it from. If nothing is left there is no new generation: the
 * row stays, and a mark says that the container is damaged.
 */
#include <stdio.h>

#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "container/container_reader.h"
#include "repair/repair_quarantine.h"
#include "repair/repair_salvage.h"
#include "store/store_repair.h"
#include "verify/verify_content.h"

struct look {
	struct store_repair *r;
	struct store_broken_list *list;
	struct akin_diag *diag;
	u64 containers;
};

/* Where the file is: at its place or put aside. False: nowhere. */
static bool find_file(struct disk *data, u64 number, u32 generation,
		      char out[FORMAT_NAME_MAX], bool *aside_ret)
{
	char name[FORMAT_NAME_MAX];
	struct disk_stat st;

	*aside_ret = false;
	format_container_name(number, generation, out);
	if (!disk_stat(data, out, &st, NULL))
		return true;
	*aside_ret = true;
	memcpy(name, out, sizeof(name));
	snprintf(out, FORMAT_NAME_MAX, "%s%s", DIR_QUARANTINE,
		 strrchr(name, '/'));
	return !disk_stat(data, out, &st, NULL);
}

static int note(struct look *l, const struct store_broken *b)
{
	struct store_broken_list *list = l->list;
	u32 cap = list->cap ? list->cap * 2 : 16;
	struct store_broken *p;

	if (list->nr == list->cap) {
		p = mem_realloc(list->rows, cap * sizeof(*p));
		if (!p)
			return diag_set(l->diag, -AKIN_E_nomem, "containers");
		list->rows = p;
		list->cap = cap;
	}
	list->rows[list->nr++] = *b;
	return 0;
}

static int look_at(struct look *l, const struct catalog_container *row)
{
	struct akin_pool *p = l->r->p;
	char name[FORMAT_NAME_MAX];
	struct repair_salvage v = { .name = name, .number = row->number,
				    .kind = row->kind };
	struct store_broken b = { .number = row->number, .kind = row->kind,
				  .session = row->session,
				  .generation = row->generation };
	bool aside;
	int err;

	if (!find_file(p->data, row->number, row->generation, name, &aside))
		return 0;
	/* It was tried before: what could not be decoded then is no news. */
	v.decode = aside;
	err = repair_salvage(&p->depot, &p->dec, &v, true, l->diag);
	if (err || (aside && !v.groups))
		return err;
	b.groups = v.groups;
	if (v.groups)
		store_repair_plan(l->r, "salvage", "container %llu: put what "
				  "is left (%llu groups, %llu chunks) into a "
				  "new file, and the old one aside",
				  (unsigned long long)b.number,
				  (unsigned long long)v.groups,
				  (unsigned long long)v.chunks);
	else
		store_repair_plan(l->r, "quarantine", "container %llu: nothing "
				  "is left in its file; put it aside",
				  (unsigned long long)b.number);
	return note(l, &b);
}

static int one_container(void *ctx, const struct catalog_container *row)
{
	struct akin_diag why = { 0 };
	struct container_reader *c;
	struct look *l = ctx;
	int err;

	err = store_repair_tick(l->r, ++l->containers, 0, "containers",
				l->diag);
	if (err || row->condemned_txn)
		return err;
	err = container_open(l->r->p->data, &l->r->p->super.pool, row->number,
			     row->generation, &c, &why);
	if (!err) {
		container_close(c);
		return 0;
	}
	if (!verify_is_damage(err))
		return diag_pass(l->diag, err, &why);
	return look_at(l, row);
}

int store_repair_look_containers(struct store_repair *r,
				 struct store_broken_list *out,
				 struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct look l = { .r = r, .list = out, .diag = &why };
	int err;

	err = catalog_each_container(r->p->catalog, one_container, &l, &why);
	return diag_pass(diag, err, &why);
}

/* Nobody is there who could have added a root that this would hurt: the new
 * generation replaces one that cannot be read. */
static int switch_over(struct store_repair *r, const struct store_broken *b,
		       const struct repair_salvage *v, struct akin_diag *diag)
{
	struct catalog_switch s = {
		.number = b->number,
		.from = b->generation,
		.to = v->generation,
		.file_bytes = v->sealed.file_bytes,
		.dir_off = v->sealed.dir_off,
		.dir_len = v->sealed.dir_len,
		.raw_bytes = v->sealed.raw_bytes,
		.nr_entries = v->sealed.nr_entries,
	};
	struct place whole = { b->number, DAMAGE_WHOLE };
	bool grown;
	u64 txn;
	int err;

	err = catalog_condemn(r->p->catalog, UINT64_MAX, NULL, 0, &s, 1, &txn,
			      &grown, diag);
	if (!err && !s.done)
		err = diag_set(diag, -AKIN_E_busy, "container %llu changed "
			       "meanwhile", (unsigned long long)b->number);
	if (!err)
		err = catalog_unmark_damaged(r->p->catalog, &whole, 1, diag);
	if (err)
		return err;
	depot_damage_drop(&r->p->depot.damage, &whole);
	r->out->groups_salvaged += v->groups;
	r->out->chunks_salvaged += v->chunks;
	return store_repair_look_again(r, diag);
}

static int fix(struct store_repair *r, const struct store_broken *b,
	       struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	char name[FORMAT_NAME_MAX];
	struct repair_salvage v = { .name = name, .number = b->number,
				    .kind = b->kind };
	bool aside, moved = false;
	int err = 0;

	if (!find_file(p->data, b->number, b->generation, name, &aside))
		return 0;
	if (b->groups)
		err = catalog_reserve_generations(p->catalog, &b->number, 1,
						  &v.generation, diag);
	if (!err && v.generation)
		err = repair_salvage(&p->depot, &p->dec, &v, false, diag);
	if (!err && !aside)
		err = repair_quarantine(p->data, name, &moved, diag);
	r->out->quarantined += !err && moved;
	return err || !v.groups ? err : switch_over(r, b, &v, diag);
}

int store_repair_containers(struct store_repair *r,
			    const struct store_broken_list *l,
			    struct akin_diag *diag)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < l->nr; i++) {
		err = store_repair_tick(r, i, 0, "damaged containers", diag);
		if (!err)
			err = fix(r, &l->rows[i], diag);
	}
	return err;
}
