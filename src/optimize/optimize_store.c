/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents: what of them is not fresh yet is read where it is and stored again,
 * children before parents (O1).
 *
 * A chunk that cannot be read stays where it is: the leaf's new hint names the
 * container of the old copy, which is then needed as before.
 */
#include "base/mem.h"
#include "optimize/optimize_internal.h"

/* Runs of places named to the packer for one chunk, as ingest does. */
#define NEAR_RUNS 32
/* Copies of one chunk that are tried. */
#define COPIES_TRIED 4
/* Of one piece, in the runs of the index. */
#define PLACES_MAX 8
/* A piece of a listing of that length may have records that run over its end;
 * that it is fresh says nothing of them. */
#define PIECE_RUNS_OVER (64 * KiB)

/* What the index in memory does not hold, if it holds only a sample. */
static int find_on_disk(struct optimize *o, const struct fp *fp,
			u64 *container_ret, struct akin_diag *diag)
{
	struct place at[PLACES_MAX];
	struct index_stats st;
	struct dir_hit hit;
	u32 nr, i;
	int err;

	index_get_stats(o->new->index, &st);
	if (!st.sample_shift)
		return 0;
	err = index_lookup_disk(o->new->index, fp, at, PLACES_MAX, &nr, diag);
	for (i = 0; !err && i < nr && !*container_ret; i++) {
		if (!dircache_verify(o->new->dirs, &at[i], fp, &hit, NULL))
			*container_ret = hit.container;
	}
	return err;
}

/*
 * A piece that is not found costs all below it a look, in each snapshot that
 * has it: so it is worth reading a page of each run.
 */
int optimize_find(struct optimize *o, const struct fp *fp, u64 *container_ret,
		  struct akin_diag *diag)
{
	struct dir_hit hit;
	int err;

	err = depot_find(o->new, fp, 1, &hit, diag);
	*container_ret = err ? 0 : hit.container;
	return err || hit.container ? err :
	       find_on_disk(o, fp, container_ret, diag);
}

/* Chunks --------------------------------------------------------------------*/

/* A chunk in the memory of its group, which is pinned. */
struct old_bytes {
	const struct group_data *group;	/* NULL: it cannot be read */
	const u8 *data;
	u32 len;
	u8 salt;
	struct dir_sketch sketch;	/* zeros: it has none */
};

static int read_at(struct optimize *o, const struct dir_hit *at,
		   const struct fp *fp, struct old_bytes *out)
{
	const struct directory *d;
	struct container_reader *r;
	struct groupcache *groups = o->old->groups;
	struct dir_entry e = { 0 };
	u32 nth = 0;
	long i;
	int err;

	err = dircache_get(o->old->dirs, at->container, &r, NULL);
	if (err)
		return err;
	d = container_directory(r);
	i = container_entry_index(d, at->entry);
	if (i >= 0) {
		e = d->entries[i];
		if (d->sketches)
			out->sketch = d->sketches[i];
		nth = (u32)i - d->groups[e.group].first;
	}
	dircache_put(o->old->dirs, at->container);
	if (i < 0 || !fp_equal(&e.fp, fp))
		return -AKIN_E_fp_unknown;
	err = groupcache_get_raw(groups, o->opt->dec, at->container, e.group,
				 &out->group, NULL);
	if (err)
		return err;
	/* Unless the directory changed between the two looks at it. */
	if (e.raw_off + e.len > out->group->raw_len)
		err = -AKIN_E_bad_length;
	else
		err = groupcache_check(groups, o->opt->dec, out->group, &nth,
				       1, NULL);
	if (err) {
		groupcache_put(groups, out->group);
		out->group = NULL;
		return err;
	}
	out->data = out->group->raw + e.raw_off;
	out->len = e.len;
	out->salt = e.fp_salt;
	return 0;
}

/*
 * out->group NULL: no copy of it can be read; *at is where the last one was, or
 * nowhere. What is damaged is remembered for as long as the pool is open, so
 * that the next look prefers the others.
 */
static int read_old(struct optimize *o, const struct fp *fp,
		    const struct hint *hint, struct dir_hit *at,
		    struct old_bytes *out, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct place bad;
	int err, i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < COPIES_TRIED; i++) {
		err = depot_locate(o->old, hint, fp, 1, at, &why);
		if (!err)
			err = read_at(o, at, fp, out);
		if (!err)
			return 0;
		if (akin_error_class(err) != AKIN_CLASS_CORRUPT &&
		    akin_error_class(err) != AKIN_CLASS_ABSENT)
			return diag_set(diag, err, "%s", why.code ? why.text :
					akin_strerror(err));
		if (!at->container)
			return 0;
		bad.container = at->container;
		bad.entry = at->entry;
		if (depot_damage_has(&o->old->damage, bad.container,
				     bad.entry) ||
		    depot_damage_add(&o->old->damage, &bad, NULL))
			return 0;
	}
	return 0;
}

static bool makes_sketch(const struct optimize *o, struct old_bytes *b)
{
	return o->new->super.engine != SUPER_ENGINE_IDENTITY &&
	       sketch_make(o->new->sketcher, b->data, b->len, &b->sketch);
}

/* Chunk @k of the batch, stored again; *container_ret: where it is now. */
static int store_chunk(struct optimize *o, u32 k, const struct hint *hint,
		       u64 *container_ret, struct akin_diag *diag)
{
	struct group_ref near[NEAR_RUNS];
	const struct fp *fp = &o->fps[k];
	struct old_bytes b;
	struct dir_hit old;
	struct place at;
	u32 nr = 0;
	int err;

	err = read_old(o, fp, hint, &old, &b, diag);
	if (err || !b.group) {
		*container_ret = err ? 0 : old.container;
		o->result->unreadable += !err;
		return err;
	}
	if (!o->newest)
		nr = follow_near(o->follow, k, near, NEAR_RUNS);
	else if (packer_wants_near(&o->data))
		nr = optimize_kept(o, &old, near, NEAR_RUNS);
	err = packer_add(&o->data, fp, b.data, b.len, NULL, near, nr, &at,
			 diag);
	if (!err && b.salt)
		container_writer_salt(o->data.sc->writer, at.entry, b.salt);
	/* The one it had; or as a backup would have made one now. */
	if (!err && (b.sketch.part[0] || (!nr && makes_sketch(o, &b))))
		err = packer_sketch(&o->data, &at, &b.sketch, diag);
	groupcache_put(o->old->groups, b.group);
	if (!err)
		err = diag_said(diag, fresh_add(&o->fresh, at.container));
	if (err)
		return err;
	*container_ret = at.container;
	o->result->chunks++;
	o->result->bytes += b.len;
	return 0;
}

/* @n chunks that follow each other from byte @off of the content on. */
static int store_run(struct optimize *o, u64 off, u32 n,
		     const struct hint *old_hint, struct hintset *hint,
		     struct akin_diag *diag)
{
	u64 container;
	u32 k;
	int err;

	err = depot_find(o->new, o->fps, n, o->hits, diag);
	if (err)
		return err;
	follow_batch(o->follow, off, o->items, o->fps, o->hits, n,
		     !o->newest && packer_wants_near(&o->data));
	for (k = 0; !err && k < n; k++) {
		/* The same may have come a moment ago. */
		if (!o->hits[k].container)
			err = depot_find_again(o->new, &o->fps[k], &o->hits[k],
					       diag);
		container = o->hits[k].container;
		if (!err && !container)
			err = store_chunk(o, k, old_hint, &container, diag);
		if (!err)
			hintset_add(hint, container);
	}
	return err;
}

/* The chunks of a leaf, or of a short recipe, from byte @off on. */
static int store_entries(struct optimize *o, const struct recipe_entry *e,
			 u32 nr, u64 off, const struct hint *old_hint,
			 struct hintset *hint, struct akin_diag *diag)
{
	u64 run = off, end = off;
	u32 i, n = 0;
	int err = 0;

	for (i = 0; !err && i < nr; i++) {
		/* Behind repetitions and holes offsets go on elsewhere. */
		if (n && (e[i].type != RECIPE_CHUNK || e[i].count != 1)) {
			err = store_run(o, run, n, old_hint, hint, diag);
			n = 0;
		}
		if (!n)
			run = end;
		end += recipe_entry_bytes(&e[i]);
		if (e[i].type != RECIPE_CHUNK && e[i].type != RECIPE_REPEAT)
			continue;
		o->fps[n] = e[i].fp;
		o->items[n].data = NULL;
		o->items[n++].len = (u32)e[i].len;
		if (!err && e[i].type == RECIPE_REPEAT) {
			err = store_run(o, run, n, old_hint, hint, diag);
			n = 0;
		}
	}
	if (!err && n)
		err = store_run(o, run, n, old_hint, hint, diag);
	if (!err && hint->failed)
		err = diag_set(diag, -AKIN_E_nomem, "hint");
	return err;
}

/* Pieces --------------------------------------------------------------------*/

static int store_piece(struct optimize *o, const struct fp *fp,
		       const struct buf *bytes, const struct hint *hint,
		       const struct group_ref *near, u32 nr,
		       u64 *container_ret, struct akin_diag *diag)
{
	struct place at;
	int err;

	err = packer_add(&o->meta, fp, bytes->data, (u32)bytes->len, hint,
			 near, nr, &at, diag);
	if (!err)
		err = diag_said(diag, fresh_add(&o->fresh, at.container));
	if (err)
		return err;
	*container_ret = at.container;
	o->result->pieces++;
	return 0;
}

int optimize_store_piece(void *ctx, const struct buf *bytes,
			 const struct hint *hint, struct fp *fp_ret,
			 u64 *container_ret, struct akin_diag *diag)
{
	struct optimize *o = ctx;
	int err;

	hasher_one(o->new->meta_hasher, bytes->data, bytes->len, fp_ret);
	err = optimize_find(o, fp_ret, container_ret, diag);
	if (err || *container_ret)
		return err;
	return store_piece(o, fp_ret, bytes, hint, NULL, 0, container_ret,
			   diag);
}

static bool names(const struct hint *h, u64 container)
{
	u32 i;

	for (i = 0; i < h->nr; i++) {
		if (h->containers[i] == container)
			return true;
	}
	return false;
}

/* The leaf by which hits in the open container lead later backups to it. */
static void note_first_leaf(struct optimize *o, const struct hint *hint,
			    const struct fp *leaf)
{
	const struct session_container *sc = o->data.sc;

	if (!sc || sc->number == o->led || !names(hint, sc->number))
		return;
	container_writer_first_leaf(sc->writer, leaf);
	o->led = sc->number;
}

static int read_piece(struct optimize *o, u32 level, const struct fp *fp,
		      const struct hint *hint, struct akin_diag *diag)
{
	struct piece_frame *f = &o->frames[level];
	int err;

	recipe_piece_release(&f->piece);
	memset(&f->piece, 0, sizeof(f->piece));
	hintset_reset(&f->hint);
	err = depot_read_piece(o->old, o->opt->dec, fp, hint, &f->bytes,
			       &f->old_hint, diag);
	if (err)
		return err;
	err = recipe_piece_decode(f->bytes.data, f->bytes.len, &f->piece);
	if (!err && f->piece.level != level)
		err = -AKIN_E_bad_field;
	return err ? diag_set(diag, err, "recipe piece: %s",
			      akin_strerror(err)) : 0;
}

/*
 * The piece @fp and what is below it; @off: bytes of the content before it.
 * Recursion ends with RECIPE_MAX_LEVEL: levels fall by one.
 */
static int walk_piece(struct optimize *o, u32 level, const struct fp *fp,
		      const struct hint *hint, u64 off, u64 *container_ret,
		      struct akin_diag *diag)
{
	struct piece_frame *f = &o->frames[level];
	struct group_ref near[NEAR_RUNS];
	u64 at = off, child;
	u32 i, nr = 0;
	int err;

	err = optimize_find(o, fp, container_ret, diag);
	if (err || *container_ret)
		return err;
	err = optimize_tick(o, diag);
	if (!err)
		err = read_piece(o, level, fp, hint, diag);
	if (!err && level == 0)
		err = store_entries(o, f->piece.entries, f->piece.nr, off,
				    &f->old_hint, &f->hint, diag);
	for (i = 0; !err && level > 0 && i < f->piece.nr; i++) {
		err = walk_piece(o, level - 1, &f->piece.children[i].fp,
				 &f->old_hint, at, &child, diag);
		at += f->piece.children[i].bytes;
		hintset_add(&f->hint, err ? 0 : child);
	}
	if (!err && f->hint.failed)
		err = diag_set(diag, -AKIN_E_nomem, "hint");
	if (err)
		return err;
	if (!o->newest && packer_wants_near(&o->meta))
		nr = follow_near_piece(o->follow, off, level ? 0 :
				       f->piece.bytes, near, NEAR_RUNS);
	err = store_piece(o, fp, &f->bytes, &f->hint.hint, near, nr,
			  container_ret, diag);
	if (!err && level == 0)
		note_first_leaf(o, &f->hint.hint, fp);
	return err;
}

int optimize_content(struct optimize *o, const struct content *ct,
		     const struct hint *old_hint, struct hintset *hint,
		     struct akin_diag *diag)
{
	u64 container;
	int err;

	if (ct->kind == CONTENT_NONE)
		return 0;
	if (ct->kind == CONTENT_ENTRIES)
		return store_entries(o, ct->entries, ct->nr, 0, old_hint, hint,
				     diag);
	if (ct->level > RECIPE_MAX_LEVEL)
		return diag_set(diag, -AKIN_E_bad_field,
				"a recipe is too deep");
	err = walk_piece(o, ct->level, &ct->root, old_hint, 0, &container,
			 diag);
	hintset_add(hint, err ? 0 : container);
	return err;
}

int optimize_is_fresh(struct optimize *o, const struct content *ct,
		      struct hintset *hint, struct akin_diag *diag)
{
	u64 at[CONTENT_INLINE_MAX] = { 0 };
	u32 i, n = 0;
	int err = 0;

	if (ct->kind == CONTENT_ROOT)
		err = optimize_find(o, &ct->root, &at[n++], diag);
	for (i = 0; !err && ct->kind == CONTENT_ENTRIES && i < ct->nr; i++) {
		if (i + 1 < ct->nr && ct->entries[i].len >= PIECE_RUNS_OVER)
			return 0;
		if (ct->entries[i].type == RECIPE_CHUNK ||
		    ct->entries[i].type == RECIPE_REPEAT)
			err = optimize_find(o, &ct->entries[i].fp, &at[n++],
					    diag);
	}
	for (i = 0; !err && i < n; i++) {
		if (!at[i])
			return 0;
	}
	for (i = 0; !err && i < n; i++)
		hintset_add(hint, at[i]);
	return err ? err : 1;
}
