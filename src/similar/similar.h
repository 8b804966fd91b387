/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The similarity table: which containers have something like this? A few bytes
 * for each of them, where the index takes twenty for each chunk.
 *
 * A container's chunks, in their order, are cut into segments of 8 MiB. A
 * segment is represented by its least fingerprints and the least
 * super-features of its sketches, by the order of a hash: what another stream
 * has in common with the segment has these in common with equal probability
 * (Broder, "On the resemblance and containment of documents", 1997; for
 * deduplication Aronovich et al., "The design of a similarity based
 * deduplication system", SYSTOR 2009, and Lillibridge et al., "Sparse
 * Indexing", FAST 2009). Whoever asks asks for all that it has.
 *
 * Memory: at most 4 bytes for each MiB of the pool's containers (but
 * SIMILAR_BYTES_LEAST in any case), and never more than 15/32 of @budget_bytes;
 * for a moment, when it changes its size, twice that. A sixteenth of it is for
 * what the file does not have yet. Representatives have levels, the least one
 * of a segment the lowest; when there is no more room, the highest level goes.
 *
 * On the metadata disk the table is one file, read when it is loaded; what was
 * added is written behind it, until it is so much that the file is replaced. It
 * is a cache: an answer is tried, never believed; a file that is lost, damaged,
 * another pool's or too large costs what is not found because of it.
 *
 * Thread safety: all functions from any thread, but new, load, save and free.
 */
#ifndef SIMILAR_H
#define SIMILAR_H

#include "base/counters.h"
#include "format/format_container.h"
#include "format/format_similar.h"
#include "os/disk.h"

struct similar;

#define SIMILAR_SEGMENT_BYTES (8 * MiB)
#define SIMILAR_BYTES_PER_MIB 4
#define SIMILAR_BYTES_LEAST (256 * KiB)
/* Of a segment of data; of its super-features there may be all. So there may be
 * of metadata, where one piece stands for what was half a megabyte. */
#define SIMILAR_FPS 8

struct similar_options {
	struct disk *meta;	/* borrowed */
	struct pool_id pool;
	size_t budget_bytes;	/* for table and file, while it is one */
	u64 stored_bytes;	/* of the pool's containers */
};

int similar_new(const struct similar_options *opt, struct similar **out,
		struct akin_diag *diag) __must_check;
/* NULL is fine. */
void similar_free(struct similar *s);

/*
 * Adds what the file has. False: it could not be used (nor is there anything
 * wrong with that if there is none). -AKIN_E_nomem is such a reason, too.
 */
bool similar_load(struct similar *s);
/*
 * Into the file what was added, beside what somebody else may have written
 * meanwhile. One process at a time. A file that was too large to be loaded
 * stays as it is.
 */
int similar_save(struct similar *s, struct akin_diag *diag) __must_check;

/* Containers with numbers above this are not in it. */
u64 similar_covered(struct similar *s);
/* Everything up to @container has been added, or cannot be. */
void similar_cover(struct similar *s, u64 container);
/*
 * What represents a container. @file_bytes: what it takes on disk, 0 if that is
 * in stored_bytes already. Without memory some of it is not added.
 */
void similar_add(struct similar *s, const struct directory *d, u64 file_bytes);

/* A leaf of a recipe that leads from data to its predecessor is in @container:
 * more worth knowing than another one. */
void similar_add_leaf(struct similar *s, const struct fp *fp, u64 container);

/* Keys; their levels are 0. */
static inline u64 similar_key_fp(const struct fp *fp)
{
	return get_le64(fp->b + 8) & ~(u64)(SIMILAR_LEVELS - 1);
}
u64 similar_key_sketch(const struct dir_sketch *sk, u32 part);

/* The newest container that each key stands for; 0: none. */
void similar_lookup(struct similar *s, const u64 *keys, u32 n, u64 *out);
/* @container is gone: the key does not stand for it any more. */
void similar_drop(struct similar *s, u64 key, u64 container);

struct similar_stats {
	u64 lookups, hits;
	u32 entries;
	u8 levels;		/* below which all is held */
	size_t bytes, bytes_allowed;
};
void similar_get_stats(struct similar *s, struct similar_stats *out);

#endif
