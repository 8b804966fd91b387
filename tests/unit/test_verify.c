/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check against real pools, damaged one byte at a time. What it says must
 * be exact: which chunks, files and snapshots, and what was not tested.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "container/container_reader.h"
#include "format/format_tree.h"
#include "poolfix.h"
#include "store/store_sound.h"
#include "verify/verify_seen.h"

#define OK(expr) assert_int_equal(expr, 0)
#define BIG (700 * KiB)
#define SMALL (40 * KiB)

static const struct akin_check_options fast;
static const struct akin_check_options full = { .read_data = true };

/* Two large files in several containers, some small ones, one of them inline,
 * all incompressible and different. */
static void fill(struct poolfix *fx)
{
	poolfix_write(fx, "a", 1, BIG);
	poolfix_write(fx, "b", 2, BIG);
	poolfix_write(fx, "d/c", 3, SMALL);
	poolfix_write(fx, "d/tiny", 4, 100);
	poolfix_write(fx, "empty", 5, 0);
}

static void path_of(const struct poolfix *fx, const char *name, char out[256])
{
	snprintf(out, 256, "%s/src/%s", fx->dir, name);
}

static struct container_reader *open_container(struct poolfix *fx, u64 number)
{
	struct container_reader *r;

	OK(container_open(fx->data, &fx->p->super.pool, number, 0, &r,
			  NULL));
	return r;
}

static u64 nr_damaged(struct poolfix *fx)
{
	struct catalog_totals t;

	OK(catalog_totals(fx->p->catalog, &t, NULL));
	return t.nr_damaged;
}

/* The check fails with exactly one finding that has @what in its text. */
static void assert_only(struct poolfix *fx,
			const struct akin_check_options *opt, int code,
			const char *what)
{
	assert_int_equal(akin_error_class(poolfix_check(fx, opt)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->result.findings, 1);
	assert_int_equal(fx->nr_findings, 1);
	assert_int_equal(fx->findings[0].code, code);
	if (!strstr(fx->findings[0].text, what))
		fail_msg("'%s' is not about '%s'", fx->findings[0].text, what);
	assert_int_equal(fx->result.files_damaged, 0);
	assert_int_equal(fx->result.chunks_damaged, 0);
}

static void assert_clean(struct poolfix *fx,
			 const struct akin_check_options *opt)
{
	int err = poolfix_check(fx, opt);

	if (err)
		fail_msg("%s: %s", fx->diag.text, fx->nr_findings ?
			 fx->findings[0].text : "");
	assert_int_equal(fx->result.findings, 0);
	assert_int_equal(fx->nr_remarks, 0);
	assert_string_equal(fx->diag.text, "");
}

static void test_clean(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_totals t;
	u64 pieces, located;

	assert_clean(fx, &full);	/* an empty pool */
	assert_int_equal(fx->result.snapshots, 0);
	assert_int_equal(fx->result.containers, 0);

	fill(fx);
	poolfix_backup(fx, false);
	poolfix_reopen(fx, false);
	OK(catalog_totals(fx->p->catalog, &t, NULL));
	assert_int_equal(t.nr_data_containers, 2);
	assert_clean(fx, &fast);
	assert_int_equal(fx->result.snapshots, 1);
	assert_int_equal(fx->result.containers,
			 t.nr_data_containers + t.nr_meta_containers);
	assert_int_equal(fx->result.chunks_located, t.nr_chunks);
	assert_int_equal(fx->result.chunks_verified, 0);
	assert_int_equal(fx->result.bytes_verified, 0);
	assert_int_equal(fx->result.containers_read, 0);
	assert_int_equal(fx->result.orphan_files, 0);
	pieces = fx->result.pieces;
	located = fx->result.bytes_not_read;
	assert_in_range(located, t.raw_data_bytes, t.data_bytes);

	assert_clean(fx, &full);
	assert_int_equal(fx->result.bytes_not_read, 0);
	assert_int_equal(fx->result.bytes_verified, located);
	assert_int_equal(fx->result.chunks_verified, t.nr_chunks);
	assert_int_equal(fx->result.containers_read, t.nr_data_containers);

	/* What two snapshots share is walked once. */
	poolfix_backup(fx, false);
	assert_clean(fx, &fast);
	assert_int_equal(fx->result.snapshots, 2);
	/* But for a listing with fx->top in it, whose times change. */
	assert_in_range(fx->result.pieces, pieces, pieces + 1);
}

static void test_one_byte_of_data(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	const struct directory *d;
	struct container_reader *r;
	struct akin_snapshot_filter none = { 0 };
	char name[128], path[256], text[128], id[33];
	u32 nr, i;
	u64 snap;

	fill(fx);
	snap = poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_DATA, 0);
	r = open_container(fx, row.number);
	d = container_directory(r);
	nr = d->groups[1].nr;
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, (long)(d->groups[1].off +
				      d->groups[1].len / 2));
	poolfix_reopen(fx, false);

	assert_clean(fx, &fast);
	assert_true(fx->result.bytes_not_read > 0);

	assert_int_equal(akin_error_class(poolfix_check(fx, &full)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->result.findings, nr + 1);
	assert_int_equal(fx->nr_findings, nr + 1);
	assert_int_equal(fx->result.chunks_damaged, nr);
	assert_int_equal(fx->result.files_damaged, 1);
	assert_int_equal(fx->result.snapshots_damaged, 1);
	for (i = 0; i < nr; i++) {
		const struct dir_entry *e = &d->entries[d->groups[1].first + i];

		snprintf(text, sizeof(text), "container %llu: group 1: chunk "
			 "%u (%02x%02x%02x%02x, %u bytes): wrong checksum",
			 (unsigned long long)row.number, e->entry, e->fp.b[0],
			 e->fp.b[1], e->fp.b[2], e->fp.b[3], e->len);
		assert_string_equal(fx->findings[i].text, text);
		assert_int_equal(fx->findings[i].code, -AKIN_E_bad_checksum);
	}
	path_of(fx, "a", path);
	assert_string_equal(fx->findings[nr].path, path);
	snprintf(text, sizeof(text), "container %llu, is damaged, and %u more",
		 (unsigned long long)row.number, nr - 1);
	assert_non_null(strstr(fx->findings[nr].text, text));
	assert_non_null(strstr(fx->diag.hint, "akin backup --force"));
	snprintf(id, sizeof(id), "%s", fx->findings[nr].snapshot);
	assert_int_equal(strlen(id), 32);
	OK(akin_snapshot_find(fx->p, id, &none, &snap, NULL));
	assert_int_equal(nr_damaged(fx), nr);

	/* Remembered: the fast check knows the files without reading. */
	poolfix_reopen(fx, false);
	assert_int_equal(akin_error_class(poolfix_check(fx, &fast)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->result.findings, 1);
	assert_int_equal(fx->result.chunks_damaged, nr);
	assert_string_equal(fx->findings[0].path, path);
	/* And what was known is only remarked when it is read again. */
	poolfix_check(fx, &full);
	assert_int_equal(fx->result.findings, 1);
	assert_int_equal(fx->nr_remarks, nr);
	assert_int_equal(fx->result.chunks_damaged, nr);

	/* The byte comes back: marks are lifted by reading. */
	poolfix_flip(fx, name, (long)(d->groups[1].off +
				      d->groups[1].len / 2));
	poolfix_reopen(fx, false);
	assert_clean(fx, &full);
	assert_int_equal(nr_damaged(fx), 0);
	container_close(r);
}

static void test_damage_in_two_snapshots(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	char name[128];
	u32 nr;

	fill(fx);
	poolfix_backup(fx, false);
	poolfix_write(fx, "b", 20, BIG);
	poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_DATA, 0);
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, CONTAINER_HEADER_BYTES + 5000);
	poolfix_reopen(fx, true);	/* also without leave to write */
	poolfix_check(fx, &full);
	nr = (u32)fx->result.chunks_damaged;
	assert_int_equal(fx->result.files_damaged, 2);
	assert_int_equal(fx->result.snapshots_damaged, 2);
	assert_int_equal(fx->result.findings, nr + 2);
	assert_string_not_equal(fx->findings[nr].snapshot,
				fx->findings[nr + 1].snapshot);
	assert_string_equal(fx->findings[nr].path,
			    fx->findings[nr + 1].path);
	assert_int_equal(nr_damaged(fx), 0);
}

static void test_sample(void **state)
{
	struct poolfix *fx = *state;
	struct akin_check_options half = { .read_data = true,
					   .read_percent = 50 };
	struct akin_check_options few = { .read_data = true,
					  .read_bytes = 300 * KiB };
	struct akin_check_options wrong = { .read_data = true,
					    .read_percent = 101 };
	u64 all;
	u32 i;

	fill(fx);
	poolfix_backup(fx, false);
	assert_clean(fx, &fast);
	all = fx->result.bytes_not_read;
	for (i = 0; i < 8; i++) {
		assert_clean(fx, &half);
		assert_int_equal(fx->result.bytes_verified +
				 fx->result.bytes_not_read, all);
		assert_in_range(fx->result.bytes_verified,
				all / 2 - 140 * KiB, all / 2 + 140 * KiB);
		assert_clean(fx, &few);
		assert_int_equal(fx->result.bytes_verified +
				 fx->result.bytes_not_read, all);
		assert_in_range(fx->result.bytes_verified, 1, 300 * KiB);
	}
	assert_int_equal(poolfix_check(fx, &wrong), -AKIN_E_usage);
}

/* A byte of the directory or the footer: the whole container is lost. */
static void lose_container(struct poolfix *fx, long off, int code,
			   const char *what)
{
	struct catalog_container row;
	char name[128], path[256];

	row = poolfix_container(fx, CONTAINER_DATA, 1);
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, off);
	poolfix_reopen(fx, false);
	assert_int_equal(akin_error_class(poolfix_check(fx, &fast)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->findings[0].code, code);
	assert_non_null(strstr(fx->findings[0].text, what));
	assert_int_equal(fx->result.chunks_damaged, row.nr_entries);
	/* b is in two containers, d/c in the second. */
	assert_int_equal(fx->result.files_damaged, 2);
	assert_int_equal(fx->result.findings, 3);
	path_of(fx, "b", path);
	assert_string_equal(fx->findings[1].path, path);
	path_of(fx, "d/c", path);
	assert_string_equal(fx->findings[2].path, path);
	assert_int_equal(fx->findings[2].code, -AKIN_E_fp_unknown);
	assert_int_equal(nr_damaged(fx), 1);

	poolfix_flip(fx, name, off);
	poolfix_reopen(fx, false);
	assert_clean(fx, &fast);
	assert_int_equal(nr_damaged(fx), 0);
}

static void test_directory_footer_header(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	char name[128];

	fill(fx);
	poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_DATA, 1);
	lose_container(fx, (long)row.dir_off + 70, -AKIN_E_bad_checksum,
		       "directory: ");
	lose_container(fx, -CONTAINER_FOOTER_BYTES + 20, -AKIN_E_bad_checksum,
		       "footer: ");

	/* Readers do without the header. */
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, 40);
	poolfix_reopen(fx, false);
	assert_only(fx, &full, -AKIN_E_bad_checksum, "header");
	poolfix_flip(fx, name, 40);
	assert_clean(fx, &full);
}

static void test_truncated_container(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	char name[128], path[256];

	fill(fx);
	poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_DATA, 1);
	poolfix_container_name(row.number, name);
	poolfix_path(fx, name, path);
	OK(truncate(path, (off_t)row.file_bytes - 1));
	poolfix_reopen(fx, false);
	assert_int_equal(akin_error_class(poolfix_check(fx, &fast)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->result.chunks_damaged, row.nr_entries);
	assert_int_equal(fx->result.files_damaged, 2);
}

static void test_metadata_container(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	const struct directory *d;
	struct container_reader *r;
	struct stat before, after;
	char name[128];
	u32 i, nr_listings = 0;
	bool same;

	fill(fx);
	OK(stat(fx->top, &before));
	poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_METADATA, 0);
	r = open_container(fx, row.number);
	d = container_directory(r);
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, (long)(d->groups[0].off +
				      d->groups[0].len - 10));
	poolfix_reopen(fx, false);
	/* Without reading data: metadata is always read. The one group holds
	 * everything, so nothing below the root can be had. */
	assert_int_equal(d->nr_groups, 1);
	assert_int_equal(akin_error_class(poolfix_check(fx, &fast)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->result.chunks_damaged, d->nr_entries);
	assert_int_equal(poolfix_count(fx, "metadata chunk"), d->nr_entries);
	for (i = 0; i < fx->nr_findings; i++) {
		if (!*fx->findings[i].path)
			continue;
		nr_listings++;
		assert_string_equal(fx->findings[i].path, "/");
	}
	assert_int_equal(nr_listings, 1);
	assert_int_equal(fx->result.files_damaged, 1);
	assert_int_equal(fx->result.snapshots_damaged, 1);

	/* The same data again: all its metadata is stored anew, and so is that
	 * of the old snapshot unless somebody else was there. */
	poolfix_backup(fx, true);
	poolfix_check(fx, &full);
	OK(stat(fx->top, &after));
	same = before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
	       before.st_mtim.tv_nsec == after.st_mtim.tv_nsec;
	assert_in_range(fx->result.findings, 0, same ? 0 : 1);
	assert_int_equal(fx->result.files_damaged, fx->result.findings);
	assert_int_equal(fx->nr_remarks, d->nr_entries);
	if (!fx->result.findings)
		OK(poolfix_read(fx, 1, "a", 1, BIG));
	container_close(r);
}

struct run_name {
	char name[128];
	u64 pages;
};

static int first_run(void *ctx, const struct catalog_run *run)
{
	struct run_name *r = ctx;
	char name[FORMAT_NAME_MAX];

	format_run_name(run->number, name);
	snprintf(r->name, sizeof(r->name), "meta/%s", name);
	r->pages = run->file_bytes / RUN_PAGE_BYTES;
	return 0;
}

static void test_records_runs_superblocks(void **state)
{
	struct poolfix *fx = *state;
	struct run_name run = { 0 };
	char name[128], record[FORMAT_NAME_MAX];

	fill(fx);
	format_snapshot_name(poolfix_backup(fx, false), record);
	snprintf(name, sizeof(name), "data/%s", record);
	poolfix_flip(fx, name, 60);
	assert_only(fx, &full, -AKIN_E_bad_checksum, "record of snapshot");
	poolfix_flip(fx, name, 60);
	assert_clean(fx, &full);

	OK(catalog_each_run(fx->p->catalog, first_run, &run, NULL));
	poolfix_flip(fx, run.name, -RUN_PAGE_BYTES + 30);
	poolfix_reopen(fx, false);
	assert_only(fx, &full, -AKIN_E_bad_checksum, "index run");
	poolfix_flip(fx, run.name, -RUN_PAGE_BYTES + 30);
	poolfix_flip(fx, run.name, 30);
	poolfix_reopen(fx, false);
	assert_only(fx, &full, -AKIN_E_bad_checksum, "index run");
	poolfix_flip(fx, run.name, 30);
	poolfix_reopen(fx, false);

	poolfix_flip(fx, "meta/superblock", 100);
	assert_only(fx, &fast, -AKIN_E_bad_checksum,
		    "metadata pool: superblock: only one of its two copies");
	poolfix_flip(fx, "meta/superblock", 100);
	poolfix_flip(fx, "data/superblock", SUPER_COPY_BYTES + 100);
	poolfix_reopen(fx, false);
	assert_only(fx, &fast, -AKIN_E_bad_checksum,
		    "data pool: superblock: only one of its two copies");
	poolfix_flip(fx, "data/superblock", SUPER_COPY_BYTES + 100);
	assert_clean(fx, &fast);
}

/* Those in use, and a few behind them. */
#define PAGES 14

/* A page of the catalog: the pool does not open, or the check says so. */
static void test_catalog(void **state)
{
	struct poolfix *fx = *state;
	struct akin_open_options opt = { .nr_threads = 1 };
	struct disk_stat st;
	char path[256];
	u32 page, nr_checked = 0, nr_found = 0;
	int err;

	fill(fx);
	poolfix_backup(fx, false);
	OK(disk_stat(fx->p->meta, FILE_CATALOG, &st, NULL));
	poolfix_path(fx, ".", path);
	opt.path = path;
	akin_pool_close(fx->p);
	fx->p = NULL;
	assert_true(st.size_bytes >= PAGES * 4096);
	for (page = 0; page < PAGES; page++) {
		poolfix_flip(fx, "meta/catalog", page * 4096 + 2000);
		err = akin_pool_open(&opt, &fx->p, NULL);
		if (!err) {
			err = poolfix_check(fx, &fast);
			assert_int_equal(fx->result.findings != 0, err != 0);
			nr_checked += err != 0;
		}
		/* Pages kept free for later are nobody's. */
		if (err)
			assert_int_equal(err, -AKIN_E_catalog);
		nr_found += err != 0;
		akin_pool_close(fx->p);
		fx->p = NULL;
		poolfix_flip(fx, "meta/catalog", page * 4096 + 2000);
	}
	assert_in_range(nr_checked, 3, nr_found);
	assert_in_range(nr_found, 8, PAGES);
	poolfix_reopen(fx, false);
	assert_clean(fx, &fast);
}

static void test_orphans(void **state)
{
	static const char *const names[] = {
		"data/containers/07/0000000000000007.0",
		"data/containers/07/junk", "data/snapshots/00000000000000ff",
		"meta/runs/00000000000000ff",
	};
	struct poolfix *fx = *state;
	char path[256];
	FILE *f;
	u32 i;

	fill(fx);
	poolfix_backup(fx, false);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		poolfix_path(fx, names[i], path);
		f = fopen(path, "w");
		assert_non_null(f);
		OK(fclose(f));
	}
	assert_clean(fx, &fast);
	assert_int_equal(fx->result.orphan_files, ARRAY_SIZE(names));
}

/* A container is gone; the same data backed up again heals old snapshots. */
static void test_lost_container_heals(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	char name[128], path[256];
	u64 old;

	fill(fx);
	old = poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_DATA, 0);
	poolfix_container_name(row.number, name);
	poolfix_path(fx, name, path);
	OK(unlink(path));

	/* Never checked, so nothing is marked: the file's absence is enough. */
	poolfix_reopen(fx, false);
	assert_int_equal(poolfix_read(fx, old, "a", 1, BIG),
			 -AKIN_E_fp_unknown);
	poolfix_reopen(fx, false);
	poolfix_backup(fx, true);
	OK(poolfix_read(fx, old, "a", 1, BIG));
	poolfix_reopen(fx, false);
	OK(poolfix_read(fx, old, "a", 1, BIG));
	OK(poolfix_read(fx, old, "b", 2, BIG));
	OK(poolfix_read(fx, old, "d/c", 3, SMALL));

	/* Found once, as nobody knew; after that it is history. */
	assert_int_equal(akin_error_class(poolfix_check(fx, &full)),
			 AKIN_CLASS_CORRUPT);
	assert_int_equal(fx->result.findings, 1);
	assert_int_equal(fx->result.files_damaged, 0);
	assert_int_equal(fx->findings[0].code, -AKIN_E_absent);
	poolfix_reopen(fx, false);
	OK(poolfix_check(fx, &full));
	assert_int_equal(fx->nr_remarks, 1);
	assert_int_equal(fx->result.chunks_damaged, row.nr_entries);
}

/* A damaged group: only a mark keeps it from being matched. */
static void test_damaged_group_heals(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	char name[128];
	u64 old;

	fill(fx);
	old = poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_DATA, 0);
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, CONTAINER_HEADER_BYTES + 5000);
	poolfix_reopen(fx, false);
	poolfix_check(fx, &full);
	assert_int_equal(fx->result.files_damaged, 1);
	assert_int_equal(poolfix_read(fx, old, "a", 1, BIG),
			 -AKIN_E_bad_checksum);

	poolfix_backup(fx, true);
	OK(poolfix_check(fx, &full));
	assert_int_equal(fx->result.files_damaged, 0);
	assert_int_not_equal(fx->result.chunks_damaged, 0);
	OK(poolfix_read(fx, old, "a", 1, BIG));

	poolfix_reopen(fx, false);
	OK(store_damage_load(fx->p, NULL));
	OK(poolfix_read(fx, old, "a", 1, BIG));
}

/* Labels are in both pools; a buried record is missing where it is listed. */
static void test_labels_and_tombstones(void **state)
{
	const char *tag = "x";
	struct akin_tag_change ch = { .add = &tag, .nr_add = 1 };
	struct poolfix *fx = *state;
	char name[64], path[256], gone[256];
	u64 n;

	fill(fx);
	n = poolfix_backup(fx, false);
	OK(akin_snapshot_tag(fx->p, n, &ch, NULL));
	OK(poolfix_check(fx, &full));
	assert_int_equal(fx->result.findings, 0);
	assert_int_equal(fx->result.orphan_files, 0);
	snprintf(name, sizeof(name), "data/snapshots/%016llx.label",
		 (unsigned long long)n);
	poolfix_flip(fx, name, 20);
	poolfix_check(fx, &full);
	assert_int_equal(poolfix_count(fx, "label of snapshot"), 1);
	poolfix_path(fx, name, path);
	OK(unlink(path));
	poolfix_check(fx, &full);
	assert_int_equal(poolfix_count(fx, "label of snapshot"), 1);
	/* The next change makes it right. */
	tag = "y";
	OK(akin_snapshot_tag(fx->p, n, &ch, NULL));
	OK(poolfix_check(fx, &full));
	name[strlen(name) - strlen(".label")] = 0;
	poolfix_path(fx, name, path);
	snprintf(gone, sizeof(gone), "%.240s.gone", path);
	OK(rename(path, gone));
	poolfix_check(fx, &full);
	assert_int_equal(poolfix_count(fx, "record of snapshot"), 1);
	assert_int_equal(fx->result.findings, 1);
	OK(rename(gone, path));
	OK(poolfix_check(fx, &full));
}

/* What may be taken from the parent. */
static void test_soundness(void **state)
{
	struct poolfix *fx = *state;
	struct store_soundness *sound;
	struct snapshot s = { 0 };
	char name[128], path[256];
	struct hint hint[2];
	struct node n[2];
	int i;

	fill(fx);
	OK(catalog_snapshot(fx->p->catalog, poolfix_backup(fx, false), &s,
			    NULL));
	for (i = 0; i < 2; i++) {
		path_of(fx, i ? "d/c" : "a", path);
		OK(store_lookup(fx->p, &s, path, &n[i], &hint[i], NULL));
	}
	OK(store_soundness_new(fx->p, &fx->p->dec, &sound, NULL));
	assert_false(depot_damage_any(&fx->p->depot.damage));
	for (i = 0; i < 2; i++)
		assert_true(store_content_is_sound(sound, &n[i].content,
						   &hint[i]));
	store_soundness_free(sound);

	poolfix_container_name(poolfix_container(fx, CONTAINER_DATA, 0).number,
			       name);
	poolfix_path(fx, name, path);
	OK(unlink(path));
	OK(store_soundness_new(fx->p, &fx->p->dec, &sound, NULL));
	assert_int_equal(fx->p->depot.damage.nr, 1);
	/* Although the directory of what is gone is still in memory. */
	assert_false(store_content_is_sound(sound, &n[0].content, &hint[0]));
	assert_true(store_content_is_sound(sound, &n[1].content, &hint[1]));
	store_soundness_free(sound);
	for (i = 0; i < 2; i++) {
		node_release(&n[i]);
		mem_free(hint[i].containers);
	}
	snapshot_release(&s);
}

/* An unchanged file whose data is known to be damaged, or is missing, is read
 * again without being told to. */
static void test_unchanged_is_read_again(void **state)
{
	struct poolfix *fx = *state;
	struct catalog_container row;
	char name[128], path[256];
	u64 old;

	fill(fx);
	old = poolfix_backup(fx, false);
	row = poolfix_container(fx, CONTAINER_DATA, 0);
	poolfix_container_name(row.number, name);
	poolfix_flip(fx, name, CONTAINER_HEADER_BYTES + 5000);
	poolfix_reopen(fx, false);
	poolfix_check(fx, &full);
	assert_int_equal(fx->result.files_damaged, 1);
	poolfix_reopen(fx, false);
	poolfix_backup(fx, false);
	OK(poolfix_read(fx, old, "a", 1, BIG));

	poolfix_path(fx, name, path);
	OK(unlink(path));
	poolfix_reopen(fx, false);
	assert_int_equal(poolfix_read(fx, old, "a", 1, BIG),
			 -AKIN_E_fp_unknown);
	poolfix_reopen(fx, false);
	poolfix_backup(fx, false);
	poolfix_reopen(fx, false);
	OK(poolfix_read(fx, old, "a", 1, BIG));
	OK(poolfix_read(fx, old, "b", 2, BIG));
}

static void test_damage_set(void **state)
{
	struct depot_damage d = { 0 };
	struct rng r = { 7 };
	struct place at, kept;
	u32 i;

	assert_false(depot_damage_has(&d, 1, 0));
	for (i = 0; i < 5000; i++) {
		at = (struct place){ 1 + i / 10, i % 10 * 7 };
		OK(depot_damage_add(&d, &at, &kept));
		OK(depot_damage_add(&d, &at, NULL));
		assert_int_equal(kept.entry, at.entry);
	}
	assert_int_equal(d.nr, 5000);
	/* Drop every third; the rest stays reachable. */
	for (i = 0; i < 5000; i += 3) {
		at = (struct place){ 1 + i / 10, i % 10 * 7 };
		depot_damage_drop(&d, &at);
		depot_damage_drop(&d, &at);
	}
	for (i = 0; i < 5000; i++)
		assert_int_equal(depot_damage_has(&d, 1 + i / 10, i % 10 * 7),
				 i % 3 != 0);
	assert_false(depot_damage_has(&d, 1, 1));
	/* A whole container covers its entries, and is one key. */
	at = (struct place){ 77, DAMAGE_WHOLE };
	OK(depot_damage_add(&d, &at, NULL));
	assert_true(depot_damage_has(&d, 77, 3));
	depot_damage_drop(&d, &at);
	assert_false(depot_damage_has(&d, 77, 3));
	/* Beyond the limit, by container. */
	while (d.nr_chunks < DAMAGE_CHUNKS_MAX) {
		at = (struct place){ 1000 + rng_below(&r, 100000),
				     (u32)rng_below(&r, 16384) };
		OK(depot_damage_add(&d, &at, NULL));
	}
	at = (struct place){ 999999, 5 };
	OK(depot_damage_add(&d, &at, &kept));
	assert_int_equal(kept.entry, DAMAGE_WHOLE);
	assert_true(depot_damage_has(&d, 999999, 6));
	depot_damage_release(&d);
}

static void test_seen(void **state)
{
	struct verify_seen *s = verify_seen_new(5 * 2100);
	u32 i;

	for (i = 1; i <= 4; i++)
		verify_seen_add(s, i, i * 100);
	for (i = 1; i <= 4; i++) {
		assert_true(verify_seen_has(s, i, i * 100));
		assert_false(verify_seen_has(s, i, i * 100 + 1));
	}
	/* Hostile numbers are ignored; the oldest goes first. */
	verify_seen_add(s, 4, UINT32_MAX);
	assert_false(verify_seen_has(s, 4, UINT32_MAX));
	for (i = 5; i <= 6; i++)
		verify_seen_add(s, i + 4096, 0);
	assert_false(verify_seen_has(s, 1, 100));
	assert_true(verify_seen_has(s, 3, 300));
	assert_true(verify_seen_has(s, 6 + 4096, 0));
	verify_seen_free(s);
	verify_seen_free(NULL);
}

static void test_stopped(void **state)
{
	struct poolfix *fx = *state;

	fill(fx);
	poolfix_backup(fx, false);
	akin_pool_stop(fx->p);
	assert_int_equal(poolfix_check(fx, &full), -AKIN_E_interrupted);
}

/* Each allocation fails once: no memory is no damage. */
static void test_no_memory(void **state)
{
	struct poolfix *fx = *state;
	u64 n;
	int err;

	fill(fx);
	poolfix_backup(fx, false);
	for (n = 1;; n += 1 + n / 16) {
		poolfix_reopen(fx, false);
		mem_fail_after(n);
		err = poolfix_check(fx, &full);
		mem_fail_after(0);
		if (!err)
			break;
		assert_int_equal(err, -AKIN_E_nomem);
		assert_int_equal(fx->result.findings, 0);
	}
	assert_true(n > 50);
	assert_clean(fx, &full);
}

#define T(fn) \
	cmocka_unit_test_setup_teardown(fn, poolfix_setup, poolfix_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage_set),
		cmocka_unit_test(test_seen),
		T(test_clean),
		T(test_one_byte_of_data),
		T(test_damage_in_two_snapshots),
		T(test_sample),
		T(test_directory_footer_header),
		T(test_truncated_container),
		T(test_metadata_container),
		T(test_records_runs_superblocks),
		T(test_catalog),
		T(test_orphans),
		T(test_lost_container_heals),
		T(test_damaged_group_heals),
		T(test_unchanged_is_read_again),
		T(test_labels_and_tombstones),
		T(test_soundness),
		T(test_stopped),
		T(test_no_memory),
	};

	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
