/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All pool I/O goes through here.
 *
 * A `struct disk` is one place that holds files: the metadata or the data
 * directory of a pool today, an object store later, a lying disk in tests. A
 * `struct file` is one open file on it. Names are relative, '/'-separated and
 * made by us; they never come from a user. "." is the top directory.
 *
 * Durability: a file's bytes are durable once file_sync() has returned 0; its
 * name (creation, rename, removal) is durable once disk_sync_dir() on the
 * directory that holds it has returned 0. Nothing else promises anything.
 *
 * A failed write, truncation or reservation may have been done in part: the
 * bytes of the range it named are unknown, all others are as they were. After
 * a failed sync nothing is known about what was written since the last
 * successful one, and a retry that succeeds proves nothing (the kernel may
 * have dropped the pages), so file_sync() keeps failing on that open file.
 *
 * Thread safety: disk_* calls and file_pread/file_pwrite/file_sync may run
 * from many threads at once; the other file_* calls need one caller at a time
 * for each file. A disk must outlive its files, and neither survives fork().
 *
 * Messages: the back end says what failed ("read of 4096 bytes at 8192:
 * Input/output error"), the wrappers put the pool's label and the file's name
 * in front. Counters: the wrappers count operations, bytes, nanoseconds and
 * latencies per kind (disk_io); back ends need not.
 */
#ifndef OS_DISK_H
#define OS_DISK_H

#include <stdatomic.h>

#include "base/counters.h"
#include "base/diag.h"
#include "base/types.h"

struct disk;
struct file;
struct machine;

/* Flags of disk_open(). */
#define DISK_WRITE  0x1	/* read and write; otherwise read only */
#define DISK_CREATE 0x2	/* create it if it is absent (needs DISK_WRITE) */
#define DISK_EXCL   0x4	/* with DISK_CREATE: it must not exist */
#define DISK_TRUNC  0x8	/* cut to zero length */

enum disk_lock {
	DISK_LOCK_NONE,		/* release */
	DISK_LOCK_READ,
	DISK_LOCK_WRITE,
};

struct disk_space {
	u64 total_bytes;
	u64 free_bytes;		/* for an ordinary user */
	bool read_only;		/* nobody can write there */
};

struct disk_stat {
	u64 size_bytes;
	u64 alloc_bytes;	/* what it occupies */
	bool is_dir;
	/* Who may read it, in the bits of POSIX; 0 where nobody tells. */
	u32 mode, gid;
};

/*
 * One read of file_pread_many(). @result: 0 or a negative code, set on return;
 * a short read is -AKIN_E_short_read. disk_read_error() words it.
 */
struct disk_read {
	struct file *file;
	void *data;
	size_t len;
	u64 off;
	int result;
};

/* Called once per name; a non-zero return ends the listing with that code. */
typedef int disk_list_fn(void *ctx, const char *name, bool is_dir);

struct disk_ops {
	const char *name;	/* "files", "sim" */
	/* Only regular files: anything else is -AKIN_E_io. */
	int (*open)(struct disk *d, const char *name, unsigned flags,
		    struct file **out, struct akin_diag *diag);
	/*
	 * A new file without a name in directory @dir, for reading and
	 * writing; gone when it is closed or the process dies.
	 */
	int (*open_tmp)(struct disk *d, const char *dir, struct file **out,
			struct akin_diag *diag);
	/* Existing directories are no error. Parents must exist. */
	int (*mkdir)(struct disk *d, const char *name, struct akin_diag *diag);
	/* Replaces @to atomically. Files only. */
	int (*rename)(struct disk *d, const char *from, const char *to,
		      struct akin_diag *diag);
	/* Files only. Open files live on until they are closed. */
	int (*unlink)(struct disk *d, const char *name, struct akin_diag *diag);
	/* Does not follow a symbolic link. */
	int (*stat)(struct disk *d, const char *name, struct disk_stat *out,
		    struct akin_diag *diag);
	/* Without "." and "..", in no order. @fn may change the directory. */
	int (*list)(struct disk *d, const char *name, disk_list_fn *fn,
		    void *ctx, struct akin_diag *diag);
	int (*sync_dir)(struct disk *d, const char *name,
			struct akin_diag *diag);
	int (*space)(struct disk *d, struct disk_space *out,
		     struct akin_diag *diag);
	/*
	 * Other machines may have the same files open, or nobody can say that
	 * they have not; then *me is which machine this is. NULL: none can.
	 */
	bool (*shared)(struct disk *d, struct machine *me);
	void (*free)(struct disk *d);

	/* Exactly @n bytes; fewer is -AKIN_E_short_read. @n may be 0. */
	int (*pread)(struct file *f, void *data, size_t n, u64 off,
		     struct akin_diag *diag);
	/* Exactly @n bytes; extends the file, a gap reads as zeros. */
	int (*pwrite)(struct file *f, const void *data, size_t n, u64 off,
		      struct akin_diag *diag);
	/* All at once, in any order; each gets a result of its own. Returns
	 * non-zero only if none was tried. */
	int (*pread_many)(struct disk *d, struct disk_read *reads, size_t n,
			  struct akin_diag *diag);
	int (*size)(struct file *f, u64 *out, struct akin_diag *diag);
	int (*truncate)(struct file *f, u64 size, struct akin_diag *diag);
	/*
	 * Allocate space for [0, size) and extend the file to it, zeros; never
	 * shortens. On failure the size is as before. Where the file system
	 * cannot allocate, zeros are written behind the end, and holes before
	 * it stay.
	 */
	int (*reserve)(struct file *f, u64 size, struct akin_diag *diag);
	/* Barrier: earlier writes and the size are durable on return 0. */
	int (*sync)(struct file *f, struct akin_diag *diag);
	/*
	 * Ask that reads come from the device from now on, not from memory, as
	 * far as this machine is concerned; for what is synced. A request, with
	 * no answer. NULL: cannot be asked.
	 */
	void (*drop_cache)(struct file *f);
	/*
	 * These bytes are going to be read soon, and none beside them: begin.
	 * A request, with no answer. NULL: cannot be asked.
	 */
	void (*prefetch)(struct file *f, u64 off, u64 len);
	/*
	 * Lock @len bytes from @off (len 0 = to the end), owned by this open
	 * file, not by the process; dropped when it is closed. Never waits:
	 * -AKIN_E_busy if somebody holds it, -AKIN_E_no_locks if the file
	 * system has none.
	 */
	int (*lock)(struct file *f, enum disk_lock kind, u64 off, u64 len,
		    struct akin_diag *diag);
	/*
	 * Lowest byte range in [off, off + len) locked by others so that @kind
	 * would fail; *len_ret = 0 if there is none. Needs no write access.
	 * The range is cut to what was asked for.
	 */
	int (*lock_test)(struct file *f, enum disk_lock kind, u64 off, u64 len,
			 u64 *off_ret, u64 *len_ret, struct akin_diag *diag);
	/* Frees @f in any case. Does not sync. */
	int (*close)(struct file *f, struct akin_diag *diag);
};

/* Back ends embed these as their first member. */
struct disk {
	const struct disk_ops *ops;
	const char *label;	/* "metadata" or "data", for messages; borrowed,
				 * set by who made the disk, may be NULL */
	bool lockless;		/* set by who made it: where the file system has
				 * no locks, all are granted; nobody else is
				 * there */
	struct counters_disk *count_into;	/* borrowed; NULL: own */
	struct counters_disk own;
};

/* Likewise. The back end sets @disk, disk_open() the rest. */
struct file {
	struct disk *disk;
	char *name;		/* it was opened by; the wrappers' */
	_Atomic int sync_error;	/* of the first failed sync; sticky */
};

/* Bytes of what succeeded; nanoseconds a batch took count once, and every
 * operation of it has the batch's latency. */
static inline struct counters_disk *disk_io(struct disk *d)
{
	return d->count_into ? d->count_into : &d->own;
}
/* Count there from now on, and what was counted so far too. @to outlives @d.
 * Before the disk is shared with other threads. */
void disk_count_into(struct disk *d, struct counters_disk *to);

/* Whether [off, off + n) can exist in any file. */
static inline bool disk_range_ok(u64 off, u64 n)
{
	return off <= INT64_MAX && n <= INT64_MAX - off;
}

/* Wrappers: count, then call the back end. Contracts as in struct disk_ops. */
int disk_open(struct disk *d, const char *name, unsigned flags,
	      struct file **out, struct akin_diag *diag) __must_check;
int disk_tmp_open(struct disk *d, const char *dir, struct file **out,
		  struct akin_diag *diag) __must_check;
int disk_mkdir(struct disk *d, const char *name, struct akin_diag *diag)
	__must_check;
int disk_rename(struct disk *d, const char *from, const char *to,
		struct akin_diag *diag) __must_check;
int disk_unlink(struct disk *d, const char *name, struct akin_diag *diag)
	__must_check;
int disk_stat(struct disk *d, const char *name, struct disk_stat *out,
	      struct akin_diag *diag) __must_check;
int disk_list(struct disk *d, const char *name, disk_list_fn *fn, void *ctx,
	      struct akin_diag *diag) __must_check;
int disk_sync_dir(struct disk *d, const char *name, struct akin_diag *diag)
	__must_check;
int disk_space(struct disk *d, struct disk_space *out, struct akin_diag *diag)
	__must_check;
bool disk_shared(struct disk *d, struct machine *me);
/* NULL is fine. */
void disk_free(struct disk *d);

int file_pread(struct file *f, void *data, size_t n, u64 off,
	       struct akin_diag *diag) __must_check;
int file_pwrite(struct file *f, const void *data, size_t n, u64 off,
		struct akin_diag *diag) __must_check;
int file_pread_many(struct disk *d, struct disk_read *reads, size_t n,
		    struct akin_diag *diag) __must_check;
/* Write the message of a read that failed; returns its result, 0 or not. */
int disk_read_error(const struct disk_read *r, struct akin_diag *diag);
int file_size(struct file *f, u64 *out, struct akin_diag *diag) __must_check;
int file_truncate(struct file *f, u64 size, struct akin_diag *diag)
	__must_check;
int file_reserve(struct file *f, u64 size, struct akin_diag *diag)
	__must_check;
int file_sync(struct file *f, struct akin_diag *diag) __must_check;
void file_drop_cache(struct file *f);
void file_prefetch(struct file *f, u64 off, u64 len);
int file_lock(struct file *f, enum disk_lock kind, u64 off, u64 len,
	      struct akin_diag *diag) __must_check;
int file_lock_test(struct file *f, enum disk_lock kind, u64 off, u64 len,
		   u64 *off_ret, u64 *len_ret, struct akin_diag *diag)
	__must_check;
/* NULL is fine. */
int file_close(struct file *f, struct akin_diag *diag);

/* Convenience, over the calls above. */

/*
 * Whole file into a buffer, with a zero byte behind it that is not counted;
 * more than @max bytes are -AKIN_E_bad_length. Returns owned: mem_free.
 */
int disk_read_file(struct disk *d, const char *name, size_t max, u8 **data_ret,
		   size_t *len_ret, struct akin_diag *diag) __must_check;
/*
 * Write NAME.tmp, sync it, rename it to NAME, sync the directory. On failure
 * NAME is what it was or, if only the last step failed, whole but possibly not
 * durable. One caller at a time for each name.
 */
int disk_write_file(struct disk *d, const char *name, const void *data,
		    size_t n, struct akin_diag *diag) __must_check;

/*
 * The back end for a directory of a file system. @path is opened once; all
 * names are resolved below it. With @writable false nothing is ever opened for
 * writing and reading leaves no access times where that is allowed.
 * AKIN_IO=plain in the environment keeps it from using io_uring.
 */
int disk_files_new(const char *path, bool writable, struct disk **out,
		   struct akin_diag *diag) __must_check;

#endif
