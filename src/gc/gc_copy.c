/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying forward: candidates into new generations, best first, a batch at a
 * time. The old generations of a batch are deleted before the next one begins,
 * so that reclaiming needs little space of its own; if somebody still reads
 * them, it ends there.
 *
 *	reserve numbers -> write, sync -> switch (one transaction) -> delete
 *
 * When groups leave bases for others (gc_rebase.c), containers are taken in the
 * order of their numbers. A batch then also ends before a group that is to be
 * made of what this very batch gives a smaller depth: until the old generation
 * is gone, a session may go back to it, and its depth counts.
 *
 * A crash before the switch leaves files without a name, which the next sweep
 * removes; one behind it leaves condemned generations, which the next reclaim
 * deletes.
 */
#include "gc/gc_internal.h"

/* What may be there twice for a moment, even if there is room for more. */
#define BATCH_BYTES (64 * MiB)
/* By how much the pool may be larger for that moment than when the run began;
 * of large pools this part. */
#define SLACK_BYTES (4 * MiB)
#define SLACK_SHARE 100
#define BLOCK_BYTES 4096

struct copy {
	struct gc *g;
	struct catalog_switch switches[CATALOG_BATCH];
	u64 from_bytes[CATALOG_BATCH];
	u64 parity_bytes[CATALOG_BATCH];	/* of the new generation */
	u32 nr;
	u64 bytes;
};

static void drop_new(struct copy *c, bool failed_only)
{
	u64 bytes;
	u32 i;

	for (i = 0; i < c->nr; i++) {
		if (!failed_only || !c->switches[i].done)
			gc_unlink(c->g, c->switches[i].number,
				  c->switches[i].to, &bytes);
	}
	if (!failed_only)
		c->nr = 0;
}

/* Less was freed than promised: compression, or what the file system rounds. */
static bool worth_it(const struct gc *g, u64 from, u64 to)
{
	return from >= to + BLOCK_BYTES &&
	       (from - to) * 200 >= from * g->threshold;
}

/* Bytes that may be written before others are given back. */
static u64 batch_room(struct gc *g)
{
	struct gc_result *r = g->result;
	u64 may;

	/* What it says is of the marks' range. */
	g->slack_bytes = max_u64(g->slack_bytes, max_u64(r->bytes / SLACK_SHARE,
							 SLACK_BYTES));
	may = g->slack_bytes + r->deleted_bytes;
	return min_u64(may - min_u64(may, r->copied_bytes), BATCH_BYTES);
}

/* How many candidates from @at on fit into a batch; one does in any case. */
static u32 batch_size(struct gc *g, u32 at)
{
	u64 room = batch_room(g), bytes = 0;
	u32 nr = 0, max = (u32)min_u64(g->nr_candidates - at, CATALOG_BATCH);

	while (nr < max) {
		bytes += g->candidates[at + nr].file_bytes -
			 g->candidates[at + nr].dead_bytes;
		if (nr && bytes > room)
			break;
		nr++;
	}
	return nr;
}

/* 1: not in this batch; an error of class NOSPACE: no room. */
static int write_one(struct copy *c, const struct gc_candidate *from, u32 to,
		     struct akin_diag *diag)
{
	struct catalog_switch *s = &c->switches[c->nr];
	struct gc *g = c->g;
	bool dropped = g->refs_dropped;
	u32 left = 0;
	u64 bytes;
	int err;

	memset(s, 0, sizeof(*s));
	s->number = from->number;
	s->from = from->generation;
	s->to = to;
	if (!c->nr)
		g->batch_first = g->leaving ? from->number : UINT64_MAX;
	err = g->leaving ? gc_learn_heirs(g, from->number, diag) : 0;
	if (!err)
		err = gc_write(g, s, &left, diag);
	if (!err && (left ||
		     worth_it(g, from->file_bytes, s->file_bytes))) {
		/* Its name is not durable yet, and need not be. */
		c->parity_bytes[c->nr] = depot_parity_add(g->depot, s->number,
							  s->to);
		c->from_bytes[c->nr++] = from->file_bytes;
		c->bytes += s->file_bytes;
		g->written_bytes += s->file_bytes;
		g->refs_dropped |= left > 0;
		return 0;
	}
	g->refs_dropped = dropped;
	gc_unlink(g, s->number, s->to, &bytes);
	if (!err)
		g->result->kept_below_bytes += from->dead_bytes;
	return err;
}

/* Candidates from *at on, until the batch is full. */
static int write_batch(struct copy *c, u32 *at, struct akin_diag *diag)
{
	u64 numbers[CATALOG_BATCH] = { 0 }, limit = c->g->opt->limit_bytes;
	u32 to[CATALOG_BATCH], nr, i;
	struct gc *g = c->g;
	int err;

	nr = batch_size(g, *at);
	for (i = 0; i < nr; i++)
		numbers[i] = g->candidates[*at + i].number;
	err = catalog_reserve_generations(g->catalog, numbers, nr, to, diag);
	for (i = 0; !err && i < nr; i++) {
		g->result->limited = limit && g->written_bytes >= limit;
		if (g->result->limited)
			break;
		err = gc_tick(g, diag);
		if (!err && to[i])
			err = write_one(c, &g->candidates[*at], to[i], diag);
		if (err > 0)
			return 0;
		(*at)++;
	}
	return err;
}

/* 1: switched; 0: roots were added meanwhile. */
static int switch_batch(struct copy *c, struct akin_diag *diag)
{
	struct gc *g = c->g;
	bool grown = false;
	u64 txn = 0;
	u32 i;
	int err;

	gc_at(g, GC_WRITTEN);
	err = catalog_condemn(g->catalog, g->marked, NULL, 0, c->switches,
			      c->nr, &txn, &grown, diag);
	if (err) {
		/* It may have happened: then they have a name. */
		if (akin_error_class(err) != AKIN_CLASS_IO)
			drop_new(c, false);
		return err;
	}
	drop_new(c, !grown);
	if (grown)
		return 0;
	g->condemned = txn;
	for (i = 0; i < c->nr; i++) {
		if (!c->switches[i].done)
			continue;
		g->result->copied_containers++;
		g->result->copied_bytes += c->switches[i].file_bytes +
					   c->parity_bytes[i];
		g->result->copied_from_bytes += c->from_bytes[i];
	}
	return 1;
}

/* They have left what they were to leave, if they are planned again. */
static void forget_leans(struct gc *g, const struct copy *c)
{
	struct gc_bits *b;
	u32 i;

	for (i = 0; i < c->nr; i++) {
		b = gc_marks_get(g->marks, c->switches[i].number);
		if (b)
			b->leans = 0;
	}
}

/* One batch from *at on; *stop_ret: no more of this. */
static int copy_batch(struct gc *g, const struct gc_result *before, u32 *at,
		      bool *stop_ret, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct copy c = { .g = g };
	int err, done;

	g->progress.phase = "copying";
	err = write_batch(&c, at, &why);
	if (akin_error_class(err) == AKIN_CLASS_NOSPACE) {
		/* What is switched now makes room for the next time. */
		*stop_ret = g->result->limited = true;
		err = 0;
	}
	if (err) {
		drop_new(&c, false);
		return diag_set(diag, err, "%s", why.code ? why.text :
				akin_strerror(err));
	}
	*stop_ret |= g->result->limited;
	if (!c.nr)
		return 0;
	done = switch_batch(&c, diag);
	if (done < 0)
		return done;
	if (done) {
		forget_leans(g, &c);
		return gc_delete(g, &g->held, diag);
	}
	*at = 0;
	return gc_mark_again(g, before, diag);
}

int gc_copy(struct gc *g, const struct gc_result *before,
	    struct akin_diag *diag)
{
	bool stop = false;
	u32 at = 0;
	int err = 0;

	g->held = false;
	while (!err && !stop && !g->held && at < g->nr_candidates)
		err = copy_batch(g, before, &at, &stop, diag);
	for (; !err && at < g->nr_candidates; at++)
		g->result->kept_below_bytes += g->candidates[at].dead_bytes;
	return err;
}
