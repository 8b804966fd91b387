/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a live tree: the primitives under a backup's walk.
 *
 * A source_walk is a place in the tree. From there names are listed
 * (source_dir), described as nodes (source_stat) and read (source_file). All
 * system calls name one component relative to a descriptor and never follow a
 * symlink there: depth, PATH_MAX and renames meanwhile do no harm. The order
 * of the walk is the caller's.
 *
 * Errors. What is wrong with one name is a code of class SOURCE, and the walk
 * goes on:
 *   source_vanished  it is gone; nothing to worry about
 *   source_changed   it became something else; stat it again
 *   source_read      it cannot be read
 * Other classes (memory, descriptors, interruption) end the walk. Messages
 * name the path as raw bytes; of a very long one only the end.
 *
 * Not thread safe; but once open, a source_file and a source_dir need the walk
 * no more, and each may be used (also closed) by another thread. An exception
 * is the lists' common memory account: directories are used by one thread.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "base/diag.h"
#include "base/types.h"
#include "format/format_tree.h"

struct disk;
struct source_walk;
struct source_dir;
struct source_file;

struct source_options {
	/* What all directory lists open at one time may hold. */
	size_t list_bytes;
	/* Where lists beyond it are sorted, and the folder for that; NULL: a
	 * directory beyond list_bytes is an error. Borrowed. */
	struct disk *spill_disk;
	const char *spill_dir;
	/* Read FIFOs and devices as if they were files. */
	bool read_special;
	/* How long to wait for somebody to write a FIFO; 0: the default. */
	u32 special_timeout_ms;
};

/*
 * How long a FIFO may stay without a writer: long enough for a producer that
 * was started together with the backup, short enough that a forgotten FIFO
 * does not hold up the night.
 */
#define SOURCE_SPECIAL_TIMEOUT_MS 5000
/*
 * Values of one node's xattrs in all; larger ones are skipped and counted.
 * Leaves room in a record for names and for everything else.
 */
#define SOURCE_XATTR_BYTES (4 * MiB)
static_assert(SOURCE_XATTR_BYTES + NODE_TARGET_MAX + 512 * NODE_XATTRS_MAX <
		      NODE_RECORD_MAX,
	      "what source_stat yields must fit a record");

/*
 * Start at the directory @path ("/" for absolute walks). Symlinks in @path
 * are followed. Returns owned: source_walk_free.
 */
int source_walk_open(const char *path, const struct source_options *opt,
		     struct source_walk **out,
		     struct akin_diag *diag) __must_check;
/* NULL is fine. */
void source_walk_free(struct source_walk *w);
/* Into the subdirectory @name; on failure the walk stays where it is. */
int source_walk_enter(struct source_walk *w, const char *name,
		      struct akin_diag *diag) __must_check;
/*
 * Back to the parent. An error of class SOURCE says that the parent was moved
 * away: the walk is there, but everything below it will fail.
 */
int source_walk_leave(struct source_walk *w,
		      struct akin_diag *diag) __must_check;
size_t source_walk_depth(const struct source_walk *w);
/* Where the walk is, for --one-file-system and loops. */
void source_walk_identity(const struct source_walk *w, u64 *dev_ret,
			  u64 *ino_ret);
/* Path of @name here (or of the place itself: NULL), for messages and
 * patterns. Borrowed until the next call. "" if memory is short. */
const char *source_walk_path(struct source_walk *w, const char *name);
/* xattrs that exist but could not be read so far. */
u64 source_walk_skipped_xattrs(const struct source_walk *w);

/*
 * The names here, read at once and sorted as node_name_compare() does.
 * Borrows @w (its memory account). Returns owned: source_dir_free.
 */
int source_dir_open(struct source_walk *w, struct source_dir **out,
		    struct akin_diag *diag) __must_check;
/*
 * 1 and the next name, 0 at the end, or an error. The name is borrowed until
 * the next call. @type_ret is an enum node_type, or 0 if unknown: a hint only.
 */
int source_dir_next(struct source_dir *d, const char **name_ret, u8 *type_ret,
		    struct akin_diag *diag) __must_check;
/* NULL is fine. */
void source_dir_free(struct source_dir *d);

/*
 * Describe @name here, or the place itself ("."; its node's name is then that
 * of the last directory entered). Fills everything but content. @out owns its
 * memory: source_node_release. xattrs come after the rest: a change between
 * shows as a newer ctime next time. Those that cannot be read are left out and
 * counted.
 */
int source_stat(struct source_walk *w, const char *name, bool want_xattrs,
		struct node *out, struct akin_diag *diag) __must_check;
/* Zeroed and released nodes are fine. */
void source_node_release(struct node *n);

enum source_piece_type {
	SOURCE_DATA,
	SOURCE_HOLE, /* len bytes that the file does not store */
};

struct source_piece {
	enum source_piece_type type;
	u64 off, len;
};

/*
 * Open the file that @n (from source_stat, with xattrs) describes. Never
 * blocks. Specials are refused (-AKIN_E_usage) unless read_special is set, and
 * sockets always. If the name stands for another file by now, or was changed
 * since, @n is made anew; if it is of another type, -AKIN_E_source_changed is
 * returned and @n says which. Returns owned: source_file_close.
 */
int source_file_open(struct source_walk *w, const char *name, struct node *n,
		     struct source_file **out,
		     struct akin_diag *diag) __must_check;
/*
 * 1 and the next piece, 0 at the end, or an error. Pieces follow each other
 * without gap from offset 0. Data (at most @cap bytes) is in @buf; holes are
 * not limited. Of a regular file, never more than its size when it was opened.
 * Reading a FIFO waits as long as there is a writer.
 */
int source_file_read(struct source_file *f, void *buf, size_t cap,
		     struct source_piece *out,
		     struct akin_diag *diag) __must_check;
/*
 * Settle @n after the last piece (or after an error): size is what was
 * delivered; NODE_CHANGED if the file is not what it was when it was opened,
 * NODE_UNREADABLE after an error. A special read as a file becomes NODE_FILE.
 */
int source_file_finish(struct source_file *f, struct node *n,
		       struct akin_diag *diag) __must_check;
/* NULL is fine. */
void source_file_close(struct source_file *f);

#endif
