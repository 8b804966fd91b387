/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do with each container of the marks' range: nothing is needed of it,
 * all of it, or so little that the rest is worth copying.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "container/container_reader.h"
#include "gc/gc_internal.h"

/* Freeing less than a block of the file system frees nothing. */
#define BLOCK_BYTES 4096

/* Bits that a container of @nr entries has. */
static u32 count_kept(const struct gc_bits *b)
{
	u32 i, n = 0;

	for (i = 0; i < b->room / 8; i++)
		n += (u32)__builtin_popcount(b->live[i] | b->base[i]);
	return n;
}

static u64 share(const struct dir_group *gr, u64 raw)
{
	return gr->raw_len ? gr->len * raw / gr->raw_len : 0;
}

u64 gc_dead_bytes(const struct directory *d, u32 i, const struct gc_bits *b)
{
	const struct dir_group *gr = &d->groups[i];
	const struct dir_entry *e = &d->entries[gr->first];
	u64 raw = 0;
	u32 k;

	for (k = 0; k < gr->nr; k++)
		raw += gc_is_kept(b, e[k].entry) ? 0 : e[k].len;
	return share(gr, raw);
}

static u64 base_bytes(const struct directory *d, u32 i, const struct gc_bits *b)
{
	const struct dir_group *gr = &d->groups[i];
	const struct dir_entry *e = &d->entries[gr->first];
	u64 raw = 0;
	u32 k;

	for (k = 0; k < gr->nr; k++)
		raw += gc_is_live(b, e[k].entry) ? 0 : e[k].len;
	return share(gr, raw) - gc_dead_bytes(d, i, b);
}

static int add_dead(struct gc *g, u64 number)
{
	u32 cap = g->cap_dead ? g->cap_dead * 2 : 256;
	u64 *p;

	if (g->nr_dead == g->cap_dead) {
		p = mem_realloc(g->dead, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		g->dead = p;
		g->cap_dead = cap;
	}
	g->dead[g->nr_dead++] = number;
	return 0;
}

static int add_candidate(struct gc *g, const struct gc_candidate *c)
{
	u32 cap = g->cap_candidates ? g->cap_candidates * 2 : 64;
	struct gc_candidate *p;

	if (g->nr_candidates == g->cap_candidates) {
		p = mem_realloc(g->candidates, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		g->candidates = p;
		g->cap_candidates = cap;
	}
	g->candidates[g->nr_candidates++] = *c;
	return 0;
}

struct plan {
	struct gc *g;
	struct akin_diag *diag;
};

/* Some of it is needed. */
static int plan_partial(struct plan *p, const struct catalog_container *row,
			const struct gc_bits *b)
{
	struct gc_candidate c = { row->number, row->generation,
				  row->file_bytes, 0, 0 };
	struct container_reader *r;
	const struct directory *d;
	struct gc *g = p->g;
	u64 base = 0;
	u32 i;
	int err;

	err = dircache_get(g->depot->dirs, row->number, &r, p->diag);
	if (err)
		return err;
	d = container_directory(r);
	for (i = 0; i < d->nr_groups; i++) {
		c.dead_bytes += gc_dead_bytes(d, i, b);
		base += base_bytes(d, i, b);
	}
	dircache_put(g->depot->dirs, row->number);
	g->result->kept_base_bytes += base;
	/* What would be freed if its groups stood alone, at most. */
	c.lean_bytes = b->leans * (u64)g->depot->super.chunk_avg;
	c.lean_bytes = c.lean_bytes * row->file_bytes /
		       max_u64(row->raw_bytes, 1);
	if (c.dead_bytes + c.lean_bytes >= BLOCK_BYTES && g->threshold <= 100 &&
	    (c.dead_bytes + c.lean_bytes) * 100 >=
	    row->file_bytes * g->threshold) {
		g->result->partly_dead_containers++;
		g->result->partly_dead_bytes += c.dead_bytes;
		return add_candidate(g, &c);
	}
	g->result->kept_below_bytes += c.dead_bytes;
	return 0;
}

static int plan_row(void *ctx, const struct catalog_container *row)
{
	struct plan *p = ctx;
	struct gc *g = p->g;
	struct gc_bits *b;
	int err;

	err = gc_tick(g, p->diag);
	if (err || row->number < gc_marks_low(g->marks) ||
	    row->number >= gc_marks_high(g->marks))
		return err;
	g->result->containers++;
	g->result->bytes += row->file_bytes;
	/* One that has come since belongs to a root that was added, and the
	 * catalog will say so when anything is condemned. */
	if (row->condemned_txn || row->number > g->last_container)
		return 0;
	b = gc_marks_get(g->marks, row->number);
	if (!b) {
		g->result->dead_containers++;
		g->result->dead_bytes += row->file_bytes;
		return add_dead(g, row->number);
	}
	if (b->whole && numset_has(&g->interrupted, row->session))
		g->result->kept_interrupted_bytes += row->file_bytes;
	if (b->whole || (count_kept(b) >= row->nr_entries && !b->leans))
		return 0;
	return plan_partial(p, row, b);
}

static int best_first(const void *a, const void *b)
{
	const struct gc_candidate *x = a, *y = b;
	double fx = (double)x->dead_bytes / (double)x->file_bytes;
	double fy = (double)y->dead_bytes / (double)y->file_bytes;

	if (fx != fy)
		return fx < fy ? 1 : -1;
	return (x->number < y->number) - (x->number > y->number);
}

static int descending(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

int gc_plan(struct gc *g, struct akin_diag *diag)
{
	struct plan p = { g, diag };
	struct gc_result *r = g->result;
	struct gc_result before = *r;
	int err;

	g->nr_dead = 0;
	g->nr_candidates = 0;
	g->progress.phase = "planning";
	err = catalog_each_container(g->catalog, plan_row, &p, diag);
	if (err) {
		*r = before;
		return diag_said(diag, err);
	}
	if (g->nr_dead)
		qsort(g->dead, g->nr_dead, sizeof(*g->dead), descending);
	if (g->nr_candidates)
		qsort(g->candidates, g->nr_candidates,
		      sizeof(*g->candidates), best_first);
	return 0;
}
