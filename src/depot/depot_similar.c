/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding by similarity: all that is missing votes for the containers that it
 * represents, and the directories of those with the most votes are looked into.
 */
#include "base/mem.h"
#include "depot/depot_internal.h"

/* Asked for at a time. */
#define KEYS 256
/* Votes are counted for so many containers, and so many are looked into. */
#define CANDIDATES_MAX 64
#define LOADS_MAX 16

struct candidate {
	u64 container;
	u64 key;		/* of one of its votes */
	u32 votes;
};

struct vote {
	struct candidate c[CANDIDATES_MAX];
	u32 nr;
};

static void cast(struct vote *v, u64 container, u64 key)
{
	u32 i;

	for (i = 0; i < v->nr && v->c[i].container != container; i++)
		;
	if (i == CANDIDATES_MAX)
		return;
	if (i == v->nr) {
		v->c[i].container = container;
		v->c[i].votes = 0;
		v->nr++;
	}
	v->c[i].key = key;
	v->c[i].votes++;
}

/* Most votes first, of equal ones the newest; it is taken out. */
static bool next_candidate(struct vote *v, struct candidate *out)
{
	struct candidate *best = NULL;
	u32 i;

	for (i = 0; i < v->nr; i++) {
		if (!best || v->c[i].votes > best->votes ||
		    (v->c[i].votes == best->votes &&
		     v->c[i].container > best->container))
			best = &v->c[i];
	}
	if (!best)
		return false;
	*out = *best;
	*best = v->c[--v->nr];
	return true;
}

static u32 ask(struct depot *d, const u64 *keys, u32 n, struct vote *v)
{
	u64 at[KEYS];
	u32 i, hits = 0;

	similar_lookup(d->similar, keys, n, at);
	for (i = 0; i < n; i++) {
		if (!at[i])
			continue;
		cast(v, at[i], keys[i]);
		hits++;
	}
	counters_add(d->counters, similar_lookups, n);
	counters_add(d->counters, similar_hits, hits);
	return hits;
}

static u32 vote_all(struct depot *d, const struct fp *fps,
		    const struct dir_hit *out, u32 n, struct vote *v)
{
	u32 i, nr = 0, missing = 0;
	u64 keys[KEYS] = { 0 };

	for (i = 0; i < n; i++) {
		if (out[i].container)
			continue;
		missing++;
		keys[nr++] = similar_key_fp(&fps[i]);
		if (nr == KEYS) {
			ask(d, keys, nr, v);
			nr = 0;
		}
	}
	ask(d, keys, nr, v);
	return missing;
}

/* Its directory into memory; false: it cannot be had, or was there. */
static bool load(struct depot *d, const struct candidate *c)
{
	if (dircache_has(d->dirs, c->container))
		return false;
	counters_add(d->counters, similar_loads, 1);
	if (!dircache_load(d->dirs, c->container, NULL))
		return true;
	similar_drop(d->similar, c->key, c->container);
	return false;
}

/* Of what is missing, what is in memory now; returns how many. */
static u32 find_loaded(struct depot *d, const struct fp *fps, u32 n,
		       struct dir_hit *out)
{
	u32 i, found = 0;

	for (i = 0; i < n; i++) {
		if (out[i].container)
			continue;
		dircache_lookup(d->dirs, &fps[i], 1, &out[i]);
		depot_drop_damaged(d, &out[i], 1);
		found += out[i].container != 0;
	}
	return found;
}

void depot_find_similar(struct depot *d, const struct fp *fps, u32 n,
			struct dir_hit *out)
{
	struct candidate c;
	struct vote v;
	u32 missing, loads = 0, found = 0;

	v.nr = 0;
	missing = vote_all(d, fps, out, n, &v);
	while (found < missing && loads < LOADS_MAX && next_candidate(&v, &c)) {
		if (!load(d, &c))
			continue;
		loads++;
		found += find_loaded(d, fps, n, out);
	}
	counters_add(d->counters, chunks_similar, found);
}

/* Resemblance ----------------------------------------------------------------*/

/* The best entry of a container, if it is better than *best. */
static void look_into(struct depot *d, u64 container,
		      const struct dir_sketch *sk, u32 *best,
		      struct dir_hit *out)
{
	const struct directory *dir;
	struct container_reader *r;
	u32 i, equal;

	if (dircache_get(d->dirs, container, &r, NULL))
		return;
	dir = container_directory(r);
	for (i = 0; dir->sketches && i < dir->nr_entries &&
		    *best < DIR_SKETCH_PARTS; i++) {
		equal = sketch_equal(sk, &dir->sketches[i]);
		if (equal <= *best || depot_is_damaged(d, container,
						       dir->entries[i].entry))
			continue;
		*best = equal;
		out->container = container;
		out->entry = dir->entries[i].entry;
		out->len = dir->entries[i].len;
	}
	dircache_put(d->dirs, container);
}

bool depot_resembling(struct depot *d, const struct dir_sketch *sk, u64 first,
		      u32 *loads, struct dir_hit *out)
{
	u64 keys[DIR_SKETCH_PARTS];
	struct candidate c;
	struct vote v;
	u32 k, best = 0;

	if (!d->similar)
		return false;
	for (k = 0; k < DIR_SKETCH_PARTS; k++)
		keys[k] = similar_key_sketch(sk, k);
	v.nr = 0;
	if (first)
		look_into(d, first, sk, &best, out);
	if (best < DIR_SKETCH_PARTS)
		ask(d, keys, DIR_SKETCH_PARTS, &v);
	while (best < DIR_SKETCH_PARTS && next_candidate(&v, &c)) {
		if (c.container == first)
			continue;
		if (!dircache_has(d->dirs, c.container)) {
			if (!*loads)
				continue;
			--*loads;
			if (!load(d, &c))
				continue;
		}
		look_into(d, c.container, sk, &best, out);
	}
	return best > 0;
}
