/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One writer's life: container numbers, compression, sealing, checkpoints and
 * the commit. Many streams write through one session.
 *
 *    begin --> (streams write) --> checkpoint* --> commit
 *                     '---------------------------> end (no snapshot)
 *
 * Compression runs on the depot's workers, sealing and syncing on a thread of
 * the session, so that disks and compressors work while streams go on. An
 * error anywhere is kept, and every later call returns it.
 *
 * Durable order (the catalog is the commit point): containers and their names,
 * then the index run, then the snapshot's record, then the catalog.
 *
 * Thread safety: the calls marked (streams) from any thread.
 */
#ifndef INGEST_SESSION_H
#define INGEST_SESSION_H

#include "catalog/catalog.h"
#include "depot/depot.h"
#include "format/format_recipe.h"
#include "ingest/nearset.h"
#include "ingest/refgate.h"

struct session;

/* Longer chains of references gain little and slow restores down. */
#define SESSION_DELTA_DEPTH_MAX 8
static_assert(SESSION_DELTA_DEPTH_MAX <= GROUP_MAX_DEPTH,
	      "readers must go as deep as writers");

struct session_options {
	struct catalog_session info;	/* host, user, command, paths_key */
	/* The kernel lock that says the session lives; see catalog. */
	int (*lock)(void *ctx, u64 number, u64 txn, struct akin_diag *diag);
	void *lock_ctx;
	const struct codec_choice *codec;	/* NULL: the pool's */
	u8 verify;		/* enum super_verify: how sure to be */
	/*
	 * Worth knowing, though nothing is lost: a bounded number of times,
	 * from any thread. May be NULL.
	 */
	void (*notice)(void *ctx, const char *text);
	void *notice_ctx;
	/* For all streams together: batches, open groups and containers.
	 * 0: no bound. */
	size_t memory_bytes;
	/* Longest chain of references in data, at most SESSION_DELTA_DEPTH_MAX
	 * (metadata has its own); 0: groups are compressed without. */
	u8 delta_depth;
	/* Reading references may take its time: nobody waits for it. */
	bool patient;
	bool vary_depth;	/* less in some sessions, so that others find
				 * near bases; that is what one wants */
	/* What was condemned up to this transaction cannot be matched; what is
	 * condemned later and was is revived. 0: nobody reclaims. */
	u64 view;
};

int session_begin(struct depot *d, struct catalog *c,
		  const struct session_options *opt, struct session **out,
		  struct akin_diag *diag) __must_check;
u64 session_number(const struct session *s);
u64 session_snapshot_number(const struct session *s);
struct depot *session_depot(struct session *s);
/* Does it compare chunks before it shares them? */
bool session_compares(const struct session *s);

/* An open container, owned by one packer. */
struct session_container {
	struct session *session;
	struct container_writer *writer;
	u64 number;
	u32 slot;		/* in the directory cache */
};

/* (streams) A new container of @kind. */
int session_open_container(struct session *s, u8 kind,
			   struct session_container **out,
			   struct akin_diag *diag) __must_check;
/* (streams) No more groups: it is sealed when its last group is in. Takes
 * @sc. */
void session_finish_container(struct session_container *sc);
/*
 * (streams) A closed group on its way to a compressor, and what it may be
 * compressed against (session_refs.h). Takes @raw (a buffer of
 * session_get_buffer), @g and @near in any case; @gate, its stream's, is shared
 * until the group is done. Waits while too many groups are on the way.
 */
int session_compress(struct session_container *sc, struct group_header *g,
		     u8 *raw, struct nearset *near, struct refgate *gate,
		     struct akin_diag *diag) __must_check;
/* 0: neighbours are of no use, whoever finds them. */
u8 session_delta_depth(const struct session *s);
/* (streams) Something in @container, which is not one of its own, was matched
 * or referred to. */
void session_touch(struct session *s, u64 container);
void session_touch_refs(struct session *s, const struct group_header *g);
/* (streams) Buffers for one group; reused, freed with the session. */
u8 *session_get_buffer(struct session *s) __must_check;
void session_put_buffer(struct session *s, u8 *raw);
/* Raw bytes of the largest group: what a buffer has room for. */
u32 session_max_group(const struct session *s);

/*
 * How many streams can be open at once in a session of @memory bytes that
 * compares as @verify says and finds as @engine does, if the first one is
 * threaded and the others are not: ingest_stream_open would wait with one more.
 * At least 1.
 */
u32 session_max_streams(const struct depot *d, size_t memory, u8 verify,
			u8 engine);

/* (streams) For a dry run: would this chunk be new? Asked once, it would not
 * the next time (see dryset.h). */
int session_pretend(struct session *s, const struct fp *fp, bool *new_ret,
		    struct akin_diag *diag) __must_check;

/* Of data and of metadata, from the next group on; every stream and packer is
 * closed, and the session has settled. */
void session_set_delta_depth(struct session *s, u8 depth);
/* Every container that was finished is sealed. No stream may write meanwhile. */
int session_settle(struct session *s, struct akin_diag *diag) __must_check;

/* Is a checkpoint due (containers sealed since the last one, time)? */
bool session_checkpoint_due(struct session *s);
/* Have one made if it is due, by the thread that seals, while the streams go on;
 * should it fail, the session has failed. */
void session_checkpoint_later(struct session *s);
/* What is sealed so far becomes a root in the catalog. */
int session_checkpoint(struct session *s, struct akin_diag *diag)
	__must_check;

/*
 * All streams have been closed: wait for every container, write the record,
 * commit. Fills number, session, pool, containers and the stored byte counts
 * of @snap.
 */
int session_commit(struct session *s, struct snapshot *snap,
		   struct akin_diag *diag) __must_check;
/* After the commit: merge index runs whose tiers are full. Run numbers are now
 * reserved for nobody, as the session is not LIVING. Its failure costs lookups,
 * nothing else. */
int session_merge_runs(struct session *s, struct akin_diag *diag)
	__must_check;
/*
 * A checkpoint after which @snapshot, unless it has been forgotten (*done_ret),
 * is found where @hint says: see catalog_rehint(). The session has settled.
 */
int session_rehint(struct session *s, u64 snapshot, const struct hint *hint,
		   bool *done_ret, struct akin_diag *diag) __must_check;
/* The end of a session that has moved snapshots and made none. What was not
 * published is dropped. */
int session_complete(struct session *s, struct akin_diag *diag) __must_check;
/* Without a snapshot; @keep: checkpoint what is sealed for the next run. */
int session_end(struct session *s, bool keep, struct akin_diag *diag);
/* After commit, end or an error; NULL is fine. */
void session_free(struct session *s);

struct session_stats {
	u64 nr_containers, stored_data, stored_meta;	/* files, bytes */
	u64 stored_parity;	/* besides */
	/* Of groups stored against references: how many, their raw bytes, and
	 * what they would take more without, as far as that is known. */
	u64 ref_groups, ref_raw_bytes, ref_saved_bytes;
	u64 chunks_compared;	/* with their stored copies */
	u64 chunks_collided;	/* have another chunk's fingerprint */
	u64 chunks_unreadable;	/* stored copies that could not be read */
};
void session_get_stats(struct session *s, struct session_stats *out);

#endif
