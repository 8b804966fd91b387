/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/optimize_plan.h"

void optimize_plan(u32 nr, u8 depth, struct optimize_step *out)
{
	u32 begin = 0, k;	/* version the chain begins with */

	for (k = 0; k < nr; k++) {
		out[k].parent = k ? k - 1 : 0;
		out[k].depth = 0;
		if (!k || !depth)
			continue;
		if (out[k - 1].depth == depth) {
			out[k].parent = out[begin].depth < depth ? begin : 0;
			begin = k;
		} else if (k == 1) {
			begin = k;
		}
		out[k].depth = (u8)(out[out[k].parent].depth + 1);
	}
}
