/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines on one series of files: what each makes of it, how fast, in how
 * much memory, and what it asks of the two disks for that.
 *
 * Each engine has a process and a pool of its own, with the same keys and so
 * the same chunks. Every file is backed up with the pool opened anew. The
 * engines take turns, run by run, so that what disturbs one disturbs all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/diag.h"
#include "os/clock.h"
#include "store/store.h"
#include "bench.h"
#include "child.h"

#define DEFAULT_RUNS 1
#define MAX_RUNS 21
#define MAX_FILES 64

static const struct {
	const char *name;
	enum akin_engine engine;
} engines[] = {
	{ "identity", AKIN_ENGINE_IDENTITY },
	{ "similarity", AKIN_ENGINE_SIMILARITY },
	{ "hybrid", AKIN_ENGINE_HYBRID },
};
#define NR_ENGINES ARRAY_SIZE(engines)

/* What a child says; the names of its lines. */
static const char *const said[] = { "bytes", "new", "stored", "wall", "cpu",
				    "peak", "meta_reads", "meta_writes",
				    "data_reads", "data_writes", "meta_in",
				    "meta_out", "data_in", "data_out" };
enum { BYTES, NEW, STORED, WALL, CPU, PEAK, META_READS, META_WRITES,
       DATA_READS, DATA_WRITES, META_IN, META_OUT, DATA_IN, DATA_OUT,
       NR_SAID };
static_assert(ARRAY_SIZE(said) == NR_SAID, "a name for each");

/* The child --------------------------------------------------------------- */

static long give(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	size_t n = fread(buf, 1, cap, ctx);

	return ferror((FILE *)ctx) ? -AKIN_E_io : (long)n;
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void add_io(struct akin_pool *p, double *sum)
{
	struct counters_disk *meta = disk_io(p->meta), *data = disk_io(p->data);

	sum[META_READS] += (double)meta->read.ops;
	sum[META_WRITES] += (double)meta->write.ops;
	sum[DATA_READS] += (double)data->read.ops;
	sum[DATA_WRITES] += (double)data->write.ops;
	sum[META_IN] += (double)meta->read.bytes;
	sum[META_OUT] += (double)meta->write.bytes;
	sum[DATA_IN] += (double)data->read.bytes;
	sum[DATA_OUT] += (double)data->write.bytes;
}

static int put_file(const struct bench_options *opt, const char *path,
		    double *sum, struct akin_diag *diag)
{
	struct akin_open_options popt = { .path = opt->dir,
					  .memory_bytes = opt->memory,
					  .nr_threads = opt->threads };
	struct akin_backup_options bopt = { .host = "bench" };
	struct akin_backup_result r;
	FILE *f = fopen(path, "rb");
	struct akin_pool *p = NULL;
	double begun = (double)clock_ns(), cpu = cpu_seconds();
	int err;

	if (!f)
		return diag_set(diag, -AKIN_E_io, "%s: cannot be read", path);
	err = akin_pool_open(&popt, &p, diag);
	if (!err)
		err = akin_backup_stream(p, &bopt, "file", give, NULL, f, &r,
					 diag);
	if (!err) {
		sum[WALL] += ((double)clock_ns() - begun) / 1e9;
		sum[CPU] += cpu_seconds() - cpu;
		sum[BYTES] += (double)r.total.bytes;
		sum[NEW] += (double)r.total.bytes_new;
		sum[STORED] += (double)r.total.bytes_stored;
		add_io(p, sum);
	}
	akin_pool_close(p);
	fclose(f);
	return err;
}

int bench_engines_child(const struct bench_options *opt)
{
	struct akin_init_options iopt = { .path = opt->dir };
	struct akin_diag diag = { 0 };
	double sum[NR_SAID] = { 0 };
	u32 i;
	int err;

	iopt.engine = engines[strtoul(opt->args[0], NULL, 10) %
			      NR_ENGINES].engine;
	if (*opt->args[1])
		iopt.like = opt->args[1];
	err = akin_pool_init(&iopt, &diag);
	for (i = 2; !err && i < opt->nr_args; i++)
		err = put_file(opt, opt->args[i], sum, &diag);
	if (err)
		return bench_fail("engines", &diag);
	sum[PEAK] = (double)child_peak_bytes();
	for (i = 0; i < NR_SAID; i++)
		child_say(said[i], sum[i]);
	return 0;
}

/* ------------------------------------------------------------------------- */

/* Into @dir/NUMBER; @like: NULL or another engine's. */
static bool run_child(const struct bench_options *opt, u32 engine,
		      const char *dir, const char *like, double *out)
{
	char memory[32], threads[32], number[8];
	const char *argv[12 + MAX_FILES] = { child_self(), "engines-child",
			 "--memory", memory, "--threads", threads, "--dir",
			 dir, number, like };
	static struct child c;
	u32 i, n = 10;

	snprintf(memory, sizeof(memory), "%llu",
		 (unsigned long long)opt->memory);
	snprintf(threads, sizeof(threads), "%u", opt->threads);
	snprintf(number, sizeof(number), "%u", engine);
	for (i = 0; i < opt->nr_args && i < MAX_FILES; i++)
		argv[n++] = opt->args[i];
	if (child_run(argv, &c) || c.status)
		return false;
	for (i = 0; i < NR_SAID; i++)
		out[i] = child_value(&c, said[i]);
	return true;
}

/* One run of all engines. */
static bool run_all(const struct bench_options *opt, u32 run,
		    double values[NR_ENGINES][NR_SAID][MAX_RUNS])
{
	char *dir = bench_mkdir(opt->dir), *paths[NR_ENGINES] = { NULL };
	double out[NR_SAID];
	bool ok = true;
	u32 i, k;

	for (i = 0; ok && i < NR_ENGINES; i++) {
		ok = asprintf(&paths[i], "%s/%s", dir, engines[i].name) > 0 &&
		     run_child(opt, i, paths[i], i ? paths[0] : "", out);
		for (k = 0; ok && k < NR_SAID; k++)
			values[i][k][run] = out[k];
	}
	for (i = 0; i < NR_ENGINES; i++)
		free(paths[i]);
	bench_rmdir(dir);
	return ok;
}

static void print_engine(const struct bench_options *opt, const char *name,
			 const double *v)
{
	u32 k;

	if (opt->json) {
		printf("{\"bench\":\"engines\",\"engine\":\"%s\"", name);
		for (k = 0; k < NR_SAID; k++)
			printf(",\"%s\":%.3f", said[k], v[k]);
		printf("}\n");
		return;
	}
	printf("%-11s %8.1f %7.2f %7.0f %7.0f %6.0f %7.0f %7.0f %7.0f %7.0f\n",
	       name, v[NEW] / 1e6, v[BYTES] / v[STORED],
	       v[BYTES] / v[WALL] / 1e6, v[BYTES] / v[CPU] / 1e6,
	       v[PEAK] / 1048576, v[META_READS] / v[WALL],
	       v[META_WRITES] / v[WALL], v[DATA_READS] / v[WALL],
	       v[DATA_WRITES] / v[WALL]);
}

static void print_all(const struct bench_options *opt, u32 runs,
		      double values[NR_ENGINES][NR_SAID][MAX_RUNS])
{
	double v[NR_SAID];
	u32 i, k;

	if (!opt->json)
		printf("load %.1f; operations a second\n\n%-11s %8s %7s %7s "
		       "%7s %6s %7s %7s %7s %7s\n", bench_load(), "", "new MB",
		       "ratio", "MB/s", "by cpu", "MiB", "meta r", "meta w",
		       "data r", "data w");
	for (i = 0; i < NR_ENGINES; i++) {
		for (k = 0; k < NR_SAID; k++)
			v[k] = bench_median(values[i][k], runs);
		print_engine(opt, engines[i].name, v);
	}
}

int bench_engines(const struct bench_options *opt)
{
	static double values[NR_ENGINES][NR_SAID][MAX_RUNS];
	u32 runs = opt->runs ? opt->runs : DEFAULT_RUNS, i;
	bool ok = opt->nr_args > 0 && opt->nr_args <= MAX_FILES;

	if (!ok)
		return 2;
	runs = (u32)min_u64(runs, MAX_RUNS);
	for (i = 0; ok && i < runs; i++)
		ok = run_all(opt, i, values);
	if (ok)
		print_all(opt, runs, values);
	return ok ? 0 : 1;
}
