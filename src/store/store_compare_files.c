/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents against live files. What is told goes through the fetcher as marks,
 * so that it comes in the order of the walk.
 */
#include <stdio.h>

#include "base/mem.h"
#include "os/clock.h"
#include "store/store_compare.h"

#define REPORT_NS (200ull * 1000 * 1000)
/* Live files open at a time: the walk waits when there are so many. */
#define MAX_OPEN 64

enum { MARK_TELL = 1, MARK_BEGIN, MARK_END };

struct compare_told {
	enum akin_diff_kind kind;
	int code;
	char *text;		/* NULL: none */
	struct source_file *file;
	bool metadata;		/* differs otherwise */
	bool damaged;		/* in the pool */
	char path[];
};

static void told_free(struct compare_told *t)
{
	source_file_close(t->file);
	mem_free(t->text);
	mem_free(t);
}

static struct compare_told *told_new(const char *path)
{
	size_t n = strlen(path) + 1;
	struct compare_told *t = mem_zalloc(sizeof(*t) + n);

	if (t)
		memcpy(t->path, path, n);
	return t;
}

static void count(struct akin_compare_result *r, enum akin_diff_kind kind)
{
	switch (kind) {
	case AKIN_DIFF_ADDED:
		r->added++;
		break;
	case AKIN_DIFF_REMOVED:
		r->removed++;
		break;
	case AKIN_DIFF_CONTENT:
		r->content++;
		break;
	case AKIN_DIFF_METADATA:
		r->metadata++;
		break;
	case AKIN_DIFF_TYPE:
		r->type++;
		break;
	case AKIN_DIFF_UNREADABLE:
		r->unreadable++;
		break;
	}
}

static void say(struct compare *c, enum akin_diff_kind kind, const char *path,
		int code, const char *text)
{
	count(c->out, kind);
	c->out->damaged += kind == AKIN_DIFF_UNREADABLE &&
			   akin_error_class(code) == AKIN_CLASS_CORRUPT;
	if (c->opt->differs)
		c->opt->differs(c->opt->ctx, kind, path, code,
				text ? text : "");
}

static void report(struct compare *c, const char *path)
{
	struct akin_progress *p = &c->out->total;
	u64 now = clock_ns();

	if (!c->opt->progress || now < c->next_report_ns)
		return;
	c->next_report_ns = now + REPORT_NS;
	p->elapsed_ns = now - c->start_ns;
	p->current = path;
	c->opt->progress(c->opt->ctx, p);
	p->current = NULL;
}

/* The file has been compared. */
static void settle(struct compare *c)
{
	struct compare_told *t = c->current;
	bool equal = live_compare_end(&c->live);

	c->out->total.files++;
	counters_add(c->p->counters, files_restored, 1);
	counters_stream_item(c->shown);
	if (t->damaged)
		;	/* has been said */
	else if (c->live.err)
		say(c, AKIN_DIFF_UNREADABLE, t->path, c->live.err,
		    c->live.diag.text);
	else if (!equal)
		say(c, AKIN_DIFF_CONTENT, t->path, 0, NULL);
	else if (t->metadata)
		say(c, AKIN_DIFF_METADATA, t->path, 0, NULL);
	c->current = NULL;
	c->nr_open--;
	told_free(t);
}

static int on_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	struct compare *c = ctx;
	struct compare_told *t = token;

	switch (what) {
	case MARK_BEGIN:
		c->current = t;
		live_compare_begin(&c->live, t->file);
		report(c, t->path);
		break;
	case MARK_END:
		settle(c);
		break;
	default:
		say(c, t->kind, t->path, t->code, t->text);
		told_free(t);
		break;
	}
	return store_check_stop(c->p, diag);
}

/* Only what is wrong with this one piece; the rest ends it all. */
static bool concerns_piece(int err)
{
	enum akin_error_class class = akin_error_class(err);

	return class == AKIN_CLASS_CORRUPT || class == AKIN_CLASS_IO ||
	       class == AKIN_CLASS_ABSENT;
}

static int on_data(void *ctx, const u8 *data, u64 len, int err,
		   const struct akin_diag *why, struct akin_diag *diag)
{
	struct compare *c = ctx;

	if (err && !concerns_piece(err))
		return diag_pass(diag, err, why);
	if (err && !c->current->damaged)
		say(c, AKIN_DIFF_UNREADABLE, c->current->path, err, why->text);
	c->current->damaged |= err != 0;
	if (!c->current->damaged)
		live_compare_data(&c->live, data, len);
	c->out->total.bytes += len;
	return store_check_stop(c->p, diag);
}

static int on_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	struct compare *c = ctx;

	live_compare_data(&c->live, NULL, len);
	c->out->total.bytes += len;
	return 0;
}

static void on_drop(void *ctx, int what, void *token)
{
	if (token)
		told_free(token);
}

int compare_files_open(struct compare *c, struct akin_diag *diag)
{
	struct fetcher_options opt = { .window_bytes = c->p->budget.window,
				       .data = on_data, .hole = on_hole,
				       .mark = on_mark, .drop = on_drop,
				       .ctx = c };

	if (live_compare_init(&c->live))
		return diag_set(diag, -AKIN_E_nomem, "verify");
	c->shown = counters_stream_begin(c->p->streams, AKIN_STREAM_OUT,
					 c->opt->path ? c->opt->path : "/",
					 clock_ns());
	opt.shown = c->shown;
	return fetcher_new(&c->p->depot, &c->p->dec, &opt, &c->fetcher, diag);
}

void compare_files_close(struct compare *c)
{
	fetcher_free(c->fetcher);
	counters_stream_end(c->shown);
	if (c->current)
		told_free(c->current);
	live_compare_release(&c->live);
}

int compare_tell(struct compare *c, enum akin_diff_kind kind, const char *path,
		 int code, const char *text, struct akin_diag *diag)
{
	struct compare_told *t = told_new(path);

	if (t && text)
		t->text = mem_strdup(text);
	if (!t || (text && !t->text)) {
		if (t)
			told_free(t);
		return diag_set(diag, -AKIN_E_nomem, "verify");
	}
	t->kind = kind;
	t->code = code;
	return fetcher_mark(c->fetcher, MARK_TELL, TAKE(t), diag);
}

int compare_file(struct compare *c, const struct node *n,
		 const struct hint *hint, struct source_file *f, bool metadata,
		 struct akin_diag *diag)
{
	struct compare_told *t = told_new((char *)c->path.data);
	int err = 0;

	if (!t) {
		source_file_close(f);
		return diag_set(diag, -AKIN_E_nomem, "verify");
	}
	t->file = f;
	t->metadata = metadata;
	if (++c->nr_open > MAX_OPEN)
		err = fetcher_drain(c->fetcher, diag);
	if (err) {
		told_free(t);
		return err;
	}
	err = fetcher_mark(c->fetcher, MARK_BEGIN, TAKE(t), diag);
	if (!err)
		err = fetcher_content(c->fetcher, &n->content, hint, 0,
				      UINT64_MAX, diag);
	return err ? err : fetcher_mark(c->fetcher, MARK_END, NULL, diag);
}
