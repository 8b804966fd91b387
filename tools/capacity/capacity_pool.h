/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pool of akin needs: a model of daily backups that are kept for a
 * while.
 *
 * The data of day t is data x (1 + growth)^(t / 365 days). Each day a share
 * "change" of it, scattered evenly, is replaced. A kept version holds, beside
 * what is in the next newer one, what was replaced in the days between them.
 * Estimates, in floating point; the constants are those of akin's formats. See
 * docs/design/capacity.md.
 *
 * Invariant: with growth >= 0 no need ever falls from one day to the next.
 */
#ifndef CAPACITY_POOL_H
#define CAPACITY_POOL_H

#include "capacity_units.h"

#define CAP_POOL_MAX_DAYS 36500		/* how far anybody looks ahead */
#define CAP_POOL_CHUNK_MIN 1024
#define CAP_POOL_CHUNK_MAX (1 << 20)
#define CAP_POOL_RAM_DEFAULT (128 * CAP_MIB)
#define CAP_POOL_RAM_MIN (32 * CAP_MIB)

struct cap_pool {
	double data;		/* bytes of one backup on day 0 */
	double dedup;		/* data : unique bytes, within one backup */
	double compression;	/* unique : stored bytes */
	double change;		/* share of the data, each day */
	/* As compression, of what older versions hold by themselves: less is
	 * stored of what resembles the rest. 0: as compression. */
	double change_compression;
	double growth;		/* share of the data, each year */
	struct cap_keep keep;
	unsigned chunk;		/* bytes, on average */
	double growth_per_day;	/* factor; see cap_pool_prepare() */
};

/* Bytes but for counts. Only finite numbers, at most 2^90. */
struct cap_pool_need {
	unsigned versions;
	double data;		/* one backup of that day */
	double logical;		/* all kept backups */
	double unique;		/* held, after deduplication */
	double older;		/* of that, by older versions alone */
	double stored;		/* and after compression */
	double chunks;
	double directories, recipes;
	double disk;		/* stored + directories + recipes */
	double index, catalog;
	double meta_disk;	/* twice the index, for merging; catalog */
	bool too_much;		/* something is above 2^90: it stands at that */
};

/* Derives what is derived. */
void cap_pool_prepare(struct cap_pool *p);
/* @day <= CAP_POOL_MAX_DAYS. */
void cap_pool_at(const struct cap_pool *p, unsigned day,
		 struct cap_pool_need *out);
/* How many backups @keep keeps in the end. */
unsigned cap_pool_versions(const struct cap_keep *keep);

/*
 * The first day on which more is needed than there is: data disk of @disk and
 * metadata disk of @meta bytes; @meta 0: both on one disk. UINT32_MAX if that
 * does not come within CAP_POOL_MAX_DAYS.
 */
unsigned cap_pool_full(const struct cap_pool *p, double disk, double meta);
bool cap_pool_fits(const struct cap_pool_need *n, double disk, double meta);

/* Memory with which 1 of 2^@shift fingerprints of @chunks is held. */
double cap_pool_ram(double chunks, unsigned shift);
/* The least @shift that @ram allows; 63 at the most. */
unsigned cap_pool_ram_shift(double chunks, double ram);

/* The @shift that leaves four chunks of each container known: enough to find
 * the others beside them. */
unsigned cap_pool_hook_shift(unsigned chunk);

double cap_pool_change_compression(const struct cap_pool *p);

/* 1 - (1 - share)^n: how much differs after n rounds. */
double cap_pool_changed(double share, unsigned n);

#endif
