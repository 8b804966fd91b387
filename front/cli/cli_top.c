/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin top: what running commands do, on a whole terminal.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli.h"
#include "cli_diag.h"
#include "cli_screen.h"
#include "cli_signal.h"
#include "cli_text.h"
#include "cli_top.h"

#define INTERVAL_DEFAULT 2
/* An empty screen is not looked at for longer. */
#define FIRST_NS 500000000
/* What the first line has besides the pool, and what of that is shown at
 * least. */
#define TITLE_COLUMNS 63
#define POOL_COLUMNS 12

struct show {
	struct cli *cli;
	const char *pool;
	uint64_t interval_ns;
	struct cli_top top;
	struct cli_reading r[2];
	unsigned now;		/* which of them is the newer one */
	bool utf8, help, colour;
	uint32_t first;		/* row that is shown */
	unsigned room;		/* lines for rows, in the last frame */
};

static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *v;
	size_t i;

	for (i = 0; i < CLI_ARRAY_SIZE(names); i++) {
		v = getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

/* https://no-color.org */
static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return !no || !*no;
}

static void look_again(struct show *s)
{
	s->now = !s->now;
	cli_reading_take(&s->r[s->now], s->pool);
	cli_top_update(&s->top, &s->r[!s->now], &s->r[s->now],
		       (int64_t)time(NULL));
}

static void make_title(const struct show *s, const struct cli_top_look *look,
		       struct cli_str *out)
{
	struct cli_str pool = { 0 };

	if (!s->pool)
		cli_str_add(&pool, "all pools");
	else
		cli_plain(&pool, s->cli->args.pool);
	if (!look->keys)
		cli_str_add(out, pool.s);
	else
		cli_shorten(out, pool.s,
			    look->columns > TITLE_COLUMNS + POOL_COLUMNS ?
				    look->columns - TITLE_COLUMNS :
				    POOL_COLUMNS);
	cli_str_addf(out, "  every %.3g s", (double)s->interval_ns / 1e9);
	cli_str_release(&pool);
}

/* @whole: of the screen; else as many lines as there are. */
static void make_frame(struct show *s, bool whole, struct cli_str *out)
{
	struct cli_top_look look = {
		.columns = 256, .utf8 = s->utf8, .keys = whole,
		.help = s->help, .colour = whole && s->colour,
	};
	struct cli_str title = { 0 };

	if (whole || cli_screen_possible())
		cli_screen_size(&look.columns, &look.lines);
	if (!whole)
		look.lines = 0;
	make_title(s, &look, &title);
	look.title = title.s;
	s->room = cli_top_room(&look);
	/* Rows may have gone since. */
	if (s->first >= s->top.nr)
		s->first = s->top.nr ? s->top.nr - 1 : 0;
	look.first = s->first;
	cli_top_frame(&s->top, &look, out);
	cli_str_release(&title);
}

static void sort_by_next(struct show *s, unsigned step)
{
	s->top.sort = (s->top.sort + step) % CLI_TOP_NR_SORTS;
	cli_top_sort(&s->top);
	s->first = 0;
}

static void scroll(struct show *s, int key)
{
	uint32_t last = s->top.nr > s->room ? s->top.nr - s->room : 0;
	uint32_t page = s->room > 2 ? s->room - 2 : 1;

	/* With a line that says how many are above there is room for less. */
	if (last)
		last++;
	if (key == CLI_KEY_UP || key == CLI_KEY_PAGE_UP) {
		page = key == CLI_KEY_UP ? 1 : page;
		s->first = s->first > page ? s->first - page : 0;
	} else if (key == CLI_KEY_DOWN || key == CLI_KEY_PAGE_DOWN) {
		s->first += key == CLI_KEY_DOWN ? 1 : page;
	} else {
		s->first = key == CLI_KEY_END ? last : 0;
	}
	if (s->first > last)
		s->first = last;
}

/* False: it is over. */
static bool press(struct show *s, int key, uint64_t *next)
{
	switch (key) {
	case 'q':
	case 'Q':
	case 4:		/* ^D */
	case CLI_SCREEN_END:
		return false;
	case 's':
	case 'S':
	case '>':
	case CLI_KEY_RIGHT:
		sort_by_next(s, 1);
		break;
	case '<':
	case CLI_KEY_LEFT:
		sort_by_next(s, CLI_TOP_NR_SORTS - 1);
		break;
	case CLI_KEY_UP:
	case CLI_KEY_DOWN:
	case CLI_KEY_PAGE_UP:
	case CLI_KEY_PAGE_DOWN:
	case CLI_KEY_HOME:
	case CLI_KEY_END:
		scroll(s, key);
		break;
	case 'h':
	case 'H':
	case '?':
		s->help = !s->help;
		break;
	case ' ':
	case '\r':
	case '\n':
	case CLI_SCREEN_TIME:
		look_again(s);
		*next = s->r[s->now].ns + s->interval_ns;
		break;
	default:
		break;
	}
	return true;
}

static void run_screen(struct show *s, unsigned count)
{
	uint64_t next = s->r[0].ns + FIRST_NS;
	struct cli_str frame = { 0 };

	cli_screen_open();
	do {
		cli_str_reset(&frame);
		make_frame(s, true, &frame);
		cli_screen_draw(&frame);
		if (count && s->top.nr_samples >= count)
			break;
	} while (press(s, cli_screen_wait(next), &next));
	cli_screen_close();
	cli_str_release(&frame);
}

static void print_json_row(struct cli *c, const struct cli_top_row *r)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, r->stream ? "stream" : "process");
	cli_json_uint(j, "pid", r->pid);
	cli_json_uint(j, "handle", r->handle);
	cli_json_uint(j, "uid", r->uid);
	cli_json_text(j, "pool", r->pool);
	if (r->stream) {
		cli_json_uint(j, "stream", r->stream);
		cli_json_text(j, "direction", r->out ? "out" : "in");
	}
	cli_json_bytes(j, r->stream ? "name" : "command", r->name,
		       strlen(r->name));
	cli_json_uint(j, "bytes", r->bytes);
	cli_json_uint(j, "items", r->items);
	cli_json_seconds(j, "seconds", (uint64_t)(r->seconds * 1e9));
	cli_str_addf(&j->out, ",\"mb_s\":%.6g", r->rate / 1e6);
	if (r->share_new >= 0)
		cli_str_addf(&j->out, ",\"new_percent\":%.6g", r->share_new);
	cli_json_end(j, stdout);
}

static void print_json(struct show *s)
{
	struct cli_json *j = &s->cli->json;
	const struct cli_column *col;
	char text[CLI_CELL];
	uint32_t i;
	double v;

	cli_json_begin(j, "top");
	cli_json_seconds(j, "seconds",
			 (uint64_t)(s->top.sample.seconds * 1e9));
	for (col = cli_columns; col->key; col++) {
		if (col->how == CLI_COMMIT_CAUSE)
			cli_json_text(j, col->key,
				      cli_commit_cause(&s->top.sample, text));
		else if (cli_column_value(col, &s->top.sample, &v))
			cli_str_addf(&j->out, ",\"%s\":%.6g", col->key, v);
	}
	if (s->top.sample.disk[0])
		cli_json_text(j, "disk", s->top.sample.disk);
	cli_json_end(j, stdout);
	for (i = 0; i < s->top.nr; i++)
		print_json_row(s->cli, &s->top.rows[i]);
}

/* @count frames after each other; 0: until a signal comes, or nobody reads. */
static void run_lines(struct show *s, unsigned count)
{
	uint64_t next = s->r[0].ns;
	struct cli_str frame = { 0 };
	unsigned i;

	for (i = 0; count == 0 || i < count; i++) {
		next += s->interval_ns;
		if (cli_screen_wait(next) != CLI_SCREEN_TIME ||
		    cli_output_error(s->cli))
			break;
		look_again(s);
		if (s->cli->args.json) {
			print_json(s);
		} else {
			cli_str_reset(&frame);
			make_frame(s, false, &frame);
			printf("%s%s", i ? "\n" : "", cli_str_text(&frame));
		}
		fflush(stdout);
	}
	cli_str_release(&frame);
}

int cli_cmd_top(struct cli *c)
{
	const struct cli_list *ops = &c->args.operands;
	unsigned interval = INTERVAL_DEFAULT;
	struct show s = { .cli = c, .utf8 = locale_is_utf8(),
			  .colour = wants_colour() };
	bool lines = c->args.once || c->args.json;
	char id[AKIN_POOL_ID];
	int err;

	if (ops->nr && (cli_parse_count(ops->v[0], 3600, &interval) ||
			interval == 0))
		return cli_fail(&c->diag, -AKIN_E_usage, "'%.100s': an "
				"interval is 1 to 3600 seconds", ops->v[0]);
	if (!lines && !cli_screen_possible()) {
		cli_hint(&c->diag, "--once prints one frame, --json is for "
			 "programs, and 'akin sysstat' goes on line by line");
		return cli_fail(&c->diag, -AKIN_E_usage, "standard output is "
				"no terminal on which a screen can be drawn");
	}
	err = cli_identify(c, id, &s.pool);
	if (err)
		return err;
	s.interval_ns = (uint64_t)interval * 1000000000;
	cli_reading_take(&s.r[0], s.pool);
	if (lines)
		run_lines(&s, c->args.once ? 1 : c->args.count);
	else
		run_screen(&s, c->args.count);
	cli_reading_release(&s.r[0]);
	cli_reading_release(&s.r[1]);
	cli_top_release(&s.top);
	return cli_output_error(c);
}
