/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk below does the work at once; then the caller waits until what he
 * took is paid for. So the time that the real disk needs is part of the wait
 * and not added to it.
 *
 * The calls below go to the back end itself and not through the wrappers,
 * which would count and name everything twice.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/mem.h"
#include "os/clock.h"
#include "os/disk_throttle.h"

/* What goes on in one piece costs an operation for each of these. */
#define PIECE_BYTES MiB

/*
 * Who owes less goes on, and owes more the next time: a sleep ends 50 us late
 * at best, and costs two switches of threads.
 */
#define SLEEP_MIN_NS (1000 * 1000ull)
static_assert(SLEEP_MIN_NS < THROTTLE_DEPTH_NS, "less than is saved up");

struct throttled {
	struct disk disk;
	struct disk *below;
	const struct throttle_clock *clock;
	pthread_mutex_t lock;	/* guards @throttle and the files' positions;
				 * held for arithmetic only */
	struct throttle throttle;
};

struct throttled_file {
	struct file file;
	struct file *below;
	char *name;		/* the file's below, as wrappers give it one */
	u64 end;		/* of the last read or write */
	u64 paid;		/* bytes from there that go with it */
};

static struct throttled *to_throttled(struct disk *d)
{
	return container_of(d, struct throttled, disk);
}

static struct throttled_file *to_file(struct file *f)
{
	return container_of(f, struct throttled_file, file);
}

/* Time ----------------------------------------------------------------------*/

static u64 real_now(void *ctx)
{
	return clock_ns();
}

static void real_sleep_until(void *ctx, u64 ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000),
			       .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

static const struct throttle_clock real_clock = { real_now, real_sleep_until,
						  NULL };

static void wait_until(struct throttled *t, u64 ns)
{
	if (ns > t->clock->now_ns(t->clock->ctx) + SLEEP_MIN_NS)
		t->clock->sleep_until(t->clock->ctx, ns);
}

static u64 take_locked(struct throttled *t, u64 ops, u64 bytes)
{
	return throttle_take(&t->throttle, t->clock->now_ns(t->clock->ctx), ops,
			     bytes);
}

/* One operation without bytes has been asked for; when it is done. */
static u64 take_op(struct throttled *t)
{
	u64 due;

	pthread_mutex_lock(&t->lock);
	due = take_locked(t, 1, 0);
	pthread_mutex_unlock(&t->lock);
	return due;
}

/* Operations that [off, off + n) of @f costs. */
static u64 advance_locked(struct throttled_file *f, u64 off, u64 n)
{
	u64 ops;

	if (n == 0)
		return 0;
	if (off != f->end)
		f->paid = 0;
	f->end = off + n;
	if (n <= f->paid) {
		f->paid -= n;
		return 0;
	}
	n -= f->paid;
	ops = n / PIECE_BYTES + (n % PIECE_BYTES != 0);
	f->paid = ops * PIECE_BYTES - n;
	return ops;
}

static u64 take_range(struct throttled *t, struct throttled_file *f, u64 off,
		      u64 n)
{
	u64 due;

	pthread_mutex_lock(&t->lock);
	due = take_locked(t, advance_locked(f, off, n), n);
	pthread_mutex_unlock(&t->lock);
	return due;
}

/* Names ---------------------------------------------------------------------*/

static void file_free(struct throttled_file *f)
{
	if (f)
		mem_free(f->name);
	mem_free(f);
}

/* For a file below, which is named as by the wrappers. */
static struct throttled_file *file_new(struct disk *d, const char *name)
{
	struct throttled_file *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->file.disk = d;
	f->name = mem_strdup(name);
	if (f->name)
		return f;
	file_free(f);
	return NULL;
}

static int adopt(struct throttled_file *f, int err, struct file **out)
{
	if (err) {
		file_free(f);
		return err;
	}
	f->below->name = f->name;
	*out = &f->file;
	return 0;
}

static int throttled_open(struct disk *d, const char *name, unsigned flags,
			  struct file **out, struct akin_diag *diag)
{
	struct throttled_file *f = file_new(d, name);
	struct throttled *t = to_throttled(d);
	u64 due = take_op(t);
	int err;

	if (!f)
		return diag_set(diag, -AKIN_E_nomem, "open");
	err = t->below->ops->open(t->below, name, flags, &f->below, diag);
	wait_until(t, due);
	return adopt(f, err, out);
}

static int throttled_open_tmp(struct disk *d, const char *dir,
			      struct file **out, struct akin_diag *diag)
{
	struct throttled_file *f = file_new(d, dir);
	struct throttled *t = to_throttled(d);
	u64 due = take_op(t);
	int err;

	if (!f)
		return diag_set(diag, -AKIN_E_nomem, "open");
	err = t->below->ops->open_tmp(t->below, dir, &f->below, diag);
	wait_until(t, due);
	return adopt(f, err, out);
}

static int throttled_mkdir(struct disk *d, const char *name,
			   struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->mkdir(t->below, name, diag);
	wait_until(t, due);
	return err;
}

static int throttled_rename(struct disk *d, const char *from, const char *to,
			    struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->rename(t->below, from, to, diag);
	wait_until(t, due);
	return err;
}

static int throttled_unlink(struct disk *d, const char *name,
			    struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->unlink(t->below, name, diag);
	wait_until(t, due);
	return err;
}

static int throttled_stat(struct disk *d, const char *name,
			  struct disk_stat *out, struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->stat(t->below, name, out, diag);
	wait_until(t, due);
	return err;
}

static int throttled_list(struct disk *d, const char *name, disk_list_fn *fn,
			  void *ctx, struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);

	/* What @fn asks for comes after. */
	wait_until(t, take_op(t));
	return t->below->ops->list(t->below, name, fn, ctx, diag);
}

static int throttled_sync_dir(struct disk *d, const char *name,
			      struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->sync_dir(t->below, name, diag);
	wait_until(t, due);
	return err;
}

static int throttled_space(struct disk *d, struct disk_space *out,
			   struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);

	return t->below->ops->space(t->below, out, diag);
}

static bool throttled_shared(struct disk *d, struct machine *me)
{
	return disk_shared(to_throttled(d)->below, me);
}

static void throttled_free(struct disk *d)
{
	struct throttled *t = to_throttled(d);

	disk_free(t->below);
	pthread_mutex_destroy(&t->lock);
	mem_free(t);
}

/* Bytes ---------------------------------------------------------------------*/

static int throttled_pread(struct file *f, void *data, size_t n, u64 off,
			   struct akin_diag *diag)
{
	struct throttled *t = to_throttled(f->disk);
	struct throttled_file *tf = to_file(f);
	u64 due = take_range(t, tf, off, n);
	int err;

	err = t->below->ops->pread(tf->below, data, n, off, diag);
	wait_until(t, due);
	return err;
}

static int throttled_pwrite(struct file *f, const void *data, size_t n,
			    u64 off, struct akin_diag *diag)
{
	struct throttled *t = to_throttled(f->disk);
	struct throttled_file *tf = to_file(f);
	u64 due = take_range(t, tf, off, n);
	int err;

	err = t->below->ops->pwrite(tf->below, data, n, off, diag);
	wait_until(t, due);
	return err;
}

/* When all of them are done. */
static u64 take_reads(struct throttled *t, const struct disk_read *reads,
		      size_t n)
{
	u64 ops = 0, bytes = 0, due;
	size_t i;

	pthread_mutex_lock(&t->lock);
	for (i = 0; i < n; i++) {
		/* Impossible ones fail and cost nothing. */
		if (!disk_range_ok(reads[i].off, reads[i].len))
			continue;
		ops += advance_locked(to_file(reads[i].file), reads[i].off,
				      reads[i].len);
		bytes += reads[i].len;
	}
	due = take_locked(t, ops, bytes);
	pthread_mutex_unlock(&t->lock);
	return due;
}

static int throttled_pread_many(struct disk *d, struct disk_read *reads,
				size_t n, struct akin_diag *diag)
{
	struct throttled *t = to_throttled(d);
	struct disk_read *below;
	size_t i;
	u64 due;
	int err;

	below = mem_calloc(n, sizeof(*below));
	if (!below)
		return diag_set(diag, -AKIN_E_nomem, "reads");
	for (i = 0; i < n; i++) {
		below[i] = reads[i];
		below[i].file = to_file(reads[i].file)->below;
	}
	due = take_reads(t, reads, n);
	err = t->below->ops->pread_many(t->below, below, n, diag);
	for (i = 0; i < n && !err; i++)
		reads[i].result = below[i].result;
	mem_free(below);
	wait_until(t, due);
	return err;
}

static int throttled_size(struct file *f, u64 *out, struct akin_diag *diag)
{
	struct file *below = to_file(f)->below;

	return below->disk->ops->size(below, out, diag);
}

static int throttled_truncate(struct file *f, u64 size,
			      struct akin_diag *diag)
{
	struct throttled *t = to_throttled(f->disk);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->truncate(to_file(f)->below, size, diag);
	wait_until(t, due);
	return err;
}

static int throttled_reserve(struct file *f, u64 size, struct akin_diag *diag)
{
	struct throttled *t = to_throttled(f->disk);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->reserve(to_file(f)->below, size, diag);
	wait_until(t, due);
	return err;
}

static int throttled_sync(struct file *f, struct akin_diag *diag)
{
	struct throttled *t = to_throttled(f->disk);
	u64 due = take_op(t);
	int err;

	err = t->below->ops->sync(to_file(f)->below, diag);
	wait_until(t, due);
	return err;
}

static void throttled_drop_cache(struct file *f)
{
	struct file *below = to_file(f)->below;

	if (below->disk->ops->drop_cache)
		below->disk->ops->drop_cache(below);
}

/* Paid for when it is read. */
static void throttled_prefetch(struct file *f, u64 off, u64 len)
{
	struct file *below = to_file(f)->below;

	if (below->disk->ops->prefetch)
		below->disk->ops->prefetch(below, off, len);
}

static int throttled_lock(struct file *f, enum disk_lock kind, u64 off,
			  u64 len, struct akin_diag *diag)
{
	struct file *below = to_file(f)->below;

	return below->disk->ops->lock(below, kind, off, len, diag);
}

static int throttled_lock_test(struct file *f, enum disk_lock kind, u64 off,
			       u64 len, u64 *off_ret, u64 *len_ret,
			       struct akin_diag *diag)
{
	struct file *below = to_file(f)->below;

	return below->disk->ops->lock_test(below, kind, off, len, off_ret,
					   len_ret, diag);
}

static int throttled_close(struct file *f, struct akin_diag *diag)
{
	struct throttled_file *tf = to_file(f);
	int err = tf->below->disk->ops->close(tf->below, diag);

	file_free(tf);
	return err;
}

static const struct disk_ops throttled_ops = {
	.name = "throttled",
	.open = throttled_open,
	.open_tmp = throttled_open_tmp,
	.mkdir = throttled_mkdir,
	.rename = throttled_rename,
	.unlink = throttled_unlink,
	.stat = throttled_stat,
	.list = throttled_list,
	.sync_dir = throttled_sync_dir,
	.space = throttled_space,
	.shared = throttled_shared,
	.free = throttled_free,
	.pread = throttled_pread,
	.pwrite = throttled_pwrite,
	.pread_many = throttled_pread_many,
	.size = throttled_size,
	.truncate = throttled_truncate,
	.reserve = throttled_reserve,
	.sync = throttled_sync,
	.drop_cache = throttled_drop_cache,
	.prefetch = throttled_prefetch,
	.lock = throttled_lock,
	.lock_test = throttled_lock_test,
	.close = throttled_close,
};

int disk_throttle_new(struct disk *below, const struct throttle_limits *limits,
		      const struct throttle_clock *clock, struct disk **out,
		      struct akin_diag *diag)
{
	struct throttled *t = mem_zalloc(sizeof(*t));

	*out = NULL;
	if (!t || pthread_mutex_init(&t->lock, NULL)) {
		mem_free(t);
		disk_free(below);
		return diag_set(diag, -AKIN_E_nomem, "throttle");
	}
	t->disk.ops = &throttled_ops;
	t->disk.label = below->label;
	t->disk.lockless = below->lockless;
	t->below = below;
	t->clock = clock ? clock : &real_clock;
	throttle_init(&t->throttle, limits);
	*out = &t->disk;
	return 0;
}
