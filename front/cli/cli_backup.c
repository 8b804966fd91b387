/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin backup.
 */
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "cli_names.h"
#include "cli_stream.h"
#include "cli_text.h"

/* The record of a snapshot names the command; longer ones are cut. */
#define COMMAND_BYTES 4096

static void on_warning(void *ctx, const char *path, int code,
		       const char *text, bool vanished)
{
	cli_warn(ctx, path, code, text, vanished);
}

static void on_notice(void *ctx, const char *text)
{
	cli_warn(ctx, NULL, 0, text, false);
}

/* The command line, as it could be typed again. */
static void describe_command(struct cli *c, struct cli_str *out)
{
	int i;

	for (i = 0; i < c->argc && out->len < COMMAND_BYTES; i++) {
		if (i)
			cli_str_addc(out, ' ');
		cli_quote(out, c->argv[i], strlen(c->argv[i]));
	}
	if (out->len > COMMAND_BYTES)
		out->s[COMMAND_BYTES] = 0;
}

static void fill_options(struct cli *c, struct akin_backup_options *opt)
{
	const struct cli_args *a = &c->args;

	opt->tags = a->tags.v;
	opt->nr_tags = a->tags.nr;
	opt->host = a->host;
	opt->excludes = a->excludes.v;
	opt->nr_excludes = a->excludes.nr;
	opt->exclude_files = a->exclude_files.v;
	opt->nr_exclude_files = a->exclude_files.nr;
	opt->exclude_if_present = a->exclude_if_present;
	opt->one_file_system = a->one_file_system;
	opt->force = a->force;
	opt->read_special = a->read_special;
	opt->dry_run = a->dry_run;
	opt->compression = a->compression;
	opt->delta_depth = cli_delta_depth(a);
	opt->verify = cli_verify_level(a->verify_level);
	opt->engine = cli_engine(a->engine);
	opt->limit_read = a->limit_read;
	opt->limit_write = a->limit_write;
	opt->progress = cli_on_progress;
	opt->warning = on_warning;
	opt->waiting = cli_on_waiting;
	opt->notice = on_notice;
	opt->ctx = c;
}

static void print_json(struct cli *c, const struct akin_backup_result *r,
		       int err)
{
	const struct akin_progress *t = &r->total;
	struct cli_json *j = &c->json;

	cli_json_begin(j, "summary");
	cli_json_text(j, "command", "backup");
	cli_json_bool(j, "dry_run", c->args.dry_run);
	if (r->number)
		cli_json_text(j, "snapshot", r->id);
	if (r->parent[0])
		cli_json_text(j, "parent", r->parent);
	cli_json_bool(j, "partial", err == -AKIN_E_partial);
	cli_json_uint(j, "files", t->files);
	cli_json_uint(j, "files_unchanged", t->files_unchanged);
	cli_json_uint(j, "dirs", t->dirs);
	cli_json_uint(j, "others", t->others);
	cli_json_uint(j, "bytes", t->bytes);
	cli_json_uint(j, "bytes_read", t->bytes_read);
	cli_json_uint(j, "bytes_new", t->bytes_new);
	cli_json_uint(j, "bytes_stored", t->bytes_stored);
	cli_json_uint(j, "bytes_referring", r->bytes_referring);
	cli_json_uint(j, "bytes_saved_referring", r->bytes_saved_referring);
	cli_json_uint(j, "chunks", r->chunks);
	cli_json_uint(j, "chunks_new", r->chunks_new);
	cli_json_uint(j, "chunks_compared", r->chunks_compared);
	cli_json_uint(j, "chunks_collided", r->chunks_collided);
	cli_json_uint(j, "chunks_unreadable", r->chunks_unreadable);
	cli_json_text(j, "engine", cli_engine_text(r->engine));
	if (r->engine != AKIN_ENGINE_IDENTITY) {
		cli_json_uint(j, "chunks_resembling", r->chunks_resembling);
		cli_json_uint(j, "similar_bytes", r->similar_bytes);
	}
	cli_json_uint(j, "warnings", t->warnings);
	cli_json_seconds(j, "seconds", t->elapsed_ns);
	cli_json_end(j, stdout);
}

static void print_text(struct cli *c, const struct akin_backup_result *r)
{
	const struct akin_progress *t = &r->total;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];
	uint64_t rate = 0;

	if (t->elapsed_ns)
		rate = (uint64_t)((double)t->bytes * 1e9 /
				  (double)t->elapsed_ns);
	if (r->number)
		printf("snapshot %.8s: ", r->id);
	else
		printf("dry run, nothing stored: ");
	printf("%llu %s, %s in %s (%s/s)\n", (unsigned long long)t->files,
	       cli_plural(t->files, "file"), cli_size_text(t->bytes, a),
	       cli_duration_text(t->elapsed_ns, b), cli_size_text(rate, d));
	printf("new: %s in %llu %s, stored in %s",
	       cli_size_text(t->bytes_new, a),
	       (unsigned long long)r->chunks_new,
	       cli_plural(r->chunks_new, "chunk"),
	       cli_size_text(t->bytes_stored, b));
	if (r->bytes_saved_referring)
		printf(" (%s less by reference)",
		       cli_size_text(r->bytes_saved_referring, a));
	if (t->files_unchanged)
		printf("; %llu %s unchanged since %.8s",
		       (unsigned long long)t->files_unchanged,
		       cli_plural(t->files_unchanged, "file"), r->parent);
	putchar('\n');
	if (r->chunks_compared)
		printf("%llu %s compared with what was stored\n",
		       (unsigned long long)r->chunks_compared,
		       cli_plural(r->chunks_compared, "chunk"));
}

static int finish(struct cli *c, const struct akin_backup_result *r, int err)
{
	cli_term_clear();
	if (err && err != -AKIN_E_partial)
		return err;
	memcpy(c->snapshot, r->id, sizeof(c->snapshot));
	if (c->args.json)
		print_json(c, r, err);
	else if (!c->args.quiet)
		print_text(c, r);
	return err;
}

static int check_stream_args(struct cli *c)
{
	const struct cli_args *a = &c->args;

	if (a->exec && a->nr_before_dashes) {
		cli_fail(&c->diag, -AKIN_E_usage, "'%s' stands in front of "
			 "'--'", a->operands.v[0]);
		cli_hint(&c->diag, "akin backup --stdin NAME --exec -- "
			 "COMMAND [ARG]...");
		return -AKIN_E_usage;
	}
	if (a->exec && !a->operands.nr)
		return cli_fail(&c->diag, -AKIN_E_usage,
				"--exec: no command behind '--'");
	if (!a->exec && a->operands.nr)
		return cli_fail(&c->diag, -AKIN_E_usage,
				"--stdin stores a stream, not '%s' as well",
				a->operands.v[0]);
	if (a->files_from || a->files_from0)
		return cli_fail(&c->diag, -AKIN_E_usage,
				"--stdin and --files-from exclude each other");
	if (!a->exec && c->stdin_was_closed)
		return cli_fail(&c->diag, -AKIN_E_usage,
				"--stdin: standard input is closed");
	return 0;
}

static int backup_stream(struct cli *c, const struct akin_backup_options *opt)
{
	struct akin_backup_result result = { 0 };
	struct cli_stream s = { .fd = -1 };
	int err;

	err = check_stream_args(c);
	if (!err)
		err = cli_open(c, false);
	if (err)
		return err;
	cli_stream_stdin(&s);
	if (c->args.exec) {
		/* The list ends like an argv of exec. */
		cli_list_add(&c->args.operands, NULL);
		err = cli_stream_exec(&s, (char **)c->args.operands.v,
				      &c->diag);
	}
	if (!err)
		err = akin_backup_stream(c->pool, opt, c->args.stdin_name,
					 cli_stream_read, cli_stream_finish,
					 &s, &result, &c->diag);
	cli_stream_release(&s);
	return finish(c, &result, err);
}

static int collect_paths(struct cli *c, struct cli_list *read)
{
	struct cli_args *a = &c->args;
	uint32_t i;
	int err = 0;

	if (a->files_from)
		err = cli_names_read(a->files_from, '\n', read, &c->diag);
	if (!err && a->files_from0)
		err = cli_names_read(a->files_from0, 0, read, &c->diag);
	for (i = 0; !err && i < read->nr; i++)
		cli_list_add(&a->operands, read->v[i]);
	if (!err && !a->operands.nr) {
		err = cli_fail(&c->diag, -AKIN_E_usage, "nothing to back up");
		cli_hint(&c->diag, "Usage: akin %s",
			 cli_commands[CLI_BACKUP].synopsis[0]);
	}
	return err;
}

/* A link to a directory, where somebody may have meant the directory. */
static void note_links(struct cli *c, uint32_t nr)
{
	const char *path;
	struct stat st;
	uint32_t i;

	for (i = 0; i < nr && !c->args.quiet; i++) {
		path = c->args.operands.v[i];
		if (lstat(path, &st) || !S_ISLNK(st.st_mode) ||
		    stat(path, &st) || !S_ISDIR(st.st_mode))
			continue;
		cli_term_message(CLI_NOTE, 0, path, "is a symbolic link and "
				 "stored as one", "With a '/' behind it the "
				 "directory is backed up.");
	}
}

static int backup_tree(struct cli *c, struct akin_backup_options *opt)
{
	struct akin_backup_result result = { 0 };
	struct cli_list read = { 0 };
	int err;

	if (c->args.exec)
		return cli_fail(&c->diag, -AKIN_E_usage,
				"--exec goes with --stdin NAME");
	note_links(c, c->args.operands.nr);
	err = collect_paths(c, &read);
	if (!err)
		err = cli_open(c, false);
	if (!err) {
		opt->paths = c->args.operands.v;
		opt->nr_paths = c->args.operands.nr;
		err = finish(c, &result,
			     akin_backup_tree(c->pool, opt, &result, &c->diag));
	}
	cli_list_free_all(&read);
	return err;
}

int cli_cmd_backup(struct cli *c)
{
	struct akin_backup_options opt = { 0 };
	struct cli_str command = { 0 };
	int err = cli_check_labels(c);

	if (err)
		return err;
	fill_options(c, &opt);
	describe_command(c, &command);
	opt.command = cli_str_text(&command);
	err = c->args.stdin_name ? backup_stream(c, &opt) :
				   backup_tree(c, &opt);
	cli_str_release(&command);
	return err;
}
