/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding snapshots.
 */
#include <stdio.h>

#include "store/store.h"
#include "store/store_newest.h"

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

static void export_status(const struct catalog_status *st,
			  const struct catalog_now *now,
			  struct akin_snapshot *out)
{
	const struct label *l = st->label;

	if (l) {
		out->tags = (const char *const *)l->tags;
		out->nr_tags = l->nr_tags;
		out->is_protected = catalog_is_protected(l, now);
		out->has_until = out->is_protected && l->flags & LABEL_UNTIL;
		out->until_sec = out->has_until ? l->until_sec : 0;
	}
	out->is_forgotten = st->forgotten_txn > 0;
	out->may_undelete = st->may_undelete;
	out->forgotten_sec = st->forgotten_sec;
}

void store_snapshot_export(const struct snapshot *s,
			   const struct catalog_status *st,
			   const struct catalog_now *now,
			   struct akin_snapshot *out)
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
	export_status(st, now, out);
}

static bool contains(const char *const *list, u32 nr, const char *what)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (strcmp(list[i], what) == 0)
			return true;
	}
	return false;
}

static bool same_paths(const char *const *a, u32 nr_a, const char *const *b,
		       u32 nr_b)
{
	u32 i;

	if (nr_a != nr_b)
		return false;
	for (i = 0; i < nr_b; i++) {
		if (!contains(a, nr_a, b[i]))
			return false;
	}
	return true;
}

bool store_snapshot_matches(const struct snapshot *s,
			    const struct catalog_status *st,
			    const struct akin_snapshot_filter *f)
{
	char *const *tags = st->label ? st->label->tags : s->tags;
	u32 nr_tags = st->label ? st->label->nr_tags : s->nr_tags, i;

	if (!f)
		return true;
	if (f->host && (!s->host || strcmp(s->host, f->host)))
		return false;
	for (i = 0; i < f->nr_tags; i++) {
		if (!contains((const char *const *)tags, nr_tags, f->tags[i]))
			return false;
	}
	return !f->paths || same_paths((const char *const *)s->paths,
				       s->nr_paths, f->paths, f->nr_paths);
}

static enum catalog_which which_of(const struct akin_snapshot_filter *f)
{
	return f && f->forgotten ? CATALOG_FORGOTTEN : CATALOG_LISTED;
}

struct each {
	const struct akin_snapshot_filter *filter;
	struct catalog_now now;
	struct store_order order;
	int (*fn)(void *ctx, const struct akin_snapshot *s);
	void *ctx;
};

static int order_one(void *ctx, const struct snapshot *s,
		     const struct catalog_status *st)
{
	struct each *e = ctx;

	if (!store_snapshot_matches(s, st, e->filter))
		return 0;
	return store_order_add(&e->order, s);
}

static int each_one(void *ctx, const struct snapshot *s,
		    const struct catalog_status *st)
{
	struct each *e = ctx;
	struct akin_snapshot out;

	if (!store_snapshot_matches(s, st, e->filter))
		return 0;
	store_snapshot_export(s, st, &e->now, &out);
	return e->fn(e->ctx, &out);
}

/* One by one, but for those that are gone meanwhile. */
static int each_in_order(struct akin_pool *p, struct each *e,
			 struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < e->order.nr; i++) {
		diag_clear(&why);
		err = catalog_status_of(p->catalog, which_of(e->filter),
					e->order.keys[i].number, each_one, e,
					&why);
		if (err == -AKIN_E_snap_unknown)
			err = 0;
	}
	return err < 0 ? diag_pass(diag, err, &why) : err;
}

int akin_snapshot_each(struct akin_pool *p,
		       const struct akin_snapshot_filter *filter,
		       int (*fn)(void *ctx, const struct akin_snapshot *s),
		       void *ctx, struct akin_diag *diag)
{
	struct each e = { .filter = filter, .fn = fn, .ctx = ctx };
	int err;

	err = catalog_now(p->catalog, store_clock(p), &e.now, diag);
	if (!err)
		err = catalog_each_status(p->catalog, which_of(filter),
					  order_one, &e, diag);
	if (!err && e.order.moved)
		err = each_in_order(p, &e, diag);
	else if (!err)
		err = catalog_each_status(p->catalog, which_of(filter),
					  each_one, &e, diag);
	store_order_release(&e.order);
	return err < 0 ? diag_said(diag, err) : err;
}

struct search {
	const char *id, *tag;
	const struct akin_snapshot_filter *filter;
	struct store_newest newest;
	u32 nr;
};

static int search_one(void *ctx, const struct snapshot *s,
		      const struct catalog_status *st)
{
	struct akin_snapshot_filter tagged = { .nr_tags = 1 };
	struct search *q = ctx;
	char id[2 * SNAPSHOT_ID_BYTES + 1];

	tagged.tags = &q->tag;
	if (!store_snapshot_matches(s, st, q->filter))
		return 0;
	if (q->tag && !store_snapshot_matches(s, st, &tagged))
		return 0;
	store_hex(s->id, sizeof(s->id), id);
	if (q->id && strncmp(id, q->id, strlen(q->id)))
		return 0;
	store_newest_offer(&q->newest, s);
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
	err = catalog_each_status(p->catalog, which_of(filter), search_one, &q,
				  diag);
	if (err)
		return diag_said(diag, err);
	if (q.nr == 0) {
		diag_set(diag, -AKIN_E_snap_unknown, "'%s': no such %ssnapshot",
			 name, which_of(filter) ? "forgotten " : "");
		diag_hint(diag, "'akin snapshots%s' lists them.",
			  which_of(filter) ? " --forgotten" : "");
		return -AKIN_E_snap_unknown;
	}
	if (q.id && q.nr > 1)
		return diag_set(diag, -AKIN_E_snap_ambiguous, "'%s': %u "
				"snapshots have an id that starts so", name,
				q.nr);
	*number_ret = q.newest.number;
	return 0;
}

struct parent_search {
	const char *host;
	const char *const *paths;
	u32 nr_paths;
	bool last;
	struct store_newest newest;
};

static int parent_one(void *ctx, const struct snapshot *s)
{
	struct parent_search *q = ctx;

	if (s->host && strcmp(s->host, q->host) == 0 &&
	    same_paths((const char *const *)s->paths, s->nr_paths, q->paths,
		       q->nr_paths)) {
		if (q->last)
			q->newest.number = 0;
		store_newest_offer(&q->newest, s);
	}
	return 0;
}

int store_find_parent(struct akin_pool *p, const char *host,
		      const char *const *paths, u32 nr_paths, bool last,
		      struct snapshot *out, struct akin_diag *diag)
{
	struct parent_search q = { host, paths, nr_paths, last, { 0 } };
	int err;

	err = catalog_each_snapshot(p->catalog, parent_one, &q, diag);
	if (err)
		return err;
	if (!q.newest.number)
		return -AKIN_E_absent;
	return catalog_snapshot(p->catalog, q.newest.number, out, diag);
}
