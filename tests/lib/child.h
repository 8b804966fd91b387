/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of their own for what must be measured apart: peak memory, time
 * from start.
 *
 * The child is a program like any other (most often the caller's own, with
 * other arguments) and answers with lines "KEY NUMBER" on its standard output.
 * It reports its own peak: what wait4() knows counts the parent's pages from
 * before the exec.
 */
#ifndef CHILD_H
#define CHILD_H

#include "base/types.h"

struct child {
	int status;		/* as waitpid() says; 0: all went well */
	u64 wall_ns;		/* from before the fork to the end */
	u64 begun_ns;		/* on clock_ns(), which all processes share */
	char text[16384];	/* what it printed; cut if longer */
};

/* @argv[0] is the program's path. -1 if it could not be started. */
int child_run(const char *const *argv, struct child *out);
/* The caller's own program. */
const char *child_self(void);
/* The value of @key; -1 if it was not said. */
double child_value(const struct child *c, const char *key);

/* In the child. */
void child_say(const char *key, double value);
/* Peak of resident memory so far, in bytes; 0: not known. */
u64 child_peak_bytes(void);

#endif
