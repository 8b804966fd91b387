/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads are what they say: counted by a counter that knows nothing of how they
 * are made, compressed by codecs, compared byte by byte.
 */
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "testlib.h"

#include "hash/hash.h"
#include "loadgen.h"
#include "loadgen_internal.h"

#define GOLDEN_BYTES 1048576
#define GOLDEN_SUM 0xe56b3dab2c926dafull
#define GOLDEN_OBJECTS 72
#define GOLDEN_SIZES 0x2cde6fb5140a6a52ull

static struct loadgen *make(const struct loadgen_options *opt)
{
	struct akin_diag d = { 0 };
	struct loadgen *l;

	if (loadgen_new(opt, &l, &d))
		fail_msg("%s", d.text);
	return l;
}

static struct loadgen_stream *open_stream(const struct loadgen *l, u32 stream,
					  u32 generation)
{
	struct akin_diag d = { 0 };
	struct loadgen_stream *s;

	if (loadgen_open(l, stream, generation, &s, &d))
		fail_msg("%s", d.text);
	return s;
}

static u8 *read_all(struct loadgen_stream *s, size_t *n_ret)
{
	size_t n = loadgen_size(s);
	u8 *p = malloc(n);

	assert_int_equal(loadgen_read(s, 0, p, n), n);
	*n_ret = n;
	return p;
}

/* Everything of generation 0, stream by stream. */
static u8 *read_streams(const struct loadgen *l, u32 nr, size_t *n_ret)
{
	struct loadgen_stream *s;
	u8 *all = NULL;
	size_t n = 0, len;
	u32 i;

	for (i = 0; i < nr; i++) {
		s = open_stream(l, i, 0);
		len = loadgen_size(s);
		all = realloc(all, n + len);
		/* In two steps, neither of which ends at a unit. */
		assert_int_equal(loadgen_read(s, 0, all + n, len / 2 + 7),
				 len / 2 + 7);
		assert_int_equal(loadgen_read(s, len / 2 + 7,
					      all + n + len / 2 + 7, len),
				 len - len / 2 - 7);
		n += len;
		loadgen_close(s);
	}
	*n_ret = n;
	return all;
}

static int compare_u64(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct census {
	u64 blocks, distinct;
	u64 times[16];		/* contents that occur so often */
};

static struct census count(const u8 *p, size_t n, u32 block)
{
	struct census c = { .blocks = n / block };
	u64 *sums = calloc(c.blocks, sizeof(*sums)), run = 0, i;

	for (i = 0; i < c.blocks; i++)
		sums[i] = checksum64(p + i * block, block, 0);
	qsort(sums, c.blocks, sizeof(*sums), compare_u64);
	for (i = 0; i < c.blocks; i++) {
		run++;
		if (i + 1 < c.blocks && sums[i] == sums[i + 1])
			continue;
		c.distinct++;
		c.times[run < 15 ? run : 15]++;
		run = 0;
	}
	free(sums);
	return c;
}

static struct census census_of(const struct loadgen_options *opt)
{
	struct loadgen *l = make(opt);
	struct loadgen_plan plan;
	struct census c;
	size_t n;
	u8 *all;

	loadgen_get_plan(l, &plan);
	all = read_streams(l, opt->nr_streams ? opt->nr_streams : 1, &n);
	c = count(all, n, plan.unit_bytes);
	assert_int_equal(n, plan.bytes);
	assert_int_equal(c.blocks, plan.units);
	assert_int_equal(c.distinct, plan.distinct);
	free(all);
	loadgen_free(l);
	return c;
}

static void test_ratio(void **state)
{
	static const double ratios[] = { 1, 1.0703, 1.5, 2.5573, 10, 200 };
	struct loadgen_options opt = { .unit_bytes = 1024, .nr_streams = 3,
				       .stream_bytes = 7000 * 1024,
				       .random_share = -1 };
	struct census c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ratios); i++) {
		opt.seed = i;
		opt.dedup = ratios[i];
		c = census_of(&opt);
		assert_int_equal(c.blocks, 21000);
		/* To four digits. */
		assert_true(fabs((double)c.blocks / (double)c.distinct /
				 ratios[i] - 1) < 5e-4 *
			    (ratios[i] > 100 ? 10 : 1));
	}
	/* 200: each of 105 contents occurs 200 times. */
	assert_int_equal(c.distinct, 105);
	assert_int_equal(c.times[15], 105);
}

static void test_random_share(void **state)
{
	struct loadgen_options opt = { .unit_bytes = 1024,
				       .stream_bytes = 1000 * 1024,
				       .set_units = 20 };
	struct census c;

	opt.random_share = 0.3;
	c = census_of(&opt);
	assert_int_equal(c.distinct, 320);
	assert_int_equal(c.times[1], 300);
	assert_int_equal(c.times[15], 20);	/* 35 times each */
	opt.random_share = 1;
	assert_int_equal(census_of(&opt).distinct, 1000);
	opt.random_share = 0;
	assert_int_equal(census_of(&opt).distinct, 20);
	opt.set_units = 1;
	assert_int_equal(census_of(&opt).distinct, 1);
}

static void test_distribution(void **state)
{
	struct loadgen_options opt = { .unit_bytes = 1024, .random_share = -1,
				       .stream_bytes = 2060 * 1024 };
	char path[] = "/tmp/akin-loadgen-XXXXXX";
	struct akin_diag d = { 0 };
	struct loadgen *l;
	struct census c;
	FILE *f = fdopen(mkstemp(path), "w");

	fputs("0 1000\n\n1 500\n5 10\n", f);
	fclose(f);
	opt.distribution = path;
	c = census_of(&opt);
	assert_int_equal(c.distinct, 1510);
	assert_int_equal(c.times[1], 1000);
	assert_int_equal(c.times[2], 500);
	assert_int_equal(c.times[6], 10);
	/* Half of it; scaled. */
	opt.stream_bytes = 1030 * 1024;
	c = census_of(&opt);
	assert_int_equal(c.times[1], 500);
	assert_int_equal(c.times[2], 250);
	assert_int_equal(c.times[6], 5);
	f = fopen(path, "w");
	fputs("0 1000\nmany\n", f);
	fclose(f);
	assert_int_equal(loadgen_new(&opt, &l, &d), -AKIN_E_usage);
	assert_non_null(strstr(d.text, "line 2"));
	unlink(path);
	memset(&d, 0, sizeof(d));
	assert_int_equal(loadgen_new(&opt, &l, &d), -AKIN_E_absent);
}

/* What @n bytes take, in blocks of 128 KiB; @level 0: lz4, else zstd. The
 * libraries themselves: the pool's codecs give up early. */
static size_t packed(int level, const u8 *p, size_t n)
{
	size_t off, len, total = 0, cap = ZSTD_compressBound(128 * KiB);
	char *to = malloc(cap);

	for (off = 0; off < n; off += len) {
		len = min_u64(128 * KiB, n - off);
		total += level ? ZSTD_compress(to, cap, p + off, len, level) :
			 (size_t)LZ4_compress_default((const char *)p + off,
						      to, (int)len, (int)cap);
	}
	free(to);
	return total;
}

static void test_compressible(void **state)
{
	static const int levels[] = { 0, 1, 3, 9 };
	static const double shares[] = { 0, 0.25, 0.5, 0.8, 0.95 };
	struct loadgen_options opt = { .stream_bytes = 2 << 20,
				       .random_share = -1 };
	struct loadgen *l;
	size_t i, k, n;
	double got;
	u8 *all;

	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		opt.compressible = shares[i];
		l = make(&opt);
		all = read_streams(l, 1, &n);
		for (k = 0; k < ARRAY_SIZE(levels); k++) {
			got = 1 - (double)packed(levels[k], all, n) / (double)n;
			if (fabs(got - shares[i]) > 0.02)
				fail_msg("level %d saves %.4f, not %.2f",
					 levels[k], got, shares[i]);
		}
		free(all);
		loadgen_free(l);
	}
}

static void test_similar(void **state)
{
	struct loadgen_options opt = { .unit_bytes = 8192,
				       .stream_bytes = 400 * 8192,
				       .random_share = -1,
				       .similar_share = 0.5,
				       .similar_bytes = 10 };
	struct loadgen *l = make(&opt);
	u8 a[8192], b[8192];
	u32 i, k, diff, nr_similar = 0;

	for (i = 1; i < 400; i++) {
		loadgen_fill(l, i - 1, 0, a, sizeof(a));
		loadgen_fill(l, i, 0, b, sizeof(b));
		for (k = 1024, diff = 0; k < sizeof(a); k++)
			diff += a[k] != b[k];
		if (diff > 1000)
			continue;
		/* Ten in each KiB, of one that is not like another. */
		assert_int_equal(diff, 70);
		nr_similar++;
	}
	assert_int_equal(nr_similar, 200);
	loadgen_free(l);
	assert_int_equal(census_of(&opt).distinct, 400);
}

/* Any part, in any order, is what the whole has there. */
static void test_random_access(void **state)
{
	struct loadgen_options opt = { .unit_bytes = 4096, .dedup = 2,
				       .stream_bytes = 3 << 20,
				       .random_share = -1,
				       .compressible = 0.3,
				       .similar_share = 0.2,
				       .change_share = 0.1,
				       .edit_bytes = 1000 };
	struct loadgen *l = make(&opt);
	struct loadgen_stream *s, *t;
	struct rng r = { 5 };
	size_t n, off, len;
	u8 *all, buf[20000];
	u32 g, i;

	for (g = 0; g < 6; g += 5) {
		s = open_stream(l, 0, g);
		all = read_all(s, &n);
		t = open_stream(l, 0, g);
		for (i = 0; i < 300; i++) {
			off = rng_below(&r, n);
			len = rng_below(&r, sizeof(buf));
			assert_int_equal(loadgen_read(t, off, buf, len),
					 min_u64(len, n - off));
			assert_memory_equal(buf, all + off,
					    min_u64(len, n - off));
		}
		assert_int_equal(loadgen_read(t, n, buf, 1), 0);
		loadgen_close(t);
		loadgen_close(s);
		free(all);
	}
	loadgen_free(l);
}

/* Kept contents are the same bytes, and only if all of them fit. */
static void test_kept(void **state)
{
	struct loadgen_options opt = { .stream_bytes = 100 << 10,
				       .unit_bytes = 1024, .dedup = 10,
				       .random_share = -1,
				       .similar_share = 0.5,
				       .change_share = 0.1,
				       .edit_bytes = 100 };
	const size_t keep[] = { 0, 10 * 1024 - 1, 10 * 1024 };
	u8 *want = NULL, *got;
	size_t n, i;

	for (i = 0; i < ARRAY_SIZE(keep); i++) {
		struct loadgen_stream *s;
		struct loadgen *l;

		opt.keep_bytes = keep[i];
		l = make(&opt);
		assert_int_equal(l->kept != NULL, i == 2);
		s = open_stream(l, 0, 2);
		got = read_all(s, &n);
		if (want)
			assert_memory_equal(got, want, n);
		else
			want = got;
		if (got != want)
			free(got);
		loadgen_close(s);
		loadgen_free(l);
	}
	free(want);
}

static void test_same_everywhere(void **state)
{
	struct loadgen_options opt = { .seed = 42, .unit_bytes = 4096,
				       .nr_streams = 2, .dedup = 1.5,
				       .stream_bytes = 1 << 20,
				       .random_share = -1,
				       .compressible = 0.5,
				       .change_share = 0.02,
				       .edit_bytes = 777,
				       .object_min = 1000,
				       .object_max = 60000 };
	struct loadgen *l = make(&opt);
	struct loadgen_stream *s = open_stream(l, 1, 3);
	u64 off, len, sizes = 0, nr = 0;
	size_t n;
	u8 *all = read_all(s, &n);

	for (off = 0; off < n; off += len, nr++) {
		len = loadgen_object(s, off);
		assert_in_range(len, off + len == n ? 1 : 1000, 60000);
		sizes = sizes * 31 + len;
	}
	/* Another number is another generator: say so where loads are
	 * compared. */
	assert_int_equal(n, GOLDEN_BYTES);
	assert_int_equal(checksum64(all, n, 0), GOLDEN_SUM);
	assert_int_equal(nr, GOLDEN_OBJECTS);
	assert_int_equal(sizes, GOLDEN_SIZES);
	free(all);
	loadgen_close(s);
	loadgen_free(l);
}

/* Loads of seeds next to each other have nothing in common. */
static void test_seeds(void **state)
{
	struct loadgen_options opt = { .unit_bytes = 4096,
				       .stream_bytes = 64 * 4096,
				       .random_share = -1 };
	u8 a[64], b[64];
	struct loadgen *l[2];
	u64 i, k;

	l[0] = make(&opt);
	opt.seed = 1;
	l[1] = make(&opt);
	for (i = 0; i < 64; i++) {
		loadgen_fill(l[0], i, 1024, a, sizeof(a));
		for (k = 0; k < 64; k++) {
			loadgen_fill(l[1], k, 1024, b, sizeof(b));
			assert_memory_not_equal(a, b, sizeof(a));
		}
	}
	loadgen_free(l[0]);
	loadgen_free(l[1]);
}

/* Bytes of @a's units of 64 that are somewhere in @b, at any offset that is
 * found by sums of 64 bytes at every place of @b. */
static u64 shared_bytes(const u8 *a, size_t na, const u8 *b, size_t nb)
{
	u64 *sums = malloc((nb - 63) * sizeof(*sums)), key, found = 0;
	size_t i;

	for (i = 0; i + 64 <= nb; i++)
		sums[i] = get_le64(b + i) ^ get_le64(b + i + 56) * 3;
	qsort(sums, nb - 63, sizeof(*sums), compare_u64);
	for (i = 0; i + 64 <= na; i += 64) {
		key = get_le64(a + i) ^ get_le64(a + i + 56) * 3;
		if (bsearch(&key, sums, nb - 63, sizeof(*sums), compare_u64))
			found += 64;
	}
	free(sums);
	return found;
}

static void one_change(enum loadgen_edit kind, double share, s64 growth)
{
	struct loadgen_options opt = { .stream_bytes = 1 << 20,
				       .unit_bytes = 4096, .random_share = -1,
				       .change_share = 0.1,
				       .edit_bytes = 2000 };
	struct loadgen_stream *s, *t;
	struct loadgen *l;
	size_t n, m;
	double kept;
	u8 *a, *b;

	opt.edits[kind] = 1;
	l = make(&opt);
	s = open_stream(l, 0, 0);
	t = open_stream(l, 0, 1);
	a = read_all(s, &n);
	b = read_all(t, &m);
	/* 52 edits of 2,000 bytes. */
	assert_int_equal((s64)m - (s64)n, growth);
	kept = (double)shared_bytes(b, m, a, n) / (double)m;
	if (fabs(kept - share) > 0.01)
		fail_msg("edit %d: %.4f are kept, not %.4f", kind, kept, share);
	assert_true(m != n || memcmp(a, b, n) != 0);
	free(a);
	free(b);
	loadgen_close(s);
	loadgen_close(t);
	loadgen_free(l);
}

static void test_generations(void **state)
{
	one_change(LOADGEN_OVERWRITE, 1 - 104000.0 / 1048576, 0);
	one_change(LOADGEN_INSERT, 1 - 104000.0 / 1152576, 104000);
	one_change(LOADGEN_DELETE, 1, -104000);
	one_change(LOADGEN_MOVE, 1, 0);
}

static void test_refused(void **state)
{
	const struct loadgen_options good = { .stream_bytes = 1 << 20,
					      .random_share = -1 };
	struct loadgen_options o;
	struct loadgen_stream *s;
	struct loadgen *l;

#define REFUSED(change) do { \
		o = good; \
		change; \
		assert_int_equal(loadgen_new(&o, &l, NULL), -AKIN_E_usage); \
	} while (0)
	REFUSED(o.unit_bytes = 1000);
	REFUSED(o.unit_bytes = 1 << 30);
	REFUSED(o.stream_bytes = 0);
	REFUSED(o.stream_bytes = UINT64_MAX);
	REFUSED(o.nr_streams = 40000);
	REFUSED(o.dedup = 0.5);
	REFUSED(o.dedup = NAN);
	REFUSED((o.dedup = 2, o.random_share = 0.5));
	REFUSED(o.random_share = 1.5);
	REFUSED(o.compressible = 1);
	REFUSED(o.similar_share = -1);
	REFUSED(o.change_share = 0.6);
	REFUSED((o.object_min = 2, o.object_max = 1));
#undef REFUSED
	l = make(&good);
	assert_int_equal(loadgen_open(l, 1, 0, &s, NULL), -AKIN_E_usage);
	assert_int_equal(loadgen_open(l, 0, 70000, &s, NULL), -AKIN_E_usage);
	loadgen_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_random_share),
		cmocka_unit_test(test_distribution),
		cmocka_unit_test(test_compressible),
		cmocka_unit_test(test_similar),
		cmocka_unit_test(test_random_access),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_same_everywhere),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
