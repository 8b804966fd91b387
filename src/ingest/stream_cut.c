/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch into chunks: where each piece of data is cut, and what is too short
 * to be cut yet and waits for the next batch.
 */
#include "base/check.h"
#include "base/mem.h"
#include "ingest/stream_internal.h"
#include "os/clock.h"

const u8 *stream_op_data(const struct batch *b, const struct op *op)
{
	return b->data + (s32)op->off;
}

/* Of so many bytes one has a sample: twice as often as is usual. */
#define BYTES_A_SAMPLE 128
static_assert(BATCH_SAMPLES_PART == BYTES_A_SAMPLE / sizeof(u64),
	      "as lanes have been told");

/* Room for the batch's samples; without memory for it there are none. */
static struct chunk_samples *need_samples(struct ingest_stream *st,
					  struct batch *b)
{
	size_t max = (st->headroom + b->cap) / BYTES_A_SAMPLE;
	struct chunk_samples *sm = &b->samples;
	u32 *ends;

	if (!st->depot->similar || !chunker_gives_samples(st->depot->chunker))
		return NULL;
	if (sm->max < max) {
		mem_free(sm->hashes);
		sm->hashes = mem_calloc(max, sizeof(*sm->hashes));
		sm->max = sm->hashes ? max : 0;
	}
	ends = mem_realloc(sm->ends, b->cap_chunks * sizeof(*ends));
	if (!ends) {
		sm->max = 0;
		return NULL;
	}
	sm->ends = ends;
	return sm;
}

/* Room for the chunks of @len more bytes. */
static int need_lens(struct ingest_stream *st, struct batch *b, u32 len,
		     u32 *max_ret)
{
	u32 more = len / st->depot->super.chunk_min + 2;
	u32 cap = b->cap_chunks ? b->cap_chunks : 256;
	u32 *p;

	*max_ret = more;
	while (cap < b->nr_chunks + more)
		cap *= 2;
	if (cap == b->cap_chunks)
		return 0;
	p = mem_realloc(b->lens, cap * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	b->lens = p;
	b->cap_chunks = cap;
	return 0;
}

/* Cut one piece of contiguous data; what is left becomes the carry. */
static int cut_data(struct ingest_stream *st, struct batch *b, struct op *op,
		    struct chunk_scratch *scratch, bool final,
		    struct akin_diag *diag)
{
	const u8 *data = stream_op_data(b, op);
	struct chunk_samples *samples, here;
	size_t nr, consumed;
	u32 max;
	int err;

	err = need_lens(st, b, op->len, &max);
	if (err)
		return diag_set(diag, err, "cutting: %s", akin_strerror(err));
	samples = need_samples(st, b);
	if (samples) {
		here = *samples;
		here.ends += b->nr_chunks;
	}
	err = chunker_cut_sampled(st->depot->chunker, scratch, data, op->len,
				  final, b->lens + b->nr_chunks, max, &nr,
				  &consumed, samples ? &here : NULL);
	if (!err && samples)
		samples->nr = here.nr;
	if (err)
		return diag_set(diag, err, "cutting: %s", akin_strerror(err));
	op->nr_chunks = (u32)nr;
	b->nr_chunks += (u32)nr;
	st->carry_len = (u32)(op->len - consumed);
	akin_assert(st->carry_len <= st->headroom);
	st->left = data + consumed;
	return 0;
}

/*
 * Put the carry in front of the batch's first bytes, as an operation of its
 * own if the first one is not data. There is no room only in a batch that got
 * none for lack of memory, and then the stream has failed.
 */
static int prepend_carry(struct ingest_stream *st, struct batch *b)
{
	bool own = b->nr_ops == 0 || b->ops[0].type != OP_DATA;

	if (st->carry_len == 0)
		return 0;
	if (!b->memory || (own && b->nr_ops == b->cap_ops)) {
		st->carry_len = 0;
		return -AKIN_E_nomem;
	}
	if (st->carry)
		memcpy(b->data - st->carry_len, st->carry, st->carry_len);
	if (own) {
		memmove(b->ops + 1, b->ops, b->nr_ops * sizeof(*b->ops));
		memset(&b->ops[0], 0, sizeof(b->ops[0]));
		b->ops[0].type = OP_DATA;
		b->nr_ops++;
	}
	/* Modulo 2^32: see stream_op_data(). */
	b->ops[0].off -= st->carry_len;
	b->ops[0].len += st->carry_len;
	st->carry_len = 0;
	return 0;
}

void stream_save_carry(struct ingest_stream *st, struct batch *b)
{
	if (st->carry_len)
		memmove(st->carry ? st->carry : b->data - st->carry_len,
			st->left, st->carry_len);
}

static int cut_batch(struct ingest_stream *st, struct batch *b,
		     struct chunk_scratch *scratch, struct akin_diag *diag)
{
	struct op *op;
	bool fresh = st->object_fresh;
	bool final;
	u32 i;
	int err;

	b->nr_chunks = 0;
	b->samples.nr = 0;
	err = prepend_carry(st, b);
	if (err)
		return diag_set(diag, err, "batch");
	for (i = 0; i < b->nr_ops; i++) {
		op = &b->ops[i];
		if (op->type == OP_BEGIN)
			fresh = true;
		if (op->type == OP_HOLE)
			fresh = false;
		if (op->type != OP_DATA)
			continue;
		final = i + 1 < b->nr_ops;
		op->is_inline = fresh && final && op->len <= RECIPE_INLINE_MAX &&
				b->ops[i + 1].type == OP_END;
		if (op->is_inline)
			continue;
		err = cut_data(st, b, op, scratch, final, diag);
		if (err)
			return err;
		if (op->nr_chunks)
			fresh = false;
	}
	st->object_fresh = fresh;
	return 0;
}

int stream_cut(struct ingest_stream *st, struct batch *b,
	       struct chunk_scratch *scratch, struct akin_diag *diag)
{
	u64 start = clock_ns();
	int err = cut_batch(st, b, scratch, diag);

	if (!err && b->len)
		counters_stage(st->depot->counters, stage_cut, b->len,
			       clock_ns() - start);
	return err;
}
