/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a run: one pass, large sequential writes, header last.
 *
 * The header says how many entries each level has, which is known only at the
 * end; until it is there the file is no run, and nobody is told of it before
 * it is synced. So a crash leaves a file that no catalog names.
 *
 * Entries arrive in order, so pages are filled one behind the other. A page is
 * done when an entry arrives that belongs to a later one, or when it is full:
 * then it is marked as spilled and the next page starts with what belongs to
 * it (and is searched only by those who found the mark).
 */
#include "base/check.h"
#include "base/mem.h"
#include "index/index_internal.h"

/* 204 of 255: one page in 5,000 overflows if fingerprints are uniform. */
#define PAGE_FILL 204

struct run_writer {
	struct disk *disk;
	struct file *file;
	char name[FORMAT_NAME_MAX];
	struct run_header header;
	u8 *buf;
	u32 max_pages, nr_pages;	/* of @buf: in all, filled */
	u64 next_page;		/* in the file, of the first in @buf */

	unsigned level;		/* RUN_LEVELS: none begun */
	u64 page;		/* being filled, relative to the level */
	u32 nr;			/* entries in it */
	struct run_entry entries[RUN_PAGE_ENTRIES];
};

static_assert(sizeof(struct run_writer) + RUN_PAGE_BYTES <=
	      RUN_WRITER_MIN_BYTES, "the smallest writer has one page");

int run_writer_open(struct disk *d, const struct pool_id *pool, u64 number,
		    size_t budget_bytes, struct run_writer **out,
		    struct akin_diag *diag)
{
	struct run_writer *w;
	int err = -AKIN_E_nomem;

	akin_assert(budget_bytes >= RUN_WRITER_MIN_BYTES);
	w = mem_zalloc(sizeof(*w));
	if (!w)
		return err;
	w->disk = d;
	w->max_pages = (u32)((budget_bytes - sizeof(*w)) / RUN_PAGE_BYTES);
	w->buf = mem_alloc((size_t)w->max_pages * RUN_PAGE_BYTES);
	if (!w->buf)
		goto fail;
	w->header.pool = *pool;
	w->header.number = number;
	w->level = RUN_LEVELS;
	w->next_page = 1;
	format_run_name(number, w->name);
	err = disk_open(d, w->name, DISK_WRITE | DISK_CREATE | DISK_EXCL,
			&w->file, diag);
	if (err)
		goto fail;
	*out = w;
	return 0;
fail:
	run_writer_free(w);
	return err;
}

static int write_buffer(struct run_writer *w, struct akin_diag *diag)
{
	int err;

	if (!w->nr_pages)
		return 0;
	err = file_pwrite(w->file, w->buf, (size_t)w->nr_pages * RUN_PAGE_BYTES,
			  w->next_page * RUN_PAGE_BYTES, diag);
	if (err)
		return err;
	w->next_page += w->nr_pages;
	w->nr_pages = 0;
	return 0;
}

static int emit_page(struct run_writer *w, bool spilled,
		     struct akin_diag *diag)
{
	int err;

	if (w->nr_pages == w->max_pages) {
		err = write_buffer(w, diag);
		if (err)
			return err;
	}
	run_page_encode(w->header.number, w->page, w->entries, w->nr, spilled,
			w->buf + (size_t)w->nr_pages * RUN_PAGE_BYTES);
	w->nr_pages++;
	w->page++;
	w->nr = 0;
	return 0;
}

static int end_level(struct run_writer *w, struct akin_diag *diag)
{
	struct run_level *l;
	int err;

	if (w->level == RUN_LEVELS)
		return 0;
	l = &w->header.levels[w->level];
	while (w->page < l->nr_pages || w->nr) {
		err = emit_page(w, false, diag);
		if (err)
			return err;
	}
	w->header.nr_entries += l->nr_entries;
	w->level = RUN_LEVELS;
	return 0;
}

int run_writer_level(struct run_writer *w, unsigned level, u64 nr_expected,
		     struct akin_diag *diag)
{
	int err = end_level(w, diag);

	if (err)
		return err;
	akin_assert(level < RUN_LEVELS && !w->header.levels[level].nr_pages);
	w->level = level;
	w->page = 0;
	w->header.levels[level].first_page = w->next_page + w->nr_pages;
	w->header.levels[level].nr_pages =
		max_u64(1, (nr_expected + PAGE_FILL - 1) / PAGE_FILL);
	return 0;
}

int run_writer_put(struct run_writer *w, const struct run_entry *e,
		   struct akin_diag *diag)
{
	struct run_level *l = &w->header.levels[w->level];
	u64 home = (u64)((u128)e->prefix * l->nr_pages >> 64);
	int err;

	akin_dcheck(!w->nr || w->entries[w->nr - 1].prefix <= e->prefix);
	while (w->page < home) {
		err = emit_page(w, false, diag);
		if (err)
			return err;
	}
	if (w->nr == RUN_PAGE_ENTRIES) {
		err = emit_page(w, true, diag);
		if (err)
			return err;
	}
	w->entries[w->nr++] = *e;
	l->nr_entries++;
	return 0;
}

int run_writer_finish(struct run_writer *w, struct index_run *out,
		      struct akin_diag *diag)
{
	struct file *f = w->file;
	int err;

	err = end_level(w, diag);
	if (!err)
		err = write_buffer(w, diag);
	if (err)
		return err;
	run_header_encode(&w->header, w->buf);
	err = file_pwrite(f, w->buf, RUN_PAGE_BYTES, 0, diag);
	if (!err)
		err = file_sync(f, diag);
	if (err)
		return err;
	w->file = NULL;
	err = file_close(f, diag);
	if (err)
		return err;
	out->number = w->header.number;
	out->tier = 0;
	out->nr_entries = w->header.nr_entries;
	out->file_bytes = w->next_page * RUN_PAGE_BYTES;
	return 0;
}

void run_writer_abort(struct run_writer *w)
{
	if (!w)
		return;
	(void)file_close(w->file, NULL);
	w->file = NULL;
	/* Nobody names it; what stays is removed with other orphans. */
	ignore_result(disk_unlink(w->disk, w->name, NULL));
	run_writer_free(w);
}

void run_writer_free(struct run_writer *w)
{
	if (!w)
		return;
	(void)file_close(w->file, NULL);
	mem_free(w->buf);
	mem_free(w);
}
