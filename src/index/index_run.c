/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run files: opened on first use, kept open while the manifest has them, read
 * in order (struct run_reader) by merges.
 *
 * A run is believed if its header decodes, names this pool and this number,
 * agrees with the manifest, and its levels lie inside the file as the manifest
 * has it. Otherwise it is RUN_BAD for the life of this process: counted,
 * reported, left alone. One whose file is too short is damaged, and answers
 * what it can.
 */
#include "base/check.h"
#include "base/mem.h"
#include "index/index_internal.h"

struct run_file *run_file_new(const struct index_run *info)
{
	struct run_file *r = mem_zalloc(sizeof(*r));

	if (!r)
		return NULL;
	r->info = *info;
	r->refs = 1;
	r->load_level = RUN_LEVELS - 1;
	return r;
}

struct run_file *run_file_get(struct run_file *r)
{
	atomic_fetch_add(&r->refs, 1);
	return r;
}

void run_file_put(struct run_file *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	(void)file_close(r->file, NULL);	/* was only read */
	mem_free(r);
}

/* Each level ends where the next lower one in the file begins. */
static int find_extents(struct run_file *r)
{
	u64 end = r->info.file_bytes / RUN_PAGE_BYTES;
	const struct run_level *l;
	unsigned i;

	for (i = 0; i < RUN_LEVELS; i++) {
		l = &r->header.levels[i];
		if (!l->nr_pages)
			continue;
		if (l->first_page >= end || l->nr_pages > end - l->first_page)
			return -AKIN_E_bad_length;
		if (l->nr_entries > (end - l->first_page) * RUN_PAGE_ENTRIES)
			return -AKIN_E_bad_length;
		r->end_page[i] = end;
		end = l->first_page;
	}
	return 0;
}

static int check_identity(const struct index *ix, const struct run_file *r)
{
	const struct run_header *h = &r->header;

	if (memcmp(&h->pool, &ix->opt.pool, sizeof(h->pool)) ||
	    h->number != r->info.number ||
	    h->nr_entries != r->info.nr_entries)
		return -AKIN_E_bad_identity;
	return 0;
}

/* Whether trying again later may give another result. */
static bool is_damage(int err)
{
	switch (akin_error_class(err)) {
	case AKIN_CLASS_CORRUPT:
	case AKIN_CLASS_IO:
	case AKIN_CLASS_ABSENT:
	case AKIN_CLASS_UNSUPPORTED:
		return true;
	default:
		return false;
	}
}

/* A shorter file has lost pages. */
static int check_size(struct index *ix, struct run_file *r, struct file *f,
		      struct akin_diag *diag)
{
	u64 size;
	int err = file_size(f, &size, diag);

	if (!err && size < r->info.file_bytes)
		index_run_damaged(ix, r, 1);
	return err;
}

static int open_locked(struct index *ix, struct run_file *r,
		       struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	struct file *f = NULL;
	u8 *page;
	int err;

	page = mem_alloc(RUN_PAGE_BYTES);
	if (!page)
		return -AKIN_E_nomem;
	format_run_name(r->info.number, name);
	err = disk_open(ix->disk, name, 0, &f, diag);
	if (!err)
		err = file_pread(f, page, RUN_PAGE_BYTES, 0, diag);
	if (!err)
		err = run_header_decode(page, &r->header);
	if (!err)
		err = check_identity(ix, r);
	if (!err)
		err = find_extents(r);
	if (!err)
		err = check_size(ix, r, f, diag);
	mem_free(page);
	if (!err) {
		r->file = f;
		atomic_store(&r->state, RUN_OPEN);
		return 0;
	}
	(void)file_close(f, NULL);
	if (err == -AKIN_E_absent && ix->opt.manifest)
		return INDEX_RUN_GONE;
	if (!is_damage(err))
		return err;
	index_run_damaged(ix, r, 1);
	atomic_store(&r->state, RUN_BAD);
	return 0;
}

int index_run_open(struct index *ix, struct run_file *r,
		   struct akin_diag *diag)
{
	struct akin_diag ignored = { 0 };
	int err = 0;

	if (atomic_load(&r->state) != RUN_UNREAD)
		return 0;
	pthread_mutex_lock(&ix->open_lock);
	if (atomic_load(&r->state) == RUN_UNREAD) {
		err = open_locked(ix, r, &ignored);
		if (err < 0)
			(void)diag_set(diag, err, "index run %llu: %s",
				       (unsigned long long)r->info.number,
				       ignored.code ? ignored.text
						    : akin_strerror(err));
	}
	pthread_mutex_unlock(&ix->open_lock);
	return err;
}

void index_run_damaged(struct index *ix, struct run_file *r, u64 nr_pages)
{
	atomic_fetch_add(&ix->bad_pages, nr_pages);
	counters_add(ix->opt.counters, index_pages_damaged, nr_pages);
	atomic_store(&r->damaged, true);
}

/* ---- the list of runs ---- */

int index_runs_get_locked(struct index *ix, struct run_file ***out,
			  u32 *nr_ret)
{
	struct run_file **runs = NULL;
	u32 i;

	*out = NULL;
	*nr_ret = 0;
	if (!ix->nr_runs)
		return 0;
	runs = mem_calloc(ix->nr_runs, sizeof(struct run_file *));
	if (!runs)
		return -AKIN_E_nomem;
	for (i = 0; i < ix->nr_runs; i++)
		runs[i] = run_file_get(ix->runs[i]);
	*out = runs;
	*nr_ret = ix->nr_runs;
	return 0;
}

int index_runs_get(struct index *ix, struct run_file ***out, u32 *nr_ret)
{
	int err;

	pthread_rwlock_rdlock(&ix->lock);
	err = index_runs_get_locked(ix, out, nr_ret);
	pthread_rwlock_unlock(&ix->lock);
	return err;
}

void index_runs_put(struct run_file **runs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		run_file_put(runs[i]);
	mem_free(runs);
}

int index_runs_reserve_locked(struct index *ix, u32 more)
{
	struct run_file **runs;

	if (more > UINT32_MAX - ix->nr_runs)
		return -AKIN_E_nomem;
	runs = mem_realloc(ix->runs, ((size_t)ix->nr_runs + more) *
			   sizeof(struct run_file *));
	if (!runs)
		return -AKIN_E_nomem;
	ix->runs = runs;
	return 0;
}

struct run_file *index_runs_find_locked(const struct index *ix, u64 number)
{
	u32 i;

	for (i = 0; i < ix->nr_runs; i++)
		if (ix->runs[i]->info.number == number)
			return ix->runs[i];
	return NULL;
}

void index_runs_insert_locked(struct index *ix, struct run_file *r)
{
	u32 i;

	if (index_runs_find_locked(ix, r->info.number)) {
		run_file_put(r);
		return;
	}
	i = ix->nr_runs++;
	for (; i && ix->runs[i - 1]->info.number > r->info.number; i--)
		ix->runs[i] = ix->runs[i - 1];
	ix->runs[i] = r;
}

/* ---- reading in order ---- */

#define READER_ENTRIES_BYTES (RUN_PAGE_ENTRIES * sizeof(struct run_entry))

int run_reader_init(struct run_reader *rd, struct index *ix,
		    struct run_file *run, size_t budget_bytes)
{
	akin_assert(budget_bytes >= READER_ENTRIES_BYTES + RUN_PAGE_BYTES);
	memset(rd, 0, sizeof(*rd));
	rd->ix = ix;
	rd->run = run;
	rd->max_raw = (budget_bytes - READER_ENTRIES_BYTES) / RUN_PAGE_BYTES;
	rd->raw = mem_alloc(rd->max_raw * RUN_PAGE_BYTES);
	rd->entries = mem_alloc(READER_ENTRIES_BYTES);
	if (!rd->raw || !rd->entries) {
		run_reader_release(rd);
		return -AKIN_E_nomem;
	}
	return 0;
}

void run_reader_release(struct run_reader *rd)
{
	mem_free(rd->raw);
	mem_free(rd->entries);
	memset(rd, 0, sizeof(*rd));
}

void run_reader_start(struct run_reader *rd, unsigned level)
{
	rd->level = level;
	rd->page = 0;
	rd->end = run_file_pages(rd->run, level);
	rd->nr_raw = rd->at_raw = 0;
	rd->nr = rd->at = 0;
	rd->seen = 0;
	rd->last_prefix = 0;
}

static int reader_fetch(struct run_reader *rd, struct akin_diag *diag)
{
	const struct run_level *l = &rd->run->header.levels[rd->level];
	int err;

	rd->nr_raw = min_u64(rd->max_raw, rd->end - rd->page);
	rd->at_raw = 0;
	err = file_pread(rd->run->file, rd->raw, rd->nr_raw * RUN_PAGE_BYTES,
			 (l->first_page + rd->page) * RUN_PAGE_BYTES, diag);
	rd->page += rd->nr_raw;
	return err;
}

static int reader_page(struct run_reader *rd, struct akin_diag *diag)
{
	u64 page;
	bool spilled;
	int err;

	if (rd->at_raw == rd->nr_raw) {
		err = reader_fetch(rd, diag);
		if (err)
			return err;
	}
	page = rd->page - rd->nr_raw + rd->at_raw;
	err = run_page_decode(rd->raw + rd->at_raw * RUN_PAGE_BYTES,
			      rd->run->info.number, page, rd->entries, &rd->nr,
			      &spilled);
	if (!err && rd->nr && rd->entries[0].prefix < rd->last_prefix)
		err = -AKIN_E_bad_order;
	if (err)
		return diag_set(diag, err, "index run %llu: level %u, page %llu",
				(unsigned long long)rd->run->info.number,
				rd->level, (unsigned long long)page);
	rd->at_raw++;
	rd->at = 0;
	rd->seen += rd->nr;
	if (rd->nr)
		rd->last_prefix = rd->entries[rd->nr - 1].prefix;
	return 0;
}

int run_reader_next(struct run_reader *rd, const struct run_entry **out,
		    struct akin_diag *diag)
{
	int err = 0;

	while (rd->at == rd->nr) {
		if (rd->page == rd->end && rd->at_raw == rd->nr_raw) {
			if (rd->seen ==
			    rd->run->header.levels[rd->level].nr_entries)
				return 0;
			err = diag_set(diag, -AKIN_E_bad_length,
				       "index run %llu: level %u has lost entries",
				       (unsigned long long)rd->run->info.number,
				       rd->level);
		} else {
			err = reader_page(rd, diag);
		}
		if (err) {
			index_run_damaged(rd->ix, rd->run, 1);
			return err;
		}
	}
	*out = &rd->entries[rd->at++];
	return 1;
}
