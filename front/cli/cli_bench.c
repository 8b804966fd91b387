/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin bench.
 */
#include <errno.h>
#include <string.h>

#include "cli.h"
#include "cli_signal.h"
#include "measure.h"

#define MAX_COUNTS 16

static const struct {
	const char *name;
	int (*run)(const struct measure_options *opt,
		   struct measure_report *out, struct akin_diag *diag);
	uint32_t max_counts;
	unsigned max;		/* of a count */
} verbs[] = {
	{ "streams", measure_streams, MAX_COUNTS, 1024 },
	{ "engines", measure_engines, 1, 64 },
	{ "targets", measure_targets, MAX_COUNTS, 9 },
	{ "verify", measure_verify, 0, 0 },
	{ "growth", measure_growth, 1, 10000 },
	{ "files", measure_files, 1, 100000 },
	{ "micro", measure_micro, 0, 0 },
};

static int on_tick(void *ctx, const char *text)
{
	struct akin_progress p = { .current = text };
	struct cli *c = ctx;

	if (cli_signal_received())
		return -AKIN_E_interrupted;
	if (!c->args.quiet && !c->args.json)
		cli_term_progress(&p);
	return 0;
}

static void print_rows(struct cli *c, const struct measure_report *r)
{
	struct cli_json *j = &c->json;
	uint32_t i, k;

	for (i = 0; i < r->nr_rows; i++) {
		cli_json_begin(j, r->verb);
		if (r->row_title)
			cli_json_text(j, r->row_title, r->labels[i]);
		for (k = 0; k < r->nr_columns; k++)
			cli_json_ratio(j, r->columns[k].key,
				       (uint64_t)(r->values[(size_t)i *
						  r->nr_columns + k] * 1e3 +
						  0.5), 1000);
		cli_json_end(j, stdout);
	}
}

static void print_json(struct cli *c, const struct measure_report *r)
{
	const char *machine = r->machine;
	struct cli_json *j = &c->json;

	for (; r; r = r->next)
		print_rows(c, r);
	cli_json_begin(j, "machine");
	cli_json_text(j, "machine", machine);
	cli_json_end(j, stdout);
}

static int write_report(struct cli *c, const struct measure_report *r)
{
	FILE *f = fopen(c->args.report, "w");
	bool failed;

	if (!f)
		return cli_fail_errno(&c->diag, errno, "%s", c->args.report);
	measure_html(r, f);
	failed = ferror(f);
	if (fclose(f) || failed)
		return cli_fail_errno(&c->diag, errno ? errno : EIO, "%s",
				      c->args.report);
	return 0;
}

static int parse_counts(struct cli *c, uint32_t verb, unsigned *counts)
{
	const struct cli_list *l = &c->args.operands;
	uint32_t i;

	if (l->nr - 1 > verbs[verb].max_counts)
		return cli_fail(&c->diag, -AKIN_E_usage, "'%s': %s takes %s",
				l->v[verbs[verb].max_counts + 1],
				verbs[verb].name, verbs[verb].max_counts ?
				"no more numbers" : "no numbers");
	for (i = 1; i < l->nr; i++) {
		if (cli_parse_count(l->v[i], verbs[verb].max, &counts[i - 1]) ||
		    !counts[i - 1])
			return cli_fail(&c->diag, -AKIN_E_usage, "'%s' is not "
					"a number from 1 to %u", l->v[i],
					verbs[verb].max);
	}
	return 0;
}

static int run(struct cli *c, uint32_t verb, const struct measure_options *opt)
{
	struct measure_report r;
	int err;

	err = verbs[verb].run(opt, &r, &c->diag);
	cli_term_clear();
	if (!err && c->args.json)
		print_json(c, &r);
	else if (!err)
		measure_table(&r, stdout);
	if (!err && c->args.report)
		err = write_report(c, &r);
	measure_release(&r);
	return err ? err : cli_output_error(c);
}

int cli_cmd_bench(struct cli *c)
{
	const struct cli_args *a = &c->args;
	unsigned counts[MAX_COUNTS];
	struct measure_options opt = {
		.dir = a->bench_dir,
		.bytes = a->load_size,
		.memory_bytes = a->memory,
		.nr_threads = a->threads,
		.compression = a->compression,
		.delta_depth = cli_delta_depth(a),
		.throttle_meta = a->throttle.meta,
		.throttle_data = a->throttle.data,
		.counts = counts,
		.nr_counts = a->operands.nr - 1,
		.nr_files = a->bench_files,
		.nr_fingerprints = a->bench_fingerprints,
		.traces = a->traces.v,
		.nr_traces = a->traces.nr,
		.tick = on_tick,
		.ctx = c,
	};
	uint32_t i;
	int err;

	for (i = 0; i < CLI_ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, a->operands.v[0]))
			continue;
		err = parse_counts(c, i, counts);
		return err ? err : run(c, i, &opt);
	}
	return cli_fail(&c->diag, -AKIN_E_usage, "'%s' is not streams, engines, "
			"targets, verify, growth, files or micro", a->operands.v[0]);
}
