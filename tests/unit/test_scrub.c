/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a pool piece by piece: what is due, what is remembered, and that what
 * is found is found as a whole check would find it.
 */
#include <unistd.h>

#include "catalog/catalog_scrub.h"
#include "os/clock.h"
#include "poolfix.h"

#define OK(expr) assert_int_equal(expr, 0)
#define CAP 16

static const struct akin_check_options full = { .read_data = true };
/* One container: less than any holds. */
static const struct akin_check_options one = { .budget_bytes = 1 };
static const struct akin_check_options much = { .budget_ns = UINT64_MAX / 2 };

/* Four containers of data and some of metadata, all incompressible. */
static u64 fill(struct poolfix *fx)
{
	poolfix_write(fx, "a", 1, 1500 * KiB);
	poolfix_write(fx, "b", 2, 1500 * KiB);
	return poolfix_backup(fx, false);
}

static u32 nr_containers(struct poolfix *fx)
{
	struct catalog_totals t;

	OK(catalog_totals(fx->p->catalog, &t, NULL));
	return (u32)(t.nr_data_containers + t.nr_meta_containers);
}

static struct catalog_scrub_totals totals(struct poolfix *fx)
{
	struct catalog_scrub_totals t;

	OK(catalog_scrub_totals(fx->p->catalog, &t, NULL));
	return t;
}

static s64 now_sec(void)
{
	u32 nsec;
	s64 sec;

	clock_wall(&sec, &nsec);
	return sec;
}

/* As if container @number had been read then. */
static void pretend(struct poolfix *fx, u64 number, u32 generation, s64 sec)
{
	struct catalog_scrub row = { number, generation, 0, sec };

	OK(catalog_note_scrubs(fx->p->catalog, &row, 1, NULL));
}

/* What is due at @start, in order. */
static u32 due(struct poolfix *fx, s64 start, u64 out[CAP])
{
	struct catalog_scrub_cursor cur = { .start_sec = start };
	struct catalog_container rows[CAP];
	u32 nr, i, n = 0;

	for (;;) {
		OK(catalog_scrub_due(fx->p->catalog, &cur, rows, 3, &nr,
				     NULL));
		if (!nr)
			return n;
		for (i = 0; i < nr; i++) {
			assert_true(n < CAP);
			out[n++] = rows[i].number;
			pretend(fx, rows[i].number, rows[i].generation,
				start);
		}
	}
}

static void test_order(void **state)
{
	struct poolfix *fx = *state;
	u64 got[CAP], all[CAP];
	u32 n, i;

	fill(fx);
	n = nr_containers(fx);
	assert_in_range(n, 4, CAP - 1);
	/* Never read: by number. */
	assert_int_equal(due(fx, 1000, all), n);
	for (i = 1; i < n; i++)
		assert_true(all[i] > all[i - 1]);
	assert_int_equal(due(fx, 1000, got), 0);
	assert_int_equal(totals(fx).nr_never, 0);
	assert_int_equal(totals(fx).oldest_sec, 1000);
	/* Longest ago first, another generation before all, and last what was
	 * read when it cannot have been. */
	for (i = 0; i < n; i++)
		pretend(fx, all[i], 0, 500 - (s64)i);
	pretend(fx, all[1], 7, 1);
	pretend(fx, all[2], 0, INT64_MAX - 1);
	assert_int_equal(totals(fx).nr_never, 1);
	assert_int_equal(due(fx, 1000, got), n);
	assert_true(got[0] == all[1]);
	for (i = 0; i < n - 3; i++)
		assert_true(got[1 + i] == all[n - 1 - i]);
	assert_true(got[n - 2] == all[0]);
	assert_true(got[n - 1] == all[2]);
	/* A little ahead may be another machine's clock. */
	pretend(fx, all[2], 0, 1000 + 60);
	assert_int_equal(due(fx, 1000, got), 0);
}

static void test_rounds(void **state)
{
	struct poolfix *fx = *state;
	u64 never;
	s64 before;
	u32 n, i;

	OK(poolfix_check(fx, &much));	/* an empty pool */
	assert_int_equal(fx->result.containers_read, 0);
	fill(fx);
	n = nr_containers(fx);
	assert_int_equal(totals(fx).nr_never, n);
	assert_int_equal(totals(fx).oldest_sec, 0);
	before = now_sec();
	for (i = 1; i <= n; i++) {
		never = totals(fx).bytes_never;
		OK(poolfix_check(fx, &one));
		assert_int_equal(fx->result.containers, 1);
		assert_int_equal(fx->result.never_read, n - i);
		assert_true(fx->result.bytes_never_read < never);
		assert_int_equal(fx->result.snapshots, 0);
	}
	assert_in_range(fx->result.oldest_read_sec, before, now_sec());
	assert_int_equal(fx->result.bytes_never_read, 0);
	/* A later backup is due before all else. */
	poolfix_write(fx, "c", 3, 100 * KiB);
	poolfix_backup(fx, false);
	never = totals(fx).nr_never;
	assert_in_range(never, 2, 3);
	OK(poolfix_check(fx, &one));
	assert_int_equal(fx->result.never_read, never - 1);
	/* All of it, and a check that reads all remembers, too. */
	OK(poolfix_check(fx, &full));
	assert_int_equal(fx->result.never_read, 0);
	assert_int_equal(fx->result.bytes_not_read, 0);
	/* Time alone: everything there is, once. */
	for (i = 0; i < n; i++)
		pretend(fx, poolfix_container(fx, CONTAINER_DATA, 0).number, 0,
			1);
	OK(poolfix_check(fx, &much));
	assert_int_equal(fx->result.containers, 1);
}

static void test_finds_damage(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	u32 n, i, found = 0;
	char name[128];
	int err;

	fill(fx);
	n = nr_containers(fx);
	row = poolfix_container(fx, CONTAINER_DATA, 1);
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, 100000);
	poolfix_reopen(fx, false);
	for (i = 0; i < n; i++) {
		err = poolfix_check(fx, &one);
		if (!err)
			continue;
		assert_int_equal(akin_error_class(err), AKIN_CLASS_CORRUPT);
		if (found++)
			continue;
		/* The whole structure was looked at, and the file named. */
		assert_int_equal(fx->result.containers, n);
		assert_int_equal(fx->result.files_damaged, 1);
		assert_int_equal(fx->result.snapshots_damaged, 1);
		assert_int_equal(poolfix_count(fx, "wrong checksum"),
				 fx->result.chunks_damaged);
	}
	/* It stays a finding until it is whole again. */
	assert_true(found >= 2);
	assert_int_equal(fx->result.never_read, 0);
	assert_int_equal(totals(fx).nr_bad, 1);
	poolfix_flip(fx, name, 100000);
	poolfix_reopen(fx, false);
	pretend(fx, row.number, 0, 1);
	OK(poolfix_check(fx, &one));
	assert_int_equal(totals(fx).nr_bad, 0);
}

/* A container that is gone is noted, and not asked for again at once. */
static void test_lost(void **state)
{
	struct poolfix *fx = *state;
	char name[128], path[256];

	fill(fx);
	poolfix_container_name(poolfix_container(fx, CONTAINER_DATA, 0).number,
			       name);
	poolfix_path(fx, name, path);
	OK(unlink(path));
	poolfix_reopen(fx, false);
	assert_int_equal(akin_error_class(poolfix_check(fx, &much)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->result.never_read, 0);
	assert_int_equal(totals(fx).nr_bad, 1);
}

/* Who may not write reads what is due, once, and ends. */
static void test_read_only(void **state)
{
	struct poolfix *fx = *state;
	u32 n;

	fill(fx);
	n = nr_containers(fx);
	poolfix_reopen(fx, true);
	OK(poolfix_check(fx, &much));
	assert_int_equal(fx->result.containers, n);
	assert_int_equal(fx->result.never_read, n);
	poolfix_reopen(fx, false);
	OK(poolfix_check(fx, &much));
	poolfix_reopen(fx, true);
	OK(poolfix_check(fx, &much));
	assert_int_equal(fx->result.never_read, 0);
}

/* Rows of what is gone go. */
static void test_stale(void **state)
{
	struct poolfix *fx = *state;
	u32 n, i;

	fill(fx);
	n = nr_containers(fx);
	for (i = 0; i < 100; i++)
		pretend(fx, 5000 + i, 0, 10 + i);
	assert_int_equal(totals(fx).nr_never, n);
	assert_int_equal(totals(fx).oldest_sec, 0);
	OK(catalog_drop_stale_scrubs(fx->p->catalog, NULL));
	OK(catalog_drop_stale_scrubs(fx->p->catalog, NULL));
	OK(poolfix_check(fx, &full));
}

#define T(fn) \
	cmocka_unit_test_setup_teardown(fn, poolfix_setup, poolfix_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_order),
		T(test_rounds),
		T(test_finds_damage),
		T(test_lost),
		T(test_read_only),
		T(test_stale),
	};

	return cmocka_run_group_tests_name("scrub", tests, NULL, NULL);
}
