/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of a live file, as pieces of data and holes.
 *
 * The size when the file was opened is a promise in one direction: what grows
 * behind it is left for the next backup, what shrinks below it ends the file
 * early. Both, and any other sign of writing, flag the node.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "source/source_internal.h"

/* Smaller files are read in one piece; the hint would cost a call. */
#define READAHEAD_MIN (1 * MiB)
/* How often a name that keeps changing is looked at again. */
#define OPEN_TRIES 3

struct source_file {
	int fd;
	bool regular;
	bool stream; /* FIFO, character device: no size, no seek */
	bool maybe_sparse;
	bool failed;
	bool cut;   /* ended before the size promised */
	bool heard; /* a FIFO: somebody wrote or writes */
	u32 timeout_ms;
	u64 size;	/* promised; streams: UINT64_MAX */
	u64 pos;	/* delivered */
	u64 data_end;	/* [pos, data_end) is known to be data */
	struct stat st; /* when opened */
	char path[];
};

/* O_NONBLOCK: a FIFO that took the file's place must not hold us up. */
static int open_name(int at, const char *name, bool regular)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = openat(at, name, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(at, name, flags);
	/* Somebody holds a lease: only a blocking open waits for its end. */
	if (fd < 0 && errno == EWOULDBLOCK && regular)
		fd = openat(at, name, flags & ~O_NONBLOCK);
	return fd;
}

static bool same_type(const struct node *n, mode_t mode)
{
	switch (n->type) {
	case NODE_FILE:
		return S_ISREG(mode);
	case NODE_FIFO:
		return S_ISFIFO(mode);
	case NODE_CHARDEV:
		return S_ISCHR(mode);
	case NODE_BLOCKDEV:
		return S_ISBLK(mode);
	default:
		return false;
	}
}

static bool same_times(const struct stat *st, s64 mtime_sec, u32 mtime_nsec,
		       s64 ctime_sec, u32 ctime_nsec)
{
	return st->st_mtim.tv_sec == mtime_sec &&
	       st->st_mtim.tv_nsec == mtime_nsec &&
	       st->st_ctim.tv_sec == ctime_sec &&
	       st->st_ctim.tv_nsec == ctime_nsec;
}

static bool same_object(const struct node *n, const struct stat *st)
{
	return same_type(n, st->st_mode) && st->st_dev == n->dev &&
	       st->st_ino == n->ino;
}

static bool unchanged(const struct node *n, const struct stat *st)
{
	return n->type != NODE_FILE ||
	       ((u64)st->st_size == n->size &&
		same_times(st, n->mtime_sec, n->mtime_nsec, n->ctime_sec,
			   n->ctime_nsec));
}

static int stat_again(struct source_walk *w, const char *name, struct node *n,
		      struct akin_diag *diag)
{
	struct node fresh;
	u8 type = n->type;
	int err = source_stat(w, name, true, &fresh, diag);
	const char *path;

	if (err)
		return err;
	source_node_release(n);
	*n = fresh;
	if (n->type == type)
		return 0;
	path = source_walk_path(w, name);
	return diag_set(diag, -AKIN_E_source_changed,
			"%s: replaced by a file of another type",
			source_path_tail(path));
}

/*
 * A descriptor of what @n describes, and its stat. A file under constant
 * change is taken as it is after a few looks, and flagged.
 */
static int open_described(struct source_walk *w, const char *name,
			  struct node *n, struct stat *st, int *fd_ret,
			  struct akin_diag *diag)
{
	int tries, fd, err;

	for (tries = 1;; tries++) {
		fd = open_name(dirstack_fd(w->stack), name,
			       n->type == NODE_FILE);
		err = fd < 0 ? errno : 0;
		if (fd >= 0 && fstat(fd, st) < 0)
			err = errno;
		if (!err && same_object(n, st)) {
			if (!unchanged(n, st) && tries >= OPEN_TRIES) {
				n->size = (u64)st->st_size;
				n->flags |= NODE_CHANGED;
				break;
			}
			if (unchanged(n, st))
				break;
		}
		if (fd >= 0)
			close(fd);
		/* A symlink or a socket may be there now: look again. */
		if ((err && err != ELOOP && err != ENXIO) || tries > OPEN_TRIES)
			return source_fail(source_walk_path(w, name),
					   err ? err : ELOOP, diag);
		err = stat_again(w, name, n, diag);
		if (err)
			return err;
	}
	*fd_ret = fd;
	return 0;
}

static void file_init(struct source_file *f, const struct node *n, int fd,
		      const struct stat *st, u32 timeout_ms)
{
	u64 bytes;

	f->fd = fd;
	f->st = *st;
	f->regular = S_ISREG(st->st_mode);
	f->stream = S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode);
	f->heard = !S_ISFIFO(st->st_mode);
	f->timeout_ms = timeout_ms;
	f->size = f->stream ? UINT64_MAX : n->size;
	if (S_ISBLK(st->st_mode))
		f->size = ioctl(fd, BLKGETSIZE64, &bytes) == 0 ? bytes : 0;
	f->maybe_sparse = f->regular && (u64)st->st_blocks * 512 < f->size;
	if (!f->maybe_sparse)
		f->data_end = f->size;
	/* Only a hint. */
	if (!f->stream && f->size >= READAHEAD_MIN)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

int source_file_open(struct source_walk *w, const char *name, struct node *n,
		     struct source_file **out, struct akin_diag *diag)
{
	struct source_file *f;
	struct stat st;
	const char *path;
	int fd = -1, err;

	if (n->type != NODE_FILE &&
	    !(w->opt.read_special &&
	      (n->type == NODE_FIFO || n->type == NODE_CHARDEV ||
	       n->type == NODE_BLOCKDEV)))
		return diag_set(diag, -AKIN_E_usage,
				"%s: specials are not opened",
				source_path_tail(source_walk_path(w, name)));
	err = open_described(w, name, n, &st, &fd, diag);
	if (err)
		return err;
	path = source_path_tail(source_walk_path(w, name));
	f = mem_zalloc(sizeof(*f) + strlen(path) + 1);
	if (!f) {
		close(fd);
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	}
	memcpy(f->path, path, strlen(path) + 1);
	file_init(f, n, fd, &st, w->opt.special_timeout_ms);
	*out = f;
	return 0;
}

static int file_fail(struct source_file *f, int err, struct akin_diag *diag)
{
	f->failed = true;
	return diag_set_errno(diag, source_code(err), err, "%s: at offset %llu",
			      f->path, (unsigned long long)f->pos);
}

/* The file ends at f->pos: earlier than it promised. */
static int file_cut(struct source_file *f)
{
	f->cut = f->regular && f->pos < f->size;
	f->size = f->pos;
	return 0;
}

/* 1 if there is something to read (or the end), or an error. */
static int wait_readable(struct source_file *f, struct akin_diag *diag)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	int n = poll(&p, 1, f->heard ? -1 : (int)f->timeout_ms);

	if (n < 0)
		return file_fail(f, errno, diag);
	if (n == 0) {
		f->failed = true;
		return diag_set(diag, -AKIN_E_source_read,
				"%s: nobody writes this FIFO", f->path);
	}
	f->heard = true;
	return 1;
}

static int read_stream(struct source_file *f, void *buf, size_t cap,
		       struct source_piece *out, struct akin_diag *diag)
{
	ssize_t n;
	int rc;

	if (f->pos == f->size)
		return 0;
	do {
		rc = wait_readable(f, diag);
		if (rc < 0)
			return rc;
		n = read(f->fd, buf, cap);
	} while (n < 0 && errno == EAGAIN);
	if (n < 0)
		return file_fail(f, errno, diag);
	if (n == 0)
		return file_cut(f);
	*out = (struct source_piece){SOURCE_DATA, f->pos, (u64)n};
	f->pos += (u64)n;
	return 1;
}

/*
 * At f->pos nothing is known: ask where data begins. Sets data_end, or returns
 * 1 with a hole. SEEK_DATA fails with ENXIO both in a last hole and behind the
 * end of a file that shrank, so the size decides.
 */
static int find_extent(struct source_file *f, struct source_piece *out)
{
	off_t data = lseek(f->fd, (off_t)f->pos, SEEK_DATA), end;
	struct stat st;
	u64 stop;

	if (data < 0 && errno == ENXIO) {
		if (fstat(f->fd, &st) < 0 || (u64)st.st_size <= f->pos)
			return file_cut(f);
		stop = min_u64(f->size, (u64)st.st_size);
	} else if (data < 0) {
		f->data_end = f->size;
		return 0;
	} else {
		stop = min_u64(f->size, (u64)data);
	}
	if (stop > f->pos) {
		*out = (struct source_piece){SOURCE_HOLE, f->pos,
					     stop - f->pos};
		f->pos = stop;
		return 1;
	}
	end = lseek(f->fd, data, SEEK_HOLE);
	/* An extent that went away meanwhile reads as zeros: still right. */
	f->data_end = end > data ? min_u64(f->size, (u64)end) : f->size;
	return 0;
}

int source_file_read(struct source_file *f, void *buf, size_t cap,
		     struct source_piece *out, struct akin_diag *diag)
{
	ssize_t n;

	if (f->stream)
		return read_stream(f, buf, cap, out, diag);
	while (f->pos < f->size && f->pos >= f->data_end) {
		if (find_extent(f, out))
			return 1;
	}
	if (f->pos >= f->size)
		return 0;
	do {
		n = pread(f->fd, buf, min_u64(cap, f->data_end - f->pos),
			  (off_t)f->pos);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return file_fail(f, errno, diag);
	if (n == 0)
		return file_cut(f);
	*out = (struct source_piece){SOURCE_DATA, f->pos, (u64)n};
	f->pos += (u64)n;
	return 1;
}

int source_file_finish(struct source_file *f, struct node *n,
		       struct akin_diag *diag)
{
	struct stat st;

	n->size = f->pos;
	if (f->failed)
		n->flags |= NODE_UNREADABLE;
	if (!f->regular) {
		n->type = NODE_FILE;
		n->rdev = 0;
		return 0;
	}
	if (fstat(f->fd, &st) < 0)
		return file_fail(f, errno, diag);
	if (f->cut || st.st_size != f->st.st_size ||
	    !same_times(&st, f->st.st_mtim.tv_sec, (u32)f->st.st_mtim.tv_nsec,
			f->st.st_ctim.tv_sec, (u32)f->st.st_ctim.tv_nsec))
		n->flags |= NODE_CHANGED;
	return 0;
}

void source_file_close(struct source_file *f)
{
	if (!f)
		return;
	close(f->fd);
	mem_free(f);
}
