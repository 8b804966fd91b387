/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every on-disk structure, over the table of samples: exact
 * bytes, round trips, damage, truncation, hostile values under a right
 * checksum, memory that runs out.
 *
 * AKIN_GOLDEN_WRITE=1 writes tests/golden/NAME.hex instead of comparing, and the
 * same bytes as seeds of the fuzzers.
 */
#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "format_samples.h"

static void source_path(char *out, size_t n, const char *dir, const char *name)
{
	const char *root = getenv("AKIN_SOURCE_ROOT");

	(void)snprintf(out, n, "%s/%s%s", root ? root : ".", dir, name);
}

/* Whole text file, NUL-terminated; mem_free. */
static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	struct buf b = { 0 };
	char part[4096];
	size_t n;

	if (!f)
		fail_msg("%s: cannot open", path);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_put(&b, part, n);
	(void)fclose(f);
	buf_put_u8(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	return (char *)b.data;
}

static void write_file(const char *path, const struct buf *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text->data, 1, text->len, f), text->len);
	assert_int_equal(fclose(f), 0);
}

static void test_golden_bytes(void **state)
{
	char path[512], file[64];
	struct buf b = { 0 }, text = { 0 };
	char *golden, *doc;
	size_t i;

	for (i = 0; i < nr_format_cases; i++) {
		buf_reset(&b);
		buf_reset(&text);
		assert_int_equal(format_cases[i].encode(&b), 0);
		format_hexdump(b.data, b.len, &text);
		(void)snprintf(file, sizeof(file), "%s.hex",
			       format_cases[i].name);
		source_path(path, sizeof(path), "tests/golden/", file);
		if (getenv("AKIN_GOLDEN_WRITE")) {
			write_file(path, &text);
			(void)snprintf(file, sizeof(file), "corpus/%s/%s",
				       format_cases[i].fuzz,
				       format_cases[i].name);
			source_path(path, sizeof(path), "tests/fuzz/", file);
			write_file(path, &b);
			continue;
		}
		buf_put_u8(&text, 0);
		golden = read_text(path);
		assert_string_equal((char *)text.data, golden);
		/* The specification's worked example is the same. */
		source_path(path, sizeof(path), "docs/format/",
			    format_cases[i].doc);
		doc = read_text(path);
		if (!strstr(doc, golden))
			fail_msg("%s does not show %s", path, file);
		mem_free(golden);
		mem_free(doc);
	}
	buf_release(&b);
	buf_release(&text);
}

static void test_round_trip(void **state)
{
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < nr_format_cases; i++) {
		buf_reset(&b);
		assert_int_equal(format_cases[i].encode(&b), 0);
		assert_int_equal(format_case_check(&format_cases[i], b.data,
						   b.len), 0);
	}
	buf_release(&b);
}

/* A checksummed structure notices every flipped bit; of the others, what is
 * accepted is the one encoding of something else. */
static void test_every_bit_flip(void **state)
{
	const struct format_case *fc;
	struct buf b = { 0 };
	size_t i, bit;
	int err;

	for (i = 0; i < nr_format_cases; i++) {
		fc = &format_cases[i];
		buf_reset(&b);
		assert_int_equal(fc->encode(&b), 0);
		for (bit = 0; bit < b.len * 8; bit++) {
			b.data[bit / 8] ^= (u8)(1u << bit % 8);
			err = format_case_check(fc, b.data, b.len);
			if (!strcmp(fc->name, "super"))
				assert_int_equal(err, 0);
			else if (fc->seal)
				assert_int_not_equal(err, 0);
			b.data[bit / 8] ^= (u8)(1u << bit % 8);
		}
	}
	buf_release(&b);
}

/* The same flips under a right checksum: refused, or canonical. */
static void test_every_bit_flip_sealed(void **state)
{
	const struct format_case *fc;
	struct buf b = { 0 };
	size_t i, bit;

	for (i = 0; i < nr_format_cases; i++) {
		fc = &format_cases[i];
		if (!fc->seal)
			continue;
		buf_reset(&b);
		assert_int_equal(fc->encode(&b), 0);
		for (bit = 0; bit < b.len * 8; bit++) {
			b.data[bit / 8] ^= (u8)(1u << bit % 8);
			format_case_fuzz(fc, b.data, b.len);
			b.data[bit / 8] ^= (u8)(1u << bit % 8);
		}
	}
	buf_release(&b);
}

static void test_every_truncation(void **state)
{
	const struct format_case *fc;
	struct buf b = { 0 };
	size_t i, len;
	u8 *copy;

	for (i = 0; i < nr_format_cases; i++) {
		fc = &format_cases[i];
		buf_reset(&b);
		assert_int_equal(fc->encode(&b), 0);
		for (len = 0; len < b.len; len++) {
			copy = mem_dup(b.data, len);
			assert_non_null(copy);
			assert_int_not_equal(format_case_check(fc, copy, len),
					     0);
			if (fc->seal)
				fc->seal(copy, len);
			/* Without an optional section at its end it is whole. */
			if (!format_case_check(fc, copy, len))
				assert_true(fc->sections);
			mem_free(copy);
		}
	}
	buf_release(&b);
}

static void test_trailing_byte(void **state)
{
	const struct format_case *fc;
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < nr_format_cases; i++) {
		fc = &format_cases[i];
		buf_reset(&b);
		assert_int_equal(fc->encode(&b), 0);
		buf_put_u8(&b, 0);
		assert_int_not_equal(format_case_check(fc, b.data, b.len), 0);
		if (fc->seal)
			fc->seal(b.data, b.len);
		assert_int_not_equal(format_case_check(fc, b.data, b.len), 0);
	}
	buf_release(&b);
}

/* Random bytes in random places, under a right checksum. */
static void test_random_damage(void **state)
{
	const struct format_case *fc;
	struct rng r = { 20240229 };
	struct buf b = { 0 };
	size_t i, k, round;

	for (i = 0; i < nr_format_cases; i++) {
		fc = &format_cases[i];
		for (round = 0; round < 2000; round++) {
			buf_reset(&b);
			assert_int_equal(fc->encode(&b), 0);
			for (k = 0; k <= rng_below(&r, 4); k++)
				b.data[rng_below(&r, b.len)] =
					(u8)rng_next(&r);
			format_case_fuzz(fc, b.data, b.len);
		}
	}
	buf_release(&b);
}

static int encode_failing(const struct format_case *fc, u64 nth)
{
	struct buf b = { 0 };
	int err;

	mem_fail_after(nth);
	err = fc->encode(&b);
	mem_fail_after(0);
	buf_release(&b);
	return err;
}

static int decode_failing(const struct format_case *fc, const struct buf *in,
			  u64 nth)
{
	struct buf again = { 0 };
	int err;

	mem_fail_after(nth);
	err = fc->decode(in->data, in->len, &again);
	mem_fail_after(0);
	buf_release(&again);
	return err;
}

static void test_no_memory(void **state)
{
	const struct format_case *fc;
	struct buf b = { 0 };
	u64 nth;
	size_t i;
	int err;

	for (i = 0; i < nr_format_cases; i++) {
		fc = &format_cases[i];
		for (nth = 1; (err = encode_failing(fc, nth)) != 0; nth++) {
			assert_int_equal(err, -AKIN_E_nomem);
			assert_true(nth < 100);
		}
		assert_true(nth > 1);
		buf_reset(&b);
		assert_int_equal(fc->encode(&b), 0);
		for (nth = 1; (err = decode_failing(fc, &b, nth)) != 0; nth++) {
			assert_int_equal(err, -AKIN_E_nomem);
			assert_true(nth < 100);
		}
	}
	buf_release(&b);
}

/* Version and magic come before the checksum, whatever the structure. */
static void test_head_conditions(void **state)
{
	const struct format_case *fc;
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < nr_format_cases; i++) {
		fc = &format_cases[i];
		if (!fc->versioned || !strcmp(fc->name, "super"))
			continue;
		buf_reset(&b);
		assert_int_equal(fc->encode(&b), 0);
		put_le32(b.data + 8, FORMAT_VERSION + 0x10000);
		assert_int_equal(format_case_check(fc, b.data, b.len),
				 -AKIN_E_bad_version);
		b.data[0] ^= 1;
		assert_int_equal(format_case_check(fc, b.data, b.len),
				 -AKIN_E_bad_magic);
		b.data[0] ^= 1;
		/* A newer minor version is read. */
		put_le32(b.data + 8, FORMAT_VERSION + 1);
		assert_int_equal(format_case_check(fc, b.data, b.len),
				 -AKIN_E_bad_checksum);
		fc->seal(b.data, b.len);
		assert_int_equal(format_case_check(fc, b.data, b.len), 0);
	}
	buf_release(&b);
}

static void test_names(void **state)
{
	char name[FORMAT_NAME_MAX];
	u32 generation;
	u64 number;
	bool tmp;

	format_container_name(0x12a, 0, name);
	assert_string_equal(name, "containers/2a/000000000000012a.0");
	format_container_name(UINT64_MAX, UINT32_MAX, name);
	assert_string_equal(name, "containers/ff/ffffffffffffffff.ffffffff");
	format_parity_name(UINT64_MAX, UINT32_MAX, name);
	assert_string_equal(name, "containers/ff/ffffffffffffffff.ffffffff"
			    ".parity");
	assert_true(format_parse_parity(name + 14, &number, &generation, &tmp));
	assert_true(number == UINT64_MAX && generation == UINT32_MAX && !tmp);
	assert_false(format_parse_parity(name, &number, &generation, &tmp));
	assert_false(format_parse_parity(".parity", &number, &generation,
					 &tmp));
	assert_false(format_parse_parity("000000000000012a.0", &number,
					 &generation, &tmp));
	format_parity_tmp_name(0x12a, 1, name);
	assert_string_equal(name, "containers/2a/000000000000012a.1.parity"
			    ".tmp");
	assert_true(format_parse_parity(name + 14, &number, &generation, &tmp));
	assert_true(number == 0x12a && generation == 1 && tmp);
	format_run_name(1000, name);
	assert_string_equal(name, "runs/00000000000003e8");
	format_snapshot_name(7, name);
	assert_string_equal(name, "snapshots/0000000000000007");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_bytes),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_bit_flip),
		cmocka_unit_test(test_every_bit_flip_sealed),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_trailing_byte),
		cmocka_unit_test(test_random_damage),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_head_conditions),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
