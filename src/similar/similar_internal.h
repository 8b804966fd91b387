/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by similar.c (the table), similar_add.c (what represents a container)
 * and similar_file.c.
 */
#ifndef SIMILAR_INTERNAL_H
#define SIMILAR_INTERNAL_H

#include <pthread.h>

#include "similar/similar.h"

struct similar {
	struct similar_options opt;
	pthread_mutex_t lock;	/* guards all below; not held during I/O */
	/*
	 * Open addressing, in the order of keys; a key of 0 is a free slot, a
	 * container of 0 one whose key was dropped.
	 */
	u64 *keys;
	u32 *containers;
	u32 nr_slots, nr_used;
	u8 levels;
	u64 covered;
	u64 stored_bytes;
	bool changed;		/* since it was loaded or saved */
	bool too_large;		/* the file: others have more memory */
	/*
	 * Entries added since then, as the file has them, unless they became
	 * too many. Of the file as it was then: its first image, and where
	 * that and all that could be believed end; 0: not known.
	 */
	struct buf news;
	bool news_lost;
	u32 nr_news, nr_dropped;
	size_t base_bytes, file_bytes;
	u64 base_sum;
	struct similar_stats stats;
};

/* What @budget_bytes is for, in parts of 32: the table, twice while it changes
 * its size, and what is new. The file is there only while the table is not
 * rebuilt, and half of it is enough. */
#define SIMILAR_PARTS 32
#define SIMILAR_TABLE_PARTS 15
#define SIMILAR_NEWS_PARTS 2
static_assert(2 * SIMILAR_TABLE_PARTS + SIMILAR_NEWS_PARTS == SIMILAR_PARTS,
	      "all of it");

/* 0, also if the key's level is not held any more; or -AKIN_E_nomem. */
int similar_put_locked(struct similar *s, u64 key, u32 container)
	__must_check;
/* The same with one that the file does not have. */
int similar_put_new_locked(struct similar *s, u64 key, u32 container)
	__must_check;

#endif
