/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table's file, both ways.
 *
 * What a backup adds is written behind what is there, if the file is the one
 * that was loaded: a table of a large pool is gigabytes, what a backup adds is
 * a few entries for each of its containers. When all that was added comes to a
 * third of the table, it is written as a whole, and so it is when too much was
 * new to be kept, or much is gone. Entries are written twice or three times
 * altogether, however large the pool is.
 */
#include "base/mem.h"
#include "similar/similar_internal.h"

/* Of the first image, that may be added behind it. Then the whole file is as
 * large as the table at most, which is three quarters full. */
#define ADDED_PART 3
/* Of the table's slots, whose containers are gone and which stay in the file.
 */
#define DROPPED_PART 16

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

/* The image at @data, if it is one of this pool's. */
static int decode_next(const struct similar *s, const u8 *data, size_t len,
		       struct similar_image *out, size_t *len_ret)
{
	int err = similar_image_extent(data, len, len_ret);

	if (!err)
		err = similar_image_decode(data, *len_ret, out);
	if (!err && memcmp(&out->pool, &s->opt.pool, sizeof(out->pool)))
		err = -AKIN_E_bad_identity;
	return err;
}

/* That of @len bytes which end at @end. */
static u64 sum_of(const u8 *end)
{
	return get_le64(end - SIMILAR_SUM_BYTES);
}

/* As far as it can be believed; false: not at all. */
static bool add_file(struct similar *s, const u8 *data, size_t len)
{
	struct similar_image img;
	size_t at = 0, n;

	s->base_bytes = 0;
	while (at < len && !decode_next(s, data + at, len - at, &img, &n)) {
		if (add_image(s, &img)) {
			s->base_bytes = 0;
			return false;
		}
		if (at == 0) {
			s->base_bytes = n;
			s->base_sum = sum_of(data + n);
		}
		at += n;
	}
	s->file_bytes = at;
	return at > 0;
}

bool similar_load(struct similar *s)
{
	size_t len;
	bool ok;
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
	ok = add_file(s, data, len);
	mem_free(data);
	return ok;
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

static int write_whole(struct similar *s, struct akin_diag *diag)
{
	struct buf b = { 0 };
	int err;

	/* What cannot be read is replaced, but not by less than there is. */
	similar_load(s);
	if (s->too_large)
		return 0;
	err = encode(s, &b);
	if (!err)
		err = disk_write_file(s->opt.meta, FILE_SIMILAR, b.data, b.len,
				      diag);
	if (!err) {
		s->base_bytes = s->file_bytes = b.len;
		s->base_sum = sum_of(b.data + b.len);
	}
	buf_release(&b);
	return err;
}

/* What was added, without what there was no room for in the end. */
static int encode_news(const struct similar *s, u8 levels, struct buf *out)
{
	struct similar_image all = { .entries = s->news.data,
				     .nr = s->nr_news };
	struct similar_image img = { .pool = s->opt.pool,
				     .covered = s->covered, .levels = levels };
	u32 i, container;
	u64 key;

	for (i = 0; i < all.nr; i++) {
		similar_image_get(&all, i, &key, &container);
		img.nr += SIMILAR_LEVEL(key) < levels;
	}
	similar_image_begin(&img, out);
	for (i = 0; i < all.nr; i++) {
		similar_image_get(&all, i, &key, &container);
		if (SIMILAR_LEVEL(key) < levels)
			similar_image_put(out, key, container);
	}
	return similar_image_end(out, 0);
}

/* Does the file still begin with the image that was loaded? */
static bool is_same_base(const struct similar *s, struct file *f)
{
	u8 sum[SIMILAR_SUM_BYTES];

	return !file_pread(f, sum, sizeof(sum), s->base_bytes - sizeof(sum),
			   NULL) &&
	       get_le64(sum) == s->base_sum;
}

/*
 * Past what others have added meanwhile: *at is where it ends, *levels what
 * they have had room for. False: it cannot be read.
 */
static bool skip_added(const struct similar *s, struct file *f, size_t *at,
		       u8 *levels)
{
	struct similar_image img;
	u64 size, len;
	size_t off = 0, n;
	u8 *data;
	bool ok;

	if (file_size(f, &size, NULL) || size < *at)
		return false;
	len = size - *at;
	if (len > s->base_bytes / ADDED_PART)
		return false;
	data = mem_alloc(len + 1);
	ok = data && !file_pread(f, data, len, *at, NULL);
	while (ok && off < len &&
	       !decode_next(s, data + off, len - off, &img, &n)) {
		*levels = (u8)min_u64(*levels, img.levels);
		off += n;
	}
	mem_free(data);
	*at += off;
	return ok;
}

static bool append_to(struct similar *s, struct file *f)
{
	size_t at = s->file_bytes;
	struct buf b = { 0 };
	u8 levels = s->levels;
	bool ok;

	ok = is_same_base(s, f) && skip_added(s, f, &at, &levels) &&
	     !encode_news(s, levels, &b) &&
	     at + b.len <= s->base_bytes + s->base_bytes / ADDED_PART;
	ok = ok && !file_pwrite(f, b.data, b.len, at, NULL) &&
	     !file_sync(f, NULL);
	if (ok)
		s->file_bytes = at + b.len;
	buf_release(&b);
	return ok;
}

/* False: what was there is as it was, or ends there. */
static bool append(struct similar *s)
{
	struct file *f;
	bool ok;

	if (!s->base_bytes || s->too_large || s->news_lost ||
	    s->nr_dropped > s->nr_slots / DROPPED_PART ||
	    disk_open(s->opt.meta, FILE_SIMILAR, DISK_WRITE, &f, NULL))
		return false;
	ok = append_to(s, f);
	return !file_close(f, NULL) && ok;
}

int similar_save(struct similar *s, struct akin_diag *diag)
{
	int err = 0;

	if (!s->changed)
		return 0;
	if (!append(s))
		err = write_whole(s, diag);
	if (err)
		return diag_set(diag, err, "similarity table: %s",
				akin_strerror(err));
	s->changed = false;
	s->news_lost = false;
	s->nr_news = s->nr_dropped = 0;
	buf_release(&s->news);
	return 0;
}
