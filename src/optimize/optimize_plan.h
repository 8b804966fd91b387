/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of a series is made from which.
 *
 * Newest first: version 0 stands alone, every other one is a difference to a
 * newer one. The nearest is the smallest difference, but a chain of them must
 * not be longer than depth allows. So chains begin where the one before began,
 * a level deeper; when there is no deeper level, at version 0 again.
 *
 *	depth 3:  0 <- 1 <- 2 <- 3
 *		       1 <- 4 <- 5
 *			    4 <- 6
 *		  0 <- 7 <- 8 <- 9 ...
 *
 * Three versions of ten are far from their base, and no more than one in
 * @depth / 2 when there are many.
 *
 * Thread safety: pure functions.
 */
#ifndef OPTIMIZE_PLAN_H
#define OPTIMIZE_PLAN_H

#include "base/types.h"

struct optimize_step {
	u32 parent;		/* a newer version; 0 for version 0 */
	u8 depth;		/* references below it, at most */
};

/* For @nr versions into @out. Depth 0: all stand alone, and the nearest newer
 * one is named for what they have in common. */
void optimize_plan(u32 nr, u8 depth, struct optimize_step *out);

#endif
