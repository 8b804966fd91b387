/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a restore. Chunks of the contents are live marks, what groups
 * refer to are base marks; a group is read if it holds either. References lead
 * to smaller container numbers only, so one descent follows them, but for
 * containers that come into play on the way: these get another.
 *
 * Counting is a pass of its own at the end: then a group is known to hold live
 * chunks, or to be there for others only, and is counted once.
 */
#include "base/mem.h"
#include "container/container_reader.h"
#include "gc/gc_marks.h"
#include "recipe/recipe_reader.h"
#include "store/store_cost.h"
#include "verify/verify_content.h"

struct store_cost {
	struct depot *depot;
	struct decoder *dec;
	struct gc_marks *marks;
	struct akin_restore_cost sum;
	struct fp fps[RECIPE_LEAF_MAX];
	struct dir_hit hits[RECIPE_LEAF_MAX];
};

int store_cost_new(struct depot *d, struct decoder *dec, size_t budget_bytes,
		   struct store_cost **out, struct akin_diag *diag)
{
	struct store_cost *c = mem_zalloc(sizeof(*c));

	if (c)
		c->marks = gc_marks_new(budget_bytes);
	if (!c || !c->marks) {
		store_cost_free(c);
		return diag_set(diag, -AKIN_E_nomem, "restore cost");
	}
	c->depot = d;
	c->dec = dec;
	*out = c;
	return 0;
}

void store_cost_free(struct store_cost *c)
{
	if (!c)
		return;
	gc_marks_free(c->marks);
	mem_free(c);
}

/* Marks that were given up would be missed. */
static int marked(struct store_cost *c, u64 container, int err,
		  struct akin_diag *diag)
{
	if (!err && gc_marks_low(c->marks) > 1)
		err = -AKIN_E_nomem;
	if (err == -AKIN_E_nomem)
		return diag_set(diag, err, "restore cost: too many containers "
				"to note; --memory gives more room");
	return err ? diag_set(diag, err, "container %llu",
			      (unsigned long long)container) : 0;
}

/* c->fps[0 .. n) as live. What is nowhere, is counted. */
static int mark_chunks(struct store_cost *c, u32 n, const struct hint *hint,
		       bool metadata, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	const struct dir_hit *hit;
	bool fresh, outside;
	int err;
	u32 i;

	err = n ? depot_locate(c->depot, hint, c->fps, n, c->hits, &why) : 0;
	if (err && !verify_is_damage(err))
		return diag_pass(diag, err, &why);
	for (i = 0; i < n; i++) {
		hit = &c->hits[i];
		if (!hit->container) {
			c->sum.missing++;
			continue;
		}
		err = gc_marks_live(c->marks, hit->container, hit->entry,
				    &fresh, &outside);
		err = marked(c, hit->container, err, diag);
		if (err)
			return err;
		if (!fresh || metadata)
			continue;
		c->sum.chunks++;
		c->sum.bytes_unique += hit->len;
	}
	return 0;
}

int store_cost_piece(void *ctx, const struct fp *fp, struct akin_diag *diag)
{
	struct store_cost *c = ctx;
	struct hint none = { 0 };

	c->fps[0] = *fp;
	return mark_chunks(c, 1, &none, true, diag);
}

int store_cost_content(struct store_cost *c, const struct content *ct,
		       const struct hint *hint, struct akin_diag *diag)
{
	const struct recipe_entry *e;
	const struct hint *own;
	struct recipe_reader *r;
	u32 nr, i, n;
	int err, more;

	c->sum.bytes_logical += ct->bytes;
	err = recipe_reader_open(c->depot, c->dec, ct, hint, &r, diag);
	if (err)
		return err;
	recipe_reader_on_piece(r, store_cost_piece, c);
	while (!err) {
		more = recipe_reader_next(r, &e, &nr, &own, diag);
		if (more <= 0) {
			err = more;
			break;
		}
		for (i = 0, n = 0; i < nr && n < RECIPE_LEAF_MAX; i++)
			if (e[i].type == RECIPE_CHUNK ||
			    e[i].type == RECIPE_REPEAT)
				c->fps[n++] = e[i].fp;
		err = mark_chunks(c, n, own, false, diag);
	}
	recipe_reader_close(r);
	return err;
}

/* References ----------------------------------------------------------------*/

/* 1: it holds chunks of the contents; 0: of bases only; negative: neither. */
static int group_role(const struct directory *d, const struct dir_group *g,
		      const struct gc_bits *b)
{
	int role = -1;
	u32 i;

	for (i = 0; i < g->nr; i++) {
		if (gc_is_live(b, d->entries[g->first + i].entry))
			return 1;
		if (gc_is_kept(b, d->entries[g->first + i].entry))
			role = 0;
	}
	return role;
}

static int follow_group(struct store_cost *c, struct container_reader *r,
			u32 index, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	const struct group_ref *ref;
	struct container_group cg;
	bool lone;
	u32 i, k;
	int err;

	err = container_read_group(r, index, &cg, &why);
	if (err && verify_is_damage(err)) {
		c->sum.unreadable++;
		return 0;
	}
	if (err)
		return diag_pass(diag, err, &why);
	for (i = 0; !err && i < cg.header.nr_refs; i++) {
		ref = &cg.header.refs[i];
		for (k = 0; !err && k < ref->nr; k++)
			err = gc_marks_base(c->marks, ref->container,
					    ref->entry + k, &lone);
		err = marked(c, ref->container, err, diag);
	}
	container_group_release(&cg);
	return err;
}

static int follow_container(struct store_cost *c, struct container_reader *r,
			    struct akin_diag *diag)
{
	const struct directory *d = container_directory(r);
	const struct dir_group *g;
	struct gc_bits *b;
	int err = 0;
	u32 i;

	for (i = 0; !err && d->nr_bases && i < d->nr_groups; i++) {
		g = &d->groups[i];
		/* Looked up anew: marks move while others come. */
		b = gc_marks_get(c->marks, d->container);
		if (g->depth && b && group_role(d, g, b) >= 0 &&
		    !gc_see_group(b, d, g))
			err = follow_group(c, r, i, diag);
	}
	return err;
}

/* Counting ------------------------------------------------------------------*/

static int count_container(struct store_cost *c, struct container_reader *r,
			   struct akin_diag *diag)
{
	const struct directory *d = container_directory(r);
	const struct gc_bits *b = gc_marks_get(c->marks, d->container);
	struct akin_restore_cost *s = &c->sum;
	bool data = d->kind == CONTAINER_DATA;
	const struct dir_group *g;
	int role;
	u32 i;

	*(data ? &s->containers : &s->metadata_containers) += 1;
	for (i = 0; i < d->nr_groups; i++) {
		g = &d->groups[i];
		role = group_role(d, g, b);
		if (role < 0)
			continue;
		if (data) {
			*(role ? &s->groups : &s->groups_base) += 1;
			s->bytes_read += g->len;
			s->bytes_decoded += g->raw_len;
			s->depth = (unsigned)max_u64(s->depth, g->depth);
		} else {
			s->metadata_groups++;
			s->metadata_read += g->len;
			s->metadata_decoded += g->raw_len;
		}
	}
	return 0;
}

/* One descent; @fresh_only: over what has got new marks. How many had. */
static int descend(struct store_cost *c, bool fresh_only,
		   int (*fn)(struct store_cost *c, struct container_reader *r,
			     struct akin_diag *diag),
		   int (*tick)(void *ctx, struct akin_diag *diag), void *ctx,
		   struct akin_diag *diag)
{
	struct container_reader *r;
	struct akin_diag why = { 0 };
	struct gc_bits *b;
	u64 *numbers;
	u32 nr, i;
	int err, done = 0;

	err = gc_marks_list(c->marks, &numbers, &nr);
	if (err)
		return diag_set(diag, err, "restore cost");
	for (i = 0; !err && i < nr; i++) {
		b = gc_marks_get(c->marks, numbers[i]);
		if (!b || (fresh_only && !b->fresh))
			continue;
		b->fresh = false;
		done = 1;
		err = tick ? tick(ctx, diag) : 0;
		if (err)
			break;
		err = dircache_get(c->depot->dirs, numbers[i], &r, &why);
		if (!err) {
			err = fn(c, r, diag);
			dircache_put(c->depot->dirs, numbers[i]);
		} else if (verify_is_damage(err)) {
			c->sum.unreadable += !fresh_only;
			err = 0;
		} else {
			err = diag_pass(diag, err, &why);
		}
	}
	mem_free(numbers);
	return err ? err : done;
}

int store_cost_finish(struct store_cost *c,
		      int (*tick)(void *ctx, struct akin_diag *diag), void *ctx,
		      struct akin_restore_cost *out, struct akin_diag *diag)
{
	int more;

	do {
		more = descend(c, true, follow_container, tick, ctx, diag);
	} while (more > 0);
	if (!more)
		more = descend(c, false, count_container, tick, ctx, diag);
	*out = c->sum;
	return more < 0 ? more : 0;
}
