/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "container/container_reader.h"
#include "followworld.h"
#include "ingest/session.h"
#include "store/store.h"

#define OK(expr) assert_int_equal(expr, 0)
#define MAX_CONTAINERS 2000

void fw_init(struct followworld *w)
{
	memset(w, 0, sizeof(*w));
	OK(simpool_init(&w->sp, NULL));
}

void fw_release(struct followworld *w)
{
	u32 i;

	for (i = 0; i < w->nr; i++)
		mem_free(w->objects[i].hint.containers);
	simpool_free(&w->sp);
}

static void add_sample(struct followworld *w, const struct directory *d,
		       u32 every)
{
	struct place at;
	u32 i;

	for (i = 0; i < d->nr_entries; i++) {
		if (d->kind == CONTAINER_DATA && i % every)
			continue;
		at.container = d->container;
		at.entry = d->entries[i].entry;
		OK(index_add(w->index, &d->entries[i].fp, &at, NULL));
	}
}

void fw_open(struct followworld *w, u32 every)
{
	struct container_reader *r;
	u64 number;

	OK(simpool_open(&w->sp, false, &w->p, NULL));
	if (every == WHOLE)
		return;
	OK(store_index_open(w->p, true, &w->index, NULL));
	w->p->depot.index = w->index;
	for (number = 1; every && number < MAX_CONTAINERS; number++) {
		if (container_open(w->p->data, &w->p->super.pool, number, 0,
				   &r, NULL))
			continue;
		add_sample(w, container_directory(r), every);
		container_close(r);
	}
}

void fw_close(struct followworld *w)
{
	w->p->depot.index = w->p->index;
	index_close(w->index);
	w->index = NULL;
	akin_pool_close(w->p);
	w->p = NULL;
}

static void begin(struct followworld *w)
{
	struct session_options opt = { .lock = store_lock_session,
				       .delta_depth = 2 };

	opt.lock_ctx = w->p;
	OK(session_begin(&w->p->depot, w->p->catalog, &opt, &w->s, NULL));
	w->p->reserve_session = session_number(w->s);
}

static void end(struct followworld *w, bool keep)
{
	OK(session_end(w->s, keep, NULL));
	store_unlock_session(w->p, session_number(w->s));
	session_free(w->s);
	w->s = NULL;
}

static int on_object(void *ctx, void *token, const struct content *ct,
		     const struct hint *hint, struct akin_diag *diag)
{
	struct followworld *w = ctx;

	assert_true(w->nr < FW_OBJECTS);
	w->objects[w->nr].ct = *ct;
	OK(store_copy_hint(hint, &w->objects[w->nr++].hint, diag));
	return 0;
}

struct predecessor *fw_known(const struct object *o)
{
	return o ? predecessor_new(&o->ct, &o->hint) : NULL;
}

struct ingest_stream *fw_open_stream(struct followworld *w, u32 every)
{
	struct ingest_options opt = { .object_done = on_object, .ctx = w };
	struct ingest_stream *st;

	fw_open(w, every);
	begin(w);
	OK(ingest_stream_open(w->s, &opt, &st, NULL));
	return st;
}

void fw_close_stream(struct followworld *w, struct ingest_stream *st)
{
	OK(ingest_stream_close(st, NULL));
	end(w, true);
	fw_close(w);
}

struct object *fw_put(struct followworld *w, u32 every, const u8 *data,
		      size_t n, const struct object *after)
{
	struct ingest_stream *st;
	struct akin_diag d = { 0 };

	st = fw_open_stream(w, every);
	OK(ingest_object_begin_after(st, fw_known(after), &d));
	OK(ingest_write(st, data, n, &d));
	OK(ingest_object_end(st, NULL, &d));
	OK(ingest_drain(st, &d));
	ingest_get_counts(st, &w->counts);
	ingest_get_follow_stats(st, &w->stats);
	fw_close_stream(w, st);
	return &w->objects[w->nr - 1];
}

/* Versions ------------------------------------------------------------------*/

struct bytes bytes_random(u64 seed, size_t n)
{
	struct bytes out = { malloc(n), n };
	struct rng r = { seed };

	rng_fill(&r, out.b, n);
	return out;
}

struct bytes bytes_copy(const struct bytes *from)
{
	struct bytes out = { malloc(from->n), from->n };

	memcpy(out.b, from->b, from->n);
	return out;
}

void bytes_splice(struct bytes *v, size_t at, size_t cut, size_t n, u64 seed)
{
	struct bytes new_ = bytes_random(seed, n + 1);
	u8 *b = malloc(v->n - cut + n + 1);

	assert_true(at + cut <= v->n);
	memcpy(b, v->b, at);
	memcpy(b + at, new_.b, n);
	memcpy(b + at + n, v->b + at + cut, v->n - at - cut);
	free(v->b);
	free(new_.b);
	v->b = b;
	v->n = v->n - cut + n;
}
