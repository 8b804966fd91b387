/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diag.h"
#include "base/mem.h"
#include "base/numset.h"

#define PAGE_BYTES 4096
#define PAGE_BITS (8 * PAGE_BYTES)

void numset_release(struct numset *s)
{
	u64 i;

	for (i = 0; i < s->nr_pages; i++)
		mem_free(s->pages[i]);
	mem_free(s->pages);
	memset(s, 0, sizeof(*s));
}

static int grow(struct numset *s, u64 page)
{
	u64 nr = max_u64(page + 1, s->nr_pages * 2);
	u8 **p;

	if (nr > SIZE_MAX / sizeof(*p))
		return -AKIN_E_nomem;
	p = mem_realloc(s->pages, nr * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	memset(p + s->nr_pages, 0, (nr - s->nr_pages) * sizeof(*p));
	s->pages = p;
	s->nr_pages = nr;
	return 0;
}

int numset_add(struct numset *s, u64 number)
{
	u64 page = number / PAGE_BITS;
	u8 *at, bit = (u8)(1u << (number % 8));

	if (page >= s->nr_pages && grow(s, page))
		return -AKIN_E_nomem;
	if (!s->pages[page]) {
		s->pages[page] = mem_zalloc(PAGE_BYTES);
		if (!s->pages[page])
			return -AKIN_E_nomem;
	}
	at = &s->pages[page][number % PAGE_BITS / 8];
	s->nr += !(*at & bit);
	*at |= bit;
	return 0;
}

bool numset_has(const struct numset *s, u64 number)
{
	u64 page = number / PAGE_BITS;

	return page < s->nr_pages && s->pages[page] &&
	       (s->pages[page][number % PAGE_BITS / 8] >> (number % 8) & 1);
}

void numset_drop(struct numset *s, u64 number)
{
	if (!numset_has(s, number))
		return;
	s->pages[number / PAGE_BITS][number % PAGE_BITS / 8] &=
		(u8)~(1u << (number % 8));
	s->nr--;
}
