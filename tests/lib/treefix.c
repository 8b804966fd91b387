/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "treefix.h"

#include "os/disk.h"

static const char *base_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && strlen(dir) < 32 ? dir : "/tmp";
}

static int make_dir(char out[72], const struct treefix *fx, const char *name)
{
	snprintf(out, 72, "%s/%s", fx->dir, name);
	ok(mkdir(out, 0755));
	return open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int setup_in(void **state, const char *base)
{
	struct treefix *fx = calloc(1, sizeof(*fx));
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

int treefix_setup(void **state)
{
	return setup_in(state, base_dir());
}

int treefix_setup_big(void **state)
{
	return setup_in(state, access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							     : base_dir());
}

int treefix_teardown(void **state)
{
	struct treefix *fx = *state;
	char cmd[256];

	disk_free(fx->disk);
	close(fx->s);
	close(fx->d);
	close(fx->o);
	snprintf(cmd, sizeof(cmd), "chmod -R u+rwx %s 2>/dev/null; rm -rf %s",
		 fx->dir, fx->dir);
	assert_int_equal(system(cmd), 0);
	free(fx);
	return 0;
}

static void on_warn(void *ctx, const char *path, const char *text, int code)
{
	struct treefix *fx = ctx;

	fx->nr_warnings++;
	assert_true(code < 0);
	snprintf(fx->warned, sizeof(fx->warned), "%.100s: %.300s", path, text);
}

static void on_event(void *ctx, const char *path, enum target_event event)
{
	struct treefix *fx = ctx;

	fx->nr_events[event]++;
}

static bool on_xattr(void *ctx, const char *name)
{
	struct treefix *fx = ctx;

	return !fx->unwanted || strcmp(name, fx->unwanted) != 0;
}

struct target_options treefix_options(struct treefix *fx)
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

struct target *treefix_target(struct treefix *fx,
			      const struct target_options *opt)
{
	struct akin_diag diag = {0};
	struct target *t;

	if (target_open(fx->dst, opt, &t, &diag))
		fail_msg("%s", diag.text);
	return t;
}

void treefix_finish(struct target *t)
{
	ok(target_finish(t, NULL));
	target_free(t);
}

struct source_walk *treefix_source(struct treefix *fx, const char *path)
{
	const struct source_options opt = {.list_bytes = 1 * MiB,
					   .spill_disk = fx->disk,
					   .spill_dir = "spill"};
	struct source_walk *w;

	ok(source_walk_open(path, &opt, &w, NULL));
	return w;
}

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

int treefix_copy_dir(struct source_walk *w, struct target *t,
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
					err = treefix_copy_dir(w, t, diag);
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

void treefix_copy(struct treefix *fx, const struct target_options *opt)
{
	struct source_walk *w = treefix_source(fx, fx->src);
	struct target *t = treefix_target(fx, opt);
	struct akin_diag diag = {0};

	if (treefix_copy_dir(w, t, &diag))
		fail_msg("%s", diag.text);
	treefix_finish(t);
	source_walk_free(w);
}

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

void treefix_compare(struct treefix *fx, const char *pa, const char *pb)
{
	struct source_walk *a = treefix_source(fx, pa),
			   *b = treefix_source(fx, pb);
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
			treefix_compare(fx, sub_a, sub_b);
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

void put_bytes(int at, const char *name, const void *data, size_t n, off_t off)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, n, off), n);
	ok(close(fd));
}

void put_text(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	ok(close(fd));
}

void assert_text(int at, const char *name, const char *text)
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

bool exists_at(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

struct stat stat_of(int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		fail_msg("%s: %s", name, strerror(errno));
	return st;
}

void set_time(int at, const char *name, s64 sec, long nsec)
{
	const struct timespec ts[2] = {{0, 0}, {sec, nsec}};

	ok(utimensat(at, name, ts, AT_SYMLINK_NOFOLLOW));
}

bool set_src_xattr(struct treefix *fx, const char *name, const char *key,
		   const void *value, size_t n)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fx->src, name);
	return lsetxattr(path, key, value, n, 0) == 0;
}

const u8 treefix_acl[TREEFIX_ACL_BYTES] = {
	2,    0,    0,	  0,	1,    0,    6,	0,    0xff, 0xff, 0xff,
	0xff, 2,    0,	  4,	0,    7,    0,	0,    0,    4,	  0,
	4,    0,    0xff, 0xff, 0xff, 0xff, 16, 0,    4,    0,	  0xff,
	0xff, 0xff, 0xff, 32,	0,    0,    0,	0xff, 0xff, 0xff, 0xff,
};
static const u8 capability[20] = {1, 0, 0, 2, 0, 4};

void treefix_fill(struct treefix *fx)
{
	static u8 data[300000];
	struct rng r = {7};
	bool root = geteuid() == 0;
	char one[4];
	int fd, i;

	rng_fill(&r, data, sizeof(data));
	ok(mkdirat(fx->s, "d", 0755));
	ok(mkdirat(fx->s, "d/empty", 0711));
	ok(mkdirat(fx->s, "ro", 0755));
	put_bytes(fx->s, "ro/f", "in a 0555 directory", 19, 0);
	ok(fchmodat(fx->s, "ro/f", 0444, 0));
	put_bytes(fx->s, "big", data, sizeof(data), 0);
	put_bytes(fx->s, "empty", "", 0, 0);
	put_bytes(fx->s, "suid", "#!", 2, 0);
	ok(fchmodat(fx->s, "suid", 06755, 0));
	put_bytes(fx->s, "sparse", data, 10000, 5 << 20);
	fd = openat(fx->s, "sparse", O_WRONLY | O_CLOEXEC);
	ok(ftruncate(fd, 9 << 20));
	ok(close(fd));
	put_bytes(fx->s, "A", "pair one", 8, 0);
	ok(linkat(fx->s, "A", fx->s, "d/a", 0));
	put_bytes(fx->s, "B", "pair two", 8, 0);
	ok(linkat(fx->s, "B", fx->s, "d/b", 0));
	ok(symlinkat("\xff\xfe/nowhere\n", fx->s, "symlink"));
	ok(linkat(fx->s, "symlink", fx->s, "symlink2", 0));
	ok(mkfifoat(fx->s, "fifo", 0640));
	ok(mknodat(fx->s, "socket", S_IFSOCK | 0600, 0));
	for (i = 1; i < 256; i++) {
		snprintf(one, sizeof(one), "%c", i);
		if (i != '/' && i != '.' && !exists_at(fx->s, one))
			put_bytes(fx->s, one, one, 1, 0);
	}
	(void)set_src_xattr(fx, "big", "user.x", "\0y", 2);
	(void)set_src_xattr(fx, "ro/f", "user.on-read-only", "z", 1);
	(void)set_src_xattr(fx, "big", "system.posix_acl_access", treefix_acl,
			    TREEFIX_ACL_BYTES);
	(void)set_src_xattr(fx, "d", "system.posix_acl_default", treefix_acl,
			    TREEFIX_ACL_BYTES);
	if (root) {
		(void)mknodat(fx->s, "char", S_IFCHR | 0620, makedev(1, 3));
		(void)mknodat(fx->s, "block", S_IFBLK | 0600,
			      makedev(7, 0x1234));
		(void)set_src_xattr(fx, "symlink", "trusted.t", "on a link", 9);
		(void)set_src_xattr(fx, "symlink", "security.s", "label", 5);
		(void)set_src_xattr(fx, "fifo", "trusted.t", "on a fifo", 9);
		ok(fchownat(fx->s, "suid", 12, 34, 0));
		ok(fchmodat(fx->s, "suid", 06755, 0));
		(void)set_src_xattr(fx, "suid", "security.capability",
				    capability, sizeof(capability));
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

void file_node(struct node *n, const char *name, u64 size)
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

void dir_node(struct node *n, const char *name)
{
	file_node(n, name, 0);
	n->type = NODE_DIR;
	n->mode = 0755;
}

int put_file(struct target *t, struct node *n, const void *data)
{
	enum target_action what;
	int err = target_file_begin(t, n, &what, NULL);

	if (!err && what == TARGET_WRITE)
		err = target_file_data(t, 0, data, n->size, NULL);
	if (!err)
		err = target_file_end(t, n, NULL);
	return err;
}
