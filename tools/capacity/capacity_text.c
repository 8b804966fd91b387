/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and numbers; see capacity_text.h.
 */
#include "capacity_text.h"

#define DIGITS_MAX 40		/* of 2^128 */

void cap_text_init(struct cap_text *t, char *s, size_t cap)
{
	t->s = s;
	t->cap = cap;
	t->len = 0;
	t->cut = false;
	s[0] = 0;
}

static void put_char(struct cap_text *t, char c)
{
	if (t->len + 1 >= t->cap) {
		t->cut = true;
		return;
	}
	t->s[t->len++] = c;
	t->s[t->len] = 0;
}

static void put_string(struct cap_text *t, const char *s)
{
	while (*s)
		put_char(t, *s++);
}

/* @comma stands in front of each three digits, unless it is 0. */
static void put_number(struct cap_text *t, cap_u128 v, char comma)
{
	char digits[DIGITS_MAX];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + (unsigned)(v % 10));
		v /= 10;
	} while (v);
	while (n--) {
		put_char(t, digits[n]);
		if (comma && n && n % 3 == 0)
			put_char(t, comma);
	}
}

static void put_fixed(struct cap_text *t, cap_u128 a, cap_u128 b, int digits)
{
	cap_u128 scale = 1, whole, rest;
	int i;

	for (i = 0; i < digits; i++)
		scale *= 10;
	/* The whole part apart: a * scale might not fit. */
	whole = a / b;
	rest = a % b;
	if (rest > CAP_POW2(126) / scale) {
		rest >>= 32;
		b >>= 32;
	}
	rest = (rest * scale * 2 + b) / (2 * b);
	if (rest >= scale) {
		whole++;
		rest -= scale;
	}
	put_number(t, whole, 0);
	if (!digits)
		return;
	put_char(t, '.');
	for (scale /= 10; scale; scale /= 10)
		put_char(t, (char)('0' + (unsigned)(rest / scale % 10)));
}

/* Three digits, in the largest unit that leaves at least one in front. */
static void put_size(struct cap_text *t, cap_u128 v, unsigned base)
{
	static const char letters[] = "KMGTPEZY";
	cap_u128 factor = 1;
	int unit = -1;

	/* From 1023.5 (999.5) on it would be printed as 1024 (1000). */
	while (unit < 7 && 2 * v >= factor * (2 * base - 1)) {
		factor *= base;
		unit++;
	}
	if (unit < 0) {
		put_number(t, v, 0);
		put_string(t, " B");
		return;
	}
	if (v * 1000 < factor * 9995)
		put_fixed(t, v, factor, 2);
	else if (v * 100 < factor * 9995)
		put_fixed(t, v, factor, 1);
	else
		put_fixed(t, v, factor, 0);
	put_char(t, ' ');
	put_char(t, base == 1000 && unit == 0 ? 'k' : letters[unit]);
	put_string(t, base == 1024 ? "iB" : "B");
}

static void put_double(struct cap_text *t, double v, int digits)
{
	cap_u128 scale = 1;
	int i;

	for (i = 0; i < digits; i++)
		scale *= 10;
	put_fixed(t, cap_from_double(v * cap_to_double(scale)), scale, digits);
}

/* What a conversion other than %s, %c and %u appends; returns the arguments
 * behind it. */
static const struct cap_arg *put_wide(struct cap_text *t, char what,
				      const struct cap_arg *a)
{
	switch (what) {
	case 'D':
		put_number(t, a->v.n, 0);
		break;
	case 'N':
		put_number(t, a->v.n, ',');
		break;
	case 'I':
		put_size(t, a->v.n, 1024);
		break;
	case 'S':
		put_size(t, a->v.n, 1000);
		break;
	case 'B':
		put_size(t, a->v.n, 1024);
		if (a->v.n < 1000)
			break;
		put_string(t, " (");
		put_size(t, a->v.n, 1000);
		put_char(t, ')');
		break;
	case 'F':
		put_fixed(t, a[0].v.n, a[1].v.n, a[2].v.i);
		return a + 3;
	case 'R':
		put_double(t, a[0].v.d, a[1].v.i);
		return a + 2;
	}
	return a + 1;
}

void cap_put_args(struct cap_text *t, const char *fmt,
		  const struct cap_arg *args)
{
	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put_char(t, *fmt);
			continue;
		}
		switch (*++fmt) {
		case 's':
			put_string(t, args++->v.s);
			break;
		case 'c':
			put_char(t, (char)args++->v.i);
			break;
		case 'u':
			put_number(t, args++->v.u, 0);
			break;
		case '%':
			put_char(t, '%');
			break;
		case 0:
			return;
		default:
			args = put_wide(t, *fmt, args);
			break;
		}
	}
}

double cap_to_double(cap_u128 v)
{
	return (double)(uint64_t)(v >> 64) * 18446744073709551616.0 +
	       (double)(uint64_t)v;
}

cap_u128 cap_from_double(double v)
{
	const double two64 = 18446744073709551616.0;
	uint64_t high, low;

	if (!(v >= 0.5))
		return 0;
	if (v >= two64 * 9223372036854775808.0)
		return CAP_POW2(127);
	/* Above 2^53 there is no fraction to round. */
	if (v < 4503599627370496.0)
		v += 0.5;
	high = (uint64_t)(v / two64);
	low = (uint64_t)(v - (double)high * two64);
	return ((cap_u128)high << 64) | low;
}

size_t cap_strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

bool cap_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const char *cap_after(const char *s, const char *prefix)
{
	while (*prefix) {
		if (*s++ != *prefix++)
			return NULL;
	}
	return s;
}

bool cap_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
