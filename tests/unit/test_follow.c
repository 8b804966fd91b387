/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following a predecessor: how much of what is there is found without an index
 * or with a sample of it; and that nothing that is wrong with a predecessor
 * ever fails a backup.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "testlib.h"

#include "base/mem.h"
#include "follow/follow_internal.h"
#include "followworld.h"
#include "ingest/session_internal.h"
#include "ingest/stream_internal.h"
#include "store/store.h"

#define OK(expr) assert_int_equal(expr, 0)

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
static struct object *expect_found_at(int line, struct followworld *w,
				      u32 every, const struct bytes *v,
				      const struct object *after, u32 one_in)
{
	struct followworld exact;
	struct object *o;
	u64 dups, lost;

	memset(&exact, 0, sizeof(exact));
	exact.sp = simpool_clone(&w->sp);
	fw_put(&exact, WHOLE, v->b, v->n, NULL);
	o = fw_put(w, every, v->b, v->n, after);
	assert_true(w->counts.chunks == exact.counts.chunks);
	dups = exact.counts.chunks - exact.counts.chunks_new;
	assert_true(w->counts.chunks_new >= exact.counts.chunks_new);
	lost = w->counts.chunks_new - exact.counts.chunks_new;
	if (lost > dups / one_in)
		fail_msg("line %d: %llu of %llu duplicates were missed", line,
			 (unsigned long long)lost, (unsigned long long)dups);
	fw_release(&exact);
	return o;
}
#define expect_found(...) expect_found_at(__LINE__, __VA_ARGS__)

/* Every kind of change, without any index. */
static void test_changes_blind(void **state)
{
	struct bytes v = bytes_random(1, 6 << 20);
	struct object *o;
	struct followworld w;
	u32 i;

	fw_init(&w);
	o = fw_put(&w, WHOLE, v.b, v.n, NULL);
	/* nothing */
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* a byte in front */
	bytes_splice(&v, 0, 0, 1, 2);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* insertions, short and long */
	bytes_splice(&v, 1 << 20, 0, 100, 3);
	bytes_splice(&v, 3 << 20, 0, 1500000, 4);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* deletions */
	bytes_splice(&v, 500000, 300, 0, 0);
	bytes_splice(&v, 2500000, 1000000, 0, 0);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* overwriting, here and there */
	for (i = 0; i < 40; i++)
		bytes_splice(&v, 100000 * i + 77, 500, 500, 10 + i);
	bytes_splice(&v, 4 << 20, 800000, 800000, 99);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	/* the end is gone; the end is new */
	bytes_splice(&v, v.n - 700000, 700000, 0, 0);
	o = expect_found(&w, NOTHING, &v, o, 1000000);
	bytes_splice(&v, v.n, 0, 700000, 100);
	expect_found(&w, NOTHING, &v, o, 1000000);
	fw_release(&w);
	free(v.b);
}

/* What is moved is found again where the window reaches: a part of it. */
static void test_moved_blind(void **state)
{
	struct bytes v = bytes_random(5, 4 << 20);
	struct object *o;
	struct followworld w;

	fw_init(&w);
	o = fw_put(&w, WHOLE, v.b, v.n, NULL);
	move(&v, 1 << 20, 300000, 2 << 20);
	expect_found(&w, NOTHING, &v, o, 50);
	fw_release(&w);
	free(v.b);
}

/*
 * A series whose names never repeat, with one fingerprint in 16 in memory:
 * led by hits.
 */
static void test_series_by_hits(void **state)
{
	struct bytes v = bytes_random(6, 6 << 20);
	struct rng r = { 7 };
	struct followworld w;
	u32 i, k;

	fw_init(&w);
	fw_put(&w, WHOLE, v.b, v.n, NULL);
	for (i = 0; i < 6; i++) {
		for (k = 0; k < 30; k++)
			bytes_splice(&v, rng_below(&r, v.n - 4000),
			       rng_below(&r, 3000), rng_below(&r, 3000),
			       rng_next(&r));
		expect_found(&w, 16, &v, NULL, 100);
		/* Most come with the directories that were read for some. */
		assert_true(w.stats.found > 0);
		assert_int_equal(w.stats.leads_failed, 0);
		assert_in_range(w.stats.leads, 1, 3);
	}
	fw_release(&w);
	free(v.b);
}

/* An image in the middle of something else, and two of them. */
static void test_inside_another(void **state)
{
	struct bytes image = bytes_random(8, 3 << 20);
	struct bytes all = bytes_random(9, 9 << 20);
	struct followworld w;

	fw_init(&w);
	fw_put(&w, WHOLE, image.b, image.n, NULL);
	memcpy(all.b + 1234567, image.b, image.n);
	memcpy(all.b + 5234567, image.b, image.n);
	expect_found(&w, 16, &all, NULL, 50);
	assert_true(w.stats.leads - w.stats.leads_failed >= 1);
	fw_release(&w);
	free(image.b);
	free(all.b);
}

/* By name: many objects, small and large, each after its own. */
static void test_many_objects(void **state)
{
	struct bytes v[5];
	struct akin_diag d = { 0 };
	struct ingest_stream *st;
	struct followworld w;
	u32 i, round;

	fw_init(&w);
	for (i = 0; i < 5; i++)
		v[i] = bytes_random(20 + i, 3000 + i * i * 60000);
	for (round = 0; round < 2; round++) {
		st = fw_open_stream(&w, round ? NOTHING : WHOLE);
		for (i = 0; i < 5; i++) {
			OK(ingest_object_begin_after(st, round ?
					fw_known(&w.objects[i]) : NULL, &d));
			OK(ingest_write(st, v[i].b, v[i].n, &d));
			OK(ingest_object_end(st, NULL, &d));
		}
		OK(ingest_drain(st, &d));
		ingest_get_counts(st, &w.counts);
		fw_close_stream(&w, st);
	}
	assert_int_equal(w.counts.chunks_new, 0);
	fw_release(&w);
	for (i = 0; i < 5; i++)
		free(v[i].b);
}

/*
 * The third version is led to the second, though most of what it hits was
 * stored by the first.
 */
static void test_newest_leads(void **state)
{
	struct bytes v = bytes_random(40, 3 << 20);
	struct ingest_stream *st;
	struct object *second;
	struct akin_diag d = { 0 };
	struct followworld w;
	u32 i;

	fw_init(&w);
	fw_put(&w, WHOLE, v.b, v.n, NULL);
	for (i = 0; i < 30; i++)
		bytes_splice(&v, 100000 * i, 3000, 3000, 50 + i);
	second = fw_put(&w, WHOLE, v.b, v.n, NULL);
	assert_int_equal(w.stats.leads_failed, 0);
	assert_true(w.stats.leads >= 1);
	for (i = 0; i < 15; i++)
		bytes_splice(&v, 200000 * i + 50000, 3000, 3000, 150 + i);
	st = fw_open_stream(&w, WHOLE);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_drain(st, &d));
	assert_non_null(st->follow->pred);
	assert_true(fp_equal(&st->follow->pred->ct.root,
			     &second->ct.root));
	OK(ingest_object_end(st, NULL, &d));
	fw_close_stream(&w, st);
	fw_release(&w);
	free(v.b);
}

/*
 * Two versions in one session, whose recipes cannot be read yet: the sealed
 * container of the first is followed.
 */
static void test_same_session(void **state)
{
	struct bytes v = bytes_random(80, 3 << 20);
	struct ingest_stream *st;
	struct group_ref out[32];
	struct akin_diag d = { 0 };
	struct followworld w;

	fw_init(&w);
	st = fw_open_stream(&w, WHOLE);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	assert_null(st->follow->pred);
	bytes_splice(&v, 300000, 5000, 6000, 81);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, 500000, &d));
	OK(ingest_drain(st, &d));
	assert_non_null(st->follow->pred);
	assert_true(st->follow->pred->container > 0);
	assert_true(st->follow->nr > 0);
	assert_true(follow_near(st->follow, st->follow->nr - 1, out, 32) > 0);
	OK(ingest_object_end(st, NULL, &d));
	fw_close_stream(&w, st);
	fw_release(&w);
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
	struct bytes v = bytes_random(82, 5 << 20);
	struct ingest_stream *st;
	struct akin_diag d = { 0 };
	struct followworld w;

	fw_init(&w);
	st = fw_open_stream(&w, WHOLE);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	wait_sealed(w.s);
	bytes_splice(&v, 300000, 5000, 6000, 83);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, 600000, &d));
	OK(ingest_drain(st, &d));
	assert_non_null(st->follow->pred);
	assert_int_equal(st->follow->pred->container, 0);
	assert_true(fp_equal(&st->follow->pred->ct.root,
			     &w.objects[0].ct.root));
	OK(ingest_object_end(st, NULL, &d));
	fw_close_stream(&w, st);
	fw_release(&w);
	free(v.b);
}

/* The whole recipe can be read. */
static void expect_bytes(struct followworld *w, const struct object *o, u64 n)
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
	struct bytes v = bytes_random(84, 1 << 20);
	struct ingest_stream *st;
	struct akin_diag d = { 0 };
	struct object *o;
	struct followworld w;

	fw_init(&w);
	o = fw_put(&w, WHOLE, v.b, v.n, NULL);
	st = fw_open_stream(&w, NOTHING);
	OK(ingest_object_begin(st, &d));
	OK(ingest_write(st, v.b, v.n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	expect_bytes(&w, o, v.n);
	fw_close_stream(&w, st);
	fw_release(&w);
	free(v.b);
}

/* What is wrong with a predecessor ------------------------------------------*/

static void read_back(struct followworld *w, const struct object *o,
		      const struct bytes *v)
{
	fw_open(w, WHOLE);
	expect_bytes(w, o, v->n);
	fw_close(w);
}

static void test_wrong_predecessors(void **state)
{
	struct bytes v = bytes_random(60, 2 << 20);
	struct object bad, *o;
	struct followworld w;
	u64 nowhere[2] = { 7, UINT64_MAX };

	fw_init(&w);
	o = fw_put(&w, WHOLE, v.b, v.n, NULL);
	bytes_splice(&v, 1000000, 5000, 7000, 61);
	/* A root that is nowhere. */
	bad = *o;
	bad.ct.root.b[0] ^= 1;
	o = fw_put(&w, WHOLE, v.b, v.n, &bad);
	read_back(&w, o, &v);
	/* Lies about level and size. */
	bytes_splice(&v, 1000000, 5000, 7000, 62);
	bad = *o;
	bad.ct.level++;
	fw_put(&w, WHOLE, v.b, v.n, &bad);
	bad = *o;
	bad.ct.bytes = UINT64_MAX;
	o = fw_put(&w, WHOLE, v.b, v.n, &bad);
	/* A hint of what is not there. */
	bytes_splice(&v, 1000000, 5000, 7000, 63);
	bad = *o;
	bad.hint.containers = nowhere;
	bad.hint.nr = 2;
	o = fw_put(&w, WHOLE, v.b, v.n, &bad);
	/* Entries that are nowhere. */
	bytes_splice(&v, 1000000, 5000, 7000, 64);
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
	o = fw_put(&w, WHOLE, v.b, v.n, &bad);
	read_back(&w, o, &v);
	/* And nothing in it at all. */
	memset(&bad, 0, sizeof(bad));
	bad.ct.kind = CONTENT_ENTRIES;
	fw_put(&w, WHOLE, v.b, v.n, &bad);
	fw_release(&w);
	free(v.b);
}

/* Bytes of every container of metadata flipped, here and there. */
static void damage(struct followworld *w, u64 seed)
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
	struct bytes v = bytes_random(70, 2 << 20), next;
	struct object *o;
	struct followworld w, hurt;
	u32 i;

	fw_init(&w);
	o = fw_put(&w, WHOLE, v.b, v.n, NULL);
	next = bytes_copy(&v);
	bytes_splice(&next, 500000, 5000, 7000, 71);
	for (i = 0; i < 30; i++) {
		memset(&hurt, 0, sizeof(hurt));
		hurt.sp = simpool_clone(&w.sp);
		damage(&hurt, i);
		fw_put(&hurt, i % 2 ? 64 : WHOLE, next.b, next.n,
		    i % 3 ? o : NULL);
		fw_release(&hurt);
	}
	fw_release(&w);
	free(v.b);
	free(next.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_blind),
		cmocka_unit_test(test_moved_blind),
		cmocka_unit_test(test_series_by_hits),
		cmocka_unit_test(test_inside_another),
		cmocka_unit_test(test_many_objects),
		cmocka_unit_test(test_newest_leads),
		cmocka_unit_test(test_same_session),
		cmocka_unit_test(test_large_in_session),
		cmocka_unit_test(test_stored_again),
		cmocka_unit_test(test_wrong_predecessors),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
