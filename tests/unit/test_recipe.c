/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes: what goes in comes out, from any offset; a change costs a few
 * pieces; hostile pieces are refused. Hints: a model of sets.
 */
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "hash/hash.h"
#include "ingest/stream.h"
#include "recipe/recipe_reader.h"
#include "simpool.h"
#include "store/store.h"

/* Pieces go into a pool through a stream; how many were new is counted. */
struct world {
	struct simpool sp;
	struct akin_pool *p;
	struct session *s;
	struct ingest_stream *st;
	struct recipe_builder rb;
	u32 nr_pieces;
};

static int store_piece(void *ctx, const struct buf *bytes,
		       const struct hint *hint, struct fp *fp_ret,
		       u64 *container_ret, struct akin_diag *diag)
{
	struct world *w = ctx;

	w->nr_pieces++;
	return ingest_store_piece(w->st, bytes, hint, fp_ret, container_ret,
				  diag);
}

static void world_init(struct world *w)
{
	struct session_options sopt = { .lock = store_lock_session };
	struct ingest_options iopt = { 0 };
	struct akin_diag d = { 0 };

	memset(w, 0, sizeof(*w));
	assert_int_equal(simpool_init(&w->sp, &d), 0);
	assert_int_equal(simpool_open(&w->sp, false, &w->p, &d), 0);
	sopt.lock_ctx = w->p;
	assert_int_equal(session_begin(&w->p->depot, w->p->catalog, &sopt,
				       &w->s, &d), 0);
	w->p->reserve_session = session_number(w->s);
	assert_int_equal(ingest_stream_open(w->s, &iopt, &w->st, &d), 0);
	recipe_builder_init(&w->rb, store_piece, w);
}

/* After it pieces can be read, and no more written. */
static void world_seal(struct world *w)
{
	struct akin_diag d = { 0 };

	assert_int_equal(ingest_stream_close(w->st, &d), 0);
	w->st = NULL;
	assert_int_equal(session_end(w->s, true, &d), 0);
}

static void world_release(struct world *w)
{
	if (w->st)
		assert_int_equal(ingest_stream_close(w->st, NULL), 0);
	recipe_builder_release(&w->rb);
	session_free(w->s);
	akin_pool_close(w->p);
	simpool_free(&w->sp);
}

static u64 mix(u64 seed, u64 i)
{
	struct rng r = { seed * 1000003 + i };

	return rng_next(&r);
}

/* Entry @i of sequence @seed. */
static struct recipe_entry entry_of(u64 seed, u64 i)
{
	struct recipe_entry e = { .type = RECIPE_CHUNK, .count = 1 };
	struct rng r = { mix(seed, i) };

	e.len = 1 + rng_below(&r, 65536);
	rng_fill(&r, e.fp.b, sizeof(e.fp.b));
	if (i % 97 == 5) {
		e.type = RECIPE_HOLE;
		e.len = 1 + rng_below(&r, (u64)1 << 40);
		memset(&e.fp, 0, sizeof(e.fp));
	}
	if (i % 41 == 7)	/* given @count times in a row */
		e.count = 2 + rng_below(&r, 5);
	if (e.type == RECIPE_HOLE)
		e.count = 1;
	return e;
}

static void add(struct world *w, const struct recipe_entry *e)
{
	struct recipe_entry one = *e;
	struct akin_diag d = { 0 };
	u64 i;

	one.count = 1;
	for (i = 0; i < e->count; i++)
		assert_int_equal(recipe_builder_add(&w->rb, &one, 1 + i % 3,
						    &d), 0);
}

struct recipe {
	struct content ct;
	struct hintset hint;
};

static struct recipe finish(struct world *w)
{
	struct akin_diag d = { 0 };
	struct recipe r = { 0 };

	if (recipe_builder_finish(&w->rb, &r.ct, &r.hint, &d))
		fail_msg("%s", d.text);
	return r;
}

static struct recipe build(struct world *w, u64 seed, u32 nr)
{
	struct recipe_entry e;
	u32 i;

	for (i = 0; i < nr; i++) {
		e = entry_of(seed, i);
		add(w, &e);
	}
	return finish(w);
}

static bool same_entry(const struct recipe_entry *a,
		       const struct recipe_entry *b)
{
	bool repeat = b->count > 1;

	return a->type == (repeat ? RECIPE_REPEAT : b->type) &&
	       a->len == b->len && a->count == b->count &&
	       fp_equal(&a->fp, &b->fp);
}

static void check(struct world *w, const struct recipe *r, u64 seed, u32 nr)
{
	const struct recipe_entry *e;
	const struct hint *hint;
	struct recipe_reader *rr;
	struct akin_diag d = { 0 };
	u64 bytes = 0;
	u32 n, i, at = 0;
	int more;

	assert_int_equal(recipe_reader_open(&w->p->depot, &w->p->dec, &r->ct,
					    &r->hint.hint, &rr, &d), 0);
	while ((more = recipe_reader_next(rr, &e, &n, &hint, &d)) > 0) {
		assert_in_range(n, 1, RECIPE_LEAF_MAX);
		assert_true(hint->nr >= 1);
		for (i = 0; i < n; i++, at++) {
			struct recipe_entry want = entry_of(seed, at);

			assert_true(same_entry(&e[i], &want));
			bytes += recipe_entry_bytes(&e[i]);
		}
	}
	if (more < 0)
		fail_msg("%s", d.text);
	assert_int_equal(at, nr);
	assert_true(bytes == r->ct.bytes);
	recipe_reader_close(rr);
}

static void test_round_trips(void **state)
{
	static const u32 counts[] = { 0, 1, 2, 7, 8, 9, 10, 15, 16, 17, 33,
				      100, 127, 128, 129, 500, 1000, 5000,
				      100000 };
	struct recipe r[ARRAY_SIZE(counts)];
	struct world w;
	u32 i;

	world_init(&w);
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		r[i] = build(&w, i, counts[i]);
	world_seal(&w);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		assert_int_equal(r[i].ct.kind, counts[i] == 0 ? CONTENT_NONE :
				 counts[i] <= CONTENT_INLINE_MAX ?
				 CONTENT_ENTRIES : CONTENT_ROOT);
		check(&w, &r[i], i, counts[i]);
		hintset_release(&r[i].hint);
	}
	world_release(&w);
}

/* Every length around leaf and node ends; equal content, equal root. */
static void test_every_length(void **state)
{
	struct recipe r, again;
	struct world w;
	u32 n, shapes[3] = { 0 };

	world_init(&w);
	for (n = 0; n < 700; n++) {
		r = build(&w, 77, n);
		again = build(&w, 77, n);
		assert_true(fp_equal(&r.ct.root, &again.ct.root));
		assert_int_equal(r.ct.level, again.ct.level);
		hintset_release(&again.hint);
		if (r.ct.kind == CONTENT_ROOT) {
			assert_in_range(r.ct.level, 0, 2);
			shapes[r.ct.level]++;
		}
		hintset_release(&r.hint);
	}
	/* Single leaves, one node above them; hardly two. */
	assert_true(shapes[0] > 16 && shapes[1] > 400);
	world_release(&w);
}

/* Where nothing lives anywhere, as in a dry run. */
static int store_nowhere(void *ctx, const struct buf *bytes,
			 const struct hint *hint, struct fp *fp_ret,
			 u64 *container_ret, struct akin_diag *diag)
{
	u32 *nr = ctx;

	assert_int_equal(hint->nr, 0);
	memset(fp_ret, 0, sizeof(*fp_ret));
	put_le32(fp_ret->b, ++*nr);
	fp_ret->b[24] = 1;
	*container_ret = 0;
	return 0;
}

static void test_nowhere(void **state)
{
	struct recipe_builder rb;
	struct recipe_entry e;
	struct content ct;
	struct hintset hint = { 0 };
	struct akin_diag d = { 0 };
	u32 n, i, nr, nr_single = 0;

	for (n = 0; n < 400; n++) {
		/* A fresh one each time: nothing is left from before. */
		recipe_builder_init(&rb, store_nowhere, &nr);
		nr = 0;
		for (i = 0; i < n; i++) {
			e = entry_of(78, i);
			e.count = 1;
			assert_int_equal(recipe_builder_add(&rb, &e, 0, &d),
					 0);
		}
		assert_int_equal(recipe_builder_finish(&rb, &ct, &hint, &d),
				 0);
		assert_int_equal(hint.hint.nr, 0);
		nr_single += nr == 1 && n > 16;
		recipe_builder_release(&rb);
	}
	assert_true(nr_single > 4);
	hintset_release(&hint);
}

/* From every boundary, one before and one behind it. */
static void test_seek(void **state)
{
	const struct recipe_entry *e;
	const struct hint *hint;
	struct recipe_reader *rr;
	struct akin_diag d = { 0 };
	struct recipe r;
	struct world w;
	struct recipe_entry want;
	u64 at = 0, skip, off;
	u32 i, n;
	int k;

	world_init(&w);
	r = build(&w, 9, 3000);
	world_seal(&w);
	assert_int_equal(recipe_reader_open(&w.p->depot, &w.p->dec, &r.ct,
					    &r.hint.hint, &rr, &d), 0);
	for (i = 0; i < 3000; i++) {
		want = entry_of(9, i);
		for (k = 0; k < 3; k++) {
			off = k == 0 ? 0 : k == 1 ?
				      recipe_entry_bytes(&want) - 1 :
				      recipe_entry_bytes(&want) / 2;
			assert_int_equal(recipe_reader_seek(rr, at + off,
							    &skip, &d), 0);
			assert_true(skip == off);
			assert_int_equal(recipe_reader_next(rr, &e, &n, &hint,
							    &d), 1);
			assert_true(same_entry(&e[0], &want));
		}
		at += recipe_entry_bytes(&want);
	}
	assert_true(at == r.ct.bytes);
	assert_int_equal(recipe_reader_seek(rr, at, &skip, &d), 0);
	assert_int_equal(recipe_reader_next(rr, &e, &n, &hint, &d), 0);
	assert_int_equal(recipe_reader_seek(rr, UINT64_MAX, &skip, &d), 0);
	assert_int_equal(recipe_reader_next(rr, &e, &n, &hint, &d), 0);
	/* And back; then on to the end. */
	assert_int_equal(recipe_reader_seek(rr, 0, &skip, &d), 0);
	for (i = 0; recipe_reader_next(rr, &e, &n, &hint, &d) > 0;)
		i += n;
	assert_int_equal(i, 3000);
	recipe_reader_close(rr);
	hintset_release(&r.hint);
	world_release(&w);
}

static void test_seek_entries(void **state)
{
	const struct recipe_entry *e;
	const struct hint *hint;
	struct recipe_reader *rr;
	struct akin_diag d = { 0 };
	struct content ct = { .kind = CONTENT_ENTRIES, .nr = 3, .bytes = 130 };
	struct world w;
	u64 off, skip;
	u32 n, first;

	ct.entries[0] = entry_of(1, 1);
	ct.entries[1] = entry_of(1, 2);
	ct.entries[2] = entry_of(1, 3);
	ct.entries[0].len = 100;
	ct.entries[1].len = 10;
	ct.entries[2].len = 20;
	world_init(&w);
	for (off = 0; off < 131; off++) {
		assert_int_equal(recipe_reader_open(&w.p->depot, &w.p->dec,
						    &ct, NULL, &rr, &d), 0);
		assert_int_equal(recipe_reader_seek(rr, off, &skip, &d), 0);
		first = off < 100 ? 0 : off < 110 ? 1 : 2;
		assert_int_equal(recipe_reader_next(rr, &e, &n, &hint, &d),
				 off < 130);
		if (off < 130) {
			assert_int_equal(n, 3 - first);
			assert_true(same_entry(&e[0], &ct.entries[first]));
			assert_int_equal(skip, off - (first == 0 ? 0 :
						      first == 1 ? 100 : 110));
		}
		recipe_reader_close(rr);
	}
	world_release(&w);
}

/* Pieces by name, to count those that are new. */
struct names {
	struct fp *fps;
	u32 nr, nr_new;
};

static int compare_fps(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fp));
}

static int store_name(void *ctx, const struct buf *bytes,
		      const struct hint *hint, struct fp *fp_ret,
		      u64 *container_ret, struct akin_diag *diag)
{
	struct names *n = ctx;

	hash_derive_key("akin test piece", bytes->data, bytes->len, fp_ret->b);
	*container_ret = 1;
	if (n->nr && bsearch(fp_ret, n->fps, n->nr, sizeof(*n->fps),
			     compare_fps))
		return 0;
	n->nr_new++;
	n->fps[n->nr + n->nr_new - 1] = *fp_ret;
	return 0;
}

#define CHANGE_ENTRIES 20000

/* The sequence with entry @at replaced, removed or doubled by another. */
static u32 changed(struct names *n, u32 at, int how)
{
	struct hintset hint = { 0 };
	struct akin_diag d = { 0 };
	struct recipe_builder rb;
	struct recipe_entry e;
	struct content ct;
	u32 i;

	n->nr_new = 0;
	recipe_builder_init(&rb, store_name, n);
	for (i = 0; i < CHANGE_ENTRIES; i++) {
		e = entry_of(50, i);
		e.count = 1;
		if (i != at || how != 1)
			assert_int_equal(recipe_builder_add(&rb, &e, 1, &d),
					 0);
		e.fp.b[0] ^= 1;
		e.fp.b[24] ^= (u8)(at >> 3);
		if (i == at)
			assert_int_equal(recipe_builder_add(&rb, &e, 1, &d),
					 0);
	}
	assert_int_equal(recipe_builder_finish(&rb, &ct, &hint, &d), 0);
	recipe_builder_release(&rb);
	hintset_release(&hint);
	return n->nr_new;
}

/*
 * A change somewhere makes new only what is around it and above: most times
 * the leaf and the path to the root; sometimes cuts move, and then they are
 * back in step after a few pieces.
 */
static void test_change_is_local(void **state)
{
	struct names n = { 0 };
	u32 at, made, worst = 0, sum = 0, nr = 0;

	n.fps = calloc(2 * CHANGE_ENTRIES, sizeof(*n.fps));
	n.nr = changed(&n, CHANGE_ENTRIES, 0);
	qsort(n.fps, n.nr, sizeof(*n.fps), compare_fps);
	assert_in_range(n.nr, CHANGE_ENTRIES / 128, CHANGE_ENTRIES / 16);
	assert_int_equal(changed(&n, CHANGE_ENTRIES, 0), 0);
	for (at = 0; at < CHANGE_ENTRIES; at += 97) {
		made = changed(&n, at, (int)(at % 2));
		assert_true(made >= 2);
		worst = made > worst ? made : worst;
		sum += made;
		nr++;
	}
	/* The leaf, two nodes above it, and a little. */
	assert_in_range(sum * 10 / nr, 25, 60);
	assert_in_range(worst, 4, 25);
	free(n.fps);
}

/* Sets of numbers against bits. */
static void test_hintset_model(void **state)
{
	struct hintset s = { 0 }, other = { 0 };
	struct rng r = { 3 };
	bool in[300];
	u32 round, i, k, nr;
	u64 c;

	for (round = 0; round < 300; round++) {
		memset(in, 0, sizeof(in));
		hintset_reset(&s);
		for (i = 0; i < 30; i++) {
			hintset_reset(&other);
			for (k = (u32)rng_below(&r, 12); k > 0; k--) {
				c = rng_below(&r, 300);
				hintset_add(&other, c);
				in[c] = true;
			}
			if (i % 2) {
				hintset_add_all(&s, &other.hint);
				continue;
			}
			for (k = 0; k < other.hint.nr; k++)
				hintset_add(&s, other.hint.containers[k]);
		}
		for (nr = 0, c = 1; c < 300; c++) {
			if (in[c])
				assert_true(s.hint.containers[nr++] == c);
		}
		assert_int_equal(s.hint.nr, nr);
	}
	assert_false(s.failed);
	hintset_release(&s);
	hintset_release(&other);
}

static void test_hintset_limit(void **state)
{
	struct hintset s = { 0 }, more = { 0 };
	u64 c;

	for (c = 1; c <= HINT_MAX - 10; c++)
		hintset_add(&s, 2 * c);
	for (c = 1; c <= HINT_MAX; c++)
		hintset_add(&more, 2 * c + 1);
	assert_int_equal(more.hint.nr, HINT_MAX);
	hintset_add(&more, 2);
	assert_int_equal(more.hint.nr, HINT_MAX);
	/* Merging two large ones is one pass, and stops growing at the end. */
	hintset_add_all(&s, &more.hint);
	assert_int_equal(s.hint.nr, HINT_MAX);
	for (c = 1; c < HINT_MAX; c++)
		assert_true(s.hint.containers[c - 1] < s.hint.containers[c]);
	mem_fail_after(1);
	hintset_release(&more);
	hintset_add(&more, 1);
	mem_fail_after(0);
	assert_true(more.failed);
	assert_int_equal(more.hint.nr, 0);
	hintset_release(&s);
	hintset_release(&more);
}

/* A piece as somebody hostile may have written it, under its own name. */
static struct recipe store_raw(struct world *w, u8 level, u64 bytes,
			       const struct buf *b)
{
	struct recipe r = { 0 };
	struct akin_diag d = { 0 };
	u64 container;

	r.ct.kind = CONTENT_ROOT;
	r.ct.level = level;
	r.ct.bytes = bytes;
	assert_int_equal(ingest_store_piece(w->st, b, NULL, &r.ct.root,
					    &container, &d), 0);
	hintset_add(&r.hint, container);
	return r;
}

static int read_all(struct world *w, const struct recipe *r, u64 off)
{
	const struct recipe_entry *e;
	const struct hint *hint;
	struct recipe_reader *rr;
	struct akin_diag d = { 0 };
	u64 skip;
	u32 n;
	int more = 0;

	assert_int_equal(recipe_reader_open(&w->p->depot, &w->p->dec, &r->ct,
					    &r->hint.hint, &rr, &d), 0);
	if (off)
		more = recipe_reader_seek(rr, off, &skip, &d);
	if (!more)
		while ((more = recipe_reader_next(rr, &e, &n, &hint, &d)) > 0)
			;
	recipe_reader_close(rr);
	assert_int_equal(d.code, more);
	return more;
}

static void test_hostile_pieces(void **state)
{
	struct recipe_entry e = entry_of(2, 2);
	struct recipe_child c[2] = { { .entries = 1 }, { .entries = 1 } };
	struct recipe leaf, node, wrong, deep, junk;
	struct buf b = { 0 };
	struct world w;

	e.len = 100;
	world_init(&w);
	assert_int_equal(recipe_leaf_encode(&e, 1, &b), 0);
	leaf = store_raw(&w, 0, 100, &b);
	/* Sums that do not add up, above and below. */
	c[0].fp = c[1].fp = leaf.ct.root;
	c[0].bytes = 100;
	c[1].bytes = 5000;
	buf_reset(&b);
	assert_int_equal(recipe_node_encode(1, c, 2, &b), 0);
	node = store_raw(&w, 1, 5100, &b);
	wrong = node;
	wrong.ct.bytes = 200;
	wrong.hint = (struct hintset){ 0 };
	/* A node of itself's level below it. */
	c[0].fp = node.ct.root;
	c[0].bytes = 5100;
	c[0].entries = 2;
	buf_reset(&b);
	assert_int_equal(recipe_node_encode(3, c, 1, &b), 0);
	deep = store_raw(&w, 3, 5100, &b);
	buf_reset(&b);
	buf_put(&b, "Rubbish", 7);
	junk = store_raw(&w, 0, 7, &b);
	world_seal(&w);
	assert_int_equal(read_all(&w, &leaf, 0), 0);
	assert_int_equal(read_all(&w, &leaf, 99), 0);
	assert_int_equal(read_all(&w, &node, 0), -AKIN_E_bad_field);
	assert_int_equal(read_all(&w, &node, 50), -AKIN_E_bad_field);
	assert_int_equal(read_all(&w, &node, 150), -AKIN_E_bad_field);
	assert_int_equal(read_all(&w, &node, 5099), -AKIN_E_bad_field);
	assert_int_equal(read_all(&w, &wrong, 0), -AKIN_E_bad_field);
	assert_int_equal(read_all(&w, &wrong, 150), -AKIN_E_bad_field);
	assert_int_equal(read_all(&w, &deep, 0), -AKIN_E_bad_field);
	assert_int_equal(read_all(&w, &deep, 3000), -AKIN_E_bad_field);
	assert_true(read_all(&w, &junk, 0) < 0);
	leaf.ct.root.b[0] ^= 1;
	assert_int_equal(read_all(&w, &leaf, 0), -AKIN_E_fp_unknown);
	buf_release(&b);
	hintset_release(&leaf.hint);
	hintset_release(&node.hint);
	hintset_release(&deep.hint);
	hintset_release(&junk.hint);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_seek_entries),
		cmocka_unit_test(test_change_is_local),
		cmocka_unit_test(test_hintset_model),
		cmocka_unit_test(test_hintset_limit),
		cmocka_unit_test(test_hostile_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
