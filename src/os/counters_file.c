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

/*
 * The directory: made if need be, ours, and nobody else's to write. What may be
 * read is for the files in it to say, whatever our umask is; one that somebody
 * else made for us stays as it is.
 */
static int open_dir(const char *path)
{
	bool made = mkdir(path, 0755) == 0;
	struct stat st;
	int fd;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
		/* Without, others see less. */
		if (made)
			(void)!fchmod(fd, 0755);
		return fd;
	}
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
			    O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (faccessat(dir_fd, text, F_OK, AT_SYMLINK_NOFOLLOW))
			return -1;	/* that was not the reason */
	}
	return -1;
}

/* Open it to those who may read the pool; without, they see less. */
static void let_read(int fd, const struct counters_readers *r)
{
	mode_t mode = 0600;

	if (r->group && (r->gid == getegid() ||
			 fchown(fd, (uid_t)-1, (gid_t)r->gid) == 0))
		mode |= S_IRGRP;
	if (r->others)
		mode |= S_IROTH;
	(void)!fchmod(fd, mode);
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
		    const struct counters_readers *readers,
		    struct counters_name *name)
{
	char text[COUNTERS_NAME_MAX];
	int dir_fd, fd;

	dir_fd = open_dir(dir);
	if (dir_fd < 0)
		return false;
	counters_reap(dir_fd);
	fd = create(dir_fd, name, text);
	if (fd >= 0) {
		cf->image = map_file(fd);
		if (cf->image)
			let_read(fd, readers);
		else
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
static void open_shared(struct counters_file *cf,
			const struct counters_readers *readers,
			struct counters_name *name)
{
	const char *env = counters_dir_given(), *xdg = getenv("XDG_RUNTIME_DIR");
	char dir[COUNTERS_DIR_MAX];
	bool done = false;

	if (env) {
		open_in(cf, env, readers, name);
		return;
	}
	if (geteuid() == 0)
		done = open_in(cf, COUNTERS_RUN_DIR, readers, name);
	else if (xdg && !readers->group && !readers->others &&
		 counters_dir_below(xdg, "akin", dir))
		done = open_in(cf, dir, readers, name);
	if (!done) {
		snprintf(dir, sizeof(dir), COUNTERS_SHM_DIR "/akin-%u",
			 (unsigned)geteuid());
		open_in(cf, dir, readers, name);
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
	/* Nobody else can tell when the process is gone. */
	if (counters_proc_read((u32)getpid(), "cmdline", h->command,
			       sizeof(h->command)) <= 0)
		snprintf(h->command, sizeof(h->command), "%s",
			 program_invocation_short_name);
	atomic_store_explicit(&h->magic, COUNTERS_MAGIC, memory_order_release);
}

int counters_file_open(const u8 pool[COUNTERS_POOL_BYTES],
		       const struct counters_readers *readers,
		       struct counters_file **out, struct akin_diag *diag)
{
	struct counters_name name = { 0 };
	struct counters_file *cf = mem_zalloc(sizeof(*cf));
	void *p;

	if (!cf)
		return diag_set(diag, -AKIN_E_nomem, "counters");
	if (counters_name_self(&name))
		open_shared(cf, readers, &name);
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

struct counters_streams *counters_file_streams(struct counters_file *cf)
{
	return &cf->image->streams;
}

const char *counters_file_path(const struct counters_file *cf)
{
	return cf->path[0] ? cf->path : NULL;
}

void counters_file_close(struct counters_file *cf)
{
	if (!cf)
		return;
	atomic_store_explicit(&cf->image->header.closed_ns, clock_ns(),
			      memory_order_release);
	(void)munmap(cf->image, COUNTERS_FILE_BYTES);
	mem_free(cf);
}
