/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON; see capacity_json.h.
 */
#include "capacity_json.h"

#define DEPTH_MAX 64

void cap_json_init(struct cap_json *j, const char *text, size_t len)
{
	j->p = text;
	j->end = text + len;
	j->inside = false;
}

static void skip_blanks(struct cap_json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' ||
				 *j->p == '\n' || *j->p == '\r'))
		j->p++;
}

/* The next byte that is no blank, 0 at the end. */
static char peek(struct cap_json *j)
{
	skip_blanks(j);
	return j->p < j->end ? *j->p : 0;
}

static bool take(struct cap_json *j, char c)
{
	if (peek(j) != c)
		return false;
	j->p++;
	return true;
}

static bool skip_string(struct cap_json *j, const char **s, size_t *len)
{
	if (!take(j, '"'))
		return false;
	*s = j->p;
	for (; j->p < j->end && *j->p != '"'; j->p++) {
		if ((unsigned char)*j->p < 0x20)
			return false;
		if (*j->p == '\\' && ++j->p == j->end)
			return false;
	}
	if (j->p == j->end)
		return false;
	*len = (size_t)(j->p++ - *s);
	return true;
}

static size_t skip_digits(struct cap_json *j)
{
	const char *start = j->p;

	while (j->p < j->end && cap_is_digit(*j->p))
		j->p++;
	return (size_t)(j->p - start);
}

static bool skip_number(struct cap_json *j)
{
	if (j->p < j->end && *j->p == '-')
		j->p++;
	if (!skip_digits(j))
		return false;
	if (j->p < j->end && *j->p == '.') {
		j->p++;
		if (!skip_digits(j))
			return false;
	}
	if (j->p < j->end && (*j->p == 'e' || *j->p == 'E')) {
		j->p++;
		if (j->p < j->end && (*j->p == '+' || *j->p == '-'))
			j->p++;
		return skip_digits(j);
	}
	return true;
}

static bool skip_word(struct cap_json *j)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t i, n;

	for (i = 0; i < CAP_ARRAY_SIZE(words); i++) {
		n = cap_strlen(words[i]);
		if ((size_t)(j->end - j->p) >= n &&
		    cap_json_is(j->p, n, words[i])) {
			j->p += n;
			return true;
		}
	}
	return false;
}

static bool skip_scalar(struct cap_json *j)
{
	const char *s;
	size_t n;
	char c = peek(j);

	if (c == '"')
		return skip_string(j, &s, &n);
	return c == '-' || cap_is_digit(c) ? skip_number(j) : skip_word(j);
}

/* What may stand behind a value: closes what ends there. */
static bool close_all(struct cap_json *j, const char *open, unsigned *depth,
		      bool *more)
{
	while (*depth) {
		if (take(j, ',')) {
			*more = true;
			return true;
		}
		if (!take(j, open[*depth - 1]))
			return false;
		--*depth;
	}
	*more = false;
	return true;
}

/* An object or array, and everything in it. */
static bool skip_nested(struct cap_json *j)
{
	char open[DEPTH_MAX];
	unsigned depth = 0;
	const char *s;
	bool more = true;
	size_t n;

	while (more) {
		if (depth && open[depth - 1] == '}' &&
		    (!skip_string(j, &s, &n) || !take(j, ':')))
			return false;
		if (peek(j) == '{' || peek(j) == '[') {
			if (depth == DEPTH_MAX)
				return false;
			open[depth++] = *j->p++ == '{' ? '}' : ']';
			if (peek(j) != open[depth - 1])
				continue;
		} else if (!skip_scalar(j)) {
			return false;
		}
		if (!close_all(j, open, &depth, &more))
			return false;
	}
	return true;
}

static bool read_member(struct cap_json *j, struct cap_json_member *m)
{
	char c;

	if (!skip_string(j, &m->key, &m->key_len) || !take(j, ':'))
		return false;
	c = peek(j);
	m->value = j->p;
	if (c == '"') {
		m->kind = CAP_JSON_STRING;
		return skip_string(j, &m->value, &m->value_len);
	}
	m->kind = c == '-' || cap_is_digit(c) ? CAP_JSON_NUMBER :
		  CAP_JSON_OTHER;
	if (c == '{' || c == '[' ? !skip_nested(j) : !skip_scalar(j))
		return false;
	m->value_len = (size_t)(j->p - m->value);
	return true;
}

enum cap_json_event cap_json_next(struct cap_json *j,
				  struct cap_json_member *out)
{
	if (!j->inside) {
		if (peek(j) == 0 && j->p == j->end)
			return CAP_JSON_END;
		if (!take(j, '{'))
			return CAP_JSON_BAD;
		j->inside = true;
		if (take(j, '}')) {
			j->inside = false;
			return CAP_JSON_OBJECT;
		}
	} else if (take(j, '}')) {
		j->inside = false;
		return CAP_JSON_OBJECT;
	} else if (!take(j, ',')) {
		return CAP_JSON_BAD;
	}
	return read_member(j, out) ? CAP_JSON_MEMBER : CAP_JSON_BAD;
}

bool cap_json_is(const char *s, size_t len, const char *word)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!word[i] || s[i] != word[i])
			return false;
	}
	return !word[len];
}

int cap_json_number(const struct cap_json_member *m, double *out)
{
	const char *p = m->value, *end = p + m->value_len;
	double v = 0, most = cap_to_double(CAP_MAX_SUM);
	int exponent = 0, given = 0;
	bool fraction = false, negative = false;

	if (m->kind != CAP_JSON_NUMBER || *p == '-')
		return -1;
	for (; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		/* More digits than a double holds only move the point. */
		if (v < 1e17)
			v = v * 10 + (*p - '0');
		else if (exponent < 100000)
			exponent++;
		if (fraction && exponent > -100000)
			exponent--;
	}
	if (p < end && *++p == '-')
		negative = true;
	for (; p < end; p++) {
		if (cap_is_digit(*p) && given < 10000)
			given = given * 10 + (*p - '0');
	}
	exponent += negative ? -given : given;
	for (; exponent > 0 && v > 0 && v <= most; exponent--)
		v *= 10;
	for (; exponent < 0 && v > 0; exponent++)
		v /= 10;
	if (v > most)
		return -1;
	*out = v;
	return 0;
}
