/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forgotten snapshots and labels; see catalog_retention.h.
 *
 * A snapshot's own row is never touched: its record may be long, and a changed
 * row is written anew with all of it. What changes is in small rows beside it,
 * so that forgetting fits the preallocated journal on a full disk.
 *
 * I1. A row of "forgotten" or "label" belongs to a row of "snapshot".
 * I2. Nothing that was condemned after a snapshot was forgotten is relied on by
 *     undelete: before that moment the snapshot was a root, so all its data was
 *     uncondemned; if nothing was condemned since, it still is.
 */
#include "base/mem.h"
#include "catalog/catalog_internal.h"

static int unknown(u64 number, struct akin_diag *diag)
{
	return diag_set(diag, -AKIN_E_snap_unknown,
			"no snapshot has number %llu",
			(unsigned long long)number);
}

static int bad_label(u64 number, int err, struct akin_diag *diag)
{
	if (akin_error_class(err) == AKIN_CLASS_NOMEM)
		return diag_set(diag, err, "catalog: label of snapshot %llu: "
				"%s", (unsigned long long)number,
				akin_strerror(err));
	return diag_set(diag, -AKIN_E_catalog, "catalog is damaged: label of "
			"snapshot %llu: %s", (unsigned long long)number,
			akin_strerror(err));
}

static int decode_label(struct catalog *c, u64 number, const void *data,
			size_t len, struct label *out, struct akin_diag *diag)
{
	int err = label_decode(data, len, out);

	if (!err && (out->number != number ||
		     memcmp(out->pool.b, c->pool.b, POOL_ID_BYTES) != 0)) {
		label_release(out);
		err = -AKIN_E_bad_identity;
	}
	return err ? bad_label(number, err, diag) : 0;
}

/* Statuses ------------------------------------------------------------------*/

/* Rows are copied out until there are so many or so many bytes of them. */
#define STATUS_ROWS 64
#define STATUS_BYTES (256 * KiB)

/* Append the current row of STATUS_EACH to @out. */
static int copy_status(struct catalog *c, enum catalog_which which,
		       struct buf *out, struct akin_diag *diag)
{
	struct catalog_row r = { c->stmt[STMT_STATUS_EACH], false };
	const void *record, *label = NULL;
	size_t record_len, label_len = 0;
	u64 number, txn = 0;
	s64 sec = 0;

	number = row_u64(&r, 0, CATALOG_NUMBER_MAX);
	record = row_blob(&r, 1, SNAPSHOT_RECORD_MAX, &record_len);
	if (sqlite3_column_type(r.stmt, 2) != SQLITE_NULL)
		label = row_blob(&r, 2, SNAPSHOT_RECORD_MAX, &label_len);
	if (which == CATALOG_FORGOTTEN) {
		txn = row_u64(&r, 3, CATALOG_NUMBER_MAX);
		sec = row_s64(&r, 4);
	}
	if (r.bad || !number || (which == CATALOG_FORGOTTEN && !txn))
		return catalog_bad_row("snapshot", diag);
	buf_put_le64(out, number);
	buf_put_le64(out, txn);
	buf_put_le64(out, (u64)sec);
	buf_put_le32(out, (u32)record_len);
	buf_put_le32(out, (u32)label_len);
	buf_put(out, record, record_len);
	buf_put(out, label, label_len);
	return buf_error(out) ? diag_set(diag, -AKIN_E_nomem,
					 "catalog: out of memory") : 0;
}

/* Those behind @after, up to @max; *nr_ret is 0 at the end. */
static int read_statuses(struct catalog *c, enum catalog_which which,
			 u64 after, u32 max, struct buf *out, u32 *nr_ret,
			 u64 *condemned_ret, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	bool row = false;
	int err;

	*nr_ret = 0;
	buf_reset(out);
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	*condemned_ret = c->meta.condemn_txn;
	err = catalog_stmt(c, STMT_STATUS_EACH, &st, diag);
	if (!err) {
		(void)sqlite3_bind_int64(st, 1, (s64)after);
		(void)sqlite3_bind_int(st, 2, which == CATALOG_FORGOTTEN);
	}
	while (!err && *nr_ret < max && out->len < STATUS_BYTES) {
		err = catalog_step(c, STMT_STATUS_EACH, &row, diag);
		if (err || !row)
			break;
		err = copy_status(c, which, out, diag);
		(*nr_ret)++;
	}
	catalog_reset(c, STMT_STATUS_EACH);
	catalog_read_end(c);
	return err;
}

typedef int status_fn(void *ctx, const struct snapshot *s,
		      const struct catalog_status *st);

/* One row of those; *number_ret is its number. */
static int call_status(struct catalog *c, struct cursor *cur, u64 condemned,
		       u64 *number_ret, status_fn *fn, void *ctx,
		       struct akin_diag *diag)
{
	struct catalog_status st = { 0 };
	struct label label = { 0 };
	struct snapshot s = { 0 };
	u32 record_len, label_len;
	const u8 *record, *body;
	int err;

	*number_ret = cursor_le64(cur);
	st.forgotten_txn = cursor_le64(cur);
	st.forgotten_sec = (s64)cursor_le64(cur);
	st.may_undelete = st.forgotten_txn && st.forgotten_txn >= condemned;
	record_len = cursor_le32(cur);
	label_len = cursor_le32(cur);
	record = cursor_bytes(cur, record_len);
	body = cursor_bytes(cur, label_len);
	err = catalog_decode_snapshot(*number_ret, record, record_len,
				      &c->pool, &s, diag);
	if (!err && label_len) {
		err = decode_label(c, *number_ret, body, label_len, &label,
				   diag);
		st.label = &label;
	}
	if (!err)
		err = fn(ctx, &s, &st);
	snapshot_release(&s);
	label_release(&label);
	return err;
}

int catalog_each_status(struct catalog *c, enum catalog_which which,
			status_fn *fn, void *ctx, struct akin_diag *diag)
{
	struct buf rows = { 0 };
	u64 number = 0, condemned;
	struct cursor cur;
	u32 nr;
	int err;

	do {
		err = read_statuses(c, which, number, STATUS_ROWS, &rows, &nr,
				    &condemned, diag);
		cur = cursor_over(rows.data, err ? 0 : rows.len);
		while (!err && cursor_left(&cur))
			err = call_status(c, &cur, condemned, &number, fn, ctx,
					  diag);
	} while (!err && nr);
	buf_release(&rows);
	return err;
}

struct only {
	u64 number;
	status_fn *fn;
	void *ctx;
	bool found;
};

static int call_only(void *ctx, const struct snapshot *s,
		     const struct catalog_status *st)
{
	struct only *o = ctx;

	if (s->number != o->number)
		return 0;
	o->found = true;
	return o->fn(o->ctx, s, st);
}

int catalog_status_of(struct catalog *c, enum catalog_which which, u64 number,
		      status_fn *fn, void *ctx, struct akin_diag *diag)
{
	struct only o = { number, fn, ctx, false };
	struct buf rows = { 0 };
	u64 got, condemned;
	struct cursor cur;
	u32 nr = 0;
	int err = 0;

	if (number)
		err = read_statuses(c, which, number - 1, 1, &rows, &nr,
				    &condemned, diag);
	if (!err && nr) {
		cur = cursor_over(rows.data, rows.len);
		err = call_status(c, &cur, condemned, &got, call_only, &o,
				  diag);
	}
	buf_release(&rows);
	return err || o.found ? err : unknown(number, diag);
}

/* Labels --------------------------------------------------------------------*/

/* The label that listed snapshot @number has. *have_ret: it has one. */
static int get_label(struct catalog *c, u64 number, bool *have_ret,
		     struct label *out, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	const void *body = NULL;
	bool row = false;
	size_t len = 0;
	int err;

	*have_ret = false;
	memset(out, 0, sizeof(*out));
	err = catalog_stmt(c, STMT_LABEL_GET, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)number);
	err = catalog_step(c, STMT_LABEL_GET, &row, diag);
	if (err)
		return err;
	if (!row)
		return unknown(number, diag);
	*have_ret = sqlite3_column_type(r.stmt, 1) != SQLITE_NULL;
	if (*have_ret)
		body = row_blob(&r, 1, SNAPSHOT_RECORD_MAX, &len);
	if (r.bad)
		err = catalog_bad_row("label", diag);
	else if (*have_ret)
		err = decode_label(c, number, body, len, out, diag);
	catalog_reset(c, STMT_LABEL_GET);
	return err;
}

/* One for @s, which gives its tags away. */
static void make_label(struct snapshot *s, struct label *out)
{
	memset(out, 0, sizeof(*out));
	out->pool = s->pool;
	out->number = s->number;
	memcpy(out->id, s->id, sizeof(out->id));
	out->tags = TAKE(s->tags);
	out->nr_tags = s->nr_tags;
	s->tags = NULL;
	s->nr_tags = 0;
}

static int label_of_record(struct catalog *c, u64 number, struct label *out,
			   struct akin_diag *diag)
{
	struct snapshot s = { 0 };
	int err;

	err = catalog_get_record(c, number, &s, diag);
	if (err == 0)
		return unknown(number, diag);
	if (err < 0)
		return err;
	make_label(&s, out);
	snapshot_release(&s);
	return 0;
}

static int is_forgotten(struct catalog *c, u64 number, u64 *txn_ret,
			struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row = false;
	int err;

	*txn_ret = 0;
	err = catalog_stmt(c, STMT_FORGET_GET, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)number);
	err = catalog_step(c, STMT_FORGET_GET, &row, diag);
	if (err || !row)
		return err;
	*txn_ret = row_u64(&r, 0, CATALOG_NUMBER_MAX);
	catalog_reset(c, STMT_FORGET_GET);
	return r.bad || !*txn_ret ? catalog_bad_row("forgotten", diag) : 1;
}

int catalog_standing(struct catalog *c, u64 number, enum catalog_which *out,
		     struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct label l = { 0 };
	bool have;
	u64 txn;
	int err;

	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = is_forgotten(c, number, &txn, diag);
	*out = err > 0 ? CATALOG_FORGOTTEN : CATALOG_LISTED;
	if (!err)
		err = get_label(c, number, &have, &l, &why);
	label_release(&l);
	catalog_read_end(c);
	if (err == -AKIN_E_snap_unknown)
		*out = CATALOG_UNKNOWN;
	else if (err < 0)
		return diag_pass(diag, err, &why);
	return 0;
}

static int store_label(struct catalog *c, struct label *l,
		       const struct catalog_label_ops *ops,
		       struct akin_diag *diag)
{
	struct buf bytes = { 0 };
	sqlite3_stmt *st;
	int err;

	l->txn = c->meta.txn;
	err = label_encode(l, &bytes);
	if (err)
		err = diag_set(diag, err == -AKIN_E_bad_length ?
			       -AKIN_E_too_large : err,
			       "label of snapshot %llu: %s",
			       (unsigned long long)l->number,
			       akin_strerror(err));
	if (!err)
		err = ops->write(ops->ctx, l->number, &bytes, diag);
	if (!err)
		err = catalog_stmt(c, STMT_LABEL_SET, &st, diag);
	if (!err) {
		(void)sqlite3_bind_int64(st, 1, (s64)l->number);
		(void)sqlite3_bind_blob64(st, 2, bytes.data, bytes.len,
					  SQLITE_STATIC);
		err = catalog_run(c, STMT_LABEL_SET, NULL, diag);
	}
	buf_release(&bytes);
	return err;
}

int catalog_change_label(struct catalog *c, u64 number,
			 const struct clock_reading *now,
			 const struct catalog_label_ops *ops,
			 struct akin_diag *diag)
{
	struct catalog_now time;
	struct label l = { 0 };
	bool have = false;
	u64 txn;
	int err;

	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = is_forgotten(c, number, &txn, diag);
	if (err > 0)
		err = unknown(number, diag);
	if (!err)
		err = get_label(c, number, &have, &l, diag);
	if (!err && !have)
		err = label_of_record(c, number, &l, diag);
	if (!err)
		err = catalog_tick(c, now, &time, diag);
	if (!err)
		err = ops->change(ops->ctx, &time, &l, diag);
	if (!err)
		err = store_label(c, &l, ops, diag);
	if (err > 0) {
		catalog_txn_cancel(c);
		err = 0;
	} else {
		err = catalog_txn_end(c, err, diag);
	}
	label_release(&l);
	return err;
}

/* Forget --------------------------------------------------------------------*/

static int judge(struct catalog *c, struct catalog_forget *row, u64 as_of,
		 const struct catalog_now *now, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct label l;
	bool have;
	u64 txn;
	int err;

	err = is_forgotten(c, row->number, &txn, diag);
	if (err < 0)
		return err;
	row->outcome = FORGET_ABSENT;
	if (err)
		return 0;
	err = get_label(c, row->number, &have, &l, &why);
	if (err == -AKIN_E_snap_unknown)
		return 0;
	if (err)
		return diag_pass(diag, err, &why);
	row->outcome = FORGET_DONE;
	if (have && l.txn > as_of)
		row->outcome = FORGET_CHANGED;
	else if (have && catalog_is_protected(&l, now))
		row->outcome = FORGET_PROTECTED;
	label_release(&l);
	return 0;
}

static int add_forgotten(struct catalog *c, u64 number,
			 const struct catalog_now *now, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_FORGET_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)number);
	(void)sqlite3_bind_int64(st, 2, (s64)c->meta.txn);
	(void)sqlite3_bind_int64(st, 3, now->wall_sec);
	return catalog_run(c, STMT_FORGET_ADD, NULL, diag);
}

/* Outcomes first, so that with @all nothing is undone. *nr_ret: to be done. */
static int forget_locked(struct catalog *c, struct catalog_forget *rows,
			 u32 nr, u64 as_of, bool all,
			 const struct clock_reading *now, u32 *nr_ret,
			 struct akin_diag *diag)
{
	struct catalog_now time;
	u32 i;
	int err;

	*nr_ret = 0;
	err = catalog_tick(c, now, &time, diag);
	for (i = 0; !err && i < nr; i++) {
		err = judge(c, &rows[i], as_of, &time, diag);
		*nr_ret += rows[i].outcome == FORGET_DONE;
	}
	if (err || (all && *nr_ret < nr))
		return err;
	for (i = 0; !err && i < nr; i++)
		if (rows[i].outcome == FORGET_DONE)
			err = add_forgotten(c, rows[i].number, &time, diag);
	return err;
}

int catalog_forget(struct catalog *c, struct catalog_forget *rows, u32 nr,
		   u64 as_of, bool all, const struct clock_reading *now,
		   struct akin_diag *diag)
{
	u32 nr_done;
	int err;

	if (nr > CATALOG_FORGET_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"catalog: too many to forget at once");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = forget_locked(c, rows, nr, as_of, all, now, &nr_done, diag);
	return catalog_txn_end(c, err, diag);
}

int catalog_bury(struct catalog *c, const u64 *numbers, u32 nr,
		 int (*bury)(void *ctx, const u64 *numbers, u32 nr,
			     struct akin_diag *diag),
		 void *ctx, struct akin_diag *diag)
{
	u64 still[CATALOG_FORGET_MAX], txn;
	u32 i, n = 0;
	int err;

	if (nr > CATALOG_FORGET_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"catalog: too many to bury at once");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	for (i = 0; err >= 0 && i < nr; i++) {
		err = is_forgotten(c, numbers[i], &txn, diag);
		if (err > 0)
			still[n++] = numbers[i];
	}
	if (err >= 0)
		err = n ? bury(ctx, still, n, diag) : 0;
	catalog_txn_cancel(c);
	return err;
}

/* Undelete and purge --------------------------------------------------------*/

/* *nr_ret (may be NULL): rows that there were. */
static int drop(struct catalog *c, enum catalog_stmt which, u64 number,
		u32 *nr_ret, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, which, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)number);
	return catalog_run(c, which, nr_ret, diag);
}

int catalog_undelete(struct catalog *c, u64 number,
		     int (*revive)(void *ctx, u64 number,
				   struct akin_diag *diag),
		     void *ctx, struct akin_diag *diag)
{
	u64 txn;
	int err;

	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = is_forgotten(c, number, &txn, diag);
	if (!err)
		err = diag_set(diag, -AKIN_E_snap_unknown,
			       "no forgotten snapshot has number %llu",
			       (unsigned long long)number);
	else if (err > 0 && c->meta.condemn_txn > txn)	/* I2 */
		err = diag_set(diag, -AKIN_E_snap_reclaimed, "snapshot %llu: "
			       "space was reclaimed since it was forgotten",
			       (unsigned long long)number);
	if (err > 0)
		err = revive(ctx, number, diag);
	if (!err)
		err = drop(c, STMT_FORGET_DROP, number, NULL, diag);
	c->meta.root_txn = c->meta.txn;
	return catalog_txn_end(c, err, diag);
}

int catalog_purge(struct catalog *c, u64 number, bool *purged_ret,
		  struct akin_diag *diag)
{
	u32 nr = 0;
	u64 txn;
	int err;

	*purged_ret = false;
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = is_forgotten(c, number, &txn, diag);
	if (err <= 0 || c->meta.condemn_txn <= txn) {
		catalog_txn_cancel(c);
		return err < 0 ? err : 0;
	}
	err = drop(c, STMT_SNAPSHOT_DROP, number, &nr, diag);
	if (!err && !nr) {	/* a living session pins it */
		catalog_txn_cancel(c);
		return 0;
	}
	if (!err)
		err = drop(c, STMT_LABEL_DROP, number, NULL, diag);	/* I1 */
	if (!err)
		err = drop(c, STMT_FORGET_DROP, number, NULL, diag);
	err = catalog_txn_end(c, err, diag);
	*purged_ret = !err;
	return err;
}

/* A batch of numbers behind @after. */
static int list_forgotten(struct catalog *c, bool reclaimed, u64 after,
			  u64 *numbers, u32 *nr_ret, u64 *last_ret,
			  struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	u64 number, txn;
	bool row;
	int err;

	*nr_ret = 0;
	*last_ret = 0;
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, STMT_FORGET_EACH, &r.stmt, diag);
	if (!err)
		(void)sqlite3_bind_int64(r.stmt, 1, (s64)after);
	while (!err) {
		err = catalog_step(c, STMT_FORGET_EACH, &row, diag);
		if (err || !row)
			break;
		number = row_u64(&r, 0, CATALOG_NUMBER_MAX);
		txn = row_u64(&r, 1, CATALOG_NUMBER_MAX);
		if (r.bad || !number) {
			err = catalog_bad_row("forgotten", diag);
			break;
		}
		*last_ret = number;
		if (!reclaimed || c->meta.condemn_txn > txn)
			numbers[(*nr_ret)++] = number;
	}
	catalog_reset(c, STMT_FORGET_EACH);
	catalog_read_end(c);
	return err;
}

int catalog_each_forgotten(struct catalog *c, bool reclaimed,
			   int (*fn)(void *ctx, u64 number), void *ctx,
			   struct akin_diag *diag)
{
	u64 numbers[CATALOG_TXN_ROWS], last = 0;	/* the statement's LIMIT */
	u32 nr, i;
	int err;

	do {
		err = list_forgotten(c, reclaimed, last, numbers, &nr, &last,
				     diag);
		for (i = 0; !err && i < nr; i++)
			err = fn(ctx, numbers[i]);
	} while (!err && last);
	return err;
}
