/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of file systems, binary.
 */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	fuzz_trace(TRACE_HASHFILE, data, len);
	return 0;
}
