/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions as DEDISbench has them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "loadgen_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct loadgen_class *lines = NULL;
	struct akin_diag diag = { 0 };
	uint32_t nr = 0, i;
	FILE *f;
	int err;

	f = len ? fmemopen((void *)(uintptr_t)data, len, "rb") : NULL;
	if (!f)
		return 0;
	err = loadgen_read_distribution(f, "fuzz", &lines, &nr, &diag);
	fclose(f);
	if (err && (diag.code != err || !diag.text[0]))
		abort();
	for (i = 0; i < nr; i++) {
		if (!lines[i].copies || lines[i].nr > (uint64_t)1 << 48)
			abort();
	}
	free(lines);
	return 0;
}
