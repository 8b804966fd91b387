/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrappers around a disk's operations: they count, they time, and they put
 * the pool's label and the file's name in front of the back end's message.
 *
 * A diagnostic that holds an earlier error when a call begins is left alone,
 * so each wrapper notes that first (struct call).
 */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/disk.h"

struct call {
	struct disk *disk;
	struct counters_io *counter;
	struct akin_diag *diag;		/* NULL if it is not ours to write */
	u64 start_ns;
};

static struct call call_begin(struct disk *d, struct counters_io *counter,
			      struct akin_diag *diag)
{
	struct call c = { d, counter, NULL, clock_ns() };

	if (diag && diag->code == 0)
		c.diag = diag;
	return c;
}

static void call_count(const struct call *c, u64 ops, u64 bytes)
{
	counters_io_add(c->counter, ops, bytes, clock_ns() - c->start_ns);
}

/* Name the object in the message, and make one if the back end did not. */
static void diag_name(struct akin_diag *diag, const struct disk *d,
		      const char *name, int err)
{
	if (!diag || err == 0)
		return;
	(void)diag_set(diag, err, "%s", akin_strerror(err));
	if (strcmp(name, ".") != 0)
		diag_prefix(diag, "%s", name);
	if (d->label)
		diag_prefix(diag, "%s pool", d->label);
}

static int call_end(const struct call *c, const char *name, u64 bytes, int err)
{
	call_count(c, 1, err == 0 ? bytes : 0);
	diag_name(c->diag, c->disk, name, err);
	return err;
}

/* Names are made by us: a bad one is a bug, not an input. */
static void check_name(const char *name)
{
	akin_assert(name[0] && name[0] != '/');
}

/* Takes @name, also on failure. */
static int adopt(struct file **out, int err, char *name)
{
	if (err) {
		*out = NULL;
		mem_free(name);
		return err;
	}
	(*out)->name = name;
	atomic_init(&(*out)->sync_error, 0);
	return 0;
}

int disk_open(struct disk *d, const char *name, unsigned flags,
	      struct file **out, struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->other, diag);
	char *copy;
	int err;

	check_name(name);
	akin_assert(!(flags & (DISK_CREATE | DISK_TRUNC)) ||
		    flags & DISK_WRITE);
	akin_assert(!(flags & DISK_EXCL) || flags & DISK_CREATE);
	*out = NULL;
	copy = mem_strdup(name);
	if (!copy)
		return call_end(&c, name, 0, -AKIN_E_nomem);
	err = d->ops->open(d, name, flags, out, c.diag);
	err = call_end(&c, name, 0, err);
	return adopt(out, err, TAKE(copy));
}

int disk_tmp_open(struct disk *d, const char *dir, struct file **out,
		  struct akin_diag *diag)
{
	static const char suffix[] = "/(temporary file)";
	struct call c = call_begin(d, &disk_io(d)->other, diag);
	size_t len = strlen(dir);
	char *name;
	int err;

	check_name(dir);
	*out = NULL;
	name = mem_alloc(len + sizeof(suffix));
	if (!name)
		return call_end(&c, dir, 0, -AKIN_E_nomem);
	memcpy(name, dir, len);
	memcpy(name + len, suffix, sizeof(suffix));
	err = d->ops->open_tmp(d, dir, out, c.diag);
	err = call_end(&c, name, 0, err);
	return adopt(out, err, TAKE(name));
}

int disk_mkdir(struct disk *d, const char *name, struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->other, diag);

	check_name(name);
	return call_end(&c, name, 0, d->ops->mkdir(d, name, c.diag));
}

int disk_rename(struct disk *d, const char *from, const char *to,
		struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->other, diag);

	check_name(from);
	check_name(to);
	return call_end(&c, from, 0, d->ops->rename(d, from, to, c.diag));
}

int disk_unlink(struct disk *d, const char *name, struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->other, diag);

	check_name(name);
	return call_end(&c, name, 0, d->ops->unlink(d, name, c.diag));
}

int disk_stat(struct disk *d, const char *name, struct disk_stat *out,
	      struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->other, diag);

	check_name(name);
	memset(out, 0, sizeof(*out));
	return call_end(&c, name, 0, d->ops->stat(d, name, out, c.diag));
}

/* The callback's own error, and its message, are not the disk's. */
struct list_ctx {
	disk_list_fn *fn;
	void *ctx;
	int stopped;
};

static int list_one(void *ctx, const char *name, bool is_dir)
{
	struct list_ctx *l = ctx;

	l->stopped = l->fn(l->ctx, name, is_dir);
	return l->stopped;
}

int disk_list(struct disk *d, const char *name, disk_list_fn *fn, void *ctx,
	      struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->other, diag);
	struct list_ctx l = { fn, ctx, 0 };
	int err;

	check_name(name);
	err = d->ops->list(d, name, list_one, &l, c.diag);
	if (l.stopped) {
		call_count(&c, 1, 0);
		return l.stopped;
	}
	return call_end(&c, name, 0, err);
}

int disk_sync_dir(struct disk *d, const char *name, struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->sync, diag);

	check_name(name);
	return call_end(&c, name, 0, d->ops->sync_dir(d, name, c.diag));
}

int disk_space(struct disk *d, struct disk_space *out, struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->other, diag);

	return call_end(&c, ".", 0, d->ops->space(d, out, c.diag));
}

void disk_count_into(struct disk *d, struct counters_disk *to)
{
	counters_disk_add(to, disk_io(d));
	d->count_into = to;
}

bool disk_shared(struct disk *d, struct machine *me)
{
	return d->ops->shared && d->ops->shared(d, me);
}

void disk_free(struct disk *d)
{
	if (d)
		d->ops->free(d);
}

int file_pread(struct file *f, void *data, size_t n, u64 off,
	       struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->read, diag);
	int err;

	/* Offsets may come from damaged bytes: no file is that long. */
	if (disk_range_ok(off, n))
		err = f->disk->ops->pread(f, data, n, off, c.diag);
	else
		err = diag_set(c.diag, -AKIN_E_short_read,
			       "read of %zu bytes at %llu: beyond any file", n,
			       (unsigned long long)off);
	return call_end(&c, f->name, n, err);
}

int file_pwrite(struct file *f, const void *data, size_t n, u64 off,
		struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->write, diag);
	int err;

	if (disk_range_ok(off, n))
		err = f->disk->ops->pwrite(f, data, n, off, c.diag);
	else
		err = diag_set(c.diag, -AKIN_E_too_large,
			       "write of %zu bytes at %llu: beyond any file", n,
			       (unsigned long long)off);
	return call_end(&c, f->name, n, err);
}

int file_pread_many(struct disk *d, struct disk_read *reads, size_t n,
		    struct akin_diag *diag)
{
	struct call c = call_begin(d, &disk_io(d)->read, diag);
	u64 bytes = 0;
	size_t i;
	int err;

	if (n == 0)
		return 0;
	for (i = 0; i < n; i++)
		akin_assert(reads[i].file->disk == d);
	err = d->ops->pread_many(d, reads, n, c.diag);
	if (err)
		return call_end(&c, ".", 0, err);
	for (i = 0; i < n; i++)
		bytes += reads[i].result == 0 ? reads[i].len : 0;
	call_count(&c, n, bytes);
	return 0;
}

int disk_read_error(const struct disk_read *r, struct akin_diag *diag)
{
	if (r->result == 0 || !diag || diag->code != 0)
		return r->result;
	(void)diag_set(diag, r->result, "read of %zu bytes at %llu: %s",
		       r->len, (unsigned long long)r->off,
		       akin_strerror(r->result));
	diag_name(diag, r->file->disk, r->file->name, r->result);
	return r->result;
}

int file_size(struct file *f, u64 *out, struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->other, diag);

	return call_end(&c, f->name, 0, f->disk->ops->size(f, out, c.diag));
}

static int check_size(u64 size, struct akin_diag *diag)
{
	if (size <= INT64_MAX)
		return 0;
	return diag_set(diag, -AKIN_E_too_large, "size of %llu bytes",
			(unsigned long long)size);
}

int file_truncate(struct file *f, u64 size, struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->other, diag);
	int err = check_size(size, c.diag);

	if (!err)
		err = f->disk->ops->truncate(f, size, c.diag);
	return call_end(&c, f->name, 0, err);
}

int file_reserve(struct file *f, u64 size, struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->other, diag);
	int err = check_size(size, c.diag);

	if (!err)
		err = f->disk->ops->reserve(f, size, c.diag);
	return call_end(&c, f->name, 0, err);
}

int file_sync(struct file *f, struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->sync, diag);
	int err = atomic_load(&f->sync_error);

	if (err) {
		(void)diag_set(c.diag, err, "sync: an earlier sync failed: %s",
			       akin_strerror(err));
	} else {
		err = f->disk->ops->sync(f, c.diag);
		if (err)
			atomic_store(&f->sync_error, err);
	}
	return call_end(&c, f->name, 0, err);
}

void file_drop_cache(struct file *f)
{
	if (f->disk->ops->drop_cache)
		f->disk->ops->drop_cache(f);
}

void file_prefetch(struct file *f, u64 off, u64 len)
{
	if (f->disk->ops->prefetch && len && disk_range_ok(off, len))
		f->disk->ops->prefetch(f, off, len);
}

/* Who is alone may do without. */
static int without_locks(const struct call *c, int err)
{
	if (err != -AKIN_E_no_locks || !c->disk->lockless)
		return err;
	diag_clear(c->diag);
	return 0;
}

int file_lock(struct file *f, enum disk_lock kind, u64 off, u64 len,
	      struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->other, diag);
	int err;

	akin_assert(disk_range_ok(off, len));
	err = f->disk->ops->lock(f, kind, off, len, c.diag);
	return call_end(&c, f->name, 0, without_locks(&c, err));
}

int file_lock_test(struct file *f, enum disk_lock kind, u64 off, u64 len,
		   u64 *off_ret, u64 *len_ret, struct akin_diag *diag)
{
	struct call c = call_begin(f->disk, &disk_io(f->disk)->other, diag);
	int err;

	akin_assert(disk_range_ok(off, len) && kind != DISK_LOCK_NONE);
	*off_ret = off;
	*len_ret = 0;
	err = f->disk->ops->lock_test(f, kind, off, len, off_ret, len_ret,
				      c.diag);
	return call_end(&c, f->name, 0, without_locks(&c, err));
}

int file_close(struct file *f, struct akin_diag *diag)
{
	struct call c;
	char *name;
	int err;

	if (!f)
		return 0;
	c = call_begin(f->disk, &disk_io(f->disk)->other, diag);
	name = f->name;
	err = f->disk->ops->close(f, c.diag);
	err = call_end(&c, name, 0, err);
	mem_free(name);
	return err;
}

int disk_read_file(struct disk *d, const char *name, size_t max, u8 **data_ret,
		   size_t *len_ret, struct akin_diag *diag)
{
	struct file *f;
	u8 *data = NULL;
	u64 size;
	int err;

	*data_ret = NULL;
	*len_ret = 0;
	err = disk_open(d, name, 0, &f, diag);
	if (err)
		return err;
	err = file_size(f, &size, diag);
	if (!err && size > max) {
		err = -AKIN_E_bad_length;
		if (diag && diag->code == 0) {
			(void)diag_set(diag, err, "%llu bytes, at most %zu are "
				       "expected", (unsigned long long)size,
				       max);
			diag_name(diag, d, name, err);
		}
	}
	if (err)
		goto out;
	data = size < SIZE_MAX ? mem_alloc((size_t)size + 1) : NULL;
	if (!data) {
		err = diag_set(diag, -AKIN_E_nomem, "%s: out of memory", name);
		goto out;
	}
	err = file_pread(f, data, (size_t)size, 0, diag);
out:
	/* A failed close after a good read says nothing about the bytes. */
	(void)file_close(f, NULL);
	if (err) {
		mem_free(data);
		return err;
	}
	data[size] = 0;
	*data_ret = data;
	*len_ret = (size_t)size;
	return 0;
}

static int write_tmp(struct disk *d, const char *tmp, const void *data,
		     size_t n, struct akin_diag *diag)
{
	struct file *f;
	int err, err2;

	err = disk_open(d, tmp, DISK_WRITE | DISK_CREATE | DISK_TRUNC, &f,
			diag);
	if (err)
		return err;
	err = file_pwrite(f, data, n, 0, diag);
	if (!err)
		err = file_sync(f, diag);
	err2 = file_close(f, err ? NULL : diag);
	return err ? err : err2;
}

int disk_write_file(struct disk *d, const char *name, const void *data,
		    size_t n, struct akin_diag *diag)
{
	size_t len = strlen(name);
	char *tmp, *slash;
	int err;

	tmp = mem_alloc(len + sizeof(".tmp"));
	if (!tmp)
		return diag_set(diag, -AKIN_E_nomem, "%s: out of memory", name);
	memcpy(tmp, name, len);
	memcpy(tmp + len, ".tmp", sizeof(".tmp"));
	err = write_tmp(d, tmp, data, n, diag);
	if (!err)
		err = disk_rename(d, tmp, name, diag);
	if (err) {
		/* Best effort: the next write of NAME truncates it anyway. */
		(void)!disk_unlink(d, tmp, NULL);
		goto out;
	}
	slash = strrchr(tmp, '/');
	if (slash)
		*slash = 0;
	err = disk_sync_dir(d, slash ? tmp : ".", diag);
out:
	mem_free(tmp);
	return err;
}
