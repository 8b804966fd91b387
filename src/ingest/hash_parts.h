/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fingerprints of one batch, by several threads where some are idle.
 *
 * A stream cuts, fingerprints and looks up in one thread. While little is new,
 * the workers have nothing to compress, so each is offered a part of the batch;
 * parts that none has begun when the stream is through with its own, the stream
 * takes back. Nothing ever waits for a busy worker.
 */
#ifndef INGEST_HASH_PARTS_H
#define INGEST_HASH_PARTS_H

#include "base/workers.h"
#include "hash/hash.h"

/*
 * As hasher_batch(), with @s for the calling thread's part. The contexts of
 * @ws are struct decoder.
 */
int hash_parts(struct workers *ws, const struct hasher *h,
	       struct hash_scratch *s, const struct hash_item *items, u32 n,
	       struct fp *out) __must_check;

#endif
