/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overlay: whatever is done to it, the disk below stays as it was; and a
 * pool that is opened for a rehearsal can be worked on without a trace.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "os/disk_overlay.h"
#include "simpool.h"
#include "store/store.h"

#define BIG ((size_t)200 * 1000)

struct env {
	struct simdisk *below, *scratch;
	struct disk *scratch_disk, *d;
	u64 ops;		/* of the disk below, before */
};

static void write_at(struct disk *d, const char *name, unsigned flags,
		     const void *data, size_t n, u64 off)
{
	struct akin_diag diag = { 0 };
	struct file *f;

	if (disk_open(d, name, flags, &f, &diag) ||
	    file_pwrite(f, data, n, off, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(file_close(f, NULL), 0);
}

static void expect_text(struct disk *d, const char *name, const char *want)
{
	struct akin_diag diag = { 0 };
	size_t len;
	u8 *data;

	if (disk_read_file(d, name, 1000, &data, &len, &diag))
		fail_msg("%s", diag.text);
	assert_string_equal((char *)data, want);
	mem_free(data);
}

static void begin(struct env *e, size_t memory, bool scratch)
{
	struct disk *d;

	e->below = simdisk_new("data");
	e->scratch = simdisk_new("scratch");
	e->scratch_disk = scratch ? simdisk_attach(e->scratch, true) : NULL;
	d = simdisk_attach(e->below, true);
	assert_int_equal(disk_mkdir(d, "dir", NULL), 0);
	write_at(d, "dir/a", DISK_WRITE | DISK_CREATE, "alpha", 5, 0);
	write_at(d, "dir/b", DISK_WRITE | DISK_CREATE, "beta", 4, 0);
	disk_free(d);
	e->ops = simdisk_nr_ops(e->below);
	d = simdisk_attach(e->below, false);
	assert_int_equal(disk_overlay_new(d, e->scratch_disk, memory, &e->d,
					  NULL), 0);
}

static void end(struct env *e)
{
	struct disk *d;

	disk_free(e->d);
	assert_int_equal(simdisk_nr_ops(e->below), e->ops);
	d = simdisk_attach(e->below, false);
	expect_text(d, "dir/a", "alpha");
	expect_text(d, "dir/b", "beta");
	disk_free(d);
	if (e->scratch_disk)
		disk_free(e->scratch_disk);
	simdisk_free(e->below);
	simdisk_free(e->scratch);
}

struct names {
	char text[64];
};

static int add_name(void *ctx, const char *name, bool is_dir)
{
	struct names *n = ctx;
	size_t len = strlen(n->text);

	snprintf(n->text + len, sizeof(n->text) - len, "%s%s", name,
		 is_dir ? "/" : " ");
	return 0;
}

static void expect_names(struct disk *d, const char *dir, const char *want)
{
	struct names n = { "" };

	assert_int_equal(disk_list(d, dir, add_name, &n, NULL), 0);
	assert_string_equal(n.text, want);
}

static void test_names(void **state)
{
	struct disk_stat st;
	struct env e;
	struct file *f;

	begin(&e, 1 << 20, false);
	expect_names(e.d, ".", "dir/");
	expect_names(e.d, "dir", "a b ");
	/* Renamed: the bytes are still those below. */
	assert_int_equal(disk_rename(e.d, "dir/a", "dir/c", NULL), 0);
	assert_int_equal(disk_stat(e.d, "dir/a", &st, NULL), -AKIN_E_absent);
	assert_int_equal(disk_open(e.d, "dir/a", 0, &f, NULL), -AKIN_E_absent);
	expect_text(e.d, "dir/c", "alpha");
	expect_names(e.d, "dir", "c b ");
	/* And changed: a copy. */
	write_at(e.d, "dir/c", DISK_WRITE, "AL", 2, 0);
	expect_text(e.d, "dir/c", "ALpha");
	assert_int_equal(disk_rename(e.d, "./dir/c", "dir/b", NULL), 0);
	expect_text(e.d, "dir/b", "ALpha");
	expect_names(e.d, "dir", "b ");
	assert_int_equal(disk_unlink(e.d, "dir/b", NULL), 0);
	assert_int_equal(disk_unlink(e.d, "dir/b", NULL), -AKIN_E_absent);
	assert_int_equal(disk_rename(e.d, "dir/b", "x", NULL), -AKIN_E_absent);
	expect_names(e.d, "dir", "");
	/* What is gone can be made again. */
	assert_int_equal(disk_open(e.d, "dir/a", DISK_WRITE, &f, NULL),
			 -AKIN_E_absent);
	write_at(e.d, "dir/a", DISK_WRITE | DISK_CREATE | DISK_EXCL, "n", 1, 0);
	assert_int_equal(disk_open(e.d, "dir/a", DISK_WRITE | DISK_CREATE |
				   DISK_EXCL, &f, NULL), -AKIN_E_exists);
	expect_text(e.d, "dir/a", "n");
	assert_int_equal(disk_open(e.d, "no/a", DISK_WRITE | DISK_CREATE, &f,
				   NULL), -AKIN_E_absent);
	assert_int_equal(disk_open(e.d, "dir", DISK_WRITE, &f, NULL),
			 -AKIN_E_io);
	assert_int_equal(disk_mkdir(e.d, "dir", NULL), 0);
	assert_int_equal(disk_mkdir(e.d, "new", NULL), -AKIN_E_readonly);
	assert_int_equal(disk_write_file(e.d, "whole", "w", 1, NULL), 0);
	expect_text(e.d, "whole", "w");
	expect_names(e.d, ".", "whole dir/");
	end(&e);
}

static void test_bytes(size_t memory, bool scratch)
{
	u8 *data = malloc(BIG), *back = malloc(BIG);
	struct rng r = { memory + 1 };
	struct disk_read reads[2];
	struct disk_stat st;
	struct file *f, *g;
	struct env e;
	u64 size;

	rng_fill(&r, data, BIG);
	begin(&e, memory, scratch);
	assert_int_equal(disk_open(e.d, "dir/new", DISK_WRITE | DISK_CREATE,
				   &f, NULL), 0);
	/* In pieces that fit no block, from the end; a hole of zeros. */
	assert_int_equal(file_pwrite(f, data + 70001, BIG - 70001, 70001,
				     NULL), 0);
	assert_int_equal(file_pwrite(f, data, 5, 0, NULL), 0);
	assert_int_equal(file_pread(f, back, 100, 0, NULL), 0);
	assert_memory_equal(back, data, 5);
	assert_int_equal(back[5] | back[99], 0);
	assert_int_equal(file_pwrite(f, data, 70001, 0, NULL), 0);
	assert_int_equal(file_size(f, &size, NULL), 0);
	assert_int_equal(size, BIG);
	assert_int_equal(file_pread(f, back, BIG, 0, NULL), 0);
	assert_memory_equal(back, data, BIG);
	assert_int_equal(file_pread(f, back, 2, BIG - 1, NULL),
			 -AKIN_E_short_read);
	reads[0] = (struct disk_read){ f, back, 1000, 65000, 1 };
	reads[1] = (struct disk_read){ f, back + 1000, 10, BIG, 1 };
	assert_int_equal(file_pread_many(e.d, reads, 2, NULL), 0);
	assert_int_equal(reads[0].result, 0);
	assert_memory_equal(back, data + 65000, 1000);
	assert_int_equal(reads[1].result, -AKIN_E_short_read);
	/* What is cut off does not come back; open files live on. */
	assert_int_equal(file_truncate(f, 100001, NULL), 0);
	assert_int_equal(file_reserve(f, 100101, NULL), 0);
	assert_int_equal(file_pread(f, back, 101, 100000, NULL), 0);
	assert_int_equal(back[0], data[100000]);
	assert_int_equal(back[1] | back[50] | back[100], 0);
	assert_int_equal(disk_open(e.d, "dir/new", 0, &g, NULL), 0);
	assert_int_equal(file_pwrite(g, "x", 1, 0, NULL), -AKIN_E_io);
	assert_int_equal(disk_unlink(e.d, "dir/new", NULL), 0);
	assert_int_equal(disk_stat(e.d, "dir/new", &st, NULL),
			 -AKIN_E_absent);
	assert_int_equal(file_pread(g, back, 10, 50, NULL), 0);
	assert_memory_equal(back, data + 50, 10);
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(file_close(g, NULL), 0);
	/* Its blocks serve again. */
	assert_int_equal(disk_tmp_open(e.d, "dir", &f, NULL), 0);
	assert_int_equal(file_pwrite(f, data, 150000, 0, NULL), 0);
	assert_int_equal(file_pread(f, back, 150000, 0, NULL), 0);
	assert_memory_equal(back, data, 150000);
	assert_int_equal(file_close(f, NULL), 0);
	end(&e);
	free(data);
	free(back);
}

static void test_in_memory(void **state)
{
	test_bytes(1 << 20, false);
}

static void test_in_a_file(void **state)
{
	test_bytes(0, true);
}

static void test_in_both(void **state)
{
	test_bytes(3 * 32768, true);
}

static void test_no_room(void **state)
{
	struct akin_diag diag = { 0 };
	u8 data[40000] = { 0 };
	struct file *f;
	struct env e;

	begin(&e, 32768, false);
	assert_int_equal(disk_open(e.d, "f", DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	assert_int_equal(file_pwrite(f, data, sizeof(data), 0, &diag),
			 -AKIN_E_nospace);
	assert_non_null(strstr(diag.text, "no memory left"));
	assert_int_equal(file_close(f, NULL), 0);
	end(&e);
}

static void test_without_memory(void **state)
{
	struct env e;
	u64 n;
	int err;

	begin(&e, 1 << 20, false);
	for (n = 1; ; n++) {
		mem_fail_after(n);
		err = disk_rename(e.d, "dir/a", "dir/c", NULL);
		if (!err)
			err = disk_write_file(e.d, "dir/c", "hello", 5, NULL);
		mem_fail_after(0);
		if (!err)
			break;
		assert_int_equal(err, -AKIN_E_nomem);
		/* It may have been done in part; from the start again. */
		ignore_result(disk_rename(e.d, "dir/c", "dir/a", NULL));
	}
	assert_true(n > 3);
	expect_text(e.d, "dir/c", "hello");
	end(&e);
}

/* A pool in rehearsal -------------------------------------------------------*/

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static int count(void *ctx, const struct akin_snapshot *s)
{
	(*(u32 *)ctx)++;
	return 0;
}

static void forget_and_reclaim(struct akin_pool *p, struct akin_gc_result *r)
{
	struct akin_policy policy = { .last = 1 };
	struct akin_forget_options fopt = { .policy = &policy };
	struct akin_gc_options gopt = { 0 };
	struct akin_forget_result f;
	struct akin_diag d = { 0 };
	u32 nr = 0;

	must(akin_forget(p, &fopt, &f, &d), &d);
	assert_int_equal(f.forgotten, 3);
	must(akin_gc(p, &gopt, r, &d), &d);
	must(akin_snapshot_each(p, NULL, count, &nr, &d), &d);
	assert_int_equal(nr, 1);
}

static void test_rehearsal(void **state)
{
	struct akin_open_options opt = { .memory_bytes = 32 << 20,
					 .nr_threads = 1, .rehearse = true };
	struct akin_gc_result tried, real;
	struct akin_diag d = { 0 };
	struct simpool sp;
	struct akin_pool *p;
	u8 *data = malloc(BIG);
	struct rng r;
	u64 i, ops;

	must(simpool_init(&sp, &d), &d);
	for (i = 0; i < 4; i++) {
		r.s = i / 2 + 1;
		rng_fill(&r, data, BIG);
		data[i * 1000] ^= 1;
		must(simpool_put(&sp, "s", data, BIG, &d), &d);
	}
	ops = simdisk_nr_ops(sp.data);
	/* Twice: nothing of the first is left. */
	for (i = 0; i < 2; i++) {
		must(store_open_on(simdisk_attach(sp.meta, false),
				   simdisk_attach(sp.data, false), &opt, &p,
				   &d), &d);
		forget_and_reclaim(p, &tried);
		akin_pool_close(p);
	}
	assert_int_equal(simdisk_nr_ops(sp.data), ops);
	assert_int_equal(simpool_nr_snapshots(&sp, &d), 4);
	must(simpool_open(&sp, false, &p, &d), &d);
	forget_and_reclaim(p, &real);
	akin_pool_close(p);
	assert_true(real.freed_bytes > 0);
	assert_int_equal(tried.freed_bytes, real.freed_bytes);
	assert_int_equal(tried.copied_bytes, real.copied_bytes);
	assert_int_equal(tried.deleted_files, real.deleted_files);
	assert_int_equal(tried.kept_base_bytes, real.kept_base_bytes);
	assert_int_equal(tried.kept_below_bytes, real.kept_below_bytes);
	simpool_free(&sp);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_in_a_file),
		cmocka_unit_test(test_in_both),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_rehearsal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
