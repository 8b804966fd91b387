/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin sysstat: a row for each interval, in the manner of the classic tool of
 * that name.
 *
 * A row is made from the differences of two readings of all processes' counters
 * and of the kernel's own. Means of ratios are ratios of sums.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "cli_counters.h"
#include "cli_diag.h"
#include "cli_signal.h"

#define INTERVAL_DEFAULT 15
#define ROWS_PER_HEAD 20
#define MAX_DISKS 64

/* What happened in some time. */
struct sample {
	double seconds;
	uint64_t v[AKIN_NR_COUNTER_VALUES];	/* gauges: the last values */
	uint64_t cpu_busy, cpu_all;		/* ticks of the machine */
	uint64_t disk_ms;			/* of the busiest disk */
	uint32_t processes;
};

struct disk_time {
	char name[32];
	uint64_t ms;
};

/* One reading. */
struct reading {
	struct cli_processes ps;
	uint64_t ns, cpu_busy, cpu_all;
	struct disk_time disks[MAX_DISKS];
	uint32_t nr_disks;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void read_cpu(struct reading *r)
{
	uint64_t t[8] = { 0 };
	FILE *f = fopen("/proc/stat", "re");
	int i, n = 0;

	r->cpu_all = 0;
	if (f) {
		n = fscanf(f, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64, &t[0], &t[1], &t[2], &t[3], &t[4],
			   &t[5], &t[6], &t[7]);
		fclose(f);
	}
	for (i = 0; i < n; i++)
		r->cpu_all += t[i];
	r->cpu_busy = r->cpu_all - t[3] - t[4];	/* idle, waiting for disks */
}

/* Milliseconds in which each disk had something to do. */
static void read_disks(struct reading *r)
{
	FILE *f = fopen("/proc/diskstats", "re");
	struct disk_time *d;
	char line[512];

	r->nr_disks = 0;
	while (f && r->nr_disks < MAX_DISKS && fgets(line, sizeof(line), f)) {
		d = &r->disks[r->nr_disks];
		if (sscanf(line, "%*u %*u %31s %*u %*u %*u %*u %*u %*u %*u "
			   "%*u %*u %" SCNu64, d->name, &d->ms) == 2)
			r->nr_disks++;
	}
	if (f)
		fclose(f);
}

static void read_all(struct reading *r, const char *pool)
{
	cli_processes_read(&r->ps, pool);
	read_cpu(r);
	read_disks(r);
	r->ns = now_ns();
}

static uint64_t busiest(const struct reading *a, const struct reading *b)
{
	uint64_t most = 0;
	uint32_t i, k;

	for (i = 0; i < b->nr_disks; i++) {
		for (k = 0; k < a->nr_disks; k++) {
			if (strcmp(a->disks[k].name, b->disks[i].name) == 0 &&
			    b->disks[i].ms - a->disks[k].ms > most)
				most = b->disks[i].ms - a->disks[k].ms;
		}
	}
	return most;
}

/* One process's part in the time between two readings. A process that came
 * meanwhile did all of its work meanwhile. */
static void add_process(struct sample *s, const struct cli_process *before,
			const struct cli_process *p)
{
	const struct akin_counter_field *f;
	uint64_t old;
	uint32_t nr, i, k;

	f = akin_counter_fields(&nr);
	for (i = 0; i < nr; i++) {
		for (k = f[i].first; k < f[i].first + f[i].nr; k++) {
			old = before && f[i].kind != AKIN_KIND_GAUGE ?
				      before->values[k] : 0;
			if (p->values[k] >= old)
				s->v[k] += p->values[k] - old;
		}
	}
}

static void between(const struct reading *a, const struct reading *b,
		    struct sample *out)
{
	uint32_t i;

	memset(out, 0, sizeof(*out));
	out->seconds = (double)(b->ns - a->ns) / 1e9;
	out->cpu_busy = b->cpu_busy - a->cpu_busy;
	out->cpu_all = b->cpu_all - a->cpu_all;
	out->disk_ms = busiest(a, b);
	out->processes = b->ps.nr;
	for (i = 0; i < b->ps.nr; i++)
		add_process(out, cli_process_before(&a->ps, &b->ps.v[i]),
			    &b->ps.v[i]);
}

static void accumulate(struct sample *sum, const struct sample *s)
{
	size_t i;

	sum->seconds += s->seconds;
	sum->cpu_busy += s->cpu_busy;
	sum->cpu_all += s->cpu_all;
	sum->disk_ms += s->disk_ms;
	sum->processes = s->processes;
	for (i = 0; i < AKIN_NR_COUNTER_VALUES; i++)
		sum->v[i] += s->v[i];
}

/* Columns -------------------------------------------------------------------*/

enum how {
	PER_SECOND,	/* a over time, in units of @unit */
	SHARE,		/* a of a + b, percent */
	FACTOR,		/* a over b */
	TOTAL,		/* a over b and what is stored of metadata */
	P50, P99,	/* of the histogram a, milliseconds */
	CPU, DISK, PROCESSES
};

struct column {
	const char *key;	/* of JSON */
	const char *above, *name;	/* two lines of head */
	int width;
	bool extended;		/* with -x only */
	enum how how;
	double unit;
	enum akin_counter a, b;
};

#define V(name) AKIN_COUNTER_##name
static const struct column columns[] = {
	{ "cpu_percent", "", "CPU", 4, false, CPU, 0, 0, 0 },
	{ "processes", "akin", "procs", 5, false, PROCESSES, 0, 0, 0 },
	{ "in_mb_s", "MB/s", "in", 7, false, PER_SECOND, 1e6, V(bytes_in), 0 },
	{ "out_mb_s", "", "out", 7, false, PER_SECOND, 1e6, V(bytes_out), 0 },
	{ "metadata_read_kb_s", "meta kB/s", "read", 8, false, PER_SECOND,
	  1e3, V(metadata_read_bytes), 0 },
	{ "metadata_write_kb_s", "", "write", 8, false, PER_SECOND, 1e3,
	  V(metadata_write_bytes), 0 },
	{ "data_read_kb_s", "data kB/s", "read", 8, false, PER_SECOND, 1e3,
	  V(data_read_bytes), 0 },
	{ "data_write_kb_s", "", "write", 8, false, PER_SECOND, 1e3,
	  V(data_write_bytes), 0 },
	{ "cache_hit_percent", "cache", "hit", 6, false, SHARE, 0,
	  V(directory_hits), V(directory_misses) },
	{ "dedup_factor", "dedup", "x", 6, false, FACTOR, 0, V(bytes_in),
	  V(bytes_new) },
	{ "total_factor", "total", "x", 6, false, TOTAL, 0, V(bytes_in),
	  V(data_stored) },
	{ "chunks_s", "chunks/s", "in", 8, true, PER_SECOND, 1,
	  V(chunks_in), 0 },
	{ "chunks_new_s", "", "new", 7, true, PER_SECOND, 1, V(chunks_new),
	  0 },
	{ "directory_loads_s", "index/s", "dirs", 6, true, PER_SECOND, 1,
	  V(directory_loads), 0 },
	{ "index_lookups_s", "", "asked", 7, true, PER_SECOND, 1,
	  V(index_lookups), 0 },
	{ "index_page_reads_s", "", "pages", 6, true, PER_SECOND, 1,
	  V(index_page_reads), 0 },
	{ "group_hits_s", "groups/s", "hit", 7, true, PER_SECOND, 1,
	  V(group_hits), 0 },
	{ "groups_read_s", "", "read", 7, true, PER_SECOND, 1,
	  V(groups_read), 0 },
	{ "checkpoints_s", "commit/s", "ckpt", 5, true, PER_SECOND, 1,
	  V(checkpoints), 0 },
	{ "commits_s", "", "snap", 5, true, PER_SECOND, 1, V(commits), 0 },
	{ "metadata_read_p50_ms", "meta ms", "rd50", 6, true, P50, 0,
	  V(metadata_read_latency), 0 },
	{ "metadata_read_p99_ms", "", "rd99", 6, true, P99, 0,
	  V(metadata_read_latency), 0 },
	{ "metadata_write_p99_ms", "", "wr99", 6, true, P99, 0,
	  V(metadata_write_latency), 0 },
	{ "data_read_p50_ms", "data ms", "rd50", 6, true, P50, 0,
	  V(data_read_latency), 0 },
	{ "data_read_p99_ms", "", "rd99", 6, true, P99, 0,
	  V(data_read_latency), 0 },
	{ "data_write_p99_ms", "", "wr99", 6, true, P99, 0,
	  V(data_write_latency), 0 },
	{ "data_sync_p99_ms", "", "sy99", 6, true, P99, 0,
	  V(data_sync_latency), 0 },
	{ "disk_percent", "busiest", "disk", 7, true, DISK, 0, 0, 0 },
};
#undef V

/* Upper end of the bucket that @share of all lie in or below; false: none. */
static bool percentile(const uint64_t *buckets, double share, double *ms_ret)
{
	uint64_t all = 0, sum = 0;
	int i;

	for (i = 0; i < AKIN_LATENCY_BUCKETS; i++)
		all += buckets[i];
	if (all == 0)
		return false;
	for (i = 0; i < AKIN_LATENCY_BUCKETS - 1; i++) {
		sum += buckets[i];
		if ((double)sum >= share * (double)all)
			break;
	}
	*ms_ret = (double)(1ull << i) / 1e3;
	return true;
}

/* False: nothing happened that it could be said of. */
static bool value_of(const struct column *col, const struct sample *s,
		     double *out)
{
	double a = (double)s->v[col->a], b = (double)s->v[col->b];

	switch (col->how) {
	case PER_SECOND:
		*out = s->seconds > 0 ? a / s->seconds / col->unit : 0;
		return s->seconds > 0;
	case SHARE:
		*out = a + b > 0 ? 100 * a / (a + b) : 0;
		return a + b > 0;
	case TOTAL:
		b += (double)s->v[AKIN_COUNTER_metadata_stored];
		/* fall through */
	case FACTOR:
		*out = b > 0 ? a / b : 0;
		return a > 0 && b > 0;
	case P50:
		return percentile(&s->v[col->a], 0.5, out);
	case P99:
		return percentile(&s->v[col->a], 0.99, out);
	case CPU:
		*out = s->cpu_all ? 100 * (double)s->cpu_busy /
					    (double)s->cpu_all : 0;
		return s->cpu_all > 0;
	case DISK:
		*out = s->seconds > 0 ? (double)s->disk_ms / 10 / s->seconds
				      : 0;
		*out = *out > 100 ? 100 : *out;
		return s->seconds > 0;
	default:
		*out = s->processes;
		return true;
	}
}

/* Output --------------------------------------------------------------------*/

/* Lowest and highest of the rows, for -s. */
struct range {
	bool any;
	double min, max;
};

struct table {
	bool extended, json;
	struct sample sum;
	struct range range[CLI_ARRAY_SIZE(columns)];
	uint64_t nr_rows;
};

static bool is_shown(const struct table *t, const struct column *col)
{
	return t->extended || t->json || !col->extended;
}

static void print_number(const struct column *col, bool known, double v)
{
	int digits = col->how == PROCESSES ? 0 : v < 9.95 ? 2 : v < 99.5;

	if (known)
		printf(" %*.*f", col->width, digits, v);
	else
		printf(" %*s", col->width, "-");
}

static void print_head(const struct table *t)
{
	const struct column *col;
	size_t i;

	for (i = 0; i < CLI_ARRAY_SIZE(columns); i++) {
		col = &columns[i];
		if (is_shown(t, col))
			printf(" %*s", col->width, col->above);
	}
	putchar('\n');
	for (i = 0; i < CLI_ARRAY_SIZE(columns); i++) {
		col = &columns[i];
		if (is_shown(t, col))
			printf(" %*s", col->width, col->name);
	}
	putchar('\n');
}

static void note(struct range *r, double v)
{
	r->min = r->any && r->min < v ? r->min : v;
	r->max = r->any && r->max > v ? r->max : v;
	r->any = true;
}

static void print_json_row(struct cli *c, const struct sample *s,
			   const char *type)
{
	struct cli_json *j = &c->json;
	char text[64];
	double v;
	size_t i;

	cli_json_begin(j, type);
	cli_json_seconds(j, "seconds", (uint64_t)(s->seconds * 1e9));
	for (i = 0; i < CLI_ARRAY_SIZE(columns); i++) {
		if (!value_of(&columns[i], s, &v))
			continue;
		snprintf(text, sizeof(text), ",\"%s\":%.6g", columns[i].key, v);
		cli_str_add(&j->out, text);
	}
	cli_json_end(j, stdout);
}

static void print_row(struct cli *c, struct table *t, const struct sample *s)
{
	double v = 0;
	bool known;
	size_t i;

	if (t->json)
		print_json_row(c, s, "interval");
	else if (t->nr_rows % ROWS_PER_HEAD == 0)
		print_head(t);
	for (i = 0; i < CLI_ARRAY_SIZE(columns); i++) {
		known = value_of(&columns[i], s, &v);
		if (known)
			note(&t->range[i], v);
		if (!t->json && is_shown(t, &columns[i]))
			print_number(&columns[i], known, v);
	}
	if (!t->json)
		putchar('\n');
	accumulate(&t->sum, s);
	t->nr_rows++;
	fflush(stdout);
}

static void print_summary(struct cli *c, struct table *t)
{
	static const char *const names[] = { "min", "avg", "max" };
	const struct range *r;
	double v;
	bool known;
	size_t i;
	int k;

	if (t->nr_rows == 0)
		return;
	if (t->json) {
		print_json_row(c, &t->sum, "summary");
		return;
	}
	printf("--\nSummary of %" PRIu64 " %s (min, avg, max)\n", t->nr_rows,
	       cli_plural(t->nr_rows, "interval"));
	for (k = 0; k < 3; k++) {
		for (i = 0; i < CLI_ARRAY_SIZE(columns); i++) {
			if (!is_shown(t, &columns[i]))
				continue;
			r = &t->range[i];
			known = value_of(&columns[i], &t->sum, &v) && r->any;
			print_number(&columns[i], known,
				     k == 0 ? r->min : k == 1 ? v : r->max);
		}
		printf("  %s\n", names[k]);
	}
}

/* False: a signal came. */
static bool wait_until(uint64_t ns)
{
	struct pollfd fd = { .fd = cli_signal_fd(), .events = POLLIN };
	uint64_t now = now_ns();

	while (now < ns) {
		if (poll(&fd, 1, (int)((ns - now) / 1000000 + 1)) > 0)
			return false;
		now = now_ns();
	}
	return !cli_signal_received();
}

static int run(struct cli *c, const char *pool, unsigned interval)
{
	struct table t = { .extended = c->args.extended,
			   .json = c->args.json };
	struct reading r[2] = { 0 };
	struct sample s;
	uint64_t next;
	unsigned i;

	read_all(&r[0], pool);
	next = r[0].ns;
	for (i = 0; c->args.count == 0 || i < c->args.count; i++) {
		next += (uint64_t)interval * 1000000000;
		if (!wait_until(next) || cli_output_error(c))
			break;
		read_all(&r[(i + 1) % 2], pool);
		between(&r[i % 2], &r[(i + 1) % 2], &s);
		print_row(c, &t, &s);
	}
	if (c->args.summary)
		print_summary(c, &t);
	cli_processes_release(&r[0].ps);
	cli_processes_release(&r[1].ps);
	return cli_output_error(c);
}

int cli_cmd_sysstat(struct cli *c)
{
	const struct cli_list *ops = &c->args.operands;
	unsigned interval = INTERVAL_DEFAULT;
	struct akin_pool_info info;
	const char *pool = NULL;
	int err;

	if (ops->nr && (cli_parse_count(ops->v[0], 86400, &interval) ||
			interval == 0))
		return cli_fail(&c->diag, -AKIN_E_usage, "'%.100s': an "
				"interval is 1 to 86400 seconds", ops->v[0]);
	if (c->args.pool) {
		err = cli_open(c, true);
		if (err)
			return err;
		/* Its number is all that is needed of it. */
		akin_pool_get_info(c->pool, &info);
		pool = info.id;
		cli_signal_pool(NULL);
		akin_pool_close(c->pool);
		c->pool = NULL;
	}
	return run(c, pool, interval);
}
