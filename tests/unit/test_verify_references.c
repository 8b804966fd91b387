/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check, where groups were compressed against others: damage reaches all
 * that was built on it, whether that is read or not, and is lifted again; and
 * bases that are not what the directory says are found.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "catalog/catalog.h"
#include "catalog/catalog_gc.h"
#include "poolfix.h"
#include "refbuild.h"
#include "verify/verify.h"

#define OK(expr) assert_int_equal(expr, 0)
#define FILE_BYTES (300 * KiB)
#define VERSIONS 3

static const struct akin_check_options fast;
static const struct akin_check_options full = { .read_data = true };

/* Three versions of src/a, one snapshot and one data container each; every
 * container's groups against the one before: depths 0, 1, 2. */
struct chain {
	struct poolfix *fx;
	struct disk *disk;
	struct decoder dec;
	u8 *data[VERSIONS];
	u64 snap[VERSIONS], number[VERSIONS];
};

static void write_version(struct chain *c, u32 v)
{
	struct rng r = { v };
	char path[256];
	FILE *f;
	u32 i;

	c->data[v] = malloc(FILE_BYTES);
	assert_non_null(c->data[v]);
	if (v == 0)
		rng_fill(&r, c->data[v], FILE_BYTES);
	else
		memcpy(c->data[v], c->data[v - 1], FILE_BYTES);
	/* Some byte of every chunk. */
	for (i = (u32)rng_below(&r, 500); i < FILE_BYTES; i += 500)
		c->data[v][i] ^= 1;
	snprintf(path, sizeof(path), "%s/src/a", c->fx->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(c->data[v], 1, FILE_BYTES, f), FILE_BYTES);
	OK(fclose(f));
}

static void again(struct chain *c, u32 v, struct refbuild *b)
{
	refbuild_again(b, c->disk, &c->dec, c->fx->p->depot.data_hasher,
		       &c->fx->p->super.pool, c->number[v], c->number[v - 1],
		       (u8)v);
	/* Incompressible, but for what the version before has. */
	assert_true(b->file.len < FILE_BYTES / 4);
}

/* @lie: about the last version's bases, before it is written. May be NULL. */
static void chain_init(struct chain *c, struct poolfix *fx,
		       void (*lie)(struct chain *c, struct directory *d))
{
	struct codec_choice choice = { CODEC_ZSTD, 3 };
	struct refbuild b;
	char path[256];
	u32 v;

	memset(c, 0, sizeof(*c));
	c->fx = fx;
	OK(decoder_init(&c->dec, &choice, NULL));
	poolfix_path(fx, "data", path);
	OK(disk_files_new(path, true, &c->disk, NULL));
	for (v = 0; v < VERSIONS; v++) {
		write_version(c, v);
		c->snap[v] = poolfix_backup(fx, false);
		c->number[v] = poolfix_container(fx, CONTAINER_DATA,
						 v).number;
	}
	for (v = VERSIONS - 1; v > 0; v--) {
		again(c, v, &b);
		if (lie && v == VERSIONS - 1)
			lie(c, &b.dir);
		refbuild_seal(&b);
	}
	poolfix_reopen(fx, false);
}

static void chain_release(struct chain *c)
{
	u32 v;

	for (v = 0; v < VERSIONS; v++)
		free(c->data[v]);
	decoder_release(&c->dec);
	disk_free(c->disk);
}

struct compare {
	const u8 *want;
	size_t left;
};

static int compare(void *ctx, const void *data, size_t n)
{
	struct compare *c = ctx;

	if (n > c->left || memcmp(data, c->want, n))
		return -AKIN_E_internal;
	c->want += n;
	c->left -= n;
	return 0;
}

static int read_version(struct chain *c, u32 v)
{
	struct compare cmp = { c->data[v], FILE_BYTES };
	char path[256];
	int err;

	snprintf(path, sizeof(path), "%s/src/a", c->fx->dir);
	err = akin_snapshot_read(c->fx->p, c->snap[v], path, compare, NULL,
				 &cmp, NULL);
	assert_true(err || !cmp.left);
	return err;
}

/* The catalog's lengths of two containers are not those of the new ones. */
#define LENGTHS 2

static void assert_sound(struct chain *c, const struct akin_check_options *opt)
{
	poolfix_check(c->fx, opt);
	assert_int_equal(poolfix_count(c->fx, "disagree about the length"),
			 LENGTHS);
	if (c->fx->result.findings != LENGTHS)
		fail_msg("%s; %s; %s", c->fx->findings[0].text,
			 c->fx->findings[1].text, c->fx->findings[2].text);
	assert_int_equal(c->fx->result.chunks_damaged, 0);
	assert_int_equal(c->fx->result.files_damaged, 0);
}

static u64 nr_damaged(struct chain *c)
{
	struct catalog_totals t;

	OK(catalog_totals(c->fx->p->catalog, &t, NULL));
	return t.nr_damaged;
}

static u32 nr_in_group(struct chain *c, u32 v, u32 group, u64 *off_ret)
{
	struct container_reader *r;
	u32 nr;

	OK(container_open(c->disk, &c->fx->p->super.pool, c->number[v], 0, &r,
			  NULL));
	nr = container_directory(r)->groups[group].nr;
	*off_ret = container_directory(r)->groups[group].off;
	container_close(r);
	return nr;
}

static void test_sound(void **state)
{
	struct chain c;
	u32 v;

	chain_init(&c, *state, NULL);
	for (v = 0; v < VERSIONS; v++)
		OK(read_version(&c, v));
	assert_sound(&c, &fast);
	assert_sound(&c, &full);
	assert_int_equal(c.fx->result.bytes_not_read, 0);
	chain_release(&c);
}

/* One bit in the first version's group 1. */
static void test_base_damaged(void **state)
{
	struct chain c;
	char name[128], text[128];
	u64 off, all;
	u32 v, nr[VERSIONS], below;

	chain_init(&c, *state, NULL);
	for (v = 0, all = 0; v < VERSIONS; v++) {
		nr[v] = nr_in_group(&c, v, 1, &off);
		all += nr[v];
	}
	nr_in_group(&c, 0, 1, &off);
	poolfix_container_name(c.number[0], name);
	poolfix_flip(c.fx, name, (long)off + 5000);
	poolfix_reopen(c.fx, true);
	for (v = 0; v < VERSIONS; v++)
		assert_int_equal(read_version(&c, v), -AKIN_E_bad_checksum);

	/* Who may not write marks nothing. */
	poolfix_reopen(c.fx, false);
	assert_int_equal(nr_damaged(&c), 0);
	poolfix_check(c.fx, &full);
	snprintf(text, sizeof(text), "container %llu: group 1: chunk ",
		 (unsigned long long)c.number[0]);
	assert_int_equal(poolfix_count(c.fx, text), nr[0]);
	for (v = 1; v < VERSIONS; v++) {
		snprintf(text, sizeof(text), "its reference to container "
			 "%llu, entry ", (unsigned long long)c.number[v - 1]);
		/* Boundaries of chunks move: others may reach into it. */
		below = poolfix_count(c.fx, text);
		assert_true(below >= nr[v]);
	}
	assert_int_equal(c.fx->result.snapshots_damaged, VERSIONS);
	assert_int_equal(c.fx->result.files_damaged, VERSIONS);
	assert_true(c.fx->result.chunks_damaged >= all);
	assert_int_equal(nr_damaged(&c), c.fx->result.chunks_damaged);

	/* Known, and so for all of them, without reading. */
	poolfix_reopen(c.fx, false);
	all = c.fx->result.chunks_damaged;
	poolfix_check(c.fx, &fast);
	assert_int_equal(c.fx->result.files_damaged, VERSIONS);
	assert_int_equal(c.fx->result.findings, LENGTHS + VERSIONS);
	assert_int_equal(c.fx->nr_remarks, 0);
	assert_int_equal(nr_damaged(&c), all);

	poolfix_flip(c.fx, name, (long)off + 5000);
	poolfix_reopen(c.fx, false);
	assert_sound(&c, &full);
	assert_int_equal(nr_damaged(&c), 0);
	for (v = 0; v < VERSIONS; v++)
		OK(read_version(&c, v));

	/* Who may, marks the group and all that it came from below. */
	poolfix_flip(c.fx, name, (long)off + 5000);
	poolfix_reopen(c.fx, false);
	assert_int_equal(read_version(&c, VERSIONS - 1), -AKIN_E_bad_checksum);
	poolfix_reopen(c.fx, false);
	assert_true(nr_damaged(&c) >= nr[0] + VERSIONS - 1);
	assert_true(depot_damage_in_any(&c.fx->p->depot.damage, c.number, 1));
	chain_release(&c);
}

/* A mark of one chunk, and nothing is read: it spreads all the same. */
static void test_mark_spreads(void **state)
{
	struct catalog_damage mark = { .code = -AKIN_E_bad_data };
	struct chain c;
	u64 off, all;
	u32 v;

	chain_init(&c, *state, NULL);
	mark.place.container = c.number[0];
	mark.place.entry = nr_in_group(&c, 0, 0, &off);	/* group 1's first */
	OK(catalog_mark_damaged(c.fx->p->catalog, &mark, 1, NULL));
	poolfix_check(c.fx, &fast);
	for (v = 1, all = 1; v < VERSIONS; v++)
		all += nr_in_group(&c, v, 1, &off);
	assert_true(nr_damaged(&c) >= all);
	assert_true(poolfix_count(c.fx, "known to be damaged") >= all - 1);
	assert_int_equal(c.fx->result.files_damaged, VERSIONS);
	/* It reads well after all, and so do they. */
	assert_sound(&c, &full);
	assert_int_equal(nr_damaged(&c), 0);
	chain_release(&c);
}

static void test_base_lost(void **state)
{
	struct chain c;
	char name[128], path[256];
	u32 v;

	chain_init(&c, *state, NULL);
	poolfix_container_name(c.number[0], name);
	poolfix_path(c.fx, name, path);
	OK(unlink(path));
	poolfix_reopen(c.fx, false);
	poolfix_check(c.fx, &fast);
	assert_int_equal(c.fx->result.files_damaged, VERSIONS);
	assert_true(poolfix_count(c.fx, "known to be damaged") > 0);
	for (v = 1; v < VERSIONS; v++)
		assert_int_equal(read_version(&c, v), -AKIN_E_fp_unknown);
	poolfix_check(c.fx, &full);
	assert_int_equal(c.fx->result.files_damaged, VERSIONS);
	chain_release(&c);
}

/* A reclaim that condemns while the check is on its way. */
struct meanwhile {
	struct chain *c;
	struct verify_result result;
	bool done;
};

static int condemn_all(void *ctx)
{
	struct meanwhile *m = ctx;
	u64 txn;
	bool grown;

	/* The rows of all containers have been read by now. */
	if (m->done || m->result.containers != 1)
		return 0;
	m->done = true;
	OK(catalog_condemn(m->c->fx->p->catalog, CATALOG_NUMBER_MAX,
			   m->c->number, VERSIONS, NULL, 0, &txn, &grown,
			   NULL));
	assert_false(grown);
	return 0;
}

static void test_condemned_meanwhile(void **state)
{
	struct meanwhile m = { 0 };
	struct verify_options opt = { .stopped = condemn_all, .ctx = &m };
	struct chain c;

	chain_init(&c, *state, NULL);
	m.c = &c;
	opt.depot = &c.fx->p->depot;
	opt.catalog = c.fx->p->catalog;
	opt.dec = &c.dec;
	ignore_result(verify_pool(&opt, &m.result, NULL));
	assert_true(m.done);
	assert_int_equal(m.result.chunks_damaged, 0);
	assert_int_equal(nr_damaged(&c), 0);
	chain_release(&c);
}

/* What needs a lost container is not matched, nor taken from the parent, though
 * no check has said so: the next backup stores it anew. */
static void test_base_lost_heals(void **state)
{
	const u32 last = VERSIONS - 1;
	struct chain c;
	char name[128], path[256];
	u64 newest;

	chain_init(&c, *state, NULL);
	poolfix_container_name(c.number[0], name);
	poolfix_path(c.fx, name, path);
	OK(unlink(path));
	poolfix_reopen(c.fx, false);
	newest = poolfix_backup(c.fx, false);
	poolfix_reopen(c.fx, false);
	/* The old snapshot of the same data heals with it. */
	OK(read_version(&c, last));
	c.snap[last] = newest;
	OK(read_version(&c, last));
	assert_int_equal(read_version(&c, 1), -AKIN_E_fp_unknown);
	chain_release(&c);
}

static void lie_more(struct chain *c, struct directory *d)
{
	d->bases = mem_realloc(d->bases, 2 * sizeof(u64));
	assert_non_null(d->bases);
	d->bases[0] = c->number[0];
	d->bases[1] = c->number[1];
	d->nr_bases = 2;
}

static void lie_other(struct chain *c, struct directory *d)
{
	d->bases[0] = c->number[0];
}

static void lie_none(struct chain *c, struct directory *d)
{
	d->nr_bases = 0;
}

static void test_bases_more(void **state)
{
	struct chain c;
	char text[160];

	chain_init(&c, *state, lie_more);
	assert_sound(&c, &fast);
	poolfix_check(c.fx, &full);
	snprintf(text, sizeof(text), "container %llu: its directory lists "
		 "container %llu, which no group refers to",
		 (unsigned long long)c.number[2],
		 (unsigned long long)c.number[0]);
	assert_int_equal(poolfix_count(c.fx, text), 1);
	assert_int_equal(c.fx->result.findings, LENGTHS + 1);
	chain_release(&c);
}

static void test_bases_other(void **state)
{
	struct chain c;
	char text[160];

	chain_init(&c, *state, lie_other);
	assert_sound(&c, &fast);
	poolfix_check(c.fx, &full);
	snprintf(text, sizeof(text), "group 0 refers to container %llu, which "
		 "the directory does not list",
		 (unsigned long long)c.number[1]);
	assert_int_equal(poolfix_count(c.fx, text), 1);
	assert_true(poolfix_count(c.fx, "which no group refers to") == 1);
	assert_int_equal(c.fx->result.chunks_damaged, 0);
	chain_release(&c);
}

static void test_bases_none(void **state)
{
	struct chain c;

	chain_init(&c, *state, lie_none);
	poolfix_check(c.fx, &fast);
	assert_int_equal(poolfix_count(c.fx, "groups with references, but no "
				       "bases"), 1);
	assert_int_equal(c.fx->result.findings, LENGTHS + 1);
	chain_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sound, poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_base_damaged,
						poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_mark_spreads,
						poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_base_lost,
						poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_condemned_meanwhile,
						poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_base_lost_heals,
						poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_bases_more,
						poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_bases_other,
						poolfix_setup_fixed,
						poolfix_teardown),
		cmocka_unit_test_setup_teardown(test_bases_none,
						poolfix_setup_fixed,
						poolfix_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
