/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector kernels of BLAKE3: what they are given and who offers them.
 *
 * BLAKE3 cuts its input into leaves of 1,024 bytes, hashes each to a chaining
 * value of 32, and hashes pairs of these up a binary tree; the top gives the
 * digest. Leaves and pairs are all the same kind of work: a chain of 64-byte
 * blocks. One such chain is a job, and a kernel runs one job in each lane of
 * its vectors, whichever message the job belongs to.
 */
#ifndef HASH_HASH_BLAKE3_H
#define HASH_HASH_BLAKE3_H

#include "base/cpu.h"
#include "base/types.h"

enum {
	BLAKE3_BLOCK = 64,
	BLAKE3_LEAF = 1024,
	BLAKE3_LEAF_BLOCKS = BLAKE3_LEAF / BLAKE3_BLOCK,
	BLAKE3_CV = 32,
	/* Jobs that keep every kernel's lanes full; a multiple of its lanes. */
	BLAKE3_WIDE = 32,
};

/* Domain flags of the specification, table 3. */
enum {
	BLAKE3_CHUNK_START = 1 << 0,
	BLAKE3_CHUNK_END = 1 << 1,
	BLAKE3_PARENT = 1 << 2,
	BLAKE3_ROOT = 1 << 3,
	BLAKE3_KEYED_HASH = 1 << 4,
};

struct blake3_job {
	const u8 *in;		/* all blocks but the last, contiguous */
	const u8 *last;		/* the last: 64 bytes, zero behind last_len */
	u8 *out;		/* chaining value or digest, 32 bytes */
	u32 counter;		/* leaf number; 0 for pairs */
	u8 nr_blocks;		/* 1 .. 16 */
	u8 last_len;		/* 0 .. 64 */
	u8 flags_first;		/* of the first block, */
	u8 flags_last;		/* of the last; both if there is but one */
};

struct blake3_kernel {
	const char *name;
	enum cpu_level level;	/* what the processor must have */
	/*
	 * Run jobs[0 .. n), n > 0. No job may read what another one of the
	 * same call writes. NULL: no lanes, use the library.
	 */
	void (*run)(const struct blake3_job *jobs, size_t n, const u32 key[8]);
};

/* Only on x86-64, each in a file built for its processors. */
void blake3_run_avx2(const struct blake3_job *jobs, size_t n, const u32 key[8]);
void blake3_run_avx512(const struct blake3_job *jobs, size_t n,
		       const u32 key[8]);

struct hash_scratch;
/* True if @k gives the library's digests for messages of telling lengths. */
bool blake3_kernel_agrees(const struct blake3_kernel *k,
			  struct hash_scratch *s);

#endif
