/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From words to a calculation; see capacity.h.
 */
#include "capacity_internal.h"
#include "capacity_units.h"

#define B(kind) (1u << CAP_##kind)
#define POOLS (B(AKIN) | B(PLAN))

static const struct {
	const char *name;
	int (*run)(const struct cap_request *r, struct cap_doc *d,
		   struct akin_diag *diag);
} kinds[] = {
	[CAP_SUN7000] = { "sun7000", cap_run_sun7000 },
	[CAP_ZFS] = { "zfs", cap_run_zfs },
	[CAP_NETAPP] = { "netapp", cap_run_netapp },
	[CAP_AKIN] = { "akin", cap_run_akin },
	[CAP_PLAN] = { "plan", cap_run_plan },
};
_Static_assert(CAP_ARRAY_SIZE(kinds) == CAP_NR_KINDS, "each kind has a name");

static const struct {
	const char *name;
	unsigned kinds;
} params[] = {
	[CAP_DISK] = { "disk", B(SUN7000) | B(ZFS) | POOLS },
	[CAP_ASHIFT] = { "ashift", B(ZFS) },
	[CAP_RECORDSIZE] = { "recordsize", B(ZFS) },
	[CAP_DISK_LOSS] = { "disk-loss", B(ZFS) },
	[CAP_SLOP_SHIFT] = { "slop-shift", B(ZFS) },
	[CAP_DATA] = { "data", B(NETAPP) | B(AKIN) },
	[CAP_DISTINCT] = { "distinct", B(NETAPP) },
	[CAP_USED] = { "used", B(NETAPP) },
	[CAP_SAVED] = { "saved", B(NETAPP) },
	[CAP_RELEASE] = { "release", B(NETAPP) },
	[CAP_DEDUP] = { "dedup", POOLS },
	[CAP_COMPRESSION] = { "compression", POOLS },
	[CAP_CHANGE] = { "change", POOLS },
	[CAP_CHANGE_COMPRESSION] = { "change-compression", POOLS },
	[CAP_GROWTH] = { "growth", POOLS },
	[CAP_KEEP] = { "keep", POOLS },
	[CAP_CHUNK_SIZE] = { "chunk-size", POOLS },
	[CAP_META_DISK] = { "meta-disk", POOLS },
	[CAP_RAM] = { "ram", POOLS },
	[CAP_YEARS] = { "years", POOLS },
	[CAP_FROM] = { "from", POOLS },
};
_Static_assert(CAP_ARRAY_SIZE(params) == CAP_NR_PARAMS,
	       "each parameter has a name");

const char *cap_kind_name(enum cap_kind kind)
{
	return kinds[kind].name;
}

int cap_kind_find(const char *name)
{
	unsigned i;

	for (i = 0; i < CAP_NR_KINDS; i++) {
		if (cap_equal(kinds[i].name, name))
			return (int)i;
	}
	return -1;
}

const char *cap_param_name(enum cap_param param)
{
	return params[param].name;
}

bool cap_param_applies(enum cap_param param, enum cap_kind kind)
{
	return params[param].kinds & (1u << kind);
}

/* Errors --------------------------------------------------------------------*/

int cap_usage_args(struct akin_diag *diag, const char *fmt,
		   const struct cap_arg *args)
{
	struct cap_text t;

	if (!diag || diag->code)
		return -AKIN_E_usage;
	diag->code = -AKIN_E_usage;
	cap_text_init(&t, diag->text, sizeof(diag->text));
	cap_put_args(&t, fmt, args);
	return -AKIN_E_usage;
}

void cap_hint_args(struct akin_diag *diag, const char *fmt,
		   const struct cap_arg *args)
{
	struct cap_text t;

	if (!diag || diag->hint[0])
		return;
	cap_text_init(&t, diag->hint, sizeof(diag->hint));
	cap_put_args(&t, fmt, args);
}

int cap_get_size(const struct cap_request *r, enum cap_param p, cap_u128 *out,
		 struct akin_diag *diag)
{
	const char *s = r->params[p];

	if (!s || !cap_parse_size(s, out))
		return 0;
	return cap_usage(diag, "--%s: '%s' is not a size such as 4TB, 3.64TiB "
			 "or 500GB, up to 1024 ZiB", params[p].name, s);
}

int cap_get_count(const struct cap_request *r, enum cap_param p, unsigned min,
		  unsigned max, unsigned *out, struct akin_diag *diag)
{
	const char *s = r->params[p];
	unsigned v;

	if (!s)
		return 0;
	if (cap_parse_count(s, max, &v) || v < min)
		return cap_usage(diag, "--%s: '%s' is not a number from %u to "
				 "%u", params[p].name, s, min, max);
	*out = v;
	return 0;
}

/* Requests ------------------------------------------------------------------*/

static int set_option(struct cap_request *r, char *word,
		      struct akin_diag *diag)
{
	const struct { const char *name; bool *to; } flags[] = {
		{ "--explain", &r->explain }, { "--json", &r->json },
		{ "--both", &r->both },
	};
	char *name = word + 2, *value = name;
	unsigned i;

	for (i = 0; i < CAP_ARRAY_SIZE(flags); i++) {
		if (cap_equal(word, flags[i].name)) {
			*flags[i].to = true;
			return 0;
		}
	}
	while (*value && *value != '=')
		value++;
	if (!*value)
		return cap_usage(diag, "'%s' needs a value", word);
	*value++ = 0;
	for (i = 0; i < CAP_NR_PARAMS; i++) {
		if (cap_equal(params[i].name, name)) {
			r->params[i] = value;
			return 0;
		}
	}
	return cap_usage(diag, "unknown option '--%s'", name);
}

static int add_word(struct cap_request *r, const char *word, bool *have_kind,
		    struct akin_diag *diag)
{
	int kind;

	if (!*have_kind) {
		kind = cap_kind_find(word);
		if (kind < 0)
			return cap_usage(diag, "'%s' is no calculation", word);
		r->kind = (enum cap_kind)kind;
		*have_kind = true;
		return 0;
	}
	if (r->nr_words == CAP_MAX_WORDS)
		return cap_usage(diag, "more than %u words",
				 (unsigned)CAP_MAX_WORDS);
	r->words[r->nr_words++] = word;
	return 0;
}

int cap_request_parse(char *text, struct cap_request *r,
		      struct akin_diag *diag)
{
	bool have_kind = false;
	char *word;
	int err;

	while (*text) {
		word = text;
		while (*text && *text != '\n')
			text++;
		if (*text)
			*text++ = 0;
		if (!*word)
			continue;
		if (word[0] == '-' && word[1] == '-')
			err = set_option(r, word, diag);
		else
			err = add_word(r, word, &have_kind, diag);
		if (err)
			return err;
	}
	return have_kind ? 0 : cap_usage(diag, "no calculation was named");
}

/* What @kind takes, for a hint. */
static void hint_params(struct akin_diag *diag, enum cap_kind kind)
{
	char list[200];
	struct cap_text t;
	unsigned i;

	cap_text_init(&t, list, sizeof(list));
	for (i = 0; i < CAP_NR_PARAMS; i++) {
		if (cap_param_applies(i, kind))
			cap_put(&t, " --%s", params[i].name);
	}
	cap_hint(diag, "'capacity %s' knows%s.", kinds[kind].name, list);
}

int cap_run(const struct cap_request *r, struct cap_text *out,
	    struct akin_diag *diag)
{
	struct cap_doc d = { .out = out, .json = r->json || r->both,
			     .both = r->both, .explain = r->explain };
	unsigned i;

	for (i = 0; i < CAP_NR_PARAMS; i++) {
		if (!r->params[i] || cap_param_applies(i, r->kind))
			continue;
		cap_usage(diag, "--%s means nothing to 'capacity %s'",
			  params[i].name, kinds[r->kind].name);
		hint_params(diag, r->kind);
		return -AKIN_E_usage;
	}
	return kinds[r->kind].run(r, &d, diag);
}
