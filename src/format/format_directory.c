/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories: what a container holds, read with one I/O and cached.
 *
 *	head		40 bytes, fixed
 *	sections	see enum directory_tag; ascending tags
 *	checksum	le64 over everything before it
 *
 * One chunk costs its fingerprint, two or three bytes of length and its share
 * of the group table (about nine bytes a group): some 35 bytes in all. What is
 * the usual case takes no room: dense entry numbers, no salts, no hints.
 *
 * A directory is believed if and only if, in this order:
 *  - it is not longer than DIRECTORY_MAX_BYTES	-AKIN_E_bad_length
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its major version is ours			-AKIN_E_bad_version
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - reserved bytes of a version we know are 0	-AKIN_E_bad_field
 *  - counts are within their limits		-AKIN_E_bad_length
 *  - the sections fill it exactly		-AKIN_E_bad_length
 *    in ascending order, none twice		-AKIN_E_bad_order
 *    and none is unknown and required		-AKIN_E_feature
 *  - each section holds what the counts say, in shortest form, to its last
 *    byte					-AKIN_E_bad_length
 *  - no section is there that says nothing, and fingerprints, lengths and
 *    groups are there				-AKIN_E_bad_field
 *  - what directory_check() lists
 */
#include "format/format_container.h"
#include "format/format_internal.h"

static const u8 directory_magic[FORMAT_MAGIC_BYTES] =
	FORMAT_MAGIC_DIRECTORY;

struct directory_disk {
	u8   magic[8];		/* +0x00  "AKINDIR\0"                   */
	le32 version;		/* +0x08                                */
	le32 generation;	/* +0x0c                                */
	le64 container;		/* +0x10                                */
	le32 nr_entries;	/* +0x18                                */
	le32 nr_groups;		/* +0x1c                                */
	u8   kind;		/* +0x20  1 data, 2 metadata            */
	u8   rsvd[7];		/* +0x21  zero                          */
};
static_assert(sizeof(struct directory_disk) == 40, "disk format");

#define TAG(number, required) \
	((number) | ((required) ? FORMAT_SECTION_REQUIRED : 0))
enum directory_tag {
	/* 32 bytes for each entry. */
	DIRECTORY_FPS = TAG(1, 1),
	/* varint for each entry. */
	DIRECTORY_LENGTHS = TAG(2, 1),
	/* Only if entry numbers are not 0, 1, 2 ...: gap to the number that
	 * would have been dense, varint for each entry. */
	DIRECTORY_ENTRIES = TAG(3, 1),
	/* For each group: varints number gap, offset gap, length, entries;
	 * then codec and depth, a byte each. */
	DIRECTORY_GROUPS = TAG(4, 1),
	/* Only if there are salts: varint index gap, u8 salt. */
	DIRECTORY_SALTS = TAG(5, 1),
	/* Only if a hint is not empty: numbers for each entry. */
	DIRECTORY_HINTS = TAG(6, 0),
	/* Only if there are bases: numbers. */
	DIRECTORY_BASES = TAG(7, 1),
	/* Only if it is not zeros: 32 bytes. */
	DIRECTORY_FIRST_LEAF = TAG(8, 0),
	/* Only if an entry has one: a bit for each entry, the lowest of the
	 * first byte first, padded with zeros; then 3 x le32 for each that is
	 * set. */
	DIRECTORY_SKETCHES = TAG(9, 0),
};
#undef TAG

/* Least bytes of a group in its section, and of a salt. */
#define GROUP_ROW_MIN 6

static int directory_check_group(const struct directory *d, u32 g, u32 first)
{
	const struct dir_group *row = &d->groups[g];
	u64 end = CONTAINER_HEADER_BYTES, sum = 0;
	u32 i;

	if (row->number >= CONTAINER_MAX_GROUPS)
		return -AKIN_E_bad_field;
	if (g && row->number <= row[-1].number)
		return -AKIN_E_bad_order;
	if (g)
		end = row[-1].off + row[-1].len;
	if (row->off < end)
		return -AKIN_E_bad_order;
	if (!row->len || row->len > CONTAINER_MAX_BYTES ||
	    row->off > CONTAINER_MAX_BYTES - row->len)
		return -AKIN_E_bad_length;
	if (!row->nr || row->nr > GROUP_MAX_CHUNKS ||
	    row->nr > d->nr_entries - first)
		return -AKIN_E_bad_length;
	for (i = first; i < first + row->nr; i++) {
		if (d->entries[i].group != g)
			return -AKIN_E_bad_field;
		sum += d->entries[i].len;
	}
	return sum == row->raw_len && sum <= GROUP_MAX_RAW ?
		       0 : -AKIN_E_bad_length;
}

static int directory_check_entries(const struct directory *d)
{
	const struct dir_entry *e = d->entries;
	u32 i;

	for (i = 0; i < d->nr_entries; i++) {
		if (e[i].entry >= CONTAINER_MAX_ENTRIES)
			return -AKIN_E_bad_field;
		if (i && e[i].entry <= e[i - 1].entry)
			return -AKIN_E_bad_order;
		if (!e[i].len || e[i].len > CHUNK_MAX_RAW)
			return -AKIN_E_bad_length;
	}
	return 0;
}

static bool sketch_is_empty(const struct dir_sketch *s)
{
	return format_is_zero(s->part, sizeof(s->part));
}

static int directory_check_sketches(const struct directory *d)
{
	const struct dir_sketch *s = d->sketches;
	u32 i, k;

	if (s && d->kind != CONTAINER_DATA)
		return -AKIN_E_bad_field;
	for (i = 0; s && i < d->nr_entries; i++) {
		if (sketch_is_empty(&s[i]))
			continue;
		for (k = 0; k < DIR_SKETCH_PARTS; k++)
			if (!s[i].part[k])
				return -AKIN_E_bad_field;
	}
	return 0;
}

/*
 *  - container >= 1, kind is data or metadata	-AKIN_E_bad_field
 *  - entries up to CONTAINER_MAX_ENTRIES, groups up to as many as entries and
 *    CONTAINER_MAX_GROUPS			-AKIN_E_bad_length
 *  - each entry: below CONTAINER_MAX_ENTRIES	-AKIN_E_bad_field
 *	    above the one before		-AKIN_E_bad_order
 *	    1..CHUNK_MAX_RAW long		-AKIN_E_bad_length
 *  - each group: number in bounds		-AKIN_E_bad_field
 *	    above the one before		-AKIN_E_bad_order
 *	    behind the one before, or the header	-AKIN_E_bad_order
 *	    within CONTAINER_MAX_BYTES		-AKIN_E_bad_length
 *	    takes 1..GROUP_MAX_CHUNKS of the entries, in order, which add up
 *	    to its raw length <= GROUP_MAX_RAW	-AKIN_E_bad_length
 *  - every entry is in a group			-AKIN_E_bad_length
 *  - bases ascend, from 1			-AKIN_E_bad_order
 *    to below the container's number		-AKIN_E_bad_order
 *  - hints only in metadata			-AKIN_E_bad_field
 *    each ascends, from 1			-AKIN_E_bad_order
 *  - sketches only in data, whole ones		-AKIN_E_bad_field
 */
static int directory_check(const struct directory *d)
{
	u32 g, i, first = 0;
	int err;

	if (!d->container ||
	    (d->kind != CONTAINER_DATA && d->kind != CONTAINER_METADATA))
		return -AKIN_E_bad_field;
	if (d->nr_entries > CONTAINER_MAX_ENTRIES ||
	    d->nr_groups > CONTAINER_MAX_GROUPS ||
	    d->nr_groups > d->nr_entries)
		return -AKIN_E_bad_length;
	err = directory_check_entries(d);
	for (g = 0; !err && g < d->nr_groups; g++) {
		err = directory_check_group(d, g, first);
		first += d->groups[g].nr;
	}
	if (err)
		return err;
	if (first != d->nr_entries)
		return -AKIN_E_bad_length;
	err = format_numbers_check(d->bases, d->nr_bases, UINT32_MAX);
	if (err)
		return err;
	if (d->nr_bases && d->bases[d->nr_bases - 1] >= d->container)
		return -AKIN_E_bad_order;
	if (d->hints && d->kind != CONTAINER_METADATA)
		return -AKIN_E_bad_field;
	for (i = 0; !err && d->hints && i < d->nr_entries; i++)
		err = format_numbers_check(d->hints[i].containers,
					   d->hints[i].nr, HINT_MAX);
	return err ? err : directory_check_sketches(d);
}

/* Entry numbers 0, 1, 2 ...: they ascend, so the last one tells. */
static bool directory_is_dense(const struct directory *d)
{
	return !d->nr_entries ||
	       d->entries[d->nr_entries - 1].entry == d->nr_entries - 1;
}

static bool directory_has_salts(const struct directory *d)
{
	u32 i;

	for (i = 0; i < d->nr_entries; i++)
		if (d->entries[i].fp_salt)
			return true;
	return false;
}

static bool directory_has_hints(const struct directory *d)
{
	u32 i;

	for (i = 0; d->hints && i < d->nr_entries; i++)
		if (d->hints[i].nr)
			return true;
	return false;
}

static bool directory_has_sketches(const struct directory *d)
{
	u32 i;

	for (i = 0; d->sketches && i < d->nr_entries; i++)
		if (!sketch_is_empty(&d->sketches[i]))
			return true;
	return false;
}

static void directory_encode_entries(const struct directory *d,
				     struct buf *out)
{
	size_t at;
	u32 i;

	at = format_section_begin(out, DIRECTORY_FPS);
	for (i = 0; i < d->nr_entries; i++)
		buf_put(out, d->entries[i].fp.b, FP_BYTES);
	format_section_end(out, at);
	at = format_section_begin(out, DIRECTORY_LENGTHS);
	for (i = 0; i < d->nr_entries; i++)
		buf_put_varint(out, d->entries[i].len);
	format_section_end(out, at);
	if (directory_is_dense(d))
		return;
	at = format_section_begin(out, DIRECTORY_ENTRIES);
	for (i = 0; i < d->nr_entries; i++)
		buf_put_varint(out, d->entries[i].entry -
			       (i ? d->entries[i - 1].entry + 1 : 0));
	format_section_end(out, at);
}

static void directory_encode_groups(const struct directory *d,
				    struct buf *out)
{
	size_t at = format_section_begin(out, DIRECTORY_GROUPS);
	u64 end = CONTAINER_HEADER_BYTES;
	u32 g, number = 0;

	for (g = 0; g < d->nr_groups; g++) {
		buf_put_varint(out, d->groups[g].number - number);
		buf_put_varint(out, d->groups[g].off - end);
		buf_put_varint(out, d->groups[g].len);
		buf_put_varint(out, d->groups[g].nr);
		buf_put_u8(out, d->groups[g].codec_id);
		buf_put_u8(out, d->groups[g].depth);
		number = d->groups[g].number + 1;
		end = d->groups[g].off + d->groups[g].len;
	}
	format_section_end(out, at);
}

static void directory_encode_salts(const struct directory *d, struct buf *out)
{
	size_t at = format_section_begin(out, DIRECTORY_SALTS);
	u32 i, next = 0;

	for (i = 0; i < d->nr_entries; i++) {
		if (!d->entries[i].fp_salt)
			continue;
		buf_put_varint(out, i - next);
		buf_put_u8(out, d->entries[i].fp_salt);
		next = i + 1;
	}
	format_section_end(out, at);
}

static void directory_encode_sketches(const struct directory *d,
				      struct buf *out)
{
	size_t at = format_section_begin(out, DIRECTORY_SKETCHES);
	u32 i, k;
	u8 bits = 0;

	for (i = 0; i < d->nr_entries; i++) {
		if (!sketch_is_empty(&d->sketches[i]))
			bits |= (u8)(1u << i % 8);
		if (i % 8 < 7 && i + 1 < d->nr_entries)
			continue;
		buf_put_u8(out, bits);
		bits = 0;
	}
	for (i = 0; i < d->nr_entries; i++) {
		if (sketch_is_empty(&d->sketches[i]))
			continue;
		for (k = 0; k < DIR_SKETCH_PARTS; k++)
			buf_put_le32(out, d->sketches[i].part[k]);
	}
	format_section_end(out, at);
}

static void directory_encode_sections(const struct directory *d,
				      struct buf *out)
{
	size_t at;
	u32 i;

	directory_encode_entries(d, out);
	directory_encode_groups(d, out);
	if (directory_has_salts(d))
		directory_encode_salts(d, out);
	if (directory_has_hints(d)) {
		at = format_section_begin(out, DIRECTORY_HINTS);
		for (i = 0; i < d->nr_entries; i++)
			format_numbers_encode(d->hints[i].containers,
					      d->hints[i].nr, out);
		format_section_end(out, at);
	}
	if (d->nr_bases) {
		at = format_section_begin(out, DIRECTORY_BASES);
		format_numbers_encode(d->bases, d->nr_bases, out);
		format_section_end(out, at);
	}
	if (!format_is_zero(d->first_leaf.b, FP_BYTES)) {
		at = format_section_begin(out, DIRECTORY_FIRST_LEAF);
		buf_put(out, d->first_leaf.b, FP_BYTES);
		format_section_end(out, at);
	}
	if (directory_has_sketches(d))
		directory_encode_sketches(d, out);
}

int directory_encode(const struct directory *d, struct buf *out)
{
	const size_t start = out->len;
	struct directory_disk head;
	int err;

	err = directory_check(d);
	if (err)
		return err;
	memset(&head, 0, sizeof(head));
	memcpy(head.magic, directory_magic, sizeof(head.magic));
	put_le32(head.version.b, FORMAT_VERSION);
	put_le32(head.generation.b, d->generation);
	put_le64(head.container.b, d->container);
	put_le32(head.nr_entries.b, d->nr_entries);
	put_le32(head.nr_groups.b, d->nr_groups);
	head.kind = d->kind;
	buf_put(out, &head, sizeof(head));
	directory_encode_sections(d, out);
	err = buf_error(out);
	if (err)
		return err;
	buf_put_le64(out, format_checksum(out->data + start,
					  out->len - start));
	if (out->len - start > DIRECTORY_MAX_BYTES) {
		out->len = start;
		return -AKIN_E_bad_length;
	}
	return buf_error(out);
}

/* Decoding ----------------------------------------------------------------*/

static int directory_decode_fps(struct directory *d, struct cursor *c)
{
	u32 i;

	if (cursor_left(c) != (size_t)d->nr_entries * FP_BYTES)
		return -AKIN_E_bad_length;
	d->entries = mem_calloc(d->nr_entries, sizeof(*d->entries));
	if (!d->entries)
		return -AKIN_E_nomem;
	for (i = 0; i < d->nr_entries; i++) {
		cursor_copy(c, d->entries[i].fp.b, FP_BYTES);
		d->entries[i].entry = i;
	}
	return 0;
}

static int directory_decode_lengths(struct directory *d, struct cursor *c)
{
	u32 i;

	for (i = 0; i < d->nr_entries; i++)
		d->entries[i].len = (u32)format_varint_max(c, CHUNK_MAX_RAW);
	return cursor_error(c);
}

static int directory_decode_entries(struct directory *d, struct cursor *c)
{
	u32 i, next = 0;

	for (i = 0; i < d->nr_entries; i++) {
		d->entries[i].entry = next +
			(u32)format_varint_max(c, CONTAINER_MAX_ENTRIES - 1);
		next = d->entries[i].entry + 1;
	}
	if (cursor_error(c))
		return -AKIN_E_bad_length;
	return directory_is_dense(d) ? -AKIN_E_bad_field : 0;
}

/* One row, and the entries it covers; those before it are done. */
static int directory_decode_group(struct directory *d, struct cursor *c,
				  struct dir_group *row, u32 first)
{
	const u32 g = (u32)(row - d->groups);
	u64 end = CONTAINER_HEADER_BYTES, sum = 0;
	u32 number = 0, i;

	if (g) {
		end = row[-1].off + row[-1].len;
		number = row[-1].number + 1;
	}
	row->number = number +
		      (u32)format_varint_max(c, CONTAINER_MAX_GROUPS - 1);
	row->off = end + format_varint_max(c, CONTAINER_MAX_BYTES);
	row->len = (u32)format_varint_max(c, CONTAINER_MAX_BYTES);
	row->nr = (u32)format_varint_max(c, GROUP_MAX_CHUNKS);
	row->codec_id = cursor_u8(c);
	row->depth = cursor_u8(c);
	row->first = first;
	if (c->bad || row->nr > d->nr_entries - first)
		return -AKIN_E_bad_length;
	for (i = first; i < first + row->nr; i++) {
		d->entries[i].group = g;
		d->entries[i].raw_off = (u32)sum;
		sum += d->entries[i].len;
	}
	if (sum > GROUP_MAX_RAW)
		return -AKIN_E_bad_length;
	row->raw_len = (u32)sum;
	return 0;
}

static int directory_decode_groups(struct directory *d, struct cursor *c)
{
	u32 g, first = 0;
	int err;

	if (d->nr_groups > cursor_left(c) / GROUP_ROW_MIN)
		return -AKIN_E_bad_length;
	d->groups = mem_calloc(d->nr_groups, sizeof(*d->groups));
	if (!d->groups)
		return -AKIN_E_nomem;
	for (g = 0; g < d->nr_groups; g++) {
		err = directory_decode_group(d, c, &d->groups[g], first);
		if (err)
			return err;
		first += d->groups[g].nr;
	}
	return 0;
}

static int directory_decode_salts(struct directory *d, struct cursor *c)
{
	u64 next = 0;
	u8 salt;

	if (!cursor_left(c))
		return -AKIN_E_bad_field;
	while (cursor_left(c)) {
		next += format_varint_max(c, CONTAINER_MAX_ENTRIES);
		salt = cursor_u8(c);
		if (c->bad || next >= d->nr_entries)
			return -AKIN_E_bad_length;
		if (!salt)
			return -AKIN_E_bad_field;
		d->entries[next++].fp_salt = salt;
	}
	return 0;
}

static int directory_decode_hints(struct directory *d, struct cursor *c)
{
	u32 i;
	int err;

	if (!d->hints)
		return -AKIN_E_bad_field;	/* not metadata */
	for (i = 0; i < d->nr_entries; i++) {
		err = format_numbers_decode(c, HINT_MAX,
					    &d->hints[i].containers,
					    &d->hints[i].nr);
		if (err)
			return err;
	}
	return directory_has_hints(d) ? 0 : -AKIN_E_bad_field;
}

static int directory_decode_bases(struct directory *d, struct cursor *c)
{
	int err;

	err = format_numbers_decode(c, UINT32_MAX, &d->bases, &d->nr_bases);
	if (err)
		return err;
	return d->nr_bases ? 0 : -AKIN_E_bad_field;
}

static int directory_decode_sketches(struct directory *d, struct cursor *c)
{
	size_t nr_bytes = (d->nr_entries + 7) / 8;
	const u8 *bits = c->p;
	u32 i, k;

	/* Which is at least one bit, and what it stands for. */
	if (cursor_left(c) <= nr_bytes)
		return -AKIN_E_bad_length;
	c->p += nr_bytes;
	if (d->nr_entries % 8 && bits[nr_bytes - 1] >> d->nr_entries % 8)
		return -AKIN_E_bad_field;
	d->sketches = mem_calloc(d->nr_entries, sizeof(*d->sketches));
	if (!d->sketches)
		return -AKIN_E_nomem;
	for (i = 0; i < d->nr_entries; i++) {
		if (!(bits[i / 8] >> i % 8 & 1))
			continue;
		for (k = 0; k < DIR_SKETCH_PARTS; k++)
			d->sketches[i].part[k] = cursor_le32(c);
		if (sketch_is_empty(&d->sketches[i]) || c->bad)
			return c->bad ? -AKIN_E_bad_length : -AKIN_E_bad_field;
	}
	return 0;
}

static int directory_decode_section(struct directory *d,
				    struct format_section *s)
{
	struct cursor *c = &s->body;
	int err;

	/* All others fill in what these two have allocated. */
	if (s->tag != DIRECTORY_FPS && !d->entries)
		return -AKIN_E_bad_field;
	switch (s->tag) {
	case DIRECTORY_FPS:
		err = directory_decode_fps(d, c);
		break;
	case DIRECTORY_LENGTHS:
		err = directory_decode_lengths(d, c);
		break;
	case DIRECTORY_ENTRIES:
		err = directory_decode_entries(d, c);
		break;
	case DIRECTORY_GROUPS:
		err = directory_decode_groups(d, c);
		break;
	case DIRECTORY_SALTS:
		err = directory_decode_salts(d, c);
		break;
	case DIRECTORY_HINTS:
		err = directory_decode_hints(d, c);
		break;
	case DIRECTORY_BASES:
		err = directory_decode_bases(d, c);
		break;
	case DIRECTORY_FIRST_LEAF:
		cursor_copy(c, d->first_leaf.b, FP_BYTES);
		err = cursor_error(c);
		if (!err && format_is_zero(d->first_leaf.b, FP_BYTES))
			err = -AKIN_E_bad_field;
		break;
	case DIRECTORY_SKETCHES:
		err = directory_decode_sketches(d, c);
		break;
	default:
		return format_section_unknown(s->tag);
	}
	if (!err && cursor_left(c))
		err = -AKIN_E_bad_length;
	return err;
}

static int directory_decode_head(struct cursor *c, struct directory *d)
{
	struct directory_disk head;
	u32 version;

	if (cursor_left(c) < sizeof(head) + FORMAT_CHECKSUM_BYTES ||
	    cursor_left(c) > DIRECTORY_MAX_BYTES)
		return -AKIN_E_bad_length;
	c->end -= FORMAT_CHECKSUM_BYTES;
	memcpy(&head, c->p, sizeof(head));
	if (memcmp(head.magic, directory_magic, sizeof(head.magic)))
		return -AKIN_E_bad_magic;
	version = get_le32(head.version.b);
	if (format_version_check(version))
		return -AKIN_E_bad_version;
	if (get_le64(c->end) != format_checksum(c->p, cursor_left(c)))
		return -AKIN_E_bad_checksum;
	if (format_version_known(version) &&
	    !format_is_zero(head.rsvd, sizeof(head.rsvd)))
		return -AKIN_E_bad_field;
	c->p += sizeof(head);
	d->generation = get_le32(head.generation.b);
	d->container = get_le64(head.container.b);
	d->kind = head.kind;
	d->nr_entries = get_le32(head.nr_entries.b);
	d->nr_groups = get_le32(head.nr_groups.b);
	/* The fingerprints must be there: bounds what is allocated. */
	if (d->nr_entries > CONTAINER_MAX_ENTRIES ||
	    d->nr_entries > cursor_left(c) / FP_BYTES ||
	    d->nr_groups > d->nr_entries)
		return -AKIN_E_bad_length;
	if (d->kind != CONTAINER_METADATA)
		return 0;
	d->hints = mem_calloc(d->nr_entries, sizeof(*d->hints));
	return d->hints ? 0 : -AKIN_E_nomem;
}

static int directory_decode_body(struct cursor *c, struct directory *d)
{
	struct format_section s;
	unsigned seen = 0;
	u16 prev = 0;
	int err;

	while (cursor_left(c)) {
		err = format_section_next(c, &prev, &s);
		if (!err)
			err = directory_decode_section(d, &s);
		if (err)
			return err;
		if (s.tag & FORMAT_SECTION_REQUIRED && prev < 32)
			seen |= 1u << prev;
	}
	if (~seen & (1u << 1 | 1u << 2 | 1u << 4))
		return -AKIN_E_bad_field;
	return directory_check(d);
}

int directory_decode(const void *data, size_t len, struct directory *out)
{
	struct cursor c = cursor_over(data, len);
	int err;

	memset(out, 0, sizeof(*out));
	err = directory_decode_head(&c, out);
	if (!err)
		err = directory_decode_body(&c, out);
	if (err)
		directory_release(out);
	return err;
}

int directory_add_base(struct directory *d, u32 *cap, u64 base)
{
	u32 i = d->nr_bases, n;
	u64 *p;

	while (i > 0 && d->bases[i - 1] > base)
		i--;
	if (i > 0 && d->bases[i - 1] == base)
		return 0;
	if (d->nr_bases == *cap) {
		n = *cap ? *cap * 2 : 8;
		p = mem_realloc(d->bases, n * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		d->bases = p;
		*cap = n;
	}
	memmove(d->bases + i + 1, d->bases + i,
		(d->nr_bases - i) * sizeof(*d->bases));
	d->bases[i] = base;
	d->nr_bases++;
	return 0;
}

void directory_release(struct directory *d)
{
	u32 i;

	for (i = 0; d->hints && i < d->nr_entries; i++)
		mem_free(d->hints[i].containers);
	mem_free(d->hints);
	mem_free(d->entries);
	mem_free(d->groups);
	mem_free(d->bases);
	mem_free(d->sketches);
	memset(d, 0, sizeof(*d));
}

size_t directory_seek(const void *data, size_t len, size_t from)
{
	const u8 *at = from < len ? memmem((const u8 *)data + from, len - from,
					   directory_magic,
					   sizeof(directory_magic)) : NULL;

	return at ? (size_t)(at - (const u8 *)data) : len;
}
