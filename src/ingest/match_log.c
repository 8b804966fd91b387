/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/mem.h"
#include "ingest/match_log.h"
#include "ingest/session_internal.h"
#include "os/clock.h"

/* Every one is counted; more of them say nothing new. */
#define MAX_NOTICES 20
/* Marks kept in mind; a disk that has more is dying. */
#define MAX_ROWS 4096

void match_log_init(struct match_log *log)
{
	memset(log, 0, sizeof(*log));
	pthread_mutex_init(&log->lock, NULL);
}

void match_log_release(struct match_log *log)
{
	mem_free(log->rows);
	pthread_mutex_destroy(&log->lock);
}

void match_log_stats(struct match_log *log, struct session_stats *out)
{
	pthread_mutex_lock(&log->lock);
	out->chunks_compared = log->nr_compared;
	out->chunks_collided = log->nr_collided;
	out->chunks_unreadable = log->nr_unreadable;
	pthread_mutex_unlock(&log->lock);
}

void match_log_compared(struct session *s, u32 nr)
{
	if (!nr)
		return;
	counters_add(s->depot->counters, chunks_compared, nr);
	pthread_mutex_lock(&s->compared.lock);
	s->compared.nr_compared += nr;
	pthread_mutex_unlock(&s->compared.lock);
}

static bool may_speak(struct session *s)
{
	bool may;

	pthread_mutex_lock(&s->compared.lock);
	may = s->notice && s->compared.nr_notices++ < MAX_NOTICES;
	pthread_mutex_unlock(&s->compared.lock);
	return may;
}

void match_log_collided(struct session *s)
{
	counters_add(s->depot->counters, chunks_collided, 1);
	pthread_mutex_lock(&s->compared.lock);
	s->compared.nr_collided++;
	pthread_mutex_unlock(&s->compared.lock);
}

void match_log_apart(struct session *s, const struct place *other, u32 len,
		     u8 salt)
{
	char text[200];

	if (!may_speak(s))
		return;
	snprintf(text, sizeof(text), "a chunk of %u bytes has the fingerprint "
		 "of other bytes (container %llu, entry %u); it is stored "
		 "apart, with salt %u", len,
		 (unsigned long long)other->container, other->entry, salt);
	s->notice(s->notice_ctx, text);
}

static bool known_locked(const struct match_log *log, const struct dir_hit *at)
{
	u32 i;

	for (i = 0; i < log->nr_rows; i++) {
		if (log->rows[i].place.container == at->container &&
		    log->rows[i].place.entry == at->entry)
			return true;
	}
	return false;
}

/* False: it was known, or is one too many. */
static bool add_row_locked(struct match_log *log, const struct dir_hit *at,
			   const struct fp *fp, int code)
{
	struct catalog_damage *row;
	u32 nsec;

	if (log->nr_rows == MAX_ROWS || known_locked(log, at))
		return false;
	if (!log->rows)
		log->rows = mem_calloc(MAX_ROWS, sizeof(*log->rows));
	if (!log->rows)
		return true;
	row = &log->rows[log->nr_rows++];
	row->place.container = at->container;
	row->place.entry = at->entry;
	row->fp = *fp;
	row->code = code;
	clock_wall(&row->found_sec, &nsec);
	return true;
}

void match_log_unreadable(struct session *s, const struct dir_hit *at,
			  const struct fp *fp, int code)
{
	char text[200];
	bool is_new;

	counters_add(s->depot->counters, chunks_damaged, 1);
	pthread_mutex_lock(&s->compared.lock);
	s->compared.nr_unreadable++;
	is_new = add_row_locked(&s->compared, at, fp, code);
	pthread_mutex_unlock(&s->compared.lock);
	if (!is_new || !may_speak(s))
		return;
	snprintf(text, sizeof(text), "the stored copy of a chunk cannot be "
		 "had (container %llu, entry %u: %s); it is stored anew",
		 (unsigned long long)at->container, at->entry,
		 akin_strerror(code));
	s->notice(s->notice_ctx, text);
}

void match_log_settle(struct session *s)
{
	struct match_log *log = &s->compared;
	u32 i;

	if (!log->nr_rows)
		return;
	for (i = 0; i < log->nr_rows; i++)
		ignore_result(depot_damage_add(&s->depot->damage,
					       &log->rows[i].place, NULL));
	ignore_result(catalog_mark_damaged(s->catalog, log->rows, log->nr_rows,
					   NULL));
	log->nr_rows = 0;
}
