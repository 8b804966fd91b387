/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table's file, as a whole, both ways.
 */
#include "base/mem.h"
#include "similar/similar_internal.h"

static int add_image(struct similar *s, const struct similar_image *img)
{
	u32 i, container;
	u64 key;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	s->levels = (u8)min_u64(s->levels, img->levels);
	for (i = 0; !err && i < img->nr; i++) {
		similar_image_get(img, i, &key, &container);
		err = similar_put_locked(s, key, container);
	}
	if (!err)
		s->covered = max_u64(s->covered, img->covered);
	pthread_mutex_unlock(&s->lock);
	return err;
}

bool similar_load(struct similar *s)
{
	struct similar_image img;
	size_t len;
	u8 *data;
	int err;

	/* As large as a full table: half of the budget is for that. */
	err = disk_read_file(s->opt.meta, FILE_SIMILAR,
			     s->opt.budget_bytes / 2 + similar_image_bytes(0),
			     &data, &len, NULL);
	if (err == -AKIN_E_bad_length) {
		s->too_large = true;
		s->covered = UINT64_MAX;
	}
	if (err)
		return false;
	err = similar_image_decode(data, len, &img);
	if (!err && memcmp(&img.pool, &s->opt.pool, sizeof(img.pool)))
		err = -AKIN_E_bad_identity;
	if (!err)
		err = add_image(s, &img);
	mem_free(data);
	return !err;
}

static int encode(struct similar *s, struct buf *out)
{
	struct similar_image img = { .pool = s->opt.pool,
				     .covered = s->covered,
				     .levels = s->levels };
	u32 i;

	for (i = 0; i < s->nr_slots; i++)
		img.nr += s->containers[i] != 0;
	similar_image_begin(&img, out);
	for (i = 0; i < s->nr_slots; i++) {
		if (s->containers[i])
			similar_image_put(out, s->keys[i], s->containers[i]);
	}
	return similar_image_end(out, 0);
}

int similar_save(struct similar *s, struct akin_diag *diag)
{
	struct buf b = { 0 };
	int err;

	if (!s->changed)
		return 0;
	/* What cannot be read is replaced, but not by less than there is. */
	similar_load(s);
	if (s->too_large)
		return 0;
	err = encode(s, &b);
	if (!err)
		err = disk_write_file(s->opt.meta, FILE_SIMILAR, b.data, b.len,
				      diag);
	buf_release(&b);
	if (!err)
		s->changed = false;
	return err ? diag_set(diag, err, "similarity table: %s",
			      akin_strerror(err)) : 0;
}
