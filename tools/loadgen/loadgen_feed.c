/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loadgen_feed.h"
#include "loadgen_internal.h"

#define COMPARE_BYTES (1u << 20)

struct feed {
	const struct loadgen *l;
	struct akin_session *s;
	uint32_t generation, nr_streams;
	uint64_t transaction;	/* 0: send; else read back */
	bool compare;		/* what is read with what was sent */
	uint64_t bytes_per_second, begun_ns;
	_Atomic uint32_t next_stream;
	_Atomic uint64_t bytes, objects, offered;
	pthread_mutex_t lock;	/* guards err, diag */
	int err;
	struct akin_diag diag;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Waits until the next @n bytes of all have come in at that rate. */
static void pace(struct feed *f, size_t n)
{
	double sent = (double)(atomic_fetch_add(&f->offered, n) + n);
	struct timespec ts;
	uint64_t due;

	if (!f->bytes_per_second)
		return;
	due = f->begun_ns + (uint64_t)(sent * 1e9 /
				       (double)f->bytes_per_second);
	ts.tv_sec = (time_t)(due / 1000000000);
	ts.tv_nsec = (long)(due % 1000000000);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;	/* a signal */
}

/* Generated where it is wanted. */
static int send_object(struct feed *f, struct loadgen_stream *st, uint64_t off,
		       uint64_t len, const struct akin_object_name *name,
		       struct akin_diag *diag)
{
	struct akin_object_options opt = { .size_hint = len };
	struct akin_object obj;
	size_t room;
	void *to;
	int err;

	err = akin_object_begin(f->s, name, &opt, &obj, diag);
	while (!err && len) {
		err = akin_object_room(f->s, obj, &to, &room, diag);
		if (err)
			break;
		room = room < len ? room : (size_t)len;
		pace(f, room);
		room = loadgen_read(st, off, to, room);
		err = akin_object_filled(f->s, obj, room, diag);
		off += room;
		len -= room;
	}
	return err ? err : akin_object_end(f->s, obj, NULL, diag);
}

struct compare {
	struct loadgen_stream *st;
	uint64_t off;
	unsigned char *want;	/* NULL: only read */
};

static int compare(void *ctx, const void *data, size_t n)
{
	const unsigned char *p = data;
	struct compare *c = ctx;
	size_t len;

	if (!c->want) {
		c->off += n;
		return 0;
	}
	for (; n; n -= len, p += len) {
		len = n < COMPARE_BYTES ? n : COMPARE_BYTES;
		if (loadgen_read(c->st, c->off, c->want, len) != len ||
		    memcmp(c->want, p, len))
			return -AKIN_E_bad_fp;
		c->off += len;
	}
	return 0;
}

static int check_object(struct feed *f, struct loadgen_stream *st, uint64_t off,
			uint64_t len, const struct akin_object_name *name,
			struct akin_diag *diag)
{
	struct compare c = { .st = st, .off = off };
	struct akin_reader *r;
	int err;

	c.want = f->compare ? malloc(COMPARE_BYTES) : NULL;
	if (f->compare && !c.want)
		return loadgen_fail(diag, -AKIN_E_nomem, "comparing");
	err = akin_object_open(f->s, f->transaction, name, &r, diag);
	if (!err) {
		err = akin_reader_copy(r, 0, UINT64_MAX, compare, NULL, &c,
				       diag);
		if (err == -AKIN_E_bad_fp || (!err && c.off != off + len))
			err = loadgen_fail(diag, -AKIN_E_bad_fp, "%s/%s came "
					   "back different", name->path,
					   name->name);
		akin_object_close(r);
	}
	free(c.want);
	return err;
}

static int one_stream(struct feed *f, uint32_t nr, struct akin_diag *diag)
{
	struct akin_object_name name = { .space = LOADGEN_SPACE };
	char path[16], object[24];
	struct loadgen_stream *st;
	uint64_t off = 0, len, k;
	int err;

	err = loadgen_open(f->l, nr, f->generation, &st, diag);
	if (err)
		return err;
	snprintf(path, sizeof(path), "s%05u", nr);
	name.path = path;
	name.name = object;
	for (k = 0; !err && off < loadgen_size(st); k++, off += len) {
		len = loadgen_object(st, off);
		snprintf(object, sizeof(object), "o%06llu",
			 (unsigned long long)k);
		err = f->transaction ?
			      check_object(f, st, off, len, &name, diag) :
			      send_object(f, st, off, len, &name, diag);
		f->bytes += len;
	}
	f->objects += k;
	loadgen_close(st);
	return err;
}

static void *run(void *arg)
{
	struct akin_diag diag = { 0 };
	struct feed *f = arg;
	uint32_t nr;
	int err = 0;

	while (!err && (nr = f->next_stream++) < f->nr_streams)
		err = one_stream(f, nr, &diag);
	if (err) {
		pthread_mutex_lock(&f->lock);
		if (!f->err) {
			f->err = err;
			f->diag = diag;
		}
		pthread_mutex_unlock(&f->lock);
		/* The others need not go on. */
		f->next_stream = f->nr_streams;
	}
	return NULL;
}

/* All streams, by @nr threads, this one among them. */
static int run_threads(struct feed *f, uint32_t nr, struct akin_diag *diag)
{
	pthread_t *threads = calloc(nr, sizeof(*threads));
	uint32_t i, started = 0;

	if (!threads)
		return loadgen_fail(diag, -AKIN_E_nomem, "threads");
	f->next_stream = 0;
	f->bytes = 0;
	f->objects = 0;
	for (i = 1; i < nr; i++) {
		if (pthread_create(&threads[started], NULL, run, f))
			break;	/* fewer do it as well */
		started++;
	}
	run(f);
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	if (f->err && diag && !diag->code)
		*diag = f->diag;
	return f->err;
}

static uint32_t choose(uint32_t most, uint32_t streams, uint32_t wanted)
{
	uint32_t nr = streams < most ? streams : most;

	return wanted && wanted < nr ? wanted : nr;
}

static int send_all(struct feed *f, const struct loadgen_feed_options *opt,
		    uint32_t threads, struct loadgen_fed *out,
		    struct akin_diag *diag)
{
	struct akin_diag second = { 0 };
	int err, err2;

	err = akin_txn_begin(f->s, opt->txn, diag);
	if (err)
		return err;
	f->begun_ns = now_ns();
	f->offered = 0;
	err = run_threads(f, threads, diag);
	out->send_ns = now_ns() - f->begun_ns;
	out->bytes = f->bytes;
	out->objects = f->objects;
	err2 = akin_txn_end(f->s, err ? AKIN_VOTE_ABORT : AKIN_VOTE_COMMIT,
			    &out->result, err ? &second : diag);
	if (!err)
		err = err2 ? err2 : out->result.code;
	return err;
}

int loadgen_read_back(const struct loadgen *l, struct akin_session *s,
		      uint32_t generation, uint64_t transaction,
		      uint32_t max_threads, bool compare,
		      struct loadgen_back *out, struct akin_diag *diag)
{
	struct feed f = { .l = l, .s = s, .nr_streams = l->opt.nr_streams,
			  .generation = generation, .compare = compare,
			  .transaction = transaction };
	struct akin_session_limits limits;
	uint64_t begun = now_ns();
	int err;

	pthread_mutex_init(&f.lock, NULL);
	akin_session_get_limits(s, &limits);
	err = run_threads(&f, choose(limits.max_readers, f.nr_streams,
				     max_threads), diag);
	pthread_mutex_destroy(&f.lock);
	out->ns = now_ns() - begun;
	out->bytes = f.bytes;
	out->objects = f.objects;
	return err;
}

int loadgen_feed(const struct loadgen *l, struct akin_session *s,
		 const struct loadgen_feed_options *opt, struct akin_diag *diag)
{
	struct feed f = { .l = l, .s = s, .nr_streams = l->opt.nr_streams,
			  .bytes_per_second = opt->bytes_per_second };
	struct akin_session_limits limits;
	struct loadgen_back back;
	struct loadgen_fed fed;
	uint32_t i;
	int err = 0;

	pthread_mutex_init(&f.lock, NULL);
	akin_session_get_limits(s, &limits);
	for (i = 0; !err && i < opt->nr; i++) {
		memset(&fed, 0, sizeof(fed));
		f.generation = fed.generation = opt->first + i;
		err = send_all(&f, opt, choose(limits.max_open, f.nr_streams,
					       opt->max_threads), &fed, diag);
		if (!err && opt->verify) {
			err = loadgen_read_back(l, s, f.generation,
						fed.result.transaction,
						opt->max_threads, true, &back,
						diag);
			fed.verify_ns = back.ns;
		}
		if (!err && opt->done)
			err = opt->done(opt->ctx, &fed);
	}
	pthread_mutex_destroy(&f.lock);
	return err;
}
