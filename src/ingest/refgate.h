/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do references earn their keep in this stream?
 *
 * Where old and new data resemble each other, compressing against a reference
 * is smaller and faster; where they do not (samples of images, encrypted or
 * packed data), it costs the reading of the reference, a second attempt at
 * compressing, and slower restores. So samples are compressed both ways, and
 * after a row of them that gained nothing the stream goes without references
 * for a while, each time for longer.
 *
 *            .---------- a gain ----------.
 *            v                            |
 *    GO (a trial in REFGATE_TRIAL_EVERY) -+- REFGATE_PATIENCE losses --> REST
 *            ^                                                             |
 *            '-- trial of one group: a gain <-- after the rest ----------- '
 *
 * Thread safety: all functions from any thread. Groups of one stream are
 * compressed side by side, so a verdict may come some groups late.
 */
#ifndef INGEST_REFGATE_H
#define INGEST_REFGATE_H

#include "base/types.h"

struct refgate;

enum ref_plan {
	REF_REST,	/* without references */
	REF_GO,		/* with them; judge by the usual ratio */
	REF_TRIAL,	/* both ways; the smaller one is kept */
};

/* Returns owned by the caller, who may share it. NULL: no memory. */
struct refgate *refgate_new(void) __must_check;
struct refgate *refgate_share(struct refgate *rg);
/* NULL is fine. */
void refgate_drop(struct refgate *rg);

/*
 * Percent by which a group must be smaller for its references; from now on.
 * Smaller by less than the usual is not worth a restore that has to read more,
 * nor the search: in virtual machines, groups that gain less have 4 % of what
 * all gain.
 */
#define REFGATE_MIN_GAIN 10
void refgate_set_min_gain(struct refgate *rg, u32 percent);

/* What to do with the next group that has something to refer to. */
enum ref_plan refgate_plan(struct refgate *rg);
/* A group with nothing to refer to: who heard that the gate rests finds no
 * neighbours, and a rest ends nevertheless. */
void refgate_pass(struct refgate *rg);
/* Would it be REST? Advice for who has to find neighbours first. */
bool refgate_rests(struct refgate *rg);

/*
 * What came of a group: @ref_len bytes against references, @plain_len without.
 * 0: not tried that way; a group that does not shrink counts with its raw
 * length. True if the references are to be kept.
 */
bool refgate_judge(struct refgate *rg, u32 raw_len, u32 ref_len,
		   u32 plain_len);
/* After compressing against references alone: is it so little that the other
 * way must be tried as well? */
bool refgate_doubts(struct refgate *rg, u32 raw_len, u32 ref_len);
/* The references could not be read, or took too long: counts as a loss. */
void refgate_lost(struct refgate *rg);
/* Groups without references shrink, or it is not known yet. */
bool refgate_shrinks(struct refgate *rg);
/* What @raw_len bytes of this stream take without references. */
u32 refgate_plain_estimate(struct refgate *rg, u32 raw_len);

/* What became of all groups so far, referring or not. */
struct refgate_tally {
	u64 raw_bytes;
	u64 plain_bytes;	/* without references; estimated in part */
	u64 stored_bytes;
};
void refgate_count(struct refgate *rg, u32 raw_len, u64 plain_len,
		   u32 stored_len);
void refgate_get_tally(struct refgate *rg, struct refgate_tally *out);

#endif
