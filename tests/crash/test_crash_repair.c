/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts and kills during a repair: stopped at every write, sync, rename
 * and unlink, and rebooted with everything unsynced lost, kept, and torn. The
 * next repair goes through, and afterwards all that was listed is listed and
 * whole, a check finds nothing, and a backup works.
 */
#include <stdio.h>
#include <stdlib.h>

#include "akin/repair.h"
#include "simpool.h"
#include "store/store_repair.h"
#include "testlib.h"

#define BYTES ((size_t)256 * 1024)
#define VERSIONS 3

struct setup {
	struct simpool base;	/* without its metadata disk */
	u8 *data[VERSIONS];
	char name[VERSIONS][8];
};

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static int repair(struct simpool *sp, struct akin_repair_result *out,
		  struct akin_diag *d)
{
	struct akin_open_options open = { .memory_bytes = 32 << 20,
					  .nr_threads = 1 };
	struct akin_repair_options opt = { 0 };

	memset(d, 0, sizeof(*d));
	return store_repair_on(simdisk_attach(sp->meta, true),
			       simdisk_attach(sp->data, true), &open, &opt,
			       out, d);
}

static void lose_metadata(struct simpool *sp)
{
	simdisk_free(sp->meta);
	sp->meta = simdisk_new("metadata");
	simdisk_join(sp->meta, sp->data);
}

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };
	struct simpool sp;
	int i;

	must(simpool_init(&sp, &d), &d);
	for (i = 0; i < VERSIONS; i++) {
		s->data[i] = malloc(BYTES);
		simpool_fill((u64)i + 1, s->data[i], BYTES);
		snprintf(s->name[i], sizeof(s->name[i]), "v%d", i);
		must(simpool_put(&sp, s->name[i], s->data[i], BYTES, &d), &d);
	}
	s->base = simpool_reboot(&sp, 1, SIM_KEEP);
	lose_metadata(&s->base);
	simpool_free(&sp);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;
	int i;

	simpool_free(&s->base);
	for (i = 0; i < VERSIONS; i++)
		free(s->data[i]);
	free(s);
	return 0;
}

/* A machine of its own. */
static struct simpool lost(const struct setup *s)
{
	struct simpool sp = s->base;

	sp.data = simdisk_clone(s->base.data);
	sp.meta = simdisk_new("metadata");
	simdisk_join(sp.meta, sp.data);
	return sp;
}

static void expect_all(struct setup *s, struct simpool *sp, const char *where)
{
	struct akin_check_options opt = { .read_data = true };
	struct akin_check_result r;
	struct akin_diag d = { 0 };
	enum simpool_found found;
	struct akin_pool *p;
	int i, err;

	for (i = 0; i < VERSIONS; i++) {
		err = simpool_get(sp, s->name[i], s->data[i], BYTES, &found,
				  &d);
		if (err || found != SIMPOOL_WHOLE)
			fail_msg("%s: '%s': %d %s", where, s->name[i], err,
				 d.text);
	}
	assert_int_equal(simpool_nr_snapshots(sp, &d), VERSIONS);
	err = simpool_open(sp, false, &p, &d);
	if (err)
		fail_msg("%s: %s", where, d.text);
	err = akin_check(p, &opt, &r, &d);
	akin_pool_close(p);
	if (err || r.findings)
		fail_msg("%s: check: %llu findings: %s", where,
			 (unsigned long long)r.findings, d.text);
}

static void check_after(struct setup *s, struct simpool *sp, const char *where)
{
	struct akin_repair_result r;
	struct akin_diag d = { 0 };

	if (repair(sp, &r, &d))
		fail_msg("%s: the next repair: %s", where, d.text);
	expect_all(s, sp, where);
	/* All of it is found: nothing is stored again. */
	if (simpool_put(sp, s->name[0], s->data[0], BYTES, &d))
		fail_msg("%s: a backup: %s", where, d.text);
	if (sp->result.chunks_new)
		fail_msg("%s: %llu chunks were stored again", where,
			 (unsigned long long)sp->result.chunks_new);
	if (repair(sp, &r, &d) || r.steps)
		fail_msg("%s: there is more to repair: %s", where, d.text);
}

static void test_whole(void **state)
{
	struct setup *s = *state;
	struct akin_repair_result r;
	struct akin_diag d = { 0 };
	struct simpool sp;

	sp = lost(s);
	must(repair(&sp, &r, &d), &d);
	assert_true(r.rebuilt);
	assert_int_equal(r.snapshots, VERSIONS);
	assert_int_equal(r.snapshots_part, 0);
	assert_int_equal(r.snapshots_lost, 0);
	assert_int_equal(r.quarantined, 0);
	assert_int_equal(r.check.findings, 0);
	expect_all(s, &sp, "repaired");
	simpool_free(&sp);
}

static void test_crash_at_every_operation(void **state)
{
	struct setup *s = *state;
	struct simpool sp, after;
	char what[128], where[192];
	struct akin_repair_result r;
	u64 n, total, step;
	struct akin_diag d;
	int mode, err;

	sp = lost(s);
	total = simdisk_nr_ops(sp.meta);
	must(repair(&sp, &r, &d), &d);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	assert_in_range(total, 50, 5000);
	step = getenv("AKIN_TEST_SLOW") ? 1 : 1 + total / 25;
	for (n = 1; n <= total + 1; n += n < total ? step : 1) {
		sp = lost(s);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + n);
		err = repair(&sp, &r, &d);
		/* The ends of sessions are not worth an error. */
		assert_true(n <= total || !err);
		simdisk_describe(sp.meta, simdisk_nr_ops(sp.meta), what,
				 sizeof(what));
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			snprintf(where, sizeof(where), "stopped at %llu (%s), "
				 "mode %d", (unsigned long long)n, what, mode);
			after = simpool_reboot(&sp, n * 7 + (u64)mode, mode);
			check_after(s, &after, where);
			simpool_free(&after);
		}
		simpool_free(&sp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_crash_at_every_operation),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
