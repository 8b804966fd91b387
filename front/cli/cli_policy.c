/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin policy; the rules of --keep-....
 */
#include <string.h>

#include "cli.h"
#include "cli_text.h"

int cli_policy(struct cli *c, struct akin_policy *out)
{
	const struct cli_args *a = &c->args;
	uint32_t i;

	memset(out, 0, sizeof(*out));
	out->last = a->keep_last;
	out->hourly = a->keep_hourly;
	out->daily = a->keep_daily;
	out->weekly = a->keep_weekly;
	out->monthly = a->keep_monthly;
	out->yearly = a->keep_yearly;
	out->tags = a->keep_tags.v;
	out->nr_tags = a->keep_tags.nr;
	for (i = 0; i < out->nr_tags; i++) {
		if (!*out->tags[i])
			return cli_fail(&c->diag, -AKIN_E_usage,
					"--keep-tag: an empty tag");
	}
	if (!a->keep_within || !akin_span_parse(a->keep_within, &out->within))
		return 0;
	cli_fail(&c->diag, -AKIN_E_usage, "--keep-within: '%s' is no time",
		 a->keep_within);
	cli_hint(&c->diag, "Write years, months, weeks, days and hours in this "
		 "order: 1y6m, 2w, 30d, 36h.");
	return -AKIN_E_usage;
}

struct count {
	const char *name;
	uint32_t n;
};

static void list_counts(const struct akin_policy *p, struct count out[6])
{
	out[0] = (struct count){ "last", p->last };
	out[1] = (struct count){ "hourly", p->hourly };
	out[2] = (struct count){ "daily", p->daily };
	out[3] = (struct count){ "weekly", p->weekly };
	out[4] = (struct count){ "monthly", p->monthly };
	out[5] = (struct count){ "yearly", p->yearly };
}

static void print_json(struct cli *c, const struct akin_policy *p)
{
	char key[24], span[AKIN_SPAN_TEXT];
	struct count v[6];
	size_t i;

	list_counts(p, v);
	cli_json_begin(&c->json, "policy");
	for (i = 0; i < CLI_ARRAY_SIZE(v); i++) {
		if (!v[i].n)
			continue;
		snprintf(key, sizeof(key), "keep_%s", v[i].name);
		cli_json_uint(&c->json, key, v[i].n);
	}
	if (*akin_span_print(&p->within, span))
		cli_json_text(&c->json, "keep_within", span);
	if (p->nr_tags)
		cli_json_names(&c->json, "keep_tags", p->tags, p->nr_tags);
	cli_json_end(&c->json, stdout);
}

/* As options, so that they can be pasted. */
static void print_text(struct cli *c, const struct akin_policy *p)
{
	char span[AKIN_SPAN_TEXT];
	struct count v[6];
	size_t i;

	list_counts(p, v);
	for (i = 0; i < CLI_ARRAY_SIZE(v); i++) {
		if (v[i].n)
			printf("--keep-%s %u\n", v[i].name, v[i].n);
	}
	if (*akin_span_print(&p->within, span))
		printf("--keep-within %s\n", span);
	for (i = 0; i < p->nr_tags; i++)
		printf("--keep-tag %s\n", cli_quoted(c, p->tags[i]));
}

static int show(struct cli *c)
{
	struct akin_policy p = { 0 };
	int err;

	err = cli_open(c, true);
	if (!err)
		err = akin_policy_get(c->pool, &p, &c->diag);
	if (err)
		return err;
	if (c->args.json)
		print_json(c, &p);
	else if (!akin_policy_is_empty(&p))
		print_text(c, &p);
	else if (!c->args.quiet)
		cli_term_message(CLI_NOTE, 0, NULL, "the pool has no policy",
				 NULL);
	akin_policy_release(&p);
	return cli_output_error(c);
}

int cli_cmd_policy(struct cli *c)
{
	const char *what = c->args.operands.nr ? c->args.operands.v[0] : "show";
	struct akin_policy p;
	bool empty;
	int err;

	err = cli_policy(c, &p);
	if (err)
		return err;
	empty = akin_policy_is_empty(&p);
	if (strcmp(what, "set") && strcmp(what, "show") && strcmp(what, "clear"))
		return cli_fail(&c->diag, -AKIN_E_usage,
				"policy: '%s' is not show, set or clear", what);
	if (strcmp(what, "set") == 0 && empty)
		return cli_fail(&c->diag, -AKIN_E_usage, "policy set: which "
				"rules? They begin with --keep-");
	if (strcmp(what, "set") && !empty)
		return cli_fail(&c->diag, -AKIN_E_usage,
				"rules are for 'policy set'");
	if (strcmp(what, "show") == 0)
		return show(c);
	err = cli_open(c, false);
	return err ? err : akin_policy_set(c->pool, empty ? NULL : &p,
					   &c->diag);
}
