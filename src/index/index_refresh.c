/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following the manifest: other processes merge runs and remove the old ones.
 *
 * What is open stays readable, so only runs whose files have vanished are
 * dropped, and what replaces them is loaded anew. A run that this process has
 * written and not yet committed is in no manifest and stays.
 */
#include "base/mem.h"
#include "index/index_internal.h"

static bool is_listed(const struct index_run *runs, u32 nr, u64 number)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (runs[i].number == number)
			return true;
	return false;
}

static bool is_known_locked(const struct index *ix, u64 number)
{
	u32 i;

	for (i = 0; i < ix->nr_runs; i++)
		if (ix->runs[i]->info.number == number)
			return true;
	return false;
}

/* Those that are in no manifest any more: are their files still there? */
static int probe_unlisted(struct index *ix, const struct index_run *runs,
			  u32 nr, struct akin_diag *diag)
{
	struct run_file **have;
	u32 nr_have, i;
	int err;

	err = index_runs_get(ix, &have, &nr_have);
	if (err)
		return diag_set(diag, err, "index runs");
	for (i = 0; !err && i < nr_have; i++)
		if (!is_listed(runs, nr, have[i]->info.number))
			err = index_run_open(ix, have[i], diag);
	index_runs_put(have, nr_have);
	return err;
}

static void drop_vanished_locked(struct index *ix, const struct index_run *runs,
				 u32 nr)
{
	struct run_file *r;
	u32 n = 0, i;

	for (i = 0; i < ix->nr_runs; i++) {
		r = ix->runs[i];
		if (r->uncommitted || is_listed(runs, nr, r->info.number) ||
		    atomic_load(&r->state) != RUN_BAD)
			ix->runs[n++] = r;
		else
			run_file_put(r);
	}
	ix->nr_runs = n;
}

static int add_new_locked(struct index *ix, const struct index_run *runs,
			  u32 nr)
{
	struct run_file *r;
	u32 i;

	if (index_runs_reserve_locked(ix, nr))
		return -AKIN_E_nomem;
	for (i = 0; i < nr; i++) {
		if (is_known_locked(ix, runs[i].number))
			continue;
		r = run_file_new(&runs[i]);
		if (!r)
			return -AKIN_E_nomem;
		index_runs_insert_locked(ix, r);
		atomic_store(&ix->load_done, false);
	}
	return 0;
}

int index_set_runs(struct index *ix, const struct index_run *runs, u32 nr,
		   struct akin_diag *diag)
{
	int err;

	err = probe_unlisted(ix, runs, nr, diag);
	if (err)
		return err;
	pthread_mutex_lock(&ix->load_lock);
	pthread_rwlock_wrlock(&ix->lock);
	drop_vanished_locked(ix, runs, nr);
	err = add_new_locked(ix, runs, nr);
	pthread_rwlock_unlock(&ix->lock);
	pthread_mutex_unlock(&ix->load_lock);
	return err ? diag_set(diag, err, "index runs") : 0;
}
