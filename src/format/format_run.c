/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index runs: a header page, then the pages of the levels.
 *
 * A header is believed if and only if, in this order:
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its major version is ours			-AKIN_E_bad_version
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - reserved bytes of a version we know are 0	-AKIN_E_bad_field
 *  - number >= 1				-AKIN_E_bad_field
 *  - levels are within RUN_MAX_PAGES, and those without pages without
 *    entries					-AKIN_E_bad_length
 *  - those with pages lie from the highest down, behind the header, each
 *    behind the addressed pages of the one above
 *						-AKIN_E_bad_order
 *  - the levels' entries add up to the run's	-AKIN_E_bad_length
 *
 * A page, in this order:
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its checksum, bound to run and page, is	-AKIN_E_bad_checksum
 *  - up to RUN_PAGE_ENTRIES entries		-AKIN_E_bad_length
 *  - no unknown flag				-AKIN_E_feature
 *  - zeros behind the entries			-AKIN_E_bad_field
 *  - no entry in container 0			-AKIN_E_bad_field
 *  - prefixes do not descend			-AKIN_E_bad_order
 *
 * How many extra pages a level has, only the file's size tells: that entries
 * are as many as the header says is for the reader.
 */
#include "base/check.h"
#include "format/format_internal.h"
#include "format/format_run.h"

static const u8 run_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_RUN;
static const u8 page_magic[4] = "AKRP";

/* 2^40 pages are 4 PiB: no sum of positions and lengths below overflows. */
#define RUN_MAX_PAGES (1ull << 40)
#define PAGE_SPILLED 0x1

struct run_level_disk {
	le64 first_page;	/* +0x00  in the file                   */
	le64 nr_pages;		/* +0x08                                */
	le64 nr_entries;	/* +0x10                                */
};
static_assert(sizeof(struct run_level_disk) == 24, "disk format");

struct run_header_disk {
	u8   magic[8];		/* +0x000  "AKINRUN\0"                  */
	le32 version;		/* +0x008                               */
	u8   rsvd[4];		/* +0x00c  zero                         */
	u8   pool[16];		/* +0x010                               */
	le64 number;		/* +0x020                               */
	le64 nr_entries;	/* +0x028                               */
	struct run_level_disk levels[RUN_LEVELS];	/* +0x030       */
	u8   rsvd2[3656];	/* +0x1b0  zero                         */
	le64 checksum;		/* +0xff8  over +0x000 .. +0xff7        */
};
static_assert(sizeof(struct run_header_disk) == RUN_PAGE_BYTES, "disk format");
static_assert(offsetof(struct run_header_disk, rsvd2) == 0x1b0, "disk format");

struct run_entry_disk {
	le64 prefix;		/* +0x00                                */
	u8   container[6];	/* +0x08  little-endian                 */
	le16 entry;		/* +0x0e                                */
};
static_assert(sizeof(struct run_entry_disk) == RUN_ENTRY_BYTES, "disk format");

struct run_page_disk {
	u8   magic[4];		/* +0x00  "AKRP"                        */
	le16 nr;		/* +0x04  entries                       */
	le16 flags;		/* +0x06  1: the next page goes on      */
	le64 checksum;		/* +0x08  see run_page_checksum()       */
	struct run_entry_disk entries[RUN_PAGE_ENTRIES];	/* +0x10 */
};
static_assert(sizeof(struct run_page_disk) == RUN_PAGE_BYTES, "disk format");
static_assert(offsetof(struct run_page_disk, entries) == RUN_PAGE_HEADER_BYTES,
	      "disk format");

static int run_level_check(const struct run_level *l, u64 *end)
{
	if (l->nr_pages > RUN_MAX_PAGES || l->first_page > RUN_MAX_PAGES ||
	    l->nr_entries > RUN_MAX_PAGES * RUN_PAGE_ENTRIES)
		return -AKIN_E_bad_length;
	if (!l->nr_pages)
		return l->nr_entries ? -AKIN_E_bad_length : 0;
	if (l->first_page < *end)
		return -AKIN_E_bad_order;
	*end = l->first_page + l->nr_pages;
	return 0;
}

static int run_header_check(const struct run_header *h)
{
	u64 sum = 0, end = 1;
	int err, i;

	if (!h->number)
		return -AKIN_E_bad_field;
	for (i = RUN_LEVELS - 1; i >= 0; i--) {
		err = run_level_check(&h->levels[i], &end);
		if (err)
			return err;
		sum += h->levels[i].nr_entries;
	}
	return sum == h->nr_entries ? 0 : -AKIN_E_bad_length;
}

void run_header_encode(const struct run_header *h, u8 out[RUN_PAGE_BYTES])
{
	struct run_header_disk d;
	u32 i;

	memset(&d, 0, sizeof(d));
	memcpy(d.magic, run_magic, sizeof(d.magic));
	put_le32(d.version.b, FORMAT_VERSION);
	memcpy(d.pool, h->pool.b, sizeof(d.pool));
	put_le64(d.number.b, h->number);
	put_le64(d.nr_entries.b, h->nr_entries);
	for (i = 0; i < RUN_LEVELS; i++) {
		put_le64(d.levels[i].first_page.b, h->levels[i].first_page);
		put_le64(d.levels[i].nr_pages.b, h->levels[i].nr_pages);
		put_le64(d.levels[i].nr_entries.b, h->levels[i].nr_entries);
	}
	put_le64(d.checksum.b,
		 format_checksum(&d, offsetof(struct run_header_disk,
					      checksum)));
	memcpy(out, &d, sizeof(d));
}

int run_header_decode(const u8 in[RUN_PAGE_BYTES], struct run_header *out)
{
	struct run_header_disk d;
	u32 version, i;

	memset(out, 0, sizeof(*out));
	memcpy(&d, in, sizeof(d));
	if (memcmp(d.magic, run_magic, sizeof(d.magic)))
		return -AKIN_E_bad_magic;
	version = get_le32(d.version.b);
	if (format_version_check(version))
		return -AKIN_E_bad_version;
	if (get_le64(d.checksum.b) !=
	    format_checksum(&d, offsetof(struct run_header_disk, checksum)))
		return -AKIN_E_bad_checksum;
	if (format_version_known(version) &&
	    (!format_is_zero(d.rsvd, sizeof(d.rsvd)) ||
	     !format_is_zero(d.rsvd2, sizeof(d.rsvd2))))
		return -AKIN_E_bad_field;
	memcpy(out->pool.b, d.pool, sizeof(d.pool));
	out->number = get_le64(d.number.b);
	out->nr_entries = get_le64(d.nr_entries.b);
	for (i = 0; i < RUN_LEVELS; i++) {
		out->levels[i].first_page = get_le64(d.levels[i].first_page.b);
		out->levels[i].nr_pages = get_le64(d.levels[i].nr_pages.b);
		out->levels[i].nr_entries = get_le64(d.levels[i].nr_entries.b);
	}
	return run_header_check(out);
}

/*
 * Over the page with a checksum of zero, seeded with the checksum of the run's
 * number and the page's: a page of another run, or in another position, does
 * not pass.
 */
static u64 run_page_checksum(struct run_page_disk *d, u64 run, u64 page)
{
	u8 seed[16];

	put_le64(seed, run);
	put_le64(seed + 8, page);
	memset(d->checksum.b, 0, sizeof(d->checksum.b));
	return format_checksum_seeded(d, sizeof(*d),
				      format_checksum(seed, sizeof(seed)));
}

void run_page_encode(u64 run, u64 page, const struct run_entry *e, u32 nr,
		     bool spilled, u8 out[RUN_PAGE_BYTES])
{
	struct run_page_disk d;
	u64 sum;
	u32 i;

	akin_assert(nr <= RUN_PAGE_ENTRIES);
	memset(&d, 0, sizeof(d));
	memcpy(d.magic, page_magic, sizeof(d.magic));
	put_le16(d.nr.b, (u16)nr);
	put_le16(d.flags.b, spilled ? PAGE_SPILLED : 0);
	for (i = 0; i < nr; i++) {
		put_le64(d.entries[i].prefix.b, e[i].prefix);
		put_le32(d.entries[i].container, (u32)e[i].container);
		put_le16(d.entries[i].container + 4,
			 (u16)(e[i].container >> 32));
		put_le16(d.entries[i].entry.b, e[i].entry);
	}
	sum = run_page_checksum(&d, run, page);
	put_le64(d.checksum.b, sum);
	memcpy(out, &d, sizeof(d));
}

int run_page_decode(const u8 in[RUN_PAGE_BYTES], u64 run, u64 page,
		    struct run_entry out[RUN_PAGE_ENTRIES], u32 *nr_ret,
		    bool *spilled_ret)
{
	struct run_page_disk d;
	u64 sum;
	u32 nr, i;

	*nr_ret = 0;
	*spilled_ret = false;
	memcpy(&d, in, sizeof(d));
	if (memcmp(d.magic, page_magic, sizeof(d.magic)))
		return -AKIN_E_bad_magic;
	sum = get_le64(d.checksum.b);
	if (sum != run_page_checksum(&d, run, page))
		return -AKIN_E_bad_checksum;
	nr = get_le16(d.nr.b);
	if (nr > RUN_PAGE_ENTRIES)
		return -AKIN_E_bad_length;
	if (get_le16(d.flags.b) & ~PAGE_SPILLED)
		return -AKIN_E_feature;
	if (!format_is_zero(&d.entries[nr],
			    (RUN_PAGE_ENTRIES - nr) * RUN_ENTRY_BYTES))
		return -AKIN_E_bad_field;
	for (i = 0; i < nr; i++) {
		out[i].prefix = get_le64(d.entries[i].prefix.b);
		out[i].container = get_le32(d.entries[i].container) |
			(u64)get_le16(d.entries[i].container + 4) << 32;
		out[i].entry = get_le16(d.entries[i].entry.b);
		if (!out[i].container)
			return -AKIN_E_bad_field;
		if (i && out[i].prefix < out[i - 1].prefix)
			return -AKIN_E_bad_order;
	}
	*nr_ret = nr;
	*spilled_ret = get_le16(d.flags.b) & PAGE_SPILLED;
	return 0;
}
