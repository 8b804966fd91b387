/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files: lines of KEY = VALUE, where KEY is the long name of an
 * option, and [COMMAND] in front of those that concern one command.
 *
 * A key that some command has is right before the first [COMMAND] even if the
 * present command does not have it. A key that none has is an error: a
 * misspelt "exclude" must not pass in silence.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_args.h"

#define SYSTEM_FILE "/etc/akin.conf"
/* Nobody writes that by hand; whoever names /dev/zero gets an answer. */
#define CONFIG_MAX_BYTES ((size_t)1 << 20)

#define ANY_COMMAND (-1)

struct config {
	struct cli_args *args;
	const char *file;
	unsigned line;
	int section;		/* enum cli_command or ANY_COMMAND */
	struct akin_diag *diag;
};

static int bad_line(struct config *c, const char *what, const char *text)
{
	return cli_fail(c->diag, -AKIN_E_usage, "%s:%u: %s '%.80s'", c->file,
			c->line, what, text);
}

static const struct cli_option *find_key(int section, const char *key)
{
	const struct cli_option *o;
	int i;

	if (section != ANY_COMMAND)
		return cli_option_find((enum cli_command)section, key,
				       strlen(key));
	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		o = cli_option_find((enum cli_command)i, key, strlen(key));
		if (o)
			return o;
	}
	return NULL;
}

/*
 * The option of the present command that the line sets, or NULL. An option
 * that only chooses snapshots has the name of one that labels them (--tag,
 * --host): in front of the sections they would get in each other's way, so
 * there the line must say which is meant.
 */
static const struct cli_option *effective(struct config *c, const char *key)
{
	enum cli_command cmd = c->args->command;
	const struct cli_option *o;

	if (c->section != ANY_COMMAND && c->section != (int)cmd)
		return NULL;
	o = cli_option_find(cmd, key, strlen(key));
	return o && o->line_only ? NULL : o;
}

static bool is_ambiguous(const struct cli_option *o)
{
	const struct cli_option *other;

	for (other = cli_options; other->name; other++) {
		if (other != o && !other->line_only &&
		    strcmp(other->name, o->name) == 0)
			return true;
	}
	return false;
}

static int apply_pair(struct config *c, const char *key, const char *value)
{
	const struct cli_option *known = find_key(c->section, key), *o;
	struct cli_str where = { 0 };
	char *copy;
	int err;

	if (!known)
		return bad_line(c, "there is no option", key);
	if (known->line_only)
		return bad_line(c, "only the command line can say", key);
	if (c->section == ANY_COMMAND && is_ambiguous(known))
		return bad_line(c, "put behind [backup] or another command:",
				key);
	o = effective(c, key);
	if (!o)
		return 0;
	copy = cli_strdup(value);
	cli_list_add(&c->args->owned, copy);
	cli_str_addf(&where, "%s:%u: %s", c->file, c->line, key);
	err = cli_args_set(c->args, o, copy, where.s, c->diag);
	cli_str_release(&where);
	return err;
}

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = 0;
	return s;
}

static int apply_line(struct config *c, char *line)
{
	size_t n;
	char *eq;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	if (*line == '[') {
		n = strlen(line);
		if (line[n - 1] != ']')
			return bad_line(c, "no ']' in", line);
		line[n - 1] = 0;
		c->section = cli_command_find(line + 1);
		return c->section < 0 ?
		       bad_line(c, "there is no command", line + 1) : 0;
	}
	eq = strchr(line, '=');
	if (!eq || eq == line)
		return bad_line(c, "this is not KEY = VALUE:", line);
	*eq = 0;
	return apply_pair(c, trim(line), trim(eq + 1));
}

int cli_config_apply(struct cli_args *args, const char *file, const char *text,
		     size_t n, struct akin_diag *diag)
{
	struct config c = { args, file, 0, ANY_COMMAND, diag };
	char *copy = cli_alloc(n + 1), *at, *end;
	int err = 0;

	memcpy(copy, text, n);
	if (strlen(copy) != n)
		err = cli_fail(diag, -AKIN_E_usage,
			       "%s: holds NUL bytes, this is no text", file);
	for (at = copy; !err && at < copy + n; at = end + 1) {
		end = strchr(at, '\n');
		if (!end)
			end = copy + n;
		*end = 0;
		c.line++;
		err = apply_line(&c, at);
	}
	free(copy);
	return err;
}

static int read_text(int fd, char **out, size_t *n_ret)
{
	char *p = cli_alloc(CONFIG_MAX_BYTES);
	size_t n = 0;
	ssize_t got;

	for (;;) {
		got = read(fd, p + n, CONFIG_MAX_BYTES - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (n == CONFIG_MAX_BYTES) {
			errno = EFBIG;
			got = -1;
			break;
		}
	}
	if (got < 0) {
		free(p);
		return -1;
	}
	*out = p;
	*n_ret = n;
	return 0;
}

/* A file that does not exist is fine unless it was asked for by name. */
static int load_file(struct cli_args *args, const char *path, bool must_exist,
		     struct akin_diag *diag)
{
	char *text = NULL;
	size_t n;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		if (!must_exist && (errno == ENOENT || errno == ENOTDIR ||
				    errno == EACCES))
			return 0;
		return cli_fail(diag, -AKIN_E_usage, "configuration %s: %s",
				path, strerror(errno));
	}
	if (read_text(fd, &text, &n))
		err = cli_fail(diag, -AKIN_E_usage, "configuration %s: %s",
			       path, strerror(errno));
	else
		err = cli_config_apply(args, path, text, n, diag);
	free(text);
	close(fd);
	return err;
}

int cli_config_load(struct cli_args *args, struct akin_diag *diag)
{
	const char *named = getenv("AKIN_CONFIG");
	const char *base = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	struct cli_str path = { 0 };
	int err;

	if (named)
		return *named ? load_file(args, named, true, diag) : 0;
	err = load_file(args, SYSTEM_FILE, false, diag);
	if (base && *base)
		cli_str_addf(&path, "%s/akin/config", base);
	else if (home && *home)
		cli_str_addf(&path, "%s/.config/akin/config", home);
	if (!err && path.len)
		err = load_file(args, path.s, false, diag);
	cli_str_release(&path);
	return err;
}
