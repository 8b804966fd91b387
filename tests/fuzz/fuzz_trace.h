/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of any bytes: it has sound records, then ends or is refused. */
#ifndef FUZZ_TRACE_H
#define FUZZ_TRACE_H

#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "../../tools/trace/trace.h"

static inline void fuzz_trace(enum trace_format format, const uint8_t *data,
			      size_t len)
{
	struct akin_diag diag = { 0 };
	struct trace_record r;
	struct trace *t;
	FILE *f;
	int err;

	f = len ? fmemopen((void *)(uintptr_t)data, len, "rb") : NULL;
	if (!f)
		return;
	err = trace_open(f, "fuzz", format, &t, &diag);
	if (!err) {
		while ((err = trace_next(t, &r, &diag)) > 0) {
			if (!r.bytes || r.bytes > TRACE_BLOCK_MAX ||
			    !r.hash_bytes || r.hash_bytes > TRACE_HASH_MAX)
				abort();
			trace_number(&r);
		}
		trace_close(t);
	}
	if (err < 0 && (diag.code != err || !diag.text[0]))
		abort();
	fclose(f);
}

#endif
