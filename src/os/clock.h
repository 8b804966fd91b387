/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks. Durations and latencies come from clock_ns(); clock_wall()
 * is for what people read, and nothing is ever ordered by it.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include "base/types.h"

/* Nanoseconds since some start; never goes back. */
u64 clock_ns(void);
/* Since 1970-01-01 UTC; @nsec < 1e9. Jumps when the administrator says so. */
void clock_wall(s64 *sec, u32 *nsec);

/*
 * How much time has really passed between two readings? Within one boot
 * @boot_ns says so, whatever anybody does to the wall clock; it counts sleep.
 */
struct clock_reading {
	s64 wall_sec;
	u64 boot_ns;		/* since the machine was started */
	u8 boot[16];		/* which start; zeros: unknown */
};
void clock_read(struct clock_reading *out);

#endif
