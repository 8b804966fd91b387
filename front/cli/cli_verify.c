/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin verify.
 */
#include "cli.h"
#include "cli_text.h"

static const char *kind_name(enum akin_diff_kind kind)
{
	switch (kind) {
	case AKIN_DIFF_ADDED:
		return "added";
	case AKIN_DIFF_REMOVED:
		return "removed";
	case AKIN_DIFF_CONTENT:
		return "content";
	case AKIN_DIFF_METADATA:
		return "metadata";
	case AKIN_DIFF_TYPE:
		return "type";
	default:
		return "unreadable";
	}
}

static void on_difference(void *ctx, enum akin_diff_kind kind, const char *path,
			  int code, const char *text)
{
	struct cli *c = ctx;

	if (c->args.json) {
		cli_json_begin(&c->json, "difference");
		cli_json_text(&c->json, "difference", kind_name(kind));
		cli_json_name(&c->json, "path", path);
		if (code) {
			cli_json_text(&c->json, "error",
				      akin_error_name(code));
			cli_json_text(&c->json, "text", text);
		}
		cli_json_end(&c->json, stdout);
		return;
	}
	cli_term_clear();
	printf("%c %s", kind, cli_quoted(c, path));
	if (code) {
		cli_str_reset(&c->text);
		cli_plain(&c->text, text);
		printf("  (%s)", cli_str_text(&c->text));
	}
	printf("\n");
}

static void print_json(struct cli *c, const struct akin_compare_result *r,
		       int err)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "summary");
	cli_json_text(j, "command", "verify");
	cli_json_bool(j, "equal", !err);
	cli_json_uint(j, "files", r->total.files);
	cli_json_uint(j, "dirs", r->total.dirs);
	cli_json_uint(j, "others", r->total.others);
	cli_json_uint(j, "bytes", r->total.bytes);
	cli_json_uint(j, "added", r->added);
	cli_json_uint(j, "removed", r->removed);
	cli_json_uint(j, "content", r->content);
	cli_json_uint(j, "metadata", r->metadata);
	cli_json_uint(j, "type_changed", r->type);
	cli_json_uint(j, "unreadable", r->unreadable);
	cli_json_uint(j, "damaged", r->damaged);
	cli_json_seconds(j, "seconds", r->total.elapsed_ns);
	cli_json_end(j, stdout);
}

static void print_text(const struct akin_compare_result *r)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];

	printf("compared %llu %s, %s in %s: ",
	       (unsigned long long)r->total.files,
	       cli_plural(r->total.files, "file"),
	       cli_size_text(r->total.bytes, a),
	       cli_duration_text(r->total.elapsed_ns, b));
	if (!(r->added + r->removed + r->content + r->metadata + r->type +
	      r->unreadable)) {
		printf("equal\n");
		return;
	}
	printf("%llu added, %llu removed, %llu with other content, %llu with "
	       "other metadata, %llu of another type, %llu unreadable\n",
	       (unsigned long long)r->added, (unsigned long long)r->removed,
	       (unsigned long long)r->content, (unsigned long long)r->metadata,
	       (unsigned long long)r->type,
	       (unsigned long long)r->unreadable);
}

int cli_cmd_verify(struct cli *c)
{
	struct akin_compare_options opt = { 0 };
	struct akin_compare_result r = { 0 };
	struct cli_name name = { 0 };
	int err, err2;

	err = cli_open(c, true);
	if (!err)
		err = cli_resolve(c, c->args.operands.v[0], &name);
	if (err)
		return err;
	opt.snapshot = name.snapshot;
	opt.path = name.path;
	opt.live = c->args.operands.nr > 1 ? c->args.operands.v[1] : NULL;
	opt.excludes = c->args.excludes.v;
	opt.nr_excludes = c->args.excludes.nr;
	opt.differs = on_difference;
	opt.progress = cli_on_progress;
	opt.ctx = c;
	err = akin_compare(c->pool, &opt, &r, &c->diag);
	cli_term_clear();
	cli_name_release(&name);
	if (err && err != -AKIN_E_differs && !r.damaged)
		return err;
	if (c->args.json)
		print_json(c, &r, err);
	else if (!c->args.quiet)
		print_text(&r);
	err2 = cli_output_error(c);
	return err2 ? err2 : err;
}
