/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forgetting snapshots, by name or by policy, and undeleting them.
 *
 * Everything is judged first, on what the catalog says at one transaction, and
 * told to the caller; only then are snapshots forgotten, in batches that work
 * on a full disk: a transaction of the catalog, then the tombstones, under the
 * write lock and only for those still forgotten. What somebody has labelled or
 * forgotten in between is left alone. After a crash between the two, the next
 * forget (or reclaim) writes the tombstones that are missing.
 *
 * Of each snapshot a few words are kept in memory, the rest is read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "hash/hash.h"
#include "record/record.h"
#include "store/store.h"
#include "store/store_policy.h"

struct candidate {
	struct policy_item item;
	struct fp key;		/* of its series */
	u64 series;		/* smallest number in it */
};

struct forget {
	struct akin_pool *p;
	const struct akin_forget_options *opt;
	struct akin_forget_result *out;
	struct akin_diag *diag;
	struct catalog_now now;
	u64 as_of;		/* transaction that is judged */
	const struct akin_policy *policy;
	struct policy rules;
	bool *tag_used;		/* for each tag of the policy */
	struct candidate *c;
	u32 nr, cap;
	u64 *gone;		/* numbers to forget */
	u32 nr_gone;
};

/* Series --------------------------------------------------------------------*/

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Host and paths, in whatever order they were given. */
static int series_key(struct akin_pool *p, const struct snapshot *s,
		      struct fp *out)
{
	const char *host = s->host ? s->host : "";
	char **paths = mem_calloc(s->nr_paths + 1u, sizeof(*paths));
	struct buf all = { 0 };
	u32 i;
	int err;

	if (!paths)
		return -AKIN_E_nomem;
	for (i = 0; i < s->nr_paths; i++)
		paths[i] = s->paths[i];
	qsort(paths, s->nr_paths, sizeof(*paths), compare_strings);
	buf_put(&all, host, strlen(host) + 1);
	for (i = 0; i < s->nr_paths; i++)
		buf_put(&all, paths[i], strlen(paths[i]) + 1);
	err = buf_error(&all);
	if (!err)
		hasher_one(p->depot.meta_hasher, all.data, all.len, out);
	buf_release(&all);
	mem_free(paths);
	return err;
}

static int by_key(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int d = memcmp(x->key.b, y->key.b, FP_BYTES);

	return d ? d : (x->item.number > y->item.number) -
		       (x->item.number < y->item.number);
}

static int by_series(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->item.number > y->item.number) -
	       (x->item.number < y->item.number);
}

/* Series one after the other, the oldest first. */
static void sort_series(struct forget *f)
{
	u32 i;

	qsort(f->c, f->nr, sizeof(*f->c), by_key);
	for (i = 0; i < f->nr; i++)
		f->c[i].series = i && fp_equal(&f->c[i].key, &f->c[i - 1].key) ?
				 f->c[i - 1].series : f->c[i].item.number;
	qsort(f->c, f->nr, sizeof(*f->c), by_series);
}

/* Candidates ----------------------------------------------------------------*/

/* Of the local time of this process; of the snapshot's host if there is none. */
static s32 local_offset(s64 sec, s32 otherwise)
{
	time_t t = (time_t)sec;
	struct tm tm;

	return t == sec && localtime_r(&t, &tm) ? (s32)tm.tm_gmtoff : otherwise;
}

/* The first of the policy's tags that it has, or NULL. @used (may be NULL) is
 * set for all of them. */
static const char *kept_tag(const struct akin_policy *p,
			    const struct snapshot *s,
			    const struct catalog_status *st, bool *used)
{
	struct akin_snapshot_filter one = { .nr_tags = 1 };
	const char *first = NULL;
	u32 i;

	for (i = 0; i < p->nr_tags && (used || !first); i++) {
		one.tags = &p->tags[i];
		if (!store_snapshot_matches(s, st, &one))
			continue;
		if (used)
			used[i] = true;
		if (!first)
			first = p->tags[i];
	}
	return first;
}

/*
 * A tag that nothing has may be misspelt. That is worth a word; where nothing
 * but such tags would keep anything, it is not what was meant.
 */
static int check_tags(struct forget *f)
{
	struct policy others = f->rules;
	u32 i, nr_used = 0;

	for (i = 0; i < f->policy->nr_tags; i++)
		nr_used += f->tag_used[i];
	others.by_tag = false;
	if (f->nr && f->policy->nr_tags && !nr_used &&
	    policy_is_empty(&others))
		return diag_set(f->diag, -AKIN_E_usage, "only tags would keep "
				"anything, and no snapshot has one of them: "
				"nothing was forgotten");
	for (i = 0; i < f->policy->nr_tags; i++)
		if (!f->tag_used[i] && f->nr && f->opt->unused_tag)
			f->opt->unused_tag(f->opt->ctx, f->policy->tags[i]);
	return 0;
}

static int add_candidate(void *ctx, const struct snapshot *s,
			 const struct catalog_status *st)
{
	struct forget *f = ctx;
	struct candidate *c;
	u32 cap;

	if (!store_snapshot_matches(s, st, f->opt->filter))
		return 0;
	if (f->nr == f->cap) {
		cap = f->cap ? 2 * f->cap : 64;
		c = mem_realloc(f->c, cap * sizeof(*c));
		if (!c)
			return -AKIN_E_nomem;
		f->c = c;
		f->cap = cap;
	}
	c = &f->c[f->nr++];
	memset(c, 0, sizeof(*c));
	c->item.number = s->number;
	c->item.time_sec = s->time_sec;
	c->item.time_nsec = s->time_nsec;
	c->item.offset_sec = local_offset(s->time_sec, s->utc_offset_sec);
	c->item.tagged = kept_tag(f->policy, s, st, f->tag_used) != NULL;
	c->item.is_protected = catalog_is_protected(st->label, &f->now);
	return series_key(f->p, s, &c->key);
}

/* Judging -------------------------------------------------------------------*/

struct reasons {
	char text[POLICY_NR_REASONS + 1][POLICY_TEXT];
	const char *v[POLICY_NR_REASONS + 1];
	u32 nr;
};

/* Where the next reason goes, POLICY_TEXT bytes. */
static char *new_reason(struct reasons *r)
{
	r->v[r->nr] = r->text[r->nr];
	return r->text[r->nr++];
}

/* "protected until 2027-01-01 00:00" */
static void protected_text(const struct akin_snapshot *s,
			   char out[POLICY_TEXT])
{
	time_t t = (time_t)s->until_sec;
	struct tm tm;
	char date[32];

	if (!s->has_until)
		snprintf(out, POLICY_TEXT, "protected");
	else if (t == s->until_sec && localtime_r(&t, &tm) &&
		 strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm))
		snprintf(out, POLICY_TEXT, "protected until %s", date);
	else
		snprintf(out, POLICY_TEXT, "protected until @%lld",
			 (long long)s->until_sec);
}

struct telling {
	struct forget *f;
	const struct policy_item *item;
	u64 series;
};

static int tell(void *ctx, const struct snapshot *s,
		const struct catalog_status *st)
{
	struct telling *t = ctx;
	struct forget *f = t->f;
	struct reasons r = { .nr = 0 };
	struct akin_snapshot out;
	const char *tag;
	u32 i;

	store_snapshot_export(s, st, &f->now, &out);
	for (i = 0; i < POLICY_NR_REASONS; i++) {
		/* Which one is the newest goes without saying. */
		if (!(t->item->kept_by & 1u << i) ||
		    (i == POLICY_NEWEST && r.nr > 0))
			continue;
		tag = i == POLICY_TAG ? kept_tag(f->policy, s, st, NULL) : NULL;
		if (i == POLICY_PROTECTED)
			protected_text(&out, new_reason(&r));
		else if (tag)
			snprintf(new_reason(&r), POLICY_TEXT, "tag %s", tag);
		else
			policy_reason_text(&f->rules, t->item,
					   (enum policy_reason)i,
					   new_reason(&r));
	}
	return f->opt->judged(f->opt->ctx, t->series, &out, r.v, r.nr);
}

static int settle(struct forget *f, const struct policy_item *item, u64 series)
{
	struct telling t = { f, item, series };
	struct akin_diag why = { 0 };
	int err;

	if (item->kept_by)
		f->out->kept++;
	else
		f->gone[f->nr_gone++] = item->number;
	if (!f->opt->judged)
		return 0;
	err = catalog_status_of(f->p->catalog, CATALOG_LISTED, item->number,
				tell, &t, &why);
	/* Somebody else has forgotten it by now. */
	if (err == -AKIN_E_snap_unknown)
		return 0;
	return err < 0 ? diag_pass(f->diag, err, &why) : err;
}

/* The @nr candidates at @c are a series. */
static int judge_series(struct forget *f, const struct candidate *c, u32 nr)
{
	struct policy_item *items = mem_calloc(nr, sizeof(*items));
	u32 i;
	int err = 0;

	if (!items)
		return -AKIN_E_nomem;
	for (i = 0; i < nr; i++)
		items[i] = c[i].item;
	policy_apply(&f->rules, f->now.wall_sec, items, nr);
	f->out->series++;
	for (i = 0; !err && i < nr; i++)
		err = settle(f, &items[i], c->series);
	mem_free(items);
	return err;
}

static int judge_all(struct forget *f)
{
	u32 i = 0, nr;
	int err = 0;

	f->gone = mem_calloc(f->nr + 1u, sizeof(*f->gone));
	if (!f->gone)
		return -AKIN_E_nomem;
	sort_series(f);
	for (i = 0; !err && i < f->nr; i += nr) {
		for (nr = 1; i + nr < f->nr &&
			     f->c[i + nr].series == f->c[i].series; nr++)
			;
		err = judge_series(f, &f->c[i], nr);
	}
	return err;
}

/* Forgetting ----------------------------------------------------------------*/

static int bury(void *ctx, const u64 *numbers, u32 nr, struct akin_diag *diag)
{
	struct akin_pool *p = ctx;

	return record_bury(p->data, numbers, nr, diag);
}

static int refuse(const struct catalog_forget *row, struct akin_diag *diag)
{
	if (row->outcome == FORGET_PROTECTED) {
		diag_set(diag, -AKIN_E_snap_protected,
			 "a snapshot is protected: nothing was forgotten");
		diag_hint(diag, "'akin unprotect SNAP' lifts that.");
		return -AKIN_E_snap_protected;
	}
	return diag_set(diag, row->outcome == FORGET_ABSENT ?
			-AKIN_E_snap_unknown : -AKIN_E_busy,
			"a snapshot was %s by somebody else just now",
			row->outcome == FORGET_ABSENT ? "forgotten" :
			"labelled");
}

/* @all: what was asked for by name is done as a whole or not at all. */
static int forget_batch(struct forget *f, const u64 *numbers, u32 nr, bool all)
{
	struct catalog_forget rows[CATALOG_FORGET_MAX];
	u64 done[CATALOG_FORGET_MAX];
	u32 i, nr_done = 0;
	int err;

	for (i = 0; i < nr; i++) {
		rows[i].number = numbers[i];
		rows[i].outcome = FORGET_ABSENT;
	}
	err = catalog_forget(f->p->catalog, rows, nr, f->as_of, all,
			     store_clock(f->p), f->diag);
	if (err)
		return err;
	for (i = 0; i < nr; i++) {
		if (all && rows[i].outcome != FORGET_DONE)
			return refuse(&rows[i], f->diag);
		if (rows[i].outcome == FORGET_DONE)
			done[nr_done++] = rows[i].number;
	}
	f->out->forgotten += nr_done;
	f->out->skipped += nr - nr_done;
	return nr_done ? catalog_bury(f->p->catalog, done, nr_done, bury, f->p,
				      f->diag) : 0;
}

static int forget_numbers(struct forget *f, const u64 *numbers, u32 nr,
			  bool all)
{
	u32 i, n;
	int err = 0;

	if (f->opt->dry_run) {
		f->out->forgotten = nr;
		return 0;
	}
	for (i = 0; !err && i < nr; i += n) {
		n = (u32)min_u64(nr - i, CATALOG_FORGET_MAX);
		err = store_check_stop(f->p, f->diag);
		if (!err)
			err = forget_batch(f, numbers + i, n, all);
	}
	return err;
}

static int check_named(void *ctx, const struct snapshot *s,
		       const struct catalog_status *st)
{
	struct forget *f = ctx;
	struct akin_snapshot out;
	char text[POLICY_TEXT];

	if (!catalog_is_protected(st->label, &f->now))
		return 0;
	store_snapshot_export(s, st, &f->now, &out);
	protected_text(&out, text);
	diag_set(f->diag, -AKIN_E_snap_protected, "snapshot %.8s is %s: "
		 "nothing was forgotten", out.id, text);
	diag_hint(f->diag, "'akin unprotect %.8s' lifts that.", out.id);
	return -AKIN_E_snap_protected;
}

static int compare_numbers(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What was named twice is forgotten once. */
static int forget_named(struct forget *f)
{
	u32 i, nr = 0;
	int err = 0;

	f->gone = mem_dup(f->opt->snapshots,
			  f->opt->nr_snapshots * sizeof(*f->gone));
	if (!f->gone)
		return -AKIN_E_nomem;
	qsort(f->gone, f->opt->nr_snapshots, sizeof(*f->gone),
	      compare_numbers);
	for (i = 0; i < f->opt->nr_snapshots; i++)
		if (!nr || f->gone[nr - 1] != f->gone[i])
			f->gone[nr++] = f->gone[i];
	for (i = 0; !err && i < nr; i++)
		err = catalog_status_of(f->p->catalog, CATALOG_LISTED,
					f->gone[i], check_named, f, f->diag);
	return err ? err : forget_numbers(f, f->gone, nr, true);
}

static int forget_by_policy(struct forget *f)
{
	int err;

	store_policy_import(f->policy, &f->rules);
	err = store_policy_check(f->policy, f->diag);
	if (!err && policy_is_empty(&f->rules)) {
		diag_set(f->diag, -AKIN_E_usage, "no snapshot is named, and "
			 "there is no policy");
		diag_hint(f->diag, "Give rules such as --keep-daily 7, or "
			  "store some with 'akin policy'.");
		err = -AKIN_E_usage;
	}
	if (err)
		return err;
	f->tag_used = mem_calloc(f->policy->nr_tags + 1u,
				 sizeof(*f->tag_used));
	if (!f->tag_used)
		return -AKIN_E_nomem;
	err = catalog_each_status(f->p->catalog, CATALOG_LISTED, add_candidate,
				  f, f->diag);
	if (!err)
		err = check_tags(f);
	if (!err)
		err = judge_all(f);
	return err ? err : forget_numbers(f, f->gone, f->nr_gone, false);
}

int akin_forget(struct akin_pool *p, const struct akin_forget_options *opt,
		struct akin_forget_result *out, struct akin_diag *diag)
{
	struct forget f = { .p = p, .opt = opt, .out = out, .diag = diag };
	struct akin_policy stored = { 0 };
	int err;

	memset(out, 0, sizeof(*out));
	f.policy = opt->policy ? opt->policy : &stored;
	if (p->read_only && !opt->dry_run)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	/* Also one that comes to nothing makes the pool older. */
	if (opt->dry_run)
		err = catalog_now(p->catalog, store_clock(p), &f.now, diag);
	else
		err = catalog_pass_time(p->catalog, store_clock(p), &f.now,
					diag);
	if (!err)
		err = catalog_txn(p->catalog, &f.as_of, diag);
	if (!err && opt->nr_snapshots)
		err = forget_named(&f);
	else if (!err && !opt->policy)
		err = akin_policy_get(p, &stored, diag);
	if (!err && !opt->nr_snapshots)
		err = forget_by_policy(&f);
	if (!opt->dry_run)
		store_tidy_forgotten(p);
	akin_policy_release(&stored);
	mem_free(f.tag_used);
	mem_free(f.c);
	mem_free(f.gone);
	return err < 0 ? diag_said(diag, err) : err;
}

/* Afterwards ----------------------------------------------------------------*/

static int revive(void *ctx, u64 number, struct akin_diag *diag)
{
	struct akin_pool *p = ctx;

	return record_revive(p->data, number, diag);
}

int akin_snapshot_undelete(struct akin_pool *p, uint64_t number,
			   struct akin_diag *diag)
{
	const u64 numbers[] = { number };
	int err;

	err = catalog_undelete(p->catalog, number, revive, p, diag);
	if (err == -AKIN_E_snap_reclaimed)
		diag_hint(diag, "'akin snapshots --forgotten' says which ones "
			  "can be undeleted.");
	/* If it is forgotten still, its tombstone must not stay void. */
	else if (err && err != -AKIN_E_snap_unknown && !p->read_only)
		ignore_result(catalog_bury(p->catalog, numbers, 1, bury, p,
					   NULL));
	return diag_said(diag, err);
}

struct tidy {
	struct akin_pool *p;
	u64 numbers[CATALOG_FORGET_MAX];
	u32 nr;
};

static int bury_batch(struct tidy *t)
{
	u32 nr = t->nr;

	t->nr = 0;
	return nr ? catalog_bury(t->p->catalog, t->numbers, nr, bury, t->p,
				 NULL) : 0;
}

static int bury_one(void *ctx, u64 number)
{
	struct tidy *t = ctx;
	char name[FORMAT_NAME_MAX];
	struct disk_stat st;

	/* Nearly all are buried, which a look can tell. */
	format_buried_name(number, name);
	if (!disk_stat(t->p->data, name, &st, NULL))
		return 0;
	t->numbers[t->nr++] = number;
	return t->nr == CATALOG_FORGET_MAX ? bury_batch(t) : 0;
}

static int purge_one(void *ctx, u64 number)
{
	struct akin_pool *p = ctx;
	bool purged;
	int err;

	err = catalog_purge(p->catalog, number, &purged, NULL);
	if (!err && purged)
		err = record_remove(p->data, number, NULL);
	return err;
}

void store_tidy_forgotten(struct akin_pool *p)
{
	struct tidy t = { .p = p };

	/* The next call tries again. */
	if (!catalog_each_forgotten(p->catalog, false, bury_one, &t, NULL))
		ignore_result(bury_batch(&t));
	ignore_result(catalog_each_forgotten(p->catalog, true, purge_one, p,
					     NULL));
}
