/* SPDX-License-Identifier: Apache-2.0 */
#include "testlib.h"

#include "base/mem.h"
#include "os/disk.h"
#include "similar/similar.h"
#include "simdisk.h"

#define CHUNK (8 * KiB)
#define PER_SEGMENT (SIMILAR_SEGMENT_BYTES / CHUNK)
#define SKETCHED 4	/* one chunk in so many */

static const struct pool_id pool = { { 1, 2, 3 } };

/* A container of @nr chunks, which are those that @seed makes. */
static void make_directory(struct directory *d, u64 number, u64 seed, u32 nr)
{
	struct rng r = { seed };
	u32 i;

	memset(d, 0, sizeof(*d));
	d->container = number;
	d->kind = CONTAINER_DATA;
	d->nr_entries = nr;
	d->entries = mem_calloc(nr, sizeof(*d->entries));
	d->sketches = mem_calloc(nr, sizeof(*d->sketches));
	assert_true(d->entries && d->sketches);
	for (i = 0; i < nr; i++) {
		d->entries[i].len = CHUNK;
		d->entries[i].entry = i;
		rng_fill(&r, d->entries[i].fp.b, FP_BYTES);
		if (i % SKETCHED == 0)
			rng_fill(&r, d->sketches[i].part,
				 sizeof(d->sketches[i].part));
	}
}

static struct similar *open_table(struct disk *meta, size_t budget, u64 stored)
{
	struct similar_options opt = { .meta = meta, .pool = pool,
				       .budget_bytes = budget,
				       .stored_bytes = stored };
	struct similar *s;

	assert_int_equal(similar_new(&opt, &s, NULL), 0);
	return s;
}

/* Fingerprints of @d that lead to it; @features: super-features. */
static u32 count(struct similar *s, const struct directory *d, bool features)
{
	u32 i, k, nr = 0;
	u64 key, at;

	for (i = 0; i < d->nr_entries; i++) {
		for (k = 0; k < (features ? DIR_SKETCH_PARTS : 1); k++) {
			key = features ? similar_key_sketch(&d->sketches[i], k)
				       : similar_key_fp(&d->entries[i].fp);
			if (features && !d->sketches[i].part[k])
				continue;
			similar_lookup(s, &key, 1, &at);
			nr += at == d->container;
		}
	}
	return nr;
}

static void add(struct similar *s, u64 number, u64 seed, u32 nr)
{
	struct directory d;

	make_directory(&d, number, seed, nr);
	similar_add(s, &d, (u64)nr * CHUNK);
	directory_release(&d);
}

static void assert_count(struct similar *s, u64 number, u64 seed, u32 nr,
			 u32 fps, u32 features)
{
	struct directory d;

	make_directory(&d, number, seed, nr);
	assert_int_equal(count(s, &d, false), fps);
	assert_int_equal(count(s, &d, true), features);
	directory_release(&d);
}

/* Eight fingerprints of each segment, and all features while there is room. */
static void test_represents(void **state)
{
	struct similar *s = open_table(NULL, MiB, 0);
	u32 nr = 2 * PER_SEGMENT + 100;

	add(s, 7, 1, nr);
	assert_count(s, 7, 1, nr, 3 * SIMILAR_FPS, nr / SKETCHED * 3);
	assert_count(s, 7, 2, nr, 0, 0);
	/* The newest one that has it, whatever the order. */
	add(s, 9, 1, nr);
	add(s, 8, 1, nr);
	assert_count(s, 9, 1, nr, 3 * SIMILAR_FPS, nr / SKETCHED * 3);
	assert_count(s, 7, 1, nr, 0, 0);
	similar_free(s);
}

/* A stream that has a part of a segment finds it by that part's share. */
static void test_part(void **state)
{
	struct similar *s = open_table(NULL, MiB, 0);
	u64 keys[PER_SEGMENT / 2], at[PER_SEGMENT / 2];
	struct directory d;
	u32 i, found = 0, n, seed;

	for (seed = 1; seed <= 20; seed++)
		add(s, seed, seed, PER_SEGMENT);
	for (seed = 1; seed <= 20; seed++) {
		make_directory(&d, seed, seed, PER_SEGMENT);
		for (i = 0; i < ARRAY_SIZE(keys); i++)
			keys[i] = similar_key_fp(&d.entries[i + 200].fp);
		similar_lookup(s, keys, ARRAY_SIZE(keys), at);
		for (i = 0, n = 0; i < ARRAY_SIZE(keys); i++)
			n += at[i] == seed;
		found += n > 0;
		directory_release(&d);
	}
	assert_in_range(found, 19, 20);
	similar_free(s);
}

/* Whatever is added: within four bytes for each MiB, and within the budget. */
static void test_memory(void **state)
{
	u64 stored = 100ull * 1024 * MiB;	/* 100 GiB: 400 KiB */
	struct similar *s = open_table(NULL, 64 * MiB, stored);
	struct similar_stats st;
	u32 i;

	for (i = 1; i <= 64; i++) {
		add(s, i, i, 2 * PER_SEGMENT);
		similar_get_stats(s, &st);
		assert_true(st.bytes <= st.bytes_allowed);
	}
	stored += 64 * SIMILAR_SEGMENT_BYTES * 2;
	assert_int_equal(st.bytes_allowed, stored / MiB * 4);
	assert_true(st.bytes >= st.bytes_allowed / 2);
	assert_true(st.levels < SIMILAR_LEVELS);
	/* All fingerprints are still there: features go first. */
	assert_in_range(st.levels, 7, 12);
	assert_true(st.entries >= 64 * 2 * SIMILAR_FPS);
	similar_free(s);

	s = open_table(NULL, 100 * KiB, stored);
	for (i = 1; i <= 200; i++)
		add(s, i, i, PER_SEGMENT);
	similar_get_stats(s, &st);
	assert_int_equal(st.bytes_allowed, 100 * KiB / 32 * 15);
	assert_true(st.bytes <= st.bytes_allowed);
	assert_count(s, 200, 200, PER_SEGMENT, 8, 4);
	similar_free(s);
}

/* At last one is left of each segment, then what is new. */
static void test_full(void **state)
{
	struct similar *s = open_table(NULL, 30 * KiB, 0);
	struct similar_stats st;
	u32 i;

	for (i = 1; i <= 4000; i++)
		add(s, i, i, 16);
	similar_get_stats(s, &st);
	assert_true(st.bytes <= 15 * KiB);
	assert_int_equal(st.levels, 1);
	assert_count(s, 4000, 4000, 16, 1, 0);
	assert_count(s, 1, 1, 16, 0, 0);
	similar_free(s);
}

static void test_drop(void **state)
{
	struct similar *s = open_table(NULL, MiB, 0);
	struct directory d;
	u64 key, at;

	make_directory(&d, 5, 1, 1);
	similar_add(s, &d, 0);
	key = similar_key_fp(&d.entries[0].fp);
	similar_drop(s, key, 4);
	similar_lookup(s, &key, 1, &at);
	assert_int_equal(at, 5);
	similar_drop(s, key, 5);
	similar_lookup(s, &key, 1, &at);
	assert_int_equal(at, 0);
	d.container = 6;
	similar_add(s, &d, 0);
	similar_lookup(s, &key, 1, &at);
	assert_int_equal(at, 6);
	/* Too large a number for it. */
	d.container = 1ull << 32;
	similar_add(s, &d, 0);
	similar_lookup(s, &key, 1, &at);
	assert_int_equal(at, 6);
	directory_release(&d);
	/* A key of zero and one of nearly so are one. */
	key = 0;
	similar_lookup(s, &key, 1, &at);
	assert_int_equal(at, 0);
	similar_free(s);
}

static struct disk *new_disk(struct simdisk **out)
{
	*out = simdisk_new("metadata");
	assert_non_null(*out);
	return simdisk_attach(*out, true);
}

static void test_file(void **state)
{
	struct simdisk *sim;
	struct disk *meta = new_disk(&sim);
	struct similar *s = open_table(meta, MiB, 0), *other;
	struct akin_diag diag = { 0 };

	assert_false(similar_load(s));
	assert_int_equal(similar_save(s, &diag), 0);	/* nothing to say */
	assert_false(similar_load(s));
	add(s, 7, 1, 1000);
	similar_cover(s, 9);
	similar_cover(s, 8);
	assert_int_equal(similar_save(s, &diag), 0);

	/* Two at once: what both have is there in the end. */
	other = open_table(meta, MiB, 0);
	assert_true(similar_load(other));
	assert_int_equal(similar_covered(other), 9);
	assert_count(other, 7, 1, 1000, 8, 750);
	add(s, 10, 2, 1000);
	similar_cover(s, 10);
	add(other, 11, 3, 1000);
	assert_int_equal(similar_save(other, &diag), 0);
	assert_int_equal(similar_save(s, &diag), 0);
	similar_free(s);
	similar_free(other);
	s = open_table(meta, MiB, 0);
	assert_true(similar_load(s));
	assert_int_equal(similar_covered(s), 10);
	assert_count(s, 7, 1, 1000, 8, 750);
	assert_count(s, 10, 2, 1000, 8, 750);
	assert_count(s, 11, 3, 1000, 8, 750);
	similar_free(s);

	/* Who has less memory than it takes leaves it alone. */
	s = open_table(meta, 30 * KiB, 0);
	assert_false(similar_load(s));
	assert_true(similar_covered(s) == UINT64_MAX);
	add(s, 20, 4, 1000);
	assert_int_equal(similar_save(s, &diag), 0);
	similar_free(s);
	s = open_table(meta, MiB, 0);
	assert_true(similar_load(s));
	assert_count(s, 7, 1, 1000, 8, 750);
	similar_free(s);
	disk_free(meta);
	simdisk_free(sim);
}

static size_t file_bytes(struct disk *meta)
{
	struct disk_stat st;

	assert_int_equal(disk_stat(meta, FILE_SIMILAR, &st, NULL), 0);
	return st.size_bytes;
}

/* In a process of its own. */
static void add_saved(struct disk *meta, u64 number, u32 nr)
{
	struct similar *s = open_table(meta, MiB, 0);

	similar_load(s);
	add(s, number, number, nr);
	similar_cover(s, number);
	assert_int_equal(similar_save(s, NULL), 0);
	similar_free(s);
}

static void assert_saved(struct disk *meta, u64 number, u32 nr, u32 fps)
{
	struct similar *s = open_table(meta, MiB, 0);

	assert_true(similar_load(s));
	assert_count(s, number, number, nr, fps, fps ? nr / SKETCHED * 3 : 0);
	similar_free(s);
}

/* What is added is all that is written, until it comes to a third. */
static void test_added(void **state)
{
	size_t base, size, one = similar_image_bytes(8 + 100 / SKETCHED * 3);
	struct similar *s, *other;
	struct simdisk *sim;
	struct disk *meta = new_disk(&sim);
	u64 written;
	u32 i;

	add_saved(meta, 1, 4000);
	base = file_bytes(meta);
	for (i = 2; base / 3 >= (i - 1) * one; i++) {
		written = disk_io(meta)->write.bytes;
		add_saved(meta, i, 100);
		assert_int_equal(file_bytes(meta), base + (i - 1) * one);
		assert_int_equal(disk_io(meta)->write.bytes - written, one);
	}
	assert_in_range(i, 5, 30);
	for (; i > 1; i--)
		assert_saved(meta, i - 1, i == 2 ? 4000 : 100,
			     i == 2 ? 4 * SIMILAR_FPS : SIMILAR_FPS);
	add_saved(meta, 50, 100);
	base = file_bytes(meta);
	assert_saved(meta, 50, 100, 8);
	assert_saved(meta, 2, 100, 8);

	/* Two at once, and twice by one. */
	s = open_table(meta, MiB, 0);
	other = open_table(meta, MiB, 0);
	assert_true(similar_load(s) && similar_load(other));
	add(s, 60, 60, 100);
	add(other, 61, 61, 100);
	assert_int_equal(similar_save(s, NULL), 0);
	assert_int_equal(similar_save(other, NULL), 0);
	add(s, 62, 62, 100);
	assert_int_equal(similar_save(s, NULL), 0);
	assert_int_equal(file_bytes(meta), base + 3 * one);
	similar_free(s);
	similar_free(other);
	for (i = 60; i <= 62; i++)
		assert_saved(meta, i, 100, 8);

	/* Somebody has replaced it meanwhile: all of both is in it. */
	s = open_table(meta, MiB, 0);
	assert_true(similar_load(s));
	for (i = 63; file_bytes(meta) > base; i++) {
		size = file_bytes(meta);
		add_saved(meta, i, 100);
		if (file_bytes(meta) != size + one)
			break;
	}
	add(s, 90, 90, 100);
	assert_int_equal(similar_save(s, NULL), 0);
	similar_free(s);
	for (i--; i >= 60; i--)
		assert_saved(meta, i, 100, 8);
	assert_saved(meta, 90, 100, 8);
	disk_free(meta);
	simdisk_free(sim);
}

/* A part that was added is damaged, or its write was cut short. */
static void test_added_damaged(void **state)
{
	struct simdisk *sim;
	struct disk *meta = new_disk(&sim);
	size_t base, len, i;
	u8 *data;

	add_saved(meta, 1, 1000);
	base = file_bytes(meta);
	add_saved(meta, 2, 20);
	assert_true(file_bytes(meta) > base);
	assert_int_equal(disk_read_file(meta, FILE_SIMILAR, MiB, &data, &len,
					NULL), 0);
	for (i = base; i < len; i++) {
		data[i] ^= 0x20;
		assert_int_equal(disk_write_file(meta, FILE_SIMILAR, data,
						 i % 3 ? len : i, NULL), 0);
		data[i] ^= 0x20;
		assert_saved(meta, 1, 1000, 8);
		assert_saved(meta, 2, 20, 0);
		/* It is written over, whatever is behind it. */
		add_saved(meta, 3, 12);
		assert_saved(meta, 1, 1000, 8);
		assert_saved(meta, 3, 12, 8);
		assert_true(file_bytes(meta) >= base);
	}
	mem_free(data);
	disk_free(meta);
	simdisk_free(sim);
}

/* More than is remembered of what is new: the whole table is written. */
static void test_much_added(void **state)
{
	struct similar *s;
	struct simdisk *sim;
	struct disk *meta = new_disk(&sim);
	u32 i;

	add_saved(meta, 1, 4000);
	s = open_table(meta, MiB, 0);
	assert_true(similar_load(s));
	for (i = 2; i < 6; i++)
		add(s, i, i, 4000);
	assert_int_equal(similar_save(s, NULL), 0);
	similar_free(s);
	for (i = 1; i < 6; i++)
		assert_saved(meta, i, 4000, 4 * SIMILAR_FPS);
	disk_free(meta);
	simdisk_free(sim);
}

/* Whatever byte is wrong, it is as if there were none, and the next one that
 * is saved is sound. */
static void test_hostile(void **state)
{
	struct simdisk *sim;
	struct disk *meta = new_disk(&sim);
	struct similar *s = open_table(meta, MiB, 0);
	struct similar_options opt = { .meta = meta, .budget_bytes = MiB };
	size_t len, i;
	u8 *data;

	add(s, 7, 1, 20);
	assert_int_equal(similar_save(s, NULL), 0);
	similar_free(s);
	assert_int_equal(disk_read_file(meta, FILE_SIMILAR, MiB, &data, &len,
					NULL), 0);
	for (i = 0; i < len; i++) {
		data[i] ^= 0x40;
		assert_int_equal(disk_write_file(meta, FILE_SIMILAR, data,
						 i % 3 ? len : i, NULL), 0);
		data[i] ^= 0x40;
		s = open_table(meta, MiB, 0);
		assert_false(similar_load(s));
		assert_int_equal(similar_covered(s), 0);
		assert_count(s, 7, 1, 20, 0, 0);
		if (i + 1 == len) {
			add(s, 8, 1, 20);
			assert_int_equal(similar_save(s, NULL), 0);
			assert_true(similar_load(s));
		}
		similar_free(s);
	}
	mem_free(data);
	/* Another pool's. */
	assert_int_equal(similar_new(&opt, &s, NULL), 0);
	assert_false(similar_load(s));
	similar_free(s);
	disk_free(meta);
	simdisk_free(sim);
}

static void test_no_memory(void **state)
{
	struct simdisk *sim;
	struct disk *meta = new_disk(&sim);
	struct similar_options opt = { .meta = meta, .pool = pool,
				       .budget_bytes = MiB };
	struct directory d;
	struct similar *s;
	u32 n, saved = 0;

	make_directory(&d, 7, 1, 2000);
	for (n = 1; n < 100 && saved < 2; n++) {
		mem_fail_after(n);
		if (!similar_new(&opt, &s, NULL)) {
			similar_load(s);
			similar_add(s, &d, 0);
			saved += !similar_save(s, NULL);
			similar_free(s);
		}
		mem_fail_after(0);
	}
	assert_int_equal(saved, 2);
	directory_release(&d);
	disk_free(meta);
	simdisk_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_represents),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_added_damaged),
		cmocka_unit_test(test_much_added),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
