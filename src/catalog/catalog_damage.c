/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks of damage. Marking and lifting are cut into transactions that fit the
 * preallocated journal: both must work on a full disk. If one fails, what the
 * earlier ones did stays; both are idempotent, so the caller repeats the call.
 */
#include <stdio.h>

#include "catalog/catalog_internal.h"

static int add_mark(struct catalog *c, const struct catalog_damage *row,
		    struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	if (row->place.container < 1 ||
	    row->place.container > CATALOG_NUMBER_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"catalog: no such place to mark");
	err = catalog_stmt(c, STMT_DAMAGE_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)row->place.container);
	(void)sqlite3_bind_int64(st, 2, row->place.entry);
	(void)sqlite3_bind_blob(st, 3, row->fp.b, FP_BYTES, SQLITE_STATIC);
	(void)sqlite3_bind_int64(st, 4, row->found_sec);
	/* By name: numbers of codes change between versions. */
	(void)sqlite3_bind_text(st, 5, akin_error_name(row->code), -1,
				SQLITE_STATIC);
	return catalog_run(c, STMT_DAMAGE_ADD, NULL, diag);
}

static int drop_mark(struct catalog *c, const struct place *place,
		     struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_DAMAGE_DROP, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)place->container);
	(void)sqlite3_bind_int64(st, 2, place->entry);
	return catalog_run(c, STMT_DAMAGE_DROP, NULL, diag);
}

int catalog_mark_damaged(struct catalog *c, const struct catalog_damage *rows,
			 u32 nr, struct akin_diag *diag)
{
	u32 i = 0, end;
	int err = 0;

	while (!err && i < nr) {
		end = (u32)min_u64(nr, (u64)i + CATALOG_TXN_ROWS);
		err = catalog_txn_begin(c, diag);
		if (err)
			break;
		for (; !err && i < end; i++)
			err = add_mark(c, &rows[i], diag);
		err = catalog_txn_end(c, err, diag);
	}
	return err;
}

int catalog_unmark_damaged(struct catalog *c, const struct place *places,
			   u32 nr, struct akin_diag *diag)
{
	u32 i = 0, end;
	int err = 0;

	while (!err && i < nr) {
		end = (u32)min_u64(nr, (u64)i + CATALOG_TXN_ROWS);
		err = catalog_txn_begin(c, diag);
		if (err)
			break;
		for (; !err && i < end; i++)
			err = drop_mark(c, &places[i], diag);
		err = catalog_txn_end(c, err, diag);
	}
	return err;
}
