/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "base/mem.h"
#include "follow/follow.h"
#include "ingest/lane.h"
#include "ingest/match_verify.h"
#include "ingest/session_internal.h"

/* More do not make a session faster; each leaves a container half full. */
#define MAX_LANES 16
/* For counting; what is beyond is not worth saying. */
#define MAX_STREAMS 1024
/* Gathered and not yet written, of one open container. */
#define WRITE_BEHIND_BYTES (512 * KiB)
/* A stream's recipe under construction, operations, stack; its cursor. */
#define STREAM_BYTES (32 * KiB + FOLLOW_BYTES)
/* With every batch: its chunks' lengths, and of a threaded stream's three a
 * third of a cutter's scratch. */
#define BATCH_MORE_BYTES (32 * KiB)

u32 lane_batch_max(const struct session *s)
{
	return s->depot->engine == SUPER_ENGINE_SIMILARITY ?
		       SIMILAR_SEGMENT_BYTES : BATCH_BYTES;
}

u32 lane_headroom(const struct session *s)
{
	return (s->depot->super.chunk_max + 63) & ~63u;
}

static size_t lane_bytes(const struct session *s)
{
	const struct super *super = &s->depot->super;
	size_t batch = lane_headroom(s) + lane_batch_max(s);
	size_t chunks = 2 * (batch / super->chunk_min + 2);

	return hash_scratch_bytes() + batch / 8 +
	       chunks * (sizeof(u32) + sizeof(struct hash_item) +
			 sizeof(struct fp) + sizeof(struct dir_hit) +
			 (s->verify ? matcher_chunk_bytes() : 0)) +
	       2 * (s->buffer_bytes + WRITE_BEHIND_BYTES +
		    NEARSET_MAX * sizeof(struct near_place) +
		    super->container_chunks *
			    (sizeof(struct dir_entry) +
			     sizeof(struct dir_sketch)));
}

/* What comes with a batch, its headroom included. */
static size_t batch_more(const struct session *s)
{
	size_t samples = lane_headroom(s) + lane_batch_max(s);

	return lane_headroom(s) + BATCH_MORE_BYTES +
	       (s->depot->similar ? samples / BATCH_SAMPLES_PART : 0);
}

/* What is left for a batch, headroom excluded; 0: it does not fit. */
static size_t share(const struct session *s, u32 nr_streams, u32 nr_batches,
		    u32 nr_lanes)
{
	const struct lane_set *set = &s->lanes;
	size_t taken = nr_lanes * lane_bytes(s) + nr_streams * STREAM_BYTES +
		       (size_t)nr_batches * batch_more(s);

	if (taken >= set->memory || nr_batches == 0)
		return 0;
	return (set->memory - taken) / nr_batches;
}

static void choose_size(struct session *s, size_t memory)
{
	struct lane_set *set = &s->lanes;
	size_t fit;

	set->memory = memory ? memory : SIZE_MAX / 4;
	fit = set->memory / 2 / lane_bytes(s);
	set->max_lanes = (u32)max_u64(1, min_u64(fit, MAX_LANES));
}

static bool has_room(const struct session *s, u32 nr_streams, u32 nr_batches)
{
	return share(s, nr_streams, nr_batches, s->lanes.max_lanes) >=
	       BATCH_BYTES_MIN;
}

u32 session_max_streams(const struct depot *d, size_t memory, u8 verify,
			u8 engine)
{
	struct depot then = *d;
	struct session s = { .depot = &then, .verify = verify };
	u32 nr = 1;

	then.engine = engine;
	s.buffer_bytes = codec_bound(session_max_group(&s));
	choose_size(&s, memory);
	while (nr < MAX_STREAMS &&
	       has_room(&s, nr + 1, nr + STREAM_BATCHES_THREADED))
		nr++;
	return nr;
}

int lane_set_init(struct session *s, size_t memory, struct akin_diag *diag)
{
	struct lane_set *set = &s->lanes;

	pthread_mutex_init(&set->lock, NULL);
	pthread_cond_init(&set->left, NULL);
	choose_size(s, memory);
	set->lanes = mem_calloc(set->max_lanes, sizeof(*set->lanes));
	if (!set->lanes)
		return diag_set(diag, -AKIN_E_nomem, "session");
	return 0;
}

void lane_set_release(struct session *s)
{
	akin_assert(s->lanes.nr_lanes == 0);
	mem_free(s->lanes.lanes);
	pthread_cond_destroy(&s->lanes.left);
	pthread_mutex_destroy(&s->lanes.lock);
}

static void lane_free(struct lane *l)
{
	if (!l)
		return;
	packer_release(&l->data_packer);
	packer_release(&l->meta_packer);
	chunk_scratch_free(l->cut_scratch);
	hash_scratch_free(l->hash_scratch);
	matcher_free(l->matcher);
	mem_free(l->items);
	mem_free(l->fps);
	mem_free(l->hits);
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
}

static int lane_new(struct session *s, struct lane **out,
		    struct akin_diag *diag)
{
	size_t batch = lane_headroom(s) + lane_batch_max(s);
	struct lane *l = mem_zalloc(sizeof(*l));
	int err;

	if (!l)
		return diag_set(diag, -AKIN_E_nomem, "stream");
	l->session = s;
	pthread_mutex_init(&l->lock, NULL);
	err = packer_init(&l->data_packer, s, CONTAINER_DATA, diag);
	if (!err)
		err = packer_init(&l->meta_packer, s, CONTAINER_METADATA,
				  diag);
	if (!err)
		err = chunk_scratch_new(batch, &l->cut_scratch, diag);
	if (!err)
		err = hash_scratch_new(&l->hash_scratch, diag);
	if (!err && s->verify)
		err = matcher_new(s, &l->matcher, diag);
	if (err) {
		lane_free(l);
		return err;
	}
	*out = l;
	return 0;
}

/* The one with the fewest streams, or a new one. */
static int choose_locked(struct session *s, struct lane **out,
			 struct akin_diag *diag)
{
	struct lane_set *set = &s->lanes;
	struct lane *best = NULL;
	u32 i;
	int err;

	for (i = 0; i < set->nr_lanes; i++) {
		if (!best || set->lanes[i]->nr_streams < best->nr_streams)
			best = set->lanes[i];
	}
	if (!best || set->nr_lanes < set->max_lanes) {
		err = lane_new(s, &best, diag);
		if (err)
			return err;
		set->lanes[set->nr_lanes++] = best;
	}
	best->nr_streams++;
	*out = best;
	return 0;
}

int lane_join(struct session *s, u32 nr_batches, struct lane **out,
	      struct akin_diag *diag)
{
	struct lane_set *set = &s->lanes;
	int err;

	pthread_mutex_lock(&set->lock);
	while (set->nr_streams > 0 &&
	       !has_room(s, set->nr_streams + 1, set->nr_batches + nr_batches))
		pthread_cond_wait(&set->left, &set->lock);
	err = choose_locked(s, out, diag);
	if (!err) {
		set->nr_streams++;
		set->nr_batches += nr_batches;
	}
	pthread_mutex_unlock(&set->lock);
	return err;
}

static bool leave_locked(struct lane_set *set, struct lane *l, u32 nr_batches)
{
	u32 i;

	set->nr_streams--;
	set->nr_batches -= nr_batches;
	pthread_cond_broadcast(&set->left);
	if (--l->nr_streams > 0)
		return false;
	for (i = 0; set->lanes[i] != l; i++)
		;
	set->lanes[i] = set->lanes[--set->nr_lanes];
	return true;
}

int lane_leave(struct lane *l, u32 nr_batches, struct akin_diag *diag)
{
	struct lane_set *set = &l->session->lanes;
	bool last;
	int err, err2;

	pthread_mutex_lock(&set->lock);
	last = leave_locked(set, l, nr_batches);
	pthread_mutex_unlock(&set->lock);
	if (!last)
		return 0;
	err = packer_close(&l->data_packer, diag);
	err2 = packer_close(&l->meta_packer, diag);
	lane_free(l);
	return err ? err : err2;
}

u32 lane_batch_bytes(struct lane *l)
{
	struct lane_set *set = &l->session->lanes;
	size_t n;

	pthread_mutex_lock(&set->lock);
	n = share(l->session, set->nr_streams, set->nr_batches,
		  set->nr_lanes);
	pthread_mutex_unlock(&set->lock);
	n = max_u64(BATCH_BYTES_MIN, min_u64(n, lane_batch_max(l->session)));
	return (u32)(n / BATCH_BYTES_MIN * BATCH_BYTES_MIN);
}

int lane_need_chunks(struct lane *l, u32 more, struct akin_diag *diag)
{
	u32 cap = l->cap_chunks ? l->cap_chunks : 256;
	void *p;

	while (cap < l->nr_chunks + more)
		cap *= 2;
	if (cap == l->cap_chunks)
		return 0;
	p = mem_realloc(l->items, cap * sizeof(*l->items));
	if (!p)
		goto fail;
	l->items = p;
	p = mem_realloc(l->fps, cap * sizeof(*l->fps));
	if (!p)
		goto fail;
	l->fps = p;
	p = mem_realloc(l->hits, cap * sizeof(*l->hits));
	if (!p)
		goto fail;
	l->hits = p;
	l->cap_chunks = cap;
	return 0;
fail:
	return diag_set(diag, -AKIN_E_nomem, "batch");
}
