/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: feeding batches, and the thread between feeder and processor.
 */
#include "base/check.h"
#include "base/mem.h"
#include "ingest/stream_internal.h"
#include "os/clock.h"

static void batch_free(struct batch *b)
{
	if (!b)
		return;
	mem_free(b->memory);
	mem_free(b->ops);
	mem_free(b->lens);
	mem_free(b->samples.hashes);
	mem_free(b->samples.ends);
	mem_free(b);
}

/* An empty batch of the size that is due now. */
static int batch_fit(struct ingest_stream *st, struct batch *b)
{
	u32 cap = lane_batch_bytes(st->lane);
	u8 *memory;

	if (st->opt.batch_bytes)
		cap = (u32)max_u64(min_u64(st->opt.batch_bytes, cap),
				   BATCH_BYTES_MIN);
	/* Growing can wait until it is worth the copy of pages. */
	if (b->memory && b->cap >= cap && b->cap < 2 * cap)
		cap = b->cap;
	if (cap == b->cap)
		return 0;
	memory = mem_aligned(64, st->headroom + cap);
	if (!memory)
		return -AKIN_E_nomem;
	if (!st->carry && st->carry_len)
		memcpy(memory + st->headroom - st->carry_len,
		       b->data - st->carry_len, st->carry_len);
	mem_free(b->memory);
	b->memory = memory;
	b->data = memory + st->headroom;
	b->cap = cap;
	return 0;
}

/* Room for one operation, and one more for prepend_carry(). */
static int batch_need_op(struct batch *b)
{
	u32 cap = b->cap_ops ? b->cap_ops * 2 : 32;
	struct op *p;

	if (b->nr_ops + 2 <= b->cap_ops)
		return 0;
	p = mem_realloc(b->ops, cap * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	b->ops = p;
	b->cap_ops = cap;
	return 0;
}

/* What a batch has brought goes into the pool's counters. */
static void tell_counters(struct ingest_stream *st)
{
	struct counters *c = st->depot->counters;
	const struct ingest_counts *now = &st->counts, *told = &st->told;

	counters_add(c, bytes_in, now->bytes - told->bytes);
	counters_add(c, bytes_new, now->bytes_new - told->bytes_new);
	counters_add(c, chunks_in, now->chunks - told->chunks);
	counters_add(c, chunks_new, now->chunks_new - told->chunks_new);
	counters_stream_add(st->shown, now->bytes - told->bytes,
			    now->bytes_new - told->bytes_new);
	st->told = st->counts;
}

/* The first one counts. */
static void keep_error_locked(struct ingest_stream *st, int err,
			      const struct akin_diag *diag)
{
	if (!err || st->err)
		return;
	st->err = err;
	st->diag = *diag;
}

static bool has_failed(struct ingest_stream *st)
{
	bool failed;

	pthread_mutex_lock(&st->lock);
	failed = st->err;
	pthread_mutex_unlock(&st->lock);
	return failed;
}

/* Process on whichever thread this is, and publish the result. */
static void process(struct ingest_stream *st, struct batch *b)
{
	struct akin_diag diag = { 0 };
	int err = 0;

	if (has_failed(st))
		stream_drop_tokens(st, b, 0);
	else
		err = stream_process(st, b, &diag);
	pthread_mutex_lock(&st->lock);
	keep_error_locked(st, err, &diag);
	st->counts.bytes_new = st->tally.bytes_new;
	st->counts.chunks = st->tally.chunks;
	st->counts.chunks_new = st->tally.chunks_new;
	st->counts.chunks_resembling = st->tally.chunks_resembling;
	tell_counters(st);
	b->next = st->free;
	st->free = b;
	st->busy = false;
	pthread_cond_broadcast(&st->changed);
	pthread_mutex_unlock(&st->lock);
}

static void *stream_main(void *arg)
{
	struct ingest_stream *st = arg;
	struct batch *b;

	for (;;) {
		pthread_mutex_lock(&st->lock);
		while (!st->ready && !st->stop)
			pthread_cond_wait(&st->changed, &st->lock);
		b = st->ready;
		if (b) {
			st->ready = b->next;
			if (!st->ready)
				st->ready_tail = &st->ready;
			st->busy = true;
		}
		pthread_mutex_unlock(&st->lock);
		if (!b)
			return NULL;
		process(st, b);
	}
}

static int alloc_parts(struct ingest_stream *st, struct akin_diag *diag)
{
	struct batch *b;
	u32 i;
	int err;

	if (st->opt.threaded) {
		st->carry = mem_alloc(st->headroom);
		if (!st->carry)
			return diag_set(diag, -AKIN_E_nomem, "stream");
		err = chunk_scratch_new(st->headroom +
					lane_batch_max(st->session),
					&st->cut_scratch, diag);
		if (err)
			return err;
	}
	st->follow = follow_new(st->depot);
	if (!st->follow)
		return diag_set(diag, -AKIN_E_nomem, "stream");
	for (i = 0; i < st->nr_batches; i++) {
		b = mem_zalloc(sizeof(*b));
		if (!b)
			return diag_set(diag, -AKIN_E_nomem, "stream");
		b->next = st->free;
		st->free = b;
	}
	return 0;
}

static void stream_free(struct ingest_stream *st)
{
	struct batch *b, *next;

	batch_free(st->filling);
	for (b = st->free; b; b = next) {
		next = b->next;
		batch_free(b);
	}
	recipe_builder_release(&st->recipe);
	follow_free(st->follow);
	hintset_release(&st->hint);
	chunk_scratch_free(st->cut_scratch);
	mem_free(st->carry);
	pthread_cond_destroy(&st->changed);
	pthread_mutex_destroy(&st->lock);
	mem_free(st);
}

int ingest_stream_open(struct session *s, const struct ingest_options *opt,
		       struct ingest_stream **out, struct akin_diag *diag)
{
	struct ingest_stream *st = mem_zalloc(sizeof(*st));
	int err;

	if (!st)
		return diag_set(diag, -AKIN_E_nomem, "stream");
	st->session = s;
	st->depot = session_depot(s);
	st->opt = *opt;
	st->headroom = lane_headroom(s);
	st->nr_batches = opt->threaded ? STREAM_BATCHES_THREADED : 1;
	st->ready_tail = &st->ready;
	pthread_mutex_init(&st->lock, NULL);
	pthread_cond_init(&st->changed, NULL);
	recipe_builder_init(&st->recipe, stream_store_piece, st);
	err = alloc_parts(st, diag);
	if (!err)
		err = lane_join(s, st->nr_batches, &st->lane, diag);
	if (!err && opt->threaded) {
		err = pthread_create(&st->thread, NULL, stream_main, st);
		if (err)
			err = diag_set_errno(diag, -AKIN_E_nomem, err,
					     "starting a thread");
		st->have_thread = !err;
	}
	if (err) {
		if (st->lane)
			ignore_result(lane_leave(st->lane, st->nr_batches,
						 NULL));
		stream_free(st);
		return err;
	}
	if (opt->name)
		st->shown = counters_stream_begin(st->depot->streams,
						  AKIN_STREAM_IN, opt->name,
						  clock_ns());
	*out = st;
	return 0;
}

void ingest_rename(struct ingest_stream *st, const char *name)
{
	counters_stream_name(st->shown, name);
}

static int stream_error_locked(struct ingest_stream *st,
			       struct akin_diag *diag)
{
	if (!st->err)
		return 0;
	return diag_set(diag, st->err, "%s", st->diag.code ? st->diag.text :
			akin_strerror(st->err));
}

/* On the feeder's side; an error is kept as the processor keeps its own, so
 * that what the batch carries is dropped in its turn. */
static void cut_ahead(struct ingest_stream *st, struct batch *b)
{
	struct akin_diag diag = { 0 };
	int err;

	err = stream_cut(st, b, st->cut_scratch, &diag);
	stream_save_carry(st, b);
	pthread_mutex_lock(&st->lock);
	keep_error_locked(st, err, &diag);
	pthread_mutex_unlock(&st->lock);
}

/* Hand the batch being filled to the processor. */
static int submit(struct ingest_stream *st, struct akin_diag *diag)
{
	struct batch *b = st->filling;
	int err;

	st->filling = NULL;
	st->data_open = false;
	if (b && st->have_thread)
		cut_ahead(st, b);
	else if (b)
		process(st, b);
	pthread_mutex_lock(&st->lock);
	if (b && st->have_thread) {
		b->next = NULL;
		*st->ready_tail = b;
		st->ready_tail = &b->next;
		pthread_cond_broadcast(&st->changed);
	}
	err = stream_error_locked(st, diag);
	pthread_mutex_unlock(&st->lock);
	return err;
}

/* The next batch to fill. */
static int take_batch(struct ingest_stream *st, struct akin_diag *diag)
{
	int err;

	pthread_mutex_lock(&st->lock);
	while (!st->free)
		pthread_cond_wait(&st->changed, &st->lock);
	st->filling = st->free;
	st->free = st->filling->next;
	err = stream_error_locked(st, diag);
	pthread_mutex_unlock(&st->lock);
	st->filling->len = 0;
	st->filling->nr_ops = 0;
	return err;
}

/* A batch with room for one more op (and a byte, if @bytes). */
static int need_batch(struct ingest_stream *st, bool bytes,
		      struct akin_diag *diag)
{
	struct batch *b = st->filling;
	int err = 0;

	if (b && b->nr_ops > 0 && (b->nr_ops >= BATCH_OPS ||
				   (bytes && b->len >= b->cap)))
		err = submit(st, diag);
	if (!err && !st->filling)
		err = take_batch(st, diag);
	if (err)
		return err;
	b = st->filling;
	/* Also one whose memory could not be had before. */
	if (b->nr_ops == 0)
		err = batch_fit(st, b);
	if (!err)
		err = batch_need_op(b);
	return err ? diag_set(diag, err, "batch") : 0;
}

static int add_op(struct ingest_stream *st, u8 type, int what, void *token,
		  u64 hole, struct akin_diag *diag)
{
	struct op *op;
	int err;

	err = need_batch(st, false, diag);
	if (err) {
		if (type == OP_BEGIN)
			predecessor_free(token);
		else if (st->opt.drop && (type == OP_END || type == OP_MARK))
			st->opt.drop(st->opt.ctx, what, token);
		return err;
	}
	op = &st->filling->ops[st->filling->nr_ops++];
	memset(op, 0, sizeof(*op));
	op->type = type;
	op->what = what;
	op->token = token;
	op->hole = hole;
	st->data_open = false;
	return 0;
}

int ingest_object_begin(struct ingest_stream *st, struct akin_diag *diag)
{
	return add_op(st, OP_BEGIN, 0, NULL, 0, diag);
}

int ingest_object_begin_after(struct ingest_stream *st, struct predecessor *p,
			      struct akin_diag *diag)
{
	return add_op(st, OP_BEGIN, 0, TAKE(p), 0, diag);
}

int ingest_object_end(struct ingest_stream *st, void *token,
		      struct akin_diag *diag)
{
	int err = add_op(st, OP_END, 0, token, 0, diag);

	if (!err)
		counters_stream_item(st->shown);
	return err;
}

int ingest_mark(struct ingest_stream *st, int what, void *token,
		struct akin_diag *diag)
{
	return add_op(st, OP_MARK, what, token, 0, diag);
}

/* Under the lock because others read the counts while we feed. */
static void count_fed(struct ingest_stream *st, u64 bytes, u64 data)
{
	pthread_mutex_lock(&st->lock);
	st->counts.bytes += bytes;
	st->counts.bytes_data += data;
	pthread_mutex_unlock(&st->lock);
}

int ingest_hole(struct ingest_stream *st, u64 len, struct akin_diag *diag)
{
	if (len == 0)
		return 0;
	count_fed(st, len, 0);
	return add_op(st, OP_HOLE, 0, NULL, len, diag);
}

int ingest_room(struct ingest_stream *st, u8 **ptr_ret, size_t *n_ret,
		struct akin_diag *diag)
{
	int err;

	err = need_batch(st, true, diag);
	if (err)
		return err;
	*ptr_ret = st->filling->data + st->filling->len;
	*n_ret = st->filling->cap - st->filling->len;
	return 0;
}

void ingest_filled(struct ingest_stream *st, size_t n)
{
	struct batch *b = st->filling;
	struct op *op;

	if (n == 0)
		return;
	akin_assert(b && n <= b->cap - b->len);
	if (!st->data_open) {
		op = &b->ops[b->nr_ops++];
		memset(op, 0, sizeof(*op));
		op->type = OP_DATA;
		op->off = b->len;
		st->data_open = true;
	}
	b->ops[b->nr_ops - 1].len += (u32)n;
	b->len += (u32)n;
	count_fed(st, n, n);
}

int ingest_write(struct ingest_stream *st, const void *data, size_t n,
		 struct akin_diag *diag)
{
	const u8 *p = data;
	size_t room;
	u8 *to;
	int err;

	while (n) {
		err = ingest_room(st, &to, &room, diag);
		if (err)
			return err;
		room = room < n ? room : n;
		memcpy(to, p, room);
		ingest_filled(st, room);
		p += room;
		n -= room;
	}
	return 0;
}

int ingest_drain(struct ingest_stream *st, struct akin_diag *diag)
{
	int err;

	err = submit(st, diag);
	pthread_mutex_lock(&st->lock);
	while (st->ready || st->busy)
		pthread_cond_wait(&st->changed, &st->lock);
	if (!err)
		err = stream_error_locked(st, diag);
	pthread_mutex_unlock(&st->lock);
	return err;
}

void ingest_get_counts(struct ingest_stream *st, struct ingest_counts *out)
{
	pthread_mutex_lock(&st->lock);
	*out = st->counts;
	pthread_mutex_unlock(&st->lock);
}

void ingest_get_object_counts(struct ingest_stream *st,
			      struct ingest_counts *out)
{
	memset(out, 0, sizeof(*out));
	out->bytes_new = st->tally.bytes_new - st->before.bytes_new;
	out->chunks = st->tally.chunks - st->before.chunks;
	out->chunks_new = st->tally.chunks_new - st->before.chunks_new;
}

void ingest_get_tally(struct ingest_stream *st, struct refgate_tally *out)
{
	refgate_get_tally(st->lane->data_packer.gate, out);
}

void ingest_get_follow_stats(struct ingest_stream *st,
			     struct follow_stats *out)
{
	follow_get_stats(st->follow, out);
}

int ingest_stream_close(struct ingest_stream *st, struct akin_diag *diag)
{
	int err, err2;

	if (!st)
		return 0;
	err = ingest_drain(st, diag);
	pthread_mutex_lock(&st->lock);
	st->stop = true;
	pthread_cond_broadcast(&st->changed);
	pthread_mutex_unlock(&st->lock);
	if (st->have_thread)
		pthread_join(st->thread, NULL);
	err2 = lane_leave(st->lane, st->nr_batches, diag);
	if (!err)
		err = err2;
	counters_stream_end(st->shown);
	stream_free(st);
	return err;
}
