/* SPDX-License-Identifier: Apache-2.0 */
/* akin estimate for people. */
#include <math.h>
#include <string.h>

#include "cli_estimate.h"
#include "cli_text.h"

#define SHOWN_PLACES 10

typedef unsigned long long ull;

const char *cli_interval_text(const struct estimate_sum *s,
			      char out[CLI_UNIT_TEXT])
{
	double v = (double)s->value, low, high;

	if (s->low == s->high) {
		snprintf(out, CLI_UNIT_TEXT, "exact");
		return out;
	}
	low = v > 0 ? 100 * (v - (double)s->low) / v : 0;
	high = v > 0 ? 100 * ((double)s->high - v) / v : 0;
	if (fabs(low - high) < 0.05 + high / 100)
		snprintf(out, CLI_UNIT_TEXT, "+-%.2f%%", high);
	else
		snprintf(out, CLI_UNIT_TEXT, "-%.1f +%.1f%%", low, high);
	return out;
}

static void print_method(const struct estimate_method *m,
			 const struct estimate_result *r, unsigned i)
{
	char size[CLI_UNIT_TEXT], a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
	char dedup[CLI_UNIT_TEXT], index[CLI_UNIT_TEXT], error[CLI_UNIT_TEXT];
	struct estimate_needs n;

	estimate_get_needs(r, i, &n);
	printf("%-8s %8s %12llu %12llu %10s %8s %8s %10s %10s\n", m->name,
	       cli_size_text(m->block, size), (ull)r->blocks,
	       (ull)r->distinct.value, cli_size_text(r->unique.value, a),
	       cli_interval_text(&r->unique, error),
	       cli_ratio_text(r->bytes, r->unique.value, dedup),
	       cli_size_text(n.zfs_memory, b),
	       cli_size_text(n.akin_index, index));
}

static void print_codecs(const struct estimate_method *m,
			 const struct estimate_result *r)
{
	char size[CLI_UNIT_TEXT], a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];
	char error[CLI_UNIT_TEXT];
	int i;

	for (i = 0; i < ESTIMATE_NR_CODECS; i++) {
		printf("%-8s %8s %-5s %9.2fx %9s %12s %8s\n",
		       i ? "" : m->name, i ? "" : cli_size_text(m->block, size),
		       estimate_codecs[i], r->factor[i],
		       cli_ratio_text(r->bytes, r->stored[i].value, b),
		       cli_size_text(r->stored[i].value, a),
		       cli_interval_text(&r->stored[i], error));
	}
}

static void print_references(const struct cli_estimate *e)
{
	const struct estimate_references *r = &e->refs;
	uint64_t bytes = e->r[ESTIMATE_POOL].bytes;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], error[CLI_UNIT_TEXT];

	if (!r->known)
		return;
	printf("%-8s %8s %-5s %9.2fx %9s %12s %8s\n", "", "", "refs",
	       r->factor, cli_ratio_text(bytes, r->stored.value, b),
	       cli_size_text(r->stored.value, a),
	       cli_interval_text(&r->stored, error));
	printf("\nrefs: zstd with references to similar data, as a pool has "
	       "it by default, with\ndirectories; %s of recipes and names "
	       "come besides.", cli_size_text(r->metadata.value, a));
	if (r->fed < bytes)
		printf(" Tried with %s.", cli_size_text(r->fed, a));
	fputs("\n", stdout);
}

static void print_needs(const struct cli_estimate *e)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT];
	struct estimate_needs n;
	unsigned i;

	printf("\n%-8s %8s %12s %12s\n", "NEEDS", "BLOCKS", "MEMORY", "DISK");
	for (i = 0; i < ESTIMATE_NR_METHODS && estimate_methods[i].fixed; i++) {
		estimate_get_needs(&e->r[i], i, &n);
		printf("%-8s %8s %12s %12s\n", i ? "" : "ZFS",
		       cli_size_text(estimate_methods[i].block, c),
		       cli_size_text(n.zfs_memory, a),
		       cli_size_text(n.zfs_disk, b));
	}
	estimate_get_needs(&e->r[ESTIMATE_4K], ESTIMATE_4K, &n);
	printf("%-8s %8s %12s %12s\n", "VDO", "4.00 KiB",
	       cli_size_text(n.vdo_memory, a), cli_size_text(n.vdo_disk, b));
	estimate_get_needs(&e->r[ESTIMATE_POOL], ESTIMATE_POOL, &n);
	printf("%-8s %8s %12s %12s  (works with 32 MiB; all: %s)\n", "akin",
	       "8.00 KiB", cli_size_text(n.akin_hooks, a),
	       cli_size_text(n.akin_index + n.akin_directories +
			     n.akin_recipes, b),
	       cli_size_text(n.akin_memory, c));
}

static void print_histogram(const struct cli_estimate *e)
{
	struct estimate_bucket b[ESTIMATE_BUCKETS];
	char x[CLI_UNIT_TEXT], y[CLI_UNIT_TEXT];
	int i;

	if (estimate_share(e->e) < 1)
		return;
	estimate_histogram(e->e, ESTIMATE_POOL, b);
	printf("\n%-8s %12s %10s %12s %10s\n", "REFCNT", "CHUNKS", "UNIQUE",
	       "REFERENCED", "BYTES");
	for (i = 0; i < ESTIMATE_BUCKETS; i++) {
		if (b[i].blocks)
			printf("%-8llu %12llu %10s %12llu %10s\n", 1ull << i,
			       (ull)b[i].blocks, cli_size_text(b[i].bytes, x),
			       (ull)b[i].refs, cli_size_text(b[i].ref_bytes,
							     y));
	}
}

static void print_states(const struct cli_estimate *e)
{
	uint32_t i, nr = estimate_nr_states(e->e);
	const struct estimate_series *s = &e->series;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT];
	char d[CLI_UNIT_TEXT];
	const struct estimate_state *st;

	if (nr < 2)
		return;
	printf("\n%-6s %-19s %10s %10s %8s %10s\n", "STATE", "TIME", "BYTES",
	       "NEW", "NEW", "STORED");
	for (i = 0; i < nr; i++) {
		st = estimate_get_state(e->e, i);
		printf("%-6u %-19s %10s %10s %7.2f%% %10s\n", i + 1,
		       st->time ? cli_time_text(st->time, c) : "-",
		       cli_size_text(st->bytes, a),
		       cli_size_text(st->fresh, b), st->bytes ?
		       100.0 * (double)st->fresh / (double)st->bytes : 0,
		       st->stored ? cli_size_text(st->stored, d) : "-");
	}
	if (e->is_series)
		printf("\nEvery %.3g days: %.3g%% of it changes in a day, it "
		       "grows by %.3g%% in a year;\nwhat changes is stored "
		       "%.2f times smaller.\n", s->days,
		       100 * s->change_per_day, 100 * s->growth_per_year,
		       s->change_compression);
	else
		fputs("\nThese are not states of the same data, so no rate of "
		      "change follows.\n", stdout);
}

static void print_places(const struct cli_estimate *e, enum estimate_order by,
			 bool dirs)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT];
	const struct estimate_place *v;
	uint32_t i, nr;

	v = estimate_places(e->e, by, dirs, &nr);
	if (!nr)
		return;
	printf("\n%10s %10s %8s  %s THAT %s MOST\n", "BYTES", "STORED", "",
	       dirs ? "DIRECTORIES" : "FILES",
	       by == ESTIMATE_SAVES ? "SAVE" : "TAKE");
	for (i = 0; i < nr && i < SHOWN_PLACES; i++)
		printf("%10s %10s %8s  %s\n", cli_size_text(v[i].bytes, a),
		       cli_size_text(v[i].stored, b),
		       cli_ratio_text(v[i].bytes, v[i].stored, c),
		       cli_quoted(e->c, v[i].path));
}

void cli_estimate_text(const struct cli_estimate *e)
{
	char a[CLI_UNIT_TEXT];
	int i;

	printf("%llu %s, %s", (ull)e->walk.files,
	       cli_plural(e->walk.files, "file"),
	       cli_size_text(e->walk.bytes, a));
	if (estimate_share(e->e) < 1)
		printf(", of which %.3g%% were read", 100 *
		       estimate_share(e->e));
	printf("\n\n%-8s %8s %12s %12s %10s %8s %8s %10s %10s\n", "CUT",
	       "SIZE", "BLOCKS", "DISTINCT", "UNIQUE", "(95%)", "DEDUP",
	       "ZFS RAM", "INDEX");
	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		print_method(&estimate_methods[i], &e->r[i], i);
	printf("\n%-8s %8s %-5s %10s %9s %12s %8s\n", "CUT", "SIZE", "CODEC",
	       "COMPRESSED", "IN ALL", "STORED", "(95%)");
	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		print_codecs(&estimate_methods[i], &e->r[i]);
	print_references(e);
	print_needs(e);
	print_histogram(e);
	print_states(e);
	for (i = 0; i < 4; i++)
		print_places(e, i / 2 ? ESTIMATE_TAKES : ESTIMATE_SAVES,
			     i % 2);
}
