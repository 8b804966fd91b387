/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin metrics: what a Prometheus server reads, in its text format, version
 * 0.0.4. Names follow its conventions: akin_ in front, base units, _total
 * behind what only grows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "cli_counters.h"
#include "cli_diag.h"

#define NAME_BYTES 128

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* A label's value: UTF-8, which a command need not be; backslash, quote and
 * newline are escaped. */
static void add_value(struct cli_str *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			cli_str_addc(out, '\\');
		if (*s == '\n')
			cli_str_add(out, "\\n");
		else
			cli_str_addc(out, (unsigned char)*s < 128 ? *s : '?');
	}
}

static void add_labels(struct cli_str *out, const struct cli_process *p)
{
	cli_str_addf(out, "{pool=\"%s\",pid=\"%" PRIu32 "\",handle=\"%" PRIu32
		     "\",command=\"", p->pool, p->pid, p->handle);
	add_value(out, p->command);
	cli_str_addc(out, '"');
}

static void add_head(struct cli_str *out, const char *name, const char *unit,
		     const char *help, const char *type)
{
	cli_str_addf(out, "# HELP %s %s%s%s\n# TYPE %s %s\n", name, unit,
		     *unit ? ": " : "", help, name, type);
}

/* Bucket i ends at 2^i microseconds, the last one nowhere. */
static void add_histogram(struct cli_str *out, const char *name,
			  const struct akin_counter_field *f,
			  const struct cli_process *p)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1 < f->nr; i++) {
		sum += p->values[f->first + i];
		cli_str_addf(out, "%s_bucket", name);
		add_labels(out, p);
		cli_str_addf(out, ",le=\"%.9g\"} %" PRIu64 "\n",
			     (double)(1ull << i) / 1e6, sum);
	}
	sum += p->values[f->first + i];
	cli_str_addf(out, "%s_bucket", name);
	add_labels(out, p);
	cli_str_addf(out, ",le=\"+Inf\"} %" PRIu64 "\n", sum);
	/* The row before a histogram is its time. */
	cli_str_addf(out, "%s_sum", name);
	add_labels(out, p);
	cli_str_addf(out, "} %.9f\n",
		     (double)p->values[f->first - 1] / 1e9);
	cli_str_addf(out, "%s_count", name);
	add_labels(out, p);
	cli_str_addf(out, "} %" PRIu64 "\n", sum);
}

/*
 * The name that conventions ask for: the unit at the end, then _total if it only
 * grows. "bytes_in" becomes akin_in_bytes_total.
 */
static void exported_name(const struct akin_counter_field *f,
			  char out[NAME_BYTES])
{
	bool is_bytes = strcmp(f->unit, "bytes") == 0;
	const char *word = f->name;
	size_t n, len;

	len = (size_t)snprintf(out, NAME_BYTES, "akin");
	for (; *word; word += n + (word[n] == '_')) {
		n = strcspn(word, "_");
		if ((is_bytes && n == 5 && strncmp(word, "bytes", n) == 0) ||
		    (n == 2 && strncmp(word, "ns", n) == 0))
			continue;
		len += (size_t)snprintf(out + len, NAME_BYTES - len, "_%.*s",
					(int)n, word);
	}
	snprintf(out + len, NAME_BYTES - len, "%s%s",
		 is_bytes ? "_bytes" :
		 f->kind == AKIN_KIND_MOMENT ? "_age_seconds" :
		 strcmp(f->unit, "nanoseconds") == 0 ||
		 f->kind == AKIN_KIND_HISTOGRAM ? "_seconds" : "",
		 f->kind == AKIN_KIND_COUNTER ? "_total" : "");
}

/* Of the time of I/O, histograms have the sum. */
static bool is_in_histogram(const struct akin_counter_field *f)
{
	return ends_with(f->name, "_ns") && f[1].kind == AKIN_KIND_HISTOGRAM;
}

static void add_sample(struct cli_str *out, const char *name,
		       const struct akin_counter_field *f,
		       const struct cli_process *p, uint64_t now_ns)
{
	uint64_t v = p->values[f->first];

	if (f->kind == AKIN_KIND_HISTOGRAM) {
		add_histogram(out, name, f, p);
		return;
	}
	/* What is now is nothing once the pool is closed. */
	if (f->kind != AKIN_KIND_COUNTER && p->closed)
		return;
	if (f->kind == AKIN_KIND_MOMENT) {
		if (!v || v > now_ns)
			return;
		v = now_ns - v;
	}
	cli_str_add(out, name);
	add_labels(out, p);
	if (strcmp(f->unit, "nanoseconds") == 0)
		cli_str_addf(out, "} %.9g\n", (double)v / 1e9);
	else
		cli_str_addf(out, "} %" PRIu64 "\n", v);
}

static void add_field(struct cli_str *out, const struct akin_counter_field *f,
		      const struct cli_processes *ps)
{
	char name[NAME_BYTES], help[256];
	struct timespec now;
	uint32_t i;

	if (is_in_histogram(f))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	exported_name(f, name);
	snprintf(help, sizeof(help), "%s%s",
		 f->kind == AKIN_KIND_MOMENT ? "how long ago: " : "", f->help);
	add_head(out, name, f->kind == AKIN_KIND_HISTOGRAM ||
		 strcmp(f->unit, "nanoseconds") == 0 ? "" : f->unit, help,
		 f->kind == AKIN_KIND_HISTOGRAM ? "histogram" :
		 f->kind == AKIN_KIND_COUNTER ? "counter" : "gauge");
	for (i = 0; i < ps->nr; i++)
		add_sample(out, name, f, &ps->v[i],
			   (uint64_t)now.tv_sec * 1000000000 +
			   (uint64_t)now.tv_nsec);
}

/* What is not in the table of counters. */
static void add_processes(struct cli_str *out, const struct cli_processes *ps)
{
	uint32_t i;

	add_head(out, "akin_process_opened_timestamp_seconds", "",
		 "when the process opened the pool", "gauge");
	for (i = 0; i < ps->nr; i++) {
		if (ps->v[i].closed)
			continue;
		cli_str_add(out, "akin_process_opened_timestamp_seconds");
		add_labels(out, &ps->v[i]);
		cli_str_addf(out, "} %" PRId64 "\n", ps->v[i].opened_sec);
	}
	add_head(out, "akin_process_streams", "",
		 "streams that flow into the pool or out of it", "gauge");
	for (i = 0; i < ps->nr; i++) {
		if (ps->v[i].closed)
			continue;
		cli_str_add(out, "akin_process_streams");
		add_labels(out, &ps->v[i]);
		cli_str_addf(out, "} %" PRIu32 "\n", ps->v[i].nr_streams);
	}
}

static void add_gauge(struct cli_str *out, const char *name, const char *help,
		      const char *pool, uint64_t v)
{
	add_head(out, name, "", help, "gauge");
	cli_str_addf(out, "%s{pool=\"%s\"} %" PRIu64 "\n", name, pool, v);
}


static int newest_of(void *ctx, const struct akin_snapshot *s)
{
	int64_t *newest = ctx;

	if (s->time_sec > *newest)
		*newest = s->time_sec;
	return 0;
}

static void add_sizes(struct cli_str *out, const char *pool,
		      const struct akin_stats *s)
{
	const struct {
		const char *part;
		uint64_t bytes;
	} parts[] = {
		{ "data", s->bytes_data },
		{ "metadata", s->bytes_meta_containers },
		{ "parity", s->bytes_parity },
		{ "index", s->bytes_index }, { "catalog", s->bytes_catalog },
		{ "records", s->bytes_records }, { "other", s->bytes_other },
	};
	size_t i;

	add_head(out, "akin_pool_size_bytes", "", "what the pool takes on disk",
		 "gauge");
	for (i = 0; i < CLI_ARRAY_SIZE(parts); i++)
		cli_str_addf(out, "akin_pool_size_bytes{pool=\"%s\",part=\"%s\""
			     "} %" PRIu64 "\n", pool, parts[i].part,
			     parts[i].bytes);
}

static int add_pool(struct cli *c, struct cli_str *out, const char *pool)
{
	struct akin_stats s = { 0 };
	int64_t newest = 0;
	int err;

	err = akin_stats(c->pool, &s, &c->diag);
	if (!err)
		err = akin_snapshot_each(c->pool, NULL, newest_of, &newest,
					 &c->diag);
	if (err)
		return err;
	add_sizes(out, pool, &s);
	add_gauge(out, "akin_pool_snapshots", "snapshots in the pool", pool,
		  s.snapshots);
	add_gauge(out, "akin_pool_logical_bytes",
		  "what the snapshots hold, one by one", pool,
		  s.bytes_logical);
	add_gauge(out, "akin_pool_unique_bytes",
		  "raw bytes of the chunks stored", pool, s.bytes_unique);
	add_gauge(out, "akin_pool_chunks", "chunks stored", pool, s.chunks);
	add_gauge(out, "akin_pool_damaged_chunks", "chunks known as damaged",
		  pool, s.damaged);
	add_gauge(out, "akin_pool_never_read_bytes",
		  "in containers that no check has read in full", pool,
		  s.bytes_never_read);
	add_gauge(out, "akin_pool_badly_read_containers",
		  "containers in which the last reading found bad chunks",
		  pool, s.read_badly);
	if (s.oldest_read_sec > 0)
		add_gauge(out, "akin_pool_oldest_read_timestamp_seconds",
			  "the reading of a container that is longest ago",
			  pool, (uint64_t)s.oldest_read_sec);
	add_gauge(out, "akin_pool_metadata_free_bytes",
		  "free where the metadata pool lies", pool, s.meta_free);
	add_gauge(out, "akin_pool_data_free_bytes",
		  "free where the data pool lies", pool, s.data_free);
	add_gauge(out, "akin_pool_nearly_full",
		  "1: one of the two file systems is, as 'akin stats' warns",
		  pool, s.meta_nearly_full || s.data_nearly_full);
	if (newest > 0)
		add_gauge(out, "akin_pool_newest_snapshot_timestamp_seconds",
			  "when the newest snapshot was made", pool,
			  (uint64_t)newest);
	return 0;
}

/* As collectors of text files want it: never half a file under its name. */
static int write_file(struct cli *c, const char *path,
		      const struct cli_str *text)
{
	struct cli_str tmp = { 0 };
	bool good;
	FILE *f;

	cli_str_addf(&tmp, "%s.%ld.tmp", path, (long)getpid());
	f = fopen(tmp.s, "wxe");
	good = f && fwrite(text->s, 1, text->len, f) == text->len;
	if (f && fclose(f) != 0)
		good = false;
	if (good && rename(tmp.s, path) < 0)
		good = false;
	if (!good) {
		cli_fail(&c->diag, -AKIN_E_io, "%s: %s", path,
			 strerror(errno));
		if (f)
			unlink(tmp.s);
	}
	cli_str_release(&tmp);
	return good ? 0 : -AKIN_E_io;
}

int cli_cmd_metrics(struct cli *c)
{
	const char *path = c->args.operands.nr ? c->args.operands.v[0] : NULL;
	const struct akin_counter_field *fields;
	struct cli_processes ps = { 0 };
	struct akin_pool_info info;
	struct cli_str out = { 0 };
	const char *pool = NULL;
	uint32_t i, nr;
	int err = 0;

	if (c->args.pool) {
		err = cli_open(c, true);
		if (err)
			return err;
		akin_pool_get_info(c->pool, &info);
		pool = info.id;
		err = add_pool(c, &out, pool);
	}
	cli_processes_read(&ps, pool);
	fields = akin_counter_fields(&nr);
	if (ps.nr)
		add_processes(&out, &ps);
	for (i = 0; i < nr && ps.nr; i++)
		add_field(&out, &fields[i], &ps);
	if (!err && path)
		err = write_file(c, path, &out);
	else if (!err)
		fwrite(cli_str_text(&out), 1, out.len, stdout);
	cli_processes_release(&ps);
	cli_str_release(&out);
	return err;
}
