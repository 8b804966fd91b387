/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the VFS's files share: the registration (catalog_vfs.c), the methods of
 * an open file (catalog_vfs_file.c), checks of pages and journal
 * (catalog_vfs_check.c).
 */
#ifndef CATALOG_VFS_INTERNAL_H
#define CATALOG_VFS_INTERNAL_H

#include <sqlite3.h>

#include "catalog/catalog_vfs.h"
#include "format/format.h"

#define VFS_JOURNAL FILE_CATALOG "-journal"

/*
 * Head of a rollback journal: SQLite's 28 bytes, and behind them, in the
 * padding of the sector, our checksum over them.
 */
#define JOURNAL_HEAD_BYTES 28
#define JOURNAL_SEALED_BYTES (JOURNAL_HEAD_BYTES + 8)
#define JOURNAL_SECTOR_BYTES 4096
/* Page number, page, SQLite's sparse sum. */
#define JOURNAL_RECORD_BYTES (4 + VFS_PAGE_BYTES + 4)

/* A file in memory. */
struct vfs_image {
	u8 *data;
	size_t len, cap;
};

struct catalog_vfs {
	sqlite3_vfs base;
	sqlite3_vfs *os;	/* SQLite's own: clock, randomness */
	char name[32];
	struct disk *disk;
	bool read_only, registered;
	struct akin_diag diag;
	bool copied;		/* the two images are in use */
	struct vfs_image db, journal;
	u8 copied_head[JOURNAL_SEALED_BYTES];
};

enum vfs_kind {
	VFS_MAIN,
	VFS_JRNL,
	VFS_TEMP,	/* statement journals; always in memory */
};

/* Where a walk over the journal's records stands; see catalog_vfs_check.c. */
struct vfs_journal {
	u8 head[JOURNAL_HEAD_BYTES];
	bool head_known;
	u64 page_off;		/* of the page the last number read names */
	u32 page_number;
	u64 sum_off;		/* of the sum of the last page read */
	u32 sum;
};

/* SQLite allocates it (szOsFile), zeroed except for @base. */
struct vfs_file {
	sqlite3_file base;
	struct catalog_vfs *vfs;
	enum vfs_kind kind;
	struct file *file;	/* NULL: in memory */
	struct vfs_image *image;
	struct vfs_image own;	/* of VFS_TEMP */
	int level;		/* SQLITE_LOCK_* */
	bool lockless;		/* the medium has no locks, nor needs them */
	bool sync_dir;		/* created: its name is not durable yet */
	struct vfs_journal journal;
};

extern const sqlite3_io_methods vfs_file_methods;

/* Keep @d as the reason of what SQLite will report as @rc; returns @rc. */
int vfs_failed(struct catalog_vfs *v, const struct akin_diag *d, int rc);
/* The same for an error we found ourselves. */
int vfs_damaged(struct catalog_vfs *v, const char *fmt, ...) __printf(2, 3);

/* SQLITE_OK or what to report. *got_ret < @n only at the end of the file. */
int vfs_raw_read(struct vfs_file *f, void *data, size_t n, u64 off,
		 size_t *got_ret);
int vfs_raw_write(struct vfs_file *f, const void *data, size_t n, u64 off);
int vfs_lock(struct vfs_file *f, int level);
int vfs_unlock(struct vfs_file *f, int level);
/* Does somebody else hold RESERVED or more? */
int vfs_reserved(struct vfs_file *f, bool *held_ret);
void vfs_image_release(struct vfs_image *im);

/* Checked forms of the above, in SQLite's shapes. */
int vfs_main_read(struct vfs_file *f, void *data, size_t n, u64 off);
int vfs_main_write(struct vfs_file *f, const void *data, size_t n, u64 off);
int vfs_journal_read(struct vfs_file *f, void *data, size_t n, u64 off);
int vfs_journal_write(struct vfs_file *f, const void *data, size_t n, u64 off);

#endif
