/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that decoding uses again and again: each thread's buffers for what is
 * stored and for prefixes, and the raw bytes of evicted groups.
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

u8 *groupcache_take_raw(struct groupcache *gc, size_t len, size_t *cap_ret)
{
	u8 *raw = NULL;
	u32 i;

	pthread_mutex_lock(&gc->lock);
	i = best_spare_locked(gc, len);
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
