/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File contents: copy-on-write pages, and the list of unsynced writes.
 */
#include <stdlib.h>

#include "base/check.h"
#include "simdisk_internal.h"

void *sim_alloc(size_t size)
{
	void *p = calloc(1, size);

	akin_assert(p);
	return p;
}

void *sim_grow(void *array, size_t nr, size_t *cap, size_t size)
{
	if (nr < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 8;
	array = realloc(array, *cap * size);
	akin_assert(array);
	return array;
}

char *sim_strdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(sim_alloc(n), s, n);
}

static void page_put(struct sim_page *p)
{
	if (p && atomic_fetch_sub(&p->refs, 1) == 1)
		free(p);
}

void image_release(struct sim_image *img)
{
	size_t i;

	for (i = 0; i < img->nr; i++)
		page_put(img->pages[i]);
	free(img->pages);
	memset(img, 0, sizeof(*img));
}

void image_copy(struct sim_image *to, const struct sim_image *from)
{
	struct sim_image copy = *from;
	size_t i;

	copy.pages = NULL;
	if (copy.nr)
		copy.pages = sim_alloc(copy.nr * sizeof(*copy.pages));
	for (i = 0; i < copy.nr; i++) {
		copy.pages[i] = from->pages[i];
		if (copy.pages[i])
			atomic_fetch_add(&copy.pages[i]->refs, 1);
	}
	image_release(to);
	*to = copy;
}

void image_read(const struct sim_image *img, void *data, size_t n, u64 off)
{
	u8 *out = data;
	size_t at, take;
	u64 i;

	for (; n; n -= take, off += take, out += take) {
		i = off / SIM_PAGE;
		at = off % SIM_PAGE;
		take = n < SIM_PAGE - at ? n : SIM_PAGE - at;
		if (i < img->nr && img->pages[i])
			memcpy(out, img->pages[i]->b + at, take);
		else
			memset(out, 0, take);
	}
}

/* Page @i, there and ours alone. */
static struct sim_page *page_own(struct sim_image *img, u64 i)
{
	struct sim_page *old, *p;
	size_t nr;

	if (i >= img->nr) {
		nr = max_u64(i + 1, img->nr + img->nr / 2);
		img->pages = realloc(img->pages, nr * sizeof(*img->pages));
		akin_assert(img->pages);
		memset(img->pages + img->nr, 0,
		       (nr - img->nr) * sizeof(*img->pages));
		img->nr = nr;
	}
	old = img->pages[i];
	if (old && atomic_load(&old->refs) == 1)
		return old;
	p = sim_alloc(sizeof(*p));
	atomic_init(&p->refs, 1);
	if (old)
		memcpy(p->b, old->b, SIM_PAGE);
	else
		img->nr_alloc++;
	img->pages[i] = p;
	page_put(old);
	return p;
}

void image_write(struct sim_image *img, const void *data, size_t n, u64 off)
{
	const u8 *in = data;
	size_t at, take;

	img->size = n ? max_u64(img->size, off + n) : img->size;
	for (; n; n -= take, off += take, in += take) {
		at = off % SIM_PAGE;
		take = n < SIM_PAGE - at ? n : SIM_PAGE - at;
		memcpy(page_own(img, off / SIM_PAGE)->b + at, in, take);
	}
}

void image_truncate(struct sim_image *img, u64 size)
{
	u64 keep = (size + SIM_PAGE - 1) / SIM_PAGE, i;
	size_t at = size % SIM_PAGE;

	for (i = keep; i < img->nr; i++) {
		if (img->pages[i])
			img->nr_alloc--;
		page_put(img->pages[i]);
		img->pages[i] = NULL;
	}
	/* Bytes past the end must read as zeros when the file grows again. */
	if (size < img->size && at && keep <= img->nr && img->pages[keep - 1])
		memset(page_own(img, keep - 1)->b + at, 0, SIM_PAGE - at);
	img->size = size;
}

void image_reserve(struct sim_image *img, u64 size)
{
	u64 i;

	for (i = 0; i * SIM_PAGE < size; i++) {
		if (i >= img->nr || !img->pages[i])
			(void)page_own(img, i);
	}
	img->size = max_u64(img->size, size);
}

size_t image_missing(const struct sim_image *img, u64 off, u64 n)
{
	size_t missing = 0;
	u64 i;

	for (i = off / SIM_PAGE; n && i <= (off + n - 1) / SIM_PAGE; i++)
		missing += i >= img->nr || !img->pages[i];
	return missing;
}

void image_patch(struct sim_image *img, u64 off, u8 and, u8 xor)
{
	u8 *p;

	if (off >= img->size)
		return;
	p = &page_own(img, off / SIM_PAGE)->b[off % SIM_PAGE];
	*p = (u8)((*p & and) ^ xor);
}

static struct sim_blob *blob_new(const void *data, size_t n)
{
	struct sim_blob *b = sim_alloc(sizeof(*b) + n);

	atomic_init(&b->refs, 1);
	b->len = n;
	if (n)
		memcpy(b->b, data, n);
	return b;
}

static void blob_put(struct sim_blob *b)
{
	if (b && atomic_fetch_sub(&b->refs, 1) == 1)
		free(b);
}

void pending_add(struct sim_inode *in, enum sim_pending_kind kind,
		 const void *data, size_t n, u64 off, u64 size_after)
{
	struct sim_pending *p;

	in->pending = sim_grow(in->pending, in->nr_pending, &in->cap_pending,
			       sizeof(*in->pending));
	p = &in->pending[in->nr_pending++];
	p->kind = kind;
	p->off = off;
	p->size_after = size_after;
	p->blob = kind == PENDING_WRITE ? blob_new(data, n) : NULL;
}

void pending_share(struct sim_inode *to, const struct sim_pending *p)
{
	to->pending = sim_grow(to->pending, to->nr_pending, &to->cap_pending,
			       sizeof(*to->pending));
	to->pending[to->nr_pending++] = *p;
	if (p->blob)
		atomic_fetch_add(&p->blob->refs, 1);
}

void pending_apply(const struct sim_pending *p, struct sim_image *img)
{
	switch (p->kind) {
	case PENDING_WRITE:
		image_write(img, p->blob->b, p->blob->len, p->off);
		break;
	case PENDING_TRUNCATE:
		image_truncate(img, p->size_after);
		break;
	case PENDING_RESERVE:
		image_reserve(img, p->off);
		break;
	case PENDING_GROW:
		img->size = max_u64(img->size, p->size_after);
		break;
	}
}

void pending_lose(struct sim_pending *p)
{
	if (p->kind != PENDING_WRITE)
		return;
	p->kind = PENDING_GROW;
	blob_put(p->blob);
	p->blob = NULL;
}

void pending_clear(struct sim_inode *in)
{
	size_t i;

	for (i = 0; i < in->nr_pending; i++)
		blob_put(in->pending[i].blob);
	in->nr_pending = 0;
}

void pending_patch(struct sim_pending *p, u64 off, u8 and, u8 xor)
{
	struct sim_blob *old = p->blob;
	u8 *byte;

	if (p->kind != PENDING_WRITE || off < p->off ||
	    off - p->off >= old->len)
		return;
	if (atomic_load(&old->refs) > 1) {
		p->blob = blob_new(old->b, old->len);
		blob_put(old);
	}
	byte = &p->blob->b[off - p->off];
	*byte = (u8)((*byte & and) ^ xor);
}
