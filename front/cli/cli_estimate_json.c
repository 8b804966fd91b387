/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin estimate --json: docs/design/capacity.md has the members.
 *
 * The last object is what 'akin capacity plan' reads.
 */
#include <math.h>

#include "cli_estimate.h"

static void json_double(struct cli_json *j, const char *key, double v)
{
	cli_str_addf(&j->out, ",\"%s\":%.6f", key, isfinite(v) ? v : 0);
}

/* KEY, KEY_low and KEY_high. */
static void json_sum(struct cli_json *j, const char *key,
		     const struct estimate_sum *s)
{
	char name[80];

	cli_json_uint(j, key, s->value);
	snprintf(name, sizeof(name), "%s_low", key);
	cli_json_uint(j, name, s->low);
	snprintf(name, sizeof(name), "%s_high", key);
	cli_json_uint(j, name, s->high);
}

static void codecs_json(struct cli_json *j, const struct estimate_result *r)
{
	char key[64];
	int i;

	for (i = 0; i < ESTIMATE_NR_CODECS; i++) {
		snprintf(key, sizeof(key), "factor_%s", estimate_codecs[i]);
		json_double(j, key, r->factor[i]);
		snprintf(key, sizeof(key), "product_%s", estimate_codecs[i]);
		cli_json_ratio(j, key, r->bytes, r->stored[i].value);
		snprintf(key, sizeof(key), "stored_bytes_%s",
			 estimate_codecs[i]);
		json_sum(j, key, &r->stored[i]);
	}
}

static void method_json(const struct cli_estimate *e, unsigned i)
{
	const struct estimate_method *m = &estimate_methods[i];
	const struct estimate_result *r = &e->r[i];
	struct cli_json *j = &e->c->json;
	struct estimate_needs n;

	estimate_get_needs(r, i, &n);
	cli_json_begin(j, "method");
	cli_json_text(j, "cut", m->name);
	cli_json_uint(j, "block_bytes", m->block);
	cli_json_uint(j, "logical_bytes", r->bytes);
	cli_json_uint(j, "blocks", r->blocks);
	json_sum(j, "distinct", &r->distinct);
	json_sum(j, "unique_bytes", &r->unique);
	cli_json_ratio(j, "dedup", r->bytes, r->unique.value);
	cli_json_uint(j, "sampled_one_in", (uint64_t)1 << r->level);
	cli_json_uint(j, "compressed_sample_bytes", r->sample_bytes);
	codecs_json(j, r);
	cli_json_uint(j, "zfs_table_bytes", n.zfs_memory);
	cli_json_uint(j, "zfs_table_disk_bytes", n.zfs_disk);
	if (i == ESTIMATE_4K) {
		cli_json_uint(j, "vdo_memory_bytes", n.vdo_memory);
		cli_json_uint(j, "vdo_disk_bytes", n.vdo_disk);
	}
	cli_json_uint(j, "akin_index_bytes", n.akin_index);
	cli_json_uint(j, "akin_directory_bytes", n.akin_directories);
	cli_json_uint(j, "akin_recipe_bytes", n.akin_recipes);
	cli_json_uint(j, "akin_memory_bytes", n.akin_memory);
	cli_json_uint(j, "akin_hooks_bytes", n.akin_hooks);
	cli_json_end(j, stdout);
}

static void references_json(const struct cli_estimate *e)
{
	const struct estimate_references *r = &e->refs;
	struct cli_json *j = &e->c->json;

	if (!r->known)
		return;
	cli_json_begin(j, "references");
	cli_json_uint(j, "tried_bytes", r->fed);
	json_double(j, "factor", r->factor);
	json_sum(j, "stored_bytes", &r->stored);
	cli_json_uint(j, "metadata_bytes", r->metadata.value);
	cli_json_ratio(j, "product", e->r[ESTIMATE_POOL].bytes,
		       r->stored.value);
	cli_json_end(j, stdout);
}

static void histogram_json(const struct cli_estimate *e)
{
	struct estimate_bucket b[ESTIMATE_BUCKETS];
	struct cli_json *j = &e->c->json;
	int i;

	if (estimate_share(e->e) < 1)
		return;
	estimate_histogram(e->e, ESTIMATE_POOL, b);
	for (i = 0; i < ESTIMATE_BUCKETS; i++) {
		if (!b[i].blocks)
			continue;
		cli_json_begin(j, "histogram");
		cli_json_uint(j, "references", (uint64_t)1 << i);
		cli_json_uint(j, "blocks", b[i].blocks);
		cli_json_uint(j, "bytes", b[i].bytes);
		cli_json_uint(j, "referenced_blocks", b[i].refs);
		cli_json_uint(j, "referenced_bytes", b[i].ref_bytes);
		cli_json_end(j, stdout);
	}
}

static void states_json(const struct cli_estimate *e)
{
	uint32_t i, nr = estimate_nr_states(e->e);
	struct cli_json *j = &e->c->json;
	const struct estimate_state *s;

	for (i = 0; nr > 1 && i < nr; i++) {
		s = estimate_get_state(e->e, i);
		cli_json_begin(j, "state");
		cli_json_uint(j, "state", i + 1);
		if (s->time)
			cli_json_time(j, "time", s->time, 0);
		cli_json_uint(j, "logical_bytes", s->bytes);
		cli_json_uint(j, "new_bytes", s->fresh);
		if (s->stored)
			cli_json_uint(j, "stored_bytes", s->stored);
		cli_json_end(j, stdout);
	}
}

static void places_json(const struct cli_estimate *e, enum estimate_order by,
			bool dirs)
{
	struct cli_json *j = &e->c->json;
	const struct estimate_place *v;
	uint32_t i, nr;

	v = estimate_places(e->e, by, dirs, &nr);
	for (i = 0; i < nr; i++) {
		cli_json_begin(j, dirs ? "directory" : "file");
		cli_json_text(j, "order", by == ESTIMATE_SAVES ? "saves" :
								 "takes");
		cli_json_name(j, "path", v[i].path);
		cli_json_uint(j, "logical_bytes", v[i].bytes);
		cli_json_uint(j, "stored_bytes", v[i].stored);
		cli_json_end(j, stdout);
	}
}

/* In what one backup of the data takes, for a plan. */
static void estimate_json(const struct cli_estimate *e)
{
	const struct estimate_result *r = &e->r[ESTIMATE_POOL];
	const struct estimate_series *s = &e->series;
	uint64_t logical = r->bytes, unique = r->unique.value, chunk = 0;
	uint64_t stored = e->refs.known ? e->refs.stored.value :
					  r->stored[ESTIMATE_ZSTD].value;
	struct cli_json *j = &e->c->json;

	if (r->distinct.value)
		chunk = r->unique.value / r->distinct.value;
	if (e->is_series) {
		logical = s->bytes;
		unique = estimate_u64((double)logical / s->dedup);
		stored = estimate_u64((double)unique / s->compression);
	}
	cli_json_begin(j, "estimate");
	cli_json_uint(j, "version", 1);
	cli_json_uint(j, "logical_bytes", logical);
	cli_json_uint(j, "unique_bytes", unique);
	cli_json_uint(j, "stored_bytes", stored);
	/* A plan takes no others; without it, it goes by the default. */
	if (chunk >= 1024 && chunk <= 1048576)
		cli_json_uint(j, "chunk_bytes", chunk);
	if (e->is_series) {
		cli_json_uint(j, "states", s->states);
		json_double(j, "days_between", s->days);
		json_double(j, "change_per_day", s->change_per_day);
		json_double(j, "growth_per_year", s->growth_per_year);
		json_double(j, "change_compression", s->change_compression);
	}
	cli_json_end(j, stdout);
}

void cli_estimate_json(const struct cli_estimate *e)
{
	struct cli_json *j = &e->c->json;
	unsigned i;

	if (estimate_share(e->e) < 1) {
		cli_json_begin(j, "sample");
		json_double(j, "share", estimate_share(e->e));
		cli_json_uint(j, "logical_bytes", e->walk.bytes);
		cli_json_end(j, stdout);
	}
	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		method_json(e, i);
	references_json(e);
	histogram_json(e);
	states_json(e);
	for (i = 0; i < 4; i++)
		places_json(e, i / 2 ? ESTIMATE_TAKES : ESTIMATE_SAVES, i % 2);
	estimate_json(e);
}
