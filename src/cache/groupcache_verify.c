/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing decoded chunks with their fingerprints: all of a group, for those
 * who ask for it as a whole, or those that are handed out.
 *
 * A restore of one version wants a third of what the groups hold that it
 * decodes; hashing the rest would be in vain. What was found to match is
 * remembered as long as the group is cached. What does not is not: it is asked
 * for again only by who looks for another copy.
 */
#include "base/check.h"
#include "cache/groupcache_internal.h"

int groupcache_source_open(struct groupcache *gc, const struct group_data *data,
			   struct groupcache_source *src,
			   struct akin_diag *diag)
{
	struct dircache *dirs = gc->opt.dirs;
	struct akin_diag why = { 0 };
	int err;

	src->own = NULL;
	err = dircache_get(dirs, data->container, &src->r, &why);
	if (err == -AKIN_E_busy) {
		memset(&why, 0, sizeof(why));
		err = dircache_peek(dirs, data->container, data->index,
				    &src->own, &why);
		src->r = src->own;
	}
	return err ? diag_set(diag, err, "%s", why.code ? why.text :
			      akin_strerror(err)) : 0;
}

void groupcache_source_close(struct groupcache *gc,
			     const struct group_data *data,
			     struct groupcache_source *src)
{
	if (src->own)
		container_close(src->own);
	else
		dircache_put(gc->opt.dirs, data->container);
}

/* Chunks hashed at a time: a group of average chunks. */
#define VERIFY_BATCH 32

/* One group's chunks, by their directory. */
struct verify {
	struct groupcache_run *run;
	const struct directory *dir;
	const struct group_data *data;
};

static const struct dir_entry *entry_of(const struct verify *v, u32 chunk)
{
	return &v->dir->entries[v->dir->groups[v->data->index].first + chunk];
}

/* At most VERIFY_BATCH chunks. ok[i]: it matches. */
static int verify_batch(const struct verify *v, const u32 *chunks, u32 nr,
			bool *ok)
{
	struct groupcache_run *run = v->run;
	const struct hasher *h = v->dir->kind == CONTAINER_METADATA ?
					 run->gc->opt.meta_hasher :
					 run->gc->opt.data_hasher;
	struct hash_item items[VERIFY_BATCH];
	struct fp fps[VERIFY_BATCH];
	const struct dir_entry *de;
	u32 i;
	int err;

	akin_assert(nr >= 1 && nr <= VERIFY_BATCH);
	for (i = 0; i < nr; i++) {
		de = entry_of(v, chunks[i]);
		items[i].data = v->data->raw + de->raw_off;
		items[i].len = de->len;
	}
	err = hasher_batch(h, run->dec->scratch, items, nr, fps);
	for (i = 0; !err && i < nr; i++) {
		de = entry_of(v, chunks[i]);
		if (de->fp_salt)
			hasher_salted(h, de->fp_salt, items[i].data,
				      items[i].len, &fps[i]);
		ok[i] = fp_equal(&fps[i], &de->fp);
	}
	return err;
}

static int say_wrong(const struct verify *v, u32 chunk, struct akin_diag *diag)
{
	return diag_set(diag, -AKIN_E_bad_fp, "container %llu: chunk %u does "
			"not match its fingerprint",
			(unsigned long long)v->dir->container,
			entry_of(v, chunk)->entry);
}

int groupcache_verify_all(struct groupcache_run *run,
			  const struct directory *dir,
			  const struct group_data *data, u32 *bad_ret,
			  struct akin_diag *diag)
{
	struct verify v = { run, dir, data };
	const struct dir_group *g = &dir->groups[data->index];
	u32 chunks[VERIFY_BATCH], i, n, done;
	bool ok[VERIFY_BATCH];
	int err;

	for (done = 0; done < g->nr; done += n) {
		n = (u32)min_u64(g->nr - done, VERIFY_BATCH);
		for (i = 0; i < n; i++)
			chunks[i] = done + i;
		err = verify_batch(&v, chunks, n, ok);
		if (err)
			return err;
		for (i = 0; i < n && ok[i]; i++)
			;
		if (i < n) {
			*bad_ret = g->first + done + i;
			return say_wrong(&v, done + i, diag);
		}
	}
	return 0;
}

/* The directory that @data was decoded by. It may have left the cache and come
 * back another. */
static int open_same(struct groupcache *gc, const struct group_data *data,
		     struct groupcache_source *src, struct akin_diag *diag)
{
	const struct directory *d;
	int err;

	err = groupcache_source_open(gc, data, src, diag);
	if (err)
		return err;
	d = container_directory(src->r);
	if (d->generation == data->generation && data->index < d->nr_groups &&
	    d->groups[data->index].raw_len == data->raw_len)
		return 0;
	groupcache_source_close(gc, data, src);
	return diag_set(diag, -AKIN_E_bad_length, "container %llu: group %u "
			"changed while it was read",
			(unsigned long long)data->container, data->index);
}

int groupcache_verify(struct groupcache_run *run, struct groupcache_entry *e,
		      struct akin_diag *diag)
{
	struct groupcache_source src;
	u32 bad, i;
	int err;

	err = open_same(run->gc, &e->data, &src, diag);
	if (err)
		return err;
	err = groupcache_verify_all(run, container_directory(src.r), &e->data,
				    &bad, diag);
	groupcache_source_close(run->gc, &e->data, &src);
	for (i = 0; !err && i < ARRAY_SIZE(e->checked); i++)
		atomic_store_explicit(&e->checked[i], UINT64_MAX,
				      memory_order_release);
	return err;
}

/* What is not yet known to match; err: of the last one that does not. */
static int check_batch(const struct verify *v, struct groupcache_entry *e,
		       const u32 *chunks, u32 nr, struct akin_diag *diag)
{
	bool ok[VERIFY_BATCH];
	u32 i;
	int err;

	err = verify_batch(v, chunks, nr, ok);
	if (err)
		return err;
	for (i = 0; i < nr; i++) {
		if (ok[i])
			groupcache_set_bit(e, chunks[i]);
		else
			err = say_wrong(v, chunks[i], diag);
	}
	return err;
}

int groupcache_check(struct groupcache *gc, struct decoder *dec,
		     const struct group_data *g, const u32 *chunks, u32 nr,
		     struct akin_diag *diag)
{
	struct groupcache_entry *e = container_of(g, struct groupcache_entry,
						  data);
	struct groupcache_run run = { .gc = gc, .dec = dec };
	struct verify v = { .run = &run, .data = g };
	u32 want[VERIFY_BATCH], i = 0, n;
	struct groupcache_source src;
	int err, wrong = 0;

	while (i < nr && groupcache_bit(e, chunks[i]))
		i++;
	if (i == nr)
		return 0;
	err = open_same(gc, g, &src, diag);
	if (err)
		return err;
	v.dir = container_directory(src.r);
	while (!err && i < nr) {
		for (n = 0; i < nr && n < VERIFY_BATCH; i++) {
			if (chunks[i] >= v.dir->groups[g->index].nr)
				err = diag_set(diag, -AKIN_E_bad_field,
					       "there is no such chunk");
			else if (!groupcache_bit(e, chunks[i]))
				want[n++] = chunks[i];
		}
		if (!err && n)
			err = check_batch(&v, e, want, n, diag);
		if (err == -AKIN_E_bad_fp) {
			wrong = err;	/* the others shall be known all the same */
			err = 0;
		}
	}
	groupcache_source_close(gc, g, &src);
	return err ? err : wrong;
}
