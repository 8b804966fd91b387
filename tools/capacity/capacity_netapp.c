/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `akin capacity netapp`: block sharing of Data ONTAP, and `df -s`.
 *
 * A block of 4 KiB may be shared only so often; further equal blocks begin a
 * new copy. So n equal blocks take ceil(n / limit), however equal they are.
 */
#include "capacity_internal.h"

#define BLOCK 4096
#define METADATA_PERCENT 7	/* of physical data, at the most */

struct release {
	const char *name;
	unsigned limit;
	const char *metadata;	/* where fingerprints and change logs lie */
};

static const struct release releases[] = {
	{ "7.2", 255, "in the volume" },
	{ "7.3", 255, "partly in the volume, partly in the aggregate" },
	{ "8.0", 255, "in the aggregate" },
	{ "8.1", 32767, "in the aggregate, with a copy in the volume" },
	{ "8.2", 32767, "in the aggregate, with a copy in the volume" },
};

static int find_release(const struct cap_request *r,
			const struct release **out, struct akin_diag *diag)
{
	const char *name = r->params[CAP_RELEASE];
	unsigned i;

	*out = &releases[CAP_ARRAY_SIZE(releases) - 1];
	if (!name)
		return 0;
	for (i = 0; i < CAP_ARRAY_SIZE(releases); i++) {
		if (cap_equal(releases[i].name, name)) {
			*out = &releases[i];
			return 0;
		}
	}
	return cap_usage(diag, "--release: '%s' is none of 7.2, 7.3, 8.0, 8.1, "
			 "8.2", name);
}

static cap_u128 div_up(cap_u128 a, cap_u128 b)
{
	return (a + b - 1) / b;
}

/* %saved as df prints it: whole percent. Its one known line does not tell
 * rounding from cutting; cut. */
static cap_u128 percent_saved(cap_u128 used, cap_u128 saved)
{
	return used + saved ? saved * 100 / (used + saved) : 0;
}

static void show_df(struct cap_doc *d, cap_u128 used, cap_u128 saved)
{
	cap_step(d, "%%saved = saved / (used + saved) = %N / (%N + %N) = %F %%",
		 saved, used, saved, saved * 100,
		 used + saved ? used + saved : 1, 2);
	cap_summary(d, "netapp");
	cap_fact_count(d, "used_kib", "df -s: used (KiB)", used / 1024);
	cap_fact_count(d, "saved_kib", "df -s: saved (KiB)", saved / 1024);
	cap_fact_fixed(d, "saved_percent", "df -s: %saved",
		       percent_saved(used, saved), 1, 0, "%");
}

static int run_df(const struct cap_request *r, struct cap_doc *d,
		  struct akin_diag *diag)
{
	cap_u128 used = 0, saved = 0;
	int err;

	if (!r->params[CAP_USED] || !r->params[CAP_SAVED])
		return cap_usage(diag, "--used and --saved belong together");
	if (r->params[CAP_DATA] || r->params[CAP_DISTINCT])
		return cap_usage(diag, "either --data and --distinct, or --used "
				 "and --saved");
	err = cap_get_size(r, CAP_USED, &used, diag);
	if (!err)
		err = cap_get_size(r, CAP_SAVED, &saved, diag);
	if (err)
		return err;
	show_df(d, used, saved);
	cap_summary_end(d);
	return 0;
}

/* @logical blocks, @distinct of them different, spread as evenly as can be. */
static cap_u128 physical_blocks(cap_u128 logical, cap_u128 distinct,
				unsigned limit)
{
	cap_u128 each = logical / distinct, more = logical % distinct;

	return (distinct - more) * div_up(each, limit) +
	       more * div_up(each + 1, limit);
}

static void show_sharing(struct cap_doc *d, cap_u128 logical,
			 cap_u128 distinct, const struct release *rel)
{
	cap_u128 each = logical / distinct, physical, used, metadata;

	physical = physical_blocks(logical, distinct, rel->limit);
	used = physical * BLOCK;
	metadata = div_up(used * METADATA_PERCENT, 100);
	cap_step(d, "%N blocks of 4 KiB, %N different: each %N times%s", logical,
		 distinct, each, logical % distinct ? " or once more" : "");
	cap_step(d, "a block is shared at most %u times (Data ONTAP %s): "
		 "ceil(%N / %u) = %N copies of each; %N blocks in all",
		 rel->limit, rel->name, each, rel->limit,
		 div_up(each, rel->limit), physical);
	cap_step(d, "metadata: up to %u %% of %N B = %N B, %s",
		 (unsigned)METADATA_PERCENT, used, metadata, rel->metadata);
	show_df(d, used, logical * BLOCK - used);
	cap_fact_text(d, "release", "Data ONTAP", "%s", rel->name);
	cap_fact_count(d, "sharing_limit", "a block is shared at most, times",
		       rel->limit);
	cap_fact_count(d, "logical_blocks", "logical blocks (4 KiB)", logical);
	cap_fact_count(d, "physical_blocks", "physical blocks", physical);
	cap_fact_bytes(d, "physical_bytes", "physical data", used);
	cap_fact_bytes(d, "metadata_bytes", "metadata, at the most", metadata);
	cap_fact_text(d, "metadata_place", "  which lies", "%s", rel->metadata);
	cap_fact_bytes(d, "total_bytes", "together", used + metadata);
	cap_fact_fixed(d, "ratio", "logical : physical", logical, physical, 2,
		       " : 1");
	cap_summary_end(d);
}

int cap_run_netapp(const struct cap_request *r, struct cap_doc *d,
		   struct akin_diag *diag)
{
	cap_u128 data = 0, distinct = 0;
	const struct release *rel;
	int err;

	if (r->nr_words)
		return cap_usage(diag, "'%s': netapp takes options only",
				 r->words[0]);
	err = find_release(r, &rel, diag);
	if (err)
		return err;
	if (r->params[CAP_USED] || r->params[CAP_SAVED])
		return run_df(r, d, diag);
	if (!r->params[CAP_DATA]) {
		cap_usage(diag, "how much data? --data, and --distinct for how "
			  "much of it is different; or --used and --saved");
		return -AKIN_E_usage;
	}
	err = cap_get_size(r, CAP_DATA, &data, diag);
	distinct = data;
	if (!err)
		err = cap_get_size(r, CAP_DISTINCT, &distinct, diag);
	if (err)
		return err;
	if (!data || !distinct)
		return cap_usage(diag, "--data and --distinct: at least a byte");
	data = div_up(data, BLOCK);
	distinct = div_up(distinct, BLOCK);
	if (distinct > data)
		return cap_usage(diag, "--distinct: more than there is data; at "
				 "most %I", data * BLOCK);
	show_sharing(d, data, distinct, rel);
	return 0;
}
