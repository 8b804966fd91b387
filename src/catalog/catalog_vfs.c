/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VFS as SQLite sees it: registration, opening, names, and the private
 * copy of a catalog whose recovery we may not write down.
 *
 * Only two names exist: the database and its journal. Everything else SQLite
 * asks for (statement journals, sorting) lives in memory, and asking whether
 * some other file exists, such as a write-ahead log, is answered with no.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "catalog/catalog_vfs_internal.h"

static struct catalog_vfs *to_vfs(sqlite3_vfs *base)
{
	return container_of(base, struct catalog_vfs, base);
}

int vfs_failed(struct catalog_vfs *v, const struct akin_diag *d, int rc)
{
	if (v->diag.code == 0)
		v->diag = *d;
	return d->code == -AKIN_E_nomem ? SQLITE_IOERR_NOMEM : rc;
}

int vfs_damaged(struct catalog_vfs *v, const char *fmt, ...)
{
	struct akin_diag d = { 0 };
	char what[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)diag_set(&d, -AKIN_E_catalog, "catalog is damaged: %s", what);
	return vfs_failed(v, &d, SQLITE_IOERR_DATA);
}

/* Opening -----------------------------------------------------------------*/

static int open_memory(struct vfs_file *f, struct vfs_image *image)
{
	f->image = image;
	f->base.pMethods = &vfs_file_methods;
	return SQLITE_OK;
}

static int open_disk(struct vfs_file *f, const char *name, int flags)
{
	struct catalog_vfs *v = f->vfs;
	unsigned how = flags & SQLITE_OPEN_READWRITE ? DISK_WRITE : 0;
	struct akin_diag d = { 0 };
	int err;

	err = disk_open(v->disk, name, how, &f->file, &d);
	if (err == -AKIN_E_absent && (flags & SQLITE_OPEN_CREATE)) {
		memset(&d, 0, sizeof(d));
		err = disk_open(v->disk, name, how | DISK_CREATE, &f->file, &d);
		f->sync_dir = true;
	}
	if (err == -AKIN_E_absent)	/* for SQLite to make sense of */
		return SQLITE_CANTOPEN;
	if (err)
		return vfs_failed(v, &d, SQLITE_CANTOPEN);
	f->base.pMethods = &vfs_file_methods;
	return SQLITE_OK;
}

static int vfs_x_open(sqlite3_vfs *base, const char *name, sqlite3_file *file,
		      int flags, int *flags_ret)
{
	struct vfs_file *f = container_of(file, struct vfs_file, base);
	struct catalog_vfs *v = to_vfs(base);
	const int temps = SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TRANSIENT_DB |
			  SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_SUBJOURNAL;

	memset(f, 0, sizeof(*f));
	f->vfs = v;
	if (flags_ret)
		*flags_ret = flags;
	if (flags & temps) {
		f->kind = VFS_TEMP;
		return open_memory(f, &f->own);
	}
	if (!name || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL)))
		return SQLITE_CANTOPEN;
	f->kind = flags & SQLITE_OPEN_MAIN_DB ? VFS_MAIN : VFS_JRNL;
	if (v->copied)
		return open_memory(f, f->kind == VFS_MAIN ? &v->db :
				   &v->journal);
	return open_disk(f, name, flags);
}

/* Names -------------------------------------------------------------------*/

/* The journal stays; see the header. Durable on return, as SQLite asks. */
static int clear_journal(struct catalog_vfs *v)
{
	static const u8 zeros[JOURNAL_SEALED_BYTES];
	struct akin_diag d = { 0 };
	struct file *f;
	int err;

	err = disk_open(v->disk, VFS_JOURNAL, DISK_WRITE, &f, &d);
	if (err == -AKIN_E_absent)
		return SQLITE_IOERR_DELETE_NOENT;
	if (err)
		return vfs_failed(v, &d, SQLITE_IOERR_DELETE);
	err = file_pwrite(f, zeros, sizeof(zeros), 0, &d);
	if (!err)
		err = file_sync(f, &d);
	(void)file_close(f, NULL);	/* synced, or failed already */
	return err ? vfs_failed(v, &d, SQLITE_IOERR_DELETE) : SQLITE_OK;
}

static int vfs_x_delete(sqlite3_vfs *base, const char *name, int sync_dir)
{
	struct catalog_vfs *v = to_vfs(base);

	if (strcmp(name, VFS_JOURNAL) != 0)
		return SQLITE_IOERR_DELETE_NOENT;
	if (v->copied) {
		v->journal.len = 0;
		return SQLITE_OK;
	}
	return v->read_only ? SQLITE_IOERR_DELETE : clear_journal(v);
}

static int vfs_x_access(sqlite3_vfs *base, const char *name, int flags,
			int *out)
{
	struct catalog_vfs *v = to_vfs(base);
	struct akin_diag d = { 0 };
	struct disk_stat st;
	int err;

	*out = 0;
	if (strcmp(name, VFS_JOURNAL) != 0)
		return SQLITE_OK;
	if (v->copied) {
		*out = v->journal.len > 0;
		return SQLITE_OK;
	}
	err = disk_stat(v->disk, name, &st, &d);
	*out = !err;
	if (err && err != -AKIN_E_absent)
		return vfs_failed(v, &d, SQLITE_IOERR_ACCESS);
	return SQLITE_OK;
}

static int vfs_x_full_pathname(sqlite3_vfs *base, const char *name, int n,
			       char *out)
{
	int len = snprintf(out, (size_t)n, "%s", name);

	return len < 0 || len >= n ? SQLITE_CANTOPEN : SQLITE_OK;
}

static int vfs_x_randomness(sqlite3_vfs *base, int n, char *out)
{
	sqlite3_vfs *os = to_vfs(base)->os;

	return os->xRandomness(os, n, out);
}

static int vfs_x_sleep(sqlite3_vfs *base, int us)
{
	sqlite3_vfs *os = to_vfs(base)->os;

	return os->xSleep(os, us);
}

static int vfs_x_current_time(sqlite3_vfs *base, double *out)
{
	sqlite3_vfs *os = to_vfs(base)->os;

	return os->xCurrentTime(os, out);
}

static int vfs_x_get_last_error(sqlite3_vfs *base, int n, char *out)
{
	if (n > 0)
		snprintf(out, (size_t)n, "%s", to_vfs(base)->diag.text);
	return 0;
}

/* Life --------------------------------------------------------------------*/

int catalog_vfs_new(struct disk *disk, bool read_only, struct catalog_vfs **out,
		    struct akin_diag *diag)
{
	struct catalog_vfs *v = mem_zalloc(sizeof(*v));

	*out = NULL;
	if (!v)
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	v->disk = disk;
	v->read_only = read_only;
	snprintf(v->name, sizeof(v->name), "akin-%" PRIxPTR, (uintptr_t)v);
	v->base = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct vfs_file),
		.mxPathname = FORMAT_NAME_MAX,
		.zName = v->name,
		.xOpen = vfs_x_open,
		.xDelete = vfs_x_delete,
		.xAccess = vfs_x_access,
		.xFullPathname = vfs_x_full_pathname,
		.xRandomness = vfs_x_randomness,
		.xSleep = vfs_x_sleep,
		.xCurrentTime = vfs_x_current_time,
		.xGetLastError = vfs_x_get_last_error,
	};
	v->os = sqlite3_vfs_find(NULL);
	if (!v->os || sqlite3_vfs_register(&v->base, 0) != SQLITE_OK) {
		catalog_vfs_free(v);
		return diag_set(diag, -AKIN_E_nomem,
				"catalog: SQLite does not start");
	}
	v->registered = true;
	*out = v;
	return 0;
}

void catalog_vfs_free(struct catalog_vfs *v)
{
	if (!v)
		return;
	if (v->registered)
		sqlite3_vfs_unregister(&v->base);
	catalog_vfs_drop_copy(v);
	mem_free(v);
}

const char *catalog_vfs_name(const struct catalog_vfs *v)
{
	return v->name;
}

const struct akin_diag *catalog_vfs_diag(const struct catalog_vfs *v)
{
	return &v->diag;
}

void catalog_vfs_clear(struct catalog_vfs *v)
{
	v->diag.code = 0;
	v->diag.text[0] = '\0';
	v->diag.hint[0] = '\0';
}

/* The private copy --------------------------------------------------------*/

static int copy_file(struct file *f, struct vfs_image *out,
		     struct akin_diag *diag)
{
	u64 size;
	int err;

	err = file_size(f, &size, diag);
	if (err)
		return err;
	if (size > SIZE_MAX / 2)
		return diag_set(diag, -AKIN_E_too_large, "catalog: too large");
	out->data = mem_alloc(max_u64(size, 1));
	if (!out->data)
		return diag_set(diag, -AKIN_E_nomem,
				"catalog: no memory to recover it in a copy");
	out->len = out->cap = (size_t)size;
	return file_pread(f, out->data, out->len, 0, diag);
}

/* @v->journal is that of a dead writer, or empty. */
static int copy_journal(struct catalog_vfs *v, struct vfs_file *db,
			struct akin_diag *diag)
{
	struct file *journal;
	bool writing;
	int err;

	if (vfs_reserved(db, &writing) != SQLITE_OK)
		return diag_set(diag, v->diag.code, "%s", v->diag.text);
	if (writing)	/* a journal in the making */
		return 0;
	err = disk_open(v->disk, VFS_JOURNAL, 0, &journal, diag);
	if (err)
		return err;
	err = copy_file(journal, &v->journal, diag);
	(void)file_close(journal, NULL);	/* only read */
	if (err)
		return err;
	if (v->journal.len < JOURNAL_SEALED_BYTES || v->journal.data[0] == 0)
		v->journal.len = 0;
	return 0;
}

/* The catalog is locked for reading by @db; nobody can recover it now. */
static int copy_locked(struct catalog_vfs *v, struct vfs_file *db, bool always,
		       bool *done_ret, struct akin_diag *diag)
{
	int err;

	err = copy_journal(v, db, diag);
	if (err || (!v->journal.len && !always))
		return err;
	err = copy_file(db->file, &v->db, diag);
	if (err)
		return err;
	if (v->journal.len)
		memcpy(v->copied_head, v->journal.data, JOURNAL_SEALED_BYTES);
	*done_ret = true;
	return 0;
}

int catalog_vfs_copy(struct catalog_vfs *v, bool always, bool *done_ret,
		     struct akin_diag *diag)
{
	struct vfs_file db = { .vfs = v, .kind = VFS_MAIN };
	int err, rc;

	*done_ret = false;
	catalog_vfs_drop_copy(v);
	err = disk_open(v->disk, FILE_CATALOG, 0, &db.file, diag);
	if (err)
		return err;
	rc = vfs_lock(&db, SQLITE_LOCK_SHARED);
	if (rc == SQLITE_BUSY)
		err = diag_set(diag, -AKIN_E_busy,
			       "catalog: somebody is writing it");
	else if (rc != SQLITE_OK)
		err = diag_set(diag, v->diag.code, "%s", v->diag.text);
	else
		err = copy_locked(v, &db, always, done_ret, diag);
	(void)file_close(db.file, NULL);	/* only read; drops the lock */
	v->copied = *done_ret;
	if (!v->copied)
		catalog_vfs_drop_copy(v);
	return err;
}

bool catalog_vfs_copied(const struct catalog_vfs *v)
{
	return v->copied;
}

bool catalog_vfs_copy_stale(struct catalog_vfs *v)
{
	u8 head[JOURNAL_SEALED_BYTES];
	struct file *journal;
	int err;

	/* Each journal's head has a random number of its own in it. */
	if (disk_open(v->disk, VFS_JOURNAL, 0, &journal, NULL))
		return true;
	err = file_pread(journal, head, sizeof(head), 0, NULL);
	(void)file_close(journal, NULL);	/* only read */
	return err || memcmp(head, v->copied_head, sizeof(head)) != 0;
}

void catalog_vfs_drop_copy(struct catalog_vfs *v)
{
	vfs_image_release(&v->db);
	vfs_image_release(&v->journal);
	v->copied = false;
}
