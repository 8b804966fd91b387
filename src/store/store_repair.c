/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public repair: in what state is the pool, and what follows.
 *
 *	one superblock left          --> write the other anew
 *	no catalog, or not readable  --> store_rescue(): all metadata anew
 *	then, or else                --> store_repair_pool(): what is in it
 *
 * Both parts plan, tell the plan, ask, and only then change anything.
 *
 * A superblock of the data disk is written anew only where containers of this
 * very pool lie: an empty directory is a disk that is not mounted.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "format/format_container.h"
#include "os/clock.h"
#include "store/store_repair.h"
#include "verify/verify_content.h"

#define REPORT_NS (200ull * 1000 * 1000)

/* Telling -------------------------------------------------------------------*/

void store_repair_plan(struct store_repair *r, const char *action,
		       const char *fmt, ...)
{
	char text[1400];
	va_list ap;

	r->nr_steps++;
	r->out->steps++;
	if (!r->opt->step)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->opt->step(r->opt->ctx, action, text);
}

void store_repair_found(struct store_repair *r, int code, const char *fmt, ...)
{
	char text[1400];
	va_list ap;

	if (!r->opt->finding)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->opt->finding(r->opt->ctx, code, text, "", "");
}

int store_repair_confirm(struct store_repair *r, struct akin_diag *diag)
{
	int err = 0;

	if (r->opt->confirm)
		err = r->opt->confirm(r->opt->ctx);
	return err ? diag_set(diag, err, "nothing was changed") : 0;
}

int store_repair_tick(struct store_repair *r, u64 containers, u64 snapshots,
		      const char *what, struct akin_diag *diag)
{
	struct akin_progress p = { 0 };
	u64 now;

	if (store_check_stop(r->p, NULL))
		return diag_set(diag, -AKIN_E_interrupted, "interrupted");
	now = clock_ns();
	if (!r->opt->progress || now - r->said_ns < REPORT_NS)
		return 0;
	r->said_ns = now;
	p.others = containers;
	p.dirs = snapshots;
	p.current = what;
	p.elapsed_ns = now - r->start_ns;
	r->opt->progress(r->opt->ctx, &p);
	return 0;
}

int store_repair_look_again(struct store_repair *r, struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	u32 i;

	for (i = 0; i < STORE_GONE; i++)
		atomic_store(&p->gone[i], 0);
	return store_lock_move(p, diag);
}

/* Superblocks ---------------------------------------------------------------*/

/* What a disk's superblock file has to say. */
struct seen_super {
	struct super super;
	int err;
	int sound;		/* of its two copies */
	struct akin_diag why;
};

static void look_at_super(struct disk *d, struct seen_super *out)
{
	size_t len;
	u8 *data;

	memset(out, 0, sizeof(*out));
	if (!d) {
		out->err = diag_set(&out->why, -AKIN_E_absent,
				    "there is no directory");
		return;
	}
	out->err = disk_read_file(d, FILE_SUPERBLOCK, SUPER_FILE_BYTES, &data,
				  &len, &out->why);
	if (out->err)
		return;
	out->err = super_decode(data, len, &out->super, &out->sound,
				&out->why);
	mem_free(data);
}

struct sample {
	struct disk *data;
	const struct pool_id *pool;
	const char *dir;
	int found;		/* 1: ours, -1: another pool's */
};

static int one_sample(void *ctx, const char *name, bool is_dir)
{
	char path[FORMAT_NAME_MAX];
	u8 bytes[CONTAINER_HEADER_BYTES];
	struct container_header h;
	struct sample *s = ctx;
	u32 generation;
	struct file *f;
	u64 number;
	int err;

	if (is_dir || !format_parse_container(name, &number, &generation))
		return 0;
	format_container_name(number, generation, path);
	if (disk_open(s->data, path, 0, &f, NULL))
		return 0;
	err = file_pread(f, bytes, sizeof(bytes), 0, NULL);
	ignore_result(file_close(f, NULL));	/* was only read */
	if (err || container_header_decode(bytes, &h))
		return 0;
	s->found = memcmp(&h.pool, s->pool, sizeof(h.pool)) ? -1 : 1;
	return 1;
}

/* Do containers of @pool lie there? */
static bool is_data_disk(struct disk *data, const struct pool_id *pool)
{
	struct sample s = { .data = data, .pool = pool };
	char dir[FORMAT_NAME_MAX];
	u32 i;

	for (i = 0; i < 256 && !s.found; i++) {
		snprintf(dir, sizeof(dir), DIR_CONTAINERS "/%02x", i);
		if (disk_list(data, dir, one_sample, &s, NULL) < 0)
			continue;
	}
	return s.found > 0;
}

static int refuse(const struct seen_super *s, const char *label,
		  struct akin_diag *diag)
{
	return diag_set(diag, s->err, "%s pool: superblock: %s", label,
			s->why.text);
}

/* Neither a newer version's nor for us to judge. */
static bool is_hopeless(const struct seen_super *s)
{
	return s->err && (akin_error_class(s->err) == AKIN_CLASS_UNSUPPORTED ||
			  !verify_is_damage(s->err));
}

static int compare_supers(const struct seen_super *meta,
			  const struct seen_super *data,
			  struct akin_diag *diag)
{
	if (!meta->err && !data->err &&
	    (memcmp(&meta->super.pool, &data->super.pool,
		    sizeof(data->super.pool)) ||
	     meta->super.role != SUPER_METADATA ||
	     data->super.role != SUPER_DATA))
		return diag_set(diag, -AKIN_E_pool_mismatch, "the metadata and "
				"the data directory belong to two different "
				"pools");
	if ((meta->super.feat_ro_compat | data->super.feat_ro_compat) &
	    ~SUPER_FEAT_RO_COMPAT_KNOWN)
		return diag_set(diag, -AKIN_E_feature, "this version can only "
				"read this pool");
	return 0;
}

static int no_data_super(struct store_repair *r, const struct seen_super *meta,
			 const struct seen_super *data, struct akin_diag *diag)
{
	if (meta->err) {
		diag_set(diag, data->err, "neither directory has a superblock "
			 "that can be read: %s", data->why.text);
		diag_hint(diag, "It holds the keys that name the data; without "
			  "it there is nothing to be done.");
		return data->err;
	}
	if (is_data_disk(r->p->data, &meta->super.pool))
		return 0;
	diag_set(diag, -AKIN_E_pool_missing, "no data pool there, and no "
		 "containers of it");
	diag_hint(diag, "Is it mounted?");
	return -AKIN_E_pool_missing;
}

static int look_at_supers(struct store_repair *r, struct akin_diag *diag)
{
	struct seen_super meta, data;
	int err;

	look_at_super(r->p->meta, &meta);
	look_at_super(r->p->data, &data);
	if (is_hopeless(&data))
		return refuse(&data, "data", diag);
	if (is_hopeless(&meta))
		return refuse(&meta, "metadata", diag);
	err = data.err ? no_data_super(r, &meta, &data, diag) : 0;
	if (!err)
		err = compare_supers(&meta, &data, diag);
	if (err)
		return err;
	r->super = data.err ? meta.super : data.super;
	r->super.feat_ro_compat |= meta.super.feat_ro_compat;
	r->write_data_super = data.err || data.sound < 2;
	r->write_meta_super = meta.err || meta.sound < 2;
	if (r->write_data_super)
		store_repair_found(r, data.err ? data.err :
				   -AKIN_E_bad_checksum, "data pool: "
				   "superblock: %s", data.err ? data.why.text :
				   "only one of its two copies is sound");
	if (r->write_meta_super)
		store_repair_found(r, meta.err ? meta.err :
				   -AKIN_E_bad_checksum, "metadata pool: "
				   "superblock: %s", meta.err ? meta.why.text :
				   "only one of its two copies is sound");
	r->p->super = r->super;
	r->p->super.role = SUPER_METADATA;
	return 0;
}

/* The catalog ---------------------------------------------------------------*/

/* 1: it must be made anew, @why says why; 0: it need not; or an error. */
static int look_at_catalog(struct store_repair *r, char *why, size_t size,
			   struct akin_diag *diag)
{
	struct catalog_options opt = { .read_only = true };
	struct akin_diag d = { 0 };
	struct disk_stat st;
	struct catalog *c;
	int err;

	snprintf(why, size, "there is no metadata directory");
	if (!r->p->meta)
		return 1;
	snprintf(why, size, "an earlier repair was interrupted");
	if (!disk_stat(r->p->meta, FILE_REBUILDING, &st, NULL))
		return 1;
	err = catalog_open(r->p->meta, &r->super.pool, &opt, &c, &d);
	if (!err) {
		err = catalog_check(c, &d);
		catalog_close(c);
	}
	if (!err)
		return 0;
	/* A disk that fails today may work tomorrow. */
	if (akin_error_class(err) != AKIN_CLASS_CORRUPT &&
	    err != -AKIN_E_absent) {
		diag_pass(diag, err, &d);
		if (akin_error_class(err) == AKIN_CLASS_IO)
			diag_hint(diag, "If the disk will never read it again, "
				  "move the file 'catalog' out of the metadata "
				  "directory: then it is made anew.");
		return err;
	}
	snprintf(why, size, "%s", err == -AKIN_E_absent ?
		 "the catalog is missing" : d.text);
	return 1;
}

/* The whole -----------------------------------------------------------------*/

/* The catalog is sound: what else keeps others from opening the pool? */
static int bring_up(struct store_repair *r, struct akin_diag *diag)
{
	struct akin_pool *p = r->p;
	int err;

	if (r->write_data_super)
		store_repair_plan(r, "superblock", "write the superblock of "
				  "the data pool anew");
	if (r->write_meta_super)
		store_repair_plan(r, "superblock", "write the superblock of "
				  "the metadata pool anew");
	if (r->opt->dry_run)
		return store_open_parts(p, diag);
	/* Without a lock file it could not even be opened. */
	err = store_make_meta(p->meta, diag);
	return err ? err : store_open_parts(p, diag);
}

static int run(struct store_repair *r, struct akin_diag *diag)
{
	char why[1200];
	int err, rescue;

	r->start_ns = clock_ns();
	if (r->opt->opened)
		r->opt->opened(r->opt->ctx, r->p);
	err = look_at_supers(r, diag);
	if (err)
		return err;
	if (r->p->meta)
		err = store_host_enter(r->p, diag);
	if (err)
		return err;
	rescue = look_at_catalog(r, why, sizeof(why), diag);
	if (rescue < 0)
		return rescue;
	err = rescue ? store_rescue(r, why, diag) : bring_up(r, diag);
	if (err || (rescue && r->opt->dry_run))
		return err;
	return store_repair_pool(r, diag);
}

static int run_and_close(struct store_repair *r, struct akin_diag *diag)
{
	int err = run(r, diag);

	if (err == -AKIN_E_no_locks)
		store_hint_locks(diag);
	if (r->opt->opened)
		r->opt->opened(r->opt->ctx, NULL);
	akin_pool_close(r->p);
	return diag_said(diag, err);
}

int store_repair_on(struct disk *meta, struct disk *data,
		    const struct akin_open_options *open,
		    const struct akin_repair_options *opt,
		    struct akin_repair_result *out, struct akin_diag *diag)
{
	struct akin_open_options own = *open;
	struct store_repair r = { .opt = opt, .out = out };
	int err;

	memset(out, 0, sizeof(*out));
	own.read_only = opt->dry_run;
	err = store_new(&own, &r.p, diag);
	if (!r.p) {
		disk_free(meta);
		disk_free(data);
		return diag_said(diag, err);
	}
	r.p->meta = meta;
	r.p->data = data;
	meta->lockless = open->single_writer;
	if (err) {
		akin_pool_close(r.p);
		return diag_said(diag, err);
	}
	meta->label = "metadata";
	data->label = "data";
	return run_and_close(&r, diag);
}

static int path_of(const struct akin_open_options *opt, const char *dir,
		   const char *name, char out[PATH_MAX],
		   struct akin_diag *diag)
{
	if (snprintf(out, PATH_MAX, "%s%s%s", dir ? dir : opt->path,
		     dir ? "" : "/", dir ? "" : name) >= PATH_MAX)
		return diag_set(diag, -AKIN_E_usage, "%s: path too long",
				opt->path);
	return 0;
}

static int open_disks(struct store_repair *r,
		      const struct akin_open_options *opt,
		      char meta_path[PATH_MAX], struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	bool writable = !r->opt->dry_run;
	char path[PATH_MAX];
	struct stat st;
	int err;

	err = path_of(opt, opt->data_dir, "data", path, diag);
	if (!err)
		err = path_of(opt, opt->meta_dir, "meta", meta_path, diag);
	if (err)
		return err;
	err = disk_files_new(path, writable, &r->p->data, &why);
	if (err == -AKIN_E_absent) {
		diag_set(diag, -AKIN_E_pool_missing, "%s: no data pool there",
			 path);
		diag_hint(diag, "Is it mounted? All that can be repaired is "
			  "repaired from it.");
		return -AKIN_E_pool_missing;
	}
	if (err)
		return diag_pass(diag, err, &why);
	r->p->data->label = "data";
	err = store_throttle(&opt->throttle_data, &r->p->data, diag);
	if (err)
		return err;
	memset(&why, 0, sizeof(why));
	err = disk_files_new(meta_path, writable, &r->p->meta, &why);
	/* A link that leads nowhere is a disk that is not mounted. */
	if (err == -AKIN_E_absent && lstat(meta_path, &st) && errno == ENOENT) {
		r->meta_path = meta_path;
		r->throttle_meta = opt->throttle_meta;
		return 0;
	}
	if (err)
		return diag_pass(diag, err, &why);
	r->p->meta->label = "metadata";
	r->p->meta->lockless = opt->single_writer;
	return store_throttle(&opt->throttle_meta, &r->p->meta, diag);
}

int akin_repair(const struct akin_open_options *open,
		const struct akin_repair_options *opt,
		struct akin_repair_result *out, struct akin_diag *diag)
{
	struct akin_open_options own = *open;
	struct store_repair r = { .opt = opt, .out = out };
	char meta_path[PATH_MAX];
	int err;

	memset(out, 0, sizeof(*out));
	if (!open->path || !*open->path)
		return diag_set(diag, -AKIN_E_usage, "no pool given");
	own.read_only = opt->dry_run;
	err = store_new(&own, &r.p, diag);
	if (!err)
		err = open_disks(&r, open, meta_path, diag);
	if (err) {
		akin_pool_close(r.p);
		return diag_said(diag, err);
	}
	return run_and_close(&r, diag);
}
