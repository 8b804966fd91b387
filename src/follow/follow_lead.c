/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a hit to a predecessor.
 *
 *	container --first leaf--> place of a leaf of that time
 *	  --its container's hints--> the leaf that names the hit
 *	  --nodes behind it--> the root
 *
 * Pieces of metadata are stored in the order in which they were finished, each
 * with a hint that names the containers of its children. So the leaves that
 * name chunks of a container are known without reading them, in the order of
 * the chunks, and the right one is found by bisection. Its parent lies behind
 * it, and has the container of metadata itself in its hint, which no leaf has.
 *
 * A container of metadata may end before the root comes: then what is followed
 * is a part of the object, and at its end the next hits lead on.
 *
 * Small objects have no leaves, and what this session has written last cannot be
 * read yet: then the container itself is followed, if two hits of the batch lie
 * together in it.
 */
#include "base/mem.h"
#include "follow/follow_internal.h"

/* Pieces read to find a leaf, and again to find its root. */
#define READS_LEAF 24
#define READS_CLIMB 64
/* Nodes that could be the parent but are not: then it was the root. */
#define STRANGERS 8
#define PAUSE_MIN (1 * MiB)
#define PAUSE_MAX (64 * MiB)
/* Containers tried in one batch. */
#define TRIES 2
/* Entries that are so near each other were stored together. */
#define COMPANY 64
/* Copies of one leaf. */
#define PLACES_MAX 4

/* One attempt. */
struct lead {
	struct follow *f;
	struct dir_hit hit;
	const struct fp *fp;		/* of the hit */
	u64 container;			/* of metadata */
	const struct directory *dir;	/* its; pinned */
	u32 *leaves;			/* indices, those that name hit's */
	u32 nr_leaves;
	struct buf bytes;		/* of @piece */
	struct recipe_piece piece;
	struct hint hint;		/* of @piece */
};

static bool names(const struct hint *h, u64 container)
{
	u32 i;

	for (i = 0; i < h->nr; i++) {
		if (h->containers[i] == container)
			return true;
	}
	return false;
}

/* Piece @i of the directory into l->piece. */
static bool read_piece(struct lead *l, u32 i)
{
	struct follow *f = l->f;
	struct hint here = { &l->container, 1 };

	recipe_piece_release(&l->piece);
	memset(&l->piece, 0, sizeof(l->piece));
	return !depot_read_piece(f->depot, &f->dec, &l->dir->entries[i].fp,
				 &here, &l->bytes, &l->hint, NULL) &&
	       !recipe_piece_decode(l->bytes.data, l->bytes.len, &l->piece);
}

/* Where the leaf is that the hit's container names. */
static bool place_leaf(struct follow *f, u64 container, struct dir_hit *out)
{
	struct dircache *dirs = f->depot->dirs;
	struct place at[PLACES_MAX];
	struct container_reader *r;
	struct fp leaf, none = { { 0 } };
	u32 nr = 0, i;

	if (dircache_get(dirs, container, &r, NULL))
		return false;
	leaf = container_directory(r)->first_leaf;
	dircache_put(dirs, container);
	if (fp_equal(&leaf, &none))
		return false;
	dircache_lookup(dirs, &leaf, 1, out);
	if (out->container)
		return true;
	if (depot_index_lookup(f->depot, &leaf, 1, at, NULL))
		return false;
	nr = at[0].container != 0;
	if (nr == 0 && f->depot->engine == SUPER_ENGINE_SIMILARITY)
		return !depot_find(f->depot, &leaf, 1, out, NULL) &&
		       out->container;
	if (nr == 0 && index_lookup_disk(f->depot->index, &leaf, at,
					 PLACES_MAX, &nr, NULL))
		return false;
	for (i = 0; i < nr; i++) {
		if (!dircache_verify(dirs, &at[i], &leaf, out, NULL) &&
		    out->container)
			return true;
	}
	return false;
}

static bool list_leaves(struct lead *l)
{
	u32 i;

	l->leaves = mem_calloc(l->dir->nr_entries, sizeof(*l->leaves));
	if (!l->leaves || !l->dir->hints)
		return false;
	for (i = 0; i < l->dir->nr_entries; i++) {
		if (names(&l->dir->hints[i], l->hit.container))
			l->leaves[l->nr_leaves++] = i;
	}
	return l->nr_leaves > 0;
}

enum probe { FOUND, BEFORE, BEHIND, UNKNOWN };

/* Which way from leaf @i of the directory; *off_ret: of the hit in it. */
static enum probe probe(struct lead *l, u32 i, u64 *off_ret)
{
	struct dircache *dirs = l->f->depot->dirs;
	const struct recipe_entry *e;
	u32 min = UINT32_MAX, max = 0, k;
	struct dir_hit at;
	u64 off = 0;

	if (!read_piece(l, i) || l->piece.level != 0)
		return UNKNOWN;
	for (k = 0; k < l->piece.nr; off += recipe_entry_bytes(e), k++) {
		e = &l->piece.entries[k];
		if (e->type != RECIPE_CHUNK && e->type != RECIPE_REPEAT)
			continue;
		if (fp_equal(&e->fp, l->fp)) {
			*off_ret = off;
			return FOUND;
		}
		dircache_lookup(dirs, &e->fp, 1, &at);
		if (at.container != l->hit.container)
			continue;
		min = at.entry < min ? at.entry : min;
		max = at.entry > max ? at.entry : max;
	}
	if (min > max)
		return UNKNOWN;
	if (l->hit.entry < min)
		return BEFORE;
	return l->hit.entry > max ? BEHIND : UNKNOWN;
}

/* Bisect; those that tell nothing are left out. */
static bool find_leaf(struct lead *l, u32 *leaf_ret, u64 *off_ret)
{
	u32 lo = 0, hi = l->nr_leaves, mid, reads;

	for (reads = 0; lo < hi && reads < READS_LEAF; reads++) {
		mid = lo + (hi - lo) / 2;
		switch (probe(l, l->leaves[mid], off_ret)) {
		case FOUND:
			*leaf_ret = l->leaves[mid];
			return true;
		case BEFORE:
			hi = mid;
			break;
		case BEHIND:
			lo = mid + 1;
			break;
		case UNKNOWN:
			hi--;
			memmove(l->leaves + mid, l->leaves + mid + 1,
				(hi - mid) * sizeof(*l->leaves));
			break;
		}
	}
	return false;
}

/* Is @ct's piece a child of l->piece? Then that takes its place. */
static bool step_up(const struct lead *l, u32 i, struct content *ct, u64 *off)
{
	const struct recipe_child *c = l->piece.children;
	u64 before = 0;
	u32 k;

	for (k = 0; k < l->piece.nr; before += c[k++].bytes) {
		if (!fp_equal(&c[k].fp, &ct->root))
			continue;
		*off += before;
		ct->root = l->dir->entries[i].fp;
		ct->level = l->piece.level;
		ct->bytes = l->piece.bytes;
		return true;
	}
	return false;
}

/* From the leaf that l->piece is, entry @i, up as far as this container goes;
 * *off is within the leaf before, within *ct after. */
static void climb(struct lead *l, u32 i, struct content *ct, u64 *off)
{
	u32 reads = 0, strangers = 0;

	memset(ct, 0, sizeof(*ct));
	ct->kind = CONTENT_ROOT;
	ct->root = l->dir->entries[i].fp;
	ct->bytes = l->piece.bytes;
	for (i++; i < l->dir->nr_entries && reads < READS_CLIMB &&
		  strangers < STRANGERS; i++) {
		if (!names(&l->dir->hints[i], l->container))
			continue;
		reads++;
		if (!read_piece(l, i) || l->piece.level != ct->level + 1)
			continue;
		if (step_up(l, i, ct, off))
			strangers = 0;
		else
			strangers++;
	}
}

static bool search(struct lead *l, struct content *ct, u64 *off)
{
	u32 leaf;

	if (!list_leaves(l) || !find_leaf(l, &leaf, off))
		return false;
	climb(l, leaf, ct, off);
	return true;
}

/* Up to the recipe that the hit's container was written under; @hit is that of
 * chunk @k. */
static bool lead_to_recipe(struct follow *f, u32 k, const struct dir_hit *hit)
{
	struct lead l = { .f = f, .hit = *hit, .fp = &f->fps[k] };
	struct container_reader *r;
	struct predecessor *p = NULL;
	struct dir_hit leaf;
	struct content ct;
	struct hint hint = { &l.container, 1 };
	u64 off = 0;

	if (!follow_need_decoder(f) || !place_leaf(f, hit->container, &leaf) ||
	    dircache_get(f->depot->dirs, leaf.container, &r, NULL))
		return false;
	l.container = leaf.container;
	l.dir = container_directory(r);
	if (search(&l, &ct, &off))
		p = predecessor_new(&ct, &hint);
	dircache_put(f->depot->dirs, leaf.container);
	mem_free(l.leaves);
	mem_free(l.hint.containers);
	recipe_piece_release(&l.piece);
	buf_release(&l.bytes);
	if (!p)
		return false;
	follow_switch(f, TAKE(p), off, f->chunks[k].off);
	f->newest = max_u64(leaf.container, hit->container);
	return true;
}

/* One chunk may be anywhere; two that are together say something. */
static bool has_company(const struct follow *f, const struct dir_hit *hits,
			u32 k)
{
	u32 i;

	for (i = 0; i < f->nr; i++) {
		if (i != k && hits[i].container == hits[k].container &&
		    hits[i].entry != hits[k].entry &&
		    hits[i].entry < hits[k].entry + COMPANY &&
		    hits[k].entry < hits[i].entry + COMPANY)
			return true;
	}
	return false;
}

static bool lead_to_container(struct follow *f, u32 k,
			      const struct dir_hit *hits)
{
	u64 container = hits[k].container, off = 0;
	struct container_reader *r;
	const struct directory *d;
	struct predecessor *p;
	long index;

	if (!has_company(f, hits, k) ||
	    dircache_get(f->depot->dirs, container, &r, NULL))
		return false;
	d = container_directory(r);
	index = container_entry_index(d, hits[k].entry);
	p = index < 0 ? NULL : mem_zalloc(sizeof(*p));
	if (p) {
		p->container = container;
		p->ct.bytes = follow_entry_off(d, d->nr_entries);
		off = follow_entry_off(d, (u32)index);
	}
	dircache_put(f->depot->dirs, container);
	if (!p)
		return false;
	follow_switch(f, TAKE(p), off, f->chunks[k].off);
	f->newest = container;
	return true;
}

static bool is_dead(const struct follow *f, u64 container)
{
	u32 i;

	for (i = 0; i < LEAD_DEAD; i++) {
		if (f->dead[i] == container)
			return true;
	}
	return false;
}

/* The stray hit in the newest container that may lead somewhere, or -1. */
static long choose(const struct follow *f, const struct dir_hit *hits,
		   bool news)
{
	u64 newest = news ? f->newest : 0;
	long best = -1;
	u32 k;

	for (k = 0; k < f->nr; k++) {
		if (hits[k].container <= newest ||
		    !follow_is_stray(f, k, &hits[k]) ||
		    (news && follow_is_own(f, hits[k].container)) ||
		    is_dead(f, hits[k].container))
			continue;
		newest = hits[k].container;
		best = (long)k;
	}
	return best;
}

bool follow_lead(struct follow *f, const struct dir_hit *hits, bool news)
{
	u32 i;
	long k;

	if (f->fed < f->next_lead)
		return false;
	for (i = 0; i < TRIES; i++) {
		k = choose(f, hits, news);
		if (k < 0)
			break;
		f->stats.leads++;
		if (lead_to_recipe(f, (u32)k, &hits[k]) ||
		    lead_to_container(f, (u32)k, hits)) {
			f->lead_pause = PAUSE_MIN;
			f->next_lead = f->fed + f->lead_pause;
			return true;
		}
		f->stats.leads_failed++;
		/* What is still being written may be readable soon. */
		if (follow_is_own(f, hits[k].container)) {
			f->next_lead = f->fed + PAUSE_MIN / 2;
			return false;
		}
		f->dead[f->next_dead++ % LEAD_DEAD] = hits[k].container;
	}
	f->next_lead = f->fed + f->lead_pause;
	f->lead_pause = min_u64(2 * f->lead_pause, PAUSE_MAX);
	return false;
}
