/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many streams at once, with data of which more and more is new; stores that
 * compare what they share; pools that grow.
 */
#include <stdlib.h>
#include <string.h>

#include "loadgen_feed.h"
#include "measure_pool.h"

#define STREAM_BYTES ((uint64_t)128 << 20)
#define VERIFY_BYTES ((uint64_t)256 << 20)
#define STEP_BYTES ((uint64_t)64 << 20)
#define GROWTH_STEPS 8
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Streams --------------------------------------------------------------------*/

static const struct measure_column streams_columns[] = {
	{ "streams", "streams", 0 },
	{ "random_percent", "random %", 0 },
	{ "mb_per_s", "MB/s", 0 },
	{ "ratio", "ratio", 2 },
	{ "metadata_write_ops", "meta writes", 0 },
	{ "metadata_read_ops", "meta reads", 0 },
	{ "data_write_mb", "data MB written", 1 },
	{ "data_read_ops", "data reads", 0 },
};

static const struct measure_chart streams_charts[] = {
	{ "Throughput of all streams together", "MB/s", MEASURE_LINES, { 2 }, 1, 1 },
	{ "Writes to the metadata pool", "operations", MEASURE_LINES, { 4 }, 1, 1 },
	{ "Reads from the data pool", "operations", MEASURE_LINES, { 7 }, 1, 1 },
};

static int one_streams(const struct measure_options *opt, unsigned nr,
		       double random, struct measure_report *r,
		       struct akin_diag *diag)
{
	struct loadgen_options lopt = { .nr_streams = nr, .seed = nr,
					.random_share = random,
					.compressible = 0.5 };
	double v[COUNT(streams_columns)];
	struct loadgen *l = NULL;
	struct loadgen_fed fed;
	struct measure_pool p;
	int err;

	lopt.stream_bytes = opt->bytes ? opt->bytes : STREAM_BYTES;
	err = measure_pool_open(&p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		err = loadgen_new(&lopt, &l, diag);
	if (!err)
		err = measure_feed(&p, l, 0, &fed, diag);
	if (!err) {
		v[0] = nr;
		v[1] = random * 100;
		v[2] = measure_rate(fed.bytes, fed.result.elapsed_ns);
		v[3] = (double)fed.bytes / (double)fed.result.bytes_stored;
		v[4] = measure_counted(&p, AKIN_COUNTER_metadata_write_ops);
		v[5] = measure_counted(&p, AKIN_COUNTER_metadata_read_ops);
		v[6] = measure_counted(&p, AKIN_COUNTER_data_write_bytes) / 1e6;
		v[7] = measure_counted(&p, AKIN_COUNTER_data_read_ops);
		err = measure_add(r, NULL, v);
	}
	loadgen_free(l);
	measure_pool_close(&p);
	return err;
}

static int by_count(const struct measure_options *opt,
		    struct measure_report *out, struct akin_diag *diag)
{
	static const unsigned counts[] = { 1, 2, 4, 8 };
	static const double shares[] = { 0, 0.5, 1 };
	const unsigned *v = opt->nr_counts ? opt->counts : counts;
	uint32_t nr = opt->nr_counts ? opt->nr_counts : COUNT(counts), i, k;
	int err = 0;

	out->verb = "streams";
	out->title = "Streams at once";
	out->text = "So many streams are sent at once in one transaction, each "
		"by a thread of its own, into a new pool. A share of their "
		"units is random and occurs once, the rest repeats a hundredth "
		"of them; half of the bytes compress away. Operations are "
		"those of the whole transaction.";
	out->columns = streams_columns;
	out->nr_columns = COUNT(streams_columns);
	out->charts = streams_charts;
	out->nr_charts = COUNT(streams_charts);
	for (k = 0; !err && k < COUNT(shares); k++) {
		for (i = 0; !err && i < nr; i++) {
			err = measure_tick(opt, diag,
					   "%u streams, %.0f%% random", v[i],
					   shares[k] * 100);
			if (!err)
				err = one_streams(opt, v[i], shares[k], out,
						  diag);
		}
	}
	measure_machine(out);
	return err;
}

/* Without numbers, all that there is to say about streams. */
int measure_streams(const struct measure_options *opt,
		    struct measure_report *out, struct akin_diag *diag)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = by_count(opt, out, diag);
	if (err || opt->nr_counts)
		return err;
	out->next = calloc(1, sizeof(*out));
	if (!out->next)
		return measure_fail(diag, -AKIN_E_nomem, "report");
	err = measure_engines(opt, out->next, diag);
	out->next->machine[0] = 0;
	if (err)
		return err;
	out = measure_more(out);
	if (!out)
		return measure_fail(diag, -AKIN_E_nomem, "report");
	err = measure_targets(opt, out, diag);
	out->machine[0] = 0;
	return err;
}

/* Verify ---------------------------------------------------------------------*/

static const struct measure_column verify_columns[] = {
	{ "new_mb_per_s", "new MB/s", 0 },
	{ "again_mb_per_s", "again MB/s", 0 },
	{ "of_off", "of off", 3 },
	{ "data_read_mb", "MB read", 1 },
	{ "compared", "compared", 0 },
};

static const struct measure_chart verify_charts[] = {
	{ "Throughput by verification", "MB/s", MEASURE_BARS, { 0, 1 }, 2, -1 },
};

static int one_verify(const struct measure_options *opt, const char *name,
		      enum akin_verify level, const struct loadgen *l,
		      double *off, struct measure_report *r,
		      struct akin_diag *diag)
{
	double v[COUNT(verify_columns)];
	struct loadgen_fed fed;
	struct measure_pool p;
	int err;

	err = measure_pool_open(&p, opt, level, diag);
	if (!err)
		err = measure_feed(&p, l, 0, &fed, diag);
	v[0] = err ? 0 : measure_rate(fed.bytes, fed.result.elapsed_ns);
	/* Caches as of a process that comes later. */
	if (!err)
		err = measure_pool_reopen(&p, opt, level, diag);
	if (!err)
		err = measure_feed(&p, l, 0, &fed, diag);
	if (!err) {
		v[1] = measure_rate(fed.bytes, fed.result.elapsed_ns);
		*off = *off > 0 ? *off : v[1];
		v[2] = v[1] / *off;
		v[3] = measure_counted(&p, AKIN_COUNTER_data_read_bytes) / 1e6;
		v[4] = measure_counted(&p, AKIN_COUNTER_chunks_compared);
		err = measure_add(r, name, v);
	}
	measure_pool_close(&p);
	return err;
}

int measure_verify(const struct measure_options *opt,
		   struct measure_report *out, struct akin_diag *diag)
{
	static const char *const names[] = { "off", "match", "write" };
	struct loadgen_options lopt = { .random_share = -1,
					.compressible = 0.5 };
	struct loadgen *l;
	double off = 0;
	uint32_t i;
	int err;

	memset(out, 0, sizeof(*out));
	out->verb = "verify";
	out->title = "Verification";
	out->text = "The same data twice into a pool, once for each level of "
		"verification: 'off' trusts fingerprints, 'match' compares "
		"bytes before they are shared, 'write' also reads back what "
		"was written. The second time all of it is there already, and "
		"'of off' is that rate as a share of the one without.";
	out->row_title = "verify";
	out->columns = verify_columns;
	out->nr_columns = COUNT(verify_columns);
	out->charts = verify_charts;
	out->nr_charts = COUNT(verify_charts);
	lopt.stream_bytes = opt->bytes ? opt->bytes : VERIFY_BYTES;
	err = loadgen_new(&lopt, &l, diag);
	if (err)
		return err;
	for (i = 0; !err && i < COUNT(names); i++) {
		err = measure_tick(opt, diag, "verify=%s", names[i]);
		if (!err)
			err = one_verify(opt, names[i], AKIN_VERIFY_OFF + i, l,
					 &off, out, diag);
	}
	loadgen_free(l);
	measure_machine(out);
	return err;
}

/* Growth ---------------------------------------------------------------------*/

static const struct measure_column growth_columns[] = {
	{ "pool_mb", "pool MB", 0 },
	{ "new_mb_per_s", "new MB/s", 0 },
	{ "again_mb_per_s", "again MB/s", 0 },
	{ "index_pages", "index pages", 0 },
	{ "directories", "directories", 0 },
	{ "hit_percent", "found in memory %", 2 },
};

static const struct measure_chart growth_charts[] = {
	{ "Throughput while the pool grows", "MB/s", MEASURE_LINES, { 1, 2 }, 2, -1 },
	{ "Pages of the index read for old data", "pages", MEASURE_LINES, { 3 }, 1,
	  -1 },
};

/* Data of a step of its own, then that of the first step again. */
static int one_step(struct measure_pool *p, const struct measure_options *opt,
		    uint32_t step, double *stored, struct measure_report *r,
		    struct akin_diag *diag)
{
	struct loadgen_options lopt = { .random_share = -1,
					.compressible = 0.5 };
	double v[COUNT(growth_columns)], hits, misses;
	struct loadgen *l = NULL, *first = NULL;
	struct loadgen_fed fed;
	int err;

	lopt.stream_bytes = opt->bytes || opt->nr_traces ? opt->bytes :
			    STEP_BYTES;
	lopt.trace = opt->nr_traces ? opt->traces[0] : NULL;
	err = loadgen_new(&lopt, &first, diag);
	lopt.seed = opt->nr_traces ? 0 : step;
	lopt.trace = opt->nr_traces ? opt->traces[step] : NULL;
	if (!err)
		err = loadgen_new(&lopt, &l, diag);
	if (!err)
		err = measure_feed(p, l, 0, &fed, diag);
	if (!err) {
		*stored += (double)fed.result.bytes_stored / 1e6;
		v[0] = *stored;
		v[1] = measure_rate(fed.bytes, fed.result.elapsed_ns);
		err = measure_pool_reopen(p, opt, AKIN_VERIFY_DEFAULT, diag);
	}
	if (!err)
		err = measure_feed(p, first, 0, &fed, diag);
	if (!err) {
		hits = measure_counted(p, AKIN_COUNTER_directory_hits);
		misses = measure_counted(p, AKIN_COUNTER_directory_misses);
		v[2] = measure_rate(fed.bytes, fed.result.elapsed_ns);
		v[3] = measure_counted(p, AKIN_COUNTER_index_page_reads);
		v[4] = measure_counted(p, AKIN_COUNTER_directory_loads);
		v[5] = hits + misses > 0 ? 100 * hits / (hits + misses) : 0;
		err = measure_add(r, NULL, v);
	}
	loadgen_free(first);
	loadgen_free(l);
	return err;
}

int measure_growth(const struct measure_options *opt,
		   struct measure_report *out, struct akin_diag *diag)
{
	uint32_t steps = opt->nr_counts ? opt->counts[0] :
			 opt->nr_traces ? opt->nr_traces : GROWTH_STEPS, i;
	struct measure_pool p;
	double stored = 0;
	int err;

	memset(out, 0, sizeof(*out));
	if (opt->nr_traces && steps > opt->nr_traces)
		steps = opt->nr_traces;
	out->verb = "growth";
	out->title = "A pool that grows";
	out->text = "Step by step the pool gets new data, then, in a session "
		"that knows nothing yet, the data of the first step again. "
		"What keeps its rate whatever the pool holds is level here; "
		"what needs a lookup on disk for each chunk is not. With "
		"traces, a step is what one of them had.";
	out->columns = growth_columns;
	out->nr_columns = COUNT(growth_columns);
	out->charts = growth_charts;
	out->nr_charts = COUNT(growth_charts);
	err = measure_pool_open(&p, opt, AKIN_VERIFY_DEFAULT, diag);
	for (i = 0; !err && i < steps; i++) {
		err = measure_tick(opt, diag, "step %u of %u", i + 1, steps);
		if (!err)
			err = one_step(&p, opt, i, &stored, out, diag);
	}
	measure_pool_close(&p);
	measure_machine(out);
	return err;
}
