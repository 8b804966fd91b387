/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symlinks, FIFOs, sockets and devices.
 *
 * Once made, the inode is held by an O_PATH descriptor and looked at: its
 * metadata goes to what we made, or nowhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "target/target_internal.h"

static mode_t format_of(const struct node *n)
{
	switch (n->type) {
	case NODE_SYMLINK:
		return S_IFLNK;
	case NODE_FIFO:
		return S_IFIFO;
	case NODE_SOCKET:
		return S_IFSOCK;
	case NODE_CHARDEV:
		return S_IFCHR;
	case NODE_BLOCKDEV:
		return S_IFBLK;
	default:
		return 0;
	}
}

static bool same_target(struct target *t, const struct node *n)
{
	char *have = mem_alloc((size_t)n->target_len + 1);
	ssize_t len = -1;
	bool same;

	if (have)
		len = readlinkat(target_at(t), n->name, have,
				 (size_t)n->target_len + 1);
	same = len == (ssize_t)n->target_len &&
	       memcmp(have, n->target, n->target_len) == 0;
	mem_free(have);
	return same;
}

/* Is what exists already what @n describes, metadata aside? */
static bool is_same(struct target *t, const struct node *n,
		    const struct stat *st)
{
	if ((st->st_mode & S_IFMT) != format_of(n))
		return false;
	if (st->st_nlink > 1 &&
	    (!(n->flags & NODE_LINKED) || target_links_claimed(t, st)))
		return false;
	if (n->type == NODE_SYMLINK)
		return same_target(t, n);
	if (n->type == NODE_CHARDEV || n->type == NODE_BLOCKDEV)
		return st->st_rdev == n->rdev;
	return true;
}

/* 0 or an errno. */
static int make(struct target *t, const struct node *n)
{
	char *text;
	int err = 0;

	if (n->type != NODE_SYMLINK)
		return mknodat(target_at(t), n->name, format_of(n) | 0600,
			       n->type == NODE_CHARDEV ||
					       n->type == NODE_BLOCKDEV
				       ? n->rdev
				       : 0) < 0
			       ? errno
			       : 0;
	if (n->target_len == 0 || memchr(n->target, 0, n->target_len))
		return EINVAL;
	text = mem_alloc((size_t)n->target_len + 1);
	if (!text)
		return ENOMEM;
	memcpy(text, n->target, n->target_len);
	text[n->target_len] = 0;
	if (symlinkat(text, target_at(t), n->name) < 0)
		err = errno;
	mem_free(text);
	return err;
}

static int finish(struct target *t, const struct node *n, bool made,
		  struct akin_diag *diag)
{
	struct target_subject s = {.is_path = true, .name = n->name};
	struct stat st;
	int err = 0;

	s.fresh = made && target_top(t)->made;
	s.fd = openat(target_at(t), n->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (s.fd < 0)
		return target_fail(t, n->name, errno, diag);
	if (fstat(s.fd, &st) < 0)
		err = target_fail(t, n->name, errno, diag);
	else if ((st.st_mode & S_IFMT) != format_of(n) ||
		 (made && st.st_nlink != 1))
		err = target_fail(t, n->name, ESTALE, diag);
	if (!err)
		target_meta(t, &s, n);
	if (!err && (n->flags & NODE_LINKED))
		err = target_links_put(t, n, &st, diag);
	close(s.fd);
	return err;
}

/* 1 if it is to be made, 0 if it is there, or an error. */
static int prepare(struct target *t, const struct node *n, bool *touch,
		   struct akin_diag *diag)
{
	struct stat st;
	int rc = target_lookup(t, n->name, &st, diag);

	*touch = t->opt.overwrite != TARGET_NEVER || rc == 0;
	if (rc < 0)
		return rc;
	if (rc && (!*touch || is_same(t, n, &st))) {
		target_event(t, n->name, TARGET_UNCHANGED);
		return 0;
	}
	if (rc) {
		rc = target_clear(t, n->name, &st, diag);
		if (rc)
			return rc;
		target_event(t, n->name, TARGET_UPDATED);
		return 1;
	}
	target_event(t, n->name, TARGET_CREATED);
	return 1;
}

int target_special(struct target *t, const struct node *n,
		   struct akin_diag *diag)
{
	bool touch;
	int rc, err;

	if (!format_of(n))
		return diag_set(diag, -AKIN_E_usage, "not a special node");
	rc = target_name(t, n->name, diag);
	if (!rc)
		rc = target_links_try(t, n, diag);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = prepare(t, n, &touch, diag);
	if (rc < 0 || t->opt.dry_run || !touch)
		return rc < 0 ? rc : 0;
	err = rc ? make(t, n) : 0;
	if (err == EPERM || err == EOPNOTSUPP || err == ENOSYS) {
		t->counts.specials_skipped++;
		target_warn(t, n->name, error_from_errno(err),
			    "left out: this kind of file may not be made "
			    "here");
		return 0;
	}
	if (err)
		return target_fail(t, n->name, err, diag);
	return finish(t, n, rc != 0, diag);
}
