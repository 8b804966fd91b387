/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling the table from the runs, a slice at a time.
 *
 * Nothing is read before the first fingerprint is missing from the table.
 * Then the first slice is read at once, and further ones as misses go on: each
 * miss allows MISS_BYTES, so that reading the index stays a fraction of
 * storing what was missing, and the start of a backup into a huge pool is as
 * quick as into a small one.
 *
 * Levels are loaded from the top down, each of all runs before the next lower
 * one: at any time the table holds a uniform sample of everything that was
 * ever stored. Before a level is begun its size is known from the headers; if
 * it would not fit, loading ends there.
 *
 * A page that cannot be read or believed is skipped. The whole is bounded: the
 * pages of a run lie inside the size that the manifest gives.
 */
#include "base/mem.h"
#include "index/index_internal.h"

#define SLICE_BYTES (8 * MiB)
/* Half of an average chunk, which a miss is going to write. */
#define MISS_BYTES 4096
/* Not worth starting for less. */
#define CREDIT_MIN_BYTES (256 * KiB)
/* Of the table's capacity, in percent; the rest is for what is added. */
#define FILL_MAX 90

struct loading {
	struct index *ix;
	struct akin_diag *diag;
	struct run_file **runs;
	u32 nr_runs;
	struct run_file *gone;	/* of INDEX_RUN_GONE */
	u8 *buf;
	u64 max_pages;		/* that @buf takes */
	u64 left;		/* bytes that this slice may still read */
};

static u64 slice_bytes(const struct index *ix)
{
	return min_u64(SLICE_BYTES, ix->opt.budget_bytes / 4);
}

static bool credit_take(struct index *ix, u64 nr_missed, u64 *bytes_ret)
{
	u64 slice = slice_bytes(ix);

	ix->load_credit = min_u64(slice, ix->load_credit +
				  nr_missed * MISS_BYTES);
	if (!ix->load_begun)
		ix->load_credit = slice;
	ix->load_begun = true;
	if (ix->load_credit < min_u64(slice, CREDIT_MIN_BYTES))
		return false;
	*bytes_ret = ix->load_credit;
	ix->load_credit = 0;
	return true;
}

static void count_read(struct loading *l, u64 bytes)
{
	atomic_fetch_add(&l->ix->load_bytes, bytes);
	counters_add(l->ix->opt.counters, index_bytes_loaded, bytes);
	l->left -= min_u64(bytes, l->left);
}

/* Headers tell how large the levels are, so all come first. False: the slice
 * is used up, or an error. */
static bool open_runs(struct loading *l, int *err)
{
	struct run_file *r;
	u32 i;

	for (i = 0; i < l->nr_runs; i++) {
		r = l->runs[i];
		if (atomic_load(&r->state) == RUN_UNREAD &&
		    r->load_level >= 0) {
			if (!l->left)
				return false;
			*err = index_run_open(l->ix, r, l->diag);
			l->gone = r;
			if (*err)
				return false;
			count_read(l, RUN_PAGE_BYTES);
		}
		if (atomic_load(&r->state) == RUN_BAD)
			r->load_level = -1;
	}
	return true;
}

/* Past levels and ends that have nothing more to read. */
static void skip_empty(struct run_file *r)
{
	while (r->load_level >= 0 &&
	       r->load_page >= run_file_pages(r, (unsigned)r->load_level)) {
		r->load_level--;
		r->load_page = 0;
	}
}

/* The run that is furthest behind, NULL if all are loaded. */
static struct run_file *pick_run(struct loading *l)
{
	struct run_file *best = NULL;
	u32 i;

	for (i = 0; i < l->nr_runs; i++) {
		if (l->runs[i]->load_level < 0)
			continue;
		skip_empty(l->runs[i]);
		if (!best || l->runs[i]->load_level > best->load_level)
			best = l->runs[i];
	}
	return best && best->load_level >= 0 ? best : NULL;
}

/* Whether the table takes one more level; makes room if so. */
static bool level_fits(struct loading *l, int level)
{
	struct index *ix = l->ix;
	u64 nr = 0;
	bool fits;
	u32 i;

	for (i = 0; i < l->nr_runs; i++)
		if (l->runs[i]->load_level == level)
			nr += l->runs[i]->header.levels[level].nr_entries;
	pthread_rwlock_wrlock(&ix->lock);
	nr += ix->table.nr;
	fits = nr <= slots_capacity(&ix->table) * FILL_MAX / 100;
	if (fits)
		slots_reserve(&ix->table, nr);
	pthread_rwlock_unlock(&ix->lock);
	return fits;
}

static void put_page(struct loading *l, struct run_file *r, unsigned level,
		     u64 page, const u8 *data)
{
	struct run_entry entries[RUN_PAGE_ENTRIES];
	struct index *ix = l->ix;
	bool spilled;
	u32 nr, i;

	if (run_page_decode(data, r->info.number, page, entries, &nr,
			    &spilled)) {
		index_run_damaged(ix, r, 1);
		return;
	}
	pthread_rwlock_wrlock(&ix->lock);
	for (i = 0; i < nr; i++) {
		if (!slot_word_fits(entries[i].container, entries[i].entry))
			continue;
		index_table_put_locked(ix, entries[i].prefix,
				       slot_word(entries[i].container,
						 entries[i].entry, level));
	}
	pthread_rwlock_unlock(&ix->lock);
}

/* Read some pages of @r where its cursor is; what is unreadable is skipped. */
static void load_pages(struct loading *l, struct run_file *r)
{
	unsigned level = (unsigned)r->load_level;
	u64 first = r->header.levels[level].first_page + r->load_page;
	u64 n = min_u64(run_file_pages(r, level) - r->load_page, l->max_pages);
	bool whole;
	u64 i;

	n = max_u64(1, min_u64(n, l->left / RUN_PAGE_BYTES));
	whole = !file_pread(r->file, l->buf, n * RUN_PAGE_BYTES,
			    first * RUN_PAGE_BYTES, NULL);
	count_read(l, n * RUN_PAGE_BYTES);
	for (i = 0; i < n; i++) {
		u8 *page = l->buf + i * RUN_PAGE_BYTES;

		if (!whole && file_pread(r->file, page, RUN_PAGE_BYTES,
					 (first + i) * RUN_PAGE_BYTES, NULL))
			index_run_damaged(l->ix, r, 1);
		else
			put_page(l, r, level, r->load_page + i, page);
	}
	r->load_page += n;
}

static void load_slice(struct loading *l, int *err)
{
	struct index *ix = l->ix;
	struct run_file *r;

	if (!open_runs(l, err))
		return;
	while (l->left) {
		r = pick_run(l);
		if (!r || (unsigned)r->load_level < atomic_load(&ix->shift))
			goto done;
		if (r->load_level != ix->load_level) {
			if (!level_fits(l, r->load_level))
				goto done;
			ix->load_level = r->load_level;
		}
		load_pages(l, r);
	}
	return;
done:
	atomic_store(&ix->load_done, true);
}

/* INDEX_RUN_GONE: not done, and the runs have changed. */
static int load_once(struct loading *l)
{
	int err, err2;

	err = index_runs_get(l->ix, &l->runs, &l->nr_runs);
	if (err)
		return err;
	load_slice(l, &err);
	if (err == INDEX_RUN_GONE) {
		err2 = index_run_gone_locked(l->ix, l->gone, l->diag);
		err = err2 ? err2 : err;
	}
	index_runs_put(l->runs, l->nr_runs);
	return err;
}

int index_load(struct index *ix, u64 nr_missed, struct akin_diag *diag)
{
	struct loading l = { .ix = ix, .diag = diag };
	int err = 0;

	if (atomic_load(&ix->load_done))
		return 0;
	pthread_mutex_lock(&ix->load_lock);
	if (atomic_load(&ix->load_done) ||
	    !credit_take(ix, nr_missed, &l.left))
		goto out_unlock;
	l.max_pages = ix->share.load / RUN_PAGE_BYTES;
	l.buf = mem_alloc(l.max_pages * RUN_PAGE_BYTES);
	err = l.buf ? INDEX_RUN_GONE : -AKIN_E_nomem;
	while (err == INDEX_RUN_GONE)
		err = load_once(&l);
	mem_free(l.buf);
out_unlock:
	pthread_mutex_unlock(&ix->load_lock);
	return err;
}
