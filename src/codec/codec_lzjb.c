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
 * Hashes depend on nothing but the bytes, so they are made ahead, eight at a
 * time, where most items are short. Literals are moved when a match or the
 * set's end comes, all at once.
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
/* Literals are copied in eights; a set ends up to so much before @full. */
#define COPY_BYTES 8

/* Input that is encoded at a time; a set begins in it. */
#define STEP 2048
#define HASHED (STEP + MAX_SET_OUT)
/*
 * Where items are longer than that on average, most hashes would be made in
 * vain: half of a byte's cost on text, and nothing of it on zeros.
 */
#define LONG_ITEMS 8

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
	u32 h = __builtin_bswap32(get_le32(p)) >> 8;

	h += h >> 9;
	h += h >> 5;
	return h % TABLE_SLOTS;
}

typedef u8 u8x8 __attribute__((vector_size(8)));
typedef u16 u16x8 __attribute__((vector_size(16)));

static inline u16x8 widen(const u8 *p)
{
	u8x8 v;

	memcpy(&v, p, sizeof(v));
	return __builtin_convertvector(v, u16x8);
}

/*
 * hash3() of eight positions. Its ten bits depend on no more than 16 of the
 * sums: h is of 24 bits, and h >> 9 of 15.
 */
static inline void hash_eight(const u8 *p, u16 *out)
{
	u16x8 a = widen(p), b = widen(p + 1), c = widen(p + 2);
	u16x8 h = (b << 8 | c) + (a << 7 | b >> 1);

	h = (h + (h >> 5)) % TABLE_SLOTS;
	memcpy(out, &h, sizeof(h));
}

static_assert(HASHED % 8 == 0, "they are made by eights");

static void hash_ahead(const u8 *p, u16 *out)
{
	u32 i;

	for (i = 0; i < HASHED; i += 8)
		hash_eight(p + i, out + i);
}

/*
 * Bytes that agree, of MATCH_MAX, which can be read; the first eight do. The
 * last step overlaps the one before.
 */
static inline u32 long_match(const u8 *a, const u8 *b)
{
	u32 i;
	u64 x;

	for (i = 8; ; i += 8) {
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
	u16 hashes[HASHED];	/* of the step that begins at @in */
};

/* A place that has the same hash. */
struct candidate {
	u32 dist;
	u64 differs;		/* xor of the first eight bytes */
};

/* The step begins at @step, which is byte @step_pos; @ahead: its hashes are
 * there. */
static inline struct candidate look_up(struct encoder *e, const u8 *in,
				       const u8 *step, u32 step_pos, bool ahead)
{
	size_t at = (size_t)(in - step);
	u32 h = ahead ? e->hashes[at] : hash3(in);
	u32 pos = step_pos + (u32)at;
	struct candidate c;

	c.dist = (pos - e->table[h]) % WINDOW;
	e->table[h] = (u16)pos;
	c.differs = get_le64(in) ^ get_le64(in - c.dist);
	return c;
}

static inline bool is_match(const struct candidate *c)
{
	return !(c->differs & 0xffffff) && c->dist;
}

/* Returns its length. */
static inline u32 put_match(u8 *out, const u8 *in, const struct candidate *c)
{
	u32 len;

	if (c->differs)
		len = (u32)__builtin_ctzll(c->differs) / 8;
	else
		len = long_match(in - c->dist, in);
	out[0] = (u8)((len - MATCH_MIN) << 2 | c->dist >> 8);
	out[1] = (u8)c->dist;
	return len;
}

/* Where a set has got to. */
struct cursor {
	const u8 *in;
	const u8 *literals;	/* from here to @in they are not moved yet */
	u8 *out;
};

static inline void move_literals(struct cursor *c)
{
	copy8(c->out, c->literals);
	c->out += c->in - c->literals;
}

/* Returns whether it is a match. */
static inline u32 encode_item(struct encoder *e, struct cursor *c,
			      const u8 *step, u32 step_pos, bool ahead)
{
	struct candidate found = look_up(e, c->in, step, step_pos, ahead);

	if (!is_match(&found)) {
		c->in++;
		return 0;
	}
	move_literals(c);
	c->in += put_match(c->out, c->in, &found);
	c->out += 2;
	c->literals = c->in;
	return 1;
}

/*
 * Sets that begin in the next STEP bytes, far from both ends: no branch but
 * those that the data make. Returns how many.
 */
static inline u32 encode_step(struct encoder *e, bool ahead)
{
	const u8 *step = e->in;
	u32 step_pos = (u32)(step - e->begin);
	struct cursor c = { .in = step, .out = e->out };
	u8 *full = e->full - COPY_BYTES, *map;
	u32 i, bits, nr = 0;

	if (ahead)
		hash_ahead(step, e->hashes);
	for (; c.in < step + STEP && c.out < full; nr++) {
		map = c.out++;
		c.literals = c.in;
		bits = 0;
#pragma GCC unroll 8
		for (i = 0; i < SET_ITEMS; i++)
			bits |= encode_item(e, &c, step, step_pos, ahead) << i;
		move_literals(&c);
		*map = (u8)bits;
	}
	e->in = c.in;
	e->out = c.out;
	return nr;
}

/* Twice, so that each has one kind of hash in it. */
static u32 encode_short_items(struct encoder *e)
{
	return encode_step(e, true);
}

static u32 encode_long_items(struct encoder *e)
{
	return encode_step(e, false);
}

/* All but what is near the end of input or room. */
static void encode_steps(struct encoder *e)
{
	u32 nr = STEP;

	while (e->end - e->in >= HASHED + MAX_SET_OUT &&
	       e->out < e->full - COPY_BYTES) {
		if (nr * SET_ITEMS * LONG_ITEMS > STEP)
			nr = encode_short_items(e);
		else
			nr = encode_long_items(e);
	}
}

/* A set without any room to spare. */
static void encode_near_end(struct encoder *e)
{
	struct candidate found = { 0 };
	u8 *map = e->out++;
	u32 i, bits = 0;

	for (i = 0; i < SET_ITEMS && e->in < e->end; i++) {
		found.dist = 0;
		if (e->end - e->in >= MATCH_MAX)
			found = look_up(e, e->in, e->begin, 0, false);
		if (is_match(&found)) {
			bits |= 1u << i;
			e->in += put_match(e->out, e->in, &found);
			e->out += 2;
		} else {
			*e->out++ = *e->in++;
		}
	}
	*map = (u8)bits;
}

static long lzjb_compress(struct codec_ctx *ctx, const void *data, size_t n,
			  u8 *out, size_t cap, u8 *id_ret)
{
	struct encoder e;

	if (cap <= MAX_SET_IN)
		return 0;
	e.in = e.begin = data;
	e.end = e.in + n;
	e.out = out;
	e.full = out + cap - MAX_SET_IN;
	memset(e.table, 0, sizeof(e.table));
	if (cap > MAX_SET_IN + COPY_BYTES)
		encode_steps(&e);
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
