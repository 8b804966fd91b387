/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin estimate.
 *
 * The last object of --json is what 'akin capacity plan' reads; see
 * docs/design/capacity.md.
 */
#include <string.h>
#include <time.h>

#include "cli.h"
#include "cli_signal.h"
#include "estimate.h"

struct run {
	struct cli *c;
	struct estimate_walk walk;
	uint64_t begun_ns;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void on_warning(void *ctx, const char *path, int code, const char *text)
{
	struct run *r = ctx;

	cli_warn(r->c, path, code, text, code == -AKIN_E_source_vanished);
}

static int on_progress(void *ctx, uint64_t files, uint64_t bytes,
		       const char *path)
{
	struct run *r = ctx;
	struct akin_progress p = { .files = files, .bytes = bytes,
				   .warnings = r->walk.warnings,
				   .elapsed_ns = now_ns() - r->begun_ns,
				   .current = path };

	cli_term_progress(&p);
	return cli_signal_received() ? -AKIN_E_interrupted : 0;
}

static void json_double(struct cli_json *j, const char *key, double v)
{
	cli_str_addf(&j->out, ",\"%s\":%.4f", key, v);
}

static void method_json(struct cli *c, const struct estimate_method *m,
			const struct estimate_result *r)
{
	struct cli_json *j = &c->json;
	char key[32];
	int i;

	cli_json_begin(j, "method");
	cli_json_text(j, "cut", m->name);
	cli_json_uint(j, "block_bytes", m->block);
	cli_json_uint(j, "logical_bytes", r->bytes);
	cli_json_uint(j, "blocks", r->blocks);
	cli_json_uint(j, "distinct", r->distinct.value);
	cli_json_uint(j, "distinct_error", r->distinct.error);
	cli_json_uint(j, "unique_bytes", r->unique.value);
	cli_json_uint(j, "unique_error", r->unique.error);
	cli_json_uint(j, "sampled_one_in", (uint64_t)1 << r->level);
	cli_json_uint(j, "compressed_sample_bytes", r->sample_bytes);
	for (i = 0; i < ESTIMATE_NR_CODECS; i++) {
		snprintf(key, sizeof(key), "factor_%s", estimate_codecs[i]);
		json_double(j, key, r->factor[i]);
		snprintf(key, sizeof(key), "stored_bytes_%s",
			 estimate_codecs[i]);
		cli_json_uint(j, key, estimate_stored(r, i));
	}
	cli_json_uint(j, "zfs_table_bytes", estimate_zfs_bytes(r));
	cli_json_uint(j, "akin_index_bytes", estimate_index_bytes(r));
	cli_json_end(j, stdout);
}

static void estimate_json(struct cli *c, const struct estimate_result *r)
{
	uint64_t stored = estimate_stored(r, ESTIMATE_ZSTD), chunk = 0;
	struct cli_json *j = &c->json;

	if (r->distinct.value)
		chunk = r->unique.value / r->distinct.value;
	cli_json_begin(j, "estimate");
	cli_json_uint(j, "version", 1);
	cli_json_uint(j, "logical_bytes", r->bytes);
	cli_json_uint(j, "unique_bytes", r->unique.value);
	cli_json_uint(j, "stored_bytes", stored);
	/* A plan takes no others; without it, it goes by the default. */
	if (chunk >= 1024 && chunk <= 1048576)
		cli_json_uint(j, "chunk_bytes", chunk);
	cli_json_end(j, stdout);
}

static void print_method(const struct estimate_method *m,
			 const struct estimate_result *r)
{
	char size[CLI_UNIT_TEXT], a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
	char dedup[CLI_UNIT_TEXT], index[CLI_UNIT_TEXT];
	char error[CLI_UNIT_TEXT] = "exact";

	if (r->level)
		snprintf(error, sizeof(error), "+-%.2f%%", r->unique.value ?
			 100.0 * (double)r->unique.error /
			 (double)r->unique.value : 0);
	printf("%-8s %8s %12llu %12llu %10s %8s %8s %10s %10s\n", m->name,
	       cli_size_text(m->block, size), (unsigned long long)r->blocks,
	       (unsigned long long)r->distinct.value,
	       cli_size_text(r->unique.value, a),
	       error, cli_ratio_text(r->bytes, r->unique.value, dedup),
	       cli_size_text(estimate_zfs_bytes(r), b),
	       cli_size_text(estimate_index_bytes(r), index));
}

static void print_codecs(const struct estimate_method *m,
			 const struct estimate_result *r)
{
	char size[CLI_UNIT_TEXT], a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
	uint64_t stored;
	int i;

	for (i = 0; i < ESTIMATE_NR_CODECS; i++) {
		stored = estimate_stored(r, i);
		printf("%-8s %8s %-5s %9.2fx %9s %12s\n", i ? "" : m->name,
		       i ? "" : cli_size_text(m->block, size),
		       estimate_codecs[i], r->factor[i],
		       cli_ratio_text(r->bytes, stored, b),
		       cli_size_text(stored, a));
	}
}

static void print_all(struct run *run, const struct estimate_result *r)
{
	char a[CLI_UNIT_TEXT];
	int i;

	cli_term_clear();
	printf("%llu %s, %s\n\n", (unsigned long long)run->walk.files,
	       cli_plural(run->walk.files, "file"),
	       cli_size_text(r[0].bytes, a));
	printf("%-8s %8s %12s %12s %10s %8s %8s %10s %10s\n", "CUT", "SIZE",
	       "BLOCKS", "DISTINCT", "UNIQUE", "(99%)", "DEDUP", "ZFS RAM",
	       "INDEX");
	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		print_method(&estimate_methods[i], &r[i]);
	printf("\n%-8s %8s %-5s %10s %9s %12s\n", "CUT", "SIZE", "CODEC",
	       "COMPRESSED", "IN ALL", "STORED");
	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		print_codecs(&estimate_methods[i], &r[i]);
}

static void report(struct run *run, const struct estimate *e)
{
	struct estimate_result r[ESTIMATE_NR_METHODS];
	int i;

	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		estimate_get(e, i, &r[i]);
	if (!run->c->args.json) {
		print_all(run, r);
		return;
	}
	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		method_json(run->c, &estimate_methods[i], &r[i]);
	estimate_json(run->c, &r[ESTIMATE_POOL]);
}

int cli_cmd_estimate(struct cli *c)
{
	struct run run = { .c = c, .begun_ns = now_ns() };
	struct estimate_walk_ops ops = { on_warning, on_progress, &run };
	const struct cli_list *paths = &c->args.operands;
	uint64_t memory = c->args.memory ? c->args.memory :
			  AKIN_MEMORY_DEFAULT;
	struct estimate *e = NULL;
	uint32_t i;
	int err;

	if (c->args.as_traces)
		return cli_estimate_traces(c);
	if (memory < ESTIMATE_MEMORY_MIN)
		return cli_fail(&c->diag, -AKIN_E_usage, "--memory: estimate "
				"needs 48M at least");
	err = estimate_new(memory, &e, &c->diag);
	for (i = 0; i < paths->nr && !err; i++)
		err = estimate_path(e, paths->v[i], &ops, &run.walk, &c->diag);
	if (!err)
		err = estimate_finish(e, &c->diag);
	if (!err) {
		report(&run, e);
		err = cli_output_error(c);
	}
	estimate_free(e);
	if (!err && run.walk.warnings)
		err = cli_fail(&c->diag, -AKIN_E_partial, "%llu %s could not "
			       "be read", (unsigned long long)run.walk.warnings,
			       cli_plural(run.walk.warnings, "path"));
	return err;
}
