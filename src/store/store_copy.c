/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots into another pool, and snapshots without some of their paths; what
 * both have in common is store_transfer.h.
 */
#include "base/mem.h"
#include "store/store_transfer.h"

/* What the new snapshot's session is told. */
static void fill_options(const struct transfer *t,
			 struct akin_backup_options *opt)
{
	opt->host = t->snap.host;
	opt->command = "";
	opt->tags = (const char *const *)t->tags;
	opt->nr_tags = t->nr_tags;
}

static int run(struct transfer *t, struct akin_pool *to,
	       const struct akin_backup_options *opt, const u8 *id,
	       struct akin_backup_result *out, struct akin_diag *diag)
{
	struct backup b = { 0 };
	int err;

	t->b = &b;
	err = backup_begin(&b, to, opt, (const char *const *)t->snap.paths,
			   t->snap.nr_paths, diag);
	if (!err && id)
		memcpy(b.snap.id, id, sizeof(b.snap.id));
	if (!err)
		err = transfer_run(t, diag);
	/* What it has queued is about the stream that ends now. */
	fetcher_free(t->fetcher);
	t->fetcher = NULL;
	return backup_finish(&b, err, out, diag);
}

/* Copying -------------------------------------------------------------------*/

struct find {
	const u8 *id;
	u64 number;
};

static int find_one(void *ctx, const struct snapshot *s)
{
	struct find *f = ctx;

	if (!memcmp(s->id, f->id, sizeof(s->id)))
		f->number = s->number;
	return 0;
}

static bool same_keys(const struct super *a, const struct super *b)
{
	return a->hash_id == b->hash_id && a->chunk_method == b->chunk_method &&
	       a->chunk_min == b->chunk_min && a->chunk_avg == b->chunk_avg &&
	       a->chunk_max == b->chunk_max &&
	       !memcmp(a->share_seed, b->share_seed, sizeof(a->share_seed));
}

static int copy(struct transfer *t, struct akin_pool *to,
		const struct akin_copy_options *opt,
		struct akin_copy_result *out, struct akin_diag *diag)
{
	struct akin_backup_options bopt = {
		.compression = opt->compression,
		.limit_write = opt->limit_write,
		.progress = opt->progress,
		.waiting = opt->waiting,
		.notice = opt->waiting,
		.ctx = opt->ctx,
	};
	struct find f = { .id = t->snap.id };
	int err;

	fill_options(t, &bopt);
	store_id_export(t->snap.id, out->id);
	t->same_keys = same_keys(&t->from->super, &to->super);
	out->same_keys = t->same_keys;
	err = catalog_each_snapshot(to->catalog, find_one, &f, diag);
	out->number = f.number;
	out->there = f.number != 0;
	if (err || out->there)
		return err;
	err = run(t, to, &bopt, t->snap.id, &out->backup, diag);
	out->number = out->backup.number;
	return err;
}

int akin_copy(struct akin_pool *from, struct akin_pool *to,
	      const struct akin_copy_options *opt, struct akin_copy_result *out,
	      struct akin_diag *diag)
{
	struct transfer t = { .from = from };
	int err;

	memset(out, 0, sizeof(*out));
	if (!memcmp(&from->super.pool, &to->super.pool,
		    sizeof(to->super.pool)))
		return diag_set(diag, -AKIN_E_usage, "a pool is not copied to "
				"itself");
	err = transfer_load(&t, opt->snapshot, diag);
	if (!err)
		err = copy(&t, to, opt, out, diag);
	transfer_release(&t);
	return diag_said(diag, err);
}

/* Rewriting -----------------------------------------------------------------*/

/* "a/b/" becomes "/a/b"; owned. */
static char *plain_path(const char *path)
{
	size_t n;
	char *s;

	path += strspn(path, "/");
	for (n = strlen(path); n && path[n - 1] == '/'; n--)
		;
	s = mem_alloc(n + 2);
	if (!s)
		return NULL;
	s[0] = '/';
	memcpy(s + 1, path, n);
	s[n + 1] = 0;
	return s;
}

/* Is any of the paths in the snapshot? */
static int any_there(struct transfer *t, bool *out, struct akin_diag *diag)
{
	struct akin_diag why;
	struct hint hint;
	struct node n;
	u32 i;
	int err;

	*out = false;
	for (i = 0; !*out && i < t->nr_drop; i++) {
		memset(&why, 0, sizeof(why));
		err = store_lookup(t->from, &t->snap, t->drop[i], &n, &hint,
				   &why);
		if (err && err != -AKIN_E_path_unknown)
			return diag_pass(diag, err, &why);
		if (err)
			continue;
		node_release(&n);
		mem_free(hint.containers);
		*out = true;
	}
	return 0;
}

static int forget_old(struct transfer *t, struct akin_diag *diag)
{
	struct akin_forget_options opt = { .snapshots = &t->snap.number,
					   .nr_snapshots = 1 };
	struct akin_forget_result r;

	return akin_forget(t->from, &opt, &r, diag);
}

static int rewrite(struct transfer *t, const struct akin_rewrite_options *opt,
		   struct akin_rewrite_result *out, struct akin_diag *diag)
{
	struct akin_backup_options bopt = {
		.dry_run = opt->dry_run,
		.progress = opt->progress,
		.waiting = opt->waiting,
		.notice = opt->waiting,
		.ctx = opt->ctx,
	};
	bool there;
	int err;

	err = transfer_load(t, opt->snapshot, diag);
	if (!err)
		err = any_there(t, &there, diag);
	if (err || !there)
		return err;
	store_id_export(t->snap.id, out->old_id);
	if (t->is_protected && !opt->keep) {
		diag_set(diag, -AKIN_E_snap_protected,
			 "snapshot %.8s is protected", out->old_id);
		diag_hint(diag, "'akin unprotect %.8s' lifts that; --keep "
			  "leaves it beside the new one.", out->old_id);
		return -AKIN_E_snap_protected;
	}
	fill_options(t, &bopt);
	err = run(t, t->from, &bopt, NULL, &out->backup, diag);
	out->dropped = t->nr_dropped;
	if (err || opt->keep || opt->dry_run)
		return err;
	err = forget_old(t, diag);
	out->forgotten = !err;
	return err;
}

int akin_rewrite(struct akin_pool *p, const struct akin_rewrite_options *opt,
		 struct akin_rewrite_result *out, struct akin_diag *diag)
{
	char **drop = mem_calloc(opt->nr_drop + 1u, sizeof(*drop));
	struct transfer t = { .from = p, .same_keys = true };
	u32 i;
	int err = drop ? 0 : -AKIN_E_nomem;

	memset(out, 0, sizeof(*out));
	for (i = 0; !err && i < opt->nr_drop; i++) {
		drop[i] = plain_path(opt->drop[i]);
		err = drop[i] ? 0 : -AKIN_E_nomem;
		if (!err && !drop[i][1])
			err = diag_set(diag, -AKIN_E_usage, "'%s': of all of a "
				       "snapshot nothing would be left",
				       opt->drop[i]);
	}
	t.drop = (const char *const *)drop;
	t.nr_drop = opt->nr_drop;
	if (!err)
		err = rewrite(&t, opt, out, diag);
	transfer_release(&t);
	for (i = 0; drop && i < opt->nr_drop; i++)
		mem_free(drop[i]);
	mem_free(drop);
	return diag_said(diag, err);
}
