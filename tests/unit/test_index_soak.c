/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index when things go wrong, and for longer: failing I/O and memory,
 * power cuts, the budget, threads, and a random walk beside a shadow model
 * (F41).
 */
#include "testlib.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "index/index.h"
#include "indexworld.h"

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
