/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load into a pool, through the sessions that any program uses: a transaction
 * for each generation, a thread for each stream that is sent at a time.
 *
 * Object n of stream m is /loadgen/sM/oN.
 */
#ifndef LOADGEN_FEED_H
#define LOADGEN_FEED_H

#include "akin/session.h"
#include "loadgen.h"

#define LOADGEN_SPACE "loadgen"

/* What came of one generation. */
struct loadgen_fed {
	uint32_t generation;
	uint64_t bytes, objects;
	struct akin_txn_result result;
	uint64_t send_ns;	/* from the first byte to the last */
	uint64_t verify_ns;	/* reading it back; 0: not done */
};

struct loadgen_feed_options {
	uint32_t first, nr;	/* generations */
	uint32_t max_threads;	/* 0: as many as the session can */
	/* Of all streams together; 0: as fast as it goes. Who falls behind may
	 * catch up. */
	uint64_t bytes_per_second;
	bool verify;		/* read all of it back and compare */
	const struct akin_txn_options *txn;	/* may be NULL */
	/* After each generation; non-zero ends it and is returned. */
	int (*done)(void *ctx, const struct loadgen_fed *fed);
	void *ctx;
};

int loadgen_feed(const struct loadgen *l, struct akin_session *s,
		 const struct loadgen_feed_options *opt,
		 struct akin_diag *diag);

struct loadgen_back {
	uint64_t bytes, objects, ns;
};

/* Read all objects of a transaction that has fed @generation, streams at once;
 * with @compare each must be what was sent. */
int loadgen_read_back(const struct loadgen *l, struct akin_session *s,
		      uint32_t generation, uint64_t transaction,
		      uint32_t max_threads, bool compare,
		      struct loadgen_back *out, struct akin_diag *diag);

#endif
