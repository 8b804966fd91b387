/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs. An input is what to do (u8), codec (u8), level (u8), two lengths
 * (le16 each), and bytes:
 *
 *	0	decode them, claiming the first length
 *	1	the same, against the first bytes, as many as the second length
 *	2	compress them, and decode that
 *	3	the same, against the first bytes
 *
 * What is decoded twice is the same twice; LZJB agrees with a decoder that
 * takes a byte at a time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/codec.h"
#include "fuzz.h"
#include "lzjb_plain.h"

#define MUST(ok) \
	do { \
		if (!(ok)) { \
			(void)fprintf(stderr, "line %d: %s\n", __LINE__, #ok); \
			abort(); \
		} \
	} while (0)

struct order {
	u8 what, codec, level;
	u16 raw_len, ref_len;
	struct cursor rest;
};

static u8 *room(size_t n)
{
	u8 *p = mem_alloc(n ? n : 1);

	MUST(p);
	return p;
}

static void decode(struct codec_ctx *ctx, const struct order *o)
{
	size_t n = cursor_left(&o->rest), ref = 0;
	u8 *out = room(o->raw_len), *again = room(o->raw_len);
	const u8 *in = o->rest.p;
	int err, err2;

	if (o->what) {
		ref = min_u64(o->ref_len, n);
		n -= ref;
		err = codec_decompress_ref(ctx, o->codec, in, ref, in + ref, n,
					   out, o->raw_len);
		err2 = codec_decompress_ref(ctx, o->codec, in, ref, in + ref, n,
					    again, o->raw_len);
	} else {
		err = codec_decompress(ctx, o->codec, in, n, out, o->raw_len);
		err2 = codec_decompress(ctx, o->codec, in, n, again,
					o->raw_len);
	}
	MUST(err == err2);
	MUST(err || !memcmp(out, again, o->raw_len));
	if (o->codec == CODEC_LZJB && !o->what)
		MUST(lzjb_plain_decode(in, n, again, o->raw_len) == !err);
	MUST(err || !memcmp(out, again, o->raw_len));
	mem_free(out);
	mem_free(again);
}

static void round_trip(struct codec_ctx *ctx, const struct order *o)
{
	size_t n = cursor_left(&o->rest), len;
	u8 *out = room(codec_bound(n)), *back = room(n), id;

	MUST(!codec_compress(ctx, CODEC_GAIN_ANY, o->rest.p, n, out, &len, &id,
			     NULL));
	if (id != CODEC_NONE) {
		MUST(len < n);
		MUST(!codec_decompress(ctx, id, out, len, back, n));
		MUST(!memcmp(back, o->rest.p, n));
	}
	mem_free(out);
	mem_free(back);
}

static void round_trip_ref(struct codec_ctx *ctx, const struct order *o)
{
	size_t n = cursor_left(&o->rest), ref = min_u64(o->ref_len, n), len;
	const u8 *in = o->rest.p;
	u8 *out, *back, id;

	n -= ref;
	if (!n || !codec_has_ref(ctx))
		return;
	out = room(codec_bound(n));
	back = room(n);
	MUST(!codec_compress_ref(ctx, CODEC_GAIN_ANY, in, ref, in + ref, n,
				 out, &len, &id, NULL));
	if (id != CODEC_NONE) {
		MUST(len < n);
		MUST(!codec_decompress_ref(ctx, id, in, ref, out, len, back,
					   n));
		MUST(!memcmp(back, in + ref, n));
	}
	mem_free(out);
	mem_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct order o = { .rest = cursor_over(data, len) };
	struct codec_choice c = { 0 };
	struct codec_ctx *ctx;

	o.what = cursor_u8(&o.rest) % 4;
	o.codec = cursor_u8(&o.rest);
	o.level = cursor_u8(&o.rest);
	o.raw_len = cursor_le16(&o.rest);
	o.ref_len = cursor_le16(&o.rest);
	if (cursor_error(&o.rest))
		return 0;
	c.id = o.codec % CODEC_NR;
	/* Higher ones take seconds, and are the same code. */
	c.level = o.level % 10;
	MUST(!codec_ctx_new(&c, &ctx, NULL));
	if (o.what == 2)
		round_trip(ctx, &o);
	else if (o.what == 3)
		round_trip_ref(ctx, &o);
	else
		decode(ctx, &o);
	codec_ctx_free(ctx);
	return 0;
}
