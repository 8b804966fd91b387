/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents to standard output, past stdio: the bytes come in large pieces and
 * are copied once less. Into a regular file that is empty behind the present
 * position, holes are made by seeking.
 */
#ifndef CLI_SINK_H
#define CLI_SINK_H

#include "cli.h"

struct cli_sink {
	struct cli *c;
	bool hole_at_end;
};

/* Callbacks of akin_snapshot_read() and the like, with the sink as context;
 * the second is NULL where holes cannot be made. */
int cli_sink_data(void *ctx, const void *data, size_t n);
typedef int cli_sink_hole_fn(void *ctx, uint64_t len);
cli_sink_hole_fn *cli_sink_hole(void);
/* After the last one, if all went well. */
int cli_sink_end(struct cli_sink *s);

#endif
