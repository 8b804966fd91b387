/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging runs, tier by tier.
 *
 * Readers take each source's levels in order, one level of all sources at a
 * time; the least entry goes to the writer. Buffers are what the budget gives,
 * however large the runs: 10 KiB for each source are enough.
 *
 * The writer must know about how many entries a level will have before it
 * begins. Levels are samples of each other and come small ones first, so the
 * part of the entries that survived so far (the rest were repeated, or in dead
 * containers) tells how many will survive of the next.
 *
 * A source that turns out to be damaged is left out, and the merge begins
 * anew without it: merged and forgotten, what its bad pages held would be lost
 * for good, while as long as the run is there it can be rebuilt from the
 * containers' directories. Each process finds that out for itself.
 */
#include "base/check.h"
#include "base/mem.h"
#include "index/index_internal.h"

/* A full tier. More means fewer rewrites of each entry (log8 of the pool's
 * size) and more runs to search (8 for each tier). */
#define TIER_RUNS 8
#define WIDTH_MAX 16
#define READER_BYTES (10 * KiB + 256)
/* Entries before the surviving part is taken from what was seen. */
#define SURVIVORS_MIN 10000

static_assert(READER_BYTES >= RUN_PAGE_BYTES +
	      RUN_PAGE_ENTRIES * sizeof(struct run_entry), "one page");
static_assert(INDEX_MIN_BYTES / 8 >= TIER_RUNS * READER_BYTES +
	      RUN_WRITER_MIN_BYTES, "a tier merges at once in any budget");

struct source {
	struct run_reader reader;
	const struct run_entry *entry;	/* NULL: at the end of the level */
};

/* The runs as this call sees them. */
struct merge {
	struct index *ix;
	int (*skip)(void *ctx, u64 container);
	void *skip_ctx;
	struct akin_diag *diag;
	struct run_file **runs;		/* owned references */
	bool *made;			/* by this call, not yet in the index */
	u32 nr_runs;

	struct source src[WIDTH_MAX];
	u32 nr_src;
	u64 nr_in, nr_out;
};

/* ---- one merge of several runs into one ---- */

static int source_advance(struct merge *m, struct source *s)
{
	int ret = run_reader_next(&s->reader, &s->entry, m->diag);

	if (!ret)
		s->entry = NULL;
	return ret < 0 ? ret : 0;
}

static int entry_compare(const struct run_entry *a, const struct run_entry *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	if (a->container != b->container)
		return a->container < b->container ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static struct source *least_source(struct merge *m)
{
	struct source *best = NULL;
	u32 i;

	for (i = 0; i < m->nr_src; i++)
		if (m->src[i].entry &&
		    (!best || entry_compare(m->src[i].entry, best->entry) < 0))
			best = &m->src[i];
	return best;
}

static u64 expected_entries(const struct merge *m, u64 nr_in)
{
	if (m->nr_in < SURVIVORS_MIN)
		return nr_in;
	/* 1 % on top: a level's part differs from the others' by chance. */
	return min_u64(nr_in, (u64)((u128)nr_in * m->nr_out / m->nr_in +
				    nr_in / 100));
}

static int merge_level(struct merge *m, struct run_writer *w, unsigned level)
{
	struct run_entry last = { 0 };
	struct source *s;
	u64 nr = 0;
	u32 i;
	int err;

	for (i = 0; i < m->nr_src; i++) {
		run_reader_start(&m->src[i].reader, level);
		nr += m->src[i].reader.run->header.levels[level].nr_entries;
		err = source_advance(m, &m->src[i]);
		if (err)
			return err;
	}
	if (!nr)
		return 0;
	err = run_writer_level(w, level, expected_entries(m, nr), m->diag);
	while (!err && (s = least_source(m))) {
		m->nr_in++;
		if (entry_compare(&last, s->entry) &&
		    !(m->skip && m->skip(m->skip_ctx, s->entry->container))) {
			m->nr_out++;
			last = *s->entry;
			err = run_writer_put(w, &last, m->diag);
		}
		if (!err)
			err = source_advance(m, s);
	}
	return err;
}

/* The writer has as much as a reader, and at least its minimum. */
static size_t writer_bytes(const struct index *ix)
{
	return max_u64(ix->share.merge / (WIDTH_MAX + 1), RUN_WRITER_MIN_BYTES);
}

static int merge_files(struct merge *m, struct index_run *out)
{
	struct index *ix = m->ix;
	struct run_writer *w;
	unsigned level;
	u64 number;
	int err;

	err = ix->opt.reserve(ix->opt.reserve_ctx, 1, &number, m->diag);
	if (err)
		return err;
	err = run_writer_open(ix->disk, &ix->opt.pool, number,
			      writer_bytes(ix), &w, m->diag);
	if (err)
		return err;
	m->nr_in = m->nr_out = 0;
	for (level = RUN_LEVELS; !err && level-- > 0;)
		err = merge_level(m, w, level);
	if (!err)
		err = run_writer_finish(w, out, m->diag);
	if (err) {
		run_writer_abort(w);
		return err;
	}
	run_writer_free(w);
	out->tier = index_tier_of(ix, out->nr_entries);
	return 0;
}

/* ---- choosing ---- */

static u32 merge_width(const struct index *ix)
{
	u64 n = (ix->share.merge - RUN_WRITER_MIN_BYTES) / READER_BYTES;

	return (u32)min_u64(n, WIDTH_MAX);
}

/*
 * The oldest runs of the lowest tier that is full: their positions in
 * @m->runs, ascending. 0 if no tier is full.
 */
static u32 choose(const struct merge *m, u32 *at)
{
	u32 width = merge_width(m->ix), tier = UINT32_MAX, nr, i, k;

	for (i = 0; i < m->nr_runs; i++) {
		if (m->runs[i]->damaged || m->runs[i]->info.tier >= tier)
			continue;
		for (nr = 0, k = 0; k < m->nr_runs; k++)
			nr += !m->runs[k]->damaged && m->runs[k]->info.tier ==
				m->runs[i]->info.tier;
		if (nr >= TIER_RUNS)
			tier = m->runs[i]->info.tier;
	}
	for (nr = 0, i = 0; i < m->nr_runs && nr < width; i++)
		if (!m->runs[i]->damaged && m->runs[i]->info.tier == tier)
			at[nr++] = i;
	return nr;
}

/* Lost and then damaged, or merged by somebody else; then there is nothing to
 * do here. */
static int source_gone(struct merge *m, struct run_file *r)
{
	int err = index_run_gone(m->ix, r, m->diag);

	if (!err && atomic_load(&r->state) != RUN_BAD)
		err = diag_set(m->diag, -AKIN_E_busy, "index run %llu was "
			       "merged by another process",
			       (unsigned long long)r->info.number);
	return err;
}

static int open_sources(struct merge *m, const u32 *at, u32 nr)
{
	size_t share = (m->ix->share.merge - writer_bytes(m->ix)) / nr;
	struct run_file *r;
	u32 i;
	int err;

	for (i = 0; i < nr; i++) {
		r = m->runs[at[i]];
		err = index_run_open(m->ix, r, m->diag);
		if (err == INDEX_RUN_GONE)
			err = source_gone(m, r);
		if (err)
			return err;
		if (atomic_load(&r->state) == RUN_BAD)
			return -AKIN_E_bad_data;	/* and is damaged */
		err = run_reader_init(&m->src[i].reader, m->ix, r, share);
		if (err)
			return err;
		m->nr_src++;
	}
	return 0;
}

static void close_sources(struct merge *m)
{
	while (m->nr_src)
		run_reader_release(&m->src[--m->nr_src].reader);
}

/* Take the sources out of the list, put the result in. */
static int replace_runs(struct merge *m, const u32 *at, u32 nr,
			const struct index_run *info)
{
	struct run_file *merged = run_file_new(info);
	char name[FORMAT_NAME_MAX];
	u32 i, k, n = 0;

	if (!merged)
		return -AKIN_E_nomem;
	for (i = 0, k = 0; i < m->nr_runs; i++) {
		if (k == nr || at[k] != i) {
			m->made[n] = m->made[i];
			m->runs[n++] = m->runs[i];
			continue;
		}
		k++;
		if (m->made[i]) {	/* nobody else knows of it */
			format_run_name(m->runs[i]->info.number, name);
			ignore_result(disk_unlink(m->ix->disk, name, NULL));
		}
		run_file_put(m->runs[i]);
	}
	m->made[n] = true;
	m->runs[n++] = merged;
	m->nr_runs = n;
	return 0;
}

/* 1 = merged something or found damage: look again. 0 = no tier is full. */
static int merge_once(struct merge *m)
{
	struct akin_diag *diag = m->diag;
	struct akin_diag mine = { 0 };
	struct index_run info = { 0 };
	u32 at[WIDTH_MAX];
	bool damaged = false;
	u32 nr, i;
	int err;

	nr = choose(m, at);
	if (!nr)
		return 0;
	m->diag = &mine;
	err = open_sources(m, at, nr);
	if (!err)
		err = merge_files(m, &info);
	close_sources(m);
	m->diag = diag;
	for (i = 0; i < nr; i++)
		damaged |= m->runs[at[i]]->damaged;
	if (err && damaged)
		return 1;
	if (!err)
		err = replace_runs(m, at, nr, &info);
	if (err)
		return diag_set(diag, err, "%s", mine.code ? mine.text
							: akin_strerror(err));
	return 1;
}

/* ---- the whole ---- */

/* All runs that others know of, except those in no catalog yet. */
static int take_runs(struct merge *m)
{
	struct index *ix = m->ix;
	u32 nr = 0, i;
	int err;

	pthread_rwlock_rdlock(&ix->lock);
	err = index_runs_get_locked(ix, &m->runs, &m->nr_runs);
	for (i = 0; i < m->nr_runs; i++) {
		if (m->runs[i]->uncommitted)
			run_file_put(m->runs[i]);
		else
			m->runs[nr++] = m->runs[i];
	}
	m->nr_runs = nr;
	pthread_rwlock_unlock(&ix->lock);
	if (err || !nr)
		return err;
	m->made = mem_calloc(nr, sizeof(bool));
	return m->made ? 0 : -AKIN_E_nomem;
}

static bool has_run(const struct merge *m, u64 number)
{
	u32 i;

	for (i = 0; i < m->nr_runs; i++)
		if (m->runs[i]->info.number == number)
			return true;
	return false;
}

/* Made ones are added; those of @before that are gone are dead. */
static int make_changes(const struct merge *m, const struct index_run *before,
			u32 nr_before, struct index_changes *out)
{
	u32 i;

	out->added = mem_calloc(m->nr_runs, sizeof(struct index_run));
	out->dead = mem_calloc(nr_before, sizeof(u64));
	if (!out->added || !out->dead)
		return -AKIN_E_nomem;
	for (i = 0; i < m->nr_runs; i++)
		if (m->made[i])
			out->added[out->nr_added++] = m->runs[i]->info;
	for (i = 0; i < nr_before; i++)
		if (!has_run(m, before[i].number))
			out->dead[out->nr_dead++] = before[i].number;
	return 0;
}

/* After a failure nobody will ever name what was made. */
static void unlink_made(const struct merge *m)
{
	char name[FORMAT_NAME_MAX];
	u32 i;

	for (i = 0; m->made && i < m->nr_runs; i++) {
		if (!m->made[i])
			continue;
		format_run_name(m->runs[i]->info.number, name);
		ignore_result(disk_unlink(m->ix->disk, name, NULL));
	}
}

static int merge_all(struct merge *m, struct index_changes *out)
{
	struct index_run *before;
	u32 nr_before = m->nr_runs, i;
	bool merged = false;
	int ret;

	before = mem_calloc(nr_before, sizeof(struct index_run));
	if (!before)
		return -AKIN_E_nomem;
	for (i = 0; i < nr_before; i++)
		before[i] = m->runs[i]->info;
	while ((ret = merge_once(m)) > 0)
		;
	for (i = 0; i < m->nr_runs; i++)
		merged |= m->made[i];
	if (!ret && merged)
		ret = disk_sync_dir(m->ix->disk, DIR_RUNS, m->diag);
	if (!ret && merged)
		ret = make_changes(m, before, nr_before, out);
	mem_free(before);
	return ret;
}

int index_merge(struct index *ix, int (*skip)(void *ctx, u64 container),
		void *ctx, struct index_changes *out, struct akin_diag *diag)
{
	struct merge *m;
	int err;

	memset(out, 0, sizeof(*out));
	m = mem_zalloc(sizeof(*m));
	if (!m)
		return -AKIN_E_nomem;
	m->ix = ix;
	m->skip = skip;
	m->skip_ctx = ctx;
	m->diag = diag;
	pthread_mutex_lock(&ix->merge_lock);
	err = take_runs(m);
	if (!err && m->nr_runs)
		err = merge_all(m, out);
	if (err) {
		unlink_made(m);
		index_changes_release(out);
	}
	pthread_mutex_unlock(&ix->merge_lock);
	index_runs_put(m->runs, m->nr_runs);
	mem_free(m->made);
	mem_free(m);
	return err;
}

/* ---- after the commit ---- */

static bool is_dead(const struct index_changes *ch, u64 number)
{
	u32 i;

	for (i = 0; i < ch->nr_dead; i++)
		if (ch->dead[i] == number)
			return true;
	return false;
}

/* Put the new runs in and take the dead ones out. What of them is not loaded
 * yet is to be loaded from what replaces them. */
static void switch_runs_locked(struct index *ix, const struct index_changes *ch,
			       struct run_file **added)
{
	int level = -1;
	u32 n = 0, i;

	for (i = 0; i < ix->nr_runs; i++) {
		if (!is_dead(ch, ix->runs[i]->info.number)) {
			ix->runs[n++] = ix->runs[i];
			continue;
		}
		if (ix->runs[i]->load_level > level)
			level = ix->runs[i]->load_level;
		run_file_put(ix->runs[i]);
	}
	ix->nr_runs = n;
	for (i = 0; i < ch->nr_added; i++) {
		added[i]->load_level = level;
		added[i]->named = true;
		index_runs_insert_locked(ix, added[i]);
	}
}

void index_unmerge(struct index *ix, const struct index_changes *ch)
{
	char name[FORMAT_NAME_MAX];
	u32 i;

	for (i = 0; i < ch->nr_added; i++) {
		format_run_name(ch->added[i].number, name);
		/* What stays is an orphan. */
		ignore_result(disk_unlink(ix->disk, name, NULL));
	}
}

static int unlink_dead(struct index *ix, const struct index_changes *ch,
		       struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	int first = 0, err;
	u32 i;

	for (i = 0; i < ch->nr_dead; i++) {
		struct akin_diag mine = { 0 };

		format_run_name(ch->dead[i], name);
		err = disk_unlink(ix->disk, name, &mine);
		if (err && akin_error_class(err) != AKIN_CLASS_ABSENT && !first)
			first = diag_set(diag, err, "%s", mine.text);
	}
	return first;
}

int index_merged(struct index *ix, const struct index_changes *ch,
		 struct akin_diag *diag)
{
	struct run_file **added;
	u32 i;
	int err = 0;

	added = mem_calloc(ch->nr_added, sizeof(struct run_file *));
	if (!added)
		return -AKIN_E_nomem;
	for (i = 0; !err && i < ch->nr_added; i++) {
		added[i] = run_file_new(&ch->added[i]);
		if (!added[i])
			err = -AKIN_E_nomem;
	}
	pthread_mutex_lock(&ix->load_lock);
	pthread_rwlock_wrlock(&ix->lock);
	if (!err)
		err = index_runs_reserve_locked(ix, ch->nr_added);
	if (!err)
		switch_runs_locked(ix, ch, added);
	pthread_rwlock_unlock(&ix->lock);
	pthread_mutex_unlock(&ix->load_lock);
	if (err) {
		for (i = 0; i < ch->nr_added; i++)
			run_file_put(added[i]);
		mem_free(added);
		return err;
	}
	mem_free(added);
	return unlink_dead(ix, ch, diag);
}
