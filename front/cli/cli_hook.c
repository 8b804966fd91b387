/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks are run by the shell, one at a time, while no pool is open. Their
 * output goes to standard error: standard output belongs to the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_exit.h"
#include "cli_hook.h"
#include "cli_signal.h"

/* Set while a hook runs: what it starts of ours has no hooks itself. */
#define RUNNING "AKIN_HOOK"

static int spawn(pid_t *pid, const char *line)
{
	char sh[] = "sh", option[] = "-c";
	char *const argv[] = { sh, option, (char *)(uintptr_t)line, NULL };
	posix_spawn_file_actions_t actions;
	int err;

	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return err;
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
					       "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO,
						       STDOUT_FILENO);
	if (!err)
		err = cli_spawn(pid, "/bin/sh", argv, &actions);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

/* Its exit code; 128 and more: a signal; negative: it could not be run. */
static int run(const char *line)
{
	pid_t pid, got;
	int status, err;

	err = spawn(&pid, line);
	if (err)
		return -err;
	do {
		got = waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return WIFSIGNALED(status) ? CLI_EXIT_SIGNAL + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static void describe(const struct cli *c, const char *which)
{
	setenv(RUNNING, which, 1);
	setenv("AKIN_COMMAND", cli_commands[c->args.command].name, 1);
	if (c->args.pool)
		setenv("AKIN_POOL", c->args.pool, 1);
}

static bool is_wanted(const char *line)
{
	const char *running = getenv(RUNNING);

	return line && *line && !(running && *running);
}

static void failure_text(int code, char *out, size_t size)
{
	if (code < 0)
		snprintf(out, size, "cannot be run: %s", strerror(-code));
	else if (code > CLI_EXIT_SIGNAL)
		snprintf(out, size, "was ended by signal %d",
			 code - CLI_EXIT_SIGNAL);
	else
		snprintf(out, size, "failed with exit code %d", code);
}

int cli_hook_before(struct cli *c)
{
	char text[128];
	int code;

	if (!is_wanted(c->args.hook_before))
		return 0;
	describe(c, "before");
	code = run(c->args.hook_before);
	unsetenv(RUNNING);
	if (cli_signal_received())
		return cli_fail(&c->diag, -AKIN_E_interrupted, "interrupted");
	if (!code)
		return 0;
	failure_text(code, text, sizeof(text));
	cli_fail(&c->diag, -AKIN_E_hook, "the hook before it %s: nothing was "
		 "done", text);
	return -AKIN_E_hook;
}

static const char *result_of(int code)
{
	if (code == CLI_EXIT_OK)
		return "success";
	if (code == CLI_EXIT_WARNINGS)
		return "warnings";
	return code > CLI_EXIT_SIGNAL ? "interrupted" : "failure";
}

int cli_hook_after(struct cli *c, int code)
{
	char number[16], text[128], all[160];
	int hook;

	if (!is_wanted(c->args.hook_after))
		return code;
	describe(c, "after");
	snprintf(number, sizeof(number), "%d", code);
	setenv("AKIN_EXIT_CODE", number, 1);
	setenv("AKIN_RESULT", result_of(code), 1);
	setenv("AKIN_MESSAGE", code ? c->diag.text : "", 1);
	setenv("AKIN_SNAPSHOT", c->snapshot, 1);
	hook = run(c->args.hook_after);
	unsetenv(RUNNING);
	if (!hook)
		return code;
	failure_text(hook, text, sizeof(text));
	snprintf(all, sizeof(all), "the hook after it %s", text);
	cli_term_message(CLI_WARNING, -AKIN_E_hook, NULL, all, NULL);
	return code ? code : CLI_EXIT_WARNINGS;
}
