/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool's age: time that has certainly passed.
 *
 * A protection that ends on a date must not end because somebody's clock was
 * wrong. So it ends only when the wall clock has passed the date *and* the pool
 * has become older by as much as the wall clock said it would when the
 * protection began. A wall clock that jumps forward and back again moves the
 * age by nothing within one boot and by at most a week across boots, and only
 * once for each boot. A pool on a machine that is started rarely ages slowly;
 * its protections last longer and are lifted by hand.
 *
 * Whoever changes the catalog in a way that people see moves the clock.
 */
#include "catalog/catalog_internal.h"

#define NS_PER_SEC ((u64)1000000000)

struct aging {
	u64 age_ns;
	struct clock_reading last;
};

static int load(struct catalog *c, struct aging *out, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	const void *boot;
	bool row = false;
	size_t len;
	int err;

	memset(out, 0, sizeof(*out));
	err = catalog_stmt(c, STMT_CLOCK_GET, &r.stmt, diag);
	if (!err)
		err = catalog_step(c, STMT_CLOCK_GET, &row, diag);
	if (err)
		return err;
	if (!row)
		return catalog_bad_row("clock", diag);
	out->age_ns = row_u64(&r, 0, INT64_MAX);
	out->last.wall_sec = row_s64(&r, 1);
	out->last.boot_ns = row_u64(&r, 2, INT64_MAX);
	boot = row_blob(&r, 3, sizeof(out->last.boot), &len);
	if (boot && len == sizeof(out->last.boot))
		memcpy(out->last.boot, boot, len);
	else
		r.bad = true;
	catalog_reset(c, STMT_CLOCK_GET);
	return r.bad ? catalog_bad_row("clock", diag) : 0;
}

static bool known(const struct clock_reading *r)
{
	static const u8 zeros[sizeof(r->boot)];

	return memcmp(r->boot, zeros, sizeof(zeros)) != 0;
}

/* Nanoseconds between the last reading and @now, at least. */
static u64 passed(const struct clock_reading *last,
		  const struct clock_reading *now)
{
	u64 sec;

	if (!last->wall_sec && !last->boot_ns && !known(last))
		return 0;	/* the first reading */
	if (known(last) && memcmp(last->boot, now->boot, sizeof(now->boot)) == 0)
		return now->boot_ns > last->boot_ns ?
		       now->boot_ns - last->boot_ns : 0;
	if (now->wall_sec <= last->wall_sec)
		return 0;
	sec = (u64)now->wall_sec - (u64)last->wall_sec;
	return min_u64(sec, CATALOG_BOOT_STEP_SEC) * NS_PER_SEC;
}

static void advance(struct aging *a, const struct clock_reading *now,
		    struct catalog_now *out)
{
	a->age_ns += min_u64(passed(&a->last, now), INT64_MAX - a->age_ns);
	a->last = *now;
	if (out) {
		out->wall_sec = now->wall_sec;
		out->age_sec = a->age_ns / NS_PER_SEC;
	}
}

int catalog_tick(struct catalog *c, const struct clock_reading *now,
		 struct catalog_now *out, struct akin_diag *diag)
{
	struct clock_reading own;
	struct aging a;
	sqlite3_stmt *st;
	int err;

	if (!now) {
		clock_read(&own);
		now = &own;
	}
	err = load(c, &a, diag);
	if (err)
		return err;
	advance(&a, now, out);
	err = catalog_stmt(c, STMT_CLOCK_SET, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_int64(st, 1, (s64)a.age_ns);
	(void)sqlite3_bind_int64(st, 2, now->wall_sec);
	(void)sqlite3_bind_int64(st, 3, (s64)min_u64(now->boot_ns, INT64_MAX));
	(void)sqlite3_bind_blob(st, 4, now->boot, sizeof(now->boot),
				SQLITE_STATIC);
	return catalog_run(c, STMT_CLOCK_SET, NULL, diag);
}

int catalog_pass_time(struct catalog *c, const struct clock_reading *now,
		      struct catalog_now *out, struct akin_diag *diag)
{
	int err = catalog_txn_begin(c, diag);

	if (err)
		return err;
	err = catalog_tick(c, now, out, diag);
	return catalog_txn_end(c, err, diag);
}

int catalog_now(struct catalog *c, const struct clock_reading *now,
		struct catalog_now *out, struct akin_diag *diag)
{
	struct clock_reading own;
	struct aging a;
	int err;

	if (!now) {
		clock_read(&own);
		now = &own;
	}
	err = catalog_read_begin(c, diag);
	if (err)
		return err;
	err = load(c, &a, diag);
	catalog_read_end(c);
	if (!err)
		advance(&a, now, out);
	return err;
}

bool catalog_is_protected(const struct label *l, const struct catalog_now *now)
{
	if (!l || !(l->flags & LABEL_PROTECTED))
		return false;
	return !(l->flags & LABEL_UNTIL) || now->wall_sec < l->until_sec ||
	       now->age_sec < l->until_age_sec;
}
