/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte buffers: `struct buf` grows while it is written, `struct cursor` reads
 * within bounds. Both fail stickily: do all the calls, check once.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/types.h"

/* Zeroed = empty. After a failed growth @failed stays set until reset. */
struct buf {
	u8 *data;
	size_t len, cap;
	bool failed;
};

void buf_release(struct buf *b);
static inline void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}
/* Room for @n more bytes; returns where they go, or NULL. Length unchanged. */
u8 *buf_reserve(struct buf *b, size_t n);
/* The same, and counts them as written. */
u8 *buf_extend(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_put_u8(struct buf *b, u8 v);
void buf_put_le16(struct buf *b, u16 v);
void buf_put_le32(struct buf *b, u32 v);
void buf_put_le64(struct buf *b, u64 v);
/* LEB128: 7 bits a byte, low first, at most 10 bytes. */
void buf_put_varint(struct buf *b, u64 v);
/* 0, or -AKIN_E_nomem if any call failed. */
int buf_error(const struct buf *b) __must_check;

/* Reads [p, end). A read past the end sets @bad and yields zeros. */
struct cursor {
	const u8 *p, *end;
	bool bad;
};

static inline struct cursor cursor_over(const void *p, size_t n)
{
	struct cursor c = { p, (const u8 *)p + n, false };

	return c;
}
static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}
/* Borrowed pointer to @n bytes, NULL (and bad) if they are not there. */
const u8 *cursor_bytes(struct cursor *c, size_t n);
u8 cursor_u8(struct cursor *c);
u16 cursor_le16(struct cursor *c);
u32 cursor_le32(struct cursor *c);
u64 cursor_le64(struct cursor *c);
/* Refuses encodings longer than ten bytes or above 2^64 - 1. */
u64 cursor_varint(struct cursor *c);
void cursor_copy(struct cursor *c, void *out, size_t n);
/* 0 if every read was in bounds, -AKIN_E_bad_length otherwise. */
int cursor_error(const struct cursor *c) __must_check;

#endif
