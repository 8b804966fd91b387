/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hint under construction: a small sorted set of container numbers.
 */
#ifndef RECIPE_HINTSET_H
#define RECIPE_HINTSET_H

#include "format/format.h"

/* Zeroed = empty. */
struct hintset {
	struct hint hint;
	u32 cap;
	bool failed;		/* an addition ran out of memory */
};

/* 0 is not a container and ignored. Sets beyond HINT_MAX stop growing: a hint
 * may be incomplete. */
void hintset_add(struct hintset *s, u64 container);
void hintset_add_all(struct hintset *s, const struct hint *h);
void hintset_reset(struct hintset *s);
void hintset_release(struct hintset *s);

#endif
