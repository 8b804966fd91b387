/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study in a file system. What is written is synced, file by file and their
 * directory, so that it is as safe as a transaction; copies are not, as cp does
 * it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure_files.h"

#define SMALL_PER_DIR 100
#define PATH_BYTES 4352

static int failed(const char *path, struct akin_diag *diag)
{
	return measure_fail(diag, -AKIN_E_io, "%s: %s", path, strerror(errno));
}

/* DIR/@top/sub-N/ses-N, made if need be. */
static int make_dir(struct files_place *p, const char *top, struct files_dir d,
		    char out[PATH_BYTES], struct akin_diag *diag)
{
	char path[FILES_NAME];

	snprintf(out, PATH_BYTES, "%s/%s", p->pool.dir, top);
	if (mkdir(out, 0777) && errno != EEXIST)
		return failed(out, diag);
	snprintf(out, PATH_BYTES, "%s/%s/sub-%02u", p->pool.dir, top,
		 d.subject + 1);
	if (mkdir(out, 0777) && errno != EEXIST)
		return failed(out, diag);
	files_path(d, path);
	snprintf(out, PATH_BYTES, "%s/%s/%s", p->pool.dir, top, path);
	if (mkdir(out, 0777) && errno != EEXIST)
		return failed(out, diag);
	return 0;
}

static int write_file(const char *path, const unsigned char *data, size_t n,
		      bool sync, struct akin_diag *diag)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bool ok;

	if (fd < 0)
		return failed(path, diag);
	ok = write(fd, data, n) == (ssize_t)n && (!sync || fsync(fd) == 0);
	if (close(fd) || !ok)
		return failed(path, diag);
	return 0;
}

static int sync_dir(const char *path, struct akin_diag *diag)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (fd < 0 || fsync(fd))
		err = failed(path, diag);
	if (fd >= 0)
		close(fd);
	return err;
}

static void sync_all(struct files_place *p)
{
	int fd = open(p->pool.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* What is not written yet would disturb; no more depends on it. */
	if (syncfs(fd))
		sync();
	close(fd);
}

static int plain_fill(struct files_place *p, uint64_t *stored_ret,
		      struct akin_diag *diag)
{
	char dir[PATH_BYTES], path[PATH_BYTES + FILES_NAME], name[FILES_NAME];
	struct files_dir d;
	uint32_t k, i;
	int err = 0;

	for (k = 0; !err && k < FILES_SUBJECTS * FILES_SESSIONS; k++) {
		d.subject = k / FILES_SESSIONS;
		d.session = k % FILES_SESSIONS;
		err = make_dir(p, "study", d, dir, diag);
		for (i = 0; !err && i < p->nr_dir; i++) {
			files_name(i, name);
			snprintf(path, sizeof(path), "%s/%s", dir, name);
			files_content(p, d, i, p->buf);
			err = write_file(path, p->buf, p->bytes, false, diag);
		}
	}
	sync_all(p);
	*stored_ret = (uint64_t)p->nr_dir * FILES_SUBJECTS * FILES_SESSIONS *
		      p->bytes;
	return err;
}

static int plain_add_small(struct files_place *p, uint64_t first, uint64_t nr,
			   struct akin_diag *diag)
{
	char dir[PATH_BYTES], path[PATH_BYTES + FILES_NAME];
	unsigned char data[FILES_SMALL];
	uint64_t end = first + nr;
	int err = 0;

	for (; !err && first < end; first++) {
		snprintf(dir, sizeof(dir), "%s/small-%06llu", p->pool.dir,
			 (unsigned long long)first / SMALL_PER_DIR);
		if (mkdir(dir, 0777) && errno != EEXIST)
			return failed(dir, diag);
		snprintf(path, sizeof(path), "%s/f%08llu", dir,
			 (unsigned long long)first);
		files_small(first, data);
		err = write_file(path, data, sizeof(data), false, diag);
	}
	sync_all(p);
	return err;
}

static int plain_forget(struct files_place *p, struct akin_diag *diag)
{
	measure_cold(p->pool.dir);
	return 0;
}

static int plain_list(struct files_place *p, struct files_dir d,
		      uint32_t *nr_ret, struct akin_diag *diag)
{
	char dir[PATH_BYTES];
	struct dirent *e;
	struct stat st;
	DIR *handle;
	int err;

	*nr_ret = 0;
	err = make_dir(p, "study", d, dir, diag);
	if (err)
		return err;
	handle = opendir(dir);
	if (!handle)
		return failed(dir, diag);
	while ((e = readdir(handle))) {
		if (e->d_name[0] == '.')
			continue;
		if (fstatat(dirfd(handle), e->d_name, &st, 0))
			err = failed(e->d_name, diag);
		++*nr_ret;
	}
	closedir(handle);
	return err;
}

static int read_one(struct files_place *p, struct files_dir d, uint32_t file,
		    unsigned char *buf, struct akin_diag *diag)
{
	char path[PATH_BYTES], name[FILES_NAME], dir[FILES_NAME];
	int fd, err = 0;

	files_path(d, dir);
	files_name(file, name);
	snprintf(path, sizeof(path), "%s/study/%s/%s", p->pool.dir, dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return failed(path, diag);
	if (read(fd, buf, p->bytes) != (ssize_t)p->bytes)
		err = failed(path, diag);
	close(fd);
	return err;
}

static int plain_read(struct files_place *p, struct files_dir d,
		      struct akin_diag *diag)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < FILES_BATCH; i++)
		err = read_one(p, d, i, p->buf, diag);
	return err;
}

static int plain_write(struct files_place *p, struct files_dir d, uint32_t nr,
		       struct akin_diag *diag)
{
	char dir[PATH_BYTES], path[PATH_BYTES + FILES_NAME];
	uint32_t i;
	int err;

	err = make_dir(p, "results", d, dir, diag);
	for (i = 0; !err && i < FILES_BATCH; i++) {
		snprintf(path, sizeof(path), "%s/r%06u-%02u.nii", dir, nr, i);
		err = write_file(path, p->batch + i * p->bytes, p->bytes, true,
				 diag);
	}
	return err ? err : sync_dir(dir, diag);
}

static int plain_copier_open(struct files_place *p, uint32_t copier,
			     struct akin_diag *diag)
{
	return 0;
}

static void plain_copier_close(struct files_place *p, uint32_t copier)
{
}

static int plain_copy(struct files_place *p, struct files_dir d,
		      uint32_t copier, uint32_t nr, struct akin_diag *diag)
{
	char top[FILES_NAME], dir[PATH_BYTES], path[PATH_BYTES + FILES_NAME];
	unsigned char *buf = malloc(p->bytes);
	uint32_t i;
	int err;

	if (!buf)
		return measure_fail(diag, -AKIN_E_nomem, "a copy");
	snprintf(top, sizeof(top), "copy-%u", copier);
	err = make_dir(p, top, d, dir, diag);
	for (i = 0; !err && i < FILES_BATCH; i++) {
		err = read_one(p, d, i, buf, diag);
		snprintf(path, sizeof(path), "%s/r%06u-%02u.nii", dir, nr, i);
		if (!err)
			err = write_file(path, buf, p->bytes, false, diag);
	}
	free(buf);
	return err;
}

static void plain_close(struct files_place *p)
{
	measure_dir_remove(p->pool.dir);
	p->pool.dir = NULL;
	files_release(p);
}

static const struct files_ops plain_ops = {
	.fill = plain_fill, .add_small = plain_add_small,
	.forget = plain_forget, .list = plain_list, .read = plain_read,
	.write = plain_write, .copy = plain_copy,
	.copier_open = plain_copier_open, .copier_close = plain_copier_close,
	.close = plain_close,
};

int files_open_plain(struct files_place *p, const struct measure_options *opt,
		     struct akin_diag *diag)
{
	int err;

	err = files_prepare(p, opt, diag);
	p->ops = &plain_ops;
	return err ? err : measure_dir_new(opt, &p->pool.dir, diag);
}
