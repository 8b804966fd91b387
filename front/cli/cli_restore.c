/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin restore: one restore of the library for each operand, in order.
 */
#include <string.h>

#include "cli.h"

static void on_warning(void *ctx, const char *path, int code,
		       const char *text)
{
	cli_warn(ctx, path, code, text, false);
}

static enum akin_overwrite overwrite_of(const char *word)
{
	if (word && strcmp(word, "always") == 0)
		return AKIN_OVERWRITE_ALWAYS;
	if (word && strcmp(word, "never") == 0)
		return AKIN_OVERWRITE_NEVER;
	return AKIN_OVERWRITE_IF_CHANGED;
}

static int check_args(struct cli *c)
{
	const struct cli_args *a = &c->args;

	if (!a->target || !*a->target) {
		cli_fail(&c->diag, -AKIN_E_usage, "no --target DIR given");
		cli_hint(&c->diag, "With --target / everything goes back to "
			 "where it came from.");
		return -AKIN_E_usage;
	}
	/* Each would remove what the one before has restored. */
	if (a->delete_extra && a->operands.nr > 1)
		return cli_fail(&c->diag, -AKIN_E_usage, "--delete: only with "
				"one SNAP[:PATH] at a time");
	return 0;
}

static void fill_options(struct cli *c, struct akin_restore_options *opt)
{
	const struct cli_args *a = &c->args;

	opt->target = a->target;
	opt->includes = a->includes.v;
	opt->nr_includes = a->includes.nr;
	opt->excludes = a->excludes.v;
	opt->nr_excludes = a->excludes.nr;
	opt->overwrite = overwrite_of(a->overwrite);
	opt->delete_extra = a->delete_extra;
	opt->dry_run = a->dry_run;
	opt->verify = a->verify;
	opt->progress = cli_on_progress;
	opt->warning = on_warning;
	opt->ctx = c;
}

static void add_result(struct akin_restore_result *sum,
		       const struct akin_restore_result *r)
{
	sum->total.files += r->total.files;
	sum->total.dirs += r->total.dirs;
	sum->total.others += r->total.others;
	sum->total.bytes += r->total.bytes;
	sum->total.bytes_read += r->total.bytes_read;
	sum->total.warnings += r->total.warnings;
	sum->total.elapsed_ns += r->total.elapsed_ns;
	sum->files_skipped += r->files_skipped;
	sum->removed += r->removed;
	sum->owner_failures += r->owner_failures;
}

static void print_json(struct cli *c, const struct akin_restore_result *r,
		       int err)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "summary");
	cli_json_text(j, "command", "restore");
	cli_json_bool(j, "dry_run", c->args.dry_run);
	cli_json_name(j, "target", c->args.target);
	cli_json_bool(j, "partial", err == -AKIN_E_partial);
	cli_json_uint(j, "files", r->total.files);
	cli_json_uint(j, "files_skipped", r->files_skipped);
	cli_json_uint(j, "dirs", r->total.dirs);
	cli_json_uint(j, "others", r->total.others);
	cli_json_uint(j, "removed", r->removed);
	cli_json_uint(j, "bytes", r->total.bytes);
	cli_json_uint(j, "bytes_read", r->total.bytes_read);
	cli_json_uint(j, "owner_failures", r->owner_failures);
	cli_json_bool(j, "verified", c->args.verify && !err);
	cli_json_uint(j, "warnings", r->total.warnings);
	cli_json_seconds(j, "seconds", r->total.elapsed_ns);
	cli_json_end(j, stdout);
}

static void print_text(struct cli *c, const struct akin_restore_result *r,
		       int err)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];
	const struct akin_progress *t = &r->total;
	uint64_t rate = 0;

	if (t->elapsed_ns)
		rate = (uint64_t)((double)t->bytes * 1e9 /
				  (double)t->elapsed_ns);
	printf("%s %llu %s, %s in %s (%s/s)\n",
	       c->args.dry_run ? "dry run, would restore" : "restored",
	       (unsigned long long)t->files, cli_plural(t->files, "file"),
	       cli_size_text(t->bytes, a),
	       cli_duration_text(t->elapsed_ns, b), cli_size_text(rate, d));
	if (r->files_skipped)
		printf("%llu of them %s there already\n",
		       (unsigned long long)r->files_skipped,
		       r->files_skipped == 1 ? "was" : "were");
	if (r->removed)
		printf("%s what the snapshot does not have: %llu\n",
		       c->args.dry_run ? "would remove" : "removed",
		       (unsigned long long)r->removed);
	if (r->owner_failures)
		printf("owners that could not be set: %llu\n",
		       (unsigned long long)r->owner_failures);
	if (c->args.verify && !err && !c->args.dry_run)
		printf("verified: read back and equal\n");
}

static int restore_one(struct cli *c, const char *word,
		       struct akin_restore_result *sum)
{
	struct akin_restore_options opt = { 0 };
	struct akin_restore_result r = { 0 };
	struct cli_name name;
	int err;

	err = cli_resolve(c, word, &name);
	if (err)
		return err;
	fill_options(c, &opt);
	opt.snapshot = name.snapshot;
	opt.path = name.path;
	err = akin_restore(c->pool, &opt, &r, &c->diag);
	add_result(sum, &r);
	cli_name_release(&name);
	return err;
}

int cli_cmd_restore(struct cli *c)
{
	struct akin_restore_result sum = { 0 };
	bool partial = false;
	uint32_t i;
	int err;

	err = check_args(c);
	if (!err)
		err = cli_open_reader(c);
	for (i = 0; !err && i < c->args.operands.nr; i++) {
		err = restore_one(c, c->args.operands.v[i], &sum);
		if (err == -AKIN_E_partial) {
			partial = true;
			err = 0;
		}
	}
	cli_term_clear();
	if (err)
		return err;
	err = partial ? -AKIN_E_partial : 0;
	if (c->args.json)
		print_json(c, &sum, err);
	else if (!c->args.quiet)
		print_text(c, &sum, err);
	return err;
}
