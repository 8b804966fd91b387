/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of an open file: raw bytes from the disk or from memory, locks,
 * and the table SQLite calls.
 *
 * Locks, in SQLite's bytes and with its meaning:
 *
 *	PENDING   0x40000000      read: in passing, on the way to SHARED;
 *	                          write: no new readers come in
 *	RESERVED  0x40000001      write: the one who will write
 *	SHARED    0x40000002 +510 read: readers; write: EXCLUSIVE
 *
 *	NONE -> SHARED      read PENDING, read SHARED, release PENDING
 *	SHARED -> RESERVED  write RESERVED
 *	any -> EXCLUSIVE    write PENDING (stays if the next fails, so that
 *	                    readers drain), write SHARED
 *	any -> SHARED       read SHARED, release PENDING and RESERVED
 *
 * The page in which these bytes lie (at 1 GiB) is left unused by SQLite.
 */
#include "base/mem.h"
#include "catalog/catalog_vfs_internal.h"

#define PENDING_OFF ((u64)0x40000000)
#define RESERVED_OFF (PENDING_OFF + 1)
#define SHARED_OFF (PENDING_OFF + 2)
#define SHARED_LEN ((u64)510)
/* All of them lie in a row. */
#define LOCKS_LEN (SHARED_OFF + SHARED_LEN - PENDING_OFF)

/* The catalog is small; a copy in memory larger than this is refused. */
#define IMAGE_MAX_BYTES ((size_t)1 << 30)

static struct vfs_file *to_file(sqlite3_file *base)
{
	return container_of(base, struct vfs_file, base);
}

/* Cheaper than zeroing all of it for each call. */
static void diag_blank(struct akin_diag *d)
{
	d->code = 0;
	d->text[0] = '\0';
	d->hint[0] = '\0';
}

/* Memory ------------------------------------------------------------------*/

void vfs_image_release(struct vfs_image *im)
{
	mem_free(im->data);
	memset(im, 0, sizeof(*im));
}

static int image_write(struct vfs_file *f, const void *data, size_t n, u64 off)
{
	struct vfs_image *im = f->image;
	size_t end = (size_t)off + n, cap = im->cap ? im->cap : VFS_PAGE_BYTES;
	u8 *grown;

	if (off > IMAGE_MAX_BYTES || n > IMAGE_MAX_BYTES)
		return SQLITE_FULL;
	while (cap < end)
		cap *= 2;
	if (cap != im->cap) {
		grown = mem_realloc(im->data, cap);
		if (!grown)
			return SQLITE_IOERR_NOMEM;
		im->data = grown;
		im->cap = cap;
	}
	if (off > im->len)
		memset(im->data + im->len, 0, (size_t)off - im->len);
	memcpy(im->data + off, data, n);
	if (end > im->len)
		im->len = end;
	return SQLITE_OK;
}

static size_t image_read(const struct vfs_image *im, void *data, size_t n,
			 u64 off)
{
	if (off >= im->len)
		return 0;
	n = (size_t)min_u64(n, im->len - off);
	memcpy(data, im->data + off, n);
	return n;
}

/* Raw bytes ---------------------------------------------------------------*/

/* The file ends before off + n; what is there before the end? */
static int read_tail(struct vfs_file *f, void *data, size_t n, u64 off,
		     size_t *got_ret, struct akin_diag *d)
{
	u64 size;
	int err;

	err = file_size(f->file, &size, d);
	if (!err && size > off && size - off < n) {
		n = (size_t)(size - off);
		err = file_pread(f->file, data, n, off, d);
		*got_ret = n;
	} else {
		*got_ret = 0;
	}
	return err;
}

int vfs_raw_read(struct vfs_file *f, void *data, size_t n, u64 off,
		 size_t *got_ret)
{
	struct akin_diag d;
	int err;

	*got_ret = n;
	if (!f->file) {
		*got_ret = image_read(f->image, data, n, off);
		return SQLITE_OK;
	}
	diag_blank(&d);
	err = file_pread(f->file, data, n, off, &d);
	if (err == -AKIN_E_short_read) {
		diag_blank(&d);
		err = read_tail(f, data, n, off, got_ret, &d);
	}
	if (err)
		return vfs_failed(f->vfs, &d, SQLITE_IOERR_READ);
	return SQLITE_OK;
}

int vfs_raw_write(struct vfs_file *f, const void *data, size_t n, u64 off)
{
	struct akin_diag d;
	int err;

	if (!f->file)
		return image_write(f, data, n, off);
	diag_blank(&d);
	err = file_pwrite(f->file, data, n, off, &d);
	if (!err)
		return SQLITE_OK;
	return vfs_failed(f->vfs, &d, err == -AKIN_E_nospace ?
			  SQLITE_FULL : SQLITE_IOERR_WRITE);
}

/* Locks -------------------------------------------------------------------*/

static int lock_range(struct vfs_file *f, enum disk_lock kind, u64 off, u64 len)
{
	struct akin_diag d;
	int err;

	if (!f->file || f->lockless)
		return SQLITE_OK;
	diag_blank(&d);
	err = file_lock(f->file, kind, off, len, &d);
	if (!err)
		return SQLITE_OK;
	if (err == -AKIN_E_busy)
		return SQLITE_BUSY;
	/* Media that nobody writes need no locks; see the header. */
	if (f->vfs->read_only && (err == -AKIN_E_no_locks ||
				  err == -AKIN_E_readonly ||
				  err == -AKIN_E_denied)) {
		f->lockless = true;
		return SQLITE_OK;
	}
	return vfs_failed(f->vfs, &d, kind == DISK_LOCK_NONE ?
			  SQLITE_IOERR_UNLOCK : SQLITE_IOERR_LOCK);
}

static int lock_shared(struct vfs_file *f)
{
	int rc, rc2;

	rc = lock_range(f, DISK_LOCK_READ, PENDING_OFF, 1);
	if (rc != SQLITE_OK)
		return rc;
	rc = lock_range(f, DISK_LOCK_READ, SHARED_OFF, SHARED_LEN);
	rc2 = lock_range(f, DISK_LOCK_NONE, PENDING_OFF, 1);
	if (rc == SQLITE_OK && rc2 != SQLITE_OK) {
		/* What is left goes when the file is closed. */
		(void)lock_range(f, DISK_LOCK_NONE, SHARED_OFF, SHARED_LEN);
		rc = rc2;
	}
	return rc;
}

static int lock_exclusive(struct vfs_file *f)
{
	int rc;

	if (f->level < SQLITE_LOCK_PENDING) {
		rc = lock_range(f, DISK_LOCK_WRITE, PENDING_OFF, 1);
		if (rc != SQLITE_OK)
			return rc;
		f->level = SQLITE_LOCK_PENDING;
	}
	return lock_range(f, DISK_LOCK_WRITE, SHARED_OFF, SHARED_LEN);
}

int vfs_lock(struct vfs_file *f, int level)
{
	int rc;

	if (f->level >= level)
		return SQLITE_OK;
	if (level == SQLITE_LOCK_SHARED)
		rc = lock_shared(f);
	else if (level == SQLITE_LOCK_RESERVED)
		rc = lock_range(f, DISK_LOCK_WRITE, RESERVED_OFF, 1);
	else
		rc = lock_exclusive(f);
	if (rc == SQLITE_OK)
		f->level = level;
	return rc;
}

int vfs_unlock(struct vfs_file *f, int level)
{
	int rc = SQLITE_OK;

	if (f->level <= level)
		return SQLITE_OK;
	if (level == SQLITE_LOCK_SHARED) {
		rc = lock_range(f, DISK_LOCK_READ, SHARED_OFF, SHARED_LEN);
		if (rc == SQLITE_OK)
			rc = lock_range(f, DISK_LOCK_NONE, PENDING_OFF, 2);
	} else {
		rc = lock_range(f, DISK_LOCK_NONE, PENDING_OFF, LOCKS_LEN);
	}
	f->level = level;
	return rc;
}

int vfs_reserved(struct vfs_file *f, bool *held_ret)
{
	u64 off, len = 0;
	struct akin_diag d;
	int err;

	*held_ret = f->level >= SQLITE_LOCK_RESERVED;
	if (*held_ret || !f->file || f->lockless)
		return SQLITE_OK;
	diag_blank(&d);
	err = file_lock_test(f->file, DISK_LOCK_WRITE, RESERVED_OFF, 1, &off,
			     &len, &d);
	if (err)
		return vfs_failed(f->vfs, &d, SQLITE_IOERR_CHECKRESERVEDLOCK);
	*held_ret = len > 0;
	return SQLITE_OK;
}

/* SQLite's table ----------------------------------------------------------*/

static int file_x_close(sqlite3_file *base)
{
	struct vfs_file *f = to_file(base);

	/* Whatever had to last was synced; nothing here can tell SQLite. */
	(void)file_close(f->file, NULL);
	vfs_image_release(&f->own);
	return SQLITE_OK;
}

static int file_x_read(sqlite3_file *base, void *data, int n, sqlite3_int64 off)
{
	struct vfs_file *f = to_file(base);
	size_t got;
	int rc;

	if (f->kind == VFS_MAIN)
		return vfs_main_read(f, data, (size_t)n, (u64)off);
	if (f->kind == VFS_JRNL)
		return vfs_journal_read(f, data, (size_t)n, (u64)off);
	rc = vfs_raw_read(f, data, (size_t)n, (u64)off, &got);
	if (rc != SQLITE_OK || got == (size_t)n)
		return rc;
	memset((u8 *)data + got, 0, (size_t)n - got);
	return SQLITE_IOERR_SHORT_READ;
}

static int file_x_write(sqlite3_file *base, const void *data, int n,
			sqlite3_int64 off)
{
	struct vfs_file *f = to_file(base);

	if (f->kind == VFS_MAIN)
		return vfs_main_write(f, data, (size_t)n, (u64)off);
	if (f->kind == VFS_JRNL)
		return vfs_journal_write(f, data, (size_t)n, (u64)off);
	return vfs_raw_write(f, data, (size_t)n, (u64)off);
}

static int file_x_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	struct vfs_file *f = to_file(base);
	struct akin_diag d;

	if (!f->file) {
		if ((u64)size < f->image->len)
			f->image->len = (size_t)size;
		return SQLITE_OK;
	}
	diag_blank(&d);
	if (file_truncate(f->file, (u64)size, &d))
		return vfs_failed(f->vfs, &d, SQLITE_IOERR_TRUNCATE);
	return SQLITE_OK;
}

static int file_x_sync(sqlite3_file *base, int flags)
{
	struct vfs_file *f = to_file(base);
	struct akin_diag d;

	if (!f->file)
		return SQLITE_OK;
	diag_blank(&d);
	if (file_sync(f->file, &d))
		return vfs_failed(f->vfs, &d, SQLITE_IOERR_FSYNC);
	if (f->sync_dir && disk_sync_dir(f->vfs->disk, ".", &d))
		return vfs_failed(f->vfs, &d, SQLITE_IOERR_DIR_FSYNC);
	f->sync_dir = false;
	return SQLITE_OK;
}

static int file_x_size(sqlite3_file *base, sqlite3_int64 *out)
{
	struct vfs_file *f = to_file(base);
	struct akin_diag d;
	u64 size;

	if (!f->file) {
		*out = (sqlite3_int64)f->image->len;
		return SQLITE_OK;
	}
	diag_blank(&d);
	if (file_size(f->file, &size, &d))
		return vfs_failed(f->vfs, &d, SQLITE_IOERR_FSTAT);
	*out = (sqlite3_int64)size;
	return SQLITE_OK;
}

static int file_x_lock(sqlite3_file *base, int level)
{
	return vfs_lock(to_file(base), level);
}

static int file_x_unlock(sqlite3_file *base, int level)
{
	return vfs_unlock(to_file(base), level);
}

static int file_x_check_reserved(sqlite3_file *base, int *out)
{
	bool held;
	int rc = vfs_reserved(to_file(base), &held);

	*out = held;
	return rc;
}

static int file_x_control(sqlite3_file *base, int op, void *arg)
{
	return SQLITE_NOTFOUND;
}

/*
 * A page is a sector: SQLite then journals no neighbours, and pads the head of
 * the journal to one page. Nothing is promised beyond that; torn writes stay
 * inside the range written and are repaired from the journal.
 */
static int file_x_sector_size(sqlite3_file *base)
{
	return JOURNAL_SECTOR_BYTES;
}

static int file_x_characteristics(sqlite3_file *base)
{
	return 0;
}

const sqlite3_io_methods vfs_file_methods = {
	.iVersion = 1,		/* no shared memory, no mmap */
	.xClose = file_x_close,
	.xRead = file_x_read,
	.xWrite = file_x_write,
	.xTruncate = file_x_truncate,
	.xSync = file_x_sync,
	.xFileSize = file_x_size,
	.xLock = file_x_lock,
	.xUnlock = file_x_unlock,
	.xCheckReservedLock = file_x_check_reserved,
	.xFileControl = file_x_control,
	.xSectorSize = file_x_sector_size,
	.xDeviceCharacteristics = file_x_characteristics,
};
