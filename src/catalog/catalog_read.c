/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reads the catalog: walks, look-ups, totals.
 *
 * A walk copies a batch of rows out in one short read transaction, ends it,
 * lets go of the handle, and only then calls back: an open transaction would
 * make every writer's commit wait. Rows changed between two batches are seen
 * or not; what must not change under a walk is what the caller's lock on a
 * transaction number is for.
 */
#include "base/mem.h"
#include "catalog/catalog_internal.h"
#include "format/format_container.h"

/* Records of snapshots are copied out until so many bytes or rows. */
#define RECORDS_BYTES (256 * KiB)
#define RECORDS_MAX 64

/* Walks over rows of fixed size ---------------------------------------------*/

struct walk {
	const char *table;
	enum catalog_stmt stmt;
	size_t row_bytes;
	u32 batch;		/* the statement's LIMIT */
	void (*decode)(struct catalog_row *r, void *row);
	/* Bind where to go on: behind @row. */
	void (*after)(sqlite3_stmt *st, const void *row);
};

typedef int walk_fn(void *call, const void *row);

/* @last: the row to go on behind; zeroed at the start. */
static int walk_batch(struct catalog *c, const struct walk *w,
		      const void *last, u8 *rows, u32 *nr_ret,
		      struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row;
	int err;

	*nr_ret = 0;
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, w->stmt, &r.stmt, diag);
	if (!err)
		w->after(r.stmt, last);
	while (!err) {
		err = catalog_step(c, w->stmt, &row, diag);
		if (err || !row)
			break;
		w->decode(&r, rows + *nr_ret * w->row_bytes);
		if (r.bad || ++*nr_ret > w->batch) {
			err = catalog_bad_row(w->table, diag);
			catalog_reset(c, w->stmt);
		}
	}
	catalog_read_end(c);
	return err;
}

static int walk_rows(struct catalog *c, const struct walk *w, walk_fn *fn,
		     void *call, struct akin_diag *diag)
{
	/* One more: the row behind which the next batch starts. */
	u8 *rows = mem_calloc((size_t)w->batch + 2, w->row_bytes);
	u8 *last;
	u32 nr = w->batch, i;
	int err = 0;

	if (!rows)
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	last = rows + ((size_t)w->batch + 1) * w->row_bytes;
	while (!err && nr == w->batch) {
		err = walk_batch(c, w, last, rows, &nr, diag);
		if (!err && nr)
			memcpy(last, rows + (nr - 1) * w->row_bytes,
			       w->row_bytes);
		for (i = 0; !err && i < nr; i++)
			err = fn(call, rows + i * w->row_bytes);
	}
	mem_free(rows);
	return err;
}

/* All but damage marks are numbered, and begin with the number. */
static void after_number(sqlite3_stmt *st, const void *row)
{
	(void)sqlite3_bind_int64(st, 1, (s64)*(const u64 *)row);
}
static_assert(offsetof(struct catalog_session, number) == 0 &&
		      offsetof(struct catalog_container, number) == 0 &&
		      offsetof(struct catalog_run, number) == 0,
	      "rows begin with their number");

static void decode_session(struct catalog_row *r, void *row)
{
	struct catalog_session *s = row;
	u64 state;

	s->number = row_u64(r, 0, CATALOG_NUMBER_MAX);
	state = row_u64(r, 1, SESSION_INTERRUPTED);
	s->state = (enum session_state)state;
	s->begin_txn = row_u64(r, 2, CATALOG_NUMBER_MAX);
	s->begun_sec = row_s64(r, 3);
	s->pid = (u32)row_u64(r, 4, UINT32_MAX);
	row_text(r, 5, s->host, sizeof(s->host));
	row_text(r, 6, s->user, sizeof(s->user));
	row_text(r, 7, s->command, sizeof(s->command));
	row_text(r, 8, s->paths_key, sizeof(s->paths_key));
	s->snapshot = row_u64(r, 9, CATALOG_NUMBER_MAX);
	s->saved_bytes = row_u64(r, 10, INT64_MAX);
	if (s->number == 0 || state == 0)
		r->bad = true;
}

void catalog_decode_container(struct catalog_row *r,
			      struct catalog_container *out)
{
	out->number = row_u64(r, 0, CATALOG_NUMBER_MAX);
	out->generation = (u32)row_u64(r, 1, UINT32_MAX);
	out->kind = (u8)row_u64(r, 2, UINT8_MAX);
	out->session = row_u64(r, 3, CATALOG_NUMBER_MAX);
	out->file_bytes = row_u64(r, 4, INT64_MAX);
	out->dir_off = row_u64(r, 5, INT64_MAX);
	out->dir_len = (u32)row_u64(r, 6, UINT32_MAX);
	out->nr_entries = (u32)row_u64(r, 7, UINT32_MAX);
	out->raw_bytes = row_u64(r, 8, INT64_MAX);
	out->condemned_txn = row_u64(r, 9, CATALOG_NUMBER_MAX);
	out->saved_bytes = row_u64(r, 10, INT64_MAX);
	if (out->number == 0 || (out->kind != CONTAINER_DATA &&
				 out->kind != CONTAINER_METADATA))
		r->bad = true;
}

static void decode_container(struct catalog_row *r, void *row)
{
	catalog_decode_container(r, row);
}

static void decode_run(struct catalog_row *r, void *row)
{
	struct catalog_run *run = row;

	run->number = row_u64(r, 0, CATALOG_NUMBER_MAX);
	run->tier = (u32)row_u64(r, 1, UINT32_MAX);
	run->nr_entries = row_u64(r, 2, INT64_MAX);
	run->file_bytes = row_u64(r, 3, INT64_MAX);
	run->session = row_u64(r, 4, CATALOG_NUMBER_MAX);
	if (run->number == 0)
		r->bad = true;
}

/* A name of a later version is an error all the same. */
static int code_named(const char *name)
{
	int code;

	for (code = 1; code < AKIN_NR_ERRORS; code++)
		if (strcmp(akin_error_name(code), name) == 0)
			return -code;
	return -AKIN_E_bad_data;
}

static void decode_damage(struct catalog_row *r, void *row)
{
	struct catalog_damage *out = row;
	char name[64];
	const void *fp;
	size_t len;

	out->place.container = row_u64(r, 0, CATALOG_NUMBER_MAX);
	out->place.entry = (u32)row_u64(r, 1, UINT32_MAX);
	fp = row_blob(r, 2, FP_BYTES, &len);
	out->found_sec = row_s64(r, 3);
	row_text(r, 4, name, sizeof(name));
	out->code = code_named(name);
	if (!fp || len != FP_BYTES || out->place.container == 0)
		r->bad = true;
	else
		memcpy(out->fp.b, fp, FP_BYTES);
}

static void after_place(sqlite3_stmt *st, const void *row)
{
	const struct catalog_damage *d = row;

	(void)sqlite3_bind_int64(st, 1, (s64)d->place.container);
	(void)sqlite3_bind_int64(st, 2, d->place.entry);
}

static const struct walk walk_sessions = {
	"session", STMT_SESSION_EACH, sizeof(struct catalog_session), 32,
	decode_session, after_number
};
static const struct walk walk_containers = {
	"container", STMT_CONTAINER_EACH, sizeof(struct catalog_container), 256,
	decode_container, after_number
};
static const struct walk walk_runs = {
	"run", STMT_RUN_EACH, sizeof(struct catalog_run), 256,
	decode_run, after_number
};
static const struct walk walk_damage = {
	"damage", STMT_DAMAGE_EACH, sizeof(struct catalog_damage), 128,
	decode_damage, after_place
};

struct call_session {
	int (*fn)(void *ctx, const struct catalog_session *s);
	void *ctx;
};

static int call_session(void *call, const void *row)
{
	struct call_session *k = call;

	return k->fn(k->ctx, row);
}

int catalog_each_session(struct catalog *c,
			 int (*fn)(void *ctx, const struct catalog_session *s),
			 void *ctx, struct akin_diag *diag)
{
	struct call_session k = { fn, ctx };

	return walk_rows(c, &walk_sessions, call_session, &k, diag);
}

struct call_container {
	int (*fn)(void *ctx, const struct catalog_container *row);
	void *ctx;
};

static int call_container(void *call, const void *row)
{
	struct call_container *k = call;

	return k->fn(k->ctx, row);
}

int catalog_each_container(struct catalog *c,
			   int (*fn)(void *ctx,
				     const struct catalog_container *row),
			   void *ctx, struct akin_diag *diag)
{
	struct call_container k = { fn, ctx };

	return walk_rows(c, &walk_containers, call_container, &k, diag);
}

struct call_run {
	int (*fn)(void *ctx, const struct catalog_run *run);
	void *ctx;
};

static int call_run(void *call, const void *row)
{
	struct call_run *k = call;

	return k->fn(k->ctx, row);
}

int catalog_each_run(struct catalog *c,
		     int (*fn)(void *ctx, const struct catalog_run *run),
		     void *ctx, struct akin_diag *diag)
{
	struct call_run k = { fn, ctx };

	return walk_rows(c, &walk_runs, call_run, &k, diag);
}

struct call_damage {
	int (*fn)(void *ctx, const struct catalog_damage *row);
	void *ctx;
};

static int call_damage(void *call, const void *row)
{
	struct call_damage *k = call;

	return k->fn(k->ctx, row);
}

int catalog_each_damage(struct catalog *c,
			int (*fn)(void *ctx, const struct catalog_damage *row),
			void *ctx, struct akin_diag *diag)
{
	struct call_damage k = { fn, ctx };

	return walk_rows(c, &walk_damage, call_damage, &k, diag);
}

int catalog_container(struct catalog *c, u64 number,
		      struct catalog_container *out, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row = false;
	int err;

	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, STMT_CONTAINER_GET, &r.stmt, diag);
	if (!err) {
		(void)sqlite3_bind_int64(r.stmt, 1, (s64)number);
		err = catalog_step(c, STMT_CONTAINER_GET, &row, diag);
	}
	if (!err && row) {
		decode_container(&r, out);
		catalog_reset(c, STMT_CONTAINER_GET);
	}
	catalog_read_end(c);
	if (!err && r.bad)
		err = catalog_bad_row("container", diag);
	else if (!err && !row)
		err = diag_set(diag, -AKIN_E_absent,
			       "catalog: no container %llu",
			       (unsigned long long)number);
	return err;
}

/* Snapshots -----------------------------------------------------------------*/

int catalog_decode_snapshot(u64 number, const void *data, size_t len,
			    const struct pool_id *pool, struct snapshot *out,
			    struct akin_diag *diag)
{
	int err = snapshot_decode(data, len, out);

	if (!err && (out->number != number ||
		     memcmp(out->pool.b, pool->b, POOL_ID_BYTES) != 0))
		err = -AKIN_E_bad_identity;
	if (!err)
		return 0;
	snapshot_release(out);
	memset(out, 0, sizeof(*out));
	if (akin_error_class(err) == AKIN_CLASS_NOMEM)
		return diag_set(diag, err, "catalog: snapshot %llu: %s",
				(unsigned long long)number, akin_strerror(err));
	return diag_set(diag, -AKIN_E_catalog,
			"catalog is damaged: snapshot %llu: %s",
			(unsigned long long)number, akin_strerror(err));
}

/* Append number, length and bytes of the current row to @out. */
static int copy_record(struct catalog *c, enum catalog_stmt which,
		       struct buf *out, struct akin_diag *diag)
{
	struct catalog_row r = { c->stmt[which], false };
	u64 number = row_u64(&r, 0, CATALOG_NUMBER_MAX);
	size_t len;
	const void *p = row_blob(&r, 1, SNAPSHOT_RECORD_MAX, &len);

	if (r.bad || number == 0)
		return catalog_bad_row("snapshot", diag);
	buf_put_le64(out, number);
	buf_put_le32(out, (u32)len);
	buf_put(out, p, len);
	if (buf_error(out))
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	return 0;
}

/* Those numbered above @after (EACH) or just @after (GET). */
static int read_records(struct catalog *c, enum catalog_stmt which, u64 after,
			struct buf *out, u32 *nr_ret, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	bool row;
	int err;

	*nr_ret = 0;
	buf_reset(out);
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, which, &st, diag);
	if (!err)
		(void)sqlite3_bind_int64(st, 1, (s64)after);
	while (!err && *nr_ret < RECORDS_MAX && out->len < RECORDS_BYTES) {
		err = catalog_step(c, which, &row, diag);
		if (err || !row)
			break;
		err = copy_record(c, which, out, diag);
		(*nr_ret)++;
	}
	catalog_reset(c, which);
	catalog_read_end(c);
	return err;
}

int catalog_walk_records(struct catalog *c, enum catalog_stmt which,
			 int (*fn)(void *ctx, const struct snapshot *s),
			 void *ctx, struct akin_diag *diag)
{
	struct buf records = { 0 };
	struct snapshot s;
	struct cursor cur;
	u64 number = 0;
	const u8 *p;
	u32 nr, len;
	int err;

	do {
		err = read_records(c, which, number, &records, &nr, diag);
		cur = cursor_over(records.data, err ? 0 : records.len);
		while (!err && cursor_left(&cur)) {
			number = cursor_le64(&cur);
			len = cursor_le32(&cur);
			p = cursor_bytes(&cur, len);
			memset(&s, 0, sizeof(s));
			err = catalog_decode_snapshot(number, p, len, &c->pool,
						      &s, diag);
			if (err)
				break;
			err = fn(ctx, &s);
			snapshot_release(&s);
		}
	} while (!err && nr > 0);
	buf_release(&records);
	return err;
}

int catalog_each_snapshot(struct catalog *c,
			  int (*fn)(void *ctx, const struct snapshot *s),
			  void *ctx, struct akin_diag *diag)
{
	return catalog_walk_records(c, STMT_SNAPSHOT_EACH, fn, ctx, diag);
}

int catalog_snapshot(struct catalog *c, u64 number, struct snapshot *out,
		     struct akin_diag *diag)
{
	struct buf record = { 0 };
	struct cursor cur;
	const u8 *p;
	u32 nr, len;
	int err;

	memset(out, 0, sizeof(*out));
	err = read_records(c, STMT_SNAPSHOT_GET, number, &record, &nr, diag);
	if (!err && nr == 0)
		err = diag_set(diag, -AKIN_E_snap_unknown,
			       "no snapshot has number %llu",
			       (unsigned long long)number);
	if (!err) {
		cur = cursor_over(record.data, record.len);
		(void)cursor_le64(&cur);	/* the number asked for */
		len = cursor_le32(&cur);
		p = cursor_bytes(&cur, len);
		err = catalog_decode_snapshot(number, p, len, &c->pool, out,
					      diag);
	}
	buf_release(&record);
	return err;
}

/* Numbers -------------------------------------------------------------------*/

int catalog_txn(struct catalog *c, u64 *out, struct akin_diag *diag)
{
	int err = catalog_read_begin(c, diag);

	if (err)
		return err;
	*out = c->meta.txn;
	catalog_read_end(c);
	return 0;
}

/* The first row of @which as numbers. */
static int read_numbers(struct catalog *c, enum catalog_stmt which, u64 bind,
			u64 *out, int nr, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row;
	int err, i;

	err = catalog_stmt(c, which, &r.stmt, diag);
	if (err)
		return err;
	if (bind)
		(void)sqlite3_bind_int64(r.stmt, 1, (s64)bind);
	err = catalog_step(c, which, &row, diag);
	if (err)
		return err;
	if (!row)
		return catalog_bad_row("totals", diag);
	for (i = 0; i < nr; i++)
		out[i] = row_u64(&r, i, INT64_MAX);
	catalog_reset(c, which);
	return r.bad ? catalog_bad_row("totals", diag) : 0;
}

int catalog_session_saved(struct catalog *c, u64 session, u64 *out,
			  struct akin_diag *diag)
{
	int err;

	*out = 0;
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = read_numbers(c, STMT_SESSION_SAVED, session, out, 1, diag);
	catalog_read_end(c);
	return err;
}

int catalog_totals(struct catalog *c, struct catalog_totals *out,
		   struct akin_diag *diag)
{
	u64 k[8] = { 0 }, run[3] = { 0 };
	int err;

	memset(out, 0, sizeof(*out));
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = read_numbers(c, STMT_TOTAL_SNAPSHOTS, 0, &out->nr_snapshots, 1,
			   diag);
	if (!err)
		err = read_numbers(c, STMT_TOTAL_CONTAINERS, CONTAINER_DATA, k,
				   ARRAY_SIZE(k), diag);
	if (!err)
		err = read_numbers(c, STMT_TOTAL_RUNS, 0, run, ARRAY_SIZE(run),
				   diag);
	if (!err)
		err = read_numbers(c, STMT_TOTAL_DAMAGE, 0, &out->nr_damaged, 1,
				   diag);
	catalog_read_end(c);
	out->nr_data_containers = k[0];
	out->nr_meta_containers = k[1];
	out->data_bytes = k[2];
	out->meta_bytes = k[3];
	out->raw_data_bytes = k[4];
	out->raw_meta_bytes = k[5];
	out->nr_chunks = k[6];
	out->saved_data_bytes = k[7];
	out->nr_runs = run[0];
	out->run_bytes = run[1];
	out->run_entries = run[2];
	return err;
}

/* Checking ------------------------------------------------------------------*/

/*
 * Called back for a row of a batch, c->meta is what that batch's transaction
 * read, or a later one: the row's numbers must have been given out by then.
 */
static struct catalog_meta meta_now(struct catalog *c)
{
	struct catalog_meta m;

	pthread_mutex_lock(&c->lock);
	m = c->meta;
	pthread_mutex_unlock(&c->lock);
	return m;
}

static int never_given(struct akin_diag *diag, const char *table)
{
	return diag_set(diag, -AKIN_E_catalog, "catalog is damaged: a %s has "
			"a number that was never given out", table);
}

struct check {
	struct catalog *c;
	struct akin_diag *diag;
};

static int check_session(void *ctx, const struct catalog_session *s)
{
	struct check *k = ctx;
	struct catalog_meta m = meta_now(k->c);

	if (s->number > m.last_session || s->snapshot > m.last_snapshot ||
	    s->begin_txn > m.txn)
		return never_given(k->diag, "session");
	return 0;
}

static int check_container(void *ctx, const struct catalog_container *row)
{
	struct check *k = ctx;
	struct catalog_meta m = meta_now(k->c);

	if (row->number > m.last_container || row->session > m.last_session ||
	    row->condemned_txn > m.txn)
		return never_given(k->diag, "container");
	return 0;
}

static int check_run(void *ctx, const struct catalog_run *run)
{
	struct check *k = ctx;

	if (run->number > meta_now(k->c).last_run)
		return never_given(k->diag, "run");
	return 0;
}

static int check_status(void *ctx, const struct snapshot *s,
			const struct catalog_status *st)
{
	struct check *k = ctx;
	struct catalog_meta m = meta_now(k->c);

	if (s->number > m.last_snapshot || st->forgotten_txn > m.txn ||
	    (st->label && st->label->txn > m.txn))
		return never_given(k->diag, "snapshot");
	return 0;
}

static int check_damage(void *ctx, const struct catalog_damage *row)
{
	return 0;	/* it was decoded; the container may be gone */
}

int catalog_check_rows(struct catalog *c, struct akin_diag *diag)
{
	struct check k = { c, diag };
	int err;

	err = catalog_each_session(c, check_session, &k, diag);
	if (!err)
		err = catalog_each_container(c, check_container, &k, diag);
	if (!err)
		err = catalog_each_run(c, check_run, &k, diag);
	if (!err)
		err = catalog_each_status(c, CATALOG_LISTED, check_status, &k,
					  diag);
	if (!err)
		err = catalog_each_status(c, CATALOG_FORGOTTEN, check_status,
					  &k, diag);
	return err ? err : catalog_each_damage(c, check_damage, &k, diag);
}

int catalog_get_record(struct catalog *c, u64 number, struct snapshot *out,
		       struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	const void *record;
	bool row = false;
	size_t len;
	int err;

	err = catalog_stmt(c, STMT_SNAPSHOT_GET, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)number);
	err = catalog_step(c, STMT_SNAPSHOT_GET, &row, diag);
	if (err || !row)
		return err;
	record = row_blob(&r, 1, SNAPSHOT_RECORD_MAX, &len);
	if (r.bad)
		err = catalog_bad_row("snapshot", diag);
	else
		err = catalog_decode_snapshot(number, record, len, &c->pool,
					      out, diag);
	catalog_reset(c, STMT_SNAPSHOT_GET);
	return err ? err : 1;
}
