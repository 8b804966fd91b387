/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, bytes and lines of traces. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "trace_internal.h"

int trace_fail(struct akin_diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d && !d->code) {
		d->code = code;
		va_start(ap, fmt);
		vsnprintf(d->text, sizeof(d->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

int trace_bad(const struct trace *t, const char *what, struct akin_diag *diag)
{
	return trace_fail(diag, -AKIN_E_usage, "%s: at %s %llu: %s", t->name,
			  t->format == TRACE_HASHFILE ? "byte" : "line",
			  (unsigned long long)t->where, what);
}

/* Up to @n bytes, first those that were looked at. */
static size_t take(struct trace *t, void *to, size_t n)
{
	unsigned char *p = to;
	size_t done = 0;

	while (done < n && t->peeked_at < t->nr_peeked)
		p[done++] = t->peeked[t->peeked_at++];
	if (done < n)
		done += fread(p + done, 1, n - done, t->f);
	return done;
}

int trace_read(struct trace *t, void *to, size_t n, bool *at_end_ret,
	       struct akin_diag *diag)
{
	size_t done = take(t, to, n);

	if (at_end_ret)
		*at_end_ret = done == 0 && n > 0;
	t->where += done;
	if (done == n || (at_end_ret && *at_end_ret && !ferror(t->f)))
		return 0;
	if (ferror(t->f))
		return trace_fail(diag, -AKIN_E_io, "%s: cannot be read",
				  t->name);
	return trace_bad(t, "it ends in the middle", diag);
}

static int next_char(struct trace *t)
{
	return t->peeked_at < t->nr_peeked ? t->peeked[t->peeked_at++] :
	       getc(t->f);
}

int trace_read_line(struct trace *t, struct akin_diag *diag)
{
	size_t n = 0;
	int c;

	t->where++;
	while ((c = next_char(t)) != EOF && c != '\n') {
		if (n + 1 == TRACE_LINE_MAX)
			return trace_bad(t, "the line is too long", diag);
		if (c == 0)
			return trace_bad(t, "a zero byte", diag);
		t->text[n++] = (char)c;
	}
	if (ferror(t->f))
		return trace_fail(diag, -AKIN_E_io, "%s: cannot be read",
				  t->name);
	while (n && isspace((unsigned char)t->text[n - 1]))
		n--;
	t->text[n] = 0;
	return c != EOF || n > 0;
}

/* The first bytes: a magic number, a digit of a time, or something else. */
static enum trace_format guess(const struct trace *t)
{
	static const unsigned char magic[4] = { 0xad, 0xde, 0xad, 0xde };

	if (t->nr_peeked == 4 && memcmp(t->peeked, magic, 4) == 0)
		return TRACE_HASHFILE;
	if (t->nr_peeked >= 3 && (isspace(t->peeked[0]) ||
				  t->peeked[0] == 'C' || t->peeked[2] == ':'))
		return TRACE_TEXT;
	if (t->nr_peeked && isdigit(t->peeked[0]))
		return TRACE_BLKTRACE;
	return TRACE_ANY;
}

int trace_open(FILE *f, const char *name, enum trace_format format,
	       struct trace **out, struct akin_diag *diag)
{
	struct trace *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return trace_fail(diag, -AKIN_E_nomem, "trace");
	t->f = f;
	t->name = name;
	t->nr_peeked = fread(t->peeked, 1, sizeof(t->peeked), f);
	t->format = format == TRACE_ANY ? guess(t) : format;
	t->text = malloc(TRACE_LINE_MAX);
	if (!t->text)
		err = trace_fail(diag, -AKIN_E_nomem, "trace");
	else if (t->format == TRACE_ANY)
		err = trace_fail(diag, -AKIN_E_usage, "%s: neither a hashfile, "
				 "nor its text, nor a trace of blocks", name);
	else if (t->format == TRACE_HASHFILE)
		err = trace_hashfile_open(t, diag);
	if (err) {
		trace_close(t);
		return err;
	}
	*out = t;
	return 0;
}

void trace_close(struct trace *t)
{
	if (t)
		free(t->text);
	free(t);
}

enum trace_format trace_get_format(const struct trace *t)
{
	return t->format;
}

int trace_next(struct trace *t, struct trace_record *out,
	       struct akin_diag *diag)
{
	memset(out, 0, sizeof(*out));
	switch (t->format) {
	case TRACE_HASHFILE:
		return trace_hashfile_next(t, out, diag);
	case TRACE_TEXT:
		return trace_text_next(t, out, diag);
	default:
		return trace_blktrace_next(t, out, diag);
	}
}

uint64_t trace_number(const struct trace_record *r)
{
	uint64_t h = r->hash_bytes, word;
	uint32_t i;

	/* Hashes may be short, or not well mixed (murmur): so mix all of it. */
	for (i = 0; i < r->hash_bytes; i += 8) {
		word = get_le64(r->hash + i);
		h = (h ^ word) * 0xbf58476d1ce4e5b9u;
		h ^= h >> 31;
		h *= 0x94d049bb133111ebu;
		h ^= h >> 29;
	}
	return h;
}
