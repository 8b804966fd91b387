/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `akin capacity akin`: what a pool needs, over time, and when it is full.
 */
#include "capacity_pool_run.h"

#define YEARS_DEFAULT 3
#define NR_POINTS 12
#define NR_CURVE 120		/* for a drawing */

static int get_share(const struct cap_request *r, enum cap_param p,
		     unsigned max, double *out, struct akin_diag *diag)
{
	const char *s = r->params[p];

	if (!s || !cap_parse_share(s, max, out))
		return 0;
	return cap_usage(diag, "--%s: '%s' is not a share such as 1%% or 0.5%%, "
			 "up to %u%%", cap_param_name(p), s, max);
}

static int get_factor(const struct cap_request *r, enum cap_param p,
		      double *out, struct akin_diag *diag)
{
	const char *s = r->params[p];

	if (!s || !cap_parse_factor(s, out))
		return 0;
	return cap_usage(diag, "--%s: '%s' is not a factor such as 2 or 1.5, "
			 "from 0.01 to 1000000", cap_param_name(p), s);
}

static int get_chunk(const struct cap_request *r, unsigned *out,
		     struct akin_diag *diag)
{
	cap_u128 v = *out;
	int err = cap_get_size(r, CAP_CHUNK_SIZE, &v, diag);

	if (err)
		return err;
	if (v < CAP_POOL_CHUNK_MIN || v > CAP_POOL_CHUNK_MAX)
		return cap_usage(diag, "--chunk-size: %N is not from 1K to 1M",
				 v);
	*out = (unsigned)v;
	return 0;
}

int cap_pool_params(const struct cap_request *r, struct cap_pool *p,
		    struct akin_diag *diag)
{
	int err = get_factor(r, CAP_DEDUP, &p->dedup, diag);

	if (!err)
		err = get_factor(r, CAP_COMPRESSION, &p->compression, diag);
	if (!err)
		err = get_share(r, CAP_CHANGE, 100, &p->change, diag);
	if (!err)
		err = get_factor(r, CAP_CHANGE_COMPRESSION,
				 &p->change_compression, diag);
	if (!err)
		err = get_share(r, CAP_GROWTH, 1000, &p->growth, diag);
	if (!err)
		err = get_chunk(r, &p->chunk, diag);
	if (!err && r->params[CAP_KEEP] &&
	    cap_parse_keep(r->params[CAP_KEEP], &p->keep))
		err = cap_usage(diag, "--keep: '%s' is not a retention such as "
				"30d or 7d4w12m3y, up to %u of each",
				r->params[CAP_KEEP], (unsigned)CAP_KEEP_MAX);
	return err;
}

static int get_box_size(const struct cap_request *r, enum cap_param p,
			cap_u128 *out, struct akin_diag *diag)
{
	int err = cap_get_size(r, p, out, diag);

	if (!err && r->params[p] && !*out)
		err = cap_usage(diag, "--%s: nothing fits into no bytes",
				cap_param_name(p));
	return err;
}

int cap_box_params(const struct cap_request *r, struct cap_box *b,
		   struct akin_diag *diag)
{
	int err;

	*b = (struct cap_box){ .years = YEARS_DEFAULT };
	err = get_box_size(r, CAP_DISK, &b->disk, diag);
	if (!err)
		err = get_box_size(r, CAP_META_DISK, &b->meta, diag);
	if (!err)
		err = get_box_size(r, CAP_RAM, &b->ram, diag);
	if (!err)
		err = cap_get_count(r, CAP_YEARS, 1, CAP_POOL_MAX_DAYS / 365,
				    &b->years, diag);
	if (!err && r->params[CAP_FROM]) {
		b->dated = true;
		if (cap_parse_date(r->params[CAP_FROM], &b->from))
			err = cap_usage(diag, "--from: '%s' is no date such as "
					"2026-05-01", r->params[CAP_FROM]);
	}
	b->days = b->years * 365;
	return err;
}

void cap_put_day(struct cap_text *t, const struct cap_box *b, unsigned day)
{
	if (b->dated) {
		cap_put(t, "on ");
		cap_put_date(t, b->from + day);
		cap_put(t, ", ");
	}
	cap_put(t, "after ");
	cap_put_span(t, day);
}

cap_u128 cap_round_up(double bytes)
{
	cap_u128 v = cap_from_double(bytes), step = 1;

	if (cap_to_double(v) < bytes)
		v++;
	while (v / step >= 1000)
		step *= 10;
	return (v + step - 1) / step * step;
}

/* Results -------------------------------------------------------------------*/

static void explain_versions(struct cap_doc *d, const struct cap_pool *p)
{
	static const unsigned spans[] = { 1, 7, 30, 365 };
	static const char *const names[] = { "day", "week", "month", "year" };
	const unsigned counts[] = { p->keep.days, p->keep.weeks,
				    p->keep.months, p->keep.years };
	unsigned i;

	for (i = 0; i < CAP_ARRAY_SIZE(spans); i++) {
		if (!counts[i])
			continue;
		cap_step(d, "   %u of a %s: of a version that is %u days older "
			 "than the next, 1 - (1 - %R)^%u = %R %% is held by it "
			 "alone", counts[i], names[i], spans[i], p->change, 4,
			 spans[i],
			 100 * cap_pool_changed(p->change, spans[i]), 2);
	}
}

static void explain_stored(struct cap_doc *d, const struct cap_pool *p,
			   const struct cap_pool_need *n)
{
	if (p->change_compression > 0)
		cap_step(d, "4. stored: the newest version's %I / %R "
			 "(compression) + the others' %I / %R (compression of "
			 "what changes) = %B",
			 cap_from_double(n->unique - n->older), p->compression,
			 2, cap_from_double(n->older), p->change_compression, 2,
			 cap_from_double(n->stored));
	else
		cap_step(d, "4. stored: %I / %R (compression) = %B",
			 cap_from_double(n->unique), p->compression, 2,
			 cap_from_double(n->stored));
}

void cap_pool_explain(struct cap_doc *d, const struct cap_pool *p,
		      unsigned day)
{
	struct cap_pool_need n;

	if (!d->explain)
		return;
	cap_pool_at(p, day, &n);
	cap_step(d, "1. one backup on day %u: %N B x (1 + %R)^(%u / 365) = %B",
		 day, cap_from_double(p->data), p->growth, 4, day,
		 cap_from_double(n.data));
	cap_step(d, "2. %u versions are kept; the newest in full, of the older "
		 "ones what has changed:", n.versions);
	explain_versions(d, p);
	cap_step(d, "3. unique: all of that / %R (deduplication within a "
		 "backup) = %B, %N chunks of %I", p->dedup, 2,
		 cap_from_double(n.unique), cap_from_double(n.chunks),
		 cap_n(p->chunk));
	explain_stored(d, p, &n);
	cap_step(d, "5. directories: %N chunks x 35 B = %I; recipes: 36 B for "
		 "each chunk of a backup, and of older versions for the leaves "
		 "(48 entries) with a change in them = %I",
		 cap_from_double(n.chunks), cap_from_double(n.directories),
		 cap_from_double(n.recipes));
	cap_step(d, "6. data disk: %I + %I + %I = %B", cap_from_double(n.stored),
		 cap_from_double(n.directories), cap_from_double(n.recipes),
		 cap_from_double(n.disk));
	cap_step(d, "7. metadata disk: index, %N chunks x 4096 / 204 B = %I, "
		 "twice for merging; catalog %I: %B",
		 cap_from_double(n.chunks), cap_from_double(n.index),
		 cap_from_double(n.catalog), cap_from_double(n.meta_disk));
	cap_step(d, "8. memory to know every chunk: %N x 102.4 B + 22 MiB = %B; "
		 "one chunk in %u is enough to find the others beside it, four "
		 "of each container: %B", cap_from_double(n.chunks),
		 cap_from_double(cap_pool_ram(n.chunks, 0)),
		 1u << cap_pool_hook_shift(p->chunk),
		 cap_from_double(cap_pool_ram(n.chunks,
					      cap_pool_hook_shift(p->chunk))));
}

/* The same more finely, for whoever draws it. */
static void list_curve(struct cap_doc *d, const struct cap_pool *p,
		       const struct cap_box *b)
{
	static const struct cap_column columns[] = {
		{ "day", "", 0, false }, { "disk_bytes", "", 0, false },
		{ "meta_bytes", "", 0, false },
	};
	struct cap_pool_need n;
	unsigned i, day;

	cap_table(d, "curve", columns, CAP_ARRAY_SIZE(columns));
	for (i = 0; i <= NR_CURVE; i++) {
		day = b->days * i / NR_CURVE;
		cap_pool_at(p, day, &n);
		cap_cell_count(d, day);
		cap_cell_bytes(d, cap_from_double(n.disk));
		cap_cell_bytes(d, cap_from_double(n.meta_disk));
		cap_row_end(d);
	}
}

void cap_pool_points(struct cap_doc *d, const struct cap_pool *p,
		     const struct cap_box *b)
{
	static const struct cap_column columns[] = {
		{ "day", "day", 6, false },
		{ "date", "date", 10, true },
		{ "versions", "kept", 6, false },
		{ "backup_bytes", "one backup", 10, false },
		{ "logical_bytes", "all kept", 9, false },
		{ "disk_bytes", "data disk", 9, false },
		{ "meta_bytes", "metadata", 9, false },
		{ "ratio", "ratio", 7, false },
	};
	struct cap_pool_need n;
	char date[24];
	struct cap_text t;
	unsigned i, day;

	cap_table(d, "point", columns, CAP_ARRAY_SIZE(columns));
	for (i = 0; i <= NR_POINTS; i++) {
		day = b->days * i / NR_POINTS;
		cap_pool_at(p, day, &n);
		cap_cell_count(d, day);
		cap_text_init(&t, date, sizeof(date));
		if (b->dated) {
			cap_put_date(&t, b->from + day);
			cap_cell_text(d, date);
		} else {
			cap_cell_none(d);
		}
		cap_cell_count(d, n.versions);
		cap_cell_bytes(d, cap_from_double(n.data));
		cap_cell_bytes(d, cap_from_double(n.logical));
		cap_cell_bytes(d, cap_from_double(n.disk));
		cap_cell_bytes(d, cap_from_double(n.meta_disk));
		cap_cell_fixed(d, cap_from_double(n.logical * 100 / n.disk),
			       100, 2);
		cap_row_end(d);
	}
	if (d->both)
		list_curve(d, p, b);
}

static void show_full(struct cap_doc *d, const struct cap_pool *p,
		      const struct cap_box *b)
{
	char text[96];
	struct cap_text t;
	unsigned day;

	if (!b->disk)
		return;
	cap_fact_bytes(d, "box_disk_bytes", NULL, b->disk);
	day = cap_pool_full(p, cap_to_double(b->disk), cap_to_double(b->meta));
	if (day == UINT32_MAX) {
		cap_fact_none(d, "full_day");
		cap_fact_text(d, NULL, "full", "not within 100 years");
		return;
	}
	cap_text_init(&t, text, sizeof(text));
	cap_put_day(&t, b, day);
	cap_fact_count(d, "full_day", NULL, day);
	cap_fact_text(d, "full_text", "full", "%s", day ? text :
		      "by the first backup");
	if (!b->dated)
		return;
	cap_text_init(&t, text, sizeof(text));
	cap_put_date(&t, b->from + day);
	cap_fact_text(d, "full_date", NULL, "%s", text);
}

static void show_memory(struct cap_doc *d, const struct cap_pool *p,
			const struct cap_pool_need *n, cap_u128 ram)
{
	cap_u128 given = ram ? ram : CAP_POOL_RAM_DEFAULT;
	unsigned shift = cap_pool_ram_shift(n->chunks, cap_to_double(given));
	double hooks = cap_pool_ram(n->chunks, cap_pool_hook_shift(p->chunk));

	cap_fact_bytes(d, "ram_all_bytes", "memory to know every chunk",
		       cap_from_double(cap_pool_ram(n->chunks, 0)));
	cap_fact_bytes(d, "ram_hooks_bytes", "  to find most duplicates",
		       cap_from_double(hooks));
	cap_fact_bytes(d, "ram_bytes", ram ? "  as given" : "  by default",
		       given);
	cap_fact_count(d, "known_one_in", NULL, CAP_POW2(shift));
	cap_fact_text(d, NULL, "    of chunks is known one in", "%N",
		      CAP_POW2(shift));
}

static void show_need(struct cap_doc *d, const struct cap_pool *p,
		      const struct cap_box *b)
{
	struct cap_pool_need n;

	cap_pool_at(p, b->days, &n);
	cap_summary(d, "akin");
	cap_fact_text(d, NULL, "needed", "after %u %s", b->years,
		      b->years == 1 ? "year" : "years");
	cap_fact_count(d, "days", NULL, b->days);
	cap_fact_count(d, "versions", "backups kept", n.versions);
	cap_fact_bytes(d, "logical_bytes", "  as read",
		       cap_from_double(n.logical));
	cap_fact_bytes(d, "unique_bytes", "  different",
		       cap_from_double(n.unique));
	cap_fact_bytes(d, "stored_bytes", "  compressed",
		       cap_from_double(n.stored));
	cap_fact_bytes(d, "directory_bytes", "directories of containers",
		       cap_from_double(n.directories));
	cap_fact_bytes(d, "recipe_bytes", "recipes",
		       cap_from_double(n.recipes));
	cap_fact_bytes(d, "disk_bytes", "data disk",
		       cap_from_double(n.disk));
	cap_fact_bytes(d, "meta_bytes", "metadata disk",
		       cap_from_double(n.meta_disk));
	show_memory(d, p, &n, b->ram);
	show_full(d, p, b);
	cap_summary_end(d);
}

static int check_model(const struct cap_pool *p, const struct cap_box *b,
		       struct akin_diag *diag)
{
	struct cap_pool_need n;

	cap_pool_at(p, b->days, &n);
	if (!n.too_much)
		return 0;
	return cap_usage(diag, "this grows beyond 2^90 bytes within %u years; "
			 "less --growth or fewer --years could be calculated",
			 b->years);
}

int cap_run_akin(const struct cap_request *r, struct cap_doc *d,
		 struct akin_diag *diag)
{
	struct cap_pool p = { .dedup = 1, .compression = 1, .change = 0.01,
			      .keep = { .days = 30 }, .chunk = 8192 };
	struct cap_box b;
	cap_u128 data = 0;
	int err;

	if (r->nr_words)
		return cap_usage(diag, "'%s': akin takes options only",
				 r->words[0]);
	if (!r->params[CAP_DATA]) {
		cap_usage(diag, "how much data has one backup? --data");
		cap_hint(diag, "'capacity akin --data 10TB --change 2%% --keep "
			 "7d4w12m --compression 2'");
		return -AKIN_E_usage;
	}
	err = cap_get_size(r, CAP_DATA, &data, diag);
	if (!err && !data)
		err = cap_usage(diag, "--data: at least a byte");
	p.data = cap_to_double(data);
	if (!err)
		err = cap_pool_params(r, &p, diag);
	if (!err)
		err = cap_box_params(r, &b, diag);
	if (err)
		return err;
	cap_pool_prepare(&p);
	err = check_model(&p, &b, diag);
	if (err)
		return err;
	cap_pool_explain(d, &p, b.days);
	cap_pool_points(d, &p, &b);
	show_need(d, &p, &b);
	return 0;
}
