/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What represents a container: of each segment, the least keys.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "similar/similar_internal.h"

/* The order that says which keys are least. Not that of the table, where they
 * would all lie together. */
static u64 rank_of(u64 key)
{
	key ^= key >> 29;
	return key * 0x9e3779b97f4a7c15ull;
}

static u64 mix(u64 v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

u64 similar_key_sketch(const struct dir_sketch *sk, u32 part)
{
	return mix((u64)(part + 1) << 32 | sk->part[part]) &
	       ~(u64)(SIMILAR_LEVELS - 1);
}

static int compare_ranks(const void *a, const void *b)
{
	u64 x = rank_of(*(const u64 *)a), y = rank_of(*(const u64 *)b);

	return (x > y) - (x < y);
}

/* Least first, each once; returns how many. */
static u32 sort_keys(u64 *keys, u32 nr)
{
	u32 i, n = 0;

	qsort(keys, nr, sizeof(*keys), compare_ranks);
	for (i = 0; i < nr; i++) {
		if (!n || keys[i] != keys[n - 1])
			keys[n++] = keys[i];
	}
	return n;
}

/* 0: 0, 1: 1, 2 and 3: 2, up to 7: 3, and so on. */
static u32 log2_up(u32 i)
{
	return i ? 32 - (u32)__builtin_clz(i) : 0;
}

/*
 * Levels in the order in which room is best spent: a fingerprint, a feature,
 * another fingerprint, and so on; then features by powers of two.
 */
static u8 level_of(u32 i, bool is_feature)
{
	u32 n = log2_up(i);

	return (u8)(n < 4 ? 2 * n + is_feature :
			    min_u64(n + 4, SIMILAR_LEVELS - 1));
}

static_assert(SIMILAR_FPS <= 1 << 3, "they all have levels below the rest");

struct segment {
	u32 container;
	u32 max_fps;
	u64 *fps, *features;	/* reordered when it is added */
	u32 nr_fps, nr_features;
	u64 bytes;
};

static void add_segment(struct similar *s, struct segment *g)
{
	u32 i;
	int err = 0;

	g->nr_fps = sort_keys(g->fps, g->nr_fps);
	g->nr_features = sort_keys(g->features, g->nr_features);
	pthread_mutex_lock(&s->lock);
	for (i = 0; !err && i < g->nr_fps && i < g->max_fps; i++)
		err = similar_put_new_locked(s, g->fps[i] |
					     level_of(i, false), g->container);
	for (i = 0; !err && i < g->nr_features; i++)
		err = similar_put_new_locked(s, g->features[i] |
					     level_of(i, true), g->container);
	pthread_mutex_unlock(&s->lock);
	g->nr_fps = g->nr_features = 0;
	g->bytes = 0;
}

static u32 note_sketch(const struct dir_sketch *sk, u64 *out)
{
	u32 k, nr = 0;

	for (k = 0; k < DIR_SKETCH_PARTS; k++)
		if (sk->part[k])
			out[nr++] = similar_key_sketch(sk, k);
	return nr;
}

static void add_all(struct similar *s, const struct directory *d, u64 *keys)
{
	struct segment g = { .container = (u32)d->container, .fps = keys,
			     .features = keys + d->nr_entries };
	u32 i;

	g.max_fps = d->kind == CONTAINER_DATA ? SIMILAR_FPS : UINT32_MAX;
	for (i = 0; i < d->nr_entries; i++) {
		g.fps[g.nr_fps++] = similar_key_fp(&d->entries[i].fp);
		if (d->sketches)
			g.nr_features += note_sketch(&d->sketches[i],
						     g.features +
						     g.nr_features);
		g.bytes += d->entries[i].len;
		if (g.bytes >= SIMILAR_SEGMENT_BYTES)
			add_segment(s, &g);
	}
	add_segment(s, &g);
}

void similar_add(struct similar *s, const struct directory *d, u64 file_bytes)
{
	u64 *keys;

	/* Their numbers do not fit: 32 PiB of containers. */
	if (d->container > UINT32_MAX)
		return;
	pthread_mutex_lock(&s->lock);
	s->stored_bytes += file_bytes;
	s->changed = true;
	pthread_mutex_unlock(&s->lock);
	keys = mem_calloc((size_t)d->nr_entries * (1 + DIR_SKETCH_PARTS),
			  sizeof(*keys));
	if (keys)
		add_all(s, d, keys);
	mem_free(keys);
}

void similar_add_leaf(struct similar *s, const struct fp *fp, u64 container)
{
	if (container > UINT32_MAX)
		return;
	pthread_mutex_lock(&s->lock);
	/* Without memory it leads nowhere, or is found as others are. */
	ignore_result(similar_put_new_locked(s, similar_key_fp(fp) | 1,
					     (u32)container));
	pthread_mutex_unlock(&s->lock);
}
