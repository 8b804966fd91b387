/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what is to be estimated, as a backup would.
 *
 * Directories are walked with an explicit stack. What cannot be read is warned
 * of and left out; only what concerns the walk itself ends it. Holes are zeros.
 * With a share, ranges of files are read that the estimate asks for; of what
 * cannot seek everything is read, and the rest thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
	struct estimate *e;	/* NULL: sizes only */
	const struct estimate_walk_ops *ops;
	struct estimate_walk *w;
	const char *prefix;	/* of keys */
	size_t root_len;	/* of the path that the walk began with */
	struct source_walk *source;
	struct source_dir **dirs;	/* of the places from the top down */
	size_t nr_dirs, room;
	struct estimate_set links;
	char *key;
	size_t key_room;
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
	if (!k->e)
		return 0;
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

/* Which file of a state @path is. */
static const char *key_of(struct walk *k, const char *path)
{
	size_t len = strlen(path);
	const char *rest = len > k->root_len ? path + k->root_len : "";
	size_t n = strlen(k->prefix) + strlen(rest) + 8;
	char *more;

	if (n > k->key_room) {
		more = mem_realloc(k->key, n);
		if (!more)
			return "";
		k->key = more;
		k->key_room = n;
	}
	rest += strspn(rest, "/");
	snprintf(k->key, k->key_room, "%s%s%s", k->prefix,
		 *k->prefix && *rest ? "/" : "",
		 *rest || *k->prefix ? rest : "data");
	return k->key;
}

static int feed(struct walk *k, u64 off, const void *data, size_t n,
		const char *path, struct akin_diag *diag)
{
	int err = estimate_feed(k->e, off, data, n, diag);

	k->w->bytes += n;
	return err ? err : progress(k, path, diag);
}

static int feed_hole(struct walk *k, u64 off, u64 len, const char *path,
		     struct akin_diag *diag)
{
	u64 part;
	int err = 0;

	memset(k->buf, 0, READ_BYTES);
	for (; len && !err; len -= part, off += part) {
		part = min_u64(len, READ_BYTES);
		err = feed(k, off, k->buf, part, path, diag);
	}
	return err;
}

/* Of an open file. Errors of the source come back after what was read. */
static int read_source(struct walk *k, struct source_file *f, const char *name,
		       u64 *size_ret, struct akin_diag *diag)
{
	struct source_piece piece;
	const char *path;
	int err;

	while ((err = source_file_read(f, k->buf, READ_BYTES, &piece,
				       diag)) > 0) {
		path = source_walk_path(k->source, name);
		if (piece.type == SOURCE_HOLE)
			err = feed_hole(k, piece.off, piece.len, path, diag);
		else
			err = feed(k, piece.off, k->buf, piece.len, path,
				   diag);
		if (err)
			return err;
		*size_ret = piece.off + piece.len;
	}
	return err;
}

/* Reading a part ---------------------------------------------------------- */

/* [off, off + len); *end_ret: the file ended before. */
static int read_range(struct walk *k, int fd, u64 off, u64 len,
		      const char *path, bool *end_ret, struct akin_diag *diag)
{
	ssize_t n = 1;
	int err = 0;

	while (len && n && !err) {
		n = pread(fd, k->buf, min_u64(len, READ_BYTES), (off_t)off);
		if (n < 0 && errno != EINTR)
			return diag_set_errno(diag, -AKIN_E_source_read, errno,
					      "%s", path);
		if (n < 0)
			continue;
		err = estimate_feed(k->e, off, k->buf, (size_t)n, diag);
		if (!err)
			err = progress(k, path, diag);
		off += (u64)n;
		len -= (u64)n;
	}
	*end_ret = n == 0;
	return err;
}

/* A share of what can seek. */
static int read_parts(struct walk *k, int fd, u64 size, const char *path,
		      struct akin_diag *diag)
{
	u64 off = 0, len;
	bool end = false;
	int err = 0;

	while (!err && !end && estimate_wants(k->e, off, size, &off, &len)) {
		err = read_range(k, fd, off, len, path, &end, diag);
		off += len;
	}
	k->w->bytes += size;
	return err ? err : progress(k, path, diag);
}

/* Files and directories --------------------------------------------------- */

/* Another name of a file that was read already? */
static bool seen(struct walk *k, const struct node *n)
{
	u64 id[2] = { n->dev, n->ino };

	return (n->flags & NODE_LINKED) &&
	       estimate_set_add(&k->links, checksum64(id, sizeof(id), 0), 0) ==
		       ESTIMATE_KNOWN;
}

static int read_named(struct walk *k, const char *name, const struct node *n,
		      struct akin_diag *diag)
{
	const char *path = source_walk_path(k->source, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOATIME);
	int err;

	if (fd < 0 && errno == EPERM)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return diag_set_errno(diag, -AKIN_E_source_read, errno, "%s",
				      path);
	err = read_parts(k, fd, n->size, path, diag);
	close(fd);
	return err;
}

static int read_whole(struct walk *k, const char *name, struct node *n,
		      u64 *size_ret, struct akin_diag *diag)
{
	struct source_file *f = NULL;
	int err = source_file_open(k->source, name, n, &f, diag);

	if (!err)
		err = read_source(k, f, name, size_ret, diag);
	source_file_close(f);
	return err;
}

static int read_file(struct walk *k, const char *name, struct node *n,
		     struct akin_diag *diag)
{
	u64 size = n->size;
	const char *path;
	int err, end;

	if (seen(k, n))
		return 0;
	k->w->files++;
	if (!k->e) {
		k->w->bytes += n->size;
		return progress(k, "", diag);
	}
	path = source_walk_path(k->source, name);
	err = estimate_begin(k->e, path, key_of(k, path), diag);
	if (err)
		return err;
	if (estimate_share(k->e) < 1)
		err = read_named(k, name, n, diag);
	else
		err = read_whole(k, name, n, &size, diag);
	end = estimate_end(k->e, size, err ? NULL : diag);
	err = err ? err : end;
	return err ? warn(k, source_walk_path(k->source, name), err, diag) : 0;
}

/* Onto the stack: the place where the walk is. */
static int push(struct walk *k, struct akin_diag *diag)
{
	struct source_dir **more;
	int err;

	if (k->nr_dirs == k->room) {
		more = mem_realloc(k->dirs, (k->room + 64) * sizeof(*more));
		if (!more)
			return diag_set(diag, -AKIN_E_nomem, "out of memory");
		k->dirs = more;
		k->room += 64;
	}
	k->dirs[k->nr_dirs] = NULL;
	err = source_dir_open(k->source, &k->dirs[k->nr_dirs], diag);
	if (!err && k->e) {
		err = estimate_enter(k->e, source_walk_path(k->source, NULL),
				     diag);
		if (err)
			source_dir_free(k->dirs[k->nr_dirs]);
	}
	k->nr_dirs += !err;
	return err;
}

static int pop(struct walk *k, struct akin_diag *diag)
{
	source_dir_free(k->dirs[--k->nr_dirs]);
	return k->e ? estimate_leave(k->e, diag) : 0;
}

static int enter(struct walk *k, const char *name, struct akin_diag *diag)
{
	int err = source_walk_enter(k->source, name, diag);

	if (err)
		return warn(k, source_walk_path(k->source, name), err, diag);
	err = push(k, diag);
	if (!err)
		return 0;
	err = warn(k, source_walk_path(k->source, NULL), err, diag);
	return err ? err : source_walk_leave(k->source, diag);
}

static int one_name(struct walk *k, const char *name, struct akin_diag *diag)
{
	struct node n = { 0 };
	int err = source_stat(k->source, name, k->e != NULL, &n, diag);

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
	int err, end;
	u8 type;

	err = source_walk_open(path, &opt, &k->source, diag);
	if (!err) {
		k->root_len = strlen(source_walk_path(k->source, NULL));
		err = push(k, diag);
	}
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
		end = pop(k, err ? NULL : diag);
		err = err ? err : end;
		if (!err && k->nr_dirs)
			err = source_walk_leave(k->source, diag);
	}
	while (k->nr_dirs)
		source_dir_free(k->dirs[--k->nr_dirs]);
	source_walk_free(k->source);
	return err;
}

/* One file by its name, devices and streams ------------------------------- */

static int read_stream(struct walk *k, int fd, const char *path, u64 *size_ret,
		       struct akin_diag *diag)
{
	ssize_t n;
	int err = 0;

	do {
		n = read(fd, k->buf, READ_BYTES);
		if (n < 0 && errno != EINTR)
			return diag_set_errno(diag, -AKIN_E_source_read, errno,
					      "%s", path);
		if (n >= 0)
			err = feed(k, *size_ret, k->buf, (size_t)n, path, diag);
		else
			err = progress(k, path, diag);
		*size_ret += n > 0 ? (u64)n : 0;
	} while (!err && n);
	return err;
}

static int read_fd(struct walk *k, int fd, const char *path,
		   struct akin_diag *diag)
{
	off_t at_end = lseek(fd, 0, SEEK_END);
	bool seeks = at_end > 0 && lseek(fd, 0, SEEK_SET) == 0;
	u64 size = seeks ? (u64)at_end : 0;
	int err, end;

	k->w->files++;
	if (!k->e) {
		k->w->bytes += size;
		return 0;
	}
	k->root_len = strlen(path);
	err = estimate_begin(k->e, path, key_of(k, path), diag);
	if (err)
		return err;
	if (seeks && estimate_share(k->e) < 1) {
		err = read_parts(k, fd, size, path, diag);
	} else {
		size = 0;
		err = read_stream(k, fd, path, &size, diag);
	}
	end = estimate_end(k->e, size, err ? NULL : diag);
	err = err ? err : end;
	return err ? warn(k, path, err, diag) : 0;
}

static int read_path(struct walk *k, const char *path, struct akin_diag *diag)
{
	struct stat st;
	int fd, err;

	if (strcmp(path, "-") == 0)
		return k->e ? read_fd(k, STDIN_FILENO, "standard input",
				      diag) : 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return walk_tree(k, path, diag);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
			(k->e ? 0 : O_NONBLOCK));
	if (fd < 0)
		return diag_set_errno(diag, error_from_errno(errno), errno,
				      "%s", path);
	err = read_fd(k, fd, path, diag);
	close(fd);
	return err;
}

int estimate_path(struct estimate *e, const char *path, const char *prefix,
		  const struct estimate_walk_ops *ops, struct estimate_walk *w,
		  struct akin_diag *diag)
{
	struct walk k = { .e = e, .ops = ops, .w = w, .prefix = prefix };
	int err;

	k.buf = mem_alloc(READ_BYTES);
	err = estimate_set_init(&k.links, LINKS_BYTES);
	if (err || !k.buf)
		err = diag_set(diag, -AKIN_E_nomem, "out of memory");
	else
		err = read_path(&k, path, diag);
	estimate_set_release(&k.links);
	mem_free(k.dirs);
	mem_free(k.key);
	mem_free(k.buf);
	return err;
}

s64 estimate_path_time(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") == 0 || stat(path, &st) ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	return (s64)st.st_mtime;
}
