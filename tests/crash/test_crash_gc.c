/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts and kills during a reclaim: stopped at every write, sync, rename
 * and unlink, the catalog's included, and rebooted with everything unsynced
 * lost, kept, and torn. Afterwards all that is listed is whole, a check finds
 * nothing, and another reclaim comes to the same usage as one that was never
 * stopped (F31).
 */
#include <stdio.h>
#include <stdlib.h>

#include "catalog/catalog_retention.h"
#include "crashpoints.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define BYTES ((size_t)384 * 1024)
#define VERSIONS 4		/* of which the last two stay */

struct setup {
	struct simpool base;
	u8 *data[VERSIONS];
	char name[VERSIONS][8];
	u64 usage;		/* after a whole reclaim */
	u64 usage_max;		/* after one that was stopped, and another */
};

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

/* Half is everybody's, an eighth the neighbour's too, the rest its own: some
 * containers die, some are copied. */
static void make_version(u8 *out, int i)
{
	size_t len = BYTES / 8;
	struct rng r;
	int k;

	for (k = 0; k < 8; k++) {
		r.s = (u64)k + 1;
		if (k % 2)
			r.s += 100 * (u64)(i + 1);
		else if (k == 6)
			r.s += 100 * (u64)(i / 2 + 1);
		rng_fill(&r, out + (size_t)k * len, len);
	}
}

/* Differences to versions that go: what lives leaves its bases. */
static void make_difference(u8 *out, int i)
{
	struct rng r = { 1 };
	size_t at;
	int v;

	rng_fill(&r, out, BYTES);
	for (v = 1; v <= i; v++) {
		r.s = (u64)v;
		for (at = 0; at + 40 <= BYTES; at += 400 + rng_below(&r, 800)) {
			if (at % 8192 >= 2048)
				rng_fill(&r, out + at, 40);
		}
	}
}

static int find_one(void *ctx, const struct akin_snapshot *s)
{
	u64 *numbers = ctx;

	numbers[s->paths[0][1] - '0'] = s->number;
	return 0;
}

static void forget_old(struct simpool *sp)
{
	struct catalog_forget rows[VERSIONS - 2] = { 0 };
	u64 numbers[VERSIONS] = { 0 };
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	int i;

	must(simpool_open(sp, false, &p, &d), &d);
	must(akin_snapshot_each(p, NULL, find_one, numbers, &d), &d);
	for (i = 0; i < VERSIONS - 2; i++)
		rows[i].number = numbers[i];
	must(catalog_forget(p->catalog, rows, VERSIONS - 2, UINT64_MAX, true,
			    NULL, &d), &d);
	akin_pool_close(p);
}

static int gc(struct simpool *sp, struct akin_diag *d)
{
	struct akin_gc_options opt = { .threshold = 5 };
	struct akin_gc_result r;
	struct akin_pool *p;
	int err;

	memset(d, 0, sizeof(*d));
	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_gc(p, &opt, &r, d);
	akin_pool_close(p);
	return err;
}

/* Bytes of containers and number of records. */
static u64 usage(struct simpool *sp)
{
	struct sim_name *names;
	size_t nr, i;
	u64 sum = 0;

	names = simdisk_names(sp->data, &nr);
	for (i = 0; i < nr; i++)
		if (!names[i].is_dir && strcmp(names[i].path, "superblock"))
			sum += names[i].size_bytes;
	simdisk_names_free(names, nr);
	return sum;
}

static int setup_of(void **state, void (*make)(u8 *out, int i))
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };
	struct simpool sp;
	int i;

	must(simpool_init(&s->base, &d), &d);
	for (i = 0; i < VERSIONS; i++) {
		s->data[i] = malloc(BYTES);
		make(s->data[i], i);
		snprintf(s->name[i], sizeof(s->name[i]), "v%d", i);
		must(simpool_put(&s->base, s->name[i], s->data[i], BYTES, &d),
		     &d);
	}
	forget_old(&s->base);
	sp = simpool_clone(&s->base);
	must(gc(&sp, &d), &d);
	s->usage = s->usage_max = usage(&sp);
	assert_true(s->usage < usage(&s->base));
	simpool_free(&sp);
	*state = s;
	return 0;
}

static int setup(void **state)
{
	struct setup *s;

	setup_of(state, make_version);
	s = *state;
	assert_true(s->usage < usage(&s->base) * 9 / 10);
	return 0;
}

/* Which groups come first is not the same when one goes on. */
static int setup_differences(void **state)
{
	struct setup *s;

	setup_of(state, make_difference);
	s = *state;
	s->usage = s->usage_max * 9 / 10;
	s->usage_max = s->usage_max * 5 / 4;
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

	for (i = VERSIONS - 2; i < VERSIONS; i++) {
		err = simpool_get(sp, s->name[i], s->data[i], BYTES, &found,
				  &d);
		if (err || found != SIMPOOL_WHOLE)
			fail_msg("%s: '%s': %d %s", where, s->name[i], err,
				 d.text);
	}
	simpool_expect_sound(sp, where);
}

static void check_after(struct setup *s, struct simpool *sp, const char *where)
{
	struct akin_diag d;

	expect_all(s, sp, where);
	if (gc(sp, &d))
		fail_msg("%s: the next reclaim: %s", where, d.text);
	if (usage(sp) < s->usage || usage(sp) > s->usage_max)
		fail_msg("%s: %llu bytes are left and not %llu", where,
			 (unsigned long long)usage(sp),
			 (unsigned long long)s->usage);
	expect_all(s, sp, where);
}

static void test_crash_at_every_operation(void **state)
{
	struct setup *s = *state;
	struct simpool sp, after;
	char what[128], where[192];
	struct crash_points cp;
	struct akin_diag d;
	int mode, err;
	u64 total;

	sp = simpool_clone(&s->base);
	total = simdisk_nr_ops(sp.meta);
	must(gc(&sp, &d), &d);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	assert_in_range(total, 50, 5000);
	crash_points_begin(&cp, "gc", total, 50, 0);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(&s->base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		err = gc(&sp, &d);
		/* The end of the session is not worth an error. */
		assert_true(cp.n <= total || !err);
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
	struct simpool sp, after;
	struct akin_diag d;
	struct crash_points cp;
	char where[64];
	u64 total;

	sp = simpool_clone(&s->base);
	total = simdisk_nr_ops(sp.meta);
	must(gc(&sp, &d), &d);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	crash_points_begin(&cp, "gc, killed", total, 50, 0);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(&s->base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		ignore_result(gc(&sp, &d));
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
		{ "test_crash_leaving_at_every_operation",
		  test_crash_at_every_operation, setup_differences, teardown,
		  NULL },
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
