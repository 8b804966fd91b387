/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a disk that can do so much a second would have taken.
 *
 * Two token buckets, of operations and of bytes; what is taken must be there in
 * both. Kept as the moment at which each would be full of debt no more (Turner's
 * virtual scheduling), so there is nothing to refill and no rounding that adds
 * up: over any time the rates are exact.
 *
 * Works on moments that the caller names; it knows no clock and never sleeps.
 *
 * Thread safety: one caller at a time.
 */
#ifndef OS_THROTTLE_H
#define OS_THROTTLE_H

#include "base/types.h"

struct throttle_limits {
	u64 ops_s, bytes_s;	/* 0: no limit */
};

struct throttle_bucket {
	u64 rate;		/* a second; 0: no limit */
	u64 due_ns;		/* what was taken so far is earned by then */
	u64 rest;		/* of a nanosecond, in 1/rate */
};

struct throttle {
	struct throttle_bucket ops, bytes;
};

/*
 * What may be saved up while nothing is asked for. Sleeping ends late by up to
 * a few milliseconds on a loaded machine; without a reserve each of these
 * would be lost, and the disk be slower than was asked for. Much more, and a
 * disk that rests would begin with a burst that no disk has.
 */
#define THROTTLE_DEPTH_NS (20 * 1000 * 1000ull)

void throttle_init(struct throttle *t, const struct throttle_limits *limits);
/* Takes at @now_ns; the moment from which on it is paid for, which may have
 * passed. */
u64 throttle_take(struct throttle *t, u64 now_ns, u64 ops, u64 bytes);

#endif
