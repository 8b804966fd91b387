/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals, and what a process wants before anything else.
 *
 * The first INT, TERM or HUP asks the running operation to stop, the second
 * ends the process at once.
 */
#ifndef CLI_SIGNAL_H
#define CLI_SIGNAL_H

#include <spawn.h>
#include <stdbool.h>

#include "akin/pool.h"

/* Once. */
void cli_signal_init(void);
/* The pool to stop; NULL: none. */
void cli_signal_pool(struct akin_pool *p);
struct akin_session;
void cli_signal_session(struct akin_session *s);
/* The signal that came, or 0. */
int cli_signal_received(void);
/* Called in the handler before a second signal ends the process at once: safe
 * calls only. NULL: nothing. */
void cli_signal_last(void (*fn)(void));
/* Readable once a signal came: for poll(2) beside whatever one waits for. */
int cli_signal_fd(void);

/* Descriptors 0 to 2 are open afterwards; true if 0 was not. */
bool cli_fix_descriptors(void);
/* As many open files as the system allows us. */
void cli_raise_limits(void);
/* The limit we were started with, for a child; @raised: ours again. */
void cli_set_limits(bool raised);
/*
 * Start @program (searched for in PATH) with @actions and as we were started: what
 * we ignore or catch is as it was, and so is the limit of open files (some
 * programs break above 1024). 0 or an errno.
 */
int cli_spawn(pid_t *pid, const char *program, char *const *argv,
	      const posix_spawn_file_actions_t *actions);

#endif
