/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches: never an answer that a directory does not give, never more memory
 * than was allowed, whatever is asked in whatever order; errors are told to
 * all who wait and forgotten afterwards.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "testlib.h"

#include "base/mem.h"
#include "cache/groupcache_internal.h"
#include "simdisk.h"

static const struct pool_id pool = { { 7 } };
static const u8 key[HASH_KEY_BYTES] = { 1 };

struct world {
	struct simdisk *sd;
	struct disk *disk;
	struct hasher *hasher;
	struct dircache *dirs;
	struct groupcache *groups;
};

/* Chunk @k of container @c: 16 bytes that say so. */
static void chunk_of(u64 c, u32 k, u8 out[16])
{
	put_le64(out, c);
	put_le64(out + 8, k);
}

static struct fp fp_of(const struct world *w, u64 c, u32 k)
{
	u8 bytes[16];
	struct fp fp;

	chunk_of(c, k, bytes);
	hasher_one(w->hasher, bytes, sizeof(bytes), &fp);
	return fp;
}

static struct container_writer *open_writer(struct world *w, u64 number)
{
	struct container_writer_options opt = { 0 };
	struct container_writer *cw;
	struct akin_diag d = { 0 };

	opt.header.pool = pool;
	opt.header.number = number;
	opt.header.kind = CONTAINER_DATA;
	assert_int_equal(container_writer_open(w->disk, &opt, &cw, &d), 0);
	return cw;
}

static void put_open_group(struct container_writer *cw, u64 number)
{
	struct buf encoded = { 0 };
	struct group_header h;
	struct akin_diag d = { 0 };
	u8 *raw;
	u32 k;

	assert_int_equal(container_writer_close_group(cw, &h, &d), 0);
	raw = malloc(h.raw_len);
	for (k = 0; k < h.nr_chunks; k++)
		chunk_of(number, h.chunks[k].entry, raw + 16 * k);
	h.stored_len = h.raw_len;
	assert_int_equal(group_encode(&h, number, raw, &encoded), 0);
	assert_int_equal(container_writer_put(cw, &h, &encoded, &d), 0);
	buf_release(&encoded);
	group_header_release(&h);
	free(raw);
}

static void seal(struct container_writer *cw)
{
	struct container_sealed sealed;
	struct akin_diag d = { 0 };

	container_writer_finish(cw);
	assert_int_equal(container_writer_seal(cw, &sealed, &d), 0);
	container_writer_free(cw);
}

/* Container @number with @nr chunks, @per_group to a group. */
static void make(struct world *w, u64 number, u32 nr, u32 per_group)
{
	struct container_writer *cw = open_writer(w, number);
	struct akin_diag d = { 0 };
	struct fp fp;
	u32 k, entry;

	for (k = 0; k < nr; k++) {
		fp = fp_of(w, number, k);
		assert_int_equal(container_writer_add(cw, &fp, 16, NULL,
						      &entry, &d), 0);
		assert_int_equal(entry, k);
		if (k % per_group == per_group - 1 || k == nr - 1)
			put_open_group(cw, number);
	}
	seal(cw);
}

static void world_init(struct world *w, size_t dir_bytes, size_t group_bytes)
{
	struct dircache_options dopt = { .pool = pool,
					 .budget_bytes = dir_bytes };
	struct groupcache_options gopt = { .budget_bytes = group_bytes };
	struct akin_diag d = { 0 };
	char name[64];
	int i;

	w->sd = simdisk_new("data");
	w->disk = simdisk_attach(w->sd, true);
	assert_int_equal(disk_mkdir(w->disk, "containers", &d), 0);
	for (i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "containers/%02x", i);
		assert_int_equal(disk_mkdir(w->disk, name, &d), 0);
	}
	assert_int_equal(hasher_new(HASH_BLAKE3, key, &w->hasher, &d), 0);
	dopt.data = w->disk;
	assert_int_equal(dircache_new(&dopt, &w->dirs, &d), 0);
	gopt.dirs = w->dirs;
	gopt.data_hasher = gopt.meta_hasher = w->hasher;
	assert_int_equal(groupcache_new(&gopt, &w->groups, &d), 0);
}

static void world_release(struct world *w)
{
	groupcache_free(w->groups);
	dircache_free(w->dirs);
	hasher_free(w->hasher);
	disk_free(w->disk);
	simdisk_free(w->sd);
}

/* Random questions against what is known to be there, under any budget. */
static void soak(size_t budget, u32 nr_containers, u32 nr_chunks, u64 seed)
{
	struct dircache_stats stats;
	struct dir_hit hit;
	struct akin_diag d;
	struct rng r = { seed };
	struct container_reader *pinned = NULL;
	struct place at;
	struct world w;
	struct fp fp;
	u64 c, pin = 0;
	u32 i, k, found = 0;

	world_init(&w, budget, 0);
	for (c = 1; c <= nr_containers; c++)
		make(&w, c, nr_chunks, 16);
	for (i = 0; i < 20000; i++) {
		memset(&d, 0, sizeof(d));
		c = 1 + rng_below(&r, nr_containers);
		k = (u32)rng_below(&r, nr_chunks);
		fp = fp_of(&w, c, k);
		switch (rng_below(&r, 8)) {
		case 0:
			at.container = c;
			at.entry = k;
			assert_int_equal(dircache_verify(w.dirs, &at, &fp,
							 &hit, &d), 0);
			assert_true(hit.container == c && hit.entry == k);
			assert_int_equal(hit.len, 16);
			assert_true(dircache_has(w.dirs, c));
			break;
		case 1:	/* another entry of it, or another container */
			at.container = c;
			at.entry = k + 1;
			assert_int_equal(dircache_verify(w.dirs, &at, &fp,
							 &hit, &d), 0);
			assert_true(hit.container == 0);
			break;
		case 2:
			assert_int_equal(dircache_search(w.dirs, c, &fp, &hit,
							 &d), 0);
			assert_true(hit.container == c && hit.entry == k);
			c = 1 + c % nr_containers;
			assert_int_equal(dircache_search(w.dirs, c, &fp, &hit,
							 &d), 0);
			assert_true(nr_containers == 1 || hit.container == 0);
			break;
		case 3:	/* what is pinned stays */
			if (pin)
				dircache_put(w.dirs, pin);
			pin = c;
			assert_int_equal(dircache_get(w.dirs, c, &pinned, &d),
					 0);
			assert_int_equal(container_directory(pinned)->container,
					 c);
			break;
		case 4:
			fp.b[31] ^= 1;
			dircache_lookup(w.dirs, &fp, 1, &hit);
			assert_true(hit.container == 0);
			break;
		default:
			dircache_lookup(w.dirs, &fp, 1, &hit);
			assert_true(hit.container == 0 ||
				    (hit.container == c && hit.entry == k));
			assert_true(!hit.container || dircache_has(w.dirs, c));
			found += hit.container != 0;
		}
		if (pin) {
			assert_true(dircache_has(w.dirs, pin));
			assert_int_equal(container_directory(pinned)->nr_entries,
					 nr_chunks);
		}
		dircache_get_stats(w.dirs, &stats);
		/* Eight directories are kept whatever the budget says. */
		assert_true(stats.nr <= 8 || stats.bytes <= budget);
	}
	if (pin)
		dircache_put(w.dirs, pin);
	assert_true(found > 100);
	assert_true(stats.nr >= 1 && stats.nr <= nr_containers);
	world_release(&w);
}

static void test_dircache_soak(void **state)
{
	soak(0, 12, 100, 1);		/* a table of 1,024 */
	soak(0, 20, 400, 2);		/* eight directories do not fit it */
	soak(200 * 1024, 40, 200, 3);
	soak(16 << 20, 40, 200, 4);	/* everything fits */
	soak(16 << 20, 1, 5, 5);
}

/* With room for everything, everything loaded is found by its fingerprint. */
static void test_dircache_finds_all(void **state)
{
	struct dircache_stats stats;
	struct akin_diag d = { 0 };
	struct dir_hit hit;
	struct world w;
	struct fp fp;
	u32 c, k;

	world_init(&w, 16 << 20, 0);
	for (c = 1; c <= 30; c++) {
		make(&w, c, 500, 50);
		assert_int_equal(dircache_load(w.dirs, c, &d), 0);
		assert_int_equal(dircache_load(w.dirs, c, &d), 0);
	}
	for (c = 1; c <= 30; c++) {
		for (k = 0; k < 500; k++) {
			fp = fp_of(&w, c, k);
			dircache_lookup(w.dirs, &fp, 1, &hit);
			assert_true(hit.container == c && hit.entry == k);
		}
	}
	dircache_get_stats(w.dirs, &stats);
	assert_int_equal(stats.loads, 30);
	assert_int_equal(stats.evictions, 0);
	assert_int_equal(stats.hits, 15000);
	world_release(&w);
}

/* The least recently used goes first. */
static void test_dircache_evicts_oldest(void **state)
{
	struct dircache_stats stats;
	struct akin_diag d = { 0 };
	struct world w;
	u64 c;

	world_init(&w, 1 << 20, 0);
	make(&w, 1, 200, 50);
	assert_int_equal(dircache_load(w.dirs, 1, &d), 0);
	dircache_get_stats(w.dirs, &stats);
	world_release(&w);
	/* Ten and a half of them, and a quarter for the table. */
	world_init(&w, stats.bytes * 14, 0);
	for (c = 1; c <= 30; c++)
		make(&w, c, 200, 50);
	for (c = 1; c <= 10; c++)
		assert_int_equal(dircache_load(w.dirs, c, &d), 0);
	for (c = 1; c <= 10; c++)
		assert_true(dircache_has(w.dirs, c));
	assert_int_equal(dircache_load(w.dirs, 1, &d), 0);
	assert_int_equal(dircache_load(w.dirs, 11, &d), 0);
	assert_true(dircache_has(w.dirs, 1));
	assert_false(dircache_has(w.dirs, 2));
	assert_true(dircache_has(w.dirs, 3));
	assert_true(dircache_has(w.dirs, 11));
	world_release(&w);
}

/* More directories than the table has room for must not make noting new
 * chunks slow: it counted in minutes. */
static void test_dircache_note_stays_cheap(void **state)
{
	struct container_writer *cw;
	struct akin_diag d = { 0 };
	struct timespec t0, t1;
	struct world w;
	struct fp fp;
	u32 slot, k, c, entry;

	world_init(&w, 0, 0);
	for (c = 1; c <= 8; c++) {
		make(&w, c, 4096, 64);
		assert_int_equal(dircache_load(w.dirs, c, &d), 0);
	}
	cw = open_writer(&w, 99);
	assert_int_equal(dircache_open(w.dirs, cw, &slot, &d), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
	for (k = 0; k < 8000; k++) {
		fp = fp_of(&w, 99, k);
		assert_int_equal(container_writer_add(cw, &fp, 16, NULL,
						      &entry, &d), 0);
		dircache_note(w.dirs, slot, &fp, k);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
	/* A rebuild walks 32,768 entries: all of them took half a minute. */
	assert_in_range(t1.tv_sec - t0.tv_sec, 0, 3);
	dircache_close(w.dirs, slot);
	container_writer_free(cw);
	world_release(&w);
}

/* Open containers: found at once, busy to readers, gone when closed. */
static void test_dircache_open_container(void **state)
{
	struct container_reader *r;
	struct container_writer *cw;
	struct akin_diag d = { 0 };
	struct dir_hit hit;
	struct place at = { 40, 0 };
	struct world w;
	struct fp fp;
	u32 slot, k, entry;

	world_init(&w, 1 << 20, 0);
	cw = open_writer(&w, 40);
	assert_int_equal(dircache_open(w.dirs, cw, &slot, &d), 0);
	for (k = 0; k < 100; k++) {
		fp = fp_of(&w, 40, k);
		dircache_lookup(w.dirs, &fp, 1, &hit);
		assert_true(hit.container == 0);
		assert_int_equal(container_writer_add(cw, &fp, 16, NULL,
						      &entry, &d), 0);
		dircache_note(w.dirs, slot, &fp, entry);
		dircache_lookup(w.dirs, &fp, 1, &hit);
		assert_true(hit.container == 40 && hit.entry == k &&
			    hit.len == 16);
		at.entry = k;
		assert_int_equal(dircache_verify(w.dirs, &at, &fp, &hit, &d),
				 0);
		assert_true(hit.container == 40);
	}
	at.entry = 100;
	assert_int_equal(dircache_verify(w.dirs, &at, &fp, &hit, &d), 0);
	assert_true(hit.container == 0);
	assert_int_equal(dircache_get(w.dirs, 40, &r, &d), -AKIN_E_busy);
	put_open_group(cw, 40);
	dircache_close(w.dirs, slot);
	dircache_lookup(w.dirs, &fp, 1, &hit);
	assert_true(hit.container == 0);
	seal(cw);
	memset(&d, 0, sizeof(d));
	assert_int_equal(dircache_get(w.dirs, 40, &r, &d), 0);
	dircache_put(w.dirs, 40);
	dircache_lookup(w.dirs, &fp, 1, &hit);
	assert_true(hit.container == 40 && hit.entry == 99);
	world_release(&w);
}

static void test_dircache_forget(void **state)
{
	struct container_reader *r;
	struct akin_diag d = { 0 };
	struct dir_hit hit;
	struct world w;
	struct fp fp;

	world_init(&w, 1 << 20, 0);
	make(&w, 3, 10, 5);
	fp = fp_of(&w, 3, 7);
	assert_int_equal(dircache_load(w.dirs, 3, &d), 0);
	dircache_forget(w.dirs, 4);
	dircache_forget(w.dirs, 3);
	assert_false(dircache_has(w.dirs, 3));
	/* Pinned: not found either, but the reader lives on. */
	assert_int_equal(dircache_get(w.dirs, 3, &r, &d), 0);
	dircache_lookup(w.dirs, &fp, 1, &hit);
	assert_true(hit.container == 3);
	dircache_forget(w.dirs, 3);
	dircache_lookup(w.dirs, &fp, 1, &hit);
	assert_true(hit.container == 0);
	assert_int_equal(container_directory(r)->nr_entries, 10);
	dircache_put(w.dirs, 3);
	assert_false(dircache_has(w.dirs, 3));
	world_release(&w);
}

/* Unreadable ones are errors each time, and no state is left of them. */
static void test_dircache_unreadable(void **state)
{
	struct sim_fault fault = { .kinds = SIM_READ, .nth = 1,
				   .code = -AKIN_E_io };
	struct dircache_stats stats;
	struct container_reader *r;
	struct akin_diag d = { 0 };
	struct world w;

	world_init(&w, 1 << 20, 0);
	make(&w, 1, 10, 5);
	assert_int_equal(dircache_get(w.dirs, 9, &r, &d), -AKIN_E_absent);
	assert_non_null(strstr(d.text, "container 9"));
	simdisk_fail(w.sd, &fault);
	memset(&d, 0, sizeof(d));
	assert_int_equal(dircache_get(w.dirs, 1, &r, &d), -AKIN_E_io);
	memset(&d, 0, sizeof(d));
	assert_int_equal(dircache_get(w.dirs, 1, &r, &d), 0);
	dircache_put(w.dirs, 1);
	dircache_get_stats(w.dirs, &stats);
	assert_int_equal(stats.load_failures, 2);
	assert_int_equal(stats.nr, 1);
	world_release(&w);
}

/* Allocation failures on the way: nothing is lost, nothing leaks. */
static void test_dircache_nomem(void **state)
{
	struct container_reader *r;
	struct akin_diag d;
	struct world w;
	u64 n;
	int err;

	world_init(&w, 1 << 20, 0);
	make(&w, 1, 10, 5);
	for (n = 1;; n++) {
		memset(&d, 0, sizeof(d));
		mem_fail_after(n);
		err = dircache_get(w.dirs, 1, &r, &d);
		mem_fail_after(0);
		if (!err)
			break;
		assert_int_equal(err, -AKIN_E_nomem);
		assert_int_equal(d.code, err);
		assert_true(n < 100);
	}
	assert_true(n > 3);
	dircache_put(w.dirs, 1);
	world_release(&w);
}

struct asker {
	pthread_t thread;
	struct world *w;
	struct decoder dec;
	u64 seed;
	u32 nr_bad;
	/* One question, asked by all at once. */
	pthread_barrier_t *start;
	int err;
	char text[200];
};

static void decoder_for(struct asker *a)
{
	struct codec_choice choice = { CODEC_NONE, 0 };
	struct akin_diag d = { 0 };

	assert_int_equal(decoder_init(&a->dec, &choice, &d), 0);
}

#define GROUP_CONTAINERS 6
#define GROUPS_EACH 20

/* Random groups: each is what it must be, or the damaged one. */
static void *ask_groups(void *arg)
{
	const struct group_data *g;
	struct asker *a = arg;
	struct rng r = { a->seed };
	struct akin_diag d;
	u8 want[16];
	u64 c;
	u32 i, k, index;
	int err;

	for (i = 0; i < 1500; i++) {
		c = 1 + rng_below(&r, GROUP_CONTAINERS);
		index = (u32)rng_below(&r, GROUPS_EACH);
		memset(&d, 0, sizeof(d));
		err = groupcache_get(a->w->groups, &a->dec, c, index, &g, &d);
		if (c == 2 && index == 3) {
			assert_int_equal(err, -AKIN_E_bad_checksum);
			assert_non_null(strstr(d.text, "container 2: group 3"));
			a->nr_bad++;
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(g->raw_len, 8 * 16);
		for (k = 0; k < 8; k++) {
			chunk_of(c, index * 8 + k, want);
			assert_memory_equal(g->raw + 16 * k, want, 16);
		}
		groupcache_put(a->w->groups, g);
	}
	return NULL;
}

static void damage_group(struct world *w, u64 c, u32 index)
{
	char name[FORMAT_NAME_MAX];
	struct container_reader *r;
	struct akin_diag d = { 0 };

	assert_int_equal(container_open(w->disk, &pool, c, 0, &r, &d), 0);
	format_container_name(c, 0, name);
	simdisk_flip_bit(w->sd, name,
			 container_directory(r)->groups[index].off + 30, 3);
	container_close(r);
}

static void test_groupcache_threads(void **state)
{
	struct groupcache_stats stats;
	struct asker a[4] = { { 0 } };
	struct world w;
	size_t budget;
	u32 i, nr_bad;
	u64 c;

	for (budget = 0; budget <= 64 * 1024; budget += 16 * 1024) {
		world_init(&w, 1 << 20, budget);
		for (c = 1; c <= GROUP_CONTAINERS; c++)
			make(&w, c, GROUPS_EACH * 8, 8);
		damage_group(&w, 2, 3);
		for (i = 0; i < 4; i++) {
			a[i].w = &w;
			a[i].seed = i + 1;
			a[i].nr_bad = 0;
			decoder_for(&a[i]);
			assert_int_equal(pthread_create(&a[i].thread, NULL,
							ask_groups, &a[i]), 0);
		}
		for (nr_bad = 0, i = 0; i < 4; i++) {
			pthread_join(a[i].thread, NULL);
			decoder_release(&a[i].dec);
			nr_bad += a[i].nr_bad;
		}
		groupcache_get_stats(w.groups, &stats);
		assert_true(nr_bad > 10);
		assert_true(stats.bytes <= budget);
		/* Four pinned ones on top, each with its entry. */
		assert_true(stats.peak_bytes <= budget + 5 * 512);
		assert_true(stats.reads >= GROUP_CONTAINERS * GROUPS_EACH);
		if (budget == 64 * 1024)	/* all fit: read once each */
			assert_in_range(stats.reads,
					GROUP_CONTAINERS * GROUPS_EACH,
					GROUP_CONTAINERS * GROUPS_EACH +
						nr_bad);
		world_release(&w);
	}
}

/* A disk on which reading waits until it is let go. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const struct disk_ops *real;
	bool hold;
	unsigned nr_held;
} slow = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };

static int slow_pread(struct file *f, void *data, size_t n, u64 off,
		      struct akin_diag *diag)
{
	pthread_mutex_lock(&slow.lock);
	slow.nr_held++;
	pthread_cond_broadcast(&slow.changed);
	while (slow.hold)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	return slow.real->pread(f, data, n, off, diag);
}

static void *ask_once(void *arg)
{
	const struct group_data *g = NULL;
	struct akin_diag d = { 0 };
	struct asker *a = arg;

	a->err = groupcache_get(a->w->groups, &a->dec, 1, (u32)a->seed, &g,
				&d);
	snprintf(a->text, sizeof(a->text), "%.150s", d.text);
	if (!a->err)
		groupcache_put(a->w->groups, g);
	return NULL;
}

/* One reads, three wait for it; its result is everybody's, once. */
static void share_one(struct world *w, u32 index, int want)
{
	struct asker a[4] = { { 0 } };
	struct groupcache_stats before, after;
	struct timespec ts = { 0, 50 * 1000 * 1000 };
	u32 i;

	groupcache_get_stats(w->groups, &before);
	slow.hold = true;
	slow.nr_held = 0;
	for (i = 0; i < 4; i++) {
		a[i].w = w;
		a[i].seed = index;
		decoder_for(&a[i]);
		assert_int_equal(pthread_create(&a[i].thread, NULL, ask_once,
						&a[i]), 0);
	}
	pthread_mutex_lock(&slow.lock);
	while (!slow.nr_held)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	nanosleep(&ts, NULL);
	pthread_mutex_lock(&slow.lock);
	slow.hold = false;
	pthread_cond_broadcast(&slow.changed);
	pthread_mutex_unlock(&slow.lock);
	for (i = 0; i < 4; i++) {
		pthread_join(a[i].thread, NULL);
		decoder_release(&a[i].dec);
		assert_int_equal(a[i].err, want);
		assert_string_equal(a[i].text, a[0].text);
	}
	assert_int_equal(slow.nr_held, 1);
	groupcache_get_stats(w->groups, &after);
	assert_int_equal(after.reads - before.reads, 1);
	assert_int_equal(after.hits - before.hits, 3);
}

static void test_groupcache_shares(void **state)
{
	struct akin_diag d = { 0 };
	struct disk_ops ops;
	struct world w;

	world_init(&w, 1 << 20, 1 << 20);
	make(&w, 1, 64, 8);
	damage_group(&w, 1, 5);
	assert_int_equal(dircache_load(w.dirs, 1, &d), 0);
	slow.real = w.disk->ops;
	ops = *w.disk->ops;
	ops.pread = slow_pread;
	w.disk->ops = &ops;
	share_one(&w, 4, 0);
	share_one(&w, 5, -AKIN_E_bad_checksum);
	/* An error is not kept: the next one reads again. */
	share_one(&w, 5, -AKIN_E_bad_checksum);
	w.disk->ops = slow.real;
	world_release(&w);
}

/* Groups that do not exist, and a chunk that is not what its entry says. */
static void test_groupcache_refuses(void **state)
{
	const struct group_data *g;
	struct container_writer *cw;
	struct asker a = { 0 };
	struct akin_diag d = { 0 };
	struct world w;
	struct fp fp;
	u32 entry;

	world_init(&w, 1 << 20, 1 << 20);
	decoder_for(&a);
	make(&w, 1, 16, 8);
	assert_int_equal(groupcache_get(w.groups, &a.dec, 1, 2, &g, &d),
			 -AKIN_E_bad_field);
	memset(&d, 0, sizeof(d));
	assert_int_equal(groupcache_get(w.groups, &a.dec, 7, 0, &g, &d),
			 -AKIN_E_absent);
	cw = open_writer(&w, 2);
	fp = fp_of(&w, 3, 0);	/* but container 2's bytes */
	assert_int_equal(container_writer_add(cw, &fp, 16, NULL, &entry, &d),
			 0);
	put_open_group(cw, 2);
	seal(cw);
	memset(&d, 0, sizeof(d));
	assert_int_equal(groupcache_get(w.groups, &a.dec, 2, 0, &g, &d),
			 -AKIN_E_bad_fp);
	assert_string_equal(d.text, "container 2: chunk 0 does not match its "
				    "fingerprint");
	decoder_release(&a.dec);
	world_release(&w);
}

/* Small groups are counted with what they cost. */
static void test_groupcache_counts_entries(void **state)
{
	const struct group_data *g;
	struct groupcache_stats stats;
	struct asker a = { 0 };
	struct akin_diag d = { 0 };
	struct world w;
	u32 i, nr;

	world_init(&w, 4 << 20, 64 * 1024);
	decoder_for(&a);
	make(&w, 1, 2000, 1);
	for (i = 0; i < 2000; i++) {
		assert_int_equal(groupcache_get(w.groups, &a.dec, 1, i, &g,
						&d), 0);
		groupcache_put(w.groups, g);
	}
	groupcache_get_stats(w.groups, &stats);
	assert_true(stats.bytes <= 64 * 1024);
	for (nr = 0, i = 2000; i-- > 0;) {
		u64 reads = stats.reads;

		assert_int_equal(groupcache_get(w.groups, &a.dec, 1, i, &g,
						&d), 0);
		groupcache_put(w.groups, g);
		groupcache_get_stats(w.groups, &stats);
		if (stats.reads != reads)
			break;
		nr++;
	}
	/* 16 bytes and an entry of some hundred. */
	assert_in_range(nr, 64 * 1024 / 400, 64 * 1024 / 80);
	decoder_release(&a.dec);
	world_release(&w);
}

#define NR_PLACES 256

/* Memory for groups of the usual size: each a place of its own, what is free
 * first; others on the heap; and free ones are given back to the system when
 * the budget has no room for them. */
static void test_groupcache_places(void **state)
{
	const size_t len = 100000;
	struct groupcache_places *p;
	u8 *raw[NR_PLACES], *more;
	struct world w;
	size_t cap;
	u32 i, nr;

	world_init(&w, 1 << 20, NR_PLACES * GROUPCACHE_PLACE);
	p = &w.groups->places;
	assert_int_equal(p->nr, NR_PLACES);
	for (i = 0; i < NR_PLACES; i++) {
		raw[i] = groupcache_take_raw(w.groups, len, &cap);
		assert_ptr_equal(raw[i], p->base + i * GROUPCACHE_PLACE);
		assert_int_equal(cap, GROUPCACHE_PLACE);
		memset(raw[i], (int)i, len);
	}
	more = groupcache_take_raw(w.groups, len, &cap);
	assert_int_equal(cap, len);
	groupcache_give_raw(w.groups, more, cap);
	groupcache_give_raw(w.groups, raw[200], GROUPCACHE_PLACE);
	groupcache_give_raw(w.groups, raw[7], GROUPCACHE_PLACE);
	assert_int_equal(p->nr_used, NR_PLACES - 2);
	for (i = 0; i < 2; i++) {
		nr = (u32)(i ? GROUPCACHE_PLACE + 1 : GROUPCACHE_PLACE / 2);
		more = groupcache_take_raw(w.groups, nr, &cap);
		assert_int_not_equal(cap, GROUPCACHE_PLACE);
		groupcache_give_raw(w.groups, more, cap);
	}
	assert_ptr_equal(groupcache_take_raw(w.groups, len, &cap), raw[7]);
	assert_int_equal(p->nr_resident, NR_PLACES);
	/* All but every fourth, and then a budget for a quarter of them. */
	for (i = 0; i < NR_PLACES; i++) {
		if (i % 4 != 1 && i != 200)
			groupcache_give_raw(w.groups, raw[i], GROUPCACHE_PLACE);
	}
	assert_int_equal(p->nr_resident, NR_PLACES);
	groupcache_set_budget(w.groups, NR_PLACES / 4 * GROUPCACHE_PLACE);
	assert_int_equal(p->nr_used, NR_PLACES / 4);
	assert_int_equal(p->nr_resident, NR_PLACES / 4);
	for (i = 1; i < NR_PLACES; i += 4) {
		assert_int_equal(raw[i][0], (u8)i);
		assert_int_equal(raw[i][len - 1], (u8)i);
		groupcache_give_raw(w.groups, raw[i], GROUPCACHE_PLACE);
	}
	world_release(&w);
	/* Too little for a table of them. */
	world_init(&w, 1 << 20, (GROUPCACHE_PLACES_MIN - 1) * GROUPCACHE_PLACE);
	more = groupcache_take_raw(w.groups, len, &cap);
	assert_int_equal(cap, len);
	groupcache_give_raw(w.groups, more, cap);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dircache_soak),
		cmocka_unit_test(test_dircache_finds_all),
		cmocka_unit_test(test_dircache_evicts_oldest),
		cmocka_unit_test(test_dircache_note_stays_cheap),
		cmocka_unit_test(test_dircache_open_container),
		cmocka_unit_test(test_dircache_forget),
		cmocka_unit_test(test_dircache_unreadable),
		cmocka_unit_test(test_dircache_nomem),
		cmocka_unit_test(test_groupcache_threads),
		cmocka_unit_test(test_groupcache_shares),
		cmocka_unit_test(test_groupcache_refuses),
		cmocka_unit_test(test_groupcache_counts_entries),
		cmocka_unit_test(test_groupcache_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
