/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command prints and reads as text: names, sizes, times, JSON, the
 * line of progress.
 */
#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli_json.h"
#include "cli_term.h"
#include "cli_text.h"
#include "cli_units.h"

/* Text ----------------------------------------------------------------------*/

static void assert_quoted(const char *name, const char *expected)
{
	struct cli_str out = { 0 };

	cli_quote(&out, name, strlen(name));
	assert_string_equal(cli_str_text(&out), expected);
	cli_str_release(&out);
}

static void test_quote(void **state)
{
	assert_quoted("plain-1.2_x/y", "plain-1.2_x/y");
	assert_quoted("", "''");
	assert_quoted("a b", "'a b'");
	assert_quoted("trailing ", "'trailing '");
	assert_quoted("$(reboot)", "'$(reboot)'");
	assert_quoted("%s%n", "%s%n");
	assert_quoted("~root", "'~root'");
	assert_quoted("back\\slash", "'back\\slash'");
	assert_quoted("it's", "$'it\\'s'");
	assert_quoted("it's\\", "$'it\\'s\\\\'");
	assert_quoted("new\nline\t", "$'new\\nline\\t'");
	assert_quoted("\033[31m7", "$'\\033[31m7'");
	assert_quoted("\xff" "7", "$'\\3777'");
	assert_quoted("\xc3\x28", "$'\\303('");
	assert_quoted("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	/* C1 control, right-to-left override, and one cut off. */
	assert_quoted("\xc2\x9b", "$'\\302\\233'");
	assert_quoted("\xe2\x80\xae", "$'\\342\\200\\256'");
	assert_quoted("x\xe2\x82", "$'x\\342\\202'");
	/* Overlong '/', a surrogate, above the last code point. */
	assert_quoted("\xc0\xaf", "$'\\300\\257'");
	assert_quoted("\xed\xa0\x80", "$'\\355\\240\\200'");
	assert_quoted("\xf4\x90\x80\x80", "$'\\364\\220\\200\\200'");
}

/* What bash prints when it runs @quoted. */
static char *unquote(const char *quoted)
{
	char *out = cli_alloc(4096);
	size_t n;
	FILE *f;

	setenv("AKIN_TEST_SCRIPT", quoted, 1);
	f = popen("exec bash --norc -c \"$AKIN_TEST_SCRIPT\"", "r");
	assert_non_null(f);
	n = fread(out, 1, 4095, f);
	out[n] = 0;
	assert_int_equal(pclose(f), 0);
	return out;
}

static void test_quote_pasted(void **state)
{
	struct rng r = { 42 };
	struct cli_str script = { 0 };
	char names[40][24];
	size_t i, j, n, at = 0;
	char *back;

	if (system("command -v bash >/dev/null") != 0) {
		print_message("# skipped: no bash here\n");
		return;
	}
	cli_str_add(&script, "printf '%s/'");
	for (i = 0; i < 40; i++) {
		n = 1 + rng_below(&r, 20);
		for (j = 0; j < n; j++) {
			names[i][j] = (char)(1 + rng_below(&r, 255));
			/* '/' parts them in what comes back. */
			if (names[i][j] == '/')
				names[i][j] = '\'';
		}
		names[i][n] = 0;
		cli_str_addc(&script, ' ');
		cli_quote(&script, names[i], n);
	}
	back = unquote(script.s);
	for (i = 0; i < 40; i++) {
		n = strlen(names[i]);
		assert_memory_equal(back + at, names[i], n);
		assert_int_equal(back[at + n], '/');
		at += n + 1;
	}
	assert_int_equal(back[at], 0);
	free(back);
	cli_str_release(&script);
}

static void test_quote_safe_for_terminals(void **state)
{
	struct cli_str q = { 0 }, p = { 0 };
	struct rng r = { 7 };
	char name[64];
	size_t i, j, n;

	for (i = 0; i < 2000; i++) {
		n = 1 + rng_below(&r, 60);
		rng_fill(&r, name, n);
		for (j = 0; j < n; j++)
			name[j] = name[j] ? name[j] : 1;
		name[n] = 0;
		cli_str_reset(&q);
		cli_str_reset(&p);
		cli_quote(&q, name, n);
		cli_plain(&p, name);
		assert_true(cli_utf8_valid(q.s, q.len));
		assert_true(cli_utf8_valid(p.s, p.len));
		for (j = 0; j < q.len; j++)
			assert_false((unsigned char)q.s[j] < 32 ||
				     q.s[j] == 127);
		for (j = 0; j < p.len; j++)
			assert_false((unsigned char)p.s[j] < 32 ||
				     p.s[j] == 127);
	}
	cli_str_release(&q);
	cli_str_release(&p);
}

static void assert_shortened(const char *s, size_t columns,
			     const char *expected)
{
	struct cli_str out = { 0 };

	cli_shorten(&out, s, columns);
	assert_string_equal(cli_str_text(&out), expected);
	cli_str_release(&out);
}

static void test_shorten(void **state)
{
	assert_shortened("/a/long/path", 12, "/a/long/path");
	assert_shortened("/a/long/path", 11, "...ong/path");
	assert_shortened("/a/long/path", 4, "...h");
	assert_shortened("/a/long/path", 3, "");
	/* Two columns each: U+65E5 U+672C. */
	assert_int_equal(cli_width("\xe6\x97\xa5\xe6\x9c\xac", 6), 4);
	assert_shortened("x\xe6\x97\xa5\xe6\x9c\xac" "abc", 6, "...abc");
}

static void test_progress_line(void **state)
{
	struct akin_progress p = { .files = 3, .bytes = 3 << 20,
		.bytes_total = 9 << 20, .elapsed_ns = 1000000000,
		.bytes_new = 1 << 20, .bytes_stored = 1 << 19,
		.current = "/x\033[2J/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy" };
	struct cli_str out = { 0 };
	size_t columns;

	cli_progress_line(&out, &p, 200);
	assert_string_equal(out.s, "3 files  3.00 MiB of 9.00 MiB  3.00 MiB/s"
			    "  new 1.00 MiB  stored 512 KiB  ETA 2.00 s  "
			    "/x\\033[2J/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
	for (columns = 1; columns < 140; columns++) {
		cli_str_reset(&out);
		cli_progress_line(&out, &p, columns);
		assert_true(cli_width(out.s, out.len) <= columns);
	}
	cli_str_release(&out);
}

/* Units ---------------------------------------------------------------------*/

static void assert_size(const char *s, u64 expected)
{
	u64 v = 0;

	assert_int_equal(cli_parse_size(s, &v), 0);
	assert_int_equal(v, expected);
}

static void test_parse_size(void **state)
{
	static const char *const bad[] = { "", "K", "-1", "1X", "1KK", "1.",
		".5", "0x10", "1 2", "16E", "18446744073709551616", "99999999P",
		"1.0000000001K", "1KiBs", " 1", "1,5M" };
	size_t i;
	u64 v;

	assert_size("0", 0);
	assert_size("512", 512);
	assert_size("512B", 512);
	assert_size("64K", 65536);
	assert_size("64k", 65536);
	assert_size("64KiB", 65536);
	assert_size("64KB", 64000);
	assert_size("64kb", 64000);
	assert_size("128M", 128 << 20);
	assert_size("128 MiB", 128 << 20);
	assert_size("1.5G", 3ull << 29);
	assert_size("1.5GB", 1500000000);
	assert_size("2T", 2ull << 40);
	assert_size("15E", 15ull << 60);
	assert_size("18446744073709551615", UINT64_MAX);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(cli_parse_size(bad[i], &v), -1);
	assert_int_equal(cli_parse_rate("50M/s", &v), 0);
	assert_int_equal(v, 50 << 20);
	assert_int_equal(cli_parse_rate("50MB", &v), 0);
	assert_int_equal(v, 50000000);
	assert_int_equal(cli_parse_rate("/s", &v), -1);
}

static void test_parse_share(void **state)
{
	struct cli_share s;
	struct cli_budget b;

	assert_int_equal(cli_parse_share("5%", &s), 0);
	assert_true(s.given && s.percent == 5 && s.bytes == 0);
	assert_int_equal(cli_parse_share("100%", &s), 0);
	assert_int_equal(cli_parse_share("10G", &s), 0);
	assert_true(s.given && s.percent == 0 && s.bytes == 10ull << 30);
	assert_int_equal(cli_parse_budget("10m", &b), 0);
	assert_true(b.given && b.ns == 600000000000 && b.bytes == 0);
	assert_int_equal(cli_parse_budget("1d", &b), 0);
	assert_true(b.ns == 86400000000000);
	assert_int_equal(cli_parse_budget("10M", &b), 0);
	assert_true(b.given && b.ns == 0 && b.bytes == 10 << 20);
	assert_int_equal(cli_parse_budget("0m", &b), -1);
	assert_int_equal(cli_parse_budget("m", &b), -1);
	assert_int_equal(cli_parse_budget("100001h", &b), -1);
	assert_int_equal(cli_parse_budget("5x", &b), -1);
	assert_int_equal(cli_parse_budget("", &b), -1);
	assert_int_equal(cli_parse_share("0%", &s), -1);
	assert_int_equal(cli_parse_share("101%", &s), -1);
	assert_int_equal(cli_parse_share("%", &s), -1);
	assert_int_equal(cli_parse_share("0", &s), -1);
	assert_int_equal(cli_parse_share("4294967297%", &s), -1);
}

static void assert_throttle(const struct cli_throttle *t, u64 meta_ops,
			    u64 meta_bytes, u64 data_ops, u64 data_bytes)
{
	assert_int_equal(t->meta.ops_s, meta_ops);
	assert_int_equal(t->meta.bytes_s, meta_bytes);
	assert_int_equal(t->data.ops_s, data_ops);
	assert_int_equal(t->data.bytes_s, data_bytes);
}

static void test_throttle(void **state)
{
	static const char *const bad[] = {
		"", " ", "120,160", "data", "data=", "data=,", "disk=1,1",
		"data=x,1", "data=1,x", "data=-1,1", "data=1.5,1",
		"data=1,1 meta", "data=4294967296,1", "data=1,1,1",
		"data=00000000000000000000000000000001,1",
	};
	struct cli_throttle t = { { 0, 0 }, { 0, 0 } };
	size_t i;

	assert_int_equal(cli_parse_throttle("meta=500,40 data=120,160", &t), 0);
	assert_throttle(&t, 500, 40000000, 120, 160000000);
	/* One by one they add up; units are as everywhere. */
	assert_int_equal(cli_parse_throttle("data=80,1.5MiB/s", &t), 0);
	assert_throttle(&t, 500, 40000000, 80, 3 << 19);
	assert_int_equal(cli_parse_throttle(" meta=,0.5 ", &t), 0);
	assert_throttle(&t, 0, 500000, 80, 3 << 19);
	assert_int_equal(cli_parse_throttle("data=7", &t), 0);
	assert_throttle(&t, 0, 500000, 7, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(cli_parse_throttle(bad[i], &t), -1);
		assert_throttle(&t, 0, 500000, 7, 0);
	}
	assert_int_equal(cli_parse_throttle("data=0,0", &t), 0);
	assert_throttle(&t, 0, 500000, 0, 0);
}

static void assert_size_text(u64 v, const char *expected)
{
	char out[CLI_UNIT_TEXT];

	assert_string_equal(cli_size_text(v, out), expected);
}

static void test_size_text(void **state)
{
	assert_size_text(0, "0 B");
	assert_size_text(1023, "1023 B");
	assert_size_text(1024, "1.00 KiB");
	assert_size_text(10230, "9.99 KiB");
	assert_size_text(10239, "10.0 KiB");
	assert_size_text(1023 << 10, "1023 KiB");
	assert_size_text((1024 << 10) - 1, "1.00 MiB");
	assert_size_text(3ull << 40, "3.00 TiB");
	assert_size_text(UINT64_MAX, "16.0 EiB");
}

static void test_times(void **state)
{
	char out[CLI_UNIT_TEXT], iso[CLI_TIME_ISO];

	setenv("TZ", "UTC", 1);
	assert_string_equal(cli_time_text(0, out), "1970-01-01 00:00:00");
	assert_string_equal(cli_time_text(-1, out), "1969-12-31 23:59:59");
	assert_string_equal(cli_time_text(253402300799, out),
			    "9999-12-31 23:59:59");
	assert_string_equal(cli_time_text(253402300800, out), "@253402300800");
	assert_string_equal(cli_time_text(INT64_MAX, out),
			    "@9223372036854775807");
	assert_string_equal(cli_time_text(INT64_MIN, out),
			    "@-9223372036854775808");
	assert_true(cli_time_iso(-1, 999999999, iso));
	assert_string_equal(iso, "1969-12-31T23:59:59.999999999Z");
	assert_false(cli_time_iso(253402300800, 0, iso));
	assert_false(cli_time_iso(INT64_MAX, 0, iso));
	assert_false(cli_time_iso(0, 1000000000, iso));
	assert_string_equal(cli_duration_text(420000000, out), "0.42 s");
	assert_string_equal(cli_duration_text(12300000000, out), "12.3 s");
	assert_string_equal(cli_duration_text(185000000000, out), "3m05s");
	assert_string_equal(cli_duration_text(7440000000000, out), "2h04m");
}

static int64_t time_of(const char *text)
{
	int64_t out = 0;

	if (cli_parse_time(text, &out))
		fail_msg("'%s' is refused", text);
	return out;
}

static void test_parse_times(void **state)
{
	static const char *const bad[] = {
		"", "x", "2027", "2027-1", "27-01-01", "2027-02-30",
		"2027-13-01", "2027-00-01", "2027-01-01 24:00",
		"2027-01-01 12", "2027-01-01 12:60", "2027-01-01  12:00",
		" 2027-01-01", "2027-01-01 ", "-2027-01-01", "2027-01-01x",
		"@", "@x", "@1x", "@-", "@9223372036854775808", "@ 1",
		"2027-01-01T12:00Z", "+2027-01-01", "2026-03-29 02:30",
	};
	int64_t out;
	size_t i;

	setenv("TZ", "UTC", 1);
	tzset();
	assert_true(time_of("1970-01-01") == 0);
	assert_true(time_of("1969-12-31 23:59:59") == -1);
	assert_true(time_of("2024-02-29") == 1709164800);
	assert_true(time_of("2027-01-01T12:00") == 1798804800);
	assert_true(time_of("@-12") == -12);
	assert_true(time_of("@9223372036854775807") == INT64_MAX);
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_true(time_of("1970-01-01 01:00") == 0);
	assert_true(time_of("2026-07-01") == 1782856800);
	/* The last one is an hour that clocks skip. */
	for (i = 0; i < CLI_ARRAY_SIZE(bad); i++)
		if (cli_parse_time(bad[i], &out) == 0)
			fail_msg("'%s' was taken", bad[i]);
}

/* JSON ----------------------------------------------------------------------*/

static void test_json(void **state)
{
	static const char *const names[] = { "a", "b\xff" };
	struct cli_json j = { 0 };
	char line[1024] = "";
	FILE *f = fmemopen(line, sizeof(line), "w");

	assert_non_null(f);
	cli_json_begin(&j, "node");
	cli_json_name(&j, "path", "q\"\\\n\033\x7f\xc3\xbc\xff");
	cli_json_text(&j, "text", "\xff\xc2\x85");
	cli_json_int(&j, "i", INT64_MIN);
	cli_json_uint(&j, "u", UINT64_MAX);
	cli_json_bool(&j, "b", true);
	cli_json_seconds(&j, "s", 1002003004);
	cli_json_time(&j, "t", 0, 5);
	cli_json_time(&j, "far", INT64_MAX, 0);
	cli_json_names(&j, "good", names, 1);
	cli_json_names(&j, "bad", names, 2);
	cli_json_names(&j, "none", NULL, 0);
	cli_json_end(&j, f);
	fclose(f);
	assert_string_equal(line,
		"{\"type\":\"node\",\"path\":\"q\\\"\\\\\\n\\u001b\\u007f"
		"\xc3\xbc\\ufffd\",\"path_hex\":\"71225c0a1b7fc3bcff\","
		"\"text\":\"\\ufffd\\u0085\",\"i\":-9223372036854775808,"
		"\"u\":18446744073709551615,\"b\":true,\"s\":1.002003,"
		"\"t\":\"1970-01-01T00:00:00.000000005Z\",\"t_sec\":0,"
		"\"t_nsec\":5,\"far_sec\":9223372036854775807,\"far_nsec\":0,"
		"\"good\":[\"a\"],\"bad\":[\"a\",\"b\\ufffd\"],"
		"\"bad_hex\":[\"61\",\"62ff\"],\"none\":[]}\n");
	cli_json_release(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_quote_pasted),
		cmocka_unit_test(test_quote_safe_for_terminals),
		cmocka_unit_test(test_shorten),
		cmocka_unit_test(test_progress_line),
		cmocka_unit_test(test_parse_size),
		cmocka_unit_test(test_parse_share),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_size_text),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_parse_times),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
