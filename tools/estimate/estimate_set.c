/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing. The slot comes from the upper bits of
 * the fingerprint and the sampling from the lower ones, so that a sample
 * spreads as well as the whole.
 */
#include <math.h>

#include "akin/error.h"
#include "base/mem.h"
#include "estimate_set.h"

/* More would make probing slow, less waste memory. */
#define FULL_OF_4 3

int estimate_set_init(struct estimate_set *s, u64 bytes)
{
	*s = (struct estimate_set){
		.cap = max_u64(bytes, ESTIMATE_SET_MIN) / sizeof(*s->v),
	};
	s->v = mem_calloc(s->cap, sizeof(*s->v));
	return s->v ? 0 : -AKIN_E_nomem;
}

void estimate_set_release(struct estimate_set *s)
{
	mem_free(s->v);
	memset(s, 0, sizeof(*s));
}

static u64 home_of(const struct estimate_set *s, u64 fp)
{
	return (u64)((unsigned __int128)fp * s->cap >> 64);
}

static u64 next_of(const struct estimate_set *s, u64 i)
{
	return i + 1 == s->cap ? 0 : i + 1;
}

static bool sampled(const struct estimate_set *s, u64 fp)
{
	return (fp & (((u64)1 << s->level) - 1)) == 0;
}

/* The entry of @fp, or the free one where it would be. */
static u64 find(const struct estimate_set *s, u64 fp)
{
	u64 i = home_of(s, fp);

	while (s->v[i].fp && s->v[i].fp != fp)
		i = next_of(s, i);
	return i;
}

/* Close the hole at @i with entries that may lie there. */
static void drop(struct estimate_set *s, u64 i)
{
	u64 j, home;

	s->nr--;
	s->sum -= s->v[i].len;
	s->squares -= (double)s->v[i].len * s->v[i].len;
	for (j = next_of(s, i); s->v[j].fp; j = next_of(s, j)) {
		home = home_of(s, s->v[j].fp);
		/* Between hole and entry, cyclically: it must stay. */
		if (i <= j ? i < home && home <= j : i < home || home <= j)
			continue;
		s->v[i] = s->v[j];
		i = j;
	}
	memset(&s->v[i], 0, sizeof(s->v[i]));
}

static void thin_out(struct estimate_set *s)
{
	u64 i;

	s->level++;
	for (i = 0; i < s->cap; i++) {
		while (s->v[i].fp && !sampled(s, s->v[i].fp))
			drop(s, i);
	}
}

static void seen_again(const struct estimate_set *s, struct estimate_entry *v)
{
	u32 nr = v->seen >> 24;

	if (!s->cluster) {
		v->seen += v->seen < UINT32_MAX;
		return;
	}
	if ((v->seen & ESTIMATE_CLUSTER_MAX) == s->cluster)
		return;
	nr += nr < 255;
	v->seen = nr << 24 | s->cluster;
}

enum estimate_seen estimate_set_add(struct estimate_set *s, u64 fp, u32 len)
{
	u64 i;

	/* 0 is a free entry; its neighbour in the sample stands for it. */
	if (!fp)
		fp = (u64)1 << 63;
	if (!sampled(s, fp))
		return ESTIMATE_LEFT_OUT;
	i = find(s, fp);
	if (s->v[i].fp) {
		seen_again(s, &s->v[i]);
		return ESTIMATE_KNOWN;
	}
	s->v[i] = (struct estimate_entry){
		fp, len, s->cluster ? 1u << 24 | s->cluster : 1,
	};
	s->nr++;
	s->sum += len;
	s->squares += (double)len * len;
	/* The level ends where nothing but fp = 2^63 would be left. */
	while (s->nr * 4 >= s->cap * FULL_OF_4 && s->level < 62)
		thin_out(s);
	return ESTIMATE_NEW;
}

u64 estimate_u64(double v)
{
	if (!(v > 0))
		return 0;
	return v < 18446744073709549568.0 ? (u64)ceil(v) : UINT64_MAX;
}

struct estimate_sum estimate_within(u64 value, double error)
{
	u64 e = estimate_u64(error);

	return (struct estimate_sum){
		value, value > e ? value - e : 0,
		value < UINT64_MAX - e ? value + e : UINT64_MAX,
	};
}

static u64 scaled(u64 v, unsigned level)
{
	return v > UINT64_MAX >> level ? UINT64_MAX : v << level;
}

struct estimate_sum estimate_scale(u64 sum, double squares, unsigned level)
{
	double scale = (double)((u64)1 << level);

	/* Of independent choices with p = 1 / scale; 0 at level 0. */
	return estimate_within(scaled(sum, level), ESTIMATE_DEVIATIONS *
			       sqrt(squares * scale * (scale - 1)));
}

struct estimate_sum estimate_set_count(const struct estimate_set *s)
{
	return estimate_scale(s->nr, (double)s->nr, s->level);
}

struct estimate_sum estimate_set_bytes(const struct estimate_set *s)
{
	return estimate_scale(s->sum, s->squares, s->level);
}

void estimate_set_histogram(const struct estimate_set *s,
			    struct estimate_bucket out[ESTIMATE_BUCKETS])
{
	const struct estimate_entry *v;
	struct estimate_bucket *b;
	u64 i;

	memset(out, 0, ESTIMATE_BUCKETS * sizeof(*out));
	for (i = 0; i < s->cap; i++) {
		v = &s->v[i];
		if (!v->fp)
			continue;
		b = &out[31 - __builtin_clz(v->seen)];
		b->blocks++;
		b->bytes += v->len;
		b->refs += v->seen;
		b->ref_bytes += (u64)v->seen * v->len;
	}
	for (i = 0; i < ESTIMATE_BUCKETS; i++) {
		b = &out[i];
		b->blocks = scaled(b->blocks, s->level);
		b->bytes = scaled(b->bytes, s->level);
		b->refs = scaled(b->refs, s->level);
		b->ref_bytes = scaled(b->ref_bytes, s->level);
	}
}
