/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lower half of an opened pool: what every reader and writer of chunks
 * shares. It finds chunks by fingerprint and reads pieces of metadata.
 *
 * Finding, cheapest first: directories in memory; the containers a hint names;
 * the index in memory; the index's runs. A hint is never believed, only tried
 * first.
 *
 * Thread safety: all functions from any thread, with a decoder of one's own.
 */
#ifndef DEPOT_H
#define DEPOT_H

#include "base/counters.h"
#include "base/workers.h"
#include "cache/groupcache.h"
#include "chunk/chunk.h"
#include "depot/depot_damage.h"
#include "format/format_recipe.h"
#include "format/format_super.h"
#include "index/index.h"
#include "similar/similar.h"
#include "sketch/sketch.h"

struct depot {
	struct disk *meta, *data;	/* borrowed */
	struct super super;
	struct hasher *data_hasher, *meta_hasher;
	struct chunker *chunker;
	struct index *index;		/* borrowed; set by the opener */
	struct dircache *dirs;
	struct groupcache *groups;
	struct workers *workers;	/* contexts are struct decoder */
	struct counters *counters;	/* borrowed; NULL: nobody counts */
	struct counters_streams *streams;	/* the same */
	/*
	 * Others may have merged runs away since the index was opened. Brings
	 * it up to date: 1 if there was news, 0 if not, or an error. Any
	 * thread. NULL: there are no others.
	 */
	int (*refresh)(void *ctx, struct akin_diag *diag);
	void *refresh_ctx;
	/* Empty at first; filled by the opener before anything is looked up. */
	struct depot_damage damage;
	/* Of these, what reading has come upon, and nobody has marked yet. */
	struct depot_damage found;
	struct depot_bases *bases;	/* see depot_is_damaged() */
	/*
	 * How writers find chunks: set, with the table, before a session
	 * begins and taken back after it. Readers do not care.
	 */
	u8 engine;			/* enum super_engine */
	struct similar *similar;	/* borrowed; NULL with identity */
	struct sketcher *sketcher;
};

struct depot_options {
	size_t dircache_bytes, groupcache_bytes;
	unsigned nr_threads;
	struct counters *counters;	/* borrowed; may be NULL */
	struct counters_streams *streams;	/* the same */
	/* See struct dircache_options. */
	int (*generation)(void *ctx, u64 container, u32 *generation_ret,
			  struct akin_diag *diag);
	void *generation_ctx;
	/* For tests: fingerprints of data that collide. NULL: the hash that
	 * the superblock names. */
	const struct hash_ops *data_hash;
};

/*
 * Keys derive from the superblock's. @d is zeroed by the callee. The index is
 * set afterwards, before anything is looked up.
 */
int depot_init(struct depot *d, struct disk *meta, struct disk *data,
	       const struct super *super, const struct depot_options *opt,
	       struct akin_diag *diag) __must_check;
void depot_release(struct depot *d);

/*
 * A container was sealed and synced: make its parity, if the pool wants any.
 * Its name is durable with the container's. The bytes of it; 0 also if it could
 * not be made, which is counted and keeps nobody from going on.
 */
u64 depot_parity_add(struct depot *d, u64 number, u32 generation);
/* Unlink a container and its parity. What stays is found and removed by the
 * next reclaim. */
void depot_container_remove(struct depot *d, u64 number, u32 generation);

struct codec_choice depot_codec(const struct depot *d);

/*
 * Is it known that what lies there cannot be had: for damage of its own, or
 * because a container is gone that its group was compressed against? (What
 * else is damaged below it, a check has marked as damage of its own.) Doubt is
 * damage.
 */
bool depot_is_damaged(struct depot *d, u64 container, u32 entry);

/* Reading has failed there: known from now on. */
int depot_note_damage(struct depot *d, const struct place *at) __must_check;

/*
 * For writers: which of these chunks are there already? In memory, plus the
 * directories that the engine's tables in memory point to: the index, and what
 * represents containers, of which the best few are looked into. Copies in
 * directories that cannot be read, or at damaged places, are not found.
 * out[i].container = 0: not found.
 */
int depot_find(struct depot *d, const struct fp *fps, u32 n,
	       struct dir_hit *out, struct akin_diag *diag) __must_check;
/* The same without loading anything: one that was stored a moment ago. */
int depot_find_again(struct depot *d, const struct fp *fp, struct dir_hit *out,
		     struct akin_diag *diag) __must_check;

/* For writers: the index in memory, if the engine asks it; else nothing is
 * known. */
int depot_index_lookup(struct depot *d, const struct fp *fps, u32 n,
		       struct place *out, struct akin_diag *diag)
	__must_check;
/*
 * A stored chunk that resembles @sk in as many super-features as possible, in
 * container @first (0: none) or in those that the table names. Up to *loads
 * directories are read, and counted down. False: there is none.
 */
bool depot_resembling(struct depot *d, const struct dir_sketch *sk, u64 first,
		      u32 *loads, struct dir_hit *out);

/*
 * For readers: where are these chunks? Everything is tried. A damaged place is
 * the answer only if there is no other (depot_damage_has tells).
 * -AKIN_E_fp_unknown for the first one that is nowhere (its message names
 * directories that could not be read); another code if it may be somewhere, but
 * that could not be looked at (memory, permissions, a failing disk). The others
 * are in *out all the same.
 */
int depot_locate(struct depot *d, const struct hint *hint,
		 const struct fp *fps, u32 n, struct dir_hit *out,
		 struct akin_diag *diag) __must_check;

/*
 * Bring the directories that @hint names into memory, several at once: for a
 * hint all of which is needed, like that of a recipe's leaf. What cannot be
 * read is told to who looks for something in it.
 */
void depot_load_hinted(struct depot *d, const struct hint *hint);

/*
 * A hint shared by many, cut down to what these chunks (at most
 * CONTENT_INLINE_MAX) need: by what memory knows of all of them, else to the
 * newest DEPOT_HINT_MAX containers. So what is handed on from snapshot to
 * snapshot does not grow with their number. Replaces *to, whose containers the
 * caller owns.
 */
#define DEPOT_HINT_MAX 256
int depot_narrow_hint(struct depot *d, const struct fp *fps, u32 n,
		      const struct hint *from, struct hint *to,
		      struct akin_diag *diag) __must_check;

/* Group index and offset of a located chunk. Pins nothing. */
struct chunk_spot {
	u32 generation;		/* of which the rest holds */
	u32 group;
	u32 chunk;		/* in the group */
	u32 raw_off;
	u32 len;
	u32 group_raw;		/* raw bytes of the whole group */
	u32 group_stored;	/* what it takes in the file */
};
int depot_spot(struct depot *d, const struct dir_hit *at,
	       const struct fp *fp, struct chunk_spot *out,
	       struct akin_diag *diag) __must_check;
/*
 * The decoded group of such a spot in @container: pinned (groupcache_put), the
 * chunk compared with its fingerprint.
 */
int depot_spot_get(struct depot *d, struct decoder *dec, u64 container,
		   const struct chunk_spot *spot, const struct group_data **out,
		   struct akin_diag *diag) __must_check;

/*
 * A piece of metadata by its fingerprint: bytes and its own hint (both
 * replaced; *own_hint's containers are owned by the caller, mem_free).
 */
int depot_read_piece(struct depot *d, struct decoder *dec, const struct fp *fp,
		     const struct hint *hint, struct buf *bytes,
		     struct hint *own_hint, struct akin_diag *diag)
	__must_check;

#endif
