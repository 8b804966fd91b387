/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the user's before and after one of ours; 'akin help hooks' says
 * what they are told.
 */
#ifndef CLI_HOOK_H
#define CLI_HOOK_H

#include "cli.h"

/* Non-zero: the command is not to be run. */
int cli_hook_before(struct cli *c);
/* Once the pool is closed; @code is the exit code so far. Returns the one to
 * end with. */
int cli_hook_after(struct cli *c, int code);

#endif
