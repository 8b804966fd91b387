/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for matches: what it tells gives the bytes back, whatever they
 * are, and it sees the copies it is made for.
 */
#include <stdlib.h>

#include "codec/codec.h"
#include "codec/codec_matches.h"
#include "testlib.h"

#define REF (300 * KiB)
#define DATA (200 * KiB)

struct fixture {
	struct match_finder *mf;
	struct match_tally tally;	/* of the last run */
	u8 *ref, *data, *back;
	struct rng rng;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->mf = match_finder_new();
	f->ref = malloc(REF);
	f->data = malloc(DATA);
	f->back = malloc(REF + DATA);
	f->rng.s = 77;
	rng_fill(&f->rng, f->ref, REF);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	match_finder_free(f->mf);
	free(f->ref);
	free(f->data);
	free(f->back);
	free(f);
	return 0;
}

/* What the matches say, against the bytes; returns how many there are. */
static size_t follow(struct fixture *f, size_t ref_len, size_t n)
{
	size_t at = ref_len, block = 0, nr, i, k;
	const struct match *m;

	nr = match_finder_run(f->mf, f->ref, ref_len, f->data, n, &m,
			      &f->tally);
	if (!nr)
		return 0;
	memcpy(f->back, f->ref, ref_len);
	for (i = 0; i < nr; i++) {
		assert_true(m[i].literals <= ref_len + n - at);
		memcpy(f->back + at, f->data + (at - ref_len), m[i].literals);
		at += m[i].literals;
		block += m[i].literals + m[i].len;
		assert_true(m[i].len <= ref_len + n - at);
		assert_true(m[i].dist <= at);
		for (k = 0; k < m[i].len; k++, at++)
			f->back[at] = f->back[at - m[i].dist];
		if (m[i].dist) {
			assert_true(m[i].len >= MATCHES_MIN);
			continue;
		}
		assert_int_equal(m[i].len, 0);
		assert_true(block == MATCHES_BLOCK_BYTES || i + 1 == nr);
		block = 0;
	}
	assert_int_equal(m[nr - 1].dist, 0);
	assert_int_equal(at, ref_len + n);
	assert_memory_equal(f->back + ref_len, f->data, n);
	return nr;
}

/* A copy from an odd place, with two bytes changed and some put in. */
static void test_matches_of_a_copy(void **state)
{
	struct fixture *f = *state;
	const struct match *m;
	size_t nr;

	memcpy(f->data, f->ref + 1001, 50000);
	f->data[20000] ^= 1;
	f->data[30000] ^= 1;
	memset(f->data + 50000, 'x', 100);
	memcpy(f->data + 50100, f->ref + 51001, 49900);
	assert_int_equal(follow(f, REF, 100000), 6);
	nr = match_finder_run(f->mf, f->ref, REF, f->data, 100000, &m,
			      &f->tally);
	assert_int_equal(nr, 6);
	/* up to the change, and on at the same distance */
	assert_int_equal(m[0].literals, 0);
	assert_int_equal(m[0].len, 20000);
	assert_int_equal(m[0].dist, REF - 1001);
	assert_int_equal(m[1].literals, 1);
	assert_int_equal(m[1].len, 9999);
	assert_int_equal(m[1].dist, m[0].dist);
	assert_int_equal(m[2].len, 19999);
	/* the first of the x, the others from it */
	assert_int_equal(m[3].literals, 1);
	assert_int_equal(m[3].dist, 1);
	assert_int_equal(m[3].len, 99);
	assert_int_equal(m[4].dist, REF - 51001 + 50100);
	assert_int_equal(m[4].len, 49900);
	assert_int_equal(m[5].literals, 0);
	assert_int_equal(f->tally.looked_at, 100000);
	/* all but the changed bytes and those put in */
	assert_int_equal(f->tally.referred, 20000 + 9999 + 19999 + 49900);
}

/* Blocks end where the library's do, in the middle of a copy, too. */
static void test_matches_in_blocks(void **state)
{
	struct fixture *f = *state;
	const struct match *m;

	memcpy(f->data, f->ref, DATA);
	assert_int_equal(follow(f, REF, DATA), 4);
	match_finder_run(f->mf, f->ref, REF, f->data, DATA, &m, &f->tally);
	assert_int_equal(m[0].len, MATCHES_BLOCK_BYTES);
	assert_int_equal(m[1].len, 0);
	assert_int_equal(m[2].len, DATA - MATCHES_BLOCK_BYTES);
	assert_int_equal(m[2].dist, REF);
}

static void test_matches_gives_up(void **state)
{
	struct fixture *f = *state;
	size_t i;

	/* nothing to copy */
	rng_fill(&f->rng, f->data, DATA);
	assert_int_equal(follow(f, REF, DATA), 0);
	assert_int_equal(f->tally.referred, 0);
	assert_true(f->tally.looked_at >= DATA / 4 &&
		    f->tally.looked_at < DATA / 2);
	/* a quarter is new, and a little more */
	memcpy(f->data, f->ref, 80000);
	rng_fill(&f->rng, f->data + 40000, 20000);
	assert_int_equal(follow(f, REF, 80000), 3);
	rng_fill(&f->rng, f->data + 40000, 20016);
	assert_int_equal(follow(f, REF, 80000), 0);
	assert_int_equal(f->tally.looked_at, 80000);
	assert_int_equal(f->tally.referred, 80000 - 20016);
	/* copies, but all of them short */
	for (i = 0; i + 20 <= 80000; i += 20)
		memcpy(f->data + i, f->ref + (i / 20 * 5003) % (REF - 20), 20);
	assert_int_equal(follow(f, REF, 80000), 0);
}

/* Series of edits of every kind, lengths around all limits. */
static void test_matches_of_anything(void **state)
{
	struct fixture *f = *state;
	static const size_t refs[] = { 0, 1, 7, 8, 9, 15, 16, 100, 5000, REF };
	static const size_t sizes[] = { 1, 3, 4, 7, 8, 9, 17, 33, 1000, 70000,
					MATCHES_BLOCK_BYTES,
					MATCHES_BLOCK_BYTES + 1, DATA };
	size_t i, k, e, found = 0, at, len;

	for (i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
		for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			for (at = 0; at < sizes[k]; at++)
				f->data[at] = f->ref[at % (refs[i] + 1)];
			for (e = 0; e < sizes[k] / 3000; e++) {
				at = rng_next(&f->rng) % sizes[k];
				len = rng_next(&f->rng) % 40;
				if (len > sizes[k] - at)
					len = sizes[k] - at;
				if (e % 3 == 0)
					memset(f->data + at, 0, len);
				else if (e % 3 == 1)
					rng_fill(&f->rng, f->data + at, len);
				else
					memmove(f->data + at, f->data, len);
			}
			found += follow(f, refs[i], sizes[k]) > 0;
		}
	}
	/* the others are too short for a copy, or have nothing to copy from */
	assert_int_equal(found, 23);
}

/* Whoever keeps to the frame's window reaches all of the references. */
static void test_matches_window(void **state)
{
	struct fixture *f = *state;
	struct codec_choice c = { CODEC_ZSTD, 1 };
	struct codec_ctx *ctx;
	u8 out[1000], id;
	size_t len;

	memcpy(f->data, f->ref, 1000);
	assert_int_equal(codec_ctx_new(&c, &ctx, NULL), 0);
	assert_int_equal(codec_compress_ref(ctx, CODEC_GAIN_EIGHTH, f->ref,
					    REF, f->data, 1000, out, &len, &id,
					    NULL), 0);
	assert_int_equal(id, CODEC_ZSTD);
	/* exponent 9: 2^19 = 512 KiB, the next above 301 */
	assert_int_equal(out[4], 0);
	assert_int_equal(out[5], 9 << 3);
	assert_int_equal(codec_decompress_ref(ctx, id, f->ref, REF, out, len,
					      f->back, 1000), 0);
	assert_memory_equal(f->back, f->data, 1000);
	codec_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_matches_of_a_copy, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_matches_in_blocks, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_matches_gives_up, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_matches_of_anything,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_matches_window, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
