/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of the formats. */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include "trace.h"

/* A sector trace has 32 digits for each of at most 4,096 sectors. */
#define TRACE_LINE_MAX (160u << 10)

/* What a hashfile says of its chunks, and where the reader is. */
struct trace_hashfile {
	uint32_t version;
	bool fixed;
	uint32_t fixed_bytes;
	uint32_t hash_bytes;
	uint64_t files, chunks;	/* as the header has them */
	uint64_t files_seen, chunks_seen;
	/* The file that is being read. */
	uint64_t size, left;	/* bytes that are still to come */
	uint64_t nr, at;	/* chunks */
};

/* Digests of one line that are still to come. */
struct trace_line {
	const char *digits;
	uint32_t nr, bytes;	/* of each block */
};

struct trace {
	FILE *f;
	const char *name;
	enum trace_format format;
	uint64_t where;		/* bytes, or lines, so far */
	/* What was looked at and not taken. */
	unsigned char peeked[4];
	size_t nr_peeked, peeked_at;
	struct trace_hashfile file;
	struct trace_line line;
	char *text;		/* a line; TRACE_LINE_MAX bytes */
};

int trace_fail(struct akin_diag *d, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "NAME: at byte or line N: WHAT", -AKIN_E_usage. */
int trace_bad(const struct trace *t, const char *what, struct akin_diag *diag);

/* Exactly @n bytes; @at_end_ret (may be NULL): none, because it ends here. */
int trace_read(struct trace *t, void *to, size_t n, bool *at_end_ret,
	       struct akin_diag *diag);
/* 1: a line in @t->text, without its end; 0: no more. */
int trace_read_line(struct trace *t, struct akin_diag *diag);

/* trace_hashfile.c */
int trace_hashfile_open(struct trace *t, struct akin_diag *diag);
int trace_hashfile_next(struct trace *t, struct trace_record *out,
			struct akin_diag *diag);
/* trace_text.c */
int trace_text_next(struct trace *t, struct trace_record *out,
		    struct akin_diag *diag);
int trace_blktrace_next(struct trace *t, struct trace_record *out,
			struct akin_diag *diag);

#endif
