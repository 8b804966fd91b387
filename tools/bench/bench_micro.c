/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting and fingerprints on one core, from memory; then the codecs
 * (bench_codec.c).
 *
 * The loops run in turn, round by round, on the same buffer, and each round
 * gives one ratio to the reference; so what disturbs the machine disturbs all.
 * Time is the thread's processor time: others' turns do not count.
 *
 * References: the BLAKE3 library on messages of 64 KiB, keyed; and a scalar
 * Gear loop with normalised chunking (FastCDC, Xia et al., 2016) at the same
 * sizes; then both, chunk by chunk, as a plain program would.
 */
#include <blake3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "chunk/chunk.h"
#include "hash/hash.h"
#include "bench.h"
#include "testlib.h"

#define BATCH (512u << 10)	/* what the engine feeds at a time */
#define MESSAGE (64u << 10)
#define CHUNK_MIN 2048u
#define CHUNK_AVG 8192u
#define CHUNK_MAX 65536u
#define MAX_LENS (BATCH / CHUNK_MIN + 2)
/* Of each loop in each round, at least. */
#define ROUND_BYTES (32u << 20)
#define DEFAULT_ROUNDS 15
#define MAX_ROUNDS 1001

struct micro {
	u8 *data;
	size_t n;
	struct chunker *chunker;
	struct chunk_scratch *cut_scratch;
	struct hasher *hasher;
	struct hash_scratch *hash_scratch;
	u32 lens[MAX_LENS];
	struct hash_item items[MAX_LENS];
	struct fp fps[MAX_LENS];
	u8 key[HASH_KEY_BYTES];
	u64 gear[256];
	u64 sink;		/* keeps results alive */
};

/* The buffer in batches as the engine sees them; returns chunks seen. */
static void run_engine(struct micro *m, bool cut, bool hash)
{
	size_t off, nr, used, i, len;
	const u8 *p;

	for (off = 0; off < m->n; off += used) {
		len = min_u64(BATCH, m->n - off);
		p = m->data + off;
		used = len;
		nr = len / CHUNK_AVG;
		if (cut && chunker_cut(m->chunker, m->cut_scratch, p, len,
				       off + len == m->n, m->lens, MAX_LENS,
				       &nr, &used))
			abort();
		for (i = 0; i < nr; i++) {
			m->items[i].data = p;
			m->items[i].len = cut ? m->lens[i] : CHUNK_AVG;
			p += m->items[i].len;
		}
		if (hash && hasher_batch(m->hasher, m->hash_scratch, m->items,
					 nr, m->fps))
			abort();
		m->sink += nr + m->fps[0].b[0];
	}
}

static void run_cut(struct micro *m)
{
	run_engine(m, true, false);
}

static void run_hash(struct micro *m)
{
	run_engine(m, false, true);
}

static void run_both(struct micro *m)
{
	run_engine(m, true, true);
}

static void run_blake3(struct micro *m)
{
	blake3_hasher h;
	size_t off;
	u8 out[32];

	for (off = 0; off < m->n; off += MESSAGE) {
		blake3_hasher_init_keyed(&h, m->key);
		blake3_hasher_update(&h, m->data + off,
				     min_u64(MESSAGE, m->n - off));
		blake3_hasher_finalize(&h, out, sizeof(out));
		m->sink += out[0];
	}
}

/* Length of the chunk at @p. */
static size_t gear_cut(const u64 *gear, const u8 *p, size_t n)
{
	/* Two bits stricter before the average, two looser after it. */
	const u64 strict = 0x0000d9f003530000ull, loose = 0x0000d90003530000ull;
	size_t normal = min_u64(CHUNK_AVG, n), i = CHUNK_MIN;
	u64 h = 0;

	if (n <= CHUNK_MIN)
		return n;
	n = min_u64(n, CHUNK_MAX);
	for (; i < normal; i++) {
		h = (h << 1) + gear[p[i]];
		if (!(h & strict))
			return i + 1;
	}
	for (; i < n; i++) {
		h = (h << 1) + gear[p[i]];
		if (!(h & loose))
			return i + 1;
	}
	return n;
}

static void run_gear(struct micro *m)
{
	size_t off;

	for (off = 0; off < m->n; m->sink++)
		off += gear_cut(m->gear, m->data + off, m->n - off);
}

/* What the two references do together, chunk by chunk. */
static void run_plain(struct micro *m)
{
	blake3_hasher h;
	size_t off, n;
	u8 out[32];

	for (off = 0; off < m->n; off += n) {
		n = gear_cut(m->gear, m->data + off, m->n - off);
		blake3_hasher_init_keyed(&h, m->key);
		blake3_hasher_update(&h, m->data + off, n);
		blake3_hasher_finalize(&h, out, sizeof(out));
		m->sink += out[0];
	}
}

enum loop {
	LOOP_BLAKE3, LOOP_GEAR, LOOP_PLAIN, LOOP_CUT, LOOP_HASH, LOOP_BOTH,
	NR_LOOPS
};

static const struct {
	const char *name, *key;
	void (*run)(struct micro *m);
} loops[NR_LOOPS] = {
	[LOOP_BLAKE3] = { "BLAKE3 library, 64 KiB", "blake3", run_blake3 },
	[LOOP_GEAR] = { "Gear, scalar, cut only", "gear", run_gear },
	[LOOP_PLAIN] = { "Gear, then the library", "plain", run_plain },
	[LOOP_CUT] = { "cut", "cut", run_cut },
	[LOOP_HASH] = { "fingerprint 8 KiB", "fingerprint", run_hash },
	[LOOP_BOTH] = { "cut and fingerprint", "both", run_both },
};

/* GB/s */
static double run_loop(struct micro *m, enum loop loop)
{
	size_t i, times = (ROUND_BYTES + m->n - 1) / m->n;
	double begun = bench_thread_seconds();

	for (i = 0; i < times; i++)
		loops[loop].run(m);
	return (double)m->n * (double)times / (bench_thread_seconds() - begun) / 1e9;
}

static void print_size(const struct bench_options *opt, const struct micro *m,
		       double rate[NR_LOOPS][MAX_ROUNDS], u32 rounds)
{
	static double ratio[MAX_ROUNDS];
	double vs[LOOP_PLAIN + 1];
	u32 l, i, ref;

	for (l = 0; l < NR_LOOPS; l++) {
		for (ref = LOOP_BLAKE3; ref <= LOOP_PLAIN; ref++) {
			for (i = 0; i < rounds; i++)
				ratio[i] = rate[l][i] / rate[ref][i];
			vs[ref] = bench_median(ratio, rounds);
		}
		/* Sorts, so last: rounds no longer match then. */
		memcpy(ratio, rate[l], rounds * sizeof(ratio[0]));
		if (opt->json)
			printf("{\"bench\":\"micro\",\"bytes\":%zu,"
			       "\"loop\":\"%s\",\"gb_per_s\":%.3f,"
			       "\"of_blake3\":%.3f,\"of_gear\":%.3f,"
			       "\"of_plain\":%.3f}\n", m->n, loops[l].key,
			       bench_median(ratio, rounds), vs[LOOP_BLAKE3],
			       vs[LOOP_GEAR], vs[LOOP_PLAIN]);
		else
			printf("%7zu %-24s %8.2f %10.2f %8.2f %8.2f\n",
			       m->n >> 20, loops[l].name,
			       bench_median(ratio, rounds), vs[LOOP_BLAKE3],
			       vs[LOOP_GEAR], vs[LOOP_PLAIN]);
	}
}

static void measure(const struct bench_options *opt, struct micro *m)
{
	static double rate[NR_LOOPS][MAX_ROUNDS];
	u32 rounds = opt->runs ? opt->runs : DEFAULT_ROUNDS;
	u32 i, l;

	if (rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	for (l = 0; l < NR_LOOPS; l++)
		run_loop(m, l);		/* warm */
	for (i = 0; i < rounds; i++) {
		for (l = 0; l < NR_LOOPS; l++)
			rate[l][i] = run_loop(m, l);
	}
	print_size(opt, m, rate, rounds);
}

static int prepare(struct micro *m, struct akin_diag *diag)
{
	struct chunk_params params = { CHUNK_CDC, CHUNK_MIN, CHUNK_AVG,
				       CHUNK_MAX };
	struct rng r = { 7 };
	u32 i;
	int err;

	rng_fill(&r, m->key, sizeof(m->key));
	for (i = 0; i < 256; i++)
		m->gear[i] = rng_next(&r);
	err = chunker_new(&params, m->key, &m->chunker, diag);
	if (!err)
		err = chunk_scratch_new(BATCH, &m->cut_scratch, diag);
	if (!err)
		err = hasher_new(HASH_BLAKE3, m->key, &m->hasher, diag);
	if (!err)
		err = hash_scratch_new(&m->hash_scratch, diag);
	return err;
}

static void release(struct micro *m)
{
	chunker_free(m->chunker);
	chunk_scratch_free(m->cut_scratch);
	hasher_free(m->hasher);
	hash_scratch_free(m->hash_scratch);
	free(m->data);
}

static bool measure_size(const struct bench_options *opt, struct micro *m,
			 const char *size)
{
	struct rng r = { 11 };
	u64 n;

	if (!bench_parse_bytes(size, &n) || n < BATCH || n > (1u << 30)) {
		fprintf(stderr, "akin-bench: '%s': 512K to 1G\n", size);
		return false;
	}
	free(m->data);
	m->n = n;
	m->data = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	if (!m->data)
		return false;
	rng_fill(&r, m->data, n);
	measure(opt, m);
	return true;
}

int bench_micro(const struct bench_options *opt)
{
	static const char *const sizes[] = { "1M", "4M", "16M", "64M" };
	const char *const *args = opt->nr_args ? opt->args : sizes;
	u32 i, nr = opt->nr_args ? opt->nr_args : 4;
	static struct micro m;
	struct akin_diag diag = { 0 };
	bool ok = true;

	if (prepare(&m, &diag)) {
		release(&m);
		return bench_fail("micro", &diag);
	}
	if (!opt->json)
		printf("cut %s, fingerprint %s; random bytes, one core, "
		       "processor time; load %.1f\n\n%7s %-24s %8s %10s %8s %8s\n",
		       chunker_kernel(m.chunker), hasher_kernel(m.hasher),
		       bench_load(), "MiB", "", "GB/s", "of BLAKE3",
		       "of Gear", "of both");
	for (i = 0; ok && i < nr; i++)
		ok = measure_size(opt, &m, args[i]);
	release(&m);
	if (ok)
		ok = bench_codec_synthetic(opt);
	return ok ? 0 : 1;
}
