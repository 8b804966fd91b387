/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superblocks: one copy damaged, both, or just different.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("super"), data, len);
	return 0;
}
