/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores that meet hostile snapshots, hostile neighbours, and limits: of
 * privilege, of the file system, of depth and of memory. Nothing outside the
 * target changes (F43).
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "treefix.h"

#include "base/mem.h"

static void test_hostile_names(void **state)
{
	static const char *const bad[] = {"",	 ".",	 "..",	 "/",
					  "a/b", "/etc", "../x", "a/"};
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct target *t = treefix_target(fx, &opt);
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
	treefix_finish(t);
	assert_text(fx->d, "d/m", "1");
}

/* A symlink d, made by the restore or found, and then entries below d. */
static void test_symlink_tricks(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct target *t = treefix_target(fx, &opt);
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
	ok(target_special(t, &(struct node){.type = NODE_FIFO, .name = "y"},
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
	assert_false(exists_at(fx->o, "created"));
	treefix_finish(t);
	assert_text(fx->o, "x", "outside");
	assert_int_equal(stat_of(fx->o, "x").st_nlink, 1);
	assert_false(exists_at(fx->o, "y"));

	/* Nor does "never" follow it. */
	ok(symlinkat(fx->out, fx->d, "k"));
	opt.overwrite = TARGET_NEVER;
	t = treefix_target(fx, &opt);
	d.name = "k";
	assert_int_equal(target_dir_begin(t, &d, 0, NULL), -AKIN_E_exists);
	treefix_finish(t);
}

/* Somebody else holds the file open: he does not get to read the new one. */
static void test_foreign_inode(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
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
	t = treefix_target(fx, &opt);
	file_node(&n, "f", 6);
	ok(put_file(t, &n, "secret"));
	treefix_finish(t);
	assert_int_equal(pread(fd, buf, sizeof(buf), 0), 3);
	assert_memory_equal(buf, "his", 3);
	close(fd);
	assert_text(fx->d, "f", "secret");
}

static void test_wrong_lengths(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct target *t = treefix_target(fx, &opt);
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
	assert_false(exists_at(fx->d, "f"));

	ok(target_file_begin(t, &n, &what, NULL));
	target_file_fail(t);
	assert_false(exists_at(fx->d, "f"));
	n.size = UINT64_MAX;
	assert_int_equal(target_file_begin(t, &n, &what, NULL),
			 -AKIN_E_too_large);
	assert_int_equal(target_dir_begin(t, &n, 0, NULL), -AKIN_E_usage);
	assert_int_equal(target_special(t, &n, NULL), -AKIN_E_usage);
	treefix_finish(t);
}

static void test_odd_metadata(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct node_xattr x[2] = {{"bogus.namespace", (const u8 *)"v", 1},
				  {"user.fine", (const u8 *)"w", 1}};
	struct target *t = treefix_target(fx, &opt);
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
	treefix_finish(t);
}

/* xattrs and ACLs that the snapshot does not have go away. */
static void test_removes_xattrs(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	char path[128];
	struct node d, f;
	struct target *t;

	ok(mkdirat(fx->d, "d", 0755));
	put_text(fx->d, "d/f", "old");
	snprintf(path, sizeof(path), "%s/d/f", fx->dst);
	if (lsetxattr(path, "user.old", "x", 1, 0)) {
		print_message(
			"# skipped: no user xattrs on this file system\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/d", fx->dst);
	(void)lsetxattr(path, "system.posix_acl_default", treefix_acl,
			TREEFIX_ACL_BYTES, 0);
	t = treefix_target(fx, &opt);
	dir_node(&d, "d");
	file_node(&f, "f", 3);
	ok(target_dir_begin(t, &d, 0, NULL));
	ok(put_file(t, &f, "new"));
	f.name = "inherits";
	ok(put_file(t, &f, "new"));
	ok(target_dir_end(t, &d, NULL));
	treefix_finish(t);
	assert_int_equal(fx->nr_warnings, 0);
	assert_true(lgetxattr(path, "system.posix_acl_default", NULL, 0) < 0);
	snprintf(path, sizeof(path), "%s/d/f", fx->dst);
	assert_true(lgetxattr(path, "user.old", NULL, 0) < 0);
	snprintf(path, sizeof(path), "%s/d/inherits", fx->dst);
	assert_true(lgetxattr(path, "system.posix_acl_access", NULL, 0) < 0);
	assert_int_equal(stat_of(fx->d, "d/inherits").st_mode & 07777, 0640);
}

#define DEEP 3000

static void test_deep(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct target *t = treefix_target(fx, &opt);
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
	treefix_finish(t);
	assert_int_equal(stat_of(fx->d, "top").st_nlink, 3);
	w = treefix_source(fx, fx->dst);
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
	t = treefix_target(fx, &opt);
	treefix_finish(t);
	assert_false(exists_at(fx->d, "top"));
	assert_false(exists_at(fx->d, name));
}

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond))                                                   \
			return __LINE__;                                       \
	} while (0)

/* As an ordinary user: 0, or the line of what went wrong. */
static int restore_unprivileged(struct treefix *fx, const char *path)
{
	struct target_options opt = treefix_options(fx);
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
	struct treefix *fx = *state;
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
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
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
		w = treefix_source(fx, fx->src);
		mem_fail_after(n);
		err = target_open(fx->dst, &opt, &t, NULL);
		if (!err)
			err = treefix_copy_dir(w, t, NULL);
		if (!err)
			err = target_finish(t, NULL);
		mem_fail_after(0);
		assert_true(err == 0 || err == -AKIN_E_nomem);
		target_free(t);
		source_walk_free(w);
	}
	assert_true(n > 20);
	treefix_compare(fx, fx->src, fx->dst);
}

#define T(fn)                                                                  \
	cmocka_unit_test_setup_teardown(fn, treefix_setup, treefix_teardown)
#define TBIG(fn)                                                               \
	cmocka_unit_test_setup_teardown(fn, treefix_setup_big, treefix_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_hostile_names), T(test_symlink_tricks),
		T(test_foreign_inode), T(test_wrong_lengths),
		T(test_odd_metadata),  T(test_removes_xattrs),
		TBIG(test_deep),       T(test_unprivileged),
		T(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
