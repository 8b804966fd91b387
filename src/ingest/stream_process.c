/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to a batch that is cut: fingerprint everything, look everything
 * up, then walk the operations in order and store, build recipes and call back.
 * Each step runs over the whole batch, so that vector lanes and prefetches are
 * full whatever the sizes of the objects.
 */
#include "base/mem.h"
#include "ingest/hash_parts.h"
#include "ingest/stream_internal.h"

/* The batch's chunks as items to hash, in the lane's room. */
static int list_chunks(struct lane *l, const struct batch *b,
		       struct akin_diag *diag)
{
	const struct op *op;
	const u8 *data;
	u32 i, k;
	int err;

	l->nr_chunks = 0;
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

/* A chunk that is nowhere yet. */
static int store_chunk(struct ingest_stream *st, const struct fp *fp,
		       const struct hash_item *item, u64 *container_ret,
		       struct akin_diag *diag)
{
	bool is_new = true;
	struct place at;
	int err;

	if (st->opt.dry_run)
		err = session_pretend(st->session, fp, &is_new, diag);
	else
		err = packer_add(&st->lane->data_packer, fp, item->data,
				 item->len, NULL, NULL, 0, &at, diag);
	if (err)
		return err;
	*container_ret = st->opt.dry_run ? 0 : at.container;
	st->tally.chunks_new += is_new;
	st->tally.bytes_new += is_new ? item->len : 0;
	return 0;
}

/* Chunk @k of the batch: find or store, and into the recipe. */
static int emit_chunk(struct ingest_stream *st, u32 k, struct akin_diag *diag)
{
	const struct hash_item *item = &st->lane->items[k];
	struct recipe_entry e = { .type = RECIPE_CHUNK, .len = item->len,
				  .count = 1, .fp = st->lane->fps[k] };
	struct dir_hit *hit = &st->lane->hits[k];
	int err;

	st->tally.chunks++;
	/* An equal chunk may have been stored since the batch was looked up. */
	if (!hit->container) {
		err = depot_find_again(st->depot, &e.fp, hit, diag);
		if (err)
			return err;
	}
	if (!hit->container || hit->len != item->len) {
		err = store_chunk(st, &e.fp, item, &hit->container, diag);
		if (err)
			return err;
	}
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
	for (i = 0; !err && i < op->nr_chunks; i++)
		err = emit_chunk(st, (*k)++, diag);
	return err;
}

static int emit_end(struct ingest_stream *st, void *token,
		    struct akin_diag *diag)
{
	struct content ct;
	int err;

	hintset_reset(&st->hint);
	err = recipe_builder_finish(&st->recipe, &ct, &st->hint, diag);
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
		if (st->opt.drop && (b->ops[from].type == OP_END ||
				     b->ops[from].type == OP_MARK))
			st->opt.drop(st->opt.ctx, b->ops[from].what,
				     b->ops[from].token);
	}
	b->nr_ops = 0;
	b->len = 0;
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
		err = hash_parts(st->depot->workers, st->depot->data_hasher,
				  l->hash_scratch, l->items, l->nr_chunks,
				  l->fps);
	if (!err)
		err = depot_find(st->depot, l->fps, l->nr_chunks, l->hits,
				 diag);
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
	if (!err && session_checkpoint_due(st->session))
		err = session_checkpoint(st->session, diag);
	stream_drop_tokens(st, b, done);
	return err;
}

static int store_piece(struct ingest_stream *st, const struct buf *bytes,
		       const struct hint *hint, const struct fp *fp,
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
				 (u32)bytes->len, hint, NULL, 0, &at, diag);
		hit.container = at.container;
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
	err = store_piece(st, bytes, hint, fp_ret, container_ret, diag);
	if (lock)
		pthread_mutex_unlock(&st->lane->lock);
	return err;
}
