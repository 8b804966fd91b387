/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the catalog. docs/design/catalog.md says what they are for.
 *
 * The schema found must be the schema written, letter by letter: then no
 * trigger, view or index in a damaged or forged file ever runs. A newer
 * version is refused.
 */
#include <stdio.h>

#include "catalog/catalog_internal.h"

#define SCHEMA_VERSION 4
#define SCHEMA_APPLICATION 0x616b636e	/* "akcn" */

static const struct {
	const char *name, *sql;
} schema[] = {
	{ "meta",
	  "CREATE TABLE meta (id INTEGER PRIMARY KEY, pool BLOB NOT NULL, "
	  "txn INTEGER NOT NULL, last_container INTEGER NOT NULL, "
	  "last_run INTEGER NOT NULL, last_session INTEGER NOT NULL, "
	  "last_snapshot INTEGER NOT NULL, root_txn INTEGER NOT NULL, "
	  "condemn_txn INTEGER NOT NULL) STRICT" },
	{ "session",
	  "CREATE TABLE session (number INTEGER PRIMARY KEY, "
	  "state INTEGER NOT NULL, begin_txn INTEGER NOT NULL, "
	  "begun_sec INTEGER NOT NULL, pid INTEGER NOT NULL, "
	  "host TEXT NOT NULL, user TEXT NOT NULL, command TEXT NOT NULL, "
	  "paths_key TEXT NOT NULL, snapshot INTEGER NOT NULL, "
	  "sealed INTEGER NOT NULL, pinned INTEGER NOT NULL, "
	  "saved_bytes INTEGER NOT NULL) STRICT" },
	{ "session_state",
	  "CREATE INDEX session_state ON session (state, paths_key)" },
	{ "container",
	  "CREATE TABLE container (number INTEGER PRIMARY KEY, "
	  "generation INTEGER NOT NULL, kind INTEGER NOT NULL, "
	  "session INTEGER NOT NULL, file_bytes INTEGER NOT NULL, "
	  "dir_off INTEGER NOT NULL, dir_len INTEGER NOT NULL, "
	  "nr_entries INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, "
	  "condemned_txn INTEGER NOT NULL, "
	  "last_generation INTEGER NOT NULL, "
	  "saved_bytes INTEGER NOT NULL) STRICT" },
	{ "container_condemned",
	  "CREATE INDEX container_condemned ON container (condemned_txn) "
	  "WHERE condemned_txn > 0" },
	{ "generation",
	  "CREATE TABLE generation (container INTEGER NOT NULL, "
	  "generation INTEGER NOT NULL, file_bytes INTEGER NOT NULL, "
	  "dir_off INTEGER NOT NULL, dir_len INTEGER NOT NULL, "
	  "nr_entries INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, "
	  "condemned_txn INTEGER NOT NULL, "
	  "PRIMARY KEY (container, generation)) STRICT, WITHOUT ROWID" },
	{ "run",
	  "CREATE TABLE run (number INTEGER PRIMARY KEY, "
	  "tier INTEGER NOT NULL, nr_entries INTEGER NOT NULL, "
	  "file_bytes INTEGER NOT NULL, session INTEGER NOT NULL) STRICT" },
	{ "snapshot",
	  "CREATE TABLE snapshot (number INTEGER PRIMARY KEY, "
	  "session INTEGER NOT NULL, txn INTEGER NOT NULL, "
	  "time_sec INTEGER NOT NULL, record BLOB NOT NULL) STRICT" },
	{ "forgotten",
	  "CREATE TABLE forgotten (snapshot INTEGER PRIMARY KEY, "
	  "txn INTEGER NOT NULL, sec INTEGER NOT NULL) STRICT" },
	{ "label",
	  "CREATE TABLE label (snapshot INTEGER PRIMARY KEY, "
	  "body BLOB NOT NULL) STRICT" },
	{ "policy",
	  "CREATE TABLE policy (rule TEXT NOT NULL, value TEXT NOT NULL, "
	  "PRIMARY KEY (rule, value)) STRICT, WITHOUT ROWID" },
	{ "clock",
	  "CREATE TABLE clock (id INTEGER PRIMARY KEY, "
	  "age_ns INTEGER NOT NULL, wall_sec INTEGER NOT NULL, "
	  "boot_ns INTEGER NOT NULL, boot BLOB NOT NULL) STRICT" },
	{ "damage",
	  "CREATE TABLE damage (container INTEGER NOT NULL, "
	  "entry INTEGER NOT NULL, fp BLOB NOT NULL, "
	  "found_sec INTEGER NOT NULL, error TEXT NOT NULL, "
	  "PRIMARY KEY (container, entry)) STRICT, WITHOUT ROWID" },
	{ "scrub",
	  "CREATE TABLE scrub (container INTEGER PRIMARY KEY, "
	  "generation INTEGER NOT NULL, sec INTEGER NOT NULL, "
	  "nr_bad INTEGER NOT NULL) STRICT" },
	{ "scrub_age",
	  "CREATE INDEX scrub_age ON scrub (sec, container)" },
	{ "filler",
	  "CREATE TABLE filler (id INTEGER PRIMARY KEY, "
	  "bytes BLOB NOT NULL) STRICT" },
};

/* Bytes a page of a long blob carries: a number links it to the next. */
#define OVERFLOW_BYTES (VFS_PAGE_BYTES - VFS_RESERVED_BYTES - 4)

int catalog_free_pages(struct catalog *c, u64 *out, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row;
	int err;

	*out = 0;
	err = catalog_stmt(c, STMT_FREE_PAGES, &r.stmt, diag);
	if (!err)
		err = catalog_step(c, STMT_FREE_PAGES, &row, diag);
	if (err || !row)
		return err;
	*out = row_u64(&r, 0, UINT32_MAX);
	catalog_reset(c, STMT_FREE_PAGES);
	return 0;
}

/*
 * A blob is written, so that the file gets the pages, and in a transaction of
 * its own deleted, so that they are free. A crash between leaves the blob, so
 * deleting comes first, too.
 */
int catalog_refill(struct catalog *c, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	u64 have;
	int err;

	err = catalog_free_pages(c, &have, diag);
	if (err || have >= CATALOG_FREE_PAGES / 2)
		return err;
	err = catalog_run(c, STMT_FILLER_DROP, NULL, diag);
	if (!err)
		err = catalog_free_pages(c, &have, diag);
	if (err || have >= CATALOG_FREE_PAGES / 2)
		return err;
	err = catalog_stmt(c, STMT_FILLER_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int(st, 1, CATALOG_FREE_PAGES * OVERFLOW_BYTES);
	err = catalog_run(c, STMT_FILLER_ADD, NULL, diag);
	return err ? err : catalog_run(c, STMT_FILLER_DROP, NULL, diag);
}

static int add_meta(struct catalog *c, struct akin_diag *diag)
{
	sqlite3_stmt *st = NULL;
	int rc;

	rc = sqlite3_prepare_v2(c->db, "INSERT INTO meta VALUES "
				"(1, ?1, 0, 0, 0, 0, 0, 0, 0)", -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_blob(st, 1, c->pool.b, POOL_ID_BYTES,
				       SQLITE_TRANSIENT);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	(void)sqlite3_finalize(st);	/* repeats the error of the step */
	if (rc != SQLITE_DONE)
		return catalog_fail(c, rc, "create", diag);
	/* It starts with the first reading. */
	return catalog_exec(c, "INSERT INTO clock VALUES "
			    "(1, 0, 0, 0, zeroblob(16))", diag);
}

int catalog_schema_create(struct catalog *c, struct akin_diag *diag)
{
	char pragma[64];
	size_t i;
	int err;

	err = catalog_exec(c, "BEGIN IMMEDIATE", diag);
	for (i = 0; !err && i < ARRAY_SIZE(schema); i++)
		err = catalog_exec(c, schema[i].sql, diag);
	if (!err)
		err = add_meta(c, diag);
	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d",
		 SCHEMA_VERSION);
	if (!err)
		err = catalog_exec(c, pragma, diag);
	snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d",
		 SCHEMA_APPLICATION);
	if (!err)
		err = catalog_exec(c, pragma, diag);
	return err ? err : catalog_exec(c, "COMMIT", diag);
}

static int pragma_int(struct catalog *c, const char *sql, int *out,
		      struct akin_diag *diag)
{
	sqlite3_stmt *st = NULL;
	int rc;

	*out = 0;
	rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int(st, 0);
	(void)sqlite3_finalize(st);	/* repeats the error of the step */
	return rc == SQLITE_ROW ? 0 : catalog_fail(c, rc, sql, diag);
}

static int check_version(struct catalog *c, struct akin_diag *diag)
{
	int app, version, err;

	err = pragma_int(c, "PRAGMA application_id", &app, diag);
	if (!err)
		err = pragma_int(c, "PRAGMA user_version", &version, diag);
	if (err)
		return err;
	if (app != SCHEMA_APPLICATION)
		return diag_set(diag, -AKIN_E_catalog,
				"catalog is damaged: not a catalog");
	if (version == SCHEMA_VERSION)
		return 0;
	return diag_set(diag, -AKIN_E_bad_version,
			"catalog has schema version %d, this is for %d",
			version, SCHEMA_VERSION);
}

static bool same_text(sqlite3_stmt *st, int col, const char *want)
{
	const void *have = sqlite3_column_blob(st, col);
	size_t len = (size_t)sqlite3_column_bytes(st, col);

	return have && len == strlen(want) && memcmp(have, want, len) == 0;
}

int catalog_schema_check(struct catalog *c, struct akin_diag *diag)
{
	sqlite3_stmt *st = NULL;
	bool same = true;
	size_t nr = 0;
	int rc, err;

	err = check_version(c, diag);
	if (err)
		return err;
	rc = sqlite3_prepare_v2(c->db, "SELECT name, sql FROM sqlite_schema "
				"ORDER BY rowid", -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	while (rc == SQLITE_ROW) {
		same = same && nr < ARRAY_SIZE(schema) &&
		       same_text(st, 0, schema[nr].name) &&
		       same_text(st, 1, schema[nr].sql);
		nr++;
		rc = sqlite3_step(st);
	}
	(void)sqlite3_finalize(st);	/* repeats the error of the step */
	if (rc != SQLITE_DONE)
		return catalog_fail(c, rc, "schema", diag);
	if (!same || nr != ARRAY_SIZE(schema))
		return diag_set(diag, -AKIN_E_catalog,
				"catalog is damaged: its tables are not ours");
	return 0;
}
