/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From counts to results, with their intervals; docs/design/capacity.md has
 * the formulas.
 */
#include <math.h>

#include "base/mem.h"
#include "estimate_internal.h"
#include "estimate_scratch.h"

/*
 * Groups of a sample begin at other chunks than those of all the data, and
 * codecs that learn from what came before have seen something else: that makes
 * a difference that no spread among them shows. So much at the most, as a share
 * of the result.
 */
#define GROUPING 0.005
/* Few units say less about their spread than it looks: a dozen, of which one
 * compresses unlike the others, half as much. */
#define FEW_UNITS 6.0

/* Ratios ------------------------------------------------------------------ */

/* Compressed : raw, and its deviation. */
struct ratio {
	double value, deviation;
};

static struct ratio ratio_of(const struct method *m, int codec)
{
	double raw = 0, out = 0, off, squares = 0, p;
	struct ratio r = { 1, 0 };
	u32 i, nr = 0;

	for (i = 0; i < m->nr_units; i++) {
		if (!estimate_unit_counts(m, m->units[i].fp))
			continue;
		raw += m->units[i].raw;
		out += m->units[i].out[codec];
		nr++;
	}
	if (raw <= 0 || out <= 0)
		return r;
	r.value = out / raw;
	if (codec == ESTIMATE_NONE)
		return r;
	for (i = 0; i < m->nr_units; i++) {
		if (!estimate_unit_counts(m, m->units[i].fp))
			continue;
		off = m->units[i].out[codec] - r.value * m->units[i].raw;
		squares += off * off;
	}
	/* Of all distinct units one in 1 / p is here. */
	p = 1.0 / (double)((u64)1 << m->unit_level);
	if (m->is->fixed || m->set.level)
		p /= (double)((u64)1 << m->set.level);
	if (nr > 1)
		squares *= (double)nr / (nr - 1);
	r.deviation = sqrt(squares * (1 - p)) / raw * (1 + FEW_UNITS / nr);
	return r;
}

/* Unique bytes times a ratio; both are known with an error only. */
static struct estimate_sum stored_of(const struct estimate_result *res,
				     const struct ratio *r, bool exact)
{
	double unique = (double)res->unique.value;
	double half = (double)(res->unique.high - res->unique.low) / 2;
	double grouping = exact ? 0 : GROUPING * r->value;
	double error = ESTIMATE_DEVIATIONS * r->deviation + grouping;
	struct estimate_sum s;

	s = estimate_within(estimate_u64(unique * r->value - 0.5),
			    hypot(error * unique, half * r->value));
	/* Not symmetrical where all that is known are bounds. */
	s.low = min_u64(s.low, estimate_u64((double)res->unique.low *
					    (r->value - error)));
	s.high = max_u64(s.high, estimate_u64((double)res->unique.high *
					      (r->value + error)));
	return s;
}

static void get_stored(const struct method *m, bool all,
		       struct estimate_result *out)
{
	bool exact = all && !m->unit_level && !m->set.level;
	struct ratio r;
	u32 i;

	for (i = 0; i < m->nr_units; i++) {
		if (estimate_unit_counts(m, m->units[i].fp))
			out->sample_bytes += m->units[i].raw;
	}
	for (i = 0; i < ESTIMATE_NR_CODECS; i++) {
		r = ratio_of(m, (int)i);
		out->factor[i] = 1 / r.value;
		out->stored[i] = i == ESTIMATE_NONE ? out->unique :
				 stored_of(out, &r, exact);
		/* What was counted is known better than that. */
		if (exact)
			out->stored[i].low = out->stored[i].high =
				out->stored[i].value;
	}
}

/* Parts of the data ------------------------------------------------------- */

/* By how many clusters chunks were seen in: one, two, more than one, any. */
struct seen {
	double one, two, more, any;
	/* Sums of squares over clusters: of what they have of one, beside the
	 * average of so many bytes; of what they have of two. */
	double one_squares, two_squares;
	double cluster;		/* what one has on average */
};

struct tally {
	double one, two;
};

static void sum_up(const struct method *m, const struct tally *of,
		   struct seen *s)
{
	double per_byte = m->bytes ? s->one / (double)m->bytes : 0, off;
	u32 i, nr = 0;

	for (i = 0; i < CLUSTERS; i++) {
		off = of[i].one - per_byte * (double)m->clusters[i];
		s->one_squares += off * off;
		s->two_squares += of[i].two * of[i].two;
		nr += m->clusters[i] > 0;
	}
	s->cluster = nr ? s->any / nr : 0;
}

static void count_seen(const struct method *m, bool bytes, struct seen *s)
{
	double v, scale = (double)((u64)1 << m->set.level);
	struct tally of[CLUSTERS] = { { 0 } }, *in;
	const struct estimate_entry *en;
	u64 i;

	*s = (struct seen){ 0 };
	for (i = 0; i < m->set.cap; i++) {
		en = &m->set.v[i];
		if (!en->fp)
			continue;
		v = (bytes ? en->len : 1) * scale;
		in = &of[(en->seen & ESTIMATE_CLUSTER_MAX) % CLUSTERS];
		s->any += v;
		if (en->seen >> 24 == 1) {
			s->one += v;
			in->one += v;
			continue;
		}
		s->more += v;
		if (en->seen >> 24 == 2) {
			s->two += v;
			in->two += v;
		}
	}
	sum_up(m, of, s);
}

/*
 * A cluster is read with probability p, so of what lies in m clusters, one of
 * them is read with m p (1 - p)^(m - 1), and so on. The least that there can be
 * besides what was seen is one^2 / (2 two + one p / (1 - p)) (Chao's bound, for
 * known p: by Cauchy and Schwarz; it is what there is if m is the same for
 * all). The most there can be is one / p + more: each chunk adds at least 1 to
 * that on average, whatever its m.
 */
static double least_of(const struct seen *s, double two, double p)
{
	if (s->one <= 0)
		return s->any;
	return s->any + s->one * s->one / (2 * two + s->one * p / (1 - p));
}

/*
 * How much lies in two clusters is itself known badly: pairs of them are what
 * is met by chance, and where none was met there may yet have been one or two.
 */
static struct estimate_sum from_clusters(const struct method *m, double p,
					 bool bytes)
{
	double error, two, low, high, edges;
	struct estimate_sum out;
	struct seen s;

	count_seen(m, bytes, &s);
	error = ESTIMATE_DEVIATIONS * sqrt((1 - p) * s.one_squares) / p;
	two = ESTIMATE_DEVIATIONS * sqrt(s.two_squares + s.cluster * s.cluster);
	low = fmax(s.any, least_of(&s, s.two + two, p) - error);
	high = fmax(s.one / p + s.more,
		    least_of(&s, fmax(0, s.two - two), p)) + error;
	/* Of content, chunks across the ends of clusters are left out, and
	 * those are the long ones. */
	edges = m->is->fixed || bytes ? 0 :
		fmin(1, (double)m->is->block / (double)m->region);
	out.value = estimate_u64(least_of(&s, s.two, p) - 0.5);
	out.low = estimate_u64(low * (1 - edges) - 0.5);
	out.high = estimate_u64(high * (1 + edges));
	return out;
}

static void of_share(const struct estimate *e, const struct method *m,
		     struct estimate_result *out)
{
	double p = e->total ? (double)m->bytes / (double)e->total : e->share;

	if (p <= 0 || p >= 1)
		return;
	out->bytes = e->total;
	out->blocks = estimate_u64((double)m->blocks / p - 0.5);
	out->distinct = from_clusters(m, p, false);
	out->unique = from_clusters(m, p, true);
}

static void limit(struct estimate_sum *s, u64 max)
{
	s->value = min_u64(s->value, max);
	s->low = min_u64(s->low, max);
	s->high = min_u64(s->high, max);
}

void estimate_get(const struct estimate *e, unsigned method,
		  struct estimate_result *out)
{
	const struct method *m = &e->methods[method];

	*out = (struct estimate_result){
		.bytes = m->bytes, .blocks = m->blocks,
		.distinct = estimate_set_count(&m->set),
		.unique = estimate_set_bytes(&m->set),
		.level = m->set.level,
	};
	if (e->share < 1)
		of_share(e, m, out);
	limit(&out->distinct, out->blocks);
	limit(&out->unique, out->bytes);
	get_stored(m, e->share == 1, out);
}

void estimate_get_references(const struct estimate *e,
			     struct estimate_references *out)
{
	struct estimate_result pool;

	*out = (struct estimate_references){ 0 };
	if (!e->scratch)
		return;
	estimate_get(e, ESTIMATE_POOL, &pool);
	estimate_scratch_get(e->scratch, &pool, out);
}

/* States ------------------------------------------------------------------ */

#define SECONDS_PER_DAY 86400.0
#define DAYS_PER_YEAR 365.0
#define GROWTH_MAX 10
#define DAYS_MIN (1.0 / 24)

/* Files that were all unpacked or copied a moment ago do not say when their
 * states were: closer than that is a day. */
static double days_between(const struct estimate *e)
{
	double first = (double)e->states[0].time;
	double last = (double)e->states[e->nr_states - 1].time;
	double days = (last - first) / SECONDS_PER_DAY / (e->nr_states - 1);

	return first != 0 && days >= DAYS_MIN ? days : 1;
}

static double quotient(double a, double b, double otherwise)
{
	return a > 0 && b > 0 ? a / b : otherwise;
}

bool estimate_get_series(const struct estimate *e, double days,
			 struct estimate_series *out)
{
	const struct estimate_state *s = e->states, *last;
	double changed = 0, of = 0, fresh = 0, stored = 0, more;
	u32 i, n = e->nr_states;

	if (n < 2)
		return false;
	last = &s[n - 1];
	*out = (struct estimate_series){ .states = n, .bytes = last->bytes };
	out->days = days > 0 ? days : days_between(e);
	for (i = 1; i < n; i++) {
		/* What is new because there is more has not changed. */
		more = (double)s[i].bytes - (double)s[i - 1].bytes;
		changed += fmax(0, (double)s[i].fresh - fmax(0, more));
		of += (double)s[i].bytes;
		fresh += (double)s[i].fresh;
		stored += (double)s[i].stored;
	}
	out->change_per_day = 1 - pow(1 - fmin(1, quotient(changed, of, 0)),
				      1 / out->days);
	more = quotient((double)last->bytes, (double)s[0].bytes, 1);
	out->growth_per_year = pow(more, DAYS_PER_YEAR /
				   (out->days * (n - 1))) - 1;
	out->growth_per_year = fmin(fmax(out->growth_per_year, 0), GROWTH_MAX);
	out->dedup = fmax(1, quotient((double)s[0].bytes, (double)s[0].unique,
				      1));
	out->compression = quotient((double)s[0].unique, (double)s[0].stored,
				    s[0].factor);
	out->change_compression = quotient(fresh, stored, last->factor);
	return true;
}

/* What others need -------------------------------------------------------- */

/* OpenZFS: in memory as zdb and Oracle have it, on disk up to a sector. */
#define ZFS_MEMORY 320
#define ZFS_DISK 512
/* VDO, as Red Hat has it: MB and GB for each TB, of a dense index. */
#define MB 1e6
#define GB 1e9
#define TB 1e12
#define VDO_FIXED (38 * MB)
#define VDO_CACHE (150 * MB)
#define VDO_LOGICAL (1.6 * MB / TB)
#define VDO_PHYSICAL (268 * MB / TB)
#define VDO_INDEX (1 * GB / TB)
#define VDO_INDEX_MIN (250 * MB)
#define VDO_INDEX_DISK 17		/* times its memory */
#define VDO_DISK_PHYSICAL (1 * MB / (4 * GB))
#define VDO_SLAB (2 * GB)
#define VDO_SLAB_DISK (1 * MB)
#define VDO_DISK_LOGICAL (1.25 * MB / GB)
/* akin; as in tools/capacity. */
#define INDEX_ENTRY (4096.0 / 204)
#define DIRECTORY_ENTRY 35
#define RECIPE_ENTRY 36
#define MEMORY_FIXED (22.0 * MiB)
#define MEMORY_ENTRY 102.4
#define HOOKS_PER_CONTAINER 4
#define CONTAINER_BYTES (8 * MiB)

static void vdo_needs(const struct estimate_result *r,
		      struct estimate_needs *n)
{
	double logical = (double)r->bytes;
	double physical = (double)r->stored[ESTIMATE_LZ4].value;
	double index = fmax(VDO_INDEX_MIN, physical * VDO_INDEX);

	n->vdo_memory = estimate_u64(VDO_FIXED + 1.15 * VDO_CACHE + index +
				     logical * VDO_LOGICAL +
				     physical * VDO_PHYSICAL);
	n->vdo_disk = estimate_u64(physical * VDO_DISK_PHYSICAL +
				   ceil(physical / VDO_SLAB) * VDO_SLAB_DISK +
				   logical * VDO_DISK_LOGICAL +
				   index * VDO_INDEX_DISK);
}

static void akin_needs(const struct estimate_result *r,
		       struct estimate_needs *n)
{
	double chunks = (double)r->distinct.value, share = 1, size;

	n->akin_index = estimate_u64(chunks * INDEX_ENTRY);
	n->akin_directories = estimate_u64(chunks * DIRECTORY_ENTRY);
	n->akin_recipes = estimate_u64((double)r->blocks * RECIPE_ENTRY);
	n->akin_memory = estimate_u64(MEMORY_FIXED + chunks * MEMORY_ENTRY);
	size = chunks > 0 ? (double)r->unique.value / chunks : CONTAINER_BYTES;
	while (CONTAINER_BYTES / size >= HOOKS_PER_CONTAINER * 2 / share)
		share /= 2;
	n->akin_hooks = estimate_u64(MEMORY_FIXED +
				     chunks * share * MEMORY_ENTRY);
}

void estimate_get_needs(const struct estimate_result *r, unsigned method,
			struct estimate_needs *out)
{
	double blocks = (double)r->distinct.value;

	*out = (struct estimate_needs){
		.zfs_memory = estimate_u64(blocks * ZFS_MEMORY),
		.zfs_disk = estimate_u64(blocks * ZFS_DISK),
	};
	if (method == ESTIMATE_4K)
		vdo_needs(r, out);
	akin_needs(r, out);
}
