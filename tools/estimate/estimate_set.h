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
 * How often each came is counted along: exactly for all that are in the sample,
 * because nothing that is left out comes back.
 *
 * Where only a sample of the data is read (clusters, each with a number), it is
 * counted in how many of them a chunk was seen instead.
 *
 * Fingerprints are 64 bits and uniformly distributed. Not thread safe.
 */
#ifndef ESTIMATE_SET_H
#define ESTIMATE_SET_H

#include "base/types.h"

struct estimate_entry {
	u64 fp;			/* 0: free */
	u32 len;
	/* How often it came, UINT32_MAX at most; with clusters: in how many,
	 * 255 at most, in the upper 8 bits, and which was the last. */
	u32 seen;
};

#define ESTIMATE_CLUSTER_MAX 0xffffff

struct estimate_set {
	struct estimate_entry *v;
	u64 cap, nr;
	unsigned level;
	u32 cluster;		/* 0: all of the data is read */
	u64 sum;		/* of len; and of its squares: */
	double squares;
};

/*
 * Of a normal distribution 95 in 100 lie within 1.96 deviations. The deviation
 * is itself taken from the sample, and what chunks have in common makes it
 * larger than it looks: drawn for 99 in 100, intervals hold in 95 for sure.
 */
#define ESTIMATE_DEVIATIONS 2.576
/* Rounded up; what is negative, infinite or no number ends at the ends. */
u64 estimate_u64(double v);

/* Something counted or guessed: 95 % interval; exact if all are the same. */
struct estimate_sum {
	u64 value, low, high;
};
/* @value with an interval of that many bytes on either side. */
struct estimate_sum estimate_within(u64 value, double error);

/* Not less than ESTIMATE_SET_MIN bytes; -AKIN_E_nomem. */
#define ESTIMATE_SET_MIN 1024
int estimate_set_init(struct estimate_set *s, u64 bytes) __must_check;
void estimate_set_release(struct estimate_set *s);
enum estimate_seen {
	ESTIMATE_KNOWN, ESTIMATE_NEW,
	ESTIMATE_LEFT_OUT,	/* not in the sample: nobody knows */
};
enum estimate_seen estimate_set_add(struct estimate_set *s, u64 fp, u32 len);
struct estimate_sum estimate_set_count(const struct estimate_set *s);
struct estimate_sum estimate_set_bytes(const struct estimate_set *s);

/* How often chunks come: a row for each power of two. */
#define ESTIMATE_BUCKETS 32
struct estimate_bucket {
	u64 blocks, bytes;	/* distinct ones */
	u64 refs, ref_bytes;	/* times they come */
};
void estimate_set_histogram(const struct estimate_set *s,
			    struct estimate_bucket out[ESTIMATE_BUCKETS]);

/* A sum of sample members, and of their squares, as one over all. */
struct estimate_sum estimate_scale(u64 sum, double squares, unsigned level);

#endif
