/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact counts of known duplicates, and samples against exact counts: intervals
 * must hold, whatever the seed.
 *
 * AKIN_ESTIMATE_DATA=FILE:FILE... makes one test take its data from there: 32
 * MiB (AKIN_ESTIMATE_MIB) of all files together, in parts of equal size, each a
 * state; with 200 seeds (AKIN_ESTIMATE_RUNS).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "estimate.h"
#include "testlib.h"

#define RUNS 50
#define MEMORY (64 * MiB)

static struct estimate *new_estimate(const struct estimate_options *opt)
{
	struct estimate *e;

	assert_int_equal(estimate_new(opt, &e, NULL), 0);
	return e;
}

static void test_set_exact(void **state)
{
	struct estimate_set s;
	struct rng r = { 1 };
	u64 i, fp[64];

	assert_int_equal(estimate_set_init(&s, 64 << 10), 0);
	for (i = 0; i < 64; i++) {
		fp[i] = rng_next(&r);
		assert_int_equal(estimate_set_add(&s, fp[i], 10 + i),
				 ESTIMATE_NEW);
	}
	for (i = 0; i < 64; i++)
		assert_int_equal(estimate_set_add(&s, fp[i], 10 + i),
				 ESTIMATE_KNOWN);
	assert_int_equal(estimate_set_add(&s, 0, 5), ESTIMATE_NEW);
	assert_int_equal(estimate_set_add(&s, 0, 5), ESTIMATE_KNOWN);
	assert_int_equal(estimate_set_count(&s).value, 65);
	assert_int_equal(estimate_set_count(&s).low, 65);
	assert_int_equal(estimate_set_count(&s).high, 65);
	assert_int_equal(estimate_set_bytes(&s).value, 640 + 63 * 32 + 5);
	estimate_set_release(&s);
}

static bool within(const struct estimate_sum *s, u64 truth)
{
	return s->low <= truth && truth <= s->high;
}

static u64 width(const struct estimate_sum *s)
{
	return s->high - s->low;
}

/* 99 of 100 intervals hold, so 3 of 50 that do not are rare; and they are
 * narrow enough to say something. */
static void test_set_sampled(void **state)
{
	u64 seed, i, fp, bytes, nr, bad_count = 0, bad_bytes = 0;
	struct estimate_sum count, sum;
	struct estimate_set s;
	struct rng r, again;
	u32 len;

	for (seed = 1; seed <= RUNS; seed++) {
		assert_int_equal(estimate_set_init(&s, 64 << 10), 0);
		nr = 20000 + seed * 1000;
		r = (struct rng){ seed * 7919 };
		again = r;
		for (i = bytes = 0; i < nr; i++) {
			fp = rng_next(&r);
			len = 2048 + (u32)(fp >> 20) % 30000;
			bytes += len;
			estimate_set_add(&s, fp, len);
		}
		for (i = 0; i < nr; i++) {
			fp = rng_next(&again);
			assert_int_not_equal(estimate_set_add(&s, fp, 1),
					     ESTIMATE_NEW);
		}
		assert_true(s.level > 0 && s.nr * 4 < s.cap * 3);
		count = estimate_set_count(&s);
		sum = estimate_set_bytes(&s);
		bad_count += !within(&count, nr);
		bad_bytes += !within(&sum, bytes);
		assert_true(width(&count) < nr / 5);
		assert_true(width(&sum) < bytes / 4);
		estimate_set_release(&s);
	}
	assert_true(bad_count <= 2);
	assert_true(bad_bytes <= 2);
}

/* What is left after many removals is found, each where it must be. */
static void test_set_members(void **state)
{
	struct estimate_set s;
	struct rng r = { 3 };
	u64 i, nr = 0, sum = 0;

	assert_int_equal(estimate_set_init(&s, ESTIMATE_SET_MIN), 0);
	for (i = 0; i < 10000; i++)
		estimate_set_add(&s, rng_next(&r), 7);
	r.s = 3;
	for (i = 0; i < 10000; i++) {
		if ((rng_next(&r) & (((u64)1 << s.level) - 1)) == 0)
			nr++;
	}
	for (i = 0; i < s.cap; i++)
		sum += s.v[i].fp ? s.v[i].len : 0;
	assert_int_equal(s.nr, nr);
	assert_int_equal(s.sum, 7 * nr);
	assert_int_equal(sum, 7 * nr);
	estimate_set_release(&s);
}

/* Times are counted, by powers of two; with clusters, once for each. */
static void test_set_histogram(void **state)
{
	struct estimate_bucket b[ESTIMATE_BUCKETS];
	struct estimate_set s;
	u64 i, k;

	assert_int_equal(estimate_set_init(&s, 64 << 10), 0);
	for (i = 1; i <= 10; i++) {
		for (k = 0; k < i; k++)
			estimate_set_add(&s, i << 32, 100);
	}
	estimate_set_histogram(&s, b);
	assert_int_equal(b[0].blocks, 1);	/* 1 */
	assert_int_equal(b[1].blocks, 2);	/* 2, 3 */
	assert_int_equal(b[2].blocks, 4);	/* 4 to 7 */
	assert_int_equal(b[3].blocks, 3);	/* 8 to 10 */
	assert_int_equal(b[3].refs, 27);
	assert_int_equal(b[3].bytes, 300);
	assert_int_equal(b[3].ref_bytes, 2700);
	for (i = 1; i <= 3; i++) {
		s.cluster = (u32)i % 2 + 1;
		estimate_set_add(&s, (u64)99 << 32, 1);
		estimate_set_add(&s, (u64)99 << 32, 1);
	}
	for (i = 0; i < s.cap; i++) {
		if (s.v[i].fp == (u64)99 << 32)
			assert_int_equal(s.v[i].seen, 3u << 24 | 2);
	}
	estimate_set_release(&s);
}

/* No number is negative, wraps around, or is none. */
static void test_extremes(void **state)
{
	struct estimate_sum s;

	assert_int_equal(estimate_u64(-1), 0);
	assert_int_equal(estimate_u64(0.0 / 0.0), 0);
	assert_int_equal(estimate_u64(1e300), UINT64_MAX);
	assert_int_equal(estimate_u64(1.5), 2);
	s = estimate_scale(UINT64_MAX / 2, 1e300, 62);
	assert_int_equal(s.value, UINT64_MAX);
	assert_int_equal(s.high, UINT64_MAX);
	assert_int_equal(s.low, 0);
	s = estimate_within(10, 20);
	assert_int_equal(s.low, 0);
	assert_int_equal(s.high, 30);
}

static void feed_file(struct estimate *e, const char *key, const u8 *p,
		      size_t n, size_t part)
{
	u64 off = 0, len;

	assert_int_equal(estimate_begin(e, key, key, NULL), 0);
	while (estimate_wants(e, off, n, &off, &len)) {
		len = min_u64(len, part);
		assert_int_equal(estimate_feed(e, off, p + off, len, NULL), 0);
		off += len;
	}
	assert_int_equal(estimate_end(e, n, NULL), 0);
}

/* A file of noise twice, in other pieces, and one of zeros. */
static void test_known(void **state)
{
	struct estimate_options opt = { .memory = MEMORY };
	struct estimate *e = new_estimate(&opt);
	size_t n = 2 << 20;
	struct estimate_result r;
	struct estimate_needs needs;
	struct rng rng = { 9 };
	u8 *p = mem_alloc(n);
	unsigned i;

	assert_non_null(p);
	rng_fill(&rng, p, n);
	feed_file(e, "a", p, n, n);
	feed_file(e, "b", p, n, 4097);
	memset(p, 0, n);
	feed_file(e, "c", p, n, 100000);
	assert_int_equal(estimate_finish(e, NULL), 0);
	for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
		estimate_get(e, i, &r);
		assert_int_equal(r.bytes, 3 * n);
		assert_int_equal(r.level, 0);
		assert_int_equal(width(&r.unique), 0);
		assert_int_equal(width(&r.stored[ESTIMATE_ZSTD]), 0);
		assert_true(r.factor[ESTIMATE_NONE] == 1);
		assert_true(r.unique.value > n && r.unique.value < 2 * n);
		if (!estimate_methods[i].fixed)
			continue;
		assert_int_equal(r.blocks, 3 * n / estimate_methods[i].block);
		assert_int_equal(r.distinct.value,
				 n / estimate_methods[i].block + 1);
		assert_int_equal(r.unique.value,
				 n + estimate_methods[i].block);
		assert_int_equal(r.stored[ESTIMATE_NONE].value,
				 r.unique.value);
		estimate_get_needs(&r, i, &needs);
		assert_int_equal(needs.zfs_memory, 320 * r.distinct.value);
		assert_int_equal(needs.zfs_disk, 512 * r.distinct.value);
	}
	estimate_free(e);
	mem_free(p);
}

/* Less than a group compresses, too. */
static void test_small(void **state)
{
	struct estimate_options opt = { .memory = MEMORY };
	struct estimate *e = new_estimate(&opt);
	static const u8 text[6000];
	struct estimate_result r;

	feed_file(e, "a", text, sizeof(text), sizeof(text));
	assert_int_equal(estimate_finish(e, NULL), 0);
	estimate_get(e, ESTIMATE_POOL, &r);
	assert_int_equal(r.blocks, 1);
	assert_int_equal(r.sample_bytes, sizeof(text));
	assert_true(r.factor[ESTIMATE_ZSTD] > 50);
	assert_true(r.factor[ESTIMATE_LZJB] > 5);
	estimate_free(e);
}

/* As Red Hat's table has it, of 1 TB: 472 MB besides the index. */
static void test_needs(void **state)
{
	struct estimate_result r = { .bytes = 1000000000000 };
	struct estimate_needs n;

	r.stored[ESTIMATE_LZ4].value = 1000000000000;
	r.distinct.value = r.blocks = 1000000;
	r.unique.value = 8192000000;
	estimate_get_needs(&r, ESTIMATE_4K, &n);
	assert_int_equal(n.vdo_memory, 1000000000 + 480100000);
	assert_int_equal(n.vdo_disk, 17000000000 + 250000000 + 500000000 +
				     1250000000);
	assert_int_equal(n.akin_index, 20078432);
	assert_int_equal(n.akin_directories, 35000000);
	assert_int_equal(n.akin_recipes, 36000000);
	assert_int_equal(n.akin_memory, 22 * MiB + 102400000);
	assert_int_equal(n.akin_hooks, 22 * MiB + 400000);
	estimate_get_needs(&r, ESTIMATE_POOL, &n);
	assert_int_equal(n.vdo_memory, 0);
}

/* Who saves, who takes: the second of two equal files saves all. */
static void test_places(void **state)
{
	struct estimate_options opt = { .memory = MEMORY };
	struct estimate *e = new_estimate(&opt);
	const struct estimate_place *v;
	size_t n = 1 << 20;
	struct rng rng = { 5 };
	u8 *p = mem_alloc(n);
	char name[16];
	u32 nr, i;

	assert_non_null(p);
	rng_fill(&rng, p, n);
	assert_int_equal(estimate_enter(e, "top", NULL), 0);
	assert_int_equal(estimate_enter(e, "top/in", NULL), 0);
	feed_file(e, "top/in/a", p, n, n);
	assert_int_equal(estimate_leave(e, NULL), 0);
	feed_file(e, "top/b", p, n, n);
	for (i = 0; i < 50; i++) {
		rng_fill(&rng, p, 1000 + i);
		snprintf(name, sizeof(name), "top/%u", i);
		feed_file(e, name, p, 1000 + i, 7);
	}
	assert_int_equal(estimate_leave(e, NULL), 0);
	assert_int_equal(estimate_finish(e, NULL), 0);
	v = estimate_places(e, ESTIMATE_SAVES, false, &nr);
	assert_int_equal(nr, 1);
	assert_string_equal(v[0].path, "top/b");
	assert_int_equal(v[0].bytes, n);
	assert_int_equal(v[0].stored, 0);
	v = estimate_places(e, ESTIMATE_TAKES, false, &nr);
	assert_int_equal(nr, 20);
	assert_string_equal(v[0].path, "top/in/a");
	assert_string_equal(v[1].path, "top/49");
	assert_int_equal(v[1].stored, 1049);
	assert_string_equal(v[19].path, "top/31");
	/* One below makes nearly all of it. */
	v = estimate_places(e, ESTIMATE_TAKES, true, &nr);
	assert_int_equal(nr, 1);
	assert_string_equal(v[0].path, "top/in");
	v = estimate_places(e, ESTIMATE_SAVES, true, &nr);
	assert_int_equal(nr, 1);
	assert_string_equal(v[0].path, "top");
	estimate_free(e);
	mem_free(p);
}

/* A tenth of the data changes from state to state, two days apart. */
static void test_series(void **state)
{
	struct estimate_options opt = { .memory = 2 * MEMORY,
					.scratch_bytes = GiB };
	struct estimate *e = new_estimate(&opt);
	struct estimate_references refs;
	struct estimate_series s;
	struct estimate_result r;
	struct rng rng = { 5 };
	size_t n = 8 << 20;
	u8 *p = mem_alloc(n);
	u64 stored = 0;
	u32 i;

	assert_non_null(p);
	rng_fill(&rng, p, n);
	for (i = 0; i < 4; i++) {
		feed_file(e, "data", p, n, n);
		assert_int_equal(estimate_state_end(e, 1000 + i * 172800,
						    NULL), 0);
		rng_fill(&rng, p + i * n / 10, n / 10);
		stored += estimate_get_state(e, i)->stored;
	}
	assert_int_equal(estimate_finish(e, NULL), 0);
	assert_true(estimate_get_series(e, 0, &s));
	assert_int_equal(s.states, 4);
	assert_int_equal(s.bytes, n);
	assert_true(s.days == 2);
	/* 1 - (1 - 0.1)^(1/2), and a little at the edges. */
	assert_true(s.change_per_day > 0.0513 && s.change_per_day < 0.054);
	assert_true(s.growth_per_year == 0);
	assert_true(s.dedup >= 1 && s.dedup < 1.001);
	assert_true(s.compression > 0.97 && s.compression < 1);
	estimate_get_references(e, &refs);
	assert_true(refs.known);
	assert_int_equal(refs.fed, 4 * n);
	assert_int_equal(refs.stored.value, stored);
	assert_int_equal(width(&refs.stored), 0);
	estimate_get(e, ESTIMATE_POOL, &r);
	assert_true(refs.stored.value > r.unique.value);
	assert_true(refs.stored.value < r.unique.value * 1.02);
	assert_true(estimate_get_series(e, 1, &s) && s.days == 1);
	assert_true(s.change_per_day > 0.1 && s.change_per_day < 0.106);
	estimate_free(e);
	mem_free(p);
}

/* Text of which a part comes again: numbers of few digits. */
static u8 *make_data(size_t n, u64 seed)
{
	struct rng rng = { seed };
	u8 *p = mem_alloc(n);
	size_t i, k;

	assert_non_null(p);
	for (i = 0; i < n; i++)
		p[i] = "0123456789abcdef \n"[rng_next(&rng) % 18];
	for (i = 0; i + 60000 < n / 2; i += 50000) {
		k = n / 2 + rng_next(&rng) % (n / 2 - 60000);
		memcpy(p + k, p + i, 20000 + rng_next(&rng) % 40000);
	}
	return p;
}

/* What results are compared with: everything, once. */
struct truth {
	const u8 *p;
	size_t n, parts;	/* each a state */
	struct estimate_result r[ESTIMATE_NR_METHODS];
};

static struct estimate *measure(const struct truth *t,
				const struct estimate_options *opt)
{
	struct estimate *e = new_estimate(opt);
	size_t part = t->n / t->parts, i;

	for (i = 0; i < t->parts; i++) {
		feed_file(e, "data", t->p + i * part, part, part);
		assert_int_equal(estimate_state_end(e, 0, NULL), 0);
	}
	assert_int_equal(estimate_finish(e, NULL), 0);
	return e;
}

static void find_truth(struct truth *t)
{
	struct estimate_options opt = { .memory = 8 * MEMORY,
					.sample_bytes = GiB };
	struct estimate *e = measure(t, &opt);
	unsigned i;

	for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
		estimate_get(e, i, &t->r[i]);
		assert_int_equal(width(&t->r[i].unique), 0);
	}
	estimate_free(e);
}

/* How many of 100 intervals hold, of all figures together; *worst_ret: of the
 * worst one. */
static double count_held(const struct truth *t,
			 const struct estimate_options *given, u32 runs,
			 const char *what, double *worst_ret)
{
	enum { FIGURES = 2 + ESTIMATE_NR_CODECS };
	u32 held[ESTIMATE_NR_METHODS][FIGURES] = { 0 }, least = runs, i, k;
	u64 all = 0;
	double wide[ESTIMATE_NR_METHODS][FIGURES] = { 0 };
	struct estimate_options opt = *given;
	u32 figures = 0;
	const struct estimate_sum *s, *is;
	struct estimate_result r;
	struct estimate *e;

	for (opt.seed = 1; opt.seed <= runs; opt.seed++) {
		e = measure(t, &opt);
		for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
			estimate_get(e, i, &r);
			for (k = 0; k < FIGURES; k++) {
				s = k == 0 ? &r.distinct : k == 1 ? &r.unique :
				    &r.stored[k - 2];
				is = k == 0 ? &t->r[i].distinct : k == 1 ?
				     &t->r[i].unique : &t->r[i].stored[k - 2];
				held[i][k] += within(s, is->value);
				wide[i][k] += (double)width(s) /
					      (double)is->value / 2 / runs;
			}
		}
		estimate_free(e);
	}
	for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
		/* Pieces are made for larger data than this. */
		if (opt.region && estimate_methods[i].block * 4 > opt.region)
			continue;
		printf("# %s %s %u:", what, estimate_methods[i].name,
		       estimate_methods[i].block);
		for (k = 0; k < FIGURES; k++) {
			printf(" %u/%u (%.1f%%)", held[i][k], runs,
			       100 * wide[i][k]);
			least = held[i][k] < least ? held[i][k] : least;
			all += held[i][k];
			figures++;
		}
		printf("\n");
	}
	*worst_ret = 100.0 * least / runs;
	return 100.0 * (double)all / (runs * figures);
}

static u32 given(const char *name, u32 usual)
{
	const char *s = getenv(name);

	return s ? (u32)strtoul(s, NULL, 10) : usual;
}

/* Few runs say little about one figure, but enough about all. */
static void check_held(const struct truth *t,
		       const struct estimate_options *opt, u32 runs,
		       const char *what)
{
	double worst, all = count_held(t, opt, runs, what, &worst);

	printf("# %s: %.1f of 100 hold, of the worst figure %.1f\n", what, all,
	       worst);
	assert_true(all >= 95);
	assert_true(worst >= (runs >= 100 ? 95 : 70));
}

/* Tables and samples so small that neither is exact; then a share. */
static void check_intervals(struct truth *t, u32 runs, const char *what)
{
	struct estimate_options opt = { .memory = MEMORY, .nr_threads = 2 };

	find_truth(t);
	opt.set_bytes = 4 << 10;
	opt.sample_bytes = t->n / 10;
	check_held(t, &opt, runs, what);
	opt.set_bytes = 0;
	opt.total = t->n;
	opt.share = 0.25;
	opt.region = t->n / 96;
	opt.region -= opt.region % 65536;
	check_held(t, &opt, runs, "share");
}

static void test_intervals(void **state)
{
	struct truth t = { .n = 6 << 20, .parts = 1 };
	u8 *p;

	if (getenv("AKIN_ESTIMATE_DATA")) {
		printf("# skipped: other data is given\n");
		return;
	}
	p = make_data(t.n, 77);
	t.p = p;
	check_intervals(&t, given("AKIN_ESTIMATE_RUNS", 8), "made");
	mem_free(p);
}

/* Parts of all files, one behind the other. */
static u8 *read_parts(const char *names, size_t n, size_t *parts_ret)
{
	char *list = mem_strdup(names), *name, *save = NULL;
	size_t parts = 1, i, part;
	u8 *p = mem_alloc(n);
	FILE *f;

	assert_true(list && p);
	for (i = 0; names[i]; i++)
		parts += names[i] == ':';
	part = n / parts;
	i = 0;
	for (name = strtok_r(list, ":", &save); name;
	     name = strtok_r(NULL, ":", &save)) {
		f = fopen(name, "r");
		assert_non_null(f);
		assert_int_equal(fread(p + i++ * part, 1, part, f), part);
		fclose(f);
	}
	*parts_ret = parts;
	mem_free(list);
	return p;
}

static void test_given(void **state)
{
	const char *names = getenv("AKIN_ESTIMATE_DATA");
	struct truth t = { .n = (size_t)given("AKIN_ESTIMATE_MIB", 32) << 20 };
	u8 *p;

	if (!names) {
		printf("# skipped: no AKIN_ESTIMATE_DATA\n");
		return;
	}
	p = read_parts(names, t.n, &t.parts);
	t.p = p;
	check_intervals(&t, given("AKIN_ESTIMATE_RUNS", 200), "given");
	mem_free(p);
}

static void test_memory(void **state)
{
	struct estimate_options opt = { .memory = MEMORY, .nr_threads = 1 };
	struct estimate *e = NULL;
	int err = -AKIN_E_nomem;
	u64 i;

	for (i = 1; err; i++) {
		mem_fail_after(i);
		err = estimate_new(&opt, &e, NULL);
		mem_fail_after(0);
		assert_true(err == 0 || err == -AKIN_E_nomem);
	}
	assert_true(i > 20);
	estimate_free(e);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_exact),
		cmocka_unit_test(test_set_sampled),
		cmocka_unit_test(test_set_members),
		cmocka_unit_test(test_set_histogram),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
