/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalog when nothing goes wrong with the disk: exact contents, several
 * handles, callers that ask for the impossible.
 */
#include <stdio.h>

#include "testlib.h"

#include "base/buf.h"
#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "catalog/catalog_retention.h"
#include "catalog_cases.h"
#include "format/format_container.h"

struct env {
	struct simdisk *sd;
	struct disk *disk;
	struct catalog *c;
	struct akin_diag diag;
};

static void must(struct env *e, int err)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), e->diag.text);
}

/* It failed as it had to; the message is there, and gone for the next. */
static void must_fail(struct env *e, int err, int want)
{
	if (err != want)
		fail_msg("%s instead of %s: %s", akin_error_name(err),
			 akin_error_name(want), e->diag.text);
	assert_int_equal(e->diag.code, want);
	assert_true(e->diag.text[0] != '\0');
	memset(&e->diag, 0, sizeof(e->diag));
}

static void begin(struct env *e)
{
	memset(e, 0, sizeof(*e));
	e->sd = case_disk();
	e->disk = simdisk_attach(e->sd, true);
	must(e, case_open(e->disk, false, &e->c, &e->diag));
}

static void end(struct env *e)
{
	must(e, catalog_check(e->c, &e->diag));
	catalog_close(e->c);
	disk_free(e->disk);
	simdisk_free(e->sd);
}

static void backup(struct env *e, struct case_backup *b, int steps)
{
	int i;

	for (i = 0; i < steps; i++)
		must(e, case_step(e->c, b, i, &e->diag));
}

/* Lists -------------------------------------------------------------------*/

struct list {
	struct catalog_session sessions[8];
	struct catalog_container containers[16];
	struct catalog_run runs[16];
	u64 snapshots[8];
	u32 nr_sessions, nr_containers, nr_runs, nr_snapshots;
};

static int take_session(void *ctx, const struct catalog_session *s)
{
	struct list *l = ctx;

	assert_true(l->nr_sessions < ARRAY_SIZE(l->sessions));
	l->sessions[l->nr_sessions++] = *s;
	return 0;
}

static int take_container(void *ctx, const struct catalog_container *row)
{
	struct list *l = ctx;

	assert_true(l->nr_containers < ARRAY_SIZE(l->containers));
	l->containers[l->nr_containers++] = *row;
	return 0;
}

static int take_run(void *ctx, const struct catalog_run *run)
{
	struct list *l = ctx;

	assert_true(l->nr_runs < ARRAY_SIZE(l->runs));
	l->runs[l->nr_runs++] = *run;
	return 0;
}

static int take_snapshot(void *ctx, const struct snapshot *s)
{
	struct list *l = ctx;

	assert_true(l->nr_snapshots < ARRAY_SIZE(l->snapshots));
	l->snapshots[l->nr_snapshots++] = s->number;
	return 0;
}

static void list_all(struct env *e, struct catalog *c, struct list *l)
{
	memset(l, 0, sizeof(*l));
	must(e, catalog_each_session(c, take_session, l, &e->diag));
	must(e, catalog_each_container(c, take_container, l, &e->diag));
	must(e, catalog_each_run(c, take_run, l, &e->diag));
	must(e, catalog_each_snapshot(c, take_snapshot, l, &e->diag));
}

/* Tests -------------------------------------------------------------------*/

static void test_new_is_empty(void **state)
{
	struct catalog_totals totals;
	struct list *l = mem_zalloc(sizeof(*l));
	struct env e;
	u64 txn = 99;

	begin(&e);
	must_fail(&e, catalog_create(e.disk, &case_pool, &e.diag),
		  -AKIN_E_exists);
	list_all(&e, e.c, l);
	assert_int_equal(l->nr_sessions + l->nr_containers + l->nr_runs +
			 l->nr_snapshots, 0);
	must(&e, catalog_txn(e.c, &txn, &e.diag));
	assert_int_equal(txn, 0);
	must(&e, catalog_totals(e.c, &totals, &e.diag));
	assert_int_equal(totals.nr_snapshots, 0);
	assert_int_equal(totals.data_bytes, 0);
	end(&e);
	mem_free(l);
}

static void test_open_refuses(void **state)
{
	struct pool_id other = case_pool;
	struct catalog *c;
	struct disk *d2;
	struct simdisk *sd2;
	struct file *f;
	struct env e;

	begin(&e);
	other.b[0] ^= 1;
	must_fail(&e, catalog_open(e.disk, &other, NULL, &c, &e.diag),
		  -AKIN_E_bad_identity);
	assert_null(c);
	sd2 = simdisk_new("metadata");
	d2 = simdisk_attach(sd2, true);
	must_fail(&e, case_open(d2, false, &c, &e.diag), -AKIN_E_absent);
	must_fail(&e, case_open(d2, true, &c, &e.diag), -AKIN_E_absent);
	must(&e, disk_open(d2, FILE_CATALOG, DISK_WRITE | DISK_CREATE, &f,
			   &e.diag));
	must_fail(&e, case_open(d2, false, &c, &e.diag), -AKIN_E_catalog);
	must(&e, file_truncate(f, 65536, &e.diag));
	must(&e, file_close(f, &e.diag));
	must_fail(&e, case_open(d2, false, &c, &e.diag), -AKIN_E_catalog);
	disk_free(d2);
	simdisk_free(sd2);
	end(&e);
}

static void test_backup_exact(void **state)
{
	struct case_backup b = { .key = "a" };
	struct list *l = mem_zalloc(sizeof(*l));
	struct catalog_container row;
	struct catalog_totals t;
	struct snapshot s;
	struct env e;
	u64 txn;

	begin(&e);
	backup(&e, &b, CASE_STEPS);
	list_all(&e, e.c, l);
	assert_int_equal(l->nr_sessions, 1);
	assert_int_equal(l->sessions[0].number, 1);
	assert_int_equal(l->sessions[0].state, SESSION_COMMITTED);
	assert_int_equal(l->sessions[0].begin_txn, 1);
	assert_int_equal(l->sessions[0].begun_sec, -5);
	assert_int_equal(l->sessions[0].pid, 4242);
	assert_string_equal(l->sessions[0].host, "host-a");
	assert_string_equal(l->sessions[0].user, "user");
	assert_string_equal(l->sessions[0].command, "akin backup a");
	assert_string_equal(l->sessions[0].paths_key, "a");
	assert_int_equal(l->sessions[0].snapshot, 1);
	/* Of data, at the checkpoint and at the commit. */
	assert_int_equal(l->sessions[0].saved_bytes, 8 * MiB + 2);
	assert_int_equal(l->nr_containers, 4);
	assert_int_equal(l->containers[3].number, 4);
	assert_int_equal(l->containers[3].kind, CONTAINER_METADATA);
	assert_int_equal(l->nr_runs, 1);
	assert_int_equal(l->runs[0].number, 2);
	assert_int_equal(l->runs[0].tier, 1);
	assert_int_equal(l->nr_snapshots, 1);
	must(&e, catalog_container(e.c, 3, &row, &e.diag));
	assert_int_equal(row.file_bytes, 8 * MiB + 2);
	assert_int_equal(row.dir_off, 8 * MiB - 1000);
	assert_int_equal(row.dir_len, 900);
	assert_int_equal(row.nr_entries, 1002);
	assert_int_equal(row.raw_bytes, 16 * MiB);
	assert_int_equal(row.saved_bytes, 4 * MiB + 2);
	must_fail(&e, catalog_container(e.c, 5, &row, &e.diag),
		  -AKIN_E_absent);
	must(&e, catalog_totals(e.c, &t, &e.diag));
	assert_int_equal(t.nr_data_containers, 2);
	assert_int_equal(t.nr_meta_containers, 2);
	assert_int_equal(t.nr_chunks, 1000 + 1002);
	assert_int_equal(t.data_bytes, 16 * MiB + 2);
	assert_int_equal(t.saved_data_bytes, 8 * MiB + 2);
	assert_int_equal(t.meta_bytes, 16 * MiB + 4);
	assert_int_equal(t.raw_data_bytes, 32 * MiB);
	assert_int_equal(t.nr_runs, 1);
	assert_int_equal(t.run_entries, 5000);
	must(&e, catalog_txn(e.c, &txn, &e.diag));
	assert_int_equal(txn, CASE_STEPS);
	must(&e, catalog_snapshot(e.c, 1, &s, &e.diag));
	assert_int_equal(s.number, 1);
	assert_int_equal(s.time_sec, 1700000001);
	assert_string_equal(s.paths[0], "/home");
	snapshot_release(&s);
	must_fail(&e, catalog_snapshot(e.c, 2, &s, &e.diag),
		  -AKIN_E_snap_unknown);
	end(&e);
	mem_free(l);
}

static void test_reopen_keeps_all(void **state)
{
	struct case_backup a = { .key = "a" }, b = { .key = "b" };
	struct buf before = { 0 }, after = { 0 };
	struct env e;

	begin(&e);
	backup(&e, &a, CASE_STEPS);
	backup(&e, &b, 5);
	must(&e, case_dump(e.c, &before, &e.diag));
	catalog_close(e.c);
	must(&e, case_open(e.disk, true, &e.c, &e.diag));
	must(&e, case_dump(e.c, &after, &e.diag));
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
	must_fail(&e, catalog_session_end(e.c, b.session.number, &e.diag),
		  -AKIN_E_readonly);
	end(&e);
	buf_release(&before);
	buf_release(&after);
}

static int refuse(void *ctx, u64 number, u64 txn, struct akin_diag *diag)
{
	return diag_set(diag, -AKIN_E_busy, "somebody has byte %llu",
			(unsigned long long)number);
}

static void test_impossible_requests(void **state)
{
	struct case_backup b = { .key = "a" };
	struct catalog_session in, out;
	struct catalog_container row = { .number = 5, .kind = CONTAINER_DATA };
	struct catalog_delta delta = { .containers = &row, .nr_containers = 1 };
	struct buf before = { 0 }, after = { 0 };
	struct snapshot s;
	u64 absent = 77, n;
	struct env e;

	begin(&e);
	backup(&e, &b, 4);
	must(&e, case_dump(e.c, &before, &e.diag));
	case_session(&in, "x");
	must_fail(&e, catalog_session_begin(e.c, &in, refuse, NULL, &out,
					    &e.diag), -AKIN_E_busy);
	memset(in.host, 'x', sizeof(in.host));
	must_fail(&e, catalog_session_begin(e.c, &in, NULL, NULL, &out,
					    &e.diag), -AKIN_E_usage);
	/* never reserved, then somebody else's, then there already */
	row.session = b.session.number;
	must_fail(&e, catalog_checkpoint(e.c, 1, &delta, &e.diag),
		  -AKIN_E_usage);
	row.number = 3;
	row.session = 9;
	must_fail(&e, catalog_checkpoint(e.c, 1, &delta, &e.diag),
		  -AKIN_E_usage);
	row.number = 1;
	row.session = 1;
	must_fail(&e, catalog_checkpoint(e.c, 1, &delta, &e.diag),
		  -AKIN_E_exists);
	must_fail(&e, catalog_replace_runs(e.c, &delta, &e.diag),
		  -AKIN_E_usage);
	delta.nr_containers = 0;
	delta.dead_runs = &absent;
	delta.nr_dead_runs = 1;
	must_fail(&e, catalog_replace_runs(e.c, &delta, &e.diag),
		  -AKIN_E_absent);
	delta.nr_dead_runs = 0;
	must_fail(&e, catalog_checkpoint(e.c, 2, &delta, &e.diag),
		  -AKIN_E_sequence);
	must_fail(&e, catalog_reserve(e.c, 2, NUMBER_CONTAINER, 1, &n,
				      &e.diag), -AKIN_E_sequence);
	must_fail(&e, catalog_reserve(e.c, 0, NUMBER_CONTAINER, 1, &n,
				      &e.diag), -AKIN_E_usage);
	case_snapshot(&s, &b.session, false);
	s.number++;
	must_fail(&e, catalog_commit(e.c, 1, &delta, &s, &n, &e.diag),
		  -AKIN_E_usage);
	must_fail(&e, catalog_session_end(e.c, 2, &e.diag), -AKIN_E_sequence);
	must(&e, case_dump(e.c, &after, &e.diag));
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
	end(&e);
	buf_release(&before);
	buf_release(&after);
}

static int ended_even(void *ctx, u64 number)
{
	(*(u32 *)ctx)++;
	return number % 2 == 0;
}

static int ended_error(void *ctx, u64 number)
{
	return -AKIN_E_no_locks;
}

static void test_ends_and_reaping(void **state)
{
	struct case_backup b[4] = { { .key = "a" }, { .key = "b" },
				    { .key = "a" }, { .key = "d" } };
	struct list *l = mem_zalloc(sizeof(*l));
	struct env e;
	u32 nr = 9, asked = 0;

	begin(&e);
	backup(&e, &b[0], 5);
	backup(&e, &b[1], 5);
	backup(&e, &b[2], 3);
	backup(&e, &b[3], 3);
	must(&e, catalog_session_end(e.c, 1, &e.diag));
	must_fail(&e, catalog_reap_sessions(e.c, ended_error, NULL, &nr,
					    &e.diag), -AKIN_E_no_locks);
	must(&e, catalog_reap_sessions(e.c, ended_even, &asked, &nr, &e.diag));
	assert_int_equal(asked, 3);
	assert_int_equal(nr, 2);
	list_all(&e, e.c, l);
	assert_int_equal(l->sessions[0].state, SESSION_INTERRUPTED);
	assert_int_equal(l->sessions[1].state, SESSION_INTERRUPTED);
	assert_int_equal(l->sessions[2].state, SESSION_LIVING);
	assert_int_equal(l->sessions[3].state, SESSION_ABORTED);
	/* The commit of the same paths takes session 1 over, not session 2. */
	must(&e, case_step(e.c, &b[2], 3, &e.diag));
	must(&e, case_step(e.c, &b[2], 4, &e.diag));
	must(&e, case_step(e.c, &b[2], 5, &e.diag));
	list_all(&e, e.c, l);
	assert_int_equal(l->sessions[0].state, SESSION_COMMITTED);
	assert_int_equal(l->sessions[1].state, SESSION_INTERRUPTED);
	assert_int_equal(l->sessions[2].state, SESSION_COMMITTED);
	assert_int_equal(l->nr_snapshots, 1);
	assert_int_equal(l->snapshots[0], 3);
	asked = 0;
	must(&e, catalog_reap_sessions(e.c, ended_even, &asked, &nr, &e.diag));
	assert_int_equal(asked, 0);
	assert_int_equal(nr, 0);
	end(&e);
	mem_free(l);
}

/* Two handles, as in two processes, take turns in every order there is. */
static void test_two_handles(void **state)
{
	struct case_backup a = { .key = "a" }, b = { .key = "b" };
	struct disk *d2;
	struct catalog *c2;
	struct buf one = { 0 }, two = { 0 };
	u64 txn, last = 0;
	struct env e;
	int i;

	begin(&e);
	d2 = simdisk_attach(e.sd, true);
	must(&e, case_open(d2, false, &c2, &e.diag));
	for (i = 0; i < CASE_STEPS; i++) {
		must(&e, case_step(e.c, &a, i, &e.diag));
		must(&e, catalog_txn(c2, &txn, &e.diag));
		assert_int_equal(txn, ++last);
		must(&e, case_step(c2, &b, i, &e.diag));
		must(&e, catalog_txn(e.c, &txn, &e.diag));
		assert_int_equal(txn, ++last);
	}
	assert_int_equal(a.session.number, 1);
	assert_int_equal(b.session.number, 2);
	assert_int_equal(a.first_container, 1);
	assert_int_equal(b.first_container, 5);
	assert_int_equal(b.first_run, 3);
	must(&e, case_dump(e.c, &one, &e.diag));
	must(&e, case_dump(c2, &two, &e.diag));
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.data, two.data, one.len);
	catalog_close(c2);
	disk_free(d2);
	end(&e);
	buf_release(&one);
	buf_release(&two);
}

/* While one handle is inside a transaction, the other reads but waits to
 * write, and is told who is at work. */
struct inside {
	struct env *e;
	struct catalog *other;
};

static int try_other(void *ctx, u64 number, u64 txn, struct akin_diag *diag)
{
	struct inside *in = ctx;
	struct akin_diag d = { 0 };
	u64 n;

	must(in->e, catalog_txn(in->other, &n, &in->e->diag));
	assert_int_equal(n, txn - 1);
	assert_int_equal(catalog_reserve(in->other, 1, NUMBER_CONTAINER, 1, &n,
					 &d), -AKIN_E_busy);
	assert_non_null(strstr(d.hint, "session 1, pid 4242 on host-a: "
			       "akin backup a"));
	return 0;
}

static void test_busy_names_sessions(void **state)
{
	struct case_backup a = { .key = "a" };
	struct catalog_session in, out;
	struct inside inside;
	struct catalog *c2;
	struct env e;

	begin(&e);
	must(&e, case_open(e.disk, false, &c2, &e.diag));
	backup(&e, &a, 1);
	inside = (struct inside){ &e, c2 };
	case_session(&in, "b");
	must(&e, catalog_session_begin(e.c, &in, try_other, &inside, &out,
				       &e.diag));
	assert_int_equal(out.number, 2);
	assert_int_equal(out.begin_txn, 2);
	catalog_close(c2);
	end(&e);
}

/* Callbacks may call the catalog, and end a walk. */
static int nested(void *ctx, const struct catalog_container *row)
{
	struct env *e = ctx;
	struct catalog_container again;
	struct catalog_delta none = { 0 };

	must(e, catalog_container(e->c, row->number, &again, &e->diag));
	assert_int_equal(again.number, row->number);
	must(e, catalog_checkpoint(e->c, 1, &none, &e->diag));
	return row->number == 300 ? 12345 : 0;
}

static void test_walk_in_batches(void **state)
{
	enum { NR = 700 };
	struct catalog_container *rows = mem_calloc(NR, sizeof(*rows));
	struct catalog_run *runs = mem_calloc(NR, sizeof(*runs));
	struct catalog_delta delta = { rows, NR, runs, NR, NULL, 0 };
	struct case_backup b = { .key = "a" };
	struct catalog_totals t;
	u64 first, txn;
	struct env e;
	u32 i;

	begin(&e);
	backup(&e, &b, 1);
	must(&e, catalog_reserve(e.c, 1, NUMBER_CONTAINER, NR, &first,
				 &e.diag));
	must(&e, catalog_reserve(e.c, 0, NUMBER_RUN, NR, &first, &e.diag));
	for (i = 0; i < NR; i++) {
		rows[i].number = i + 1;
		rows[i].kind = CONTAINER_DATA;
		rows[i].session = 1;
		runs[i].number = i + 1;
	}
	must(&e, catalog_checkpoint(e.c, 1, &delta, &e.diag));
	must(&e, catalog_txn(e.c, &txn, &e.diag));
	assert_int_equal(catalog_each_container(e.c, nested, &e, &e.diag),
			 12345);
	assert_int_equal(e.diag.code, 0);
	must(&e, catalog_txn(e.c, &first, &e.diag));
	assert_int_equal(first, txn + 300);
	must(&e, catalog_totals(e.c, &t, &e.diag));
	assert_int_equal(t.nr_data_containers, NR);
	assert_int_equal(t.nr_runs, NR);
	end(&e);
	mem_free(rows);
	mem_free(runs);
}

static int count_snapshot(void *ctx, const struct snapshot *s)
{
	u64 *next = ctx;

	assert_int_equal(s->number, (*next)++);
	return 0;
}

static void test_many_snapshots(void **state)
{
	struct catalog_delta none = { 0 };
	struct catalog_session in, s;
	struct snapshot snap;
	struct env e;
	u64 i, txn, next = 1;

	begin(&e);
	for (i = 1; i <= 150; i++) {
		case_session(&in, "a");
		must(&e, catalog_session_begin(e.c, &in, NULL, NULL, &s,
					       &e.diag));
		case_snapshot(&snap, &s, false);
		must(&e, catalog_commit(e.c, s.number, &none, &snap, &txn,
					&e.diag));
		assert_int_equal(txn, 2 * i);
	}
	must(&e, catalog_each_snapshot(e.c, count_snapshot, &next, &e.diag));
	assert_int_equal(next, 151);
	end(&e);
}

static int count_damage(void *ctx, const struct catalog_damage *row)
{
	u64 *nr = ctx;

	assert_int_equal(row->code, -AKIN_E_bad_fp);
	assert_int_equal(row->found_sec, 1234);
	assert_int_equal(row->fp.b[31], 0xf9);
	assert_int_equal(row->place.entry, *nr == 299 ? UINT32_MAX : *nr % 100);
	assert_int_equal(row->place.container, *nr / 100 + 1);
	(*nr)++;
	return 0;
}

static void test_damage(void **state)
{
	struct catalog_damage rows[300];
	struct place places[300];
	struct env e;
	u64 nr = 0;
	u32 i;

	memset(rows, 0, sizeof(rows));
	for (i = 0; i < 300; i++) {
		rows[i].place.container = i / 100 + 1;
		rows[i].place.entry = i == 299 ? UINT32_MAX : i % 100;
		memset(rows[i].fp.b, 0xf9, FP_BYTES);
		rows[i].found_sec = 1234;
		rows[i].code = -AKIN_E_bad_fp;
		places[i] = rows[i].place;
	}
	begin(&e);
	must(&e, catalog_mark_damaged(e.c, rows, 300, &e.diag));
	rows[7].code = -AKIN_E_io;	/* the first finding stays */
	must(&e, catalog_mark_damaged(e.c, rows, 300, &e.diag));
	must(&e, catalog_each_damage(e.c, count_damage, &nr, &e.diag));
	assert_int_equal(nr, 300);
	must(&e, catalog_unmark_damaged(e.c, places, 299, &e.diag));
	must(&e, catalog_unmark_damaged(e.c, places, 299, &e.diag));
	nr = 299;
	must(&e, catalog_each_damage(e.c, count_damage, &nr, &e.diag));
	assert_int_equal(nr, 300);
	rows[0].place.container = 0;
	must_fail(&e, catalog_mark_damaged(e.c, rows, 1, &e.diag),
		  -AKIN_E_usage);
	end(&e);
}

/* A new generation has its share of what references saved; the session's sum
 * is what it was. */
static void test_savings_of_generations(void **state)
{
	struct case_backup b = { .key = "a" };
	struct catalog_switch sw = { .number = 3, .file_bytes = MiB,
				     .raw_bytes = 6 * MiB, .nr_entries = 7 };
	struct catalog_container row;
	struct catalog_totals t;
	struct env e;
	bool grown;
	u64 txn, saved;

	begin(&e);
	backup(&e, &b, CASE_STEPS);
	must(&e, catalog_reserve_generations(e.c, &sw.number, 1, &sw.to,
					     &e.diag));
	must(&e, catalog_condemn(e.c, CATALOG_NUMBER_MAX, NULL, 0, &sw, 1,
				 &txn, &grown, &e.diag));
	assert_true(sw.done && !grown);
	must(&e, catalog_container(e.c, 3, &row, &e.diag));
	assert_int_equal(row.raw_bytes, 6 * MiB);
	assert_int_equal(row.saved_bytes, (4 * MiB + 2) * 6 / 16);
	must(&e, catalog_totals(e.c, &t, &e.diag));
	assert_int_equal(t.saved_data_bytes, 4 * MiB + row.saved_bytes);
	must(&e, catalog_session_saved(e.c, 1, &saved, &e.diag));
	assert_int_equal(saved, 8 * MiB + 2);
	must(&e, catalog_session_saved(e.c, 9, &saved, &e.diag));
	assert_int_equal(saved, 0);
	end(&e);
}

static struct hint root_hint(struct env *e, u64 number, u64 *first)
{
	struct snapshot s;
	struct hint h;

	must(e, catalog_snapshot(e->c, number, &s, &e->diag));
	assert_string_equal(s.paths[0], "/home");
	h = s.root_hint;
	*first = h.nr ? h.containers[0] : 0;
	snapshot_release(&s);
	return h;
}

/* A session that stores again what a snapshot holds. */
static void test_moving(void **state)
{
	struct case_backup old = { .key = "a" }, left = { .key = "move" },
			   b = { .key = "move" };
	struct list *l = mem_zalloc(sizeof(*l));
	u64 places[2] = { 7, 9 }, first;
	struct hint at = { places, 2 }, none = { 0 };
	struct catalog_forget row = { .number = 1 };
	struct catalog_delta nothing = { 0 };
	struct catalog_numbers n;
	struct env e;
	bool done;

	begin(&e);
	backup(&e, &old, CASE_STEPS);
	backup(&e, &left, CASE_STEPS - 1);
	must(&e, catalog_session_end(e.c, 2, &e.diag));
	backup(&e, &b, CASE_STEPS - 1);
	/* Nobody who lives; nobody who is listed. */
	must_fail(&e, catalog_rehint(e.c, 2, &nothing, 1, &at, &done, &e.diag),
		  -AKIN_E_sequence);
	assert_false(done);
	must(&e, catalog_rehint(e.c, 3, &nothing, 2, &at, &done, &e.diag));
	assert_false(done);
	must(&e, catalog_numbers(e.c, &n, &e.diag));
	assert_true(n.root_txn < n.txn);
	must(&e, catalog_rehint(e.c, 3, &nothing, 1, &at, &done, &e.diag));
	assert_true(done);
	must(&e, catalog_numbers(e.c, &n, &e.diag));
	assert_int_equal(n.root_txn, n.txn);
	assert_int_equal(root_hint(&e, 1, &first).nr, 2);
	assert_int_equal(first, 7);
	must(&e, catalog_rehint(e.c, 3, &nothing, 1, &none, &done, &e.diag));
	assert_true(done);
	assert_int_equal(root_hint(&e, 1, &first).nr, 0);
	must(&e, catalog_forget(e.c, &row, 1, UINT64_MAX, true, NULL,
				&e.diag));
	must(&e, catalog_rehint(e.c, 3, &nothing, 1, &at, &done, &e.diag));
	assert_false(done);
	/* Its end takes over what another one like it has left. */
	must(&e, catalog_complete(e.c, 3, &e.diag));
	must_fail(&e, catalog_complete(e.c, 3, &e.diag), -AKIN_E_sequence);
	list_all(&e, e.c, l);
	assert_int_equal(l->sessions[1].state, SESSION_COMMITTED);
	assert_int_equal(l->sessions[2].state, SESSION_COMMITTED);
	assert_int_equal(l->nr_snapshots, 0);
	end(&e);
	mem_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_is_empty),
		cmocka_unit_test(test_open_refuses),
		cmocka_unit_test(test_backup_exact),
		cmocka_unit_test(test_reopen_keeps_all),
		cmocka_unit_test(test_impossible_requests),
		cmocka_unit_test(test_ends_and_reaping),
		cmocka_unit_test(test_two_handles),
		cmocka_unit_test(test_busy_names_sessions),
		cmocka_unit_test(test_walk_in_batches),
		cmocka_unit_test(test_many_snapshots),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_savings_of_generations),
		cmocka_unit_test(test_moving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
