/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of paths; see cli_names.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_names.h"
#include "cli_signal.h"

static int read_names(FILE *f, const char *label, int separator,
		      struct cli_list *out, struct akin_diag *diag)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int err = 0;

	errno = 0;
	while (!err && (n = getdelim(&line, &cap, separator, f)) > 0) {
		if (line[n - 1] == separator)
			line[--n] = 0;
		if (strlen(line) != (size_t)n) {
			err = cli_fail(diag, -AKIN_E_usage,
				       "%s: a NUL byte in a line", label);
			cli_hint(diag, "Names that end in NUL bytes are for "
				 "--files-from0.");
		} else if (n) {
			cli_list_add(out, cli_strdup(line));
		}
	}
	if (!err && cli_signal_received())
		err = cli_fail(diag, -AKIN_E_interrupted, "interrupted");
	if (!err && ferror(f))
		err = cli_fail_errno(diag, errno, "%s", label);
	free(line);
	return err;
}

int cli_names_read(const char *file, int separator, struct cli_list *out,
		   struct akin_diag *diag)
{
	FILE *f;
	int err;

	if (strcmp(file, "-") == 0)
		return read_names(stdin, "standard input", separator, out,
				  diag);
	f = fopen(file, "re");
	if (!f)
		return cli_fail_errno(diag, errno, "%s", file);
	err = read_names(f, file, separator, out, diag);
	fclose(f);
	return err;
}
