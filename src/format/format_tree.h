/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree nodes: one record for each name in a directory.
 *
 * A directory's listing is the concatenation of its records, sorted by name
 * (bytewise, memcmp then length). The listing is stored as pieces cut between
 * records, and a recipe over those pieces; see tree/.
 */
#ifndef FORMAT_TREE_H
#define FORMAT_TREE_H

#include "format/format.h"
#include "format/format_recipe.h"

#define NODE_NAME_MAX 255
#define NODE_TARGET_MAX 65535	/* bytes of a symlink's target */
#define NODE_XATTR_NAME_MAX 255
#define NODE_XATTR_VALUE_MAX 65536
#define NODE_XATTRS_MAX 4096
#define NODE_RECORD_MAX (8 * MiB)

enum node_type {
	NODE_FILE = 1, NODE_DIR, NODE_SYMLINK, NODE_FIFO, NODE_SOCKET,
	NODE_CHARDEV, NODE_BLOCKDEV,
	NODE_STREAM,		/* a named stream (stdin), no file metadata */
};

/* Flags. */
#define NODE_CHANGED    0x1	/* changed while it was read */
#define NODE_UNREADABLE 0x2	/* content could not be read (in part) */
#define NODE_LINKED     0x4	/* nlink > 1: dev and ino name the group */
#define NODE_PARTIAL    0x8	/* DIR: has names that were left out, as another
				 * file system's, or those beside the way to
				 * what was asked for */

struct node_xattr {
	const char *name;	/* without NUL inside; NUL-terminated copy */
	const u8 *value;
	u32 len;
};

struct node {
	u8 type;
	u32 flags;
	const char *name;	/* NUL-terminated; borrowed */
	u32 mode;		/* permission bits and suid, sgid, sticky */
	u32 uid, gid;
	s64 mtime_sec, ctime_sec;
	u32 mtime_nsec, ctime_nsec;
	u64 dev, ino;
	u64 size;		/* FILE, STREAM: bytes recorded */
	u64 rdev;		/* CHARDEV, BLOCKDEV */
	const u8 *target;	/* SYMLINK: bytes, not NUL-terminated */
	u32 target_len;
	u32 nr_xattrs;
	struct node_xattr *xattrs;	/* sorted by name */
	struct content content;	/* FILE, STREAM: data; DIR: its listing */
	void *memory;		/* decoded nodes: what node_release frees */
};

/* Appends one record: varint length, then the body. */
int node_encode(const struct node *n, struct buf *out);
/*
 * One record from the front. -AKIN_E_short_read if @len does not hold a whole
 * record yet (then *total_ret = bytes needed, or 0 if not even the length is
 * there). Refuses names that are empty, ".", "..", or hold '/' or NUL.
 * Strings are copies: the bytes may go away.
 */
int node_decode(const void *data, size_t len, struct node *out,
		size_t *total_ret);
/* For decoded nodes; zeroed is fine. */
void node_release(struct node *n);
/* Order of names in a listing. */
int node_name_compare(const char *a, const char *b);

#endif
