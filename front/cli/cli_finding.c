/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage on standard output; see cli_finding.h.
 */
#include <string.h>

#include "cli.h"
#include "cli_finding.h"
#include "cli_text.h"

void cli_print_finding(struct cli *c, int code, const char *text,
		       const char *snapshot, const char *path)
{
	struct cli_str *t = &c->text;
	bool have_snapshot = snapshot && *snapshot;
	bool have_path = path && *path;

	cli_term_clear();
	if (c->args.json) {
		cli_json_begin(&c->json, code ? "finding" : "remark");
		if (code)
			cli_json_text(&c->json, "code", akin_error_name(code));
		cli_json_text(&c->json, "message", text);
		if (have_snapshot)
			cli_json_text(&c->json, "snapshot", snapshot);
		if (have_path)
			cli_json_name(&c->json, "path", path);
		cli_json_end(&c->json, stdout);
		return;
	}
	cli_str_reset(t);
	cli_plain(t, text);
	if (have_snapshot)
		cli_str_addf(t, "  [%.8s%s", snapshot, have_path ? ":" : "]");
	else if (have_path)
		cli_str_add(t, "  [");
	if (have_path) {
		cli_quote(t, path, strlen(path));
		cli_str_addc(t, ']');
	}
	printf("%s\n", cli_str_text(t));
	/* Someone may be watching. */
	fflush(stdout);
}
