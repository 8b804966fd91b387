/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies near: from a new chunk's position between anchors to old chunks,
 * and from these to places.
 *
 *	new   A  [ - - - - - k - - - - ]  B
 *	old   a  [ - - - - - - - - ]  b
 *
 * The run of new chunks around k lies between two anchors A and B, the old
 * ones a and b. Counted from A, k lies at some distance behind a; counted from
 * B, at some distance before b. Where little was inserted or removed the two
 * are nearly one; where much was, k is near what one of them says. So both are
 * given, with one chunk more on either side, and never beyond a and b: the best
 * of each first, because there may be room for no more.
 */
#include "base/mem.h"
#include "follow/follow_internal.h"

/* Old chunks for one new one: more if that is very long beside them. */
#define NEAR_MAX 40
/* Leaves that one new leaf can replace: its own range, cut elsewhere. */
#define LEAVES_NEAR 4

/* Window chunks. */
struct near {
	u32 min, max;		/* only these, [min, max) */
	u32 list[NEAR_MAX];	/* best first */
	u32 nr;
};

/* Bytes that correspond to a new chunk, and the old chunks they touch. */
struct range {
	u64 off, end;
	u32 lo, hi;
};

static void add_near(struct near *n, u32 i)
{
	u32 k;

	if (i < n->min || i >= n->max || n->nr == NEAR_MAX)
		return;
	for (k = 0; k < n->nr; k++) {
		if (n->list[k] == i)
			return;
	}
	n->list[n->nr++] = i;
}

static struct range range_at(const struct follow *f, const struct new_chunk *c,
			     s64 drift)
{
	struct range r;

	r.off = follow_shifted(c->off, drift);
	r.end = r.off + c->len;
	r.lo = window_at(&f->win, r.off);
	r.hi = window_at(&f->win, r.end - 1) + 1;
	r.hi = (u32)min_u64(r.hi, f->win.nr);
	/* Behind the end: the last one. */
	if (r.lo >= r.hi)
		r.lo = r.hi - 1;
	return r;
}

/* The chunk that has most of the range. */
static u32 best_of(const struct follow *f, const struct range *r)
{
	const struct old_chunk *c;
	u64 most = 0, from, to;
	u32 best = r->lo, i;

	for (i = r->lo; i < r->hi; i++) {
		c = &f->win.chunks[i];
		from = max_u64(c->off, r->off);
		to = min_u64(c->end, r->end);
		if (from < to && to - from > most) {
			most = to - from;
			best = i;
		}
	}
	return best;
}

static s64 drift_at(const struct follow *f, s32 anchor)
{
	const struct new_chunk *c = &f->chunks[anchor];

	return (s64)(f->win.chunks[c->old].off - c->off);
}

/* Where chunk @k would be: one or two ranges, the nearer anchor's first. */
static u32 ranges_of(const struct follow *f, u32 k, struct range out[2],
		     struct near *n)
{
	const struct new_chunk *c = &f->chunks[k], *a, *b;
	s64 first = f->drift_before, second;

	a = c->before >= 0 ? &f->chunks[c->before] : NULL;
	b = c->after >= 0 ? &f->chunks[c->after] : NULL;
	n->nr = 0;
	n->min = 0;
	n->max = f->win.nr;
	if (f->win.nr == 0)
		return 0;
	/* Unless something was moved, what is near lies between them. */
	if (a && b && a->old < b->old) {
		n->min = (u32)a->old;
		n->max = (u32)b->old + 1;
	}
	if (a)
		first = drift_at(f, c->before);
	second = b ? drift_at(f, c->after) : first;
	if (!a && b)
		first = second;
	out[0] = range_at(f, c, first);
	if (first == second)
		return 1;
	out[1] = range_at(f, c, second);
	if (k - (u32)c->before > (u32)c->after - k) {
		out[1] = out[0];
		out[0] = range_at(f, c, second);
	}
	return 2;
}

static void find_near(const struct follow *f, u32 k, struct near *n)
{
	struct range r[2];
	u32 nr = ranges_of(f, k, r, n), j, i;

	for (j = 0; j < nr; j++)
		add_near(n, best_of(f, &r[j]));
	for (j = 0; j < nr; j++) {
		for (i = r[j].lo; i < r[j].hi; i++)
			add_near(n, i);
	}
	/* Boundaries differ: what begins in one may end in the next. */
	for (j = 0; j < nr; j++) {
		add_near(n, r[j].hi);
		if (r[j].lo > 0)
			add_near(n, r[j].lo - 1);
	}
}

static bool set_place(struct follow *f, struct old_chunk *c,
		      const struct dir_hit *hit)
{
	if (!hit->container || hit->len != c->len ||
	    depot_is_damaged(f->depot, hit->container, hit->entry))
		return false;
	c->container = hit->container;
	c->entry = hit->entry;
	return true;
}

/* Looked up at a time. */
#define RESOLVE_BATCH 64

void follow_resolve(struct follow *f, u32 from, u32 to)
{
	struct dir_hit hits[RESOLVE_BATCH];
	struct fp fps[RESOLVE_BATCH];
	u32 which[RESOLVE_BATCH];
	u32 n, k;

	while (from < to) {
		for (n = 0; from < to && n < RESOLVE_BATCH; from++) {
			if (f->win.chunks[from].container)
				continue;
			which[n] = from;
			fps[n++] = f->win.chunks[from].fp;
		}
		dircache_lookup(f->depot->dirs, fps, n, hits);
		for (k = 0; k < n; k++)
			ignore_result(set_place(f, &f->win.chunks[which[k]],
						&hits[k]));
	}
}

static bool was_asked(const struct follow *f, u64 container, u64 end)
{
	u32 i;

	for (i = 0; i < ASKED_MAX; i++) {
		if (f->asked[i].container == container &&
		    f->asked[i].end >= end)
			return true;
	}
	return false;
}

/*
 * A directory is asked for all of the window at once. It may be gone when the
 * next chunk of it comes: where caches are small, and versions made of many
 * containers, each would be read again and again.
 */
static void ask(struct follow *f, u64 container)
{
	struct dircache *dirs = f->depot->dirs;

	if (!dircache_has(dirs, container) &&
	    (!follow_may_load(f) || dircache_load(dirs, container, NULL)))
		return;
	follow_resolve(f, 0, f->win.nr);
	f->asked[f->next_asked].container = container;
	f->asked[f->next_asked].end = f->win.end;
	f->next_asked = (f->next_asked + 1) % ASKED_MAX;
}

/* Directories that the leaf's hint names, newest first, until it is found. */
static void ask_hinted(struct follow *f, const struct old_chunk *c)
{
	const struct old_leaf *l = &f->win.leaves[c->leaf];
	u32 i;

	for (i = l->hint.nr; i > 0 && !c->container; i--) {
		if (!was_asked(f, l->hint.containers[i - 1], l->end))
			ask(f, l->hint.containers[i - 1]);
	}
}

static void find_place(struct follow *f, struct old_chunk *c)
{
	struct dir_hit hit;
	struct place at;

	dircache_lookup(f->depot->dirs, &c->fp, 1, &hit);
	if (set_place(f, c, &hit) ||
	    depot_index_lookup(f->depot, &c->fp, 1, &at, NULL))
		return;
	if (at.container)
		ask(f, at.container);
	if (!c->container)
		ask_hinted(f, c);
}

bool follow_place(struct follow *f, u32 i)
{
	struct old_chunk *c = &f->win.chunks[i];

	if (!c->container && !c->looked) {
		find_place(f, c);
		/* When directories may be read again, another try. */
		c->looked = !c->container && f->loads_left > 0;
	}
	return c->container != 0;
}

void follow_prepare_near(struct follow *f)
{
	struct near n;
	u32 k, i;

	for (k = 0; k < f->nr; k++) {
		if (!f->chunks[k].missing)
			continue;
		find_near(f, k, &n);
		for (i = 0; i < n.nr; i++)
			ignore_result(follow_place(f, n.list[i]));
	}
}

/* Append a place, to the last run if it continues that. */
static bool add_place(struct group_ref *out, u32 *nr, u32 max, u64 container,
		      u32 entry)
{
	struct group_ref *last = *nr ? &out[*nr - 1] : NULL;

	if (last && last->container == container) {
		if (entry == last->entry + last->nr) {
			last->nr++;
			return true;
		}
	}
	if (*nr == max)
		return false;
	out[*nr].container = container;
	out[*nr].entry = entry;
	out[(*nr)++].nr = 1;
	return true;
}

u32 follow_near(struct follow *f, u32 k, struct group_ref *out, u32 max)
{
	const struct old_chunk *c;
	struct near n;
	u32 nr = 0, i;

	if (!f || !f->near || k >= f->nr)
		return 0;
	find_near(f, k, &n);
	for (i = 0; i < n.nr; i++) {
		c = &f->win.chunks[n.list[i]];
		if (c->container && !add_place(out, &nr, max, c->container,
					       c->entry))
			break;
	}
	return nr;
}

static void add_piece(struct follow *f, const struct fp *fp,
		      struct group_ref *out, u32 *nr, u32 max)
{
	struct dir_hit hit;

	dircache_lookup(f->depot->dirs, fp, 1, &hit);
	if (hit.container &&
	    !depot_is_damaged(f->depot, hit.container, hit.entry))
		ignore_result(add_place(out, nr, max, hit.container,
					hit.entry));
}

/* The drift at byte @off of the object, as the batch has it. */
static s64 drift_near(const struct follow *f, u64 off)
{
	s64 drift = f->drift_before;
	u32 k;

	for (k = 0; k < f->nr && f->chunks[k].off <= off; k++) {
		if (f->chunks[k].anchor)
			drift = drift_at(f, (s32)k);
	}
	return drift;
}

u32 follow_near_piece(struct follow *f, u64 off, u64 len,
		      struct group_ref *out, u32 max)
{
	const struct old_leaf *l;
	u32 nr = 0, i, seen = 0;
	u64 from, to;

	if (!f || !f->pred)
		return 0;
	for (i = 0; len == 0 && i < f->nr_nodes; i++)
		add_piece(f, &f->nodes[i], out, &nr, max);
	if (len == 0 || f->pred->ct.kind != CONTENT_ROOT)
		return nr;
	to = follow_shifted(off + len, drift_near(f, off + len - 1));
	from = follow_shifted(off, drift_near(f, off));
	if (from >= to)
		from = to > len ? to - len : 0;
	for (i = 0; i < f->win.nr_leaves && seen < LEAVES_NEAR; i++) {
		l = &f->win.leaves[i];
		if (l->end <= from || l->off >= to)
			continue;
		add_piece(f, &l->fp, out, &nr, max);
		seen++;
	}
	return nr;
}
