/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many streams at once into one session of a pool, and back out of it.
 *
 * Every byte is a function of seed, stream and offset, so nothing is kept to
 * compare with. Every other MiB of a stream is the same in all of them; the
 * bytes compress about 2:1 and hold no repetition besides.
 */
#ifndef STREAMLOAD_H
#define STREAMLOAD_H

#include "akin/akin.h"
#include "base/types.h"

struct streamload {
	u64 seed;
	u32 nr_streams;
	u64 bytes;		/* of each stream */
	bool zeros;		/* nothing but zeros: the longest chunks */
	bool threaded;		/* a thread more for each stream */
	u32 version;		/* of each stream: 1 in 4 chunks is another */
	u8 delta_depth;		/* 0: no references */
};

struct streamload_stats {
	u64 store_ns;		/* first byte in to last container sealed */
	u64 bytes, bytes_new, chunks, chunks_new;
	u64 stored;		/* bytes of containers */
	u64 nr_containers;
	u64 ref_groups;		/* stored against references */
};

/* Bytes [off, off + n) of @stream. */
void streamload_fill(const struct streamload *l, u32 stream, u64 off, u8 *to,
		     size_t n);
/*
 * Store all streams, each fed by a thread of its own, in a session that ends
 * without a snapshot but keeps its data; then, with @verify, read them back
 * and compare. -AKIN_E_bad_fp: something came back different.
 */
int streamload_run(const struct streamload *l, struct akin_pool *p,
		   bool verify, struct streamload_stats *out,
		   struct akin_diag *diag) __must_check;

#endif
