/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What living processes have counted, copied at one moment.
 */
#ifndef CLI_COUNTERS_H
#define CLI_COUNTERS_H

#include <stdbool.h>

#include "akin/counters.h"

struct cli_process {
	char pool[33];		/* hex */
	uint32_t pid, uid, handle;
	int64_t opened_sec;
	bool closed;		/* these are its last values */
	char command[256];
	uint64_t values[AKIN_NR_COUNTER_VALUES];
	struct akin_counters_stream *streams;	/* owned */
	uint32_t nr_streams;
};

/* Zeroed = empty. */
struct cli_processes {
	struct cli_process *v;
	uint32_t nr, cap;
};

/* Replaces what @ps has; all but this process itself, of @pool or (NULL) all
 * pools. */
void cli_processes_read(struct cli_processes *ps, const char *pool);
void cli_processes_release(struct cli_processes *ps);
/* Of those, how many have the pool open. */
uint32_t cli_processes_open(const struct cli_processes *ps);
/* The same opened pool in an earlier reading; NULL if it was not there. */
const struct cli_process *cli_process_before(const struct cli_processes *ps,
					     const struct cli_process *p);

#endif
