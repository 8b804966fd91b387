/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superblocks, snapshots, labels, runs and tree records: fields and rules. See
 * test_format_rules.c.
 */
#include "testlib.h"

#include "base/mem.h"
#include "format/format_internal.h"
#include "format_samples.h"

/* Superblocks -------------------------------------------------------------*/

static void super_file(u64 seq0, u64 seq1, u8 out[SUPER_FILE_BYTES])
{
	u8 other[SUPER_FILE_BYTES];
	struct super s;

	sample_super(&s);
	s.sequence = seq1;
	assert_int_equal(super_encode(&s, other), 0);
	s.sequence = seq0;
	assert_int_equal(super_encode(&s, out), 0);
	memcpy(out + SUPER_COPY_BYTES, other, SUPER_COPY_BYTES);
}

static void test_super_fields(void **state)
{
	u8 data[SUPER_FILE_BYTES];
	struct super in, out;
	int sound;

	sample_super(&in);
	in.feat_compat = 1;
	in.feat_ro_compat = 2;
	in.created_sec = -5;
	in.codec_level = -7;
	in.engine = SUPER_ENGINE_HYBRID;
	in.verify = SUPER_VERIFY_WRITE;
	in.parity = 50;
	in.keys[7].kind = 9;
	in.keys[7].kdf = 8;
	in.keys[7].kdf_params[2] = 7;
	memset(in.keys[7].salt, 6, sizeof(in.keys[7].salt));
	memset(in.keys[7].wrapped, 5, sizeof(in.keys[7].wrapped));
	assert_int_equal(super_encode(&in, data), 0);
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 0);
	assert_int_equal(sound, 2);
	assert_int_equal(out.version, FORMAT_VERSION);
	assert_true(out.feat_compat == 1 && out.feat_ro_compat == 2);
	assert_true(out.created_sec == -5 && out.codec_level == -7);
	assert_memory_equal(&out.pool, &in.pool, sizeof(in.pool));
	assert_true(out.role == SUPER_DATA && out.sequence == 5);
	assert_true(out.hash_id == 1 && out.chunk_method == 1);
	assert_true(out.chunk_min == 2048 && out.chunk_avg == 8192 &&
		    out.chunk_max == 65536 && out.codec_id == 2);
	assert_true(out.group_bytes == 128 * KiB &&
		    out.container_bytes == 8 * MiB &&
		    out.container_chunks == 4096);
	assert_true(out.delta_depth == 2 && out.engine == SUPER_ENGINE_HYBRID &&
		    out.verify == SUPER_VERIFY_WRITE && out.parity == 50);
	assert_memory_equal(out.share_seed, in.share_seed, 32);
	assert_int_equal(out.keys[0].kind, SUPER_KEY_CLEAR);
	assert_memory_equal(out.keys[0].wrapped, in.keys[0].wrapped, 64);
	assert_int_equal(out.keys[7].kind, 9);
	assert_int_equal(out.keys[7].kdf, 8);
	assert_int_equal(out.keys[7].kdf_params[2], 7);
	assert_memory_equal(out.keys[7].salt, in.keys[7].salt, 32);
	assert_memory_equal(out.keys[7].wrapped, in.keys[7].wrapped, 64);
}

static void test_super_copies(void **state)
{
	u8 data[SUPER_FILE_BYTES];
	struct super out;
	int sound;

	super_file(6, 5, data);
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 0);
	assert_true(out.sequence == 6 && sound == 2);
	data[100] ^= 1;
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 0);
	assert_true(out.sequence == 5 && sound == 1);
	super_file(5, 6, data);
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 0);
	assert_true(out.sequence == 6 && sound == 2);
	/* The file was cut: the first copy is enough. */
	assert_int_equal(super_decode(data, sizeof(data) - 1, &out, &sound,
				      NULL), 0);
	assert_true(out.sequence == 5 && sound == 1);
	assert_int_equal(super_decode(data, SUPER_COPY_BYTES, &out, &sound,
				      NULL), 0);
	assert_int_equal(super_decode(data, SUPER_COPY_BYTES - 1, &out, &sound,
				      NULL), -AKIN_E_short_read);
	assert_int_equal(super_decode(data, 0, &out, &sound, NULL),
			 -AKIN_E_short_read);
}

static void test_super_errors(void **state)
{
	struct akin_diag diag = { 0 };
	u8 data[SUPER_FILE_BYTES];
	struct super out;
	int sound;

	super_file(6, 6, data);
	data[0x38] ^= 1;
	data[SUPER_COPY_BYTES] ^= 1;
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, &diag),
			 -AKIN_E_bad_checksum);
	assert_int_equal(sound, 0);
	assert_int_equal(diag.code, -AKIN_E_bad_checksum);
	assert_string_equal(diag.text,
			    "no sound copy of the superblock: wrong checksum");
	memset(data, 0, sizeof(data));
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 -AKIN_E_bad_magic);
}

/* What a newer program wrote is not hidden by an older copy. */
static void test_super_newer_wins(void **state)
{
	u8 data[SUPER_FILE_BYTES], *second = data + SUPER_COPY_BYTES;
	struct super out;
	int sound;

	super_file(5, 6, data);
	put_le64(second + 0x20, 1);
	format_case_find("super")->seal(data, sizeof(data));
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 -AKIN_E_feature);
	assert_int_equal(sound, 1);
	super_file(5, 6, data);
	put_le32(second + 8, FORMAT_VERSION + 0x10000);
	format_case_find("super")->seal(data, sizeof(data));
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 -AKIN_E_bad_version);
	/* An older copy that we cannot read does not matter. */
	super_file(7, 6, data);
	put_le64(second + 0x20, 1);
	format_case_find("super")->seal(data, sizeof(data));
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 0);
	assert_true(out.sequence == 7);
	/* Nonsense under a right checksum is just damage. */
	super_file(5, 6, data);
	second[0x0c] = 9;
	format_case_find("super")->seal(data, sizeof(data));
	assert_int_equal(super_decode(data, sizeof(data), &out, &sound, NULL),
			 0);
	assert_true(out.sequence == 5 && sound == 1);
}

static void test_super_rules(void **state)
{
	u8 data[SUPER_FILE_BYTES];
	struct super s;

#define REFUSED(change, code) do { \
	sample_super(&s); \
	change; \
	assert_int_equal(super_encode(&s, data), -(code)); \
} while (0)
	REFUSED(s.role = 0, AKIN_E_bad_field);
	REFUSED(s.hash_id = 3, AKIN_E_feature);
	REFUSED(s.chunk_method = 0, AKIN_E_feature);
	REFUSED(s.verify = 3, AKIN_E_feature);
	REFUSED(s.parity = 51, AKIN_E_bad_field);
	REFUSED(s.chunk_min = 0, AKIN_E_bad_field);
	REFUSED(s.chunk_avg = 2047, AKIN_E_bad_field);
	REFUSED(s.chunk_max = 8191, AKIN_E_bad_field);
	REFUSED(s.chunk_max = CHUNK_MAX_RAW + 1, AKIN_E_bad_field);
	REFUSED(s.group_bytes = 0, AKIN_E_bad_field);
	REFUSED(s.group_bytes = 16 * MiB, AKIN_E_bad_field);
	REFUSED(s.delta_depth = GROUP_MAX_DEPTH + 1, AKIN_E_bad_field);
	REFUSED(s.container_bytes = 0, AKIN_E_bad_field);
	REFUSED(s.container_bytes = 64 * MiB + 1, AKIN_E_bad_field);
	REFUSED(s.container_chunks = 0, AKIN_E_bad_field);
	REFUSED(s.container_chunks = 16385, AKIN_E_bad_field);
	REFUSED(s.keys[0].wrapped[32] = 1, AKIN_E_bad_field);
	REFUSED(s.keys[1].salt[31] = 1, AKIN_E_bad_field);
#undef REFUSED
}

/* Snapshots ---------------------------------------------------------------*/

static void test_snapshot_fields(void **state)
{
	struct snapshot in, out;
	struct buf b = { 0 };

	sample_snapshot(&in);
	memset(in.parent, 0x9a, sizeof(in.parent));
	in.utc_offset_sec = -3600;
	in.time_sec = -1;
	assert_int_equal(snapshot_encode(&in, &b), 0);
	assert_int_equal(snapshot_decode(b.data, b.len, &out), 0);
	/* The record's bytes may go away. */
	buf_release(&b);
	assert_memory_equal(&out.pool, &in.pool, sizeof(in.pool));
	assert_memory_equal(out.id, in.id, sizeof(in.id));
	assert_memory_equal(out.parent, in.parent, sizeof(in.parent));
	assert_true(out.number == 7 && out.session == 12);
	assert_true(out.time_sec == -1 && out.time_nsec == 5);
	assert_int_equal(out.utc_offset_sec, -3600);
	assert_int_equal(out.flags, SNAPSHOT_PARTIAL);
	assert_string_equal(out.host, "host");
	assert_string_equal(out.user, "user");
	assert_string_equal(out.command, "akin backup");
	assert_int_equal(out.nr_paths, 2);
	assert_string_equal(out.paths[1], "/srv");
	assert_int_equal(out.nr_tags, 1);
	assert_string_equal(out.tags[0], "daily");
	assert_int_equal(out.root.kind, CONTENT_ENTRIES);
	assert_true(out.root.bytes == 8197);
	assert_memory_equal(out.root.entries[1].data, "hello", 5);
	assert_int_equal(out.root_hint.nr, 2);
	assert_true(out.root_hint.containers[1] == 0x12a);
	assert_memory_equal(&out.counts, &in.counts, sizeof(in.counts));
	assert_int_equal(out.nr_containers, 2);
	assert_memory_equal(out.containers, in.containers,
			    2 * sizeof(*in.containers));
	snapshot_release(&out);
	snapshot_release(&out);
}

static void test_snapshot_least(void **state)
{
	struct snapshot in = { .number = 1 }, out;
	struct buf b = { 0 };

	assert_int_equal(snapshot_encode(&in, &b), 0);
	assert_int_equal(snapshot_decode(b.data, b.len, &out), 0);
	assert_string_equal(out.host, "");
	assert_null(out.paths);
	assert_int_equal(out.root.kind, CONTENT_NONE);
	assert_int_equal(out.nr_containers, 0);
	snapshot_release(&out);
	buf_release(&b);
}

static int snapshot_try(const struct snapshot *s)
{
	struct buf b = { 0 };
	int err = snapshot_encode(s, &b);

	buf_release(&b);
	return err;
}

static void test_snapshot_rules(void **state)
{
	static char empty[] = "";
	static char long_text[SNAPSHOT_STRING_MAX + 2];
	struct number_range ranges[2] = { { 5, 3 }, { 8, 1 } };
	char *strings[1] = { empty };
	struct snapshot s;
	struct buf b = { 0 };

	memset(long_text, 'x', sizeof(long_text) - 1);
#define REFUSED(change, code) do { \
	sample_snapshot(&s); \
	change; \
	assert_int_equal(snapshot_try(&s), -(code)); \
} while (0)
	REFUSED(s.number = 0, AKIN_E_bad_field);
	REFUSED(s.time_nsec = 1000000000, AKIN_E_bad_field);
	REFUSED(s.utc_offset_sec = 26 * 3600 + 1, AKIN_E_bad_field);
	REFUSED(s.utc_offset_sec = INT32_MIN, AKIN_E_bad_field);
	REFUSED(s.flags = 8, AKIN_E_feature);
	REFUSED((s.paths = strings, s.nr_paths = 1), AKIN_E_bad_field);
	REFUSED(s.host = long_text, AKIN_E_bad_length);
	REFUSED(s.nr_tags = SNAPSHOT_STRINGS_MAX + 1, AKIN_E_bad_length);
	REFUSED(s.root.kind = 3, AKIN_E_feature);
	REFUSED(s.root_hint.nr = HINT_MAX + 1, AKIN_E_bad_length);
	REFUSED((s.containers = ranges, ranges[1].first = 7),
		AKIN_E_bad_order);
	REFUSED((s.containers = ranges, ranges[1].first = UINT64_MAX,
		 ranges[1].nr = 1), AKIN_E_bad_length);
	REFUSED((s.containers = ranges, ranges[0].first = 0),
		AKIN_E_bad_order);
	REFUSED((s.containers = ranges, ranges[0].first = 5, ranges[0].nr = 0),
		AKIN_E_bad_length);
#undef REFUSED
	/* 65,535 bytes are fine, there and back. */
	long_text[SNAPSHOT_STRING_MAX] = 0;
	sample_snapshot(&s);
	s.host = long_text;
	assert_int_equal(snapshot_encode(&s, &b), 0);
	assert_int_equal(snapshot_decode(b.data, b.len, &s), 0);
	assert_string_equal(s.host, long_text);
	snapshot_release(&s);
	buf_release(&b);
}

/* Labels ------------------------------------------------------------------*/

static void test_label_fields(void **state)
{
	struct label in, out;
	struct buf b = { 0 };

	sample_label(&in);
	in.until_sec = -1;
	in.until_age_sec = UINT64_MAX;
	assert_int_equal(label_encode(&in, &b), 0);
	assert_int_equal(label_decode(b.data, b.len, &out), 0);
	/* The label's bytes may go away. */
	buf_release(&b);
	assert_memory_equal(&out.pool, &in.pool, sizeof(in.pool));
	assert_memory_equal(out.id, in.id, sizeof(in.id));
	assert_true(out.number == 7 && out.txn == 300);
	assert_int_equal(out.flags, LABEL_PROTECTED | LABEL_UNTIL);
	assert_true(out.until_sec == -1 && out.until_age_sec == UINT64_MAX);
	assert_int_equal(out.nr_tags, 2);
	assert_string_equal(out.tags[0], "daily");
	assert_string_equal(out.tags[1], "before upgrade");
	label_release(&out);
	label_release(&out);
	memset(&in, 0, sizeof(in));
	in.number = 1;
	assert_int_equal(label_encode(&in, &b), 0);
	assert_int_equal(label_decode(b.data, b.len, &out), 0);
	assert_true(!out.tags && !out.nr_tags && !out.flags);
	label_release(&out);
	buf_release(&b);
}

static int label_try(const struct label *l)
{
	struct buf b = { 0 };
	int err = label_encode(l, &b);

	buf_release(&b);
	return err;
}

static void test_label_rules(void **state)
{
	static char empty[] = "";
	char *strings[1] = { empty };
	struct label l;

#define REFUSED(change, code) do { \
	sample_label(&l); \
	change; \
	assert_int_equal(label_try(&l), -(code)); \
} while (0)
	REFUSED(l.number = 0, AKIN_E_bad_field);
	REFUSED(l.flags = 4, AKIN_E_feature);
	REFUSED(l.flags = LABEL_UNTIL, AKIN_E_bad_field);
	REFUSED(l.flags = LABEL_PROTECTED, AKIN_E_bad_field);
	REFUSED((l.flags = 0, l.until_sec = 0), AKIN_E_bad_field);
	REFUSED((l.flags = 0, l.until_age_sec = 0), AKIN_E_bad_field);
	REFUSED((l.tags = strings, l.nr_tags = 1), AKIN_E_bad_field);
	REFUSED(l.nr_tags = SNAPSHOT_STRINGS_MAX + 1, AKIN_E_bad_length);
#undef REFUSED
}

/* The policy --------------------------------------------------------------*/

static void test_rulebook_fields(void **state)
{
	struct rulebook in, out;
	struct buf b = { 0 };

	sample_rulebook(&in);
	assert_int_equal(rulebook_encode(&in, &b), 0);
	assert_int_equal(rulebook_decode(b.data, b.len, &out), 0);
	buf_reset(&b);
	assert_memory_equal(&out.pool, &in.pool, sizeof(in.pool));
	assert_true(out.txn == 300 && out.nr == 4);
	assert_string_equal(out.names[0], "daily");
	assert_string_equal(out.values[0], "7");
	assert_string_equal(out.names[2], "tag");
	assert_string_equal(out.values[2], "year's end");
	rulebook_release(&out);
	rulebook_release(&out);
	/* None is a policy, too. */
	memset(&in, 0, sizeof(in));
	assert_int_equal(rulebook_encode(&in, &b), 0);
	assert_int_equal(b.len, 0x38);
	assert_int_equal(rulebook_decode(b.data, b.len, &out), 0);
	assert_true(!out.names && !out.values && !out.nr && !out.txn);
	buf_release(&b);
}

static int rulebook_try(const struct rulebook *r)
{
	struct buf b = { 0 };
	int err = rulebook_encode(r, &b);

	buf_release(&b);
	return err;
}

static void test_rulebook_rules(void **state)
{
	static char empty[] = "", a[] = "a", b[] = "b", name[65];
	char *ab[] = { a, b }, *aa[] = { a, a }, *ba[] = { b, a };
	char *none[] = { empty, b };
	char *longer[] = { name };
	struct rulebook r = { .names = ab, .values = ab, .nr = 2 };

	memset(name, 'n', RULEBOOK_RULE_MAX);
	assert_int_equal(rulebook_try(&r), 0);
	r.values = aa;
	assert_int_equal(rulebook_try(&r), 0);
	r.names = aa;
	assert_int_equal(rulebook_try(&r), -AKIN_E_bad_order);
	r.values = ba;
	assert_int_equal(rulebook_try(&r), -AKIN_E_bad_order);
	r.values = ab;
	assert_int_equal(rulebook_try(&r), 0);
	r.names = ba;
	assert_int_equal(rulebook_try(&r), -AKIN_E_bad_order);
	r.names = none;
	assert_int_equal(rulebook_try(&r), -AKIN_E_bad_field);
	r = (struct rulebook){ .names = longer, .values = aa, .nr = 1 };
	assert_int_equal(rulebook_try(&r), 0);
	name[RULEBOOK_RULE_MAX] = 'n';
	assert_int_equal(rulebook_try(&r), -AKIN_E_bad_length);
	r.nr = RULEBOOK_MAX_RULES + 1;
	assert_int_equal(rulebook_try(&r), -AKIN_E_bad_length);
}

/* Names without as many values: nothing an encoder would make. */
static void test_rulebook_counts(void **state)
{
	const struct format_case *fc = format_case_find("policy");
	struct rulebook out;
	struct buf b = { 0 };
	size_t at;

	memset(&out, 0, sizeof(out));
	assert_int_equal(rulebook_encode(&out, &b), 0);
	b.len -= FORMAT_CHECKSUM_BYTES;
	at = format_section_begin(&b, 1 | FORMAT_SECTION_REQUIRED);
	buf_put(&b, "a\0b", 4);
	format_section_end(&b, at);
	buf_put_le64(&b, 0);
	fc->seal(b.data, b.len);
	assert_int_equal(rulebook_decode(b.data, b.len, &out),
			 -AKIN_E_bad_field);
	b.len -= FORMAT_CHECKSUM_BYTES;
	at = format_section_begin(&b, 2 | FORMAT_SECTION_REQUIRED);
	buf_put(&b, "a\0b\0c", 6);
	format_section_end(&b, at);
	buf_put_le64(&b, 0);
	fc->seal(b.data, b.len);
	assert_int_equal(rulebook_decode(b.data, b.len, &out),
			 -AKIN_E_bad_field);
	assert_true(!out.names && !out.values);
	buf_release(&b);
}

/* Runs --------------------------------------------------------------------*/

static void test_run_header_fields(void **state)
{
	u8 data[RUN_PAGE_BYTES];
	struct run_header in, out;

	sample_run_header(&in);
	run_header_encode(&in, data);
	assert_int_equal(run_header_decode(data, &out), 0);
	assert_memory_equal(&in, &out, sizeof(in));
}

static void test_run_header_rules(void **state)
{
	u8 data[RUN_PAGE_BYTES];
	struct run_header h, out;

#define REFUSED(change, code) do { \
	sample_run_header(&h); \
	change; \
	run_header_encode(&h, data); \
	assert_int_equal(run_header_decode(data, &out), -(code)); \
} while (0)
	REFUSED(h.number = 0, AKIN_E_bad_field);
	REFUSED(h.nr_entries++, AKIN_E_bad_length);
	REFUSED(h.levels[0].nr_pages = 0, AKIN_E_bad_length);
	REFUSED(h.levels[0].nr_pages = UINT64_MAX, AKIN_E_bad_length);
	REFUSED(h.levels[0].first_page = UINT64_MAX, AKIN_E_bad_length);
	REFUSED(h.levels[15].first_page = 0, AKIN_E_bad_order);
	REFUSED(h.levels[0].first_page = 3, AKIN_E_bad_order);
	REFUSED(h.levels[1].first_page = 1, AKIN_E_bad_order);
	REFUSED(h.levels[0].nr_entries = UINT64_MAX, AKIN_E_bad_length);
#undef REFUSED
}

static void test_run_page_fields(void **state)
{
	const struct run_entry *in;
	struct run_entry out[RUN_PAGE_ENTRIES];
	u8 data[RUN_PAGE_BYTES];
	bool spilled;
	u32 nr, got, i;

	sample_run_page(&in, &nr);
	run_page_encode(7, 9, in, nr, false, data);
	assert_int_equal(run_page_decode(data, 7, 9, out, &got, &spilled), 0);
	assert_int_equal(got, nr);
	assert_false(spilled);
	for (i = 0; i < nr; i++) {
		assert_true(in[i].prefix == out[i].prefix);
		assert_true(in[i].container == out[i].container);
		assert_int_equal(in[i].entry, out[i].entry);
	}
	/* Of another run, or in another place, it is not believed. */
	assert_int_equal(run_page_decode(data, 8, 9, out, &got, &spilled),
			 -AKIN_E_bad_checksum);
	assert_int_equal(run_page_decode(data, 7, 8, out, &got, &spilled),
			 -AKIN_E_bad_checksum);
	assert_int_equal(run_page_decode(data, 9, 7, out, &got, &spilled),
			 -AKIN_E_bad_checksum);
	assert_int_equal(got, 0);
}

static void test_run_page_full(void **state)
{
	struct run_entry in[RUN_PAGE_ENTRIES], out[RUN_PAGE_ENTRIES];
	u8 data[RUN_PAGE_BYTES];
	bool spilled;
	u32 nr, i;

	for (i = 0; i < RUN_PAGE_ENTRIES; i++)
		in[i] = (struct run_entry){ i * 1000, i + 1, (u16)i };
	run_page_encode(1, 0, in, RUN_PAGE_ENTRIES, true, data);
	assert_int_equal(run_page_decode(data, 1, 0, out, &nr, &spilled), 0);
	assert_int_equal(nr, RUN_PAGE_ENTRIES);
	assert_true(spilled);
	assert_true(out[254].container == 255 && out[254].prefix == 254000);
	in[0].container = 0;
	run_page_encode(1, 0, in, 1, false, data);
	assert_int_equal(run_page_decode(data, 1, 0, out, &nr, &spilled),
			 -AKIN_E_bad_field);
	in[0].container = 1;
	in[0].prefix = 2000;
	run_page_encode(1, 0, in, 2, false, data);
	assert_int_equal(run_page_decode(data, 1, 0, out, &nr, &spilled),
			 -AKIN_E_bad_order);
	run_page_encode(1, 0, NULL, 0, false, data);
	assert_int_equal(run_page_decode(data, 1, 0, out, &nr, &spilled), 0);
	assert_int_equal(nr, 0);
}

static void test_run_levels(void **state)
{
	struct fp fp = { { 0 } };

	assert_int_equal(run_level_of(&fp), 15);
	fp.b[8] = 1;
	assert_int_equal(run_level_of(&fp), 0);
	fp.b[8] = 0x40;
	assert_int_equal(run_level_of(&fp), 6);
	fp.b[8] = 0;
	fp.b[15] = 0x80;
	assert_int_equal(run_level_of(&fp), 15);
}

/* Tree records ------------------------------------------------------------*/

static void test_tree_fields(void **state)
{
	struct node in, out;
	struct buf b = { 0 };
	size_t total, len;

	sample_tree_file(&in);
	assert_int_equal(node_encode(&in, &b), 0);
	len = b.len;
	buf_put(&b, "behind", 6);
	assert_int_equal(node_decode(b.data, b.len, &out, &total), 0);
	/* The bytes may go away. */
	buf_release(&b);
	assert_int_equal(total, len);
	assert_int_equal(out.type, NODE_FILE);
	assert_int_equal(out.flags, NODE_LINKED);
	assert_string_equal(out.name, "file.txt");
	assert_int_equal(out.mode, 0644);
	assert_true(out.uid == 1000 && out.gid == 100);
	assert_true(out.mtime_sec == 1700000000 && out.ctime_sec == 1700000010);
	assert_true(out.mtime_nsec == 999999999 && out.ctime_nsec == 1);
	assert_true(out.dev == 0x801 && out.ino == 123456 && out.size == 8197);
	assert_int_equal(out.nr_xattrs, 2);
	assert_string_equal(out.xattrs[0].name, "user.a");
	assert_int_equal(out.xattrs[0].len, 1);
	assert_memory_equal(out.xattrs[0].value, "1", 1);
	assert_string_equal(out.xattrs[1].name, "user.b");
	assert_int_equal(out.xattrs[1].len, 0);
	assert_int_equal(out.content.nr, 2);
	assert_memory_equal(out.content.entries[1].data, "hello", 5);
	node_release(&out);
	node_release(&out);

	sample_tree_symlink(&in);
	assert_int_equal(node_encode(&in, &b), 0);
	assert_int_equal(node_decode(b.data, b.len, &out, &total), 0);
	assert_int_equal(out.target_len, 9);
	assert_memory_equal(out.target, "../target", 9);
	assert_true(out.mtime_sec == -1 && out.ctime_sec == INT64_MAX);
	node_release(&out);
	sample_tree_device(&in);
	buf_reset(&b);
	assert_int_equal(node_encode(&in, &b), 0);
	assert_int_equal(node_decode(b.data, b.len, &out, &total), 0);
	assert_true(out.rdev == 0x800);
	node_release(&out);
	buf_release(&b);
}

static void test_tree_partial(void **state)
{
	static const u8 endless[] = { 0xff, 0xff, 0xff, 0xff };
	static const u8 big[] = { 0x81, 0x80, 0x80, 0x04 };
	struct node in, out;
	struct buf b = { 0 };
	size_t total, i;

	sample_tree_file(&in);
	assert_int_equal(node_encode(&in, &b), 0);
	assert_int_equal(node_decode(b.data, 0, &out, &total),
			 -AKIN_E_short_read);
	assert_int_equal(total, 0);
	for (i = 1; i < b.len; i++) {
		assert_int_equal(node_decode(b.data, i, &out, &total),
				 -AKIN_E_short_read);
		assert_int_equal(total, b.len);
	}
	assert_int_equal(node_decode(endless, 3, &out, &total),
			 -AKIN_E_short_read);
	assert_int_equal(node_decode(endless, 4, &out, &total),
			 -AKIN_E_bad_length);
	assert_int_equal(node_decode(big, 4, &out, &total),
			 -AKIN_E_bad_length);
	buf_release(&b);
}

static int node_try(const struct node *n)
{
	struct buf b = { 0 };
	int err = node_encode(n, &b);

	buf_release(&b);
	return err;
}

static void test_tree_rules(void **state)
{
	static char long_name[NODE_NAME_MAX + 2];
	struct node_xattr xattrs[2];
	struct node n;

	memset(long_name, 'x', sizeof(long_name) - 1);
#define REFUSED(change, code) do { \
	sample_tree_file(&n); \
	memcpy(xattrs, n.xattrs, sizeof(xattrs)); \
	n.xattrs = xattrs; \
	change; \
	assert_int_equal(node_try(&n), -(code)); \
} while (0)
	REFUSED(n.type = 0, AKIN_E_feature);
	REFUSED(n.type = 9, AKIN_E_feature);
	REFUSED(n.flags = 0x10, AKIN_E_feature);
	REFUSED(n.flags = NODE_PARTIAL, AKIN_E_bad_field);
	REFUSED(n.name = "", AKIN_E_bad_field);
	REFUSED(n.name = ".", AKIN_E_bad_field);
	REFUSED(n.name = "..", AKIN_E_bad_field);
	REFUSED(n.name = "a/b", AKIN_E_bad_field);
	REFUSED(n.name = long_name, AKIN_E_bad_field);
	REFUSED(n.mode = 0100644, AKIN_E_bad_field);
	REFUSED(n.mtime_nsec = 1000000000, AKIN_E_bad_field);
	REFUSED(n.ctime_nsec = 1000000000, AKIN_E_bad_field);
	REFUSED(n.rdev = 1, AKIN_E_bad_field);
	REFUSED(n.type = NODE_DIR, AKIN_E_bad_field);
	REFUSED(n.target_len = 1, AKIN_E_bad_field);
	REFUSED((n.type = NODE_FIFO, n.size = 0), AKIN_E_bad_field);
	REFUSED(xattrs[1].name = "user.a", AKIN_E_bad_order);
	REFUSED(xattrs[1].name = "", AKIN_E_bad_field);
	REFUSED(xattrs[1].name = long_name, AKIN_E_bad_field);
	REFUSED(xattrs[1].len = NODE_XATTR_VALUE_MAX + 1, AKIN_E_bad_length);
	REFUSED(n.nr_xattrs = NODE_XATTRS_MAX + 1, AKIN_E_bad_length);
	REFUSED(n.content.nr = CONTENT_INLINE_MAX + 1, AKIN_E_bad_length);
	REFUSED(n.content.entries[0].len = 0, AKIN_E_bad_length);
#undef REFUSED
	sample_tree_symlink(&n);
	n.target_len = 0;
	assert_int_equal(node_try(&n), -AKIN_E_bad_length);
	n.target_len = 3;
	n.target = (const u8 *)"a\0b";
	assert_int_equal(node_try(&n), -AKIN_E_bad_field);
	/* The longest name is fine. */
	sample_tree_file(&n);
	long_name[NODE_NAME_MAX] = 0;
	n.name = long_name;
	assert_int_equal(node_try(&n), 0);
}

/* Longer lengths of the record take more bytes in front. */
static void test_tree_record_sizes(void **state)
{
	static u8 value[NODE_XATTR_VALUE_MAX];
	static const u32 lens[] = { 0, 1, 80, 100, 127, 128, 16000, 16300,
				    NODE_XATTR_VALUE_MAX };
	struct node_xattr x = { "user.x", value, 0 };
	struct node n, out;
	struct buf b = { 0 };
	size_t i, total;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		sample_tree_device(&n);
		x.len = lens[i];
		n.xattrs = &x;
		n.nr_xattrs = 1;
		buf_reset(&b);
		buf_put(&b, "before", 6);
		assert_int_equal(node_encode(&n, &b), 0);
		assert_memory_equal(b.data, "before", 6);
		assert_int_equal(node_decode(b.data + 6, b.len - 6, &out,
					     &total), 0);
		assert_int_equal(total, b.len - 6);
		assert_int_equal(out.xattrs[0].len, lens[i]);
		node_release(&out);
	}
	buf_release(&b);
}

static void test_name_order(void **state)
{
	assert_true(node_name_compare("a", "b") < 0);
	assert_true(node_name_compare("a", "ab") < 0);
	assert_true(node_name_compare("a\x7f", "a\x80") < 0);
	assert_true(node_name_compare("\xff", "z") > 0);
	assert_int_equal(node_name_compare("same", "same"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_super_fields),
		cmocka_unit_test(test_super_copies),
		cmocka_unit_test(test_super_errors),
		cmocka_unit_test(test_super_newer_wins),
		cmocka_unit_test(test_super_rules),
		cmocka_unit_test(test_snapshot_fields),
		cmocka_unit_test(test_snapshot_least),
		cmocka_unit_test(test_snapshot_rules),
		cmocka_unit_test(test_label_fields),
		cmocka_unit_test(test_label_rules),
		cmocka_unit_test(test_rulebook_fields),
		cmocka_unit_test(test_rulebook_rules),
		cmocka_unit_test(test_rulebook_counts),
		cmocka_unit_test(test_run_header_fields),
		cmocka_unit_test(test_run_header_rules),
		cmocka_unit_test(test_run_page_fields),
		cmocka_unit_test(test_run_page_full),
		cmocka_unit_test(test_run_levels),
		cmocka_unit_test(test_tree_fields),
		cmocka_unit_test(test_tree_partial),
		cmocka_unit_test(test_tree_rules),
		cmocka_unit_test(test_tree_record_sizes),
		cmocka_unit_test(test_name_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
