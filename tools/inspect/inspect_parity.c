/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parity: both heads, and what is wrong with tables and sectors. Checksums are
 * shown only where they do not hold: there is one for every sector.
 */
#include "format/format_parity.h"
#include "inspect_internal.h"

static void show_map(struct inspect *in, u64 off, const struct parity_map *m)
{
	print_begin(in, off, "parity");
	print_u64(in, "number", m->number);
	print_u64(in, "generation", m->generation);
	print_hex(in, "pool", m->pool.b, sizeof(m->pool.b));
	print_u64(in, "bytes", m->bytes);
	print_u64(in, "sectors", m->nr_sectors);
	print_u64(in, "stripes", m->nr_stripes);
	print_u64(in, "sectors_of_stripe", m->per_stripe);
	print_u64(in, "parity_of_stripe", m->parity);
	print_u64(in, "percent", m->percent);
	print_end(in);
}

/* Its table in the file; NULL: head or table are damaged. */
static const u8 *show_copy(struct inspect *in, const u8 *data, size_t len,
			   size_t off, struct parity_map *m)
{
	size_t table = PARITY_HEAD_BYTES;
	int err;

	err = len < PARITY_HEAD_BYTES ? -AKIN_E_short_read :
					parity_head_decode(data + off, m);
	if (err) {
		(void)print_damage(in, off, "head", err);
		return NULL;
	}
	show_map(in, off, m);
	if (off)
		table = parity_back_off(m);
	if (table > len || len - table < parity_table_bytes(m))
		err = -AKIN_E_short_read;
	else
		err = parity_table_check(m, data + table);
	if (err)
		(void)print_damage(in, table, "table", err);
	return err ? NULL : data + table;
}

static void show_sectors(struct inspect *in, const u8 *data, size_t len,
			 const struct parity_map *m, const u8 *table)
{
	u64 off = parity_sector_off(m, 0, 0);
	u32 i;

	for (i = 0; i < m->nr_parity; i++, off += PARITY_SECTOR) {
		if (off + PARITY_SECTOR > len)
			(void)print_damage(in, off, "sector",
					   -AKIN_E_short_read);
		else if (parity_sum(data + off) !=
			 parity_table_get(table, m->nr_sectors + i))
			(void)print_damage(in, off, "sector",
					   -AKIN_E_bad_checksum);
	}
}

void inspect_parity(struct inspect *in, const u8 *data, size_t len)
{
	struct parity_map front, back;
	const u8 *first, *second;
	size_t end = len;

	first = show_copy(in, data, len, 0, &front);
	if (first && parity_file_bytes(&front) < len)
		end = parity_file_bytes(&front);
	second = end <= PARITY_HEAD_BYTES ? NULL :
		show_copy(in, data, end, end - PARITY_HEAD_BYTES, &back);
	if (first)
		show_sectors(in, data, end, &front, first);
	else if (second)
		show_sectors(in, data, end, &back, second);
	if (end < len)
		(void)print_damage(in, end, "end", -AKIN_E_bad_length);
}
