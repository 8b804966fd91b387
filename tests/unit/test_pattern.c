/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns: exact answers, for whole sets and single globs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "testlib.h"

#include "base/diag.h"
#include "base/mem.h"
#include "source/source_pattern.h"

static struct pattern_set *set_of(const char *const *patterns, size_t n)
{
	struct pattern_set *set = pattern_set_new();
	struct akin_diag d = {0};
	size_t i;

	assert_non_null(set);
	for (i = 0; i < n; i++) {
		if (pattern_set_add(set, patterns[i], &d))
			fail_msg("%s: %s", patterns[i], d.text);
	}
	assert_int_equal(pattern_set_count(set), n);
	return set;
}

static const struct {
	const char *pattern, *path;
	bool is_dir, match;
} cases[] = {
	/* Base names. */
	{"*.o", "/a/b/x.o", false, true},
	{"*.o", "/a/b.o/x", false, false},
	{"*.o", "/.o", false, true},
	{"foo", "/foo", false, true},
	{"foo", "/a/foo", true, true},
	{"foo", "/a/foobar", false, false},
	{"foo", "/a/barfoo", false, false},
	{"f?o", "/fxo", false, true},
	{"f?o", "/fo", false, false},
	{"f?o", "/f/o", false, false},
	{"*", "/anything", false, true},
	{"*", "/", true, false},
	{"/**", "/", true, false},
	{"*a*b*c", "/xaxbxc", false, true},
	{"*a*b*c", "/xaxcxb", false, false},
	{"*aab", "/aaaaab", false, true},
	{"a**b", "/d/axxb", false, true},
	/* Directories only. */
	{"tmp/", "/x/tmp", true, true},
	{"tmp/", "/x/tmp", false, false},
	{"/x/tmp/", "/x/tmp", true, true},
	/* Anchored. */
	{"/etc", "/etc", true, true},
	{"/etc", "/x/etc", true, false},
	{"/etc", "/etc/passwd", false, false},
	{"/home/*/c", "/home/u/c", false, true},
	{"/home/*/c", "/home/u/v/c", false, false},
	{"/h*/c", "/h/c", false, true},
	{"/h*/c", "/h/x/c", false, false},
	/* A slash inside: the last components. */
	{"a/b", "/a/b", false, true},
	{"a/b", "/x/y/a/b", false, true},
	{"a/b", "/xa/b", false, false},
	{"a/b", "/a/b/c", false, false},
	{"a/*", "/q/a/b", false, true},
	{"a/*", "/q/a/b/c", false, false},
	{"a/*/x/*", "/a/1/x/a/2/x/3", false, true},
	{"*a/*b", "/q/xa/xb", false, true},
	{"*a/*b", "/xa/xc/xb", false, false},
	/* Across components. */
	{"/a/**/b", "/a/b", false, true},
	{"/a/**/b", "/a/x/y/b", false, true},
	{"/a/**/b", "/a/xb", false, false},
	{"/a/**/b", "/ab", false, false},
	{"/a/**", "/a", true, false},
	{"/a/**", "/a/b", false, true},
	{"/a/**", "/a/b/c", false, true},
	{"**/c", "/a/b/c", false, true},
	{"/**/c", "/c", false, true},
	{"/a**z", "/a/b/c/z", false, true},
	{"/a**z", "/b/a/z", false, false},
	{"/**/a/**/a/b", "/a/x/a/a/b", false, true},
	{"/**/x*y/**/z", "/xy/q/xzy/z", false, true},
	/* Sets. */
	{"[abc]", "/b", false, true},
	{"[abc]", "/d", false, false},
	{"[!abc]", "/d", false, true},
	{"[^abc]", "/a", false, false},
	{"[a-c]x", "/bx", false, true},
	{"[]]", "/]", false, true},
	{"[!]]", "/]", false, false},
	{"[a-]", "/-", false, true},
	{"[\\]a]", "/]", false, true},
	{"[\x80-\xff]", "/\xc3", false, true},
	{"/a[!b]c", "/a/c", false, false},
	{"/a[.-0]c", "/a/c", false, false},
	/* Escapes, and bytes that are no UTF-8. */
	{"\\*", "/*", false, true},
	{"\\*", "/x", false, false},
	{"a\\?", "/a?", false, true},
	{"a\\?", "/ab", false, false},
	{"a\\\\?", "/a\\b", false, true},
	{"a\\\\?", "/a\\", false, false},
	{"\\[x]", "/[x]", false, true},
	{"\\!x", "/!x", false, true},
	{"\\#x", "/#x", false, true},
	{"#x", "/#x", false, true},
	{"\xff?\n", "/\xff\xc3\n", false, true},
	{"?", "/\xc3\xa9", false, false},
	{" ", "/ ", false, true},
	{".*", "/.hidden", false, true},
	{"...", "/...", false, true},
};

static void test_single(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pattern_set *set = set_of(&cases[i].pattern, 1);

		if (pattern_set_match(set, cases[i].path, cases[i].is_dir) !=
		    cases[i].match)
			fail_msg("%s against %s", cases[i].pattern,
				 cases[i].path);
		pattern_set_free(set);
	}
}

static void test_last_decides(void **state)
{
	static const char *const p[] = {"*.log", "!keep.log", "/tmp/**",
					"!/tmp/keep/"};
	struct pattern_set *set = set_of(p, ARRAY_SIZE(p));

	assert_true(pattern_set_match(set, "/a/x.log", false));
	assert_false(pattern_set_match(set, "/a/keep.log", false));
	assert_true(pattern_set_match(set, "/tmp/keep.log", false));
	assert_true(pattern_set_match(set, "/tmp/keep", false));
	assert_false(pattern_set_match(set, "/tmp/keep", true));
	assert_true(pattern_set_match(set, "/tmp/keep/x", false));
	assert_false(pattern_set_match(set, "/a/b", false));
	pattern_set_free(set);
}

static void test_above(void **state)
{
	static const char *const p[] = {"cache/", "/a/b/c"};
	struct pattern_set *set = set_of(p, ARRAY_SIZE(p));

	assert_true(pattern_set_match_above(set, "/x/cache/y/z", false));
	assert_false(pattern_set_match(set, "/x/cache/y/z", false));
	assert_false(pattern_set_match_above(set, "/x/cache", false));
	assert_true(pattern_set_match_above(set, "/x/cache", true));
	assert_true(pattern_set_match_above(set, "/a/b/c/d", false));
	assert_false(pattern_set_match_above(set, "/a/b", true));
	pattern_set_free(set);
}

static void test_may_match_below(void **state)
{
	static const char *const p[] = {"/a/b*/c", "!/x", "/q/**/z"};
	static const char *const base[] = {"*.c"};
	struct pattern_set *set = set_of(p, ARRAY_SIZE(p));

	assert_true(pattern_set_may_match_below(set, "/"));
	assert_true(pattern_set_may_match_below(set, "/a"));
	assert_true(pattern_set_may_match_below(set, "/a/bxb"));
	assert_false(pattern_set_may_match_below(set, "/a/bxb/c"));
	assert_false(pattern_set_may_match_below(set, "/a/c"));
	assert_false(pattern_set_may_match_below(set, "/ab"));
	assert_false(pattern_set_may_match_below(set, "/x"));
	assert_true(pattern_set_may_match_below(set, "/q/1/2/3"));
	pattern_set_free(set);
	set = set_of(base, 1);
	assert_true(pattern_set_may_match_below(set, "/a/b/c/d"));
	pattern_set_free(set);
	set = set_of(NULL, 0);
	assert_false(pattern_set_may_match_below(set, "/"));
	assert_false(pattern_set_match(set, "/a", false));
	pattern_set_free(set);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"",    "!",    "/",	"!/",	       "[",   "[]",
		"[a",  "[!]",  "[z-a]", "[[:alpha:]]", "x\\", "[\\",
		"[a-", "a//b", "//a",	"a//",	       "./a", "a/../b",
		"/..", ".",    "a/.",	"[a-\\",
	};
	char longest[PATTERN_MAX_BYTES + 2];
	struct pattern_set *set = pattern_set_new();
	struct akin_diag d;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&d, 0, sizeof(d));
		if (pattern_set_add(set, bad[i], &d) != -AKIN_E_usage)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(d.code, -AKIN_E_usage);
	}
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(pattern_set_add(set, longest, NULL), -AKIN_E_usage);
	assert_int_equal(pattern_set_count(set), 0);
	pattern_set_free(set);
}

/* Quadratic at worst: this takes ages with naive backtracking. */
static void test_no_blowup(void **state)
{
	char pattern[256], path[4096];
	const char *p = pattern;
	struct pattern_set *set;
	size_t i;

	for (i = 0; i < 60; i++)
		memcpy(pattern + 4 * i, i % 2 ? "**a*" : "a*a*", 4);
	memcpy(pattern + 240, "b", 2);
	memset(path, 'a', sizeof(path));
	for (i = 0; i < sizeof(path); i += 50)
		path[i] = '/';
	path[sizeof(path) - 1] = 0;
	set = set_of(&p, 1);
	assert_false(pattern_set_match(set, path, false));
	pattern_set_free(set);
}

static void write_file(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void test_file(void **state)
{
	static const char text[] = "\xef\xbb\xbf# a comment\n\n*.o\r\n"
				   "  \n!keep.o\ntrail \\ \nspace  \t\n"
				   "\\#hash\nlast";
	static const char bad[] = "ok\n\n[a\n";
	static const char nul[] = "a\0b\n";
	char dir[] = "/tmp/akin-pattern-XXXXXX";
	char path[64];
	struct pattern_set *set = pattern_set_new();
	struct akin_diag d = {0};

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p", dir);
	write_file(path, text, sizeof(text) - 1);
	assert_int_equal(pattern_set_add_file(set, path, &d), 0);
	assert_int_equal(pattern_set_count(set), 6);
	assert_true(pattern_set_match(set, "/x.o", false));
	assert_false(pattern_set_match(set, "/keep.o", false));
	assert_true(pattern_set_match(set, "/trail  ", false));
	assert_true(pattern_set_match(set, "/space", false));
	assert_true(pattern_set_match(set, "/#hash", false));
	assert_true(pattern_set_match(set, "/last", false));
	assert_false(pattern_set_match(set, "/# a comment", false));

	write_file(path, bad, sizeof(bad) - 1);
	assert_int_equal(pattern_set_add_file(set, path, &d), -AKIN_E_usage);
	assert_non_null(strstr(d.text, "/p, line 3: pattern \"[a\""));
	memset(&d, 0, sizeof(d));
	write_file(path, nul, sizeof(nul) - 1);
	assert_int_equal(pattern_set_add_file(set, path, &d), -AKIN_E_usage);
	memset(&d, 0, sizeof(d));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(pattern_set_add_file(set, path, &d), -AKIN_E_absent);
	assert_non_null(strstr(d.text, path));
	assert_int_equal(rmdir(dir), 0);
	pattern_set_free(set);
}

static void test_short_memory(void **state)
{
	struct pattern_set *set;
	u64 n;
	int err = -1;

	for (n = 1; err; n++) {
		mem_fail_after(n);
		set = pattern_set_new();
		err = -AKIN_E_nomem;
		if (set)
			err = pattern_set_add(set, "/a/[b-d]/**/*.x", NULL);
		mem_fail_after(0);
		assert_true(err == 0 || err == -AKIN_E_nomem);
		if (err == 0)
			assert_true(
				pattern_set_match(set, "/a/c/d/e.x", false));
		pattern_set_free(set);
	}
	assert_true(n > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_last_decides),
		cmocka_unit_test(test_above),
		cmocka_unit_test(test_may_match_below),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_blowup),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
