/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line, with getopt_long underneath.
 *
 * It is read twice: up to the command's name with the options that every
 * command has, and from there on with that command's. What is found is kept
 * as a list and only applied after configuration and environment, because it
 * counts more. Abbreviated option names are refused, so that a script means
 * the same after a new option appeared.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_args.h"

#define CODE_BASE 512		/* above every option letter */
#define NAME_BYTES 32		/* no option's name is longer, with "no-" */
#define OPERAND 1		/* getopt's code for a word in order */

struct given {
	const struct cli_option *option;
	const char *value;
	bool negated;
};

struct parse {
	struct cli_args *args;
	struct akin_diag *diag;
	struct option *longs;
	char *names;		/* of the --no- forms */
	struct cli_str letters;
	struct given *given;
	uint32_t nr_given;
};

static size_t nr_options(void)
{
	size_t n = 0;

	while (cli_options[n].name)
		n++;
	return n;
}

static bool can_negate(const struct cli_option *o)
{
	return o->kind == CLI_FLAG && !o->line_only;
}

static int argument_of(const struct cli_option *o)
{
	if (o->kind == CLI_SHARE)
		return optional_argument;
	return o->kind == CLI_FLAG ? no_argument : required_argument;
}

/* What getopt is told, for the options of @mask. Codes are CODE_BASE + twice
 * the index, one more for the --no- form. */
static void describe(struct parse *p, uint64_t mask)
{
	size_t n = nr_options(), i, at = 0;
	const struct cli_option *o;
	struct option *l;

	free(p->longs);
	free(p->names);
	p->longs = cli_alloc((2 * n + 1) * sizeof(*p->longs));
	p->names = cli_alloc(n * NAME_BYTES);
	cli_str_reset(&p->letters);
	/* '-': operands in order. ':': a missing value has a code. */
	cli_str_add(&p->letters, "-:");
	for (l = p->longs, i = 0; i < n; i++) {
		o = &cli_options[i];
		if (!(o->commands & mask) ||
		    (mask == CLI_ALL && !cli_option_is_global(o)))
			continue;
		l->name = o->name;
		l->has_arg = argument_of(o);
		l++->val = (int)(CODE_BASE + 2 * i);
		if (can_negate(o)) {
			l->name = p->names + at;
			at += 1 + (size_t)snprintf(p->names + at, NAME_BYTES,
						   "no-%s", o->name);
			l->has_arg = no_argument;
			l++->val = (int)(CODE_BASE + 2 * i + 1);
		}
		if (o->letter) {
			cli_str_addc(&p->letters, o->letter);
			if (l[-1].has_arg == required_argument)
				cli_str_addc(&p->letters, ':');
		}
	}
}

static const struct cli_option *by_letter(uint64_t mask, int letter)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if (o->letter == letter && (o->commands & mask))
			return o;
	}
	return NULL;
}

/* Edits that lead from one short word to the other (Levenshtein). */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[64], diag, up, best;
	size_t n = strlen(b), i, j;

	if (n >= CLI_ARRAY_SIZE(row))
		return UINT32_MAX;
	for (j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (i = 0; a[i]; i++) {
		diag = row[0];
		row[0] = (unsigned)i + 1;
		for (j = 0; j < n; j++) {
			up = row[j + 1];
			best = diag + (a[i] != b[j]);
			if (up + 1 < best)
				best = up + 1;
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j + 1] = best;
			diag = up;
		}
	}
	return row[n];
}

static int unknown_option(struct parse *p, const char *word)
{
	const char *name = word + strspn(word, "-"), *best = NULL;
	size_t len = strcspn(name, "=");
	unsigned d, least = 3;
	const struct option *l;
	char copy[64];

	cli_fail(p->diag, -AKIN_E_usage, "unknown option '%s'", word);
	if (word[0] == '-' && word[1] == '-' && len < sizeof(copy)) {
		memcpy(copy, name, len);
		copy[len] = 0;
		for (l = p->longs; l->name; l++) {
			d = distance(copy, l->name);
			if (strncmp(copy, l->name, len) == 0)
				d = 1;
			if (d < least) {
				least = d;
				best = l->name;
			}
		}
	}
	if (best)
		cli_hint(p->diag, "Did you mean '--%s'?", best);
	else if (!p->args->have_command)
		cli_hint(p->diag, "Options of a command stand behind its "
			 "name.");
	else
		cli_hint(p->diag, "'akin %s --help' shows the options.",
			 cli_commands[p->args->command].name);
	return -AKIN_E_usage;
}

static void keep(struct parse *p, const struct cli_option *o,
		 const char *value, bool negated)
{
	struct given *g;

	p->given = cli_realloc(p->given, (p->nr_given + 1) * sizeof(*g));
	g = &p->given[p->nr_given++];
	g->option = o;
	g->value = value;
	g->negated = negated;
}

/* The word in which getopt has found a long option that it completed. */
static bool is_abbreviated(char **argv, const char *name)
{
	const char *word = argv[optind - 1];

	if (optarg && optarg == word)
		word = argv[optind - 2];
	return strncmp(word, "--", 2) == 0 &&
	       (strlen(name) != strcspn(word + 2, "=") ||
		strncmp(word + 2, name, strlen(name)) != 0);
}

static const char *name_of_code(struct parse *p, int code)
{
	const struct option *l;

	for (l = p->longs; l->val != code; l++)
		;
	return l->name;
}

/* getopt leaves in optopt the letter or code in question, or 0. */
static int bad_option(struct parse *p, char **argv, int code)
{
	char word[64] = { '-', (char)optopt };

	if (optopt >= CODE_BASE)
		snprintf(word, sizeof(word), "--%s", name_of_code(p, optopt));
	if (code == ':')
		return cli_fail(p->diag, -AKIN_E_usage, "'%s' needs a value",
				word);
	if (optopt >= CODE_BASE)
		return cli_fail(p->diag, -AKIN_E_usage,
				"'%s' takes no value", word);
	return unknown_option(p, optopt ? word : argv[optind - 1]);
}

static int take_option(struct parse *p, char **argv, uint64_t mask, int code)
{
	const struct cli_option *o;
	size_t i;

	if (code == '?' || code == ':')
		return bad_option(p, argv, code);
	if (code < CODE_BASE) {
		o = by_letter(mask, code);
		keep(p, o, optarg, false);
		return 0;
	}
	if (is_abbreviated(argv, name_of_code(p, code)))
		return unknown_option(p, argv[optind - 1]);
	i = (size_t)(code - CODE_BASE) / 2;
	keep(p, &cli_options[i], optarg, (code - CODE_BASE) % 2);
	return 0;
}

/* Up to the command's name; its index in argv, argc if there is none. */
static int scan_front(struct parse *p, int argc, char **argv, int *at_ret)
{
	int code, err;

	describe(p, CLI_ALL);
	optind = 0;
	opterr = 0;
	for (;;) {
		code = getopt_long(argc, argv, p->letters.s, p->longs, NULL);
		if (code == -1) {
			*at_ret = optind;
			return 0;
		}
		if (code == OPERAND) {
			*at_ret = optind - 1;
			return 0;
		}
		err = take_option(p, argv, CLI_ALL, code);
		if (err)
			return err;
	}
}

static int scan_command(struct parse *p, int argc, char **argv)
{
	uint64_t mask = CLI_BIT(p->args->command);
	int code, err;

	describe(p, mask);
	optind = 0;
	while ((code = getopt_long(argc, argv, p->letters.s, p->longs,
				   NULL)) != -1) {
		if (code == OPERAND) {
			cli_list_add(&p->args->operands, optarg);
			continue;
		}
		err = take_option(p, argv, mask, code);
		if (err)
			return err;
	}
	p->args->nr_before_dashes = p->args->operands.nr;
	for (; optind < argc; optind++)
		cli_list_add(&p->args->operands, argv[optind]);
	return 0;
}

static int apply_env(struct cli_args *args, struct akin_diag *diag)
{
	const struct cli_option *o;
	const char *value;
	int err;

	for (o = cli_options; o->name; o++) {
		if (!o->env || !(o->commands & CLI_BIT(args->command)))
			continue;
		value = getenv(o->env);
		if (!value || !*value)
			continue;
		err = cli_args_set(args, o, value, o->env, diag);
		if (err)
			return err;
	}
	return 0;
}

static int apply_given(struct parse *p)
{
	const struct given *g;
	char where[40];
	uint32_t i;
	int err;

	for (i = 0; i < p->nr_given; i++) {
		g = &p->given[i];
		snprintf(where, sizeof(where), "--%s", g->option->name);
		err = cli_args_set(p->args, g->option,
				   g->negated ? "no" : g->value, where,
				   p->diag);
		if (err)
			return err;
	}
	return 0;
}

static bool asked_for(struct parse *p, const char *name)
{
	uint32_t i;

	for (i = 0; i < p->nr_given; i++) {
		if (strcmp(p->given[i].option->name, name) == 0)
			return true;
	}
	return false;
}

static int unknown_command(struct parse *p, const char *word)
{
	unsigned d, least = 3;
	int i, best = -1;

	cli_fail(p->diag, -AKIN_E_usage, "unknown command '%s'", word);
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		d = distance(word, cli_commands[i].name);
		if (d < least) {
			least = d;
			best = i;
		}
	}
	if (best >= 0)
		cli_hint(p->diag, "Did you mean '%s'?",
			 cli_commands[best].name);
	else
		cli_hint(p->diag, "'akin help' lists the commands.");
	return -AKIN_E_usage;
}

static int check_operands(struct cli_args *args, struct akin_diag *diag)
{
	const struct cli_command_info *info = &cli_commands[args->command];
	uint32_t nr = args->operands.nr;

	if (nr >= info->min_operands && nr <= info->max_operands)
		return 0;
	if (nr > info->max_operands)
		cli_fail(diag, -AKIN_E_usage, "'%s' is one word too many",
			 args->operands.v[info->max_operands]);
	else
		cli_fail(diag, -AKIN_E_usage, "%s: something is missing",
			 info->name);
	cli_hint(diag, "Usage: akin %s", info->synopsis[0]);
	return -AKIN_E_usage;
}

static int parse_all(struct parse *p, int argc, char **argv)
{
	struct cli_args *args = p->args;
	int at, cmd, err;

	err = scan_front(p, argc, argv, &at);
	if (err)
		return err;
	if (at < argc) {
		cmd = cli_command_find(argv[at]);
		if (cmd < 0)
			return unknown_command(p, argv[at]);
		args->command = (enum cli_command)cmd;
		args->have_command = true;
		err = scan_command(p, argc - at, argv + at);
	}
	args->help = asked_for(p, "help");
	args->version = asked_for(p, "version");
	if (args->help || args->version)
		return 0;
	if (!err && !args->have_command) {
		cli_fail(p->diag, -AKIN_E_usage, "no command");
		cli_hint(p->diag, "'akin help' lists the commands.");
		err = -AKIN_E_usage;
	}
	if (!err)
		err = cli_config_load(args, p->diag);
	if (!err)
		err = apply_env(args, p->diag);
	if (!err)
		err = apply_given(p);
	return err ? err : check_operands(args, p->diag);
}

int cli_args_parse(int argc, char **argv, struct cli_args *args,
		   struct akin_diag *diag)
{
	struct parse p = { .args = args, .diag = diag };
	int err = parse_all(&p, argc, argv), i;

	/* Errors of the command line are JSON too, if it asks for it, be it
	 * behind them. */
	for (i = 1; err && i < argc && strcmp(argv[i], "--"); i++)
		args->json |= strcmp(argv[i], "--json") == 0;
	free(p.longs);
	free(p.names);
	free(p.given);
	cli_str_release(&p.letters);
	return err;
}
