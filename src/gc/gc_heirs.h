/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heirs: chunks that have been written without bases that they had, by what
 * they resemble (sketch/sketch.h), so that others that leave the same bases can
 * be made of them. Advice: what it says need not be there, nor be alike.
 *
 * Of those with equal parts of a sketch two are known: the last one, and the
 * last one in a group without references, for who must not lie deep.
 *
 * Thread safety: one caller at a time.
 */
#ifndef GC_HEIRS_H
#define GC_HEIRS_H

#include "sketch/sketch.h"

struct gc_heirs;

struct gc_heir {
	u64 container;		/* 0: none */
	u32 entry;
	u8 depth;		/* of its group */
};

/* NULL if out of memory. Takes @budget_bytes at most; what comes when they are
 * used up is not kept. */
struct gc_heirs *gc_heirs_new(size_t budget_bytes);
/* NULL is fine. */
void gc_heirs_free(struct gc_heirs *h);
/* How many chunks there is room for. */
u32 gc_heirs_room(size_t budget_bytes);

/* @sketch is not all zeros. */
void gc_heirs_add(struct gc_heirs *h, const struct dir_sketch *sketch,
		  const struct gc_heir *heir);
/* What resembles it most of those below depth @depth and below @container; of
 * equals the last. */
struct gc_heir gc_heirs_find(const struct gc_heirs *h,
			     const struct dir_sketch *sketch, u64 container,
			     u8 depth);

#endif
