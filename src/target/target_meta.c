/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owner, xattrs, mode and times of a complete inode.
 *
 * Everything goes through a descriptor, so it reaches the inode that was
 * restored and no other. O_PATH descriptors (of symlinks, specials and files
 * whose content is left alone) are named as /proc/self/fd/N where a call does
 * not take them; such a path ends at the inode itself, also at a symlink.
 *
 * What fails is collected into one warning for each entry.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "target/target_internal.h"

#define NSEC_MAX 999999999
/* Outside of these, seconds may not fit the file system. */
#define PLAIN_SEC_MAX 2147483647
/* As the kernel's XATTR_LIST_MAX. */
#define LIST_MAX 65536

struct trouble {
	int code; /* 0: none */
	u32 more; /* beside the first */
	char text[200];
};

static void __printf(3, 4)
	add_trouble(struct trouble *tr, int err, const char *fmt, ...)
{
	char reason[64];
	va_list ap;
	int n;

	if (tr->code) {
		tr->more++;
		return;
	}
	tr->code = err ? error_from_errno(err) : -AKIN_E_partial;
	va_start(ap, fmt);
	n = vsnprintf(tr->text, sizeof(tr->text), fmt, ap);
	va_end(ap);
	if (err && n > 0 && (size_t)n < sizeof(tr->text))
		snprintf(tr->text + n, sizeof(tr->text) - (size_t)n, ": %s",
			 strerror_r(err, reason, sizeof(reason)));
}

static void report_trouble(struct target *t, const char *name,
			   const struct trouble *tr)
{
	if (tr->code && tr->more)
		target_warn(t, name, tr->code, "%s (and %u more)", tr->text,
			    tr->more);
	else if (tr->code)
		target_warn(t, name, tr->code, "%s", tr->text);
}

static void set_owner(struct target *t, const struct target_subject *s,
		      const struct node *n, const struct stat *st,
		      bool *user_ok, bool *group_ok)
{
	const int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
	int err = EINVAL;

	*user_ok = st->st_uid == n->uid;
	*group_ok = st->st_gid == n->gid;
	if (*user_ok && *group_ok)
		return;
	/* The highest id would mean "leave it". */
	if (n->uid != UINT32_MAX && n->gid != UINT32_MAX) {
		if (fchownat(s->fd, "", n->uid, n->gid, flags) == 0) {
			*user_ok = *group_ok = true;
			return;
		}
		err = errno;
	}
	if (!*group_ok && n->gid != UINT32_MAX &&
	    fchownat(s->fd, "", (uid_t)-1, n->gid, flags) == 0)
		*group_ok = true;
	if (*user_ok && *group_ok)
		return;
	t->counts.owners_failed++;
	if (!t->owner_warned)
		target_warn(t, s->name, error_from_errno(err),
			    "owner %u:%u could not be set, nor may those of "
			    "others",
			    n->uid, n->gid);
	t->owner_warned = true;
}

static ssize_t get_xattr(const struct target_subject *s, const char *path,
			 const char *name, void *value, size_t n)
{
	return s->is_path ? getxattr(path, name, value, n)
			  : fgetxattr(s->fd, name, value, n);
}

static bool has_xattr(const struct target_subject *s, const char *path,
		      const struct node_xattr *x)
{
	u8 small[256];
	u8 *value = x->len > sizeof(small) ? mem_alloc(x->len) : small;
	bool same = value &&
		    get_xattr(s, path, x->name, value, max_u64(x->len, 1)) ==
			    (ssize_t)x->len &&
		    memcmp(value, x->value, x->len) == 0;

	if (value != small)
		mem_free(value);
	return same;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Labels that the system gives by itself stay if the snapshot has none. */
static bool is_removable(const char *name)
{
	return has_prefix(name, "user.") || has_prefix(name, "trusted.") ||
	       has_prefix(name, "system.posix_acl_") ||
	       strcmp(name, "security.capability") == 0;
}

static bool node_has(const struct node *n, const char *name)
{
	u32 i;

	for (i = 0; i < n->nr_xattrs; i++) {
		if (strcmp(n->xattrs[i].name, name) == 0)
			return true;
	}
	return false;
}

static bool is_wanted(const struct target *t, const char *name)
{
	return !t->opt.want_xattr || t->opt.want_xattr(t->opt.ctx, name);
}

static void remove_xattrs(struct target *t, const struct target_subject *s,
			  const char *path, const struct node *n,
			  struct trouble *tr)
{
	char first[512];
	char *list = first;
	ssize_t len, i;
	int rc;

	len = s->is_path ? listxattr(path, first, sizeof(first))
			 : flistxattr(s->fd, first, sizeof(first));
	if (len < 0 && errno == ERANGE) {
		list = mem_alloc(LIST_MAX);
		if (!list)
			return add_trouble(tr, ENOMEM, "xattrs");
		len = s->is_path ? listxattr(path, list, LIST_MAX)
				 : flistxattr(s->fd, list, LIST_MAX);
	}
	for (i = 0; i < len; i += (ssize_t)strlen(list + i) + 1) {
		const char *name = list + i;

		if (!is_removable(name) || node_has(n, name) ||
		    !is_wanted(t, name))
			continue;
		rc = s->is_path ? removexattr(path, name)
				: fremovexattr(s->fd, name);
		if (rc < 0 && errno != ENODATA) {
			t->counts.xattrs_failed++;
			add_trouble(tr, errno, "xattr %s could not be removed",
				    name);
		}
	}
	if (list != first)
		mem_free(list);
}

static void set_xattrs(struct target *t, const struct target_subject *s,
		       const struct node *n, struct trouble *tr)
{
	char path[PROC_FD_MAX];
	u32 i;
	int rc;

	target_proc_fd(path, s->fd);
	if (!s->fresh)
		remove_xattrs(t, s, path, n, tr);
	for (i = 0; i < n->nr_xattrs; i++) {
		const struct node_xattr *x = &n->xattrs[i];

		if (!is_wanted(t, x->name))
			continue;
		if (!s->fresh && has_xattr(s, path, x))
			continue;
		rc = s->is_path
			     ? setxattr(path, x->name, x->value, x->len, 0)
			     : fsetxattr(s->fd, x->name, x->value, x->len, 0);
		/* The file system may have given the same label by itself. */
		if (rc < 0 && !has_xattr(s, path, x)) {
			t->counts.xattrs_failed++;
			add_trouble(tr, errno, "xattr %s could not be set",
				    x->name);
		}
	}
}

/* @now: what an inode that was there has; NULL: set it in any case. */
static void set_mode(const struct target_subject *s, const struct node *n,
		     const struct stat *now, bool user_ok, bool group_ok,
		     struct trouble *tr)
{
	mode_t mode = n->mode & 07777;
	char path[PROC_FD_MAX];
	int rc;

	/* These give away the owner's rights: not those of a wrong one. */
	if (n->type != NODE_DIR && !user_ok && (mode & S_ISUID)) {
		mode &= ~(mode_t)S_ISUID;
		add_trouble(tr, 0, "set-user-ID is left out: wrong owner");
	}
	if (n->type != NODE_DIR && !group_ok && (mode & S_ISGID)) {
		mode &= ~(mode_t)S_ISGID;
		add_trouble(tr, 0, "set-group-ID is left out: wrong group");
	}
	if (now && (now->st_mode & 07777) == mode)
		return;
	rc = s->is_path ? chmod(target_proc_fd(path, s->fd), mode)
			: fchmod(s->fd, mode);
	if (rc < 0)
		add_trouble(tr, errno, "mode could not be set");
}

static int set_mtime(const struct target_subject *s, s64 sec, u32 nsec)
{
	const struct timespec ts[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = sec, .tv_nsec = nsec},
	};

	return s->is_path ? utimensat(s->fd, "", ts, AT_EMPTY_PATH)
			  : futimens(s->fd, ts);
}

static void set_times(const struct target_subject *s, const struct node *n,
		      const struct stat *now, struct trouble *tr)
{
	bool odd = n->mtime_sec < 0 || n->mtime_sec > PLAIN_SEC_MAX;
	u32 nsec = (u32)min_u64(n->mtime_nsec, NSEC_MAX);
	struct stat st;
	int rc;

	if (now && now->st_mtim.tv_sec == n->mtime_sec &&
	    (u64)now->st_mtim.tv_nsec == n->mtime_nsec)
		return;
	rc = set_mtime(s, n->mtime_sec, nsec);
	/* File systems clamp what they cannot hold; some refuse it. */
	if (rc < 0 && errno == EINVAL && odd)
		rc = set_mtime(s, n->mtime_sec < 0 ? 0 : PLAIN_SEC_MAX, 0);
	if (rc < 0) {
		add_trouble(tr, errno, "times could not be set");
		return;
	}
	if (nsec != n->mtime_nsec || (odd && fstat(s->fd, &st) == 0 &&
				      st.st_mtim.tv_sec != n->mtime_sec))
		add_trouble(tr, 0,
			    "modification time does not fit this file "
			    "system");
}

void target_meta(struct target *t, const struct target_subject *s,
		 const struct node *n)
{
	bool user_ok = false, group_ok = false;
	struct trouble tr = {0};
	const struct stat *now;
	struct stat st;

	if (n->type == NODE_STREAM)
		return;
	if (fstat(s->fd, &st) < 0) {
		add_trouble(&tr, errno, "metadata could not be set");
		report_trouble(t, s->name, &tr);
		return;
	}
	set_owner(t, s, n, &st, &user_ok, &group_ok);
	if (n->nr_xattrs || !s->fresh)
		set_xattrs(t, s, n, &tr);
	/* What is as it should be is not touched: a change time that moves
	 * makes the next backup read the file. Owner and ACL move the mode. */
	now = !s->fresh && fstat(s->fd, &st) == 0 ? &st : NULL;
	if (n->type != NODE_SYMLINK)
		set_mode(s, n, now, user_ok, group_ok, &tr);
	set_times(s, n, now, &tr);
	report_trouble(t, s->name, &tr);
}
