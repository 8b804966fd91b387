/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by session.c (containers) and session_commit.c (the catalog side).
 */
#ifndef INGEST_SESSION_INTERNAL_H
#define INGEST_SESSION_INTERNAL_H

#include <pthread.h>

#include "base/numset.h"
#include "catalog/catalog_gc.h"
#include "ingest/dryset.h"
#include "ingest/lane.h"
#include "ingest/match_log.h"
#include "ingest/session.h"
#include "ingest/session_refs.h"

struct open_container {
	struct session_container pub;
	struct work seal_work;
	u64 ref_saved_bytes;	/* guarded by the session's lock */
};

/* A group between its stream and its container. */
struct job {
	struct work work;
	struct session_container *sc;
	struct group_header g;
	u8 *raw;
	struct nearset near;
	struct refgate *gate;	/* shared */
};

/* A free buffer is its own list entry. */
struct spare {
	struct spare *next;
};

enum checkpoint_cause { CHECKPOINT_OTHER, CHECKPOINT_TIMED, CHECKPOINT_FULL };

struct session {
	struct depot *depot;
	struct catalog *catalog;
	struct catalog_session info;
	struct workers *sealer;		/* one thread */
	struct codec_choice codec;
	size_t buffer_bytes;
	u8 delta_depth, meta_depth;	/* of data, of metadata */
	bool patient;
	struct ref_memory *refs;
	u8 verify;			/* enum super_verify */
	void (*notice)(void *ctx, const char *text);
	void *notice_ctx;
	struct match_log compared;
	struct lane_set lanes;

	/* Held while something is published, its I/O included: what is sealed
	 * later may refer to it and must not be named earlier. Taken first. */
	pthread_mutex_t publish_lock;
	pthread_mutex_t number_lock;	/* taken before @lock, if both */
	u64 next_number;
	u64 first_number;	/* ever reserved; set before any is used */
	u32 nr_numbers;

	pthread_mutex_t lock;		/* guards all below */
	pthread_cond_t changed;		/* nr_*, checkpoint_queued, err */
	u32 nr_jobs, max_jobs;
	u32 nr_open;			/* containers not yet sealed */
	u32 nr_finished;		/* of these, closed by their streams */
	struct spare *spare;
	struct dryset *dry;		/* made when it is needed */

	/* Sealed and not yet told to the catalog. */
	struct catalog_container *sealed;
	u32 nr_sealed, cap_sealed;
	/* All of the session's containers, for the snapshot's record. */
	struct number_range *ranges;
	u32 nr_ranges, cap_ranges;
	struct session_stats stats;
	u64 checkpoint_ns;		/* when the last one was */
	u32 nr_checkpoints;
	struct work checkpoint_work;	/* of the sealer */
	bool checkpoint_queued;		/* or running there */
	enum checkpoint_cause checkpoint_cause;	/* why one is due */

	int err;
	struct akin_diag diag;
	bool begun, ended;

	/* session_touch.c */
	pthread_mutex_t touch_lock;	/* the innermost */
	struct numset touched;		/* containers of others */
	bool touch_failed;		/* there may be more */
	u64 view;
};

/* For the catalog's checkpoint and commit; @s is borrowed. */
struct catalog_reviver session_reviver(struct session *s);


void session_fail_locked(struct session *s, int err,
			 const struct akin_diag *diag);
int session_error_locked(struct session *s, struct akin_diag *diag);
/* Remove a container's file that the catalog does not name: best effort. */
void session_drop_file(struct session *s, u64 number);
/* File a sealed container; 0 or nomem. */
int session_add_sealed_locked(struct session *s,
			      const struct container_sealed *sealed,
			      u64 ref_saved_bytes);
/* A group of @sc was stored against references. */
void session_count_refs(struct session_container *sc, u32 raw_len,
			u64 saved_bytes);

#endif
