/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index runs: header and every page. They are a cache of the containers'
 * directories, so damage here costs deduplication and reads, not data.
 */
#include "base/mem.h"
#include "verify/verify_internal.h"

/* Pages read at a time. */
#define READ_PAGES 64

struct run_pass {
	struct verify *v;
	struct akin_diag *diag;
	u8 *buf;
	struct run_entry entries[RUN_PAGE_ENTRIES];
};

struct run_check {
	struct run_pass *p;
	const struct catalog_run *row;
	struct file *file;
	struct run_header header;
	u64 end_page[RUN_LEVELS];	/* of each level that has pages */
	u64 nr_entries, nr_bad;
	struct akin_diag first;
};

/* As the index believes a run: identity, and levels inside the file. */
static int check_header(struct run_check *c, struct akin_diag *why)
{
	const struct run_header *h = &c->header;
	u64 end = c->row->file_bytes / RUN_PAGE_BYTES, size;
	u32 i;
	int err;

	err = file_size(c->file, &size, why);
	if (!err && size != c->row->file_bytes)
		err = diag_set(why, -AKIN_E_bad_length, "%llu bytes and not "
			       "%llu", (unsigned long long)size,
			       (unsigned long long)c->row->file_bytes);
	if (!err)
		err = file_pread(c->file, c->p->buf, RUN_PAGE_BYTES, 0, why);
	if (!err)
		err = run_header_decode(c->p->buf, &c->header);
	if (!err && (memcmp(&h->pool, &c->p->v->depot->super.pool,
			    sizeof(h->pool)) ||
		     h->number != c->row->number ||
		     h->nr_entries != c->row->nr_entries))
		err = -AKIN_E_bad_identity;
	for (i = 0; !err && i < RUN_LEVELS; i++) {
		if (!h->levels[i].nr_pages)
			continue;
		if (h->levels[i].first_page >= end ||
		    h->levels[i].nr_pages > end - h->levels[i].first_page)
			err = -AKIN_E_bad_length;
		c->end_page[i] = end;
		end = h->levels[i].first_page;
	}
	return err;
}

static void bad_page(struct run_check *c, u64 page, int err)
{
	if (!c->nr_bad++)
		ignore_result(diag_set(&c->first, err, "page %llu: %s",
				       (unsigned long long)page,
				       akin_strerror(err)));
}

/* Pages [page, page + n) of @level, read into the buffer. */
static void check_pages(struct run_check *c, unsigned level, u64 page, u64 n)
{
	u64 first = c->header.levels[level].first_page, i;
	bool spilled;
	u32 nr;
	int err;

	for (i = 0; i < n; i++) {
		err = run_page_decode(c->p->buf + i * RUN_PAGE_BYTES,
				      c->row->number, page + i - first,
				      c->p->entries, &nr, &spilled);
		if (err)
			bad_page(c, page + i, err);
		else
			c->nr_entries += nr;
	}
}

static int check_level(struct run_check *c, unsigned level,
		       struct akin_diag *diag)
{
	u64 page = c->header.levels[level].first_page, n;
	struct akin_diag why = { 0 };
	int err;

	if (!c->header.levels[level].nr_pages)
		return 0;
	for (; page < c->end_page[level]; page += n) {
		err = verify_tick(c->p->v, diag);
		if (err)
			return err;
		n = min_u64(READ_PAGES, c->end_page[level] - page);
		err = file_pread(c->file, c->p->buf, n * RUN_PAGE_BYTES,
				 page * RUN_PAGE_BYTES, &why);
		if (err && !verify_is_damage(err))
			return diag_pass(diag, err, &why);
		if (err)
			bad_page(c, page, err);
		else
			check_pages(c, level, page, n);
	}
	return 0;
}

static int check_all_levels(struct run_check *c, struct akin_diag *diag)
{
	unsigned i;
	int err = 0;

	for (i = 0; !err && i < RUN_LEVELS; i++)
		err = check_level(c, i, diag);
	if (!err && !c->nr_bad && c->nr_entries != c->row->nr_entries)
		err = diag_set(&c->first, -AKIN_E_bad_length,
			       "%llu entries and not %llu",
			       (unsigned long long)c->nr_entries,
			       (unsigned long long)c->row->nr_entries);
	return err ? err : c->nr_bad ? c->first.code : 0;
}

static int is_number(void *ctx, const struct catalog_run *row)
{
	return row->number == *(const u64 *)ctx;
}

/* Rows come in batches: another process may have merged it since. */
static bool still_named(struct verify *v, u64 number)
{
	return catalog_each_run(v->catalog, is_number, &number, NULL) != 0;
}

static int one_run(void *ctx, const struct catalog_run *row)
{
	struct run_check c = { .p = ctx, .row = row };
	struct verify *v = c.p->v;
	char name[FORMAT_NAME_MAX];
	int err;

	format_run_name(row->number, name);
	err = disk_open(v->depot->meta, name, 0, &c.file, &c.first);
	if (err == -AKIN_E_absent && !still_named(v, row->number))
		return 0;
	if (!err)
		err = check_header(&c, &c.first);
	if (!err)
		err = check_all_levels(&c, c.p->diag);
	ignore_result(file_close(c.file, NULL));	/* was only read */
	return verify_settle(v, VERIFY_RUN, err, &c.first, c.p->diag,
			     "index run %llu (costs space and time, no data): ",
			     (unsigned long long)row->number);
}

int verify_runs(struct verify *v, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct run_pass *p;
	int err;

	v->progress.current = "index";
	p = mem_zalloc(sizeof(*p));
	if (p)
		p->buf = mem_alloc(READ_PAGES * RUN_PAGE_BYTES);
	if (!p || !p->buf) {
		mem_free(p);
		return diag_set(diag, -AKIN_E_nomem, "check");
	}
	p->v = v;
	p->diag = &why;
	err = catalog_each_run(v->catalog, one_run, p, &why);
	mem_free(p->buf);
	mem_free(p);
	return verify_settle(v, VERIFY_POOL, err, &why, diag, "%s", "");
}
