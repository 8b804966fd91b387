/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves, nodes, and content fields with their entries.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("leaf"), data, len);
	format_case_fuzz(format_case_find("content-entries"), data, len);
	return 0;
}
