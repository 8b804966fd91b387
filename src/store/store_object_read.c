/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What objects there are: transactions, spaces in them, names in those.
 *
 * First the transactions and spaces that a query is about are collected, a few
 * bytes each; then one listing after the other is walked. So callbacks run with
 * no transaction of the catalog open.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/store_newest.h"
#include "store/store_session.h"
#include "tree/tree_walk.h"

static bool has_space(const struct snapshot *s, const char *space)
{
	u32 i;

	for (i = 0; i < s->nr_paths; i++) {
		if (strcmp(s->paths[i], space) == 0)
			return true;
	}
	return false;
}

struct newest {
	const char *host, *space;
	struct store_newest newest;
};

static int note_newest(void *ctx, const struct snapshot *s,
		       const struct catalog_status *st)
{
	struct newest *n = ctx;

	if (s->flags & SNAPSHOT_OBJECTS && has_space(s, n->space) &&
	    (!n->host || (s->host && strcmp(s->host, n->host) == 0)))
		store_newest_offer(&n->newest, s);
	return 0;
}

int objects_newest(struct akin_pool *p, const char *host, const char *space,
		   u64 *number_ret, struct akin_diag *diag)
{
	struct newest n = { .host = host, .space = space };
	int err;

	err = catalog_each_status(p->catalog, CATALOG_LISTED, note_newest, &n,
				  diag);
	*number_ret = n.newest.number;
	return err;
}

/* A space of a transaction. */
struct part {
	u64 number;
	u32 space;		/* which of its paths */
	u64 series;		/* host and space */
	bool wanted;
};

struct search {
	struct akin_session *s;
	const struct akin_object_query *query;
	char *space, *path;	/* cleaned; NULL: any */
	struct part *parts;
	u32 nr, cap;
	struct decoder dec;
	int (*fn)(void *ctx, const struct akin_object_info *info);
	void *ctx;
	/* The one that is walked. */
	struct snapshot snap;
	const char *name;	/* of its space */
	struct akin_attribute attributes[OBJECT_XATTRS_MAX];
	char *text;		/* of a path that is cut */
	size_t text_bytes;
};

static int add_part(struct search *q, u64 number, u32 space, u64 series)
{
	u32 cap = q->cap ? q->cap * 2 : 64;
	struct part *p;

	if (q->nr == q->cap) {
		p = mem_realloc(q->parts, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		q->parts = p;
		q->cap = cap;
	}
	p = &q->parts[q->nr++];
	p->number = number;
	p->space = space;
	p->series = series;
	p->wanted = true;
	return 0;
}

static int collect(void *ctx, const struct snapshot *s,
		   const struct catalog_status *st)
{
	struct search *q = ctx;
	const char *host = s->host ? s->host : "";
	u64 series;
	u32 i;
	int err = 0;

	if (!(s->flags & SNAPSHOT_OBJECTS) ||
	    (q->query->transaction && s->number != q->query->transaction) ||
	    (q->query->host && strcmp(host, q->query->host)))
		return 0;
	series = checksum64(host, strlen(host), 0);
	for (i = 0; !err && i < s->nr_paths; i++) {
		if (!q->space || strcmp(s->paths[i], q->space) == 0)
			err = add_part(q, s->number, i,
				       checksum64(s->paths[i],
						  strlen(s->paths[i]),
						  series));
	}
	return err;
}

static int by_series(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int by_number(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->space > b->space) - (a->space < b->space);
}

static void keep_newest(struct search *q)
{
	u32 i;

	qsort(q->parts, q->nr, sizeof(*q->parts), by_series);
	for (i = 0; i + 1 < q->nr; i++)
		q->parts[i].wanted = q->parts[i].series !=
				     q->parts[i + 1].series;
	qsort(q->parts, q->nr, sizeof(*q->parts), by_number);
}

/* Attributes of the program's; *is_dir_ret: it was given as a directory. */
static u32 export_attributes(struct search *q, const struct node *n,
			     bool *is_dir_ret)
{
	u32 i, nr = 0;

	*is_dir_ret = false;
	for (i = 0; i < n->nr_xattrs && nr < OBJECT_XATTRS_MAX; i++) {
		if (strcmp(n->xattrs[i].name, OBJECT_XATTR_TYPE) == 0)
			*is_dir_ret = n->type == NODE_DIR;
		if (strncmp(n->xattrs[i].name, OBJECT_XATTR "akin.", 10) == 0 ||
		    strncmp(n->xattrs[i].name, OBJECT_XATTR,
			    strlen(OBJECT_XATTR)))
			continue;
		q->attributes[nr].name = n->xattrs[i].name +
					 strlen(OBJECT_XATTR);
		q->attributes[nr].value = n->xattrs[i].value;
		q->attributes[nr++].len = n->xattrs[i].len;
	}
	return nr;
}

/* @rest is what follows the space: "path/name", cut in q->text. */
static int cut_path(struct search *q, const char *rest,
		    struct akin_object_name *out, struct akin_diag *diag)
{
	size_t n = strlen(rest) + 1;
	char *p, *slash;

	if (n > q->text_bytes) {
		p = mem_realloc(q->text, n);
		if (!p)
			return diag_set(diag, -AKIN_E_nomem, "path");
		q->text = p;
		q->text_bytes = n;
	}
	memcpy(q->text, rest, n);
	slash = strrchr(q->text, '/');
	out->path = "";
	out->name = q->text;
	if (slash) {
		*slash = 0;
		out->path = q->text;
		out->name = slash + 1;
	}
	return 0;
}

/* The node at /SPACE/@rest; a stream without a space has an empty @rest. */
static int emit(struct search *q, const char *rest, const struct node *n,
		const struct hint *hint, struct akin_diag *diag)
{
	struct akin_object_info info = { 0 };
	bool is_dir;
	int err;

	if (n->type != NODE_STREAM && n->type != NODE_DIR)
		return 0;
	info.nr_attributes = export_attributes(q, n, &is_dir);
	if (n->type == NODE_DIR && !is_dir)
		return 0;
	info.name.space = *rest ? q->name : "";
	err = cut_path(q, *rest ? rest : q->name, &info.name, diag);
	if (err)
		return err;
	if (q->query->name && fnmatch(q->query->name, info.name.name, 0))
		return 0;
	info.name.type = is_dir ? AKIN_OBJECT_DIRECTORY : AKIN_OBJECT_FILE;
	info.transaction = q->snap.number;
	store_id_export(q->snap.id, info.id);
	info.time_sec = q->snap.time_sec;
	info.host = q->snap.host ? q->snap.host : "";
	info.size = n->size;
	info.mtime_sec = n->mtime_sec;
	info.mtime_nsec = n->mtime_nsec;
	info.attributes = q->attributes;
	info.order = hint && hint->nr ? hint->containers[0] : 0;
	return q->fn(q->ctx, &info);
}

/* Everything below the directory /SPACE/@base (@base may be empty). */
static int walk(struct search *q, const char *base, const struct node *dir,
		const struct hint *hint, struct akin_diag *diag)
{
	struct tree_step step;
	struct tree_walk *w;
	const char *rest;
	int err, more;

	err = tree_walk_open(&q->s->pool->depot, &q->dec, &dir->content, hint,
			     base, &w, diag);
	if (err)
		return err;
	for (;;) {
		err = store_check_stop(q->s->pool, diag);
		more = err ? err : tree_walk_next(w, &step, diag);
		if (more <= 0) {
			err = more;
			break;
		}
		if (step.event != TREE_NODE)
			continue;
		rest = step.path + strspn(step.path, "/");
		err = emit(q, rest, step.node, step.hint, diag);
		if (err)
			break;
	}
	tree_walk_close(w);
	return err;
}

/* One space of one transaction, or the part of it that is asked for. */
static int search_space(struct search *q, struct akin_diag *diag)
{
	const char *base = q->path ? q->path : "";
	size_t n = strlen(q->name) + strlen(base) + 2;
	struct hint hint;
	struct node node;
	char *path = mem_alloc(n);
	int err;

	if (!path)
		return diag_set(diag, -AKIN_E_nomem, "path");
	snprintf(path, n, "%s%s%s", q->name, *base ? "/" : "", base);
	err = store_lookup_with(q->s->pool, &q->dec, &q->snap, path, &node,
				&hint, NULL);
	mem_free(path);
	if (err == -AKIN_E_path_unknown)
		return 0;
	if (err)
		return diag_set(diag, err, "'%s': %s", q->name,
				akin_strerror(err));
	err = emit(q, base, &node, &hint, diag);
	if (!err && node.type == NODE_DIR)
		err = walk(q, base, &node, &hint, diag);
	node_release(&node);
	mem_free(hint.containers);
	return err;
}

static int search_parts(struct search *q, struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < q->nr; i++) {
		if (!q->parts[i].wanted)
			continue;
		err = catalog_snapshot(q->s->pool->catalog, q->parts[i].number,
				       &q->snap, diag);
		/* Forgotten since. */
		if (err == -AKIN_E_snap_unknown) {
			diag_clear(diag);
			err = 0;
			continue;
		}
		if (err)
			break;
		q->name = q->snap.paths[q->parts[i].space];
		err = search_space(q, diag);
		snapshot_release(&q->snap);
		memset(&q->snap, 0, sizeof(q->snap));
	}
	return err;
}

static int clean(struct search *q, struct akin_diag *diag)
{
	const struct akin_object_query *query = q->query;
	int err = 0;

	if (query->space)
		err = object_clean(query->space, OBJECT_SPACE_MAX, "space",
				   &q->space, diag);
	if (!err && query->path)
		err = object_clean(query->path, OBJECT_PATH_MAX, "path",
				   &q->path, diag);
	return err;
}

int akin_object_query(struct akin_session *s,
		      const struct akin_object_query *query,
		      int (*fn)(void *ctx,
				const struct akin_object_info *info),
		      void *ctx, struct akin_diag *diag)
{
	struct search q = { .s = s, .query = query, .fn = fn, .ctx = ctx };
	struct codec_choice codec;
	int err;

	err = clean(&q, diag);
	if (!err)
		err = session_refresh(s, diag);
	pthread_rwlock_rdlock(&s->index_lock);
	codec = depot_codec(&s->pool->depot);
	if (!err)
		err = decoder_init(&q.dec, &codec, diag);
	if (!err)
		err = catalog_each_status(s->pool->catalog, CATALOG_LISTED,
					  collect, &q, diag);
	if (!err && query->newest)
		keep_newest(&q);
	if (!err)
		err = search_parts(&q, diag);
	decoder_release(&q.dec);
	pthread_rwlock_unlock(&s->index_lock);
	mem_free(q.parts);
	mem_free(q.text);
	mem_free(q.space);
	mem_free(q.path);
	return err < 0 ? diag_said(diag, err) : err;
}
