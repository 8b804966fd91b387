/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts while groups are written against references: stopped at every
 * write, sync and name operation of a session that refers to what is committed
 * and to what it sealed itself a moment ago, with checkpoints in between, and
 * rebooted with everything unsynced lost, kept, and torn. Afterwards whatever
 * the catalog names can be decoded, and the catalog names all its bases.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "testlib.h"

#include "ingest/packer.h"
#include "crashpoints.h"
#include "simpool.h"
#include "store/store.h"

#define CHUNK 4096
#define PER_ROUND 8
#define ROUNDS 5

static void make_chunk(u32 i, u32 version, u8 data[CHUNK])
{
	struct rng common = { 7 + i }, own = { version * 1000 + i };

	rng_fill(&common, data, CHUNK);
	rng_fill(&own, data + rng_below(&own, CHUNK - 16), 16);
}

/* A container of its own, against @near; 0 if that failed. */
static u64 put_round(struct akin_pool *p, struct session *s,
		     struct simpool *sp, u32 version, u64 near, u64 nr_sealed)
{
	struct group_ref ref = { near, 0, 1 };
	struct session_stats st = { 0 };
	struct place at = { 0 };
	struct packer pk;
	u8 data[CHUNK];
	struct fp fp;
	int err;

	err = packer_init(&pk, s, CONTAINER_DATA, NULL);
	for (ref.entry = 0; !err && ref.entry < PER_ROUND; ref.entry++) {
		make_chunk(ref.entry, version, data);
		hasher_one(p->depot.data_hasher, data, CHUNK, &fp);
		err = packer_add(&pk, &fp, data, CHUNK, NULL, &ref, near != 0,
				 &at, NULL);
	}
	if (packer_close(&pk, NULL))
		err = -AKIN_E_io;
	packer_release(&pk);
	while (!err && st.nr_containers < nr_sealed) {
		usleep(200);
		session_get_stats(s, &st);
		if (simdisk_crashed(sp->meta))
			err = -AKIN_E_io;
	}
	return err ? 0 : at.container;
}

/* Returns the last container, 0 if it was stopped. */
static u64 run_session(struct simpool *sp, u32 version, u64 base, u32 rounds)
{
	struct session_options opt = { .lock = store_lock_session,
				       .delta_depth = 3 };
	struct akin_diag d = { 0 };
	struct session *s = NULL;
	struct akin_pool *p;
	u64 at = base;
	u32 i;
	int err;

	err = simpool_open(sp, false, &p, &d);
	if (err)
		return 0;
	opt.lock_ctx = p;
	err = session_begin(&p->depot, p->catalog, &opt, &s, &d);
	if (!err)
		p->reserve_session = session_number(s);
	for (i = 0; !err && i < rounds; i++) {
		at = put_round(p, s, sp, version + i, at, i + 1);
		if (!at)
			err = -AKIN_E_io;
		else if (i % 2)
			err = session_checkpoint(s, &d);
	}
	if (s) {
		if (session_end(s, true, &d))
			err = -AKIN_E_io;
		store_unlock_session(p, session_number(s));
	}
	session_free(s);
	akin_pool_close(p);
	return err ? 0 : at;
}

struct look {
	struct akin_pool *p;
	const char *where;
	u32 nr, nr_based;
};

static int check_container(void *ctx, const struct catalog_container *row)
{
	struct look *l = ctx;
	const struct group_data *g;
	const struct directory *dir;
	struct container_reader *r;
	struct catalog_container base;
	struct akin_diag d = { 0 };
	u32 i;

	if (dircache_get(l->p->depot.dirs, row->number, &r, &d))
		fail_msg("%s: %s", l->where, d.text);
	dir = container_directory(r);
	for (i = 0; i < dir->nr_bases; i++) {
		if (catalog_container(l->p->catalog, dir->bases[i], &base, &d))
			fail_msg("%s: base of %llu: %s", l->where,
				 (unsigned long long)row->number, d.text);
	}
	for (i = 0; i < dir->nr_groups; i++) {
		if (groupcache_get(l->p->depot.groups, &l->p->dec, row->number,
				   i, &g, &d))
			fail_msg("%s: %s", l->where, d.text);
		groupcache_put(l->p->depot.groups, g);
	}
	l->nr++;
	l->nr_based += dir->nr_bases > 0;
	dircache_put(l->p->depot.dirs, row->number);
	return 0;
}

/* Everything that is named is whole; returns how many have bases. */
static u32 check_pool(struct simpool *sp, const char *where)
{
	struct look l = { .where = where };
	struct akin_diag d = { 0 };

	if (simpool_open(sp, false, &l.p, &d))
		fail_msg("%s: %s", where, d.text);
	if (catalog_each_container(l.p->catalog, check_container, &l, &d))
		fail_msg("%s: %s", where, d.text);
	akin_pool_close(l.p);
	assert_true(l.nr >= 1);
	return l.nr_based;
}

static void test_crash_at_every_operation(void **state)
{
	struct akin_diag d = { 0 };
	struct simpool base, sp, after;
	struct crash_points cp;
	u64 total, first, last;
	u32 seen[ROUNDS + 1] = { 0 };
	char what[128], where[192];
	int mode;

	assert_int_equal(simpool_init(&base, &d), 0);
	first = run_session(&base, 0, 0, 1);
	assert_true(first != 0);
	sp = simpool_clone(&base);
	total = simdisk_nr_ops(sp.meta);
	assert_true(run_session(&sp, 1, first, ROUNDS) != 0);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	crash_points_begin(&cp, "checkpoints", total, 100, 20);
	while (crash_points_next(&cp)) {
		sp = simpool_clone(&base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + cp.n);
		last = run_session(&sp, 1, first, ROUNDS);
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			if (!crash_points_mode(&cp, mode, SIM_NR_MODES))
				continue;
			simdisk_describe(sp.meta, cp.n, what, sizeof(what));
			snprintf(where, sizeof(where),
				 "stopped at %llu (%s), mode %d",
				 (unsigned long long)cp.n, what, mode);
			after = simpool_reboot(&sp, cp.n * 7 + mode, mode);
			seen[check_pool(&after, where)]++;
			/* And it goes on. */
			assert_true(run_session(&after, 50, first, 1) != 0);
			assert_true(check_pool(&after, where) > 0);
			simpool_free(&after);
		}
		simpool_free(&sp);
		assert_true(cp.n <= total || last != 0);
	}
	/* Stopped before, between and behind the checkpoints. */
	assert_true(seen[0] && seen[2] && seen[4] && seen[5]);
	simpool_free(&base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crash_at_every_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
