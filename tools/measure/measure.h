/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What akin bench measures, and how it says so.
 *
 * A verb fills a report: rows of numbers under columns, and which of them a
 * chart shows. The same report becomes a table, lines of JSON, and a page of
 * HTML that needs nothing but itself.
 *
 * Pools are made below a directory and removed; the load is of tools/loadgen
 * and goes in through sessions, as a program's would.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "akin/session.h"

#define MEASURE_COLUMNS 16
#define MEASURE_LABEL 48

struct measure_column {
	const char *key;	/* of JSON */
	const char *title;	/* of the table, with its unit */
	int digits;		/* behind the point */
};

/* What a chart makes of the rows. */
enum measure_kind {
	MEASURE_LINES,	/* points over the first column's values, evenly */
	MEASURE_BARS,	/* rows are kinds, not points of an axis */
	MEASURE_TIME,	/* points in time: the first column, in proportion;
			 * labels are phases, and are marked */
};

/* Lines apart for each value of a column; or of one of these. */
#define MEASURE_BY_NONE (-1)
#define MEASURE_BY_LABEL (-2)

/* A line (or bars) for each column in @columns over the first column. */
struct measure_chart {
	const char *title, *unit;
	enum measure_kind kind;
	uint32_t columns[MEASURE_COLUMNS];
	uint32_t nr_columns;
	int by;
};

struct measure_report {
	const char *verb, *title;
	const char *text;	/* what is measured, a paragraph */
	const char *row_title;	/* of the labels; NULL: rows have none */
	const struct measure_column *columns;
	uint32_t nr_columns;
	const struct measure_chart *charts;
	uint32_t nr_charts;
	bool quiet;		/* many rows: for charts and JSON only */
	char machine[256];	/* processor, kernels, load */
	/* The rows; see measure_add(). */
	double *values;
	char (*labels)[MEASURE_LABEL];
	uint32_t nr_rows, cap_rows;
	struct measure_report *next;	/* more of the same verb; owned */
};

struct measure_options {
	const char *dir;	/* for pools; NULL: TMPDIR or /tmp */
	uint64_t bytes;		/* of a load; 0: the verb's default */
	size_t memory_bytes;	/* of the pools */
	unsigned nr_threads;
	const char *compression;	/* NULL: as akin init */
	int delta_depth;	/* as in akin_init_options */
	struct akin_throttle throttle_meta, throttle_data;
	enum akin_engine engine;	/* where a verb does not compare them */
	const unsigned *counts;	/* streams: how many; growth: steps; targets:
				 * which; files: how many times as many */
	uint32_t nr_counts;
	uint32_t nr_files;	/* files; 0: the default */
	uint64_t nr_fingerprints;	/* growth: in all steps together */
	const char *const *traces;	/* growth: a step each */
	uint32_t nr_traces;
	/* Between two measurements: non-zero ends it. May be NULL. */
	int (*tick)(void *ctx, const char *text);
	void *ctx;
};

/* The verbs. @out is zeroed first, and for measure_release() in any case; after
 * an error it has the rows that were done. */
int measure_streams(const struct measure_options *opt,
		    struct measure_report *out, struct akin_diag *diag);
int measure_engines(const struct measure_options *opt,
		    struct measure_report *out, struct akin_diag *diag);
int measure_targets(const struct measure_options *opt,
		    struct measure_report *out, struct akin_diag *diag);
int measure_verify(const struct measure_options *opt,
		   struct measure_report *out, struct akin_diag *diag);
int measure_growth(const struct measure_options *opt,
		   struct measure_report *out, struct akin_diag *diag);
int measure_files(const struct measure_options *opt, struct measure_report *out,
		  struct akin_diag *diag);
int measure_micro(const struct measure_options *opt,
		  struct measure_report *out, struct akin_diag *diag);

void measure_release(struct measure_report *r);
/* A report behind the last one of @r, zeroed; NULL: no memory. */
struct measure_report *measure_more(struct measure_report *r);
/* @values are nr_columns numbers; @label may be NULL. */
int measure_add(struct measure_report *r, const char *label,
		const double *values);

/* With all that follow @r; errors are ferror(f). */
void measure_table(const struct measure_report *r, FILE *f);
void measure_html(const struct measure_report *r, FILE *f);

#endif
