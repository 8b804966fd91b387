/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin: the program.
 *
 * Prepares the process, reads the command line, runs one command, and turns
 * what came back into one message and one exit code.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_exit.h"
#include "cli_hook.h"
#include "cli_signal.h"

#define OUTPUT_BYTES (64 * 1024)

static int (*const commands[])(struct cli *c) = {
	[CLI_INIT] = cli_cmd_init,
	[CLI_BACKUP] = cli_cmd_backup,
	[CLI_SNAPSHOTS] = cli_cmd_snapshots,
	[CLI_LS] = cli_cmd_ls,
	[CLI_FIND] = cli_cmd_find,
	[CLI_DIFF] = cli_cmd_diff,
	[CLI_CAT] = cli_cmd_cat,
	[CLI_RESTORE] = cli_cmd_restore,
	[CLI_VERIFY] = cli_cmd_verify,
	[CLI_COPY] = cli_cmd_copy,
	[CLI_REWRITE] = cli_cmd_rewrite,
	[CLI_FORGET] = cli_cmd_forget,
	[CLI_UNDELETE] = cli_cmd_undelete,
	[CLI_POLICY] = cli_cmd_policy,
	[CLI_TAG] = cli_cmd_tag,
	[CLI_PROTECT] = cli_cmd_protect,
	[CLI_UNPROTECT] = cli_cmd_unprotect,
	[CLI_GC] = cli_cmd_gc,
	[CLI_OPTIMIZE] = cli_cmd_optimize,
	[CLI_CHECK] = cli_cmd_check,
	[CLI_REPAIR] = cli_cmd_repair,
	[CLI_UPGRADE] = cli_cmd_upgrade,
	[CLI_STATS] = cli_cmd_stats,
	[CLI_SYSSTAT] = cli_cmd_sysstat,
	[CLI_TOP] = cli_cmd_top,
	[CLI_METRICS] = cli_cmd_metrics,
	[CLI_INSPECT] = cli_cmd_inspect,
	[CLI_CAPACITY] = cli_cmd_capacity,
	[CLI_ESTIMATE] = cli_cmd_estimate,
	[CLI_PUT] = cli_cmd_put,
	[CLI_GET] = cli_cmd_get,
	[CLI_OBJECTS] = cli_cmd_objects,
	[CLI_LOADGEN] = cli_cmd_loadgen,
	[CLI_POOLS] = cli_cmd_pools,
	[CLI_BENCH] = cli_cmd_bench,
	[CLI_VERSION] = cli_cmd_version,
	[CLI_HELP] = cli_cmd_help,
};
_Static_assert(CLI_ARRAY_SIZE(commands) == CLI_NR_COMMANDS,
	       "each command has a function");

static void prepare(struct cli *c)
{
	c->stdin_was_closed = cli_fix_descriptors();
	akin_prepare_process();
	cli_raise_limits();
	cli_signal_init();
	setvbuf(stdout, NULL, _IOFBF, OUTPUT_BYTES);
}

/* It was all right this time. Who looks for damage reports it by himself. */
static void warn_healed(struct cli *c)
{
	uint64_t nr = c->pool ? akin_pool_healed(c->pool) : 0;
	char text[128];

	if (!nr || c->args.command == CLI_CHECK ||
	    c->args.command == CLI_REPAIR)
		return;
	snprintf(text, sizeof(text), "%llu damaged sectors of the pool were "
		 "made up for by parity", (unsigned long long)nr);
	cli_term_message(CLI_WARNING, -AKIN_E_bad_checksum, NULL, text,
			 "'akin repair --read-data' writes them back.");
}

static int run(struct cli *c)
{
	int err;

	if (c->args.help)
		return cli_cmd_help(c);
	if (c->args.version)
		return cli_cmd_version(c);
	err = cli_hook_before(c);
	if (!err)
		err = commands[c->args.command](c);
	cli_term_clear();
	warn_healed(c);
	return err;
}

/* Flushes standard output; the errno that it came to, or 0. */
static int finish_output(struct cli *c)
{
	errno = 0;
	if (fflush(stdout) && !c->output_errno)
		c->output_errno = errno ? errno : EIO;
	if (ferror(stdout) && !c->output_errno)
		c->output_errno = EIO;
	return c->output_errno;
}

static int report(struct cli *c, int err)
{
	int sig = cli_signal_received(), out = finish_output(c);

	/* Whoever read it has seen enough; nothing to say. */
	if (out == EPIPE)
		return CLI_EXIT_SIGNAL + SIGPIPE;
	if (out && !err)
		err = cli_fail_errno(&c->diag, out, "standard output");
	if (!err)
		return CLI_EXIT_OK;
	if (sig && akin_error_class(err) == AKIN_CLASS_INTERRUPTED) {
		cli_term_message(CLI_NOTE, err, NULL, "interrupted", NULL);
		return CLI_EXIT_SIGNAL + sig;
	}
	cli_term_message(err == -AKIN_E_partial || err == -AKIN_E_differs ?
			 CLI_NOTE : CLI_ERROR, err,
			 NULL, c->diag.text[0] ? c->diag.text :
			 akin_strerror(err), c->diag.hint);
	return cli_exit_of(err);
}

int main(int argc, char **argv)
{
	struct cli c = { .argc = argc, .argv = argv };
	bool have_command;
	int err, code;

	prepare(&c);
	err = cli_args_parse(argc, argv, &c.args, &c.diag);
	cli_term_init(!c.args.quiet, c.args.json);
	have_command = !err;
	if (!err)
		err = run(&c);
	code = report(&c, err);
	cli_signal_pool(NULL);
	cli_signal_session(NULL);
	akin_session_close(c.session);
	akin_pool_close(c.pool);
	if (have_command && !c.args.help && !c.args.version)
		code = cli_hook_after(&c, code);
	cli_json_release(&c.json);
	cli_str_release(&c.text);
	cli_args_release(&c.args);
	return code;
}
