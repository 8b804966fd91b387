/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check as a whole: order of the passes, findings, progress, marks.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "os/clock.h"
#include "verify/verify_internal.h"

#define SEEN_BYTES_DEFAULT (8 * MiB)
#define REPORT_NS (200ull * 1000 * 1000)

static void report(struct verify *v, int code, const char *text,
		   const struct verify_where *where)
{
	if (v->opt->finding)
		v->opt->finding(v->opt->ctx, code, text,
				where && where->snapshot ? where->snapshot : "",
				where && where->path ? where->path : "");
}

void verify_found(struct verify *v, enum verify_kind kind, int code,
		  const struct verify_where *where, const char *fmt, ...)
{
	char text[1400];
	va_list ap;

	if (!v->first_code)
		v->first_code = code;
	v->result->findings++;
	v->progress.findings++;
	if (++v->nr_found[kind] > VERIFY_REPORTED_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	report(v, code, text, where);
}

void verify_remark(struct verify *v, enum verify_kind kind,
		   const char *fmt, ...)
{
	char text[1400];
	va_list ap;

	if (v->nr_found[kind] >= VERIFY_REPORTED_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	report(v, 0, text, NULL);
}

int verify_settle(struct verify *v, enum verify_kind kind, int err,
		  const struct akin_diag *why, struct akin_diag *diag,
		  const char *fmt, ...)
{
	char front[256];
	va_list ap;

	if (!err)
		return 0;
	va_start(ap, fmt);
	vsnprintf(front, sizeof(front), fmt, ap);
	va_end(ap);
	if (!verify_is_damage(err))
		return diag_set(diag, err, "%s%s", front, why->code ?
				why->text : akin_strerror(err));
	verify_found(v, kind, err, NULL, "%s%s", front, why->code ? why->text :
		     akin_strerror(err));
	return 0;
}

int verify_tick(struct verify *v, struct akin_diag *diag)
{
	u64 now;

	if (v->opt->stopped && v->opt->stopped(v->opt->ctx))
		return diag_set(diag, -AKIN_E_interrupted, "interrupted");
	if (!v->opt->progress)
		return 0;
	now = clock_ns();
	if (now - v->report_ns >= REPORT_NS) {
		v->report_ns = now;
		v->opt->progress(v->opt->ctx, &v->progress);
	}
	return 0;
}

/* Marks ---------------------------------------------------------------------*/

/* On a full disk they are lost, and read again. */
static int flush_scrubs(struct verify *v, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err;

	err = catalog_note_scrubs(v->catalog, v->scrubs, v->nr_scrubs, &why);
	if (err && akin_error_class(err) != AKIN_CLASS_NOSPACE)
		return diag_pass(diag, err, &why);
	v->unnoted = v->unnoted || err;
	return 0;
}

int verify_flush_marks(struct verify *v, struct akin_diag *diag)
{
	int err;

	err = catalog_mark_damaged(v->catalog, v->marks, v->nr_marks, diag);
	v->nr_marks = 0;
	if (!err)
		err = catalog_unmark_damaged(v->catalog, v->lifts,
					     v->nr_lifts, diag);
	v->nr_lifts = 0;
	if (!err)
		err = flush_scrubs(v, diag);
	v->nr_scrubs = 0;
	return err;
}

int verify_note_scrub(struct verify *v, u64 container, u32 generation,
		      u32 nr_bad, struct akin_diag *diag)
{
	struct catalog_scrub *s;
	u32 nsec;
	int err;

	if (!v->opt->may_mark)
		return 0;
	if (v->nr_scrubs == VERIFY_MARKS) {
		err = verify_flush_marks(v, diag);
		if (err)
			return err;
	}
	s = &v->scrubs[v->nr_scrubs++];
	s->container = container;
	s->generation = generation;
	s->nr_bad = nr_bad;
	clock_wall(&s->sec, &nsec);
	return 0;
}

int verify_mark(struct verify *v, const struct place *at, const struct fp *fp,
		int code, struct akin_diag *diag)
{
	struct catalog_damage *m;
	struct place kept;
	u32 nsec;
	int err;

	if (depot_damage_marked(&v->depot->damage, at))
		return 0;
	err = depot_damage_add(&v->depot->damage, at, &kept);
	if (err)
		return diag_set(diag, err, "damage");
	if (!v->opt->may_mark)
		return 0;
	if (v->nr_marks == VERIFY_MARKS) {
		err = verify_flush_marks(v, diag);
		if (err)
			return err;
	}
	m = &v->marks[v->nr_marks++];
	memset(m, 0, sizeof(*m));
	m->place = kept;
	if (fp && kept.entry != DAMAGE_WHOLE)
		m->fp = *fp;
	clock_wall(&m->found_sec, &nsec);
	m->code = code;
	return 0;
}

int verify_lift(struct verify *v, const struct place *at,
		struct akin_diag *diag)
{
	int err = 0;

	if (!depot_damage_marked(&v->depot->damage, at))
		return 0;
	depot_damage_drop(&v->depot->damage, at);
	if (!v->opt->may_mark)
		return 0;
	if (v->nr_lifts == VERIFY_MARKS)
		err = verify_flush_marks(v, diag);
	if (!err)
		v->lifts[v->nr_lifts++] = *at;
	return err;
}

/* Sessions ------------------------------------------------------------------*/

static int one_session(void *ctx, const struct catalog_session *s)
{
	struct verify *v = ctx;

	if (s->state == SESSION_LIVING && v->opt->session_ended &&
	    v->opt->session_ended(v->opt->session_ctx, s->number) <= 0)
		v->any_living = true;
	return 0;
}

int verify_any_living(struct verify *v, bool *out, struct akin_diag *diag)
{
	int err = 0;

	if (!v->living_known)
		err = catalog_each_session(v->catalog, one_session, v, diag);
	v->living_known = !err;
	*out = v->any_living;
	return err;
}

/* The whole -----------------------------------------------------------------*/

/* What marks there were is known before; those of this check come to it. */
static int load_mark(void *ctx, const struct catalog_damage *row)
{
	struct verify *v = ctx;

	return depot_damage_add(&v->depot->damage, &row->place, NULL);
}

static int check_catalog(struct verify *v, bool all, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err;

	err = all ? catalog_check(v->catalog, &why) : 0;
	if (!err)
		err = catalog_totals(v->catalog, &v->totals, &why);
	if (!err)
		err = catalog_each_damage(v->catalog, load_mark, v, &why);
	v->progress.containers_total = v->totals.nr_data_containers +
				       v->totals.nr_meta_containers;
	v->progress.snapshots_total = v->totals.nr_snapshots;
	return verify_settle(v, VERIFY_POOL, err, &why, diag, "%s", "");
}

static int run_passes(struct verify *v, struct akin_diag *diag)
{
	int err, err2;

	err = verify_superblocks(v, diag);
	if (!err)
		err = check_catalog(v, true, diag);
	if (!err) {
		err = verify_containers(v, diag);
		/* What was found stays found if the check is stopped. */
		err2 = verify_flush_marks(v, err ? NULL : diag);
		err = err ? err : err2;
	}
	if (!err)
		err = verify_records(v, diag);
	if (!err)
		err = verify_runs(v, diag);
	if (!err)
		err = verify_orphans(v, diag);
	if (!err)
		err = verify_trees(v, diag);
	return err;
}

/* A round of the scrub; what is damaged, now or for long, has consequences,
 * which are looked up. */
static int run_round(struct verify *v, struct akin_diag *diag)
{
	int err, err2;

	err = check_catalog(v, false, diag);
	if (!err) {
		err = verify_scrub(v, diag);
		err2 = verify_flush_marks(v, err ? NULL : diag);
		err = err ? err : err2;
	}
	if (err || (!v->first_code && !depot_damage_any(&v->depot->damage)))
		return err;
	v->result->containers = 0;
	v->result->parity_containers = 0;
	return run_passes(v, diag);
}

static void say_rest(struct verify *v)
{
	static const char *const names[VERIFY_NR_KINDS] = {
		"findings about the pool", "damaged containers",
		"damaged chunks", "damaged snapshot records",
		"findings about index runs", "damaged files",
	};
	char text[128];
	u32 i;

	for (i = 0; i < VERIFY_NR_KINDS; i++) {
		if (v->nr_found[i] <= VERIFY_REPORTED_MAX)
			continue;
		snprintf(text, sizeof(text), "and %llu more %s",
			 (unsigned long long)(v->nr_found[i] -
					      VERIFY_REPORTED_MAX), names[i]);
		report(v, 0, text, NULL);
	}
	if (v->depot->damage.overflowed)
		report(v, 0, "there is more damage than could be kept in mind: "
		       "more files may be affected than were named", NULL);
}

static int conclude(struct verify *v, struct akin_diag *diag)
{
	const struct verify_result *r = v->result;
	int code = v->first_code;

	say_rest(v);
	if (!v->first_code)
		return 0;
	if (akin_error_class(code) != AKIN_CLASS_CORRUPT)
		code = -AKIN_E_bad_data;
	diag_set(diag, code, "%llu findings; %llu chunks damaged; "
		 "%llu files in %llu snapshots affected",
		 (unsigned long long)r->findings,
		 (unsigned long long)r->chunks_damaged,
		 (unsigned long long)r->files_damaged,
		 (unsigned long long)r->snapshots_damaged);
	if (!r->chunks_damaged && !r->files_damaged &&
	    (r->sectors_healable || r->parity_damaged))
		diag_hint(diag, "All of it can still be read; 'akin repair' "
			  "writes it back as it was.");
	if (r->chunks_damaged || r->files_damaged)
		diag_hint(diag, "If the data still exists, back it up again "
			  "with 'akin backup --force': what is damaged is "
			  "stored anew, and old snapshots heal; then 'akin "
			  "repair' heals what refers to it. 'akin restore' "
			  "gives back all that is sound.");
	return code;
}

int verify_pool(const struct verify_options *opt, struct verify_result *out,
		struct akin_diag *diag)
{
	struct verify *v;
	int err;

	memset(out, 0, sizeof(*out));
	v = mem_zalloc(sizeof(*v));
	if (!v)
		return diag_set(diag, -AKIN_E_nomem, "check");
	v->opt = opt;
	v->depot = opt->depot;
	v->catalog = opt->catalog;
	v->result = out;
	err = content_checker_new(opt->depot, opt->dec, opt->seen_bytes ?
				  opt->seen_bytes : SEEN_BYTES_DEFAULT,
				  &v->checker, diag);
	if (!err && (opt->budget_bytes || opt->budget_ns))
		err = run_round(v, diag);
	else if (!err)
		err = run_passes(v, diag);
	if (!err) {
		if (opt->progress)
			opt->progress(opt->ctx, &v->progress);
		err = conclude(v, diag);
	}
	content_checker_free(v->checker);
	if (opt->parity_bad) {
		numset_release(opt->parity_bad);
		*opt->parity_bad = TAKE(v->parity_told);
	} else {
		numset_release(&v->parity_told);
	}
	mem_free(v);
	return err;
}
