/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning and ending transactions.
 *
 * While one ends nobody is in a call on an object: state ENDING refuses new
 * ones, and those that run are waited for.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "os/clock.h"
#include "store/store_session.h"

/*
 * Begins a series of interrupted transactions: which spaces one will have is
 * not known when it begins, so what one has left behind serves all of the host
 * until the next one commits.
 */
#define KEY_PATH "akin:objects"

static int begin_backup(struct akin_session *s, struct txn *t,
			const struct akin_txn_options *opt,
			struct akin_diag *diag)
{
	const char *paths[1] = { KEY_PATH };
	struct akin_backup_result none;
	int err;

	t->opt.host = s->host;
	t->opt.command = s->program;
	t->opt.compression = s->compression;
	t->opt.delta_depth = s->delta_depth;
	t->opt.verify = s->verify;
	t->opt.engine = s->engine;
	if (opt) {
		t->opt.tags = opt->tags;
		t->opt.nr_tags = opt->nr_tags;
	}
	t->b.object_done = txn_object_done;
	t->b.set_aside = s->object_memory;
	err = backup_begin(&t->b, s->pool, &t->opt, paths, 1, diag);
	/* They were borrowed for the beginning. */
	t->opt.tags = NULL;
	t->opt.nr_tags = 0;
	if (err)
		return backup_finish(&t->b, err, &none, diag);
	t->b.snap.flags |= SNAPSHOT_OBJECTS;
	t->streams[0].stream = t->b.stream;
	t->streams[0].idle = true;
	t->nr_streams = 1;
	return 0;
}

int akin_txn_begin(struct akin_session *s, const struct akin_txn_options *opt,
		   struct akin_diag *diag)
{
	struct txn *t = NULL;
	int err;

	err = session_move(s, API_IDLE, API_BEGINNING, "begin", diag);
	if (err)
		return err;
	err = store_check_stop(s->pool, diag);
	if (!err)
		err = txn_new(s, &t, diag);
	pthread_rwlock_wrlock(&s->index_lock);
	pthread_mutex_lock(&s->lookup_lock);
	if (!err && s->nr_readers == 0 && s->pool->locks)
		err = store_lock_move(s->pool, diag);
	if (!err)
		err = begin_backup(s, t, opt, diag);
	pthread_mutex_unlock(&s->lookup_lock);
	pthread_rwlock_unlock(&s->index_lock);
	if (err) {
		txn_free(t);
		t = NULL;
	}
	pthread_mutex_lock(&s->lock);
	s->txn = t;
	s->err = 0;
	s->state = err ? API_IDLE : API_OPEN;
	pthread_mutex_unlock(&s->lock);
	return err ? diag_said(diag, err) : 0;
}

static int compare_names(const void *pa, const void *pb)
{
	const char *const *a = pa, *const *b = pb;

	return strcmp(*a, *b);
}

/* The snapshot's paths are the spaces there are objects of. */
static int set_paths(struct txn *t, struct akin_diag *diag)
{
	struct snapshot *snap = &t->b.snap;
	char **paths = mem_calloc(t->nr_spaces, sizeof(*paths));
	u32 i;

	if (!paths)
		return diag_set(diag, -AKIN_E_nomem, "paths");
	for (i = 0; i < snap->nr_paths; i++)
		mem_free(snap->paths[i]);
	mem_free(snap->paths);
	snap->paths = paths;
	snap->nr_paths = t->nr_spaces;
	for (i = 0; i < t->nr_spaces; i++) {
		paths[i] = t->spaces[i].name;
		t->spaces[i].name = NULL;
	}
	qsort(paths, t->nr_spaces, sizeof(*paths), compare_names);
	return 0;
}

static void add_counts(struct ingest_counts *to, struct ingest_stream *st)
{
	struct ingest_counts c;

	ingest_get_counts(st, &c);
	to->bytes += c.bytes;
	to->bytes_data += c.bytes_data;
	to->bytes_new += c.bytes_new;
	to->chunks += c.chunks;
	to->chunks_new += c.chunks_new;
}

/* All but the backup's own, which it closes itself. */
static int close_streams(struct txn *t, struct akin_diag *diag)
{
	int err = 0, err2;
	u32 i;

	for (i = 1; i < t->nr_streams; i++) {
		if (!t->streams[i].stream)
			continue;
		err2 = ingest_drain(t->streams[i].stream, diag);
		if (!err)
			err = err2;
		add_counts(&t->b.more, t->streams[i].stream);
		err2 = ingest_stream_close(t->streams[i].stream, diag);
		if (!err)
			err = err2;
	}
	t->nr_streams = 1;
	return err;
}

static enum akin_txn_reason reason_of(int err)
{
	switch (akin_error_class(err)) {
	case AKIN_CLASS_OK:
		return AKIN_TXN_COMMITTED;
	case AKIN_CLASS_NOSPACE:
		return AKIN_TXN_NO_SPACE;
	case AKIN_CLASS_NOMEM:
		return AKIN_TXN_NO_MEMORY;
	case AKIN_CLASS_CORRUPT:
		return AKIN_TXN_DAMAGE;
	case AKIN_CLASS_INTERRUPTED:
		return AKIN_TXN_STOPPED;
	default:
		return AKIN_TXN_FAILED;
	}
}

/* Everything but the commit itself; fills in the reason if that is known. */
static int complete(struct txn *t, struct akin_txn_result *out,
		    struct akin_diag *diag)
{
	int err;

	if (t->nr_objects == 0) {
		out->reason = AKIN_TXN_EMPTY;
		return diag_set(diag, -AKIN_E_usage, "a transaction without "
				"objects: nothing to commit");
	}
	err = close_streams(t, diag);
	if (!err)
		err = ingest_drain(t->b.stream, diag);
	if (err)
		return err;
	err = txn_build_tree(t, diag);
	if (err == -AKIN_E_usage)
		out->reason = AKIN_TXN_NAMES;
	return err ? err : set_paths(t, diag);
}

static void fill_result(struct akin_session *s, const struct txn *t,
			const struct akin_backup_result *r,
			struct akin_txn_result *out)
{
	struct akin_factors f = { 0 };

	out->transaction = r->number;
	memcpy(out->id, r->id, sizeof(out->id));
	out->objects = t->nr_objects;
	out->bytes = r->total.bytes;
	out->bytes_new = r->total.bytes_new;
	out->chunks = r->chunks;
	out->chunks_new = r->chunks_new;
	/* It is committed, whatever its figures are. */
	ignore_result(akin_stats_factors(s->pool, r->number, &f, NULL));
	out->bytes_plain = f.bytes_plain;
	out->bytes_stored = f.bytes_stored;
	out->bytes_meta = f.bytes_metadata;
}

/*
 * What was sent before a session was stopped is kept for the next transaction,
 * as that of any interrupted backup; of an abort nothing is.
 */
static void finish(struct akin_session *s, enum akin_vote vote,
		   struct akin_txn_result *out, struct akin_diag *diag)
{
	struct akin_backup_result r = { 0 };
	struct txn *t = s->txn;
	u64 begun = t->b.start_ns;
	int err = s->err;

	if (err) {
		diag_set(diag, err, "%s", s->diag.code ? s->diag.text :
			 akin_strerror(err));
	} else if (vote == AKIN_VOTE_ABORT) {
		out->reason = AKIN_TXN_ABORTED;
		err = -AKIN_E_usage;
	} else {
		err = complete(t, out, diag);
	}
	if (err)
		ignore_result(close_streams(t, NULL));
	/* Of an abort that was asked for there is nothing to say. */
	err = backup_finish(&t->b, err, &r,
			    out->reason == AKIN_TXN_ABORTED ? NULL : diag);
	if (!err)
		fill_result(s, t, &r, out);
	else if (!out->reason)
		out->reason = reason_of(err);
	out->code = out->reason == AKIN_TXN_ABORTED ? 0 : err;
	out->elapsed_ns = clock_ns() - begun;
}

static bool has_open_objects(const struct akin_session *s)
{
	u32 i;

	for (i = 0; i < s->limits.max_open; i++) {
		if (s->slots[i].id)
			return true;
	}
	return false;
}

/* From OPEN to ENDING, when the calls that are running have ended. */
static int start_end(struct akin_session *s, enum akin_vote vote,
		     struct akin_diag *diag)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (s->state != API_OPEN)
		err = diag_set(diag, -AKIN_E_sequence, "end: no transaction is "
			       "open");
	else if (vote == AKIN_VOTE_COMMIT && !s->err &&
		 (s->nr_busy || has_open_objects(s)))
		err = diag_set(diag, -AKIN_E_sequence, "commit: an object has "
			       "not ended");
	if (!err) {
		s->state = API_ENDING;
		while (s->nr_busy)
			pthread_cond_wait(&s->quiet, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

int akin_txn_end(struct akin_session *s, enum akin_vote vote,
		 struct akin_txn_result *out, struct akin_diag *diag)
{
	int err;

	memset(out, 0, sizeof(*out));
	if (vote != AKIN_VOTE_COMMIT && vote != AKIN_VOTE_ABORT)
		return diag_set(diag, -AKIN_E_usage, "no such vote");
	err = start_end(s, vote, diag);
	if (err)
		return err;
	pthread_rwlock_wrlock(&s->index_lock);
	finish(s, vote, out, diag);
	pthread_rwlock_unlock(&s->index_lock);
	txn_free(s->txn);
	pthread_mutex_lock(&s->lock);
	s->txn = NULL;
	s->err = 0;
	memset(s->slots, 0, s->limits.max_open * sizeof(*s->slots));
	s->state = API_IDLE;
	pthread_mutex_unlock(&s->lock);
	return 0;
}
