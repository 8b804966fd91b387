/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite over the I/O table: it stores what SQLite stores elsewhere, locks
 * where SQLite locks, and keeps its journal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testlib.h"

#include "base/buf.h"
#include "catalog/catalog_vfs.h"
#include "catalog_cases.h"
#include "format/format.h"

#define JOURNAL FILE_CATALOG "-journal"
#define PENDING_OFF 0x40000000

/* One connection, as the catalog sets it up. */
struct conn {
	struct catalog_vfs *vfs;
	sqlite3 *db;
};

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void conn_open(struct conn *k, struct disk *d)
{
	int reserved = VFS_RESERVED_BYTES;

	assert_int_equal(catalog_vfs_new(d, false, &k->vfs, NULL), 0);
	assert_int_equal(sqlite3_open_v2(FILE_CATALOG, &k->db,
					 SQLITE_OPEN_READWRITE |
					 SQLITE_OPEN_CREATE,
					 catalog_vfs_name(k->vfs)), SQLITE_OK);
	assert_int_equal(sqlite3_file_control(k->db, "main",
					      SQLITE_FCNTL_RESERVE_BYTES,
					      &reserved), SQLITE_OK);
	run(k->db, "PRAGMA page_size = 4096; PRAGMA journal_mode = PERSIST; "
	    "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; "
	    "PRAGMA cache_spill = OFF; PRAGMA secure_delete = OFF; "
	    "PRAGMA cache_size = 20");
}

static void conn_close(struct conn *k)
{
	assert_int_equal(sqlite3_close(k->db), SQLITE_OK);
	assert_int_equal(catalog_vfs_diag(k->vfs)->code, 0);
	catalog_vfs_free(k->vfs);
}

static int put_row(void *ctx, int nr, char **values, char **names)
{
	int i;

	for (i = 0; i < nr; i++)
		buf_put(ctx, values[i] ? values[i] : "-",
			values[i] ? strlen(values[i]) + 1 : 1);
	return 0;
}

static void dump(sqlite3 *db, const char *sql, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(sqlite3_exec(db, sql, put_row, out, NULL), SQLITE_OK);
	assert_int_equal(buf_error(out), 0);
}

/* The same statements, on our VFS and in memory, give the same. */
static void random_change(struct rng *r, char *sql, size_t size)
{
	unsigned long long k = rng_below(r, 300), n = rng_below(r, 40);

	switch (rng_below(r, 8)) {
	case 0:
		snprintf(sql, size, "DELETE FROM t WHERE k BETWEEN %llu AND "
			 "%llu", k, k + n);
		break;
	case 1:
		snprintf(sql, size, "UPDATE t SET v = v || k WHERE k %% 7 = "
			 "%llu", k % 7);
		break;
	case 2:
		snprintf(sql, size, "SAVEPOINT s; INSERT OR REPLACE INTO t "
			 "SELECT k + %llu, v FROM t WHERE k < 100; "
			 "ROLLBACK TO s; RELEASE s", n);
		break;
	default:
		snprintf(sql, size, "INSERT OR REPLACE INTO t VALUES (%llu, "
			 "hex(zeroblob(%llu)))", k, n * n * 5);
	}
}

static void test_like_sqlite(void **state)
{
	static const char all[] = "SELECT k, v FROM t ORDER BY k";
	struct simdisk *sd = simdisk_new("metadata");
	struct disk *d = simdisk_attach(sd, true);
	struct buf a = { 0 }, b = { 0 };
	struct rng r = { 5 };
	struct conn k[2];
	sqlite3 *ref;
	char sql[256];
	int i, j, who;

	assert_int_equal(sqlite3_open(":memory:", &ref), SQLITE_OK);
	conn_open(&k[0], d);
	run(ref, "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)");
	run(k[0].db, "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)");
	conn_open(&k[1], d);
	for (i = 0; i < 300; i++) {
		who = (int)rng_below(&r, 2);
		run(ref, "BEGIN");
		run(k[who].db, "BEGIN IMMEDIATE");
		for (j = (int)rng_below(&r, 6); j >= 0; j--) {
			random_change(&r, sql, sizeof(sql));
			run(ref, sql);
			run(k[who].db, sql);
		}
		run(ref, i % 3 ? "COMMIT" : "ROLLBACK");
		run(k[who].db, i % 3 ? "COMMIT" : "ROLLBACK");
		dump(ref, all, &a);
		dump(k[1 - who].db, all, &b);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
	}
	dump(k[0].db, "PRAGMA integrity_check", &b);
	assert_string_equal((char *)b.data, "ok");
	conn_close(&k[0]);
	conn_close(&k[1]);
	assert_int_equal(sqlite3_close(ref), SQLITE_OK);
	buf_release(&a);
	buf_release(&b);
	disk_free(d);
	simdisk_free(sd);
}

/* Which byte, if any, of SQLite's lock bytes does somebody hold? */
static int locked_byte(struct file *f, enum disk_lock kind)
{
	u64 off, len;

	assert_int_equal(file_lock_test(f, kind, PENDING_OFF, 512, &off, &len,
					NULL), 0);
	return len ? (int)(off - PENDING_OFF) : -1;
}

static void test_lock_bytes(void **state)
{
	struct simdisk *sd = simdisk_new("metadata");
	struct disk *d = simdisk_attach(sd, true);
	struct conn a, b;
	struct file *f;

	conn_open(&a, d);
	run(a.db, "CREATE TABLE t (k)");
	conn_open(&b, d);
	assert_int_equal(disk_open(d, FILE_CATALOG, DISK_WRITE, &f, NULL), 0);
	assert_int_equal(locked_byte(f, DISK_LOCK_WRITE), -1);
	run(a.db, "BEGIN; SELECT * FROM t");
	assert_int_equal(locked_byte(f, DISK_LOCK_WRITE), 2);
	assert_int_equal(locked_byte(f, DISK_LOCK_READ), -1);
	run(b.db, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
	assert_int_equal(locked_byte(f, DISK_LOCK_READ), 1);
	/* The reader keeps it from committing, and then no reader comes in. */
	assert_int_equal(sqlite3_exec(b.db, "COMMIT", NULL, NULL, NULL),
			 SQLITE_BUSY);
	assert_int_equal(locked_byte(f, DISK_LOCK_READ), 0);
	run(a.db, "COMMIT");
	assert_int_equal(sqlite3_exec(a.db, "SELECT * FROM t", NULL, NULL,
				      NULL), SQLITE_BUSY);
	run(b.db, "COMMIT");
	assert_int_equal(locked_byte(f, DISK_LOCK_WRITE), -1);
	run(a.db, "SELECT * FROM t");
	assert_int_equal(file_close(f, NULL), 0);
	conn_close(&a);
	conn_close(&b);
	disk_free(d);
	simdisk_free(sd);
}

static u64 journal_bytes(struct disk *d)
{
	struct disk_stat st;

	assert_int_equal(disk_stat(d, JOURNAL, &st, NULL), 0);
	return st.size_bytes;
}

/* Neither commits nor recoveries give the journal's space back. */
static void test_journal_stays(void **state)
{
	struct sim_fault fault = { .kinds = SIM_MUTATING, .code = -AKIN_E_io,
				   .for_good = true }, none = { 0 };
	struct case_backup b = { .key = "a" };
	struct simdisk *base = case_disk(), *sd;
	struct catalog *c;
	struct disk *d;
	int err = -1;

	for (fault.nth = 1; err; fault.nth++) {
		sd = simdisk_clone(base);
		d = simdisk_attach(sd, true);
		assert_int_equal(journal_bytes(d), MiB);
		assert_int_equal(case_open(d, false, &c, NULL), 0);
		simdisk_fail(sd, &fault);
		err = case_step(c, &b, 0, NULL);
		simdisk_fail(sd, &none);
		catalog_close(c);
		assert_int_equal(case_open(d, false, &c, NULL), 0);
		assert_int_equal(case_step(c, &b, 0, NULL), 0);
		assert_int_equal(journal_bytes(d), MiB);
		catalog_close(c);
		disk_free(d);
		simdisk_free(sd);
	}
	assert_true(fault.nth > 8);
	simdisk_free(base);
}

/* Without one, which is odd but harmless, it is made and kept. */
static void test_journal_missing(void **state)
{
	struct case_backup b = { .key = "a" };
	struct simdisk *sd = case_disk();
	struct disk *d = simdisk_attach(sd, true);
	struct catalog *c;

	assert_int_equal(disk_unlink(d, JOURNAL, NULL), 0);
	assert_int_equal(case_open(d, false, &c, NULL), 0);
	assert_int_equal(case_step(c, &b, 0, NULL), 0);
	assert_true(journal_bytes(d) > 4096);
	assert_int_equal(case_step(c, &b, 1, NULL), 0);
	assert_true(journal_bytes(d) > 4096);
	catalog_close(c);
	disk_free(d);
	simdisk_free(sd);
}

/* Statement journals larger than SQLite keeps live in memory. */
static void test_large_statement_journal(void **state)
{
	struct simdisk *sd = simdisk_new("metadata");
	struct disk *d = simdisk_attach(sd, true);
	struct buf out = { 0 };
	struct sim_name *names;
	struct conn k;
	size_t nr;

	conn_open(&k, d);
	run(k.db, "CREATE TABLE t (k INTEGER PRIMARY KEY, v UNIQUE); "
	    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 "
	    "FROM n WHERE i < 3000) INSERT INTO t SELECT i, "
	    "printf('%0200d', i) FROM n; BEGIN IMMEDIATE; "
	    "UPDATE t SET v = v || 'x'");
	/* The last row collides: the statement undoes itself. */
	assert_int_equal(sqlite3_exec(k.db, "UPDATE t SET v = CASE WHEN "
				      "k = 3000 THEN printf('%0200dxy', 7) "
				      "ELSE v || 'y' END", NULL, NULL, NULL),
			 SQLITE_CONSTRAINT);
	run(k.db, "COMMIT");
	dump(k.db, "SELECT COUNT(*) FROM t WHERE v = printf('%0200dx', k)",
	     &out);
	assert_string_equal((char *)out.data, "3000");
	names = simdisk_names(sd, &nr);
	assert_int_equal(nr, 2);
	simdisk_names_free(names, nr);
	conn_close(&k);
	buf_release(&out);
	disk_free(d);
	simdisk_free(sd);
}

/* Real files, two processes -----------------------------------------------*/

enum { NR_RESERVED = 60 };

/* Each reserves and writes down what it got; busy is waited for. */
static int reserve_some(const char *dir, u64 *numbers)
{
	struct akin_diag diag = { 0 };
	struct catalog *c = NULL;
	struct disk *d;
	int i, err;

	err = disk_files_new(dir, true, &d, &diag);
	if (!err)
		err = catalog_open(d, &case_pool, NULL, &c, &diag);
	for (i = 0; !err && i < NR_RESERVED; i++)
		err = catalog_reserve(c, 0, NUMBER_RUN, 1 + (u32)i % 3,
				      &numbers[i], &diag);
	if (err)
		fprintf(stderr, "# %s\n", diag.text);
	catalog_close(c);
	disk_free(d);
	return err;
}

static void test_two_processes(void **state)
{
	char dir[] = "/tmp/akin-test-vfs-XXXXXX", path[64];
	u64 mine[NR_RESERVED], theirs[NR_RESERVED];
	u64 used[NR_RESERVED * 4 + 2] = { 0 }, i, j;
	struct akin_diag diag = { 0 };
	struct disk *d;
	int pipes[2], status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(disk_files_new(dir, true, &d, &diag), 0);
	if (catalog_create(d, &case_pool, &diag))
		fail_msg("%s", diag.text);
	disk_free(d);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		status = reserve_some(dir, theirs) != 0;
		if (write(pipes[1], theirs, sizeof(theirs)) !=
		    (ssize_t)sizeof(theirs))
			status = 2;
		_exit(status);
	}
	assert_int_equal(reserve_some(dir, mine), 0);
	assert_int_equal(read(pipes[0], theirs, sizeof(theirs)),
			 sizeof(theirs));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (i = 0; i < NR_RESERVED; i++)
		for (j = 0; j < 1 + i % 3; j++) {
			used[mine[i] + j]++;
			used[theirs[i] + j]++;
		}
	for (i = 1; i <= NR_RESERVED * 4; i++)
		assert_int_equal(used[i], 1);
	close(pipes[0]);
	close(pipes[1]);
	snprintf(path, sizeof(path), "%s/%s", dir, FILE_CATALOG);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, JOURNAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_sqlite),
		cmocka_unit_test(test_lock_bytes),
		cmocka_unit_test(test_journal_stays),
		cmocka_unit_test(test_journal_missing),
		cmocka_unit_test(test_large_statement_journal),
		cmocka_unit_test(test_two_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
