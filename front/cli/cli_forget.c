/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin forget.
 *
 * With --dry-run or --verbose everything that was judged is shown, with what
 * keeps it; otherwise what is forgotten. A dry run is a real run on a copy of
 * the pool's state, reclaiming included: so what it says is what would be.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_text.h"

struct listing {
	struct cli *c;
	uint64_t series;	/* that the last lines were about */
};

static void print_json(struct cli *c, const struct akin_snapshot *s,
		       const char *const *reasons, uint32_t nr)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "snapshot");
	cli_json_text(j, "id", s->id);
	cli_json_time(j, "time", s->time_sec, s->time_nsec);
	cli_json_name(j, "host", s->host);
	cli_json_names(j, "tags", s->tags, s->nr_tags);
	cli_json_names(j, "paths", s->paths, s->nr_paths);
	cli_json_bool(j, "keep", nr > 0);
	cli_json_names(j, "reasons", reasons, nr);
	cli_json_end(j, stdout);
}

static void print_series(struct cli *c, const struct akin_snapshot *s)
{
	struct cli_str *t = &c->text;
	uint32_t i;

	cli_str_reset(t);
	cli_quote(t, s->host, strlen(s->host));
	cli_str_addc(t, ':');
	for (i = 0; i < s->nr_paths; i++) {
		cli_str_addc(t, ' ');
		cli_quote(t, s->paths[i], strlen(s->paths[i]));
	}
	printf("%s\n", cli_str_text(t));
}

static void print_row(struct cli *c, const struct akin_snapshot *s,
		      const char *const *reasons, uint32_t nr)
{
	struct cli_str *t = &c->text;
	char time[CLI_UNIT_TEXT];
	uint32_t i;

	cli_str_reset(t);
	for (i = 0; i < nr; i++) {
		cli_str_add(t, i ? ", " : "  ");
		cli_plain(t, reasons[i]);
	}
	printf("  %-6s  %.8s  %s%s\n", nr ? "keep" : "forget", s->id,
	       cli_time_text(s->time_sec, time), cli_str_text(t));
}

static int on_judged(void *ctx, uint64_t series, const struct akin_snapshot *s,
		     const char *const *reasons, uint32_t nr)
{
	struct listing *l = ctx;
	struct cli *c = l->c;

	if (nr && !c->args.dry_run && !c->args.verbose)
		return 0;
	if (c->args.json) {
		print_json(c, s, reasons, nr);
	} else if (!c->args.quiet) {
		if (l->series != series)
			print_series(c, s);
		l->series = series;
		print_row(c, s, reasons, nr);
	}
	return cli_output_error(c);
}

static void on_unused_tag(void *ctx, const char *tag)
{
	struct cli_str text = { 0 };

	cli_str_add(&text, "no snapshot has the tag ");
	cli_quote(&text, tag, strlen(tag));
	cli_term_message(CLI_WARNING, 0, NULL, text.s, NULL);
	cli_str_release(&text);
}

static void print_summary(struct cli *c, const struct akin_forget_result *r)
{
	bool dry = c->args.dry_run;

	if (c->args.json) {
		cli_json_begin(&c->json, "summary");
		cli_json_text(&c->json, "command", "forget");
		cli_json_bool(&c->json, "dry_run", dry);
		cli_json_uint(&c->json, "series", r->series);
		cli_json_uint(&c->json, "kept", r->kept);
		cli_json_uint(&c->json, "forgotten", r->forgotten);
		cli_json_uint(&c->json, "skipped", r->skipped);
		cli_json_end(&c->json, stdout);
		return;
	}
	if (c->args.quiet)
		return;
	if (c->args.operands.nr)
		printf("%s: %llu\n", dry ? "would be forgotten" : "forgotten",
		       (unsigned long long)r->forgotten);
	else
		printf("series %llu; kept %llu, %s %llu\n",
		       (unsigned long long)r->series,
		       (unsigned long long)r->kept,
		       dry ? "would be forgotten" : "forgotten",
		       (unsigned long long)r->forgotten);
	if (r->skipped)
		printf("left alone, because somebody changed them meanwhile: "
		       "%llu\n", (unsigned long long)r->skipped);
}

/* What --host and --tag choose is searched for names, too. */
static int name_operands(struct cli *c, struct akin_forget_options *opt,
			 uint64_t **numbers)
{
	const struct cli_list *words = &c->args.operands;
	uint32_t i;
	int err = 0;

	*numbers = cli_alloc(words->nr * sizeof(**numbers));
	for (i = 0; !err && i < words->nr; i++)
		err = akin_snapshot_find(c->pool, words->v[i], opt->filter,
					 &(*numbers)[i], &c->diag);
	opt->snapshots = *numbers;
	opt->nr_snapshots = words->nr;
	return err;
}

int cli_cmd_forget(struct cli *c)
{
	struct akin_snapshot_filter filter = cli_filter(c);
	struct akin_forget_options opt = { 0 };
	struct akin_forget_result r = { 0 };
	struct listing l = { .c = c };
	struct akin_policy policy;
	uint64_t *numbers = NULL;
	int err;

	err = cli_policy(c, &policy);
	if (err)
		return err;
	if (!akin_policy_is_empty(&policy))
		opt.policy = &policy;
	if (c->args.operands.nr && opt.policy)
		return cli_fail(&c->diag, -AKIN_E_usage, "forget: either "
				"snapshots or rules, not both");
	opt.filter = &filter;
	opt.judged = on_judged;
	opt.unused_tag = on_unused_tag;
	opt.ctx = &l;
	err = c->args.dry_run ? cli_open_rehearsal(c) : cli_open(c, false);
	if (!err && c->args.operands.nr)
		err = name_operands(c, &opt, &numbers);
	if (!err)
		err = akin_forget(c->pool, &opt, &r, &c->diag);
	if (!err)
		print_summary(c, &r);
	free(numbers);
	if (err || (c->args.dry_run ? c->args.quiet && !c->args.json :
				      !c->args.gc))
		return err;
	return c->args.dry_run ? cli_gc_rehearsed(c) : cli_gc_opened(c);
}
