/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all on-disk structures share. The normative description is
 * docs/format/; this folder is the only code that knows byte offsets.
 *
 * Every structure is little-endian and size-limited before anything is
 * allocated; all but recipes and tree records, which are read under their
 * fingerprint, start with a magic and carry a checksum (XXH3-64). Decoders
 * return 0, -AKIN_E_nomem, or a negative code of class CORRUPT or UNSUPPORTED,
 * and never read outside the bytes they were given. Encoders refuse, with the
 * same codes, what a decoder would not believe.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "base/buf.h"
#include "base/diag.h"
#include "base/types.h"

#define FORMAT_VERSION (1u << 16)	/* 1.0; major in the upper half */

#define POOL_ID_BYTES 16
struct pool_id {
	u8 b[POOL_ID_BYTES];
};

/* Names of the files and directories of a pool, relative to their disk. */
#define FILE_SUPERBLOCK "superblock"	/* on both disks */
#define FILE_POLICY     "policy"	/* data disk: a copy of the rules */
#define FILE_CATALOG    "catalog"	/* metadata disk: SQLite */
#define FILE_LOCKS      "locks"		/* metadata disk: never unlinked */
#define FILE_SIMILAR    "similar"	/* metadata disk: the similarity table */
#define DIR_RUNS        "runs"		/* metadata disk: index runs */
#define DIR_TMP         "tmp"		/* metadata disk: spills */
#define DIR_CONTAINERS  "containers"	/* data disk: 256 folders of them */
#define DIR_SNAPSHOTS   "snapshots"	/* data disk: snapshot records */
#define DIR_QUARANTINE  "quarantine"	/* both: what a repair put aside */
#define FILE_REBUILDING "rebuilding"	/* metadata disk: it is being made anew */

#define FORMAT_NAME_MAX 64
/* "containers/2a/000000000000012a.0": number and generation, hex. */
void format_container_name(u64 number, u32 generation,
			   char out[FORMAT_NAME_MAX]);
/* Of the name in its folder, "000000000000012a.0"; false if it is not just what
 * format_container_name() makes. */
bool format_parse_container(const char *name, u64 *number_ret,
			    u32 *generation_ret);
/* "containers/2a/000000000000012a.0.parity", and while it is written the same
 * with ".tmp" behind it. */
void format_parity_name(u64 number, u32 generation, char out[FORMAT_NAME_MAX]);
void format_parity_tmp_name(u64 number, u32 generation,
			    char out[FORMAT_NAME_MAX]);
/* Either of them, in its folder. */
bool format_parse_parity(const char *name, u64 *number_ret,
			 u32 *generation_ret, bool *tmp_ret);
/* "runs/00000000000003e8" */
void format_run_name(u64 number, char out[FORMAT_NAME_MAX]);
/* "snapshots/0000000000000007" */
void format_snapshot_name(u64 number, char out[FORMAT_NAME_MAX]);
/* "snapshots/0000000000000007.gone": the record of a forgotten one. */
void format_buried_name(u64 number, char out[FORMAT_NAME_MAX]);
/* "snapshots/0000000000000007.label" */
void format_label_name(u64 number, char out[FORMAT_NAME_MAX]);

/* What a file may be; for tools that are given any. */
enum format_kind {
	FORMAT_UNKNOWN = 0,
	FORMAT_SUPER,
	FORMAT_CONTAINER,
	FORMAT_DIRECTORY,	/* cut out of its container */
	FORMAT_RUN,
	FORMAT_SNAPSHOT,
	FORMAT_LABEL,
	FORMAT_PIECE,		/* leaf or node of a recipe */
	FORMAT_LISTING,		/* tree records */
	FORMAT_PARITY,
	FORMAT_RULEBOOK,
};
/*
 * By magics alone, so a damaged structure is still recognised: of a superblock
 * either copy's, of a container the header's or the footer's, of parity that of
 * either head. Pieces and
 * listings have too little of a magic and must decode in front. @data may be
 * the first and last bytes of a larger file, 8 KiB at least.
 */
enum format_kind format_recognize(const void *data, size_t len);

/*
 * A hint: the containers in which the children of a stored piece of metadata
 * live. Never believed, only tried first. Sorted, without duplicates.
 */
#define HINT_MAX 65536
struct hint {
	u64 *containers;
	u32 nr;
};

#endif
