/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a pool.
 *
 * Four passes, cheapest truth first:
 *  1. superblocks and catalog;
 *  2. containers: file, length, header, footer, directory, catalog row; every
 *     group of metadata containers is decoded and fingerprinted, and with
 *     @read_data those of data containers too (or a sample);
 *  3. snapshot records, index runs, files that nobody names;
 *  4. the tree of every snapshot: each piece reads and decodes, each chunk is
 *     somewhere, in the right length, in a place not known to be damaged.
 * So pass 4 says which files and snapshots need what pass 2 found damaged. A
 * part of a tree that was found whole is not walked again for the next
 * snapshot that shares it.
 *
 * Containers of which all groups are read are compared, sector by sector, with
 * their parity, too, if they have any.
 *
 * A chunk counts as damaged if reading it as restores do fails: all chunks of
 * a group of which one is wrong.
 *
 * Damage is entered into depot->damage, and with @may_mark in the catalog;
 * marks of places that read well are lifted. Damage that was marked before is
 * reported as a remark only; if a file still needs it, that is a finding.
 *
 * A budget (@budget_bytes, @budget_ns) turns the check into a round of a scrub:
 * containers are read in full, those never read first, then those read longest
 * ago, until it is used up or all have been read; at least one is. Only if
 * something is wrong the passes above follow, to say what needs it. When each
 * container was read is remembered in the catalog, by any check.
 *
 * Memory: @seen_bytes, the damage set, one group for each job in flight.
 * Thread safety: one check at a time on a depot, and no writers on it.
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "base/numset.h"
#include "catalog/catalog.h"
#include "depot/depot.h"

/* Reported one by one of each kind of thing; the rest is only counted. */
#define VERIFY_REPORTED_MAX 1000

struct verify_progress {
	u64 containers, containers_total;
	u64 bytes, bytes_total;		/* stored bytes of groups, read */
	u64 snapshots, snapshots_total;
	u64 files;			/* nodes walked */
	u64 findings;
	const char *current;		/* borrowed during the call */
};

struct verify_options {
	struct depot *depot;
	struct catalog *catalog;
	struct decoder *dec;		/* of the calling thread */
	bool read_data;
	unsigned read_percent;		/* 0: all of it */
	u64 read_bytes;			/* at most, stored; 0: no limit */
	u64 seed;			/* of the sample */
	u64 budget_bytes, budget_ns;	/* 0: none; both: what ends first */
	bool may_mark;			/* the catalog may be written */
	size_t seen_bytes;		/* 0: a default of 8 MiB */
	/* > 0 if the session has ended; NULL: all have. */
	int (*session_ended)(void *ctx, u64 number);
	void *session_ctx;
	/* Non-zero ends the check with -AKIN_E_interrupted. */
	int (*stopped)(void *ctx);
	/* Not more than five times a second. */
	void (*progress)(void *ctx, const struct verify_progress *p);
	/* @code 0: a remark, which counts for nothing. @snapshot: hex or "",
	 * @path: in it, or "". */
	void (*finding)(void *ctx, int code, const char *text,
			const char *snapshot, const char *path);
	/* May be NULL; becomes the containers with sectors that are damaged,
	 * their own or of their parity: numset_release(). */
	struct numset *parity_bad;
	void *ctx;
};

struct verify_result {
	u64 snapshots, containers;
	u64 pieces;		/* of metadata, read on the way through trees */
	u64 chunks_located;
	/* Data containers only: */
	u64 containers_read, groups_read, chunks_verified;
	u64 bytes_verified;	/* of groups, as stored */
	u64 bytes_not_read;	/* the same, not tested */
	u64 parity_containers;	/* of @containers, those that have any */
	u64 sectors_healable;	/* damaged, and parity makes up for it */
	u64 parity_damaged;	/* containers of which it is */
	u64 findings;		/* remarks not counted */
	u64 chunks_damaged;	/* found now or marked before, needed or not */
	u64 files_damaged;	/* by snapshot and path */
	u64 snapshots_damaged;
	u64 orphan_files;
};

/*
 * 0 if there were no findings, a code of class CORRUPT otherwise; *out is
 * filled in both cases. Any other class: the check could not be finished.
 */
int verify_pool(const struct verify_options *opt, struct verify_result *out,
		struct akin_diag *diag) __must_check;

#endif
