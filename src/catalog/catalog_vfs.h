/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's file system for the catalog: a VFS over the I/O table.
 *
 * One `struct catalog_vfs` serves one database connection at a time. It is
 * registered with SQLite under a name of its own (SQLite keeps that list; it
 * is the only global there is) until catalog_vfs_free().
 *
 * What it adds to plain files:
 *
 *   - every page ends in 8 reserved bytes: XXH3-64 over the rest, seeded with
 *     the page's number. A page that does not match cannot be read.
 *   - the journal's head and records are checked as strictly, so that a
 *     damaged journal stops a recovery instead of blessing wrong pages.
 *   - the journal is never unlinked: "delete" clears its head and syncs, as
 *     journal_mode=PERSIST does, so its preallocated space is never lost.
 *   - if the disk cannot be written and a hot journal lies there,
 *     catalog_vfs_copy() takes both files into memory and lets SQLite recover
 *     the copy.
 *
 * Locks are SQLite's own byte ranges, taken as OFD locks: processes and
 * handles within a process exclude each other, and so does the sqlite3 shell.
 *
 * Thread safety: none; the catalog's mutex guards it.
 */
#ifndef CATALOG_VFS_H
#define CATALOG_VFS_H

#include "os/disk.h"

struct catalog_vfs;

#define VFS_PAGE_BYTES 4096
#define VFS_RESERVED_BYTES 8

/* @disk is borrowed until catalog_vfs_free(). With @read_only nothing is ever
 * written, and locks that the medium refuses are done without. */
int catalog_vfs_new(struct disk *disk, bool read_only, struct catalog_vfs **out,
		    struct akin_diag *diag) __must_check;
/* All connections over it are closed. NULL is fine. */
void catalog_vfs_free(struct catalog_vfs *v);
/* The name to give to sqlite3_open_v2(); lives as long as @v. */
const char *catalog_vfs_name(const struct catalog_vfs *v);

/*
 * The first I/O error since the last clear, with the message of the disk;
 * its code is 0 if there was none. What SQLite reports is only the kind.
 */
const struct akin_diag *catalog_vfs_diag(const struct catalog_vfs *v);
void catalog_vfs_clear(struct catalog_vfs *v);

/*
 * Take the database and its hot journal into memory; connections opened from
 * now on work there. Unless @always, *done_ret = false, and nothing changes, if
 * the journal is not (or no longer) hot. -AKIN_E_busy if somebody is changing
 * the catalog. No connection may be open.
 */
int catalog_vfs_copy(struct catalog_vfs *v, bool always, bool *done_ret,
		     struct akin_diag *diag) __must_check;
bool catalog_vfs_copied(const struct catalog_vfs *v);
/* Has somebody recovered the real one since? Errors count as yes. */
bool catalog_vfs_copy_stale(struct catalog_vfs *v);
/* Back to the files. No connection may be open. */
void catalog_vfs_drop_copy(struct catalog_vfs *v);

#endif
