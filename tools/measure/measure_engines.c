/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each engine on data of which more and more is random; and what goes to either
 * pool over time while streams come, are read back, and both at once.
 *
 * What depends on how random data is must be what goes to the data pool, and
 * not what goes to the metadata pool; nor may a backup read data.
 */
#include <pthread.h>
#include <string.h>

#include "loadgen_feed.h"
#include "measure_pool.h"

#define STREAMS 8
#define STREAM_BYTES ((uint64_t)64 << 20)
/* Where one unit meets another, chunks are new whatever the units are: so large
 * ones, that what repeats does. */
#define UNIT (1u << 20)
/* Contents of data that repeats, made once. */
#define KEEP_BYTES ((size_t)64 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Randomness -----------------------------------------------------------------*/

static const struct measure_column engines_columns[] = {
	{ "random_percent", "random %", 0 },
	{ "backup_mb_per_s", "backup MB/s", 0 },
	{ "restore_mb_per_s", "restore MB/s", 0 },
	{ "ratio", "ratio", 2 },
	{ "metadata_write_ops", "meta writes", 0 },
	{ "metadata_read_ops", "meta reads", 0 },
	{ "data_write_ops", "data writes", 0 },
	{ "data_read_ops", "data reads", 0 },
	{ "restore_metadata_read_ops", "restore meta", 0 },
	{ "restore_data_read_ops", "restore data reads", 0 },
};

static const struct measure_chart engines_charts[] = {
	{ "Backup against randomness", "MB/s", MEASURE_LINES, { 1 }, 1,
	  MEASURE_BY_LABEL },
	{ "Restore against randomness", "MB/s", MEASURE_LINES, { 2 }, 1,
	  MEASURE_BY_LABEL },
	{ "Metadata pool: reads and writes of a backup", "operations",
	  MEASURE_LINES, { 4, 5 }, 2, MEASURE_BY_LABEL },
	{ "Data pool: reads of a backup", "operations", MEASURE_LINES, { 7 }, 1,
	  MEASURE_BY_LABEL },
};

static const struct {
	enum akin_engine engine;
	const char *name;
} engines[] = {
	{ AKIN_ENGINE_IDENTITY, "identity" },
	{ AKIN_ENGINE_SIMILARITY, "similarity" },
	{ AKIN_ENGINE_HYBRID, "hybrid" },
};

static int new_load(const struct measure_options *opt, double random,
		    uint64_t seed, struct loadgen **out, struct akin_diag *diag)
{
	struct loadgen_options lopt = {
		.nr_streams = opt->nr_counts ? opt->counts[0] : STREAMS,
		.seed = seed, .random_share = random, .compressible = 0.5,
		.unit_bytes = UNIT, .keep_bytes = KEEP_BYTES,
	};

	lopt.stream_bytes = opt->bytes ? opt->bytes : STREAM_BYTES;
	return loadgen_new(&lopt, out, diag);
}

static int measure_one(struct measure_pool *p, const struct loadgen *l,
		       const struct measure_options *opt, double *v,
		       struct akin_diag *diag)
{
	struct loadgen_back back;
	struct loadgen_fed fed;
	int err;

	err = measure_feed(p, l, 0, &fed, diag);
	if (err)
		return err;
	v[1] = measure_rate(fed.bytes, fed.result.elapsed_ns);
	v[3] = (double)fed.bytes / (double)fed.result.bytes_stored;
	v[4] = measure_counted(p, AKIN_COUNTER_metadata_write_ops);
	v[5] = measure_counted(p, AKIN_COUNTER_metadata_read_ops);
	v[6] = measure_counted(p, AKIN_COUNTER_data_write_ops);
	v[7] = measure_counted(p, AKIN_COUNTER_data_read_ops);
	err = measure_restore(p, opt, l, fed.result.transaction, &back, diag);
	if (err)
		return err;
	v[2] = measure_rate(back.bytes, back.ns);
	v[8] = measure_counted(p, AKIN_COUNTER_metadata_read_ops);
	v[9] = measure_counted(p, AKIN_COUNTER_data_read_ops);
	return 0;
}

static int one_share(const struct measure_options *opt, const char *name,
		     double random, struct measure_report *r,
		     struct akin_diag *diag)
{
	double v[COUNT(engines_columns)];
	struct loadgen *l = NULL;
	struct measure_pool p;
	int err;

	err = measure_tick(opt, diag, "%s, %.0f%% random", name, random * 100);
	if (err)
		return err;
	err = measure_pool_open(&p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		err = new_load(opt, random, 1, &l, diag);
	v[0] = random * 100;
	if (!err)
		err = measure_one(&p, l, opt, v, diag);
	if (!err)
		err = measure_add(r, name, v);
	loadgen_free(l);
	measure_pool_close(&p);
	return err;
}

static int compare_engines(const struct measure_options *opt,
			   struct measure_report *r, struct akin_diag *diag)
{
	static const double shares[] = { 0, 0.25, 0.5, 0.75, 1 };
	struct measure_options mine = *opt;
	uint32_t i, k;
	int err = 0;

	r->verb = "engines";
	r->title = "Engines and randomness";
	r->text = "Streams sent at once in one transaction into a new pool, "
		"then read back by a session that knows nothing yet, from a "
		"cold cache. A share of their units is random and occurs once, "
		"the rest repeats a hundredth of them; half of the bytes "
		"compress away. What goes to the metadata pool must not depend "
		"on the share, and a backup must not read from the data pool.";
	r->row_title = "engine";
	r->columns = engines_columns;
	r->nr_columns = COUNT(engines_columns);
	r->charts = engines_charts;
	r->nr_charts = COUNT(engines_charts);
	for (i = 0; !err && i < COUNT(engines); i++) {
		mine.engine = engines[i].engine;
		for (k = 0; !err && k < COUNT(shares); k++)
			err = one_share(&mine, engines[i].name, shares[k], r,
					diag);
	}
	return err;
}

/* Time -----------------------------------------------------------------------*/

static const struct measure_chart phases_charts[] = {
	{ "Metadata pool: operations", "a second", MEASURE_TIME, { 3, 4, 5 }, 3,
	  MEASURE_BY_NONE },
	{ "Metadata pool: latency", "ms", MEASURE_TIME, { 6, 7, 8 }, 3,
	  MEASURE_BY_NONE },
	{ "Data pool: operations", "a second", MEASURE_TIME, { 9, 10, 11 }, 3,
	  MEASURE_BY_NONE },
	{ "Data pool: latency", "ms", MEASURE_TIME, { 12, 13, 14 }, 3,
	  MEASURE_BY_NONE },
	{ "Throughput", "MB/s", MEASURE_TIME, { 1, 2 }, 2, MEASURE_BY_NONE },
};

struct phases {
	const struct measure_options *opt;
	struct measure_pool p;
	struct measure_sampler *sampler;
	struct loadgen *loads[3];	/* that repeats, random, another one */
	uint64_t transactions[3];
};

static int backup(struct phases *s, uint32_t load, const char *name,
		  struct akin_diag *diag)
{
	struct loadgen_fed fed;
	int err;

	err = measure_tick(s->opt, diag, "%s", name);
	if (err)
		return err;
	measure_sampler_phase(s->sampler, name);
	err = measure_feed(&s->p, s->loads[load], 0, &fed, diag);
	s->transactions[load] = err ? 0 : fed.result.transaction;
	return err;
}

/* From here on nothing is known of the pool, nor in a cache. */
static int forget_all(struct phases *s, struct akin_diag *diag)
{
	int err;

	measure_sampler_pause(s->sampler);
	measure_cold(s->p.dir);
	err = measure_pool_reopen(&s->p, s->opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		measure_sampler_resume(s->sampler);
	return err;
}

static int restore(struct phases *s, uint32_t load, const char *name,
		   struct akin_diag *diag)
{
	struct loadgen_back back;
	int err;

	err = measure_tick(s->opt, diag, "%s", name);
	if (err)
		return err;
	measure_sampler_phase(s->sampler, name);
	err = forget_all(s, diag);
	return err ? err : loadgen_read_back(s->loads[load], s->p.s, 0,
					     s->transactions[load], 0, false,
					     &back, diag);
}

struct beside {
	struct phases *s;
	struct akin_diag diag;
	int err;
};

static void *restore_beside(void *arg)
{
	struct beside *b = arg;
	struct loadgen_back back;

	b->err = loadgen_read_back(b->s->loads[1], b->s->p.s, 0,
				   b->s->transactions[1], 0, false, &back,
				   &b->diag);
	return NULL;
}

static int both(struct phases *s, const char *name, struct akin_diag *diag)
{
	struct beside b = { .s = s };
	struct loadgen_fed fed;
	pthread_t thread;
	int err;

	err = measure_tick(s->opt, diag, "%s", name);
	if (err)
		return err;
	measure_sampler_phase(s->sampler, name);
	err = forget_all(s, diag);
	if (err)
		return err;
	if (pthread_create(&thread, NULL, restore_beside, &b))
		return measure_fail(diag, -AKIN_E_nomem, "a thread to restore");
	err = measure_feed(&s->p, s->loads[2], 0, &fed, diag);
	pthread_join(thread, NULL);
	if (!err && b.err)
		err = measure_fail(diag, b.err, "%s", b.diag.text);
	return err;
}

static int run_phases(struct phases *s, struct akin_diag *diag)
{
	int err;

	err = backup(s, 0, "backup 0%", diag);
	if (!err)
		err = restore(s, 0, "restore 0%", diag);
	if (!err)
		err = backup(s, 1, "backup 100%", diag);
	if (!err)
		err = restore(s, 1, "restore 100%", diag);
	return err ? err : both(s, "backup 100%, restores beside", diag);
}

/* Latencies stand three columns behind the rate of their operations. */
static bool is_latency(uint32_t column)
{
	return (column >= 6 && column < 9) || column >= 12;
}

/* Sums of rates by time and of latencies by operations, as means of both. */
static void finish_means(double *sum, double seconds)
{
	uint32_t k;

	for (k = 1; k < MEASURE_SAMPLER_COLUMNS; k++) {
		if (is_latency(k))
			sum[k] = sum[k - 3] > 0 ? sum[k] / sum[k - 3] : 0;
	}
	for (k = 1; k < MEASURE_SAMPLER_COLUMNS; k++) {
		if (!is_latency(k))
			sum[k] /= seconds;
	}
	sum[0] = seconds;
}

static int summarise(const struct measure_report *samples,
		     struct measure_report *r)
{
	double sum[MEASURE_SAMPLER_COLUMNS] = { 0 }, last = 0, begun = 0, t;
	const double *v = samples->values;
	uint32_t i, k;
	int err = 0;

	for (i = 0; !err && i < samples->nr_rows; i++) {
		t = v[0] - last;
		last = v[0];
		for (k = 1; k < MEASURE_SAMPLER_COLUMNS; k++)
			sum[k] += v[k] * t * (is_latency(k) ? v[k - 3] : 1);
		v += samples->nr_columns;
		if (i + 1 < samples->nr_rows &&
		    strcmp(samples->labels[i], samples->labels[i + 1]) == 0)
			continue;
		finish_means(sum, last - begun);
		err = measure_add(r, samples->labels[i], sum);
		memset(sum, 0, sizeof(sum));
		begun = last;
	}
	return err;
}

static int watch(const struct measure_options *opt, struct measure_report *r,
		 struct measure_report *samples, struct akin_diag *diag)
{
	struct phases s = { .opt = opt };
	uint32_t i;
	int err, err2;

	err = measure_pool_open(&s.p, opt, AKIN_VERIFY_DEFAULT, diag);
	for (i = 0; !err && i < COUNT(s.loads); i++)
		err = new_load(opt, i ? 1 : 0, i, &s.loads[i], diag);
	if (!err)
		err = measure_sampler_start(&s.p, samples, &s.sampler, diag);
	if (!err)
		err = run_phases(&s, diag);
	err2 = measure_sampler_stop(s.sampler);
	if (!err && err2)
		err = measure_fail(diag, err2, "samples");
	for (i = 0; i < COUNT(s.loads); i++)
		loadgen_free(s.loads[i]);
	measure_pool_close(&s.p);
	return err ? err : summarise(samples, r);
}

static int over_time(const struct measure_options *opt,
		     struct measure_report *r, struct measure_report *samples,
		     struct akin_diag *diag)
{
	r->verb = "phases";
	r->title = "Over time, phase by phase";
	r->text = "The same streams one phase after the other, all in one "
		"pool: data that repeats, read back, random data, read back, "
		"and other random data while the first is read again. Means of "
		"each phase.";
	r->row_title = "phase";
	r->columns = measure_sampler_columns;
	r->nr_columns = MEASURE_SAMPLER_COLUMNS;
	samples->verb = "samples";
	samples->title = "Over time";
	samples->text = "The same, twenty times a second.";
	samples->row_title = "phase";
	samples->columns = measure_sampler_columns;
	samples->nr_columns = MEASURE_SAMPLER_COLUMNS;
	samples->charts = phases_charts;
	samples->nr_charts = COUNT(phases_charts);
	samples->quiet = true;
	return watch(opt, r, samples, diag);
}

int measure_engines(const struct measure_options *opt,
		    struct measure_report *out, struct akin_diag *diag)
{
	struct measure_report *phases, *samples;
	int err;

	memset(out, 0, sizeof(*out));
	phases = measure_more(out);
	samples = measure_more(out);
	if (!phases || !samples)
		return measure_fail(diag, -AKIN_E_nomem, "report");
	err = compare_engines(opt, out, diag);
	if (!err)
		err = over_time(opt, phases, samples, diag);
	measure_machine(out);
	return err;
}
