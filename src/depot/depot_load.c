/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading the directories that a hint names, on all threads.
 *
 * One after another they are what a cold restore waits for before it decodes
 * anything: each is an open and a read that depend on each other, then the
 * decoding of some thousand entries. So all are begun before one is waited for.
 * The caller takes part, and takes back what no other thread has begun with:
 * busy ones are not waited for, and this works from a worker as well.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "depot/depot_internal.h"

/* A leaf of a recipe names a dozen. What is beyond is loaded when it is looked
 * at, and perhaps these have to go for it then. */
#define LOAD_MAX 64
#define HELPERS_MAX 8

struct load {
	struct depot *depot;
	u64 list[LOAD_MAX];
	u32 nr;
	/* Below @nr: begin to read that one; then: load the one at next - nr. */
	_Atomic u32 next;
	pthread_mutex_t lock;	/* guards nr_done */
	pthread_cond_t done;
	u32 nr_done;		/* helpers that have run */
};

struct helper {
	struct work work;
	struct load *load;
};

static void load_some(struct load *l)
{
	struct dircache *dirs = l->depot->dirs;
	u32 i;

	while ((i = atomic_fetch_add(&l->next, 1)) < 2 * l->nr) {
		if (i < l->nr)
			dircache_prefetch(dirs, l->list[i]);
		else	/* who needs it will be told */
			ignore_result(dircache_load(dirs, l->list[i - l->nr],
						    NULL));
	}
}

static void help(struct work *work, void *thread_ctx)
{
	struct load *l = container_of(work, struct helper, work)->load;

	load_some(l);
	pthread_mutex_lock(&l->lock);
	l->nr_done++;
	pthread_cond_signal(&l->done);
	pthread_mutex_unlock(&l->lock);
}

static void load_together(struct load *l)
{
	struct workers *ws = l->depot->workers;
	struct helper helpers[HELPERS_MAX];
	u32 nr, i, begun;

	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->done, NULL);
	nr = (u32)min_u64(min_u64(workers_nr(ws), HELPERS_MAX), l->nr - 1);
	for (i = 0; i < nr; i++) {
		helpers[i].work.run = help;
		helpers[i].load = l;
		workers_queue(ws, &helpers[i].work);
	}
	load_some(l);
	for (i = begun = 0; i < nr; i++)
		begun += !workers_cancel(ws, &helpers[i].work);
	pthread_mutex_lock(&l->lock);
	while (l->nr_done < begun)
		pthread_cond_wait(&l->done, &l->lock);
	pthread_mutex_unlock(&l->lock);
	pthread_cond_destroy(&l->done);
	pthread_mutex_destroy(&l->lock);
}

void depot_load_hinted(struct depot *d, const struct hint *hint)
{
	struct load l = { .depot = d };
	u32 i;

	for (i = 0; i < hint->nr && l.nr < LOAD_MAX; i++) {
		if (!dircache_has(d->dirs, hint->containers[i]))
			l.list[l.nr++] = hint->containers[i];
	}
	if (l.nr > 1)
		load_together(&l);
	else if (l.nr == 1)
		ignore_result(dircache_load(d->dirs, l.list[0], NULL));
}
