/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pieces of metadata were found whole, with everything below them: one
 * bit each, by place. When the budget is used up the oldest containers' bits
 * are dropped; then pieces are walked again, which is only slower.
 *
 * Thread safety: one caller at a time.
 */
#ifndef VERIFY_SEEN_H
#define VERIFY_SEEN_H

#include "base/types.h"

struct verify_seen;

/* NULL if out of memory. */
struct verify_seen *verify_seen_new(size_t budget_bytes);
/* NULL is fine. */
void verify_seen_free(struct verify_seen *s);
bool verify_seen_has(const struct verify_seen *s, u64 container, u32 entry);
/* Best effort: forgotten when there is no memory. */
void verify_seen_add(struct verify_seen *s, u64 container, u32 entry);

#endif
