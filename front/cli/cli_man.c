/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manual pages in man(7).
 *
 * Written directly: what the table holds is so regular that a mark-up
 * language in between would only add a dependency and its escapes.
 */
#include <ctype.h>
#include <string.h>

#include "cli_doc.h"

#ifndef AKIN_VERSION
#define AKIN_VERSION "0"
#endif

/* Text of one line, escaped for roff wherever it may stand. */
static void add_escaped(struct cli_str *out, const char *s, size_t n)
{
	size_t i;

	/* A control character in front would make it a request. */
	if (n && (s[0] == '.' || s[0] == '\''))
		cli_str_add(out, "\\&");
	for (i = 0; i < n; i++) {
		switch (s[i]) {
		case '\\':
			cli_str_add(out, "\\e");
			break;
		case '-':
			cli_str_add(out, "\\-");
			break;
		case '\'':
			cli_str_add(out, "\\(aq");
			break;
		case '~':
			cli_str_add(out, "\\(ti");
			break;
		case '^':
			cli_str_add(out, "\\(ha");
			break;
		case '`':
			cli_str_add(out, "\\(ga");
			break;
		default:
			cli_str_addc(out, s[i]);
			break;
		}
	}
}

static void add_text(struct cli_str *out, const char *s)
{
	add_escaped(out, s, strlen(s));
}

/* Paragraphs and literal lines; see cli_topic. */
static void add_body(struct cli_str *out, const char *text)
{
	bool literal = false, fresh = true;
	size_t n;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n == 0) {
			fresh = true;
			continue;
		}
		if ((strncmp(text, "    ", 4) == 0) != literal) {
			literal = !literal;
			cli_str_add(out, literal ? ".PP\n.nf\n.RS 4\n" :
				    ".RE\n.fi\n");
			fresh = fresh && !literal;
		}
		if (fresh && !literal)
			cli_str_add(out, ".PP\n");
		fresh = false;
		add_escaped(out, text + (literal ? 4 : 0),
			    n - (literal ? 4 : 0));
		cli_str_addc(out, '\n');
	}
	if (literal)
		cli_str_add(out, ".RE\n.fi\n");
}

static void add_head(struct cli_str *out, const char *page, const char *summary)
{
	const char *s;

	cli_str_add(out, ".\\\" Made from the table of commands; do not edit.\n"
		    ".TH ");
	for (s = page; *s; s++)
		cli_str_addc(out, (char)toupper((unsigned char)*s));
	cli_str_add(out, " 1 \"\" \"akin " AKIN_VERSION "\" \"akin\"\n"
		    ".SH NAME\n");
	add_text(out, page);
	cli_str_add(out, " \\- ");
	add_text(out, summary);
	cli_str_addc(out, '\n');
}

static void add_option(struct cli_str *out, const struct cli_option *o)
{
	struct cli_str title = { 0 };

	cli_option_title(&title, o);
	cli_str_add(out, ".TP\n.B ");
	add_text(out, title.s);
	cli_str_addc(out, '\n');
	add_text(out, o->help);
	if (o->env)
		cli_str_addf(out, " (also: %s)", o->env);
	cli_str_add(out, ".\n");
	cli_str_release(&title);
}

static void add_options(struct cli_str *out, uint64_t mask, bool global)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if ((o->commands & mask) && cli_option_is_global(o) == global)
			add_option(out, o);
	}
}

static void add_examples(struct cli_str *out,
			 const struct cli_command_info *info)
{
	const struct cli_example *e;
	size_t i;

	cli_str_add(out, ".SH EXAMPLES\n");
	for (i = 0; i < CLI_MAX_EXAMPLES; i++) {
		e = &info->examples[i];
		if (!e->line)
			break;
		cli_str_add(out, ".TP\n.B ");
		add_text(out, e->line);
		cli_str_addc(out, '\n');
		add_text(out, e->text);
		cli_str_addc(out, '\n');
	}
}

void cli_man_command(struct cli_str *out, enum cli_command command)
{
	const struct cli_command_info *info = &cli_commands[command];
	struct cli_str page = { 0 };
	size_t i;

	cli_str_addf(&page, "akin-%s", info->name);
	add_head(out, page.s, info->summary);
	cli_str_release(&page);
	cli_str_add(out, ".SH SYNOPSIS\n.nf\n");
	for (i = 0; i < CLI_MAX_SYNOPSES && info->synopsis[i]; i++) {
		cli_str_add(out, "akin ");
		add_text(out, info->synopsis[i]);
		cli_str_addc(out, '\n');
	}
	cli_str_add(out, ".fi\n.SH DESCRIPTION\n");
	add_body(out, info->text);
	add_examples(out, info);
	cli_str_add(out, ".SH OPTIONS\n");
	add_options(out, CLI_BIT(command), false);
	cli_str_add(out, ".SS Options of every command\n");
	add_options(out, CLI_ALL, true);
	cli_str_add(out, ".SH SEE ALSO\n.BR akin (1),\n"
		    "for exit codes, configuration, environment and patterns\n");
}

static void add_commands(struct cli_str *out)
{
	int i;

	cli_str_add(out, ".SH COMMANDS\n");
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		cli_str_add(out, ".TP\n.BR akin\\-");
		add_text(out, cli_commands[i].name);
		cli_str_add(out, " (1)\n");
		add_text(out, cli_commands[i].summary);
		cli_str_addc(out, '\n');
	}
}

static void add_topic(struct cli_str *out, const struct cli_topic *t)
{
	struct cli_str text = { 0 };

	cli_str_addf(out, ".SH %s\n", t->title);
	cli_str_add(&text, t->text);
	if (t->table)
		t->table(&text);
	add_body(out, text.s);
	cli_str_release(&text);
}

void cli_man_overview(struct cli_str *out)
{
	const struct cli_topic *t;

	add_head(out, "akin", "keep many versions of large data in little space");
	cli_str_add(out, ".SH SYNOPSIS\n.nf\n"
		    "akin [\\-p POOL] COMMAND [OPTION]... [OPERAND]...\n.fi\n"
		    ".SH DESCRIPTION\n");
	add_body(out,
		 "akin stores backups of directories, images and streams in a\n"
		 "pool. Data that the pool has already is not stored again,\n"
		 "wherever it comes from; the rest is compressed. Every byte that\n"
		 "is read back is checked. A process stays within a fixed amount\n"
		 "of memory whatever the size of the pool.\n"
		 "\n"
		 "To begin:\n"
		 "\n"
		 "    akin init /mnt/backup\n"
		 "    export AKIN_POOL=/mnt/backup\n"
		 "    akin backup /home /etc\n"
		 "    akin snapshots\n"
		 "    akin restore latest:/home/eva --target ./eva\n"
		 "    akin check\n");
	add_commands(out);
	cli_str_add(out, ".SH OPTIONS\nThese every command has.\n");
	add_options(out, CLI_ALL, true);
	for (t = cli_topics; t->name; t++)
		add_topic(out, t);
	cli_str_add(out, ".SH FILES\n.TP\n.I /etc/akin.conf\nconfiguration of "
		    "the system\n.TP\n.I \\(ti/.config/akin/config\n"
		    "configuration of the user\n");
}
