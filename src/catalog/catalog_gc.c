/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condemning, generations, reviving.
 *
 *	CURRENT --condemn N, switch N--> CONDEMNED N --unname--> (no row)
 *	   ^------------- revive --------------'
 *
 *	condemn, switch   catalog_condemn()
 *	revive            catalog_revive(), of checkpoints and commits
 *	unname            catalog_unname()
 *
 * The row in "container" is the current generation, condemned or not; rows in
 * "generation" are older or given up ones, always condemned.
 *
 * I1. Of what is visible to anybody, the generation with the lowest number
 *     holds all entries of the others: a new one is made from the current one,
 *     and who revives goes back to the lowest that he sees.
 */
#include "base/mem.h"
#include "base/numset.h"
#include "catalog/catalog_internal.h"
#include "catalog/catalog_scrub.h"

/* Each takes two rows and an entry of an index. */
static_assert(2 * CATALOG_BATCH + 32 <= CATALOG_TXN_ROWS,
	      "a batch must fit the journal");

static int bind_run(struct catalog *c, enum catalog_stmt which, u64 a, u64 b,
		    u32 *changed_ret, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, which, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)a);
	if (sqlite3_bind_parameter_count(st) > 1)
		(void)sqlite3_bind_int64(st, 2, (s64)b);
	return catalog_run(c, which, changed_ret, diag);
}

/* Looking -------------------------------------------------------------------*/

int catalog_numbers(struct catalog *c, struct catalog_numbers *out,
		    struct akin_diag *diag)
{
	int err = catalog_read_begin(c, diag);

	if (err)
		return err;
	out->txn = c->meta.txn;
	out->root_txn = c->meta.root_txn;
	out->condemn_txn = c->meta.condemn_txn;
	out->last_container = c->meta.last_container;
	catalog_read_end(c);
	return 0;
}

int catalog_each_root(struct catalog *c,
		      int (*fn)(void *ctx, const struct snapshot *s),
		      void *ctx, struct akin_diag *diag)
{
	return catalog_walk_records(c, STMT_ROOT_EACH, fn, ctx, diag);
}

/* The current generation; *found_ret. */
static int get_current(struct catalog *c, u64 number,
		       struct catalog_container *out, bool *found_ret,
		       struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	int err;

	err = catalog_stmt(c, STMT_CONTAINER_GET, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)number);
	err = catalog_step(c, STMT_CONTAINER_GET, found_ret, diag);
	if (err || !*found_ret)
		return err;
	catalog_decode_container(&r, out);
	catalog_reset(c, STMT_CONTAINER_GET);
	return r.bad ? catalog_bad_row("container", diag) : 0;
}

/* Of the others, the oldest that is visible at @view; *found_ret. Fills what
 * generations differ in. */
static int get_oldest(struct catalog *c, u64 number, u64 view,
		      struct catalog_container *out, bool *found_ret,
		      struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	int err;

	err = catalog_stmt(c, STMT_GENERATION_OLDEST, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)number);
	(void)sqlite3_bind_int64(r.stmt, 2, (s64)view);
	err = catalog_step(c, STMT_GENERATION_OLDEST, found_ret, diag);
	if (err || !*found_ret)
		return err;
	out->generation = (u32)row_u64(&r, 0, UINT32_MAX);
	out->file_bytes = row_u64(&r, 1, INT64_MAX);
	out->dir_off = row_u64(&r, 2, INT64_MAX);
	out->dir_len = (u32)row_u64(&r, 3, UINT32_MAX);
	out->nr_entries = (u32)row_u64(&r, 4, UINT32_MAX);
	out->raw_bytes = row_u64(&r, 5, INT64_MAX);
	out->condemned_txn = row_u64(&r, 6, CATALOG_NUMBER_MAX);
	catalog_reset(c, STMT_GENERATION_OLDEST);
	return r.bad ? catalog_bad_row("generation", diag) : 0;
}

/* I1. *older_ret: it is not the current one. */
static int find_visible(struct catalog *c, u64 number, u64 view,
			struct catalog_container *out, bool *found_ret,
			bool *older_ret, struct akin_diag *diag)
{
	struct catalog_container old;
	bool old_found = false;
	int err;

	*older_ret = false;
	err = get_current(c, number, out, found_ret, diag);
	if (err || !*found_ret)
		return err;
	old = *out;
	err = get_oldest(c, number, view, &old, &old_found, diag);
	if (err)
		return err;
	*found_ret = !out->condemned_txn || out->condemned_txn > view;
	if (old_found && (!*found_ret || old.generation < out->generation)) {
		*out = old;
		*found_ret = true;
		*older_ret = true;
	}
	return 0;
}

int catalog_visible(struct catalog *c, u64 number, u64 view,
		    struct catalog_container *out, struct akin_diag *diag)
{
	bool found = false, older;
	int err;

	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = find_visible(c, number, view, out, &found, &older, diag);
	catalog_read_end(c);
	if (!err && !found)
		err = diag_set(diag, -AKIN_E_absent,
			       "container %llu has been reclaimed",
			       (unsigned long long)number);
	return err;
}

static int has_generation(struct catalog *c, u64 container, u32 generation,
			  bool *out, struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_GENERATION_GET, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)container);
	(void)sqlite3_bind_int64(st, 2, generation);
	err = catalog_step(c, STMT_GENERATION_GET, out, diag);
	catalog_reset(c, STMT_GENERATION_GET);
	return err;
}

int catalog_names_file(struct catalog *c, u64 container, u32 generation,
		       bool *out, struct akin_diag *diag)
{
	struct catalog_container row;
	bool found = false;
	int err;

	*out = false;
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = get_current(c, container, &row, &found, diag);
	if (!err && found && row.generation == generation)
		*out = true;
	else if (!err)
		err = has_generation(c, container, generation, out, diag);
	catalog_read_end(c);
	return err;
}

int catalog_has_snapshot(struct catalog *c, u64 number, bool *out,
			 struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	*out = false;
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, STMT_SNAPSHOT_ANY, &st, diag);
	if (!err) {
		(void)sqlite3_bind_int64(st, 1, (s64)number);
		err = catalog_step(c, STMT_SNAPSHOT_ANY, out, diag);
		catalog_reset(c, STMT_SNAPSHOT_ANY);
	}
	catalog_read_end(c);
	return err;
}

#define GENERATIONS 128		/* of one batch, as in the statement */

static int read_generations(struct catalog *c,
			    const struct catalog_generation *after,
			    struct catalog_generation *out, u32 *nr_ret,
			    struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	struct catalog_generation *g;
	bool row = true;
	int err;

	*nr_ret = 0;
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = catalog_stmt(c, STMT_GENERATION_EACH, &r.stmt, diag);
	if (!err) {
		(void)sqlite3_bind_int64(r.stmt, 1, (s64)after->container);
		(void)sqlite3_bind_int64(r.stmt, 2, after->generation);
	}
	while (!err && *nr_ret < GENERATIONS) {
		err = catalog_step(c, STMT_GENERATION_EACH, &row, diag);
		if (err || !row)
			break;
		g = &out[(*nr_ret)++];
		g->container = row_u64(&r, 0, CATALOG_NUMBER_MAX);
		g->generation = (u32)row_u64(&r, 1, UINT32_MAX);
		g->file_bytes = row_u64(&r, 2, INT64_MAX);
		g->condemned_txn = row_u64(&r, 3, CATALOG_NUMBER_MAX);
	}
	catalog_reset(c, STMT_GENERATION_EACH);
	catalog_read_end(c);
	return !err && r.bad ? catalog_bad_row("generation", diag) : err;
}

int catalog_each_generation(struct catalog *c,
			    int (*fn)(void *ctx,
				      const struct catalog_generation *g),
			    void *ctx, struct akin_diag *diag)
{
	struct catalog_generation *rows, last = { 0 };
	u32 nr = GENERATIONS, i;
	int err = 0;

	rows = mem_calloc(GENERATIONS, sizeof(*rows));
	if (!rows)
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	while (!err && nr == GENERATIONS) {
		err = read_generations(c, &last, rows, &nr, diag);
		if (!err && nr)
			last = rows[nr - 1];
		for (i = 0; !err && i < nr; i++)
			err = fn(ctx, &rows[i]);
	}
	mem_free(rows);
	return err;
}

/* Sessions ------------------------------------------------------------------*/

int catalog_pin(struct catalog *c, u64 session, u64 snapshot,
		struct akin_diag *diag)
{
	u32 changed = 0;
	int err;

	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = bind_run(c, STMT_SESSION_PIN, session, snapshot, &changed, diag);
	if (!err && !changed)
		err = diag_set(diag, -AKIN_E_snap_unknown,
			       "snapshot %llu has just been forgotten",
			       (unsigned long long)snapshot);
	return catalog_txn_end(c, err, diag);
}

/* @stmt takes away so many rows at a time: transactions until none is left. */
static int drop_all(struct catalog *c, enum catalog_stmt stmt, u32 *nr_ret,
		    struct akin_diag *diag)
{
	u32 changed = 1;
	int err = 0;

	*nr_ret = 0;
	while (!err && changed) {
		err = catalog_txn_begin(c, diag);
		if (err)
			break;
		err = catalog_run(c, stmt, &changed, diag);
		err = catalog_txn_end(c, err, diag);
		*nr_ret += err ? 0 : changed;
	}
	return err;
}

int catalog_drop_interrupted(struct catalog *c, u32 *nr_ret,
			     struct akin_diag *diag)
{
	return drop_all(c, STMT_SESSION_DROP_LEFT, nr_ret, diag);
}

int catalog_drop_stale_damage(struct catalog *c, struct akin_diag *diag)
{
	u32 nr;

	return drop_all(c, STMT_DAMAGE_GONE, &nr, diag);
}

int catalog_drop_stale_scrubs(struct catalog *c, struct akin_diag *diag)
{
	u32 nr;

	return drop_all(c, STMT_SCRUB_GONE, &nr, diag);
}

/* Condemning ----------------------------------------------------------------*/

/* What the row of @number says from now on. */
static int set_current(struct catalog *c, u64 number, u32 generation,
		       const struct catalog_container *file,
		       struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	err = catalog_stmt(c, STMT_CONTAINER_SET, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)number);
	(void)sqlite3_bind_int64(st, 2, generation);
	(void)sqlite3_bind_int64(st, 3, (s64)file->file_bytes);
	(void)sqlite3_bind_int64(st, 4, (s64)file->dir_off);
	(void)sqlite3_bind_int64(st, 5, file->dir_len);
	(void)sqlite3_bind_int64(st, 6, file->nr_entries);
	(void)sqlite3_bind_int64(st, 7, (s64)file->raw_bytes);
	return catalog_run(c, STMT_CONTAINER_SET, NULL, diag);
}

static int switch_one(struct catalog *c, struct catalog_switch *s,
		      struct akin_diag *diag)
{
	struct catalog_container row, to = { 0 };
	bool found = false;
	int err;

	s->done = false;
	err = get_current(c, s->number, &row, &found, diag);
	if (err || !found || row.generation != s->from || row.condemned_txn)
		return err;
	to.file_bytes = s->file_bytes;
	to.dir_off = s->dir_off;
	to.dir_len = s->dir_len;
	to.nr_entries = s->nr_entries;
	to.raw_bytes = s->raw_bytes;
	err = bind_run(c, STMT_GENERATION_KEEP, s->number, c->meta.txn, NULL,
		       diag);
	if (!err)
		err = set_current(c, s->number, s->to, &to, diag);
	s->done = !err;
	return err;
}

int catalog_condemn(struct catalog *c, u64 marked, const u64 *numbers, u32 nr,
		    struct catalog_switch *switches, u32 nr_switches,
		    u64 *txn_ret, bool *grown_ret, struct akin_diag *diag)
{
	u64 txn;
	u32 i;
	int err;

	*grown_ret = false;
	if (nr + nr_switches > CATALOG_BATCH)
		return diag_set(diag, -AKIN_E_usage, "catalog: condemn less");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	txn = c->meta.txn;
	if (c->meta.root_txn > marked) {
		*grown_ret = true;
		/* Nothing is changed; it only costs a number. */
		return catalog_txn_end(c, 0, diag);
	}
	c->meta.condemn_txn = txn;
	for (i = 0; !err && i < nr; i++)
		err = bind_run(c, STMT_CONTAINER_CONDEMN, numbers[i], txn, NULL,
			       diag);
	for (i = 0; !err && i < nr_switches; i++)
		err = switch_one(c, &switches[i], diag);
	err = catalog_txn_end(c, err, diag);
	if (!err)
		*txn_ret = txn;
	return err;
}

int catalog_reserve_generations(struct catalog *c, const u64 *numbers, u32 nr,
				u32 *out, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row;
	u32 i;
	int err;

	if (nr > CATALOG_BATCH)
		return diag_set(diag, -AKIN_E_usage, "catalog: reserve less");
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	for (i = 0; !err && i < nr; i++) {
		out[i] = 0;
		err = catalog_stmt(c, STMT_CONTAINER_RESERVE, &r.stmt, diag);
		if (err)
			break;
		(void)sqlite3_bind_int64(r.stmt, 1, (s64)numbers[i]);
		err = catalog_step(c, STMT_CONTAINER_RESERVE, &row, diag);
		if (err || !row)
			continue;
		out[i] = (u32)row_u64(&r, 0, UINT32_MAX);
		/* To its end, or the change is not done. */
		err = catalog_step(c, STMT_CONTAINER_RESERVE, &row, diag);
	}
	if (!err && r.bad)
		err = catalog_bad_row("container", diag);
	return catalog_txn_end(c, err, diag);
}

/* Un-naming -----------------------------------------------------------------*/

/* Rows of @which, condemned up to @upto, appended to @out. */
static int list_past(struct catalog *c, enum catalog_stmt which, u64 upto,
		     struct catalog_generation *out, u32 *nr,
		     struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	bool row;
	int err;

	err = catalog_stmt(c, which, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)upto);
	(void)sqlite3_bind_int64(r.stmt, 2, CATALOG_BATCH - *nr);
	while (*nr < CATALOG_BATCH) {
		err = catalog_step(c, which, &row, diag);
		if (err || !row)
			return err;
		memset(&out[*nr], 0, sizeof(out[*nr]));
		out[*nr].container = row_u64(&r, 0, CATALOG_NUMBER_MAX);
		out[*nr].generation = (u32)row_u64(&r, 1, UINT32_MAX);
		(*nr)++;
	}
	catalog_reset(c, which);
	return r.bad ? catalog_bad_row("container", diag) : 0;
}

static int drop_rows(struct catalog *c, enum catalog_stmt which,
		     const struct catalog_generation *g, u32 nr,
		     struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < nr; i++)
		err = bind_run(c, which, g[i].container, g[i].generation, NULL,
			       diag);
	return err;
}

/*
 * Other generations first: while one is named, so is its container. The
 * current one is always the last to be condemned.
 */
int catalog_unname(struct catalog *c, u64 upto,
		   struct catalog_generation out[CATALOG_BATCH], u32 *nr_ret,
		   struct akin_diag *diag)
{
	u32 nr_old = 0, nr;
	int err;

	*nr_ret = 0;
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = list_past(c, STMT_GENERATION_PAST, upto, out, &nr_old, diag);
	nr = nr_old;
	if (!err && nr < CATALOG_BATCH)
		err = list_past(c, STMT_CONTAINER_PAST, upto, out, &nr, diag);
	if (!err)
		err = drop_rows(c, STMT_GENERATION_DROP, out, nr_old, diag);
	if (!err)
		err = drop_rows(c, STMT_CONTAINER_DROP, out + nr_old,
				nr - nr_old, diag);
	err = catalog_txn_end(c, err, diag);
	if (!err)
		*nr_ret = nr;
	return err;
}

/* Reviving ------------------------------------------------------------------*/

struct revive {
	struct catalog *c;
	const struct catalog_reviver *by;
	struct numset bases;	/* of what was revived */
};

static int add_base(void *call, u64 base)
{
	struct revive *v = call;

	return numset_add(&v->bases, base);
}

/* The numbers condemned since, descending. Returns owned. */
static int list_condemned(struct revive *v, u64 **out, u32 *nr_ret,
			  struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	u32 cap = 0;
	u64 *p;
	bool row;
	int err;

	*out = NULL;
	*nr_ret = 0;
	err = catalog_stmt(v->c, STMT_CONDEMNED_SINCE, &r.stmt, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(r.stmt, 1, (s64)v->by->view);
	for (;;) {
		err = catalog_step(v->c, STMT_CONDEMNED_SINCE, &row, diag);
		if (err || !row)
			break;
		if (*nr_ret == cap) {
			cap = cap ? cap * 2 : 64;
			p = mem_realloc(*out, cap * sizeof(*p));
			if (!p) {
				err = diag_set(diag, -AKIN_E_nomem,
					       "catalog: out of memory");
				break;
			}
			*out = p;
		}
		(*out)[(*nr_ret)++] = row_u64(&r, 0, CATALOG_NUMBER_MAX);
	}
	catalog_reset(v->c, STMT_CONDEMNED_SINCE);
	return !err && r.bad ? catalog_bad_row("container", diag) : err;
}

/* Go back to the oldest that is visible (I1), whatever was dropped since. */
static int revive_one(struct revive *v, u64 number, struct akin_diag *diag)
{
	struct catalog_container row;
	struct catalog *c = v->c;
	bool found = false, older;
	int err;

	err = find_visible(c, number, v->by->view, &row, &found, &older, diag);
	if (err || !found)
		return err ? err : diag_set(diag, -AKIN_E_internal,
					    "container %llu is gone although "
					    "it was locked",
					    (unsigned long long)number);
	if (older) {
		c->meta.condemn_txn = c->meta.txn;
		err = bind_run(c, STMT_GENERATION_KEEP, number, c->meta.txn,
			       NULL, diag);
		if (!err)
			err = set_current(c, number, row.generation, &row,
					  diag);
		if (!err)
			err = bind_run(c, STMT_GENERATION_DROP, number,
				       row.generation, NULL, diag);
	} else if (row.condemned_txn) {
		err = bind_run(c, STMT_CONTAINER_LIFT, number, 0, NULL, diag);
	}
	/* Not condemned, and visible as it is: then so is what it stands on. */
	if (err || (!older && !row.condemned_txn))
		return err;
	return v->by->bases(v->by->ctx, number, row.generation, add_base, v,
			    diag);
}

int catalog_revive(struct catalog *c, const struct catalog_reviver *by,
		   struct akin_diag *diag)
{
	struct revive v = { .c = c, .by = by };
	u64 *numbers;
	u32 nr, i;
	int err;

	if (c->meta.condemn_txn <= by->view)
		return 0;
	err = list_condemned(&v, &numbers, &nr, diag);
	/* Descending: bases have smaller numbers than what stands on them. */
	for (i = 0; !err && i < nr; i++) {
		if (by->uses(by->ctx, numbers[i]) ||
		    numset_has(&v.bases, numbers[i]))
			err = revive_one(&v, numbers[i], diag);
	}
	mem_free(numbers);
	numset_release(&v.bases);
	return diag_said(diag, err);
}
