/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin sysstat: a row for each interval, in the manner of the classic tool of
 * that name.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "cli_columns.h"
#include "cli_diag.h"
#include "cli_signal.h"

#define INTERVAL_DEFAULT 15
#define ROWS_PER_HEAD 20

/* Lowest and highest of the rows, for -s. */
struct range {
	bool any;
	double min, max;
};

struct table {
	bool extended, json;
	struct cli_sample sum;
	struct range range[CLI_MAX_COLUMNS];
	uint64_t nr_rows;
};

static bool is_shown(const struct table *t, const struct cli_column *col)
{
	return t->extended || !col->extended;
}

static void print_cell(const struct cli_column *col, const char *text)
{
	printf(" %*s", col->width, text);
}

static void print_head(const struct table *t)
{
	const struct cli_column *col;

	for (col = cli_columns; col->key; col++) {
		if (is_shown(t, col))
			print_cell(col, col->above);
	}
	putchar('\n');
	for (col = cli_columns; col->key; col++) {
		if (is_shown(t, col))
			print_cell(col, col->name);
	}
	putchar('\n');
}

static void note(struct range *r, double v)
{
	r->min = r->any && r->min < v ? r->min : v;
	r->max = r->any && r->max > v ? r->max : v;
	r->any = true;
}

static void add_number(struct cli_json *j, const char *key, const char *end,
		       double v)
{
	cli_str_addf(&j->out, ",\"%s%s\":%.6g", key, end, v);
}

/* @ranges: of the rows, for the summary; or NULL. */
static void print_json_row(struct cli *c, const struct cli_sample *s,
			   const char *type, const struct range *ranges)
{
	struct cli_json *j = &c->json;
	const struct cli_column *col;
	const struct range *r;
	char text[CLI_CELL];
	double v;

	cli_json_begin(j, type);
	cli_json_seconds(j, "seconds", (uint64_t)(s->seconds * 1e9));
	for (col = cli_columns; col->key; col++) {
		if (col->how == CLI_COMMIT_CAUSE && !ranges)
			cli_json_text(j, col->key, cli_commit_cause(s, text));
		if (!cli_column_value(col, s, &v))
			continue;
		add_number(j, col->key, "", v);
		r = ranges ? &ranges[col - cli_columns] : NULL;
		if (r && r->any) {
			add_number(j, col->key, "_min", r->min);
			add_number(j, col->key, "_max", r->max);
		}
	}
	if (s->disk[0])
		cli_json_text(j, "disk", s->disk);
	cli_json_end(j, stdout);
}

static void print_row(struct cli *c, struct table *t,
		      const struct cli_sample *s)
{
	const struct cli_column *col;
	char text[CLI_CELL];
	double v = 0;
	bool known;

	if (t->json)
		print_json_row(c, s, "interval", NULL);
	else if (t->nr_rows % ROWS_PER_HEAD == 0)
		print_head(t);
	for (col = cli_columns; col->key; col++) {
		known = cli_column_value(col, s, &v);
		if (known)
			note(&t->range[col - cli_columns], v);
		if (t->json || !is_shown(t, col))
			continue;
		print_cell(col, col->how == CLI_COMMIT_CAUSE ?
				cli_commit_cause(s, text) :
				cli_column_text(col, known, v, text));
	}
	if (!t->json)
		putchar('\n');
	cli_sample_add(&t->sum, s);
	t->nr_rows++;
	fflush(stdout);
}

static void print_summary_row(const struct table *t, int k)
{
	static const char *const names[] = { "min", "avg", "max" };
	const struct cli_column *col;
	const struct range *r;
	char text[CLI_CELL];
	double v = 0;
	bool known;

	for (col = cli_columns; col->key; col++) {
		if (!is_shown(t, col))
			continue;
		r = &t->range[col - cli_columns];
		known = cli_column_value(col, &t->sum, &v) && r->any;
		v = k == 0 ? r->min : k == 1 ? v : r->max;
		print_cell(col, cli_column_text(col, known, v, text));
	}
	printf("  %s\n", names[k]);
}

static void print_summary(struct cli *c, struct table *t)
{
	int k;

	if (t->nr_rows == 0)
		return;
	if (t->json) {
		print_json_row(c, &t->sum, "summary", t->range);
		return;
	}
	printf("--\nSummary of %" PRIu64 " %s (min, avg, max)\n", t->nr_rows,
	       cli_plural(t->nr_rows, "interval"));
	for (k = 0; k < 3; k++)
		print_summary_row(t, k);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* False: a signal came. */
static bool wait_until(uint64_t ns)
{
	struct pollfd fd = { .fd = cli_signal_fd(), .events = POLLIN };
	uint64_t now = now_ns();

	while (now < ns) {
		if (poll(&fd, 1, (int)((ns - now) / 1000000 + 1)) > 0)
			return false;
		now = now_ns();
	}
	return !cli_signal_received();
}

static int run(struct cli *c, const char *pool, unsigned interval)
{
	struct table t = { .extended = c->args.extended,
			   .json = c->args.json };
	struct cli_reading r[2] = { 0 };
	struct cli_sample s;
	uint64_t next;
	unsigned i;

	cli_reading_take(&r[0], pool);
	next = r[0].ns;
	for (i = 0; c->args.count == 0 || i < c->args.count; i++) {
		next += (uint64_t)interval * 1000000000;
		if (!wait_until(next) || cli_output_error(c))
			break;
		cli_reading_take(&r[(i + 1) % 2], pool);
		cli_sample_between(&r[i % 2], &r[(i + 1) % 2], &s);
		print_row(c, &t, &s);
	}
	if (c->args.summary)
		print_summary(c, &t);
	cli_reading_release(&r[0]);
	cli_reading_release(&r[1]);
	return cli_output_error(c);
}

int cli_cmd_sysstat(struct cli *c)
{
	const struct cli_list *ops = &c->args.operands;
	unsigned interval = INTERVAL_DEFAULT;
	char id[AKIN_POOL_ID];
	const char *pool;
	int err;

	if (ops->nr && (cli_parse_count(ops->v[0], 86400, &interval) ||
			interval == 0))
		return cli_fail(&c->diag, -AKIN_E_usage, "'%.100s': an "
				"interval is 1 to 86400 seconds", ops->v[0]);
	err = cli_identify(c, id, &pool);
	return err ? err : run(c, pool, interval);
}
