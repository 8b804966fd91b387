/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream of objects into the pool: cut, fingerprint, look up, store what
 * is new, build recipes.
 *
 * Bytes gather in a batch across objects, because fingerprints and lookups are
 * fastest many at a time; so an object's content is known only when its batch
 * has been processed. Results and marks come back through callbacks, in the
 * order in which the stream was fed.
 *
 * Feeding and processing may be two threads (@threaded): then the callbacks
 * run on the stream's own thread, and the feeder waits when two batches are
 * ahead. Otherwise everything runs in the feeder.
 *
 * Memory is the session's (session_options.memory_bytes): the more streams are
 * open, the smaller their batches; what is large they share (lane.h). Opening
 * one more than fit waits until another one is closed, so who opens many does
 * it from the threads that feed them.
 */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include "follow/follow.h"
#include "ingest/session.h"
#include "recipe/recipe_builder.h"

struct ingest_stream;

struct ingest_counts {
	u64 bytes;		/* logical, holes included */
	u64 bytes_data;		/* fed as data */
	u64 bytes_new;		/* raw bytes of chunks stored */
	u64 chunks, chunks_new;
	u64 chunks_resembling;	/* see stream_resemble.c */
};

struct ingest_options {
	size_t batch_bytes;	/* at most; 0: as memory allows */
	bool threaded;
	bool dry_run;		/* count what would be new; store nothing */
	/* Among the streams that others can see (base/counters.h); borrowed
	 * during the opening. NULL: it is none of them. */
	const char *name;
	/* An object has ended. @ct and @hint are borrowed during the call. */
	int (*object_done)(void *ctx, void *token, const struct content *ct,
			   const struct hint *hint, struct akin_diag *diag);
	/* A mark fed by ingest_mark has been reached. */
	int (*mark)(void *ctx, int what, void *token, struct akin_diag *diag);
	/* A token that will not be delivered because the stream failed. */
	void (*drop)(void *ctx, int what, void *token);
	void *ctx;
};

int ingest_stream_open(struct session *s, const struct ingest_options *opt,
		       struct ingest_stream **out, struct akin_diag *diag)
	__must_check;

/* What it is called from now on; for the feeder. */
void ingest_rename(struct ingest_stream *st, const char *name);

/* Objects follow each other; data and holes belong to the open one. */
int ingest_object_begin(struct ingest_stream *st, struct akin_diag *diag)
	__must_check;
/* The same; it most likely resembles @p (taken; NULL if nothing is known). */
int ingest_object_begin_after(struct ingest_stream *st, struct predecessor *p,
			      struct akin_diag *diag) __must_check;
/*
 * Room for data of the open object: at least one byte, borrowed until
 * ingest_filled, which says how much of it was used (0 is fine).
 */
int ingest_room(struct ingest_stream *st, u8 **ptr_ret, size_t *n_ret,
		struct akin_diag *diag) __must_check;
void ingest_filled(struct ingest_stream *st, size_t n);
int ingest_write(struct ingest_stream *st, const void *data, size_t n,
		 struct akin_diag *diag) __must_check;
int ingest_hole(struct ingest_stream *st, u64 len, struct akin_diag *diag)
	__must_check;
int ingest_object_end(struct ingest_stream *st, void *token,
		      struct akin_diag *diag) __must_check;
int ingest_mark(struct ingest_stream *st, int what, void *token,
		struct akin_diag *diag) __must_check;

/* Everything fed so far has been processed and its callbacks have run. */
int ingest_drain(struct ingest_stream *st, struct akin_diag *diag)
	__must_check;
/* Metadata pieces of the caller's own (a piece_store_fn): only from callbacks
 * or after ingest_drain. @ctx is the stream. */
int ingest_store_piece(void *st, const struct buf *bytes,
		       const struct hint *hint, struct fp *fp_ret,
		       u64 *container_ret, struct akin_diag *diag);
void ingest_get_counts(struct ingest_stream *st, struct ingest_counts *out);
/* For object_done: what was new in the object that has ended. Bytes are the
 * content's; bytes_data is not known. */
void ingest_get_object_counts(struct ingest_stream *st,
			      struct ingest_counts *out);
/* What compression has made of the data of the stream's lane, so far. */
void ingest_get_tally(struct ingest_stream *st, struct refgate_tally *out);
/* Of a stream that is drained. */
void ingest_get_follow_stats(struct ingest_stream *st,
			     struct follow_stats *out);
/* Closes what is open in the session. In any case frees. */
int ingest_stream_close(struct ingest_stream *st, struct akin_diag *diag);

#endif
