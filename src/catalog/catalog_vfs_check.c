/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of the catalog's pages and of its rollback journal.
 *
 * Pages. SQLite leaves the last 8 bytes of each page to us. They are filled in
 * SQLite's own buffer, const or not: its cache must hold what is on disk,
 * because the journal gets its copies of old pages from that cache, and their
 * checksums are checked too when they come back.
 *
 * Page 1 is also read in small pieces. The 100 bytes that SQLite reads when it
 * opens a file come without a lock, possibly while somebody writes: they are
 * passed on unchecked (only page size and reserve are taken from them, and
 * under the lock the page is read again). Pieces read under a lock are cut
 * from a checked page.
 *
 * Journal. SQLite's own check of a record samples every 200th byte, and a
 * record that fails it quietly ends the playback: right for a torn tail, wrong
 * for a damaged record. But which records must be whole is known: those that
 * the head counts, for SQLite syncs the records before it writes the count
 * (synchronous=FULL), and only then touches the database. So:
 *
 *   J1. A head whose first byte is not zero is believed if and only if its
 *       checksum, in the padding behind it, matches. Head and checksum lie in
 *       one 512-byte sector and are written at once.
 *   J2. Each record that the head counts has a page with the right checksum
 *       for its number, and the right sum of SQLite's.
 *   J3. There is one head, at 0: cache_spill is off, so that a transaction
 *       never has to write pages and go on.
 *
 * Anything else is -AKIN_E_catalog. Records beyond the count are left to
 * SQLite: they occur only when a process rolls back what it has just written,
 * and older records lie behind them.
 */
#include <xxhash.h>

#include "catalog/catalog_vfs_internal.h"

#define PAYLOAD_BYTES (VFS_PAGE_BYTES - VFS_RESERVED_BYTES)
/* "akinjrnl": a head must not pass for anything else. */
#define HEAD_SEED 0x6c6e726a6e696b61ULL
/* SQLite's sum takes every 200th byte, from the end. */
#define SUM_STRIDE 200
/* The part of a head that SQLite writes once the records are synced. */
#define MAGIC_COUNT_BYTES 12

static u32 get_be32(const u8 *b)
{
	return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3];
}

static u64 page_sum(const void *page, u32 number)
{
	return XXH3_64bits_withSeed(page, PAYLOAD_BYTES, number);
}

static bool page_ok(const void *page, u32 number)
{
	return get_le64((const u8 *)page + PAYLOAD_BYTES) ==
	       page_sum(page, number);
}

static int read_page(struct vfs_file *f, u8 *page, u64 off)
{
	u32 number = (u32)(off / VFS_PAGE_BYTES) + 1;
	size_t got;
	int rc;

	rc = vfs_raw_read(f, page, VFS_PAGE_BYTES, off, &got);
	if (rc != SQLITE_OK)
		return rc;
	if (got == 0 && off == 0)	/* a new database */
		return SQLITE_IOERR_SHORT_READ;
	if (got < VFS_PAGE_BYTES)
		return vfs_damaged(f->vfs, "page %u: the file ends in it",
				   number);
	if (!page_ok(page, number))
		return vfs_damaged(f->vfs, "page %u: wrong checksum", number);
	return SQLITE_OK;
}

/* A piece of page 1. */
static int read_piece(struct vfs_file *f, void *data, size_t n, u64 off)
{
	u8 page[VFS_PAGE_BYTES] = { 0 };
	size_t got;
	int rc;

	if (f->level == SQLITE_LOCK_NONE) {
		rc = vfs_raw_read(f, data, n, off, &got);
		if (rc != SQLITE_OK || got == n)
			return rc;
		memset((u8 *)data + got, 0, n - got);
		return SQLITE_IOERR_SHORT_READ;
	}
	rc = read_page(f, page, 0);
	if (rc == SQLITE_OK || rc == SQLITE_IOERR_SHORT_READ)
		memcpy(data, page + off, n);
	return rc;
}

int vfs_main_read(struct vfs_file *f, void *data, size_t n, u64 off)
{
	int rc;

	if (off < VFS_PAGE_BYTES && n < VFS_PAGE_BYTES - off)
		return read_piece(f, data, n, off);
	if (n != VFS_PAGE_BYTES || off % VFS_PAGE_BYTES != 0)
		return vfs_damaged(f->vfs, "page size is not %d",
				   VFS_PAGE_BYTES);
	rc = read_page(f, data, off);
	if (rc == SQLITE_IOERR_SHORT_READ)
		memset(data, 0, n);
	return rc;
}

int vfs_main_write(struct vfs_file *f, const void *data, size_t n, u64 off)
{
	u8 *page = (u8 *)(uintptr_t)data;	/* see above */

	if (n != VFS_PAGE_BYTES || off % VFS_PAGE_BYTES != 0)
		return vfs_damaged(f->vfs, "page size is not %d",
				   VFS_PAGE_BYTES);
	put_le64(page + PAYLOAD_BYTES,
		 page_sum(page, (u32)(off / VFS_PAGE_BYTES) + 1));
	return vfs_raw_write(f, page, n, off);
}

static u64 head_sum(const u8 *head)
{
	return XXH3_64bits_withSeed(head, JOURNAL_HEAD_BYTES, HEAD_SEED);
}

/* J1. Called before SQLite reads a head that we did not write ourselves. */
static int load_head(struct vfs_file *f)
{
	u8 head[JOURNAL_SEALED_BYTES] = { 0 };
	size_t got;
	int rc;

	rc = vfs_raw_read(f, head, sizeof(head), 0, &got);
	if (rc != SQLITE_OK)
		return rc;
	if (head[0] && (got < sizeof(head) ||
			get_le64(head + JOURNAL_HEAD_BYTES) != head_sum(head)))
		return vfs_damaged(f->vfs, "journal: wrong checksum of its head");
	memcpy(f->journal.head, head, JOURNAL_HEAD_BYTES);
	f->journal.head_known = true;
	return SQLITE_OK;
}

/* Does the head count the record whose page lies at @page_off? */
static bool counted(const struct vfs_journal *j, u64 page_off)
{
	u32 nr = get_be32(j->head + 8);

	if (j->head[0] == 0 || page_off < JOURNAL_SECTOR_BYTES)
		return false;
	return (page_off - JOURNAL_SECTOR_BYTES) / JOURNAL_RECORD_BYTES < nr;
}

/* J2: what SQLite's sum must be for a page that has passed our check. */
static u32 sparse_sum(const struct vfs_journal *j, const u8 *page)
{
	u32 sum = get_be32(j->head + 12);
	int i;

	for (i = VFS_PAGE_BYTES - SUM_STRIDE; i > 0; i -= SUM_STRIDE)
		sum += page[i];
	return sum;
}

/* J2, as SQLite reads a record: number, page, sum. */
static int check_record(struct vfs_file *f, const u8 *data, size_t n, u64 off)
{
	struct vfs_journal *j = &f->journal;

	if (n == 4 && off == j->sum_off && j->sum_off) {
		if (get_be32(data) != j->sum)
			return vfs_damaged(f->vfs, "journal: wrong sum at %llu",
					   (unsigned long long)off);
		j->sum_off = 0;
	} else if (n == 4) {
		j->page_off = off + 4;
		j->page_number = get_be32(data);
	} else if (n == VFS_PAGE_BYTES && off == j->page_off &&
		   counted(j, off)) {
		if (!page_ok(data, j->page_number))
			return vfs_damaged(f->vfs,
					   "journal: wrong checksum at %llu",
					   (unsigned long long)off);
		j->sum_off = off + VFS_PAGE_BYTES;
		j->sum = sparse_sum(j, data);
	}
	return SQLITE_OK;
}

int vfs_journal_read(struct vfs_file *f, void *data, size_t n, u64 off)
{
	size_t got;
	int rc;

	/*
	 * One byte is the question whether the journal is hot, asked without
	 * the write lock: a writer may be at it.
	 */
	if (off < JOURNAL_HEAD_BYTES && n > 1 && !f->journal.head_known) {
		rc = load_head(f);
		if (rc != SQLITE_OK)
			return rc;
	}
	rc = vfs_raw_read(f, data, n, off, &got);
	if (rc != SQLITE_OK)
		return rc;
	if (got == n)
		return check_record(f, data, n, off);
	if (counted(&f->journal, off) && off >= JOURNAL_SECTOR_BYTES)
		return vfs_damaged(f->vfs, "journal: the file ends at %llu",
				   (unsigned long long)(off + got));
	memset((u8 *)data + got, 0, n - got);
	return SQLITE_IOERR_SHORT_READ;
}

/*
 * SQLite writes a sector without magic and count first, then, after a sync,
 * those 12 bytes; it clears 28 bytes at the end.
 */
int vfs_journal_write(struct vfs_file *f, const void *data, size_t n, u64 off)
{
	struct vfs_journal *j = &f->journal;
	u8 head[JOURNAL_SEALED_BYTES] = { 0 };

	j->page_off = 0;
	j->sum_off = 0;
	if (off >= JOURNAL_HEAD_BYTES)
		return vfs_raw_write(f, data, n, off);
	if (off != 0 || (n < JOURNAL_HEAD_BYTES &&
			 !(n == MAGIC_COUNT_BYTES && j->head_known)))
		return vfs_damaged(f->vfs, "journal: written in odd pieces");
	if (n == MAGIC_COUNT_BYTES) {
		memcpy(head, j->head, JOURNAL_HEAD_BYTES);
		memcpy(head, data, n);
		put_le64(head + JOURNAL_HEAD_BYTES, head_sum(head));
		data = head;
		n = sizeof(head);
	}
	memcpy(j->head, data, JOURNAL_HEAD_BYTES);
	j->head_known = true;
	return vfs_raw_write(f, data, n, off);
}
