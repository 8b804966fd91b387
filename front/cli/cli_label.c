/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin tag, protect, unprotect, undelete: each the same for all snapshots that
 * are named, which are looked up before the first is changed.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

/* Numbers of the operands; returns owned. */
static int resolve_all(struct cli *c, bool forgotten, uint64_t **out)
{
	struct akin_snapshot_filter filter = cli_filter(c);
	const struct cli_list *words = &c->args.operands;
	uint32_t i;
	int err = 0;

	filter.forgotten = forgotten;
	*out = cli_alloc(words->nr * sizeof(**out));
	for (i = 0; !err && i < words->nr; i++)
		err = akin_snapshot_find(c->pool, words->v[i], &filter,
					 &(*out)[i], &c->diag);
	return err;
}

static int each(struct cli *c, bool forgotten,
		int (*fn)(struct cli *c, uint64_t number, void *arg), void *arg)
{
	uint64_t *numbers = NULL;
	uint32_t i;
	int err;

	err = cli_open(c, false);
	if (!err)
		err = resolve_all(c, forgotten, &numbers);
	for (i = 0; !err && i < c->args.operands.nr; i++)
		err = fn(c, numbers[i], arg);
	free(numbers);
	return err;
}

static int tag_one(struct cli *c, uint64_t number, void *arg)
{
	return akin_snapshot_tag(c->pool, number, arg, &c->diag);
}

int cli_cmd_tag(struct cli *c)
{
	const struct cli_args *a = &c->args;
	struct akin_tag_change change = { 0 };

	if (a->set_tags.nr && (a->add_tags.nr || a->remove_tags.nr))
		return cli_fail(&c->diag, -AKIN_E_usage,
				"--set goes with neither --add nor --remove");
	change.set = a->set_tags.nr > 0;
	change.add = change.set ? a->set_tags.v : a->add_tags.v;
	change.nr_add = change.set ? a->set_tags.nr : a->add_tags.nr;
	change.remove = a->remove_tags.v;
	change.nr_remove = a->remove_tags.nr;
	if (!change.nr_add && !change.nr_remove)
		return cli_fail(&c->diag, -AKIN_E_usage,
				"tag: one of --add, --remove and --set is "
				"missing");
	return each(c, false, tag_one, &change);
}

/* From now on, by the calendar. */
static int parse_span(const char *s, int64_t *out)
{
	struct akin_span span;
	time_t now = time(NULL);
	struct tm tm;

	if (akin_span_parse(s, &span) || !localtime_r(&now, &tm))
		return -1;
	tm.tm_year += (int)span.years;
	tm.tm_mon += (int)span.months;
	tm.tm_mday += (int)span.days;
	tm.tm_hour += (int)span.hours;
	tm.tm_isdst = -1;
	*out = mktime(&tm);
	return *out > now ? 0 : -1;
}

static int protect_one(struct cli *c, uint64_t number, void *arg)
{
	const int64_t *until = arg;

	return akin_snapshot_protect(c->pool, number, until, until ? *until : 0,
				     &c->diag);
}

int cli_cmd_protect(struct cli *c)
{
	const char *until = c->args.until;
	int64_t sec;

	if (until && cli_parse_time(until, &sec) && parse_span(until, &sec)) {
		cli_fail(&c->diag, -AKIN_E_usage, "--until: '%s' is no date",
			 until);
		cli_hint(&c->diag, "Write 2027-01-31, '2027-01-31 12:00', or a "
			 "time from now such as 30d.");
		return -AKIN_E_usage;
	}
	return each(c, false, protect_one, until ? &sec : NULL);
}

static int unprotect_one(struct cli *c, uint64_t number, void *arg)
{
	return akin_snapshot_unprotect(c->pool, number, &c->diag);
}

int cli_cmd_unprotect(struct cli *c)
{
	return each(c, false, unprotect_one, NULL);
}

static int undelete_one(struct cli *c, uint64_t number, void *arg)
{
	return akin_snapshot_undelete(c->pool, number, &c->diag);
}

int cli_cmd_undelete(struct cli *c)
{
	return each(c, true, undelete_one, NULL);
}
