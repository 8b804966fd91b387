/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of paths from files, for --files-from and --files-from0.
 */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "cli_diag.h"

/*
 * Adds the names in @file ("-": standard input), each ended by @separator, to
 * @out, whose strings are then owned. Empty names are skipped.
 */
int cli_names_read(const char *file, int separator, struct cli_list *out,
		   struct akin_diag *diag);

#endif
