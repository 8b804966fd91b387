/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and closing a pool.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/disk_overlay.h"
#include "os/disk_throttle.h"
#include "store/store.h"
#include "store/store_sound.h"

int store_throttle(const struct akin_throttle *how, struct disk **d,
		   struct akin_diag *diag)
{
	struct throttle_limits limits = { how->ops_s, how->bytes_s };
	struct disk *below = *d;

	if (!how->ops_s && !how->bytes_s)
		return 0;
	*d = NULL;
	return disk_throttle_new(TAKE(below), &limits, NULL, d, diag);
}

static int open_disk(const struct akin_open_options *opt, const char *name,
		     const char *dir, const char *label,
		     const struct akin_throttle *throttle, struct disk **out,
		     struct super *super, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	char path[PATH_MAX];
	int err;

	if (snprintf(path, sizeof(path), "%s%s%s", dir ? dir : opt->path,
		     dir ? "" : "/", dir ? "" : name) >= (int)sizeof(path))
		return diag_set(diag, -AKIN_E_usage, "%s: path too long",
				opt->path);
	err = disk_files_new(path, !opt->read_only && !opt->rehearse, out,
			     &why);
	if (!err) {
		(*out)->label = label;
		(*out)->lockless = opt->single_writer;
		err = store_throttle(throttle, out, &why);
	}
	if (!err)
		err = store_super_read(*out, super, &why);
	if (!err)
		return 0;
	if (err != -AKIN_E_absent)
		return diag_pass(diag, err, &why);
	diag_set(diag, -AKIN_E_pool_missing,
		 "%s: no %s pool there", path, label);
	if (strcmp(label, "metadata") == 0)
		diag_hint(diag, "Is it mounted? If it is lost, 'akin repair' "
			  "makes it anew from the data. A new pool is made by "
			  "'akin init'.");
	else
		diag_hint(diag, "Is it mounted? A new pool is made by 'akin "
			  "init'.");
	return -AKIN_E_pool_missing;
}

int akin_pool_identify(const char *path, const char *meta_dir,
		       char id_ret[AKIN_POOL_ID], struct akin_diag *diag)
{
	struct akin_open_options opt = { .path = path, .meta_dir = meta_dir,
					 .read_only = true };
	struct disk *d = NULL;
	struct super super;
	int err;

	err = open_disk(&opt, "meta", meta_dir, "metadata", &opt.throttle_meta,
			&d, &super, diag);
	if (!err)
		store_hex(super.pool.b, sizeof(super.pool.b), id_ret);
	disk_free(d);
	return diag_said(diag, err);
}

static int open_disks(struct akin_pool *p, const struct akin_open_options *opt,
		      struct akin_diag *diag)
{
	struct super super;
	int err;

	err = open_disk(opt, "meta", opt->meta_dir, "metadata",
			&opt->throttle_meta, &p->meta, &super, diag);
	if (!err)
		err = open_disk(opt, "data", opt->data_dir, "data",
				&opt->throttle_data, &p->data, &super, diag);
	return err;
}

static int refuse_write(const struct akin_open_options *opt,
			struct akin_diag *diag)
{
	diag_set(diag, -AKIN_E_feature, "%s: a newer version switched on a "
		 "feature of this pool; this one can only read it", opt->path);
	diag_hint(diag, "'akin upgrade --dry-run' says which.");
	return -AKIN_E_feature;
}

static int match_disks(struct akin_pool *p, const struct akin_open_options *opt,
		       struct akin_diag *diag)
{
	struct super data;
	int err;

	err = store_super_read(p->meta, &p->super, diag);
	if (!err)
		err = store_super_read(p->data, &data, diag);
	if (err)
		return err;
	if (memcmp(&data.pool, &p->super.pool, sizeof(data.pool)) ||
	    p->super.role != SUPER_METADATA || data.role != SUPER_DATA)
		return diag_set(diag, -AKIN_E_pool_mismatch,
				"%s: the metadata and the data directory "
				"belong to two different pools", opt->path);
	/* Switched on in one so far: they stand for both. */
	p->super.feat_ro_compat |= data.feat_ro_compat;
	if (p->super.feat_ro_compat & ~SUPER_FEAT_RO_COMPAT_KNOWN &&
	    !opt->read_only)
		return refuse_write(opt, diag);
	return 0;
}

/* In memory, of each of the two disks, before the scratch file takes over. */
#define REHEARSAL_BYTES (16 * MiB)

static int cover(struct akin_pool *p, struct disk **d, struct akin_diag *diag)
{
	struct disk *below = *d;

	*d = NULL;
	return disk_overlay_new(TAKE(below), p->scratch, REHEARSAL_BYTES, d,
				diag);
}

/* From here on nothing reaches the pool's disks. */
static int cover_disks(struct akin_pool *p, struct akin_diag *diag)
{
	const char *tmp = getenv("TMPDIR");
	int err;

	/* Without it there is less room, and who needs more is told. */
	if (disk_files_new(tmp && *tmp ? tmp : "/var/tmp", true, &p->scratch,
			   NULL))
		p->scratch = NULL;
	err = cover(p, &p->meta, diag);
	return err ? err : cover(p, &p->data, diag);
}

struct run_list {
	struct index_run *runs;
	u32 nr, cap;
};

static int add_run(void *ctx, const struct catalog_run *run)
{
	struct run_list *l = ctx;
	struct index_run *p;

	if (l->nr == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 16;
		p = mem_realloc(l->runs, l->cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		l->runs = p;
	}
	l->runs[l->nr].number = run->number;
	l->runs[l->nr].tier = run->tier;
	l->runs[l->nr].nr_entries = run->nr_entries;
	l->runs[l->nr++].file_bytes = run->file_bytes;
	return 0;
}

static int reserve_runs(void *ctx, u32 count, u64 *first_ret,
			struct akin_diag *diag)
{
	struct akin_pool *p = ctx;

	return catalog_reserve(p->catalog, p->reserve_session, NUMBER_RUN,
			       count, first_ret, diag);
}

static int read_manifest(void *ctx, struct index_run **runs_ret, u32 *nr_ret,
			 struct akin_diag *diag)
{
	struct run_list list = { 0 };
	struct akin_pool *p = ctx;
	int err;

	err = catalog_each_run(p->catalog, add_run, &list, diag);
	if (err) {
		mem_free(list.runs);
		return err;
	}
	*runs_ret = list.runs;
	*nr_ret = list.nr;
	return 0;
}

int store_index_open(struct akin_pool *p, bool empty, struct index **out,
		     struct akin_diag *diag)
{
	struct index_options opt = { 0 };
	struct index_run *runs = NULL;
	u32 nr = 0;
	int err = 0;

	opt.pool = p->super.pool;
	opt.budget_bytes = p->budget.index;
	opt.reserve = reserve_runs;
	opt.reserve_ctx = p;
	opt.manifest = read_manifest;
	opt.manifest_ctx = p;
	opt.counters = p->counters;
	if (!empty)
		err = read_manifest(p, &runs, &nr, diag);
	if (!err)
		err = index_open(p->meta, &opt, runs, nr, out, diag);
	mem_free(runs);
	return err;
}

static int open_index(struct akin_pool *p, struct akin_diag *diag)
{
	u64 txn = 0;
	int err;

	err = catalog_txn(p->catalog, &txn, diag);
	atomic_store(&p->runs_txn, txn);
	if (!err)
		err = store_index_open(p, false, &p->index, diag);
	return err;
}

/* The number is read before the list: at worst the list is read again. */
int store_refresh_index(void *pool, struct akin_diag *diag)
{
	struct akin_pool *p = pool;
	u64 txn;
	int err;

	err = catalog_txn(p->catalog, &txn, diag);
	if (err || txn == atomic_load(&p->runs_txn))
		return err;
	err = index_reload(p->index, diag);
	if (err)
		return diag_said(diag, err);
	atomic_store(&p->runs_txn, txn);
	return 1;
}

static int open_depot(struct akin_pool *p, struct akin_diag *diag)
{
	struct depot_options opt = { 0 };
	struct codec_choice codec;
	int err;

	opt.dircache_bytes = p->budget.dirs;
	opt.groupcache_bytes = store_reading_memory(&p->budget);
	opt.nr_threads = p->nr_threads;
	opt.counters = p->counters;
	opt.streams = p->streams;
	opt.generation = store_generation;
	opt.generation_ctx = p;
	opt.data_hash = p->data_hash;
	err = depot_init(&p->depot, p->meta, p->data, &p->super, &opt, diag);
	if (err)
		return err;
	p->have_depot = true;
	p->depot.index = p->index;
	p->depot.refresh = store_refresh_index;
	p->depot.refresh_ctx = p;
	codec = depot_codec(&p->depot);
	return decoder_init(&p->dec, &codec, diag);
}

void store_hint_locks(struct akin_diag *diag)
{
	diag_hint(diag, "If nobody else uses the pool meanwhile, from this "
		  "machine or another, --single-writer does without.");
}

int store_open_parts(struct akin_pool *p, struct akin_diag *diag)
{
	struct catalog_options copt = { .read_only = p->read_only,
					.private_copy = p->rehearse };
	int err;

	err = store_counters_open(p, diag);
	if (!err)
		err = store_host_enter(p, diag);
	if (!err)
		err = catalog_open(p->meta, &p->super.pool, &copt,
				   &p->catalog, diag);
	if (err == -AKIN_E_catalog)
		diag_hint(diag, "'akin repair' makes it anew from the data.");
	if (!err)
		err = store_lock_open(p, diag);
	if (!err)
		err = open_index(p, diag);
	if (!err)
		err = open_depot(p, diag);
	if (!err)
		err = store_damage_load(p, diag);
	if (err == -AKIN_E_no_locks)
		store_hint_locks(diag);
	return err;
}

static int open_parts(struct akin_pool *p, const struct akin_open_options *opt,
		      struct akin_diag *diag)
{
	int err = match_disks(p, opt, diag);

	if (!err && p->rehearse)
		err = cover_disks(p, diag);
	return err ? err : store_open_parts(p, diag);
}

int store_new(const struct akin_open_options *opt, struct akin_pool **out,
	      struct akin_diag *diag)
{
	struct akin_pool *p;
	long nr;

	p = mem_zalloc(sizeof(*p));
	if (!p)
		return diag_set(diag, -AKIN_E_nomem, "pool");
	nr = sysconf(_SC_NPROCESSORS_ONLN);
	p->nr_threads = opt->nr_threads ? opt->nr_threads :
					  (unsigned)(nr > 0 ? nr : 1);
	p->read_only = opt->read_only;
	p->rehearse = opt->rehearse;
	p->single_writer = opt->single_writer;
	p->path = mem_strdup(opt->path ? opt->path : "");
	*out = p;
	if (!p->path)
		return diag_set(diag, -AKIN_E_nomem, "pool");
	return store_budget_split(opt->memory_bytes ? opt->memory_bytes :
				  AKIN_MEMORY_DEFAULT, p->nr_threads,
				  &p->budget, diag);
}

int store_open_hashed(struct disk *meta, struct disk *data,
		      const struct akin_open_options *opt,
		      const struct hash_ops *data_hash, struct akin_pool **out,
		      struct akin_diag *diag)
{
	struct akin_pool *p = NULL;
	int err;

	err = store_new(opt, &p, diag);
	if (p) {
		p->meta = meta;
		p->data = data;
		meta->lockless = opt->single_writer;
		p->data_hash = data_hash;
	} else {
		disk_free(meta);
		disk_free(data);
	}
	if (!err)
		err = open_parts(p, opt, diag);
	if (err) {
		akin_pool_close(p);
		return diag_said(diag, err);
	}
	*out = p;
	return 0;
}

int store_open_on(struct disk *meta, struct disk *data,
		  const struct akin_open_options *opt, struct akin_pool **out,
		  struct akin_diag *diag)
{
	return store_open_hashed(meta, data, opt, NULL, out, diag);
}

int akin_pool_open(const struct akin_open_options *opt,
		   struct akin_pool **out, struct akin_diag *diag)
{
	struct akin_pool *p = NULL;
	int err;

	if (!opt->path || !*opt->path)
		return diag_set(diag, -AKIN_E_usage, "no pool given");
	err = store_new(opt, &p, diag);
	if (!err)
		err = open_disks(p, opt, diag);
	if (!err)
		err = open_parts(p, opt, diag);
	if (err) {
		akin_pool_close(p);
		return diag_said(diag, err);
	}
	*out = p;
	return 0;
}

void akin_pool_close(struct akin_pool *p)
{
	if (!p)
		return;
	if (p->have_depot && !p->read_only)
		store_mark_found(p);
	numset_release(&p->parity_bad);
	decoder_release(&p->dec);
	if (p->have_depot)
		depot_release(&p->depot);
	index_close(p->index);
	catalog_close(p->catalog);
	store_host_leave(p);
	/* Only locks hang on it, and they go in any case. */
	ignore_result(file_close(p->locks, NULL));
	if (p->meta)
		disk_free(p->meta);
	if (p->data)
		disk_free(p->data);
	if (p->scratch)
		disk_free(p->scratch);
	counters_file_close(p->counters_file);
	mem_free(p->path);
	mem_free(p);
}

void akin_pool_stop(struct akin_pool *p)
{
	atomic_store(&p->stop, true);
}

int store_check_stop(struct akin_pool *p, struct akin_diag *diag)
{
	if (atomic_load_explicit(&p->stop, memory_order_relaxed))
		return diag_set(diag, -AKIN_E_interrupted, "interrupted");
	return 0;
}

u64 akin_pool_healed(struct akin_pool *p)
{
	return p->counters ? atomic_load(&p->counters->sectors_healed) : 0;
}

void akin_pool_get_info(struct akin_pool *p, struct akin_pool_info *out)
{
	struct codec_choice codec = depot_codec(&p->depot);

	memset(out, 0, sizeof(*out));
	store_hex(p->super.pool.b, sizeof(p->super.pool.b), out->id);
	out->chunk_min = p->super.chunk_min;
	out->chunk_avg = p->super.chunk_avg;
	out->chunk_max = p->super.chunk_max;
	codec_print(&codec, out->compression);
	out->delta_depth = p->super.delta_depth;
	snprintf(out->hash, sizeof(out->hash), "%s",
		 hasher_name(p->depot.data_hasher));
	snprintf(out->hash_kernel, sizeof(out->hash_kernel), "%s",
		 hasher_kernel(p->depot.data_hasher));
	snprintf(out->chunk_kernel, sizeof(out->chunk_kernel), "%s",
		 chunker_kernel(p->depot.chunker));
	out->container_bytes = p->super.container_bytes;
	out->group_bytes = p->super.group_bytes;
	out->verify = (enum akin_verify)(p->super.verify + 1);
	out->engine = (enum akin_engine)(p->super.engine + 1);
	out->parity = p->super.parity;
	out->memory_bytes = p->budget.total;
	out->memory_index = p->budget.index;
	out->memory_directories = p->budget.dirs;
	out->memory_groups = p->budget.groups;
	out->memory_streams = p->budget.streams;
	out->memory_fixed = p->budget.fixed + p->budget.threads;
	out->nr_threads = p->nr_threads;
}
