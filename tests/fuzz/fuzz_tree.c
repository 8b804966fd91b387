/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree records: one, and a listing of many.
 */
#include "fuzz.h"

/* Each record is accepted as the encoding of itself, or ends the listing. */
static void fuzz_listing(const u8 *data, size_t len)
{
	const struct format_case *fc = format_case_find("tree-file");
	struct node n;
	size_t total;

	while (len && !node_decode(data, len, &n, &total)) {
		node_release(&n);
		(void)format_case_check(fc, data, total);
		data += total;
		len -= total;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	format_case_fuzz(format_case_find("tree-file"), data, len);
	fuzz_listing(data, len);
	return 0;
}
