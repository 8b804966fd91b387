/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following a predecessor: how much of what is there is found without an index
 * or with a sample of it; which chunks lie near; and that nothing that is
 * wrong with a predecessor ever fails a backup.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "testlib.h"

#include "base/mem.h"
#include "follow/follow_internal.h"
#include "ingest/session_internal.h"
#include "ingest/stream_internal.h"
#include "simpool.h"
#include "store/store.h"

#define OK(expr) assert_int_equal(expr, 0)
#define MAX_OBJECTS 16
#define MAX_CONTAINERS 2000

struct object {
	struct content ct;
	struct hint hint;
};

/* A pool, opened anew by every backup so that nothing is in memory. */
struct world {
	struct simpool sp;
	struct object objects[MAX_OBJECTS];
	u32 nr;
	/* Of the last backup. */
	struct ingest_counts counts;
	struct follow_stats stats;
	/* While a pool is open. */
	struct akin_pool *p;
	struct index *index;	/* in place of the pool's */
	struct session *s;
};

/* How much of the index a backup may use: one entry in @every of data, all of
 * metadata; 0: nothing. */
#define WHOLE 1
#define NOTHING 0

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	OK(simpool_init(&w->sp, NULL));
}

static void world_release(struct world *w)
{
	u32 i;

	for (i = 0; i < w->nr; i++)
		mem_free(w->objects[i].hint.containers);
	simpool_free(&w->sp);
}

static void add_sample(struct world *w, const struct directory *d, u32 every)
{
	struct place at;
	u32 i;

	for (i = 0; i < d->nr_entries; i++) {
		if (d->kind == CONTAINER_DATA && i % every)
			continue;
		at.container = d->container;
		at.entry = d->entries[i].entry;
		OK(index_add(w->index, &d->entries[i].fp, &at, NULL));
	}
}

static void open_pool(struct world *w, u32 every)
{
	struct container_reader *r;
	u64 number;

	OK(simpool_open(&w->sp, false, &w->p, NULL));
	if (every == WHOLE)
		return;
	OK(store_index_open(w->p, true, &w->index, NULL));
	w->p->depot.index = w->index;
	for (number = 1; every && number < MAX_CONTAINERS; number++) {
		if (container_open(w->p->data, &w->p->super.pool, number, 0,
				   &r, NULL))
			continue;
		add_sample(w, container_directory(r), every);
		container_close(r);
	}
}

static void close_pool(struct world *w)
{
	w->p->depot.index = w->p->index;
	index_close(w->index);
	w->index = NULL;
	akin_pool_close(w->p);
	w->p = NULL;
}

static void begin(struct world *w)
{
	struct session_options opt = { .lock = store_lock_session,
				       .delta_depth = 2 };

	opt.lock_ctx = w->p;
	OK(session_begin(&w->p->depot, w->p->catalog, &opt, &w->s, NULL));
	w->p->reserve_session = session_number(w->s);
}

static void end(struct world *w, bool keep)
{
	OK(session_end(w->s, keep, NULL));
	store_unlock_session(w->p, session_number(w->s));
	session_free(w->s);
	w->s = NULL;
}

static int on_object(void *ctx, void *token, const struct content *ct,
		     const struct hint *hint, struct akin_diag *diag)
{
	struct world *w = ctx;

	assert_true(w->nr < MAX_OBJECTS);
	w->objects[w->nr].ct = *ct;
	OK(store_copy_hint(hint, &w->objects[w->nr++].hint, diag));
	return 0;
}

static struct predecessor *known(const struct object *o)
{
	return o ? predecessor_new(&o->ct, &o->hint) : NULL;
}

/* A stream in a session of its own. */
static struct ingest_stream *open_stream(struct world *w, u32 every)
{
	struct ingest_options opt = { .object_done = on_object, .ctx = w };
	struct ingest_stream *st;

	open_pool(w, every);
	begin(w);
	OK(ingest_stream_open(w->s, &opt, &st, NULL));
	return st;
}

static void close_stream(struct world *w, struct ingest_stream *st)
{
	OK(ingest_stream_close(st, NULL));
	end(w, true);
	close_pool(w);
}

/* One object in a session of its own, in a process of its own. Returns it. */
static struct object *put(struct world *w, u32 every, const u8 *data, size_t n,
			  const struct object *after)
{
	struct ingest_stream *st;
	struct akin_diag d = { 0 };

	st = open_stream(w, every);
	OK(ingest_object_begin_after(st, known(after), &d));
	OK(ingest_write(st, data, n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	ingest_get_counts(st, &w->counts);
	ingest_get_follow_stats(st, &w->stats);
	close_stream(w, st);
	return &w->objects[w->nr - 1];
}

/* Versions ------------------------------------------------------------------*/

struct bytes {
	u8 *b;
	size_t n;
};

static struct bytes random_bytes_of(u64 seed, size_t n)
{
	struct bytes out = { malloc(n), n };
	struct rng r = { seed };

	rng_fill(&r, out.b, n);
	return out;
}

static struct bytes copy_of(const struct bytes *from)
{
	struct bytes out = { malloc(from->n), from->n };

	memcpy(out.b, from->b, from->n);
	return out;
}

/* Replace @cut bytes at @at by @n of seed @seed. */
static void splice(struct bytes *v, size_t at, size_t cut, size_t n, u64 seed)
{
	struct bytes new_ = random_bytes_of(seed, n + 1);
	u8 *b = malloc(v->n - cut + n + 1);

	assert_true(at + cut <= v->n);
	memcpy(b, v->b, at);
	memcpy(b + at, new_.b, n);
	memcpy(b + at + n, v->b + at + cut, v->n - at - cut);
	free(v->b);
	free(new_.b);
	v->b = b;
	v->n = v->n - cut + n;
}

/* [at, at + n) goes to @to, counted without it. */
static void move(struct bytes *v, size_t at, size_t n, size_t to)
{
	u8 *part = malloc(n);

	memcpy(part, v->b + at, n);
	memmove(v->b + at, v->b + at + n, v->n - at - n);
	memmove(v->b + to + n, v->b + to, v->n - n - to);
	memcpy(v->b + to, part, n);
	free(part);
}

/*
 * The next version of @v after @after, once with the whole index in a copy of
 * the pool and once with @every: of the duplicates that the whole index finds
 * at most one in @one_in is missed. Returns the object.
 */
static struct object *expect_found_at(int line, struct world *w, u32 every,
				      const struct bytes *v,
				      const struct object *after, u32 one_in)
{
	struct world exact;
	struct object *o;
	u64 dups, lost;

	memset(&exact, 0, sizeof(exact));
	exact.sp = simpool_clone(&w->sp);
	put(&exact, WHOLE, v->b, v->n, NULL);
	o = put(w, every, v->b, v->n, after);
	assert_true(w->counts.chunks == exact.counts.chunks);
	dups = exact.counts.chunks - exact.counts.chunks_new;
	assert_true(w->counts.chunks_new >= exact.counts.chunks_new);
	lost = w->counts.chunks_new - exact.counts.chunks_new;
	if (lost > dups / one_in)
		fail_msg("line %d: %llu of %llu duplicates were missed", line,
			 (unsigned long long)lost, (unsigned long long)dups);
	world_release(&exact);
	return o;
}
#define expect_found(...) expect_found_at(__LINE__, __VA_ARGS__)

/* Every kind of change, without any index. */
static void test_changes_blind(void **state)
{
	struct bytes v = random_bytes_of(1, 6 << 20);
	struct object *o;
	struct world w;
	u32 i;

	world_init(&w);
	o = put(&w, WHOLE, v.b, v.n, NULL);
	/* nothing */
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* a byte in front */
	splice(&v, 0, 0, 1, 2);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* insertions, short and long */
	splice(&v, 1 << 20, 0, 100, 3);
	splice(&v, 3 << 20, 0, 1500000, 4);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* deletions */
	splice(&v, 500000, 300, 0, 0);
	splice(&v, 2500000, 1000000, 0, 0);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* overwriting, here and there */
	for (i = 0; i < 40; i++)
		splice(&v, 100000 * i + 77, 500, 500, 10 + i);
	splice(&v, 4 << 20, 800000, 800000, 99);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* the end is gone; the end is new */
	splice(&v, v.n - 700000, 700000, 0, 0);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	splice(&v, v.n, 0, 700000, 100);
	expect_found(&w, NOTHING, &v, o, 1000000);
	world_release(&w);
	free(v.b);
}

/* What is moved is found again where the window reaches: a part of it. */
static void test_moved_blind(void **state)
{
	struct bytes v = random_bytes_of(5, 4 << 20);
	struct object *o;
	struct world w;

	world_init(&w);
	o = put(&w, WHOLE, v.b, v.n, NULL);
	move(&v, 1 << 20, 300000, 2 << 20);
	expect_found(&w, NOTHING, &v, o, 50);
	world_release(&w);
	free(v.b);
}

/*
 * A series whose names never repeat, with one fingerprint in 16 in memory:
 * led by hits.
 */
static void test_series_by_hits(void **state)
{
	struct bytes v = random_bytes_of(6, 6 << 20);
	struct rng r = { 7 };
	struct world w;
	u32 i, k;

	world_init(&w);
	put(&w, WHOLE, v.b, v.n, NULL);
	for (i = 0; i < 6; i++) {
		for (k = 0; k < 30; k++)
			splice(&v, rng_below(&r, v.n - 4000),
			       rng_below(&r, 3000), rng_below(&r, 3000),
			       rng_next(&r));
		expect_found(&w, 16, &v, NULL, 100);
		/* Most come with the directories that were read for some. */
		assert_true(w.stats.found > 0);
		assert_int_equal(w.stats.leads_failed, 0);
		assert_in_range(w.stats.leads, 1, 3);
	}
	world_release(&w);
	free(v.b);
}

/* An image in the middle of something else, and two of them. */
static void test_inside_another(void **state)
{
	struct bytes image = random_bytes_of(8, 3 << 20);
	struct bytes all = random_bytes_of(9, 9 << 20);
	struct world w;

	world_init(&w);
	put(&w, WHOLE, image.b, image.n, NULL);
	memcpy(all.b + 1234567, image.b, image.n);
	memcpy(all.b + 5234567, image.b, image.n);
	expect_found(&w, 16, &all, NULL, 50);
	assert_true(w.stats.leads - w.stats.leads_failed >= 1);
	world_release(&w);
	free(image.b);
	free(all.b);
}

/* By name: many objects, small and large, each after its own. */
static void test_many_objects(void **state)
{
	struct bytes v[5];
	struct akin_diag d = { 0 };
	struct ingest_stream *st;
	struct world w;
	u32 i, round;

	world_init(&w);
	for (i = 0; i < 5; i++)
		v[i] = random_bytes_of(20 + i, 3000 + i * i * 60000);
	for (round = 0; round < 2; round++) {
		st = open_stream(&w, round ? NOTHING : WHOLE);
		for (i = 0; i < 5; i++) {
			OK(ingest_object_begin_after(st, round ?
					known(&w.objects[i]) : NULL, &d));
			OK(ingest_write(st, v[i].b, v[i].n, &d));
			OK(ingest_object_end(st, NULL, &d));
		}
		OK(ingest_drain(st, &d));
		ingest_get_counts(st, &w.counts);
		close_stream(&w, st);
	}
	assert_int_equal(w.counts.chunks_new, 0);
	world_release(&w);
	for (i = 0; i < 5; i++)
		free(v[i].b);
}

/* The cursor alone -----------------------------------------------------------*/

#define MAX_CHUNKS 12000

/* The chunks of an object with their places, and a cursor of one's own. */
struct bench {
	struct world w;
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
	struct bytes v = random_bytes_of(30, n);
	struct bench *b = calloc(1, sizeof(*b));

	world_init(&b->w);
	b->o = put(&b->w, WHOLE, v.b, v.n, NULL);
	free(v.b);
	open_pool(&b->w, WHOLE);
	list_chunks(b);
	b->f = follow_new(&b->w.p->depot);
	assert_non_null(b->f);
	return b;
}

static void bench_free(struct bench *b)
{
	follow_free(b->f);
	close_pool(&b->w);
	world_release(&b->w);
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

	follow_begin(b->f, known(b->o));
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

	follow_begin(b->f, known(b->o));
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

	follow_begin(b->f, known(b->o));
	add_new(&t, b->items[0].len);
	add_old(b, &t, 1, 5);
	run(b, &t);
	expect_near(b, 0, 0, 2, 0);
	follow_begin(b->f, known(b->o));
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
	follow_begin(b->f, known(b->o));
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

/*
 * The third version is led to the second, though most of what it hits was
 * stored by the first.
 */
static void test_newest_leads(void **state)
{
	struct bytes v = random_bytes_of(40, 3 << 20);
	struct ingest_stream *st;
	struct object *second;
	struct akin_diag d = { 0 };
	struct world w;
	u32 i;

	world_init(&w);
	put(&w, WHOLE, v.b, v.n, NULL);
	for (i = 0; i < 30; i++)
		splice(&v, 100000 * i, 3000, 3000, 50 + i);
	second = put(&w, WHOLE, v.b, v.n, NULL);
	assert_int_equal(w.stats.leads_failed, 0);
	assert_true(w.stats.leads >= 1);
	for (i = 0; i < 15; i++)
		splice(&v, 200000 * i + 50000, 3000, 3000, 150 + i);
	st = open_stream(&w, WHOLE);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_drain(st, &d));
	assert_non_null(st->follow->pred);
	assert_true(fp_equal(&st->follow->pred->ct.root,
			     &second->ct.root));
	OK(ingest_object_end(st, NULL, &d));
	close_stream(&w, st);
	world_release(&w);
	free(v.b);
}

/*
 * Two versions in one session, whose recipes cannot be read yet: the sealed
 * container of the first is followed.
 */
static void test_same_session(void **state)
{
	struct bytes v = random_bytes_of(80, 3 << 20);
	struct ingest_stream *st;
	struct group_ref out[32];
	struct akin_diag d = { 0 };
	struct world w;

	world_init(&w);
	st = open_stream(&w, WHOLE);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	assert_null(st->follow->pred);
	splice(&v, 300000, 5000, 6000, 81);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, 500000, &d));
	OK(ingest_drain(st, &d));
	assert_non_null(st->follow->pred);
	assert_true(st->follow->pred->container > 0);
	assert_true(st->follow->nr > 0);
	assert_true(follow_near(st->follow, st->follow->nr - 1, out, 32) > 0);
	OK(ingest_object_end(st, NULL, &d));
	close_stream(&w, st);
	world_release(&w);
	free(v.b);
}

static void wait_sealed(struct session *s)
{
	u32 open = 1, i;

	for (i = 0; open && i < 3000; i++) {
		pthread_mutex_lock(&s->lock);
		open = s->nr_open;
		pthread_mutex_unlock(&s->lock);
		usleep(10000);
	}
	assert_int_equal(open, 0);
}

/* A large object leaves nothing open: its recipe leads the next one. */
static void test_large_in_session(void **state)
{
	struct bytes v = random_bytes_of(82, 5 << 20);
	struct ingest_stream *st;
	struct akin_diag d = { 0 };
	struct world w;

	world_init(&w);
	st = open_stream(&w, WHOLE);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	wait_sealed(w.s);
	splice(&v, 300000, 5000, 6000, 83);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, 600000, &d));
	OK(ingest_drain(st, &d));
	assert_non_null(st->follow->pred);
	assert_int_equal(st->follow->pred->container, 0);
	assert_true(fp_equal(&st->follow->pred->ct.root,
			     &w.objects[0].ct.root));
	OK(ingest_object_end(st, NULL, &d));
	close_stream(&w, st);
	world_release(&w);
	free(v.b);
}

/* The whole recipe can be read. */
static void expect_bytes(struct world *w, const struct object *o, u64 n)
{
	const struct recipe_entry *e;
	const struct hint *hint;
	struct recipe_reader *r;
	u64 bytes = 0;
	u32 nr, i;
	int more;

	OK(recipe_reader_open(&w->p->depot, &w->p->dec, &o->ct, &o->hint, &r,
			      NULL));
	while ((more = recipe_reader_next(r, &e, &nr, &hint, NULL)) == 1) {
		for (i = 0; i < nr; i++)
			bytes += recipe_entry_bytes(&e[i]);
	}
	recipe_reader_close(r);
	assert_int_equal(more, 0);
	assert_true(bytes == n);
}

/* Pieces that this session has stored again, and that are still open, are read
 * where they were before. */
static void test_stored_again(void **state)
{
	struct bytes v = random_bytes_of(84, 1 << 20);
	struct ingest_stream *st;
	struct akin_diag d = { 0 };
	struct object *o;
	struct world w;

	world_init(&w);
	o = put(&w, WHOLE, v.b, v.n, NULL);
	st = open_stream(&w, NOTHING);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	expect_bytes(&w, o, v.n);
	close_stream(&w, st);
	world_release(&w);
	free(v.b);
}

/* What is wrong with a predecessor ------------------------------------------*/

static void read_back(struct world *w, const struct object *o,
		      const struct bytes *v)
{
	open_pool(w, WHOLE);
	expect_bytes(w, o, v->n);
	close_pool(w);
}

static void test_wrong_predecessors(void **state)
{
	struct bytes v = random_bytes_of(60, 2 << 20);
	struct object bad, *o;
	struct world w;
	u64 nowhere[2] = { 7, UINT64_MAX };

	world_init(&w);
	o = put(&w, WHOLE, v.b, v.n, NULL);
	splice(&v, 1000000, 5000, 7000, 61);
	/* A root that is nowhere. */
	bad = *o;
	bad.ct.root.b[0] ^= 1;
	o = put(&w, WHOLE, v.b, v.n, &bad);
	read_back(&w, o, &v);
	/* Lies about level and size. */
	splice(&v, 1000000, 5000, 7000, 62);
	bad = *o;
	bad.ct.level++;
	put(&w, WHOLE, v.b, v.n, &bad);
	bad = *o;
	bad.ct.bytes = UINT64_MAX;
	o = put(&w, WHOLE, v.b, v.n, &bad);
	/* A hint of what is not there. */
	splice(&v, 1000000, 5000, 7000, 63);
	bad = *o;
	bad.hint.containers = nowhere;
	bad.hint.nr = 2;
	o = put(&w, WHOLE, v.b, v.n, &bad);
	/* Entries that are nowhere. */
	splice(&v, 1000000, 5000, 7000, 64);
	memset(&bad, 0, sizeof(bad));
	bad.ct.kind = CONTENT_ENTRIES;
	bad.ct.nr = 2;
	bad.ct.entries[0].type = RECIPE_HOLE;
	bad.ct.entries[0].len = 1ull << 62;
	bad.ct.entries[0].count = 1;
	bad.ct.entries[1].type = RECIPE_REPEAT;
	bad.ct.entries[1].len = 1000;
	bad.ct.entries[1].count = 1ull << 50;
	bad.ct.bytes = (1ull << 62) + 1000 * (1ull << 50);
	o = put(&w, WHOLE, v.b, v.n, &bad);
	read_back(&w, o, &v);
	/* And nothing in it at all. */
	memset(&bad, 0, sizeof(bad));
	bad.ct.kind = CONTENT_ENTRIES;
	put(&w, WHOLE, v.b, v.n, &bad);
	world_release(&w);
	free(v.b);
}

/* Bytes of every container of metadata flipped, here and there. */
static void damage(struct world *w, u64 seed)
{
	struct disk *disk = simdisk_attach(w->sp.data, true);
	struct rng r = { seed };
	char name[FORMAT_NAME_MAX];
	struct file *file;
	u64 number, size, off;
	u8 byte;
	u32 i;

	for (number = 1; number < 130; number++) {
		format_container_name(number, 0, name);
		if (disk_open(disk, name, DISK_WRITE, &file, NULL))
			continue;
		OK(file_size(file, &size, NULL));
		for (i = 0; i < 3; i++) {
			off = rng_below(&r, size);
			OK(file_pread(file, &byte, 1, off, NULL));
			byte ^= 1u << rng_below(&r, 8);
			OK(file_pwrite(file, &byte, 1, off, NULL));
		}
		OK(file_sync(file, NULL));
		OK(file_close(file, NULL));
	}
	disk_free(disk);
}

static void test_damaged(void **state)
{
	struct bytes v = random_bytes_of(70, 2 << 20), next;
	struct object *o;
	struct world w, hurt;
	u32 i;

	world_init(&w);
	o = put(&w, WHOLE, v.b, v.n, NULL);
	next = copy_of(&v);
	splice(&next, 500000, 5000, 7000, 71);
	for (i = 0; i < 30; i++) {
		memset(&hurt, 0, sizeof(hurt));
		hurt.sp = simpool_clone(&w.sp);
		damage(&hurt, i);
		put(&hurt, i % 2 ? 64 : WHOLE, next.b, next.n,
		    i % 3 ? o : NULL);
		world_release(&hurt);
	}
	world_release(&w);
	free(v.b);
	free(next.b);
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
		follow_begin(b->f, known(b->o));
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
	follow_begin(b->f, known(b->o));
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
		cmocka_unit_test(test_changes_blind),
		cmocka_unit_test(test_moved_blind),
		cmocka_unit_test(test_series_by_hits),
		cmocka_unit_test(test_inside_another),
		cmocka_unit_test(test_many_objects),
		cmocka_unit_test(test_newest_leads),
		cmocka_unit_test(test_stored_again),
		cmocka_unit_test(test_same_session),
		cmocka_unit_test(test_large_in_session),
		cmocka_unit_test(test_wrong_predecessors),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
