/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One option from its text; the environment.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli_args.h"

#define MAX_COUNT 1024	/* threads */

static int set_flag(bool *out, const char *value)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };
	size_t i;

	if (!value) {
		*out = true;
		return 0;
	}
	for (i = 0; i < CLI_ARRAY_SIZE(yes); i++) {
		if (strcasecmp(value, yes[i]) == 0) {
			*out = true;
			return 0;
		}
		if (strcasecmp(value, no[i]) == 0) {
			*out = false;
			return 0;
		}
	}
	return -1;
}

static bool is_choice(const char *choices, const char *value)
{
	size_t n = strlen(value), len;

	for (;; choices += len + 1) {
		len = strcspn(choices, "|");
		if (len == n && memcmp(choices, value, n) == 0)
			return true;
		if (!choices[len])
			return false;
	}
}

static int set_share(struct cli_share *out, const char *value)
{
	if (value && strcasecmp(value, "yes") != 0)
		return cli_parse_share(value, out);
	memset(out, 0, sizeof(*out));
	out->given = true;
	return 0;
}

/* What was expected, for the message; NULL if @value was fine. */
static const char *set_value(void *at, const struct cli_option *o,
			     const char *value)
{
	switch (o->kind) {
	case CLI_FLAG:
		return set_flag(at, value) ? "yes or no" : NULL;
	case CLI_SHARE:
		return set_share(at, value) ?
		       "a share such as 5%, or a size such as 10G" : NULL;
	case CLI_BUDGET:
		return cli_parse_budget(value, at) ?
		       "a time such as 10m or 2h, or a size such as 50G" : NULL;
	case CLI_THROTTLE:
		return cli_parse_throttle(value, at) ?
		       "meta=IOPS,MB/s or data=IOPS,MB/s, such as "
		       "data=120,160" : NULL;
	case CLI_SIZE:
		return cli_parse_size(value, at) ?
		       "a size such as 64M, 1.5G or 500KB" : NULL;
	case CLI_RATE:
		return cli_parse_rate(value, at) ?
		       "bytes a second, such as 50M" : NULL;
	case CLI_COUNT:
		return cli_parse_count(value, MAX_COUNT, at) ?
		       "a number up to 1024" : NULL;
	case CLI_KEEP:
		return cli_parse_count(value, UINT32_MAX, at) ||
		       *(unsigned *)at == 0 ? "a number from 1" : NULL;
	case CLI_CHOICE:
		if (!is_choice(o->choices, value))
			return o->choices;
		break;
	case CLI_LIST:
		cli_list_add(at, value);
		return NULL;
	default:
		break;
	}
	*(const char **)at = value;
	return NULL;
}

int cli_args_set(struct cli_args *args, const struct cli_option *o,
		 const char *value, const char *where, struct akin_diag *diag)
{
	const char *expected;

	if (!value && o->kind != CLI_FLAG && o->kind != CLI_SHARE)
		return cli_fail(diag, -AKIN_E_usage, "%s: a value is missing",
				where);
	expected = set_value((char *)args + o->offset, o, value);
	if (!expected)
		return 0;
	return cli_fail(diag, -AKIN_E_usage, "%s: '%s' is not %s%s", where,
			value, o->kind == CLI_CHOICE ? "one of " : "",
			expected);
}

void cli_args_release(struct cli_args *args)
{
	cli_list_release(&args->tags);
	cli_list_release(&args->excludes);
	cli_list_release(&args->exclude_files);
	cli_list_release(&args->snapshots);
	cli_list_release(&args->paths);
	cli_list_release(&args->includes);
	cli_list_release(&args->keep_tags);
	cli_list_release(&args->drop);
	cli_list_release(&args->add_tags);
	cli_list_release(&args->remove_tags);
	cli_list_release(&args->set_tags);
	cli_list_release(&args->attributes);
	cli_list_release(&args->traces);
	cli_list_release(&args->operands);
	cli_list_free_all(&args->owned);
}
