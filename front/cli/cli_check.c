/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin check.
 *
 * Findings go to standard output: they are what was asked for.
 */
#include <string.h>

#include "cli.h"
#include "cli_finding.h"
#include "cli_text.h"

static void on_finding(void *ctx, int code, const char *text,
		       const char *snapshot, const char *path)
{
	cli_print_finding(ctx, code, text, snapshot, path);
}

static void print_json(struct cli *c, const struct akin_check_result *r)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "summary");
	cli_json_text(j, "command", "check");
	cli_json_bool(j, "read_data", c->args.read_data.given);
	cli_json_uint(j, "snapshots", r->snapshots);
	cli_json_uint(j, "containers", r->containers);
	cli_json_uint(j, "pieces", r->pieces);
	cli_json_uint(j, "chunks_located", r->chunks_located);
	cli_json_uint(j, "containers_read", r->containers_read);
	cli_json_uint(j, "groups_read", r->groups_read);
	cli_json_uint(j, "chunks_verified", r->chunks_verified);
	cli_json_uint(j, "bytes_verified", r->bytes_verified);
	cli_json_uint(j, "bytes_not_read", r->bytes_not_read);
	cli_json_uint(j, "parity_containers", r->parity_containers);
	cli_json_uint(j, "sectors_healable", r->sectors_healable);
	cli_json_uint(j, "parity_damaged", r->parity_damaged);
	cli_json_uint(j, "findings", r->findings);
	cli_json_uint(j, "chunks_damaged", r->chunks_damaged);
	cli_json_uint(j, "files_damaged", r->files_damaged);
	cli_json_uint(j, "snapshots_damaged", r->snapshots_damaged);
	cli_json_uint(j, "orphan_files", r->orphan_files);
	cli_json_uint(j, "never_read", r->never_read);
	cli_json_uint(j, "bytes_never_read", r->bytes_never_read);
	if (r->oldest_read_sec)
		cli_json_time(j, "oldest_read", r->oldest_read_sec, 0);
	if (c->diag.hint[0])
		cli_json_text(j, "hint", c->diag.hint);
	cli_json_end(j, stdout);
}

/* What helps belongs to the report, and is not said twice. */
static void print_hint(struct cli *c)
{
	if (!c->diag.hint[0])
		return;
	cli_str_reset(&c->text);
	cli_plain(&c->text, c->diag.hint);
	printf("%s\n", cli_str_text(&c->text));
	c->diag.hint[0] = 0;
}

/* How far a scrub has come. */
static void print_round(const struct akin_check_result *r)
{
	char a[CLI_UNIT_TEXT];

	printf("read and compared: data containers %llu, %s, chunks %llu\n",
	       (unsigned long long)r->containers_read,
	       cli_size_text(r->bytes_verified, a),
	       (unsigned long long)r->chunks_verified);
	if (r->never_read)
		printf("never read so far: containers %llu, %s\n",
		       (unsigned long long)r->never_read,
		       cli_size_text(r->bytes_never_read, a));
	else if (r->oldest_read_sec)
		printf("all was read since %s\n",
		       cli_time_text(r->oldest_read_sec, a));
}

static void print_tested(const struct akin_check_result *r)
{
	char a[CLI_UNIT_TEXT];

	printf("tested: snapshots %llu, containers %llu, pieces of recipes "
	       "%llu; chunks found where they should be: %llu\n",
	       (unsigned long long)r->snapshots,
	       (unsigned long long)r->containers,
	       (unsigned long long)r->pieces,
	       (unsigned long long)r->chunks_located);
	if (r->chunks_verified)
		printf("read and compared: %s, chunks %llu\n",
		       cli_size_text(r->bytes_verified, a),
		       (unsigned long long)r->chunks_verified);
	if (r->parity_containers)
		printf("with parity: containers %llu\n",
		       (unsigned long long)r->parity_containers);
	if (r->bytes_not_read)
		printf("not tested: %s of data; 'akin check --read-data' "
		       "reads it\n", cli_size_text(r->bytes_not_read, a));
}

static void print_text(struct cli *c, const struct akin_check_result *r)
{
	if (c->args.budget.given)
		print_round(r);
	else
		print_tested(r);
	if (r->orphan_files)
		printf("files that belong to nobody and only take space: "
		       "%llu\n",
		       (unsigned long long)r->orphan_files);
	if (r->sectors_healable)
		printf("damaged, and made up for by parity: sectors %llu\n",
		       (unsigned long long)r->sectors_healable);
	if (r->findings)
		printf("DAMAGE: findings %llu; affected are chunks %llu, files "
		       "%llu, snapshots %llu\n",
		       (unsigned long long)r->findings,
		       (unsigned long long)r->chunks_damaged,
		       (unsigned long long)r->files_damaged,
		       (unsigned long long)r->snapshots_damaged);
	else if (r->chunks_damaged)
		printf("no snapshot needs what is damaged: chunks %llu\n",
		       (unsigned long long)r->chunks_damaged);
	else
		printf("no damage found\n");
	print_hint(c);
}

int cli_cmd_check(struct cli *c)
{
	struct akin_check_options opt = { 0 };
	struct akin_check_result r = { 0 };
	int err;

	opt.read_data = c->args.read_data.given;
	opt.read_percent = c->args.read_data.percent;
	opt.read_bytes = c->args.read_data.bytes;
	if (opt.read_data && c->args.budget.given)
		return cli_fail(&c->diag, -AKIN_E_usage, "--budget and "
				"--read-data: one or the other");
	opt.budget_ns = c->args.budget.ns;
	opt.budget_bytes = c->args.budget.bytes;
	opt.progress = cli_on_progress;
	opt.finding = on_finding;
	opt.ctx = c;
	err = cli_open_reader(c);
	if (err)
		return err;
	err = akin_check(c->pool, &opt, &r, &c->diag);
	cli_term_clear();
	if (err && !(akin_error_class(err) == AKIN_CLASS_CORRUPT && r.findings))
		return err;
	if (c->args.json)
		print_json(c, &r);
	else if (!c->args.quiet)
		print_text(c, &r);
	return err;
}
