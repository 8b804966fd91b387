/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as text; see cli_text.h.
 *
 * The locale plays no part: output is UTF-8. So a listing has the same bytes
 * in cron as on a terminal.
 */
#include <string.h>

#include "cli_text.h"

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Length of a sequence that starts with @c and the bits it carries; 0: none. */
static size_t first_byte(unsigned char c, long *value, long *least)
{
	if (c < 0x80) {
		*value = c;
		*least = 0;
		return 1;
	}
	if (c >= 0xc2 && c < 0xe0) {
		*value = c & 0x1f;
		*least = 0x80;
		return 2;
	}
	if (c >= 0xe0 && c < 0xf0) {
		*value = c & 0x0f;
		*least = 0x800;
		return 3;
	}
	if (c >= 0xf0 && c < 0xf5) {
		*value = c & 0x07;
		*least = 0x10000;
		return 4;
	}
	return 0;
}

long cli_utf8_next(const char *s, size_t n, size_t *len_ret)
{
	long v, least;
	size_t len, i;

	len = first_byte((unsigned char)*s, &v, &least);
	*len_ret = 1;
	if (len == 0 || len > n)
		return -1;
	for (i = 1; i < len; i++) {
		if (!is_continuation(s[i]))
			return -1;
		v = v << 6 | (s[i] & 0x3f);
	}
	if (v < least || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return -1;
	*len_ret = len;
	return v;
}

bool cli_utf8_valid(const char *s, size_t n)
{
	size_t len;

	for (; n; s += len, n -= len) {
		if (cli_utf8_next(s, n, &len) < 0)
			return false;
	}
	return true;
}

struct range {
	long from, to;
};

/* What must not reach a screen: controls, line and paragraph separators,
 * marks that turn the direction of text, invisible and tag characters,
 * noncharacters. Joiners (U+200C, U+200D) are part of words and emoji. */
static const struct range unprintable[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad },
	{ 0x061c, 0x061c }, { 0x180e, 0x180e }, { 0x200b, 0x200b },
	{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfdd0, 0xfdef }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff }, { 0xe0000, 0xe0fff }, { 0xf0000, 0x10ffff },
};

/* East Asian wide and fullwidth, coarsely, and emoji. */
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x231a, 0x231b }, { 0x23e9, 0x23f3 },
	{ 0x25fd, 0x25fe }, { 0x2600, 0x27bf }, { 0x2b1b, 0x2b55 },
	{ 0x2e80, 0xa4cf }, { 0xa960, 0xa97f }, { 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff }, { 0xfe10, 0xfe19 }, { 0xfe30, 0xfe6f },
	{ 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x16fe0, 0x18dff },
	{ 0x1aff0, 0x1b2ff }, { 0x1f000, 0x1faff }, { 0x20000, 0x3fffd },
};

static bool within(const struct range *r, size_t nr, long v)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (v >= r[i].from && v <= r[i].to)
			return true;
	}
	return false;
}

static bool is_printable(long v)
{
	return v >= 0 &&
	       !within(unprintable, CLI_ARRAY_SIZE(unprintable), v);
}

static void add_escaped(struct cli_str *out, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		switch (s[i]) {
		case '\n':
			cli_str_add(out, "\\n");
			break;
		case '\t':
			cli_str_add(out, "\\t");
			break;
		case '\r':
			cli_str_add(out, "\\r");
			break;
		default:
			/* Three digits always: a digit may follow. Octal,
			 * because ksh's \x takes as many as there are. */
			cli_str_addf(out, "\\%03o", (unsigned char)s[i]);
			break;
		}
	}
}

/* Bytes that need no quotes wherever they stand. '~' and '#' only count in
 * front and '=' only before a command, but a rule is simpler than a list of
 * exceptions. */
static bool is_safe(long v)
{
	if (v >= 0x80)
		return true;
	return (v >= 'a' && v <= 'z') || (v >= 'A' && v <= 'Z') ||
	       (v >= '0' && v <= '9') || (v && strchr("_-./:@%+,", (int)v));
}

enum quoting { QUOTE_NONE, QUOTE_SINGLE, QUOTE_ESCAPES };

static enum quoting quoting_needed(const char *s, size_t n)
{
	enum quoting q = n ? QUOTE_NONE : QUOTE_SINGLE;
	size_t len;
	long v;

	for (; n; s += len, n -= len) {
		v = cli_utf8_next(s, n, &len);
		if (!is_printable(v) || v == '\'')
			return QUOTE_ESCAPES;
		if (!is_safe(v))
			q = QUOTE_SINGLE;
	}
	return q;
}

void cli_quote(struct cli_str *out, const char *s, size_t n)
{
	size_t len;
	long v;

	switch (quoting_needed(s, n)) {
	case QUOTE_NONE:
		cli_str_addn(out, s, n);
		return;
	case QUOTE_SINGLE:
		cli_str_addc(out, '\'');
		cli_str_addn(out, s, n);
		cli_str_addc(out, '\'');
		return;
	default:
		break;
	}
	cli_str_add(out, "$'");
	for (; n; s += len, n -= len) {
		v = cli_utf8_next(s, n, &len);
		if (v == '\'' || v == '\\')
			cli_str_addc(out, '\\');
		if (is_printable(v))
			cli_str_addn(out, s, len);
		else
			add_escaped(out, s, len);
	}
	cli_str_addc(out, '\'');
}

void cli_plain(struct cli_str *out, const char *s)
{
	size_t n = strlen(s), len;

	for (; n; s += len, n -= len) {
		if (is_printable(cli_utf8_next(s, n, &len)))
			cli_str_addn(out, s, len);
		else
			add_escaped(out, s, len);
	}
}

static size_t columns_of(long v)
{
	return within(wide, CLI_ARRAY_SIZE(wide), v) ? 2 : 1;
}

size_t cli_width(const char *s, size_t n)
{
	size_t len, w = 0;

	for (; n; s += len, n -= len)
		w += columns_of(cli_utf8_next(s, n, &len));
	return w;
}

void cli_shorten(struct cli_str *out, const char *s, size_t columns)
{
	size_t n = strlen(s), w = cli_width(s, n), len;

	if (w <= columns) {
		cli_str_addn(out, s, n);
		return;
	}
	if (columns < 4)
		return;
	while (n && w > columns - 3) {
		w -= columns_of(cli_utf8_next(s, n, &len));
		s += len;
		n -= len;
	}
	cli_str_add(out, "...");
	cli_str_addn(out, s, n);
}
