/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days and dates. Years are counted from March, so that the leap day is the
 * last of its year, and in eras of 400 years, which all have 146,097 days.
 * (The method is described in "chrono-Compatible Low-Level Date Algorithms",
 * Howard Hinnant.)
 */
#include "policy/policy.h"

#define DAY_SEC 86400
#define ERA_DAYS 146097
/* From 0000-03-01 to 1970-01-01. */
#define EPOCH_DAYS 719468

struct policy_date policy_date_of(s64 days)
{
	struct policy_date out;
	s64 era, day, year, of_year, month;

	days += EPOCH_DAYS;
	era = policy_floor(days, ERA_DAYS);
	day = days - era * ERA_DAYS;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	of_year = day - (365 * year + year / 4 - year / 100);
	month = (5 * of_year + 2) / 153;	/* from March */
	out.day = (u32)(of_year - (153 * month + 2) / 5 + 1);
	out.month = (u32)(month < 10 ? month + 3 : month - 9);
	out.year = year + era * 400 + (out.month <= 2);
	return out;
}

s64 policy_days_of(const struct policy_date *d)
{
	s64 year = d->year - (d->month <= 2);
	s64 era = policy_floor(year, 400), of_era = year - era * 400;
	s64 month = d->month > 2 ? d->month - 3 : d->month + 9;
	s64 of_year = (153 * month + 2) / 5 + d->day - 1;

	return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 +
	       of_year - EPOCH_DAYS;
}

u32 policy_days_in_month(s64 year, u32 month)
{
	static const u8 days[12] = { 31, 28, 31, 30, 31, 30,
				     31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* A week belongs to the year that its Thursday is in. */
void policy_week_of(s64 days, s64 *year_ret, u32 *week_ret)
{
	s64 thursday = policy_floor(days + 3, 7) * 7;	/* 1970-01-01 was one */
	struct policy_date d = policy_date_of(thursday);

	*year_ret = d.year;
	d.month = d.day = 1;
	*week_ret = (u32)((thursday - policy_days_of(&d)) / 7 + 1);
}

s64 policy_span_before(const struct policy_span *span, s64 sec)
{
	struct policy_date d = policy_date_of(policy_floor(sec, DAY_SEC));
	s64 of_day = policy_rest(sec, DAY_SEC);
	s64 months = d.year * 12 + d.month - 1;
	__int128 out;
	u32 last;

	months -= (s64)span->years * 12 + span->months;
	d.year = policy_floor(months, 12);
	d.month = (u32)(months - d.year * 12) + 1;
	/* A month before March 31 is the last day of February. */
	last = policy_days_in_month(d.year, d.month);
	if (d.day > last)
		d.day = last;
	out = (__int128)policy_days_of(&d) * DAY_SEC + of_day -
	      (__int128)span->days * DAY_SEC - (__int128)span->hours * 3600;
	return out < INT64_MIN ? INT64_MIN : (s64)out;
}
