/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy of the policy in the data pool.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("policy"), data, len);
	return 0;
}
