/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging a series; see policy.h.
 *
 * The items are walked once, newest first. For each counting rule the period
 * of an item is a number that grows with time; an item is the newest of its
 * period if that number is below all seen before. (Local time can go back
 * while time goes on, when a zone changes its offset: what falls into a period
 * that was passed already belongs to it.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/policy.h"

#define DAY_SEC 86400
#define SPAN_YEARS_MAX 10000

static const char *const count_names[POLICY_NR_COUNTS] = {
	"last", "hourly", "daily", "weekly", "monthly", "yearly"
};

bool policy_span_is_zero(const struct policy_span *s)
{
	return !s->years && !s->months && !s->days && !s->hours;
}

bool policy_is_empty(const struct policy *p)
{
	u32 i;

	for (i = 0; i < POLICY_NR_COUNTS; i++)
		if (p->count[i])
			return false;
	return policy_span_is_zero(&p->within) && !p->by_tag;
}

static s64 local_of(const struct policy_item *item)
{
	s64 out;

	if (__builtin_add_overflow(item->time_sec, item->offset_sec, &out))
		return item->offset_sec < 0 ? INT64_MIN : INT64_MAX;
	return out;
}

/* The number of the period that @item is in; grows with time. */
static s64 period_of(const struct policy_item *item, enum policy_reason rule)
{
	s64 local = local_of(item), days = policy_floor(local, DAY_SEC);
	struct policy_date d;
	__int128 start;

	switch (rule) {
	case POLICY_HOURLY:
		/* When the local hour began, in UTC: so two hours that have
		 * one name are two. */
		start = (__int128)policy_floor(local, 3600) * 3600 -
			item->offset_sec;
		return start < INT64_MIN ? INT64_MIN :
		       start > INT64_MAX ? INT64_MAX : (s64)start;
	case POLICY_DAILY:
		return days;
	case POLICY_WEEKLY:
		return policy_floor(days + 3, 7);
	case POLICY_MONTHLY:
		d = policy_date_of(days);
		return d.year * 12 + d.month;
	default:
		return policy_date_of(days).year;
	}
}

static int newest_first(const void *a, const void *b)
{
	const struct policy_item *x = a, *y = b;

	if (x->time_sec != y->time_sec)
		return x->time_sec < y->time_sec ? 1 : -1;
	if (x->time_nsec != y->time_nsec)
		return x->time_nsec < y->time_nsec ? 1 : -1;
	return (x->number < y->number) - (x->number > y->number);
}

static void keep(struct policy_item *item, enum policy_reason reason)
{
	item->kept_by |= 1u << reason;
}

static void apply_last(u32 count, struct policy_item *items, u32 nr)
{
	u32 i;

	for (i = 0; i < nr && i < count; i++) {
		keep(&items[i], POLICY_LAST);
		items[i].rank[POLICY_LAST] = i + 1;
	}
}

static void apply_periods(u32 count, enum policy_reason rule,
			  struct policy_item *items, u32 nr)
{
	s64 lowest = 0, period;
	u32 i, found = 0;

	for (i = 0; i < nr && found < count; i++) {
		period = period_of(&items[i], rule);
		if (found && period >= lowest)
			continue;
		lowest = period;
		keep(&items[i], rule);
		items[i].rank[rule] = ++found;
	}
}

/* A snapshot of the future says nothing about what time it is. */
static void apply_within(const struct policy_span *span, s64 now_sec,
			 struct policy_item *items, u32 nr)
{
	u32 i, ref = 0;
	s64 since;

	while (ref < nr && items[ref].time_sec > now_sec)
		ref++;
	if (ref == nr)
		ref = nr - 1;	/* all are: the oldest of them */
	since = policy_span_before(span, local_of(&items[ref]));
	for (i = 0; i < nr; i++)
		if (i <= ref || local_of(&items[i]) >= since)
			keep(&items[i], POLICY_WITHIN);
}

static void apply_newest(struct policy_item *items, u32 nr)
{
	u32 i, at = 0;

	for (i = 1; i < nr; i++)
		if (items[i].number > items[at].number)
			at = i;
	keep(&items[at], POLICY_NEWEST);
}

void policy_apply(const struct policy *p, s64 now_sec,
		  struct policy_item *items, u32 nr)
{
	u32 i, rule;

	if (!nr)
		return;
	qsort(items, nr, sizeof(*items), newest_first);
	for (i = 0; i < nr; i++) {
		items[i].kept_by = 0;
		memset(items[i].rank, 0, sizeof(items[i].rank));
		if (p->by_tag && items[i].tagged)
			keep(&items[i], POLICY_TAG);
		if (items[i].is_protected)
			keep(&items[i], POLICY_PROTECTED);
	}
	apply_last(p->count[POLICY_LAST], items, nr);
	for (rule = POLICY_HOURLY; rule < POLICY_NR_COUNTS; rule++)
		apply_periods(p->count[rule], (enum policy_reason)rule, items,
			      nr);
	if (!policy_span_is_zero(&p->within))
		apply_within(&p->within, now_sec, items, nr);
	apply_newest(items, nr);
}

/* Text ----------------------------------------------------------------------*/

/* "+0100": an hour's name is not enough where it comes twice. */
static void hour_text(const struct policy_item *item, s64 local, char *out,
		      size_t size)
{
	struct policy_date d = policy_date_of(policy_floor(local, DAY_SEC));
	s64 of_day = policy_rest(local, DAY_SEC);
	u32 off = (u32)(item->offset_sec < 0 ? -(s64)item->offset_sec :
					       item->offset_sec);

	snprintf(out, size, "hourly %04" PRId64 "-%02u-%02u %02u:00 %c%02u%02u",
		 d.year, d.month, d.day, (unsigned)(of_day / 3600),
		 item->offset_sec < 0 ? '-' : '+', off / 3600, off / 60 % 60);
}

static void period_text(const struct policy_item *item, enum policy_reason rule,
			char *out, size_t size)
{
	s64 local = local_of(item), days = policy_floor(local, DAY_SEC), year;
	struct policy_date d = policy_date_of(days);
	u32 week;

	switch (rule) {
	case POLICY_LAST:
		snprintf(out, size, "last %u", item->rank[POLICY_LAST]);
		return;
	case POLICY_HOURLY:
		hour_text(item, local, out, size);
		return;
	case POLICY_DAILY:
		snprintf(out, size, "daily %04" PRId64 "-%02u-%02u", d.year,
			 d.month, d.day);
		return;
	case POLICY_WEEKLY:
		policy_week_of(days, &year, &week);
		snprintf(out, size, "weekly %04" PRId64 "-W%02u", year, week);
		return;
	case POLICY_MONTHLY:
		snprintf(out, size, "monthly %04" PRId64 "-%02u", d.year,
			 d.month);
		return;
	default:
		snprintf(out, size, "%s %04" PRId64, count_names[rule],
			 d.year);
	}
}

const char *policy_reason_text(const struct policy *p,
			       const struct policy_item *item,
			       enum policy_reason reason,
			       char out[POLICY_TEXT])
{
	char span[POLICY_TEXT];

	if (reason == POLICY_WITHIN)
		snprintf(out, POLICY_TEXT, "within %.50s",
			 policy_span_text(&p->within, span));
	else if (reason == POLICY_TAG)
		snprintf(out, POLICY_TEXT, "tag");
	else if (reason == POLICY_PROTECTED)
		snprintf(out, POLICY_TEXT, "protected");
	else if (reason == POLICY_NEWEST)
		snprintf(out, POLICY_TEXT, "newest");
	else
		period_text(item, reason, out, POLICY_TEXT);
	return out;
}

/* Digits and their unit; false if there are none or too many. */
static bool parse_part(const char **s, u32 *value_ret, char *unit_ret)
{
	u64 v = 0;
	const char *at = *s;

	for (; *at >= '0' && *at <= '9'; at++) {
		v = v * 10 + (u64)(*at - '0');
		if (v > UINT32_MAX / 7)
			return false;
	}
	if (at == *s || v == 0 || !*at)
		return false;
	*value_ret = (u32)v;
	*unit_ret = *at;
	*s = at + 1;
	return true;
}

static bool span_in_range(const struct policy_span *s)
{
	u64 days = (u64)s->days + (u64)s->hours / 24 + (u64)s->months * 31 +
		   (u64)s->years * 366;

	return days <= (u64)SPAN_YEARS_MAX * 366;
}

int policy_span_parse(const char *s, struct policy_span *out)
{
	static const char units[] = "ymwdh";
	const char *next = units, *at;
	u32 v;
	char unit;

	memset(out, 0, sizeof(*out));
	if (!*s)
		return -1;
	while (*s) {
		if (!parse_part(&s, &v, &unit))
			return -1;
		at = strchr(next, unit);
		if (!at)
			return -1;
		next = at + 1;
		if (unit == 'y')
			out->years = v;
		else if (unit == 'm')
			out->months = v;
		else if (unit == 'h')
			out->hours = v;
		else if (__builtin_add_overflow(out->days,
						unit == 'w' ? v * 7 : v,
						&out->days))
			return -1;
	}
	return span_in_range(out) ? 0 : -1;
}

const char *policy_span_text(const struct policy_span *s, char out[POLICY_TEXT])
{
	const u32 v[] = { s->years, s->months, s->days, s->hours };
	size_t i, len = 0;
	int n;

	out[0] = 0;
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		if (!v[i])
			continue;
		n = snprintf(out + len, POLICY_TEXT - len, "%u%c", v[i],
			     "ymdh"[i]);
		if (n > 0)
			len = min_u64(len + (size_t)n, POLICY_TEXT - 1);
	}
	return out;
}
