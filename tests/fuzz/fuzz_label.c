/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of snapshots.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("label"), data, len);
	return 0;
}
