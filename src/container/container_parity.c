/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making parity.
 *
 * Sectors of one number in all stripes lie side by side, in the container as in
 * the parity file; such a row is the vector that the code works on. Rows are
 * read and added one after the other, a sector's column at a time, so that the
 * parity that is added to stays in the processor's cache. Where parity of all
 * columns is more than SLICE_BYTES, it is done in slices of columns.
 *
 * The file is written under another name, synced and renamed: under its own
 * name there is always a whole one.
 */
#include "akin/error.h"
#include "base/mem.h"
#include "container/container_parity.h"
#include "parity/parity_code.h"

/* Parity held in memory: one slice does for a container of 16 MiB and 5 %. */
#define SLICE_BYTES (1 * MiB)
/* Read at a time, at most: rows of a slice. */
#define READ_BYTES (512 * KiB)

struct maker {
	struct parity_map map;
	struct parity_coder *coder;
	struct file *from, *to;
	u8 *table;
	u8 *parity;		/* map.parity rows of @columns sectors */
	u8 *data;		/* rows of the container */
	u32 columns;		/* of a slice, at most */
	struct akin_diag *diag;
};

/* Rows @row and on, @nr of them, of the slice's @columns from @first: zeros
 * behind the end of the container. */
static int read_rows(struct maker *m, u32 row, u32 nr, u32 first, u32 columns)
{
	u64 off, end, len;
	u32 i;
	u8 *to;
	int err = 0;

	for (i = 0; !err && i < nr; i++) {
		to = m->data + (size_t)i * columns * PARITY_SECTOR;
		off = ((u64)(row + i) * m->map.nr_stripes + first) *
		      PARITY_SECTOR;
		end = off + (u64)columns * PARITY_SECTOR;
		len = off >= m->map.bytes ? 0 :
		      min_u64(end, m->map.bytes) - off;
		err = file_pread(m->from, to, len, off, m->diag);
		memset(to + len, 0, end - off - len);
	}
	return err;
}

static void add_rows(struct maker *m, u32 row, u32 nr, u32 first, u32 columns)
{
	u8 *parity[PARITY_MAX], *data;
	u32 c, i, r;
	u64 sector;

	for (c = 0; c < columns; c++) {
		for (r = 0; r < m->map.parity; r++)
			parity[r] = m->parity +
				    ((size_t)r * columns + c) * PARITY_SECTOR;
		for (i = 0; i < nr; i++) {
			sector = (u64)(row + i) * m->map.nr_stripes + first + c;
			if (sector >= m->map.nr_sectors)
				break;
			data = m->data +
			       ((size_t)i * columns + c) * PARITY_SECTOR;
			parity_table_put(m->table, (u32)sector,
					 parity_sum(data));
			parity_coder_add(m->coder, row + i, data, parity,
					 PARITY_SECTOR);
		}
	}
}

static int write_slice(struct maker *m, u32 first, u32 columns)
{
	u32 r, c;
	u8 *row;
	int err = 0;

	for (r = 0; !err && r < m->map.parity; r++) {
		row = m->parity + (size_t)r * columns * PARITY_SECTOR;
		for (c = 0; c < columns; c++)
			parity_table_put(m->table, m->map.nr_sectors +
					 r * m->map.nr_stripes + first + c,
					 parity_sum(row + (size_t)c *
						    PARITY_SECTOR));
		err = file_pwrite(m->to, row, (size_t)columns * PARITY_SECTOR,
				  parity_sector_off(&m->map, r, first),
				  m->diag);
	}
	return err;
}

static int make_slice(struct maker *m, u32 first, u32 columns)
{
	u32 rows = (u32)max_u64(1, READ_BYTES / (columns * PARITY_SECTOR));
	u32 row, nr;
	int err = 0;

	memset(m->parity, 0, (size_t)m->map.parity * columns * PARITY_SECTOR);
	for (row = 0; !err && row < m->map.per_stripe; row += nr) {
		nr = (u32)min_u64(rows, m->map.per_stripe - row);
		err = read_rows(m, row, nr, first, columns);
		if (!err)
			add_rows(m, row, nr, first, columns);
	}
	return err ? err : write_slice(m, first, columns);
}

static int make_file(struct maker *m)
{
	size_t len = parity_table_bytes(&m->map);
	u8 head[PARITY_HEAD_BYTES];
	u32 first, n;
	u64 back;
	int err = 0;

	for (first = 0; !err && first < m->map.nr_stripes; first += n) {
		n = (u32)min_u64(m->columns, m->map.nr_stripes - first);
		err = make_slice(m, first, n);
	}
	if (err)
		return err;
	parity_head_encode(&m->map, m->table, head);
	back = parity_back_off(&m->map);
	err = file_pwrite(m->to, head, sizeof(head), 0, m->diag);
	if (!err)
		err = file_pwrite(m->to, m->table, len, sizeof(head), m->diag);
	if (!err)
		err = file_pwrite(m->to, m->table, len, back, m->diag);
	if (!err)
		err = file_pwrite(m->to, head, sizeof(head), back + len,
				  m->diag);
	return err ? err : file_sync(m->to, m->diag);
}

static int prepare(struct maker *m, u8 percent)
{
	struct parity_map shape;
	u64 bytes;
	int err;

	err = file_size(m->from, &bytes, m->diag);
	if (err)
		return err;
	if (!bytes)
		return diag_set(m->diag, -AKIN_E_bad_length, "it is empty");
	parity_map_plan(bytes, percent, &shape);
	shape.pool = m->map.pool;
	shape.number = m->map.number;
	shape.generation = m->map.generation;
	m->map = shape;
	m->columns = (u32)max_u64(1, SLICE_BYTES / PARITY_SECTOR /
				  shape.parity);
	m->columns = (u32)min_u64(m->columns, shape.nr_stripes);
	m->coder = parity_coder_new(shape.per_stripe, shape.parity);
	m->table = mem_zalloc(parity_table_bytes(&shape));
	m->parity = mem_alloc((size_t)shape.parity * m->columns *
			      PARITY_SECTOR);
	m->data = mem_alloc(max_u64(READ_BYTES, (u64)m->columns *
				    PARITY_SECTOR));
	if (!m->coder || !m->table || !m->parity || !m->data)
		return diag_set(m->diag, -AKIN_E_nomem, "parity");
	return 0;
}

static int write_tmp(struct maker *m, struct disk *data,
		     const struct container_id *id, u8 percent)
{
	char name[FORMAT_NAME_MAX];
	int err;

	format_container_name(id->number, id->generation, name);
	err = disk_open(data, name, 0, &m->from, m->diag);
	if (err) {
		m->from = NULL;
		return err;
	}
	err = prepare(m, percent);
	if (err)
		return err;
	format_parity_tmp_name(id->number, id->generation, name);
	err = disk_open(data, name, DISK_WRITE | DISK_CREATE | DISK_TRUNC,
			&m->to, m->diag);
	if (err) {
		m->to = NULL;
		return err;
	}
	return make_file(m);
}

int container_parity_write(struct disk *data, const struct pool_id *pool,
			   const struct container_id *id, u8 percent,
			   u64 *bytes_ret, struct akin_diag *diag)
{
	char tmp[FORMAT_NAME_MAX], name[FORMAT_NAME_MAX];
	struct akin_diag why = { 0 };
	struct maker m = { .diag = &why };
	int err;

	m.map.pool = *pool;
	m.map.number = id->number;
	m.map.generation = id->generation;
	format_parity_tmp_name(id->number, id->generation, tmp);
	format_parity_name(id->number, id->generation, name);
	err = write_tmp(&m, data, id, percent);
	ignore_result(file_close(m.from, NULL));	/* was only read */
	ignore_result(file_close(m.to, NULL));		/* synced, or of no use */
	if (!err)
		err = disk_rename(data, tmp, name, &why);
	if (err)
		ignore_result(disk_unlink(data, tmp, NULL));
	else
		*bytes_ret = parity_file_bytes(&m.map);
	parity_coder_free(m.coder);
	mem_free(m.table);
	mem_free(m.parity);
	mem_free(m.data);
	if (err)
		return diag_set(diag, err, "parity of container %llu: %s",
				(unsigned long long)id->number, why.text);
	return 0;
}

int container_parity_remove(struct disk *data, const struct container_id *id,
			    u64 *bytes_ret, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	char name[FORMAT_NAME_MAX];
	struct disk_stat st = { 0 };
	int err;

	*bytes_ret = 0;
	format_parity_tmp_name(id->number, id->generation, name);
	ignore_result(disk_unlink(data, name, NULL));	/* usually absent */
	format_parity_name(id->number, id->generation, name);
	err = disk_stat(data, name, &st, &why);
	if (!err)
		err = disk_unlink(data, name, &why);
	if (err && err != -AKIN_E_absent)
		return diag_set(diag, err, "parity of container %llu: %s",
				(unsigned long long)id->number, why.text);
	*bytes_ret = err ? 0 : st.size_bytes;
	return 0;
}
