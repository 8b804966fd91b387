/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the index anew from the containers' directories.
 *
 *	old runs -----------------------------------.
 *	containers, ascending --> a new index: adds, | one transaction
 *	spills, merges its own runs --> new runs ----+---> manifest
 *
 * The new runs are files that nobody names until a single transaction of the
 * catalog puts them in the place of the old ones. So whatever happens before it
 * leaves the old manifest, and orphans that the next backup removes. The next
 * rebuild then starts again: going on would need to know which containers are
 * done, that is partial runs in the manifest and a state beside it, to save
 * reading a few tenths of a percent of the pool twice after a crash.
 *
 * Memory: the budget of the index, whose table is dropped meanwhile, and one
 * directory. A full tier of the new index's runs is merged as it grows, so that
 * open files and runs stay few.
 *
 * The manifest is read before the containers are: what others commit from then
 * on has runs of its own, which are not replaced. What others merge meanwhile
 * is not either; it is sound, because nobody merges damaged runs.
 */
#include <stdio.h>

#include "base/mem.h"
#include "container/container_reader.h"
#include "os/clock.h"
#include "store/store.h"

#define PROGRESS_NS (200 * 1000 * 1000)
/* Of the new index's runs, in between merges: what fills a tier. */
#define SPILLS 8
/* Somebody may merge between our look at the manifest and our change. */
#define TRIES 4

struct reindex {
	struct akin_pool *p;
	const struct akin_index_options *opt;	/* NULL: no progress */
	struct akin_index_result *out;
	struct akin_diag *diag;
	struct index *ix;
	u64 *old;		/* in the manifest when we began */
	u32 nr_old, cap_old;
	struct index_run *made;	/* ours, which exist now */
	u32 nr_made;
	u64 nr_added, nr_settle;	/* entries since the last merge */
	struct akin_progress progress;
	u64 start_ns, said_ns;
};

static int add_old(void *ctx, const struct catalog_run *run)
{
	struct reindex *r = ctx;
	u64 *p;

	if (r->nr_old == r->cap_old) {
		r->cap_old = r->cap_old ? r->cap_old * 2 : 64;
		p = mem_realloc(r->old, r->cap_old * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		r->old = p;
	}
	r->old[r->nr_old++] = run->number;
	return 0;
}

static bool has(const u64 *numbers, u32 nr, u64 number)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* ---- making runs ---- */

static int note_changes(struct reindex *r, const struct index_changes *ch)
{
	struct index_run *p;
	u32 n = 0, i;

	p = mem_realloc(r->made, ((size_t)r->nr_made + ch->nr_added) *
			sizeof(*p));
	if (!p)
		return diag_set(r->diag, -AKIN_E_nomem, "index runs");
	r->made = p;
	for (i = 0; i < r->nr_made; i++)
		if (!has(ch->dead, ch->nr_dead, p[i].number))
			p[n++] = p[i];
	for (i = 0; i < ch->nr_added; i++)
		p[n++] = ch->added[i];
	r->nr_made = n;
	return 0;
}

/* Write what is pending, and merge if that fills a tier. */
static int settle(struct reindex *r)
{
	struct index_changes ch;
	int err;

	r->nr_added = 0;
	err = index_flush(r->ix, &ch, r->diag);
	if (err)
		return err;
	err = note_changes(r, &ch);
	if (err)
		index_unflush(r->ix, &ch);
	index_changes_release(&ch);
	if (err)
		return err;
	err = index_merge(r->ix, NULL, NULL, &ch, r->diag);
	if (err)
		return err;
	err = note_changes(r, &ch);
	if (err)
		index_unmerge(r->ix, &ch);
	else
		err = index_merged(r->ix, &ch, r->diag);
	index_changes_release(&ch);
	return err;
}

static void tell(struct reindex *r, bool last)
{
	u64 now = clock_ns();

	if (!r->opt || !r->opt->progress ||
	    (!last && now - r->said_ns < PROGRESS_NS))
		return;
	r->said_ns = now;
	r->progress.files = r->out->containers + r->out->containers_unreadable;
	r->progress.files_total = max_u64(r->progress.files_total,
					  r->progress.files);
	r->progress.warnings = r->out->containers_unreadable;
	r->progress.elapsed_ns = now - r->start_ns;
	r->progress.current = "";
	r->opt->progress(r->opt->ctx, &r->progress);
}

/* Whether an error is about this container and not about this process. */
static bool is_unreadable(int err)
{
	switch (akin_error_class(err)) {
	case AKIN_CLASS_CORRUPT:
	case AKIN_CLASS_IO:
	case AKIN_CLASS_ABSENT:
	case AKIN_CLASS_DENIED:
	case AKIN_CLASS_UNSUPPORTED:
		return true;
	default:
		return err == -AKIN_E_too_large;	/* of the index */
	}
}

static int add_directory(struct reindex *r, const struct directory *d,
			 struct akin_diag *why)
{
	struct place at = { d->container, 0 };
	u32 i;
	int err = 0;

	for (i = 0; !err && i < d->nr_entries; i++) {
		at.entry = d->entries[i].entry;
		err = index_add(r->ix, &d->entries[i].fp, &at, why);
	}
	r->nr_added += d->nr_entries;
	return err;
}

/*
 * Also of condemned ones: as long as they are named they may be revived, and
 * what the index says is verified anyway.
 */
static int one_container(void *ctx, const struct catalog_container *row)
{
	struct container_reader *c = NULL;
	struct akin_diag why = { 0 };
	struct reindex *r = ctx;
	bool adding = false;
	int err;

	err = store_check_stop(r->p, r->diag);
	if (err)
		return err;
	err = container_open(r->p->data, &r->p->super.pool, row->number,
			     row->generation, &c, &why);
	if (!err) {
		adding = true;
		err = add_directory(r, container_directory(c), &why);
		r->progress.bytes += row->dir_len;
	}
	container_close(c);
	if (!err)
		r->out->containers++;
	else if (is_unreadable(err) && (!adding || err == -AKIN_E_too_large))
		r->out->containers_unreadable++;
	else
		return diag_set(r->diag, err, "%s", why.code ? why.text :
				akin_strerror(err));
	tell(r, false);
	return r->nr_added >= r->nr_settle ? settle(r) : 0;
}

/* ---- the switch ---- */

struct dead {
	const struct reindex *r;
	u64 *numbers;
	u32 nr;
};

static int add_dead(void *ctx, const struct catalog_run *run)
{
	struct dead *d = ctx;

	/* Room for all old ones is there; nobody is named twice. */
	if (has(d->r->old, d->r->nr_old, run->number) && d->nr < d->r->nr_old)
		d->numbers[d->nr++] = run->number;
	return 0;
}

static int fill_made(const struct reindex *r, struct catalog_run **out)
{
	struct catalog_run *runs = mem_calloc(r->nr_made, sizeof(*runs));
	u32 i;

	if (!runs)
		return -AKIN_E_nomem;
	for (i = 0; i < r->nr_made; i++) {
		runs[i].number = r->made[i].number;
		runs[i].tier = r->made[i].tier;
		runs[i].nr_entries = r->made[i].nr_entries;
		runs[i].file_bytes = r->made[i].file_bytes;
		runs[i].session = r->p->reserve_session;
	}
	*out = runs;
	return 0;
}

/* Our runs for those of the old ones that are still there (@dead). False in
 * *done_ret: none is, so somebody else has rebuilt it. */
static int replace(struct reindex *r, struct dead *dead, bool *done_ret)
{
	struct catalog_delta delta = { 0 };
	struct catalog_run *runs = NULL;
	struct akin_diag why;
	int err, tries;

	err = fill_made(r, &runs);
	if (err)
		return diag_set(r->diag, err, "index runs");
	delta.runs = runs;
	delta.nr_runs = r->nr_made;
	for (tries = 0; tries < TRIES; tries++) {
		memset(&why, 0, sizeof(why));
		dead->nr = 0;
		err = catalog_each_run(r->p->catalog, add_dead, dead, &why);
		*done_ret = !err && (dead->nr || !r->nr_old);
		if (!*done_ret)
			break;
		delta.dead_runs = dead->numbers;
		delta.nr_dead_runs = dead->nr;
		err = catalog_replace_runs(r->p->catalog, &delta, &why);
		if (err != -AKIN_E_absent)
			break;
	}
	mem_free(runs);
	return err ? diag_pass(r->diag, err, &why) : 0;
}

/*
 * Where containers could not be read, sound old runs may still know them: only
 * the damaged ones are replaced.
 */
static int keep_sound(struct reindex *r)
{
	u64 *damaged;
	u32 nr, n = 0, i;

	damaged = mem_calloc(r->nr_old, sizeof(*damaged));
	if (!damaged)
		return diag_set(r->diag, -AKIN_E_nomem, "index runs");
	nr = index_damage(r->p->index, damaged, r->nr_old);
	nr = (u32)min_u64(nr, r->nr_old);
	for (i = 0; i < r->nr_old; i++)
		if (has(damaged, nr, r->old[i]))
			r->old[n++] = r->old[i];
	/* None: then all that is known goes on top. */
	r->nr_old = n;
	mem_free(damaged);
	return 0;
}

static void unlink_run(struct akin_pool *p, u64 number)
{
	char name[FORMAT_NAME_MAX];

	format_run_name(number, name);
	/* What stays is an orphan. */
	ignore_result(disk_unlink(p->meta, name, NULL));
}

static int switch_over(struct reindex *r, bool *done_ret, bool *unsure_ret)
{
	struct dead dead = { .r = r };
	u32 i;
	int err = 0;

	if (r->out->containers_unreadable)
		err = keep_sound(r);
	if (err)
		return err;
	dead.numbers = mem_calloc(r->nr_old, sizeof(u64));
	if (!dead.numbers)
		return diag_set(r->diag, -AKIN_E_nomem, "index runs");
	err = replace(r, &dead, done_ret);
	*unsure_ret = akin_error_class(err) == AKIN_CLASS_IO;
	for (i = 0; !err && *done_ret && i < dead.nr; i++)
		unlink_run(r->p, dead.numbers[i]);
	mem_free(dead.numbers);
	return err;
}

/* ---- the whole ---- */

static int build(struct reindex *r)
{
	struct catalog_totals t;
	struct index_stats st;
	int err;

	err = catalog_each_run(r->p->catalog, add_old, r, r->diag);
	if (!err)
		err = catalog_totals(r->p->catalog, &t, r->diag);
	if (!err)
		err = store_index_open(r->p, true, &r->ix, r->diag);
	if (err)
		return err;
	r->progress.files_total = t.nr_data_containers + t.nr_meta_containers;
	index_get_stats(r->ix, &st);
	r->nr_settle = SPILLS * st.spill_entries;
	/* Its memory is the new one's now. */
	index_discard(r->p->index);
	err = catalog_each_container(r->p->catalog, one_container, r, r->diag);
	return err ? err : settle(r);
}

static void use_new_index(struct reindex *r)
{
	index_close(r->p->index);
	r->p->index = r->ix;
	r->p->depot.index = r->ix;
	r->ix = NULL;
}

static void drop_new_index(struct reindex *r, bool keep_files)
{
	u32 i;

	if (r->ix)
		index_discard(r->ix);
	index_close(r->ix);
	for (i = 0; !keep_files && i < r->nr_made; i++)
		unlink_run(r->p, r->made[i].number);
}

static void fill_result(struct reindex *r)
{
	u32 i;

	r->out->runs = r->nr_made;
	for (i = 0; i < r->nr_made; i++) {
		r->out->entries += r->made[i].nr_entries;
		r->out->bytes += r->made[i].file_bytes;
	}
}

int store_reindex(struct akin_pool *p, const struct akin_index_options *opt,
		  struct akin_index_result *out, struct akin_diag *diag)
{
	struct reindex r = { .p = p, .opt = opt, .out = out, .diag = diag };
	bool done = false, unsure = false;
	int err;

	memset(out, 0, sizeof(*out));
	r.start_ns = clock_ns();
	err = build(&r);
	if (!err)
		err = switch_over(&r, &done, &unsure);
	if (!err && done) {
		fill_result(&r);
		use_new_index(&r);
	} else {
		drop_new_index(&r, unsure);
	}
	/* Whatever the manifest says now is news. */
	atomic_store(&p->runs_txn, 0);
	if (!err) {
		/* Otherwise whoever misses something asks for it. */
		ignore_result(store_refresh_index(p, NULL));
		tell(&r, true);
	}
	mem_free(r.old);
	mem_free(r.made);
	return diag_said(diag, err);
}

int store_mend_index(struct akin_pool *p,
		     void (*say)(void *ctx, const char *text), void *ctx,
		     struct akin_diag *diag)
{
	struct akin_index_result res;
	struct akin_diag why = { 0 };
	char text[sizeof(why.text) + 128];
	u32 nr;
	int err;

	/* An index that cannot be looked at is as good as its table. */
	err = index_probe(p->index, &why);
	nr = index_damage(p->index, NULL, 0);
	if (err || !nr)
		return 0;
	snprintf(text, sizeof(text), "%u of the index's runs %s damaged: "
		 "rebuilding the index from the containers", nr,
		 nr == 1 ? "is" : "are");
	if (say)
		say(ctx, text);
	err = store_reindex(p, NULL, &res, &why);
	if (err == -AKIN_E_interrupted)
		return diag_pass(diag, err, &why);
	if (err)
		snprintf(text, sizeof(text), "the index could not be rebuilt "
			 "(%s): what is there may be stored again", why.text);
	else if (res.containers_unreadable)
		snprintf(text, sizeof(text), "the index was rebuilt without "
			 "%llu containers that could not be read",
			 (unsigned long long)res.containers_unreadable);
	if (say && (err || res.containers_unreadable))
		say(ctx, text);
	return err ? 1 : 0;
}

/* In a session of its own, so that nobody takes its files for orphans. */
static int rebuild_in_session(struct akin_pool *p,
			      const struct akin_index_options *opt,
			      struct akin_index_result *out,
			      struct akin_diag *diag)
{
	struct catalog_session info = { 0 };
	int err;

	store_session_info(NULL, "index rebuild", &info);
	err = catalog_session_begin(p->catalog, &info, store_lock_session, p,
				    &info, diag);
	if (err)
		return err;
	p->reserve_session = info.number;
	store_sweep(p);
	/* Which of the old runs are damaged; if that is not to be known, all
	 * are replaced all the same. */
	ignore_result(index_probe(p->index, NULL));
	err = store_reindex(p, opt, out, diag);
	p->reserve_session = 0;
	/* If that fails, it is reaped as one that died. */
	ignore_result(catalog_session_end(p->catalog, info.number, NULL));
	return err;
}

int akin_index_rebuild(struct akin_pool *p,
		       const struct akin_index_options *opt,
		       struct akin_index_result *out, struct akin_diag *diag)
{
	u32 nr_reaped;
	int err;

	memset(out, 0, sizeof(*out));
	if (p->read_only)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	err = catalog_reap_sessions(p->catalog, store_session_ended, p,
				    &nr_reaped, diag);
	if (!err)
		err = store_refresh_index(p, diag);
	if (err >= 0)
		err = rebuild_in_session(p, opt, out, diag);
	if (p->locked_session)
		store_unlock_session(p, p->locked_session);
	return diag_said(diag, err);
}
