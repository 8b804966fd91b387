/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for a catalog made anew; see catalog_rebuild.h.
 */
#include "catalog/catalog_internal.h"
#include "catalog/catalog_rebuild.h"
#include "format/format_container.h"

static bool numbers_ok(const struct catalog_least *l)
{
	return max_u64(max_u64(l->txn, l->container),
		       max_u64(max_u64(l->run, l->session), l->snapshot)) <=
	       CATALOG_NUMBER_MAX;
}

int catalog_raise_numbers(struct catalog *c, const struct catalog_least *least,
			  struct akin_diag *diag)
{
	struct catalog_meta *m = &c->meta;
	int err;

	if (!numbers_ok(least))
		return diag_set(diag, -AKIN_E_usage,
				"catalog: no such numbers");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	m->txn = max_u64(m->txn, least->txn);
	m->last_container = max_u64(m->last_container, least->container);
	m->last_run = max_u64(m->last_run, least->run);
	m->last_session = max_u64(m->last_session, least->session);
	m->last_snapshot = max_u64(m->last_snapshot, least->snapshot);
	return catalog_txn_end(c, 0, diag);
}

static bool found_ok(const struct catalog_found *f)
{
	const struct catalog_container *row = &f->row;

	return row->number >= 1 && row->number <= CATALOG_NUMBER_MAX &&
	       row->session <= CATALOG_NUMBER_MAX &&
	       (row->kind == CONTAINER_DATA ||
		row->kind == CONTAINER_METADATA) &&
	       row->file_bytes <= INT64_MAX && row->dir_off <= INT64_MAX &&
	       row->raw_bytes <= INT64_MAX && !row->condemned_txn &&
	       f->last_generation >= row->generation;
}

static int add_found(struct catalog *c, const struct catalog_found *f,
		     struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	if (!found_ok(f))
		return diag_set(diag, -AKIN_E_usage,
				"catalog: container %llu cannot be",
				(unsigned long long)f->row.number);
	err = catalog_insert_container(c, &f->row, diag);
	if (!err)
		err = catalog_stmt(c, STMT_CONTAINER_TOP, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)f->row.number);
	(void)sqlite3_bind_int64(st, 2, f->last_generation);
	return catalog_run(c, STMT_CONTAINER_TOP, NULL, diag);
}

int catalog_add_found(struct catalog *c, const struct catalog_found *rows,
		      u32 nr, struct akin_diag *diag)
{
	u32 i;
	int err;

	if (!nr)
		return 0;
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	for (i = 0; !err && i < nr; i++) {
		err = add_found(c, &rows[i], diag);
		c->meta.last_container = max_u64(c->meta.last_container,
						 rows[i].row.number);
	}
	return catalog_txn_end(c, err, diag);
}

static int add_label(struct catalog *c, const struct label *l,
		     struct akin_diag *diag)
{
	struct buf bytes = { 0 };
	sqlite3_stmt *st;
	int err;

	err = label_encode(l, &bytes);
	if (err)
		err = diag_set(diag, err, "label of snapshot %llu: %s",
			       (unsigned long long)l->number,
			       akin_strerror(err));
	else
		err = catalog_stmt(c, STMT_LABEL_SET, &st, diag);
	if (!err) {
		(void)sqlite3_bind_int64(st, 1, (s64)l->number);
		(void)sqlite3_bind_blob64(st, 2, bytes.data, bytes.len,
					  SQLITE_STATIC);
		err = catalog_run(c, STMT_LABEL_SET, NULL, diag);
	}
	buf_release(&bytes);
	return err;
}

static int add_forgotten(struct catalog *c, u64 number, s64 sec,
			 struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_FORGET_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)number);
	(void)sqlite3_bind_int64(st, 2, (s64)c->meta.txn);
	(void)sqlite3_bind_int64(st, 3, sec);
	return catalog_run(c, STMT_FORGET_ADD, NULL, diag);
}

static int add_record(struct catalog *c, const struct catalog_record *rec,
		      const struct buf *bytes, struct akin_diag *diag)
{
	const struct snapshot *s = rec->snapshot;
	int err;

	c->meta.root_txn = c->meta.txn;
	c->meta.last_snapshot = max_u64(c->meta.last_snapshot, s->number);
	c->meta.last_session = max_u64(c->meta.last_session, s->session);
	err = catalog_insert_snapshot(c, s, bytes, diag);
	if (!err && rec->label)
		err = add_label(c, rec->label, diag);
	if (!err && rec->forgotten)
		err = add_forgotten(c, s->number, rec->forgotten_sec, diag);
	return err;
}

int catalog_add_record(struct catalog *c, const struct catalog_record *rec,
		       struct akin_diag *diag)
{
	const struct snapshot *s = rec->snapshot;
	struct buf bytes = { 0 };
	int err;

	if (s->number < 1 || s->number > CATALOG_NUMBER_MAX ||
	    s->session > CATALOG_NUMBER_MAX ||
	    memcmp(s->pool.b, c->pool.b, POOL_ID_BYTES) != 0 ||
	    (rec->label && (rec->label->number != s->number ||
			    rec->label->txn > CATALOG_NUMBER_MAX)))
		return diag_set(diag, -AKIN_E_usage,
				"catalog: snapshot %llu cannot be",
				(unsigned long long)s->number);
	err = snapshot_encode(s, &bytes);
	if (!err)
		err = buf_error(&bytes);
	if (err) {
		buf_release(&bytes);
		return diag_set(diag, err, "snapshot %llu: %s",
				(unsigned long long)s->number,
				akin_strerror(err));
	}
	err = catalog_txn_begin(c, diag);
	if (!err) {
		err = add_record(c, rec, &bytes, diag);
		err = catalog_txn_end(c, err, diag);
	}
	buf_release(&bytes);
	return err;
}
