/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding chunks again and reading them ahead: in order, whatever the window;
 * without index, without hints, behind the back of others who merge runs; and
 * one bad group harms only what lies in it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "hash/hash_internal.h"
#include "ingest/stream.h"
#include "recipe/recipe_reader.h"
#include "restore/fetcher.h"
#include "simpool.h"
#include "store/store.h"

#define NR_OBJECTS 12

struct object {
	struct content ct;
	u8 data[RECIPE_INLINE_MAX];
	struct hint hint;
	u8 *want;
	size_t n;
};

/* A pool with some objects, sealed. */
struct world {
	struct simpool sp;
	struct akin_pool *p;
	struct object o[NR_OBJECTS];
	u32 nr;
};

static int on_object(void *ctx, void *token, const struct content *ct,
		     const struct hint *hint, struct akin_diag *diag)
{
	struct world *w = ctx;
	struct object *o = &w->o[w->nr++];

	o->ct = *ct;
	if (ct->kind == CONTENT_ENTRIES && ct->nr == 1 &&
	    ct->entries[0].type == RECIPE_INLINE) {
		memcpy(o->data, ct->entries[0].data, ct->entries[0].len);
		o->ct.entries[0].data = o->data;
	}
	return store_copy_hint(hint, &o->hint, diag);
}

/* Object @i: noise, a run of zeros (one chunk many times), a hole, noise. */
static void feed(struct ingest_stream *st, struct object *o, u32 i)
{
	size_t head = i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 256 : i * 20011;
	size_t zeros = i > 3 ? 100000 : 0, hole = i > 4 ? 70000 : 0;
	struct akin_diag d = { 0 };
	struct rng r = { i };

	o->n = head + zeros + hole + (i > 4 ? head : 0);
	o->want = calloc(1, o->n + 1);
	rng_fill(&r, o->want, head);
	if (i > 4)
		rng_fill(&r, o->want + head + zeros + hole, head);
	assert_int_equal(ingest_object_begin(st, &d), 0);
	assert_int_equal(ingest_write(st, o->want, head + zeros, &d), 0);
	assert_int_equal(ingest_hole(st, hole, &d), 0);
	if (i > 4)
		assert_int_equal(ingest_write(st, o->want + head + zeros +
					      hole, head, &d), 0);
	assert_int_equal(ingest_object_end(st, NULL, &d), 0);
}

static void world_init(struct world *w)
{
	struct session_options sopt = { .lock = store_lock_session };
	struct ingest_options iopt = { .object_done = on_object };
	struct akin_diag d = { 0 };
	struct ingest_stream *st;
	struct session *s;
	u32 i;

	memset(w, 0, sizeof(*w));
	assert_int_equal(simpool_init(&w->sp, &d), 0);
	assert_int_equal(simpool_open(&w->sp, false, &w->p, &d), 0);
	sopt.lock_ctx = w->p;
	assert_int_equal(session_begin(&w->p->depot, w->p->catalog, &sopt, &s,
				       &d), 0);
	w->p->reserve_session = session_number(s);
	iopt.ctx = w;
	assert_int_equal(ingest_stream_open(s, &iopt, &st, &d), 0);
	for (i = 0; i < NR_OBJECTS; i++)
		feed(st, &w->o[i], i);
	assert_int_equal(ingest_stream_close(st, &d), 0);
	assert_int_equal(w->nr, NR_OBJECTS);
	assert_int_equal(session_end(s, true, &d), 0);
	store_unlock_session(w->p, session_number(s));
	session_free(s);
}

static void reopen(struct world *w)
{
	struct akin_diag d = { 0 };

	akin_pool_close(w->p);
	assert_int_equal(simpool_open(&w->sp, false, &w->p, &d), 0);
}

static void world_release(struct world *w)
{
	u32 i;

	akin_pool_close(w->p);
	simpool_free(&w->sp);
	for (i = 0; i < NR_OBJECTS; i++) {
		mem_free(w->o[i].hint.containers);
		free(w->o[i].want);
	}
}

/* What comes out: marks name the object that the bytes belong to. */
struct sink {
	struct world *w;
	long current;		/* object + 1 */
	u64 at;
	u64 nr_bad;		/* bytes missing */
	u32 nr_marks, nr_dropped;
	int fail_at, nr_calls;
	u64 off;		/* of what was asked for, in the object */
};

static int sink_call(struct sink *s, struct akin_diag *diag)
{
	s->nr_calls++;
	return s->fail_at && s->nr_calls == s->fail_at ?
		       diag_set(diag, -AKIN_E_interrupted, "test") : 0;
}

static int sink_data(void *ctx, const u8 *data, u64 len, int err,
		     const struct akin_diag *why, struct akin_diag *diag)
{
	struct sink *s = ctx;
	const struct object *o = &s->w->o[s->current - 1];

	assert_true(s->off + s->at + len <= o->n);
	if (err) {
		assert_null(data);
		assert_int_equal(why->code, err);
		assert_true(why->text[0]);
		s->nr_bad += len;
	} else {
		assert_memory_equal(data, o->want + s->off + s->at, len);
	}
	s->at += len;
	return sink_call(s, diag);
}

static int sink_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	struct sink *s = ctx;
	const struct object *o = &s->w->o[s->current - 1];
	u64 i;

	assert_true(s->off + s->at + len <= o->n);
	for (i = 0; i < len; i++)
		assert_int_equal(o->want[s->off + s->at + i], 0);
	s->at += len;
	return sink_call(s, diag);
}

enum { MARK_BEGIN, MARK_END };

static int sink_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	struct sink *s = ctx;

	s->nr_marks++;
	if (what == MARK_BEGIN) {
		s->current = (long)token;
		s->at = 0;
	} else {
		assert_int_equal((long)token, s->current);
		assert_int_equal(s->at, s->w->o[s->current - 1].n);
	}
	return sink_call(s, diag);
}

static void sink_drop(void *ctx, int what, void *token)
{
	struct sink *s = ctx;

	assert_true((long)token >= 1 && (long)token <= NR_OBJECTS);
	s->nr_dropped++;
}

static struct fetcher *fetcher_for(struct sink *s, size_t window)
{
	struct fetcher_options opt = { .window_bytes = window,
				       .data = sink_data, .hole = sink_hole,
				       .mark = sink_mark, .drop = sink_drop };
	struct akin_diag d = { 0 };
	struct fetcher *f;

	opt.ctx = s;
	assert_int_equal(fetcher_new(&s->w->p->depot, &s->w->p->dec, &opt, &f,
				     &d), 0);
	return f;
}

static int push_all(struct fetcher *f, struct world *w, struct akin_diag *d)
{
	int err = 0;
	long i;

	for (i = 0; !err && i < NR_OBJECTS; i++) {
		err = fetcher_mark(f, MARK_BEGIN, (void *)(i + 1), d);
		if (!err)
			err = fetcher_content(f, &w->o[i].ct, &w->o[i].hint, 0,
					      UINT64_MAX, d);
		if (!err)
			err = fetcher_mark(f, MARK_END, (void *)(i + 1), d);
	}
	return err;
}

/* Everything, through a window of @window; bytes that were missing. */
static u64 fetch_all(struct world *w, size_t window)
{
	struct sink s = { .w = w };
	struct fetcher *f = fetcher_for(&s, window);
	struct akin_diag d = { 0 };

	if (push_all(f, w, &d) || fetcher_drain(f, &d))
		fail_msg("%s", d.text);
	assert_int_equal(s.nr_marks, 2 * NR_OBJECTS);
	fetcher_free(f);
	assert_int_equal(s.nr_dropped, 0);
	return s.nr_bad;
}

static void test_windows(void **state)
{
	static const size_t windows[] = { 0, 1, 4096, 200000, 1 << 20,
					  64 << 20 };
	struct world w;
	u32 i;

	world_init(&w);
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		assert_int_equal(fetch_all(&w, windows[i]), 0);
		if (i % 2)
			reopen(&w);
	}
	world_release(&w);
}

/* Parts of an object, from anywhere, of any length. */
static void test_ranges(void **state)
{
	struct akin_diag d = { 0 };
	struct rng r = { 1 };
	struct fetcher *f;
	struct world w;
	u64 off, len, left;
	u32 k, i;

	world_init(&w);
	for (k = 0; k < 600; k++) {
		struct sink s = { .w = &w };

		i = (u32)rng_below(&r, NR_OBJECTS);
		off = rng_below(&r, w.o[i].n + 2);
		len = k % 5 ? rng_below(&r, 30000) : UINT64_MAX;
		left = off < w.o[i].n ? w.o[i].n - off : 0;
		s.current = i + 1;
		s.off = off;
		f = fetcher_for(&s, 1 << 20);
		if (fetcher_content(f, &w.o[i].ct, &w.o[i].hint, off, len,
				    &d) || fetcher_drain(f, &d))
			fail_msg("%s", d.text);
		assert_int_equal(s.at, min_u64(len, left));
		assert_int_equal(s.nr_bad, 0);
		fetcher_free(f);
	}
	world_release(&w);
}

/* A failing callback ends it; each token is delivered or dropped, once. */
static void test_failing_callback(void **state)
{
	struct akin_diag d;
	struct fetcher *f;
	struct world w;
	int err, k, max;

	world_init(&w);
	for (k = 1, max = 2; k < max; k += 1 + k / 4) {
		struct sink s = { .w = &w, .fail_at = k };
		u32 pushed;

		memset(&d, 0, sizeof(d));
		f = fetcher_for(&s, k % 2 ? 0 : 1 << 20);
		err = push_all(f, &w, &d);
		if (!err)
			err = fetcher_drain(f, &d);
		fetcher_free(f);
		max = err ? k + 2 : k;
		if (!err) {
			assert_true(k > 100);
			continue;
		}
		assert_int_equal(err, -AKIN_E_interrupted);
		assert_string_equal(d.text, "test");
		assert_int_equal(s.nr_calls, k);
		pushed = s.nr_marks + s.nr_dropped;
		assert_true(pushed >= s.nr_marks && pushed <= 2 * NR_OBJECTS);
	}
	world_release(&w);
}

/* Flip a byte of group @index of the lowest container of @kind. */
static void damage(struct world *w, u64 container, u32 index)
{
	char name[FORMAT_NAME_MAX];
	struct container_reader *r;
	struct akin_diag d = { 0 };
	const struct dir_group *g;

	assert_int_equal(container_open(w->p->data, &w->p->super.pool,
					container, 0, &r, &d), 0);
	g = &container_directory(r)->groups[index];
	format_container_name(container, 0, name);
	simdisk_flip_bit(w->sp.data, name, g->off + g->len - 1, 0);
	container_close(r);
}

/* The container and group of a chunk of object @i. */
static struct chunk_spot spot_of(struct world *w, u32 i, u64 *container_ret)
{
	const struct recipe_entry *e;
	const struct hint *hint;
	struct recipe_reader *rr;
	struct akin_diag d = { 0 };
	struct chunk_spot spot;
	struct dir_hit at;
	u32 n;

	assert_int_equal(recipe_reader_open(&w->p->depot, &w->p->dec,
					    &w->o[i].ct, &w->o[i].hint, &rr,
					    &d), 0);
	assert_int_equal(recipe_reader_next(rr, &e, &n, &hint, &d), 1);
	assert_int_equal(depot_locate(&w->p->depot, hint, &e->fp, 1, &at, &d),
			 0);
	assert_int_equal(depot_spot(&w->p->depot, &at, &e->fp, &spot, &d), 0);
	recipe_reader_close(rr);
	*container_ret = at.container;
	return spot;
}

static void test_one_bad_group(void **state)
{
	struct chunk_spot spot;
	struct world w;
	u64 container, bad;
	size_t window;

	world_init(&w);
	spot = spot_of(&w, 7, &container);
	damage(&w, container, spot.group);
	reopen(&w);
	for (window = 0; window <= 1 << 20; window += 1 << 19) {
		bad = fetch_all(&w, window);
		/* Its bytes, some of which (zeros) are used again. */
		assert_in_range(bad, 1, spot.group_raw + 8 * 100000);
	}
	world_release(&w);
}

/* BLAKE3, but for one fingerprint, which nothing has any more. */
static struct {
	struct hash_ops ops;
	struct fp target;
	bool armed;
} liar;

static void liar_batch(const struct hasher *h, struct hash_scratch *s,
		       const struct hash_item *items, size_t n, struct fp *out)
{
	size_t i;

	hash_ops_blake3.batch(h, s, items, n, out);
	for (i = 0; liar.armed && i < n; i++)
		out[i].b[9] ^= fp_equal(&out[i], &liar.target);
}

/* Chunk @skip of object @i's first leaf. */
static struct recipe_entry chunk_of(struct world *w, u32 i, u32 skip)
{
	const struct recipe_entry *e;
	struct recipe_entry found;
	const struct hint *hint;
	struct recipe_reader *rr;
	struct akin_diag d = { 0 };
	u32 n;

	assert_int_equal(recipe_reader_open(&w->p->depot, &w->p->dec,
					    &w->o[i].ct, &w->o[i].hint, &rr,
					    &d), 0);
	assert_int_equal(recipe_reader_next(rr, &e, &n, &hint, &d), 1);
	assert_true(skip < n);
	found = e[skip];
	recipe_reader_close(rr);
	return found;
}

/* A chunk that is not what its fingerprint says: it is missing, and nothing
 * else of its group. */
static void test_one_bad_chunk(void **state)
{
	struct recipe_entry e;
	struct world w;
	size_t window;

	liar.ops = hash_ops_blake3;
	liar.ops.batch = liar_batch;
	liar.armed = false;
	world_init(&w);
	e = chunk_of(&w, 7, 3);
	assert_int_equal(e.type, RECIPE_CHUNK);
	w.sp.data_hash = &liar.ops;
	reopen(&w);
	liar.target = e.fp;
	assert_int_equal(fetch_all(&w, 1 << 20), 0);
	for (window = 0; window <= 1 << 20; window += 1 << 19) {
		reopen(&w);
		liar.armed = true;
		/* Twice: what was found out is not forgotten. */
		assert_int_equal(fetch_all(&w, window), e.len);
		assert_int_equal(fetch_all(&w, window), e.len);
		liar.armed = false;
	}
	world_release(&w);
}

static void unlink_runs(struct world *w)
{
	struct sim_name *names;
	struct akin_diag d = { 0 };
	size_t nr, i;
	u32 n = 0;

	names = simdisk_names(w->sp.meta, &nr);
	for (i = 0; i < nr; i++) {
		if (names[i].is_dir || strncmp(names[i].path, "runs/", 5))
			continue;
		assert_int_equal(disk_unlink(w->p->meta, names[i].path, &d),
				 0);
		n++;
	}
	simdisk_names_free(names, nr);
	assert_true(n > 0);
}

/* Hints alone, the index alone; without both nothing. */
static void test_without_index_or_hints(void **state)
{
	struct world w;
	struct sink s = { .w = &w, .current = 8 };
	struct akin_diag d = { 0 };
	struct fetcher *f;
	struct hint none = { 0 };
	u32 i;

	world_init(&w);
	reopen(&w);
	for (i = 0; i < NR_OBJECTS; i++) {
		s.current = i + 1;
		s.at = 0;
		f = fetcher_for(&s, 1 << 20);
		assert_int_equal(fetcher_content(f, &w.o[i].ct, &none, 0,
						 UINT64_MAX, &d), 0);
		assert_int_equal(fetcher_drain(f, &d), 0);
		assert_int_equal(s.nr_bad, 0);
		assert_int_equal(s.at, w.o[i].n);
		fetcher_free(f);
	}
	unlink_runs(&w);
	reopen(&w);
	assert_int_equal(fetch_all(&w, 1 << 20), 0);
	reopen(&w);
	s.current = 8;
	s.at = 0;
	f = fetcher_for(&s, 1 << 20);
	assert_int_equal(fetcher_content(f, &w.o[7].ct, &none, 0, UINT64_MAX,
					 &d), 0);
	assert_int_equal(fetcher_drain(f, &d), 0);
	assert_int_equal(s.nr_bad, w.o[7].n);
	fetcher_free(f);
	world_release(&w);
}

/* A directory cache whose table has no room for what is loaded. */
static void test_tiny_table(void **state)
{
	struct dircache_options opt = { 0 };
	struct dircache *small, *large;
	const struct directory *dir;
	struct container_reader *r;
	struct akin_diag d = { 0 };
	struct dir_hit hit;
	struct world w;
	u64 container;
	u32 i;

	world_init(&w);
	spot_of(&w, 7, &container);
	unlink_runs(&w);
	reopen(&w);
	opt.data = w.p->data;
	opt.pool = w.p->super.pool;
	assert_int_equal(dircache_new(&opt, &small, &d), 0);
	large = w.p->depot.dirs;
	w.p->depot.dirs = small;
	assert_int_equal(dircache_get(small, container, &r, &d), 0);
	dir = container_directory(r);
	assert_true(dir->nr_entries > 600);
	for (i = 0; i < dir->nr_entries; i++) {
		struct hint h = { &container, 1 };

		if (depot_locate(&w.p->depot, &h, &dir->entries[i].fp, 1,
				 &hit, &d))
			fail_msg("%u: %s", i, d.text);
		assert_true(hit.container == container);
	}
	dircache_put(small, container);
	w.p->depot.dirs = large;
	dircache_free(small);
	world_release(&w);
}

/*
 * This process opened the pool, and looked at no run yet; others back up until
 * the runs it knows have been merged away.
 */
static void test_merged_behind_our_back(void **state)
{
	struct world w;
	struct sink s = { .w = &w };
	struct akin_diag d = { 0 };
	struct hint none = { 0 };
	struct fetcher *f;
	u8 data[3000];
	char name[16];
	u64 seed, old, runs[4];
	size_t nr, i;
	struct sim_name *names;
	bool there = true;

	world_init(&w);
	reopen(&w);
	names = simdisk_names(w.sp.meta, &nr);
	for (i = 0, old = 0; i < nr; i++) {
		if (!names[i].is_dir && !strncmp(names[i].path, "runs/", 5))
			old = strtoull(names[i].path + 5, NULL, 16);
	}
	simdisk_names_free(names, nr);
	assert_true(old > 0);
	for (seed = 1; there && seed < 40; seed++) {
		struct rng r = { seed };
		char run[FORMAT_NAME_MAX];
		struct disk_stat st;

		rng_fill(&r, data, sizeof(data));
		snprintf(name, sizeof(name), "s%u", (unsigned)seed);
		assert_int_equal(simpool_put(&w.sp, name, data, sizeof(data),
					     &d), 0);
		format_run_name(old, run);
		there = disk_stat(w.p->meta, run, &st, NULL) == 0;
	}
	assert_false(there);
	for (i = 0; i < NR_OBJECTS; i++) {
		s.current = (long)i + 1;
		s.at = 0;
		f = fetcher_for(&s, 1 << 20);
		if (fetcher_content(f, &w.o[i].ct, &none, 0, UINT64_MAX, &d) ||
		    fetcher_drain(f, &d))
			fail_msg("%s", d.text);
		assert_int_equal(s.nr_bad, 0);
		assert_int_equal(s.at, w.o[i].n);
		fetcher_free(f);
	}
	assert_int_equal(index_damage(w.p->index, runs, 4), 0);
	/* It is not asked again for each chunk that is nowhere. The index has
	 * read the manifest by itself, which the pool need not know. */
	assert_true(store_refresh_index(w.p, &d) >= 0);
	assert_int_equal(store_refresh_index(w.p, &d), 0);
	world_release(&w);
}

/* As if another thread had been first: there is no news any more. */
static int refreshed_meanwhile(void *pool, struct akin_diag *diag)
{
	int err = store_refresh_index(pool, diag);

	return err < 0 ? err : 0;
}

/* Stored by somebody else, as one chunk; the pool's key decides. */
static void put_one_chunk(struct world *w, struct fp *fp_ret, u32 *len_ret)
{
	struct akin_diag d = { 0 };
	struct dir_hit at = { 0 };
	struct rng r = { 77 };
	struct akin_pool *p;
	u8 data[300];

	do {
		rng_fill(&r, data, sizeof(data));
		hasher_one(w->p->depot.data_hasher, data, sizeof(data), fp_ret);
		assert_int_equal(simpool_put(&w->sp, "new", data, sizeof(data),
					     &d), 0);
		assert_int_equal(simpool_open(&w->sp, false, &p, &d), 0);
		if (depot_locate(&p->depot, NULL, fp_ret, 1, &at, &d))
			at.len = 0;
		akin_pool_close(p);
		memset(&d, 0, sizeof(d));
	} while (!at.len);
	*len_ret = at.len;
}

/* What this one looked for in the old runs is in the new ones. */
static void test_another_thread_refreshes(void **state)
{
	struct akin_diag d = { 0 };
	struct dir_hit at;
	struct world w;
	struct fp fp;
	u32 len;

	world_init(&w);
	reopen(&w);
	w.p->depot.refresh = refreshed_meanwhile;
	put_one_chunk(&w, &fp, &len);
	if (depot_locate(&w.p->depot, NULL, &fp, 1, &at, &d))
		fail_msg("%s", d.text);
	assert_int_equal(at.len, len);
	world_release(&w);
}

/* The machine's troubles are not the pool's damage. */
static void test_error_classes(void **state)
{
	static const int codes[] = { -AKIN_E_too_many_files, -AKIN_E_io,
				     -AKIN_E_denied, -AKIN_E_bad_checksum };
	struct sim_fault fault = { .kinds = SIM_OPEN, .nth = 1,
				   .for_good = true, .name = "containers" };
	struct akin_diag d;
	struct dir_hit at;
	struct world w;
	struct fp fp;
	u32 i;
	int err;

	world_init(&w);
	fp = w.o[7].ct.root;
	unlink_runs(&w);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		reopen(&w);
		fault.code = codes[i];
		simdisk_fail(w.sp.data, &fault);
		memset(&d, 0, sizeof(d));
		err = depot_locate(&w.p->depot, &w.o[7].hint, &fp, 1, &at, &d);
		assert_int_equal(err, akin_error_class(codes[i]) ==
				 AKIN_CLASS_CORRUPT ? -AKIN_E_fp_unknown :
				 codes[i]);
		assert_int_equal(d.code, err);
		assert_non_null(strstr(d.text, "container"));
		simdisk_fail(w.sp.data, &(struct sim_fault){ 0 });
	}
	world_release(&w);
}

/* Out of memory at any point: an error, or everything. */
static void test_nomem(void **state)
{
	struct akin_diag d;
	struct fetcher *f;
	struct world w;
	u64 n;
	int err = 1;

	world_init(&w);
	for (n = 1; err; n += 1 + n / 50) {
		struct sink s = { .w = &w, .current = 8 };

		reopen(&w);
		f = fetcher_for(&s, 1 << 20);
		memset(&d, 0, sizeof(d));
		mem_fail_after(n);
		err = fetcher_content(f, &w.o[7].ct, &w.o[7].hint, 0,
				      UINT64_MAX, &d);
		if (!err)
			err = fetcher_drain(f, &d);
		mem_fail_after(0);
		fetcher_free(f);
		if (err)
			assert_int_equal(d.code, err);
		else
			assert_int_equal(s.at, w.o[7].n);
		err = err || s.nr_bad;
		assert_true(n < 100000);
	}
	assert_true(n > 50);
	world_release(&w);
}

/* A hint that stands for many. */
static void test_narrow_hint(void **state)
{
	struct akin_diag d = { 0 };
	struct hint all = { 0 }, out = { 0 };
	struct rng r = { 5 };
	struct world w;
	u64 container;
	struct fp fp;
	u32 i;

	world_init(&w);
	all.nr = 1000;
	all.containers = mem_calloc(all.nr, sizeof(u64));
	for (i = 0; i < all.nr; i++)
		all.containers[i] = i + 1;
	fp = w.o[9].ct.root;
	spot_of(&w, 9, &container);
	assert_int_equal(depot_narrow_hint(&w.p->depot, &fp, 1, &all, &out,
					   &d), 0);
	assert_int_equal(out.nr, 1);
	assert_int_equal(out.containers[0], w.o[9].hint.containers[0]);
	/* Unknown: the newest, and no more of them. */
	rng_fill(&r, fp.b, sizeof(fp.b));
	assert_int_equal(depot_narrow_hint(&w.p->depot, &fp, 1, &all, &out,
					   &d), 0);
	assert_int_equal(out.nr, DEPOT_HINT_MAX);
	assert_int_equal(out.containers[0], 1000 - DEPOT_HINT_MAX + 1);
	assert_int_equal(out.containers[DEPOT_HINT_MAX - 1], 1000);
	/* Nothing to look for. */
	assert_int_equal(depot_narrow_hint(&w.p->depot, NULL, 0, &all, &out,
					   &d), 0);
	assert_int_equal(out.nr, 0);
	mem_free(out.containers);
	mem_free(all.containers);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_failing_callback),
		cmocka_unit_test(test_one_bad_group),
		cmocka_unit_test(test_one_bad_chunk),
		cmocka_unit_test(test_without_index_or_hints),
		cmocka_unit_test(test_tiny_table),
		cmocka_unit_test(test_merged_behind_our_back),
		cmocka_unit_test(test_another_thread_refreshes),
		cmocka_unit_test(test_error_classes),
		cmocka_unit_test(test_nomem),
		cmocka_unit_test(test_narrow_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
