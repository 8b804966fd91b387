/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of numbers that are given out in order (containers, sessions): one bit
 * each, in pages that exist where a bit is set. A million numbers in a row take
 * 128 KiB.
 *
 * Thread safety: one caller at a time.
 */
#ifndef NUMSET_H
#define NUMSET_H

#include "base/types.h"

/* Zeroed = empty. */
struct numset {
	u8 **pages;
	u64 nr_pages;		/* room in @pages */
	u64 nr;			/* members */
};

void numset_release(struct numset *s);
/* -AKIN_E_nomem; present is fine. */
int numset_add(struct numset *s, u64 number) __must_check;
void numset_drop(struct numset *s, u64 number);
bool numset_has(const struct numset *s, u64 number);

#endif
