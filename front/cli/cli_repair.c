/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin repair.
 *
 * What is wrong and what is to be done goes to standard output, the question to
 * standard error.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_finding.h"
#include "cli_signal.h"
#include "cli_text.h"

static void on_opened(void *ctx, struct akin_pool *p)
{
	cli_signal_pool(p);
}

static void on_finding(void *ctx, int code, const char *text,
		       const char *snapshot, const char *path)
{
	cli_print_finding(ctx, code, text, snapshot, path);
}

static void on_step(void *ctx, const char *action, const char *text)
{
	struct cli *c = ctx;

	cli_term_clear();
	if (c->args.json) {
		cli_json_begin(&c->json, "step");
		cli_json_text(&c->json, "action", action);
		cli_json_text(&c->json, "message", text);
		cli_json_end(&c->json, stdout);
		return;
	}
	cli_str_reset(&c->text);
	cli_plain(&c->text, text);
	printf("to do: %s\n", cli_str_text(&c->text));
}

static int need_yes(struct cli *c)
{
	cli_fail(&c->diag, -AKIN_E_usage, "nothing was repaired");
	cli_hint(&c->diag, "To have this done, say --yes; --dry-run only tells "
		 "what would be.");
	return -AKIN_E_usage;
}

static int on_confirm(void *ctx)
{
	struct cli *c = ctx;
	char line[16];

	if (c->args.yes)
		return 0;
	if (c->args.json || c->stdin_was_closed || !isatty(STDIN_FILENO))
		return need_yes(c);
	cli_term_clear();
	fflush(stdout);
	fputs("Do this? [y/N] ", stderr);
	fflush(stderr);
	if (!fgets(line, sizeof(line), stdin))
		line[0] = 0;
	if (line[0] == 'y' || line[0] == 'Y')
		return 0;
	if (cli_signal_received())
		return -AKIN_E_interrupted;
	return cli_fail(&c->diag, -AKIN_E_usage, "nothing was repaired");
}

static void print_json(struct cli *c, const struct akin_repair_result *r)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "summary");
	cli_json_text(j, "command", "repair");
	cli_json_bool(j, "dry_run", c->args.dry_run);
	cli_json_uint(j, "steps", r->steps);
	cli_json_bool(j, "rebuilt", r->rebuilt);
	if (r->rebuilt) {
		cli_json_bool(j, "policy_lost", r->policy_lost);
		cli_json_uint(j, "containers", r->containers);
		cli_json_uint(j, "snapshots", r->snapshots);
		cli_json_uint(j, "snapshots_part", r->snapshots_part);
		cli_json_uint(j, "snapshots_lost", r->snapshots_lost);
		cli_json_uint(j, "forgotten", r->forgotten);
	}
	cli_json_uint(j, "index_entries", r->index_entries);
	cli_json_uint(j, "files_written", r->files_written);
	cli_json_uint(j, "quarantined", r->quarantined);
	cli_json_uint(j, "groups_salvaged", r->groups_salvaged);
	cli_json_uint(j, "chunks_salvaged", r->chunks_salvaged);
	cli_json_uint(j, "chunks_healed", r->chunks_healed);
	cli_json_uint(j, "sectors_healed", r->sectors_healed);
	cli_json_uint(j, "findings", r->check.findings);
	cli_json_uint(j, "chunks_damaged", r->check.chunks_damaged);
	cli_json_uint(j, "files_damaged", r->check.files_damaged);
	cli_json_uint(j, "snapshots_damaged", r->check.snapshots_damaged);
	if (c->diag.hint[0])
		cli_json_text(j, "hint", c->diag.hint);
	cli_json_end(j, stdout);
}

static void print_rebuilt(const struct akin_repair_result *r)
{
	printf("metadata made anew: snapshots %llu, containers %llu\n",
	       (unsigned long long)r->snapshots,
	       (unsigned long long)r->containers);
	if (r->snapshots_part)
		printf("of these snapshots not whole: %llu\n",
		       (unsigned long long)r->snapshots_part);
	if (r->snapshots_lost)
		printf("not listed, because nothing of them can be read: "
		       "snapshots %llu\n",
		       (unsigned long long)r->snapshots_lost);
	if (r->forgotten)
		printf("forgotten snapshots that can be undeleted: %llu\n",
		       (unsigned long long)r->forgotten);
	if (r->policy_lost)
		printf("if there was a policy, it is lost: set it again with "
		       "'akin policy set'\n");
}

static void print_done(const struct akin_repair_result *r)
{
	if (r->rebuilt)
		print_rebuilt(r);
	if (r->index_entries)
		printf("index built anew: chunks %llu\n",
		       (unsigned long long)r->index_entries);
	if (r->chunks_salvaged)
		printf("salvaged from damaged containers: chunks %llu\n",
		       (unsigned long long)r->chunks_salvaged);
	if (r->chunks_healed)
		printf("healed from other copies: chunks %llu\n",
		       (unsigned long long)r->chunks_healed);
	if (r->sectors_healed)
		printf("written back from parity: sectors %llu\n",
		       (unsigned long long)r->sectors_healed);
	if (r->quarantined)
		printf("put aside in the directories 'quarantine' of the pool: "
		       "files %llu\n", (unsigned long long)r->quarantined);
}

static void print_text(struct cli *c, const struct akin_repair_result *r)
{
	const struct akin_check_result *k = &r->check;

	print_done(r);
	if (k->chunks_damaged && !k->files_damaged && !k->findings)
		printf("no snapshot needs what is damaged: chunks %llu\n",
		       (unsigned long long)k->chunks_damaged);
	else if (k->chunks_damaged || k->files_damaged)
		printf("%s: chunks %llu, files %llu, snapshots %llu\n",
		       c->args.dry_run ? "damaged" : "still damaged",
		       (unsigned long long)k->chunks_damaged,
		       (unsigned long long)k->files_damaged,
		       (unsigned long long)k->snapshots_damaged);
	else if (!r->steps && !k->findings)
		printf("there is nothing to repair\n");
}

int cli_cmd_repair(struct cli *c)
{
	struct akin_open_options open = {
		.path = c->args.pool,
		.memory_bytes = c->args.memory,
		.nr_threads = c->args.threads,
		.throttle_meta = c->args.throttle.meta,
		.throttle_data = c->args.throttle.data,
		.single_writer = c->args.single_writer,
	};
	struct akin_repair_options opt = {
		.dry_run = c->args.dry_run,
		.read_data = c->args.read_all,
		.opened = on_opened,
		.finding = on_finding,
		.step = on_step,
		.confirm = on_confirm,
		.progress = cli_on_progress,
		.ctx = c,
	};
	struct akin_repair_result r = { 0 };
	int err;

	err = cli_need_pool(c);
	if (err)
		return err;
	err = akin_repair(&open, &opt, &r, &c->diag);
	cli_term_clear();
	if (err && akin_error_class(err) != AKIN_CLASS_CORRUPT)
		return err;
	if (c->args.json)
		print_json(c, &r);
	else if (!c->args.quiet)
		print_text(c, &r);
	return err;
}
