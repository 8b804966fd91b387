/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reports of akin estimate share: text, JSON, a page.
 */
#ifndef CLI_ESTIMATE_H
#define CLI_ESTIMATE_H

#include "cli.h"
#include "estimate.h"

struct cli_estimate {
	struct cli *c;
	struct estimate *e;
	struct estimate_walk walk;
	struct estimate_result r[ESTIMATE_NR_METHODS];
	struct estimate_references refs;
	struct estimate_series series;
	bool is_series;		/* the one above is known */
	uint64_t total;		/* bytes that will be read; 0: not known */
	uint64_t begun_ns;
};

void cli_estimate_text(const struct cli_estimate *r);
void cli_estimate_json(const struct cli_estimate *r);
/* To the file that --report names; 0 or a code. */
int cli_estimate_html(const struct cli_estimate *r);

/* "exact", or how far the ends are away: "-0.4/+0.4%". Returns @out. */
const char *cli_interval_text(const struct estimate_sum *s,
			      char out[CLI_UNIT_TEXT]);

#endif
