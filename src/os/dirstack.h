/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path of directories held by descriptors, for walks of any depth.
 *
 * Level 0 is the root; dirstack_enter() adds one level, dirstack_leave() drops
 * it. Every system call names one component relative to a descriptor and never
 * follows a symlink there, so paths longer than PATH_MAX work and nothing that
 * is renamed or replaced meanwhile leads the walk astray. Only the root and
 * the deepest levels stay open; an ancestor that was closed is opened again
 * through "..", or from the root by its names, and believed only if device and
 * inode are the ones seen on the way down.
 *
 * Failures leave the errno behind (dirstack_errno) beside the private code:
 * callers decide by it whether a name vanished or was replaced.
 * Not thread safe.
 */
#ifndef OS_DIRSTACK_H
#define OS_DIRSTACK_H

#include "base/buf.h"
#include "base/diag.h"
#include "base/types.h"

/*
 * Descriptors one stack keeps. Trees deeper than this pay one openat() per
 * level on the way back; two stacks fit the usual limit of 1024 many times.
 */
#define DIRSTACK_FDS 48

struct dirstack;

/*
 * @path is the caller's own: symlinks in it are followed, a component at a
 * time. With @create missing components are made (0777 less umask).
 * Returns owned: dirstack_free.
 */
int dirstack_open(const char *path, bool create, struct dirstack **out,
		  struct akin_diag *diag) __must_check;
/* NULL is fine. */
void dirstack_free(struct dirstack *s);

/*
 * One level down, into a directory that is no symlink. On failure nothing
 * changes. If the directory may be searched but not read, its descriptor is
 * one of O_PATH: good for naming what is below it, not for listing.
 */
int dirstack_enter(struct dirstack *s, const char *name) __must_check;
/*
 * Makes sure that the parent of the deepest level can be named by
 * dirstack_parent_fd() and left to, even if the level is about to lose its
 * search permission.
 */
int dirstack_open_parent(struct dirstack *s) __must_check;
/* One level up. The level is dropped in any case; an error says that the
 * parent could not be opened again (dirstack_fd is then -1). */
int dirstack_leave(struct dirstack *s) __must_check;

/* Borrowed descriptor of the deepest level, valid until it is left. */
int dirstack_fd(const struct dirstack *s);
/* Descriptor of the root, valid as long as the stack. */
int dirstack_root_fd(const struct dirstack *s);
/* 0 at the root. */
size_t dirstack_depth(const struct dirstack *s);
/* Name of the deepest level; "" at the root. Borrowed until it is left. */
const char *dirstack_name(const struct dirstack *s);
void dirstack_identity(const struct dirstack *s, u64 *dev_ret, u64 *ino_ret);
/* errno of the last failure. */
int dirstack_errno(const struct dirstack *s);

/*
 * "root/a/b/name" as NUL-terminated text in @out (reset first), for messages;
 * @name may be NULL. Never for a system call. "" if memory is short.
 */
const char *dirstack_path(const struct dirstack *s, const char *name,
			  struct buf *out);
/* The same without the root: "a/b/name". */
const char *dirstack_relative(const struct dirstack *s, const char *name,
			      struct buf *out);

#endif
