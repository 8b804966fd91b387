/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many streams into one session: does the sum of their rates hold, and does
 * memory? Each count runs in a process and a pool of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "os/clock.h"
#include "bench.h"
#include "child.h"
#include "streamload.h"

#define DEFAULT_BYTES ((u64)256 << 20)
#define MAX_RUNS 101

/* Only making the data, on one thread. */
static double generate_rate(void)
{
	struct streamload l = { .seed = 1 };
	static u8 buf[1 << 20];
	u64 begun = clock_ns();
	u64 n;

	for (n = 0; n < 64 << 20; n += sizeof(buf))
		streamload_fill(&l, 0, n, buf, sizeof(buf));
	return (double)n / (double)(clock_ns() - begun) * 1e3;
}

int bench_streams_child(const struct bench_options *opt)
{
	struct streamload load = { .seed = 1, .bytes = opt->bytes,
				   .threaded = opt->threaded,
				   .zeros = opt->zeros };
	struct akin_open_options popt = { .memory_bytes = opt->memory,
					  .nr_threads = opt->threads,
					  .path = opt->dir };
	struct akin_init_options iopt = { .path = opt->dir };
	struct streamload_stats st;
	struct akin_diag diag = { 0 };
	struct akin_pool *p;
	int err;

	load.nr_streams = (u32)strtoul(opt->args[0], NULL, 10);
	err = akin_pool_init(&iopt, &diag);
	if (!err)
		err = akin_pool_open(&popt, &p, &diag);
	if (err)
		return bench_fail("pool", &diag);
	err = streamload_run(&load, p, true, &st, &diag);
	akin_pool_close(p);
	if (err)
		return bench_fail("streams", &diag);
	child_say("seconds", (double)st.store_ns / 1e9);
	child_say("bytes", (double)st.bytes);
	child_say("stored", (double)st.stored);
	child_say("containers", (double)st.nr_containers);
	child_say("peak", (double)child_peak_bytes());
	return 0;
}

struct result {
	double rate, ratio, peak_mib, containers;
};

static bool run_once(const struct bench_options *opt, const char *nr,
		     struct result *out)
{
	char bytes[32], memory[32], threads[32];
	char *dir = bench_mkdir(opt->dir);
	const char *argv[] = { child_self(), "streams-child", "--bytes",
			 bytes, "--memory", memory, "--threads", threads,
			 "--dir", dir, nr, NULL, NULL, NULL };
	static struct child c;
	int i = 11;

	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)
		 (opt->bytes ? opt->bytes : DEFAULT_BYTES));
	snprintf(memory, sizeof(memory), "%llu",
		 (unsigned long long)opt->memory);
	snprintf(threads, sizeof(threads), "%u", opt->threads);
	if (opt->threaded)
		argv[i++] = "--threaded";
	if (opt->zeros)
		argv[i++] = "--zeros";
	if (child_run(argv, &c) || c.status) {
		bench_rmdir(dir);
		return false;
	}
	bench_rmdir(dir);
	out->rate = child_value(&c, "bytes") / child_value(&c, "seconds") /
		    1e6;
	out->ratio = child_value(&c, "bytes") / child_value(&c, "stored");
	out->peak_mib = child_value(&c, "peak") / 1048576;
	out->containers = child_value(&c, "containers");
	return true;
}

static bool run_count(const struct bench_options *opt, const char *nr,
		      struct result *out)
{
	u32 i, runs = opt->runs ? opt->runs : 1;
	double rates[MAX_RUNS], peak = 0;

	if (runs > MAX_RUNS)
		runs = MAX_RUNS;
	for (i = 0; i < runs; i++) {
		if (!run_once(opt, nr, out))
			return false;
		rates[i] = out->rate;
		peak = out->peak_mib > peak ? out->peak_mib : peak;
	}
	out->rate = bench_median(rates, runs);
	out->peak_mib = peak;
	return true;
}

static void print_head(const struct bench_options *opt)
{
	if (opt->json)
		return;
	printf("load %.1f, memory %.0f MiB, making the data alone: %.0f MB/s "
	       "a thread\n\n", bench_load(),
	       (double)(opt->memory ? opt->memory : AKIN_MEMORY_DEFAULT) /
	       1048576, generate_rate());
	printf("%8s %10s %8s %10s %11s %10s\n", "streams", "MB/s", "of 1st",
	       "peak MiB", "containers", "ratio");
}

int bench_streams(const struct bench_options *opt)
{
	static const char *const counts[] = { "1", "2", "8", "64" };
	const char *const *args = opt->nr_args ? opt->args : counts;
	u32 i, nr = opt->nr_args ? opt->nr_args : 4;
	struct result r;
	double first = 0;

	print_head(opt);
	for (i = 0; i < nr; i++) {
		if (!run_count(opt, args[i], &r))
			return bench_fail(args[i], NULL);
		first = i ? first : r.rate;
		if (opt->json)
			printf("{\"bench\":\"streams\",\"streams\":%s,"
			       "\"mb_per_s\":%.1f,\"peak_bytes\":%.0f,"
			       "\"containers\":%.0f,\"ratio\":%.3f,"
			       "\"load\":%.1f}\n", args[i], r.rate,
			       r.peak_mib * 1048576, r.containers, r.ratio,
			       bench_load());
		else
			printf("%8s %10.0f %8.2f %10.1f %11.0f %10.2f\n",
			       args[i], r.rate, r.rate / first, r.peak_mib,
			       r.containers, r.ratio);
	}
	return 0;
}
