/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding entries and writing them out.
 *
 * An entry goes into the table (if its level is held) and into the pending
 * ones. These are written as a run when they fill their half of the share: the
 * filled half is sealed (sorted, no longer changed, still searched), a new one
 * is begun, and adding goes on while the sealed one is written. Only when the
 * new half is full before that is done do adders wait.
 *
 *	pending --index_seal_locked--> sealed --write_sealed--> run, uncommitted
 *	   run, uncommitted --index_flush--> run
 *
 * If writing fails the sealed half stays, and is written first next time.
 */
#include "base/check.h"
#include "base/mem.h"
#include "index/index_internal.h"

u32 index_tier_of(const struct index *ix, u64 nr_entries)
{
	u64 size = ix->spill_entries;
	u32 tier = 0;

	for (; nr_entries > size && size < UINT64_MAX / 8; size *= 8)
		tier++;
	return tier;
}

void index_table_put_locked(struct index *ix, u64 prefix, u64 word)
{
	unsigned shift;

	while (slot_level(word) >= (shift = atomic_load(&ix->shift))) {
		if (slots_insert(&ix->table, prefix, word) != SLOTS_FULL)
			return;
		/* Nothing to drop, or no sample is thin enough: a hint less. */
		if (!ix->table.nr || shift == RUN_LEVELS - 1)
			return;
		atomic_store(&ix->shift, shift + 1);
		slots_drop_below(&ix->table, shift + 1);
	}
}

void index_set_blind(struct index *ix, bool blind)
{
	atomic_store(&ix->blind, blind);
}

int index_add(struct index *ix, const struct fp *fp, const struct place *at,
	      struct akin_diag *diag)
{
	u64 prefix = fp_prefix(fp), word;
	enum slots_result result;
	u64 nr;
	int err;

	if (!slot_word_fits(at->container, at->entry))
		return diag_set(diag, -AKIN_E_too_large,
				"index: no such place as container %llu, entry %u",
				(unsigned long long)at->container, at->entry);
	word = slot_word(at->container, at->entry, run_level_of(fp));
	for (;;) {
		pthread_rwlock_wrlock(&ix->lock);
		result = slots_insert(&ix->pending, prefix, word);
		if (result != SLOTS_FULL && !atomic_load(&ix->blind))
			index_table_put_locked(ix, prefix, word);
		nr = ix->pending.nr;
		pthread_rwlock_unlock(&ix->lock);
		if (result != SLOTS_FULL)
			return 0;
		if (!nr)
			return -AKIN_E_nomem;
		err = index_write_pending(ix, nr, diag);
		if (err)
			return err;
	}
}

/* ---- writing ---- */

static int write_level(struct run_writer *w, const struct slots *s,
		       unsigned level, u64 nr, struct akin_diag *diag)
{
	struct run_entry e;
	u64 i, word;
	int err;

	err = run_writer_level(w, level, nr, diag);
	for (i = 0; !err && nr; i++) {
		word = s->slots[i].word;
		if (slot_level(word) != level)
			continue;
		e.prefix = s->slots[i].prefix;
		e.container = slot_container(word);
		e.entry = (u16)slot_entry(word);
		err = run_writer_put(w, &e, diag);
		nr--;
	}
	return err;
}

/* A pass over the array for each level: cheaper than sorting by level. */
static int write_run(struct index *ix, const struct slots *s,
		     struct index_run *out, struct akin_diag *diag)
{
	u64 nr[RUN_LEVELS] = { 0 }, number, i;
	struct run_writer *w;
	unsigned level;
	int err;

	err = ix->opt.reserve(ix->opt.reserve_ctx, 1, &number, diag);
	if (err)
		return err;
	err = run_writer_open(ix->disk, &ix->opt.pool, number, ix->share.write,
			      &w, diag);
	if (err)
		return err;
	for (i = 0; i < s->nr; i++)
		nr[slot_level(s->slots[i].word)]++;
	for (level = RUN_LEVELS; !err && level-- > 0;)
		if (nr[level])
			err = write_level(w, s, level, nr[level], diag);
	if (!err)
		err = run_writer_finish(w, out, diag);
	if (err) {
		run_writer_abort(w);
		return err;
	}
	run_writer_free(w);
	out->tier = index_tier_of(ix, out->nr_entries);
	return 0;
}

/* The run takes the place of the sealed entries. Its own are in the table as
 * far as sampling holds them, so it need not be loaded. */
static int write_sealed(struct index *ix, struct akin_diag *diag)
{
	struct index_run info = { 0 };
	struct run_file *r;
	int err;

	r = run_file_new(&info);
	if (!r)
		return -AKIN_E_nomem;
	r->load_level = -1;
	r->uncommitted = true;
	pthread_rwlock_wrlock(&ix->lock);
	err = index_runs_reserve_locked(ix, 1);
	pthread_rwlock_unlock(&ix->lock);
	if (!err)
		err = write_run(ix, &ix->sealed, &r->info, diag);
	if (!err) {
		pthread_rwlock_wrlock(&ix->lock);
		err = index_runs_reserve_locked(ix, 1);
		if (!err) {
			index_runs_insert_locked(ix, r);
			slots_release(&ix->sealed);
		}
		pthread_rwlock_unlock(&ix->lock);
	}
	if (err)
		run_file_put(r);
	return err;
}

static void seal_locked(struct index *ix)
{
	akin_assert(!ix->sealed.nr);
	slots_release(&ix->sealed);
	slots_sort(&ix->pending);
	ix->sealed = ix->pending;
	slots_init(&ix->pending, ix->share.pending, true);
}

int index_write_pending(struct index *ix, u64 nr_min, struct akin_diag *diag)
{
	bool seal;
	int err = 0;

	pthread_mutex_lock(&ix->write_lock);
	if (ix->sealed.nr)
		err = write_sealed(ix, diag);
	if (!err) {
		pthread_rwlock_wrlock(&ix->lock);
		seal = ix->pending.nr && ix->pending.nr >= nr_min;
		if (seal)
			seal_locked(ix);
		pthread_rwlock_unlock(&ix->lock);
		if (seal)
			err = write_sealed(ix, diag);
	}
	pthread_mutex_unlock(&ix->write_lock);
	return err;
}

/* ---- flushing ---- */

/* Name the runs that no flush has named yet. */
static int take_uncommitted(struct index *ix, struct index_changes *out)
{
	struct run_file *r;
	u32 i;
	int err = 0;

	pthread_rwlock_wrlock(&ix->lock);
	if (ix->nr_runs) {
		out->added = mem_calloc(ix->nr_runs, sizeof(struct index_run));
		if (!out->added)
			err = -AKIN_E_nomem;
	}
	for (i = 0; !err && i < ix->nr_runs; i++) {
		r = ix->runs[i];
		if (r->uncommitted)
			out->added[out->nr_added++] = r->info;
		r->uncommitted = false;
	}
	pthread_rwlock_unlock(&ix->lock);
	return err;
}

void index_unflush(struct index *ix, const struct index_changes *ch)
{
	struct run_file *r;
	u32 i;

	pthread_rwlock_wrlock(&ix->lock);
	for (i = 0; i < ch->nr_added; i++) {
		r = index_runs_find_locked(ix, ch->added[i].number);
		if (r)
			r->uncommitted = true;
	}
	pthread_rwlock_unlock(&ix->lock);
}

int index_flush(struct index *ix, struct index_changes *out,
		struct akin_diag *diag)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = index_write_pending(ix, 1, diag);
	if (!err)
		err = disk_sync_dir(ix->disk, DIR_RUNS, diag);
	if (!err)
		err = take_uncommitted(ix, out);
	return err;
}
