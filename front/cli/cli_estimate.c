/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin estimate: what is read, and in which mode; the reports are in
 * cli_estimate_text.c, cli_estimate_json.c and cli_estimate_html.c.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli_estimate.h"
#include "cli_signal.h"

/* What may be taken in TMPDIR to try references. */
#define SCRATCH_BYTES (4ull << 30)
#define NS_PER_DAY (86400.0 * 1e9)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void on_warning(void *ctx, const char *path, int code, const char *text)
{
	struct cli_estimate *r = ctx;

	cli_warn(r->c, path, code, text, code == -AKIN_E_source_vanished);
}

static int on_progress(void *ctx, uint64_t files, uint64_t bytes,
		       const char *path)
{
	struct cli_estimate *r = ctx;
	struct akin_progress p = { .files = files, .bytes = bytes,
				   .bytes_total = r->total,
				   .warnings = r->walk.warnings,
				   .elapsed_ns = now_ns() - r->begun_ns,
				   .current = path };

	if (r->e)
		cli_term_progress(&p);
	return cli_signal_received() ? -AKIN_E_interrupted : 0;
}

/* Options ------------------------------------------------------------------ */

static int parse_share(struct cli *c, double *out)
{
	const char *s = c->args.sample;
	char *end;

	if (!s)
		return 0;
	*out = strtod(s, &end) / 100;
	if (end == s || strcmp(end, "%") != 0 || !(*out > 0 && *out <= 1))
		return cli_fail(&c->diag, -AKIN_E_usage, "--sample: '%s' is "
				"not a share such as 5%% or 0.5%%, up to 100%%",
				s);
	/* All of it is no sample. */
	if (*out == 1)
		*out = 0;
	return 0;
}

static int parse_every(struct cli *c, double *days)
{
	struct cli_budget b = { 0 };

	if (!c->args.every)
		return 0;
	if (cli_parse_budget(c->args.every, &b) || !b.ns)
		return cli_fail(&c->diag, -AKIN_E_usage, "--every: '%s' is not "
				"a time such as 1d or 12h", c->args.every);
	*days = (double)b.ns / NS_PER_DAY;
	return 0;
}

static int parse_seed(struct cli *c, uint64_t *out)
{
	char *end;

	if (!c->args.load_seed)
		return 0;
	*out = strtoull(c->args.load_seed, &end, 0);
	if (!*c->args.load_seed || *end)
		return cli_fail(&c->diag, -AKIN_E_usage, "--seed: '%s' is not "
				"a number", c->args.load_seed);
	return 0;
}

static int check_paths(struct cli *c, bool *pool_ret)
{
	const struct cli_list *paths = &c->args.operands;
	uint32_t i, nr_streams = 0;

	for (i = 0; i < paths->nr; i++) {
		nr_streams += strcmp(paths->v[i], "-") == 0;
		if (strcmp(paths->v[i], "-") && estimate_is_pool(paths->v[i]))
			*pool_ret = true;
	}
	if (nr_streams > 1)
		return cli_fail(&c->diag, -AKIN_E_usage, "'-' twice: there is "
				"one standard input");
	if (*pool_ret && paths->nr > 1)
		return cli_fail(&c->diag, -AKIN_E_usage, "a pool is estimated "
				"by itself: its snapshots are what is read");
	if (c->args.series && !*pool_ret && paths->nr < 2)
		return cli_fail(&c->diag, -AKIN_E_usage, "--series: one PATH "
				"for each state, two at least");
	return 0;
}

/* Memory, and what is done without for want of it. */
static int check_memory(struct cli *c, bool pool, struct estimate_options *opt)
{
	opt->memory = c->args.memory ? c->args.memory : AKIN_MEMORY_DEFAULT;
	if (opt->memory < ESTIMATE_MEMORY_MIN + (pool ? ESTIMATE_MEMORY_POOL :
							 0))
		return cli_fail(&c->diag, -AKIN_E_usage, "--memory: estimate "
				"needs 48M at least, of a pool 80M");
	if (pool)
		opt->memory -= ESTIMATE_MEMORY_POOL;
	if (opt->scratch_bytes && !c->args.quiet &&
	    opt->memory < ESTIMATE_MEMORY_MIN + ESTIMATE_MEMORY_SCRATCH)
		cli_term_message(CLI_NOTE, 0, NULL, "references are left out: "
				 "trying them takes another 36 MiB of --memory",
				 NULL);
	return 0;
}

/* Reading ------------------------------------------------------------------ */

static int read_paths(struct cli_estimate *r, bool pool,
		      const struct estimate_walk_ops *ops)
{
	const struct cli_list *paths = &r->c->args.operands;
	bool series = r->c->args.series;
	char prefix[16] = "";
	uint32_t i;
	int err = 0;

	if (pool)
		return estimate_pool(r->e, paths->v[0], ops, &r->walk,
				     &r->c->diag);
	for (i = 0; i < paths->nr && !err; i++) {
		if (!series)
			snprintf(prefix, sizeof(prefix), "%u", i);
		err = estimate_path(r->e, paths->v[i], prefix, ops, &r->walk,
				    &r->c->diag);
		if (!err && r->e && (series || i + 1 == paths->nr))
			err = estimate_state_end(r->e,
					estimate_path_time(paths->v[i]),
					&r->c->diag);
	}
	return err;
}

/* How much there is, before any of it is read. */
static int add_up(struct cli_estimate *r, bool pool,
		  const struct estimate_walk_ops *ops)
{
	const struct cli_list *paths = &r->c->args.operands;
	uint32_t i;
	int err = read_paths(r, pool, ops);

	r->total = r->walk.bytes;
	for (i = 0; i < paths->nr; i++) {
		if (strcmp(paths->v[i], "-") == 0)
			r->total = 0;
	}
	r->walk = (struct estimate_walk){ 0 };
	return err;
}

static int report(struct cli_estimate *r, double days)
{
	int i, err = 0;

	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		estimate_get(r->e, i, &r->r[i]);
	estimate_get_references(r->e, &r->refs);
	r->is_series = !r->walk.mixed &&
		       estimate_get_series(r->e, days, &r->series);
	cli_term_clear();
	if (r->c->args.json)
		cli_estimate_json(r);
	else
		cli_estimate_text(r);
	if (r->c->args.report)
		err = cli_estimate_html(r);
	return err ? err : cli_output_error(r->c);
}

static int run(struct cli_estimate *r, struct estimate_options *opt,
	       bool pool, double days)
{
	struct estimate_walk_ops ops = { on_warning, on_progress, r };
	struct cli *c = r->c;
	int err = add_up(r, pool, &ops);

	if (err)
		return err;
	opt->total = r->total;
	err = estimate_new(opt, &r->e, &c->diag);
	if (!err)
		err = read_paths(r, pool, &ops);
	if (!err) {
		/* A stream's length is known now. */
		estimate_set_total(r->e, r->walk.bytes);
		err = estimate_finish(r->e, &c->diag);
	}
	if (!err)
		err = report(r, days);
	estimate_free(r->e);
	if (!err && r->walk.warnings)
		err = cli_fail(&c->diag, -AKIN_E_partial, "%llu %s could not "
			       "be read", (unsigned long long)r->walk.warnings,
			       cli_plural(r->walk.warnings, "path"));
	return err;
}

int cli_cmd_estimate(struct cli *c)
{
	struct cli_estimate r = { .c = c, .begun_ns = now_ns() };
	struct estimate_options opt = {
		.nr_threads = c->args.threads, .scratch_dir = c->args.scratch,
		.scratch_bytes = c->args.identity_only ? 0 :
				 c->args.scratch_size ? c->args.scratch_size :
				 SCRATCH_BYTES,
	};
	double days = 0;
	bool pool = false;
	int err;

	if (c->args.as_traces)
		return cli_estimate_traces(c);
	err = parse_share(c, &opt.share);
	if (!err)
		err = parse_every(c, &days);
	if (!err)
		err = parse_seed(c, &opt.seed);
	if (!err)
		err = check_paths(c, &pool);
	if (!err)
		err = check_memory(c, pool, &opt);
	return err ? err : run(&r, &opt, pool, days);
}
