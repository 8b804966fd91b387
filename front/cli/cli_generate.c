/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of the build: prints what is made from the table.
 *
 *	cli_generate man NAME		the manual page "akin" or "akin-COMMAND"
 *	cli_generate completion SHELL	bash, zsh or fish
 */
#include <stdio.h>
#include <string.h>

#include "cli_doc.h"

static int man(struct cli_str *out, const char *name)
{
	int cmd;

	if (strcmp(name, "akin") == 0) {
		cli_man_overview(out);
		return 0;
	}
	if (strncmp(name, "akin-", 5) != 0)
		return -1;
	cmd = cli_command_find(name + 5);
	if (cmd < 0)
		return -1;
	cli_man_command(out, (enum cli_command)cmd);
	return 0;
}

static int completion(struct cli_str *out, const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		cli_complete_bash(out);
	else if (strcmp(shell, "zsh") == 0)
		cli_complete_zsh(out);
	else if (strcmp(shell, "fish") == 0)
		cli_complete_fish(out);
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct cli_str out = { 0 };
	int err = -1;

	if (argc == 3 && strcmp(argv[1], "man") == 0)
		err = man(&out, argv[2]);
	else if (argc == 3 && strcmp(argv[1], "completion") == 0)
		err = completion(&out, argv[2]);
	if (err) {
		fputs("usage: cli_generate man NAME | completion SHELL\n",
		      stderr);
		return 2;
	}
	fputs(cli_str_text(&out), stdout);
	cli_str_release(&out);
	return fflush(stdout) ? 1 : 0;
}
