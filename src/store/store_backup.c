/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning and ending a backup.
 */
#include <pwd.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "ingest/match_log.h"
#include "os/clock.h"
#include "os/random.h"
#include "source/source.h"
#include "store/store_backup.h"

#define PROGRESS_NS (200 * 1000 * 1000)

struct backup_token *backup_token_new(struct akin_diag *diag)
{
	struct backup_token *t = mem_zalloc(sizeof(*t));

	if (!t)
		diag_set(diag, -AKIN_E_nomem, "node");
	return t;
}

void backup_token_free(struct backup_token *t)
{
	if (!t)
		return;
	if (t->from_source)
		source_node_release(&t->node);
	else
		node_release(&t->node);
	mem_free(t->hint.containers);
	mem_free(t);
}

void backup_warn(struct backup *b, const char *path, int code,
		 const char *text)
{
	bool vanished = code == -AKIN_E_source_vanished;

	/* What was removed meanwhile is no damage to anybody. */
	if (!vanished)
		atomic_fetch_add(&b->warnings, 1);
	counters_add(b->p->counters, warnings, !vanished);
	if (b->opt->warning)
		b->opt->warning(b->opt->ctx, path, code, text, vanished);
}

void backup_current(struct backup *b, const char *path)
{
	size_t n = strlen(path);

	if (!b->have_progress)
		return;
	/* The end of a long path says more than its beginning. */
	if (n >= sizeof(b->current)) {
		path += n - sizeof(b->current) + 1;
		n = sizeof(b->current) - 1;
	}
	pthread_mutex_lock(&b->lock);
	memcpy(b->current, path, n + 1);
	pthread_mutex_unlock(&b->lock);
}

static void sleep_until(u64 ns)
{
	u64 now = clock_ns();
	struct timespec ts;

	if (now >= ns)
		return;
	ns = min_u64(ns - now, 100 * 1000 * 1000);
	ts.tv_sec = (time_t)(ns / 1000000000);
	ts.tv_nsec = (long)(ns % 1000000000);
	nanosleep(&ts, NULL);
}

static u64 due_ns(u64 start, u64 bytes, u64 rate)
{
	return rate ? start + (u64)((double)bytes / (double)rate * 1e9) : 0;
}

int backup_pace(struct backup *b, u64 n, struct akin_diag *diag)
{
	struct session_stats st;
	u64 due;
	int err;

	atomic_fetch_add(&b->bytes_read, n);
	for (;;) {
		err = store_check_stop(b->p, diag);
		if (err)
			return err;
		if (!b->opt->limit_read && !b->opt->limit_write)
			return 0;
		session_get_stats(b->session, &st);
		due = max_u64(due_ns(b->start_ns, b->bytes_read,
				     b->opt->limit_read),
			      due_ns(b->start_ns, st.stored_data +
				     st.stored_meta, b->opt->limit_write));
		if (clock_ns() >= due)
			return 0;
		sleep_until(due);
	}
}

static void fill_progress(struct backup *b, struct akin_progress *out)
{
	struct ingest_counts c = { 0 };
	struct session_stats st = { 0 };

	memset(out, 0, sizeof(*out));
	if (b->stream)
		ingest_get_counts(b->stream, &c);
	if (b->session)
		session_get_stats(b->session, &st);
	out->files = b->files;
	out->dirs = b->dirs;
	out->others = b->others;
	out->files_unchanged = b->unchanged;
	out->bytes = c.bytes + b->bytes_kept;
	out->bytes_read = b->bytes_read;
	out->bytes_new = c.bytes_new;
	out->bytes_stored = st.stored_data + st.stored_meta;
	out->files_total = b->files_total;
	out->bytes_total = b->bytes_total;
	out->warnings = b->warnings;
	out->elapsed_ns = clock_ns() - b->start_ns;
}

/* Returns early when the backup is done: nobody waits for the next report.
 * Called with the lock held. */
static void wait_for_report(struct backup *b)
{
	u64 due = clock_ns() + PROGRESS_NS;
	struct timespec ts = { .tv_sec = (time_t)(due / 1000000000),
			       .tv_nsec = (long)(due % 1000000000) };
	int err = 0;

	while (!b->done && !err)
		err = pthread_cond_timedwait(&b->ended, &b->lock, &ts);
}

static void *progress_main(void *arg)
{
	struct backup *b = arg;
	struct akin_progress pr;
	char current[sizeof(b->current)];

	pthread_mutex_lock(&b->lock);
	while (!b->done) {
		memcpy(current, b->current, sizeof(current));
		pthread_mutex_unlock(&b->lock);
		fill_progress(b, &pr);
		pr.current = current;
		b->opt->progress(b->opt->ctx, &pr);
		pthread_mutex_lock(&b->lock);
		wait_for_report(b);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void init_progress(struct backup *b)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->ended, &attr);
	pthread_condattr_destroy(&attr);
}

static int dup_list(const char *const *in, u32 nr, char ***out, u32 *nr_ret)
{
	char **p = mem_calloc(nr, sizeof(*p));
	u32 i;

	if (!p)
		return -AKIN_E_nomem;
	*out = p;
	for (i = 0; i < nr; i++) {
		p[i] = mem_strdup(in[i]);
		if (!p[i])
			return -AKIN_E_nomem;
		(*nr_ret)++;
	}
	return 0;
}

static void user_name(char *out, size_t n)
{
	struct passwd pw, *found = NULL;
	char tmp[4096];

	if (getpwuid_r(geteuid(), &pw, tmp, sizeof(tmp), &found) == 0 && found)
		snprintf(out, n, "%s", pw.pw_name);
	else
		snprintf(out, n, "%u", (unsigned)geteuid());
}

void store_session_info(const char *host, const char *command,
			struct catalog_session *out)
{
	if (host)
		snprintf(out->host, sizeof(out->host), "%s", host);
	else if (gethostname(out->host, sizeof(out->host) - 1))
		snprintf(out->host, sizeof(out->host), "localhost");
	user_name(out->user, sizeof(out->user));
	snprintf(out->command, sizeof(out->command), "%s", command);
	out->pid = (u32)getpid();
}

static int fill_snapshot(struct backup *b, const char *const *paths,
			 u32 nr_paths, const struct catalog_session *info,
			 struct akin_diag *diag)
{
	struct snapshot *s = &b->snap;
	struct tm tm;
	time_t t;
	int err;

	clock_wall(&s->time_sec, &s->time_nsec);
	t = (time_t)s->time_sec;
	if (localtime_r(&t, &tm))
		s->utc_offset_sec = (s32)tm.tm_gmtoff;
	s->host = mem_strdup(info->host);
	s->user = mem_strdup(info->user);
	s->command = mem_strdup(b->opt->command ? b->opt->command : "");
	err = s->host && s->user && s->command ? 0 : -AKIN_E_nomem;
	if (!err)
		err = dup_list(paths, nr_paths, &s->paths, &s->nr_paths);
	if (!err)
		err = dup_list(b->opt->tags, b->opt->nr_tags, &s->tags,
			       &s->nr_tags);
	if (err)
		return diag_set(diag, err, "snapshot");
	return random_bytes(s->id, sizeof(s->id), diag);
}

/* Host and paths in one digest: what makes two backups a series. */
static int paths_key(struct backup *b, const char *host,
		     const char *const *paths, u32 nr, char out[65],
		     struct akin_diag *diag)
{
	struct buf all = { 0 };
	struct fp fp;
	u32 i;

	buf_put(&all, host, strlen(host) + 1);
	for (i = 0; i < nr; i++)
		buf_put(&all, paths[i], strlen(paths[i]) + 1);
	if (buf_error(&all)) {
		buf_release(&all);
		return diag_set(diag, -AKIN_E_nomem, "paths");
	}
	hasher_one(b->p->depot.meta_hasher, all.data, all.len, &fp);
	store_hex(fp.b, sizeof(fp.b), out);
	buf_release(&all);
	return 0;
}

static int add_node(struct backup *b, struct backup_token *t,
		    const struct hint *hint, struct akin_diag *diag)
{
	return tree_builder_add(b->tree, &t->node, hint, diag);
}

/* Stream's thread: an object's content is known. */
static int on_object(void *ctx, void *token, const struct content *ct,
		     const struct hint *hint, struct akin_diag *diag)
{
	struct backup_token *t = token;
	struct backup *b = ctx;
	int err;

	t->node.content = *ct;
	t->node.size = ct->bytes;
	err = add_node(b, t, hint, diag);
	backup_token_free(t);
	return err;
}

static int end_dir(struct backup *b, struct backup_token *t,
		   struct akin_diag *diag)
{
	struct hintset hint = { 0 };
	struct content ct;
	int err;

	err = tree_builder_end(b->tree, &ct, &hint, diag);
	if (!err && t) {
		t->node.content = ct;
		err = add_node(b, t, &hint.hint, diag);
	} else if (!err) {
		b->snap.root = ct;
		hintset_add_all(&b->root_hint, &hint.hint);
	}
	hintset_release(&hint);
	return err;
}

/* Stream's thread: a mark has been reached. */
static int on_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	struct backup_token *t = token;
	struct backup *b = ctx;
	int err = 0;

	switch (what) {
	case MARK_DIR_BEGIN:
		err = tree_builder_begin(b->tree, diag);
		break;
	case MARK_DIR_END:
		err = end_dir(b, t, diag);
		break;
	case MARK_NODE:
		err = add_node(b, t, NULL, diag);
		break;
	case MARK_KEPT:
		err = add_node(b, t, &t->hint, diag);
		break;
	}
	backup_token_free(t);
	return err;
}

static void on_drop(void *ctx, int what, void *token)
{
	struct backup *b = ctx;

	/* Marks have numbers. */
	if (what || !b->object_done)
		backup_token_free(token);
}

static void say_waiting(void *ctx, const char *text)
{
	struct backup *b = ctx;

	if (b->opt->waiting)
		b->opt->waiting(b->opt->ctx, text);
}

static void say_notice(void *ctx, const char *text)
{
	struct backup *b = ctx;

	b->opt->notice(b->opt->ctx, text);
}

/*
 * What the index has lost would be stored again, and a rebuild reads some 35
 * bytes a chunk: so it comes first.
 */
static int tidy_index(struct backup *b, struct akin_diag *diag)
{
	int err;

	if (b->opt->dry_run)
		return 0;
	store_sweep(b->p);
	err = store_mend_index(b->p, say_waiting, b, diag);
	b->index_given_up = err > 0;
	return err < 0 ? err : 0;
}

static void settle_similar(struct backup *b)
{
	struct similar_stats st;

	if (!b->p->depot.similar)
		return;
	similar_get_stats(b->p->depot.similar, &st);
	b->similar_bytes = st.bytes;
	store_similar_close(b->p, true);
}

/* The snapshot is safe: whatever fails here, the next backup tries again. */
static void settle_index(struct backup *b)
{
	settle_similar(b);
	b->p->reserve_session = 0;	/* it has committed */
	ignore_result(session_merge_runs(b->session, NULL));
	/* Bad pages show only when they are read. */
	if (!b->index_given_up)
		ignore_result(store_mend_index(b->p, say_waiting, b, NULL));
}

int backup_open_stream(struct backup *b, bool threaded,
		       struct ingest_stream **out, struct akin_diag *diag)
{
	struct ingest_options iopt = { .threaded = threaded,
				       .dry_run = b->opt->dry_run,
				       .name = b->snap.nr_paths ?
					       b->snap.paths[0] : "",
				       .object_done = b->object_done ?
					       b->object_done : on_object,
				       .mark = on_mark, .drop = on_drop,
				       .ctx = b };

	return ingest_stream_open(b->session, &iopt, out, diag);
}

static int open_parts(struct backup *b, const struct session_options *sopt,
		      struct akin_diag *diag)
{
	int err;

	err = session_begin(&b->p->depot, b->p->catalog, sopt, &b->session,
			    diag);
	if (err)
		return err;
	b->p->reserve_session = session_number(b->session);
	err = tidy_index(b, diag);
	if (!err)
		err = backup_open_stream(b, true, &b->stream, diag);
	if (!err)
		err = tree_builder_new(ingest_store_piece, b->stream,
				       &b->tree, diag);
	if (!err)
		err = ingest_mark(b->stream, MARK_DIR_BEGIN, NULL, diag);
	if (!err && b->opt->progress) {
		err = pthread_create(&b->progress_thread, NULL, progress_main,
				     b);
		b->have_progress = !err;
		if (err)
			err = diag_set_errno(diag, -AKIN_E_nomem, err,
					     "starting a thread");
	}
	return err;
}

static_assert(AKIN_DELTA_DEPTH_MAX == SESSION_DELTA_DEPTH_MAX,
	      "what is offered must be what is done");

static int choose_depth(struct akin_pool *p,
			const struct akin_backup_options *opt,
			struct session_options *sopt, struct akin_diag *diag)
{
	if (opt->delta_depth < AKIN_DELTA_NONE ||
	    opt->delta_depth > AKIN_DELTA_DEPTH_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"delta depth: from 0 to %d",
				AKIN_DELTA_DEPTH_MAX);
	sopt->vary_depth = true;
	if (!opt->delta_depth)
		sopt->delta_depth = p->super.delta_depth;
	else if (opt->delta_depth > 0)
		sopt->delta_depth = (u8)opt->delta_depth;
	return 0;
}

int backup_begin(struct backup *b, struct akin_pool *p,
		 const struct akin_backup_options *opt,
		 const char *const *paths, u32 nr_paths,
		 struct akin_diag *diag)
{
	struct session_options sopt = { 0 };
	struct codec_choice codec;
	u32 nr_reaped;
	int err;

	b->p = p;
	b->opt = opt;
	b->start_ns = clock_ns();
	init_progress(b);
	if (p->read_only)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	if (opt->verify > AKIN_VERIFY_WRITE)
		return diag_set(diag, -AKIN_E_usage, "no such verification");
	if (opt->engine > AKIN_ENGINE_HYBRID)
		return diag_set(diag, -AKIN_E_usage, "no such engine");
	b->engine = opt->engine ? (u8)(opt->engine - 1) : p->super.engine;
	if (opt->compression) {
		err = codec_parse(opt->compression, &codec, diag);
		if (err)
			return err;
		sopt.codec = &codec;
	}
	store_session_info(opt->host, opt->command ? opt->command : "backup",
			   &sopt.info);
	err = choose_depth(p, opt, &sopt, diag);
	if (err)
		return err;
	sopt.lock = store_lock_session;
	sopt.lock_ctx = p;
	sopt.view = p->view;
	sopt.verify = opt->verify ? (u8)(opt->verify - 1) : p->super.verify;
	sopt.notice = opt->notice ? say_notice : NULL;
	sopt.notice_ctx = b;
	sopt.memory_bytes = store_take_stream_memory(p, sopt.verify !=
						     SUPER_VERIFY_OFF,
						     sopt.delta_depth) -
			    store_similar_memory(p, b->engine) - b->set_aside;
	err = fill_snapshot(b, paths, nr_paths, &sopt.info, diag);
	if (!err)
		err = paths_key(b, sopt.info.host, paths, nr_paths,
				sopt.info.paths_key, diag);
	if (!err)
		err = catalog_reap_sessions(p->catalog, store_session_ended,
					    p, &nr_reaped, diag);
	/* What others have stored since the pool was opened is matched too. */
	if (!err)
		err = store_refresh_index(p, diag);
	if (err >= 0)
		err = store_similar_open(p, b->engine, say_waiting, b, diag);
	if (!err)
		err = open_parts(b, &sopt, diag);
	return err;
}

static void fill_counts(struct backup *b, const struct ingest_counts *c)
{
	struct snapshot_counts *to = &b->snap.counts;

	to->files = b->files;
	to->dirs = b->dirs;
	to->others = b->others;
	to->bytes = c->bytes + b->bytes_kept;
	to->bytes_read = b->bytes_read;
	to->chunks = c->chunks;
	to->chunks_new = c->chunks_new;
	to->bytes_new = c->bytes_new;
	to->warnings = b->warnings;
	to->duration_ns = clock_ns() - b->start_ns;
	if (b->warnings)
		b->snap.flags |= SNAPSHOT_PARTIAL;
}

static void add_counts(struct ingest_counts *to,
		       const struct ingest_counts *more)
{
	to->bytes += more->bytes;
	to->bytes_data += more->bytes_data;
	to->bytes_new += more->bytes_new;
	to->chunks += more->chunks;
	to->chunks_new += more->chunks_new;
}

static int commit(struct backup *b, struct ingest_counts *counts,
		  struct akin_diag *diag)
{
	int err, err2;

	err = ingest_mark(b->stream, MARK_DIR_END, NULL, diag);
	if (!err)
		err = ingest_drain(b->stream, diag);
	ingest_get_counts(b->stream, counts);
	add_counts(counts, &b->more);
	err2 = ingest_stream_close(b->stream, diag);
	b->stream = NULL;
	if (!err)
		err = err2;
	if (!err)
		err = store_check_stop(b->p, diag);
	if (err)
		return err;
	fill_counts(b, counts);
	if (b->opt->dry_run)
		return session_end(b->session, false, diag);
	match_log_settle(b->session);
	b->snap.root_hint = b->root_hint.hint;
	err = session_commit(b->session, &b->snap, diag);
	memset(&b->snap.root_hint, 0, sizeof(b->snap.root_hint));
	if (!err)
		settle_index(b);
	return err;
}

static void stop_progress(struct backup *b)
{
	pthread_mutex_lock(&b->lock);
	b->done = true;
	pthread_cond_signal(&b->ended);
	pthread_mutex_unlock(&b->lock);
	if (b->have_progress)
		pthread_join(b->progress_thread, NULL);
	b->have_progress = false;
}

static void release(struct backup *b)
{
	b->p->reserve_session = 0;
	/* Also one that was locked and then failed to begin. */
	if (b->p->locked_session)
		store_unlock_session(b->p, b->p->locked_session);
	session_free(b->session);
	/* Its threads used the table. */
	store_similar_close(b->p, false);
	store_return_stream_memory(b->p);
	tree_builder_free(b->tree);
	hintset_release(&b->root_hint);
	snapshot_release(&b->snap);
	pthread_cond_destroy(&b->ended);
	pthread_mutex_destroy(&b->lock);
}

static void fill_result(struct backup *b, const struct ingest_counts *c,
			struct akin_backup_result *out)
{
	struct session_stats st;

	session_get_stats(b->session, &st);
	memset(out, 0, sizeof(*out));
	out->chunks_compared = st.chunks_compared;
	out->chunks_collided = st.chunks_collided;
	out->bytes_referring = st.ref_raw_bytes;
	out->bytes_saved_referring = st.ref_saved_bytes;
	out->chunks_unreadable = st.chunks_unreadable;
	out->engine = (enum akin_engine)(b->engine + 1);
	out->similar_bytes = b->similar_bytes;
	out->chunks_resembling = c->chunks_resembling;
	out->number = b->snap.number;
	if (out->number)	/* 0: a dry run */
		store_id_export(b->snap.id, out->id);
	store_id_export(b->snap.parent, out->parent);
	out->chunks = c->chunks;
	out->chunks_new = c->chunks_new;
	fill_progress(b, &out->total);
	out->total.bytes = c->bytes + b->bytes_kept;
	out->total.bytes_new = c->bytes_new;
}

/* Which file system, and what helps. */
static void hint_full(struct akin_pool *p, struct akin_diag *diag)
{
	if (!diag || !p->path || !strstr(diag->text, "data pool: "))
		return;
	diag_hint(diag, "The file system of %s/%s is full. 'akin forget' and "
		  "'akin gc' make room there, also then.", p->path,
		  strstr(diag->text, "metadata pool: ") ? "meta" : "data");
}

int backup_finish(struct backup *b, int err, struct akin_backup_result *out,
		  struct akin_diag *diag)
{
	struct ingest_counts counts = { 0 };
	bool keep;

	stop_progress(b);
	if (!err)
		err = commit(b, &counts, diag);
	if (err && b->stream)
		/* The first error is what counts. */
		ignore_result(ingest_stream_close(b->stream, NULL));
	b->stream = NULL;
	/* On request or for want of a source: the next run finds what is here.
	 * For want of space it finds the last checkpoint. */
	keep = akin_error_class(err) == AKIN_CLASS_INTERRUPTED ||
	       akin_error_class(err) == AKIN_CLASS_SOURCE;
	if (err && b->session)
		ignore_result(session_end(b->session, keep, NULL));
	if (!err)
		fill_result(b, &counts, out);
	ignore_result(diag_said(diag, err));
	if (akin_error_class(err) == AKIN_CLASS_NOSPACE)
		hint_full(b->p, diag);
	if (!err && b->warnings)
		err = -AKIN_E_partial;
	release(b);
	return err;
}
