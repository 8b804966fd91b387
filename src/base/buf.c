/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable buffers and bounded cursors.
 */
#include "akin/error.h"
#include "base/buf.h"
#include "base/mem.h"

void buf_release(struct buf *b)
{
	mem_free(b->data);
	memset(b, 0, sizeof(*b));
}

u8 *buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 64;
	u8 *p;

	if (b->failed || n > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) {
		b->failed = true;
		return NULL;
	}
	while (cap < b->len + n)
		cap += cap / 2;
	if (cap != b->cap || !b->data) {
		p = mem_realloc(b->data, cap);
		if (!p) {
			b->failed = true;
			return NULL;
		}
		b->data = p;
		b->cap = cap;
	}
	return b->data + b->len;
}

u8 *buf_extend(struct buf *b, size_t n)
{
	u8 *p = buf_reserve(b, n);

	if (p)
		b->len += n;
	return p;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	u8 *to = buf_extend(b, n);

	if (to && n)
		memcpy(to, p, n);
}

void buf_put_u8(struct buf *b, u8 v)
{
	buf_put(b, &v, 1);
}

void buf_put_le16(struct buf *b, u16 v)
{
	u8 *p = buf_extend(b, 2);

	if (p)
		put_le16(p, v);
}

void buf_put_le32(struct buf *b, u32 v)
{
	u8 *p = buf_extend(b, 4);

	if (p)
		put_le32(p, v);
}

void buf_put_le64(struct buf *b, u64 v)
{
	u8 *p = buf_extend(b, 8);

	if (p)
		put_le64(p, v);
}

void buf_put_varint(struct buf *b, u64 v)
{
	u8 tmp[10];
	size_t n = 0;

	while (v >= 0x80) {
		tmp[n++] = (u8)(v | 0x80);
		v >>= 7;
	}
	tmp[n++] = (u8)v;
	buf_put(b, tmp, n);
}

int buf_error(const struct buf *b)
{
	return b->failed ? -AKIN_E_nomem : 0;
}

const u8 *cursor_bytes(struct cursor *c, size_t n)
{
	const u8 *p = c->p;

	if (c->bad || n > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

void cursor_copy(struct cursor *c, void *out, size_t n)
{
	const u8 *p = cursor_bytes(c, n);

	if (p && n)
		memcpy(out, p, n);
	else
		memset(out, 0, n);
}

u8 cursor_u8(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

u16 cursor_le16(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 2);

	return p ? get_le16(p) : 0;
}

u32 cursor_le32(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 4);

	return p ? get_le32(p) : 0;
}

u64 cursor_le64(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 8);

	return p ? get_le64(p) : 0;
}

u64 cursor_varint(struct cursor *c)
{
	u64 v = 0;
	u8 byte;
	int i;

	for (i = 0; i < 10; i++) {
		byte = cursor_u8(c);
		if (i == 9 && byte > 1)
			break;
		v |= (u64)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return c->bad ? 0 : v;
	}
	c->bad = true;
	return 0;
}

int cursor_error(const struct cursor *c)
{
	return c->bad ? -AKIN_E_bad_length : 0;
}
