/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Help on a terminal: usage, examples, options, in this order.
 */
#include <string.h>

#include "cli_doc.h"

#define WIDTH 78
#define HELP_COLUMN 30

/* Appends @text from @column on, wrapped, further lines indented likewise. */
static void wrap(struct cli_str *out, size_t column, const char *text)
{
	size_t at = column, n;

	while (*text) {
		n = strcspn(text, " ");
		if (at > column && at + 1 + n > WIDTH) {
			cli_str_addf(out, "\n%*s", (int)column, "");
			at = column;
		}
		if (at > column) {
			cli_str_addc(out, ' ');
			at++;
		}
		cli_str_addn(out, text, n);
		at += n;
		text += n;
		text += strspn(text, " ");
	}
	cli_str_addc(out, '\n');
}

void cli_option_title(struct cli_str *out, const struct cli_option *o)
{
	if (o->letter)
		cli_str_addf(out, "-%c, ", o->letter);
	cli_str_addf(out, "--%s", o->name);
	if (o->kind == CLI_SHARE)
		cli_str_addf(out, "[=%s]", o->arg);
	else if (o->arg)
		cli_str_addf(out, " %s", o->arg);
}

static void add_option(struct cli_str *out, const struct cli_option *o)
{
	size_t start = out->len, n;

	cli_str_add(out, o->letter ? "  " : "      ");
	cli_option_title(out, o);
	n = out->len - start;
	if (n + 2 > HELP_COLUMN) {
		cli_str_addc(out, '\n');
		n = 0;
	}
	cli_str_addf(out, "%*s", (int)(HELP_COLUMN - n), "");
	wrap(out, HELP_COLUMN, o->help);
}

static void add_options(struct cli_str *out, uint64_t mask, bool global)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if ((o->commands & mask) && cli_option_is_global(o) == global)
			add_option(out, o);
	}
}

static bool has_own_options(enum cli_command command)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if ((o->commands & CLI_BIT(command)) &&
		    !cli_option_is_global(o))
			return true;
	}
	return false;
}

static void add_examples(struct cli_str *out,
			 const struct cli_command_info *info)
{
	const struct cli_example *e;
	size_t i;

	for (i = 0; i < CLI_MAX_EXAMPLES; i++) {
		e = &info->examples[i];
		if (!e->line)
			break;
		cli_str_addf(out, "  %s\n      ", e->line);
		wrap(out, 6, e->text);
	}
}

void cli_help_command(struct cli_str *out, enum cli_command command)
{
	const struct cli_command_info *info = &cli_commands[command];
	size_t i;

	cli_str_addf(out, "akin %s: %s\n\n", info->name, info->summary);
	for (i = 0; i < CLI_MAX_SYNOPSES && info->synopsis[i]; i++)
		cli_str_addf(out, "%s akin %s\n", i ? "      " : "Usage:",
			     info->synopsis[i]);
	cli_str_add(out, "\nExamples:\n");
	add_examples(out, info);
	cli_str_addf(out, "\n%s", info->text);
	if (has_own_options(command)) {
		cli_str_add(out, "\nOptions:\n");
		add_options(out, CLI_BIT(command), false);
	}
	cli_str_add(out, "\nOptions of every command:\n");
	add_options(out, CLI_ALL, true);
	cli_str_addf(out, "\nMore: akin-%s(1), akin(1), 'akin help'\n",
		     info->name);
}

void cli_help_topic(struct cli_str *out, const struct cli_topic *topic)
{
	cli_str_addf(out, "%s: %s\n\n%s", topic->name, topic->summary,
		     topic->text);
	if (topic->table)
		topic->table(out);
}

void cli_help_overview(struct cli_str *out)
{
	const struct cli_topic *t;
	int i;

	cli_str_add(out,
		"akin keeps many versions of large data in little space.\n\n"
		"Usage: akin [-p POOL] COMMAND [OPTION]... [OPERAND]...\n\n"
		"To begin:\n"
		"  akin init /mnt/backup\n"
		"  export AKIN_POOL=/mnt/backup\n"
		"  akin backup /home /etc\n"
		"  akin snapshots\n"
		"  akin restore latest:/home/eva --target ./eva\n"
		"  akin check\n\n"
		"Commands:\n");
	for (i = 0; i < CLI_NR_COMMANDS; i++)
		cli_str_addf(out, "  %-14s  %s\n", cli_commands[i].name,
			     cli_commands[i].summary);
	cli_str_add(out, "\nOptions of every command:\n");
	add_options(out, CLI_ALL, true);
	cli_str_add(out, "\nTopics:\n");
	for (t = cli_topics; t->name; t++)
		cli_str_addf(out, "  %-14s  %s\n", t->name, t->summary);
	cli_str_add(out, "\n'akin help COMMAND' and 'akin help TOPIC' say "
		    "more.\n");
}
