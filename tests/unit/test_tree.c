/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listings: many names, large records, deep trees; what is out of order is
 * refused on both sides; a changed name changes a piece or two; a damaged
 * directory does not hide what is behind it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "hash/hash.h"
#include "ingest/stream.h"
#include "simpool.h"
#include "store/store.h"
#include "tree/tree_builder.h"
#include "tree/tree_walk.h"

struct world {
	struct simpool sp;
	struct akin_pool *p;
	struct session *s;
	struct ingest_stream *st;
	struct tree_builder *tb;
};

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
	assert_int_equal(tree_builder_new(ingest_store_piece, w->st, &w->tb,
					  &d), 0);
}

static void world_seal(struct world *w)
{
	struct akin_diag d = { 0 };

	assert_int_equal(ingest_stream_close(w->st, &d), 0);
	w->st = NULL;
	assert_int_equal(session_end(w->s, true, &d), 0);
}

static void world_release(struct world *w)
{
	tree_builder_free(w->tb);
	if (w->st)
		assert_int_equal(ingest_stream_close(w->st, NULL), 0);
	session_free(w->s);
	akin_pool_close(w->p);
	simpool_free(&w->sp);
}

static void add(struct tree_builder *tb, const char *name, u64 size)
{
	struct node n = { .type = NODE_FIFO, .mode = 0644, .name = name };
	struct akin_diag d = { 0 };

	n.ino = size;
	if (tree_builder_add(tb, &n, NULL, &d))
		fail_msg("%s", d.text);
}

struct listing {
	struct content ct;
	struct hintset hint;
};

static struct listing end(struct tree_builder *tb)
{
	struct akin_diag d = { 0 };
	struct listing l = { 0 };

	if (tree_builder_end(tb, &l.ct, &l.hint, &d))
		fail_msg("%s", d.text);
	return l;
}

static void end_into(struct tree_builder *tb, const char *name)
{
	struct listing l = end(tb);
	struct node n = { .type = NODE_DIR, .mode = 0755, .name = name };
	struct akin_diag d = { 0 };

	n.content = l.ct;
	if (tree_builder_add(tb, &n, &l.hint.hint, &d))
		fail_msg("%s", d.text);
	hintset_release(&l.hint);
}

static void begin(struct tree_builder *tb)
{
	struct akin_diag d = { 0 };

	assert_int_equal(tree_builder_begin(tb, &d), 0);
}

static struct tree_reader *reader(struct world *w, const struct listing *l)
{
	struct tree_reader *r;
	struct akin_diag d = { 0 };

	assert_int_equal(tree_reader_open(&w->p->depot, &w->p->dec, &l->ct,
					  &l->hint.hint, &r, &d), 0);
	return r;
}

#define MANY 100000

static void test_many_names(void **state)
{
	static const u32 counts[] = { 0, 1, 2, 50, 300, 1000, MANY };
	struct listing l[ARRAY_SIZE(counts)];
	const struct hint *hint;
	const struct node *n;
	struct tree_reader *r;
	struct akin_diag d = { 0 };
	struct world w;
	char name[32];
	u32 k, i;

	world_init(&w);
	for (k = 0; k < ARRAY_SIZE(counts); k++) {
		begin(w.tb);
		for (i = 0; i < counts[k]; i++) {
			snprintf(name, sizeof(name), "name-%06u", i);
			add(w.tb, name, i);
		}
		l[k] = end(w.tb);
	}
	assert_int_equal(l[0].ct.kind, CONTENT_NONE);
	assert_int_equal(l[1].ct.kind, CONTENT_ENTRIES);
	assert_int_equal(l[6].ct.kind, CONTENT_ROOT);
	world_seal(&w);
	for (k = 0; k < ARRAY_SIZE(counts); k++) {
		r = reader(&w, &l[k]);
		for (i = 0; i < counts[k]; i++) {
			snprintf(name, sizeof(name), "name-%06u", i);
			assert_int_equal(tree_reader_next(r, &n, &hint, &d),
					 1);
			assert_string_equal(n->name, name);
			assert_int_equal(n->ino, i);
		}
		assert_int_equal(tree_reader_next(r, &n, &hint, &d), 0);
		assert_int_equal(tree_reader_next(r, &n, &hint, &d), 0);
		tree_reader_close(r);
		hintset_release(&l[k].hint);
	}
	world_release(&w);
}

/* Pieces by name, to count those that are new. */
struct names {
	struct fp fps[4096];
	u32 nr, nr_new;
};

static int store_name(void *ctx, const struct buf *bytes,
		      const struct hint *hint, struct fp *fp_ret,
		      u64 *container_ret, struct akin_diag *diag)
{
	struct names *n = ctx;
	u32 i;

	assert_true(bytes->len <= 64 * 1024);
	hash_derive_key("akin test piece", bytes->data, bytes->len, fp_ret->b);
	*container_ret = 1;
	for (i = 0; i < n->nr; i++) {
		if (fp_equal(&n->fps[i], fp_ret))
			return 0;
	}
	assert_true(n->nr < ARRAY_SIZE(n->fps));
	n->fps[n->nr++] = *fp_ret;
	n->nr_new++;
	return 0;
}

/* 10,000 names; one of them changed, added or gone. */
static u32 new_pieces(struct tree_builder *tb, struct names *names, u32 at,
		      int how)
{
	struct listing l;
	char name[32];
	u32 i;

	names->nr_new = 0;
	begin(tb);
	for (i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "name-%06u", i);
		if (i != at || how != 2)
			add(tb, name, i == at && how == 0 ? 77 : i);
		snprintf(name, sizeof(name), "name-%06u+", i);
		if (i == at && how == 1)
			add(tb, name, 1);
	}
	l = end(tb);
	hintset_release(&l.hint);
	return names->nr_new;
}

static void test_change_is_local(void **state)
{
	struct names *names = calloc(1, sizeof(*names));
	struct akin_diag d = { 0 };
	struct tree_builder *tb;
	u32 at, made, sum = 0, nr = 0;

	assert_int_equal(tree_builder_new(store_name, names, &tb, &d), 0);
	made = new_pieces(tb, names, 10000, 0);
	assert_in_range(made, 20, 200);
	assert_int_equal(new_pieces(tb, names, 10000, 0), 0);
	for (at = 5; at < 10000; at += 331) {
		made = new_pieces(tb, names, at, (int)(at % 3));
		/* The piece, its recipe's leaf and node; two if a cut goes. */
		assert_in_range(made, 2, 6);
		sum += made;
		nr++;
	}
	assert_in_range(sum * 10 / nr, 20, 40);
	tree_builder_free(tb);
	free(names);
}

static void test_order_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "b", "a" }, { "a", "a" }, { "ab", "a" }, { "\xff", "z" },
	};
	struct node n = { .type = NODE_FIFO };
	struct akin_diag d;
	struct listing l;
	struct world w;
	u32 i;

	world_init(&w);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&d, 0, sizeof(d));
		begin(w.tb);
		add(w.tb, bad[i][0], 1);
		n.name = bad[i][1];
		assert_int_equal(tree_builder_add(w.tb, &n, NULL, &d),
				 -AKIN_E_bad_order);
		assert_int_equal(d.code, -AKIN_E_bad_order);
		l = end(w.tb);
		hintset_release(&l.hint);
	}
	/* The next directory starts afresh. */
	begin(w.tb);
	add(w.tb, "a", 1);
	n.name = "..";
	memset(&d, 0, sizeof(d));
	assert_true(tree_builder_add(w.tb, &n, NULL, &d) < 0);
	l = end(w.tb);
	hintset_release(&l.hint);
	world_release(&w);
}

/* A listing whose pieces somebody hostile has written. */
static struct listing hostile(struct world *w, const struct buf *pieces,
			      u32 nr)
{
	struct recipe_builder rb;
	struct akin_diag d = { 0 };
	struct listing l = { 0 };
	u64 container;
	u32 i;

	recipe_builder_init(&rb, ingest_store_piece, w->st);
	for (i = 0; i < nr; i++) {
		struct recipe_entry e = { .type = RECIPE_CHUNK, .count = 1,
					  .len = pieces[i].len };

		assert_int_equal(ingest_store_piece(w->st, &pieces[i], NULL,
						    &e.fp, &container, &d), 0);
		assert_int_equal(recipe_builder_add(&rb, &e, container, &d),
				 0);
	}
	assert_int_equal(recipe_builder_finish(&rb, &l.ct, &l.hint, &d), 0);
	recipe_builder_release(&rb);
	return l;
}

static int read_all(struct world *w, struct listing *l, u32 *nr_ret)
{
	struct tree_reader *r = reader(w, l);
	const struct hint *hint;
	const struct node *n;
	struct akin_diag d = { 0 };
	int more;

	*nr_ret = 0;
	while ((more = tree_reader_next(r, &n, &hint, &d)) > 0)
		(*nr_ret)++;
	if (more < 0) {
		assert_int_equal(d.code, more);
		assert_true(d.text[0]);
	}
	tree_reader_close(r);
	hintset_release(&l->hint);
	return more;
}

static void encode(struct buf *b, const char *name)
{
	struct node n = { .type = NODE_FIFO, .name = name };

	assert_int_equal(node_encode(&n, b), 0);
}

static void test_hostile_listings(void **state)
{
	struct buf piece[8] = { { 0 } };
	struct listing order, cut, split, rubbish, endless, hole = { 0 };
	struct world w;
	u32 nr, i;

	world_init(&w);
	encode(&piece[0], "b");
	encode(&piece[1], "a");
	encode(&piece[2], "aa");
	order = hostile(&w, piece, 2);
	/* The same name on both sides of a cut. */
	buf_put(&piece[3], piece[1].data, piece[1].len);
	encode(&piece[3], "b");
	buf_put(&piece[4], piece[2].data, 3);
	buf_put(&piece[5], piece[2].data + 3, piece[2].len - 3);
	cut = hostile(&w, (struct buf[]){ piece[3], piece[4] }, 2);
	split = hostile(&w, (struct buf[]){ piece[1], piece[4], piece[5],
					    piece[0] }, 4);
	buf_put(&piece[6], "\x00\x00\x00\x00\x00\x00", 6);
	rubbish = hostile(&w, &piece[6], 1);
	/* It says that it is eight megabytes and one. */
	buf_put_varint(&piece[7], NODE_RECORD_MAX + 1);
	buf_put(&piece[7], "abcdefgh", 8);
	endless = hostile(&w, &piece[7], 1);
	hole.ct.kind = CONTENT_ENTRIES;
	hole.ct.nr = 1;
	hole.ct.bytes = 1000;
	hole.ct.entries[0].type = RECIPE_HOLE;
	hole.ct.entries[0].len = 1000;
	hole.ct.entries[0].count = 1;
	world_seal(&w);
	assert_int_equal(read_all(&w, &order, &nr), -AKIN_E_bad_order);
	assert_int_equal(nr, 1);
	assert_int_equal(read_all(&w, &cut, &nr), -AKIN_E_short_read);
	assert_int_equal(nr, 2);
	assert_int_equal(read_all(&w, &split, &nr), 0);
	assert_int_equal(nr, 3);
	assert_true(read_all(&w, &rubbish, &nr) < 0);
	assert_int_equal(nr, 0);
	assert_true(read_all(&w, &endless, &nr) < 0);
	assert_int_equal(read_all(&w, &hole, &nr), -AKIN_E_bad_field);
	for (i = 0; i < ARRAY_SIZE(piece); i++)
		buf_release(&piece[i]);
	world_release(&w);
}

/* A record larger than pieces between small ones. */
static void test_large_among_small(void **state)
{
	struct node_xattr xa[3] = { { "user.a" }, { "user.b" }, { "user.c" } };
	struct node n = { .type = NODE_FIFO, .xattrs = xa, .nr_xattrs = 3 };
	const struct hint *hint;
	const struct node *got;
	struct tree_reader *r;
	struct akin_diag d = { 0 };
	struct rng rng = { 9 };
	struct listing l;
	struct world w;
	char name[16];
	u8 *value = malloc(3 * 65536);
	u32 i, k;

	rng_fill(&rng, value, 3 * 65536);
	for (i = 0; i < 3; i++) {
		xa[i].value = value + 65536 * i;
		xa[i].len = 65536;
	}
	world_init(&w);
	begin(w.tb);
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "%05u", i);
		n.name = name;
		n.nr_xattrs = i % 50 == 7 ? 3 : 0;
		assert_int_equal(tree_builder_add(w.tb, &n, NULL, &d), 0);
	}
	l = end(w.tb);
	world_seal(&w);
	r = reader(&w, &l);
	for (i = 0; i < 300; i++) {
		assert_int_equal(tree_reader_next(r, &got, &hint, &d), 1);
		snprintf(name, sizeof(name), "%05u", i);
		assert_string_equal(got->name, name);
		assert_int_equal(got->nr_xattrs, i % 50 == 7 ? 3 : 0);
		for (k = 0; k < got->nr_xattrs; k++)
			assert_memory_equal(got->xattrs[k].value, xa[k].value,
					    65536);
	}
	assert_int_equal(tree_reader_next(r, &got, &hint, &d), 0);
	tree_reader_close(r);
	hintset_release(&l.hint);
	free(value);
	world_release(&w);
}

#define DEEP 2000

/* d/d/d/... with a name before and one behind each. */
static void test_deep_walk(void **state)
{
	struct akin_diag d = { 0 };
	struct tree_step s;
	struct tree_walk *tw;
	struct listing l;
	struct world w;
	u32 i, nodes = 0, leaves = 0, skips = 0;
	int more;

	world_init(&w);
	for (i = 0; i <= DEEP; i++) {
		begin(w.tb);
		add(w.tb, "a", i);
	}
	for (i = 0; i < DEEP; i++) {
		add(w.tb, "x", i);
		end_into(w.tb, "d");
		add(w.tb, "e", i);
	}
	l = end(w.tb);
	world_seal(&w);
	assert_int_equal(tree_walk_open(&w.p->depot, &w.p->dec, &l.ct,
					&l.hint.hint, "/", &tw, &d), 0);
	while ((more = tree_walk_next(tw, &s, &d)) > 0) {
		if (s.event == TREE_LEAVE) {
			leaves++;
			continue;
		}
		nodes++;
		assert_true(strlen(s.path) == 2 * s.depth);
	}
	assert_int_equal(more, 0);
	assert_int_equal(leaves, DEEP);
	assert_int_equal(nodes, DEEP + 1 + 3 * DEEP);
	tree_walk_close(tw);
	/* The same again, not going into the tenth. */
	assert_int_equal(tree_walk_open(&w.p->depot, &w.p->dec, &l.ct,
					&l.hint.hint, "/base/", &tw, &d), 0);
	for (leaves = 0; (more = tree_walk_next(tw, &s, &d)) > 0;) {
		leaves += s.event == TREE_LEAVE;
		if (s.event == TREE_NODE && s.node->type == NODE_DIR &&
		    s.depth == 10) {
			assert_int_equal(strncmp(s.path, "/base/d/d", 9), 0);
			tree_walk_skip(tw);
			skips++;
		}
	}
	assert_int_equal(skips, 1);
	assert_int_equal(leaves, 9);
	tree_walk_close(tw);
	hintset_release(&l.hint);
	world_release(&w);
}

/* A directory that cannot be read is left; the walk goes on behind it. */
static void test_walk_over_damage(void **state)
{
	static const char *const want[] = {
		"+/a", "+/a/1", "</a", "+/b", "!/b", "+/c", "+/c/3", "</c",
		"+/d",
	};
	struct node n = { .type = NODE_DIR, .name = "b" };
	struct akin_diag d = { 0 };
	struct tree_step s;
	struct tree_walk *tw;
	struct listing l;
	struct world w;
	char got[32];
	int more;
	u32 i;

	world_init(&w);
	begin(w.tb);
	begin(w.tb);
	add(w.tb, "1", 1);
	end_into(w.tb, "a");
	/* b's listing is nowhere. */
	n.content.kind = CONTENT_ROOT;
	n.content.bytes = 100;
	memset(&n.content.root, 5, sizeof(n.content.root));
	assert_int_equal(tree_builder_add(w.tb, &n, NULL, &d), 0);
	begin(w.tb);
	add(w.tb, "3", 1);
	end_into(w.tb, "c");
	add(w.tb, "d", 1);
	l = end(w.tb);
	world_seal(&w);
	assert_int_equal(tree_walk_open(&w.p->depot, &w.p->dec, &l.ct,
					&l.hint.hint, "", &tw, &d), 0);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		more = tree_walk_next(tw, &s, &d);
		assert_true(more != 0);
		snprintf(got, sizeof(got), "%c%s", more < 0 ? '!' :
			 s.event == TREE_LEAVE ? '<' : '+', s.path);
		assert_string_equal(got, want[i]);
		if (more < 0) {
			assert_int_equal(more, -AKIN_E_fp_unknown);
			assert_int_equal(strncmp(d.text, "'/b': ", 6), 0);
		}
	}
	assert_int_equal(tree_walk_next(tw, &s, &d), 0);
	tree_walk_close(tw);
	hintset_release(&l.hint);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_change_is_local),
		cmocka_unit_test(test_order_is_refused),
		cmocka_unit_test(test_hostile_listings),
		cmocka_unit_test(test_large_among_small),
		cmocka_unit_test(test_deep_walk),
		cmocka_unit_test(test_walk_over_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
