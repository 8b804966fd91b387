/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "recipe/hintset.h"

static bool grow(struct hintset *s)
{
	u32 cap = s->cap ? s->cap * 2 : 8;
	u64 *p;

	if (s->hint.nr < s->cap)
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

void hintset_add(struct hintset *s, u64 container)
{
	u32 i = s->hint.nr;

	if (container == 0)
		return;
	/* Numbers mostly come ascending, and the same one many times. */
	while (i > 0 && s->hint.containers[i - 1] > container)
		i--;
	if (i > 0 && s->hint.containers[i - 1] == container)
		return;
	if (s->hint.nr >= HINT_MAX || !grow(s))
		return;
	memmove(s->hint.containers + i + 1, s->hint.containers + i,
		(s->hint.nr - i) * sizeof(*s->hint.containers));
	s->hint.containers[i] = container;
	s->hint.nr++;
}

void hintset_add_all(struct hintset *s, const struct hint *h)
{
	u32 i;

	for (i = 0; i < h->nr; i++)
		hintset_add(s, h->containers[i]);
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
