/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts and kills during forget, undelete, tag, protect and the setting of
 * a policy: stopped at every operation on either disk and rebooted with what was
 * not synced lost, kept, and torn. In every state:
 *
 *  - what was acknowledged holds, what was not has happened or not;
 *  - what is listed is whole, has a record and no tombstone (I4), and what the
 *    catalog knows of its label and of the policy the data pool knows, too;
 *  - the same call then succeeds, and leaves a tombstone where one belongs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "catalog/catalog_retention.h"
#include "record/record.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define BYTES ((size_t)16 * 1024)
#define NAMES 3

struct setup {
	struct simpool base;	/* three snapshots: "a", "b", "c" */
	u8 *data[NAMES];
};

static const char *const names[NAMES] = { "a", "b", "c" };

struct view {
	u64 number[NAMES];
	bool listed[NAMES], tagged[NAMES], is_protected[NAMES];
	bool policy;
};

/* One call, and whether it has happened. */
struct op {
	const char *name;
	int (*run)(struct akin_pool *p, const struct view *v,
		   struct akin_diag *d);
	bool (*done)(const struct view *v);
	bool forgotten;		/* "a" and "b" are forgotten before */
	int again;		/* what it says when it has happened already */
};

/* The calls ---------------------------------------------------------------*/

static int run_forget(struct akin_pool *p, const struct view *v,
		      struct akin_diag *d)
{
	struct akin_forget_options opt = { 0 };
	struct akin_forget_result r;

	opt.snapshots = v->number;
	opt.nr_snapshots = 2;
	return akin_forget(p, &opt, &r, d);
}

static bool done_forget(const struct view *v)
{
	/* One transaction: both or none. */
	assert_int_equal(v->listed[0], v->listed[1]);
	return !v->listed[0];
}

static int run_undelete(struct akin_pool *p, const struct view *v,
			struct akin_diag *d)
{
	return akin_snapshot_undelete(p, v->number[0], d);
}

static bool done_undelete(const struct view *v)
{
	assert_false(v->listed[1]);
	return v->listed[0];
}

static int run_tag(struct akin_pool *p, const struct view *v,
		   struct akin_diag *d)
{
	const char *tag = "x";
	struct akin_tag_change ch = { .add = &tag, .nr_add = 1 };

	return akin_snapshot_tag(p, v->number[0], &ch, d);
}

static bool done_tag(const struct view *v)
{
	return v->tagged[0];
}

static int run_protect(struct akin_pool *p, const struct view *v,
		       struct akin_diag *d)
{
	return akin_snapshot_protect(p, v->number[0], false, 0, d);
}

static bool done_protect(const struct view *v)
{
	return v->is_protected[0];
}

static int run_policy(struct akin_pool *p, const struct view *v,
		      struct akin_diag *d)
{
	struct akin_policy policy = { .daily = 7 };

	return akin_policy_set(p, &policy, d);
}

static bool done_policy(const struct view *v)
{
	return v->policy;
}

static const struct op ops[] = {
	{ "forget", run_forget, done_forget, false, -AKIN_E_snap_unknown },
	{ "undelete", run_undelete, done_undelete, true,
	  -AKIN_E_snap_unknown },
	{ "tag", run_tag, done_tag, false, 0 },
	{ "protect", run_protect, done_protect, false, 0 },
	{ "policy", run_policy, done_policy, false, 0 },
};

/* What there is -----------------------------------------------------------*/

static int see_one(void *ctx, const struct akin_snapshot *s)
{
	struct view *v = ctx;
	u32 i = (u32)(s->paths[0][0] - 'a');

	v->number[i] = s->number;
	v->listed[i] = !s->is_forgotten;
	v->tagged[i] = s->nr_tags == 1;
	v->is_protected[i] = s->is_protected;
	return 0;
}

static int see_policy(struct akin_pool *p, struct view *v, struct akin_diag *d)
{
	struct akin_policy policy;
	int err = akin_policy_get(p, &policy, d);

	v->policy = !err && policy.daily == 7;
	if (!err)
		akin_policy_release(&policy);
	return err;
}

static void see(struct simpool *sp, struct view *v, const char *where)
{
	struct akin_snapshot_filter f = { .forgotten = true };
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	int err;

	memset(v, 0, sizeof(*v));
	err = simpool_open(sp, true, &p, &d);
	if (!err) {
		err = akin_snapshot_each(p, NULL, see_one, v, &d);
		if (!err)
			err = akin_snapshot_each(p, &f, see_one, v, &d);
		if (!err)
			err = see_policy(p, v, &d);
		akin_pool_close(p);
	}
	if (err || !v->number[0] || !v->number[1] || !v->number[2])
		fail_msg("%s: a snapshot is gone: %s", where, d.text);
}

static bool is_there(struct simpool *sp, const char *name)
{
	struct disk *disk = simdisk_attach(sp->data, false);
	struct disk_stat st;
	int err = disk_stat(disk, name, &st, NULL);

	disk_free(disk);
	return !err;
}

/* What the label in the data pool says; false if there is none. */
static bool read_label(struct simpool *sp, u64 number, struct label *out,
		       const char *where)
{
	struct disk *disk = simdisk_attach(sp->data, false);
	char name[FORMAT_NAME_MAX];
	struct akin_diag d = { 0 };
	size_t len;
	u8 *data;
	int err;

	format_label_name(number, name);
	err = disk_read_file(disk, name, SNAPSHOT_RECORD_MAX, &data, &len, &d);
	disk_free(disk);
	if (err == -AKIN_E_absent)
		return false;
	if (err || label_decode(data, len, out))
		fail_msg("%s: the label cannot be read: %s", where, d.text);
	mem_free(data);
	return true;
}

/* The copy of the policy: always one, ahead of the catalog perhaps. */
static void expect_policy(struct simpool *sp, const struct view *v,
			  const char *where)
{
	struct disk *disk = simdisk_attach(sp->data, false);
	struct rulebook book = { 0 };
	struct akin_diag d = { 0 };
	size_t len;
	u8 *data;
	int err;

	err = disk_read_file(disk, FILE_POLICY, RULEBOOK_FILE_MAX, &data, &len,
			     &d);
	disk_free(disk);
	if (err || rulebook_decode(data, len, &book))
		fail_msg("%s: the policy cannot be read: %s", where, d.text);
	mem_free(data);
	if (v->policy && (book.nr != 1 || strcmp(book.names[0], "daily") ||
			  strcmp(book.values[0], "7")))
		fail_msg("%s: the data pool lacks the policy", where);
	rulebook_release(&book);
}

/* I4 of docs/design/protocol.md, and the same for labels. */
static void expect_records(struct simpool *sp, const struct view *v,
			   bool buried, const char *where)
{
	char record[FORMAT_NAME_MAX], gone[FORMAT_NAME_MAX];
	struct label l = { 0 };
	bool have;
	u32 i;

	expect_policy(sp, v, where);
	for (i = 0; i < NAMES; i++) {
		format_snapshot_name(v->number[i], record);
		format_buried_name(v->number[i], gone);
		if (v->listed[i] &&
		    (!is_there(sp, record) || is_there(sp, gone)))
			fail_msg("%s: '%s' is listed and has no record", where,
				 names[i]);
		if (!v->listed[i] && buried &&
		    (!is_there(sp, gone) || is_there(sp, record)))
			fail_msg("%s: '%s' is forgotten without a tombstone",
				 where, names[i]);
		have = read_label(sp, v->number[i], &l, where);
		if (v->tagged[i] && (!have || l.nr_tags != 1))
			fail_msg("%s: the data pool lacks a tag", where);
		if (v->is_protected[i] &&
		    (!have || !(l.flags & LABEL_PROTECTED)))
			fail_msg("%s: the data pool lacks a protection", where);
		label_release(&l);
	}
}

static void expect_whole(struct setup *s, struct simpool *sp,
			 const struct view *v, const char *where)
{
	enum simpool_found found;
	struct akin_diag d = { 0 };
	u32 i;
	int err;

	for (i = 0; i < NAMES; i++) {
		err = simpool_get(sp, names[i], s->data[i], BYTES, &found, &d);
		if (err || found != (v->listed[i] ? SIMPOOL_WHOLE :
						    SIMPOOL_ABSENT))
			fail_msg("%s: '%s': %s", where, names[i], d.text);
	}
}

/* Opened, called, closed. */
static int call(struct simpool *sp, const struct op *op, struct akin_diag *d)
{
	struct akin_pool *p;
	struct view v;
	int err;

	memset(d, 0, sizeof(*d));
	see(sp, &v, "before");
	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = op->run(p, &v, d);
	akin_pool_close(p);
	return err;
}

/* Returns whether the call has happened. */
static bool check_after(struct setup *s, struct simpool *sp,
			const struct op *op, bool acknowledged,
			const char *where)
{
	struct akin_diag d;
	struct view v;
	bool done;
	int err;

	see(sp, &v, where);
	done = op->done(&v);
	if (acknowledged && !done)
		fail_msg("%s: it was acknowledged", where);
	/* What was forgotten before is buried, unless it was half undeleted. */
	expect_records(sp, &v, acknowledged, where);
	expect_whole(s, sp, &v, where);
	err = call(sp, op, &d);
	if (err != (done ? op->again : 0))
		fail_msg("%s: the same call again: %s", where, d.text);
	see(sp, &v, where);
	assert_true(op->done(&v));
	expect_records(sp, &v, true, where);
	expect_whole(s, sp, &v, where);
	return done;
}

/* Setup -------------------------------------------------------------------*/

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };
	int i;

	assert_int_equal(simpool_init(&s->base, &d), 0);
	for (i = 0; i < NAMES; i++) {
		s->data[i] = malloc(BYTES);
		simpool_fill((u64)i + 1, s->data[i], BYTES);
		assert_int_equal(simpool_put(&s->base, names[i], s->data[i],
					     BYTES, &d), 0);
	}
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;
	int i;

	simpool_free(&s->base);
	for (i = 0; i < NAMES; i++)
		free(s->data[i]);
	free(s);
	return 0;
}

static struct simpool start(struct setup *s, const struct op *op)
{
	struct simpool sp = simpool_clone(&s->base);
	struct akin_diag d;

	if (op->forgotten)
		assert_int_equal(call(&sp, &ops[0], &d), 0);
	return sp;
}

static u64 count_ops(struct setup *s, const struct op *op)
{
	struct simpool sp = start(s, op);
	struct akin_diag d;
	u64 total = simdisk_nr_ops(sp.meta);

	assert_int_equal(call(&sp, op, &d), 0);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	return total;
}

/* Tests -------------------------------------------------------------------*/

static void crash_at(struct setup *s, const struct op *op, u64 n, u64 *nr_done,
		     u64 *nr_not)
{
	struct simpool sp = start(s, op), after;
	char what[128], where[192];
	struct akin_diag d;
	int mode, err;

	simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + n);
	err = call(&sp, op, &d);
	for (mode = 0; mode < SIM_NR_MODES; mode++) {
		simdisk_describe(sp.meta, simdisk_nr_ops(sp.meta), what,
				 sizeof(what));
		snprintf(where, sizeof(where), "%s stopped at %llu (%s), "
			 "mode %d", op->name, (unsigned long long)n, what,
			 mode);
		after = simpool_reboot(&sp, n * 5 + (u64)mode, mode);
		if (check_after(s, &after, op, err == 0, where))
			(*nr_done)++;
		else
			(*nr_not)++;
		simpool_free(&after);
	}
	simpool_free(&sp);
}

static void test_crash_at_every_operation(void **state)
{
	struct setup *s = *state;
	u64 n, total, nr_done, nr_not;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		total = count_ops(s, &ops[i]);
		assert_in_range(total, 6, 400);
		nr_done = nr_not = 0;
		for (n = 1; n <= total + 1; n++)
			crash_at(s, &ops[i], n, &nr_done, &nr_not);
		/* From before the first to behind the last. */
		assert_true(nr_done >= SIM_NR_MODES && nr_not > SIM_NR_MODES);
		test_note("%s: stopped at %llu of %llu operations, %llu states",
			  ops[i].name, (unsigned long long)total,
			  (unsigned long long)total,
			  (unsigned long long)(nr_done + nr_not));
	}
}

/* kill -9: what was written stays, locks and open files go. */
static void test_death_at_every_operation(void **state)
{
	struct setup *s = *state;
	struct simpool sp, after;
	struct akin_diag d;
	char where[64];
	u64 n, total;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		total = count_ops(s, &ops[i]);
		for (n = 1; n <= total; n++) {
			sp = start(s, &ops[i]);
			simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + n);
			err = call(&sp, &ops[i], &d);
			after = simpool_clone(&sp);
			snprintf(where, sizeof(where), "%s killed at %llu",
				 ops[i].name, (unsigned long long)n);
			check_after(s, &after, &ops[i], err == 0, where);
			simpool_free(&after);
			simpool_free(&sp);
		}
		test_note("%s, killed: stopped at %llu of %llu operations",
			  ops[i].name, (unsigned long long)total,
			  (unsigned long long)total);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crash_at_every_operation),
		cmocka_unit_test(test_death_at_every_operation),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
