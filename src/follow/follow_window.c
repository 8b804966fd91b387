/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window: arrays of leaves and chunks that slide by whole leaves, and a
 * table that is built anew whenever they do.
 */
#include "base/check.h"
#include "base/mem.h"
#include "follow/follow_internal.h"

/* Equal chunks that the table knows, at the most: more would make every look
 * at one of them slow, and which of them it is does not matter. */
#define EQUALS_MAX 16
/* A leaf's hint in memory; the newest. */
#define HINT_KEPT 16

static_assert(WINDOW_CHUNKS < UINT16_MAX, "an index fits the table");

static void leaf_release(struct old_leaf *l)
{
	mem_free(l->hint.containers);
	memset(l, 0, sizeof(*l));
}

void window_reset(struct window *w, u64 off)
{
	u32 i;

	for (i = 0; i < w->nr_leaves; i++)
		leaf_release(&w->leaves[i]);
	w->nr_leaves = 0;
	if (w->nr)
		memset(w->table, 0, (w->mask + 1) * sizeof(*w->table));
	w->nr = 0;
	w->off = w->end = off;
}

void window_release(struct window *w)
{
	window_reset(w, 0);
	mem_free(w->chunks);
	mem_free(w->leaves);
	mem_free(w->table);
	memset(w, 0, sizeof(*w));
}

bool window_is_full(const struct window *w)
{
	return w->nr + RECIPE_LEAF_MAX > WINDOW_CHUNKS ||
	       w->nr_leaves >= WINDOW_LEAVES;
}

static void table_add(struct window *w, u32 i)
{
	const struct fp *fp = &w->chunks[i].fp;
	u32 at = (u32)fp_prefix(fp) & w->mask;
	u32 equals = 0;

	for (; w->table[at]; at = (at + 1) & w->mask) {
		if (fp_equal(&w->chunks[w->table[at] - 1].fp, fp) &&
		    ++equals == EQUALS_MAX)
			return;
	}
	w->table[at] = (u16)(i + 1);
}

static void table_rebuild(struct window *w)
{
	u32 i;

	memset(w->table, 0, (w->mask + 1) * sizeof(*w->table));
	for (i = 0; i < w->nr; i++)
		table_add(w, i);
}

/* Room for @more chunks; the table is at most half full. */
static int need_chunks(struct window *w, u32 more)
{
	u32 cap = w->cap ? w->cap : 64, size;
	struct old_chunk *p;
	u16 *table;

	while (cap < w->nr + more)
		cap *= 2;
	cap = (u32)min_u64(cap, WINDOW_CHUNKS);
	if (w->nr + more <= w->cap)
		return 0;
	for (size = 128; size < 2 * cap; size *= 2)
		;
	p = mem_realloc(w->chunks, cap * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	w->chunks = p;
	if (size != w->mask + 1) {
		table = mem_alloc(size * sizeof(*table));
		if (!table)
			return -AKIN_E_nomem;
		mem_free(w->table);
		w->table = table;
		w->mask = size - 1;
		table_rebuild(w);
	}
	w->cap = cap;
	return 0;
}

static int need_leaf(struct window *w)
{
	u32 cap = w->cap_leaves ? w->cap_leaves * 2 : 8;
	struct old_leaf *p;

	if (w->nr_leaves < w->cap_leaves)
		return 0;
	p = mem_realloc(w->leaves, cap * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	w->leaves = p;
	w->cap_leaves = cap;
	return 0;
}

/* Without memory there is no hint. */
static void keep_hint(struct old_leaf *l, const struct hint *hint)
{
	u32 nr = hint ? (u32)min_u64(hint->nr, HINT_KEPT) : 0;

	if (nr == 0)
		return;
	l->hint.containers = mem_dup(hint->containers + (hint->nr - nr),
				     nr * sizeof(*hint->containers));
	l->hint.nr = l->hint.containers ? nr : 0;
}

/* Chunk or repetitions, @bytes in all, at the window's end. */
static struct old_chunk *add_chunk(struct window *w, const struct fp *fp,
				   u64 len, u64 bytes)
{
	struct old_chunk *c = &w->chunks[w->nr];

	memset(c, 0, sizeof(*c));
	c->fp = *fp;
	c->off = w->end;
	c->end = w->end + bytes;
	c->len = (u32)len;
	c->leaf = w->nr_leaves;
	table_add(w, w->nr++);
	return c;
}

static int begin_leaf(struct window *w, const struct fp *fp, u32 nr)
{
	struct old_leaf *l;
	int err;

	akin_assert(!window_is_full(w) && nr <= RECIPE_LEAF_MAX);
	err = need_chunks(w, nr);
	if (!err)
		err = need_leaf(w);
	if (err)
		return err;
	l = &w->leaves[w->nr_leaves];
	memset(l, 0, sizeof(*l));
	if (fp)
		l->fp = *fp;
	l->off = w->end;
	l->first = w->nr;
	return 0;
}

static void end_leaf(struct window *w)
{
	struct old_leaf *l = &w->leaves[w->nr_leaves++];

	l->end = w->end;
	l->nr = w->nr - l->first;
}

int window_add_leaf(struct window *w, const struct fp *fp,
		    const struct recipe_entry *e, u32 nr,
		    const struct hint *hint)
{
	u64 bytes;
	u32 i;
	int err;

	err = begin_leaf(w, fp, nr);
	if (err)
		return err;
	keep_hint(&w->leaves[w->nr_leaves], hint);
	for (i = 0; i < nr; i++) {
		bytes = recipe_entry_bytes(&e[i]);
		if (e[i].type == RECIPE_CHUNK || e[i].type == RECIPE_REPEAT)
			add_chunk(w, &e[i].fp, e[i].len, bytes);
		w->end += bytes;
	}
	end_leaf(w);
	return 0;
}

int window_add_entries(struct window *w, const struct dir_entry *e, u32 nr,
		       u64 container)
{
	struct old_chunk *c;
	u32 i;
	int err;

	err = begin_leaf(w, NULL, nr);
	if (err)
		return err;
	for (i = 0; i < nr; i++) {
		c = add_chunk(w, &e[i].fp, e[i].len, e[i].len);
		c->container = container;
		c->entry = e[i].entry;
		w->end += e[i].len;
	}
	end_leaf(w);
	return 0;
}

void window_drop(struct window *w, u64 off, bool need)
{
	u32 leaves = 0, chunks = 0, i;

	while (leaves < w->nr_leaves && w->leaves[leaves].end < off)
		chunks += w->leaves[leaves++].nr;
	/* Everything that stays is moved: not for little. */
	if (leaves == 0 ||
	    (!need && chunks < WINDOW_CHUNKS / 2 &&
	     leaves < WINDOW_LEAVES / 2))
		return;
	w->off = w->leaves[leaves - 1].end;
	for (i = 0; i < leaves; i++)
		leaf_release(&w->leaves[i]);
	w->nr_leaves -= leaves;
	w->nr -= chunks;
	memmove(w->leaves, w->leaves + leaves,
		w->nr_leaves * sizeof(*w->leaves));
	memmove(w->chunks, w->chunks + chunks, w->nr * sizeof(*w->chunks));
	for (i = 0; i < w->nr_leaves; i++)
		w->leaves[i].first -= chunks;
	for (i = 0; i < w->nr; i++)
		w->chunks[i].leaf -= leaves;
	table_rebuild(w);
}

/* How far byte @off is from the chunk. */
static u64 distance(const struct old_chunk *c, u64 off)
{
	if (off < c->off)
		return c->off - off;
	return off < c->end ? 0 : off - c->end + 1;
}

long window_find(const struct window *w, const struct fp *fp, u64 off)
{
	u32 at = (u32)fp_prefix(fp) & w->mask;
	long best = -1;
	u64 best_distance = 0, d;
	u32 i;

	if (w->nr == 0)
		return -1;
	for (; w->table[at]; at = (at + 1) & w->mask) {
		i = w->table[at] - 1u;
		if (!fp_equal(&w->chunks[i].fp, fp))
			continue;
		d = distance(&w->chunks[i], off);
		if (best < 0 || d < best_distance) {
			best = (long)i;
			best_distance = d;
		}
	}
	return best;
}

u32 window_at(const struct window *w, u64 off)
{
	u32 lo = 0, hi = w->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (w->chunks[mid].end <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
