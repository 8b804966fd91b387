/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin loadgen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_signal.h"
#include "loadgen_feed.h"

#define DEFAULT_BYTES ((uint64_t)1 << 30)
#define COPY_BYTES (1u << 20)

static int bad(struct cli *c, const char *option, const char *text,
	       const char *what)
{
	return cli_fail(&c->diag, -AKIN_E_usage, "--%s: '%s' is not %s", option,
			text, what);
}

/* "30%" as 0.3; @text NULL: nothing. */
static int parse_share(struct cli *c, const char *option, const char *text,
		       double *out)
{
	char *end;
	double v;

	if (!text)
		return 0;
	v = strtod(text, &end);
	if (end == text || strcmp(end, "%") || !(v >= 0 && v <= 100))
		return bad(c, option, text, "a share from 0% to 100%");
	*out = v / 100;
	return 0;
}

static int parse_factor(struct cli *c, const char *text, double *out)
{
	char *end;

	if (!text)
		return 0;
	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= 1 && *out <= 1e12))
		return bad(c, "dedup", text, "a number from 1");
	return 0;
}

static int parse_edits(struct cli *c, const char *text, uint32_t *out)
{
	unsigned v[4];
	int n = 0;

	if (!text)
		return 0;
	if (sscanf(text, "%5u:%5u:%5u:%5u%n", &v[0], &v[1], &v[2], &v[3],
		   &n) != 4 || text[n])
		return bad(c, "edits", text, "four numbers, as 7:1:1:1");
	out[LOADGEN_OVERWRITE] = v[0];
	out[LOADGEN_INSERT] = v[1];
	out[LOADGEN_DELETE] = v[2];
	out[LOADGEN_MOVE] = v[3];
	return v[0] + v[1] + v[2] + v[3] ? 0 :
	       bad(c, "edits", text, "more than zeros");
}

static int parse_objects(struct cli *c, const char *text,
			 struct loadgen_options *o)
{
	const char *dash;
	char *low;
	int err;

	if (!text)
		return 0;
	dash = strchr(text, '-');
	low = cli_strdup(text);
	if (dash)
		low[dash - text] = 0;
	err = cli_parse_size(low, &o->object_min) ||
	      cli_parse_size(dash ? dash + 1 : low, &o->object_max) ||
	      !o->object_min || o->object_min > o->object_max;
	free(low);
	return err ? bad(c, "object-size", text, "a size, or two, as 4K-1G") :
		     0;
}

static int fill_options(struct cli *c, struct loadgen_options *o)
{
	const struct cli_args *a = &c->args;
	char *end;
	int err;

	memset(o, 0, sizeof(*o));
	o->random_share = -1;
	o->nr_streams = a->load_streams;
	o->stream_bytes = a->load_size ? a->load_size :
			  a->traces.nr ? 0 : DEFAULT_BYTES;
	if (a->traces.nr > 1)
		return cli_fail(&c->diag, -AKIN_E_usage, "--trace: one at a "
				"time");
	o->trace = a->traces.nr ? a->traces.v[0] : NULL;
	o->set_units = a->load_set;
	o->distribution = a->load_distribution;
	o->similar_bytes = a->load_similar_bytes;
	if (a->load_unit > LOADGEN_UNIT_MAX || a->load_edit_size > 1u << 30)
		return cli_fail(&c->diag, -AKIN_E_usage, "a unit has up to "
				"16M, an edit up to 1G");
	o->unit_bytes = (uint32_t)a->load_unit;
	o->edit_bytes = (uint32_t)a->load_edit_size;
	if (a->load_seed) {
		o->seed = strtoull(a->load_seed, &end, 0);
		if (end == a->load_seed || *end)
			return bad(c, "seed", a->load_seed, "a number");
	}
	err = parse_factor(c, a->load_dedup, &o->dedup);
	if (!err)
		err = parse_share(c, "random", a->load_random,
				  &o->random_share);
	if (!err)
		err = parse_share(c, "compressible", a->load_compressible,
				  &o->compressible);
	if (!err)
		err = parse_share(c, "similar", a->load_similar,
				  &o->similar_share);
	if (!err)
		err = parse_share(c, "change", a->load_change,
				  &o->change_share);
	if (!err)
		err = parse_edits(c, a->load_edits, o->edits);
	return err ? err : parse_objects(c, a->load_objects, o);
}

static void print_plan(struct cli *c, const struct loadgen *l)
{
	struct cli_json *j = &c->json;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
	struct loadgen_plan p;
	double shrinks;

	loadgen_get_plan(l, &p);
	shrinks = (double)p.unit_bytes / (double)p.random_bytes;
	/* On average. */
	if (c->args.traces.nr)
		p.unit_bytes = (uint32_t)(p.bytes / p.units);
	if (c->args.json) {
		cli_json_begin(j, "plan");
		cli_json_uint(j, "bytes", p.bytes);
		cli_json_uint(j, "stream_bytes", p.stream_bytes);
		cli_json_uint(j, "unit_bytes", p.unit_bytes);
		cli_json_uint(j, "units", p.units);
		cli_json_uint(j, "distinct", p.distinct);
		cli_json_uint(j, "similar", p.similar);
		cli_json_ratio(j, "dedup", p.units, p.distinct);
		cli_json_ratio(j, "compression",
			       (uint64_t)(shrinks * 1e6 + 0.5), 1000000);
		cli_json_end(j, stdout);
		return;
	}
	printf("%s in %llu units of %s, %llu different (%.4f), compressible "
	       "%.2f times\n", cli_size_text(p.bytes, a),
	       (unsigned long long)p.units, cli_size_text(p.unit_bytes, b),
	       (unsigned long long)p.distinct,
	       (double)p.units / (double)p.distinct,
	       shrinks);
}

static int write_all(struct cli *c, int fd, const char *name, const char *p,
		     size_t n)
{
	ssize_t done;

	while (n) {
		if (cli_signal_received())
			return cli_fail(&c->diag, -AKIN_E_interrupted,
					"interrupted");
		done = write(fd, p, n);
		if (done < 0 && errno != EINTR)
			return cli_fail_errno(&c->diag, errno, "%s", name);
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

static int write_streams(struct cli *c, const struct loadgen *l, int fd,
			 const char *name)
{
	uint32_t nr = c->args.load_streams ? c->args.load_streams : 1, i;
	struct loadgen_stream *s;
	char *buf = cli_alloc(COPY_BYTES);
	uint64_t off;
	size_t n;
	int err = 0;

	for (i = 0; !err && i < nr; i++) {
		err = loadgen_open(l, i, c->args.load_generation, &s, &c->diag);
		if (err)
			break;
		for (off = 0; !err; off += n) {
			n = loadgen_read(s, off, buf, COPY_BYTES);
			if (!n)
				break;
			err = write_all(c, fd, name, buf, n);
		}
		loadgen_close(s);
	}
	free(buf);
	return err;
}

static int to_file(struct cli *c, const struct loadgen *l, const char *name)
{
	int fd, err;

	if (strcmp(name, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return cli_fail(&c->diag, -AKIN_E_usage, "standard "
					"output is a terminal");
		return write_streams(c, l, STDOUT_FILENO, "standard output");
	}
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return cli_fail_errno(&c->diag, errno, "%s", name);
	err = write_streams(c, l, fd, name);
	if (close(fd) && !err)
		err = cli_fail_errno(&c->diag, errno, "%s", name);
	return err;
}

static double mb_per_s(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1e3 / (double)ns : 0;
}

static int print_fed(void *ctx, const struct loadgen_fed *f)
{
	const struct akin_txn_result *r = &f->result;
	struct cli *c = ctx;
	struct cli_json *j = &c->json;
	char a[4][CLI_UNIT_TEXT];

	if (c->args.json) {
		cli_json_begin(j, "generation");
		cli_json_uint(j, "generation", f->generation);
		cli_json_text(j, "snapshot", r->id);
		cli_json_uint(j, "objects", f->objects);
		cli_json_uint(j, "bytes", f->bytes);
		cli_json_uint(j, "bytes_new", r->bytes_new);
		cli_json_uint(j, "bytes_plain", r->bytes_plain);
		cli_json_uint(j, "bytes_stored", r->bytes_stored);
		cli_json_uint(j, "bytes_meta", r->bytes_meta);
		cli_json_seconds(j, "seconds", r->elapsed_ns);
		if (f->verify_ns)
			cli_json_seconds(j, "verify_seconds", f->verify_ns);
		cli_json_end(j, stdout);
	} else if (!c->args.quiet) {
		printf("generation %u: %s in %llu %s, %.0f MB/s, new %s, stored "
		       "in %s (%s)", f->generation,
		       cli_size_text(f->bytes, a[0]),
		       (unsigned long long)f->objects,
		       cli_plural(f->objects, "object"),
		       mb_per_s(f->bytes, r->elapsed_ns),
		       cli_size_text(r->bytes_new, a[1]),
		       cli_size_text(r->bytes_stored, a[2]),
		       cli_ratio_text(f->bytes, r->bytes_stored, a[3]));
		if (f->verify_ns)
			printf(", compared at %.0f MB/s",
			       mb_per_s(f->bytes, f->verify_ns));
		putchar('\n');
		fflush(stdout);
	}
	return cli_output_error(c);
}

static int to_pool(struct cli *c, const struct loadgen *l)
{
	struct akin_txn_options topt = { .tags = c->args.tags.v,
					 .nr_tags = c->args.tags.nr };
	struct loadgen_feed_options opt = { .first = c->args.load_generation,
					    .nr = c->args.load_generations,
					    .verify = c->args.verify,
					    .bytes_per_second =
						c->args.load_offer,
					    .txn = &topt,
					    .done = print_fed, .ctx = c };
	int err;

	if (!opt.nr)
		opt.nr = 1;
	err = cli_check_labels(c);
	if (!err)
		err = cli_open_session(c, false);
	if (!err)
		err = loadgen_feed(l, c->session, &opt, &c->diag);
	return err;
}

int cli_cmd_loadgen(struct cli *c)
{
	const char *to = c->args.operands.nr ? c->args.operands.v[0] : NULL;
	struct loadgen_options opt;
	struct loadgen *l = NULL;
	int err;

	err = fill_options(c, &opt);
	if (!err)
		err = loadgen_new(&opt, &l, &c->diag);
	if (err)
		return err;
	if (!to || (c->args.json && strcmp(to, "-")))
		print_plan(c, l);
	if (to && strcmp(to, "pool") == 0)
		err = to_pool(c, l);
	else if (to)
		err = to_file(c, l, to);
	loadgen_free(l);
	return err;
}
