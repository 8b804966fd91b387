/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The similarity table.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("similar"), data, len);
	return 0;
}
