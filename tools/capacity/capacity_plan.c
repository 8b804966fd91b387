/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `akin capacity plan`: does what was estimated fit into a box, until when,
 * and what else would make it fit? One line.
 */
#include "capacity_json.h"
#include "capacity_pool_run.h"

#define ANSWER_BYTES 1024
#define SCHEMA_VERSION 1

struct estimate {
	bool is_estimate;
	double version, logical, unique, stored, chunk, change, growth;
	double change_compression;
};

static void take_member(struct estimate *e, const struct cap_json_member *m,
			struct akin_diag *diag)
{
	const struct { const char *key; double *to; } numbers[] = {
		{ "version", &e->version }, { "logical_bytes", &e->logical },
		{ "unique_bytes", &e->unique }, { "stored_bytes", &e->stored },
		{ "chunk_bytes", &e->chunk }, { "change_per_day", &e->change },
		{ "growth_per_year", &e->growth },
		{ "change_compression", &e->change_compression },
	};
	unsigned i;

	if (cap_json_is(m->key, m->key_len, "type"))
		e->is_estimate = m->kind == CAP_JSON_STRING &&
				 cap_json_is(m->value, m->value_len,
					     "estimate");
	for (i = 0; i < CAP_ARRAY_SIZE(numbers); i++) {
		if (cap_json_is(m->key, m->key_len, numbers[i].key) &&
		    cap_json_number(m, numbers[i].to))
			cap_usage(diag, "estimate: %s is no "
				 "number from 0 to 2^90", numbers[i].key);
	}
}

static const struct estimate nothing_known = {
	.logical = -1, .unique = -1, .stored = -1, .chunk = -1, .change = -1,
	.growth = -1, .version = -1, .change_compression = -1,
};

/* The last object of type "estimate". */
static int read_estimate(const struct cap_request *r, struct estimate *out,
			 struct akin_diag *diag)
{
	struct estimate e = nothing_known;
	struct cap_json_member m;
	enum cap_json_event event;
	struct akin_diag bad = { 0 };
	bool found = false;
	struct cap_json j;

	cap_json_init(&j, r->estimate, r->estimate_len);
	while ((event = cap_json_next(&j, &m)) != CAP_JSON_END) {
		if (event == CAP_JSON_BAD)
			return cap_usage(diag, "the estimate "
					"is no JSON from byte %N on",
					cap_n(j.p - r->estimate));
		if (event == CAP_JSON_MEMBER) {
			take_member(&e, &m, &bad);
			continue;
		}
		if (e.is_estimate && bad.code)
			return cap_usage(diag, "%s", bad.text);
		if (e.is_estimate)
			*out = e;
		found = found || e.is_estimate;
		e = nothing_known;
		bad = (struct akin_diag){ 0 };
	}
	if (!found)
		return cap_usage(diag, "there is no object of "
				"type \"estimate\" in it");
	return 0;
}

static int check_estimate(const struct estimate *e, struct akin_diag *diag)
{
	const char *missing = e->logical <= 0 ? "logical_bytes" :
			      e->unique <= 0 ? "unique_bytes" :
			      e->stored <= 0 ? "stored_bytes" : NULL;

	if (e->version != -1 && e->version != SCHEMA_VERSION)
		return cap_usage(diag, "the estimate is of "
				"another version than %u",
				(unsigned)SCHEMA_VERSION);
	if (missing)
		return cap_usage(diag, "estimate: %s is missing "
				"or 0", missing);
	if (e->logical > cap_to_double(CAP_MAX_INPUT))
		return cap_usage(diag, "estimate: more than "
				"2^80 bytes");
	if (e->unique > e->logical)
		return cap_usage(diag, "estimate: unique_bytes "
				"is more than logical_bytes");
	if (e->stored > e->unique * 100 || e->unique > e->stored * 1e6 ||
	    e->logical > e->unique * 1e6)
		return cap_usage(diag, "estimate: factors "
				"beyond 0.01 and 1000000");
	if (e->change > 1 || e->growth > 10)
		return cap_usage(diag, "estimate: "
				"change_per_day is a share up to 1, "
				"growth_per_year up to 10");
	if (e->change_compression != -1 && (e->change_compression < 0.01 ||
					    e->change_compression > 1e6))
		return cap_usage(diag, "estimate: change_compression is a "
				"factor from 0.01 to 1000000");
	if (e->chunk >= 0 && (e->chunk < CAP_POOL_CHUNK_MIN ||
			      e->chunk > CAP_POOL_CHUNK_MAX))
		return cap_usage(diag, "estimate: chunk_bytes "
				"is not from 1024 to 1048576");
	return 0;
}

static void pool_of(const struct estimate *e, struct cap_pool *p)
{
	p->data = e->logical;
	p->dedup = e->logical / e->unique;
	p->compression = e->unique / e->stored;
	if (e->change >= 0)
		p->change = e->change;
	if (e->change_compression > 0)
		p->change_compression = e->change_compression;
	if (e->growth >= 0)
		p->growth = e->growth;
	if (e->chunk >= 0)
		p->chunk = (unsigned)e->chunk;
}

/* What would make it fit ----------------------------------------------------*/

static bool fits(const struct cap_pool *p, const struct cap_box *b)
{
	struct cap_pool_need n;

	cap_pool_at(p, b->days, &n);
	return cap_pool_fits(&n, cap_to_double(b->disk),
			     cap_to_double(b->meta));
}

/* As cap_put(). */
#define add_way(t, ...) \
	(cap_put(t, "%s", (t)->len ? ", or " : ""), cap_put(t, __VA_ARGS__))

static void way_disks(struct cap_text *t, const struct cap_pool_need *n,
		      const struct cap_box *b)
{
	double disk = cap_to_double(b->disk), meta = cap_to_double(b->meta);
	bool larger;

	if (n->too_much)
		return;
	if (!b->meta) {
		add_way(t, "a disk of %S", cap_round_up(n->disk + n->meta_disk));
		if (n->disk <= disk)
			add_way(t, "a metadata disk of %S beside it",
				cap_round_up(n->meta_disk));
		return;
	}
	larger = n->disk > disk;
	if (larger)
		add_way(t, "a disk of %S", cap_round_up(n->disk));
	if (n->meta_disk > meta)
		cap_put(t, "%sa metadata disk of %S", larger ? " and " : "",
			cap_round_up(n->meta_disk));
}

/* Fewer daily backups; the largest number that fits. */
static void way_keep(struct cap_text *t, struct cap_pool p,
		     const struct cap_box *b)
{
	unsigned low = 0, high = cap_pool_versions(&p.keep), mid;

	if (high > CAP_KEEP_MAX)
		high = CAP_KEEP_MAX;
	p.keep = (struct cap_keep){ 0 };
	while (low < high) {
		mid = low + (high - low + 1) / 2;
		p.keep.days = mid;
		if (fits(&p, b))
			low = mid;
		else
			high = mid - 1;
	}
	if (low)
		add_way(t, "--keep %ud", low);
}

/* The smallest step in compression: tenths, up to four times. */
static void way_compression(struct cap_text *t, struct cap_pool p,
			    const struct cap_box *b)
{
	double given = p.compression;
	unsigned tenths = (unsigned)(given * 10) + 1;

	for (; tenths <= given * 40; tenths += tenths / 100 + 1) {
		p.compression = tenths / 10.0;
		if (!fits(&p, b))
			continue;
		add_way(t, "compression of %Rx instead of %Rx", p.compression,
			1, given, 1);
		return;
	}
}

static void way_change(struct cap_text *t, struct cap_pool p,
		       const struct cap_box *b)
{
	double low = 0, high = p.change, given = p.change;
	unsigned i;

	p.change = 0;
	if (!fits(&p, b))
		return;
	for (i = 0; i < 40; i++) {
		p.change = (low + high) / 2;
		if (fits(&p, b))
			low = p.change;
		else
			high = p.change;
	}
	/* Down to hundredths of a percent; less is no way out. */
	low = (double)(uint64_t)(low * 10000) / 10000;
	if (low > 0)
		add_way(t, "a change of %R%% a day instead of %R%%", low * 100,
			2, given * 100, 2);
}

static void way_chunks(struct cap_text *t, struct cap_pool p,
		       const struct cap_box *b)
{
	while (p.chunk < CAP_POOL_CHUNK_MAX) {
		p.chunk = p.chunk > CAP_POOL_CHUNK_MAX / 2 ?
			  CAP_POOL_CHUNK_MAX : p.chunk * 2;
		if (!fits(&p, b))
			continue;
		add_way(t, "chunks of %I (--chunk-size)", cap_n(p.chunk));
		return;
	}
}

static void put_ways(struct cap_text *t, const struct cap_pool *p,
		     const struct cap_box *b)
{
	struct cap_pool_need n;

	cap_pool_at(p, b->days, &n);
	way_disks(t, &n, b);
	way_keep(t, *p, b);
	way_compression(t, *p, b);
	way_change(t, *p, b);
	way_chunks(t, *p, b);
}

/* The answer ----------------------------------------------------------------*/

static void put_until(struct cap_text *t, const struct cap_box *b,
		      unsigned full)
{
	if (full == UINT32_MAX) {
		cap_put(t, "for 100 years");
		return;
	}
	if (b->dated) {
		cap_put(t, "until ");
		cap_put_date(t, b->from + full - 1);
		cap_put(t, " (");
		cap_put_span(t, full - 1);
		cap_put(t, ")");
		return;
	}
	cap_put(t, "for ");
	cap_put_span(t, full - 1);
}

/* Memory never decides, but with little of it more is stored twice. */
static void put_ram(struct cap_text *t, const struct cap_pool *p,
		    const struct cap_pool_need *n, const struct cap_box *b)
{
	double hooks = cap_pool_ram(n->chunks, cap_pool_hook_shift(p->chunk));

	if (b->ram && cap_to_double(b->ram) < hooks)
		cap_put(t, "; %I of memory would find more duplicates than %I",
			cap_from_double(hooks), b->ram);
}

static void put_answer(struct cap_text *t, const struct cap_pool *p,
		       const struct cap_box *b, bool ram_ok, unsigned full,
		       const char *ways)
{
	struct cap_pool_need n;
	double disk;

	cap_pool_at(p, b->days, &n);
	disk = b->meta ? n.disk : n.disk + n.meta_disk;
	if (!ram_ok) {
		cap_put(t, "does not fit: %I of memory, akin needs at least %I",
			b->ram, CAP_POOL_RAM_MIN);
		return;
	}
	if (full > b->days) {
		cap_put(t, "fits: %S of %S after %u years, ",
			cap_from_double(disk), b->disk, b->years);
		put_until(t, b, full);
		put_ram(t, p, &n, b);
		return;
	}
	cap_put(t, "does not fit: full ");
	if (full)
		cap_put_day(t, b, full);
	else
		cap_put(t, "by the first backup");
	cap_put(t, "; would fit %u years with %s", b->years,
		*ways ? ways : "less data only");
}

static void show_plan(struct cap_doc *d, const struct cap_pool *p,
		      const struct cap_box *b)
{
	char answer[ANSWER_BYTES], ways[ANSWER_BYTES / 2], date[24];
	bool ram_ok = !b->ram || b->ram >= CAP_POOL_RAM_MIN;
	struct cap_text t, w, at;
	struct cap_pool_need n;
	unsigned full;

	full = cap_pool_full(p, cap_to_double(b->disk), cap_to_double(b->meta));
	cap_text_init(&w, ways, sizeof(ways));
	if (full <= b->days)
		put_ways(&w, p, b);
	cap_text_init(&t, answer, sizeof(answer));
	put_answer(&t, p, b, ram_ok, full, ways);
	cap_pool_at(p, b->days, &n);
	cap_summary(d, "plan");
	if (!d->json)
		cap_put(d->out, "%s\n", answer);
	cap_fact_bool(d, "fits", NULL, ram_ok && full > b->days);
	cap_fact_text(d, "answer", NULL, "%s", answer);
	cap_fact_text(d, "ways", NULL, "%s", ways);
	cap_fact_bytes(d, "box_disk_bytes", NULL, b->disk);
	cap_fact_count(d, "days", NULL, b->days);
	cap_fact_bytes(d, "disk_bytes", NULL, cap_from_double(n.disk));
	cap_fact_bytes(d, "meta_bytes", NULL, cap_from_double(n.meta_disk));
	if (full == UINT32_MAX) {
		cap_fact_none(d, "full_day");
	} else {
		cap_fact_count(d, "full_day", NULL, full);
		cap_text_init(&at, date, sizeof(date));
		cap_put_date(&at, b->from + full);
		if (b->dated)
			cap_fact_text(d, "full_date", NULL, "%s", date);
	}
	cap_summary_end(d);
}

int cap_run_plan(const struct cap_request *r, struct cap_doc *d,
		 struct akin_diag *diag)
{
	struct cap_pool p = { .change = 0.01, .keep = { .days = 30 },
			      .chunk = 8192 };
	struct estimate e = nothing_known;
	struct cap_box b;
	int err;

	if (!r->estimate) {
		cap_usage(diag, "which estimate? a file, or '-' for standard "
			  "input");
		cap_hint(diag, "'capacity plan estimate.json --disk 20TB'");
		return -AKIN_E_usage;
	}
	err = cap_box_params(r, &b, diag);
	if (!err && !b.disk)
		err = cap_usage(diag, "how large is the box? --disk 20TB");
	if (!err)
		err = read_estimate(r, &e, diag);
	if (!err)
		err = check_estimate(&e, diag);
	if (err)
		return err;
	pool_of(&e, &p);
	err = cap_pool_params(r, &p, diag);
	if (err)
		return err;
	cap_pool_prepare(&p);
	cap_pool_explain(d, &p, b.days);
	if (d->json)
		cap_pool_points(d, &p, &b);
	show_plan(d, &p, &b);
	return 0;
}
