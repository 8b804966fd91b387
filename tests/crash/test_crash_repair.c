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
#include "container/container_reader.h"
#include "crashpoints.h"
#include "simpool.h"
#include "store/store_repair.h"
#include "testlib.h"

#define BYTES ((size_t)256 * 1024)
#define VERSIONS 3

struct setup {
	struct simpool base;	/* without its metadata disk */
	struct simpool holes;	/* with damaged containers */
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

/* The @nth largest container. */
static struct sim_name nth_container(struct simpool *sp, u32 nth, char *path,
				     size_t size)
{
	struct sim_name *names, best = { 0 };
	u64 below = UINT64_MAX;
	size_t nr, i;
	u32 k;

	names = simdisk_names(sp->data, &nr);
	for (k = 0; k <= nth; k++) {
		best.size_bytes = 0;
		for (i = 0; i < nr; i++)
			if (!names[i].is_dir &&
			    !strncmp(names[i].path, "containers/", 11) &&
			    names[i].size_bytes > best.size_bytes &&
			    names[i].size_bytes < below)
				best = names[i];
		below = best.size_bytes;
	}
	assert_true(best.size_bytes > 4096);
	snprintf(path, size, "%s", best.path);
	simdisk_names_free(names, nr);
	best.path = path;
	return best;
}

/* @n zeros, as a disk leaves them. */
static void zeros(struct simpool *sp, const struct sim_name *f, u64 off,
		  size_t n)
{
	u8 *none = calloc(1, n);

	simdisk_poke(sp->data, f->path, off, none, n);
	free(none);
}

/* Where its directory begins. */
static u64 directory_of(struct simpool *sp, const struct sim_name *f)
{
	struct disk *data = simdisk_attach(sp->data, false);
	struct akin_diag d = { 0 };
	struct container_reader *r;
	struct akin_pool *p;
	u32 generation;
	u64 number, off;

	must(simpool_open(sp, true, &p, &d), &d);
	assert_true(format_parse_container(strrchr(f->path, '/') + 1, &number,
					   &generation));
	must(container_open(data, &p->super.pool, number, generation, &r, &d),
	     &d);
	off = container_reader_footer(r)->dir_off;
	container_close(r);
	akin_pool_close(p);
	disk_free(data);
	return off;
}

/*
 * A hole in the first container, known, of whose chunks there are copies; and
 * another container, of metadata, without footer and directory.
 */
static void make_holes(struct setup *s)
{
	struct akin_check_options opt = { .read_data = true };
	struct akin_check_result r;
	struct akin_diag d = { 0 };
	struct sim_name hole, tail;
	char path[2][128];
	struct akin_pool *p;
	u64 dir;

	hole = nth_container(&s->holes, 0, path[0], sizeof(path[0]));
	tail = nth_container(&s->holes, 3, path[1], sizeof(path[1]));
	zeros(&s->holes, &hole, hole.size_bytes / 3, 2000);
	must(simpool_open(&s->holes, false, &p, &d), &d);
	assert_int_equal(akin_error_class(akin_check(p, &opt, &r, &d)),
			 AKIN_CLASS_CORRUPT);
	assert_true(r.chunks_damaged > 0);
	akin_pool_close(p);
	memset(&d, 0, sizeof(d));
	must(simpool_put(&s->holes, "again", s->data[0], BYTES, &d), &d);
	assert_true(s->holes.result.chunks_new > 0);
	dir = directory_of(&s->holes, &tail) + 12;
	zeros(&s->holes, &tail, dir, tail.size_bytes - dir);
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
	s->holes = simpool_reboot(&sp, 1, SIM_KEEP);
	lose_metadata(&s->base);
	make_holes(s);
	simpool_free(&sp);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;
	int i;

	simpool_free(&s->base);
	simpool_free(&s->holes);
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
	struct akin_diag d = { 0 };
	enum simpool_found found;
	int i, err;

	for (i = 0; i < VERSIONS; i++) {
		err = simpool_get(sp, s->name[i], s->data[i], BYTES, &found,
				  &d);
		if (err || found != SIMPOOL_WHOLE)
			fail_msg("%s: '%s': %d %s", where, s->name[i], err,
				 d.text);
	}
	assert_in_range(simpool_nr_snapshots(sp, &d), VERSIONS, VERSIONS + 1);
	simpool_expect_sound(sp, where);
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

static void test_holes(void **state)
{
	struct setup *s = *state;
	struct akin_repair_result r;
	struct akin_diag d = { 0 };
	struct simpool sp;

	sp = simpool_clone(&s->holes);
	must(repair(&sp, &r, &d), &d);
	assert_false(r.rebuilt);
	assert_int_equal(r.quarantined, 1);
	assert_true(r.chunks_salvaged > 0);
	assert_true(r.chunks_healed > 0);
	assert_int_equal(r.check.findings, 0);
	expect_all(s, &sp, "repaired");
	simpool_free(&sp);
}

/* @make: what is to be repaired, in a machine of its own. */
static void crash_everywhere(struct setup *s, const char *name,
			     struct simpool (*make)(const struct setup *s))
{
	struct simpool sp, after;
	char what[128], where[192];
	struct akin_repair_result r;
	struct crash_points cp;
	struct akin_diag d;
	int mode, err;
	u64 total;

	sp = make(s);
	total = simdisk_nr_ops(sp.meta);
	must(repair(&sp, &r, &d), &d);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	assert_in_range(total, 50, 5000);
	crash_points_begin(&cp, name, total, 20, 0);
	while (crash_points_next(&cp)) {
		sp = make(s);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		err = repair(&sp, &r, &d);
		/* The ends of sessions are not worth an error. */
		assert_true(cp.n <= total || !err);
		simdisk_describe(sp.meta, simdisk_nr_ops(sp.meta), what,
				 sizeof(what));
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			if (!crash_points_mode(&cp, mode, SIM_NR_MODES))
				continue;
			snprintf(where, sizeof(where), "stopped at %llu (%s), "
				 "mode %d", (unsigned long long)cp.n, what,
				 mode);
			after = simpool_reboot(&sp, cp.n * 7 + (u64)mode, mode);
			check_after(s, &after, where);
			simpool_free(&after);
		}
		simpool_free(&sp);
	}
}

static void test_crash_without_metadata(void **state)
{
	crash_everywhere(*state, "repair without metadata", lost);
}

static struct simpool with_holes(const struct setup *s)
{
	return simpool_clone(&s->holes);
}

static void test_crash_with_holes(void **state)
{
	crash_everywhere(*state, "repair of holes", with_holes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_crash_without_metadata),
		cmocka_unit_test(test_crash_with_holes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
