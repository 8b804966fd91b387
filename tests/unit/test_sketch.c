/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "chunk/chunk_internal.h"
#include "sketch/sketch.h"

#define BYTES ((size_t)64 * KiB)

static const struct chunk_params usual = { CHUNK_CDC, 2048, 8192, 65536 };
static const struct chunk_params fixed = { CHUNK_FIXED, 4096, 4096, 4096 };

struct fixture {
	u8 key[32];		/* 0, 1, 2, ... */
	struct chunker *chunker;
	struct sketcher *sketcher;
	u8 *data;
};

static void open_sketcher(struct fixture *f, const struct chunk_params *p)
{
	sketcher_free(f->sketcher);
	chunker_free(f->chunker);
	assert_int_equal(chunker_new(p, f->key, &f->chunker, NULL), 0);
	assert_int_equal(sketcher_new(f->chunker, f->key, &f->sketcher, NULL),
			 0);
}

static int setup(void **state)
{
	struct fixture *f = mem_zalloc(sizeof(*f));
	struct rng r = { 1 };
	int i;

	assert_non_null(f);
	for (i = 0; i < 32; i++)
		f->key[i] = (u8)i;
	f->data = mem_alloc(BYTES);
	assert_non_null(f->data);
	rng_fill(&r, f->data, BYTES);
	open_sketcher(f, &usual);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unsetenv("AKIN_CPU");
	sketcher_free(f->sketcher);
	chunker_free(f->chunker);
	mem_free(f->data);
	mem_free(f);
	return 0;
}

static struct dir_sketch sketch(const struct fixture *f, const u8 *p, size_t n)
{
	struct dir_sketch s;

	assert_true(sketch_make(f->sketcher, p, n, &s));
	return s;
}

/* The same on every machine, for ever: pools have them. */
static void test_values(void **state)
{
	struct fixture *f = *state;
	struct dir_sketch a = sketch(f, f->data, 8192);
	struct dir_sketch b = sketch(f, f->data, BYTES);

	assert_int_equal(a.part[0], 0x3915064c);
	assert_int_equal(a.part[1], 0x80ced33b);
	assert_int_equal(a.part[2], 0x44f468f6);
	assert_int_equal(b.part[0], 0xa26c2fa4);
	assert_int_equal(b.part[1], 0x1668a84b);
	assert_int_equal(b.part[2], 0x2b3ae92a);
}

/* Whatever the processor, the alignment, the length. */
static void test_kernels(void **state)
{
	static const char *const levels[] = { "portable", "ssse3", "avx2",
					      "avx512" };
	struct fixture *f = *state;
	struct dir_sketch want[200], got;
	u8 *p = mem_alloc(BYTES);
	u32 i, k, len;

	assert_non_null(p);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		want[i] = sketch(f, f->data + i, 4000 + i * 37);
	for (k = 0; k < ARRAY_SIZE(levels); k++) {
		setenv("AKIN_CPU", levels[k], 1);
		open_sketcher(f, &usual);
		for (i = 0; i < ARRAY_SIZE(want); i++) {
			len = 4000 + i * 37;
			/* Nothing in front of it or behind it counts. */
			memset(p, (int)i, BYTES);
			memcpy(p + 71, f->data + i, len);
			got = sketch(f, p + 71, len);
			assert_memory_equal(&got, &want[i], sizeof(got));
		}
	}
	mem_free(p);
}

/* The samples from their definition: hashes where phase 1 has a candidate, from
 * the first position on where a cut may be. */
static void test_samples(void **state)
{
	struct fixture *f = *state;
	u64 all[CHUNK_SAMPLES_MAX], more[CHUNK_SAMPLES_MAX];
	u64 bits[CHUNK_STRIP_WORDS];
	size_t nr, want = 0, n = 2047 + 2048;
	struct chunk_tables t;
	u32 w;

	chunk_tables_init(&t, f->key);
	chunk_scan_portable(&t, f->data + 2047, 32, bits);
	for (w = 0; w < 32; w++)
		want += (u32)__builtin_popcountll(bits[w]);
	assert_true(want > 2);
	nr = chunker_sample(f->chunker, f->data, n, all);
	assert_int_equal(nr, want);
	assert_int_equal(chunker_sample(f->chunker, f->data, 2047, more), 0);
	/* More bytes: the same samples, and more. */
	assert_true(chunker_sample(f->chunker, f->data, n + 1000, more) > nr);
	assert_memory_equal(all, more, nr * sizeof(u64));
	/* Fixed blocks have them from the beginning. */
	open_sketcher(f, &fixed);
	chunk_scan_portable(&t, f->data + 64, 32, bits);
	for (w = 0, want = 0; w < 32; w++)
		want += (u32)__builtin_popcountll(bits[w]);
	nr = chunker_sample(f->chunker, f->data, 64 + 2048, all);
	assert_int_equal(nr, want);
}

/* What cutting finds on its way is what each chunk has. */
static void cut_and_compare(struct fixture *f, const u8 *data, size_t n,
			    size_t room, bool fits)
{
	u64 hashes[4096], want[CHUNK_SAMPLES_MAX];
	struct chunk_samples sm = { .hashes = hashes, .max = room };
	size_t nr, consumed, at = 0, k, first = 0, nr_want, none = 0;
	u32 lens[64], ends[64];
	struct chunk_scratch *s;

	sm.ends = ends;
	assert_int_equal(chunk_scratch_new(BYTES, &s, NULL), 0);
	assert_int_equal(chunker_cut_sampled(f->chunker, s, data, n, false,
					     lens, ARRAY_SIZE(lens), &nr,
					     &consumed, &sm), 0);
	assert_true(nr > 0);
	for (k = 0; k < nr; at += lens[k++]) {
		nr_want = chunker_sample(f->chunker, data + at, lens[k], want);
		if (ends[k] == first && nr_want)
			none++;
		else
			assert_int_equal(ends[k] - first, nr_want);
		assert_memory_equal(hashes + first, want,
				    (ends[k] - first) * sizeof(u64));
		first = ends[k];
	}
	assert_int_equal(sm.nr, first);
	assert_true(sm.nr <= room);
	assert_int_equal(none == 0, fits);
	chunk_scratch_free(s);
}

static void test_samples_of_cutting(void **state)
{
	struct fixture *f = *state;
	struct chunk_tables t;
	u8 x = 0;

	cut_and_compare(f, f->data, BYTES, 4096, true);
	cut_and_compare(f, f->data, BYTES, 0, false);
	cut_and_compare(f, f->data, BYTES, 100, false);
	/* Nothing but candidates: more than anybody has room for. */
	chunk_tables_init(&t, f->key);
	while (chunk_run_value(&t, x) != t.target)
		x++;
	memset(f->data, x, BYTES);
	cut_and_compare(f, f->data, BYTES, 4096, false);
}

/* Of a hundred chunks with @edits bytes changed and one inserted: how many have
 * a super-feature in common with what they were. */
static u32 found(struct fixture *f, u32 edits)
{
	struct rng r = { 5 };
	struct dir_sketch a, b;
	u8 was[10000], is[10001];
	u32 i, k, nr = 0, at;

	for (i = 0; i < 100; i++) {
		rng_fill(&r, was, sizeof(was));
		at = (u32)rng_below(&r, sizeof(was));
		memcpy(is, was, at);
		is[at] = 7;
		memcpy(is + at + 1, was + at, sizeof(was) - at);
		for (k = 1; k < edits; k++)
			is[rng_below(&r, sizeof(is))]++;
		a = sketch(f, was, sizeof(was));
		b = sketch(f, is, sizeof(is));
		nr += sketch_equal(&a, &b) > 0;
	}
	return nr;
}

static void test_resemblance(void **state)
{
	struct fixture *f = *state;
	struct dir_sketch a, b;
	u32 i, nr = 0;

	assert_int_equal(found(f, 1), 100);
	assert_in_range(found(f, 10), 95, 100);
	assert_in_range(found(f, 40), 50, 95);
	/* Strangers have nothing in common. */
	for (i = 0; i + 20000 < BYTES; i += 10000) {
		a = sketch(f, f->data + i, 10000);
		b = sketch(f, f->data + i + 10000, 10000);
		nr += sketch_equal(&a, &b);
	}
	assert_int_equal(nr, 0);
}

static void test_nothing_to_say(void **state)
{
	struct fixture *f = *state;
	struct dir_sketch s, none = { { 0 } };
	u8 *p = mem_zalloc(BYTES);

	assert_non_null(p);
	assert_false(sketch_make(f->sketcher, p, BYTES, &s));
	assert_memory_equal(&s, &none, sizeof(s));
	memset(p, 0xff, BYTES);
	assert_false(sketch_make(f->sketcher, p, BYTES, &s));
	assert_false(sketch_make(f->sketcher, f->data, 0, &s));
	assert_false(sketch_make(f->sketcher, f->data, 2100, &s));
	/* Two without one do not resemble each other. */
	assert_int_equal(sketch_equal(&none, &none), 0);
	mem_free(p);
}

/* Another pool's sketches say nothing about this one's. */
static void test_keyed(void **state)
{
	struct fixture *f = *state;
	struct dir_sketch a = sketch(f, f->data, 10000), b;
	struct sketcher *other;
	u8 key[32] = { 9 };

	assert_int_equal(sketcher_new(f->chunker, key, &other, NULL), 0);
	assert_true(sketch_make(other, f->data, 10000, &b));
	assert_int_equal(sketch_equal(&a, &b), 0);
	sketcher_free(other);
	mem_fail_after(1);
	assert_int_equal(sketcher_new(f->chunker, key, &other, NULL),
			 -AKIN_E_nomem);
	mem_fail_after(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_samples_of_cutting, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_resemblance, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_nothing_to_say, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_keyed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
