/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's own errors, in the library's form, so that everything is
 * reported in one place.
 */
#ifndef CLI_DIAG_H
#define CLI_DIAG_H

#include "akin/error.h"
#include "cli_str.h"

/* As the library does it: the first error stays. Return @code. */
int cli_fail(struct akin_diag *d, int code, const char *fmt, ...)
	CLI_PRINTF(3, 4);
/* With ": strerror(err)" behind the text, and a code that fits @err. */
int cli_fail_errno(struct akin_diag *d, int err, const char *fmt, ...)
	CLI_PRINTF(3, 4);
/* The first hint stays. */
void cli_hint(struct akin_diag *d, const char *fmt, ...) CLI_PRINTF(2, 3);

#endif
