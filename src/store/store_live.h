/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing content of the pool, as it comes, with a file that is read beside
 * it. Holes are zeros on both sides.
 */
#ifndef STORE_LIVE_H
#define STORE_LIVE_H

#include "source/source.h"

struct live_compare {
	struct source_file *file;	/* borrowed */
	u8 *buf;
	u64 have, used;		/* bytes in buf, and how many are compared */
	u64 hole_left;		/* of the file's current hole */
	bool differs;
	int err;		/* the file could not be read: differs */
	struct akin_diag diag;	/* its message */
};

/* @c is zeroed at first; its buffer is kept from file to file. */
int live_compare_init(struct live_compare *c) __must_check;
void live_compare_release(struct live_compare *c);
void live_compare_begin(struct live_compare *c, struct source_file *f);
/* The next @len bytes; @data NULL: zeros. */
void live_compare_data(struct live_compare *c, const u8 *data, u64 len);
/* Nothing more: the file must have come to its end. True: they are equal. */
bool live_compare_end(struct live_compare *c);

#endif
