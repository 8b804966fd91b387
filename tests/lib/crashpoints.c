/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See crashpoints.h.
 */
#include <stdlib.h>
#include <time.h>

#include "crashpoints.h"
#include "testlib.h"

/* Of the processor's time, so that a busy machine tries as many. A program has
 * up to five of these loops. */
#define BUDGET_NS (4ull * 1000 * 1000 * 1000)
/* Prime, so that its multiples come by every point unless it divides their
 * number. */
#define SPREAD 7919

static u64 used_ns(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

void crash_points_begin(struct crash_points *cp, const char *what, u64 total,
			u64 least, u64 tail)
{
	bool all = getenv("AKIN_TEST_SLOW") != NULL;

	*cp = (struct crash_points){ .what = what, .total = total,
				     .tail = tail,
				     .step = all ? 1 : 1 + total / least,
				     .until_ns = used_ns() + BUDGET_NS };
	cp->seen = calloc(total + 2, 1);
	assert_non_null(cp->seen);
	assert_true((total + 1) % SPREAD != 0);
}

/* The next of those that are always the same, or 0. */
static u64 next_fixed(const struct crash_points *cp)
{
	if (!cp->n)
		return 1;
	if (cp->n > cp->total)
		return 0;
	if (cp->n + cp->tail >= cp->total)
		return cp->n + 1;
	return cp->n + cp->step;
}

static u64 next_spread(struct crash_points *cp)
{
	u64 n;

	while (used_ns() < cp->until_ns && cp->spread <= cp->total) {
		n = cp->spread++ * SPREAD % (cp->total + 1) + 1;
		if (!cp->seen[n])
			return n;
	}
	return 0;
}

bool crash_points_next(struct crash_points *cp)
{
	u64 n = cp->spread ? 0 : next_fixed(cp);

	if (!n)
		n = next_spread(cp);
	if (n) {
		cp->n = min_u64(n, cp->total + 1);
		cp->seen[cp->n] = 1;
		cp->nr++;
		return true;
	}
	/* One of them is behind the last operation. */
	test_note("%s: stopped at %llu of %llu operations, %llu states",
		  cp->what, (unsigned long long)cp->nr - 1,
		  (unsigned long long)cp->total,
		  (unsigned long long)cp->nr_states);
	free(cp->seen);
	return false;
}

bool crash_points_mode(struct crash_points *cp, int mode, int nr)
{
	bool wanted = !cp->spread || mode == (int)(cp->n % (u64)nr);

	cp->nr_states += wanted;
	return wanted;
}
