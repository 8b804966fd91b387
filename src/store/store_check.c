/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public check: verify/ over an opened pool.
 */
#include "catalog/catalog_scrub.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/store.h"
#include "verify/verify.h"

struct check {
	struct akin_pool *p;
	const struct akin_check_options *opt;
	u64 start_ns;
};

static int stopped(void *ctx)
{
	struct check *c = ctx;

	return store_check_stop(c->p, NULL);
}

static void progress(void *ctx, const struct verify_progress *vp)
{
	struct check *c = ctx;
	struct akin_progress out = { 0 };

	out.files = vp->files;
	out.others = vp->containers;
	out.dirs = vp->snapshots;
	out.bytes = out.bytes_read = vp->bytes;
	out.bytes_total = vp->bytes_total;
	out.warnings = vp->findings;
	out.elapsed_ns = clock_ns() - c->start_ns;
	out.current = vp->current;
	c->opt->progress(c->opt->ctx, &out);
}

static void finding(void *ctx, int code, const char *text,
		    const char *snapshot, const char *path)
{
	struct check *c = ctx;

	c->opt->finding(c->opt->ctx, code, text, snapshot, path);
}

static void export_result(const struct verify_result *r,
			  struct akin_check_result *out)
{
	out->snapshots = r->snapshots;
	out->containers = r->containers;
	out->pieces = r->pieces;
	out->chunks_located = r->chunks_located;
	out->containers_read = r->containers_read;
	out->groups_read = r->groups_read;
	out->chunks_verified = r->chunks_verified;
	out->bytes_verified = r->bytes_verified;
	out->bytes_not_read = r->bytes_not_read;
	out->parity_containers = r->parity_containers;
	out->sectors_healable = r->sectors_healable;
	out->parity_damaged = r->parity_damaged;
	out->findings = r->findings;
	out->chunks_damaged = r->chunks_damaged;
	out->files_damaged = r->files_damaged;
	out->snapshots_damaged = r->snapshots_damaged;
	out->orphan_files = r->orphan_files;
}

int akin_check(struct akin_pool *p, const struct akin_check_options *opt,
	       struct akin_check_result *out, struct akin_diag *diag)
{
	struct check c = { p, opt, clock_ns() };
	struct catalog_scrub_totals scrub;
	struct verify_result result;
	struct verify_options v = {
		.depot = &p->depot,
		.catalog = p->catalog,
		.dec = &p->dec,
		.read_data = opt->read_data,
		.read_percent = opt->read_percent,
		.read_bytes = opt->read_bytes,
		.budget_bytes = opt->budget_bytes,
		.budget_ns = opt->budget_ns,
		.may_mark = !p->read_only,
		/* No backup runs on this handle meanwhile. */
		.seen_bytes = p->budget.streams / 2,
		.session_ended = store_session_ended,
		.session_ctx = p,
		.stopped = stopped,
		.progress = opt->progress ? progress : NULL,
		.finding = opt->finding ? finding : NULL,
		.parity_bad = &p->parity_bad,
		.ctx = &c,
	};
	int err;

	memset(out, 0, sizeof(*out));
	if (opt->read_percent > 100)
		return diag_set(diag, -AKIN_E_usage, "%u %% of the data is "
				"more than all", opt->read_percent);
	err = random_bytes(&v.seed, sizeof(v.seed), diag);
	if (err)
		return err;
	err = verify_pool(&v, &result, diag);
	export_result(&result, out);
	if (!catalog_scrub_totals(p->catalog, &scrub, NULL)) {
		out->never_read = scrub.nr_never;
		out->bytes_never_read = scrub.bytes_never;
		out->oldest_read_sec = scrub.oldest_sec;
	}
	counters_add(p->counters, findings, result.findings);
	counters_add(p->counters, chunks_damaged, result.chunks_damaged);
	return diag_said(diag, err);
}
