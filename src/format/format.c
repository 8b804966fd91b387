/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File names, checksums, and the small encodings that all structures share.
 */
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "format/format_internal.h"
#include "format/format_snapshot.h"

#define PARITY_SUFFIX ".parity"
#define TMP_SUFFIX ".tmp"

void format_container_name(u64 number, u32 generation,
			   char out[FORMAT_NAME_MAX])
{
	(void)snprintf(out, FORMAT_NAME_MAX, DIR_CONTAINERS "/%02x/%016llx.%x",
		       (unsigned)(number & 0xff), (unsigned long long)number,
		       generation);
}

bool format_parse_container(const char *name, u64 *number_ret,
			    u32 *generation_ret)
{
	char own[FORMAT_NAME_MAX];
	unsigned long generation;
	char *end;

	*number_ret = strtoull(name, &end, 16);
	if (*end != '.')
		return false;
	generation = strtoul(end + 1, NULL, 16);
	if (generation > UINT32_MAX)
		return false;
	*generation_ret = (u32)generation;
	format_container_name(*number_ret, *generation_ret, own);
	return strcmp(strrchr(own, '/') + 1, name) == 0;
}

void format_parity_name(u64 number, u32 generation, char out[FORMAT_NAME_MAX])
{
	(void)snprintf(out, FORMAT_NAME_MAX,
		       DIR_CONTAINERS "/%02x/%016llx.%x" PARITY_SUFFIX,
		       (unsigned)(number & 0xff), (unsigned long long)number,
		       generation);
}

void format_parity_tmp_name(u64 number, u32 generation,
			    char out[FORMAT_NAME_MAX])
{
	(void)snprintf(out, FORMAT_NAME_MAX,
		       DIR_CONTAINERS "/%02x/%016llx.%x" PARITY_SUFFIX
		       TMP_SUFFIX, (unsigned)(number & 0xff),
		       (unsigned long long)number, generation);
}

static bool format_cut_suffix(char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	if (len < n || strcmp(name + len - n, suffix))
		return false;
	name[len - n] = 0;
	return true;
}

bool format_parse_parity(const char *name, u64 *number_ret,
			 u32 *generation_ret, bool *tmp_ret)
{
	size_t len = strlen(name);
	char own[FORMAT_NAME_MAX];

	if (len >= sizeof(own))
		return false;
	memcpy(own, name, len + 1);
	*tmp_ret = format_cut_suffix(own, TMP_SUFFIX);
	return format_cut_suffix(own, PARITY_SUFFIX) &&
	       format_parse_container(own, number_ret, generation_ret);
}

void format_run_name(u64 number, char out[FORMAT_NAME_MAX])
{
	(void)snprintf(out, FORMAT_NAME_MAX, DIR_RUNS "/%016llx",
		       (unsigned long long)number);
}

void format_snapshot_name(u64 number, char out[FORMAT_NAME_MAX])
{
	(void)snprintf(out, FORMAT_NAME_MAX, DIR_SNAPSHOTS "/%016llx",
		       (unsigned long long)number);
}

void format_buried_name(u64 number, char out[FORMAT_NAME_MAX])
{
	(void)snprintf(out, FORMAT_NAME_MAX, DIR_SNAPSHOTS "/%016llx.gone",
		       (unsigned long long)number);
}

void format_label_name(u64 number, char out[FORMAT_NAME_MAX])
{
	(void)snprintf(out, FORMAT_NAME_MAX, DIR_SNAPSHOTS "/%016llx.label",
		       (unsigned long long)number);
}

u64 format_checksum(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

u64 format_checksum_seeded(const void *data, size_t len, u64 seed)
{
	return XXH3_64bits_withSeed(data, len, seed);
}

int format_version_check(u32 version)
{
	if (version >> 16 != FORMAT_VERSION >> 16)
		return -AKIN_E_bad_version;
	return 0;
}

bool format_is_zero(const void *data, size_t len)
{
	const u8 *p = data;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

struct record_head {
	u8   magic[8];		/* +0x00                                */
	le32 version;		/* +0x08                                */
	le32 total_len;		/* +0x0c                                */
};
static_assert(sizeof(struct record_head) == 0x10, "disk format");

int format_record_check(struct cursor *c, const u8 *magic, size_t head_len,
			size_t max_len)
{
	const size_t len = cursor_left(c);
	struct record_head h;

	if (len < head_len + FORMAT_CHECKSUM_BYTES || len > max_len)
		return -AKIN_E_bad_length;
	memcpy(&h, c->p, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(h.magic)))
		return -AKIN_E_bad_magic;
	if (format_version_check(get_le32(h.version.b)))
		return -AKIN_E_bad_version;
	if (get_le32(h.total_len.b) != len)
		return -AKIN_E_bad_length;
	c->end -= FORMAT_CHECKSUM_BYTES;
	if (get_le64(c->end) != format_checksum(c->p, cursor_left(c)))
		return -AKIN_E_bad_checksum;
	return 0;
}

u64 format_varint(struct cursor *c)
{
	const u8 *start = c->p;
	u64 v = cursor_varint(c);

	if (!c->bad && c->p - start > 1 && c->p[-1] == 0) {
		c->bad = true;
		return 0;
	}
	return v;
}

u64 format_varint_max(struct cursor *c, u64 max)
{
	u64 v = format_varint(c);

	if (v > max) {
		c->bad = true;
		return 0;
	}
	return v;
}

const char *format_string(struct cursor *c, size_t max, size_t *len_ret)
{
	size_t room = cursor_left(c);
	const u8 *p = c->p, *end = NULL;

	if (!c->bad && room)
		end = memchr(p, 0, room <= max ? room : max + 1);
	if (!end) {
		c->bad = true;
		if (len_ret)
			*len_ret = 0;
		return NULL;
	}
	if (len_ret)
		*len_ret = (size_t)(end - p);
	return (const char *)cursor_bytes(c, (size_t)(end - p) + 1);
}

size_t format_section_begin(struct buf *out, u16 tag)
{
	size_t at = out->len;

	buf_put_le16(out, tag);
	buf_put_le32(out, 0);
	return at;
}

void format_section_end(struct buf *out, size_t at)
{
	if (buf_error(out))
		return;
	put_le32(out->data + at + 2,
		 (u32)(out->len - at - FORMAT_SECTION_HEAD_BYTES));
}

int format_section_next(struct cursor *c, u16 *prev,
			struct format_section *out)
{
	u16 number;
	u32 len;
	const u8 *p;

	out->tag = cursor_le16(c);
	len = cursor_le32(c);
	p = cursor_bytes(c, len);
	if (!p)
		return -AKIN_E_bad_length;
	out->body = cursor_over(p, len);
	number = out->tag & (u16)~FORMAT_SECTION_REQUIRED;
	if (number <= *prev)
		return -AKIN_E_bad_order;
	*prev = number;
	return 0;
}

int format_section_unknown(u16 tag)
{
	return tag & FORMAT_SECTION_REQUIRED ? -AKIN_E_feature : 0;
}

int format_numbers_check(const u64 *v, u32 nr, u32 max_nr)
{
	u32 i;

	if (nr > max_nr)
		return -AKIN_E_bad_length;
	for (i = 0; i < nr; i++)
		if (v[i] <= (i ? v[i - 1] : 0))
			return -AKIN_E_bad_order;
	return 0;
}

void format_numbers_encode(const u64 *v, u32 nr, struct buf *out)
{
	u64 prev = 0;
	u32 i;

	buf_put_varint(out, nr);
	for (i = 0; i < nr; i++) {
		buf_put_varint(out, v[i] - prev - 1);
		prev = v[i];
	}
}

int format_numbers_decode(struct cursor *c, u32 max_nr, u64 **out, u32 *nr_ret)
{
	u32 nr = (u32)format_varint_max(c, max_nr), i;
	u64 prev = 0, gap, *v;

	*out = NULL;
	*nr_ret = 0;
	if (c->bad || nr > cursor_left(c))
		return -AKIN_E_bad_length;
	if (!nr)
		return 0;
	v = mem_calloc(nr, sizeof(*v));
	if (!v)
		return -AKIN_E_nomem;
	for (i = 0; i < nr; i++) {
		gap = format_varint(c);
		if (c->bad || gap >= UINT64_MAX - prev) {
			mem_free(v);
			return -AKIN_E_bad_length;
		}
		prev += gap + 1;
		v[i] = prev;
	}
	*out = v;
	*nr_ret = nr;
	return 0;
}

int format_strings_check(char *const *v, u32 nr)
{
	u32 i;

	if (nr > SNAPSHOT_STRINGS_MAX)
		return -AKIN_E_bad_length;
	for (i = 0; i < nr; i++) {
		if (!v[i][0])
			return -AKIN_E_bad_field;
		if (strlen(v[i]) > SNAPSHOT_STRING_MAX)
			return -AKIN_E_bad_length;
	}
	return 0;
}

void format_strings_encode(u16 tag, char *const *v, u32 nr, struct buf *out)
{
	size_t at;
	u32 i;

	if (!nr)
		return;
	at = format_section_begin(out, tag);
	for (i = 0; i < nr; i++)
		buf_put(out, v[i], strlen(v[i]) + 1);
	format_section_end(out, at);
}

int format_strings_decode(struct cursor *c, char ***out, u32 *nr_ret)
{
	const char *s;
	const u8 *p;
	u32 nr = 0, i;

	for (p = c->p; p < c->end; p++)
		nr += !*p;
	if (!nr)
		return -AKIN_E_bad_field;
	if (nr > SNAPSHOT_STRINGS_MAX)
		return -AKIN_E_bad_length;
	*out = mem_calloc(nr, sizeof(**out));
	if (!*out)
		return -AKIN_E_nomem;
	*nr_ret = nr;
	for (i = 0; i < nr; i++) {
		s = format_string(c, SNAPSHOT_STRING_MAX, NULL);
		if (!s)
			return -AKIN_E_bad_length;
		(*out)[i] = mem_strdup(s);
		if (!(*out)[i])
			return -AKIN_E_nomem;
	}
	return 0;
}

void format_strings_free(char **v, u32 nr)
{
	u32 i;

	for (i = 0; v && i < nr; i++)
		mem_free(v[i]);
	mem_free(v);
}
