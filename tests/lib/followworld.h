/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of versions for tests of following: each backup in a session and in a
 * process of its own, with as much of the index as it is given.
 *
 * Not thread safe; whatever fails, fails the test.
 */
#ifndef FOLLOWWORLD_H
#define FOLLOWWORLD_H

#include "follow/follow.h"
#include "ingest/stream.h"
#include "simpool.h"

#define FW_OBJECTS 16

struct object {
	struct content ct;
	struct hint hint;
};

/* A pool, opened anew by every backup so that nothing is in memory. */
struct followworld {
	struct simpool sp;
	struct object objects[FW_OBJECTS];
	u32 nr;
	/* Of the last backup. */
	struct ingest_counts counts;
	struct follow_stats stats;
	/* While a pool is open. */
	struct akin_pool *p;
	struct index *index;	/* in place of the pool's */
	struct session *s;
};

/* How much of the index a backup may use: one entry in so many of data, all of
 * metadata; 0: nothing. */
#define WHOLE 1
#define NOTHING 0

void fw_init(struct followworld *w);
void fw_release(struct followworld *w);
void fw_open(struct followworld *w, u32 every);
void fw_close(struct followworld *w);
/* Returns owned; NULL for NULL. */
struct predecessor *fw_known(const struct object *o);
/* A stream in a session of its own, in a pool opened for it. */
struct ingest_stream *fw_open_stream(struct followworld *w, u32 every);
void fw_close_stream(struct followworld *w, struct ingest_stream *st);
/* One object so stored, after @after (or NULL). Borrowed from @w. */
struct object *fw_put(struct followworld *w, u32 every, const u8 *data,
		      size_t n, const struct object *after);

/* A version in the making; @b is the caller's to free(). */
struct bytes {
	u8 *b;
	size_t n;
};

struct bytes bytes_random(u64 seed, size_t n);
struct bytes bytes_copy(const struct bytes *from);
/* Replace @cut bytes at @at by @n of seed @seed. */
void bytes_splice(struct bytes *v, size_t at, size_t cut, size_t n, u64 seed);

#endif
