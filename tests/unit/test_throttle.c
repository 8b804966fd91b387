/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Throttled disks. Time is a number that only sleeping and the test move, so
 * that every wait is known to the nanosecond.
 */
#include <stdlib.h>
#include <string.h>

#include "testlib.h"

#include "base/mem.h"
#include "os/disk_throttle.h"
#include "simdisk.h"
#include "simpool.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define START (100 * SECOND)

/* The bucket ----------------------------------------------------------------*/

static void test_rates(void **state)
{
	struct throttle_limits limits = { .ops_s = 120, .bytes_s = 7 };
	struct throttle t;
	u64 due = 0, i;

	throttle_init(&t, &limits);
	/* What was saved up, then one every 1/120 s: after 1,200 of them ten
	 * seconds have passed, exactly. */
	for (i = 0; i < 1200; i++)
		due = throttle_take(&t, START, 1, 0);
	assert_int_equal(due, START - THROTTLE_DEPTH_NS + 10 * SECOND);
	/* Rates that do not divide a second lose nothing either. */
	throttle_init(&t, &limits);
	for (i = 0; i < 7000; i++)
		due = throttle_take(&t, START, 0, 1);
	assert_int_equal(due, START - THROTTLE_DEPTH_NS + 1000 * SECOND);
}

static void test_both(void **state)
{
	struct throttle_limits limits = { .ops_s = 100, .bytes_s = 1000 };
	struct throttle t;

	throttle_init(&t, &limits);
	/* 10 ms for the operation, 100 ms for the bytes. */
	assert_int_equal(throttle_take(&t, START, 1, 100),
			 START - THROTTLE_DEPTH_NS + 100 * MS);
	/* The bytes' debt does not hold up operations that have none. */
	assert_int_equal(throttle_take(&t, START, 1, 0), START);
	assert_int_equal(throttle_take(&t, START, 1, 0), START + 10 * MS);
}

static void test_depth(void **state)
{
	struct throttle_limits limits = { .ops_s = 100 };
	struct throttle t;
	u64 later = START + 3600 * SECOND;

	throttle_init(&t, &limits);
	assert_int_equal(throttle_take(&t, START, 10, 0), START + 80 * MS);
	/* However long it rested, no more than 20 ms are saved. */
	assert_int_equal(throttle_take(&t, later, 2, 0), later);
	assert_int_equal(throttle_take(&t, later, 1, 0), later + 10 * MS);
	/* A sleep that ends 5 ms late is caught up with. */
	assert_int_equal(throttle_take(&t, later + 15 * MS, 1, 0),
			 later + 20 * MS);
}

static void test_extremes(void **state)
{
	struct throttle_limits none = { 0 }, slow = { .bytes_s = 1 };
	struct throttle t;

	throttle_init(&t, &none);
	assert_int_equal(throttle_take(&t, 5, UINT64_MAX, UINT64_MAX), 5);
	throttle_init(&t, &slow);
	assert_int_equal(throttle_take(&t, 5, 1, INT64_MAX), UINT64_MAX);
	assert_int_equal(throttle_take(&t, 6, 1, INT64_MAX), UINT64_MAX);
	/* At the machine's start there is nothing to go back to. */
	throttle_init(&t, &slow);
	assert_int_equal(throttle_take(&t, 5, 0, 1), SECOND);
}

/* The disk ------------------------------------------------------------------*/

struct env {
	struct throttle_clock clock;
	struct simdisk *sd;
	struct disk *d;
	u64 now, slept;
};

static u64 fake_now(void *ctx)
{
	return ((struct env *)ctx)->now;
}

static void fake_sleep(void *ctx, u64 ns)
{
	struct env *e = ctx;

	assert_true(ns > e->now);
	e->slept += ns - e->now;
	e->now = ns;
}

static void begin(struct env *e, u64 ops_s, u64 bytes_s)
{
	struct throttle_limits limits = { ops_s, bytes_s };

	memset(e, 0, sizeof(*e));
	e->clock.now_ns = fake_now;
	e->clock.sleep_until = fake_sleep;
	e->clock.ctx = e;
	e->now = START;
	e->sd = simdisk_new("data");
	assert_int_equal(disk_throttle_new(simdisk_attach(e->sd, true), &limits,
					   &e->clock, &e->d, NULL), 0);
	e->d->label = "data";
}

static void end(struct env *e)
{
	disk_free(e->d);
	simdisk_free(e->sd);
}

/* Since the last time, in operations of 10 ms, after all that was saved up has
 * been used. */
static u64 waited(struct env *e)
{
	u64 n = e->slept / (10 * MS);

	assert_int_equal(e->slept % (10 * MS), 0);
	e->slept = 0;
	return n;
}

static void use_up(struct env *e)
{
	struct disk_stat st;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(disk_stat(e->d, ".", &st, NULL), 0);
	assert_int_equal(e->slept, 0);
}

static void test_names(void **state)
{
	struct disk_space space;
	struct disk_stat st;
	struct file *f, *g;
	struct env e;
	u64 size;

	begin(&e, 100, 0);
	use_up(&e);
	assert_int_equal(disk_mkdir(e.d, "dir", NULL), 0);
	assert_int_equal(waited(&e), 1);
	assert_int_equal(disk_open(e.d, "dir/a", DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	assert_int_equal(waited(&e), 1);
	assert_int_equal(disk_tmp_open(e.d, "dir", &g, NULL), 0);
	assert_int_equal(waited(&e), 1);
	assert_int_equal(file_reserve(f, 8192, NULL), 0);
	assert_int_equal(file_truncate(f, 4096, NULL), 0);
	assert_int_equal(waited(&e), 2);
	assert_int_equal(file_sync(f, NULL), 0);
	assert_int_equal(disk_sync_dir(e.d, "dir", NULL), 0);
	assert_int_equal(waited(&e), 2);
	/* These are free. */
	assert_int_equal(file_size(f, &size, NULL), 0);
	assert_int_equal(size, 4096);
	assert_int_equal(file_lock(f, DISK_LOCK_WRITE, 0, 1, NULL), 0);
	assert_int_equal(file_lock_test(g, DISK_LOCK_READ, 0, 1, &size, &size,
					NULL), 0);
	assert_int_equal(disk_space(e.d, &space, NULL), 0);
	file_prefetch(f, 0, 4096);
	file_drop_cache(f);
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(file_close(g, NULL), 0);
	assert_int_equal(waited(&e), 0);
	assert_int_equal(disk_rename(e.d, "dir/a", "dir/b", NULL), 0);
	assert_int_equal(disk_stat(e.d, "dir/b", &st, NULL), 0);
	assert_int_equal(disk_unlink(e.d, "dir/b", NULL), 0);
	assert_int_equal(waited(&e), 3);
	/* What fails has asked the disk, too, and is named as ever. */
	assert_int_equal(disk_open(e.d, "dir/a", 0, &f, NULL), -AKIN_E_absent);
	assert_int_equal(waited(&e), 1);
	end(&e);
}

static void test_ranges(void **state)
{
	size_t n = 3 * MiB;
	u8 *buf = calloc(1, n);
	struct file *f;
	struct env e;

	begin(&e, 100, 0);
	use_up(&e);
	assert_int_equal(disk_open(e.d, "a", DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	assert_int_equal(waited(&e), 1);
	/* 64 KiB at a time, one after the other: one for each MiB. */
	for (size_t off = 0; off < n; off += 64 * KiB)
		assert_int_equal(file_pwrite(f, buf, 64 * KiB, off, NULL), 0);
	assert_int_equal(waited(&e), 3);
	/* At once it is the same. */
	assert_int_equal(file_pread(f, buf, n, 0, NULL), 0);
	assert_int_equal(waited(&e), 3);
	/* Going on where that ended is a piece of its own. */
	assert_int_equal(file_pwrite(f, buf, 1, n, NULL), 0);
	assert_int_equal(waited(&e), 1);
	assert_int_equal(file_pwrite(f, buf, 1, n + 1, NULL), 0);
	assert_int_equal(waited(&e), 0);
	/* Across the end of a piece that is paid for. */
	assert_int_equal(file_pwrite(f, buf, MiB, n + 2, NULL), 0);
	assert_int_equal(waited(&e), 1);
	/* Here and there. */
	assert_int_equal(file_pread(f, buf, 4096, 8192, NULL), 0);
	assert_int_equal(file_pread(f, buf, 4096, 0, NULL), 0);
	assert_int_equal(file_pread(f, buf, 4096, 0, NULL), 0);
	assert_int_equal(waited(&e), 3);
	assert_int_equal(file_pread(f, buf, 0, 77, NULL), 0);
	assert_int_equal(file_pread(f, buf, 4096, 4096, NULL), 0);
	assert_int_equal(waited(&e), 0);
	assert_int_equal(file_close(f, NULL), 0);
	end(&e);
	free(buf);
}

static void test_many(void **state)
{
	struct counters_io *io;
	struct disk_read r[4];
	struct env e;
	struct file *f;
	u8 buf[4][512];
	size_t i;

	begin(&e, 100, 0);
	use_up(&e);
	assert_int_equal(disk_open(e.d, "a", DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	for (i = 0; i < 2048; i += 512) {
		memset(buf[0], (int)(i / 512 + 1), 512);
		assert_int_equal(file_pwrite(f, buf[0], 512, i, NULL), 0);
	}
	assert_int_equal(waited(&e), 2);
	for (i = 0; i < 4; i++) {
		r[i] = (struct disk_read){ .file = f, .data = buf[i],
					   .len = 512, .off = i * 512 };
	}
	/* In order, they are one; the last one has nothing to read. */
	r[3].off = 4096;
	assert_int_equal(file_pread_many(e.d, r, 4, NULL), 0);
	assert_int_equal(waited(&e), 2);
	for (i = 0; i < 3; i++) {
		assert_int_equal(r[i].result, 0);
		assert_int_equal(buf[i][511], i + 1);
		assert_ptr_equal(r[i].file, f);
	}
	assert_int_equal(r[3].result, -AKIN_E_short_read);
	r[3].off = UINT64_MAX - 5;
	assert_int_equal(file_pread_many(e.d, r + 3, 1, NULL), 0);
	assert_int_equal(r[3].result, -AKIN_E_short_read);
	assert_int_equal(waited(&e), 0);
	/* Counted once, by the disk in front. */
	io = &disk_io(e.d)->read;
	assert_int_equal(atomic_load(&io->ops), 5);
	assert_int_equal(atomic_load(&io->bytes), 3 * 512);
	assert_int_equal(file_close(f, NULL), 0);
	end(&e);
}

static void test_bytes(void **state)
{
	struct env e;
	struct file *f;
	u8 buf[5000] = { 0 };

	begin(&e, 0, 100000);
	assert_int_equal(disk_open(e.d, "a", DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	assert_int_equal(file_sync(f, NULL), 0);
	assert_int_equal(e.slept, 0);
	assert_int_equal(file_pwrite(f, buf, 5000, 0, NULL), 0);
	assert_int_equal(e.slept, 50 * MS - THROTTLE_DEPTH_NS);
	assert_int_equal(file_pread(f, buf, 5000, 0, NULL), 0);
	assert_int_equal(e.slept, 100 * MS - THROTTLE_DEPTH_NS);
	assert_int_equal(file_close(f, NULL), 0);
	end(&e);
}

/* What is owed in bits is slept for in one piece. */
static void test_bits(void **state)
{
	struct env e;
	struct disk_stat st;
	u64 i;

	begin(&e, 10000, 0);
	for (i = 0; i < 200 + 10; i++)
		assert_int_equal(disk_stat(e.d, ".", &st, NULL), 0);
	assert_int_equal(e.slept, 0);
	assert_int_equal(disk_stat(e.d, ".", &st, NULL), 0);
	assert_int_equal(e.slept, 1100000);
	for (i = 0; i < 10000; i++)
		assert_int_equal(disk_stat(e.d, ".", &st, NULL), 0);
	assert_true(e.now - START >= SECOND && e.now - START <= SECOND + MS * 2);
	end(&e);
}

static void test_messages(void **state)
{
	struct akin_diag diag = { 0 };
	struct file *f;
	struct env e;
	u8 buf[8];

	begin(&e, 100, 0);
	assert_int_equal(disk_open(e.d, "a", DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	assert_int_equal(file_pread(f, buf, 8, 16, &diag), -AKIN_E_short_read);
	/* Named once, as by a disk that is not slow. */
	if (strncmp(diag.text, "data pool: a: ", 14) ||
	    strstr(diag.text + 14, "a: "))
		fail_msg("'%s'", diag.text);
	assert_int_equal(file_close(f, NULL), 0);
	end(&e);
}

static void test_no_memory(void **state)
{
	struct throttle_limits limits = { 1, 1 };
	struct simdisk *sd = simdisk_new("data");
	struct disk_read r = { 0 };
	struct disk *d = NULL;
	struct file *f;
	u8 c = 0;
	u64 i;
	int err;

	mem_fail_after(1);
	err = disk_throttle_new(simdisk_attach(sd, true), &limits, NULL, &d,
				NULL);
	mem_fail_after(0);
	assert_int_equal(err, -AKIN_E_nomem);
	assert_null(d);
	limits.ops_s = limits.bytes_s = 1000000;
	assert_int_equal(disk_throttle_new(simdisk_attach(sd, true), &limits,
					   NULL, &d, NULL), 0);
	for (i = 1, err = -1; err; i++) {
		mem_fail_after(i);
		err = disk_open(d, "a", DISK_WRITE | DISK_CREATE, &f, NULL);
		mem_fail_after(0);
		assert_true(!err || err == -AKIN_E_nomem);
	}
	assert_int_equal(file_pwrite(f, &c, 1, 0, NULL), 0);
	r = (struct disk_read){ .file = f, .data = &c, .len = 1 };
	mem_fail_after(1);
	assert_int_equal(file_pread_many(d, &r, 1, NULL), -AKIN_E_nomem);
	mem_fail_after(0);
	assert_int_equal(file_pread_many(d, &r, 1, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	disk_free(d);
	simdisk_free(sd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
