/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parity file of a container: where its sectors lie and what their
 * checksums are. docs/format/parity.md is the normative description; the
 * arithmetic is parity/parity_code.h's.
 *
 * Redundancy, not truth: whatever is wrong with it, the container counts.
 */
#ifndef FORMAT_PARITY_H
#define FORMAT_PARITY_H

#include "format/format.h"

#define PARITY_HEAD_BYTES 96
/* What disks lose at a time. */
#define PARITY_SECTOR 4096
/* Data sectors of a stripe, as written: the time to make parity grows with its
 * parity sectors, so with this. */
#define PARITY_STRIPE 128
#define PARITY_MAX 64		/* parity sectors of a stripe */
#define PARITY_PERCENT_MAX 50
static_assert(PARITY_STRIPE * PARITY_PERCENT_MAX / 100 <= PARITY_MAX,
	      "the most is within the limit");
/* All sectors of a stripe are different elements of GF(2^8). */
static_assert(PARITY_STRIPE + PARITY_MAX <= 255, "field");

struct parity_map {
	struct pool_id pool;
	u64 number;		/* of the container */
	u32 generation;
	u64 bytes;		/* of the container */
	u32 nr_stripes;
	u8 parity;		/* sectors of each stripe */
	u8 percent;		/* that were asked for */
	u64 table_sum;
	/* derived: */
	u32 nr_sectors;		/* of the container */
	u32 nr_parity;		/* of all stripes */
	u32 per_stripe;		/* data sectors, stored or not */
};

/* The shape of the parity of a container of @bytes >= 1; @percent is from 1 to
 * PARITY_PERCENT_MAX. Pool, number and generation are left to the caller. */
void parity_map_plan(u64 bytes, u8 percent, struct parity_map *out);

size_t parity_table_bytes(const struct parity_map *map);
/* Of the whole file. */
u64 parity_file_bytes(const struct parity_map *map);
/* Where the sector @row of stripe @stripe lies. Those of one row follow each
 * other. */
u64 parity_sector_off(const struct parity_map *map, u32 row, u32 stripe);
/* Where the second table lies; the second head is behind it. */
u64 parity_back_off(const struct parity_map *map);

/* Checksum of one sector of PARITY_SECTOR bytes. */
u64 parity_sum(const void *sector);
/* Row @index of a table: nr_sectors of the container, then nr_parity. */
u64 parity_table_get(const u8 *table, u32 index);
void parity_table_put(u8 *table, u32 index, u64 sum);

/* @table is complete: sets map->table_sum. */
void parity_head_encode(struct parity_map *map, const u8 *table,
			u8 out[PARITY_HEAD_BYTES]);
int parity_head_decode(const u8 in[PARITY_HEAD_BYTES], struct parity_map *out);
/* 0 or -AKIN_E_bad_checksum. */
int parity_table_check(const struct parity_map *map, const u8 *table);

#endif
