/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads after a trace: each of its blocks or chunks becomes as many bytes, made
 * from its fingerprint; so what was equal is equal, and nothing else.
 *
 * The content's number is the fingerprint as a number. One stream, in the
 * trace's order. Sixteen bytes are kept of each record.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen_internal.h"
#include "trace.h"

static int add_record(struct loadgen_trace *t, const struct trace_record *r,
		      struct akin_diag *diag)
{
	uint64_t cap = t->cap ? t->cap * 2 : 1024;
	void *p;

	if (t->nr == t->cap) {
		p = realloc(t->v, cap * sizeof(*t->v));
		if (!p)
			return loadgen_fail(diag, -AKIN_E_nomem, "trace");
		t->v = p;
		t->cap = cap;
	}
	t->bytes += r->bytes;
	t->v[t->nr].end = t->bytes;
	t->v[t->nr++].content = trace_number(r) & ~LOADGEN_FRESH;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int count_distinct(struct loadgen *l, struct akin_diag *diag)
{
	const struct loadgen_trace *t = l->trace;
	uint64_t *v = malloc(t->nr * sizeof(*v)), i;

	if (!v)
		return loadgen_fail(diag, -AKIN_E_nomem, "trace");
	for (i = 0; i < t->nr; i++)
		v[i] = t->v[i].content;
	qsort(v, t->nr, sizeof(*v), compare);
	for (i = 0; i < t->nr; i++)
		l->distinct += i == 0 || v[i] != v[i - 1];
	free(v);
	return 0;
}

static int read_all(FILE *f, const char *path, uint64_t most,
		    struct loadgen_trace *t, struct akin_diag *diag)
{
	struct trace_record r;
	struct trace *reader;
	int err, more = 1;

	err = trace_open(f, path, TRACE_ANY, &reader, diag);
	if (err)
		return err;
	while (!err && t->bytes < most) {
		more = trace_next(reader, &r, diag);
		if (more <= 0)
			break;
		err = add_record(t, &r, diag);
	}
	trace_close(reader);
	return err ? err : more < 0 ? more : 0;
}

int loadgen_read_trace(struct loadgen *l, struct akin_diag *diag)
{
	uint64_t most = l->opt.stream_bytes ? l->opt.stream_bytes : UINT64_MAX;
	const char *path = l->opt.trace;
	FILE *f = fopen(path, "rb");
	int err;

	if (!f)
		return loadgen_fail(diag, -AKIN_E_absent, "%s: %s", path,
				    strerror(errno));
	l->trace = calloc(1, sizeof(*l->trace));
	err = l->trace ? read_all(f, path, most, l->trace, diag) :
			 loadgen_fail(diag, -AKIN_E_nomem, "trace");
	fclose(f);
	if (!err && !l->trace->nr)
		err = loadgen_fail(diag, -AKIN_E_usage, "%s: it has no blocks",
				   path);
	if (!err)
		err = count_distinct(l, diag);
	if (err)
		return err;
	l->units = l->trace->nr;
	l->stream_bytes = l->trace->bytes;
	l->opt.stream_bytes = l->trace->bytes;
	return 0;
}

void loadgen_free_trace(struct loadgen *l)
{
	if (l->trace)
		free(l->trace->v);
	free(l->trace);
}

/* The record that has byte @off. */
static uint64_t find(const struct loadgen_trace *t, uint64_t off)
{
	uint64_t low = 0, high = t->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->v[mid].end <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void loadgen_fill_trace(const struct loadgen *l, uint64_t off,
			unsigned char *to, size_t n)
{
	const struct loadgen_trace *t = l->trace;
	uint64_t i = find(t, off), begin;
	size_t len;

	for (; n; n -= len, to += len, off += len, i++) {
		begin = i ? t->v[i - 1].end : 0;
		len = n < t->v[i].end - off ? n : (size_t)(t->v[i].end - off);
		loadgen_fill(l, t->v[i].content, (uint32_t)(off - begin), to,
			     len);
	}
}
