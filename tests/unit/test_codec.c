/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
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

/* Whole numbers, one more each: 3 bytes of 4 are those before. */
static void fill_counter(u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (u8)(i / 4 >> 8 * (i % 4));
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
	roundtrip("gzip", text, N, CODEC_GZIP);
	roundtrip("lzjb", text, N, CODEC_LZJB);
	roundtrip("none", text, N, CODEC_NONE);
	roundtrip("lz4", noise, N, CODEC_NONE);
	roundtrip("gzip:1", noise, N, CODEC_NONE);
	roundtrip("lzjb", noise, N, CODEC_NONE);
	/* too small to be probed: tried, and stored raw all the same */
	roundtrip("gzip", noise, 4096, CODEC_NONE);
	roundtrip("lzjb", noise, 4096, CODEC_NONE);
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
	roundtrip("gzip", p, N, CODEC_GZIP);
	/* no entropy coder, no gain */
	roundtrip("lz4", p, N, CODEC_NONE);
	roundtrip("lzjb", p, N, CODEC_NONE);
	/* matches of three bytes, which the probe's search does not look for */
	fill_counter(p, N);
	roundtrip("lzjb", p, N, CODEC_LZJB);
	roundtrip("gzip", p, N, CODEC_GZIP);
	free(p);
}

static u8 compress_with(struct codec_ctx *ctx, const u8 *data, size_t n,
			u8 *out, size_t *len_ret)
{
	u8 id;

	assert_int_equal(codec_compress(ctx, CODEC_GAIN_ANY, data, n, out,
					len_ret, &id, NULL), 0);
	return id;
}

/* Another codec or level within a context is as one made for it. */
static void check_choice(struct codec_ctx *changing,
			 const struct codec_choice *c, const u8 *data, size_t n)
{
	static u8 out[N], again[N], back[N];
	struct codec_ctx *own;
	size_t len, len2;
	u8 id;

	assert_int_equal(codec_ctx_new(c, &own, NULL), 0);
	codec_ctx_choose(changing, c);
	id = compress_with(own, data, n, out, &len);
	assert_int_equal(compress_with(changing, data, n, again, &len2), id);
	assert_int_equal(len, len2);
	assert_memory_equal(out, again, len);
	if (id != CODEC_NONE) {
		assert_int_equal(id, c->id);
		assert_true(len < n);
		assert_int_equal(codec_decompress(changing, id, out, len, back,
						  n), 0);
		assert_memory_equal(back, data, n);
	}
	codec_ctx_free(own);
}

/* Every codec, every level, sizes around limits, one context for all. */
static void test_codec_levels(void **state)
{
	static const size_t sizes[] = { 32, 33, 65, 66, 67, 100, 1000, 4097,
					20000 };
	struct codec_choice c = { CODEC_NONE, 0 };
	u8 *text = malloc(N), *counter = malloc(N), *zeros = calloc(1, N);
	struct codec_ctx *ctx;
	s32 top;
	u32 i;

	fill_text(text, N);
	fill_counter(counter, N);
	assert_int_equal(codec_ctx_new(&c, &ctx, NULL), 0);
	for (c.id = 0; c.id < CODEC_NR; c.id++) {
		top = c.id == CODEC_ZSTD ? 19 : c.id == CODEC_GZIP ? 9 : 0;
		for (c.level = top ? 1 : 0; c.level <= top; c.level++) {
			for (i = 0; i < ARRAY_SIZE(sizes); i++) {
				check_choice(ctx, &c, text, sizes[i]);
				check_choice(ctx, &c, counter, sizes[i]);
				check_choice(ctx, &c, zeros, sizes[i]);
			}
		}
	}
	codec_ctx_free(ctx);
	free(text);
	free(counter);
	free(zeros);
}

/* What cannot be chosen by name may still stand on a disk. */
static void test_codec_level_out_of_bounds(void **state)
{
	struct codec_choice high = { CODEC_GZIP, 99 }, low = { CODEC_GZIP, -5 };
	struct codec_choice best = { CODEC_GZIP, 9 }, odd = { CODEC_NR, 0 };
	static u8 text[4096], out[4096], want[4096];
	struct codec_ctx *ctx;
	size_t len, len2;

	fill_text(text, sizeof(text));
	assert_int_equal(codec_ctx_new(&best, &ctx, NULL), 0);
	compress_with(ctx, text, sizeof(text), want, &len);
	codec_ctx_choose(ctx, &low);
	assert_int_equal(compress_with(ctx, text, sizeof(text), out, &len2),
			 CODEC_GZIP);
	codec_ctx_free(ctx);
	assert_int_equal(codec_ctx_new(&high, &ctx, NULL), 0);
	compress_with(ctx, text, sizeof(text), out, &len2);
	assert_int_equal(len, len2);
	assert_memory_equal(out, want, len);
	codec_ctx_free(ctx);
	assert_int_equal(codec_ctx_new(&odd, &ctx, NULL),
			 -AKIN_E_codec_unknown);
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
	memset(&d, 0, sizeof(d));
	assert_int_equal(codec_parse("lz4:1", &c, &d), -AKIN_E_usage);
	assert_string_equal(d.text, "'lz4:1': lz4 has no levels");
	assert_int_equal(codec_parse("gzip", &c, NULL), 0);
	codec_print(&c, text);
	assert_string_equal(text, "gzip:6");
	assert_int_equal(codec_parse("gzip:9", &c, NULL), 0);
	assert_int_equal(c.id, CODEC_GZIP);
	assert_int_equal(c.level, 9);
	assert_int_equal(codec_parse("gzip:0", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("gzip:10", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("gzip:", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("gzip:+1", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("gzip: 1", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("gzip:1x", &c, NULL), -AKIN_E_usage);
	assert_int_equal(codec_parse("lzjb", &c, NULL), 0);
	codec_print(&c, text);
	assert_string_equal(text, "lzjb");
	assert_null(codec_name(CODEC_NR));
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
		ignore_result(codec_decompress(ctx, CODEC_LZJB, in, sizeof(in),
					       out, sizeof(out)));
		ignore_result(codec_decompress(ctx, CODEC_GZIP, in, sizeof(in),
					       out, sizeof(out)));
		assert_int_not_equal(codec_decompress(ctx, CODEC_ZSTD, in,
						      sizeof(in), out,
						      sizeof(out)), 0);
	}
	assert_int_equal(codec_decompress(ctx, 77, in, 1, out, 1),
			 -AKIN_E_codec_unknown);
	codec_ctx_free(ctx);
}

/* An output of its own size, so that a sanitizer sees what goes past it. */
static void decode_damaged(struct codec_ctx *ctx, u8 id, const u8 *in,
			   size_t len, size_t raw_len)
{
	u8 *exact = malloc(len ? len : 1), *out = malloc(raw_len ? raw_len : 1);
	int err;

	memcpy(exact, in, len);
	err = codec_decompress(ctx, id, exact, len, out, raw_len);
	assert_true(err == 0 || err == -AKIN_E_bad_data);
	free(exact);
	free(out);
}

static void damage_stream(struct codec_ctx *ctx, u8 id, const u8 *good,
			  size_t len, size_t n)
{
	u8 *bad = malloc(len + 1), *out = malloc(2 * n);
	struct rng r = { id };
	size_t i;

	for (i = 0; i < len; i++)	/* every truncation */
		assert_int_equal(codec_decompress(ctx, id, good, i, out, n),
				 -AKIN_E_bad_data);
	memcpy(bad, good, len);
	bad[len] = 0;			/* something behind the end */
	assert_int_equal(codec_decompress(ctx, id, bad, len + 1, out, n),
			 -AKIN_E_bad_data);
	for (i = 0; i < 2 * n; i++) {	/* every length but the right one */
		if (i != n)
			assert_int_equal(codec_decompress(ctx, id, good, len,
							  out, i),
					 -AKIN_E_bad_data);
	}
	for (i = 0; i < 8 * len; i++) {	/* every bit */
		bad[i / 8] ^= (u8)(1u << i % 8);
		decode_damaged(ctx, id, bad, len, n);
		decode_damaged(ctx, id, bad, len, rng_below(&r, 2 * n));
		bad[i / 8] ^= (u8)(1u << i % 8);
	}
	free(bad);
	free(out);
}

static void test_codec_damaged_streams(void **state)
{
	struct codec_choice c = { CODEC_NONE, 0 };
	static u8 text[2000], out[2000];
	struct codec_ctx *ctx;
	size_t len;

	fill_text(text, sizeof(text));
	assert_int_equal(codec_ctx_new(&c, &ctx, NULL), 0);
	for (c.id = CODEC_LZ4; c.id <= CODEC_GZIP; c.id++) {
		codec_ctx_choose(ctx, &c);
		assert_int_equal(compress_with(ctx, text, sizeof(text), out,
					       &len), c.id);
		damage_stream(ctx, c.id, out, len, sizeof(text));
	}
	codec_ctx_free(ctx);
}

static void test_codec_without_memory(void **state)
{
	struct codec_choice c = { CODEC_GZIP, 6 };
	struct akin_diag d = { 0 };
	struct codec_ctx *ctx;

	mem_fail_after(1);
	assert_int_equal(codec_ctx_new(&c, &ctx, &d), -AKIN_E_nomem);
	mem_fail_after(0);
	assert_string_equal(d.text, "codec context");
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
		cmocka_unit_test(test_codec_levels),
		cmocka_unit_test(test_codec_level_out_of_bounds),
		cmocka_unit_test(test_codec_hostile_input),
		cmocka_unit_test(test_codec_damaged_streams),
		cmocka_unit_test(test_codec_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
