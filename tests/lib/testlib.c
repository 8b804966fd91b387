/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "testlib.h"

u64 rng_next(struct rng *r)
{
	u64 z = (r->s += 0x9e3779b97f4a7c15ull);

	/* splitmix64, Steele, Lea and Flood 2014 */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

u64 rng_below(struct rng *r, u64 n)
{
	return n ? rng_next(r) % n : 0;
}

void rng_fill(struct rng *r, void *data, size_t n)
{
	u8 *p = data;
	u64 v;
	size_t take;

	while (n) {
		v = rng_next(r);
		take = n < 8 ? n : 8;
		memcpy(p, &v, take);
		p += take;
		n -= take;
	}
}

void test_note(const char *fmt, ...)
{
	va_list ap;

	/* TAP takes it for a comment. */
	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}
