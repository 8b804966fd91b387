/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directory stacks.
 *
 * I1. Level 0 is open as long as the stack lives.
 * I2. Of the others, exactly the levels low .. nr - 1 are open, and they are
 *     at most DIRSTACK_FDS (after a failed leave the deepest may be closed).
 * I3. A descriptor in level i refers to the directory (dev, ino) of level i.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "os/dirstack.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
#define COMPONENT_MAX 255

struct level {
	int fd; /* -1: closed for now */
	u64 dev, ino;
	char *name; /* owned; NULL at the root */
};

struct dirstack {
	struct level *levels;
	size_t nr, cap;
	size_t low; /* I2 */
	int err;
	char *root; /* as given, for messages */
};

/*
 * O_NOATIME is for owners and root only; others read without it. A directory
 * that may be searched but not read can still be passed through.
 */
static int open_dir(int at, const char *name, int extra)
{
	int fd = openat(at, name, DIR_FLAGS | O_NOATIME | extra);

	if (fd < 0 && errno == EPERM)
		fd = openat(at, name, DIR_FLAGS | extra);
	if (fd < 0 && errno == EACCES)
		fd = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC | extra);
	return fd;
}

static int fail_errno(struct dirstack *s, int err)
{
	s->err = err;
	return error_from_errno(err);
}

/* Takes @fd and @name. */
static int push(struct dirstack *s, int fd, char *name)
{
	struct level *l;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(s, errno);
	if (s->nr == s->cap) {
		l = mem_realloc(s->levels, (s->cap * 2 + 16) * sizeof(*l));
		if (!l)
			return fail_errno(s, ENOMEM);
		s->levels = l;
		s->cap = s->cap * 2 + 16;
	}
	l = &s->levels[s->nr++];
	l->fd = fd;
	l->name = name;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

static int step_into(int at, const char *name, bool create)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || !create)
		return fd;
	if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A readable descriptor of @path, or -1 and errno. */
static int open_path(const char *path, bool create)
{
	char name[COMPONENT_MAX + 1];
	int at, fd, err;
	size_t n;

	at = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (at >= 0) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 0)
			break;
		if (n > COMPONENT_MAX) {
			close(at);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, n);
		name[n] = 0;
		path += n;
		fd = step_into(at, name, create);
		err = errno;
		close(at);
		errno = err;
		at = fd;
	}
	if (at < 0)
		return -1;
	fd = open_dir(at, ".", 0);
	err = errno;
	close(at);
	errno = err;
	return fd;
}

int dirstack_open(const char *path, bool create, struct dirstack **out,
		  struct akin_diag *diag)
{
	struct dirstack *s = mem_zalloc(sizeof(*s));
	int fd, err;

	if (!s)
		return diag_set(diag, -AKIN_E_nomem, "%s: out of memory", path);
	s->low = 1;
	s->root = mem_strdup(path);
	if (!s->root) {
		err = diag_set(diag, -AKIN_E_nomem, "%s: out of memory", path);
		goto fail;
	}
	fd = *path ? open_path(path, create) : (errno = ENOENT, -1);
	if (fd < 0) {
		err = diag_set_errno(diag, error_from_errno(errno), errno, "%s",
				     path);
		goto fail;
	}
	err = push(s, fd, NULL);
	if (err) {
		close(fd);
		diag_set_errno(diag, err, s->err, "%s", path);
		goto fail;
	}
	*out = s;
	return 0;
fail:
	dirstack_free(s);
	return err;
}

static void level_release(struct level *l)
{
	if (l->fd >= 0)
		close(l->fd);
	mem_free(l->name);
}

void dirstack_free(struct dirstack *s)
{
	if (!s)
		return;
	while (s->nr)
		level_release(&s->levels[--s->nr]);
	mem_free(s->levels);
	mem_free(s->root);
	mem_free(s);
}

int dirstack_enter(struct dirstack *s, const char *name)
{
	struct level *top = &s->levels[s->nr - 1];
	char *copy;
	int fd, err;

	if (top->fd < 0)
		return fail_errno(s, ESTALE);
	copy = mem_strdup(name);
	if (!copy)
		return fail_errno(s, ENOMEM);
	fd = open_dir(top->fd, name, O_NOFOLLOW);
	if (fd < 0) {
		err = fail_errno(s, errno);
		mem_free(copy);
		return err;
	}
	err = push(s, fd, copy);
	if (err) {
		close(fd);
		mem_free(copy);
		return err;
	}
	if (s->low < s->nr && s->nr - s->low > DIRSTACK_FDS) {
		close(s->levels[s->low].fd);
		s->levels[s->low++].fd = -1;
	}
	return 0;
}

static bool is_level(int fd, const struct level *l)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == l->dev &&
	       st.st_ino == l->ino;
}

/* Level @i again, from the root by names; -1 and errno. */
static int descend(struct dirstack *s, size_t i)
{
	int at = s->levels[0].fd, fd = -1, err;
	size_t k;

	for (k = 1; k <= i; k++) {
		fd = open_dir(at, s->levels[k].name, O_NOFOLLOW);
		err = errno;
		if (at != s->levels[0].fd)
			close(at);
		errno = err;
		if (fd < 0)
			return -1;
		if (!is_level(fd, &s->levels[k])) {
			close(fd);
			errno = ESTALE;
			return -1;
		}
		at = fd;
	}
	return fd;
}

int dirstack_open_parent(struct dirstack *s)
{
	struct level *l;
	int fd = -1;

	akin_assert(s->nr > 1);
	l = &s->levels[s->nr - 2];
	if (l->fd >= 0)
		return 0;
	if (s->levels[s->nr - 1].fd >= 0)
		fd = open_dir(s->levels[s->nr - 1].fd, "..", 0);
	if (fd >= 0 && !is_level(fd, l)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		fd = descend(s, s->nr - 2);
	if (fd < 0)
		return fail_errno(s, errno);
	l->fd = fd;
	s->low = s->nr - 2;
	return 0;
}

int dirstack_leave(struct dirstack *s)
{
	int err = dirstack_open_parent(s);

	level_release(&s->levels[--s->nr]);
	if (s->low > s->nr)
		s->low = s->nr;
	return err;
}

int dirstack_fd(const struct dirstack *s)
{
	return s->levels[s->nr - 1].fd;
}

int dirstack_root_fd(const struct dirstack *s)
{
	return s->levels[0].fd;
}

size_t dirstack_depth(const struct dirstack *s)
{
	return s->nr - 1;
}

const char *dirstack_name(const struct dirstack *s)
{
	return s->nr > 1 ? s->levels[s->nr - 1].name : "";
}

void dirstack_identity(const struct dirstack *s, u64 *dev_ret, u64 *ino_ret)
{
	*dev_ret = s->levels[s->nr - 1].dev;
	*ino_ret = s->levels[s->nr - 1].ino;
}

int dirstack_errno(const struct dirstack *s)
{
	return s->err;
}

static const char *join(const struct dirstack *s, const char *name,
			struct buf *out)
{
	size_t i;

	for (i = 1; i <= s->nr; i++) {
		const char *part = i < s->nr ? s->levels[i].name : name;

		if (!part)
			continue;
		if (out->len && out->data[out->len - 1] != '/')
			buf_put_u8(out, '/');
		buf_put(out, part, strlen(part));
	}
	buf_put_u8(out, 0);
	return buf_error(out) ? "" : (const char *)out->data;
}

const char *dirstack_path(const struct dirstack *s, const char *name,
			  struct buf *out)
{
	buf_reset(out);
	buf_put(out, s->root, strlen(s->root));
	return join(s, name, out);
}

const char *dirstack_relative(const struct dirstack *s, const char *name,
			      struct buf *out)
{
	buf_reset(out);
	return join(s, name, out);
}
