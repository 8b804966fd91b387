/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sketches: which chunks resemble each other, though none of their bytes need
 * lie alike.
 *
 * Content is sampled where the cutter's first phase finds candidates, one
 * position in 256; a hash of the 32 bytes there is mapped by twelve functions,
 * and the greatest value of each is a feature. Two chunks have a feature in
 * common with the probability that they have its sample in common. Four
 * features make a super-feature, three of these the sketch: one equal
 * super-feature means much in common (Shilane et al., "WAN optimized
 * replication of backup datasets using stream-informed delta compression",
 * FAST 2012; sampled by content as in Odess, Zou et al., ICDE 2021).
 *
 * The sketch of a chunk depends on its bytes and the pool's keys, never on the
 * processor.
 *
 * Thread safety: a sketcher is immutable after creation.
 */
#ifndef SKETCH_H
#define SKETCH_H

#include "chunk/chunk.h"
#include "format/format_container.h"

struct sketcher;

/*
 * Returns owned: sketcher_free. @c is borrowed for as long. -AKIN_E_nomem.
 */
int sketcher_new(const struct chunker *c, const u8 key[32],
		 struct sketcher **out, struct akin_diag *diag) __must_check;
/* NULL is fine. */
void sketcher_free(struct sketcher *s);

/* From the samples of a chunk; otherwise as below. */
bool sketch_from(const struct sketcher *s, const u64 *samples, size_t nr,
		 struct dir_sketch *out);
/*
 * The sketch of @n bytes. False, and zeros, if there is too little to sample:
 * short chunks, and long ones of little variety.
 */
bool sketch_make(const struct sketcher *s, const u8 *data, size_t n,
		 struct dir_sketch *out);

/* How many super-features are equal; 0 if either has none. */
static inline u32 sketch_equal(const struct dir_sketch *a,
			       const struct dir_sketch *b)
{
	u32 i, nr = 0;

	for (i = 0; i < DIR_SKETCH_PARTS; i++)
		nr += a->part[i] && a->part[i] == b->part[i];
	return nr;
}

#endif
