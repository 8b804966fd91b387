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

/* Of a normal distribution, 99 in 100 lie within so many deviations. */
#define DEVIATIONS 2.576
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

bool estimate_set_add(struct estimate_set *s, u64 fp, u32 len)
{
	u64 i;

	/* 0 is a free entry; its neighbour in the sample stands for it. */
	if (!fp)
		fp = (u64)1 << 63;
	if (!sampled(s, fp))
		return false;
	i = find(s, fp);
	if (s->v[i].fp)
		return false;
	s->v[i] = (struct estimate_entry){ fp, len, 0 };
	s->nr++;
	s->sum += len;
	s->squares += (double)len * len;
	/* The level ends where nothing but fp = 2^63 would be left. */
	while (s->nr * 4 >= s->cap * FULL_OF_4 && s->level < 62)
		thin_out(s);
	return sampled(s, fp);
}

struct estimate_sum estimate_scale(u64 sum, double squares, unsigned level)
{
	double scale = (double)((u64)1 << level);
	struct estimate_sum out = { sum << level, 0 };

	/* Of independent choices with p = 1 / scale. */
	if (level)
		out.error = (u64)ceil(DEVIATIONS * sqrt(squares * scale *
							(scale - 1)));
	return out;
}

struct estimate_sum estimate_set_count(const struct estimate_set *s)
{
	return estimate_scale(s->nr, (double)s->nr, s->level);
}

struct estimate_sum estimate_set_bytes(const struct estimate_set *s)
{
	return estimate_scale(s->sum, s->squares, s->level);
}
