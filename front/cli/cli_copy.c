/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin copy: one copy of the library for each snapshot, oldest first, so that
 * each finds the one before it on the other side.
 */
#include <stdlib.h>

#include "cli.h"
#include "cli_signal.h"

struct chosen {
	struct cli *c;
	uint64_t *v;
	uint32_t nr, cap;
};

static void choose(struct chosen *s, uint64_t number)
{
	if (s->nr == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->v = cli_realloc(s->v, s->cap * sizeof(*s->v));
	}
	s->v[s->nr++] = number;
}

static int choose_one(void *ctx, const struct akin_snapshot *s)
{
	choose(ctx, s->number);
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What is named, or all that --host and --tag choose; each once. */
static int choose_all(struct cli *c, struct chosen *s)
{
	struct akin_snapshot_filter filter = cli_filter(c);
	struct cli_name name;
	uint32_t i, nr = 0;
	int err = 0;

	if (c->args.operands.nr == 2)
		err = akin_snapshot_each(c->pool, &filter, choose_one, s,
					 &c->diag);
	for (i = 2; !err && i < c->args.operands.nr; i++) {
		err = cli_resolve(c, c->args.operands.v[i], &name);
		if (!err && name.path)
			err = cli_fail(&c->diag, -AKIN_E_usage, "'%s': a "
				       "snapshot, without a path",
				       c->args.operands.v[i]);
		if (!err)
			choose(s, name.snapshot);
		cli_name_release(&name);
	}
	if (s->nr)
		qsort(s->v, s->nr, sizeof(*s->v), compare_numbers);
	for (i = 0; i < s->nr; i++)
		if (!nr || s->v[nr - 1] != s->v[i])
			s->v[nr++] = s->v[i];
	s->nr = nr;
	return err;
}

static void print_one(struct cli *c, const struct akin_copy_result *r)
{
	const struct akin_progress *t = &r->backup.total;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];
	struct cli_json *j = &c->json;

	cli_term_clear();
	if (c->args.json) {
		cli_json_begin(j, "copied");
		cli_json_text(j, "id", r->id);
		cli_json_bool(j, "there", r->there);
		cli_json_uint(j, "files", t->files);
		cli_json_uint(j, "files_unchanged", t->files_unchanged);
		cli_json_uint(j, "bytes", t->bytes);
		cli_json_uint(j, "bytes_read", t->bytes_read);
		cli_json_uint(j, "bytes_new", t->bytes_new);
		cli_json_uint(j, "bytes_stored", t->bytes_stored);
		cli_json_seconds(j, "seconds", t->elapsed_ns);
		cli_json_end(j, stdout);
	} else if (r->there && !c->args.quiet) {
		printf("%.8s  is there already\n", r->id);
	} else if (!c->args.quiet) {
		printf("%.8s  copied: %s, new %s, stored in %s\n", r->id,
		       cli_size_text(t->bytes, a),
		       cli_size_text(t->bytes_new, b),
		       cli_size_text(t->bytes_stored, d));
	}
	/* Each is a commit of its own, and may take hours. */
	fflush(stdout);
}

struct sums {
	uint64_t copied, there, bytes, bytes_new, bytes_stored;
};

static void add(struct sums *s, const struct akin_copy_result *r)
{
	s->copied += !r->there;
	s->there += r->there;
	s->bytes += r->backup.total.bytes;
	s->bytes_new += r->backup.total.bytes_new;
	s->bytes_stored += r->backup.total.bytes_stored;
}

static void print_sums(struct cli *c, const struct sums *s)
{
	struct cli_json *j = &c->json;
	char a[CLI_UNIT_TEXT];

	if (c->args.json) {
		cli_json_begin(j, "summary");
		cli_json_text(j, "command", "copy");
		cli_json_uint(j, "copied", s->copied);
		cli_json_uint(j, "there", s->there);
		cli_json_uint(j, "bytes", s->bytes);
		cli_json_uint(j, "bytes_new", s->bytes_new);
		cli_json_uint(j, "bytes_stored", s->bytes_stored);
		cli_json_end(j, stdout);
	} else if (!c->args.quiet) {
		printf("copied %llu, there already %llu; %s written\n",
		       (unsigned long long)s->copied,
		       (unsigned long long)s->there,
		       cli_size_text(s->bytes_stored, a));
	}
}

static int copy_all(struct cli *c, struct akin_pool *to,
		    const struct chosen *s)
{
	struct akin_copy_options opt = {
		.compression = c->args.compression,
		.limit_write = c->args.limit_write,
		.progress = cli_on_progress,
		.waiting = cli_on_waiting,
		.ctx = c,
	};
	struct akin_copy_result r;
	struct sums sums = { 0 };
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < s->nr; i++) {
		opt.snapshot = s->v[i];
		err = akin_copy(c->pool, to, &opt, &r, &c->diag);
		if (c->args.operands.nr == 2 && cli_gone(c, err)) {
			err = 0;
			continue;
		}
		if (err)
			break;
		add(&sums, &r);
		print_one(c, &r);
		err = cli_output_error(c);
	}
	cli_term_clear();
	if (!err)
		print_sums(c, &sums);
	return err;
}

/* Two pools share what one would have. */
static int open_other(struct cli *c, struct akin_pool **out)
{
	struct akin_open_options opt = {
		.path = c->args.operands.v[1],
		.memory_bytes = c->args.memory,
		.nr_threads = c->args.threads,
		.throttle_meta = c->args.throttle.meta,
		.throttle_data = c->args.throttle.data,
		.single_writer = c->args.single_writer,
	};
	int err;

	err = akin_pool_open(&opt, out, &c->diag);
	if (!err)
		cli_signal_pool(*out);
	return err;
}

int cli_cmd_copy(struct cli *c)
{
	struct chosen s = { .c = c };
	struct akin_pool *to = NULL;
	int err;

	c->args.pool = c->args.operands.v[0];
	c->args.memory = (c->args.memory ? c->args.memory :
					   AKIN_MEMORY_DEFAULT) / 2;
	err = cli_open(c, true);
	if (!err)
		err = choose_all(c, &s);
	if (!err)
		err = open_other(c, &to);
	if (!err)
		err = copy_all(c, to, &s);
	if (to)
		cli_signal_pool(c->pool);
	akin_pool_close(to);
	free(s.v);
	return err;
}
