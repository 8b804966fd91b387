/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back end for a directory of a file system.
 *
 * Every name is resolved below a directory that was opened once, so a pool
 * stays itself when its path is renamed or mounted over. System calls are
 * repeated when a signal interrupts them and continued when they do part of
 * the work. errno is read here and in disk_files_uring.c only.
 *
 * Locks are OFD locks: they belong to the open file, so two opens in one
 * process exclude each other and the kernel drops them when the process dies.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/disk_files.h"
#include "os/machine.h"

/* One write() of zeros where fallocate() does not exist. */
#define ZERO_BYTES ((size_t)64 * 1024)
/* Names tried for a temporary file before giving up. */
#define TMP_TRIES 100

struct files_disk {
	struct disk disk;
	int root_fd;
	bool writable;
	struct ring_pool *rings;	/* NULL: plain reads */
	_Atomic u64 tmp_seq;		/* for names of temporary files */
};

static struct files_disk *to_files(struct disk *d)
{
	return container_of(d, struct files_disk, disk);
}

static int refuse_readonly(struct files_disk *fd, const char *what,
			   struct akin_diag *diag)
{
	if (fd->writable)
		return 0;
	return diag_set(diag, -AKIN_E_readonly, "%s: opened for reading only",
			what);
}

/* Message and code for the errno of a failed @what. */
static int failed(const char *what, struct akin_diag *diag)
{
	int err = errno;

	return diag_set_errno(diag, error_from_errno(err), err, "%s", what);
}

static int open_retry(int dir, const char *name, int flags)
{
	int fd;

	do {
		fd = openat(dir, name, flags | O_CLOEXEC | O_NOCTTY, 0666);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

static int open_file(struct files_disk *d, const char *name, unsigned flags)
{
	/* Without O_NONBLOCK, opening a FIFO would wait for its writer. */
	int fl = O_NOFOLLOW | O_NONBLOCK, fd;

	fl |= flags & DISK_WRITE ? O_RDWR : O_RDONLY;
	if (flags & DISK_CREATE)
		fl |= O_CREAT;
	if (flags & DISK_EXCL)
		fl |= O_EXCL;
	if (flags & DISK_TRUNC)
		fl |= O_TRUNC;
	if (d->writable)
		return open_retry(d->root_fd, name, fl);
	fd = open_retry(d->root_fd, name, fl | O_NOATIME);
	/* Only the owner may ask for O_NOATIME. */
	if (fd < 0 && errno == EPERM)
		fd = open_retry(d->root_fd, name, fl);
	return fd;
}

/* Takes @fd, also on failure. */
static int file_new(struct files_disk *d, int fd, struct file **out,
		    struct akin_diag *diag)
{
	struct files_file *f = mem_zalloc(sizeof(*f));

	if (!f) {
		(void)close(fd);	/* nothing was written through it */
		return diag_set(diag, -AKIN_E_nomem, "open: out of memory");
	}
	f->file.disk = &d->disk;
	f->fd = fd;
	/* Creating or cutting it is a change of size, too. */
	atomic_init(&f->resized, d->writable);
	*out = &f->file;
	return 0;
}

static int files_open(struct disk *disk, const char *name, unsigned flags,
		      struct file **out, struct akin_diag *diag)
{
	struct files_disk *d = to_files(disk);
	struct stat st;
	int fd, err;

	if (flags & DISK_WRITE) {
		err = refuse_readonly(d, "open", diag);
		if (err)
			return err;
	}
	fd = open_file(d, name, flags);
	if (fd < 0)
		return failed("open", diag);
	if (fstat(fd, &st)) {
		err = failed("fstat", diag);
	} else if (!S_ISREG(st.st_mode)) {
		err = diag_set(diag, -AKIN_E_io, "open: not a regular file");
	} else {
		return file_new(d, TAKE(fd), out, diag);
	}
	(void)close(fd);	/* nothing was written through it */
	return err;
}

/* A file that is created under a name of its own and unlinked at once. */
static int tmp_create(struct files_disk *d, const char *dir)
{
	char name[512];
	int tries, fd = -1, n;

	for (tries = 0; tries < TMP_TRIES; tries++) {
		n = snprintf(name, sizeof(name), "%s/tmp-%ld-%llx-%llu", dir,
			     (long)getpid(), (unsigned long long)clock_ns(),
			     (unsigned long long)atomic_fetch_add(&d->tmp_seq,
								  1));
		if (n < 0 || (size_t)n >= sizeof(name)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open_retry(d->root_fd, name,
				O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	/* A backup that tidies up may have been faster. */
	if (fd >= 0 && unlinkat(d->root_fd, name, 0) && errno != ENOENT) {
		n = errno;
		(void)close(fd);	/* empty */
		errno = n;
		return -1;
	}
	return fd;
}

static int files_open_tmp(struct disk *disk, const char *dir, struct file **out,
			  struct akin_diag *diag)
{
	struct files_disk *d = to_files(disk);
	int fd, err;

	err = refuse_readonly(d, "open", diag);
	if (err)
		return err;
	fd = open_retry(d->root_fd, dir, O_TMPFILE | O_RDWR);
	/* EISDIR: a kernel, EOPNOTSUPP: a file system that does not know it. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR ||
		       errno == EINVAL))
		fd = tmp_create(d, dir);
	if (fd < 0)
		return failed("create a temporary file", diag);
	return file_new(d, TAKE(fd), out, diag);
}

static int files_mkdir(struct disk *disk, const char *name,
		       struct akin_diag *diag)
{
	struct files_disk *d = to_files(disk);
	struct stat st;
	int err = refuse_readonly(d, "mkdir", diag);

	if (err || mkdirat(d->root_fd, name, 0777) == 0)
		return err;
	/* Through a link is fine: it is how one moves a directory elsewhere. */
	if (errno == EEXIST && fstatat(d->root_fd, name, &st, 0) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = EEXIST;
	}
	return failed("mkdir", diag);
}

static int files_rename(struct disk *disk, const char *from, const char *to,
			struct akin_diag *diag)
{
	struct files_disk *d = to_files(disk);
	int err = refuse_readonly(d, "rename", diag);

	if (err || renameat(d->root_fd, from, d->root_fd, to) == 0)
		return err;
	err = errno;
	return diag_set_errno(diag, error_from_errno(err), err, "rename to %s",
			      to);
}

static int files_unlink(struct disk *disk, const char *name,
			struct akin_diag *diag)
{
	struct files_disk *d = to_files(disk);
	int err = refuse_readonly(d, "unlink", diag);

	if (err || unlinkat(d->root_fd, name, 0) == 0)
		return err;
	return failed("unlink", diag);
}

static int files_stat(struct disk *disk, const char *name,
		      struct disk_stat *out, struct akin_diag *diag)
{
	struct files_disk *d = to_files(disk);
	struct stat st;

	if (fstatat(d->root_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return failed("stat", diag);
	out->size_bytes = (u64)st.st_size;
	out->alloc_bytes = (u64)st.st_blocks * 512;
	out->mode = st.st_mode & 0777;
	out->gid = st.st_gid;
	out->is_dir = S_ISDIR(st.st_mode);
	return 0;
}

static bool entry_is_dir(DIR *dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

static int list_entries(DIR *dir, disk_list_fn *fn, void *ctx,
			struct akin_diag *diag)
{
	struct dirent *e;
	int err = 0;

	while (!err) {
		errno = 0;
		e = readdir(dir);
		if (!e)
			return errno ? failed("readdir", diag) : 0;
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			err = fn(ctx, e->d_name, entry_is_dir(dir, e));
	}
	return err;
}

static int files_list(struct disk *disk, const char *name, disk_list_fn *fn,
		      void *ctx, struct akin_diag *diag)
{
	DIR *dir;
	int fd, err;

	fd = open_retry(to_files(disk)->root_fd, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return failed("open the directory", diag);
	dir = fdopendir(fd);
	if (!dir) {
		err = failed("open the directory", diag);
		(void)close(fd);	/* only read */
		return err;
	}
	err = list_entries(dir, fn, ctx, diag);
	(void)closedir(dir);		/* only read */
	return err;
}

static int files_sync_dir(struct disk *disk, const char *name,
			  struct akin_diag *diag)
{
	int fd, ret, err = 0;

	fd = open_retry(to_files(disk)->root_fd, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return failed("open the directory", diag);
	do {
		ret = fsync(fd);
	} while (ret && errno == EINTR);
	/*
	 * Some network and FUSE file systems refuse to sync directories. They
	 * change names synchronously or promise nothing; either way this is
	 * all that can be done.
	 */
	if (ret && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		err = failed("sync of the directory", diag);
	(void)close(fd);	/* synced or failed already */
	return err;
}

static int files_space(struct disk *disk, struct disk_space *out,
		       struct akin_diag *diag)
{
	struct statvfs vfs;
	int ret;

	do {
		ret = fstatvfs(to_files(disk)->root_fd, &vfs);
	} while (ret && errno == EINTR);
	if (ret)
		return failed("statvfs", diag);
	out->total_bytes = (u64)vfs.f_blocks * vfs.f_frsize;
	out->free_bytes = (u64)vfs.f_bavail * vfs.f_frsize;
	out->read_only = vfs.f_flag & ST_RDONLY;
	return 0;
}

/*
 * File systems that one kernel has for itself. The others are network and
 * cluster file systems, and FUSE, which may be anything.
 */
static const u32 own_systems[] = {
	0xef53,		/* ext2, ext3, ext4 */
	0x58465342,	/* XFS */
	0x9123683e,	/* Btrfs */
	0x2fc12fc1,	/* ZFS */
	0xca451a4e,	/* bcachefs */
	0xf2f52010,	/* F2FS */
	0x01021994,	/* tmpfs */
	0x858458f6,	/* ramfs */
	0x794c7630,	/* overlayfs */
	0x3153464a,	/* JFS */
	0x4d44,		/* FAT */
	0x2011bab0,	/* exFAT */
	0x7366746e,	/* NTFS3 */
	0x482b,		/* HFS+ */
	0x3434,		/* NILFS2 */
	0x15013346,	/* UDF */
	0x9660,		/* ISO 9660 */
	0x73717368,	/* squashfs */
};

static bool files_shared(struct disk *disk, struct machine *me)
{
	struct statfs fs;
	size_t i;

	if (fstatfs(to_files(disk)->root_fd, &fs) == 0) {
		for (i = 0; i < ARRAY_SIZE(own_systems); i++)
			if ((u32)fs.f_type == own_systems[i])
				return false;
	}
	machine_read(me);
	return true;
}

static void files_free(struct disk *disk)
{
	struct files_disk *d = to_files(disk);

	ring_pool_free(d->rings);
	(void)close(d->root_fd);	/* O_PATH: nothing to lose */
	mem_free(d);
}

int files_read_plain(int fd, void *data, size_t n, u64 off, int *os_error)
{
	u8 *p = data;
	ssize_t got;

	*os_error = 0;
	while (n) {
		got = pread(fd, p, n, (off_t)off);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			*os_error = errno;
			return error_from_errno(*os_error);
		}
		if (got == 0)
			return -AKIN_E_short_read;
		p += got;
		off += (u64)got;
		n -= (size_t)got;
	}
	return 0;
}

static int files_pread(struct file *f, void *data, size_t n, u64 off,
		       struct akin_diag *diag)
{
	int os_error, err;

	err = files_read_plain(files_fd(f), data, n, off, &os_error);
	if (os_error)
		return diag_set_errno(diag, err, os_error,
				      "read of %zu bytes at %llu", n,
				      (unsigned long long)off);
	if (err)
		return diag_set(diag, err, "read of %zu bytes at %llu: %s", n,
				(unsigned long long)off, akin_strerror(err));
	return 0;
}

static int files_pread_many(struct disk *disk, struct disk_read *reads,
			    size_t n, struct akin_diag *diag)
{
	struct files_disk *d = to_files(disk);
	struct disk_read *r;
	int os_error;

	/* A single read gains nothing from a ring. */
	if (n > 1 && d->rings && ring_pool_read(d->rings, reads, n))
		return 0;
	for (r = reads; r < reads + n; r++) {
		if (disk_range_ok(r->off, r->len))
			r->result = files_read_plain(files_fd(r->file), r->data,
						     r->len, r->off, &os_error);
		else
			r->result = -AKIN_E_short_read;
	}
	return 0;
}

/* 0 or errno. */
static int write_all(int fd, const void *data, size_t n, u64 off)
{
	const u8 *p = data;
	ssize_t put;

	while (n) {
		put = pwrite(fd, p, n, (off_t)off);
		if (put < 0 && errno == EINTR)
			continue;
		/* POSIX leaves a count of zero open; do not spin on it. */
		if (put <= 0)
			return put < 0 ? errno : EIO;
		p += put;
		off += (u64)put;
		n -= (size_t)put;
	}
	return 0;
}

static int files_pwrite(struct file *f, const void *data, size_t n, u64 off,
			struct akin_diag *diag)
{
	int err = write_all(files_fd(f), data, n, off);

	if (!err)
		return 0;
	return diag_set_errno(diag, error_from_errno(err), err,
			      "write of %zu bytes at %llu", n,
			      (unsigned long long)off);
}

static int files_size(struct file *f, u64 *out, struct akin_diag *diag)
{
	struct stat st;

	if (fstat(files_fd(f), &st))
		return failed("fstat", diag);
	*out = (u64)st.st_size;
	return 0;
}

static void mark_resized(struct file *f)
{
	atomic_store(&container_of(f, struct files_file, file)->resized, true);
}

static int files_truncate(struct file *f, u64 size, struct akin_diag *diag)
{
	int ret, err;

	mark_resized(f);
	do {
		ret = ftruncate(files_fd(f), (off_t)size);
	} while (ret && errno == EINTR);
	if (!ret)
		return 0;
	err = errno;
	return diag_set_errno(diag, error_from_errno(err), err,
			      "truncate to %llu bytes",
			      (unsigned long long)size);
}

/* 0 or errno. */
static int write_zeros(int fd, u64 off, u64 end)
{
	u8 *zeros = mem_zalloc(ZERO_BYTES);
	size_t take;
	int err = 0;

	if (!zeros)
		return ENOMEM;
	for (; !err && off < end; off += take) {
		take = (size_t)min_u64(end - off, ZERO_BYTES);
		err = write_all(fd, zeros, take, off);
	}
	mem_free(zeros);
	return err;
}

static int files_reserve(struct file *f, u64 size, struct akin_diag *diag)
{
	int fd = files_fd(f), err;
	u64 old;

	if (size == 0)
		return 0;
	err = files_size(f, &old, diag);
	if (err)
		return err;
	mark_resized(f);
	do {
		err = fallocate(fd, 0, 0, (off_t)size) ? errno : 0;
	} while (err == EINTR);
	if (err == EOPNOTSUPP || err == ENOSYS)
		err = write_zeros(fd, old, size);
	if (!err)
		return 0;
	/* What was allocated before it failed must not stay behind. */
	if (ftruncate(fd, (off_t)old))
		(void)old;	/* the first error is the one to report */
	return diag_set_errno(diag, error_from_errno(err), err,
			      "reserve %llu bytes", (unsigned long long)size);
}

/* Clean pages that nobody has mapped or is reading go. */
static void files_drop_cache(struct file *f)
{
	(void)posix_fadvise(files_fd(f), 0, 0, POSIX_FADV_DONTNEED);
}

/* Without the pages behind them, which reading ahead would guess at. */
static void files_prefetch(struct file *f, u64 off, u64 len)
{
	(void)posix_fadvise(files_fd(f), (off_t)off, (off_t)len,
			    POSIX_FADV_WILLNEED);
}

static int files_sync(struct file *f, struct akin_diag *diag)
{
	struct files_file *ff = container_of(f, struct files_file, file);
	/*
	 * fdatasync() need only bring what later reads need; that a shorter
	 * size is among it is not said anywhere, so then it is fsync().
	 */
	bool full = atomic_exchange(&ff->resized, false);
	int ret;

	do {
		ret = full ? fsync(ff->fd) : fdatasync(ff->fd);
	} while (ret && errno == EINTR);
	return ret ? failed("sync", diag) : 0;
}

static short lock_type(enum disk_lock kind)
{
	switch (kind) {
	case DISK_LOCK_READ:
		return F_RDLCK;
	case DISK_LOCK_WRITE:
		return F_WRLCK;
	case DISK_LOCK_NONE:
		break;
	}
	return F_UNLCK;
}

/* 0 or errno. */
static int lock_call(struct file *f, int cmd, struct flock *fl)
{
	int ret;

	do {
		ret = fcntl(files_fd(f), cmd, fl);
	} while (ret && errno == EINTR);
	return ret ? errno : 0;
}

/* The arguments are checked, so EINVAL is a kernel without OFD locks. */
static int lock_failed(const char *what, int err, u64 off, u64 len,
		       struct akin_diag *diag)
{
	int code = error_from_errno(err);

	if (err == EAGAIN || err == EACCES)
		code = -AKIN_E_busy;
	else if (err == EINVAL || err == EOPNOTSUPP || err == ENOSYS)
		code = -AKIN_E_no_locks;
	if (code == -AKIN_E_no_locks)
		return diag_set_errno(diag, code, err,
				      "the file system has no locks");
	return diag_set_errno(diag, code, err, "%s of %llu bytes at %llu", what,
			      (unsigned long long)len,
			      (unsigned long long)off);
}

static int files_lock(struct file *f, enum disk_lock kind, u64 off, u64 len,
		      struct akin_diag *diag)
{
	struct flock fl = { .l_type = lock_type(kind), .l_whence = SEEK_SET,
			    .l_start = (off_t)off, .l_len = (off_t)len };
	int err = lock_call(f, F_OFD_SETLK, &fl);

	return err ? lock_failed("lock", err, off, len, diag) : 0;
}

static int files_lock_test(struct file *f, enum disk_lock kind, u64 off,
			   u64 len, u64 *off_ret, u64 *len_ret,
			   struct akin_diag *diag)
{
	u64 end = len ? off + len : (u64)INT64_MAX + 1, first, last;
	u64 stop = end;
	struct flock fl;
	int err;

	/*
	 * The kernel reports some conflicting lock, not the lowest: look again
	 * in front of it until there is none.
	 */
	while (stop > off) {
		memset(&fl, 0, sizeof(fl));
		fl.l_type = lock_type(kind);
		fl.l_whence = SEEK_SET;
		fl.l_start = (off_t)off;
		fl.l_len = stop > INT64_MAX ? 0 : (off_t)(stop - off);
		err = lock_call(f, F_OFD_GETLK, &fl);
		if (err)
			return lock_failed("lock test", err, off, len, diag);
		if (fl.l_type == F_UNLCK)
			break;
		first = max_u64((u64)fl.l_start, off);
		last = fl.l_len ? (u64)fl.l_start + (u64)fl.l_len : end;
		*off_ret = first;
		*len_ret = min_u64(last, end) - first;
		stop = first;
	}
	return 0;
}

static int files_close(struct file *f, struct akin_diag *diag)
{
	struct files_file *ff = container_of(f, struct files_file, file);
	int err = 0;

	/* On Linux the descriptor is gone in any case, after EINTR too. */
	if (close(ff->fd) && errno != EINTR)
		err = failed("close", diag);
	mem_free(ff);
	return err;
}

static const struct disk_ops files_ops = {
	.name = "files",
	.open = files_open,
	.open_tmp = files_open_tmp,
	.mkdir = files_mkdir,
	.rename = files_rename,
	.unlink = files_unlink,
	.stat = files_stat,
	.list = files_list,
	.sync_dir = files_sync_dir,
	.space = files_space,
	.shared = files_shared,
	.free = files_free,
	.pread = files_pread,
	.pwrite = files_pwrite,
	.pread_many = files_pread_many,
	.size = files_size,
	.truncate = files_truncate,
	.reserve = files_reserve,
	.sync = files_sync,
	.drop_cache = files_drop_cache,
	.prefetch = files_prefetch,
	.lock = files_lock,
	.lock_test = files_lock_test,
	.close = files_close,
};

int disk_files_new(const char *path, bool writable, struct disk **out,
		   struct akin_diag *diag)
{
	struct files_disk *d = mem_zalloc(sizeof(*d));
	const char *io = getenv("AKIN_IO");
	int err;

	*out = NULL;
	if (!d)
		return diag_set(diag, -AKIN_E_nomem, "%s: out of memory", path);
	d->root_fd = open_retry(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	if (d->root_fd < 0) {
		err = failed(path, diag);
		mem_free(d);
		return err;
	}
	d->disk.ops = &files_ops;
	d->writable = writable;
	/* Without memory for the pool, reads are plain. */
	if (!io || strcmp(io, "plain") != 0)
		d->rings = ring_pool_new();
	*out = &d->disk;
	return 0;
}
