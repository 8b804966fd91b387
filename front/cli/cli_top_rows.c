/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are kept from reading to reading, for their histories; those of what is
 * gone are dropped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_top.h"

static void remember(struct cli_top_history *h, double v)
{
	if (h->nr == CLI_TOP_HISTORY)
		memmove(h->v, h->v + 1, (--h->nr) * sizeof(h->v[0]));
	h->v[h->nr++] = (float)v;
}

static struct cli_top_row *row_of(struct cli_top *t,
				  const struct cli_process *p, uint64_t stream)
{
	struct cli_top_row *r;
	uint32_t i;

	for (i = 0; i < t->nr; i++) {
		r = &t->rows[i];
		if (r->pid == p->pid && r->handle == p->handle &&
		    r->opened_sec == p->opened_sec && r->stream == stream)
			return r;
	}
	if (t->nr == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 16;
		t->rows = cli_realloc(t->rows, t->cap * sizeof(*t->rows));
	}
	r = &t->rows[t->nr++];
	memset(r, 0, sizeof(*r));
	r->pid = p->pid;
	r->uid = p->uid;
	r->handle = p->handle;
	r->opened_sec = p->opened_sec;
	r->stream = stream;
	snprintf(r->pool, sizeof(r->pool), "%s", p->pool);
	return r;
}

static double share(uint64_t part, uint64_t all)
{
	double s = all ? 100 * (double)part / (double)all : -1;

	/* What is new is counted a batch later than what comes in. */
	return s > 100 ? 100 : s;
}

static void update_process(struct cli_top *t, const struct cli_process *before,
			   const struct cli_process *p, double seconds,
			   int64_t wall_sec)
{
	struct cli_top_row *r = row_of(t, p, 0);
	uint64_t v[AKIN_NR_COUNTER_VALUES], flowed;

	cli_sample_process(before, p, v);
	flowed = v[AKIN_COUNTER_bytes_in] + v[AKIN_COUNTER_bytes_out];
	r->seen = true;
	r->rate = seconds > 0 ? (double)flowed / seconds : 0;
	r->share_new = share(v[AKIN_COUNTER_bytes_new],
			     v[AKIN_COUNTER_bytes_in]);
	r->bytes = p->values[AKIN_COUNTER_bytes_in] +
		   p->values[AKIN_COUNTER_bytes_out];
	r->items = p->values[AKIN_COUNTER_files_stored] +
		   p->values[AKIN_COUNTER_files_restored] +
		   p->values[AKIN_COUNTER_objects_stored] +
		   p->values[AKIN_COUNTER_objects_read];
	r->seconds = wall_sec > p->opened_sec ?
			     (double)(wall_sec - p->opened_sec) : 0;
	snprintf(r->name, sizeof(r->name), "%s", p->command);
	remember(&r->history, r->rate);
}

static const struct akin_counters_stream *
stream_before(const struct cli_process *before, uint64_t id)
{
	uint32_t i;

	for (i = 0; before && i < before->nr_streams; i++) {
		if (before->streams[i].id == id)
			return &before->streams[i];
	}
	return NULL;
}

static void update_stream(struct cli_top *t, const struct cli_process *before,
			  const struct cli_process *p,
			  const struct akin_counters_stream *s, double seconds,
			  uint64_t now_ns)
{
	const struct akin_counters_stream *old = stream_before(before, s->id);
	struct cli_top_row *r = row_of(t, p, s->id);
	uint64_t bytes = s->bytes, fresh = s->bytes_new;

	if (old && old->bytes <= bytes && old->bytes_new <= fresh) {
		bytes -= old->bytes;
		fresh -= old->bytes_new;
	}
	r->seen = true;
	r->out = s->kind == AKIN_STREAM_OUT;
	r->rate = seconds > 0 ? (double)bytes / seconds : 0;
	r->share_new = r->out ? -1 : share(fresh, bytes);
	r->bytes = s->bytes;
	r->items = s->items;
	r->seconds = now_ns > s->begun_ns ?
			     (double)(now_ns - s->begun_ns) / 1e9 : 0;
	snprintf(r->name, sizeof(r->name), "%s", s->name);
	remember(&r->history, r->rate);
}

static void drop_unseen(struct cli_top *t)
{
	uint32_t i, n = 0;

	for (i = 0; i < t->nr; i++) {
		if (t->rows[i].seen)
			t->rows[n++] = t->rows[i];
	}
	t->nr = n;
}

static double value(const struct cli_sample *s, const char *key)
{
	double v;

	return cli_column_value(cli_column_find(key), s, &v) ? v : 0;
}

void cli_top_update(struct cli_top *t, const struct cli_reading *a,
		    const struct cli_reading *b, int64_t wall_sec)
{
	const struct cli_process *p, *before;
	uint32_t i, k;

	cli_sample_between(a, b, &t->sample);
	t->nr_samples++;
	remember(&t->in, value(&t->sample, "in_mb_s"));
	remember(&t->out, value(&t->sample, "out_mb_s"));
	for (i = 0; i < t->nr; i++)
		t->rows[i].seen = false;
	for (i = 0; i < b->ps.nr; i++) {
		p = &b->ps.v[i];
		if (p->closed)
			continue;
		before = cli_process_before(&a->ps, p);
		update_process(t, before, p, t->sample.seconds, wall_sec);
		for (k = 0; k < p->nr_streams; k++)
			update_stream(t, before, p, &p->streams[k],
				      t->sample.seconds, b->ns);
	}
	drop_unseen(t);
	cli_top_sort(t);
}

const char *cli_top_sort_name(enum cli_top_sort sort)
{
	static const char *const names[] = { "rate", "total", "name" };

	return names[sort];
}

static int compare(const struct cli_top_row *a, const struct cli_top_row *b,
		   enum cli_top_sort sort)
{
	int c = 0;

	if (sort == CLI_TOP_RATE)
		c = (a->rate < b->rate) - (a->rate > b->rate);
	else if (sort == CLI_TOP_TOTAL)
		c = (a->bytes < b->bytes) - (a->bytes > b->bytes);
	else
		c = strcmp(a->name, b->name);
	/* What is equal keeps its place from frame to frame. */
	if (!c)
		c = (a->pid > b->pid) - (a->pid < b->pid);
	if (!c)
		c = (a->handle > b->handle) - (a->handle < b->handle);
	return c ? c : (a->stream > b->stream) - (a->stream < b->stream);
}

static bool same_process(const struct cli_top_row *a,
			 const struct cli_top_row *b)
{
	return a->pid == b->pid && a->handle == b->handle &&
	       a->opened_sec == b->opened_sec;
}

static int compare_heads(const void *a, const void *b, void *ctx)
{
	return compare(*(struct cli_top_row *const *)a,
		       *(struct cli_top_row *const *)b,
		       ((const struct cli_top *)ctx)->sort);
}

/* Processes by order, and each one's streams below it by the same order. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct cli_top_row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (!x->stream || !y->stream)
		return (x->stream > 0) - (y->stream > 0);
	return compare(x, y, ((const struct cli_top *)ctx)->sort);
}

void cli_top_sort(struct cli_top *t)
{
	struct cli_top_row **heads;
	uint32_t i, k, n = 0;

	if (!t->nr)
		return;
	heads = cli_alloc(t->nr * sizeof(*heads));
	for (i = 0; i < t->nr; i++) {
		if (!t->rows[i].stream)
			heads[n++] = &t->rows[i];
	}
	qsort_r(heads, n, sizeof(*heads), compare_heads, t);
	for (i = 0; i < t->nr; i++) {
		for (k = 0; k < n && !same_process(heads[k], &t->rows[i]); k++)
			;
		t->rows[i].rank = k;
	}
	free(heads);
	qsort_r(t->rows, t->nr, sizeof(*t->rows), compare_rows, t);
}

void cli_top_release(struct cli_top *t)
{
	free(t->rows);
	memset(t, 0, sizeof(*t));
}
