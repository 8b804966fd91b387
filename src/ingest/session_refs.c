/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ingest/session_internal.h"

/*
 * In units of the pool's group size. Twelve releases of a program, depth 2:
 * 46.3 MB with twice the group, 44.2 with three times (for 5 % more processor
 * time), 44.3 with four. A database does not mind.
 */
#define REFS_MAX_BYTES 3
/*
 * Each costs a read and a decode of a whole group: half of the time that a
 * series of a program takes. So the best place of each chunk says which groups
 * they are, and everything else comes from those or not at all. 24 releases:
 * 78.9 MB with 16 groups chosen by all places; by the best ones 73.3 with 16,
 * 72.6 with 8, 74.0 with 6 and 11 % less processor time than with the first,
 * 83.1 with 4. A database takes 0.8 % more with 6 than with 16.
 */
#define REFS_MAX_GROUPS 6
/* Replaced by its references, which may be replaced by theirs. One step is
 * enough unless the limit was higher when they were written. */
#define REDIRECT_MAX 8

/* Remembered: containers that may be referred to, references of groups. */
#define KNOWN_BITS 8
#define NR_KNOWN (1 << KNOWN_BITS)
#define NR_HEADERS 32

struct base_header {
	u64 container;		/* 0: free */
	u32 group;		/* index in the container's directory */
	u32 nr_refs;
	struct group_ref *refs;	/* owned */
};

struct ref_memory {
	pthread_mutex_t lock;	/* guards all; not held during I/O */
	u64 known[NR_KNOWN];	/* at known_slot() */
	struct base_header headers[NR_HEADERS];
	u32 next;		/* the one to be replaced */
};

int ref_memory_new(struct ref_memory **out, struct akin_diag *diag)
{
	struct ref_memory *m = mem_zalloc(sizeof(*m));

	if (!m)
		return diag_set(diag, -AKIN_E_nomem, "session");
	pthread_mutex_init(&m->lock, NULL);
	*out = m;
	return 0;
}

void ref_memory_free(struct ref_memory *m)
{
	u32 i;

	if (!m)
		return;
	for (i = 0; i < NR_HEADERS; i++)
		mem_free(m->headers[i].refs);
	pthread_mutex_destroy(&m->lock);
	mem_free(m);
}

static bool sealed_here(struct session *s, u64 container)
{
	bool found = false;
	u32 i;

	pthread_mutex_lock(&s->lock);
	for (i = s->nr_ranges; !found && i > 0; i--)
		found = container >= s->ranges[i - 1].first &&
			container - s->ranges[i - 1].first <
				s->ranges[i - 1].nr;
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* Sessions begin at multiples of what they reserve: low bits say little. */
static u32 known_slot(u64 container)
{
	return (u32)(container * 0x9e3779b97f4a7c15ull >> (64 - KNOWN_BITS));
}

/* R1: may this container be relied on? */
static bool container_stays(struct session *s, u64 container)
{
	struct ref_memory *m = s->refs;
	struct catalog_container row;
	bool known;

	pthread_mutex_lock(&m->lock);
	known = m->known[known_slot(container)] == container;
	pthread_mutex_unlock(&m->lock);
	if (known)
		return true;
	/* Newer than this session, and not of it: it can do without. */
	if (container >= s->first_number) {
		if (!sealed_here(s, container))
			return false;
	} else if (catalog_container(s->catalog, container, &row, NULL) ||
		   row.condemned_txn) {
		return false;
	}
	pthread_mutex_lock(&m->lock);
	m->known[known_slot(container)] = container;
	pthread_mutex_unlock(&m->lock);
	return true;
}

/* A copy of remembered references; false if there are none. */
static bool recall_header(struct ref_memory *m, u64 container, u32 group,
			  struct base_header *out, int *err_ret)
{
	const struct base_header *h;
	bool found = false;
	u32 i;

	pthread_mutex_lock(&m->lock);
	for (i = 0; !found && i < NR_HEADERS; i++) {
		h = &m->headers[i];
		if (h->container != container || h->group != group)
			continue;
		found = true;
		*out = *h;
		out->refs = mem_dup(h->refs, h->nr_refs * sizeof(*h->refs));
		*err_ret = out->refs ? 0 : -AKIN_E_nomem;
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}

/* Keeps a copy; without memory, nothing. */
static void keep_header(struct ref_memory *m, const struct base_header *in)
{
	struct base_header *h, copy = *in;

	copy.refs = mem_dup(in->refs, in->nr_refs * sizeof(*in->refs));
	if (!copy.refs)
		return;
	pthread_mutex_lock(&m->lock);
	h = &m->headers[m->next++ % NR_HEADERS];
	mem_free(h->refs);
	*h = copy;
	pthread_mutex_unlock(&m->lock);
}

/* What group @index of @r was compressed against. Returns owned. */
static int read_header(struct session *s, struct container_reader *r,
		       u32 index, struct base_header *out)
{
	u64 container = container_directory(r)->container;
	struct container_group g;
	int err = 0;

	if (recall_header(s->refs, container, index, out, &err))
		return err;
	memset(out, 0, sizeof(*out));
	err = container_read_group(r, index, &g, NULL);
	if (err)
		return err;
	out->container = container;
	out->group = index;
	out->nr_refs = g.header.nr_refs;
	out->refs = TAKE(g.header.refs);
	g.header.refs = NULL;
	container_group_release(&g);
	keep_header(s->refs, out);
	return 0;
}

/* An entry that becomes part of a reference. */
struct taken {
	u64 container;
	u32 entry;
	u32 len;
	u32 order;		/* of arrival, that of its neighbour */
	u32 seq;		/* among those of one neighbour */
	u8 depth;		/* of its group */
};

#define TAKEN_MAX NEARSET_MAX

/* One group's way from neighbours to references. */
struct walk {
	struct session *s;
	u64 container;		/* the group's own */
	u8 kind;
	u8 depth_limit;
	u32 bytes, max_bytes;
	struct taken taken[TAKEN_MAX];
	u32 nr;
	/* To be decoded for what is taken. */
	struct { u64 container; u32 group; } groups[REFS_MAX_GROUPS];
	u32 nr_groups;
	bool closed;		/* to groups that are not among them */
};

/* Within the groups that may be decoded? */
static bool take_group(struct walk *w, u64 container, u32 group)
{
	u32 i;

	for (i = w->nr_groups; i > 0; i--) {
		if (w->groups[i - 1].container == container &&
		    w->groups[i - 1].group == group)
			return true;
	}
	if (w->closed || w->nr_groups == REFS_MAX_GROUPS)
		return false;
	w->groups[w->nr_groups].container = container;
	w->groups[w->nr_groups++].group = group;
	return true;
}

static void take_entry(struct walk *w, const struct directory *d, u32 index,
		       u32 order)
{
	const struct dir_entry *e = &d->entries[index];
	struct taken *t;
	u32 i;

	for (i = w->nr; i > 0; i--) {
		if (w->taken[i - 1].entry == e->entry &&
		    w->taken[i - 1].container == d->container)
			return;
	}
	if (w->nr == TAKEN_MAX || e->len > w->max_bytes - w->bytes ||
	    !take_group(w, d->container, e->group))
		return;
	t = &w->taken[w->nr];
	t->container = d->container;
	t->entry = e->entry;
	t->len = e->len;
	t->order = order;
	t->seq = w->nr++;
	t->depth = d->groups[e->group].depth;
	w->bytes += e->len;
}

/*
 * R3: the part of a group's references from which the entry at @index was made
 * most likely, by its rank in the group, and one more on either side.
 */
static int redirect(struct session *s, struct container_reader *r, u32 index,
		    struct refset *to)
{
	const struct directory *d = container_directory(r);
	const struct dir_group *g = &d->groups[d->entries[index].group];
	u64 total = 0, from, end, at = 0, lo, hi;
	struct base_header h = { 0 };
	struct group_ref part;
	u32 i;
	int err;

	err = read_header(s, r, d->entries[index].group, &h);
	/* Unreadable: not a base, and no reason to fail. */
	if (err)
		return err == -AKIN_E_nomem ? err : 0;
	for (i = 0; i < h.nr_refs; i++)
		total += h.refs[i].nr;
	from = (index - g->first) * total / g->nr;
	end = ((index - g->first + 1) * total + g->nr - 1) / g->nr + 1;
	from -= from > 0;
	for (i = 0; !err && i < h.nr_refs && at < end; i++) {
		lo = max_u64(at, from);
		hi = min_u64(at + h.refs[i].nr, end);
		part.container = h.refs[i].container;
		part.entry = h.refs[i].entry + (u32)(lo - at);
		part.nr = (u32)(hi - lo);
		if (lo < hi)
			err = refset_add(to, &part);
		at += h.refs[i].nr;
	}
	mem_free(h.refs);
	return err;
}

/* @deeper: what takes its place, if it lies too deep. */
static int take_from(struct walk *w, struct container_reader *r, u32 entry,
		     u32 order, struct refset *deeper)
{
	const struct directory *d = container_directory(r);
	long index = container_entry_index(d, entry);

	if (d->kind != w->kind || index < 0 ||
	    depot_is_damaged(w->s->depot, d->container, entry))
		return 0;
	if (d->groups[d->entries[index].group].depth >= w->depth_limit)
		return redirect(w->s, r, (u32)index, deeper);
	take_entry(w, d, (u32)index, order);
	return 0;
}

static int take_place(struct walk *w, u64 container, u32 entry, u32 order,
		      u32 level)
{
	struct dircache *dirs = w->s->depot->dirs;
	struct refset deeper = { 0 };
	struct container_reader *r;
	u32 i, k;
	int err;

	if (container >= w->container || !container_stays(w->s, container) ||
	    dircache_get(dirs, container, &r, NULL))
		return 0;
	err = take_from(w, r, entry, order, &deeper);
	dircache_put(dirs, container);
	for (i = 0; !err && level < REDIRECT_MAX && i < deeper.nr; i++) {
		for (k = 0; !err && k < deeper.refs[i].nr; k++)
			err = take_place(w, deeper.refs[i].container,
					 deeper.refs[i].entry + k, order,
					 level + 1);
	}
	refset_release(&deeper);
	return err;
}

/* The best place of every chunk before the second best of any. */
static int take_by_rank(struct walk *w, const struct nearset *near)
{
	u32 i, rank, last = 0;
	int err = 0;

	for (i = 0; i < near->nr; i++)
		last = (u32)max_u64(last, near->places[i].rank);
	for (rank = 0; rank <= last && w->bytes < w->max_bytes; rank++) {
		w->closed = rank > 0;
		for (i = 0; !err && i < near->nr; i++) {
			if (near->places[i].rank == rank)
				err = take_place(w, near->places[i].container,
						 near->places[i].entry, i, 0);
		}
	}
	return err;
}

static int compare_taken(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* What was taken, as runs in the order of arrival. */
static int lay_out(struct walk *w, struct resolved_refs *out)
{
	struct group_ref one = { .nr = 1 };
	const struct taken *t;
	u32 i;
	int err = 0;

	qsort(w->taken, w->nr, sizeof(*w->taken), compare_taken);
	for (i = 0; !err && i < w->nr; i++) {
		t = &w->taken[i];
		one.container = t->container;
		one.entry = t->entry;
		err = refset_add(&out->set, &one);
		/* There may have been no room for another run. */
		if (err || !refset_has(&out->set, t->container, t->entry))
			continue;
		out->raw_len += t->len;
		out->depth = (u8)max_u64(out->depth, t->depth + 1u);
	}
	return err;
}

int session_resolve_refs(struct session *s, u64 container, u8 kind,
			 const struct nearset *near,
			 struct resolved_refs *out, struct akin_diag *diag)
{
	struct walk w;
	int err;

	w.s = s;
	w.container = container;
	w.kind = kind;
	w.depth_limit = kind == CONTAINER_METADATA ? s->meta_depth :
						     s->delta_depth;
	w.bytes = w.nr = w.nr_groups = 0;
	w.max_bytes = (u32)min_u64(REFS_MAX_BYTES *
				   (u64)s->depot->super.group_bytes,
				   GROUP_MAX_REF_RAW);
	err = take_by_rank(&w, near);
	if (!err)
		err = lay_out(&w, out);
	return err ? diag_set(diag, err, "references") : 0;
}
