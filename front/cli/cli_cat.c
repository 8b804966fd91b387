/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin cat.
 */
#include "cli_sink.h"

int cli_cmd_cat(struct cli *c)
{
	struct cli_sink s = { .c = c };
	struct cli_name name = { 0 };
	int err;

	err = cli_open_reader(c);
	if (!err)
		err = cli_resolve(c, c->args.operands.v[0], &name);
	if (!err && !name.path) {
		err = cli_fail(&c->diag, -AKIN_E_usage, "'%s' names no file",
			       c->args.operands.v[0]);
		cli_hint(&c->diag, "Usage: akin %s",
			 cli_commands[CLI_CAT].synopsis[0]);
	}
	if (!err)
		err = akin_snapshot_read(c->pool, name.snapshot, name.path,
					 cli_sink_data, cli_sink_hole(),
					 &s, &c->diag);
	if (!err)
		err = cli_sink_end(&s);
	cli_name_release(&name);
	return err;
}
