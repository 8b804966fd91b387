/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files and directories that save most, and those that take most.
 *
 * What a file takes goes by order: the first of two that are the same takes
 * all. A directory is all that is below it; it is not listed beside one below
 * it that makes nearly all of it.
 *
 * Memory: ESTIMATE_PLACES of each list, and one for each level of directories.
 */
#ifndef ESTIMATE_TOP_H
#define ESTIMATE_TOP_H

#include "estimate_internal.h"

#define ESTIMATE_PLACES 20

int estimate_top_new(struct estimate_top **out, struct akin_diag *diag)
	__must_check;
/* NULL is fine. */
void estimate_top_free(struct estimate_top *t);
/* The events of a batch that the methods are through with. */
int estimate_top_take(struct estimate_top *t, const struct batch *b,
		      struct akin_diag *diag) __must_check;
const struct estimate_place *estimate_top_list(const struct estimate_top *t,
					       enum estimate_order by,
					       bool dirs, u32 *nr_ret);

#endif
