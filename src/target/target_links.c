/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard links.
 *
 * The first restored name of a group is remembered by its path below the
 * target and by the inode it got. A later name becomes a link to it: the path
 * is walked again component by component, and the inode must be the one
 * remembered, before the link is made and after. If it is not, or if the
 * system refuses the link, the node is restored by itself and is then the one
 * that is remembered.
 *
 * The table stays within max_bytes; when it is full, groups not in it are
 * restored as copies.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "target/target_internal.h"

#define COMPONENT_MAX 255

static u64 hash_id(u64 dev, u64 ino)
{
	u64 h = (ino ^ dev * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	h ^= h >> 32;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 29;
}

/* The slot of @table that holds the entry, or NULL. */
static u32 *find_slot(const struct target_links *l, u32 *table, u64 dev,
		      u64 ino)
{
	const struct target_link *e;
	u32 *slot;
	u64 i;

	if (!l->slots)
		return NULL;
	for (i = hash_id(dev, ino);; i++) {
		slot = &table[i & (l->slots - 1)];
		if (!*slot)
			return NULL;
		e = &l->entries[*slot - 1];
		if (table == l->by_node ? e->dev == dev && e->ino == ino
					: e->to_dev == dev && e->to_ino == ino)
			return slot;
	}
}

static void insert(const struct target_links *l, u32 *table, u64 dev, u64 ino,
		   u32 at)
{
	u64 i = hash_id(dev, ino);

	while (table[i & (l->slots - 1)])
		i++;
	table[i & (l->slots - 1)] = at + 1;
}

static void index_entry(const struct target_links *l, u32 at)
{
	const struct target_link *e = &l->entries[at];

	insert(l, l->by_node, e->dev, e->ino, at);
	insert(l, l->by_inode, e->to_dev, e->to_ino, at);
}

/* Twice the entries, four times the slots, so that half of them stay free. */
static int grow(struct target_links *l)
{
	size_t cap = l->cap ? l->cap * 2 : 64, slots = cap * 2;
	struct target_link *entries;
	u32 *by_node, *by_inode;
	u32 i;

	entries = mem_realloc(l->entries, cap * sizeof(*entries));
	if (!entries)
		return -AKIN_E_nomem;
	l->entries = entries;
	by_node = mem_calloc(slots, sizeof(*by_node));
	by_inode = mem_calloc(slots, sizeof(*by_inode));
	if (!by_node || !by_inode) {
		mem_free(by_node);
		mem_free(by_inode);
		return -AKIN_E_nomem;
	}
	mem_free(l->by_node);
	mem_free(l->by_inode);
	l->by_node = by_node;
	l->by_inode = by_inode;
	l->slots = slots;
	l->cap = cap;
	/* Backwards: of one group's entries the newest is found first. */
	for (i = (u32)l->nr; i-- > 0;)
		index_entry(l, i);
	return 0;
}

static size_t table_bytes(size_t cap)
{
	return cap * (sizeof(struct target_link) + 4 * sizeof(u32));
}

/* Would one more entry with this path stay within the budget? */
static bool fits(const struct target_links *l, size_t path_len)
{
	size_t cap = l->nr < l->cap ? l->cap : l->cap * 2 + 64;
	size_t paths = l->paths.cap;

	if (paths - l->paths.len < path_len)
		paths += paths / 2 + path_len;
	return table_bytes(cap) + paths <= l->max_bytes && cap < UINT32_MAX / 4;
}

int target_links_put(struct target *t, const struct node *n,
		     const struct stat *st, struct akin_diag *diag)
{
	struct target_links *l = &t->links;
	const char *path = target_relative(t, n->name);
	size_t len = strlen(path) + 1;
	u32 *slot;
	struct target_link e = {
		.dev = n->dev,
		.ino = n->ino,
		.to_dev = st->st_dev,
		.to_ino = st->st_ino,
		.path_off = l->paths.len,
	};

	if (!fits(l, len)) {
		if (!l->full)
			target_warn(t, n->name, -AKIN_E_partial,
				    "too many hard links for the memory: "
				    "further ones become copies");
		l->full = true;
		return 0;
	}
	if (l->nr == l->cap && grow(l))
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	buf_put(&l->paths, path, len);
	if (len == 1 || buf_error(&l->paths))
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	slot = find_slot(l, l->by_node, e.dev, e.ino);
	l->entries[l->nr] = e;
	if (slot) {
		/* The newest is linked to; older inodes stay claimed. */
		*slot = (u32)l->nr + 1;
		insert(l, l->by_inode, e.to_dev, e.to_ino, (u32)l->nr);
	} else {
		index_entry(l, (u32)l->nr);
	}
	l->nr++;
	return 0;
}

bool target_links_claimed(const struct target *t, const struct stat *st)
{
	return t->links.full ||
	       find_slot(&t->links, t->links.by_inode, st->st_dev, st->st_ino);
}

void target_links_release(struct target_links *l)
{
	mem_free(l->entries);
	mem_free(l->by_node);
	mem_free(l->by_inode);
	buf_release(&l->paths);
}

/* Descriptor of the directory that holds @path; its last part in *name_ret.
 * -1 and errno. */
static int open_holder(struct target *t, const char *path,
		       const char **name_ret)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int at = openat(dirstack_root_fd(t->stack), ".", flags), next, err;
	char name[COMPONENT_MAX + 1];
	const char *slash;

	while (at >= 0 && (slash = strchr(path, '/'))) {
		memcpy(name, path, (size_t)(slash - path));
		name[slash - path] = 0;
		path = slash + 1;
		next = openat(at, name, flags);
		err = errno;
		close(at);
		errno = err;
		at = next;
	}
	*name_ret = path;
	return at;
}

static bool is_inode(int at, const char *name, const struct target_link *e)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == e->to_dev && st.st_ino == e->to_ino;
}

/* 0 or an errno. */
static int make_link(struct target *t, const struct target_link *e,
		     const char *name)
{
	const char *path = (const char *)t->links.paths.data + e->path_off;
	int at = target_at(t), holder, err = 0;
	const char *from;

	holder = open_holder(t, path, &from);
	if (holder < 0)
		return errno;
	if (!is_inode(holder, from, e))
		err = ESTALE;
	else if (linkat(holder, from, at, name, 0) < 0)
		err = errno;
	close(holder);
	if (!err && !is_inode(at, name, e)) {
		/* Somebody swapped it: what we linked is not ours. */
		(void)unlinkat(at, name, 0);
		err = ESTALE;
	}
	return err;
}

int target_links_try(struct target *t, const struct node *n,
		     struct akin_diag *diag)
{
	const struct target_link *e;
	struct stat st;
	u32 *slot = NULL;
	int rc, err;

	if (n->flags & NODE_LINKED)
		slot = find_slot(&t->links, t->links.by_node, n->dev, n->ino);
	if (!slot)
		return 0;
	e = &t->links.entries[*slot - 1];
	rc = target_lookup(t, n->name, &st, diag);
	if (rc < 0)
		return rc;
	if (rc && st.st_dev == e->to_dev && st.st_ino == e->to_ino) {
		target_event(t, n->name, TARGET_UNCHANGED);
		return 1;
	}
	if (rc && t->opt.overwrite == TARGET_NEVER) {
		target_event(t, n->name, TARGET_UNCHANGED);
		return 1;
	}
	if (rc) {
		rc = target_clear(t, n->name, &st, diag);
		if (rc < 0)
			return rc;
	}
	err = t->opt.dry_run ? 0 : make_link(t, e, n->name);
	if (err == ENOSPC || err == EDQUOT)
		return target_fail(t, n->name, err, diag);
	if (err) {
		target_warn(t, n->name, error_from_errno(err),
			    "cannot be linked to its other names here and "
			    "becomes a copy");
		return 0;
	}
	target_event(t, n->name, TARGET_LINKED);
	return 1;
}
