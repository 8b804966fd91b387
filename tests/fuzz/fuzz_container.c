/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container headers and footers.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("container-header"), data, len);
	format_case_fuzz(format_case_find("container-footer"), data, len);
	return 0;
}
