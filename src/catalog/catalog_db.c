/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to SQLite: settings, statements, transactions, errors.
 *
 *    (none) --attach--> READY --txn_begin--> WRITING --txn_end--> READY
 *                         |  '--read_begin--> READING --read_end--> READY
 *                         '--I/O error, other copy--> (none)
 *
 * Transactions. A change holds the write lock from its start, so it can never
 * fail half-way because somebody else was faster. Every transaction begins by
 * reading the meta row: that takes the shared lock, recovers what a dead
 * writer left, and shows whether the file is still this pool's.
 *
 * Errors. SQLite reports kinds; the VFS keeps the disk's own code and message,
 * which are what the caller gets. After an I/O error the connection is closed
 * and opened anew before the next use: a file whose sync has failed once must
 * not be trusted again.
 *
 * Outcome. If the end of a transaction fails with an error of class IO, the
 * transaction may or may not have happened: the last step of a commit, making
 * the journal's end durable, may have reached the disk. All other errors mean
 * that it has not.
 *
 * A read-only handle never writes. If it meets a hot journal it lets the VFS
 * copy both files and works on the copy, for as long as the real journal stays
 * as it was; each transaction looks again.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "catalog/catalog_internal.h"
#include "os/clock.h"

#define BUSY_DEFAULT_MS 60000
#define CACHE_DEFAULT_BYTES (1 * MiB)
/* How often a reader goes from the files to a copy and back before it says
 * that the catalog is busy. */
#define ATTACH_TRIES 8
/* The longest nap while somebody else has the lock: a transaction takes a few
 * syncs, so tens of milliseconds on a disk, less on flash. */
#define NAP_MAX_MS 25
/* Sessions that a hint names; more would not fit. */
#define HINT_SESSIONS 3
/* A record of a snapshot, and some. */
#define VALUE_MAX_BYTES (SNAPSHOT_RECORD_MAX + 64 * KiB)

static const char *const stmt_sql[NR_STMTS] = {
#define CATALOG_STMT_SQL(name, sql) [STMT_##name] = sql,
	CATALOG_STMTS(CATALOG_STMT_SQL)
#undef CATALOG_STMT_SQL
};

/* Errors ------------------------------------------------------------------*/

static int code_of(int rc)
{
	if (rc == SQLITE_IOERR_NOMEM)
		return -AKIN_E_nomem;
	if (rc == SQLITE_IOERR_DATA || rc == SQLITE_IOERR_CORRUPTFS)
		return -AKIN_E_catalog;
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -AKIN_E_nomem;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -AKIN_E_busy;
	case SQLITE_FULL:
		return -AKIN_E_nospace;
	case SQLITE_READONLY:
		return -AKIN_E_readonly;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return -AKIN_E_io;
	case SQLITE_TOOBIG:
		return -AKIN_E_too_large;
	case SQLITE_CONSTRAINT:
		return -AKIN_E_exists;
	case SQLITE_MISUSE:
	case SQLITE_RANGE:
		return -AKIN_E_internal;
	default:
		/* Our SQL and our schema: what fails is what was read. */
		return -AKIN_E_catalog;
	}
}

/* Does the error come from the disk, so that the VFS knows more? */
static bool from_disk(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_IOERR:
	case SQLITE_FULL:
	case SQLITE_CANTOPEN:
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return true;
	default:
		return false;
	}
}

int catalog_fail(struct catalog *c, int rc, const char *what,
		 struct akin_diag *diag)
{
	const struct akin_diag *d = catalog_vfs_diag(c->vfs);
	int code = code_of(rc);

	if (from_disk(rc))
		c->reopen = true;
	if (from_disk(rc) && d->code != 0)
		return diag_set(diag, d->code, "%s", d->text);
	if (code == -AKIN_E_catalog)
		return diag_set(diag, code, "catalog is damaged: %s: %s", what,
				c->db ? sqlite3_errmsg(c->db) :
				sqlite3_errstr(rc));
	return diag_set(diag, code, "catalog: %s: %s", what, sqlite3_errstr(rc));
}

/* The handle --------------------------------------------------------------*/

int catalog_new(struct disk *meta, const struct pool_id *pool,
		const struct catalog_options *opt, struct catalog **out,
		struct akin_diag *diag)
{
	struct catalog *c = mem_zalloc(sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	c->disk = meta;
	c->pool = *pool;
	c->read_only = opt && opt->read_only;
	c->private_copy = opt && opt->private_copy;
	c->busy_ms = opt && opt->busy_ms ? opt->busy_ms : BUSY_DEFAULT_MS;
	c->cache_bytes = opt && opt->cache_bytes ? opt->cache_bytes :
			 CACHE_DEFAULT_BYTES;
	if (pthread_mutex_init(&c->lock, NULL)) {
		mem_free(c);
		return diag_set(diag, -AKIN_E_nomem, "catalog: no mutex");
	}
	err = catalog_vfs_new(meta, c->read_only || c->private_copy, &c->vfs,
			      diag);
	if (err) {
		catalog_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	catalog_disconnect(c);
	catalog_vfs_free(c->vfs);
	(void)pthread_mutex_destroy(&c->lock);	/* nobody waits for it */
	mem_free(c);
}

/* The connection ----------------------------------------------------------*/

/* SQLite asks for the @nr-th time in a row whether to try again. */
static int busy_wait(void *ctx, int nr)
{
	struct catalog *c = ctx;

	if (nr == 0)
		c->busy_since_ns = clock_ns();
	if (clock_ns() - c->busy_since_ns >= (u64)c->busy_ms * 1000000)
		return 0;
	(void)sqlite3_sleep(nr < NAP_MAX_MS ? nr + 1 : NAP_MAX_MS);
	return 1;
}

/* What a forged schema could make SQLite do is switched off. */
static int harden(sqlite3 *db)
{
	static const struct {
		int op, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FKEY, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};
	size_t i;
	int rc = SQLITE_OK;

	for (i = 0; rc == SQLITE_OK && i < ARRAY_SIZE(options); i++)
		rc = sqlite3_db_config(db, options[i].op, options[i].value,
				       NULL);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)VALUE_MAX_BYTES);
	(void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	return rc;
}

int catalog_connect(struct catalog *c, const char *name, int flags,
		    struct akin_diag *diag)
{
	int rc;

	catalog_vfs_clear(c->vfs);
	rc = sqlite3_open_v2(name, &c->db, flags | SQLITE_OPEN_NOMUTEX |
			     SQLITE_OPEN_EXRESCODE, catalog_vfs_name(c->vfs));
	if (rc == SQLITE_OK)
		rc = harden(c->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_handler(c->db, busy_wait, c);
	if (rc != SQLITE_OK) {
		rc = catalog_fail(c, rc, "open", diag);
		catalog_disconnect(c);
	}
	return rc;
}

void catalog_disconnect(struct catalog *c)
{
	int i, rc;

	for (i = 0; i < NR_STMTS; i++) {
		(void)sqlite3_finalize(c->stmt[i]);	/* old errors */
		c->stmt[i] = NULL;
	}
	rc = sqlite3_close(c->db);
	akin_assert(rc == SQLITE_OK);	/* no statement is left */
	c->db = NULL;
	c->reopen = false;
}

int catalog_exec(struct catalog *c, const char *sql, struct akin_diag *diag)
{
	int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : catalog_fail(c, rc, sql, diag);
}

/*
 * journal_mode reads the schema, and so recovers under SQLite's default mode,
 * which deletes the journal; the VFS then keeps it all the same.
 */
static int configure(struct catalog *c, struct akin_diag *diag)
{
	char cache[64];
	int err;

	err = catalog_exec(c, "PRAGMA journal_mode = PERSIST; "
			   "PRAGMA journal_size_limit = -1; "
			   "PRAGMA synchronous = FULL; "
			   "PRAGMA temp_store = MEMORY; "
			   "PRAGMA cache_spill = OFF; "
			   "PRAGMA secure_delete = OFF; "
			   "PRAGMA cell_size_check = ON; "
			   "PRAGMA automatic_index = OFF", diag);
	snprintf(cache, sizeof(cache), "PRAGMA cache_size = -%u",
		 (unsigned)max_u64(c->cache_bytes / KiB, 16));
	if (!err)
		err = catalog_exec(c, cache, diag);
	if (!err && c->read_only)
		err = catalog_exec(c, "PRAGMA query_only = ON", diag);
	return err ? err : catalog_schema_check(c, diag);
}

/* Did the last call fail because the hot journal may not be rolled back? */
static bool needs_copy(struct catalog *c)
{
	return c->db && c->read_only && !catalog_vfs_copied(c->vfs) &&
	       sqlite3_extended_errcode(c->db) == SQLITE_READONLY_ROLLBACK;
}

/* *again_ret stays as it is, or becomes false after an error. */
static int take_copy(struct catalog *c, bool *again_ret,
		     struct akin_diag *diag)
{
	bool done;
	int err;

	err = catalog_vfs_copy(c->vfs, c->private_copy, &done, diag);
	if (err == -AKIN_E_busy) {
		diag_clear(diag);
		(void)sqlite3_sleep(NAP_MAX_MS);
		err = 0;
	}
	if (err)
		*again_ret = false;
	return err;
}

/* One way or the other, from files or copy. *again_ret: the other way now. */
static int attach_once(struct catalog *c, bool *again_ret,
		       struct akin_diag *diag)
{
	bool writable = !c->read_only || catalog_vfs_copied(c->vfs);
	int err;

	*again_ret = c->private_copy && !catalog_vfs_copied(c->vfs);
	if (*again_ret)
		return take_copy(c, again_ret, diag);
	err = catalog_connect(c, FILE_CATALOG, writable ?
			      SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY,
			      diag);
	if (!err)
		err = configure(c, diag);
	if (!err)
		return 0;
	*again_ret = needs_copy(c);
	catalog_disconnect(c);
	if (!*again_ret)
		return err;
	diag_clear(diag);
	return take_copy(c, again_ret, diag);
}

int catalog_attach(struct catalog *c, struct akin_diag *diag)
{
	struct akin_diag *d = diag, own = { 0 };
	u64 start = clock_ns();
	bool again = true;
	int i, err = 0;

	/* An earlier error of the caller's must not be cleared between. */
	if (!diag || diag->code != 0)
		d = &own;
	for (i = 0; again; i++) {
		err = attach_once(c, &again, d);
		if (again && i >= ATTACH_TRIES &&
		    clock_ns() - start >= (u64)c->busy_ms * 1000000)
			return diag_set(d, -AKIN_E_busy,
					"catalog: being recovered again and "
					"again");
	}
	return err;
}

/* Before each transaction: a connection, and the right one. */
static int ready(struct catalog *c, struct akin_diag *diag)
{
	catalog_vfs_clear(c->vfs);
	if (c->db && !c->private_copy && catalog_vfs_copied(c->vfs) &&
	    catalog_vfs_copy_stale(c->vfs))
		c->reopen = true;
	if (c->db && !c->reopen)
		return 0;
	catalog_disconnect(c);
	if (!c->private_copy)
		catalog_vfs_drop_copy(c->vfs);
	return catalog_attach(c, diag);
}

/* Statements --------------------------------------------------------------*/

int catalog_stmt(struct catalog *c, enum catalog_stmt which,
		 sqlite3_stmt **out, struct akin_diag *diag)
{
	int rc;

	if (!c->stmt[which]) {
		rc = sqlite3_prepare_v3(c->db, stmt_sql[which], -1,
					SQLITE_PREPARE_PERSISTENT,
					&c->stmt[which], NULL);
		if (rc != SQLITE_OK)
			return catalog_fail(c, rc, stmt_sql[which], diag);
	}
	*out = c->stmt[which];
	return 0;
}

void catalog_reset(struct catalog *c, enum catalog_stmt which)
{
	if (!c->stmt[which])
		return;
	(void)sqlite3_reset(c->stmt[which]);	/* repeats the step's error */
	(void)sqlite3_clear_bindings(c->stmt[which]);
}

int catalog_step(struct catalog *c, enum catalog_stmt which, bool *row_ret,
		 struct akin_diag *diag)
{
	int rc = sqlite3_step(c->stmt[which]), err = 0;

	*row_ret = rc == SQLITE_ROW;
	if (rc == SQLITE_ROW)
		return 0;
	if (rc != SQLITE_DONE)
		err = catalog_fail(c, rc, stmt_sql[which], diag);
	catalog_reset(c, which);
	return err;
}

int catalog_run(struct catalog *c, enum catalog_stmt which, u32 *changed_ret,
		struct akin_diag *diag)
{
	sqlite3_stmt *st;
	bool row;
	int err;

	err = catalog_stmt(c, which, &st, diag);
	if (!err)
		err = catalog_step(c, which, &row, diag);
	if (!err && row)
		catalog_reset(c, which);
	if (!err && changed_ret)
		*changed_ret = (u32)sqlite3_changes(c->db);
	return err;
}

/* Transactions ------------------------------------------------------------*/

static int load_meta(struct catalog *c, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	struct catalog_meta *m = &c->meta;
	const void *pool;
	size_t len = 0;
	bool row = false, same;
	int err;

	err = catalog_stmt(c, STMT_META_GET, &r.stmt, diag);
	if (!err)
		err = catalog_step(c, STMT_META_GET, &row, diag);
	if (err)
		return err;
	if (!row)
		return catalog_bad_row("meta", diag);
	pool = row_blob(&r, 0, POOL_ID_BYTES, &len);
	same = pool && len == POOL_ID_BYTES &&
	       memcmp(pool, c->pool.b, POOL_ID_BYTES) == 0;
	m->txn = row_u64(&r, 1, CATALOG_NUMBER_MAX);
	m->last_container = row_u64(&r, 2, CATALOG_NUMBER_MAX);
	m->last_run = row_u64(&r, 3, CATALOG_NUMBER_MAX);
	m->last_session = row_u64(&r, 4, CATALOG_NUMBER_MAX);
	m->last_snapshot = row_u64(&r, 5, CATALOG_NUMBER_MAX);
	m->root_txn = row_u64(&r, 6, CATALOG_NUMBER_MAX);
	m->condemn_txn = row_u64(&r, 7, CATALOG_NUMBER_MAX);
	catalog_reset(c, STMT_META_GET);
	if (r.bad)
		return catalog_bad_row("meta", diag);
	if (!same)
		return diag_set(diag, -AKIN_E_bad_identity,
				"catalog belongs to another pool");
	return 0;
}

static int store_meta(struct catalog *c, struct akin_diag *diag)
{
	const struct catalog_meta *m = &c->meta;
	sqlite3_stmt *st = NULL;
	int err;

	err = catalog_stmt(c, STMT_META_SET, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)m->txn);
	(void)sqlite3_bind_int64(st, 2, (s64)m->last_container);
	(void)sqlite3_bind_int64(st, 3, (s64)m->last_run);
	(void)sqlite3_bind_int64(st, 4, (s64)m->last_session);
	(void)sqlite3_bind_int64(st, 5, (s64)m->last_snapshot);
	(void)sqlite3_bind_int64(st, 6, (s64)m->root_txn);
	(void)sqlite3_bind_int64(st, 7, (s64)m->condemn_txn);
	return catalog_run(c, STMT_META_SET, NULL, diag);
}

/* Ends whatever transaction is open; errors were reported before. */
static void rollback(struct catalog *c)
{
	if (c->db && !sqlite3_get_autocommit(c->db) &&
	    catalog_run(c, STMT_ROLLBACK, NULL, NULL))
		c->reopen = true;
}

/* Living sessions in a few words; "" if they cannot be read now. */
static void name_living(struct catalog *c, char *text, size_t size)
{
	struct catalog_row r = { 0 };
	char host[256], command[256];
	size_t len = 0;
	bool row = false;
	u64 number, pid;
	int n;

	if (catalog_stmt(c, STMT_SESSION_EACH_LIVING, &r.stmt, NULL))
		return;
	(void)sqlite3_bind_int(r.stmt, 1, HINT_SESSIONS);
	while (!catalog_step(c, STMT_SESSION_EACH_LIVING, &row, NULL) && row) {
		number = row_u64(&r, 0, CATALOG_NUMBER_MAX);
		pid = row_u64(&r, 1, UINT32_MAX);
		row_text(&r, 2, host, sizeof(host));
		row_text(&r, 3, command, sizeof(command));
		n = snprintf(text + len, size - len,
			     "%ssession %llu, pid %llu on %.40s: %.40s",
			     len ? "; " : "", (unsigned long long)number,
			     (unsigned long long)pid, host, command);
		if (n > 0)
			len = min_u64(len + (size_t)n, size - 1);
	}
}

/* Who may hold it? Asking must not wait, and may fail. */
static void busy_hint(struct catalog *c, struct akin_diag *diag)
{
	char text[200] = "";

	if (!c->db || !diag ||
	    sqlite3_busy_handler(c->db, NULL, NULL) != SQLITE_OK)
		return;
	name_living(c, text, sizeof(text));
	(void)sqlite3_busy_handler(c->db, busy_wait, c);	/* as before */
	if (text[0])
		diag_hint(diag, "at work now: %s", text);
}

/*
 * The end of every transaction, committed or not. A connection that has seen
 * an error may hold locks that it cannot drop otherwise.
 */
static void finish(struct catalog *c)
{
	rollback(c);
	if (c->reopen)
		catalog_disconnect(c);
	pthread_mutex_unlock(&c->lock);
}

static int start(struct catalog *c, enum catalog_stmt how,
		 struct akin_diag *diag)
{
	int err;

	err = ready(c, diag);
	if (!err)
		err = catalog_run(c, how, NULL, diag);
	if (!err)
		err = load_meta(c, diag);
	return err;
}

int catalog_txn_begin(struct catalog *c, struct akin_diag *diag)
{
	int err;

	if (c->read_only)
		return diag_set(diag, -AKIN_E_readonly,
				"catalog: opened for reading only");
	pthread_mutex_lock(&c->lock);
	err = start(c, STMT_BEGIN_WRITE, diag);
	if (!err && c->meta.txn >= CATALOG_NUMBER_MAX)
		err = diag_set(diag, -AKIN_E_too_large,
			       "catalog: out of transaction numbers");
	if (!err) {
		c->meta.txn++;
		return 0;
	}
	rollback(c);
	if (err == -AKIN_E_busy)
		busy_hint(c, diag);
	finish(c);
	return err;
}

int catalog_txn_end(struct catalog *c, int err, struct akin_diag *diag)
{
	if (!err)
		err = store_meta(c, diag);
	if (!err)
		err = catalog_run(c, STMT_COMMIT, NULL, diag);
	if (err)
		rollback(c);
	if (err == -AKIN_E_busy)
		busy_hint(c, diag);
	finish(c);
	return err;
}

void catalog_txn_cancel(struct catalog *c)
{
	finish(c);
}

int catalog_read_begin(struct catalog *c, struct akin_diag *diag)
{
	struct akin_diag d = { 0 };
	int err = 0, i;

	pthread_mutex_lock(&c->lock);
	for (i = 0; i < ATTACH_TRIES; i++) {
		diag_clear(&d);
		err = start(c, STMT_BEGIN_READ, &d);
		/* A writer died since we opened it: through attach, again. */
		if (!err || !needs_copy(c))
			break;
		rollback(c);
		c->reopen = true;
	}
	if (!err)
		return 0;
	rollback(c);
	if (err == -AKIN_E_busy)
		busy_hint(c, &d);
	finish(c);
	(void)diag_pass(diag, err, &d);
	if (d.hint[0])
		diag_hint(diag, "%s", d.hint);
	return err;
}

void catalog_read_end(struct catalog *c)
{
	finish(c);	/* nothing was changed */
}

/* Rows --------------------------------------------------------------------*/

u64 row_u64(struct catalog_row *r, int col, u64 max)
{
	sqlite3_int64 v = sqlite3_column_int64(r->stmt, col);

	if (sqlite3_column_type(r->stmt, col) != SQLITE_INTEGER || v < 0 ||
	    (u64)v > max) {
		r->bad = true;
		return 0;
	}
	return (u64)v;
}

s64 row_s64(struct catalog_row *r, int col)
{
	if (sqlite3_column_type(r->stmt, col) != SQLITE_INTEGER)
		r->bad = true;
	return sqlite3_column_int64(r->stmt, col);
}

void row_text(struct catalog_row *r, int col, char *out, size_t size)
{
	const void *p = NULL;
	size_t len = 0;

	out[0] = '\0';
	if (sqlite3_column_type(r->stmt, col) == SQLITE_TEXT) {
		p = sqlite3_column_text(r->stmt, col);
		len = (size_t)sqlite3_column_bytes(r->stmt, col);
	}
	if (!p || len >= size || memchr(p, 0, len)) {
		r->bad = true;
		return;
	}
	memcpy(out, p, len);
	out[len] = '\0';
}

const void *row_blob(struct catalog_row *r, int col, size_t max,
		     size_t *len_ret)
{
	const void *p = NULL;

	*len_ret = 0;
	if (sqlite3_column_type(r->stmt, col) == SQLITE_BLOB) {
		p = sqlite3_column_blob(r->stmt, col);
		*len_ret = (size_t)sqlite3_column_bytes(r->stmt, col);
	}
	if (!p || *len_ret > max) {
		r->bad = true;
		return NULL;
	}
	return p;
}

int catalog_bad_row(const char *table, struct akin_diag *diag)
{
	return diag_set(diag, -AKIN_E_catalog,
			"catalog is damaged: a row of %s is out of bounds",
			table);
}
