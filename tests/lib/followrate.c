/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "followrate.h"
#include "index/index_internal.h"
#include "store/store.h"
#include "synthpool.h"

/*
 * Of the index's budget five eighths are the table, which takes 20 bytes for
 * an entry; with a third to spare, so that it is not the table's size that
 * decides how many hooks there are.
 */
#define BYTES_PER_HOOK 43
#define PADDED_MEMORY ((size_t)128 << 20)

struct reader {
	const struct followrate_source *source;
	u64 at;
};

static long read_source(void *ctx, void *buf, size_t cap,
			struct akin_diag *diag)
{
	struct reader *r = ctx;
	size_t n = min_u64(cap, r->source->bytes - r->at);

	if (r->source->fill(r->source->ctx, r->at, buf, n))
		return -AKIN_E_io;
	r->at += n;
	return (long)n;
}

static int set_seed(struct disk *d, u8 role, const u8 *seed,
		    struct akin_diag *diag)
{
	struct super s;
	int err = store_super_read(d, &s, diag);

	if (err)
		return err;
	memcpy(s.share_seed, seed, sizeof(s.share_seed));
	return store_super_write(d, &s, role, diag);
}

/* With the same keys, so that both cut alike, and every time. */
static int make_pool(const struct followrate_setup *setup, bool padded,
		     struct akin_diag *diag)
{
	static const u8 seed[sizeof(((struct super *)0)->share_seed)] = { 1 };
	struct disk *meta, *data;
	int err;

	err = setup->disks(setup->ctx, padded, &meta, &data, diag);
	if (err)
		return err;
	err = store_init_on(meta, data, &setup->init, diag);
	if (!err)
		err = set_seed(meta, SUPER_METADATA, seed, diag);
	if (!err)
		err = set_seed(data, SUPER_DATA, seed, diag);
	disk_free(meta);
	disk_free(data);
	return err;
}

/* A pool as a process would have it that has so little memory. */
static int open_pool(const struct followrate_setup *setup, u64 padding,
		     struct akin_pool **out, struct akin_diag *diag)
{
	struct akin_open_options opt = { .nr_threads = setup->threads };
	struct akin_pool *p = NULL;
	int err;

	opt.memory_bytes = padding ? PADDED_MEMORY : setup->exact_memory;
	err = store_new(&opt, &p, diag);
	if (!err)
		err = setup->disks(setup->ctx, padding > 0, &p->meta, &p->data,
				   diag);
	if (!err)
		err = store_super_read(p->meta, &p->super, diag);
	if (!err && padding) {
		p->budget.dirs = FOLLOWRATE_DIRECTORIES;
		p->budget.index = max_u64(INDEX_MIN_BYTES, BYTES_PER_HOOK *
					  (padding >> FOLLOWRATE_HOOKS_LOG2));
	}
	if (!err)
		err = store_open_parts(p, diag);
	if (err) {
		akin_pool_close(p);
		return err;
	}
	/* As if it had been full: small pools have room for more. */
	if (padding)
		atomic_store(&p->index->shift, FOLLOWRATE_HOOKS_LOG2);
	*out = p;
	return 0;
}

static void note(struct akin_pool *p, const struct akin_backup_result *b,
		 bool padded, struct followrate *out)
{
	struct index_stats st;

	out->bytes = b->total.bytes;
	out->chunks = b->chunks;
	if (!padded) {
		out->new_exact = b->chunks_new;
		out->new_exact_bytes = b->total.bytes_new;
		return;
	}
	out->new_chunks = b->chunks_new;
	out->new_bytes = b->total.bytes_new;
	index_get_stats(p->index, &st);
	out->index_pages = st.page_reads + st.load_bytes / RUN_PAGE_BYTES;
	out->meta_reads = disk_io(p->meta)->read.ops;
	out->data_reads = disk_io(p->data)->read.ops;
}

static int put(const struct followrate_setup *setup, u64 padding,
	       const struct followrate_source *source, struct followrate *out,
	       struct akin_diag *diag)
{
	/* Another host each time: hits alone lead to what came before. */
	struct akin_backup_options opt = { .host = source->name };
	struct reader r = { .source = source };
	struct akin_backup_result result;
	struct akin_pool *p;
	int err;

	err = open_pool(setup, padding, &p, diag);
	if (err)
		return err;
	err = akin_backup_stream(p, &opt, source->name, read_source, NULL, &r,
				 &result, diag);
	if (!err)
		note(p, &result, padding > 0, out);
	akin_pool_close(p);
	return err;
}

static int pad(const struct followrate_setup *setup, u64 padding,
	       struct akin_diag *diag)
{
	struct akin_pool *p;
	int err;

	err = open_pool(setup, padding, &p, diag);
	if (err)
		return err;
	err = synthpool_fill(p, padding, diag);
	akin_pool_close(p);
	return err;
}

int followrate_run(const struct followrate_setup *setup,
		   const struct followrate_source *sources, u32 nr,
		   struct followrate *out, struct akin_diag *diag)
{
	u64 padding = 0;
	u32 i;
	int err;

	memset(out, 0, nr * sizeof(*out));
	err = make_pool(setup, false, diag);
	for (i = 0; !err && i < nr; i++) {
		err = put(setup, 0, &sources[i], &out[i], diag);
		padding += out[i].new_exact * setup->pad_factor;
	}
	if (!err)
		err = make_pool(setup, true, diag);
	if (!err)
		err = pad(setup, padding, diag);
	for (i = 0; !err && i < nr; i++)
		err = put(setup, padding, &sources[i], &out[i], diag);
	return err;
}
