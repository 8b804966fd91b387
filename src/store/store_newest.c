/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of snapshots.
 *
 * It is that of their numbers, which no clock can change: the one committed
 * last is the newest, even if the clock was wrong then or before. Only those
 * that were copied or rewritten, whose commit says nothing of their age, take
 * their place by time: in front of what is at the end and later than they are.
 */
#include "base/mem.h"
#include "store/store_newest.h"

static bool is_later(s64 sec, u32 nsec, const struct snapshot *s)
{
	return sec > s->time_sec ||
	       (sec == s->time_sec && nsec > s->time_nsec);
}

void store_newest_offer(struct store_newest *n, const struct snapshot *s)
{
	if (n->number && s->flags & SNAPSHOT_TRANSFERRED &&
	    is_later(n->sec, n->nsec, s))
		return;
	n->number = s->number;
	n->sec = s->time_sec;
	n->nsec = s->time_nsec;
}

int store_order_add(struct store_order *o, const struct snapshot *s)
{
	struct store_newest *keys;
	size_t at = o->nr;

	if (o->nr == o->room) {
		o->room = o->room ? 2 * o->room : 64;
		keys = mem_realloc(o->keys, o->room * sizeof(*keys));
		if (!keys)
			return -AKIN_E_nomem;
		o->keys = keys;
	}
	if (s->flags & SNAPSHOT_TRANSFERRED) {
		while (at && is_later(o->keys[at - 1].sec,
				      o->keys[at - 1].nsec, s))
			at--;
	}
	if (at < o->nr)
		o->moved = true;
	memmove(o->keys + at + 1, o->keys + at,
		(o->nr - at) * sizeof(*o->keys));
	o->keys[at].number = 0;
	store_newest_offer(&o->keys[at], s);
	o->nr++;
	return 0;
}

void store_order_release(struct store_order *o)
{
	mem_free(o->keys);
	memset(o, 0, sizeof(*o));
}
