/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks. clock_gettime() cannot fail for these two ids and valid
 * pointers, so there is no error to hand on.
 */
#include <time.h>

#include "os/clock.h"

u64 clock_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

void clock_wall(s64 *sec, u32 *nsec)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	*sec = ts.tv_sec;
	*nsec = (u32)ts.tv_nsec;
}
