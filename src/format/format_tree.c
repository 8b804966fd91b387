/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree nodes: varint length of the body, then the body:
 *
 *	u8 type, varint flags, varint nr_xattrs,
 *	name, NUL,
 *	varints mode, uid, gid,
 *	zigzag mtime_sec, varint mtime_nsec,
 *	zigzag (ctime_sec - mtime_sec), varint ctime_nsec,
 *	varints dev, ino,
 *	file, stream:	varint size, content
 *	directory:	content
 *	symlink:	varint target_len, target
 *	device:		varint rdev
 *	nr_xattrs x (name, NUL, varint len, value)
 *
 * The number of attributes comes early so that a decoded node is one
 * allocation: the attribute table, then a copy of the body, into which the
 * strings point. A node is at most nine times as large as its record.
 *
 * A record is hashed as part of a listing, so every node has exactly one
 * encoding. It is believed if and only if, in this order:
 *  - its length is in shortest form and at most NODE_RECORD_MAX
 *						-AKIN_E_bad_length
 *  - all of it is there			-AKIN_E_short_read
 *  - numbers are in shortest form, strings end, and the fields fill the body
 *    to the last byte				-AKIN_E_bad_length
 *  - what node_check() lists
 */
#include "format/format_internal.h"
#include "format/format_tree.h"

#define NODE_FLAGS (NODE_CHANGED | NODE_UNREADABLE | NODE_LINKED | \
		    NODE_PARTIAL)
#define NSEC_PER_SEC 1000000000u
/* Least bytes of an attribute: a letter, NUL, no value. */
#define XATTR_MIN_BYTES 3
/* Bytes of the longest length that is accepted. */
#define RECORD_LEN_BYTES 4
static_assert(NODE_RECORD_MAX < 1u << (7 * RECORD_LEN_BYTES),
	      "the length of a record fits its bytes");

static bool node_has_content(u8 type)
{
	return type == NODE_FILE || type == NODE_STREAM || type == NODE_DIR;
}

static bool node_has_size(u8 type)
{
	return type == NODE_FILE || type == NODE_STREAM;
}

static bool node_is_device(u8 type)
{
	return type == NODE_CHARDEV || type == NODE_BLOCKDEV;
}

static int node_check_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > NODE_NAME_MAX || strchr(name, '/') ||
	    !strcmp(name, ".") || !strcmp(name, ".."))
		return -AKIN_E_bad_field;
	return 0;
}

static int node_check_xattrs(const struct node *n)
{
	size_t len;
	u32 i;

	if (n->nr_xattrs > NODE_XATTRS_MAX)
		return -AKIN_E_bad_length;
	for (i = 0; i < n->nr_xattrs; i++) {
		len = strlen(n->xattrs[i].name);
		if (!len || len > NODE_XATTR_NAME_MAX)
			return -AKIN_E_bad_field;
		if (n->xattrs[i].len > NODE_XATTR_VALUE_MAX)
			return -AKIN_E_bad_length;
		if (i && strcmp(n->xattrs[i].name, n->xattrs[i - 1].name) <= 0)
			return -AKIN_E_bad_order;
	}
	return 0;
}

static int node_check_target(const struct node *n)
{
	if (n->type != NODE_SYMLINK)
		return n->target_len ? -AKIN_E_bad_field : 0;
	if (!n->target_len || n->target_len > NODE_TARGET_MAX)
		return -AKIN_E_bad_length;
	return memchr(n->target, 0, n->target_len) ? -AKIN_E_bad_field : 0;
}

/*
 *  - type and flags known			-AKIN_E_feature
 *  - a name of 1..NODE_NAME_MAX bytes without '/', not "." nor ".."
 *						-AKIN_E_bad_field
 *  - no mode bits above 07777, nanoseconds below 10^9
 *						-AKIN_E_bad_field
 *  - size, rdev, target and content only where the type has them, and only
 *    directories are partial			-AKIN_E_bad_field
 *  - a symlink's target of 1..NODE_TARGET_MAX bytes
 *						-AKIN_E_bad_length
 *    without NUL				-AKIN_E_bad_field
 *  - up to NODE_XATTRS_MAX attributes		-AKIN_E_bad_length
 *    names of 1..NODE_XATTR_NAME_MAX bytes	-AKIN_E_bad_field
 *    values of up to NODE_XATTR_VALUE_MAX	-AKIN_E_bad_length
 *    strictly ascending by name		-AKIN_E_bad_order
 *  - content as format_recipe.c says
 */
static int node_check(const struct node *n)
{
	int err;

	if (n->type < NODE_FILE || n->type > NODE_STREAM ||
	    n->flags & ~NODE_FLAGS)
		return -AKIN_E_feature;
	err = node_check_name(n->name);
	if (err)
		return err;
	if (n->mode > 07777 || n->mtime_nsec >= NSEC_PER_SEC ||
	    n->ctime_nsec >= NSEC_PER_SEC)
		return -AKIN_E_bad_field;
	if ((n->size && !node_has_size(n->type)) ||
	    (n->rdev && !node_is_device(n->type)) ||
	    (n->content.kind && !node_has_content(n->type)) ||
	    (n->flags & NODE_PARTIAL && n->type != NODE_DIR))
		return -AKIN_E_bad_field;
	err = node_check_target(n);
	if (!err)
		err = node_check_xattrs(n);
	if (!err)
		err = content_check(&n->content);
	return err;
}

static void node_encode_head(const struct node *n, struct buf *out)
{
	buf_put_u8(out, n->type);
	buf_put_varint(out, n->flags);
	buf_put_varint(out, n->nr_xattrs);
	buf_put(out, n->name, strlen(n->name) + 1);
	buf_put_varint(out, n->mode);
	buf_put_varint(out, n->uid);
	buf_put_varint(out, n->gid);
	buf_put_varint(out, format_zigzag(n->mtime_sec));
	buf_put_varint(out, n->mtime_nsec);
	/* Modulo 2^64 on both sides: any two times have a difference. */
	buf_put_varint(out, format_zigzag((s64)((u64)n->ctime_sec -
						(u64)n->mtime_sec)));
	buf_put_varint(out, n->ctime_nsec);
	buf_put_varint(out, n->dev);
	buf_put_varint(out, n->ino);
}

static void node_encode_body(const struct node *n, struct buf *out)
{
	u32 i;

	node_encode_head(n, out);
	if (node_has_size(n->type))
		buf_put_varint(out, n->size);
	if (node_has_content(n->type))
		content_encode(&n->content, out);
	if (n->type == NODE_SYMLINK) {
		buf_put_varint(out, n->target_len);
		buf_put(out, n->target, n->target_len);
	}
	if (node_is_device(n->type))
		buf_put_varint(out, n->rdev);
	for (i = 0; i < n->nr_xattrs; i++) {
		buf_put(out, n->xattrs[i].name, strlen(n->xattrs[i].name) + 1);
		buf_put_varint(out, n->xattrs[i].len);
		buf_put(out, n->xattrs[i].value, n->xattrs[i].len);
	}
}

int node_encode(const struct node *n, struct buf *out)
{
	const size_t start = out->len;
	u8 len[RECORD_LEN_BYTES];
	size_t body_len, v, i = 0;
	u8 *at;
	int err;

	err = node_check(n);
	if (err)
		return err;
	/* The body goes where it will be but for its length, which is moved
	 * in front once it is known: no buffer of its own for every name. */
	node_encode_body(n, out);
	err = buf_error(out);
	if (err)
		return err;
	body_len = out->len - start;
	if (body_len > NODE_RECORD_MAX) {
		out->len = start;
		return -AKIN_E_bad_length;
	}
	for (v = body_len; v >= 0x80; v >>= 7)
		len[i++] = (u8)(v | 0x80);
	len[i++] = (u8)v;
	if (!buf_extend(out, i))
		return buf_error(out);
	at = out->data + start;
	memmove(at + i, at, body_len);
	memcpy(at, len, i);
	return 0;
}

static int node_decode_head(struct cursor *c, struct node *n)
{
	n->name = format_string(c, NODE_NAME_MAX, NULL);
	n->mode = (u32)format_varint_max(c, UINT32_MAX);
	n->uid = (u32)format_varint_max(c, UINT32_MAX);
	n->gid = (u32)format_varint_max(c, UINT32_MAX);
	n->mtime_sec = format_unzigzag(format_varint(c));
	n->mtime_nsec = (u32)format_varint_max(c, UINT32_MAX);
	n->ctime_sec = (s64)((u64)n->mtime_sec +
			     (u64)format_unzigzag(format_varint(c)));
	n->ctime_nsec = (u32)format_varint_max(c, UINT32_MAX);
	n->dev = format_varint(c);
	n->ino = format_varint(c);
	return cursor_error(c);
}

static int node_decode_tail(struct cursor *c, struct node *n)
{
	u32 i;
	int err;

	if (node_has_size(n->type))
		n->size = format_varint(c);
	if (node_has_content(n->type)) {
		err = content_decode(c, &n->content);
		if (err)
			return err;
	}
	if (n->type == NODE_SYMLINK) {
		n->target_len = (u32)format_varint_max(c, NODE_TARGET_MAX);
		n->target = cursor_bytes(c, n->target_len);
	}
	if (node_is_device(n->type))
		n->rdev = format_varint(c);
	for (i = 0; i < n->nr_xattrs; i++) {
		n->xattrs[i].name = format_string(c, NODE_XATTR_NAME_MAX, NULL);
		n->xattrs[i].len =
			(u32)format_varint_max(c, NODE_XATTR_VALUE_MAX);
		n->xattrs[i].value = cursor_bytes(c, n->xattrs[i].len);
	}
	if (cursor_error(c) || cursor_left(c))
		return -AKIN_E_bad_length;
	return 0;
}

static int node_decode_body(const u8 *body, size_t len, struct node *n)
{
	struct cursor c = cursor_over(body, len);
	size_t table, head;
	u8 *copy;
	int err;

	n->type = cursor_u8(&c);
	n->flags = (u32)format_varint_max(&c, UINT32_MAX);
	n->nr_xattrs = (u32)format_varint_max(&c, NODE_XATTRS_MAX);
	if (cursor_error(&c) || n->nr_xattrs > cursor_left(&c) / XATTR_MIN_BYTES)
		return -AKIN_E_bad_length;
	if (n->type < NODE_FILE || n->type > NODE_STREAM ||
	    n->flags & ~NODE_FLAGS)
		return -AKIN_E_feature;
	head = (size_t)(c.p - body);
	table = n->nr_xattrs * sizeof(*n->xattrs);
	n->memory = mem_alloc(table + len);
	if (!n->memory)
		return -AKIN_E_nomem;
	n->xattrs = n->nr_xattrs ? n->memory : NULL;
	copy = (u8 *)n->memory + table;
	memcpy(copy, body, len);
	c = cursor_over(copy + head, len - head);
	err = node_decode_head(&c, n);
	if (!err)
		err = node_decode_tail(&c, n);
	return err ? err : node_check(n);
}

/* 0, or an error; on a record that goes on behind @len, -AKIN_E_short_read. */
static int node_decode_length(struct cursor *c, u64 *out)
{
	size_t i, left = cursor_left(c);

	for (i = 0; i < left && i < RECORD_LEN_BYTES; i++)
		if (!(c->p[i] & 0x80))
			break;
	if (i == RECORD_LEN_BYTES)
		return -AKIN_E_bad_length;
	if (i == left)
		return -AKIN_E_short_read;
	*out = format_varint_max(c, NODE_RECORD_MAX);
	return cursor_error(c);
}

int node_decode(const void *data, size_t len, struct node *out,
		size_t *total_ret)
{
	struct cursor c = cursor_over(data, len);
	u64 body_len = 0;
	size_t head;
	int err;

	memset(out, 0, sizeof(*out));
	*total_ret = 0;
	err = node_decode_length(&c, &body_len);
	if (err)
		return err;
	head = len - cursor_left(&c);
	if (body_len > cursor_left(&c)) {
		*total_ret = head + body_len;
		return -AKIN_E_short_read;
	}
	err = node_decode_body(c.p, body_len, out);
	if (err) {
		node_release(out);
		return err;
	}
	*total_ret = head + body_len;
	return 0;
}

void node_release(struct node *n)
{
	mem_free(n->memory);
	memset(n, 0, sizeof(*n));
}

int node_name_compare(const char *a, const char *b)
{
	/* strcmp compares unsigned bytes, and NUL is below all of them. */
	return strcmp(a, b);
}
