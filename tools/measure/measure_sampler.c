/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes to either pool over time.
 *
 * A thread reads the process's own counters every so often and turns their
 * differences into a row. Time stands still while there is no session.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure_pool.h"

#define INTERVAL_NS 50000000
/* Nothing can be said of a shorter time. */
#define LEAST_SECONDS 1e-5

struct measure_sampler {
	struct measure_pool *p;
	struct measure_report *out;
	pthread_t thread;
	pthread_mutex_t lock;	/* guards all below */
	pthread_cond_t wake;
	const char *phase;
	bool stopping, paused;
	double begun, last;	/* seconds; pauses move both */
	uint64_t before[AKIN_NR_COUNTER_VALUES];
	uint64_t now[AKIN_NR_COUNTER_VALUES];
	int err;
};

const struct measure_column measure_sampler_columns[] = {
	{ "seconds", "s", 2 },
	{ "backup_mb_per_s", "backup MB/s", 0 },
	{ "restore_mb_per_s", "restore MB/s", 0 },
	{ "metadata_read_iops", "meta reads/s", 0 },
	{ "metadata_write_iops", "writes/s", 0 },
	{ "metadata_sync_iops", "syncs/s", 1 },
	{ "metadata_read_ms", "read ms", 3 },
	{ "metadata_write_ms", "write ms", 3 },
	{ "metadata_sync_ms", "sync ms", 2 },
	{ "data_read_iops", "data reads/s", 0 },
	{ "data_write_iops", "writes/s", 0 },
	{ "data_sync_iops", "syncs/s", 1 },
	{ "data_read_ms", "read ms", 3 },
	{ "data_write_ms", "write ms", 3 },
	{ "data_sync_ms", "sync ms", 2 },
};

static double gained(const struct measure_sampler *s, unsigned what)
{
	return (double)(s->now[what] - s->before[what]);
}

/* Rate and mean latency of reads, writes and syncs. */
static void fill_disk(const struct measure_sampler *s, double seconds,
		      const unsigned ops[3], const unsigned ns[3], double *v)
{
	uint32_t i;

	for (i = 0; i < 3; i++) {
		v[i] = gained(s, ops[i]) / seconds;
		v[3 + i] = gained(s, ops[i]) > 0 ?
			   gained(s, ns[i]) / gained(s, ops[i]) / 1e6 : 0;
	}
}

static void sample_locked(struct measure_sampler *s)
{
	static const unsigned meta_ops[] = { AKIN_COUNTER_metadata_read_ops,
					     AKIN_COUNTER_metadata_write_ops,
					     AKIN_COUNTER_metadata_sync_ops };
	static const unsigned meta_ns[] = { AKIN_COUNTER_metadata_read_ns,
					    AKIN_COUNTER_metadata_write_ns,
					    AKIN_COUNTER_metadata_sync_ns };
	static const unsigned data_ops[] = { AKIN_COUNTER_data_read_ops,
					     AKIN_COUNTER_data_write_ops,
					     AKIN_COUNTER_data_sync_ops };
	static const unsigned data_ns[] = { AKIN_COUNTER_data_read_ns,
					    AKIN_COUNTER_data_write_ns,
					    AKIN_COUNTER_data_sync_ns };
	double at = measure_seconds(), seconds = at - s->last;
	double v[MEASURE_SAMPLER_COLUMNS];

	if (s->paused || seconds < LEAST_SECONDS)
		return;
	measure_look(s->p, s->now);
	v[0] = at - s->begun;
	v[1] = gained(s, AKIN_COUNTER_bytes_in) / seconds / 1e6;
	v[2] = gained(s, AKIN_COUNTER_bytes_out) / seconds / 1e6;
	fill_disk(s, seconds, meta_ops, meta_ns, v + 3);
	fill_disk(s, seconds, data_ops, data_ns, v + 9);
	if (!s->err)
		s->err = measure_add(s->out, s->phase, v);
	memcpy(s->before, s->now, sizeof(s->before));
	s->last = at;
}

static void *run(void *arg)
{
	struct measure_sampler *s = arg;
	struct timespec due;

	pthread_mutex_lock(&s->lock);
	clock_gettime(CLOCK_MONOTONIC, &due);
	while (!s->stopping) {
		due.tv_nsec += INTERVAL_NS;
		if (due.tv_nsec >= 1000000000) {
			due.tv_nsec -= 1000000000;
			due.tv_sec++;
		}
		/* Only a stop wakes it earlier. */
		if (pthread_cond_timedwait(&s->wake, &s->lock, &due))
			sample_locked(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void sampler_free(struct measure_sampler *s)
{
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int measure_sampler_start(struct measure_pool *p, struct measure_report *out,
			  struct measure_sampler **ret, struct akin_diag *diag)
{
	struct measure_sampler *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return measure_fail(diag, -AKIN_E_nomem, "sampler");
	s->p = p;
	s->out = out;
	s->phase = "";
	s->begun = s->last = measure_seconds();
	measure_look(p, s->before);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&s->thread, NULL, run, s)) {
		sampler_free(s);
		return measure_fail(diag, -AKIN_E_nomem, "a thread to sample");
	}
	*ret = s;
	return 0;
}

void measure_sampler_phase(struct measure_sampler *s, const char *name)
{
	pthread_mutex_lock(&s->lock);
	if (s->phase[0])
		sample_locked(s);
	s->phase = name;
	pthread_mutex_unlock(&s->lock);
}

void measure_sampler_pause(struct measure_sampler *s)
{
	pthread_mutex_lock(&s->lock);
	sample_locked(s);
	s->paused = true;
	s->begun -= measure_seconds();
	pthread_mutex_unlock(&s->lock);
}

void measure_sampler_resume(struct measure_sampler *s)
{
	pthread_mutex_lock(&s->lock);
	s->paused = false;
	s->last = measure_seconds();
	s->begun += s->last;
	measure_look(s->p, s->before);
	pthread_mutex_unlock(&s->lock);
}

int measure_sampler_stop(struct measure_sampler *s)
{
	int err;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	sample_locked(s);
	s->stopping = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	err = s->err;
	sampler_free(s);
	return err;
}
