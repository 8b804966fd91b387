/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "testlib.h"

#include "codec/codec.h"

#define N (128 * 1024)

static void fill_text(u8 *p, size_t n)
{
	static const char *const words[] = { "store ", "chunk ", "group ",
					     "leaf ", "reference ", "\n" };
	struct rng r = { 7 };
	size_t i = 0, k;
	const char *w;

	while (i < n) {
		w = words[rng_below(&r, ARRAY_SIZE(words))];
		for (k = 0; w[k] && i < n; k++)
			p[i++] = (u8)w[k];
	}
}

static void roundtrip(const char *name, const u8 *data, size_t n,
		      u8 expect_id)
{
	struct codec_choice c;
	struct codec_ctx *ctx;
	u8 *out = malloc(codec_bound(n) + 1), *back = malloc(n + 1), id;
	size_t len;

	assert_int_equal(codec_parse(name, &c, NULL), 0);
	assert_int_equal(codec_ctx_new(&c, &ctx, NULL), 0);
	assert_int_equal(codec_compress(ctx, CODEC_GAIN_EIGHTH, data, n, out, &len, &id, NULL),
			 0);
	assert_int_equal(id, expect_id);
	if (id != CODEC_NONE) {
		assert_true(len <= n - n / 8);
		assert_int_equal(codec_decompress(ctx, id, out, len, back, n),
				 0);
		assert_memory_equal(back, data, n);
		/* one byte more or less than what is there is an error */
		assert_int_equal(codec_decompress(ctx, id, out, len, back,
						  n - 1), -AKIN_E_bad_data);
		assert_int_equal(codec_decompress(ctx, id, out, len - 1, back,
						  n), -AKIN_E_bad_data);
	}
	codec_ctx_free(ctx);
	free(out);
	free(back);
}

static void test_codec_roundtrip(void **state)
{
	u8 *text = malloc(N), *noise = malloc(N);
	struct rng r = { 1 };

	fill_text(text, N);
	rng_fill(&r, noise, N);
	roundtrip("lz4", text, N, CODEC_LZ4);
	roundtrip("zstd", text, N, CODEC_ZSTD);
	roundtrip("zstd:19", text, 1000, CODEC_ZSTD);
	roundtrip("none", text, N, CODEC_NONE);
	roundtrip("lz4", noise, N, CODEC_NONE);
	roundtrip("zstd:3", noise, N, CODEC_NONE);
	roundtrip("zstd:3", noise, 100, CODEC_NONE);
	roundtrip("zstd:3", noise, 0, CODEC_NONE);
	free(text);
	free(noise);
}

static void test_codec_probe_keeps_skewed_noise(void **state)
{
	u8 *p = malloc(N);
	struct rng r = { 2 };
	size_t i;

	/* no matches at all, but only 6 bits of entropy a byte */
	rng_fill(&r, p, N);
	for (i = 0; i < N; i++)
		p[i] &= 0x3f;
	roundtrip("zstd:3", p, N, CODEC_ZSTD);
	free(p);
}

static void test_codec_names(void **state)
{
	struct codec_choice c;
	struct akin_diag d = { 0 };
	char text[16];

	assert_int_equal(codec_parse("zstd", &c, NULL), 0);
	codec_print(&c, text);
	assert_string_equal(text, "zstd:3");
	assert_int_equal(codec_parse("zstd:20", &c, &d), -AKIN_E_usage);
	assert_string_equal(d.text, "'zstd:20': zstd has levels 1 to 19");
	assert_int_equal(codec_parse("lz4:1", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("zst", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("", &c, NULL), -AKIN_E_usage);
}

static void test_codec_hostile_input(void **state)
{
	struct codec_choice c = { CODEC_ZSTD, 3 };
	struct codec_ctx *ctx;
	struct rng r = { 3 };
	u8 in[512], out[4096];
	int i;

	assert_int_equal(codec_ctx_new(&c, &ctx, NULL), 0);
	for (i = 0; i < 2000; i++) {
		rng_fill(&r, in, sizeof(in));
		/* may decode to something: it must only stay in bounds */
		ignore_result(codec_decompress(ctx, CODEC_LZ4, in, sizeof(in),
					       out, sizeof(out)));
		assert_int_not_equal(codec_decompress(ctx, CODEC_ZSTD, in,
						      sizeof(in), out,
						      sizeof(out)), 0);
	}
	assert_int_equal(codec_decompress(ctx, 77, in, 1, out, 1),
			 -AKIN_E_codec_unknown);
	codec_ctx_free(ctx);
}

static size_t packed_len(struct codec_ctx *ctx, const u8 *data)
{
	static u8 out[N], back[N];
	size_t len;
	u8 id;

	assert_int_equal(codec_compress(ctx, CODEC_GAIN_EIGHTH, data, N, out,
					&len, &id, NULL), 0);
	assert_int_equal(id, CODEC_ZSTD);
	assert_int_equal(codec_decompress(ctx, id, out, len, back, N), 0);
	assert_memory_equal(back, data, N);
	return len;
}

/* Samples without matches but for short ones, which skipping misses. */
static void fill_samples(u8 *p, u64 seed)
{
	struct rng r = { seed };
	size_t i;

	for (i = 0; i < N; i++)
		p[i] = (u8)(rng_below(&r, 16) + rng_below(&r, 16));
	for (i = 0; i < 100; i++)
		memcpy(p + 4000 + i * 1000, p + 500 + i * 1000, 24);
}

/* Where matches gain little they are skipped over; other data in between is
 * compressed as ever. */
static void test_codec_skips_where_matches_gain_little(void **state)
{
	struct codec_choice c = { CODEC_ZSTD, 1 };
	struct codec_ctx *plain, *adapted;
	u8 *text = malloc(N), *samples = malloc(N);
	size_t full, skipped;

	fill_text(text, N);
	fill_samples(samples, 3);
	assert_int_equal(codec_ctx_new(&c, &plain, NULL), 0);
	assert_int_equal(codec_ctx_new(&c, &adapted, NULL), 0);
	full = packed_len(adapted, samples);	/* the trial: the better one */
	skipped = packed_len(adapted, samples);
	assert_true(skipped > full);
	assert_true(skipped < full + full / 20);
	assert_int_equal(packed_len(adapted, text), packed_len(plain, text));
	codec_ctx_free(plain);
	codec_ctx_free(adapted);
	free(text);
	free(samples);
}

/* Near-copies of noise shrink against it, and come back with it alone. */
static void test_codec_references(void **state)
{
	struct codec_choice c = { CODEC_ZSTD, 1 }, lz4 = { CODEC_LZ4, 0 };
	u8 *ref = malloc(2 * N), *data = malloc(N), *out = malloc(N);
	u8 *back = malloc(N), id;
	struct codec_ctx *ctx;
	struct rng r = { 11 };
	size_t len, i;

	rng_fill(&r, ref, 2 * N);
	memcpy(data, ref + 5000, N);
	for (i = 0; i < N; i += 4000)
		data[i] ^= 1;
	assert_int_equal(codec_ctx_new(&c, &ctx, NULL), 0);
	assert_true(codec_has_ref(ctx));
	assert_int_equal(codec_compress_ref(ctx, CODEC_GAIN_EIGHTH, ref, 2 * N,
					    data, N, out, &len, &id, NULL), 0);
	assert_int_equal(id, CODEC_ZSTD);
	assert_true(len < N / 100);
	assert_int_equal(codec_decompress_ref(ctx, id, ref, 2 * N, out, len,
					      back, N), 0);
	assert_memory_equal(back, data, N);
	/* a reference of one frame is not that of the next */
	assert_int_equal(codec_decompress(ctx, id, out, len, back, N),
			 -AKIN_E_bad_data);
	assert_int_equal(codec_decompress_ref(ctx, CODEC_LZ4, ref, 2 * N, out,
					      len, back, N), -AKIN_E_bad_data);
	assert_int_equal(codec_decompress_ref(ctx, CODEC_NR, ref, 2 * N, out,
					      len, back, N),
			 -AKIN_E_codec_unknown);
	/* noise against other noise does not shrink */
	rng_fill(&r, data, N);
	assert_int_equal(codec_compress_ref(ctx, CODEC_GAIN_EIGHTH, ref, 2 * N,
					    data, N, out, &len, &id, NULL), 0);
	assert_int_equal(id, CODEC_NONE);
	codec_ctx_free(ctx);
	assert_int_equal(codec_ctx_new(&lz4, &ctx, NULL), 0);
	assert_false(codec_has_ref(ctx));
	codec_ctx_free(ctx);
	free(ref);
	free(data);
	free(out);
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codec_roundtrip),
		cmocka_unit_test(test_codec_probe_keeps_skewed_noise),
		cmocka_unit_test(test_codec_skips_where_matches_gain_little),
		cmocka_unit_test(test_codec_references),
		cmocka_unit_test(test_codec_names),
		cmocka_unit_test(test_codec_hostile_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
