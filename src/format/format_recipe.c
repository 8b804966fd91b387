/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes: entries, leaves, nodes, and the content field of whatever names an
 * object.
 *
 *	entry		u8 type, varint len,
 *			chunk: fp; repeat: varint count, fp; inline: bytes
 *	piece		u8 'R', u8 level, varint nr,
 *			leaf: nr entries; node: nr x (fp, varints bytes, entries)
 *	content		u8 kind | n << 2,
 *			entries: n entries; root: level n, varint bytes, fp
 *
 * Pieces have no checksum: they are read under their fingerprint, and what is
 * fingerprinted must not depend on anything but the content. For the same
 * reason every value has exactly one encoding.
 *
 * An entry is believed if and only if, in this order:
 *  - its numbers are in shortest form and in bounds of the input
 *						-AKIN_E_bad_length
 *  - its type is known				-AKIN_E_feature
 *  - len >= 1, at most CHUNK_MAX_RAW (chunk, repeat) or RECIPE_INLINE_MAX
 *    (inline)					-AKIN_E_bad_length
 *  - count >= 2 (repeat)			-AKIN_E_bad_field
 *  - len * count < 2^64			-AKIN_E_bad_length
 *
 * A piece:
 *  - at most RECIPE_PIECE_MAX long		-AKIN_E_bad_length
 *  - 'R' in front				-AKIN_E_bad_magic
 *  - level <= RECIPE_MAX_LEVEL			-AKIN_E_bad_field
 *  - 1..RECIPE_LEAF_MAX entries or RECIPE_NODE_MAX children, which fill it
 *    to the last byte				-AKIN_E_bad_length
 *  - every entry as above; of every child 1 <= entries <= bytes
 *						-AKIN_E_bad_field
 *  - the sums of bytes and of entries < 2^64	-AKIN_E_bad_length
 *
 * Content:
 *  - kind known				-AKIN_E_feature
 *  - none: n = 0; root: n <= RECIPE_MAX_LEVEL and bytes >= 1
 *						-AKIN_E_bad_field
 *  - entries: n <= CONTENT_INLINE_MAX		-AKIN_E_bad_length
 *    each as above, and the sum		-AKIN_E_bad_length
 */
#include "format/format_container.h"
#include "format/format_internal.h"
#include "format/format_recipe.h"

#define RECIPE_MAGIC 'R'
/* Least bytes of an entry (a hole) and of a child. */
#define ENTRY_MIN_BYTES 2
#define CHILD_MIN_BYTES (FP_BYTES + 2)

static int recipe_entry_check(const struct recipe_entry *e)
{
	u64 bytes;

	if (e->type > RECIPE_INLINE)
		return -AKIN_E_feature;
	if (!e->len || (e->type == RECIPE_INLINE && e->len > RECIPE_INLINE_MAX))
		return -AKIN_E_bad_length;
	if ((e->type == RECIPE_CHUNK || e->type == RECIPE_REPEAT) &&
	    e->len > CHUNK_MAX_RAW)
		return -AKIN_E_bad_length;
	if (e->type == RECIPE_REPEAT ? e->count < 2 : e->count != 1)
		return -AKIN_E_bad_field;
	if (__builtin_mul_overflow(e->len, e->count, &bytes))
		return -AKIN_E_bad_length;
	return 0;
}

void recipe_entry_encode(const struct recipe_entry *e, struct buf *out)
{
	buf_put_u8(out, e->type);
	buf_put_varint(out, e->len);
	if (e->type == RECIPE_REPEAT)
		buf_put_varint(out, e->count);
	if (e->type == RECIPE_CHUNK || e->type == RECIPE_REPEAT)
		buf_put(out, e->fp.b, FP_BYTES);
	if (e->type == RECIPE_INLINE)
		buf_put(out, e->data, e->len);
}

int recipe_entry_decode(struct cursor *c, struct recipe_entry *out)
{
	memset(out, 0, sizeof(*out));
	out->type = cursor_u8(c);
	out->len = format_varint(c);
	out->count = 1;
	if (cursor_error(c))
		return -AKIN_E_bad_length;
	if (out->type > RECIPE_INLINE)
		return -AKIN_E_feature;
	if (out->type == RECIPE_REPEAT)
		out->count = format_varint(c);
	if (out->type == RECIPE_CHUNK || out->type == RECIPE_REPEAT)
		cursor_copy(c, out->fp.b, FP_BYTES);
	if (out->type == RECIPE_INLINE)
		out->data = cursor_bytes(c, out->len);
	if (cursor_error(c))
		return -AKIN_E_bad_length;
	return recipe_entry_check(out);
}

u64 recipe_entry_bytes(const struct recipe_entry *e)
{
	u64 bytes;

	if (__builtin_mul_overflow(e->len, e->count, &bytes))
		return UINT64_MAX;
	return bytes;
}

static int recipe_add(u64 *sum, u64 n)
{
	return __builtin_add_overflow(*sum, n, sum) ? -AKIN_E_bad_length : 0;
}

static int recipe_entries_check(const struct recipe_entry *e, u32 nr,
				u64 *bytes)
{
	u32 i;
	int err;

	*bytes = 0;
	for (i = 0; i < nr; i++) {
		err = recipe_entry_check(&e[i]);
		if (!err)
			err = recipe_add(bytes, recipe_entry_bytes(&e[i]));
		if (err)
			return err;
	}
	return 0;
}

static int recipe_children_check(const struct recipe_child *ch, u32 nr,
				 u64 *bytes)
{
	u64 entries = 0;
	u32 i;

	*bytes = 0;
	for (i = 0; i < nr; i++) {
		if (!ch[i].entries || ch[i].bytes < ch[i].entries)
			return -AKIN_E_bad_field;
		if (recipe_add(bytes, ch[i].bytes) ||
		    recipe_add(&entries, ch[i].entries))
			return -AKIN_E_bad_length;
	}
	return 0;
}

static int recipe_piece_end(struct buf *out, size_t start)
{
	int err = buf_error(out);

	if (!err && out->len - start > RECIPE_PIECE_MAX) {
		out->len = start;
		err = -AKIN_E_bad_length;
	}
	return err;
}

int recipe_leaf_encode(const struct recipe_entry *e, u32 nr, struct buf *out)
{
	const size_t start = out->len;
	u64 bytes;
	u32 i;
	int err;

	if (!nr || nr > RECIPE_LEAF_MAX)
		return -AKIN_E_bad_length;
	err = recipe_entries_check(e, nr, &bytes);
	if (err)
		return err;
	buf_put_u8(out, RECIPE_MAGIC);
	buf_put_u8(out, 0);
	buf_put_varint(out, nr);
	for (i = 0; i < nr; i++)
		recipe_entry_encode(&e[i], out);
	return recipe_piece_end(out, start);
}

int recipe_node_encode(u8 level, const struct recipe_child *c, u32 nr,
		       struct buf *out)
{
	const size_t start = out->len;
	u64 bytes;
	u32 i;
	int err;

	if (!level || level > RECIPE_MAX_LEVEL)
		return -AKIN_E_bad_field;
	if (!nr || nr > RECIPE_NODE_MAX)
		return -AKIN_E_bad_length;
	err = recipe_children_check(c, nr, &bytes);
	if (err)
		return err;
	buf_put_u8(out, RECIPE_MAGIC);
	buf_put_u8(out, level);
	buf_put_varint(out, nr);
	for (i = 0; i < nr; i++) {
		buf_put(out, c[i].fp.b, FP_BYTES);
		buf_put_varint(out, c[i].bytes);
		buf_put_varint(out, c[i].entries);
	}
	return recipe_piece_end(out, start);
}

static int recipe_leaf_decode(struct cursor *c, struct recipe_piece *out)
{
	u32 i;
	int err;

	if (out->nr > RECIPE_LEAF_MAX ||
	    out->nr > cursor_left(c) / ENTRY_MIN_BYTES)
		return -AKIN_E_bad_length;
	out->entries = mem_calloc(out->nr, sizeof(*out->entries));
	if (!out->entries)
		return -AKIN_E_nomem;
	for (i = 0; i < out->nr; i++) {
		err = recipe_entry_decode(c, &out->entries[i]);
		if (err)
			return err;
	}
	return recipe_entries_check(out->entries, out->nr, &out->bytes);
}

static int recipe_node_decode(struct cursor *c, struct recipe_piece *out)
{
	u32 i;

	if (out->nr > RECIPE_NODE_MAX ||
	    out->nr > cursor_left(c) / CHILD_MIN_BYTES)
		return -AKIN_E_bad_length;
	out->children = mem_calloc(out->nr, sizeof(*out->children));
	if (!out->children)
		return -AKIN_E_nomem;
	for (i = 0; i < out->nr; i++) {
		cursor_copy(c, out->children[i].fp.b, FP_BYTES);
		out->children[i].bytes = format_varint(c);
		out->children[i].entries = format_varint(c);
	}
	if (cursor_error(c))
		return -AKIN_E_bad_length;
	return recipe_children_check(out->children, out->nr, &out->bytes);
}

int recipe_piece_decode(const void *data, size_t len, struct recipe_piece *out)
{
	struct cursor c = cursor_over(data, len);
	u8 magic;
	int err;

	memset(out, 0, sizeof(*out));
	if (len > RECIPE_PIECE_MAX)
		return -AKIN_E_bad_length;
	magic = cursor_u8(&c);
	if (!c.bad && magic != RECIPE_MAGIC)
		return -AKIN_E_bad_magic;
	out->level = cursor_u8(&c);
	out->nr = (u32)format_varint_max(&c, RECIPE_LEAF_MAX + RECIPE_NODE_MAX);
	if (out->level > RECIPE_MAX_LEVEL)
		err = -AKIN_E_bad_field;
	else if (cursor_error(&c) || !out->nr)
		err = -AKIN_E_bad_length;
	else if (out->level)
		err = recipe_node_decode(&c, out);
	else
		err = recipe_leaf_decode(&c, out);
	if (!err && cursor_left(&c))
		err = -AKIN_E_bad_length;
	if (err)
		recipe_piece_release(out);
	return err;
}

void recipe_piece_release(struct recipe_piece *p)
{
	mem_free(p->entries);
	mem_free(p->children);
	memset(p, 0, sizeof(*p));
}

int content_check(const struct content *ct)
{
	u64 bytes;

	switch (ct->kind) {
	case CONTENT_NONE:
		return 0;
	case CONTENT_ENTRIES:
		if (ct->nr > CONTENT_INLINE_MAX)
			return -AKIN_E_bad_length;
		return recipe_entries_check(ct->entries, ct->nr, &bytes);
	case CONTENT_ROOT:
		return ct->level > RECIPE_MAX_LEVEL || !ct->bytes ?
			       -AKIN_E_bad_field : 0;
	default:
		return -AKIN_E_feature;
	}
}

void content_encode(const struct content *ct, struct buf *out)
{
	u32 i;

	switch (ct->kind) {
	case CONTENT_ENTRIES:
		buf_put_u8(out, (u8)(CONTENT_ENTRIES | ct->nr << 2));
		for (i = 0; i < ct->nr; i++)
			recipe_entry_encode(&ct->entries[i], out);
		break;
	case CONTENT_ROOT:
		buf_put_u8(out, (u8)(CONTENT_ROOT | ct->level << 2));
		buf_put_varint(out, ct->bytes);
		buf_put(out, ct->root.b, FP_BYTES);
		break;
	default:
		buf_put_u8(out, CONTENT_NONE);
	}
}

int content_decode(struct cursor *c, struct content *out)
{
	u8 head = cursor_u8(c), n = head >> 2;
	u32 i;
	int err;

	memset(out, 0, sizeof(*out));
	if (cursor_error(c))
		return -AKIN_E_bad_length;
	out->kind = head & 3;
	if (out->kind == CONTENT_NONE && n)
		return -AKIN_E_bad_field;
	if (out->kind == CONTENT_ENTRIES) {
		if (n > CONTENT_INLINE_MAX)
			return -AKIN_E_bad_length;
		out->nr = n;
		for (i = 0; i < n; i++) {
			err = recipe_entry_decode(c, &out->entries[i]);
			if (err)
				return err;
		}
		return recipe_entries_check(out->entries, n, &out->bytes);
	}
	if (out->kind == CONTENT_ROOT) {
		out->level = n;
		out->bytes = format_varint(c);
		cursor_copy(c, out->root.b, FP_BYTES);
		if (cursor_error(c))
			return -AKIN_E_bad_length;
	}
	return content_check(out);
}
