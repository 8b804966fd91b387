/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many streams at once, with data of which more and more is new.
 */
#include <stdlib.h>
#include <string.h>

#include "loadgen_feed.h"
#include "measure_pool.h"

#define STREAM_BYTES ((uint64_t)128 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
