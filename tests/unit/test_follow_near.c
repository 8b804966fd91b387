/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor alone: which chunks and pieces of the predecessor lie near what is
 * new, and what it takes of memory.
 */
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "follow/follow_internal.h"
#include "followworld.h"
#include "store/store.h"

#define OK(expr) assert_int_equal(expr, 0)

#define MAX_CHUNKS 12000

/* The chunks of an object with their places, and a cursor of one's own. */
struct bench {
	struct followworld w;
	struct object *o;
	struct fp fps[MAX_CHUNKS];
	struct hash_item items[MAX_CHUNKS];
	struct dir_hit at[MAX_CHUNKS];
	u64 offs[MAX_CHUNKS + 1];
	u32 nr;
	struct follow *f;
	struct dir_hit hits[MAX_CHUNKS];
};

static void list_chunks(struct bench *b)
{
	const struct recipe_entry *e;
	struct recipe_reader *r;
	const struct hint *hint;
	u32 nr, i;

	b->nr = 0;
	OK(recipe_reader_open(&b->w.p->depot, &b->w.p->dec, &b->o->ct,
			      &b->o->hint, &r, NULL));
	while (recipe_reader_next(r, &e, &nr, &hint, NULL) == 1) {
		for (i = 0; i < nr; i++) {
			assert_int_equal(e[i].type, RECIPE_CHUNK);
			assert_true(b->nr < MAX_CHUNKS);
			b->fps[b->nr] = e[i].fp;
			b->items[b->nr].data = NULL;
			b->items[b->nr].len = e[i].len;
			b->offs[b->nr + 1] = b->offs[b->nr] + e[i].len;
			b->nr++;
		}
	}
	recipe_reader_close(r);
	OK(depot_locate(&b->w.p->depot, NULL, b->fps, b->nr, b->at, NULL));
}

static struct bench *bench_new(size_t n)
{
	struct bytes v = bytes_random(30, n);
	struct bench *b = calloc(1, sizeof(*b));

	fw_init(&b->w);
	b->o = fw_put(&b->w, WHOLE, v.b, v.n, NULL);
	free(v.b);
	fw_open(&b->w, WHOLE);
	list_chunks(b);
	b->f = follow_new(&b->w.p->depot);
	assert_non_null(b->f);
	return b;
}

static void bench_free(struct bench *b)
{
	follow_free(b->f);
	fw_close(&b->w);
	fw_release(&b->w);
	free(b);
}

/* A batch in the making: chunks of the object, and new ones of @len. */
struct part {
	struct fp fps[256];
	struct hash_item items[256];
	struct dir_hit hits[256];
	u32 nr;
	u64 off;
};

static void add_old(struct bench *b, struct part *t, u32 from, u32 to)
{
	for (; from < to; from++) {
		t->fps[t->nr] = b->fps[from];
		t->items[t->nr] = b->items[from];
		t->hits[t->nr++] = b->at[from];
	}
}

static void add_new(struct part *t, u64 len)
{
	struct rng r = { 1000 + t->nr };

	rng_fill(&r, &t->fps[t->nr], sizeof(t->fps[0]));
	t->items[t->nr].data = NULL;
	t->items[t->nr].len = len;
	t->hits[t->nr++].container = 0;
}

static void run(struct bench *b, struct part *t)
{
	u32 i;

	follow_batch(b->f, t->off, t->items, t->fps, t->hits, t->nr, true);
	for (i = 0; i < t->nr; i++)
		t->off += t->items[i].len;
}

/* Is this chunk @i of the object? */
static bool is_chunk(const struct bench *b, u64 container, u32 entry, u32 i)
{
	return container == b->at[i].container && entry == b->at[i].entry;
}

/* Chunk @k of the batch lies near chunks [lo, hi) of the object, each named
 * once, and @best first. */
static void expect_near(struct bench *b, u32 k, u32 lo, u32 hi, u32 best)
{
	struct group_ref out[32];
	u32 nr = follow_near(b->f, k, out, 32), i, j, m, n = 0;
	bool seen[8] = { false };

	assert_true(nr > 0 && hi - lo <= 8);
	assert_true(is_chunk(b, out[0].container, out[0].entry, best));
	for (i = 0; i < nr; i++) {
		for (j = 0; j < out[i].nr; j++, n++) {
			for (m = lo; m < hi; m++) {
				if (is_chunk(b, out[i].container,
					     out[i].entry + j, m))
					break;
			}
			assert_true(m < hi && !seen[m - lo]);
			seen[m - lo] = true;
		}
	}
	assert_int_equal(n, hi - lo);
}

static void test_near(void **state)
{
	struct bench *b = bench_new(1 << 20);
	struct part t = { .nr = 0 };

	follow_begin(b->f, fw_known(b->o));
	/* One is replaced by one of the same length: it and its neighbours. */
	add_old(b, &t, 0, 10);
	add_new(&t, b->items[10].len);
	add_old(b, &t, 11, 20);
	/* One is inserted: those beside it. */
	add_new(&t, 500);
	add_old(b, &t, 20, 30);
	/* [30, 40) are gone, and one is new: both ends of the gap. */
	add_new(&t, 1);
	add_old(b, &t, 40, 50);
	run(b, &t);
	expect_near(b, 10, 9, 12, 10);
	expect_near(b, 20, 19, 21, 20);
	assert_true(follow_near(b->f, 5, NULL, 0) == 0);
	/* One for one to the end of a batch: by the drift. */
	t.nr = 0;
	add_old(b, &t, 50, 60);
	add_new(&t, b->items[60].len);
	add_new(&t, b->items[61].len);
	run(b, &t);
	expect_near(b, 10, 59, 62, 60);
	expect_near(b, 11, 60, 63, 61);
	/* And on, the next batch beginning with new ones. */
	t.nr = 0;
	add_new(&t, b->items[62].len);
	add_old(b, &t, 63, 70);
	run(b, &t);
	expect_near(b, 0, 61, 64, 62);
	bench_free(b);
}

/* The gap is much longer than the run: what is near its ends. */
static void test_near_gap(void **state)
{
	struct bench *b = bench_new(1 << 20);
	struct part t = { .nr = 0 };
	struct group_ref out[32];
	u32 nr, i, n = 0;

	follow_begin(b->f, fw_known(b->o));
	add_old(b, &t, 0, 30);
	add_new(&t, b->items[30].len);
	add_new(&t, b->items[30].len);
	add_old(b, &t, 100, 120);
	run(b, &t);
	nr = follow_near(b->f, 30, out, 32);
	assert_true(nr >= 2);
	/* The nearer end's, then the other's, as far from it as two are long. */
	assert_int_equal(out[0].entry, b->at[30].entry);
	assert_in_range(out[1].entry, b->at[90].entry, b->at[99].entry);
	for (i = 0; i < nr; i++)
		n += out[i].nr;
	assert_in_range(n, 5, 12);
	nr = follow_near(b->f, 31, out, 32);
	assert_in_range(out[0].entry, b->at[95].entry, b->at[99].entry);
	bench_free(b);
}

/* The first chunk is new; and the last. */
static void test_near_ends(void **state)
{
	struct bench *b = bench_new(1 << 20);
	struct part t = { .nr = 0 };

	follow_begin(b->f, fw_known(b->o));
	add_new(&t, b->items[0].len);
	add_old(b, &t, 1, 5);
	run(b, &t);
	expect_near(b, 0, 0, 2, 0);
	follow_begin(b->f, fw_known(b->o));
	t.nr = 0;
	t.off = b->offs[b->nr - 5];
	add_old(b, &t, b->nr - 5, b->nr - 1);
	add_new(&t, b->items[b->nr - 1].len);
	run(b, &t);
	expect_near(b, 4, b->nr - 2, b->nr, b->nr - 1);
	/* Beyond the end: the last one. */
	t.nr = 0;
	add_new(&t, 1000);
	run(b, &t);
	expect_near(b, 0, b->nr - 2, b->nr, b->nr - 1);
	bench_free(b);
}

/* Leaves of the same range; none where there is no predecessor. */
static void test_near_pieces(void **state)
{
	struct bench *b = bench_new(1 << 20);
	struct part t = { .nr = 0 };
	struct group_ref out[8];
	struct old_leaf *l;
	struct dir_hit at;
	u32 nr;

	follow_begin(b->f, NULL);
	assert_int_equal(follow_near_piece(b->f, 0, 5000, out, 8), 0);
	follow_begin(b->f, fw_known(b->o));
	add_old(b, &t, 0, 100);
	add_new(&t, b->items[100].len);
	add_old(b, &t, 101, 150);
	run(b, &t);
	assert_true(b->f->win.nr_leaves > 2);
	l = &b->f->win.leaves[1];
	dircache_lookup(b->w.p->depot.dirs, &l->fp, 1, &at);
	nr = follow_near_piece(b->f, l->off, l->end - l->off, out, 8);
	assert_int_equal(nr, 1);
	assert_int_equal(out[0].nr, 1);
	assert_true(out[0].container == at.container);
	assert_int_equal(out[0].entry, at.entry);
	/* Half of it and half of the next. */
	nr = follow_near_piece(b->f, l->off + 1000, l->end - l->off, out, 8);
	assert_int_equal(out[0].nr + (nr > 1 ? out[1].nr : 0), 2);
	/* For a node: the root, and what is above the leaf if that is not. */
	nr = follow_near_piece(b->f, 0, 0, out, 8);
	assert_int_equal(nr, b->o->ct.level);
	bench_free(b);
}

/* Every allocation fails once: nothing leaks, nothing is wrong. */
static void test_no_memory(void **state)
{
	struct bench *b = bench_new(1 << 20);
	struct part t;
	struct group_ref out[32];
	u32 fail, i;
	u64 before;

	for (fail = 1; fail < 200; fail++) {
		memset(&t, 0, sizeof(t));
		follow_free(b->f);
		before = mem_nr_allocs();
		mem_fail_after(fail);
		b->f = follow_new(&b->w.p->depot);
		follow_begin(b->f, fw_known(b->o));
		add_old(b, &t, 0, 50);
		add_new(&t, b->items[50].len);
		t.hits[20].container = 0;
		add_old(b, &t, 51, 100);
		run(b, &t);
		/* Led by hits. */
		follow_begin(b->f, NULL);
		run(b, &t);
		for (i = 0; i < t.nr; i++)
			assert_in_range(follow_near(b->f, i, out, 32), 0, 32);
		mem_fail_after(0);
		if (mem_nr_allocs() - before < fail)
			break;
	}
	assert_in_range(fail, 20, 199);
	bench_free(b);
}

/* A long way, with memory for a part of it. */
static void test_bounded(void **state)
{
	struct bench *b = bench_new(10 << 20);
	struct window *w = &b->f->win;
	struct part t;
	size_t most = 0, now;
	u32 i, k;

	assert_true(b->nr > 2 * WINDOW_CHUNKS);
	follow_begin(b->f, fw_known(b->o));
	memset(&t, 0, sizeof(t));
	for (i = 0; i + 200 < b->nr; i += 200) {
		t.nr = 0;
		add_old(b, &t, i, i + 100);
		add_new(&t, b->items[i + 100].len);
		add_old(b, &t, i + 101, i + 200);
		run(b, &t);
		now = w->cap * sizeof(*w->chunks) +
		      w->cap_leaves * sizeof(*w->leaves) +
		      (w->mask + 1) * sizeof(*w->table);
		for (k = 0; k < w->nr_leaves; k++)
			now += w->leaves[k].hint.nr * sizeof(u64);
		most = now > most ? now : most;
		expect_near(b, 100, i + 99, i + 102, i + 100);
	}
	assert_true(most < 300 * KiB);
	assert_true(w->nr <= WINDOW_CHUNKS);
	/* Each leaf once. */
	assert_true(b->f->stats.leaves < b->nr / 16);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_near_gap),
		cmocka_unit_test(test_near_ends),
		cmocka_unit_test(test_near_pieces),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
