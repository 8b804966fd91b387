/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a group that leaves bases is made of instead: for each of its chunks
 * the heir that resembles it, what lies beside these, and what stays of its old
 * references.
 */
#include <stdlib.h>

#include "gc/gc_writer.h"

bool gc_is_left(struct gc *g, u64 container, u32 entry)
{
	const struct gc_bits *b = gc_marks_get(g->marks, container);

	return b && b->leave && gc_is_lone(b, entry);
}

/* Within the groups that may be decoded? */
static bool take_group(struct gc_choices *c, u64 container, u32 group)
{
	u32 i;

	for (i = c->nr_groups; i > 0; i--) {
		if (c->groups[i - 1].container == container &&
		    c->groups[i - 1].group == group)
			return true;
	}
	if (c->nr_groups == GC_REFS_GROUPS)
		return false;
	c->groups[c->nr_groups].container = container;
	c->groups[c->nr_groups++].group = group;
	return true;
}

static bool chosen(const struct gc_choices *c, u64 container, u32 entry)
{
	u32 i;

	for (i = c->nr; i > 0; i--) {
		if (c->at[i - 1].entry == entry &&
		    c->at[i - 1].container == container)
			return true;
	}
	return false;
}

static void take(struct gc_choices *c, const struct directory *d, long index)
{
	const struct dir_entry *e;
	struct gc_choice *to;
	u8 depth;

	if (index < 0)
		return;
	e = &d->entries[index];
	depth = d->groups[e->group].depth;
	if (depth >= c->depth_max) {
		/* It will be less when this batch is switched, perhaps. */
		if (d->container >= c->w->g->batch_first)
			c->unsettled = true;
		return;
	}
	if (c->nr == GC_CHOICES_MAX || e->len > c->max_bytes - c->bytes ||
	    chosen(c, d->container, e->entry) ||
	    !take_group(c, d->container, e->group))
		return;
	to = &c->at[c->nr++];
	to->container = d->container;
	to->entry = e->entry;
	to->len = e->len;
	c->bytes += e->len;
	c->depth = (u8)max_u64(c->depth, depth + 1u);
}

static void take_old(struct gc_choices *c, const struct group_ref *ref,
		     bool all)
{
	struct gc *g = c->w->g;
	struct container_reader *r;
	u32 k;

	if (dircache_get(g->depot->dirs, ref->container, &r, NULL))
		return;
	for (k = 0; k < ref->nr; k++) {
		if (all || !gc_is_left(g, ref->container, ref->entry + k))
			take(c, container_directory(r),
			     container_entry_index(container_directory(r),
						   ref->entry + k));
	}
	dircache_put(g->depot->dirs, ref->container);
}

void gc_choose_old(struct gc_choices *c, const struct group_header *old,
		   bool all)
{
	u32 i;

	for (i = 0; i < old->nr_refs && !c->unsettled; i++)
		take_old(c, &old->refs[i], all);
}

/* Heir @h, or what is live at @beside of it. */
static void take_heir(struct gc_choices *c, const struct gc_heir *h,
		      int beside)
{
	struct gc *g = c->w->g;
	struct gc_bits *b = gc_marks_get(g->marks, h->container);
	const struct directory *d;
	struct container_reader *r;
	long i;

	if (!b || dircache_get(g->depot->dirs, h->container, &r, NULL))
		return;
	d = container_directory(r);
	i = container_entry_index(d, h->entry);
	if (i >= 0 && i + beside >= 0 && i + beside < (long)d->nr_entries &&
	    gc_is_live(b, d->entries[i + beside].entry))
		take(c, d, i + beside);
	dircache_put(g->depot->dirs, h->container);
}

static int by_place(const void *a, const void *b)
{
	const struct gc_choice *x = a, *y = b;

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

void gc_choose_heirs(struct gc_choices *c, const struct gc_heir *heirs, u32 nr)
{
	static const int beside[] = { 0, 1, -1, 2, -2, 3, -3 };
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(beside); k++) {
		for (i = 0; i < nr && !c->unsettled; i++) {
			if (heirs[i].container)
				take_heir(c, &heirs[i], beside[k]);
		}
	}
	/* As they were stored: matches follow each other. */
	if (c->nr)
		qsort(c->at, c->nr, sizeof(c->at[0]), by_place);
}
