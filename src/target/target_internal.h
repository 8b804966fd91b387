/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARGET_INTERNAL_H
#define TARGET_INTERNAL_H

#include <sys/stat.h>

#include "base/buf.h"
#include "os/dirlist.h"
#include "os/dirstack.h"
#include "target/target.h"

#define PROC_FD_MAX (sizeof("/proc/self/fd/") + 11)

/* One directory on the path; levels[0] is the target itself. */
struct target_level {
	struct buf last; /* name given last, with NUL; also the name of
			  * the level below */
	bool has_last;
	bool ordered;	   /* names must ascend */
	bool made;	   /* by this restore */
	bool absent;	   /* dry run: it would have been made */
	bool mode_changed; /* old_mode waits to come back */
	mode_t old_mode;
	struct dirlist *extra; /* what was there, for deletion; or NULL */
	const char *pending;   /* next name of extra; NULL at the end */
};

/*
 * Groups of hard links: where the first name of each was restored, found by
 * the node's (dev, ino) and by the restored one.
 */
struct target_link {
	u64 dev, ino;	    /* of the node */
	u64 to_dev, to_ino; /* as restored */
	size_t path_off;    /* in paths: relative, NUL-terminated */
};

struct target_links {
	struct target_link *entries;
	size_t nr, cap;
	/* Open addressing; 0 is free, else index + 1. */
	u32 *by_node, *by_inode;
	size_t slots;	   /* of each, a power of two or 0 */
	struct buf paths;
	size_t max_bytes;
	bool full;
};

struct target_file {
	bool active;
	bool skip;     /* no content */
	bool meta;     /* apply metadata at the end */
	bool made;     /* fresh inode */
	bool inherits; /* it may have xattrs from its directory */
	bool guarded;  /* its mode lets nobody else in */
	int fd;	       /* -1 if there is nothing to do at the end */
	u64 size;      /* the node's */
	u64 old_size;  /* in place: bytes there to compare with */
	u64 end;       /* size of the file now */
	u64 covered;   /* bytes given */
};

struct target {
	struct dirstack *stack; /* NULL: a dry run, and no target */
	struct target_options opt;
	struct target_level *levels;
	size_t nr, cap;
	struct dirlist_memory lists;
	struct target_links links;
	struct target_file file;
	struct target_counts counts;
	struct buf path;
	char *root;
	bool root_made;
	u8 *block; /* BLOCK_BYTES to compare with */
	uid_t euid;
	bool owner_warned;
};

/* An inode that gets its metadata. */
struct target_subject {
	int fd;
	bool is_path;	  /* an O_PATH descriptor */
	bool fresh;	  /* cannot have xattrs yet */
	const char *name; /* for messages; NULL: the current directory */
};

/* target_walk.c */
static inline struct target_level *target_top(struct target *t)
{
	return &t->levels[t->nr - 1];
}
/* Where names are resolved; -1 below what a dry run would have made. */
int target_at(const struct target *t);
/* Path of @name here (or of the place: NULL). Borrowed until the next call. */
const char *target_path(struct target *t, const char *name);
/* The same, relative to the target. */
const char *target_relative(struct target *t, const char *name);
/* A code and a message for a failed system call on @name. */
int target_fail(struct target *t, const char *name, int err,
		struct akin_diag *diag);
void target_warn(struct target *t, const char *name, int code, const char *fmt,
		 ...) __printf(4, 5);
void target_event(struct target *t, const char *name, enum target_event event);
/* Is it a name, and in order? Deletes what lies before it. */
int target_name(struct target *t, const char *name, struct akin_diag *diag);
/* 1 and its stat if @name exists here, 0 if not, or an error. */
int target_lookup(struct target *t, const char *name, struct stat *st,
		  struct akin_diag *diag);
/* Path of an open descriptor. */
const char *target_proc_fd(char out[PROC_FD_MAX], int fd);

/* target_remove.c */
/* Make room for @name, which is something else; never for a full directory
 * unless extras are deleted. */
int target_clear(struct target *t, const char *name, const struct stat *st,
		 struct akin_diag *diag);
/* Delete an entry that the snapshot does not have; failures are warnings,
 * except those that end a restore. */
int target_delete(struct target *t, const char *name, struct akin_diag *diag);
/* Give the owner of a directory the permissions to work in it. True if the
 * mode was changed. */
bool target_unlock(struct target *t, int at, const char *name,
		   const struct stat *st);

/* target_meta.c */
void target_meta(struct target *t, const struct target_subject *s,
		 const struct node *n);

/* target_links.c */
/* @n was restored here as an inode that @st describes. */
int target_links_put(struct target *t, const struct node *n,
		     const struct stat *st, struct akin_diag *diag);
/* Does some group already own this inode (or may it, the table being full)? */
bool target_links_claimed(const struct target *t, const struct stat *st);
/*
 * If a name of @n's group was restored, make @n's name another one. 1 if that
 * is done (or left by policy), 0 if the node must be restored by itself.
 */
int target_links_try(struct target *t, const struct node *n,
		     struct akin_diag *diag);
void target_links_release(struct target_links *l);

#endif
