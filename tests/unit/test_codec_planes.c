/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte planes: the transformation, what is compressed in them and what is not,
 * and damaged streams.
 */
#include <stdlib.h>

#include "testlib.h"

#include "codec/codec_internal.h"
#include "codec/codec_planes.h"

#define N (64 * 1024 + 3)

/* A group with its own codec context. */
struct fixture {
	struct codec_ctx *ctx;
	u8 *data, *out, *back;
	size_t len;
};

static int setup(void **state)
{
	struct codec_choice c = { CODEC_ZSTD, 1 };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(codec_ctx_new(&c, &f->ctx, NULL), 0);
	f->data = malloc(N);
	f->out = malloc(N);
	f->back = malloc(N);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	codec_ctx_free(f->ctx);
	free(f->data);
	free(f->out);
	free(f->back);
	free(f);
	return 0;
}

/* Samples of @bytes each: a slow wave and noise in the low bits. */
static void fill_samples(u8 *p, size_t n, u32 bytes, u64 seed)
{
	struct rng r = { seed };
	u32 v = 0x00345678, k;
	size_t i;

	for (i = 0; i < n;) {
		v += (u32)rng_below(&r, 65) - 32;
		if (bytes == 4)
			v += (u32)rng_below(&r, 1 << 14);
		for (k = 0; k < bytes && i < n; k++)
			p[i++] = (u8)(v >> 8 * k);
	}
}

static void fill_words(u8 *p, size_t n)
{
	static const char *const words[] = { "plane ", "byte ", "sample ",
					     "gain ", "seventeen ", "\n" };
	struct rng r = { 7 };
	size_t i = 0, k;
	const char *w;

	while (i < n) {
		w = words[rng_below(&r, ARRAY_SIZE(words))];
		for (k = 0; w[k] && i < n; k++)
			p[i++] = (u8)w[k];
	}
}

/* Compresses f->data; it must come back. */
static u8 pack(struct fixture *f, size_t n)
{
	u8 id;

	assert_int_equal(codec_compress(f->ctx, CODEC_GAIN_EIGHTH, f->data, n,
					f->out, &f->len, &id, NULL), 0);
	if (id != CODEC_NONE) {
		assert_int_equal(codec_decompress(f->ctx, id, f->out, f->len,
						  f->back, n), 0);
		assert_memory_equal(f->back, f->data, n);
	}
	return id;
}

static void test_split_and_join(void **state)
{
	static const u8 in[] = "aAbBcCdDeEf";
	u8 out[sizeof(in)], back[sizeof(in)], *p, *q, *r;
	struct rng rng = { 1 };
	size_t n;
	u32 nr;

	codec_planes_split(2, in, out, 11);
	assert_memory_equal(out, "abcdeABCDEf", 11);
	codec_planes_split(4, in, out, 11);
	assert_memory_equal(out, "acACbdBDeEf", 11);
	codec_planes_join(4, out, back, 11);
	assert_memory_equal(back, in, 11);
	for (n = 0; n < 300; n++) {
		p = malloc(n + 1);
		q = malloc(n + 1);
		r = malloc(n + 1);
		rng_fill(&rng, p, n);
		q[n] = r[n] = 0xee;
		for (nr = 2; nr <= 4; nr += 2) {
			codec_planes_split(nr, p, q, n);
			codec_planes_join(nr, q, r, n);
			assert_memory_equal(p, r, n);
			assert_int_equal(q[n], 0xee);
			assert_int_equal(r[n], 0xee);
		}
		free(p);
		free(q);
		free(r);
	}
}

static void test_probe(void **state)
{
	struct fixture *f = *state;
	struct rng r = { 3 };

	fill_samples(f->data, N, 2, 1);
	assert_int_equal(codec_probe_planes(f->data, N), 2);
	assert_int_equal(codec_probe_planes(f->data + 1, N - 1), 2);
	fill_samples(f->data, N, 4, 1);
	assert_int_equal(codec_probe_planes(f->data, N), 4);
	assert_int_equal(codec_probe_planes(f->data + 3, N - 3), 4);
	fill_words(f->data, N);
	assert_int_equal(codec_probe_planes(f->data, N), 1);
	rng_fill(&r, f->data, N);
	assert_int_equal(codec_probe_planes(f->data, N), 1);
	assert_false(codec_probe(f->data, N, true));
	memset(f->data, 0, N);
	assert_int_equal(codec_probe_planes(f->data, N), 1);
}

/* Both sizes of samples, groups that begin anywhere, a group with a rest. */
static void test_samples_go_into_planes(void **state)
{
	struct codec_choice c = { CODEC_ZSTD, 1 };
	struct fixture *f = *state;
	u32 bytes;

	for (bytes = 2; bytes <= 4; bytes += 2) {
		for (c.level = 1; c.level <= 3; c.level += 2) {
			codec_ctx_choose(f->ctx, &c);
			fill_samples(f->data, N, bytes, 5);
			assert_int_equal(pack(f, N), CODEC_PLANES);
			assert_int_equal(f->out[0], bytes);
			assert_in_range(f->len, N / 3, N * 4 / 5);
			memmove(f->data, f->data + 1, N - 1);
			assert_int_equal(pack(f, N - 1), CODEC_PLANES);
			assert_int_equal(f->out[0], bytes);
			/* another level begins from the start */
			c.level++;
			codec_ctx_choose(f->ctx, &c);
			fill_words(f->data, N);
			assert_int_equal(pack(f, N), CODEC_ZSTD);
			c.level--;
		}
	}
}

/* Other data in between are compressed as ever. */
static void test_other_data_stay_whole(void **state)
{
	struct codec_choice c = { CODEC_ZSTD, 1 };
	struct fixture *f = *state;
	size_t len;

	fill_words(f->data, N);
	assert_int_equal(pack(f, N), CODEC_ZSTD);
	len = f->len;
	codec_ctx_free(f->ctx);
	assert_int_equal(codec_ctx_new(&c, &f->ctx, NULL), 0);
	fill_samples(f->data, N, 2, 5);
	assert_int_equal(pack(f, N), CODEC_PLANES);
	fill_words(f->data, N);
	assert_int_equal(pack(f, N), CODEC_ZSTD);
	assert_int_equal(f->len, len);
	/* too small to be looked at */
	fill_samples(f->data, N, 2, 5);
	assert_int_not_equal(pack(f, CODEC_SAMPLED_MIN - 1), CODEC_PLANES);
}

static void test_codec_cannot_be_chosen(void **state)
{
	struct codec_choice c;

	assert_string_equal(codec_name(CODEC_PLANES), "planes");
	assert_int_equal(codec_parse("planes", &c, NULL), -AKIN_E_usage);
}

static void assert_bad(struct fixture *f, size_t len, size_t n)
{
	u8 *exact = malloc(len ? len : 1);

	memcpy(exact, f->out, len);
	assert_int_equal(codec_decompress(f->ctx, CODEC_PLANES, exact, len,
					  f->back, n), -AKIN_E_bad_data);
	free(exact);
}

static void test_damaged_streams(void **state)
{
	struct fixture *f = *state;
	struct rng r = { 9 };
	size_t i, at;
	u8 old;

	fill_samples(f->data, N, 2, 6);
	assert_int_equal(pack(f, N), CODEC_PLANES);
	for (i = 0; i < f->len; i += 1 + i / 10)
		assert_bad(f, i, N);
	assert_bad(f, f->len, N - 1);
	assert_bad(f, f->len, 0);
	for (i = 0; i < 256; i++) {
		f->out[0] = (u8)i;
		if (i != 2 && i != 4)
			assert_bad(f, f->len, N);
	}
	f->out[0] = 2;
	for (i = 0; i < 500; i++) {
		at = i < 100 ? i : rng_below(&r, f->len);
		old = f->out[at];
		f->out[at] ^= (u8)(1u << rng_below(&r, 8));
		ignore_result(codec_decompress(f->ctx, CODEC_PLANES, f->out,
					       f->len, f->back, N));
		f->out[at] = old;
	}
	assert_int_equal(codec_decompress(f->ctx, CODEC_PLANES, f->out, f->len,
					  f->back, N), 0);
	/* more than a decoder takes a buffer for */
	assert_bad(f, f->len, (1 << 20) + 1);
	/* only zstd takes references */
	assert_int_equal(codec_decompress_ref(f->ctx, CODEC_PLANES, f->data, N,
					      f->out, f->len, f->back, N),
			 -AKIN_E_bad_data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_and_join),
		cmocka_unit_test_setup_teardown(test_probe, setup, teardown),
		cmocka_unit_test_setup_teardown(test_samples_go_into_planes,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_data_stay_whole,
						setup, teardown),
		cmocka_unit_test(test_codec_cannot_be_chosen),
		cmocka_unit_test_setup_teardown(test_damaged_streams, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
