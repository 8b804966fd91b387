/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a dry run would have stored: a set of fingerprints in fixed memory.
 *
 * Not the index, which others ask for places, and which outlives the run. It
 * holds half a million of them, four gigabytes of new data in average chunks;
 * beyond that it forgets some, and what repeats is counted as new again.
 *
 * Not thread safe.
 */
#ifndef INGEST_DRYSET_H
#define INGEST_DRYSET_H

#include "base/types.h"

struct dryset;

/* NULL if there is no memory. */
struct dryset *dryset_new(void) __must_check;
/* NULL is fine. */
void dryset_free(struct dryset *ds);
/* True if it was not there. */
bool dryset_add(struct dryset *ds, const struct fp *fp);

#endif
