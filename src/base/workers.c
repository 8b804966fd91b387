/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "base/mem.h"
#include "base/workers.h"

struct workers {
	struct workers_options opt;
	pthread_mutex_t lock;	/* guards the queue and @stop */
	pthread_cond_t more;
	struct work *head, **tail;
	bool stop;
	unsigned nr_started;
	pthread_t *threads;
	void **ctx;
};

struct start {
	struct workers *ws;
	void *ctx;
};

static void *worker_main(void *arg)
{
	struct start start = *(struct start *)arg;
	struct workers *ws = start.ws;
	struct work *w;

	mem_free(arg);
	pthread_mutex_lock(&ws->lock);
	for (;;) {
		while (!ws->head && !ws->stop)
			pthread_cond_wait(&ws->more, &ws->lock);
		w = ws->head;
		if (!w)
			break;
		ws->head = w->next;
		if (!ws->head)
			ws->tail = &ws->head;
		pthread_mutex_unlock(&ws->lock);
		w->run(w, start.ctx);
		pthread_mutex_lock(&ws->lock);
	}
	pthread_mutex_unlock(&ws->lock);
	return NULL;
}

static int start_one(struct workers *ws, unsigned i, struct akin_diag *diag)
{
	struct start *start;
	int err = 0;

	if (ws->opt.ctx_new)
		err = ws->opt.ctx_new(ws->opt.arg, &ws->ctx[i], diag);
	if (err)
		return err;
	start = mem_alloc(sizeof(*start));
	if (!start) {
		err = diag_set(diag, -AKIN_E_nomem, "thread");
		goto fail;
	}
	start->ws = ws;
	start->ctx = ws->ctx[i];
	err = pthread_create(&ws->threads[i], NULL, worker_main, start);
	if (err) {
		mem_free(start);
		err = diag_set_errno(diag, -AKIN_E_nomem, err,
				     "starting a thread");
		goto fail;
	}
	ws->nr_started++;
	return 0;
fail:
	if (ws->opt.ctx_free)
		ws->opt.ctx_free(ws->ctx[i]);
	ws->ctx[i] = NULL;
	return err;
}

int workers_new(const struct workers_options *opt, struct workers **out,
		struct akin_diag *diag)
{
	struct workers *ws;
	unsigned i;
	int err = 0;

	ws = mem_zalloc(sizeof(*ws));
	if (!ws)
		return diag_set(diag, -AKIN_E_nomem, "threads");
	ws->opt = *opt;
	ws->tail = &ws->head;
	pthread_mutex_init(&ws->lock, NULL);
	pthread_cond_init(&ws->more, NULL);
	ws->threads = mem_calloc(opt->nr_threads, sizeof(*ws->threads));
	ws->ctx = mem_calloc(opt->nr_threads, sizeof(*ws->ctx));
	if (!ws->threads || !ws->ctx)
		err = diag_set(diag, -AKIN_E_nomem, "threads");
	for (i = 0; !err && i < opt->nr_threads; i++)
		err = start_one(ws, i, diag);
	if (err) {
		workers_free(ws);
		return err;
	}
	*out = ws;
	return 0;
}

void workers_free(struct workers *ws)
{
	unsigned i;

	if (!ws)
		return;
	pthread_mutex_lock(&ws->lock);
	ws->stop = true;
	pthread_cond_broadcast(&ws->more);
	pthread_mutex_unlock(&ws->lock);
	for (i = 0; i < ws->nr_started; i++) {
		pthread_join(ws->threads[i], NULL);
		if (ws->opt.ctx_free)
			ws->opt.ctx_free(ws->ctx[i]);
	}
	pthread_cond_destroy(&ws->more);
	pthread_mutex_destroy(&ws->lock);
	mem_free(ws->threads);
	mem_free(ws->ctx);
	mem_free(ws);
}

void workers_queue(struct workers *ws, struct work *w)
{
	w->next = NULL;
	pthread_mutex_lock(&ws->lock);
	*ws->tail = w;
	ws->tail = &w->next;
	pthread_cond_signal(&ws->more);
	pthread_mutex_unlock(&ws->lock);
}

bool workers_cancel(struct workers *ws, struct work *w)
{
	struct work **at;
	bool found;

	pthread_mutex_lock(&ws->lock);
	for (at = &ws->head; *at && *at != w; at = &(*at)->next)
		;
	found = *at;
	if (found) {
		*at = w->next;
		if (!*at)
			ws->tail = at;
	}
	pthread_mutex_unlock(&ws->lock);
	return found;
}

unsigned workers_nr(const struct workers *ws)
{
	return ws->opt.nr_threads;
}
