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
 * given, with SIDE chunks on either side, and never beyond a and b.
 */
#include "base/mem.h"
#include "follow/follow_internal.h"

/* Chunk boundaries differ: what begins in one old chunk may end in the next. */
#define SIDE 1
/* Of a chunk that is very long beside the old ones. */
#define SPAN_MAX 48
/* Leaves that one new leaf can replace: its own range, cut elsewhere. */
#define LEAVES_NEAR 4

/* Window chunks [lo, hi). */
struct span {
	u32 lo, hi;
};

/* Old chunks that bytes [off, off + len) touch, and SIDE more, in [min, max). */
static struct span span_at(const struct window *w, u64 off, u32 len, u32 min,
			   u32 max)
{
	struct span s;

	s.lo = window_at(w, off);
	s.hi = window_at(w, off + len - 1) + 1;
	s.lo = s.lo > min + SIDE ? s.lo - SIDE : min;
	s.hi = s.hi + SIDE < max ? s.hi + SIDE : max;
	/* Beyond the gap: its end that is nearest. */
	if (s.lo >= max)
		s.lo = max > min + SIDE ? max - SIDE - 1 : min;
	if (s.hi <= s.lo)
		s.hi = s.lo + 1 + SIDE < max ? s.lo + 1 + SIDE : max;
	if (s.hi - s.lo > SPAN_MAX)
		s.hi = s.lo + SPAN_MAX;
	return s;
}

static s64 drift_at(const struct follow *f, s32 anchor)
{
	const struct new_chunk *c = &f->chunks[anchor];

	return (s64)(f->win.chunks[c->old].off - c->off);
}

/* One or two, ascending and disjoint; returns how many. */
static u32 spans_of(const struct follow *f, u32 k, struct span out[2])
{
	const struct new_chunk *c = &f->chunks[k], *b, *a;
	u32 min = 0, max = f->win.nr;
	s64 before = f->drift_before, after;
	struct span s;

	b = c->before >= 0 ? &f->chunks[c->before] : NULL;
	a = c->after >= 0 ? &f->chunks[c->after] : NULL;
	if (f->win.nr == 0)
		return 0;
	/* Unless something was moved, what is near lies between them. */
	if (b && a && b->old < a->old) {
		min = (u32)b->old;
		max = (u32)a->old + 1;
	}
	if (b)
		before = drift_at(f, c->before);
	after = a ? drift_at(f, c->after) : before;
	if (!b && a)
		before = after;
	out[0] = span_at(&f->win, follow_shifted(c->off, before), c->len, min, max);
	if (after == before)
		return 1;
	s = span_at(&f->win, follow_shifted(c->off, after), c->len, min, max);
	if (s.lo <= out[0].hi && out[0].lo <= s.hi) {
		out[0].lo = (u32)min_u64(s.lo, out[0].lo);
		out[0].hi = (u32)max_u64(s.hi, out[0].hi);
		return 1;
	}
	out[1] = s;
	if (s.lo < out[0].lo) {
		out[1] = out[0];
		out[0] = s;
	}
	return 2;
}

/* Directories that the leaf's hint names, newest first, until it is found. */
static bool find_hinted(struct follow *f, const struct old_leaf *l,
			const struct fp *fp, struct dir_hit *out)
{
	struct dircache *dirs = f->depot->dirs;
	u32 i;

	for (i = l->hint.nr; i > 0; i--) {
		if (dircache_has(dirs, l->hint.containers[i - 1]) ||
		    !follow_may_load(f))
			continue;
		if (dircache_load(dirs, l->hint.containers[i - 1], NULL))
			continue;
		dircache_lookup(dirs, fp, 1, out);
		if (out->container)
			return true;
	}
	return false;
}

static bool find_place(struct follow *f, struct old_chunk *c,
		       struct dir_hit *out)
{
	struct dircache *dirs = f->depot->dirs;
	struct place at;

	dircache_lookup(dirs, &c->fp, 1, out);
	if (out->container)
		return true;
	if (index_lookup(f->depot->index, &c->fp, 1, &at, NULL))
		return false;
	if (at.container &&
	    (dircache_has(dirs, at.container) || follow_may_load(f)) &&
	    !dircache_verify(dirs, &at, &c->fp, out, NULL) && out->container)
		return true;
	return find_hinted(f, &f->win.leaves[c->leaf], &c->fp, out);
}

bool follow_place(struct follow *f, u32 i)
{
	struct old_chunk *c = &f->win.chunks[i];
	struct dir_hit hit;

	if (c->container)
		return true;
	if (c->looked)
		return false;
	if (!find_place(f, c, &hit) || hit.len != c->len ||
	    depot_is_damaged(f->depot, hit.container, hit.entry)) {
		/* When directories may be read again, another try. */
		c->looked = f->loads_left > 0;
		return false;
	}
	c->container = hit.container;
	c->entry = hit.entry;
	return true;
}

void follow_prepare_near(struct follow *f)
{
	struct span s[2];
	u32 k, i, n;

	for (k = 0; k < f->nr; k++) {
		if (!f->chunks[k].missing)
			continue;
		for (n = spans_of(f, k, s); n > 0; n--) {
			for (i = s[n - 1].lo; i < s[n - 1].hi; i++)
				ignore_result(follow_place(f, i));
		}
	}
}

/* Append a place, to the last run if it continues that. */
static bool add_place(struct group_ref *out, u32 *nr, u32 max, u64 container,
		      u32 entry)
{
	struct group_ref *last = *nr ? &out[*nr - 1] : NULL;

	if (last && last->container == container) {
		if (entry >= last->entry && entry - last->entry < last->nr)
			return true;
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
	struct span s[2];
	u32 nr = 0, n, j, i;

	if (!f || k >= f->nr)
		return 0;
	n = spans_of(f, k, s);
	for (j = 0; j < n; j++) {
		for (i = s[j].lo; i < s[j].hi; i++) {
			c = &f->win.chunks[i];
			if (c->container && !add_place(out, &nr, max,
						       c->container, c->entry))
				return nr;
		}
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
