/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of store/ share about policies.
 */
#ifndef STORE_POLICY_H
#define STORE_POLICY_H

#include "akin/akin.h"
#include "policy/policy.h"

void store_policy_import(const struct akin_policy *from, struct policy *to);
/* Usage, unless it can be applied and stored. */
int store_policy_check(const struct akin_policy *policy, struct akin_diag *diag)
	__must_check;

#endif
