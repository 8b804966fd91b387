/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests share: seeded random bytes and the cmocka headers.
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/types.h"

/* Deterministic generator; equal seeds give equal sequences everywhere. */
struct rng {
	u64 s;
};
u64 rng_next(struct rng *r);
/* Uniform enough in [0, n). */
u64 rng_below(struct rng *r, u64 n);
void rng_fill(struct rng *r, void *data, size_t n);

/* A line that the log of the test shows, whether it passes or not. */
void test_note(const char *fmt, ...) __printf(1, 2);

#endif
