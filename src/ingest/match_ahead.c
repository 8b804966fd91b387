/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch says nothing; one that goes on where the one before has ended says
 * that the next one will, too. So nothing is decoded for data that comes in
 * another order than it was stored in.
 */
#include <pthread.h>

#include "base/mem.h"
#include "ingest/match_ahead.h"

/* More than a batch has would push out of a small cache what it needs. */
#define AHEAD_MAX 8

struct ahead_group {
	struct work work;
	struct match_ahead *ahead;
	struct group_at at;
};

struct match_ahead {
	struct depot *depot;
	struct group_at last;	/* of the batch before */
	struct ahead_group groups[AHEAD_MAX];

	pthread_mutex_t lock;	/* guards nr_running */
	pthread_cond_t ended;
	u32 nr_running;		/* 0: @groups may be used */
};

struct match_ahead *match_ahead_new(struct depot *d)
{
	struct match_ahead *a = mem_zalloc(sizeof(*a));

	if (!a)
		return NULL;
	a->depot = d;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->ended, NULL);
	return a;
}

void match_ahead_free(struct match_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	while (a->nr_running > 0)
		pthread_cond_wait(&a->ended, &a->lock);
	pthread_mutex_unlock(&a->lock);
	pthread_cond_destroy(&a->ended);
	pthread_mutex_destroy(&a->lock);
	mem_free(a);
}

static void group_run(struct work *work, void *thread_ctx)
{
	struct ahead_group *g = container_of(work, struct ahead_group, work);
	struct match_ahead *a = g->ahead;
	const struct group_data *data;

	if (!groupcache_get_raw(a->depot->groups, thread_ctx, g->at.container,
				g->at.group, &data, NULL))
		groupcache_put(a->depot->groups, data);
	pthread_mutex_lock(&a->lock);
	if (--a->nr_running == 0)
		pthread_cond_signal(&a->ended);
	pthread_mutex_unlock(&a->lock);
}

static bool begin(struct match_ahead *a, u32 nr)
{
	bool idle;

	pthread_mutex_lock(&a->lock);
	idle = a->nr_running == 0;
	if (idle)
		a->nr_running = nr;
	pthread_mutex_unlock(&a->lock);
	return idle;
}

/* A batch may end within a group. */
static bool goes_on(const struct match_ahead *a, struct group_at first)
{
	return first.container == a->last.container &&
	       (first.group == a->last.group ||
		first.group == a->last.group + 1);
}

/* Groups behind @at in its container; none in one that is being written. */
static u32 groups_behind(struct match_ahead *a, struct group_at at)
{
	struct container_reader *r;
	u32 nr;

	if (dircache_get(a->depot->dirs, at.container, &r, NULL))
		return 0;
	nr = container_directory(r)->nr_groups;
	dircache_put(a->depot->dirs, at.container);
	return nr > at.group ? nr - at.group - 1 : 0;
}

void match_ahead_note(struct match_ahead *a, struct group_at first,
		      struct group_at last, u32 nr)
{
	struct ahead_group *g;
	bool next;
	u32 i;

	if (!a)
		return;
	next = goes_on(a, first) && last.container == first.container;
	a->last = last;
	if (!next)
		return;
	nr = (u32)min_u64(min_u64(nr, AHEAD_MAX), groups_behind(a, last));
	if (!nr || !begin(a, nr))
		return;
	for (i = 0; i < nr; i++) {
		g = &a->groups[i];
		g->ahead = a;
		g->at.container = last.container;
		g->at.group = last.group + 1 + i;
		g->work.run = group_run;
		workers_queue(a->depot->workers, &g->work);
	}
}
