/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin pools: a line for each pool, as zpool list has it.
 */
#include <string.h>

#include "cli.h"

struct line {
	const char *path;
	struct akin_stats s;
	const char *health;
};

static void print_json(struct cli *c, const struct line *l)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "pool");
	cli_json_name(j, "pool", l->path);
	cli_json_text(j, "health", l->health);
	cli_json_uint(j, "size", l->s.data_total);
	cli_json_uint(j, "allocated", l->s.bytes_total);
	cli_json_uint(j, "free", l->s.data_free);
	cli_json_uint(j, "meta_free", l->s.meta_free);
	cli_json_uint(j, "snapshots", l->s.snapshots);
	cli_json_uint(j, "bytes_logical", l->s.bytes_logical);
	cli_json_ratio(j, "dedup", l->s.bytes_logical, l->s.bytes_unique);
	cli_json_ratio(j, "ratio", l->s.bytes_logical, l->s.bytes_total);
	cli_json_uint(j, "damaged", l->s.damaged);
	cli_json_end(j, stdout);
}

static void print_line(struct cli *c, const struct line *l)
{
	char a[5][CLI_UNIT_TEXT], cap[16] = "-";
	uint64_t all = l->s.bytes_total + l->s.data_free;

	if (all)
		snprintf(cap, sizeof(cap), "%.0f%%",
			 100.0 * (double)l->s.bytes_total / (double)all);
	printf("%-24s %9s %9s %9s %5s %7s %7s  %s\n", cli_quoted(c, l->path),
	       cli_size_text(l->s.data_total, a[0]),
	       cli_size_text(l->s.bytes_total, a[1]),
	       cli_size_text(l->s.data_free, a[2]), cap,
	       cli_ratio_text(l->s.bytes_logical, l->s.bytes_unique, a[3]),
	       cli_ratio_text(l->s.bytes_logical, l->s.bytes_total, a[4]),
	       l->health);
}

/* What cannot be opened is said, and the others are shown. */
static int one(struct cli *c, const char *path)
{
	struct akin_open_options opt = { .path = path,
					 .memory_bytes = c->args.memory,
					 .nr_threads = c->args.threads,
					 .read_only = true };
	struct line l = { .path = path };
	struct akin_diag why = { 0 };
	struct akin_pool *p = NULL;
	int err;

	err = akin_pool_open(&opt, &p, &why);
	if (!err)
		err = akin_stats(p, &l.s, &why);
	akin_pool_close(p);
	l.health = err ? "UNAVAIL" : l.s.damaged ? "DEGRADED" : "ONLINE";
	if (c->args.json)
		print_json(c, &l);
	else
		print_line(c, &l);
	if (err) {
		cli_warn(c, path, err, why.text, false);
		c->diag = why;
	}
	return err;
}

int cli_cmd_pools(struct cli *c)
{
	const struct cli_list *l = &c->args.operands;
	uint32_t i;
	int err, first = 0;

	if (!l->nr) {
		err = cli_need_pool(c);
		if (err)
			return err;
	}
	if (!c->args.json && !c->args.quiet)
		printf("%-24s %9s %9s %9s %5s %7s %7s  %s\n", "NAME", "SIZE",
		       "ALLOC", "FREE", "CAP", "DEDUP", "RATIO", "HEALTH");
	if (!l->nr)
		return one(c, c->args.pool);
	for (i = 0; i < l->nr; i++) {
		err = one(c, l->v[i]);
		first = first ? first : err;
	}
	return first;
}
