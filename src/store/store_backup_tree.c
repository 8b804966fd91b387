/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backup of trees: what was asked for, made absolute and sorted.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "store/store_walk.h"

/* Memory for names of directories too large to sort at once. */
#define LIST_BYTES (8 * MiB)

/*
 * The directory that holds @path is not there now. The path stays what was
 * asked for, so that the series stays one; the walk says what it misses.
 */
static int keep_lexical(const char *path, char **out, struct akin_diag *diag)
{
	if (strstr(path, "/../") || strstr(path, "/./"))
		return diag_set_errno(diag, -AKIN_E_source_read, ENOENT, "%s",
				      path);
	*out = mem_strdup(path);
	return *out ? 0 : diag_set(diag, -AKIN_E_nomem, "path");
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * The real path of the directory that holds @path, and its last component as
 * it is: a symlink named by the user is itself what is backed up, unless a
 * slash behind it asks for the directory.
 */
static int absolute(const char *path, char **out, struct akin_diag *diag)
{
	char *copy, *base, *dir, *slash;
	bool follow = false;
	size_t n;

	copy = mem_strdup(path);
	if (!copy)
		return diag_set(diag, -AKIN_E_nomem, "path");
	for (n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--) {
		copy[n - 1] = 0;
		follow = true;
	}
	slash = strrchr(copy, '/');
	base = slash ? slash + 1 : copy;
	if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ||
	    (follow && is_dir(copy))) {
		dir = realpath(copy, NULL);
		*out = dir ? mem_strdup(dir) : NULL;
	} else {
		if (slash)
			*slash = 0;
		dir = realpath(!slash ? "." : *copy ? copy : "/", NULL);
		n = dir ? strlen(dir) + strlen(base) + 2 : 0;
		*out = dir ? mem_alloc(n) : NULL;
		if (*out)
			snprintf(*out, n, "%s/%s", strcmp(dir, "/") ? dir : "",
				 base);
	}
	n = (size_t)errno;
	mem_free(copy);
	if (!dir)
		return (int)n == ENOENT && *path == '/' ?
			       keep_lexical(path, out, diag) :
			       diag_set_errno(diag, -AKIN_E_source_read,
					      (int)n, "%s", path);
	free(dir);
	return *out ? 0 : diag_set(diag, -AKIN_E_nomem, "path");
}

static int split(struct walk_target *t)
{
	char *at;
	u32 n = 0;

	t->text = mem_strdup(t->path);
	t->parts = mem_calloc(strlen(t->path) + 1, sizeof(*t->parts));
	if (!t->text || !t->parts)
		return -AKIN_E_nomem;
	for (at = t->text; *at;) {
		while (*at == '/')
			*at++ = 0;
		if (*at)
			t->parts[n++] = at;
		at += strcspn(at, "/");
	}
	t->nr_parts = n;
	return 0;
}

/* Component by component, as listings are sorted; a prefix comes first. */
static int compare_targets(const void *pa, const void *pb)
{
	const struct walk_target *a = pa, *b = pb;
	u32 i;
	int c;

	for (i = 0; i < a->nr_parts && i < b->nr_parts; i++) {
		c = node_name_compare(a->parts[i], b->parts[i]);
		if (c)
			return c;
	}
	return (a->nr_parts > b->nr_parts) - (a->nr_parts < b->nr_parts);
}

static void target_release(struct walk_target *t)
{
	mem_free(t->path);
	mem_free(t->parts);
	mem_free(t->text);
}

/* Is @t below (or equal to) @above? */
static bool is_below(const struct walk_target *t,
		     const struct walk_target *above)
{
	u32 i;

	if (t->nr_parts < above->nr_parts)
		return false;
	for (i = 0; i < above->nr_parts; i++) {
		if (strcmp(t->parts[i], above->parts[i]))
			return false;
	}
	return true;
}

/* On one file system what is below may be another one, and stays. */
static void drop_nested(struct walk *w, bool one_file_system)
{
	const struct walk_target *t, *last;
	u32 i, n = 0;

	for (i = 0; i < w->nr_targets; i++) {
		t = &w->targets[i];
		last = n ? &w->targets[n - 1] : NULL;
		if (last && is_below(t, last) &&
		    (!one_file_system || t->nr_parts == last->nr_parts))
			target_release(&w->targets[i]);
		else
			w->targets[n++] = w->targets[i];
	}
	w->nr_targets = n;
}

static int collect_targets(struct walk *w,
			   const struct akin_backup_options *opt,
			   struct akin_diag *diag)
{
	struct stat st;
	u32 i, nr_there = 0;
	int err;

	if (opt->nr_paths == 0)
		return diag_set(diag, -AKIN_E_usage, "nothing to back up");
	w->targets = mem_calloc(opt->nr_paths, sizeof(*w->targets));
	if (!w->targets)
		return diag_set(diag, -AKIN_E_nomem, "paths");
	for (i = 0; i < opt->nr_paths; i++) {
		w->nr_targets++;
		err = absolute(opt->paths[i], &w->targets[i].path, diag);
		if (err)
			return err;
		if (split(&w->targets[i]))
			return diag_set(diag, -AKIN_E_nomem, "paths");
		/* Beyond PATH_MAX only the walk can tell. */
		nr_there += lstat(opt->paths[i], &st) == 0 ||
			    (errno != ENOENT && errno != ENOTDIR);
	}
	if (nr_there == 0)
		return diag_set(diag, -AKIN_E_absent, "%s: nothing of what was "
				"named is there", opt->paths[0]);
	qsort(w->targets, w->nr_targets, sizeof(*w->targets),
	      compare_targets);
	drop_nested(w, opt->one_file_system);
	return 0;
}

static int collect_excludes(struct walk *w,
			    const struct akin_backup_options *opt,
			    struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	w->excludes = pattern_set_new();
	if (!w->excludes)
		return diag_set(diag, -AKIN_E_nomem, "patterns");
	for (i = 0; !err && i < opt->nr_excludes; i++)
		err = pattern_set_add(w->excludes, opt->excludes[i], diag);
	for (i = 0; !err && i < opt->nr_exclude_files; i++)
		err = pattern_set_add_file(w->excludes, opt->exclude_files[i],
					   diag);
	return err;
}

static void note_pool(struct walk *w, const char *pool)
{
	static const char *const names[2] = { "meta", "data" };
	char path[PATH_MAX];
	struct stat st;
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", pool, names[i]);
		if (stat(path, &st) == 0) {
			w->pool_dev[i] = st.st_dev;
			w->pool_ino[i] = st.st_ino;
		}
	}
}

static int open_source(struct walk *w, struct akin_diag *diag)
{
	struct source_options opt = { 0 };

	opt.list_bytes = min_u64(LIST_BYTES, w->b->p->budget.streams / 4);
	opt.spill_disk = w->b->p->meta;
	opt.spill_dir = DIR_TMP;
	opt.read_special = w->b->opt->read_special;
	return source_walk_open("/", &opt, &w->source, diag);
}

static int find_parent(struct walk *w, const char *const *paths,
		       struct akin_diag *diag)
{
	struct backup *b = w->b;
	struct akin_diag why = { 0 };
	int err;

	do {
		err = store_find_parent(b->p, b->snap.host, paths,
					w->nr_targets, false, &w->parent, &why);
		/* Trees are taken from it whole, chunk by chunk unseen. */
		if (!err)
			err = catalog_pin(b->p->catalog,
					  session_number(b->session),
					  w->parent.number, &why);
		if (err == -AKIN_E_snap_unknown)
			snapshot_release(&w->parent);
	} while (err == -AKIN_E_snap_unknown);
	if (err == -AKIN_E_absent)
		return 0;
	if (err)
		return diag_pass(diag, err, &why);
	w->have_parent = true;
	memcpy(b->snap.parent, w->parent.id, sizeof(b->snap.parent));
	/* The best guess of what there is to do, for the ETA. */
	b->files_total = w->parent.counts.files;
	b->bytes_total = w->parent.counts.bytes;
	/* Nothing has been looked up yet: damage may still be entered. */
	if (!b->opt->force)
		return store_soundness_new(b->p, &b->p->dec, &w->sound, diag);
	return 0;
}

int akin_backup_tree(struct akin_pool *p,
		     const struct akin_backup_options *opt,
		     struct akin_backup_result *out, struct akin_diag *diag)
{
	struct walk w = { 0 };
	const char **paths;
	struct backup b = { 0 };
	u32 i;
	int err;

	w.b = &b;
	err = collect_targets(&w, opt, diag);
	if (!err)
		err = collect_excludes(&w, opt, diag);
	paths = mem_calloc(w.nr_targets, sizeof(*paths));
	if (!err && !paths)
		err = diag_set(diag, -AKIN_E_nomem, "paths");
	if (err) {
		mem_free(paths);
		walk_release(&w);
		return err;
	}
	for (i = 0; i < w.nr_targets; i++)
		paths[i] = w.targets[i].path;
	err = backup_begin(&b, p, opt, paths, w.nr_targets, diag);
	if (!err)
		err = find_parent(&w, paths, diag);
	if (!err)
		err = open_source(&w, diag);
	if (!err) {
		note_pool(&w, p->path);
		err = walk_run(&w, diag);
	}
	err = backup_finish(&b, err, out, diag);
	walk_release(&w);
	mem_free(paths);
	return err;
}

void walk_release(struct walk *w)
{
	u32 i;

	for (i = 0; w->targets && i < w->nr_targets; i++)
		target_release(&w->targets[i]);
	mem_free(w->targets);
	pattern_set_free(w->excludes);
	source_walk_free(w->source);
	snapshot_release(&w->parent);
	store_soundness_free(w->sound);
}
