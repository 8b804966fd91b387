/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools that grow: by data, and by fingerprints whose chunks do not exist, which
 * costs sixteen bytes of disk for each instead of its chunk's.
 *
 * Each step is measured in the pool that has grown and, right before, in one
 * that has a single step; the ratio says what growing costs, whatever else the
 * machine does. Memory is what the kernel counted for this process.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loadgen_feed.h"
#include "measure_pool.h"
#include "synthpool.h"

#define STEP_BYTES ((uint64_t)64 << 20)
#define GROWTH_STEPS 8
/* Of chunks that do not exist: as large as others on average. */
#define CHUNK_BYTES 8192.0
/* Small transactions after fingerprints came: each merges what is too many in
 * a tier of the index. Those who brought that much data had done it long ago. */
#define SETTLE_TIMES 4
#define SETTLE_BYTES ((uint64_t)1 << 20)
#define SETTLE_SEED ((uint64_t)1 << 40)
#define BAR 0.9
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	DATA_GB, POOL_MB, NEW, AGAIN, NEW_OF_SMALL, AGAIN_OF_SMALL,
	NEW_CPU_OF_SMALL, AGAIN_CPU_OF_SMALL, NEW_PAGES, INDEX_PAGES,
	DIRECTORIES, HITS, MEMORY, NR_COLUMNS
};

static const struct measure_column growth_columns[NR_COLUMNS] = {
	[DATA_GB] = { "data_gb", "data GB", 2 },
	[POOL_MB] = { "pool_mb", "pool MB", 0 },
	[NEW] = { "new_mb_per_s", "new MB/s", 0 },
	[AGAIN] = { "again_mb_per_s", "again MB/s", 0 },
	[NEW_OF_SMALL] = { "new_of_small", "of small", 2 },
	[AGAIN_OF_SMALL] = { "again_of_small", "of small", 2 },
	[NEW_CPU_OF_SMALL] = { "new_cpu_of_small", "cpu", 2 },
	[AGAIN_CPU_OF_SMALL] = { "again_cpu_of_small", "cpu", 2 },
	[NEW_PAGES] = { "new_index_pages", "new: pages", 0 },
	[INDEX_PAGES] = { "index_pages", "again", 0 },
	[DIRECTORIES] = { "directories", "directories", 0 },
	[HITS] = { "hit_percent", "in memory %", 2 },
	[MEMORY] = { "memory_mb", "memory MB", 1 },
};

static const struct measure_chart growth_charts[] = {
	{ "Throughput while the pool grows", "MB/s", MEASURE_LINES,
	  { NEW, AGAIN }, 2, MEASURE_BY_NONE },
	{ "As a share of a small pool's", "", MEASURE_LINES,
	  { NEW_OF_SMALL, AGAIN_OF_SMALL, NEW_CPU_OF_SMALL,
	    AGAIN_CPU_OF_SMALL }, 4, MEASURE_BY_NONE },
	{ "Pages of the index read for new data, and for old", "pages",
	  MEASURE_LINES, { NEW_PAGES, INDEX_PAGES }, 2, MEASURE_BY_NONE },
	{ "Memory of the process", "MB", MEASURE_LINES, { MEMORY }, 1,
	  MEASURE_BY_NONE },
};

static const struct measure_column flat_columns[] = {
	{ "last_of_first", "last of first", 2 },
	{ "cpu_last_of_first", "cpu", 2 },
	{ "bar", "bar", 2 },
	{ "met", "met", 0 },
};

struct growth {
	const struct measure_options *opt;
	struct measure_pool p;
	double stored, data;	/* bytes */
	struct measure_report *r;
};

/* Of new data, then of old data in a session that knows nothing yet. */
struct taken {
	double new_rate, again_rate;	/* MB/s */
	double new_cpu, again_cpu;	/* MB for a second of processors */
	double bytes, stored;		/* of the new data */
	double new_pages, again_pages, directories, hits;
	double memory_mb;
};

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The most memory in use counts anew. Without: since the process began. */
static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	if (!f)
		return;
	fputs("5", f);
	fclose(f);
}

static double peak_mb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmHWM: %lu", &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return (double)kib * 1024 / 1e6;
}

static int feed(struct measure_pool *p, const struct loadgen *l,
		struct loadgen_fed *fed, double *rate_ret, double *cpu_ret,
		struct akin_diag *diag)
{
	double begun = cpu_seconds();
	int err = measure_feed(p, l, 0, fed, diag);

	if (err)
		return err;
	*rate_ret = measure_rate(fed->bytes, fed->result.elapsed_ns);
	*cpu_ret = (double)fed->bytes / (cpu_seconds() - begun) / 1e6;
	return 0;
}

static int take(struct measure_pool *p, const struct measure_options *opt,
		const struct loadgen *l, const struct loadgen *old,
		struct taken *t, struct akin_diag *diag)
{
	struct loadgen_fed fed;
	double hits, misses;
	int err;

	forget_peak();
	err = feed(p, l, &fed, &t->new_rate, &t->new_cpu, diag);
	if (err)
		return err;
	t->bytes = (double)fed.bytes;
	t->stored = (double)fed.result.bytes_stored;
	t->new_pages = measure_counted(p, AKIN_COUNTER_index_page_reads);
	err = measure_pool_reopen(p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		err = feed(p, old, &fed, &t->again_rate, &t->again_cpu, diag);
	if (err)
		return err;
	t->again_pages = measure_counted(p, AKIN_COUNTER_index_page_reads);
	t->directories = measure_counted(p, AKIN_COUNTER_directory_loads);
	hits = measure_counted(p, AKIN_COUNTER_directory_hits);
	misses = measure_counted(p, AKIN_COUNTER_directory_misses);
	t->hits = hits + misses > 0 ? 100 * hits / (hits + misses) : 0;
	t->memory_mb = peak_mb();
	return 0;
}

/* The same in a pool that has the old data and nothing else. */
static int take_small(const struct measure_options *opt,
		      const struct loadgen *l, const struct loadgen *old,
		      struct taken *t, struct akin_diag *diag)
{
	struct loadgen_fed fed;
	struct measure_pool p;
	int err;

	err = measure_pool_open(&p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		err = measure_feed(&p, old, 0, &fed, diag);
	if (!err)
		err = measure_pool_reopen(&p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		err = take(&p, opt, l, old, t, diag);
	measure_pool_close(&p);
	return err;
}

static int settle(struct growth *g, struct akin_diag *diag)
{
	struct loadgen_options lopt = { .random_share = -1,
					.stream_bytes = SETTLE_BYTES };
	struct loadgen_fed fed;
	struct loadgen *l;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < SETTLE_TIMES; i++) {
		lopt.seed = SETTLE_SEED + g->r->nr_rows * SETTLE_TIMES + i;
		err = loadgen_new(&lopt, &l, diag);
		if (err)
			return err;
		err = measure_feed(&g->p, l, 0, &fed, diag);
		loadgen_free(l);
	}
	return err;
}

/* Fingerprints of this step, if it has such. */
static int add_fingerprints(struct growth *g, uint64_t nr,
			    struct akin_diag *diag)
{
	int err;

	if (!nr)
		return 0;
	akin_session_close(g->p.s);
	g->p.s = NULL;
	err = synthpool_grow(g->p.dir, nr, diag);
	g->data += (double)nr * CHUNK_BYTES;
	if (!err)
		err = measure_pool_reopen(&g->p, g->opt, AKIN_VERIFY_DEFAULT,
					  diag);
	if (!err)
		err = settle(g, diag);
	return err ? err : measure_pool_reopen(&g->p, g->opt,
					       AKIN_VERIFY_DEFAULT, diag);
}

static int add_step(struct growth *g, const struct taken *t,
		    const struct taken *small)
{
	double v[NR_COLUMNS];

	g->data += t->bytes;
	g->stored += t->stored;
	v[DATA_GB] = g->data / 1e9;
	v[POOL_MB] = g->stored / 1e6;
	v[NEW] = t->new_rate;
	v[AGAIN] = t->again_rate;
	v[NEW_OF_SMALL] = t->new_rate / small->new_rate;
	v[AGAIN_OF_SMALL] = t->again_rate / small->again_rate;
	v[NEW_CPU_OF_SMALL] = t->new_cpu / small->new_cpu;
	v[AGAIN_CPU_OF_SMALL] = t->again_cpu / small->again_cpu;
	v[NEW_PAGES] = t->new_pages;
	v[INDEX_PAGES] = t->again_pages;
	v[DIRECTORIES] = t->directories;
	v[HITS] = t->hits;
	v[MEMORY] = t->memory_mb;
	return measure_add(g->r, NULL, v);
}

static int new_load(const struct measure_options *opt, uint32_t step,
		    struct loadgen **out, struct akin_diag *diag)
{
	struct loadgen_options lopt = { .random_share = -1,
					.compressible = 0.5 };

	lopt.stream_bytes = opt->bytes || opt->nr_traces ? opt->bytes :
			    STEP_BYTES;
	lopt.trace = opt->nr_traces ? opt->traces[step] : NULL;
	lopt.seed = opt->nr_traces ? 0 : step;
	return loadgen_new(&lopt, out, diag);
}

/* Data of a step of its own, then that of the first step again. */
static int one_step(struct growth *g, uint32_t step, uint64_t fingerprints,
		    struct akin_diag *diag)
{
	struct loadgen *l = NULL, *first = NULL;
	struct taken t = { 0 }, small = { 0 };
	int err;

	err = new_load(g->opt, 0, &first, diag);
	if (!err)
		err = new_load(g->opt, step, &l, diag);
	if (!err)
		err = add_fingerprints(g, fingerprints, diag);
	if (!err && step)
		err = take_small(g->opt, l, first, &small, diag);
	if (!err)
		err = take(&g->p, g->opt, l, first, &t, diag);
	/* The pool has not grown yet. */
	if (!step)
		small = t;
	if (!err)
		err = add_step(g, &t, &small);
	loadgen_free(first);
	loadgen_free(l);
	return err;
}

/* The mean of a column in the last tenth of the rows by that of the first. */
static double last_of_first(const struct measure_report *r, uint32_t column)
{
	uint32_t n = r->nr_rows < 20 ? 1 : r->nr_rows / 10, i;
	double first = 0, last = 0;

	for (i = 0; i < n; i++) {
		first += r->values[(size_t)i * r->nr_columns + column];
		last += r->values[(size_t)(r->nr_rows - 1 - i) *
				  r->nr_columns + column];
	}
	return first > 0 ? last / first : 0;
}

/* Is it level? Said of ratios to the small pool. */
static int add_flat(const struct measure_report *r, struct measure_report *out)
{
	static const struct {
		const char *name;
		uint32_t rate, cpu;
	} lines[] = {
		{ "new data", NEW_OF_SMALL, NEW_CPU_OF_SMALL },
		{ "old data again", AGAIN_OF_SMALL, AGAIN_CPU_OF_SMALL },
	};
	double v[COUNT(flat_columns)];
	uint32_t i;
	int err = 0;

	out->verb = "growth_flat";
	out->title = "Is it level?";
	out->text = "Rates of the last tenth of the steps as a share of the "
		"first tenth's, each beside a small pool; and the same in "
		"processor time.";
	out->row_title = "data";
	out->columns = flat_columns;
	out->nr_columns = COUNT(flat_columns);
	for (i = 0; !err && i < COUNT(lines); i++) {
		v[0] = last_of_first(r, lines[i].rate);
		v[1] = last_of_first(r, lines[i].cpu);
		v[2] = BAR;
		v[3] = v[0] >= BAR;
		err = measure_add(out, lines[i].name, v);
	}
	return err;
}

static void head(struct measure_report *out)
{
	out->verb = "growth";
	out->title = "A pool that grows";
	out->text = "Step by step the pool gets new data, then, in a session "
		"that knows nothing yet, the data of the first step again. "
		"What keeps its rate whatever the pool holds is level here; "
		"what needs a lookup on disk for each chunk is not. 'Of small' "
		"is the rate as a share of that in a pool which has the first "
		"step only, measured right before; 'cpu' is the same by "
		"processor time. With traces, a step is what one of them had. "
		"With fingerprints, each step also brings its part of these to "
		"the index, as of chunks of 8 KiB that are not there.";
	out->columns = growth_columns;
	out->nr_columns = NR_COLUMNS;
	out->charts = growth_charts;
	out->nr_charts = COUNT(growth_charts);
}

static int all_steps(struct growth *g, uint32_t steps, struct akin_diag *diag)
{
	uint64_t all = g->opt->nr_fingerprints, part;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < steps; i++) {
		err = measure_tick(g->opt, diag, "step %u of %u", i + 1, steps);
		/* None in the first: that is the small pool. */
		part = i == 0 ? 0 : all * i / (steps - 1) -
				    all * (i - 1) / (steps - 1);
		if (!err)
			err = one_step(g, i, part, diag);
	}
	return err;
}

int measure_growth(const struct measure_options *opt,
		   struct measure_report *out, struct akin_diag *diag)
{
	uint32_t steps = opt->nr_counts ? opt->counts[0] :
			 opt->nr_traces ? opt->nr_traces : GROWTH_STEPS;
	struct growth g = { .opt = opt, .r = out };
	struct measure_report *flat;
	int err;

	memset(out, 0, sizeof(*out));
	if (opt->nr_traces && steps > opt->nr_traces)
		steps = opt->nr_traces;
	head(out);
	flat = measure_more(out);
	if (!flat)
		return measure_fail(diag, -AKIN_E_nomem, "report");
	err = measure_pool_open(&g.p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		err = all_steps(&g, steps, diag);
	measure_pool_close(&g.p);
	if (!err)
		err = add_flat(out, flat);
	measure_machine(out);
	return err;
}
