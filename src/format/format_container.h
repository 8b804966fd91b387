/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers: header, groups one behind the other, directory, footer.
 *
 * A container is immutable once its footer is written and synced. A place
 * (container, entry) names a chunk for life; a later generation of the same
 * container keeps entry numbers and may leave entries out. Groups describe
 * themselves (chunk entries, lengths, references), so that a container whose
 * directory is lost can be salvaged.
 */
#ifndef FORMAT_CONTAINER_H
#define FORMAT_CONTAINER_H

#include "format/format.h"

#define CONTAINER_HEADER_BYTES 128
#define CONTAINER_FOOTER_BYTES 64
#define CONTAINER_MAX_BYTES (128 * MiB)	/* a reader refuses larger files */
#define CONTAINER_MAX_ENTRIES 16384	/* entry numbers are below this */
#define CONTAINER_MAX_GROUPS 16384
#define GROUP_MAX_RAW (16 * MiB)
#define GROUP_MAX_CHUNKS 4096
#define GROUP_MAX_REFS 256
/*
 * What a reader holds for each level that it is down in a chain of references:
 * one group as stored and its prefix. Chains of more than 8 gain nothing; a
 * mebibyte is eight times a group of the usual size.
 */
#define GROUP_MAX_DEPTH 16
#define GROUP_MAX_REF_RAW (1 * MiB)	/* raw bytes of all references */
#define GROUP_MAX_DELTA_RAW (2 * MiB)	/* of a group with references */
#define CHUNK_MAX_RAW (1 * MiB)
#define DIRECTORY_MAX_BYTES (16 * MiB)

enum container_kind { CONTAINER_DATA = 1, CONTAINER_METADATA = 2 };

struct container_header {
	struct pool_id pool;
	u64 number;
	u32 generation;
	u8 kind;
	u8 cipher;		/* 0: none */
	u8 key_slot;
	u8 parity;		/* 0: none */
	u64 session;
	u8 salt[32];		/* random: the content key derives from it */
};

void container_header_encode(const struct container_header *h,
			     u8 out[CONTAINER_HEADER_BYTES]);
int container_header_decode(const u8 in[CONTAINER_HEADER_BYTES],
			    struct container_header *out);

/* A run of stored chunks that a group was compressed against. */
struct group_ref {
	u64 container;		/* below the number of the group's own */
	u32 entry;
	u32 nr;
};

struct group_chunk {
	u32 entry;		/* ascending within a group */
	u32 len;		/* raw bytes, at most CHUNK_MAX_RAW */
};

#define GROUP_DIRECT 0x1	/* no reference allowed: place enough to read */

struct group_header {
	u32 number;		/* in the container, ascending */
	u8 codec_id;		/* of the payload; 0 = raw */
	u8 flags;
	u8 depth;		/* longest chain of references below; 0 none */
	u32 raw_len;		/* sum of the chunks' lengths */
	u32 stored_len;		/* payload bytes */
	u32 ref_raw_len;	/* raw bytes of the references, in order */
	u32 nr_chunks;
	u32 nr_refs;
	struct group_chunk *chunks;	/* returns owned: group_header_release */
	struct group_ref *refs;
};

/*
 * Header and payload appended to @out. The checksum covers both.
 * @container: number the group is written into (checked against refs).
 */
int group_encode(const struct group_header *g, u64 container,
		 const void *payload, struct buf *out);
/*
 * Decode from bytes that start at a group. *payload_ret is borrowed from
 * @data; *total_ret = header + payload bytes. The checksum is verified.
 */
int group_decode(const void *data, size_t len, u64 container,
		 struct group_header *out, const u8 **payload_ret,
		 size_t *total_ret);
void group_header_release(struct group_header *g);
/*
 * For who looks for groups in a file without a directory. Where in @data the
 * next one may begin, at @from or behind; @len: nowhere. And how long it then
 * claims to be, of its first GROUP_HEAD_BYTES; 0: it is none.
 */
#define GROUP_HEAD_BYTES 16
size_t group_seek(const void *data, size_t len, size_t from);
u32 group_claim(const u8 head[GROUP_HEAD_BYTES]);

/* One chunk in a directory. */
struct dir_entry {
	struct fp fp;
	u32 entry;		/* ascending */
	u32 len;
	u32 group;		/* index into dir_group array */
	u32 raw_off;		/* of the chunk in the decoded group (derived) */
	u8 fp_salt;		/* 0; else the fingerprint was salted (verify) */
};

struct dir_group {
	u32 number;
	u64 off;		/* in the file */
	u32 len;		/* header and payload */
	u32 raw_len;
	u32 first;		/* index of its first dir_entry (derived) */
	u32 nr;			/* dir_entries in it */
	u8 codec_id;
	u8 depth;
};

/* What a chunk resembles: see sketch/sketch.h. All parts zero: it has none;
 * else none of them is. */
#define DIR_SKETCH_PARTS 3
struct dir_sketch {
	u32 part[DIR_SKETCH_PARTS];
};

struct directory {
	u64 container;
	u32 generation;
	u8 kind;
	struct fp first_leaf;	/* recipe leaf of the first chunks, or zeros */
	u32 nr_entries, nr_groups, nr_bases;
	struct dir_entry *entries;
	struct dir_group *groups;
	u64 *bases;		/* containers the groups refer to, sorted */
	struct hint *hints;	/* metadata: one per entry; else NULL */
	struct dir_sketch *sketches;	/* one per entry, or NULL: none has */
	/* Room for owners, parity: sections with tags of their own, skipped by
	 * readers that do not know them unless marked required. */
};

int directory_encode(const struct directory *d, struct buf *out);
/* Returns owned: directory_release. Accepts zeroed and half-built. */
int directory_decode(const void *data, size_t len, struct directory *out);
/* Into d->bases, which has room for *cap: ascending, none twice. 0 or nomem. */
int directory_add_base(struct directory *d, u32 *cap, u64 base) __must_check;
void directory_release(struct directory *d);
/* Where in @data a directory may begin, as group_seek(). */
size_t directory_seek(const void *data, size_t len, size_t from);

struct container_footer {
	u64 number;
	u32 generation;
	u64 dir_off;
	u32 dir_len;
};

void container_footer_encode(const struct container_footer *f,
			     u8 out[CONTAINER_FOOTER_BYTES]);
int container_footer_decode(const u8 in[CONTAINER_FOOTER_BYTES],
			    struct container_footer *out);

#endif
