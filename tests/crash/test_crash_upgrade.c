/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts, kills and failing operations while a pool of an older format is
 * upgraded: stopped at every operation on either disk. In every state:
 *
 *  - what was acknowledged holds;
 *  - the policy is the catalog's, and where the pool has the feature the copy
 *    says the same;
 *  - the pool can be used, its metadata can be made anew, and the next upgrade
 *    comes to where one that was never stopped would have come.
 */
#include <stdio.h>
#include <stdlib.h>

#include "akin/upgrade.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define BYTES ((size_t)16 * 1024)

struct setup {
	struct simpool base;	/* one snapshot, a policy, no feature */
	u8 *data;
};

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

/* The pool as it was made before there were features ------------------------*/

static void make_old_disk(struct simdisk *sd, u8 role)
{
	struct disk *disk = simdisk_attach(sd, true);
	struct akin_diag d = { 0 };
	struct super s;

	must(store_super_read(disk, &s, &d), &d);
	s.feat_ro_compat = 0;
	must(store_super_write(disk, &s, role, &d), &d);
	if (role == SUPER_DATA) {
		must(disk_unlink(disk, FILE_POLICY, &d), &d);
		must(disk_sync_dir(disk, ".", &d), &d);
	}
	disk_free(disk);
}

static int set_policy(struct simpool *sp, struct akin_diag *d)
{
	struct akin_policy policy = { .daily = 7 };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_policy_set(p, &policy, d);
	akin_pool_close(p);
	return err;
}

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };

	must(simpool_init(&s->base, &d), &d);
	make_old_disk(s->base.data, SUPER_DATA);
	make_old_disk(s->base.meta, SUPER_METADATA);
	s->data = malloc(BYTES);
	simpool_fill(1, s->data, BYTES);
	must(simpool_put(&s->base, "v", s->data, BYTES, &d), &d);
	must(set_policy(&s->base, &d), &d);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;

	simpool_free(&s->base);
	free(s->data);
	free(s);
	return 0;
}

/* What there is ---------------------------------------------------------------*/

static int upgrade(struct simpool *sp, unsigned *switched_ret,
		   struct akin_diag *d)
{
	struct akin_upgrade_options opt = { 0 };
	struct akin_upgrade_result r = { 0 };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_upgrade(p, &opt, &r, d);
	akin_pool_close(p);
	*switched_ret = r.switched_on;
	return err;
}

static bool has_feature(struct simdisk *sd)
{
	struct disk *disk = simdisk_attach(sd, false);
	struct akin_diag d = { 0 };
	struct super s;

	must(store_super_read(disk, &s, &d), &d);
	disk_free(disk);
	return s.feat_ro_compat & SUPER_FEAT_RO_POLICY;
}

static void expect_usable(struct setup *s, struct simpool *sp, const char *where)
{
	bool copy = has_feature(sp->data) || has_feature(sp->meta);
	struct akin_policy policy;
	struct akin_diag d = { 0 };
	enum simpool_found found;
	struct rulebook book;
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, true, &p, &d);
	if (err)
		fail_msg("%s: %s", where, d.text);
	must(akin_policy_get(p, &policy, &d), &d);
	assert_int_equal(policy.daily, 7);
	akin_policy_release(&policy);
	if (copy) {
		err = store_rulebook_read(p, &book, &d);
		if (err || book.nr != 1 || strcmp(book.names[0], "daily") ||
		    strcmp(book.values[0], "7"))
			fail_msg("%s: the copy: %s", where, d.text);
		rulebook_release(&book);
	}
	akin_pool_close(p);
	err = simpool_get(sp, "v", s->data, BYTES, &found, &d);
	if (err || found != SIMPOOL_WHOLE)
		fail_msg("%s: the snapshot: %s", where, d.text);
}

/* Returns whether it was all done before. */
static bool check_after(struct setup *s, struct simpool *sp, bool acknowledged,
			const char *where)
{
	bool done = has_feature(sp->data) && has_feature(sp->meta);
	struct akin_diag d = { 0 };
	unsigned switched;

	if (acknowledged && !done)
		fail_msg("%s: it was acknowledged", where);
	if (has_feature(sp->meta) && !has_feature(sp->data))
		fail_msg("%s: a repair would not know", where);
	expect_usable(s, sp, where);
	if (upgrade(sp, &switched, &d))
		fail_msg("%s: once more: %s", where, d.text);
	assert_int_equal(switched, !done);
	assert_true(has_feature(sp->data) && has_feature(sp->meta));
	expect_usable(s, sp, where);
	simpool_expect_sound(sp, where);
	if (upgrade(sp, &switched, &d) || switched)
		fail_msg("%s: a third time: %s", where, d.text);
	return done;
}

static u64 count_ops(struct setup *s)
{
	struct simpool sp = simpool_clone(&s->base);
	struct akin_diag d = { 0 };
	u64 total = simdisk_nr_ops(sp.meta);
	unsigned switched;

	must(upgrade(&sp, &switched, &d), &d);
	assert_int_equal(switched, 1);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	return total;
}

/* Tests -------------------------------------------------------------------*/

static void stop_at(struct setup *s, u64 n, u64 *nr_done, u64 *nr_not)
{
	struct simpool sp = simpool_clone(&s->base), after;
	char what[128], where[192];
	struct akin_diag d = { 0 };
	unsigned switched;
	int mode, err;

	simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + n);
	err = upgrade(&sp, &switched, &d);
	simdisk_describe(sp.meta, simdisk_nr_ops(sp.meta), what, sizeof(what));
	for (mode = 0; mode <= SIM_NR_MODES; mode++) {
		snprintf(where, sizeof(where), "stopped at %llu (%s), mode %d",
			 (unsigned long long)n, what, mode);
		/* The last: killed, the system lives on. */
		after = mode == SIM_NR_MODES ? simpool_clone(&sp) :
			simpool_reboot(&sp, n * 3 + (u64)mode, mode);
		if (check_after(s, &after, err == 0, where))
			(*nr_done)++;
		else
			(*nr_not)++;
		simpool_free(&after);
	}
	simpool_free(&sp);
}

static void test_stopped_everywhere(void **state)
{
	struct setup *s = *state;
	u64 n, nr_done = 0, nr_not = 0, total = count_ops(s);

	assert_in_range(total, 20, 400);
	for (n = 1; n <= total + 1; n++)
		stop_at(s, n, &nr_done, &nr_not);
	assert_true(nr_done > SIM_NR_MODES && nr_not > SIM_NR_MODES);
	test_note("upgrade: stopped at %llu of %llu operations, %llu states",
		  (unsigned long long)total, (unsigned long long)total,
		  (unsigned long long)(nr_done + nr_not));
}

/* Each operation fails once, on either disk, now and then for want of space. */
static void test_failing_everywhere(void **state)
{
	struct setup *s = *state;
	struct sim_fault fault = { .kinds = SIM_ALL & ~SIM_LOCK };
	u64 n, failed, nr = 0;
	struct simpool sp, after;
	struct simdisk *disk;
	struct akin_diag d;
	unsigned switched;
	char where[128];
	int side, err;

	for (side = 0; side < 2; side++) {
		for (n = 1, failed = 1; failed; n++) {
			sp = simpool_clone(&s->base);
			disk = side ? sp.data : sp.meta;
			fault.nth = n;
			fault.code = n % 2 ? -AKIN_E_io : -AKIN_E_nospace;
			simdisk_fail(disk, &fault);
			memset(&d, 0, sizeof(d));
			err = upgrade(&sp, &switched, &d);
			failed = simdisk_nr_faults(disk);
			simdisk_fail(disk, &(struct sim_fault){ 0 });
			snprintf(where, sizeof(where), "%s disk, operation "
				 "%llu fails", side ? "data" : "metadata",
				 (unsigned long long)n);
			if (err && !d.text[0])
				fail_msg("%s: not a word", where);
			after = simpool_clone(&sp);
			check_after(s, &after, err == 0, where);
			simpool_free(&after);
			simpool_free(&sp);
			nr += failed;
		}
	}
	assert_true(nr > 20);
	test_note("upgrade: each of %llu operations failed once",
		  (unsigned long long)nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped_everywhere),
		cmocka_unit_test(test_failing_everywhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
