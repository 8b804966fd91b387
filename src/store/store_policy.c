/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy between its three forms: the caller's, the rules in the catalog,
 * and what policy/ applies.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "policy/policy.h"
#include "store/store.h"
#include "store/store_policy.h"

static const char *const count_rules[POLICY_NR_COUNTS] = {
	"last", "hourly", "daily", "weekly", "monthly", "yearly"
};
#define RULE_WITHIN "within"
#define RULE_TAG "tag"

/* The counts of @p in the order of enum policy_reason. */
static void list_counts(struct akin_policy *p, u32 *list[POLICY_NR_COUNTS])
{
	list[POLICY_LAST] = &p->last;
	list[POLICY_HOURLY] = &p->hourly;
	list[POLICY_DAILY] = &p->daily;
	list[POLICY_WEEKLY] = &p->weekly;
	list[POLICY_MONTHLY] = &p->monthly;
	list[POLICY_YEARLY] = &p->yearly;
}

static struct policy_span span_of(const struct akin_span *s)
{
	struct policy_span out = { s->years, s->months, s->days, s->hours };

	return out;
}

int akin_span_parse(const char *text, struct akin_span *out)
{
	struct policy_span s;

	if (policy_span_parse(text, &s))
		return -AKIN_E_usage;
	out->years = s.years;
	out->months = s.months;
	out->days = s.days;
	out->hours = s.hours;
	return 0;
}

const char *akin_span_print(const struct akin_span *span,
			    char out[AKIN_SPAN_TEXT])
{
	struct policy_span s = span_of(span);

	static_assert(AKIN_SPAN_TEXT >= POLICY_TEXT, "room");
	return policy_span_text(&s, out);
}

void store_policy_import(const struct akin_policy *from, struct policy *to)
{
	struct akin_policy copy = *from;
	u32 *list[POLICY_NR_COUNTS], i;

	memset(to, 0, sizeof(*to));
	list_counts(&copy, list);
	for (i = 0; i < POLICY_NR_COUNTS; i++)
		to->count[i] = *list[i];
	to->within = span_of(&from->within);
	to->by_tag = from->nr_tags > 0;
}

bool akin_policy_is_empty(const struct akin_policy *policy)
{
	struct policy p;

	store_policy_import(policy, &p);
	return policy_is_empty(&p);
}

void akin_policy_release(struct akin_policy *policy)
{
	u32 i;

	for (i = 0; i < policy->nr_tags; i++)
		mem_free((void *)policy->tags[i]);
	mem_free((void *)policy->tags);
	memset(policy, 0, sizeof(*policy));
}

static int add_tag(struct akin_policy *p, const char *tag)
{
	const char **tags = mem_realloc((void *)p->tags,
					(p->nr_tags + 1) * sizeof(*tags));

	if (!tags)
		return -AKIN_E_nomem;
	p->tags = tags;
	tags[p->nr_tags] = mem_strdup(tag);
	if (!tags[p->nr_tags])
		return -AKIN_E_nomem;
	p->nr_tags++;
	return 0;
}

/* 0 if it is no number from 1 to 2^32 - 1. */
static u32 parse_count(const char *s)
{
	char *end;
	unsigned long v;

	if (*s < '1' || *s > '9')
		return 0;
	v = strtoul(s, &end, 10);
	return *end || v > UINT32_MAX ? 0 : (u32)v;
}

/* A rule that is not understood must not be ignored: it may keep something. */
static int take_rule(void *ctx, const struct catalog_rule *rule)
{
	struct akin_policy *p = ctx;
	u32 *list[POLICY_NR_COUNTS], i;

	list_counts(p, list);
	for (i = 0; i < POLICY_NR_COUNTS; i++) {
		if (strcmp(rule->rule, count_rules[i]))
			continue;
		*list[i] = parse_count(rule->value);
		return *list[i] ? 0 : -AKIN_E_catalog;
	}
	if (strcmp(rule->rule, RULE_TAG) == 0)
		return add_tag(p, rule->value);
	if (strcmp(rule->rule, RULE_WITHIN))
		return -AKIN_E_feature;
	return akin_span_parse(rule->value, &p->within) ? -AKIN_E_catalog : 0;
}

int akin_policy_get(struct akin_pool *p, struct akin_policy *out,
		    struct akin_diag *diag)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = catalog_each_rule(p->catalog, take_rule, out, diag);
	if (!err)
		return 0;
	akin_policy_release(out);
	if (err == -AKIN_E_catalog)
		return diag_set(diag, err, "the policy in the catalog has a "
				"rule that cannot be");
	if (err == -AKIN_E_feature)
		return diag_set(diag, err, "the policy in the catalog has a "
				"rule that this version does not know");
	return diag_said(diag, err);
}

struct rules {
	struct catalog_rule v[CATALOG_RULES_MAX];
	char counts[POLICY_NR_COUNTS][16], within[AKIN_SPAN_TEXT];
	u32 nr;
};

static void add_rule(struct rules *r, const char *rule, const char *value)
{
	r->v[r->nr].rule = rule;
	r->v[r->nr++].value = value;
}

static bool is_repeated(const struct akin_policy *p, u32 at)
{
	u32 i;

	for (i = 0; i < at; i++)
		if (strcmp(p->tags[i], p->tags[at]) == 0)
			return true;
	return false;
}

static void fill_rules(const struct akin_policy *policy, struct rules *r)
{
	struct akin_policy copy = *policy;
	u32 *list[POLICY_NR_COUNTS], i;

	list_counts(&copy, list);
	for (i = 0; i < POLICY_NR_COUNTS; i++) {
		if (!*list[i])
			continue;
		snprintf(r->counts[i], sizeof(r->counts[i]), "%u", *list[i]);
		add_rule(r, count_rules[i], r->counts[i]);
	}
	if (*akin_span_print(&policy->within, r->within))
		add_rule(r, RULE_WITHIN, r->within);
	for (i = 0; i < policy->nr_tags; i++)
		if (!is_repeated(policy, i))
			add_rule(r, RULE_TAG, policy->tags[i]);
}

int store_policy_check(const struct akin_policy *policy, struct akin_diag *diag)
{
	char text[AKIN_SPAN_TEXT];
	struct akin_span span;
	u32 i;

	if (policy->nr_tags > CATALOG_RULES_MAX - POLICY_NR_COUNTS - 1)
		return diag_set(diag, -AKIN_E_usage,
				"a policy has at most %d tags",
				CATALOG_RULES_MAX - POLICY_NR_COUNTS - 1);
	for (i = 0; i < policy->nr_tags; i++)
		if (!policy->tags[i][0])
			return diag_set(diag, -AKIN_E_usage, "an empty tag");
	if (*akin_span_print(&policy->within, text) &&
	    akin_span_parse(text, &span))
		return diag_set(diag, -AKIN_E_usage, "'%s' is too long a time",
				text);
	return 0;
}

int akin_policy_set(struct akin_pool *p, const struct akin_policy *policy,
		    struct akin_diag *diag)
{
	struct rules *r;
	int err = 0;

	if (policy)
		err = store_policy_check(policy, diag);
	if (err)
		return err;
	r = mem_zalloc(sizeof(*r));
	if (!r)
		return diag_set(diag, -AKIN_E_nomem, "policy: out of memory");
	if (policy)
		fill_rules(policy, r);
	err = catalog_set_policy(p->catalog, r->v, r->nr, store_rulebook_copy,
				 p, diag);
	mem_free(r);
	return err;
}
