/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files, as `akin inspect` is given them: whatever is in one, what is
 * printed is plain text, and both forms come to the same verdict.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "inspect.h"

static char path[64];

static void remove_file(void)
{
	(void)unlink(path);
}

/* One file, written anew for every input. */
static void put_file(const uint8_t *data, size_t len)
{
	FILE *f;
	int fd;

	if (!path[0]) {
		(void)snprintf(path, sizeof(path),
			       "/tmp/akin-fuzz-inspect-XXXXXX");
		fd = mkstemp(path);
		if (fd < 0)
			abort();
		(void)close(fd);
		(void)atexit(remove_file);
	}
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		abort();
}

static int show(bool json)
{
	struct akin_diag diag = { 0 };
	char *text = NULL;
	size_t len = 0, i;
	FILE *out = open_memstream(&text, &len);
	int err;

	if (!out)
		abort();
	err = inspect_file(path, json, out, &diag);
	(void)fclose(out);
	for (i = 0; i < len; i++) {
		if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
			abort();
	}
	if (len && text[len - 1] != '\n')
		abort();
	if (err && !diag.text[0])
		abort();
	free(text);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	put_file(data, len);
	if (show(false) != show(true))
		abort();
	return 0;
}
