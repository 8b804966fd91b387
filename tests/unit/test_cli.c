/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line without an engine: the table and what is made from it,
 * parsing and precedence, exit codes, streams.
 */
#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_args.h"
#include "cli_doc.h"
#include "cli_exit.h"
#include "cli_names.h"
#include "cli_stream.h"

/* The table -----------------------------------------------------------------*/

static void test_table_is_consistent(void **state)
{
	const struct cli_option *a, *b;
	const struct cli_command_info *c;
	size_t i;

	for (a = cli_options; a->name; a++) {
		assert_true(strlen(a->name) < 24 && *a->help);
		assert_true(a->commands && !(a->commands & ~CLI_ALL));
		assert_true(a->offset < sizeof(struct cli_args));
		assert_true((a->kind == CLI_FLAG) == (a->arg == NULL));
		assert_true((a->kind == CLI_CHOICE) == (a->choices != NULL));
		/* Not a sentence with a stop: the manual adds its own. */
		assert_int_not_equal(a->help[strlen(a->help) - 1], '.');
		for (b = cli_options; b != a; b++) {
			if (!(a->commands & b->commands))
				continue;
			assert_string_not_equal(a->name, b->name);
			assert_true(!a->letter || a->letter != b->letter);
		}
	}
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		c = &cli_commands[i];
		assert_non_null(c->name);
		assert_int_equal(cli_command_find(c->name), i);
		assert_true(c->summary && c->text && c->synopsis[0]);
		assert_non_null(c->examples[0].line);
		assert_true(c->min_operands <= c->max_operands);
		assert_null(cli_topic_find(c->name));
	}
}

/* Lines of text that a terminal of 80 columns shows without wrapping. */
static void assert_narrow(const char *text)
{
	size_t n;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		assert_true(n <= 79 || strncmp(text, "    ", 4) == 0 ||
			    strncmp(text, "  akin ", 7) == 0);
	}
}

static bool has_word(const char *text, const char *prefix, const char *word)
{
	struct cli_str s = { 0 };
	const char *at;
	bool found = false;

	cli_str_addf(&s, "%s%s", prefix, word);
	for (at = strstr(text, s.s); at && !found; at = strstr(at + 1, s.s))
		found = !strchr("abcdefghijklmnopqrstuvwxyz-0",
				at[s.len] ? at[s.len] : ' ');
	cli_str_release(&s);
	return found;
}

static void test_documents_have_all(void **state)
{
	struct cli_str help = { 0 }, man = { 0 }, dashed = { 0 };
	const struct cli_option *o;
	const char *p;
	int i;

	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		cli_str_reset(&help);
		cli_str_reset(&man);
		cli_help_command(&help, (enum cli_command)i);
		cli_man_command(&man, (enum cli_command)i);
		assert_narrow(help.s);
		for (o = cli_options; o->name; o++) {
			cli_str_reset(&dashed);
			for (p = o->name; *p; p++)
				cli_str_addf(&dashed, *p == '-' ? "\\-" : "%c",
					     *p);
			assert_int_equal(has_word(help.s, "--", o->name) &&
					 has_word(man.s, "\\-\\-", dashed.s),
					 cli_option_find((enum cli_command)i,
							 o->name,
							 strlen(o->name)) !=
					 NULL);
		}
	}
	cli_str_release(&help);
	cli_str_release(&man);
	cli_str_release(&dashed);
}

static void test_completions_have_all(void **state)
{
	struct cli_str bash = { 0 }, zsh = { 0 }, fish = { 0 };
	const struct cli_option *o;
	int i;

	cli_complete_bash(&bash);
	cli_complete_zsh(&zsh);
	cli_complete_fish(&fish);
	for (o = cli_options; o->name; o++) {
		assert_true(has_word(bash.s, "--", o->name));
		assert_true(has_word(zsh.s, "--", o->name));
		assert_true(has_word(fish.s, "-l ", o->name));
	}
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		assert_true(has_word(bash.s, " ", cli_commands[i].name));
		assert_true(has_word(zsh.s, "'", cli_commands[i].name));
		assert_true(has_word(fish.s, "-a ", cli_commands[i].name));
	}
	cli_str_release(&bash);
	cli_str_release(&zsh);
	cli_str_release(&fish);
}

static void test_overviews_have_all(void **state)
{
	struct cli_str help = { 0 }, man = { 0 };
	const struct cli_exit_info *e;
	const struct cli_topic *t;
	int i;

	cli_help_overview(&help);
	cli_man_overview(&man);
	assert_narrow(help.s);
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		assert_true(has_word(help.s, "  ", cli_commands[i].name));
		assert_true(has_word(man.s, "akin\\-", cli_commands[i].name));
	}
	for (t = cli_topics; t->name; t++) {
		assert_non_null(strstr(help.s, t->name));
		assert_non_null(strstr(man.s, t->title));
		assert_narrow(t->text);
	}
	for (e = cli_exits; e->label; e++)
		assert_non_null(strstr(man.s, e->label));
	assert_non_null(strstr(man.s, "AKIN_POOL"));
	cli_str_release(&help);
	cli_str_release(&man);
}

/* The build lists the pages by name. */
static void test_pages_are_built(void **state)
{
	const char *root = getenv("AKIN_SOURCE_ROOT");
	struct cli_str path = { 0 }, word = { 0 };
	char text[4096];
	size_t n;
	FILE *f;
	int i;

	if (!root) {
		print_message("# skipped: not run by the build (AKIN_SOURCE_ROOT)\n");
		return;
	}
	cli_str_addf(&path, "%s/docs/man/meson.build", root);
	f = fopen(path.s, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		cli_str_reset(&word);
		cli_str_addf(&word, "'%s'", cli_commands[i].name);
		assert_non_null(strstr(text, word.s));
	}
	cli_str_release(&path);
	cli_str_release(&word);
}

static void test_examples_parse(void **state)
{
	const struct cli_example *e;
	struct cli_args args;
	struct akin_diag diag;
	char *argv[32], *copy, *save, *word;
	int argc, i;
	size_t k;

	setenv("AKIN_CONFIG", "", 1);
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		for (k = 0; k < CLI_MAX_EXAMPLES; k++) {
			e = &cli_commands[i].examples[k];
			if (!e->line)
				break;
			/* Behind the last '|' or up to it, and no '<', '>'. */
			copy = cli_strdup(strstr(e->line, "akin "));
			argc = 0;
			for (word = strtok_r(copy, " ", &save); word;
			     word = strtok_r(NULL, " ", &save)) {
				if (strchr("|>", *word))
					break;
				argv[argc++] = word;
			}
			argv[argc] = NULL;
			memset(&args, 0, sizeof(args));
			memset(&diag, 0, sizeof(diag));
			if (cli_args_parse(argc, argv, &args, &diag))
				fail_msg("%s: %s", e->line, diag.text);
			assert_int_equal(args.command, i);
			cli_args_release(&args);
			free(copy);
		}
	}
	unsetenv("AKIN_CONFIG");
}

/* Parsing -------------------------------------------------------------------*/

struct line {
	struct cli_args args;
	struct akin_diag diag;
	int err;
	char *words[32];
};

/* @text is split at blanks. */
static void parse(struct line *l, const char *text)
{
	char *copy = cli_strdup(text), *save, *word;
	int n = 0;

	memset(l, 0, sizeof(*l));
	for (word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		l->words[n++] = cli_strdup(word);
	free(copy);
	l->err = cli_args_parse(n, l->words, &l->args, &l->diag);
}

static void done(struct line *l)
{
	size_t i;

	cli_args_release(&l->args);
	for (i = 0; l->words[i]; i++)
		free(l->words[i]);
}

static int no_config(void **state)
{
	setenv("AKIN_CONFIG", "", 1);
	unsetenv("AKIN_POOL");
	unsetenv("AKIN_MEMORY");
	unsetenv("AKIN_THREADS");
	return 0;
}

static void test_parse_words(void **state)
{
	struct line l;

	parse(&l, "akin -p /pool backup /a --tag x -x --tag=y /b --exclude *.o "
	      "--limit-read 5M --memory 64M -- -c");
	assert_int_equal(l.err, 0);
	assert_int_equal(l.args.command, CLI_BACKUP);
	assert_string_equal(l.args.pool, "/pool");
	assert_int_equal(l.args.tags.nr, 2);
	assert_string_equal(l.args.tags.v[1], "y");
	assert_true(l.args.one_file_system);
	assert_int_equal(l.args.limit_read, 5 << 20);
	assert_int_equal(l.args.memory, 64 << 20);
	assert_int_equal(l.args.operands.nr, 3);
	assert_int_equal(l.args.nr_before_dashes, 2);
	assert_string_equal(l.args.operands.v[2], "-c");
	done(&l);

	parse(&l, "akin backup --stdin n --exec -- tar -cf - --json .");
	assert_int_equal(l.err, 0);
	assert_true(l.args.exec && !l.args.json);
	assert_int_equal(l.args.nr_before_dashes, 0);
	assert_int_equal(l.args.operands.nr, 5);
	assert_string_equal(l.args.operands.v[1], "-cf");
	done(&l);

	parse(&l, "akin check --read-data=5% --no-json -qv");
	assert_int_equal(l.err, 0);
	assert_true(l.args.read_data.given && l.args.quiet && l.args.verbose);
	assert_int_equal(l.args.read_data.percent, 5);
	done(&l);

	parse(&l, "akin restore latest --help");
	assert_true(l.err == 0 && l.args.help && l.args.have_command);
	done(&l);
}

static void assert_refused(const char *text, const char *expected,
			   const char *hint)
{
	struct line l;

	parse(&l, text);
	assert_int_equal(l.err, -AKIN_E_usage);
	assert_string_equal(l.diag.text, expected);
	if (hint)
		assert_string_equal(l.diag.hint, hint);
	done(&l);
}

static void test_parse_refuses(void **state)
{
	assert_refused("akin", "no command", "'akin help' lists the commands.");
	assert_refused("akin bakcup /x", "unknown command 'bakcup'",
		       "Did you mean 'backup'?");
	assert_refused("akin --tag x backup", "unknown option '--tag'",
		       "Options of a command stand behind its name.");
	assert_refused("akin backup --exclud x", "unknown option '--exclud'",
		       "Did you mean '--exclude'?");
	/* Abbreviations would change their meaning one day. */
	assert_refused("akin ls --lon x", "unknown option '--lon'",
		       "Did you mean '--long'?");
	assert_refused("akin ls -lz x", "unknown option '-z'", NULL);
	assert_refused("akin ls x --tag", "'--tag' needs a value", NULL);
	assert_refused("akin find x -s", "'-s' needs a value", NULL);
	assert_refused("akin ls --json=1 x", "'--json' takes no value", NULL);
	assert_refused("akin ls", "ls: something is missing",
		       "Usage: akin -p POOL ls [OPTION]... SNAP[:PATH]");
	assert_refused("akin ls a b", "'b' is one word too many", NULL);
	assert_refused("akin ls --memory 5X x", "--memory: '5X' is not a size "
		       "such as 64M, 1.5G or 500KB", NULL);
	assert_refused("akin ls --threads 1025 x",
		       "--threads: '1025' is not a number up to 1024", NULL);
	assert_refused("akin restore a --overwrite maybe",
		       "--overwrite: 'maybe' is not one of "
		       "if-changed|always|never", NULL);
}

static void config(struct line *l, enum cli_command command, const char *text)
{
	memset(l, 0, sizeof(*l));
	l->args.command = command;
	l->err = cli_config_apply(&l->args, "conf", text, strlen(text),
				  &l->diag);
}

static void test_config(void **state)
{
	static const char text[] =
		"# comment\n\n pool = /a b \r\nmemory=64M\nfiles-from = l\n"
		"[backup]\nexclude = *.o\nexclude = x = y\nforce = on\n"
		"[restore]\nexclude = z\ntarget = /t\n"
		"[check]\nread-data = 5%";
	struct line l;

	config(&l, CLI_BACKUP, text);
	assert_int_equal(l.err, 0);
	assert_string_equal(l.args.pool, "/a b");
	assert_int_equal(l.args.memory, 64 << 20);
	assert_string_equal(l.args.files_from, "l");
	assert_int_equal(l.args.excludes.nr, 2);
	assert_string_equal(l.args.excludes.v[1], "x = y");
	assert_true(l.args.force);
	assert_null(l.args.target);
	done(&l);
	config(&l, CLI_CHECK, text);
	assert_int_equal(l.err, 0);
	assert_int_equal(l.args.read_data.percent, 5);
	assert_int_equal(l.args.excludes.nr, 0);
	assert_null(l.args.files_from);
	done(&l);
}

static void assert_bad_config(const char *text, const char *expected)
{
	struct line l;

	config(&l, CLI_BACKUP, text);
	assert_int_equal(l.err, -AKIN_E_usage);
	assert_string_equal(l.diag.text, expected);
	done(&l);
}

static void test_config_refuses(void **state)
{
	struct line l;

	assert_bad_config("\npol = x", "conf:2: there is no option 'pol'");
	assert_bad_config("pool", "conf:1: this is not KEY = VALUE: 'pool'");
	assert_bad_config("= x", "conf:1: this is not KEY = VALUE: '= x'");
	assert_bad_config("[backup", "conf:1: no ']' in '[backup'");
	assert_bad_config("[nope]", "conf:1: there is no command 'nope'");
	assert_bad_config("[ls]\nexclude = x",
			  "conf:2: there is no option 'exclude'");
	assert_bad_config("tag = x", "conf:1: put behind [backup] or another "
			  "command: 'tag'");
	assert_bad_config("help = yes",
			  "conf:1: only the command line can say 'help'");
	assert_bad_config("json = maybe",
			  "conf:1: json: 'maybe' is not yes or no");
	assert_bad_config("memory = lots", "conf:1: memory: 'lots' is not a "
			  "size such as 64M, 1.5G or 500KB");
	memset(&l, 0, sizeof(l));
	assert_int_equal(cli_config_apply(&l.args, "conf", "json\0", 5,
					  &l.diag), -AKIN_E_usage);
	done(&l);
}

static void test_precedence(void **state)
{
	char path[] = "/tmp/akin-test-cli-XXXXXX";
	static const char text[] = "pool = file\nmemory = 33M\nthreads = 3\n"
		"json = yes\n[backup]\nexclude = f\n";
	int fd = mkstemp(path);
	struct line l;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	setenv("AKIN_CONFIG", path, 1);
	setenv("AKIN_MEMORY", "44M", 1);
	setenv("AKIN_THREADS", "4", 1);
	parse(&l, "akin --memory 55M backup --exclude c --no-json x");
	assert_int_equal(l.err, 0);
	assert_string_equal(l.args.pool, "file");
	assert_int_equal(l.args.memory, 55 << 20);
	assert_int_equal(l.args.threads, 4);
	assert_false(l.args.json);
	assert_int_equal(l.args.excludes.nr, 2);
	assert_string_equal(l.args.excludes.v[0], "f");
	done(&l);
	unlink(path);
	/* A file that was named must be there. */
	parse(&l, "akin snapshots");
	assert_int_equal(l.err, -AKIN_E_usage);
	done(&l);
	no_config(NULL);
}

/* Exit codes ----------------------------------------------------------------*/

static void test_exit_codes(void **state)
{
	assert_int_equal(cli_exit_of(0), 0);
	assert_int_equal(cli_exit_of(-AKIN_E_io), 1);
	assert_int_equal(cli_exit_of(-AKIN_E_snap_unknown), 1);
	assert_int_equal(cli_exit_of(-AKIN_E_source_exec), 1);
	assert_int_equal(cli_exit_of(-AKIN_E_usage), 2);
	assert_int_equal(cli_exit_of(-AKIN_E_partial), 3);
	assert_int_equal(cli_exit_of(-AKIN_E_pool_missing), 4);
	assert_int_equal(cli_exit_of(-AKIN_E_busy), 4);
	assert_int_equal(cli_exit_of(-AKIN_E_bad_fp), 5);
	assert_int_equal(cli_exit_of(-AKIN_E_nospace), 6);
}

/* Streams -------------------------------------------------------------------*/

static int run_stream(const char *script, struct cli_str *out,
		      struct akin_diag *diag)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct cli_stream s = { .fd = -1 };
	char buf[64];
	long n = 0;
	int err;

	memset(diag, 0, sizeof(*diag));
	err = cli_stream_exec(&s, argv, diag);
	while (!err && (n = cli_stream_read(&s, buf, sizeof(buf), diag)) > 0)
		cli_str_addn(out, buf, (size_t)n);
	if (!err)
		err = n < 0 ? (int)n : cli_stream_finish(&s, diag);
	cli_stream_release(&s);
	return err;
}

static void test_stream(void **state)
{
	struct cli_stream s = { .fd = -1 };
	char *missing[] = { (char *)"/no/such/command", NULL };
	struct cli_str out = { 0 };
	struct akin_diag diag;

	assert_int_equal(run_stream("echo one; sleep 0.1; echo two", &out,
				    &diag), 0);
	assert_string_equal(out.s, "one\ntwo\n");
	assert_int_equal(run_stream("echo x; exit 7", &out, &diag),
			 -AKIN_E_source_exec);
	assert_string_equal(diag.text, "'sh' exited with status 7: no snapshot "
			    "was made");
	assert_int_equal(run_stream("kill -9 $$", &out, &diag),
			 -AKIN_E_source_exec);
	assert_string_equal(diag.text, "'sh' was ended by signal 9 (Killed): "
			    "no snapshot was made");
	/* Its output is closed long before it fails. */
	assert_int_equal(run_stream("exec >&-; sleep 0.2; exit 1", &out,
				    &diag), -AKIN_E_source_exec);
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(cli_stream_exec(&s, missing, &diag),
			 -AKIN_E_source_exec);
	assert_string_equal(diag.text, "cannot run '/no/such/command': No such "
			    "file or directory");
	cli_stream_release(&s);
	cli_str_release(&out);
}

static void test_names(void **state)
{
	char path[] = "/tmp/akin-test-cli-XXXXXX";
	static const char lines[] = "a b\n\n-x\r\nlast";
	struct akin_diag diag = { 0 };
	struct cli_list list = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, lines, sizeof(lines)), sizeof(lines));
	/* The NUL behind "last" is no part of a line. */
	assert_int_equal(cli_names_read(path, '\n', &list, &diag),
			 -AKIN_E_usage);
	cli_list_free_all(&list);
	assert_int_equal(ftruncate(fd, sizeof(lines) - 1), 0);
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(cli_names_read(path, '\n', &list, &diag), 0);
	assert_int_equal(list.nr, 3);
	assert_string_equal(list.v[0], "a b");
	assert_string_equal(list.v[1], "-x\r");
	assert_string_equal(list.v[2], "last");
	cli_list_free_all(&list);
	assert_int_equal(cli_names_read(path, 0, &list, &diag), 0);
	assert_int_equal(list.nr, 1);
	assert_string_equal(list.v[0], lines);
	cli_list_free_all(&list);
	close(fd);
	unlink(path);
	assert_int_equal(cli_names_read(path, 0, &list, &diag),
			 -AKIN_E_absent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_is_consistent),
		cmocka_unit_test(test_documents_have_all),
		cmocka_unit_test(test_completions_have_all),
		cmocka_unit_test(test_overviews_have_all),
		cmocka_unit_test(test_pages_are_built),
		cmocka_unit_test(test_examples_parse),
		cmocka_unit_test(test_parse_words),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_config_refuses),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, no_config, NULL);
}
