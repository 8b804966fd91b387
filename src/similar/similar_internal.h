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
	struct similar_stats stats;
};

/* 0, also if the key's level is not held any more; or -AKIN_E_nomem. */
int similar_put_locked(struct similar *s, u64 key, u32 container)
	__must_check;

#endif
