/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and sessions: what comes out depends on what was fed and on nothing
 * else; tokens come back in order or are dropped, each once; what a session
 * gave up is never matched again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "ingest/stream.h"
#include "restore/fetcher.h"
#include "simpool.h"
#include "store/store.h"
#include "tree/tree_builder.h"
#include "tree/tree_reader.h"

#define MAX_OBJECTS 4096

struct object {
	struct content ct;
	u8 data[RECIPE_INLINE_MAX];
	struct hint hint;
};

/* A pool, and one session on it. */
struct world {
	struct simpool sp;
	struct akin_pool *p;
	struct session *s;
	struct ingest_stream *st;
	struct object *objects;
	u32 nr;			/* objects that have come back */
	u32 nr_marks, nr_dropped;
	long next_token;	/* what must come back next */
	int fail_at;		/* callback number that fails, 0: none */
	int nr_calls;
};

static void keep_content(struct object *o, const struct content *ct)
{
	o->ct = *ct;
	if (ct->kind == CONTENT_ENTRIES && ct->nr == 1 &&
	    ct->entries[0].type == RECIPE_INLINE) {
		memcpy(o->data, ct->entries[0].data, ct->entries[0].len);
		o->ct.entries[0].data = o->data;
	}
}

static int called(struct world *w, struct akin_diag *diag)
{
	w->nr_calls++;
	return w->fail_at && w->nr_calls >= w->fail_at ?
		       diag_set(diag, -AKIN_E_interrupted, "test") : 0;
}

static int on_object(void *ctx, void *token, const struct content *ct,
		     const struct hint *hint, struct akin_diag *diag)
{
	struct world *w = ctx;

	assert_int_equal((long)token, w->next_token++);
	assert_true(w->nr < MAX_OBJECTS);
	keep_content(&w->objects[w->nr], ct);
	assert_int_equal(store_copy_hint(hint, &w->objects[w->nr].hint, diag),
			 0);
	w->nr++;
	return called(w, diag);
}

static int on_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	struct world *w = ctx;

	assert_int_equal(what, 7);
	assert_int_equal((long)token, w->next_token++);
	w->nr_marks++;
	return called(w, diag);
}

static void on_drop(void *ctx, int what, void *token)
{
	struct world *w = ctx;

	/* In no order, but only what was not delivered and never will be. */
	assert_true((long)token >= w->next_token);
	__atomic_fetch_add(&w->nr_dropped, 1, __ATOMIC_RELAXED);
}

static void begin(struct world *w)
{
	struct session_options opt = { .lock = store_lock_session };
	struct akin_diag d = { 0 };

	opt.lock_ctx = w->p;
	assert_int_equal(session_begin(&w->p->depot, w->p->catalog, &opt,
				       &w->s, &d), 0);
	w->p->reserve_session = session_number(w->s);
}

static void open_stream(struct world *w, size_t batch, bool threaded,
			bool dry_run)
{
	struct ingest_options opt = { .batch_bytes = batch,
				      .threaded = threaded,
				      .dry_run = dry_run,
				      .object_done = on_object,
				      .mark = on_mark, .drop = on_drop,
				      .ctx = w };
	struct akin_diag d = { 0 };
	u32 i;

	for (i = 0; i < w->nr; i++)
		mem_free(w->objects[i].hint.containers);
	memset(w->objects, 0, w->nr * sizeof(*w->objects));
	w->nr = w->nr_marks = w->nr_dropped = 0;
	w->next_token = 1;
	w->nr_calls = 0;
	assert_int_equal(ingest_stream_open(w->s, &opt, &w->st, &d), 0);
}

static void close_stream(struct world *w)
{
	struct akin_diag d = { 0 };

	if (ingest_stream_close(w->st, &d))
		fail_msg("%s", d.text);
}

static void world_init(struct world *w)
{
	struct akin_diag d = { 0 };

	memset(w, 0, sizeof(*w));
	w->objects = calloc(MAX_OBJECTS, sizeof(*w->objects));
	assert_int_equal(simpool_init(&w->sp, &d), 0);
	assert_int_equal(simpool_open(&w->sp, false, &w->p, &d), 0);
	begin(w);
}

static void world_release(struct world *w)
{
	u32 i;

	for (i = 0; i < w->nr; i++)
		mem_free(w->objects[i].hint.containers);
	if (w->s)
		store_unlock_session(w->p, session_number(w->s));
	session_free(w->s);
	akin_pool_close(w->p);
	simpool_free(&w->sp);
	free(w->objects);
}

/* A whole object in pieces of @step bytes. */
static void feed(struct world *w, const u8 *data, size_t n, size_t step,
		 long token)
{
	struct akin_diag d = { 0 };
	size_t take;

	assert_int_equal(ingest_object_begin(w->st, &d), 0);
	while (n) {
		take = n < step ? n : step;
		assert_int_equal(ingest_write(w->st, data, take, &d), 0);
		data += take;
		n -= take;
	}
	assert_int_equal(ingest_object_end(w->st, (void *)token, &d), 0);
}

static void assert_same(const struct object *a, const struct object *b)
{
	u32 i;

	assert_int_equal(a->ct.kind, b->ct.kind);
	assert_true(a->ct.bytes == b->ct.bytes);
	assert_int_equal(a->ct.level, b->ct.level);
	assert_true(fp_equal(&a->ct.root, &b->ct.root));
	assert_int_equal(a->ct.nr, b->ct.nr);
	for (i = 0; a->ct.kind == CONTENT_ENTRIES && i < a->ct.nr; i++) {
		assert_int_equal(a->ct.entries[i].type, b->ct.entries[i].type);
		assert_true(a->ct.entries[i].len == b->ct.entries[i].len);
		assert_true(fp_equal(&a->ct.entries[i].fp,
				     &b->ct.entries[i].fp));
	}
	assert_memory_equal(a->data, b->data, sizeof(a->data));
}

#define NR_SIZES 12
static const u32 sizes[NR_SIZES] = { 0, 1, 255, 256, 257, 258, 1000, 8191,
				     8192, 8193, 65536, 200000 };

/*
 * Objects of all sizes behind a first one that ends around the end of a
 * batch: the same contents as when each is alone in its stream.
 */
static void test_batch_ends(void **state)
{
	u8 *data = malloc(400000);
	struct object want[NR_SIZES];
	struct rng r = { 5 };
	struct world w;
	long first;
	u32 i;

	rng_fill(&r, data, 400000);
	world_init(&w);
	for (i = 0; i < NR_SIZES; i++) {
		open_stream(&w, 0, false, false);
		feed(&w, data + i, sizes[i], sizes[i], 1);
		close_stream(&w);
		assert_int_equal(w.nr, 1);
		assert_true(w.objects[0].ct.bytes == sizes[i]);
		want[i] = w.objects[0];
		if (want[i].ct.nr)
			want[i].ct.entries[0].data = want[i].data;
	}
	for (first = 65536 - 300; first < 65536 + 20;
	     first += first < 65536 - 260 || first > 65536 - 5 ? 1 : 37) {
		open_stream(&w, 1, first % 2, false);
		feed(&w, data + 100000, (size_t)first, 100000, 1);
		for (i = 0; i < NR_SIZES; i++)
			feed(&w, data + i, sizes[i], 3000, 2 + i);
		close_stream(&w);
		assert_int_equal(w.nr, 1 + NR_SIZES);
		for (i = 0; i < NR_SIZES; i++)
			assert_same(&w.objects[1 + i], &want[i]);
	}
	world_release(&w);
	free(data);
}

/* However many bytes come at a time, and however large batches are. */
static void test_any_room(void **state)
{
	static const size_t steps[] = { 1, 7, 255, 256, 257, 1024, 4095, 65535,
					65536, 65537, 300000 };
	size_t n = 300000, k;
	u8 *data = malloc(n);
	struct ingest_counts c;
	struct object want = { 0 };
	struct world w;

	simpool_fill(3, data, n);
	world_init(&w);
	for (k = 0; k < ARRAY_SIZE(steps); k++) {
		open_stream(&w, k % 3 ? 65536 + 13 * k : 0, k % 2, false);
		feed(&w, data, n, steps[k], 1);
		assert_int_equal(ingest_drain(w.st, NULL), 0);
		ingest_get_counts(w.st, &c);
		close_stream(&w);
		assert_int_equal(w.nr, 1);
		if (k == 0) {
			want = w.objects[0];
			assert_true(c.chunks_new > 100);
		} else {
			/* Equal content again: nothing of it is new. */
			assert_int_equal(c.chunks_new, 0);
			assert_int_equal(c.bytes_new, 0);
		}
		assert_int_equal(c.bytes, n);
		assert_same(&w.objects[0], &want);
	}
	world_release(&w);
	free(data);
}

/* Drains inside an object change nothing either. */
static void test_drain_inside(void **state)
{
	size_t n = 50000, at, step;
	u8 *data = malloc(n);
	struct akin_diag d = { 0 };
	struct object want;
	struct rng r = { 8 };
	struct world w;

	rng_fill(&r, data, n);
	world_init(&w);
	for (step = n; step > 100; step /= 3) {
		open_stream(&w, 0, true, false);
		assert_int_equal(ingest_object_begin(w.st, &d), 0);
		for (at = 0; at < n; at += step) {
			assert_int_equal(ingest_write(w.st, data + at,
						      min_u64(step, n - at),
						      &d), 0);
			assert_int_equal(ingest_drain(w.st, &d), 0);
		}
		assert_int_equal(ingest_object_end(w.st, (void *)1L, &d), 0);
		/* A small one, cut in two by a drain, is still inline. */
		assert_int_equal(ingest_object_begin(w.st, &d), 0);
		assert_int_equal(ingest_write(w.st, data, 200, &d), 0);
		assert_int_equal(ingest_drain(w.st, &d), 0);
		assert_int_equal(ingest_write(w.st, data + 200, 56, &d), 0);
		assert_int_equal(ingest_object_end(w.st, (void *)2L, &d), 0);
		close_stream(&w);
		assert_int_equal(w.nr, 2);
		assert_int_equal(w.objects[1].ct.kind, CONTENT_ENTRIES);
		assert_int_equal(w.objects[1].ct.entries[0].type,
				 RECIPE_INLINE);
		assert_memory_equal(w.objects[1].data, data, 256);
		if (step == n)
			want = w.objects[0];
		assert_same(&w.objects[0], &want);
	}
	world_release(&w);
	free(data);
}

/* What a content holds, byte for byte; holes come as holes. */
struct read_back {
	u8 *to;
	u64 at, hole;
	int err;
};

static int back_data(void *ctx, const u8 *data, u64 len, int err,
		     const struct akin_diag *why, struct akin_diag *diag)
{
	struct read_back *b = ctx;

	if (err) {
		b->err = err;
		return 0;
	}
	memcpy(b->to + b->at, data, len);
	b->at += len;
	return 0;
}

static int back_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	struct read_back *b = ctx;

	memset(b->to + b->at, 0, len);
	b->at += len;
	b->hole += len;
	return 0;
}

static struct read_back read_back(struct world *w, const struct object *o,
				  u8 *to)
{
	struct fetcher_options opt = { .window_bytes = 1 << 20,
				       .data = back_data, .hole = back_hole };
	struct read_back b = { .to = to };
	struct akin_diag d = { 0 };
	struct fetcher *f;

	opt.ctx = &b;
	assert_int_equal(fetcher_new(&w->p->depot, &w->p->dec, &opt, &f, &d),
			 0);
	assert_int_equal(fetcher_content(f, &o->ct, &o->hint, 0, UINT64_MAX,
					 &d), 0);
	assert_int_equal(fetcher_drain(f, &d), 0);
	fetcher_free(f);
	return b;
}

/* Reading needs sealed containers: end the session, keeping them. */
static void seal(struct world *w)
{
	struct akin_diag d = { 0 };

	assert_int_equal(session_end(w->s, true, &d), 0);
	store_unlock_session(w->p, session_number(w->s));
	session_free(w->s);
	w->s = NULL;
}

static void test_holes(void **state)
{
	static const u32 parts[][3] = {
		/* data, hole, data */
		{ 0, 4096, 0 }, { 1, 1, 1 }, { 256, 10, 0 }, { 0, 10, 256 },
		{ 257, 65536, 100 }, { 70000, 1, 70000 }, { 65536, 65536, 1 },
		{ 3000, 500000, 3000 },
	};
	u8 *data = malloc(200000), *want = calloc(1, 800000);
	u8 *got = malloc(800000);
	struct akin_diag d = { 0 };
	struct read_back b;
	struct rng r = { 6 };
	struct world w;
	u32 i;

	rng_fill(&r, data, 200000);
	world_init(&w);
	open_stream(&w, 65536, true, false);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		assert_int_equal(ingest_object_begin(w.st, &d), 0);
		assert_int_equal(ingest_write(w.st, data, parts[i][0], &d), 0);
		/* Two in a row are one; none is none. */
		assert_int_equal(ingest_hole(w.st, parts[i][1] - 1, &d), 0);
		assert_int_equal(ingest_hole(w.st, 0, &d), 0);
		assert_int_equal(ingest_hole(w.st, 1, &d), 0);
		assert_int_equal(ingest_write(w.st, data + 90000, parts[i][2],
					      &d), 0);
		assert_int_equal(ingest_object_end(w.st, (void *)(1L + i),
						   &d), 0);
	}
	close_stream(&w);
	seal(&w);
	assert_int_equal(w.nr, ARRAY_SIZE(parts));
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		memcpy(want, data, parts[i][0]);
		memset(want + parts[i][0], 0, parts[i][1]);
		memcpy(want + parts[i][0] + parts[i][1], data + 90000,
		       parts[i][2]);
		b = read_back(&w, &w.objects[i], got);
		assert_int_equal(b.err, 0);
		assert_int_equal(b.at, parts[i][0] + parts[i][1] +
				       parts[i][2]);
		assert_int_equal(b.hole, parts[i][1]);
		assert_memory_equal(got, want, b.at);
	}
	assert_int_equal(w.objects[0].ct.nr, 1);
	world_release(&w);
	free(data);
	free(want);
	free(got);
}

/* A file system may say anything of a hole. */
static void test_hole_sums(void **state)
{
	struct akin_diag d = { 0 };
	struct world w;

	world_init(&w);
	open_stream(&w, 0, false, false);
	assert_int_equal(ingest_object_begin(w.st, &d), 0);
	assert_int_equal(ingest_hole(w.st, (u64)1 << 63, &d), 0);
	assert_int_equal(ingest_hole(w.st, ((u64)1 << 63) - 1, &d), 0);
	assert_int_equal(ingest_object_end(w.st, (void *)1L, &d), 0);
	assert_int_equal(ingest_drain(w.st, &d), 0);
	assert_true(w.objects[0].ct.bytes == UINT64_MAX);
	assert_int_equal(ingest_object_begin(w.st, &d), 0);
	assert_int_equal(ingest_hole(w.st, (u64)1 << 63, &d), 0);
	assert_int_equal(ingest_hole(w.st, (u64)1 << 63, &d), 0);
	assert_int_equal(ingest_drain(w.st, &d), -AKIN_E_too_large);
	assert_int_equal(ingest_stream_close(w.st, &d), -AKIN_E_too_large);
	world_release(&w);
}

/* Tokens of objects and marks, many to a batch, in the order they were fed. */
static void test_order(void **state)
{
	struct akin_diag d = { 0 };
	struct world w;
	u8 data[300];
	long i;

	memset(data, 1, sizeof(data));
	world_init(&w);
	open_stream(&w, 0, true, false);
	for (i = 1; i <= 7000; i++) {
		if (i % 3) {
			assert_int_equal(ingest_mark(w.st, 7, (void *)i, &d),
					 0);
			continue;
		}
		feed(&w, data, (size_t)i % 300, 300, i);
	}
	close_stream(&w);
	assert_int_equal(w.nr + w.nr_marks, 7000);
	assert_int_equal(w.nr, 2333);
	world_release(&w);
}

/* A callback fails: each token is delivered or dropped once, in order, and the
 * error comes back from everything that follows. */
static void test_failing_callback(void **state)
{
	struct akin_diag d;
	struct world w;
	u8 data[300];
	long i, fed;
	int err, k, threaded;

	memset(data, 1, sizeof(data));
	world_init(&w);
	for (threaded = 0; threaded < 2; threaded++) {
		for (k = 1; k < 6000; k += 1 + k / 2) {
			open_stream(&w, 0, threaded, false);
			w.fail_at = k;
			err = 0;
			memset(&d, 0, sizeof(d));
			for (i = 1; i <= 7000 && !err; i++)
				err = ingest_mark(w.st, 7, (void *)i, &d);
			fed = i - 1;
			assert_true(err == 0 || err == -AKIN_E_interrupted);
			assert_int_equal(ingest_stream_close(w.st, &d),
					 -AKIN_E_interrupted);
			assert_string_equal(d.text, "test");
			assert_int_equal(w.nr_marks + w.nr_dropped, fed);
			assert_int_equal(w.nr_marks, k);
			w.fail_at = 0;
		}
	}
	world_release(&w);
}

/* Disk errors while streams go on: nothing hangs, the session says why. */
static void test_failing_disk(void **state)
{
	struct sim_fault fault = { .kinds = SIM_WRITE, .code = -AKIN_E_nospace,
				   .name = "containers", .for_good = true };
	size_t n = 3 << 20;
	u8 *data = malloc(n);
	struct rng r = { 4 };
	struct akin_diag d = { 0 };
	struct snapshot snap = { 0 };
	struct world w;
	u64 used;
	int err;

	rng_fill(&r, data, n);
	world_init(&w);
	used = simdisk_used(w.sp.data);
	for (fault.nth = 1; fault.nth < 12; fault.nth += 3) {
		open_stream(&w, 0, true, false);
		simdisk_fail(w.sp.data, &fault);
		memset(&d, 0, sizeof(d));
		err = ingest_object_begin(w.st, &d);
		if (!err)
			err = ingest_write(w.st, data, n, &d);
		if (!err)
			err = ingest_object_end(w.st, (void *)1L, &d);
		ignore_result(ingest_stream_close(w.st, &d));
		memset(&d, 0, sizeof(d));
		assert_int_equal(session_commit(w.s, &snap, &d),
				 -AKIN_E_nospace);
		assert_int_equal(d.code, -AKIN_E_nospace);
		assert_int_equal(session_end(w.s, true, NULL),
				 -AKIN_E_nospace);
		store_unlock_session(w.p, session_number(w.s));
		session_free(w.s);
		fault.kinds = 0;
		simdisk_fail(w.sp.data, &fault);
		fault.kinds = SIM_WRITE;
		/* Nobody names them, so nothing stays. */
		assert_int_equal(simdisk_used(w.sp.data), used);
		begin(&w);
	}
	world_release(&w);
	free(data);
}

/*
 * A session is given up after its containers were sealed and their directories
 * read: the next one on the same handle must store everything again.
 */
static void test_given_up_is_not_matched(void **state)
{
	size_t n = 3 << 20;
	u8 *data = malloc(n), *got = malloc(n);
	struct ingest_counts first, again;
	struct session_stats stats;
	struct akin_diag d = { 0 };
	struct rng r = { 2 };
	struct read_back b;
	struct world w;

	rng_fill(&r, data, n);
	world_init(&w);
	open_stream(&w, 0, false, false);
	feed(&w, data, n, n, 1);
	assert_int_equal(ingest_drain(w.st, &d), 0);
	ingest_get_counts(w.st, &first);
	/* Again, while the session lives: sealed containers are read. */
	do {
		session_get_stats(w.s, &stats);
	} while (stats.nr_containers < 2);
	feed(&w, data, n, n, 2);
	assert_int_equal(ingest_drain(w.st, &d), 0);
	ingest_get_counts(w.st, &again);
	assert_int_equal(again.chunks_new, first.chunks_new);
	close_stream(&w);
	assert_int_equal(session_end(w.s, false, &d), 0);
	store_unlock_session(w.p, session_number(w.s));
	session_free(w.s);

	begin(&w);
	open_stream(&w, 0, false, false);
	feed(&w, data, n, n, 1);
	assert_int_equal(ingest_drain(w.st, &d), 0);
	ingest_get_counts(w.st, &again);
	close_stream(&w);
	seal(&w);
	assert_int_equal(again.chunks_new, first.chunks_new);
	b = read_back(&w, &w.objects[0], got);
	assert_int_equal(b.err, 0);
	assert_int_equal(b.at, n);
	assert_memory_equal(got, data, n);
	world_release(&w);
	free(data);
	free(got);
}

/* A dry run stores nothing, whatever shape its recipes have. */
static void test_dry_run(void **state)
{
	size_t n = 1 << 20, at;
	u8 *data = malloc(n);
	struct ingest_counts dry, real, again;
	struct akin_diag d = { 0 };
	struct rng r = { 12 };
	struct world w;
	u64 used;
	long i;

	rng_fill(&r, data, n);
	world_init(&w);
	used = simdisk_used(w.sp.data);
	open_stream(&w, 0, false, true);
	/* Sizes from 20 to 140 chunks: some end with exactly one leaf. */
	for (i = 0, at = 20000; i < 500; i++, at += 240)
		feed(&w, data + i, at, at, 1 + i);
	assert_int_equal(ingest_drain(w.st, &d), 0);
	ingest_get_counts(w.st, &dry);
	close_stream(&w);
	assert_int_equal(w.nr, 500);
	assert_int_equal(simdisk_used(w.sp.data), used);

	open_stream(&w, 0, false, false);
	for (i = 0, at = 20000; i < 500; i++, at += 240)
		feed(&w, data + i, at, at, 1 + i);
	assert_int_equal(ingest_drain(w.st, &d), 0);
	ingest_get_counts(w.st, &real);
	close_stream(&w);
	/* Nor does the pool remember: what is stored now is found again. */
	seal(&w);
	akin_pool_close(w.p);
	assert_int_equal(simpool_open(&w.sp, false, &w.p, &d), 0);
	begin(&w);
	open_stream(&w, 0, false, false);
	for (i = 0, at = 20000; i < 500; i++, at += 240)
		feed(&w, data + i, at, at, 1 + i);
	assert_int_equal(ingest_drain(w.st, &d), 0);
	ingest_get_counts(w.st, &again);
	close_stream(&w);
	assert_int_equal(again.chunks_new, 0);
	assert_int_equal(real.chunks, dry.chunks);
	assert_int_equal(real.chunks_new, dry.chunks_new);
	assert_int_equal(real.bytes_new, dry.bytes_new);
	world_release(&w);
	free(data);
}

/* What an unprivileged user may put into attributes: four megabytes. */
static void test_large_record(void **state)
{
	static u8 value[NODE_XATTR_VALUE_MAX];
	struct node_xattr xa[60] = { { 0 } };
	struct node n = { .type = NODE_FIFO, .name = "pipe", .mode = 0600 };
	char names[60][8];
	struct hintset hint = { 0 };
	struct tree_builder *tb;
	struct tree_reader *tr;
	struct akin_diag d = { 0 };
	const struct node *got;
	const struct hint *got_hint;
	struct content ct;
	struct buf big = { 0 };
	struct fp fp;
	u64 container;
	struct world w;
	u32 i;

	world_init(&w);
	open_stream(&w, 0, false, false);
	memset(value, 0, sizeof(value));
	for (i = 0; i < 60; i++) {
		snprintf(names[i], sizeof(names[i]), "user.%02u", i);
		xa[i].name = names[i];
		xa[i].value = value;
		xa[i].len = sizeof(value);
	}
	n.xattrs = xa;
	n.nr_xattrs = 60;
	assert_int_equal(tree_builder_new(ingest_store_piece, w.st, &tb, &d),
			 0);
	assert_int_equal(tree_builder_begin(tb, &d), 0);
	assert_int_equal(tree_builder_add(tb, &n, NULL, &d), 0);
	assert_int_equal(tree_builder_end(tb, &ct, &hint, &d), 0);
	tree_builder_free(tb);
	/* Beyond what a group takes: refused, not written past the end. */
	buf_extend(&big, 300000);
	memset(big.data, 1, big.len);
	assert_int_equal(ingest_store_piece(w.st, &big, NULL, &fp, &container,
					    &d), -AKIN_E_too_large);
	buf_release(&big);
	close_stream(&w);
	seal(&w);

	assert_int_equal(tree_reader_open(&w.p->depot, &w.p->dec, &ct,
					  &hint.hint, &tr, &d), 0);
	assert_int_equal(tree_reader_next(tr, &got, &got_hint, &d), 1);
	assert_int_equal(got->nr_xattrs, 60);
	for (i = 0; i < 60; i++) {
		assert_string_equal(got->xattrs[i].name, names[i]);
		assert_int_equal(got->xattrs[i].len, sizeof(value));
		assert_memory_equal(got->xattrs[i].value, value,
				    sizeof(value));
	}
	assert_int_equal(tree_reader_next(tr, &got, &got_hint, &d), 0);
	tree_reader_close(tr);
	hintset_release(&hint);
	world_release(&w);
}

/* Many streams of one session, from threads, on equal and on own data. */
struct streamer {
	pthread_t thread;
	struct session *s;
	u64 seed;
	struct object o;
};

static int streamer_done(void *ctx, void *token, const struct content *ct,
			 const struct hint *hint, struct akin_diag *diag)
{
	struct streamer *x = ctx;

	keep_content(&x->o, ct);
	return store_copy_hint(hint, &x->o.hint, diag);
}

#define STREAM_BYTES (1 << 20)

static void *streamer_main(void *arg)
{
	struct streamer *x = arg;
	struct ingest_options opt = { .object_done = streamer_done, .ctx = x,
				      .threaded = x->seed % 2 };
	struct akin_diag d = { 0 };
	struct ingest_stream *st;
	u8 *data = malloc(STREAM_BYTES);

	simpool_fill(x->seed, data, STREAM_BYTES);
	assert_int_equal(ingest_stream_open(x->s, &opt, &st, &d), 0);
	assert_int_equal(ingest_object_begin(st, &d), 0);
	assert_int_equal(ingest_write(st, data, STREAM_BYTES, &d), 0);
	assert_int_equal(ingest_object_end(st, NULL, &d), 0);
	assert_int_equal(ingest_stream_close(st, &d), 0);
	free(data);
	return NULL;
}

static void test_many_streams(void **state)
{
	u8 *want = malloc(STREAM_BYTES), *got = malloc(STREAM_BYTES);
	struct streamer x[6] = { { 0 } };
	struct read_back b;
	struct world w;
	u32 i;

	world_init(&w);
	for (i = 0; i < 6; i++) {
		x[i].s = w.s;
		x[i].seed = i / 2;
		assert_int_equal(pthread_create(&x[i].thread, NULL,
						streamer_main, &x[i]), 0);
	}
	for (i = 0; i < 6; i++)
		pthread_join(x[i].thread, NULL);
	seal(&w);
	for (i = 0; i < 6; i++) {
		simpool_fill(x[i].seed, want, STREAM_BYTES);
		b = read_back(&w, &x[i].o, got);
		assert_int_equal(b.err, 0);
		assert_int_equal(b.at, STREAM_BYTES);
		assert_memory_equal(got, want, STREAM_BYTES);
		mem_free(x[i].o.hint.containers);
	}
	world_release(&w);
	free(want);
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch_ends),
		cmocka_unit_test(test_any_room),
		cmocka_unit_test(test_drain_inside),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_hole_sums),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_failing_callback),
		cmocka_unit_test(test_failing_disk),
		cmocka_unit_test(test_given_up_is_not_matched),
		cmocka_unit_test(test_dry_run),
		cmocka_unit_test(test_large_record),
		cmocka_unit_test(test_many_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
