/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts, kills and failing operations while parity is given, taken away,
 * written by a backup and by a reclaim, and used by a repair. Whatever comes in
 * between, every version is whole, a check finds nothing wrong, and the next run
 * comes to where one that was never stopped would have come: each container has
 * its parity, and nothing else lies there.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/format.h"
#include "crashpoints.h"
#include "simpool.h"
#include "store/store_repair.h"
#include "testlib.h"

#define BYTES ((size_t)64 * 1024)
#define VERSIONS 3
#define PERCENT 10
/* Stops in each job, of which it has a few hundred, at least. */
#define STOPS 6
/* Failing operations in each job. */
#define FAULTS 24

struct setup {
	struct simpool without, with, damaged;
	u8 *data[VERSIONS + 1];
	char name[VERSIONS + 1][8];
};

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

/* Jobs ------------------------------------------------------------------------*/

static int set_parity(struct simpool *sp, int percent, struct akin_diag *d)
{
	struct akin_parity_options opt = { .percent = percent };
	struct akin_parity_result r;
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_parity(p, &opt, &r, d);
	akin_pool_close(p);
	return err;
}

static int give(struct setup *s, struct simpool *sp, struct akin_diag *d)
{
	return set_parity(sp, PERCENT, d);
}

static int take(struct setup *s, struct simpool *sp, struct akin_diag *d)
{
	return set_parity(sp, 0, d);
}

static int backup(struct setup *s, struct simpool *sp, struct akin_diag *d)
{
	return simpool_put(sp, s->name[VERSIONS], s->data[VERSIONS], BYTES, d);
}

static int gc(struct simpool *sp, struct akin_diag *d)
{
	struct akin_gc_options opt = { .threshold = 1 };
	struct akin_gc_result r;
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_gc(p, &opt, &r, d);
	akin_pool_close(p);
	return err;
}

static int reclaim(struct setup *s, struct simpool *sp, struct akin_diag *d)
{
	const u64 first = 1;
	struct akin_forget_options opt = { .snapshots = &first,
					   .nr_snapshots = 1 };
	struct akin_forget_result r;
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_forget(p, &opt, &r, d);
	akin_pool_close(p);
	if (err == -AKIN_E_snap_unknown) {	/* done before */
		memset(d, 0, sizeof(*d));
		err = 0;
	}
	return err ? err : gc(sp, d);
}

static int repair(struct setup *s, struct simpool *sp, struct akin_diag *d)
{
	struct akin_open_options open = { .memory_bytes = 32 << 20,
					  .nr_threads = 1 };
	struct akin_repair_options opt = { .read_data = true };
	struct akin_repair_result r;

	return store_repair_on(simdisk_attach(sp->meta, true),
			       simdisk_attach(sp->data, true), &open, &opt, &r,
			       d);
}

/* What there is ----------------------------------------------------------------*/

/* "containers/2a/" */
#define FOLDER 14

static bool in_folder(const struct sim_name *n)
{
	return !strncmp(n->path, DIR_CONTAINERS "/", FOLDER - 3) &&
	       strlen(n->path) > FOLDER;
}

/* Two sectors of each container, or what there is of them. */
static void spoil(struct simpool *sp)
{
	struct sim_name *names;
	u64 number, off;
	size_t nr, i;
	u32 generation;

	names = simdisk_names(sp->data, &nr);
	for (i = 0; i < nr; i++) {
		if (names[i].is_dir || !in_folder(&names[i]) ||
		    !format_parse_container(names[i].path + FOLDER, &number,
					    &generation))
			continue;
		for (off = 0; off < names[i].size_bytes && off < 20000;
		     off += 16384)
			simdisk_flip_bit(sp->data, names[i].path, off + 5, 1);
	}
	simdisk_names_free(names, nr);
}

static bool has_name(const struct sim_name *names, size_t nr, const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(names[i].path, name))
			return true;
	return false;
}

/* Parity beside each container, or beside none, and nothing else. */
static void expect_files(struct simpool *sp, bool parity, const char *where)
{
	char name[FORMAT_NAME_MAX];
	struct sim_name *names;
	u32 generation, nr_parity = 0, nr_containers = 0;
	size_t nr, i;
	u64 number;
	bool tmp;

	names = simdisk_names(sp->data, &nr);
	for (i = 0; i < nr; i++) {
		if (names[i].is_dir || !in_folder(&names[i]))
			continue;
		if (format_parse_container(names[i].path + FOLDER, &number,
					   &generation)) {
			nr_containers++;
			format_parity_name(number, generation, name);
			if (has_name(names, nr, name) != parity)
				fail_msg("%s: %s: %s", where, names[i].path,
					 parity ? "no parity" : "parity");
		} else if (!format_parse_parity(names[i].path + FOLDER, &number,
						&generation, &tmp) || tmp) {
			fail_msg("%s: %s is left", where, names[i].path);
		} else {
			nr_parity++;
		}
	}
	assert_true(nr_containers > 0);
	assert_int_equal(nr_parity, parity ? nr_containers : 0);
	simdisk_names_free(names, nr);
}

static void expect_versions(struct setup *s, struct simpool *sp, int first,
			    int last, const char *where)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;
	int i, err;

	for (i = first; i <= last; i++) {
		err = simpool_get(sp, s->name[i], s->data[i], BYTES, &found,
				  &d);
		if (err || found != SIMPOOL_WHOLE)
			fail_msg("%s: '%s': %d %s", where, s->name[i], err,
				 d.text);
	}
}

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };
	int i;

	must(simpool_init(&s->without, &d), &d);
	for (i = 0; i <= VERSIONS; i++) {
		s->data[i] = malloc(BYTES);
		simpool_fill((u64)i + 1, s->data[i], BYTES);
		snprintf(s->name[i], sizeof(s->name[i]), "v%d", i);
		if (i < VERSIONS)
			must(simpool_put(&s->without, s->name[i], s->data[i],
					 BYTES, &d), &d);
	}
	s->with = simpool_clone(&s->without);
	must(give(s, &s->with, &d), &d);
	expect_files(&s->with, true, "setup");
	s->damaged = simpool_reboot(&s->with, 1, SIM_KEEP);
	spoil(&s->damaged);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;
	int i;

	simpool_free(&s->without);
	simpool_free(&s->with);
	simpool_free(&s->damaged);
	for (i = 0; i <= VERSIONS; i++)
		free(s->data[i]);
	free(s);
	return 0;
}

/* Stopping ----------------------------------------------------------------------*/

struct job {
	const char *name;
	int (*run)(struct setup *s, struct simpool *sp, struct akin_diag *d);
	const struct simpool *from;
	int first, last;	/* versions that are there before and after */
	bool parity;		/* afterwards */
	bool harmed;		/* until it is done */
};

static void check_after(struct setup *s, const struct job *j,
			struct simpool *sp, const char *where)
{
	struct akin_diag d = { 0 };

	expect_versions(s, sp, j->first, j->last, where);
	if (!j->harmed)
		simpool_expect_sound(sp, where);
	if (j->run(s, sp, &d))
		fail_msg("%s: the next run: %s", where, d.text);
	/* What could not be written at its time. */
	if (set_parity(sp, -1, &d) || gc(sp, &d))
		fail_msg("%s: the next run: %s", where, d.text);
	simpool_expect_sound(sp, where);
	expect_versions(s, sp, j->first, j->last, where);
	expect_files(sp, j->parity, where);
}

static u64 count_ops(struct setup *s, const struct job *j)
{
	struct akin_diag d = { 0 };
	struct simpool sp = simpool_clone(j->from);
	u64 total = simdisk_nr_ops(sp.meta);

	must(j->run(s, &sp, &d), &d);
	total = simdisk_nr_ops(sp.meta) - total;
	check_after(s, j, &sp, j->name);
	simpool_free(&sp);
	return total;
}

static void stop_everywhere(struct setup *s, const struct job *j)
{
	u64 total = count_ops(s, j);
	struct crash_points cp;
	struct simpool sp, after;
	char what[128], where[256];
	struct akin_diag d;
	int mode;

	assert_in_range(total, 5, 5000);
	crash_points_begin(&cp, j->name, total, STOPS, 0);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(j->from);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		memset(&d, 0, sizeof(d));
		ignore_result(j->run(s, &sp, &d));
		simdisk_describe(sp.meta, simdisk_nr_ops(sp.meta), what,
				 sizeof(what));
		for (mode = 0; mode <= SIM_NR_MODES; mode++) {
			if (!crash_points_mode(&cp, mode, SIM_NR_MODES + 1))
				continue;
			snprintf(where, sizeof(where), "%s stopped at %llu "
				 "(%s), mode %d", j->name,
				 (unsigned long long)cp.n, what, mode);
			/* The last: killed, the system lives on. */
			after = mode == SIM_NR_MODES ? simpool_clone(&sp) :
				simpool_reboot(&sp, cp.n * 7 + (u64)mode, mode);
			check_after(s, j, &after, where);
			simpool_free(&after);
		}
		simpool_free(&sp);
	}
}

/* One operation on the data disk fails, now and then for want of space. */
static void fail_everywhere(struct setup *s, const struct job *j)
{
	u64 n, total = count_ops(s, j), step = 1 + total / FAULTS;
	struct sim_fault fault = { .kinds = SIM_ALL & ~SIM_LOCK };
	struct simpool sp, after;
	struct akin_diag d;
	char where[128];

	for (n = 1; n <= total; n += step) {
		fault.nth = n;
		fault.code = n % 2 ? -AKIN_E_io : -AKIN_E_nospace;
		sp = simpool_clone(j->from);
		simdisk_fail(sp.data, &fault);
		memset(&d, 0, sizeof(d));
		snprintf(where, sizeof(where), "%s, operation %llu fails",
			 j->name, (unsigned long long)n);
		if (j->run(s, &sp, &d) && !d.text[0])
			fail_msg("%s: not a word", where);
		simdisk_fail(sp.data, &(struct sim_fault){ 0 });
		after = simpool_clone(&sp);
		check_after(s, j, &after, where);
		simpool_free(&after);
		simpool_free(&sp);
	}
}

static void both(struct setup *s, struct job j)
{
	stop_everywhere(s, &j);
	fail_everywhere(s, &j);
}

static void test_give(void **state)
{
	struct setup *s = *state;

	both(s, (struct job){ "parity: give", give, &s->without, 0, VERSIONS - 1, true,
			      false });
}

static void test_take(void **state)
{
	struct setup *s = *state;

	both(s, (struct job){ "parity: take", take, &s->with, 0, VERSIONS - 1, false,
			      false });
}

static void test_backup(void **state)
{
	struct setup *s = *state;

	both(s, (struct job){ "parity: backup", backup, &s->with, 0, VERSIONS - 1,
			      true, false });
}

static void test_reclaim(void **state)
{
	struct setup *s = *state;

	both(s, (struct job){ "parity: reclaim", reclaim, &s->with, 1, VERSIONS - 1,
			      true, false });
}

/* Sectors of every container are damaged, and stay readable all the time. */
static void test_repair(void **state)
{
	struct setup *s = *state;

	both(s, (struct job){ "parity: repair", repair, &s->damaged, 0, VERSIONS - 1,
			      true, true });
}

/* Sectors that a check says parity makes up for. */
static u64 healable(struct simpool *sp)
{
	struct akin_check_options opt = { .read_data = true };
	struct akin_check_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(sp, false, &p, &d), &d);
	ignore_result(akin_check(p, &opt, &r, NULL));
	akin_pool_close(p);
	return r.sectors_healable;
}

/* A file that no disk takes anything into: the others are written back. */
static void test_refused(void **state)
{
	struct setup *s = *state;
	struct simpool sp = simpool_clone(&s->damaged);
	char name[FORMAT_NAME_MAX];
	struct sim_fault fault = { .kinds = SIM_WRITE, .nth = 1,
				   .code = -AKIN_E_io, .for_good = true,
				   .name = name };
	struct akin_diag d = { 0 };
	u64 before = healable(&sp), after;
	int err;

	format_container_name(1, 0, name);
	simdisk_fail(sp.data, &fault);
	err = repair(s, &sp, &d);
	assert_true(simdisk_nr_faults(sp.data) > 0);
	assert_int_equal(akin_error_class(err), AKIN_CLASS_CORRUPT);
	simdisk_fail(sp.data, &(struct sim_fault){ 0 });
	after = healable(&sp);
	assert_in_range(after, 1, 2);
	assert_true(after < before);
	expect_versions(s, &sp, 0, VERSIONS - 1, "refused");
	must(repair(s, &sp, &d), &d);
	assert_int_equal(healable(&sp), 0);
	simpool_free(&sp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_give),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_backup),
		cmocka_unit_test(test_reclaim),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
