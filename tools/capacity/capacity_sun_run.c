/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `akin capacity sun7000`: from words to the table.
 *
 * Two forms, as the appliance's own calculator had them: counts (COUNT, then a
 * word for each JBOD that is not full of disks; steps joined by "add") and,
 * for SAS, a word for each JBOD with its disks for each pool, "8/8/8".
 */
#include "capacity_internal.h"
#include "capacity_sun.h"
#include "capacity_units.h"

#define MAX_STEPS 16
#define HALF_SLOTS 12

/* One pool: disks in the order in which they were added. */
struct pool {
	struct cap_sun_step steps[MAX_STEPS];
	unsigned nr_steps;
	unsigned number;	/* 0: there is only one */
};

/* A profile over all steps. */
struct row {
	unsigned width_min, width_max, spares, data, raw;
	struct cap_sun_layout parts[MAX_STEPS];
};

/* Words ---------------------------------------------------------------------*/

/* "h", "h2", "4": a JBOD with that many log devices. */
static int parse_jbod(const char *word, struct cap_sun_step *s,
		      struct akin_diag *diag)
{
	const char *p = word;
	unsigned slots = CAP_SUN_SLOTS, logs = 0;

	if (*p == 'h') {
		slots = HALF_SLOTS;
		p++;
	}
	if ((*p || slots == CAP_SUN_SLOTS) &&
	    cap_parse_count(p, slots, &logs))
		return cap_usage(diag, "'%s' is no JBOD: write the number of "
				 "its log devices (0 to 24), 'h' for half a "
				 "JBOD, or both (h0 to h12)", word);
	if (s->nr_jbods == CAP_SUN_MAX_JBODS)
		return cap_usage(diag, "more than %u JBODs at a time",
				 (unsigned)CAP_SUN_MAX_JBODS);
	s->logs[s->nr_jbods] = (uint8_t)logs;
	s->disks[s->nr_jbods++] = (uint8_t)(slots - logs);
	return 0;
}

/* "3" or "3h": so many JBODs, full or half, and the words behind. */
static int parse_step(const struct cap_request *r, unsigned *at,
		      struct cap_sun_step *s, struct akin_diag *diag)
{
	const char *word = r->words[*at], *end;
	unsigned count, slots = CAP_SUN_SLOTS;
	int err;

	if (cap_parse_number(word, CAP_SUN_MAX_JBODS, &count, &end) ||
	    !count || (*end && !cap_equal(end, "h")))
		return cap_usage(diag, "'%s' is no number of JBODs: write 1 to "
				 "%u, as in '3', or '3h' for half JBODs",
				 word, (unsigned)CAP_SUN_MAX_JBODS);
	if (*end)
		slots = HALF_SLOTS;
	s->nr_jbods = 0;
	for (++*at; *at < r->nr_words && !cap_equal(r->words[*at], "add");
	     ++*at) {
		if (s->nr_jbods == count)
			return cap_usage(diag, "'%s' is one JBOD more than the "
					 "%u that were announced; join steps "
					 "with 'add'", r->words[*at], count);
		err = parse_jbod(r->words[*at], s, diag);
		if (err)
			return err;
	}
	while (s->nr_jbods < count) {
		s->logs[s->nr_jbods] = 0;
		s->disks[s->nr_jbods++] = (uint8_t)slots;
	}
	return 0;
}

static int parse_steps(const struct cap_request *r, struct pool *p,
		       struct akin_diag *diag)
{
	unsigned at = 0;
	int err;

	p->nr_steps = 0;
	for (;;) {
		if (at == r->nr_words)
			return cap_usage(diag, "behind 'add' a number of JBODs "
					 "must stand");
		if (p->nr_steps == MAX_STEPS)
			return cap_usage(diag, "more than %u steps",
					 (unsigned)MAX_STEPS);
		err = parse_step(r, &at, &p->steps[p->nr_steps], diag);
		if (err)
			return err;
		if (!cap_sun_disks(&p->steps[p->nr_steps++]))
			return cap_usage(diag, "nothing but log devices: there "
					 "is no disk for data");
		if (at++ == r->nr_words)
			return 0;
	}
}

static bool has_slash(const char *s)
{
	while (*s && *s != '/')
		s++;
	return *s;
}

/* The disks that @word gives to pool @number (from 1), and its pools. */
static int parse_sas_word(const char *word, unsigned number, unsigned *disks,
			  unsigned *nr_pools, struct akin_diag *diag)
{
	unsigned v, sum = 0;
	const char *p = word;

	*nr_pools = *disks = 0;
	for (;; p++) {
		if (cap_parse_number(p, CAP_SUN_SLOTS, &v, &p) ||
		    (*p && *p != '/'))
			return cap_usage(diag, "'%s' is no JBOD: write its "
					 "disks for each pool, as in 8/8/8",
					 word);
		sum += v;
		if (++*nr_pools == number)
			*disks = v;
		if (!*p)
			break;
	}
	if (sum <= CAP_SUN_SLOTS)
		return 0;
	return cap_usage(diag, "'%s' needs %u slots, a JBOD has %u", word, sum,
			 (unsigned)CAP_SUN_SLOTS);
}

/* Pool @number of the SAS form. */
static int parse_sas(const struct cap_request *r, unsigned number,
		     struct pool *p, unsigned *nr_pools,
		     struct akin_diag *diag)
{
	struct cap_sun_step *s = &p->steps[0];
	unsigned i, disks, n;
	int err;

	*s = (struct cap_sun_step){ 0 };
	p->nr_steps = 1;
	p->number = number;
	for (i = 0; i < r->nr_words; i++) {
		err = parse_sas_word(r->words[i], number, &disks, &n, diag);
		if (err)
			return err;
		if (i && n != *nr_pools)
			return cap_usage(diag, "'%s' names %u pools, '%s' %u: "
					 "write 0 where a JBOD gives a pool "
					 "nothing", r->words[0], *nr_pools,
					 r->words[i], n);
		*nr_pools = n;
		if (s->nr_jbods == CAP_SUN_MAX_JBODS)
			return cap_usage(diag, "more than %u JBODs",
					 (unsigned)CAP_SUN_MAX_JBODS);
		s->disks[s->nr_jbods++] = (uint8_t)disks;
	}
	return 0;
}

/* Results -------------------------------------------------------------------*/

static bool allocate(const struct pool *p, enum cap_sun_profile profile,
		     bool nspf, struct row *out)
{
	struct cap_sun_layout *l;
	unsigned i;

	*out = (struct row){ .width_min = UINT32_MAX };
	for (i = 0; i < p->nr_steps; i++) {
		l = &out->parts[i];
		if (!cap_sun_allocate(&p->steps[i], profile, nspf, l))
			return false;
		if (l->width < out->width_min)
			out->width_min = l->width;
		if (l->width > out->width_max)
			out->width_max = l->width;
		out->spares += l->spares;
		out->data += l->data;
		out->raw += l->raw;
	}
	return true;
}

/* All widths that were tried, the best marked. */
static void explain_step(struct cap_doc *d, const struct pool *p, unsigned i,
			 enum cap_sun_profile profile, bool nspf,
			 const struct cap_sun_layout *best)
{
	const struct cap_sun_rule *rule = &cap_sun_rules[profile];
	unsigned disks = cap_sun_disks(&p->steps[i]), w;
	struct cap_sun_layout l;
	char list[1600];
	struct cap_text t;

	if (profile == CAP_SUN_STRIPE) {
		cap_step(d, "stripe: all %u disks, no spares", disks);
		return;
	}
	cap_text_init(&t, list, sizeof(list));
	for (w = rule->width_min; w <= rule->width_max; w++) {
		if (!cap_sun_try(&p->steps[i], profile, nspf, w, &l))
			continue;
		cap_put(&t, "%s%u x (%u - %u) = %u%s", t.len ? ", " : "",
			l.nr_vdevs, w, rule->parity, l.raw,
			w == best->width ? " (taken)" : "");
	}
	cap_step(d, "%s%s, step %u: %u disks less at least %u spare in vdevs of "
		 "%u to %u disks, %u of each for %s%s: %s", rule->name,
		 nspf ? " NSPF" : "", i + 1, disks,
		 cap_sun_min_spares(disks), rule->width_min, rule->width_max,
		 rule->parity, profile <= CAP_SUN_MIRROR3 ? "copies" : "parity",
		 nspf ? ", no more than that in one JBOD" : "", list);
}

static void explain_row(struct cap_doc *d, const struct pool *p,
			enum cap_sun_profile profile, bool nspf,
			const struct row *row, cap_u128 disk)
{
	cap_u128 raw = row->raw * disk;
	unsigned i;

	if (!d->explain)
		return;
	for (i = 0; i < p->nr_steps; i++)
		explain_step(d, p, i, profile, nspf, &row->parts[i]);
	cap_step(d, "usable: %u x %N B = %N B; / 2^40 x 63/64 = %F TiB",
		 row->raw, disk, raw, cap_sun_usable_x64(raw), 64 * CAP_TIB, 2);
}

static void show_row(struct cap_doc *d, const struct pool *p,
		     enum cap_sun_profile profile, bool nspf,
		     const struct row *row, cap_u128 disk)
{
	cap_u128 raw = row->raw * disk;

	if (p->number)
		cap_cell_count(d, p->number);
	cap_cell_text(d, cap_sun_rules[profile].name);
	cap_cell_bool(d, nspf);
	if (profile == CAP_SUN_STRIPE)
		cap_cell_none(d);
	else
		cap_cell_range(d, row->width_min, row->width_max, "width_max");
	cap_cell_count(d, row->spares);
	cap_cell_count(d, row->data);
	cap_cell_fixed(d, raw, CAP_TB, 2);
	cap_cell_extra(d, "raw_bytes", raw);
	cap_cell_fixed(d, cap_sun_usable_x64(raw), 64 * CAP_TIB, 2);
	cap_cell_extra(d, "usable_bytes", cap_sun_usable_x64(raw) / 64);
	cap_row_end(d);
}

/* How the disks of each step are laid out, for whoever draws them. */
static void list_layout(struct cap_doc *d, const struct pool *p,
			enum cap_sun_profile profile, bool nspf,
			const struct row *row, cap_u128 disk)
{
	const struct cap_sun_layout *l;
	unsigned i;

	for (i = 0; i < p->nr_steps; i++) {
		l = &row->parts[i];
		cap_cell_count(d, p->number);
		cap_cell_count(d, i + 1);
		cap_cell_text(d, cap_sun_rules[profile].name);
		cap_cell_bool(d, nspf);
		cap_cell_count(d, l->nr_vdevs);
		cap_cell_count(d, l->width);
		cap_cell_count(d, cap_sun_rules[profile].parity);
		cap_row_end(d);
	}
}

/* What @f makes of each profile, without and with NSPF. */
static void each_row(struct cap_doc *d, const struct pool *p, cap_u128 disk,
		     void (*f)(struct cap_doc *d, const struct pool *p,
			       enum cap_sun_profile profile, bool nspf,
			       const struct row *row, cap_u128 disk))
{
	struct row row;
	unsigned i;

	for (i = 0; i < 2 * CAP_SUN_NR_PROFILES; i++) {
		if (!allocate(p, i / 2, i % 2, &row))
			continue;
		f(d, p, i / 2, i % 2, &row, disk);
	}
}

static const struct cap_column layout_columns[] = {
	{ "pool", "", 0, false }, { "step", "", 0, false },
	{ "profile", "", 0, false }, { "nspf", "", 0, false },
	{ "vdevs", "", 0, false }, { "width", "", 0, false },
	{ "parity", "", 0, false },
};

static const struct cap_column columns[] = {
	{ "pool", "pool", 4, false },
	{ "profile", "profile", 12, true },
	{ "nspf", "NSPF", 5, true },
	{ "width", "width", 5, false },
	{ "spares", "spares", 6, false },
	{ "data_drives", "data drives", 11, false },
	{ "raw_tb", "raw (TB)", 9, false },
	{ "usable_tib", "usable (TiB)", 12, false },
};

static void show_disks(struct cap_doc *d, const struct pool *p)
{
	char list[1600];
	struct cap_text t;
	unsigned i, j;

	cap_text_init(&t, list, sizeof(list));
	for (i = 0; i < p->nr_steps; i++) {
		for (j = 0; j < p->steps[i].nr_jbods; j++)
			cap_put(&t, "%s%u", j ? "+" : i ? ", then " : "",
				p->steps[i].disks[j]);
	}
	if (p->number)
		cap_line(d, "Pool %u, data disks of each JBOD: %s", p->number,
			 list);
	else
		cap_line(d, "Data disks of each JBOD: %s", list);
}

/* The JBODs, for whoever draws them. */
static void list_jbods(struct cap_doc *d, const struct pool *p)
{
	static const struct cap_column jbod[] = {
		{ "pool", "", 0, false }, { "step", "", 0, false },
		{ "disks", "", 0, false }, { "logs", "", 0, false },
	};
	unsigned i, j;

	if (!d->json)
		return;
	cap_table(d, "jbod", jbod, CAP_ARRAY_SIZE(jbod));
	for (i = 0; i < p->nr_steps; i++) {
		for (j = 0; j < p->steps[i].nr_jbods; j++) {
			cap_cell_count(d, p->number);
			cap_cell_count(d, i + 1);
			cap_cell_count(d, p->steps[i].disks[j]);
			cap_cell_count(d, p->steps[i].logs[j]);
			cap_row_end(d);
		}
	}
}

static int show_pool(struct cap_doc *d, const struct pool *p, cap_u128 disk,
		     struct akin_diag *diag)
{
	unsigned skip = p->number ? 0 : 1, i, nr_disks = 0;

	for (i = 0; i < p->nr_steps; i++)
		nr_disks += cap_sun_disks(&p->steps[i]);
	if (!nr_disks)
		return cap_usage(diag, "pool %u has no disks", p->number);
	show_disks(d, p);
	list_jbods(d, p);
	each_row(d, p, disk, explain_row);
	if (d->json) {
		cap_table(d, "layout", layout_columns,
			  CAP_ARRAY_SIZE(layout_columns));
		each_row(d, p, disk, list_layout);
	}
	cap_table(d, "profile", columns + skip, CAP_ARRAY_SIZE(columns) - skip);
	each_row(d, p, disk, show_row);
	return 0;
}

int cap_run_sun7000(const struct cap_request *r, struct cap_doc *d,
		    struct akin_diag *diag)
{
	struct pool p = { 0 };
	unsigned nr_pools = 1, i;
	cap_u128 disk = CAP_TB;
	bool sas = false;
	int err;

	if (!r->nr_words) {
		cap_usage(diag, "how many JBODs?");
		cap_hint(diag, "'capacity sun7000 12 4 4' has 12 JBODs, two "
			 "of them with 4 log devices.");
		return -AKIN_E_usage;
	}
	err = cap_get_size(r, CAP_DISK, &disk, diag);
	if (!err && !disk)
		err = cap_usage(diag, "--disk: a disk of no bytes");
	for (i = 0; i < r->nr_words; i++)
		sas = sas || has_slash(r->words[i]);
	for (i = 1; !err && i <= nr_pools; i++) {
		err = sas ? parse_sas(r, i, &p, &nr_pools, diag) :
			    parse_steps(r, &p, diag);
		if (!err)
			err = show_pool(d, &p, disk, diag);
	}
	if (err)
		return err;
	cap_line(d, "NSPF: no single point of failure; a whole JBOD may fail. "
		 "Disks of %S; usable is raw x 63/64, in TiB (2^40 bytes); TB "
		 "is 10^12.", disk);
	cap_summary(d, "sun7000");
	cap_fact_bytes(d, "disk_bytes", NULL, disk);
	cap_summary_end(d);
	return 0;
}
