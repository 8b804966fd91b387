/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What akin top knows, and how a frame is made of it.
 *
 *	cli_top.c	the command: when to look, keys, JSON
 *	cli_top_rows.c	from readings to rows with their histories
 *	cli_top_frame.c	from rows to text
 */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "cli_columns.h"
#include "cli_str.h"

#define CLI_TOP_HISTORY 60

/* The newest one last. */
struct cli_top_history {
	float v[CLI_TOP_HISTORY];
	uint32_t nr;
};

/* A process with an open pool, or (stream != 0) one of its streams. */
struct cli_top_row {
	uint32_t pid, uid, handle;
	int64_t opened_sec;
	uint64_t stream;
	bool out;		/* of a stream: it is read back */
	char pool[33];
	char name[256];		/* command or stream; no control characters */
	double rate;		/* bytes a second, in and out */
	double share_new;	/* percent of what came in; < 0: not known */
	uint64_t bytes, items;	/* since it began */
	double seconds;		/* since it began */
	struct cli_top_history history;	/* of @rate */
	bool seen;
	uint32_t rank;		/* of its process */
};

enum cli_top_sort { CLI_TOP_RATE, CLI_TOP_TOTAL, CLI_TOP_NAME, CLI_TOP_NR_SORTS };

/* Zeroed = empty. Rows: each process, followed by its streams. */
struct cli_top {
	struct cli_top_row *rows;
	uint32_t nr, cap;
	struct cli_sample sample;	/* of the last interval */
	uint64_t nr_samples;
	struct cli_top_history in, out;	/* MB/s of all processes */
	enum cli_top_sort sort;
};

/* @wall_sec: what time it is now. */
void cli_top_update(struct cli_top *t, const struct cli_reading *a,
		    const struct cli_reading *b, int64_t wall_sec);
void cli_top_sort(struct cli_top *t);
void cli_top_release(struct cli_top *t);
const char *cli_top_sort_name(enum cli_top_sort sort);

/* How a frame is to be. */
struct cli_top_look {
	const char *title;	/* of the first line */
	unsigned columns, lines;	/* 0 lines: as many as there are */
	bool utf8;		/* the terminal shows it */
	bool keys, help;	/* name the keys; explain instead of listing */
	bool colour;		/* by control sequences (ECMA-48) */
	uint32_t first;		/* row of the list */
};
/* Appends lines of at most @columns. Where there are few, columns of the list
 * are left out; where there are few lines, most of what is above it. */
void cli_top_frame(const struct cli_top *t, const struct cli_top_look *look,
		   struct cli_str *out);
/* Lines that are left for the list. */
unsigned cli_top_room(const struct cli_top_look *look);
/* Appends the newest @columns values, each as a bar of its share in the
 * greatest; blanks in front if there are fewer. */
void cli_top_spark(struct cli_str *out, const struct cli_top_history *h,
		   unsigned columns, bool utf8);

#endif
