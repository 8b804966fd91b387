/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading live trees: every type of node, sparse and changing files, names of
 * all bytes, directories without end, trees deeper than any path.
 *
 * What needs privileges or a feature of the file system is skipped by name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "testlib.h"

#include "base/mem.h"
#include "os/dirlist.h"
#include "os/dirstack.h"
#include "os/disk.h"
#include "os/spill.h"
#include "source/source.h"

struct fixture {
	char dir[64];
	int fd;		   /* of dir */
	struct disk *disk; /* for spills */
	struct source_walk *walk;
};

#define ok(expr) assert_int_equal((expr), 0)

static struct source_walk *walk_over(struct fixture *fx, size_t list_bytes,
				     bool special)
{
	const struct source_options opt = {
		.list_bytes = list_bytes,
		.spill_disk = fx->disk,
		.spill_dir = "tmp",
		.read_special = special,
		.special_timeout_ms = 50,
	};
	struct source_walk *w;

	ok(source_walk_open(fx->dir, &opt, &w, NULL));
	return w;
}

/* TMPDIR chooses the file system to be tested. */
static const char *base_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && strlen(dir) < 32 ? dir : "/tmp";
}

static int setup_in(void **state, const char *base)
{
	struct fixture *fx = calloc(1, sizeof(*fx));
	char spills[96];

	snprintf(fx->dir, sizeof(fx->dir), "%s/akin-source-XXXXXX", base);
	assert_non_null(mkdtemp(fx->dir));
	fx->fd = open(fx->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(spills, sizeof(spills), "%s.spill", fx->dir);
	ok(mkdir(spills, 0700));
	ok(disk_files_new(spills, true, &fx->disk, NULL));
	ok(disk_mkdir(fx->disk, "tmp", NULL));
	fx->walk = walk_over(fx, 1 * MiB, false);
	*state = fx;
	return 0;
}

static int setup(void **state)
{
	return setup_in(state, base_dir());
}

/* For thousands of names: in memory where there is such a place. */
static int setup_big(void **state)
{
	return setup_in(state, access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							     : base_dir());
}

static int teardown(void **state)
{
	struct fixture *fx = *state;
	char cmd[256];

	source_walk_free(fx->walk);
	disk_free(fx->disk);
	close(fx->fd);
	snprintf(cmd, sizeof(cmd),
		 "chmod -R u+rwx %s 2>/dev/null; rm -rf %s %s.spill", fx->dir,
		 fx->dir, fx->dir);
	assert_int_equal(system(cmd), 0);
	free(fx);
	return 0;
}

static void write_at(int at, const char *name, const void *data, size_t n,
		     off_t off)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, off), n);
	ok(close(fd));
}

static void test_types(void **state)
{
	struct fixture *fx = *state;
	const struct timespec times[2] = {{5, 6}, {-7, 123456789}};
	struct node n;
	struct stat st;

	write_at(fx->fd, "file", "12345", 5, 0);
	ok(fchmodat(fx->fd, "file", 06751, 0));
	ok(linkat(fx->fd, "file", fx->fd, "second", 0));
	ok(utimensat(fx->fd, "file", times, 0));
	ok(mkdirat(fx->fd, "dir", 0555));
	ok(symlinkat("\xff/x\n", fx->fd, "symlink"));
	ok(mkfifoat(fx->fd, "fifo", 0600));
	ok(mknodat(fx->fd, "socket", S_IFSOCK | 0600, 0));
	ok(fstatat(fx->fd, "file", &st, 0));

	ok(source_stat(fx->walk, "file", true, &n, NULL));
	assert_int_equal(n.type, NODE_FILE);
	assert_string_equal(n.name, "file");
	assert_int_equal(n.flags, NODE_LINKED);
	assert_int_equal(n.mode, 06751);
	assert_int_equal(n.size, 5);
	assert_int_equal(n.uid, geteuid());
	assert_int_equal(n.gid, st.st_gid);
	assert_int_equal(n.mtime_sec, -7);
	assert_int_equal(n.mtime_nsec, 123456789);
	assert_int_equal(n.ctime_sec, st.st_ctim.tv_sec);
	assert_int_equal(n.ctime_nsec, st.st_ctim.tv_nsec);
	assert_true(n.dev == st.st_dev && n.ino == st.st_ino);
	source_node_release(&n);

	ok(source_stat(fx->walk, "dir", true, &n, NULL));
	assert_int_equal(n.type, NODE_DIR);
	assert_int_equal(n.mode, 0555);
	assert_int_equal(n.flags, 0);
	assert_int_equal(n.size, 0);
	source_node_release(&n);
	ok(source_stat(fx->walk, "symlink", true, &n, NULL));
	assert_int_equal(n.type, NODE_SYMLINK);
	assert_int_equal(n.target_len, 4);
	assert_memory_equal(n.target, "\xff/x\n", 4);
	source_node_release(&n);
	ok(source_stat(fx->walk, "fifo", true, &n, NULL));
	assert_int_equal(n.type, NODE_FIFO);
	source_node_release(&n);
	ok(source_stat(fx->walk, "socket", true, &n, NULL));
	assert_int_equal(n.type, NODE_SOCKET);
	source_node_release(&n);
	source_node_release(&n);
}

static void test_devices(void **state)
{
	struct fixture *fx = *state;
	struct node n;

	if (mknodat(fx->fd, "c", S_IFCHR | 0600, makedev(1, 3)) < 0) {
		print_message("# skipped: device nodes need CAP_MKNOD\n");
		return;
	}
	ok(mknodat(fx->fd, "b", S_IFBLK | 0600, makedev(7, 300)));
	ok(source_stat(fx->walk, "c", true, &n, NULL));
	assert_int_equal(n.type, NODE_CHARDEV);
	assert_int_equal(n.rdev, makedev(1, 3));
	source_node_release(&n);
	ok(source_stat(fx->walk, "b", true, &n, NULL));
	assert_int_equal(n.type, NODE_BLOCKDEV);
	assert_int_equal(n.rdev, makedev(7, 300));
	source_node_release(&n);
}

static void test_long_target(void **state)
{
	struct fixture *fx = *state;
	char target[4096];
	struct node n;

	memset(target, 'x', sizeof(target));
	target[4095] = 0;
	if (symlinkat(target, fx->fd, "long") < 0) {
		print_message("# skipped: no symlinks of 4095 bytes here\n");
		return;
	}
	ok(source_stat(fx->walk, "long", false, &n, NULL));
	assert_int_equal(n.target_len, 4095);
	assert_memory_equal(n.target, target, 4095);
	source_node_release(&n);
}

static void test_times(void **state)
{
	static const s64 secs[] = {-1,
				   0,
				   -86400LL * 365,
				   2147483648LL + 1,
				   9223372037LL + 1,
				   253402300800LL,
				   INT64_MAX};
	struct fixture *fx = *state;
	struct timespec ts[2] = {{0, 0}, {0, 999999999}};
	struct stat st;
	struct node n;
	size_t i;

	write_at(fx->fd, "t", "", 0, 0);
	for (i = 0; i < ARRAY_SIZE(secs); i++) {
		ts[1].tv_sec = secs[i];
		if (utimensat(fx->fd, "t", ts, 0) < 0)
			continue;
		/* The file system may have clamped it. */
		ok(fstatat(fx->fd, "t", &st, 0));
		ok(source_stat(fx->walk, "t", false, &n, NULL));
		assert_int_equal(n.mtime_sec, st.st_mtim.tv_sec);
		assert_int_equal(n.mtime_nsec, st.st_mtim.tv_nsec);
		source_node_release(&n);
	}
}

static const struct node_xattr *find_xattr(const struct node *n,
					   const char *name)
{
	u32 i;

	for (i = 0; i < n->nr_xattrs; i++) {
		if (i)
			assert_true(strcmp(n->xattrs[i - 1].name,
					   n->xattrs[i].name) < 0);
		if (strcmp(n->xattrs[i].name, name) == 0)
			return &n->xattrs[i];
	}
	return NULL;
}

static void set_at(struct fixture *fx, const char *name, const char *key,
		   const void *value, size_t n)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", fx->dir, name);
	ok(lsetxattr(path, key, value, n, 0));
}

static bool can_set(struct fixture *fx, const char *name, const char *key)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", fx->dir, name);
	return lsetxattr(path, key, "v", 1, 0) == 0;
}

static void test_xattrs(void **state)
{
	struct fixture *fx = *state;
	const struct node_xattr *x;
	struct node n;
	char big[2000];
	int i;

	write_at(fx->fd, "f", "", 0, 0);
	if (!can_set(fx, "f", "user.z")) {
		print_message(
			"# skipped: no user xattrs on this file system\n");
		return;
	}
	memset(big, 7, sizeof(big));
	set_at(fx, "f", "user.big", big, sizeof(big));
	set_at(fx, "f", "user.empty", "", 0);
	set_at(fx, "f", "user.a\xff b", "\0\1\0", 3);
	ok(source_stat(fx->walk, "f", true, &n, NULL));
	assert_true(n.nr_xattrs >= 4);
	x = find_xattr(&n, "user.big");
	assert_int_equal(x->len, sizeof(big));
	assert_memory_equal(x->value, big, sizeof(big));
	x = find_xattr(&n, "user.empty");
	assert_int_equal(x->len, 0);
	x = find_xattr(&n, "user.a\xff b");
	assert_int_equal(x->len, 3);
	assert_memory_equal(x->value, "\0\1\0", 3);
	assert_string_equal(n.name, "f");
	source_node_release(&n);
	ok(source_stat(fx->walk, "f", false, &n, NULL));
	assert_int_equal(n.nr_xattrs, 0);
	source_node_release(&n);

	/* More names than the first look at the list holds. */
	ok(mkdirat(fx->fd, "d", 0700));
	for (i = 0; i < 60; i++) {
		char key[32];

		snprintf(key, sizeof(key), "user.key%05d-%05d", 59 - i, i);
		set_at(fx, "d", key, &i, 1);
	}
	ok(source_stat(fx->walk, "d", true, &n, NULL));
	x = find_xattr(&n, "user.key00007-00052");
	assert_non_null(x);
	assert_int_equal(x->value[0], 52);
	source_node_release(&n);
	ok(source_walk_enter(fx->walk, "d", NULL));
	ok(source_stat(fx->walk, ".", true, &n, NULL));
	assert_string_equal(n.name, "d");
	assert_non_null(find_xattr(&n, "user.key00007-00052"));
	source_node_release(&n);
	ok(source_walk_leave(fx->walk, NULL));
	assert_int_equal(source_walk_skipped_xattrs(fx->walk), 0);
}

static void test_xattrs_privileged(void **state)
{
	static const u8 cap[20] = {1, 0, 0, 2, 0, 4};
	struct fixture *fx = *state;
	struct node n;

	write_at(fx->fd, "f", "", 0, 0);
	ok(symlinkat("nowhere", fx->fd, "l"));
	ok(mkfifoat(fx->fd, "p", 0600));
	if (!can_set(fx, "l", "trusted.t") || !can_set(fx, "l", "security.s")) {
		print_message("# skipped: trusted.* needs CAP_SYS_ADMIN\n");
		return;
	}
	set_at(fx, "p", "trusted.t", "pp", 2);
	set_at(fx, "f", "security.capability", cap, sizeof(cap));
	ok(source_stat(fx->walk, "l", true, &n, NULL));
	assert_int_equal(find_xattr(&n, "trusted.t")->len, 1);
	assert_non_null(find_xattr(&n, "security.s"));
	source_node_release(&n);
	ok(source_stat(fx->walk, "p", true, &n, NULL));
	assert_int_equal(find_xattr(&n, "trusted.t")->len, 2);
	source_node_release(&n);
	ok(source_stat(fx->walk, "f", true, &n, NULL));
	assert_int_equal(find_xattr(&n, "security.capability")->len, 20);
	assert_memory_equal(find_xattr(&n, "security.capability")->value, cap,
			    20);
	source_node_release(&n);
}

static void test_names_of_all_bytes(void **state)
{
	struct fixture *fx = *state;
	struct source_dir *d;
	const char *name;
	struct node n;
	char one[4];
	int i, expect = 1;
	u8 type;

	for (i = 255; i > 0; i--) {
		snprintf(one, sizeof(one), "%c", i);
		if (i == '/' || i == '.')
			continue;
		write_at(fx->fd, one, one, 1, 0);
	}
	ok(mkdirat(fx->fd, "a-", 0700));
	ok(source_dir_open(fx->walk, &d, NULL));
	while (source_dir_next(d, &name, &type, NULL) == 1) {
		if (strcmp(name, "a-") == 0) {
			assert_int_equal(expect, 'a' + 1);
			assert_true(type == NODE_DIR || type == 0);
			continue;
		}
		expect += expect == '.' ? 1 : 0;
		expect += expect == '/' ? 1 : 0;
		assert_int_equal((u8)name[0], expect++);
		assert_int_equal(name[1], 0);
		assert_true(type == NODE_FILE || type == 0);
		ok(source_stat(fx->walk, name, false, &n, NULL));
		assert_string_equal(n.name, name);
		source_node_release(&n);
	}
	assert_int_equal(expect, 256);
	source_dir_free(d);
}

#define MANY 200000

/* Far more names than the budget: sorted all the same, and within it. */
static void test_many_names(void **state)
{
	struct fixture *fx = *state;
	struct dirlist_memory mem = {
		.budget_bytes = 1 * MiB, .disk = fx->disk, .dir = "tmp"};
	struct dirlist *l;
	char want[64], name[64];
	const char *got;
	u64 i;
	int fd;
	u8 type;

	for (i = 0; i < MANY; i++) {
		/* 7 has no factor in common with MANY: a permutation. */
		snprintf(name, sizeof(name), "%08llu-a-longer-name",
			 (unsigned long long)(i * 7 % MANY));
		fd = openat(fx->fd, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	ok(dirlist_open(&mem, fx->fd, &l, NULL));
	for (i = 0; i < MANY; i++) {
		assert_true(mem.used_bytes <= mem.budget_bytes);
		assert_int_equal(dirlist_next(l, &got, &type, NULL), 1);
		snprintf(want, sizeof(want), "%08llu-a-longer-name",
			 (unsigned long long)i);
		assert_string_equal(got, want);
		assert_true(type == DT_REG || type == DT_UNKNOWN);
	}
	assert_int_equal(dirlist_next(l, &got, &type, NULL), 0);
	dirlist_free(l);
	assert_int_equal(mem.used_bytes, 0);

	mem.disk = NULL;
	assert_int_equal(dirlist_open(&mem, fx->fd, &l, NULL),
			 -AKIN_E_too_large);
	assert_int_equal(mem.used_bytes, 0);
	mem.budget_bytes = 64 * MiB;
	ok(dirlist_open(&mem, fx->fd, &l, NULL));
	for (i = 0; dirlist_next(l, &got, &type, NULL) == 1; i++) {
		snprintf(want, sizeof(want), "%08llu-a-longer-name",
			 (unsigned long long)i);
		assert_string_equal(got, want);
	}
	assert_int_equal(i, MANY);
	dirlist_free(l);
}

struct piece_log {
	struct source_piece p[64];
	size_t nr;
	u64 data_bytes;
};

static int read_pieces(struct source_file *f, struct piece_log *log)
{
	static u8 buf[1 << 20];
	struct source_piece p, *last;
	u64 at = 0;
	int rc;

	memset(log, 0, sizeof(*log));
	while ((rc = source_file_read(f, buf, sizeof(buf), &p, NULL)) == 1) {
		assert_true(p.off == at);
		assert_true(p.len > 0);
		at += p.len;
		log->data_bytes += p.type == SOURCE_DATA ? p.len : 0;
		last = log->nr ? &log->p[log->nr - 1] : NULL;
		if (last && last->type == p.type) {
			last->len += p.len;
			continue;
		}
		assert_true(log->nr < ARRAY_SIZE(log->p));
		log->p[log->nr++] = p;
	}
	return rc;
}

static void test_sparse(void **state)
{
	struct fixture *fx = *state;
	static u8 data[1 << 20];
	const u64 size = 64 * GiB;
	struct source_file *f;
	struct piece_log log;
	struct node n;
	int fd;

	memset(data, 'd', sizeof(data));
	write_at(fx->fd, "end", data, sizeof(data), (off_t)(size - MiB));
	ok(source_stat(fx->walk, "end", true, &n, NULL));
	ok(source_file_open(fx->walk, "end", &n, &f, NULL));
	ok(read_pieces(f, &log));
	ok(source_file_finish(f, &n, NULL));
	source_file_close(f);
	assert_true(n.size == size);
	assert_int_equal(n.flags, 0);
	if (log.data_bytes > 2 * MiB) {
		source_node_release(&n);
		print_message(
			"# skipped: this file system does not tell holes\n");
		return;
	}
	assert_int_equal(log.nr, 2);
	assert_int_equal(log.p[0].type, SOURCE_HOLE);
	assert_true(log.p[0].len == size - MiB);
	assert_int_equal(log.p[1].type, SOURCE_DATA);
	source_node_release(&n);

	/* Data, hole, data, hole; and nothing but a hole. */
	write_at(fx->fd, "mid", data, 65536, 0);
	write_at(fx->fd, "mid", data, 65536, 4 * 1024 * 1024);
	fd = openat(fx->fd, "mid", O_WRONLY);
	ok(ftruncate(fd, 8 * 1024 * 1024 + 1));
	ok(close(fd));
	ok(source_stat(fx->walk, "mid", true, &n, NULL));
	ok(source_file_open(fx->walk, "mid", &n, &f, NULL));
	ok(read_pieces(f, &log));
	source_file_close(f);
	source_node_release(&n);
	assert_int_equal(log.nr, 4);
	assert_int_equal(log.p[0].len, 65536);
	assert_int_equal(log.p[2].off, 4 * MiB);
	assert_int_equal(log.p[2].len, 65536);
	assert_int_equal(log.p[3].type, SOURCE_HOLE);
	assert_int_equal(log.p[3].off + log.p[3].len, 8 * MiB + 1);

	fd = openat(fx->fd, "hole", O_CREAT | O_WRONLY, 0600);
	ok(ftruncate(fd, 5000));
	ok(close(fd));
	ok(source_stat(fx->walk, "hole", true, &n, NULL));
	ok(source_file_open(fx->walk, "hole", &n, &f, NULL));
	ok(read_pieces(f, &log));
	source_file_close(f);
	source_node_release(&n);
	assert_int_equal(log.nr, 1);
	assert_int_equal(log.p[0].type, SOURCE_HOLE);
	assert_int_equal(log.p[0].len, 5000);
}

/* Opens "f" of @size bytes and reads 100 bytes of it. */
static struct source_file *half_read(struct fixture *fx, size_t size,
				     struct node *n)
{
	static u8 data[1 << 16];
	struct source_piece p;
	struct source_file *f;
	u8 buf[100];

	write_at(fx->fd, "f", data, size, 0);
	ok(source_stat(fx->walk, "f", true, n, NULL));
	ok(source_file_open(fx->walk, "f", n, &f, NULL));
	assert_int_equal(source_file_read(f, buf, sizeof(buf), &p, NULL), 1);
	assert_int_equal(p.len, 100);
	return f;
}

static u64 read_rest(struct source_file *f)
{
	struct source_piece p;
	u64 sum = 0;
	u8 buf[1000];

	while (source_file_read(f, buf, sizeof(buf), &p, NULL) == 1)
		sum += p.len;
	return sum;
}

static void test_changes(void **state)
{
	struct fixture *fx = *state;
	struct source_file *f;
	struct node n;

	f = half_read(fx, 5000, &n);
	assert_int_equal(read_rest(f), 4900);
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.flags, 0);
	assert_int_equal(n.size, 5000);
	source_file_close(f);
	source_node_release(&n);

	f = half_read(fx, 5000, &n);
	write_at(fx->fd, "f", "more", 4, 5000);
	assert_int_equal(read_rest(f), 4900);
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.flags, NODE_CHANGED);
	assert_int_equal(n.size, 5000);
	source_file_close(f);
	source_node_release(&n);

	f = half_read(fx, 6000, &n);
	ok(ftruncate(openat(fx->fd, "f", O_WRONLY | O_CLOEXEC), 3000));
	assert_int_equal(read_rest(f), 2900);
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.flags, NODE_CHANGED);
	assert_int_equal(n.size, 3000);
	source_file_close(f);
	source_node_release(&n);

	/* The same size, other bytes. */
	usleep(20000);
	f = half_read(fx, 3000, &n);
	usleep(20000);
	write_at(fx->fd, "f", "X", 1, 200);
	assert_int_equal(read_rest(f), 2900);
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.flags, NODE_CHANGED);
	source_file_close(f);
	source_node_release(&n);
}

static void test_shrinks_in_a_hole(void **state)
{
	struct fixture *fx = *state;
	struct source_piece p;
	struct source_file *f;
	struct node n;
	u8 buf[4096];
	int fd = openat(fx->fd, "f", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	ok(ftruncate(fd, 1 << 20));
	ok(source_stat(fx->walk, "f", true, &n, NULL));
	ok(source_file_open(fx->walk, "f", &n, &f, NULL));
	assert_int_equal(source_file_read(f, buf, sizeof(buf), &p, NULL), 1);
	ok(ftruncate(fd, 10000));
	read_rest(f);
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.size, 10000);
	assert_int_equal(n.flags, NODE_CHANGED);
	source_file_close(f);
	source_node_release(&n);
	close(fd);
}

static void test_vanished(void **state)
{
	struct fixture *fx = *state;
	struct akin_diag diag = {0};
	struct source_file *f;
	struct source_dir *d;
	struct node n;

	assert_int_equal(source_stat(fx->walk, "no", true, &n, &diag),
			 -AKIN_E_source_vanished);
	assert_non_null(strstr(diag.text, fx->dir));
	assert_non_null(strstr(diag.text, "/no: No such file"));
	assert_int_equal(akin_error_class(diag.code), AKIN_CLASS_SOURCE);
	assert_int_equal(source_walk_enter(fx->walk, "no", NULL),
			 -AKIN_E_source_vanished);
	write_at(fx->fd, "f", "x", 1, 0);
	assert_int_equal(source_walk_enter(fx->walk, "f", NULL),
			 -AKIN_E_source_changed);
	ok(symlinkat(".", fx->fd, "l"));
	assert_int_equal(source_walk_enter(fx->walk, "l", NULL),
			 -AKIN_E_source_changed);
	ok(source_stat(fx->walk, "f", true, &n, NULL));
	ok(unlinkat(fx->fd, "f", 0));
	assert_int_equal(source_file_open(fx->walk, "f", &n, &f, NULL),
			 -AKIN_E_source_vanished);
	source_node_release(&n);

	ok(mkdirat(fx->fd, "d", 0700));
	ok(source_walk_enter(fx->walk, "d", NULL));
	ok(unlinkat(fx->fd, "d", AT_REMOVEDIR));
	assert_int_equal(source_dir_open(fx->walk, &d, NULL),
			 -AKIN_E_source_vanished);
	assert_int_equal(source_stat(fx->walk, "x", true, &n, NULL),
			 -AKIN_E_source_vanished);
	ok(source_walk_leave(fx->walk, NULL));
	assert_int_equal(source_walk_depth(fx->walk), 0);
}

static void test_replaced(void **state)
{
	struct fixture *fx = *state;
	struct source_piece p;
	struct source_file *f;
	struct node n;
	u8 buf[64];

	write_at(fx->fd, "f", "old", 3, 0);
	ok(source_stat(fx->walk, "f", true, &n, NULL));
	write_at(fx->fd, "g", "newer", 5, 0);
	ok(renameat(fx->fd, "g", fx->fd, "f"));
	ok(source_file_open(fx->walk, "f", &n, &f, NULL));
	assert_int_equal(n.size, 5);
	assert_int_equal(source_file_read(f, buf, sizeof(buf), &p, NULL), 1);
	assert_memory_equal(buf, "newer", 5);
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.flags, 0);
	source_file_close(f);

	/* Touched, and given an xattr, since it was described. */
	usleep(20000);
	write_at(fx->fd, "f", "newest", 6, 0);
	if (can_set(fx, "f", "user.late")) {
		ok(source_file_open(fx->walk, "f", &n, &f, NULL));
		assert_int_equal(n.size, 6);
		assert_non_null(find_xattr(&n, "user.late"));
		assert_int_equal(n.flags, 0);
		source_file_close(f);
	}

	ok(unlinkat(fx->fd, "f", 0));
	ok(mkfifoat(fx->fd, "f", 0600));
	assert_int_equal(source_file_open(fx->walk, "f", &n, &f, NULL),
			 -AKIN_E_source_changed);
	assert_int_equal(n.type, NODE_FIFO);
	n.type = NODE_FILE;
	ok(unlinkat(fx->fd, "f", 0));
	ok(symlinkat("/etc/passwd", fx->fd, "f"));
	assert_int_equal(source_file_open(fx->walk, "f", &n, &f, NULL),
			 -AKIN_E_source_changed);
	assert_int_equal(n.type, NODE_SYMLINK);
	n.type = NODE_FILE;
	ok(unlinkat(fx->fd, "f", 0));
	ok(mknodat(fx->fd, "f", S_IFSOCK | 0600, 0));
	assert_int_equal(source_file_open(fx->walk, "f", &n, &f, NULL),
			 -AKIN_E_source_changed);
	assert_int_equal(n.type, NODE_SOCKET);
	source_node_release(&n);
}

static void test_specials(void **state)
{
	struct fixture *fx = *state;
	struct source_walk *w = walk_over(fx, 1 * MiB, true);
	struct akin_diag diag = {0};
	struct source_piece p;
	struct source_file *f;
	struct node n;
	u8 buf[64];
	pid_t pid;

	ok(mkfifoat(fx->fd, "p", 0600));
	ok(source_stat(fx->walk, "p", true, &n, NULL));
	assert_int_equal(source_file_open(fx->walk, "p", &n, &f, NULL),
			 -AKIN_E_usage);

	ok(source_file_open(w, "p", &n, &f, NULL));
	assert_int_equal(source_file_read(f, buf, sizeof(buf), &p, &diag),
			 -AKIN_E_source_read);
	assert_non_null(strstr(diag.text, "nobody writes"));
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.flags, NODE_UNREADABLE);
	assert_int_equal(n.size, 0);
	source_file_close(f);
	source_node_release(&n);

	ok(source_stat(w, "p", true, &n, NULL));
	ok(source_file_open(w, "p", &n, &f, NULL));
	pid = fork();
	if (pid == 0) {
		int fd = openat(fx->fd, "p", O_WRONLY);

		/* Slower than the timeout, which is for silence only. */
		_exit(write(fd, "abc", 3) != 3 || usleep(150000) ||
		      write(fd, "defg", 4) != 4);
	}
	assert_int_equal(read_rest(f), 7);
	ok(source_file_finish(f, &n, NULL));
	assert_int_equal(n.type, NODE_FILE);
	assert_int_equal(n.size, 7);
	assert_int_equal(n.flags, 0);
	source_file_close(f);
	source_node_release(&n);
	assert_int_equal(waitpid(pid, NULL, 0), pid);

	ok(mknodat(fx->fd, "s", S_IFSOCK | 0600, 0));
	ok(source_stat(w, "s", true, &n, NULL));
	assert_int_equal(source_file_open(w, "s", &n, &f, NULL), -AKIN_E_usage);
	source_node_release(&n);
	source_walk_free(w);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

#define DEEP 3000

static void deep_name(char out[256], int level)
{
	memset(out, 'n', 200);
	snprintf(out + 190, 12, "%010d", level);
}

static void make_deep(struct fixture *fx, int levels)
{
	int at = dup(fx->fd), next, i;
	char name[256];

	for (i = 0; i < levels; i++) {
		deep_name(name, i);
		ok(mkdirat(at, name, 0700));
		next = openat(at, name, O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
		assert_true(at >= 0);
	}
	write_at(at, "bottom", "b", 1, 0);
	close(at);
}

static void test_deep(void **state)
{
	struct fixture *fx = *state;
	struct akin_diag diag = {0};
	struct source_dir *d;
	char name[256];
	const char *got;
	struct node n;
	int before, i;
	u8 type;

	make_deep(fx, DEEP);
	before = open_fds();
	for (i = 0; i < DEEP; i++) {
		deep_name(name, i);
		ok(source_walk_enter(fx->walk, name, NULL));
	}
	assert_true(open_fds() - before <= DIRSTACK_FDS);
	ok(source_stat(fx->walk, "bottom", true, &n, NULL));
	assert_int_equal(n.size, 1);
	source_node_release(&n);
	assert_int_equal(source_stat(fx->walk, "no", true, &n, &diag),
			 -AKIN_E_source_vanished);
	assert_non_null(strstr(diag.text, "/no: No such file"));
	assert_true(strlen(source_walk_path(fx->walk, NULL)) >
		    201 * (size_t)DEEP);
	for (i = DEEP; i > 0; i--) {
		assert_int_equal(source_walk_depth(fx->walk), i);
		ok(source_walk_leave(fx->walk, NULL));
		deep_name(name, i - 1);
		ok(source_dir_open(fx->walk, &d, NULL));
		assert_int_equal(source_dir_next(d, &got, &type, NULL), 1);
		assert_string_equal(got, name);
		source_dir_free(d);
	}
	assert_int_equal(open_fds(), before);
}

/* An ancestor is moved while the walk is far below it. */
static void test_moved_away(void **state)
{
	struct fixture *fx = *state;
	char name[256];
	u64 dev, ino;
	struct node n;
	int i, bad = 0;

	ok(mkdirat(fx->fd, "elsewhere", 0700));
	make_deep(fx, 210);
	for (i = 0; i < 200; i++) {
		deep_name(name, i);
		ok(source_walk_enter(fx->walk, name, NULL));
	}
	/* Level 100 goes: 99 and above are still where they were. */
	{
		struct source_walk *w = walk_over(fx, MiB, false);
		int at = dup(fx->fd), next;

		for (i = 0; i < 99; i++) {
			deep_name(name, i);
			next = openat(at, name, O_RDONLY | O_DIRECTORY);
			close(at);
			at = next;
		}
		deep_name(name, 99);
		ok(renameat(at, name, fx->fd, "elsewhere/x"));
		close(at);
		source_walk_free(w);
	}
	for (i = 200; i > 0; i--) {
		bad += source_walk_leave(fx->walk, NULL) != 0;
		/* Wherever the walk says it is, it is. */
		source_walk_identity(fx->walk, &dev, &ino);
		ok(source_stat(fx->walk, ".", false, &n, NULL));
		assert_true(n.dev == dev && n.ino == ino);
		source_node_release(&n);
	}
	/* From level 100 the way up leads to "elsewhere", which is refused;
	 * level 99 is found again from the root. */
	assert_int_equal(bad, 0);
	deep_name(name, 0);
	ok(source_stat(fx->walk, name, true, &n, NULL));
	source_node_release(&n);
}

static void test_unreadable(void **state)
{
	struct fixture *fx = *state;
	struct source_file *f;
	struct source_dir *d;
	struct node n;

	if (geteuid() == 0) {
		print_message("# skipped: root reads everything\n");
		return;
	}
	write_at(fx->fd, "f", "x", 1, 0);
	ok(fchmodat(fx->fd, "f", 0, 0));
	ok(source_stat(fx->walk, "f", true, &n, NULL));
	assert_int_equal(source_file_open(fx->walk, "f", &n, &f, NULL),
			 -AKIN_E_source_read);
	source_node_release(&n);
	ok(mkdirat(fx->fd, "d", 0700));
	ok(mkdirat(fx->fd, "d/e", 0700));
	ok(fchmodat(fx->fd, "d", 0100, 0));
	ok(source_walk_enter(fx->walk, "d", NULL));
	assert_int_equal(source_dir_open(fx->walk, &d, NULL),
			 -AKIN_E_source_read);
	ok(source_walk_enter(fx->walk, "e", NULL));
	ok(source_walk_leave(fx->walk, NULL));
	ok(source_walk_leave(fx->walk, NULL));
}

static int once(struct fixture *fx, struct source_walk *w)
{
	struct source_dir *d = NULL;
	struct source_file *f = NULL;
	struct source_piece p;
	struct node n = {0};
	const char *name;
	u8 type, buf[16];
	int err;

	err = source_walk_enter(w, "d", NULL);
	if (err)
		return err;
	err = source_dir_open(w, &d, NULL);
	while (!err && (err = source_dir_next(d, &name, &type, NULL)) == 1) {
		err = source_stat(w, name, true, &n, NULL);
		if (!err && n.type == NODE_FILE)
			err = source_file_open(w, name, &n, &f, NULL);
		if (!err && f)
			err = source_file_read(f, buf, 16, &p, NULL) < 0;
		source_file_close(f);
		f = NULL;
		source_node_release(&n);
	}
	source_dir_free(d);
	assert_int_equal(source_walk_leave(w, NULL), 0);
	return err;
}

static void test_short_memory(void **state)
{
	struct fixture *fx = *state;
	int err = -1;
	u64 n;

	ok(mkdirat(fx->fd, "d", 0700));
	write_at(fx->fd, "d/f", "x", 1, 0);
	ok(symlinkat("t", fx->fd, "d/l"));
	(void)can_set(fx, "d/f", "user.x");
	for (n = 1; err; n++) {
		mem_fail_after(n);
		err = once(fx, fx->walk);
		mem_fail_after(0);
		assert_true(err == 0 || err == -AKIN_E_nomem);
		assert_int_equal(source_walk_depth(fx->walk), 0);
	}
	assert_true(n > 8);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define TBIG(fn) cmocka_unit_test_setup_teardown(fn, setup_big, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_types),
		T(test_devices),
		T(test_long_target),
		T(test_times),
		T(test_xattrs),
		T(test_xattrs_privileged),
		T(test_names_of_all_bytes),
		TBIG(test_many_names),
		T(test_sparse),
		T(test_changes),
		T(test_shrinks_in_a_hole),
		T(test_vanished),
		T(test_replaced),
		T(test_specials),
		TBIG(test_deep),
		TBIG(test_moved_away),
		T(test_unreadable),
		T(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
