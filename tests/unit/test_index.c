/* SPDX-License-Identifier: Apache-2.0 */
#include "testlib.h"

#include <stdlib.h>

#include "index/index.h"
#include "indexworld.h"
#include "synthrun.h"

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
	assert_int_equal(synthrun_write(&s, w.d, &indexworld_pool, 1, 3, w.runs, &diag),
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
	struct index_options opt = { .pool = indexworld_pool,
				     .budget_bytes = INDEX_MIN_BYTES - 1,
				     .reserve = NULL };
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
