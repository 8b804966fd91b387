/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts during a backup: stopped at every write, sync and name operation,
 * the catalog's included, and rebooted with everything unsynced lost, kept,
 * and torn. Afterwards every earlier snapshot is whole, the interrupted one is
 * absent or whole, and the pool takes the next backup (F25).
 *
 * One lying disk stands for the machine; both directories share its power.
 */
#include <stdio.h>
#include <stdlib.h>

#include "crashpoints.h"
#include "simpool.h"
#include "testlib.h"

#define BYTES (300 * 1024)

struct setup {
	struct simpool base;	/* holds "first" */
	u8 *first, *second, *third;
};

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };

	s->first = malloc(BYTES);
	s->second = malloc(BYTES);
	s->third = malloc(BYTES);
	simpool_fill(1, s->first, BYTES);
	simpool_fill(2, s->second, BYTES);
	simpool_fill(3, s->third, BYTES);
	assert_int_equal(simpool_init(&s->base, &d), 0);
	assert_int_equal(simpool_put(&s->base, "first", s->first, BYTES, &d),
			 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;

	simpool_free(&s->base);
	free(s->first);
	free(s->second);
	free(s->third);
	free(s);
	return 0;
}

/* Returns whether it is there. */
static bool expect(struct simpool *sp, const char *name, const u8 *data,
		   bool may_be_absent, const char *where)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;
	int err;

	err = simpool_get(sp, name, data, BYTES, &found, &d);
	if (err || found == SIMPOOL_OTHER ||
	    (found == SIMPOOL_ABSENT && !may_be_absent))
		fail_msg("%s: '%s' is %s: %d %s", where, name,
			 found == SIMPOOL_ABSENT ? "absent" :
			 found == SIMPOOL_OTHER ? "another" : "whole", err,
			 d.text);
	return found == SIMPOOL_WHOLE;
}

/* What a reboot in @mode leaves of a pool whose second backup stopped;
 * returns whether that backup is there. */
static bool check_after(struct setup *s, struct simpool *stopped, u64 n,
			bool acknowledged, enum sim_mode mode)
{
	struct akin_diag d = { 0 };
	struct simpool sp;
	char what[128], where[192];
	bool there;

	simdisk_describe(stopped->meta, n, what, sizeof(what));
	snprintf(where, sizeof(where), "stopped at %llu (%s), mode %d",
		 (unsigned long long)n, what, mode);
	sp = simpool_reboot(stopped, n * 7 + mode, mode);
	expect(&sp, "first", s->first, false, where);
	there = expect(&sp, "second", s->second, !acknowledged, where);
	if (simpool_put(&sp, "third", s->third, BYTES, &d))
		fail_msg("%s: the next backup: %s", where, d.text);
	expect(&sp, "third", s->third, false, where);
	assert_int_equal(expect(&sp, "second", s->second, true, where), there);
	simpool_free(&sp);
	return there;
}

static void test_crash_at_every_operation(void **state)
{
	struct setup *s = *state;
	struct akin_diag d = { 0 };
	struct simpool sp;
	u64 total, nr_stopped = 0, nr_there = 0, nr_absent = 0;
	struct crash_points cp;
	int err, mode;

	sp = simpool_clone(&s->base);
	total = simdisk_nr_ops(sp.meta);
	assert_int_equal(simpool_put(&sp, "second", s->second, BYTES, &d), 0);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	assert_in_range(total, 20, 5000);
	crash_points_begin(&cp, "backup", total, 200, 40);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(&s->base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		memset(&d, 0, sizeof(d));
		err = simpool_put(&sp, "second", s->second, BYTES, &d);
		nr_stopped += err != 0;
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			if (!crash_points_mode(&cp, mode, SIM_NR_MODES))
				continue;
			if (check_after(s, &sp, cp.n, err == 0, mode))
				nr_there++;
			else
				nr_absent++;
		}
		simpool_free(&sp);
		/* From before the begin to behind the commit. */
		assert_true(cp.n <= total || !err);
	}
	assert_true(nr_stopped > 20 && nr_there > 4 && nr_absent > 40);
}

/* kill -9: what was written stays, locks and open files go. */
static void test_death_at_every_operation(void **state)
{
	struct setup *s = *state;
	struct akin_diag d = { 0 };
	struct simpool sp, after;
	struct crash_points cp;
	u64 total;

	sp = simpool_clone(&s->base);
	total = simdisk_nr_ops(sp.meta);
	assert_int_equal(simpool_put(&sp, "second", s->second, BYTES, &d), 0);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	crash_points_begin(&cp, "backup, killed and resumed", total, 100, 0);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(&s->base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		memset(&d, 0, sizeof(d));
		ignore_result(simpool_put(&sp, "second", s->second, BYTES,
					  &d));
		ignore_result(crash_points_mode(&cp, 0, 1));
		/* A clone is the page cache without the process. */
		after = simpool_clone(&sp);
		expect(&after, "first", s->first, false, "after kill -9");
		expect(&after, "second", s->second, true, "after kill -9");
		memset(&d, 0, sizeof(d));
		assert_int_equal(simpool_put(&after, "second", s->second,
					     BYTES, &d), 0);
		expect(&after, "second", s->second, false, "after kill -9");
		simpool_free(&after);
		simpool_free(&sp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crash_at_every_operation),
		cmocka_unit_test(test_death_at_every_operation),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
