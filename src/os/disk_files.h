/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the two sources of the directory back end; no other module's
 * business.
 */
#ifndef OS_DISK_FILES_H
#define OS_DISK_FILES_H

#include "os/disk.h"

struct files_file {
	struct file file;
	int fd;
	/* The size was set since the last sync: fdatasync() might not do. */
	atomic_bool resized;
};

static inline int files_fd(const struct file *f)
{
	return container_of(f, const struct files_file, file)->fd;
}

/* Read [off, off + n) in a loop. 0 or a code; *os_error is errno or 0. */
int files_read_plain(int fd, void *data, size_t n, u64 off, int *os_error)
	__must_check;

/*
 * A few io_uring rings, made when they are first needed and kept. Thread
 * safe; a call that finds all of them in use is told so and does not wait.
 */
struct ring_pool;

/* NULL without memory: reads are then plain. */
struct ring_pool *ring_pool_new(void);
void ring_pool_free(struct ring_pool *p);
/*
 * Do all @reads and set their results. False if no ring was to be had, with
 * nothing done.
 */
bool ring_pool_read(struct ring_pool *p, struct disk_read *reads, size_t n)
	__must_check;

#endif
