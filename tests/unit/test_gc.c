/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reclaim on the lying disk: what is kept restores, what is not goes, and
 * sessions that come in between lose nothing. The races are those that the
 * model names (tests/unit/test_model.c); here the engine walks them, stopped
 * at the points where they bite.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "catalog/catalog_retention.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define BYTES ((size_t)1 << 20)
#define VERSIONS 6

struct world {
	struct simpool sp;
	u8 *data[VERSIONS];
	char name[VERSIONS][16];
};

/* Version @i shares most with its neighbours: a part of it is its own, and a
 * part of what came before is gone. */
static void make_version(u8 *out, int i)
{
	struct rng r;
	size_t at, len = BYTES / 16;
	int k;

	for (k = 0; k < 16; k++) {
		/* Part k changes with every (k + 1)th version. */
		r.s = (u64)k * 1000 + (u64)(i / (k / 2 + 1)) + 1;
		at = (size_t)k * len;
		rng_fill(&r, out + at, len);
	}
}

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct akin_diag d = { 0 };
	int i;

	must(simpool_init(&w->sp, &d), &d);
	for (i = 0; i < VERSIONS; i++) {
		w->data[i] = malloc(BYTES);
		make_version(w->data[i], i);
		snprintf(w->name[i], sizeof(w->name[i]), "v%d", i);
		must(simpool_put(&w->sp, w->name[i], w->data[i], BYTES, &d),
		     &d);
	}
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	int i;

	simpool_free(&w->sp);
	for (i = 0; i < VERSIONS; i++)
		free(w->data[i]);
	free(w);
	return 0;
}

struct find {
	const char *name;
	u64 number;
};

static int find_one(void *ctx, const struct akin_snapshot *s)
{
	struct find *f = ctx;

	if (!strcmp(s->paths[0], f->name))
		f->number = s->number;
	return 0;
}

/* Off the list, as of now. */
static void forget(struct simpool *sp, const char *name)
{
	struct catalog_forget row = { 0 };
	struct find f = { .name = name };
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(sp, false, &p, &d), &d);
	must(akin_snapshot_each(p, NULL, find_one, &f, &d), &d);
	row.number = f.number;
	must(catalog_forget(p->catalog, &row, 1, UINT64_MAX, true, NULL, &d),
	     &d);
	assert_int_equal(row.outcome, FORGET_DONE);
	akin_pool_close(p);
}

static int gc(struct simpool *sp, const struct akin_gc_options *opt,
	      struct akin_gc_result *r, struct akin_diag *d)
{
	struct akin_pool *p;
	int err;

	memset(r, 0, sizeof(*r));
	memset(d, 0, sizeof(*d));
	err = simpool_open(sp, opt->dry_run, &p, d);
	if (err)
		return err;
	err = akin_gc(p, opt, r, d);
	akin_pool_close(p);
	return err;
}

static void gc_all(struct simpool *sp, struct akin_gc_result *r)
{
	struct akin_gc_options opt = { 0 };
	struct akin_diag d;

	must(gc(sp, &opt, r, &d), &d);
}

static void expect_whole(struct simpool *sp, const char *name, const u8 *data)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;

	must(simpool_get(sp, name, data, BYTES, &found, &d), &d);
	assert_int_equal(found, SIMPOOL_WHOLE);
}

static void finding(void *ctx, int code, const char *text,
		    const char *snapshot, const char *path)
{
	if (code)
		fail_msg("check after gc: %s [%s%s]", text, snapshot, path);
}

/* Everything is read; nobody's files are a finding here. */
static void check(struct simpool *sp)
{
	struct akin_check_options opt = { .read_data = true,
					  .finding = finding };
	struct akin_check_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(sp, false, &p, &d), &d);
	must(akin_check(p, &opt, &r, &d), &d);
	akin_pool_close(p);
	assert_int_equal(r.findings, 0);
	assert_int_equal(r.orphan_files, 0);
}

/* Bytes of container files. */
static u64 usage(struct simpool *sp)
{
	struct sim_name *names;
	size_t nr, i;
	u64 sum = 0;

	names = simdisk_names(sp->data, &nr);
	for (i = 0; i < nr; i++)
		if (!names[i].is_dir &&
		    !strncmp(names[i].path, "containers/", 11))
			sum += names[i].size_bytes;
	simdisk_names_free(names, nr);
	return sum;
}

static void test_nothing_to_do(void **state)
{
	struct world *w = *state;
	struct akin_gc_result r;
	u64 before = usage(&w->sp);
	int i;

	gc_all(&w->sp, &r);
	assert_int_equal(r.snapshots, VERSIONS);
	assert_int_equal(r.dead_containers, 0);
	assert_int_equal(r.deleted_files + r.copied_containers, 0);
	assert_int_equal(usage(&w->sp), before);
	for (i = 0; i < VERSIONS; i++)
		expect_whole(&w->sp, w->name[i], w->data[i]);
	check(&w->sp);
}

static void test_dry_run_changes_nothing(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_gc_options opt = { .dry_run = true };
	struct akin_gc_result r;
	struct akin_diag d;
	u64 meta, data;

	forget(&sp, "v0");
	forget(&sp, "v1");
	meta = simdisk_hash(sp.meta);
	data = simdisk_hash(sp.data);
	must(gc(&sp, &opt, &r, &d), &d);
	assert_true(r.dead_bytes + r.kept_below_bytes > 0);
	assert_int_equal(simdisk_hash(sp.meta), meta);
	assert_int_equal(simdisk_hash(sp.data), data);
	simpool_free(&sp);
}

/* A pool that has only ever held the last @nr versions. */
static u64 fresh_usage(struct world *w, int first)
{
	struct akin_diag d = { 0 };
	struct simpool sp;
	u64 bytes;
	int i;

	must(simpool_init(&sp, &d), &d);
	for (i = first; i < VERSIONS; i++)
		must(simpool_put(&sp, w->name[i], w->data[i], BYTES, &d), &d);
	bytes = usage(&sp);
	simpool_free(&sp);
	return bytes;
}

static void test_near_a_fresh_pool(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	u64 before = usage(&sp), after;
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	int i, first;

	for (first = 1; first < VERSIONS; first++) {
		forget(&sp, w->name[first - 1]);
		gc_all(&sp, &r);
		after = usage(&sp);
		assert_in_range(after, 1, before);
		assert_in_range(after, 1, fresh_usage(w, first) * 13 / 10);
		assert_int_equal(r.freed_bytes, before - after);
		before = after;
		check(&sp);
		for (i = first; i < VERSIONS; i++)
			expect_whole(&sp, w->name[i], w->data[i]);
		/* Once more finds nothing. */
		gc_all(&sp, &r);
		assert_int_equal(r.deleted_files, 0);
		assert_int_equal(usage(&sp), after);
	}
	forget(&sp, w->name[VERSIONS - 1]);
	gc_all(&sp, &r);
	assert_int_equal(usage(&sp), 0);
	check(&sp);
	/* And it is a pool like any other. */
	must(simpool_put(&sp, "v0", w->data[0], BYTES, &d), &d);
	expect_whole(&sp, "v0", w->data[0]);
	check(&sp);
	simpool_free(&sp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_dry_run_changes_nothing),
		cmocka_unit_test(test_near_a_fresh_pool),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
