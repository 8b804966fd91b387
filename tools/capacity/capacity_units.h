/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, shares, factors, retention and dates from text.
 *
 * All return 0, or -1 if the text is none of the kind or out of bounds; then
 * nothing is written.
 */
#ifndef CAPACITY_UNITS_H
#define CAPACITY_UNITS_H

#include "capacity_text.h"

/* Bytes: as everywhere in akin K, M, G ... Y and KiB, MiB ... are powers of
 * 1024, KB, MB ... YB of 1000; a fraction is fine. At most 2^80. */
int cap_parse_size(const char *s, cap_u128 *out);
int cap_parse_count(const char *s, unsigned max, unsigned *out);
/* The digits @s begins with; *end_ret behind them. */
int cap_parse_number(const char *s, unsigned max, unsigned *out,
		     const char **end_ret);
/* "2.5%" as 0.025, at most @max_percent. */
int cap_parse_share(const char *s, unsigned max_percent, double *out);
/* "1.5" or "1.5x": 0.01 to 1,000,000. */
int cap_parse_factor(const char *s, double *out);

/*
 * How many backups are kept, of one a day: the newest @days, then one a week,
 * a month of 30 days, a year of 365 days, each from where the finer ones end.
 */
struct cap_keep {
	unsigned days, weeks, months, years;
};
#define CAP_KEEP_MAX 36500
/* "30", "30d", "7d4w12m3y". At least one, at most CAP_KEEP_MAX each. */
int cap_parse_keep(const char *s, struct cap_keep *out);
void cap_put_keep(struct cap_text *t, const struct cap_keep *k);

/* Days since 1970-01-01 of "2026-05-01", years 1970 to 9999. */
int cap_parse_date(const char *s, unsigned *out);
/* "2026-05-01"; a plus sign in front of years beyond 9999. */
void cap_put_date(struct cap_text *t, unsigned day);
/* "9 months", "2 years 5 months"; a month is 30 days, a year 365. */
void cap_put_span(struct cap_text *t, unsigned days);

#endif
