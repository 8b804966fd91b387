/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LZJB, the compression of ZFS, written anew from a description of its stream.
 * What comes out of the encoder is that of ZFS to the bit (for a block that
 * starts at a multiple of 64 KiB in memory), so that ratios can be compared.
 *
 *	stream	= sets
 *	set	= map (a byte), then an item for each of its bits, lowest first;
 *		  the last set may have fewer
 *	item	= a literal byte (bit is 0), or
 *		  a match: big-endian word, 6 bits length - 3, 10 bits distance
 *
 * The encoder is greedy: a table of 1,024 slots, by a hash of three bytes,
 * says where such three bytes were last; where a match begins the slot is
 * overwritten, within a match it is not. Positions count modulo 1,024 only, so
 * an empty slot is the nearest lower multiple of 1,024. No match begins with
 * fewer than 66 bytes to come.
 *
 * The decoder demands what such an encoder keeps to: distances of 1 to 1,023
 * within the output, no match over its end, no input left. Both move eight
 * bytes at a time where there is room to spare on both sides, and end byte by
 * byte.
 */
#include "codec/codec_internal.h"

#define SET_ITEMS 8
#define MATCH_MIN 3
#define MATCH_MAX 66
#define WINDOW 1024u		/* distances are below it */
#define TABLE_SLOTS 1024u
#define MAX_SET_IN (1 + 2 * SET_ITEMS)
#define MAX_SET_OUT (SET_ITEMS * MATCH_MAX)

/* Copies go on for up to so much behind an item's end. */
#define SLACK 16

static inline void copy8(u8 *to, const u8 *from)
{
	memcpy(to, from, 8);
}

static inline void copy16(u8 *to, const u8 *from)
{
	u8 tmp[16];

	memcpy(tmp, from, 16);
	memcpy(to, tmp, 16);
}

static inline u32 hash3(const u8 *p)
{
	u32 h = (u32)p[0] << 16 | (u32)p[1] << 8 | p[2];

	h += h >> 9;
	h += h >> 5;
	return h % TABLE_SLOTS;
}

static inline bool same3(const u8 *a, const u8 *b)
{
	return !((get_le32(a) ^ get_le32(b)) & 0xffffff);
}

/*
 * Bytes that agree, of MATCH_MAX; the first three do, and MATCH_MAX can be
 * read. The last step overlaps the one before by a byte.
 */
static inline u32 match_len(const u8 *a, const u8 *b)
{
	u32 i;
	u64 x;

	for (i = MATCH_MIN; ; i += 8) {
		if (i > MATCH_MAX - 8)
			i = MATCH_MAX - 8;
		x = get_le64(a + i) ^ get_le64(b + i);
		if (x)
			return i + (u32)__builtin_ctzll(x) / 8;
		if (i == MATCH_MAX - 8)
			return MATCH_MAX;
	}
}

/* What is left to encode, and where it goes. */
struct encoder {
	const u8 *in, *end, *begin;
	u8 *out, *full;		/* no set begins at @full or behind */
	u16 table[TABLE_SLOTS];
};

/* One item, where a match may be; returns whether it is one. */
static inline u32 encode_item(struct encoder *e)
{
	const u8 *in = e->in, *from;
	u32 h, pos, dist, len;

	h = hash3(in);
	pos = (u32)(in - e->begin);
	dist = (pos - e->table[h]) % WINDOW;
	e->table[h] = (u16)pos;
	from = in - dist;
	if (!same3(from, in) || !dist) {
		*e->out++ = *in;
		e->in = in + 1;
		return 0;
	}
	len = match_len(from, in);
	e->in = in + len;
	len -= MATCH_MIN;
	e->out[0] = (u8)(len << 2 | dist >> 8);
	e->out[1] = (u8)dist;
	e->out += 2;
	return 1;
}

/* Far from the end: no branch but those that the data make. */
static inline void encode_sets(struct encoder *e)
{
	u32 i, bits;
	u8 *map;

	while (e->end - e->in >= MAX_SET_OUT && e->out < e->full) {
		map = e->out++;
		bits = 0;
#pragma GCC unroll 8
		for (i = 0; i < SET_ITEMS; i++)
			bits |= encode_item(e) << i;
		*map = (u8)bits;
	}
}

static void encode_near_end(struct encoder *e)
{
	u8 *map = e->out++;
	u32 i, bits = 0;

	for (i = 0; i < SET_ITEMS && e->in < e->end; i++) {
		if (e->end - e->in >= MATCH_MAX)
			bits |= encode_item(e) << i;
		else
			*e->out++ = *e->in++;
	}
	*map = (u8)bits;
}

static long lzjb_compress(struct codec_ctx *ctx, const void *data, size_t n,
			  u8 *out, size_t cap, u8 *id_ret)
{
	struct encoder e = { .in = data, .out = out };

	if (cap <= MAX_SET_IN)
		return 0;
	e.begin = e.in;
	e.end = e.in + n;
	e.full = out + cap - MAX_SET_IN;
	encode_sets(&e);
	while (e.in < e.end) {
		if (e.out >= e.full)
			return 0;
		encode_near_end(&e);
	}
	return (long)(e.out - out);
}

struct decoder_state {
	const u8 *in, *in_end;
	u8 *out, *out_end, *begin;
};

/* @len is at most MATCH_MAX. Writes up to SLACK bytes behind the match. */
static inline void copy_match(u8 *out, u32 dist, u32 len)
{
	const u8 *from = out - dist;
	u32 i;

	if (dist >= 16) {
		copy16(out, from);
		for (i = 16; i < len; i += 16)
			copy16(out + i, from + i);
		return;
	}
	if (dist >= 8) {
		for (i = 0; i < len; i += 8)
			copy8(out + i, from + i);
		return;
	}
	/* Eight bytes of the pattern, and from then on a multiple of it. */
	for (i = 0; i < 8; i++)
		out[i] = from[i];
	dist *= (8 + dist - 1) / dist;
	for (i = 8; i < len; i += 8)
		copy8(out + i, out + i - dist);
}

/*
 * Sets while there is room for the largest on both sides: literals between two
 * matches in one piece.
 */
static bool decode_fast(struct decoder_state *d)
{
	const u8 *in = d->in;
	u8 *out = d->out;
	u32 map, n, word, dist, len;

	while (d->in_end - in >= MAX_SET_IN + SLACK &&
	       d->out_end - out >= (long)MAX_SET_OUT + SLACK) {
		/* The bit behind the last ends the set. */
		map = *in++ | 1u << SET_ITEMS;
		for (;;) {
			n = (u32)__builtin_ctz(map);
			copy8(out, in);
			out += n;
			in += n;
			map >>= n;
			if (map == 1)
				break;
			map >>= 1;
			word = (u32)in[0] << 8 | in[1];
			in += 2;
			len = (word >> 10) + MATCH_MIN;
			dist = word % WINDOW;
			if (dist - 1 >= (size_t)(out - d->begin))
				return false;
			copy_match(out, dist, len);
			out += len;
		}
	}
	d->in = in;
	d->out = out;
	return true;
}

static bool decode_match(struct decoder_state *d)
{
	u32 word, dist, len;

	if (d->in_end - d->in < 2)
		return false;
	word = (u32)d->in[0] << 8 | d->in[1];
	d->in += 2;
	len = (word >> 10) + MATCH_MIN;
	dist = word % WINDOW;
	if (!dist || dist > d->out - d->begin || len > d->out_end - d->out)
		return false;
	for (; len; len--, d->out++)
		*d->out = *(d->out - dist);
	return true;
}

/* The rest, looking at every byte. */
static bool decode_careful(struct decoder_state *d)
{
	u32 map = 1;

	while (d->out < d->out_end) {
		if (map == 1) {
			if (d->in == d->in_end)
				return false;
			map = *d->in++ | 1u << SET_ITEMS;
		}
		if (map & 1) {
			if (!decode_match(d))
				return false;
		} else {
			if (d->in == d->in_end)
				return false;
			*d->out++ = *d->in++;
		}
		map >>= 1;
	}
	return d->in == d->in_end;
}

static int lzjb_decompress(struct codec_ctx *ctx, const void *data, size_t n,
			   u8 *out, size_t raw_len)
{
	struct decoder_state d = { .in = data, .out = out };

	d.in_end = d.in + n;
	d.begin = out;
	d.out_end = out + raw_len;
	return decode_fast(&d) && decode_careful(&d) ? 0 : -AKIN_E_bad_data;
}

const struct codec_ops codec_lzjb = {
	.name = "lzjb",
	.compress = lzjb_compress,
	.decompress = lzjb_decompress,
};
