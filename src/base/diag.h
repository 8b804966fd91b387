/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing diagnostics. See include/akin/error.h for the rules.
 *
 * The usual form is `return diag_set(d, -AKIN_E_io, "container %llu: ...")`:
 * the functions return the code they were given. @d may be NULL everywhere.
 */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "akin/error.h"
#include "base/types.h"

/* Record @code and its message, unless an earlier error is there. */
int diag_set(struct akin_diag *d, int code, const char *fmt, ...)
	__printf(3, 4);
/* The same, with ": strerror(@err)" behind the text. */
int diag_set_errno(struct akin_diag *d, int code, int err, const char *fmt, ...)
	__printf(4, 5);
/* For the outermost function: out of memory may have come without a word.
 * Returns @err; 0 changes nothing. */
int diag_said(struct akin_diag *d, int err);
/* Hand on @err with the message of @why, or its name if that has none. */
int diag_pass(struct akin_diag *d, int err, const struct akin_diag *why);
/* Put context in front of what is there; returns d->code (0 if @d is NULL). */
void diag_prefix(struct akin_diag *d, const char *fmt, ...) __printf(2, 3);
/* What the user can do now; the first hint wins. */
void diag_hint(struct akin_diag *d, const char *fmt, ...) __printf(2, 3);
void diag_clear(struct akin_diag *d);
/* The private code that fits an errno (ENOSPC, EACCES, ...); negative. */
int error_from_errno(int err);

#endif
