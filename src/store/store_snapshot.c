/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding snapshots.
 */
#include <stdio.h>

#include "store/store.h"

void store_hex(const u8 *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = 0;
}

void store_id_export(const u8 id[SNAPSHOT_ID_BYTES], char *out)
{
	static const u8 none[SNAPSHOT_ID_BYTES];

	*out = 0;
	if (memcmp(id, none, sizeof(none)))
		store_hex(id, sizeof(none), out);
}

void store_snapshot_export(const struct snapshot *s, struct akin_snapshot *out)
{
	const struct snapshot_counts *c = &s->counts;

	memset(out, 0, sizeof(*out));
	out->number = s->number;
	store_id_export(s->id, out->id);
	store_id_export(s->parent, out->parent);
	out->time_sec = s->time_sec;
	out->time_nsec = s->time_nsec;
	out->utc_offset_sec = s->utc_offset_sec;
	out->host = s->host ? s->host : "";
	out->user = s->user ? s->user : "";
	out->command = s->command ? s->command : "";
	out->paths = (const char *const *)s->paths;
	out->tags = (const char *const *)s->tags;
	out->nr_paths = s->nr_paths;
	out->nr_tags = s->nr_tags;
	out->partial = s->flags & SNAPSHOT_PARTIAL;
	out->files = c->files;
	out->dirs = c->dirs;
	out->others = c->others;
	out->bytes = c->bytes;
	out->bytes_read = c->bytes_read;
	out->chunks = c->chunks;
	out->chunks_new = c->chunks_new;
	out->bytes_new = c->bytes_new;
	out->bytes_stored = c->bytes_stored;
	out->bytes_meta = c->bytes_meta;
	out->duration_ns = c->duration_ns;
	out->warnings = c->warnings;
}

static bool contains(char **list, u32 nr, const char *what)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (strcmp(list[i], what) == 0)
			return true;
	}
	return false;
}

static bool same_paths(const struct snapshot *s, const char *const *paths,
		       u32 nr)
{
	u32 i;

	if (s->nr_paths != nr)
		return false;
	for (i = 0; i < nr; i++) {
		if (!contains(s->paths, nr, paths[i]))
			return false;
	}
	return true;
}

static bool matches(const struct snapshot *s,
		    const struct akin_snapshot_filter *f)
{
	u32 i;

	if (!f)
		return true;
	if (f->host && (!s->host || strcmp(s->host, f->host)))
		return false;
	for (i = 0; i < f->nr_tags; i++) {
		if (!contains(s->tags, s->nr_tags, f->tags[i]))
			return false;
	}
	return !f->paths || same_paths(s, f->paths, f->nr_paths);
}

struct each {
	const struct akin_snapshot_filter *filter;
	int (*fn)(void *ctx, const struct akin_snapshot *s);
	void *ctx;
};

static int each_one(void *ctx, const struct snapshot *s)
{
	struct each *e = ctx;
	struct akin_snapshot out;

	if (!matches(s, e->filter))
		return 0;
	store_snapshot_export(s, &out);
	return e->fn(e->ctx, &out);
}

int akin_snapshot_each(struct akin_pool *p,
		       const struct akin_snapshot_filter *filter,
		       int (*fn)(void *ctx, const struct akin_snapshot *s),
		       void *ctx, struct akin_diag *diag)
{
	struct each e = { filter, fn, ctx };
	int err;

	err = catalog_each_snapshot(p->catalog, each_one, &e, diag);
	return err < 0 ? diag_said(diag, err) : err;
}

struct search {
	const char *id, *tag;
	const struct akin_snapshot_filter *filter;
	u64 number;
	u32 nr;
};

static int search_one(void *ctx, const struct snapshot *s)
{
	struct search *q = ctx;
	char id[2 * SNAPSHOT_ID_BYTES + 1];

	if (!matches(s, q->filter))
		return 0;
	if (q->tag && !contains(s->tags, s->nr_tags, q->tag))
		return 0;
	store_hex(s->id, sizeof(s->id), id);
	if (q->id && strncmp(id, q->id, strlen(q->id)))
		return 0;
	/* They come oldest first: the last one is the newest. */
	q->number = s->number;
	q->nr++;
	return 0;
}

int akin_snapshot_find(struct akin_pool *p, const char *name,
		       const struct akin_snapshot_filter *filter,
		       uint64_t *number_ret, struct akin_diag *diag)
{
	struct search q = { .filter = filter };
	int err;

	if (strncmp(name, "tag:", 4) == 0) {
		q.tag = name + 4;
	} else if (strcmp(name, "latest") != 0) {
		q.id = name;
		if (!*name || strspn(name, "0123456789abcdef") !=
				      strlen(name))
			return diag_set(diag, -AKIN_E_usage,
					"'%s': a snapshot is named by a prefix "
					"of its id, 'latest' or 'tag:T'",
					name);
	}
	err = catalog_each_snapshot(p->catalog, search_one, &q, diag);
	if (err)
		return diag_said(diag, err);
	if (q.nr == 0) {
		diag_set(diag, -AKIN_E_snap_unknown, "'%s': no such snapshot",
			 name);
		diag_hint(diag, "'akin snapshots' lists them.");
		return -AKIN_E_snap_unknown;
	}
	if (q.id && q.nr > 1)
		return diag_set(diag, -AKIN_E_snap_ambiguous, "'%s': %u "
				"snapshots have an id that starts so", name,
				q.nr);
	*number_ret = q.number;
	return 0;
}

struct parent_search {
	const char *host;
	const char *const *paths;
	u32 nr_paths;
	u64 number;
};

static int parent_one(void *ctx, const struct snapshot *s)
{
	struct parent_search *q = ctx;

	if (s->host && strcmp(s->host, q->host) == 0 &&
	    same_paths(s, q->paths, q->nr_paths))
		q->number = s->number;
	return 0;
}

int store_find_parent(struct akin_pool *p, const char *host,
		      const char *const *paths, u32 nr_paths,
		      struct snapshot *out, struct akin_diag *diag)
{
	struct parent_search q = { host, paths, nr_paths, 0 };
	int err;

	err = catalog_each_snapshot(p->catalog, parent_one, &q, diag);
	if (err)
		return err;
	if (!q.number)
		return -AKIN_E_absent;
	return catalog_snapshot(p->catalog, q.number, out, diag);
}
