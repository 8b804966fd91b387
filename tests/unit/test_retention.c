/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forgetting, undeleting, labels and protection through the public calls, on
 * lying disks: clocks that jump, disks that are full, callers that get in each
 * other's way, and every single failure of an operation or an allocation.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "record/record.h"
#include "simpool.h"
#include "store/store.h"

#define BYTES ((size_t)16 * 1024)
#define DAY ((s64)24 * 3600)
#define START 1700000000

struct env {
	struct simpool sp;
	struct akin_pool *p;
	struct akin_diag d;
	struct clock_reading now;
	u64 numbers[128];	/* listed, oldest first */
	u32 nr;
};

static void must(struct env *e, int err)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), e->d.text);
}

static void must_fail(struct env *e, int err, int want)
{
	if (err != want)
		fail_msg("%s instead of %s: %s", akin_error_name(err),
			 akin_error_name(want), e->d.text);
	assert_int_equal(e->d.code, want);
	assert_true(e->d.text[0] != 0);
	memset(&e->d, 0, sizeof(e->d));
}

/* Each has bytes of its own. */
static void put(struct env *e, const char *name, u64 seed)
{
	struct rng r = { seed };
	u8 data[BYTES];

	rng_fill(&r, data, BYTES);
	must(e, simpool_put(&e->sp, name, data, BYTES, &e->d));
}

static void reopen(struct env *e)
{
	akin_pool_close(e->p);
	e->p = NULL;
	must(e, simpool_open(&e->sp, false, &e->p, &e->d));
	e->p->clock = &e->now;
}

/* A pool with @nr snapshots of one series. */
static void begin(struct env *e, u32 nr)
{
	u32 i;

	memset(e, 0, sizeof(*e));
	e->now.wall_sec = START;
	e->now.boot_ns = 1000;
	e->now.boot[0] = 1;
	must(e, simpool_init(&e->sp, &e->d));
	for (i = 0; i < nr; i++)
		put(e, "s", i + 1);
	reopen(e);
}

static void end(struct env *e)
{
	akin_pool_close(e->p);
	simpool_free(&e->sp);
}

static int list_one(void *ctx, const struct akin_snapshot *s)
{
	struct env *e = ctx;

	assert_true(e->nr < ARRAY_SIZE(e->numbers));
	e->numbers[e->nr++] = s->number;
	return 0;
}

static u32 list(struct env *e, bool forgotten)
{
	struct akin_snapshot_filter f = { .forgotten = forgotten };

	e->nr = 0;
	must(e, akin_snapshot_each(e->p, &f, list_one, e, &e->d));
	return e->nr;
}

static int forget(struct env *e, const u64 *numbers, u32 nr,
		  struct akin_forget_result *r)
{
	struct akin_forget_options opt = { .snapshots = numbers,
					   .nr_snapshots = nr };
	struct akin_forget_result own;

	return akin_forget(e->p, &opt, r ? r : &own, &e->d);
}

static bool there(struct env *e, u64 number, bool buried)
{
	char name[FORMAT_NAME_MAX];
	struct disk_stat st;

	if (buried)
		format_buried_name(number, name);
	else
		format_snapshot_name(number, name);
	return !disk_stat(e->p->data, name, &st, NULL);
}

/* Tests -------------------------------------------------------------------*/

static void test_forget_and_undelete(void **state)
{
	struct akin_forget_result r;
	struct snapshot s;
	struct env e;
	u64 n[3];

	begin(&e, 3);
	assert_int_equal(list(&e, false), 3);
	memcpy(n, e.numbers, sizeof(n));
	must(&e, forget(&e, n, 2, &r));
	assert_true(r.forgotten == 2 && !r.kept && !r.skipped && !r.series);
	assert_int_equal(list(&e, false), 1);
	assert_int_equal(list(&e, true), 2);
	assert_true(there(&e, n[0], true) && !there(&e, n[0], false));
	must_fail(&e, catalog_snapshot(e.p->catalog, n[0], &s, &e.d),
		  -AKIN_E_snap_unknown);
	must_fail(&e, forget(&e, n, 1, NULL), -AKIN_E_snap_unknown);
	must_fail(&e, akin_snapshot_protect(e.p, n[0], false, 0, &e.d),
		  -AKIN_E_snap_unknown);
	must_fail(&e, akin_snapshot_undelete(e.p, n[2], &e.d),
		  -AKIN_E_snap_unknown);
	assert_true(there(&e, n[2], false) && !there(&e, n[2], true));
	must(&e, akin_snapshot_undelete(e.p, n[0], &e.d));
	assert_int_equal(list(&e, false), 2);
	assert_true(there(&e, n[0], false) && !there(&e, n[0], true));
	must(&e, catalog_snapshot(e.p->catalog, n[0], &s, &e.d));
	snapshot_release(&s);
	/* By name even the last one goes, and comes back. */
	must(&e, forget(&e, n, 1, &r));
	must(&e, forget(&e, n + 2, 1, &r));
	assert_int_equal(list(&e, false), 0);
	must(&e, catalog_check(e.p->catalog, &e.d));
	must(&e, akin_snapshot_undelete(e.p, n[1], &e.d));
	assert_int_equal(list(&e, false), 1);
	end(&e);
}

/* More than one transaction holds. */
static void test_forget_many(void **state)
{
	struct akin_policy policy = { .last = 1 };
	struct akin_forget_options opt = { .policy = &policy };
	struct akin_forget_result r;
	struct env e;
	u32 i;

	begin(&e, CATALOG_FORGET_MAX + 3);
	must(&e, akin_forget(e.p, &opt, &r, &e.d));
	assert_true(r.series == 1 && r.kept == 1);
	assert_int_equal(r.forgotten, CATALOG_FORGET_MAX + 2);
	assert_int_equal(list(&e, false), 1);
	assert_int_equal(list(&e, true), CATALOG_FORGET_MAX + 2);
	for (i = 0; i < e.nr; i++)
		assert_true(there(&e, e.numbers[i], true));
	end(&e);
}

static void test_undelete_until_reclaimed(void **state)
{
	struct akin_gc_options opt = { 0 };
	enum catalog_which which;
	struct akin_gc_result gr;
	struct env e;
	u64 n[2];

	begin(&e, 2);
	assert_int_equal(list(&e, false), 2);
	memcpy(n, e.numbers, sizeof(n));
	must(&e, akin_snapshot_protect(e.p, n[0], false, 0, &e.d));
	must(&e, akin_snapshot_unprotect(e.p, n[0], &e.d));
	must(&e, forget(&e, n, 1, NULL));
	must(&e, akin_gc(e.p, &opt, &gr, &e.d));
	reopen(&e);
	store_tidy_forgotten(e.p);
	/* Its rows and files are gone, and nothing else is. */
	must(&e, catalog_standing(e.p->catalog, n[0], &which, &e.d));
	assert_int_equal(which, CATALOG_UNKNOWN);
	assert_false(there(&e, n[0], true) || there(&e, n[0], false));
	must_fail(&e, akin_snapshot_undelete(e.p, n[0], &e.d),
		  -AKIN_E_snap_unknown);
	must(&e, catalog_standing(e.p->catalog, n[1], &which, &e.d));
	assert_int_equal(which, CATALOG_LISTED);
	assert_true(there(&e, n[1], false));
	must(&e, catalog_check(e.p->catalog, &e.d));
	end(&e);
}

/* Clocks ------------------------------------------------------------------*/

static bool may_forget(struct env *e, u64 number)
{
	int err;

	err = forget(e, &number, 1, NULL);
	if (err) {
		must_fail(e, err, -AKIN_E_snap_protected);
		return false;
	}
	must(e, akin_snapshot_undelete(e->p, number, &e->d));
	return true;
}

static void pass(struct env *e, s64 wall_sec, s64 boot_sec)
{
	e->now.wall_sec += wall_sec;
	e->now.boot_ns += (u64)boot_sec * 1000000000;
}

static void boot(struct env *e)
{
	e->now.boot[0]++;
	e->now.boot_ns = 1;
}

static void test_protect_until(void **state)
{
	struct env e;
	u64 n;

	begin(&e, 2);
	assert_int_equal(list(&e, false), 2);
	n = e.numbers[0];
	assert_true(may_forget(&e, n));
	must_fail(&e, akin_snapshot_protect(e.p, n, true, START, &e.d),
		  -AKIN_E_usage);
	must(&e, akin_snapshot_protect(e.p, n, true, START + 10 * DAY, &e.d));
	assert_false(may_forget(&e, n));
	/* Time passes as it should. */
	pass(&e, 10 * DAY - 1, 10 * DAY - 1);
	assert_false(may_forget(&e, n));
	pass(&e, 1, 1);
	assert_true(may_forget(&e, n));
	end(&e);
}

static void test_clock_jumps(void **state)
{
	struct env e;
	u64 n;
	u32 i;

	begin(&e, 2);
	assert_int_equal(list(&e, false), 2);
	n = e.numbers[0];
	must(&e, akin_snapshot_protect(e.p, n, true, START + 20 * DAY, &e.d));
	/* Forward by a year, and back, again and again: nothing. */
	for (i = 0; i < 5; i++) {
		pass(&e, 365 * DAY, 60);
		assert_false(may_forget(&e, n));
		pass(&e, -365 * DAY, 60);
		assert_false(may_forget(&e, n));
	}
	/* Across a boot at most a week, however far it jumped. */
	for (i = 0; i < 2; i++) {
		boot(&e);
		pass(&e, 365 * DAY, 0);
		assert_false(may_forget(&e, n));
	}
	/* Nor does the age alone do: the date must have come. */
	e.now.wall_sec = START + DAY;
	pass(&e, 0, 30 * DAY);
	assert_false(may_forget(&e, n));
	e.now.wall_sec = START + 20 * DAY;
	assert_true(may_forget(&e, n));
	end(&e);
}

/* A machine that is on once a month: late, and then by hand. */
static void test_clock_of_a_seldom_machine(void **state)
{
	struct catalog_now now;
	struct env e;
	u64 n;
	u32 i;

	begin(&e, 1);
	assert_int_equal(list(&e, false), 1);
	n = e.numbers[0];
	must(&e, akin_snapshot_protect(e.p, n, true, START + 10 * DAY, &e.d));
	must(&e, catalog_now(e.p->catalog, &e.now, &now, &e.d));
	assert_true(now.age_sec == 0 && now.wall_sec == START);
	for (i = 1; i <= 2; i++) {
		boot(&e);
		pass(&e, 30 * DAY, 0);
		must(&e, catalog_now(e.p->catalog, &e.now, &now, &e.d));
		assert_int_equal(now.age_sec, 7 * DAY * i);
		/* Reading alone moves nothing. */
		must(&e, catalog_now(e.p->catalog, &e.now, &now, &e.d));
		assert_int_equal(now.age_sec, 7 * DAY * i);
		assert_int_equal(may_forget(&e, n), i == 2);
	}
	must(&e, akin_snapshot_protect(e.p, n, false, 0, &e.d));
	assert_false(may_forget(&e, n));
	must(&e, akin_snapshot_unprotect(e.p, n, &e.d));
	assert_true(may_forget(&e, n));
	/* Where the kernel does not say which boot it is, a week at most. */
	memset(e.now.boot, 0, sizeof(e.now.boot));
	pass(&e, 100 * DAY, 100 * DAY);
	must(&e, catalog_now(e.p->catalog, &e.now, &now, &e.d));
	assert_in_range(now.age_sec, 21 * DAY, 21 * DAY + 10);
	end(&e);
}

static void test_protect_longer_only(void **state)
{
	struct akin_snapshot_filter f = { 0 };
	struct env e;
	u64 n;

	begin(&e, 1);
	assert_int_equal(list(&e, false), 1);
	n = e.numbers[0];
	must(&e, akin_snapshot_protect(e.p, n, true, START + 9 * DAY, &e.d));
	must_fail(&e, akin_snapshot_protect(e.p, n, true, START + 8 * DAY,
					    &e.d), -AKIN_E_usage);
	must(&e, akin_snapshot_protect(e.p, n, true, START + 10 * DAY, &e.d));
	must(&e, akin_snapshot_protect(e.p, n, false, 0, &e.d));
	must_fail(&e, akin_snapshot_protect(e.p, n, true, INT64_MAX, &e.d),
		  -AKIN_E_usage);
	must(&e, akin_snapshot_unprotect(e.p, n, &e.d));
	must(&e, akin_snapshot_unprotect(e.p, n, &e.d));
	must(&e, akin_snapshot_protect(e.p, n, true, INT64_MAX, &e.d));
	assert_false(may_forget(&e, n));
	f.host = "test";
	must(&e, akin_snapshot_find(e.p, "latest", &f, &n, &e.d));
	end(&e);
}

/* In each other's way -----------------------------------------------------*/

struct meddler {
	struct env *e;
	u64 tag, forget, stop;
	u32 nr;
};

static int meddle(void *ctx, u64 series, const struct akin_snapshot *s,
		  const char *const *reasons, u32 nr)
{
	const char *tag = "wanted";
	struct akin_tag_change ch = { .add = &tag, .nr_add = 1 };
	struct meddler *m = ctx;

	m->nr++;
	if (s->number == m->tag)
		must(m->e, akin_snapshot_tag(m->e->p, s->number, &ch,
					     &m->e->d));
	if (s->number == m->forget)
		must(m->e, forget(m->e, &s->number, 1, NULL));
	return s->number == m->stop ? 77 : 0;
}

static void test_changed_meanwhile(void **state)
{
	struct akin_policy policy = { .last = 1 };
	struct akin_forget_options opt = { .policy = &policy,
					   .judged = meddle };
	struct akin_forget_result r;
	struct meddler m = { 0 };
	struct env e;
	u64 n[5];

	begin(&e, 5);
	assert_int_equal(list(&e, false), 5);
	memcpy(n, e.numbers, sizeof(n));
	m.e = &e;
	opt.ctx = &m;
	/* The callback ends it all. */
	m.stop = n[1];
	assert_int_equal(akin_forget(e.p, &opt, &r, &e.d), 77);
	assert_int_equal(list(&e, false), 5);
	m.stop = 0;
	m.nr = 0;
	m.tag = n[1];
	m.forget = n[2];
	must(&e, akin_forget(e.p, &opt, &r, &e.d));
	assert_int_equal(m.nr, 5);
	assert_true(r.kept == 1 && r.forgotten == 2 && r.skipped == 2);
	assert_int_equal(list(&e, false), 2);
	assert_true(e.numbers[0] == n[1] && e.numbers[1] == n[4]);
	end(&e);
}

static void test_all_or_none(void **state)
{
	struct env e;
	u64 n[4];

	begin(&e, 3);
	assert_int_equal(list(&e, false), 3);
	memcpy(n, e.numbers, 3 * sizeof(*n));
	must(&e, akin_snapshot_protect(e.p, n[1], false, 0, &e.d));
	must_fail(&e, forget(&e, n, 3, NULL), -AKIN_E_snap_protected);
	assert_int_equal(list(&e, false), 3);
	n[3] = 4711;
	must_fail(&e, forget(&e, n + 2, 2, NULL), -AKIN_E_snap_unknown);
	assert_int_equal(list(&e, false), 3);
	end(&e);
}

static void test_tags(void **state)
{
	const char *abc[] = { "a", "b", "a", "c" }, *b[] = { "b", "z" };
	struct akin_tag_change ch = { .add = abc, .nr_add = 4 };
	struct akin_snapshot_filter f = { .tags = b, .nr_tags = 1 };
	struct env e;
	u64 n, txn, txn2;

	begin(&e, 1);
	assert_int_equal(list(&e, false), 1);
	n = e.numbers[0];
	must(&e, akin_snapshot_tag(e.p, n, &ch, &e.d));
	e.nr = 0;
	must(&e, akin_snapshot_each(e.p, &f, list_one, &e, &e.d));
	assert_int_equal(e.nr, 1);
	/* What changes nothing writes nothing. */
	must(&e, catalog_txn(e.p->catalog, &txn, &e.d));
	must(&e, akin_snapshot_tag(e.p, n, &ch, &e.d));
	must(&e, catalog_txn(e.p->catalog, &txn2, &e.d));
	assert_int_equal(txn, txn2);
	ch = (struct akin_tag_change){ .remove = b, .nr_remove = 2 };
	must(&e, akin_snapshot_tag(e.p, n, &ch, &e.d));
	e.nr = 0;
	must(&e, akin_snapshot_each(e.p, &f, list_one, &e, &e.d));
	assert_int_equal(e.nr, 0);
	must(&e, akin_snapshot_find(e.p, "tag:c", NULL, &n, &e.d));
	must_fail(&e, akin_snapshot_find(e.p, "tag:b", NULL, &n, &e.d),
		  -AKIN_E_snap_unknown);
	ch = (struct akin_tag_change){ .set = true };
	must(&e, akin_snapshot_tag(e.p, n, &ch, &e.d));
	must_fail(&e, akin_snapshot_find(e.p, "tag:a", NULL, &n, &e.d),
		  -AKIN_E_snap_unknown);
	end(&e);
}

static void test_policy_stored(void **state)
{
	const char *tags[] = { "x", "y z", "x" };
	struct akin_policy in = { .last = 3, .yearly = UINT32_MAX,
				  .within = { .months = 18, .hours = 5 },
				  .tags = tags, .nr_tags = 3 }, out;
	struct akin_forget_options opt = { 0 };
	struct catalog_rule odd = { "fortnightly", "3" };
	struct akin_forget_result r;
	struct env e;

	begin(&e, 1);
	must(&e, akin_policy_get(e.p, &out, &e.d));
	assert_true(akin_policy_is_empty(&out));
	must_fail(&e, akin_forget(e.p, &opt, &r, &e.d), -AKIN_E_usage);
	must(&e, akin_policy_set(e.p, &in, &e.d));
	reopen(&e);
	must(&e, akin_policy_get(e.p, &out, &e.d));
	assert_true(out.last == 3 && out.yearly == UINT32_MAX && !out.daily);
	assert_true(out.within.months == 18 && out.within.hours == 5);
	assert_int_equal(out.nr_tags, 2);
	assert_string_equal(out.tags[1], "y z");
	akin_policy_release(&out);
	/* What it does not know might keep something. */
	must(&e, catalog_set_policy(e.p->catalog, &odd, 1, NULL, NULL,
				    &e.d));
	must_fail(&e, akin_forget(e.p, &opt, &r, &e.d), -AKIN_E_feature);
	odd = (struct catalog_rule){ "daily", "many" };
	must(&e, catalog_set_policy(e.p->catalog, &odd, 1, NULL, NULL,
				    &e.d));
	must_fail(&e, akin_forget(e.p, &opt, &r, &e.d), -AKIN_E_catalog);
	must(&e, akin_policy_set(e.p, NULL, &e.d));
	must_fail(&e, akin_forget(e.p, &opt, &r, &e.d), -AKIN_E_usage);
	end(&e);
}

/* Failures ----------------------------------------------------------------*/

/* F18: with no byte free snapshots can be forgotten, and had back. */
static void test_full_disk(void **state)
{
	const char *tag = "x";
	struct akin_tag_change ch = { .add = &tag, .nr_add = 1 };
	struct env e;
	u64 n[3];

	begin(&e, 3);
	assert_int_equal(list(&e, false), 3);
	memcpy(n, e.numbers, sizeof(n));
	simdisk_set_capacity(e.sp.meta, simdisk_used(e.sp.meta));
	simdisk_set_capacity(e.sp.data, simdisk_used(e.sp.data));
	must(&e, forget(&e, n, 2, NULL));
	assert_true(there(&e, n[0], true) && there(&e, n[1], true));
	must(&e, akin_snapshot_undelete(e.p, n[0], &e.d));
	assert_int_equal(list(&e, false), 2);
	must_fail(&e, akin_snapshot_tag(e.p, n[0], &ch, &e.d),
		  -AKIN_E_nospace);
	simdisk_set_capacity(e.sp.data, 0);
	must(&e, akin_snapshot_tag(e.p, n[0], &ch, &e.d));
	end(&e);
}

/* The tombstone could not be written: the next forget does it. */
static void test_late_tombstone(void **state)
{
	struct sim_fault f = { .kinds = SIM_RENAME, .nth = 1,
			       .code = -AKIN_E_io, .for_good = true };
	struct env e;
	u64 n[2];

	begin(&e, 2);
	assert_int_equal(list(&e, false), 2);
	memcpy(n, e.numbers, sizeof(n));
	simdisk_fail(e.sp.data, &f);
	must_fail(&e, forget(&e, n, 1, NULL), -AKIN_E_io);
	assert_int_equal(list(&e, false), 1);
	assert_false(there(&e, n[0], true));
	f.kinds = 0;
	simdisk_fail(e.sp.data, &f);
	must(&e, forget(&e, n + 1, 1, NULL));
	assert_true(there(&e, n[0], true) && there(&e, n[1], true));
	end(&e);
}

typedef int call_fn(struct env *e, u64 number);

static int call_forget(struct env *e, u64 number)
{
	struct akin_policy policy = { .last = 1 };
	struct akin_forget_options opt = { .policy = &policy };
	struct akin_forget_result r;

	return akin_forget(e->p, &opt, &r, &e->d);
}

static int call_undelete(struct env *e, u64 number)
{
	return akin_snapshot_undelete(e->p, number, &e->d);
}

static int call_tag(struct env *e, u64 number)
{
	const char *tag = "x";
	struct akin_tag_change ch = { .add = &tag, .nr_add = 1 };

	return akin_snapshot_tag(e->p, number, &ch, &e->d);
}

static int call_protect(struct env *e, u64 number)
{
	return akin_snapshot_protect(e->p, number, false, 0, &e->d);
}

static call_fn *const calls[] = { call_forget, call_undelete, call_tag,
				  call_protect };

/* It says what failed, and works when nothing does. */
static void check_failed(struct env *e, call_fn *fn, u64 number, int err)
{
	if (err) {
		assert_int_equal(e->d.code, err);
		assert_true(e->d.text[0] != 0);
	}
	memset(&e->d, 0, sizeof(e->d));
	must(e, catalog_check(e->p->catalog, &e->d));
	err = fn(e, number);
	/* It may have happened. */
	if (err != -AKIN_E_snap_unknown || fn != call_undelete)
		must(e, err);
	memset(&e->d, 0, sizeof(e->d));
	assert_int_equal(list(e, false), fn == call_forget ? 1 : 2);
	assert_true(there(e, number, fn == call_forget));
	assert_false(there(e, number, fn != call_forget));
}

static void start_call(struct env *e, const struct env *base, call_fn *fn)
{
	*e = *base;
	e->sp = simpool_clone(&base->sp);
	e->p = NULL;
	reopen(e);
	if (fn == call_undelete)
		must(e, call_forget(e, 0));
}

static void test_fail_nth_operation(void **state)
{
	struct sim_fault f = { .kinds = SIM_ALL & ~SIM_LOCK,
			       .code = -AKIN_E_io };
	struct env base, e;
	u64 n, struck;
	size_t i;
	int err, side;

	begin(&base, 2);
	assert_int_equal(list(&base, false), 2);
	for (i = 0; i < ARRAY_SIZE(calls) * 2; i++) {
		side = i % 2;
		for (n = 1, struck = 1; struck; n++) {
			start_call(&e, &base, calls[i / 2]);
			f.nth = n;
			f.kinds = SIM_ALL & ~SIM_LOCK;
			simdisk_fail(side ? e.sp.data : e.sp.meta, &f);
			err = calls[i / 2](&e, base.numbers[0]);
			struck = simdisk_nr_faults(side ? e.sp.data :
						   e.sp.meta);
			f.kinds = 0;
			simdisk_fail(side ? e.sp.data : e.sp.meta, &f);
			if (!struck)
				must(&e, err);
			check_failed(&e, calls[i / 2], base.numbers[0], err);
			end(&e);
			assert_true(n < 500);
		}
	}
	end(&base);
}

static void test_fail_nth_allocation(void **state)
{
	struct env base, e;
	u64 n, total;
	size_t i;
	int err;

	begin(&base, 2);
	assert_int_equal(list(&base, false), 2);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		start_call(&e, &base, calls[i]);
		total = mem_nr_allocs();
		must(&e, calls[i](&e, base.numbers[0]));
		total = mem_nr_allocs() - total;
		end(&e);
		for (n = 1; n <= total; n++) {
			start_call(&e, &base, calls[i]);
			mem_fail_after(n);
			err = calls[i](&e, base.numbers[0]);
			mem_fail_after(0);
			check_failed(&e, calls[i], base.numbers[0], err);
			end(&e);
		}
	}
	end(&base);
}

static void test_read_only(void **state)
{
	struct akin_policy policy = { .last = 1 };
	struct akin_forget_options opt = { .policy = &policy,
					   .dry_run = true };
	struct akin_tag_change ch = { .set = true };
	struct akin_forget_result r;
	struct env e;
	u64 n;

	begin(&e, 2);
	assert_int_equal(list(&e, false), 2);
	n = e.numbers[0];
	akin_pool_close(e.p);
	must(&e, simpool_open(&e.sp, true, &e.p, &e.d));
	must(&e, akin_forget(e.p, &opt, &r, &e.d));
	assert_true(r.kept == 1 && r.forgotten == 1);
	opt.dry_run = false;
	must_fail(&e, akin_forget(e.p, &opt, &r, &e.d), -AKIN_E_readonly);
	must_fail(&e, forget(&e, &n, 1, NULL), -AKIN_E_readonly);
	must_fail(&e, akin_snapshot_tag(e.p, n, &ch, &e.d), -AKIN_E_readonly);
	must_fail(&e, akin_snapshot_unprotect(e.p, n, &e.d),
		  -AKIN_E_readonly);
	must_fail(&e, akin_snapshot_undelete(e.p, n, &e.d), -AKIN_E_readonly);
	must_fail(&e, akin_policy_set(e.p, NULL, &e.d), -AKIN_E_readonly);
	end(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forget_and_undelete),
		cmocka_unit_test(test_forget_many),
		cmocka_unit_test(test_undelete_until_reclaimed),
		cmocka_unit_test(test_protect_until),
		cmocka_unit_test(test_clock_jumps),
		cmocka_unit_test(test_clock_of_a_seldom_machine),
		cmocka_unit_test(test_protect_longer_only),
		cmocka_unit_test(test_changed_meanwhile),
		cmocka_unit_test(test_all_or_none),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_policy_stored),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_late_tombstone),
		cmocka_unit_test(test_fail_nth_operation),
		cmocka_unit_test(test_fail_nth_allocation),
		cmocka_unit_test(test_read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
