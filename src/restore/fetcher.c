/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetcher: a ring of items, and the groups that the items in it want.
 *
 * A group is wanted once however many items point to it. Its worker pins the
 * decoded bytes in the group cache; the last item that wants it unpins them,
 * and the cache keeps them for as long as its budget allows.
 *
 * Workers take batches of neighbours, BATCH_GROUPS of them or what there is
 * when somebody waits for one, and say so once when a batch is ready: who
 * writes is faster than those who decode, and would be woken for every group.
 *
 * Of a group only the chunks that are wanted are compared with their
 * fingerprints, by the worker if they were wanted before it came to the group.
 * Nothing is emitted before it was compared.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "recipe/recipe_reader.h"
#include "restore/fetcher.h"

/* Items ahead at most: what small files bring besides bytes. */
#define RING_ITEMS 4096
#define NR_BUCKETS 512
/* Copies of one chunk looked for when the first cannot be read. */
#define COPIES_TRIED 4
/*
 * Short against the window: a default one holds 200 groups. Of a small one, or
 * of large groups, there are BATCHES_MIN batches for each worker.
 */
#define BATCH_GROUPS 8
#define BATCHES_MIN 2
static_assert(BATCH_GROUPS <= GROUPCACHE_PREFETCH_MAX,
	      "a batch is prefetched at once");
/* Chunks of a group that a worker compares. Those behind them, in groups of
 * several MiB, are compared as they are emitted. */
#define WANTED_CHUNKS 512
/* Emitted before the pool's counters hear of it. */
#define TELL_BYTES MiB

enum item_type { ITEM_CHUNK, ITEM_HOLE, ITEM_INLINE, ITEM_FAILED, ITEM_MARK };

/* A group on its way, wanted by @wanted items. */
struct wanted_group {
	struct work work;	/* of the batch, if it is the first of one */
	struct wanted_group *next;	/* in its batch */
	struct fetcher *f;
	u64 container;
	u32 index, generation;
	u32 wanted;
	_Atomic u64 chunks[WANTED_CHUNKS / 64];	/* which of them, a bit each */
	u64 bytes;		/* what it counts in the window */
	bool ready;		/* under f->lock; or the worker's */
	int err;
	struct akin_diag diag;
	const struct group_data *data;
	struct wanted_group *chain;
};

struct item {
	u8 type;
	int what;		/* MARK */
	u64 len, count;		/* CHUNK: count repetitions */
	u32 raw_off, entry;	/* CHUNK: of the whole chunk */
	u32 chunk;		/* its number in the group */
	u32 skip;		/* bytes of it before the part that is wanted */
	struct fp fp;		/* CHUNK: to find another copy */
	struct wanted_group *group;
	void *token;		/* MARK */
	u8 *bytes;		/* INLINE, owned */
	int err;		/* FAILED */
	struct akin_diag *why;	/* FAILED, owned */
};

struct fetcher {
	struct depot *depot;
	struct decoder *dec;
	struct fetcher_options opt;
	struct item *ring;
	u32 first, nr;
	u64 window;		/* bytes of the groups wanted now */
	struct wanted_group *batch, **batch_end;	/* nobody's work yet */
	u32 batch_nr;
	u64 batch_bytes, batch_max;
	struct wanted_group *buckets[NR_BUCKETS];
	pthread_mutex_t lock;	/* guards ready of groups; what is ready, has
				 * err, diag and data */
	pthread_cond_t ready;
	u64 emitted;		/* bytes the counters do not know of yet */
	struct fp *fps;		/* of one leaf */
	struct dir_hit *hits;
};

int fetcher_new(struct depot *d, struct decoder *dec,
		const struct fetcher_options *opt, struct fetcher **out,
		struct akin_diag *diag)
{
	struct fetcher *f = mem_zalloc(sizeof(*f));

	if (!f)
		return diag_set(diag, -AKIN_E_nomem, "reader");
	f->depot = d;
	f->dec = dec;
	f->opt = *opt;
	f->batch_end = &f->batch;
	f->batch_max = opt->window_bytes /
		       (BATCHES_MIN * workers_nr(d->workers));
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->ready, NULL);
	f->ring = mem_calloc(RING_ITEMS, sizeof(*f->ring));
	f->fps = mem_calloc(RECIPE_LEAF_MAX, sizeof(*f->fps));
	f->hits = mem_calloc(RECIPE_LEAF_MAX, sizeof(*f->hits));
	if (!f->ring || !f->fps || !f->hits) {
		fetcher_free(f);
		return diag_set(diag, -AKIN_E_nomem, "reader");
	}
	*out = f;
	return 0;
}

static struct wanted_group **bucket(struct fetcher *f, u64 container,
				    u32 index)
{
	u64 h = container * 0x9e3779b97f4a7c15ull + index;

	return &f->buckets[(h ^ h >> 32) % NR_BUCKETS];
}

/* What does not match is found again when it is emitted. */
static void check_wanted(struct wanted_group *g, struct decoder *dec)
{
	u32 list[WANTED_CHUNKS], nr = 0, i;
	u64 bits;

	for (i = 0; i < WANTED_CHUNKS / 64; i++) {
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
		g->ready = true;
	pthread_cond_signal(&f->ready);
	pthread_mutex_unlock(&f->lock);
}

static bool is_before(const struct wanted_group *a,
		      const struct wanted_group *b)
{
	return a->container < b->container ||
	       (a->container == b->container && a->index < b->index);
}

/* Workers come to it later; the disk begins now. Neighbours of a stream are
 * mostly neighbours in a container, if not in this order. */
static void prefetch_batch(struct fetcher *f)
{
	struct wanted_group *sorted[BATCH_GROUPS], *g;
	u32 list[BATCH_GROUPS], nr = 0, i, n;

	for (g = f->batch; g; g = g->next) {
		for (i = nr++; i > 0 && is_before(g, sorted[i - 1]); i--)
			sorted[i] = sorted[i - 1];
		sorted[i] = g;
	}
	for (i = 0; i < nr; i += n) {
		g = sorted[i];
		for (n = 0; i + n < nr; n++) {
			if (sorted[i + n]->container != g->container)
				break;
			list[n] = sorted[i + n]->index;
		}
		groupcache_prefetch(f->depot->groups, g->container, list, n);
	}
}

static void queue_batch(struct fetcher *f)
{
	prefetch_batch(f);
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
	if (chunk < WANTED_CHUNKS)
		atomic_fetch_or(&g->chunks[chunk / 64], (u64)1 << chunk % 64);
}

/* Find or start the group of @spot; NULL: out of memory. */
static struct wanted_group *want(struct fetcher *f, u64 container,
				 const struct chunk_spot *spot)
{
	struct wanted_group **b = bucket(f, container, spot->group), *g;

	for (g = *b; g; g = g->chain) {
		if (g->container == container && g->index == spot->group &&
		    g->generation == spot->generation) {
			want_chunk(g, spot->chunk);
			return g;
		}
	}
	g = mem_zalloc(sizeof(*g));
	if (!g)
		return NULL;
	g->f = f;
	g->container = container;
	g->index = spot->group;
	g->generation = spot->generation;
	g->bytes = spot->group_raw;
	want_chunk(g, spot->chunk);
	g->work.run = fetch_batch;
	g->chain = *b;
	*b = g;
	f->window += g->bytes;
	add_to_batch(f, g);
	return g;
}

static void wait_ready(struct fetcher *f, struct wanted_group *g)
{
	pthread_mutex_lock(&f->lock);
	if (!g->ready)
		queue_batch(f);		/* it may be there */
	while (!g->ready)
		pthread_cond_wait(&f->ready, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

static void unwant(struct fetcher *f, struct wanted_group *g)
{
	struct wanted_group **at;

	if (--g->wanted > 0)
		return;
	wait_ready(f, g);
	at = bucket(f, g->container, g->index);
	while (*at != g)
		at = &(*at)->chain;
	*at = g->chain;
	f->window -= g->bytes;
	if (g->data)
		groupcache_put(f->depot->groups, g->data);
	mem_free(g);
}

static void item_release(struct fetcher *f, struct item *it)
{
	if (it->group)
		unwant(f, it->group);
	mem_free(it->bytes);
	mem_free(it->why);
	memset(it, 0, sizeof(*it));
}

static void tell_counters(struct fetcher *f)
{
	counters_add(f->depot->counters, bytes_out, f->emitted);
	f->emitted = 0;
}

void fetcher_free(struct fetcher *f)
{
	struct item *it;

	if (!f)
		return;
	tell_counters(f);
	for (; f->nr > 0; f->nr--) {
		it = &f->ring[f->first];
		if (it->type == ITEM_MARK && f->opt.drop)
			f->opt.drop(f->opt.ctx, it->what, it->token);
		item_release(f, it);
		f->first = (f->first + 1) % RING_ITEMS;
	}
	pthread_cond_destroy(&f->ready);
	pthread_mutex_destroy(&f->lock);
	mem_free(f->ring);
	mem_free(f->fps);
	mem_free(f->hits);
	mem_free(f);
}

static int emit_bytes(struct fetcher *f, const struct item *it, const u8 *bytes,
		      struct akin_diag *diag)
{
	u64 i;
	int err = 0;

	f->emitted += it->len * it->count;
	for (i = 0; !err && i < it->count; i++)
		err = f->opt.data(f->opt.ctx, bytes, it->len, 0, NULL, diag);
	return err;
}

/*
 * A copy of the chunk that can be read, in place of one that could not: pinned
 * group and its spot, or NULL. What is damaged is remembered for as long as
 * the pool is open, so that locating it prefers the others.
 */
static const struct group_data *find_copy(struct fetcher *f,
					  const struct item *it,
					  struct chunk_spot *spot)
{
	struct place bad = { it->group->container, it->entry };
	const struct group_data *data;
	struct dir_hit at;
	int i;

	for (i = 0; i < COPIES_TRIED; i++) {
		if (depot_note_damage(f->depot, &bad) ||
		    depot_locate(f->depot, NULL, &it->fp, 1, &at, NULL) ||
		    depot_damage_has(&f->depot->damage, at.container,
				     at.entry) ||
		    depot_spot(f->depot, &at, &it->fp, spot, NULL))
			return NULL;
		if (!depot_spot_get(f->depot, f->dec, at.container, spot, &data,
				    NULL))
			return data;
		bad.container = at.container;
		bad.entry = at.entry;
	}
	return NULL;
}

static int emit_copy(struct fetcher *f, struct item *it, int why_code,
		     const struct akin_diag *why, struct akin_diag *diag)
{
	const struct group_data *data;
	struct chunk_spot spot;
	int err;

	counters_add(f->depot->counters, chunks_damaged, 1);
	data = find_copy(f, it, &spot);
	if (!data)
		return f->opt.data(f->opt.ctx, NULL, it->len * it->count,
				   why_code, why, diag);
	err = emit_bytes(f, it, data->raw + spot.raw_off + it->skip, diag);
	groupcache_put(f->depot->groups, data);
	return err;
}

/*
 * Chunks that follow each other in the stream mostly do so in their group too:
 * one call, and one write, for all of them. @it's group is ready and good.
 */
static void take_followers(struct fetcher *f, struct item *it)
{
	u64 end = (u64)it->raw_off + it->skip + it->len;
	struct item *next;

	while (it->count == 1 && f->nr > 0) {
		next = &f->ring[f->first];
		if (next->type != ITEM_CHUNK || next->group != it->group ||
		    next->count != 1 ||
		    (u64)next->raw_off + next->skip != end ||
		    end + next->len > it->group->data->raw_len ||
		    !groupcache_is_checked(it->group->data, next->chunk))
			return;
		it->len += next->len;
		end += next->len;
		item_release(f, next);
		f->first = (f->first + 1) % RING_ITEMS;
		f->nr--;
	}
}

static int emit_chunk(struct fetcher *f, struct item *it,
		      struct akin_diag *diag)
{
	struct wanted_group *g = it->group;
	struct akin_diag why = { 0 };
	int err;

	wait_ready(f, g);
	if (g->err)
		return emit_copy(f, it, g->err, &g->diag, diag);
	/* The directory promised it. */
	if (it->raw_off + it->skip + it->len > g->data->raw_len)
		err = diag_set(&why, -AKIN_E_bad_length, "container %llu: "
			       "entry %u is longer than its group",
			       (unsigned long long)g->container, it->entry);
	else
		err = groupcache_check(f->depot->groups, f->dec, g->data,
				       &it->chunk, 1, &why);
	if (err)
		return emit_copy(f, it, err, &why, diag);
	take_followers(f, it);
	return emit_bytes(f, it, g->data->raw + it->raw_off + it->skip, diag);
}

static int emit_first(struct fetcher *f, struct akin_diag *diag)
{
	struct item it = f->ring[f->first];
	int err;

	memset(&f->ring[f->first], 0, sizeof(it));
	f->first = (f->first + 1) % RING_ITEMS;
	f->nr--;
	switch (it.type) {
	case ITEM_CHUNK:
		err = emit_chunk(f, &it, diag);
		break;
	case ITEM_HOLE:
		f->emitted += it.len;
		err = f->opt.hole(f->opt.ctx, it.len, diag);
		break;
	case ITEM_INLINE:
		f->emitted += it.len;
		err = f->opt.data(f->opt.ctx, it.bytes, it.len, 0, NULL,
				  diag);
		break;
	case ITEM_FAILED:
		counters_add(f->depot->counters, chunks_damaged, 1);
		err = f->opt.data(f->opt.ctx, NULL, it.len * it.count, it.err,
				  it.why, diag);
		break;
	default:
		err = f->opt.mark(f->opt.ctx, it.what, it.token, diag);
		break;
	}
	item_release(f, &it);
	if (f->emitted >= TELL_BYTES)
		tell_counters(f);
	return err;
}

/* Emit until an item fits, and (if anything is out) the window does. */
static int make_room(struct fetcher *f, struct akin_diag *diag)
{
	int err = 0;

	while (!err && (f->nr == RING_ITEMS ||
			(f->nr > 0 && f->window > f->opt.window_bytes)))
		err = emit_first(f, diag);
	return err;
}

static int push(struct fetcher *f, struct item *it, struct akin_diag *diag)
{
	int err = make_room(f, diag);

	if (err) {
		item_release(f, it);
		return err;
	}
	f->ring[(f->first + f->nr++) % RING_ITEMS] = *it;
	return 0;
}

int fetcher_mark(struct fetcher *f, int what, void *token,
		 struct akin_diag *diag)
{
	struct item it = { .type = ITEM_MARK, .what = what, .token = token };
	int err = push(f, &it, diag);

	if (err && f->opt.drop)
		f->opt.drop(f->opt.ctx, what, token);
	return err;
}

int fetcher_drain(struct fetcher *f, struct akin_diag *diag)
{
	int err = 0;

	while (!err && f->nr > 0)
		err = emit_first(f, diag);
	tell_counters(f);
	return err;
}

static int push_failed(struct fetcher *f, u64 len, u64 count, int err,
		       const struct akin_diag *why, struct akin_diag *diag)
{
	struct item it = { .type = ITEM_FAILED, .len = len, .count = count,
			   .err = err };

	it.why = mem_dup(why, sizeof(*why));
	if (!it.why)
		return diag_set(diag, -AKIN_E_nomem, "reader");
	return push(f, &it, diag);
}

/* A located chunk, @skip bytes of it already passed, at most @left wanted. */
static int push_chunk(struct fetcher *f, const struct recipe_entry *e,
		      const struct dir_hit *at, u64 skip, u64 left,
		      struct akin_diag *diag)
{
	struct item it = { .type = ITEM_CHUNK, .len = e->len,
			   .count = e->count };
	struct akin_diag why = { 0 };
	struct chunk_spot spot;
	int err;

	err = depot_spot(f->depot, at, &e->fp, &spot, &why);
	if (!err && spot.len != e->len)
		err = diag_set(&why, -AKIN_E_bad_length,
			       "container %llu: entry %u has another length",
			       (unsigned long long)at->container, at->entry);
	if (err)
		return push_failed(f, min_u64(left, recipe_entry_bytes(e) -
					      skip), 1, err, &why, diag);
	err = make_room(f, diag);
	if (err)
		return err;
	it.raw_off = spot.raw_off;
	it.entry = at->entry;
	it.chunk = spot.chunk;
	it.fp = e->fp;
	if (skip || left < recipe_entry_bytes(e)) {
		/* A part of one repetition; the caller comes back for more. */
		it.skip = (u32)(skip % e->len);
		it.len = min_u64(left, e->len - skip % e->len);
		it.count = 1;
	}
	it.group = want(f, at->container, &spot);
	if (!it.group)
		return diag_set(diag, -AKIN_E_nomem, "reader");
	return push(f, &it, diag);
}

/* One entry, from @skip on, at most @left bytes. */
static int push_entry(struct fetcher *f, const struct recipe_entry *e,
		      const struct dir_hit *at, const struct akin_diag *why,
		      u64 skip, u64 left, struct akin_diag *diag)
{
	struct item it = { 0 };
	u64 n;
	int err = 0;

	it.len = min_u64(recipe_entry_bytes(e) - skip, left);
	if (e->type == RECIPE_HOLE) {
		it.type = ITEM_HOLE;
		return push(f, &it, diag);
	}
	if (e->type == RECIPE_INLINE) {
		it.type = ITEM_INLINE;
		it.bytes = mem_dup(e->data + skip, it.len);
		if (!it.bytes)
			return diag_set(diag, -AKIN_E_nomem, "reader");
		return push(f, &it, diag);
	}
	if (!at->container)
		return push_failed(f, it.len, 1, why->code ? why->code :
				   -AKIN_E_fp_unknown, why, diag);
	if (!skip && it.len == recipe_entry_bytes(e))
		return push_chunk(f, e, at, 0, left, diag);
	for (left = it.len; !err && left > 0; left -= n, skip += n) {
		n = min_u64(left, e->len - skip % e->len);
		err = push_chunk(f, e, at, skip, n, diag);
	}
	return err;
}

/* Locate the chunks of some entries of one leaf; missing ones stay missing. */
static int locate(struct fetcher *f, const struct recipe_entry *e, u32 nr,
		  const struct hint *hint, struct akin_diag *why,
		  struct akin_diag *diag)
{
	u32 i, n = 0;
	int err;

	for (i = 0; i < nr; i++) {
		if (e[i].type == RECIPE_CHUNK || e[i].type == RECIPE_REPEAT)
			f->fps[n++] = e[i].fp;
	}
	if (n == 0)
		return 0;
	err = depot_locate(f->depot, hint, f->fps, n, f->hits, why);
	switch (akin_error_class(err)) {
	case AKIN_CLASS_OK:
	case AKIN_CLASS_CORRUPT:
	case AKIN_CLASS_IO:
	case AKIN_CLASS_ABSENT:
	case AKIN_CLASS_DENIED:
	case AKIN_CLASS_UNSUPPORTED:
		return 0;	/* others may be whole */
	default:
		return diag_pass(diag, err, why);
	}
}

/* @hint is that of these entries alone if @exact. */
static int push_leaf(struct fetcher *f, const struct recipe_entry *e, u32 nr,
		     const struct hint *hint, bool exact, u64 *skip, u64 *left,
		     struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	u32 i, k = 0;
	u64 n;
	int err;

	if (exact)
		depot_load_hinted(f->depot, hint);
	err = locate(f, e, nr, hint, &why, diag);
	for (i = 0; !err && i < nr && *left > 0; i++) {
		n = min_u64(recipe_entry_bytes(&e[i]) - *skip, *left);
		err = push_entry(f, &e[i], &f->hits[k], &why, *skip, *left,
				 diag);
		if (e[i].type == RECIPE_CHUNK || e[i].type == RECIPE_REPEAT)
			k++;
		*left -= n;
		*skip = 0;
	}
	return err;
}

int fetcher_content(struct fetcher *f, const struct content *ct,
		    const struct hint *hint, u64 off, u64 len,
		    struct akin_diag *diag)
{
	const struct recipe_entry *e;
	const struct hint *leaf_hint;
	struct akin_diag why = { 0 };
	struct recipe_reader *r;
	u64 skip = 0;
	u32 nr;
	int err, more = 0;

	err = recipe_reader_open(f->depot, f->dec, ct, hint, &r, diag);
	if (err)
		return err;
	len = off >= ct->bytes ? 0 : min_u64(len, ct->bytes - off);
	if (off)
		err = recipe_reader_seek(r, off, &skip, &why);
	while (!err && len > 0) {
		more = recipe_reader_next(r, &e, &nr, &leaf_hint, &why);
		if (more <= 0)
			break;
		err = push_leaf(f, e, nr, leaf_hint, ct->kind == CONTENT_ROOT,
				&skip, &len, diag);
	}
	recipe_reader_close(r);
	/* The recipe itself is damaged: what is left of the file is missing. */
	if (!why.code && more < 0)
		diag_set(&why, more, "recipe: %s", akin_strerror(more));
	if (!why.code && !err && more == 0 && len > 0)
		diag_set(&why, -AKIN_E_bad_length,
			 "the recipe ends before the content does");
	if (why.code && (!err || err == why.code))
		err = push_failed(f, len, 1, why.code, &why, diag);
	return err;
}
