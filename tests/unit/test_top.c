/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin top and sysstat: from readings to figures, rows and lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testlib.h"

#include "cli_columns.h"
#include "cli_screen.h"
#include "cli_text.h"
#include "cli_top.h"

#define V(p, name) (p)->values[AKIN_COUNTER_##name]
#define SECOND 1000000000ull

static struct cli_process *add_process(struct cli_reading *r, uint32_t pid,
				       const char *command)
{
	struct cli_process *p;

	r->ps.v = cli_realloc(r->ps.v, (r->ps.nr + 1) * sizeof(*p));
	p = &r->ps.v[r->ps.nr++];
	memset(p, 0, sizeof(*p));
	p->pid = pid;
	p->opened_sec = 1000;
	snprintf(p->command, sizeof(p->command), "%s", command);
	return p;
}

static void add_stream(struct cli_process *p, u64 id, u64 bytes, u64 fresh,
		       const char *name)
{
	struct akin_counters_stream *s;

	p->streams = cli_realloc(p->streams, (p->nr_streams + 1) * sizeof(*s));
	s = &p->streams[p->nr_streams++];
	memset(s, 0, sizeof(*s));
	s->id = id;
	s->kind = AKIN_STREAM_IN;
	s->begun_ns = SECOND;
	s->bytes = bytes;
	s->bytes_new = fresh;
	snprintf(s->name, sizeof(s->name), "%s", name);
}

static void expect(const struct cli_sample *s, const char *key, double want)
{
	const struct cli_column *col = cli_column_find(key);
	double got = -1;

	assert_non_null(col);
	if (!cli_column_value(col, s, &got) || got < want - 1e-6 ||
	    got > want + 1e-6)
		fail_msg("%s: %f, not %f", key, got, want);
}

static void expect_unknown(const struct cli_sample *s, const char *key)
{
	double v;

	assert_false(cli_column_value(cli_column_find(key), s, &v));
}

static void test_sample(void **state)
{
	struct cli_reading a = { .ns = 10 * SECOND }, b = { .ns = 12 * SECOND };
	struct cli_sample s, sum = { 0 };
	struct cli_process *p;
	char text[CLI_CELL];

	p = add_process(&a, 1, "old");
	V(p, bytes_in) = 1000000;
	V(p, bytes_new) = 7;
	V(p, directory_bytes) = 500;
	V(p, commit_ns) = SECOND / 2;
	V(p, commit_begun) = 9 * SECOND;
	p = add_process(&b, 1, "old");
	V(p, bytes_in) = 5000000;
	V(p, bytes_new) = 1000007;
	V(p, bytes_grouped) = 600;
	V(p, bytes_plain) = 300;
	V(p, bytes_packed) = 100;
	V(p, directory_bytes) = 400;
	V(p, directory_hits) = 3;
	V(p, directory_misses) = 1;
	V(p, directory_oldest) = 7 * SECOND;
	/* The one that went on has ended: 0.3 s of it lie in the interval. */
	V(p, commit_ns) = SECOND / 2 + 13 * SECOND / 10;
	V(p, checkpoints) = V(p, checkpoints_timed) = 1;
	V(p, data_read_latency + 3) = 98;
	V(p, metadata_write_latency + 10) = 2;
	/* Came and went. */
	p = add_process(&b, 2, "new");
	p->closed = true;
	V(p, bytes_out) = 6000000;
	V(p, files_restored) = 8;
	V(p, directory_oldest) = 11 * SECOND;
	cli_sample_between(&a, &b, &s);
	assert_int_equal(s.v[AKIN_COUNTER_directory_bytes], 400);
	assert_int_equal(s.v[AKIN_COUNTER_directory_oldest], 0);
	expect(&s, "processes", 1);
	expect(&s, "in_mb_s", 2);
	expect(&s, "out_mb_s", 3);
	expect(&s, "ops_s", 4);
	expect(&s, "dedup_factor", 4);
	expect(&s, "compression_factor", 2);
	expect(&s, "reference_factor", 3);
	expect(&s, "total_factor", 24);
	expect(&s, "cache_hit_percent", 75);
	expect(&s, "cache_age_seconds", 5);
	expect(&s, "commit_percent", 15);
	expect(&s, "io_p50_ms", 0.008);
	expect(&s, "io_p99_ms", 1.024);
	expect_unknown(&s, "data_sync_p99_ms");
	expect_unknown(&s, "commit_cause");
	assert_string_equal(cli_commit_cause(&s, text), "T");

	/* Twice as long, and as much again of which nothing is new. */
	cli_sample_add(&sum, &s);
	s.v[AKIN_COUNTER_bytes_new] = 0;
	s.age_seconds = s.age = 0;
	cli_sample_add(&sum, &s);
	expect(&sum, "in_mb_s", 2);
	expect(&sum, "dedup_factor", 8);
	expect(&sum, "cache_age_seconds", 5);
	assert_string_equal(cli_commit_cause(&sum, text), "2");
	cli_reading_release(&a);
	cli_reading_release(&b);
}

static void test_causes(void **state)
{
	struct cli_sample s = { 0 };
	char text[CLI_CELL];

	assert_string_equal(cli_commit_cause(&s, text), "-");
	s.committing = true;
	assert_string_equal(cli_commit_cause(&s, text), ":");
	s.v[AKIN_COUNTER_checkpoints] = 1;
	assert_string_equal(cli_commit_cause(&s, text), "O");
	s.v[AKIN_COUNTER_checkpoints_full] = 1;
	assert_string_equal(cli_commit_cause(&s, text), "F");
	s.v[AKIN_COUNTER_checkpoints] = s.v[AKIN_COUNTER_checkpoints_full] = 0;
	s.v[AKIN_COUNTER_commits] = 1;
	assert_string_equal(cli_commit_cause(&s, text), "S");
	s.v[AKIN_COUNTER_commits] = UINT64_MAX;
	assert_string_equal(cli_commit_cause(&s, text), "99");
}

/* Whatever a process says of itself, a cell keeps its width, within reason. */
static void test_cells(void **state)
{
	const struct cli_column *col;
	char text[CLI_CELL];

	for (col = cli_columns; col->key; col++) {
		assert_string_equal(cli_column_text(col, false, 1, text), "-");
		cli_column_text(col, true, 999.9996, text);
		if ((int)strlen(text) > col->width &&
		    col->how != CLI_COMMIT_CAUSE)
			fail_msg("%s: '%s'", col->key, text);
		cli_column_text(col, true, 1.8e19 * 1e3, text);
		assert_true(strlen(text) < CLI_CELL);
	}
	col = cli_column_find("cache_age_seconds");
	assert_string_equal(cli_column_text(col, true, 59, text), "59s");
	assert_string_equal(cli_column_text(col, true, 600, text), "10m");
	assert_string_equal(cli_column_text(col, true, 7200, text), "2h");
}

/* Rows ----------------------------------------------------------------------*/

struct world {
	struct cli_reading r[2];
	struct cli_top top;
	struct cli_str out;
};

/* Process 7 has two streams, 8 none; after @n seconds. */
static void reading(struct cli_reading *r, u64 n)
{
	struct cli_process *p;

	cli_reading_release(r);
	r->ns = (n + 1) * SECOND;
	p = add_process(r, 7, "akin backup /home");
	V(p, bytes_in) = n * 5000000;
	add_stream(p, 1, n * 1000000, n * 500000, "/home/eva/small");
	add_stream(p, 2, n * 4000000, 0, "/home/eva/large");
	p = add_process(r, 8, "akin check");
	V(p, bytes_out) = n * 1000;
}

static void begin(struct world *w, u64 nr)
{
	u64 i;

	memset(w, 0, sizeof(*w));
	reading(&w->r[0], 0);
	for (i = 1; i <= nr; i++) {
		reading(&w->r[i % 2], i);
		cli_top_update(&w->top, &w->r[(i + 1) % 2], &w->r[i % 2],
			       1000 + (int64_t)i);
	}
}

static void end(struct world *w)
{
	cli_reading_release(&w->r[0]);
	cli_reading_release(&w->r[1]);
	cli_top_release(&w->top);
	cli_str_release(&w->out);
}

static void expect_order(struct world *w, enum cli_top_sort sort,
			 const char *want)
{
	char got[64] = "";
	uint32_t i;
	size_t n;

	w->top.sort = sort;
	cli_top_sort(&w->top);
	for (i = 0; i < w->top.nr; i++) {
		n = strlen(got);
		snprintf(got + n, sizeof(got) - n, "%u/%u ",
			 w->top.rows[i].pid, (unsigned)w->top.rows[i].stream);
	}
	assert_string_equal(got, want);
}

static void test_rows(void **state)
{
	struct cli_top_row *r;
	struct world w;
	u32 i;

	begin(&w, 100);
	assert_int_equal(w.top.nr, 4);
	expect_order(&w, CLI_TOP_NAME, "7/0 7/2 7/1 8/0 ");
	expect_order(&w, CLI_TOP_TOTAL, "7/0 7/2 7/1 8/0 ");
	w.top.rows[3].rate = 1e9;
	expect_order(&w, CLI_TOP_RATE, "8/0 7/0 7/2 7/1 ");
	r = &w.top.rows[3];
	assert_true(r->rate == 1e6 && r->share_new == 50 && r->seconds == 100);
	assert_int_equal(r->bytes, 100000000);
	assert_int_equal(r->history.nr, CLI_TOP_HISTORY);
	for (i = 0; i < CLI_TOP_HISTORY; i++)
		assert_true(r->history.v[i] == 1e6f);
	assert_true(w.top.in.v[CLI_TOP_HISTORY - 1] == 5);
	/* What ends is gone, and with it what flowed. */
	cli_reading_release(&w.r[1]);
	w.r[1].ns = 102 * SECOND;
	add_process(&w.r[1], 8, "akin check");
	cli_top_update(&w.top, &w.r[0], &w.r[1], 1101);
	assert_int_equal(w.top.nr, 1);
	assert_int_equal(w.top.rows[0].pid, 8);
	w.r[1].ps.v[0].closed = true;
	cli_top_update(&w.top, &w.r[0], &w.r[1], 1101);
	assert_int_equal(w.top.nr, 0);
	end(&w);
}

static void test_spark(void **state)
{
	struct cli_top_history h = { { 0, 1, 4, 8 }, 4 };
	struct cli_str out = { 0 };

	cli_top_spark(&out, &h, 6, false);
	assert_string_equal(cli_str_text(&out), "   _-#");
	cli_str_reset(&out);
	cli_top_spark(&out, &h, 2, true);
	assert_string_equal(cli_str_text(&out), "\342\226\204\342\226\210");
	cli_str_reset(&out);
	memset(&h, 0, sizeof(h));
	cli_top_spark(&out, &h, 3, true);
	assert_string_equal(cli_str_text(&out), "   ");
	cli_str_release(&out);
}

/* Lines -------------------------------------------------------------------- */

/* No line is wider, there are no more, and none has a control character. */
static u32 check_frame(struct world *w, const struct cli_top_look *look)
{
	const char *s, *e, *c;
	u32 nr = 0;

	cli_str_reset(&w->out);
	cli_top_frame(&w->top, look, &w->out);
	for (s = cli_str_text(&w->out); *s; s = e + 1, nr++) {
		e = strchr(s, '\n');
		assert_non_null(e);
		assert_true(cli_width(s, (size_t)(e - s)) <= look->columns);
		for (c = s; c < e; c++)
			assert_true((unsigned char)*c >= 32 && *c != 127);
	}
	if (look->lines)
		assert_true(nr <= look->lines);
	return nr;
}

static void test_frame(void **state)
{
	struct cli_top_look look = { .title = "all pools", .columns = 100,
				     .utf8 = true, .keys = true };
	struct world w;

	begin(&w, 3);
	assert_int_equal(check_frame(&w, &look), 15);
	assert_non_null(strstr(w.out.s, "2 processes, 2 streams"));
	assert_non_null(strstr(w.out.s, "in          5.0 MB/s"));
	assert_non_null(strstr(w.out.s, "      4.0    0%  11.4 MiB   3.00 s "));
	assert_non_null(strstr(w.out.s, " /home/eva/large\n"));
	/* Fewer lines: less is said above the list. */
	look.lines = 7;
	assert_int_equal(check_frame(&w, &look), 7);
	assert_null(strstr(w.out.s, "meta pool"));
	assert_non_null(strstr(w.out.s, "... and 2 more"));
	look.lines = 15;
	assert_int_equal(check_frame(&w, &look), 15);
	assert_null(strstr(w.out.s, "more"));
	look.help = true;
	look.lines = 40;
	check_frame(&w, &look);
	assert_non_null(strstr(w.out.s, "sort by rate"));
	assert_null(strstr(w.out.s, "/home/eva"));
	end(&w);
}

/* Columns that are left out, and histories that fit. */
static void test_widths(void **state)
{
	struct cli_top_look look = { .title = "x", .columns = 80 };
	struct world w;

	begin(&w, 60);
	check_frame(&w, &look);
	assert_non_null(strstr(w.out.s, "\n         in           4.0    0% "
			       "  229 MiB    1m00s ######## /home/eva/large\n"));
	look.columns = 71;
	check_frame(&w, &look);
	assert_non_null(strstr(w.out.s, "\n         in           4.0    0% "
			       "################## /home/eva/large\n"));
	look.columns = 40;
	check_frame(&w, &look);
	assert_non_null(strstr(w.out.s,
			       "\n         in       4.0    0% ...eva/large\n"));
	end(&w);
}

/* Lines that say how many rows there are besides take the place of rows. */
static void test_scrolled(void **state)
{
	struct cli_top_look look = { .title = "x", .columns = 80, .lines = 8 };
	struct world w;

	begin(&w, 2);
	assert_int_equal(cli_top_room(&look), 4);
	check_frame(&w, &look);
	assert_null(strstr(w.out.s, "above"));
	assert_null(strstr(w.out.s, "more"));
	look.lines = 7;
	look.first = 1;
	assert_int_equal(check_frame(&w, &look), 7);
	assert_non_null(strstr(w.out.s, "... 2 above\n"));
	assert_non_null(strstr(w.out.s, "/home/eva/small\n"));
	assert_non_null(strstr(w.out.s, "akin check\n"));
	look.first = 0;
	check_frame(&w, &look);
	assert_non_null(strstr(w.out.s, "... and 2 more\n"));
	/* What is gone meanwhile is not waited for. */
	look.first = 1000;
	check_frame(&w, &look);
	assert_non_null(strstr(w.out.s, "akin backup"));
	end(&w);
}

static void test_colours(void **state)
{
	struct cli_top_look look = { .title = "x", .columns = 30,
				     .colour = true };
	struct world w;

	begin(&w, 1);
	cli_top_frame(&w.top, &look, &w.out);
	/* Sequences take no columns. */
	assert_non_null(strstr(w.out.s, "\033[1makin top  x  2 processes, 2 st"
			       "\033[m\n"));
	assert_non_null(strstr(w.out.s, "\033[32min "));
	end(&w);
}

/* Keys --------------------------------------------------------------------- */

static void expect_key(const char *s, size_t n, int key, size_t used)
{
	size_t got_used = 99;
	int got = cli_key_decode((const unsigned char *)s, n, &got_used);

	if (got != key || got_used != used)
		fail_msg("'%s': %d of %zu bytes, not %d of %zu", s + (*s == 27),
			 got, got_used, key, used);
}

static void test_keys(void **state)
{
	unsigned char s[4];
	size_t used;
	u32 i;

	expect_key("q", 0, CLI_KEY_NONE, 0);
	expect_key("qs", 2, 'q', 1);
	expect_key("\033", 1, CLI_KEY_NONE, 0);
	expect_key("\033[", 2, CLI_KEY_NONE, 0);
	expect_key("\033[1;", 4, CLI_KEY_NONE, 0);
	expect_key("\033[Aq", 4, CLI_KEY_UP, 3);
	expect_key("\033OB", 3, CLI_KEY_DOWN, 3);
	expect_key("\033[1;5C", 6, CLI_KEY_RIGHT, 6);
	expect_key("\033[D", 3, CLI_KEY_LEFT, 3);
	expect_key("\033[5~", 4, CLI_KEY_PAGE_UP, 4);
	expect_key("\033[6~", 4, CLI_KEY_PAGE_DOWN, 4);
	expect_key("\033[1~", 4, CLI_KEY_HOME, 4);
	expect_key("\033OF", 3, CLI_KEY_END, 3);
	expect_key("\033[15~", 5, CLI_KEY_NONE, 5);
	expect_key("\033[~", 3, CLI_KEY_NONE, 3);
	expect_key("\033q", 2, CLI_KEY_NONE, 2);
	expect_key("\033\033[A", 4, CLI_KEY_NONE, 1);
	expect_key("\033[\033[A", 5, CLI_KEY_NONE, 2);
	/* Nothing uses more than there is. */
	for (i = 0; i < 1u << 16; i++) {
		s[0] = 27;
		s[1] = i & 1 ? '[' : 'O';
		s[2] = (unsigned char)(i >> 8);
		s[3] = (unsigned char)i;
		cli_key_decode(s, 4, &used);
		assert_true(used <= 4);
	}
}

static void test_small_and_hostile(void **state)
{
	struct cli_top_look look = { .title = "x", .utf8 = true, .keys = true };
	struct cli_process *p;
	struct world w;
	u64 i;

	begin(&w, 2);
	p = add_process(&w.r[0], 9, "a\303\244\346\274\242\377 b");
	p->uid = UINT32_MAX;
	memset(p->values, 0xff, sizeof(p->values));
	for (i = 1; i <= 31; i++)
		add_stream(p, i, UINT64_MAX, UINT64_MAX,
			   "\342\200\256\346\274\242\346\274\242\346\274\242");
	cli_top_update(&w.top, &w.r[1], &w.r[0], INT64_MAX);
	look.first = 7;
	for (look.lines = 1; look.lines < 60; look.lines += 3) {
		for (look.columns = 1; look.columns < 200; look.columns += 7)
			check_frame(&w, &look);
	}
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_spark),
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_scrolled),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_small_and_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
