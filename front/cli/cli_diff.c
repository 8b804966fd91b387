/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin diff.
 */
#include "cli.h"

struct changes {
	struct cli *c;
	uint64_t added, removed, content, metadata, type;
};

static const char *count_kind(struct changes *d, enum akin_diff_kind kind)
{
	switch (kind) {
	case AKIN_DIFF_ADDED:
		d->added++;
		return "added";
	case AKIN_DIFF_REMOVED:
		d->removed++;
		return "removed";
	case AKIN_DIFF_CONTENT:
		d->content++;
		return "content";
	case AKIN_DIFF_METADATA:
		d->metadata++;
		return "metadata";
	default:
		d->type++;
		return "type";
	}
}

static int on_change(void *ctx, enum akin_diff_kind kind,
		     const struct akin_node *old, const struct akin_node *new_)
{
	struct changes *d = ctx;
	struct cli *c = d->c;
	const char *name = count_kind(d, kind);
	const char *path = new_ ? new_->path : old->path;

	if (c->args.json) {
		cli_json_begin(&c->json, "change");
		cli_json_text(&c->json, "change", name);
		cli_json_name(&c->json, "path", path);
		if (old)
			cli_json_uint(&c->json, "size_old", old->size);
		if (new_)
			cli_json_uint(&c->json, "size_new", new_->size);
		cli_json_end(&c->json, stdout);
	} else {
		printf("%c %s\n", kind, cli_quoted(c, path));
	}
	return cli_output_error(c);
}

static void summarize(const struct changes *d)
{
	struct cli *c = d->c;

	if (c->args.json) {
		cli_json_begin(&c->json, "summary");
		cli_json_text(&c->json, "command", "diff");
		cli_json_uint(&c->json, "added", d->added);
		cli_json_uint(&c->json, "removed", d->removed);
		cli_json_uint(&c->json, "content", d->content);
		cli_json_uint(&c->json, "metadata", d->metadata);
		cli_json_uint(&c->json, "type_changed", d->type);
		cli_json_end(&c->json, stdout);
		return;
	}
	if (c->args.verbose)
		printf("%llu added, %llu removed, %llu with other content, "
		       "%llu with other metadata, %llu of another type\n",
		       (unsigned long long)d->added,
		       (unsigned long long)d->removed,
		       (unsigned long long)d->content,
		       (unsigned long long)d->metadata,
		       (unsigned long long)d->type);
}

int cli_cmd_diff(struct cli *c)
{
	struct cli_name a = { 0 }, b = { 0 };
	struct changes d = { .c = c };
	int err;

	err = cli_open(c, true);
	if (!err)
		err = cli_resolve(c, c->args.operands.v[0], &a);
	if (!err)
		err = cli_resolve(c, c->args.operands.v[1], &b);
	if (!err && (a.path || b.path))
		err = cli_fail(&c->diag, -AKIN_E_usage,
			       "diff compares whole snapshots, without paths");
	if (!err)
		err = akin_snapshot_diff(c->pool, a.snapshot, b.snapshot,
					 on_change, &d, &c->diag);
	if (!err)
		summarize(&d);
	cli_name_release(&a);
	cli_name_release(&b);
	return err;
}
