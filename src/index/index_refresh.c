/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following the catalog, and forgetting what it will never name.
 *
 * Other processes add runs and merge them. Whoever merges commits the new
 * manifest and then unlinks the old files at once; nobody waits for readers.
 * So a reader may find that a file of its (older) manifest is gone. It then
 * reads the manifest again: the commit came before the unlinking, so what
 * replaces the file is in there. A file that is open stays readable.
 *
 *	named		in some manifest we have read; goes when one does not
 *			have it any more
 *	not named	ours, written since; stays until its file is gone
 */
#include "base/mem.h"
#include "index/index_internal.h"

static bool names(const struct index_run *runs, u32 nr, u64 number)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (runs[i].number == number)
			return true;
	return false;
}

static void free_fresh(struct run_file **fresh, u32 nr)
{
	u32 i;

	for (i = 0; fresh && i < nr; i++)
		run_file_put(fresh[i]);
	mem_free(fresh);
}

/* One run_file for each run of the manifest; most will not be needed. */
static struct run_file **make_fresh(const struct index_run *runs, u32 nr)
{
	struct run_file **fresh = mem_calloc(nr, sizeof(struct run_file *));
	u32 i;

	for (i = 0; fresh && i < nr; i++) {
		fresh[i] = run_file_new(&runs[i]);
		if (!fresh[i]) {
			free_fresh(fresh, nr);
			return NULL;
		}
		fresh[i]->named = true;
	}
	return fresh;
}

static void drop_unnamed_locked(struct index *ix, const struct index_run *runs,
				u32 nr, const struct run_file *gone)
{
	struct run_file *r;
	u32 n = 0, i;

	for (i = 0; i < ix->nr_runs; i++) {
		r = ix->runs[i];
		if (names(runs, nr, r->info.number))
			r->named = true;
		else if (r->named || r == gone) {
			run_file_put(r);
			continue;
		}
		ix->runs[n++] = r;
	}
	ix->nr_runs = n;
}

/* @ix->load_lock is held. */
static int apply(struct index *ix, const struct index_run *runs, u32 nr,
		 const struct run_file *gone)
{
	struct run_file **fresh = make_fresh(runs, nr);
	bool grown = false;
	u32 i;
	int err;

	if (!fresh)
		return -AKIN_E_nomem;
	pthread_rwlock_wrlock(&ix->lock);
	err = index_runs_reserve_locked(ix, nr);
	if (!err)
		drop_unnamed_locked(ix, runs, nr, gone);
	for (i = 0; !err && i < nr; i++) {
		if (index_runs_find_locked(ix, runs[i].number))
			continue;
		index_runs_insert_locked(ix, fresh[i]);
		fresh[i] = NULL;
		grown = true;
	}
	pthread_rwlock_unlock(&ix->lock);
	if (grown) {
		ix->load_level = RUN_LEVELS;
		atomic_store(&ix->load_done, false);
	}
	free_fresh(fresh, nr);
	return err;
}

/* Under @ix->load_lock all the while, or an older manifest might be applied
 * after a newer one. *named_ret: it has @gone. */
static int reload_locked(struct index *ix, const struct run_file *gone,
			 bool *named_ret, struct akin_diag *diag)
{
	struct index_run *runs = NULL;
	u32 nr = 0;
	int err;

	err = ix->opt.manifest(ix->opt.manifest_ctx, &runs, &nr, diag);
	if (!err)
		err = apply(ix, runs, nr, gone);
	if (!err)
		atomic_fetch_add(&ix->reloads, 1);
	*named_ret = !err && gone && names(runs, nr, gone->info.number);
	mem_free(runs);
	return err ? diag_set(diag, err, "index runs") : 0;
}

int index_reload(struct index *ix, struct akin_diag *diag)
{
	bool named;
	int err;

	pthread_mutex_lock(&ix->load_lock);
	err = reload_locked(ix, NULL, &named, diag);
	pthread_mutex_unlock(&ix->load_lock);
	return err;
}

u64 index_reloads(struct index *ix)
{
	return atomic_load(&ix->reloads);
}

int index_run_gone_locked(struct index *ix, struct run_file *r,
			  struct akin_diag *diag)
{
	bool named;
	int err;

	err = reload_locked(ix, r, &named, diag);
	if (err || !named)
		return err;
	index_run_damaged(ix, r, 1);
	pthread_mutex_lock(&ix->open_lock);
	if (atomic_load(&r->state) == RUN_UNREAD)
		atomic_store(&r->state, RUN_BAD);
	pthread_mutex_unlock(&ix->open_lock);
	return 0;
}

int index_run_gone(struct index *ix, struct run_file *r,
		   struct akin_diag *diag)
{
	int err;

	pthread_mutex_lock(&ix->load_lock);
	err = index_run_gone_locked(ix, r, diag);
	pthread_mutex_unlock(&ix->load_lock);
	return err;
}

static int probe_once(struct index *ix, struct akin_diag *diag)
{
	struct run_file **runs;
	u32 nr, i;
	int err, err2;

	err = index_runs_get(ix, &runs, &nr);
	if (err)
		return err;
	for (i = 0; !err && i < nr; i++)
		err = index_run_open(ix, runs[i], diag);
	if (err == INDEX_RUN_GONE) {
		err2 = index_run_gone(ix, runs[i - 1], diag);
		err = err2 ? err2 : err;
	}
	index_runs_put(runs, nr);
	return err;
}

int index_probe(struct index *ix, struct akin_diag *diag)
{
	int err;

	do {
		err = probe_once(ix, diag);
	} while (err == INDEX_RUN_GONE);
	return err;
}

bool index_has_run(struct index *ix, u64 number)
{
	bool found;

	pthread_rwlock_rdlock(&ix->lock);
	found = index_runs_find_locked(ix, number) != NULL;
	pthread_rwlock_unlock(&ix->lock);
	return found;
}

/* ---- forgetting ---- */

/* Take one run out that no flush has named; NULL if there is none. */
static struct run_file *take_uncommitted(struct index *ix)
{
	struct run_file *r = NULL;
	u32 i;

	pthread_rwlock_wrlock(&ix->lock);
	for (i = 0; i < ix->nr_runs && !r; i++)
		if (ix->runs[i]->uncommitted)
			r = ix->runs[i];
	for (; r && i < ix->nr_runs; i++)
		ix->runs[i - 1] = ix->runs[i];
	ix->nr_runs -= r != NULL;
	pthread_rwlock_unlock(&ix->lock);
	return r;
}

/* The table may hold what was forgotten: begin anew. */
static void reset_table(struct index *ix)
{
	u32 i;

	pthread_mutex_lock(&ix->load_lock);
	pthread_rwlock_wrlock(&ix->lock);
	slots_release(&ix->table);
	atomic_store(&ix->shift, 0);
	for (i = 0; i < ix->nr_runs; i++) {
		ix->runs[i]->load_level = RUN_LEVELS - 1;
		ix->runs[i]->load_page = 0;
	}
	pthread_rwlock_unlock(&ix->lock);
	ix->load_credit = 0;
	ix->load_begun = false;
	ix->load_level = RUN_LEVELS;
	atomic_store(&ix->load_done, false);
	pthread_mutex_unlock(&ix->load_lock);
}

void index_discard(struct index *ix)
{
	char name[FORMAT_NAME_MAX];
	struct run_file *r;

	pthread_mutex_lock(&ix->write_lock);
	pthread_rwlock_wrlock(&ix->lock);
	slots_release(&ix->pending);
	slots_release(&ix->sealed);
	pthread_rwlock_unlock(&ix->lock);
	while ((r = take_uncommitted(ix))) {
		format_run_name(r->info.number, name);
		/* What stays is an orphan. */
		ignore_result(disk_unlink(ix->disk, name, NULL));
		run_file_put(r);
	}
	reset_table(ix);
	pthread_mutex_unlock(&ix->write_lock);
}
