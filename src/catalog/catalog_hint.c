/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints are not truth, and so the only part of a snapshot that may change: who
 * stores its data again says where it is now. The record in the data pool
 * keeps the hint of its time; a catalog that is made anew from it finds things
 * by their fingerprints.
 */
#include "catalog/catalog_internal.h"

static int set_record(struct catalog *c, const struct snapshot *s,
		      struct akin_diag *diag)
{
	struct buf record = { 0 };
	sqlite3_stmt *st;
	int err;

	err = snapshot_encode(s, &record);
	if (!err)
		err = buf_error(&record);
	if (!err && record.len > SNAPSHOT_RECORD_MAX)
		err = -AKIN_E_too_large;
	if (err) {
		err = diag_set(diag, err, "catalog: snapshot record: %s",
			       akin_strerror(err));
	} else {
		err = catalog_stmt(c, STMT_SNAPSHOT_SET, &st, diag);
	}
	if (!err) {
		(void)sqlite3_bind_int64(st, 1, (s64)s->number);
		(void)sqlite3_bind_blob64(st, 2, record.data, record.len,
					  SQLITE_STATIC);
		err = catalog_run(c, STMT_SNAPSHOT_SET, NULL, diag);
	}
	buf_release(&record);
	return err;
}

static int rehint_locked(struct catalog *c, u64 session,
			 const struct catalog_delta *delta, u64 snapshot,
			 const struct hint *hint, bool *done_ret,
			 struct akin_diag *diag)
{
	struct snapshot s = { 0 };
	struct hint own;
	int err;

	err = catalog_apply_checkpoint(c, session, delta, diag);
	if (!err)
		err = catalog_get_record(c, snapshot, &s, diag);
	if (err <= 0)
		return err;
	own = s.root_hint;
	s.root_hint = *hint;
	err = set_record(c, &s, diag);
	s.root_hint = own;
	snapshot_release(&s);
	/* What was marked by the old hint may not be what is needed now. */
	c->meta.root_txn = c->meta.txn;
	*done_ret = !err;
	return err;
}

int catalog_rehint(struct catalog *c, u64 session,
		   const struct catalog_delta *delta, u64 snapshot,
		   const struct hint *hint, bool *done_ret,
		   struct akin_diag *diag)
{
	int err;

	*done_ret = false;
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = rehint_locked(c, session, delta, snapshot, hint, done_ret, diag);
	return catalog_txn_end(c, err, diag);
}

int catalog_complete(struct catalog *c, u64 session, struct akin_diag *diag)
{
	char key[sizeof(((struct catalog_session *)0)->paths_key)];
	int err;

	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = catalog_check_living(c, session, NULL, key, diag);
	if (!err)
		err = catalog_set_committed(c, session, key, diag);
	return catalog_txn_end(c, err, diag);
}
