/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces: which blocks or chunks somebody's data had, one fingerprint each,
 * without the data.
 *
 * Formats, told apart by their first bytes:
 *
 *	hashfile  snapshots of file systems as the FSL publishes them, versions
 *		  1 to 7, little-endian
 *	text	  what its tool prints of one: "aa:bb:...  SIZE  RATIO" a line
 *	blktrace  FIU's traces of block I/O with a digest for each 4 KiB, or
 *		  each sector: "NS PID PROCESS LBA SECTORS W|R MAJOR MINOR MD5".
 *		  Only what is written counts
 *
 * A trace is read from front to back, also from a pipe; memory does not depend
 * on it. What is read may be anything: whatever does not fit is an error that
 * says where. Not thread safe.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "akin/error.h"

enum trace_format {
	TRACE_ANY,		/* look at it */
	TRACE_HASHFILE, TRACE_TEXT, TRACE_BLKTRACE,
};

/* Of one block or chunk. */
#define TRACE_BLOCK_MAX (16u << 20)
#define TRACE_HASH_MAX 32

struct trace_record {
	unsigned char hash[TRACE_HASH_MAX];
	uint32_t hash_bytes;
	uint32_t bytes;		/* 1 to TRACE_BLOCK_MAX */
	bool begins_file;	/* hashfile: the first chunk of one */
};

struct trace;

/* @f is borrowed, and read from where it stands; @name is for messages, and
 * borrowed, too. -AKIN_E_usage: it is no trace. */
int trace_open(FILE *f, const char *name, enum trace_format format,
	       struct trace **out, struct akin_diag *diag);
void trace_close(struct trace *t);	/* NULL is fine */
enum trace_format trace_get_format(const struct trace *t);
/* 1: the next record; 0: the end; negative: an error. */
int trace_next(struct trace *t, struct trace_record *out,
	       struct akin_diag *diag);

/* A hash as a number: equal ones are, others hardly ever. */
uint64_t trace_number(const struct trace_record *r);

#endif
