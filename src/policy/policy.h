/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which snapshots of a series to keep.
 *
 * Pure functions over numbers: no clock, no time zone, no catalog. A *series*
 * is the snapshots of one host and one set of paths; each gets judged by every
 * rule, and is kept if any rule keeps it:
 *
 *    last N      the N newest
 *    hourly N    of the N newest hours that have snapshots, the newest of each;
 *                likewise daily, weekly (ISO: from Monday), monthly, yearly
 *    within D    those not older than D, counted back from the newest one
 *    tags        those that have one of them
 *    newest      the one that was committed last, always
 *
 * Hours, days and so on are those of the local time that the caller gives with
 * each snapshot. The hour that comes twice when clocks go back is two hours.
 * "Newest" is by time, ties by number; the last rule is by number, which no
 * clock can change, so that a series never becomes empty by a policy.
 *
 * A greater N, a longer D, one more tag never keeps less.
 *
 * Years have no limit; all of s64 can be a time.
 */
#ifndef POLICY_H
#define POLICY_H

#include "base/types.h"

/* What can keep a snapshot; the first have a count. */
enum policy_reason {
	POLICY_LAST, POLICY_HOURLY, POLICY_DAILY, POLICY_WEEKLY,
	POLICY_MONTHLY, POLICY_YEARLY,
	POLICY_NR_COUNTS,
	POLICY_WITHIN = POLICY_NR_COUNTS, POLICY_TAG, POLICY_PROTECTED,
	POLICY_NEWEST,
	POLICY_NR_REASONS
};

/* Calendar years and months, then days of 24 hours, of local time. */
struct policy_span {
	u32 years, months, days, hours;
};

struct policy {
	u32 count[POLICY_NR_COUNTS];	/* 0: no such rule */
	struct policy_span within;	/* zeros: no such rule */
	bool by_tag;		/* items with @tagged are kept */
};
/* No rule at all: refuse to apply it. */
bool policy_is_empty(const struct policy *p);

struct policy_item {
	u64 number;
	s64 time_sec;		/* since 1970 UTC */
	u32 time_nsec;
	s32 offset_sec;		/* of local time, then */
	bool tagged;
	bool is_protected;	/* kept, whatever the rules say */
	/* Set by policy_apply(): */
	u32 kept_by;		/* bits of enum policy_reason; 0: forget it */
	u32 rank[POLICY_NR_COUNTS];	/* in which of the N; from 1 */
};

/*
 * Judge one series. The items get sorted, newest first. @now_sec: what lies
 * behind it is not what "within" is counted back from.
 */
void policy_apply(const struct policy *p, s64 now_sec,
		  struct policy_item *items, u32 nr);

#define POLICY_TEXT 64
/* "daily 2026-11-29", "last 2", "within 1y6m", "tag", "protected", "newest".
 * Returns @out. */
const char *policy_reason_text(const struct policy *p,
			       const struct policy_item *item,
			       enum policy_reason reason,
			       char out[POLICY_TEXT]);

/* "30d", "1y6m", "2w", "36h": y, m, w, d, h in this order, none twice, none 0.
 * -1 if @s is no such thing, or beyond 10,000 years. */
int policy_span_parse(const char *s, struct policy_span *out);
/* Shortest form, without weeks; "" for zeros. Returns @out. */
const char *policy_span_text(const struct policy_span *s,
			     char out[POLICY_TEXT]);
bool policy_span_is_zero(const struct policy_span *s);

/* Rounded down; @b > 0. */
static inline s64 policy_floor(s64 a, s64 b)
{
	return a / b - (a % b < 0);
}

/* What is left over, from 0. */
static inline s64 policy_rest(s64 a, s64 b)
{
	return a % b + (a % b < 0 ? b : 0);
}

/* policy_calendar.c: the proleptic Gregorian calendar. */

struct policy_date {
	s64 year;		/* 0 is 1 BC */
	u32 month, day;		/* from 1 */
};
/* Days since 1970-01-01, both ways. @month may be 1 to 12, @day 1 to 31. */
struct policy_date policy_date_of(s64 days);
s64 policy_days_of(const struct policy_date *d);
u32 policy_days_in_month(s64 year, u32 month);
/* The ISO week that a day is in. */
void policy_week_of(s64 days, s64 *year_ret, u32 *week_ret);
/* @sec minus @span, as local time. */
s64 policy_span_before(const struct policy_span *span, s64 sec);

#endif
