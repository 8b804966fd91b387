/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the encoders and decoders of this folder share: checksums, the version
 * rule, shortest-form varints, tagged sections, NUL-terminated strings, hints.
 * Fuzzers and tests include it too, to put a right checksum on wrong bytes.
 *
 * One validator serves both directions: x_encode() refuses, with the code the
 * reader would return, what x_decode() would not believe.
 */
#ifndef FORMAT_INTERNAL_H
#define FORMAT_INTERNAL_H

#include "base/mem.h"
#include "format/format.h"

#define FORMAT_MAGIC_BYTES 8
/* With the NUL that ends them: eight bytes. */
#define FORMAT_MAGIC_HEADER "AKINCON"
#define FORMAT_MAGIC_FOOTER "AKINFOO"
#define FORMAT_MAGIC_DIRECTORY "AKINDIR"
#define FORMAT_MAGIC_SUPER "AKINSUP"
#define FORMAT_MAGIC_SNAPSHOT "AKINSNA"
#define FORMAT_MAGIC_LABEL "AKINLAB"
#define FORMAT_MAGIC_RUN "AKINRUN"
#define FORMAT_MAGIC_SIMILAR "AKINSIM"
#define FORMAT_MAGIC_PARITY "AKINPAR"
#define FORMAT_MAGIC_RULEBOOK "AKINPOL"
#define FORMAT_CHECKSUM_BYTES 8

/* XXH3-64; the seeded one binds a structure to what the seed stands for. */
u64 format_checksum(const void *data, size_t len);
u64 format_checksum_seeded(const void *data, size_t len, u64 seed);

/* -AKIN_E_bad_version if the major number is not ours. */
int format_version_check(u32 version) __must_check;
/* True if this code knows every field of that version, so that bytes which
 * were reserved in it must be zero. */
static inline bool format_version_known(u32 version)
{
	return version <= FORMAT_VERSION;
}

bool format_is_zero(const void *data, size_t len);

/*
 * The frame of a record that is a file: magic, le32 version, le32 total_len,
 * what is left of a head of @head_len bytes, sections, checksum of all before
 * it. The cursor then ends in front of the checksum; it has not moved.
 */
int format_record_check(struct cursor *c, const u8 *magic, size_t head_len,
			size_t max_len) __must_check;

/* Refuses varints that are longer than needed: one value, one encoding. */
u64 format_varint(struct cursor *c);
/* The same; values above @max make the cursor bad. */
u64 format_varint_max(struct cursor *c, u64 max);
/* Signed numbers near zero become small: 0, -1, 1, -2 ... = 0, 1, 2, 3 ... */
static inline u64 format_zigzag(s64 v)
{
	return (u64)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}
static inline s64 format_unzigzag(u64 v)
{
	return (s64)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

/*
 * A string that a NUL ends. Borrowed from the cursor's bytes; NULL (and bad)
 * if there is no NUL within @max bytes and it. *len_ret may be NULL.
 */
const char *format_string(struct cursor *c, size_t max, size_t *len_ret);

/*
 * Sections: le16 tag, le32 length, bytes. Tags without the required bit ascend
 * strictly in a structure; a reader skips a section whose tag it does not know
 * unless the bit is set.
 */
#define FORMAT_SECTION_REQUIRED 0x8000
#define FORMAT_SECTION_HEAD_BYTES 6

struct format_section {
	u16 tag;
	struct cursor body;
};

/* Start a section; what is appended until format_section_end() is its body. */
size_t format_section_begin(struct buf *out, u16 tag);
void format_section_end(struct buf *out, size_t at);
/* @prev: tag of the section before without the bit, 0 at first; updated. */
int format_section_next(struct cursor *c, u16 *prev,
			struct format_section *out) __must_check;
/* For a tag that the caller does not know. */
int format_section_unknown(u16 tag) __must_check;

/*
 * A section of strings, there only if there are any; SNAPSHOT_STRINGS_MAX and
 * SNAPSHOT_STRING_MAX are its limits. What was decoded is owned, also after an
 * error: format_strings_free.
 */
int format_strings_check(char *const *v, u32 nr) __must_check;
void format_strings_encode(u16 tag, char *const *v, u32 nr, struct buf *out);
int format_strings_decode(struct cursor *c, char ***out, u32 *nr_ret)
	__must_check;
void format_strings_free(char **v, u32 nr);

/* Ascending numbers >= 1: varint count, the first, then gaps minus one. */
int format_numbers_check(const u64 *v, u32 nr, u32 max_nr) __must_check;
void format_numbers_encode(const u64 *v, u32 nr, struct buf *out);
/* Returns owned: mem_free; NULL if there are none. */
int format_numbers_decode(struct cursor *c, u32 max_nr, u64 **out,
			  u32 *nr_ret) __must_check;

#endif
