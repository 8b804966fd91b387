/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the bytes of a group are in its references, or earlier in itself: the
 * copies and literals that an entropy coder makes a frame of.
 *
 * Thread safety: a finder belongs to one thread at a time.
 */
#ifndef CODEC_MATCHES_H
#define CODEC_MATCHES_H

#include "base/types.h"

/* The frame's entropy coder takes at most so many bytes at a time. */
#define MATCHES_BLOCK_BYTES (128 * KiB)
/* Copies shorter than this cost more than they save. */
#define MATCHES_MIN 4

/*
 * @literals bytes of the group, then @len from @dist bytes back; references and
 * group count as one. @dist and @len 0: the end of a block.
 */
struct match {
	u32 dist, literals, len;
};

/* Bytes of the group that were looked at, and those that are copies of
 * references. */
struct match_tally {
	u32 looked_at, referred;
};

struct match_finder;
/* NULL: no memory. */
struct match_finder *match_finder_new(void) __must_check;
/* NULL is fine. */
void match_finder_free(struct match_finder *mf);

/*
 * All of @data, as matches in the order of the bytes, in blocks. *out is
 * borrowed until the next call. 0: it is not made of long copies; another
 * search does better. *tally_ret is of what was looked at until that was known.
 * References and group have up to INT32_MAX bytes together.
 */
size_t match_finder_run(struct match_finder *mf, const u8 *ref, size_t ref_len,
			const u8 *data, size_t n, const struct match **out,
			struct match_tally *tally_ret);

#endif
