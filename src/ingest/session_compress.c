/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: groups on their way through the compressors.
 *
 * A group that has something to refer to is compressed against it, without it,
 * or both ways, as the stream's gate says (refgate.h). References can only
 * help: what cannot be resolved, read or compressed against is left out, and
 * the group is stored without.
 */
#include <pthread.h>

#include "base/mem.h"
#include "ingest/session_internal.h"
#include "os/clock.h"

/*
 * Reading references on a disk that seeks may take longer than writing the
 * group without them ever would: 50 ms for 128 KiB of new data are 2.6 MB/s.
 * What is skipped then is left to a pass that reads in order.
 */
#define REFS_MAX_NS (50ull * 1000 * 1000)

/* A group while it is compressed. */
struct attempt {
	struct job *job;
	struct decoder *dec;
	u8 *plain, *ref;	/* outputs, from the session; or NULL */
	size_t plain_len, ref_len;
	u8 plain_id, ref_id;
	u64 ns;			/* in codecs */
	struct resolved_refs refs;
	struct buf prefix;
};

static enum codec_gain gain_of(const struct session_container *sc)
{
	return container_writer_kind(sc->writer) == CONTAINER_METADATA ?
		       CODEC_GAIN_ANY : CODEC_GAIN_EIGHTH;
}

static int compress_plain(struct attempt *a, struct akin_diag *diag)
{
	struct job *j = a->job;
	u64 start;
	int err;

	a->plain = session_get_buffer(j->sc->session);
	if (!a->plain)
		return diag_set(diag, -AKIN_E_nomem, "group");
	start = clock_ns();
	err = codec_compress(a->dec->codec, gain_of(j->sc), j->raw,
			     j->g.raw_len, a->plain, &a->plain_len,
			     &a->plain_id, diag);
	a->ns += clock_ns() - start;
	if (a->plain_id == CODEC_NONE)
		a->plain_len = j->g.raw_len;
	return err;
}

/* The bytes to compress against, in a->prefix; empty: there are none. */
static int find_prefix(struct attempt *a, struct akin_diag *diag)
{
	struct job *j = a->job;
	struct session *s = j->sc->session;
	u64 start = clock_ns();
	int err;

	err = session_resolve_refs(s, j->sc->number,
				   container_writer_kind(j->sc->writer),
				   &j->near, &a->refs, diag);
	if (err || !a->refs.set.nr)
		return err;
	a->prefix = decoder_take(&a->dec->prefixes);
	err = groupcache_prefix(s->depot->groups, a->dec, a->refs.set.refs,
				a->refs.set.nr, a->refs.raw_len, &a->prefix,
				NULL);
	if (err) {
		buf_reset(&a->prefix);
		refgate_lost(j->gate);
		counters_add(s->depot->counters, references_failed, 1);
	} else if (!s->patient && clock_ns() - start > REFS_MAX_NS) {
		refgate_lost(j->gate);
	}
	return 0;
}

static int compress_against(struct attempt *a, struct akin_diag *diag)
{
	struct job *j = a->job;
	u64 start;
	int err;

	a->ref = session_get_buffer(j->sc->session);
	if (!a->ref)
		return diag_set(diag, -AKIN_E_nomem, "group");
	start = clock_ns();
	err = codec_compress_ref(a->dec->codec, gain_of(j->sc), a->prefix.data,
				 a->prefix.len, j->raw, j->g.raw_len, a->ref,
				 &a->ref_len, &a->ref_id, diag);
	a->ns += clock_ns() - start;
	if (a->ref_id == CODEC_NONE)
		a->ref_len = j->g.raw_len;
	return err;
}

/* Compress one way or both; *keep_ret: with the references. */
static int compress(struct attempt *a, bool *keep_ret, struct akin_diag *diag)
{
	struct job *j = a->job;
	enum ref_plan plan = REF_REST;
	int err = 0;

	*keep_ret = false;
	codec_ctx_choose(a->dec->codec, &j->sc->session->codec);
	if (j->near.nr && j->g.raw_len <= GROUP_MAX_DELTA_RAW &&
	    codec_has_ref(a->dec->codec))
		plan = refgate_plan(j->gate);
	else
		refgate_pass(j->gate);
	if (plan != REF_REST)
		err = find_prefix(a, diag);
	if (!err && a->prefix.len)
		err = compress_against(a, diag);
	if (!err && (!a->ref || plan == REF_TRIAL ||
		     refgate_doubts(j->gate, j->g.raw_len, (u32)a->ref_len)))
		err = compress_plain(a, diag);
	if (!err)
		*keep_ret = refgate_judge(j->gate, j->g.raw_len,
					  (u32)a->ref_len,
					  (u32)a->plain_len) &&
			    a->ref_id != CODEC_NONE;
	return err;
}

/* What the group's header says of its payload; returns the payload. */
static const u8 *choose(struct attempt *a, bool with_refs)
{
	struct group_header *g = &a->job->g;

	if (with_refs) {
		g->refs = TAKE(a->refs.set.refs);
		g->nr_refs = a->refs.set.nr;
		memset(&a->refs.set, 0, sizeof(a->refs.set));
		g->ref_raw_len = a->refs.raw_len;
		g->depth = a->refs.depth;
		g->codec_id = a->ref_id;
		g->stored_len = (u32)a->ref_len;
		return a->ref;
	}
	g->codec_id = a->plain_id;
	g->stored_len = (u32)a->plain_len;
	return a->plain_id == CODEC_NONE ? a->job->raw : a->plain;
}

/* Before the group is handed in: afterwards its container may be gone. */
static void count(const struct attempt *a)
{
	const struct job *j = a->job;
	const struct group_header *g = &j->g;
	struct session *s = j->sc->session;
	u64 plain = a->plain_len, saved;

	counters_add(s->depot->counters, groups_new, 1);
	counters_stage(s->depot->counters, stage_compress, g->raw_len, a->ns);
	if (!plain)
		plain = refgate_plain_estimate(j->gate, g->raw_len);
	refgate_count(j->gate, g->raw_len, plain, g->stored_len);
	if (container_writer_kind(j->sc->writer) == CONTAINER_DATA) {
		counters_add(s->depot->counters, bytes_grouped, g->raw_len);
		counters_add(s->depot->counters, bytes_plain, g->nr_refs ?
			     max_u64(plain, g->stored_len) : g->stored_len);
		counters_add(s->depot->counters, bytes_packed, g->stored_len);
	}
	if (!g->nr_refs)
		return;
	saved = plain > g->stored_len ? plain - g->stored_len : 0;
	counters_add(s->depot->counters, groups_referring, 1);
	counters_add(s->depot->counters, bytes_referring, g->raw_len);
	counters_add(s->depot->counters, bytes_saved_referring, saved);
	session_count_refs(j->sc, g->raw_len, saved);
}

static void attempt_release(struct attempt *a)
{
	struct session *s = a->job->sc->session;

	session_put_buffer(s, a->plain);
	session_put_buffer(s, a->ref);
	refset_release(&a->refs.set);
	nearset_release(&a->job->near);
	decoder_give(&a->dec->prefixes, &a->prefix);
}

/* Worker thread: compress, encode, hand in. */
static void compress_one(struct work *work, void *thread_ctx)
{
	struct job *j = container_of(work, struct job, work);
	struct attempt a = { .job = j, .dec = thread_ctx };
	struct session *s = j->sc->session;
	struct akin_diag diag = { 0 };
	/* Groups are as large as what is read of them. */
	struct buf encoded = decoder_take(&a.dec->stored);
	const u8 *payload;
	bool with_refs;
	int err;

	err = compress(&a, &with_refs, &diag);
	if (!err) {
		payload = choose(&a, with_refs);
		err = group_encode(&j->g, j->sc->number, payload, &encoded);
	}
	if (!err)
		count(&a);
	session_touch_refs(s, &j->g);
	attempt_release(&a);
	session_put_buffer(s, j->raw);
	if (err)
		container_writer_fail(j->sc->writer, err, &diag);
	else	/* its error is the writer's, and comes back at sealing */
		ignore_result(container_writer_put(j->sc->writer, &j->g,
						   &encoded, NULL));
	group_header_release(&j->g);
	decoder_give(&a.dec->stored, &encoded);
	refgate_drop(j->gate);
	pthread_mutex_lock(&s->lock);
	s->nr_jobs--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	mem_free(j);
}

int session_compress(struct session_container *sc, struct group_header *g,
		     u8 *raw, struct nearset *near, struct refgate *gate,
		     struct akin_diag *diag)
{
	struct session *s = sc->session;
	struct job *j = mem_zalloc(sizeof(*j));
	int err;

	if (!j) {
		err = diag_set(diag, -AKIN_E_nomem, "group");
		container_writer_fail(sc->writer, err, NULL);
		group_header_release(g);
		nearset_release(near);
		session_put_buffer(s, raw);
		return err;
	}
	j->work.run = compress_one;
	j->sc = sc;
	j->g = *g;
	j->raw = raw;
	j->near = nearset_take(near);
	j->gate = refgate_share(gate);
	pthread_mutex_lock(&s->lock);
	while (s->nr_jobs >= s->max_jobs)
		pthread_cond_wait(&s->changed, &s->lock);
	s->nr_jobs++;
	err = session_error_locked(s, diag);
	pthread_mutex_unlock(&s->lock);
	/* Also after an error: the container waits for its groups. */
	workers_queue(s->depot->workers, &j->work);
	return err;
}
