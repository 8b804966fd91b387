/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which phase 1 kernel to use.
 *
 * A pool whose cuts came out differently on two machines would lose its
 * deduplication silently. So no vector kernel is trusted before it has agreed
 * with the portable one on this machine, with these tables.
 */
#include "chunk/chunk_internal.h"

/* Best first. */
static const struct chunk_kernel kernels[] = {
#if defined(__x86_64__)
	{ "avx512", CPU_AVX512, chunk_scan_avx512 },
	{ "avx2", CPU_AVX2, chunk_scan_avx2 },
	{ "ssse3", CPU_SSSE3, chunk_scan_ssse3 },
#elif defined(__aarch64__)
	{ "neon", CPU_NEON, chunk_scan_neon },
#endif
	{ "portable", CPU_PORTABLE, chunk_scan_portable },
};

const struct chunk_kernel *chunk_kernel_at(enum cpu_level level)
{
	const struct chunk_kernel *k = kernels;

	while (k->level > level)
		k++;
	return k;
}

static bool agree(const struct chunk_kernel *k, const struct chunk_tables *t,
		  const u8 *p, size_t nr_words)
{
	u64 want[CHUNK_STRIP_WORDS], got[CHUNK_STRIP_WORDS];

	chunk_scan_portable(t, p, nr_words, want);
	k->scan(t, p, nr_words, got);
	return memcmp(want, got, nr_words * sizeof(u64)) == 0;
}

/*
 * A full strip and a single word of: noise; a run of the one byte whose runs
 * are all candidates, with noise before it and in its middle; zeros.
 */
bool chunk_kernel_agrees(const struct chunk_kernel *k,
			 const struct chunk_tables *t)
{
	u8 buf[CHUNK_HISTORY + CHUNK_STRIP];
	u8 *p = buf + CHUNK_HISTORY, run = 0;
	u64 x = 1;
	size_t i;

	for (i = 0; i < sizeof(buf); i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		buf[i] = (u8)(x >> 56);
	}
	if (!agree(k, t, p, CHUNK_STRIP_WORDS) || !agree(k, t, p + 1, 1))
		return false;
	while (chunk_run_value(t, run) != t->target)
		run++;
	memset(p, run, CHUNK_STRIP / 2);
	memset(p + CHUNK_STRIP / 2 + 1, run, CHUNK_STRIP / 2 - 1);
	if (!agree(k, t, p, CHUNK_STRIP_WORDS) || !agree(k, t, p + 1, 1))
		return false;
	memset(buf, 0, sizeof(buf));
	return agree(k, t, p, CHUNK_STRIP_WORDS);
}

const struct chunk_kernel *chunk_kernel_select(const struct chunk_tables *t)
{
	const struct chunk_kernel *k = chunk_kernel_at(cpu_level());

	while (k->level != CPU_PORTABLE && !chunk_kernel_agrees(k, t))
		k++;
	return k;
}
