/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizing on the lying disk: the newest version ends without references and
 * the others as differences to it, everything restores before and after a
 * reclaim, and others may be at work meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "catalog/catalog_retention.h"
#include "container/container_reader.h"
#include "optimize/optimize.h"
#include "optimize/optimize_plan.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define BYTES ((size_t)256 * 1024)
/* Room for what is chosen by itself where there is room. */
#define MEMORY (64 * MiB)
#define VERSIONS 6
#define NAME "series"

struct world {
	struct simpool sp;
	u8 *data[VERSIONS];
	u64 number[VERSIONS];
};

/* Everything changes a little with every version: no two have a chunk in
 * common, and each resembles its neighbours. A part is the same in all. */
static void make_version(u8 *out, int i)
{
	struct rng base = { 7 }, own;
	size_t at;
	int v;

	rng_fill(&base, out, BYTES);
	for (v = 0; v <= i; v++) {
		own.s = (u64)v + 100;
		for (at = BYTES / 4; at + 64 <= BYTES; at += 700)
			rng_fill(&own, out + at + rng_below(&own, 40), 12);
	}
}

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static u64 put(struct simpool *sp, const char *name, const u8 *data)
{
	struct akin_diag d = { 0 };

	must(simpool_put(sp, name, data, BYTES, &d), &d);
	return sp->result.number;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct akin_diag d = { 0 };
	int i;

	must(simpool_init(&w->sp, &d), &d);
	w->sp.memory = MEMORY;
	for (i = 0; i < VERSIONS; i++) {
		w->data[i] = malloc(BYTES);
		make_version(w->data[i], i);
		w->number[i] = put(&w->sp, NAME, w->data[i]);
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

static int optimize(struct simpool *sp, const struct akin_optimize_options *opt,
		    struct akin_optimize_result *r, struct akin_diag *d)
{
	struct akin_pool *p;
	int err;

	memset(r, 0, sizeof(*r));
	memset(d, 0, sizeof(*d));
	err = simpool_open(sp, opt->dry_run, &p, d);
	if (err)
		return err;
	err = akin_optimize(p, opt, r, d);
	akin_pool_close(p);
	return err;
}

static struct akin_optimize_result optimize_all(struct simpool *sp)
{
	struct akin_optimize_options opt = { .restore_cost = true };
	struct akin_optimize_result r;
	struct akin_diag d;

	must(optimize(sp, &opt, &r, &d), &d);
	return r;
}

static void gc(struct simpool *sp)
{
	struct akin_gc_options opt = { 0 };
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(sp, false, &p, &d), &d);
	must(akin_gc(p, &opt, &r, &d), &d);
	akin_pool_close(p);
}

static void finding(void *ctx, int code, const char *text,
		    const char *snapshot, const char *path)
{
	if (code)
		fail_msg("check: %s [%s%s]", text, snapshot, path);
}

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
}

static void expect(struct simpool *sp, u64 number, const char *name,
		   const u8 *data)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;

	must(simpool_get_number(sp, number, name, data, BYTES, &found, &d),
	     &d);
	assert_int_equal(found, SIMPOOL_WHOLE);
}

static void expect_all(struct world *w, struct simpool *sp)
{
	int i;

	for (i = 0; i < VERSIONS; i++)
		expect(sp, w->number[i], NAME, w->data[i]);
	check(sp);
}

static struct akin_restore_cost cost_of(struct simpool *sp, u64 number)
{
	struct akin_restore_cost c;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(sp, true, &p, &d), &d);
	must(akin_restore_cost(p, number, NULL, NULL, &c, &d), &d);
	akin_pool_close(p);
	return c;
}

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

/* The plan ------------------------------------------------------------------*/

static void test_plan(void **state)
{
	static const u32 parents[10] = { 0, 0, 1, 2, 1, 4, 4, 0, 7, 8 };
	static const u8 depths[10] = { 0, 1, 2, 3, 2, 3, 3, 1, 2, 3 };
	struct optimize_step s[10];
	u32 i;

	optimize_plan(10, 3, s);
	for (i = 0; i < 10; i++) {
		assert_int_equal(s[i].parent, parents[i]);
		assert_int_equal(s[i].depth, depths[i]);
	}
}

static void test_plan_holds(void **state)
{
	struct optimize_step s[200];
	u32 i, nr, far;
	u8 depth;

	for (depth = 0; depth <= 8; depth++) {
		for (nr = 0; nr <= 200; nr += 40) {
			optimize_plan(nr, depth, s);
			for (far = 0, i = 1; i < nr; i++) {
				assert_true(s[i].parent < i);
				assert_true(s[i].depth <= depth);
				far += s[i].parent + 1 != i;
				if (depth)
					assert_int_equal(s[s[i].parent].depth +
							 1, s[i].depth);
			}
			if (depth > 1)
				assert_true(far <= nr * 2 / depth);
		}
	}
}

/* Runs ----------------------------------------------------------------------*/

static void test_turns_round(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_optimize_result r;
	struct akin_restore_cost c;
	u64 before = usage(&sp), number;
	int i;

	assert_true(cost_of(&sp, w->number[VERSIONS - 1]).depth > 0);
	r = optimize_all(&sp);
	assert_int_equal(r.series, 1);
	assert_int_equal(r.snapshots, VERSIONS);
	assert_int_equal(r.snapshots_moved, VERSIONS);
	assert_int_equal(r.snapshots_damaged + r.chunks_unreadable, 0);
	assert_true(r.before.depth > 0 && r.before.groups_base > 0);
	assert_int_equal(r.after.depth, 0);
	assert_int_equal(r.after.groups_base, 0);
	assert_int_equal(r.bytes_before, before);
	assert_int_equal(usage(&sp), before + r.bytes_stored);
	expect_all(w, &sp);
	gc(&sp);
	/* Nothing of the old is needed. */
	assert_int_equal(usage(&sp), r.bytes_stored);
	assert_true(r.bytes_stored < before);
	expect_all(w, &sp);
	for (i = 0; i < VERSIONS; i++) {
		c = cost_of(&sp, w->number[i]);
		assert_int_equal(c.depth, VERSIONS - 1 - i);
		assert_int_equal(c.missing + c.unreadable, 0);
	}
	/* It goes on as a pool like any other: what is there is found, */
	number = put(&sp, NAME, w->data[2]);
	assert_int_equal(sp.result.chunks_new, 0);
	expect(&sp, number, NAME, w->data[2]);
	/* also under another name. */
	number = put(&sp, "other", w->data[0]);
	assert_int_equal(sp.result.chunks_new, 0);
	expect(&sp, number, "other", w->data[0]);
	gc(&sp);
	expect_all(w, &sp);
	simpool_free(&sp);
}

/* A newest version that holds something and nearly the same once more: what
 * backups made of that stays, or the pool would grow. */
#define TWICE_BYTES ((size_t)512 * 1024)
#define BETWEEN_BYTES ((size_t)3 * 1024 * 1024)
/* Groups begin and end elsewhere. */
#define SLACK_BYTES 4096
#define PAIR_BYTES (2 * TWICE_BYTES + BETWEEN_BYTES)

static u8 *make_pair(void)
{
	u8 *data = malloc(PAIR_BYTES), *again = data + TWICE_BYTES +
						BETWEEN_BYTES;
	struct rng r = { 11 };
	size_t at;

	rng_fill(&r, data, TWICE_BYTES + BETWEEN_BYTES);
	memcpy(again, data, TWICE_BYTES);
	/* Some chunks are equal, or nothing would lie near the others. */
	for (at = 1000; at + 64 < TWICE_BYTES; at += 3500)
		rng_fill(&r, again + at, 12);
	return data;
}

static void put_part(struct simpool *sp, const u8 *data, size_t n)
{
	struct akin_diag d = { 0 };

	must(simpool_put(sp, "pair", data, n, &d), &d);
}

static void expect_pair(struct simpool *sp, const u8 *data)
{
	enum simpool_found found;
	struct akin_diag d = { 0 };

	must(simpool_get(sp, "pair", data, PAIR_BYTES, &found, &d), &d);
	assert_int_equal(found, SIMPOOL_WHOLE);
	check(sp);
}

static void test_never_grows(void **state)
{
	struct akin_optimize_options opt = { .delta_depth = AKIN_DELTA_NONE };
	struct akin_optimize_result r;
	u8 *data = make_pair();
	struct akin_diag d = { 0 };
	struct simpool sp, flat;
	u64 before;

	must(simpool_init(&sp, &d), &d);
	sp.memory = MEMORY;
	put_part(&sp, data, TWICE_BYTES + BETWEEN_BYTES);
	put_part(&sp, data, PAIR_BYTES);
	before = usage(&sp);
	flat = simpool_clone(&sp);
	r = optimize_all(&sp);
	assert_int_equal(r.after.depth, 1);
	/* All that it refers to is its own. */
	assert_int_equal(r.after.groups_base, 0);
	assert_true(r.groups_referring > 0);
	gc(&sp);
	assert_true(usage(&sp) <= before + SLACK_BYTES);
	expect_pair(&sp, data);
	/* Once more: what is kept is found where it is now. */
	opt.delta_depth = 0;
	opt.all = true;
	must(optimize(&sp, &opt, &r, &d), &d);
	gc(&sp);
	assert_true(usage(&sp) <= before + SLACK_BYTES);
	assert_true(r.groups_referring > 0);
	expect_pair(&sp, data);
	/* The test can fail. */
	opt.delta_depth = AKIN_DELTA_NONE;
	must(optimize(&flat, &opt, &r, &d), &d);
	gc(&flat);
	assert_true(usage(&flat) > before + TWICE_BYTES / 4);
	simpool_free(&flat);
	simpool_free(&sp);
	free(data);
}

static void test_nothing_to_do(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_optimize_result r;
	u64 number;

	optimize_all(&sp);
	gc(&sp);
	r = optimize_all(&sp);
	assert_int_equal(r.series_in_order, 1);
	assert_int_equal(r.snapshots + r.bytes_stored, 0);
	/* What has come since is the newest now, though all of it was there. */
	number = put(&sp, NAME, w->data[0]);
	r = optimize_all(&sp);
	assert_int_equal(r.series_in_order, 0);
	assert_int_equal(r.snapshots_moved, VERSIONS + 1);
	gc(&sp);
	assert_int_equal(usage(&sp), r.bytes_stored);
	expect(&sp, number, NAME, w->data[0]);
	expect_all(w, &sp);
	assert_int_equal(cost_of(&sp, number).depth, 0);
	simpool_free(&sp);
}

static void test_dry_run_changes_nothing(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_optimize_options opt = { .dry_run = true };
	u64 meta = simdisk_hash(sp.meta), data = simdisk_hash(sp.data);
	struct akin_optimize_result r;
	struct akin_diag d;

	must(optimize(&sp, &opt, &r, &d), &d);
	assert_int_equal(r.snapshots, VERSIONS);
	assert_int_equal(r.snapshots_moved, 0);
	assert_int_equal(simdisk_hash(sp.meta), meta);
	assert_int_equal(simdisk_hash(sp.data), data);
	opt.delta_depth = 9;
	assert_int_equal(optimize(&sp, &opt, &r, &d), -AKIN_E_usage);
	simpool_free(&sp);
}

static void test_depth_and_codec(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_optimize_options opt = { .delta_depth = 2 };
	struct akin_optimize_result r;
	struct akin_diag d;
	u64 deep, none;
	int i;

	must(optimize(&sp, &opt, &r, &d), &d);
	gc(&sp);
	for (i = 0; i < VERSIONS; i++)
		assert_true(cost_of(&sp, w->number[i]).depth <= 2);
	deep = usage(&sp);
	opt.delta_depth = AKIN_DELTA_NONE;
	opt.compression = "none";
	opt.all = true;
	must(optimize(&sp, &opt, &r, &d), &d);
	gc(&sp);
	none = usage(&sp);
	assert_true(none > 2 * deep);
	assert_int_equal(r.groups_referring, 0);
	for (i = 0; i < VERSIONS; i++)
		assert_int_equal(cost_of(&sp, w->number[i]).depth, 0);
	expect_all(w, &sp);
	/* With little memory, less of what was not asked for. */
	sp.memory = 0;
	memset(&opt, 0, sizeof(opt));
	opt.all = true;
	must(optimize(&sp, &opt, &r, &d), &d);
	gc(&sp);
	for (i = 0; i < VERSIONS; i++)
		assert_true(cost_of(&sp, w->number[i]).depth <= 2);
	expect_all(w, &sp);
	opt.delta_depth = 8;
	assert_int_equal(optimize(&sp, &opt, &r, &d), -AKIN_E_usage);
	opt.delta_depth = 0;
	opt.compression = "nonsense";
	assert_true(optimize(&sp, &opt, &r, &d) != 0);
	simpool_free(&sp);
}

/* A backup during which the same data is backed up by somebody else: both
 * store it. */
struct nested {
	struct simpool *sp;
	const u8 *data;
	size_t at;
};

static long nested_read(void *ctx, void *buf, size_t cap,
			struct akin_diag *diag)
{
	struct nested *n = ctx;
	size_t len = BYTES - n->at < cap ? BYTES - n->at : cap;

	if (n->at == 0)
		put(n->sp, "inner", n->data);
	memcpy(buf, n->data + n->at, len);
	n->at += len;
	return (long)len;
}

static u64 nr_chunks(struct simpool *sp)
{
	struct akin_diag d = { 0 };
	struct catalog_totals t;
	struct akin_pool *p;

	must(simpool_open(sp, true, &p, &d), &d);
	must(catalog_totals(p->catalog, &t, &d), &d);
	akin_pool_close(p);
	return t.nr_chunks;
}

static void test_finds_duplicates(void **state)
{
	struct world *w = *state;
	struct nested n = { .data = w->data[0] };
	struct akin_backup_options opt = { .host = "test" };
	struct akin_backup_result res;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	struct simpool sp;
	u64 before;

	must(simpool_init(&sp, &d), &d);
	n.sp = &sp;
	must(simpool_open(&sp, false, &p, &d), &d);
	must(akin_backup_stream(p, &opt, "outer", nested_read, NULL, &n, &res,
				&d), &d);
	akin_pool_close(p);
	before = nr_chunks(&sp);
	optimize_all(&sp);
	gc(&sp);
	expect(&sp, res.number, "outer", w->data[0]);
	/* None in it is like another. */
	put(&sp, "again", w->data[0]);
	assert_int_equal(sp.result.chunks_new, 0);
	assert_int_equal(nr_chunks(&sp), sp.result.chunks);
	assert_true(before > sp.result.chunks * 3 / 2);
	check(&sp);
	simpool_free(&sp);
}

/* What chunks resemble is known of them afterwards, too. */
struct sketched {
	struct akin_pool *p;
	u32 nr;
	u64 sum;
};

static int count_sketches(void *ctx, const struct catalog_container *row)
{
	const struct directory *dir;
	struct sketched *s = ctx;
	struct container_reader *r;
	struct akin_diag d = { 0 };
	u32 i;

	must(dircache_get(s->p->depot.dirs, row->number, &r, &d), &d);
	dir = container_directory(r);
	for (i = 0; dir->sketches && i < dir->nr_entries; i++) {
		s->nr += dir->sketches[i].part[0] != 0;
		s->sum += fp_prefix(&dir->entries[i].fp) ^
			  dir->sketches[i].part[0];
	}
	dircache_put(s->p->depot.dirs, row->number);
	return 0;
}

static struct sketched sketches_of(struct simpool *sp)
{
	struct sketched s = { 0 };
	struct akin_diag d = { 0 };

	must(simpool_open(sp, true, &s.p, &d), &d);
	must(catalog_each_container(s.p->catalog, count_sketches, &s, &d), &d);
	akin_pool_close(s.p);
	return s;
}

static void test_keeps_sketches(void **state)
{
	struct sketched before, after;
	u8 *data = malloc(BYTES);
	struct akin_diag d = { 0 };
	struct simpool sp;
	struct rng r = { 9 };
	size_t i;

	/* Words: data that does not shrink is not sketched. */
	for (i = 0; i < BYTES; i++)
		data[i] = i % 8 == 7 ? ' ' : 'a' + (u8)rng_below(&r, 9);
	must(simpool_init(&sp, &d), &d);
	sp.engine = AKIN_ENGINE_HYBRID;
	put(&sp, "words", data);
	before = sketches_of(&sp);
	assert_true(before.nr > 0);
	optimize_all(&sp);
	gc(&sp);
	after = sketches_of(&sp);
	assert_int_equal(after.nr, before.nr);
	assert_int_equal(after.sum, before.sum);
	simpool_free(&sp);
	free(data);
}

/* Others at work ------------------------------------------------------------*/

struct meanwhile {
	struct world *w;
	struct simpool *sp;
	u64 when;		/* snapshots done */
	int what;
	u64 number;
	bool done;
};

enum { PUT_OLD, PUT_NEW, PUT_OTHER, FORGET, GC, OPTIMIZE, NR_ACTS };

static void forget(struct simpool *sp, u64 number)
{
	struct catalog_forget row = { .number = number };
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(sp, false, &p, &d), &d);
	must(catalog_forget(p->catalog, &row, 1, UINT64_MAX, true, NULL, &d),
	     &d);
	akin_pool_close(p);
}

static void at_snapshot(void *ctx, const struct akin_optimize_progress *op)
{
	struct meanwhile *m = ctx;

	if (m->done || op->snapshots != m->when)
		return;
	m->done = true;
	switch (m->what) {
	case PUT_OLD:
		m->number = put(m->sp, NAME, m->w->data[1]);
		break;
	case PUT_NEW:
		m->number = put(m->sp, NAME, m->w->data[5]);
		break;
	case PUT_OTHER:
		m->number = put(m->sp, "other", m->w->data[3]);
		break;
	case FORGET:
		forget(m->sp, m->w->number[1]);
		forget(m->sp, m->w->number[4]);
		break;
	case GC:
		gc(m->sp);
		break;
	case OPTIMIZE:
		optimize_all(m->sp);
		break;
	}
}

static void expect_left(struct meanwhile *m)
{
	int i;

	for (i = 0; i < VERSIONS; i++) {
		if (m->what != FORGET || (i != 1 && i != 4))
			expect(m->sp, m->w->number[i], NAME, m->w->data[i]);
	}
	if (m->what == PUT_OLD)
		expect(m->sp, m->number, NAME, m->w->data[1]);
	if (m->what == PUT_NEW)
		expect(m->sp, m->number, NAME, m->w->data[5]);
	if (m->what == PUT_OTHER)
		expect(m->sp, m->number, "other", m->w->data[3]);
	check(m->sp);
}

static void test_others_at_work(void **state)
{
	struct akin_optimize_options opt = { .progress = at_snapshot };
	struct world *w = *state;
	struct meanwhile m = { .w = w };
	struct akin_optimize_result r;
	struct simpool sp;
	struct akin_diag d;

	for (m.what = 0; m.what < NR_ACTS; m.what++) {
		for (m.when = 1; m.when < VERSIONS; m.when += 3) {
			sp = simpool_clone(&w->sp);
			m.sp = &sp;
			m.done = false;
			opt.ctx = &m;
			must(optimize(&sp, &opt, &r, &d), &d);
			assert_true(m.done);
			expect_left(&m);
			gc(&sp);
			expect_left(&m);
			optimize_all(&sp);
			gc(&sp);
			expect_left(&m);
			simpool_free(&sp);
		}
	}
}

/* Stopping, failing ---------------------------------------------------------*/

struct stopping {
	struct akin_pool *p;
	u64 when;
};

static void stop_at(void *ctx, const struct akin_optimize_progress *op)
{
	struct stopping *s = ctx;

	if (op->snapshots == s->when)
		akin_pool_stop(s->p);
}

static void test_goes_on(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct stopping s = { .when = 3 };
	struct akin_optimize_options opt = { .progress = stop_at, .ctx = &s };
	struct akin_optimize_result r, rest, whole;
	struct akin_diag d = { 0 };
	struct simpool other = simpool_clone(&w->sp);

	whole = optimize_all(&other);
	simpool_free(&other);
	must(simpool_open(&sp, false, &s.p, &d), &d);
	assert_int_equal(akin_optimize(s.p, &opt, &r, &d),
			 -AKIN_E_interrupted);
	akin_pool_close(s.p);
	assert_in_range(r.snapshots_moved, 3, VERSIONS - 1);
	expect_all(w, &sp);
	gc(&sp);
	expect_all(w, &sp);
	rest = optimize_all(&sp);
	assert_true(rest.bytes_resumed > 0);
	assert_int_equal(rest.snapshots_moved, VERSIONS);
	assert_int_equal(r.chunks + rest.chunks, whole.chunks);
	gc(&sp);
	assert_int_equal(usage(&sp), r.bytes_stored + rest.bytes_stored);
	expect_all(w, &sp);
	simpool_free(&sp);
}

/* An unreadable chunk stays where it is; all else is stored again. */
static void test_damage(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_optimize_options opt = { 0 };
	struct akin_optimize_result r;
	enum simpool_found found;
	struct akin_diag d;
	struct sim_name *names;
	size_t nr, i;

	names = simdisk_names(sp.data, &nr);
	for (i = 0; i < nr; i++) {
		/* The first container of data. */
		if (names[i].is_dir ||
		    strncmp(names[i].path, "containers/", 11) ||
		    names[i].size_bytes < BYTES / 2)
			continue;
		simdisk_flip_bit(sp.data, names[i].path,
				 names[i].size_bytes / 3, 3);
		break;
	}
	assert_true(i < nr);
	simdisk_names_free(names, nr);
	assert_int_equal(optimize(&sp, &opt, &r, &d), -AKIN_E_partial);
	assert_true(r.chunks_unreadable > 0);
	assert_true(r.chunks > 0);
	gc(&sp);
	/* What the damage did not reach is as it was, what it did is known. */
	assert_true(simpool_get_number(&sp, w->number[0], NAME, w->data[0],
				       BYTES, &found, &d) != 0);
	simpool_free(&sp);
}

static void test_no_space(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_optimize_options opt = { 0 };
	struct akin_optimize_result r;
	struct akin_diag d;
	int err;

	simdisk_set_capacity(sp.data, simdisk_used(sp.data) + 300 * 1024);
	err = optimize(&sp, &opt, &r, &d);
	assert_int_equal(akin_error_class(err), AKIN_CLASS_NOSPACE);
	simdisk_set_capacity(sp.data, 0);
	expect_all(w, &sp);
	optimize_all(&sp);
	gc(&sp);
	expect_all(w, &sp);
	simpool_free(&sp);
}

static void test_no_memory(void **state)
{
	struct world *w = *state;
	struct akin_optimize_options opt = { 0 };
	struct akin_optimize_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	struct simpool sp;
	u64 n;
	int err;

	for (n = 1; n < 1000000; n += 1 + n / 3) {
		sp = simpool_clone(&w->sp);
		must(simpool_open(&sp, false, &p, &d), &d);
		mem_fail_after(n);
		err = akin_optimize(p, &opt, &r, &d);
		mem_fail_after(0);
		akin_pool_close(p);
		if (err)
			assert_int_equal(akin_error_class(err),
					 AKIN_CLASS_NOMEM);
		memset(&d, 0, sizeof(d));
		expect(&sp, w->number[0], NAME, w->data[0]);
		expect(&sp, w->number[VERSIONS - 1], NAME,
		       w->data[VERSIONS - 1]);
		simpool_free(&sp);
		if (!err && n > 100000)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_plan_holds),
		cmocka_unit_test(test_turns_round),
		cmocka_unit_test(test_never_grows),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_dry_run_changes_nothing),
		cmocka_unit_test(test_depth_and_codec),
		cmocka_unit_test(test_finds_duplicates),
		cmocka_unit_test(test_keeps_sketches),
		cmocka_unit_test(test_others_at_work),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
