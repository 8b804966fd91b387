/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting in a large pool: how long until a backup asks for its first byte
 * and a restore gives its first one, how much of the metadata directory is
 * read for it, and how much memory it takes. Against an empty pool and against
 * a process that does nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "os/clock.h"
#include "store/store.h"
#include "bench.h"
#include "child.h"
#include "streamload.h"
#include "synthpool.h"

#define DEFAULT_ENTRIES 100000000ull
#define DEFAULT_BYTES ((u64)64 << 20)
#define DEFAULT_RUNS 5
#define MAX_RUNS 101

struct probe {
	struct streamload load;
	struct akin_pool *p;
	u64 off, first_ns, first_read;
};

static void first_byte(struct probe *pr)
{
	if (pr->first_ns)
		return;
	pr->first_ns = clock_ns();
	pr->first_read = disk_io(pr->p->meta)->read.bytes;
}

static long give(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	struct probe *pr = ctx;
	size_t n = min_u64(cap, pr->load.bytes - pr->off);

	first_byte(pr);
	streamload_fill(&pr->load, 0, pr->off, buf, n);
	pr->off += n;
	return (long)n;
}

static int take(void *ctx, const void *data, size_t n)
{
	first_byte(ctx);
	return 0;
}

static int do_backup(struct probe *pr, struct akin_diag *diag)
{
	struct akin_backup_options opt = { .host = "bench" };
	struct akin_backup_result result;

	return akin_backup_stream(pr->p, &opt, "probe", give, NULL, pr,
				  &result, diag);
}

static int newest(void *ctx, const struct akin_snapshot *s)
{
	*(u64 *)ctx = s->number;
	return 0;
}

static int do_read(struct probe *pr, struct akin_diag *diag)
{
	u64 number = 0;
	int err;

	err = akin_snapshot_each(pr->p, NULL, newest, &number, diag);
	if (!err)
		err = akin_snapshot_read(pr->p, number, "probe", take, NULL,
					 pr, diag);
	return err;
}

int bench_index_child(const struct bench_options *opt)
{
	struct akin_open_options popt = { .path = opt->dir,
					  .memory_bytes = opt->memory,
					  .nr_threads = opt->threads };
	struct probe pr = { .load = { .seed = opt->runs,
				      .bytes = opt->bytes } };
	struct akin_diag diag = { 0 };
	int err;

	err = akin_pool_open(&popt, &pr.p, &diag);
	if (err)
		return bench_fail(opt->dir, &diag);
	if (strcmp(opt->args[0], "backup") == 0)
		err = do_backup(&pr, &diag);
	else
		err = do_read(&pr, &diag);
	if (err)
		return bench_fail(opt->args[0], &diag);
	child_say("first", (double)pr.first_ns);
	child_say("first_read", (double)pr.first_read);
	child_say("read", (double)disk_io(pr.p->meta)->read.bytes);
	akin_pool_close(pr.p);
	child_say("done", (double)clock_ns());
	child_say("peak", (double)child_peak_bytes());
	return 0;
}

int bench_nothing(const struct bench_options *opt)
{
	child_say("first", (double)clock_ns());
	child_say("done", (double)clock_ns());
	return 0;
}

/* Medians over the runs; peak: the highest. */
struct result {
	double first_ms, done_ms;
	double first_read_mib, read_mib, peak_mib;
};

struct series {
	double first[MAX_RUNS], done[MAX_RUNS];
};

static bool run_child(const struct bench_options *opt, const char *pool,
		      const char *what, u64 memory, u32 nr, struct child *c)
{
	char bytes[32], mem[32], seed[32];
	const char *argv[] = { child_self(), "index-child", "--bytes", bytes,
			 "--memory", mem, "--runs", seed, "--dir",
			 pool, what, NULL };

	if (strcmp(what, "nothing") == 0)
		argv[1] = "nothing";
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)
		 (opt->bytes ? opt->bytes : DEFAULT_BYTES));
	snprintf(mem, sizeof(mem), "%llu", (unsigned long long)memory);
	/* Other data each time: all of it is new, and looked up in vain. */
	snprintf(seed, sizeof(seed), "%u", nr);
	return !child_run(argv, c) && !c->status;
}

static bool measure(const struct bench_options *opt, const char *pool,
		    const char *what, u64 memory, struct result *out)
{
	u32 i, runs = opt->runs ? opt->runs : DEFAULT_RUNS;
	static struct child c;
	struct series s;
	double peak;

	memset(out, 0, sizeof(*out));
	if (runs > MAX_RUNS)
		runs = MAX_RUNS;
	for (i = 0; i < runs; i++) {
		if (!run_child(opt, pool, what, memory,
			       (u32)(memory >> 20) * 1000 + i, &c))
			return false;
		s.first[i] = child_value(&c, "first") - (double)c.begun_ns;
		s.done[i] = child_value(&c, "done") - (double)c.begun_ns;
		peak = child_value(&c, "peak") / 1048576;
		out->peak_mib = peak > out->peak_mib ? peak : out->peak_mib;
		out->first_read_mib = child_value(&c, "first_read") / 1048576;
		out->read_mib = child_value(&c, "read") / 1048576;
	}
	out->first_ms = bench_median(s.first, runs) / 1e6;
	out->done_ms = bench_median(s.done, runs) / 1e6;
	return true;
}

static void print_one(const struct bench_options *opt, u64 entries,
		      const char *what, u64 memory, const struct result *r,
		      const struct result *nothing)
{
	if (opt->json)
		printf("{\"bench\":\"index\",\"entries\":%llu,\"what\":\"%s\","
		       "\"memory\":%llu,\"first_ms\":%.2f,\"done_ms\":%.2f,"
		       "\"first_read_bytes\":%.0f,\"read_bytes\":%.0f,"
		       "\"peak_bytes\":%.0f,\"load\":%.1f}\n",
		       (unsigned long long)entries, what,
		       (unsigned long long)memory,
		       r->first_ms - nothing->first_ms,
		       r->done_ms - nothing->first_ms,
		       r->first_read_mib * 1048576, r->read_mib * 1048576,
		       r->peak_mib * 1048576, bench_load());
	else
		printf("%12llu %7llu %-8s %11.1f %9.1f %10.2f %9.2f %9.1f\n",
		       (unsigned long long)entries,
		       (unsigned long long)(memory >> 20), what,
		       r->first_ms - nothing->first_ms,
		       r->done_ms - nothing->first_ms, r->first_read_mib,
		       r->read_mib, r->peak_mib);
}

static bool measure_pool(const struct bench_options *opt, const char *pool,
			 u64 entries)
{
	static const char *const what[] = { "backup", "restore" };
	u64 memories[] = { 64 << 20, 128 << 20 };
	u32 i, k, nr = opt->memory ? 1 : 2;
	struct result r, nothing;

	if (opt->memory)
		memories[0] = opt->memory;
	for (i = 0; i < nr; i++) {
		for (k = 0; k < 2; k++) {
			if (!measure(opt, pool, "nothing", 0, &nothing) ||
			    !measure(opt, pool, what[k], memories[i], &r))
				return false;
			print_one(opt, entries, what[k], memories[i], &r,
				  &nothing);
		}
	}
	return true;
}

static bool make_and_measure(const struct bench_options *opt, const char *dir,
			     u64 entries)
{
	struct akin_diag diag = { 0 };
	char *pool;
	bool ok;

	if (asprintf(&pool, "%s/pool-%llu", dir, (unsigned long long)entries) <
	    0)
		return false;
	ok = !synthpool_make(pool, entries, &diag);
	if (!ok)
		bench_fail("making the pool", &diag);
	ok = ok && measure_pool(opt, pool, entries);
	free(pool);
	return ok;
}

int bench_index(const struct bench_options *opt)
{
	u64 entries = DEFAULT_ENTRIES;
	char *dir, *end;
	bool ok;

	if (opt->nr_args) {
		entries = strtoull(opt->args[0], &end, 10);
		if (*end == 'M')
			entries *= 1000000;
	}
	if (!opt->json)
		printf("times above a process that does nothing, medians; load "
		       "%.1f\n\n%12s %7s %-8s %11s %9s %10s %9s %9s\n",
		       bench_load(), "fingerprints", "memory", "what",
		       "1st byte ms", "done ms", "read MiB", "in all",
		       "peak MiB");
	dir = bench_mkdir(opt->dir);
	ok = make_and_measure(opt, dir, 0) &&
	     make_and_measure(opt, dir, entries);
	bench_rmdir(dir);
	return ok ? 0 : 1;
}
