/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters: what the table makes, exact sums, several processes, and files
 * that lie. What a pool counts is in test_counters_pool.c.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/clock.h"
#include "os/counters_internal.h"
#include "store/store.h"
#include "testlib.h"

#define OK(expr) assert_int_equal(expr, 0)

static const u8 pool_id[COUNTERS_POOL_BYTES] = { 1, 2, 3 };
static const struct counters_readers nobody;
static char top[64];		/* of the running test */
static char *own_args;
static size_t own_args_len;

static int setup(void **state)
{
	snprintf(top, sizeof(top), "/tmp/akin-counters-XXXXXX");
	assert_non_null(mkdtemp(top));
	OK(setenv("AKIN_COUNTERS", top, 1));
	return 0;
}

/* Files, without those of pools that were closed. */
static u32 each_file(bool remove_too)
{
	const struct counters_header *h;
	u8 bytes[COUNTERS_FILE_BYTES];
	int fd;

	DIR *d = opendir(top);
	struct dirent *e;
	u32 nr = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		memset(bytes, 0, sizeof(bytes));
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_NONBLOCK);
		if (fd >= 0 && read(fd, bytes, sizeof(bytes)) >= 0)
			close(fd);
		h = (const void *)bytes;
		nr += h->magic != COUNTERS_MAGIC || !h->closed_ns;
		if (remove_too && unlinkat(dirfd(d), e->d_name, 0))
			OK(unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR));
	}
	closedir(d);
	return nr;
}

static int teardown(void **state)
{
	OK(chmod(top, 0700));
	each_file(true);
	OK(rmdir(top));
	OK(unsetenv("AKIN_COUNTERS"));
	return 0;
}

/* What counters_file_each() shows. */
struct shown {
	struct counters_seen all[8];
	u32 nr;
};

static int show(void *ctx, const struct counters_seen *seen)
{
	struct shown *s = ctx;

	if (seen->closed)
		return 0;
	assert_true(s->nr < ARRAY_SIZE(s->all));
	s->all[s->nr++] = *seen;
	return 0;
}

static u32 nr_shown(void)
{
	struct shown s = { .nr = 0 };

	OK(counters_file_each(show, &s));
	return s.nr;
}

static struct counters_file *must_open(void)
{
	struct counters_file *cf;

	OK(counters_file_open(pool_id, &nobody, &cf, NULL));
	return cf;
}

static void test_table(void **state)
{
	const struct akin_counter_field *f;
	u32 nr, i, k, next = 0;

	f = akin_counter_fields(&nr);
	for (i = 0; i < nr; i++) {
		assert_int_equal(f[i].first, next);
		assert_int_equal(f[i].nr, f[i].kind == AKIN_KIND_HISTOGRAM ?
				 AKIN_LATENCY_BUCKETS : 1);
		next += f[i].nr;
		assert_true(f[i].unit[0] && f[i].help[0]);
		assert_int_equal(strspn(f[i].name,
					"abcdefghijklmnopqrstuvwxyz_"),
				 strlen(f[i].name));
		for (k = 0; k < i; k++)
			assert_string_not_equal(f[i].name, f[k].name);
	}
	assert_int_equal(next, AKIN_NR_COUNTER_VALUES);
	i = AKIN_COUNTER_data_sync_latency_last;
	assert_int_equal(i - AKIN_COUNTER_data_sync_latency,
			 AKIN_LATENCY_BUCKETS - 1);
	assert_int_equal(i + 1, AKIN_COUNTER_data_other_ops);
}

static void test_buckets(void **state)
{
	u32 i;

	assert_int_equal(counters_bucket(0), 0);
	assert_int_equal(counters_bucket(999), 0);
	for (i = 1; i < AKIN_LATENCY_BUCKETS; i++) {
		assert_int_equal(counters_bucket((1000ull << i) / 2), i);
		assert_int_equal(counters_bucket((1000ull << i) - 1), i);
	}
	assert_int_equal(counters_bucket(1000ull << 23), 23);
	assert_int_equal(counters_bucket(UINT64_MAX), 23);
}

static void test_adding(void **state)
{
	struct counters_disk a = { 0 }, b = { 0 };
	struct counters all = { 0 }, *c = &all, *none = NULL;
	u64 values[AKIN_NR_COUNTER_VALUES];

	counters_io_add(&a.read, 3, 300, 5000);
	counters_io_add(&a.read, 1, 0, 100);
	counters_io_add(&a.other, 1, 0, UINT64_MAX);
	counters_io_add(&b.read, 1, 7, 5000);
	counters_disk_add(&b, &a);
	counters_disk_add(&c->data, &b);
	counters_add(c, warnings, 2);
	counters_set(c, warnings, 9);
	counters_add(c, warnings, 1);
	counters_add(none, warnings, 1);
	counters_set(none, warnings, 1);
	counters_read(c, values);
	assert_int_equal(values[AKIN_COUNTER_warnings], 10);
	assert_int_equal(values[AKIN_COUNTER_data_read_ops], 5);
	assert_int_equal(values[AKIN_COUNTER_data_read_bytes], 307);
	assert_int_equal(values[AKIN_COUNTER_data_read_ns], 10100);
	assert_int_equal(values[AKIN_COUNTER_data_read_latency], 1);
	assert_int_equal(values[AKIN_COUNTER_data_read_latency + 3], 4);
	assert_int_equal(values[AKIN_COUNTER_data_other_latency_last], 1);
	assert_int_equal(values[AKIN_COUNTER_metadata_read_ops], 0);
}

static void *count_many(void *arg)
{
	struct counters *c = arg;
	u32 i;

	for (i = 0; i < 10000; i++) {
		counters_add(c, bytes_in, 3);
		counters_io_add(&c->data.write, 1, 2, 1000);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct counters_file *cf = must_open();
	struct shown s = { .nr = 0 };
	pthread_t t[4];
	u32 i;

	for (i = 0; i < 4; i++)
		OK(pthread_create(&t[i], NULL, count_many,
				  counters_file_counters(cf)));
	for (i = 0; i < 4; i++)
		OK(pthread_join(t[i], NULL));
	OK(counters_file_each(show, &s));
	assert_int_equal(s.nr, 1);
	assert_int_equal(s.all[0].values[AKIN_COUNTER_bytes_in], 120000);
	assert_int_equal(s.all[0].values[AKIN_COUNTER_data_write_bytes], 80000);
	assert_int_equal(
		s.all[0].values[AKIN_COUNTER_data_write_latency + 1], 40000);
	counters_file_close(cf);
}

static void test_many_pools(void **state)
{
	struct counters_file *cf[3];
	struct shown s = { .nr = 0 };
	u32 i;

	for (i = 0; i < 3; i++) {
		cf[i] = must_open();
		assert_non_null(counters_file_path(cf[i]));
	}
	counters_file_close(cf[1]);
	cf[1] = must_open();	/* its name is free again */
	OK(counters_file_each(show, &s));
	assert_int_equal(s.nr, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(s.all[i].pid, getpid());
		assert_int_equal(s.all[i].uid, geteuid());
		assert_memory_equal(s.all[i].pool, pool_id, sizeof(pool_id));
		assert_true(s.all[i].opened_sec > 1600000000);
		assert_non_null(strstr(s.all[i].command, "test_counters"));
		counters_file_close(cf[i]);
	}
	counters_file_close(NULL);
	assert_int_equal(each_file(false), 0);
}

static mode_t mode_for(bool group, bool others)
{
	struct counters_readers r = { group, others, getegid() };
	struct counters_file *cf;
	struct stat st;

	OK(counters_file_open(pool_id, &r, &cf, NULL));
	OK(stat(counters_file_path(cf), &st));
	counters_file_close(cf);
	return st.st_mode & 0777;
}

static int show_closed(void *ctx, const struct counters_seen *seen)
{
	struct counters_seen *out = ctx;

	*out = *seen;
	return seen->closed ? 42 : 0;
}

/* The last values can be seen for a while, whether the process lives or not. */
static void test_closed(void **state)
{
	struct counters_file *cf = must_open();
	struct counters_seen s;
	int status;
	pid_t pid;

	counters_add(counters_file_counters(cf), bytes_in, 9);
	OK(counters_file_each(show_closed, &s));
	counters_file_close(cf);
	assert_int_equal(counters_file_each(show_closed, &s), 42);
	assert_int_equal(s.values[AKIN_COUNTER_bytes_in], 9);
	assert_non_null(strstr(s.command, "test_counters"));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		each_file(true);
		cf = must_open();
		counters_add(counters_file_counters(cf), bytes_in, 11);
		counters_file_close(cf);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(counters_file_each(show_closed, &s), 42);
	assert_int_equal(s.pid, pid);
	assert_int_equal(s.values[AKIN_COUNTER_bytes_in], 11);
	assert_non_null(strstr(s.command, "test_counters"));
}

/* Who may read the pool may read what is counted, whatever the umask. */
static void test_readers(void **state)
{
	mode_t old = umask(0077);

	assert_int_equal(mode_for(false, false), 0600);
	assert_int_equal(mode_for(true, false), 0640);
	assert_int_equal(mode_for(false, true), 0604);
	assert_int_equal(mode_for(true, true), 0644);
	umask(old);
}

/* Streams -------------------------------------------------------------------*/

static void test_streams(void **state)
{
	struct counters_file *cf = must_open();
	struct counters_streams *all = counters_file_streams(cf);
	struct counters_stream *a, *b;
	struct shown s = { .nr = 0 };
	const struct akin_counters_stream *t = s.all[0].streams;
	char name[200];

	a = counters_stream_begin(all, AKIN_STREAM_IN, "first", 1000);
	b = counters_stream_begin(all, AKIN_STREAM_OUT, "a\033[2Jb\n", 2000);
	counters_stream_add(a, 300, 20);
	counters_stream_add(a, 5, 0);
	counters_stream_item(a);
	counters_stream_add(b, 7, 0);
	OK(counters_file_each(show, &s));
	assert_int_equal(s.all[0].nr_streams, 2);
	assert_int_equal(t[0].id, 1);
	assert_int_equal(t[0].kind, AKIN_STREAM_IN);
	assert_int_equal(t[0].begun_ns, 1000);
	assert_int_equal(t[0].bytes, 305);
	assert_int_equal(t[0].bytes_new, 20);
	assert_int_equal(t[0].items, 1);
	assert_string_equal(t[0].name, "first");
	assert_int_equal(t[1].kind, AKIN_STREAM_OUT);
	assert_string_equal(t[1].name, "a [2Jb ");

	/* A slot is used again, under another number. */
	counters_stream_end(a);
	a = counters_stream_begin(all, AKIN_STREAM_IN, "", 3000);
	memset(name, 'x', sizeof(name));
	memcpy(name + sizeof(name) - 8, "the end", 8);
	counters_stream_name(a, name);
	s.nr = 0;
	OK(counters_file_each(show, &s));
	assert_int_equal(s.all[0].nr_streams, 2);
	assert_int_equal(t[0].id, 2);
	assert_int_equal(t[1].id, 3);
	assert_int_equal(t[1].bytes, 0);
	assert_int_equal(strlen(t[1].name), AKIN_STREAM_NAME - 1);
	assert_string_equal(t[1].name + AKIN_STREAM_NAME - 8, "the end");
	counters_file_close(cf);
}

static void test_too_many_streams(void **state)
{
	static struct counters_streams all;
	struct counters_stream *st[COUNTERS_STREAMS];
	u32 i;

	for (i = 0; i < COUNTERS_STREAMS; i++) {
		st[i] = counters_stream_begin(&all, AKIN_STREAM_IN, "x", 1);
		assert_non_null(st[i]);
	}
	assert_null(counters_stream_begin(&all, AKIN_STREAM_IN, "x", 1));
	counters_stream_end(st[7]);
	assert_ptr_equal(counters_stream_begin(&all, AKIN_STREAM_IN, "y", 1),
			 st[7]);
	/* Who got none goes on as ever. */
	assert_null(counters_stream_begin(NULL, AKIN_STREAM_IN, "x", 1));
	counters_stream_name(NULL, "x");
	counters_stream_add(NULL, 1, 1);
	counters_stream_item(NULL);
	counters_stream_end(NULL);
}

/* Processes -----------------------------------------------------------------*/

/* Counts and stays until it is killed. */
static pid_t start_child(u64 bytes_in)
{
	struct counters_file *cf;
	int pipes[2];
	pid_t pid;
	char c;

	OK(pipe(pipes));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (counters_file_open(pool_id, &nobody, &cf, NULL))
			_exit(1);
		counters_add(counters_file_counters(cf), bytes_in, bytes_in);
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &c, 1), 1);
	close(pipes[0]);
	return pid;
}

static void test_two_processes(void **state)
{
	struct counters_file *cf = must_open();
	pid_t pid = start_child(77);
	struct shown s = { .nr = 0 };
	siginfo_t info;
	u32 own;

	counters_add(counters_file_counters(cf), bytes_in, 5);
	OK(counters_file_each(show, &s));
	assert_int_equal(s.nr, 2);
	own = s.all[0].pid == (u32)getpid() ? 0 : 1;
	assert_int_equal(s.all[own].values[AKIN_COUNTER_bytes_in], 5);
	assert_int_equal(s.all[!own].pid, pid);
	assert_int_equal(s.all[!own].values[AKIN_COUNTER_bytes_in], 77);

	OK(kill(pid, SIGKILL));
	OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	assert_int_equal(each_file(false), 2);
	assert_int_equal(nr_shown(), 1);	/* a zombie is dead */
	assert_int_equal(each_file(false), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(nr_shown(), 1);
	counters_file_close(cf);
}

static int stop_at_first(void *ctx, const struct counters_seen *seen)
{
	++*(u32 *)ctx;
	return -AKIN_E_interrupted;
}

static void test_stop(void **state)
{
	struct counters_file *a = must_open(), *b = must_open();
	u32 nr = 0;

	assert_int_equal(counters_file_each(stop_at_first, &nr),
			 -AKIN_E_interrupted);
	assert_int_equal(nr, 1);
	counters_file_close(a);
	counters_file_close(b);
}

/* Files that lie ------------------------------------------------------------*/

/* A file of this process as handle 99, otherwise like a real one. */
static void make_image(struct counters_name *name, u8 *bytes)
{
	struct counters_file *cf = must_open();
	struct counters_header h;
	int fd;

	fd = open(counters_file_path(cf), O_RDONLY);
	assert_int_equal(read(fd, bytes, COUNTERS_FILE_BYTES),
			 COUNTERS_FILE_BYTES);
	close(fd);
	counters_file_close(cf);
	assert_true(counters_name_self(name));
	name->handle = 99;
	memcpy(&h, bytes, sizeof(h));
	h.name = *name;
	memcpy(bytes, &h, sizeof(h));
}

static void put_file(const struct counters_name *name, const void *bytes,
		     size_t len)
{
	char text[COUNTERS_NAME_MAX], path[256];
	int fd;

	counters_name_print(name, text);
	snprintf(path, sizeof(path), "%s/%s", top, text);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static u32 shown_with(const struct counters_name *name, const void *bytes,
		      size_t len)
{
	u32 nr;

	put_file(name, bytes, len);
	nr = nr_shown();
	each_file(true);
	return nr;
}

static void test_hostile_header(void **state)
{
	struct counters_header good, h;
	u8 bytes[2 * COUNTERS_FILE_BYTES] = { 0 };
	struct counters_name name;
	u32 i;

	make_image(&name, bytes);
	memcpy(&good, bytes, sizeof(good));
	assert_int_equal(shown_with(&name, bytes, COUNTERS_FILE_BYTES), 1);
	assert_int_equal(shown_with(&name, bytes, COUNTERS_FILE_BYTES - 1), 0);
	assert_int_equal(shown_with(&name, bytes, COUNTERS_FILE_BYTES + 1), 0);
	assert_int_equal(shown_with(&name, bytes, sizeof(bytes)), 0);
	assert_int_equal(shown_with(&name, bytes, 100), 0);
	assert_int_equal(shown_with(&name, bytes, 0), 0);
	for (i = 0; i < 8; i++) {
		memcpy(&h, &good, sizeof(h));
		switch (i) {
		case 0: h.magic++; break;
		case 1: h.version++; break;
		case 2: h.nr_values = UINT32_MAX; break;
		case 3: h.nr_values = 0; break;
		case 4: h.layout ^= 1; break;
		case 5: h.name.pid = 1; break;
		case 6: h.name.handle = 98; break;
		default: h.name.start_ticks++; break;
		}
		memcpy(bytes, &h, sizeof(h));
		assert_int_equal(shown_with(&name, bytes, COUNTERS_FILE_BYTES),
				 0);
	}
}

static void test_hostile_content(void **state)
{
	u8 bytes[COUNTERS_FILE_BYTES];
	struct counters_header h;
	struct counters_name name;
	struct shown s = { .nr = 0 };
	u32 i;

	make_image(&name, bytes);
	memset(bytes + sizeof(h), 0xff, sizeof(bytes) - sizeof(h));
	memcpy(&h, bytes, sizeof(h));
	memset(h.command, 'x', sizeof(h.command));
	h.command[3] = '\n';
	h.command[4] = 27;
	memcpy(bytes, &h, sizeof(h));
	put_file(&name, bytes, sizeof(bytes));
	/* Without a command line, what the file says counts. */
	memset(own_args, 0, own_args_len);
	OK(counters_file_each(show, &s));
	assert_int_equal(s.nr, 1);
	assert_memory_equal(s.all[0].command, "xxx  xxx", 8);
	assert_int_equal(strlen(s.all[0].command), sizeof(h.command));
	assert_true(s.all[0].values[AKIN_COUNTER_warnings] == UINT64_MAX);
	/* No slot says what it is. */
	assert_int_equal(s.all[0].nr_streams, 0);
	memset(bytes + offsetof(struct counters_image, streams), 1,
	       sizeof(struct counters_streams));
	for (i = 0; i < COUNTERS_STREAMS; i++)
		bytes[offsetof(struct counters_image, streams.slots[i].kind)] =
			1;
	put_file(&name, bytes, sizeof(bytes));
	s.nr = 0;
	OK(counters_file_each(show, &s));
	assert_int_equal(s.all[0].nr_streams, 0);
	for (i = 0; i < COUNTERS_STREAMS; i++)
		memset(bytes + offsetof(struct counters_image,
					streams.slots[i].kind) + 1, 0, 7);
	put_file(&name, bytes, sizeof(bytes));
	s.nr = 0;
	OK(counters_file_each(show, &s));
	assert_int_equal(s.all[0].nr_streams, COUNTERS_STREAMS);
	assert_int_equal(strlen(s.all[0].streams[0].name),
			 AKIN_STREAM_NAME - 1);
	assert_int_equal(s.all[0].streams[0].name[5], ' ');
}

static void test_hostile_kinds(void **state)
{
	char text[COUNTERS_NAME_MAX], path[256], other[128];
	u8 bytes[COUNTERS_FILE_BYTES];
	struct counters_name name;

	make_image(&name, bytes);
	counters_name_print(&name, text);
	snprintf(path, sizeof(path), "%s/%s", top, text);
	OK(mkdir(path, 0700));
	assert_int_equal(nr_shown(), 0);
	OK(rmdir(path));
	OK(mkfifo(path, 0600));
	assert_int_equal(nr_shown(), 0);
	OK(unlink(path));
	snprintf(other, sizeof(other), "%s/other", top);
	put_file(&name, bytes, sizeof(bytes));
	OK(rename(path, other));
	OK(symlink(other, path));
	assert_int_equal(nr_shown(), 0);
	assert_int_equal(each_file(false), 2);
}

static void test_names(void **state)
{
	static const char *const bad[] = {
		"", "x", "1", "1-2-3", "1-2-3-", "1-2-3-4-", "1-2-3-4-5",
		"01-2-3-4", "1-2-3-04", "0-2-3-4", "-1-2-3-4", "1- 2-3-4",
		"+1-2-3-4", "1--2-3-4", "2147483648-2-3-4", "1-2-3-4294967296",
		"1-18446744073709551616-3-4", "1-2-3-4 ", "1-2-3-4/..",
	};
	char text[COUNTERS_NAME_MAX];
	struct counters_name n;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(counters_name_parse(bad[i], &n));
	memset(&n, 0xff, sizeof(n));
	n.pid = INT32_MAX;
	counters_name_print(&n, text);
	assert_string_equal(text, "2147483647-18446744073709551615-"
			    "18446744073709551615-4294967295");
	assert_true(counters_name_parse(text, &n));
	assert_true(n.pid == INT32_MAX && n.start_ticks == UINT64_MAX &&
		    n.namespace == UINT64_MAX && n.handle == UINT32_MAX);
}

static u32 nr_files(void)
{
	DIR *d = opendir(top);
	u32 nr = 0;

	assert_non_null(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr - 2;
}

/* Of a file that was closed then: by who lists, and by who opens. */
static void expect_expiry(u64 closed_ns, bool expired)
{
	u8 bytes[COUNTERS_FILE_BYTES];
	struct counters_name name;
	struct counters_header h;
	struct counters_file *cf;
	struct counters_seen s;

	make_image(&name, bytes);
	each_file(true);
	memcpy(&h, bytes, sizeof(h));
	atomic_store(&h.closed_ns, closed_ns);
	memcpy(bytes, &h, sizeof(h));
	put_file(&name, bytes, sizeof(bytes));
	assert_int_equal(counters_file_each(show_closed, &s), expired ? 0 : 42);
	assert_int_equal(nr_files(), !expired);
	put_file(&name, bytes, sizeof(bytes));
	cf = must_open();
	assert_int_equal(nr_files(), expired ? 1 : 2);
	counters_file_close(cf);
	each_file(true);
}

/* What is certainly dead goes; all else is not ours to judge. */
static void test_reaping(void **state)
{
	struct counters_name self, n;
	char path[128];

	assert_true(counters_name_self(&self));
	n = self;
	n.start_ticks++;
	put_file(&n, "junk", 4);	/* the number was used again */
	assert_int_equal(nr_shown(), 0);
	assert_int_equal(each_file(false), 0);
	n = self;
	n.pid = INT32_MAX;		/* beyond any limit of numbers */
	put_file(&n, "", 0);
	assert_int_equal(nr_shown(), 0);
	assert_int_equal(each_file(false), 0);
	expect_expiry(1, true);
	expect_expiry(clock_ns() - COUNTERS_LINGER_NS - 1, true);
	expect_expiry(clock_ns() + COUNTERS_LINGER_NS, true);	/* a lie */
	expect_expiry(clock_ns() - COUNTERS_LINGER_NS / 2, false);
	n.namespace++;
	put_file(&n, "", 0);
	put_file(&self, "half", 4);	/* lives, being made */
	snprintf(path, sizeof(path), "%s/somebody's", top);
	OK(mkdir(path, 0700));
	assert_int_equal(nr_shown(), 0);
	assert_int_equal(each_file(false), 3);
}

/* Private memory ------------------------------------------------------------*/

static void must_be_private(void)
{
	struct counters_file *cf = must_open();

	assert_null(counters_file_path(cf));
	counters_add(counters_file_counters(cf), bytes_in, 5);
	assert_int_equal(counters_file_counters(cf)->bytes_in, 5);
	counters_file_close(cf);
}

static void test_private(void **state)
{
	struct rlimit old, small;
	char path[128];

	OK(setenv("AKIN_COUNTERS", "/proc/no-such/akin", 1));
	must_be_private();
	assert_int_equal(nr_shown(), 0);
	snprintf(path, sizeof(path), "%s/link", top);
	OK(symlink("/tmp", path));
	OK(setenv("AKIN_COUNTERS", path, 1));
	must_be_private();
	OK(unlink(path));
	OK(setenv("AKIN_COUNTERS", top, 1));
	OK(chmod(top, 0777));
	must_be_private();
	OK(chmod(top, 0700));
	assert_int_equal(each_file(false), 0);

	/* No room for the page. */
	signal(SIGXFSZ, SIG_IGN);
	OK(getrlimit(RLIMIT_FSIZE, &old));
	small = old;
	small.rlim_cur = 1000;
	OK(setrlimit(RLIMIT_FSIZE, &small));
	must_be_private();
	OK(setrlimit(RLIMIT_FSIZE, &old));
	assert_int_equal(each_file(false), 0);
}

/* Without a directory given; root's is not ours to play with. */
static void test_runtime_dir(void **state)
{
	struct counters_file *cf;
	struct shown s = { .nr = 0 };
	char dir[128];

	if (geteuid() == 0) {
		print_message("# skipped: root's own directory is not for tests\n");
		return;
	}
	OK(unsetenv("AKIN_COUNTERS"));
	OK(setenv("XDG_RUNTIME_DIR", top, 1));
	cf = must_open();
	snprintf(dir, sizeof(dir), "%s/akin/", top);
	assert_memory_equal(counters_file_path(cf), dir, strlen(dir));
	OK(counters_file_each(show, &s));
	assert_true(s.nr >= 1);
	assert_int_equal(s.all[0].pid, getpid());
	counters_file_close(cf);
	OK(unsetenv("XDG_RUNTIME_DIR"));
}

static void test_no_memory(void **state)
{
	struct counters_file *cf;

	mem_fail_after(1);
	assert_int_equal(counters_file_open(pool_id, &nobody, &cf, NULL),
			 -AKIN_E_nomem);
	mem_fail_after(0);
	assert_int_equal(each_file(false), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(test_table),
		TEST(test_buckets),
		TEST(test_adding),
		TEST(test_threads),
		TEST(test_many_pools),
		TEST(test_closed),
		TEST(test_readers),
		TEST(test_streams),
		TEST(test_too_many_streams),
		TEST(test_two_processes),
		TEST(test_stop),
		TEST(test_names),
		TEST(test_hostile_header),
		TEST(test_hostile_kinds),
		TEST(test_reaping),
		TEST(test_private),
		TEST(test_runtime_dir),
		TEST(test_no_memory),
		TEST(test_hostile_content),	/* loses our command line */
#undef TEST
	};

	own_args = argv[0];
	own_args_len = strlen(argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
