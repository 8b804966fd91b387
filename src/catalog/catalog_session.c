/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes the catalog: sessions, reserved numbers, checkpoints, commits.
 *
 *    (none) --begin--> LIVING --commit--> COMMITTED <--.
 *                        |                             | commit of a later
 *                        |--end, reap--> INTERRUPTED --' session, same paths
 *                        '--end, reap--> ABORTED         (nothing sealed)
 *
 *    begin       catalog_session_begin()
 *    commit      catalog_commit()
 *    end, reap   catalog_session_end(), catalog_reap_sessions(): whether
 *                anything was checkpointed decides
 *
 * I1. A number is in a row only if the meta row's counter has reached it, and
 *     counters never go down: numbers are never reused, whatever becomes of
 *     what they named.
 * I2. Only LIVING sessions change anything under their own number.
 */
#include "base/mem.h"
#include "catalog/catalog_internal.h"
#include "format/format_container.h"

/* Sessions looked at by one pass of catalog_reap_sessions(). */
#define REAP_BATCH CATALOG_TXN_ROWS

static bool terminated(const char *s, size_t size)
{
	return memchr(s, 0, size) != NULL;
}

static bool session_ok(const struct catalog_session *s)
{
	return terminated(s->host, sizeof(s->host)) &&
	       terminated(s->user, sizeof(s->user)) &&
	       terminated(s->command, sizeof(s->command)) &&
	       terminated(s->paths_key, sizeof(s->paths_key));
}

static void bind_text(sqlite3_stmt *st, int i, const char *text)
{
	/* Borrowed until the statement is reset: no memory, no failure. */
	(void)sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC);
}

static int add_session(struct catalog *c, const struct catalog_session *s,
		       struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_SESSION_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)s->number);
	(void)sqlite3_bind_int64(st, 2, (s64)s->begin_txn);
	(void)sqlite3_bind_int64(st, 3, s->begun_sec);
	(void)sqlite3_bind_int64(st, 4, s->pid);
	bind_text(st, 5, s->host);
	bind_text(st, 6, s->user);
	bind_text(st, 7, s->command);
	bind_text(st, 8, s->paths_key);
	(void)sqlite3_bind_int64(st, 9, (s64)s->snapshot);
	return catalog_run(c, STMT_SESSION_ADD, NULL, diag);
}

/* The next @count numbers of a counter. */
static int take_numbers(u64 *last, u32 count, u64 *first_ret,
			struct akin_diag *diag)
{
	if (*last > CATALOG_NUMBER_MAX - count)
		return diag_set(diag, -AKIN_E_too_large,
				"catalog: out of numbers");
	*first_ret = *last + 1;
	*last += count;
	return 0;
}

int catalog_session_begin(struct catalog *c, const struct catalog_session *in,
			  int (*lock)(void *ctx, u64 number, u64 txn,
				      struct akin_diag *diag),
			  void *ctx, struct catalog_session *out,
			  struct akin_diag *diag)
{
	struct catalog_session s = *in;
	int err;

	if (!session_ok(&s))
		return diag_set(diag, -AKIN_E_usage,
				"catalog: a session's text is too long");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	s.state = SESSION_LIVING;
	s.begin_txn = c->meta.txn;
	err = take_numbers(&c->meta.last_session, 1, &s.number, diag);
	if (!err)
		err = take_numbers(&c->meta.last_snapshot, 1, &s.snapshot,
				   diag);
	if (!err)
		err = add_session(c, &s, diag);
	if (!err && lock)
		err = lock(ctx, s.number, s.begin_txn, diag);
	err = catalog_txn_end(c, err, diag);
	if (!err)
		*out = s;
	return err;
}

/* I2 */
int catalog_check_living(struct catalog *c, u64 session, u64 *snapshot_ret,
			 char *key, struct akin_diag *diag)
{
	char skipped[sizeof(((struct catalog_session *)0)->paths_key)];
	struct catalog_row r = { 0 };
	u64 snapshot;
	bool row;
	int err;

	err = catalog_stmt(c, STMT_SESSION_LIVING, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)session);
	err = catalog_step(c, STMT_SESSION_LIVING, &row, diag);
	if (err)
		return err;
	if (!row)
		return diag_set(diag, -AKIN_E_sequence,
				"catalog: session %llu is not living",
				(unsigned long long)session);
	snapshot = row_u64(&r, 0, CATALOG_NUMBER_MAX);
	row_text(&r, 1, key ? key : skipped, sizeof(skipped));
	catalog_reset(c, STMT_SESSION_LIVING);
	if (r.bad)
		return catalog_bad_row("session", diag);
	if (snapshot_ret)
		*snapshot_ret = snapshot;
	return 0;
}

int catalog_reserve(struct catalog *c, u64 session, enum catalog_number kind,
		    u32 count, u64 *first_ret, struct akin_diag *diag)
{
	u64 first = 0;
	int err;

	if (count == 0 || (session == 0 && kind != NUMBER_RUN))
		return diag_set(diag, -AKIN_E_usage,
				"catalog: nothing to reserve, or for nobody");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	if (session != 0)
		err = catalog_check_living(c, session, NULL, NULL, diag);
	if (!err)
		err = take_numbers(kind == NUMBER_RUN ? &c->meta.last_run :
				   &c->meta.last_container, count, &first,
				   diag);
	err = catalog_txn_end(c, err, diag);
	if (!err)
		*first_ret = first;
	return err;
}

/* What one session adds -----------------------------------------------------*/

/* So that the sum over all containers is a number still. */
#define SAVED_MAX ((u64)1 << 40)

static bool container_ok(const struct catalog *c, u64 session,
			 const struct catalog_container *row)
{
	return row->number >= 1 && row->number <= c->meta.last_container &&
	       (row->kind == CONTAINER_DATA ||
		row->kind == CONTAINER_METADATA) &&
	       row->session == session && row->condemned_txn == 0 &&
	       row->file_bytes <= INT64_MAX && row->dir_off <= INT64_MAX &&
	       row->raw_bytes <= INT64_MAX &&
	       row->saved_bytes <= SAVED_MAX;
}

int catalog_insert_container(struct catalog *c,
			     const struct catalog_container *row,
			     struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_CONTAINER_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)row->number);
	(void)sqlite3_bind_int64(st, 2, row->generation);
	(void)sqlite3_bind_int64(st, 3, row->kind);
	(void)sqlite3_bind_int64(st, 4, (s64)row->session);
	(void)sqlite3_bind_int64(st, 5, (s64)row->file_bytes);
	(void)sqlite3_bind_int64(st, 6, (s64)row->dir_off);
	(void)sqlite3_bind_int64(st, 7, row->dir_len);
	(void)sqlite3_bind_int64(st, 8, row->nr_entries);
	(void)sqlite3_bind_int64(st, 9, (s64)row->raw_bytes);
	(void)sqlite3_bind_int64(st, 10, (s64)row->condemned_txn);
	(void)sqlite3_bind_int64(st, 11, (s64)row->saved_bytes);
	return catalog_run(c, STMT_CONTAINER_ADD, NULL, diag);
}

static int add_run(struct catalog *c, const struct catalog_run *run,
		   struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	if (run->number < 1 || run->number > c->meta.last_run ||
	    run->nr_entries > INT64_MAX || run->file_bytes > INT64_MAX ||
	    run->session > CATALOG_NUMBER_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"catalog: run %llu cannot be",
				(unsigned long long)run->number);
	err = catalog_stmt(c, STMT_RUN_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)run->number);
	(void)sqlite3_bind_int64(st, 2, run->tier);
	(void)sqlite3_bind_int64(st, 3, (s64)run->nr_entries);
	(void)sqlite3_bind_int64(st, 4, (s64)run->file_bytes);
	(void)sqlite3_bind_int64(st, 5, (s64)run->session);
	return catalog_run(c, STMT_RUN_ADD, NULL, diag);
}

static int drop_run(struct catalog *c, u64 number, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	u32 changed = 0;
	int err;

	err = catalog_stmt(c, STMT_RUN_DROP, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)number);
	err = catalog_run(c, STMT_RUN_DROP, &changed, diag);
	if (!err && changed != 1)
		return diag_set(diag, -AKIN_E_absent,
				"catalog: run %llu is not in the manifest",
				(unsigned long long)number);
	return err;
}

static int apply_runs(struct catalog *c, const struct catalog_delta *delta,
		      struct akin_diag *diag)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < delta->nr_dead_runs; i++)
		err = drop_run(c, delta->dead_runs[i], diag);
	for (i = 0; !err && i < delta->nr_runs; i++)
		err = add_run(c, &delta->runs[i], diag);
	return err;
}

static int apply_delta(struct catalog *c, u64 session,
		       const struct catalog_delta *delta,
		       struct akin_diag *diag)
{
	const struct catalog_container *row;
	sqlite3_stmt *st;
	u64 saved = 0;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < delta->nr_containers; i++) {
		row = &delta->containers[i];
		if (!container_ok(c, session, row))
			return diag_set(diag, -AKIN_E_usage,
					"catalog: container %llu cannot be",
					(unsigned long long)row->number);
		err = catalog_insert_container(c, row, diag);
		if (row->kind == CONTAINER_DATA)
			saved += row->saved_bytes;
	}
	if (!err)
		err = apply_runs(c, delta, diag);
	if (!err)
		err = catalog_stmt(c, STMT_SESSION_SEALED, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)session);
	(void)sqlite3_bind_int64(st, 2, (s64)delta->nr_containers +
				 (s64)delta->nr_runs);
	(void)sqlite3_bind_int64(st, 3, (s64)saved);
	return catalog_run(c, STMT_SESSION_SEALED, NULL, diag);
}

int catalog_apply_checkpoint(struct catalog *c, u64 session,
			     const struct catalog_delta *delta,
			     struct akin_diag *diag)
{
	int err;

	err = catalog_check_living(c, session, NULL, NULL, diag);
	if (!err)
		err = apply_delta(c, session, delta, diag);
	if (!err && delta->reviver)
		err = catalog_revive(c, delta->reviver, diag);
	if (delta->nr_containers)
		c->meta.root_txn = c->meta.txn;
	return err;
}

int catalog_checkpoint(struct catalog *c, u64 session,
		       const struct catalog_delta *delta,
		       struct akin_diag *diag)
{
	int err;

	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = catalog_apply_checkpoint(c, session, delta, diag);
	return catalog_txn_end(c, err, diag);
}

int catalog_replace_runs(struct catalog *c, const struct catalog_delta *delta,
			 struct akin_diag *diag)
{
	int err;

	if (delta->nr_containers)
		return diag_set(diag, -AKIN_E_usage,
				"catalog: containers without a session");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = apply_runs(c, delta, diag);
	return catalog_txn_end(c, err, diag);
}

/* Commit --------------------------------------------------------------------*/

int catalog_insert_snapshot(struct catalog *c, const struct snapshot *s,
			    const struct buf *record, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_SNAPSHOT_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)s->number);
	(void)sqlite3_bind_int64(st, 2, (s64)s->session);
	(void)sqlite3_bind_int64(st, 3, (s64)c->meta.txn);
	(void)sqlite3_bind_int64(st, 4, s->time_sec);
	(void)sqlite3_bind_blob64(st, 5, record->data, record->len,
				  SQLITE_STATIC);
	return catalog_run(c, STMT_SNAPSHOT_ADD, NULL, diag);
}

int catalog_set_committed(struct catalog *c, u64 session, const char *key,
			  struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_SESSION_STATE, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)session);
	(void)sqlite3_bind_int(st, 2, SESSION_COMMITTED);
	err = catalog_run(c, STMT_SESSION_STATE, NULL, diag);
	if (err || !key[0])	/* no key: nobody's successor */
		return err;
	err = catalog_stmt(c, STMT_SESSION_ADOPT, &st, diag);
	if (err)
		return err;
	bind_text(st, 1, key);
	return catalog_run(c, STMT_SESSION_ADOPT, NULL, diag);
}

static int commit_locked(struct catalog *c, u64 session,
			 const struct catalog_delta *delta,
			 const struct snapshot *s, const struct buf *record,
			 struct akin_diag *diag)
{
	char key[sizeof(((struct catalog_session *)0)->paths_key)];
	u64 number;
	int err;

	err = catalog_check_living(c, session, &number, key, diag);
	if (err)
		return err;
	if (s->number != number || s->session != session ||
	    memcmp(s->pool.b, c->pool.b, POOL_ID_BYTES) != 0)
		return diag_set(diag, -AKIN_E_usage,
				"catalog: snapshot %llu is not that of "
				"session %llu", (unsigned long long)s->number,
				(unsigned long long)session);
	c->meta.root_txn = c->meta.txn;
	err = apply_delta(c, session, delta, diag);
	if (!err && delta->reviver)
		err = catalog_revive(c, delta->reviver, diag);
	if (!err)
		err = catalog_insert_snapshot(c, s, record, diag);
	if (!err)
		err = catalog_tick(c, NULL, NULL, diag);
	return err ? err : catalog_set_committed(c, session, key, diag);
}

/*
 * Replace the free pages that commits use up, for the day the disk is full.
 * The commit has happened: whatever goes wrong here is for the next one.
 */
static void refill(struct catalog *c)
{
	pthread_mutex_lock(&c->lock);
	if (c->db && catalog_refill(c, NULL))
		catalog_disconnect(c);
	pthread_mutex_unlock(&c->lock);
}

int catalog_commit(struct catalog *c, u64 session,
		   const struct catalog_delta *delta,
		   const struct snapshot *snapshot, u64 *txn_ret,
		   struct akin_diag *diag)
{
	struct buf record = { 0 };
	u64 txn;
	int err;

	err = snapshot_encode(snapshot, &record);
	if (!err)
		err = buf_error(&record);
	if (!err && record.len > SNAPSHOT_RECORD_MAX)
		err = -AKIN_E_too_large;
	if (err) {
		buf_release(&record);
		return diag_set(diag, err, "catalog: snapshot record: %s",
				akin_strerror(err));
	}
	err = catalog_txn_begin(c, diag);
	if (!err) {
		txn = c->meta.txn;
		err = commit_locked(c, session, delta, snapshot, &record, diag);
		err = catalog_txn_end(c, err, diag);
		if (!err) {
			*txn_ret = txn;
			refill(c);
		}
	}
	buf_release(&record);
	return err;
}

/* Ends ----------------------------------------------------------------------*/

static int set_gone(struct catalog *c, u64 session, u32 *changed_ret,
		    struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_SESSION_GONE, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)session);
	return catalog_run(c, STMT_SESSION_GONE, changed_ret, diag);
}

int catalog_session_end(struct catalog *c, u64 session, struct akin_diag *diag)
{
	u32 changed = 0;
	int err;

	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = set_gone(c, session, &changed, diag);
	if (!err && changed != 1)
		err = diag_set(diag, -AKIN_E_sequence,
			       "catalog: session %llu is not living",
			       (unsigned long long)session);
	return catalog_txn_end(c, err, diag);
}

static int list_living(struct catalog *c, u64 *numbers, u32 *nr_ret,
		       struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row = false;
	int err;

	*nr_ret = 0;
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, STMT_SESSION_EACH_LIVING, &r.stmt, diag);
	if (!err)
		(void)sqlite3_bind_int(r.stmt, 1, REAP_BATCH);
	while (!err) {
		err = catalog_step(c, STMT_SESSION_EACH_LIVING, &row, diag);
		if (err || !row)
			break;
		numbers[(*nr_ret)++] = row_u64(&r, 0, CATALOG_NUMBER_MAX);
	}
	catalog_read_end(c);
	if (!err && r.bad)
		err = catalog_bad_row("session", diag);
	return err;
}

/*
 * Whether a session has ended is asked before the write lock is taken: its
 * byte is locked before its row can be seen, and once free it stays free.
 * More living sessions than a batch has are left for the next call.
 */
int catalog_reap_sessions(struct catalog *c,
			  int (*ended)(void *ctx, u64 number), void *ctx,
			  u32 *nr_ret, struct akin_diag *diag)
{
	u64 numbers[REAP_BATCH];
	u32 i, nr, nr_ended = 0, nr_gone = 0, changed;
	int err, yes;

	*nr_ret = 0;
	err = list_living(c, numbers, &nr, diag);
	if (err)
		return err;
	for (i = 0; i < nr; i++) {
		yes = ended(ctx, numbers[i]);
		if (yes < 0)
			return diag_set(diag, yes, "session %llu: %s",
					(unsigned long long)numbers[i],
					akin_strerror(yes));
		if (yes > 0)
			numbers[nr_ended++] = numbers[i];
	}
	if (nr_ended == 0)
		return 0;
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	for (i = 0; !err && i < nr_ended; i++) {
		changed = 0;
		err = set_gone(c, numbers[i], &changed, diag);
		nr_gone += changed;
	}
	err = catalog_txn_end(c, err, diag);
	if (!err)
		*nr_ret = nr_gone;
	return err;
}
