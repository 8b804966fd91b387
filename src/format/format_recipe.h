/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes: the content of one object as typed entries, cut by content into
 * leaves, and nodes above them: a Merkle tree. Neither names nor places enter
 * the hashed bytes.
 *
 * A leaf or node is stored like a chunk, in metadata containers, under the
 * metadata fingerprint of its bytes. Cutting: see recipe/.
 */
#ifndef FORMAT_RECIPE_H
#define FORMAT_RECIPE_H

#include "format/format.h"

#define RECIPE_INLINE_MAX 256
#define RECIPE_LEAF_MAX 512	/* entries in a leaf */
#define RECIPE_NODE_MAX 512	/* children of a node */
#define RECIPE_MAX_LEVEL 16
#define RECIPE_PIECE_MAX (128 * KiB)	/* bytes of an encoded leaf or node */

enum recipe_type {
	RECIPE_CHUNK = 0,	/* len bytes of chunk fp */
	RECIPE_HOLE = 1,	/* len bytes that the source did not store */
	RECIPE_REPEAT = 2,	/* chunk fp of len bytes, count times */
	RECIPE_INLINE = 3,	/* len bytes, here */
};

struct recipe_entry {
	u8 type;
	u64 len;		/* bytes of one repetition */
	u64 count;		/* 1 unless RECIPE_REPEAT */
	struct fp fp;		/* CHUNK, REPEAT */
	const u8 *data;		/* INLINE: borrowed from the encoded bytes */
};

/* One entry; used in leaves and, for short recipes, in tree nodes. */
void recipe_entry_encode(const struct recipe_entry *e, struct buf *out);
int recipe_entry_decode(struct cursor *c, struct recipe_entry *out);
/* Bytes the entry stands for; saturates. */
u64 recipe_entry_bytes(const struct recipe_entry *e);

struct recipe_child {
	struct fp fp;
	u64 bytes;		/* content below */
	u64 entries;		/* entries below */
};

/* A leaf (level 0) or node (level >= 1), as read. */
struct recipe_piece {
	u8 level;
	u32 nr;
	u64 bytes;		/* sum over it */
	struct recipe_entry *entries;	/* level 0; returns owned */
	struct recipe_child *children;	/* level >= 1; returns owned */
};

/* Leaf of @nr entries / node of @nr children, appended to @out. */
int recipe_leaf_encode(const struct recipe_entry *e, u32 nr, struct buf *out);
int recipe_node_encode(u8 level, const struct recipe_child *c, u32 nr,
		       struct buf *out);
/* INLINE entries borrow from @data, which must outlive *out. */
int recipe_piece_decode(const void *data, size_t len,
			struct recipe_piece *out);
void recipe_piece_release(struct recipe_piece *p);

/*
 * How an object's content is named from outside: short recipes in place,
 * longer ones by the root of their tree.
 */
#define CONTENT_INLINE_MAX 8	/* entries */
enum content_kind { CONTENT_NONE = 0, CONTENT_ENTRIES = 1, CONTENT_ROOT = 2 };

struct content {
	u8 kind;
	u64 bytes;
	u8 level;		/* ROOT: level of the piece fp names */
	struct fp root;		/* ROOT */
	u32 nr;			/* ENTRIES: up to CONTENT_INLINE_MAX */
	struct recipe_entry entries[CONTENT_INLINE_MAX];
};

void content_encode(const struct content *ct, struct buf *out);
/* INLINE entries borrow from the cursor's bytes; @bytes of ENTRIES is their
 * sum. */
int content_decode(struct cursor *c, struct content *out);

/* What content_decode() would say of it. */
int content_check(const struct content *ct) __must_check;

#endif
