/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers: structure of each, groups of those that are to be read.
 *
 * The caller's thread goes through the catalog's rows, opens each file anew
 * (not through the directory cache: what is on disk is the question) and
 * queues its groups to the depot's workers. Results are gathered container by
 * container, in order; up to MAX_TASKS containers are open, so that the
 * workers do not run dry between two of them.
 *
 * A group that was compressed against chunks of other containers is only as
 * good as those. Its bases have smaller numbers, so they have been judged
 * before it. One that is read fails by itself; of those that are not, the
 * references are looked at where a base of the container has any damage.
 *
 * A sample (read_percent, read_bytes) is spread evenly over all groups: each
 * earns credit for its length times the rate, and is read when the credit pays
 * for it. The seed says where in the first step reading starts, so that every
 * group is as likely as any other.
 */
#include <pthread.h>
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "verify/verify_internal.h"

#define MAX_TASKS 3
/* Groups on their way, for each worker. */
#define JOBS_PER_WORKER 3
#define RATE_ONE ((u64)1 << 24)

struct pass;

/* One group's outcome. */
struct outcome {
	int err;
	u32 bad;		/* directory entry, or UINT32_MAX */
	struct place base;	/* the reference it is bad for; or 0 */
	u64 stray;		/* see struct group_test */
	bool read;
};

/* One container whose groups are being read. */
struct task {
	struct pass *pass;
	struct container_reader *reader;
	struct outcome *groups;
	bool *used;		/* each base of the directory: by a group */
	u32 pending;		/* groups on their way */
	struct task *newer;
};

struct job {
	struct work work;
	struct task *task;
	u32 index;
	struct job *next;	/* while it is idle */
};

struct pass {
	struct verify *v;
	struct akin_diag *diag;
	pthread_mutex_t lock;	/* guards idle and every task's pending */
	pthread_cond_t changed;
	struct job *jobs, *idle;
	u32 nr_jobs;
	struct task *oldest, *newest;
	u32 nr_tasks;
	bool all;		/* read everything; no sample */
	u64 rate, credit;	/* of the sample; credit in bytes * RATE_ONE */
	bool have_credit;
	u64 picked_bytes;	/* for the sample so far */
};

static unsigned long long number_of(const struct directory *d)
{
	return (unsigned long long)d->container;
}

/* Reading -------------------------------------------------------------------*/

static void read_one(struct work *work, void *thread_ctx)
{
	struct job *j = container_of(work, struct job, work);
	struct task *t = j->task;
	struct pass *p = t->pass;
	struct outcome *o = &t->groups[j->index];
	struct group_test test = { .used = t->used };

	o->err = groupcache_test(p->v->depot->groups, thread_ctx, t->reader,
				 j->index, &test, NULL);
	o->bad = test.bad;
	o->base = test.base;
	o->stray = test.stray;
	pthread_mutex_lock(&p->lock);
	t->pending--;
	j->next = p->idle;
	p->idle = j;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void queue(struct pass *p, struct task *t, u32 index)
{
	struct job *j;

	t->groups[index].read = true;
	pthread_mutex_lock(&p->lock);
	while (!p->idle)
		pthread_cond_wait(&p->changed, &p->lock);
	j = p->idle;
	p->idle = j->next;
	t->pending++;
	pthread_mutex_unlock(&p->lock);
	j->work.run = read_one;
	j->task = t;
	j->index = index;
	workers_queue(p->v->depot->workers, &j->work);
}

static void wait_for(struct pass *p, struct task *t)
{
	pthread_mutex_lock(&p->lock);
	while (t->pending)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

/* Results -------------------------------------------------------------------*/

static void reason_of(const struct directory *d, const struct dir_entry *e,
		      const struct outcome *o, char out[128])
{
	const char *why = akin_strerror(o->err);

	if (o->base.container)
		snprintf(out, 128, "its reference to container %llu, entry "
			 "%u: %s", (unsigned long long)o->base.container,
			 o->base.entry, o->read ? why : "known to be damaged");
	else if (o->bad != UINT32_MAX && &d->entries[o->bad] != e)
		snprintf(out, 128, "its group has a wrong chunk");
	else
		snprintf(out, 128, "%s", why);
}

static void say_chunk(struct pass *p, const struct directory *d,
		      const struct dir_entry *e, const struct outcome *o,
		      bool known)
{
	const char *what = d->kind == CONTAINER_METADATA ? "metadata chunk" :
							   "chunk";
	const u8 *b = e->fp.b;
	char why[128];

	reason_of(d, e, o, why);
	if (known)
		verify_remark(p->v, VERIFY_CHUNK, "container %llu: group %u: "
			      "%s %u (%02x%02x%02x%02x, %u bytes): %s; known "
			      "before", number_of(d),
			      d->groups[e->group].number, what, e->entry, b[0],
			      b[1], b[2], b[3], e->len, why);
	else
		verify_found(p->v, VERIFY_CHUNK, o->err, NULL, "container "
			     "%llu: group %u: %s %u (%02x%02x%02x%02x, %u "
			     "bytes): %s", number_of(d),
			     d->groups[e->group].number, what, e->entry, b[0],
			     b[1], b[2], b[3], e->len, why);
}

/* The read path gives out whole groups or none: one bad chunk is all. */
static int judge_group(struct pass *p, const struct directory *d, u32 index,
		       const struct outcome *o, struct akin_diag *diag)
{
	const struct dir_group *g = &d->groups[index];
	const struct dir_entry *e = &d->entries[g->first];
	struct place at = { .container = d->container };
	bool known;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < g->nr; i++) {
		at.entry = e[i].entry;
		if (!o->err) {
			err = verify_lift(p->v, &at, diag);
			continue;
		}
		known = depot_damage_marked(&p->v->depot->damage, &at);
		/* What was not read is no news. */
		if (known && !o->read)
			continue;
		p->v->nr_bad++;
		say_chunk(p, d, &e[i], o, known);
		err = verify_mark(p->v, &at, &e[i].fp, o->err, diag);
	}
	return err;
}

/* References ----------------------------------------------------------------*/

/* The first chunk that @h refers to and that is known to be damaged. */
static bool damaged_ref(const struct depot_damage *damage,
			const struct group_header *h, struct place *out)
{
	const struct group_ref *r;
	u32 i, k;

	for (i = 0; i < h->nr_refs; i++) {
		r = &h->refs[i];
		for (k = 0; k < r->nr; k++) {
			if (!depot_damage_has(damage, r->container,
					      r->entry + k))
				continue;
			out->container = r->container;
			out->entry = r->entry + k;
			return true;
		}
	}
	return false;
}

/*
 * A group that was not read, with references into a damaged container. (That
 * of a chunk which only does not match its fingerprint would still decode;
 * reading it says so, and lifts the mark.)
 */
static int spread_to(struct pass *p, struct task *t, u32 index,
		     struct akin_diag *diag)
{
	const struct directory *d = container_directory(t->reader);
	struct outcome *o = &t->groups[index];
	struct akin_diag why = { 0 };
	struct container_group g;

	o->bad = UINT32_MAX;
	o->err = container_read_group(t->reader, index, &g, &why);
	if (o->err && !verify_is_damage(o->err))
		return diag_pass(diag, o->err, &why);
	o->read = o->err != 0;
	if (!o->err && damaged_ref(&p->v->depot->damage, &g.header, &o->base))
		o->err = -AKIN_E_bad_data;
	container_group_release(&g);
	return o->err ? judge_group(p, d, index, o, diag) : 0;
}

static int spread(struct pass *p, struct task *t, struct akin_diag *diag)
{
	const struct directory *d = container_directory(t->reader);
	u32 i;
	int err = 0;

	if (!d->nr_bases ||
	    !depot_damage_in_any(&p->v->depot->damage, d->bases, d->nr_bases))
		return 0;
	for (i = 0; !err && i < d->nr_groups; i++) {
		if (!t->groups[i].read && d->groups[i].depth)
			err = spread_to(p, t, i, diag);
	}
	return err;
}

/*
 * The directory's list of bases against what groups refer to. A base that is
 * used and not listed could be reclaimed; one that is listed and not used
 * costs space, and only who has read every group can tell.
 */
static void compare_bases(struct pass *p, struct task *t)
{
	const struct directory *d = container_directory(t->reader);
	const struct outcome *o;
	bool all = true;
	u32 i;

	for (i = 0; i < d->nr_groups; i++) {
		o = &t->groups[i];
		if (d->groups[i].depth)
			all = all && o->read && !o->err;
		if (o->stray)
			verify_found(p->v, VERIFY_CONTAINER,
				     -AKIN_E_bad_identity, NULL, "container "
				     "%llu: group %u refers to container "
				     "%llu, which the directory does not list",
				     number_of(d), d->groups[i].number,
				     (unsigned long long)o->stray);
	}
	for (i = 0; all && i < d->nr_bases; i++) {
		if (!t->used[i])
			verify_found(p->v, VERIFY_CONTAINER,
				     -AKIN_E_bad_identity, NULL, "container "
				     "%llu: its directory lists container "
				     "%llu, which no group refers to",
				     number_of(d),
				     (unsigned long long)d->bases[i]);
	}
}

static int judge_task(struct pass *p, struct task *t, struct akin_diag *diag)
{
	const struct directory *d = container_directory(t->reader);
	struct verify_result *r = p->v->result;
	bool data = d->kind == CONTAINER_DATA, any = false, all = true;
	const struct outcome *o;
	u32 i, nr_bad = 0, bad_sectors = 0;
	int err = 0;

	for (i = 0; !err && i < d->nr_groups; i++) {
		o = &t->groups[i];
		if (!o->read) {
			all = false;
			r->bytes_not_read += d->groups[i].len;
			continue;
		}
		any = true;
		nr_bad += o->err ? d->groups[i].nr : 0;
		if (o->err && !verify_is_damage(o->err))
			return diag_set(diag, o->err, "container %llu: %s",
					number_of(d), akin_strerror(o->err));
		err = judge_group(p, d, i, o, diag);
		p->v->progress.bytes += d->groups[i].len;
		if (!data)
			continue;
		r->groups_read++;
		r->bytes_verified += d->groups[i].len;
		r->chunks_verified += o->err ? 0 : d->groups[i].nr;
	}
	r->containers_read += data && any;
	if (!err)
		err = verify_parity(p->v, t->reader, all, &bad_sectors, diag);
	if (!err && (all || bad_sectors))
		err = verify_note_scrub(p->v, d->container, d->generation,
					nr_bad + bad_sectors, diag);
	if (!err)
		err = spread(p, t, diag);
	compare_bases(p, t);
	return err;
}

static void task_free(struct task *t)
{
	if (!t)
		return;
	container_close(t->reader);
	mem_free(t->groups);
	mem_free(t->used);
	mem_free(t);
}

/* Wait for the oldest container, and judge it unless something failed. */
static int gather(struct pass *p, int err, struct akin_diag *diag)
{
	struct task *t = p->oldest;

	p->oldest = t->newer;
	if (!p->oldest)
		p->newest = NULL;
	p->nr_tasks--;
	wait_for(p, t);
	if (!err)
		err = judge_task(p, t, diag);
	task_free(t);
	return err;
}

/* Structure -----------------------------------------------------------------*/

/* Chunks of a lost container that had no mark of their own. */
static u32 nr_unmarked(const struct verify *v, u64 container, u32 nr)
{
	struct place at = { .container = container };
	u32 unmarked = 0;

	for (; at.entry < nr; at.entry++)
		unmarked += !depot_damage_marked(&v->depot->damage, &at);
	return unmarked;
}

/* The whole container is out of reach. */
static int lost(struct pass *p, const struct catalog_container *row, int code,
		const struct akin_diag *why)
{
	struct place at = { row->number, DAMAGE_WHOLE };
	struct verify *v = p->v;
	int err;

	if (!verify_is_damage(code))
		return diag_set(p->diag, code, "%s", why->text);
	v->nr_lost += nr_unmarked(v, row->number, row->nr_entries);
	if (depot_damage_marked(&v->depot->damage, &at))
		verify_remark(v, VERIFY_CONTAINER, "%s; %u chunks lost, known "
			      "before", why->text, row->nr_entries);
	else
		verify_found(v, VERIFY_CONTAINER, code, NULL, "%s; %u chunks "
			     "lost", why->text, row->nr_entries);
	err = verify_mark(v, &at, NULL, code, p->diag);
	return err ? err : verify_note_scrub(v, row->number, row->generation,
					     row->nr_entries, p->diag);
}

/* What the catalog says against what the file says. */
static const char *disagreement(const struct catalog_container *row,
				const struct directory *d,
				const struct container_footer *f)
{
	u64 raw = 0;
	u32 i;

	for (i = 0; i < d->nr_groups; i++)
		raw += d->groups[i].raw_len;
	if (row->kind != d->kind)
		return "kind";
	if (row->dir_off != f->dir_off || row->dir_len != f->dir_len ||
	    row->file_bytes != f->dir_off + f->dir_len +
				       CONTAINER_FOOTER_BYTES)
		return "length";
	if (row->nr_entries != d->nr_entries)
		return "number of chunks";
	return row->raw_bytes != raw ? "size of the chunks" : NULL;
}

/* One that the catalog does not know, or that is condemned, is as good as gone.
 * 0: it is there. */
static int look_up_base(struct pass *p, u64 number, const char **what_ret)
{
	struct catalog_container row;
	struct akin_diag why = { 0 };
	int err;

	*what_ret = NULL;
	err = catalog_container(p->v->catalog, number, &row, &why);
	if (err == -AKIN_E_absent)
		*what_ret = "not in the catalog";
	else if (err)
		return diag_pass(p->diag, err, &why);
	else if (row.condemned_txn)
		*what_ret = "condemned";
	return 0;
}

/*
 * @own was read before its bases are, and in between somebody may have
 * condemned both, or revived both, or made another generation without that
 * base. So a base is missing if it is so before and after a look at a container
 * that has not changed.
 */
static int look_for_base(struct pass *p, const struct catalog_container *own,
			 u64 number, const char **what_ret)
{
	struct catalog_container now;
	struct akin_diag why = { 0 };
	int err;

	err = look_up_base(p, number, what_ret);
	if (err || !*what_ret)
		return err;
	err = catalog_container(p->v->catalog, own->number, &now, &why);
	if (err && err != -AKIN_E_absent)
		return diag_pass(p->diag, err, &why);
	if (!err && !now.condemned_txn && now.generation == own->generation)
		return look_up_base(p, number, what_ret);
	*what_ret = NULL;
	return 0;
}

/* Each base must be there. */
static int check_bases(struct pass *p, const struct catalog_container *own,
		       const struct directory *d)
{
	struct place at = { 0, DAMAGE_WHOLE };
	const char *what;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < d->nr_bases; i++) {
		at.container = d->bases[i];
		err = look_for_base(p, own, at.container, &what);
		if (err || !what)
			continue;
		verify_found(p->v, VERIFY_CONTAINER, -AKIN_E_absent, NULL,
			     "container %llu: container %llu, which it refers "
			     "to, is %s", number_of(d),
			     (unsigned long long)at.container, what);
		err = depot_damage_add(&p->v->depot->damage, &at, NULL);
	}
	return err;
}

/* Some group has references just when there are bases. */
static bool depths_agree(const struct directory *d)
{
	bool any = false;
	u32 i;

	for (i = 0; i < d->nr_groups; i++)
		any = any || d->groups[i].depth;
	return any == (d->nr_bases > 0);
}

static int check_structure(struct pass *p, const struct catalog_container *row,
			   struct container_reader *r)
{
	const struct directory *d = container_directory(r);
	const char *what = disagreement(row, d, container_reader_footer(r));
	struct akin_diag why = { 0 };
	struct container_header h;
	int err;

	err = container_check_header(r, &h, &why);
	/* Later generations are written by who reclaims. */
	if (!err && (h.kind != row->kind ||
		     (!row->generation && h.session != row->session)))
		err = diag_set(&why, -AKIN_E_bad_identity, "container %llu: "
			       "the header names another kind or session",
			       (unsigned long long)row->number);
	err = verify_settle(p->v, VERIFY_CONTAINER, err, &why, p->diag,
			    "%s", "");
	if (!err && what)
		verify_found(p->v, VERIFY_CONTAINER, -AKIN_E_bad_identity,
			     NULL, "container %llu: catalog and directory "
			     "disagree about the %s",
			     (unsigned long long)row->number, what);
	if (!err && !depths_agree(d))
		verify_found(p->v, VERIFY_CONTAINER, -AKIN_E_bad_field, NULL,
			     "container %llu: directory: %s", number_of(d),
			     d->nr_bases ? "bases, but no group refers to them"
					 : "groups with references, but no "
					   "bases");
	/* What is condemned may have lost them. */
	return err || row->condemned_txn ? err : check_bases(p, row, d);
}

/* Is the next group, of @len bytes, in the sample? */
static bool sampled(struct pass *p, u64 len)
{
	const struct verify_options *opt = p->v->opt;

	if (!opt->read_data)
		return false;
	if (p->rate < RATE_ONE) {
		if (!p->have_credit)
			p->credit = opt->seed % RATE_ONE * len;
		p->have_credit = true;
		p->credit += len * p->rate;
		if (p->credit < len * RATE_ONE)
			return false;
		p->credit -= len * RATE_ONE;
	}
	if (opt->read_bytes && p->picked_bytes + len > opt->read_bytes)
		return false;
	p->picked_bytes += len;
	return true;
}

static int read_groups(struct pass *p, struct task *t)
{
	const struct directory *d = container_directory(t->reader);
	bool all = p->all || d->kind == CONTAINER_METADATA;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < d->nr_groups; i++) {
		if (all || sampled(p, d->groups[i].len))
			queue(p, t, i);
		err = verify_tick(p->v, p->diag);
	}
	return err;
}

static int start_task(struct pass *p, struct container_reader *r)
{
	const struct directory *d = container_directory(r);
	struct task *t = mem_zalloc(sizeof(*t));

	if (!t) {
		container_close(r);
		return diag_set(p->diag, -AKIN_E_nomem, "check");
	}
	t->pass = p;
	t->reader = r;
	t->groups = mem_calloc(d->nr_groups, sizeof(*t->groups));
	t->used = mem_calloc(d->nr_bases, sizeof(*t->used));
	if (!t->groups || !t->used) {
		task_free(t);
		return diag_set(p->diag, -AKIN_E_nomem, "check");
	}
	if (p->newest)
		p->newest->newer = t;
	else
		p->oldest = t;
	p->newest = t;
	p->nr_tasks++;
	return read_groups(p, t);
}

static int one_container(void *ctx, const struct catalog_container *row)
{
	struct pass *p = ctx;
	struct place at = { row->number, DAMAGE_WHOLE };
	struct akin_diag why = { 0 };
	struct container_reader *r;
	int err;

	err = verify_tick(p->v, p->diag);
	/* Condemned ones may be gone at any time, and nothing needs them. */
	if (err || row->condemned_txn)
		return err;
	p->v->result->containers++;
	p->v->progress.containers++;
	err = container_open(p->v->depot->data, &p->v->depot->super.pool,
			     row->number, row->generation, &r, &why);
	if (err)
		return lost(p, row, err, &why);
	err = verify_lift(p->v, &at, p->diag);
	if (!err)
		err = check_structure(p, row, r);
	if (err) {
		container_close(r);
		return err;
	}
	err = start_task(p, r);
	while (!err && p->nr_tasks >= MAX_TASKS)
		err = gather(p, 0, p->diag);
	return err;
}

/* The pass ------------------------------------------------------------------*/

/* How much of each byte of data is to be read. */
static void set_rate(struct pass *p)
{
	const struct verify_options *opt = p->v->opt;
	u64 total = p->v->totals.data_bytes, want = total;

	p->rate = RATE_ONE;
	if (p->all) {
		total += p->v->totals.meta_bytes;
		p->v->progress.bytes_total = opt->budget_bytes ?
			min_u64(total, opt->budget_bytes) : total;
		return;
	}
	if (opt->read_percent && opt->read_percent < 100)
		p->rate = RATE_ONE * opt->read_percent / 100;
	if (opt->read_bytes && opt->read_bytes < total)
		p->rate = min_u64(p->rate, (u64)((double)opt->read_bytes /
						 (double)total *
						 (double)RATE_ONE));
	if (p->rate < RATE_ONE)
		want = (u64)((double)total * (double)p->rate /
			     (double)RATE_ONE);
	p->v->progress.bytes_total = p->v->totals.meta_bytes +
				     (opt->read_data ? want : 0);
}

static int pass_init(struct pass *p, struct akin_diag *diag)
{
	u32 i;

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->nr_jobs = JOBS_PER_WORKER * workers_nr(p->v->depot->workers);
	p->jobs = mem_calloc(p->nr_jobs, sizeof(*p->jobs));
	if (!p->jobs)
		return diag_set(diag, -AKIN_E_nomem, "check");
	for (i = 0; i < p->nr_jobs; i++) {
		p->jobs[i].next = p->idle;
		p->idle = &p->jobs[i];
	}
	set_rate(p);
	return 0;
}

static void pass_release(struct pass *p)
{
	mem_free(p->jobs);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
}

int verify_these(struct verify *v, const struct catalog_container *rows,
		 u32 nr, struct akin_diag *diag)
{
	struct pass p = { .v = v, .diag = diag, .all = true };
	u32 i;
	int err;

	err = pass_init(&p, diag);
	for (i = 0; !err && i < nr; i++)
		err = one_container(&p, &rows[i]);
	while (p.oldest)
		err = gather(&p, err, diag);
	pass_release(&p);
	return err;
}

int verify_containers(struct verify *v, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct pass p = { .v = v, .diag = &why };
	int err;

	v->progress.current = "containers";
	err = pass_init(&p, &why);
	if (!err)
		err = catalog_each_container(v->catalog, one_container, &p,
					     &why);
	while (p.oldest)
		err = gather(&p, err, &why);
	/* Marks that this check had no reason to test count too; the set may
	 * hold fewer than were found. */
	if (!err)
		verify_parity_end(v);
	v->result->chunks_damaged = v->nr_lost +
		max_u64(v->nr_bad, v->depot->damage.nr_chunks);
	pass_release(&p);
	return verify_settle(v, VERIFY_POOL, err, &why, diag, "%s", "");
}
