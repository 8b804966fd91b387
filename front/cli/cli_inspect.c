/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin inspect.
 */
#include <string.h>

#include "cli.h"
#include "inspect.h"

/* Every file is shown; the first error counts. */
int cli_cmd_inspect(struct cli *c)
{
	const struct cli_list *files = &c->args.operands;
	struct akin_diag diag;
	int err, first = 0;
	uint32_t i;

	for (i = 0; i < files->nr; i++) {
		memset(&diag, 0, sizeof(diag));
		if (files->nr > 1 && !c->args.json)
			printf("%s%s:\n", i ? "\n" : "",
			       cli_quoted(c, files->v[i]));
		err = inspect_file(files->v[i], c->args.json, stdout, &diag);
		if (cli_output_error(c))
			return c->diag.code;
		if (err && !first) {
			first = err;
			c->diag = diag;
		} else if (err) {
			fflush(stdout);
			cli_term_message(CLI_ERROR, err, NULL, diag.text,
					 diag.hint);
		}
	}
	return first;
}
