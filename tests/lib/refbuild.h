/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealed containers made by hand, with groups that refer to other containers'
 * chunks, honest or not: what is said of a group can be changed before it is
 * encoded, and its bytes (the checksum is made right again) afterwards.
 *
 * Everything asserts with cmocka; nothing is returned.
 */
#ifndef REFBUILD_H
#define REFBUILD_H

#include "cache/groupcache.h"

struct refbuild {
	struct disk *disk;		/* borrowed */
	struct codec_ctx *codec;	/* borrowed */
	const struct hasher *hasher;	/* borrowed */
	struct container_header header;
	struct directory dir;
	struct buf file, raw;		/* so far; of the open group */
	u32 first;			/* entry of the open group */
};

/* A group's references as it is made: what they say and what they mean. */
struct refs {
	const struct group_ref *refs;
	u32 nr;
	const void *bytes;		/* of the references */
	u32 len;
	u8 depth;
	/* May be NULL. */
	void (*lie)(struct group_header *h, void *ctx);
	void (*patch)(u8 *group, size_t len, void *ctx);
	void *ctx;
};

/* Only pool, number and kind of @header matter. */
void refbuild_begin(struct refbuild *b, struct disk *disk,
		    struct codec_ctx *codec, const struct hasher *hasher,
		    const struct container_header *header);
/* Returns the chunk's entry number. */
u32 refbuild_chunk(struct refbuild *b, const void *data, u32 len);
/* Leave an entry number out. */
void refbuild_skip(struct refbuild *b);
/*
 * Close the open group. @refs NULL: compressed by itself, or stored raw; so is
 * one that does not shrink against them. Returns if it has references.
 */
bool refbuild_group(struct refbuild *b, const struct refs *refs);
/*
 * Begin container @number again, with the groups that it has; each against the
 * chunks of the same entry numbers in @base, at @depth, if it gains by it. As
 * they are on @disk, neither may have references: do the last one first. What
 * the catalog says of lengths is wrong afterwards. @dec: of codec zstd.
 */
void refbuild_again(struct refbuild *b, struct disk *disk, struct decoder *dec,
		    const struct hasher *hasher, const struct pool_id *pool,
		    u64 number, u64 base, u8 depth);
/* To disk; releases @b. The directory may be changed before. */
void refbuild_seal(struct refbuild *b);

#endif
