/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session's comparisons have come to: counts, notices, and the places of
 * copies that could not be read.
 *
 * Thread safety: all functions from any thread, but init, release and settle.
 */
#ifndef INGEST_MATCH_LOG_H
#define INGEST_MATCH_LOG_H

#include <pthread.h>

#include "cache/dircache.h"
#include "catalog/catalog.h"

struct session;

/* Part of the session. */
struct match_log {
	pthread_mutex_t lock;	/* guards all below */
	u64 nr_compared, nr_collided, nr_unreadable;
	u32 nr_notices;
	struct catalog_damage *rows;
	u32 nr_rows;
};

void match_log_init(struct match_log *log);
void match_log_release(struct match_log *log);

struct session_stats;
/* Fills the chunks_* of *out. */
void match_log_stats(struct match_log *log, struct session_stats *out);
void match_log_compared(struct session *s, u32 nr);
/* A chunk has the fingerprint of others. */
void match_log_collided(struct session *s);
/* One of @len bytes is stored for the first time, under the fingerprint of
 * @salt, because its own belongs to the chunk at @other. */
void match_log_apart(struct session *s, const struct place *other, u32 len,
		     u8 salt);
void match_log_unreadable(struct session *s, const struct dir_hit *at,
			  const struct fp *fp, int code);
/*
 * Places become marks in the catalog and in the depot. No stream may be open.
 * Best effort: what fails is found again by the next backup.
 */
void match_log_settle(struct session *s);

#endif
