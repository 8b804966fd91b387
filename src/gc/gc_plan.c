/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do with each container of the marks' range: nothing is needed of it,
 * all of it, or so little that the rest is worth copying.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "container/container_reader.h"
#include "gc/gc_heirs.h"
#include "gc/gc_internal.h"

/* For a batch, besides. */
#define LEAVE_SPACE (128 * MiB)
/* Of the memory, for heirs: what the marks have not taken, but no more. */
#define HEIRS_SHARE 4
/* Freeing less than a block of the file system frees nothing. */
#define BLOCK_BYTES 4096

/* Entries that a root leads to. */
static u32 count_live(const struct gc_bits *b)
{
	u32 i, n = 0;

	for (i = 0; i < b->room / 8; i++)
		n += (u32)__builtin_popcount(b->live[i]);
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

/* What of group @i is kept for others only; *lone_ret: for others that could be
 * written anew. */
static u64 base_bytes(const struct directory *d, u32 i,
		      const struct gc_bits *b, u64 *lone_ret)
{
	const struct dir_group *gr = &d->groups[i];
	const struct dir_entry *e = &d->entries[gr->first];
	u64 raw = 0, lone = 0;
	u32 k;

	for (k = 0; k < gr->nr; k++) {
		raw += gc_is_live(b, e[k].entry) ? 0 : e[k].len;
		lone += gc_is_lone(b, e[k].entry) ? e[k].len : 0;
	}
	*lone_ret = share(gr, lone);
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

bool gc_has_live(const struct directory *d, u32 index, const struct gc_bits *b)
{
	const struct dir_group *gr = &d->groups[index];
	u32 i;

	for (i = 0; i < gr->nr; i++) {
		if (gc_is_live(b, d->entries[gr->first + i].entry))
			return true;
	}
	return false;
}

/* To free so many bytes? */
static bool worth_copying(const struct gc *g, const struct gc_candidate *c,
			  u64 freed)
{
	return freed >= BLOCK_BYTES && g->threshold <= 100 &&
	       freed * 100 >= (u64)c->file_bytes * g->threshold;
}

struct plan {
	struct gc *g;
	struct akin_diag *diag;
	u64 lone_bytes, lone_raw;	/* of what is to be left */
	double lean_bytes;		/* what a reference to it names, about */
};

static u64 raw_of(const struct catalog_container *row, u64 stored)
{
	return (u64)((double)stored * (double)row->raw_bytes /
		     (double)max_u64(row->file_bytes, 1));
}

/* Some of it is needed. */
static int plan_partial(struct plan *p, const struct catalog_container *row,
			struct gc_bits *b)
{
	struct gc_candidate c = { row->number, row->generation,
				  (u32)min_u64(row->file_bytes, UINT32_MAX) };
	struct container_reader *r;
	const struct directory *d;
	struct gc *g = p->g;
	u64 base = 0, lone;
	u32 i;
	int err;

	err = dircache_get(g->depot->dirs, row->number, &r, p->diag);
	if (err)
		return err;
	d = container_directory(r);
	for (i = 0; i < d->nr_groups; i++) {
		c.dead_bytes += (u32)gc_dead_bytes(d, i, b);
		base += base_bytes(d, i, b, &lone);
		c.lone_bytes += (u32)lone;
		if (d->groups[i].depth && gc_has_live(d, i, b))
			c.delta_bytes += d->groups[i].len;
	}
	dircache_put(g->depot->dirs, row->number);
	g->result->kept_base_bytes += base;
	b->leave = c.lone_bytes &&
		   worth_copying(g, &c, (u64)c.dead_bytes + c.lone_bytes);
	if (b->leave) {
		p->lone_bytes += c.lone_bytes;
		p->lone_raw += raw_of(row, c.lone_bytes);
	}
	c.leans = b->leans;
	if (b->leave || c.leans || worth_copying(g, &c, c.dead_bytes))
		return add_candidate(g, &c);
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
	if (b->whole || (count_live(b) >= row->nr_entries && !b->leans))
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

static int ascending(const void *a, const void *b)
{
	const struct gc_candidate *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int descending(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* Do its groups lean on enough that is to be left? */
static bool leans(const struct plan *p, const struct gc_candidate *c)
{
	return c->leans &&
	       worth_copying(p->g, c, c->dead_bytes +
				      (u64)(p->lean_bytes * c->leans));
}

/*
 * Is it to be written in this round? What others are going to leave is not, if
 * it leans on nothing itself: the next round will find it dead.
 */
static bool chosen(const struct plan *p, const struct gc_candidate *c)
{
	const struct gc_bits *b = gc_marks_get(p->g->marks, c->number);

	if (p->g->leaving && leans(p, c))
		return true;
	return b && !(p->g->leaving && b->leave) &&
	       worth_copying(p->g, c, c->dead_bytes);
}

/* Before anything is freed, heirs take about what they inherit. */
static bool room_to_leave(struct gc *g, u64 lone, u64 rest)
{
	struct disk_space space;

	if (g->opt->limit_bytes && rest + lone > g->opt->limit_bytes)
		return false;
	return !disk_space(g->depot->data, &space, NULL) &&
	       space.free_bytes > lone + LEAVE_SPACE;
}

/*
 * Does it pay to leave what only references need? All groups that lean on it
 * must be written for it. Heirs take what their bases did, about; so what can
 * be gained is of the differences, if there are bases enough to be freed. By
 * measurement it is more than that, up to twice, since sketches find better
 * bases than the backup did: hence two thirds of the threshold. At the usual
 * one three bytes are written for one that is gained, as for other copies.
 */
static bool leaving_pays(const struct plan *p)
{
	u64 lone = p->lone_bytes, rest = 0, deltas = 0;
	const struct gc_candidate *c;
	struct gc *g = p->g;
	u32 i;

	for (i = 0; i < g->nr_candidates; i++) {
		c = &g->candidates[i];
		if (!leans(p, c))
			continue;
		rest += c->file_bytes - c->dead_bytes - c->lone_bytes;
		deltas += c->delta_bytes;
	}
	return min_u64(lone, deltas) * 150 >= (lone + rest) * g->threshold &&
	       deltas && room_to_leave(g, lone, rest);
}

static int make_heirs(struct gc *g, struct akin_diag *diag)
{
	size_t marks = gc_marks_bytes(g->marks), bytes = g->opt->memory_bytes;

	bytes = bytes > marks ? min_u64(bytes - marks, bytes / HEIRS_SHARE) : 0;
	g->heirs = gc_heirs_new(bytes);
	if (!g->heirs ||
	    gc_marks_list(g->marks, &g->unlearned, &g->nr_unlearned))
		return diag_set(diag, -AKIN_E_nomem, "heirs");
	return 0;
}

static int choose(struct plan *p, struct akin_diag *diag)
{
	struct gc *g = p->g;
	struct gc_result *r = g->result;
	u32 i, nr = 0;
	int err = 0;

	/* By what such bytes take on the average. */
	p->lean_bytes = (double)g->depot->super.chunk_avg *
			(double)p->lone_bytes /
			(double)max_u64(p->lone_raw, 1);
	g->leaving = g->leaving || leaving_pays(p);
	if (g->leaving && !g->heirs)
		err = make_heirs(g, diag);
	if (err)
		return err;
	for (i = 0; i < g->nr_candidates; i++) {
		if (!chosen(p, &g->candidates[i])) {
			r->kept_below_bytes += g->candidates[i].dead_bytes;
			continue;
		}
		r->partly_dead_containers++;
		r->partly_dead_bytes += g->candidates[i].dead_bytes;
		g->candidates[nr++] = g->candidates[i];
	}
	g->nr_candidates = nr;
	/* What others are made of comes before them. */
	if (nr)
		qsort(g->candidates, nr, sizeof(*g->candidates),
		      g->leaving ? ascending : best_first);
	return 0;
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
	if (!err) {
		if (g->nr_dead)
			qsort(g->dead, g->nr_dead, sizeof(*g->dead),
			      descending);
		err = choose(&p, diag);
	}
	if (err)
		*r = before;
	return diag_said(diag, err);
}
