/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of block I/O, those of file systems as text, and what tells them
 * apart.
 */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	fuzz_trace(TRACE_ANY, data, len);
	fuzz_trace(TRACE_BLKTRACE, data, len);
	fuzz_trace(TRACE_TEXT, data, len);
	return 0;
}
