/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pool counts while it is written to and read, and that others see the
 * same.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/counters_internal.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define OK(expr) assert_int_equal(expr, 0)

static char top[64];		/* of the running test */

static int setup(void **state)
{
	snprintf(top, sizeof(top), "/tmp/akin-counters-XXXXXX");
	assert_non_null(mkdtemp(top));
	OK(setenv("AKIN_COUNTERS", top, 1));
	return 0;
}

static int teardown(void **state)
{
	DIR *d = opendir(top);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] != '.')
			OK(unlinkat(dirfd(d), e->d_name, 0));
	}
	closedir(d);
	OK(rmdir(top));
	OK(unsetenv("AKIN_COUNTERS"));
	return 0;
}

static int count_open(void *ctx, const struct counters_seen *seen)
{
	*(u32 *)ctx += !seen->closed;
	return 0;
}

static u32 nr_open(void)
{
	u32 nr = 0;

	OK(counters_file_each(count_open, &nr));
	return nr;
}

#define BYTES (3 * MiB + 12345)

struct world {
	struct simpool sp;
	struct akin_pool *p;
	u8 *data;
	size_t off;
	struct akin_backup_result result;
	u64 values[AKIN_NR_COUNTER_VALUES];
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->data = malloc(BYTES);
	simpool_fill(7, w->data, BYTES);
	OK(simpool_init(&w->sp, NULL));
	OK(simpool_open(&w->sp, false, &w->p, NULL));
}

static void world_release(struct world *w)
{
	akin_pool_close(w->p);
	simpool_free(&w->sp);
	free(w->data);
}

/* While it is read, it can be seen. */
static int one_stream(void *ctx, const struct akin_counters_process *c)
{
	if (c->closed)
		return 0;
	assert_int_equal(c->nr_streams, 1);
	assert_int_equal(c->streams[0].kind, *(int *)ctx);
	assert_string_equal(c->streams[0].name, "s");
	return 42;
}

static void must_flow(int kind)
{
	const char *dir = getenv("AKIN_COUNTERS");

	if (strcmp(dir, top) == 0)
		assert_int_equal(akin_counters_each(NULL, one_stream, &kind),
				 42);
}

static long give(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	struct world *w = ctx;
	size_t n = min_u64(cap, BYTES - w->off);

	must_flow(AKIN_STREAM_IN);
	memcpy(buf, w->data + w->off, n);
	w->off += n;
	return (long)n;
}

static int take(void *ctx, const void *data, size_t n)
{
	struct world *w = ctx;

	must_flow(AKIN_STREAM_OUT);
	assert_true(n <= BYTES - w->off);
	assert_memory_equal(data, w->data + w->off, n);
	w->off += n;
	return 0;
}

static void world_backup(struct world *w)
{
	struct akin_backup_options opt = { .host = "test" };

	w->off = 0;
	OK(akin_backup_stream(w->p, &opt, "s", give, NULL, w, &w->result,
			      NULL));
	akin_pool_get_counters(w->p, w->values);
}

static void world_restore(struct world *w)
{
	w->off = 0;
	OK(akin_snapshot_read(w->p, w->result.number, "s", take, NULL, w,
			      NULL));
	assert_int_equal(w->off, BYTES);
	akin_pool_get_counters(w->p, w->values);
}

#define V(name) w.values[AKIN_COUNTER_##name]

static u64 sum(const u64 *latency)
{
	u64 all = 0;
	u32 i;

	for (i = 0; i < AKIN_LATENCY_BUCKETS; i++)
		all += latency[i];
	return all;
}

static int same_values(void *ctx, const struct akin_counters_process *c)
{
	struct world *w = ctx;
	struct akin_pool_info info;

	if (c->closed)
		return 0;
	akin_pool_get_info(w->p, &info);
	assert_string_equal(c->pool, info.id);
	assert_int_equal(c->pid, getpid());
	assert_memory_equal(c->values, w->values, sizeof(w->values));
	return 42;
}

static void check_backup(const struct world *world)
{
	struct world w = *world;
	struct akin_backup_result *r = &w.result;

	assert_int_equal(V(bytes_in), BYTES);
	assert_int_equal(V(chunks_in), r->chunks);
	assert_int_equal(V(chunks_new), r->chunks_new);
	assert_int_equal(V(bytes_new), r->total.bytes_new);
	assert_int_equal(V(data_stored) + V(metadata_stored),
			 r->total.bytes_stored);
	assert_true(V(containers_new) >= 3);
	assert_true(V(groups_new) >= V(containers_new));
	assert_int_equal(V(commits), 1);
	assert_int_equal(V(checkpoints), 0);
	assert_int_equal(V(files_stored), 1);
	assert_int_equal(V(bytes_grouped), V(bytes_new));
	assert_true(V(bytes_packed) > 0 && V(bytes_packed) <= V(bytes_plain) &&
		    V(bytes_packed) < V(data_stored));
	assert_true(V(commit_ns) > 0);
	assert_int_equal(V(commit_begun), 0);
	assert_true(V(index_lookups) > 0);
	assert_int_equal(V(bytes_out), 0);
	assert_int_equal(V(warnings), 0);
	assert_true(V(data_write_bytes) >= V(data_stored) + V(metadata_stored));
	assert_int_equal(V(data_write_ops), sum(&V(data_write_latency)));
	assert_int_equal(V(metadata_read_ops), sum(&V(metadata_read_latency)));
	assert_int_equal(V(data_sync_ops), sum(&V(data_sync_latency)));
	assert_true(V(metadata_sync_ops) > 0);
}

/* Of every stage as much as went through it. */
static void check_stages(const struct world *world)
{
	struct world w = *world;

	assert_int_equal(V(stage_cut_bytes), V(bytes_in));
	assert_int_equal(V(stage_hash_bytes), V(bytes_in));
	assert_int_equal(V(stage_lookup_bytes), V(bytes_in));
	assert_true(V(stage_hash_ops) > 0);
	assert_int_equal(V(stage_lookup_ops), V(stage_hash_ops));
	assert_int_equal(V(stage_compress_ops), V(groups_new));
	assert_true(V(stage_compress_bytes) > V(bytes_grouped));
	assert_int_equal(V(stage_decode_ops), V(groups_read));
	assert_int_equal(V(stage_decode_bytes), V(group_bytes_decoded));
	assert_int_equal(V(stage_cut_ops), sum(&V(stage_cut_latency)));
	assert_int_equal(V(stage_hash_ops), sum(&V(stage_hash_latency)));
	assert_int_equal(V(stage_lookup_ops), sum(&V(stage_lookup_latency)));
	assert_int_equal(V(stage_compress_ops),
			 sum(&V(stage_compress_latency)));
	assert_int_equal(V(stage_decode_ops), sum(&V(stage_decode_latency)));
	assert_true(V(stage_cut_ns) && V(stage_hash_ns) && V(stage_lookup_ns) &&
		    V(stage_compress_ns));
}

static void test_pool(void **state)
{
	u64 written, stored, read;
	struct world w;

	world_init(&w);
	world_backup(&w);
	check_backup(&w);
	check_stages(&w);
	written = V(data_write_bytes);
	stored = V(data_stored);

	/* All of it is there already. */
	world_backup(&w);
	assert_int_equal(w.result.chunks_new, 0);
	assert_int_equal(V(bytes_in), 2 * BYTES);
	assert_int_equal(V(chunks_in), 2 * w.result.chunks);
	assert_int_equal(V(data_stored), stored);
	assert_int_equal(V(commits), 2);
	assert_true(V(data_write_bytes) - written < 64 * KiB);

	world_restore(&w);
	assert_int_equal(V(bytes_out), BYTES);
	assert_int_equal(V(files_restored), 1);
	assert_true(V(groups_read) > 0);
	assert_true(V(group_bytes_read) > 0 && V(group_bytes_decoded) >= BYTES);
	assert_true(V(group_bytes) > 0 && V(directory_bytes) > 0);
	assert_int_equal(V(chunks_damaged), 0);
	check_stages(&w);
	assert_true(V(stage_decode_ns) > 0);
	read = V(groups_read);
	world_restore(&w);
	assert_int_equal(V(bytes_out), 2 * BYTES);
	assert_true(V(groups_read) + V(group_hits) > read);

	assert_int_equal(akin_counters_each(NULL, same_values, &w), 42);
	world_release(&w);
	OK(akin_counters_each(NULL, same_values, &w));
	assert_int_equal(nr_open(), 0);
}

static void test_one_pool_of_two(void **state)
{
	struct akin_pool_info info;
	struct world w, other;

	world_init(&w);
	world_init(&other);
	akin_pool_get_info(w.p, &info);
	akin_pool_get_counters(w.p, w.values);
	/* same_values() would not bear the other one. */
	assert_int_equal(akin_counters_each(info.id, same_values, &w), 42);
	OK(akin_counters_each("00112233445566778899aabbccddeeff", same_values,
			      &w));
	assert_int_equal(nr_open(), 2);
	world_release(&w);
	world_release(&other);
}

/* Reopened, so that the directories are read from the disk again. */
static void test_cold_pool(void **state)
{
	struct world w;

	world_init(&w);
	world_backup(&w);
	akin_pool_close(w.p);
	OK(simpool_open(&w.sp, true, &w.p, NULL));
	akin_pool_get_counters(w.p, w.values);
	/* The superblocks were read before there was a place to count. */
	assert_true(V(data_read_ops) > 0 && V(metadata_read_ops) > 0);
	world_restore(&w);
	assert_int_equal(V(bytes_out), BYTES);
	assert_int_equal(V(bytes_in), 0);
	assert_true(V(directory_loads) > 0);
	assert_int_equal(V(directory_failures), 0);
	assert_true(V(data_read_bytes) >= V(group_bytes_read));
	assert_int_equal(V(data_write_ops), 0);
	world_release(&w);
}

static void test_same_results_in_private(void **state)
{
	struct akin_backup_result first;
	struct world w;

	world_init(&w);
	world_backup(&w);
	first = w.result;
	world_release(&w);
	/* A directory that is there, and where nobody can make a file. */
	OK(setenv("AKIN_COUNTERS", "/proc/self", 1));
	world_init(&w);
	assert_null(counters_file_path(w.p->counters_file));
	world_backup(&w);
	check_backup(&w);
	assert_int_equal(w.result.number, first.number);
	assert_int_equal(w.result.total.bytes, first.total.bytes);
	world_restore(&w);
	assert_int_equal(V(bytes_out), BYTES);
	OK(akin_counters_each(NULL, same_values, &w));
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(test_pool),
		TEST(test_one_pool_of_two),
		TEST(test_cold_pool),
		TEST(test_same_results_in_private),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
