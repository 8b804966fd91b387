/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From words to struct cli_args: command line, environment, configuration.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli_diag.h"
#include "cli_table.h"

/*
 * The command line counts more than the environment, that more than the
 * configuration. @args is zeroed; strings are borrowed from @argv and the
 * environment. With @args->help or ->version nothing else need be right.
 * 0 or -AKIN_E_usage (or what reading the configuration came to).
 */
int cli_args_parse(int argc, char **argv, struct cli_args *args,
		   struct akin_diag *diag);
void cli_args_release(struct cli_args *args);

/*
 * Sets one option. @value NULL: none was given, which is right for switches
 * and CLI_SHARE. @where says in messages where it was given ("--memory",
 * "AKIN_MEMORY"). The string is borrowed.
 */
int cli_args_set(struct cli_args *args, const struct cli_option *o,
		 const char *value, const char *where, struct akin_diag *diag);

/*
 * Applies the configuration @text, @n bytes, as far as it concerns
 * @args->command; @file is for messages. Strings are copied.
 */
int cli_config_apply(struct cli_args *args, const char *file, const char *text,
		     size_t n, struct akin_diag *diag);
/* The files that AKIN_CONFIG, XDG_CONFIG_HOME and HOME lead to. */
int cli_config_load(struct cli_args *args, struct akin_diag *diag);

#endif
