/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoded groups, by (container, group), within a budget.
 *
 * What comes out was checked: the group's checksum, and chunks against their
 * fingerprints; or it never left memory (groupcache_offer). A group with
 * references is decoded with all it needs; the groups that it was compressed
 * against go through the cache too, and are compared with their fingerprints
 * when they are asked for themselves.
 *
 * A group is decoded at most once while it is wanted: whoever asks second
 * waits for the first. Groups in use are pinned; the others stay by last use
 * until the budget is needed.
 *
 * Thread safety: all functions from any thread.
 */
#ifndef CACHE_GROUPCACHE_H
#define CACHE_GROUPCACHE_H

#include "base/buf.h"
#include "cache/dircache.h"
#include "codec/codec.h"
#include "hash/hash.h"

struct groupcache;

/*
 * Buffers between two uses. A level of decoding takes one of each kind and
 * gives it back when those below have done so: each level meets its own again,
 * in the size that it needs. More levels than this allocate; they are rare.
 */
#define DECODER_SPARES 3
struct decoder_spares {
	struct buf bufs[DECODER_SPARES];
	u32 nr;
};

/* One thread's tools for decoding. */
struct decoder {
	struct codec_ctx *codec;
	struct hash_scratch *scratch;
	struct decoder_spares stored, prefixes;
};
int decoder_init(struct decoder *d, const struct codec_choice *choice,
		 struct akin_diag *diag) __must_check;
void decoder_release(struct decoder *d);
/* A buffer, empty, with memory or without, and back. */
struct buf decoder_take(struct decoder_spares *s);
void decoder_give(struct decoder_spares *s, struct buf *b);

struct groupcache_options {
	struct dircache *dirs;		/* borrowed */
	const struct hasher *data_hasher, *meta_hasher;	/* borrowed */
	size_t budget_bytes;
	struct counters *counters;	/* borrowed; may be NULL */
};

int groupcache_new(const struct groupcache_options *opt,
		   struct groupcache **out, struct akin_diag *diag)
	__must_check;
void groupcache_free(struct groupcache *gc);

/* From now on; what is pinned stays. */
void groupcache_set_budget(struct groupcache *gc, size_t bytes);

/* Other generations may be read from now on: everything that is not pinned
 * goes. */
void groupcache_clear(struct groupcache *gc);

/* A decoded group; raw bytes are valid until groupcache_put. */
struct group_data {
	u64 container;
	u32 index;		/* in the container's directory */
	u32 generation;
	const u8 *raw;
	u32 raw_len;
};

/*
 * Read and decode group @index of @container with the caller's own @dec, or
 * find it. Returns pinned. The error of a failed decode is told to everybody
 * who waits for it. A group with a chunk that does not match its fingerprint
 * is -AKIN_E_bad_fp. What is wrong with a group that it was compressed against
 * is wrong with it.
 */
int groupcache_get(struct groupcache *gc, struct decoder *dec,
		   u64 container, u32 index, const struct group_data **out,
		   struct akin_diag *diag) __must_check;
void groupcache_put(struct groupcache *gc, const struct group_data *g);
/*
 * The same, but the bytes need not have been compared with their fingerprints:
 * for who does so himself, or asks for it chunk by chunk (groupcache_check).
 */
int groupcache_get_raw(struct groupcache *gc, struct decoder *dec,
		       u64 container, u32 index, const struct group_data **out,
		       struct akin_diag *diag) __must_check;
/*
 * Compare these chunks of @g, which the caller has pinned, with their
 * fingerprints, unless it was done before. @chunks: counted from the group's
 * first. -AKIN_E_bad_fp: one does not match; which ones do, tells
 * groupcache_is_checked(). Another error: it could not be told.
 */
int groupcache_check(struct groupcache *gc, struct decoder *dec,
		     const struct group_data *g, const u32 *chunks, u32 nr,
		     struct akin_diag *diag) __must_check;
/* False also for what is too far from the first to be remembered. */
bool groupcache_is_checked(const struct group_data *g, u32 chunk);

/*
 * These groups of @container, ascending, will be asked for soon: begin to read
 * what is not there. May load the container's directory.
 */
#define GROUPCACHE_PREFETCH_MAX 64
void groupcache_prefetch(struct groupcache *gc, u64 container,
			 const u32 *groups, u32 nr);

/* groupcache_get_raw() if it is there and decoded: pinned, or NULL. */
const struct group_data *groupcache_find(struct groupcache *gc, u64 container,
					 u32 index);
/*
 * A group that was just made of these bytes, which are copied. For lack of
 * memory, or if the group is there, nothing happens.
 */
void groupcache_offer(struct groupcache *gc, u64 container, u32 index,
		      const u8 *raw, u32 raw_len);

/*
 * The raw bytes of these references, one behind the other (they replace what
 * @out has): what a group is compressed against and decoded with. All that is
 * handed out was compared with its fingerprints. -AKIN_E_bad_length unless
 * they are @expect_len bytes, at most GROUP_MAX_REF_RAW; -AKIN_E_busy for a
 * container that is still being written. Call it before the codec of @dec is
 * in use: decoding the references needs it.
 */
int groupcache_prefix(struct groupcache *gc, struct decoder *dec,
		      const struct group_ref *refs, u32 nr_refs,
		      u32 expect_len, struct buf *out, struct akin_diag *diag)
	__must_check;

/* What a test has found out. */
struct group_test {
	/* Index of the first directory entry that does not match its
	 * fingerprint; UINT32_MAX if it is something else, or all is well. */
	u32 bad;
	/* The reference that could not be read: the first chunk of it that
	 * failed. container 0: it is not that. */
	struct place base;
	/* A container that it refers to and that is not among the bases of
	 * its directory; 0 if there is none. Not an error by itself. */
	u64 stray;
	/* For each base of the directory (the caller's; may be NULL): set true
	 * if the group refers to it. May be shared by tests that run at once. */
	bool *used;
};

/*
 * Read and decode group @index of what @r has open, past the cache and into
 * nothing: for checks. @r's container need not be in the directory cache; what
 * the group refers to is read through the caches. All but @out->used is filled
 * in whatever comes back.
 */
int groupcache_test(struct groupcache *gc, struct decoder *dec,
		    struct container_reader *r, u32 index,
		    struct group_test *out, struct akin_diag *diag)
	__must_check;

struct groupcache_stats {
	u64 hits, reads, read_bytes, decoded_bytes;
	u64 bytes, peak_bytes;
};
void groupcache_get_stats(struct groupcache *gc, struct groupcache_stats *out);

#endif
