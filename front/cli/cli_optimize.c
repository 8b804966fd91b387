/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin optimize.
 */
#include "cli.h"
#include "cli_text.h"

static void on_progress(void *ctx, const struct akin_optimize_progress *op)
{
	struct akin_progress p = { 0 };
	char text[64];

	snprintf(text, sizeof(text), "snapshot %llu of %llu",
		 (unsigned long long)op->snapshots,
		 (unsigned long long)op->snapshots_total);
	p.bytes = op->bytes_read;
	p.bytes_new = op->bytes_read;
	p.bytes_stored = op->bytes_stored;
	p.elapsed_ns = op->elapsed_ns;
	p.current = text;
	cli_term_progress(&p);
}

static void cost_json(struct cli_json *j, const char *bytes_read,
		      const char *bytes_decoded, const char *depth,
		      const struct akin_restore_cost *r)
{
	cli_json_uint(j, bytes_read, r->bytes_read);
	cli_json_uint(j, bytes_decoded, r->bytes_decoded);
	cli_json_uint(j, depth, r->depth);
}

static void print_json(struct cli *c, const struct akin_optimize_result *r)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "summary");
	cli_json_text(j, "command", "optimize");
	cli_json_bool(j, "dry_run", c->args.dry_run);
	cli_json_uint(j, "series", r->series);
	cli_json_uint(j, "series_in_order", r->series_in_order);
	cli_json_uint(j, "snapshots", r->snapshots);
	cli_json_uint(j, "snapshots_moved", r->snapshots_moved);
	cli_json_uint(j, "snapshots_damaged", r->snapshots_damaged);
	cli_json_uint(j, "containers_before", r->containers_before);
	cli_json_uint(j, "bytes_before", r->bytes_before);
	cli_json_uint(j, "bytes_read", r->bytes_read);
	cli_json_uint(j, "chunks", r->chunks);
	cli_json_uint(j, "metadata_pieces", r->metadata_pieces);
	cli_json_uint(j, "chunks_unreadable", r->chunks_unreadable);
	cli_json_uint(j, "bytes_stored", r->bytes_stored);
	cli_json_uint(j, "bytes_metadata", r->bytes_metadata);
	cli_json_uint(j, "bytes_resumed", r->bytes_resumed);
	cli_json_uint(j, "groups_referring", r->groups_referring);
	cli_json_uint(j, "restore_bytes_logical", r->before.bytes_logical);
	cost_json(j, "restore_bytes_read_before", "restore_bytes_decoded_before",
		  "restore_depth_before", &r->before);
	if (!c->args.dry_run)
		cost_json(j, "restore_bytes_read", "restore_bytes_decoded",
			  "restore_depth", &r->after);
	cli_json_end(j, stdout);
}

static void print_cost(const char *when, const struct akin_restore_cost *r)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];

	if (!r->bytes_logical)
		return;
	printf("restoring the newest snapshot, %s: reads %s, decodes %s, %s "
	       "what it gives; depth %u\n", when,
	       cli_size_text(r->bytes_read, a),
	       cli_size_text(r->bytes_decoded, b),
	       cli_ratio_text(r->bytes_decoded, r->bytes_logical, d), r->depth);
}

static void print_sizes(const struct akin_optimize_result *r)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];

	printf("stored again: %llu snapshots of %llu series, %s of data, as "
	       "%s\n", (unsigned long long)r->snapshots_moved,
	       (unsigned long long)(r->series - r->series_in_order),
	       cli_size_text(r->bytes_read, a),
	       cli_size_text(r->bytes_stored, b));
	if (r->bytes_resumed)
		printf("besides, an earlier run had stored %s\n",
		       cli_size_text(r->bytes_resumed, b));
	/* If all is stored again, nothing else is left. */
	if (!r->series_in_order && !r->snapshots_damaged &&
	    !r->chunks_unreadable && r->snapshots_moved == r->snapshots)
		printf("the pool: %s before, about %s once 'akin gc' has "
		       "deleted the old\n",
		       cli_size_text(r->bytes_before - r->bytes_resumed, a),
		       cli_size_text(r->bytes_stored + r->bytes_resumed, d));
	if (r->snapshots_damaged + r->chunks_unreadable)
		printf("left where they are, because of damage: %llu "
		       "snapshots, %llu chunks\n",
		       (unsigned long long)r->snapshots_damaged,
		       (unsigned long long)r->chunks_unreadable);
}

static void print_text(struct cli *c, const struct akin_optimize_result *r)
{
	char a[CLI_UNIT_TEXT];

	if (r->series_in_order)
		printf("in order: %llu of %llu series\n",
		       (unsigned long long)r->series_in_order,
		       (unsigned long long)r->series);
	if (!r->snapshots)
		return;
	if (c->args.dry_run)
		printf("%llu snapshots of %llu series would be stored again; "
		       "until 'akin gc', that takes up to %s\n",
		       (unsigned long long)r->snapshots,
		       (unsigned long long)(r->series - r->series_in_order),
		       cli_size_text(r->bytes_before, a));
	else
		print_sizes(r);
	print_cost(c->args.dry_run ? "now" : "before", &r->before);
	print_cost("now", &r->after);
}

static void parity_json(struct cli *c, const struct akin_parity_result *r)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "parity");
	cli_json_bool(j, "dry_run", c->args.dry_run);
	cli_json_uint(j, "percent", r->percent);
	cli_json_uint(j, "containers", r->containers);
	cli_json_uint(j, "had", r->had);
	cli_json_uint(j, "made", r->made);
	cli_json_uint(j, "removed", r->removed);
	cli_json_uint(j, "damaged", r->damaged);
	cli_json_uint(j, "bytes_made", r->bytes_made);
	cli_json_end(j, stdout);
}

static void parity_text(struct cli *c, const struct akin_parity_result *r)
{
	const char *would = c->args.dry_run ? "would be " : "";
	char a[CLI_UNIT_TEXT];

	if (r->made && c->args.dry_run)
		printf("parity of %u%% would be given to %llu of %llu "
		       "containers\n", r->percent,
		       (unsigned long long)r->made,
		       (unsigned long long)r->containers);
	else if (r->made)
		printf("parity of %u%% was given to %llu of %llu containers: "
		       "%s\n", r->percent, (unsigned long long)r->made,
		       (unsigned long long)r->containers,
		       cli_size_text(r->bytes_made, a));
	else if (r->percent && !r->damaged)
		printf("all %llu containers have parity of %u%%\n",
		       (unsigned long long)r->containers, r->percent);
	if (r->removed)
		printf("parity %sremoved from %llu containers\n", would,
		       (unsigned long long)r->removed);
}

/* @percent < 0: as the pool says, and silent if there is nothing to do. */
static int give_parity(struct cli *c, int percent)
{
	struct akin_parity_options opt = {
		.percent = percent,
		.dry_run = c->args.dry_run,
		.progress = cli_on_progress,
		.ctx = c,
	};
	struct akin_parity_result r;
	int err;

	err = akin_parity(c->pool, &opt, &r, &c->diag);
	cli_term_clear();
	if (err && err != -AKIN_E_partial)
		return err;
	if (percent < 0 && !r.made && !r.removed)
		return err;
	if (c->args.json)
		parity_json(c, &r);
	else if (!c->args.quiet)
		parity_text(c, &r);
	return err;
}

int cli_cmd_optimize(struct cli *c)
{
	unsigned percent;
	struct akin_optimize_options opt = { 0 };
	struct akin_optimize_result r = { 0 };
	int err, err2;

	err = cli_parity(c, &percent);
	if (!err)
		err = cli_open(c, c->args.dry_run);
	if (err)
		return err;
	if (c->args.parity)
		return give_parity(c, (int)percent);
	opt.dry_run = c->args.dry_run;
	opt.delta_depth = cli_delta_depth(&c->args);
	opt.compression = c->args.compression;
	opt.all = c->args.all || c->args.delta_depth || c->args.compression;
	opt.restore_cost = true;
	opt.progress = on_progress;
	opt.ctx = c;
	err = akin_optimize(c->pool, &opt, &r, &c->diag);
	cli_term_clear();
	if (err && err != -AKIN_E_partial)
		return err;
	if (c->args.json)
		print_json(c, &r);
	else if (!c->args.quiet)
		print_text(c, &r);
	err2 = give_parity(c, -1);
	return err ? err : err2;
}
