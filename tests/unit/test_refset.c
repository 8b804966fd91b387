/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is gathered for a group before any pool is asked: sets of places, their
 * ranks, and the gate that says whether references earn their keep.
 */
#include "testlib.h"

#include "base/mem.h"
#include "ingest/nearset.h"
#include "ingest/refgate.h"
#include "ingest/refset.h"

/* Sets ---------------------------------------------------------------------*/

static void add(struct refset *rs, u64 container, u32 entry, u32 nr)
{
	struct group_ref run = { container, entry, nr };

	assert_int_equal(refset_add(rs, &run), 0);
}

static void expect_runs(const struct refset *rs, const struct group_ref *want,
			u32 nr)
{
	u32 i;

	assert_int_equal(rs->nr, nr);
	for (i = 0; i < nr; i++) {
		assert_int_equal(rs->refs[i].container, want[i].container);
		assert_int_equal(rs->refs[i].entry, want[i].entry);
		assert_int_equal(rs->refs[i].nr, want[i].nr);
	}
}

static void test_set_merges(void **state)
{
	static const struct group_ref want[] = {
		{ 5, 10, 11 }, { 4, 12, 2 }, { 5, 2, 4 }, { 5, 8, 2 },
	};
	struct refset rs = { 0 };

	add(&rs, 5, 10, 4);
	add(&rs, 5, 12, 4);	/* overlaps its end */
	add(&rs, 5, 11, 2);	/* lies within */
	add(&rs, 4, 12, 2);	/* elsewhere */
	add(&rs, 5, 2, 4);
	add(&rs, 5, 16, 2);	/* lengthens the first */
	add(&rs, 5, 8, 13);	/* fills gaps around it */
	expect_runs(&rs, want, 4);
	assert_true(refset_has(&rs, 5, 20) && refset_has(&rs, 5, 5));
	assert_false(refset_has(&rs, 5, 21) || refset_has(&rs, 5, 6) ||
		     refset_has(&rs, 4, 11));
	refset_reset(&rs);
	assert_int_equal(rs.nr, 0);
	refset_release(&rs);
}

/* Whatever is thrown at it: no entry twice, within limits, nothing lost. */
static void test_set_random(void **state)
{
	static u8 model[4][CONTAINER_MAX_ENTRIES + 64];
	struct refset rs = { 0 };
	struct rng r = { 9 };
	struct group_ref run;
	u32 i, k, seen;

	for (i = 0; i < 200; i++) {
		run.container = rng_below(&r, 4);
		run.entry = (u32)rng_below(&r, 100);
		run.nr = (u32)rng_below(&r, 8);
		assert_int_equal(refset_add(&rs, &run), 0);
		if (run.container)
			memset(&model[run.container][run.entry], 1, run.nr);
	}
	seen = 0;
	for (i = 0; i < rs.nr; i++) {
		for (k = 0; k < rs.refs[i].nr; k++) {
			assert_int_equal(model[rs.refs[i].container]
					      [rs.refs[i].entry + k], 1);
			model[rs.refs[i].container][rs.refs[i].entry + k] = 2;
			seen++;
		}
	}
	assert_true(seen > 150);
	for (i = 0; i < 4; i++)
		assert_null(memchr(model[i], 1, sizeof(model[i])));
	refset_release(&rs);
}

static void test_set_limits(void **state)
{
	struct refset rs = { 0 };
	struct group_ref far = { 7, CONTAINER_MAX_ENTRIES - 2, UINT32_MAX };
	struct group_ref beyond = { 7, UINT32_MAX, 4 };
	u32 i;

	assert_int_equal(refset_add(&rs, &far), 0);
	assert_int_equal(rs.refs[0].nr, 2);
	assert_int_equal(refset_add(&rs, &beyond), 0);
	assert_int_equal(rs.nr, 1);
	for (i = 0; i < 2 * GROUP_MAX_REFS; i++)
		add(&rs, 8, 3 * i, 1);
	assert_int_equal(rs.nr, GROUP_MAX_REFS);
	add(&rs, 8, 1, 1);	/* continues one that is there */
	assert_true(refset_has(&rs, 8, 1));
	refset_release(&rs);
	mem_fail_after(1);
	assert_int_equal(refset_add(&rs, &far), -AKIN_E_nomem);
	mem_fail_after(0);
	refset_release(&rs);
}

static void test_near_ranks(void **state)
{
	static const struct near_place want[] = {
		{ 5, 10, 0 }, { 5, 11, 0 }, { 4, 3, 2 }, { 5, 12, 1 },
		{ 5, 13, 2 }, { 5, 20, 1 }, { 5, 21, 0 }, { 4, 8, 2 },
		{ 5, 22, 3 },
	};
	struct group_ref runs[4] = { { 5, 10, 2 }, { 4, 3, 1 } };
	struct nearset ns = { 0 }, taken;
	u32 i;

	assert_int_equal(nearset_add(&ns, runs, 2, 6), 0);
	runs[0] = (struct group_ref){ 5, 11, 3 };
	/* Not below, and none at all. */
	runs[1] = (struct group_ref){ 6, 0, 1 };
	assert_int_equal(nearset_add(&ns, runs, 2, 6), 0);
	runs[1].container = 0;
	assert_int_equal(nearset_add(&ns, runs + 1, 1, 6), 0);
	/* The best first in rank, but in the order of their container. */
	runs[0] = (struct group_ref){ 5, 21, 1 };
	runs[1] = (struct group_ref){ 5, 20, 1 };
	runs[2] = (struct group_ref){ 4, 8, 1 };
	runs[3] = (struct group_ref){ 5, 22, 1 };
	assert_int_equal(nearset_add(&ns, runs, 4, 6), 0);
	assert_int_equal(ns.nr, ARRAY_SIZE(want));
	for (i = 0; i < ns.nr; i++) {
		assert_int_equal(ns.places[i].container, want[i].container);
		assert_int_equal(ns.places[i].entry, want[i].entry);
		assert_int_equal(ns.places[i].rank, want[i].rank);
	}
	taken = nearset_take(&ns);
	assert_true(taken.nr == ARRAY_SIZE(want) && ns.nr == 0 && !ns.places);
	nearset_release(&taken);

	/* Limits: of a chunk, of a container, of a group, of memory. */
	runs[0] = (struct group_ref){ 5, CONTAINER_MAX_ENTRIES - 2, UINT32_MAX };
	assert_int_equal(nearset_add(&ns, runs, 1, 6), 0);
	assert_int_equal(ns.nr, 2);
	for (i = 0; i < 100; i++) {
		runs[0] = (struct group_ref){ 5, 100 * i, UINT32_MAX };
		assert_int_equal(nearset_add(&ns, runs, 1, 6), 0);
		assert_int_equal(ns.nr, min_u64(2 + 32 * (i + 1),
						NEARSET_MAX));
	}
	nearset_release(&ns);
	mem_fail_after(1);
	assert_int_equal(nearset_add(&ns, runs, 1, 6), -AKIN_E_nomem);
	mem_fail_after(0);
	nearset_release(&ns);
}

/* Gates --------------------------------------------------------------------*/

static void test_gate_gains(void **state)
{
	struct refgate *rg = refgate_new();
	int i, trials = 0;

	for (i = 0; i < 64; i++) {
		switch (refgate_plan(rg)) {
		case REF_TRIAL:
			trials++;
			assert_true(refgate_judge(rg, 1000, 300, 600));
			break;
		case REF_GO:
			assert_false(refgate_doubts(rg, 1000, 300));
			assert_true(refgate_judge(rg, 1000, 300, 0));
			break;
		default:
			fail();
		}
	}
	assert_int_equal(trials, 4);
	assert_int_equal(refgate_plain_estimate(rg, 5000), 3000);
	/* A group that does not resemble anything is known by its size. */
	assert_true(refgate_doubts(rg, 1000, 541));
	assert_false(refgate_judge(rg, 1000, 541, 600));
	assert_true(refgate_judge(rg, 1000, 540, 600));
	refgate_set_min_gain(rg, 33);
	assert_true(refgate_doubts(rg, 1000, 403));
	assert_false(refgate_judge(rg, 1000, 403, 600));
	assert_true(refgate_judge(rg, 1000, 402, 600));
	refgate_drop(rg);
}

/* Groups until the next trial. */
static int rest_of(struct refgate *rg)
{
	int n = 0;

	while (refgate_plan(rg) == REF_REST)
		n++;
	return n;
}

static void test_gate_rests(void **state)
{
	static const int want[] = { 4, 8, 16, 32, 32 };
	struct refgate *rg = refgate_new(), *shared = refgate_share(rg);
	size_t i;

	for (i = 0; i < 8; i++) {
		assert_int_not_equal(refgate_plan(rg), REF_REST);
		assert_false(refgate_rests(rg));
		assert_false(refgate_judge(rg, 1000, 700, 700));
	}
	assert_true(refgate_rests(rg));
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(rest_of(rg), want[i]);
		/* rest_of() has taken the plan of a trial. */
		refgate_lost(rg);
	}
	assert_int_equal(rest_of(rg), 32);
	/* A rest also ends where nobody finds neighbours meanwhile. */
	refgate_lost(rg);
	for (i = 0; i < 32; i++) {
		assert_true(refgate_rests(rg));
		refgate_pass(rg);
	}
	assert_false(refgate_rests(rg));
	assert_int_equal(refgate_plan(rg), REF_TRIAL);
	/* A gain ends it at once. */
	assert_true(refgate_judge(rg, 1000, 100, 700));
	assert_int_not_equal(refgate_plan(rg), REF_REST);
	refgate_drop(rg);
	assert_int_not_equal(refgate_plan(shared), REF_REST);
	refgate_drop(shared);
	refgate_drop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_merges),
		cmocka_unit_test(test_set_random),
		cmocka_unit_test(test_set_limits),
		cmocka_unit_test(test_near_ranks),
		cmocka_unit_test(test_gate_gains),
		cmocka_unit_test(test_gate_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
