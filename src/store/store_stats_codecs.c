/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each codec made of what: a pass over the directories of all containers,
 * one at a time and past the cache, which such a pass would only empty.
 */
#include "codec/codec.h"
#include "container/container_reader.h"
#include "store/store.h"

/* Behind the known codecs: groups that a newer version has written. */
#define NR_SUMS (CODEC_NR + 1)

struct codec_sums {
	struct akin_pool *p;
	struct akin_diag *diag;
	u64 nr_unreadable;
	struct akin_codec_stats data[NR_SUMS], meta[NR_SUMS];
};

static void add_groups(struct codec_sums *sums, const struct directory *d)
{
	struct akin_codec_stats *rows, *s;
	const struct dir_group *g;
	u32 i;

	rows = d->kind == CONTAINER_DATA ? sums->data : sums->meta;
	for (i = 0; i < d->nr_groups; i++) {
		g = &d->groups[i];
		s = &rows[g->codec_id < CODEC_NR ? g->codec_id : CODEC_NR];
		s->groups++;
		s->bytes_raw += g->raw_len;
		s->bytes_stored += g->len;
		if (g->depth == 0)
			continue;
		s->groups_by_reference++;
		s->bytes_raw_by_reference += g->raw_len;
		s->bytes_stored_by_reference += g->len;
	}
}

static int add_container(void *ctx, const struct catalog_container *row)
{
	struct codec_sums *sums = ctx;
	struct akin_diag why = { 0 };
	struct container_reader *r;
	int err;

	err = store_check_stop(sums->p, sums->diag);
	if (err)
		return err;
	err = container_open(sums->p->data, &sums->p->super.pool, row->number,
			     row->generation, &r, &why);
	if (err == -AKIN_E_nomem)
		return diag_pass(sums->diag, err, &why);
	if (err) {
		sums->nr_unreadable++;
		return 0;
	}
	add_groups(sums, container_directory(r));
	container_close(r);
	return 0;
}

int akin_stats_codecs(struct akin_pool *p,
		      int (*fn)(void *ctx, const struct akin_codec_stats *s),
		      void *ctx, uint64_t *unreadable_ret,
		      struct akin_diag *diag)
{
	struct codec_sums sums = { .p = p, .diag = diag };
	struct akin_codec_stats *s;
	u32 i;
	int err;

	err = catalog_each_container(p->catalog, add_container, &sums, diag);
	for (i = 0; !err && i < 2 * NR_SUMS; i++) {
		s = i < NR_SUMS ? &sums.data[i] : &sums.meta[i - NR_SUMS];
		s->codec = codec_name((u8)(i % NR_SUMS));
		if (!s->codec)
			s->codec = "unknown";
		s->metadata = i >= NR_SUMS;
		if (s->groups)
			err = fn(ctx, s);
	}
	if (unreadable_ret)
		*unreadable_ret = sums.nr_unreadable;
	return diag_said(diag, err);
}
