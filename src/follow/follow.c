/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor: batch by batch, which chunks of the window are the batch's.
 *
 * The drift is how far the predecessor is ahead of (or behind) the object. A
 * chunk that is found in the window close to where the drift says, or with a
 * neighbour that agrees, is an *anchor*: it corrects the drift. Other equal
 * chunks are duplicates, but say nothing about where we are.
 *
 * F1. The window begins before the last anchor as long as it has room: what
 *     was inserted since then has moved nothing in the predecessor.
 * F2. Any failure drops the predecessor, and nothing else.
 */
#include "base/mem.h"
#include "follow/follow_internal.h"

/* In average chunks: what stays in the window behind the cursor (a leaf under
 * construction reaches so far back), and is read ahead of the batch. */
#define BACK_CHUNKS 160
#define AHEAD_CHUNKS 192
/* An equal chunk so near to the cursor needs no witness. */
#define CLOSE_CHUNKS 32
/* While all is found, the way is looked for once in so many bytes. */
#define SYNC_BYTES (4 * MiB)
/* Hits that the predecessor does not have, before another one is tried. */
#define STRAYS_MIN 2
/* Directories read: one for so many bytes, and saved up to a limit. */
#define LOAD_BYTES (256 * KiB)
#define LOADS_FIRST 16
#define LOADS_MAX 64
/* Between two looks for a predecessor. */
#define PAUSE_MIN (1 * MiB)

struct predecessor *predecessor_new(const struct content *ct,
				    const struct hint *hint)
{
	struct predecessor *p;
	u32 i;

	if (ct->kind == CONTENT_NONE)
		return NULL;
	for (i = 0; ct->kind == CONTENT_ENTRIES && i < ct->nr; i++) {
		if (ct->entries[i].type == RECIPE_INLINE)
			return NULL;
	}
	p = mem_zalloc(sizeof(*p));
	if (!p)
		return NULL;
	p->ct = *ct;
	if (hint && hint->nr) {
		p->hint.containers = mem_dup(hint->containers, hint->nr *
					     sizeof(*hint->containers));
		p->hint.nr = p->hint.containers ? hint->nr : 0;
	}
	return p;
}

void predecessor_free(struct predecessor *p)
{
	if (!p)
		return;
	mem_free(p->hint.containers);
	mem_free(p);
}

struct follow *follow_new(struct depot *d)
{
	struct follow *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->depot = d;
	f->loads_left = LOADS_FIRST;
	f->lead_pause = PAUSE_MIN;
	f->probe_pause = PAUSE_MIN;
	return f;
}

/* Nothing is followed any more. */
static void drop(struct follow *f)
{
	follow_rewind(f);
	if (f->pred != f->home)
		predecessor_free(f->pred);
	predecessor_free(f->home);
	f->pred = f->home = NULL;
	f->nr = 0;
	f->drift = f->drift_before = 0;
	f->anchor = 0;
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	drop(f);
	window_release(&f->win);
	if (f->have_dec)
		decoder_release(&f->dec);
	mem_free(f->chunks);
	mem_free(f);
}

void follow_get_stats(const struct follow *f, struct follow_stats *out)
{
	memset(out, 0, sizeof(*out));
	if (f)
		*out = f->stats;
}

void follow_begin(struct follow *f, struct predecessor *p)
{
	if (!f) {
		predecessor_free(p);
		return;
	}
	drop(f);
	f->pred = f->home = p;
	f->home_drift = 0;
	/* By name it is the newest there is. */
	f->newest = UINT64_MAX;
}

void follow_own(struct follow *f, u64 container)
{
	if (f && (!f->own || container < f->own))
		f->own = container;
}

bool follow_may_load(struct follow *f)
{
	if (f->loads_left == 0)
		return false;
	f->loads_left--;
	f->stats.loads++;
	return true;
}

static bool is_same(const struct predecessor *a, const struct predecessor *b)
{
	if (!a || a->container != b->container)
		return false;
	return a->container ||
	       (a->ct.kind == CONTENT_ROOT && b->ct.kind == CONTENT_ROOT &&
		fp_equal(&a->ct.root, &b->ct.root));
}

void follow_switch(struct follow *f, struct predecessor *p, u64 old,
		   u64 new_off)
{
	if (is_same(f->pred, p)) {
		predecessor_free(p);
	} else {
		follow_rewind(f);
		if (f->pred == f->home)
			f->home_drift = f->drift;
		else
			predecessor_free(f->pred);
		if (is_same(f->home, p)) {
			predecessor_free(p);
			p = f->home;
		}
		f->pred = p;
	}
	f->drift = f->drift_before = (s64)(old - new_off);
	f->anchor = old;
	f->stretched = false;
}

static u64 in_bytes(const struct follow *f, u32 chunks)
{
	return (u64)chunks * f->depot->super.chunk_avg;
}

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* The window around bytes [lo, hi) of the predecessor, F1. */
static bool read_around(struct follow *f, u64 lo, u64 hi, bool stretch)
{
	u64 back = in_bytes(f, BACK_CHUNKS), keep;
	struct window *w = &f->win;

	/* Behind the end there is nothing; the last chunks stay. */
	lo = min_u64(lo, f->pred->ct.bytes - 1);
	keep = lo;
	if (f->anchor < lo && lo - f->anchor < in_bytes(f, WINDOW_CHUNKS / 2))
		keep = f->anchor;
	keep = less(keep, back);
	if ((w->nr_leaves == 0 && !f->all_read) || lo < w->off ||
	    less(lo, back) > w->end) {
		if (!follow_jump(f, less(lo, back)))
			return false;
	}
	window_drop(w, keep, false);
	while (!f->all_read &&
	       (stretch || w->end < hi + in_bytes(f, AHEAD_CHUNKS))) {
		if (window_is_full(w) && !stretch)
			window_drop(w, keep, true);
		/* Reading ahead may be done without, the batch not. */
		if (window_is_full(w) && w->end < hi)
			window_drop(w, less(lo, back), true);
		if (window_is_full(w))
			break;
		if (!follow_read(f))
			return false;
	}
	return true;
}

/* Matching -----------------------------------------------------------------*/

/* Does a chunk beside chunk @k say, too, that it is window chunk @i? */
static bool has_witness(const struct follow *f, u32 k, u32 i)
{
	const struct window *w = &f->win;

	if (k > 0 && f->chunks[k - 1].old >= 0 &&
	    (u32)f->chunks[k - 1].old + 1 == i)
		return true;
	return k + 1 < f->nr && i + 1 < w->nr &&
	       fp_equal(&f->fps[k + 1], &w->chunks[i + 1].fp);
}

/* Is window chunk @i, equal to chunk @k, where byte @want is? */
static bool is_anchor(const struct follow *f, u32 k, u32 i, u64 want)
{
	const struct old_chunk *c = &f->win.chunks[i];
	u64 close = in_bytes(f, CLOSE_CHUNKS);

	if (c->off < want + close && want < c->end + close)
		return true;
	return has_witness(f, k, i);
}

/* Returns how many anchors there are. */
static u32 match(struct follow *f)
{
	s64 drift = f->drift_before;
	const struct old_chunk *old;
	struct new_chunk *c;
	u32 k, nr = 0;
	s32 last = -1;
	u64 want;
	long i;

	for (k = 0; k < f->nr; k++) {
		c = &f->chunks[k];
		want = follow_shifted(c->off, drift);
		i = window_find(&f->win, &f->fps[k], want);
		c->old = (s32)i;
		c->anchor = i >= 0 && is_anchor(f, k, (u32)i, want);
		c->before = last;
		if (!c->anchor)
			continue;
		old = &f->win.chunks[i];
		/* Within repetitions the drift stays what it is. */
		if (want < old->off || want >= old->end ||
		    old->end - old->off == old->len)
			drift = (s64)(old->off - c->off);
		last = (s32)k;
		nr++;
	}
	for (last = -1, k = f->nr; k > 0; k--) {
		f->chunks[k - 1].after = last;
		if (f->chunks[k - 1].anchor)
			last = (s32)k - 1;
	}
	return nr;
}

/* The window to where the batch should be, and the batch against it. */
static bool align(struct follow *f, bool stretch, u32 *anchors_ret)
{
	const struct new_chunk *last = &f->chunks[f->nr - 1];

	*anchors_ret = 0;
	if (!read_around(f, follow_shifted(f->chunks[0].off, f->drift_before),
			 follow_shifted(last->off + last->len, f->drift_before),
			 stretch)) {
		drop(f);
		return false;
	}
	*anchors_ret = match(f);
	return true;
}

/* Is more of the batch known elsewhere than in the predecessor? */
static bool is_lost(const struct follow *f, const struct dir_hit *hits,
		    u32 anchors)
{
	u32 k, strays = 0;

	for (k = 0; k < f->nr; k++)
		strays += follow_is_stray(f, k, &hits[k]);
	return strays >= STRAYS_MIN && strays > anchors;
}

/* Something of the batch was stored after the predecessor. */
static bool is_outdated(const struct follow *f, const struct dir_hit *hits)
{
	u32 k;

	for (k = 0; k < f->nr; k++) {
		if (hits[k].container > f->newest &&
		    !follow_is_own(f, hits[k].container) &&
		    follow_is_stray(f, k, &hits[k]))
			return true;
	}
	return false;
}

/* Back to what is known by name, if the batch is there. */
static bool go_home(struct follow *f, u32 *anchors)
{
	if (!f->home || f->pred == f->home)
		return false;
	follow_rewind(f);
	predecessor_free(f->pred);
	f->pred = f->home;
	f->newest = UINT64_MAX;
	f->drift_before = f->home_drift;
	f->anchor = follow_shifted(f->chunks[0].off, f->home_drift);
	return align(f, false, anchors);
}

/* Find the batch in the predecessor, or another predecessor. */
static bool find_way(struct follow *f, struct dir_hit *hits)
{
	const struct new_chunk *c;
	bool lost, outdated;
	u32 anchors, k;

	if (!align(f, false, &anchors))
		return false;
	if (is_lost(f, hits, anchors) && !f->stretched) {
		f->stretched = true;
		if (!align(f, true, &anchors))
			return false;
	}
	if (is_lost(f, hits, anchors) && go_home(f, &anchors) && !f->pred)
		return false;
	ignore_result(follow_probe(f, hits));
	lost = is_lost(f, hits, anchors);
	outdated = is_outdated(f, hits);
	if ((lost || outdated) &&
	    follow_lead(f, hits, outdated) &&
	    !align(f, false, &anchors))
		return false;
	if (anchors == 0)
		return f->pred != NULL;
	f->stretched = false;
	for (k = f->nr; !f->chunks[k - 1].anchor; k--)
		;
	c = &f->chunks[k - 1];
	f->anchor = f->win.chunks[c->old].end;
	f->drift = (s64)(f->win.chunks[c->old].off - c->off);
	return true;
}

/* Batches ------------------------------------------------------------------*/

static bool take_batch(struct follow *f, u64 off,
		       const struct hash_item *items, const struct fp *fps,
		       const struct dir_hit *hits, u32 n)
{
	struct new_chunk *p;
	u32 k;

	if (n > f->cap) {
		p = mem_realloc(f->chunks, n * sizeof(*p));
		if (!p)
			return false;
		f->chunks = p;
		f->cap = n;
	}
	for (k = 0; k < n; k++) {
		p = &f->chunks[k];
		p->off = off;
		p->len = (u32)items[k].len;
		p->old = p->before = p->after = -1;
		p->anchor = false;
		p->missing = !hits[k].container;
		off += p->len;
	}
	f->fps = fps;
	f->nr = n;
	return true;
}

/* What memory did not know and the window does. */
static void find_missing(struct follow *f, struct dir_hit *hits)
{
	const struct old_chunk *old;
	struct new_chunk *c;
	u32 k, found = 0;

	for (k = 0; k < f->nr; k++) {
		c = &f->chunks[k];
		if (!c->missing || c->old < 0 ||
		    f->win.chunks[c->old].len != c->len ||
		    !follow_place(f, (u32)c->old))
			continue;
		old = &f->win.chunks[c->old];
		hits[k].container = old->container;
		hits[k].entry = old->entry;
		hits[k].len = old->len;
		c->missing = false;
		found++;
	}
	f->stats.found += found;
	counters_add(f->depot->counters, chunks_followed, found);
}

static void earn_loads(struct follow *f, u64 bytes)
{
	u64 earned = (f->fed + bytes) / LOAD_BYTES - f->fed / LOAD_BYTES;

	f->loads_left = (u32)min_u64(f->loads_left + earned, LOADS_MAX);
	f->fed += bytes;
}

/* Is there anything to be won in this batch? */
static bool is_worth(const struct follow *f, u32 nr_missing, u32 n)
{
	if (f->pred)
		return nr_missing || f->fed - f->synced >= SYNC_BYTES;
	return nr_missing && (nr_missing < n || follow_may_probe(f));
}

void follow_batch(struct follow *f, u64 off, const struct hash_item *items,
		  const struct fp *fps, struct dir_hit *hits, u32 n, bool near)
{
	u32 k, missing = 0;
	u64 bytes = 0;

	if (!f)
		return;
	f->nr = 0;
	f->drift_before = f->drift;
	for (k = 0; k < n; k++) {
		missing += !hits[k].container;
		bytes += items[k].len;
	}
	earn_loads(f, bytes);
	if (!is_worth(f, missing, n) ||
	    !take_batch(f, off, items, fps, hits, n))
		return;
	f->synced = f->fed;
	if (!f->pred && missing == n)
		ignore_result(follow_probe(f, hits));
	if ((!f->pred && !follow_lead(f, hits, false)) || !find_way(f, hits)) {
		f->nr = 0;
		return;
	}
	find_missing(f, hits);
	f->near = near;
	if (near)
		follow_prepare_near(f);
}
