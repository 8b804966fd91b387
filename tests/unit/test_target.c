/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing restores: round trips of every kind of node, over every kind of
 * thing in the way, and nothing outside the target.
 *
 * Most tests copy a live tree with source/ and target/ and compare the two.
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
#include <unistd.h>

#include "testlib.h"

#include "base/mem.h"
#include "os/dirstack.h"
#include "os/disk.h"
#include "source/source.h"
#include "target/target.h"

struct fixture {
	char dir[64];
	char src[72], dst[72], out[72];	/* in dir; out is none of ours */
	int s, d, o;			/* descriptors of them */
	struct disk *disk;		/* for spills */
	/* From the callbacks. */
	u64 nr_warnings, nr_events[TARGET_DELETED + 1];
	char warned[512];
	const char *unwanted;		/* xattr to leave out */
};

#define ok(expr) assert_int_equal((expr), 0)

static const char *base_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && strlen(dir) < 32 ? dir : "/tmp";
}

static int make_dir(char out[72], const struct fixture *fx, const char *name)
{
	snprintf(out, 72, "%s/%s", fx->dir, name);
	ok(mkdir(out, 0755));
	return open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int setup_in(void **state, const char *base)
{
	struct fixture *fx = calloc(1, sizeof(*fx));
	char tmp[72];

	snprintf(fx->dir, sizeof(fx->dir), "%s/akin-target-XXXXXX", base);
	assert_non_null(mkdtemp(fx->dir));
	ok(chmod(fx->dir, 0755));
	fx->s = make_dir(fx->src, fx, "src");
	fx->d = make_dir(fx->dst, fx, "dst");
	fx->o = make_dir(fx->out, fx, "out");
	close(make_dir(tmp, fx, "tmp"));
	ok(disk_files_new(tmp, true, &fx->disk, NULL));
	ok(disk_mkdir(fx->disk, "spill", NULL));
	*state = fx;
	return 0;
}

static int setup(void **state)
{
	return setup_in(state, base_dir());
}

static int setup_big(void **state)
{
	return setup_in(state, access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							     : base_dir());
}

static int teardown(void **state)
{
	struct fixture *fx = *state;
	char cmd[256];

	disk_free(fx->disk);
	close(fx->s);
	close(fx->d);
	close(fx->o);
	snprintf(cmd, sizeof(cmd),
		 "chmod -R u+rwx %s 2>/dev/null; rm -rf %s", fx->dir, fx->dir);
	assert_int_equal(system(cmd), 0);
	free(fx);
	return 0;
}

static void on_warn(void *ctx, const char *path, const char *text, int code)
{
	struct fixture *fx = ctx;

	fx->nr_warnings++;
	assert_true(code < 0);
	snprintf(fx->warned, sizeof(fx->warned), "%.100s: %.300s", path, text);
}

static void on_event(void *ctx, const char *path, enum target_event event)
{
	struct fixture *fx = ctx;

	fx->nr_events[event]++;
}

static bool on_xattr(void *ctx, const char *name)
{
	struct fixture *fx = ctx;

	return !fx->unwanted || strcmp(name, fx->unwanted) != 0;
}

static struct target_options options(struct fixture *fx)
{
	const struct target_options opt = {
		.list_bytes = 1 * MiB,
		.spill_disk = fx->disk,
		.spill_dir = "spill",
		.warn = on_warn,
		.event = on_event,
		.want_xattr = on_xattr,
		.ctx = fx,
	};

	fx->nr_warnings = 0;
	memset(fx->nr_events, 0, sizeof(fx->nr_events));
	return opt;
}

static struct target *open_target(struct fixture *fx,
				  const struct target_options *opt)
{
	struct akin_diag diag = { 0 };
	struct target *t;

	if (target_open(fx->dst, opt, &t, &diag))
		fail_msg("%s", diag.text);
	return t;
}

static void finish_target(struct target *t)
{
	ok(target_finish(t, NULL));
	target_free(t);
}

static struct source_walk *open_source(struct fixture *fx, const char *path)
{
	const struct source_options opt = { .list_bytes = 1 * MiB,
					    .spill_disk = fx->disk,
					    .spill_dir = "spill" };
	struct source_walk *w;

	ok(source_walk_open(path, &opt, &w, NULL));
	return w;
}

/* --- copying a tree ---------------------------------------------------- */

static int copy_file(struct source_walk *w, struct target *t, struct node *n,
		     struct akin_diag *diag)
{
	static u8 buf[256 * 1024];
	struct source_file *f = NULL;
	enum target_action what;
	struct source_piece p;
	int err = target_file_begin(t, n, &what, diag), rc;

	if (err)
		return err;
	if (what == TARGET_WRITE)
		err = source_file_open(w, n->name, n, &f, diag);
	while (!err && f &&
	       (rc = source_file_read(f, buf, sizeof(buf), &p, diag)) != 0) {
		if (rc < 0)
			err = rc;
		else if (p.type == SOURCE_HOLE)
			err = target_file_hole(t, p.off, p.len, diag);
		else
			err = target_file_data(t, p.off, buf, p.len, diag);
	}
	source_file_close(f);
	if (!err)
		return target_file_end(t, n, diag);
	target_file_fail(t);
	return err;
}

static int copy_dir(struct source_walk *w, struct target *t,
		    struct akin_diag *diag)
{
	struct source_dir *d;
	const char *name;
	struct node n;
	int rc, err;
	u8 type;

	err = source_dir_open(w, &d, diag);
	if (err)
		return err;
	while (!err && (rc = source_dir_next(d, &name, &type, diag)) != 0) {
		err = rc < 0 ? rc : source_stat(w, name, true, &n, diag);
		if (err)
			break;
		if (n.type == NODE_FILE) {
			err = copy_file(w, t, &n, diag);
		} else if (n.type == NODE_DIR) {
			err = target_dir_begin(t, &n, 0, diag);
			if (!err) {
				err = source_walk_enter(w, name, diag);
				if (!err)
					err = copy_dir(w, t, diag);
				if (!err)
					err = source_walk_leave(w, diag);
				if (!err)
					err = target_dir_end(t, &n, diag);
			}
		} else {
			err = target_special(t, &n, diag);
		}
		source_node_release(&n);
	}
	source_dir_free(d);
	return err;
}

static void copy_all(struct fixture *fx, const struct target_options *opt)
{
	struct source_walk *w = open_source(fx, fx->src);
	struct target *t = open_target(fx, opt);
	struct akin_diag diag = { 0 };

	if (copy_dir(w, t, &diag))
		fail_msg("%s", diag.text);
	finish_target(t);
	source_walk_free(w);
}

/* --- comparing trees --------------------------------------------------- */

static void compare_content(int a_at, int b_at, const char *name)
{
	static u8 a[65536], b[65536];
	int fa = openat(a_at, name, O_RDONLY | O_NOFOLLOW | O_NOATIME);
	int fb = openat(b_at, name, O_RDONLY | O_NOFOLLOW | O_NOATIME);
	ssize_t n;

	if (fa < 0 && errno == EACCES)
		return;
	assert_true(fa >= 0 && fb >= 0);
	while ((n = read(fa, a, sizeof(a))) > 0) {
		assert_int_equal(read(fb, b, sizeof(b)), n);
		assert_memory_equal(a, b, n);
	}
	assert_int_equal(read(fb, b, 1), 0);
	close(fa);
	close(fb);
}

static void compare_nodes(const struct node *a, const struct node *b)
{
	u32 i;

	assert_int_equal(a->type, b->type);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->mtime_sec, b->mtime_sec);
	assert_int_equal(a->mtime_nsec, b->mtime_nsec);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->rdev, b->rdev);
	assert_int_equal(a->target_len, b->target_len);
	if (a->target_len)
		assert_memory_equal(a->target, b->target, a->target_len);
	assert_int_equal(a->nr_xattrs, b->nr_xattrs);
	for (i = 0; i < a->nr_xattrs; i++) {
		assert_string_equal(a->xattrs[i].name, b->xattrs[i].name);
		assert_int_equal(a->xattrs[i].len, b->xattrs[i].len);
		assert_memory_equal(a->xattrs[i].value, b->xattrs[i].value,
				    a->xattrs[i].len);
	}
}

static void compare_dirs(struct fixture *fx, const char *pa, const char *pb)
{
	struct source_walk *a = open_source(fx, pa), *b = open_source(fx, pb);
	char sub_a[4096], sub_b[4096];
	struct source_dir *da, *db;
	const char *na, *nb;
	struct node x, y;
	int fa = open(pa, O_RDONLY | O_DIRECTORY);
	int fb = open(pb, O_RDONLY | O_DIRECTORY), rc;
	u8 type;

	ok(source_dir_open(a, &da, NULL));
	ok(source_dir_open(b, &db, NULL));
	for (;;) {
		rc = source_dir_next(da, &na, &type, NULL);
		assert_int_equal(source_dir_next(db, &nb, &type, NULL), rc);
		if (rc == 0)
			break;
		assert_string_equal(na, nb);
		ok(source_stat(a, na, true, &x, NULL));
		ok(source_stat(b, nb, true, &y, NULL));
		compare_nodes(&x, &y);
		if (x.type == NODE_FILE)
			compare_content(fa, fb, na);
		snprintf(sub_a, sizeof(sub_a), "%s/%s", pa, na);
		snprintf(sub_b, sizeof(sub_b), "%s/%s", pb, nb);
		if (x.type == NODE_DIR)
			compare_dirs(fx, sub_a, sub_b);
		source_node_release(&x);
		source_node_release(&y);
	}
	source_dir_free(da);
	source_dir_free(db);
	source_walk_free(a);
	source_walk_free(b);
	close(fa);
	close(fb);
}

/* --- making trees ------------------------------------------------------ */

static void put(int at, const char *name, const void *data, size_t n, off_t off)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, off), n);
	ok(close(fd));
}

static void put_text(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	ok(close(fd));
}

static void assert_text(int at, const char *name, const char *text)
{
	char buf[256];
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, buf, sizeof(buf));
	close(fd);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(buf, text, n);
}

static bool exists(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct stat stat_of(int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		fail_msg("%s: %s", name, strerror(errno));
	return st;
}

static void set_time(int at, const char *name, s64 sec, long nsec)
{
	const struct timespec ts[2] = { { 0, 0 }, { sec, nsec } };

	ok(utimensat(at, name, ts, AT_SYMLINK_NOFOLLOW));
}

static bool set_xattr(struct fixture *fx, const char *name, const char *key,
		      const void *value, size_t n)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fx->src, name);
	return lsetxattr(path, key, value, n, 0) == 0;
}

/* POSIX ACL: u::rw- u:7:r-- g::r-- m::r-- o::--- */
static const u8 acl[] = {
	2, 0, 0, 0, 1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, 2, 0, 4, 0, 7, 0, 0, 0,
	4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, 16, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
	32, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
};
static const u8 capability[20] = { 1, 0, 0, 2, 0, 4 };

static void make_tree(struct fixture *fx)
{
	static u8 data[300000];
	struct rng r = { 7 };
	bool root = geteuid() == 0;
	char one[4];
	int fd, i;

	rng_fill(&r, data, sizeof(data));
	ok(mkdirat(fx->s, "d", 0755));
	ok(mkdirat(fx->s, "d/empty", 0711));
	ok(mkdirat(fx->s, "ro", 0755));
	put(fx->s, "ro/f", "in a 0555 directory", 19, 0);
	ok(fchmodat(fx->s, "ro/f", 0444, 0));
	put(fx->s, "big", data, sizeof(data), 0);
	put(fx->s, "empty", "", 0, 0);
	put(fx->s, "suid", "#!", 2, 0);
	ok(fchmodat(fx->s, "suid", 06755, 0));
	put(fx->s, "sparse", data, 10000, 5 << 20);
	fd = openat(fx->s, "sparse", O_WRONLY | O_CLOEXEC);
	ok(ftruncate(fd, 9 << 20));
	ok(close(fd));
	put(fx->s, "A", "pair one", 8, 0);
	ok(linkat(fx->s, "A", fx->s, "d/a", 0));
	put(fx->s, "B", "pair two", 8, 0);
	ok(linkat(fx->s, "B", fx->s, "d/b", 0));
	ok(symlinkat("\xff\xfe/nowhere\n", fx->s, "symlink"));
	ok(linkat(fx->s, "symlink", fx->s, "symlink2", 0));
	ok(mkfifoat(fx->s, "fifo", 0640));
	ok(mknodat(fx->s, "socket", S_IFSOCK | 0600, 0));
	for (i = 1; i < 256; i++) {
		snprintf(one, sizeof(one), "%c", i);
		if (i != '/' && i != '.' && !exists(fx->s, one))
			put(fx->s, one, one, 1, 0);
	}
	(void)set_xattr(fx, "big", "user.x", "\0y", 2);
	(void)set_xattr(fx, "ro/f", "user.on-read-only", "z", 1);
	(void)set_xattr(fx, "big", "system.posix_acl_access", acl, sizeof(acl));
	(void)set_xattr(fx, "d", "system.posix_acl_default", acl, sizeof(acl));
	if (root) {
		(void)mknodat(fx->s, "char", S_IFCHR | 0620, makedev(1, 3));
		(void)mknodat(fx->s, "block", S_IFBLK | 0600,
			      makedev(7, 0x1234));
		(void)set_xattr(fx, "symlink", "trusted.t", "on a link", 9);
		(void)set_xattr(fx, "symlink", "security.s", "label", 5);
		(void)set_xattr(fx, "fifo", "trusted.t", "on a fifo", 9);
		ok(fchownat(fx->s, "suid", 12, 34, 0));
		ok(fchmodat(fx->s, "suid", 06755, 0));
		(void)set_xattr(fx, "suid", "security.capability", capability,
				sizeof(capability));
		ok(fchownat(fx->s, "symlink", 56, 78, AT_SYMLINK_NOFOLLOW));
		ok(fchownat(fx->s, "ro", 90, 91, 0));
	}
	set_time(fx->s, "big", -5, 999999999);
	set_time(fx->s, "empty", 2147483648LL + 5, 1);
	set_time(fx->s, "symlink", 1000, 123);
	set_time(fx->s, "fifo", 2000, 0);
	set_time(fx->s, "d/empty", -100000, 7);
	set_time(fx->s, "d", 86400, 77);
	set_time(fx->s, "ro", 1, 2);
	ok(fchmodat(fx->s, "ro", 0555, 0));
}

static void assert_pairs(struct fixture *fx)
{
	struct stat a = stat_of(fx->d, "A"), b = stat_of(fx->d, "B");

	assert_int_equal(a.st_nlink, 2);
	assert_int_equal(b.st_nlink, 2);
	assert_true(a.st_ino != b.st_ino);
	assert_true(a.st_ino == stat_of(fx->d, "d/a").st_ino);
	assert_true(b.st_ino == stat_of(fx->d, "d/b").st_ino);
	assert_true(stat_of(fx->d, "symlink").st_ino ==
		    stat_of(fx->d, "symlink2").st_ino);
}

/* --- tests ------------------------------------------------------------- */

static void test_round_trip(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);

	make_tree(fx);
	opt.durable = true;
	copy_all(fx, &opt);
	if (fx->nr_warnings)
		fail_msg("%s", fx->warned);
	assert_int_equal(fx->nr_events[TARGET_LINKED], 3);
	compare_dirs(fx, fx->src, fx->dst);
	assert_pairs(fx);
	assert_true(stat_of(fx->d, "sparse").st_blocks * 512 < 1 << 20);
}

static void test_second_restore(void **state)
{
	static const enum target_overwrite how[] = { TARGET_ALWAYS,
						     TARGET_IF_CHANGED,
						     TARGET_NEVER };
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct stat before;
	size_t i;

	make_tree(fx);
	copy_all(fx, &opt);
	for (i = 0; i < ARRAY_SIZE(how); i++) {
		before = stat_of(fx->d, "big");
		opt = options(fx);
		opt.overwrite = how[i];
		opt.delete_extra = opt.root_complete = true;
		copy_all(fx, &opt);
		if (fx->nr_warnings)
			fail_msg("%s", fx->warned);
		assert_int_equal(fx->nr_events[TARGET_CREATED], 0);
		assert_int_equal(fx->nr_events[TARGET_DELETED], 0);
		compare_dirs(fx, fx->src, fx->dst);
		assert_pairs(fx);
		assert_true(stat_of(fx->d, "big").st_ino == before.st_ino);
		if (how[i] != TARGET_ALWAYS)
			assert_int_equal(fx->nr_events[TARGET_UPDATED], 0);
	}
}

/* The links that exist pair the wrong names; contents look equal. */
static void test_wrong_pairs(void **state)
{
	static const enum target_overwrite how[] = { TARGET_ALWAYS,
						     TARGET_IF_CHANGED };
	static const char *const names[] = { "A", "B", "a", "b", "plain" };
	struct fixture *fx = *state;
	struct target_options opt;
	size_t i, k;

	put_text(fx->s, "A", "same");
	put_text(fx->s, "B", "same");
	put_text(fx->s, "plain", "same");
	ok(linkat(fx->s, "A", fx->s, "a", 0));
	ok(linkat(fx->s, "B", fx->s, "b", 0));
	for (k = 0; k < ARRAY_SIZE(names); k++)
		set_time(fx->s, names[k], 100, 0);
	for (i = 0; i < ARRAY_SIZE(how); i++) {
		for (k = 0; k < ARRAY_SIZE(names); k++)
			(void)unlinkat(fx->d, names[k], 0);
		put_text(fx->d, "A", "same");
		set_time(fx->d, "A", 100, 0);
		for (k = 1; k < ARRAY_SIZE(names); k++)
			ok(linkat(fx->d, "A", fx->d, names[k], 0));
		opt = options(fx);
		opt.overwrite = how[i];
		copy_all(fx, &opt);
		compare_dirs(fx, fx->src, fx->dst);
		assert_true(stat_of(fx->d, "A").st_ino ==
			    stat_of(fx->d, "a").st_ino);
		assert_true(stat_of(fx->d, "B").st_ino ==
			    stat_of(fx->d, "b").st_ino);
		assert_int_equal(stat_of(fx->d, "A").st_nlink, 2);
		assert_int_equal(stat_of(fx->d, "B").st_nlink, 2);
		assert_int_equal(stat_of(fx->d, "plain").st_nlink, 1);
	}
}

static void file_node(struct node *n, const char *name, u64 size)
{
	memset(n, 0, sizeof(*n));
	n->type = NODE_FILE;
	n->name = name;
	n->mode = 0640;
	n->uid = geteuid();
	n->gid = getegid();
	n->mtime_sec = 1234567;
	n->mtime_nsec = 89;
	n->size = size;
}

static void dir_node(struct node *n, const char *name)
{
	file_node(n, name, 0);
	n->type = NODE_DIR;
	n->mode = 0755;
}

static int put_file(struct target *t, struct node *n, const void *data)
{
	enum target_action what;
	int err = target_file_begin(t, n, &what, NULL);

	if (!err && what == TARGET_WRITE)
		err = target_file_data(t, 0, data, n->size, NULL);
	if (!err)
		err = target_file_end(t, n, NULL);
	return err;
}

/* A subset without the group's first name: the data comes with the next. */
static void test_links_subset(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t = open_target(fx, &opt);
	struct node a, b;

	file_node(&a, "second", 4);
	a.flags = NODE_LINKED;
	a.dev = 1;
	a.ino = 99;
	b = a;
	b.name = "third";
	ok(put_file(t, &a, "data"));
	ok(put_file(t, &b, "NOT!"));
	finish_target(t);
	assert_text(fx->d, "third", "data");
	assert_int_equal(stat_of(fx->d, "second").st_nlink, 2);
}

static void test_links_beyond_memory(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t;
	char name[32];
	struct node n;
	int i;

	opt.link_bytes = 8 * KiB;
	t = open_target(fx, &opt);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%05d", i);
		file_node(&n, name, 3);
		n.flags = NODE_LINKED;
		n.ino = (u64)(i / 2);
		ok(put_file(t, &n, "abc"));
		assert_text(fx->d, name, "abc");
	}
	assert_int_equal(fx->nr_warnings, 1);
	assert_non_null(strstr(fx->warned, "copies"));
	assert_true(target_counts(t)->linked > 10);
	assert_true(target_counts(t)->linked < 200);
	finish_target(t);
}

/* The directory of the first name was swapped for a symlink meanwhile. */
static void test_link_source_swapped(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t = open_target(fx, &opt);
	struct node d, n;

	put_text(fx->o, "f", "secret");
	dir_node(&d, "d");
	file_node(&n, "f", 4);
	n.flags = NODE_LINKED;
	n.ino = 5;
	ok(target_dir_begin(t, &d, 0, NULL));
	ok(put_file(t, &n, "data"));
	ok(target_dir_end(t, &d, NULL));
	ok(renameat(fx->d, "d", fx->o, "moved"));
	ok(symlinkat(fx->out, fx->d, "d"));
	n.name = "g";
	ok(put_file(t, &n, "data"));
	n.name = "h";
	ok(put_file(t, &n, "data"));
	finish_target(t);
	assert_int_equal(fx->nr_warnings, 1);
	assert_text(fx->d, "g", "data");
	assert_int_equal(stat_of(fx->d, "g").st_nlink, 2);
	assert_int_equal(stat_of(fx->d, "h").st_nlink, 2);
	assert_int_equal(stat_of(fx->o, "f").st_nlink, 1);
	assert_text(fx->o, "f", "secret");
}

/* Content by segments: 'd'ata or 'h'ole, 100000 bytes each. */
#define SEG 100000

static void segment(u8 *out, char kind, size_t i)
{
	struct rng r = { i + 1 };

	if (kind == 'h')
		memset(out, 0, SEG);
	else
		rng_fill(&r, out, SEG);
}

static void write_segments(struct target *t, const char *spec)
{
	static u8 data[SEG];
	enum target_action what;
	struct node n;
	size_t i;

	file_node(&n, "f", strlen(spec) * SEG);
	ok(target_file_begin(t, &n, &what, NULL));
	assert_int_equal(what, TARGET_WRITE);
	/* Backwards: any order will do. */
	for (i = strlen(spec); i-- > 0;) {
		segment(data, spec[i], i);
		if (spec[i] == 'h')
			ok(target_file_hole(t, i * SEG, SEG, NULL));
		else
			ok(target_file_data(t, i * SEG, data, SEG, NULL));
	}
	ok(target_file_end(t, &n, NULL));
}

static void assert_segments(struct fixture *fx, const char *spec)
{
	static u8 want[SEG], got[SEG];
	struct stat st = stat_of(fx->d, "f");
	int fd = openat(fx->d, "f", O_RDONLY);
	u64 data = 0;
	size_t i;

	assert_int_equal(st.st_size, strlen(spec) * SEG);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1234567);
	for (i = 0; spec[i]; i++) {
		segment(want, spec[i], i);
		assert_int_equal(pread(fd, got, SEG, (off_t)(i * SEG)), SEG);
		assert_memory_equal(want, got, SEG);
		data += spec[i] == 'd' ? SEG : 0;
	}
	close(fd);
	/* Holes are holes: up to a block at each edge. */
	assert_true((u64)st.st_blocks * 512 <= data + strlen(spec) * 16384);
}

static void test_in_place(void **state)
{
	static const char *const specs[] = { "",     "d",    "h",     "dd",
					     "dhd",  "hdh",  "dddd",  "hhhh",
					     "dhhd", "hddh", "ddhhdd" };
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	size_t i, k;
	ino_t ino;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		for (k = 0; k < ARRAY_SIZE(specs); k++) {
			struct target *t = open_target(fx, &opt);

			write_segments(t, specs[i]);
			ino = stat_of(fx->d, "f").st_ino;
			write_segments(t, specs[k]);
			finish_target(t);
			assert_segments(fx, specs[k]);
			assert_true(stat_of(fx->d, "f").st_ino == ino);
		}
	}
}

static void test_in_place_writes_what_differs(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	static u8 data[1 << 20];
	struct target *t;
	struct node n;

	memset(data, 'x', sizeof(data));
	put(fx->d, "f", data, sizeof(data), 0);
	data[500000]++;
	file_node(&n, "f", sizeof(data));
	t = open_target(fx, &opt);
	ok(put_file(t, &n, data));
	assert_int_equal(target_counts(t)->written_bytes, 64 * KiB);
	assert_int_equal(target_counts(t)->kept_bytes, MiB - 64 * KiB);
	finish_target(t);
}

static void test_huge_sparse(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	static u8 data[1 << 20];
	const u64 size = 64 * GiB;
	enum target_action what;
	struct target *t;
	struct node n;
	int i;

	memset(data, 'x', sizeof(data));
	file_node(&n, "f", size);
	/* Made, then over itself. */
	for (i = 0; i < 2; i++) {
		t = open_target(fx, &opt);
		ok(target_file_begin(t, &n, &what, NULL));
		ok(target_file_hole(t, 0, size - MiB, NULL));
		ok(target_file_data(t, size - MiB, data, MiB, NULL));
		ok(target_file_end(t, &n, NULL));
		finish_target(t);
		assert_true((u64)stat_of(fx->d, "f").st_size == size);
		assert_true(stat_of(fx->d, "f").st_blocks * 512 < 2 << 20);
	}
}

static void test_policies(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	enum target_action what;
	struct target *t;
	struct node n;

	put_text(fx->d, "never", "mine");
	put_text(fx->d, "equal", "mine");
	put_text(fx->d, "longer", "mine+");
	set_time(fx->d, "equal", 1234567, 89);
	set_time(fx->d, "longer", 1234567, 89);
	opt.overwrite = TARGET_NEVER;
	t = open_target(fx, &opt);
	file_node(&n, "never", 4);
	ok(target_file_begin(t, &n, &what, NULL));
	assert_int_equal(what, TARGET_SKIP);
	assert_int_equal(target_file_data(t, 0, "abcd", 4, NULL),
			 -AKIN_E_sequence);
	ok(target_file_end(t, &n, NULL));
	finish_target(t);
	assert_text(fx->d, "never", "mine");
	assert_int_equal(stat_of(fx->d, "never").st_mode & 0777, 0644);
	assert_true(stat_of(fx->d, "never").st_mtim.tv_sec != 1234567);

	opt.overwrite = TARGET_IF_CHANGED;
	t = open_target(fx, &opt);
	file_node(&n, "equal", 4);
	ok(target_file_begin(t, &n, &what, NULL));
	assert_int_equal(what, TARGET_SKIP);
	ok(target_file_end(t, &n, NULL));
	n.name = "longer";
	ok(put_file(t, &n, "data"));
	n.name = "never";
	ok(put_file(t, &n, "data"));
	finish_target(t);
	assert_text(fx->d, "equal", "mine");
	assert_int_equal(stat_of(fx->d, "equal").st_mode & 0777, 0640);
	assert_text(fx->d, "longer", "data");
	assert_text(fx->d, "never", "data");
}

static void test_in_the_way(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t;
	struct node d, f, l;

	dir_node(&d, "want-dir");
	file_node(&f, "want-file", 4);
	file_node(&l, "want-link", 0);
	l.type = NODE_SYMLINK;
	l.target = (const u8 *)"there";
	l.target_len = 5;

	put_text(fx->d, "want-dir", "a file");
	ok(mkdirat(fx->d, "want-file", 0700));
	put_text(fx->d, "want-link", "a file");
	opt.overwrite = TARGET_NEVER;
	t = open_target(fx, &opt);
	assert_int_equal(target_dir_begin(t, &d, 0, NULL), -AKIN_E_exists);
	ok(put_file(t, &f, "data"));
	ok(target_special(t, &l, NULL));
	finish_target(t);
	assert_text(fx->d, "want-dir", "a file");
	assert_text(fx->d, "want-link", "a file");

	opt.overwrite = TARGET_ALWAYS;
	ok(mkdirat(fx->d, "want-file/sub", 0700));
	put_text(fx->d, "want-file/sub/f", "x");
	t = open_target(fx, &opt);
	ok(target_dir_begin(t, &d, 0, NULL));
	ok(target_dir_end(t, &d, NULL));
	assert_true(put_file(t, &f, "data") < 0);
	assert_true(exists(fx->d, "want-file/sub/f"));
	ok(target_special(t, &l, NULL));
	finish_target(t);
	assert_true(S_ISDIR(stat_of(fx->d, "want-dir").st_mode));
	assert_true(S_ISLNK(stat_of(fx->d, "want-link").st_mode));

	opt.delete_extra = true;
	t = open_target(fx, &opt);
	ok(put_file(t, &f, "data"));
	finish_target(t);
	assert_text(fx->d, "want-file", "data");
}

static void test_delete(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t;
	struct node d, f;
	char name[32];
	int i;

	ok(mkdirat(fx->d, "d", 0755));
	ok(mkdirat(fx->d, "p", 0755));
	ok(mkdirat(fx->d, "q", 0755));
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "d/%05d", i);
		put_text(fx->d, name, "old");
	}
	ok(mkdirat(fx->d, "d/zdir", 0755));
	ok(mkdirat(fx->d, "d/zdir/sub", 0755));
	put_text(fx->d, "d/zdir/sub/f", "x");
	put_text(fx->d, "d/zdir/f", "x");
	put_text(fx->o, "outside", "safe");
	ok(symlinkat(fx->out, fx->d, "d/zdir/link"));
	ok(symlinkat(fx->out, fx->d, "d/zlink"));
	put_text(fx->d, "p/old", "x");
	put_text(fx->d, "extra", "x");

	opt.delete_extra = true;
	opt.list_bytes = 1; /* spills */
	t = open_target(fx, &opt);
	dir_node(&d, "d");
	ok(target_dir_begin(t, &d, 0, NULL));
	file_node(&f, "00100", 3);
	ok(put_file(t, &f, "new"));
	ok(target_keep(t, "00200", NULL));
	file_node(&f, "00200x", 3);
	ok(put_file(t, &f, "new"));
	ok(target_dir_end(t, &d, NULL));
	dir_node(&d, "p");
	ok(target_dir_begin(t, &d, TARGET_DIR_PARTIAL, NULL));
	ok(target_dir_end(t, &d, NULL));
	assert_int_equal(target_counts(t)->deleted, 3000 - 2 + 2);
	finish_target(t);
	assert_text(fx->d, "d/00100", "new");
	assert_text(fx->d, "d/00200", "old");
	assert_text(fx->d, "d/00200x", "new");
	assert_false(exists(fx->d, "d/00000"));
	assert_false(exists(fx->d, "d/00201"));
	assert_false(exists(fx->d, "d/zdir"));
	assert_false(exists(fx->d, "d/zlink"));
	assert_text(fx->o, "outside", "safe");
	assert_text(fx->d, "p/old", "x");
	assert_text(fx->d, "extra", "x");

	opt.root_complete = true;
	/* Not finished: nothing more goes than what was passed. */
	t = open_target(fx, &opt);
	dir_node(&d, "d");
	ok(target_dir_begin(t, &d, TARGET_DIR_PARTIAL, NULL));
	target_free(t);
	assert_true(exists(fx->d, "extra"));
	t = open_target(fx, &opt);
	ok(target_keep(t, "d", NULL));
	ok(target_keep(t, "q", NULL));
	assert_false(exists(fx->d, "extra"));
	finish_target(t);
	assert_false(exists(fx->d, "p"));
	assert_true(exists(fx->d, "q"));
	assert_true(exists(fx->d, "d/00100"));
}

static void test_hostile_names(void **state)
{
	static const char *const bad[] = { "",	  ".",	 "..",	 "/",
					   "a/b", "/etc", "../x", "a/" };
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t = open_target(fx, &opt);
	enum target_action what;
	char longest[300];
	struct node n, d;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		file_node(&n, bad[i], 0);
		assert_int_equal(target_file_begin(t, &n, &what, NULL),
				 -AKIN_E_path_unsafe);
		n.type = NODE_DIR;
		assert_int_equal(target_dir_begin(t, &n, 0, NULL),
				 -AKIN_E_path_unsafe);
		n.type = NODE_FIFO;
		assert_int_equal(target_special(t, &n, NULL),
				 -AKIN_E_path_unsafe);
		assert_int_equal(target_keep(t, bad[i], NULL),
				 -AKIN_E_path_unsafe);
	}
	memset(longest, 'x', sizeof(longest));
	longest[256] = 0;
	file_node(&n, longest, 0);
	assert_int_equal(target_file_begin(t, &n, &what, NULL),
			 -AKIN_E_path_unsafe);

	/* Twice, or out of order, where order is due. */
	dir_node(&d, "d");
	ok(target_dir_begin(t, &d, 0, NULL));
	file_node(&n, "m", 1);
	ok(put_file(t, &n, "1"));
	assert_int_equal(put_file(t, &n, "2"), -AKIN_E_path_unsafe);
	n.name = "a";
	assert_int_equal(put_file(t, &n, "2"), -AKIN_E_path_unsafe);
	n.name = "z";
	ok(put_file(t, &n, "2"));
	ok(target_dir_end(t, &d, NULL));
	assert_int_equal(target_dir_end(t, &d, NULL), -AKIN_E_sequence);
	finish_target(t);
	assert_text(fx->d, "d/m", "1");
}

/* A symlink d, made by the restore or found, and then entries below d. */
static void test_symlink_tricks(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t = open_target(fx, &opt);
	struct node d, f, l;

	put_text(fx->o, "x", "outside");
	file_node(&l, "d", 0);
	l.type = NODE_SYMLINK;
	l.target = (const u8 *)fx->out;
	l.target_len = (u32)strlen(fx->out);
	ok(target_special(t, &l, NULL));
	dir_node(&d, "d");
	file_node(&f, "x", 3);
	/* At the top names may come again: the link is replaced. */
	ok(target_dir_begin(t, &d, 0, NULL));
	ok(put_file(t, &f, "new"));
	ok(target_special(t, &(struct node){ .type = NODE_FIFO, .name = "y" },
			  NULL));
	ok(target_dir_end(t, &d, NULL));
	assert_true(S_ISDIR(stat_of(fx->d, "d").st_mode));

	/* A file where a symlink to an outside file is. */
	ok(symlinkat("../out/x", fx->d, "f"));
	f.name = "f";
	ok(put_file(t, &f, "new"));
	assert_text(fx->d, "f", "new");
	/* Another name of an outside file. */
	ok(linkat(fx->o, "x", fx->d, "g", 0));
	f.name = "g";
	ok(put_file(t, &f, "new"));
	assert_text(fx->d, "g", "new");
	/* A dangling symlink is no way to create something outside. */
	ok(symlinkat("../out/created", fx->d, "h"));
	f.name = "h";
	ok(put_file(t, &f, "new"));
	assert_false(exists(fx->o, "created"));
	finish_target(t);
	assert_text(fx->o, "x", "outside");
	assert_int_equal(stat_of(fx->o, "x").st_nlink, 1);
	assert_false(exists(fx->o, "y"));

	/* Nor does "never" follow it. */
	ok(symlinkat(fx->out, fx->d, "k"));
	opt.overwrite = TARGET_NEVER;
	t = open_target(fx, &opt);
	d.name = "k";
	assert_int_equal(target_dir_begin(t, &d, 0, NULL), -AKIN_E_exists);
	finish_target(t);
}

/* Somebody else holds the file open: he does not get to read the new one. */
static void test_foreign_inode(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t;
	struct node n;
	char buf[8];
	int fd;

	if (geteuid() != 0) {
		print_message("# skipped: needs files of another owner\n");
		return;
	}
	put_text(fx->d, "f", "his");
	ok(fchownat(fx->d, "f", 4321, 4321, 0));
	fd = openat(fx->d, "f", O_RDONLY);
	t = open_target(fx, &opt);
	file_node(&n, "f", 6);
	ok(put_file(t, &n, "secret"));
	finish_target(t);
	assert_int_equal(pread(fd, buf, sizeof(buf), 0), 3);
	assert_memory_equal(buf, "his", 3);
	close(fd);
	assert_text(fx->d, "f", "secret");
}

static void test_wrong_lengths(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t = open_target(fx, &opt);
	enum target_action what;
	struct node n;

	file_node(&n, "f", 4);
	ok(target_file_begin(t, &n, &what, NULL));
	assert_int_equal(target_file_begin(t, &n, &what, NULL),
			 -AKIN_E_sequence);
	assert_int_equal(target_file_data(t, 2, "abc", 3, NULL),
			 -AKIN_E_bad_length);
	assert_int_equal(target_file_data(t, UINT64_MAX, "a", 1, NULL),
			 -AKIN_E_bad_length);
	assert_int_equal(target_file_hole(t, 1, UINT64_MAX, NULL),
			 -AKIN_E_bad_length);
	ok(target_file_data(t, 0, "abc", 3, NULL));
	assert_int_equal(target_file_data(t, 0, "ab", 2, NULL),
			 -AKIN_E_bad_length);
	assert_int_equal(target_file_end(t, &n, NULL), -AKIN_E_bad_length);
	assert_false(exists(fx->d, "f"));

	ok(target_file_begin(t, &n, &what, NULL));
	target_file_fail(t);
	assert_false(exists(fx->d, "f"));
	n.size = UINT64_MAX;
	assert_int_equal(target_file_begin(t, &n, &what, NULL),
			 -AKIN_E_too_large);
	assert_int_equal(target_dir_begin(t, &n, 0, NULL), -AKIN_E_usage);
	assert_int_equal(target_special(t, &n, NULL), -AKIN_E_usage);
	finish_target(t);
}

static void test_odd_metadata(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct node_xattr x[2] = { { "bogus.namespace", (const u8 *)"v", 1 },
				   { "user.fine", (const u8 *)"w", 1 } };
	struct target *t = open_target(fx, &opt);
	struct stat st;
	struct node n;

	file_node(&n, "xattr", 1);
	n.xattrs = x;
	n.nr_xattrs = 2;
	ok(put_file(t, &n, "1"));
	assert_int_equal(fx->nr_warnings, 1);
	assert_non_null(strstr(fx->warned, "bogus.namespace"));
	assert_text(fx->d, "xattr", "1");
	fx->unwanted = "bogus.namespace";
	n.name = "xattr2";
	ok(put_file(t, &n, "1"));
	fx->unwanted = NULL;
	if (fx->nr_warnings == 1)
		assert_int_equal(target_counts(t)->xattrs_failed, 1);

	/* Out of the file system's range, and nanoseconds with a meaning. */
	file_node(&n, "time", 1);
	n.mtime_sec = INT64_MAX;
	n.mtime_nsec = 0x3ffffffe;
	ok(put_file(t, &n, "1"));
	assert_non_null(strstr(fx->warned, "does not fit"));
	st = stat_of(fx->d, "time");
	assert_true(st.st_mtim.tv_sec >= INT32_MAX);
	n.name = "time2";
	n.mtime_sec = INT64_MIN;
	n.mtime_nsec = UINT32_MAX;
	ok(put_file(t, &n, "1"));
	assert_text(fx->d, "time2", "1");

	/* An owner that means "leave it". */
	file_node(&n, "owner", 1);
	n.uid = UINT32_MAX;
	n.mode = 04755;
	ok(put_file(t, &n, "1"));
	assert_int_equal(target_counts(t)->owners_failed, 1);
	assert_int_equal(stat_of(fx->d, "owner").st_mode & 07777, 0755);
	finish_target(t);
}

/* xattrs and ACLs that the snapshot does not have go away. */
static void test_removes_xattrs(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	char path[128];
	struct node d, f;
	struct target *t;

	ok(mkdirat(fx->d, "d", 0755));
	put_text(fx->d, "d/f", "old");
	snprintf(path, sizeof(path), "%s/d/f", fx->dst);
	if (lsetxattr(path, "user.old", "x", 1, 0)) {
		print_message("# skipped: no user xattrs on this file system\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/d", fx->dst);
	(void)lsetxattr(path, "system.posix_acl_default", acl, sizeof(acl), 0);
	t = open_target(fx, &opt);
	dir_node(&d, "d");
	file_node(&f, "f", 3);
	ok(target_dir_begin(t, &d, 0, NULL));
	ok(put_file(t, &f, "new"));
	f.name = "inherits";
	ok(put_file(t, &f, "new"));
	ok(target_dir_end(t, &d, NULL));
	finish_target(t);
	assert_int_equal(fx->nr_warnings, 0);
	assert_true(lgetxattr(path, "system.posix_acl_default", NULL, 0) < 0);
	snprintf(path, sizeof(path), "%s/d/f", fx->dst);
	assert_true(lgetxattr(path, "user.old", NULL, 0) < 0);
	snprintf(path, sizeof(path), "%s/d/inherits", fx->dst);
	assert_true(lgetxattr(path, "system.posix_acl_access", NULL, 0) < 0);
	assert_int_equal(stat_of(fx->d, "d/inherits").st_mode & 07777, 0640);
}

static void test_dry_run(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct stat before;
	char path[128];
	struct target *t;
	struct node n;

	make_tree(fx);
	put_text(fx->d, "big", "old");
	put_text(fx->d, "extra", "x");
	ok(mkdirat(fx->d, "A", 0700));
	put_text(fx->d, "d", "a file, not a directory");
	before = stat_of(fx->d, ".");
	opt.dry_run = opt.delete_extra = opt.root_complete = true;
	copy_all(fx, &opt);
	assert_int_equal(fx->nr_events[TARGET_DELETED], 1);
	assert_int_equal(fx->nr_events[TARGET_UPDATED], 2);
	assert_true(fx->nr_events[TARGET_CREATED] > 200);
	assert_text(fx->d, "big", "old");
	assert_text(fx->d, "extra", "x");
	assert_text(fx->d, "d", "a file, not a directory");
	assert_false(exists(fx->d, "B"));
	assert_int_equal(stat_of(fx->d, ".").st_mtim.tv_nsec,
			 before.st_mtim.tv_nsec);

	/* The target itself need not exist, and is not made. */
	snprintf(path, sizeof(path), "%s/no/such/place", fx->dst);
	ok(target_open(path, &opt, &t, NULL));
	dir_node(&n, "x");
	ok(target_dir_begin(t, &n, 0, NULL));
	file_node(&n, "y", 5);
	ok(put_file(t, &n, NULL));
	ok(target_dir_end(t, &n, NULL));
	finish_target(t);
	assert_false(exists(fx->d, "no"));
}

static void test_makes_the_target(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	char path[128];
	struct target *t;
	struct node n;

	snprintf(path, sizeof(path), "%s/via", fx->dir);
	ok(symlink("out", path));
	snprintf(path, sizeof(path), "%s/via//new/target/", fx->dir);
	ok(target_open(path, &opt, &t, NULL));
	file_node(&n, "f", 1);
	ok(put_file(t, &n, "1"));
	finish_target(t);
	assert_text(fx->o, "new/target/f", "1");
}

#define DEEP 3000

static void test_deep(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct target *t = open_target(fx, &opt);
	struct source_walk *w;
	struct node d, f, got;
	char name[256];
	int i, round;

	memset(name, 'n', sizeof(name));
	name[200] = 0;
	dir_node(&d, name);
	d.mode = 0500;
	file_node(&f, "f", 1);
	f.flags = NODE_LINKED;
	f.ino = 3;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < DEEP; i++)
			ok(target_dir_begin(t, &d, 0, NULL));
		f.name = "f";
		ok(put_file(t, &f, "1"));
		f.name = "g";
		ok(put_file(t, &f, "1"));
		for (i = 0; i < DEEP; i++)
			ok(target_dir_end(t, &d, NULL));
	}
	/* Linked from the far end. */
	f.name = "top";
	ok(put_file(t, &f, "1"));
	assert_int_equal(fx->nr_warnings, 0);
	finish_target(t);
	assert_int_equal(stat_of(fx->d, "top").st_nlink, 3);
	w = open_source(fx, fx->dst);
	for (i = 0; i < DEEP; i++) {
		ok(source_stat(w, name, false, &got, NULL));
		assert_int_equal(got.mode, 0500);
		assert_int_equal(got.mtime_sec, 1234567);
		source_node_release(&got);
		ok(source_walk_enter(w, name, NULL));
	}
	ok(source_stat(w, "g", false, &got, NULL));
	source_node_release(&got);
	source_walk_free(w);

	opt.delete_extra = opt.root_complete = true;
	t = open_target(fx, &opt);
	finish_target(t);
	assert_false(exists(fx->d, "top"));
	assert_false(exists(fx->d, name));
}

#define CHECK(cond)				\
	do {					\
		if (!(cond))			\
			return __LINE__;	\
	} while (0)

/* As an ordinary user: 0, or the line of what went wrong. */
static int restore_unprivileged(struct fixture *fx, const char *path)
{
	struct target_options opt = options(fx);
	struct node ro, hidden, f, s, c;
	struct target *t;
	int round, at;
	struct stat st;

	opt.want_xattr = NULL;
	dir_node(&ro, "ro");
	ro.mode = 0555;
	ro.uid = ro.gid = 0;
	dir_node(&hidden, "hidden");
	hidden.mode = 0;
	file_node(&f, "f", 4);
	f.uid = 0;
	f.mode = 0444;
	file_node(&s, "suid", 4);
	s.uid = 0;
	s.mode = 04755;
	memset(&c, 0, sizeof(c));
	c.type = NODE_CHARDEV;
	c.name = "zero";
	c.rdev = makedev(1, 5);
	for (round = 0; round < 3; round++) {
		opt.overwrite = round == 1 ? TARGET_IF_CHANGED : TARGET_ALWAYS;
		CHECK(target_open(path, &opt, &t, NULL) == 0);
		CHECK(target_dir_begin(t, &hidden, 0, NULL) == 0);
		CHECK(put_file(t, &f, "data") == 0);
		CHECK(target_dir_end(t, &hidden, NULL) == 0);
		CHECK(target_dir_begin(t, &ro, 0, NULL) == 0);
		CHECK(put_file(t, &f, "data") == 0);
		CHECK(put_file(t, &s, "data") == 0);
		CHECK(target_special(t, &c, NULL) == 0);
		CHECK(target_dir_end(t, &ro, NULL) == 0);
		CHECK(target_counts(t)->owners_failed == 4);
		CHECK(target_counts(t)->specials_skipped == 1);
		/* One for all owners, one device, one set-user-ID. */
		CHECK(target_counts(t)->warnings == 3);
		CHECK(target_finish(t, NULL) == 0);
		target_free(t);
		at = open(path, O_RDONLY | O_DIRECTORY);
		CHECK(fstatat(at, "ro", &st, 0) == 0);
		CHECK((st.st_mode & 07777) == 0555);
		CHECK(st.st_mtim.tv_sec == 1234567);
		CHECK(fstatat(at, "ro/suid", &st, 0) == 0);
		CHECK((st.st_mode & 07777) == 0755);
		CHECK(fstatat(at, "ro/f", &st, 0) == 0);
		CHECK(st.st_size == 4 && (st.st_mode & 07777) == 0444);
		CHECK(fstatat(at, "hidden", &st, 0) == 0);
		CHECK((st.st_mode & 07777) == 0);
		close(at);
	}
	/* "never" leaves modes as they were. */
	opt.overwrite = TARGET_NEVER;
	CHECK(target_open(path, &opt, &t, NULL) == 0);
	hidden.mode = 0777;
	CHECK(target_dir_begin(t, &hidden, 0, NULL) == 0);
	CHECK(target_dir_end(t, &hidden, NULL) == 0);
	target_free(t);
	at = open(path, O_RDONLY | O_DIRECTORY);
	CHECK(fstatat(at, "hidden", &st, 0) == 0);
	CHECK((st.st_mode & 07777) == 0);
	/* And deleting goes through what denies it. */
	opt.overwrite = TARGET_ALWAYS;
	opt.delete_extra = opt.root_complete = true;
	CHECK(target_open(path, &opt, &t, NULL) == 0);
	CHECK(target_finish(t, NULL) == 0);
	target_free(t);
	CHECK(fstatat(at, "hidden", &st, 0) < 0);
	CHECK(fstatat(at, "ro", &st, 0) < 0);
	return 0;
}

static void test_unprivileged(void **state)
{
	struct fixture *fx = *state;
	char path[128], report[16];
	int fds[2], line;
	ssize_t n;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/user", fx->dir);
	ok(mkdir(path, 0700));
	if (geteuid() != 0) {
		line = restore_unprivileged(fx, path);
		assert_int_equal(line, 0);
		return;
	}
	ok(chown(path, 65534, 65534));
	ok(pipe(fds));
	pid = fork();
	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) ||
		    setresuid(65534, 65534, 65534))
			_exit(1);
		n = snprintf(report, sizeof(report), "%d",
			     restore_unprivileged(fx, path));
		_exit(write(fds[1], report, (size_t)n) != n);
	}
	close(fds[1]);
	n = read(fds[0], report, sizeof(report) - 1);
	close(fds[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(n > 0);
	report[n] = 0;
	assert_string_equal(report, "0");
}

static void test_short_memory(void **state)
{
	struct fixture *fx = *state;
	struct target_options opt = options(fx);
	struct source_walk *w;
	struct target *t;
	int err = -1;
	u64 n;

	ok(mkdirat(fx->s, "d", 0755));
	put_text(fx->s, "d/f", "data");
	ok(linkat(fx->s, "d/f", fx->s, "g", 0));
	ok(symlinkat("x", fx->s, "l"));
	ok(mkdirat(fx->d, "d", 0755));
	put_text(fx->d, "d/f", "DATA");
	put_text(fx->d, "d/extra", "x");
	opt.delete_extra = true;
	for (n = 1; err; n++) {
		t = NULL;
		w = open_source(fx, fx->src);
		mem_fail_after(n);
		err = target_open(fx->dst, &opt, &t, NULL);
		if (!err)
			err = copy_dir(w, t, NULL);
		if (!err)
			err = target_finish(t, NULL);
		mem_fail_after(0);
		assert_true(err == 0 || err == -AKIN_E_nomem);
		target_free(t);
		source_walk_free(w);
	}
	assert_true(n > 20);
	compare_dirs(fx, fx->src, fx->dst);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define TBIG(fn) cmocka_unit_test_setup_teardown(fn, setup_big, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_round_trip),
		T(test_second_restore),
		T(test_wrong_pairs),
		T(test_links_subset),
		T(test_links_beyond_memory),
		T(test_link_source_swapped),
		T(test_in_place),
		T(test_in_place_writes_what_differs),
		T(test_huge_sparse),
		T(test_policies),
		T(test_in_the_way),
		T(test_delete),
		T(test_hostile_names),
		T(test_symlink_tricks),
		T(test_foreign_inode),
		T(test_wrong_lengths),
		T(test_odd_metadata),
		T(test_removes_xattrs),
		T(test_dry_run),
		T(test_makes_the_target),
		TBIG(test_deep),
		T(test_unprivileged),
		T(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
