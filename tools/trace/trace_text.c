/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that are text: of a hashfile's chunks, and of block I/O. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "trace_internal.h"

#define SECTOR 512u
#define MD5_DIGITS 32u
/* NS PID PROCESS LBA SECTORS W|R MAJOR MINOR MD5; a process may be several. */
#define FIELDS_MIN 9
#define FIELDS_MAX 64

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Two digits; -1: they are none. */
static int byte_at(const char *p)
{
	int high = digit(p[0]);

	return high < 0 || digit(p[1]) < 0 ? -1 : high << 4 | digit(p[1]);
}

/* A number that ends where a blank or the line does. */
static bool number(const char *p, char **end_ret, uint64_t *out)
{
	if (!isdigit((unsigned char)*p))
		return false;
	*out = strtoull(p, end_ret, 10);
	return **end_ret == 0 || isspace((unsigned char)**end_ret);
}

/* "aa:bb:cc", into @out; NULL: it is not that. */
static char *read_hash(char *p, struct trace_record *out)
{
	int v;

	for (;; p++) {
		v = byte_at(p);
		if (v < 0 || out->hash_bytes == TRACE_HASH_MAX)
			return NULL;
		out->hash[out->hash_bytes++] = (unsigned char)v;
		p += 2;
		if (*p != ':')
			return p;
	}
}

int trace_text_next(struct trace *t, struct trace_record *out,
		    struct akin_diag *diag)
{
	uint64_t bytes;
	char *p;
	int more;

	do {
		more = trace_read_line(t, diag);
		p = t->text;
		/* Headings, and blanks between files. */
	} while (more > 0 && (!*p || strncmp(p, "Chunk Hash", 10) == 0));
	if (more <= 0)
		return more;
	p = read_hash(p, out);
	if (!p || !isspace((unsigned char)*p))
		return trace_bad(t, "not a hash, a size and a ratio", diag);
	p += strspn(p, " \t");
	if (!number(p, &p, &bytes) || !bytes || bytes > TRACE_BLOCK_MAX)
		return trace_bad(t, "no such size of a chunk", diag);
	out->bytes = (uint32_t)bytes;
	return 1;
}

/* Cuts the line at blanks; how many there are, FIELDS_MAX at most. */
static uint32_t split(char *p, char **fields)
{
	uint32_t nr = 0;

	for (;;) {
		p += strspn(p, " \t");
		if (!*p || nr == FIELDS_MAX)
			return nr;
		fields[nr++] = p;
		p += strcspn(p, " \t");
		if (*p)
			*p++ = 0;
	}
}

/* A line of what was written; 0: of something else. */
static int parse_blktrace(struct trace *t, struct akin_diag *diag)
{
	char *fields[FIELDS_MAX], **last, *end;
	struct trace_line *l = &t->line;
	uint32_t nr = split(t->text, fields);
	uint64_t sectors;
	size_t digits;

	if (!nr)
		return 0;
	if (nr < FIELDS_MIN)
		return trace_bad(t, "less than nine words", diag);
	last = fields + nr - 1;
	if (!number(last[-4], &end, &sectors) || !sectors)
		return trace_bad(t, "no number of sectors", diag);
	if (strcmp(last[-3], "W") && strcmp(last[-3], "R"))
		return trace_bad(t, "neither W nor R", diag);
	if (last[-3][0] == 'R')
		return 0;
	digits = strlen(last[0]);
	if (!digits || digits % MD5_DIGITS)
		return trace_bad(t, "no digests", diag);
	l->nr = (uint32_t)(digits / MD5_DIGITS);
	if (sectors > TRACE_BLOCK_MAX / SECTOR || sectors % l->nr)
		return trace_bad(t, "sectors and digests do not match", diag);
	l->bytes = (uint32_t)(sectors / l->nr * SECTOR);
	l->digits = last[0];
	return 1;
}

int trace_blktrace_next(struct trace *t, struct trace_record *out,
			struct akin_diag *diag)
{
	struct trace_line *l = &t->line;
	int more, v;

	while (!l->nr) {
		more = trace_read_line(t, diag);
		if (more > 0)
			more = parse_blktrace(t, diag) < 0 ? -AKIN_E_usage : 1;
		if (more <= 0)
			return more;
	}
	for (; out->hash_bytes < MD5_DIGITS / 2; out->hash_bytes++) {
		v = byte_at(l->digits);
		if (v < 0)
			return trace_bad(t, "no digest", diag);
		out->hash[out->hash_bytes] = (unsigned char)v;
		l->digits += 2;
	}
	out->bytes = l->bytes;
	l->nr--;
	return 1;
}
