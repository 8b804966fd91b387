/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks and directories of a live tree.
 */
#include <dirent.h>
#include <errno.h>

#include "base/mem.h"
#include "source/source_internal.h"

/* Leaves room in a message for the reason. */
#define PATH_SHOWN 400

int source_code(int err)
{
	switch (err) {
	case ENOENT:
	case ESTALE:
		return -AKIN_E_source_vanished;
	case ENOTDIR:
	case ELOOP:
		return -AKIN_E_source_changed;
	case ENOMEM:
		return -AKIN_E_nomem;
	case EMFILE:
	case ENFILE:
		return -AKIN_E_too_many_files;
	case EINTR:
		return -AKIN_E_interrupted;
	default:
		return -AKIN_E_source_read;
	}
}

const char *source_path_tail(const char *path)
{
	size_t n = strlen(path);

	return n > PATH_SHOWN ? path + n - PATH_SHOWN : path;
}

int source_fail(const char *path, int err, struct akin_diag *diag)
{
	const char *tail = source_path_tail(path);

	return diag_set_errno(diag, source_code(err), err, "%s%s",
			      tail == path ? "" : "...", tail);
}

int source_walk_open(const char *path, const struct source_options *opt,
		     struct source_walk **out, struct akin_diag *diag)
{
	struct source_walk *w = mem_zalloc(sizeof(*w));
	int err;

	if (!w)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	w->opt = *opt;
	if (!w->opt.special_timeout_ms)
		w->opt.special_timeout_ms = SOURCE_SPECIAL_TIMEOUT_MS;
	w->lists.budget_bytes = opt->list_bytes;
	w->lists.disk = opt->spill_disk;
	w->lists.dir = opt->spill_dir;
	err = dirstack_open(path, false, &w->stack, diag);
	if (err) {
		source_walk_free(w);
		return err;
	}
	*out = w;
	return 0;
}

void source_walk_free(struct source_walk *w)
{
	if (!w)
		return;
	dirstack_free(w->stack);
	buf_release(&w->path);
	mem_free(w);
}

int source_walk_enter(struct source_walk *w, const char *name,
		      struct akin_diag *diag)
{
	if (dirstack_enter(w->stack, name) == 0)
		return 0;
	return source_fail(source_walk_path(w, name), dirstack_errno(w->stack),
			   diag);
}

int source_walk_leave(struct source_walk *w, struct akin_diag *diag)
{
	if (dirstack_leave(w->stack) == 0)
		return 0;
	return source_fail(source_walk_path(w, NULL), dirstack_errno(w->stack),
			   diag);
}

size_t source_walk_depth(const struct source_walk *w)
{
	return dirstack_depth(w->stack);
}

void source_walk_identity(const struct source_walk *w, u64 *dev_ret,
			  u64 *ino_ret)
{
	dirstack_identity(w->stack, dev_ret, ino_ret);
}

const char *source_walk_path(struct source_walk *w, const char *name)
{
	return dirstack_path(w->stack, name, &w->path);
}

u64 source_walk_skipped_xattrs(const struct source_walk *w)
{
	return w->nr_skipped_xattrs;
}

struct source_dir {
	struct dirlist *list;
};

static u8 node_type_of(u8 d_type)
{
	switch (d_type) {
	case DT_REG:
		return NODE_FILE;
	case DT_DIR:
		return NODE_DIR;
	case DT_LNK:
		return NODE_SYMLINK;
	case DT_FIFO:
		return NODE_FIFO;
	case DT_SOCK:
		return NODE_SOCKET;
	case DT_CHR:
		return NODE_CHARDEV;
	case DT_BLK:
		return NODE_BLOCKDEV;
	default:
		return 0;
	}
}

/* What a listing's code means for the tree that is read. */
static int list_code(int err)
{
	switch (err) {
	case -AKIN_E_absent:
		return -AKIN_E_source_vanished;
	case -AKIN_E_denied:
	case -AKIN_E_io:
		return -AKIN_E_source_read;
	default:
		return err;
	}
}

int source_dir_open(struct source_walk *w, struct source_dir **out,
		    struct akin_diag *diag)
{
	struct source_dir *d = mem_zalloc(sizeof(*d));
	struct akin_diag why = {0};
	const char *path, *tail;
	int err;

	if (!d)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	err = dirlist_open(&w->lists, dirstack_fd(w->stack), &d->list, &why);
	if (err) {
		mem_free(d);
		path = source_walk_path(w, NULL);
		tail = source_path_tail(path);
		return diag_set(diag, list_code(err), "%s%s: %s",
				tail == path ? "" : "...", tail, why.text);
	}
	*out = d;
	return 0;
}

int source_dir_next(struct source_dir *d, const char **name_ret, u8 *type_ret,
		    struct akin_diag *diag)
{
	int rc = dirlist_next(d->list, name_ret, type_ret, diag);

	if (rc > 0)
		*type_ret = node_type_of(*type_ret);
	return rc;
}

void source_dir_free(struct source_dir *d)
{
	if (!d)
		return;
	dirlist_free(d->list);
	mem_free(d);
}
