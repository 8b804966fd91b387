/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header and pages of index runs.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("run-header"), data, len);
	format_case_fuzz(format_case_find("run-page"), data, len);
	return 0;
}
