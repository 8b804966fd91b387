/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the lower half, and finding chunks.
 */
#include "base/check.h"
#include "base/mem.h"
#include "depot/depot_internal.h"

struct codec_choice depot_codec(const struct depot *d)
{
	struct codec_choice c = { d->super.codec_id, d->super.codec_level };

	return c;
}

static int decoder_make(void *arg, void **out, struct akin_diag *diag)
{
	struct codec_choice choice = depot_codec(arg);
	struct decoder *dec = mem_zalloc(sizeof(*dec));
	int err;

	if (!dec)
		return diag_set(diag, -AKIN_E_nomem, "decoder");
	err = decoder_init(dec, &choice, diag);
	if (err) {
		mem_free(dec);
		return err;
	}
	*out = dec;
	return 0;
}

static void decoder_drop(void *ctx)
{
	struct decoder *dec = ctx;

	if (dec)
		decoder_release(dec);
	mem_free(dec);
}

/*
 * Cutting and fingerprints derive from the seed that pools made alike share,
 * so that they agree on chunks; each purpose has a context of its own.
 */
static int derive(struct depot *d, const struct hash_ops *data_hash,
		  struct akin_diag *diag)
{
	const struct super *s = &d->super;
	struct chunk_params params = { s->chunk_method, s->chunk_min,
				       s->chunk_avg, s->chunk_max };
	u8 key[HASH_KEY_BYTES];
	int err;

	hash_derive_key("akin 2026 chunk fingerprint", s->share_seed,
			sizeof(s->share_seed), key);
	if (data_hash)
		err = hasher_new_of(data_hash, key, &d->data_hasher, diag);
	else
		err = hasher_new(s->hash_id, key, &d->data_hasher, diag);
	if (err)
		return err;
	hash_derive_key("akin 2026 metadata fingerprint", s->share_seed,
			sizeof(s->share_seed), key);
	err = hasher_new(s->hash_id, key, &d->meta_hasher, diag);
	if (err)
		return err;
	hash_derive_key("akin 2026 chunk cutting", s->share_seed,
			sizeof(s->share_seed), key);
	err = chunker_new(&params, key, &d->chunker, diag);
	if (err)
		return err;
	hash_derive_key("akin 2026 chunk sketch", s->share_seed,
			sizeof(s->share_seed), key);
	return sketcher_new(d->chunker, key, &d->sketcher, diag);
}

int depot_init(struct depot *d, struct disk *meta, struct disk *data,
	       const struct super *super, const struct depot_options *opt,
	       struct akin_diag *diag)
{
	struct dircache_options dopt = { 0 };
	struct groupcache_options gopt = { 0 };
	struct workers_options wopt = { 0 };
	int err;

	memset(d, 0, sizeof(*d));
	d->meta = meta;
	d->data = data;
	d->super = *super;
	d->counters = opt->counters;
	d->streams = opt->streams;
	d->bases = depot_bases_new();
	err = d->bases ? derive(d, opt->data_hash, diag) :
			 diag_set(diag, -AKIN_E_nomem, "depot");
	if (err)
		goto fail;
	dopt.data = data;
	dopt.pool = super->pool;
	dopt.budget_bytes = opt->dircache_bytes;
	dopt.counters = opt->counters;
	dopt.generation = opt->generation;
	dopt.ctx = opt->generation_ctx;
	err = dircache_new(&dopt, &d->dirs, diag);
	if (err)
		goto fail;
	gopt.dirs = d->dirs;
	gopt.data_hasher = d->data_hasher;
	gopt.meta_hasher = d->meta_hasher;
	gopt.budget_bytes = opt->groupcache_bytes;
	gopt.counters = opt->counters;
	err = groupcache_new(&gopt, &d->groups, diag);
	if (err)
		goto fail;
	wopt.nr_threads = opt->nr_threads;
	wopt.ctx_new = decoder_make;
	wopt.ctx_free = decoder_drop;
	wopt.arg = d;
	err = workers_new(&wopt, &d->workers, diag);
	if (err)
		goto fail;
	return 0;
fail:
	depot_release(d);
	return err;
}

void depot_release(struct depot *d)
{
	workers_free(d->workers);
	groupcache_free(d->groups);
	dircache_free(d->dirs);
	depot_bases_free(d->bases);
	depot_damage_release(&d->damage);
	depot_damage_release(&d->found);
	sketcher_free(d->sketcher);
	chunker_free(d->chunker);
	hasher_free(d->data_hasher);
	hasher_free(d->meta_hasher);
	memset(d, 0, sizeof(*d));
}

int depot_note_damage(struct depot *d, const struct place *at)
{
	int err = depot_damage_add(&d->damage, at, NULL);

	return err ? err : depot_damage_add(&d->found, at, NULL);
}

/*
 * A damaged copy may hide a sound one of the same chunk in a directory in
 * memory; it is then found through the index.
 */
void depot_drop_damaged(struct depot *d, struct dir_hit *out, u32 n)
{
	u32 i;

	for (i = 0; depot_damage_any(&d->damage) && i < n; i++) {
		if (out[i].container &&
		    depot_is_damaged(d, out[i].container, out[i].entry))
			out[i].container = 0;
	}
}

/* One that the directories in memory do not have: confirm what the index
 * says. Damage makes it not found, and so stored anew. */
static void find_indexed(struct depot *d, const struct fp *fp,
			 const struct place *at, struct dir_hit *out)
{
	/* What was loaded for its predecessors most likely has it. */
	dircache_lookup(d->dirs, fp, 1, out);
	depot_drop_damaged(d, out, 1);
	if (out->container || !at->container)
		return;
	if (dircache_verify(d->dirs, at, fp, out, NULL))
		out->container = 0;
	depot_drop_damaged(d, out, 1);
}

/* Fingerprints probed in the index at a time. */
#define FIND_BATCH 256

int depot_index_lookup(struct depot *d, const struct fp *fps, u32 n,
		       struct place *out, struct akin_diag *diag)
{
	if (d->engine != SUPER_ENGINE_SIMILARITY)
		return index_lookup(d->index, fps, n, out, diag);
	memset(out, 0, n * sizeof(*out));
	return 0;
}

/* Of those not found, what the index has. */
static int find_by_index(struct depot *d, const struct fp *fps, u32 n,
			 struct dir_hit *out, struct akin_diag *diag)
{
	struct fp missing[FIND_BATCH];
	struct place at[FIND_BATCH];
	u32 which[FIND_BATCH];
	u32 i = 0, m, k;
	int err;

	while (i < n) {
		for (m = 0; i < n && m < FIND_BATCH; i++) {
			if (out[i].container)
				continue;
			missing[m] = fps[i];
			which[m++] = i;
		}
		if (m == 0)
			break;
		err = index_lookup(d->index, missing, m, at, diag);
		if (err)
			return err;
		for (k = 0; k < m; k++) {
			if (at[k].container)
				find_indexed(d, &missing[k], &at[k],
					     &out[which[k]]);
		}
	}
	return 0;
}

int depot_find(struct depot *d, const struct fp *fps, u32 n,
	       struct dir_hit *out, struct akin_diag *diag)
{
	int err = 0;

	dircache_lookup(d->dirs, fps, n, out);
	depot_drop_damaged(d, out, n);
	if (d->engine != SUPER_ENGINE_SIMILARITY)
		err = find_by_index(d, fps, n, out, diag);
	if (!err && d->similar)
		depot_find_similar(d, fps, n, out);
	return err;
}

int depot_find_again(struct depot *d, const struct fp *fp, struct dir_hit *out,
		     struct akin_diag *diag)
{
	struct place at;
	int err;

	dircache_lookup_again(d->dirs, fp, out);
	if (!out->container ||
	    !depot_is_damaged(d, out->container, out->entry))
		return 0;
	err = depot_index_lookup(d, fp, 1, &at, diag);
	if (err)
		return err;
	find_indexed(d, fp, &at, out);
	return 0;
}

/* One look for chunks; damaged places count only in the last resort. */
struct look {
	struct depot *depot;
	bool damaged_too;
	struct akin_diag *why;
};

static void look_in_memory(struct look *l, const struct fp *fps, u32 n,
			   struct dir_hit *out)
{
	dircache_lookup(l->depot->dirs, fps, n, out);
	if (!l->damaged_too)
		depot_drop_damaged(l->depot, out, n);
}

static bool look_at(struct look *l, const struct place *at,
		    const struct fp *fp, struct dir_hit *out)
{
	if (dircache_verify(l->depot->dirs, at, fp, out, l->why))
		out->container = 0;
	if (!l->damaged_too)
		depot_drop_damaged(l->depot, out, 1);
	return out->container != 0;
}

static u32 nr_missing(const struct dir_hit *out, u32 n)
{
	u32 i, missing = 0;

	for (i = 0; i < n; i++)
		missing += !out[i].container;
	return missing;
}

/* Of what is missing, what the index in memory knows. */
static int locate_in_memory(struct look *l, const struct fp *fps, u32 n,
			    struct dir_hit *out, struct akin_diag *diag)
{
	struct place at;
	u32 i;
	int err;

	for (i = 0; i < n; i++) {
		if (out[i].container)
			continue;
		/* What was loaded for its predecessors most likely has it. */
		look_in_memory(l, &fps[i], 1, &out[i]);
		if (out[i].container)
			continue;
		err = index_lookup(l->depot->index, &fps[i], 1, &at, diag);
		if (err)
			return err;
		if (at.container)
			look_at(l, &at, &fps[i], &out[i]);
	}
	return 0;
}

/* Try the containers of a hint until nothing is missing. */
static void locate_hinted(struct look *l, const struct hint *hint,
			  const struct fp *fps, u32 n, struct dir_hit *out)
{
	struct dircache *dirs = l->depot->dirs;
	u32 i, k, missing;

	for (k = 0; hint && k < hint->nr; k++) {
		if (dircache_has(dirs, hint->containers[k]))
			continue;
		/* An unreadable one is said only if something stays missing. */
		ignore_result(dircache_load(dirs, hint->containers[k],
					    l->why));
		missing = 0;
		for (i = 0; i < n; i++) {
			if (!out[i].container)
				look_in_memory(l, &fps[i], 1, &out[i]);
			missing += !out[i].container;
		}
		if (!missing)
			return;
	}
}

#define PLACES_MAX 8

/* The index, in memory and on disk. */
static int locate_indexed(struct look *l, const struct fp *fp,
			  struct dir_hit *out, struct akin_diag *diag)
{
	struct index *index = l->depot->index;
	struct place at[PLACES_MAX];
	u32 nr = 0, i;
	int err;

	err = index_lookup(index, fp, 1, at, diag);
	if (err)
		return err;
	if (at[0].container && look_at(l, &at[0], fp, out))
		return 0;
	err = index_lookup_disk(index, fp, at, PLACES_MAX, &nr, diag);
	for (i = 0; !err && i < nr; i++) {
		if (look_at(l, &at[i], fp, out))
			return 0;
	}
	out->container = 0;
	return err;
}

/*
 * A table in memory may lack entries of a directory, and the index is a cache
 * that can be lost: what a hint names must be found without either.
 */
static void search_hinted(struct look *l, const struct hint *hint,
			  const struct fp *fp, struct dir_hit *out)
{
	u32 k;

	for (k = 0; hint && k < hint->nr && !out->container; k++) {
		if (dircache_search(l->depot->dirs, hint->containers[k], fp,
				    out, l->why))
			out->container = 0;
		if (!l->damaged_too)
			depot_drop_damaged(l->depot, out, 1);
	}
}

/* A directory that is loaded in vain costs more than asking the index; a
 * listing's hint, which is that of hundreds of files, names many. */
#define HINT_DIRECT 8

/* Everything but memory, for those that are missing. */
static int locate_missing(struct look *l, const struct hint *hint,
			  const struct fp *fps, u32 n, struct dir_hit *out,
			  struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	if (hint && hint->nr > HINT_DIRECT)
		err = locate_in_memory(l, fps, n, out, diag);
	if (!err && nr_missing(out, n))
		locate_hinted(l, hint, fps, n, out);
	for (i = 0; !err && i < n; i++) {
		if (!out[i].container)
			err = locate_indexed(l, &fps[i], &out[i], diag);
		if (!err && !out[i].container)
			search_hinted(l, hint, &fps[i], &out[i]);
	}
	return err;
}

/*
 * The same; again as long as others change the runs meanwhile. Who brings them
 * up to date may be another thread, after this one has looked.
 */
static int locate_refreshed(struct look *l, const struct hint *hint,
			    const struct fp *fps, u32 n, struct dir_hit *out,
			    struct akin_diag *diag)
{
	struct depot *d = l->depot;
	u64 seen = d->refresh ? index_reloads(d->index) : 0;
	int err;

	err = locate_missing(l, hint, fps, n, out, diag);
	while (!err && d->refresh && nr_missing(out, n)) {
		err = d->refresh(d->refresh_ctx, diag);
		if (err < 0 || index_reloads(d->index) == seen)
			break;
		seen = index_reloads(d->index);
		err = locate_missing(l, NULL, fps, n, out, diag);
	}
	return err < 0 ? err : 0;
}

static int say_missing(const struct fp *fp, const struct akin_diag *why,
		       struct akin_diag *diag)
{
	/* It may well be there: the machine is at fault, not the pool. */
	if (why->code && akin_error_class(why->code) != AKIN_CLASS_CORRUPT &&
	    akin_error_class(why->code) != AKIN_CLASS_ABSENT)
		return diag_set(diag, why->code,
				"chunk %02x%02x%02x%02x cannot be found: %s",
				fp->b[0], fp->b[1], fp->b[2], fp->b[3],
				why->text);
	if (why->code)
		return diag_set(diag, -AKIN_E_fp_unknown,
				"chunk %02x%02x%02x%02x is nowhere to be "
				"found (%s)", fp->b[0], fp->b[1], fp->b[2],
				fp->b[3], why->text);
	return diag_set(diag, -AKIN_E_fp_unknown,
			"chunk %02x%02x%02x%02x is nowhere to be found",
			fp->b[0], fp->b[1], fp->b[2], fp->b[3]);
}

int depot_locate(struct depot *d, const struct hint *hint,
		 const struct fp *fps, u32 n, struct dir_hit *out,
		 struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct look l = { d, false, &why };
	int err;
	u32 i;

	look_in_memory(&l, fps, n, out);
	if (!nr_missing(out, n))
		return 0;
	err = locate_refreshed(&l, hint, fps, n, out, diag);
	if (!err && depot_damage_any(&d->damage) && nr_missing(out, n)) {
		l.damaged_too = true;
		for (i = 0; i < n; i++) {
			if (!out[i].container)
				look_in_memory(&l, &fps[i], 1, &out[i]);
		}
		err = locate_missing(&l, hint, fps, n, out, diag);
	}
	for (i = 0; !err && i < n; i++) {
		if (!out[i].container)
			err = say_missing(&fps[i], &why, diag);
	}
	return err;
}

/* Ascending and without repetition; false if memory does not know one. */
static bool known_containers(struct depot *d, const struct fp *fps, u32 n,
			     u64 *out, u32 *nr_ret)
{
	struct dir_hit hits[CONTENT_INLINE_MAX];
	struct place at[CONTENT_INLINE_MAX];
	u32 i, k;
	u64 c;

	dircache_lookup(d->dirs, fps, n, hits);
	if (nr_missing(hits, n) &&
	    depot_index_lookup(d, fps, n, at, NULL))
		return false;
	*nr_ret = 0;
	for (i = 0; i < n; i++) {
		c = hits[i].container ? hits[i].container : at[i].container;
		if (!c)
			return false;
		for (k = *nr_ret; k > 0 && out[k - 1] > c; k--)
			;
		if (k > 0 && out[k - 1] == c)
			continue;
		memmove(out + k + 1, out + k, (*nr_ret - k) * sizeof(*out));
		out[k] = c;
		(*nr_ret)++;
	}
	return true;
}

int depot_narrow_hint(struct depot *d, const struct fp *fps, u32 n,
		      const struct hint *from, struct hint *to,
		      struct akin_diag *diag)
{
	u64 known[CONTENT_INLINE_MAX], *p = NULL;
	struct hint h = *from;

	akin_assert(n <= CONTENT_INLINE_MAX);
	if (h.nr > n && known_containers(d, fps, n, known, &h.nr)) {
		h.containers = known;
	} else {
		h.nr = (u32)min_u64(from->nr, DEPOT_HINT_MAX);
		h.containers = from->containers + (from->nr - h.nr);
	}
	if (h.nr) {
		p = mem_dup(h.containers, h.nr * sizeof(*p));
		if (!p)
			return diag_set(diag, -AKIN_E_nomem, "hint");
	}
	mem_free(to->containers);
	to->containers = p;
	to->nr = h.nr;
	return 0;
}

static int spot_in(const struct directory *dir, const struct dir_hit *at,
		   const struct fp *fp, struct chunk_spot *out)
{
	long i = container_entry_index(dir, at->entry);

	if (i < 0 || !fp_equal(&dir->entries[i].fp, fp))
		return -AKIN_E_fp_unknown;
	out->generation = dir->generation;
	out->group = dir->entries[i].group;
	out->chunk = (u32)i - dir->groups[out->group].first;
	out->raw_off = dir->entries[i].raw_off;
	out->len = dir->entries[i].len;
	out->group_raw = dir->groups[out->group].raw_len;
	out->group_stored = (u32)dir->groups[out->group].len;
	return (int)i;
}

int depot_spot(struct depot *d, const struct dir_hit *at, const struct fp *fp,
	       struct chunk_spot *out, struct akin_diag *diag)
{
	struct container_reader *r;
	int err;

	err = dircache_get(d->dirs, at->container, &r, diag);
	if (err)
		return err;
	err = spot_in(container_directory(r), at, fp, out);
	dircache_put(d->dirs, at->container);
	if (err < 0)
		return diag_set(diag, err, "container %llu: entry %u is "
				"another chunk",
				(unsigned long long)at->container, at->entry);
	return 0;
}

int depot_spot_get(struct depot *d, struct decoder *dec, u64 container,
		   const struct chunk_spot *spot, const struct group_data **out,
		   struct akin_diag *diag)
{
	const struct group_data *g;
	int err;

	err = groupcache_get_raw(d->groups, dec, container, spot->group, &g,
				 diag);
	if (err)
		return err;
	if (g->generation != spot->generation ||
	    spot->raw_off + (u64)spot->len > g->raw_len)
		err = diag_set(diag, -AKIN_E_bad_length, "container %llu: "
			       "group %u changed while it was read",
			       (unsigned long long)container, spot->group);
	if (!err)
		err = groupcache_check(d->groups, dec, g, &spot->chunk, 1,
				       diag);
	if (err)
		groupcache_put(d->groups, g);
	else
		*out = g;
	return err;
}

/* Copy the stored hint of a piece out of its directory. */
static int copy_hint(const struct directory *dir, int index, struct hint *out,
		     struct akin_diag *diag)
{
	const struct hint *h;

	out->nr = 0;
	if (!dir->hints || dir->hints[index].nr == 0)
		return 0;
	h = &dir->hints[index];
	out->containers = mem_dup(h->containers,
				  h->nr * sizeof(*h->containers));
	if (!out->containers)
		return diag_set(diag, -AKIN_E_nomem, "hint");
	out->nr = h->nr;
	return 0;
}

/*
 * Pin the container at *at. A piece that was there before may have been stored
 * again by this process, whose copy is found first and cannot be read yet: then
 * *at becomes the one that the hint knows.
 */
static int get_readable(struct depot *d, const struct fp *fp,
			const struct hint *hint, struct dir_hit *at,
			struct container_reader **out, struct akin_diag *diag)
{
	struct dir_hit other;
	u32 k;
	int err;

	err = dircache_get(d->dirs, at->container, out, NULL);
	for (k = 0; err == -AKIN_E_busy && hint && k < hint->nr; k++) {
		if (dircache_search(d->dirs, hint->containers[k], fp, &other,
				    NULL) || !other.container)
			continue;
		*at = other;
		err = dircache_get(d->dirs, at->container, out, NULL);
	}
	/* Once more for the message. */
	return err ? dircache_get(d->dirs, at->container, out, diag) : 0;
}

int depot_read_piece(struct depot *d, struct decoder *dec, const struct fp *fp,
		     const struct hint *hint, struct buf *bytes,
		     struct hint *own_hint, struct akin_diag *diag)
{
	const struct group_data *g;
	struct container_reader *r;
	struct chunk_spot spot = { 0 };
	struct dir_hit at;
	int err, index;

	mem_free(own_hint->containers);
	memset(own_hint, 0, sizeof(*own_hint));
	buf_reset(bytes);
	err = depot_locate(d, hint, fp, 1, &at, diag);
	if (!err)
		err = get_readable(d, fp, hint, &at, &r, diag);
	if (err)
		return err;
	index = spot_in(container_directory(r), &at, fp, &spot);
	err = index < 0 ? diag_set(diag, index, "metadata moved while read")
			: copy_hint(container_directory(r), index, own_hint,
				    diag);
	dircache_put(d->dirs, at.container);
	if (!err)
		err = depot_spot_get(d, dec, at.container, &spot, &g, diag);
	if (err)
		return err;
	buf_put(bytes, g->raw + spot.raw_off, spot.len);
	groupcache_put(d->groups, g);
	if (!err && buf_error(bytes))
		err = diag_set(diag, -AKIN_E_nomem, "metadata");
	return err;
}
