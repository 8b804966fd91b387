/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group cache: chained hash table and a list in order of last use.
 *
 * The lock is never held while something is read, decoded or hashed; why
 * threads that wait here never wait in a circle is in groupcache_decode.c.
 */
#include "base/check.h"
#include "base/mem.h"
#include "cache/groupcache_internal.h"

int groupcache_new(const struct groupcache_options *opt,
		   struct groupcache **out, struct akin_diag *diag)
{
	struct groupcache *gc;

	gc = mem_zalloc(sizeof(*gc));
	if (!gc)
		return diag_set(diag, -AKIN_E_nomem, "group cache");
	gc->opt = *opt;
	pthread_mutex_init(&gc->lock, NULL);
	pthread_cond_init(&gc->changed, NULL);
	groupcache_places_init(gc);
	*out = gc;
	return 0;
}

static u32 bucket_of(u64 container, u32 index)
{
	return (u32)((container * 0x9e3779b97f4a7c15ull + index *
		      0xc2b2ae3d27d4eb4full) >> 54) % GROUPCACHE_BUCKETS;
}

static struct groupcache_entry *find_locked(struct groupcache *gc,
					    u64 container, u32 index)
{
	struct groupcache_entry *e = gc->buckets[bucket_of(container, index)];

	while (e && (e->data.container != container || e->data.index != index))
		e = e->chain;
	return e;
}

static void unlink_used_locked(struct groupcache *gc,
			       struct groupcache_entry *e)
{
	if (e->prev)
		e->prev->next = e->next;
	else
		gc->oldest = e->next;
	if (e->next)
		e->next->prev = e->prev;
	else
		gc->newest = e->prev;
	e->prev = e->next = NULL;
}

static void link_newest_locked(struct groupcache *gc,
			       struct groupcache_entry *e)
{
	e->prev = gc->newest;
	e->next = NULL;
	if (gc->newest)
		gc->newest->next = e;
	else
		gc->oldest = e;
	gc->newest = e;
}

static void entry_free_locked(struct groupcache *gc, struct groupcache_entry *e)
{
	groupcache_give_raw_locked(gc, e->raw, e->cap);
	mem_free(e->why);
	mem_free(e);
}

/* Unpinned and out of the list of last use. */
static void drop_locked(struct groupcache *gc, struct groupcache_entry *e)
{
	struct groupcache_entry **at;

	at = &gc->buckets[bucket_of(e->data.container, e->data.index)];
	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	gc->stats.bytes -= e->bytes;
	entry_free_locked(gc, e);
	counters_set(gc->opt.counters, group_bytes, gc->stats.bytes);
}

static void shrink_locked(struct groupcache *gc)
{
	struct groupcache_entry *e;

	while (gc->stats.bytes > groupcache_room_locked(gc) && gc->oldest) {
		e = gc->oldest;
		unlink_used_locked(gc, e);
		drop_locked(gc, e);
	}
	groupcache_trim_places_locked(gc);
}

void groupcache_set_budget(struct groupcache *gc, size_t bytes)
{
	pthread_mutex_lock(&gc->lock);
	gc->opt.budget_bytes = bytes;
	groupcache_drop_spares_locked(gc);
	shrink_locked(gc);
	pthread_mutex_unlock(&gc->lock);
}

void groupcache_clear(struct groupcache *gc)
{
	struct groupcache_entry *e;

	pthread_mutex_lock(&gc->lock);
	while ((e = gc->oldest)) {
		unlink_used_locked(gc, e);
		drop_locked(gc, e);
	}
	groupcache_drop_spares_locked(gc);
	counters_set(gc->opt.counters, group_bytes, gc->stats.bytes);
	pthread_mutex_unlock(&gc->lock);
}

void groupcache_free(struct groupcache *gc)
{
	struct groupcache_entry *e, *next;
	u32 i;

	if (!gc)
		return;
	for (i = 0; i < GROUPCACHE_BUCKETS; i++) {
		for (e = gc->buckets[i]; e; e = next) {
			next = e->chain;
			entry_free_locked(gc, e);
		}
	}
	groupcache_drop_spares_locked(gc);
	groupcache_places_release(gc);
	pthread_cond_destroy(&gc->changed);
	pthread_mutex_destroy(&gc->lock);
	mem_free(gc);
}

/* A new entry in state DECODING, pinned by the caller. */
static struct groupcache_entry *insert_locked(struct groupcache *gc,
					      u64 container, u32 index)
{
	u32 b = bucket_of(container, index);
	struct groupcache_entry *e;

	e = mem_zalloc(sizeof(*e));
	if (!e)
		return NULL;
	e->data.container = container;
	e->data.index = index;
	e->pins = 1;
	e->chain = gc->buckets[b];
	gc->buckets[b] = e;
	return e;
}

/* Of an entry that is out of order; for all who wait for it. */
static void fail_locked(struct groupcache_entry *e, int err,
			const struct akin_diag *why,
			enum groupcache_state state)
{
	e->err = err;
	e->why = why->code ? mem_dup(why, sizeof(*why)) : NULL;
	e->state = state;
}

static void count_locked(struct groupcache *gc, struct groupcache_entry *e)
{
	/* Small groups cost more than their bytes. */
	e->bytes = e->cap + sizeof(*e);
	gc->stats.bytes += e->bytes;
	counters_set(gc->opt.counters, group_bytes, gc->stats.bytes);
	gc->stats.peak_bytes = max_u64(gc->stats.peak_bytes, gc->stats.bytes);
}

static void decode_locked(struct groupcache_run *run,
			  struct groupcache_entry *e)
{
	struct groupcache *gc = run->gc;
	struct akin_diag why = { 0 };
	int err;

	pthread_mutex_unlock(&gc->lock);
	err = groupcache_decode(run, e, &why);
	pthread_mutex_lock(&gc->lock);
	gc->stats.reads++;
	if (err) {
		fail_locked(e, err, &why, ENTRY_FAILED);
	} else {
		e->state = ENTRY_DECODED;
		gc->stats.decoded_bytes += e->data.raw_len;
		count_locked(gc, e);
	}
	pthread_cond_broadcast(&gc->changed);
}

/* An error is the caller's own trouble; what is wrong with @e is in it. */
static int verify_locked(struct groupcache_run *run,
			 struct groupcache_entry *e, struct akin_diag *diag)
{
	struct groupcache *gc = run->gc;
	struct akin_diag why = { 0 };
	int err;

	e->state = ENTRY_VERIFYING;
	pthread_mutex_unlock(&gc->lock);
	err = groupcache_verify(run, e, &why);
	pthread_mutex_lock(&gc->lock);
	pthread_cond_broadcast(&gc->changed);
	if (err == -AKIN_E_bad_fp) {
		fail_locked(e, err, &why, ENTRY_WRONG);
		return 0;
	}
	e->state = err ? ENTRY_DECODED : ENTRY_VERIFIED;
	return err ? diag_set(diag, err, "%s", why.code ? why.text :
			      akin_strerror(err)) : 0;
}

static void unpin_locked(struct groupcache *gc, struct groupcache_entry *e)
{
	akin_assert(e->pins > 0);
	if (--e->pins > 0)
		return;
	if (e->state == ENTRY_FAILED || e->state == ENTRY_WRONG) {
		drop_locked(gc, e);
		return;
	}
	link_newest_locked(gc, e);
	shrink_locked(gc);
}

static void hit_locked(struct groupcache *gc, struct groupcache_entry *e)
{
	if (e->pins++ == 0)
		unlink_used_locked(gc, e);
	gc->stats.hits++;
	counters_set(gc->opt.counters, group_hits, gc->stats.hits);
}

/* The entry, pinned, in whatever state; NULL: out of memory. */
static struct groupcache_entry *claim_locked(struct groupcache_run *run,
					     u64 container, u32 index)
{
	struct groupcache *gc = run->gc;
	struct groupcache_entry *e = find_locked(gc, container, index);

	if (!e) {
		e = insert_locked(gc, container, index);
		if (e)
			decode_locked(run, e);
		return e;
	}
	hit_locked(gc, e);
	return e;
}

/* Bring @e as far as the caller needs it. */
static int finish_locked(struct groupcache_run *run,
			 struct groupcache_entry *e, bool verified,
			 struct akin_diag *diag)
{
	struct groupcache *gc = run->gc;
	int err = 0;

	while (e->state == ENTRY_DECODING ||
	       (verified && e->state == ENTRY_VERIFYING))
		pthread_cond_wait(&gc->changed, &gc->lock);
	if (verified && e->state == ENTRY_DECODED)
		err = verify_locked(run, e, diag);
	if (!err && (e->state == ENTRY_FAILED ||
		     (verified && e->state == ENTRY_WRONG)))
		err = diag_set(diag, e->err, "%s", e->why ? e->why->text :
			       akin_strerror(e->err));
	return err;
}

int groupcache_pin(struct groupcache_run *run, u64 container, u32 index,
		   bool verified, const struct group_data **out,
		   struct akin_diag *diag)
{
	struct groupcache *gc = run->gc;
	struct groupcache_entry *e;
	int err;

	pthread_mutex_lock(&gc->lock);
	e = claim_locked(run, container, index);
	if (!e) {
		err = diag_set(diag, -AKIN_E_nomem, "group cache");
		goto out;
	}
	err = finish_locked(run, e, verified, diag);
	if (err) {
		unpin_locked(gc, e);
	} else {
		shrink_locked(gc);
		*out = &e->data;
	}
out:
	pthread_mutex_unlock(&gc->lock);
	return err;
}

int groupcache_get(struct groupcache *gc, struct decoder *dec,
		   u64 container, u32 index, const struct group_data **out,
		   struct akin_diag *diag)
{
	struct groupcache_run run = { .gc = gc, .dec = dec };
	int err;

	err = groupcache_pin(&run, container, index, true, out, diag);
	groupcache_let_go(&run);
	return err;
}

int groupcache_get_raw(struct groupcache *gc, struct decoder *dec,
		       u64 container, u32 index, const struct group_data **out,
		       struct akin_diag *diag)
{
	struct groupcache_run run = { .gc = gc, .dec = dec };
	int err;

	err = groupcache_pin(&run, container, index, false, out, diag);
	groupcache_let_go(&run);
	return err;
}

void groupcache_put(struct groupcache *gc, const struct group_data *g)
{
	struct groupcache_entry *e = container_of(g, struct groupcache_entry, data);

	pthread_mutex_lock(&gc->lock);
	unpin_locked(gc, e);
	pthread_mutex_unlock(&gc->lock);
}

bool groupcache_is_checked(const struct group_data *g, u32 chunk)
{
	return groupcache_bit(container_of(g, struct groupcache_entry, data),
			      chunk);
}

void groupcache_prefetch(struct groupcache *gc, u64 container,
			 const u32 *groups, u32 nr)
{
	u32 missing[GROUPCACHE_PREFETCH_MAX], i, n = 0;
	struct container_reader *r;

	akin_assert(nr <= GROUPCACHE_PREFETCH_MAX);
	pthread_mutex_lock(&gc->lock);
	for (i = 0; i < nr; i++) {
		if (!find_locked(gc, container, groups[i]))
			missing[n++] = groups[i];
	}
	pthread_mutex_unlock(&gc->lock);
	/* What is wrong will be told to who asks. */
	if (!n || dircache_get(gc->opt.dirs, container, &r, NULL))
		return;
	container_prefetch(r, missing, n);
	dircache_put(gc->opt.dirs, container);
}

const struct group_data *groupcache_find(struct groupcache *gc, u64 container,
					 u32 index)
{
	struct groupcache_entry *e;

	pthread_mutex_lock(&gc->lock);
	e = find_locked(gc, container, index);
	if (e && (e->state == ENTRY_DECODING || e->state == ENTRY_FAILED ||
		  e->state == ENTRY_WRONG))
		e = NULL;
	if (e)
		hit_locked(gc, e);
	pthread_mutex_unlock(&gc->lock);
	return e ? &e->data : NULL;
}

void groupcache_offer(struct groupcache *gc, u64 container, u32 index,
		      const u8 *raw, u32 raw_len)
{
	u8 *copy = mem_dup(raw, raw_len);
	struct groupcache_entry *e = NULL;
	u32 i;

	pthread_mutex_lock(&gc->lock);
	if (copy && !find_locked(gc, container, index))
		e = insert_locked(gc, container, index);
	if (e) {
		e->raw = copy;
		e->cap = raw_len;
		e->data.raw = copy;
		e->data.raw_len = raw_len;
		e->state = ENTRY_VERIFIED;
		for (i = 0; i < ARRAY_SIZE(e->checked); i++)
			e->checked[i] = UINT64_MAX;
		count_locked(gc, e);
		unpin_locked(gc, e);
		copy = NULL;
	}
	pthread_mutex_unlock(&gc->lock);
	mem_free(copy);
}

void groupcache_get_stats(struct groupcache *gc, struct groupcache_stats *out)
{
	pthread_mutex_lock(&gc->lock);
	*out = gc->stats;
	out->read_bytes = __atomic_load_n(&gc->read_bytes, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&gc->lock);
}
