/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies as pure functions: dates against the C library's, exact answers for
 * calendars with daylight saving, leap days, ties and times before 1970, the
 * whole against a plain reading of the rules, and that more never keeps less.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "policy/policy.h"
#include "testlib.h"

/* In full, so that no data base of zones is needed. */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define KATHMANDU "<+0545>-5:45"
#define AUCKLAND "NZST-12NZDT,M9.5.0,M4.1.0/3"

#define HOUR 3600
#define DAY (24 * HOUR)

static void set_zone(const char *tz)
{
	setenv("TZ", tz, 1);
	tzset();
}

/* "2026-11-29 12:00" in the zone. */
static s64 at(const char *text)
{
	struct tm tm = { 0 };

	assert_non_null(strptime(text, "%Y-%m-%d %H:%M", &tm));
	tm.tm_isdst = -1;
	return mktime(&tm);
}

static struct policy_item item(u64 number, s64 sec)
{
	time_t t = (time_t)sec;
	struct policy_item out = { .number = number, .time_sec = sec };
	struct tm tm;

	assert_non_null(localtime_r(&t, &tm));
	out.offset_sec = (s32)tm.tm_gmtoff;
	return out;
}

/* Numbers of what is kept, newest first: "9 7 3". */
static const char *kept(const struct policy *p, struct policy_item *v, u32 nr)
{
	static char text[4096];
	size_t len = 0;
	u32 i;

	text[0] = 0;
	policy_apply(p, INT64_MAX, v, nr);
	for (i = 0; i < nr; i++)
		if (v[i].kept_by)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%s%llu", len ? " " : "",
						(unsigned long long)
						v[i].number);
	return text;
}

/* Dates -------------------------------------------------------------------*/

static void test_dates_as_the_library(void **state)
{
	char want[32], got[32];
	struct policy_date d;
	struct tm tm;
	u32 week;
	s64 day, year;
	time_t t;

	/* 1 to 3000 AD, every day. */
	for (day = -719162; day < 376200; day++) {
		t = (time_t)day * DAY;
		assert_non_null(gmtime_r(&t, &tm));
		d = policy_date_of(day);
		if (d.year != tm.tm_year + 1900 ||
		    (int)d.month != tm.tm_mon + 1 || (int)d.day != tm.tm_mday)
			fail_msg("day %lld", (long long)day);
		assert_true(policy_days_of(&d) == day);
		assert_in_range(d.day, 1, policy_days_in_month(d.year,
							       d.month));
		if (day < -300000 || day > 300000)
			continue;
		strftime(want, sizeof(want), "%G-W%V", &tm);
		policy_week_of(day, &year, &week);
		snprintf(got, sizeof(got), "%04lld-W%02u", (long long)year,
			 week);
		if (strcmp(got, want) != 0 && year >= 1000)
			fail_msg("day %lld: %s, not %s", (long long)day, got,
				 want);
	}
}

static void test_dates_of_note(void **state)
{
	static const struct {
		s64 days, year;
		u32 month, day;
	} v[] = {
		{ 0, 1970, 1, 1 }, { -1, 1969, 12, 31 }, { 11016, 2000, 2, 29 },
		{ 47541, 2100, 3, 1 }, { -719468, 0, 3, 1 },
		{ -719529, -1, 12, 31 }, { 2932896, 9999, 12, 31 },
		{ 106751991167300, 292277026596, 12, 4 },
		{ -106751991167301, -292277022657, 1, 27 },
	};
	struct policy_date d;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		d = policy_date_of(v[i].days);
		assert_true(d.year == v[i].year && d.month == v[i].month &&
			    d.day == v[i].day);
		assert_true(policy_days_of(&d) == v[i].days);
	}
	assert_int_equal(policy_days_in_month(1900, 2), 28);
	assert_int_equal(policy_days_in_month(2000, 2), 29);
	assert_int_equal(policy_days_in_month(-4, 2), 29);
}

static void test_spans(void **state)
{
	static const struct {
		const char *text, *again;
	} good[] = {
		{ "30d", "30d" }, { "2w", "14d" }, { "1y6m", "1y6m" },
		{ "1y2m3w4d5h", "1y2m25d5h" }, { "36h", "36h" },
		{ "10000y", "10000y" }, { "007d", "7d" },
	};
	static const char *const bad[] = {
		"", "2", "d", "2q", "-1d", "+1d", "1.5d", "0d", "1d1d", "1d1y",
		"1w1m", "1d ", " 1d", "1D", "99999999999d", "10001y",
		"613566756w", "1y0d", "1d\n", "d1", "4294967295h",
	};
	struct policy_span s;
	char text[POLICY_TEXT];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(policy_span_parse(good[i].text, &s), 0);
		assert_string_equal(policy_span_text(&s, text), good[i].again);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (policy_span_parse(bad[i], &s) == 0)
			fail_msg("'%s' was taken", bad[i]);
	memset(&s, 0, sizeof(s));
	assert_string_equal(policy_span_text(&s, text), "");
	assert_true(policy_span_is_zero(&s));
}

static void test_span_before(void **state)
{
	static const struct {
		const char *from, *span, *to;
	} v[] = {
		{ "2024-03-31 10:00", "1m", "2024-02-29 10:00" },
		{ "2023-03-31 10:00", "1m", "2023-02-28 10:00" },
		{ "2024-02-29 00:00", "1y", "2023-02-28 00:00" },
		{ "2024-01-15 00:30", "13m", "2022-12-15 00:30" },
		{ "2024-03-01 12:00", "1d", "2024-02-29 12:00" },
		{ "2024-01-01 00:00", "1h", "2023-12-31 23:00" },
		{ "1970-01-02 00:00", "1y1m1d", "1968-12-01 00:00" },
	};
	struct policy_span s;
	size_t i;

	set_zone("UTC");
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(policy_span_parse(v[i].span, &s), 0);
		assert_true(policy_span_before(&s, at(v[i].from)) ==
			    at(v[i].to));
	}
	s = (struct policy_span){ .years = 10000 };
	assert_true(policy_span_before(&s, INT64_MIN) == INT64_MIN);
}

/* Exact answers -----------------------------------------------------------*/

static void test_a_year_of_days(void **state)
{
	struct policy p = { 0 };
	struct policy_item v[400];
	char text[POLICY_TEXT];
	u32 i, nr = 0;

	set_zone("UTC");
	/* Each noon from 2023-12-01 to 2024-12-31; 2024-02-29 is number 91. */
	for (i = 0; i < 397; i++)
		v[nr++] = item(i + 1, at("2023-12-01 12:00") + (s64)i * DAY);
	p.count[POLICY_LAST] = 2;
	p.count[POLICY_DAILY] = 3;
	assert_string_equal(kept(&p, v, nr), "397 396 395");
	memset(&p, 0, sizeof(p));
	p.count[POLICY_MONTHLY] = 4;
	assert_string_equal(kept(&p, v, nr), "397 366 336 305");
	p.count[POLICY_MONTHLY] = 11;
	assert_string_equal(kept(&p, v, nr),
			    "397 366 336 305 275 244 213 183 152 122 91");
	assert_string_equal(policy_reason_text(&p, &v[306], POLICY_MONTHLY,
					       text), "monthly 2024-02");
	memset(&p, 0, sizeof(p));
	p.count[POLICY_YEARLY] = 9;
	assert_string_equal(kept(&p, v, nr), "397 31");
	assert_string_equal(policy_reason_text(&p, &v[366], POLICY_YEARLY,
					       text), "yearly 2023");
	memset(&p, 0, sizeof(p));
	/* 2024-12-31 is a Tuesday; Sundays are 29, 22. */
	p.count[POLICY_WEEKLY] = 3;
	assert_string_equal(kept(&p, v, nr), "397 395 388");
	assert_string_equal(policy_reason_text(&p, &v[0], POLICY_WEEKLY,
					       text), "weekly 2025-W01");
	assert_string_equal(policy_reason_text(&p, &v[2], POLICY_WEEKLY,
					       text), "weekly 2024-W52");
}

/* The 53rd week of 2020 is not cut in two by the new year. */
static void test_week_53(void **state)
{
	struct policy p = { .count[POLICY_WEEKLY] = 2 };
	struct policy_item v[14];
	char text[POLICY_TEXT];
	u32 i;

	set_zone("UTC");
	/* 2020-12-24 (Thursday) to 2021-01-06. */
	for (i = 0; i < 14; i++)
		v[i] = item(i + 1, at("2020-12-24 08:00") + (s64)i * DAY);
	/* 2021-01-06, and Sunday 2021-01-03. */
	assert_string_equal(kept(&p, v, 14), "14 11");
	assert_string_equal(policy_reason_text(&p, &v[3], POLICY_WEEKLY, text),
			    "weekly 2020-W53");
}

static void hours(struct policy_item *v, u32 nr, const char *from)
{
	u32 i;

	for (i = 0; i < nr; i++)
		v[i] = item(i + 1, at(from) + (s64)i * HOUR);
}

static void test_clocks_go_back(void **state)
{
	struct policy p = { .count[POLICY_HOURLY] = 4 };
	struct policy_item v[49];
	char text[POLICY_TEXT];

	/* 2026-10-25 in Berlin has 25 hours; 02:00 comes twice, as 4 and 5. */
	set_zone(BERLIN);
	hours(v, 7, "2026-10-24 23:30");
	assert_string_equal(kept(&p, v, 7), "7 6 5 4");
	assert_string_equal(policy_reason_text(&p, &v[2], POLICY_HOURLY, text),
			    "hourly 2026-10-25 02:00 +0100");
	assert_string_equal(policy_reason_text(&p, &v[3], POLICY_HOURLY, text),
			    "hourly 2026-10-25 02:00 +0200");
	/* 24th 00:30 to 25th 23:30. */
	p.count[POLICY_HOURLY] = 0;
	p.count[POLICY_DAILY] = 5;
	hours(v, 49, "2026-10-24 00:30");
	assert_string_equal(kept(&p, v, 49), "49 24");
	assert_string_equal(policy_reason_text(&p, &v[25], POLICY_DAILY, text),
			    "daily 2026-10-24");
}

static void test_clocks_go_forward(void **state)
{
	struct policy p = { .count[POLICY_DAILY] = 5 };
	struct policy_item v[48];

	/* 2026-03-29 in Berlin has 23 hours. */
	set_zone(BERLIN);
	hours(v, 48, "2026-03-28 00:30");
	assert_string_equal(kept(&p, v, 48), "48 47 24");
	p.count[POLICY_DAILY] = 0;
	p.count[POLICY_HOURLY] = 3;
	hours(v, 4, "2026-03-29 00:30");
	assert_string_equal(kept(&p, v, 4), "4 3 2");
}

/* Midnight comes twice: 23:30 on the 17th, again 23:30, then the 18th. */
static void test_midnight_twice(void **state)
{
	struct policy p = { .count[POLICY_DAILY] = 2 };
	struct policy_item v[5];

	set_zone("<-03>3<-02>,M11.1.0/0,M2.3.0/0");
	hours(v, 5, "2018-02-17 22:30");
	/* 22:30, 23:30, 23:30 on the 17th; 00:30, 01:30 on the 18th. */
	assert_string_equal(kept(&p, v, 5), "5 3");
}

static void test_zones_of_quarters(void **state)
{
	struct policy p = { .count[POLICY_HOURLY] = 2 };
	struct policy_item v[4];
	char text[POLICY_TEXT];
	u32 i;

	/* +05:45: local 10:50, 11:00, 11:50, 12:10. */
	set_zone(KATHMANDU);
	v[0] = item(1, at("2026-01-05 10:50"));
	v[1] = item(2, at("2026-01-05 11:00"));
	v[2] = item(3, at("2026-01-05 11:50"));
	v[3] = item(4, at("2026-01-05 12:10"));
	assert_string_equal(kept(&p, v, 4), "4 3");
	assert_string_equal(policy_reason_text(&p, &v[0], POLICY_HOURLY, text),
			    "hourly 2026-01-05 12:00 +0545");
	/* The day of the same moment is another one elsewhere. */
	p = (struct policy){ .count[POLICY_DAILY] = 3 };
	set_zone("UTC");
	for (i = 0; i < 4; i++)
		v[i] = item(i + 1, 1767571200 + (s64)i * 6 * HOUR);
	assert_string_equal(kept(&p, v, 4), "4");
	set_zone(AUCKLAND);
	for (i = 0; i < 4; i++)
		v[i] = item(i + 1, 1767571200 + (s64)i * 6 * HOUR);
	assert_string_equal(kept(&p, v, 4), "4 2");
}

static void test_ties(void **state)
{
	struct policy p = { .count[POLICY_LAST] = 2 };
	struct policy_item v[4];
	u32 i;

	set_zone("UTC");
	for (i = 0; i < 4; i++)
		v[i] = item(i + 1, 1000);
	assert_string_equal(kept(&p, v, 4), "4 3");
	/* A nanosecond decides before the number, but the last one stays. */
	v[3] = item(1, 1000);
	v[3].time_nsec = 1;
	v[2] = item(2, 1000);
	v[1] = item(3, 1000);
	v[0] = item(4, 1000);
	assert_string_equal(kept(&p, v, 4), "1 4");
	p.count[POLICY_LAST] = 1;
	assert_string_equal(kept(&p, v, 4), "1 4");
	assert_int_equal(v[0].kept_by, 1u << POLICY_LAST);
	assert_int_equal(v[1].kept_by, 1u << POLICY_NEWEST);
}

static void test_before_1970(void **state)
{
	struct policy p = { .count[POLICY_DAILY] = 3 };
	struct policy_item v[6];
	char text[POLICY_TEXT];

	set_zone("UTC");
	v[0] = item(1, -DAY - 1);
	v[1] = item(2, -DAY);
	v[2] = item(3, -1);
	v[3] = item(4, 0);
	assert_string_equal(kept(&p, v, 4), "4 3 1");
	assert_string_equal(policy_reason_text(&p, &v[1], POLICY_DAILY, text),
			    "daily 1969-12-31");
	/* Times that no calendar shows are times all the same. */
	v[0] = (struct policy_item){ .number = 1, .time_sec = INT64_MIN,
				     .offset_sec = -26 * HOUR };
	v[1] = (struct policy_item){ .number = 2, .time_sec = INT64_MIN,
				     .offset_sec = 26 * HOUR };
	v[2] = (struct policy_item){ .number = 3, .time_sec = 0 };
	v[3] = (struct policy_item){ .number = 4, .time_sec = INT64_MAX,
				     .offset_sec = -26 * HOUR };
	v[4] = (struct policy_item){ .number = 5, .time_sec = INT64_MAX,
				     .offset_sec = 26 * HOUR };
	p = (struct policy){ { 1, 9, 9, 9, 9, 9 }, { 1, 1, 1, 1 }, true };
	assert_non_null(strstr(kept(&p, v, 5), "5"));
	assert_string_equal(policy_reason_text(&p, &v[0], POLICY_YEARLY, text),
			    "yearly 292277026596");
}

static void test_many_in_an_hour(void **state)
{
	struct policy p = { .count[POLICY_HOURLY] = 2, };
	struct policy_item v[2000];
	u32 i;

	set_zone("UTC");
	for (i = 0; i < 2000; i++)
		v[i] = item(i + 1, at("2026-05-05 10:00") + (s64)i * 3);
	/* 1,200 an hour. */
	assert_string_equal(kept(&p, v, 2000), "2000 1200");
}

static void test_within(void **state)
{
	struct policy p = { .within = { .days = 30 } };
	struct policy_item v[6];
	char text[POLICY_TEXT];

	set_zone("UTC");
	v[0] = item(1, at("2026-01-30 11:59"));
	v[1] = item(2, at("2026-01-30 12:00"));	/* just 30 days */
	v[2] = item(3, at("2026-02-15 12:00"));
	v[3] = item(4, at("2026-03-01 12:00"));
	assert_string_equal(kept(&p, v, 4), "4 3 2");
	assert_string_equal(policy_reason_text(&p, &v[0], POLICY_WITHIN, text),
			    "within 30d");
	/* It is counted from the newest, not from now: what is not backed up
	 * any more does not wither. */
	policy_apply(&p, at("2030-01-01 00:00"), v, 4);
	assert_true(v[2].kept_by && !v[3].kept_by);
	/* One of the future is not the newest: it would take all others. */
	v[4] = item(5, at("2037-01-01 00:00"));
	policy_apply(&p, at("2026-03-02 00:00"), v, 5);
	assert_int_equal(v[0].number, 5);
	assert_true(v[0].kept_by && v[1].kept_by && v[2].kept_by &&
		    v[3].kept_by && !v[4].kept_by);
	/* With nothing but the future, nothing goes. */
	policy_apply(&p, at("2020-01-01 00:00"), v, 5);
	assert_true(v[0].kept_by && v[4].kept_by);
}

/* A clock that was wrong makes an old time the last one committed. */
static void test_newest_is_by_number(void **state)
{
	struct policy p = { .by_tag = true };
	struct policy_item v[4];

	set_zone("UTC");
	assert_true(policy_is_empty(&(struct policy){ 0 }));
	assert_false(policy_is_empty(&p));
	v[0] = item(1, 5000);
	v[1] = item(2, 6000);
	v[2] = item(3, 7000);
	v[3] = item(4, 0);
	v[0].tagged = true;
	v[1].is_protected = true;
	assert_string_equal(kept(&p, v, 4), "2 1 4");
	assert_int_equal(v[1].kept_by, 1u << POLICY_PROTECTED);
	assert_int_equal(v[2].kept_by, 1u << POLICY_TAG);
	policy_apply(&p, 0, v, 0);
}

/* Rules read plainly ------------------------------------------------------*/

static const char *const formats[POLICY_NR_COUNTS] = {
	NULL, "%Y-%m-%d %H %z", "%Y-%m-%d", "%G-%V", "%Y-%m", "%Y"
};

static bool plain_keeps(const struct policy *p, const struct policy_item *v,
			u32 at_item, enum policy_reason rule)
{
	char seen[64][32], text[32];
	u32 i, k, nr = 0;
	struct tm tm;
	time_t t;

	if (rule == POLICY_LAST)
		return at_item < p->count[rule];
	for (i = 0; i <= at_item; i++) {
		t = (time_t)v[i].time_sec;
		localtime_r(&t, &tm);
		strftime(text, sizeof(text), formats[rule], &tm);
		for (k = 0; k < nr && strcmp(seen[k], text); k++)
			;
		if (k < nr)
			continue;
		if (nr == p->count[rule])
			return false;
		if (i == at_item)
			return true;
		memcpy(seen[nr++], text, sizeof(text));
	}
	return false;
}

static void random_items(struct rng *r, struct policy_item *v, u32 nr)
{
	/* Around a switch of clocks, in steps of minutes to months. */
	s64 step = (s64)1 << rng_below(r, 22), sec = 1761350400;
	u32 i;

	for (i = 0; i < nr; i++) {
		sec += (s64)rng_below(r, (u64)step + 1) - step / 8;
		v[i] = item(i + 1, sec - step * nr / 3);
		v[i].tagged = rng_below(r, 9) == 0;
	}
}

static void test_as_the_rules_say(void **state)
{
	static const char *const zones[] = {
		"UTC", BERLIN, "EST5EDT,M3.2.0,M11.1.0", KATHMANDU,
		"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", AUCKLAND,
		"NST3:30NDT,M3.2.0,M11.1.0",
	};
	struct rng r = { 26 };
	struct policy_item v[60];
	u32 round, i, k, nr;

	for (round = 0; round < 700; round++) {
		struct policy p = { 0 };

		set_zone(zones[round % ARRAY_SIZE(zones)]);
		nr = 1 + (u32)rng_below(&r, ARRAY_SIZE(v));
		random_items(&r, v, nr);
		for (k = 0; k < POLICY_NR_COUNTS; k++)
			p.count[k] = (u32)rng_below(&r, 12);
		policy_apply(&p, INT64_MAX, v, nr);
		for (i = 0; i < nr; i++)
			for (k = 0; k < POLICY_NR_COUNTS; k++)
				if (!!(v[i].kept_by & 1u << k) !=
				    plain_keeps(&p, v, i, k))
					fail_msg("round %u, item %u, rule %u",
						 round, i, k);
	}
}

/* Everything @p keeps, @more keeps. */
static void expect_more(const struct policy *p, const struct policy *more,
			const struct policy_item *v, u32 nr)
{
	struct policy_item a[60], b[60];
	u32 i;

	memcpy(a, v, nr * sizeof(*v));
	memcpy(b, v, nr * sizeof(*v));
	policy_apply(p, 1765000000, a, nr);
	policy_apply(more, 1765000000, b, nr);
	for (i = 0; i < nr; i++) {
		assert_true(a[i].number == b[i].number);
		if (a[i].kept_by && !b[i].kept_by)
			fail_msg("number %llu went",
				 (unsigned long long)a[i].number);
	}
}

static void test_more_never_keeps_less(void **state)
{
	struct rng r = { 27 };
	struct policy_item v[60];
	u32 round, k, nr, left;

	set_zone(BERLIN);
	for (round = 0; round < 400; round++) {
		struct policy p = { 0 }, more;

		nr = 1 + (u32)rng_below(&r, ARRAY_SIZE(v));
		random_items(&r, v, nr);
		for (k = 0; k < POLICY_NR_COUNTS; k++)
			p.count[k] = (u32)rng_below(&r, 4);
		p.within.hours = (u32)rng_below(&r, 3) * 50;
		for (k = 0; k < POLICY_NR_COUNTS; k++) {
			more = p;
			more.count[k] += 1 + (u32)rng_below(&r, 3);
			expect_more(&p, &more, v, nr);
		}
		more = p;
		more.within.hours += (u32)rng_below(&r, 500);
		more.within.months += (u32)rng_below(&r, 2);
		expect_more(&p, &more, v, nr);
		more = p;
		more.by_tag = true;
		expect_more(&p, &more, v, nr);
		/* And the last one committed is always there. */
		policy_apply(&p, 0, v, nr);
		for (left = 0; v[left].number != nr; left++)
			;
		assert_true(v[left].kept_by != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dates_as_the_library),
		cmocka_unit_test(test_dates_of_note),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_span_before),
		cmocka_unit_test(test_a_year_of_days),
		cmocka_unit_test(test_week_53),
		cmocka_unit_test(test_clocks_go_back),
		cmocka_unit_test(test_clocks_go_forward),
		cmocka_unit_test(test_midnight_twice),
		cmocka_unit_test(test_zones_of_quarters),
		cmocka_unit_test(test_ties),
		cmocka_unit_test(test_before_1970),
		cmocka_unit_test(test_many_in_an_hour),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_newest_is_by_number),
		cmocka_unit_test(test_as_the_rules_say),
		cmocka_unit_test(test_more_never_keeps_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
