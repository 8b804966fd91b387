/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "simpool.h"
#include "testlib.h"

int simpool_init(struct simpool *sp, struct akin_diag *diag)
{
	struct akin_init_options opt = { .chunk_size = 1024,
					 .container_bytes = 1 << 20 };
	struct disk *meta, *data;
	int err;

	memset(sp, 0, sizeof(*sp));
	sp->meta = simdisk_new("metadata");
	sp->data = simdisk_new("data");
	simdisk_join(sp->data, sp->meta);
	meta = simdisk_attach(sp->meta, true);
	data = simdisk_attach(sp->data, true);
	err = store_init_on(meta, data, &opt, diag);
	disk_free(meta);
	disk_free(data);
	return err;
}

void simpool_free(struct simpool *sp)
{
	simdisk_free(sp->data);
	simdisk_free(sp->meta);
}

struct simpool simpool_clone(const struct simpool *sp)
{
	struct simpool out = *sp;

	out.meta = simdisk_clone(sp->meta);
	out.data = simdisk_clone(sp->data);
	simdisk_join(out.data, out.meta);
	return out;
}

struct simpool simpool_reboot(const struct simpool *sp, u64 seed,
			      enum sim_mode mode)
{
	struct simpool out = *sp;

	out.meta = simdisk_reboot(sp->meta, seed, mode);
	out.data = simdisk_reboot(sp->data, seed + 1, mode);
	simdisk_join(out.data, out.meta);
	return out;
}

int simpool_open(struct simpool *sp, bool read_only, struct akin_pool **out,
		 struct akin_diag *diag)
{
	struct akin_open_options opt = { .read_only = read_only,
					 .memory_bytes = sp->memory ?
						sp->memory : 32 << 20,
					 .nr_threads = 1,
					 .single_writer = sp->single_writer };

	return store_open_hashed(simdisk_attach(sp->meta, !read_only),
				 simdisk_attach(sp->data, !read_only), &opt,
				 sp->data_hash, out, diag);
}

struct source {
	const u8 *data;
	size_t left;
};

static long source_read(void *ctx, void *buf, size_t cap,
			struct akin_diag *diag)
{
	struct source *s = ctx;
	size_t n = s->left < cap ? s->left : cap;

	memcpy(buf, s->data, n);
	s->data += n;
	s->left -= n;
	return (long)n;
}

static void on_notice(void *ctx, const char *text)
{
	struct simpool *sp = ctx;

	sp->nr_notices++;
	snprintf(sp->notice, sizeof(sp->notice), "%s", text);
}

int simpool_put(struct simpool *sp, const char *name, const void *data,
		size_t n, struct akin_diag *diag)
{
	struct akin_backup_options opt = { .host = "test",
					   .verify = sp->verify,
					   .delta_depth = sp->delta_depth,
					   .engine = sp->engine,
					   .notice = on_notice, .ctx = sp };
	struct source s = { data, n };
	struct akin_pool *p;
	int err;

	sp->nr_notices = 0;
	err = simpool_open(sp, false, &p, diag);
	if (err)
		return err;
	err = akin_backup_stream(p, &opt, name, source_read, NULL, &s,
				 &sp->result, diag);
	akin_pool_close(p);
	return err;
}

struct compare {
	const u8 *data;
	size_t left;
	bool differs;
};

static int compare_data(void *ctx, const void *data, size_t n)
{
	struct compare *c = ctx;

	if (n > c->left || memcmp(c->data, data, n)) {
		c->differs = true;
		return 0;
	}
	c->data += n;
	c->left -= n;
	return 0;
}

struct find {
	const char *name;
	u64 number;
	int nr;
};

static int find_one(void *ctx, const struct akin_snapshot *s)
{
	struct find *f = ctx;

	f->nr++;
	if (f->name && s->nr_paths == 1 && !strcmp(s->paths[0], f->name))
		f->number = s->number;
	return 0;
}

int simpool_get(struct simpool *sp, const char *name, const void *data,
		size_t n, enum simpool_found *out, struct akin_diag *diag)
{
	struct compare c = { data, n, false };
	struct find f = { .name = name };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, diag);
	if (err)
		return err;
	err = akin_snapshot_each(p, NULL, find_one, &f, diag);
	if (!err && f.number)
		err = akin_snapshot_read(p, f.number, name, compare_data, NULL,
					 &c, diag);
	akin_pool_close(p);
	*out = !f.number ? SIMPOOL_ABSENT :
	       c.differs || c.left ? SIMPOOL_OTHER : SIMPOOL_WHOLE;
	return err;
}

int simpool_get_number(struct simpool *sp, u64 number, const char *name,
		       const void *data, size_t n, enum simpool_found *out,
		       struct akin_diag *diag)
{
	struct compare c = { data, n, false };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, diag);
	if (err)
		return err;
	err = akin_snapshot_read(p, number, name, compare_data, NULL, &c,
				 diag);
	akin_pool_close(p);
	*out = c.differs || c.left ? SIMPOOL_OTHER : SIMPOOL_WHOLE;
	return err;
}

int simpool_nr_snapshots(struct simpool *sp, struct akin_diag *diag)
{
	struct find f = { 0 };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, true, &p, diag);
	if (err)
		return err;
	err = akin_snapshot_each(p, NULL, find_one, &f, diag);
	akin_pool_close(p);
	return err ? err : f.nr;
}

void simpool_fill(u64 seed, u8 *data, size_t n)
{
	struct rng common = { 42 }, own = { seed };
	size_t at, len;

	rng_fill(&common, data, n);
	/* A tenth of it is this seed's own, in pieces. */
	for (at = 0; at + 2048 < n; at += 20480) {
		len = 1 + rng_below(&own, 2047);
		rng_fill(&own, data + at, len);
	}
	/* And a run that repeats inside. */
	if (n > 65536)
		memcpy(data + n - 16384, data + 8192, 16384);
}

void simpool_expect_sound(struct simpool *sp, const char *where)
{
	struct akin_check_options opt = { .read_data = true };
	struct akin_check_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, &d);
	if (err)
		fail_msg("%s: %s", where, d.text);
	err = akin_check(p, &opt, &r, &d);
	akin_pool_close(p);
	if (err || r.findings)
		fail_msg("%s: check: %llu findings: %s", where,
			 (unsigned long long)r.findings, d.text);
}
