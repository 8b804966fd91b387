/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exit codes; see cli_exit.h.
 */
#include <stddef.h>

#include "akin/error.h"
#include "cli_exit.h"

const struct cli_exit_info cli_exits[] = {
	{ CLI_EXIT_OK, "0", "success" },
	{ CLI_EXIT_OTHER, "1", "any other error" },
	{ CLI_EXIT_USAGE, "2", "the command line or the configuration is wrong" },
	{ CLI_EXIT_WARNINGS, "3",
	  "with warnings: files not read or restored; stats: a disk nearly full" },
	{ CLI_EXIT_POOL, "4", "the pool is missing, or in use" },
	{ CLI_EXIT_DAMAGED, "5", "stored data is damaged" },
	{ CLI_EXIT_NOSPACE, "6", "no space left" },
	{ CLI_EXIT_DIFFERS, "7", "verify: live data differ from the snapshot" },
	{ CLI_EXIT_SIGNAL, "128+n",
	  "interrupted by signal n; 141: nobody reads the output any more" },
	{ 0, NULL, NULL },
};

enum cli_exit cli_exit_of(int err)
{
	if (err == 0)
		return CLI_EXIT_OK;
	/* Of the class SOURCE only this one leaves a snapshot; of the class
	 * ABSENT only this one is about the pool. */
	if (err == -AKIN_E_partial)
		return CLI_EXIT_WARNINGS;
	if (err == -AKIN_E_differs)
		return CLI_EXIT_DIFFERS;
	if (err == -AKIN_E_pool_missing)
		return CLI_EXIT_POOL;
	switch (akin_error_class(err)) {
	case AKIN_CLASS_USAGE:
		return CLI_EXIT_USAGE;
	case AKIN_CLASS_BUSY:
		return CLI_EXIT_POOL;
	case AKIN_CLASS_CORRUPT:
		return CLI_EXIT_DAMAGED;
	case AKIN_CLASS_NOSPACE:
		return CLI_EXIT_NOSPACE;
	default:
		return CLI_EXIT_OTHER;
	}
}
