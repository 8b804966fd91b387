/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often chunks are referred to.
 *
 * A counter for each entry of each container, in as many containers as the
 * budget has room for; then all snapshots are walked, and what they refer to
 * elsewhere is left to the next pass. Contents that are met again (files that
 * did not change) are remembered with how often, and read once for all of
 * these, as far as a table of fixed size goes.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "container/container_reader.h"
#include "os/clock.h"
#include "recipe/recipe_reader.h"
#include "store/store.h"
#include "tree/tree_walk.h"
#include "verify/verify_content.h"

#define PROGRESS_NS (200ull * 1000 * 1000)
/* Contents that may be met again: a hundred bytes and a hint each. */
#define MEMO_SLOTS 8192u

struct counted {
	u64 number;
	u32 generation, nr;
	u64 file_bytes;
	u32 *times;		/* of each entry; saturates */
};

struct memo {
	struct fp root;
	u8 level;
	u64 bytes;
	u64 times;		/* 0: free */
	struct hint hint;	/* owned */
};

struct histogram {
	struct akin_pool *p;
	struct akin_histogram *out;
	struct akin_diag *diag;
	struct counted *c;	/* all data containers, ascending */
	u32 nr, cap;
	u32 first, end;		/* of this pass */
	u64 *snapshots;
	u32 nr_snapshots, cap_snapshots;
	struct memo *memo;
	struct fp fps[RECIPE_LEAF_MAX];
	u64 times[RECIPE_LEAF_MAX];
	struct dir_hit hits[RECIPE_LEAF_MAX];
	void (*progress)(void *ctx, const struct akin_progress *p);
	void *ctx;
	struct akin_progress now;
	u64 start_ns, shown_ns;
};

static int tick(struct histogram *h)
{
	u64 now = clock_ns();

	if (h->progress && now - h->shown_ns > PROGRESS_NS) {
		h->shown_ns = now;
		h->now.elapsed_ns = now - h->start_ns;
		h->progress(h->ctx, &h->now);
	}
	return store_check_stop(h->p, h->diag);
}

static int grow(void **v, u32 nr, u32 *cap, size_t size)
{
	void *p;

	if (nr < *cap)
		return 0;
	p = mem_realloc(*v, (*cap ? *cap * 2 : 256) * size);
	if (!p)
		return -AKIN_E_nomem;
	*cap = *cap ? *cap * 2 : 256;
	*v = p;
	return 0;
}

static int note_container(void *ctx, const struct catalog_container *row)
{
	struct histogram *h = ctx;
	struct counted *c;

	if (row->kind != CONTAINER_DATA || row->condemned_txn)
		return 0;
	if (grow((void **)&h->c, h->nr, &h->cap, sizeof(*h->c)))
		return -AKIN_E_nomem;
	c = &h->c[h->nr++];
	memset(c, 0, sizeof(*c));
	c->number = row->number;
	c->generation = row->generation;
	c->file_bytes = row->file_bytes;
	/* Later generations have gaps in their numbers. */
	c->nr = row->generation ? h->p->super.container_chunks :
				  row->nr_entries;
	return 0;
}

static int note_snapshot(void *ctx, const struct snapshot *s,
			 const struct catalog_status *st)
{
	struct histogram *h = ctx;

	if (grow((void **)&h->snapshots, h->nr_snapshots, &h->cap_snapshots,
		 sizeof(*h->snapshots)))
		return -AKIN_E_nomem;
	h->snapshots[h->nr_snapshots++] = s->number;
	h->now.files_total += s->counts.files;
	return 0;
}

static int by_number(const void *key, const void *member)
{
	const u64 *number = key;
	const struct counted *c = member;

	return (*number > c->number) - (*number < c->number);
}

static void add_times(struct histogram *h, const struct dir_hit *hit, u64 times)
{
	struct counted *c;
	u32 *at;

	if (!hit->container) {
		h->out->missing += h->first == 0 ? times : 0;
		return;
	}
	c = bsearch(&hit->container, h->c + h->first, h->end - h->first,
		    sizeof(*h->c), by_number);
	if (!c || hit->entry >= c->nr)
		return;
	at = &c->times[hit->entry];
	*at = (u32)min_u64(*at + times, UINT32_MAX);
}

/* Damage is counted, and what else there is goes on. */
static int tolerate(struct histogram *h, int err, const struct akin_diag *why)
{
	if (err >= 0)
		return err;
	if (!verify_is_damage(err))
		return diag_pass(h->diag, err, why);
	h->out->unreadable += h->first == 0;
	return 0;
}

static int count_leaf(struct histogram *h, const struct recipe_entry *e, u32 nr,
		      const struct hint *hint, u64 times)
{
	struct akin_diag why = { 0 };
	u32 i, n = 0;
	int err;

	for (i = 0; i < nr && n < RECIPE_LEAF_MAX; i++) {
		if (e[i].type != RECIPE_CHUNK && e[i].type != RECIPE_REPEAT)
			continue;
		h->fps[n] = e[i].fp;
		h->times[n++] = times * e[i].count;
	}
	if (!n)
		return 0;
	err = depot_locate(&h->p->depot, hint, h->fps, n, h->hits, &why);
	if (err && !verify_is_damage(err))
		return diag_pass(h->diag, err, &why);
	for (i = 0; i < n; i++)
		add_times(h, &h->hits[i], h->times[i]);
	return 0;
}

static int count_content(struct histogram *h, const struct content *ct,
			 const struct hint *hint, u64 times)
{
	const struct recipe_entry *e;
	struct akin_diag why = { 0 };
	const struct hint *own;
	struct recipe_reader *r;
	u32 nr;
	int err, more;

	err = recipe_reader_open(&h->p->depot, &h->p->dec, ct, hint, &r, &why);
	if (err)
		return tolerate(h, err, &why);
	while (!err) {
		more = recipe_reader_next(r, &e, &nr, &own, &why);
		if (more <= 0) {
			err = tolerate(h, more, &why);
			break;
		}
		err = count_leaf(h, e, nr, own, times);
		if (!err)
			err = tick(h);
	}
	recipe_reader_close(r);
	return err;
}

static int flush_memo(struct histogram *h, struct memo *m)
{
	struct content ct = { .kind = CONTENT_ROOT, .bytes = m->bytes,
			      .level = m->level, .root = m->root };
	int err = 0;

	if (m->times)
		err = count_content(h, &ct, &m->hint, m->times);
	mem_free(m->hint.containers);
	memset(m, 0, sizeof(*m));
	return err;
}

static int add_content(struct histogram *h, const struct content *ct,
		       const struct hint *hint)
{
	struct memo *m;
	int err;

	if (ct->kind != CONTENT_ROOT)
		return ct->kind == CONTENT_ENTRIES ?
			       count_content(h, ct, hint, 1) : 0;
	m = &h->memo[fp_prefix(&ct->root) % MEMO_SLOTS];
	if (m->times && fp_equal(&m->root, &ct->root)) {
		m->times++;
		return 0;
	}
	err = flush_memo(h, m);
	if (err)
		return err;
	m->root = ct->root;
	m->level = ct->level;
	m->bytes = ct->bytes;
	m->times = 1;
	return store_copy_hint(hint, &m->hint, h->diag);
}

static int walk_snapshot(struct histogram *h, const struct snapshot *s)
{
	struct akin_diag why = { 0 };
	struct tree_step step;
	struct tree_walk *w;
	int err, more;

	err = tree_walk_open(&h->p->depot, &h->p->dec, &s->root, &s->root_hint,
			     "", &w, &why);
	if (err)
		return tolerate(h, err, &why);
	while (!err) {
		memset(&why, 0, sizeof(why));
		more = tree_walk_next(w, &step, &why);
		if (more < 0)
			err = tolerate(h, more, &why);
		if (more <= 0)
			break;
		if (step.event != TREE_NODE)
			continue;
		h->now.files += step.node->type == NODE_FILE;
		h->now.bytes += step.node->content.bytes;
		h->now.current = step.path;
		if (step.node->type == NODE_FILE ||
		    step.node->type == NODE_STREAM)
			err = add_content(h, &step.node->content, step.hint);
		if (!err)
			err = tick(h);
	}
	tree_walk_close(w);
	return err;
}

static int walk_snapshots(struct histogram *h)
{
	struct snapshot s = { 0 };
	u32 i;
	int err = 0;

	for (i = 0; !err && i < h->nr_snapshots; i++) {
		err = catalog_snapshot(h->p->catalog, h->snapshots[i], &s,
				       NULL);
		if (err == -AKIN_E_snap_unknown) {
			err = 0;	/* forgotten since */
			continue;
		}
		if (err)
			return diag_set(h->diag, err, "reading a snapshot");
		err = walk_snapshot(h, &s);
		snapshot_release(&s);
		memset(&s, 0, sizeof(s));
	}
	for (i = 0; !err && i < MEMO_SLOTS; i++)
		err = flush_memo(h, &h->memo[i]);
	return err;
}

static void add_row(struct akin_histogram_row *r,
		    const struct akin_histogram_row *one, u64 times)
{
	r->chunks += one->chunks;
	r->bytes_raw += one->bytes_raw;
	r->bytes_packed += one->bytes_packed;
	r->bytes_stored += one->bytes_stored;
	r->ref_chunks += one->chunks * times;
	r->ref_raw += one->bytes_raw * times;
	r->ref_packed += one->bytes_packed * times;
	r->ref_stored += one->bytes_stored * times;
}

/* @len of @all as @of; rounding is lost to nobody in particular. */
static u64 part(u64 len, u64 all, u64 of)
{
	return all ? (u64)((double)len * (double)of / (double)all + 0.5) : 0;
}

static u32 bucket(u64 times)
{
	return 63 - (u32)__builtin_clzll(times);
}

static void sum_container(struct histogram *h, const struct counted *c,
			  const struct directory *d)
{
	struct akin_histogram_row one;
	const struct dir_entry *e;
	const struct dir_group *g;
	u64 packed = 0;
	u32 i, times;

	for (i = 0; i < d->nr_groups; i++)
		packed += d->groups[i].len;
	for (i = 0; i < d->nr_entries; i++) {
		e = &d->entries[i];
		g = &d->groups[e->group];
		memset(&one, 0, sizeof(one));
		one.chunks = 1;
		one.bytes_raw = e->len;
		one.bytes_packed = part(e->len, g->raw_len, g->len);
		one.bytes_stored = part(one.bytes_packed, packed,
					c->file_bytes);
		times = e->entry < c->nr ? c->times[e->entry] : 0;
		if (times) {
			add_row(&h->out->rows[bucket(times)], &one, times);
			add_row(&h->out->total, &one, times);
		} else {
			add_row(&h->out->unreferenced, &one, 0);
		}
	}
}

static int sum_containers(struct histogram *h)
{
	struct akin_diag why = { 0 };
	struct container_reader *r;
	struct counted *c;
	int err = 0;
	u32 i;

	for (i = h->first; !err && i < h->end; i++) {
		c = &h->c[i];
		err = container_open(h->p->data, &h->p->super.pool, c->number,
				     c->generation, &r, &why);
		if (!err) {
			sum_container(h, c, container_directory(r));
			container_close(r);
		} else if (verify_is_damage(err) || err == -AKIN_E_absent) {
			h->out->unreadable++;
			err = 0;
		} else {
			return diag_pass(h->diag, err, &why);
		}
		if (!err)
			err = tick(h);
	}
	return err;
}

/* Counters for as many containers as the budget has room for, at least one. */
static int begin_pass(struct histogram *h)
{
	size_t budget = h->p->budget.streams, used = 0;
	u32 i;

	h->first = h->end;
	for (i = h->first; i < h->nr; i++) {
		used += h->c[i].nr * sizeof(u32);
		if (i > h->first && used > budget)
			break;
		h->c[i].times = mem_calloc(h->c[i].nr, sizeof(u32));
		if (!h->c[i].times)
			return diag_set(h->diag, -AKIN_E_nomem, "histogram");
	}
	h->end = i;
	return 0;
}

static void end_pass(struct histogram *h)
{
	u32 i;

	for (i = h->first; i < h->nr; i++) {
		mem_free(h->c[i].times);
		h->c[i].times = NULL;
	}
}

static int collect(struct histogram *h)
{
	int err;

	h->memo = mem_calloc(MEMO_SLOTS, sizeof(*h->memo));
	if (!h->memo)
		return diag_set(h->diag, -AKIN_E_nomem, "histogram");
	err = catalog_each_container(h->p->catalog, note_container, h, h->diag);
	if (!err)
		err = catalog_each_status(h->p->catalog, CATALOG_LISTED,
					  note_snapshot, h, h->diag);
	return err;
}

int akin_stats_histogram(struct akin_pool *p,
			 void (*progress)(void *ctx,
					  const struct akin_progress *p),
			 void *ctx, struct akin_histogram *out,
			 struct akin_diag *diag)
{
	struct histogram *h = mem_zalloc(sizeof(*h));
	u32 i;
	int err;

	memset(out, 0, sizeof(*out));
	if (!h)
		return diag_set(diag, -AKIN_E_nomem, "histogram");
	h->p = p;
	h->out = out;
	h->diag = diag;
	h->progress = progress;
	h->ctx = ctx;
	h->start_ns = clock_ns();
	err = collect(h);
	while (!err && (h->end < h->nr || !out->passes)) {
		out->passes++;
		err = begin_pass(h);
		if (!err)
			err = walk_snapshots(h);
		if (!err)
			err = sum_containers(h);
		end_pass(h);
	}
	for (i = 0; h->memo && i < MEMO_SLOTS; i++)
		mem_free(h->memo[i].hint.containers);
	mem_free(h->memo);
	mem_free(h->c);
	mem_free(h->snapshots);
	mem_free(h);
	return diag_said(diag, err);
}
