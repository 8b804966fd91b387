/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a restore below a directory, and never outside it.
 *
 * The caller walks a tree in order and hands over its nodes:
 *
 *	target_open
 *	  target_dir_begin			(names of a directory ascending)
 *	    target_file_begin, _data and _hole ..., target_file_end
 *	    target_special
 *	    target_dir_begin ... target_dir_end
 *	  target_dir_end
 *	target_finish, target_free
 *
 * I1. Every system call names one component relative to a descriptor of a
 *     directory that was itself reached that way, and follows no symlink:
 *     neither one that was there nor one that the restore made.
 * I2. What is half written has nobody's permissions but ours: files and
 *     directories are made 0600 and 0700, and get owner, xattrs, mode and
 *     times, in this order, when they are complete; directories last of all.
 *     Owner goes first because changing it drops capabilities and suid; mode
 *     after xattrs because a read-only file takes none from its owner; the
 *     mode agrees with an ACL's mask, so it does not matter to ACLs.
 * I3. An inode that existed is written in place only if it is a regular file
 *     with one name and the owner that the node wants: nobody else's open
 *     descriptor or other name sees what is restored.
 * I4. Two names share an inode if their nodes are of one group, and only then
 *     (but see link_bytes).
 *
 * Nodes are hostile: names are checked again, sizes are limits.
 *
 * Errors: classes NOSPACE, NOMEM, INTERRUPTED and too_many_files end a
 * restore; any other error concerns the one entry (after target_dir_begin:
 * what is below it), and the walk goes on without it. Warnings go to a
 * callback: the entry was restored, but not in all.
 *
 * Not thread safe.
 */
#ifndef TARGET_H
#define TARGET_H

#include "base/diag.h"
#include "base/types.h"
#include "format/format_tree.h"

struct disk;
struct target;

/* What to do with what exists. */
enum target_overwrite {
	TARGET_ALWAYS = 0, /* make it what the snapshot says */
	TARGET_IF_CHANGED, /* trust files of equal size and mtime */
	TARGET_NEVER,	   /* leave what exists, add what does not */
};

enum target_action {
	TARGET_WRITE, /* give me all of the content */
	TARGET_SKIP,  /* give me none */
};

enum target_event {
	TARGET_CREATED,
	TARGET_UPDATED,	  /* existed, is overwritten or replaced */
	TARGET_UNCHANGED, /* existed, content is left alone */
	TARGET_LINKED,	  /* another name of something restored before */
	TARGET_DELETED,
};

/*
 * Memory for the table of hard links: a few hundred thousand groups with
 * ordinary paths. When it is full, further groups are restored as copies, and
 * one warning says so.
 */
#define TARGET_LINK_BYTES (24 * MiB)

/* Directories that are never removed, whatever they are called. */
#define TARGET_SPARED 3

struct target_options {
	enum target_overwrite overwrite;
	/* Remove what the snapshot does not have from directories that are
	 * given completely; also full directories that are in the way. */
	bool delete_extra;
	/* The names at the top are complete and ascending, too. */
	bool root_complete;
	struct {
		u64 dev, ino;	/* zeros: nothing */
	} spared[TARGET_SPARED];
	bool dry_run;	   /* touch nothing, report events */
	bool durable;	   /* on disk when target_finish returns 0 */
	/* If the target was not there, target_finish makes it as this was; it
	 * is for its owner alone until then. NULL: nothing stands for it. */
	const struct node *root;
	size_t link_bytes; /* 0: TARGET_LINK_BYTES */
	/* For delete_extra: as in struct source_options. */
	size_t list_bytes;
	struct disk *spill_disk;
	const char *spill_dir;

	/* Callbacks, each may be NULL. Paths are raw bytes, borrowed. */
	void (*warn)(void *ctx, const char *path, const char *text, int code);
	void (*event)(void *ctx, const char *path, enum target_event event);
	bool (*want_xattr)(void *ctx, const char *name);
	void *ctx;
};

struct target_counts {
	u64 created, updated, unchanged, linked, deleted;
	u64 written_bytes; /* to files */
	u64 kept_bytes;	   /* compared equal and left */
	u64 warnings;	   /* calls of ->warn, whether it is set or not */
	u64 owners_failed; /* entries whose owner could not be set; only
			    * the first is a warning */
	u64 xattrs_failed; /* xattrs, not entries */
	u64 specials_skipped;
};

/*
 * @path is the user's: made if absent (with parents), symlinks in it are
 * followed. Borrows what @opt points to until target_free.
 */
int target_open(const char *path, const struct target_options *opt,
		struct target **out, struct akin_diag *diag) __must_check;
/*
 * Everything was given: deletes what is too much at the top, and with durable
 * set waits until all is on disk.
 */
int target_finish(struct target *t, struct akin_diag *diag) __must_check;
/*
 * At any point; NULL is fine. Without target_finish before, directories not
 * ended stay as they are, and the restore can be run again.
 */
void target_free(struct target *t);
/* Borrowed until target_free. */
const struct target_counts *target_counts(const struct target *t);

/* Only some of its names will be given, in any order: nothing is deleted. */
#define TARGET_DIR_PARTIAL 0x1

/* On failure the walk stays where it is: do not call target_dir_end. */
int target_dir_begin(struct target *t, const struct node *n, unsigned flags,
		     struct akin_diag *diag) __must_check;
/* Leaves the directory in any case. */
int target_dir_end(struct target *t, const struct node *n,
		   struct akin_diag *diag) __must_check;
/* The snapshot has @name here but it is not restored: nor is it deleted. */
int target_keep(struct target *t, const char *name,
		struct akin_diag *diag) __must_check;
/* What else the snapshot has in this directory cannot be known: nothing more
 * is deleted from it. */
void target_keep_rest(struct target *t);

/*
 * NODE_FILE and NODE_STREAM. After success call target_file_end or
 * target_file_fail; on TARGET_SKIP with nothing between.
 */
int target_file_begin(struct target *t, const struct node *n,
		      enum target_action *what,
		      struct akin_diag *diag) __must_check;
/* Each byte of [0, n->size) is given exactly once, in any order. */
int target_file_data(struct target *t, u64 off, const void *data, size_t len,
		     struct akin_diag *diag) __must_check;
int target_file_hole(struct target *t, u64 off, u64 len,
		     struct akin_diag *diag) __must_check;
int target_file_end(struct target *t, const struct node *n,
		    struct akin_diag *diag) __must_check;
/* The content cannot be had: removes the file if this restore made it. */
void target_file_fail(struct target *t);

/*
 * Symlinks, FIFOs, sockets, devices. One that may not be made is a warning,
 * not an error.
 */
int target_special(struct target *t, const struct node *n,
		   struct akin_diag *diag) __must_check;

#endif
