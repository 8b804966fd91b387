/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact counts of known duplicates, and samples against exact counts.
 */
#include "base/mem.h"
#include "estimate.h"
#include "testlib.h"

#define RUNS 50
#define MEMORY (64 * MiB)

static void test_set_exact(void **state)
{
	struct estimate_set s;
	struct rng r = { 1 };
	u64 i, fp[64];

	assert_int_equal(estimate_set_init(&s, 64 << 10), 0);
	for (i = 0; i < 64; i++) {
		fp[i] = rng_next(&r);
		assert_true(estimate_set_add(&s, fp[i], 10 + i));
	}
	for (i = 0; i < 64; i++)
		assert_false(estimate_set_add(&s, fp[i], 10 + i));
	assert_true(estimate_set_add(&s, 0, 5));
	assert_false(estimate_set_add(&s, 0, 5));
	assert_int_equal(estimate_set_count(&s).value, 65);
	assert_int_equal(estimate_set_count(&s).error, 0);
	assert_int_equal(estimate_set_bytes(&s).value, 640 + 63 * 32 + 5);
	estimate_set_release(&s);
}

static bool within(struct estimate_sum s, u64 truth)
{
	u64 off = s.value > truth ? s.value - truth : truth - s.value;

	return off <= s.error;
}

/* 99 of 100 intervals hold, so 3 of 50 that do not are rare; and they are
 * narrow enough to say something. */
static void test_set_sampled(void **state)
{
	u64 seed, i, fp, bytes, nr, bad_count = 0, bad_bytes = 0;
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
			assert_false(estimate_set_add(&s, fp, 1));
		}
		assert_true(s.level > 0 && s.nr * 4 < s.cap * 3);
		bad_count += !within(estimate_set_count(&s), nr);
		bad_bytes += !within(estimate_set_bytes(&s), bytes);
		assert_true(estimate_set_count(&s).error < nr / 10);
		assert_true(estimate_set_bytes(&s).error < bytes / 8);
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

static void feed_file(struct estimate *e, const u8 *p, size_t n, size_t part)
{
	size_t off;

	for (off = 0; off < n; off += part)
		assert_int_equal(estimate_feed(e, p + off,
					       min_u64(part, n - off), NULL),
				 0);
	assert_int_equal(estimate_end(e, NULL), 0);
}

/* A file of noise twice, in other pieces, and one of zeros. */
static void test_known(void **state)
{
	size_t n = 2 << 20;
	struct estimate_result r;
	struct estimate *e;
	struct rng rng = { 9 };
	u8 *p = mem_alloc(n);
	unsigned i;

	assert_non_null(p);
	assert_int_equal(estimate_new(MEMORY, &e, NULL), 0);
	rng_fill(&rng, p, n);
	feed_file(e, p, n, n);
	feed_file(e, p, n, 4097);
	memset(p, 0, n);
	feed_file(e, p, n, 100000);
	assert_int_equal(estimate_finish(e, NULL), 0);
	for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
		estimate_get(e, i, &r);
		assert_int_equal(r.bytes, 3 * n);
		assert_int_equal(r.level, 0);
		assert_int_equal(r.unique.error, 0);
		assert_true(r.factor[ESTIMATE_NONE] == 1);
		assert_true(r.unique.value > n && r.unique.value < 2 * n);
		if (!estimate_methods[i].fixed)
			continue;
		assert_int_equal(r.blocks, 3 * n / estimate_methods[i].block);
		assert_int_equal(r.distinct.value,
				 n / estimate_methods[i].block + 1);
		assert_int_equal(r.unique.value,
				 n + estimate_methods[i].block);
		assert_int_equal(estimate_zfs_bytes(&r),
				 320 * r.distinct.value);
		assert_int_equal(estimate_stored(&r, ESTIMATE_NONE),
				 r.unique.value);
	}
	estimate_free(e);
	mem_free(p);
}

/* Less than a group compresses, too. */
static void test_small(void **state)
{
	static const u8 text[6000];
	struct estimate_result r;
	struct estimate *e;

	assert_int_equal(estimate_new(MEMORY, &e, NULL), 0);
	feed_file(e, text, sizeof(text), sizeof(text));
	assert_int_equal(estimate_finish(e, NULL), 0);
	estimate_get(e, ESTIMATE_POOL, &r);
	assert_int_equal(r.blocks, 1);
	assert_int_equal(r.sample_bytes, sizeof(text));
	assert_true(r.factor[ESTIMATE_ZSTD] > 50);
	assert_true(r.factor[ESTIMATE_LZJB] > 5);
	estimate_free(e);
}

static void test_memory(void **state)
{
	struct estimate *e = NULL;
	int err = -AKIN_E_nomem;
	u64 i;

	for (i = 1; err; i++) {
		mem_fail_after(i);
		err = estimate_new(MEMORY, &e, NULL);
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
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
