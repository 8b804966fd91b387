/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of os/disk.h, asserted with cmocka.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "disk_contract.h"

#define NEW_FILE (DISK_WRITE | DISK_CREATE | DISK_EXCL)

static struct file *must_open(struct disk *d, const char *name, unsigned flags)
{
	struct file *f;
	struct akin_diag diag = { 0 };

	if (disk_open(d, name, flags, &f, &diag))
		fail_msg("%s", diag.text);
	return f;
}

static void names_and_codes(struct disk *d)
{
	struct akin_diag diag = { 0 };
	struct disk_stat st;
	struct file *f;

	assert_int_equal(disk_open(d, "nothing", 0, &f, &diag),
			 -AKIN_E_absent);
	assert_null(f);
	assert_int_equal(diag.code, -AKIN_E_absent);
	assert_non_null(strstr(diag.text, "data pool: nothing: open: "));
	/* An earlier error is not touched. */
	assert_int_equal(disk_unlink(d, "nowhere", &diag), -AKIN_E_absent);
	assert_non_null(strstr(diag.text, "data pool: nothing: open: "));

	assert_int_equal(disk_mkdir(d, "dir", NULL), 0);
	assert_int_equal(disk_mkdir(d, "dir", NULL), 0);
	assert_int_equal(disk_mkdir(d, "no/dir", NULL), -AKIN_E_absent);
	assert_int_equal(disk_stat(d, "dir", &st, NULL), 0);
	assert_true(st.is_dir);
	assert_int_equal(disk_open(d, "dir", 0, &f, NULL), -AKIN_E_io);

	f = must_open(d, "dir/a", NEW_FILE);
	assert_string_equal(f->name, "dir/a");
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(disk_open(d, "dir/a", NEW_FILE, &f, NULL),
			 -AKIN_E_exists);
	assert_int_equal(disk_mkdir(d, "dir/a", NULL), -AKIN_E_exists);
	assert_int_equal(disk_open(d, "dir/a/b", 0, &f, NULL), -AKIN_E_absent);

	assert_int_equal(disk_rename(d, "dir/zz", "dir/b", NULL),
			 -AKIN_E_absent);
	assert_int_equal(disk_rename(d, "dir/a", "b", NULL), 0);
	assert_int_equal(disk_stat(d, "dir/a", &st, NULL), -AKIN_E_absent);
	assert_int_equal(disk_stat(d, "./b", &st, NULL), 0);
	assert_false(st.is_dir);
	assert_int_equal(st.size_bytes, 0);
	assert_int_equal(disk_sync_dir(d, "dir", NULL), 0);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_int_equal(disk_sync_dir(d, "no", NULL), -AKIN_E_absent);
	assert_int_equal(disk_unlink(d, "b", NULL), 0);
	assert_int_equal(disk_unlink(d, "b", NULL), -AKIN_E_absent);
}

static void bytes(struct disk *d)
{
	struct akin_diag diag = { 0 };
	struct file *f = must_open(d, "dir/bytes", NEW_FILE), *g;
	u8 buf[64];
	u64 size;

	assert_int_equal(file_pwrite(f, "tail", 4, 9000, NULL), 0);
	assert_int_equal(file_pwrite(f, "head", 4, 0, NULL), 0);
	assert_int_equal(file_pwrite(f, "", 0, 99999, NULL), 0);
	assert_int_equal(file_size(f, &size, NULL), 0);
	assert_int_equal(size, 9004);
	assert_int_equal(file_pread(f, buf, 8, 0, NULL), 0);
	assert_memory_equal(buf, "head\0\0\0\0", 8);
	assert_int_equal(file_pread(f, buf, 6, 8998, NULL), 0);
	assert_memory_equal(buf, "\0\0tail", 6);
	assert_int_equal(file_pread(f, buf, 0, 1 << 20, NULL), 0);

	assert_int_equal(file_pread(f, buf, 7, 8998, &diag),
			 -AKIN_E_short_read);
	assert_string_equal(diag.text, "data pool: dir/bytes: read of 7 bytes "
			    "at 8998: file is shorter than it must be");
	assert_int_equal(file_pread(f, buf, 8, UINT64_MAX - 3, NULL),
			 -AKIN_E_short_read);
	assert_int_equal(file_pwrite(f, buf, 8, INT64_MAX, NULL),
			 -AKIN_E_too_large);

	/* What was cut off does not come back when the file grows. */
	assert_int_equal(file_truncate(f, 9002, NULL), 0);
	assert_int_equal(file_truncate(f, 9010, NULL), 0);
	assert_int_equal(file_pread(f, buf, 10, 9000, NULL), 0);
	assert_memory_equal(buf, "ta\0\0\0\0\0\0\0\0", 10);
	assert_int_equal(file_truncate(f, UINT64_MAX, NULL),
			 -AKIN_E_too_large);
	assert_int_equal(file_sync(f, NULL), 0);

	g = must_open(d, "dir/bytes", 0);
	assert_int_equal(file_pwrite(g, "x", 1, 0, NULL), -AKIN_E_io);
	assert_int_equal(file_pread(g, buf, 4, 0, NULL), 0);
	assert_memory_equal(buf, "head", 4);
	/* Unlinked files live while they are open. */
	assert_int_equal(disk_unlink(d, "dir/bytes", NULL), 0);
	assert_int_equal(file_pread(g, buf, 4, 0, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(file_close(g, NULL), 0);
	assert_int_equal(file_close(NULL, NULL), 0);
}

static void reserve_and_truncate(struct disk *d)
{
	struct file *f = must_open(d, "res", NEW_FILE);
	struct disk_stat st;
	u8 buf[8];

	assert_int_equal(file_pwrite(f, "abc", 3, 0, NULL), 0);
	assert_int_equal(file_reserve(f, 100000, NULL), 0);
	assert_int_equal(disk_stat(d, "res", &st, NULL), 0);
	assert_int_equal(st.size_bytes, 100000);
	assert_true(st.alloc_bytes >= 100000);
	/* Never shortens. */
	assert_int_equal(file_reserve(f, 10, NULL), 0);
	assert_int_equal(file_reserve(f, 0, NULL), 0);
	assert_int_equal(disk_stat(d, "res", &st, NULL), 0);
	assert_int_equal(st.size_bytes, 100000);
	assert_int_equal(file_pread(f, buf, 8, 0, NULL), 0);
	assert_memory_equal(buf, "abc\0\0\0\0\0", 8);
	assert_int_equal(file_pread(f, buf, 8, 99992, NULL), 0);
	assert_memory_equal(buf, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(file_close(f, NULL), 0);
	f = must_open(d, "res", DISK_WRITE | DISK_TRUNC);
	assert_int_equal(disk_stat(d, "res", &st, NULL), 0);
	assert_int_equal(st.size_bytes, 0);
	assert_int_equal(st.alloc_bytes, 0);
	assert_int_equal(file_close(f, NULL), 0);
}

#define MANY 300
#define MANY_BYTES 1000

/* Each byte of the file is a function of its offset. */
static u8 byte_at(u64 off)
{
	return (u8)(off * 31 ^ off >> 8);
}

static void reads_prepare(struct disk_read *reads, struct file *f, u8 *data,
			  u64 size)
{
	size_t i;

	for (i = 0; i < MANY; i++) {
		reads[i].file = f;
		reads[i].data = data + i * MANY_BYTES;
		reads[i].len = i % 7 ? MANY_BYTES : i;
		reads[i].off = (i * 7919) % (size - MANY_BYTES);
		reads[i].result = 1;
	}
	/* Ends in the file, begins behind it, none can be there, is empty. */
	reads[10].off = size - 10;
	reads[10].len = MANY_BYTES;
	reads[100].off = size + 5;
	reads[200].off = UINT64_MAX - 4;
	reads[201].len = 0;
	reads[201].off = size * 2;
}

static void read_many(struct disk *d)
{
	struct file *f = must_open(d, "many", NEW_FILE);
	u8 *all = malloc(MANY * MANY_BYTES), *data;
	struct disk_read reads[MANY];
	struct akin_diag diag = { 0 };
	u64 size = MANY * MANY_BYTES, before, want = 0;
	size_t i, k;

	data = malloc(MANY * MANY_BYTES);
	assert_true(all && data);
	for (i = 0; i < size; i++)
		all[i] = byte_at(i);
	assert_int_equal(file_pwrite(f, all, size, 0, NULL), 0);
	reads_prepare(reads, f, data, size);
	before = atomic_load(&disk_io(d)->read.bytes);
	assert_int_equal(file_pread_many(d, reads, MANY, NULL), 0);
	for (i = 0; i < MANY; i++) {
		if (i == 10 || i == 100 || i == 200) {
			assert_int_equal(reads[i].result, -AKIN_E_short_read);
			continue;
		}
		assert_int_equal(reads[i].result, 0);
		want += reads[i].len;
		for (k = 0; k < reads[i].len; k++) {
			if (data[i * MANY_BYTES + k] !=
			    byte_at(reads[i].off + k))
				fail_msg("read %zu, byte %zu", i, k);
		}
	}
	assert_int_equal(atomic_load(&disk_io(d)->read.bytes) - before, want);
	assert_int_equal(disk_read_error(&reads[0], &diag), 0);
	assert_int_equal(diag.code, 0);
	assert_int_equal(disk_read_error(&reads[10], &diag),
			 -AKIN_E_short_read);
	assert_string_equal(diag.text, "data pool: many: read of 1000 bytes at "
			    "299990: file is shorter than it must be");
	assert_int_equal(file_pread_many(d, reads, 0, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	free(all);
	free(data);
}

static void temporary(struct disk *d)
{
	struct akin_diag diag = { 0 };
	struct disk_stat st;
	struct file *f, *g;
	u8 buf[4];

	assert_int_equal(disk_tmp_open(d, "no", &f, &diag), -AKIN_E_absent);
	assert_null(f);
	assert_non_null(strstr(diag.text,
			       "data pool: no/(temporary file): "));
	assert_int_equal(disk_tmp_open(d, "dir", &f, NULL), 0);
	assert_int_equal(disk_tmp_open(d, ".", &g, NULL), 0);
	assert_int_equal(file_pwrite(f, "spill", 5, 0, NULL), 0);
	assert_int_equal(file_pread(f, buf, 4, 1, NULL), 0);
	assert_memory_equal(buf, "pill", 4);
	assert_int_equal(file_pread(g, buf, 1, 0, NULL), -AKIN_E_short_read);
	assert_int_equal(disk_stat(d, f->name, &st, NULL), -AKIN_E_absent);
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(file_close(g, NULL), 0);
}

struct seen {
	unsigned files, dirs, calls;
	int stop_with;
};

static int see(void *ctx, const char *name, bool is_dir)
{
	struct seen *s = ctx;

	s->calls++;
	if (is_dir && strcmp(name, "sub") == 0)
		s->dirs |= 1;
	else if (!is_dir && name[0] == 'f' && name[2] == 0)
		s->files |= 1u << (name[1] - '0');
	else
		fail_msg("unexpected name %s", name);
	return s->stop_with;
}

static void listing(struct disk *d)
{
	struct akin_diag diag = { 0 };
	struct seen s = { 0 };
	char name[16];
	int i;

	assert_int_equal(disk_mkdir(d, "list", NULL), 0);
	assert_int_equal(disk_list(d, "list", see, &s, NULL), 0);
	assert_int_equal(s.calls, 0);
	assert_int_equal(disk_mkdir(d, "list/sub", NULL), 0);
	for (i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "list/f%d", i);
		(void)file_close(must_open(d, name, NEW_FILE), NULL);
	}
	assert_int_equal(disk_list(d, "list", see, &s, NULL), 0);
	assert_int_equal(s.calls, 6);
	assert_int_equal(s.files, 31);
	assert_int_equal(s.dirs, 1);
	/* The callback's code is handed on, without a message. */
	s = (struct seen){ .stop_with = -AKIN_E_interrupted };
	assert_int_equal(disk_list(d, "list", see, &s, &diag),
			 -AKIN_E_interrupted);
	assert_int_equal(s.calls, 1);
	assert_int_equal(diag.code, 0);
	assert_int_equal(disk_list(d, "list/f1", see, &s, NULL),
			 -AKIN_E_absent);
	assert_int_equal(disk_list(d, "no", see, &s, NULL), -AKIN_E_absent);
}

static void locks(struct disk *d)
{
	struct akin_diag diag = { 0 };
	struct file *a = must_open(d, "lock", NEW_FILE);
	struct file *b = must_open(d, "lock", DISK_WRITE);
	struct file *r = must_open(d, "lock", 0);
	u64 off, len;

	assert_int_equal(file_lock(a, DISK_LOCK_READ, 100, 10, NULL), 0);
	assert_int_equal(file_lock(b, DISK_LOCK_READ, 105, 10, NULL), 0);
	assert_int_equal(file_lock(b, DISK_LOCK_WRITE, 109, 1, &diag),
			 -AKIN_E_busy);
	assert_non_null(strstr(diag.text,
			       "data pool: lock: lock of 1 bytes at 109: "));
	/* A read lock does not hinder readers; nobody hinders himself. */
	assert_int_equal(file_lock_test(r, DISK_LOCK_READ, 0, 0, &off, &len,
					NULL), 0);
	assert_int_equal(len, 0);
	assert_int_equal(file_lock(b, DISK_LOCK_WRITE, 110, 5, NULL), 0);
	assert_int_equal(file_lock(a, DISK_LOCK_WRITE, 100, 5, NULL), 0);
	/* Now: a writes 100-104, reads 105-109; b reads 105-109, writes
	 * 110-114. */
	assert_int_equal(file_lock_test(r, DISK_LOCK_READ, 0, 0, &off, &len,
					NULL), 0);
	assert_int_equal(off, 100);
	assert_int_equal(len, 5);
	assert_int_equal(file_lock_test(r, DISK_LOCK_READ, 105, 6, &off, &len,
					NULL), 0);
	assert_int_equal(off, 110);
	assert_int_equal(len, 1);
	assert_int_equal(file_lock_test(a, DISK_LOCK_WRITE, 0, 0, &off, &len,
					NULL), 0);
	assert_int_equal(off, 105);
	assert_int_equal(len, 5);
	assert_int_equal(file_lock(r, DISK_LOCK_READ, 0, 100, NULL), 0);
	assert_int_equal(file_lock(r, DISK_LOCK_READ, 0, 0, NULL),
			 -AKIN_E_busy);
	/* A reader cannot take a write lock. */
	assert_int_equal(file_lock(r, DISK_LOCK_WRITE, 500, 1, NULL),
			 -AKIN_E_io);
	assert_int_equal(file_lock(b, DISK_LOCK_NONE, 0, 0, NULL), 0);
	assert_int_equal(file_lock(a, DISK_LOCK_WRITE, 105, 500, NULL), 0);
	/* Closing drops. */
	assert_int_equal(file_close(a, NULL), 0);
	assert_int_equal(file_lock(b, DISK_LOCK_WRITE, 100, 0, NULL), 0);
	assert_int_equal(file_close(b, NULL), 0);
	assert_int_equal(file_close(r, NULL), 0);
}

/* The lowest of many, whatever order they were taken in; far offsets. */
static void locks_lowest(struct disk *d)
{
	static const u64 at[] = { 700, 300, 900, (u64)1 << 62, 500 };
	struct file *f[ARRAY_SIZE(at)], *t;
	u64 off, len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		f[i] = must_open(d, "lock", 0);
		assert_int_equal(file_lock(f[i], DISK_LOCK_READ, at[i], 1,
					   NULL), 0);
	}
	t = must_open(d, "lock", DISK_WRITE);
	assert_int_equal(file_lock_test(t, DISK_LOCK_WRITE, 0, 0, &off, &len,
					NULL), 0);
	assert_int_equal(off, 300);
	assert_int_equal(len, 1);
	assert_int_equal(file_lock_test(t, DISK_LOCK_WRITE, 301, 1000, &off,
					&len, NULL), 0);
	assert_int_equal(off, 500);
	assert_int_equal(file_lock_test(t, DISK_LOCK_WRITE, 901, 0, &off, &len,
					NULL), 0);
	assert_true(off == (u64)1 << 62);
	assert_int_equal(len, 1);
	assert_int_equal(file_close(t, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		assert_int_equal(file_close(f[i], NULL), 0);
}

static void whole_files(struct disk *d)
{
	struct akin_diag diag = { 0 };
	struct disk_stat st;
	size_t len;
	u8 *data;

	assert_int_equal(disk_write_file(d, "dir/whole", "one", 3, NULL), 0);
	assert_int_equal(disk_write_file(d, "dir/whole", "second", 6, NULL),
			 0);
	assert_int_equal(disk_stat(d, "dir/whole.tmp", &st, NULL),
			 -AKIN_E_absent);
	assert_int_equal(disk_read_file(d, "dir/whole", 6, &data, &len, NULL),
			 0);
	assert_int_equal(len, 6);
	assert_string_equal((char *)data, "second");
	mem_free(data);
	assert_int_equal(disk_read_file(d, "dir/whole", 5, &data, &len, &diag),
			 -AKIN_E_bad_length);
	assert_null(data);
	assert_string_equal(diag.text, "data pool: dir/whole: 6 bytes, at most "
			    "5 are expected");
	assert_int_equal(disk_write_file(d, "empty", "", 0, NULL), 0);
	assert_int_equal(disk_read_file(d, "empty", 0, &data, &len, NULL), 0);
	assert_int_equal(len, 0);
	assert_int_equal(data[0], 0);
	mem_free(data);
	assert_int_equal(disk_write_file(d, "no/whole", "x", 1, NULL),
			 -AKIN_E_absent);
}

static void counters(struct disk *d)
{
	struct file *f = must_open(d, "count", NEW_FILE);
	u64 w = atomic_load(&disk_io(d)->write.bytes);
	u64 wo = atomic_load(&disk_io(d)->write.ops);
	u64 so = atomic_load(&disk_io(d)->sync.ops);
	u64 oo = atomic_load(&disk_io(d)->other.ops);
	u64 size;

	assert_int_equal(file_pwrite(f, "12345", 5, 0, NULL), 0);
	assert_int_equal(file_pwrite(f, "1", 1, INT64_MAX, NULL),
			 -AKIN_E_too_large);
	assert_int_equal(file_sync(f, NULL), 0);
	assert_int_equal(disk_sync_dir(d, ".", NULL), 0);
	assert_int_equal(file_size(f, &size, NULL), 0);
	assert_int_equal(atomic_load(&disk_io(d)->write.bytes) - w, 5);
	assert_int_equal(atomic_load(&disk_io(d)->write.ops) - wo, 2);
	assert_int_equal(atomic_load(&disk_io(d)->sync.ops) - so, 2);
	assert_int_equal(atomic_load(&disk_io(d)->other.ops) - oo, 1);
	assert_true(atomic_load(&disk_io(d)->write.ns) > 0);
	assert_int_equal(file_close(f, NULL), 0);
}

/* Every allocation fails once: an error each time, then success. */
static void without_memory(struct disk *d)
{
	size_t len;
	u8 *data;
	int err;
	u64 n;

	for (n = 1;; n++) {
		mem_fail_after(n);
		err = disk_write_file(d, "mem", "x", 1, NULL);
		if (!err)
			err = disk_read_file(d, "mem", 9, &data, &len, NULL);
		mem_fail_after(0);
		if (!err)
			break;
		assert_int_equal(err, -AKIN_E_nomem);
		assert_true(n < 50);
	}
	assert_true(n > 3);
	mem_free(data);
}

void disk_contract(struct disk *d)
{
	struct disk_space space;

	names_and_codes(d);
	bytes(d);
	reserve_and_truncate(d);
	read_many(d);
	temporary(d);
	listing(d);
	locks(d);
	locks_lowest(d);
	whole_files(d);
	counters(d);
	without_memory(d);
	assert_int_equal(disk_space(d, &space, NULL), 0);
	assert_true(space.total_bytes > 0);
	assert_true(space.free_bytes <= space.total_bytes);
}
