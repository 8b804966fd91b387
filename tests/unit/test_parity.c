/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parity: the code against arithmetic of its own; files that come back byte for
 * byte from any loss that parity makes up for, and a clear answer beyond it;
 * parity that is damaged, forged or somebody else's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "base/mem.h"
#include "container/container_parity.h"
#include "parity/parity_code.h"
#include "simdisk.h"

#define SECTOR PARITY_SECTOR
#define OK(x) assert_int_equal(x, 0)

static const struct pool_id pool = { { 7 } };
static const struct container_id id = { 5, 2 };
#define FILE_NAME "containers/05/0000000000000005.2"
#define PARITY_NAME FILE_NAME ".parity"

/* The code ------------------------------------------------------------------*/

static u8 slow_mul(u8 a, u8 b)
{
	unsigned x = a, r = 0;

	for (; b; b >>= 1, x <<= 1) {
		if (x & 0x100)
			x ^= 0x11d;
		if (b & 1)
			r ^= x;
	}
	return (u8)r;
}

static u8 slow_inverse(u8 a)
{
	unsigned b;

	for (b = 1; b < 256; b++)
		if (slow_mul(a, (u8)b) == 1)
			return (u8)b;
	return 0;
}

struct stripe {
	u32 k, m;
	size_t len;
	u8 *bytes, *copy;
	u8 *all[255], *was[255];
};

static void stripe_init(struct stripe *s, u32 k, u32 m, size_t len,
			struct rng *r)
{
	struct parity_coder *c = parity_coder_new(k, m);
	u32 i;

	s->k = k;
	s->m = m;
	s->len = len;
	s->bytes = mem_zalloc((k + m) * len);
	s->copy = mem_alloc((k + m) * len);
	assert_true(c && s->bytes && s->copy);
	rng_fill(r, s->bytes, k * len);
	for (i = 0; i < k + m; i++) {
		s->all[i] = s->bytes + i * len;
		s->was[i] = s->copy + i * len;
	}
	for (i = 0; i < k; i++)
		parity_coder_add(c, i, s->all[i], s->all + k, len);
	memcpy(s->copy, s->bytes, (k + m) * len);
	parity_coder_free(c);
}

static void stripe_release(struct stripe *s)
{
	mem_free(s->bytes);
	mem_free(s->copy);
}

/* Losing these (bits: data, then parity), what does healing give? */
static void lose(struct stripe *s, const struct parity_coder *c,
		 const bool *lost)
{
	u32 i, nr = 0, nr_parity = 0;
	int err;

	for (i = 0; i < s->k + s->m; i++) {
		if (!lost[i])
			continue;
		memset(s->all[i], 0xee, s->len);
		nr += i < s->k;
		nr_parity += i >= s->k;
	}
	err = parity_coder_heal(c, lost, s->all, s->all + s->k, s->len);
	if (nr + nr_parity <= s->m || !nr) {
		OK(err);
		assert_memory_equal(s->bytes, s->copy, s->k * s->len);
	} else {
		assert_int_equal(err, -AKIN_E_bad_data);
		for (i = 0; i < s->k; i++)
			if (lost[i])
				assert_int_equal(s->all[i][0], 0xee);
	}
	memcpy(s->bytes, s->copy, (s->k + s->m) * s->len);
}

static void test_code_bytes(void **state)
{
	struct rng r = { 1 };
	struct stripe s;
	u32 row, j;
	size_t at;
	u8 v;

	stripe_init(&s, 100, 7, 64, &r);
	for (row = 0; row < s.m; row++) {
		for (at = 0; at < s.len; at++) {
			for (v = 0, j = 0; j < s.k; j++)
				v ^= slow_mul(slow_inverse((u8)(255 - row) ^
							   (u8)j), s.all[j][at]);
			assert_int_equal(s.all[s.k + row][at], v);
		}
	}
	stripe_release(&s);
}

/* All subsets of a small stripe. */
static void test_code_subsets(void **state)
{
	struct rng r = { 2 };
	struct parity_coder *c;
	struct stripe s;
	bool lost[8];
	u32 set, i;

	stripe_init(&s, 5, 3, 32, &r);
	c = parity_coder_new(5, 3);
	for (set = 0; set < 256; set++) {
		for (i = 0; i < 8; i++)
			lost[i] = set >> i & 1;
		lose(&s, c, lost);
	}
	parity_coder_free(c);
	stripe_release(&s);
}

static void test_code_shapes(void **state)
{
	static const u32 shapes[][2] = { { 1, 1 }, { 1, 2 }, { 2, 64 },
					 { 128, 2 }, { 128, 7 }, { 128, 64 },
					 { 191, 64 }, { 254, 1 } };
	struct rng r = { 3 };
	struct parity_coder *c;
	struct stripe s;
	bool lost[255];
	u32 i, n, round;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		stripe_init(&s, shapes[i][0], shapes[i][1], 64, &r);
		c = parity_coder_new(s.k, s.m);
		for (round = 0; round < 40; round++) {
			memset(lost, 0, sizeof(lost));
			/* Exactly what it can bear, then one more. */
			for (n = 0; n < s.m + round % 2 && n < s.k + s.m; ) {
				u32 at = (u32)rng_below(&r, s.k + s.m);

				n += !lost[at];
				lost[at] = true;
			}
			lose(&s, c, lost);
		}
		parity_coder_free(c);
		stripe_release(&s);
	}
}

/* Shapes --------------------------------------------------------------------*/

static void test_plan(void **state)
{
	struct parity_map m;
	u64 bytes;
	u32 percent;

	parity_map_plan(8 * MiB, 5, &m);
	assert_int_equal(m.nr_sectors, 2048);
	assert_int_equal(m.nr_stripes, 16);
	assert_int_equal(m.per_stripe, 128);
	assert_int_equal(m.parity, 7);
	assert_int_equal(m.nr_parity, 112);
	/* Head and table of 17,376 bytes take five sectors. */
	assert_int_equal(parity_sector_off(&m, 0, 0), 5 * SECTOR);
	assert_int_equal(parity_sector_off(&m, 1, 3), (5 + 16 + 3) * SECTOR);
	assert_int_equal(parity_back_off(&m), (5 + 112) * SECTOR);
	assert_int_equal(parity_file_bytes(&m), 117 * SECTOR + 17376);
	parity_map_plan(1, 5, &m);
	assert_int_equal(m.nr_sectors, 1);
	assert_int_equal(m.nr_parity, 2);
	for (percent = 1; percent <= PARITY_PERCENT_MAX; percent++) {
		for (bytes = 1; bytes <= 128 * MiB; bytes += bytes * 3 / 4 + 1) {
			parity_map_plan(bytes, (u8)percent, &m);
			assert_true(m.per_stripe <= PARITY_STRIPE &&
				    m.parity <= PARITY_MAX && m.parity >= 2 &&
				    m.parity * 100 >= m.per_stripe * percent &&
				    (u64)m.per_stripe * m.nr_stripes >=
				    m.nr_sectors);
		}
	}
}

/* Files ---------------------------------------------------------------------*/

struct world {
	struct simdisk *sd;
	struct disk *disk;
	struct file *file;
	u8 *bytes;		/* as they were */
	size_t len;
	struct parity_map map;
};

static void world_init(struct world *w, size_t len, u8 percent)
{
	struct akin_diag d = { 0 };
	struct rng r = { len };
	u64 bytes;

	memset(w, 0, sizeof(*w));
	w->sd = simdisk_new("data");
	w->disk = simdisk_attach(w->sd, true);
	w->len = len;
	w->bytes = mem_alloc(len);
	assert_non_null(w->bytes);
	rng_fill(&r, w->bytes, len);
	OK(disk_mkdir(w->disk, "containers", &d));
	OK(disk_mkdir(w->disk, "containers/05", &d));
	OK(disk_open(w->disk, FILE_NAME, DISK_WRITE | DISK_CREATE, &w->file,
		     &d));
	OK(file_pwrite(w->file, w->bytes, len, 0, &d));
	OK(container_parity_write(w->disk, &pool, &id, percent, &bytes, &d));
	parity_map_plan(len, percent, &w->map);
	assert_int_equal(bytes, parity_file_bytes(&w->map));
}

static void world_release(struct world *w)
{
	OK(file_close(w->file, NULL));
	disk_free(w->disk);
	simdisk_free(w->sd);
	mem_free(w->bytes);
}

static struct container_parity *open_parity(struct world *w)
{
	struct container_parity *p;
	struct akin_diag d = { 0 };

	OK(container_parity_open(w->disk, &pool, &id, &p, &d));
	return p;
}

static void spoil(struct world *w, u32 sector)
{
	simdisk_flip_bit(w->sd, FILE_NAME, (u64)sector * SECTOR, sector % 8);
}

/* Everything reads as it was. @healed: so many sectors were bad. */
static void expect_read(struct world *w, u32 healed)
{
	struct container_parity *p = open_parity(w);
	u8 *out = mem_alloc(w->len);
	struct akin_diag d = { 0 };
	u32 n;

	OK(container_parity_read(p, w->file, 0, w->len, out, &n, &d));
	assert_memory_equal(out, w->bytes, w->len);
	assert_int_equal(n, healed);
	mem_free(out);
	container_parity_close(p);
}

static struct parity_report look(struct world *w, bool heal)
{
	struct container_parity *p = open_parity(w);
	struct parity_report out;
	struct akin_diag d = { 0 };

	if (heal)
		OK(container_parity_heal(p, w->file, &out, &d));
	else
		OK(container_parity_check(p, w->file, &out, &d));
	container_parity_close(p);
	return out;
}

static void expect_healed(struct world *w)
{
	struct parity_report r = look(w, false);
	struct akin_diag d = { 0 };
	u8 *out = mem_alloc(w->len);
	u64 size;

	assert_int_equal(r.bad_sectors + r.bad_parity + r.hopeless, 0);
	assert_false(r.bad_length || r.bad_copy);
	OK(file_size(w->file, &size, &d));
	assert_int_equal(size, w->len);
	OK(file_pread(w->file, out, w->len, 0, &d));
	assert_memory_equal(out, w->bytes, w->len);
	mem_free(out);
}

static const size_t lengths[] = { 1, 4095, 4096, 4097, 10000, 700001,
				  3000000 };

/* As many sectors as a stripe can lose, of every stripe. */
static void test_files(void **state)
{
	struct parity_report r;
	struct world w;
	u32 i, s, n, spoilt;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		world_init(&w, lengths[i], 4);
		expect_read(&w, 0);
		expect_healed(&w);
		for (spoilt = 0, s = 0; s < w.map.nr_sectors; s++) {
			n = s / w.map.nr_stripes;
			if (n % 3 || n / 3 >= w.map.parity)
				continue;
			spoil(&w, s);
			spoilt++;
		}
		expect_read(&w, spoilt);
		r = look(&w, false);
		assert_int_equal(r.bad_sectors, spoilt);
		assert_int_equal(r.hopeless + r.bad_parity, 0);
		r = look(&w, true);
		assert_int_equal(r.bad_sectors, spoilt);
		expect_healed(&w);
		world_release(&w);
	}
}

/* A hole, as long as it may be, at every place. */
static void test_burst(void **state)
{
	struct world w;
	u32 nr, at, i;

	world_init(&w, 2 * MiB + 100, 5);
	nr = w.map.nr_stripes * w.map.parity;
	assert_int_equal(nr, 5 * 6);
	for (at = 0; at + nr <= w.map.nr_sectors; at += 31) {
		for (i = 0; i < nr; i++)
			spoil(&w, at + i);
		expect_read(&w, nr);
		assert_int_equal(look(&w, true).bad_sectors, nr);
	}
	expect_healed(&w);
	world_release(&w);
}

/* One sector more than a stripe can lose: an error, and nothing is written. */
static void test_too_many(void **state)
{
	struct container_parity *p;
	struct akin_diag d = { 0 };
	struct parity_report r;
	struct world w;
	u64 before;
	u8 out[100];
	u32 i, n;

	world_init(&w, 1 * MiB, 4);
	for (i = 0; i <= w.map.parity; i++)
		spoil(&w, 7 * i * w.map.nr_stripes);
	spoil(&w, 1);
	before = simdisk_hash(w.sd);
	p = open_parity(&w);
	assert_int_equal(container_parity_read(p, w.file, 50, 100, out, &n,
					       &d), -AKIN_E_bad_data);
	assert_non_null(strstr(d.text, "more than its parity"));
	r = look(&w, false);
	assert_int_equal(r.bad_sectors, w.map.parity + 2);
	assert_int_equal(r.hopeless, w.map.parity + 1);
	assert_int_equal(simdisk_hash(w.sd), before);
	/* The one in another stripe is healed all the same. */
	r = look(&w, true);
	assert_int_equal(r.hopeless, w.map.parity + 1);
	r = look(&w, false);
	assert_int_equal(r.bad_sectors, w.map.parity + 1);
	diag_clear(&d);
	assert_int_equal(container_parity_read(p, w.file, w.len - 5, 6, out,
					       &n, &d), -AKIN_E_bad_length);
	container_parity_close(p);
	world_release(&w);
}

/* Lost parity counts like lost data. */
static void test_parity_sectors(void **state)
{
	struct parity_report r;
	struct world w;
	u32 i;

	world_init(&w, 1 * MiB, 4);
	assert_int_equal(w.map.parity, 6);
	for (i = 0; i < 4; i++)
		simdisk_flip_bit(w.sd, PARITY_NAME,
				 parity_sector_off(&w.map, i, 0) + 17, 3);
	spoil(&w, 0);
	spoil(&w, w.map.nr_stripes);
	expect_read(&w, 2);
	r = look(&w, false);
	assert_int_equal(r.bad_sectors, 2);
	assert_int_equal(r.bad_parity, 4);
	assert_int_equal(r.hopeless, 0);
	spoil(&w, 2 * w.map.nr_stripes);
	assert_int_equal(look(&w, false).hopeless, 3);
	world_release(&w);
}

/* Cut, longer, unreadable. */
static void test_lengths(void **state)
{
	struct sim_fault fault = { .kinds = SIM_READ, .code = -AKIN_E_io,
				   .nth = 6, .name = FILE_NAME };
	struct akin_diag d = { 0 };
	struct parity_report r;
	struct world w;

	world_init(&w, 1 * MiB + 77, 5);
	OK(file_truncate(w.file, w.len - 5 * SECTOR, &d));
	expect_read(&w, 6);
	r = look(&w, true);
	assert_int_equal(r.bad_sectors, 6);
	expect_healed(&w);
	OK(file_pwrite(w.file, "behind", 6, w.len + 9000, &d));
	expect_read(&w, 0);
	r = look(&w, true);
	assert_true(r.bad_length);
	assert_int_equal(r.bad_sectors, 0);
	expect_healed(&w);
	/* The disk fails once, behind four reads of parity; the sector is made
	 * again. */
	simdisk_fail(w.sd, &fault);
	expect_read(&w, 1);
	assert_int_equal(simdisk_nr_faults(w.sd), 1);
	simdisk_fail(w.sd, &(struct sim_fault){ 0 });
	world_release(&w);
}

/* Sectors that a disk cannot read, and so not write in part: those of the
 * container, the last and incomplete one with them, are written back whole. */
static void test_bad_sectors(void **state)
{
	struct parity_report r;
	struct world w;

	world_init(&w, 300 * SECTOR + 77, 5);
	simdisk_break_page(w.sd, FILE_NAME, 0);
	simdisk_break_page(w.sd, FILE_NAME, 100 * SECTOR);
	simdisk_break_page(w.sd, FILE_NAME, 300 * SECTOR);
	expect_read(&w, 3);
	r = look(&w, true);
	assert_int_equal(r.bad_sectors, 3);
	assert_int_equal(r.hopeless, 0);
	expect_healed(&w);
	world_release(&w);
}

/* Damaged parity ------------------------------------------------------------*/

static int try_open(struct world *w, const struct container_id *as)
{
	struct container_parity *p;
	struct akin_diag d = { 0 };
	int err = container_parity_open(w->disk, &pool, as, &p, &d);

	if (!err)
		container_parity_close(p);
	else
		assert_int_equal(d.code, err);
	return err;
}

static void test_two_copies(void **state)
{
	struct world w;
	u64 front[] = { 0x30, 0x60 }, back;
	u32 i;

	for (i = 0; i < 2; i++) {
		world_init(&w, 100000, 5);
		back = i ? parity_back_off(&w.map) :
			   parity_file_bytes(&w.map) - 0x60 + front[0];
		/* Head, then table, of the first copy; then of the second. */
		simdisk_flip_bit(w.sd, PARITY_NAME, front[i], 1);
		spoil(&w, 3);
		expect_read(&w, 1);
		assert_true(look(&w, false).bad_copy);
		simdisk_flip_bit(w.sd, PARITY_NAME, front[i], 1);
		simdisk_flip_bit(w.sd, PARITY_NAME, back, 1);
		expect_read(&w, 1);
		assert_true(look(&w, false).bad_copy);
		simdisk_flip_bit(w.sd, PARITY_NAME, front[i], 1);
		assert_int_equal(try_open(&w, &id), -AKIN_E_bad_checksum);
		world_release(&w);
	}
}

static void test_hostile(void **state)
{
	const struct container_id other = { 5, 1 };
	struct container_parity *p;
	struct akin_diag d = { 0 };
	struct world w;
	struct file *f;
	u64 size, cut, n;

	world_init(&w, 20000, 5);
	/* Another generation's. */
	OK(disk_rename(w.disk, PARITY_NAME,
		       "containers/05/0000000000000005.1.parity", &d));
	assert_int_equal(try_open(&w, &other), -AKIN_E_bad_identity);
	assert_int_equal(try_open(&w, &id), -AKIN_E_absent);
	OK(container_parity_write(w.disk, &pool, &id, 5, &size, &d));
	/* Cut anywhere. */
	for (cut = 0; cut < size; cut += 97) {
		OK(container_parity_write(w.disk, &pool, &id, 5, &n, &d));
		OK(disk_open(w.disk, PARITY_NAME, DISK_WRITE, &f, &d));
		OK(file_truncate(f, cut, &d));
		OK(file_close(f, &d));
		if (container_parity_open(w.disk, &pool, &id, &p, NULL))
			continue;
		container_parity_close(p);
		assert_true(look(&w, false).bad_copy);
		expect_read(&w, 0);
	}
	OK(container_parity_remove(w.disk, &id, &n, &d));
	assert_int_equal(n, cut - 97);
	OK(container_parity_remove(w.disk, &id, &n, &d));
	assert_int_equal(n, 0);
	world_release(&w);
}

/* A container that changed after its parity was made is never "healed" to what
 * neither says. */
static void test_forged_sum(void **state)
{
	u8 head[PARITY_HEAD_BYTES], *table, out[16];
	struct container_parity *p;
	struct akin_diag d = { 0 };
	struct world w;
	struct file *f;
	size_t len;
	u32 n;

	world_init(&w, 50000, 5);
	len = parity_table_bytes(&w.map);
	table = mem_alloc(len);
	OK(disk_open(w.disk, PARITY_NAME, DISK_WRITE, &f, &d));
	OK(file_pread(f, table, len, sizeof(head), &d));
	parity_table_put(table, 4, 0);
	w.map.pool = pool;
	w.map.number = id.number;
	w.map.generation = id.generation;
	parity_head_encode(&w.map, table, head);
	OK(file_pwrite(f, head, sizeof(head), 0, &d));
	OK(file_pwrite(f, table, len, sizeof(head), &d));
	OK(file_close(f, &d));
	p = open_parity(&w);
	assert_int_equal(container_parity_read(p, w.file, 4 * SECTOR, 16, out,
					       &n, &d), -AKIN_E_bad_data);
	container_parity_close(p);
	assert_int_equal(look(&w, true).hopeless, 1);
	mem_free(table);
	world_release(&w);
}

/* Memory, space, and the disk run out -----------------------------------------*/

static void test_no_memory(void **state)
{
	struct container_parity *p;
	struct parity_report r;
	struct world w;
	u64 bytes, i, size;
	u8 out[8];
	u32 n;
	int err = -1;

	world_init(&w, 300000, 5);
	spoil(&w, 0);
	for (i = 1; err; i++) {
		mem_fail_after(i);
		err = container_parity_open(w.disk, &pool, &id, &p, NULL);
		if (!err) {
			err = container_parity_read(p, w.file, 0, 8, out, &n,
						    NULL);
			if (!err)
				err = container_parity_heal(p, w.file, &r,
							    NULL);
			container_parity_close(p);
		}
		mem_fail_after(0);
		assert_true(!err || err == -AKIN_E_nomem);
	}
	assert_true(i > 8);
	expect_healed(&w);
	for (err = -1, i = 1; err; i++) {
		mem_fail_after(i);
		err = container_parity_write(w.disk, &pool, &id, 7, &bytes,
					     NULL);
		mem_fail_after(0);
		assert_true(!err || err == -AKIN_E_nomem);
		if (err)	/* the old one is still there */
			expect_healed(&w);
	}
	parity_map_plan(w.len, 7, &w.map);
	size = parity_file_bytes(&w.map);
	assert_int_equal(bytes, size);
	world_release(&w);
}

static size_t count_names(struct world *w)
{
	size_t nr;
	struct sim_name *names = simdisk_names(w->sd, &nr);

	simdisk_names_free(names, nr);
	return nr;
}

/* A full disk: no parity, nothing half-written, the old one still there. */
static void test_no_space(void **state)
{
	struct akin_diag d = { 0 };
	struct world w;
	size_t nr;
	u64 bytes;

	world_init(&w, 1 * MiB, 5);
	nr = count_names(&w);
	simdisk_set_capacity(w.sd, simdisk_used(w.sd) + 8 * SECTOR);
	assert_int_equal(container_parity_write(w.disk, &pool, &id, 50, &bytes,
						&d), -AKIN_E_nospace);
	assert_int_equal(count_names(&w), nr);
	expect_healed(&w);
	world_release(&w);
}

/* Whatever a power cut leaves is the old parity, the new, or none. */
static void test_crash(void **state)
{
	struct world w;
	u64 op, ops, seed, bytes;
	int err = -1;

	for (op = 1; err; op++) {
		world_init(&w, 30000, 5);
		OK(file_sync(w.file, NULL));
		OK(disk_sync_dir(w.disk, "containers/05", NULL));
		OK(disk_sync_dir(w.disk, "containers", NULL));
		OK(disk_sync_dir(w.disk, ".", NULL));
		ops = simdisk_nr_ops(w.sd);
		simdisk_crash_at(w.sd, ops + op);
		err = container_parity_write(w.disk, &pool, &id, 20, &bytes,
					     NULL);
		for (seed = 0; seed < 8; seed++) {
			struct world again = w;

			again.sd = simdisk_reboot(w.sd, seed, SIM_WILD);
			again.disk = simdisk_attach(again.sd, true);
			OK(disk_open(again.disk, FILE_NAME, 0, &again.file,
				     NULL));
			expect_healed(&again);
			OK(file_close(again.file, NULL));
			disk_free(again.disk);
			simdisk_free(again.sd);
		}
		simdisk_crash_at(w.sd, 0);
		world_release(&w);
	}
	assert_true(op > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_bytes),
		cmocka_unit_test(test_code_subsets),
		cmocka_unit_test(test_code_shapes),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_parity_sectors),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_bad_sectors),
		cmocka_unit_test(test_two_copies),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_forged_sum),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
