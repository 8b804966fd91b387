/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: a fixed head, a table in varints, the payload.
 *
 *	head		magic, total length, checksum
 *	table		number, codec (u8), flags (u8), depth (u8),
 *			stored_len, nr_chunks, nr_refs,
 *			first entry, [gap - 1] x (nr_chunks - 1) unless dense,
 *			len x nr_chunks,
 *			if nr_refs: ref_raw_len,
 *			(own number - container, entry, nr) x nr_refs
 *	payload		the last stored_len bytes
 *
 * The raw length is the sum of the chunks' and not stored. The checksum is
 * seeded with the container's number: a group copied into another container
 * is not believed there.
 *
 * A group is believed if and only if, in this order:
 *  - its magic is right			-AKIN_E_bad_magic
 *  - it lies within the bytes at hand		-AKIN_E_bad_length
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - no unknown flag is set			-AKIN_E_feature
 *  - every number is in shortest form and within its limit, and table and
 *    payload fill the total length exactly	-AKIN_E_bad_length
 *  - "dense" is set just when it can be	-AKIN_E_bad_field
 *  - what group_check() lists
 */
#include "format/format_container.h"
#include "format/format_internal.h"

static const u8 group_magic[4] = "AKGP";

struct group_disk {
	u8   magic[4];		/* +0x00  "AKGP"                        */
	le32 total_len;		/* +0x04  head, table and payload       */
	le64 checksum;		/* +0x08  over +0x10 .. the end         */
};
static_assert(sizeof(struct group_disk) == 16, "disk format");

/* On disk only: entry numbers follow each other without gaps. */
#define GROUP_DISK_DENSE 0x80

static int group_check_chunks(const struct group_header *g)
{
	u64 sum = 0;
	u32 i;

	if (!g->nr_chunks || g->nr_chunks > GROUP_MAX_CHUNKS)
		return -AKIN_E_bad_length;
	for (i = 0; i < g->nr_chunks; i++) {
		if (g->chunks[i].entry >= CONTAINER_MAX_ENTRIES)
			return -AKIN_E_bad_field;
		if (i && g->chunks[i].entry <= g->chunks[i - 1].entry)
			return -AKIN_E_bad_order;
		if (!g->chunks[i].len || g->chunks[i].len > CHUNK_MAX_RAW)
			return -AKIN_E_bad_length;
		sum += g->chunks[i].len;
	}
	return sum == g->raw_len && sum <= GROUP_MAX_RAW ? 0 :
							   -AKIN_E_bad_length;
}

static int group_check_refs(const struct group_header *g, u64 container)
{
	const struct group_ref *r;
	u32 i;

	if (g->nr_refs > GROUP_MAX_REFS || g->depth > GROUP_MAX_DEPTH ||
	    g->ref_raw_len > GROUP_MAX_REF_RAW)
		return -AKIN_E_bad_length;
	if (g->nr_refs && (g->raw_len > GROUP_MAX_DELTA_RAW ||
			   g->stored_len > GROUP_MAX_DELTA_RAW))
		return -AKIN_E_bad_length;
	if (!g->nr_refs != !g->depth || !g->nr_refs != !g->ref_raw_len)
		return -AKIN_E_bad_field;
	if (g->nr_refs && (!g->codec_id || g->flags & GROUP_DIRECT))
		return -AKIN_E_bad_field;
	for (i = 0; i < g->nr_refs; i++) {
		r = &g->refs[i];
		if (r->container >= container)
			return -AKIN_E_bad_order;
		if (!r->container || !r->nr || r->nr > CONTAINER_MAX_ENTRIES ||
		    r->entry >= CONTAINER_MAX_ENTRIES ||
		    r->entry + r->nr > CONTAINER_MAX_ENTRIES)
			return -AKIN_E_bad_field;
	}
	return 0;
}

/*
 *  - no unknown flag				-AKIN_E_feature
 *  - number below CONTAINER_MAX_GROUPS		-AKIN_E_bad_field
 *  - 1..GROUP_MAX_CHUNKS chunks		-AKIN_E_bad_length
 *  - each: entry below CONTAINER_MAX_ENTRIES	-AKIN_E_bad_field
 *	    above the one before		-AKIN_E_bad_order
 *	    1..CHUNK_MAX_RAW long		-AKIN_E_bad_length
 *  - they add up to raw_len, <= GROUP_MAX_RAW	-AKIN_E_bad_length
 *  - 1..GROUP_MAX_RAW bytes stored, raw_len of
 *    them if the codec is 0			-AKIN_E_bad_length
 *  - up to GROUP_MAX_REFS references to up to
 *    GROUP_MAX_REF_RAW bytes, depth up to
 *    GROUP_MAX_DEPTH; if there are any, raw_len
 *    and stored_len up to GROUP_MAX_DELTA_RAW	-AKIN_E_bad_length
 *  - depth and ref_raw_len are 0 just when there are none, and there are none
 *    in a raw or direct group			-AKIN_E_bad_field
 *  - each: container below our own		-AKIN_E_bad_order
 *	    and above 0, entries in bounds	-AKIN_E_bad_field
 */
static int group_check(const struct group_header *g, u64 container)
{
	int err;

	if (g->flags & ~GROUP_DIRECT)
		return -AKIN_E_feature;
	if (g->number >= CONTAINER_MAX_GROUPS)
		return -AKIN_E_bad_field;
	err = group_check_chunks(g);
	if (err)
		return err;
	if (!g->stored_len || g->stored_len > GROUP_MAX_RAW ||
	    (!g->codec_id && g->stored_len != g->raw_len))
		return -AKIN_E_bad_length;
	return group_check_refs(g, container);
}

static bool group_is_dense(const struct group_header *g)
{
	return g->chunks[g->nr_chunks - 1].entry - g->chunks[0].entry ==
	       g->nr_chunks - 1;
}

static void group_encode_table(const struct group_header *g, u64 container,
			       struct buf *out)
{
	bool dense = group_is_dense(g);
	u32 i;

	buf_put_varint(out, g->number);
	buf_put_u8(out, g->codec_id);
	buf_put_u8(out, g->flags | (dense ? GROUP_DISK_DENSE : 0));
	buf_put_u8(out, g->depth);
	buf_put_varint(out, g->stored_len);
	buf_put_varint(out, g->nr_chunks);
	buf_put_varint(out, g->nr_refs);
	buf_put_varint(out, g->chunks[0].entry);
	for (i = 1; !dense && i < g->nr_chunks; i++)
		buf_put_varint(out, g->chunks[i].entry -
					    g->chunks[i - 1].entry - 1);
	for (i = 0; i < g->nr_chunks; i++)
		buf_put_varint(out, g->chunks[i].len);
	if (g->nr_refs)
		buf_put_varint(out, g->ref_raw_len);
	for (i = 0; i < g->nr_refs; i++) {
		buf_put_varint(out, container - g->refs[i].container);
		buf_put_varint(out, g->refs[i].entry);
		buf_put_varint(out, g->refs[i].nr);
	}
}

int group_encode(const struct group_header *g, u64 container,
		 const void *payload, struct buf *out)
{
	const size_t start = out->len;
	struct group_disk d;
	size_t total;
	int err;

	err = group_check(g, container);
	if (err)
		return err;
	(void)buf_extend(out, sizeof(d));	/* the error is sticky */
	group_encode_table(g, container, out);
	buf_put(out, payload, g->stored_len);
	err = buf_error(out);
	if (err)
		return err;
	total = out->len - start;
	memcpy(d.magic, group_magic, sizeof(d.magic));
	put_le32(d.total_len.b, (u32)total);
	put_le64(d.checksum.b,
		 format_checksum_seeded(out->data + start + sizeof(d),
					total - sizeof(d), container));
	memcpy(out->data + start, &d, sizeof(d));
	return 0;
}

/* Chunk table and references; the numbers before them have been read. */
static int group_decode_tables(struct cursor *c, u64 container, bool dense,
			       struct group_header *g)
{
	u32 i, entry;
	u64 raw_len = 0, below;

	/* Every chunk takes a byte at least, every reference three: what is
	 * allocated is a small multiple of the input. */
	if (c->bad || g->nr_chunks > cursor_left(c) ||
	    g->nr_refs > cursor_left(c) / 3)
		return -AKIN_E_bad_length;
	g->chunks = mem_calloc(g->nr_chunks, sizeof(*g->chunks));
	g->refs = mem_calloc(g->nr_refs, sizeof(*g->refs));
	if (!g->chunks || !g->refs)
		return -AKIN_E_nomem;
	entry = (u32)format_varint_max(c, CONTAINER_MAX_ENTRIES - 1);
	for (i = 0; i < g->nr_chunks; i++) {
		if (i)
			entry += 1 + (dense ? 0 :
				(u32)format_varint_max(c,
						       CONTAINER_MAX_ENTRIES));
		g->chunks[i].entry = entry;
	}
	for (i = 0; i < g->nr_chunks; i++) {
		g->chunks[i].len = (u32)format_varint_max(c, CHUNK_MAX_RAW);
		raw_len += g->chunks[i].len;
	}
	if (raw_len > GROUP_MAX_RAW)
		return -AKIN_E_bad_length;
	g->raw_len = (u32)raw_len;
	if (g->nr_refs)
		g->ref_raw_len = (u32)format_varint_max(c,
							GROUP_MAX_REF_RAW);
	for (i = 0; i < g->nr_refs; i++) {
		below = format_varint(c);
		if (!below || below > container)
			return -AKIN_E_bad_order;
		g->refs[i].container = container - below;
		g->refs[i].entry = (u32)format_varint_max(c, UINT32_MAX);
		g->refs[i].nr = (u32)format_varint_max(c, UINT32_MAX);
	}
	return cursor_error(c);
}

static int group_decode_body(struct cursor *c, u64 container,
			     struct group_header *g)
{
	bool dense;
	int err;

	g->number = (u32)format_varint_max(c, UINT32_MAX);
	g->codec_id = cursor_u8(c);
	g->flags = cursor_u8(c);
	dense = g->flags & GROUP_DISK_DENSE;
	g->flags &= (u8)~GROUP_DISK_DENSE;
	g->depth = cursor_u8(c);
	g->stored_len = (u32)format_varint_max(c, GROUP_MAX_RAW);
	g->nr_chunks = (u32)format_varint_max(c, GROUP_MAX_CHUNKS);
	g->nr_refs = (u32)format_varint_max(c, GROUP_MAX_REFS);
	/* Flags first: an unknown one may change what follows. */
	if (g->flags & ~GROUP_DIRECT)
		return -AKIN_E_feature;
	err = group_decode_tables(c, container, dense, g);
	if (err)
		return err;
	if (cursor_left(c) != g->stored_len)
		return -AKIN_E_bad_length;
	err = group_check(g, container);
	if (err)
		return err;
	return dense == group_is_dense(g) ? 0 : -AKIN_E_bad_field;
}

int group_decode(const void *data, size_t len, u64 container,
		 struct group_header *out, const u8 **payload_ret,
		 size_t *total_ret)
{
	struct cursor c = cursor_over(data, len);
	struct group_disk d;
	u32 total;
	int err;

	memset(out, 0, sizeof(*out));
	*payload_ret = NULL;
	*total_ret = 0;
	cursor_copy(&c, &d, sizeof(d));
	if (cursor_error(&c))
		return -AKIN_E_bad_length;
	if (memcmp(d.magic, group_magic, sizeof(d.magic)))
		return -AKIN_E_bad_magic;
	total = get_le32(d.total_len.b);
	if (total < sizeof(d) || total > len)
		return -AKIN_E_bad_length;
	c.end = c.p + (total - sizeof(d));
	if (get_le64(d.checksum.b) !=
	    format_checksum_seeded(c.p, cursor_left(&c), container))
		return -AKIN_E_bad_checksum;
	err = group_decode_body(&c, container, out);
	if (err) {
		group_header_release(out);
		return err;
	}
	*payload_ret = c.p;
	*total_ret = total;
	return 0;
}

void group_header_release(struct group_header *g)
{
	mem_free(g->chunks);
	mem_free(g->refs);
	memset(g, 0, sizeof(*g));
}

size_t group_seek(const void *data, size_t len, size_t from)
{
	const u8 *at = from < len ? memmem((const u8 *)data + from, len - from,
					   group_magic, sizeof(group_magic)) :
				    NULL;

	return at ? (size_t)(at - (const u8 *)data) : len;
}

u32 group_claim(const u8 head[GROUP_HEAD_BYTES])
{
	struct group_disk d;
	u32 len;

	static_assert(sizeof(d) == GROUP_HEAD_BYTES, "the head");
	memcpy(&d, head, sizeof(d));
	len = get_le32(d.total_len.b);
	if (memcmp(d.magic, group_magic, sizeof(group_magic)) ||
	    len <= sizeof(d) || len > CONTAINER_MAX_BYTES)
		return 0;
	return len;
}
