/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers of which parity makes up for what the disk has lost: the sectors
 * are written back, into the very file, and are then what they were; and parity
 * that is damaged itself is made anew.
 *
 * Why into the file? A sector that cannot be read is put elsewhere by the disk
 * when it is written, and neither a name nor a row of the catalog has to change.
 * Whoever is killed meanwhile has written some, and the rest is still made up
 * for.
 */
#include "base/mem.h"
#include "catalog/catalog_scrub.h"
#include "container/container_parity.h"
#include "os/clock.h"
#include "store/store_repair.h"
#include "verify/verify_content.h"

#define BATCH 64

struct look {
	struct store_repair *r;
	struct store_parity_list *list;
	struct akin_diag *diag;
	struct numset badly;	/* read so, or marked */
};

/* What was found by this check, by an earlier one, or by a restore. */
static int collect(struct look *l)
{
	struct catalog_container rows[BATCH];
	struct akin_pool *p = l->r->p;
	u64 after = 0, *numbers;
	u32 nr, i;
	int err;

	err = depot_damage_containers(&p->depot.damage, &numbers, &nr);
	if (err)
		return diag_set(l->diag, err, "damage");
	for (i = 0; !err && i < nr; i++)
		err = numset_add(&l->badly, numbers[i]);
	mem_free(numbers);
	if (err)
		return diag_set(l->diag, err, "damage");
	do {
		err = catalog_read_badly(p->catalog, after, rows, BATCH, &nr,
					 l->diag);
		for (i = 0; !err && i < nr; i++) {
			after = rows[i].number;
			err = numset_add(&l->badly, after);
		}
	} while (!err && nr);
	return err;
}

static int note(struct look *l, const struct store_parity_row *row)
{
	struct store_parity_list *list = l->list;
	u32 cap = list->cap ? list->cap * 2 : 16;
	struct store_parity_row *p;

	if (list->nr == list->cap) {
		p = mem_realloc(list->rows, cap * sizeof(*p));
		if (!p)
			return diag_set(l->diag, -AKIN_E_nomem, "containers");
		list->rows = p;
		list->cap = cap;
	}
	list->rows[list->nr++] = *row;
	return 0;
}

/*
 * Reads both files; with @heal writes back. *none_ret: there is no container or
 * no parity, *broken_ret: what there is of it cannot be used.
 */
static int scan(struct akin_pool *p, const struct container_id *id, bool heal,
		struct parity_report *out, bool *none_ret, bool *broken_ret,
		struct akin_diag *diag)
{
	struct container_parity *parity;
	struct akin_diag why = { 0 };
	char name[FORMAT_NAME_MAX];
	struct file *f;
	int err;

	memset(out, 0, sizeof(*out));
	*broken_ret = false;
	err = container_parity_open(p->data, &p->super.pool, id, &parity,
				    &why);
	*none_ret = err == -AKIN_E_absent;
	*broken_ret = err && !*none_ret && verify_is_damage(err);
	if (*none_ret || *broken_ret)
		return 0;
	if (err)
		return diag_pass(diag, err, &why);
	format_container_name(id->number, id->generation, name);
	err = disk_open(p->data, name, heal ? DISK_WRITE : 0, &f, &why);
	*none_ret = err == -AKIN_E_absent;
	if (!err) {
		err = heal ? container_parity_heal(parity, f, out, &why) :
			     container_parity_check(parity, f, out, &why);
		ignore_result(file_close(f, NULL));	/* synced */
	}
	container_parity_close(parity);
	return *none_ret ? 0 : diag_pass(diag, err, &why);
}

static void plan(struct look *l, const struct store_parity_row *row)
{
	if (row->sectors)
		store_repair_plan(l->r, "parity", "container %llu: write back "
				  "%u sectors from its parity",
				  (unsigned long long)row->id.number,
				  row->sectors);
	if (row->remake)
		store_repair_plan(l->r, "parity", "container %llu: make its "
				  "parity anew",
				  (unsigned long long)row->id.number);
}

static int one_container(void *ctx, const struct catalog_container *c)
{
	struct store_parity_row row = { .id = { c->number, c->generation } };
	struct parity_report report;
	struct look *l = ctx;
	bool none, broken;
	int err;

	if (c->condemned_txn || (!numset_has(&l->badly, c->number) &&
				 !numset_has(&l->r->p->parity_bad, c->number)))
		return 0;
	err = store_repair_tick(l->r, 0, 0, "parity", l->diag);
	if (!err)
		err = scan(l->r->p, &row.id, false, &report, &none, &broken,
			   l->diag);
	if (err || none)
		return err;
	row.sectors = report.bad_sectors - report.hopeless +
		      report.bad_length;
	row.remake = broken || ((report.bad_parity || report.bad_copy) &&
				!report.hopeless);
	plan(l, &row);
	return row.sectors || row.remake ? note(l, &row) : 0;
}

int store_repair_look_parity(struct store_repair *r,
			     struct store_parity_list *out,
			     struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct look l = { .r = r, .list = out, .diag = &why };
	int err;

	err = collect(&l);
	if (!err)
		err = catalog_each_container(r->p->catalog, one_container, &l,
					     &why);
	numset_release(&l.badly);
	return diag_pass(diag, err, &why);
}

/* It was read, and all of it is as it was written. */
static int note_good(struct store_repair *r, const struct container_id *id,
		     struct akin_diag *diag)
{
	struct catalog_scrub row = { .container = id->number,
				     .generation = id->generation };
	u32 nsec;

	clock_wall(&row.sec, &nsec);
	return catalog_note_scrubs(r->p->catalog, &row, 1, diag);
}

static int remake(struct store_repair *r, const struct container_id *id,
		  struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	struct akin_diag why = { 0 };
	u64 bytes;
	int err;

	err = p->super.parity ?
	      store_parity_make(p, id, p->super.parity, &bytes, &why) :
	      container_parity_remove(p->data, id, &bytes, &why);
	/* Of a container that is damaged there is none worth having. */
	if (err)
		return verify_is_damage(err) ? 0 : diag_pass(diag, err, &why);
	r->out->files_written += p->super.parity != 0;
	return note_good(r, id, diag);
}

static int fix(struct store_repair *r, const struct store_parity_row *row,
	       struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct parity_report report;
	bool none, broken;
	int err = 0;

	if (row->sectors) {
		err = scan(r->p, &row->id, true, &report, &none, &broken,
			   &why);
		/* A disk that has no place left for one may have for others. */
		if (err && akin_error_class(err) == AKIN_CLASS_IO) {
			store_repair_found(r, err, "container %llu: it cannot "
					   "be written back: %s",
					   (unsigned long long)row->id.number,
					   why.text);
			return 0;
		}
		if (err)
			return diag_pass(diag, err, &why);
		if (none || broken)
			return 0;
		r->out->sectors_healed += report.bad_sectors - report.hopeless;
		if (!report.hopeless && !row->remake)
			err = note_good(r, &row->id, diag);
	}
	return err || !row->remake ? err : remake(r, &row->id, diag);
}

int store_repair_parity(struct store_repair *r,
			const struct store_parity_list *l,
			struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < l->nr; i++) {
		err = store_repair_tick(r, i, 0, "parity", diag);
		if (!err)
			err = fix(r, &l->rows[i], diag);
	}
	/* Directories that were read before may have been made up for. */
	return err || !l->nr ? err : store_repair_look_again(r, diag);
}
