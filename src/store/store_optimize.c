/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public optimize: optimize/ over an opened pool, with its locks. A session
 * like a backup's; a second one at the same time would store the same things
 * again, which costs space and nothing else.
 */
#include "akin/optimize.h"
#include "optimize/optimize.h"
#include "os/clock.h"
#include "store/store.h"

struct optimizing {
	struct akin_pool *p;
	const struct akin_optimize_options *opt;
	struct akin_optimize_result *out;
	u64 start_ns;
};

static_assert(AKIN_OPTIMIZE_DEPTH_DEFAULT <= SESSION_DELTA_DEPTH_MAX,
	      "what is offered must be what is done");

/*
 * Nobody waits for it, and reading takes as long at any level: 24 releases of a
 * program take 47 MB at the default for backups (level 1), 45 at level 3, 40 at
 * level 6, for 23, 25 and 45 s of processor time.
 */
#define ZSTD_LEVEL 6

static void owner(void *ctx, u64 session)
{
	struct optimizing *c = ctx;

	c->p->reserve_session = session;
}

static int stopped(void *ctx)
{
	struct optimizing *c = ctx;

	return store_check_stop(c->p, NULL);
}

static void progress(void *ctx, const struct optimize_progress *op)
{
	struct optimizing *c = ctx;
	struct akin_optimize_progress out = {
		.snapshots = op->snapshots,
		.snapshots_total = op->snapshots_total,
		.bytes_read = op->bytes_read,
		.bytes_stored = op->bytes_stored,
		.elapsed_ns = clock_ns() - c->start_ns,
	};

	c->opt->progress(c->opt->ctx, &out);
}

static void export_result(const struct optimize_result *r,
			  struct akin_optimize_result *out)
{
	out->series = r->series;
	out->series_in_order = r->series_in_order;
	out->snapshots = r->snapshots;
	out->snapshots_moved = r->moved;
	out->snapshots_damaged = r->damaged;
	out->containers_before = r->containers_before;
	out->bytes_before = r->bytes_before;
	out->bytes_read = r->bytes;
	out->chunks = r->chunks;
	out->metadata_pieces = r->pieces;
	out->chunks_unreadable = r->unreadable;
	out->bytes_stored = r->stored_data + r->stored_meta;
	out->bytes_metadata = r->stored_meta;
	out->bytes_resumed = r->bytes_fresh;
	out->groups_referring = r->ref_groups;
}

static int newest(void *ctx, const struct snapshot *s)
{
	u64 *number = ctx;

	*number = s->number;
	return 0;
}

static int cost(struct optimizing *c, struct akin_restore_cost *out,
		struct akin_diag *diag)
{
	u64 number = 0;
	int err;

	if (!c->opt->restore_cost)
		return 0;
	err = catalog_each_snapshot(c->p->catalog, newest, &number, diag);
	if (err || !number)
		return err;
	err = akin_restore_cost(c->p, number, NULL, NULL, out, diag);
	/* Damage is no reason to stop here. */
	return akin_error_class(err) == AKIN_CLASS_NOMEM ? err : 0;
}

/* As somebody finds it who opens the pool now. Best effort. */
static void cost_after(struct optimizing *c)
{
	struct akin_restore_cost *out = &c->out->after;

	if (store_lock_move(c->p, NULL) || cost(c, out, NULL))
		memset(out, 0, sizeof(*out));
}

/*
 * What a run takes besides the caches: the session's buffers, groups on their
 * way and directories of open containers; and for each thread that compresses,
 * codecs, and for each level of a chain a group and what it was made from.
 * Levels of zstd above the default of backups take more.
 */
#define SESSION_BYTES (4 * MiB)
#define THREAD_BYTES (2 * MiB)
#define THREAD_MORE_BYTES (2 * MiB)
#define THREAD_MOST_BYTES (8 * MiB)
#define LEVEL_MORE 4
#define LEVEL_MOST 10
#define LEVEL_GROUPS 4
#define CACHES_MIN (2 * MiB)
/* With less, what was not asked for is chosen smaller. */
#define ROOMY_BYTES (64 * MiB)
#define DEPTH_SMALL 2

static size_t thread_bytes(const struct akin_pool *p,
			   const struct codec_choice *codec, u8 depth)
{
	size_t bytes = THREAD_BYTES;

	if (codec->id == CODEC_ZSTD && codec->level >= LEVEL_MOST)
		bytes += THREAD_MOST_BYTES;
	else if (codec->id == CODEC_ZSTD && codec->level >= LEVEL_MORE)
		bytes += THREAD_MORE_BYTES;
	return bytes + (size_t)depth * LEVEL_GROUPS * p->super.group_bytes;
}

static int choose(struct optimizing *c, struct optimize_options *o,
		  struct codec_choice *codec, struct akin_diag *diag)
{
	bool roomy = c->p->budget.total >= ROOMY_BYTES;
	int depth = c->opt->delta_depth;

	if (depth < AKIN_DELTA_NONE || depth > SESSION_DELTA_DEPTH_MAX)
		return diag_set(diag, -AKIN_E_usage, "delta depth: from 0 to "
				"%d", SESSION_DELTA_DEPTH_MAX);
	o->delta_depth = depth > 0 ? (u8)depth :
			 depth < 0 ? 0 :
			 roomy ? AKIN_OPTIMIZE_DEPTH_DEFAULT : DEPTH_SMALL;
	o->session.codec = codec;
	if (c->opt->compression)
		return codec_parse(c->opt->compression, codec, diag);
	*codec = depot_codec(&c->p->depot);
	if (roomy && codec->id == CODEC_ZSTD && codec->level < ZSTD_LEVEL)
		codec->level = ZSTD_LEVEL;
	return 0;
}

/*
 * No stream is open and the pool's own workers rest, so their shares are free.
 * As many threads as half of that has room for; the rest is for caches: of old
 * groups, of new ones that others are compressed against, of directories.
 */
static int split_memory(struct optimizing *c, struct optimize_options *o,
			size_t *old_groups, struct akin_diag *diag)
{
	const struct store_budget *b = &c->p->budget;
	size_t have = b->streams + b->groups + b->threads;
	size_t each = thread_bytes(c->p, o->session.codec, o->delta_depth);
	size_t nr = 1, need;

	if (have / 2 > SESSION_BYTES)
		nr = min_u64((have / 2 - SESSION_BYTES) / each,
			     c->p->nr_threads);
	o->nr_threads = (unsigned)max_u64(nr, 1);
	need = SESSION_BYTES + o->nr_threads * each + CACHES_MIN;
	if (need > have)
		return diag_set(diag, -AKIN_E_usage, "--memory: %zu MiB is too "
				"little for this; the least is %zu MiB",
				b->total / (size_t)MiB,
				(b->total + (need - have) * 2) / (size_t)MiB);
	have -= need - CACHES_MIN;
	*old_groups = have / 2;
	o->fresh_groups_bytes = have / 3;
	o->fresh_dirs_bytes = have / 6;
	return 0;
}

static int run(struct optimizing *c, struct akin_diag *diag)
{
	struct akin_pool *p = c->p;
	struct optimize_options o = {
		.depot = &p->depot,
		.catalog = p->catalog,
		.dec = &p->dec,
		.generation = store_generation,
		.generation_ctx = p,
		.data_hash = p->data_hash,
		.all = c->opt->all,
		.dry_run = c->opt->dry_run,
		.owner = owner,
		.stopped = stopped,
		.progress = c->opt->progress ? progress : NULL,
		.ctx = c,
	};
	struct codec_choice codec;
	struct optimize_result r;
	size_t old_groups = 0;
	int err;

	err = choose(c, &o, &codec, diag);
	if (!err)
		err = split_memory(c, &o, &old_groups, diag);
	if (err)
		return err;
	store_session_info(NULL, "optimize", &o.session.info);
	o.session.lock = store_lock_session;
	o.session.lock_ctx = p;
	o.session.view = p->view;
	o.session.verify = p->super.verify == SUPER_VERIFY_WRITE ?
				   SUPER_VERIFY_WRITE : SUPER_VERIFY_OFF;
	groupcache_set_budget(p->depot.groups, old_groups);
	err = optimize_run(&o, &r, diag);
	store_return_stream_memory(p);
	if (p->locked_session)
		store_unlock_session(p, p->locked_session);
	export_result(&r, c->out);
	if (!err && (r.damaged || r.unreadable))
		err = diag_set(diag, -AKIN_E_partial, "not everything could "
			       "be read; 'akin check' says what is damaged");
	return err;
}

int akin_optimize(struct akin_pool *p, const struct akin_optimize_options *opt,
		  struct akin_optimize_result *out, struct akin_diag *diag)
{
	struct optimizing c = { .p = p, .opt = opt, .out = out };
	u32 nr_reaped;
	int err = 0;

	memset(out, 0, sizeof(*out));
	c.start_ns = clock_ns();
	if (p->read_only && !opt->dry_run)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	if (!opt->dry_run) {
		err = catalog_reap_sessions(p->catalog, store_session_ended, p,
					    &nr_reaped, diag);
		if (!err)
			err = store_refresh_index(p, diag);
	}
	if (err >= 0)
		err = cost(&c, &out->before, diag);
	if (!err)
		err = run(&c, diag);
	if (!opt->dry_run && (!err || err == -AKIN_E_partial))
		cost_after(&c);
	return diag_said(diag, err);
}
