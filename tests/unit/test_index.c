/* SPDX-License-Identifier: Apache-2.0 */
#include "testlib.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "index/index.h"
#include "simdisk.h"
#include "synthrun.h"

static const struct pool_id pool = { "index test pool" };

/* A pool as far as the index sees it: a disk and a manifest. */
struct world {
	struct simdisk *sd;
	struct disk *d;
	_Atomic u64 next_number;
	struct index_run *runs;
	u32 nr_runs;
	struct index *ix;
	size_t budget;
	size_t heap_base, heap_peak;
};

static size_t heap_bytes(void)
{
	struct mallinfo2 mi = mallinfo2();

	return mi.uordblks + mi.hblkhd;
}

static void world_sample(struct world *w)
{
	size_t now = heap_bytes();

	if (now > w->heap_peak)
		w->heap_peak = now;
}

static int world_reserve(void *ctx, u32 count, u64 *first_ret,
			 struct akin_diag *diag)
{
	struct world *w = ctx;

	*first_ret = atomic_fetch_add(&w->next_number, count);
	return 0;
}

static int world_open(struct world *w)
{
	struct index_options opt = { .pool = pool, .budget_bytes = w->budget,
				     .reserve = world_reserve,
				     .reserve_ctx = w };

	return index_open(w->d, &opt, w->runs, w->nr_runs, &w->ix, NULL);
}

static void world_init(struct world *w, size_t budget)
{
	memset(w, 0, sizeof(*w));
	w->sd = simdisk_new("metadata");
	w->d = simdisk_attach(w->sd, true);
	w->next_number = 1;
	w->budget = budget;
	assert_int_equal(disk_mkdir(w->d, DIR_RUNS, NULL), 0);
	assert_int_equal(world_open(w), 0);
}

static void world_release(struct world *w)
{
	index_close(w->ix);
	disk_free(w->d);
	simdisk_free(w->sd);
	free(w->runs);
}

static void world_reopen(struct world *w)
{
	index_close(w->ix);
	w->ix = NULL;
	assert_int_equal(world_open(w), 0);
}

/* What the catalog would do. */
static void world_commit(struct world *w, struct index_changes *ch)
{
	u32 i, k;

	for (i = 0; i < ch->nr_dead; i++) {
		for (k = 0; k < w->nr_runs; k++)
			if (w->runs[k].number == ch->dead[i])
				break;
		assert_true(k < w->nr_runs);
		w->runs[k] = w->runs[--w->nr_runs];
	}
	w->runs = realloc(w->runs, (w->nr_runs + ch->nr_added + 1) *
			  sizeof(*w->runs));
	for (i = 0; i < ch->nr_added; i++)
		w->runs[w->nr_runs++] = ch->added[i];
}

static int world_flush(struct world *w)
{
	struct index_changes ch;
	int err = index_flush(w->ix, &ch, NULL);

	if (!err)
		world_commit(w, &ch);
	index_changes_release(&ch);
	return err;
}

static int world_merge(struct world *w, int (*skip)(void *ctx, u64 container),
		       void *ctx)
{
	struct index_changes ch;
	int err = index_merge(w->ix, skip, ctx, &ch, NULL);

	if (!err) {
		world_commit(w, &ch);
		err = index_merged(w->ix, &ch, NULL);
	}
	index_changes_release(&ch);
	return err;
}

static u64 files_in_runs(struct world *w)
{
	struct sim_name *names;
	size_t nr, i;
	u64 files = 0;

	names = simdisk_names(w->sd, &nr);
	for (i = 0; i < nr; i++)
		files += !names[i].is_dir;
	simdisk_names_free(names, nr);
	return files;
}

/* The i-th chunk of the tests. */
static void chunk(u64 i, struct fp *fp, struct place *at)
{
	struct rng r = { i * 0x9e3779b97f4a7c15ull + 77 };

	rng_fill(&r, fp->b, sizeof(fp->b));
	at->container = 1 + i / 1000;
	at->entry = (u32)(i % 1000);
}

static int add_chunks(struct world *w, u64 from, u64 to)
{
	struct place at;
	struct fp fp;
	u64 i;
	int err = 0;

	for (i = from; !err && i < to; i++) {
		chunk(i, &fp, &at);
		err = index_add(w->ix, &fp, &at, NULL);
	}
	return err;
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->container == b->container && a->entry == b->entry;
}

/*
 * Look up chunks [from, to): those of @level and above must be found, nothing
 * wrong ever. Returns how many were.
 */
static u64 check_memory(struct world *w, u64 from, u64 to, unsigned level)
{
	struct fp fps[100];
	struct place want[100], got[100];
	u64 found = 0;
	u32 n, i;

	for (; from < to; from += n) {
		n = (u32)min_u64(100, to - from);
		for (i = 0; i < n; i++)
			chunk(from + i, &fps[i], &want[i]);
		assert_int_equal(index_lookup(w->ix, fps, n, got, NULL), 0);
		for (i = 0; i < n; i++) {
			if (!got[i].container) {
				assert_true(run_level_of(&fps[i]) < level);
				continue;
			}
			assert_true(same_place(&got[i], &want[i]));
			found++;
		}
	}
	return found;
}

/* Every @step-th chunk is found on disk, and nothing but it. */
static void check_disk(struct world *w, u64 from, u64 to, u64 step)
{
	struct place want, got[4];
	struct fp fp;
	u32 nr;

	for (; from < to; from += step) {
		chunk(from, &fp, &want);
		assert_int_equal(index_lookup_disk(w->ix, &fp, got, 4, &nr,
						   NULL), 0);
		assert_int_equal(nr, 1);
		assert_true(same_place(&got[0], &want));
	}
}

/* Misses make it load; enough of them all that fits. */
static void load_all(struct world *w)
{
	struct place got[1000];
	struct fp fps[1000];
	struct rng r = { 1 };
	u32 i;

	for (i = 0; i < 40; i++) {
		rng_fill(&r, fps, sizeof(fps));
		assert_int_equal(index_lookup(w->ix, fps, 1000, got, NULL), 0);
	}
}

static struct index_stats stats_of(struct world *w)
{
	struct index_stats st;

	index_get_stats(w->ix, &st);
	return st;
}

static void test_exact_while_it_fits(void **state)
{
	struct world w;

	world_init(&w, 4 * MiB);
	assert_int_equal(stats_of(&w).table_bytes, 0);
	assert_int_equal(add_chunks(&w, 0, 50000), 0);
	assert_int_equal(check_memory(&w, 0, 50000, 0), 50000);
	assert_int_equal(check_memory(&w, 50000, 51000, RUN_LEVELS), 0);
	check_disk(&w, 0, 50000, 97);
	assert_int_equal(stats_of(&w).sample_shift, 0);
	assert_int_equal(stats_of(&w).table_entries, 50000);
	assert_true(stats_of(&w).load_bytes == 0);
	assert_int_equal(world_flush(&w), 0);
	check_disk(&w, 0, 50000, 97);
	assert_int_equal(files_in_runs(&w), w.nr_runs);

	world_reopen(&w);
	assert_int_equal(stats_of(&w).sample_shift, RUN_LEVELS);
	load_all(&w);
	assert_int_equal(check_memory(&w, 0, 50000, 0), 50000);
	assert_int_equal(stats_of(&w).sample_shift, 0);
	assert_int_equal(stats_of(&w).table_entries, 50000);
	assert_true(stats_of(&w).load_bytes <=
		    50000 * RUN_ENTRY_BYTES * 3 / 2 + 64 * KiB);
	check_disk(&w, 0, 50000, 97);
	assert_int_equal(check_memory(&w, 50000, 51000, RUN_LEVELS), 0);
	world_release(&w);
}

static void test_small_uses_little(void **state)
{
	struct world w;

	world_init(&w, 64 * MiB);
	assert_int_equal(add_chunks(&w, 0, 100), 0);
	assert_true(stats_of(&w).table_bytes <= 16 * KiB);
	world_release(&w);
}

static void test_samples_when_full(void **state)
{
	const u64 nr = 300000;
	struct index_stats st;
	u64 found;
	struct world w;

	world_init(&w, 1 * MiB);
	assert_int_equal(add_chunks(&w, 0, nr), 0);
	st = stats_of(&w);
	assert_in_range(st.sample_shift, 3, 5);
	assert_true(st.table_bytes <= 1 * MiB * 21 / 32);
	/* Not thinner than it must be. */
	assert_true(st.table_entries > 30000 / 2 - 1000);
	found = check_memory(&w, 0, nr, st.sample_shift);
	assert_in_range(found, st.table_entries,
			st.table_entries + st.pending_entries);
	assert_int_equal(check_memory(&w, nr, nr + 2000, RUN_LEVELS), 0);
	check_disk(&w, 0, nr, 997);
	assert_int_equal(world_flush(&w), 0);
	assert_true(w.nr_runs > 50);

	world_reopen(&w);
	load_all(&w);
	st = stats_of(&w);
	assert_in_range(st.sample_shift, 3, 5);
	assert_true(st.table_bytes <= 1 * MiB * 21 / 32);
	assert_true(check_memory(&w, 0, nr, st.sample_shift) ==
		    st.table_entries);
	check_disk(&w, 0, nr, 997);
	world_release(&w);
}

static void test_loads_in_slices(void **state)
{
	struct synthrun s = { .seed = 5, .nr = 900000, .first_container = 7,
			      .nr_per_container = 1000 };
	struct akin_diag diag = { 0 };
	struct place at, got;
	struct fp fp;
	struct world w;
	u64 before, i;
	u32 nr;

	world_init(&w, 16 * MiB);
	w.runs = calloc(1, sizeof(*w.runs));
	assert_int_equal(synthrun_write(&s, w.d, &pool, 1, 3, w.runs, &diag),
			 0);
	assert_int_equal(w.runs->nr_entries, s.nr);
	w.nr_runs = 1;
	w.next_number = 2;
	world_reopen(&w);
	synthrun_get(&s, 0, &fp, &at);
	fp.b[31] ^= 1;
	fp.b[0] ^= 1;
	assert_int_equal(index_lookup(w.ix, &fp, 1, &got, NULL), 0);
	assert_true(stats_of(&w).load_bytes <= 4 * MiB + 64 * KiB);
	assert_true(stats_of(&w).load_bytes >= 4 * MiB - 64 * KiB);
	before = stats_of(&w).load_bytes;
	assert_int_equal(index_lookup(w.ix, &fp, 1, &got, NULL), 0);
	assert_true(stats_of(&w).load_bytes == before);
	assert_in_range(stats_of(&w).sample_shift, 2, 4);
	load_all(&w);
	assert_int_equal(stats_of(&w).sample_shift, 1);
	assert_int_equal(stats_of(&w).table_entries, s.nr / 2);
	for (i = 0; i < s.nr; i += 1009) {
		synthrun_get(&s, i, &fp, &at);
		assert_int_equal(index_lookup(w.ix, &fp, 1, &got, NULL), 0);
		if (run_level_of(&fp) >= 1)
			assert_true(same_place(&at, &got));
		assert_int_equal(index_lookup_disk(w.ix, &fp, &got, 1, &nr,
						   NULL), 0);
		assert_int_equal(nr, 1);
		assert_true(same_place(&at, &got));
	}
	assert_true(stats_of(&w).page_reads <= s.nr / 1009 + 10);
	world_release(&w);
}

/* Flush, commit and merge whenever there is something to merge. */
static u32 fill_tiers(struct world *w, u64 nr, u64 step)
{
	u32 top = 0, i;
	u64 at;

	for (at = 0; at < nr; at += step) {
		assert_int_equal(add_chunks(w, at, min_u64(at + step, nr)), 0);
		assert_int_equal(world_flush(w), 0);
		assert_int_equal(world_merge(w, NULL, NULL), 0);
	}
	for (i = 0; i < w->nr_runs; i++)
		top = (u32)max_u64(top, w->runs[i].tier);
	return top;
}

static u64 manifest_entries(const struct world *w)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < w->nr_runs; i++)
		nr += w->runs[i].nr_entries;
	return nr;
}

static void test_merges_through_tiers(void **state)
{
	const u64 nr = 450000;
	struct world w;
	u64 found;

	world_init(&w, 1 * MiB);
	assert_true(fill_tiers(&w, nr, 3000) >= 2);
	assert_true(w.nr_runs < 8 * 3);
	assert_int_equal(manifest_entries(&w), nr);
	assert_int_equal(files_in_runs(&w), w.nr_runs);
	check_disk(&w, 0, nr, 331);
	found = check_memory(&w, 0, nr, stats_of(&w).sample_shift);
	assert_true(found > 10000);
	assert_true(stats_of(&w).bad_pages == 0);
	world_reopen(&w);
	load_all(&w);
	check_disk(&w, 0, nr, 331);
	assert_true(check_memory(&w, 0, nr, stats_of(&w).sample_shift) >
		    10000);
	assert_true(stats_of(&w).bad_pages == 0);
	world_release(&w);
}

static void test_tiny_flushes_stay_few(void **state)
{
	struct world w;

	world_init(&w, 64 * MiB);
	assert_int_equal(fill_tiers(&w, 2000, 10), 0);
	assert_true(w.nr_runs <= 8);
	assert_int_equal(manifest_entries(&w), 2000);
	world_release(&w);
}

static int skip_odd(void *ctx, u64 container)
{
	return container & 1;
}

static void test_merge_drops(void **state)
{
	struct place got[4];
	struct place at;
	struct fp fp;
	struct world w;
	u32 i, nr;

	world_init(&w, 1 * MiB);
	/* The same 4000 entries eight times, one container in two dead. */
	for (i = 0; i < 8; i++) {
		assert_int_equal(add_chunks(&w, 0, 4000), 0);
		assert_int_equal(world_flush(&w), 0);
	}
	assert_int_equal(w.nr_runs, 8);
	assert_int_equal(world_merge(&w, skip_odd, NULL), 0);
	assert_int_equal(w.nr_runs, 1);
	assert_int_equal(w.runs[0].nr_entries, 2000);
	for (i = 0; i < 4000; i += 7) {
		chunk(i, &fp, &at);
		assert_int_equal(index_lookup_disk(w.ix, &fp, got, 4, &nr,
						   NULL), 0);
		assert_int_equal(nr, at.container & 1 ? 0 : 1);
	}
	world_release(&w);
}

static void test_newest_place_wins(void **state)
{
	struct place a = { 10, 1 }, b = { 20, 2 }, got[4];
	struct fp fp;
	struct world w;
	u32 nr;

	chunk(1, &fp, &got[0]);
	world_init(&w, 1 * MiB);
	assert_int_equal(index_add(w.ix, &fp, &b, NULL), 0);
	assert_int_equal(world_flush(&w), 0);
	assert_int_equal(index_add(w.ix, &fp, &a, NULL), 0);
	assert_int_equal(index_lookup(w.ix, &fp, 1, got, NULL), 0);
	assert_true(same_place(&got[0], &b));
	assert_int_equal(index_lookup_disk(w.ix, &fp, got, 4, &nr, NULL), 0);
	assert_int_equal(nr, 2);
	assert_true(same_place(&got[0], &a));	/* pending: the newest run */
	assert_true(same_place(&got[1], &b));
	assert_int_equal(index_lookup_disk(w.ix, &fp, got, 1, &nr, NULL), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(world_flush(&w), 0);
	world_reopen(&w);
	assert_int_equal(index_lookup(w.ix, &fp, 1, got, NULL), 0);
	assert_true(same_place(&got[0], &b));
	world_release(&w);
}

/* 600 copies of a few chunks, prefixes at both ends: pages overflow, the last
 * of a level too. */
static void test_crowded_pages(void **state)
{
	static const u8 ends[] = { 0x00, 0x7f, 0xff };
	struct place at, got[700];
	struct fp fp;
	struct world w;
	u32 e, i, nr;

	world_init(&w, 1 * MiB);
	assert_int_equal(add_chunks(&w, 0, 3000), 0);
	for (i = 0; i < 600; i++) {
		for (e = 0; e < ARRAY_SIZE(ends); e++) {
			memset(fp.b, ends[e], sizeof(fp.b));
			at.container = 1000 + i;
			at.entry = e;
			assert_int_equal(index_add(w.ix, &fp, &at, NULL), 0);
		}
	}
	assert_int_equal(world_flush(&w), 0);
	assert_int_equal(world_merge(&w, NULL, NULL), 0);
	assert_int_equal(manifest_entries(&w), 3000 + 3 * 600);
	for (e = 0; e < ARRAY_SIZE(ends); e++) {
		memset(fp.b, ends[e], sizeof(fp.b));
		assert_int_equal(index_lookup_disk(w.ix, &fp, got, 700, &nr,
						   NULL), 0);
		assert_int_equal(nr, 600);
		for (i = 0; i < nr; i++)
			assert_int_equal(got[i].entry, e);
		assert_int_equal(index_lookup(w.ix, &fp, 1, got, NULL), 0);
		assert_int_equal(got[0].container, 1599);
	}
	check_disk(&w, 0, 3000, 11);
	world_reopen(&w);
	load_all(&w);
	assert_int_equal(check_memory(&w, 0, 3000, 0), 3000);
	assert_true(stats_of(&w).bad_pages == 0);
	world_release(&w);
}

static void test_refuses(void **state)
{
	struct index_options opt = { .pool = pool,
				     .budget_bytes = INDEX_MIN_BYTES - 1,
				     .reserve = world_reserve };
	struct akin_diag diag = { 0 };
	struct place at = { 0, 0 };
	struct index *ix;
	struct world w;
	struct fp fp = { { 1 } };

	world_init(&w, 1 * MiB);
	assert_int_equal(index_open(w.d, &opt, NULL, 0, &ix, &diag),
			 -AKIN_E_usage);
	assert_int_equal(diag.code, -AKIN_E_usage);
	assert_int_equal(index_add(w.ix, &fp, &at, NULL), -AKIN_E_too_large);
	at.container = 1ull << 46;
	assert_int_equal(index_add(w.ix, &fp, &at, NULL), -AKIN_E_too_large);
	at.container = 1;
	at.entry = 16384;
	assert_int_equal(index_add(w.ix, &fp, &at, NULL), -AKIN_E_too_large);
	at.container = (1ull << 46) - 1;
	at.entry = 16383;
	assert_int_equal(index_add(w.ix, &fp, &at, NULL), 0);
	assert_int_equal(world_flush(&w), 0);
	world_reopen(&w);
	assert_int_equal(index_lookup(w.ix, &fp, 1, &at, NULL), 0);
	assert_true(at.container == (1ull << 46) - 1);
	assert_int_equal(at.entry, 16383);
	world_release(&w);
}

/* ---- damage ---- */

static void run_name(u64 number, char name[FORMAT_NAME_MAX])
{
	format_run_name(number, name);
}

static void test_damaged_run_is_kept(void **state)
{
	char name[FORMAT_NAME_MAX];
	struct place got[4], at;
	struct fp fp;
	struct world w;
	u64 bad, damaged[4];
	u32 i, nr, lost = 0;

	world_init(&w, 1 * MiB);
	for (i = 0; i < 9; i++) {
		assert_int_equal(add_chunks(&w, i * 4000, i * 4000 + 4000), 0);
		assert_int_equal(world_flush(&w), 0);
	}
	bad = w.runs[3].number;
	run_name(bad, name);
	simdisk_flip_bit(w.sd, name, w.runs[3].file_bytes - 2000, 3);
	world_reopen(&w);
	assert_int_equal(index_damage(w.ix, damaged, 4), 0);
	/* Eight sound ones merge; the ninth stays and answers what it can. */
	assert_int_equal(world_merge(&w, NULL, NULL), 0);
	assert_int_equal(w.nr_runs, 2);
	assert_int_equal(files_in_runs(&w), 2);
	assert_int_equal(manifest_entries(&w), 36000);
	assert_int_equal(index_damage(w.ix, damaged, 4), 1);
	assert_true(damaged[0] == bad);
	for (i = 0; i < 36000; i++) {
		chunk(i, &fp, &at);
		assert_int_equal(index_lookup_disk(w.ix, &fp, got, 4, &nr,
						   NULL), 0);
		lost += nr == 0;
		if (nr)
			assert_true(same_place(&got[0], &at));
	}
	assert_in_range(lost, 1, 255);		/* one page */
	assert_true(stats_of(&w).bad_pages > 0);
	load_all(&w);
	nr = (u32)check_memory(&w, 0, 36000, RUN_LEVELS);
	assert_int_equal(stats_of(&w).sample_shift, 1);
	assert_in_range(nr, 17000, 19000);
	world_release(&w);
}

static void test_missing_and_foreign_runs(void **state)
{
	char name[FORMAT_NAME_MAX], other[FORMAT_NAME_MAX];
	u64 damaged[4];
	struct world w;
	u32 i;

	world_init(&w, 1 * MiB);
	for (i = 0; i < 9; i++) {
		assert_int_equal(add_chunks(&w, i * 100, i * 100 + 100), 0);
		assert_int_equal(world_flush(&w), 0);
	}
	run_name(w.runs[0].number, name);
	assert_int_equal(disk_unlink(w.d, name, NULL), 0);
	run_name(w.runs[1].number, name);	/* a copy of another run */
	run_name(w.runs[2].number, other);
	assert_int_equal(disk_rename(w.d, other, name, NULL), 0);
	world_reopen(&w);
	load_all(&w);
	assert_int_equal(check_memory(&w, 0, 300, RUN_LEVELS), 0);
	assert_int_equal(check_memory(&w, 300, 900, 0), 600);
	check_disk(&w, 300, 900, 1);
	assert_int_equal(index_damage(w.ix, damaged, 4), 3);
	assert_int_equal(world_merge(&w, NULL, NULL), 0);
	assert_int_equal(w.nr_runs, 9);		/* six are not a full tier */
	world_release(&w);
}

static void test_flipped_bits(void **state)
{
	struct place got[4], at;
	char name[FORMAT_NAME_MAX];
	struct rng r = { 11 };
	struct world w;
	struct fp fp;
	u32 round, i, k, nr;

	for (round = 0; round < 30; round++) {
		world_init(&w, 1 * MiB);
		for (i = 0; i < 10; i++) {
			assert_int_equal(add_chunks(&w, i * 500,
						    i * 500 + 500), 0);
			assert_int_equal(world_flush(&w), 0);
		}
		for (i = 0; i < 1 + round / 2; i++) {
			k = (u32)rng_below(&r, w.nr_runs);
			run_name(w.runs[k].number, name);
			simdisk_flip_bit(w.sd, name, round & 1 ?
					 rng_below(&r, w.runs[k].file_bytes) :
					 rng_below(&r, 512),
					 (unsigned)rng_below(&r, 8));
		}
		world_reopen(&w);
		check_memory(&w, 0, 5000, RUN_LEVELS);
		for (i = 0; i < 5000; i += 5) {
			chunk(i, &fp, &at);
			assert_int_equal(index_lookup_disk(w.ix, &fp, got, 4,
							   &nr, NULL), 0);
			if (nr)
				assert_true(same_place(&got[0], &at));
		}
		assert_int_equal(world_merge(&w, NULL, NULL), 0);
		assert_int_equal(manifest_entries(&w), 5000);
		world_release(&w);
	}
}

/* ---- failures ---- */

/*
 * A life with spills, flushes, merges, a reopening and loading, one call of
 * which may fail with @code; then it is repeated, and nothing may be missing.
 */
static int allowed;

static bool failed_once(int err)
{
	if (!err)
		return false;
	assert_int_equal(err, allowed);
	mem_fail_after(0);
	return true;
}

static void resume(struct world *w)
{
	simdisk_fail(w->sd, &(struct sim_fault){ 0 });
	mem_fail_after(0);
}

static void add_surely(struct world *w, u64 i, bool *failed)
{
	struct place at;
	struct fp fp;

	chunk(i, &fp, &at);
	while (failed_once(index_add(w->ix, &fp, &at, NULL))) {
		resume(w);
		*failed = true;
	}
}

static bool life(struct world *w)
{
	struct place got[8];
	bool failed = false;
	struct fp fps[8];
	u32 i;

	for (i = 0; i < 36000; i++) {
		add_surely(w, i, &failed);
		if (i % 4000 != 3999)
			continue;
		while (failed_once(world_flush(w))) {
			resume(w);
			failed = true;
		}
	}
	while (failed_once(world_merge(w, NULL, NULL))) {
		resume(w);
		failed = true;
	}
	index_close(w->ix);
	w->ix = NULL;
	while (failed_once(world_open(w))) {
		resume(w);
		failed = true;
	}
	for (i = 0; i < 20; i++) {
		memset(fps, 200 + (int)i, sizeof(fps));
		while (failed_once(index_lookup(w->ix, fps, 8, got, NULL))) {
			resume(w);
			failed = true;
		}
	}
	failed |= stats_of(w).bad_pages != 0;
	return failed;
}

static void check_life(struct world *w)
{
	resume(w);
	check_disk(w, 0, 36000, 499);
	load_all(w);
	check_memory(w, 0, 36000, stats_of(w).sample_shift);
}

static void test_every_io_fails(void **state)
{
	struct sim_fault fault = { .kinds = SIM_ALL & ~SIM_UNLINK,
				   .code = -AKIN_E_io };
	u32 nr_failed = 0;
	struct world w;
	bool failed;

	allowed = -AKIN_E_io;
	do {
		world_init(&w, 1 * MiB);
		fault.nth += 1 + fault.nth / 20;
		simdisk_fail(w.sd, &fault);
		failed = life(&w);
		nr_failed += failed;
		/* A run that could not be opened stays so until reopened. */
		resume(&w);
		world_reopen(&w);
		check_life(&w);
		world_release(&w);
	} while (failed);
	assert_true(nr_failed > 20);
}

static void test_every_allocation_fails(void **state)
{
	u32 n = 0, nr_failed = 0;
	struct world w;
	bool failed;

	allowed = -AKIN_E_nomem;
	do {
		world_init(&w, 1 * MiB);
		n += 1 + n / 20;
		mem_fail_after(n);
		failed = life(&w);
		nr_failed += failed;
		check_life(&w);
		world_release(&w);
	} while (failed || n < 300);
	assert_true(nr_failed > 20);
}

static void test_no_space_loses_nothing(void **state)
{
	struct index_changes ch;
	struct world w;
	u64 i;
	int err;

	world_init(&w, 1 * MiB);
	simdisk_set_capacity(w.sd, simdisk_used(w.sd) + 300 * KiB);
	for (i = 0, err = 0; !err; i++)
		err = add_chunks(&w, i, i + 1);
	assert_int_equal(err, -AKIN_E_nospace);
	assert_int_equal(index_flush(w.ix, &ch, NULL), -AKIN_E_nospace);
	index_changes_release(&ch);
	check_disk(&w, 0, i - 1, 97);
	simdisk_set_capacity(w.sd, 0);
	assert_int_equal(world_flush(&w), 0);
	assert_int_equal(manifest_entries(&w), i - 1);
	check_disk(&w, 0, i - 1, 97);
	world_release(&w);
}

/* ---- crashes ---- */

/* What was flushed and committed is there after a power cut; nothing else is
 * believed. */
static void test_power_cut(void **state)
{
	struct simdisk *after;
	struct world w, v;
	u32 mode;

	world_init(&w, 1 * MiB);
	assert_int_equal(disk_sync_dir(w.d, ".", NULL), 0);
	assert_int_equal(add_chunks(&w, 0, 12000), 0);
	assert_int_equal(world_flush(&w), 0);
	assert_int_equal(add_chunks(&w, 12000, 24000), 0);
	for (mode = 0; mode < SIM_NR_MODES; mode++) {
		after = simdisk_reboot(w.sd, mode + 1, mode);
		v = w;
		v.sd = after;
		v.d = simdisk_attach(after, true);
		assert_int_equal(world_open(&v), 0);
		check_disk(&v, 0, 12000, 37);
		load_all(&v);
		assert_int_equal(check_memory(&v, 0, 12000, 0), 12000);
		assert_int_equal(check_memory(&v, 12000, 24000, RUN_LEVELS),
				 0);
		index_close(v.ix);
		disk_free(v.d);
		simdisk_free(after);
	}
	world_release(&w);
}

/* ---- memory ---- */

static int skip_none(void *ctx, u64 container)
{
	static u32 calls;

	if (++calls % 4096 == 0)
		world_sample(ctx);
	return 0;
}

static void test_memory_stays_in_the_budget(void **state)
{
	char path[] = "/tmp/akin-index-XXXXXX", cmd[64];
	struct world w = { .budget = 2 * MiB, .next_number = 1 };
	u64 i;

	assert_non_null(mkdtemp(path));
	assert_int_equal(disk_files_new(path, true, &w.d, NULL), 0);
	assert_int_equal(disk_mkdir(w.d, DIR_RUNS, NULL), 0);
	w.runs = calloc(1000, sizeof(*w.runs));
	w.heap_base = w.heap_peak = heap_bytes();
	assert_int_equal(world_open(&w), 0);
	for (i = 0; i < 400000; i += 2000) {
		assert_int_equal(add_chunks(&w, i, i + 2000), 0);
		world_sample(&w);
		if (i % 50000)
			continue;
		assert_int_equal(world_flush(&w), 0);
		assert_int_equal(world_merge(&w, skip_none, &w), 0);
	}
	assert_int_equal(world_flush(&w), 0);
	world_reopen(&w);
	load_all(&w);
	assert_int_equal(add_chunks(&w, 400000, 410000), 0);
	world_sample(&w);
	check_memory(&w, 0, 400000, stats_of(&w).sample_shift);
	assert_true(w.heap_peak - w.heap_base < 2 * MiB + 256 * KiB);
	index_close(w.ix);
	disk_free(w.d);
	free(w.runs);
	snprintf(cmd, sizeof(cmd), "rm -r %s", path);
	assert_int_equal(system(cmd), 0);
}

/* ---- threads ---- */

#define THREADS 8
#define PER_THREAD 30000

struct worker {
	struct world *w;
	pthread_t thread;
	u64 from;
	u64 bad;
};

/* Adds its own chunks and looks for them and for others'. */
static void *work(void *arg)
{
	struct worker *me = arg;
	struct place got[50], want[50];
	struct rng r = { me->from };
	struct fp fps[50];
	u64 i, k;
	u32 n;

	for (i = 0; i < PER_THREAD; i++) {
		chunk(me->from + i, &fps[0], &want[0]);
		me->bad += index_add(me->w->ix, &fps[0], &want[0], NULL) != 0;
		if (i % 50 != 49)
			continue;
		for (n = 0; n < 50; n++) {
			k = n & 1 ? me->from + i - n
				  : rng_below(&r, THREADS * PER_THREAD);
			chunk(k, &fps[n], &want[n]);
		}
		me->bad += index_lookup(me->w->ix, fps, 50, got, NULL) != 0;
		for (n = 0; n < 50; n++)
			me->bad += got[n].container &&
				!same_place(&got[n], &want[n]);
		me->bad += i % 1000 == 999 &&
			(index_lookup_disk(me->w->ix, &fps[1], got, 4, &n,
					   NULL) ||
			 n != 1 || !same_place(&got[0], &want[1]));
	}
	return NULL;
}

static void *maintain(void *arg)
{
	struct worker *me = arg;
	u32 i;

	for (i = 0; i < 20; i++) {
		me->bad += world_flush(me->w) != 0;
		me->bad += world_merge(me->w, NULL, NULL) != 0;
		usleep(5000);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct worker crew[THREADS + 1];
	struct world w;
	u32 i;

	world_init(&w, 2 * MiB);
	assert_int_equal(add_chunks(&w, 1000000, 1040000), 0);
	assert_int_equal(world_flush(&w), 0);
	world_reopen(&w);	/* so that they load, too */
	for (i = 0; i <= THREADS; i++) {
		crew[i] = (struct worker){ .w = &w, .from = i * PER_THREAD };
		assert_int_equal(pthread_create(&crew[i].thread, NULL,
						i < THREADS ? work : maintain,
						&crew[i]), 0);
	}
	for (i = 0; i <= THREADS; i++) {
		assert_int_equal(pthread_join(crew[i].thread, NULL), 0);
		assert_true(crew[i].bad == 0);
	}
	assert_int_equal(world_flush(&w), 0);
	assert_int_equal(world_merge(&w, NULL, NULL), 0);
	assert_int_equal(manifest_entries(&w), THREADS * PER_THREAD + 40000);
	check_disk(&w, 0, THREADS * PER_THREAD, 501);
	check_memory(&w, 0, THREADS * PER_THREAD, stats_of(&w).sample_shift);
	world_release(&w);
}

/* ---- soak ---- */

/* The shadow: for each chunk its newest container, 0 if it was never added
 * (or forgotten by a crash), and whether that is committed. */
#define SOAK_CHUNKS 120000

struct shadow {
	u32 container;		/* all added at entry number % 1000 */
	u32 committed;
};

static void soak_add(struct world *w, struct shadow *s, struct rng *r,
		     u32 *container)
{
	u64 n = 1 + rng_below(r, 6000), k;
	struct place at;
	struct fp fp;

	*container += 1 + (u32)rng_below(r, 3);
	while (n--) {
		k = rng_below(r, SOAK_CHUNKS);
		chunk(k, &fp, &at);
		at.container = *container;
		assert_int_equal(index_add(w->ix, &fp, &at, NULL), 0);
		s[k].container = *container;
	}
}

static void soak_look(struct world *w, const struct shadow *s, struct rng *r)
{
	unsigned shift = stats_of(w).sample_shift;
	struct place at, got, places[64];
	struct fp fp;
	u32 i, nr, n;
	u64 k;

	for (i = 0; i < 300; i++) {
		k = rng_below(r, SOAK_CHUNKS);
		chunk(k, &fp, &at);
		assert_int_equal(index_lookup(w->ix, &fp, 1, &got, NULL), 0);
		if (s[k].container && run_level_of(&fp) >= shift)
			assert_int_equal(got.container, s[k].container);
		if (!s[k].container)
			assert_int_equal(got.container, 0);
		if (i % 10)
			continue;
		assert_int_equal(index_lookup_disk(w->ix, &fp, places, 64, &nr,
						   NULL), 0);
		assert_true((nr > 0) == (s[k].container > 0));
		for (n = 0; n < nr; n++)
			if (places[n].container == s[k].container)
				break;
		assert_true(!nr || n < nr);
	}
}

static void test_soak(void **state)
{
	struct shadow *s = calloc(SOAK_CHUNKS, sizeof(*s));
	u32 container = 0, step, k, flushes = 0, crashes = 0;
	struct rng r = { 4711 };
	struct world w;

	world_init(&w, 1 * MiB);
	for (step = 0; step < 1500; step++) {
		switch (rng_below(&r, 10)) {
		case 0:
		case 1:
		case 2:
			soak_add(&w, s, &r, &container);
			break;
		case 3:
			assert_int_equal(world_flush(&w), 0);
			for (k = 0; k < SOAK_CHUNKS; k++)
				s[k].committed = s[k].container;
			flushes++;
			break;
		case 4:
			assert_int_equal(world_merge(&w, NULL, NULL), 0);
			break;
		case 5:
			if (rng_below(&r, 4))
				break;
			world_reopen(&w);	/* as after a crash */
			for (k = 0; k < SOAK_CHUNKS; k++)
				s[k].container = s[k].committed;
			crashes++;
			break;
		default:
			soak_look(&w, s, &r);
		}
	}
	assert_true(flushes > 50 && crashes > 10);
	assert_true(stats_of(&w).bad_pages == 0);
	world_release(&w);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_while_it_fits),
		cmocka_unit_test(test_small_uses_little),
		cmocka_unit_test(test_samples_when_full),
		cmocka_unit_test(test_loads_in_slices),
		cmocka_unit_test(test_merges_through_tiers),
		cmocka_unit_test(test_tiny_flushes_stay_few),
		cmocka_unit_test(test_merge_drops),
		cmocka_unit_test(test_newest_place_wins),
		cmocka_unit_test(test_crowded_pages),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_damaged_run_is_kept),
		cmocka_unit_test(test_missing_and_foreign_runs),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_every_io_fails),
		cmocka_unit_test(test_every_allocation_fails),
		cmocka_unit_test(test_no_space_loses_nothing),
		cmocka_unit_test(test_power_cut),
		cmocka_unit_test(test_memory_stays_in_the_budget),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_soak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
