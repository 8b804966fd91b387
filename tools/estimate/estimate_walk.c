/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what is to be estimated, as a backup would.
 *
 * Directories are walked with an explicit stack. What cannot be read is warned
 * of and left out; only what concerns the walk itself ends it. Holes are zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "estimate.h"
#include "hash/hash.h"
#include "source/source.h"

#define READ_BYTES ((size_t)256 << 10)
#define LIST_BYTES (4 * MiB)
/* Remembers 48,000 hard links; when there are more, all count. */
#define LINKS_BYTES ((u64)1 << 20)

struct walk {
	struct estimate *e;
	const struct estimate_walk_ops *ops;
	struct estimate_walk *w;
	struct source_walk *source;
	struct source_dir **dirs;	/* of the places from the top down */
	size_t nr_dirs, room;
	struct estimate_set links;
	u8 *buf;
};

static int warn(struct walk *k, const char *path, int err,
		struct akin_diag *diag)
{
	struct akin_diag why = diag ? *diag : (struct akin_diag){ 0 };

	if (akin_error_class(err) != AKIN_CLASS_SOURCE)
		return err;
	if (diag)
		diag_clear(diag);
	k->w->warnings++;
	if (k->ops->warning)
		k->ops->warning(k->ops->ctx, path, err, why.text);
	return 0;
}

static int progress(struct walk *k, const char *path, struct akin_diag *diag)
{
	int err = 0;

	if (k->ops->progress)
		err = k->ops->progress(k->ops->ctx, k->w->files, k->w->bytes,
				       path);
	return err ? diag_set(diag, err, "stopped") : 0;
}

static int feed(struct walk *k, const void *data, size_t n, const char *path,
		struct akin_diag *diag)
{
	int err = estimate_feed(k->e, data, n, diag);

	k->w->bytes += n;
	return err ? err : progress(k, path, diag);
}

static int feed_hole(struct walk *k, u64 len, const char *path,
		     struct akin_diag *diag)
{
	u64 part;
	int err = 0;

	memset(k->buf, 0, READ_BYTES);
	for (; len && !err; len -= part) {
		part = min_u64(len, READ_BYTES);
		err = feed(k, k->buf, part, path, diag);
	}
	return err;
}

/* Of an open file. Errors of the source come back after what was read. */
static int read_source(struct walk *k, struct source_file *f, const char *name,
		       struct akin_diag *diag)
{
	struct source_piece piece;
	const char *path;
	int err;

	while ((err = source_file_read(f, k->buf, READ_BYTES, &piece,
				       diag)) > 0) {
		path = source_walk_path(k->source, name);
		if (piece.type == SOURCE_HOLE)
			err = feed_hole(k, piece.len, path, diag);
		else
			err = feed(k, k->buf, piece.len, path, diag);
		if (err)
			return err;
	}
	return err;
}

/* Another name of a file that was read already? */
static bool seen(struct walk *k, const struct node *n)
{
	u64 id[2] = { n->dev, n->ino };

	return (n->flags & NODE_LINKED) &&
	       !estimate_set_add(&k->links, checksum64(id, sizeof(id), 0), 0) &&
	       k->links.level == 0;
}

static int read_file(struct walk *k, const char *name, struct node *n,
		     struct akin_diag *diag)
{
	struct source_file *f = NULL;
	int err, end;

	if (seen(k, n))
		return 0;
	err = source_file_open(k->source, name, n, &f, diag);
	if (!err) {
		k->w->files++;
		err = read_source(k, f, name, diag);
		source_file_close(f);
		end = estimate_end(k->e, err ? NULL : diag);
		err = err ? err : end;
	}
	return err ? warn(k, source_walk_path(k->source, name), err, diag) : 0;
}

/* Onto the stack: the place where the walk is. */
static int push(struct walk *k, struct akin_diag *diag)
{
	struct source_dir **more;

	if (k->nr_dirs == k->room) {
		more = mem_realloc(k->dirs, (k->room + 64) * sizeof(*more));
		if (!more)
			return diag_set(diag, -AKIN_E_nomem, "out of memory");
		k->dirs = more;
		k->room += 64;
	}
	k->dirs[k->nr_dirs] = NULL;
	return source_dir_open(k->source, &k->dirs[k->nr_dirs], diag);
}

static int enter(struct walk *k, const char *name, struct akin_diag *diag)
{
	int err = source_walk_enter(k->source, name, diag);

	if (err)
		return warn(k, source_walk_path(k->source, name), err, diag);
	err = push(k, diag);
	if (!err) {
		k->nr_dirs++;
		return 0;
	}
	err = warn(k, source_walk_path(k->source, NULL), err, diag);
	return err ? err : source_walk_leave(k->source, diag);
}

static int one_name(struct walk *k, const char *name, struct akin_diag *diag)
{
	struct node n = { 0 };
	int err = source_stat(k->source, name, true, &n, diag);

	if (err)
		err = warn(k, source_walk_path(k->source, name), err, diag);
	else if (n.type == NODE_DIR)
		err = enter(k, name, diag);
	else if (n.type == NODE_FILE)
		err = read_file(k, name, &n, diag);
	source_node_release(&n);
	return err;
}

static int walk_tree(struct walk *k, const char *path, struct akin_diag *diag)
{
	struct source_options opt = { .list_bytes = LIST_BYTES };
	const char *name;
	int err;
	u8 type;

	err = source_walk_open(path, &opt, &k->source, diag);
	if (!err)
		err = push(k, diag);
	k->nr_dirs = !err;
	while (!err && k->nr_dirs) {
		err = source_dir_next(k->dirs[k->nr_dirs - 1], &name, &type,
				      diag);
		if (err > 0) {
			err = one_name(k, name, diag);
			continue;
		}
		if (err)
			err = warn(k, source_walk_path(k->source, NULL), err,
				   diag);
		source_dir_free(k->dirs[--k->nr_dirs]);
		if (!err && k->nr_dirs)
			err = source_walk_leave(k->source, diag);
	}
	while (k->nr_dirs)
		source_dir_free(k->dirs[--k->nr_dirs]);
	source_walk_free(k->source);
	return err;
}

static int read_fd(struct walk *k, int fd, const char *path,
		   struct akin_diag *diag)
{
	ssize_t n;
	int err = 0, end;

	do {
		n = read(fd, k->buf, READ_BYTES);
		if (n > 0)
			err = feed(k, k->buf, (size_t)n, path, diag);
		else if (n < 0 && errno == EINTR)
			err = progress(k, path, diag);
		else if (n < 0)
			err = diag_set_errno(diag, -AKIN_E_source_read, errno,
					     "%s", path);
	} while (!err && n);
	end = estimate_end(k->e, err ? NULL : diag);
	err = err ? err : end;
	k->w->files++;
	return err ? warn(k, path, err, diag) : 0;
}

static int read_path(struct walk *k, const char *path, struct akin_diag *diag)
{
	struct stat st;
	int fd, err;

	if (strcmp(path, "-") == 0)
		return read_fd(k, STDIN_FILENO, "standard input", diag);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return walk_tree(k, path, diag);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return diag_set_errno(diag, error_from_errno(errno), errno,
				      "%s", path);
	err = read_fd(k, fd, path, diag);
	close(fd);
	return err;
}

int estimate_path(struct estimate *e, const char *path,
		  const struct estimate_walk_ops *ops, struct estimate_walk *w,
		  struct akin_diag *diag)
{
	struct walk k = { .e = e, .ops = ops, .w = w };
	int err;

	k.buf = mem_alloc(READ_BYTES);
	err = estimate_set_init(&k.links, LINKS_BYTES);
	if (err || !k.buf)
		err = diag_set(diag, -AKIN_E_nomem, "out of memory");
	else
		err = read_path(&k, path, diag);
	estimate_set_release(&k.links);
	mem_free(k.dirs);
	mem_free(k.buf);
	return err;
}
