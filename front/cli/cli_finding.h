/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage as check and repair print it, a line each on standard output.
 */
#ifndef CLI_FINDING_H
#define CLI_FINDING_H

struct cli;

/* Without a code it is a remark, which counts for nothing. */
void cli_print_finding(struct cli *c, int code, const char *text,
		       const char *snapshot, const char *path);

#endif
