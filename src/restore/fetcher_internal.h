/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the fetcher share: fetcher.c has the ring of items and
 * emits them, fetcher_ahead.c has the disk begin, fetcher_groups.c has groups
 * decoded.
 *
 * Three places in the ring, in this order:
 *
 *	first			what is emitted next
 *	first + nr_admitted	groups before it are wanted: read, decoded and
 *				pinned, within the window
 *	first + nr_begun	the disk was asked for what is before it
 *	first + nr		the newest
 */
#ifndef FETCHER_INTERNAL_H
#define FETCHER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "restore/fetcher.h"

/* Items ahead at most: what small files bring besides bytes. */
#define FETCHER_ITEMS 4096
#define FETCHER_BUCKETS 512
/* Chunks of a group that a worker compares. Those behind them, in groups of
 * several MiB, are compared as they are emitted. */
#define FETCHER_CHUNKS 512
/*
 * Groups whose reads are begun at once, in the order of the disk. The first
 * lot is small, so that work begins; each is twice as large as the one before.
 */
#define FETCHER_LOT_FIRST 16
#define FETCHER_LOT_MAX 512

/* A group on its way, wanted by @wanted items. */
struct wanted_group {
	struct work work;	/* of the batch, if it is the first of one */
	struct wanted_group *next;	/* in its batch */
	struct fetcher *f;
	u64 container;
	u32 index, generation;
	u32 wanted;
	_Atomic u64 chunks[FETCHER_CHUNKS / 64];	/* which, a bit each */
	u64 bytes;		/* what it counts in the window */
	atomic_bool ready;	/* set under f->lock; then the rest is, too */
	int err;
	struct akin_diag diag;
	const struct group_data *data;
	struct wanted_group *chain;
};

enum fetcher_item { ITEM_CHUNK, ITEM_HOLE, ITEM_INLINE, ITEM_FAILED,
		    ITEM_MARK };

struct item {
	u8 type;
	int what;		/* MARK */
	u64 len, count;		/* CHUNK: count repetitions */
	u32 entry;		/* CHUNK */
	u32 skip;		/* bytes of it before the part that is wanted */
	u64 container;		/* CHUNK */
	struct chunk_spot spot;	/* CHUNK: of the whole chunk */
	u32 ahead;		/* stored bytes begun for it and not admitted */
	struct fp fp;		/* CHUNK: to find another copy */
	struct wanted_group *group;	/* once admitted */
	void *token;		/* MARK */
	u8 *bytes;		/* INLINE, owned */
	int err;		/* FAILED */
	struct akin_diag *why;	/* FAILED, owned */
};

/* A group to be read soon. */
struct fetcher_soon {
	u64 container;
	u32 group;
};

struct fetcher {
	struct depot *depot;
	struct decoder *dec;
	struct fetcher_options opt;
	struct item *ring;
	u32 first, nr_admitted, nr_begun, nr;
	u64 window;		/* bytes of the groups wanted now */
	u64 ahead;		/* stored bytes of what is not admitted yet */
	struct fetcher_soon *lot;
	u32 lot_nr, lot_max;
	struct wanted_group *batch, **batch_end;	/* nobody's work yet */
	u32 batch_nr;
	u64 batch_bytes, batch_max;
	struct wanted_group *buckets[FETCHER_BUCKETS];
	pthread_mutex_t lock;	/* with @ready, for who waits for a group */
	pthread_cond_t ready;
	u64 emitted;		/* bytes the counters do not know of yet */
	struct fp *fps;		/* of one leaf */
	struct dir_hit *hits;
};

/* The @i-th item from the oldest. */
static inline struct item *fetcher_item(struct fetcher *f, u32 i)
{
	return &f->ring[(f->first + i) % FETCHER_ITEMS];
}

/* The newest item, a chunk: begun with the next lot. */
void fetcher_plan(struct fetcher *f, struct item *it);
/* Begin to read the lot, whatever its size. */
void fetcher_begin(struct fetcher *f);

void fetcher_groups_init(struct fetcher *f);
/* The group of @it, a chunk: found or started. False: out of memory. */
bool fetcher_want(struct fetcher *f, struct item *it) __must_check;
void fetcher_unwant(struct fetcher *f, struct wanted_group *g);
bool fetcher_wants(struct fetcher *f, u64 container, u32 group);
/* Until the group is there, or its error. */
void fetcher_wait(struct fetcher *f, struct wanted_group *g);

#endif
