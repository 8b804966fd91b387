/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many reads at once through io_uring.
 *
 * A call borrows a ring from a small pool and keeps up to RING_DEPTH reads in
 * flight, submitting a new one for each that completes. A short read is
 * submitted again for the rest. Whatever the ring does not do to our
 * satisfaction (an old kernel without the operation, an error, an exhausted
 * resource) is done once more by plain pread(), whose answer is the one that
 * counts: so this file has no error handling of its own, only one rule:
 *
 * U1. No call returns while the kernel may still write into a buffer.
 *
 * Memory: RING_MAX rings of about 8 KiB each, whatever is read.
 */
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"
#include "os/disk_files.h"

/*
 * Reads in flight per call: flash reaches its throughput at depth 32, and a
 * slot costs 80 bytes here. More rings than cores that decode are no use.
 */
#define RING_DEPTH 64
#define RING_MAX 8
/* io_uring's length is 32 bits, and the kernel caps a read below 2 GiB. */
#define RING_READ_MAX ((u64)1 << 30)

struct slot {
	struct disk_read *read;
	size_t done;		/* bytes of it that are here */
};

struct ring {
	struct io_uring uring;
	struct slot slots[RING_DEPTH];
	u16 free[RING_DEPTH];	/* stack of free slots */
	unsigned nr_free;
};

struct ring_pool {
	pthread_mutex_t lock;	/* guards the rest; never held during I/O */
	struct ring *idle[RING_MAX];
	unsigned nr_idle, nr_rings;
	bool refused;		/* the kernel or a sandbox has no io_uring */
};

struct ring_pool *ring_pool_new(void)
{
	struct ring_pool *p = mem_zalloc(sizeof(*p));

	if (p && pthread_mutex_init(&p->lock, NULL)) {
		mem_free(p);
		return NULL;
	}
	return p;
}

static void ring_free(struct ring *r)
{
	io_uring_queue_exit(&r->uring);
	mem_free(r);
}

void ring_pool_free(struct ring_pool *p)
{
	if (!p)
		return;
	akin_assert(p->nr_idle == p->nr_rings);
	while (p->nr_idle)
		ring_free(p->idle[--p->nr_idle]);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}

static struct ring *ring_new(int *os_error)
{
	struct ring *r = mem_zalloc(sizeof(*r));
	int err;

	*os_error = 0;
	if (!r)
		return NULL;
	err = io_uring_queue_init(RING_DEPTH, &r->uring, 0);
	if (err) {
		*os_error = -err;
		mem_free(r);
		return NULL;
	}
	for (r->nr_free = 0; r->nr_free < RING_DEPTH; r->nr_free++)
		r->free[r->nr_free] = (u16)r->nr_free;
	return r;
}

static struct ring *ring_get(struct ring_pool *p)
{
	struct ring *r = NULL;
	bool make = false;
	int err;

	pthread_mutex_lock(&p->lock);
	if (p->nr_idle) {
		r = p->idle[--p->nr_idle];
	} else if (!p->refused && p->nr_rings < RING_MAX) {
		p->nr_rings++;
		make = true;
	}
	pthread_mutex_unlock(&p->lock);
	if (!make)
		return r;
	r = ring_new(&err);
	if (r)
		return r;
	pthread_mutex_lock(&p->lock);
	p->nr_rings--;
	/* Out of memory or descriptors may pass; these do not. */
	if (err == ENOSYS || err == EPERM || err == EACCES || err == EINVAL)
		p->refused = true;
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void ring_put(struct ring_pool *p, struct ring *r, bool broken)
{
	pthread_mutex_lock(&p->lock);
	if (broken)
		p->nr_rings--;
	else
		p->idle[p->nr_idle++] = r;
	pthread_mutex_unlock(&p->lock);
	if (broken)
		ring_free(r);
}

/* What is left of a read, by plain means. */
static void finish_plain(struct disk_read *r, size_t done)
{
	int os_error;

	r->result = files_read_plain(files_fd(r->file), (u8 *)r->data + done,
				     r->len - done, r->off + done, &os_error);
}

static void slot_prepare(struct ring *r, u16 nr)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&r->uring);
	struct slot *s = &r->slots[nr];
	u64 n = min_u64(s->read->len - s->done, RING_READ_MAX);

	/* As many entries as slots, and each slot is submitted once. */
	akin_assert(sqe);
	io_uring_prep_read(sqe, files_fd(s->read->file),
			   (u8 *)s->read->data + s->done, (unsigned)n,
			   s->read->off + s->done);
	io_uring_sqe_set_data64(sqe, nr);
}

/* True if the slot is done with; false if it was prepared again. */
static bool slot_complete(struct ring *r, u16 nr, int res, bool again)
{
	struct slot *s = &r->slots[nr];

	if (res > 0)
		s->done += (size_t)res;
	if (res > 0 && s->done < s->read->len && again) {
		slot_prepare(r, nr);
		return false;
	}
	if (res == 0)
		s->read->result = -AKIN_E_short_read;
	else if (s->done == s->read->len)
		s->read->result = 0;
	else
		finish_plain(s->read, s->done);
	return true;
}

static void ring_reap(struct ring *r, bool again)
{
	struct io_uring_cqe *cqe;
	u16 nr;
	int res;

	while (io_uring_peek_cqe(&r->uring, &cqe) == 0) {
		nr = (u16)io_uring_cqe_get_data64(cqe);
		res = cqe->res;
		io_uring_cqe_seen(&r->uring, cqe);
		if (slot_complete(r, nr, res, again))
			r->free[r->nr_free++] = nr;
	}
}

/*
 * Submitting failed. Wait for what the kernel has taken (U1), then do by plain
 * means what it has not: the newest entries of the queue.
 */
static void ring_drain(struct ring *r)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned unsent = io_uring_sq_ready(&r->uring);
	bool busy[RING_DEPTH];
	struct io_uring_cqe *cqe;
	unsigned i;

	while (RING_DEPTH - r->nr_free > unsent) {
		/* Should waiting fail too, poll: returning is no option. */
		if (io_uring_wait_cqe(&r->uring, &cqe))
			(void)nanosleep(&pause, NULL);
		ring_reap(r, false);
	}
	memset(busy, true, sizeof(busy));
	for (i = 0; i < r->nr_free; i++)
		busy[r->free[i]] = false;
	for (i = 0; i < RING_DEPTH; i++) {
		if (busy[i])
			finish_plain(r->slots[i].read, r->slots[i].done);
	}
}

/* False, with the result set, if there is nothing to ask the kernel for. */
static bool read_is_possible(struct disk_read *r)
{
	r->result = 0;
	if (r->len == 0)
		return false;
	if (!disk_range_ok(r->off, r->len))
		r->result = -AKIN_E_short_read;
	return r->result == 0;
}

bool ring_pool_read(struct ring_pool *p, struct disk_read *reads, size_t n)
{
	struct ring *r = ring_get(p);
	size_t next = 0, i;
	u16 nr;
	int err;

	if (!r)
		return false;
	while (next < n || r->nr_free < RING_DEPTH) {
		while (next < n && r->nr_free) {
			if (!read_is_possible(&reads[next++]))
				continue;
			nr = r->free[--r->nr_free];
			r->slots[nr] = (struct slot){ &reads[next - 1], 0 };
			slot_prepare(r, nr);
		}
		if (r->nr_free == RING_DEPTH)
			break;
		err = io_uring_submit_and_wait(&r->uring, 1);
		if (err < 0 && err != -EINTR) {
			ring_drain(r);
			for (i = next; i < n; i++) {
				if (read_is_possible(&reads[i]))
					finish_plain(&reads[i], 0);
			}
			ring_put(p, r, true);
			return true;
		}
		ring_reap(r, true);
	}
	ring_put(p, r, false);
	return true;
}
