/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index runs: immutable files of (fingerprint prefix, place), on the metadata
 * disk. A cache in the sense that containers' directories can rebuild them;
 * still checksummed page by page, because a wrong answer costs reads.
 *
 * Entries are split by sampling level (trailing zero bits of the fingerprint's
 * bytes 8..15, at most 15): half of them are at level 0, a quarter at level 1
 * and so on. Each level is an array of 4 KiB pages addressed by prefix, so one
 * read answers a lookup, and loading the levels from the top down loads a
 * uniform sample of any density: hooks and run are one structure.
 */
#ifndef FORMAT_RUN_H
#define FORMAT_RUN_H

#include "format/format.h"

#define RUN_PAGE_BYTES 4096
#define RUN_PAGE_HEADER_BYTES 16
#define RUN_ENTRY_BYTES 16
#define RUN_PAGE_ENTRIES 255
#define RUN_LEVELS 16

struct run_entry {
	u64 prefix;		/* fp_prefix() */
	u64 container;		/* below 2^48 */
	u16 entry;
};

/*
 * Levels lie in the file from the highest number down to 0, so that filling a
 * table is one sequential read. An entry's page is (prefix * nr_pages) >> 64
 * (128 bits); a full page spills into the next. What spills from the last one
 * follows it in extra pages, numbered on: a level's extent, from first_page to
 * that of the level behind it in the file (or the file's end), may be longer
 * than nr_pages, never shorter. Entries ascend by (prefix, container, entry)
 * over the whole level. An empty level has nr_pages 0 and any first_page.
 */
struct run_level {
	u64 first_page;		/* in the file; 1 is the first after the header */
	u64 nr_pages;		/* that prefixes address */
	u64 nr_entries;
};

/* Page 0 of the file. */
struct run_header {
	struct pool_id pool;
	u64 number;
	u64 nr_entries;
	struct run_level levels[RUN_LEVELS];
};

static inline unsigned run_level_of(const struct fp *fp)
{
	u64 s = get_le64(fp->b + 8);

	return s ? (unsigned)__builtin_ctzll(s | 1ull << (RUN_LEVELS - 1))
		 : RUN_LEVELS - 1;
}

void run_header_encode(const struct run_header *h, u8 out[RUN_PAGE_BYTES]);
int run_header_decode(const u8 in[RUN_PAGE_BYTES], struct run_header *out);
/*
 * Entries ascend by prefix and are in containers >= 1.
 * @page: index in its level, bound into the checksum together with the run's
 * number. @spilled: entries that belong to this page continue in the next.
 */
void run_page_encode(u64 run, u64 page, const struct run_entry *e, u32 nr,
		     bool spilled, u8 out[RUN_PAGE_BYTES]);
int run_page_decode(const u8 in[RUN_PAGE_BYTES], u64 run, u64 page,
		    struct run_entry out[RUN_PAGE_ENTRIES], u32 *nr_ret,
		    bool *spilled_ret);

#endif
