/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: begin, containers, sealing.
 *
 * Life of a container here: session_open_container -> streams add groups ->
 * session_finish_container -> (last group in) on_complete queues it for the
 * sealer -> seal_one writes directory and footer, syncs, files the row.
 */
#include <pthread.h>

#include "base/check.h"
#include "base/mem.h"
#include "ingest/read_back.h"
#include "ingest/session_internal.h"
#include "os/clock.h"
#include "os/random.h"

/* Numbers reserved at a time: one durable transaction per half GiB stored. */
#define RESERVE_NUMBERS 64
/* Containers on their way to the disk; each holds its directory. Where syncing
 * is slower than compressing, streams wait for it. */
#define MAX_FINISHED 4

u64 session_number(const struct session *s)
{
	return s->info.number;
}

u64 session_snapshot_number(const struct session *s)
{
	return s->info.snapshot;
}

struct depot *session_depot(struct session *s)
{
	return s->depot;
}

u8 session_delta_depth(const struct session *s)
{
	return s->delta_depth;
}

bool session_compares(const struct session *s)
{
	return s->verify != SUPER_VERIFY_OFF;
}

void session_fail_locked(struct session *s, int err,
			 const struct akin_diag *diag)
{
	if (s->err)
		return;
	s->err = err;
	if (diag)
		s->diag = *diag;
	pthread_cond_broadcast(&s->changed);
}

int session_error_locked(struct session *s, struct akin_diag *diag)
{
	if (!s->err)
		return 0;
	return diag_set(diag, s->err, "%s", s->diag.code ? s->diag.text :
			akin_strerror(s->err));
}

/* A group is closed before it exceeds group_bytes, unless one chunk or piece
 * of metadata does so alone. */
u32 session_max_group(const struct session *s)
{
	const struct super *super = &s->depot->super;

	return (u32)max_u64(max_u64(super->group_bytes, super->chunk_max),
			    RECIPE_PIECE_MAX);
}

/*
 * With one limit for all, everything that is newer than the depth allows is
 * made from the same old versions, and grows with the distance to them. So one
 * session in REBASE_EVERY keeps a level below the limit, and those that follow
 * find near bases on it: 24 releases of a program take 94 MB instead of 130,
 * at depth 2. More levels are staggered likewise.
 *
 * Which sessions is decided by the fractional parts of multiples of the golden
 * ratio, which are spread evenly whatever number of series takes turns.
 */
#define REBASE_EVERY 4
#define GOLDEN_RATIO_32 0x9e3779b1u
/*
 * A new recipe says again all that is new since its base, 32 bytes for each
 * chunk, and little else: near bases are what counts, and a group is read for
 * what takes a hundred times as much as data. 24 releases, MB of recipes:
 *
 *	depth 2, one in four a level below	4.04
 *	depth 4, one in three			3.81
 *	depth 8, one in four			3.76
 *	depth 8, one in two			3.67
 *	each against the whole one before	3.42
 *	fingerprints alone			2.93
 */
#define META_DEPTH 8
#define META_REBASE_EVERY 2
static_assert(META_DEPTH <= SESSION_DELTA_DEPTH_MAX, "readers' scratch");

static u8 depth_of(u64 number, u8 depth, u32 every)
{
	u32 at = (u32)(number * GOLDEN_RATIO_32);
	u32 below = UINT32_MAX / every;

	while (depth > 1 && at < below) {
		depth--;
		below /= every;
	}
	return depth;
}

void session_set_delta_depth(struct session *s, u8 depth)
{
	s->delta_depth = (u8)min_u64(depth, SESSION_DELTA_DEPTH_MAX);
	s->meta_depth = s->delta_depth;
}

static void choose_depths(struct session *s, const struct session_options *opt)
{
	u64 number = s->info.number;

	session_set_delta_depth(s, opt->delta_depth);
	s->meta_depth = s->delta_depth ? META_DEPTH : 0;
	if (!opt->vary_depth)
		return;
	s->delta_depth = depth_of(number, s->delta_depth, REBASE_EVERY);
	s->meta_depth = depth_of(number, s->meta_depth, META_REBASE_EVERY);
}

int session_begin(struct depot *d, struct catalog *c,
		  const struct session_options *opt, struct session **out,
		  struct akin_diag *diag)
{
	struct workers_options wopt = { .nr_threads = 1 };
	struct session *s;
	int err;

	s = mem_zalloc(sizeof(*s));
	if (!s)
		return diag_set(diag, -AKIN_E_nomem, "session");
	s->depot = d;
	s->catalog = c;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->publish_lock, NULL);
	pthread_mutex_init(&s->number_lock, NULL);
	pthread_mutex_init(&s->touch_lock, NULL);
	s->view = opt->view;
	pthread_cond_init(&s->changed, NULL);
	s->verify = opt->verify;
	s->notice = opt->notice;
	s->notice_ctx = opt->notice_ctx;
	match_log_init(&s->compared);
	s->max_jobs = 2 * workers_nr(d->workers) + 1;
	s->codec = opt->codec ? *opt->codec : depot_codec(d);
	s->buffer_bytes = codec_bound(session_max_group(s));
	s->checkpoint_ns = clock_ns();
	s->patient = opt->patient;
	err = lane_set_init(s, opt->memory_bytes, diag);
	if (!err)
		err = ref_memory_new(&s->refs, diag);
	if (!err)
		err = workers_new(&wopt, &s->sealer, diag);
	if (!err)
		err = catalog_session_begin(c, &opt->info, opt->lock,
					    opt->lock_ctx, &s->info, diag);
	if (err) {
		session_free(s);
		return err;
	}
	s->begun = true;
	choose_depths(s, opt);
	*out = s;
	return 0;
}

static void free_buffers(struct session *s)
{
	struct spare *b, *next;

	for (b = s->spare; b; b = next) {
		next = b->next;
		mem_free(b);
	}
	s->spare = NULL;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->begun)
		ignore_result(session_end(s, false, NULL));
	/* The sealer first: it runs what is queued and touches the rest. */
	workers_free(s->sealer);
	akin_assert(s->nr_open == 0);
	lane_set_release(s);
	free_buffers(s);
	dryset_free(s->dry);
	ref_memory_free(s->refs);
	match_log_release(&s->compared);
	mem_free(s->sealed);
	mem_free(s->ranges);
	pthread_cond_destroy(&s->changed);
	numset_release(&s->touched);
	pthread_mutex_destroy(&s->touch_lock);
	pthread_mutex_destroy(&s->number_lock);
	pthread_mutex_destroy(&s->publish_lock);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

u8 *session_get_buffer(struct session *s)
{
	struct spare *b;

	pthread_mutex_lock(&s->lock);
	b = s->spare;
	if (b)
		s->spare = b->next;
	pthread_mutex_unlock(&s->lock);
	return b ? (u8 *)b : mem_aligned(64, s->buffer_bytes);
}

void session_put_buffer(struct session *s, u8 *raw)
{
	struct spare *b = (struct spare *)(void *)raw;

	if (!raw)
		return;
	pthread_mutex_lock(&s->lock);
	b->next = s->spare;
	s->spare = b;
	pthread_mutex_unlock(&s->lock);
}

int session_pretend(struct session *s, const struct fp *fp, bool *new_ret,
		    struct akin_diag *diag)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->dry)
		s->dry = dryset_new();
	if (s->dry)
		*new_ret = dryset_add(s->dry, fp);
	else
		err = diag_set(diag, -AKIN_E_nomem, "dry run");
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* The next container number; reserves more when they run out. */
static int take_number(struct session *s, u64 *out, struct akin_diag *diag)
{
	int err = 0;

	pthread_mutex_lock(&s->number_lock);
	if (s->nr_numbers == 0) {
		err = catalog_reserve(s->catalog, s->info.number,
				      NUMBER_CONTAINER, RESERVE_NUMBERS,
				      &s->next_number, diag);
		if (!err)
			s->nr_numbers = RESERVE_NUMBERS;
		if (!err && !s->first_number)
			s->first_number = s->next_number;
	}
	if (!err) {
		*out = s->next_number++;
		s->nr_numbers--;
	}
	pthread_mutex_unlock(&s->number_lock);
	return err;
}

/* Sealer thread: one complete container. */
static void seal_one(struct work *work, void *thread_ctx)
{
	struct open_container *oc = container_of(work, struct open_container,
						 seal_work);
	struct session *s = oc->pub.session;
	struct container_sealed sealed = { 0 };
	struct akin_diag diag = { 0 };
	u64 parity = 0;
	int err;

	err = container_writer_seal(oc->pub.writer, &sealed, &diag);
	if (!err && s->verify == SUPER_VERIFY_WRITE)
		err = read_back(s->depot, oc->pub.writer, &diag);
	if (!err && s->depot->similar) {
		similar_add(s->depot->similar,
			    container_writer_directory(oc->pub.writer),
			    sealed.file_bytes);
		similar_cover(s->depot->similar, oc->pub.number);
	}
	if (!err)
		parity = depot_parity_add(s->depot, sealed.number,
					  sealed.generation);
	dircache_close(s->depot->dirs, oc->pub.slot);
	container_writer_free(oc->pub.writer);
	pthread_mutex_lock(&s->lock);
	s->stats.stored_parity += parity;
	if (!err)
		err = session_add_sealed_locked(s, &sealed,
						oc->ref_saved_bytes);
	if (err)
		session_fail_locked(s, err, &diag);
	s->nr_open--;
	s->nr_finished--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	/* The session outlives its sealer. */
	if (err)
		session_drop_file(s, oc->pub.number);
	mem_free(oc);
}

static void on_complete(void *ctx, struct container_writer *w)
{
	struct open_container *oc = ctx;

	oc->seal_work.run = seal_one;
	workers_queue(oc->pub.session->sealer, &oc->seal_work);
}

static int open_writer(struct session *s, u8 kind, struct open_container *oc,
		       struct akin_diag *diag)
{
	struct container_writer_options opt = { 0 };
	int err;

	opt.header.pool = s->depot->super.pool;
	opt.header.number = oc->pub.number;
	opt.header.kind = kind;
	opt.header.session = s->info.number;
	opt.complete = on_complete;
	opt.complete_ctx = oc;
	err = random_bytes(opt.header.salt, sizeof(opt.header.salt), diag);
	if (!err)
		err = container_writer_open(s->depot->data, &opt,
					    &oc->pub.writer, diag);
	if (err)
		return err;
	err = dircache_open(s->depot->dirs, oc->pub.writer, &oc->pub.slot,
			    diag);
	if (err) {
		container_writer_free(oc->pub.writer);
		session_drop_file(s, oc->pub.number);
	}
	return err;
}

static void wait_finished(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->nr_finished >= MAX_FINISHED)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

int session_open_container(struct session *s, u8 kind,
			   struct session_container **out,
			   struct akin_diag *diag)
{
	struct open_container *oc;
	int err;

	oc = mem_zalloc(sizeof(*oc));
	if (!oc)
		return diag_set(diag, -AKIN_E_nomem, "container");
	oc->pub.session = s;
	wait_finished(s);
	err = take_number(s, &oc->pub.number, diag);
	if (!err)
		err = open_writer(s, kind, oc, diag);
	if (err) {
		mem_free(oc);
		return err;
	}
	pthread_mutex_lock(&s->lock);
	s->nr_open++;
	pthread_mutex_unlock(&s->lock);
	*out = &oc->pub;
	return 0;
}

void session_finish_container(struct session_container *sc)
{
	struct session *s = sc->session;

	pthread_mutex_lock(&s->lock);
	s->nr_finished++;
	pthread_mutex_unlock(&s->lock);
	/* It may be sealed and gone before this returns. */
	container_writer_finish(sc->writer);
}

void session_count_refs(struct session_container *sc, u32 raw_len,
			u64 saved_bytes)
{
	struct open_container *oc = container_of(sc, struct open_container,
						 pub);
	struct session *s = sc->session;

	pthread_mutex_lock(&s->lock);
	oc->ref_saved_bytes += saved_bytes;
	s->stats.ref_groups++;
	s->stats.ref_raw_bytes += raw_len;
	s->stats.ref_saved_bytes += saved_bytes;
	pthread_mutex_unlock(&s->lock);
}
