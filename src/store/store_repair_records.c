/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records, labels and the policy in the data pool against the catalog's, which
 * are the truth while there is a catalog. What is missing or damaged is written anew
 * from there, so that a catalog made anew would find it.
 */
#include <stdio.h>

#include "base/mem.h"
#include "catalog/catalog_retention.h"
#include "record/record.h"
#include "repair/repair_quarantine.h"
#include "store/store_repair.h"
#include "verify/verify_content.h"

struct pass {
	struct store_repair *r;
	struct akin_diag *diag;
	bool apply;
	u64 nr;
};

static int read_file(struct pass *p, const char *name, u8 **data, size_t *len)
{
	struct akin_diag why = { 0 };
	int err;

	err = disk_read_file(p->r->p->data, name, SNAPSHOT_RECORD_MAX, data,
			     len, &why);
	if (err && !verify_is_damage(err))
		ignore_result(diag_pass(p->diag, err, &why));
	return err;
}

/* 1: sound and of this snapshot, 0: not, or an error. */
static int record_is_right(struct pass *p, const char *name,
			   const struct snapshot *want)
{
	struct snapshot s = { 0 };
	size_t len;
	u8 *data;
	int err;

	err = read_file(p, name, &data, &len);
	if (err)
		return verify_is_damage(err) ? 0 : err;
	err = snapshot_decode(data, len, &s);
	mem_free(data);
	if (!err && (s.number != want->number ||
		     memcmp(s.id, want->id, sizeof(s.id)) ||
		     memcmp(s.pool.b, want->pool.b, POOL_ID_BYTES)))
		err = -AKIN_E_bad_identity;
	snapshot_release(&s);
	if (err == -AKIN_E_nomem)
		return diag_set(p->diag, err, "records");
	return !err;
}

static int label_is_right(struct pass *p, const char *name,
			  const struct label *want)
{
	struct label l = { 0 };
	size_t len;
	u8 *data;
	int err;

	err = read_file(p, name, &data, &len);
	if (err)
		return verify_is_damage(err) ? 0 : err;
	err = label_decode(data, len, &l);
	mem_free(data);
	/* It is written before the catalog's, and may be younger. */
	if (!err && (l.number != want->number || l.txn < want->txn ||
		     memcmp(l.id, want->id, sizeof(l.id)) ||
		     memcmp(l.pool.b, want->pool.b, POOL_ID_BYTES)))
		err = -AKIN_E_bad_identity;
	label_release(&l);
	if (err == -AKIN_E_nomem)
		return diag_set(p->diag, err, "labels");
	return !err;
}

static int write_anew(struct pass *p, const char *name, const struct buf *bytes)
{
	struct disk *data = p->r->p->data;
	bool moved;
	int err;

	err = repair_quarantine(data, name, &moved, p->diag);
	p->r->out->quarantined += !err && moved;
	if (!err)
		err = disk_write_file(data, name, bytes->data, bytes->len,
				      p->diag);
	p->r->out->files_written += !err;
	return err;
}

static int fix_record(struct pass *p, const struct snapshot *s, bool forgotten)
{
	char name[FORMAT_NAME_MAX];
	struct buf bytes = { 0 };
	struct disk_stat st;
	int err;

	format_buried_name(s->number, name);
	/* Listed and buried: the tombstone is void. */
	if (!forgotten && !disk_stat(p->r->p->data, name, &st, NULL)) {
		p->nr++;
		err = p->apply ? record_revive(p->r->p->data, s->number,
					       p->diag) : 0;
		if (err || !p->apply)
			return err;
	}
	if (!forgotten)
		format_snapshot_name(s->number, name);
	err = record_is_right(p, name, s);
	if (err)
		return err < 0 ? err : 0;
	p->nr++;
	if (!p->apply)
		return 0;
	err = snapshot_encode(s, &bytes);
	if (err)
		err = diag_set(p->diag, err, "record of snapshot %llu",
			       (unsigned long long)s->number);
	else
		err = write_anew(p, name, &bytes);
	buf_release(&bytes);
	return err;
}

static int fix_label(struct pass *p, const struct label *l)
{
	char name[FORMAT_NAME_MAX];
	struct buf bytes = { 0 };
	int err;

	format_label_name(l->number, name);
	err = label_is_right(p, name, l);
	if (err)
		return err < 0 ? err : 0;
	p->nr++;
	if (!p->apply)
		return 0;
	err = label_encode(l, &bytes);
	if (err)
		err = diag_set(p->diag, err, "label of snapshot %llu",
			       (unsigned long long)l->number);
	else
		err = write_anew(p, name, &bytes);
	buf_release(&bytes);
	return err;
}

static int one(void *ctx, const struct snapshot *s,
	       const struct catalog_status *st)
{
	struct pass *p = ctx;
	int err;

	err = store_repair_tick(p->r, 0, 0, "records", p->diag);
	if (!err)
		err = fix_record(p, s, st->forgotten_txn != 0);
	return err || !st->label ? err : fix_label(p, st->label);
}

/* A forgotten one whose space is gone has nothing to be told. */
static int one_forgotten(void *ctx, const struct snapshot *s,
			 const struct catalog_status *st)
{
	return st->may_undelete ? one(ctx, s, st) : 0;
}

static bool same_strings(char *const *a, char *const *b, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (strcmp(a[i], b[i]))
			return false;
	return true;
}

/* Inside a transaction of the catalog: nobody changes the policy meanwhile. */
static int fix_policy(void *ctx, const struct rulebook *want,
		      struct akin_diag *diag)
{
	struct pass *p = ctx;
	struct rulebook have = { 0 };
	struct akin_diag why = { 0 };
	struct buf bytes = { 0 };
	bool right;
	int err;

	err = store_rulebook_read(p->r->p, &have, &why);
	right = !err && have.nr == want->nr &&
		same_strings(have.names, want->names, want->nr) &&
		same_strings(have.values, want->values, want->nr);
	rulebook_release(&have);
	if (err && !verify_is_damage(err))
		return diag_pass(diag, err, &why);
	if (right)
		return 0;
	p->nr++;
	if (!p->apply)
		return 0;
	err = rulebook_encode(want, &bytes);
	if (err)
		err = diag_set(diag, err, "policy");
	else
		err = write_anew(p, FILE_POLICY, &bytes);
	buf_release(&bytes);
	return err;
}

int store_repair_records(struct store_repair *r, bool apply, u64 *nr_ret,
			 struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct pass p = { .r = r, .diag = &why, .apply = apply };
	struct catalog *c = r->p->catalog;
	int err;

	err = catalog_each_status(c, CATALOG_LISTED, one, &p, &why);
	if (!err)
		err = catalog_each_status(c, CATALOG_FORGOTTEN, one_forgotten,
					  &p, &why);
	if (!err && r->super.feat_ro_compat & SUPER_FEAT_RO_POLICY)
		err = apply ? catalog_copy_policy(c, fix_policy, &p, &why) :
			      catalog_look_policy(c, fix_policy, &p, &why);
	*nr_ret = p.nr;
	return diag_pass(diag, err, &why);
}
