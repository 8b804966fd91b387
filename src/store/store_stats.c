/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures. Bytes are what files and directories occupy on their disks, so that
 * they add up to what du says of both directories: each part is the sum over
 * the files that the catalog names, "other" is what is left.
 */
#include <stdio.h>

#include "base/mem.h"
#include "catalog/catalog_scrub.h"
#include "store/store.h"

/* Levels below a pool directory: containers/2a/file. */
#define MAX_DEPTH 3

struct sum {
	struct akin_pool *p;
	struct disk *disk;
	struct akin_stats *out;
	struct akin_diag *diag;
	const char *dir;
	u32 depth;
	u64 bytes;
};

/* Files come and go while others work: what is gone occupies nothing. */
static int add_size(struct sum *s, const char *name, u64 *to)
{
	struct akin_diag why = { 0 };
	struct disk_stat st;
	int err;

	err = disk_stat(s->disk, name, &st, &why);
	if (err == -AKIN_E_absent)
		return 0;
	if (err)
		return diag_pass(s->diag, err, &why);
	*to += st.alloc_bytes;
	return 0;
}

static int sum_dir(struct sum *s, const char *dir);

static int sum_one(void *ctx, const char *name, bool is_dir)
{
	struct sum *s = ctx;
	char path[512];
	int err;

	err = store_check_stop(s->p, s->diag);
	if (err)
		return err;
	if (snprintf(path, sizeof(path), "%s%s%s", s->depth > 1 ? s->dir : "",
		     s->depth > 1 ? "/" : "", name) >= (int)sizeof(path))
		return 0;
	err = add_size(s, path, &s->bytes);
	if (!err && strncmp(path, FILE_CATALOG, strlen(FILE_CATALOG)) == 0)
		err = add_size(s, path, &s->out->bytes_catalog);
	else if (!err && strcmp(path, FILE_SUPERBLOCK) == 0)
		err = add_size(s, path, &s->out->bytes_records);
	else if (!err && strcmp(path, FILE_SIMILAR) == 0)
		err = add_size(s, path, &s->out->bytes_index);
	if (!err && is_dir && s->depth < MAX_DEPTH)
		err = sum_dir(s, path);
	return err;
}

static int sum_dir(struct sum *s, const char *dir)
{
	struct akin_diag why = { 0 };
	const char *up = s->dir;
	int err;

	s->dir = dir;
	s->depth++;
	err = disk_list(s->disk, dir, sum_one, s, &why);
	s->depth--;
	s->dir = up;
	/* A directory may go while we look. */
	if (!err || (err == -AKIN_E_absent && s->depth > 0))
		return 0;
	return diag_pass(s->diag, err, &why);
}

static int sum_disk(struct sum *s, struct disk *disk)
{
	int err;

	s->disk = disk;
	s->dir = "";
	err = add_size(s, ".", &s->bytes);
	return err ? err : sum_dir(s, ".");
}

static int add_container(void *ctx, const struct catalog_container *row)
{
	struct sum *s = ctx;
	char name[FORMAT_NAME_MAX];

	u64 before = s->out->bytes_parity;
	int err;

	format_parity_name(row->number, row->generation, name);
	err = add_size(s, name, &s->out->bytes_parity);
	if (err)
		return err;
	s->out->parity_containers += s->out->bytes_parity > before;
	format_container_name(row->number, row->generation, name);
	return add_size(s, name, row->kind == CONTAINER_DATA ?
			&s->out->bytes_data : &s->out->bytes_meta_containers);
}

static int add_run(void *ctx, const struct catalog_run *run)
{
	struct sum *s = ctx;
	char name[FORMAT_NAME_MAX];

	format_run_name(run->number, name);
	return add_size(s, name, &s->out->bytes_index);
}

static int add_record(void *ctx, const struct snapshot *snap,
		      const struct catalog_status *st)
{
	struct sum *s = ctx;
	char name[FORMAT_NAME_MAX];
	int err;

	if (st->forgotten_txn) {
		format_buried_name(snap->number, name);
		err = add_size(s, name, &s->out->bytes_records);
	} else {
		s->out->bytes_logical += snap->counts.bytes;
		err = 0;
	}
	format_snapshot_name(snap->number, name);
	if (!err)
		err = add_size(s, name, &s->out->bytes_records);
	format_label_name(snap->number, name);
	if (!err && st->label)
		err = add_size(s, name, &s->out->bytes_records);
	return err;
}

static int add_named(struct sum *s)
{
	int err;

	s->disk = s->p->data;
	err = catalog_each_container(s->p->catalog, add_container, s, s->diag);
	if (!err)
		err = catalog_each_status(s->p->catalog, CATALOG_LISTED,
					  add_record, s, s->diag);
	if (!err)
		err = catalog_each_status(s->p->catalog, CATALOG_FORGOTTEN,
					  add_record, s, s->diag);
	s->disk = s->p->meta;
	if (!err)
		err = catalog_each_run(s->p->catalog, add_run, s, s->diag);
	return err;
}

/* So much is left of a small disk, and of a large one, when it is time to act;
 * a pool that is small beside what is left has time. */
#define LOW_SHARE 20
#define LOW_BYTES (64 * GiB)

static bool is_low(const struct disk_space *s, u64 pool_bytes)
{
	return !s->read_only && s->free_bytes < pool_bytes &&
	       s->free_bytes < min_u64(s->total_bytes / LOW_SHARE, LOW_BYTES);
}

static int add_space(struct akin_pool *p, struct akin_stats *out,
		     struct akin_diag *diag)
{
	struct disk_space meta = { 0 }, data = { 0 };
	int err;

	err = disk_space(p->meta, &meta, diag);
	if (!err)
		err = disk_space(p->data, &data, diag);
	if (err)
		return err;
	out->meta_free = meta.free_bytes;
	out->meta_total = meta.total_bytes;
	out->data_free = data.free_bytes;
	out->data_total = data.total_bytes;
	out->meta_nearly_full = is_low(&meta, out->bytes_total);
	out->data_nearly_full = is_low(&data, out->bytes_total);
	return 0;
}

int akin_stats(struct akin_pool *p, struct akin_stats *out,
	       struct akin_diag *diag)
{
	struct sum s = { .p = p, .out = out, .diag = diag };
	struct catalog_scrub_totals scrub;
	struct catalog_totals t;
	u64 named;
	int err;

	memset(out, 0, sizeof(*out));
	err = catalog_totals(p->catalog, &t, diag);
	if (!err)
		err = catalog_scrub_totals(p->catalog, &scrub, diag);
	if (!err)
		err = add_named(&s);
	if (!err)
		err = sum_disk(&s, p->meta);
	if (!err)
		err = sum_disk(&s, p->data);
	out->bytes_total = s.bytes;
	if (!err)
		err = add_space(p, out, diag);
	if (err)
		return err;
	out->snapshots = t.nr_snapshots;
	out->bytes_unique = t.raw_data_bytes;
	out->chunks = t.nr_chunks;
	out->data_containers = t.nr_data_containers;
	out->meta_containers = t.nr_meta_containers;
	out->runs = t.nr_runs;
	out->damaged = t.nr_damaged;
	out->never_read = scrub.nr_never;
	out->bytes_never_read = scrub.bytes_never;
	out->read_badly = scrub.nr_bad;
	out->oldest_read_sec = scrub.oldest_sec;
	named = out->bytes_data + out->bytes_meta_containers +
		out->bytes_parity +
		out->bytes_index + out->bytes_catalog + out->bytes_records;
	/* What was removed in between was counted in one of the two only. */
	out->bytes_total = max_u64(s.bytes, named);
	out->bytes_other = out->bytes_total - named;
	return 0;
}
