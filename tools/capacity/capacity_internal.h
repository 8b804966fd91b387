/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the calculators share: errors, parameters, and their entries.
 */
#ifndef CAPACITY_INTERNAL_H
#define CAPACITY_INTERNAL_H

#include "capacity.h"
#include "capacity_doc.h"

/* As cap_put(); the first error stays. Returns -AKIN_E_usage. */
int cap_usage(struct akin_diag *diag, const char *fmt, ...);
void cap_hint(struct akin_diag *diag, const char *fmt, ...);

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
