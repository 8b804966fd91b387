/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a repair: names, groups in files that hold anything, rows of a new
 * catalog; and the whole with memory and disks that fail.
 */
#include <stdio.h>
#include <stdlib.h>

#include "akin/repair.h"
#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "catalog/catalog_rebuild.h"
#include "catalog/catalog_retention.h"
#include "repair/repair_groups.h"
#include "repair/repair_quarantine.h"
#include "repair/repair_scan.h"
#include "simpool.h"
#include "store/store_repair.h"
#include "testlib.h"

#define BYTES ((size_t)128 * 1024)

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static void write_file(struct disk *d, const char *name, const void *data,
		       size_t n)
{
	struct akin_diag why = { 0 };
	struct file *f;

	must(disk_open(d, name, DISK_WRITE | DISK_CREATE | DISK_TRUNC, &f,
		       &why), &why);
	must(file_pwrite(f, data, n, 0, &why), &why);
	must(file_close(f, &why), &why);
}

static bool exists(struct disk *d, const char *name)
{
	struct disk_stat st;

	return !disk_stat(d, name, &st, NULL);
}

/* Names ---------------------------------------------------------------------*/

static void test_quarantine(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct akin_diag why = { 0 };
	bool moved = true;
	u8 *data;
	size_t len;
	int i;

	must(disk_mkdir(d, "containers", &why), &why);
	must(repair_quarantine(d, "containers/x", &moved, &why), &why);
	assert_false(moved);
	assert_false(exists(d, DIR_QUARANTINE));
	for (i = 0; i < 3; i++) {
		write_file(d, "containers/x", &i, sizeof(i));
		must(repair_quarantine(d, "containers/x", &moved, &why), &why);
		assert_true(moved);
		assert_false(exists(d, "containers/x"));
	}
	write_file(d, "y", "", 0);
	must(repair_quarantine(d, "y", NULL, &why), &why);
	assert_true(exists(d, DIR_QUARANTINE "/y"));
	assert_true(exists(d, DIR_QUARANTINE "/x.1"));
	assert_false(exists(d, DIR_QUARANTINE "/x.3"));
	/* None was replaced. */
	must(disk_read_file(d, DIR_QUARANTINE "/x", 16, &data, &len, &why),
	     &why);
	assert_int_equal(*data, 0);
	mem_free(data);
	must(disk_read_file(d, DIR_QUARANTINE "/x.2", 16, &data, &len, &why),
	     &why);
	assert_int_equal(*data, 2);
	mem_free(data);
	disk_free(d);
	simdisk_free(sd);
}

struct seen {
	struct repair_file f[8];
	u32 nr;
};

static int one_seen(void *ctx, const struct repair_file *f)
{
	struct seen *s = ctx;

	assert_true(s->nr < ARRAY_SIZE(s->f));
	s->f[s->nr++] = *f;
	return 0;
}

static int stop_at_once(void *ctx, const struct repair_file *f)
{
	return -AKIN_E_interrupted;
}

static void test_scan(void **state)
{
	static const char *const strangers[] = {
		"containers/01/notes", "containers/01/1.0",
		"containers/01/0000000000000001",
		"containers/01/0000000000000001.",
		"containers/01/0000000000000001.0x",
		"containers/01/000000000000000A.0",
		"containers/00/0000000000000000.0",
		"containers/00/f000000000000000.0",
	};
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct akin_diag why = { 0 };
	char name[FORMAT_NAME_MAX];
	struct seen s = { .nr = 0 };
	u32 i;

	must(disk_mkdir(d, DIR_TMP, &why), &why);
	must(disk_mkdir(d, DIR_CONTAINERS, &why), &why);
	must(disk_mkdir(d, "containers/00", &why), &why);
	must(disk_mkdir(d, "containers/01", &why), &why);
	for (i = 0; i < ARRAY_SIZE(strangers); i++)
		write_file(d, strangers[i], "x", 1);
	format_container_name(0x101, 0, name);
	write_file(d, name, "x", 1);
	format_container_name(1, 0x12, name);
	write_file(d, name, "x", 1);
	format_container_name(1, 3, name);
	write_file(d, name, "x", 1);
	format_container_name(0x100, 0, name);
	write_file(d, name, "x", 1);
	must(repair_each_file(d, d, one_seen, &s, &why), &why);
	assert_int_equal(s.nr, 4);
	assert_true(s.f[0].number == 1 && s.f[0].generation == 3);
	assert_true(s.f[1].number == 1 && s.f[1].generation == 0x12);
	assert_true(s.f[2].number == 0x100 && s.f[3].number == 0x101);
	assert_int_equal(repair_each_file(d, d, stop_at_once, NULL, NULL),
			 -AKIN_E_interrupted);
	disk_free(d);
	simdisk_free(sd);
}

/* Groups --------------------------------------------------------------------*/

/* One small group of container 7, encoded. */
static void make_group(u32 number, struct buf *out)
{
	u8 payload[200];
	struct group_chunk chunk = { number, sizeof(payload) };
	struct group_header h = { .number = number, .raw_len = sizeof(payload),
				  .stored_len = sizeof(payload),
				  .nr_chunks = 1, .chunks = &chunk };

	memset(payload, (int)number, sizeof(payload));
	assert_int_equal(group_encode(&h, 7, payload, out), 0);
}

static u32 count_groups(struct disk *d, const void *data, size_t n,
			u32 *dirs_ret)
{
	struct akin_diag why = { 0 };
	struct container_group g;
	struct repair_groups *gs;
	const u64 *dirs;
	struct file *f;
	u32 nr = 0;
	u64 off;
	int more;

	write_file(d, "c", data, n);
	must(disk_open(d, "c", 0, &f, &why), &why);
	must(repair_groups_new(f, 7, &gs, &why), &why);
	while ((more = repair_groups_next(gs, &g, &off, &why)) > 0) {
		assert_true(off + g.bytes.len <= n);
		container_group_release(&g);
		nr++;
	}
	must(more, &why);
	*dirs_ret = repair_groups_directories(gs, &dirs);
	repair_groups_free(gs);
	must(file_close(f, &why), &why);
	return nr;
}

static void test_groups(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	u8 gap[4000] = { 0 };
	struct buf b = { 0 };
	size_t ends[20], cut;
	u32 i, dirs, want;

	buf_put(&b, gap, CONTAINER_HEADER_BYTES);
	for (i = 0; i < 20; i++) {
		/* Gaps, some with half of a magic. */
		buf_put(&b, i % 3 ? "AKG" : "AKGPAKGP", i % 3 ? 3 : 8);
		make_group(i, &b);
		ends[i] = b.len;
		if (i == 10)
			buf_put(&b, "AKINDIR\0AKINDIR\0", 16);
	}
	assert_int_equal(count_groups(d, b.data, b.len, &dirs), 20);
	assert_int_equal(dirs, 2);
	for (cut = 0; cut < b.len; cut += 37) {
		for (want = 0; want < 20 && ends[want] <= cut; want++)
			;
		assert_int_equal(count_groups(d, b.data, cut, &dirs), want);
	}
	/* A bit anywhere costs one group at most, and makes none. */
	for (cut = CONTAINER_HEADER_BYTES; cut < b.len; cut += 23) {
		b.data[cut] ^= 4;
		want = count_groups(d, b.data, b.len, &dirs);
		assert_in_range(want, 19, 20);
		b.data[cut] ^= 4;
	}
	buf_release(&b);
	disk_free(d);
	simdisk_free(sd);
}

/* Groups over the edges of the windows that the file is read in. */
static void test_groups_far(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct buf b = { 0 };
	u8 *zeros = calloc(1, MiB + 64);
	u32 i, dirs;

	for (i = 0; i < 40; i++) {
		b.len = 0;
		buf_put(&b, zeros, MiB - 20 + i);
		make_group(1, &b);
		buf_put(&b, zeros, MiB - b.len % MiB - i % 9);
		buf_put(&b, "AKINDIR", 8);
		buf_put(&b, zeros, 50);
		assert_int_equal(count_groups(d, b.data, b.len, &dirs), 1);
		assert_int_equal(dirs, 1);
	}
	free(zeros);
	buf_release(&b);
	disk_free(d);
	simdisk_free(sd);
}

/* All magics, each claiming as much as there is: not all of them are tried. */
static void test_groups_hostile(void **state)
{
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	size_t n = 2 * MiB, i;
	struct rng r = { 5 };
	u8 *data = malloc(n);
	u32 dirs;

	for (i = 0; i < n; i += 8) {
		memcpy(data + i, "AKGP", 4);
		put_le32(data + i + 4, (u32)(n - i));
	}
	assert_int_equal(count_groups(d, data, n, &dirs), 0);
	rng_fill(&r, data, n);
	assert_int_equal(count_groups(d, data, n, &dirs), 0);
	for (i = 0; i < n; i += 8)
		memcpy(data + i, "AKINDIR", 8);
	assert_int_equal(count_groups(d, data, n, &dirs), 0);
	assert_int_equal(dirs, 16);
	free(data);
	disk_free(d);
	simdisk_free(sd);
}

/* Rows ----------------------------------------------------------------------*/

static int one_status(void *ctx, const struct snapshot *s,
		      const struct catalog_status *st)
{
	u32 *nr = ctx;

	assert_int_equal(s->number, st->forgotten_txn ? 6 : 5);
	if (st->forgotten_txn) {
		assert_true(st->may_undelete);
		assert_int_equal(st->forgotten_sec, 77);
	} else {
		assert_int_equal(st->label->flags, LABEL_PROTECTED);
	}
	++*nr;
	return 0;
}

static void add_rows(struct catalog *c, const struct pool_id *pool)
{
	struct catalog_found f = { .last_generation = 4 };
	struct snapshot s = { .pool = *pool, .number = 5, .session = 40 };
	struct label l = { .pool = *pool, .number = 5,
			   .flags = LABEL_PROTECTED };
	struct catalog_record rec = { .snapshot = &s, .label = &l };
	struct catalog_container row;
	struct akin_diag d = { 0 };
	u64 number = 30;
	u32 generation;

	f.row.number = 30;
	f.row.generation = 2;
	f.row.kind = CONTAINER_DATA;
	must(catalog_add_found(c, &f, 1, &d), &d);
	assert_int_equal(catalog_add_found(c, &f, 1, NULL), -AKIN_E_exists);
	f.row.number = 31;
	f.row.generation = 5;	/* above the last one */
	assert_int_equal(catalog_add_found(c, &f, 1, NULL), -AKIN_E_usage);
	must(catalog_container(c, 30, &row, &d), &d);
	assert_int_equal(row.generation, 2);
	must(catalog_reserve_generations(c, &number, 1, &generation, &d), &d);
	assert_int_equal(generation, 5);

	s.root.kind = CONTENT_ENTRIES;
	must(catalog_add_record(c, &rec, &d), &d);
	assert_int_equal(catalog_add_record(c, &rec, NULL), -AKIN_E_exists);
	s.number = 6;
	assert_int_equal(catalog_add_record(c, &rec, NULL), -AKIN_E_usage);
	rec.label = NULL;
	rec.forgotten = true;
	rec.forgotten_sec = 77;
	must(catalog_add_record(c, &rec, &d), &d);
	s.pool.b[0] ^= 1;
	s.number = 7;
	assert_int_equal(catalog_add_record(c, &rec, NULL), -AKIN_E_usage);
}

static void test_new_catalog(void **state)
{
	struct catalog_least least = { .txn = 1000, .container = 20, .run = 9,
				       .session = 3, .snapshot = 2 };
	struct simdisk *sd = simdisk_new("metadata");
	struct disk *d = simdisk_attach(sd, true);
	struct catalog_session info = { .host = "h" };
	struct pool_id pool = { { 1, 2, 3 } };
	struct catalog_options opt = { 0 };
	struct akin_diag why = { 0 };
	struct catalog_numbers n;
	struct catalog *c;
	u32 nr = 0;
	u64 first;

	must(catalog_create(d, &pool, &why), &why);
	must(catalog_open(d, &pool, &opt, &c, &why), &why);
	must(catalog_raise_numbers(c, &least, &why), &why);
	least = (struct catalog_least){ .txn = CATALOG_NUMBER_MAX + 1 };
	assert_int_equal(catalog_raise_numbers(c, &least, NULL), -AKIN_E_usage);
	least = (struct catalog_least){ .txn = 5 };
	must(catalog_raise_numbers(c, &least, &why), &why);
	add_rows(c, &pool);
	must(catalog_numbers(c, &n, &why), &why);
	assert_true(n.txn > 1000 && n.root_txn > 1000);
	assert_int_equal(n.last_container, 30);
	must(catalog_each_status(c, CATALOG_LISTED, one_status, &nr, &why),
	     &why);
	must(catalog_each_status(c, CATALOG_FORGOTTEN, one_status, &nr, &why),
	     &why);
	assert_int_equal(nr, 2);
	/* Above all that was found. */
	must(catalog_session_begin(c, &info, NULL, NULL, &info, &why), &why);
	assert_int_equal(info.number, 41);
	assert_int_equal(info.snapshot, 7);
	must(catalog_reserve(c, 41, NUMBER_RUN, 1, &first, &why), &why);
	assert_int_equal(first, 10);
	must(catalog_check(c, &why), &why);
	catalog_close(c);
	disk_free(d);
	simdisk_free(sd);
}

/* The whole -----------------------------------------------------------------*/

struct world {
	struct simpool pool;	/* its first container has lost its footer */
	u8 data[BYTES];
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct akin_diag d = { 0 };
	struct sim_name *names;
	u8 none[300] = { 0 };
	struct simpool sp;
	size_t nr, i;

	must(simpool_init(&sp, &d), &d);
	simpool_fill(1, w->data, BYTES);
	must(simpool_put(&sp, "a", w->data, BYTES, &d), &d);
	w->pool = simpool_reboot(&sp, 1, SIM_KEEP);
	simpool_free(&sp);
	names = simdisk_names(w->pool.data, &nr);
	for (i = 0; i < nr; i++)
		if (!names[i].is_dir && names[i].size_bytes > BYTES / 2)
			simdisk_poke(w->pool.data, names[i].path,
				     names[i].size_bytes - sizeof(none), none,
				     sizeof(none));
	simdisk_names_free(names, nr);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	simpool_free(&w->pool);
	free(w);
	return 0;
}

static int repair(struct simpool *sp, const struct akin_repair_options *opt,
		  struct akin_repair_result *out, struct akin_diag *d)
{
	struct akin_open_options open = { .memory_bytes = 32 << 20,
					  .nr_threads = 1 };

	memset(d, 0, sizeof(*d));
	return store_repair_on(simdisk_attach(sp->meta, true),
			       simdisk_attach(sp->data, true), &open, opt, out,
			       d);
}

static struct simpool clone(const struct world *w, bool lose_metadata)
{
	struct simpool sp = simpool_clone(&w->pool);

	if (!lose_metadata)
		return sp;
	simdisk_free(sp.meta);
	sp.meta = simdisk_new("metadata");
	simdisk_join(sp.meta, sp.data);
	return sp;
}

static void expect_whole(struct world *w, struct simpool *sp, const char *what,
			 u64 n)
{
	struct akin_repair_options opt = { 0 };
	struct akin_repair_result r;
	enum simpool_found found;
	struct akin_diag d;

	if (repair(sp, &opt, &r, &d))
		fail_msg("%s %llu: the next repair: %s", what,
			 (unsigned long long)n, d.text);
	if (simpool_get(sp, "a", w->data, BYTES, &found, &d) ||
	    found != SIMPOOL_WHOLE)
		fail_msg("%s %llu: %d %s", what, (unsigned long long)n, found,
			 d.text);
}

/* Memory ends everywhere: an error, and the next one does it. */
static void test_no_memory(void **state)
{
	struct akin_repair_options opt = { 0 };
	struct world *w = *state;
	struct akin_repair_result r;
	struct simpool sp;
	struct akin_diag d;
	u64 n, total, step;
	int err, lose;

	for (lose = 0; lose < 2; lose++) {
		sp = clone(w, lose);
		total = mem_nr_allocs();
		must(repair(&sp, &opt, &r, &d), &d);
		total = mem_nr_allocs() - total;
		simpool_free(&sp);
		step = getenv("AKIN_TEST_SLOW") ? 1 : 1 + total / 40;
		for (n = 1; n < total; n += step) {
			sp = clone(w, lose);
			mem_fail_after(n);
			err = repair(&sp, &opt, &r, &d);
			mem_fail_after(0);
			if (err && !d.text[0])
				fail_msg("%llu: %s without a message",
					 (unsigned long long)n,
					 akin_error_name(err));
			expect_whole(w, &sp, "allocation", n);
			simpool_free(&sp);
		}
	}
}

static void test_failing_disk(void **state)
{
	struct akin_repair_options opt = { 0 };
	struct world *w = *state;
	struct sim_fault fault = { .kinds = SIM_WRITE | SIM_SYNC | SIM_RENAME |
					    SIM_SYNC_DIR | SIM_CREATE |
					    SIM_READ,
				   .code = -AKIN_E_io };
	struct akin_repair_result r;
	struct simpool sp;
	struct akin_diag d;
	int lose;
	u64 n;

	for (lose = 0; lose < 2; lose++) {
		for (n = 1; n < 400; n += getenv("AKIN_TEST_SLOW") ? 1 : 13) {
			sp = clone(w, lose);
			fault.nth = n;
			simdisk_fail(n % 2 ? sp.data : sp.meta, &fault);
			ignore_result(repair(&sp, &opt, &r, &d));
			simdisk_fail(n % 2 ? sp.data : sp.meta,
				     &(struct sim_fault){ 0 });
			expect_whole(w, &sp, "fault", n);
			simpool_free(&sp);
		}
	}
}

static int refuse(void *ctx)
{
	u32 *nr = ctx;

	++*nr;
	return -AKIN_E_usage;
}

/* Nothing is changed without a yes, nor in a dry run. */
static void test_asks_first(void **state)
{
	struct world *w = *state;
	u32 asked = 0;
	struct akin_repair_options opt = { .confirm = refuse, .ctx = &asked };
	struct akin_repair_result r;
	struct akin_pool *p;
	struct simpool sp;
	struct akin_diag d;
	u64 hash;
	int err;

	sp = clone(w, false);
	hash = simdisk_hash(sp.data);
	assert_int_equal(repair(&sp, &opt, &r, &d), -AKIN_E_usage);
	assert_int_equal(asked, 1);
	assert_true(r.steps > 0 && simdisk_hash(sp.data) == hash);
	opt.dry_run = true;
	hash ^= simdisk_hash(sp.meta);
	err = repair(&sp, &opt, &r, &d);
	assert_int_equal(akin_error_class(err), AKIN_CLASS_CORRUPT);
	assert_int_equal(asked, 1);
	assert_true((simdisk_hash(sp.data) ^ simdisk_hash(sp.meta)) == hash);
	simpool_free(&sp);

	sp = clone(w, true);
	hash = simdisk_hash(sp.data) ^ simdisk_hash(sp.meta);
	err = repair(&sp, &opt, &r, &d);
	assert_int_equal(akin_error_class(err), AKIN_CLASS_CORRUPT);
	opt.dry_run = false;
	assert_int_equal(repair(&sp, &opt, &r, &d), -AKIN_E_usage);
	assert_int_equal(asked, 2);
	assert_true((simdisk_hash(sp.data) ^ simdisk_hash(sp.meta)) == hash);
	simpool_free(&sp);

	/* While somebody reads, metadata is not made anew under him. */
	sp = clone(w, false);
	memset(&d, 0, sizeof(d));
	must(simpool_open(&sp, true, &p, &d), &d);
	simdisk_poke(sp.meta, FILE_CATALOG, 4096, "x", 1);
	opt.confirm = NULL;
	assert_int_equal(repair(&sp, &opt, &r, &d), -AKIN_E_busy);
	akin_pool_close(p);
	must(repair(&sp, &opt, &r, &d), &d);
	assert_true(r.rebuilt);
	simpool_free(&sp);
}

/* Damage of any kind ----------------------------------------------------------*/

/* A hole, a flip, or a cut that looks like zeros to the end, in any file but
 * the data disk's superblock. */
static void hurt(struct simdisk *sd, struct rng *r)
{
	struct sim_name *names, *f;
	size_t nr, n;
	u64 off;
	u8 *none;

	names = simdisk_names(sd, &nr);
	do {
		f = &names[rng_below(r, nr)];
	} while (f->is_dir || !f->size_bytes ||
		 !strcmp(f->path, FILE_SUPERBLOCK) ||
		 !strcmp(f->path, FILE_LOCKS));
	off = rng_below(r, f->size_bytes);
	if (rng_below(r, 3) == 0) {
		simdisk_flip_bit(sd, f->path, off, (unsigned)rng_below(r, 8));
	} else {
		n = (size_t)(f->size_bytes - off);
		if (rng_below(r, 2))
			n = (size_t)min_u64(n, 1 + rng_below(r, 20000));
		none = calloc(1, n);
		simdisk_poke(sd, f->path, off, none, n);
		free(none);
	}
	simdisk_names_free(names, nr);
}

/* Nothing wrong is given back, a second repair has nothing to do, and with the
 * data once more everything is whole. */
static void expect_honest(struct simpool *sp, u8 *const *data, u64 seed)
{
	struct akin_repair_options opt = { .read_data = true };
	struct akin_repair_result r;
	enum simpool_found found;
	struct akin_diag d;
	char name[8];
	int i, err;

	err = repair(sp, &opt, &r, &d);
	if (err && akin_error_class(err) != AKIN_CLASS_CORRUPT)
		fail_msg("seed %llu: %s", (unsigned long long)seed, d.text);
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		memset(&d, 0, sizeof(d));
		if (!simpool_get(sp, name, data[i], BYTES, &found, &d) &&
		    found == SIMPOOL_OTHER)
			fail_msg("seed %llu: '%s' is wrong",
				 (unsigned long long)seed, name);
	}
	err = repair(sp, &opt, &r, &d);
	if ((err && akin_error_class(err) != AKIN_CLASS_CORRUPT) || r.steps)
		fail_msg("seed %llu: again, %llu steps: %s",
			 (unsigned long long)seed,
			 (unsigned long long)r.steps, d.text);
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		memset(&d, 0, sizeof(d));
		must(simpool_put(sp, name, data[i], BYTES, &d), &d);
		must(simpool_get(sp, name, data[i], BYTES, &found, &d), &d);
		assert_int_equal(found, SIMPOOL_WHOLE);
	}
}

static void test_any_damage(void **state)
{
	u64 seed, last = getenv("AKIN_TEST_SLOW") ? 400 : 12;
	struct akin_diag d = { 0 };
	struct simpool base, sp;
	u8 *data[3];
	struct rng r;
	char name[8];
	u64 i;

	must(simpool_init(&sp, &d), &d);
	for (i = 0; i < 3; i++) {
		data[i] = malloc(BYTES);
		simpool_fill(i + 7, data[i], BYTES);
		snprintf(name, sizeof(name), "v%d", (int)i);
		must(simpool_put(&sp, name, data[i], BYTES, &d), &d);
	}
	base = simpool_reboot(&sp, 1, SIM_KEEP);
	simpool_free(&sp);
	for (seed = 1; seed <= last; seed++) {
		r.s = seed;
		sp = simpool_clone(&base);
		for (i = 1 + rng_below(&r, 3); i; i--)
			hurt(rng_below(&r, 4) ? sp.data : sp.meta, &r);
		if (rng_below(&r, 3) == 0) {
			simdisk_free(sp.meta);
			sp.meta = simdisk_new("metadata");
			simdisk_join(sp.meta, sp.data);
		}
		expect_honest(&sp, data, seed);
		simpool_free(&sp);
	}
	simpool_free(&base);
	for (i = 0; i < 3; i++)
		free(data[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quarantine),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_far),
		cmocka_unit_test(test_groups_hostile),
		cmocka_unit_test(test_new_catalog),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_failing_disk),
		cmocka_unit_test(test_asks_first),
		cmocka_unit_test(test_any_damage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
