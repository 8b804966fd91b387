/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading through parity, checking it, and writing back.
 *
 * A sector is *bad* if it cannot be read or its checksum is not the table's. One
 * that was made again must have that checksum too: parity that was made of
 * other bytes, or is hostile, gives an error and never other bytes than those
 * it was made of.
 */
#include "akin/error.h"
#include "base/mem.h"
#include "container/container_parity.h"
#include "parity/parity_code.h"

#define SCAN_BYTES (256 * KiB)

struct container_parity {
	struct file *file;
	struct parity_map map;
	u8 *table;
	bool bad_copy;
};

/* The disk could not, or what it read is wrong: but for such errors reading
 * goes on. */
static bool is_loss(int err)
{
	enum akin_error_class class = akin_error_class(err);

	return class == AKIN_CLASS_IO || class == AKIN_CLASS_CORRUPT;
}

/* Opening -------------------------------------------------------------------*/

/* One copy: its head at @head_off, its table where that is right. */
static int read_copy(struct container_parity *p, const struct pool_id *pool,
		     const struct container_id *id, u64 head_off, bool front,
		     struct akin_diag *diag)
{
	u8 head[PARITY_HEAD_BYTES];
	struct parity_map map;
	u64 off;
	u8 *table;
	int err;

	err = file_pread(p->file, head, sizeof(head), head_off, diag);
	if (err)
		return err;
	err = parity_head_decode(head, &map);
	if (!err && (memcmp(&map.pool, pool, sizeof(*pool)) ||
		     map.number != id->number ||
		     map.generation != id->generation))
		err = -AKIN_E_bad_identity;
	if (err)
		return diag_set(diag, err, "head: %s", akin_strerror(err));
	off = front ? PARITY_HEAD_BYTES : parity_back_off(&map);
	table = mem_alloc(parity_table_bytes(&map));
	if (!table)
		return diag_set(diag, -AKIN_E_nomem, "parity");
	err = file_pread(p->file, table, parity_table_bytes(&map), off, diag);
	if (!err)
		err = parity_table_check(&map, table);
	if (err) {
		mem_free(table);
		return diag_set(diag, err, "table: %s", akin_strerror(err));
	}
	if (p->table) {		/* one is enough */
		mem_free(table);
		return 0;
	}
	p->table = table;
	p->map = map;
	return 0;
}

/* Either copy does; the second is where the first says, or, without it, at the
 * end of the file. */
static int read_copies(struct container_parity *p, const struct pool_id *pool,
		       const struct container_id *id, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	u64 size, back;
	int err, err2;

	err = read_copy(p, pool, id, 0, true, diag);
	if (err && !is_loss(err) &&
	    akin_error_class(err) != AKIN_CLASS_UNSUPPORTED)
		return err;
	err2 = file_size(p->file, &size, &why);
	if (!err)
		size = parity_file_bytes(&p->map);
	back = size < PARITY_HEAD_BYTES ? 0 : size - PARITY_HEAD_BYTES;
	if (!err2)
		err2 = read_copy(p, pool, id, back, false, &why);
	p->bad_copy = err || err2;
	if (err && !err2)
		diag_clear(diag);
	return err && err2 ? err : 0;
}

int container_parity_open(struct disk *data, const struct pool_id *pool,
			  const struct container_id *id,
			  struct container_parity **out,
			  struct akin_diag *diag)
{
	struct container_parity *p = mem_zalloc(sizeof(*p));
	struct akin_diag why = { 0 };
	char name[FORMAT_NAME_MAX];
	int err;

	if (!p)
		return diag_set(diag, -AKIN_E_nomem, "parity");
	format_parity_name(id->number, id->generation, name);
	err = disk_open(data, name, 0, &p->file, &why);
	if (err)
		p->file = NULL;
	else
		err = read_copies(p, pool, id, &why);
	if (err) {
		container_parity_close(p);
		return diag_set(diag, err, "parity of container %llu: %s",
				(unsigned long long)id->number, why.text);
	}
	*out = p;
	return 0;
}

void container_parity_close(struct container_parity *p)
{
	if (!p)
		return;
	ignore_result(file_close(p->file, NULL));	/* was only read */
	mem_free(p->table);
	mem_free(p);
}

const struct parity_map *container_parity_map(const struct container_parity *p)
{
	return &p->map;
}

/* Sectors -------------------------------------------------------------------*/

static u32 bytes_of(const struct parity_map *map, u32 sector)
{
	return (u32)min_u64(PARITY_SECTOR,
			    map->bytes - (u64)sector * PARITY_SECTOR);
}

static bool is_right(const struct container_parity *p, u32 index,
		     const u8 *bytes)
{
	return parity_sum(bytes) == parity_table_get(p->table, index);
}

/* 1: it is in @out, filled up with zeros; 0: it is bad; or an error. */
static int read_sector(const struct container_parity *p, struct file *file,
		       u32 sector, u8 *out, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	u32 len = bytes_of(&p->map, sector);
	int err;

	err = file_pread(file, out, len, (u64)sector * PARITY_SECTOR, &why);
	if (err && !is_loss(err))
		return diag_pass(diag, err, &why);
	if (err)
		return 0;
	memset(out + len, 0, PARITY_SECTOR - len);
	return is_right(p, sector, out);
}

static int read_parity(const struct container_parity *p, u32 row, u32 stripe,
		       u8 *out, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err;

	err = file_pread(p->file, out, PARITY_SECTOR,
			 parity_sector_off(&p->map, row, stripe), &why);
	if (err && !is_loss(err))
		return diag_pass(diag, err, &why);
	return !err && is_right(p, p->map.nr_sectors +
				row * p->map.nr_stripes + stripe, out);
}

/* A stripe in memory ----------------------------------------------------------*/

struct stripe {
	u8 *bytes;
	u8 *data[255], *parity[PARITY_MAX];
	bool lost[255 + PARITY_MAX];
	u32 nr_lost;		/* data sectors */
};

static int stripe_new(const struct parity_map *map, struct stripe **out,
		      struct akin_diag *diag)
{
	struct stripe *s = mem_zalloc(sizeof(*s));
	u32 i, n = map->per_stripe + map->parity;

	if (s)
		s->bytes = mem_alloc((size_t)n * PARITY_SECTOR);
	if (!s || !s->bytes) {
		mem_free(s);
		return diag_set(diag, -AKIN_E_nomem, "parity");
	}
	for (i = 0; i < map->per_stripe; i++)
		s->data[i] = s->bytes + (size_t)i * PARITY_SECTOR;
	for (; i < n; i++)
		s->parity[i - map->per_stripe] = s->bytes +
						 (size_t)i * PARITY_SECTOR;
	*out = s;
	return 0;
}

static void stripe_free(struct stripe *s)
{
	mem_free(s->bytes);
	mem_free(s);
}

static int stripe_read(const struct container_parity *p, struct file *file,
		       u32 stripe, struct stripe *s, struct akin_diag *diag)
{
	const struct parity_map *map = &p->map;
	u32 i, sector;
	int got;

	s->nr_lost = 0;
	for (i = 0; i < map->per_stripe; i++) {
		sector = i * map->nr_stripes + stripe;
		got = 1;
		if (sector >= map->nr_sectors)
			memset(s->data[i], 0, PARITY_SECTOR);
		else
			got = read_sector(p, file, sector, s->data[i], diag);
		if (got < 0)
			return got;
		s->lost[i] = !got;
		s->nr_lost += !got;
	}
	for (i = 0; i < map->parity; i++) {
		got = read_parity(p, i, stripe, s->parity[i], diag);
		if (got < 0)
			return got;
		s->lost[map->per_stripe + i] = !got;
	}
	return 0;
}

/* Read stripe @stripe and make it whole. s->lost says what had to be. */
static int stripe_heal(const struct container_parity *p, struct file *file,
		       u32 stripe, struct stripe *s, struct akin_diag *diag)
{
	struct parity_coder *coder;
	u32 i;
	int err;

	err = stripe_read(p, file, stripe, s, diag);
	if (err || !s->nr_lost)
		return err;
	coder = parity_coder_new(p->map.per_stripe, p->map.parity);
	err = coder ? parity_coder_heal(coder, s->lost, s->data, s->parity,
					PARITY_SECTOR) : -AKIN_E_nomem;
	parity_coder_free(coder);
	for (i = 0; !err && i < p->map.per_stripe; i++) {
		if (s->lost[i] &&
		    !is_right(p, i * p->map.nr_stripes + stripe, s->data[i]))
			err = -AKIN_E_bad_data;
	}
	if (err == -AKIN_E_bad_data)
		return diag_set(diag, err, "%u sectors are lost, more than its "
				"parity makes up for", s->nr_lost);
	return err ? diag_set(diag, err, "parity") : 0;
}

/* Reading -------------------------------------------------------------------*/

/* The part of @sector that lies in [off, off + len), to where it belongs. */
static void copy_part(u32 sector, const u8 *bytes, u64 off, size_t len, u8 *out)
{
	u64 at = (u64)sector * PARITY_SECTOR;
	u64 from = max_u64(at, off), to = min_u64(at + PARITY_SECTOR, off + len);

	memcpy(out + (from - off), bytes + (from - at), to - from);
}

/* All lost sectors of one stripe that lie in the range. */
static int read_healed(const struct container_parity *p, struct file *file,
		       u32 stripe, struct stripe *s, u64 off, size_t len,
		       u8 *out, struct akin_diag *diag)
{
	u32 first = (u32)(off / PARITY_SECTOR);
	u32 last = (u32)((off + len - 1) / PARITY_SECTOR);
	u32 i, sector;
	int err;

	err = stripe_heal(p, file, stripe, s, diag);
	for (i = 0; !err && i < p->map.per_stripe; i++) {
		sector = i * p->map.nr_stripes + stripe;
		if (sector >= first && sector <= last)
			copy_part(sector, s->data[i], off, len, out);
	}
	return err;
}

int container_parity_read(const struct container_parity *p, struct file *file,
			  u64 off, size_t len, u8 *out, u32 *healed_ret,
			  struct akin_diag *diag)
{
	u8 bytes[PARITY_SECTOR];
	struct stripe *s = NULL;
	u32 sector, last;
	int got = 0;

	*healed_ret = 0;
	if (!len || off > p->map.bytes || len > p->map.bytes - off)
		return len ? diag_set(diag, -AKIN_E_bad_length, "outside the "
				      "container") : 0;
	last = (u32)((off + len - 1) / PARITY_SECTOR);
	for (sector = (u32)(off / PARITY_SECTOR); got >= 0 && sector <= last;
	     sector++) {
		got = read_sector(p, file, sector, bytes, diag);
		if (got > 0)
			copy_part(sector, bytes, off, len, out);
		if (got)
			continue;
		if (!s)
			got = stripe_new(&p->map, &s, diag);
		if (!got)
			got = read_healed(p, file, sector % p->map.nr_stripes,
					  s, off, len, out, diag);
		*healed_ret += !got;
	}
	if (s)
		stripe_free(s);
	return got < 0 ? got : 0;
}

/* Checking ------------------------------------------------------------------*/

struct scan {
	const struct container_parity *p;
	struct file *file;
	struct akin_diag *diag;
	u8 *buffer;
	u16 *lost;		/* of each stripe: data, and */
	u16 *lost_parity;
};

static void note_sector(struct scan *s, u32 index, bool right)
{
	const struct parity_map *map = &s->p->map;
	u32 stripe = (index < map->nr_sectors ? index :
		      index - map->nr_sectors) % map->nr_stripes;

	if (right)
		return;
	if (index < map->nr_sectors)
		s->lost[stripe]++;
	else
		s->lost_parity[stripe]++;
}

/* The sectors in [off, off + len) of @file, of which the first is @index in the
 * table. One by one where they cannot be read at once. */
static int scan_piece(struct scan *s, struct file *file, u64 off, size_t len,
		      u32 index)
{
	struct akin_diag why = { 0 };
	size_t at, n;
	int err, whole;

	whole = file_pread(file, s->buffer, len, off, &why);
	if (whole && !is_loss(whole))
		return diag_pass(s->diag, whole, &why);
	for (at = 0; at < len; at += n, index++) {
		n = min_u64(PARITY_SECTOR, len - at);
		memset(&why, 0, sizeof(why));
		err = whole ? file_pread(file, s->buffer + at, n, off + at,
					 &why) : 0;
		if (err && !is_loss(err))
			return diag_pass(s->diag, err, &why);
		if (!err)
			memset(s->buffer + at + n, 0, PARITY_SECTOR - n);
		note_sector(s, index, !err &&
			    is_right(s->p, index, s->buffer + at));
	}
	return 0;
}

static int scan_range(struct scan *s, struct file *file, u64 off, u64 bytes,
		      u32 index)
{
	u64 at;
	int err = 0;

	for (at = 0; !err && at < bytes; at += SCAN_BYTES)
		err = scan_piece(s, file, off + at,
				 min_u64(SCAN_BYTES, bytes - at),
				 index + (u32)(at / PARITY_SECTOR));
	return err;
}

static void sum_up(const struct scan *s, struct parity_report *out)
{
	const struct parity_map *map = &s->p->map;
	u32 i;

	for (i = 0; i < map->nr_stripes; i++) {
		out->bad_sectors += s->lost[i];
		out->bad_parity += s->lost_parity[i];
		if (s->lost[i] + s->lost_parity[i] > map->parity)
			out->hopeless += s->lost[i];
	}
}

static int scan(struct scan *s, struct parity_report *out)
{
	const struct parity_map *map = &s->p->map;
	u64 size;
	int err;

	memset(out, 0, sizeof(*out));
	out->nr_sectors = map->nr_sectors;
	out->nr_parity = map->nr_parity;
	out->bad_copy = s->p->bad_copy;
	err = file_size(s->file, &size, s->diag);
	if (!err)
		err = scan_range(s, s->file, 0, map->bytes, 0);
	if (!err)
		err = scan_range(s, s->p->file, parity_sector_off(map, 0, 0),
				 (u64)map->nr_parity * PARITY_SECTOR,
				 map->nr_sectors);
	if (err)
		return err;
	out->bad_length = size > map->bytes;
	sum_up(s, out);
	return 0;
}

/*
 * Whole sectors only, or the system would have to read what it cannot, to keep
 * the rest of it. The last one is longer than the file, then, and @long_ret is
 * set: it is to be cut off.
 */
static int write_sector(struct scan *s, u32 sector, const u8 *bytes,
			bool *long_ret)
{
	*long_ret |= bytes_of(&s->p->map, sector) < PARITY_SECTOR;
	return file_pwrite(s->file, bytes, PARITY_SECTOR,
			   (u64)sector * PARITY_SECTOR, s->diag);
}

/* What cannot be made again after all stays as it is. */
static int write_back(struct scan *s, u32 stripe, struct stripe *st,
		      struct parity_report *out, bool *long_ret)
{
	const struct parity_map *map = &s->p->map;
	struct akin_diag why = { 0 };
	u32 i;
	int err;

	err = stripe_heal(s->p, s->file, stripe, st, &why);
	if (err == -AKIN_E_bad_data) {
		out->hopeless += s->lost[stripe];
		return 0;
	}
	if (err)
		return diag_pass(s->diag, err, &why);
	for (i = 0; !err && i < map->per_stripe; i++) {
		if (st->lost[i])
			err = write_sector(s, i * map->nr_stripes + stripe,
					   st->data[i], long_ret);
	}
	return err;
}

static int heal_all(struct scan *s, struct parity_report *out)
{
	const struct parity_map *map = &s->p->map;
	bool longer = out->bad_length;
	struct stripe *st;
	u32 i;
	int err;

	err = stripe_new(map, &st, s->diag);
	if (err)
		return err;
	for (i = 0; !err && i < map->nr_stripes; i++) {
		if (s->lost[i] &&
		    s->lost[i] + s->lost_parity[i] <= map->parity)
			err = write_back(s, i, st, out, &longer);
	}
	stripe_free(st);
	if (!err && longer)
		err = file_truncate(s->file, map->bytes, s->diag);
	return err ? err : file_sync(s->file, s->diag);
}

static int scan_and(const struct container_parity *p, struct file *file,
		    bool heal, struct parity_report *out,
		    struct akin_diag *diag)
{
	struct scan s = { .p = p, .file = file, .diag = diag };
	int err = 0;

	s.buffer = mem_alloc(SCAN_BYTES);
	s.lost = mem_calloc(p->map.nr_stripes, sizeof(*s.lost));
	s.lost_parity = mem_calloc(p->map.nr_stripes, sizeof(*s.lost_parity));
	if (!s.buffer || !s.lost || !s.lost_parity)
		err = diag_set(diag, -AKIN_E_nomem, "parity");
	if (!err)
		err = scan(&s, out);
	if (!err && heal && (out->bad_length ||
			     out->bad_sectors > out->hopeless))
		err = heal_all(&s, out);
	mem_free(s.buffer);
	mem_free(s.lost);
	mem_free(s.lost_parity);
	return err;
}

int container_parity_check(const struct container_parity *p, struct file *file,
			   struct parity_report *out, struct akin_diag *diag)
{
	return scan_and(p, file, false, out, diag);
}

int container_parity_heal(const struct container_parity *p, struct file *file,
			  struct parity_report *out, struct akin_diag *diag)
{
	return scan_and(p, file, true, out, diag);
}
