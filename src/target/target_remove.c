/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing what is in the way or too much.
 *
 * A tree is removed without recursion and without following anything: the
 * walk's own stack goes down into it and comes back. It stays on one file
 * system: what is mounted below is not ours to empty. Nor is the pool that the
 * restore reads.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "target/target_internal.h"

#define ENTRIES_BYTES (8 * KiB)
#define ENTRY_NAME_MAX 1024

bool target_unlock(struct target *t, int at, const char *name,
		   const struct stat *st)
{
	char path[PROC_FD_MAX];
	bool changed;
	int fd;

	if (t->euid == 0 || st->st_uid != t->euid ||
	    (st->st_mode & 0700) == 0700)
		return false;
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	changed = chmod(target_proc_fd(path, fd),
			(st->st_mode & 07777) | 0700) == 0;
	close(fd);
	return changed;
}

static bool is_spared(const struct target *t, u64 dev, u64 ino)
{
	u32 i;

	for (i = 0; i < TARGET_SPARED; i++) {
		if (t->opt.spared[i].ino == ino && t->opt.spared[i].dev == dev)
			return true;
	}
	return false;
}

/* Down into a directory that is to be removed; 0 or an errno. */
static int enter_doomed(struct target *t, const char *name)
{
	int at = dirstack_fd(t->stack);
	u64 dev, sub_dev, ino;
	struct stat st;
	int why = EXDEV;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		(void)target_unlock(t, at, name, &st); /* entering will tell */
	dirstack_identity(t->stack, &dev, &ino);
	if (dirstack_enter(t->stack, name))
		return dirstack_errno(t->stack);
	dirstack_identity(t->stack, &sub_dev, &ino);
	if (is_spared(t, sub_dev, ino))
		why = EBUSY;
	else if (sub_dev == dev)
		return 0;
	return dirstack_leave(t->stack) ? dirstack_errno(t->stack) : why;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Remove what is in the current directory up to the first subdirectory.
 * 1 and its name in @sub, 0 if the directory is empty now, or -errno.
 */
static int remove_entries(struct target *t, u8 *raw, char sub[ENTRY_NAME_MAX])
{
	int fd = dirstack_fd(t->stack);
	bool seen = true;
	ssize_t n, at;

	while (seen) {
		seen = false;
		if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
			return -EACCES;
		while ((n = getdents64(fd, raw, ENTRIES_BYTES)) > 0) {
			for (at = 0; at < n;) {
				const struct dirent64 *d =
					(const void *)(raw + at);

				at += d->d_reclen;
				if (is_dot(d->d_name))
					continue;
				seen = true;
				if (unlinkat(fd, d->d_name, 0) == 0 ||
				    errno == ENOENT)
					continue;
				if (errno != EISDIR ||
				    strlen(d->d_name) >= ENTRY_NAME_MAX)
					return -errno;
				memcpy(sub, d->d_name, strlen(d->d_name) + 1);
				return 1;
			}
		}
		if (n < 0)
			return -errno;
	}
	return 0;
}

/* Up from an empty directory, and away with it; 0 or an errno. */
static int leave_doomed(struct target *t, char name[ENTRY_NAME_MAX])
{
	const char *top = dirstack_name(t->stack);

	memcpy(name, top, strlen(top) + 1);
	if (dirstack_leave(t->stack))
		return dirstack_errno(t->stack);
	return unlinkat(dirstack_fd(t->stack), name, AT_REMOVEDIR) < 0 ? errno
								       : 0;
}

/* 0 or an errno; then part of the tree may be left. */
static int remove_tree(struct target *t, const char *name)
{
	size_t base = dirstack_depth(t->stack);
	u8 *raw = mem_alloc(ENTRIES_BYTES);
	char sub[ENTRY_NAME_MAX];
	int rc, err = raw ? enter_doomed(t, name) : ENOMEM;

	while (!err && dirstack_depth(t->stack) > base) {
		rc = remove_entries(t, raw, sub);
		if (rc < 0)
			err = -rc;
		else if (rc > 0)
			err = enter_doomed(t, sub);
		else
			err = leave_doomed(t, sub);
	}
	while (dirstack_depth(t->stack) > base) {
		if (dirstack_leave(t->stack) && !err)
			err = dirstack_errno(t->stack);
	}
	mem_free(raw);
	return err;
}

int target_clear(struct target *t, const char *name, const struct stat *st,
		 struct akin_diag *diag)
{
	bool is_dir = S_ISDIR(st->st_mode);
	int err = 0;

	if (t->opt.dry_run)
		return 0;
	if (unlinkat(target_at(t), name, is_dir ? AT_REMOVEDIR : 0) < 0)
		err = errno;
	if (is_dir && (err == ENOTEMPTY || err == EEXIST)) {
		if (!t->opt.delete_extra)
			return target_fail(t, name, ENOTEMPTY, diag);
		err = remove_tree(t, name);
	}
	if (err && err != ENOENT)
		return target_fail(t, name, err, diag);
	return 0;
}

int target_delete(struct target *t, const char *name, struct akin_diag *diag)
{
	int at = target_at(t), err = 0;

	if (!t->opt.dry_run && unlinkat(at, name, 0) < 0)
		err = errno;
	if (err == EISDIR)
		err = remove_tree(t, name);
	if (err == ENOMEM || err == EMFILE || err == ENFILE)
		return target_fail(t, name, err, diag);
	if (err == ENOENT)
		return 0;
	if (err) {
		target_warn(t, name, error_from_errno(err),
			    "not in the snapshot, but could not be deleted");
		return 0;
	}
	target_event(t, name, TARGET_DELETED);
	return 0;
}
