/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LZJB: the vectors of tests/vectors/lzjb.tsv, and both directions against a
 * plain encoder and decoder, on data of many kinds and on damaged streams.
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "codec/codec_internal.h"
#include "lzjb_plain.h"

#define N (128 * 1024)

static long encode(const u8 *in, size_t n, u8 *out, size_t cap)
{
	return codec_lzjb.compress(NULL, in, n, out, cap, NULL);
}

static bool decode(const u8 *in, size_t n, u8 *out, size_t raw_len)
{
	int err = codec_lzjb.decompress(NULL, in, n, out, raw_len);

	assert_true(err == 0 || err == -AKIN_E_bad_data);
	return err == 0;
}

static void hex_of(const u8 *p, size_t n, char *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", p[i]);
}

static void assert_digest(const u8 *p, size_t n, const char *hex)
{
	u8 digest[EVP_MAX_MD_SIZE];
	unsigned len;
	char text[2 * EVP_MAX_MD_SIZE + 1];

	assert_true(EVP_Digest(p, n, digest, &len, EVP_sha256(), NULL));
	hex_of(digest, len, text);
	assert_string_equal(text, hex);
}

static void repeat(u8 *p, size_t n, const char *text)
{
	size_t i, len = strlen(text);

	for (i = 0; i < n; i++)
		p[i] = (u8)text[i % len];
}

/* The inputs of the vectors, by their row. */
static void fill_vector(u32 row, u8 *p, size_t n)
{
	u32 x = 12345;
	size_t i;

	for (i = 0; i < n; i++) {
		x = (x * 1103515245u + 12345u) & 0x7fffffff;
		switch (row) {
		case 0: case 5:
			p[i] = 0;
			break;
		case 1:
			p[i] = 0xa5;
			break;
		case 2:
			p[i] = (u8)i;
			break;
		case 6:
			p[i] = (u8)(i / 4 >> 8 * (i % 4));
			break;
		default:
			p[i] = (u8)(x >> 16);
		}
	}
	if (row == 3)
		repeat(p, n, "abc");
	if (row == 4)
		repeat(p, n, "The quick brown fox jumps over the lazy dog. ");
}

static void check_vector(u32 row, char *line)
{
	static u8 in[N], out[N], back[N];
	const char *name, *in_bytes, *in_sha, *out_bytes, *out_sha, *hex;
	char *rest = line, text[2 * 72 + 1];
	size_t n;
	long len;

	name = strsep(&rest, "\t");
	in_bytes = strsep(&rest, "\t");
	in_sha = strsep(&rest, "\t");
	out_bytes = strsep(&rest, "\t");
	out_sha = strsep(&rest, "\t");
	hex = strsep(&rest, "\t");
	assert_non_null(hex);
	n = strtoul(in_bytes, NULL, 10);
	assert_in_range(n, 512, N);
	fill_vector(row, in, n);
	assert_digest(in, n, in_sha);
	len = encode(in, n, out, n - n / 8);
	if (strncmp(out_bytes, "does not fit", 12) == 0) {
		assert_int_equal(len, 0);
		return;
	}
	if (len != strtol(out_bytes, NULL, 10))
		fail_msg("%s: %ld bytes", name, len);
	assert_digest(out, (size_t)len, out_sha);
	if (*hex != '-') {
		hex_of(out, (size_t)len, text);
		assert_string_equal(text, hex);
	}
	assert_true(decode(out, (size_t)len, back, n));
	assert_memory_equal(back, in, n);
}

static void test_vectors(void **state)
{
	char path[1000], line[1000];
	u32 row = 0;
	FILE *f;

	assert_non_null(getenv("AKIN_SOURCE_ROOT"));
	snprintf(path, sizeof(path), "%s/tests/vectors/lzjb.tsv",
		 getenv("AKIN_SOURCE_ROOT"));
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (*line != '#')
			check_vector(row++, line);
	}
	fclose(f);
	assert_int_equal(row, 8);
}

/* Random bytes of few values, and copies from near and far. */
static void fill_mixed(struct rng *r, u8 *p, size_t n)
{
	size_t i = 0, len, dist;
	u32 mask = (1u << (1 + rng_below(r, 8))) - 1;
	u64 copies = rng_below(r, 4);

	while (i < n) {
		len = 1 + rng_below(r, rng_below(r, 8) ? 12 : 200);
		if (len > n - i)
			len = n - i;
		dist = 1 + rng_below(r, rng_below(r, 2) ? 20 : 1500);
		if (i >= dist && rng_below(r, 4) < copies) {
			for (; len; len--, i++)
				p[i] = p[i - dist];
		} else {
			for (; len; len--, i++)
				p[i] = (u8)(rng_next(r) & mask);
		}
	}
}

/* Exactly sized blocks, so that a sanitizer sees what goes past an end. */
static void compare_encoders(const u8 *in, size_t n, size_t cap)
{
	u8 *out = malloc(cap + 1), *plain = malloc(cap + 1);
	u8 *exact = malloc(n + 1), *back = malloc(n + 1);
	size_t want;
	long len;

	memcpy(exact + 1, in, n);
	out[cap] = 0xee;
	want = lzjb_plain_encode(in, n, plain, cap);
	len = encode(exact + 1, n, out, cap);
	assert_int_equal(len, want);
	assert_memory_equal(out, plain, want);
	assert_int_equal(out[cap], 0xee);
	if (len) {
		back[n] = 0xee;
		memcpy(plain + cap + 1 - len, out, (size_t)len);
		assert_true(decode(plain + cap + 1 - len, (size_t)len, back,
				   n));
		assert_memory_equal(back, in, n);
		assert_int_equal(back[n], 0xee);
		assert_false(decode(out, (size_t)len, back, n - 1));
		assert_false(decode(out, (size_t)len - 1, back, n));
	}
	free(out);
	free(plain);
	free(exact);
	free(back);
}

static void test_encoder_is_the_plain_one(void **state)
{
	static u8 in[70000];
	struct rng r = { 5 };
	size_t n, i;

	for (i = 0; i < 1500; i++) {
		n = 1 + rng_below(&r, i % 10 ? 300 : 4000);
		if (i % 100 == 0)	/* positions beyond 16 bits */
			n = 66000 + rng_below(&r, 4000);
		fill_mixed(&r, in, n);
		compare_encoders(in, n, n + n / 8 + 20);
		compare_encoders(in, n, n - n / 8);
	}
}

/* Every capacity: where it stops to fit is part of what comes out. */
static void test_fullness(void **state)
{
	u8 in[600];
	struct rng r = { 6 };
	size_t cap, i;

	for (i = 0; i < 10; i++) {
		fill_mixed(&r, in, sizeof(in));
		for (cap = 0; cap < 700; cap++)
			compare_encoders(in, sizeof(in), cap);
	}
}

static void compare_decoders(const u8 *stream, size_t len, size_t raw_len)
{
	u8 *exact = malloc(len ? len : 1), *out = malloc(raw_len + 1);
	u8 *plain = malloc(raw_len + 1);
	bool want;

	memcpy(exact, stream, len);
	out[raw_len] = 0xee;
	want = lzjb_plain_decode(exact, len, plain, raw_len);
	assert_int_equal(decode(exact, len, out, raw_len), want);
	assert_int_equal(out[raw_len], 0xee);
	if (want)
		assert_memory_equal(out, plain, raw_len);
	free(exact);
	free(out);
	free(plain);
}

/* Bits flipped, bytes replaced, ends cut, lengths that lie. */
static void test_decoder_is_the_plain_one(void **state)
{
	static u8 in[3000], stream[4000], bad[4000];
	struct rng r = { 8 };
	size_t n, len, cut, i, k;

	for (i = 0; i < 300; i++) {
		n = 40 + rng_below(&r, sizeof(in) - 40);
		fill_mixed(&r, in, n);
		len = (size_t)encode(in, n, stream, sizeof(stream));
		assert_in_range(len, 1, sizeof(stream));
		compare_decoders(stream, len, n);
		for (k = 0; k < 60; k++) {
			memcpy(bad, stream, len);
			bad[rng_below(&r, len)] ^= (u8)(1u << rng_below(&r, 8));
			if (k % 3 == 0)
				bad[rng_below(&r, len)] = (u8)rng_next(&r);
			cut = k % 4 ? len : rng_below(&r, len + 1);
			compare_decoders(bad, cut, k % 5 ? n :
					 rng_below(&r, 2 * n));
		}
	}
}

static void test_decoder_refuses(void **state)
{
	/* a literal, then a match at distance 0, 2 (before the beginning), and
	 * 1 with 3 bytes where 2 are left */
	static const u8 zero[] = { 0x02, 'a', 0x00, 0x00 };
	static const u8 before[] = { 0x02, 'a', 0x00, 0x02 };
	static const u8 good[] = { 0x02, 'a', 0x00, 0x01 };
	static const u8 longer[] = { 0x02, 'a', 0x00, 0x01, 'x' };
	u8 out[8];

	assert_false(decode(zero, sizeof(zero), out, 4));
	assert_false(decode(before, sizeof(before), out, 4));
	assert_false(decode(good, sizeof(good), out, 3));
	assert_false(decode(good, sizeof(good), out, 5));
	assert_false(decode(longer, sizeof(longer), out, 4));
	assert_false(decode(good, 0, out, 4));
	assert_true(decode(good, 0, out, 0));
	assert_true(decode(good, sizeof(good), out, 4));
	assert_memory_equal(out, "aaaa", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_encoder_is_the_plain_one),
		cmocka_unit_test(test_fullness),
		cmocka_unit_test(test_decoder_is_the_plain_one),
		cmocka_unit_test(test_decoder_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
