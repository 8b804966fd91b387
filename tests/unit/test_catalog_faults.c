/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalog on a disk that fails, fills, lies, or is pulled out.
 *
 * One scripted backup (catalog_cases.h) is run once without faults; its
 * content after each step is the measure. Then it runs again with one fault at
 * each operation in turn: afterwards the catalog holds either the content
 * before the step that failed, or the one after it, and nothing else.
 */
#include <stdio.h>

#include "testlib.h"

#include "base/buf.h"
#include "base/mem.h"
#include "catalog_cases.h"
#include "format/format_container.h"

#define JOURNAL FILE_CATALOG "-journal"

/* A disk with a catalog to start from, and what the backup makes of it. */
struct script {
	struct simdisk *base;
	struct buf dump[CASE_STEPS + 1];	/* [i]: i steps done */
	struct case_backup done;
	bool large;
};

/* One run of the script. */
struct attempt {
	struct simdisk *sd;
	struct disk *disk;
	struct catalog *c;
	struct case_backup b;
	struct akin_diag diag;
};

static void must(int err, const struct akin_diag *diag)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), diag->text);
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static void attempt_begin(const struct script *s, struct attempt *a)
{
	memset(a, 0, sizeof(*a));
	a->b.key = "a";
	a->b.large = s->large;
	a->sd = simdisk_clone(s->base);
	a->disk = simdisk_attach(a->sd, true);
	must(case_open(a->disk, false, &a->c, &a->diag), &a->diag);
}

/* Steps done before one failed; its error is in *err_ret. */
static int attempt_run(struct attempt *a, int *err_ret)
{
	int i;

	*err_ret = 0;
	for (i = 0; i < CASE_STEPS; i++) {
		*err_ret = case_step(a->c, &a->b, i, &a->diag);
		if (*err_ret)
			break;
	}
	return i;
}

static void attempt_end(struct attempt *a)
{
	catalog_close(a->c);
	disk_free(a->disk);
	simdisk_free(a->sd);
}

/* The catalog on @sd, opened anew: @done steps, or one more if @or_next. */
static void expect_state(const struct script *s, struct simdisk *sd, int done,
			 bool or_next, const char *what, u64 nr)
{
	struct disk *d = simdisk_attach(sd, true);
	struct akin_diag diag = { 0 };
	struct buf dump = { 0 };
	struct catalog *c;

	if (case_open(d, false, &c, &diag) || catalog_check(c, &diag) ||
	    case_dump(c, &dump, &diag))
		fail_msg("%s %llu, %d steps done: %s", what,
			 (unsigned long long)nr, done, diag.text);
	if (!same(&dump, &s->dump[done]) &&
	    !(or_next && done < CASE_STEPS && same(&dump, &s->dump[done + 1])))
		fail_msg("%s %llu, %d steps done: other content", what,
			 (unsigned long long)nr, done);
	buf_release(&dump);
	catalog_close(c);
	disk_free(d);
}

/*
 * With @large the snapshot before the script takes free pages, and that of the
 * script so many that they must be replaced.
 */
static void script_init(struct script *s, bool large)
{
	struct akin_diag diag = { 0 };
	struct attempt a;
	int i;

	memset(s, 0, sizeof(*s));
	s->large = large;
	s->base = case_disk();
	if (large) {
		attempt_begin(s, &a);
		a.b.key = "old";
		assert_int_equal(attempt_run(&a, &i), CASE_STEPS);
		simdisk_free(s->base);
		s->base = simdisk_clone(a.sd);
		attempt_end(&a);
	}
	attempt_begin(s, &a);
	for (i = 0; i <= CASE_STEPS; i++) {
		if (i > 0)
			must(case_step(a.c, &a.b, i - 1, &diag), &diag);
		must(case_dump(a.c, &s->dump[i], &diag), &diag);
	}
	s->done = a.b;
	attempt_end(&a);
}

static void script_release(struct script *s)
{
	int i;

	for (i = 0; i <= CASE_STEPS; i++)
		buf_release(&s->dump[i]);
	simdisk_free(s->base);
}

static u64 file_bytes(struct simdisk *sd, const char *name)
{
	struct disk *d = simdisk_attach(sd, false);
	struct disk_stat st;

	assert_int_equal(disk_stat(d, name, &st, NULL), 0);
	disk_free(d);
	return st.size_bytes;
}

/* Power cuts --------------------------------------------------------------*/

/* Numbers given out before the cut are never given out again. */
static void expect_fresh_numbers(const struct script *s, struct simdisk *sd,
				 int done)
{
	struct case_backup b = { .key = "next" };
	struct disk *d = simdisk_attach(sd, true);
	struct akin_diag diag = { 0 };
	struct catalog *c;
	int i;

	must(case_open(d, false, &c, &diag), &diag);
	for (i = 0; i < CASE_STEPS; i++)
		must(case_step(c, &b, i, &diag), &diag);
	if (done > 0)
		assert_true(b.session.number > s->done.session.number &&
			    b.session.snapshot > s->done.session.snapshot);
	if (done > 1)
		assert_true(b.first_container > s->done.first_container + 3);
	if (done > 2)
		assert_true(b.first_run > s->done.first_run + 1);
	catalog_close(c);
	disk_free(d);
}

static void reboot_all(const struct script *s, struct simdisk *sd, int done,
		       u64 nr)
{
	struct simdisk *after;
	u64 seed, nr_seeds;
	int mode;

	for (mode = 0; mode < SIM_NR_MODES; mode++) {
		nr_seeds = mode == SIM_TORN ? 2 : 1;
		for (seed = 0; seed < nr_seeds; seed++) {
			after = simdisk_reboot(sd, seed + nr * 7,
					       (enum sim_mode)mode);
			expect_state(s, after, done, true, "cut at", nr);
			if (mode == SIM_LOSE)
				expect_fresh_numbers(s, after, done);
			simdisk_free(after);
		}
	}
}

static void test_power_cut_everywhere(void **state)
{
	struct script s;
	struct attempt a;
	bool more = true;
	u64 nr;
	int err, done;

	script_init(&s, true);
	for (nr = 1; more; nr++) {
		attempt_begin(&s, &a);
		simdisk_crash_at(a.sd, simdisk_nr_ops(a.sd) + nr);
		done = attempt_run(&a, &err);
		more = simdisk_crashed(a.sd);
		/* The commit may have been whole and the cut in the refill. */
		assert_true(err != 0 || done == CASE_STEPS);
		reboot_all(&s, a.sd, done, nr);
		if (!more)	/* the free pages were replaced */
			assert_true(file_bytes(a.sd, FILE_CATALOG) >
				    file_bytes(s.base, FILE_CATALOG) +
				    32 * 4096);
		attempt_end(&a);
	}
	/* Each step has a dozen operations; the refill more. */
	assert_true(nr > 12 * CASE_STEPS + 64);
	script_release(&s);
}

/* A cut during creation leaves no catalog or a whole one. */
static void test_power_cut_in_creation(void **state)
{
	struct simdisk *sd, *after;
	struct akin_diag diag;
	struct disk *d, *d2;
	struct catalog *c;
	bool more = true;
	u64 nr;
	int err, mode;

	for (nr = 1; more; nr++) {
		sd = simdisk_new("metadata");
		d = simdisk_attach(sd, true);
		simdisk_crash_at(sd, nr);
		err = catalog_create(d, &case_pool, NULL);
		more = simdisk_crashed(sd);
		assert_true(more == (err != 0));
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			memset(&diag, 0, sizeof(diag));
			after = simdisk_reboot(sd, nr, (enum sim_mode)mode);
			d2 = simdisk_attach(after, true);
			if (catalog_create(d2, &case_pool, NULL))
				assert_true(err == 0 || nr > 1);
			else
				assert_true(err != 0);
			must(case_open(d2, false, &c, &diag), &diag);
			must(catalog_check(c, &diag), &diag);
			catalog_close(c);
			disk_free(d2);
			simdisk_free(after);
		}
		disk_free(d);
		simdisk_free(sd);
	}
}

/* Errors ------------------------------------------------------------------*/

/* The handle that saw the error works again once the disk does. */
static void expect_usable(struct attempt *a)
{
	struct catalog_session in, out;
	struct akin_diag diag = { 0 };

	case_session(&in, "later");
	must(catalog_session_begin(a->c, &in, NULL, NULL, &out, &diag), &diag);
	must(catalog_session_end(a->c, out.number, &diag), &diag);
}

static void fail_everywhere(const struct script *s, unsigned kinds, int code,
			    bool for_good)
{
	struct sim_fault fault = { .kinds = kinds, .code = code,
				   .for_good = for_good }, none = { 0 };
	struct attempt a;
	bool more = true;
	int err, done;

	for (fault.nth = 1; more; fault.nth++) {
		attempt_begin(s, &a);
		simdisk_fail(a.sd, &fault);
		done = attempt_run(&a, &err);
		more = simdisk_nr_faults(a.sd) > 0;
		simdisk_fail(a.sd, &none);
		assert_true(err == 0 || (err == code && a.diag.code == code));
		if (err)
			assert_non_null(strstr(a.diag.text, "metadata"));
		else
			assert_int_equal(done, CASE_STEPS);
		expect_state(s, a.sd, done, code == -AKIN_E_io, "fault",
			     fault.nth);
		expect_usable(&a);
		attempt_end(&a);
	}
	assert_true(fault.nth > 40);
}

static void test_errors_everywhere(void **state)
{
	struct script s;

	script_init(&s, false);
	fail_everywhere(&s, SIM_ALL, -AKIN_E_io, false);
	fail_everywhere(&s, SIM_ALL, -AKIN_E_io, true);
	script_release(&s);
}

static void test_no_space_everywhere(void **state)
{
	const unsigned kinds = SIM_CREATE | SIM_WRITE | SIM_TRUNCATE |
			       SIM_RESERVE;
	struct script s;

	script_init(&s, false);
	fail_everywhere(&s, kinds, -AKIN_E_nospace, false);
	fail_everywhere(&s, kinds, -AKIN_E_nospace, true);
	script_release(&s);
}

/*
 * With no byte free, what reclaiming needs works: it overwrites only. Marks lie
 * far apart, so that each touches a page of its own.
 */
static void test_full_disk(void **state)
{
	enum { NR = 12800, APART = 100 };
	struct catalog_damage *rows = mem_calloc(NR, sizeof(*rows));
	struct place places[NR / APART];
	struct catalog_session in, out;
	struct akin_diag diag = { 0 };
	struct attempt a;
	struct script s;
	u32 i;

	for (i = 0; i < NR; i++) {
		rows[i].place.container = i + 1;
		rows[i].code = -AKIN_E_bad_fp;
		if (i % APART == 0)
			places[i / APART] = rows[i].place;
	}
	script_init(&s, true);
	attempt_begin(&s, &a);
	must(catalog_mark_damaged(a.c, rows, NR, &diag), &diag);
	simdisk_set_capacity(a.sd, simdisk_used(a.sd));
	for (i = 0; i < 5; i++) {
		case_session(&in, "x");
		must(catalog_session_begin(a.c, &in, NULL, NULL, &out, &diag),
		     &diag);
		must(catalog_unmark_damaged(a.c, places, NR / APART, &diag),
		     &diag);
		must(catalog_mark_damaged(a.c, rows, APART + 1, &diag), &diag);
		must(catalog_session_end(a.c, out.number, &diag), &diag);
	}
	must(catalog_check(a.c, &diag), &diag);
	attempt_end(&a);
	script_release(&s);
	mem_free(rows);
}

static void test_allocations_everywhere(void **state)
{
	struct catalog *c;
	struct attempt a;
	struct script s;
	struct buf dump = { 0 };
	bool more = true;
	int err, done;
	u64 nr;

	script_init(&s, false);
	for (nr = 1; more; nr++) {
		attempt_begin(&s, &a);
		mem_fail_after(nr);
		done = 0;
		err = case_open(a.disk, false, &c, &a.diag);
		catalog_close(err ? NULL : c);
		if (!err)
			done = attempt_run(&a, &err);
		if (!err)
			err = case_dump(a.c, &dump, &a.diag);
		mem_fail_after(0);
		more = err != 0;
		assert_true(err == 0 || err == -AKIN_E_nomem);
		buf_release(&dump);
		memset(&dump, 0, sizeof(dump));
		expect_state(&s, a.sd, done, false, "allocation", nr);
		attempt_end(&a);
	}
	assert_true(nr > 10);
	script_release(&s);
}

/* Damage ------------------------------------------------------------------*/

static bool damage_noticed(struct simdisk *sd, bool read_only,
			   const struct buf *want, u64 off)
{
	struct disk *d = simdisk_attach(sd, !read_only);
	struct akin_diag diag = { 0 };
	struct buf dump = { 0 };
	struct catalog *c = NULL;
	int err;

	err = case_open(d, read_only, &c, &diag);
	if (!err)
		err = case_dump(c, &dump, &diag);
	if (!err && !same(&dump, want))
		fail_msg("flip at %llu: other content",
			 (unsigned long long)off);
	if (err && akin_error_class(err) != AKIN_CLASS_CORRUPT)
		fail_msg("flip at %llu: %s: %s", (unsigned long long)off,
			 akin_error_name(err), diag.text);
	buf_release(&dump);
	catalog_close(c);
	disk_free(d);
	return err != 0;
}

static void test_flipped_bits_in_pages(void **state)
{
	u64 off, size, nr_noticed = 0, step = 1;
	unsigned bit, nr_bits;
	struct attempt a;
	struct script s;
	int err;

	script_init(&s, false);
	attempt_begin(&s, &a);
	assert_int_equal(attempt_run(&a, &err), CASE_STEPS);
	catalog_close(a.c);
	a.c = NULL;
	size = file_bytes(a.sd, FILE_CATALOG);
	for (off = 0; off < size; off += step) {
		/* All bits of the file's head and of some of page 1. */
		nr_bits = off < 160 || off % 509 == 0 ? 8 : 1;
		step = off < 4096 ? 7 : 97;
		for (bit = 0; bit < nr_bits; bit++) {
			simdisk_flip_bit(a.sd, FILE_CATALOG, off,
					 (bit + (unsigned)off) % 8);
			nr_noticed += damage_noticed(a.sd, true,
						     &s.dump[CASE_STEPS], off);
			simdisk_flip_bit(a.sd, FILE_CATALOG, off,
					 (bit + (unsigned)off) % 8);
		}
		if (off < 4096)
			assert_true(nr_noticed > off / 7);
	}
	/* Free pages are most of a small catalog. */
	assert_true(nr_noticed > 1000);
	attempt_end(&a);
	script_release(&s);
}

/* Bytes exchanged between pages, and pages that lose their end. */
static void test_misplaced_pages(void **state)
{
	u8 pages[2][4096];
	struct attempt a;
	struct script s;
	struct file *f;
	int err;

	script_init(&s, false);
	attempt_begin(&s, &a);
	assert_int_equal(attempt_run(&a, &err), CASE_STEPS);
	catalog_close(a.c);
	a.c = NULL;
	must(disk_open(a.disk, FILE_CATALOG, DISK_WRITE, &f, &a.diag), &a.diag);
	must(file_pread(f, pages, sizeof(pages), 4096, &a.diag), &a.diag);
	must(file_pwrite(f, pages[1], 4096, 4096, &a.diag), &a.diag);
	assert_true(damage_noticed(a.sd, true, &s.dump[CASE_STEPS], 4096));
	must(file_pwrite(f, pages[0], 4096, 4096, &a.diag), &a.diag);
	assert_false(damage_noticed(a.sd, true, &s.dump[CASE_STEPS], 4096));
	must(file_truncate(f, 4096 * 3 + 100, &a.diag), &a.diag);
	assert_true(damage_noticed(a.sd, false, &s.dump[CASE_STEPS], 0));
	must(file_close(f, &a.diag), &a.diag);
	attempt_end(&a);
	script_release(&s);
}

static u8 journal_byte(struct simdisk *sd)
{
	struct disk *d = simdisk_attach(sd, false);
	struct file *f;
	u8 b;

	assert_int_equal(disk_open(d, JOURNAL, 0, &f, NULL), 0);
	assert_int_equal(file_pread(f, &b, 1, 0, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	disk_free(d);
	return b;
}

/* A disk whose writer died in the middle of a commit, with a hot journal and
 * most of the new pages in place. *done_ret: steps before it. */
static struct simdisk *hot_disk(const struct script *s, int *done_ret)
{
	struct simdisk *hot = NULL, *after;
	struct attempt a;
	bool more = true;
	int err, done;
	u64 nr;

	for (nr = 1; more; nr++) {
		attempt_begin(s, &a);
		simdisk_crash_at(a.sd, simdisk_nr_ops(a.sd) + nr);
		done = attempt_run(&a, &err);
		more = simdisk_crashed(a.sd) && done < CASE_STEPS;
		after = simdisk_reboot(a.sd, nr, SIM_KEEP);
		if (done == CASE_STEPS - 1 && journal_byte(after)) {
			simdisk_free(hot);
			hot = after;
			*done_ret = done;
		} else {
			simdisk_free(after);
		}
		attempt_end(&a);
	}
	assert_non_null(hot);
	return hot;
}

/* The power fails again, in the recovery or in the first commit after it. */
static void test_power_cut_after_recovery(void **state)
{
	struct simdisk *hot, *sd, *after;
	struct case_backup b;
	struct catalog *c;
	struct script s;
	struct disk *d;
	bool more = true;
	u64 nr, seed;
	int done, err;

	script_init(&s, false);
	hot = hot_disk(&s, &done);
	for (nr = 1; more; nr++) {
		sd = simdisk_clone(hot);
		d = simdisk_attach(sd, true);
		b = s.done;
		simdisk_crash_at(sd, nr);
		err = case_open(d, false, &c, NULL);
		if (!err)
			err = case_step(c, &b, done, NULL);
		more = simdisk_crashed(sd);
		assert_true(more == (err != 0));
		for (seed = 0; seed < 4; seed++) {
			after = simdisk_reboot(sd, nr * 7 + seed, SIM_TORN);
			expect_state(&s, after, done + !err, err != 0,
				     "second cut at", nr);
			simdisk_free(after);
		}
		catalog_close(c);
		disk_free(d);
		simdisk_free(sd);
	}
	assert_true(nr > 15);
	simdisk_free(hot);
	script_release(&s);
}

/* Recovery stops at damage in what it needs, and does no harm elsewhere. */
static void test_flipped_bits_in_journal(void **state)
{
	struct simdisk *hot, *sd;
	u64 off, nr_noticed = 0, nr = 0;
	struct script s;
	int done;

	script_init(&s, false);
	hot = hot_disk(&s, &done);
	/* The head with its checksum, and a first record, byte by byte. */
	for (off = 0; off < 4096 + 3 * 4104; off += off < 64 ? 1 : 13) {
		if (off >= 64 && off < 4090)
			continue;
		sd = simdisk_clone(hot);
		simdisk_flip_bit(sd, JOURNAL, off, (unsigned)off % 8);
		nr_noticed += damage_noticed(sd, false, &s.dump[done], off);
		nr += off < 36 || off >= 4096;
		/* Nothing was blessed: without the flip it still recovers. */
		if (off % 5 == 0 && journal_byte(sd)) {
			simdisk_flip_bit(sd, JOURNAL, off, (unsigned)off % 8);
			expect_state(&s, sd, done, false, "flip at", off);
		}
		simdisk_free(sd);
	}
	assert_int_equal(nr_noticed, nr);
	simdisk_free(hot);
	script_release(&s);
}

/* Reading without the right to write ---------------------------------------*/

static void test_read_only_recovers_a_copy(void **state)
{
	struct catalog *reader, *writer;
	struct akin_diag diag = { 0 };
	struct disk *ro, *rw;
	struct simdisk *hot;
	struct buf dump = { 0 };
	struct script s;
	int done;
	u64 hash, txn, txn2;

	script_init(&s, false);
	hot = hot_disk(&s, &done);
	hash = simdisk_hash(hot);
	ro = simdisk_attach(hot, false);
	must(case_open(ro, true, &reader, &diag), &diag);
	must(catalog_check(reader, &diag), &diag);
	must(case_dump(reader, &dump, &diag), &diag);
	assert_true(same(&dump, &s.dump[done]));
	assert_true(simdisk_hash(hot) == hash);
	must(catalog_txn(reader, &txn, &diag), &diag);

	/* Somebody who may write recovers it and goes on: no stale copy. */
	rw = simdisk_attach(hot, true);
	must(case_open(rw, false, &writer, &diag), &diag);
	must(catalog_session_end(writer, 1, &diag), &diag);
	must(catalog_txn(reader, &txn2, &diag), &diag);
	assert_int_equal(txn2, txn + 1);
	catalog_close(writer);
	catalog_close(reader);
	disk_free(rw);
	disk_free(ro);
	buf_release(&dump);
	simdisk_free(hot);
	script_release(&s);
}

/* The writer dies while a reader has it open. */
static void test_reader_outlives_writer(void **state)
{
	struct sim_fault fault = { .kinds = SIM_MUTATING, .code = -AKIN_E_io,
				   .for_good = true }, none = { 0 };
	struct akin_diag diag = { 0 };
	struct catalog *reader;
	struct attempt a;
	struct script s;
	struct disk *ro;
	bool hot = false;
	u64 txn;
	int err;

	script_init(&s, false);
	for (fault.nth = 1; !hot; fault.nth++) {
		assert_true(fault.nth < 100);
		attempt_begin(&s, &a);
		ro = simdisk_attach(a.sd, false);
		must(case_open(ro, true, &reader, &diag), &diag);
		must(catalog_txn(reader, &txn, &diag), &diag);
		simdisk_fail(a.sd, &fault);
		err = case_step(a.c, &a.b, 0, NULL);
		assert_int_equal(err, -AKIN_E_io);
		simdisk_fail(a.sd, &none);
		simdisk_kill(a.disk);
		hot = journal_byte(a.sd) != 0;
		must(catalog_txn(reader, &txn, &diag), &diag);
		assert_true(txn == 0 || !hot);
		catalog_close(reader);
		disk_free(ro);
		attempt_end(&a);
	}
	script_release(&s);
}

static void test_read_only_without_locks(void **state)
{
	struct sim_fault fault = { .kinds = SIM_LOCK, .nth = 1,
				   .code = -AKIN_E_no_locks, .for_good = true };
	struct akin_diag diag = { 0 };
	struct catalog *c;
	struct buf dump = { 0 };
	struct script s;
	struct disk *d;
	u64 hash;

	script_init(&s, false);
	simdisk_fail(s.base, &fault);
	hash = simdisk_hash(s.base);
	d = simdisk_attach(s.base, false);
	must(case_open(d, true, &c, &diag), &diag);
	must(case_dump(c, &dump, &diag), &diag);
	assert_true(same(&dump, &s.dump[0]));
	catalog_close(c);
	/* Who writes needs them. */
	assert_int_equal(case_open(d, false, &c, &diag), -AKIN_E_readonly);
	disk_free(d);
	d = simdisk_attach(s.base, true);
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(case_open(d, false, &c, &diag), -AKIN_E_no_locks);
	assert_true(simdisk_hash(s.base) == hash);
	disk_free(d);
	buf_release(&dump);
	script_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_cut_everywhere),
		cmocka_unit_test(test_power_cut_in_creation),
		cmocka_unit_test(test_errors_everywhere),
		cmocka_unit_test(test_no_space_everywhere),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_allocations_everywhere),
		cmocka_unit_test(test_flipped_bits_in_pages),
		cmocka_unit_test(test_misplaced_pages),
		cmocka_unit_test(test_flipped_bits_in_journal),
		cmocka_unit_test(test_power_cut_after_recovery),
		cmocka_unit_test(test_read_only_recovers_a_copy),
		cmocka_unit_test(test_reader_outlives_writer),
		cmocka_unit_test(test_read_only_without_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
