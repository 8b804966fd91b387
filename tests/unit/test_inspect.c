/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inspect shows of sound and of damaged files. The text of the samples is
 * in tests/golden/inspect.txt (AKIN_GOLDEN_WRITE=1 writes it).
 */
#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "format_samples.h"
#include "inspect.h"

static char dir[] = "/tmp/akin-inspect-XXXXXX";

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

/* Inspect these bytes; the output is appended to @out. */
static int inspect_data(const void *data, size_t len, bool json,
			struct buf *out, struct akin_diag *diag)
{
	char path[64], part[4096];
	FILE *f, *to = tmpfile();
	size_t n;
	int err;

	(void)snprintf(path, sizeof(path), "%s/f", dir);
	f = fopen(path, "wb");
	assert_true(f && to);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	err = inspect_file(path, json, to, diag);
	rewind(to);
	while ((n = fread(part, 1, sizeof(part), to)) > 0)
		buf_put(out, part, n);
	(void)fclose(to);
	assert_int_equal(unlink(path), 0);
	return err;
}

/* Header, the two sample groups, the directory that fits, footer. */
static void make_container(struct buf *b, u64 *second_ret, u64 *dir_ret)
{
	struct container_header h;
	struct container_footer f = { .number = SAMPLE_CONTAINER,
				      .generation = 2 };
	struct dir_entry e[5] = { 0 };
	struct dir_group rows[2] = { 0 };
	struct directory d = { .container = SAMPLE_CONTAINER, .generation = 2,
			       .kind = CONTAINER_DATA, .entries = e,
			       .groups = rows, .nr_entries = 5,
			       .nr_groups = 2 };
	u64 bases[2] = { 0x100, 0x129 };
	struct group_header g[2];
	const u8 *payload[2];
	u32 i, k, n = 0;
	u8 *p;

	sample_container_header(&h);
	p = buf_extend(b, CONTAINER_HEADER_BYTES);
	assert_non_null(p);
	container_header_encode(&h, p);
	sample_group_raw(&g[0], &payload[0]);
	sample_group(&g[1], &payload[1]);
	for (i = 0; i < 2; i++) {
		rows[i].off = b->len;
		assert_int_equal(group_encode(&g[i], SAMPLE_CONTAINER,
					      payload[i], b), 0);
		rows[i].len = (u32)(b->len - rows[i].off);
		rows[i].number = g[i].number;
		rows[i].raw_len = g[i].raw_len;
		rows[i].nr = g[i].nr_chunks;
		rows[i].codec_id = g[i].codec_id;
		rows[i].depth = g[i].depth;
		for (k = 0; k < g[i].nr_chunks; k++, n++) {
			memset(e[n].fp.b, (int)(0xf0 + n), FP_BYTES);
			e[n].entry = g[i].chunks[k].entry;
			e[n].len = g[i].chunks[k].len;
			e[n].group = i;
		}
	}
	*second_ret = rows[1].off;
	d.bases = bases;
	d.nr_bases = 2;
	*dir_ret = f.dir_off = b->len;
	assert_int_equal(directory_encode(&d, b), 0);
	f.dir_len = (u32)(b->len - f.dir_off);
	p = buf_extend(b, CONTAINER_FOOTER_BYTES);
	assert_non_null(p);
	container_footer_encode(&f, p);
}

/* A run of one page: page 3 of level 0, so that its checksum is right. */
static void make_run(struct buf *b)
{
	const struct format_case *fc = format_case_find("run-page");
	struct run_header h;
	struct buf page = { 0 };
	u8 *p;

	sample_run_header(&h);
	memset(h.levels, 0, sizeof(h.levels));
	h.levels[0] = (struct run_level){ 1, 4, 900 };
	p = buf_extend(b, 5 * RUN_PAGE_BYTES);
	assert_non_null(p);
	memset(p, 0, 5 * RUN_PAGE_BYTES);
	run_header_encode(&h, p);
	assert_int_equal(fc->encode(&page), 0);
	memcpy(p + 4 * RUN_PAGE_BYTES, page.data, RUN_PAGE_BYTES);
	buf_release(&page);
}

static void test_golden_text(void **state)
{
	static const char *const names[] = { "super", "directory-meta", "leaf",
					     "node", "tree-file",
					     "tree-symlink", "snapshot",
					     "policy", "policy" };
	const char *root = getenv("AKIN_SOURCE_ROOT");
	struct buf b = { 0 }, out = { 0 };
	char path[512];
	u64 second, at;
	static char golden[65536];
	size_t i;
	FILE *f;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		buf_reset(&b);
		assert_int_equal(format_case_find(names[i])->encode(&b), 0);
		assert_int_equal(inspect_data(b.data, b.len, i % 2, &out,
					      NULL), 0);
	}
	buf_reset(&b);
	make_container(&b, &second, &at);
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL), 0);
	assert_int_equal(inspect_data(b.data, b.len, true, &out, NULL), 0);
	buf_put_u8(&out, 0);
	(void)snprintf(path, sizeof(path), "%s/tests/golden/inspect.txt",
		       root ? root : ".");
	f = fopen(path, getenv("AKIN_GOLDEN_WRITE") ? "w+" : "r");
	assert_non_null(f);
	if (getenv("AKIN_GOLDEN_WRITE"))
		(void)fwrite(out.data, 1, out.len - 1, f);
	rewind(f);
	i = fread(golden, 1, sizeof(golden) - 1, f);
	golden[i] = 0;
	(void)fclose(f);
	assert_string_equal((char *)out.data, golden);
	buf_release(&b);
	buf_release(&out);
}

static bool shows(const struct buf *out, const char *text)
{
	return memmem(out->data, out->len, text, strlen(text)) != NULL;
}

static void test_damaged_container(void **state)
{
	struct akin_diag diag = { 0 };
	struct buf b = { 0 }, out = { 0 };
	char text[128];
	u64 second, at;

	make_container(&b, &second, &at);
	/* A group: the other one and all entries are shown. */
	b.data[second + 20] ^= 1;
	assert_int_equal(inspect_data(b.data, b.len, false, &out, &diag),
			 -AKIN_E_bad_checksum);
	(void)snprintf(text, sizeof(text), "/f: group at %llu: wrong checksum",
		       (unsigned long long)second);
	assert_non_null(strstr(diag.text, text));
	assert_true(shows(&out, "group number=0 "));
	assert_false(shows(&out, "group number=3 "));
	assert_true(shows(&out, "entry=14 fp=f4f4"));
	b.data[second + 20] ^= 1;
	/* The directory: groups are found from the front. */
	b.data[at + 50] ^= 1;
	buf_reset(&out);
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL),
			 -AKIN_E_bad_checksum);
	assert_true(shows(&out, "group number=3 "));
	assert_true(shows(&out, "chunk entry=14 len=3000"));
	b.data[at + 50] ^= 1;
	/* The header: the footer tells the rest. */
	b.data[0] ^= 1;
	buf_reset(&out);
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL),
			 -AKIN_E_bad_magic);
	assert_true(shows(&out, "group number=3 "));
	b.data[0] ^= 1;
	/* The tail is missing. */
	buf_reset(&out);
	assert_int_not_equal(inspect_data(b.data, at + 9, true, &out, NULL),
			     0);
	assert_true(shows(&out, "\"what\":\"group\",\"number\":3,"));
	assert_true(shows(&out, "\"what\":\"damage\",\"of\":\"footer\""));
	buf_release(&b);
	buf_release(&out);
}

static void test_damaged_super(void **state)
{
	struct buf b = { 0 }, out = { 0 };

	assert_int_equal(format_case_find("super")->encode(&b), 0);
	memset(b.data, 0, 512);
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL),
			 -AKIN_E_bad_magic);
	assert_true(shows(&out, "damage of=copy error=bad_magic"));
	assert_true(shows(&out, "00001000 super version=1.0"));
	/* The master key is nobody's business. */
	assert_false(shows(&out, "4b4b4b4b"));
	buf_release(&b);
	buf_release(&out);
}

static void test_run(void **state)
{
	struct buf b = { 0 }, out = { 0 };

	make_run(&b);
	/* Pages 0 to 2 are zeros: said, and passed over. */
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL),
			 -AKIN_E_bad_magic);
	assert_true(shows(&out, "00001000 damage of=page error=bad_magic"));
	assert_true(shows(&out, "00004000 page level=0 page=3 entries=3"));
	assert_true(shows(&out, "prefix=1122334455667788 container=299"));
	buf_release(&b);
	buf_release(&out);
}

/* Of a container of 10,000 bytes, with parity of zeros. */
static void make_parity(struct buf *b, struct parity_map *m)
{
	static const u8 zeros[PARITY_SECTOR];
	u8 *table = sample_parity(m), *p;
	size_t len = parity_table_bytes(m);
	u32 i;

	assert_non_null(table);
	for (i = 0; i < m->nr_parity; i++)
		parity_table_put(table, m->nr_sectors + i, parity_sum(zeros));
	p = buf_extend(b, parity_file_bytes(m));
	assert_non_null(p);
	memset(p, 0, parity_file_bytes(m));
	parity_head_encode(m, table, p);
	memcpy(p + PARITY_HEAD_BYTES, table, len);
	memcpy(p + parity_back_off(m), table, len);
	memcpy(p + parity_back_off(m) + len, p, PARITY_HEAD_BYTES);
	mem_free(table);
}

static void test_parity(void **state)
{
	struct buf b = { 0 }, out = { 0 };
	struct parity_map m;

	make_parity(&b, &m);
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL), 0);
	assert_true(shows(&out, "00000000 parity number=298 generation=2"));
	assert_true(shows(&out, "bytes=10000 sectors=3 stripes=1 "
			  "sectors_of_stripe=3 parity_of_stripe=2 "
			  "percent=10\n"));
	assert_true(shows(&out, "00003028 parity number=298"));
	assert_false(shows(&out, "damage"));
	/* The first head, a sector, and the second table. */
	b.data[0x10] ^= 1;
	b.data[parity_sector_off(&m, 1, 0)] ^= 1;
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL),
			 -AKIN_E_bad_checksum);
	assert_true(shows(&out, "00000000 damage of=head error=bad_checksum"));
	assert_true(shows(&out, "00002000 damage of=sector "
			  "error=bad_checksum"));
	b.data[parity_back_off(&m)] ^= 1;
	assert_int_equal(inspect_data(b.data, b.len, true, &out, NULL),
			 -AKIN_E_bad_checksum);
	assert_true(shows(&out, "\"of\":\"table\""));
	b.data[0x10] ^= 1;
	assert_int_equal(inspect_data(b.data, 5000, false, &out, NULL),
			 -AKIN_E_bad_magic);
	assert_true(shows(&out, "damage of=sector error=short_read"));
	buf_release(&b);
	buf_release(&out);
}

static void test_damaged_listing(void **state)
{
	struct buf b = { 0 }, out = { 0 };

	assert_int_equal(format_case_find("tree-device")->encode(&b), 0);
	assert_int_equal(format_case_find("tree-symlink")->encode(&b), 0);
	assert_int_equal(inspect_data(b.data, b.len - 1, false, &out, NULL),
			 -AKIN_E_short_read);
	assert_true(shows(&out, "blockdev name=\"sda\""));
	assert_true(shows(&out, "00000014 damage of=record error=short_read"));
	buf_release(&b);
	buf_release(&out);
}

static void test_escapes(void **state)
{
	struct buf b = { 0 }, out = { 0 };
	struct node n;

	sample_tree_device(&n);
	n.name = "a\n\"\\\x1b[2J\xff";
	assert_int_equal(node_encode(&n, &b), 0);
	assert_int_equal(inspect_data(b.data, b.len, false, &out, NULL), 0);
	assert_true(shows(&out,
			  "name=\"a\\x0a\\x22\\x5c\\x1b[2J\\xff\""));
	buf_reset(&out);
	assert_int_equal(inspect_data(b.data, b.len, true, &out, NULL), 0);
	assert_true(shows(&out,
		"\"name\":\"a\\\\x0a\\\\x22\\\\x5c\\\\x1b[2J\\\\xff\""));
	buf_release(&b);
	buf_release(&out);
}

static void test_not_ours(void **state)
{
	struct akin_diag diag = { 0 };
	struct buf out = { 0 };

	assert_int_equal(inspect_data("hello, world", 12, false, &out, &diag),
			 -AKIN_E_bad_magic);
	assert_non_null(strstr(diag.text, "not a structure of akin"));
	assert_int_equal(inspect_data("", 0, false, &out, NULL),
			 -AKIN_E_bad_magic);
	assert_int_equal(inspect_file("/nonexistent/f", false, stdout, NULL),
			 -AKIN_E_absent);
	assert_int_equal(out.len, 0);
	buf_release(&out);
}

/* Whatever is flipped or cut: no crash, and damage is an error. */
static void test_every_byte_damaged(void **state)
{
	struct buf b = { 0 }, out = { 0 };
	u64 second, at;
	size_t i;

	make_container(&b, &second, &at);
	for (i = 0; i < b.len; i++) {
		b.data[i] ^= 0x55;
		buf_reset(&out);
		assert_int_not_equal(inspect_data(b.data, b.len, i % 2, &out,
						  NULL), 0);
		b.data[i] ^= 0x55;
		assert_int_not_equal(inspect_data(b.data, i, i % 2, &out,
						  NULL), 0);
	}
	buf_release(&b);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_text),
		cmocka_unit_test(test_damaged_container),
		cmocka_unit_test(test_damaged_super),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_parity),
		cmocka_unit_test(test_damaged_listing),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_every_byte_damaged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
