/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rulebooks: see docs/format/policy.md.
 *
 *	head		rulebook_disk, fixed
 *	sections	names, values; both if there are rules, else none
 *	checksum	le64 over everything before it
 *
 * A rulebook is believed under the conditions of a snapshot's record, in the
 * same order (format_snapshot.c), and then if rulebook_check() says so.
 */
#include "format/format_internal.h"
#include "format/format_rulebook.h"

static const u8 rulebook_magic[FORMAT_MAGIC_BYTES] = FORMAT_MAGIC_RULEBOOK;

struct rulebook_disk {
	u8   magic[8];		/* +0x00  "AKINPOL\0"                   */
	le32 version;		/* +0x08                                */
	le32 total_len;		/* +0x0c  head, sections, checksum      */
	u8   pool[16];		/* +0x10                                */
	le64 txn;		/* +0x20                                */
	u8   rsvd[8];		/* +0x28  zero                          */
};
static_assert(sizeof(struct rulebook_disk) == 0x30, "disk format");

/* Only if there are any: (string NUL) each. */
#define RULEBOOK_NAMES (1 | FORMAT_SECTION_REQUIRED)
#define RULEBOOK_VALUES (2 | FORMAT_SECTION_REQUIRED)

/*
 *  - at most RULEBOOK_MAX_RULES; names of at most RULEBOOK_RULE_MAX bytes
 *						-AKIN_E_bad_length
 *  - names and values as the strings of a snapshot's record
 *  - ascending, none twice			-AKIN_E_bad_order
 */
static int rulebook_check(const struct rulebook *r)
{
	u32 i;
	int err, order;

	if (r->nr > RULEBOOK_MAX_RULES)
		return -AKIN_E_bad_length;
	err = format_strings_check(r->names, r->nr);
	if (!err)
		err = format_strings_check(r->values, r->nr);
	for (i = 0; !err && i < r->nr; i++) {
		if (strlen(r->names[i]) > RULEBOOK_RULE_MAX)
			return -AKIN_E_bad_length;
		if (!i)
			continue;
		order = strcmp(r->names[i - 1], r->names[i]);
		if (!order)
			order = strcmp(r->values[i - 1], r->values[i]);
		if (order >= 0)
			return -AKIN_E_bad_order;
	}
	return err;
}

static void rulebook_put_head(const struct rulebook *r, size_t total,
			      struct rulebook_disk *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->magic, rulebook_magic, sizeof(d->magic));
	put_le32(d->version.b, FORMAT_VERSION);
	put_le32(d->total_len.b, (u32)total);
	memcpy(d->pool, r->pool.b, sizeof(d->pool));
	put_le64(d->txn.b, r->txn);
}

int rulebook_encode(const struct rulebook *r, struct buf *out)
{
	const size_t start = out->len;
	struct rulebook_disk d;
	size_t total;
	int err;

	err = rulebook_check(r);
	if (err)
		return err;
	(void)buf_extend(out, sizeof(d));	/* the error is sticky */
	format_strings_encode(RULEBOOK_NAMES, r->names, r->nr, out);
	format_strings_encode(RULEBOOK_VALUES, r->values, r->nr, out);
	err = buf_error(out);
	if (err)
		return err;
	total = out->len - start + FORMAT_CHECKSUM_BYTES;
	rulebook_put_head(r, total, &d);
	memcpy(out->data + start, &d, sizeof(d));
	buf_put_le64(out, format_checksum(out->data + start,
					  out->len - start));
	return buf_error(out);
}

static int rulebook_decode_head(struct cursor *c, struct rulebook *r)
{
	struct rulebook_disk d;
	int err;

	err = format_record_check(c, rulebook_magic, sizeof(d),
				  RULEBOOK_FILE_MAX);
	if (err)
		return err;
	memcpy(&d, c->p, sizeof(d));
	if (format_version_known(get_le32(d.version.b)) &&
	    !format_is_zero(d.rsvd, sizeof(d.rsvd)))
		return -AKIN_E_bad_field;
	c->p += sizeof(d);
	memcpy(r->pool.b, d.pool, sizeof(d.pool));
	r->txn = get_le64(d.txn.b);
	return 0;
}

/* @nr_values is of r->values, which may have been read only in part. */
static int rulebook_decode_section(struct format_section *sec,
				   struct rulebook *r, u32 *nr_values)
{
	int err;

	if (sec->tag == RULEBOOK_NAMES)
		err = format_strings_decode(&sec->body, &r->names, &r->nr);
	else if (sec->tag == RULEBOOK_VALUES)
		err = format_strings_decode(&sec->body, &r->values, nr_values);
	else
		return format_section_unknown(sec->tag);
	if (!err && cursor_left(&sec->body))
		err = -AKIN_E_bad_length;
	return err;
}

int rulebook_decode(const void *data, size_t len, struct rulebook *out)
{
	struct cursor c = cursor_over(data, len);
	struct format_section sec;
	u32 nr_values = 0;
	u16 prev = 0;
	int err;

	memset(out, 0, sizeof(*out));
	err = rulebook_decode_head(&c, out);
	while (!err && cursor_left(&c)) {
		err = format_section_next(&c, &prev, &sec);
		if (!err)
			err = rulebook_decode_section(&sec, out, &nr_values);
	}
	if (!err && nr_values != out->nr)
		err = -AKIN_E_bad_field;
	if (!err)
		err = rulebook_check(out);
	if (err) {
		format_strings_free(out->values, nr_values);
		out->values = NULL;
		rulebook_release(out);
	}
	return err;
}

void rulebook_release(struct rulebook *r)
{
	format_strings_free(r->names, r->nr);
	format_strings_free(r->values, r->nr);
	memset(r, 0, sizeof(*r));
}
