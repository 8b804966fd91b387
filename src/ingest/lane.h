/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: what a stream needs besides its own bytes. Room to cut, fingerprint
 * and look up one batch, and an open group and container of each kind.
 *
 * A lane is large and busy only while a batch is processed, so the streams of
 * a session share as many lanes as fit into half of the memory the session was
 * given; the other half is for what streams hold while they wait for bytes. A
 * stream stays in its lane, so that its chunks follow each other, mixed at most
 * with those of its neighbours, batch by batch.
 *
 * Memory: lanes and streams together stay within session_options.memory_bytes
 * for as long as there is room for one lane and one stream. More streams than
 * that wait.
 *
 * Thread safety: lane_join, lane_leave and lane_batch_bytes from any thread;
 * all else by who holds the lane's lock.
 */
#ifndef INGEST_LANE_H
#define INGEST_LANE_H

#include <pthread.h>

#include "ingest/packer.h"

/* Fills the vector lanes and stays in a second-level cache with its chunks. */
#define BATCH_BYTES (512 * KiB)
#define BATCH_BYTES_MIN (64 * KiB)
/* One part in so many of it for its samples, if sketches are made. */
#define BATCH_SAMPLES_PART 16

/* A stream with a thread of its own: one being filled, one waiting, one being
 * processed. */
#define STREAM_BATCHES_THREADED 3

struct matcher;

struct lane {
	struct session *session;
	pthread_mutex_t lock;	/* held while a batch is processed */
	u32 nr_streams;		/* guarded by the session's */
	struct packer data_packer, meta_packer;
	u64 led;		/* container of data that has its first leaf */

	struct chunk_scratch *cut_scratch;
	struct hash_scratch *hash_scratch;
	struct matcher *matcher;	/* NULL: nothing is compared */
	/* Of one batch. */
	struct hash_item *items;
	const struct chunk_samples *samples;	/* borrowed; NULL: none */
	struct fp *fps;
	struct dir_hit *hits;
	u32 nr_chunks, cap_chunks;
};

/* What a session's streams and lanes have agreed on. */
struct lane_set {
	pthread_mutex_t lock;	/* guards all; taken before no other */
	pthread_cond_t left;
	size_t memory;
	struct lane **lanes;
	u32 nr_lanes, max_lanes;
	u32 nr_streams, nr_batches;
};

int lane_set_init(struct session *s, size_t memory, struct akin_diag *diag)
	__must_check;
void lane_set_release(struct session *s);

/*
 * A lane for a stream that holds @nr_batches batches at a time. Waits until
 * there is room; the first one never waits.
 */
int lane_join(struct session *s, u32 nr_batches, struct lane **out,
	      struct akin_diag *diag) __must_check;
/* Closes the open group and containers if this was the lane's last stream. */
int lane_leave(struct lane *l, u32 nr_batches, struct akin_diag *diag);
/* How large a batch may be now, without its headroom. */
u32 lane_batch_bytes(struct lane *l);
/* Room for @more chunks behind the first nr_chunks. */
int lane_need_chunks(struct lane *l, u32 more, struct akin_diag *diag)
	__must_check;

/*
 * The largest batch, without its headroom: BATCH_BYTES; or, where what is there
 * is found by similarity alone, a segment, so that all of it is known before any
 * of it is looked for.
 */
u32 lane_batch_max(const struct session *s);

/* In front of a batch: what the cutter left of the one before. */
u32 lane_headroom(const struct session *s);

#endif
