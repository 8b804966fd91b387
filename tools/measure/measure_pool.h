/* SPDX-License-Identifier: Apache-2.0 */
/* A pool to measure on, and what its process has counted. */
#ifndef MEASURE_POOL_H
#define MEASURE_POOL_H

#include "akin/counters.h"
#include "measure.h"

struct loadgen;
struct loadgen_back;
struct loadgen_fed;

struct measure_pool {
	char *dir;		/* of its own, removed at the end */
	struct akin_session *s;
	char id[33];
	uint64_t before[AKIN_NR_COUNTER_VALUES];
	uint64_t now[AKIN_NR_COUNTER_VALUES];
};

int measure_fail(struct akin_diag *d, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
double measure_seconds(void);	/* of a clock that only goes forward */
void measure_machine(struct measure_report *r);

/* A new directory below @opt->dir; *out is owned, and may be set on errors. */
int measure_dir_new(const struct measure_options *opt, char **out,
		    struct akin_diag *diag);
/* With all that is in it; takes @path, NULL is fine. */
void measure_dir_remove(char *path);
int measure_pool_open(struct measure_pool *p,
		      const struct measure_options *opt,
		      enum akin_verify verify, struct akin_diag *diag);
void measure_pool_close(struct measure_pool *p);
/* The same pool in a session that knows nothing yet. */
int measure_pool_reopen(struct measure_pool *p,
			const struct measure_options *opt,
			enum akin_verify verify, struct akin_diag *diag);
/* Feed one generation; counters of it are what measure_counted() says then. */
int measure_feed(struct measure_pool *p, const struct loadgen *l,
		 uint32_t generation, struct loadgen_fed *out,
		 struct akin_diag *diag);
/*
 * The same at no more than @bytes_per_second (0: as fast as it goes), and what
 * was stored read back in a session that knows nothing yet and from a cold
 * cache.
 */
int measure_feed_at(struct measure_pool *p, const struct loadgen *l,
		    uint64_t bytes_per_second, struct loadgen_fed *out,
		    struct akin_diag *diag);
int measure_restore(struct measure_pool *p, const struct measure_options *opt,
		    const struct loadgen *l, uint64_t transaction,
		    struct loadgen_back *out, struct akin_diag *diag);
/* Nothing of the pool is in the cache of the operating system, if that lets
 * itself be asked. */
void measure_cold(const char *dir);
/* All counters of the pool's session in this process. */
void measure_look(struct measure_pool *p, uint64_t *values);
double measure_counted(const struct measure_pool *p, enum akin_counter what);

/* MB/s */
double measure_rate(uint64_t bytes, uint64_t ns);
double measure_median(double *v, uint32_t n);
/* Says what comes next; non-zero: it shall not. */
int measure_tick(const struct measure_options *opt, struct akin_diag *diag,
		 const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * What goes to either pool over time, every so often until it is stopped.
 * Rows of @out, under measure_sampler_columns, go on being added.
 */
struct measure_sampler;
#define MEASURE_SAMPLER_COLUMNS 15
extern const struct measure_column
	measure_sampler_columns[MEASURE_SAMPLER_COLUMNS];
int measure_sampler_start(struct measure_pool *p, struct measure_report *out,
			  struct measure_sampler **ret,
			  struct akin_diag *diag);
/* What is counted from here on is of the phase @name, which is borrowed. */
void measure_sampler_phase(struct measure_sampler *s, const char *name);
/* The pool's session is closed or opened between these two. */
void measure_sampler_pause(struct measure_sampler *s);
void measure_sampler_resume(struct measure_sampler *s);
/* NULL is fine; an error is that of adding a row. */
int measure_sampler_stop(struct measure_sampler *s);

#endif
