/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of akin stats; each prints, and says in c->diag what failed.
 */
#ifndef CLI_FACTORS_H
#define CLI_FACTORS_H

#include "akin/akin.h"

struct cli;

/* Of the pool and of the last backup. */
int cli_pool_factors(struct cli *c);
int cli_snapshot_factors(struct cli *c, const struct akin_snapshot *s);
/* Chunks by reference count; @index_bytes as the pool's stats have them. */
int cli_histogram(struct cli *c, uint64_t index_bytes);
/* Now, the last seven days, the last day. */
int cli_compression(struct cli *c);
/* What a restore of it would read and decode. */
int cli_snapshot_cost(struct cli *c, const struct akin_snapshot *s);

#endif
