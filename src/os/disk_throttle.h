/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that is as slow as one wants: every call is done by the disk below and
 * returns when a disk with these limits would be done with it. To see what
 * spinning disks would make of a workload, and to leave others their share.
 *
 * What counts:
 *   - bytes of reads and writes
 *   - one operation for each sync and each call that looks at names or changes
 *     them (opening, making, renaming, removing, listing, truncating)
 *   - one operation for a read or write that does not begin where the last one
 *     of that open file ended; and one for each further MiB from there on: what
 *     goes on in one piece is read ahead and written behind in such pieces
 *     even if others come in between
 *
 * Sizes, locks, free space and closing are free. Nothing is cached: what the
 * kernel would answer from memory costs as much as any other read. Calls from
 * many threads queue up, as they do before one disk; the time they wait is in
 * the counters' latencies.
 *
 * Thread safety: as any disk.
 */
#ifndef OS_DISK_THROTTLE_H
#define OS_DISK_THROTTLE_H

#include "os/disk.h"
#include "os/throttle.h"

/* What it knows of time; for tests. */
struct throttle_clock {
	u64 (*now_ns)(void *ctx);
	/* Return at @ns or later. From any thread. */
	void (*sleep_until)(void *ctx, u64 ns);
	void *ctx;
};

/* Takes @below, also on failure. @clock is borrowed for the disk's life; NULL:
 * the machine's. */
int disk_throttle_new(struct disk *below, const struct throttle_limits *limits,
		      const struct throttle_clock *clock, struct disk **out,
		      struct akin_diag *diag) __must_check;

#endif
