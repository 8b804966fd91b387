/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of snapshots: see docs/format/snapshot.md.
 *
 *	head		label_disk, fixed
 *	sections	tags, if there are any
 *	checksum	le64 over everything before it
 *
 * A label is believed under the conditions of a snapshot's record, in the same
 * order (format_snapshot.c), and then if label_check() says so.
 */
#include "format/format_internal.h"
#include "format/format_label.h"

static const u8 label_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_LABEL;

struct label_disk {
	u8   magic[8];		/* +0x00  "AKINLAB\0"                   */
	le32 version;		/* +0x08                                */
	le32 total_len;		/* +0x0c  head, sections, checksum      */
	u8   pool[16];		/* +0x10                                */
	le64 number;		/* +0x20                                */
	u8   id[16];		/* +0x28                                */
	le64 txn;		/* +0x38                                */
	le32 flags;		/* +0x40                                */
	u8   rsvd[4];		/* +0x44  zero                          */
	le64 until_sec;		/* +0x48  signed, since 1970            */
	le64 until_age_sec;	/* +0x50                                */
};
static_assert(sizeof(struct label_disk) == 0x58, "disk format");

#define LABEL_FLAGS (LABEL_PROTECTED | LABEL_UNTIL)
/* Only if there are any: (string NUL) each. */
#define LABEL_TAGS (1 | FORMAT_SECTION_REQUIRED)

/*
 *  - no unknown flag				-AKIN_E_feature
 *  - number >= 1; an end only of a protection, and of nothing else
 *						-AKIN_E_bad_field
 *  - tags as in a snapshot's record
 */
static int label_check(const struct label *l)
{
	if (l->flags & ~(u32)LABEL_FLAGS)
		return -AKIN_E_feature;
	if (!l->number || l->flags == LABEL_UNTIL ||
	    (!(l->flags & LABEL_UNTIL) && (l->until_sec || l->until_age_sec)))
		return -AKIN_E_bad_field;
	return format_strings_check(l->tags, l->nr_tags);
}

static void label_put_head(const struct label *l, size_t total,
			   struct label_disk *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->magic, label_magic, sizeof(d->magic));
	put_le32(d->version.b, FORMAT_VERSION);
	put_le32(d->total_len.b, (u32)total);
	memcpy(d->pool, l->pool.b, sizeof(d->pool));
	put_le64(d->number.b, l->number);
	memcpy(d->id, l->id, sizeof(d->id));
	put_le64(d->txn.b, l->txn);
	put_le32(d->flags.b, l->flags);
	put_le64(d->until_sec.b, (u64)l->until_sec);
	put_le64(d->until_age_sec.b, l->until_age_sec);
}

int label_encode(const struct label *l, struct buf *out)
{
	const size_t start = out->len;
	struct label_disk d;
	size_t total;
	int err;

	err = label_check(l);
	if (err)
		return err;
	(void)buf_extend(out, sizeof(d));	/* the error is sticky */
	format_strings_encode(LABEL_TAGS, l->tags, l->nr_tags, out);
	err = buf_error(out);
	if (err)
		return err;
	total = out->len - start + FORMAT_CHECKSUM_BYTES;
	if (total > SNAPSHOT_RECORD_MAX) {
		out->len = start;
		return -AKIN_E_bad_length;
	}
	label_put_head(l, total, &d);
	memcpy(out->data + start, &d, sizeof(d));
	buf_put_le64(out, format_checksum(out->data + start,
					  out->len - start));
	return buf_error(out);
}

static int label_decode_head(struct cursor *c, struct label *l)
{
	struct label_disk d;
	u32 version;
	int err;

	err = format_record_check(c, label_magic, sizeof(d),
				  SNAPSHOT_RECORD_MAX);
	if (err)
		return err;
	memcpy(&d, c->p, sizeof(d));
	version = get_le32(d.version.b);
	if (format_version_known(version) &&
	    !format_is_zero(d.rsvd, sizeof(d.rsvd)))
		return -AKIN_E_bad_field;
	c->p += sizeof(d);
	memcpy(l->pool.b, d.pool, sizeof(d.pool));
	l->number = get_le64(d.number.b);
	memcpy(l->id, d.id, sizeof(d.id));
	l->txn = get_le64(d.txn.b);
	l->flags = get_le32(d.flags.b);
	l->until_sec = (s64)get_le64(d.until_sec.b);
	l->until_age_sec = get_le64(d.until_age_sec.b);
	return 0;
}

static int label_decode_sections(struct cursor *c, struct label *l)
{
	struct format_section sec;
	u16 prev = 0;
	int err;

	while (cursor_left(c)) {
		err = format_section_next(c, &prev, &sec);
		if (err)
			return err;
		if (sec.tag != LABEL_TAGS) {
			err = format_section_unknown(sec.tag);
			if (err)
				return err;
			continue;
		}
		err = format_strings_decode(&sec.body, &l->tags, &l->nr_tags);
		if (!err && cursor_left(&sec.body))
			err = -AKIN_E_bad_length;
		if (err)
			return err;
	}
	return label_check(l);
}

int label_decode(const void *data, size_t len, struct label *out)
{
	struct cursor c = cursor_over(data, len);
	int err;

	memset(out, 0, sizeof(*out));
	err = label_decode_head(&c, out);
	if (!err)
		err = label_decode_sections(&c, out);
	if (err)
		label_release(out);
	return err;
}

void label_release(struct label *l)
{
	format_strings_free(l->tags, l->nr_tags);
	memset(l, 0, sizeof(*l));
}
