/* SPDX-License-Identifier: Apache-2.0 */
#include "testlib.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/disk.h"
#include "os/spill.h"
#include "simdisk.h"

static int compare_bytes(const void *a, size_t alen, const void *b,
			 size_t blen)
{
	int c = memcmp(a, b, alen < blen ? alen : blen);

	return c ? c : (alen > blen) - (alen < blen);
}

/* Only the first two bytes: many equal records. */
static int compare_key(const void *a, size_t alen, const void *b, size_t blen)
{
	return memcmp(a, b, 2);
}

static struct disk *sim_attach(struct simdisk **sd_ret)
{
	struct disk *d;

	*sd_ret = simdisk_new("metadata");
	d = simdisk_attach(*sd_ret, true);
	assert_int_equal(disk_mkdir(d, "tmp", NULL), 0);
	return d;
}

static void sim_detach(struct simdisk *sd, struct disk *d)
{
	disk_free(d);
	simdisk_free(sd);
}

/* Records of 0..@max bytes; the i-th depends on the seed and i alone. */
static int add_random(struct spill *sp, u64 seed, u32 nr, u32 max)
{
	struct rng r = { seed };
	u8 data[4096];
	size_t len;
	u32 i;
	int err;

	for (i = 0; i < nr; i++) {
		len = rng_below(&r, max + 1);
		rng_fill(&r, data, len);
		err = spill_add(sp, data, len);
		if (err)
			return err;
	}
	return 0;
}

/* Both give the same records in the same order, @nr of them. */
static void assert_same(struct spill *a, struct spill *b, u32 nr)
{
	const void *x, *y;
	size_t xlen, ylen;
	u32 i;

	for (i = 0; i < nr; i++) {
		assert_int_equal(spill_next(a, &x, &xlen), 1);
		assert_int_equal(spill_next(b, &y, &ylen), 1);
		assert_int_equal(xlen, ylen);
		assert_memory_equal(x, y, xlen);
	}
	assert_int_equal(spill_next(a, &x, &xlen), 0);
	assert_int_equal(spill_next(b, &y, &ylen), 0);
	assert_int_equal(spill_next(b, &y, &ylen), 0);
}

static void test_memory_and_disk_agree(void **state)
{
	static const u32 maxima[] = { 0, 1, 12, 300, 3800 };
	struct simdisk *sd;
	struct disk *d = sim_attach(&sd);
	struct spill *mem, *ext;
	u32 i, nr;

	for (i = 0; i < ARRAY_SIZE(maxima); i++) {
		nr = maxima[i] > 1000 ? 2000 : 30000;
		assert_int_equal(spill_new(NULL, NULL, 64 * MiB, compare_bytes,
					   &mem), 0);
		assert_int_equal(spill_new(d, "tmp", SPILL_MIN_BYTES,
					   compare_bytes, &ext), 0);
		assert_int_equal(add_random(mem, i, nr, maxima[i]), 0);
		assert_int_equal(add_random(ext, i, nr, maxima[i]), 0);
		assert_int_equal(spill_finish(mem), 0);
		assert_int_equal(spill_finish(ext), 0);
		assert_true(spill_disk_bytes(mem) == 0);
		assert_true(spill_disk_bytes(ext) > 64 * KiB);
		assert_same(mem, ext, nr);
		spill_free(mem);
		spill_free(ext);
	}
	sim_detach(sd, d);
}

static void test_equal_keys_keep_their_order(void **state)
{
	struct simdisk *sd;
	struct disk *d = sim_attach(&sd);
	struct rng r = { 5 };
	struct spill *sp;
	u8 rec[6], last[6];
	const void *data;
	size_t len;
	u32 i;

	assert_int_equal(spill_new(d, "tmp", SPILL_MIN_BYTES, compare_key,
				   &sp), 0);
	for (i = 0; i < 200000; i++) {
		rec[0] = (u8)rng_below(&r, 3);
		rec[1] = (u8)rng_below(&r, 5);
		put_le32(rec + 2, i);
		assert_int_equal(spill_add(sp, rec, sizeof(rec)), 0);
	}
	assert_int_equal(spill_finish(sp), 0);
	for (i = 0; i < 200000; i++) {
		assert_int_equal(spill_next(sp, &data, &len), 1);
		assert_int_equal(len, sizeof(rec));
		if (i && memcmp(last, data, 2) == 0)
			assert_true(get_le32(last + 2) <
				    get_le32((const u8 *)data + 2));
		else if (i)
			assert_true(memcmp(last, data, 2) < 0);
		memcpy(last, data, sizeof(last));
	}
	assert_int_equal(spill_next(sp, &data, &len), 0);
	spill_free(sp);
	sim_detach(sd, d);
}

static void test_small_makes_no_file(void **state)
{
	struct simdisk *sd;
	struct disk *d = sim_attach(&sd);
	u64 before = simdisk_nr_ops(sd);
	struct spill *sp;
	const void *data;
	size_t len;

	assert_int_equal(spill_new(d, "tmp", SPILL_MIN_BYTES, compare_bytes,
				   &sp), 0);
	assert_int_equal(spill_next(sp, &data, &len), -AKIN_E_sequence);
	assert_int_equal(spill_add(sp, "b", 1), 0);
	assert_int_equal(spill_add(sp, "", 0), 0);
	assert_int_equal(spill_add(sp, "a", 1), 0);
	assert_int_equal(spill_finish(sp), 0);
	assert_int_equal(spill_add(sp, "c", 1), -AKIN_E_sequence);
	assert_int_equal(spill_next(sp, &data, &len), 1);
	assert_int_equal(len, 0);
	assert_int_equal(spill_next(sp, &data, &len), 1);
	assert_memory_equal(data, "a", 1);
	spill_free(sp);		/* before the end */
	assert_true(simdisk_nr_ops(sd) == before);
	assert_int_equal(spill_new(d, "tmp", SPILL_MIN_BYTES, compare_bytes,
				   &sp), 0);
	assert_int_equal(spill_finish(sp), 0);
	assert_int_equal(spill_next(sp, &data, &len), 0);
	spill_free(sp);
	spill_free(NULL);
	sim_detach(sd, d);
}

static void test_limits(void **state)
{
	static u8 big[8192];
	struct simdisk *sd;
	struct disk *d = sim_attach(&sd);
	size_t max = SPILL_RECORD_MAX(SPILL_MIN_BYTES);
	struct spill *sp;
	u32 i;
	int err = 0;

	assert_int_equal(spill_new(d, "tmp", SPILL_MIN_BYTES - 1,
				   compare_bytes, &sp), -AKIN_E_usage);
	assert_int_equal(spill_new(d, "tmp", SPILL_MIN_BYTES, compare_bytes,
				   &sp), 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(spill_add(sp, big, max), 0);
	assert_int_equal(spill_add(sp, big, max + 1), -AKIN_E_too_large);
	assert_int_equal(spill_add(sp, big, 1), -AKIN_E_too_large);
	assert_int_equal(spill_diag(sp)->code, -AKIN_E_too_large);
	spill_free(sp);

	assert_int_equal(spill_new(NULL, NULL, 100000, compare_bytes, &sp), 0);
	for (i = 0; !err && i < 100; i++)
		err = spill_add(sp, big, 1000);
	assert_int_equal(err, -AKIN_E_nomem);
	assert_in_range(i, 90, 99);
	spill_free(sp);
	sim_detach(sd, d);
}

static size_t heap_bytes(void)
{
	struct mallinfo2 mi = mallinfo2();

	return mi.uordblks + mi.hblkhd;
}

static size_t heap_peak;

/* Counts on the way: sorting and merging are when memory is at its peak. */
static int compare_counting(const void *a, size_t alen, const void *b,
			    size_t blen)
{
	static u32 calls;

	if (++calls % 1024 == 0)
		heap_peak = max_u64(heap_peak, heap_bytes());
	return compare_bytes(a, alen, b, blen);
}

static void test_million_records_in_one_mebibyte(void **state)
{
	char path[] = "/tmp/akin-spill-XXXXXX", cmd[96];
	struct rng r = { 99 };
	struct spill *sp;
	struct disk *d;
	const void *data;
	size_t len, before;
	u64 sum = 0, v, last = 0;
	u32 i;

	assert_non_null(mkdtemp(path));
	assert_int_equal(disk_files_new(path, true, &d, NULL), 0);
	assert_int_equal(disk_mkdir(d, "tmp", NULL), 0);
	before = heap_peak = heap_bytes();
	assert_int_equal(spill_new(d, "tmp", 1 * MiB, compare_counting, &sp), 0);
	for (i = 0; i < 1000000; i++) {
		v = rng_next(&r);
		sum += v;
		v = __builtin_bswap64(v);
		assert_int_equal(spill_add(sp, &v, sizeof(v)), 0);
	}
	assert_int_equal(spill_finish(sp), 0);
	for (i = 0; i < 1000000; i++) {
		assert_int_equal(spill_next(sp, &data, &len), 1);
		assert_int_equal(len, sizeof(v));
		memcpy(&v, data, sizeof(v));
		v = __builtin_bswap64(v);
		assert_true(v >= last);
		last = v;
		sum -= v;
	}
	assert_int_equal(spill_next(sp, &data, &len), 0);
	assert_true(sum == 0);
	assert_true(heap_peak - before <= 1 * MiB + 16 * KiB);
	spill_free(sp);
	disk_free(d);
	snprintf(cmd, sizeof(cmd), "rmdir %s/tmp %s", path, path);
	assert_int_equal(system(cmd), 0);	/* nothing is left */
}

#define ONCE 6000

/* Sort enough records for two tiers; 0 only if the result was right. */
static int sort_once(struct disk *d)
{
	struct spill *sp = NULL;
	const void *data;
	u8 last[200] = { 0 }, rec[200];
	struct rng r = { 3 };
	size_t len;
	u32 i, nr = 0;
	int ret;

	ret = spill_new(d, "tmp", SPILL_MIN_BYTES, compare_bytes, &sp);
	for (i = 0; !ret && i < ONCE; i++) {
		rng_fill(&r, rec, sizeof(rec));
		ret = spill_add(sp, rec, sizeof(rec));
	}
	if (!ret)
		ret = spill_finish(sp);
	while (!ret) {
		ret = spill_next(sp, &data, &len);
		if (ret <= 0)
			break;
		assert_int_equal(len, sizeof(last));
		assert_true(memcmp(data, last, len) > 0);
		memcpy(last, data, len);
		nr++;
		ret = 0;
	}
	if (!ret)
		assert_int_equal(nr, ONCE);
	if (ret && sp) {
		assert_int_equal(spill_diag(sp)->code, ret);
		assert_int_equal(spill_finish(sp), ret);	/* sticky */
	}
	spill_free(sp);
	return ret;
}

static void test_every_io_fails(void **state)
{
	struct sim_fault fault = { .kinds = SIM_ALL, .code = -AKIN_E_io };
	struct simdisk *sd;
	struct disk *d = sim_attach(&sd);
	u32 failures = 0;
	int ret;

	do {
		/* All of the first spills, then a part. */
		fault.nth += fault.nth < 100 ? 1 : 7;
		simdisk_fail(sd, &fault);
		ret = sort_once(d);
		assert_true(ret == 0 || ret == -AKIN_E_io);
		failures += ret != 0;
	} while (ret);
	assert_true(failures > 100);
	simdisk_fail(sd, &(struct sim_fault){ 0 });
	simdisk_set_capacity(sd, simdisk_used(sd) + 100 * KiB);
	assert_int_equal(sort_once(d), -AKIN_E_nospace);
	sim_detach(sd, d);
}

static void test_every_allocation_fails(void **state)
{
	struct simdisk *sd;
	struct disk *d = sim_attach(&sd);
	u32 n = 0;
	int ret;

	do {
		mem_fail_after(++n);
		ret = sort_once(d);
		mem_fail_after(0);
		assert_true(ret == 0 || ret == -AKIN_E_nomem);
	} while (ret);
	assert_true(n > 20);
	sim_detach(sd, d);
}

/* The @lie_nth read from now on returns a flipped bit. */
static u32 lie_nth;
static const struct disk_ops *honest;

static int lying_pread(struct file *f, void *data, size_t n, u64 off,
		       struct akin_diag *diag)
{
	int err = honest->pread(f, data, n, off, diag);

	if (!err && lie_nth && !--lie_nth)
		((u8 *)data)[n / 2] ^= 0x10;
	return err;
}

static void test_flipped_bits_are_errors(void **state)
{
	struct simdisk *sd;
	struct disk *d = sim_attach(&sd);
	struct disk_ops lying = *d->ops;
	u32 n = 0, caught = 0;
	int ret;

	honest = d->ops;
	lying.pread = lying_pread;
	d->ops = &lying;
	do {
		lie_nth = n += 3;
		ret = sort_once(d);
		if (!lie_nth)
			assert_int_equal(akin_error_class(ret),
					 AKIN_CLASS_CORRUPT);
		caught += ret != 0;
	} while (!lie_nth);
	assert_true(caught > 20);
	d->ops = honest;
	sim_detach(sd, d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_and_disk_agree),
		cmocka_unit_test(test_equal_keys_keep_their_order),
		cmocka_unit_test(test_small_makes_no_file),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_million_records_in_one_mebibyte),
		cmocka_unit_test(test_every_io_fails),
		cmocka_unit_test(test_every_allocation_fails),
		cmocka_unit_test(test_flipped_bits_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
