/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin_restore: options, target, snapshot; then the walk.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "os/clock.h"
#include "store/store_restore.h"

static int collect(const char *const *patterns, u32 nr,
		   struct pattern_set **out, struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	if (nr == 0)
		return 0;
	*out = pattern_set_new();
	if (!*out)
		return diag_set(diag, -AKIN_E_nomem, "patterns");
	for (i = 0; !err && i < nr; i++)
		err = pattern_set_add(*out, patterns[i], diag);
	return err;
}

static bool is_fresh(const char *path)
{
	struct dirent *e;
	bool fresh = true;
	DIR *d = opendir(path);

	if (!d)
		return true;
	while (fresh && (e = readdir(d)))
		fresh = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	closedir(d);
	return fresh;
}

static void on_warn(void *ctx, const char *path, const char *text, int code)
{
	restore_warn(ctx, path, code, text);
}

/*
 * A whole snapshot begins at "/": unless that was asked for, the directories
 * there lead to what was, and nobody has seen what lies beside them.
 */
static bool top_is_complete(const struct restore *r, const struct snapshot *s,
			    const struct node *n)
{
	const char *path = r->opt->path ? r->opt->path : "";
	u32 i;

	if (path[strspn(path, "/")])
		return restore_is_complete(n);
	for (i = 0; i < s->nr_paths; i++) {
		if (!strcmp(s->paths[i], "/"))
			return true;
	}
	return s->nr_paths == 0;
}

/* Whatever is deleted, the pool stays. */
static void spare_pool(const struct akin_pool *p, struct target_options *opt)
{
	static const char *const parts[TARGET_SPARED] = { "", "/meta", "/data" };
	char path[PATH_MAX];
	struct stat st;
	u32 i;

	for (i = 0; i < TARGET_SPARED; i++) {
		snprintf(path, sizeof(path), "%s%s", p->path, parts[i]);
		if (stat(path, &st))
			continue;
		opt->spared[i].dev = st.st_dev;
		opt->spared[i].ino = st.st_ino;
	}
}

/* @top is what the target stands for. */
static int open_target(struct restore *r, const struct snapshot *s,
		       const struct node *top, struct akin_diag *diag)
{
	const struct akin_restore_options *opt = r->opt;
	struct target_options topt = { 0 };

	topt.overwrite = opt->overwrite == AKIN_OVERWRITE_ALWAYS ?
				 TARGET_ALWAYS :
			 opt->overwrite == AKIN_OVERWRITE_NEVER ?
				 TARGET_NEVER : TARGET_IF_CHANGED;
	topt.delete_extra = opt->delete_extra;
	topt.root_complete = opt->delete_extra && !r->includes &&
			     top_is_complete(r, s, top);
	/* Of the snapshot's root nothing is known but what is in it. */
	if (opt->path && opt->path[strspn(opt->path, "/")] &&
	    top->type == NODE_DIR)
		topt.root = top;
	spare_pool(r->p, &topt);
	topt.dry_run = opt->dry_run;
	topt.link_bytes = r->p->budget.streams / 2;
	topt.list_bytes = r->p->budget.streams / 4;
	if (!r->p->read_only) {
		topt.spill_disk = r->p->meta;
		topt.spill_dir = DIR_TMP;
	}
	topt.warn = on_warn;
	topt.ctx = r;
	return target_open(opt->target, &topt, &r->target, diag);
}

static int run(struct restore *r, const struct snapshot *s,
	       struct akin_diag *diag)
{
	const struct akin_restore_options *opt = r->opt;
	struct hint hint = { 0 };
	struct node n;
	int err;

	err = store_lookup(r->p, s, opt->path, &n, &hint, diag);
	if (err)
		return err;
	if (!opt->path && !r->includes && !r->excludes) {
		r->result.total.files_total = s->counts.files;
		r->result.total.bytes_total = s->counts.bytes;
	}
	r->fresh = is_fresh(opt->target);
	err = open_target(r, s, &n, diag);
	if (!err)
		err = restore_run(r, &n, &hint, diag);
	if (!err)
		err = target_finish(r->target, diag);
	if (!err && opt->verify && !opt->dry_run)
		err = restore_verify(r, &n, &hint, diag);
	node_release(&n);
	mem_free(hint.containers);
	return err;
}

u64 restore_bytes_read(struct restore *r)
{
	struct groupcache_stats st;

	groupcache_get_stats(r->p->depot.groups, &st);
	return st.read_bytes;
}

int akin_restore(struct akin_pool *p, const struct akin_restore_options *opt,
		 struct akin_restore_result *out, struct akin_diag *diag)
{
	struct restore r = { .p = p, .opt = opt };
	struct snapshot s = { 0 };
	int err;

	memset(out, 0, sizeof(*out));
	r.start_ns = clock_ns();
	r.read_before = restore_bytes_read(&r);
	if (!opt->target || !*opt->target)
		return diag_set(diag, -AKIN_E_usage, "no target directory");
	err = collect(opt->includes, opt->nr_includes, &r.includes, diag);
	if (!err)
		err = collect(opt->excludes, opt->nr_excludes, &r.excludes,
			      diag);
	if (!err)
		err = catalog_snapshot(p->catalog, opt->snapshot, &s, diag);
	if (!err)
		err = run(&r, &s, diag);
	if (r.target) {
		r.result.removed = target_counts(r.target)->deleted;
		r.result.owner_failures =
			target_counts(r.target)->owners_failed;
	}
	target_free(r.target);
	pattern_set_free(r.includes);
	pattern_set_free(r.excludes);
	snapshot_release(&s);
	r.result.total.elapsed_ns = clock_ns() - r.start_ns;
	r.result.total.bytes_read = restore_bytes_read(&r) - r.read_before;
	r.result.total.current = NULL;
	*out = r.result;
	ignore_result(diag_said(diag, err));
	if (!err && r.result.total.warnings)
		err = -AKIN_E_partial;
	return err;
}
