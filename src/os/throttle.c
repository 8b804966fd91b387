/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "os/throttle.h"

#define SECOND_NS 1000000000ull

__extension__ typedef unsigned __int128 wide;

void throttle_init(struct throttle *t, const struct throttle_limits *limits)
{
	memset(t, 0, sizeof(*t));
	t->ops.rate = limits->ops_s;
	t->bytes.rate = limits->bytes_s;
}

static u64 take(struct throttle_bucket *b, u64 now_ns, u64 n)
{
	wide cost, limit;

	if (!b->rate)
		return now_ns;
	if (now_ns > THROTTLE_DEPTH_NS &&
	    b->due_ns < now_ns - THROTTLE_DEPTH_NS) {
		b->due_ns = now_ns - THROTTLE_DEPTH_NS;
		b->rest = 0;
	}
	if (!n)
		return now_ns;
	cost = (wide)n * SECOND_NS + b->rest;
	b->rest = (u64)(cost % b->rate);
	cost /= b->rate;
	/* No sum is beyond time itself. */
	limit = UINT64_MAX - b->due_ns;
	b->due_ns += (u64)(cost < limit ? cost : limit);
	return b->due_ns;
}

u64 throttle_take(struct throttle *t, u64 now_ns, u64 ops, u64 bytes)
{
	u64 a = take(&t->ops, now_ns, ops);
	u64 b = take(&t->bytes, now_ns, bytes);

	return a > b ? a : b;
}
