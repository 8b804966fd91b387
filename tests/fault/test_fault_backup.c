/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every single failure on the way: the Nth I/O of a backup and of a restore,
 * the Nth allocation, a disk that is full at any point. Each is a clean error
 * (a code and a message), nothing acknowledged is lost, and the same call
 * succeeds once the failure is over.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "simpool.h"
#include "testlib.h"

#define BYTES (200 * 1024)

struct setup {
	struct simpool base;	/* holds "first" */
	u8 *first, *second;
};

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };

	s->first = malloc(BYTES);
	s->second = malloc(BYTES);
	simpool_fill(1, s->first, BYTES);
	simpool_fill(2, s->second, BYTES);
	assert_int_equal(simpool_init(&s->base, &d), 0);
	assert_int_equal(simpool_put(&s->base, "first", s->first, BYTES, &d),
			 0);
	*state = s;
	return 0;
}

/* The second one needs the table of the first, and its sketches. */
static int setup_similarity(void **state)
{
	struct setup *s;
	u32 i;
	int err;

	err = setup(state);
	s = *state;
	for (i = 0; i < BYTES; i++) {
		/* Bytes that shrink, and none but near copies of chunks. */
		s->first[i] = 'a' + s->first[i] % 16;
		s->second[i] = i % 200 ? s->first[i] : 'z';
	}
	s->base.engine = AKIN_ENGINE_SIMILARITY;
	return err ? err : simpool_put(&s->base, "first", s->first, BYTES,
				       NULL);
}

static int teardown(void **state)
{
	struct setup *s = *state;

	simpool_free(&s->base);
	free(s->first);
	free(s->second);
	free(s);
	return 0;
}

static void expect_whole(struct simpool *sp, const char *name, const u8 *data)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;

	if (simpool_get(sp, name, data, BYTES, &found, &d) ||
	    found != SIMPOOL_WHOLE)
		fail_msg("'%s' is not whole: %s", name, d.text);
}

/* Both disks fail their Nth operation of some kinds; -1: no fault struck. */
static int put_with_fault(struct simpool *sp, struct setup *s, u64 n,
			  unsigned kinds, int code, struct akin_diag *d)
{
	struct sim_fault f = { .kinds = kinds, .nth = n, .code = code };
	u64 struck;
	int err;

	simdisk_fail(n % 2 ? sp->meta : sp->data, &f);
	err = simpool_put(sp, "second", s->second, BYTES, d);
	struck = simdisk_nr_faults(n % 2 ? sp->meta : sp->data);
	memset(&f, 0, sizeof(f));
	simdisk_fail(sp->meta, &f);
	simdisk_fail(sp->data, &f);
	if (!struck && err)
		fail_msg("no fault, but: %s", d->text);
	return struck ? err : -1;
}

static void test_fail_nth_io_of_backup(void **state)
{
	struct setup *s = *state;
	struct simpool sp;
	struct akin_diag d;
	u64 n;
	int err, quiet = 0;

	for (n = 2; quiet < 4; n++) {
		memset(&d, 0, sizeof(d));
		sp = simpool_clone(&s->base);
		err = put_with_fault(&sp, s, n / 2 * 2 + n % 2,
				     SIM_ALL & ~SIM_LOCK, -AKIN_E_io, &d);
		quiet = err == -1 ? quiet + 1 : 0;
		if (err && err != -1) {
			assert_int_equal(d.code, err);
			assert_true(d.text[0] != 0);
		}
		expect_whole(&sp, "first", s->first);
		memset(&d, 0, sizeof(d));
		if (simpool_put(&sp, "second", s->second, BYTES, &d))
			fail_msg("after fault %llu: %s", (unsigned long long)n,
				 d.text);
		expect_whole(&sp, "second", s->second);
		simpool_free(&sp);
		assert_true(n < 5000);
	}
}

static void test_fail_nth_io_of_restore(void **state)
{
	struct setup *s = *state;
	struct simpool sp = simpool_clone(&s->base);
	struct sim_fault f = { .kinds = SIM_READ | SIM_OPEN | SIM_STAT,
			       .code = -AKIN_E_io };
	enum simpool_found found;
	struct akin_diag d;
	u64 n, struck;
	int err;

	for (n = 1;; n++) {
		memset(&d, 0, sizeof(d));
		f.nth = n;
		simdisk_fail(sp.data, &f);
		err = simpool_get(&sp, "first", s->first, BYTES, &found, &d);
		struck = simdisk_nr_faults(sp.data);
		if (err)
			assert_true(d.text[0] != 0);
		else
			assert_int_equal(found, SIMPOOL_WHOLE);
		if (!struck)
			break;
		assert_true(n < 1000);
	}
	assert_in_range(n, 4, 1000);
	f.kinds = 0;
	simdisk_fail(sp.data, &f);
	expect_whole(&sp, "first", s->first);
	simpool_free(&sp);
}

static void test_fail_nth_allocation(void **state)
{
	struct setup *s = *state;
	struct simpool sp;
	struct akin_diag d;
	u64 n, total;
	int err;

	sp = simpool_clone(&s->base);
	memset(&d, 0, sizeof(d));
	total = mem_nr_allocs();
	assert_int_equal(simpool_put(&sp, "second", s->second, BYTES, &d), 0);
	total = mem_nr_allocs() - total;
	simpool_free(&sp);
	for (n = 1; n < total; n += 1 + total / 400) {
		sp = simpool_clone(&s->base);
		memset(&d, 0, sizeof(d));
		mem_fail_after(n);
		err = simpool_put(&sp, "second", s->second, BYTES, &d);
		mem_fail_after(0);
		if (err)
			assert_int_equal(d.code, err);
		expect_whole(&sp, "first", s->first);
		simpool_free(&sp);
	}
}

/* What comes back without an error is whole. */
static void test_fail_nth_allocation_of_restore(void **state)
{
	struct setup *s = *state;
	struct simpool sp = simpool_clone(&s->base);
	enum simpool_found found = SIMPOOL_ABSENT;
	struct akin_diag d;
	u64 n, total;
	int err;

	total = mem_nr_allocs();
	expect_whole(&sp, "first", s->first);
	total = mem_nr_allocs() - total;
	for (n = 1; n <= total; n += 1 + total / 400) {
		memset(&d, 0, sizeof(d));
		mem_fail_after(n);
		err = simpool_get(&sp, "first", s->first, BYTES, &found, &d);
		mem_fail_after(0);
		if (err)
			assert_int_equal(d.code, err);
		else
			assert_int_equal(found, SIMPOOL_WHOLE);
	}
	expect_whole(&sp, "first", s->first);
	simpool_free(&sp);
}

static void test_disk_full_at_every_point(void **state)
{
	struct setup *s = *state;
	struct simpool sp;
	struct akin_diag d;
	u64 meta, data, room;
	int err, nr_full = 0;

	meta = simdisk_used(s->base.meta);
	data = simdisk_used(s->base.data);
	for (room = 0; room < 512 * 1024; room += 4096) {
		sp = simpool_clone(&s->base);
		memset(&d, 0, sizeof(d));
		if (room / 4096 % 2)
			simdisk_set_capacity(sp.meta, meta + room / 4);
		else
			simdisk_set_capacity(sp.data, data + room);
		err = simpool_put(&sp, "second", s->second, BYTES, &d);
		if (err) {
			nr_full++;
			if (akin_error_class(err) != AKIN_CLASS_NOSPACE)
				fail_msg("room for %llu: %d %s",
					 (unsigned long long)room, err,
					 d.text);
			assert_true(strstr(d.text, room / 4096 % 2 ?
					   "metadata pool" : "data pool") !=
				    NULL);
		}
		/* Reading needs no space. */
		expect_whole(&sp, "first", s->first);
		simdisk_set_capacity(sp.meta, 0);
		simdisk_set_capacity(sp.data, 0);
		memset(&d, 0, sizeof(d));
		assert_int_equal(simpool_put(&sp, "second", s->second, BYTES,
					     &d), 0);
		expect_whole(&sp, "second", s->second);
		simpool_free(&sp);
	}
	assert_in_range(nr_full, 5, 200);
}

/* A full disk keeps nothing of a failed backup's containers. */
static void test_full_disk_gives_back(void **state)
{
	struct setup *s = *state;
	struct simpool sp = simpool_clone(&s->base);
	struct akin_diag d = { 0 };
	u64 used = simdisk_used(sp.data);
	size_t n = 8 << 20;
	u8 *noise = malloc(n);
	struct rng r = { 9 };

	rng_fill(&r, noise, n);
	simdisk_set_capacity(sp.data, used + (3 << 20));
	assert_int_equal(simpool_put(&sp, "noise", noise, n, &d),
			 -AKIN_E_nospace);
	assert_in_range(simdisk_used(sp.data), used, used + 64 * 1024);
	free(noise);
	simpool_free(&sp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fail_nth_io_of_backup),
		cmocka_unit_test(test_fail_nth_io_of_restore),
		cmocka_unit_test(test_fail_nth_allocation),
		cmocka_unit_test(test_fail_nth_allocation_of_restore),
		cmocka_unit_test(test_disk_full_at_every_point),
		cmocka_unit_test(test_full_disk_gives_back),
		cmocka_unit_test_setup_teardown(test_fail_nth_io_of_backup,
						setup_similarity, teardown),
		cmocka_unit_test_setup_teardown(test_fail_nth_allocation,
						setup_similarity, teardown),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
