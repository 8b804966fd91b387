/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin capacity.
 *
 * Hands words and options to tools/capacity as they are; adds what that has
 * no access to: the estimate's file, and today's date.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capacity.h"
#include "capacity_page.h"
#include "cli.h"
#include "cli_signal.h"

#define ESTIMATE_MAX (1 << 20)
#define OUTPUT_BYTES (32 * 1024)

static void hint_kinds(struct cli *c)
{
	char list[80];
	size_t at = 0;
	int i;

	for (i = 0; i < CAP_NR_KINDS; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
				       i == 0 ? "" : i == CAP_NR_KINDS - 1 ?
				       " and " : ", ", cap_kind_name(i));
	cli_hint(&c->diag, "There are %s; 'akin help capacity' explains them.",
		 list);
}

static int no_kind(struct cli *c)
{
	hint_kinds(c);
	return cli_fail(&c->diag, -AKIN_E_usage, "which calculation?");
}

static int unknown_kind(struct cli *c, const char *name)
{
	hint_kinds(c);
	return cli_fail(&c->diag, -AKIN_E_usage, "'%s' is no calculation",
			name);
}

/* The whole of @f; owned by the caller. */
static int read_all(struct cli *c, FILE *f, const char *name, char **out,
		    size_t *len_ret)
{
	char *text = cli_alloc(ESTIMATE_MAX + 1);
	size_t n = fread(text, 1, ESTIMATE_MAX + 1, f);
	int err = 0;

	if (ferror(f))
		err = cli_fail_errno(&c->diag, errno, "%s", name);
	else if (n > ESTIMATE_MAX)
		err = cli_fail(&c->diag, -AKIN_E_usage, "%s is no estimate: it "
			       "is larger than 1 MiB", name);
	if (err) {
		free(text);
		return err;
	}
	*out = text;
	*len_ret = n;
	return 0;
}

static int read_estimate(struct cli *c, struct cap_request *r, char **owned)
{
	const struct cli_list *words = &c->args.operands;
	const char *name;
	FILE *f = stdin;
	int err;

	if (words->nr > 2)
		return cli_fail(&c->diag, -AKIN_E_usage, "'%s' is one word too "
				"many: plan reads one estimate", words->v[2]);
	if (words->nr < 2)
		return 0;
	name = words->v[1];
	if (strcmp(name, "-") != 0) {
		f = fopen(name, "re");
		if (!f)
			return cli_fail_errno(&c->diag, errno, "%s", name);
	}
	err = read_all(c, f, f == stdin ? "standard input" : name, owned,
		       &r->estimate_len);
	if (f != stdin)
		fclose(f);
	r->estimate = *owned;
	return err;
}

static void set_today(struct cap_request *r, char out[CLI_UNIT_TEXT])
{
	time_t now = time(NULL);
	struct tm tm;

	if (r->params[CAP_FROM] || !cap_param_applies(CAP_FROM, r->kind) ||
	    !localtime_r(&now, &tm) || tm.tm_year < 70 || tm.tm_year > 8099)
		return;
	if (strftime(out, CLI_UNIT_TEXT, "%Y-%m-%d", &tm))
		r->params[CAP_FROM] = out;
}

static int start_server(struct cli *c, struct capacity_server **out)
{
	unsigned port = 0;

	if (c->args.operands.nr)
		return cli_fail(&c->diag, -AKIN_E_usage, "'%s': --serve "
				"calculates nothing itself",
				c->args.operands.v[0]);
	if (c->args.port && cli_parse_count(c->args.port, 65535, &port))
		return cli_fail(&c->diag, -AKIN_E_usage, "--port: '%s' is not "
				"a number up to 65535", c->args.port);
	if (!capacity_page_files[0].name)
		return cli_fail(&c->diag, -AKIN_E_usage, "this akin was built "
				"without the page: clang or wasm-ld was "
				"missing");
	*out = capacity_server_new(port);
	if (*out)
		return 0;
	if (errno == ENOSYS) {
		cli_hint(&c->diag, "The page also opens from a disk: "
			 "share/akin/capacity/index.html.");
		return cli_fail(&c->diag, -AKIN_E_usage, "cannot serve: "
				"libmicrohttpd is missing");
	}
	return cli_fail_errno(&c->diag, errno, "port %u", port);
}

/* Until a signal comes. */
static int serve(struct cli *c)
{
	struct pollfd wait = { .fd = cli_signal_fd(), .events = POLLIN };
	struct capacity_server *s = NULL;
	int err = start_server(c, &s);

	if (err)
		return err;
	printf("http://127.0.0.1:%u/\n", capacity_server_port(s));
	fflush(stdout);
	err = cli_output_error(c);
	while (!err && !cli_signal_received())
		poll(&wait, 1, -1);
	capacity_server_free(s);
	return err ? err : -AKIN_E_interrupted;
}

/* Once more with more room until everything fits. */
static int run(struct cli *c, const struct cap_request *r)
{
	size_t cap = OUTPUT_BYTES;
	struct cap_text out;
	char *s = NULL;
	int err;

	do {
		cap *= 2;
		s = cli_realloc(s, cap);
		cap_text_init(&out, s, cap);
		err = cap_run(r, &out, &c->diag);
	} while (!err && out.cut);
	if (!err)
		fwrite(out.s, 1, out.len, stdout);
	free(s);
	return err ? err : cli_output_error(c);
}

int cli_cmd_capacity(struct cli *c)
{
	const struct cli_list *words = &c->args.operands;
	struct cap_request r = { .explain = c->args.explain,
				 .json = c->args.json };
	char today[CLI_UNIT_TEXT], *estimate = NULL;
	int kind, err = 0;
	uint32_t i;

	if (c->args.serve)
		return serve(c);
	if (!words->nr)
		return no_kind(c);
	kind = cap_kind_find(words->v[0]);
	if (kind < 0)
		return unknown_kind(c, words->v[0]);
	r.kind = (enum cap_kind)kind;
	memcpy(r.params, c->args.capacity, sizeof(r.params));
	if (kind == CAP_PLAN)
		err = read_estimate(c, &r, &estimate);
	else if (words->nr - 1 > CAP_MAX_WORDS)
		err = cli_fail(&c->diag, -AKIN_E_usage, "more than %d words",
			       CAP_MAX_WORDS);
	else
		for (i = 1; i < words->nr; i++)
			r.words[r.nr_words++] = words->v[i];
	if (!err) {
		set_today(&r, today);
		err = run(c, &r);
	}
	free(estimate);
	return err;
}
