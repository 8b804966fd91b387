/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin rewrite.
 */
#include <stdlib.h>

#include "cli.h"

static void print_one(struct cli *c, const struct akin_rewrite_result *r,
		      const char *id)
{
	struct cli_json *j = &c->json;

	cli_term_clear();
	if (c->args.json) {
		cli_json_begin(j, "rewritten");
		cli_json_text(j, "id", id);
		if (r->backup.number)
			cli_json_text(j, "new_id", r->backup.id);
		cli_json_uint(j, "dropped", r->dropped);
		cli_json_bool(j, "forgotten", r->forgotten);
		cli_json_bool(j, "dry_run", c->args.dry_run);
		cli_json_end(j, stdout);
	} else if (c->args.quiet) {
		return;
	} else if (!r->old_id[0]) {
		printf("%.8s  has none of it\n", id);
	} else if (c->args.dry_run) {
		printf("%.8s  would be rewritten\n", id);
	} else {
		printf("%.8s  is now %.8s%s\n", id, r->backup.id,
		       r->forgotten ? "" : ", the old one stays");
	}
}

static int rewrite_all(struct cli *c, const struct cli_name *names,
		       uint32_t nr)
{
	struct akin_rewrite_options opt = {
		.drop = c->args.drop.v,
		.nr_drop = c->args.drop.nr,
		.keep = c->args.keep_old,
		.dry_run = c->args.dry_run,
		.progress = cli_on_progress,
		.waiting = cli_on_waiting,
		.ctx = c,
	};
	struct akin_rewrite_result r;
	uint64_t found = 0;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < nr; i++) {
		opt.snapshot = names[i].snapshot;
		err = akin_rewrite(c->pool, &opt, &r, &c->diag);
		if (err)
			break;
		found += r.old_id[0] != 0;
		print_one(c, &r, names[i].id);
	}
	cli_term_clear();
	if (!err && !found)
		err = cli_fail(&c->diag, -AKIN_E_path_unknown, "no such path in "
			       "any of these snapshots: nothing was done");
	return err ? err : cli_output_error(c);
}

int cli_cmd_rewrite(struct cli *c)
{
	uint32_t nr = c->args.operands.nr, i;
	struct cli_name *names;
	int err;

	if (!c->args.drop.nr)
		return cli_fail(&c->diag, -AKIN_E_usage, "nothing to be done: "
				"--drop PATH says what is left out");
	names = cli_alloc(nr * sizeof(*names));
	/* Names are about what there was before. */
	err = cli_open(c, false);
	for (i = 0; !err && i < nr; i++) {
		err = cli_resolve(c, c->args.operands.v[i], &names[i]);
		if (!err && names[i].path)
			err = cli_fail(&c->diag, -AKIN_E_usage, "'%s': a "
				       "snapshot, without a path",
				       c->args.operands.v[i]);
	}
	if (!err)
		err = rewrite_all(c, names, nr);
	for (i = 0; i < nr; i++)
		cli_name_release(&names[i]);
	free(names);
	return err;
}
