/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/workers.h"
#include "cache/groupcache.h"
#include "ingest/hash_parts.h"

/* One thread that stands still until it is let go. */
struct gate {
	struct work work;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool entered, open;
};

static void gate_run(struct work *w, void *ctx)
{
	struct gate *g = container_of(w, struct gate, work);

	pthread_mutex_lock(&g->lock);
	g->entered = true;
	pthread_cond_broadcast(&g->changed);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void gate_close(struct gate *g, struct workers *ws)
{
	memset(g, 0, sizeof(*g));
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	g->work.run = gate_run;
	workers_queue(ws, &g->work);
	pthread_mutex_lock(&g->lock);
	while (!g->entered)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void gate_open(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

struct note {
	struct work work;
	char **end;
	char name;
};

static void note_run(struct work *w, void *ctx)
{
	struct note *n = container_of(w, struct note, work);

	*(*n->end)++ = n->name;
}

static void test_workers_cancel(void **state)
{
	struct workers_options opt = { .nr_threads = 1 };
	char said[8] = "", *end = said;
	struct note n[5];
	struct workers *ws;
	struct gate g;
	int i;

	assert_int_equal(workers_new(&opt, &ws, NULL), 0);
	gate_close(&g, ws);
	/* what has begun stays */
	assert_false(workers_cancel(ws, &g.work));
	for (i = 0; i < 4; i++) {
		n[i] = (struct note){ .work.run = note_run, .end = &end,
				      .name = (char)('a' + i) };
		workers_queue(ws, &n[i].work);
	}
	assert_true(workers_cancel(ws, &n[1].work));
	assert_false(workers_cancel(ws, &n[1].work));
	assert_true(workers_cancel(ws, &n[3].work));
	n[4] = (struct note){ .work.run = note_run, .end = &end, .name = 'e' };
	workers_queue(ws, &n[4].work);
	gate_open(&g);
	workers_free(ws);
	assert_string_equal(said, "ace");
}

static int decoder_new(void *arg, void **out, struct akin_diag *diag)
{
	struct decoder *d = calloc(1, sizeof(*d));

	*out = d;
	return hash_scratch_new(&d->scratch, diag);
}

static void decoder_drop(void *ctx)
{
	struct decoder *d = ctx;

	hash_scratch_free(d->scratch);
	free(d);
}

/* Idle, busy and few workers: the same fingerprints. */
static void test_hash_parts_agree(void **state)
{
	enum { BYTES = 700 * 1000, MAX = 3000 };
	static struct hash_item items[MAX];
	static struct fp expect[MAX], got[MAX];
	const u8 key[HASH_KEY_BYTES] = { 1 };
	u8 *data = malloc(BYTES);
	struct hash_scratch *s;
	struct hasher *h;
	struct rng r = { 5 };
	unsigned threads, busy;
	u32 n, at;

	rng_fill(&r, data, BYTES);
	assert_int_equal(hasher_new(HASH_BLAKE3, key, &h, NULL), 0);
	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	for (n = 0, at = 0; n < MAX && at + 1200 < BYTES; n++) {
		items[n].data = data + at;
		items[n].len = n % 97 == 5 ? 0 : 1 + (u32)rng_below(&r, 1200);
		at += items[n].len;
	}
	assert_int_equal(hasher_batch(h, s, items, n, expect), 0);
	for (threads = 1; threads <= 5; threads++) {
		for (busy = 0; busy < 2; busy++) {
			struct workers_options opt = {
				.nr_threads = threads, .ctx_new = decoder_new,
				.ctx_free = decoder_drop };
			struct workers *ws;
			struct gate g;

			memset(got, 0, sizeof(got));
			assert_int_equal(workers_new(&opt, &ws, NULL), 0);
			if (busy)
				gate_close(&g, ws);
			assert_int_equal(hash_parts(ws, h, s, items, n, got),
					 0);
			assert_memory_equal(got, expect, n * sizeof(*got));
			if (busy)
				gate_open(&g);
			workers_free(ws);
		}
	}
	hash_scratch_free(s);
	hasher_free(h);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers_cancel),
		cmocka_unit_test(test_hash_parts_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
