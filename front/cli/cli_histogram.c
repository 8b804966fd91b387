/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin stats --histogram: chunks by reference count, in the form of zdb -DD;
 * akin stats --compression: what was given and what it takes, now and lately,
 * in the form of filesys show compression.
 */
#include <string.h>
#include <time.h>

#include "cli.h"
#include "cli_factors.h"

/* Powers of 1024 in at most five characters: "999", "1.50M", "64G". */
static const char *nice(uint64_t n, char out[CLI_UNIT_TEXT])
{
	static const char units[] = "KMGTPE";
	int unit = -1, digits;
	double v = (double)n;
	uint64_t whole = n;
	bool exact = true;

	while (whole >= 1024 && unit < 5) {
		exact = exact && whole % 1024 == 0;
		whole /= 1024;
		v /= 1024;
		unit++;
	}
	if (unit < 0) {
		snprintf(out, CLI_UNIT_TEXT, "%llu", (unsigned long long)n);
		return out;
	}
	for (digits = exact ? 0 : 2; digits > 0; digits--) {
		if (snprintf(out, CLI_UNIT_TEXT, "%.*f%c", digits, v,
			     units[unit]) <= 5)
			return out;
	}
	snprintf(out, CLI_UNIT_TEXT, "%.0f%c", v, units[unit]);
	return out;
}

static void print_row(const char *label, const struct akin_histogram_row *r)
{
	char a[8][CLI_UNIT_TEXT];

	printf("%6s   %6s   %5s   %5s   %5s   %6s   %5s   %5s   %5s\n", label,
	       nice(r->chunks, a[0]), nice(r->bytes_raw, a[1]),
	       nice(r->bytes_packed, a[2]), nice(r->bytes_stored, a[3]),
	       nice(r->ref_chunks, a[4]), nice(r->ref_raw, a[5]),
	       nice(r->ref_packed, a[6]), nice(r->ref_stored, a[7]));
}

static double quotient(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 1;
}

static void print_histogram(const struct akin_histogram *h,
			    uint64_t index_bytes)
{
	const struct akin_histogram_row *t = &h->total;
	double dedup = quotient(t->ref_stored, t->bytes_stored);
	double compress = quotient(t->ref_raw, t->ref_packed);
	double copies = quotient(t->ref_stored, t->ref_packed);
	char label[CLI_UNIT_TEXT], size[CLI_UNIT_TEXT];
	int i;

	printf("\n dedup: %llu chunks, index of %s on disk\n\n"
	       "bucket              allocated                       "
	       "referenced\n"
	       "______   ______________________________   "
	       "______________________________\n"
	       "refcnt   blocks   LSIZE   PSIZE   DSIZE   blocks   LSIZE   "
	       "PSIZE   DSIZE\n"
	       "------   ------   -----   -----   -----   ------   -----   "
	       "-----   -----\n",
	       (unsigned long long)(t->chunks + h->unreferenced.chunks),
	       nice(index_bytes, size));
	for (i = 0; i < 64; i++) {
		if (h->rows[i].chunks)
			print_row(nice((uint64_t)1 << i, label), &h->rows[i]);
	}
	print_row("Total", t);
	if (h->unreferenced.chunks)
		print_row("none", &h->unreferenced);
	printf("\ndedup = %.2f, compress = %.2f, copies = %.2f, dedup * "
	       "compress / copies = %.2f\n", dedup, compress, copies,
	       dedup * compress / copies);
	if (h->missing || h->unreadable)
		printf("%llu references to nothing, %llu containers or "
		       "recipes not readable ('akin check' says more)\n",
		       (unsigned long long)h->missing,
		       (unsigned long long)h->unreadable);
}

static void row_json(struct cli_json *j, const struct akin_histogram_row *r)
{
	cli_json_uint(j, "chunks", r->chunks);
	cli_json_uint(j, "bytes_raw", r->bytes_raw);
	cli_json_uint(j, "bytes_packed", r->bytes_packed);
	cli_json_uint(j, "bytes_stored", r->bytes_stored);
	cli_json_uint(j, "referenced_chunks", r->ref_chunks);
	cli_json_uint(j, "referenced_raw", r->ref_raw);
	cli_json_uint(j, "referenced_packed", r->ref_packed);
	cli_json_uint(j, "referenced_stored", r->ref_stored);
}

static void print_histogram_json(struct cli *c, const struct akin_histogram *h)
{
	struct cli_json *j = &c->json;
	int i;

	for (i = 0; i < 64; i++) {
		if (!h->rows[i].chunks)
			continue;
		cli_json_begin(j, "histogram_row");
		cli_json_uint(j, "references", (uint64_t)1 << i);
		row_json(j, &h->rows[i]);
		cli_json_end(j, stdout);
	}
	cli_json_begin(j, "histogram");
	row_json(j, &h->total);
	cli_json_uint(j, "unreferenced_chunks", h->unreferenced.chunks);
	cli_json_uint(j, "unreferenced_raw", h->unreferenced.bytes_raw);
	cli_json_uint(j, "unreferenced_stored", h->unreferenced.bytes_stored);
	cli_json_uint(j, "missing", h->missing);
	cli_json_uint(j, "unreadable", h->unreadable);
	cli_json_ratio(j, "dedup", h->total.ref_stored, h->total.bytes_stored);
	cli_json_end(j, stdout);
}

int cli_histogram(struct cli *c, uint64_t index_bytes)
{
	struct akin_histogram h;
	int err;

	err = akin_stats_histogram(c->pool, cli_on_progress, c, &h, &c->diag);
	cli_term_clear();
	if (err)
		return err;
	if (c->args.json)
		print_histogram_json(c, &h);
	else
		print_histogram(&h, index_bytes);
	return cli_output_error(c);
}

/* --compression -------------------------------------------------------------- */

#define HOUR 3600
#define DAY (24 * HOUR)
#define GIB 1073741824.0

struct written {
	int64_t since_sec;
	struct akin_factors sum;
};

static int add_written(void *ctx, const struct akin_snapshot *s)
{
	struct written *w = ctx;

	if (s->time_sec < w->since_sec)
		return 0;
	w->sum.bytes_logical += s->bytes;
	w->sum.bytes_unique += s->bytes_new;
	w->sum.bytes_stored += s->bytes_stored;
	w->sum.bytes_metadata += s->bytes_meta;
	return 0;
}

static void factor(uint64_t a, uint64_t b, int width)
{
	if (b)
		printf("   %*.1fx", width - 1, (double)a / (double)b);
	else
		printf("   %*s", width, "-");
}

static void print_given(struct cli *c, const char *label, const char *key,
			const struct akin_factors *f)
{
	uint64_t post = f->bytes_stored + f->bytes_metadata;
	struct cli_json *j = &c->json;

	if (c->args.json) {
		cli_json_begin(j, "compression");
		cli_json_text(j, "of", key);
		cli_json_uint(j, "pre_comp", f->bytes_logical);
		cli_json_uint(j, "post_comp", post);
		cli_json_ratio(j, "global_comp", f->bytes_logical,
			       f->bytes_unique);
		cli_json_ratio(j, "local_comp", f->bytes_unique, post);
		cli_json_ratio(j, "total_comp", f->bytes_logical, post);
		cli_json_end(j, stdout);
		return;
	}
	printf("%-16s   %10.1f   %11.1f", label,
	       (double)f->bytes_logical / GIB, (double)post / GIB);
	factor(f->bytes_logical, f->bytes_unique, 11);
	factor(f->bytes_unique, post, 10);
	factor(f->bytes_logical, post, 7);
	if (f->bytes_logical)
		printf(" (%.1f)", (1 - (double)post /
				   (double)f->bytes_logical) * 100);
	putchar('\n');
}

static int add_since(struct cli *c, int64_t since, struct akin_factors *out)
{
	struct akin_snapshot_filter filter = { 0 };
	struct written w = { .since_sec = since };
	int err;

	err = akin_snapshot_each(c->pool, &filter, add_written, &w, &c->diag);
	/* What is forgotten was written all the same. */
	filter.forgotten = true;
	if (!err)
		err = akin_snapshot_each(c->pool, &filter, add_written, &w,
					 &c->diag);
	*out = w.sum;
	return err;
}

int cli_compression(struct cli *c)
{
	int64_t now = (int64_t)time(NULL);
	struct akin_factors used, week, day;
	int err;

	err = akin_stats_factors(c->pool, 0, &used, &c->diag);
	if (!err)
		err = add_since(c, now - 7 * DAY, &week);
	if (!err)
		err = add_since(c, now - DAY, &day);
	if (err)
		return err;
	if (!c->args.json)
		printf("\n%16s   %10s   %11s   %11s   %10s   %s\n"
		       "%16s   %10s   %11s   %11s   %10s   %s\n"
		       "%s   %s   %s   %s   %s   %s\n",
		       "", "Pre-Comp", "Post-Comp", "Global-Comp",
		       "Local-Comp", "   Total-Comp", "", "(GiB)", "(GiB)",
		       "Factor", "Factor", "       Factor (Reduction %)",
		       "----------------", "----------", "-----------",
		       "-----------", "----------", "--------------------");
	print_given(c, "Currently Used:", "used", &used);
	if (!c->args.json)
		puts("Written:");
	print_given(c, "  Last 7 days", "week", &week);
	print_given(c, "  Last 24 hrs", "day", &day);
	return cli_output_error(c);
}
