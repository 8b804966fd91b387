/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts and kills while paths are dropped from a snapshot, and while a
 * check notes what it has read: stopped at every write, sync and rename, and
 * rebooted with everything unsynced lost, kept, and torn. There is always the
 * old snapshot or a new one, each whole, and the next attempt succeeds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dropfix.h"

typedef int run_fn(struct dropfix *x, struct simpool *sp, struct akin_diag *d);

static int run_check(struct dropfix *x, struct simpool *sp,
		     struct akin_diag *d)
{
	struct akin_check_result r;
	int err = dropfix_check(sp, &r, d);

	/* It reads what is there, whatever becomes of its notes. */
	assert_int_equal(r.findings, 0);
	return err;
}

static u64 count_ops(struct dropfix *x, run_fn *run)
{
	struct simpool sp = simpool_clone(&x->base);
	u64 before = simdisk_nr_ops(sp.meta), nr;
	struct akin_diag d;

	if (run(x, &sp, &d))
		fail_msg("%s", d.text);
	nr = simdisk_nr_ops(sp.meta) - before;
	simpool_free(&sp);
	return nr;
}

static void look_after(struct dropfix *x, struct simpool *after, int err,
		       const char *where)
{
	struct dropfix_view v;

	if (!err) {
		/* What was acknowledged has happened. */
		v = dropfix_look(x, after, where);
		assert_int_equal(v.nr_old, 0);
		assert_int_equal(v.nr_new, 1);
	}
	dropfix_finish(x, after, where);
}

/* One mode for each cut point, all of them if there is time. */
static u64 cut_at(struct dropfix *x, run_fn *run, u64 n)
{
	bool slow = getenv("AKIN_TEST_SLOW") != NULL;
	struct simpool sp = simpool_clone(&x->base), after;
	char what[128], where[192];
	struct akin_diag d;
	u64 nr = 0;
	int mode, err;

	simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + n);
	err = run(x, &sp, &d);
	simdisk_describe(sp.meta, simdisk_nr_ops(sp.meta), what, sizeof(what));
	for (mode = 0; mode <= SIM_NR_MODES; mode++) {
		if (!slow && mode != (int)(n % (SIM_NR_MODES + 1)))
			continue;
		snprintf(where, sizeof(where), "stopped at %llu (%s), mode %d",
			 (unsigned long long)n, what, mode);
		/* The last is a kill: a clone is the page cache alone. */
		after = mode == SIM_NR_MODES ? simpool_clone(&sp) :
			simpool_reboot(&sp, n * 7 + (u64)mode, mode);
		if (run == run_check)
			err = -1;
		look_after(x, &after, err, where);
		simpool_free(&after);
		nr++;
	}
	simpool_free(&sp);
	return nr;
}

static void cut_everywhere(struct dropfix *x, run_fn *run, const char *what)
{
	u64 n, total = count_ops(x, run), nr = 0;

	assert_in_range(total, 3, 2000);
	for (n = 1; n <= total + 1; n++)
		nr += cut_at(x, run, n);
	test_note("%s: stopped at %llu of %llu operations, %llu states", what,
		  (unsigned long long)total, (unsigned long long)total,
		  (unsigned long long)nr);
}

static void test_rewrite(void **state)
{
	cut_everywhere(*state, dropfix_rewrite, "rewrite");
}

static void test_check(void **state)
{
	cut_everywhere(*state, run_check, "check");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rewrite),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, dropfix_setup, dropfix_teardown);
}
