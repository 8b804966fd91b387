/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshots of a catalog made anew, from the records in the data pool.
 *
 *	record                        tree        becomes
 *	snapshots/N                   whole       listed
 *	snapshots/N                   in part     listed: what is sound can be
 *	                                          restored, and the next backup
 *	                                          may heal the rest
 *	snapshots/N                   not at all  put aside
 *	snapshots/N, unreadable       -           put aside
 *	snapshots/N.gone              whole       forgotten, may be undeleted
 *	snapshots/N.gone              otherwise   not listed; reclaimed, most
 *	                                          likely, and gc removes it
 *
 * A record without a tombstone was whole once it was there: what is not is
 * damaged. It may never have been acknowledged, though.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "os/clock.h"
#include "record/record.h"
#include "repair/repair_judge.h"
#include "repair/repair_quarantine.h"
#include "repair/repair_scan.h"
#include "store/store_repair.h"
#include "verify/verify_content.h"

/* Of the streams' memory, which nobody uses meanwhile. */
#define JUDGE_SHARE 2

/* Listing -------------------------------------------------------------------*/

static int one_name(void *ctx, const char *name, bool is_dir)
{
	struct store_records *l = ctx;
	enum record_kind kind;
	u64 number, *p;
	u32 cap = l->cap ? l->cap * 2 : 64;

	kind = is_dir ? RECORD_OTHER : record_parse_name(name, &number);
	if (kind == RECORD_OTHER || !number || number > REPAIR_NUMBER_MAX)
		return 0;
	l->highest = max_u64(l->highest, number);
	if (kind == RECORD_LABEL)
		return 0;
	l->nr_buried += kind == RECORD_BURIED;
	if (l->nr == l->cap) {
		p = mem_realloc(l->numbers, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		l->numbers = p;
		l->cap = cap;
	}
	l->numbers[l->nr++] = number;
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

int store_records_list(struct disk *data, struct store_records *out,
		       struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	u32 i, n = 0;
	int err;

	err = disk_list(data, DIR_SNAPSHOTS, one_name, out, &why);
	if (err == -AKIN_E_absent)
		return 0;	/* a folder that is gone holds nothing */
	if (err)
		return diag_pass(diag, err, &why);
	if (out->nr)
		qsort(out->numbers, out->nr, sizeof(*out->numbers),
		      compare_u64);
	/* A rename may have left both names. */
	for (i = 0; i < out->nr; i++)
		if (!n || out->numbers[n - 1] != out->numbers[i])
			out->numbers[n++] = out->numbers[i];
	out->nr = n;
	return 0;
}

void store_records_release(struct store_records *l)
{
	mem_free(l->numbers);
	memset(l, 0, sizeof(*l));
}

/* Reading -------------------------------------------------------------------*/

/* Record and label of one snapshot, as far as they can be read. */
struct found {
	u64 number;
	bool buried;
	int err;			/* of the record */
	struct akin_diag why;
	struct snapshot snapshot;
	bool has_label;
	struct label label;
	int label_err;
};

static void found_release(struct found *f)
{
	snapshot_release(&f->snapshot);
	label_release(&f->label);
}

static int read_record(struct store_repair *r, struct found *f,
		       const char *name)
{
	struct snapshot *s = &f->snapshot;
	size_t len;
	u8 *data;
	int err;

	err = disk_read_file(r->p->data, name, SNAPSHOT_RECORD_MAX, &data, &len,
			     &f->why);
	if (err)
		return err;
	err = snapshot_decode(data, len, s);
	mem_free(data);
	if (!err && (s->number != f->number ||
		     s->session > REPAIR_NUMBER_MAX ||
		     memcmp(s->pool.b, r->super.pool.b, POOL_ID_BYTES)))
		err = -AKIN_E_bad_identity;
	if (!err)
		return 0;
	snapshot_release(s);
	memset(s, 0, sizeof(*s));
	return diag_set(&f->why, err, "%s: %s", name, akin_strerror(err));
}

static int read_label(struct store_repair *r, struct found *f)
{
	char name[FORMAT_NAME_MAX];
	struct label *l = &f->label;
	size_t len;
	u8 *data;
	int err;

	format_label_name(f->number, name);
	err = disk_read_file(r->p->data, name, SNAPSHOT_RECORD_MAX, &data, &len,
			     NULL);
	if (err)
		return err;
	err = label_decode(data, len, l);
	mem_free(data);
	if (!err && (l->number != f->number || l->txn > REPAIR_NUMBER_MAX ||
		     memcmp(l->pool.b, r->super.pool.b, POOL_ID_BYTES)))
		err = -AKIN_E_bad_identity;
	if (err) {
		label_release(l);
		memset(l, 0, sizeof(*l));
	}
	return err;
}

/* An error only if it is not about what lies there. */
static int read_found(struct store_repair *r, u64 number, struct found *f,
		      struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];

	memset(f, 0, sizeof(*f));
	f->number = number;
	f->buried = true;
	format_buried_name(number, name);
	f->err = read_record(r, f, name);
	if (f->err == -AKIN_E_absent) {
		f->buried = false;
		memset(&f->why, 0, sizeof(f->why));
		format_snapshot_name(number, name);
		f->err = read_record(r, f, name);
	}
	if (f->err && !verify_is_damage(f->err))
		return diag_pass(diag, f->err, &f->why);
	f->label_err = read_label(r, f);
	f->has_label = !f->label_err;
	if (f->label_err && !verify_is_damage(f->label_err))
		return diag_set(diag, f->label_err, "label of snapshot %llu",
				(unsigned long long)number);
	return 0;
}

int store_records_numbers(struct store_repair *r,
			  const struct store_records *l,
			  struct catalog_least *least, struct akin_diag *diag)
{
	const struct number_range *c;
	struct found f;
	u32 i, k;
	int err = 0;

	least->snapshot = max_u64(least->snapshot, l->highest);
	for (i = 0; !err && i < l->nr; i++) {
		err = read_found(r, l->numbers[i], &f, diag);
		least->session = max_u64(least->session, f.snapshot.session);
		least->txn = max_u64(least->txn, f.label.txn);
		for (k = 0; k < f.snapshot.nr_containers; k++) {
			c = &f.snapshot.containers[k];
			if (c->first < REPAIR_NUMBER_MAX &&
			    c->nr < REPAIR_NUMBER_MAX)
				least->container = max_u64(least->container,
							   c->first + c->nr - 1);
		}
		found_release(&f);
	}
	return err;
}

/* Taking --------------------------------------------------------------------*/

static int set_aside(struct store_repair *r, u64 number, struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	bool moved;
	int err;

	format_snapshot_name(number, name);
	err = repair_quarantine(r->p->data, name, &moved, diag);
	r->out->quarantined += !err && moved;
	format_label_name(number, name);
	if (!err)
		err = repair_quarantine(r->p->data, name, &moved, diag);
	r->out->quarantined += !err && moved;
	return err;
}

/*
 * Somebody cared about this snapshot, and what he said cannot be read: it is
 * protected, with the tags of its record.
 */
static int make_label(struct store_repair *r, struct found *f,
		      struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	struct snapshot *s = &f->snapshot;
	struct buf bytes = { 0 };
	bool moved;
	int err;

	store_repair_found(r, f->label_err, "label of snapshot %llu: %s; it is "
			   "protected from now on",
			   (unsigned long long)f->number,
			   akin_strerror(f->label_err));
	f->label = (struct label){ .pool = s->pool, .number = s->number,
				   .flags = LABEL_PROTECTED };
	memcpy(f->label.id, s->id, sizeof(s->id));
	f->label.tags = s->tags;	/* borrowed for the while */
	f->label.nr_tags = s->nr_tags;
	err = label_encode(&f->label, &bytes);
	f->label.tags = NULL;
	f->label.nr_tags = 0;
	if (!err)
		err = label_decode(bytes.data, bytes.len, &f->label);
	if (err)
		ignore_result(diag_set(diag, err, "label of snapshot %llu",
				       (unsigned long long)f->number));
	format_label_name(f->number, name);
	if (!err)
		err = repair_quarantine(r->p->data, name, &moved, diag);
	if (!err)
		err = record_write_label(r->p->data, f->number, &bytes, diag);
	f->has_label = !err;
	r->out->files_written += !err;
	buf_release(&bytes);
	return err;
}

static int list(struct store_repair *r, struct found *f,
		struct akin_diag *diag)
{
	struct catalog_record rec = { .snapshot = &f->snapshot };
	u32 nsec;
	int err = 0;

	if (f->label_err && f->label_err != -AKIN_E_absent && !f->buried)
		err = make_label(r, f, diag);
	if (err)
		return err;
	rec.label = f->has_label ? &f->label : NULL;
	rec.forgotten = f->buried;
	clock_wall(&rec.forgotten_sec, &nsec);
	err = catalog_add_record(r->p->catalog, &rec, diag);
	if (!err && f->buried)
		r->out->forgotten++;
	else if (!err)
		r->out->snapshots++;
	return err;
}

static int stopped(void *ctx)
{
	struct store_repair *r = ctx;

	return store_check_stop(r->p, NULL);
}

static int take(struct store_repair *r, struct repair_judge *j,
		struct found *f, struct akin_diag *diag)
{
	enum repair_verdict verdict = REPAIR_LOST;
	char id[2 * SNAPSHOT_ID_BYTES + 1];
	int err = 0;

	if (!f->err)
		err = repair_judge(j, &f->snapshot, stopped, r, &verdict, diag);
	if (err)
		return err;
	if (f->buried)
		return verdict == REPAIR_WHOLE ? list(r, f, diag) : 0;
	if (verdict != REPAIR_LOST) {
		r->out->snapshots_part += verdict == REPAIR_PART;
		return list(r, f, diag);
	}
	r->out->snapshots_lost++;
	store_id_export(f->snapshot.id, id);
	store_repair_found(r, f->err ? f->err : -AKIN_E_fp_unknown,
			   "snapshot %llu%s%s: %s; its record is put aside",
			   (unsigned long long)f->number, *id ? ", " : "", id,
			   f->err ? f->why.text :
				    "not even its top directory can be read");
	return set_aside(r, f->number, diag);
}

int store_records_take(struct store_repair *r, const struct store_records *l,
		       struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	struct repair_judge *j;
	struct found f;
	u32 i;
	int err;

	err = repair_judge_new(&p->depot, &p->dec,
			       p->budget.streams / JUDGE_SHARE, &j, diag);
	if (err)
		return err;
	for (i = 0; !err && i < l->nr; i++) {
		err = store_repair_tick(r, 0, i, "snapshots", diag);
		if (err)
			break;
		err = read_found(r, l->numbers[i], &f, diag);
		if (!err)
			err = take(r, j, &f, diag);
		found_release(&f);
	}
	repair_judge_free(j);
	return err;
}
