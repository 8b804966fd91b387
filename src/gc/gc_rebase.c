/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups with references, when their container is written anew.
 *
 * After forgetting, what lives is often a difference to what does not. A base
 * that is kept for one group alone is charged to it, with what that stands on
 * itself: the group is written without it if that takes less than both. Bases
 * of several groups stay: they are what a pool that never had them would keep
 * one of the groups for, and a group that left them would free nothing.
 *
 * A group of which a part is kept stays a difference to what it was made from.
 * Depths may only fall (docs/format/container.md).
 */
#include "base/mem.h"
#include "gc/gc_writer.h"

/* What a base costs ----------------------------------------------------------*/

static u64 lone_bytes(struct gc_writer *w, const struct group_header *h,
		      u32 level);

/* What the group of a base stands on itself, if nothing in it is live. */
static const struct lone_group *look_at_base(struct gc_writer *w,
					     struct container_reader *r,
					     u32 group, u32 level)
{
	const struct directory *d = container_directory(r);
	const struct dir_entry *e = &d->entries[d->groups[group].first];
	struct gc_bits *b = gc_marks_get(w->g->marks, d->container);
	struct lone_group *l = &w->lone[level];
	struct container_group cg;
	u32 i;

	if (l->container == d->container && l->group == group)
		return l;
	memset(l, 0, sizeof(*l));
	l->container = d->container;
	l->group = group;
	for (i = 0; i < d->groups[group].nr; i++) {
		if (gc_is_live(b, e[i].entry))
			return l;
		l->kept_raw += gc_is_kept(b, e[i].entry) ? e[i].len : 0;
	}
	if (!d->groups[group].depth || level + 1 == LONE_LEVELS ||
	    container_read_group(r, group, &cg, NULL))
		return l;
	l->bytes = lone_bytes(w, &cg.header, level + 1);
	container_group_release(&cg);
	return l;
}

/* Stored bytes of base @at, and of what it stands on, that go if its only user
 * does without it. */
static u64 lone_share(struct gc_writer *w, const struct place *at, u32 level)
{
	struct gc_bits *b = gc_marks_get(w->g->marks, at->container);
	const struct lone_group *l;
	const struct dir_group *gr;
	const struct directory *d;
	struct container_reader *r;
	u64 bytes = 0;
	long i;

	if (!b || gc_is_live(b, at->entry) || gc_nr_uses(b, at->entry) > 1 ||
	    dircache_get(w->g->depot->dirs, at->container, &r, NULL))
		return 0;
	d = container_directory(r);
	i = container_entry_index(d, at->entry);
	if (i >= 0) {
		gr = &d->groups[d->entries[i].group];
		l = look_at_base(w, r, d->entries[i].group, level);
		bytes = (u64)gr->len * d->entries[i].len / gr->raw_len;
		if (l->kept_raw)
			bytes += l->bytes * d->entries[i].len / l->kept_raw;
	}
	dircache_put(w->g->depot->dirs, at->container);
	return bytes;
}

static u64 lone_bytes(struct gc_writer *w, const struct group_header *h, u32 level)
{
	struct place at;
	u64 sum = 0;
	u32 i, k;

	for (i = 0; i < h->nr_refs; i++) {
		at.container = h->refs[i].container;
		for (k = 0; k < h->refs[i].nr; k++) {
			at.entry = h->refs[i].entry + k;
			sum += lone_share(w, &at, level);
		}
	}
	return sum;
}

/* New references -------------------------------------------------------------*/

struct rebase {
	struct gc_writer *w;
	struct group_header h;		/* as it will be */
	struct group_ref refs[GROUP_MAX_REFS];
	u8 depth_max;
};

static void note_ref(struct rebase *rb, u64 container, u32 entry)
{
	struct group_header *h = &rb->h;
	struct group_ref *last = h->nr_refs ? &rb->refs[h->nr_refs - 1] : NULL;

	if (last && last->container == container &&
	    last->entry + last->nr == entry) {
		last->nr++;
		return;
	}
	rb->refs[h->nr_refs].container = container;
	rb->refs[h->nr_refs].entry = entry;
	rb->refs[h->nr_refs++].nr = 1;
}

/* Entry @i of @d as a reference, unless it is too deep, too much, or cannot be
 * read: then the group does without it. */
static void add_chunk(struct rebase *rb, const struct directory *d, long i)
{
	const struct dir_entry *e = &d->entries[i];
	const struct group_data *data;
	struct gc_writer *w = rb->w;
	u8 depth = d->groups[e->group].depth;
	u32 max = (u32)min_u64(2 * w->g->depot->super.group_bytes,
			       GROUP_MAX_REF_RAW);

	if (depth >= rb->depth_max || rb->h.nr_refs == GROUP_MAX_REFS ||
	    rb->h.ref_raw_len + e->len > max ||
	    groupcache_get(w->g->depot->groups, w->g->opt->dec, d->container,
			   e->group, &data, NULL))
		return;
	memcpy(w->ref + rb->h.ref_raw_len, data->raw + e->raw_off, e->len);
	groupcache_put(w->g->depot->groups, data);
	rb->h.ref_raw_len += e->len;
	rb->h.depth = (u8)max_u64(rb->h.depth, depth + 1u);
	note_ref(rb, d->container, e->entry);
}

static void add_run(struct rebase *rb, const struct group_ref *ref, bool all)
{
	struct gc *g = rb->w->g;
	struct gc_bits *b = gc_marks_get(g->marks, ref->container);
	struct container_reader *r;
	u32 k;
	long i;

	if (dircache_get(g->depot->dirs, ref->container, &r, NULL))
		return;
	for (k = 0; k < ref->nr; k++) {
		/* Out of the marks' range: of another pass, and not lone. */
		if (!all && b && !gc_is_live(b, ref->entry + k))
			continue;
		i = container_entry_index(container_directory(r),
					  ref->entry + k);
		if (i >= 0)
			add_chunk(rb, container_directory(r), i);
	}
	dircache_put(g->depot->dirs, ref->container);
}

/* What is live of @old's references, or all of them. */
static void choose_refs(struct rebase *rb, const struct group_header *old,
			bool all)
{
	u32 i;

	rb->h.nr_refs = rb->h.ref_raw_len = rb->h.depth = 0;
	for (i = 0; i < old->nr_refs; i++)
		add_run(rb, &old->refs[i], all);
}

/* Writing --------------------------------------------------------------------*/

/* What is kept of the group, raw, into the writer. 0: it cannot be decoded. */
static int gather(struct rebase *rb, u32 index, struct akin_diag *diag)
{
	struct gc_writer *w = rb->w;
	const struct dir_group *gr = &w->from->groups[index];
	const struct dir_entry *e = &w->from->entries[gr->first];
	const struct group_data *data;
	u32 i;
	int err;

	err = gc_writer_need(w, gr->raw_len, diag);
	if (!err && !w->ref) {
		w->ref = mem_alloc(GROUP_MAX_REF_RAW);
		if (!w->ref)
			err = diag_set(diag, -AKIN_E_nomem, "new generation");
	}
	if (err || groupcache_get(w->g->depot->groups, w->g->opt->dec,
				  w->from->container, index, &data, NULL))
		return err;
	for (i = 0; i < gr->nr; i++) {
		if (!gc_is_kept(w->bits, e[i].entry))
			continue;
		memcpy(w->raw + rb->h.raw_len, data->raw + e[i].raw_off,
		       e[i].len);
		w->chunks[rb->h.nr_chunks].entry = e[i].entry;
		w->chunks[rb->h.nr_chunks++].len = e[i].len;
		rb->h.raw_len += e[i].len;
	}
	groupcache_put(w->g->depot->groups, data);
	rb->h.chunks = w->chunks;
	rb->h.refs = rb->refs;
	rb->h.number = gr->number;
	return 1;
}

/* With the references chosen, into packed2; *len_ret SIZE_MAX: not at all. */
static int compress_ref(struct rebase *rb, size_t *len_ret, u8 *id_ret,
			struct akin_diag *diag)
{
	struct gc_writer *w = rb->w;
	struct codec_ctx *codec = w->g->opt->dec->codec;
	int err;

	*len_ret = SIZE_MAX;
	if (!rb->h.nr_refs || !codec_has_ref(codec) ||
	    rb->h.raw_len > GROUP_MAX_DELTA_RAW)
		return 0;
	err = codec_compress_ref(codec, gc_writer_gain(w), w->ref,
				 rb->h.ref_raw_len, w->raw, rb->h.raw_len,
				 w->packed2, len_ret, id_ret, diag);
	if (err || *id_ret == CODEC_NONE)
		*len_ret = SIZE_MAX;
	return err;
}

/* The entries, then the group: with references if @refs. */
static int put_group(struct rebase *rb, const u8 *payload, size_t len, u8 id,
		     bool refs, struct akin_diag *diag)
{
	struct gc_writer *w = rb->w;
	u32 i, off = 0;

	rb->h.codec_id = id;
	if (!refs)
		rb->h.nr_refs = rb->h.ref_raw_len = rb->h.depth = 0;
	for (i = 0; i < rb->h.nr_chunks; i++) {
		gc_writer_entry(w, (u32)container_entry_index(w->from,
				w->chunks[i].entry), off);
		off += w->chunks[i].len;
	}
	return gc_writer_group(w, &rb->h, payload, len, diag);
}

static int rewrite(struct rebase *rb, const struct group_header *old,
		   u64 now, u64 lone, bool whole, struct akin_diag *diag)
{
	struct gc_writer *w = rb->w;
	size_t alone = rb->h.raw_len, ref = SIZE_MAX;
	const u8 *plain = w->raw;
	u8 id, ref_id = 0;
	bool freed = true;
	int err;

	choose_refs(rb, old, false);
	err = codec_compress(w->g->opt->dec->codec, gc_writer_gain(w), w->raw,
			     rb->h.raw_len, w->packed, &alone, &id, diag);
	if (!err)
		err = compress_ref(rb, &ref, &ref_id, diag);
	if (err)
		return err;
	if (id != CODEC_NONE)
		plain = w->packed;
	else
		alone = rb->h.raw_len;
	if (min_u64(alone, ref) >= now + lone) {
		if (whole)
			return 0;
		/* In part, against all that it stood on. */
		freed = false;
		choose_refs(rb, old, true);
		err = compress_ref(rb, &ref, &ref_id, diag);
		if (err)
			return err;
	}
	/* Of what it leaves, nobody or one fewer has need: a round will tell. */
	w->freed += max_u64(freed ? lone : 0, 1);
	err = ref < alone ? put_group(rb, w->packed2, ref, ref_id, true, diag) :
			    put_group(rb, plain, alone, id, false, diag);
	return err ? err : 1;
}

int gc_rebase(struct gc_writer *w, u32 index, bool whole,
	      struct akin_diag *diag)
{
	const struct dir_group *gr = &w->from->groups[index];
	u32 depth = w->g->depot->super.delta_depth;
	struct container_group cg;
	struct rebase *rb;
	u64 lone;
	int err = 0;

	/* One that cannot be read stays as it is; its copy says so. */
	if (container_read_group(w->reader, index, &cg, NULL))
		return 0;
	lone = lone_bytes(w, &cg.header, 0);
	rb = whole && !lone ? NULL : mem_zalloc(sizeof(*rb));
	if (rb) {
		rb->w = w;
		/* Depths may only fall. */
		rb->depth_max = (u8)min_u64(gr->depth, max_u64(depth, 1));
		err = gather(rb, index, diag);
		if (err > 0)
			err = rewrite(rb, &cg.header, (u64)gr->len *
				      rb->h.raw_len / gr->raw_len, lone, whole,
				      diag);
	} else if (!whole || lone) {
		err = diag_set(diag, -AKIN_E_nomem, "new generation");
	}
	mem_free(rb);
	container_group_release(&cg);
	return err;
}
