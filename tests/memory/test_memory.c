/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory contract: the peak of all resident memory of a process stays
 * within the memory its pool was opened with, whatever it is given.
 *
 * Each case runs in a process of its own, this program with arguments, which
 * reports its own peak. AKIN_TEST_SLOW makes the cases ten times as large.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "akin/akin.h"
#include "base/diag.h"
#include "child.h"
#include "streamload.h"
#include "synthpool.h"
#include "testlib.h"

#define BUDGET ((u64)64 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

/* ---- the children: "test_memory WHAT DIR N" ---- */

static void give_up(const char *what, const struct akin_diag *diag)
{
	fprintf(stderr, "%s: %s\n", what, diag->text);
	exit(1);
}

static struct akin_pool *open_pool(const char *dir)
{
	struct akin_open_options opt = { .memory_bytes = BUDGET,
					 .path = dir };
	struct akin_diag diag = { 0 };
	struct akin_pool *p;

	if (akin_pool_open(&opt, &p, &diag))
		give_up("open", &diag);
	return p;
}

static void many_streams(const char *dir, u64 bytes, bool zeros, bool threaded)
{
	struct streamload load = { .seed = 3, .nr_streams = 64,
				   .bytes = bytes, .zeros = zeros,
				   .threaded = threaded };
	struct akin_pool *p = open_pool(dir);
	struct akin_diag diag = { 0 };
	struct streamload_stats st;

	if (streamload_run(&load, p, true, &st, &diag))
		give_up("streams", &diag);
	akin_pool_close(p);
	child_say("chunks", (double)st.chunks);
	child_say("bytes", (double)st.bytes);
}

static void child_streams(const char *dir, u64 n)
{
	many_streams(dir, n, false, false);
}

static void child_threaded(const char *dir, u64 n)
{
	many_streams(dir, n, false, true);
}

static void child_zeros(const char *dir, u64 n)
{
	many_streams(dir, n, true, false);
}

/* Versions of all streams, compressed against those before, in chains as long
 * as they get: prefixes, and groups that are decoded for them. */
static void child_versions(const char *dir, u64 n)
{
	struct streamload load = { .seed = 4, .nr_streams = 64, .bytes = n,
				   .delta_depth = AKIN_DELTA_DEPTH_MAX };
	struct akin_pool *p = open_pool(dir);
	struct akin_diag diag = { 0 };
	struct streamload_stats st;

	for (load.version = 0; load.version < 5; load.version++) {
		if (streamload_run(&load, p, load.version == 4, &st, &diag))
			give_up("versions", &diag);
	}
	akin_pool_close(p);
	child_say("referring", (double)st.ref_groups);
}

struct source {
	struct streamload load;
	u64 off, wrong;
};

static long give(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	struct source *s = ctx;
	size_t n = min_u64(cap, s->load.bytes - s->off);

	streamload_fill(&s->load, 0, s->off, buf, n);
	s->off += n;
	return (long)n;
}

static int take(void *ctx, const void *data, size_t n)
{
	struct source *s = ctx;
	u8 *want = malloc(n);

	streamload_fill(&s->load, 0, s->off, want, n);
	s->wrong += memcmp(want, data, n) != 0;
	s->off += n;
	free(want);
	return 0;
}

/* One stream in and out again. */
static void child_stream(const char *dir, u64 n)
{
	struct akin_backup_options opt = { .host = "test" };
	struct source s = { .load = { .seed = 5, .bytes = n } };
	struct akin_pool *p = open_pool(dir);
	struct akin_backup_result result;
	struct akin_diag diag = { 0 };

	if (akin_backup_stream(p, &opt, "one", give, NULL, &s, &result, &diag))
		give_up("backup", &diag);
	child_say("new", (double)result.chunks_new);
	s.off = 0;
	if (akin_snapshot_read(p, result.number, "one", take, NULL, &s, &diag))
		give_up("read", &diag);
	akin_pool_close(p);
	child_say("same", s.off == n && !s.wrong);
}

static void child_backup(const char *dir, u64 n)
{
	char tree[512];
	const char *paths[] = { tree };
	struct akin_backup_options opt = { .host = "test", .paths = paths,
					   .nr_paths = 1 };
	struct akin_pool *p = open_pool(dir);
	struct akin_backup_result result;
	struct akin_diag diag = { 0 };

	snprintf(tree, sizeof(tree), "%s/../tree", dir);
	if (akin_backup_tree(p, &opt, &result, &diag))
		give_up("backup", &diag);
	akin_pool_close(p);
	child_say("files", (double)result.total.files);
	child_say("unchanged", (double)result.total.files_unchanged);
}

static void child_restore(const char *dir, u64 n)
{
	char target[512];
	struct akin_restore_options opt = { .target = target };
	struct akin_pool *p = open_pool(dir);
	struct akin_restore_result result;
	struct akin_diag diag = { 0 };
	int err;

	snprintf(target, sizeof(target), "%s/../target", dir);
	err = akin_snapshot_find(p, "latest", NULL, &opt.snapshot, &diag);
	if (!err)
		err = akin_restore(p, &opt, &result, &diag);
	/* The directories above the tree may be somebody else's. */
	if (err && err != -AKIN_E_partial)
		give_up("restore", &diag);
	akin_pool_close(p);
	child_say("files", (double)result.total.files);
}

static const struct {
	const char *name;
	void (*run)(const char *dir, u64 n);
} children[] = {
	{ "streams", child_streams }, { "threaded", child_threaded },
	{ "versions", child_versions }, { "zeros", child_zeros }, { "stream", child_stream },
	{ "backup", child_backup }, { "restore", child_restore },
};

static int child_main(char **argv)
{
	size_t i;

	akin_prepare_process();
	for (i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		if (strcmp(argv[1], children[i].name))
			continue;
		children[i].run(argv[2], strtoull(argv[3], NULL, 10));
		child_say("peak", (double)child_peak_bytes());
		return 0;
	}
	return 2;
}

/* ---- the tests ---- */

struct setup {
	char dir[64], pool[80], tree[80];
	struct child child;
};

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	snprintf(s->dir, sizeof(s->dir), "/tmp/akin-memory-XXXXXX");
	if (!mkdtemp(s->dir))
		return -1;
	snprintf(s->pool, sizeof(s->pool), "%s/pool", s->dir);
	snprintf(s->tree, sizeof(s->tree), "%s/tree", s->dir);
	*state = s;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	struct setup *s = *state;
	int err = nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	free(s);
	return err;
}

static u64 size_of_case(u64 n)
{
	return getenv("AKIN_TEST_SLOW") ? n * 10 : n;
}

static void make_pool(struct setup *s, u64 nr_fingerprints)
{
	struct akin_diag diag = { 0 };

	if (synthpool_make(s->pool, nr_fingerprints, &diag))
		fail_msg("pool: %s", diag.text);
}

static void expect_within(struct setup *s, const char *what, u64 n)
{
	char number[32];
	const char *argv[] = { child_self(), what, s->pool, number, NULL };
	double peak;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)n);
	assert_int_equal(child_run(argv, &s->child), 0);
	assert_int_equal(s->child.status, 0);
	peak = child_value(&s->child, "peak");
	print_message("# %s: peak %.1f MiB of %.0f, %.1f s\n", what,
		      peak / 1048576, (double)BUDGET / 1048576,
		      (double)s->child.wall_ns / 1e9);
	/* Less than a bare process would mean that nothing was measured. */
	assert_true(peak > 1 << 20);
#ifndef SANITIZED
	assert_true(peak <= (double)BUDGET);
#endif
}

static void test_many_streams(void **state)
{
	struct setup *s = *state;
	u64 n = size_of_case(6 << 20);

	make_pool(s, 0);
	expect_within(s, "streams", n);
	assert_int_equal((u64)child_value(&s->child, "bytes"), 64 * n);
	assert_true(child_value(&s->child, "chunks") > (double)(64 * n / 16384));
}

static void test_many_threaded_streams(void **state)
{
	struct setup *s = *state;

	make_pool(s, 0);
	expect_within(s, "threaded", size_of_case(2 << 20));
}

static void test_many_versions(void **state)
{
	struct setup *s = *state;
	u64 n = size_of_case(2 << 20);

	make_pool(s, 0);
	expect_within(s, "versions", n);
	/* A quarter of 128 MiB is new, in groups of 128 KiB. */
	assert_true(child_value(&s->child, "referring") >
		    (double)(64 * n / 4 / (256 << 10)));
}

/* Chunks of the largest size: what is carried from batch to batch is, too. */
static void test_many_streams_of_zeros(void **state)
{
	struct setup *s = *state;

	make_pool(s, 0);
	expect_within(s, "zeros", size_of_case(8 << 20));
}

/* More fingerprints than the index may hold in memory. */
static void test_large_index(void **state)
{
	struct setup *s = *state;
	u64 n = size_of_case(24 << 20);

	make_pool(s, size_of_case(4000000));
	expect_within(s, "stream", n);
	assert_int_equal((u64)child_value(&s->child, "same"), 1);
	/* All of it is new: the synthetic chunks match nothing. */
	assert_true(child_value(&s->child, "new") > (double)(n / 16384));
	/* And everything at once. */
	expect_within(s, "streams", size_of_case(6 << 20));
}

static void make_files(const char *dir, u64 n)
{
	char name[32];
	int d, f;
	u64 i;

	assert_int_equal(mkdir(dir, 0755), 0);
	d = open(dir, O_RDONLY | O_DIRECTORY);
	assert_true(d >= 0);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "file-%010llu",
			 (unsigned long long)i * 7919 % n);
		f = openat(d, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
		assert_true(f >= 0);
		close(f);
	}
	close(d);
}

/* Neither listing, nor tree, nor the walk beside the parent may grow with the
 * number of names. */
static void test_wide_directory(void **state)
{
	struct setup *s = *state;
	u64 n = size_of_case(100000) + 3;

	make_pool(s, 0);
	make_files(s->tree, n);
	expect_within(s, "backup", 0);
	assert_int_equal((u64)child_value(&s->child, "files"), n);
	expect_within(s, "backup", 0);
	assert_int_equal((u64)child_value(&s->child, "unchanged"), n);
	expect_within(s, "restore", 0);
	assert_int_equal((u64)child_value(&s->child, "files"), n);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many_streams, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_many_threaded_streams,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_versions, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_many_streams_of_zeros,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_index, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_wide_directory, setup,
						teardown),
	};

	if (argc == 4)
		return child_main(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
