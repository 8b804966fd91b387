/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool's own counters, and those of all living processes.
 */
#include "base/mem.h"
#include "store/store.h"

/* Who may read the superblock and pass through its directory. Where nobody
 * tells, only ourselves. */
static void find_readers(struct akin_pool *p, struct counters_readers *out)
{
	struct disk_stat dir, file;

	memset(out, 0, sizeof(*out));
	if (disk_stat(p->meta, ".", &dir, NULL) ||
	    disk_stat(p->meta, FILE_SUPERBLOCK, &file, NULL))
		return;
	out->gid = file.gid;
	out->group = file.mode & 040 && dir.mode & 010 && dir.gid == file.gid;
	out->others = file.mode & 04 && dir.mode & 01;
}

int store_counters_open(struct akin_pool *p, struct akin_diag *diag)
{
	struct counters_readers readers;
	int err;

	find_readers(p, &readers);
	static_assert(sizeof(p->super.pool.b) == COUNTERS_POOL_BYTES,
		      "the header has room for the pool's id");
	err = counters_file_open(p->super.pool.b, &readers,
				 &p->counters_file, diag);
	if (err)
		return err;
	p->counters = counters_file_counters(p->counters_file);
	p->streams = counters_file_streams(p->counters_file);
	disk_count_into(p->meta, &p->counters->metadata);
	disk_count_into(p->data, &p->counters->data);
	return 0;
}

void akin_pool_get_counters(struct akin_pool *p, uint64_t *values_ret)
{
	counters_read(p->counters, values_ret);
}

const struct akin_counter_field *akin_counter_fields(uint32_t *nr_ret)
{
	return counters_fields(nr_ret);
}

struct each {
	const char *pool;
	int (*fn)(void *ctx, const struct akin_counters_process *c);
	void *ctx;
};

static int each_seen(void *ctx, const struct counters_seen *seen)
{
	struct akin_counters_process out = { 0 };
	struct each *e = ctx;

	store_hex(seen->pool, sizeof(seen->pool), out.pool);
	if (e->pool && strcmp(e->pool, out.pool))
		return 0;
	out.pid = seen->pid;
	out.uid = seen->uid;
	out.handle = seen->handle;
	out.opened_sec = seen->opened_sec;
	out.closed = seen->closed;
	static_assert(sizeof(out.command) == sizeof(seen->command), "copied");
	memcpy(out.command, seen->command, sizeof(out.command));
	out.values = seen->values;
	out.streams = seen->streams;
	out.nr_streams = seen->nr_streams;
	return e->fn(e->ctx, &out);
}

int akin_counters_each(const char *pool,
		       int (*fn)(void *ctx,
				 const struct akin_counters_process *c),
		       void *ctx)
{
	struct each e = { pool, fn, ctx };

	return counters_file_each(each_seen, &e);
}
