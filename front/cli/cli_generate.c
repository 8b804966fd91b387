/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of the build: writes what is made from the table.
 *
 *	cli_generate man FILE...	the manual pages; each file is named
 *					akin.1 or akin-COMMAND.1
 *	cli_generate completion SHELL	bash, zsh or fish, to standard output
 */
#include <stdio.h>
#include <string.h>

#include "cli_doc.h"

static int page(struct cli_str *out, const char *name, size_t len)
{
	char command[64];
	int cmd;

	if (len == 4 && memcmp(name, "akin", 4) == 0) {
		cli_man_overview(out);
		return 0;
	}
	if (len <= 5 || len - 5 >= sizeof(command) ||
	    memcmp(name, "akin-", 5) != 0)
		return -1;
	memcpy(command, name + 5, len - 5);
	command[len - 5] = '\0';
	cmd = cli_command_find(command);
	if (cmd < 0)
		return -1;
	cli_man_command(out, (enum cli_command)cmd);
	return 0;
}

static int man(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	struct cli_str out = { 0 };
	FILE *f = NULL;
	int err;

	err = dot ? page(&out, name, (size_t)(dot - name)) : -1;
	if (err)
		fprintf(stderr, "cli_generate: %s: no such page\n", path);
	else if (!(f = fopen(path, "w")) ||
		 fputs(cli_str_text(&out), f) == EOF)
		err = -1;
	if (f && fclose(f))
		err = -1;
	cli_str_release(&out);
	return err;
}

static int completion(const char *shell)
{
	struct cli_str out = { 0 };

	if (strcmp(shell, "bash") == 0)
		cli_complete_bash(&out);
	else if (strcmp(shell, "zsh") == 0)
		cli_complete_zsh(&out);
	else if (strcmp(shell, "fish") == 0)
		cli_complete_fish(&out);
	else
		return -1;
	fputs(cli_str_text(&out), stdout);
	cli_str_release(&out);
	return fflush(stdout) ? -1 : 0;
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 3 && strcmp(argv[1], "completion") == 0)
		return completion(argv[2]) ? 1 : 0;
	if (argc < 3 || strcmp(argv[1], "man") != 0) {
		fputs("usage: cli_generate man FILE... | completion SHELL\n",
		      stderr);
		return 2;
	}
	for (i = 2; i < argc; i++)
		if (man(argv[i]))
			return 1;
	return 0;
}
