/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's own errors; see cli_diag.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli_diag.h"

int cli_fail(struct akin_diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d->code)
		return code;
	d->code = code;
	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	return code;
}

static int code_of(int err)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
		return -AKIN_E_nospace;
	case ENOENT:
		return -AKIN_E_absent;
	case EACCES:
	case EPERM:
		return -AKIN_E_denied;
	case ENOMEM:
		return -AKIN_E_nomem;
	default:
		return -AKIN_E_io;
	}
}

int cli_fail_errno(struct akin_diag *d, int err, const char *fmt, ...)
{
	char text[sizeof(d->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Room for the cause, however long the name. */
	return cli_fail(d, code_of(err), "%.900s: %s", text, strerror(err));
}

void cli_hint(struct akin_diag *d, const char *fmt, ...)
{
	va_list ap;

	if (d->hint[0])
		return;
	va_start(ap, fmt);
	vsnprintf(d->hint, sizeof(d->hint), fmt, ap);
	va_end(ap);
}
