/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: checkpoints and the commit.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "ingest/session_internal.h"
#include "os/clock.h"

/*
 * A crash loses at most this much work: little of a session that has just
 * begun, which may be all that ever gets done in one go, and twice as much
 * after each checkpoint, up to the most. A checkpoint syncs a folder for each
 * container and two files, and leaves an index run: in 700 MB of noise the two
 * that come early cannot be measured.
 */
#define CHECKPOINT_FIRST_CONTAINERS 16
#define CHECKPOINT_CONTAINERS 256
#define SECOND_NS (1000ull * 1000 * 1000)
#define CHECKPOINT_FIRST_NS (10 * SECOND_NS)
#define CHECKPOINT_NS (60 * SECOND_NS)
/* Doublings after which both are at their most. */
#define CHECKPOINT_DOUBLINGS 4
static_assert(CHECKPOINT_FIRST_CONTAINERS << CHECKPOINT_DOUBLINGS >=
	      CHECKPOINT_CONTAINERS, "the most is reached");

static int add_range_locked(struct session *s, u64 number)
{
	struct number_range *p;
	u32 cap, i;

	/* Sealing order is nearly number order: look from the end. */
	for (i = s->nr_ranges; i > 0 && i + 8 > s->nr_ranges; i--) {
		p = &s->ranges[i - 1];
		if (p->first + p->nr == number) {
			p->nr++;
			return 0;
		}
	}
	if (s->nr_ranges == s->cap_ranges) {
		cap = s->cap_ranges ? s->cap_ranges * 2 : 16;
		p = mem_realloc(s->ranges, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		s->ranges = p;
		s->cap_ranges = cap;
	}
	s->ranges[s->nr_ranges].first = number;
	s->ranges[s->nr_ranges++].nr = 1;
	return 0;
}

int session_add_sealed_locked(struct session *s,
			      const struct container_sealed *sealed,
			      u64 ref_saved_bytes)
{
	struct counters *c = s->depot->counters;
	struct catalog_container *row;
	u32 cap;
	int err;

	if (s->nr_sealed == s->cap_sealed) {
		cap = s->cap_sealed ? s->cap_sealed * 2 : 32;
		row = mem_realloc(s->sealed, cap * sizeof(*row));
		if (!row)
			return -AKIN_E_nomem;
		s->sealed = row;
		s->cap_sealed = cap;
	}
	err = add_range_locked(s, sealed->number);
	if (err)
		return err;
	row = &s->sealed[s->nr_sealed++];
	memset(row, 0, sizeof(*row));
	row->number = sealed->number;
	row->generation = sealed->generation;
	row->kind = sealed->kind;
	row->session = s->info.number;
	row->file_bytes = sealed->file_bytes;
	row->dir_off = sealed->dir_off;
	row->dir_len = sealed->dir_len;
	row->nr_entries = sealed->nr_entries;
	row->raw_bytes = sealed->raw_bytes;
	row->saved_bytes = ref_saved_bytes;
	s->stats.nr_containers++;
	counters_add(c, containers_new, 1);
	if (sealed->kind == CONTAINER_DATA) {
		s->stats.stored_data += sealed->file_bytes;
		counters_add(c, data_stored, sealed->file_bytes);
	} else {
		s->stats.stored_meta += sealed->file_bytes;
		counters_add(c, metadata_stored, sealed->file_bytes);
	}
	return 0;
}

void session_drop_file(struct session *s, u64 number)
{
	depot_container_remove(s->depot, number, 0);
	/* The next session on this handle must not match what is in it. */
	dircache_forget(s->depot->dirs, number);
}

/* Sealed, but no checkpoint named them: nobody ever will. */
static void drop_sealed(struct session *s)
{
	u32 i;

	for (i = 0; i < s->nr_sealed; i++)
		session_drop_file(s, s->sealed[i].number);
	s->nr_sealed = 0;
}

void session_get_stats(struct session *s, struct session_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->stats;
	pthread_mutex_unlock(&s->lock);
	match_log_stats(&s->compared, out);
}

/* Notes why. */
static bool is_due_locked(struct session *s)
{
	u32 twice = (u32)min_u64(s->nr_checkpoints, CHECKPOINT_DOUBLINGS);
	u64 most_ns = min_u64(CHECKPOINT_NS, CHECKPOINT_FIRST_NS << twice);
	bool full, timed;

	full = s->nr_sealed >= min_u64(CHECKPOINT_CONTAINERS,
				       CHECKPOINT_FIRST_CONTAINERS << twice);
	timed = s->nr_sealed > 0 && clock_ns() - s->checkpoint_ns > most_ns;
	if (full || timed)
		s->checkpoint_cause = full ? CHECKPOINT_FULL : CHECKPOINT_TIMED;
	return full || timed;
}

bool session_checkpoint_due(struct session *s)
{
	bool due;

	pthread_mutex_lock(&s->lock);
	due = is_due_locked(s);
	pthread_mutex_unlock(&s->lock);
	return due;
}

/* Names of containers are durable when their folders are. */
static int sync_folders(struct depot *d, const struct catalog_container *rows,
			u32 nr, struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	bool done[256] = { false };
	u32 i;
	int err = 0;

	for (i = 0; !err && i < nr; i++) {
		if (done[rows[i].number & 0xff])
			continue;
		done[rows[i].number & 0xff] = true;
		format_container_name(rows[i].number, rows[i].generation,
				      name);
		*strrchr(name, '/') = 0;
		err = disk_sync_dir(d->data, name, diag);
	}
	return err;
}

/* What is sealed now, taken out of the session. */
static int take_sealed(struct session *s, struct catalog_container **rows_ret,
		       u32 *nr_ret, struct akin_diag *diag)
{
	int err;

	pthread_mutex_lock(&s->lock);
	err = session_error_locked(s, diag);
	if (!err) {
		*rows_ret = s->sealed;
		*nr_ret = s->nr_sealed;
		s->sealed = NULL;
		s->nr_sealed = 0;
		s->cap_sealed = 0;
	}
	s->checkpoint_ns = clock_ns();
	s->nr_checkpoints++;
	pthread_mutex_unlock(&s->lock);
	return err;
}

static int fill_runs(const struct index_changes *ch, u64 session,
		     struct catalog_run **out, struct akin_diag *diag)
{
	struct catalog_run *runs = mem_calloc(ch->nr_added, sizeof(*runs));
	u32 i;

	if (!runs)
		return diag_set(diag, -AKIN_E_nomem, "runs");
	for (i = 0; i < ch->nr_added; i++) {
		runs[i].number = ch->added[i].number;
		runs[i].tier = ch->added[i].tier;
		runs[i].nr_entries = ch->added[i].nr_entries;
		runs[i].file_bytes = ch->added[i].file_bytes;
		runs[i].session = session;
	}
	*out = runs;
	return 0;
}

/*
 * They are not published after all. Those that were sealed meanwhile may refer
 * to them and stay behind them; if there is no memory for that, nothing of this
 * session may be published any more.
 */
static void give_back(struct session *s, const struct catalog_container *rows,
		      u32 nr)
{
	struct catalog_container *p;

	pthread_mutex_lock(&s->lock);
	p = mem_realloc(s->sealed, (s->nr_sealed + nr) * sizeof(*p));
	if (p) {
		memmove(p + nr, p, s->nr_sealed * sizeof(*p));
		memcpy(p, rows, nr * sizeof(*p));
		s->sealed = p;
		s->nr_sealed += nr;
		s->cap_sealed = s->nr_sealed;
	} else {
		/* Left to the next reclaim. */
		session_fail_locked(s, -AKIN_E_nomem, NULL);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Whether they are published is not known: what refers to them must not be. */
static void give_up(struct session *s, int err, const struct akin_diag *diag)
{
	pthread_mutex_lock(&s->lock);
	session_fail_locked(s, err, diag);
	pthread_mutex_unlock(&s->lock);
}

/* How what is sealed is published: by a checkpoint, or */
struct publication {
	const struct snapshot *snap;	/* by the commit, or */
	const struct hint *hint;	/* as the new place of a snapshot: */
	u64 moved;
	bool moved_done;
	bool unsure;	/* out: it failed, but may have happened */
};

static int publish_delta(struct session *s, const struct catalog_delta *delta,
			 struct publication *p, struct akin_diag *diag)
{
	u64 txn;

	if (p->snap)
		return catalog_commit(s->catalog, s->info.number, delta,
				      p->snap, &txn, diag);
	if (p->hint)
		return catalog_rehint(s->catalog, s->info.number, delta,
				      p->moved, p->hint, &p->moved_done, diag);
	if (!delta->nr_containers && !delta->nr_runs)
		return 0;
	return catalog_checkpoint(s->catalog, s->info.number, delta, diag);
}

/* Everything sealed so far becomes part of the catalog. */
static int publish_locked(struct session *s, struct publication *p,
			  struct akin_diag *diag)
{
	struct catalog_delta delta = { 0 };
	struct catalog_container *rows = NULL;
	struct catalog_run *runs = NULL;
	struct catalog_reviver reviver = session_reviver(s);
	struct index_changes ch = { 0 };
	int err;

	err = take_sealed(s, &rows, &delta.nr_containers, diag);
	if (!err && !p->snap)	/* the commit has done so already */
		err = sync_folders(s->depot, rows, delta.nr_containers, diag);
	if (!err)
		err = index_flush(s->depot->index, &ch, diag);
	if (!err)
		err = fill_runs(&ch, s->info.number, &runs, diag);
	if (err)
		goto out;
	delta.containers = rows;
	delta.runs = runs;
	delta.nr_runs = ch.nr_added;
	if (s->view)
		delta.reviver = &reviver;
	err = publish_delta(s, &delta, p, diag);
	p->unsure = akin_error_class(err) == AKIN_CLASS_IO;
out:
	if (err && !p->unsure) {
		index_unflush(s->depot->index, &ch);
		if (delta.nr_containers)
			give_back(s, rows, delta.nr_containers);
	} else if (err) {
		give_up(s, err, diag);
	}
	index_changes_release(&ch);
	mem_free(rows);
	mem_free(runs);
	return err;
}

static int publish(struct session *s, struct publication *p,
		   struct akin_diag *diag)
{
	int err;

	pthread_mutex_lock(&s->publish_lock);
	err = publish_locked(s, p, diag);
	pthread_mutex_unlock(&s->publish_lock);
	return err;
}

/* Time that is spent here is shown while it passes. */
static u64 begin_commit(struct session *s)
{
	u64 now = clock_ns();

	counters_set(s->depot->counters, commit_begun, now);
	return now;
}

static void end_commit(struct session *s, u64 begun)
{
	counters_set(s->depot->counters, commit_begun, 0);
	counters_add(s->depot->counters, commit_ns, clock_ns() - begun);
}

static void count_checkpoint(struct session *s)
{
	enum checkpoint_cause cause;

	pthread_mutex_lock(&s->lock);
	cause = s->checkpoint_cause;
	s->checkpoint_cause = CHECKPOINT_OTHER;
	pthread_mutex_unlock(&s->lock);
	counters_add(s->depot->counters, checkpoints, 1);
	counters_add(s->depot->counters, checkpoints_timed,
		     cause == CHECKPOINT_TIMED);
	counters_add(s->depot->counters, checkpoints_full,
		     cause == CHECKPOINT_FULL);
}

int session_checkpoint(struct session *s, struct akin_diag *diag)
{
	struct publication p = { 0 };
	u64 begun = begin_commit(s);
	int err;

	err = publish(s, &p, diag);
	if (!err)
		count_checkpoint(s);
	end_commit(s, begun);
	return err;
}

/* Sealer thread. */
static void checkpoint_one(struct work *work, void *thread_ctx)
{
	struct session *s = container_of(work, struct session,
					 checkpoint_work);
	struct akin_diag diag = { 0 };
	int err;

	err = session_checkpoint(s, &diag);
	pthread_mutex_lock(&s->lock);
	if (err)
		session_fail_locked(s, err, &diag);
	s->checkpoint_queued = false;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void session_checkpoint_later(struct session *s)
{
	bool queue;

	pthread_mutex_lock(&s->lock);
	queue = !s->checkpoint_queued && !s->err && is_due_locked(s);
	if (queue)
		s->checkpoint_queued = true;
	pthread_mutex_unlock(&s->lock);
	if (!queue)
		return;
	s->checkpoint_work.run = checkpoint_one;
	workers_queue(s->sealer, &s->checkpoint_work);
}

/* Every container opened by a stream has been sealed or has failed, and what
 * was to be published before has been. */
static int wait_sealed(struct session *s, struct akin_diag *diag)
{
	int err;

	pthread_mutex_lock(&s->lock);
	while (s->nr_open > 0 || s->nr_jobs > 0 || s->checkpoint_queued)
		pthread_cond_wait(&s->changed, &s->lock);
	err = session_error_locked(s, diag);
	pthread_mutex_unlock(&s->lock);
	return err;
}

int session_settle(struct session *s, struct akin_diag *diag)
{
	return wait_sealed(s, diag);
}

int session_rehint(struct session *s, u64 snapshot, const struct hint *hint,
		   bool *done_ret, struct akin_diag *diag)
{
	struct publication p = { .hint = hint, .moved = snapshot };
	u64 begun = begin_commit(s);
	int err;

	err = publish(s, &p, diag);
	if (!err)
		count_checkpoint(s);
	end_commit(s, begun);
	*done_ret = p.moved_done;
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct number_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Ascending and without neighbours that could be one. */
static void tidy_ranges(struct session *s)
{
	u32 i, n = 0;

	if (s->nr_ranges == 0)
		return;
	qsort(s->ranges, s->nr_ranges, sizeof(*s->ranges), compare_ranges);
	for (i = 1; i < s->nr_ranges; i++) {
		if (s->ranges[n].first + s->ranges[n].nr ==
		    s->ranges[i].first)
			s->ranges[n].nr += s->ranges[i].nr;
		else
			s->ranges[++n] = s->ranges[i];
	}
	s->nr_ranges = n + 1;
}

static int write_record(struct session *s, const struct snapshot *snap,
			struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	struct buf b = { 0 };
	int err;

	err = snapshot_encode(snap, &b);
	if (err) {
		err = diag_set(diag, err, "snapshot record: %s",
			       akin_strerror(err));
	} else {
		format_snapshot_name(snap->number, name);
		err = disk_write_file(s->depot->data, name, b.data, b.len,
				      diag);
	}
	buf_release(&b);
	return err;
}

/* Of a snapshot that was certainly not committed: best effort. */
static void drop_record(struct session *s)
{
	char name[FORMAT_NAME_MAX];

	format_snapshot_name(s->info.snapshot, name);
	ignore_result(disk_unlink(s->depot->data, name, NULL));
}

int session_commit(struct session *s, struct snapshot *snap,
		   struct akin_diag *diag)
{
	struct publication p = { .snap = snap };
	u64 begun;
	int err;

	akin_assert(!s->ended);
	err = wait_sealed(s, diag);
	if (err)
		return err;
	begun = begin_commit(s);
	tidy_ranges(s);
	snap->pool = s->depot->super.pool;
	snap->number = s->info.snapshot;
	snap->session = s->info.number;
	snap->containers = s->ranges;
	snap->nr_containers = s->nr_ranges;
	snap->counts.bytes_stored = s->stats.stored_data;
	snap->counts.bytes_meta = s->stats.stored_meta;
	/* The record claims its containers' names: these come first. */
	err = sync_folders(s->depot, s->sealed, s->nr_sealed, diag);
	if (!err)
		err = write_record(s, snap, diag);
	if (!err)
		err = publish(s, &p, diag);
	if (err && !p.unsure)
		drop_record(s);
	counters_add(s->depot->counters, commits, !err);
	end_commit(s, begun);
	snap->containers = NULL;
	snap->nr_containers = 0;
	s->ended = !err;
	return err;
}

int session_merge_runs(struct session *s, struct akin_diag *diag)
{
	struct catalog_delta delta = { 0 };
	struct index_changes ch = { 0 };
	struct catalog_run *runs = NULL;
	int err = 0;

	/* Others may have merged what we know. */
	if (s->depot->refresh)
		err = s->depot->refresh(s->depot->refresh_ctx, diag);
	if (err >= 0)
		err = index_merge(s->depot->index, NULL, NULL, &ch, diag);
	if (!err && ch.nr_added + ch.nr_dead > 0) {
		err = fill_runs(&ch, s->info.number, &runs, diag);
		delta.runs = runs;
		delta.nr_runs = ch.nr_added;
		delta.dead_runs = ch.dead;
		delta.nr_dead_runs = ch.nr_dead;
		if (!err)
			err = catalog_replace_runs(s->catalog, &delta, diag);
		if (!err)
			err = index_merged(s->depot->index, &ch, diag);
		else if (akin_error_class(err) != AKIN_CLASS_IO)
			/* Not for sure otherwise: then it is an orphan. */
			index_unmerge(s->depot->index, &ch);
	}
	mem_free(runs);
	index_changes_release(&ch);
	return err;
}

int session_complete(struct session *s, struct akin_diag *diag)
{
	int err;

	akin_assert(!s->ended);
	err = wait_sealed(s, diag);
	if (err)
		return err;
	drop_sealed(s);
	err = catalog_complete(s->catalog, s->info.number, diag);
	s->ended = !err;
	return err;
}

int session_end(struct session *s, bool keep, struct akin_diag *diag)
{
	int err;

	if (s->ended)
		return 0;
	s->ended = true;
	err = wait_sealed(s, keep ? diag : NULL);
	if (!err && keep)
		err = session_checkpoint(s, diag);
	if (err || !keep) {
		drop_sealed(s);
		index_discard(s->depot->index);
	}
	if (catalog_session_end(s->catalog, s->info.number, err ? NULL : diag)
	    && !err)
		err = diag ? diag->code : -AKIN_E_catalog;
	return err;
}
