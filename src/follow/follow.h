/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor in the predecessor's chunk sequence.
 *
 * What is backed up resembles something that was backed up before: its
 * predecessor. While an object's chunks go by, the cursor keeps to the place in
 * the predecessor's recipe that corresponds to them, through insertions,
 * deletions and changed regions. That gives two things: duplicates that memory
 * does not know (their directories are named by the leaves' hints), and for
 * what is new, the stored chunks that lie where it would have lain.
 *
 * The predecessor is known by name, or hits lead to it: the newest container
 * that had anything of the object names a leaf of the recipe that its chunks
 * were written under, and that leads up to the root. Where there is no such
 * leaf, or it cannot be read yet because this session wrote it, the container
 * itself is followed.
 *
 * Only help: nothing here ever fails a backup. What cannot be read, or would
 * cost too much to find, is done without.
 *
 * Costs nothing while everything is found or nothing is known: leaves are read
 * only around chunks that are missing, and now and then to keep in step.
 *
 * Memory: FOLLOW_BYTES at most, and only once a predecessor is followed. I/O:
 * pieces of metadata around the cursor, and one directory for each 256 KiB
 * followed.
 *
 * Thread safety: none; one stream has one.
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "depot/depot.h"
#include "hash/hash.h"

struct follow;

/* What one may hold: the window (300 KiB), a recipe reader, a decoder. */
#define FOLLOW_BYTES (512 * KiB)

/*
 * What is followed: a content (owned copies), or, where no recipe could be
 * found, what is in a container, which is a stream without its duplicates.
 */
struct predecessor {
	struct content ct;	/* without inline data */
	struct hint hint;
	u64 container;		/* 0: the content */
};

/* Returns owned; NULL if there is nothing to follow in it, or no memory. */
struct predecessor *predecessor_new(const struct content *ct,
				    const struct hint *hint) __must_check;
/* NULL is fine. */
void predecessor_free(struct predecessor *p);

/* Allocates next to nothing. NULL if there is no memory. */
struct follow *follow_new(struct depot *d) __must_check;
/* NULL is fine, here and below: then nothing is ever known. */
void follow_free(struct follow *f);

/* An object begins. @p (taken): its predecessor, NULL if it is not known. */
void follow_begin(struct follow *f, struct predecessor *p);
/*
 * The next chunks of the object, [0, n), from byte @off on, after memory has
 * been asked for them: fills in hits of chunks that the predecessor has. @near:
 * will follow_near() be called? @items and @fps are borrowed until the next
 * call of follow_batch().
 */
void follow_batch(struct follow *f, u64 off, const struct hash_item *items,
		  const struct fp *fps, struct dir_hit *hits, u32 n, bool near);
/*
 * For chunk @k of the last batch, which is new: runs of stored chunks near
 * which it would have lain in the predecessor, the most promising entry first.
 * Returns how many, up to @max.
 */
u32 follow_near(struct follow *f, u32 k, struct group_ref *out, u32 max);
/*
 * For a leaf of the new recipe, of @len bytes from byte @off of the object on:
 * the places of the predecessor's leaves of that range. @len = 0: for a node,
 * the nodes read last.
 */
u32 follow_near_piece(struct follow *f, u64 off, u64 len,
		      struct group_ref *out, u32 max);
/* A chunk of the object was stored in @container: what is there, and later, is
 * of this session, and no predecessor of anything while there is another. */
void follow_own(struct follow *f, u64 container);

struct follow_stats {
	u64 found;		/* duplicates that memory did not know */
	u64 leads, leads_failed;	/* predecessors looked for by hits */
	u64 leaves;		/* read */
	u64 loads;		/* directories read for it */
	u64 probes;		/* chunks asked for in the runs on disk */
};
void follow_get_stats(const struct follow *f, struct follow_stats *out);

#endif
