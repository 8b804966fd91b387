/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "cli_text.h"
#include "cli_top.h"
#include "cli_units.h"

/* Of a row's history, and what is left for its name before there is none. */
#define SPARK_COLUMNS 20
#define SPARK_COLUMNS_MIN 6
#define NAME_MIN 20
/* With fewer columns, totals and times, and then users, give way to names. */
#define TOTALS_FROM 72
#define USERS_FROM 56
/* With more, operations by front. */
#define WIDE 100
/* With fewer lines, what is above the list. */
#define LINES_FOR_ALL 15

/* What a row has besides process, rate and share. */
struct layout {
	int users;		/* columns */
	bool totals;
	unsigned spark;		/* columns; 0: none */
};

static struct layout layout_of(const struct cli_top_look *look)
{
	struct layout l = { .users = look->columns < USERS_FROM ? 4 : 8,
			    .totals = look->columns >= TOTALS_FROM };
	unsigned taken = 24 + (unsigned)l.users + (l.totals ? 19 : 0) +
			 NAME_MIN + 1;

	if (look->columns >= taken + SPARK_COLUMNS_MIN)
		l.spark = look->columns - taken;
	if (l.spark > SPARK_COLUMNS)
		l.spark = SPARK_COLUMNS;
	return l;
}

void cli_top_spark(struct cli_str *out, const struct cli_top_history *h,
		   unsigned columns, bool utf8)
{
	/* From the eighth below to the full block. */
	static const char *const bars[] = { "\342\226\201", "\342\226\202",
		"\342\226\203", "\342\226\204", "\342\226\205", "\342\226\206",
		"\342\226\207", "\342\226\210" };
	static const char plain[] = "_.:-=+*#";
	uint32_t n = h->nr < columns ? h->nr : columns, i;
	const float *v = h->v + h->nr - n;
	float most = 0;
	int level;

	for (i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	for (i = n; i < columns; i++)
		cli_str_addc(out, ' ');
	for (i = 0; i < n; i++) {
		level = most > 0 ? (int)(v[i] / most * 7.999f) : 0;
		if (v[i] <= 0)
			cli_str_addc(out, ' ');
		else if (utf8)
			cli_str_add(out, bars[level]);
		else
			cli_str_addc(out, plain[level]);
	}
}

/* Ends the line that begins at @from, within @columns. */
static void end_line(struct cli_str *out, size_t from, unsigned columns)
{
	size_t at = from, len;

	while (at < out->len) {
		cli_utf8_next(out->s + at, out->len - at, &len);
		if (cli_width(out->s + from, at + len - from) > columns)
			break;
		at += len;
	}
	out->len = at;
	cli_str_addc(out, '\n');
}

/* " NAME 1.23" of a column of sysstat. */
static void add_value(struct cli_str *out, const struct cli_top *t,
		      const char *name, const char *key, const char *unit)
{
	const struct cli_column *col = cli_column_find(key);
	char text[CLI_CELL];
	double v = 0;
	bool known = cli_column_value(col, &t->sample, &v);

	cli_str_addf(out, " %s %s%s", name,
		     cli_column_text(col, known, v, text), known ? unit : "");
}

static void machine_line(struct cli_str *out, const struct cli_top *t,
			 unsigned columns)
{
	cli_str_add(out, "machine:");
	add_value(out, t, "cpu", "cpu_percent", "%");
	add_value(out, t, "disk", "disk_percent", "%");
	if (t->sample.disk[0])
		cli_str_addf(out, " (%s)", t->sample.disk);
	add_value(out, t, "net in", "net_in_kb_s", "");
	add_value(out, t, "out", "net_out_kb_s", " kB/s");
	add_value(out, t, "| ops", "ops_s", "/s");
	if (columns < WIDE)
		return;
	add_value(out, t, "files", "file_ops_s", "/s");
	add_value(out, t, "objs", "object_ops_s", "/s");
}

static void disk_line(struct cli_str *out, const struct cli_top *t,
		      bool metadata)
{
	if (metadata) {
		cli_str_add(out, "meta pool:");
		add_value(out, t, "read", "metadata_read_kb_s", "");
		add_value(out, t, "write", "metadata_write_kb_s", " kB/s");
		add_value(out, t, " I/Os", "metadata_ops_s", "/s");
		add_value(out, t, " ms p50", "metadata_read_p50_ms", "");
		add_value(out, t, "p99", "metadata_read_p99_ms", "");
		add_value(out, t, "sync p99", "metadata_sync_p99_ms", "");
		return;
	}
	cli_str_add(out, "data pool:");
	add_value(out, t, "read", "data_read_kb_s", "");
	add_value(out, t, "write", "data_write_kb_s", " kB/s");
	add_value(out, t, " I/Os", "data_ops_s", "/s");
	add_value(out, t, " ms p50", "data_read_p50_ms", "");
	add_value(out, t, "p99", "data_read_p99_ms", "");
	add_value(out, t, "sync p99", "data_sync_p99_ms", "");
}

static void lookup_line(struct cli_str *out, const struct cli_top *t)
{
	cli_str_add(out, "lookups:");
	add_value(out, t, "all", "lookups_s", "/s");
	add_value(out, t, "follow", "lookups_followed_s", "");
	add_value(out, t, "cache", "lookups_cache_s", "");
	add_value(out, t, "hooks", "lookups_hooks_s", "");
	add_value(out, t, "runs", "lookups_runs_s", "");
	add_value(out, t, "| hit", "cache_hit_percent", "%");
	add_value(out, t, "age", "cache_age_seconds", "");
}

static void stage_line(struct cli_str *out, const struct cli_top *t)
{
	cli_str_add(out, "stages:");
	add_value(out, t, "cut", "stage_cut_percent", "%");
	add_value(out, t, "hash", "stage_hash_percent", "%");
	add_value(out, t, "lookup", "stage_lookup_percent", "%");
	add_value(out, t, "compress", "stage_compress_percent", "%");
	add_value(out, t, "decode", "stage_decode_percent", "%");
	cli_str_add(out, " of a processor");
}

static void saving_line(struct cli_str *out, const struct cli_top *t)
{
	char text[CLI_CELL];

	cli_str_add(out, "saving:");
	add_value(out, t, "dedup", "dedup_factor", "x");
	add_value(out, t, "ref", "reference_factor", "x");
	add_value(out, t, "comp", "compression_factor", "x");
	add_value(out, t, " all", "total_factor", "x");
	cli_str_addf(out, " | commit %s", cli_commit_cause(&t->sample, text));
	add_value(out, t, "time", "commit_percent", "%");
}

static void flow_line(struct cli_str *out, const char *what,
		      const struct cli_top_history *h,
		      const struct cli_top_look *look)
{
	double now = h->nr ? (double)h->v[h->nr - 1] : 0;
	unsigned room = look->columns > 24 ? look->columns - 24 : 0;

	cli_str_addf(out, "%-4s %10.1f MB/s  ", what, now);
	cli_top_spark(out, h, room < CLI_TOP_HISTORY ? room : CLI_TOP_HISTORY,
		      look->utf8);
}

static const char *user_name(uint32_t uid, char out[16])
{
	struct passwd *pw = getpwuid((uid_t)uid);

	if (pw)
		snprintf(out, 16, "%.8s", pw->pw_name);
	else
		snprintf(out, 16, "%u", uid);
	return out;
}

/* All of a row but its name. */
static void row_figures(struct cli_str *out, const struct cli_top_row *r,
			const struct layout *l, bool utf8)
{
	char size[CLI_UNIT_TEXT], time[CLI_UNIT_TEXT], fresh[16], user[16];

	if (r->share_new < 0)
		snprintf(fresh, sizeof(fresh), "-");
	else
		snprintf(fresh, sizeof(fresh), "%.0f%%", r->share_new);
	if (r->stream)
		cli_str_addf(out, "%7s %-*s", "", l->users,
			     r->out ? " out" : " in");
	else
		cli_str_addf(out, "%7u %-*.*s", r->pid, l->users, l->users,
			     user_name(r->uid, user));
	cli_str_addf(out, " %8.1f %5s ", r->rate / 1e6, fresh);
	if (l->totals)
		cli_str_addf(out, "%9s %8s ", cli_size_text(r->bytes, size),
			     cli_duration_text((uint64_t)(r->seconds * 1e9),
					       time));
	if (l->spark) {
		cli_top_spark(out, &r->history, l->spark, utf8);
		cli_str_addc(out, ' ');
	}
}

/* A command line begins with the program's path. */
static const char *without_folders(const char *command)
{
	const char *s, *from = command;

	for (s = command; *s && *s != ' '; s++) {
		if (*s == '/' && s[1] && s[1] != ' ')
			from = s + 1;
	}
	return from;
}

static void row_line(struct cli_str *out, const struct cli_top_row *r,
		     const struct cli_top_look *look)
{
	struct layout l = layout_of(look);
	size_t from = out->len;
	unsigned room;

	row_figures(out, r, &l, look->utf8);
	room = (unsigned)cli_width(out->s + from, out->len - from);
	room = look->columns > room ? look->columns - room : 0;
	/* Of a command the beginning says more, of a path the end. */
	if (r->stream) {
		struct cli_str safe = { 0 };

		cli_plain(&safe, r->name);
		cli_shorten(out, cli_str_text(&safe), room);
		cli_str_release(&safe);
	} else {
		cli_plain(out, without_folders(r->name));
	}
}

static void head_line(struct cli_str *out, const struct cli_top *t,
		      const struct cli_top_look *look)
{
	struct layout l = layout_of(look);

	cli_str_addf(out, "%7s %-*s %8s %5s ", "PID", l.users, "USER", "MB/s",
		     "NEW");
	if (l.totals)
		cli_str_addf(out, "%9s %8s ", "TOTAL", "TIME");
	if (l.spark)
		cli_str_addf(out, "%-*.*s ", (int)l.spark, (int)l.spark,
			     "HISTORY");
	cli_str_addf(out, "COMMAND (by %s)",
		     cli_top_sort_name(t->sort));
}

static const char *const help[] = {
	"q            leave",
	"s, < >       sort by rate, total or name (also left and right)",
	"up, down     scroll; page up, page down, home, end",
	"h            this, and back",
	"space        look now",
	"",
	"Each process that has the pool open, and below it what flows in and",
	"out: bytes a second, how much of what came in was new, and the last",
	"sixty intervals, each line by its own greatest value. The figures",
	"above are those of 'akin sysstat', of all processes together.",
};

static void show_help(struct cli_str *out, const struct cli_top_look *look,
		      unsigned room)
{
	size_t from;
	uint32_t i;

	for (i = 0; i < room && i < CLI_ARRAY_SIZE(help); i++) {
		from = out->len;
		cli_str_add(out, help[i]);
		end_line(out, from, look->columns);
	}
}

/* Rows from look->first; a line that is not enough says how many there are
 * besides. */
static void list(struct cli_str *out, const struct cli_top *t,
		 const struct cli_top_look *look, unsigned room)
{
	uint32_t i = look->first < t->nr ? look->first : 0, above = i;
	size_t from;

	for (; room && i < t->nr; room--) {
		from = out->len;
		if (above && room > 1) {
			cli_str_addf(out, "%7s ... %u above", "", above + 1);
			above = 0;
			i++;
		} else if (room == 1 && t->nr - i > 1) {
			cli_str_addf(out, "%7s ... and %u more", "", t->nr - i);
		} else {
			row_line(out, &t->rows[i++], look);
		}
		end_line(out, from, look->columns);
	}
}

/* Of @nr rows how many are processes. */
static uint32_t nr_processes(const struct cli_top *t)
{
	uint32_t i, n = 0;

	for (i = 0; i < t->nr; i++)
		n += !t->rows[i].stream;
	return n;
}

enum { TITLE, MACHINE, META, DATA, LOOKUPS, STAGES, SAVING, FLOW_IN, FLOW_OUT, EMPTY,
	HEAD, NR_LINES };

static void top_line(struct cli_str *out, int which, const struct cli_top *t,
		     const struct cli_top_look *look)
{
	uint32_t n = nr_processes(t);

	switch (which) {
	case TITLE:
		cli_str_addf(out, "akin top  %s  %u %s, %u %s%s", look->title,
			     n, n == 1 ? "process" : "processes", t->nr - n,
			     cli_plural(t->nr - n, "stream"),
			     look->keys ? "  q: quit  h: help" : "");
		break;
	case MACHINE:
		machine_line(out, t, look->columns);
		break;
	case META:
	case DATA:
		disk_line(out, t, which == META);
		break;
	case LOOKUPS:
		lookup_line(out, t);
		break;
	case STAGES:
		stage_line(out, t);
		break;
	case SAVING:
		saving_line(out, t);
		break;
	case FLOW_IN:
		flow_line(out, "in", &t->in, look);
		break;
	case FLOW_OUT:
		flow_line(out, "out", &t->out, look);
		break;
	case HEAD:
		if (!look->help)
			head_line(out, t, look);
		break;
	default:
		break;
	}
}

static bool is_compact(const struct cli_top_look *look)
{
	return look->lines && look->lines < LINES_FOR_ALL;
}

static bool line_is_shown(int which, const struct cli_top_look *look)
{
	return !is_compact(look) || which == TITLE || which == FLOW_IN ||
	       which == FLOW_OUT || which == HEAD;
}

unsigned cli_top_room(const struct cli_top_look *look)
{
	unsigned above = is_compact(look) ? 4 : NR_LINES;

	if (!look->lines)
		return UINT_MAX;
	return look->lines > above ? look->lines - above : 0;
}

void cli_top_frame(const struct cli_top *t, const struct cli_top_look *look,
		   struct cli_str *out)
{
	static const char *const colours[NR_LINES] = {
		[TITLE] = "\033[1m", [FLOW_IN] = "\033[32m",
		[FLOW_OUT] = "\033[36m", [HEAD] = "\033[7m",
	};
	unsigned nr = 0;
	bool coloured;
	size_t from;
	int i;

	for (i = 0; i < NR_LINES; i++) {
		if (!line_is_shown(i, look))
			continue;
		if (look->lines && nr++ == look->lines)
			return;
		coloured = look->colour && colours[i];
		if (coloured)
			cli_str_add(out, colours[i]);
		from = out->len;
		top_line(out, i, t, look);
		end_line(out, from, look->columns);
		if (coloured) {
			out->len--;
			cli_str_add(out, "\033[m\n");
		}
	}
	if (look->help)
		show_help(out, look, cli_top_room(look));
	else
		list(out, t, look, cli_top_room(look));
}
