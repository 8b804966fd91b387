/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshot records.
 *
 *	head		0x68 bytes, fixed
 *	sections	see enum snapshot_tag; ascending tags
 *	checksum	le64 over everything before it
 *
 * A record is believed if and only if, in this order:
 *  - it is not longer than SNAPSHOT_RECORD_MAX	-AKIN_E_bad_length
 *  - its magic is right			-AKIN_E_bad_magic
 *  - its major version is ours			-AKIN_E_bad_version
 *  - its length is the one it names		-AKIN_E_bad_length
 *  - its checksum is right			-AKIN_E_bad_checksum
 *  - reserved bytes of a version we know are 0	-AKIN_E_bad_field
 *  - the sections fill it exactly		-AKIN_E_bad_length
 *    in ascending order, none twice		-AKIN_E_bad_order
 *    and none is unknown and required		-AKIN_E_feature
 *  - each section holds, in shortest form and to its last byte, what it is
 *    for					-AKIN_E_bad_length
 *  - no section is there that says nothing; owner, root and counts are there
 *						-AKIN_E_bad_field
 *  - what snapshot_check() lists
 */
#include "format/format_internal.h"
#include "format/format_snapshot.h"

static const u8 snapshot_magic[FORMAT_MAGIC_BYTES] =
	FORMAT_MAGIC_SNAPSHOT;

struct snapshot_disk {
	u8   magic[8];		/* +0x00  "AKINSNA\0"                   */
	le32 version;		/* +0x08                                */
	le32 total_len;		/* +0x0c  head, sections, checksum      */
	u8   pool[16];		/* +0x10                                */
	le64 number;		/* +0x20                                */
	u8   id[16];		/* +0x28                                */
	le64 session;		/* +0x38                                */
	u8   parent[16];	/* +0x40  zeros: none                   */
	le64 time_sec;		/* +0x50  signed, since 1970            */
	le32 time_nsec;		/* +0x58                                */
	le32 utc_offset_sec;	/* +0x5c  signed                        */
	le32 flags;		/* +0x60                                */
	u8   rsvd[4];		/* +0x64  zero                          */
};
static_assert(sizeof(struct snapshot_disk) == 0x68, "disk format");

#define TAG(number, required) \
	((number) | ((required) ? FORMAT_SECTION_REQUIRED : 0))
enum snapshot_tag {
	/* host NUL user NUL command NUL. */
	SNAPSHOT_OWNER = TAG(1, 1),
	/* Only if there are any: (string NUL) each. */
	SNAPSHOT_PATHS = TAG(2, 1),
	SNAPSHOT_TAGS = TAG(3, 1),
	/* Content. */
	SNAPSHOT_ROOT = TAG(4, 1),
	/* Only if it is not empty: numbers. */
	SNAPSHOT_ROOT_HINT = TAG(5, 0),
	/* Varints, in the order of struct snapshot_counts; a later minor
	 * version may append some. */
	SNAPSHOT_COUNTS = TAG(6, 1),
	/* Only if there are any: (gap to the end of the range before, nr - 1)
	 * each, varints; the first gap from container 1. */
	SNAPSHOT_CONTAINERS = TAG(7, 1),
};
#undef TAG

#define SNAPSHOT_FLAGS \
	(SNAPSHOT_PARTIAL | SNAPSHOT_OBJECTS | SNAPSHOT_TRANSFERRED)
#define NSEC_PER_SEC 1000000000u
/* More than any zone has ever been off. */
#define UTC_OFFSET_MAX_SEC (26 * 3600)

static const char *snapshot_text(const char *s)
{
	return s ? s : "";
}

static int snapshot_check_text(const char *s)
{
	return s && strlen(s) > SNAPSHOT_STRING_MAX ? -AKIN_E_bad_length : 0;
}

static int snapshot_check_containers(const struct snapshot *s)
{
	const struct number_range *r = s->containers;
	u64 next = 1;
	u32 i;

	for (i = 0; i < s->nr_containers; i++) {
		if (r[i].first < next)
			return -AKIN_E_bad_order;
		if (!r[i].nr ||
		    __builtin_add_overflow(r[i].first, r[i].nr, &next))
			return -AKIN_E_bad_length;
	}
	return 0;
}

/*
 *  - no unknown flag				-AKIN_E_feature
 *  - number >= 1, nanoseconds below 10^9, an offset within 26 hours
 *						-AKIN_E_bad_field
 *  - strings of up to SNAPSHOT_STRING_MAX bytes, up to SNAPSHOT_STRINGS_MAX
 *    paths and tags				-AKIN_E_bad_length
 *    none of which is empty			-AKIN_E_bad_field
 *  - root as format_recipe.c says
 *  - its hint ascends from 1			-AKIN_E_bad_order
 *    and has up to HINT_MAX numbers		-AKIN_E_bad_length
 *  - container ranges ascend from 1, disjoint	-AKIN_E_bad_order
 *    none empty or beyond 2^64			-AKIN_E_bad_length
 */
static int snapshot_check(const struct snapshot *s)
{
	int err;

	if (s->flags & ~(u32)SNAPSHOT_FLAGS)
		return -AKIN_E_feature;
	if (!s->number || s->time_nsec >= NSEC_PER_SEC ||
	    s->utc_offset_sec > UTC_OFFSET_MAX_SEC ||
	    s->utc_offset_sec < -UTC_OFFSET_MAX_SEC)
		return -AKIN_E_bad_field;
	if (snapshot_check_text(s->host) || snapshot_check_text(s->user) ||
	    snapshot_check_text(s->command))
		return -AKIN_E_bad_length;
	err = format_strings_check(s->paths, s->nr_paths);
	if (!err)
		err = format_strings_check(s->tags, s->nr_tags);
	if (!err)
		err = content_check(&s->root);
	if (!err)
		err = format_numbers_check(s->root_hint.containers,
					   s->root_hint.nr, HINT_MAX);
	if (!err)
		err = snapshot_check_containers(s);
	return err;
}

/* The counts in the order in which they are written. */
static void snapshot_counts_list(struct snapshot_counts *c, u64 *list[12])
{
	list[0] = &c->files;
	list[1] = &c->dirs;
	list[2] = &c->others;
	list[3] = &c->bytes;
	list[4] = &c->bytes_read;
	list[5] = &c->chunks;
	list[6] = &c->chunks_new;
	list[7] = &c->bytes_new;
	list[8] = &c->bytes_stored;
	list[9] = &c->bytes_meta;
	list[10] = &c->duration_ns;
	list[11] = &c->warnings;
}
static_assert(sizeof(struct snapshot_counts) == 12 * sizeof(u64),
	      "every count is in the list");

static void snapshot_encode_owner(const struct snapshot *s, struct buf *out)
{
	const char *const texts[] = { snapshot_text(s->host),
				      snapshot_text(s->user),
				      snapshot_text(s->command) };
	size_t at = format_section_begin(out, SNAPSHOT_OWNER);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		buf_put(out, texts[i], strlen(texts[i]) + 1);
	format_section_end(out, at);
}

static void snapshot_encode_containers(const struct snapshot *s,
				       struct buf *out)
{
	u64 next = 1;
	size_t at;
	u32 i;

	if (!s->nr_containers)
		return;
	at = format_section_begin(out, SNAPSHOT_CONTAINERS);
	for (i = 0; i < s->nr_containers; i++) {
		buf_put_varint(out, s->containers[i].first - next);
		buf_put_varint(out, s->containers[i].nr - 1);
		next = s->containers[i].first + s->containers[i].nr;
	}
	format_section_end(out, at);
}

static void snapshot_encode_sections(const struct snapshot *s, struct buf *out)
{
	struct snapshot_counts counts = s->counts;
	u64 *list[12];
	size_t at;
	u32 i;

	snapshot_encode_owner(s, out);
	format_strings_encode(SNAPSHOT_PATHS, s->paths, s->nr_paths, out);
	format_strings_encode(SNAPSHOT_TAGS, s->tags, s->nr_tags, out);
	at = format_section_begin(out, SNAPSHOT_ROOT);
	content_encode(&s->root, out);
	format_section_end(out, at);
	if (s->root_hint.nr) {
		at = format_section_begin(out, SNAPSHOT_ROOT_HINT);
		format_numbers_encode(s->root_hint.containers, s->root_hint.nr,
				      out);
		format_section_end(out, at);
	}
	at = format_section_begin(out, SNAPSHOT_COUNTS);
	snapshot_counts_list(&counts, list);
	for (i = 0; i < ARRAY_SIZE(list); i++)
		buf_put_varint(out, *list[i]);
	format_section_end(out, at);
	snapshot_encode_containers(s, out);
}

static void snapshot_put_head(const struct snapshot *s, size_t total,
			      struct snapshot_disk *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->magic, snapshot_magic, sizeof(d->magic));
	put_le32(d->version.b, FORMAT_VERSION);
	put_le32(d->total_len.b, (u32)total);
	memcpy(d->pool, s->pool.b, sizeof(d->pool));
	put_le64(d->number.b, s->number);
	memcpy(d->id, s->id, sizeof(d->id));
	put_le64(d->session.b, s->session);
	memcpy(d->parent, s->parent, sizeof(d->parent));
	put_le64(d->time_sec.b, (u64)s->time_sec);
	put_le32(d->time_nsec.b, s->time_nsec);
	put_le32(d->utc_offset_sec.b, (u32)s->utc_offset_sec);
	put_le32(d->flags.b, s->flags);
}

int snapshot_encode(const struct snapshot *s, struct buf *out)
{
	const size_t start = out->len;
	struct snapshot_disk d;
	size_t total;
	int err;

	err = snapshot_check(s);
	if (err)
		return err;
	(void)buf_extend(out, sizeof(d));	/* the error is sticky */
	snapshot_encode_sections(s, out);
	err = buf_error(out);
	if (err)
		return err;
	total = out->len - start + FORMAT_CHECKSUM_BYTES;
	if (total > SNAPSHOT_RECORD_MAX) {
		out->len = start;
		return -AKIN_E_bad_length;
	}
	snapshot_put_head(s, total, &d);
	memcpy(out->data + start, &d, sizeof(d));
	buf_put_le64(out, format_checksum(out->data + start,
					  out->len - start));
	return buf_error(out);
}

/* Decoding ----------------------------------------------------------------*/

static int snapshot_decode_text(struct cursor *c, char **out)
{
	const char *s = format_string(c, SNAPSHOT_STRING_MAX, NULL);

	if (!s)
		return -AKIN_E_bad_length;
	*out = mem_strdup(s);
	return *out ? 0 : -AKIN_E_nomem;
}

static int snapshot_decode_owner(struct cursor *c, struct snapshot *s)
{
	int err;

	err = snapshot_decode_text(c, &s->host);
	if (!err)
		err = snapshot_decode_text(c, &s->user);
	if (!err)
		err = snapshot_decode_text(c, &s->command);
	return err;
}

static int snapshot_decode_root(struct cursor *c, struct snapshot *s)
{
	const size_t len = cursor_left(c);
	struct cursor copy;
	int err;

	/* Inline entries borrow from what is decoded, and the record's bytes
	 * may go away. */
	s->memory = mem_dup(c->p, len);
	if (!s->memory)
		return -AKIN_E_nomem;
	copy = cursor_over(s->memory, len);
	err = content_decode(&copy, &s->root);
	c->p += len - cursor_left(&copy);
	return err;
}

static int snapshot_decode_hint(struct cursor *c, struct snapshot *s)
{
	int err = format_numbers_decode(c, HINT_MAX, &s->root_hint.containers,
					&s->root_hint.nr);

	return err || s->root_hint.nr ? err : -AKIN_E_bad_field;
}

static int snapshot_decode_counts(struct cursor *c, struct snapshot *s,
				  bool known)
{
	u64 *list[12];
	u32 i;

	snapshot_counts_list(&s->counts, list);
	for (i = 0; i < ARRAY_SIZE(list); i++)
		*list[i] = format_varint(c);
	if (!known)
		c->p = c->end;
	return cursor_error(c);
}

static int snapshot_decode_containers(struct cursor *c, struct snapshot *s)
{
	/* Two bytes at least make a range of sixteen. */
	const u32 max_nr = (u32)(cursor_left(c) / 2);
	struct number_range *r;
	u64 next = 1, gap;

	if (!cursor_left(c))
		return -AKIN_E_bad_field;
	s->containers = mem_calloc(max_nr, sizeof(*s->containers));
	if (!s->containers)
		return -AKIN_E_nomem;
	while (cursor_left(c)) {
		if (s->nr_containers == max_nr)
			return -AKIN_E_bad_length;
		r = &s->containers[s->nr_containers];
		gap = format_varint(c);
		r->nr = format_varint(c);
		if (c->bad || r->nr == UINT64_MAX ||
		    __builtin_add_overflow(next, gap, &r->first))
			return -AKIN_E_bad_length;
		r->nr++;
		if (__builtin_add_overflow(r->first, r->nr, &next))
			return -AKIN_E_bad_length;
		s->nr_containers++;
	}
	return 0;
}

static int snapshot_decode_section(struct format_section *sec, bool known,
				   struct snapshot *s)
{
	struct cursor *c = &sec->body;
	int err;

	switch (sec->tag) {
	case SNAPSHOT_OWNER:
		err = snapshot_decode_owner(c, s);
		break;
	case SNAPSHOT_PATHS:
		err = format_strings_decode(c, &s->paths, &s->nr_paths);
		break;
	case SNAPSHOT_TAGS:
		err = format_strings_decode(c, &s->tags, &s->nr_tags);
		break;
	case SNAPSHOT_ROOT:
		err = snapshot_decode_root(c, s);
		break;
	case SNAPSHOT_ROOT_HINT:
		err = snapshot_decode_hint(c, s);
		break;
	case SNAPSHOT_COUNTS:
		err = snapshot_decode_counts(c, s, known);
		break;
	case SNAPSHOT_CONTAINERS:
		err = snapshot_decode_containers(c, s);
		break;
	default:
		return format_section_unknown(sec->tag);
	}
	if (!err && cursor_left(c))
		err = -AKIN_E_bad_length;
	return err;
}

static int snapshot_decode_head(struct cursor *c, bool *known,
				struct snapshot *s)
{
	struct snapshot_disk d;
	u32 version;
	int err;

	err = format_record_check(c, snapshot_magic, sizeof(d),
				  SNAPSHOT_RECORD_MAX);
	if (err)
		return err;
	memcpy(&d, c->p, sizeof(d));
	version = get_le32(d.version.b);
	*known = format_version_known(version);
	if (*known && !format_is_zero(d.rsvd, sizeof(d.rsvd)))
		return -AKIN_E_bad_field;
	c->p += sizeof(d);
	memcpy(s->pool.b, d.pool, sizeof(d.pool));
	s->number = get_le64(d.number.b);
	memcpy(s->id, d.id, sizeof(d.id));
	s->session = get_le64(d.session.b);
	memcpy(s->parent, d.parent, sizeof(d.parent));
	s->time_sec = (s64)get_le64(d.time_sec.b);
	s->time_nsec = get_le32(d.time_nsec.b);
	s->utc_offset_sec = (s32)get_le32(d.utc_offset_sec.b);
	s->flags = get_le32(d.flags.b);
	return 0;
}

static int snapshot_decode_body(struct cursor *c, bool known,
				struct snapshot *s)
{
	struct format_section sec;
	unsigned seen = 0;
	u16 prev = 0;
	int err;

	while (cursor_left(c)) {
		err = format_section_next(c, &prev, &sec);
		if (!err)
			err = snapshot_decode_section(&sec, known, s);
		if (err)
			return err;
		if (sec.tag & FORMAT_SECTION_REQUIRED && prev < 32)
			seen |= 1u << prev;
	}
	if (~seen & (1u << 1 | 1u << 4 | 1u << 6))
		return -AKIN_E_bad_field;
	return snapshot_check(s);
}

int snapshot_decode(const void *data, size_t len, struct snapshot *out)
{
	struct cursor c = cursor_over(data, len);
	bool known = false;
	int err;

	memset(out, 0, sizeof(*out));
	err = snapshot_decode_head(&c, &known, out);
	if (!err)
		err = snapshot_decode_body(&c, known, out);
	if (err)
		snapshot_release(out);
	return err;
}

void snapshot_release(struct snapshot *s)
{
	mem_free(s->host);
	mem_free(s->user);
	mem_free(s->command);
	format_strings_free(s->paths, s->nr_paths);
	format_strings_free(s->tags, s->nr_tags);
	mem_free(s->root_hint.containers);
	mem_free(s->containers);
	mem_free(s->memory);
	memset(s, 0, sizeof(*s));
}
