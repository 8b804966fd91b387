/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing restores: round trips of every kind of node, over every kind of
 * thing in the way.
 *
 * What needs privileges or a feature of the file system is skipped by name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "treefix.h"

static void assert_pairs(struct treefix *fx)
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

static void test_round_trip(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);

	treefix_fill(fx);
	opt.durable = true;
	treefix_copy(fx, &opt);
	if (fx->nr_warnings)
		fail_msg("%s", fx->warned);
	assert_int_equal(fx->nr_events[TARGET_LINKED], 3);
	treefix_compare(fx, fx->src, fx->dst);
	assert_pairs(fx);
	assert_true(stat_of(fx->d, "sparse").st_blocks * 512 < 1 << 20);
}

static void test_second_restore(void **state)
{
	static const enum target_overwrite how[] = {
		TARGET_ALWAYS, TARGET_IF_CHANGED, TARGET_NEVER};
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct stat before;
	size_t i;

	treefix_fill(fx);
	treefix_copy(fx, &opt);
	for (i = 0; i < ARRAY_SIZE(how); i++) {
		before = stat_of(fx->d, "big");
		opt = treefix_options(fx);
		opt.overwrite = how[i];
		opt.delete_extra = opt.root_complete = true;
		treefix_copy(fx, &opt);
		if (fx->nr_warnings)
			fail_msg("%s", fx->warned);
		assert_int_equal(fx->nr_events[TARGET_CREATED], 0);
		assert_int_equal(fx->nr_events[TARGET_DELETED], 0);
		treefix_compare(fx, fx->src, fx->dst);
		assert_pairs(fx);
		assert_true(stat_of(fx->d, "big").st_ino == before.st_ino);
		if (how[i] != TARGET_ALWAYS)
			assert_int_equal(fx->nr_events[TARGET_UPDATED], 0);
	}
}

/* The links that exist pair the wrong names; contents look equal. */
static void test_wrong_pairs(void **state)
{
	static const enum target_overwrite how[] = {TARGET_ALWAYS,
						    TARGET_IF_CHANGED};
	static const char *const names[] = {"A", "B", "a", "b", "plain"};
	struct treefix *fx = *state;
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
		opt = treefix_options(fx);
		opt.overwrite = how[i];
		treefix_copy(fx, &opt);
		treefix_compare(fx, fx->src, fx->dst);
		assert_true(stat_of(fx->d, "A").st_ino ==
			    stat_of(fx->d, "a").st_ino);
		assert_true(stat_of(fx->d, "B").st_ino ==
			    stat_of(fx->d, "b").st_ino);
		assert_int_equal(stat_of(fx->d, "A").st_nlink, 2);
		assert_int_equal(stat_of(fx->d, "B").st_nlink, 2);
		assert_int_equal(stat_of(fx->d, "plain").st_nlink, 1);
	}
}

/* A subset without the group's first name: the data comes with the next. */
static void test_links_subset(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct target *t = treefix_target(fx, &opt);
	struct node a, b;

	file_node(&a, "second", 4);
	a.flags = NODE_LINKED;
	a.dev = 1;
	a.ino = 99;
	b = a;
	b.name = "third";
	ok(put_file(t, &a, "data"));
	ok(put_file(t, &b, "NOT!"));
	treefix_finish(t);
	assert_text(fx->d, "third", "data");
	assert_int_equal(stat_of(fx->d, "second").st_nlink, 2);
}

static void test_links_beyond_memory(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct target *t;
	char name[32];
	struct node n;
	int i;

	opt.link_bytes = 8 * KiB;
	t = treefix_target(fx, &opt);
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
	treefix_finish(t);
}

/* The directory of the first name was swapped for a symlink meanwhile. */
static void test_link_source_swapped(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct target *t = treefix_target(fx, &opt);
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
	treefix_finish(t);
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
	struct rng r = {i + 1};

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

static void assert_segments(struct treefix *fx, const char *spec)
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
	static const char *const specs[] = {"",	    "d",    "h",     "dd",
					    "dhd",  "hdh",  "dddd",  "hhhh",
					    "dhhd", "hddh", "ddhhdd"};
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	size_t i, k;
	ino_t ino;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		for (k = 0; k < ARRAY_SIZE(specs); k++) {
			struct target *t = treefix_target(fx, &opt);

			write_segments(t, specs[i]);
			ino = stat_of(fx->d, "f").st_ino;
			write_segments(t, specs[k]);
			treefix_finish(t);
			assert_segments(fx, specs[k]);
			assert_true(stat_of(fx->d, "f").st_ino == ino);
		}
	}
}

static void test_in_place_writes_what_differs(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	static u8 data[1 << 20];
	struct target *t;
	struct node n;

	memset(data, 'x', sizeof(data));
	put_bytes(fx->d, "f", data, sizeof(data), 0);
	data[500000]++;
	file_node(&n, "f", sizeof(data));
	t = treefix_target(fx, &opt);
	ok(put_file(t, &n, data));
	assert_int_equal(target_counts(t)->written_bytes, 64 * KiB);
	assert_int_equal(target_counts(t)->kept_bytes, MiB - 64 * KiB);
	treefix_finish(t);
}

static void test_huge_sparse(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
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
		t = treefix_target(fx, &opt);
		ok(target_file_begin(t, &n, &what, NULL));
		ok(target_file_hole(t, 0, size - MiB, NULL));
		ok(target_file_data(t, size - MiB, data, MiB, NULL));
		ok(target_file_end(t, &n, NULL));
		treefix_finish(t);
		assert_true((u64)stat_of(fx->d, "f").st_size == size);
		assert_true(stat_of(fx->d, "f").st_blocks * 512 < 2 << 20);
	}
}

static void test_policies(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	enum target_action what;
	struct target *t;
	struct node n;

	put_text(fx->d, "never", "mine");
	put_text(fx->d, "equal", "mine");
	put_text(fx->d, "longer", "mine+");
	set_time(fx->d, "equal", 1234567, 89);
	set_time(fx->d, "longer", 1234567, 89);
	opt.overwrite = TARGET_NEVER;
	t = treefix_target(fx, &opt);
	file_node(&n, "never", 4);
	ok(target_file_begin(t, &n, &what, NULL));
	assert_int_equal(what, TARGET_SKIP);
	assert_int_equal(target_file_data(t, 0, "abcd", 4, NULL),
			 -AKIN_E_sequence);
	ok(target_file_end(t, &n, NULL));
	treefix_finish(t);
	assert_text(fx->d, "never", "mine");
	assert_int_equal(stat_of(fx->d, "never").st_mode & 0777, 0644);
	assert_true(stat_of(fx->d, "never").st_mtim.tv_sec != 1234567);

	opt.overwrite = TARGET_IF_CHANGED;
	t = treefix_target(fx, &opt);
	file_node(&n, "equal", 4);
	ok(target_file_begin(t, &n, &what, NULL));
	assert_int_equal(what, TARGET_SKIP);
	ok(target_file_end(t, &n, NULL));
	n.name = "longer";
	ok(put_file(t, &n, "data"));
	n.name = "never";
	ok(put_file(t, &n, "data"));
	treefix_finish(t);
	assert_text(fx->d, "equal", "mine");
	assert_int_equal(stat_of(fx->d, "equal").st_mode & 0777, 0640);
	assert_text(fx->d, "longer", "data");
	assert_text(fx->d, "never", "data");
}

static void test_in_the_way(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
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
	t = treefix_target(fx, &opt);
	assert_int_equal(target_dir_begin(t, &d, 0, NULL), -AKIN_E_exists);
	ok(put_file(t, &f, "data"));
	ok(target_special(t, &l, NULL));
	treefix_finish(t);
	assert_text(fx->d, "want-dir", "a file");
	assert_text(fx->d, "want-link", "a file");

	opt.overwrite = TARGET_ALWAYS;
	ok(mkdirat(fx->d, "want-file/sub", 0700));
	put_text(fx->d, "want-file/sub/f", "x");
	t = treefix_target(fx, &opt);
	ok(target_dir_begin(t, &d, 0, NULL));
	ok(target_dir_end(t, &d, NULL));
	assert_true(put_file(t, &f, "data") < 0);
	assert_true(exists_at(fx->d, "want-file/sub/f"));
	ok(target_special(t, &l, NULL));
	treefix_finish(t);
	assert_true(S_ISDIR(stat_of(fx->d, "want-dir").st_mode));
	assert_true(S_ISLNK(stat_of(fx->d, "want-link").st_mode));

	opt.delete_extra = true;
	t = treefix_target(fx, &opt);
	ok(put_file(t, &f, "data"));
	treefix_finish(t);
	assert_text(fx->d, "want-file", "data");
}

static void test_delete(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
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
	t = treefix_target(fx, &opt);
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
	treefix_finish(t);
	assert_text(fx->d, "d/00100", "new");
	assert_text(fx->d, "d/00200", "old");
	assert_text(fx->d, "d/00200x", "new");
	assert_false(exists_at(fx->d, "d/00000"));
	assert_false(exists_at(fx->d, "d/00201"));
	assert_false(exists_at(fx->d, "d/zdir"));
	assert_false(exists_at(fx->d, "d/zlink"));
	assert_text(fx->o, "outside", "safe");
	assert_text(fx->d, "p/old", "x");
	assert_text(fx->d, "extra", "x");

	opt.root_complete = true;
	/* Not finished: nothing more goes than what was passed. */
	t = treefix_target(fx, &opt);
	dir_node(&d, "d");
	ok(target_dir_begin(t, &d, TARGET_DIR_PARTIAL, NULL));
	target_free(t);
	assert_true(exists_at(fx->d, "extra"));
	t = treefix_target(fx, &opt);
	ok(target_keep(t, "d", NULL));
	ok(target_keep(t, "q", NULL));
	assert_false(exists_at(fx->d, "extra"));
	treefix_finish(t);
	assert_false(exists_at(fx->d, "p"));
	assert_true(exists_at(fx->d, "q"));
	assert_true(exists_at(fx->d, "d/00100"));
}

static void test_dry_run(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	struct stat before;
	char path[128];
	struct target *t;
	struct node n;

	treefix_fill(fx);
	put_text(fx->d, "big", "old");
	put_text(fx->d, "extra", "x");
	ok(mkdirat(fx->d, "A", 0700));
	put_text(fx->d, "d", "a file, not a directory");
	before = stat_of(fx->d, ".");
	opt.dry_run = opt.delete_extra = opt.root_complete = true;
	treefix_copy(fx, &opt);
	assert_int_equal(fx->nr_events[TARGET_DELETED], 1);
	assert_int_equal(fx->nr_events[TARGET_UPDATED], 2);
	assert_true(fx->nr_events[TARGET_CREATED] > 200);
	assert_text(fx->d, "big", "old");
	assert_text(fx->d, "extra", "x");
	assert_text(fx->d, "d", "a file, not a directory");
	assert_false(exists_at(fx->d, "B"));
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
	treefix_finish(t);
	assert_false(exists_at(fx->d, "no"));
}

static void test_makes_the_target(void **state)
{
	struct treefix *fx = *state;
	struct target_options opt = treefix_options(fx);
	char path[128];
	struct target *t;
	struct node n;

	snprintf(path, sizeof(path), "%s/via", fx->dir);
	ok(symlink("out", path));
	snprintf(path, sizeof(path), "%s/via//new/target/", fx->dir);
	ok(target_open(path, &opt, &t, NULL));
	file_node(&n, "f", 1);
	ok(put_file(t, &n, "1"));
	treefix_finish(t);
	assert_text(fx->o, "new/target/f", "1");
}

#define T(fn)                                                                  \
	cmocka_unit_test_setup_teardown(fn, treefix_setup, treefix_teardown)

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
		T(test_dry_run),
		T(test_makes_the_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
