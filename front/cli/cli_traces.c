/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin estimate --traces: what is in traces, one after the other as if they
 * were stored in one pool.
 */
#include <errno.h>
#include <string.h>

#include "cli_estimate.h"
#include "cli_signal.h"
#include "cli_text.h"
#include "trace.h"

/* Between two looks at whether to go on. */
#define RECORDS 65536

struct run {
	struct cli *c;
	struct estimate_set set;
	uint64_t blocks, bytes;	/* of all so far */
};

static const char *format_name(enum trace_format format)
{
	return format == TRACE_HASHFILE ? "hashfile" :
	       format == TRACE_TEXT ? "text" : "blktrace";
}

/* All records; those of this trace are counted apart. */
static int add_all(struct run *run, struct trace *t, const char *name,
		   uint64_t *blocks_ret, uint64_t *bytes_ret)
{
	struct akin_progress p = { .current = name };
	struct cli *c = run->c;
	struct trace_record r;
	int more;

	*blocks_ret = *bytes_ret = 0;
	while ((more = trace_next(t, &r, &c->diag)) > 0) {
		estimate_set_add(&run->set, trace_number(&r), r.bytes);
		++*blocks_ret;
		*bytes_ret += r.bytes;
		if (*blocks_ret % RECORDS)
			continue;
		p.bytes = run->bytes + *bytes_ret;
		cli_term_progress(&p);
		if (cli_signal_received())
			return cli_fail(&c->diag, -AKIN_E_interrupted,
					"interrupted");
	}
	run->blocks += *blocks_ret;
	run->bytes += *bytes_ret;
	return more;
}

static void print_json(struct run *run, const char *name, const char *format,
		       uint64_t blocks, uint64_t bytes)
{
	struct estimate_sum distinct = estimate_set_count(&run->set);
	struct estimate_sum unique = estimate_set_bytes(&run->set);
	struct cli_json *j = &run->c->json;

	cli_json_begin(j, "trace");
	cli_json_text(j, "file", name);
	cli_json_text(j, "format", format);
	cli_json_uint(j, "blocks", blocks);
	cli_json_uint(j, "bytes", bytes);
	cli_json_uint(j, "blocks_so_far", run->blocks);
	cli_json_uint(j, "logical_bytes", run->bytes);
	cli_json_uint(j, "distinct", distinct.value);
	cli_json_uint(j, "distinct_low", distinct.low);
	cli_json_uint(j, "distinct_high", distinct.high);
	cli_json_uint(j, "unique_bytes", unique.value);
	cli_json_uint(j, "unique_bytes_low", unique.low);
	cli_json_uint(j, "unique_bytes_high", unique.high);
	cli_json_uint(j, "sampled_one_in", (uint64_t)1 << run->set.level);
	cli_json_end(j, stdout);
}

static void print_row(struct run *run, const char *name, const char *format,
		      uint64_t blocks, uint64_t bytes)
{
	struct estimate_sum distinct = estimate_set_count(&run->set);
	struct estimate_sum unique = estimate_set_bytes(&run->set);
	char size[CLI_UNIT_TEXT], a[CLI_UNIT_TEXT], dedup[CLI_UNIT_TEXT];
	char error[CLI_UNIT_TEXT];
	struct cli_str safe = { 0 };

	cli_term_clear();
	cli_quote(&safe, name, strlen(name));
	printf("%-9s %12llu %10s %12llu %10s %8s %8s  %s\n", format,
	       (unsigned long long)blocks, cli_size_text(bytes, size),
	       (unsigned long long)distinct.value,
	       cli_size_text(unique.value, a),
	       cli_interval_text(&unique, error),
	       cli_ratio_text(run->bytes, unique.value, dedup), safe.s);
	cli_str_release(&safe);
}

static int one_trace(struct run *run, const char *name)
{
	bool is_stdin = strcmp(name, "-") == 0;
	FILE *f = is_stdin ? stdin : fopen(name, "rb");
	struct cli *c = run->c;
	uint64_t blocks, bytes;
	const char *format;
	struct trace *t;
	int err;

	if (!f)
		return cli_fail_errno(&c->diag, errno, "%s", name);
	err = trace_open(f, name, TRACE_ANY, &t, &c->diag);
	if (!err) {
		err = add_all(run, t, name, &blocks, &bytes);
		format = format_name(trace_get_format(t));
		if (!err && c->args.json)
			print_json(run, name, format, blocks, bytes);
		else if (!err)
			print_row(run, name, format, blocks, bytes);
		trace_close(t);
	}
	if (!is_stdin)
		fclose(f);
	return err;
}

/* For 'akin capacity plan'; nothing is known of compression. */
static void print_estimate(struct run *run)
{
	uint64_t unique = estimate_set_bytes(&run->set).value, chunk = 0;
	uint64_t distinct = estimate_set_count(&run->set).value;
	struct cli_json *j = &run->c->json;

	if (distinct)
		chunk = unique / distinct;
	cli_json_begin(j, "estimate");
	cli_json_uint(j, "version", 1);
	cli_json_uint(j, "logical_bytes", run->bytes);
	cli_json_uint(j, "unique_bytes", unique);
	cli_json_uint(j, "stored_bytes", unique);
	if (chunk >= 1024 && chunk <= 1048576)
		cli_json_uint(j, "chunk_bytes", chunk);
	cli_json_end(j, stdout);
}

int cli_estimate_traces(struct cli *c)
{
	uint64_t memory = c->args.memory ? c->args.memory :
			  AKIN_MEMORY_DEFAULT;
	const struct cli_list *names = &c->args.operands;
	struct run run = { .c = c };
	uint32_t i;
	int err = 0;

	if (estimate_set_init(&run.set, memory / 2))
		return cli_fail(&c->diag, -AKIN_E_nomem, "out of memory");
	if (!c->args.json)
		printf("%-9s %12s %10s %12s %10s %8s %8s\n", "TRACE", "BLOCKS",
		       "SIZE", "DISTINCT", "UNIQUE", "(95%)", "DEDUP");
	for (i = 0; i < names->nr && !err; i++)
		err = one_trace(&run, names->v[i]);
	if (!err && c->args.json)
		print_estimate(&run);
	estimate_set_release(&run.set);
	return err ? err : cli_output_error(c);
}
