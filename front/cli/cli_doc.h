/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made from the table: help, manual pages, completions. All append.
 */
#ifndef CLI_DOC_H
#define CLI_DOC_H

#include "cli_table.h"

void cli_help_overview(struct cli_str *out);
void cli_help_command(struct cli_str *out, enum cli_command command);
void cli_help_topic(struct cli_str *out, const struct cli_topic *topic);
/* "-x, --one-file-system", "--tag T", "--read-data[=N%|SIZE]". */
void cli_option_title(struct cli_str *out, const struct cli_option *o);

/* akin(1) and akin-COMMAND(1), in man(7). */
void cli_man_overview(struct cli_str *out);
void cli_man_command(struct cli_str *out, enum cli_command command);

void cli_complete_bash(struct cli_str *out);
void cli_complete_zsh(struct cli_str *out);
void cli_complete_fish(struct cli_str *out);

#endif
