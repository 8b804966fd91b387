/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as nodes.
 *
 * xattrs are read through /proc/self/fd/N/name with the calls that do not
 * follow symlinks: the path is short whatever the depth, and works for every
 * type of file without opening it.
 *
 * A node's strings lie in one block: first the table of xattrs, then bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "source/source_internal.h"

#define PROC_PATH_MAX (sizeof("/proc/self/fd//") + 10 + NODE_NAME_MAX)
/* Nearly all lists fit; longer ones are asked for by size. */
#define LIST_FIRST 512
/* As the kernel's limits: XATTR_LIST_MAX, XATTR_SIZE_MAX. */
#define LIST_MAX 65536
#define VALUE_FIRST 512

/* Offsets into @bytes until the block has its place. */
struct gathered {
	u32 name_off, value_off, len;
};

struct gather {
	struct buf bytes;
	struct buf xattrs; /* struct gathered, sorted by name */
	u32 nr;
	u32 target_off;
	u32 target_len;
	u64 value_bytes;
};

static int node_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return NODE_FILE;
	case S_IFDIR:
		return NODE_DIR;
	case S_IFLNK:
		return NODE_SYMLINK;
	case S_IFIFO:
		return NODE_FIFO;
	case S_IFSOCK:
		return NODE_SOCKET;
	case S_IFCHR:
		return NODE_CHARDEV;
	case S_IFBLK:
		return NODE_BLOCKDEV;
	default:
		return 0;
	}
}

static void fill(struct node *n, const struct stat *st)
{
	memset(n, 0, sizeof(*n));
	n->type = (u8)node_type(st->st_mode);
	if (st->st_nlink > 1 && n->type != NODE_DIR)
		n->flags |= NODE_LINKED;
	n->mode = st->st_mode & 07777;
	n->uid = st->st_uid;
	n->gid = st->st_gid;
	n->mtime_sec = st->st_mtim.tv_sec;
	n->mtime_nsec = (u32)st->st_mtim.tv_nsec;
	n->ctime_sec = st->st_ctim.tv_sec;
	n->ctime_nsec = (u32)st->st_ctim.tv_nsec;
	n->dev = st->st_dev;
	n->ino = st->st_ino;
	if (n->type == NODE_FILE)
		n->size = (u64)st->st_size;
	if (n->type == NODE_CHARDEV || n->type == NODE_BLOCKDEV)
		n->rdev = st->st_rdev;
}

/* 0 or an errno. */
static int read_target(int at, const char *name, struct gather *g)
{
	size_t room = 256;
	ssize_t n;
	u8 *p;

	for (;; room = NODE_TARGET_MAX + 1) {
		p = buf_reserve(&g->bytes, room);
		if (!p)
			return ENOMEM;
		n = readlinkat(at, name, (char *)p, room);
		if (n < 0)
			return errno == EINVAL ? ELOOP : errno;
		if ((size_t)n < room)
			break;
		if (room > NODE_TARGET_MAX)
			return ENAMETOOLONG;
	}
	g->target_off = (u32)g->bytes.len;
	g->target_len = (u32)n;
	g->bytes.len += (size_t)n;
	return 0;
}

static const char *gathered_name(const struct gather *g, u32 i)
{
	const struct gathered *x = (const void *)g->xattrs.data;

	return (const char *)g->bytes.data + x[i].name_off;
}

/* Insertion keeps the table sorted: lists are short and come nearly so. */
static void keep_xattr(struct gather *g, struct gathered x)
{
	const char *name = (const char *)g->bytes.data + x.name_off;
	struct gathered *table;
	u32 i = g->nr;

	if (!buf_extend(&g->xattrs, sizeof(x)))
		return;
	table = (void *)g->xattrs.data;
	while (i > 0 && strcmp(gathered_name(g, i - 1), name) > 0)
		i--;
	memmove(table + i + 1, table + i, (g->nr - i) * sizeof(x));
	table[i] = x;
	g->nr++;
}

/* One value; 0, or an errno, then @g is as it was. */
static int read_xattr(const char *path, const char *name, struct gather *g)
{
	size_t start = g->bytes.len, room = VALUE_FIRST;
	struct gathered x = {.name_off = (u32)start};
	ssize_t n;
	u8 *p;

	if (strlen(name) > NODE_XATTR_NAME_MAX || g->nr == NODE_XATTRS_MAX)
		return E2BIG;
	buf_put(&g->bytes, name, strlen(name) + 1);
	x.value_off = (u32)g->bytes.len;
	do {
		p = buf_reserve(&g->bytes, room);
		if (!p)
			return ENOMEM;
		n = lgetxattr(path, name, p, room);
		room = room < NODE_XATTR_VALUE_MAX ? NODE_XATTR_VALUE_MAX : 0;
	} while (n < 0 && errno == ERANGE && room);
	if (n < 0 || g->value_bytes + (u64)n > SOURCE_XATTR_BYTES) {
		g->bytes.len = start;
		return n < 0 ? errno : E2BIG;
	}
	x.len = (u32)n;
	g->bytes.len += (size_t)n;
	g->value_bytes += (u64)n;
	keep_xattr(g, x);
	return 0;
}

/* The list of names into @out; 0 or an errno. */
static int list_xattrs(const char *path, struct buf *out)
{
	char first[LIST_FIRST];
	ssize_t n = llistxattr(path, first, sizeof(first));
	u8 *p;

	if (n >= 0) {
		if (n > 0)
			buf_put(out, first, (size_t)n);
		return out->failed ? ENOMEM : 0;
	}
	if (errno != ERANGE)
		return errno;
	p = buf_reserve(out, LIST_MAX);
	if (!p)
		return ENOMEM;
	n = llistxattr(path, (char *)p, LIST_MAX);
	if (n < 0)
		return errno;
	out->len = (size_t)n;
	return 0;
}

static int proc_path(char out[PROC_PATH_MAX], int at, const char *name)
{
	int n = snprintf(out, PROC_PATH_MAX, "/proc/self/fd/%d/%s", at, name);

	return n < 0 || (size_t)n >= PROC_PATH_MAX ? ENAMETOOLONG : 0;
}

/* Only memory is an error here; all else leaves xattrs out. */
static int read_xattrs(struct source_walk *w, int at, const char *name,
		       struct gather *g)
{
	char path[PROC_PATH_MAX];
	struct buf list = {0};
	const char *key;
	size_t i = 0;
	int err;

	err = proc_path(path, at, name);
	if (!err)
		err = list_xattrs(path, &list);
	while (!err && i < list.len) {
		key = (const char *)list.data + i;
		i += strlen(key) + 1;
		err = read_xattr(path, key, g);
		if (err && err != ENOMEM) {
			/* One removed since it was listed is no loss. */
			w->nr_skipped_xattrs += err != ENODATA;
			err = 0;
		}
	}
	buf_release(&list);
	if (err == ENOMEM)
		return err;
	/* ENOTSUP: the file system has none. */
	w->nr_skipped_xattrs += err && err != ENOTSUP;
	return 0;
}

/* Moves what was gathered into @n's block. 0 or ENOMEM. */
static int settle(struct node *n, struct gather *g)
{
	const struct gathered *x = (const void *)g->xattrs.data;
	size_t table = g->nr * sizeof(struct node_xattr);
	u8 *block = g->bytes.data, *bytes;
	u32 i;

	if (buf_error(&g->bytes) || buf_error(&g->xattrs))
		return ENOMEM;
	if (g->nr) {
		block = mem_alloc(table + g->bytes.len);
		if (!block)
			return ENOMEM;
		memcpy(block + table, g->bytes.data, g->bytes.len);
	} else {
		memset(&g->bytes, 0, sizeof(g->bytes));
	}
	bytes = block + table;
	n->memory = block;
	n->name = (const char *)bytes;
	n->target = g->target_len ? bytes + g->target_off : NULL;
	n->target_len = g->target_len;
	n->nr_xattrs = g->nr;
	n->xattrs = g->nr ? (void *)block : NULL;
	for (i = 0; i < g->nr; i++) {
		n->xattrs[i].name = (const char *)bytes + x[i].name_off;
		n->xattrs[i].value = bytes + x[i].value_off;
		n->xattrs[i].len = x[i].len;
	}
	return 0;
}

int source_stat(struct source_walk *w, const char *name, bool want_xattrs,
		struct node *out, struct akin_diag *diag)
{
	bool here = strcmp(name, ".") == 0;
	const char *known = here ? dirstack_name(w->stack) : name;
	struct gather g = {0};
	int at = dirstack_fd(w->stack), err = 0;
	struct stat st;

	memset(out, 0, sizeof(*out));
	if (strlen(known) > NODE_NAME_MAX)
		err = ENAMETOOLONG;
	else if (at < 0)
		err = ESTALE;
	else if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		err = errno;
	if (err)
		goto out;
	fill(out, &st);
	if (!out->type)
		err = EINVAL;
	buf_put(&g.bytes, known, strlen(known) + 1);
	if (!err && out->type == NODE_SYMLINK)
		err = read_target(at, name, &g);
	if (!err && want_xattrs)
		err = read_xattrs(w, at, name, &g);
	if (!err)
		err = settle(out, &g);
out:
	buf_release(&g.bytes);
	buf_release(&g.xattrs);
	if (err) {
		memset(out, 0, sizeof(*out));
		return source_fail(source_walk_path(w, here ? NULL : name), err,
				   diag);
	}
	return 0;
}

void source_node_release(struct node *n)
{
	mem_free(n->memory);
	memset(n, 0, sizeof(*n));
}
