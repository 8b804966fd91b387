/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of files.
 *
 * A new file is written as data comes; holes are left out and the size is set
 * at the end. A file that exists is brought to the wanted content in place
 * where that is safe (I3 of target.h): longer ones are cut first, data is
 * compared by blocks and written where it differs, holes are punched. What
 * lies in the file before does not matter to the result, because every byte
 * of [0, size) is given once: the sum is checked at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "target/target_internal.h"

/* Compared at a time: one read and maybe one write. */
#define BLOCK_BYTES (64 * KiB)

static const u8 zeros[BLOCK_BYTES];

/* May the content of what exists be replaced without a new inode? */
static bool may_write(const struct target *t, const struct node *n,
		      const struct stat *st)
{
	uid_t owner = t->euid == 0 && n->type == NODE_FILE ? n->uid : t->euid;

	return st->st_nlink == 1 && st->st_uid == owner;
}

/* May it stay, its content being equal? */
static bool may_keep(const struct target *t, const struct node *n,
		     const struct stat *st)
{
	return st->st_nlink == 1 ||
	       ((n->flags & NODE_LINKED) && !target_links_claimed(t, st));
}

static bool is_equal(const struct node *n, const struct stat *st)
{
	return n->type == NODE_FILE && (u64)st->st_size == n->size &&
	       st->st_mtim.tv_sec == n->mtime_sec &&
	       st->st_mtim.tv_nsec == n->mtime_nsec;
}

static bool same_inode(int fd, const struct stat *want, struct stat *st)
{
	return fstat(fd, st) == 0 && st->st_dev == want->st_dev &&
	       st->st_ino == want->st_ino &&
	       (st->st_mode & S_IFMT) == (want->st_mode & S_IFMT);
}

/* Content stays; the descriptor is for the metadata. 0 or an errno. */
static int keep(struct target *t, const struct node *n, const struct stat *have)
{
	struct target_file *f = &t->file;
	struct stat st;

	f->fd = openat(target_at(t), n->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0)
		return errno;
	if (!same_inode(f->fd, have, &st)) {
		close(f->fd);
		f->fd = -1;
		return ESTALE;
	}
	f->skip = true;
	f->meta = true;
	return 0;
}

/*
 * Before the first change of what was there; one that is as it should be keeps
 * its change time. 0 or an errno.
 */
static int guard(struct target_file *f)
{
	if (f->guarded)
		return 0;
	/* It is ours, so this means a file system that has no modes. */
	if (fchmod(f->fd, 0600) < 0 && errno != EPERM && errno != ENOTSUP)
		return errno;
	f->guarded = true;
	return 0;
}

/* False if it cannot be done: the file is then replaced. */
static bool open_in_place(struct target *t, const struct node *n,
			  const struct stat *have)
{
	struct target_file *f = &t->file;
	struct stat st;

	f->fd = openat(target_at(t), n->name,
		       O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return false;
	if (!same_inode(f->fd, have, &st) || !may_write(t, n, &st))
		goto fail;
	if ((u64)st.st_size > n->size) {
		if (guard(f) || ftruncate(f->fd, (off_t)n->size) < 0)
			goto fail;
		st.st_size = (off_t)n->size;
	}
	f->old_size = f->end = (u64)st.st_size;
	f->inherits = true;
	f->meta = true;
	return true;
fail:
	close(f->fd);
	f->fd = -1;
	return false;
}

static int create(struct target *t, const struct node *n,
		  struct akin_diag *diag)
{
	struct target_file *f = &t->file;

	f->fd = openat(target_at(t), n->name,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (f->fd < 0)
		return target_fail(t, n->name, errno, diag);
	f->made = true;
	f->guarded = true;
	f->meta = true;
	f->inherits = !target_top(t)->made;
	return 0;
}

/* Sets up t->file for a node that is no link; an event says what happens. */
static int prepare(struct target *t, const struct node *n,
		   struct akin_diag *diag)
{
	struct target_file *f = &t->file;
	struct stat st;
	int rc = target_lookup(t, n->name, &st, diag);
	bool exists = rc > 0, regular;

	if (rc < 0)
		return rc;
	regular = exists && S_ISREG(st.st_mode);
	if (exists && t->opt.overwrite == TARGET_NEVER) {
		f->skip = true;
		target_event(t, n->name, TARGET_UNCHANGED);
		return 0;
	}
	if (regular && t->opt.overwrite == TARGET_IF_CHANGED &&
	    is_equal(n, &st) && may_keep(t, n, &st)) {
		target_event(t, n->name, TARGET_UNCHANGED);
		f->skip = true;
		rc = t->opt.dry_run ? 0 : keep(t, n, &st);
		return rc ? target_fail(t, n->name, rc, diag) : 0;
	}
	target_event(t, n->name, exists ? TARGET_UPDATED : TARGET_CREATED);
	if (t->opt.dry_run) {
		f->skip = true;
		return 0;
	}
	if (regular && may_write(t, n, &st) && open_in_place(t, n, &st))
		return 0;
	if (exists) {
		rc = target_clear(t, n->name, &st, diag);
		if (rc)
			return rc;
	}
	return create(t, n, diag);
}

int target_file_begin(struct target *t, const struct node *n,
		      enum target_action *what, struct akin_diag *diag)
{
	struct target_file *f = &t->file;
	int rc;

	if (n->type != NODE_FILE && n->type != NODE_STREAM)
		return diag_set(diag, -AKIN_E_usage, "not a file node");
	rc = target_name(t, n->name, diag);
	if (rc)
		return rc;
	if (n->size > INT64_MAX)
		return target_fail(t, n->name, EFBIG, diag);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
	f->size = n->size;
	rc = target_links_try(t, n, diag);
	if (rc > 0)
		f->skip = true;
	if (rc == 0)
		rc = prepare(t, n, diag);
	if (rc < 0)
		return rc;
	f->active = true;
	*what = f->skip ? TARGET_SKIP : TARGET_WRITE;
	return 0;
}

static const char *file_name(struct target *t)
{
	return (const char *)target_top(t)->last.data;
}

/* 0 or an errno. */
static int write_all(struct target *t, u64 off, const u8 *data, size_t len)
{
	struct target_file *f = &t->file;
	int err = guard(f);
	ssize_t n;

	if (err)
		return err;
	while (len) {
		n = pwrite(f->fd, data, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		t->counts.written_bytes += (u64)n;
		data += n;
		off += (u64)n;
		len -= (size_t)n;
		f->end = max_u64(f->end, off);
	}
	return 0;
}

static bool holds(struct target *t, u64 off, const u8 *data, size_t len)
{
	size_t have = 0;
	ssize_t n;

	while (have < len) {
		n = pread(t->file.fd, t->block + have, len - have,
			  (off_t)(off + have));
		if (n < 0 && errno == EINTR)
			continue;
		/* What cannot be read is written. */
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return memcmp(t->block, data, len) == 0;
}

/* @data NULL: zeros. Below old_size, write what differs. 0 or an errno. */
static int write_changed(struct target *t, u64 off, const u8 *data, u64 len)
{
	size_t n;
	int err;

	if (!t->block)
		t->block = mem_alloc(BLOCK_BYTES);
	if (!t->block)
		return ENOMEM;
	for (; len; len -= n, off += n) {
		const u8 *want = data ? data : zeros;

		n = min_u64(len, BLOCK_BYTES - off % BLOCK_BYTES);
		if (holds(t, off, want, n))
			t->counts.kept_bytes += n;
		else if ((err = write_all(t, off, want, n)))
			return err;
		if (data)
			data += n;
	}
	return 0;
}

static int check_range(struct target *t, u64 off, u64 len,
		       struct akin_diag *diag)
{
	struct target_file *f = &t->file;

	if (!f->active || f->skip)
		return diag_set(diag, -AKIN_E_sequence,
				"no content was asked for");
	if (off > f->size || len > f->size - off || len > f->size - f->covered)
		return diag_set(diag, -AKIN_E_bad_length,
				"%s: more content than its size",
				target_path(t, file_name(t)));
	f->covered += len;
	return 0;
}

int target_file_data(struct target *t, u64 off, const void *data, size_t len,
		     struct akin_diag *diag)
{
	struct target_file *f = &t->file;
	const u8 *p = data;
	size_t old = 0;
	int err = check_range(t, off, len, diag);

	if (err)
		return err;
	if (off < f->old_size)
		old = min_u64(len, f->old_size - off);
	if (old)
		err = write_changed(t, off, p, old);
	if (!err && len > old)
		err = write_all(t, off + old, p + old, len - old);
	return err ? target_fail(t, file_name(t), err, diag) : 0;
}

/* A file system that cannot tell says that all is data. */
static bool has_data(int fd, u64 off, u64 len)
{
	off_t at = lseek(fd, (off_t)off, SEEK_DATA);

	return at < 0 ? errno != ENXIO : (u64)at < off + len;
}

int target_file_hole(struct target *t, u64 off, u64 len, struct akin_diag *diag)
{
	struct target_file *f = &t->file;
	int err = check_range(t, off, len, diag);
	u64 old;

	if (err || off >= f->old_size || len == 0)
		return err;
	old = min_u64(len, f->old_size - off);
	if (!has_data(f->fd, off, old))
		return 0;
	err = guard(f);
	if (err)
		return target_fail(t, file_name(t), err, diag);
	if (fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)off, (off_t)old) == 0)
		return 0;
	err = errno == ENOSPC ? ENOSPC : write_changed(t, off, NULL, old);
	return err ? target_fail(t, file_name(t), err, diag) : 0;
}

void target_file_fail(struct target *t)
{
	struct target_file *f = &t->file;

	if (!f->active)
		return;
	f->active = false;
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	/* Half a file under its name would pass for the whole. One that was
	 * there keeps a time of today, so that the next restore sees it. */
	if (f->made)
		(void)unlinkat(target_at(t), file_name(t), 0);
}

/* Size, metadata, links. */
static int complete(struct target *t, const struct node *n,
		    struct akin_diag *diag)
{
	struct target_file *f = &t->file;
	struct target_subject s = {
		.fd = f->fd,
		.is_path = f->skip,
		.fresh = f->made && !f->inherits,
		.name = n->name,
	};
	struct stat st;

	if (!f->skip && f->covered != f->size)
		return diag_set(diag, -AKIN_E_bad_length,
				"%s: less content than its size",
				target_path(t, n->name));
	if (!f->skip && f->end != f->size &&
	    ftruncate(f->fd, (off_t)f->size) < 0)
		return target_fail(t, n->name, errno, diag);
	if (f->meta)
		target_meta(t, &s, n);
	if (!(n->flags & NODE_LINKED))
		return 0;
	if (fstat(f->fd, &st) < 0)
		return target_fail(t, n->name, errno, diag);
	return target_links_put(t, n, &st, diag);
}

int target_file_end(struct target *t, const struct node *n,
		    struct akin_diag *diag)
{
	struct target_file *f = &t->file;
	int err;

	if (!f->active)
		return diag_set(diag, -AKIN_E_sequence, "no file was begun");
	if (f->fd < 0) {
		f->active = false;
		return 0;
	}
	err = complete(t, n, diag);
	if (err) {
		target_file_fail(t);
		return err;
	}
	f->active = false;
	/* Where blocks are allocated late, this is the last to hear of it. */
	if (close(f->fd) < 0 && errno != EINTR)
		err = target_fail(t, n->name, errno, diag);
	f->fd = -1;
	return err;
}
