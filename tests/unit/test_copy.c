/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between pools on lying disks: whatever fails, a snapshot is there
 * whole or not at all, and the next attempt succeeds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "simpool.h"
#include "store/store.h"

#define BYTES ((size_t)120 * 1000)

struct env {
	struct simpool from, to;
	u8 *data[2];
	struct akin_diag d;
};

static void must(struct env *e, int err)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), e->d.text);
}

static int setup(void **state)
{
	struct env *e = calloc(1, sizeof(*e));
	struct rng r = { 7 };
	int i;

	must(e, simpool_init(&e->from, &e->d));
	must(e, simpool_init(&e->to, &e->d));
	for (i = 0; i < 2; i++) {
		e->data[i] = malloc(BYTES);
		rng_fill(&r, e->data[i], BYTES);
		must(e, simpool_put(&e->from, i ? "b" : "a", e->data[i], BYTES,
				    &e->d));
	}
	*state = e;
	return 0;
}

static int teardown(void **state)
{
	struct env *e = *state;

	simpool_free(&e->from);
	simpool_free(&e->to);
	free(e->data[0]);
	free(e->data[1]);
	free(e);
	return 0;
}

struct last {
	u64 number;
	char id[33];
};

static int take_last(void *ctx, const struct akin_snapshot *s)
{
	struct last *l = ctx;

	l->number = s->number;
	memcpy(l->id, s->id, sizeof(l->id));
	return 0;
}

/* The newest of @from, into a clone of @to. */
static int copy(struct env *e, struct simpool *to,
		struct akin_copy_result *r, struct akin_diag *d)
{
	struct akin_copy_options opt = { 0 };
	struct akin_pool *a = NULL, *b = NULL;
	struct last l = { 0 };
	int err;

	memset(r, 0, sizeof(*r));
	err = simpool_open(&e->from, true, &a, d);
	if (!err)
		err = akin_snapshot_each(a, NULL, take_last, &l, d);
	opt.snapshot = l.number;
	if (!err)
		err = simpool_open(to, false, &b, d);
	if (!err) {
		err = akin_copy(a, b, &opt, r, d);
		assert_true(!err || d->text[0]);
	}
	if (!err)
		assert_string_equal(r->id, l.id);
	akin_pool_close(b);
	akin_pool_close(a);
	return err;
}

static void expect(struct env *e, struct simpool *to, enum simpool_found want)
{
	enum simpool_found found;
	struct akin_diag d = { 0 };

	if (simpool_get(to, "b", e->data[1], BYTES, &found, &d))
		fail_msg("%s", d.text);
	assert_int_equal(found, want);
}

static void test_copy(void **state)
{
	struct env *e = *state;
	struct simpool to = simpool_clone(&e->to);
	struct akin_copy_result r;

	must(e, copy(e, &to, &r, &e->d));
	assert_false(r.there);
	assert_false(r.same_keys);
	expect(e, &to, SIMPOOL_WHOLE);
	assert_int_equal(simpool_nr_snapshots(&to, &e->d), 1);
	must(e, copy(e, &to, &r, &e->d));
	assert_true(r.there);
	assert_int_equal(r.number, 1);
	assert_int_equal(simpool_nr_snapshots(&to, &e->d), 1);
	simpool_free(&to);
}

static void test_fail_nth_allocation(void **state)
{
	struct env *e = *state;
	struct akin_copy_result r;
	struct akin_diag d;
	struct simpool to;
	u64 n, before;
	int err;

	/* Every one would take minutes: denser where it begins. */
	for (n = 1; ; n += n / 12 + 1) {
		to = simpool_clone(&e->to);
		memset(&d, 0, sizeof(d));
		before = mem_nr_allocs();
		mem_fail_after(n);
		err = copy(e, &to, &r, &d);
		mem_fail_after(0);
		if (!err && mem_nr_allocs() - before < n) {
			simpool_free(&to);
			break;
		}
		/* What may fail without harm has done none. */
		expect(e, &to, err ? SIMPOOL_ABSENT : SIMPOOL_WHOLE);
		must(e, copy(e, &to, &r, &e->d));
		expect(e, &to, SIMPOOL_WHOLE);
		simpool_free(&to);
	}
	assert_true(n > 50);
}

/* The other pool's disks fail at each operation in turn. */
static void test_fail_nth_operation(void **state)
{
	struct env *e = *state;
	struct akin_copy_result r;
	struct simpool to, after;
	struct akin_diag d;
	u64 n, ops;
	int err;

	to = simpool_clone(&e->to);
	ops = simdisk_nr_ops(to.data);
	must(e, copy(e, &to, &r, &e->d));
	ops = simdisk_nr_ops(to.data) - ops;
	simpool_free(&to);
	for (n = 1; n <= ops; n += 1 + ops / 60) {
		to = simpool_clone(&e->to);
		memset(&d, 0, sizeof(d));
		simdisk_crash_at(to.data, simdisk_nr_ops(to.data) + n);
		err = copy(e, &to, &r, &d);
		after = simpool_reboot(&to, n, SIM_TORN);
		simpool_free(&to);
		if (!err)
			expect(e, &after, SIMPOOL_WHOLE);
		must(e, copy(e, &after, &r, &e->d));
		expect(e, &after, SIMPOOL_WHOLE);
		assert_int_equal(simpool_nr_snapshots(&after, &e->d), 1);
		simpool_free(&after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_fail_nth_allocation),
		cmocka_unit_test(test_fail_nth_operation),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
