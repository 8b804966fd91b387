/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool as what is to be estimated: its snapshots, oldest first, each a state.
 *
 * A handle does one thing at a time, so what a directory holds is listed before
 * any of it is read: as many names as there is room for, and the listing again
 * for those behind them.
 */
#include <stdio.h>

#include "akin/snapshot.h"
#include "base/mem.h"
#include "estimate.h"
#include "hash/hash.h"

#define NAMES_BYTES ((size_t)1 << 20)
#define LINKS_BYTES ((u64)1 << 20)
/* Deeper would be a pool made to harm. */
#define DEPTH_MAX 4096

struct name {
	u64 size;
	bool is_dir;
	char path[];
};

struct snapshot {
	u64 number;
	s64 time;
};

struct pool_walk {
	struct estimate *e;
	const struct estimate_walk_ops *ops;
	struct estimate_walk *w;
	struct akin_pool *pool;
	u64 number;
	struct snapshot *snapshots;
	u32 nr_snapshots;
	u64 of;			/* hash of the first one's host and paths */
	struct estimate_set links;
	const char *path;	/* that is being read */
	u64 off;
	u8 zeros[64 << 10];
	struct akin_diag *diag;
};

bool estimate_is_pool(const char *path)
{
	struct akin_open_options opt = {
		.path = path, .memory_bytes = AKIN_MEMORY_MIN,
		.nr_threads = 1, .read_only = true,
	};
	struct akin_diag none = { 0 };
	struct akin_pool *pool;

	if (akin_pool_open(&opt, &pool, &none))
		return false;
	akin_pool_close(pool);
	return true;
}

static u64 hash_of(const struct akin_snapshot *s)
{
	u64 h = checksum64(s->host, strlen(s->host), 0);
	u32 i;

	for (i = 0; i < s->nr_paths; i++)
		h = checksum64(s->paths[i], strlen(s->paths[i]), h);
	return h;
}

static int on_snapshot(void *ctx, const struct akin_snapshot *s)
{
	struct pool_walk *k = ctx;
	struct snapshot *more;

	more = mem_realloc(k->snapshots,
			   (k->nr_snapshots + 1) * sizeof(*more));
	if (!more)
		return -AKIN_E_nomem;
	k->snapshots = more;
	if (!k->nr_snapshots)
		k->of = hash_of(s);
	k->w->mixed = k->w->mixed || hash_of(s) != k->of;
	more[k->nr_snapshots++] = (struct snapshot){ s->number, s->time_sec };
	k->w->bytes += k->e ? 0 : s->bytes;
	k->w->files += k->e ? 0 : s->files;
	return 0;
}

/* Reading ----------------------------------------------------------------- */

static int on_data(void *ctx, const void *data, size_t n)
{
	struct pool_walk *k = ctx;
	int err = estimate_feed(k->e, k->off, data, n, k->diag);

	k->off += n;
	k->w->bytes += n;
	if (!err && k->ops->progress)
		err = k->ops->progress(k->ops->ctx, k->w->files, k->w->bytes,
				       k->path);
	return err;
}

static int on_hole(void *ctx, uint64_t len)
{
	struct pool_walk *k = ctx;
	u64 part;
	int err = 0;

	for (; len && !err; len -= part) {
		part = min_u64(len, sizeof(k->zeros));
		err = on_data(k, k->zeros, part);
	}
	return err;
}

static int read_one(struct pool_walk *k, const char *path)
{
	struct akin_diag why = { 0 };
	int err, end;

	k->path = path;
	k->off = 0;
	k->w->files++;
	err = estimate_begin(k->e, path, path + 1, k->diag);
	if (err)
		return err;
	err = akin_snapshot_read(k->pool, k->number, path, on_data, on_hole, k,
				 &why);
	end = estimate_end(k->e, k->off, k->diag);
	if (end)
		return end;
	/* Damage is warned of; what the estimate itself met is not. */
	if (err && akin_error_class(err) == AKIN_CLASS_CORRUPT) {
		k->w->warnings++;
		if (k->ops->warning)
			k->ops->warning(k->ops->ctx, path, err, why.text);
		return 0;
	}
	return err ? diag_pass(k->diag, err, &why) : 0;
}

/* Directories ------------------------------------------------------------- */

struct listing {
	struct pool_walk *k;
	const char *dir;
	u64 skip, at;		/* names before, and so far */
	u8 *buf;
	size_t len;
	u32 nr;
	bool full;
};

static bool is_again(struct pool_walk *k, const struct akin_node *n)
{
	u64 id[2] = { n->dev, n->ino };

	return n->linked &&
	       estimate_set_add(&k->links, checksum64(id, sizeof(id), 0), 0) ==
		       ESTIMATE_KNOWN;
}

static int on_node(void *ctx, const struct akin_node *n)
{
	struct listing *l = ctx;
	size_t size = sizeof(struct name) + strlen(n->path) + 1;
	struct name *name;

	size = (size + 7) & ~(size_t)7;
	if (strcmp(n->path, l->dir) == 0 ||
	    (n->type != AKIN_NODE_FILE && n->type != AKIN_NODE_STREAM &&
	     n->type != AKIN_NODE_DIR))
		return 0;
	if (l->at++ < l->skip)
		return 0;
	if (l->len + size > NAMES_BYTES) {
		l->full = true;
		l->at--;
		return 1;
	}
	if (is_again(l->k, n))
		return 0;
	name = (struct name *)(void *)(l->buf + l->len);
	name->size = size;
	name->is_dir = n->type == AKIN_NODE_DIR;
	memcpy(name->path, n->path, strlen(n->path) + 1);
	l->len += size;
	l->nr++;
	return 0;
}

static int read_dir(struct pool_walk *k, const char *dir, u32 depth);

static int read_names(struct pool_walk *k, const struct listing *l, u32 depth)
{
	const struct name *name;
	size_t at;
	int err = 0;

	for (at = 0; at < l->len && !err; at += name->size) {
		name = (const struct name *)(const void *)(l->buf + at);
		err = name->is_dir ? read_dir(k, name->path, depth + 1) :
				     read_one(k, name->path);
	}
	return err;
}

/* Recursion: each level holds its names, so its depth is bounded. */
static int read_dir(struct pool_walk *k, const char *dir, u32 depth)
{
	struct listing l = { .k = k, .dir = dir };
	int err;
	u8 *less;

	if (depth > DEPTH_MAX)
		return diag_set(k->diag, -AKIN_E_too_large, "%s: too deep",
				dir);
	err = estimate_enter(k->e, dir, k->diag);
	do {
		l.skip = l.at;
		l.at = l.len = 0;
		l.nr = 0;
		l.full = false;
		l.buf = mem_alloc(NAMES_BYTES);
		if (!err && !l.buf)
			err = diag_set(k->diag, -AKIN_E_nomem, "names");
		if (!err)
			err = akin_snapshot_list(k->pool, k->number, dir, false,
						 on_node, &l, k->diag);
		if (err == 1)
			err = 0;
		less = l.len ? mem_realloc(l.buf, l.len) : NULL;
		l.buf = less ? less : l.buf;
		if (!err)
			err = read_names(k, &l, depth);
		mem_free(l.buf);
	} while (!err && l.full);
	return err ? err : estimate_leave(k->e, k->diag);
}

static int read_snapshot(struct pool_walk *k, const struct snapshot *s)
{
	int err = estimate_set_init(&k->links, LINKS_BYTES);

	if (err)
		return diag_set(k->diag, err, "out of memory");
	k->number = s->number;
	err = read_dir(k, "/", 0);
	estimate_set_release(&k->links);
	return err ? err : estimate_state_end(k->e, s->time, k->diag);
}

int estimate_pool(struct estimate *e, const char *path,
		  const struct estimate_walk_ops *ops, struct estimate_walk *w,
		  struct akin_diag *diag)
{
	struct akin_open_options opt = {
		.path = path, .memory_bytes = ESTIMATE_MEMORY_POOL,
		.read_only = true,
	};
	struct pool_walk *k = mem_zalloc(sizeof(*k));
	int err;
	u32 i;

	if (!k)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	k->e = e;
	k->ops = ops;
	k->w = w;
	k->diag = diag;
	err = akin_pool_open(&opt, &k->pool, diag);
	if (!err)
		err = akin_snapshot_each(k->pool, NULL, on_snapshot, k, diag);
	if (!err && !k->nr_snapshots)
		err = diag_set(diag, -AKIN_E_absent, "%s: there is no snapshot "
			       "in the pool", path);
	for (i = 0; e && i < k->nr_snapshots && !err; i++)
		err = read_snapshot(k, &k->snapshots[i]);
	akin_pool_close(k->pool);
	mem_free(k->snapshots);
	mem_free(k);
	return err;
}
