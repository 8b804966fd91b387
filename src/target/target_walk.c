/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through the target: opening, names, directories.
 *
 * With delete_extra, a directory that exists is listed when it begins. Names
 * of the snapshot ascend as the listing does, so the two are merged: what the
 * listing has before the name at hand is deleted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "target/target_internal.h"

/* Leaves room in a message for the reason. */
#define PATH_SHOWN 400

int target_at(const struct target *t)
{
	return t->levels[t->nr - 1].absent ? -1 : dirstack_fd(t->stack);
}

static const char *join(struct target *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		const char *part = name;

		if (i + 1 < t->nr)
			part = (const char *)t->levels[i].last.data;
		if (!part)
			continue;
		if (t->path.len && t->path.data[t->path.len - 1] != '/')
			buf_put_u8(&t->path, '/');
		buf_put(&t->path, part, strlen(part));
	}
	buf_put_u8(&t->path, 0);
	return buf_error(&t->path) ? "" : (const char *)t->path.data;
}

const char *target_path(struct target *t, const char *name)
{
	buf_reset(&t->path);
	buf_put(&t->path, t->root, strlen(t->root));
	return join(t, name);
}

const char *target_relative(struct target *t, const char *name)
{
	buf_reset(&t->path);
	return join(t, name);
}

static const char *path_tail(const char *path)
{
	size_t n = strlen(path);

	return n > PATH_SHOWN ? path + n - PATH_SHOWN : path;
}

int target_fail(struct target *t, const char *name, int err,
		struct akin_diag *diag)
{
	const char *path = target_path(t, name);
	const char *tail = path_tail(path);

	return diag_set_errno(diag, error_from_errno(err), err, "%s%s",
			      tail == path ? "" : "...", tail);
}

void target_warn(struct target *t, const char *name, int code, const char *fmt,
		 ...)
{
	char text[256];
	va_list ap;

	t->counts.warnings++;
	if (!t->opt.warn)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->opt.warn(t->opt.ctx, target_path(t, name), text, code);
}

void target_event(struct target *t, const char *name, enum target_event event)
{
	u64 *const count[] = {
		[TARGET_CREATED] = &t->counts.created,
		[TARGET_UPDATED] = &t->counts.updated,
		[TARGET_UNCHANGED] = &t->counts.unchanged,
		[TARGET_LINKED] = &t->counts.linked,
		[TARGET_DELETED] = &t->counts.deleted,
	};

	++*count[event];
	if (t->opt.event)
		t->opt.event(t->opt.ctx, target_path(t, name), event);
}

const char *target_proc_fd(char out[PROC_FD_MAX], int fd)
{
	snprintf(out, PROC_FD_MAX, "/proc/self/fd/%d", fd);
	return out;
}

/* So that push_level() cannot fail once something was made. */
static int reserve_level(struct target *t, struct akin_diag *diag)
{
	struct target_level *l;

	if (t->nr < t->cap)
		return 0;
	l = mem_realloc(t->levels, (t->cap * 2 + 16) * sizeof(*l));
	if (!l)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	t->levels = l;
	t->cap = t->cap * 2 + 16;
	return 0;
}

static struct target_level *push_level(struct target *t)
{
	memset(&t->levels[t->nr++], 0, sizeof(*t->levels));
	return target_top(t);
}

static void pop_level(struct target *t)
{
	struct target_level *l = &t->levels[--t->nr];

	dirlist_free(l->extra);
	buf_release(&l->last);
}

static int extra_next(struct target *t, struct target_level *l,
		      struct akin_diag *diag)
{
	u8 type;
	int rc = dirlist_next(l->extra, &l->pending, &type, diag);

	if (rc <= 0)
		l->pending = NULL;
	return rc < 0 ? rc : 0;
}

static int extra_open(struct target *t, struct akin_diag *diag)
{
	struct target_level *l = target_top(t);
	struct akin_diag why = {0};
	int err;

	if (!t->opt.delete_extra || !l->ordered || l->made || l->absent)
		return 0;
	err = dirlist_open(&t->lists, dirstack_fd(t->stack), &l->extra, &why);
	if (err)
		return diag_set(diag, err, "%s: %s",
				path_tail(target_path(t, NULL)), why.text);
	return extra_next(t, l, diag);
}

/* Delete the extras before @name (all of the rest: NULL), pass over @name. */
static int extra_until(struct target *t, const char *name,
		       struct akin_diag *diag)
{
	struct target_level *l = target_top(t);
	int c, err = 0;

	while (!err && l->pending) {
		c = name ? strcmp(l->pending, name) : -1;
		if (c > 0)
			break;
		if (c < 0)
			err = target_delete(t, l->pending, diag);
		if (!err)
			err = extra_next(t, l, diag);
	}
	return err;
}

static bool is_plain(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !strchr(name, '/') && strlen(name) <= NODE_NAME_MAX;
}

int target_name(struct target *t, const char *name, struct akin_diag *diag)
{
	struct target_level *l = target_top(t);

	if (t->file.active)
		return diag_set(diag, -AKIN_E_sequence,
				"a file is still being written");
	if (!name || !is_plain(name))
		return diag_set(diag, -AKIN_E_path_unsafe,
				"%s: refused the name \"%s\"",
				path_tail(target_path(t, NULL)),
				name ? name : "");
	if (l->ordered && l->has_last &&
	    node_name_compare((const char *)l->last.data, name) >= 0)
		return diag_set(diag, -AKIN_E_path_unsafe,
				"%s: refused, its name is out of order or "
				"there twice",
				path_tail(target_path(t, name)));
	buf_reset(&l->last);
	buf_put(&l->last, name, strlen(name) + 1);
	if (buf_error(&l->last)) {
		l->has_last = false;
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	}
	l->has_last = true;
	return extra_until(t, name, diag);
}

int target_keep(struct target *t, const char *name, struct akin_diag *diag)
{
	return target_name(t, name, diag);
}

void target_keep_rest(struct target *t)
{
	target_top(t)->pending = NULL;
}

int target_lookup(struct target *t, const char *name, struct stat *st,
		  struct akin_diag *diag)
{
	int at = target_at(t);

	/* In a directory made by us and given in order, nothing is yet. */
	if (target_top(t)->absent ||
	    (target_top(t)->made && target_top(t)->ordered))
		return 0;
	if (at < 0)
		return target_fail(t, name, ESTALE, diag);
	if (fstatat(at, name, st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : target_fail(t, name, errno, diag);
}

static bool is_absent(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 && errno == ENOENT;
}

/* What is restored may have been private by its directory alone. */
static int shut_root(struct target *t, struct akin_diag *diag)
{
	if (!t->root_made || fchmod(dirstack_root_fd(t->stack), 0700) == 0)
		return 0;
	return target_fail(t, NULL, errno, diag);
}

static void finish_root(struct target *t)
{
	struct target_subject s = { .fd = dirstack_root_fd(t->stack) };

	s.is_path = fcntl(s.fd, F_GETFL) & O_PATH;
	target_meta(t, &s, t->opt.root);
}

int target_open(const char *path, const struct target_options *opt,
		struct target **out, struct akin_diag *diag)
{
	struct target *t = mem_zalloc(sizeof(*t));
	struct akin_diag why = {0};
	int err = -AKIN_E_nomem;

	if (!t)
		return diag_set(diag, err, "out of memory");
	t->opt = *opt;
	t->euid = geteuid();
	t->file.fd = -1;
	t->links.max_bytes =
		opt->link_bytes ? opt->link_bytes : TARGET_LINK_BYTES;
	t->lists.budget_bytes = opt->list_bytes;
	t->lists.disk = opt->spill_disk;
	t->lists.dir = opt->spill_dir;
	t->root = mem_strdup(path);
	if (!t->root) {
		diag_set(diag, err, "out of memory");
		goto fail;
	}
	err = reserve_level(t, diag);
	if (err)
		goto fail;
	push_level(t)->ordered = opt->root_complete;
	t->root_made = opt->root && !opt->dry_run && is_absent(path);
	err = dirstack_open(path, !opt->dry_run, &t->stack, &why);
	if (err == -AKIN_E_absent && opt->dry_run) {
		t->levels[0].absent = true;
	} else if (err) {
		diag_pass(diag, err, &why);
		goto fail;
	}
	err = shut_root(t, diag);
	if (!err)
		err = extra_open(t, diag);
	if (err)
		goto fail;
	*out = t;
	return 0;
fail:
	target_free(t);
	return err;
}

int target_finish(struct target *t, struct akin_diag *diag)
{
	int err;

	if (t->nr != 1 || t->file.active)
		return diag_set(diag, -AKIN_E_sequence,
				"a file or directory was not ended");
	err = extra_until(t, NULL, diag);
	if (!err && t->root_made)
		finish_root(t);
	if (!err && t->opt.durable && t->stack && !t->opt.dry_run &&
	    syncfs(dirstack_root_fd(t->stack)) < 0)
		err = diag_set_errno(diag, error_from_errno(errno), errno,
				     "%s: cannot make the restore durable",
				     t->root);
	return err;
}

void target_free(struct target *t)
{
	if (!t)
		return;
	if (t->file.active)
		target_file_fail(t);
	while (t->nr)
		pop_level(t);
	mem_free(t->levels);
	dirstack_free(t->stack);
	target_links_release(&t->links);
	buf_release(&t->path);
	mem_free(t->root);
	mem_free(t->block);
	mem_free(t);
}

const struct target_counts *target_counts(const struct target *t)
{
	return &t->counts;
}

/* 1 if a directory of that name can be entered, 0 if it is to be made. */
static int dir_lookup(struct target *t, const char *name, struct stat *st,
		      struct akin_diag *diag)
{
	int rc = target_lookup(t, name, st, diag);

	if (rc <= 0 || S_ISDIR(st->st_mode))
		return rc;
	if (t->opt.overwrite == TARGET_NEVER)
		return diag_set(diag, -AKIN_E_exists,
				"%s: something else is in the way of a "
				"directory",
				path_tail(target_path(t, name)));
	rc = target_clear(t, name, st, diag);
	return rc < 0 ? rc : 0;
}

int target_dir_begin(struct target *t, const struct node *n, unsigned flags,
		     struct akin_diag *diag)
{
	bool exists, absent, unlocked = false;
	struct target_level *l;
	struct stat st;
	int rc;

	if (n->type != NODE_DIR)
		return diag_set(diag, -AKIN_E_usage, "not a directory node");
	rc = target_name(t, n->name, diag);
	if (!rc)
		rc = dir_lookup(t, n->name, &st, diag);
	if (rc < 0)
		return rc;
	exists = rc;
	absent = !exists && t->opt.dry_run;
	rc = reserve_level(t, diag);
	if (rc)
		return rc;
	if (!exists && !absent && mkdirat(target_at(t), n->name, 0700) < 0)
		return target_fail(t, n->name, errno, diag);
	if (exists && !t->opt.dry_run)
		unlocked = target_unlock(t, target_at(t), n->name, &st);
	if (!absent && dirstack_enter(t->stack, n->name))
		return target_fail(t, n->name, dirstack_errno(t->stack), diag);
	target_event(t, n->name, exists ? TARGET_UNCHANGED : TARGET_CREATED);
	l = push_level(t);
	l->ordered = !(flags & TARGET_DIR_PARTIAL);
	l->made = !exists;
	l->absent = absent;
	l->mode_changed = unlocked;
	l->old_mode = exists ? st.st_mode & 07777 : 0;
	rc = extra_open(t, diag);
	if (rc) {
		pop_level(t);
		if (dirstack_leave(t->stack))
			rc = target_fail(t, NULL, dirstack_errno(t->stack),
					 diag);
	}
	return rc;
}

static void dir_finish(struct target *t, const struct node *n)
{
	struct target_level *l = target_top(t);
	struct target_subject s = {.fd = target_at(t)};

	s.is_path = fcntl(s.fd, F_GETFL) & O_PATH;
	/* Below a directory with default ACLs even a new one has xattrs. */
	s.fresh = l->made && t->nr >= 2 && t->levels[t->nr - 2].made;
	if (l->made || t->opt.overwrite != TARGET_NEVER) {
		target_meta(t, &s, n);
	} else if (l->mode_changed && fchmod(s.fd, l->old_mode) < 0) {
		target_warn(t, NULL, error_from_errno(errno),
			    "the mode it had could not be set again");
	}
}

int target_dir_end(struct target *t, const struct node *n,
		   struct akin_diag *diag)
{
	int err;

	if (t->nr < 2 || t->file.active)
		return diag_set(diag, -AKIN_E_sequence,
				"no directory was begun");
	if (target_top(t)->absent) {
		pop_level(t);
		return 0;
	}
	err = extra_until(t, NULL, diag);
	/* While it can still be searched for "..". */
	if (dirstack_open_parent(t->stack) && !err)
		err = target_fail(t, NULL, dirstack_errno(t->stack), diag);
	if (!t->opt.dry_run && target_at(t) >= 0)
		dir_finish(t, n);
	pop_level(t);
	if (dirstack_leave(t->stack) && !err)
		err = target_fail(t, NULL, dirstack_errno(t->stack), diag);
	return err;
}
