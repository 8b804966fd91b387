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
#include "gc/gc_heirs.h"
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

/* Differences: of 8 KiB the last 6 are changed here and there, anew in every
 * version, so that the first two lead to them. */
static void make_difference(u8 *out, int i)
{
	struct rng r = { 1 };
	size_t at;
	int v;

	rng_fill(&r, out, BYTES);
	for (v = 1; v <= i; v++) {
		r.s = (u64)v;
		for (at = 0; at + 40 <= BYTES; at += 400 + rng_below(&r, 800)) {
			if (at % 8192 >= 2048)
				rng_fill(&r, out + at, 40);
		}
	}
}

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static int setup_of(void **state, void (*make)(u8 *out, int i))
{
	struct world *w = calloc(1, sizeof(*w));
	struct akin_diag d = { 0 };
	int i;

	must(simpool_init(&w->sp, &d), &d);
	for (i = 0; i < VERSIONS; i++) {
		w->data[i] = malloc(BYTES);
		make(w->data[i], i);
		snprintf(w->name[i], sizeof(w->name[i]), "v%d", i);
		must(simpool_put(&w->sp, w->name[i], w->data[i], BYTES, &d),
		     &d);
	}
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return setup_of(state, make_version);
}

static int setup_differences(void **state)
{
	return setup_of(state, make_difference);
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
	struct akin_gc_options opt = { .threshold = 10 };
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

/* Others at work ------------------------------------------------------------*/

/* What happens at @point of a reclaim, once. */
struct meanwhile {
	struct simpool *sp;
	enum akin_gc_point point;
	void (*act)(struct meanwhile *m);
	const char *name;
	const u8 *data;
	struct akin_pool *reader;
	bool done;
};

static void at_point(void *ctx, enum akin_gc_point point)
{
	struct meanwhile *m = ctx;

	if (m->done || point != m->point)
		return;
	m->done = true;
	m->act(m);
}

static void act_put(struct meanwhile *m)
{
	struct akin_diag d = { 0 };

	must(simpool_put(m->sp, m->name, m->data, BYTES, &d), &d);
}

static void act_get(struct meanwhile *m)
{
	expect_whole(m->sp, m->name, m->data);
}

static void act_open(struct meanwhile *m)
{
	struct akin_diag d = { 0 };

	must(simpool_open(m->sp, true, &m->reader, &d), &d);
}

static void act_gc(struct meanwhile *m)
{
	struct akin_gc_options opt = { 0 };
	struct akin_gc_result r;
	struct akin_diag d;

	assert_int_equal(gc(m->sp, &opt, &r, &d), -AKIN_E_busy);
}

/* All but the last two forgotten; @act at @point; all is well, and stays so
 * when what is left over is reclaimed. */
static void beside(struct world *w, struct meanwhile *m)
{
	struct akin_gc_options opt = { .threshold = 10,
				       .at = at_point, .ctx = m };
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_gc_result r;
	struct akin_diag d;
	int i, round;

	m->sp = &sp;
	for (i = 0; i < VERSIONS - 2; i++)
		forget(&sp, w->name[i]);
	must(gc(&sp, &opt, &r, &d), &d);
	assert_true(m->done);
	for (round = 0; round < 2; round++) {
		for (i = VERSIONS - 2; i < VERSIONS; i++)
			expect_whole(&sp, w->name[i], w->data[i]);
		if (m->act == act_put)
			expect_whole(&sp, m->name, m->data);
		check(&sp);
		gc_all(&sp, &r);
	}
	assert_int_equal(r.kept_held_files, 0);
	simpool_free(&sp);
}

static void test_backups_at_every_point(void **state)
{
	struct world *w = *state;
	struct meanwhile m = { .act = act_put, .name = "again" };
	int i;

	/* Data that is being reclaimed at that moment, and some that is not. */
	for (i = 0; i < VERSIONS; i += 2) {
		for (m.point = AKIN_GC_MARKED; m.point <= AKIN_GC_LISTED;
		     m.point++) {
			m.data = w->data[i];
			m.done = false;
			beside(w, &m);
		}
	}
}

static void test_restores_at_every_point(void **state)
{
	struct world *w = *state;
	struct meanwhile m = { .act = act_get };

	m.name = w->name[VERSIONS - 1];
	m.data = w->data[VERSIONS - 1];
	for (m.point = AKIN_GC_MARKED; m.point <= AKIN_GC_LISTED; m.point++) {
		m.done = false;
		beside(w, &m);
	}
}

static void test_two_at_once(void **state)
{
	struct meanwhile m = { .act = act_gc };

	for (m.point = AKIN_GC_MARKED; m.point <= AKIN_GC_LISTED; m.point++) {
		m.done = false;
		beside(*state, &m);
	}
}

/* A backup or a restore during which others act, when it has read @after bytes. */
struct slow {
	struct world *w;
	struct simpool *sp;
	const u8 *data;
	size_t at, after;
	bool fail;
	struct akin_gc_result r;
};

static void forget_and_gc(struct slow *s)
{
	int i;

	for (i = 0; i < VERSIONS - 1; i++)
		forget(s->sp, s->w->name[i]);
	gc_all(s->sp, &s->r);
}

struct compare {
	const u8 *data;
	size_t left;
	struct slow *slow;
};

static int compare_data(void *ctx, const void *data, size_t n)
{
	struct compare *c = ctx;

	if (c->slow && c->left == BYTES)
		forget_and_gc(c->slow);
	assert_true(n <= c->left && !memcmp(c->data, data, n));
	c->data += n;
	c->left -= n;
	return 0;
}

/* A reader that opened the pool before anything was condemned reads on. */
static void test_reader_holds(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct slow s = { .w = w, .sp = &sp };
	struct compare c = { w->data[0], BYTES, &s };
	struct akin_diag d = { 0 };
	struct akin_gc_result r;
	struct akin_pool *p;
	struct find f = { .name = "v0" };
	u64 before = usage(&sp);

	must(simpool_open(&sp, true, &p, &d), &d);
	must(akin_snapshot_each(p, NULL, find_one, &f, &d), &d);
	must(akin_snapshot_read(p, f.number, "v0", compare_data, NULL, &c, &d),
	     &d);
	assert_int_equal(c.left, 0);
	assert_true(s.r.kept_held_files > 0 && s.r.holder[0]);
	assert_int_equal(s.r.deleted_files, 0);
	assert_int_equal(usage(&sp), before);
	akin_pool_close(p);
	gc_all(&sp, &r);
	assert_true(r.deleted_files > 0);
	assert_int_equal(r.kept_held_files, 0);
	assert_true(usage(&sp) < before);
	expect_whole(&sp, "v5", w->data[5]);
	check(&sp);
	simpool_free(&sp);
}

static void test_reader_in_between(void **state)
{
	struct world *w = *state;
	struct meanwhile m = { .act = act_open };
	struct akin_gc_options opt = { .threshold = 10,
				       .at = at_point, .ctx = &m };
	struct akin_gc_result r;
	struct compare c = { 0 };
	struct find f = { .name = "v5" };
	struct akin_diag d;
	struct simpool sp;
	int i;

	for (m.point = AKIN_GC_MARKED; m.point <= AKIN_GC_LISTED; m.point++) {
		sp = simpool_clone(&w->sp);
		m.sp = &sp;
		m.done = false;
		for (i = 0; i < VERSIONS - 1; i++)
			forget(&sp, w->name[i]);
		must(gc(&sp, &opt, &r, &d), &d);
		gc_all(&sp, &r);
		c.data = w->data[5];
		c.left = BYTES;
		must(akin_snapshot_each(m.reader, NULL, find_one, &f, &d), &d);
		must(akin_snapshot_read(m.reader, f.number, "v5", compare_data,
					NULL, &c, &d), &d);
		assert_int_equal(c.left, 0);
		akin_pool_close(m.reader);
		gc_all(&sp, &r);
		assert_int_equal(r.kept_held_files, 0);
		expect_whole(&sp, "v5", w->data[5]);
		check(&sp);
		simpool_free(&sp);
	}
}

static long slow_read(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	struct slow *s = ctx;
	size_t n = min_u64(BYTES - s->at, min_u64(cap, 65536));

	if (s->at < s->after && s->at + n >= s->after) {
		if (s->fail)
			return diag_set(diag, -AKIN_E_source_read, "test");
		forget_and_gc(s);
	}
	memcpy(buf, s->data + s->at, n);
	s->at += n;
	return (long)n;
}

static int put_slowly(struct slow *s, const char *name, struct akin_diag *d)
{
	struct akin_backup_options opt = { .host = "test" };
	struct akin_backup_result r;
	struct akin_pool *p;
	int err;

	must(simpool_open(s->sp, false, &p, d), d);
	err = akin_backup_stream(p, &opt, name, slow_read, NULL, s, &r, d);
	akin_pool_close(p);
	return err;
}

/* It matched, gc condemned, it commits and ends, gc goes on. */
static void test_backup_revives(void **state)
{
	struct world *w = *state;
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	struct simpool sp;
	struct slow s;
	int i;

	for (i = 0; i < VERSIONS - 1; i++) {
		sp = simpool_clone(&w->sp);
		memset(&s, 0, sizeof(s));
		s.w = w;
		s.sp = &sp;
		s.data = w->data[i];
		s.after = BYTES;	/* all but the commit */
		must(put_slowly(&s, "again", &d), &d);
		assert_true(s.r.kept_held_files > 0);
		assert_non_null(strstr(s.r.holder, "session"));
		expect_whole(&sp, "again", w->data[i]);
		check(&sp);
		gc_all(&sp, &r);
		expect_whole(&sp, "again", w->data[i]);
		expect_whole(&sp, "v5", w->data[5]);
		check(&sp);
		gc_all(&sp, &r);
		assert_int_equal(r.kept_held_files, 0);
		expect_whole(&sp, "again", w->data[i]);
		simpool_free(&sp);
	}
}

/* What a backup that was cut short has stored waits for its next run, or goes
 * on request. */
static void test_interrupted(void **state)
{
	struct world *w = *state;
	struct akin_gc_options opt = { .drop_interrupted = true };
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	struct slow s = { .w = w, .sp = &sp, .after = BYTES, .fail = true };
	u8 *other = malloc(BYTES);
	u64 before = usage(&sp), with;

	simpool_fill(77, other, BYTES);
	s.data = other;
	assert_int_equal(put_slowly(&s, "cut", &d), -AKIN_E_source_read);
	with = usage(&sp);
	assert_true(with > before);
	gc_all(&sp, &r);
	assert_true(r.kept_interrupted_bytes > 0);
	assert_int_equal(usage(&sp), with);
	must(gc(&sp, &opt, &r, &d), &d);
	assert_int_equal(r.kept_interrupted_bytes, 0);
	assert_int_equal(usage(&sp), before);
	check(&sp);
	simpool_free(&sp);
	free(other);
}

/* Something that a snapshot needs is nowhere: nothing is touched. */
static void test_damage_stops_it(void **state)
{
	struct world *w = *state;
	struct simpool sp = simpool_clone(&w->sp);
	struct akin_gc_options opt = { 0 };
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	struct disk *data = simdisk_attach(sp.data, true);
	u64 before;

	forget(&sp, "v0");
	must(disk_unlink(data, "containers/01/0000000000000001.0", &d), &d);
	disk_free(data);
	before = usage(&sp);
	assert_int_equal(akin_error_class(gc(&sp, &opt, &r, &d)),
			 AKIN_CLASS_CORRUPT);
	assert_non_null(strstr(d.hint, "akin check"));
	assert_int_equal(usage(&sp), before);
	simpool_free(&sp);
}

/*
 * What a backup may match and nobody needs: @old's first part is a difference
 * to @older, its last quarter is kept by another snapshot.
 */
static void test_dead_differences_stay_whole(void **state)
{
	struct akin_gc_options opt = { .threshold = 101 };
	u8 *older = malloc(BYTES), *old = malloc(BYTES), *kept = malloc(BYTES);
	struct rng r = { 11 }, change = { 12 };
	struct akin_gc_result res;
	struct akin_diag d = { 0 };
	struct simpool sp;
	size_t at;

	rng_fill(&r, older, BYTES);
	memcpy(old, older, BYTES);
	for (at = 0; at + 64 <= BYTES * 3 / 4; at += 600)
		rng_fill(&change, old + at + rng_below(&change, 40), 8);
	rng_fill(&r, old + BYTES * 3 / 4, BYTES / 4);
	rng_fill(&r, kept, BYTES);
	memcpy(kept, old + BYTES * 3 / 4, BYTES / 4);
	must(simpool_init(&sp, &d), &d);
	must(simpool_put(&sp, "a", older, BYTES, &d), &d);
	must(simpool_put(&sp, "a", old, BYTES, &d), &d);
	assert_true(sp.result.bytes_referring > BYTES / 2);
	must(simpool_put(&sp, "kept", kept, BYTES, &d), &d);
	forget(&sp, "a");
	forget(&sp, "a");
	must(gc(&sp, &opt, &res, &d), &d);
	must(simpool_put(&sp, "a", old, BYTES, &d), &d);
	assert_true(sp.result.chunks_new < sp.result.chunks / 20);
	expect_whole(&sp, "a", old);
	check(&sp);
	simpool_free(&sp);
	free(older);
	free(old);
	free(kept);
}

/*
 * Only differences need what stays of v0. Who backs it up once more refers to
 * that; it is not left then, and what was left before the backup is not missed.
 */
static void test_dead_bases_match(void **state)
{
	struct akin_gc_options never = { .threshold = 101 };
	struct world *w = *state;
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	struct simpool sp;
	int i, leave;

	for (leave = 0; leave < 2; leave++) {
		sp = simpool_clone(&w->sp);
		for (i = 0; i < VERSIONS - 1; i++)
			forget(&sp, w->name[i]);
		if (leave)
			gc_all(&sp, &r);
		else
			must(gc(&sp, &never, &r, &d), &d);
		assert_true(leave || r.kept_base_bytes > BYTES / 8);
		must(simpool_put(&sp, "again", w->data[0], BYTES, &d), &d);
		assert_true(leave || sp.result.chunks_new <
				     sp.result.chunks / 2);
		expect_whole(&sp, "again", w->data[0]);
		gc_all(&sp, &r);
		expect_whole(&sp, "again", w->data[0]);
		expect_whole(&sp, "v5", w->data[5]);
		check(&sp);
		simpool_free(&sp);
	}
}

static struct dir_sketch sketch_of(u32 a, u32 b, u32 c)
{
	struct dir_sketch s = { { a, b, c } };

	return s;
}

static void test_heirs(void **state)
{
	struct gc_heir plain = { .container = 5, .entry = 1 };
	struct gc_heir deep = { .container = 7, .entry = 2, .depth = 1 };
	struct gc_heir other = { .container = 6, .entry = 3 };
	struct dir_sketch abc = sketch_of(1, 2, 3), abx = sketch_of(1, 2, 9);
	struct dir_sketch xyc = sketch_of(8, 9, 3), none = sketch_of(4, 5, 6);
	struct gc_heirs *h = gc_heirs_new(1);
	u32 i, room = gc_heirs_room(1);

	assert_non_null(h);
	assert_int_equal(gc_heirs_find(h, &abc, 100, 2).container, 0);
	gc_heirs_add(h, &abc, &plain);
	gc_heirs_add(h, &abx, &deep);
	/* The last, unless it is too deep or does not come before. */
	assert_int_equal(gc_heirs_find(h, &abc, 100, 2).container, 7);
	assert_int_equal(gc_heirs_find(h, &abc, 100, 1).container, 5);
	assert_int_equal(gc_heirs_find(h, &abc, 7, 2).container, 5);
	assert_int_equal(gc_heirs_find(h, &abc, 5, 2).container, 0);
	assert_int_equal(gc_heirs_find(h, &xyc, 100, 1).entry, 1);
	assert_int_equal(gc_heirs_find(h, &none, 100, 2).container, 0);
	/* More equal parts count more than coming last. */
	gc_heirs_add(h, &xyc, &other);
	assert_int_equal(gc_heirs_find(h, &abx, 100, 2).container, 7);
	/* Full: nothing is lost and nothing is added. */
	for (i = 3; i < room; i++) {
		abc = sketch_of(100 + i * 3, 101 + i * 3, 102 + i * 3);
		gc_heirs_add(h, &abc, &other);
	}
	gc_heirs_add(h, &none, &other);
	assert_int_equal(gc_heirs_find(h, &none, 100, 2).container, 0);
	assert_int_equal(gc_heirs_find(h, &abx, 100, 2).container, 7);
	gc_heirs_free(h);
	gc_heirs_free(NULL);
}

/* The same again, with versions that differ here and there. */
#define differences(f) \
	{ #f "_of_differences", f, setup_differences, teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_dry_run_changes_nothing),
		cmocka_unit_test(test_near_a_fresh_pool),
		cmocka_unit_test(test_backups_at_every_point),
		cmocka_unit_test(test_restores_at_every_point),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_reader_holds),
		cmocka_unit_test(test_reader_in_between),
		cmocka_unit_test(test_backup_revives),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_damage_stops_it),
		cmocka_unit_test(test_dead_differences_stay_whole),
		cmocka_unit_test(test_heirs),
		differences(test_near_a_fresh_pool),
		differences(test_backups_at_every_point),
		differences(test_restores_at_every_point),
		differences(test_reader_in_between),
		differences(test_backup_revives),
		differences(test_dead_bases_match),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
