/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every single failure on the way of a rewrite, a verification and a check: the
 * Nth I/O on either disk, the Nth allocation. Each is a clean error; nothing is
 * called different or lost that is not; and the same call succeeds once the
 * failure is over.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dropfix.h"


typedef int run_fn(struct dropfix *x, struct simpool *sp, struct akin_diag *d);

static int run_check(struct dropfix *x, struct simpool *sp,
		     struct akin_diag *d)
{
	struct akin_check_result r;

	return dropfix_check(sp, &r, d);
}

static void expect_clean(int err, const struct akin_diag *d, const char *where)
{
	if (err && (d->code != err || !d->text[0]))
		fail_msg("%s: %d, but the message is of %d: '%s'", where,
			 err, d->code, d->text);
}

/* Once more, with nothing in the way. A check takes back what an error of the
 * disk has made it believe. */
static void expect_works(struct dropfix *x, struct simpool *sp, run_fn *run,
			 const char *where)
{
	struct akin_diag d;
	int err;

	if (run == dropfix_rewrite) {
		dropfix_finish(x, sp, where);
		return;
	}
	err = run(x, sp, &d);
	if (err && run == run_check)
		err = run(x, sp, &d);
	if (err)
		fail_msg("%s: again: %s", where, d.text);
	simpool_expect_sound(sp, where);
}

/* True if the fault struck. */
static bool fail_io(struct dropfix *x, run_fn *run, bool meta, u64 n,
		    const char *what)
{
	struct sim_fault f = { .kinds = SIM_ALL & ~SIM_LOCK, .nth = n,
			       .code = -AKIN_E_io };
	struct simpool sp = simpool_clone(&x->base);
	struct simdisk *sd = meta ? sp.meta : sp.data;
	struct akin_diag d;
	char where[80];
	bool struck;
	int err;

	snprintf(where, sizeof(where), "%s: %s I/O %llu", what,
		 meta ? "metadata" : "data", (unsigned long long)n);
	simdisk_fail(sd, &f);
	err = run(x, &sp, &d);
	struck = simdisk_nr_faults(sd) > 0;
	simdisk_fail(sd, &(struct sim_fault){ 0 });
	expect_clean(err, &d, where);
	if (err && !struck)
		fail_msg("%s: no fault, but: %s", where, d.text);
	expect_works(x, &sp, run, where);
	simpool_free(&sp);
	return struck;
}

static u64 fail_every_io(struct dropfix *x, run_fn *run, const char *what)
{
	u64 n, nr = 0;
	int disk;

	for (disk = 0; disk < 2; disk++)
		for (n = 1; fail_io(x, run, disk, n, what); n++, nr++)
			assert_true(n < 2000);
	return nr;
}

static u64 fail_every_allocation(struct dropfix *x, run_fn *run,
				 const char *what)
{
	struct simpool sp = simpool_clone(&x->base);
	u64 n, total = mem_nr_allocs(), step, nr = 0;
	struct akin_diag d;
	char where[80];
	int err;

	if (run(x, &sp, &d))
		fail_msg("%s", d.text);
	total = mem_nr_allocs() - total;
	simpool_free(&sp);
	step = getenv("AKIN_TEST_SLOW") ? 1 : 1 + total / 60;
	for (n = 1; n <= total; n += step, nr++) {
		snprintf(where, sizeof(where), "%s: allocation %llu", what,
			 (unsigned long long)n);
		sp = simpool_clone(&x->base);
		mem_fail_after(n);
		err = run(x, &sp, &d);
		mem_fail_after(0);
		expect_clean(err, &d, where);
		expect_works(x, &sp, run, where);
		simpool_free(&sp);
	}
	return nr;
}

static void fail_everywhere(struct dropfix *x, run_fn *run, const char *what)
{
	u64 ios, allocations;

	ios = fail_every_io(x, run, what);
	allocations = fail_every_allocation(x, run, what);
	assert_in_range(ios, 5, 4000);
	print_message("# %s: %llu operations and %llu allocations failed\n",
		      what, (unsigned long long)ios,
		      (unsigned long long)allocations);
}

static void test_rewrite(void **state)
{
	fail_everywhere(*state, dropfix_rewrite, "rewrite");
}

static void test_compare(void **state)
{
	fail_everywhere(*state, dropfix_compare, "verify");
}

static void test_check(void **state)
{
	fail_everywhere(*state, run_check, "check");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rewrite),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, dropfix_setup, dropfix_teardown);
}
