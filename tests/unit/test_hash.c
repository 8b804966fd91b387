/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fingerprints: published vectors, every kernel against the BLAKE3 project's
 * code, batches of all shapes.
 */
#include "testlib.h"

#include <blake3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "akin/error.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "hash/hash_internal.h"

/*
 * The 16-lane kernel once more, for whatever processor this is, so that its
 * logic is tested where AVX-512 is absent. Unoptimised: without such registers
 * the compilers take half a minute over it.
 */
void run_16_lanes_anywhere(const struct blake3_job *jobs, size_t n,
			   const u32 key[8]);
#define blake3_run_avx512 run_16_lanes_anywhere
#if defined(__clang__)
#pragma clang optimize off
#else
#pragma GCC push_options
#pragma GCC optimize("O0")
#endif
#include "../../src/hash/hash_blake3_avx512.c"
#if defined(__clang__)
#pragma clang optimize on
#else
#pragma GCC pop_options
#endif

#define VECTOR_KEY "whats the Elvish word for friend"
#define VECTOR_CONTEXT "BLAKE3 2019-12-27 16:29:52 test vectors context"

static const struct blake3_kernel anywhere = {
	"16 lanes anywhere", CPU_PORTABLE, run_16_lanes_anywhere,
};

/* How one run of the kernel tests gets its hasher. */
struct setup {
	const char *cpu;	/* AKIN_CPU */
	enum cpu_level level;	/* needed to run at all */
	const char *expect;	/* kernel name */
	const struct blake3_kernel *force;
};

static struct setup setups[] = {
	{ "portable", CPU_PORTABLE, "blake3/library", NULL },
	{ "ssse3", CPU_SSSE3, "blake3/library", NULL },
	{ "neon", CPU_NEON, "blake3/library", NULL },
	{ "avx2", CPU_AVX2, "blake3/avx2", NULL },
	{ "avx512", CPU_AVX512, "blake3/avx512", NULL },
	{ "portable", CPU_PORTABLE, "16 lanes anywhere", &anywhere },
};

static bool level_is_there(enum cpu_level level)
{
	enum cpu_level has = cpu_level_detected();

	/* NEON is beside the x86 levels, not below them. */
	if (level == CPU_NEON || has == CPU_NEON)
		return level == has || level == CPU_PORTABLE;
	return level <= has;
}

/*
 * NULL if the processor lacks the level: the test says so and returns. Not
 * skip(), whose "not ok # SKIP" counts as a failure with meson.
 */
static struct hasher *open_setup(const struct setup *su)
{
	struct hasher *h;

	if (!level_is_there(su->level)) {
		print_message("# skipped: this processor has no %s\n", su->cpu);
		return NULL;
	}
	setenv("AKIN_CPU", su->cpu, 1);
	assert_int_equal(hasher_new(HASH_BLAKE3, (const u8 *)VECTOR_KEY, &h,
				    NULL), 0);
	unsetenv("AKIN_CPU");
	if (su->force)
		h->blake3.kernel = su->force;
	assert_string_equal(hasher_kernel(h), su->expect);
	return h;
}

/* Fingerprint in hex, static buffer. */
static const char *hex(const u8 b[32])
{
	static char s[65];
	int i;

	for (i = 0; i < 32; i++)
		snprintf(s + 2 * i, 3, "%02x", b[i]);
	return s;
}

static u8 *vector_input(size_t n)
{
	u8 *data = malloc(n);
	size_t i;

	assert_non_null(data);
	for (i = 0; i < n; i++)
		data[i] = (u8)(i % 251);
	return data;
}

/* What the BLAKE3 project's code says. */
static void reference(const void *data, size_t n, struct fp *out)
{
	blake3_hasher b;

	blake3_hasher_init_keyed(&b, (const u8 *)VECTOR_KEY);
	blake3_hasher_update(&b, data, n);
	blake3_hasher_finalize(&b, out->b, sizeof(out->b));
}

/* Official test vectors: the first 32 bytes of keyed_hash and derive_key. */
static const struct {
	u32 len;
	const char *keyed, *derived;
} vectors[] = {
	{ 0,
	  "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26",
	  "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d" },
	{ 1,
	  "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b",
	  "b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c" },
	{ 1024,
	  "75c46f6f3d9eb4f55ecaaee480db732e6c2105546f1e675003687c31719c7ba4",
	  "7356cd7720d5b66b6d0697eb3177d9f8d73a4a5c5e968896eb6a689684302706" },
	{ 102400,
	  "1c35d1a5811083fd7119f5d5d1ba027b4d01c0c6c49fb6ff2cf75393ea5db4a7",
	  "4652cff7a3f385a6103b5c260fc1593e13c778dbe608efb092fe7ee69df6e9c6" },
};

static void test_vectors(void **state)
{
	struct hash_item items[ARRAY_SIZE(vectors)];
	struct fp out[ARRAY_SIZE(vectors)];
	struct hasher *h = open_setup(*state);
	struct hash_scratch *s;
	u8 *data;
	size_t i;

	if (!h)
		return;
	data = vector_input(102400);
	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		items[i].data = data;
		items[i].len = vectors[i].len;
	}
	assert_int_equal(hasher_batch(h, s, items, ARRAY_SIZE(items), out), 0);
	for (i = 0; i < ARRAY_SIZE(vectors); i++)
		assert_string_equal(hex(out[i].b), vectors[i].keyed);
	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		hasher_one(h, data, vectors[i].len, &out[i]);
		assert_string_equal(hex(out[i].b), vectors[i].keyed);
	}
	hash_scratch_free(s);
	hasher_free(h);
	free(data);
}

static void test_derive_key(void **state)
{
	u8 *data = vector_input(102400);
	u8 key[HASH_KEY_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		hash_derive_key(VECTOR_CONTEXT, data, vectors[i].len, key);
		assert_string_equal(hex(key), vectors[i].derived);
	}
	free(data);
}

/* All lengths around a block or a leaf, then multiples up to 100 KiB. */
static size_t telling_lengths(u32 *len)
{
	size_t n = 0;
	u32 i, d;

	for (i = 0; i <= 17 * 64; i += 64) {
		for (d = 0; d < 3; d++) {
			if (i + d > 0)
				len[n++] = i + d - 1;
		}
	}
	for (i = 2; i <= 100; i += i < 20 ? 1 : 20) {
		for (d = 0; d < 3; d++)
			len[n++] = i * 1024 + d - 1;
	}
	len[n++] = 65536;
	len[n++] = 102400;
	return n;
}

static void check_batch(const struct hasher *h, struct hash_scratch *s,
			const struct hash_item *items, size_t n)
{
	struct fp *out = calloc(n, sizeof(*out));
	struct fp want;
	size_t i;

	assert_non_null(out);
	assert_int_equal(hasher_batch(h, s, items, n, out), 0);
	for (i = 0; i < n; i++) {
		reference(items[i].data, items[i].len, &want);
		assert_memory_equal(out[i].b, want.b, FP_BYTES);
	}
	free(out);
}

/* Each telling length in a batch with all others, and in one with itself. */
static void test_lengths(void **state)
{
	struct hasher *h = open_setup(*state);
	struct hash_item items[256];
	struct hash_scratch *s;
	u8 *data;
	u32 len[256];
	size_t i, n = telling_lengths(len);

	if (!h)
		return;
	data = vector_input(102400 + 64);
	assert_true(n < ARRAY_SIZE(items));
	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	for (i = 0; i < n; i++) {
		items[i].data = data + i % 64;
		items[i].len = len[i];
	}
	check_batch(h, s, items, n);
	for (i = 0; i < n; i++) {
		struct hash_item two[2] = { items[i], items[i] };

		two[1].data = data + 17;
		check_batch(h, s, two, 1);
		check_batch(h, s, two, 2);
	}
	hash_scratch_free(s);
	hasher_free(h);
	free(data);
}

/*
 * Random batches. Each item has a heap block of exactly its size, so that a
 * sanitizer sees a read behind its end. Now and then one is too long for the
 * lanes.
 */
static void test_random_batches(void **state)
{
	struct hasher *h = open_setup(*state);
	struct rng r = { 7 };
	struct hash_item items[100];
	struct hash_scratch *s;
	u8 *data[100];
	size_t i, n;
	int round;

	if (!h)
		return;
	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	for (round = 0; round < 12; round++) {
		n = 1 + rng_below(&r, ARRAY_SIZE(items));
		for (i = 0; i < n; i++) {
			u32 most = 1 + (u32)rng_below(&r, 4) * 5000;
			u32 len = (u32)rng_below(&r, most);

			if (rng_below(&r, 200) == 0)
				len += 600 * 1024;
			data[i] = malloc(len ? len : 1);
			assert_non_null(data[i]);
			rng_fill(&r, data[i], len);
			items[i].data = data[i];
			items[i].len = len;
		}
		check_batch(h, s, items, n);
		for (i = 0; i < n; i++)
			free(data[i]);
	}
	hash_scratch_free(s);
	hasher_free(h);
}

static void test_empty(void **state)
{
	static const struct hash_item nothing[70] = { { NULL, 0 } };
	struct hasher *h = open_setup(*state);
	struct fp untouched, out;
	struct hash_scratch *s;

	if (!h)
		return;
	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	memset(&untouched, 0x5a, sizeof(untouched));
	out = untouched;
	assert_int_equal(hasher_batch(h, s, NULL, 0, &out), 0);
	assert_true(fp_equal(&out, &untouched));
	check_batch(h, s, nothing, ARRAY_SIZE(nothing));
	assert_int_equal(hasher_batch(h, NULL, nothing, 1, &out),
			 -AKIN_E_usage);
	hash_scratch_free(s);
	hasher_free(h);
}

/* Items of 16 MiB between small ones. */
static void test_large_item_quick(void **state)
{
	static const struct {
		u32 offset, len;
	} parts[] = {
		{ 0, 5000 },	   { 1, 16 * MiB },  { 0, 3 },
		{ 2, 16 * MiB + 1 }, { 9, 512 * KiB }, { 9, 512 * KiB + 1 },
	};
	struct hasher *h = open_setup(*state);
	struct hash_item items[ARRAY_SIZE(parts)];
	struct hash_scratch *s;
	size_t i;
	u8 *data;

	if (!h)
		return;
	data = calloc(1, 16 * MiB + 3);
	assert_non_null(data);
	memset(data, 1, 8 * MiB);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		items[i].data = data + parts[i].offset;
		items[i].len = parts[i].len;
	}
	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	check_batch(h, s, items, ARRAY_SIZE(items));
	hash_scratch_free(s);
	hasher_free(h);
	free(data);
}

static void run_broken(const struct blake3_job *jobs, size_t n,
		       const u32 key[8])
{
	size_t i;

	run_16_lanes_anywhere(jobs, n, key);
	for (i = 0; i < n; i++) {
		/* One bit in leaves of one length only. */
		if (jobs[i].nr_blocks == 15)
			jobs[i].out[31] ^= 0x80;
	}
}

static void test_self_test_notices(void **state)
{
	static const struct blake3_kernel broken = { "", CPU_PORTABLE,
						     run_broken };
	struct hash_scratch *s;

	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	assert_true(blake3_kernel_agrees(&anywhere, s));
	assert_false(blake3_kernel_agrees(&broken, s));
	hash_scratch_free(s);
}

struct worker {
	pthread_t thread;
	const struct hasher *h;
	const struct hash_item *items;
	size_t n;
	struct fp *out;
	int err;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct hash_scratch *s;
	int i;

	w->err = hash_scratch_new(&s, NULL);
	for (i = 0; i < 20 && !w->err; i++)
		w->err = hasher_batch(w->h, s, w->items, w->n, w->out);
	if (!w->err)
		hash_scratch_free(s);
	return NULL;
}

/* @state: id of the hash. */
static void test_threads_share(void **state)
{
	enum { NR_ITEMS = 40, NR_THREADS = 4 };
	static struct fp out[NR_THREADS][NR_ITEMS];
	struct worker w[NR_THREADS];
	struct hash_item items[NR_ITEMS];
	u8 *data = vector_input(NR_ITEMS * 300);
	struct hasher *h;
	struct fp want;
	size_t i, k;

	assert_int_equal(hasher_new(*(u8 *)*state, data, &h, NULL), 0);
	for (i = 0; i < NR_ITEMS; i++) {
		items[i].data = data + i;
		items[i].len = (u32)i * 299;
	}
	for (k = 0; k < NR_THREADS; k++) {
		w[k] = (struct worker){ .h = h, .items = items, .n = NR_ITEMS,
					.out = out[k] };
		assert_int_equal(pthread_create(&w[k].thread, NULL, work,
						&w[k]), 0);
	}
	for (k = 0; k < NR_THREADS; k++) {
		pthread_join(w[k].thread, NULL);
		assert_int_equal(w[k].err, 0);
		for (i = 0; i < NR_ITEMS; i++) {
			hasher_one(h, items[i].data, items[i].len, &want);
			assert_true(fp_equal(&out[k][i], &want));
		}
	}
	hasher_free(h);
	free(data);
}

/*
 * RFC 4231, cases 1 to 3: keys shorter than ours, but HMAC pads keys with
 * zeros up to the block.
 */
static void test_hmac_sha256(void **state)
{
	static u8 fifty[50];
	struct {
		u8 key[HASH_KEY_BYTES];
		const void *data;
		u32 len;
		const char *mac;
	} cases[] = {
		{ { 0 }, "Hi There", 8,
		  "b0344c61d8db38535ca8afceaf0bf12b"
		  "881dc200c9833da726e9376c2e32cff7" },
		{ "Jefe", "what do ya want for nothing?", 28,
		  "5bdcc146bf60754e6a042426089575c7"
		  "5a003f089d2739839dec58b964ec3843" },
		{ { 0 }, fifty, 50,
		  "773ea91e36800e46854db8ebd09181a7"
		  "2959098b3ef8c122d9635514ced565fe" },
	};
	struct hash_scratch *s;
	struct hash_item item;
	struct hasher *h;
	struct fp out;
	size_t i;

	memset(cases[0].key, 0x0b, 20);
	memset(cases[2].key, 0xaa, 20);
	memset(fifty, 0xdd, sizeof(fifty));
	assert_int_equal(hash_scratch_new(&s, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(hasher_new(HASH_SHA256, cases[i].key, &h,
					    NULL), 0);
		assert_string_equal(hasher_name(h), "sha256");
		assert_string_equal(hasher_kernel(h), "sha256/libcrypto");
		item.data = cases[i].data;
		item.len = cases[i].len;
		assert_int_equal(hasher_batch(h, s, &item, 1, &out), 0);
		assert_string_equal(hex(out.b), cases[i].mac);
		hasher_one(h, item.data, item.len, &out);
		assert_string_equal(hex(out.b), cases[i].mac);
		hasher_free(h);
	}
	hash_scratch_free(s);
}

static void test_key_is_copied_and_matters(void **state)
{
	u8 key[HASH_KEY_BYTES] = { 1 };
	struct hasher *h;
	struct fp a, b;

	assert_int_equal(hasher_new(HASH_BLAKE3, key, &h, NULL), 0);
	hasher_one(h, "x", 1, &a);
	key[0] = 2;
	hasher_one(h, "x", 1, &b);
	assert_true(fp_equal(&a, &b));
	hasher_free(h);
	assert_int_equal(hasher_new(HASH_BLAKE3, key, &h, NULL), 0);
	hasher_one(h, "x", 1, &b);
	assert_false(fp_equal(&a, &b));
	hasher_free(h);
}

/* What docs/format/directory.md says of salts. */
static void test_salted(void **state)
{
	u8 material[HASH_KEY_BYTES + 1], key[HASH_KEY_BYTES];
	struct hasher *h, *derived;
	struct fp plain, got, want;
	u8 id = *(u8 *)*state, salt;

	memcpy(material, VECTOR_KEY, HASH_KEY_BYTES);
	assert_int_equal(hasher_new(id, (const u8 *)VECTOR_KEY, &h, NULL), 0);
	hasher_one(h, "abc", 3, &plain);
	hasher_salted(h, 0, "abc", 3, &got);
	assert_true(fp_equal(&plain, &got));
	for (salt = 1; salt; salt += 127) {
		material[HASH_KEY_BYTES] = salt;
		hash_derive_key("akin 2026 salted fingerprint", material,
				sizeof(material), key);
		assert_int_equal(hasher_new(id, key, &derived, NULL), 0);
		hasher_one(derived, "abc", 3, &want);
		hasher_salted(h, salt, "abc", 3, &got);
		assert_true(fp_equal(&want, &got));
		assert_false(fp_equal(&plain, &got));
		hasher_free(derived);
	}
	/* The key it was made with is what counts again. */
	hasher_one(h, "abc", 3, &got);
	assert_true(fp_equal(&plain, &got));
	hasher_free(h);
}

static void test_names(void **state)
{
	const u8 key[HASH_KEY_BYTES] = { 0 };
	struct akin_diag d = { 0 };
	struct hasher *h;

	assert_int_equal(hash_id_of("blake3"), 1);
	assert_int_equal(hash_id_of("sha256"), 2);
	assert_int_equal(hash_id_of("md5"), 0);
	assert_string_equal(hash_name_of(1), "blake3");
	assert_string_equal(hash_name_of(2), "sha256");
	assert_null(hash_name_of(0));
	assert_null(hash_name_of(3));
	assert_int_equal(hasher_new(3, key, &h, &d), -AKIN_E_feature);
	assert_int_equal(d.code, -AKIN_E_feature);
	assert_null(h);
	assert_int_equal(hasher_new(1, key, &h, NULL), 0);
	assert_int_equal(hasher_id(h), 1);
	assert_string_equal(hasher_name(h), "blake3");
	hasher_free(h);
	hasher_free(NULL);
	hash_scratch_free(NULL);
	assert_true(hash_scratch_bytes() < 256 * KiB);
}

static void test_out_of_memory(void **state)
{
	const u8 key[HASH_KEY_BYTES] = { 0 };
	struct hash_scratch *s;
	struct hasher *h = NULL;
	struct akin_diag d;
	int err, n = 0;

	do {
		memset(&d, 0, sizeof(d));
		mem_fail_after(++n);
		err = hasher_new(HASH_BLAKE3, key, &h, &d);
		mem_fail_after(0);
		assert_int_equal(d.code, err);
		if (err) {
			assert_int_equal(err, -AKIN_E_nomem);
			assert_null(h);
		}
	} while (err);
	assert_true(n > 1);
	hasher_free(h);
	mem_fail_after(1);
	err = hash_scratch_new(&s, NULL);
	mem_fail_after(0);
	assert_int_equal(err, -AKIN_E_nomem);
	assert_null(s);
}

static void test_checksum(void **state)
{
	u8 *data = vector_input(1000);

	assert_true(checksum64("", 0, 0) == 0x2d06800538d394c2);
	assert_true(checksum64(data, 1000, 5) ==
		    XXH3_64bits_withSeed(data, 1000, 5));
	assert_true(checksum64(data, 1000, 5) != checksum64(data, 1000, 6));
	free(data);
}

#define EVERY_SETUP(test) \
	cmocka_unit_test_prestate(test, &setups[0]), \
	cmocka_unit_test_prestate(test, &setups[1]), \
	cmocka_unit_test_prestate(test, &setups[2]), \
	cmocka_unit_test_prestate(test, &setups[3]), \
	cmocka_unit_test_prestate(test, &setups[4]), \
	cmocka_unit_test_prestate(test, &setups[5])

int main(void)
{
	static u8 blake3 = HASH_BLAKE3, sha256 = HASH_SHA256;
	const struct CMUnitTest tests[] = {
		EVERY_SETUP(test_vectors),
		EVERY_SETUP(test_lengths),
		EVERY_SETUP(test_random_batches),
		EVERY_SETUP(test_empty),
		EVERY_SETUP(test_large_item_quick),
		cmocka_unit_test(test_derive_key),
		cmocka_unit_test(test_self_test_notices),
		cmocka_unit_test_prestate(test_threads_share, &blake3),
		cmocka_unit_test_prestate(test_threads_share, &sha256),
		cmocka_unit_test(test_hmac_sha256),
		cmocka_unit_test(test_key_is_copied_and_matters),
		cmocka_unit_test_prestate(test_salted, &blake3),
		cmocka_unit_test_prestate(test_salted, &sha256),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_checksum),
	};

	static_assert(ARRAY_SIZE(setups) == 6, "EVERY_SETUP lists them all");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
