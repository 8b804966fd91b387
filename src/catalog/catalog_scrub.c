/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of what was read when; see catalog_scrub.h.
 */
#include "catalog/catalog_internal.h"
#include "catalog/catalog_scrub.h"

/* A clock that is so far ahead is wrong. */
#define DAY_SEC (24 * 60 * 60)

static int note(struct catalog *c, const struct catalog_scrub *row,
		struct akin_diag *diag)
{
	sqlite3_stmt *st = NULL;
	int err;

	if (row->container < 1 || row->container > CATALOG_NUMBER_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"catalog: no such container to note");
	err = catalog_stmt(c, STMT_SCRUB_SET, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)row->container);
	(void)sqlite3_bind_int64(st, 2, row->generation);
	(void)sqlite3_bind_int64(st, 3, row->sec);
	(void)sqlite3_bind_int64(st, 4, row->nr_bad);
	return catalog_run(c, STMT_SCRUB_SET, NULL, diag);
}

/* Free pages are for what must work on a full disk. This need not. */
static int want_space(struct catalog *c, struct akin_diag *diag)
{
	u64 have;
	int err;

	err = catalog_free_pages(c, &have, diag);
	if (!err && have < CATALOG_FREE_PAGES / 2)
		err = diag_set(diag, -AKIN_E_nospace, "catalog: no space to "
			       "note what was read");
	return err;
}

int catalog_note_scrubs(struct catalog *c, const struct catalog_scrub *rows,
			u32 nr, struct akin_diag *diag)
{
	/* Each also moves in the index by age. */
	const u32 most = CATALOG_TXN_ROWS / 3;
	u32 i = 0, end;
	int err = 0;

	while (!err && i < nr) {
		end = (u32)min_u64(nr, (u64)i + most);
		err = catalog_txn_begin(c, diag);
		if (err)
			break;
		err = want_space(c, diag);
		for (; !err && i < end; i++)
			err = note(c, &rows[i], diag);
		err = catalog_txn_end(c, err, diag);
	}
	return err;
}

/* What statement @which finds between @a and @b. */
static int read_due(struct catalog *c, enum catalog_stmt which, s64 a, s64 b,
		    struct catalog_container *out, u32 cap, u32 *nr_ret,
		    struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row;
	int err;

	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, which, &r.stmt, diag);
	if (!err) {
		(void)sqlite3_bind_int64(r.stmt, 1, a);
		(void)sqlite3_bind_int64(r.stmt, 2, b);
		(void)sqlite3_bind_int64(r.stmt, 3, cap);
	}
	while (!err && *nr_ret < cap) {
		err = catalog_step(c, which, &row, diag);
		if (err || !row)
			break;
		catalog_decode_container(&r, &out[(*nr_ret)++]);
		if (r.bad)
			err = catalog_bad_row("container", diag);
	}
	catalog_reset(c, which);
	catalog_read_end(c);
	return err;
}

int catalog_scrub_due(struct catalog *c, struct catalog_scrub_cursor *cur,
		      struct catalog_container *out, u32 cap, u32 *nr_ret,
		      struct akin_diag *diag)
{
	int err = 0;

	*nr_ret = 0;
	if (!cur->all_were_read) {
		err = read_due(c, STMT_SCRUB_NEVER, (s64)cur->after, 0, out,
			       cap, nr_ret, diag);
		if (!err && *nr_ret)
			cur->after = out[*nr_ret - 1].number;
		cur->all_were_read = !err && !*nr_ret;
	}
	if (!err && !*nr_ret)
		err = read_due(c, STMT_SCRUB_OLDEST, INT64_MIN, cur->start_sec,
			       out, cap, nr_ret, diag);
	if (!err && !*nr_ret && cur->start_sec < INT64_MAX - DAY_SEC)
		err = read_due(c, STMT_SCRUB_OLDEST, cur->start_sec + DAY_SEC,
			       INT64_MAX, out, cap, nr_ret, diag);
	return err;
}

int catalog_read_badly(struct catalog *c, u64 after,
		       struct catalog_container *out, u32 cap, u32 *nr_ret,
		       struct akin_diag *diag)
{
	*nr_ret = 0;
	return read_due(c, STMT_SCRUB_BAD, (s64)after, 0, out, cap, nr_ret,
			diag);
}

int catalog_scrub_totals(struct catalog *c, struct catalog_scrub_totals *out,
			 struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row;
	int err;

	memset(out, 0, sizeof(*out));
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, STMT_SCRUB_TOTALS, &r.stmt, diag);
	if (!err)
		err = catalog_step(c, STMT_SCRUB_TOTALS, &row, diag);
	if (!err && row) {
		out->nr_never = row_u64(&r, 0, CATALOG_NUMBER_MAX);
		out->bytes_never = row_u64(&r, 1, INT64_MAX);
		out->nr_bad = row_u64(&r, 2, CATALOG_NUMBER_MAX);
		out->oldest_sec = row_s64(&r, 3);
	}
	if (!err && r.bad)
		err = catalog_bad_row("scrub", diag);
	catalog_reset(c, STMT_SCRUB_TOTALS);
	catalog_read_end(c);
	return err;
}
