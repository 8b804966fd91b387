/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: figures of a sample, by name; for akin sysstat and akin top.
 *
 * Means of ratios are ratios of sums, and percentiles of a longer time those of
 * all that happened in it: the value of a column for the sum of samples is the
 * true mean.
 */
#ifndef CLI_COLUMNS_H
#define CLI_COLUMNS_H

#include "cli_sample.h"

enum cli_how {
	CLI_PER_SECOND,	/* the sum of @a over time, in units of @unit */
	CLI_SHARE_OF,	/* of @a in @a and @b, percent */
	CLI_FACTOR,	/* @a over @b */
	CLI_PRODUCT,	/* of the factors of each of @a over that of @b */
	CLI_P50, CLI_P99,	/* of the histograms @a, milliseconds */
	CLI_CPU, CLI_BUSIEST, CLI_NR_PROCESSES, CLI_NET_IN, CLI_NET_OUT,
	CLI_AGE,	/* seconds */
	CLI_COMMIT_TIME,	/* percent */
	CLI_COMMIT_CAUSE,	/* text */
};

struct cli_counters_of {
	enum akin_counter v[4];
	uint32_t nr;
};

struct cli_column {
	const char *key;	/* of JSON */
	const char *above, *name;	/* two lines of head */
	int width;
	bool extended;		/* with -x only */
	enum cli_how how;
	double unit;
	struct cli_counters_of a, b;
};

/* Ends with a NULL key. */
extern const struct cli_column cli_columns[];
#define CLI_MAX_COLUMNS 64

const struct cli_column *cli_column_find(const char *key);
/* False: nothing happened that it could be said of, or it is text. */
bool cli_column_value(const struct cli_column *col, const struct cli_sample *s,
		      double *out);

#define CLI_CELL 24
/* At most as wide as the column; "-" if it is not known. Returns @out. */
const char *cli_column_text(const struct cli_column *col, bool known, double v,
			    char out[CLI_CELL]);
/*
 * Why checkpoints and commits ended in that time: S for a snapshot, T because
 * some time had passed, F because so many containers were full, O for others;
 * their number if they were several; ":" if none ended and one goes on, "-" if
 * there was none. Returns @out.
 */
const char *cli_commit_cause(const struct cli_sample *s, char out[CLI_CELL]);

#endif
