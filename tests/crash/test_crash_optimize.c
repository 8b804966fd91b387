/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts and kills while a pool is optimized: stopped at every write, sync,
 * rename and unlink, the catalog's included, and rebooted with everything
 * unsynced lost, kept, and torn. Afterwards every version is whole, a check
 * finds nothing, a reclaim loses nothing of what the dead run has left, and
 * another run comes to where one that was never stopped would have come.
 */
#include <stdio.h>
#include <stdlib.h>

#include "crashpoints.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define BYTES ((size_t)96 * 1024)
/* Room for what is chosen by itself where there is room. */
#define MEMORY (64 * MiB)
#define VERSIONS 3
#define NAME "s"

struct setup {
	struct simpool base;
	u8 *data[VERSIONS];
	u64 number[VERSIONS];
	u64 usage;		/* after a whole run and a reclaim */
};

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

/* Each a little different from the one before, everywhere. */
static void make_version(u8 *out, int i)
{
	struct rng base = { 3 }, own;
	size_t at;
	int v;

	rng_fill(&base, out, BYTES);
	for (v = 0; v <= i; v++) {
		own.s = (u64)v + 50;
		for (at = 0; at + 64 <= BYTES; at += 900)
			rng_fill(&own, out + at + rng_below(&own, 40), 8);
	}
}

static int optimize(struct simpool *sp, struct akin_optimize_result *r,
		    struct akin_diag *d)
{
	struct akin_optimize_options opt = { .restore_cost = true };
	struct akin_pool *p;
	int err;

	memset(d, 0, sizeof(*d));
	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_optimize(p, &opt, r, d);
	akin_pool_close(p);
	return err;
}

static void gc(struct simpool *sp, const char *where)
{
	struct akin_gc_options opt = { 0 };
	struct akin_diag d = { 0 };
	struct akin_gc_result r;
	struct akin_pool *p;

	if (simpool_open(sp, false, &p, &d) || akin_gc(p, &opt, &r, &d))
		fail_msg("%s: the reclaim: %s", where, d.text);
	akin_pool_close(p);
}

static u64 usage(struct simpool *sp)
{
	struct sim_name *names;
	size_t nr, i;
	u64 sum = 0;

	names = simdisk_names(sp->data, &nr);
	for (i = 0; i < nr; i++)
		if (!names[i].is_dir &&
		    !strncmp(names[i].path, "containers/", 11))
			sum += names[i].size_bytes;
	simdisk_names_free(names, nr);
	return sum;
}

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_optimize_result r;
	struct akin_diag d = { 0 };
	struct simpool sp;
	int i;

	must(simpool_init(&s->base, &d), &d);
	s->base.memory = MEMORY;
	for (i = 0; i < VERSIONS; i++) {
		s->data[i] = malloc(BYTES);
		make_version(s->data[i], i);
		must(simpool_put(&s->base, NAME, s->data[i], BYTES, &d), &d);
		s->number[i] = s->base.result.number;
	}
	sp = simpool_clone(&s->base);
	must(optimize(&sp, &r, &d), &d);
	assert_int_equal(r.snapshots_moved, VERSIONS);
	gc(&sp, "never stopped");
	s->usage = usage(&sp);
	simpool_free(&sp);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;
	int i;

	simpool_free(&s->base);
	for (i = 0; i < VERSIONS; i++)
		free(s->data[i]);
	free(s);
	return 0;
}

static void expect_all(struct setup *s, struct simpool *sp, const char *where)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;
	int i, err;

	for (i = 0; i < VERSIONS; i++) {
		err = simpool_get_number(sp, s->number[i], NAME, s->data[i],
					 BYTES, &found, &d);
		if (err || found != SIMPOOL_WHOLE)
			fail_msg("%s: version %d: %d %s", where, i, err,
				 d.text);
	}
	simpool_expect_sound(sp, where);
}

static void check_after(struct setup *s, struct simpool *sp, const char *where)
{
	struct akin_optimize_result r;
	struct akin_diag d;
	u64 bytes;

	expect_all(s, sp, where);
	gc(sp, where);
	expect_all(s, sp, where);
	if (optimize(sp, &r, &d))
		fail_msg("%s: the next run: %s", where, d.text);
	/* Finished before it was stopped, or now. */
	if (r.after.depth != 0 || r.after.bytes_logical != BYTES)
		fail_msg("%s: the newest has depth %u", where, r.after.depth);
	gc(sp, where);
	/* Containers may have been closed earlier. */
	bytes = usage(sp);
	if (bytes < s->usage * 9 / 10 || bytes > s->usage * 5 / 4)
		fail_msg("%s: %llu bytes are left and not about %llu", where,
			 (unsigned long long)bytes,
			 (unsigned long long)s->usage);
	expect_all(s, sp, where);
}

static u64 count_ops(struct setup *s)
{
	struct akin_optimize_result r;
	struct akin_diag d;
	struct simpool sp;
	u64 total;

	sp = simpool_clone(&s->base);
	total = simdisk_nr_ops(sp.meta);
	must(optimize(&sp, &r, &d), &d);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	return total;
}

static void test_crash_at_every_operation(void **state)
{
	struct setup *s = *state;
	struct akin_optimize_result r;
	struct simpool sp, after;
	char what[128], where[192];
	u64 total = count_ops(s);
	struct crash_points cp;
	struct akin_diag d;
	int mode;

	assert_in_range(total, 50, 5000);
	crash_points_begin(&cp, "optimize", total, 12, 0);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(&s->base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		ignore_result(optimize(&sp, &r, &d));
		simdisk_describe(sp.meta, simdisk_nr_ops(sp.meta), what,
				 sizeof(what));
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			if (!crash_points_mode(&cp, mode, SIM_NR_MODES))
				continue;
			snprintf(where, sizeof(where), "stopped at %llu (%s), "
				 "mode %d", (unsigned long long)cp.n, what,
				 mode);
			after = simpool_reboot(&sp, cp.n * 7 + (u64)mode, mode);
			check_after(s, &after, where);
			simpool_free(&after);
		}
		simpool_free(&sp);
	}
}

/* kill -9: what was written stays, locks and open files go. */
static void test_death_at_every_operation(void **state)
{
	struct setup *s = *state;
	struct akin_optimize_result r;
	struct simpool sp, after;
	struct akin_diag d;
	struct crash_points cp;
	char where[64];

	crash_points_begin(&cp, "optimize, killed", count_ops(s), 12,
			   0);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(&s->base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		ignore_result(optimize(&sp, &r, &d));
		snprintf(where, sizeof(where), "killed at %llu",
			 (unsigned long long)cp.n);
		ignore_result(crash_points_mode(&cp, 0, 1));
		/* A clone is the page cache without the process. */
		after = simpool_clone(&sp);
		check_after(s, &after, where);
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
