/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a stream comes from: standard input, or a command that we run.
 */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include <sys/types.h>

#include "cli_diag.h"

struct cli_stream {
	int fd;
	pid_t pid;		/* 0: standard input */
	const char *command;	/* borrowed */
};

void cli_stream_stdin(struct cli_stream *s);
/* Runs argv[0], found in PATH, with our standard input and error. @argv ends
 * with NULL and is borrowed. */
int cli_stream_exec(struct cli_stream *s, char *const *argv,
		    struct akin_diag *diag);
/* For akin_backup_stream(); @ctx is the stream. */
long cli_stream_read(void *ctx, void *buf, size_t cap, struct akin_diag *diag);
/* The same: waits for the command, and is an error unless it exits with 0. */
int cli_stream_finish(void *ctx, struct akin_diag *diag);
/* Ends a command that still runs. */
void cli_stream_release(struct cli_stream *s);

#endif
