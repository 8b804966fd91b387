/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads and tables of parity files.
 *
 * A head is believed if and only if, in this order:
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its major version is ours			-AKIN_E_bad_version
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - reserved bytes of a version we know are 0	-AKIN_E_bad_field
 *  - its container has a number		-AKIN_E_bad_field
 *  - and a length that containers have		-AKIN_E_bad_length
 *  - and a stripe fits into the field		-AKIN_E_bad_field
 */
#include "format/format_container.h"
#include "format/format_internal.h"
#include "format/format_parity.h"

static const u8 parity_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_PARITY;

struct parity_head_disk {
	u8   magic[8];		/* +0x00  "AKINPAR\0"                   */
	le32 version;		/* +0x08                                */
	le32 generation;	/* +0x0c                                */
	le64 number;		/* +0x10                                */
	u8   pool[16];		/* +0x18                                */
	le64 bytes;		/* +0x28  of the container              */
	le32 stripes;		/* +0x30                                */
	u8   parity;		/* +0x34  sectors of a stripe           */
	u8   percent;		/* +0x35  that were asked for           */
	u8   rsvd[26];		/* +0x36  zero                          */
	le64 table_sum;		/* +0x50                                */
	le64 checksum;		/* +0x58  of +0x00 .. +0x57             */
};
static_assert(sizeof(struct parity_head_disk) == PARITY_HEAD_BYTES,
	      "disk format");

#define PARITY_SUMMED offsetof(struct parity_head_disk, checksum)

static u32 parity_ceil(u64 n, u64 by)
{
	return (u32)((n + by - 1) / by);
}

static void parity_derive(struct parity_map *map)
{
	map->nr_sectors = parity_ceil(map->bytes, PARITY_SECTOR);
	map->per_stripe = parity_ceil(map->nr_sectors, map->nr_stripes);
	map->nr_parity = map->nr_stripes * map->parity;
}

void parity_map_plan(u64 bytes, u8 percent, struct parity_map *out)
{
	memset(out, 0, sizeof(*out));
	out->bytes = bytes;
	out->percent = percent;
	out->nr_stripes = parity_ceil(parity_ceil(bytes, PARITY_SECTOR),
				      PARITY_STRIPE);
	parity_derive(out);
	out->parity = (u8)max_u64(2, parity_ceil((u64)out->per_stripe * percent,
						 100));
	parity_derive(out);
}

size_t parity_table_bytes(const struct parity_map *map)
{
	return ((size_t)map->nr_sectors + map->nr_parity) * sizeof(le64);
}

static u64 parity_front_bytes(const struct parity_map *map)
{
	u64 n = PARITY_HEAD_BYTES + parity_table_bytes(map);

	return (n + PARITY_SECTOR - 1) / PARITY_SECTOR * PARITY_SECTOR;
}

u64 parity_sector_off(const struct parity_map *map, u32 row, u32 stripe)
{
	return parity_front_bytes(map) +
	       ((u64)row * map->nr_stripes + stripe) * PARITY_SECTOR;
}

u64 parity_back_off(const struct parity_map *map)
{
	return parity_sector_off(map, map->parity, 0);
}

u64 parity_file_bytes(const struct parity_map *map)
{
	return parity_back_off(map) + parity_table_bytes(map) +
	       PARITY_HEAD_BYTES;
}

u64 parity_sum(const void *sector)
{
	return format_checksum(sector, PARITY_SECTOR);
}

u64 parity_table_get(const u8 *table, u32 index)
{
	return get_le64(table + (size_t)index * sizeof(le64));
}

void parity_table_put(u8 *table, u32 index, u64 sum)
{
	put_le64(table + (size_t)index * sizeof(le64), sum);
}

int parity_table_check(const struct parity_map *map, const u8 *table)
{
	return format_checksum(table, parity_table_bytes(map)) ==
	       map->table_sum ? 0 : -AKIN_E_bad_checksum;
}

void parity_head_encode(struct parity_map *map, const u8 *table,
			u8 out[PARITY_HEAD_BYTES])
{
	struct parity_head_disk h;

	map->table_sum = format_checksum(table, parity_table_bytes(map));
	memset(&h, 0, sizeof(h));
	memcpy(h.magic, parity_magic, sizeof(h.magic));
	put_le32(h.version.b, FORMAT_VERSION);
	put_le32(h.generation.b, map->generation);
	put_le64(h.number.b, map->number);
	memcpy(h.pool, map->pool.b, sizeof(h.pool));
	put_le64(h.bytes.b, map->bytes);
	put_le32(h.stripes.b, map->nr_stripes);
	h.parity = map->parity;
	h.percent = map->percent;
	put_le64(h.table_sum.b, map->table_sum);
	put_le64(h.checksum.b, format_checksum(&h, PARITY_SUMMED));
	memcpy(out, &h, sizeof(h));
}

static int parity_check_shape(struct parity_map *map)
{
	if (map->bytes < 1 || map->bytes > CONTAINER_MAX_BYTES)
		return -AKIN_E_bad_length;
	if (map->parity < 1 || map->parity > PARITY_MAX || map->percent < 1 ||
	    map->percent > PARITY_PERCENT_MAX || map->nr_stripes < 1 ||
	    map->nr_stripes > parity_ceil(map->bytes, PARITY_SECTOR))
		return -AKIN_E_bad_field;
	parity_derive(map);
	return map->per_stripe + map->parity > 255 ? -AKIN_E_bad_field : 0;
}

int parity_head_decode(const u8 in[PARITY_HEAD_BYTES], struct parity_map *out)
{
	struct parity_head_disk h;
	u32 version;

	memset(out, 0, sizeof(*out));
	memcpy(&h, in, sizeof(h));
	if (memcmp(h.magic, parity_magic, sizeof(h.magic)))
		return -AKIN_E_bad_magic;
	version = get_le32(h.version.b);
	if (format_version_check(version))
		return -AKIN_E_bad_version;
	if (get_le64(h.checksum.b) != format_checksum(&h, PARITY_SUMMED))
		return -AKIN_E_bad_checksum;
	if (format_version_known(version) &&
	    !format_is_zero(h.rsvd, sizeof(h.rsvd)))
		return -AKIN_E_bad_field;
	out->generation = get_le32(h.generation.b);
	out->number = get_le64(h.number.b);
	memcpy(out->pool.b, h.pool, sizeof(h.pool));
	out->bytes = get_le64(h.bytes.b);
	out->nr_stripes = get_le32(h.stripes.b);
	out->parity = h.parity;
	out->percent = h.percent;
	out->table_sum = get_le64(h.table_sum.b);
	return out->number ? parity_check_shape(out) : -AKIN_E_bad_field;
}
