/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text; see capacity_units.h.
 */
#include "capacity_units.h"

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Factor of a suffix such as "", "B", "K", "KiB", "kb"; 0 if it is none. */
static cap_u128 unit_factor(const char *s)
{
	static const char letters[] = "KMGTPEZY";
	unsigned base = 1024, i;
	cap_u128 factor = 1;

	if (!*s || (upper(*s) == 'B' && !s[1]))
		return 1;
	for (i = 0; letters[i] && letters[i] != upper(*s); i++)
		;
	if (!letters[i])
		return 0;
	s++;
	if (upper(*s) == 'B' && !s[1])
		base = 1000;
	else if (*s && !(upper(s[0]) == 'I' && upper(s[1]) == 'B' && !s[2]))
		return 0;
	for (i++; i; i--)
		factor *= base;
	return factor;
}

/* "12.75": the whole part, and the fraction as @frac / @scale. */
static int parse_decimal(const char **s, cap_u128 *whole, uint64_t *frac,
			 uint64_t *scale)
{
	const char *p = *s;

	*whole = *frac = 0;
	*scale = 1;
	if (!cap_is_digit(*p))
		return -1;
	for (; cap_is_digit(*p); p++) {
		*whole = *whole * 10 + (unsigned)(*p - '0');
		if (*whole > CAP_MAX_INPUT)
			return -1;
	}
	if (*p == '.') {
		if (!cap_is_digit(*++p))
			return -1;
		for (; cap_is_digit(*p); p++) {
			if (*scale >= 1000000000)
				return -1;
			*frac = *frac * 10 + (unsigned)(*p - '0');
			*scale *= 10;
		}
	}
	*s = p;
	return 0;
}

int cap_parse_size(const char *s, cap_u128 *out)
{
	cap_u128 whole, factor;
	uint64_t frac, scale;

	if (parse_decimal(&s, &whole, &frac, &scale))
		return -1;
	if (*s == ' ')
		s++;
	factor = unit_factor(s);
	if (!factor || whole > CAP_MAX_INPUT / factor)
		return -1;
	whole = whole * factor + frac * factor / scale;
	if (whole > CAP_MAX_INPUT)
		return -1;
	*out = whole;
	return 0;
}

int cap_parse_number(const char *s, unsigned max, unsigned *out,
		     const char **end_ret)
{
	uint64_t v = 0;

	if (!cap_is_digit(*s))
		return -1;
	for (; cap_is_digit(*s); s++) {
		v = v * 10 + (unsigned)(*s - '0');
		if (v > max)
			return -1;
	}
	*out = (unsigned)v;
	*end_ret = s;
	return 0;
}

int cap_parse_count(const char *s, unsigned max, unsigned *out)
{
	const char *end;
	unsigned v;

	if (cap_parse_number(s, max, &v, &end) || *end)
		return -1;
	*out = v;
	return 0;
}

int cap_parse_share(const char *s, unsigned max_percent, double *out)
{
	cap_u128 whole;
	uint64_t frac, scale;
	double v;

	if (parse_decimal(&s, &whole, &frac, &scale) || *s != '%' || s[1])
		return -1;
	v = cap_to_double(whole) + (double)frac / (double)scale;
	if (v > max_percent)
		return -1;
	*out = v / 100;
	return 0;
}

int cap_parse_factor(const char *s, double *out)
{
	cap_u128 whole;
	uint64_t frac, scale;
	double v;

	if (parse_decimal(&s, &whole, &frac, &scale))
		return -1;
	if (*s == 'x')
		s++;
	v = cap_to_double(whole) + (double)frac / (double)scale;
	if (*s || v < 0.01 || v > 1000000)
		return -1;
	*out = v;
	return 0;
}

int cap_parse_keep(const char *s, struct cap_keep *out)
{
	struct cap_keep k = { 0 };
	unsigned *order[] = { &k.days, &k.weeks, &k.months, &k.years };
	static const char letters[] = "dwmy";
	unsigned v, i, next = 0;

	while (*s) {
		if (cap_parse_number(s, CAP_KEEP_MAX, &v, &s))
			return -1;
		if (!*s && next == 0) {
			k.days = v;
			break;
		}
		for (i = next; letters[i] && letters[i] != *s; i++)
			;
		if (!letters[i])
			return -1;
		*order[i] = v;
		next = i + 1;
		s++;
	}
	if (k.days + k.weeks + k.months + k.years == 0)
		return -1;
	*out = k;
	return 0;
}

void cap_put_keep(struct cap_text *t, const struct cap_keep *k)
{
	if (k->days)
		cap_put(t, "%ud", k->days);
	if (k->weeks)
		cap_put(t, "%uw", k->weeks);
	if (k->months)
		cap_put(t, "%um", k->months);
	if (k->years)
		cap_put(t, "%uy", k->years);
}

static bool is_leap(unsigned year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned days_in(unsigned year, unsigned month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30,
					31, 31, 30, 31, 30, 31 };

	return days[month - 1] + (month == 2 && is_leap(year));
}

static unsigned days_before_year(unsigned year)
{
	unsigned y = year - 1;

	return (year - 1970) * 365 + (y / 4 - 1969 / 4) -
	       (y / 100 - 1969 / 100) + (y / 400 - 1969 / 400);
}

int cap_parse_date(const char *s, unsigned *out)
{
	unsigned year, month, day, i, days;

	if (cap_strlen(s) != 10 || s[4] != '-' || s[7] != '-' ||
	    cap_parse_number(s, 9999, &year, &s) || *s++ != '-' ||
	    cap_parse_number(s, 12, &month, &s) || *s++ != '-' ||
	    cap_parse_number(s, 31, &day, &s) || *s)
		return -1;
	if (year < 1970 || month < 1 || day < 1 || day > days_in(year, month))
		return -1;
	days = days_before_year(year);
	for (i = 1; i < month; i++)
		days += days_in(year, i);
	*out = days + day - 1;
	return 0;
}

void cap_put_date(struct cap_text *t, unsigned day)
{
	unsigned year = 1970 + day / 366, month = 1;

	while (days_before_year(year + 1) <= day)
		year++;
	day -= days_before_year(year);
	while (day >= days_in(year, month))
		day -= days_in(year, month++);
	cap_put(t, "%s%u-%s%u-%s%u", year > 9999 ? "+" : "", year,
		month < 10 ? "0" : "", month, day < 9 ? "0" : "", day + 1);
}

static void put_plural(struct cap_text *t, unsigned n, const char *word)
{
	cap_put(t, "%u %s%s", n, word, n == 1 ? "" : "s");
}

void cap_put_span(struct cap_text *t, unsigned days)
{
	unsigned years = days / 365, months = days % 365 / 30;

	/* Day 360 to 364 is no twelfth month. */
	if (months == 12)
		months = 11;
	if (years)
		put_plural(t, years, "year");
	if (years && months)
		cap_put(t, " ");
	if (months)
		put_plural(t, months, "month");
	if (!years && !months)
		put_plural(t, days, "day");
}
