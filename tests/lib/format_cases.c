/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of structures, and the check that every accepted byte string is
 * the one encoding of what it says.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/format_internal.h"

#include "format_samples.h"

/* What was accepted must be encodable; only memory may be short. */
static int must(int err)
{
	if (err && err != -AKIN_E_nomem) {
		(void)fprintf(stderr, "accepted, but cannot be encoded: %s\n",
			      akin_error_name(err));
		abort();
	}
	return err;
}

static int encode_header(struct buf *out)
{
	struct container_header h;
	u8 *p = buf_extend(out, CONTAINER_HEADER_BYTES);

	sample_container_header(&h);
	if (p)
		container_header_encode(&h, p);
	return buf_error(out);
}

static int decode_header(const u8 *data, size_t len, struct buf *again)
{
	struct container_header h;
	u8 *p;
	int err;

	if (len != CONTAINER_HEADER_BYTES)
		return -AKIN_E_bad_length;
	err = container_header_decode(data, &h);
	p = err ? NULL : buf_extend(again, len);
	if (p)
		container_header_encode(&h, p);
	return err;
}

static int encode_footer(struct buf *out)
{
	struct container_footer f;
	u8 *p = buf_extend(out, CONTAINER_FOOTER_BYTES);

	sample_container_footer(&f);
	if (p)
		container_footer_encode(&f, p);
	return buf_error(out);
}

static int decode_footer(const u8 *data, size_t len, struct buf *again)
{
	struct container_footer f;
	u8 *p;
	int err;

	if (len != CONTAINER_FOOTER_BYTES)
		return -AKIN_E_bad_length;
	err = container_footer_decode(data, &f);
	p = err ? NULL : buf_extend(again, len);
	if (p)
		container_footer_encode(&f, p);
	return err;
}

static int encode_group(struct buf *out)
{
	struct group_header g;
	const u8 *payload;

	sample_group(&g, &payload);
	return group_encode(&g, SAMPLE_CONTAINER, payload, out);
}

static int encode_group_raw(struct buf *out)
{
	struct group_header g;
	const u8 *payload;

	sample_group_raw(&g, &payload);
	return group_encode(&g, SAMPLE_CONTAINER, payload, out);
}

static int decode_group(const u8 *data, size_t len, struct buf *again)
{
	struct group_header g;
	const u8 *payload;
	size_t total;
	int err;

	err = group_decode(data, len, SAMPLE_CONTAINER, &g, &payload, &total);
	if (err)
		return err;
	if (total != len)
		err = -AKIN_E_bad_length;
	else
		err = must(group_encode(&g, SAMPLE_CONTAINER, payload, again));
	group_header_release(&g);
	return err;
}

static int encode_directory(struct buf *out)
{
	struct directory d;

	sample_directory(&d);
	return directory_encode(&d, out);
}

static int encode_directory_meta(struct buf *out)
{
	struct directory d;

	sample_directory_meta(&d);
	return directory_encode(&d, out);
}

static int decode_directory(const u8 *data, size_t len, struct buf *again)
{
	struct directory d;
	int err;

	err = directory_decode(data, len, &d);
	if (!err)
		err = must(directory_encode(&d, again));
	directory_release(&d);
	return err;
}

static int encode_leaf(struct buf *out)
{
	const struct recipe_entry *e;
	u32 nr;

	sample_leaf(&e, &nr);
	return recipe_leaf_encode(e, nr, out);
}

static int encode_node(struct buf *out)
{
	const struct recipe_child *c;
	u32 nr;

	sample_node(&c, &nr);
	return recipe_node_encode(2, c, nr, out);
}

static int decode_piece(const u8 *data, size_t len, struct buf *again)
{
	struct recipe_piece p;
	int err;

	err = recipe_piece_decode(data, len, &p);
	if (!err && p.level)
		err = must(recipe_node_encode(p.level, p.children, p.nr,
					      again));
	else if (!err)
		err = must(recipe_leaf_encode(p.entries, p.nr, again));
	recipe_piece_release(&p);
	return err;
}

static int encode_content_inline(struct buf *out)
{
	struct content ct;

	sample_content_inline(&ct);
	content_encode(&ct, out);
	return buf_error(out);
}

static int encode_content_root(struct buf *out)
{
	struct content ct;

	sample_content_root(&ct);
	content_encode(&ct, out);
	return buf_error(out);
}

static int decode_content(const u8 *data, size_t len, struct buf *again)
{
	struct cursor c = cursor_over(data, len);
	struct content ct;
	int err;

	err = content_decode(&c, &ct);
	if (!err && cursor_left(&c))
		err = -AKIN_E_bad_length;
	if (err)
		return err;
	content_encode(&ct, again);
	return buf_error(again);
}

static int encode_tree_file(struct buf *out)
{
	struct node n;

	sample_tree_file(&n);
	return node_encode(&n, out);
}

static int encode_tree_symlink(struct buf *out)
{
	struct node n;

	sample_tree_symlink(&n);
	return node_encode(&n, out);
}

static int encode_tree_device(struct buf *out)
{
	struct node n;

	sample_tree_device(&n);
	return node_encode(&n, out);
}

static int decode_tree(const u8 *data, size_t len, struct buf *again)
{
	struct node n;
	size_t total;
	int err;

	err = node_decode(data, len, &n, &total);
	if (!err && total != len)
		err = -AKIN_E_bad_length;
	if (!err)
		err = must(node_encode(&n, again));
	node_release(&n);
	return err;
}

static int encode_super(struct buf *out)
{
	struct super s;
	u8 *p = buf_extend(out, SUPER_FILE_BYTES);

	sample_super(&s);
	return p ? super_encode(&s, p) : buf_error(out);
}

static int decode_super(const u8 *data, size_t len, struct buf *again)
{
	struct super s;
	u8 *p;
	int err;

	if (len != SUPER_FILE_BYTES)
		return -AKIN_E_bad_length;
	err = super_decode(data, len, &s, NULL, NULL);
	if (err)
		return err;
	p = buf_extend(again, SUPER_FILE_BYTES);
	if (!p)
		return buf_error(again);
	err = must(super_encode(&s, p));
	/* Copies may differ: one of them is what was read. */
	if (s.version == FORMAT_VERSION && memcmp(p, data, SUPER_COPY_BYTES) &&
	    memcmp(p, data + SUPER_COPY_BYTES, SUPER_COPY_BYTES))
		(void)must(-AKIN_E_bad_data);
	memcpy(p, data, SUPER_FILE_BYTES);
	return err;
}

static int encode_snapshot(struct buf *out)
{
	struct snapshot s;

	sample_snapshot(&s);
	return snapshot_encode(&s, out);
}

static int decode_snapshot(const u8 *data, size_t len, struct buf *again)
{
	struct snapshot s;
	int err;

	err = snapshot_decode(data, len, &s);
	if (!err)
		err = must(snapshot_encode(&s, again));
	snapshot_release(&s);
	return err;
}

static int encode_label(struct buf *out)
{
	struct label l;

	sample_label(&l);
	return label_encode(&l, out);
}

static int decode_label(const u8 *data, size_t len, struct buf *again)
{
	struct label l;
	int err;

	err = label_decode(data, len, &l);
	if (!err)
		err = must(label_encode(&l, again));
	label_release(&l);
	return err;
}

static int encode_rulebook(struct buf *out)
{
	struct rulebook r;

	sample_rulebook(&r);
	return rulebook_encode(&r, out);
}

static int decode_rulebook(const u8 *data, size_t len, struct buf *again)
{
	struct rulebook r;
	int err;

	err = rulebook_decode(data, len, &r);
	if (!err)
		err = must(rulebook_encode(&r, again));
	rulebook_release(&r);
	return err;
}

static int encode_run_header(struct buf *out)
{
	struct run_header h;
	u8 *p = buf_extend(out, RUN_PAGE_BYTES);

	sample_run_header(&h);
	if (p)
		run_header_encode(&h, p);
	return buf_error(out);
}

static int decode_run_header(const u8 *data, size_t len, struct buf *again)
{
	struct run_header h;
	u8 *p;
	int err;

	if (len != RUN_PAGE_BYTES)
		return -AKIN_E_bad_length;
	err = run_header_decode(data, &h);
	p = err ? NULL : buf_extend(again, len);
	if (p)
		run_header_encode(&h, p);
	return err;
}

static int encode_run_page(struct buf *out)
{
	const struct run_entry *e;
	u8 *p = buf_extend(out, RUN_PAGE_BYTES);
	u32 nr;

	sample_run_page(&e, &nr);
	if (p)
		run_page_encode(SAMPLE_RUN, SAMPLE_PAGE, e, nr, true, p);
	return buf_error(out);
}

static int decode_run_page(const u8 *data, size_t len, struct buf *again)
{
	struct run_entry e[RUN_PAGE_ENTRIES];
	bool spilled;
	u32 nr;
	u8 *p;
	int err;

	if (len != RUN_PAGE_BYTES)
		return -AKIN_E_bad_length;
	err = run_page_decode(data, SAMPLE_RUN, SAMPLE_PAGE, e, &nr, &spilled);
	p = err ? NULL : buf_extend(again, len);
	if (p)
		run_page_encode(SAMPLE_RUN, SAMPLE_PAGE, e, nr, spilled, p);
	return err;
}

/* A right checksum for any bytes ------------------------------------------*/

static void seal_at(u8 *data, size_t len, size_t at)
{
	if (len >= at + FORMAT_CHECKSUM_BYTES)
		put_le64(data + at, format_checksum(data, at));
}

static void seal_header(u8 *data, size_t len)
{
	seal_at(data, len, CONTAINER_HEADER_BYTES - FORMAT_CHECKSUM_BYTES);
}

static void seal_footer(u8 *data, size_t len)
{
	seal_at(data, len, CONTAINER_FOOTER_BYTES - FORMAT_CHECKSUM_BYTES);
}

static void seal_group(u8 *data, size_t len)
{
	if (len < 16)
		return;
	put_le32(data + 4, (u32)len);
	put_le64(data + 8, format_checksum_seeded(data + 16, len - 16,
						  SAMPLE_CONTAINER));
}

static void seal_tail(u8 *data, size_t len)
{
	if (len >= FORMAT_CHECKSUM_BYTES)
		seal_at(data, len, len - FORMAT_CHECKSUM_BYTES);
}

static void seal_super(u8 *data, size_t len)
{
	seal_at(data, len, SUPER_COPY_BYTES - FORMAT_CHECKSUM_BYTES);
	if (len >= SUPER_FILE_BYTES)
		seal_tail(data + SUPER_COPY_BYTES, SUPER_COPY_BYTES);
}

static void seal_snapshot(u8 *data, size_t len)
{
	if (len >= 16)
		put_le32(data + 12, (u32)len);
	seal_tail(data, len);
}

static void seal_run_header(u8 *data, size_t len)
{
	seal_at(data, len, RUN_PAGE_BYTES - FORMAT_CHECKSUM_BYTES);
}

static void seal_run_page(u8 *data, size_t len)
{
	u8 seed[16];

	if (len < RUN_PAGE_BYTES)
		return;
	put_le64(seed, SAMPLE_RUN);
	put_le64(seed + 8, SAMPLE_PAGE);
	put_le64(data + 8, 0);
	put_le64(data + 8,
		 format_checksum_seeded(data, RUN_PAGE_BYTES,
					format_checksum(seed, sizeof(seed))));
}

static int encode_similar(struct buf *out)
{
	struct similar_image img;
	const u32 *containers;
	const u64 *keys;
	u32 i;

	sample_similar(&img, &keys, &containers);
	similar_image_begin(&img, out);
	for (i = 0; i < img.nr; i++)
		similar_image_put(out, keys[i], containers[i]);
	return similar_image_end(out, 0);
}

static int decode_similar(const u8 *data, size_t len, struct buf *again)
{
	size_t start = again->len;
	struct similar_image img;
	u32 i, container;
	u64 key;
	int err;

	err = similar_image_decode(data, len, &img);
	if (err)
		return err;
	similar_image_begin(&img, again);
	for (i = 0; i < img.nr; i++) {
		similar_image_get(&img, i, &key, &container);
		similar_image_put(again, key, container);
	}
	return must(similar_image_end(again, start));
}

/* Head and table, without the sectors that they speak of. */
static int encode_parity(struct buf *out)
{
	struct parity_map map;
	u8 head[PARITY_HEAD_BYTES];
	u8 *table;

	table = sample_parity(&map);
	if (!table)
		return -AKIN_E_nomem;
	parity_head_encode(&map, table, head);
	buf_put(out, head, sizeof(head));
	buf_put(out, table, parity_table_bytes(&map));
	mem_free(table);
	return buf_error(out);
}

static int decode_parity(const u8 *data, size_t len, struct buf *again)
{
	struct parity_map map;
	u8 head[PARITY_HEAD_BYTES];
	const u8 *table = data + PARITY_HEAD_BYTES;
	int err;

	if (len < PARITY_HEAD_BYTES)
		return -AKIN_E_bad_length;
	err = parity_head_decode(data, &map);
	if (!err && len != PARITY_HEAD_BYTES + parity_table_bytes(&map))
		err = -AKIN_E_bad_length;
	if (!err)
		err = parity_table_check(&map, table);
	if (err)
		return err;
	parity_head_encode(&map, table, head);
	buf_put(again, head, sizeof(head));
	buf_put(again, table, parity_table_bytes(&map));
	return must(buf_error(again));
}

static void seal_parity(u8 *data, size_t len)
{
	if (len < PARITY_HEAD_BYTES)
		return;
	put_le64(data + 0x50, format_checksum(data + PARITY_HEAD_BYTES,
					      len - PARITY_HEAD_BYTES));
	seal_at(data, len, PARITY_HEAD_BYTES - FORMAT_CHECKSUM_BYTES);
}

const struct format_case format_cases[] = {
	{ "container-header", "container.md", "container",
	  encode_header, decode_header, seal_header, true, false },
	{ "container-footer", "container.md", "container",
	  encode_footer, decode_footer, seal_footer, true, false },
	{ "group", "container.md", "group",
	  encode_group, decode_group, seal_group, false, false },
	{ "group-raw", "container.md", "group",
	  encode_group_raw, decode_group, seal_group, false, false },
	{ "parity", "parity.md", "parity",
	  encode_parity, decode_parity, seal_parity, true, false },
	{ "directory", "directory.md", "directory",
	  encode_directory, decode_directory, seal_tail, true, true },
	{ "directory-meta", "directory.md", "directory",
	  encode_directory_meta, decode_directory, seal_tail, true, true },
	{ "leaf", "recipe.md", "recipe",
	  encode_leaf, decode_piece, NULL, false, false },
	{ "node", "recipe.md", "recipe",
	  encode_node, decode_piece, NULL, false, false },
	{ "content-entries", "recipe.md", "recipe",
	  encode_content_inline, decode_content, NULL, false, false },
	{ "content-root", "recipe.md", "recipe",
	  encode_content_root, decode_content, NULL, false, false },
	{ "tree-file", "tree.md", "tree",
	  encode_tree_file, decode_tree, NULL, false, false },
	{ "tree-symlink", "tree.md", "tree",
	  encode_tree_symlink, decode_tree, NULL, false, false },
	{ "tree-device", "tree.md", "tree",
	  encode_tree_device, decode_tree, NULL, false, false },
	{ "super", "super.md", "super",
	  encode_super, decode_super, seal_super, true, false },
	{ "snapshot", "snapshot.md", "snapshot",
	  encode_snapshot, decode_snapshot, seal_snapshot, true, true },
	{ "label", "snapshot.md", "label",
	  encode_label, decode_label, seal_snapshot, true, true },
	{ "policy", "policy.md", "policy",
	  encode_rulebook, decode_rulebook, seal_snapshot, true, true },
	{ "run-header", "run.md", "run",
	  encode_run_header, decode_run_header, seal_run_header, true, false },
	{ "run-page", "run.md", "run",
	  encode_run_page, decode_run_page, seal_run_page, false, false },
	{ "similar", "similar.md", "similar",
	  encode_similar, decode_similar, seal_tail, true, false },
};
const size_t nr_format_cases = ARRAY_SIZE(format_cases);

const struct format_case *format_case_find(const char *name)
{
	size_t i;

	for (i = 0; i < nr_format_cases; i++)
		if (!strcmp(format_cases[i].name, name))
			return &format_cases[i];
	return NULL;
}

static void case_fail(const struct format_case *fc, const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", fc->name, what);
	abort();
}

int format_case_check(const struct format_case *fc, const u8 *data, size_t len)
{
	struct buf again = { 0 }, third = { 0 };
	bool newer;
	int err;

	err = fc->decode(data, len, &again);
	if (err)
		goto out;
	newer = fc->versioned && get_le32(data + 8) != FORMAT_VERSION;
	if (newer || (fc->sections && again.len < len)) {
		if (fc->decode(again.data, again.len, &third) ||
		    third.len != again.len ||
		    memcmp(third.data, again.data, again.len))
			case_fail(fc, "encoding does not read as itself");
	} else if (again.len != len || memcmp(again.data, data, len)) {
		case_fail(fc, "accepted, but not as the encoding of itself");
	}
out:
	buf_release(&again);
	buf_release(&third);
	return err;
}

void format_case_fuzz(const struct format_case *fc, const u8 *data, size_t len)
{
	u8 *copy;

	(void)format_case_check(fc, data, len);
	if (!fc->seal || !len)
		return;
	/* Of exactly that size, so that a sanitizer sees reads behind it. */
	copy = mem_dup(data, len);
	if (!copy)
		return;
	fc->seal(copy, len);
	(void)format_case_check(fc, copy, len);
	mem_free(copy);
}

void format_hexdump(const u8 *data, size_t len, struct buf *out)
{
	char line[80];
	bool same = false;
	size_t off, i, n;

	for (off = 0; off < len; off += 16) {
		if (off && off + 16 < len &&
		    !memcmp(data + off, data + off - 16, 16)) {
			if (!same)
				buf_put(out, "*\n", 2);
			same = true;
			continue;
		}
		same = false;
		n = (size_t)snprintf(line, sizeof(line), "%08zx ", off);
		for (i = off; i < off + 16 && i < len; i++)
			n += (size_t)snprintf(line + n, sizeof(line) - n,
					      i % 16 == 8 ? "  %02x" : " %02x",
					      data[i]);
		line[n++] = '\n';
		buf_put(out, line, n);
	}
}
