/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a stream into chunks.
 *
 * Method cdc cuts by content: where to cut depends on the bytes since the
 * last cut and on the pool's key, never on the machine, on how the caller
 * splits its buffers, or on what came before. An insertion therefore moves
 * the cuts near it and no others. Method fixed cuts blocks of the average
 * size.
 *
 * Two phases, after SS-CDC (Ni et al., 2019): a branch-free hash of the last
 * CHUNK_WINDOW bytes marks one position in 256; a stronger hash of the same
 * window decides there, by the strict or the loose mask of FastCDC's
 * normalised chunking (Xia et al., 2016). docs/format/chunking.md is the
 * definition, with test vectors.
 *
 * A chunker is immutable after creation and shared between threads; a scratch
 * belongs to one thread at a time.
 */
#ifndef CHUNK_CHUNK_H
#define CHUNK_CHUNK_H

#include "base/types.h"

struct akin_diag;

/* A cut decision looks back over at most this many bytes. */
#define CHUNK_WINDOW 32

/* Bounds of every chunk but the last of a stream, for any parameters. */
#define CHUNK_MIN_BYTES 256
#define CHUNK_MAX_BYTES (1024 * 1024)

enum chunk_method {
	CHUNK_CDC = 1,
	CHUNK_FIXED = 2,	/* all of @avg bytes; @min and @max are idle */
};

/* A property of the pool, in bytes; what the superblock records. */
struct chunk_params {
	u8 method;		/* enum chunk_method */
	u32 min, avg, max;
};

/*
 * 0 if CHUNK_MIN_BYTES <= min < avg < max <= CHUNK_MAX_BYTES and avg is a
 * power of two (fixed: min <= avg <= max). -AKIN_E_usage otherwise,
 * -AKIN_E_feature for a method unknown here.
 */
int chunk_params_check(const struct chunk_params *p, struct akin_diag *d)
	__must_check;

struct chunker;
struct chunk_scratch;

/*
 * Owned by the caller, freed by chunker_free. The kernel is the best that
 * AKIN_CPU and the processor allow and that agrees with the portable one on a
 * short self-test. -AKIN_E_nomem, or what chunk_params_check says.
 */
int chunker_new(const struct chunk_params *p, const u8 key[32],
		struct chunker **out, struct akin_diag *d) __must_check;
void chunker_free(struct chunker *c);
/* "avx512", "avx2", "ssse3", "neon", "portable"; "fixed" for that method. */
const char *chunker_kernel(const struct chunker *c);

/* Work space to cut buffers of up to @max_bytes, with any chunker. */
int chunk_scratch_new(size_t max_bytes, struct chunk_scratch **out,
		      struct akin_diag *d) __must_check;
void chunk_scratch_free(struct chunk_scratch *s);

/*
 * Cut @data, which starts at a chunk boundary. The lengths go to @lens in
 * order, their number to @nr_ret and their sum to @consumed_ret.
 *
 * If @final, everything is cut. Otherwise the tail whose cut later bytes
 * could decide is left: less than max bytes, and the caller moves it to the
 * front of its next buffer, so buffers must hold at least max bytes.
 *
 * -AKIN_E_usage if @max_lens < @n / min + 1 (fixed: @n / avg + 1),
 * -AKIN_E_too_large if @n is above the scratch's size; nothing is written then.
 */
int chunker_cut(const struct chunker *c, struct chunk_scratch *s,
		const u8 *data, size_t n, bool final, u32 *lens,
		size_t max_lens, size_t *nr_ret, size_t *consumed_ret)
	__must_check;

/*
 * Samples of chunks: hashes of the CHUNK_WINDOW bytes up to each candidate of
 * phase 1, one position in 256, from the first one on where a cut may be (with
 * fixed blocks: from byte CHUNK_SAMPLE_SKIP on), in order, at most
 * CHUNK_SAMPLES_MAX. Which positions these are is a matter of the bytes and the
 * key, so that what two chunks have in common is sampled alike in both. Cutting
 * by content looks at them anyway.
 */
#define CHUNK_SAMPLE_SKIP 64
#define CHUNK_SAMPLES_MAX 1024

/* Those of chunk i are hashes[ends[i - 1] .. ends[i] - 1], from 0 at first. A
 * chunk for which there is no room has none. */
struct chunk_samples {
	u64 *hashes;
	size_t nr, max;
	u32 *ends;		/* as many as there are lens */
};

/* chunker_cut(), and the samples behind those that are there; NULL: none.
 * Nothing is added with fixed blocks. */
int chunker_cut_sampled(const struct chunker *c, struct chunk_scratch *s,
			const u8 *data, size_t n, bool final, u32 *lens,
			size_t max_lens, size_t *nr_ret, size_t *consumed_ret,
			struct chunk_samples *samples) __must_check;
/* The samples of one chunk, cut or not; returns how many. @hashes_ret has room
 * for CHUNK_SAMPLES_MAX. */
size_t chunker_sample(const struct chunker *c, const u8 *data, size_t n,
		      u64 *hashes_ret);
/* Does cutting give samples? */
bool chunker_gives_samples(const struct chunker *c);

#endif
