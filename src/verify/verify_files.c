/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superblocks, snapshot records, and the files that nobody names.
 *
 * A file that nobody names is no damage: it is space that a dead session left
 * behind, or the work of one that lives.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "catalog/catalog_retention.h"
#include "record/record.h"
#include "verify/verify_internal.h"

/* Superblocks ---------------------------------------------------------------*/

/* *ok_ret: there is at least one sound copy. */
static int check_super(struct verify *v, struct disk *d, struct super *out,
		       bool *ok_ret, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	size_t len;
	int sound = 0, err;
	u8 *data;

	*ok_ret = false;
	err = disk_read_file(d, FILE_SUPERBLOCK, SUPER_FILE_BYTES, &data, &len,
			     &why);
	if (!err) {
		err = super_decode(data, len, out, &sound, &why);
		mem_free(data);
	}
	*ok_ret = !err;
	if (!err && sound == 2)
		return 0;
	if (!err)
		verify_found(v, VERIFY_POOL, -AKIN_E_bad_checksum, NULL,
			     "%s pool: superblock: only one of its two copies "
			     "is sound", d->label);
	return verify_settle(v, VERIFY_POOL, err, &why, diag,
			     "%s pool: superblock: ", d->label);
}

/* Everything but the role is the same on both disks. */
static bool same_super(const struct super *a, const struct super *b)
{
	struct super x = *a, y = *b;
	u8 p[SUPER_FILE_BYTES], q[SUPER_FILE_BYTES];

	x.role = y.role = SUPER_DATA;
	x.sequence = y.sequence = 1;
	/* A setting, written to one after the other. */
	x.parity = y.parity = 0;
	return !super_encode(&x, p) && !super_encode(&y, q) &&
	       memcmp(p, q, sizeof(p)) == 0;
}

int verify_superblocks(struct verify *v, struct akin_diag *diag)
{
	struct super meta, data;
	bool meta_ok, data_ok;
	int err;

	err = check_super(v, v->depot->meta, &meta, &meta_ok, diag);
	if (!err)
		err = check_super(v, v->depot->data, &data, &data_ok, diag);
	if (!err && meta_ok && data_ok && !same_super(&meta, &data))
		verify_found(v, VERIFY_POOL, -AKIN_E_pool_mismatch, NULL,
			     "the superblocks of the metadata pool and the "
			     "data pool disagree");
	return err;
}

/* Records -------------------------------------------------------------------*/

/* Both in the same canonical form: bytes are equal if and only if they are. But
 * for where the root's children live, which the catalog may know better. */
static int compare_record(const u8 *data, size_t len,
			  const struct snapshot *named)
{
	struct buf ours = { 0 }, theirs = { 0 };
	struct snapshot s = { 0 };
	struct hint own;
	int err;

	err = snapshot_decode(data, len, &s);
	own = s.root_hint;
	s.root_hint = named->root_hint;
	if (!err)
		err = snapshot_encode(&s, &theirs);
	s.root_hint = own;
	if (!err)
		err = snapshot_encode(named, &ours);
	if (!err && (ours.len != theirs.len ||
		     memcmp(ours.data, theirs.data, ours.len)))
		err = -AKIN_E_bad_identity;
	snapshot_release(&s);
	buf_release(&ours);
	buf_release(&theirs);
	return err;
}

struct record_pass {
	struct verify *v;
	struct akin_diag *diag;
};

/* Forgotten since it was listed: then its record has another name. */
static bool still_listed(struct verify *v, u64 number)
{
	enum catalog_which which;

	return catalog_standing(v->catalog, number, &which, NULL) ||
	       which == CATALOG_LISTED;
}

static int check_record(struct record_pass *p, const struct snapshot *s,
			struct akin_diag *why)
{
	char name[FORMAT_NAME_MAX];
	size_t len;
	u8 *data;
	int err;

	format_snapshot_name(s->number, name);
	err = disk_read_file(p->v->depot->data, name, SNAPSHOT_RECORD_MAX,
			     &data, &len, why);
	if (!err) {
		err = compare_record(data, len, s);
		mem_free(data);
	}
	return err;
}

/* It may have been replaced since, and is written before the catalog: what it
 * must not be is older. */
static int check_label(struct record_pass *p, const struct label *named,
		       struct akin_diag *why)
{
	char name[FORMAT_NAME_MAX];
	struct label l;
	size_t len;
	u8 *data;
	int err;

	format_label_name(named->number, name);
	err = disk_read_file(p->v->depot->data, name, SNAPSHOT_RECORD_MAX,
			     &data, &len, why);
	if (err)
		return err;
	err = label_decode(data, len, &l);
	mem_free(data);
	if (err)
		return err;
	if (l.number != named->number || l.txn < named->txn ||
	    memcmp(l.pool.b, named->pool.b, sizeof(l.pool.b)) ||
	    memcmp(l.id, named->id, sizeof(l.id)))
		err = -AKIN_E_bad_identity;
	label_release(&l);
	return err;
}

static int one_record(void *ctx, const struct snapshot *s,
		      const struct catalog_status *st)
{
	struct record_pass *p = ctx;
	struct akin_diag why = { 0 };
	const char *what = "record";
	int err;

	err = verify_tick(p->v, p->diag);
	if (err)
		return err;
	err = check_record(p, s, &why);
	if (!err && st->label) {
		what = "label";
		err = check_label(p, st->label, &why);
	}
	if (err && !still_listed(p->v, s->number))
		return 0;
	return verify_settle(p->v, VERIFY_RECORD, err, &why, p->diag,
			     "%s of snapshot %llu (the catalog has it too; "
			     "only a catalog made anew would miss it): ", what,
			     (unsigned long long)s->number);
}

int verify_records(struct verify *v, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct record_pass p = { v, &why };
	int err;

	v->progress.current = "snapshot records";
	err = catalog_each_status(v->catalog, CATALOG_LISTED, one_record, &p,
				  &why);
	return verify_settle(v, VERIFY_POOL, err, &why, diag, "%s", "");
}

/* Files that nobody names ---------------------------------------------------*/

struct orphan_pass {
	struct verify *v;
	struct akin_diag *diag;
	const char *dir;
	u64 *runs;		/* the manifest */
	u32 nr_runs;
};

/* A name of 16 hex digits, then @tail. */
static bool parse_number(const char *name, u64 *out, const char **tail_ret)
{
	if (strspn(name, "0123456789abcdef") != 16)
		return false;
	*out = strtoull(name, NULL, 16);
	*tail_ret = name + 16;
	return true;
}

/* A session that is not done yet may own anything that has no name. */
static int count_orphan(struct orphan_pass *p)
{
	bool living;
	int err;

	err = verify_any_living(p->v, &living, p->diag);
	if (!err && !living)
		p->v->result->orphan_files++;
	return err;
}

/* The session that wrote a container says so in its header. */
static int judge_container(struct orphan_pass *p, const char *name)
{
	const struct verify_options *opt = p->v->opt;
	u8 bytes[CONTAINER_HEADER_BYTES];
	struct container_header h;
	char path[FORMAT_NAME_MAX];
	struct file *f;
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", p->dir, name) >=
	    (int)sizeof(path))
		return count_orphan(p);
	err = disk_open(p->v->depot->data, path, 0, &f, NULL);
	if (err == -AKIN_E_absent)
		return 0;	/* gone since it was listed */
	if (err)
		return count_orphan(p);
	err = file_pread(f, bytes, sizeof(bytes), 0, NULL);
	ignore_result(file_close(f, NULL));	/* was only read */
	if (err || container_header_decode(bytes, &h))
		return count_orphan(p);
	if (!opt->session_ended ||
	    opt->session_ended(opt->session_ctx, h.session) > 0)
		p->v->result->orphan_files++;
	return 0;
}

static int one_container_file(void *ctx, const char *name, bool is_dir)
{
	struct orphan_pass *p = ctx;
	struct akin_diag why = { 0 };
	bool named, tmp;
	const char *tail;
	char *end;
	u32 generation;
	u64 number, gen;
	int err;

	err = verify_tick(p->v, p->diag);
	if (err || is_dir)
		return err;
	/* Counted with their containers. */
	if (format_parse_parity(name, &number, &generation, &tmp) && !tmp)
		return 0;
	if (!parse_number(name, &number, &tail) || *tail != '.')
		return count_orphan(p);
	gen = strtoull(tail + 1, &end, 16);
	if (*end || end == tail + 1)
		return count_orphan(p);
	if (gen > UINT32_MAX)
		return count_orphan(p);
	err = catalog_names_file(p->v->catalog, number, (u32)gen, &named,
				 &why);
	if (err)
		return diag_pass(p->diag, err, &why);
	return named ? 0 : judge_container(p, name);
}

static int one_run_file(void *ctx, const char *name, bool is_dir)
{
	struct orphan_pass *p = ctx;
	const char *tail;
	u64 number;
	u32 i;

	if (!is_dir && parse_number(name, &number, &tail) && !*tail) {
		for (i = 0; i < p->nr_runs; i++) {
			if (p->runs[i] == number)
				return 0;
		}
	}
	return is_dir ? 0 : count_orphan(p);
}

/* A record that is buried while its snapshot is listed is missing, and said so
 * where records are read. */
static int one_record_file(void *ctx, const char *name, bool is_dir)
{
	struct orphan_pass *p = ctx;
	struct akin_diag why = { 0 };
	enum catalog_which which;
	u64 number;
	int err;

	if (is_dir)
		return 0;
	if (record_parse_name(name, &number) == RECORD_OTHER)
		return count_orphan(p);
	err = catalog_standing(p->v->catalog, number, &which, &why);
	if (err)
		return diag_pass(p->diag, err, &why);
	return which == CATALOG_UNKNOWN ? count_orphan(p) : 0;
}

static int collect_run(void *ctx, const struct catalog_run *run)
{
	struct orphan_pass *p = ctx;
	u64 *runs;

	runs = mem_realloc(p->runs, (p->nr_runs + 1) * sizeof(*runs));
	if (!runs)
		return -AKIN_E_nomem;
	p->runs = runs;
	p->runs[p->nr_runs++] = run->number;
	return 0;
}

static int list_containers(struct orphan_pass *p, struct akin_diag *why)
{
	char dir[FORMAT_NAME_MAX];
	u32 i;
	int err = 0;

	for (i = 0; !err && i < 256; i++) {
		snprintf(dir, sizeof(dir), DIR_CONTAINERS "/%02x", i);
		p->dir = dir;
		err = disk_list(p->v->depot->data, dir, one_container_file, p,
				why);
	}
	return err;
}

int verify_orphans(struct verify *v, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct orphan_pass p = { .v = v, .diag = &why };
	int err;

	v->progress.current = "files";
	err = catalog_each_run(v->catalog, collect_run, &p, &why);
	if (!err)
		err = disk_list(v->depot->meta, DIR_RUNS, one_run_file, &p,
				&why);
	if (!err)
		err = disk_list(v->depot->data, DIR_SNAPSHOTS, one_record_file,
				&p, &why);
	if (!err)
		err = list_containers(&p, &why);
	mem_free(p.runs);
	return verify_settle(v, VERIFY_POOL, err, &why, diag,
			     "listing files: ");
}
