/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing side of shared counters.
 *
 * Space is allocated before the file is mapped: a file system that is full
 * says so then, and not by SIGBUS at some later count. The magic is stored
 * last, so that a reader sees a whole header or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/clock.h"
#include "os/counters_internal.h"

/* Pools that one process has open at a time, and are seen. */
#define MAX_HANDLES 256

struct counters_file {
	struct counters_image *image;	/* mapped */
	char path[COUNTERS_PATH_MAX];	/* "": private memory */
};

/* The directory: made if need be, ours, and nobody else's to write. */
static int open_dir(const char *path)
{
	struct stat st;
	int fd;

	/* That it exists is the usual case; all else shows below. */
	(void)!mkdir(path, 0755);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A file of ours in @dir_fd under a free name; -1: it cannot be made. */
static int create(int dir_fd, struct counters_name *name, char *text)
{
	int fd;

	for (name->handle = 0; name->handle < MAX_HANDLES; name->handle++) {
		counters_name_print(name, text);
		fd = openat(dir_fd, text, O_RDWR | O_CREAT | O_EXCL |
			    O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd >= 0)
			return fd;
		if (faccessat(dir_fd, text, F_OK, AT_SYMLINK_NOFOLLOW))
			return -1;	/* that was not the reason */
	}
	return -1;
}

static void *map_file(int fd)
{
	void *p;

	if (fallocate(fd, 0, 0, COUNTERS_FILE_BYTES))
		return NULL;
	p = mmap(NULL, COUNTERS_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		 fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static bool open_in(struct counters_file *cf, const char *dir,
		    struct counters_name *name)
{
	char text[COUNTERS_NAME_MAX];
	int dir_fd, fd;

	dir_fd = open_dir(dir);
	if (dir_fd < 0)
		return false;
	fd = create(dir_fd, name, text);
	if (fd >= 0) {
		cf->image = map_file(fd);
		if (!cf->image)
			(void)unlinkat(dir_fd, text, 0);
		close(fd);
	}
	close(dir_fd);
	if (!cf->image)
		return false;
	/* Both lengths are bounded: see counters_internal.h. */
	snprintf(cf->path, sizeof(cf->path), "%s/%s", dir, text);
	return true;
}

/* The first of the user's directories that works. */
static void open_shared(struct counters_file *cf, struct counters_name *name)
{
	const char *env = counters_dir_given(), *xdg = getenv("XDG_RUNTIME_DIR");
	char dir[COUNTERS_DIR_MAX];
	bool done = false;

	if (env) {
		open_in(cf, env, name);
		return;
	}
	if (geteuid() == 0)
		done = open_in(cf, COUNTERS_RUN_DIR, name);
	else if (xdg && counters_dir_below(xdg, "akin", dir))
		done = open_in(cf, dir, name);
	if (!done) {
		snprintf(dir, sizeof(dir), COUNTERS_SHM_DIR "/akin-%u",
			 (unsigned)geteuid());
		open_in(cf, dir, name);
	}
}

static void fill_header(struct counters_image *image,
			const struct counters_name *name, const u8 *pool)
{
	struct counters_header *h = &image->header;
	u32 nsec;

	h->version = COUNTERS_VERSION;
	h->nr_values = AKIN_NR_COUNTER_VALUES;
	h->layout = counters_layout();
	memcpy(h->pool, pool, sizeof(h->pool));
	h->name = *name;
	clock_wall(&h->opened_sec, &nsec);
	snprintf(h->command, sizeof(h->command), "%s",
		 program_invocation_short_name);
	atomic_store_explicit(&h->magic, COUNTERS_MAGIC, memory_order_release);
}

int counters_file_open(const u8 pool[COUNTERS_POOL_BYTES],
		       struct counters_file **out, struct akin_diag *diag)
{
	struct counters_name name = { 0 };
	struct counters_file *cf = mem_zalloc(sizeof(*cf));
	void *p;

	if (!cf)
		return diag_set(diag, -AKIN_E_nomem, "counters");
	if (counters_name_self(&name))
		open_shared(cf, &name);
	if (!cf->image) {
		p = mmap(NULL, COUNTERS_FILE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED) {
			mem_free(cf);
			return diag_set(diag, -AKIN_E_nomem, "counters");
		}
		cf->image = p;
	}
	fill_header(cf->image, &name, pool);
	*out = cf;
	return 0;
}

struct counters *counters_file_counters(struct counters_file *cf)
{
	return &cf->image->counters;
}

const char *counters_file_path(const struct counters_file *cf)
{
	return cf->path[0] ? cf->path : NULL;
}

void counters_file_close(struct counters_file *cf)
{
	if (!cf)
		return;
	/* If it stays, it is known by its process and removed later. */
	if (cf->path[0])
		(void)unlink(cf->path);
	(void)munmap(cf->image, COUNTERS_FILE_BYTES);
	mem_free(cf);
}
