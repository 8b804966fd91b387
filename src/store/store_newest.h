/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which snapshot is newer; see store_newest.c. All are offered in the order of
 * their numbers.
 */
#ifndef STORE_NEWEST_H
#define STORE_NEWEST_H

#include <string.h>

#include "format/format_snapshot.h"

/* Zeroed: none yet. */
struct store_newest {
	u64 number;		/* 0: none */
	s64 sec;
	u32 nsec;
};
void store_newest_offer(struct store_newest *n, const struct snapshot *s);

/* All of them, oldest first. 24 bytes each. Zeroed: empty. */
struct store_order {
	struct store_newest *keys;
	size_t nr, room;
	bool moved;		/* it is not the order of the numbers */
};
int store_order_add(struct store_order *o, const struct snapshot *s)
	__must_check;
void store_order_release(struct store_order *o);

#endif
