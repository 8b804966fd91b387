/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the catalog's files share: statements, transactions, rows.
 *
 * catalog.c          create, open, close, check
 * catalog_db.c       the connection, statements, transactions, errors
 * catalog_schema.c   the tables
 * catalog_session.c  sessions, reservations, checkpoint, commit
 * catalog_hint.c     new places of what snapshots hold
 * catalog_read.c     walks and look-ups
 * catalog_damage.c   marks of damage
 * catalog_scrub.c    what was read when
 * catalog_gc.c       condemning, generations, reviving
 * catalog_retention.c  forgotten snapshots, labels
 * catalog_policy.c   rules of the policy
 * catalog_clock.c    the pool's age
 */
#ifndef CATALOG_INTERNAL_H
#define CATALOG_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>

#include "catalog/catalog.h"
#include "catalog/catalog_gc.h"
#include "catalog/catalog_retention.h"
#include "catalog/catalog_vfs.h"

/*
 * Rows that one transaction of a session's begin, of reclaiming or of marking
 * touches at most. Each may lie on a page of its own, and all pages touched
 * must fit the preallocated journal, or a full disk could not be helped.
 */
#define CATALOG_TXN_ROWS 128
/* What catalog_create() preallocates. */
#define CATALOG_JOURNAL_BYTES (1 * MiB)
#define CATALOG_FREE_PAGES 64
static_assert((CATALOG_TXN_ROWS + 32) * (VFS_PAGE_BYTES + 8) + 4096 <
		      CATALOG_JOURNAL_BYTES,
	      "rows, with inner pages and freelist, must fit the journal");

/* X(name, SQL). Prepared when first used. */
#define CATALOG_STMTS(X) \
	X(BEGIN_READ, "BEGIN") \
	X(BEGIN_WRITE, "BEGIN IMMEDIATE") \
	X(COMMIT, "COMMIT") \
	X(ROLLBACK, "ROLLBACK") \
	X(META_GET, "SELECT pool, txn, last_container, last_run, " \
	  "last_session, last_snapshot, root_txn, condemn_txn FROM meta " \
	  "WHERE id = 1") \
	X(META_SET, "UPDATE meta SET txn = ?1, last_container = ?2, " \
	  "last_run = ?3, last_session = ?4, last_snapshot = ?5, " \
	  "root_txn = ?6, condemn_txn = ?7 WHERE id = 1") \
	X(SESSION_ADD, "INSERT INTO session (number, state, begin_txn, " \
	  "begun_sec, pid, host, user, command, paths_key, snapshot, sealed, " \
	  "pinned, saved_bytes) " \
	  "VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0)") \
	X(SESSION_LIVING, "SELECT snapshot, paths_key FROM session " \
	  "WHERE number = ?1 AND state = 1") \
	X(SESSION_SEALED, "UPDATE session SET sealed = sealed + ?2, " \
	  "saved_bytes = saved_bytes + ?3 WHERE number = ?1") \
	X(SESSION_STATE, "UPDATE session SET state = ?2 " \
	  "WHERE number = ?1 AND state = 1") \
	X(SESSION_GONE, "UPDATE session SET state = " \
	  "CASE WHEN sealed > 0 THEN 4 ELSE 3 END " \
	  "WHERE number = ?1 AND state = 1") \
	X(SESSION_ADOPT, "UPDATE session SET state = 2 " \
	  "WHERE state = 4 AND paths_key = ?1") \
	X(SESSION_EACH, "SELECT number, state, begin_txn, begun_sec, pid, " \
	  "host, user, command, paths_key, snapshot, saved_bytes " \
	  "FROM session WHERE number > ?1 ORDER BY number LIMIT 32") \
	X(SESSION_SAVED, "SELECT IFNULL(SUM(saved_bytes), 0) " \
	  "FROM session WHERE number = ?1") \
	X(SESSION_EACH_LIVING, "SELECT number, pid, host, command " \
	  "FROM session WHERE state = 1 ORDER BY number LIMIT ?1") \
	X(CONTAINER_ADD, "INSERT INTO container (number, generation, kind, " \
	  "session, file_bytes, dir_off, dir_len, nr_entries, raw_bytes, " \
	  "condemned_txn, last_generation, saved_bytes) " \
	  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?2, ?11)") \
	X(CONTAINER_GET, "SELECT number, generation, kind, session, " \
	  "file_bytes, dir_off, dir_len, nr_entries, raw_bytes, " \
	  "condemned_txn, saved_bytes FROM container WHERE number = ?1") \
	X(CONTAINER_EACH, "SELECT number, generation, kind, session, " \
	  "file_bytes, dir_off, dir_len, nr_entries, raw_bytes, " \
	  "condemned_txn, saved_bytes FROM container " \
	  "WHERE number > ?1 ORDER BY number LIMIT 256") \
	X(CONTAINER_RESERVE, "UPDATE container SET " \
	  "last_generation = last_generation + 1 WHERE number = ?1 " \
	  "RETURNING last_generation") \
	X(CONTAINER_TOP, "UPDATE container SET " \
	  "last_generation = MAX(last_generation, ?2) WHERE number = ?1") \
	X(CONTAINER_CONDEMN, "UPDATE container SET condemned_txn = ?2 " \
	  "WHERE number = ?1 AND condemned_txn = 0") \
	X(CONTAINER_LIFT, "UPDATE container SET condemned_txn = 0 " \
	  "WHERE number = ?1") \
	X(CONTAINER_SET, "UPDATE container SET generation = ?2, " \
	  "file_bytes = ?3, dir_off = ?4, dir_len = ?5, nr_entries = ?6, " \
	  "saved_bytes = CAST(saved_bytes * 1.0 * ?7 / MAX(raw_bytes, 1) " \
	  "AS INTEGER), raw_bytes = ?7, condemned_txn = 0 " \
	  "WHERE number = ?1") \
	X(CONTAINER_PAST, "SELECT number, generation FROM container " \
	  "WHERE condemned_txn > 0 AND condemned_txn <= ?1 " \
	  "ORDER BY number DESC LIMIT ?2") \
	X(CONTAINER_DROP, "DELETE FROM container " \
	  "WHERE number = ?1 AND generation = ?2 AND condemned_txn > 0") \
	X(CONDEMNED_SINCE, "SELECT number FROM container " \
	  "WHERE condemned_txn > 0 AND condemned_txn > ?1 " \
	  "UNION SELECT container FROM generation WHERE condemned_txn > ?1 " \
	  "ORDER BY 1 DESC") \
	X(GENERATION_KEEP, "INSERT INTO generation (container, generation, " \
	  "file_bytes, dir_off, dir_len, nr_entries, raw_bytes, " \
	  "condemned_txn) SELECT number, generation, file_bytes, dir_off, " \
	  "dir_len, nr_entries, raw_bytes, ?2 FROM container " \
	  "WHERE number = ?1") \
	X(GENERATION_OLDEST, "SELECT generation, file_bytes, dir_off, " \
	  "dir_len, nr_entries, raw_bytes, condemned_txn FROM generation " \
	  "WHERE container = ?1 AND condemned_txn > ?2 " \
	  "ORDER BY generation LIMIT 1") \
	X(GENERATION_GET, "SELECT condemned_txn FROM generation " \
	  "WHERE container = ?1 AND generation = ?2") \
	X(GENERATION_EACH, "SELECT container, generation, file_bytes, " \
	  "condemned_txn FROM generation " \
	  "WHERE (container, generation) > (?1, ?2) " \
	  "ORDER BY container, generation LIMIT 128") \
	X(GENERATION_PAST, "SELECT container, generation FROM generation " \
	  "WHERE condemned_txn <= ?1 ORDER BY container DESC LIMIT ?2") \
	X(GENERATION_DROP, "DELETE FROM generation " \
	  "WHERE container = ?1 AND generation = ?2") \
	X(SESSION_PIN, "UPDATE session SET pinned = ?2 WHERE number = ?1 " \
	  "AND state = 1 AND EXISTS (SELECT 1 FROM snapshot WHERE " \
	  "number = ?2) AND NOT EXISTS " \
	  "(SELECT 1 FROM forgotten WHERE snapshot = ?2)") \
	X(SESSION_DROP_LEFT, "UPDATE session SET state = 3 WHERE number IN " \
	  "(SELECT number FROM session WHERE state = 4 LIMIT 128)") \
	X(ROOT_EACH, "SELECT number, record FROM snapshot " \
	  "WHERE number > ?1 AND (NOT EXISTS " \
	  "(SELECT 1 FROM forgotten WHERE snapshot = number) OR number IN " \
	  "(SELECT pinned FROM session WHERE state = 1 AND pinned > 0)) " \
	  "ORDER BY number") \
	X(SNAPSHOT_ANY, "SELECT 1 FROM snapshot WHERE number = ?1") \
	X(DAMAGE_GONE, "DELETE FROM damage WHERE (container, entry) IN " \
	  "(SELECT container, entry FROM damage WHERE container NOT IN " \
	  "(SELECT number FROM container) LIMIT 128)") \
	X(RUN_ADD, "INSERT INTO run (number, tier, nr_entries, file_bytes, " \
	  "session) VALUES (?1, ?2, ?3, ?4, ?5)") \
	X(RUN_DROP, "DELETE FROM run WHERE number = ?1") \
	X(RUN_EACH, "SELECT number, tier, nr_entries, file_bytes, session " \
	  "FROM run WHERE number > ?1 ORDER BY number LIMIT 256") \
	X(SNAPSHOT_ADD, "INSERT INTO snapshot (number, session, txn, " \
	  "time_sec, record) VALUES (?1, ?2, ?3, ?4, ?5)") \
	X(SNAPSHOT_SET, "UPDATE snapshot SET record = ?2 WHERE number = ?1") \
	X(SNAPSHOT_GET, "SELECT number, record FROM snapshot " \
	  "WHERE number = ?1 AND NOT EXISTS " \
	  "(SELECT 1 FROM forgotten WHERE snapshot = number)") \
	X(SNAPSHOT_EACH, "SELECT number, record FROM snapshot " \
	  "WHERE number > ?1 AND NOT EXISTS " \
	  "(SELECT 1 FROM forgotten WHERE snapshot = number) " \
	  "ORDER BY number") \
	X(SNAPSHOT_DROP, "DELETE FROM snapshot WHERE number = ?1 AND NOT " \
	  "EXISTS (SELECT 1 FROM session WHERE state = 1 AND pinned = ?1)") \
	X(STATUS_EACH, "SELECT number, record, body, txn, sec FROM " \
	  "(SELECT number, record FROM snapshot WHERE number > ?1) " \
	  "LEFT JOIN label ON label.snapshot = number " \
	  "LEFT JOIN forgotten ON forgotten.snapshot = number " \
	  "WHERE (txn IS NOT NULL) = ?2 ORDER BY number") \
	X(FORGET_ADD, "INSERT INTO forgotten (snapshot, txn, sec) " \
	  "VALUES (?1, ?2, ?3)") \
	X(FORGET_GET, "SELECT txn FROM forgotten WHERE snapshot = ?1") \
	X(FORGET_DROP, "DELETE FROM forgotten WHERE snapshot = ?1") \
	X(FORGET_EACH, "SELECT snapshot, txn FROM forgotten " \
	  "WHERE snapshot > ?1 ORDER BY snapshot LIMIT 128") \
	X(LABEL_GET, "SELECT number, body FROM " \
	  "(SELECT number FROM snapshot WHERE number = ?1) " \
	  "LEFT JOIN label ON label.snapshot = number") \
	X(LABEL_SET, "INSERT INTO label (snapshot, body) VALUES (?1, ?2) " \
	  "ON CONFLICT DO UPDATE SET body = excluded.body") \
	X(LABEL_DROP, "DELETE FROM label WHERE snapshot = ?1") \
	X(POLICY_EACH, "SELECT rule, value FROM policy " \
	  "ORDER BY rule, value") \
	X(POLICY_ADD, "INSERT INTO policy (rule, value) VALUES (?1, ?2)") \
	X(POLICY_DROP, "DELETE FROM policy") \
	X(CLOCK_GET, "SELECT age_ns, wall_sec, boot_ns, boot FROM clock " \
	  "WHERE id = 1") \
	X(CLOCK_SET, "UPDATE clock SET age_ns = ?1, wall_sec = ?2, " \
	  "boot_ns = ?3, boot = ?4 WHERE id = 1") \
	X(DAMAGE_ADD, "INSERT INTO damage (container, entry, fp, found_sec, " \
	  "error) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING") \
	X(DAMAGE_DROP, "DELETE FROM damage " \
	  "WHERE container = ?1 AND entry = ?2") \
	X(DAMAGE_EACH, "SELECT container, entry, fp, found_sec, error " \
	  "FROM damage WHERE (container, entry) > (?1, ?2) " \
	  "ORDER BY container, entry LIMIT 128") \
	X(SCRUB_SET, "INSERT INTO scrub (container, generation, sec, nr_bad) " \
	  "VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET " \
	  "generation = excluded.generation, sec = excluded.sec, " \
	  "nr_bad = excluded.nr_bad") \
	X(SCRUB_NEVER, "SELECT number, generation, kind, session, " \
	  "file_bytes, dir_off, dir_len, nr_entries, raw_bytes, " \
	  "condemned_txn, saved_bytes FROM container " \
	  "WHERE number > ?1 AND condemned_txn = 0 AND ?2 = 0 AND NOT EXISTS " \
	  "(SELECT 1 FROM scrub WHERE scrub.container = number AND " \
	  "scrub.generation = container.generation) " \
	  "ORDER BY number LIMIT ?3") \
	X(SCRUB_OLDEST, "SELECT number, container.generation, kind, session, " \
	  "file_bytes, dir_off, dir_len, nr_entries, raw_bytes, " \
	  "condemned_txn, saved_bytes FROM scrub CROSS JOIN container " \
	  "ON number = scrub.container AND " \
	  "container.generation = scrub.generation " \
	  "WHERE sec >= ?1 AND sec < ?2 AND condemned_txn = 0 " \
	  "ORDER BY sec, scrub.container LIMIT ?3") \
	X(SCRUB_BAD, "SELECT number, container.generation, kind, session, " \
	  "file_bytes, dir_off, dir_len, nr_entries, raw_bytes, " \
	  "condemned_txn, saved_bytes FROM scrub CROSS JOIN container " \
	  "ON number = scrub.container AND " \
	  "container.generation = scrub.generation " \
	  "WHERE number > ?1 AND condemned_txn = 0 AND ?2 = 0 AND " \
	  "nr_bad > 0 ORDER BY number LIMIT ?3") \
	X(SCRUB_TOTALS, "SELECT COUNT(*) FILTER (WHERE sec IS NULL), " \
	  "IFNULL(SUM(file_bytes) FILTER (WHERE sec IS NULL), 0), " \
	  "COUNT(*) FILTER (WHERE nr_bad > 0), IFNULL(MIN(sec), 0) " \
	  "FROM container LEFT JOIN scrub ON scrub.container = number AND " \
	  "scrub.generation = container.generation " \
	  "WHERE condemned_txn = 0") \
	X(SCRUB_GONE, "DELETE FROM scrub WHERE container IN " \
	  "(SELECT container FROM scrub WHERE container NOT IN " \
	  "(SELECT number FROM container) LIMIT 42)") \
	X(TOTAL_SNAPSHOTS, "SELECT (SELECT COUNT(*) FROM snapshot) - " \
	  "(SELECT COUNT(*) FROM forgotten)") \
	X(TOTAL_CONTAINERS, "SELECT " \
	  "COUNT(*) FILTER (WHERE kind = ?1), " \
	  "COUNT(*) FILTER (WHERE kind <> ?1), " \
	  "IFNULL(SUM(file_bytes) FILTER (WHERE kind = ?1), 0), " \
	  "IFNULL(SUM(file_bytes) FILTER (WHERE kind <> ?1), 0), " \
	  "IFNULL(SUM(raw_bytes) FILTER (WHERE kind = ?1), 0), " \
	  "IFNULL(SUM(raw_bytes) FILTER (WHERE kind <> ?1), 0), " \
	  "IFNULL(SUM(nr_entries) FILTER (WHERE kind = ?1), 0), " \
	  "IFNULL(SUM(saved_bytes) FILTER (WHERE kind = ?1), 0) " \
	  "FROM container") \
	X(TOTAL_RUNS, "SELECT COUNT(*), IFNULL(SUM(file_bytes), 0), " \
	  "IFNULL(SUM(nr_entries), 0) FROM run") \
	X(TOTAL_DAMAGE, "SELECT COUNT(*) FROM damage") \
	X(FREE_PAGES, "PRAGMA freelist_count") \
	X(FILLER_ADD, "INSERT INTO filler (id, bytes) " \
	  "VALUES (1, zeroblob(?1))") \
	X(FILLER_DROP, "DELETE FROM filler") \
	X(CHECK, "PRAGMA integrity_check(1)")

enum catalog_stmt {
#define CATALOG_STMT_ENUM(name, sql) STMT_##name,
	CATALOG_STMTS(CATALOG_STMT_ENUM)
#undef CATALOG_STMT_ENUM
	NR_STMTS
};

/* The one row of table meta. */
struct catalog_meta {
	u64 txn;
	u64 last_container, last_run, last_session, last_snapshot;
	u64 root_txn;		/* the last one that added a root */
	u64 condemn_txn;	/* the last one that condemned anything */
};

struct catalog {
	pthread_mutex_t lock;	/* guards all below; not held in callbacks of
				 * walks, held in those of transactions */
	struct disk *disk;
	struct pool_id pool;
	bool read_only, private_copy;
	u32 busy_ms, cache_bytes;
	struct catalog_vfs *vfs;
	sqlite3 *db;
	sqlite3_stmt *stmt[NR_STMTS];
	bool reopen;		/* the connection has seen an I/O error */
	u64 busy_since_ns;
	struct catalog_meta meta;	/* inside a transaction */
};

/* catalog_db.c ------------------------------------------------------------*/

/* A handle without a connection. */
int catalog_new(struct disk *meta, const struct pool_id *pool,
		const struct catalog_options *opt, struct catalog **out,
		struct akin_diag *diag) __must_check;
void catalog_free(struct catalog *c);
/* Open @name over the VFS with our settings, but read nothing. */
int catalog_connect(struct catalog *c, const char *name, int flags,
		    struct akin_diag *diag) __must_check;
void catalog_disconnect(struct catalog *c);
/* The connection for use, recovered, its schema checked. */
int catalog_attach(struct catalog *c, struct akin_diag *diag) __must_check;

/* Turn SQLite's @rc into one of our codes, with the disk's own message. */
int catalog_fail(struct catalog *c, int rc, const char *what,
		 struct akin_diag *diag);
/* Run SQL that returns no rows we want. */
int catalog_exec(struct catalog *c, const char *sql, struct akin_diag *diag)
	__must_check;
/* Ready to be bound; borrowed, reset by catalog_reset(). */
int catalog_stmt(struct catalog *c, enum catalog_stmt which,
		 sqlite3_stmt **out, struct akin_diag *diag) __must_check;
/* One row. At the end and on errors the statement is reset. */
int catalog_step(struct catalog *c, enum catalog_stmt which, bool *row_ret,
		 struct akin_diag *diag) __must_check;
/* A statement without rows; *changed_ret (may be NULL) = rows it changed. */
int catalog_run(struct catalog *c, enum catalog_stmt which, u32 *changed_ret,
		struct akin_diag *diag) __must_check;
void catalog_reset(struct catalog *c, enum catalog_stmt which);

/*
 * A change. begin takes the handle's mutex and the write lock, reads c->meta
 * and gives the transaction its number; end commits if @err is 0, else rolls
 * back, and lets go. After a failed begin there is no end.
 */
int catalog_txn_begin(struct catalog *c, struct akin_diag *diag) __must_check;
int catalog_txn_end(struct catalog *c, int err, struct akin_diag *diag)
	__must_check;
/* Nothing was to be changed: as if it had not been begun. */
void catalog_txn_cancel(struct catalog *c);
/* The same for reading; c->meta is read too. */
int catalog_read_begin(struct catalog *c, struct akin_diag *diag) __must_check;
void catalog_read_end(struct catalog *c);

/* Rows: nothing read is believed. @bad is sticky. */
struct catalog_row {
	sqlite3_stmt *stmt;
	bool bad;
};
u64 row_u64(struct catalog_row *r, int col, u64 max);
s64 row_s64(struct catalog_row *r, int col);
void row_text(struct catalog_row *r, int col, char *out, size_t size);
/* Borrowed until the next step. */
const void *row_blob(struct catalog_row *r, int col, size_t max,
		     size_t *len_ret);
int catalog_bad_row(const char *table, struct akin_diag *diag);

/* catalog_schema.c --------------------------------------------------------*/

int catalog_schema_create(struct catalog *c, struct akin_diag *diag)
	__must_check;
int catalog_schema_check(struct catalog *c, struct akin_diag *diag)
	__must_check;
/* How many there are now; in a transaction. */
int catalog_free_pages(struct catalog *c, u64 *out, struct akin_diag *diag)
	__must_check;
/* Keep CATALOG_FREE_PAGES free; best done when there is space. */
int catalog_refill(struct catalog *c, struct akin_diag *diag) __must_check;

/* catalog_session.c -------------------------------------------------------*/

/* Within a change, without asking whether the rows make sense. */
int catalog_insert_container(struct catalog *c,
			     const struct catalog_container *row,
			     struct akin_diag *diag) __must_check;
int catalog_insert_snapshot(struct catalog *c, const struct snapshot *s,
			    const struct buf *record, struct akin_diag *diag)
	__must_check;

/* catalog_clock.c ---------------------------------------------------------*/

/*
 * Within a change: the clock goes on to @now, or to what clock_read() says if
 * that is NULL. *out, with the age in it, may be NULL.
 */
int catalog_tick(struct catalog *c, const struct clock_reading *now,
		 struct catalog_now *out, struct akin_diag *diag) __must_check;

/* catalog_session.c -------------------------------------------------------*/

/* Within a change. The session must be living; @key (may be NULL) has the size
 * of paths_key; *snapshot_ret may be NULL. */
int catalog_check_living(struct catalog *c, u64 session, u64 *snapshot_ret,
			 char *key, struct akin_diag *diag) __must_check;
/* What a checkpoint does besides; adds a root if it names containers. */
int catalog_apply_checkpoint(struct catalog *c, u64 session,
			     const struct catalog_delta *delta,
			     struct akin_diag *diag) __must_check;
/* The session is committed, and interrupted ones with @key (if not ""). */
int catalog_set_committed(struct catalog *c, u64 session, const char *key,
			  struct akin_diag *diag) __must_check;

/* catalog_gc.c ------------------------------------------------------------*/

/* Within a change: revive what @by refers to; see catalog_gc.h. */
int catalog_revive(struct catalog *c, const struct catalog_reviver *by,
		   struct akin_diag *diag) __must_check;

/* catalog_read.c ----------------------------------------------------------*/

/* Take over a row of CONTAINER_GET. */
void catalog_decode_container(struct catalog_row *r,
			      struct catalog_container *out);
/* Rows of number and record from @which, from 1 on. */
int catalog_walk_records(struct catalog *c, enum catalog_stmt which,
			 int (*fn)(void *ctx, const struct snapshot *s),
			 void *ctx, struct akin_diag *diag) __must_check;

/* Check and decode a snapshot's row; *out zeroed on failure. */
int catalog_decode_snapshot(u64 number, const void *data, size_t len,
			    const struct pool_id *pool, struct snapshot *out,
			    struct akin_diag *diag) __must_check;
/* Inside a transaction. 1: *out is the snapshot, owned; 0: there is no row. */
int catalog_get_record(struct catalog *c, u64 number, struct snapshot *out,
		       struct akin_diag *diag) __must_check;
/* All rows decode, and numbers are below the last ones reserved. */
int catalog_check_rows(struct catalog *c, struct akin_diag *diag) __must_check;

#endif
