/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers: groups handed in from threads in any order come out in order;
 * an error anywhere leaves the writer unsealable and everything else in peace;
 * a reader believes no flipped bit.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "testlib.h"

#include "base/mem.h"
#include "container/container_parity.h"
#include "container/container_reader.h"
#include "container/container_writer.h"
#include "simdisk.h"

static const struct pool_id pool = { { 7 } };

struct world {
	struct simdisk *sd;
	struct disk *disk;
	struct container_writer *w;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned nr_complete;
};

static void on_complete(void *ctx, struct container_writer *w)
{
	struct world *x = ctx;

	pthread_mutex_lock(&x->lock);
	x->nr_complete++;
	pthread_cond_broadcast(&x->changed);
	pthread_mutex_unlock(&x->lock);
}

static void world_init(struct world *x)
{
	struct akin_diag d = { 0 };

	memset(x, 0, sizeof(*x));
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->changed, NULL);
	x->sd = simdisk_new("data");
	x->disk = simdisk_attach(x->sd, true);
	assert_int_equal(disk_mkdir(x->disk, "containers", &d), 0);
	assert_int_equal(disk_mkdir(x->disk, "containers/05", &d), 0);
}

static void world_release(struct world *x)
{
	container_writer_free(x->w);
	disk_free(x->disk);
	simdisk_free(x->sd);
	pthread_cond_destroy(&x->changed);
	pthread_mutex_destroy(&x->lock);
}

static void open_writer(struct world *x, u8 kind)
{
	struct container_writer_options opt = { 0 };
	struct akin_diag d = { 0 };

	opt.header.pool = pool;
	opt.header.number = 5;
	opt.header.kind = kind;
	opt.header.session = 3;
	opt.complete = on_complete;
	opt.complete_ctx = x;
	assert_int_equal(container_writer_open(x->disk, &opt, &x->w, &d), 0);
}

static struct fp fp_of(u64 n)
{
	struct rng r = { n + 1 };
	struct fp fp;

	rng_fill(&r, fp.b, sizeof(fp.b));
	return fp;
}

/* Raw groups: chunk @k of group @g has this length. */
static u32 len_of(u32 g, u32 k)
{
	return 1 + (g * 977 + k * 131) % 3000;
}

static u32 nr_of(u32 g)
{
	return 1 + g % 7;
}

/* Add the chunks of group @g and close it. */
static void close_group(struct world *x, u32 g, struct group_header *out)
{
	struct akin_diag d = { 0 };
	struct fp fp;
	u32 k, entry;

	for (k = 0; k < nr_of(g); k++) {
		fp = fp_of(g * 100 + k);
		assert_int_equal(container_writer_add(x->w, &fp, len_of(g, k),
						      NULL, &entry, &d), 0);
	}
	assert_int_equal(container_writer_close_group(x->w, out, &d), 0);
	assert_int_equal(out->number, g);
	assert_int_equal(out->nr_chunks, nr_of(g));
}

static void fill_group(u32 g, const struct group_header *h, u8 *raw)
{
	struct rng r = { g };

	rng_fill(&r, raw, h->raw_len);
}

/* A compressor's part of one group; @h is released. */
static int put_group(struct world *x, struct group_header *h)
{
	struct akin_diag d = { 0 };
	struct buf encoded = { 0 };
	u8 *raw = malloc(h->raw_len);
	int err;

	fill_group(h->number, h, raw);
	h->stored_len = h->raw_len;
	err = group_encode(h, 5, raw, &encoded);
	if (!err)
		err = container_writer_put(x->w, h, &encoded, &d);
	buf_release(&encoded);
	group_header_release(h);
	free(raw);
	return err;
}

static void check_groups(struct world *x, u32 nr)
{
	struct container_reader *r;
	const struct directory *dir;
	struct container_header head;
	struct container_group g;
	struct akin_diag d = { 0 };
	u32 i, k, entry = 0;
	u8 *raw;

	assert_int_equal(container_open(x->disk, &pool, 5, 0, &r, &d), 0);
	dir = container_directory(r);
	assert_int_equal(dir->nr_groups, nr);
	assert_int_equal(container_check_header(r, &head, &d), 0);
	assert_int_equal(head.session, 3);
	for (i = 0; i < nr; i++) {
		assert_int_equal(container_read_group(r, i, &g, &d), 0);
		assert_int_equal(g.header.number, i);
		raw = malloc(g.header.raw_len);
		fill_group(i, &g.header, raw);
		assert_memory_equal(g.payload, raw, g.header.raw_len);
		free(raw);
		container_group_release(&g);
		for (k = 0; k < nr_of(i); k++, entry++) {
			struct fp fp = fp_of(i * 100 + k);

			assert_true(fp_equal(&dir->entries[entry].fp, &fp));
			assert_int_equal(dir->entries[entry].entry, entry);
			assert_int_equal(dir->entries[entry].group, i);
		}
	}
	assert_int_equal(dir->nr_entries, entry);
	assert_int_equal(container_read_group(r, nr, &g, &d),
			 -AKIN_E_bad_field);
	container_close(r);
}

/* Every order in which four groups can arrive. */
static void test_any_order(void **state)
{
	struct container_sealed sealed;
	struct group_header h[4];
	struct akin_diag d = { 0 };
	struct world x;
	u32 order[4], perm, i, k, p;

	for (perm = 0; perm < 24; perm++) {
		world_init(&x);
		open_writer(&x, CONTAINER_DATA);
		for (i = 0; i < 4; i++)
			close_group(&x, i, &h[i]);
		for (i = 0, p = perm; i < 4; p /= 4 - i, i++) {
			/* the (p mod what is left)-th that is not taken */
			u32 skip = p % (4 - i);

			for (k = 0; k < 4; k++) {
				u32 j, taken = 0;

				for (j = 0; j < i; j++)
					taken |= order[j] == k;
				if (!taken && skip-- == 0)
					break;
			}
			order[i] = k;
		}
		for (i = 0; i < 4; i++) {
			/* Finishing before, between and behind. */
			if (i == perm % 4)
				container_writer_finish(x.w);
			assert_int_equal(x.nr_complete, 0);
			assert_int_equal(put_group(&x, &h[order[i]]), 0);
		}
		assert_int_equal(x.nr_complete, 1);
		assert_int_equal(container_writer_seal(x.w, &sealed, &d), 0);
		assert_int_equal(sealed.nr_entries, 1 + 2 + 3 + 4);
		check_groups(&x, 4);
		world_release(&x);
	}
}

/* A thread that compresses what lies on a shared heap, in random order. */
struct crew {
	struct world *x;
	pthread_mutex_t lock;
	struct group_header *heap;
	u32 nr;
	bool stop;
	struct rng rng;
};

static void *compress(void *arg)
{
	struct crew *c = arg;
	struct group_header h;
	u32 i;

	for (;;) {
		pthread_mutex_lock(&c->lock);
		if (c->nr == 0 && c->stop) {
			pthread_mutex_unlock(&c->lock);
			return NULL;
		}
		if (c->nr == 0) {
			pthread_mutex_unlock(&c->lock);
			sched_yield();
			continue;
		}
		i = (u32)rng_below(&c->rng, c->nr);
		h = c->heap[i];
		c->heap[i] = c->heap[--c->nr];
		pthread_mutex_unlock(&c->lock);
		assert_int_equal(put_group(c->x, &h), 0);
	}
}

#define NR_GROUPS 400

static void test_threads(void **state)
{
	struct container_sealed sealed;
	struct group_header h;
	struct akin_diag d = { 0 };
	struct crew crew = { .rng = { 11 } };
	pthread_t t[3];
	struct world x;
	u64 raw = 0;
	u32 i;

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	crew.x = &x;
	crew.heap = calloc(NR_GROUPS, sizeof(*crew.heap));
	pthread_mutex_init(&crew.lock, NULL);
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, compress, &crew),
				 0);
	for (i = 0; i < NR_GROUPS; i++) {
		close_group(&x, i, &h);
		raw += h.raw_len;
		pthread_mutex_lock(&crew.lock);
		crew.heap[crew.nr++] = h;
		pthread_mutex_unlock(&crew.lock);
	}
	container_writer_finish(x.w);
	pthread_mutex_lock(&crew.lock);
	crew.stop = true;
	pthread_mutex_unlock(&crew.lock);
	pthread_mutex_lock(&x.lock);
	while (!x.nr_complete)
		pthread_cond_wait(&x.changed, &x.lock);
	pthread_mutex_unlock(&x.lock);
	assert_int_equal(container_writer_seal(x.w, &sealed, &d), 0);
	assert_int_equal(sealed.raw_bytes, raw);
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(x.nr_complete, 1);
	check_groups(&x, NR_GROUPS);
	free(crew.heap);
	pthread_mutex_destroy(&crew.lock);
	world_release(&x);
}

/* A failed group, a failed write, an abandoned group: complete, never sealed. */
static void test_failures(void **state)
{
	struct sim_fault fault = { .kinds = SIM_WRITE, .nth = 1,
				   .code = -AKIN_E_nospace };
	struct container_sealed sealed;
	struct group_header h[4];
	struct akin_diag d = { 0 }, why = { 0 };
	struct world x;
	struct fp fp = fp_of(1);
	u32 entry, i;

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	for (i = 0; i < 3; i++)
		close_group(&x, i, &h[i]);
	assert_int_equal(put_group(&x, &h[2]), 0);
	(void)diag_set(&why, -AKIN_E_bad_data, "the compressor is ill");
	container_writer_fail(x.w, -AKIN_E_bad_data, &why);
	group_header_release(&h[1]);
	/* Later ones are taken and told. */
	assert_int_equal(put_group(&x, &h[0]), -AKIN_E_bad_data);
	assert_int_equal(container_writer_add(x.w, &fp, 10, NULL, &entry, &d),
			 -AKIN_E_bad_data);
	assert_string_equal(d.text, "the compressor is ill");
	assert_int_equal(x.nr_complete, 0);
	container_writer_finish(x.w);
	assert_int_equal(x.nr_complete, 1);
	memset(&d, 0, sizeof(d));
	assert_int_equal(container_writer_seal(x.w, &sealed, &d),
			 -AKIN_E_bad_data);
	assert_string_equal(d.text, "container 5: the compressor is ill");
	world_release(&x);

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	simdisk_fail(x.sd, &fault);
	close_group(&x, 0, &h[0]);
	assert_int_equal(put_group(&x, &h[0]), 0);
	container_writer_finish(x.w);
	memset(&d, 0, sizeof(d));
	assert_int_equal(container_writer_seal(x.w, &sealed, &d),
			 -AKIN_E_nospace);
	assert_int_equal(d.code, -AKIN_E_nospace);
	world_release(&x);

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	memset(&d, 0, sizeof(d));
	assert_int_equal(container_writer_add(x.w, &fp, 10, NULL, &entry, &d),
			 0);
	container_writer_abandon(x.w, -AKIN_E_nomem);
	container_writer_finish(x.w);
	assert_int_equal(x.nr_complete, 1);
	assert_int_equal(container_writer_seal(x.w, &sealed, &d),
			 -AKIN_E_nomem);
	world_release(&x);
}

/* A disk on which writing waits until it is let go. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const struct disk_ops *real;
	bool hold;
	unsigned nr_held;
} slow = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };

static int slow_pwrite(struct file *f, const void *data, size_t n, u64 off,
		       struct akin_diag *diag)
{
	pthread_mutex_lock(&slow.lock);
	slow.nr_held++;
	pthread_cond_broadcast(&slow.changed);
	while (slow.hold)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	return slow.real->pwrite(f, data, n, off, diag);
}

struct big {
	struct world *x;
	struct group_header h[64];
	u32 first, step, nr_put;
};

static void *put_big(void *arg)
{
	struct big *b = arg;
	u32 i;

	for (i = b->first; i < 64; i += b->step) {
		assert_int_equal(put_group(b->x, &b->h[i]), 0);
		__atomic_fetch_add(&b->nr_put, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static u32 settled(struct big *b)
{
	struct timespec ts = { 0, 200 * 1000 * 1000 };
	u32 was, now = __atomic_load_n(&b->nr_put, __ATOMIC_RELAXED);

	do {
		was = now;
		nanosleep(&ts, NULL);
		now = __atomic_load_n(&b->nr_put, __ATOMIC_RELAXED);
	} while (now != was);
	return now;
}

/* While one thread is held in a write, the others fill little memory. */
static void test_slow_disk_holds_compressors(void **state)
{
	struct container_sealed sealed;
	struct akin_diag d = { 0 };
	struct big a = { .first = 0, .step = 64 };
	struct big b = { .first = 1, .step = 1 };
	struct disk_ops ops;
	struct world x;
	struct fp fp;
	pthread_t t[2];
	u32 i, entry;

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	a.x = b.x = &x;
	for (i = 0; i < 64; i++) {
		fp = fp_of(i);
		assert_int_equal(container_writer_add(x.w, &fp, 300000, NULL,
						      &entry, &d), 0);
		assert_int_equal(container_writer_close_group(x.w, &b.h[i],
							      &d), 0);
	}
	a.h[0] = b.h[0];
	slow.real = x.disk->ops;
	ops = *x.disk->ops;
	ops.pwrite = slow_pwrite;
	x.disk->ops = &ops;
	slow.hold = true;
	slow.nr_held = 0;
	assert_int_equal(pthread_create(&t[0], NULL, put_big, &a), 0);
	pthread_mutex_lock(&slow.lock);
	while (!slow.nr_held)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	assert_int_equal(pthread_create(&t[1], NULL, put_big, &b), 0);
	/* 64 groups are 19 MB; one of them may wait. */
	assert_int_equal(settled(&b), 0);
	pthread_mutex_lock(&slow.lock);
	slow.hold = false;
	pthread_cond_broadcast(&slow.changed);
	pthread_mutex_unlock(&slow.lock);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	container_writer_finish(x.w);
	assert_int_equal(x.nr_complete, 1);
	assert_int_equal(container_writer_seal(x.w, &sealed, &d), 0);
	assert_int_equal(sealed.raw_bytes, 64 * 300000);
	x.disk->ops = slow.real;
	world_release(&x);
}

/* Nothing is read from a container with any bit flipped but what was there. */
static void test_flipped_bits(void **state)
{
	char name[FORMAT_NAME_MAX];
	struct container_sealed sealed;
	struct container_reader *r;
	struct container_header head;
	struct container_group g;
	struct group_header h;
	struct akin_diag d = { 0 };
	struct hint hint = { (u64[]){ 2, 3 }, 2 };
	u32 nr_open = 0, nr_group = 0, nr_head = 0, i, entry;
	struct fp fp;
	struct world x;
	u64 off;
	u8 *raw;

	world_init(&x);
	open_writer(&x, CONTAINER_METADATA);
	for (i = 0; i < 3; i++) {
		fp = fp_of(i);
		assert_int_equal(container_writer_add(x.w, &fp, 40, &hint,
						      &entry, &d), 0);
		assert_int_equal(container_writer_close_group(x.w, &h, &d), 0);
		assert_int_equal(put_group(&x, &h), 0);
	}
	container_writer_finish(x.w);
	assert_int_equal(container_writer_seal(x.w, &sealed, &d), 0);
	format_container_name(5, 0, name);
	for (off = 0; off < sealed.file_bytes; off++) {
		simdisk_flip_bit(x.sd, name, off, off % 8);
		memset(&d, 0, sizeof(d));
		if (container_open(x.disk, &pool, 5, 0, &r, &d)) {
			assert_true(d.code != 0 && d.text[0]);
			nr_open++;
			simdisk_flip_bit(x.sd, name, off, off % 8);
			continue;
		}
		nr_head += container_check_header(r, &head, NULL) != 0;
		for (i = 0; i < 3; i++) {
			if (container_read_group(r, i, &g, &d)) {
				nr_group++;
				continue;
			}
			raw = malloc(g.header.raw_len);
			fill_group(i, &g.header, raw);
			assert_memory_equal(g.payload, raw, 40);
			free(raw);
			container_group_release(&g);
		}
		container_close(r);
		simdisk_flip_bit(x.sd, name, off, off % 8);
	}
	/* Each byte is guarded by exactly one of the three. */
	assert_int_equal(nr_head, CONTAINER_HEADER_BYTES);
	assert_int_equal(nr_open, sealed.dir_len + CONTAINER_FOOTER_BYTES);
	assert_int_equal(nr_group, sealed.dir_off - CONTAINER_HEADER_BYTES);
	world_release(&x);
}

/* Any length a file can have been cut to. */
static void test_truncated(void **state)
{
	char name[FORMAT_NAME_MAX];
	struct container_sealed sealed;
	struct container_reader *r;
	struct group_header h;
	struct akin_diag d = { 0 };
	struct file *f;
	struct world x;
	u64 n;

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	close_group(&x, 0, &h);
	assert_int_equal(put_group(&x, &h), 0);
	container_writer_finish(x.w);
	assert_int_equal(container_writer_seal(x.w, &sealed, &d), 0);
	assert_int_equal(container_open(x.disk, &pool, 5, 1, &r, &d),
			 -AKIN_E_absent);
	format_container_name(5, 0, name);
	assert_int_equal(disk_open(x.disk, name, DISK_WRITE, &f, NULL), 0);
	for (n = sealed.file_bytes; n-- > 0;) {
		assert_int_equal(file_truncate(f, n, NULL), 0);
		memset(&d, 0, sizeof(d));
		assert_int_not_equal(container_open(x.disk, &pool, 5, 0, &r,
						    &d), 0);
		assert_int_equal(akin_error_class(d.code), AKIN_CLASS_CORRUPT);
	}
	assert_int_equal(file_close(f, NULL), 0);
	world_release(&x);
}

static void expect_all_readable(struct world *x, u32 nr)
{
	struct container_header head;
	struct container_reader *r;
	struct container_group g;
	struct akin_diag d = { 0 };
	u32 i;
	u8 *raw;

	assert_int_equal(container_open(x->disk, &pool, 5, 0, &r, &d), 0);
	assert_int_equal(container_check_header(r, &head, &d), 0);
	for (i = 0; i < nr; i++) {
		assert_int_equal(container_read_group(r, i, &g, &d), 0);
		raw = malloc(g.header.raw_len);
		fill_group(i, &g.header, raw);
		assert_memory_equal(g.payload, raw, g.header.stored_len);
		free(raw);
		container_group_release(&g);
	}
	assert_int_equal(d.code, 0);
	assert_true(container_reader_healed(r) > 0);
	container_close(r);
}

/* The same damage to one that has parity harms nobody: each flipped bit, and
 * every length that parity makes up for. */
static void test_healed(void **state)
{
	const struct container_id id = { 5, 0 };
	char name[FORMAT_NAME_MAX];
	struct container_sealed sealed;
	struct container_reader *r;
	struct group_header h;
	struct akin_diag d = { 0 };
	struct file *f;
	struct world x;
	u64 off, bytes, sectors;
	u32 i;

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	for (i = 0; i < 3; i++) {
		close_group(&x, i, &h);
		assert_int_equal(put_group(&x, &h), 0);
	}
	container_writer_finish(x.w);
	assert_int_equal(container_writer_seal(x.w, &sealed, &d), 0);
	assert_int_equal(container_parity_write(x.disk, &pool, &id, 10, &bytes,
						&d), 0);
	format_container_name(5, 0, name);
	for (off = 0; off < sealed.file_bytes; off += 3) {
		simdisk_flip_bit(x.sd, name, off, off % 8);
		expect_all_readable(&x, 3);
		simdisk_flip_bit(x.sd, name, off, off % 8);
	}
	assert_int_equal(disk_open(x.disk, name, DISK_WRITE, &f, NULL), 0);
	sectors = (sealed.file_bytes + PARITY_SECTOR - 1) / PARITY_SECTOR;
	assert_true(sectors > 2);
	for (off = sealed.file_bytes; off-- > 0;) {
		assert_int_equal(file_truncate(f, off, NULL), 0);
		if (sectors - off / PARITY_SECTOR > 2)
			break;
		expect_all_readable(&x, 3);
	}
	assert_int_equal(file_close(f, NULL), 0);
	/* What neither has is said as it would be without parity. */
	assert_int_equal(disk_open(x.disk, name, DISK_WRITE | DISK_TRUNC, &f,
				   NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	assert_int_equal(container_open(x.disk, &pool, 5, 0, &r, &d),
			 -AKIN_E_bad_length);
	world_release(&x);
}

static struct {
	u64 off[8], len[8];
	u32 nr;
} asked;

static void note_prefetch(struct file *f, u64 off, u64 len)
{
	assert_true(asked.nr < ARRAY_SIZE(asked.off));
	asked.off[asked.nr] = off;
	asked.len[asked.nr++] = len;
}

static void assert_asked(const struct directory *d, u32 at, u32 first, u32 last)
{
	assert_int_equal(asked.off[at], d->groups[first].off);
	assert_int_equal(asked.off[at] + asked.len[at], d->groups[last].off +
			 d->groups[last].len);
}

/* Near ones in one request, and nothing outside the groups. */
static void test_prefetch(void **state)
{
	static const u32 groups[] = { 0, 1, 3, 4, 20, 39, 40 };
	struct container_sealed sealed;
	struct container_reader *r;
	const struct directory *dir;
	struct akin_diag d = { 0 };
	const struct disk_ops *real;
	struct group_header h;
	struct disk_ops ops;
	struct world x;
	u32 i;

	world_init(&x);
	open_writer(&x, CONTAINER_DATA);
	for (i = 0; i < 40; i++) {
		close_group(&x, i, &h);
		assert_int_equal(put_group(&x, &h), 0);
	}
	container_writer_finish(x.w);
	assert_int_equal(container_writer_seal(x.w, &sealed, &d), 0);
	assert_int_equal(container_open(x.disk, &pool, 5, 0, &r, &d), 0);
	dir = container_directory(r);
	container_prefetch(r, groups, 7);	/* nobody to ask */
	real = x.disk->ops;
	ops = *real;
	ops.prefetch = note_prefetch;
	x.disk->ops = &ops;
	container_prefetch(r, groups, 0);
	assert_int_equal(asked.nr, 0);
	/* Group 2 is small, what lies between 4 and 20 is not. */
	assert_in_range(dir->groups[2].len, 1, 16 * KiB);
	assert_in_range(dir->groups[20].off - dir->groups[5].off, 17 * KiB,
			UINT32_MAX);
	container_prefetch(r, groups, 7);
	assert_int_equal(asked.nr, 3);
	assert_asked(dir, 0, 0, 4);
	assert_asked(dir, 1, 20, 20);
	assert_asked(dir, 2, 39, 39);
	x.disk->ops = real;
	container_close(r);
	world_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_slow_disk_holds_compressors),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_healed),
		cmocka_unit_test(test_prefetch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
