/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin stats: what each means of saving saves, and what a restore costs.
 */
#include <string.h>

#include "cli.h"
#include "cli_factors.h"

static void print_json(struct cli *c, const char *of, const char *id,
		       const struct akin_factors *f)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "factors");
	cli_json_text(j, "of", of);
	if (id)
		cli_json_text(j, "id", id);
	cli_json_uint(j, "bytes_logical", f->bytes_logical);
	cli_json_uint(j, "bytes_unique", f->bytes_unique);
	cli_json_uint(j, "bytes_plain", f->bytes_plain);
	cli_json_uint(j, "bytes_stored", f->bytes_stored);
	cli_json_uint(j, "bytes_metadata", f->bytes_metadata);
	cli_json_ratio(j, "dedup", f->bytes_logical, f->bytes_unique);
	cli_json_ratio(j, "compression", f->bytes_unique, f->bytes_plain);
	cli_json_ratio(j, "reference", f->bytes_plain, f->bytes_stored);
	cli_json_ratio(j, "product", f->bytes_logical, f->bytes_stored);
	cli_json_end(j, stdout);
}

static void print_row(const char *of, const struct akin_factors *f)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT];
	char d[CLI_UNIT_TEXT], e[CLI_UNIT_TEXT];

	printf("%-24s %10s %10s %10s %10s %10s\n", of,
	       cli_ratio_text(f->bytes_logical, f->bytes_unique, a),
	       cli_ratio_text(f->bytes_unique, f->bytes_plain, b),
	       cli_ratio_text(f->bytes_plain, f->bytes_stored, c),
	       cli_ratio_text(f->bytes_logical, f->bytes_stored, d),
	       cli_size_text(f->bytes_metadata, e));
}

static void print_heading(void)
{
	printf("\n%-24s %10s %10s %10s %10s %10s\n", "factors", "dedup",
	       "compress", "reference", "product", "metadata");
}

static int keep_newest(void *ctx, const struct akin_snapshot *s)
{
	struct akin_snapshot *newest = ctx;

	if (s->number > newest->number) {
		newest->number = s->number;
		memcpy(newest->id, s->id, sizeof(newest->id));
	}
	return 0;
}

/* Of the newest snapshot, if there is any. */
static int factors_of_newest(struct cli *c, struct akin_snapshot *newest,
			     struct akin_factors *out)
{
	int err;

	do {
		newest->number = 0;
		err = akin_snapshot_each(c->pool, NULL, keep_newest, newest,
					 &c->diag);
		if (!err && newest->number)
			err = akin_stats_factors(c->pool, newest->number, out,
						 &c->diag);
	} while (cli_gone(c, err));
	return err;
}

int cli_pool_factors(struct cli *c)
{
	struct akin_snapshot newest = { 0 };
	struct akin_factors pool, run;
	int err;

	err = akin_stats_factors(c->pool, 0, &pool, &c->diag);
	if (!err)
		err = factors_of_newest(c, &newest, &run);
	if (err)
		return err;
	if (c->args.json) {
		print_json(c, "pool", NULL, &pool);
		if (newest.number)
			print_json(c, "last_run", newest.id, &run);
		return 0;
	}
	print_heading();
	print_row("  pool", &pool);
	if (newest.number)
		print_row("  last backup", &run);
	return 0;
}

int cli_snapshot_factors(struct cli *c, const struct akin_snapshot *s)
{
	struct akin_factors f;
	int err;

	err = akin_stats_factors(c->pool, s->number, &f, &c->diag);
	if (err)
		return err;
	if (c->args.json) {
		print_json(c, "snapshot", s->id, &f);
		return 0;
	}
	print_heading();
	print_row("  its backup", &f);
	return 0;
}

/* Restores -------------------------------------------------------------------*/

static void print_cost_json(struct cli *c, const char *id,
			    const struct akin_restore_cost *r)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "restore_cost");
	cli_json_text(j, "id", id);
	cli_json_uint(j, "bytes_logical", r->bytes_logical);
	cli_json_uint(j, "bytes_unique", r->bytes_unique);
	cli_json_uint(j, "chunks", r->chunks);
	cli_json_uint(j, "containers", r->containers);
	cli_json_uint(j, "groups", r->groups);
	cli_json_uint(j, "groups_base", r->groups_base);
	cli_json_uint(j, "bytes_read", r->bytes_read);
	cli_json_uint(j, "bytes_decoded", r->bytes_decoded);
	cli_json_ratio(j, "decode_amplification", r->bytes_decoded,
		       r->bytes_logical);
	cli_json_uint(j, "depth", r->depth);
	cli_json_uint(j, "metadata_containers", r->metadata_containers);
	cli_json_uint(j, "metadata_groups", r->metadata_groups);
	cli_json_uint(j, "metadata_read", r->metadata_read);
	cli_json_uint(j, "metadata_decoded", r->metadata_decoded);
	cli_json_uint(j, "missing", r->missing);
	cli_json_uint(j, "unreadable", r->unreadable);
	cli_json_end(j, stdout);
}

static void print_cost(const struct akin_restore_cost *r)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];

	printf("\n%-24s %10s  %llu groups in %llu containers\n",
	       "a restore reads", cli_size_text(r->bytes_read, a),
	       (unsigned long long)(r->groups + r->groups_base),
	       (unsigned long long)r->containers);
	printf("%-24s %10s  %s what it gives\n", "  and decodes",
	       cli_size_text(r->bytes_decoded, a),
	       cli_ratio_text(r->bytes_decoded, r->bytes_logical, b));
	if (r->groups_base)
		printf("%-24s %10llu  groups; chains of up to %u\n",
		       "  for references only",
		       (unsigned long long)r->groups_base, r->depth);
	printf("%-24s %10s  %llu groups in %llu containers\n", "  metadata",
	       cli_size_text(r->metadata_read, a),
	       (unsigned long long)r->metadata_groups,
	       (unsigned long long)r->metadata_containers);
	if (r->missing + r->unreadable)
		printf("%-24s %10llu  ('akin check' says more)\n",
		       "  missing, unreadable",
		       (unsigned long long)(r->missing + r->unreadable));
}

int cli_snapshot_cost(struct cli *c, const struct akin_snapshot *s)
{
	struct akin_restore_cost r;
	int err;

	err = akin_restore_cost(c->pool, s->number, cli_on_progress, c, &r,
				&c->diag);
	cli_term_clear();
	if (err)
		return err;
	if (c->args.json)
		print_cost_json(c, s->id, &r);
	else
		print_cost(&r);
	return 0;
}
