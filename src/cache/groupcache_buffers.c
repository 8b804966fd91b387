/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that decoding uses again and again: each thread's buffers for what is
 * stored and for prefixes, the places of decoded groups, and what evicted
 * groups of other sizes have left.
 *
 * A restore decodes several times what it writes, most of it through buffers
 * of more than 64 KiB. The heap gives such back to the kernel at once (so that
 * resident memory follows the budget, see base/mem.c) and gets cleared pages
 * for the next one; that took half of a restore's processor time.
 */
#include "base/check.h"
#include "base/mem.h"
#include "cache/groupcache_internal.h"

/* A thread's share of memory is 2 MiB, codec and all: what a group of unusual
 * size needed is not kept. */
#define DECODER_SPARE_MAX (512 * KiB)

int decoder_init(struct decoder *d, const struct codec_choice *choice,
		 struct akin_diag *diag)
{
	int err;

	memset(d, 0, sizeof(*d));
	err = codec_ctx_new(choice, &d->codec, diag);
	if (!err)
		err = hash_scratch_new(&d->scratch, diag);
	if (err)
		decoder_release(d);
	return err;
}

static void spares_release(struct decoder_spares *s)
{
	while (s->nr)
		buf_release(&s->bufs[--s->nr]);
}

void decoder_release(struct decoder *d)
{
	spares_release(&d->stored);
	spares_release(&d->prefixes);
	codec_ctx_free(d->codec);
	hash_scratch_free(d->scratch);
	memset(d, 0, sizeof(*d));
}

struct buf decoder_take(struct decoder_spares *s)
{
	struct buf b = { 0 };

	if (s->nr)
		b = s->bufs[--s->nr];
	return b;
}

void decoder_give(struct decoder_spares *s, struct buf *b)
{
	buf_reset(b);
	if (s->nr < DECODER_SPARES && b->data && b->cap <= DECODER_SPARE_MAX)
		s->bufs[s->nr++] = *b;
	else
		buf_release(b);
	memset(b, 0, sizeof(*b));
}

/* The smallest that is large enough, and not much too large; or nr_spares. */
static u32 best_spare_locked(const struct groupcache *gc, size_t len)
{
	u32 i, best = gc->nr_spares;

	for (i = 0; i < gc->nr_spares; i++) {
		if (gc->spares[i].cap < len || gc->spares[i].cap / 2 > len)
			continue;
		if (best == gc->nr_spares ||
		    gc->spares[i].cap < gc->spares[best].cap)
			best = i;
	}
	return best;
}

void groupcache_places_init(struct groupcache *gc)
{
	struct groupcache_places *p = &gc->places;

	p->nr = (u32)min_u64(gc->opt.budget_bytes / GROUPCACHE_PLACE,
			     UINT32_MAX);
	if (p->nr >= GROUPCACHE_PLACES_MIN)
		p->state = mem_zalloc(p->nr);
	if (p->state)
		p->base = mem_reserve((size_t)p->nr * GROUPCACHE_PLACE);
	if (!p->base)
		p->nr = 0;
}

void groupcache_places_release(struct groupcache *gc)
{
	mem_free(gc->places.base);
	mem_free(gc->places.state);
}

/* The first place in @state, or NULL. */
static u8 *find_place_locked(struct groupcache_places *p,
			     enum groupcache_place state)
{
	return p->nr ? memchr(p->state, (int)state, p->nr) : NULL;
}

static u8 *take_place_locked(struct groupcache_places *p)
{
	u8 *s = find_place_locked(p, PLACE_FREE);

	if (!s) {
		s = find_place_locked(p, PLACE_NEW);
		p->nr_resident += s != NULL;
	}
	if (!s)
		return NULL;
	*s = PLACE_USED;
	p->nr_used++;
	return p->base + (size_t)(s - p->state) * GROUPCACHE_PLACE;
}

static bool give_place_locked(struct groupcache_places *p, const u8 *raw)
{
	size_t i = ((uintptr_t)raw - (uintptr_t)p->base) / GROUPCACHE_PLACE;

	if (!p->base || (uintptr_t)raw < (uintptr_t)p->base || i >= p->nr)
		return false;
	akin_assert(p->state[i] == PLACE_USED);
	p->state[i] = PLACE_FREE;
	p->nr_used--;
	return true;
}

u64 groupcache_room_locked(const struct groupcache *gc)
{
	u64 budget = gc->opt.budget_bytes;

	return gc->places.nr ? budget - budget / GROUPCACHE_FREE_SHARE : budget;
}

void groupcache_trim_places_locked(struct groupcache *gc)
{
	struct groupcache_places *p = &gc->places;
	/* Places that are being decoded into are not counted yet. */
	u64 used = min_u64(gc->stats.bytes, (u64)p->nr_used * GROUPCACHE_PLACE);
	u64 others = gc->stats.bytes - used;
	u32 i = p->nr;

	while (i > 0 && p->nr_resident > p->nr_used &&
	       others + (u64)p->nr_resident * GROUPCACHE_PLACE >
	       gc->opt.budget_bytes) {
		if (p->state[--i] != PLACE_FREE)
			continue;
		mem_discard(p->base + (size_t)i * GROUPCACHE_PLACE,
			    GROUPCACHE_PLACE);
		p->state[i] = PLACE_NEW;
		p->nr_resident--;
	}
}

u8 *groupcache_take_raw(struct groupcache *gc, size_t len, size_t *cap_ret)
{
	u8 *raw = NULL;
	u32 i;

	pthread_mutex_lock(&gc->lock);
	if (len <= GROUPCACHE_PLACE && len > GROUPCACHE_PLACE / 2)
		raw = take_place_locked(&gc->places);
	if (raw)
		*cap_ret = GROUPCACHE_PLACE;
	i = raw ? gc->nr_spares : best_spare_locked(gc, len);
	if (i < gc->nr_spares) {
		raw = gc->spares[i].raw;
		*cap_ret = gc->spares[i].cap;
		gc->spare_bytes -= *cap_ret;
		gc->stats.bytes -= *cap_ret;
		gc->spares[i] = gc->spares[--gc->nr_spares];
	}
	pthread_mutex_unlock(&gc->lock);
	if (!raw) {
		raw = mem_alloc(len);
		*cap_ret = len;
	}
	return raw;
}

void groupcache_give_raw_locked(struct groupcache *gc, u8 *raw, size_t cap)
{
	if (give_place_locked(&gc->places, raw))
		return;
	if (!raw || cap < GROUPCACHE_SPARE_MIN ||
	    gc->nr_spares == GROUPCACHE_SPARES ||
	    gc->spare_bytes + cap > gc->opt.budget_bytes /
				    GROUPCACHE_SPARE_SHARE) {
		mem_free(raw);
		return;
	}
	gc->spares[gc->nr_spares].raw = raw;
	gc->spares[gc->nr_spares++].cap = cap;
	gc->spare_bytes += cap;
	gc->stats.bytes += cap;
}

void groupcache_give_raw(struct groupcache *gc, u8 *raw, size_t cap)
{
	pthread_mutex_lock(&gc->lock);
	groupcache_give_raw_locked(gc, raw, cap);
	pthread_mutex_unlock(&gc->lock);
}

void groupcache_drop_spares_locked(struct groupcache *gc)
{
	while (gc->nr_spares)
		mem_free(gc->spares[--gc->nr_spares].raw);
	gc->stats.bytes -= gc->spare_bytes;
	gc->spare_bytes = 0;
}
