/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by stream.c (feeding), stream_cut.c (a batch into chunks) and
 * stream_process.c (what happens to them). With a thread of its own a stream
 * cuts on the feeder's side, which reading alone does not keep busy.
 */
#ifndef INGEST_STREAM_INTERNAL_H
#define INGEST_STREAM_INTERNAL_H

#include <pthread.h>

#include "ingest/lane.h"
#include "ingest/stream.h"

enum op_type { OP_BEGIN, OP_DATA, OP_HOLE, OP_END, OP_MARK };

struct op {
	u8 type;
	bool is_inline;		/* DATA: an object small enough for its node */
	int what;		/* MARK */
	u32 off, len;		/* DATA: in the batch's data */
	u32 nr_chunks;		/* DATA: set by cutting */
	u64 hole;
	void *token;		/* BEGIN: its predecessor */
};

/*
 *	data:  [ headroom: chunk_max bytes ][ cap bytes ]
 *	                       '--carry--'^ bytes of the first op
 *
 * What the cutter left of one batch is put in front of the next one's first
 * bytes, so that cutting always sees contiguous memory. Size and memory are
 * chosen each time a batch is taken to be filled.
 */
struct batch {
	u8 *memory, *data;	/* data = memory + headroom */
	u32 len, cap;
	struct op *ops;
	u32 nr_ops, cap_ops;
	u32 *lens;		/* of the chunks of all DATA, in order */
	u32 nr_chunks, cap_chunks;
	struct chunk_samples samples;	/* of them, if sketches are made */
	struct batch *next;
};

/* Small objects bring several ops for few bytes: a batch ends with either. */
#define BATCH_OPS 2048

/* What the last chunks without neighbours resembled. */
struct resembling {
	struct dir_hit last;	/* container 0: nothing */
	u32 since;		/* chunks */
	u32 loads_left;
	u64 fed;		/* bytes looked for, which earn loads */
};

struct ingest_stream {
	struct session *session;
	struct depot *depot;
	struct ingest_options opt;
	struct lane *lane;
	u32 headroom;
	u32 nr_batches;

	/* Feeder's side. */
	struct batch *filling;
	bool data_open;		/* last op is DATA and may be extended */

	/* The cutter's: on the feeder's side if threaded, else in the lane. */
	struct chunk_scratch *cut_scratch;	/* NULL: the lane's */
	/* What is left of a batch: kept in @carry, or, where there is only one
	 * batch (NULL), in that batch's headroom. */
	u8 *carry;
	u32 carry_len;
	const u8 *left;		/* where it lies until the batch is done */
	bool object_fresh;	/* the open object has no entries yet */

	/* Between the two. */
	pthread_mutex_t lock;	/* guards the queue, err, busy */
	pthread_cond_t changed;
	struct batch *free, *ready, **ready_tail;
	bool stop, busy;
	pthread_t thread;
	bool have_thread;
	int err;
	struct akin_diag diag;
	struct ingest_counts counts;	/* published after each batch */

	/* Processor's side. */
	bool in_lane;		/* this thread holds its lock */
	struct recipe_builder recipe;
	struct follow *follow;
	struct resembling resembling;
	u64 leaf_off;		/* of the object: bytes in finished leaves */
	struct ingest_counts before;	/* the tally when it began */
	struct hintset hint;
	struct ingest_counts tally;
	struct ingest_counts told;	/* to the pool's counters */
	struct counters_stream *shown;	/* among them; or NULL */
};

/* Fill in the batch's lens and its operations' nr_chunks. */
int stream_cut(struct ingest_stream *st, struct batch *b,
	       struct chunk_scratch *scratch, struct akin_diag *diag)
	__must_check;
/* After the batch, whose chunks may lie where the carry goes. */
void stream_save_carry(struct ingest_stream *st, struct batch *b);
const u8 *stream_op_data(const struct batch *b, const struct op *op);

/* Process one batch; the batch is empty afterwards, also after an error. */
int stream_process(struct ingest_stream *st, struct batch *b,
		   struct akin_diag *diag) __must_check;
/*
 * For chunk @k of the batch, which is new and without neighbours: its sketch
 * into *sk (zeros: none), and runs of stored chunks that it resembles. Returns
 * how many, up to @max.
 */
u32 stream_resemble(struct ingest_stream *st, u32 k, struct dir_sketch *sk,
		    struct group_ref *out, u32 max);
/* A piece of an object's recipe: a piece_store_fn; @ctx is the stream. */
int stream_store_piece(void *ctx, const struct buf *bytes,
		       const struct hint *hint, struct fp *fp_ret,
		       u64 *container_ret, struct akin_diag *diag);
/* Undelivered tokens of a batch. */
void stream_drop_tokens(struct ingest_stream *st, struct batch *b, u32 from);

#endif
