/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs on one core, from memory, in groups as the engine has them.
 *
 * They run in turn, round by round, on the same bytes, and each round gives one
 * ratio to lz4; so what disturbs the machine disturbs all. Time is the thread's
 * processor time. Groups that do not shrink are stored raw, and so copied.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "codec/codec.h"
#include "testlib.h"

#define GROUP (128u << 10)
#define SYNTHETIC (8u << 20)
#define FILE_MAX (256u << 20)
#define DEFAULT_ROUNDS 5
#define MAX_ROUNDS 101
#define MAX_CODECS 16

static const char *const codecs[] = { "lz4", "lzjb", "gzip:1", "gzip:6",
				      "gzip:9", "zstd:1", "zstd:3" };
#define NR_CODECS ARRAY_SIZE(codecs)
static_assert(NR_CODECS <= MAX_CODECS, "tables have room");

struct codec_bench {
	const u8 *data;
	u8 *packed, *back;
	size_t n, nr_groups;
	size_t *lens;
	u8 *ids;
	struct codec_ctx *ctx[MAX_CODECS];
	size_t stored[MAX_CODECS];
	double in[MAX_CODECS][MAX_ROUNDS];	/* GB/s */
	double out[MAX_CODECS][MAX_ROUNDS];
};

static size_t group_len(const struct codec_bench *b, size_t g)
{
	return min_u64(GROUP, b->n - g * GROUP);
}

static void pack(struct codec_bench *b, u32 c)
{
	const u8 *from;
	size_t g, n;

	b->stored[c] = 0;
	for (g = 0; g < b->nr_groups; g++) {
		from = b->data + g * GROUP;
		n = group_len(b, g);
		if (codec_compress(b->ctx[c], CODEC_GAIN_EIGHTH, from, n,
				   b->packed + g * GROUP, &b->lens[g],
				   &b->ids[g], NULL))
			abort();
		if (b->ids[g] == CODEC_NONE) {
			memcpy(b->packed + g * GROUP, from, n);
			b->lens[g] = n;
		}
		b->stored[c] += b->lens[g];
	}
}

static void unpack(struct codec_bench *b, u32 c)
{
	size_t g;

	for (g = 0; g < b->nr_groups; g++) {
		if (codec_decompress(b->ctx[c], b->ids[g],
				     b->packed + g * GROUP, b->lens[g],
				     b->back + g * GROUP, group_len(b, g)))
			abort();
	}
}

static void run_round(struct codec_bench *b, u32 c, u32 round)
{
	double begun = bench_thread_seconds(), packed, end;

	pack(b, c);
	packed = bench_thread_seconds();
	unpack(b, c);
	end = bench_thread_seconds();
	b->in[c][round] = (double)b->n / (packed - begun) / 1e9;
	b->out[c][round] = (double)b->n / (end - packed) / 1e9;
	if (memcmp(b->data, b->back, b->n))
		abort();
}

/* Of lz4, the first one; sorts nothing. */
static double relative(double rate[MAX_CODECS][MAX_ROUNDS], u32 c, u32 rounds)
{
	double ratio[MAX_ROUNDS];
	u32 i;

	for (i = 0; i < rounds; i++)
		ratio[i] = rate[c][i] / rate[0][i];
	return bench_median(ratio, rounds);
}

static void print(const struct bench_options *opt, struct codec_bench *b,
		  const char *what, u32 rounds)
{
	double in[MAX_CODECS], out[MAX_CODECS], ratio;
	u32 c;

	for (c = 0; c < NR_CODECS; c++) {
		in[c] = relative(b->in, c, rounds);
		out[c] = relative(b->out, c, rounds);
	}
	for (c = 0; c < NR_CODECS; c++) {
		ratio = (double)b->n / (double)b->stored[c];
		if (opt->json)
			printf("{\"bench\":\"codec\",\"data\":\"%s\","
			       "\"codec\":\"%s\",\"ratio\":%.3f,"
			       "\"compress_gb_per_s\":%.3f,"
			       "\"decompress_gb_per_s\":%.3f,"
			       "\"compress_of_lz4\":%.3f,"
			       "\"decompress_of_lz4\":%.3f}\n", what, codecs[c],
			       ratio, bench_median(b->in[c], rounds),
			       bench_median(b->out[c], rounds), in[c], out[c]);
		else
			printf("%-16.16s %-8s %7.2f %9.3f %9.3f %9.2f %9.2f\n",
			       what, codecs[c], ratio,
			       bench_median(b->in[c], rounds),
			       bench_median(b->out[c], rounds), in[c], out[c]);
	}
}

static bool prepare(struct codec_bench *b)
{
	struct akin_diag diag = { 0 };
	struct codec_choice choice;
	u32 c;

	b->nr_groups = (b->n + GROUP - 1) / GROUP;
	b->packed = malloc(b->nr_groups * GROUP);
	b->back = malloc(b->nr_groups * GROUP);
	b->lens = malloc(b->nr_groups * sizeof(*b->lens));
	b->ids = malloc(b->nr_groups);
	if (!b->packed || !b->back || !b->lens || !b->ids)
		return false;
	for (c = 0; c < NR_CODECS; c++) {
		if (codec_parse(codecs[c], &choice, &diag) ||
		    codec_ctx_new(&choice, &b->ctx[c], &diag)) {
			bench_fail("codec", &diag);
			return false;
		}
	}
	return true;
}

static bool measure(const struct bench_options *opt, const char *what,
		    const u8 *data, size_t n)
{
	struct codec_bench *b = calloc(1, sizeof(*b));
	u32 rounds = opt->runs ? opt->runs : DEFAULT_ROUNDS, r, c;
	bool ok;

	if (!b)
		return false;
	if (rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	b->data = data;
	b->n = n;
	ok = prepare(b);
	for (c = 0; ok && c < NR_CODECS; c++)
		run_round(b, c, 0);	/* warm */
	for (r = 0; ok && r < rounds; r++) {
		for (c = 0; c < NR_CODECS; c++)
			run_round(b, c, r);
	}
	if (ok)
		print(opt, b, what, rounds);
	for (c = 0; c < NR_CODECS; c++)
		codec_ctx_free(b->ctx[c]);
	free(b->packed);
	free(b->back);
	free(b->lens);
	free(b->ids);
	free(b);
	return ok;
}

/* Words of which few are frequent, as in any text. */
static void fill_text(u8 *p, size_t n)
{
	struct rng r = { 3 };
	char words[1024][12];
	size_t i, k, len;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		len = 2 + rng_below(&r, 9);
		for (k = 0; k < len; k++)
			words[i][k] = (char)('a' + rng_below(&r, 26));
		words[i][len] = 0;
	}
	for (i = 0; i < n;) {
		k = rng_below(&r, 1 + rng_below(&r, 1 +
					rng_below(&r, ARRAY_SIZE(words))));
		for (len = 0; words[k][len] && i < n; len++)
			p[i++] = (u8)words[k][len];
		if (i < n)
			p[i++] = rng_below(&r, 12) ? ' ' : '\n';
	}
}

/* Rows of a table: a number, a time, a few small fields, a random key. */
static void fill_rows(u8 *p, size_t n)
{
	struct rng r = { 4 };
	u8 row[32] = { 0 };
	size_t i;

	for (i = 0; i + sizeof(row) <= n; i += sizeof(row)) {
		put_le32(row, (u32)(i / sizeof(row)));
		put_le64(row + 4, 1700000000 + i / 7);
		put_le32(row + 12, (u32)rng_below(&r, 50));
		put_le16(row + 16, (u16)rng_below(&r, 1000));
		put_le64(row + 22, rng_next(&r));
		memcpy(p + i, row, sizeof(row));
	}
	memset(p + i, 0, n - i);
}

static void print_head(const struct bench_options *opt)
{
	if (!opt->json)
		printf("\n%-16s %-8s %7s %9s %9s %9s %9s\n", "", "codec",
		       "ratio", "in, GB/s", "out, GB/s", "in, lz4",
		       "out, lz4");
}

bool bench_codec_synthetic(const struct bench_options *opt)
{
	u8 *p = malloc(SYNTHETIC);
	bool ok = p;

	print_head(opt);
	if (ok) {
		fill_text(p, SYNTHETIC);
		ok = measure(opt, "words", p, SYNTHETIC);
	}
	if (ok) {
		fill_rows(p, SYNTHETIC);
		ok = measure(opt, "rows", p, SYNTHETIC);
	}
	free(p);
	return ok;
}

static bool measure_file(const struct bench_options *opt, const char *path)
{
	size_t max = opt->bytes ? opt->bytes : FILE_MAX, n = 0;
	const char *name = strrchr(path, '/');
	FILE *f = fopen(path, "rb");
	u8 *p = malloc(max);
	bool ok = false;

	if (f && p)
		n = fread(p, 1, max, f);
	if (n)
		ok = measure(opt, name ? name + 1 : path, p, n);
	else
		fprintf(stderr, "akin-bench: %s: cannot be read\n", path);
	if (f)
		fclose(f);
	free(p);
	return ok;
}

int bench_codec(const struct bench_options *opt)
{
	bool ok = true;
	u32 i;

	if (!opt->nr_args)
		return bench_codec_synthetic(opt) ? 0 : 1;
	print_head(opt);
	for (i = 0; ok && i < opt->nr_args; i++)
		ok = measure_file(opt, opt->args[i]);
	return ok ? 0 : 1;
}
