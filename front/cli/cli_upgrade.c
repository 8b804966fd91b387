/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin upgrade.
 */
#include "cli.h"
#include "cli_text.h"

static const char *const kinds[] = {
	[AKIN_FEATURE_IGNORED] = "ignored",
	[AKIN_FEATURE_READ_ONLY] = "read-only",
	[AKIN_FEATURE_REFUSED] = "refused",
};
static const char *const others[] = {
	[AKIN_FEATURE_IGNORED] = "programs that do not know it go on",
	[AKIN_FEATURE_READ_ONLY] = "programs that do not know it only read",
	[AKIN_FEATURE_REFUSED] = "programs that do not know it refuse the pool",
};

static void feature_json(struct cli *c, const struct akin_feature *f)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "feature");
	cli_json_text(j, "name", f->name);
	cli_json_text(j, "kind", kinds[f->kind]);
	cli_json_uint(j, "bit", f->bit);
	cli_json_bool(j, "known", f->known);
	cli_json_bool(j, "on", f->on);
	cli_json_bool(j, "switch_on", f->known && !f->on);
	cli_json_end(j, stdout);
}

static void on_feature(void *ctx, const struct akin_feature *f)
{
	struct cli *c = ctx;

	if (c->args.json) {
		feature_json(c, f);
		return;
	}
	if (c->args.quiet)
		return;
	if (!f->known)
		printf("feature %u (%s): on; this version does not know it: "
		       "use the newer one\n", f->bit, kinds[f->kind]);
	else
		printf("feature %s: %s\n    %s; %s\n", f->name, f->on ? "on" :
		       c->args.dry_run ? "off, would be switched on" :
					 "off, to be switched on",
		       f->text, others[f->kind]);
}

static void print_json(struct cli *c, const struct akin_upgrade_result *r)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "summary");
	cli_json_text(j, "command", "upgrade");
	cli_json_bool(j, "dry_run", c->args.dry_run);
	cli_json_uint(j, "version_major", r->version_major);
	cli_json_uint(j, "version_minor", r->version_minor);
	cli_json_uint(j, "features_known", r->known);
	cli_json_uint(j, "features_unknown", r->unknown);
	cli_json_uint(j, "switched_on", r->switched_on);
	cli_json_end(j, stdout);
}

static void print_text(struct cli *c, const struct akin_upgrade_result *r)
{
	if (!r->switched_on)
		printf("format %u.%u: there is nothing to upgrade\n",
		       r->version_major, r->version_minor);
	else
		printf("format %u.%u: features %sswitched on: %u\n",
		       r->version_major, r->version_minor,
		       c->args.dry_run ? "that would be " : "", r->switched_on);
}

int cli_cmd_upgrade(struct cli *c)
{
	struct akin_upgrade_options opt = {
		.dry_run = c->args.dry_run,
		.feature = on_feature,
		.ctx = c,
	};
	struct akin_upgrade_result r;
	int err;

	err = cli_open(c, c->args.dry_run);
	if (!err)
		err = akin_upgrade(c->pool, &opt, &r, &c->diag);
	if (err)
		return err;
	if (c->args.json)
		print_json(c, &r);
	else if (!c->args.quiet)
		print_text(c, &r);
	return cli_output_error(c);
}
