/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, rates, durations and times; see cli_units.h.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli_units.h"

static const char unit_letters[] = "KMGTPE";

/* Factor of a suffix such as "", "B", "K", "KiB", "kb"; 0 if it is none. */
static uint64_t unit_factor(const char *s)
{
	uint64_t base = 1024, factor = 1;
	const char *at;

	if (!*s || strcasecmp(s, "b") == 0)
		return 1;
	at = strchr(unit_letters, toupper((unsigned char)*s));
	if (!at)
		return 0;
	if (strcasecmp(s + 1, "b") == 0)
		base = 1000;
	else if (s[1] && strcasecmp(s + 1, "ib") != 0)
		return 0;
	for (; at >= unit_letters; at--)
		factor *= base;
	return factor;
}

int cli_parse_size(const char *s, uint64_t *out)
{
	uint64_t whole = 0, factor, frac = 0, scale = 1, rest;
	const char *start = s;

	for (; isdigit((unsigned char)*s); s++) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*s - '0'), &whole))
			return -1;
	}
	if (s == start)
		return -1;
	if (*s == '.') {
		start = ++s;
		for (; isdigit((unsigned char)*s); s++) {
			if (scale >= 1000000000)
				return -1;
			frac = frac * 10 + (uint64_t)(*s - '0');
			scale *= 10;
		}
		if (s == start)
			return -1;
	}
	if (*s == ' ')
		s++;
	factor = unit_factor(s);
	if (!factor || __builtin_mul_overflow(whole, factor, &whole))
		return -1;
	rest = (uint64_t)((unsigned __int128)frac * factor / scale);
	return __builtin_add_overflow(whole, rest, out) ? -1 : 0;
}

int cli_parse_rate(const char *s, uint64_t *out)
{
	size_t n = strlen(s);
	char copy[64];

	if (n >= sizeof(copy))
		return -1;
	memcpy(copy, s, n + 1);
	if (n > 2 && strcasecmp(copy + n - 2, "/s") == 0)
		copy[n - 2] = 0;
	return cli_parse_size(copy, out);
}

int cli_parse_count(const char *s, unsigned max, unsigned *out)
{
	uint64_t v = 0;

	if (!*s)
		return -1;
	for (; *s; s++) {
		if (!isdigit((unsigned char)*s))
			return -1;
		v = v * 10 + (uint64_t)(*s - '0');
		if (v > max)
			return -1;
	}
	*out = (unsigned)v;
	return 0;
}

int cli_parse_share(const char *s, struct cli_share *out)
{
	struct cli_share share = { .given = true };
	size_t n = strlen(s);
	char copy[16];

	if (n > 1 && n < sizeof(copy) && s[n - 1] == '%') {
		memcpy(copy, s, n);
		copy[n - 1] = 0;
		if (cli_parse_count(copy, 100, &share.percent) ||
		    share.percent == 0)
			return -1;
	} else if (cli_parse_size(s, &share.bytes) || share.bytes == 0) {
		return -1;
	}
	*out = share;
	return 0;
}

int cli_parse_budget(const char *s, struct cli_budget *out)
{
	static const struct {
		char letter;
		unsigned seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	struct cli_budget b = { .given = true };
	size_t n = strlen(s), i;
	unsigned count;
	char copy[16];

	for (i = 0; n > 1 && n < sizeof(copy) && i < 4; i++) {
		if (s[n - 1] != units[i].letter)
			continue;
		memcpy(copy, s, n);
		copy[n - 1] = 0;
		if (cli_parse_count(copy, 100000, &count) || !count)
			return -1;
		b.ns = (uint64_t)count * units[i].seconds * 1000000000;
	}
	if (!b.ns && (cli_parse_size(s, &b.bytes) || !b.bytes))
		return -1;
	*out = b;
	return 0;
}

/* "IOPS,RATE", "IOPS" or ",RATE" */
static int parse_limits(const char *s, struct akin_throttle *out)
{
	const char *comma = strchr(s, ','), *rate = comma ? comma + 1 : "";
	size_t n = comma ? (size_t)(comma - s) : strlen(s);
	struct akin_throttle t = { 0, 0 };
	char copy[32];
	unsigned ops;
	int len;

	if (n >= sizeof(copy))
		return -1;
	if (n) {
		memcpy(copy, s, n);
		copy[n] = 0;
		if (cli_parse_count(copy, UINT32_MAX, &ops))
			return -1;
		t.ops_s = ops;
	}
	if (*rate) {
		len = snprintf(copy, sizeof(copy), "%s%s", rate,
			       rate[strspn(rate, "0123456789.")] ? "" : "MB");
		if (len >= (int)sizeof(copy) ||
		    cli_parse_rate(copy, &t.bytes_s))
			return -1;
	}
	if (!n && !*rate)
		return -1;
	*out = t;
	return 0;
}

int cli_parse_throttle(const char *s, struct cli_throttle *out)
{
	struct cli_throttle t = *out;
	struct akin_throttle *part;
	char word[80];
	size_t n;

	s += strspn(s, " ");
	if (!*s)
		return -1;
	for (; *s; s += n, s += strspn(s, " ")) {
		n = strcspn(s, " ");
		if (n >= sizeof(word))
			return -1;
		memcpy(word, s, n);
		word[n] = 0;
		part = strncmp(word, "meta=", 5) == 0 ? &t.meta :
		       strncmp(word, "data=", 5) == 0 ? &t.data : NULL;
		if (!part || parse_limits(word + 5, part))
			return -1;
	}
	*out = t;
	return 0;
}

const char *cli_size_text(uint64_t bytes, char out[CLI_UNIT_TEXT])
{
	double v = (double)bytes;
	int unit = -1;

	if (bytes < 1024) {
		snprintf(out, CLI_UNIT_TEXT, "%u B", (unsigned)bytes);
		return out;
	}
	/* From 1023.5 on it would be printed as 1024. */
	while (v >= 1023.5 && unit < 5) {
		v /= 1024;
		unit++;
	}
	snprintf(out, CLI_UNIT_TEXT, "%.*f %ciB",
		 v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit_letters[unit]);
	return out;
}

const char *cli_duration_text(uint64_t ns, char out[CLI_UNIT_TEXT])
{
	uint64_t sec = ns / 1000000000;
	double v = (double)ns / 1e9;

	if (v < 9.995)
		snprintf(out, CLI_UNIT_TEXT, "%.2f s", v);
	else if (sec < 60)
		snprintf(out, CLI_UNIT_TEXT, "%.1f s",
			 v < 59.9 ? v : 59.9);
	else if (sec < 3600)
		snprintf(out, CLI_UNIT_TEXT, "%um%02us", (unsigned)(sec / 60),
			 (unsigned)(sec % 60));
	else
		snprintf(out, CLI_UNIT_TEXT, "%lluh%02um",
			 (unsigned long long)(sec / 3600),
			 (unsigned)(sec / 60 % 60));
	return out;
}

const char *cli_time_text(int64_t sec, char out[CLI_UNIT_TEXT])
{
	time_t t = (time_t)sec;
	struct tm tm;

	if (t == sec && localtime_r(&t, &tm) && tm.tm_year >= -900 &&
	    tm.tm_year <= 8099 &&
	    strftime(out, CLI_UNIT_TEXT, "%Y-%m-%d %H:%M:%S", &tm))
		return out;
	snprintf(out, CLI_UNIT_TEXT, "@%lld", (long long)sec);
	return out;
}

/* "@-12" */
static int parse_seconds(const char *s, int64_t *out)
{
	char *end;
	long long v;

	if (!isdigit((unsigned char)s[*s == '-']))
		return -1;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno || *end)
		return -1;
	*out = v;
	return 0;
}

static int parse_date(const char *s, struct tm *tm)
{
	static const char *const formats[] = {
		"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
		"%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
	};
	const char *end;
	size_t i;

	/* strptime() is generous with blanks and signs. */
	if (strspn(s, "0123456789") != 4 || strstr(s, "  "))
		return -1;
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		memset(tm, 0, sizeof(*tm));
		end = strptime(s, formats[i], tm);
		if (end && !*end)
			return 0;
	}
	return -1;
}

int cli_parse_time(const char *s, int64_t *out)
{
	struct tm tm, back;
	time_t t;

	if (*s == '@')
		return parse_seconds(s + 1, out);
	if (parse_date(s, &tm))
		return -1;
	tm.tm_isdst = -1;
	back = tm;
	t = mktime(&back);
	/* February 30 and hours that clocks skip are none. */
	if (back.tm_mday != tm.tm_mday || back.tm_hour != tm.tm_hour ||
	    back.tm_min != tm.tm_min)
		return -1;
	*out = t;
	return 0;
}

bool cli_time_iso(int64_t sec, uint32_t nsec, char out[CLI_TIME_ISO])
{
	time_t t = (time_t)sec;
	struct tm tm;
	size_t n;

	if (t != sec || !gmtime_r(&t, &tm) || tm.tm_year < -900 ||
	    tm.tm_year > 8099 || nsec > 999999999)
		return false;
	n = strftime(out, CLI_TIME_ISO, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!n)
		return false;
	snprintf(out + n, CLI_TIME_ISO - n, ".%09uZ", nsec);
	return true;
}
