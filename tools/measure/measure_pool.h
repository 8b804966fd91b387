/* SPDX-License-Identifier: Apache-2.0 */
/* A pool to measure on, and what its process has counted. */
#ifndef MEASURE_POOL_H
#define MEASURE_POOL_H

#include "akin/counters.h"
#include "measure.h"

struct loadgen;
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
double measure_counted(const struct measure_pool *p, enum akin_counter what);

#endif
