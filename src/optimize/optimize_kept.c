/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chunk of a newest version was made from, as far as that is in a newest
 * version, too: masked images beside the raw ones, a file beside its edited
 * copy, one machine's files beside another's. What was a difference to an older
 * version is followed further down, to what that was made from; most of it ends
 * nowhere, which is what optimizing is for.
 *
 * All of it is advice to the packer. Directories and groups that cannot be read
 * say nothing.
 */
#include "base/mem.h"
#include "optimize/optimize_internal.h"

/* Steps from a group to what it was made from; as deep as chains are. */
#define STEPS_MAX 8
/* Entries looked at for one chunk. */
#define LOOKS_MAX 64
/* Runs of references that one entry was made from. */
#define PART_RUNS 8

struct kept_walk {
	struct optimize *o;
	struct group_ref *out;
	u32 nr, max, looks;
};

/* References of group @g of @r; borrowed until the next call. */
static const struct kept_group *group_refs(struct optimize *o,
					   struct container_reader *r, u32 g)
{
	u64 container = container_directory(r)->container;
	struct container_group read;
	struct kept_group *k;
	u32 i;

	for (i = 0; i < KEPT_GROUPS; i++) {
		k = &o->kept[i];
		if (k->container == container && k->group == g)
			return k;
	}
	if (container_read_group(r, g, &read, NULL))
		return NULL;
	k = &o->kept[o->kept_next++ % KEPT_GROUPS];
	mem_free(k->refs);
	k->container = container;
	k->group = g;
	k->nr = read.header.nr_refs;
	k->refs = TAKE(read.header.refs);
	read.header.refs = NULL;
	container_group_release(&read);
	return k;
}

void optimize_kept_release(struct optimize *o)
{
	u32 i;

	for (i = 0; i < KEPT_GROUPS; i++)
		mem_free(o->kept[i].refs);
	memset(o->kept, 0, sizeof(o->kept));
}

/* An old entry: what it is, and its rank in a group that was made from
 * something (NULL: from nothing). */
struct old_entry {
	struct fp fp;
	const struct kept_group *group;
	u32 nth, of;
};

static bool look_at(struct optimize *o, u64 container, u32 entry,
		    struct old_entry *out)
{
	const struct directory *d;
	const struct dir_group *g;
	struct container_reader *r;
	long i;

	if (dircache_get(o->old->dirs, container, &r, NULL))
		return false;
	d = container_directory(r);
	i = container_entry_index(d, entry);
	if (i >= 0) {
		g = &d->groups[d->entries[i].group];
		out->fp = d->entries[i].fp;
		out->nth = (u32)i - g->first;
		out->of = g->nr;
		out->group = !g->depth ? NULL :
			     group_refs(o, r, d->entries[i].group);
	}
	dircache_put(o->old->dirs, container);
	return i >= 0;
}

/*
 * The part of its group's references from which it was made most likely, and
 * one more on either side.
 */
static u32 part_of(const struct old_entry *e, struct group_ref *out, u32 max)
{
	const struct kept_group *k = e->group;
	u64 total = 0, from, end, at = 0, lo, hi;
	u32 i, nr = 0;

	for (i = 0; i < k->nr; i++)
		total += k->refs[i].nr;
	from = e->nth * total / e->of;
	end = ((e->nth + 1) * total + e->of - 1) / e->of + 1;
	from -= from > 0;
	for (i = 0; i < k->nr && at < end && nr < max; i++) {
		lo = max_u64(at, from);
		hi = min_u64(at + k->refs[i].nr, end);
		if (lo < hi) {
			out[nr].container = k->refs[i].container;
			out[nr].entry = k->refs[i].entry + (u32)(lo - at);
			out[nr++].nr = (u32)(hi - lo);
		}
		at += k->refs[i].nr;
	}
	return nr;
}

static void add_place(struct kept_walk *w, const struct dir_hit *at)
{
	struct group_ref *last = w->nr ? &w->out[w->nr - 1] : NULL;

	if (last && last->container == at->container &&
	    last->entry + last->nr == at->entry) {
		last->nr++;
	} else if (w->nr < w->max) {
		w->out[w->nr].container = at->container;
		w->out[w->nr].entry = at->entry;
		w->out[w->nr++].nr = 1;
	}
}

static void walk_down(struct kept_walk *w, const struct old_entry *e, u32 step);

/* One entry of what something was made from: where it is now, or what it was
 * made from itself. */
static void walk_entry(struct kept_walk *w, u64 container, u32 entry, u32 step)
{
	struct old_entry e;
	struct dir_hit at;

	if (!w->looks || !look_at(w->o, container, entry, &e))
		return;
	w->looks--;
	if (depot_find(w->o->new, &e.fp, 1, &at, NULL))
		return;
	if (at.container)
		add_place(w, &at);
	else if (e.group)
		walk_down(w, &e, step + 1);
}

static void walk_down(struct kept_walk *w, const struct old_entry *e, u32 step)
{
	struct group_ref part[PART_RUNS];
	u32 i, k, nr;

	if (step == STEPS_MAX)
		return;
	nr = part_of(e, part, PART_RUNS);
	for (i = 0; i < nr; i++) {
		for (k = 0; k < part[i].nr; k++)
			walk_entry(w, part[i].container, part[i].entry + k,
				   step);
	}
}

u32 optimize_kept(struct optimize *o, const struct dir_hit *old,
		  struct group_ref *out, u32 max)
{
	struct kept_walk w = { .o = o, .out = out, .max = max,
			       .looks = LOOKS_MAX };
	struct old_entry e;

	if (look_at(o, old->container, old->entry, &e) && e.group)
		walk_down(&w, &e, 0);
	return w.nr;
}
