/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetcher: the groups that items want, and the workers that decode them.
 *
 * Workers take batches of neighbours, BATCH_GROUPS of them or what there is
 * when somebody waits for one, and say so once when a batch is ready: who
 * writes is faster than those who decode, and would be woken for every group.
 *
 * Of a group only the chunks that are wanted are compared with their
 * fingerprints, by the worker if they were wanted before it came to the group.
 */
#include "base/mem.h"
#include "restore/fetcher_internal.h"

/*
 * Short against the window: a default one holds 200 groups. Of a small one, or
 * of large groups, there are BATCHES_MIN batches for each worker.
 */
#define BATCH_GROUPS 8
#define BATCHES_MIN 2

void fetcher_groups_init(struct fetcher *f)
{
	f->batch_end = &f->batch;
	f->batch_max = f->opt.window_bytes /
		       (BATCHES_MIN * workers_nr(f->depot->workers));
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->ready, NULL);
}

static struct wanted_group **bucket(struct fetcher *f, u64 container,
				    u32 index)
{
	u64 h = container * 0x9e3779b97f4a7c15ull + index;

	return &f->buckets[(h ^ h >> 32) % FETCHER_BUCKETS];
}

/* What does not match is found again when it is emitted. */
static void check_wanted(struct wanted_group *g, struct decoder *dec)
{
	u32 list[FETCHER_CHUNKS], nr = 0, i;
	u64 bits;

	for (i = 0; i < FETCHER_CHUNKS / 64; i++) {
		bits = atomic_load(&g->chunks[i]);
		for (; bits; bits &= bits - 1)
			list[nr++] = i * 64 + (u32)__builtin_ctzll(bits);
	}
	ignore_result(groupcache_check(g->f->depot->groups, dec, g->data, list,
				       nr, NULL));
}

static void fetch_one(struct wanted_group *g, struct decoder *dec)
{
	struct depot *d = g->f->depot;

	g->err = groupcache_get_raw(d->groups, dec, g->container, g->index,
				    &g->data, &g->diag);
	if (!g->err && g->data->generation != g->generation)
		g->err = diag_set(&g->diag, -AKIN_E_bad_length,
				  "container %llu: group %u changed while it "
				  "was read", (unsigned long long)g->container,
				  g->index);
	if (!g->err)
		check_wanted(g, dec);
}

static void fetch_batch(struct work *work, void *thread_ctx)
{
	struct wanted_group *first = container_of(work, struct wanted_group,
						  work), *g;
	struct fetcher *f = first->f;

	for (g = first; g; g = g->next)
		fetch_one(g, thread_ctx);
	pthread_mutex_lock(&f->lock);
	for (g = first; g; g = g->next)
		atomic_store(&g->ready, true);
	pthread_cond_signal(&f->ready);
	pthread_mutex_unlock(&f->lock);
}

static void queue_batch(struct fetcher *f)
{
	if (f->batch)
		workers_queue(f->depot->workers, &f->batch->work);
	f->batch = NULL;
	f->batch_end = &f->batch;
	f->batch_nr = 0;
	f->batch_bytes = 0;
}

static void add_to_batch(struct fetcher *f, struct wanted_group *g)
{
	*f->batch_end = g;
	f->batch_end = &g->next;
	f->batch_nr++;
	f->batch_bytes += g->bytes;
	if (f->batch_nr == BATCH_GROUPS || f->batch_bytes >= f->batch_max)
		queue_batch(f);
}

static void want_chunk(struct wanted_group *g, u32 chunk)
{
	g->wanted++;
	if (chunk < FETCHER_CHUNKS)
		atomic_fetch_or(&g->chunks[chunk / 64], (u64)1 << chunk % 64);
}

static bool is_group(const struct wanted_group *g, u64 container, u32 index)
{
	return g->container == container && g->index == index;
}

bool fetcher_wants(struct fetcher *f, u64 container, u32 group)
{
	const struct wanted_group *g = *bucket(f, container, group);

	while (g && !is_group(g, container, group))
		g = g->chain;
	return g;
}

bool fetcher_want(struct fetcher *f, struct item *it)
{
	const struct chunk_spot *spot = &it->spot;
	struct wanted_group **b = bucket(f, it->container, spot->group), *g;

	for (g = *b; g; g = g->chain) {
		if (is_group(g, it->container, spot->group) &&
		    g->generation == spot->generation)
			break;
	}
	it->group = g ? g : mem_zalloc(sizeof(*g));
	if (!it->group)
		return false;
	want_chunk(it->group, spot->chunk);
	if (g)
		return true;
	g = it->group;
	g->f = f;
	g->container = it->container;
	g->index = spot->group;
	g->generation = spot->generation;
	g->bytes = spot->group_raw;
	g->work.run = fetch_batch;
	g->chain = *b;
	*b = g;
	f->window += g->bytes;
	add_to_batch(f, g);
	return true;
}

void fetcher_wait(struct fetcher *f, struct wanted_group *g)
{
	/* The lock in any case: behind it the worker is done with @g. */
	pthread_mutex_lock(&f->lock);
	if (!atomic_load(&g->ready))
		queue_batch(f);		/* it may be there */
	while (!atomic_load(&g->ready))
		pthread_cond_wait(&f->ready, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

void fetcher_unwant(struct fetcher *f, struct wanted_group *g)
{
	struct wanted_group **at;

	if (--g->wanted > 0)
		return;
	fetcher_wait(f, g);
	at = bucket(f, g->container, g->index);
	while (*at != g)
		at = &(*at)->chain;
	*at = g->chain;
	f->window -= g->bytes;
	if (g->data)
		groupcache_put(f->depot->groups, g->data);
	mem_free(g);
}
