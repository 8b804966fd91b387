/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples. Their values say which byte is which in a hex dump.
 */
#include "base/mem.h"
#include "format_samples.h"

#define FP_OF(x) { { x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, \
		     16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		     30, 31 } }

static const struct pool_id sample_pool = {
	{ 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa,
	  0xab, 0xac, 0xad, 0xae, 0xaf }
};

void sample_container_header(struct container_header *out)
{
	memset(out, 0, sizeof(*out));
	out->pool = sample_pool;
	out->number = SAMPLE_CONTAINER;
	out->generation = 2;
	out->kind = CONTAINER_DATA;
	out->session = 7;
	memset(out->salt, 0x5a, sizeof(out->salt));
}

void sample_container_footer(struct container_footer *out)
{
	memset(out, 0, sizeof(*out));
	out->number = SAMPLE_CONTAINER;
	out->generation = 2;
	out->dir_off = 0x123456;
	out->dir_len = 0x789;
}

void sample_group(struct group_header *out, const u8 **payload_ret)
{
	static struct group_chunk chunks[] = { { 10, 100 },
					       { 11, 8192 },
					       { 14, 3000 } };
	static struct group_ref refs[] = { { 0x100, 5, 2 }, { 0x129, 0, 1 } };

	memset(out, 0, sizeof(*out));
	out->number = 3;
	out->codec_id = 2;
	out->depth = 1;
	out->raw_len = 100 + 8192 + 3000;
	out->stored_len = 16;
	out->ref_raw_len = 20000;
	out->nr_chunks = ARRAY_SIZE(chunks);
	out->nr_refs = ARRAY_SIZE(refs);
	out->chunks = chunks;
	out->refs = refs;
	*payload_ret = (const u8 *)"sixteen bytes ..";
}

void sample_group_raw(struct group_header *out, const u8 **payload_ret)
{
	static struct group_chunk chunks[] = { { 0, 5 }, { 1, 7 } };

	memset(out, 0, sizeof(*out));
	out->flags = GROUP_DIRECT;
	out->raw_len = out->stored_len = 12;
	out->nr_chunks = ARRAY_SIZE(chunks);
	out->chunks = chunks;
	*payload_ret = (const u8 *)"first2ndpart";
}

void sample_directory(struct directory *out)
{
	static struct dir_entry entries[] = {
		{ FP_OF(0xf0), 0, 100, 0, 0, 0 },
		{ FP_OF(0xf1), 1, 8192, 0, 100, 0 },
		{ FP_OF(0xf2), 2, 3000, 1, 0, 0 },
	};
	static struct dir_group groups[] = {
		{ 0, CONTAINER_HEADER_BYTES, 4000, 8292, 0, 2, 2, 1 },
		{ 1, CONTAINER_HEADER_BYTES + 4000, 3040, 3000, 2, 1, 0, 0 },
	};
	static u64 bases[] = { 0x100, 0x129 };
	static struct dir_sketch sketches[] = {
		{ { 0x11111111, 0x22222222, 0x33333333 } },
		{ { 0, 0, 0 } },
		{ { 0x44444444, 0x55555555, 0x66666666 } },
	};

	memset(out, 0, sizeof(*out));
	out->container = SAMPLE_CONTAINER;
	out->generation = 2;
	out->kind = CONTAINER_DATA;
	out->sketches = sketches;
	out->nr_entries = ARRAY_SIZE(entries);
	out->nr_groups = ARRAY_SIZE(groups);
	out->nr_bases = ARRAY_SIZE(bases);
	out->entries = entries;
	out->groups = groups;
	out->bases = bases;
}

void sample_directory_meta(struct directory *out)
{
	static struct dir_entry entries[] = {
		{ FP_OF(0xf0), 4, 100, 0, 0, 0 },
		{ FP_OF(0xf1), 5, 8192, 0, 100, 9 },
		{ FP_OF(0xf2), 300, 3000, 1, 0, 0 },
	};
	static struct dir_group groups[] = {
		{ 2, 0x200, 4000, 8292, 0, 2, 2, 1 },
		{ 9, 0x2000, 3040, 3000, 2, 1, 0, 0 },
	};
	static u64 first[] = { 1, 2, 300 }, third[] = { 0x1000000 };
	static struct hint hints[] = { { first, 3 }, { NULL, 0 },
				       { third, 1 } };
	static const struct fp leaf = FP_OF(0xee);

	memset(out, 0, sizeof(*out));
	out->container = SAMPLE_CONTAINER;
	out->kind = CONTAINER_METADATA;
	out->first_leaf = leaf;
	out->nr_entries = ARRAY_SIZE(entries);
	out->nr_groups = ARRAY_SIZE(groups);
	out->entries = entries;
	out->groups = groups;
	out->hints = hints;
}

void sample_leaf(const struct recipe_entry **e, u32 *nr_ret)
{
	static const struct recipe_entry entries[] = {
		{ .type = RECIPE_CHUNK, .len = 8192, .count = 1,
		  .fp = FP_OF(0xf1) },
		{ .type = RECIPE_HOLE, .len = 1ull << 40, .count = 1 },
		{ .type = RECIPE_REPEAT, .len = 4096, .count = 256,
		  .fp = FP_OF(0xf2) },
		{ .type = RECIPE_INLINE, .len = 5, .count = 1,
		  .data = (const u8 *)"hello" },
	};

	*e = entries;
	*nr_ret = ARRAY_SIZE(entries);
}

void sample_node(const struct recipe_child **c, u32 *nr_ret)
{
	static const struct recipe_child children[] = {
		{ FP_OF(0xf3), 500000, 60 },
		{ FP_OF(0xf4), 1ull << 40, 2 },
	};

	*c = children;
	*nr_ret = ARRAY_SIZE(children);
}

void sample_content_inline(struct content *out)
{
	memset(out, 0, sizeof(*out));
	out->kind = CONTENT_ENTRIES;
	out->nr = 2;
	out->bytes = 8197;
	out->entries[0] = (struct recipe_entry){ .type = RECIPE_CHUNK,
						 .len = 8192, .count = 1,
						 .fp = FP_OF(0xf1) };
	out->entries[1] = (struct recipe_entry){ .type = RECIPE_INLINE,
						 .len = 5, .count = 1,
						 .data = (const u8 *)"hello" };
}

void sample_content_root(struct content *out)
{
	static const struct fp root = FP_OF(0xf5);

	memset(out, 0, sizeof(*out));
	out->kind = CONTENT_ROOT;
	out->level = 2;
	out->bytes = 1000000;
	out->root = root;
}

void sample_super(struct super *out)
{
	memset(out, 0, sizeof(*out));
	out->pool = sample_pool;
	out->role = SUPER_DATA;
	out->sequence = 5;
	out->created_sec = 1700000000;
	out->hash_id = 1;
	out->chunk_method = 1;
	out->chunk_min = 2048;
	out->chunk_avg = 8192;
	out->chunk_max = 65536;
	out->codec_id = 2;
	out->codec_level = 3;
	out->group_bytes = 128 * KiB;
	out->container_bytes = 8 * MiB;
	out->container_chunks = 4096;
	out->delta_depth = 2;
	memset(out->share_seed, 0x53, sizeof(out->share_seed));
	out->keys[0].kind = SUPER_KEY_CLEAR;
	memset(out->keys[0].wrapped, 0x4b, 32);
}

void sample_snapshot(struct snapshot *out)
{
	static char host[] = "host", user[] = "user", command[] = "akin backup";
	static char path[] = "/home", path2[] = "/srv", tag[] = "daily";
	static char *paths[] = { path, path2 }, *tags[] = { tag };
	static u64 hint[] = { 0x128, 0x12a };
	static struct number_range containers[] = { { 0x120, 8 }, { 0x12a, 1 } };
	static const struct snapshot_counts counts = { 1, 2, 3, 1000, 1000, 10,
						       9, 900, 400, 100,
						       123456789, 0 };

	memset(out, 0, sizeof(*out));
	out->pool = sample_pool;
	out->number = 7;
	memset(out->id, 0x1d, sizeof(out->id));
	out->session = 12;
	out->time_sec = 1700000000;
	out->time_nsec = 5;
	out->utc_offset_sec = 3600;
	out->flags = SNAPSHOT_PARTIAL;
	out->host = host;
	out->user = user;
	out->command = command;
	out->paths = paths;
	out->nr_paths = ARRAY_SIZE(paths);
	out->tags = tags;
	out->nr_tags = ARRAY_SIZE(tags);
	sample_content_inline(&out->root);
	out->root_hint.containers = hint;
	out->root_hint.nr = ARRAY_SIZE(hint);
	out->counts = counts;
	out->containers = containers;
	out->nr_containers = ARRAY_SIZE(containers);
}

void sample_label(struct label *out)
{
	static char tag[] = "daily", tag2[] = "before upgrade";
	static char *tags[] = { tag, tag2 };

	memset(out, 0, sizeof(*out));
	out->pool = sample_pool;
	out->number = 7;
	memset(out->id, 0x1d, sizeof(out->id));
	out->txn = 300;
	out->flags = LABEL_PROTECTED | LABEL_UNTIL;
	out->until_sec = 1800000000;
	out->until_age_sec = 100000000;
	out->tags = tags;
	out->nr_tags = ARRAY_SIZE(tags);
}

void sample_rulebook(struct rulebook *out)
{
	static char daily[] = "daily", tag[] = "tag", within[] = "within";
	static char seven[] = "7", first[] = "before upgrade";
	static char second[] = "year's end", span[] = "30d";
	static char *names[] = { daily, tag, tag, within };
	static char *values[] = { seven, first, second, span };

	memset(out, 0, sizeof(*out));
	out->pool = sample_pool;
	out->txn = 300;
	out->names = names;
	out->values = values;
	out->nr = ARRAY_SIZE(names);
}

void sample_run_header(struct run_header *out)
{
	memset(out, 0, sizeof(*out));
	out->pool = sample_pool;
	out->number = SAMPLE_RUN;
	out->nr_entries = 900;
	out->levels[15] = (struct run_level){ 1, 1, 1 };
	out->levels[1] = (struct run_level){ 2, 2, 299 };
	/* A page more than prefixes address lies between the two. */
	out->levels[0] = (struct run_level){ 5, 4, 600 };
}

void sample_run_page(const struct run_entry **e, u32 *nr_ret)
{
	static const struct run_entry entries[] = {
		{ 0x1122334455667788, 0x12a, 17 },
		{ 0x1122334455667788, 0x12b, 0 },
		{ 0xffffffffffffffff, 0xffffffffffff, 0x3fff },
	};

	*e = entries;
	*nr_ret = ARRAY_SIZE(entries);
}

void sample_tree_file(struct node *out)
{
	static struct node_xattr xattrs[] = {
		{ "user.a", (const u8 *)"1", 1 },
		{ "user.b", (const u8 *)"", 0 },
	};

	memset(out, 0, sizeof(*out));
	out->type = NODE_FILE;
	out->flags = NODE_LINKED;
	out->name = "file.txt";
	out->mode = 0644;
	out->uid = 1000;
	out->gid = 100;
	out->mtime_sec = 1700000000;
	out->mtime_nsec = 999999999;
	out->ctime_sec = 1700000010;
	out->ctime_nsec = 1;
	out->dev = 0x801;
	out->ino = 123456;
	out->size = 8197;
	out->nr_xattrs = ARRAY_SIZE(xattrs);
	out->xattrs = xattrs;
	sample_content_inline(&out->content);
}

void sample_tree_symlink(struct node *out)
{
	memset(out, 0, sizeof(*out));
	out->type = NODE_SYMLINK;
	out->name = "link";
	out->mode = 0777;
	out->mtime_sec = -1;
	out->ctime_sec = INT64_MAX;
	out->target = (const u8 *)"../target";
	out->target_len = 9;
}

void sample_tree_device(struct node *out)
{
	memset(out, 0, sizeof(*out));
	out->type = NODE_BLOCKDEV;
	out->name = "sda";
	out->mode = 0660;
	out->gid = 6;
	out->rdev = 0x800;
}

u8 *sample_parity(struct parity_map *out)
{
	u8 *table;
	u32 i;

	parity_map_plan(10000, 10, out);
	out->pool = sample_pool;
	out->number = SAMPLE_CONTAINER;
	out->generation = 2;
	table = mem_alloc(parity_table_bytes(out));
	for (i = 0; table && i < out->nr_sectors + out->nr_parity; i++)
		parity_table_put(table, i, 0x1111111111111111 * (i + 1));
	return table;
}

void sample_similar(struct similar_image *img, const u64 **keys_ret,
		    const u32 **containers_ret)
{
	static const u64 keys[] = { 0x1111111111111110, 0x2222222222222221,
				    0x333333333333333b };
	static const u32 containers[] = { 0x101, 0x101, 0x102 };

	memset(img, 0, sizeof(*img));
	img->pool = sample_pool;
	img->covered = 0x102;
	img->levels = 12;
	img->nr = ARRAY_SIZE(keys);
	*keys_ret = keys;
	*containers_ret = containers;
}
