/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between snapshots, and the figures of a pool.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poolfix.h"

#define OK(expr) assert_int_equal(expr, 0)

struct lines {
	struct poolfix *fx;
	char text[4096];
	u32 nr, stop_after;
};

/* "M a" for each difference below src/; the place above it is not ours. */
static int on_diff(void *ctx, enum akin_diff_kind kind,
		   const struct akin_node *old, const struct akin_node *new_)
{
	struct lines *l = ctx;
	const struct akin_node *n = new_ ? new_ : old;
	char base[96], line[300];

	assert_non_null(n);
	assert_int_equal(old != NULL, kind != AKIN_DIFF_ADDED);
	assert_int_equal(new_ != NULL, kind != AKIN_DIFF_REMOVED);
	if (old && new_) {
		assert_string_equal(old->path, new_->path);
		assert_int_equal(old->type != new_->type,
				 kind == AKIN_DIFF_TYPE);
	}
	snprintf(base, sizeof(base), "%s/src/", l->fx->dir);
	if (strncmp(n->path, base, strlen(base)))
		return 0;
	snprintf(line, sizeof(line), "%c %s\n", kind, n->path + strlen(base));
	assert_true(strlen(l->text) + strlen(line) < sizeof(l->text));
	memcpy(l->text + strlen(l->text), line, strlen(line) + 1);
	return ++l->nr == l->stop_after ? -AKIN_E_interrupted : 0;
}

static void in_src(const struct poolfix *fx, const char *name, char out[256])
{
	snprintf(out, 256, "%s/src/%s", fx->dir, name);
}

/* All times of src/@name become @sec; links are not followed. */
static void set_time(const struct poolfix *fx, const char *name, time_t sec)
{
	struct timespec ts[2] = { { sec, 0 }, { sec, 0 } };
	char path[256];

	in_src(fx, name, path);
	OK(utimensat(AT_FDCWD, path, ts, AT_SYMLINK_NOFOLLOW));
}

static void drop(const struct poolfix *fx, const char *name)
{
	char path[256];

	in_src(fx, name, path);
	OK(remove(path));
}

static void make_link(const struct poolfix *fx, const char *name,
		      const char *target)
{
	char path[256];

	in_src(fx, name, path);
	OK(symlink(target, path));
	set_time(fx, name, 1000);
}

static void first_version(struct poolfix *fx)
{
	poolfix_write(fx, "a", 1, 100000);
	poolfix_write(fx, "b", 2, 100);
	poolfix_write(fx, "d/c", 3, 100);
	poolfix_write(fx, "d/e", 4, 100);
	poolfix_write(fx, "d.x", 5, 100);
	poolfix_write(fx, "gone/x/y", 6, 100);
	poolfix_write(fx, "grow", 7, 100);
	poolfix_write(fx, "same/s", 8, 100);
	poolfix_write(fx, "t", 9, 100);
	poolfix_write(fx, "touched", 10, 100);
	poolfix_write(fx, "u/deep/er", 11, 100);
	make_link(fx, "l", "a");
	set_time(fx, "d", 1000);
	set_time(fx, "u", 1000);
	set_time(fx, "u/deep", 1000);
}

static void second_version(struct poolfix *fx)
{
	char path[256];

	poolfix_write(fx, "a", 20, 100000);
	in_src(fx, "b", path);
	OK(chmod(path, 0711));
	drop(fx, "d/c");
	poolfix_write(fx, "d/new", 21, 100);
	drop(fx, "gone/x/y");
	drop(fx, "gone/x");
	drop(fx, "gone");
	poolfix_write(fx, "grow", 7, 108);
	drop(fx, "t");
	poolfix_write(fx, "t/in", 22, 100);
	set_time(fx, "touched", 2000);
	poolfix_write(fx, "u/deep/er", 23, 100);
	poolfix_write(fx, "v/w/x", 24, 100);
	drop(fx, "l");
	make_link(fx, "l", "b");
	set_time(fx, "d", 1000);
	set_time(fx, "u", 1000);
	set_time(fx, "u/deep", 1000);
}

static void test_diff(void **state)
{
	struct poolfix *fx = *state;
	struct lines l = { .fx = fx };
	u64 a, b;

	first_version(fx);
	a = poolfix_backup(fx, false);
	second_version(fx);
	b = poolfix_backup(fx, false);
	poolfix_reopen(fx, true);
	OK(akin_snapshot_diff(fx->p, a, b, on_diff, &l, NULL));
	assert_string_equal(l.text, "M a\nU b\n- d/c\n+ d/new\n"
			    "- gone\n- gone/x\n- gone/x/y\nM grow\nU l\n"
			    "T t\n+ t/in\nU touched\nM u/deep/er\n"
			    "+ v\n+ v/w\n+ v/w/x\n");

	/* The other way round. */
	l.text[0] = 0;
	OK(akin_snapshot_diff(fx->p, b, a, on_diff, &l, NULL));
	assert_string_equal(l.text, "M a\nU b\n+ d/c\n- d/new\n"
			    "+ gone\n+ gone/x\n+ gone/x/y\nM grow\nU l\n"
			    "T t\n- t/in\nU touched\nM u/deep/er\n"
			    "- v\n- v/w\n- v/w/x\n");

	l.text[0] = 0;
	OK(akin_snapshot_diff(fx->p, a, a, on_diff, &l, NULL));
	assert_string_equal(l.text, "");
	l.nr = 0;
	l.stop_after = 6;
	assert_int_equal(akin_snapshot_diff(fx->p, a, b, on_diff, &l, NULL),
			 -AKIN_E_interrupted);
	assert_int_equal(l.nr, 6);
	assert_int_equal(akin_snapshot_diff(fx->p, a, 77, on_diff, &l, NULL),
			 -AKIN_E_snap_unknown);
}

/* What one side lacks does not keep the other from being read. */
static void test_diff_of_nothing(void **state)
{
	struct poolfix *fx = *state;
	struct lines l = { .fx = fx };
	u64 a, b;

	a = poolfix_backup(fx, false);
	poolfix_write(fx, "x/y", 1, 50000);
	b = poolfix_backup(fx, false);
	OK(akin_snapshot_diff(fx->p, a, b, on_diff, &l, NULL));
	assert_string_equal(l.text, "+ x\n+ x/y\n");
}

static u64 du_bytes;

static int du_one(const char *path, const struct stat *st, int flag,
		  struct FTW *ftw)
{
	du_bytes += (u64)st->st_blocks * 512;
	return 0;
}

static u64 du(struct poolfix *fx, const char *name)
{
	char path[256];

	poolfix_path(fx, name, path);
	du_bytes = 0;
	OK(nftw(path, du_one, 16, FTW_PHYS));
	return du_bytes;
}

static void assert_adds_up(struct poolfix *fx, const struct akin_stats *s)
{
	assert_int_equal(s->bytes_total, du(fx, "meta") + du(fx, "data"));
	assert_int_equal(s->bytes_total,
			 s->bytes_data + s->bytes_meta_containers +
			 s->bytes_index + s->bytes_catalog +
			 s->bytes_records + s->bytes_other);
}

static void test_stats(void **state)
{
	struct poolfix *fx = *state;
	struct akin_stats s, t;
	char name[128], path[256], record[FORMAT_NAME_MAX];
	struct catalog_container row;
	FILE *f;

	OK(akin_stats(fx->p, &s, NULL));
	assert_int_equal(s.snapshots, 0);
	assert_int_equal(s.bytes_data, 0);
	assert_int_equal(s.bytes_index, 0);
	assert_adds_up(fx, &s);

	poolfix_write(fx, "a", 1, 300000);
	poolfix_write(fx, "b", 1, 300000);
	poolfix_backup(fx, false);
	OK(akin_stats(fx->p, &s, NULL));
	assert_adds_up(fx, &s);
	assert_int_equal(s.snapshots, 1);
	assert_int_equal(s.bytes_logical, 600000);
	assert_int_equal(s.bytes_unique, 300000);
	assert_int_equal(s.data_containers, 1);
	assert_int_equal(s.runs, 1);
	assert_int_equal(s.damaged, 0);
	row = poolfix_container(fx, CONTAINER_DATA, 0);
	poolfix_container_name(row.number, name);
	assert_int_equal(s.bytes_data, du(fx, name));
	assert_int_equal(s.chunks, row.nr_entries);
	format_snapshot_name(1, record);
	snprintf(name, sizeof(name), "data/%s", record);
	assert_int_equal(s.bytes_records, du(fx, "meta/superblock") +
			 du(fx, "data/superblock") + du(fx, name));
	assert_int_equal(s.bytes_catalog, du(fx, "meta/catalog") +
			 du(fx, "meta/catalog-journal"));
	assert_true(s.data_free > 0 && s.data_free <= s.data_total);
	assert_true(s.meta_free > 0 && s.meta_free <= s.meta_total);

	/* A file that nobody names is something else. */
	poolfix_path(fx, "data/containers/00/junk", path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(path, 1, sizeof(path), f), sizeof(path));
	OK(fclose(f));
	OK(akin_stats(fx->p, &t, NULL));
	assert_adds_up(fx, &t);
	assert_int_equal(t.bytes_other, s.bytes_other +
			 du(fx, "data/containers/00/junk"));
}

#define T(fn) \
	cmocka_unit_test_setup_teardown(fn, poolfix_setup, poolfix_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_diff),
		T(test_diff_of_nothing),
		T(test_stats),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
