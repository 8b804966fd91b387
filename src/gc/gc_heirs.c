/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of heirs, and a table of open addresses from parts of sketches to
 * places in it. Parts are hashes already.
 */
#include "base/mem.h"
#include "gc/gc_heirs.h"

/* Of one part. Slots are at most three quarters full. */
struct slot {
	u32 part;		/* 0: free */
	u32 last, plain;	/* indexes, one more; 0: none */
};

struct gc_heirs {
	struct gc_heir *heirs;
	struct slot *slots;
	u32 nr, cap;
	u32 nr_slots, mask;
};

/* Parts of two chunks that resemble each other are one slot. */
#define SLOTS_EACH 4
#define EACH_BYTES (sizeof(struct gc_heir) + SLOTS_EACH * sizeof(struct slot))

/* Of the pages of what is never used, the system gives none. */
u32 gc_heirs_room(size_t budget_bytes)
{
	size_t nr = 1024;

	while (nr * 2 * EACH_BYTES <= budget_bytes && nr < 1u << 28)
		nr *= 2;
	return (u32)nr;
}

struct gc_heirs *gc_heirs_new(size_t budget_bytes)
{
	struct gc_heirs *h = mem_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->cap = gc_heirs_room(budget_bytes);
	h->mask = h->cap * SLOTS_EACH - 1;
	h->heirs = mem_calloc(h->cap, sizeof(*h->heirs));
	h->slots = mem_calloc((size_t)h->mask + 1, sizeof(*h->slots));
	if (!h->heirs || !h->slots) {
		gc_heirs_free(h);
		return NULL;
	}
	return h;
}

void gc_heirs_free(struct gc_heirs *h)
{
	if (!h)
		return;
	mem_free(h->heirs);
	mem_free(h->slots);
	mem_free(h);
}

static struct slot *slot_of(const struct gc_heirs *h, u32 part)
{
	u32 i = (part * 0x9e3779b1u) & h->mask;

	while (h->slots[i].part && h->slots[i].part != part)
		i = (i + 1) & h->mask;
	return &h->slots[i];
}

void gc_heirs_add(struct gc_heirs *h, const struct dir_sketch *sketch,
		  const struct gc_heir *heir)
{
	struct slot *s;
	u32 k;

	if (h->nr == h->cap)
		return;
	h->heirs[h->nr++] = *heir;
	for (k = 0; k < DIR_SKETCH_PARTS; k++) {
		s = slot_of(h, sketch->part[k]);
		if (!s->part && h->nr_slots >= h->mask / 4 * 3)
			continue;
		h->nr_slots += !s->part;
		s->part = sketch->part[k];
		s->last = h->nr;
		if (!heir->depth)
			s->plain = h->nr;
	}
}

struct gc_heir gc_heirs_find(const struct gc_heirs *h,
			     const struct dir_sketch *sketch, u64 container,
			     u8 depth)
{
	struct gc_heir none = { 0 };
	const struct gc_heir *at;
	u32 found[DIR_SKETCH_PARTS] = { 0 }, i, k, votes, best = 0, most = 0;
	const struct slot *s;

	for (k = 0; k < DIR_SKETCH_PARTS; k++) {
		s = slot_of(h, sketch->part[k]);
		for (i = 0; s->part && !found[k] && i < 2; i++) {
			if (!(i ? s->plain : s->last))
				continue;
			at = &h->heirs[(i ? s->plain : s->last) - 1];
			if (at->container < container && at->depth < depth)
				found[k] = i ? s->plain : s->last;
		}
	}
	for (k = 0; k < DIR_SKETCH_PARTS; k++) {
		for (i = votes = 0; i < DIR_SKETCH_PARTS; i++)
			votes += found[i] == found[k];
		if (found[k] && (votes > most || (votes == most &&
						  found[k] > best))) {
			most = votes;
			best = found[k];
		}
	}
	return best ? h->heirs[best - 1] : none;
}
