/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each work item reads one group and queues itself again, so that groups to be
 * compressed get their turn in between.
 */
#include <pthread.h>

#include "ingest/read_back.h"

/* So many groups at a time keep the workers busy, and any disk. */
#define MAX_READERS 8

struct reading {
	struct depot *depot;
	struct container_reader *reader;

	pthread_mutex_t lock;	/* guards all below */
	pthread_cond_t ended;
	u32 next, nr_running;
	int err;
	struct akin_diag why;
};

struct read_work {
	struct work work;
	struct reading *r;
};

/* Another group? */
static bool take(struct reading *r, u32 *index_ret)
{
	bool more;

	pthread_mutex_lock(&r->lock);
	more = !r->err &&
	       r->next < container_directory(r->reader)->nr_groups;
	if (more)
		*index_ret = r->next++;
	/* It lies on the waiting thread's stack: gone after the unlock. */
	else if (--r->nr_running == 0)
		pthread_cond_signal(&r->ended);
	pthread_mutex_unlock(&r->lock);
	return more;
}

static void read_one(struct work *work, void *thread_ctx)
{
	struct read_work *rw = container_of(work, struct read_work, work);
	struct reading *r = rw->r;
	struct workers *ws = r->depot->workers;
	struct group_test test = { 0 };
	struct akin_diag why = { 0 };
	u32 index;
	int err;

	if (!take(r, &index))
		return;
	err = groupcache_test(r->depot->groups, thread_ctx, r->reader, index,
			      &test, &why);
	counters_add(r->depot->counters, groups_read_back, 1);
	if (err) {
		pthread_mutex_lock(&r->lock);
		if (!r->err)
			r->why = why;
		r->err = err;
		pthread_mutex_unlock(&r->lock);
	}
	workers_queue(ws, work);
}

static bool same_entry(const struct dir_entry *a, const struct dir_entry *b)
{
	return fp_equal(&a->fp, &b->fp) && a->entry == b->entry &&
	       a->len == b->len && a->group == b->group &&
	       a->fp_salt == b->fp_salt;
}

/* Its own checksums say that it is some directory; is it ours? */
static int compare_directory(const struct directory *want,
			     const struct directory *got,
			     struct akin_diag *diag)
{
	bool same = want->nr_entries == got->nr_entries &&
		    want->nr_groups == got->nr_groups &&
		    want->kind == got->kind;
	u32 i;

	for (i = 0; same && i < want->nr_entries; i++)
		same = same_entry(&want->entries[i], &got->entries[i]);
	for (i = 0; same && i < want->nr_groups; i++)
		same = want->groups[i].off == got->groups[i].off &&
		       want->groups[i].len == got->groups[i].len;
	return same ? 0 : diag_set(diag, -AKIN_E_bad_identity, "container "
				   "%llu: another directory",
				   (unsigned long long)want->container);
}

static int read_groups(struct depot *d, struct container_reader *reader,
		       struct akin_diag *diag)
{
	struct reading r = { .depot = d, .reader = reader };
	struct read_work works[MAX_READERS];
	u32 i;

	r.nr_running = (u32)min_u64(workers_nr(d->workers), MAX_READERS);
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.ended, NULL);
	for (i = r.nr_running; i-- > 0;) {
		works[i] = (struct read_work){ .work.run = read_one, .r = &r };
		workers_queue(d->workers, &works[i].work);
	}
	pthread_mutex_lock(&r.lock);
	while (r.nr_running > 0)
		pthread_cond_wait(&r.ended, &r.lock);
	pthread_mutex_unlock(&r.lock);
	pthread_cond_destroy(&r.ended);
	pthread_mutex_destroy(&r.lock);
	if (!r.err)
		return 0;
	return diag_set(diag, r.err, "%s", r.why.code ? r.why.text :
			akin_strerror(r.err));
}

int read_back(struct depot *d, struct container_writer *w,
	      struct akin_diag *diag)
{
	struct container_reader *reader;
	struct container_header header;
	int err;

	container_writer_drop_cache(w);
	err = container_open(d->data, &d->super.pool,
			     container_writer_number(w), 0, &reader, diag);
	if (!err) {
		err = container_check_header(reader, &header, diag);
		if (!err)
			err = compare_directory(container_writer_directory(w),
						container_directory(reader),
						diag);
		if (!err)
			err = read_groups(d, reader, diag);
		container_close(reader);
	}
	if (err)
		diag_prefix(diag, "read back after writing");
	return err;
}
