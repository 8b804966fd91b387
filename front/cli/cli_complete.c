/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions for bash, zsh and fish.
 *
 * They know commands, options, choices and what kind of thing a value is. They
 * never open a pool: pressing a key must not wait for a disk.
 */
#include <string.h>

#include "cli_doc.h"

#define CODECS "none lz4 zstd:1 zstd:3 zstd:9 zstd:19 gzip lzjb"
#define HEAD "Made from the table of commands; do not edit."

static bool has(const struct cli_option *o, int command)
{
	return o->commands & CLI_BIT(command);
}

static void add_spaced(struct cli_str *out, const char *choices)
{
	for (; *choices; choices++)
		cli_str_addc(out, *choices == '|' ? ' ' : *choices);
}

static void add_topics(struct cli_str *out)
{
	const struct cli_topic *t;
	int i;

	for (i = 0; i < CLI_NR_COMMANDS; i++)
		cli_str_addf(out, "%s%s", i ? " " : "", cli_commands[i].name);
	for (t = cli_topics; t->name; t++)
		cli_str_addf(out, " %s", t->name);
}

/* The words that fit, as a list; empty if they are files or anything. */
static void add_words(struct cli_str *out, const struct cli_option *o,
		      enum cli_complete what)
{
	if (o && o->choices)
		add_spaced(out, o->choices);
	else if (what == CLI_COMPLETE_CODEC)
		cli_str_add(out, CODECS);
	else if (what == CLI_COMPLETE_SNAPSHOT)
		cli_str_add(out, "latest tag:");
	else if (what == CLI_COMPLETE_POLICY)
		cli_str_add(out, "show set clear");
	else if (what == CLI_COMPLETE_TOPIC)
		add_topics(out);
	else if (what == CLI_COMPLETE_CAPACITY)
		cli_str_add(out, "sun7000 zfs netapp akin plan");
}

/* Letters and names of global options whose value is the next word. */
static void add_global_values(struct cli_str *out, const char *separator)
{
	const struct cli_option *o;
	const char *before = "";

	for (o = cli_options; o->name; o++) {
		if (!cli_option_is_global(o) || !o->arg)
			continue;
		cli_str_addf(out, "%s--%s", before, o->name);
		before = separator;
		if (o->letter)
			cli_str_addf(out, "%s-%c", separator, o->letter);
	}
}

/* bash ----------------------------------------------------------------------*/

static void bash_reply(struct cli_str *out, const struct cli_option *o,
		       enum cli_complete what)
{
	struct cli_str words = { 0 };

	add_words(&words, o, what);
	if (words.len)
		cli_str_addf(out, "COMPREPLY=($(compgen -W '%s' -- \"$cur\"))",
			     words.s);
	else if (what == CLI_COMPLETE_DIR)
		cli_str_add(out, "compopt -o filenames; COMPREPLY=($(compgen "
			    "-d -- \"$cur\"))");
	else if (what == CLI_COMPLETE_FILE)
		cli_str_add(out, "compopt -o filenames; COMPREPLY=($(compgen "
			    "-f -- \"$cur\"))");
	else
		cli_str_add(out, "COMPREPLY=()");
	cli_str_release(&words);
}

/* Values of options that stand as a word of their own. */
static void bash_values(struct cli_str *out, uint64_t mask, bool global)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if (!(o->commands & mask) || cli_option_is_global(o) != global ||
		    !o->arg || o->kind == CLI_SHARE)
			continue;
		cli_str_addf(out, "\t\t--%s", o->name);
		if (o->letter)
			cli_str_addf(out, "|-%c", o->letter);
		cli_str_add(out, ") ");
		bash_reply(out, o, o->complete);
		cli_str_add(out, "; return ;;\n");
	}
}

static void bash_options(struct cli_str *out, uint64_t mask, bool global)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if ((o->commands & mask) &&
		    (!global || cli_option_is_global(o)))
			cli_str_addf(out, " --%s%s", o->name,
				     o->kind == CLI_SHARE ? "=" : "");
	}
}

static void bash_command(struct cli_str *out, int i)
{
	cli_str_addf(out, "\t%s)\n\t\tcase $prev in\n", cli_commands[i].name);
	bash_values(out, CLI_BIT(i), false);
	cli_str_add(out, "\t\tesac\n\t\tif [[ $cur == -* ]]; then\n"
		    "\t\t\tCOMPREPLY=($(compgen -W '");
	bash_options(out, CLI_BIT(i), false);
	cli_str_add(out, "' -- \"$cur\"))\n\t\t\t[[ ${COMPREPLY[0]} == *= ]] "
		    "&& compopt -o nospace\n\t\telse\n\t\t\t");
	bash_reply(out, NULL, cli_commands[i].complete);
	cli_str_add(out, "\n\t\tfi ;;\n");
}

void cli_complete_bash(struct cli_str *out)
{
	int i;

	cli_str_add(out, "# bash completion for akin. " HEAD "\n"
		"_akin()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
		"\tlocal prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tlocal cmd= i=1\n"
		"\twhile ((i < COMP_CWORD)); do\n"
		"\t\tcase ${COMP_WORDS[i]} in\n\t\t");
	add_global_values(out, "|");
	cli_str_add(out, ") ((i++)) ;;\n\t\t-*) ;;\n"
		"\t\t*) cmd=${COMP_WORDS[i]}; break ;;\n"
		"\t\tesac\n\t\t((i++))\n\tdone\n"
		"\tcase $prev in\n");
	bash_values(out, CLI_ALL, true);
	cli_str_add(out, "\tesac\n\tcase $cmd in\n\t'')\n"
		"\t\tif [[ $cur == -* ]]; then\n"
		"\t\t\tCOMPREPLY=($(compgen -W '");
	bash_options(out, CLI_ALL, true);
	cli_str_add(out, "' -- \"$cur\"))\n\t\telse\n"
		"\t\t\tCOMPREPLY=($(compgen -W '");
	for (i = 0; i < CLI_NR_COMMANDS; i++)
		cli_str_addf(out, " %s", cli_commands[i].name);
	cli_str_add(out, "' -- \"$cur\"))\n\t\tfi ;;\n");
	for (i = 0; i < CLI_NR_COMMANDS; i++)
		bash_command(out, i);
	cli_str_add(out, "\tesac\n}\ncomplete -F _akin akin\n");
}

/* zsh -----------------------------------------------------------------------*/

/* Inside '...' and a [description]: quote, brackets and colons. */
static void zsh_text(struct cli_str *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			cli_str_add(out, "'\\''");
		else if (strchr("[]:\\", *s))
			cli_str_addf(out, "\\%c", *s);
		else
			cli_str_addc(out, *s);
	}
}

static void zsh_action(struct cli_str *out, const struct cli_option *o,
		       enum cli_complete what)
{
	struct cli_str words = { 0 };

	add_words(&words, o, what);
	if (words.len) {
		cli_str_addc(out, '(');
		zsh_text(out, words.s);
		cli_str_addc(out, ')');
	} else if (what == CLI_COMPLETE_DIR) {
		cli_str_add(out, "_directories");
	} else if (what == CLI_COMPLETE_FILE) {
		cli_str_add(out, "_files");
	} else {
		cli_str_addc(out, ' ');
	}
	cli_str_release(&words);
}

static void zsh_spec(struct cli_str *out, const struct cli_option *o, char letter)
{
	cli_str_add(out, "\t\t'");
	if (o->kind == CLI_LIST)
		cli_str_addc(out, '*');
	if (letter)
		cli_str_addf(out, "-%c", letter);
	else
		cli_str_addf(out, "--%s", o->name);
	if (o->kind == CLI_SHARE)
		cli_str_add(out, "=-");
	cli_str_addc(out, '[');
	zsh_text(out, o->help);
	cli_str_addc(out, ']');
	if (o->arg) {
		cli_str_add(out, o->kind == CLI_SHARE ? "::" : ":");
		zsh_text(out, o->arg);
		cli_str_addc(out, ':');
		zsh_action(out, o, o->complete);
	}
	cli_str_add(out, "'\n");
}

static void zsh_specs(struct cli_str *out, uint64_t mask, bool global)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if (!(o->commands & mask) || cli_option_is_global(o) != global)
			continue;
		zsh_spec(out, o, 0);
		if (o->letter)
			zsh_spec(out, o, o->letter);
	}
}

void cli_complete_zsh(struct cli_str *out)
{
	int i;

	cli_str_add(out, "#compdef akin\n# " HEAD "\n\n_akin() {\n"
		    "\tlocal curcontext=$curcontext state line\n"
		    "\tlocal -a global own\n\tlocal -A opt_args\n"
		    "\tglobal=(\n");
	zsh_specs(out, CLI_ALL, true);
	cli_str_add(out, "\t)\n\t_arguments -C $global '1: :->command' "
		    "'*:: :->operands' && return\n"
		    "\tcase $state in\n\tcommand)\n\t\town=(\n");
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		cli_str_addf(out, "\t\t'%s:", cli_commands[i].name);
		zsh_text(out, cli_commands[i].summary);
		cli_str_add(out, "'\n");
	}
	cli_str_add(out, "\t\t)\n\t\t_describe command own ;;\n\toperands)\n"
		    "\t\tcase $words[1] in\n");
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		cli_str_addf(out, "\t\t%s)\n\t\town=(\n", cli_commands[i].name);
		zsh_specs(out, CLI_BIT(i), false);
		cli_str_add(out, "\t\t'*:operand:");
		zsh_action(out, NULL, cli_commands[i].complete);
		cli_str_add(out, "'\n\t\t) ;;\n");
	}
	cli_str_add(out, "\t\tesac\n\t\t_arguments $global $own ;;\n\tesac\n}\n\n"
		    "_akin \"$@\"\n");
}

/* fish ----------------------------------------------------------------------*/

static void fish_text(struct cli_str *out, const char *s)
{
	cli_str_addc(out, '\'');
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			cli_str_addc(out, '\\');
		cli_str_addc(out, *s);
	}
	cli_str_addc(out, '\'');
}

static void fish_words(struct cli_str *out, const struct cli_option *o,
		       enum cli_complete what)
{
	struct cli_str words = { 0 };

	add_words(&words, o, what);
	if (words.len) {
		cli_str_add(out, " -f -a ");
		fish_text(out, words.s);
	} else if (what == CLI_COMPLETE_DIR) {
		cli_str_add(out, " -f -a '(__fish_complete_directories)'");
	} else if (what == CLI_COMPLETE_FILE) {
		cli_str_add(out, " -F");
	} else {
		cli_str_add(out, " -f");
	}
	cli_str_release(&words);
}

static void fish_option(struct cli_str *out, const struct cli_option *o)
{
	int i;

	cli_str_add(out, "complete -c akin");
	if (!cli_option_is_global(o)) {
		cli_str_add(out, " -n '__akin_is");
		for (i = 0; i < CLI_NR_COMMANDS; i++) {
			if (has(o, i))
				cli_str_addf(out, " %s", cli_commands[i].name);
		}
		cli_str_addc(out, '\'');
	}
	if (o->letter)
		cli_str_addf(out, " -s %c", o->letter);
	cli_str_addf(out, " -l %s", o->name);
	if (o->arg && o->kind != CLI_SHARE) {
		cli_str_add(out, " -r");
		fish_words(out, o, o->complete);
	}
	cli_str_add(out, " -d ");
	fish_text(out, o->help);
	cli_str_addc(out, '\n');
}

/* Conditions: fish's own take the value of -p for a command. */
static void fish_functions(struct cli_str *out)
{
	cli_str_add(out, "# The command on the line, if it has one already.\n"
		    "function __akin_command\n"
		    "    set -l words (commandline -opc)\n"
		    "    set -e words[1]\n"
		    "    while set -q words[1]\n"
		    "        switch $words[1]\n"
		    "        case ");
	add_global_values(out, " ");
	cli_str_add(out, "\n            set -e words[1]\n"
		    "        case '-*'\n"
		    "        case '*'\n"
		    "            echo $words[1]\n"
		    "            return\n"
		    "        end\n"
		    "        set -e words[1]\n"
		    "    end\n"
		    "end\n"
		    "# Is it one of these? Without any: is there none?\n"
		    "function __akin_is\n"
		    "    set -l cmd (__akin_command)\n"
		    "    if test -z \"$cmd\"\n"
		    "        test (count $argv) -eq 0\n"
		    "    else\n"
		    "        contains -- $cmd $argv\n"
		    "    end\n"
		    "end\n");
}

void cli_complete_fish(struct cli_str *out)
{
	const struct cli_option *o;
	int i;

	cli_str_add(out, "# fish completion for akin. " HEAD "\n");
	fish_functions(out);
	cli_str_add(out, "complete -c akin -f\n");
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		cli_str_addf(out, "complete -c akin -n '__akin_is' "
			     "-a %s -d ", cli_commands[i].name);
		fish_text(out, cli_commands[i].summary);
		cli_str_addc(out, '\n');
		if (cli_commands[i].complete == CLI_COMPLETE_NONE)
			continue;
		cli_str_addf(out, "complete -c akin -n "
			     "'__akin_is %s'",
			     cli_commands[i].name);
		fish_words(out, NULL, cli_commands[i].complete);
		cli_str_addc(out, '\n');
	}
	for (o = cli_options; o->name; o++)
		fish_option(out, o);
}
