/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exit codes: the one table, for the program, its help and its manual.
 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_OTHER = 1,
	CLI_EXIT_USAGE = 2,
	CLI_EXIT_WARNINGS = 3,
	CLI_EXIT_POOL = 4,
	CLI_EXIT_DAMAGED = 5,
	CLI_EXIT_NOSPACE = 6,
	CLI_EXIT_DIFFERS = 7,
	CLI_EXIT_SIGNAL = 128,	/* plus the signal's number */
};

struct cli_exit_info {
	enum cli_exit code;
	const char *label;	/* "0", "128+n" */
	const char *text;
};
/* Ends with a NULL label. */
extern const struct cli_exit_info cli_exits[];

/* What a library code (0 or negative) comes to. Interruptions need the signal
 * and are none of its business: they give CLI_EXIT_OTHER. */
enum cli_exit cli_exit_of(int err);

#endif
