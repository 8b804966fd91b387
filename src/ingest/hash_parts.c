/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "cache/groupcache.h"
#include "ingest/hash_parts.h"

/* Waking a thread takes as long as hashing some ten KiB. */
#define PART_MIN_BYTES (128 * KiB)
#define MAX_PARTS 4

struct part {
	struct work work;
	struct parts *all;
	const struct hash_item *items;
	struct fp *out;
	u32 n;
};

struct parts {
	struct part part[MAX_PARTS];
	u32 nr;
	const struct hasher *hasher;

	pthread_mutex_t lock;	/* guards both below */
	pthread_cond_t ended;
	u32 nr_running;
	int err;
};

static void part_run(struct work *work, void *thread_ctx)
{
	struct part *p = container_of(work, struct part, work);
	struct parts *all = p->all;
	struct decoder *dec = thread_ctx;
	int err;

	err = hasher_batch(all->hasher, dec->scratch, p->items, p->n, p->out);
	/* All lives on the waiting thread's stack: gone after the unlock. */
	pthread_mutex_lock(&all->lock);
	if (err)
		all->err = err;
	if (--all->nr_running == 0)
		pthread_cond_signal(&all->ended);
	pthread_mutex_unlock(&all->lock);
}

/* Parts of about the same number of bytes. */
static void split(struct parts *all, u32 nr, u64 bytes,
		  const struct hash_item *items, u32 n, struct fp *out)
{
	u64 sum = 0;
	u32 i, from = 0;

	for (i = 0; i < n && all->nr + 1 < nr; i++) {
		sum += items[i].len;
		if (sum < bytes / nr * (all->nr + 1))
			continue;
		all->part[all->nr++] = (struct part){
			.work.run = part_run, .all = all, .n = i + 1 - from,
			.items = items + from, .out = out + from };
		from = i + 1;
	}
	all->part[all->nr++] = (struct part){
		.work.run = part_run, .all = all, .n = n - from,
		.items = items + from, .out = out + from };
}

/* The first part, and all that nobody has begun. */
static int run_mine(struct parts *all, struct workers *ws,
		    struct hash_scratch *s)
{
	struct part *p;
	u32 i, taken = 0;
	int err;

	err = hasher_batch(all->hasher, s, all->part[0].items, all->part[0].n,
			   all->part[0].out);
	/* From the end: workers take them from the beginning. */
	for (i = all->nr - 1; i > 0; i--) {
		p = &all->part[i];
		if (!workers_cancel(ws, &p->work))
			continue;
		taken++;
		if (!err)
			err = hasher_batch(all->hasher, s, p->items, p->n,
					   p->out);
	}
	pthread_mutex_lock(&all->lock);
	all->nr_running -= taken;
	while (all->nr_running > 0)
		pthread_cond_wait(&all->ended, &all->lock);
	pthread_mutex_unlock(&all->lock);
	return err ? err : all->err;
}

int hash_parts(struct workers *ws, const struct hasher *h,
	       struct hash_scratch *s, const struct hash_item *items, u32 n,
	       struct fp *out)
{
	struct parts all = { .hasher = h };
	u64 bytes = 0, nr;
	u32 i;
	int err;

	for (i = 0; i < n; i++)
		bytes += items[i].len;
	nr = min_u64(min_u64(bytes / PART_MIN_BYTES, MAX_PARTS),
		     workers_nr(ws) + 1);
	if (nr < 2)
		return hasher_batch(h, s, items, n, out);
	split(&all, (u32)nr, bytes, items, n, out);
	pthread_mutex_init(&all.lock, NULL);
	pthread_cond_init(&all.ended, NULL);
	all.nr_running = all.nr - 1;
	for (i = 1; i < all.nr; i++)
		workers_queue(ws, &all.part[i].work);
	err = run_mine(&all, ws, s);
	pthread_cond_destroy(&all.ended);
	pthread_mutex_destroy(&all.lock);
	return err;
}
