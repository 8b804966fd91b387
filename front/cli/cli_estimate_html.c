/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin estimate --report: a page of tables and charts, made of the reports of
 * akin bench.
 */
#include <errno.h>
#include <string.h>

#include "cli_estimate.h"
#include "measure.h"

#define GB 1e9

static void add(struct measure_report *r, const char *label,
		const double *values)
{
	/* Rows that there is no memory for are left out. */
	if (measure_add(r, label, values))
		r->text = "Incomplete: there was not enough memory.";
}

static void method_label(unsigned i, char out[MEASURE_LABEL])
{
	snprintf(out, MEASURE_LABEL, "%s %uK", estimate_methods[i].name,
		 estimate_methods[i].block / 1024);
}

static const struct measure_column factor_columns[] = {
	{ "dedup", "dedup", 2 }, { "zstd", "zstd", 2 },
	{ "product", "in all", 2 }, { "blocks", "distinct", 0 },
	{ "unique", "unique GB", 3 }, { "low", "from", 3 },
	{ "high", "to", 3 },
};
static const struct measure_chart factor_charts[] = {
	{ "What each way to cut saves", "times smaller", MEASURE_BARS, { 0, 1, 2 }, 3,
	  MEASURE_BY_NONE },
};

static void fill_factors(const struct cli_estimate *e,
			 struct measure_report *r)
{
	char label[MEASURE_LABEL];
	unsigned i;

	*r = (struct measure_report){
		.title = "Distinct blocks", .row_title = "cut",
		.columns = factor_columns,
		.nr_columns = CLI_ARRAY_SIZE(factor_columns),
		.charts = factor_charts, .nr_charts = 1,
		.text = "from, to: 95 % interval of the unique bytes; both the "
			"same where they are exact.",
	};
	for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
		const struct estimate_result *s = &e->r[i];
		double unique = (double)s->unique.value, bytes = (double)s->bytes;
		double all = (double)s->stored[ESTIMATE_ZSTD].value;
		const double v[] = {
			unique > 0 ? bytes / unique : 1,
			s->factor[ESTIMATE_ZSTD], all > 0 ? bytes / all : 1,
			(double)s->distinct.value, unique / GB,
			(double)s->unique.low / GB, (double)s->unique.high / GB,
		};

		method_label(i, label);
		add(r, label, v);
	}
}

static const struct measure_column size_columns[] = {
	{ "none", "none", 3 }, { "lz4", "lz4", 3 }, { "lzjb", "lzjb", 3 },
	{ "gzip", "gzip", 3 }, { "zstd", "zstd", 3 },
	{ "refs", "references", 3 },
};
static const struct measure_chart size_charts[] = {
	{ "Size on disk", "GB", MEASURE_BARS, { 0, 1, 2, 3, 4, 5 }, 6, MEASURE_BY_NONE },
};

static void fill_sizes(const struct cli_estimate *e, struct measure_report *r)
{
	double v[CLI_ARRAY_SIZE(size_columns)];
	char label[MEASURE_LABEL];
	unsigned i, k;

	*r = (struct measure_report){
		.title = "Size on disk, GB", .row_title = "cut",
		.columns = size_columns,
		.nr_columns = CLI_ARRAY_SIZE(size_columns),
		.charts = size_charts, .nr_charts = 1,
		.text = "references: zstd, and what is similar as its "
			"difference; with content 8K, as a pool has it. 0: not "
			"known.",
	};
	for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
		for (k = 0; k < ESTIMATE_NR_CODECS; k++)
			v[k] = (double)e->r[i].stored[k].value / GB;
		v[k] = i == ESTIMATE_POOL ? (double)e->refs.stored.value / GB :
					    0;
		method_label(i, label);
		add(r, label, v);
	}
}

static const struct measure_column need_columns[] = {
	{ "memory", "memory MB", 1 }, { "disk", "disk MB", 1 },
};
static const struct measure_chart need_charts[] = {
	{ "What tables and indexes need", "MB", MEASURE_BARS, { 0, 1 }, 2, MEASURE_BY_NONE },
};

static void fill_needs(const struct cli_estimate *e, struct measure_report *r)
{
	struct estimate_needs n;
	char label[MEASURE_LABEL];
	double v[2];
	unsigned i;

	*r = (struct measure_report){
		.title = "Memory and disk for deduplication",
		.row_title = "system", .columns = need_columns,
		.nr_columns = CLI_ARRAY_SIZE(need_columns),
		.charts = need_charts, .nr_charts = 1,
		.text = "akin: memory to find most duplicates; it works with "
			"32 MiB. Disk: index, directories, recipes.",
	};
	for (i = 0; i < ESTIMATE_NR_METHODS && estimate_methods[i].fixed; i++) {
		estimate_get_needs(&e->r[i], i, &n);
		v[0] = (double)n.zfs_memory / 1e6;
		v[1] = (double)n.zfs_disk / 1e6;
		snprintf(label, sizeof(label), "ZFS %uK",
			 estimate_methods[i].block / 1024);
		add(r, label, v);
	}
	estimate_get_needs(&e->r[ESTIMATE_4K], ESTIMATE_4K, &n);
	v[0] = (double)n.vdo_memory / 1e6;
	v[1] = (double)n.vdo_disk / 1e6;
	add(r, "VDO 4K", v);
	estimate_get_needs(&e->r[ESTIMATE_POOL], ESTIMATE_POOL, &n);
	v[0] = (double)n.akin_hooks / 1e6;
	v[1] = (double)(n.akin_index + n.akin_directories + n.akin_recipes) /
	       1e6;
	add(r, "akin 8K", v);
}

static const struct measure_column histogram_columns[] = {
	{ "blocks", "chunks", 0 }, { "bytes", "unique GB", 3 },
	{ "refs", "referenced", 0 }, { "ref_bytes", "referenced GB", 3 },
};
static const struct measure_chart histogram_charts[] = {
	{ "Chunks by how often they come", "GB", MEASURE_BARS, { 1, 3 }, 2, MEASURE_BY_NONE },
};

static void fill_histogram(const struct cli_estimate *e,
			   struct measure_report *r)
{
	struct estimate_bucket b[ESTIMATE_BUCKETS];
	char label[MEASURE_LABEL];
	int i;

	*r = (struct measure_report){
		.title = "Reference counts", .row_title = "times",
		.columns = histogram_columns,
		.nr_columns = CLI_ARRAY_SIZE(histogram_columns),
		.charts = histogram_charts, .nr_charts = 1,
		.text = "Chunks cut by content, 8 KiB; so often and up to "
			"twice as often.",
	};
	if (estimate_share(e->e) < 1)
		return;
	estimate_histogram(e->e, ESTIMATE_POOL, b);
	for (i = 0; i < ESTIMATE_BUCKETS; i++) {
		const double v[] = { (double)b[i].blocks,
				     (double)b[i].bytes / GB,
				     (double)b[i].refs,
				     (double)b[i].ref_bytes / GB };

		snprintf(label, sizeof(label), "%llu", 1ull << i);
		if (b[i].blocks)
			add(r, label, v);
	}
}

static const struct measure_column state_columns[] = {
	{ "state", "state", 0 }, { "bytes", "GB", 3 }, { "new", "new GB", 3 },
	{ "share", "new %", 2 }, { "stored", "stored GB", 3 },
};
static const struct measure_chart state_charts[] = {
	{ "States", "GB", MEASURE_LINES, { 1, 2, 4 }, 3, MEASURE_BY_NONE },
};

static void fill_states(const struct cli_estimate *e, struct measure_report *r)
{
	uint32_t i, nr = estimate_nr_states(e->e);
	const struct estimate_state *s;

	*r = (struct measure_report){
		.title = "States of the data",
		.text = "new: distinct chunks that none before has.",
		.columns = state_columns,
		.nr_columns = CLI_ARRAY_SIZE(state_columns),
		.charts = state_charts, .nr_charts = 1,
	};
	for (i = 0; nr > 1 && i < nr; i++) {
		s = estimate_get_state(e->e, i);
		const double v[] = {
			i + 1, (double)s->bytes / GB, (double)s->fresh / GB,
			s->bytes ? 100.0 * (double)s->fresh / (double)s->bytes :
				   0, (double)s->stored / GB,
		};

		add(r, NULL, v);
	}
}

static const struct measure_column place_columns[] = {
	{ "bytes", "MB", 2 }, { "stored", "stored MB", 2 },
	{ "saved", "saved MB", 2 },
};

static void fill_places(const struct cli_estimate *e, enum estimate_order by,
			bool dirs, struct measure_report *r)
{
	static const char *const titles[] = {
		"Files that save most", "Directories that save most",
		"Files that take most", "Directories that take most",
	};
	const struct estimate_place *p;
	char label[MEASURE_LABEL];
	uint32_t i, nr;
	size_t n;

	*r = (struct measure_report){
		.title = titles[(by == ESTIMATE_TAKES) * 2 + dirs],
		.text = "By the order of reading: the first of two that are "
			"the same takes all.",
		.row_title = dirs ? "directory" : "file",
		.columns = place_columns,
		.nr_columns = CLI_ARRAY_SIZE(place_columns),
	};
	p = estimate_places(e->e, by, dirs, &nr);
	for (i = 0; i < nr; i++) {
		double bytes = (double)p[i].bytes, stored = (double)p[i].stored;
		const double v[] = { bytes / 1e6, stored / 1e6,
				     (bytes - stored) / 1e6 };

		n = strlen(p[i].path);
		if (n < sizeof(label))
			snprintf(label, sizeof(label), "%s", p[i].path);
		else
			snprintf(label, sizeof(label), "...%s",
				 p[i].path + n - (sizeof(label) - 4));
		add(r, label, v);
	}
}

static int write_page(const struct cli_estimate *e,
		      const struct measure_report *r)
{
	const char *name = e->c->args.report;
	FILE *f = fopen(name, "we");
	bool failed;

	if (!f)
		return cli_fail_errno(&e->c->diag, errno, "%s", name);
	measure_html(r, f);
	failed = ferror(f);
	if (fclose(f) || failed)
		return cli_fail_errno(&e->c->diag, errno ? errno : EIO, "%s",
				      name);
	return 0;
}

/* What is read, on top of the page. */
static void fill_first(const struct cli_estimate *e, struct measure_report *r)
{
	char a[CLI_UNIT_TEXT];

	fill_sizes(e, r);
	r->title = "How well data reduces";
	snprintf(r->machine, sizeof(r->machine), "%llu %s, %s, of which %.3g%% "
		 "were read.", (unsigned long long)e->walk.files,
		 cli_plural(e->walk.files, "file"),
		 cli_size_text(e->walk.bytes, a), 100 * estimate_share(e->e));
}

int cli_estimate_html(const struct cli_estimate *e)
{
	static void (*const fill[])(const struct cli_estimate *e,
				    struct measure_report *r) = {
		fill_factors, fill_needs, fill_histogram, fill_states,
	};
	struct measure_report first = { 0 }, *r = &first;
	uint32_t i;
	int err = 0;

	fill_first(e, &first);
	for (i = 0; i < CLI_ARRAY_SIZE(fill) && r; i++) {
		r = measure_more(&first);
		if (r)
			fill[i](e, r);
	}
	for (i = 0; i < 4 && r; i++) {
		r = measure_more(&first);
		if (r)
			fill_places(e, i / 2 ? ESTIMATE_TAKES : ESTIMATE_SAVES,
				    i % 2, r);
	}
	if (!r)
		err = cli_fail(&e->c->diag, -AKIN_E_nomem, "report");
	if (!err)
		err = write_page(e, &first);
	measure_release(&first);
	return err;
}
