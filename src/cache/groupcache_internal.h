/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the group cache share: groupcache.c keeps entries,
 * groupcache_decode.c fills them, groupcache_verify.c compares them with their
 * fingerprints, groupcache_buffers.c has the memory.
 */
#ifndef GROUPCACHE_INTERNAL_H
#define GROUPCACHE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache/groupcache.h"

#define GROUPCACHE_BUCKETS 1024

/*
 *   DECODING --> DECODED --> VERIFYING --> VERIFIED
 *      |            ^------------'  '----> WRONG
 *      '-> FAILED
 *
 * As a base a group serves from DECODED on, even a WRONG one: it was made
 * against the bytes that its bases decode to, and is itself proved by its own
 * fingerprints. VERIFYING falls back if it could not be told.
 */
enum groupcache_state {
	ENTRY_DECODING, ENTRY_DECODED, ENTRY_VERIFYING, ENTRY_VERIFIED,
	ENTRY_WRONG, ENTRY_FAILED
};

/* Chunks of a group of which it is remembered that they match: with chunks of
 * 8 KiB, all those of a group of 4 MiB. */
#define GROUPCACHE_CHUNKS 512

struct groupcache_entry {
	struct group_data data;	/* first member: handed out */
	_Atomic u64 checked[GROUPCACHE_CHUNKS / 64];	/* a bit each */
	enum groupcache_state state;
	u32 pins;
	u8 *raw;
	size_t cap;			/* of @raw; at least data.raw_len */
	int err;			/* FAILED, WRONG */
	struct akin_diag *why;		/* the same; NULL if out of memory */
	size_t bytes;			/* counted, with the entry itself */
	struct groupcache_entry *chain;	/* in its bucket */
	struct groupcache_entry *prev, *next; /* by last use, unpinned only */
};

/*
 * What evicted groups leave for the next ones. Fresh memory costs more than
 * decoding into it: the kernel clears every page, one fault each. It counts as
 * used; GROUPCACHE_SPARE_SHARE of the budget at most, and only of such a size
 * that the heap would map or trim it each time.
 */
#define GROUPCACHE_SPARES 16
#define GROUPCACHE_SPARE_SHARE 16
#define GROUPCACHE_SPARE_MIN (32 * KiB)

struct groupcache_spare {
	u8 *raw;
	size_t cap;
};

/*
 * Where decoded groups of the usual size lie: a table of places in one piece of
 * large pages, as long as the budget. With small pages, half of what a fast
 * restore takes besides decoding are the faults of memory that is new. Places
 * are given out from the front; what was used once stays resident until that
 * and the rest exceed the budget. Larger and much smaller groups come from the
 * heap, as all do with a budget of a few MiB.
 */
#define GROUPCACHE_PLACE (128 * KiB)
#define GROUPCACHE_PLACES_MIN 128
/* Of the budget, for places that are free and resident: a group is decoded
 * before another one goes for it. */
#define GROUPCACHE_FREE_SHARE 16

enum groupcache_place { PLACE_NEW, PLACE_FREE, PLACE_USED };

struct groupcache_places {
	u8 *base;		/* NULL: there are none */
	u8 *state;		/* enum groupcache_place */
	u32 nr;
	u32 nr_used, nr_resident;	/* FREE and USED */
};

struct groupcache {
	struct groupcache_options opt;
	pthread_mutex_t lock;	/* guards all; not held while decoding */
	pthread_cond_t changed;	/* some entry's state did */
	struct groupcache_entry *buckets[GROUPCACHE_BUCKETS];
	struct groupcache_entry *oldest, *newest;
	struct groupcache_places places;
	struct groupcache_spare spares[GROUPCACHE_SPARES];
	u32 nr_spares;
	size_t spare_bytes;
	struct groupcache_stats stats;
	u64 read_bytes;		/* atomic; belongs to the stats */
};

/*
 * One question from outside, with all the decoding below it.
 *
 * Groups that share bases make a graph with many more paths than groups, and
 * without a cache every path is walked. Similar data lies in similar order, so
 * what a walk needs again it needs soon: the run keeps the bases that it used
 * last pinned, whatever the cache's budget. A group that is done leaves those
 * of the level below it as the last ones, for its neighbour: so a dozen do, of
 * any depth, and their bytes are a thread's share of memory where the cache
 * has none.
 *
 * No honest pool comes near GROUPCACHE_DECODES_MAX.
 */
#define GROUPCACHE_HELD 16
#define GROUPCACHE_HELD_BYTES (2 * MiB)
#define GROUPCACHE_DECODES_MAX 65536

struct groupcache_run {
	struct groupcache *gc;
	struct decoder *dec;
	u32 nr_decodes;		/* so far */
	const struct group_data *held[GROUPCACHE_HELD];	/* the last one first */
	u32 nr_held;
	size_t held_bytes;
};

/* In place of groupcache_put() for a base. */
void groupcache_hold(struct groupcache_run *run, const struct group_data *g);
/* At the end of a run. */
void groupcache_let_go(struct groupcache_run *run);

/*
 * Group @index of @container for use as a base: decoded, not compared with its
 * fingerprints unless @verified. Returns pinned.
 */
int groupcache_pin(struct groupcache_run *run, u64 container, u32 index,
		   bool verified, const struct group_data **out,
		   struct akin_diag *diag) __must_check;

/* Memory for @len raw bytes, or more; NULL if there is none. */
u8 *groupcache_take_raw(struct groupcache *gc, size_t len, size_t *cap_ret);
/* Keeps or frees it; NULL is fine. */
void groupcache_give_raw(struct groupcache *gc, u8 *raw, size_t cap);
void groupcache_give_raw_locked(struct groupcache *gc, u8 *raw, size_t cap);
void groupcache_drop_spares_locked(struct groupcache *gc);
/* None if there is no memory: the heap will do. */
void groupcache_places_init(struct groupcache *gc);
void groupcache_places_release(struct groupcache *gc);
/* Free places take memory only as far as the budget has room for them. */
void groupcache_trim_places_locked(struct groupcache *gc);
/* What entries may take, so that it has. */
u64 groupcache_room_locked(const struct groupcache *gc);

/* Fill @e's raw bytes. */
int groupcache_decode(struct groupcache_run *run, struct groupcache_entry *e,
		      struct akin_diag *diag) __must_check;
static inline bool groupcache_bit(const struct groupcache_entry *e, u32 chunk)
{
	return chunk < GROUPCACHE_CHUNKS &&
	       (atomic_load_explicit(&e->checked[chunk / 64],
				     memory_order_acquire) >> chunk % 64 & 1);
}
static inline void groupcache_set_bit(struct groupcache_entry *e, u32 chunk)
{
	if (chunk < GROUPCACHE_CHUNKS)
		atomic_fetch_or_explicit(&e->checked[chunk / 64],
					 (u64)1 << chunk % 64,
					 memory_order_release);
}

/* Compare @e, decoded, with its fingerprints. -AKIN_E_bad_fp: it is wrong;
 * another error: could not be told. */
int groupcache_verify(struct groupcache_run *run, struct groupcache_entry *e,
		      struct akin_diag *diag) __must_check;
/* Every chunk against its fingerprint; *bad_ret: the first that differs. */
int groupcache_verify_all(struct groupcache_run *run,
			  const struct directory *dir,
			  const struct group_data *data, u32 *bad_ret,
			  struct akin_diag *diag) __must_check;

/*
 * The reader for a group: pinned in the directory cache, or, of a container
 * that is still being written, one of its own.
 */
struct groupcache_source {
	struct container_reader *r, *own;
};
int groupcache_source_open(struct groupcache *gc,
			   const struct group_data *data,
			   struct groupcache_source *src,
			   struct akin_diag *diag) __must_check;
void groupcache_source_close(struct groupcache *gc,
			     const struct group_data *data,
			     struct groupcache_source *src);

#endif
