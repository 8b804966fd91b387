/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The similarity table as a file of the metadata disk: pairs of a key and the
 * container that it speaks of. What the keys are is similar/similar.h's
 * business. A cache: never believed, made anew from the containers' directories
 * if it is lost.
 *
 * The file is one image behind the other: the first is a whole table, each of
 * the others what was added then. Readers go on as far as they can believe it;
 * what is behind that (a write that was cut short) is overwritten by the next.
 */
#ifndef FORMAT_SIMILAR_H
#define FORMAT_SIMILAR_H

#include "format/format.h"

#define SIMILAR_HEAD_BYTES 48
#define SIMILAR_ENTRY_BYTES 12
/* An image ends with a checksum, which tells it from others. */
#define SIMILAR_SUM_BYTES 8
/* Levels of keys; see SIMILAR_LEVEL. */
#define SIMILAR_LEVELS 16
#define SIMILAR_LEVEL(key) ((u8)((key) & (SIMILAR_LEVELS - 1)))
#define SIMILAR_MAX_ENTRIES (1u << 28)

struct similar_image {
	struct pool_id pool;
	u64 covered;		/* containers up to this one are in it */
	u8 levels;		/* 1..16: all keys are of lower level */
	u32 nr;
	const u8 *entries;	/* decoded: borrowed */
};

/* Bytes of a file with @nr entries. */
size_t similar_image_bytes(u32 nr);
/*
 * Appends to @out: the head, then exactly img->nr entries, then the end. A level
 * that is not below img->levels or a container of 0 is a mistake of the caller.
 */
void similar_image_begin(const struct similar_image *img, struct buf *out);
void similar_image_put(struct buf *out, u64 key, u32 container);
/* @start: out->len before similar_image_begin(). 0 or -AKIN_E_nomem. */
int similar_image_end(struct buf *out, size_t start) __must_check;

/* *out borrows from @data. */
int similar_image_decode(const void *data, size_t len,
			 struct similar_image *out);
/* How long the image that begins at @data says it is; of @len bytes, or
 * -AKIN_E_bad_length. Says nothing else about it. */
int similar_image_extent(const void *data, size_t len, size_t *len_ret);
/* Entry @i of a decoded one. */
void similar_image_get(const struct similar_image *img, u32 i, u64 *key_ret,
		       u32 *container_ret);

#endif
