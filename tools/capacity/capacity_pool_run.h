/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `akin capacity akin` and `plan` share: a pool and a box from parameters,
 * and the explanation of what a pool needs.
 */
#ifndef CAPACITY_POOL_RUN_H
#define CAPACITY_POOL_RUN_H

#include "capacity_internal.h"
#include "capacity_pool.h"

struct cap_box {
	cap_u128 disk, meta, ram;	/* 0: not given; no metadata disk */
	unsigned years, days;		/* to look ahead */
	bool dated;
	unsigned from;			/* day of the first backup, if dated */
};

/* Only what was given; the rest stays. --data is not among them. */
int cap_pool_params(const struct cap_request *r, struct cap_pool *p,
		    struct akin_diag *diag);
int cap_box_params(const struct cap_request *r, struct cap_box *b,
		   struct akin_diag *diag);
void cap_pool_explain(struct cap_doc *d, const struct cap_pool *p,
		      unsigned day);
/* Needs over time, as a table. */
void cap_pool_points(struct cap_doc *d, const struct cap_pool *p,
		     const struct cap_box *b);
/* " on 2028-01-02 (after 1 year)", as far as it is known. */
void cap_put_day(struct cap_text *t, const struct cap_box *b, unsigned day);
/* A size for a label, in SI units, rounded up to three digits. */
cap_u128 cap_round_up(double bytes);

#endif
