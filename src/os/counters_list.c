/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side of shared counters: every directory where some user's may
 * be, and what stands in counters_file.h about believing.
 *
 * All of it may be another user's trap: directories with endless names, FIFOs,
 * links, files that are cut while they are read. So names looked at are
 * bounded, nothing is followed or waited for, and nothing is mapped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/counters_internal.h"

/* Names looked at in one directory; far more than processes can have. */
#define MAX_NAMES 65536
/* The same when a pool is opened: that must not take long. */
#define REAP_NAMES 64

struct list {
	struct counters_name self;
	u64 now_ns;
	int (*fn)(void *ctx, const struct counters_seen *seen);
	void *ctx;
	struct counters_seen seen;
};

typedef int name_fn(struct list *l, int dir_fd, const struct stat *dir,
		    const char *name);

static int each_name(struct list *l, const char *path, name_fn *fn)
{
	struct dirent *e;
	struct stat st;
	int fd, err = 0;
	u32 nr = 0;
	DIR *d;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	d = fstat(fd, &st) ? NULL : fdopendir(fd);
	if (!d) {
		close(fd);
		return 0;
	}
	while (!err && nr++ < MAX_NAMES && (e = readdir(d)))
		err = fn(l, fd, &st, e->d_name);
	closedir(d);
	return err;
}

/* All of a file of the right kind and size. */
static bool read_image(int dir_fd, const struct stat *dir, const char *name,
		       u8 *out)
{
	size_t len = 0;
	struct stat st;
	ssize_t n;
	int fd;

	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == dir->st_uid && st.st_size == COUNTERS_FILE_BYTES) {
		while (len < COUNTERS_FILE_BYTES) {
			n = pread(fd, out + len, COUNTERS_FILE_BYTES - len,
				  (off_t)len);
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				break;
			len += (size_t)n;
		}
	}
	close(fd);
	return len == COUNTERS_FILE_BYTES;
}

/* @len bytes, zeros in between, end as one line without control characters. */
static void clean_line(char *s, size_t len)
{
	size_t i;

	while (len && !s[len - 1])
		len--;
	for (i = 0; i < len; i++) {
		if ((u8)s[i] < 0x20 || s[i] == 0x7f)
			s[i] = ' ';
	}
	s[len] = 0;
}

static void fill_command(const struct counters_header *h,
			 struct counters_seen *out)
{
	long n;

	/* The kernel knows better, where it tells. */
	n = counters_proc_read(h->name.pid, "cmdline", out->command,
			       sizeof(out->command));
	clean_line(out->command, n > 0 ? (size_t)n : 0);
	if (out->command[0])
		return;
	static_assert(sizeof(out->command) > sizeof(h->command),
		      "with a zero behind it");
	memcpy(out->command, h->command, sizeof(h->command));
	clean_line(out->command, sizeof(h->command));
}

static int by_id(const void *a, const void *b)
{
	const struct akin_counters_stream *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* A slot may be changing while it is read: its numbers are somebody's, and its
 * name one line in any case. */
static void fill_streams(const u8 *bytes, struct counters_seen *out)
{
	struct counters_streams s;
	const struct counters_stream *from;
	struct akin_counters_stream *to;
	u32 i;

	memcpy(&s, bytes + offsetof(struct counters_image, streams), sizeof(s));
	out->nr_streams = 0;
	for (i = 0; i < COUNTERS_STREAMS; i++) {
		from = &s.slots[i];
		if (!from->id || from->id > s.last ||
		    (from->kind != AKIN_STREAM_IN &&
		     from->kind != AKIN_STREAM_OUT))
			continue;
		to = &out->streams[out->nr_streams++];
		to->id = from->id;
		to->kind = (enum akin_stream_kind)from->kind;
		to->begun_ns = from->begun_ns;
		to->bytes = from->bytes;
		to->bytes_new = from->bytes_new;
		to->items = from->items;
		memcpy(to->name, from->name, sizeof(to->name));
		clean_line(to->name, strnlen(to->name,
					     sizeof(to->name) - 1));
	}
	qsort(out->streams, out->nr_streams, sizeof(out->streams[0]), by_id);
}

static bool believe(const u8 *bytes, const struct counters_name *name, u32 uid,
		    struct counters_seen *out)
{
	struct counters_header h;

	memcpy(&h, bytes + offsetof(struct counters_image, header), sizeof(h));
	if (h.magic != COUNTERS_MAGIC || h.version != COUNTERS_VERSION ||
	    h.nr_values != AKIN_NR_COUNTER_VALUES ||
	    h.layout != counters_layout() ||
	    memcmp(&h.name, name, sizeof(*name)))
		return false;
	memcpy(out->pool, h.pool, sizeof(out->pool));
	out->pid = name->pid;
	out->handle = name->handle;
	out->uid = uid;
	out->opened_sec = h.opened_sec;
	out->closed = h.closed_ns != 0;
	fill_command(&h, out);
	memcpy(out->values, bytes + offsetof(struct counters_image, counters),
	       sizeof(out->values));
	fill_streams(bytes, out);
	return true;
}

static u64 closed_of(const u8 *bytes)
{
	struct counters_header h;

	memcpy(&h, bytes + offsetof(struct counters_image, header), sizeof(h));
	return h.magic == COUNTERS_MAGIC && h.version == COUNTERS_VERSION ?
		       h.closed_ns : 0;
}

static int visit_file(struct list *l, int dir_fd, const struct stat *dir,
		      const char *text)
{
	u8 bytes[COUNTERS_FILE_BYTES];
	struct counters_name name;
	enum counters_life life;
	u32 uid = dir->st_uid;
	bool good, over;

	if (!counters_name_parse(text, &name) ||
	    name.namespace != l->self.namespace)
		return 0;
	life = counters_name_life(&name, &uid);
	good = uid == dir->st_uid && read_image(dir_fd, dir, text, bytes) &&
	       believe(bytes, &name, uid, &l->seen);
	over = good && counters_expired(closed_of(bytes), l->now_ns);
	if ((over || (life == COUNTERS_GONE && !(good && l->seen.closed))) &&
	    (geteuid() == 0 || dir->st_uid == geteuid()))
		/* Somebody else may have done so already. */
		(void)unlinkat(dir_fd, text, 0);
	if (!good || over || (life != COUNTERS_ALIVE && !l->seen.closed))
		return 0;
	return l->fn(l->ctx, &l->seen);
}

void counters_reap(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	u8 bytes[COUNTERS_FILE_BYTES];
	u64 now_ns = clock_ns();
	struct counters_name n;
	struct dirent *e;
	struct stat st;
	u32 nr = 0;
	DIR *d;

	if (fd < 0)
		return;
	d = fstat(fd, &st) ? NULL : fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	while (nr++ < REAP_NAMES && (e = readdir(d))) {
		if (counters_name_parse(e->d_name, &n) &&
		    read_image(dir_fd, &st, e->d_name, bytes) &&
		    counters_expired(closed_of(bytes), now_ns))
			(void)unlinkat(dir_fd, e->d_name, 0);
	}
	closedir(d);
}

/* /run/user/UID */
static int visit_user(struct list *l, int dir_fd, const struct stat *dir,
		      const char *name)
{
	char path[COUNTERS_DIR_MAX];

	if (name[0] < '0' || name[0] > '9' ||
	    snprintf(path, sizeof(path), COUNTERS_USERS_DIR "/%s/akin", name) >=
		    (int)sizeof(path))
		return 0;
	return each_name(l, path, visit_file);
}

/* /dev/shm/akin-UID */
static int visit_shm(struct list *l, int dir_fd, const struct stat *dir,
		     const char *name)
{
	char path[COUNTERS_DIR_MAX];

	if (strncmp(name, "akin-", 5) ||
	    !counters_dir_below(COUNTERS_SHM_DIR, name, path))
		return 0;
	return each_name(l, path, visit_file);
}

static int each_xdg(struct list *l)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	char path[COUNTERS_DIR_MAX];
	size_t n = strlen(COUNTERS_USERS_DIR);

	/* The usual place is visited with all others of its kind. */
	if (!xdg || (strncmp(xdg, COUNTERS_USERS_DIR, n) == 0 && xdg[n] == '/') ||
	    !counters_dir_below(xdg, "akin", path))
		return 0;
	return each_name(l, path, visit_file);
}

int counters_file_each(int (*fn)(void *ctx, const struct counters_seen *seen),
		       void *ctx)
{
	const char *env = counters_dir_given();
	struct list l = { .fn = fn, .ctx = ctx, .now_ns = clock_ns() };
	int err;

	/* Who cannot tell the living from the dead leaves both alone. */
	if (!counters_name_self(&l.self))
		return 0;
	if (env)
		return each_name(&l, env, visit_file);
	err = each_name(&l, COUNTERS_RUN_DIR, visit_file);
	if (!err)
		err = each_xdg(&l);
	if (!err)
		err = each_name(&l, COUNTERS_USERS_DIR, visit_user);
	if (!err)
		err = each_name(&l, COUNTERS_SHM_DIR, visit_shm);
	return err;
}
