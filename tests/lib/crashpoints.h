/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operations a crash test stops at: all of them with AKIN_TEST_SLOW in the
 * environment; else some that are always the same, and then as many others as
 * there is time for. How many that were is said at the end.
 *
 *	struct crash_points cp;
 *
 *	crash_points_begin(&cp, "backup", total, 200, 40);
 *	while (crash_points_next(&cp))
 *		... stop before operation cp.n, from 1 to total + 1 ...
 *
 * What is left after a stop can be tried in several modes: all of them at the
 * points that are always the same, one at the others.
 */
#ifndef CRASHPOINTS_H
#define CRASHPOINTS_H

#include "base/types.h"

struct crash_points {
	u64 n;			/* stop here; above total: never */
	u64 total;
	/* private */
	const char *what;
	u8 *seen;
	u64 step, tail, nr, nr_states, spread, until_ns;
};

/* At least @least of @total points, and each of the last @tail. */
void crash_points_begin(struct crash_points *cp, const char *what, u64 total,
			u64 least, u64 tail);
/* False: that was all; it has been said, and nothing is left to release. */
bool crash_points_next(struct crash_points *cp);
/* Is mode @mode of @nr to be tried at this point? */
bool crash_points_mode(struct crash_points *cp, int mode, int nr);

#endif
