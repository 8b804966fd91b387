/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: what is committed comes back, what is not is nowhere, calls in any
 * other order change nothing, and threads do not mind each other.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "sessionfix.h"
#include "store/store.h"

static void test_round_trip(void **state)
{
	static const struct akin_attribute attributes[] = {
		{ "z", "last", 4 }, { "a", "first", 5 },
	};
	struct akin_object_options opt = { .attributes = attributes,
					   .nr_attributes = 2,
					   .mtime_sec = -5 };
	struct akin_object_name on = sf_name("/db/", "t//2", "rows");
	struct akin_object_name dir = { "db", NULL, "t",
					AKIN_OBJECT_DIRECTORY };
	struct akin_object_query q = { .space = "db", .path = "t/2" };
	struct akin_session *s = sf_open(*state);
	struct akin_diag d = { 0 };
	struct akin_object_stats st;
	struct akin_object obj, other;
	u8 *a = sf_make(1, 300000);
	struct akin_txn_result r;
	void *room;
	size_t n;

	sf_begin(s);
	assert_int_equal(akin_object_begin(s, &on, &opt, &obj, &d), 0);
	assert_int_equal(akin_object_begin(s, &dir, &opt, &other, &d), 0);
	assert_int_equal(akin_object_send(s, obj, a, 100000, &d), 0);
	assert_int_equal(akin_object_end(s, other, &st, &d), 0);
	assert_int_equal(st.bytes, 0);
	assert_int_equal(akin_object_room(s, obj, &room, &n, &d), 0);
	n = n < 5 ? n : 5;
	memcpy(room, a + 100000, n);
	assert_int_equal(akin_object_filled(s, obj, n, &d), 0);
	assert_int_equal(akin_object_send(s, obj, a + 100000 + n,
					  200000 - n, &d), 0);
	assert_int_equal(akin_object_end(s, obj, &st, &d), 0);
	assert_int_equal(st.bytes, 300000);
	assert_int_equal(st.bytes_new, 300000);
	assert_int_equal(st.chunks, st.chunks_new);
	/* Random bytes do not shrink. */
	assert_in_range(st.bytes_stored, 300000, 310000);
	assert_in_range(st.bytes_plain, 300000, 310000);
	assert_int_equal(sf_put(s, "db", "", "copy", a, 300000, &st, &d), 0);
	assert_int_equal(st.bytes, 300000);
	assert_int_equal(st.bytes_new, 0);
	assert_int_equal(st.bytes_stored, 0);
	sf_must_put(s, "db", "", "empty", "", 0);
	sf_must_put(s, "db", "t", "small", "abc", 3);
	/* Nothing is there before the commit. */
	assert_int_equal(sf_list(s, NULL).nr, 0);
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, &d), 0);
	assert_int_equal(r.reason, AKIN_TXN_COMMITTED);
	assert_int_equal(r.objects, 5);
	assert_int_equal(r.bytes, 600003);
	assert_int_equal(r.bytes_new, 300000);
	assert_in_range(r.bytes_stored, 300000, 330000);
	assert_string_equal(sf_list(s, NULL).text,
			    "db||copy|1|300000\n"
			    "db||empty|1|0\n"
			    "db||t|2|0|a=first|z=last\n"
			    "db|t/2|rows|1|300000|a=first|z=last\n"
			    "db|t|small|1|3\n");
	assert_string_equal(sf_list(s, &q).text,
			    "db|t/2|rows|1|300000|a=first|z=last\n");
	sf_expect(s, r.transaction, "db", "t/2", "rows", a, 300000);
	akin_session_close(s);
	s = sf_open(*state);
	sf_expect(s, 0, "db", "/t/2/", "rows", a, 300000);
	sf_expect(s, 0, "db", "", "copy", a, 300000);
	sf_expect(s, 0, "db", "t", "small", (const u8 *)"abc", 3);
	sf_expect(s, 0, "db", "", "empty", (const u8 *)"", 0);
	akin_session_close(s);
	free(a);
}

static void test_holes(void **state)
{
	struct akin_object_name on = sf_name("s", "", "sparse");
	struct akin_session *s = sf_open(*state);
	struct akin_object obj;
	struct akin_diag d = { 0 };
	u8 *a = sf_make(2, 50000), *want = calloc(1, 150000);
	u64 txn;

	memcpy(want, a, 20000);
	memcpy(want + 120000, a + 20000, 30000);
	sf_begin(s);
	assert_int_equal(akin_object_begin(s, &on, NULL, &obj, &d), 0);
	assert_int_equal(akin_object_send(s, obj, a, 20000, &d), 0);
	assert_int_equal(akin_object_hole(s, obj, 100000, &d), 0);
	assert_int_equal(akin_object_send(s, obj, a + 20000, 30000, &d), 0);
	assert_int_equal(akin_object_end(s, obj, NULL, &d), 0);
	txn = sf_commit(s);
	sf_expect(s, txn, "s", "", "sparse", want, 150000);
	akin_session_close(s);
	free(a);
	free(want);
}

static void test_versions(void **state)
{
	struct akin_object_query newest = { .newest = true };
	struct akin_object_query by_name = { .name = "[ab]" };
	struct akin_session *s = sf_open(*state);
	struct akin_object_stats st;
	struct akin_diag d = { 0 };
	u8 *a = sf_make(3, 200000);
	u64 one, two;

	sf_begin(s);
	sf_must_put(s, "s", "", "a", a, 200000);
	sf_must_put(s, "s", "", "c", a, 10);
	one = sf_commit(s);
	sf_begin(s);
	a[100000] ^= 1;
	assert_int_equal(sf_put(s, "s", "", "a", a, 200000, &st, &d), 0);
	/* One chunk of 1 KiB on average has changed. */
	assert_in_range(st.bytes_new, 1, 20000);
	sf_must_put(s, "other", "", "b", a, 10);
	two = sf_commit(s);
	assert_true(two > one);
	sf_expect(s, two, "s", "", "a", a, 200000);
	sf_expect(s, 0, "s", "", "a", a, 200000);
	/* The newest transaction has it not, but an older one. */
	sf_expect(s, 0, "s", "", "c", a, 10);
	a[100000] ^= 1;
	sf_expect(s, one, "s", "", "a", a, 200000);
	assert_string_equal(sf_list(s, NULL).text,
			    "s||a|1|200000\ns||c|1|10\n"
			    "other||b|1|10\ns||a|1|200000\n");
	assert_string_equal(sf_list(s, &newest).text,
			    "other||b|1|10\ns||a|1|200000\n");
	assert_string_equal(sf_list(s, &by_name).text,
			    "s||a|1|200000\nother||b|1|10\ns||a|1|200000\n");
	akin_session_close(s);
	free(a);
}

static void test_wrong_order(void **state)
{
	struct akin_object_name on = sf_name("s", "", "a");
	struct akin_object_name other = sf_name("s", "", "b");
	struct akin_object_name dir = { "s", "", "d", AKIN_OBJECT_DIRECTORY };
	struct akin_session *s = sf_open(*state);
	struct akin_object obj = { 0 }, gone, dobj;
	struct akin_txn_result r;
	void *room;
	size_t n;

	REFUSED(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, NULL), sequence);
	REFUSED(akin_txn_end(s, AKIN_VOTE_ABORT, &r, NULL), sequence);
	REFUSED(akin_object_begin(s, &on, NULL, &obj, NULL), sequence);
	REFUSED(akin_object_send(s, obj, "x", 1, NULL), sequence);
	sf_begin(s);
	REFUSED(akin_txn_begin(s, NULL, NULL), sequence);
	REFUSED(akin_txn_end(s, 3, &r, NULL), usage);
	REFUSED(akin_object_send(s, obj, "x", 1, NULL), sequence);
	assert_int_equal(akin_object_begin(s, &on, NULL, &obj, NULL), 0);
	REFUSED(akin_object_begin(s, &on, NULL, &gone, NULL), exists);
	REFUSED(akin_object_filled(s, obj, 0, NULL), sequence);
	REFUSED(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, NULL), sequence);
	assert_int_equal(akin_object_room(s, obj, &room, &n, NULL), 0);
	REFUSED(akin_object_room(s, obj, &room, &n, NULL), sequence);
	REFUSED(akin_object_send(s, obj, "x", 1, NULL), sequence);
	REFUSED(akin_object_hole(s, obj, 1, NULL), sequence);
	REFUSED(akin_object_end(s, obj, NULL, NULL), sequence);
	REFUSED(akin_object_filled(s, obj, n + 1, NULL), usage);
	memcpy(room, "abc", 3);
	assert_int_equal(akin_object_filled(s, obj, 3, NULL), 0);
	REFUSED(akin_object_filled(s, obj, 0, NULL), sequence);
	gone = obj;
	assert_int_equal(akin_object_end(s, obj, NULL, NULL), 0);
	REFUSED(akin_object_end(s, gone, NULL, NULL), sequence);
	assert_int_equal(akin_object_begin(s, &other, NULL, &obj, NULL), 0);
	REFUSED(akin_object_send(s, gone, "x", 1, NULL), sequence);
	assert_int_equal(akin_object_end(s, obj, NULL, NULL), 0);
	assert_int_equal(akin_object_begin(s, &dir, NULL, &dobj, NULL), 0);
	REFUSED(akin_object_send(s, dobj, "x", 1, NULL), sequence);
	REFUSED(akin_object_hole(s, dobj, 1, NULL), sequence);
	assert_int_equal(akin_object_end(s, dobj, NULL, NULL), 0);
	sf_commit(s);
	REFUSED(akin_object_send(s, obj, "x", 1, NULL), sequence);
	/* After all that, it is what was sent. */
	assert_string_equal(sf_list(s, NULL).text,
			    "s||a|1|3\ns||b|1|0\ns||d|2|0\n");
	sf_expect(s, 0, "s", "", "a", (const u8 *)"abc", 3);
	akin_session_close(s);
}

static void test_names(void **state)
{
	static const struct {
		const char *space, *path, *name;
	} bad[] = {
		{ "", "", "a" }, { NULL, "", "a" }, { "s", "", "" },
		{ "s", "", NULL }, { "s", "", "a/b" }, { "s", "", "." },
		{ "s", "", ".." }, { "s/..", "", "a" }, { "s", "x/./y", "a" },
		{ "//", "", "a" },
	};
	struct akin_attribute twice[] = { { "k", "1", 1 }, { "k", "2", 1 } };
	struct akin_attribute ours = { "akin.type", "1", 1 };
	struct akin_object_options opt = { .attributes = twice,
					   .nr_attributes = 2 };
	struct akin_session *s = sf_open(*state);
	struct akin_object_name on;
	struct akin_txn_result r;
	char name[300];
	struct akin_object obj;
	size_t i;

	sf_begin(s);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		on = sf_name(bad[i].space, bad[i].path, bad[i].name);
		REFUSED(akin_object_begin(s, &on, NULL, &obj, NULL), usage);
		assert_int_equal(obj.v, 0);
	}
	memset(name, 'x', sizeof(name));
	name[256] = 0;
	on = sf_name("s", "", name);
	REFUSED(akin_object_begin(s, &on, NULL, &obj, NULL), usage);
	on = sf_name("s", name, "a");
	REFUSED(akin_object_begin(s, &on, NULL, &obj, NULL), usage);
	on = sf_name("s", "", "a");
	REFUSED(akin_object_begin(s, &on, &opt, &obj, NULL), usage);
	opt.attributes = &ours;
	opt.nr_attributes = 1;
	REFUSED(akin_object_begin(s, &on, &opt, &obj, NULL), usage);
	ours.name = "";
	REFUSED(akin_object_begin(s, &on, &opt, &obj, NULL), usage);
	/* Bytes that no text would have are fine. */
	name[255] = 0;
	sf_must_put(s, "s p\n", "\xff\x01", name, "1", 1);
	sf_must_put(s, "s p\n", "a", "b", "2", 1);
	sf_must_put(s, "s p\n", "a!", "c", "3", 1);
	sf_must_put(s, "s p\n", "", "a.", "4", 1);
	/* A space in or above another is ambiguous. */
	on = sf_name("s p\n/a", "", "x");
	REFUSED(akin_object_begin(s, &on, NULL, &obj, NULL), usage);
	sf_commit(s);
	assert_int_equal(sf_list(s, NULL).nr, 4);
	sf_expect(s, 0, "s p\n", "\xff\x01", name, (const u8 *)"1", 1);
	sf_expect(s, 0, "s p\n", "a!", "c", (const u8 *)"3", 1);
	sf_expect(s, 0, "s p\n", "", "a.", (const u8 *)"4", 1);
	/* A file cannot have something below it. */
	sf_begin(s);
	sf_must_put(s, "s", "a", "b", "1", 1);
	sf_must_put(s, "s", "a/b", "c", "1", 1);
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, NULL), 0);
	assert_int_equal(r.reason, AKIN_TXN_NAMES);
	assert_int_equal(r.code, -AKIN_E_usage);
	assert_int_equal(r.transaction, 0);
	sf_begin(s);
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, NULL), 0);
	assert_int_equal(r.reason, AKIN_TXN_EMPTY);
	assert_int_equal(sf_list(s, NULL).nr, 4);
	akin_session_close(s);
}

static void test_abort(void **state)
{
	struct akin_object_name on = sf_name("s", "", "open");
	struct akin_session *s = sf_open(*state);
	struct akin_object obj;
	struct akin_txn_result r;
	struct akin_diag d = { 0 };
	u8 *a = sf_make(4, 3000000);

	sf_begin(s);
	sf_must_put(s, "s", "", "a", a, 3000000);
	assert_int_equal(akin_object_begin(s, &on, NULL, &obj, &d), 0);
	assert_int_equal(akin_object_send(s, obj, a, 1000, &d), 0);
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_ABORT, &r, &d), 0);
	assert_int_equal(r.reason, AKIN_TXN_ABORTED);
	assert_int_equal(r.code, 0);
	assert_int_equal(d.code, 0);
	REFUSED(akin_object_send(s, obj, a, 1, NULL), sequence);
	/* Closing in the middle is an abort. */
	sf_begin(s);
	sf_must_put(s, "s", "", "a", a, 100000);
	assert_int_equal(akin_object_begin(s, &on, NULL, &obj, &d), 0);
	akin_session_close(s);
	s = sf_open(*state);
	assert_int_equal(sf_list(s, NULL).nr, 0);
	assert_int_equal(simpool_nr_snapshots(*state, &d), 0);
	sf_begin(s);
	sf_must_put(s, "s", "", "b", a, 100000);
	sf_commit(s);
	assert_string_equal(sf_list(s, NULL).text, "s||b|1|100000\n");
	akin_session_close(s);
	free(a);
}

static void test_stopped(void **state)
{
	struct akin_session *s = sf_open(*state);
	struct akin_object_name on = sf_name("s", "", "a");
	struct akin_object obj;
	struct akin_txn_result r;

	sf_begin(s);
	assert_int_equal(akin_object_begin(s, &on, NULL, &obj, NULL), 0);
	akin_session_stop(s);
	REFUSED(akin_object_send(s, obj, "x", 1, NULL), interrupted);
	/* Doomed: the same for everything, also what would be no call. */
	REFUSED(akin_object_end(s, obj, NULL, NULL), interrupted);
	REFUSED(akin_object_begin(s, &on, NULL, &obj, NULL), interrupted);
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, NULL), 0);
	assert_int_equal(r.reason, AKIN_TXN_STOPPED);
	REFUSED(akin_txn_begin(s, NULL, NULL), interrupted);
	akin_session_close(s);
	s = sf_open(*state);
	assert_int_equal(sf_list(s, NULL).nr, 0);
	akin_session_close(s);
}

static void test_disk_full(void **state)
{
	struct simpool *sp = *state;
	struct akin_session *s = sf_open(sp);
	struct akin_object_name on = sf_name("s", "", "big");
	struct akin_txn_result r;
	struct akin_object obj;
	struct akin_diag d = { 0 };
	u8 *a = sf_make(5, 1 << 20);
	int err, i;

	sf_begin(s);
	sf_must_put(s, "s", "", "a", a, 100000);
	sf_commit(s);
	simdisk_set_capacity(sp->data, simdisk_used(sp->data) + (2 << 20));
	sf_begin(s);
	assert_int_equal(akin_object_begin(s, &on, NULL, &obj, &d), 0);
	for (err = i = 0; !err && i < 64; i++) {
		free(a);
		a = sf_make(100 + (u64)i, 1 << 20);
		err = akin_object_send(s, obj, a, 1 << 20, &d);
	}
	assert_int_equal(err, -AKIN_E_nospace);
	REFUSED(akin_object_end(s, obj, NULL, NULL), nospace);
	memset(&d, 0, sizeof(d));
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, &d), 0);
	assert_int_equal(r.reason, AKIN_TXN_NO_SPACE);
	assert_int_equal(r.code, -AKIN_E_nospace);
	assert_true(strlen(d.text) > 0);
	simdisk_set_capacity(sp->data, 0);
	sf_begin(s);
	sf_must_put(s, "s", "", "b", a, 100000);
	sf_commit(s);
	assert_string_equal(sf_list(s, NULL).text,
			    "s||a|1|100000\ns||b|1|100000\n");
	akin_session_close(s);
	free(a);
}

/* With one stream more than fits, opening it would wait for ever. */
static void limits_with(struct simpool *sp, enum akin_engine engine)
{
	struct akin_object_name on = sf_name("s", "", "r");
	struct akin_diag d = { 0 };
	struct akin_session *s;
	struct akin_session_limits l;
	struct akin_object obj, *all;
	struct akin_reader **readers;
	struct akin_txn_result r;
	char name[32];
	u32 i;
	int err = 0;

	if (sf_try_open_with(sp, engine, &s, &d))
		fail_msg("%s", d.text);
	akin_session_get_limits(s, &l);
	assert_true(l.can_write);
	assert_in_range(l.max_open, 1, 1024);
	assert_in_range(l.max_objects, 500, 10000);
	sf_begin(s);
	all = calloc(l.max_open, sizeof(*all));
	for (i = 0; i < l.max_open; i++) {
		snprintf(name, sizeof(name), "%u", i);
		on.name = name;
		assert_int_equal(akin_object_begin(s, &on, NULL, &all[i],
						   NULL), 0);
		assert_int_equal(akin_object_send(s, all[i], name, 4, NULL),
				 0);
	}
	on.name = "more";
	REFUSED(akin_object_begin(s, &on, NULL, &obj, NULL), too_large);
	for (i = 0; i < l.max_open; i++)
		assert_int_equal(akin_object_end(s, all[i], NULL, NULL), 0);
	for (i = l.max_open; !err; i++) {
		snprintf(name, sizeof(name), "%u", i);
		err = sf_put(s, "s", "", name, name, 4, NULL, NULL);
	}
	assert_int_equal(err, -AKIN_E_too_large);
	assert_true(i - 1 >= l.max_objects);
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, NULL), 0);
	assert_int_equal(r.reason, 0);
	assert_int_equal(r.objects, i - 1);
	readers = calloc(l.max_readers + 1, sizeof(struct akin_reader *));
	on.name = "1";
	for (i = 0; i < l.max_readers; i++)
		assert_int_equal(akin_object_open(s, 0, &on, &readers[i],
						  NULL), 0);
	REFUSED(akin_object_open(s, 0, &on, &readers[i], NULL), too_large);
	akin_object_close(readers[0]);
	assert_int_equal(akin_object_open(s, 0, &on, &readers[0], NULL), 0);
	on.name = "no";
	akin_object_close(readers[0]);
	REFUSED(akin_object_open(s, 0, &on, &readers[0], NULL), path_unknown);
	akin_session_close(s);	/* closes the others */
	free(readers);
	free(all);
}

static void test_limits(void **state)
{
	limits_with(*state, AKIN_ENGINE_IDENTITY);
	limits_with(*state, AKIN_ENGINE_SIMILARITY);
	limits_with(*state, AKIN_ENGINE_HYBRID);
}

/* However many passes it takes, the histogram is the same; and what it has is
 * what was stored. */
static void test_histogram(void **state)
{
	struct akin_session *s = sf_open(*state);
	struct akin_histogram one, many;
	struct akin_diag d = { 0 };
	u8 *a = sf_make(9, 4 << 20);
	struct akin_pool *p;

	sf_begin(s);
	sf_must_put(s, "s", "", "a", a, 4 << 20);
	sf_must_put(s, "s", "", "b", a, 4 << 20);
	sf_must_put(s, "s", "", "c", a + (1 << 20), 1 << 20);
	sf_commit(s);
	akin_session_close(s);
	assert_int_equal(simpool_open(*state, true, &p, &d), 0);
	if (akin_stats_histogram(p, NULL, NULL, &one, &d))
		fail_msg("%s", d.text);
	p->budget.streams = 1;
	if (akin_stats_histogram(p, NULL, NULL, &many, &d))
		fail_msg("%s", d.text);
	assert_int_equal(one.passes, 1);
	assert_true(many.passes >= 4);
	many.passes = one.passes;
	assert_memory_equal(&one, &many, sizeof(one));
	assert_int_equal(one.total.ref_raw, 9 << 20);
	/* Twice, and in the middle of them three times (row 1 is both). */
	assert_in_range(one.rows[1].bytes_raw, (4 << 20) - 70000, 4 << 20);
	assert_int_equal(one.unreferenced.chunks, 0);
	assert_int_equal(one.missing, 0);
	assert_in_range(one.total.bytes_stored, 4 << 20, 5 << 20);
	akin_pool_close(p);
	free(a);
}

/* Forget @number and reclaim; bytes that somebody at work keeps. */
static u64 reclaim(struct simpool *sp, u64 number)
{
	struct akin_forget_options f = { .snapshots = &number,
					 .nr_snapshots = number != 0 };
	struct akin_gc_options opt = { .threshold = 1 };
	struct akin_forget_result fr;
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	assert_int_equal(simpool_open(sp, false, &p, &d), 0);
	if (number && akin_forget(p, &f, &fr, &d))
		fail_msg("%s", d.text);
	if (akin_gc(p, &opt, &r, &d))
		fail_msg("%s", d.text);
	akin_pool_close(p);
	return r.kept_held_bytes;
}

/* What is open for reading stays, whoever forgets it; a session with nothing
 * open holds up nothing once it does something. */
static void test_reclaiming(void **state)
{
	struct akin_object_name on = sf_name("s", "", "a");
	struct akin_session *s = sf_open(*state), *other;
	struct akin_reader *r;
	struct akin_diag d = { 0 };
	u8 *a = sf_make(10, 2 << 20), *got = malloc(2 << 20);
	size_t n;
	u64 one;

	sf_begin(s);
	sf_must_put(s, "s", "", "a", a, 2 << 20);
	one = sf_commit(s);
	sf_begin(s);
	sf_must_put(s, "s", "", "b", a, 100);
	sf_commit(s);
	assert_int_equal(akin_object_open(s, one, &on, &r, &d), 0);
	assert_true(reclaim(*state, one) > 2 << 20);
	/* It is in no list any more. */
	assert_int_equal(sf_list(s, NULL).nr, 1);
	other = sf_open(*state);
	REFUSED(akin_object_open(other, one, &on, &r, NULL), snap_unknown);
	akin_session_close(other);
	if (akin_reader_read(r, 0, got, 2 << 20, &n, &d))
		fail_msg("%s", d.text);
	assert_int_equal(n, 2 << 20);
	assert_memory_equal(got, a, 2 << 20);
	akin_object_close(r);
	assert_true(reclaim(*state, 0) > 2 << 20);
	assert_int_equal(sf_list(s, NULL).nr, 1);
	assert_int_equal(reclaim(*state, 0), 0);
	sf_expect(s, 0, "s", "", "b", a, 100);
	/* What it stores next does not rely on what has gone. */
	sf_begin(s);
	sf_must_put(s, "s", "", "a", a, 2 << 20);
	one = sf_commit(s);
	akin_session_close(s);
	s = sf_open(*state);
	sf_expect(s, one, "s", "", "a", a, 2 << 20);
	akin_session_close(s);
	free(a);
	free(got);
}

/* Threads ------------------------------------------------------------------ */

#define NR_THREADS 6
#define THREAD_BYTES 150000

struct sender {
	struct akin_session *s;
	u32 nr;
	pthread_t thread;
};

static void *send_some(void *arg)
{
	struct sender *me = arg;
	struct akin_object_stats st;
	struct akin_diag d = { 0 };
	char name[32];
	u8 *a;
	u32 i;
	int err;

	for (i = 0; i < 4; i++) {
		a = sf_make(1000 + me->nr * 4 + i, THREAD_BYTES);
		snprintf(name, sizeof(name), "t%u.%u", me->nr, i);
		/* There are more threads than may send at once. */
		do {
			memset(&d, 0, sizeof(d));
			err = sf_put(me->s, "s", "x", name, a, THREAD_BYTES,
				  i % 2 ? &st : NULL, &d);
		} while (err == -AKIN_E_too_large && sched_yield() == 0);
		if (err)
			abort();
		if (i % 2 && (st.bytes != THREAD_BYTES ||
			      st.bytes_new != THREAD_BYTES))
			abort();
		free(a);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct akin_session *s = sf_open(*state);
	struct sender senders[NR_THREADS];
	char name[32];
	u32 i, k;
	u64 txn;
	u8 *a;

	sf_begin(s);
	for (i = 0; i < NR_THREADS; i++) {
		senders[i] = (struct sender){ .s = s, .nr = i };
		assert_int_equal(pthread_create(&senders[i].thread, NULL,
						send_some, &senders[i]), 0);
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(senders[i].thread, NULL);
	txn = sf_commit(s);
	for (i = 0; i < NR_THREADS; i++) {
		for (k = 0; k < 4; k++) {
			a = sf_make(1000 + i * 4 + k, THREAD_BYTES);
			snprintf(name, sizeof(name), "t%u.%u", i, k);
			sf_expect(s, txn, "s", "x", name, a, THREAD_BYTES);
			free(a);
		}
	}
	akin_session_close(s);
}

struct worker {
	struct simpool *sp;
	u32 nr;
	pthread_t thread;
};

static void *run_session(void *arg)
{
	struct worker *me = arg;
	struct akin_session *s = sf_open(me->sp);
	u8 *a = sf_make(2000 + me->nr, THREAD_BYTES);
	char space[16];
	u64 txn;
	u32 i;

	snprintf(space, sizeof(space), "w%u", me->nr);
	for (i = 0; i < 3; i++) {
		a[i * 1000]++;
		sf_begin(s);
		sf_must_put(s, space, "", "a", a, THREAD_BYTES);
		txn = sf_commit(s);
		sf_expect(s, txn, space, "", "a", a, THREAD_BYTES);
	}
	akin_session_close(s);
	free(a);
	return NULL;
}

static void test_sessions(void **state)
{
	struct worker w[4];
	struct akin_session *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(w); i++) {
		w[i] = (struct worker){ .sp = *state, .nr = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL,
						run_session, &w[i]), 0);
	}
	for (i = 0; i < ARRAY_SIZE(w); i++)
		pthread_join(w[i].thread, NULL);
	s = sf_open(*state);
	assert_int_equal(sf_list(s, NULL).nr, 12);
	akin_session_close(s);
}

/* An abort from another thread, while data is being sent. */
struct endless {
	struct akin_session *s;
	atomic_bool sending;
};

static void *send_for_ever(void *arg)
{
	struct endless *me = arg;
	struct akin_session *s = me->s;
	struct akin_object_name on = sf_name("s", "", "a");
	u8 *a = sf_make(6, 100000);
	struct akin_object obj;
	intptr_t err;

	err = akin_object_begin(s, &on, NULL, &obj, NULL);
	while (!err) {
		err = akin_object_send(s, obj, a, 100000, NULL);
		atomic_store(&me->sending, true);
	}
	free(a);
	return (void *)err;
}

static void test_abort_from_aside(void **state)
{
	struct akin_session *s = sf_open(*state);
	struct endless e = { .s = s };
	struct akin_txn_result r;
	pthread_t thread;
	void *result;

	sf_begin(s);
	assert_int_equal(pthread_create(&thread, NULL, send_for_ever, &e), 0);
	while (!atomic_load(&e.sending))
		sched_yield();
	REFUSED(akin_txn_end(s, AKIN_VOTE_COMMIT, &r, NULL), sequence);
	assert_int_equal(akin_txn_end(s, AKIN_VOTE_ABORT, &r, NULL), 0);
	assert_int_equal(r.reason, AKIN_TXN_ABORTED);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -AKIN_E_sequence);
	assert_int_equal(sf_list(s, NULL).nr, 0);
	akin_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_holes, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_versions, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_wrong_order, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_names, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_abort, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_stopped, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_disk_full, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_limits, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_histogram, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_reclaiming, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_threads, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_sessions, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_abort_from_aside, sf_setup,
						sf_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
