/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard error: messages, and one line of progress on a terminal.
 *
 * The progress line is cleared before anything else is written to either
 * stream. Off a terminal, in the background, with --quiet and with --json
 * there is none.
 *
 * Thread safety: all functions, because the library reports from a thread of
 * its own.
 */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include "akin/backup.h"

/* Once, before the others. */
void cli_term_init(bool progress, bool json);

enum cli_severity { CLI_ERROR, CLI_WARNING, CLI_NOTE };
/* @code may be 0, @path and @hint NULL. Text is made safe for a terminal. */
void cli_term_message(enum cli_severity severity, int code, const char *path,
		      const char *text, const char *hint);

void cli_term_progress(const struct akin_progress *p);
/* Takes the line away; the next progress draws it again. */
void cli_term_clear(void);

/* The line, @columns wide at most; for the tests. */
struct cli_str;
void cli_progress_line(struct cli_str *out, const struct akin_progress *p,
		       size_t columns);

#endif
