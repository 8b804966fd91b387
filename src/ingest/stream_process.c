/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to a batch that is cut: fingerprint everything, look everything
 * up, then walk the operations in order and store, build recipes and call back.
 * Each step runs over the whole batch, so that vector lanes and prefetches are
 * full whatever the sizes of the objects.
 */
#include "base/mem.h"
#include "ingest/hash_parts.h"
#include "ingest/match_verify.h"
#include "ingest/stream_internal.h"
#include "os/clock.h"

/* The batch's chunks as items to hash, in the lane's room. */
static int list_chunks(struct lane *l, const struct batch *b,
		       struct akin_diag *diag)
{
	const struct op *op;
	const u8 *data;
	u32 i, k;
	int err;

	l->nr_chunks = 0;
	l->samples = b->samples.max ? &b->samples : NULL;
	err = lane_need_chunks(l, b->nr_chunks, diag);
	if (err)
		return err;
	for (i = 0; i < b->nr_ops; i++) {
		op = &b->ops[i];
		data = stream_op_data(b, op);
		for (k = 0; k < op->nr_chunks; k++) {
			l->items[l->nr_chunks].data = data;
			l->items[l->nr_chunks].len = b->lens[l->nr_chunks];
			data += b->lens[l->nr_chunks++];
		}
	}
	return 0;
}

/* Runs of stored chunks named to the packer for one chunk: few, as those of a
 * region were mostly stored together. */
#define NEAR_RUNS 32

/* Chunk @k of the batch, which is nowhere yet; chunk @i of what the cursor was
 * told last. */
static int store_chunk(struct ingest_stream *st, u32 k, u32 i,
		       u64 *container_ret, struct akin_diag *diag)
{
	const struct hash_item *item = &st->lane->items[k];
	const struct fp *fp = &st->lane->fps[k];
	struct group_ref near[NEAR_RUNS];
	struct dir_sketch sketch = { { 0 } };
	bool is_new = true;
	struct place at = { 0 };
	u32 nr;
	int err;

	if (st->opt.dry_run) {
		err = session_pretend(st->session, fp, &is_new, diag);
	} else {
		nr = follow_near(st->follow, i, near, NEAR_RUNS);
		if (!nr)
			nr = stream_resemble(st, k, &sketch, near, NEAR_RUNS);
		err = packer_add(&st->lane->data_packer, fp, item->data,
				 item->len, NULL, near, nr, &at, diag);
		if (!err && sketch.part[0])
			err = packer_sketch(&st->lane->data_packer, &at,
					    &sketch, diag);
		follow_own(st->follow, at.container);
	}
	if (err)
		return err;
	*container_ret = at.container;
	st->tally.chunks_new += is_new;
	st->tally.bytes_new += is_new ? item->len : 0;
	return 0;
}

/* Chunk @k of the batch, @i of its data: find or store, and into the recipe. */
static int emit_chunk(struct ingest_stream *st, u32 k, u32 i,
		      struct akin_diag *diag)
{
	const struct hash_item *item = &st->lane->items[k];
	struct recipe_entry e = { .type = RECIPE_CHUNK, .len = item->len,
				  .count = 1 };
	struct dir_hit *hit = &st->lane->hits[k];
	struct fp *fp = &st->lane->fps[k];
	int err = 0;

	st->tally.chunks++;
	/* An equal chunk may have been stored since the batch was looked up. */
	if (!hit->container) {
		err = depot_find_again(st->depot, fp, hit, diag);
		if (!err && hit->container && st->lane->matcher)
			err = match_more(st->lane, k, 1, diag);
	}
	if (!err && (!hit->container || hit->len != item->len)) {
		err = store_chunk(st, k, i, &hit->container, diag);
		if (!err && st->lane->matcher && !st->opt.dry_run)
			match_stored(st->lane, k);
	} else if (!err) {
		session_touch(st->session, hit->container);
	}
	if (err)
		return err;
	e.fp = *fp;
	return recipe_builder_add(&st->recipe, &e, hit->container, diag);
}

static int emit_data(struct ingest_stream *st, const struct batch *b,
		     const struct op *op, u32 *k, struct akin_diag *diag)
{
	struct recipe_entry e = { .type = RECIPE_INLINE, .count = 1 };
	u32 i;
	int err = 0;

	if (op->is_inline) {
		e.len = op->len;
		e.data = stream_op_data(b, op);
		return recipe_builder_add(&st->recipe, &e, 0, diag);
	}
	follow_batch(st->follow, st->recipe.bytes, st->lane->items + *k,
		     st->lane->fps + *k, st->lane->hits + *k, op->nr_chunks,
		     packer_wants_near(&st->lane->data_packer));
	if (st->lane->matcher)
		err = match_more(st->lane, *k, op->nr_chunks, diag);
	for (i = 0; !err && i < op->nr_chunks; i++)
		err = emit_chunk(st, (*k)++, i, diag);
	return err;
}

/*
 * An object that is large, and has much that is new, does not leave containers
 * open: only what is sealed can be followed and referred to, and what comes
 * next may be its next version. (In containers; one that is hardly filled costs
 * little beside an object that is as large as several.)
 */
#define LARGE_OBJECT 4
#define LARGE_NEW_PART 2	/* one by so much */

static int close_large(struct ingest_stream *st, const struct content *ct,
		       struct akin_diag *diag)
{
	u64 container = st->depot->super.container_bytes;
	u64 bytes_new = st->tally.bytes_new - st->before.bytes_new;
	int err;

	if (ct->bytes < LARGE_OBJECT * container || st->opt.dry_run ||
	    bytes_new < container / LARGE_NEW_PART)
		return 0;
	err = packer_close(&st->lane->data_packer, diag);
	return err ? err : packer_close(&st->lane->meta_packer, diag);
}

static int emit_end(struct ingest_stream *st, void *token,
		    struct akin_diag *diag)
{
	struct content ct;
	int err;

	hintset_reset(&st->hint);
	err = recipe_builder_finish(&st->recipe, &ct, &st->hint, diag);
	if (!err)
		err = close_large(st, &ct, diag);
	if (err) {
		if (st->opt.drop)
			st->opt.drop(st->opt.ctx, 0, token);
		return err;
	}
	if (!st->opt.object_done)
		return 0;
	return st->opt.object_done(st->opt.ctx, token, &ct, &st->hint.hint,
				   diag);
}

static int emit_op(struct ingest_stream *st, const struct batch *b,
		   const struct op *op, u32 *k, struct akin_diag *diag)
{
	struct recipe_entry hole = { .type = RECIPE_HOLE, .len = op->hole,
				     .count = 1 };

	switch (op->type) {
	case OP_BEGIN:
		st->leaf_off = 0;
		st->before = st->tally;
		follow_begin(st->follow, op->token);
		return 0;
	case OP_DATA:
		return emit_data(st, b, op, k, diag);
	case OP_HOLE:
		return recipe_builder_add(&st->recipe, &hole, 0, diag);
	case OP_END:
		return emit_end(st, op->token, diag);
	case OP_MARK:
		return st->opt.mark(st->opt.ctx, op->what, op->token, diag);
	default:
		return 0;
	}
}

void stream_drop_tokens(struct ingest_stream *st, struct batch *b, u32 from)
{
	for (; from < b->nr_ops; from++) {
		if (b->ops[from].type == OP_BEGIN)
			predecessor_free(b->ops[from].token);
		else if (st->opt.drop && (b->ops[from].type == OP_END ||
				     b->ops[from].type == OP_MARK))
			st->opt.drop(st->opt.ctx, b->ops[from].what,
				     b->ops[from].token);
	}
	b->nr_ops = 0;
	b->len = 0;
}

/* Fingerprint the lane's chunks, and look them up. */
static int find_chunks(struct ingest_stream *st, struct akin_diag *diag)
{
	struct counters *c = st->depot->counters;
	struct lane *l = st->lane;
	u64 start = clock_ns(), hashed, bytes = 0;
	u32 k;
	int err;

	if (!l->nr_chunks)
		return 0;
	for (k = 0; k < l->nr_chunks; k++)
		bytes += l->items[k].len;
	err = hash_parts(st->depot->workers, st->depot->data_hasher,
			 l->hash_scratch, l->items, l->nr_chunks, l->fps);
	if (err)
		return err;
	hashed = clock_ns();
	counters_stage(c, stage_hash, bytes, hashed - start);
	err = depot_find(st->depot, l->fps, l->nr_chunks, l->hits, diag);
	if (!err)
		counters_stage(c, stage_lookup, bytes, clock_ns() - hashed);
	return err;
}

static int process_in_lane(struct ingest_stream *st, struct batch *b, u32 *done,
			   struct akin_diag *diag)
{
	struct lane *l = st->lane;
	u32 k = 0;
	int err = 0;

	if (!st->cut_scratch)
		err = stream_cut(st, b, l->cut_scratch, diag);
	if (!err)
		err = list_chunks(l, b, diag);
	if (!err)
		err = find_chunks(st, diag);
	if (!err && l->matcher)
		err = match_batch(l, diag);
	while (!err && *done < b->nr_ops)
		err = emit_op(st, b, &b->ops[(*done)++], &k, diag);
	if (!st->cut_scratch)
		stream_save_carry(st, b);
	return err;
}

int stream_process(struct ingest_stream *st, struct batch *b,
		   struct akin_diag *diag)
{
	u32 done = 0;
	int err;

	pthread_mutex_lock(&st->lane->lock);
	st->in_lane = true;
	err = process_in_lane(st, b, &done, diag);
	st->in_lane = false;
	pthread_mutex_unlock(&st->lane->lock);
	if (!err)
		session_checkpoint_later(st->session);
	stream_drop_tokens(st, b, done);
	return err;
}

static int store_piece(struct ingest_stream *st, const struct buf *bytes,
		       const struct hint *hint, const struct fp *fp,
		       const struct group_ref *near, u32 nr_near,
		       u64 *container_ret, struct akin_diag *diag)
{
	struct dir_hit hit;
	struct place at;
	int err;

	err = depot_find(st->depot, fp, 1, &hit, diag);
	if (err)
		return err;
	if (st->opt.dry_run) {
		hit.container = 0;
	} else if (!hit.container || hit.len != bytes->len) {
		err = packer_add(&st->lane->meta_packer, fp, bytes->data,
				 (u32)bytes->len, hint, near, nr_near, &at,
				 diag);
		hit.container = at.container;
	} else {
		session_touch(st->session, hit.container);
	}
	*container_ret = hit.container;
	return err;
}

int ingest_store_piece(void *ctx, const struct buf *bytes,
		       const struct hint *hint, struct fp *fp_ret,
		       u64 *container_ret, struct akin_diag *diag)
{
	struct ingest_stream *st = ctx;
	bool lock = !st->in_lane;	/* not from a callback */
	int err;

	hasher_one(st->depot->meta_hasher, bytes->data, bytes->len, fp_ret);
	if (lock)
		pthread_mutex_lock(&st->lane->lock);
	err = store_piece(st, bytes, hint, fp_ret, NULL, 0, container_ret,
			  diag);
	if (lock)
		pthread_mutex_unlock(&st->lane->lock);
	return err;
}

static bool hint_has(const struct hint *h, u64 container)
{
	u32 i;

	for (i = 0; i < h->nr; i++) {
		if (h->containers[i] == container)
			return true;
	}
	return false;
}

/*
 * The first leaf that is finished and has chunks in the open container is what
 * later backups are led to by hits in it. A container cannot be full before
 * that: it takes more chunks than a leaf.
 */
static void note_first_leaf(struct ingest_stream *st, const struct hint *hint,
			    const struct fp *leaf, u64 leaf_container)
{
	struct lane *l = st->lane;
	const struct session_container *sc = l->data_packer.sc;

	if (!sc || sc->number == l->led || !hint_has(hint, sc->number))
		return;
	container_writer_first_leaf(sc->writer, leaf);
	l->led = sc->number;
	if (st->depot->similar)
		similar_add_leaf(st->depot->similar, leaf, leaf_container);
}

int stream_store_piece(void *ctx, const struct buf *bytes,
		       const struct hint *hint, struct fp *fp_ret,
		       u64 *container_ret, struct akin_diag *diag)
{
	struct ingest_stream *st = ctx;
	bool is_leaf = st->recipe.piece_level == 0;
	u64 len = is_leaf ? st->recipe.piece_bytes : 0;
	struct group_ref near[NEAR_RUNS];
	u32 nr;
	int err;

	hasher_one(st->depot->meta_hasher, bytes->data, bytes->len, fp_ret);
	nr = !packer_wants_near(&st->lane->meta_packer) ? 0 :
	     follow_near_piece(st->follow, st->leaf_off, len, near, NEAR_RUNS);
	err = store_piece(st, bytes, hint, fp_ret, near, nr, container_ret,
			  diag);
	if (!err && is_leaf && !st->opt.dry_run)
		note_first_leaf(st, hint, fp_ret, *container_ret);
	st->leaf_off += len;
	return err;
}
