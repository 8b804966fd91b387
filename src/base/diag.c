/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics and the error table.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"

struct error_info {
	const char *name;
	const char *text;
	enum akin_error_class class;
	int err;
};

static const struct error_info error_table[AKIN_NR_ERRORS] = {
	[AKIN_OK] = { "ok", "success", AKIN_CLASS_OK, 0 },
#define AKIN_ERROR_INFO(name, class, err, text) \
	[AKIN_E_##name] = { #name, text, AKIN_CLASS_##class, err },
	AKIN_ERRORS(AKIN_ERROR_INFO)
#undef AKIN_ERROR_INFO
};

static const struct error_info *error_lookup(int code)
{
	if (code < 0)
		code = -code;
	if (code >= AKIN_NR_ERRORS)
		code = AKIN_E_internal;
	return &error_table[code];
}

const char *akin_strerror(int code)
{
	return error_lookup(code)->text;
}

const char *akin_error_name(int code)
{
	return error_lookup(code)->name;
}

enum akin_error_class akin_error_class(int code)
{
	return error_lookup(code)->class;
}

int akin_error_errno(int code)
{
	return error_lookup(code)->err;
}

int diag_set(struct akin_diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d && d->code == 0) {
		d->code = code;
		va_start(ap, fmt);
		vsnprintf(d->text, sizeof(d->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

int diag_set_errno(struct akin_diag *d, int code, int err, const char *fmt, ...)
{
	char text[512], reason[128];
	va_list ap;

	if (!d || d->code != 0)
		return code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return diag_set(d, code, "%s: %s", text,
			strerror_r(err, reason, sizeof(reason)));
}

int diag_said(struct akin_diag *d, int err)
{
	return err ? diag_set(d, err, "%s", akin_strerror(err)) : 0;
}

int diag_pass(struct akin_diag *d, int err, const struct akin_diag *why)
{
	return err ? diag_set(d, err, "%s", why->text[0] ? why->text :
			      akin_strerror(err)) : 0;
}

void diag_prefix(struct akin_diag *d, const char *fmt, ...)
{
	char old[sizeof(d->text)];
	va_list ap;
	int n;

	if (!d || d->code == 0)
		return;
	memcpy(old, d->text, sizeof(old));
	va_start(ap, fmt);
	n = vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(d->text))
		return;
	snprintf(d->text + n, sizeof(d->text) - (size_t)n, ": %s", old);
}

void diag_hint(struct akin_diag *d, const char *fmt, ...)
{
	va_list ap;

	if (!d || d->hint[0])
		return;
	va_start(ap, fmt);
	vsnprintf(d->hint, sizeof(d->hint), fmt, ap);
	va_end(ap);
}

void diag_clear(struct akin_diag *d)
{
	if (d)
		memset(d, 0, sizeof(*d));
}

int error_from_errno(int err)
{
	switch (err) {
	case ENOMEM:
		return -AKIN_E_nomem;
	case ENOENT:
	case ENOTDIR:
		return -AKIN_E_absent;
	case EEXIST:
		return -AKIN_E_exists;
	case ENOSPC:
	case EDQUOT:
		return -AKIN_E_nospace;
	case EACCES:
	case EPERM:
		return -AKIN_E_denied;
	case EROFS:
		return -AKIN_E_readonly;
	case EBUSY:
	case EAGAIN:
		return -AKIN_E_busy;
	case ENOLCK:
		return -AKIN_E_no_locks;
	case EMFILE:
	case ENFILE:
		return -AKIN_E_too_many_files;
	case EFBIG:
		return -AKIN_E_too_large;
	case EINTR:
		return -AKIN_E_interrupted;
	default:
		return -AKIN_E_io;
	}
}
