/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the lying disk promises to the tests that rely on it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "disk_contract.h"
#include "simdisk.h"

static void test_contract(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);

	disk_contract(d);
	disk_free(d);
	simdisk_free(sd);
}

static void put(struct disk *d, const char *name, const void *data, size_t n,
		u64 off, bool sync)
{
	struct file *f;

	assert_int_equal(disk_open(d, name, DISK_WRITE | DISK_CREATE, &f,
				   NULL), 0);
	assert_int_equal(file_pwrite(f, data, n, off, NULL), 0);
	if (sync)
		assert_int_equal(file_sync(f, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
}

/* Content as a string, "(absent)" if it is; valid until the next call. */
static const char *content(struct simdisk *sd, const char *name)
{
	static char text[4096];
	struct disk *d = simdisk_attach(sd, false);
	size_t len = 0;
	u8 *data;
	int err = disk_read_file(d, name, sizeof(text) - 1, &data, &len, NULL);

	disk_free(d);
	if (err) {
		assert_int_equal(err, -AKIN_E_absent);
		return "(absent)";
	}
	memcpy(text, data, len + 1);
	mem_free(data);
	return text;
}

/* The content after a reboot. */
static const char *after(struct simdisk *sd, u64 seed, enum sim_mode mode,
			 const char *name)
{
	struct simdisk *next = simdisk_reboot(sd, seed, mode);
	const char *text = content(next, name);

	simdisk_free(next);
	return text;
}

static void test_synced_survives(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	u64 seed;
	int mode;

	put(d, "f", "durable", 7, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	for (mode = 0; mode < SIM_NR_MODES; mode++) {
		for (seed = 0; seed < 20; seed++)
			assert_string_equal(after(sd, seed, mode, "f"),
					    "durable");
	}
	put(d, "f", "DUR", 3, 0, false);
	assert_string_equal(content(sd, "f"), "DURable");
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "durable");
	assert_string_equal(after(sd, 0, SIM_KEEP, "f"), "DURable");
	/* The reboots left it alone. */
	assert_string_equal(content(sd, "f"), "DURable");
	disk_free(d);
	simdisk_free(sd);
}

static void test_sync_is_not_sync_dir(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	unsigned lost = 0, kept = 0;
	u64 seed;

	put(d, "f", "durable", 7, 0, true);
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "(absent)");
	assert_string_equal(after(sd, 0, SIM_KEEP, "f"), "durable");
	for (seed = 0; seed < 64; seed++) {
		if (strcmp(after(sd, seed, SIM_TORN, "f"), "durable") == 0)
			kept++;
		else
			lost++;
	}
	assert_true(lost > 8 && kept > 8);
	disk_free(d);
	simdisk_free(sd);
}

/* The name without the bytes: sync_dir() is not sync() either. */
static void test_sync_dir_is_not_sync(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);

	put(d, "f", "bytes", 5, 0, false);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "");
	assert_string_equal(after(sd, 0, SIM_KEEP, "f"), "bytes");
	disk_free(d);
	simdisk_free(sd);
}

#define SECTORS 4

/* Sector by sector old or new, and all sixteen combinations are seen. */
static void test_tearing(void **state)
{
	struct simdisk *sd = simdisk_new("data"), *next;
	struct disk *d = simdisk_attach(sd, true);
	char page[SECTORS * 512];
	const char *text;
	unsigned seen = 0, which;
	u64 seed;
	size_t i;

	memset(page, 'o', sizeof(page));
	put(d, "f", page, sizeof(page), 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	memset(page, 'n', sizeof(page));
	put(d, "f", page, sizeof(page), 0, false);
	for (seed = 0; seed < 400; seed++) {
		next = simdisk_reboot(sd, seed, SIM_TORN);
		text = content(next, "f");
		assert_int_equal(strlen(text), sizeof(page));
		which = 0;
		for (i = 0; i < sizeof(page); i++) {
			assert_true(text[i] == 'o' || text[i] == 'n');
			assert_int_equal(text[i], text[i / 512 * 512]);
			if (text[i] == 'n')
				which |= 1u << i / 512;
		}
		seen |= 1u << which;
		simdisk_free(next);
	}
	assert_int_equal(seen, 0xffff);
	disk_free(d);
	simdisk_free(sd);
}

/* Of two writes, each of the four subsets comes back. */
static void test_reordering(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	const char *text;
	unsigned seen = 0;
	u64 seed;

	put(d, "f", "--", 2, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	put(d, "f", "1", 1, 0, false);
	put(d, "f", "2", 1, 1, false);
	for (seed = 0; seed < 100; seed++) {
		text = after(sd, seed, SIM_TORN, "f");
		seen |= 1u << ((text[0] == '1') + 2 * (text[1] == '2'));
	}
	assert_int_equal(seen, 0xf);
	disk_free(d);
	simdisk_free(sd);
}

/* Size and bytes come apart: short, full of zeros, or whole. */
static void test_sizes(void **state)
{
	struct simdisk *sd = simdisk_new("data"), *next;
	struct disk *d = simdisk_attach(sd, true);
	unsigned empty = 0, zeros = 0, whole = 0;
	struct disk_stat st;
	struct disk *e;
	u64 seed;

	put(d, "f", "", 0, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	put(d, "f", "abc", 3, 0, false);
	for (seed = 0; seed < 100; seed++) {
		next = simdisk_reboot(sd, seed, SIM_TORN);
		e = simdisk_attach(next, false);
		assert_int_equal(disk_stat(e, "f", &st, NULL), 0);
		disk_free(e);
		if (st.size_bytes == 0)
			empty++;
		else if (strcmp(content(next, "f"), "abc") == 0)
			whole++;
		else
			zeros += st.size_bytes == 3 &&
				 strcmp(content(next, "f"), "") == 0;
		simdisk_free(next);
	}
	assert_true(empty && zeros && whole);
	assert_int_equal(empty + zeros + whole, 100);
	disk_free(d);
	simdisk_free(sd);
}

static void test_reserve(void **state)
{
	struct simdisk *sd = simdisk_new("data"), *next;
	struct disk *d = simdisk_attach(sd, true), *e;
	struct disk_stat st;
	struct file *f;
	int mode;

	put(d, "f", "abc", 3, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_int_equal(disk_open(d, "f", DISK_WRITE, &f, NULL), 0);
	assert_int_equal(file_reserve(f, 9000, NULL), 0);
	assert_int_equal(file_reserve(f, 5000, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	for (mode = SIM_LOSE; mode <= SIM_KEEP; mode++) {
		next = simdisk_reboot(sd, 0, mode);
		e = simdisk_attach(next, false);
		assert_int_equal(disk_stat(e, "f", &st, NULL), 0);
		assert_int_equal(st.size_bytes, mode == SIM_KEEP ? 9000 : 3);
		assert_int_equal(st.alloc_bytes,
				 mode == SIM_KEEP ? 3 * 4096 : 4096);
		disk_free(e);
		simdisk_free(next);
	}
	disk_free(d);
	simdisk_free(sd);
}

static void test_rename(void **state)
{
	struct simdisk *sd = simdisk_new("data"), *next;
	struct disk *d = simdisk_attach(sd, true);
	bool old = false, new = false;
	u64 seed;

	put(d, "f", "old", 3, 0, true);
	put(d, "f.tmp", "new", 3, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_int_equal(disk_rename(d, "f.tmp", "f", NULL), 0);
	assert_string_equal(content(sd, "f"), "new");
	assert_string_equal(content(sd, "f.tmp"), "(absent)");
	for (seed = 0; seed < 40; seed++) {
		next = simdisk_reboot(sd, seed, SIM_WILD);
		/* Both names change, or neither does. */
		if (strcmp(content(next, "f"), "old") == 0) {
			assert_string_equal(content(next, "f.tmp"), "new");
			old = true;
		} else {
			assert_string_equal(content(next, "f"), "new");
			assert_string_equal(content(next, "f.tmp"),
					    "(absent)");
			new = true;
		}
		simdisk_free(next);
	}
	assert_true(old && new);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "new");
	disk_free(d);
	simdisk_free(sd);
}

/* A rename across directories is durable with either of them. */
static void test_rename_across(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);

	assert_int_equal(disk_mkdir(d, "a", NULL), 0);
	assert_int_equal(disk_mkdir(d, "b", NULL), 0);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	/* Its creation in a was never synced: b's sync brings it along. */
	put(d, "a/f", "x", 1, 0, true);
	put(d, "a/g", "y", 1, 0, true);
	assert_int_equal(disk_rename(d, "a/f", "b/f", NULL), 0);
	assert_int_equal(disk_sync_dir(d, "b", NULL), 0);
	assert_string_equal(after(sd, 0, SIM_LOSE, "b/f"), "x");
	assert_string_equal(after(sd, 0, SIM_LOSE, "a/f"), "(absent)");
	assert_string_equal(after(sd, 0, SIM_KEEP, "a/f"), "(absent)");
	assert_string_equal(after(sd, 0, SIM_LOSE, "a/g"), "(absent)");
	assert_string_equal(after(sd, 0, SIM_KEEP, "a/g"), "y");
	disk_free(d);
	simdisk_free(sd);
}

static unsigned names_after(struct simdisk *sd, u64 seed, enum sim_mode mode)
{
	struct simdisk *next = simdisk_reboot(sd, seed, mode);
	struct sim_name *names;
	unsigned mask = 0;
	size_t nr, i;

	names = simdisk_names(next, &nr);
	for (i = 0; i < nr; i++)
		mask |= 1u << (names[i].path[0] - 'a');
	simdisk_names_free(names, nr);
	simdisk_free(next);
	return mask;
}

/* Three creations: four prefixes when in order, eight subsets when wild. */
static void test_name_order(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	unsigned torn = 0, wild = 0;
	u64 seed;

	put(d, "a", "", 0, 0, true);
	put(d, "b", "", 0, 0, true);
	put(d, "c", "", 0, 0, true);
	for (seed = 0; seed < 200; seed++) {
		torn |= 1u << names_after(sd, seed, SIM_TORN);
		wild |= 1u << names_after(sd, seed, SIM_WILD);
	}
	assert_int_equal(torn, 1 << 0 | 1 << 1 | 1 << 3 | 1 << 7);
	assert_int_equal(wild, 0xff);
	disk_free(d);
	simdisk_free(sd);
}

static void test_unlink(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);

	put(d, "f", "x", 1, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_int_equal(disk_unlink(d, "f", NULL), 0);
	assert_string_equal(content(sd, "f"), "(absent)");
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "x");
	assert_string_equal(after(sd, 0, SIM_KEEP, "f"), "(absent)");
	/* A new file of the old name is another file. */
	put(d, "f", "new", 3, 0, true);
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "x");
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "new");
	disk_free(d);
	simdisk_free(sd);
}

/* The same seeded workload, for the tests below. Errors end it. */
static int workload(struct disk *d, u64 seed)
{
	struct rng rng = { seed };
	char name[16], data[2000];
	struct file *f;
	int i, err = disk_mkdir(d, "dir", NULL);

	for (i = 0; i < 30 && !err; i++) {
		snprintf(name, sizeof(name), "dir/%llu",
			 (unsigned long long)rng_below(&rng, 6));
		rng_fill(&rng, data, sizeof(data));
		err = disk_open(d, name, DISK_WRITE | DISK_CREATE, &f, NULL);
		if (err)
			break;
		err = file_pwrite(f, data, 1 + rng_below(&rng, 1999),
				  rng_below(&rng, 9000), NULL);
		if (!err && rng_below(&rng, 2))
			err = file_sync(f, NULL);
		if (!err && rng_below(&rng, 4) == 0)
			err = file_truncate(f, rng_below(&rng, 5000), NULL);
		(void)file_close(f, NULL);
		if (!err && rng_below(&rng, 3) == 0)
			err = disk_rename(d, name, "dir/renamed", NULL);
		if (!err && rng_below(&rng, 4) == 0)
			err = disk_sync_dir(d, "dir", NULL);
		if (!err && rng_below(&rng, 8) == 0)
			err = disk_sync_dir(d, ".", NULL);
	}
	return err;
}

static u64 reboot_hash(struct simdisk *sd, u64 seed, enum sim_mode mode)
{
	struct simdisk *next = simdisk_reboot(sd, seed, mode);
	u64 h = simdisk_hash(next);

	simdisk_free(next);
	return h;
}

static void test_deterministic(void **state)
{
	struct simdisk *a = simdisk_new("data"), *b = simdisk_new("data"), *c;
	struct disk *da = simdisk_attach(a, true);
	struct disk *db = simdisk_attach(b, true);
	u64 first = 0, h, seed;
	bool differ = false;
	int mode;

	assert_int_equal(workload(da, 7), 0);
	assert_int_equal(workload(db, 7), 0);
	c = simdisk_clone(a);
	assert_true(simdisk_hash(a) == simdisk_hash(b));
	assert_true(simdisk_hash(a) == simdisk_hash(c));
	for (mode = 0; mode < SIM_NR_MODES; mode++) {
		for (seed = 0; seed < 20; seed++) {
			h = reboot_hash(a, seed, mode);
			assert_true(h == reboot_hash(b, seed, mode));
			assert_true(h == reboot_hash(c, seed, mode));
			if (mode == SIM_TORN && seed == 0)
				first = h;
			if (mode == SIM_TORN && h != first)
				differ = true;
			if (mode == SIM_KEEP)
				assert_true(h == simdisk_hash(a));
		}
	}
	assert_true(differ);
	disk_free(da);
	disk_free(db);
	simdisk_free(a);
	simdisk_free(b);
	simdisk_free(c);
}

/* Nothing from the n-th operation on has any effect. */
static void test_crash_at(void **state)
{
	struct simdisk *sd, *before;
	struct disk *d;
	char text[128];
	u64 total, n, h = 0;

	sd = simdisk_new("data");
	d = simdisk_attach(sd, true);
	assert_int_equal(workload(d, 3), 0);
	total = simdisk_nr_ops(sd);
	assert_true(total > 60);
	simdisk_describe(sd, 1, text, sizeof(text));
	assert_string_equal(text, "1 data: mkdir dir 0 bytes at 0");
	simdisk_describe(sd, total + 1, text, sizeof(text));
	assert_string_equal(text, "");
	disk_free(d);
	simdisk_free(sd);
	for (n = 1; n <= total; n++) {
		struct akin_diag diag = { 0 };
		struct disk_stat st;

		sd = simdisk_new("data");
		d = simdisk_attach(sd, true);
		simdisk_crash_at(sd, n);
		assert_int_equal(workload(d, 3), -AKIN_E_io);
		assert_true(simdisk_crashed(sd));
		assert_int_equal(simdisk_nr_ops(sd), n);
		before = simdisk_clone(sd);
		assert_int_equal(disk_mkdir(d, "later", NULL), -AKIN_E_io);
		assert_int_equal(disk_stat(d, "dir", &st, &diag), -AKIN_E_io);
		assert_string_equal(diag.text,
				    "data pool: dir: stat: simulated crash");
		assert_true(simdisk_hash(sd) == simdisk_hash(before));
		/* No two neighbours need differ (a sync changes nothing that
		 * a process sees), but the first and the last do. */
		if (n == 1)
			h = simdisk_hash(sd);
		if (n == total)
			assert_true(h != simdisk_hash(sd));
		disk_free(d);
		simdisk_free(sd);
		simdisk_free(before);
	}
}

/*
 * The smallest real crash test: whatever happens, a file written with
 * disk_write_file() is the old one or the new one, and the new one if the call
 * returned.
 */
static void test_write_file_is_atomic(void **state)
{
	struct simdisk *sd;
	struct disk *d;
	const char *text;
	unsigned old = 0, new = 0;
	u64 n, seed;
	int mode, err = -1;

	for (n = 1; err; n++) {
		sd = simdisk_new("data");
		d = simdisk_attach(sd, true);
		assert_int_equal(disk_write_file(d, "f", "the old one", 11,
						 NULL), 0);
		simdisk_crash_at(sd, simdisk_nr_ops(sd) + n);
		err = disk_write_file(d, "f", "new", 3, NULL);
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			for (seed = 0; seed < 30; seed++) {
				text = after(sd, seed, mode, "f");
				if (strcmp(text, "new") == 0) {
					new++;
					continue;
				}
				assert_string_equal(text, "the old one");
				assert_int_not_equal(err, 0);
				old++;
			}
		}
		disk_free(d);
		simdisk_free(sd);
	}
	/* Create, write, sync, rename, sync_dir: it failed at each. */
	assert_int_equal(n, 7);
	assert_true(old > 100 && new > 100);
}

static void test_join(void **state)
{
	struct simdisk *a = simdisk_new("metadata"), *b = simdisk_new("data");
	struct disk *da, *db;

	simdisk_join(b, a);
	da = simdisk_attach(a, true);
	db = simdisk_attach(b, true);
	assert_int_equal(disk_mkdir(da, "x", NULL), 0);
	assert_int_equal(disk_mkdir(db, "y", NULL), 0);
	assert_int_equal(simdisk_nr_ops(a), 2);
	assert_int_equal(simdisk_nr_ops(b), 2);
	simdisk_crash_at(b, 3);
	assert_int_equal(disk_mkdir(da, "z", NULL), -AKIN_E_io);
	assert_int_equal(disk_mkdir(db, "z", NULL), -AKIN_E_io);
	disk_free(da);
	disk_free(db);
	simdisk_free(a);
	simdisk_free(b);
}

static void test_faults(void **state)
{
	struct sim_fault fault = { SIM_WRITE, 2, -AKIN_E_nospace, false, NULL };
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct akin_diag diag = { 0 };
	struct file *f;
	u8 c;

	put(d, "f", "x", 1, 0, true);
	assert_int_equal(disk_open(d, "f", DISK_WRITE, &f, NULL), 0);
	simdisk_fail(sd, &fault);
	assert_int_equal(file_pwrite(f, "1", 1, 0, NULL), 0);
	assert_int_equal(file_pwrite(f, "2", 1, 0, &diag), -AKIN_E_nospace);
	assert_string_equal(diag.text, "data pool: f: write: simulated fault: "
			    "no space left");
	assert_int_equal(file_pwrite(f, "3", 1, 1, NULL), 0);
	assert_int_equal(simdisk_nr_faults(sd), 1);
	assert_string_equal(content(sd, "f"), "13");

	fault = (struct sim_fault){ SIM_READ, 1, -AKIN_E_io, true, "g" };
	simdisk_fail(sd, &fault);
	assert_int_equal(file_pread(f, &c, 1, 0, NULL), 0);
	fault.name = "f";
	simdisk_fail(sd, &fault);
	assert_int_equal(file_pread(f, &c, 1, 0, NULL), -AKIN_E_io);
	assert_int_equal(file_pread(f, &c, 1, 0, NULL), -AKIN_E_io);
	assert_int_equal(simdisk_nr_faults(sd), 2);
	fault = (struct sim_fault){ 0 };
	simdisk_fail(sd, &fault);
	assert_int_equal(file_pread(f, &c, 1, 0, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	disk_free(d);
	simdisk_free(sd);
}

/* After a failed sync the kernel calls lost pages clean. */
static void test_failed_sync(void **state)
{
	struct sim_fault fault = { SIM_SYNC, 1, -AKIN_E_io, false, NULL };
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct akin_diag diag = { 0 };
	struct file *f, *g;

	put(d, "f", "--", 2, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_int_equal(disk_open(d, "f", DISK_WRITE, &f, NULL), 0);
	assert_int_equal(disk_open(d, "f", DISK_WRITE, &g, NULL), 0);
	assert_int_equal(file_pwrite(f, "1", 1, 0, NULL), 0);
	assert_int_equal(file_pwrite(f, "2", 1, 1, NULL), 0);
	simdisk_fail(sd, &fault);
	assert_int_equal(file_sync(f, NULL), -AKIN_E_io);
	/* This open file remembers; another is told that all is well. */
	assert_int_equal(file_sync(f, &diag), -AKIN_E_io);
	assert_string_equal(diag.text, "data pool: f: sync: an earlier sync "
			    "failed: input/output error");
	assert_int_equal(file_sync(g, NULL), 0);
	assert_string_equal(content(sd, "f"), "12");
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "-2");
	assert_string_equal(after(sd, 0, SIM_KEEP, "f"), "-2");
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(file_close(g, NULL), 0);
	disk_free(d);
	simdisk_free(sd);
}

static void test_capacity(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct disk_space space;
	struct file *f, *g;
	char page[4096];
	u64 size;

	memset(page, 'p', sizeof(page));
	put(d, "f", page, 4096, 0, true);
	/* The top directory, the file, and its page. */
	assert_int_equal(simdisk_used(sd), 3 * 4096);
	simdisk_set_capacity(sd, 5 * 4096);
	assert_int_equal(disk_space(d, &space, NULL), 0);
	assert_int_equal(space.total_bytes, 5 * 4096);
	assert_int_equal(space.free_bytes, 2 * 4096);
	assert_int_equal(disk_open(d, "f", DISK_WRITE, &f, NULL), 0);
	assert_int_equal(file_reserve(f, 4 * 4096, NULL), -AKIN_E_nospace);
	assert_int_equal(file_size(f, &size, NULL), 0);
	assert_int_equal(size, 4096);
	/* Two more pages fit; of a third, nothing. */
	assert_int_equal(file_pwrite(f, page, 4096, 2 * 4096, NULL), 0);
	assert_int_equal(file_pwrite(f, page, 4096, 3 * 4096 - 5, NULL), 0);
	assert_int_equal(file_pwrite(f, page, 4096, 4 * 4096 - 5, NULL),
			 -AKIN_E_nospace);
	assert_int_equal(file_size(f, &size, NULL), 0);
	assert_int_equal(size, 4 * 4096);
	/* Overwriting, renaming, unlinking need none. */
	assert_int_equal(file_pwrite(f, page, 4096, 3 * 4096, NULL), 0);
	assert_int_equal(disk_rename(d, "f", "g", NULL), 0);
	assert_int_equal(disk_mkdir(d, "h", NULL), -AKIN_E_nospace);
	assert_int_equal(disk_open(d, "i", DISK_WRITE | DISK_CREATE, &g, NULL),
			 -AKIN_E_nospace);
	assert_int_equal(disk_tmp_open(d, ".", &g, NULL), -AKIN_E_nospace);
	assert_int_equal(disk_unlink(d, "g", NULL), 0);
	assert_int_equal(disk_mkdir(d, "h", NULL), -AKIN_E_nospace);
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(simdisk_used(sd), 4096);
	assert_int_equal(disk_mkdir(d, "h", NULL), 0);
	disk_free(d);
	simdisk_free(sd);
}

static void test_damage(void **state)
{
	struct simdisk *sd = simdisk_new("data"), *copy;
	struct disk *d = simdisk_attach(sd, true);

	put(d, "f", "abc", 3, 0, true);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	put(d, "f", "bcd", 3, 1, false);
	copy = simdisk_clone(sd);
	simdisk_flip_bit(sd, "f", 1, 5);
	simdisk_poke(sd, "f", 2, "X", 1);
	assert_string_equal(content(sd, "f"), "aBXd");
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "aBX");
	assert_string_equal(after(sd, 0, SIM_KEEP, "f"), "aBXd");
	assert_string_equal(content(copy, "f"), "abcd");
	assert_string_equal(after(copy, 0, SIM_LOSE, "f"), "abc");
	assert_string_equal(after(copy, 0, SIM_KEEP, "f"), "abcd");
	disk_free(d);
	simdisk_free(sd);
	simdisk_free(copy);
}

static void test_clone_is_apart(void **state)
{
	struct simdisk *sd = simdisk_new("data"), *copy;
	struct disk *d = simdisk_attach(sd, true), *e;

	put(d, "f", "one", 3, 0, true);
	copy = simdisk_clone(sd);
	e = simdisk_attach(copy, true);
	put(d, "f", "two", 3, 0, false);
	put(e, "f", "TEN", 3, 0, false);
	assert_int_equal(disk_sync_dir(e, ".", NULL), 0);
	assert_string_equal(content(sd, "f"), "two");
	assert_string_equal(content(copy, "f"), "TEN");
	assert_string_equal(after(sd, 0, SIM_LOSE, "f"), "(absent)");
	assert_string_equal(after(copy, 0, SIM_LOSE, "f"), "one");
	disk_free(d);
	disk_free(e);
	simdisk_free(sd);
	simdisk_free(copy);
}

/* Two processes; one dies with a lock, an open and a temporary file. */
static void test_kill(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *a = simdisk_attach(sd, true);
	struct disk *b = simdisk_attach(sd, true);
	struct akin_diag diag = { 0 };
	struct file *fa, *ta, *fb;
	u64 used;

	assert_int_equal(disk_open(a, "f", DISK_WRITE | DISK_CREATE, &fa,
				   NULL), 0);
	assert_int_equal(disk_open(b, "f", DISK_WRITE, &fb, NULL), 0);
	assert_int_equal(file_pwrite(fa, "page cache", 10, 0, NULL), 0);
	assert_int_equal(file_lock(fa, DISK_LOCK_READ, 5, 1, NULL), 0);
	assert_int_equal(file_lock(fb, DISK_LOCK_WRITE, 5, 1, NULL),
			 -AKIN_E_busy);
	used = simdisk_used(sd);
	assert_int_equal(disk_tmp_open(a, ".", &ta, NULL), 0);
	assert_int_equal(file_pwrite(ta, "x", 1, 0, NULL), 0);
	simdisk_kill(a);
	assert_int_equal(simdisk_used(sd), used);
	assert_int_equal(file_lock(fb, DISK_LOCK_WRITE, 5, 1, NULL), 0);
	assert_int_equal(file_pwrite(fa, "y", 1, 0, &diag), -AKIN_E_io);
	assert_string_equal(diag.text, "data pool: f: write: process is dead");
	assert_int_equal(disk_mkdir(a, "z", NULL), -AKIN_E_io);
	assert_string_equal(content(sd, "f"), "page cache");
	assert_int_equal(file_close(fb, NULL), 0);
	/* One is closed by hand, the other left to disk_free(). */
	assert_int_equal(file_close(fa, NULL), 0);
	disk_free(a);
	disk_free(b);
	simdisk_free(sd);
}

static void test_readonly(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true), *r;
	struct file *f;

	put(d, "f", "x", 1, 0, true);
	r = simdisk_attach(sd, false);
	assert_int_equal(disk_open(r, "f", DISK_WRITE, &f, NULL),
			 -AKIN_E_readonly);
	assert_int_equal(disk_unlink(r, "f", NULL), -AKIN_E_readonly);
	assert_int_equal(disk_mkdir(r, "g", NULL), -AKIN_E_readonly);
	assert_int_equal(disk_tmp_open(r, ".", &f, NULL), -AKIN_E_readonly);
	assert_int_equal(disk_open(r, "f", 0, &f, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	disk_free(r);
	disk_free(d);
	simdisk_free(sd);
}

static void test_names(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct sim_name *names;
	size_t nr;

	assert_int_equal(disk_mkdir(d, "b", NULL), 0);
	put(d, "b/x", "1234", 4, 0, false);
	put(d, "a", "", 0, 0, false);
	names = simdisk_names(sd, &nr);
	assert_int_equal(nr, 3);
	assert_string_equal(names[0].path, "a");
	assert_string_equal(names[1].path, "b");
	assert_true(names[1].is_dir);
	assert_string_equal(names[2].path, "b/x");
	assert_int_equal(names[2].size_bytes, 4);
	simdisk_names_free(names, nr);
	disk_free(d);
	simdisk_free(sd);
}

struct hammer {
	struct disk *disk;
	u64 seed;
	int err;
};

static void *hammer(void *arg)
{
	struct hammer *h = arg;
	struct rng rng = { h->seed };
	char name[16];
	struct file *f;
	int i;

	for (i = 0; i < 300 && !h->err; i++) {
		snprintf(name, sizeof(name), "%llu",
			 (unsigned long long)rng_below(&rng, 5));
		h->err = disk_open(h->disk, name, DISK_WRITE | DISK_CREATE, &f,
				   NULL);
		if (h->err)
			break;
		h->err = file_pwrite(f, name, sizeof(name),
				     rng_below(&rng, 20000), NULL);
		if (!h->err)
			h->err = file_sync(f, NULL);
		(void)file_close(f, NULL);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct simdisk *sd = simdisk_new("data"), *copy;
	struct disk *d = simdisk_attach(sd, true);
	struct hammer h[3];
	pthread_t t[3];
	int i;

	for (i = 0; i < 3; i++) {
		h[i] = (struct hammer){ d, (u64)i, 0 };
		assert_int_equal(pthread_create(&t[i], NULL, hammer, &h[i]),
				 0);
	}
	for (i = 0; i < 10; i++) {
		copy = simdisk_clone(sd);
		(void)simdisk_hash(copy);
		simdisk_free(copy);
	}
	for (i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(h[i].err, 0);
	}
	disk_free(d);
	simdisk_free(sd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract),
		cmocka_unit_test(test_synced_survives),
		cmocka_unit_test(test_sync_is_not_sync_dir),
		cmocka_unit_test(test_sync_dir_is_not_sync),
		cmocka_unit_test(test_tearing),
		cmocka_unit_test(test_reordering),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_rename_across),
		cmocka_unit_test(test_name_order),
		cmocka_unit_test(test_unlink),
		cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_crash_at),
		cmocka_unit_test(test_write_file_is_atomic),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_failed_sync),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_clone_is_apart),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_readonly),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
