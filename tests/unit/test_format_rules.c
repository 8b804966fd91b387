/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of single structures: that every field is read back as it was
 * written, and which code a broken rule gives. test_format.c has what holds
 * for all of them.
 */
#include "testlib.h"

#include "base/mem.h"
#include "format/format_internal.h"
#include "format_samples.h"

/* Containers --------------------------------------------------------------*/

static void test_header_fields(void **state)
{
	u8 data[CONTAINER_HEADER_BYTES];
	struct container_header in, out;

	sample_container_header(&in);
	in.kind = CONTAINER_METADATA;
	in.key_slot = 3;
	in.parity = 9;
	container_header_encode(&in, data);
	assert_int_equal(container_header_decode(data, &out), 0);
	assert_memory_equal(&in.pool, &out.pool, sizeof(in.pool));
	assert_memory_equal(in.salt, out.salt, sizeof(in.salt));
	assert_true(out.number == SAMPLE_CONTAINER && out.session == 7);
	assert_int_equal(out.generation, 2);
	assert_int_equal(out.kind, CONTAINER_METADATA);
	assert_int_equal(out.key_slot, 3);
	assert_int_equal(out.parity, 9);
	in.cipher = 1;
	container_header_encode(&in, data);
	assert_int_equal(container_header_decode(data, &out), -AKIN_E_feature);
	in.cipher = 0;
	in.kind = 3;
	container_header_encode(&in, data);
	assert_int_equal(container_header_decode(data, &out),
			 -AKIN_E_bad_field);
	in.kind = 1;
	in.number = 0;
	container_header_encode(&in, data);
	assert_int_equal(container_header_decode(data, &out),
			 -AKIN_E_bad_field);
}

static int footer_with(u64 number, u64 dir_off, u32 dir_len)
{
	const struct container_footer in = { number, 1, dir_off, dir_len };
	u8 data[CONTAINER_FOOTER_BYTES];
	struct container_footer out;
	int err;

	container_footer_encode(&in, data);
	err = container_footer_decode(data, &out);
	if (err)
		return err;
	assert_true(out.number == number && out.dir_off == dir_off);
	assert_int_equal(out.dir_len, dir_len);
	assert_int_equal(out.generation, 1);
	return 0;
}

static void test_footer_bounds(void **state)
{
	assert_int_equal(footer_with(1, 128, 48), 0);
	assert_int_equal(footer_with(0, 128, 48), -AKIN_E_bad_field);
	assert_int_equal(footer_with(1, 127, 48), -AKIN_E_bad_length);
	assert_int_equal(footer_with(1, UINT64_MAX, 48), -AKIN_E_bad_length);
	assert_int_equal(footer_with(1, 128, 16 * MiB), 0);
	assert_int_equal(footer_with(1, 128, 16 * MiB + 1),
			 -AKIN_E_bad_length);
	assert_int_equal(footer_with(1, 128 * MiB - 64 - 48, 48), 0);
	assert_int_equal(footer_with(1, 128 * MiB - 63 - 48, 48),
			 -AKIN_E_bad_length);
}

static void test_group_fields(void **state)
{
	struct group_header in, out;
	struct buf b = { 0 };
	const u8 *payload, *got;
	size_t total;

	sample_group(&in, &payload);
	assert_int_equal(group_encode(&in, SAMPLE_CONTAINER, payload, &b), 0);
	buf_put(&b, "behind", 6);
	assert_int_equal(group_decode(b.data, b.len, SAMPLE_CONTAINER, &out,
				      &got, &total), 0);
	assert_int_equal(total, b.len - 6);
	assert_memory_equal(got, payload, 16);
	assert_int_equal(out.number, 3);
	assert_int_equal(out.codec_id, 2);
	assert_int_equal(out.flags, 0);
	assert_int_equal(out.depth, 1);
	assert_int_equal(out.raw_len, 11292);
	assert_int_equal(out.stored_len, 16);
	assert_int_equal(out.ref_raw_len, 20000);
	assert_int_equal(out.nr_chunks, 3);
	assert_memory_equal(out.chunks, in.chunks, 3 * sizeof(*in.chunks));
	assert_int_equal(out.nr_refs, 2);
	assert_true(out.refs[0].container == 0x100 && out.refs[0].entry == 5 &&
		    out.refs[0].nr == 2);
	assert_true(out.refs[1].container == 0x129 && out.refs[1].entry == 0 &&
		    out.refs[1].nr == 1);
	group_header_release(&out);
	/* In another container it is not believed. */
	assert_int_equal(group_decode(b.data, b.len, SAMPLE_CONTAINER + 1,
				      &out, &got, &total),
			 -AKIN_E_bad_checksum);
	buf_release(&b);
}

static int group_try(const struct group_header *g, u64 container)
{
	struct buf b = { 0 };
	int err = group_encode(g, container, "sixteen bytes ..", &b);

	buf_release(&b);
	return err;
}

static void test_group_rules(void **state)
{
	struct group_header g;
	struct group_chunk chunks[3];
	struct group_ref refs[2];
	const u8 *payload;

#define FRESH() do { \
	sample_group(&g, &payload); \
	memcpy(chunks, g.chunks, sizeof(chunks)); \
	memcpy(refs, g.refs, sizeof(refs)); \
	g.chunks = chunks; \
	g.refs = refs; \
} while (0)
#define REFUSED(change, code) do { \
	FRESH(); \
	change; \
	assert_int_equal(group_try(&g, SAMPLE_CONTAINER), -(code)); \
} while (0)
	FRESH();
	assert_int_equal(group_try(&g, SAMPLE_CONTAINER), 0);
	assert_int_equal(group_try(&g, 0x129), -AKIN_E_bad_order);
	REFUSED(refs[1].container = SAMPLE_CONTAINER, AKIN_E_bad_order);
	REFUSED(refs[1].container = 0, AKIN_E_bad_field);
	REFUSED(refs[0].nr = 0, AKIN_E_bad_field);
	REFUSED(refs[0].nr = CONTAINER_MAX_ENTRIES - 4, AKIN_E_bad_field);
	REFUSED(refs[0].entry = UINT32_MAX, AKIN_E_bad_field);
	REFUSED(g.nr_refs = GROUP_MAX_REFS + 1, AKIN_E_bad_length);
	REFUSED(g.depth = 0, AKIN_E_bad_field);
	REFUSED(g.nr_refs = 0, AKIN_E_bad_field);
	REFUSED(g.ref_raw_len = 0, AKIN_E_bad_field);
	REFUSED(g.ref_raw_len = GROUP_MAX_REF_RAW + 1, AKIN_E_bad_length);
	REFUSED(g.depth = GROUP_MAX_DEPTH + 1, AKIN_E_bad_length);
	REFUSED(g.stored_len = GROUP_MAX_DELTA_RAW + 1, AKIN_E_bad_length);
	REFUSED(g.flags = GROUP_DIRECT, AKIN_E_bad_field);
	REFUSED(g.flags = 0x80, AKIN_E_feature);
	REFUSED(g.number = CONTAINER_MAX_GROUPS, AKIN_E_bad_field);
	REFUSED(g.nr_chunks = 0, AKIN_E_bad_length);
	REFUSED(g.nr_chunks = GROUP_MAX_CHUNKS + 1, AKIN_E_bad_length);
	REFUSED(chunks[1].entry = 10, AKIN_E_bad_order);
	REFUSED(chunks[2].entry = CONTAINER_MAX_ENTRIES, AKIN_E_bad_field);
	REFUSED(chunks[0].len = 0, AKIN_E_bad_length);
	REFUSED(chunks[0].len = CHUNK_MAX_RAW + 1, AKIN_E_bad_length);
	REFUSED(g.raw_len++, AKIN_E_bad_length);
	REFUSED(g.stored_len = 0, AKIN_E_bad_length);
	REFUSED(g.stored_len = GROUP_MAX_RAW + 1, AKIN_E_bad_length);
	REFUSED(g.codec_id = 0, AKIN_E_bad_length);
#undef REFUSED
#undef FRESH
}

static void test_directory_fields(void **state)
{
	struct directory in, out;
	struct buf b = { 0 };
	u32 i;

	sample_directory_meta(&in);
	assert_int_equal(directory_encode(&in, &b), 0);
	assert_int_equal(directory_decode(b.data, b.len, &out), 0);
	assert_true(out.container == SAMPLE_CONTAINER);
	assert_int_equal(out.kind, CONTAINER_METADATA);
	assert_int_equal(out.generation, 0);
	assert_true(fp_equal(&in.first_leaf, &out.first_leaf));
	assert_int_equal(out.nr_entries, 3);
	assert_int_equal(out.nr_groups, 2);
	assert_int_equal(out.nr_bases, 0);
	for (i = 0; i < 3; i++) {
		assert_true(fp_equal(&in.entries[i].fp, &out.entries[i].fp));
		assert_int_equal(in.entries[i].entry, out.entries[i].entry);
		assert_int_equal(in.entries[i].len, out.entries[i].len);
		assert_int_equal(in.entries[i].group, out.entries[i].group);
		assert_int_equal(in.entries[i].raw_off, out.entries[i].raw_off);
		assert_int_equal(in.entries[i].fp_salt, out.entries[i].fp_salt);
		assert_int_equal(in.hints[i].nr, out.hints[i].nr);
		if (in.hints[i].nr)
			assert_memory_equal(in.hints[i].containers,
					    out.hints[i].containers,
					    in.hints[i].nr * sizeof(u64));
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(in.groups[i].number, out.groups[i].number);
		assert_true(in.groups[i].off == out.groups[i].off);
		assert_int_equal(in.groups[i].len, out.groups[i].len);
		assert_int_equal(in.groups[i].raw_len, out.groups[i].raw_len);
		assert_int_equal(in.groups[i].first, out.groups[i].first);
		assert_int_equal(in.groups[i].nr, out.groups[i].nr);
		assert_int_equal(in.groups[i].codec_id, out.groups[i].codec_id);
		assert_int_equal(in.groups[i].depth, out.groups[i].depth);
	}
	directory_release(&out);
	sample_directory(&in);
	buf_reset(&b);
	assert_int_equal(directory_encode(&in, &b), 0);
	assert_int_equal(directory_decode(b.data, b.len, &out), 0);
	assert_null(out.hints);
	assert_int_equal(out.nr_bases, 2);
	assert_memory_equal(out.bases, in.bases, 2 * sizeof(u64));
	assert_memory_equal(out.sketches, in.sketches,
			    3 * sizeof(*in.sketches));
	assert_int_equal(out.generation, 2);
	directory_release(&out);
	buf_release(&b);
}

static int directory_try(const struct directory *d)
{
	struct buf b = { 0 };
	int err = directory_encode(d, &b);

	buf_release(&b);
	return err;
}

static void test_directory_rules(void **state)
{
	struct directory d;
	struct dir_entry e[3];
	struct dir_group g[2];
	struct dir_sketch sketches[3];
	struct hint hints[3];
	u64 bases[2];
	u64 bad_hint[2] = { 5, 5 };

#define FRESH() do { \
	sample_directory(&d); \
	memcpy(e, d.entries, sizeof(e)); \
	memcpy(g, d.groups, sizeof(g)); \
	memcpy(bases, d.bases, sizeof(bases)); \
	memset(hints, 0, sizeof(hints)); \
	memcpy(sketches, d.sketches, sizeof(sketches)); \
	d.sketches = sketches; \
	d.entries = e; \
	d.groups = g; \
	d.bases = bases; \
} while (0)
#define REFUSED(change, code) do { \
	FRESH(); \
	change; \
	assert_int_equal(directory_try(&d), -(code)); \
} while (0)
	FRESH();
	assert_int_equal(directory_try(&d), 0);
	REFUSED(d.container = 0, AKIN_E_bad_field);
	REFUSED(d.kind = 0, AKIN_E_bad_field);
	REFUSED(d.nr_entries = CONTAINER_MAX_ENTRIES + 1, AKIN_E_bad_length);
	REFUSED(d.nr_groups = 4, AKIN_E_bad_length);
	REFUSED(d.nr_groups = 1, AKIN_E_bad_length);
	REFUSED(e[1].entry = 0, AKIN_E_bad_order);
	REFUSED(e[2].entry = CONTAINER_MAX_ENTRIES, AKIN_E_bad_field);
	REFUSED(e[2].len = 0, AKIN_E_bad_length);
	REFUSED(e[2].len = 3001, AKIN_E_bad_length);
	REFUSED(e[2].group = 0, AKIN_E_bad_field);
	REFUSED(g[0].raw_len--, AKIN_E_bad_length);
	REFUSED(g[0].nr = 0, AKIN_E_bad_length);
	REFUSED(g[1].nr = 2, AKIN_E_bad_length);
	REFUSED(g[1].number = 0, AKIN_E_bad_order);
	REFUSED(g[1].number = CONTAINER_MAX_GROUPS, AKIN_E_bad_field);
	REFUSED(g[0].off = 127, AKIN_E_bad_order);
	REFUSED(g[1].off--, AKIN_E_bad_order);
	REFUSED(g[1].off = CONTAINER_MAX_BYTES, AKIN_E_bad_length);
	REFUSED(g[1].len = UINT32_MAX, AKIN_E_bad_length);
	REFUSED(bases[1] = bases[0], AKIN_E_bad_order);
	REFUSED(bases[0] = 0, AKIN_E_bad_order);
	REFUSED(bases[1] = SAMPLE_CONTAINER, AKIN_E_bad_order);
	REFUSED(sketches[2].part[1] = 0, AKIN_E_bad_field);
	REFUSED(d.kind = CONTAINER_METADATA, AKIN_E_bad_field);
	REFUSED(d.hints = hints, AKIN_E_bad_field);
	REFUSED((d.kind = CONTAINER_METADATA, d.hints = hints,
		 hints[1].containers = bad_hint, hints[1].nr = 2),
		AKIN_E_bad_order);
	REFUSED((d.kind = CONTAINER_METADATA, d.hints = hints,
		 hints[1].containers = bad_hint, hints[1].nr = HINT_MAX + 1),
		AKIN_E_bad_length);
#undef REFUSED
#undef FRESH
}

static void try_sketches(const struct buf *sound, size_t len, size_t at, u8 v,
			 int code)
{
	struct buf b = { 0 };
	struct directory d;

	buf_put(&b, sound->data, sound->len);
	b.data[at] = v;
	/* The section, to its last byte but so many. */
	put_le32(b.data + sound->len - FORMAT_CHECKSUM_BYTES - 25 - 4,
		 (u32)(25 - len));
	memmove(b.data + b.len - FORMAT_CHECKSUM_BYTES - len,
		b.data + b.len - FORMAT_CHECKSUM_BYTES, FORMAT_CHECKSUM_BYTES);
	b.len -= len;
	format_case_find("directory")->seal(b.data, b.len);
	assert_int_equal(directory_decode(b.data, b.len, &d), code);
	directory_release(&d);
	buf_release(&b);
}

/* The last section of the sample: a byte of bits, two sketches. */
static void test_directory_sketches(void **state)
{
	struct buf b = { 0 };
	size_t bits;

	assert_int_equal(format_case_find("directory")->encode(&b), 0);
	bits = b.len - FORMAT_CHECKSUM_BYTES - 25;
	assert_int_equal(b.data[bits], 0x5);
	try_sketches(&b, 0, bits, 0x5, 0);
	try_sketches(&b, 0, bits, 0x7, -AKIN_E_bad_length);
	try_sketches(&b, 0, bits, 0x1, -AKIN_E_bad_length);
	try_sketches(&b, 0, bits, 0, -AKIN_E_bad_length);
	try_sketches(&b, 0, bits, 0xd, -AKIN_E_bad_field);
	try_sketches(&b, 1, bits, 0x5, -AKIN_E_bad_length);
	try_sketches(&b, 12, bits, 0x5, -AKIN_E_bad_length);
	try_sketches(&b, 12, bits, 0x2, 0);
	try_sketches(&b, 24, bits, 0, -AKIN_E_bad_length);
	try_sketches(&b, 25, bits, 0, -AKIN_E_bad_length);
	memset(b.data + bits + 1, 0, 12);
	try_sketches(&b, 0, bits, 0x5, -AKIN_E_bad_field);
	buf_release(&b);
}

/* Empty, and metadata without a hint: both are there, as nothing. */
static void test_directory_of_nothing(void **state)
{
	struct directory in = { .container = 1, .kind = CONTAINER_METADATA };
	struct directory out;
	struct buf b = { 0 };

	assert_int_equal(directory_encode(&in, &b), 0);
	assert_int_equal(directory_decode(b.data, b.len, &out), 0);
	assert_int_equal(out.nr_entries, 0);
	directory_release(&out);
	sample_directory_meta(&in);
	in.hints = NULL;
	buf_reset(&b);
	assert_int_equal(directory_encode(&in, &b), 0);
	assert_int_equal(directory_decode(b.data, b.len, &out), 0);
	assert_non_null(out.hints);
	assert_int_equal(out.hints[2].nr, 0);
	directory_release(&out);
	buf_release(&b);
}

/* Bytes of a chunk in a directory, for the usual mix of sizes. */
static void test_directory_is_small(void **state)
{
	const u32 nr = 1024, per_group = 16;
	struct dir_entry *e = mem_calloc(nr, sizeof(*e));
	struct dir_group *g = mem_calloc(nr / per_group, sizeof(*g));
	struct directory d = { .container = 1000000, .kind = CONTAINER_DATA };
	struct rng r = { 1 };
	struct buf b = { 0 };
	u64 off = CONTAINER_HEADER_BYTES;
	u32 i, k;

	assert_true(e && g);
	for (i = 0; i < nr; i++) {
		k = i / per_group;
		rng_fill(&r, e[i].fp.b, FP_BYTES);
		e[i].entry = i;
		e[i].len = 2048 + (u32)rng_below(&r, 12000);
		e[i].group = k;
		if (i % per_group == 0) {
			g[k].number = k;
			g[k].off = off;
			g[k].len = 40000;
			g[k].nr = per_group;
			g[k].codec_id = 2;
			off += 40000;
		}
		g[k].raw_len += e[i].len;
	}
	d.entries = e;
	d.nr_entries = nr;
	d.groups = g;
	d.nr_groups = nr / per_group;
	assert_int_equal(directory_encode(&d, &b), 0);
	assert_true(b.len <= nr * 35);
	buf_release(&b);
	mem_free(e);
	mem_free(g);
}

/* Append a section to a sample, in front of its checksum. */
static void add_section(const struct format_case *fc, u16 tag, struct buf *b)
{
	size_t at;

	buf_reset(b);
	assert_int_equal(fc->encode(b), 0);
	b->len -= FORMAT_CHECKSUM_BYTES;
	at = format_section_begin(b, tag);
	buf_put(b, "unknown", 7);
	format_section_end(b, at);
	buf_put_le64(b, 0);
	assert_int_equal(buf_error(b), 0);
	fc->seal(b->data, b->len);
}

static void test_unknown_sections(void **state)
{
	static const char *const names[] = { "directory", "directory-meta",
					     "snapshot", "label",
					     "policy" };
	const struct format_case *fc;
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		fc = format_case_find(names[i]);
		assert_non_null(fc);
		add_section(fc, 0x7001, &b);
		assert_int_equal(format_case_check(fc, b.data, b.len), 0);
		add_section(fc, 0xf001, &b);
		assert_int_equal(format_case_check(fc, b.data, b.len),
				 -AKIN_E_feature);
		/* Out of order: below what is there. */
		add_section(fc, 0x0001, &b);
		assert_int_equal(format_case_check(fc, b.data, b.len),
				 -AKIN_E_bad_order);
	}
	buf_release(&b);
}

/* Counts that promise far more than is there: refused before any memory is
 * asked for. @allocs: what the decoder may have asked for until then. */
static void check_hostile(const char *name, struct buf *b, u64 allocs)
{
	const struct format_case *fc = format_case_find(name);
	struct buf again = { 0 };
	u64 before;

	assert_non_null(fc);
	assert_int_equal(buf_error(b), 0);
	if (fc->seal)
		fc->seal(b->data, b->len);
	before = mem_nr_allocs();
	assert_int_equal(fc->decode(b->data, b->len, &again),
			 -AKIN_E_bad_length);
	assert_true(mem_nr_allocs() - before <= allocs);
	assert_null(again.data);
	buf_reset(b);
}

static void test_hostile_counts(void **state)
{
	struct buf b = { 0 };
	size_t at;

	/* 4,096 chunks, 256 references, no table. */
	buf_put(&b, "AKGP", 4);
	buf_put(&b, (u8[12]){ 0 }, 12);
	buf_put(&b, (u8[]){ 0, 2, 0x80, 1 }, 4);
	buf_put_varint(&b, 16);
	buf_put_varint(&b, GROUP_MAX_CHUNKS);
	buf_put_varint(&b, GROUP_MAX_REFS);
	buf_put(&b, (u8[100]){ 0 }, 100);
	check_hostile("group", &b, 0);

	assert_int_equal(format_case_find("directory")->encode(&b), 0);
	put_le32(b.data + 0x18, CONTAINER_MAX_ENTRIES);
	check_hostile("directory", &b, 0);
	assert_int_equal(format_case_find("directory")->encode(&b), 0);
	put_le32(b.data + 0x18, UINT32_MAX);
	put_le32(b.data + 0x1c, UINT32_MAX);
	check_hostile("directory", &b, 0);

	/* A hint of 65,536 containers in a few bytes. */
	assert_int_equal(format_case_find("snapshot")->encode(&b), 0);
	b.len = 0xd2;
	at = format_section_begin(&b, 5);
	buf_put_varint(&b, HINT_MAX);
	format_section_end(&b, at);
	buf_put_le64(&b, 0);
	check_hostile("snapshot", &b, 3 + 3 + 2 + 1);

	buf_put(&b, "R\0", 2);
	buf_put_varint(&b, RECIPE_LEAF_MAX);
	buf_put(&b, (u8[100]){ 0 }, 100);
	check_hostile("leaf", &b, 0);
	buf_put(&b, "R\1", 2);
	buf_put_varint(&b, RECIPE_NODE_MAX);
	buf_put(&b, (u8[100]){ 0 }, 100);
	check_hostile("node", &b, 0);

	/* A file with 4,096 attributes in a hundred bytes. */
	buf_put_u8(&b, 100);
	buf_put(&b, (u8[]){ NODE_FILE, 0, 0x80, 0x20 }, 4);
	buf_put(&b, (u8[96]){ 0 }, 96);
	check_hostile("tree-file", &b, 0);
	buf_release(&b);
}

/* Recipes -----------------------------------------------------------------*/

static void test_recipe_fields(void **state)
{
	const struct recipe_entry *e;
	const struct recipe_child *ch;
	struct recipe_piece p;
	struct buf b = { 0 };
	u32 nr, i;

	sample_leaf(&e, &nr);
	assert_int_equal(recipe_leaf_encode(e, nr, &b), 0);
	assert_int_equal(recipe_piece_decode(b.data, b.len, &p), 0);
	assert_int_equal(p.level, 0);
	assert_int_equal(p.nr, 4);
	assert_true(p.bytes == 8192 + (1ull << 40) + 4096 * 256 + 5);
	assert_null(p.children);
	for (i = 0; i < nr; i++) {
		assert_int_equal(p.entries[i].type, e[i].type);
		assert_true(p.entries[i].len == e[i].len);
		assert_true(p.entries[i].count == e[i].count);
		assert_true(fp_equal(&p.entries[i].fp, &e[i].fp));
	}
	assert_memory_equal(p.entries[3].data, "hello", 5);
	recipe_piece_release(&p);
	sample_node(&ch, &nr);
	buf_reset(&b);
	assert_int_equal(recipe_node_encode(2, ch, nr, &b), 0);
	assert_int_equal(recipe_piece_decode(b.data, b.len, &p), 0);
	assert_int_equal(p.level, 2);
	assert_true(p.bytes == 500000 + (1ull << 40));
	assert_null(p.entries);
	assert_memory_equal(p.children, ch, nr * sizeof(*ch));
	recipe_piece_release(&p);
	buf_release(&b);
}

static int entry_try(u8 type, u64 len, u64 count)
{
	static const u8 data[RECIPE_INLINE_MAX + 1];
	const struct recipe_entry e = { .type = type, .len = len,
					.count = count, .data = data };
	struct buf b = { 0 };
	int err = recipe_leaf_encode(&e, 1, &b);

	buf_release(&b);
	return err;
}

static void test_recipe_rules(void **state)
{
	struct recipe_child ch[2] = { { .bytes = UINT64_MAX, .entries = 1 },
				      { .bytes = 1, .entries = 1 } };
	struct recipe_entry big[2] = {
		{ .type = RECIPE_HOLE, .len = UINT64_MAX, .count = 1 },
		{ .type = RECIPE_HOLE, .len = 1, .count = 1 },
	};
	struct recipe_entry repeat = { .type = RECIPE_REPEAT, .len = 4,
				       .count = UINT64_MAX };
	struct buf b = { 0 };

	assert_int_equal(entry_try(RECIPE_CHUNK, CHUNK_MAX_RAW, 1), 0);
	assert_int_equal(entry_try(RECIPE_CHUNK, CHUNK_MAX_RAW + 1, 1),
			 -AKIN_E_bad_length);
	assert_int_equal(entry_try(RECIPE_CHUNK, 0, 1), -AKIN_E_bad_length);
	assert_int_equal(entry_try(RECIPE_CHUNK, 1, 0), -AKIN_E_bad_field);
	assert_int_equal(entry_try(RECIPE_HOLE, UINT64_MAX, 1), 0);
	assert_int_equal(entry_try(RECIPE_HOLE, 1, 2), -AKIN_E_bad_field);
	assert_int_equal(entry_try(RECIPE_REPEAT, 1, 1), -AKIN_E_bad_field);
	assert_int_equal(entry_try(RECIPE_REPEAT, 2, 1ull << 63),
			 -AKIN_E_bad_length);
	assert_int_equal(entry_try(RECIPE_INLINE, 256, 1), 0);
	assert_int_equal(entry_try(RECIPE_INLINE, 257, 1), -AKIN_E_bad_length);
	assert_int_equal(entry_try(4, 1, 1), -AKIN_E_feature);
	assert_int_equal(recipe_leaf_encode(big, 1, &b), 0);
	assert_int_equal(recipe_leaf_encode(big, 2, &b), -AKIN_E_bad_length);
	assert_int_equal(recipe_leaf_encode(big, 0, &b), -AKIN_E_bad_length);
	assert_true(recipe_entry_bytes(&repeat) == UINT64_MAX);
	assert_int_equal(recipe_node_encode(1, ch, 1, &b), 0);
	assert_int_equal(recipe_node_encode(1, ch, 2, &b), -AKIN_E_bad_length);
	assert_int_equal(recipe_node_encode(0, ch, 1, &b), -AKIN_E_bad_field);
	assert_int_equal(recipe_node_encode(17, ch, 1, &b), -AKIN_E_bad_field);
	ch[0].bytes = 0;
	assert_int_equal(recipe_node_encode(1, ch, 1, &b), -AKIN_E_bad_field);
	buf_release(&b);
}

/* One value, one encoding: 5 written as a varint of two bytes is refused. */
static void test_long_varints_are_refused(void **state)
{
	static const u8 shortest[] = { RECIPE_HOLE, 5 };
	static const u8 longer[] = { RECIPE_HOLE, 0x85, 0 };
	struct cursor c = cursor_over(shortest, sizeof(shortest));
	struct recipe_entry e;

	assert_int_equal(recipe_entry_decode(&c, &e), 0);
	assert_true(e.len == 5);
	c = cursor_over(longer, sizeof(longer));
	assert_int_equal(recipe_entry_decode(&c, &e), -AKIN_E_bad_length);
}

/* A leaf of 512 entries of 256 bytes is more than a piece may be. */
static void test_piece_limit(void **state)
{
	static const u8 data[RECIPE_INLINE_MAX];
	struct recipe_entry e[RECIPE_LEAF_MAX];
	struct recipe_piece p;
	struct buf b = { 0 };
	u32 i;

	for (i = 0; i < RECIPE_LEAF_MAX; i++)
		e[i] = (struct recipe_entry){ .type = RECIPE_INLINE,
					      .len = sizeof(data), .count = 1,
					      .data = data };
	assert_int_equal(recipe_leaf_encode(e, RECIPE_LEAF_MAX, &b),
			 -AKIN_E_bad_length);
	assert_int_equal(b.len, 0);
	assert_int_equal(recipe_leaf_encode(e, 500, &b), 0);
	assert_int_equal(recipe_piece_decode(b.data, b.len, &p), 0);
	assert_int_equal(p.nr, 500);
	recipe_piece_release(&p);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_fields),
		cmocka_unit_test(test_footer_bounds),
		cmocka_unit_test(test_group_fields),
		cmocka_unit_test(test_group_rules),
		cmocka_unit_test(test_directory_fields),
		cmocka_unit_test(test_directory_rules),
		cmocka_unit_test(test_directory_sketches),
		cmocka_unit_test(test_directory_of_nothing),
		cmocka_unit_test(test_directory_is_small),
		cmocka_unit_test(test_unknown_sections),
		cmocka_unit_test(test_hostile_counts),
		cmocka_unit_test(test_recipe_fields),
		cmocka_unit_test(test_recipe_rules),
		cmocka_unit_test(test_long_varints_are_refused),
		cmocka_unit_test(test_piece_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
