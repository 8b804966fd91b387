/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard error; see cli_term.h.
 *
 * The state is the process's: there is one standard error.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli_json.h"
#include "cli_term.h"
#include "cli_text.h"
#include "cli_units.h"

#define REDRAW_NS (150 * 1000 * 1000)
#define DEFAULT_COLUMNS 80

static struct {
	pthread_mutex_t lock;
	bool progress, json, drawn;
	uint64_t last_ns;
} term = { PTHREAD_MUTEX_INITIALIZER };

void cli_term_init(bool progress, bool json)
{
	const char *kind = getenv("TERM");

	term.json = json;
	term.progress = progress && !json && isatty(STDERR_FILENO) && kind &&
			strcmp(kind, "dumb") != 0;
}

static void put(const char *s, size_t n)
{
	/* There is nowhere left to complain to. */
	if (fwrite(s, 1, n, stderr) != n)
		return;
	fflush(stderr);
}

static void clear_locked(void)
{
	if (!term.drawn)
		return;
	term.drawn = false;
	put("\r\033[K", 4);
}

void cli_term_clear(void)
{
	pthread_mutex_lock(&term.lock);
	clear_locked();
	pthread_mutex_unlock(&term.lock);
}

/* The library's texts often begin with the path; it stands in front already.
 * Long ones begin with "..." and its end. */
static const char *without_path(const char *text, const char *path)
{
	size_t n = strlen(path), len;
	const char *end;

	if (strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0)
		return text + n + 2;
	if (strncmp(text, "...", 3) != 0)
		return text;
	for (end = strstr(text, ": "); end; end = strstr(end + 1, ": ")) {
		len = (size_t)(end - text) - 3;
		if (len && len <= n && memcmp(text + 3, path + n - len, len) == 0)
			return end + 2;
	}
	return text;
}

static void message_json(struct cli_str *line, const char *type, int code,
			 const char *path, const char *text, const char *hint)
{
	struct cli_json j = { 0 };

	cli_json_begin(&j, type);
	if (code)
		cli_json_text(&j, "code", akin_error_name(code));
	if (path)
		cli_json_name(&j, "path", path);
	cli_json_text(&j, "message", text);
	if (hint && *hint)
		cli_json_text(&j, "hint", hint);
	cli_str_add(&j.out, "}\n");
	cli_str_addn(line, j.out.s, j.out.len);
	cli_json_release(&j);
}

static void message_text(struct cli_str *line, const char *label,
			 const char *path, const char *text, const char *hint)
{
	cli_str_addf(line, "akin: %s", label);
	if (path) {
		cli_quote(line, path, strlen(path));
		cli_str_add(line, ": ");
	}
	cli_plain(line, text);
	if (hint && *hint) {
		cli_str_add(line, "\n  ");
		cli_plain(line, hint);
	}
	cli_str_addc(line, '\n');
}

void cli_term_message(enum cli_severity severity, int code, const char *path,
		      const char *text, const char *hint)
{
	static const char *const types[] = { "error", "warning", "note" };
	static const char *const labels[] = { "", "warning: ", "" };
	struct cli_str line = { 0 };

	if (path)
		text = without_path(text, path);
	if (term.json)
		message_json(&line, types[severity], code, path, text, hint);
	else
		message_text(&line, labels[severity], path, text, hint);
	pthread_mutex_lock(&term.lock);
	clear_locked();
	put(line.s, line.len);
	pthread_mutex_unlock(&term.lock);
	cli_str_release(&line);
}

static size_t columns_now(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	return DEFAULT_COLUMNS;
}

/* A job in the background does not write over the one in front. */
static bool in_front(void)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return front < 0 || front == getpgrp();
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void cli_progress_line(struct cli_str *out, const struct akin_progress *p,
		       size_t columns)
{
	uint64_t rate = 0, left;
	char a[CLI_UNIT_TEXT];

	if (p->elapsed_ns)
		rate = (uint64_t)((double)p->bytes * 1e9 /
				  (double)p->elapsed_ns);
	cli_str_addf(out, "%llu", (unsigned long long)p->files);
	if (p->files_total)
		cli_str_addf(out, "/%llu", (unsigned long long)p->files_total);
	cli_str_addf(out, " files  %s", cli_size_text(p->bytes, a));
	if (p->bytes_total)
		cli_str_addf(out, " of %s", cli_size_text(p->bytes_total, a));
	cli_str_addf(out, "  %s/s", cli_size_text(rate, a));
	if (p->bytes_new || p->bytes_stored)
		cli_str_addf(out, "  new %s", cli_size_text(p->bytes_new, a));
	if (p->bytes_stored)
		cli_str_addf(out, "  stored %s",
			     cli_size_text(p->bytes_stored, a));
	if (rate && p->bytes_total > p->bytes) {
		left = (uint64_t)((double)(p->bytes_total - p->bytes) /
				  (double)rate * 1e9);
		cli_str_addf(out, "  ETA %s", cli_duration_text(left, a));
	}
	if (p->warnings)
		cli_str_addf(out, "  %llu warnings",
			     (unsigned long long)p->warnings);
	if (out->len > columns) {
		out->len = columns;
		out->s[columns] = 0;
	}
	if (p->current && *p->current && out->len + 2 < columns) {
		struct cli_str safe = { 0 };

		cli_plain(&safe, p->current);
		cli_str_add(out, "  ");
		cli_shorten(out, cli_str_text(&safe), columns - out->len);
		cli_str_release(&safe);
	}
}

void cli_term_progress(const struct akin_progress *p)
{
	struct cli_str line = { 0 };
	uint64_t now;

	if (!term.progress)
		return;
	pthread_mutex_lock(&term.lock);
	now = now_ns();
	if (now - term.last_ns >= REDRAW_NS && in_front()) {
		term.last_ns = now;
		/* The last column stays free: some terminals wrap there. */
		cli_progress_line(&line, p, columns_now() - 1);
		cli_str_add(&line, "\033[K");
		put("\r", 1);
		put(line.s, line.len);
		term.drawn = true;
	}
	pthread_mutex_unlock(&term.lock);
	cli_str_release(&line);
}
