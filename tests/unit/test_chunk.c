/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "testlib.h"

#include "base/diag.h"
#include "base/mem.h"
#include "chunk/chunk.h"
#include "chunk/chunk_internal.h"

#define BUF_BYTES ((size_t)(1 * MiB))
#define MAX_LENS (BUF_BYTES / CHUNK_MIN_BYTES + 1)

static const struct chunk_params usual = { CHUNK_CDC, 2048, 8192, 65536 };
static const struct chunk_params small = { CHUNK_CDC, 256, 512, 4096 };

/* What chunker_cut gave. */
struct cuts {
	u32 lens[MAX_LENS];
	size_t nr, consumed;
};

struct fixture {
	u8 key[32];		/* 0, 1, 2, ... */
	struct chunk_scratch *scratch;
	struct cuts *a, *b;
	u8 *data;		/* BUF_BYTES */
};

static int setup(void **state)
{
	struct fixture *f = mem_zalloc(sizeof(*f));
	int i;

	assert_non_null(f);
	for (i = 0; i < 32; i++)
		f->key[i] = (u8)i;
	assert_int_equal(chunk_scratch_new(BUF_BYTES, &f->scratch, NULL), 0);
	f->a = mem_alloc(sizeof(*f->a));
	f->b = mem_alloc(sizeof(*f->b));
	f->data = mem_alloc(BUF_BYTES);
	assert_true(f->a && f->b && f->data);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unsetenv("AKIN_CPU");
	chunk_scratch_free(f->scratch);
	mem_free(f->a);
	mem_free(f->b);
	mem_free(f->data);
	mem_free(f);
	return 0;
}

static struct chunker *new_chunker(const struct chunk_params *p,
				   const u8 key[32])
{
	struct chunker *c;

	assert_int_equal(chunker_new(p, key, &c, NULL), 0);
	return c;
}

static void cut(const struct chunker *c, struct fixture *f, const u8 *data,
		size_t n, bool final, struct cuts *out)
{
	assert_int_equal(chunker_cut(c, f->scratch, data, n, final, out->lens,
				     MAX_LENS, &out->nr, &out->consumed), 0);
}

static void assert_same_cuts(const struct cuts *a, const struct cuts *b)
{
	assert_int_equal(a->nr, b->nr);
	assert_memory_equal(a->lens, b->lens, a->nr * sizeof(a->lens[0]));
}

/* Everything is cut, and every chunk but the last keeps the bounds. */
static void assert_bounds(const struct cuts *k, const struct chunk_params *p,
			  size_t n)
{
	size_t i, sum = 0;

	for (i = 0; i < k->nr; i++) {
		assert_true(k->lens[i] > 0 && k->lens[i] <= p->max);
		if (i + 1 < k->nr)
			assert_true(k->lens[i] >= p->min);
		sum += k->lens[i];
	}
	assert_int_equal(sum, n);
	assert_int_equal(k->consumed, n);
}

enum pattern { ZEROS, ONES, RUN, PERIODIC, TWO_SYMBOLS, NOISE, TEXT, DIRTY_RUN,
	       NR_PATTERNS };

/* The byte whose runs consist of candidates under the fixture's key. */
static u8 run_byte(const struct fixture *f)
{
	struct chunk_tables t;
	u8 x = 0;

	chunk_tables_init(&t, f->key);
	while (chunk_run_value(&t, x) != t.target)
		x++;
	return x;
}

static void fill(const struct fixture *f, enum pattern kind, u8 *p, size_t n)
{
	static const char words[] = "the chunk of a stream is cut by content\n";
	struct rng r = { 7 };
	u8 run = run_byte(f);
	size_t i;

	for (i = 0; i < n; i++) {
		switch (kind) {
		case ZEROS:
			p[i] = 0;
			break;
		case ONES:
			p[i] = 0xff;
			break;
		case RUN:
			p[i] = run;
			break;
		case PERIODIC:
			p[i] = (u8)(i % 7 * 37);
			break;
		case TWO_SYMBOLS:
			p[i] = '0' + (rng_next(&r) & 1);
			break;
		case NOISE:
			p[i] = (u8)rng_next(&r);
			break;
		case TEXT:
			p[i] = (u8)words[rng_below(&r, sizeof(words) - 1)];
			break;
		default:
			p[i] = rng_below(&r, 500) ? run : 1;
			break;
		}
	}
}

/* Phase 1 from its definition. */
static u64 naive_word(const struct chunk_tables *t, const u8 *p)
{
	u8 g[CHUNK_WINDOW];
	u64 word = 0;
	unsigned int b, l;
	int i;

	for (b = 0; b < 64; b++) {
		memcpy(g, p + b - (CHUNK_WINDOW - 1), CHUNK_WINDOW);
		for (l = 0; l < CHUNK_LEVELS; l++) {
			for (i = CHUNK_WINDOW - 1; i >= 1 << l; i--)
				g[i] ^= chunk_map(t, l, g[i - (1 << l)]);
		}
		word |= (u64)(g[CHUNK_WINDOW - 1] == t->target) << b;
	}
	return word;
}

/*
 * Every kernel of this machine against the definition, at all alignments and
 * strip lengths, in heap blocks that end where the strip does.
 */
static void test_kernels_follow_the_definition(void **state)
{
	struct fixture *f = *state;
	const struct chunk_kernel *k;
	u64 want[CHUNK_STRIP_WORDS], got[CHUNK_STRIP_WORDS + 1];
	struct chunk_tables t;
	size_t nr, n, i, ones = 0;
	int kind, level;
	u8 *buf, *p;

	chunk_tables_init(&t, f->key);
	for (nr = 1; nr <= CHUNK_STRIP_WORDS; nr += nr < 4 ? 1 : 7) {
		for (kind = 0; kind < NR_PATTERNS * 16; kind++) {
			n = kind / NR_PATTERNS + CHUNK_HISTORY + nr * 64;
			buf = mem_alloc(n);
			assert_non_null(buf);
			fill(f, kind % NR_PATTERNS, buf, n);
			p = buf + n - nr * 64;
			for (i = 0; i < nr; i++) {
				want[i] = naive_word(&t, p + i * 64);
				ones += (size_t)__builtin_popcountll(want[i]);
			}
			for (level = 0; level <= (int)cpu_level_detected();
			     level++) {
				k = chunk_kernel_at(level);
				got[nr] = 0x5eed;
				k->scan(&t, p, nr, got);
				assert_memory_equal(want, got, nr * 8);
				assert_true(got[nr] == 0x5eed);
			}
			mem_free(buf);
		}
	}
	assert_true(ones > 10000);
}

/* A kernel that is right but for runs longer than half a strip. */
static void scan_subtly_wrong(const struct chunk_tables *t, const u8 *p,
			      size_t nr_words, u64 *bits)
{
	chunk_scan_portable(t, p, nr_words, bits);
	if (nr_words > 16 && bits[15] == ~0ull)
		bits[15] = 0;
}

/* A kernel that looks back over 16 bytes. */
static void scan_near_sighted(const struct chunk_tables *t, const u8 *p,
			      size_t nr_words, u64 *bits)
{
	struct chunk_tables copy = *t;
	unsigned int x;

	for (x = 0; x < 256; x++)
		copy.wide[x] &= 0xffff0000;
	chunk_scan_portable(&copy, p, nr_words, bits);
}

static void test_self_test_tells_wrong_kernels(void **state)
{
	static const struct chunk_kernel wrong[] = {
		{ "wrong", CPU_PORTABLE, scan_subtly_wrong },
		{ "wrong", CPU_PORTABLE, scan_near_sighted } };
	struct fixture *f = *state;
	struct chunk_tables t;
	int level;

	chunk_tables_init(&t, f->key);
	assert_false(chunk_kernel_agrees(&wrong[0], &t));
	assert_false(chunk_kernel_agrees(&wrong[1], &t));
	for (level = 0; level <= (int)cpu_level_detected(); level++)
		assert_true(chunk_kernel_agrees(chunk_kernel_at(level), &t));
}

/* Cuts with each level that AKIN_CPU can name, at sizes around the bounds. */
static void test_cuts_do_not_depend_on_the_kernel(void **state)
{
	static const char *const names[] = { "ssse3", "avx2", "avx512" };
	struct fixture *f = *state;
	const struct chunk_params *p = &small;
	const size_t around[] = { 0, p->min, p->avg, p->max, 3 * p->max };
	struct chunker *c[4];
	size_t i, k, n, at;
	int kind;
	u8 *exact;

	setenv("AKIN_CPU", "portable", 1);
	c[0] = new_chunker(p, f->key);
	assert_string_equal(chunker_kernel(c[0]), "portable");
	for (k = 1; k < 4; k++) {
		setenv("AKIN_CPU", names[k - 1], 1);
		c[k] = new_chunker(p, f->key);
	}
	unsetenv("AKIN_CPU");
	for (kind = 0; kind < NR_PATTERNS; kind++) {
		for (at = 0; at < ARRAY_SIZE(around) * 102; at++) {
			i = at / 102;
			n = around[i] + at % 102;
			n -= i ? 51 : 0;
			exact = mem_alloc(n + 1);
			assert_non_null(exact);
			/* one byte in front makes the alignment odd */
			fill(f, kind, exact + 1, n);
			cut(c[0], f, exact + 1, n, true, f->a);
			assert_bounds(f->a, p, n);
			for (k = 1; k < 4; k++) {
				cut(c[k], f, exact + 1, n, true, f->b);
				assert_same_cuts(f->a, f->b);
			}
			mem_free(exact);
		}
	}
	for (k = 0; k < 4; k++)
		chunker_free(c[k]);
}

/* The vectors of docs/format/chunking.md, made by another implementation. */
static void test_golden_vectors(void **state)
{
	static const u32 usual_lens[] = {
		8691, 8238, 7154, 11216, 9933, 10909, 9574, 12448,
		9472, 5588, 11844, 10768, 10387, 11371, 8711, 8607,
		9339, 8243, 3821, 9563, 9536, 4587 };
	static const u32 small_lens[] = {
		509, 607, 864, 1235, 1239, 655, 918, 716, 689, 685, 620,
		859, 404 };
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&usual, f->key);
	struct rng r = { 1 };

	rng_fill(&r, f->data, 200000);
	cut(c, f, f->data, 200000, true, f->a);
	assert_int_equal(f->a->nr, ARRAY_SIZE(usual_lens));
	assert_memory_equal(f->a->lens, usual_lens, sizeof(usual_lens));
	chunker_free(c);

	c = new_chunker(&small, f->key);
	r.s = 2;
	rng_fill(&r, f->data, 10000);
	cut(c, f, f->data, 10000, true, f->a);
	assert_int_equal(f->a->nr, ARRAY_SIZE(small_lens));
	assert_memory_equal(f->a->lens, small_lens, sizeof(small_lens));
	chunker_free(c);
}

static void test_golden_tables(void **state)
{
	static const u64 matrices[CHUNK_LEVELS] = {
		0xc3a4c7cf9aab70ce, 0x0fe422c1f12666de, 0xbba9a06e3dd3f1aa,
		0x61d7c32f10643067, 0x8ac81963869b1e9d };
	static const u64 hash_key[6] = {
		0xefcf85758bbe5dcc, 0x9e5efaf003b8dbb7, 0x02b401b94974dc4e,
		0xe73bcbaa5920008b, 0x1423f23053b15974, 0x092011ca0c18b4c0 };
	struct fixture *f = *state;
	struct chunk_tables t;
	int l;

	chunk_tables_init(&t, f->key);
	for (l = 0; l < CHUNK_LEVELS; l++)
		assert_true(t.gfni[l] == __builtin_bswap64(matrices[l]));
	assert_int_equal(t.target, 0x80);
	assert_memory_equal(t.hash_key, hash_key, sizeof(hash_key));
}

/* Feeds pieces of random size the way a stream does; small reads included. */
static void cut_in_pieces(const struct chunker *c, struct fixture *f,
			  size_t n, u64 seed, struct cuts *out)
{
	struct rng r = { seed };
	size_t from = 0, have = 0, nr, consumed;
	u32 lens[MAX_LENS];

	out->nr = 0;
	while (from < n) {
		have += rng_below(&r, 3 * usual.max);
		if (have > n - from)
			have = n - from;
		assert_int_equal(chunker_cut(c, f->scratch, f->data + from,
					     have, from + have == n, lens,
					     MAX_LENS, &nr, &consumed), 0);
		assert_true(have - consumed < usual.max);
		memcpy(out->lens + out->nr, lens, nr * sizeof(lens[0]));
		out->nr += nr;
		from += consumed;
		have -= consumed;
	}
}

static void test_cuts_do_not_depend_on_buffers(void **state)
{
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&usual, f->key);
	int kind, seed;

	for (kind = 0; kind < NR_PATTERNS; kind++) {
		fill(f, kind, f->data, BUF_BYTES);
		cut(c, f, f->data, BUF_BYTES, true, f->a);
		assert_bounds(f->a, &usual, BUF_BYTES);
		for (seed = 0; seed < 4; seed++) {
			cut_in_pieces(c, f, BUF_BYTES, (u64)seed, f->b);
			assert_same_cuts(f->a, f->b);
		}
	}
	chunker_free(c);
}

/* Without @final nothing is cut that one more byte could change. */
static void test_open_tail_is_left(void **state)
{
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&usual, f->key);
	size_t n;

	fill(f, NOISE, f->data, BUF_BYTES);
	cut(c, f, f->data, 100000, true, f->a);
	for (n = 0; n < 100000; n += n < 300 ? 1 : 777) {
		cut(c, f, f->data, n, false, f->b);
		assert_true(f->b->consumed <= n);
		assert_true(n - f->b->consumed < f->a->lens[f->b->nr]);
		assert_memory_equal(f->a->lens, f->b->lens,
				    f->b->nr * sizeof(u32));
	}
	fill(f, ZEROS, f->data, BUF_BYTES);
	cut(c, f, f->data, usual.max - 1, false, f->b);
	assert_int_equal(f->b->nr, 0);
	cut(c, f, f->data, usual.max, false, f->b);
	assert_int_equal(f->b->nr, 1);
	chunker_free(c);
}

/* Chunk boundaries, counted from the end, that both sides have. */
static size_t shared_from_end(const struct cuts *a, const struct cuts *b)
{
	size_t n = 0;

	while (n < a->nr && n < b->nr &&
	       a->lens[a->nr - 1 - n] == b->lens[b->nr - 1 - n])
		n++;
	return n;
}

static void test_resynchronises_after_an_insert(void **state)
{
	static const enum pattern kinds[] = { NOISE, TEXT, TWO_SYMBOLS };
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&usual, f->key);
	size_t k, n = BUF_BYTES / 2;
	u8 *data = f->data;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		fill(f, kinds[k], data, n);
		cut(c, f, data, n, true, f->a);
		memmove(data + 30005, data + 30000, n - 30000);
		memcpy(data + 30000, "01x10", 5);
		cut(c, f, data, n + 5, true, f->b);
		/* some four chunks lie before the insert, few change */
		assert_in_range(f->a->nr, 45, 70);
		assert_true(shared_from_end(f->a, f->b) >= f->a->nr - 9);
	}
	chunker_free(c);
}

static void test_keys_cut_differently(void **state)
{
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&usual, f->key), *other;
	size_t i, common = 0;
	u8 key[32] = { 0 };

	memcpy(key, f->key, 32);
	key[31] ^= 0x80;
	other = new_chunker(&usual, key);
	fill(f, TEXT, f->data, BUF_BYTES);
	cut(c, f, f->data, BUF_BYTES, true, f->a);
	cut(other, f, f->data, BUF_BYTES, true, f->b);
	for (i = 0; i < f->a->nr && i < f->b->nr; i++)
		common += f->a->lens[i] == f->b->lens[i];
	assert_true(common <= 2);
	chunker_free(c);
	chunker_free(other);
}

static void test_mean_size(void **state)
{
	static const struct chunk_params params[] = {
		{ CHUNK_CDC, 256, 512, 4096 },
		{ CHUNK_CDC, 1024, 4096, 32768 },
		{ CHUNK_CDC, 2048, 8192, 65536 },
		{ CHUNK_CDC, 4096, 16384, 131072 } };
	struct fixture *f = *state;
	struct chunker *c;
	struct rng r = { 11 };
	size_t i, nr, mean;
	int round;

	for (i = 0; i < ARRAY_SIZE(params); i++) {
		c = new_chunker(&params[i], f->key);
		for (round = 0, nr = 0; round < 8; round++) {
			rng_fill(&r, f->data, BUF_BYTES);
			cut(c, f, f->data, BUF_BYTES, true, f->a);
			nr += f->a->nr;
		}
		mean = 8 * BUF_BYTES / nr;
		assert_in_range(mean, params[i].avg, params[i].avg * 3 / 2);
		chunker_free(c);
	}
}

/* At most one hash a byte, none in runs of 0x00 and 0xff. */
static void test_degenerate_data_is_linear(void **state)
{
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&usual, f->key);
	u64 before;
	int kind;

	for (kind = 0; kind < NR_PATTERNS; kind++) {
		fill(f, kind, f->data, BUF_BYTES);
		before = f->scratch->nr_hashed;
		cut(c, f, f->data, BUF_BYTES, true, f->a);
		before = f->scratch->nr_hashed - before;
		assert_true(before <= BUF_BYTES);
		if (kind == ZEROS || kind == ONES) {
			assert_int_equal(before, 0);
			assert_int_equal(f->a->nr, BUF_BYTES / usual.max);
		}
		if (kind == NOISE)
			assert_in_range(before, BUF_BYTES / 512,
					BUF_BYTES / 200);
	}
	chunker_free(c);
}

static void test_fixed_blocks(void **state)
{
	static const struct chunk_params p = { CHUNK_FIXED, 4096, 4096, 4096 };
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&p, f->key);

	assert_string_equal(chunker_kernel(c), "fixed");
	fill(f, NOISE, f->data, 10000);
	cut(c, f, f->data, 10000, false, f->a);
	assert_int_equal(f->a->nr, 2);
	assert_int_equal(f->a->consumed, 8192);
	cut(c, f, f->data, 10000, true, f->a);
	assert_int_equal(f->a->nr, 3);
	assert_int_equal(f->a->lens[1], 4096);
	assert_int_equal(f->a->lens[2], 10000 - 8192);
	cut(c, f, f->data, 0, true, f->a);
	assert_int_equal(f->a->nr, 0);
	assert_int_equal(f->a->consumed, 0);
	chunker_free(c);
}

static void test_refuses_bad_parameters(void **state)
{
	static const struct chunk_params bad[] = {
		{ CHUNK_CDC, 255, 512, 4096 },
		{ CHUNK_CDC, 0, 512, 4096 },
		{ CHUNK_CDC, 512, 512, 4096 },
		{ CHUNK_CDC, 256, 768, 4096 },
		{ CHUNK_CDC, 2048, 8192, 8192 },
		{ CHUNK_CDC, 2048, 8192, CHUNK_MAX_BYTES + 1 },
		{ CHUNK_CDC, 2048, 8192, UINT32_MAX },
		{ CHUNK_FIXED, 8192, 4096, 4096 },
		{ CHUNK_FIXED, 3000, 3000, 3000 } };
	static const struct chunk_params odd = { 3, 2048, 8192, 65536 };
	static const struct chunk_params wide = {
		CHUNK_CDC, 256, CHUNK_MAX_BYTES / 2, CHUNK_MAX_BYTES };
	struct akin_diag d = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&d, 0, sizeof(d));
		assert_int_equal(chunk_params_check(&bad[i], &d),
				 -AKIN_E_usage);
		assert_true(d.text[0]);
	}
	assert_int_equal(chunk_params_check(&odd, NULL), -AKIN_E_feature);
	assert_int_equal(chunk_params_check(&wide, NULL), 0);
}

static void test_refuses_small_rooms(void **state)
{
	struct fixture *f = *state;
	struct chunker *c = new_chunker(&usual, f->key);
	size_t nr, consumed;

	fill(f, NOISE, f->data, 8192);
	assert_int_equal(chunker_cut(c, f->scratch, f->data, 8192, true,
				     f->a->lens, 4, &nr, &consumed),
			 -AKIN_E_usage);
	assert_int_equal(chunker_cut(c, f->scratch, f->data, 8192, true,
				     f->a->lens, 5, &nr, &consumed), 0);
	assert_int_equal(chunker_cut(c, f->scratch, f->data, BUF_BYTES + 1,
				     true, f->a->lens, MAX_LENS, &nr,
				     &consumed),
			 -AKIN_E_too_large);
	chunker_free(c);
}

static void test_allocations_can_fail(void **state)
{
	struct fixture *f = *state;
	struct chunk_scratch *s;
	struct chunker *c;

	mem_fail_after(1);
	assert_int_equal(chunker_new(&usual, f->key, &c, NULL),
			 -AKIN_E_nomem);
	assert_null(c);
	assert_int_equal(chunk_scratch_new(4096, &s, NULL), -AKIN_E_nomem);
	assert_null(s);
	mem_fail_after(0);
	chunker_free(NULL);
	chunk_scratch_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_follow_the_definition),
		cmocka_unit_test(test_self_test_tells_wrong_kernels),
		cmocka_unit_test(test_cuts_do_not_depend_on_the_kernel),
		cmocka_unit_test(test_golden_vectors),
		cmocka_unit_test(test_golden_tables),
		cmocka_unit_test(test_cuts_do_not_depend_on_buffers),
		cmocka_unit_test(test_open_tail_is_left),
		cmocka_unit_test(test_resynchronises_after_an_insert),
		cmocka_unit_test(test_keys_cut_differently),
		cmocka_unit_test(test_mean_size),
		cmocka_unit_test(test_degenerate_data_is_linear),
		cmocka_unit_test(test_fixed_blocks),
		cmocka_unit_test(test_refuses_bad_parameters),
		cmocka_unit_test(test_refuses_small_rooms),
		cmocka_unit_test(test_allocations_can_fail),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
