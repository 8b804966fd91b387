/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bitmaps by container, in a chained table that grows. The maps of a container
 * are one allocation with the structure, doubled when an entry does not fit.
 */
#include <stdlib.h>

#include "base/diag.h"
#include "base/mem.h"
#include "format/format_container.h"
#include "gc/gc_marks.h"

/* Entries of the smallest map. A container of the usual size has some 1,000. */
#define ROOM_MIN 256
/* With less nothing sensible fits. */
#define BUDGET_MIN (256 * KiB)

struct gc_marks {
	struct gc_bits **table;
	u32 mask, nr;
	u64 low, high;
	size_t bytes, budget;
};

struct gc_marks *gc_marks_new(size_t budget_bytes)
{
	struct gc_marks *m = mem_zalloc(sizeof(*m));

	if (!m)
		return NULL;
	m->budget = max_u64(budget_bytes, BUDGET_MIN);
	m->mask = 1023;
	m->table = mem_calloc(m->mask + 1, sizeof(*m->table));
	if (!m->table) {
		mem_free(m);
		return NULL;
	}
	m->bytes = (m->mask + 1) * sizeof(*m->table);
	m->low = 1;
	m->high = UINT64_MAX;
	return m;
}

static u32 slot_of(const struct gc_marks *m, u64 container)
{
	return (u32)((container * 0x9e3779b97f4a7c15ull) >> 32) & m->mask;
}

static size_t bits_bytes(u32 room)
{
	return sizeof(struct gc_bits) + room / 8 * 3;
}

static void free_bits(struct gc_marks *m, struct gc_bits *b)
{
	m->bytes -= bits_bytes(b->room);
	mem_free(b);
}

static void drop_all(struct gc_marks *m)
{
	struct gc_bits *b, *next;
	u32 i;

	for (i = 0; i <= m->mask; i++) {
		for (b = m->table[i]; b; b = next) {
			next = b->chain;
			free_bits(m, b);
		}
		m->table[i] = NULL;
	}
	m->nr = 0;
}

void gc_marks_free(struct gc_marks *m)
{
	if (!m)
		return;
	drop_all(m);
	mem_free(m->table);
	mem_free(m);
}

u64 gc_marks_low(const struct gc_marks *m)
{
	return m->low;
}

u64 gc_marks_high(const struct gc_marks *m)
{
	return m->high;
}

size_t gc_marks_bytes(const struct gc_marks *m)
{
	return m->bytes;
}

bool gc_marks_descend(struct gc_marks *m)
{
	drop_all(m);
	m->high = m->low;
	m->low = 1;
	return m->high > 1;
}

struct gc_bits *gc_marks_get(struct gc_marks *m, u64 container)
{
	struct gc_bits *b = m->table[slot_of(m, container)];

	while (b && b->container != container)
		b = b->chain;
	return b;
}

static void link_bits(struct gc_marks *m, struct gc_bits *b)
{
	u32 at = slot_of(m, b->container);

	b->chain = m->table[at];
	m->table[at] = b;
}

static void unlink_bits(struct gc_marks *m, struct gc_bits *b)
{
	struct gc_bits **at = &m->table[slot_of(m, b->container)];

	while (*at != b)
		at = &(*at)->chain;
	*at = b->chain;
}

static void grow_table(struct gc_marks *m)
{
	u32 mask = m->mask * 2 + 1, old = m->mask, i;
	struct gc_bits **table, **from = m->table;
	struct gc_bits *b, *next;

	table = mem_calloc((size_t)mask + 1, sizeof(*table));
	if (!table)
		return;		/* only slower */
	m->bytes += (mask - old) * sizeof(*table);
	m->table = table;
	m->mask = mask;
	for (i = 0; i <= old; i++) {
		for (b = from[i]; b; b = next) {
			next = b->chain;
			link_bits(m, b);
		}
	}
	mem_free(from);
}

static int descending(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

int gc_marks_list(struct gc_marks *m, u64 **out, u32 *nr_ret)
{
	u64 *p = mem_calloc(m->nr + 1, sizeof(*p));
	struct gc_bits *b;
	u32 i, n = 0;

	if (!p)
		return -AKIN_E_nomem;
	for (i = 0; i <= m->mask; i++)
		for (b = m->table[i]; b; b = b->chain)
			p[n++] = b->container;
	qsort(p, n, sizeof(*p), descending);
	*out = p;
	*nr_ret = n;
	return 0;
}

/* Give up the lower half of the containers. */
static int give_up(struct gc_marks *m)
{
	struct gc_bits *b;
	u64 *numbers;
	u32 nr, i;
	int err;

	err = gc_marks_list(m, &numbers, &nr);
	if (err)
		return err;
	if (nr < 2) {
		mem_free(numbers);
		return -AKIN_E_nomem;
	}
	m->low = numbers[nr / 2 - 1];
	for (i = nr / 2; i < nr; i++) {
		b = gc_marks_get(m, numbers[i]);
		unlink_bits(m, b);
		m->nr--;
		free_bits(m, b);
	}
	mem_free(numbers);
	return 0;
}

static void place_maps(struct gc_bits *b)
{
	b->live = (u8 *)(b + 1);
	b->base = b->live + b->room / 8;
	b->seen = b->base + b->room / 8;
}

/* The maps of @b into the larger @p. */
static void move_maps(struct gc_bits *p, const struct gc_bits *b)
{
	memcpy(p->live, b->live, b->room / 8);
	memcpy(p->base, b->base, b->room / 8);
	memcpy(p->seen, b->seen, b->room / 8);
}

/* *out NULL: out of range (now). */
static int make(struct gc_marks *m, u64 container, u32 entry,
		struct gc_bits **out)
{
	struct gc_bits *b = gc_marks_get(m, container), *p;
	u32 room = ROOM_MIN;
	int err;

	*out = NULL;
	if (container < m->low || container >= m->high)
		return 0;
	if (b && entry < b->room) {
		*out = b;
		return 0;
	}
	while (room <= entry)
		room *= 2;
	if (m->bytes + bits_bytes(room) > m->budget) {
		err = give_up(m);
		if (err || container < m->low)
			return err;
	}
	p = mem_zalloc(bits_bytes(room));
	if (!p)
		return -AKIN_E_nomem;
	if (b)
		*p = *b;
	p->container = container;
	p->room = room;
	place_maps(p);
	if (b) {
		move_maps(p, b);
		unlink_bits(m, b);
		m->nr--;
		free_bits(m, b);
	}
	m->bytes += bits_bytes(room);
	if (++m->nr > m->mask / 4 * 3)
		grow_table(m);
	link_bits(m, p);
	*out = p;
	return 0;
}

int gc_marks_live(struct gc_marks *m, u64 container, u32 entry, bool *new_ret,
		  bool *outside_ret)
{
	struct gc_bits *b;
	int err;

	*new_ret = false;
	*outside_ret = false;
	if (entry >= CONTAINER_MAX_ENTRIES)
		return -AKIN_E_bad_field;
	err = make(m, container, entry, &b);
	if (err)
		return err;
	*outside_ret = !b;
	if (!b || gc_bit(b, b->live, entry))
		return 0;
	b->live[entry / 8] |= (u8)(1u << (entry % 8));
	b->fresh = true;
	*new_ret = true;
	return 0;
}

int gc_marks_base(struct gc_marks *m, u64 container, u32 entry, bool *lone_ret)
{
	struct gc_bits *b;
	int err;

	*lone_ret = false;
	if (entry >= CONTAINER_MAX_ENTRIES)
		return -AKIN_E_bad_field;
	err = make(m, container, entry, &b);
	if (err || !b)
		return err;
	*lone_ret = !gc_is_live(b, entry);
	if (gc_bit(b, b->base, entry))
		return 0;
	b->base[entry / 8] |= (u8)(1u << (entry % 8));
	/* What is live has been looked at, or will be. */
	b->fresh |= *lone_ret;
	return 0;
}

int gc_marks_whole(struct gc_marks *m, u64 container)
{
	struct gc_bits *b;
	int err;

	err = make(m, container, 0, &b);
	if (err || !b || b->whole)
		return err;
	b->whole = true;
	b->fresh = true;
	return 0;
}

void gc_marks_refresh(struct gc_marks *m)
{
	struct gc_bits *b;
	u32 i;

	for (i = 0; i <= m->mask; i++)
		for (b = m->table[i]; b; b = b->chain) {
			b->fresh = true;
			memset(b->seen, 0, b->room / 8);
		}
}
