/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "recipe/hintset.h"

/* Room for @nr containers. */
static bool reserve(struct hintset *s, u32 nr)
{
	u32 cap = s->cap ? s->cap : 8;
	u64 *p;

	while (cap < nr)
		cap *= 2;
	if (cap == s->cap)
		return true;
	p = mem_realloc(s->hint.containers, cap * sizeof(*p));
	if (!p) {
		s->failed = true;
		return false;
	}
	s->hint.containers = p;
	s->cap = cap;
	return true;
}

/* How many are below @container; they mostly come ascending. */
static u32 nr_below(const struct hint *h, u64 container)
{
	u32 lo = 0, hi = h->nr, mid;

	if (h->nr == 0 || h->containers[h->nr - 1] < container)
		return h->nr;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (h->containers[mid] < container)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void hintset_add(struct hintset *s, u64 container)
{
	u32 i = nr_below(&s->hint, container);

	if (container == 0)
		return;
	if (i < s->hint.nr && s->hint.containers[i] == container)
		return;
	if (s->hint.nr >= HINT_MAX || !reserve(s, s->hint.nr + 1))
		return;
	memmove(s->hint.containers + i + 1, s->hint.containers + i,
		(s->hint.nr - i) * sizeof(*s->hint.containers));
	s->hint.containers[i] = container;
	s->hint.nr++;
}

/* How many of @h are not in @s. */
static u32 nr_new(const struct hint *s, const struct hint *h)
{
	u32 i, k = 0, nr = 0;

	for (i = 0; i < h->nr; i++) {
		while (k < s->nr && s->containers[k] < h->containers[i])
			k++;
		nr += k == s->nr || s->containers[k] != h->containers[i];
	}
	return nr;
}

void hintset_add_all(struct hintset *s, const struct hint *h)
{
	u64 *to;
	u32 nr = nr_new(&s->hint, h), i = s->hint.nr, k = h->nr, out;

	if (nr == 0)
		return;
	if (nr > HINT_MAX - s->hint.nr) {
		/* What still fits. */
		for (k = 0; k < h->nr && s->hint.nr < HINT_MAX; k++)
			hintset_add(s, h->containers[k]);
		return;
	}
	if (!reserve(s, s->hint.nr + nr))
		return;
	/* Merge from the back, in place. */
	to = s->hint.containers;
	s->hint.nr += nr;
	for (out = s->hint.nr; k > 0; ) {
		if (i > 0 && to[i - 1] > h->containers[k - 1]) {
			to[--out] = to[--i];
			continue;
		}
		if (i > 0 && to[i - 1] == h->containers[k - 1])
			i--;
		to[--out] = h->containers[--k];
	}
}

void hintset_reset(struct hintset *s)
{
	s->hint.nr = 0;
	s->failed = false;
}

void hintset_release(struct hintset *s)
{
	mem_free(s->hint.containers);
	memset(s, 0, sizeof(*s));
}
