/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of chunks that counts the distinct ones within bounded memory.
 *
 * Exact until its table is full. From then on it keeps the chunks whose
 * fingerprint ends in @level zero bits, one more each time it is full, and
 * forgets the others: a sample of the distinct chunks, in which every one is
 * with probability 2^-level, however often it comes ("distinct sampling",
 * Gibbons, 2001). Sums over the sample times 2^level estimate sums over all.
 *
 * Fingerprints are 64 bits and uniformly distributed. Not thread safe.
 */
#ifndef ESTIMATE_SET_H
#define ESTIMATE_SET_H

#include "base/types.h"

struct estimate_entry {
	u64 fp;			/* 0: free */
	u32 len;
	u32 unused;
};

struct estimate_set {
	struct estimate_entry *v;
	u64 cap, nr;
	unsigned level;
	u64 sum;		/* of len; and of its squares: */
	double squares;
};

/* A sum over all distinct chunks. */
struct estimate_sum {
	u64 value;
	u64 error;		/* 99 % interval: value - error .. + error */
};

/* Not less than ESTIMATE_SET_MIN bytes; -AKIN_E_nomem. */
#define ESTIMATE_SET_MIN 1024
int estimate_set_init(struct estimate_set *s, u64 bytes) __must_check;
void estimate_set_release(struct estimate_set *s);
/* True if the chunk is in the sample and new there. */
bool estimate_set_add(struct estimate_set *s, u64 fp, u32 len);
struct estimate_sum estimate_set_count(const struct estimate_set *s);
struct estimate_sum estimate_set_bytes(const struct estimate_set *s);

/* A sum of sample members, and of their squares, as one over all. */
struct estimate_sum estimate_scale(u64 sum, double squares, unsigned level);

#endif
