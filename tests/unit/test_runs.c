/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small backups: their index runs are merged after the commits, and what
 * they said is still known afterwards.
 */
#include <stdio.h>
#include <stdlib.h>

#include "simpool.h"
#include "testlib.h"

#define BYTES (20 * 1024)
#define BACKUPS 20

static size_t nr_runs(struct simpool *sp)
{
	struct sim_name *names;
	size_t nr, i, n = 0;

	names = simdisk_names(sp->meta, &nr);
	for (i = 0; i < nr; i++)
		n += strncmp(names[i].path, "runs/", 5) == 0;
	simdisk_names_free(names, nr);
	return n;
}

static void test_runs_are_merged(void **state)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;
	u8 *data = malloc(BYTES);
	struct simpool sp;
	char name[16];
	u64 used;
	int i;

	assert_int_equal(simpool_init(&sp, &d), 0);
	for (i = 0; i < BACKUPS; i++) {
		struct rng r = { 100 + i };

		rng_fill(&r, data, BYTES);
		snprintf(name, sizeof(name), "s%d", i);
		assert_int_equal(simpool_put(&sp, name, data, BYTES, &d), 0);
		assert_in_range(nr_runs(&sp), 1, 8);
	}
	/* The same bytes again need no data container: all runs answer. */
	used = simdisk_used(sp.data);
	for (i = 0; i < BACKUPS; i++) {
		struct rng r = { 100 + i };

		rng_fill(&r, data, BYTES);
		snprintf(name, sizeof(name), "s%d", i);
		assert_int_equal(simpool_get(&sp, name, data, BYTES, &found,
					     &d), 0);
		assert_int_equal(found, SIMPOOL_WHOLE);
		assert_int_equal(simpool_put(&sp, name, data, BYTES, &d), 0);
	}
	/* a record and a small metadata container each, at most */
	assert_in_range(simdisk_used(sp.data) - used, BACKUPS * 4096,
			BACKUPS * 4 * 4096);
	simpool_free(&sp);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_are_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
