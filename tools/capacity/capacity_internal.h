/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the calculators share: errors, parameters, and their entries.
 */
#ifndef CAPACITY_INTERNAL_H
#define CAPACITY_INTERNAL_H

#include "capacity.h"
#include "capacity_doc.h"

/* As cap_put(); the first error stays. Returns -AKIN_E_usage. */
#define cap_usage(diag, ...) cap_usage_args(diag, CAP_FORMAT(__VA_ARGS__))
#define cap_hint(diag, ...) cap_hint_args(diag, CAP_FORMAT(__VA_ARGS__))
int cap_usage_args(struct akin_diag *diag, const char *fmt,
		   const struct cap_arg *args);
void cap_hint_args(struct akin_diag *diag, const char *fmt,
		   const struct cap_arg *args);

/*
 * The value of a parameter; *out stays as it is if it was not given.
 * -AKIN_E_usage.
 */
int cap_get_size(const struct cap_request *r, enum cap_param p, cap_u128 *out,
		 struct akin_diag *diag);
int cap_get_count(const struct cap_request *r, enum cap_param p, unsigned min,
		  unsigned max, unsigned *out, struct akin_diag *diag);

int cap_run_sun7000(const struct cap_request *r, struct cap_doc *d,
		    struct akin_diag *diag);
int cap_run_zfs(const struct cap_request *r, struct cap_doc *d,
		struct akin_diag *diag);
int cap_run_netapp(const struct cap_request *r, struct cap_doc *d,
		   struct akin_diag *diag);
int cap_run_akin(const struct cap_request *r, struct cap_doc *d,
		 struct akin_diag *diag);
int cap_run_plan(const struct cap_request *r, struct cap_doc *d,
		 struct akin_diag *diag);

#endif
