/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, looking up, counting. Adding is in index_add.c, loading in
 * index_load.c, merging in index_merge.c.
 *
 * The budget, in parts of 32:
 *
 *	table    20 and more	what the others leave
 *	pending   3 + 3		one half is filled while the other is written
 *	merge     4		at most 16 MiB; readers' buffers and a writer's
 *	load      1		at most 1 MiB
 *	write     1		at most 1 MiB
 *
 * The table follows Sparse Indexing's sampled hooks (Lillibridge et al., FAST
 * 2009) in that a sample suffices where data has locality, and the runs
 * log-structured merge trees (O'Neil et al., 1996).
 */
#include "base/check.h"
#include "base/mem.h"
#include "index/index_internal.h"

/* Probes whose cache lines are fetched at once; processors keep 12 to 48
 * misses in flight, and the lines stay in the first-level cache. */
#define PROBE_BATCH 32
/* Runs whose pages index_lookup_disk() reads at once. */
#define DISK_BATCH 8

static void split_budget(size_t budget, struct index_shares *s)
{
	size_t part = budget / 32;

	s->pending = 3 * part;
	s->merge = min_u64(4 * part, 16 * MiB);
	s->load = min_u64(part, 1 * MiB);
	s->write = min_u64(part, 1 * MiB);
	s->table = budget - 2 * s->pending - s->merge - s->load - s->write;
}

static_assert(INDEX_MIN_BYTES / 32 >= RUN_WRITER_MIN_BYTES,
	      "the smallest share holds a writer");

int index_open(struct disk *meta, const struct index_options *opt,
	       const struct index_run *runs, u32 nr_runs, struct index **out,
	       struct akin_diag *diag)
{
	pthread_rwlockattr_t attr;
	struct run_file *r;
	struct index *ix;
	u32 i;

	if (opt->budget_bytes < INDEX_MIN_BYTES)
		return diag_set(diag, -AKIN_E_usage,
				"the index needs at least %llu KiB",
				(unsigned long long)(INDEX_MIN_BYTES / KiB));
	ix = mem_zalloc(sizeof(*ix));
	if (!ix)
		return -AKIN_E_nomem;
	ix->disk = meta;
	ix->opt = *opt;
	ix->load_level = RUN_LEVELS;
	split_budget(opt->budget_bytes, &ix->share);
	slots_init(&ix->table, ix->share.table, false);
	slots_init(&ix->pending, ix->share.pending, true);
	slots_init(&ix->sealed, ix->share.pending, true);
	ix->spill_entries = slots_capacity(&ix->pending);
	pthread_mutex_init(&ix->merge_lock, NULL);
	pthread_mutex_init(&ix->write_lock, NULL);
	pthread_mutex_init(&ix->load_lock, NULL);
	pthread_mutex_init(&ix->open_lock, NULL);
	/* Many readers must not keep one adder waiting for ever. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr,
			PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&ix->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	if (index_runs_reserve_locked(ix, nr_runs))
		goto fail;
	for (i = 0; i < nr_runs; i++) {
		r = run_file_new(&runs[i]);
		if (!r)
			goto fail;
		r->named = true;
		index_runs_insert_locked(ix, r);
	}
	*out = ix;
	return 0;
fail:
	index_close(ix);
	return -AKIN_E_nomem;
}

void index_close(struct index *ix)
{
	if (!ix)
		return;
	index_runs_put(ix->runs, ix->nr_runs);
	slots_release(&ix->table);
	slots_release(&ix->pending);
	slots_release(&ix->sealed);
	pthread_mutex_destroy(&ix->merge_lock);
	pthread_mutex_destroy(&ix->write_lock);
	pthread_mutex_destroy(&ix->load_lock);
	pthread_mutex_destroy(&ix->open_lock);
	pthread_rwlock_destroy(&ix->lock);
	mem_free(ix);
}

void index_changes_release(struct index_changes *ch)
{
	mem_free(ch->added);
	mem_free(ch->dead);
	memset(ch, 0, sizeof(*ch));
}

/* ---- looking up in memory ---- */

static u64 find_sealed(const struct slots *s, u64 prefix)
{
	u64 i = slots_lower_bound(s, prefix), word = 0;

	for (; i < s->nr && s->slots[i].prefix == prefix; i++)
		word = s->slots[i].word;	/* ascending */
	return word;
}

/* Levels that sampling drops are still known while they are pending. */
static u64 find_pending(struct index *ix, u64 prefix)
{
	u64 words[64];
	u32 nr = slots_find_all(&ix->pending, prefix, words, ARRAY_SIZE(words));
	u64 word = 0;

	while (nr)
		word = max_u64(word, words[--nr]);
	return word ? word : find_sealed(&ix->sealed, prefix);
}

static void probe_batch(struct index *ix, const struct fp *fps, u32 n,
			struct place *out)
{
	const struct slots *t = &ix->table;
	unsigned shift = ix->shift;
	u64 word, prefix;
	u32 i;

	if (t->nr)
		for (i = 0; i < n; i++)
			slots_prefetch(t, fp_prefix(&fps[i]));
	for (i = 0; i < n; i++) {
		prefix = fp_prefix(&fps[i]);
		word = slots_find(t, prefix);
		if (!word && run_level_of(&fps[i]) < shift)
			word = find_pending(ix, prefix);
		out[i].container = slot_container(word);
		out[i].entry = slot_entry(word);
	}
}

static u32 probe_all(struct index *ix, const struct fp *fps, u32 n,
		     struct place *out)
{
	u32 hits = 0, i;

	pthread_rwlock_rdlock(&ix->lock);
	for (i = 0; i < n; i += PROBE_BATCH)
		probe_batch(ix, fps + i, (u32)min_u64(PROBE_BATCH, n - i),
			    out + i);
	pthread_rwlock_unlock(&ix->lock);
	for (i = 0; i < n; i++)
		hits += out[i].container != 0;
	return hits;
}

int index_lookup(struct index *ix, const struct fp *fps, u32 n,
		 struct place *out, struct akin_diag *diag)
{
	u32 hits = probe_all(ix, fps, n, out);
	u64 before;
	int err;

	if (hits < n && !atomic_load(&ix->load_done)) {
		before = atomic_load(&ix->load_bytes);
		err = index_load(ix, n - hits, diag);
		if (err)
			return err;
		if (atomic_load(&ix->load_bytes) != before)
			hits = probe_all(ix, fps, n, out);
	}
	atomic_fetch_add(&ix->lookups, n);
	atomic_fetch_add(&ix->hits, hits);
	counters_add(ix->opt.counters, index_lookups, n);
	counters_add(ix->opt.counters, index_hits, hits);
	return 0;
}

/* ---- looking up on disk ---- */

/* Places found, without repetition. */
struct found {
	struct place *out;
	u32 max, nr;
};

/* False if there is no room for more. */
static bool found_add(struct found *f, u64 container, u32 entry)
{
	u32 i;

	for (i = 0; i < f->nr; i++)
		if (f->out[i].container == container &&
		    f->out[i].entry == entry)
			return true;
	if (f->nr == f->max)
		return false;
	f->out[f->nr].container = container;
	f->out[f->nr++].entry = entry;
	return f->nr < f->max;
}

static void add_pending_locked(struct index *ix, u64 prefix, struct found *f)
{
	u64 words[64];
	u64 i = slots_lower_bound(&ix->sealed, prefix + 1);
	u32 nr = slots_find_all(&ix->pending, prefix, words, ARRAY_SIZE(words));

	while (nr--)
		(void)found_add(f, slot_container(words[nr]),
				slot_entry(words[nr]));
	if (prefix == UINT64_MAX)
		i = ix->sealed.nr;
	while (i-- && ix->sealed.slots[i].prefix == prefix)
		(void)found_add(f, slot_container(ix->sealed.slots[i].word),
				slot_entry(ix->sealed.slots[i].word));
}

/* One run's search for one prefix: a page, and those it has spilled into. */
struct search {
	struct run_file *run;
	u64 page, end;		/* relative to the level */
	u64 prefix;
	u8 *data;
};

static void search_start(struct search *s, struct run_file *r, unsigned level,
			 u64 prefix, u8 *data, struct disk_read *read)
{
	const struct run_level *l = &r->header.levels[level];

	s->run = r;
	s->prefix = prefix;
	s->page = (u64)((u128)prefix * l->nr_pages >> 64);
	s->end = run_file_pages(r, level);
	s->data = data;
	read->file = r->file;
	read->data = data;
	read->len = RUN_PAGE_BYTES;
	read->off = (l->first_page + s->page) * RUN_PAGE_BYTES;
	read->result = 0;
}

/* Look through the page in @s->data; true if the next one must be read. */
static bool search_page(struct index *ix, struct search *s, struct found *f)
{
	struct run_entry e[RUN_PAGE_ENTRIES];
	bool spilled;
	u32 nr, i;

	if (run_page_decode(s->data, s->run->info.number, s->page, e, &nr,
			    &spilled)) {
		index_run_damaged(ix, s->run, 1);
		return false;
	}
	for (i = nr; i-- > 0;)
		if (e[i].prefix == s->prefix &&
		    !found_add(f, e[i].container, e[i].entry))
			return false;
	return spilled && ++s->page < s->end &&
	       (!nr || e[nr - 1].prefix <= s->prefix);
}

static void search_run(struct index *ix, struct search *s,
		       struct disk_read *read, struct found *f)
{
	int err = read->result;

	while (!err && search_page(ix, s, f)) {
		read->off += RUN_PAGE_BYTES;
		err = file_pread(read->file, read->data, read->len, read->off,
				 NULL);
		atomic_fetch_add(&ix->page_reads, 1);
		counters_add(ix->opt.counters, index_page_reads, 1);
	}
	if (err)
		index_run_damaged(ix, s->run, 1);
}

/* Search @nr runs, at most DISK_BATCH, the last one first. INDEX_RUN_GONE with
 * the run that is. */
static int search_batch(struct index *ix, const struct fp *fp,
			struct run_file **runs, u32 nr, u8 *data,
			struct found *f, struct run_file **gone_ret,
			struct akin_diag *diag)
{
	struct disk_read reads[DISK_BATCH];
	struct search s[DISK_BATCH];
	unsigned level = run_level_of(fp);
	u32 n = 0, i;
	int err;

	while (nr--) {
		err = index_run_open(ix, runs[nr], diag);
		*gone_ret = runs[nr];
		if (err)
			return err;
		if (atomic_load(&runs[nr]->state) == RUN_BAD ||
		    !runs[nr]->header.levels[level].nr_pages)
			continue;
		search_start(&s[n], runs[nr], level, fp_prefix(fp),
			     data + (size_t)n * RUN_PAGE_BYTES, &reads[n]);
		n++;
	}
	if (!n)
		return 0;
	err = file_pread_many(ix->disk, reads, n, diag);
	if (err)
		return err;
	atomic_fetch_add(&ix->page_reads, n);
	counters_add(ix->opt.counters, index_page_reads, n);
	for (i = 0; i < n && f->nr < f->max; i++)
		search_run(ix, &s[i], &reads[i], f);
	return 0;
}

/* Search all runs as they are now. INDEX_RUN_GONE: they have changed. */
static int search_all(struct index *ix, const struct fp *fp, struct found *f,
		      struct akin_diag *diag)
{
	struct run_file **runs = NULL, *gone;
	u32 nr_runs = 0, left, n;
	u8 *data = NULL;
	int err, err2;

	pthread_rwlock_rdlock(&ix->lock);
	add_pending_locked(ix, fp_prefix(fp), f);
	err = index_runs_get_locked(ix, &runs, &nr_runs);
	pthread_rwlock_unlock(&ix->lock);
	if (err)
		return err;
	if (nr_runs && f->nr < f->max) {
		data = mem_alloc(DISK_BATCH * RUN_PAGE_BYTES);
		err = data ? 0 : -AKIN_E_nomem;
	}
	for (left = nr_runs; !err && left && f->nr < f->max; left -= n) {
		n = (u32)min_u64(left, DISK_BATCH);
		err = search_batch(ix, fp, runs + left - n, n, data, f, &gone,
				   diag);
	}
	mem_free(data);
	if (err == INDEX_RUN_GONE) {
		err2 = index_run_gone(ix, gone, diag);
		err = err2 ? err2 : err;
	}
	index_runs_put(runs, nr_runs);
	return err;
}

int index_lookup_disk(struct index *ix, const struct fp *fp,
		      struct place *out, u32 max, u32 *nr_ret,
		      struct akin_diag *diag)
{
	struct found f = { out, max, 0 };
	int err;

	*nr_ret = 0;
	do {
		err = search_all(ix, fp, &f, diag);
	} while (err == INDEX_RUN_GONE);
	if (!err)
		*nr_ret = f.nr;
	counters_add(ix->opt.counters, index_run_lookups, 1);
	counters_add(ix->opt.counters, index_run_hits, !err && f.nr);
	return err;
}

/* ---- counting ---- */

u32 index_damage(struct index *ix, u64 *runs_ret, u32 max)
{
	u32 nr = 0, i;

	pthread_rwlock_rdlock(&ix->lock);
	for (i = 0; i < ix->nr_runs; i++) {
		if (!atomic_load(&ix->runs[i]->damaged))
			continue;
		if (nr < max)
			runs_ret[nr] = ix->runs[i]->info.number;
		nr++;
	}
	pthread_rwlock_unlock(&ix->lock);
	return nr;
}

void index_get_stats(struct index *ix, struct index_stats *out)
{
	int level = -1;
	u32 i;

	memset(out, 0, sizeof(*out));
	out->lookups = atomic_load(&ix->lookups);
	out->hits = atomic_load(&ix->hits);
	out->page_reads = atomic_load(&ix->page_reads);
	out->load_bytes = atomic_load(&ix->load_bytes);
	out->bad_pages = atomic_load(&ix->bad_pages);
	out->spill_entries = ix->spill_entries;
	pthread_mutex_lock(&ix->load_lock);
	pthread_rwlock_rdlock(&ix->lock);
	for (i = 0; i < ix->nr_runs; i++)
		if (ix->runs[i]->load_level > level)
			level = ix->runs[i]->load_level;
	out->table_entries = ix->table.nr;
	out->table_bytes = slots_bytes(&ix->table);
	out->sample_shift = (u32)max_u64(ix->shift, (u64)(level + 1));
	out->pending_entries = ix->pending.nr + ix->sealed.nr;
	pthread_rwlock_unlock(&ix->lock);
	pthread_mutex_unlock(&ix->load_lock);
}
