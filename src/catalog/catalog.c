/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making, opening and checking a catalog.
 *
 * A new catalog is built under another name and renamed into place when it is
 * whole, after its journal: a zero-filled file, because blocks that are only
 * allocated turn into written ones by metadata of the file system, and that
 * may need space. Then a few free pages are left in it, so that small
 * transactions work on a full disk.
 */
#include "base/mem.h"
#include "catalog/catalog_internal.h"

#define NEW_CATALOG FILE_CATALOG ".new"
#define JOURNAL FILE_CATALOG "-journal"
#define NEW_JOURNAL JOURNAL ".new"
#define ZEROS_BYTES ((size_t)64 * 1024)
static_assert(CATALOG_JOURNAL_BYTES % ZEROS_BYTES == 0, "whole writes");

static int fill_zeros(struct file *f, struct akin_diag *diag)
{
	u8 *zeros = mem_zalloc(ZEROS_BYTES);
	u64 off;
	int err;

	if (!zeros)
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	err = file_reserve(f, CATALOG_JOURNAL_BYTES, diag);
	for (off = 0; !err && off < CATALOG_JOURNAL_BYTES; off += ZEROS_BYTES)
		err = file_pwrite(f, zeros, ZEROS_BYTES, off, diag);
	if (!err)
		err = file_sync(f, diag);
	mem_free(zeros);
	return err;
}

static int create_journal(struct disk *meta, struct akin_diag *diag)
{
	struct file *f;
	int err, err2;

	err = disk_open(meta, NEW_JOURNAL, DISK_WRITE | DISK_CREATE |
			DISK_TRUNC, &f, diag);
	if (err)
		return err;
	err = fill_zeros(f, diag);
	err2 = file_close(f, err ? NULL : diag);
	return err ? err : err2;
}

/* Its journal may live in memory: a crash leaves nothing to recover. What is
 * built is synced by SQLite as ever. */
static int build(struct catalog *c, struct akin_diag *diag)
{
	int reserved = VFS_RESERVED_BYTES, rc, err;

	err = catalog_connect(c, NEW_CATALOG, SQLITE_OPEN_READWRITE |
			      SQLITE_OPEN_CREATE, diag);
	if (err)
		return err;
	rc = sqlite3_file_control(c->db, "main", SQLITE_FCNTL_RESERVE_BYTES,
				  &reserved);
	if (rc != SQLITE_OK)
		return catalog_fail(c, rc, "reserved bytes", diag);
	err = catalog_exec(c, "PRAGMA page_size = 4096; "
			   "PRAGMA auto_vacuum = NONE; "
			   "PRAGMA encoding = 'UTF-8'; "
			   "PRAGMA journal_mode = MEMORY; "
			   "PRAGMA synchronous = FULL; "
			   "PRAGMA temp_store = MEMORY; "
			   "PRAGMA secure_delete = OFF", diag);
	if (!err)
		err = catalog_schema_create(c, diag);
	if (!err)
		err = catalog_refill(c, diag);
	catalog_disconnect(c);
	return err;
}

/* Leftovers of a creation that did not get far. */
static int drop_leftover(struct disk *meta, const char *name,
			 struct akin_diag *diag)
{
	struct akin_diag d = { 0 };
	int err = disk_unlink(meta, name, &d);

	if (!err || err == -AKIN_E_absent)
		return 0;
	return diag_pass(diag, err, &d);
}

static int create(struct disk *meta, struct catalog *c, struct akin_diag *diag)
{
	int err;

	err = drop_leftover(meta, NEW_CATALOG, diag);
	if (!err)
		err = build(c, diag);
	if (!err)
		err = create_journal(meta, diag);
	if (!err)
		err = disk_rename(meta, NEW_JOURNAL, JOURNAL, diag);
	if (!err)
		err = disk_sync_dir(meta, ".", diag);
	if (!err)
		err = disk_rename(meta, NEW_CATALOG, FILE_CATALOG, diag);
	return err ? err : disk_sync_dir(meta, ".", diag);
}

int catalog_create(struct disk *meta, const struct pool_id *pool,
		   struct akin_diag *diag)
{
	struct akin_diag d = { 0 };
	struct disk_stat st;
	struct catalog *c;
	int err;

	err = disk_stat(meta, FILE_CATALOG, &st, &d);
	if (!err)
		return diag_set(diag, -AKIN_E_exists,
				"there is a catalog already");
	if (err != -AKIN_E_absent)
		return diag_pass(diag, err, &d);
	err = catalog_new(meta, pool, NULL, &c, diag);
	if (err)
		return err;
	err = create(meta, c, diag);
	catalog_free(c);
	if (err) {
		/* Best effort: the next attempt removes them, too. */
		(void)drop_leftover(meta, NEW_CATALOG, NULL);
		(void)drop_leftover(meta, NEW_JOURNAL, NULL);
	}
	return err;
}

static int check_file(struct disk *meta, struct akin_diag *diag)
{
	struct disk_stat st;
	int err;

	err = disk_stat(meta, FILE_CATALOG, &st, diag);
	if (err)
		return err;
	/* SQLite takes an empty file for a new database. */
	if (st.is_dir || st.size_bytes < VFS_PAGE_BYTES)
		return diag_set(diag, -AKIN_E_catalog,
				"catalog is damaged: not a database");
	return 0;
}

int catalog_open(struct disk *meta, const struct pool_id *pool,
		 const struct catalog_options *opt, struct catalog **out,
		 struct akin_diag *diag)
{
	struct catalog *c;
	int err;

	*out = NULL;
	err = check_file(meta, diag);
	if (err)
		return err;
	err = catalog_new(meta, pool, opt, &c, diag);
	if (err)
		return err;
	err = catalog_attach(c, diag);
	if (!err) {
		err = catalog_read_begin(c, diag);	/* whose is it? */
		if (!err)
			catalog_read_end(c);
	}
	if (err) {
		catalog_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void catalog_close(struct catalog *c)
{
	catalog_free(c);
}

static int check_pages(struct catalog *c, struct akin_diag *diag)
{
	const struct akin_diag *d = catalog_vfs_diag(c->vfs);
	struct catalog_row r = { 0 };
	char text[256];
	bool row = false;
	int err;

	err = catalog_stmt(c, STMT_CHECK, &r.stmt, diag);
	if (!err)
		err = catalog_step(c, STMT_CHECK, &row, diag);
	if (err || !row)
		return err;
	row_text(&r, 0, text, sizeof(text));
	catalog_reset(c, STMT_CHECK);
	/* SQLite tells of pages it cannot read as of any other flaw. */
	if (d->code)
		return diag_set(diag, d->code, "%s", d->text);
	if (strcmp(text, "ok") == 0)
		return 0;
	return diag_set(diag, -AKIN_E_catalog, "catalog is damaged: %s",
			text[0] ? text : "integrity check");
}

int catalog_check(struct catalog *c, struct akin_diag *diag)
{
	int err;

	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = check_pages(c, diag);
	catalog_read_end(c);
	return err ? err : catalog_check_rows(c, diag);
}
