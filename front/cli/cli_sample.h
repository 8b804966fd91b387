/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in some time: the differences of two readings of all processes'
 * counters and of the kernel's own.
 *
 * What a process did after its last reading and before its end is not known.
 */
#ifndef CLI_SAMPLE_H
#define CLI_SAMPLE_H

#include "cli_counters.h"

#define CLI_MAX_DISKS 64
#define CLI_DISK_NAME 32

struct cli_disk_time {
	char name[CLI_DISK_NAME];
	uint64_t ms;		/* in which it had something to do */
};

/* Of one moment. Zeroed = empty; may be taken again and again. */
struct cli_reading {
	struct cli_processes ps;
	uint64_t ns;		/* CLOCK_MONOTONIC, when it was taken */
	uint64_t cpu_busy, cpu_all;	/* ticks of the machine */
	uint64_t net_in, net_out;	/* bytes, without the loopback's */
	struct cli_disk_time disks[CLI_MAX_DISKS];
	uint32_t nr_disks;
};

/* Of @pool or (NULL) all pools. */
void cli_reading_take(struct cli_reading *r, const char *pool);
void cli_reading_release(struct cli_reading *r);

struct cli_sample {
	double seconds;
	uint64_t v[AKIN_NR_COUNTER_VALUES];	/* moments: 0; gauges: the last */
	uint64_t cpu_busy, cpu_all;
	uint64_t net_in, net_out;
	uint64_t disk_ms;			/* of the busiest disk */
	char disk[CLI_DISK_NAME];		/* its name; "" if none was busy */
	uint32_t processes;			/* at the end */
	uint64_t commit_ns;	/* in checkpoints and commits, also in those
				 * that go on */
	bool committing;	/* one goes on at the end */
	/* How long ago the directory was used that goes next from a cache, of
	 * the oldest; times the seconds in which that was known. */
	double age, age_seconds;
};

void cli_sample_between(const struct cli_reading *a,
			const struct cli_reading *b, struct cli_sample *out);
/* One process's part in it; @before is NULL if it came meanwhile: then it did
 * all of its work meanwhile. @values has AKIN_NR_COUNTER_VALUES. */
void cli_sample_process(const struct cli_process *before,
			const struct cli_process *p, uint64_t *values);
/* @sum becomes that of the longer time. */
void cli_sample_add(struct cli_sample *sum, const struct cli_sample *s);

#endif
