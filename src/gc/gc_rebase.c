/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups with references, when their container is written anew.
 *
 * After forgetting, what lives is often a difference to what does not. When it
 * is much that is kept for that alone (gc_plan.c), all groups leave it, in the
 * order of their containers: the first of those that resemble each other are
 * written without, as their heirs, and the others are made of these. It is all
 * or nothing for a base: one group that stays would keep it.
 *
 * Heirs of earlier runs, whole groups without references in containers that
 * were written anew, are known as well: so a run that was stopped is gone on
 * with.
 *
 * A group of which a part is kept, and which leaves nothing, stays a difference
 * to what it was made from. Depths may only fall (docs/format/container.md).
 */
#include "base/mem.h"
#include "gc/gc_writer.h"

/* Chunks without a heir that follow one. */
#define FOLLOW_MAX 64
/* Of short chunks, with what comes behind: they have too little to sample. */
#define SKETCH_BYTES (8 * KiB)

/* One group; kept by the writer for the next. */
struct rebase {
	struct gc_writer *w;
	struct gc_choices c;
	struct group_header h;		/* as it will be */
	struct dir_sketch sketches[GROUP_MAX_CHUNKS];
	struct gc_heir heirs[GROUP_MAX_CHUNKS];
	struct gc_heir last;		/* heir; and chunks since */
	u32 since;
	struct group_ref refs[GROUP_MAX_REFS];
	struct group_chunk chunks[GROUP_MAX_CHUNKS];
	u8 *raw, *plain, *delta;	/* room for @raw_cap, the others packed */
	u32 raw_cap;
	u8 *ref;			/* GROUP_MAX_REF_RAW */
	size_t plain_len, delta_len;	/* SIZE_MAX: not made */
	u8 plain_id, delta_id;
};

void gc_rebase_free(struct rebase *rb)
{
	if (!rb)
		return;
	mem_free(rb->raw);
	mem_free(rb->plain);
	mem_free(rb->delta);
	mem_free(rb->ref);
	mem_free(rb);
}

static int need(struct gc_writer *w, u32 len, struct akin_diag *diag)
{
	struct rebase *rb = w->rebase;

	if (!rb) {
		rb = w->rebase = mem_zalloc(sizeof(*rb));
		if (!rb)
			return diag_set(diag, -AKIN_E_nomem, "new generation");
		rb->ref = mem_alloc(GROUP_MAX_REF_RAW);
	}
	if (!rb->ref || len > rb->raw_cap) {
		mem_free(rb->raw);
		mem_free(rb->plain);
		mem_free(rb->delta);
		rb->raw_cap = (u32)max_u64(len, w->g->depot->super.group_bytes);
		rb->raw = mem_alloc(rb->raw_cap);
		rb->plain = mem_alloc(codec_bound(rb->raw_cap));
		rb->delta = mem_alloc(codec_bound(rb->raw_cap));
	}
	if (!rb->ref || !rb->raw || !rb->plain || !rb->delta) {
		rb->raw_cap = 0;
		return diag_set(diag, -AKIN_E_nomem, "new generation");
	}
	return 0;
}

/* References -----------------------------------------------------------------*/

static bool note_ref(struct rebase *rb, const struct gc_choice *at)
{
	struct group_header *h = &rb->h;
	struct group_ref *last = h->nr_refs ? &rb->refs[h->nr_refs - 1] : NULL;

	if (last && last->container == at->container &&
	    last->entry + last->nr == at->entry) {
		last->nr++;
		return true;
	}
	if (h->nr_refs == GROUP_MAX_REFS)
		return false;
	rb->refs[h->nr_refs].container = at->container;
	rb->refs[h->nr_refs].entry = at->entry;
	rb->refs[h->nr_refs++].nr = 1;
	return true;
}

/* The bytes of what was chosen from @i on that lies in one group; how many
 * were. What cannot be read is done without. */
static u32 read_choices(struct rebase *rb, u32 i)
{
	const struct gc_choice *at = &rb->c.at[i];
	struct gc_writer *w = rb->w;
	const struct group_data *data = NULL;
	const struct directory *d;
	const struct dir_entry *e;
	struct container_reader *r;
	u32 nr = 0, group = 0;
	long k;

	if (dircache_get(w->g->depot->dirs, at->container, &r, NULL))
		return 1;
	d = container_directory(r);
	for (; i + nr < rb->c.nr && at[nr].container == d->container; nr++) {
		k = container_entry_index(d, at[nr].entry);
		if (k < 0)
			continue;
		e = &d->entries[k];
		if (data && e->group != group)
			break;
		if (!data && groupcache_get(w->g->depot->groups,
					    w->g->opt->dec, d->container,
					    e->group, &data, NULL))
			continue;
		group = e->group;
		if (!note_ref(rb, &at[nr]))
			continue;
		memcpy(rb->ref + rb->h.ref_raw_len, data->raw + e->raw_off,
		       e->len);
		rb->h.ref_raw_len += e->len;
	}
	if (data)
		groupcache_put(w->g->depot->groups, data);
	dircache_put(w->g->depot->dirs, at->container);
	return nr ? nr : 1;
}

static void begin_choice(struct rebase *rb, u8 depth)
{
	struct gc_choices *c = &rb->c;

	memset(c, 0, sizeof(*c));
	c->w = rb->w;
	c->depth_max = depth;
	c->max_bytes = (u32)min_u64(GC_REFS_BYTES *
				    (u64)rb->w->g->depot->super.group_bytes,
				    GROUP_MAX_REF_RAW);
}

static void read_all(struct rebase *rb)
{
	u32 i = 0;

	rb->h.nr_refs = rb->h.ref_raw_len = 0;
	rb->h.depth = rb->c.depth;
	while (i < rb->c.nr)
		i += read_choices(rb, i);
}

/* Versions lie side by side: what resembles nothing is made of what comes
 * next there, mostly. */
static void follow(struct rebase *rb, struct gc_heir *h)
{
	if (h->container) {
		rb->last = *h;
		rb->since = 0;
	} else if (rb->last.container && rb->since++ < FOLLOW_MAX) {
		rb->last.entry++;
		*h = rb->last;
	}
}

static void make_sketches(struct rebase *rb)
{
	u32 i, off = 0;
	size_t n;

	for (i = 0; i < rb->h.nr_chunks; i++) {
		n = min_u64(max_u64(rb->chunks[i].len, SKETCH_BYTES),
			    rb->h.raw_len - off);
		/* Zeros if there is too little of it. */
		(void)sketch_make(rb->w->g->depot->sketcher, rb->raw + off, n,
				  &rb->sketches[i]);
		off += rb->chunks[i].len;
	}
}

/* Heirs of what is in the group, by what it resembles. */
static void find_heirs(struct rebase *rb, u8 depth)
{
	struct gc_writer *w = rb->w;
	struct gc_heir *h;
	u32 i;

	make_sketches(rb);
	for (i = 0; i < rb->h.nr_chunks; i++) {
		h = &rb->heirs[i];
		memset(h, 0, sizeof(*h));
		if (rb->sketches[i].part[0])
			*h = gc_heirs_find(w->g->heirs, &rb->sketches[i],
					   w->from->container, depth);
		follow(rb, h);
	}
}

/* The group has been decided on, with this depth. */
static void become_heir(struct rebase *rb, u8 depth)
{
	struct gc_heir h = { .container = rb->w->from->container,
			     .depth = depth };
	u32 i;

	if (depth >= max_u64(rb->w->g->depot->super.delta_depth, 1))
		return;
	for (i = 0; i < rb->h.nr_chunks; i++) {
		h.entry = rb->chunks[i].entry;
		if (rb->sketches[i].part[0] &&
		    gc_is_live(rb->w->bits, h.entry))
			gc_heirs_add(rb->w->g->heirs, &rb->sketches[i], &h);
	}
}

/* Compressing ------------------------------------------------------------------*/

/* What is kept of the group, raw. 0: it cannot be decoded. */
static int gather(struct rebase *rb, u32 index)
{
	struct gc_writer *w = rb->w;
	const struct dir_group *gr = &w->from->groups[index];
	const struct dir_entry *e = &w->from->entries[gr->first];
	const struct group_data *data;
	u32 i;

	memset(&rb->h, 0, sizeof(rb->h));
	if (groupcache_get(w->g->depot->groups, w->g->opt->dec,
			   w->from->container, index, &data, NULL))
		return 0;
	for (i = 0; i < gr->nr; i++) {
		if (!gc_is_kept(w->bits, e[i].entry))
			continue;
		memcpy(rb->raw + rb->h.raw_len, data->raw + e[i].raw_off,
		       e[i].len);
		rb->chunks[rb->h.nr_chunks].entry = e[i].entry;
		rb->chunks[rb->h.nr_chunks++].len = e[i].len;
		rb->h.raw_len += e[i].len;
	}
	groupcache_put(w->g->depot->groups, data);
	rb->h.chunks = rb->chunks;
	rb->h.refs = rb->refs;
	rb->h.number = gr->number;
	return 1;
}

static int compress_delta(struct rebase *rb, struct akin_diag *diag)
{
	struct gc_writer *w = rb->w;
	struct codec_ctx *codec = w->g->opt->dec->codec;
	int err;

	rb->delta_len = SIZE_MAX;
	if (!rb->h.nr_refs || !codec_has_ref(codec) ||
	    rb->h.raw_len > GROUP_MAX_DELTA_RAW)
		return 0;
	err = codec_compress_ref(codec, gc_writer_gain(w), rb->ref,
				 rb->h.ref_raw_len, rb->raw, rb->h.raw_len,
				 rb->delta, &rb->delta_len, &rb->delta_id,
				 diag);
	if (err || rb->delta_id == CODEC_NONE)
		rb->delta_len = SIZE_MAX;
	return err;
}

static int compress_plain(struct rebase *rb, struct akin_diag *diag)
{
	struct gc_writer *w = rb->w;
	int err;

	err = codec_compress(w->g->opt->dec->codec, gc_writer_gain(w), rb->raw,
			     rb->h.raw_len, rb->plain, &rb->plain_len,
			     &rb->plain_id, diag);
	if (!err && rb->plain_id == CODEC_NONE)
		rb->plain_len = rb->h.raw_len;
	return err;
}

/*
 * With the references chosen if that is less than 1/@factor of what it takes
 * without: true. An eighth of raw bytes is: hardly anything compresses so well
 * alone.
 */
static int compress_best(struct rebase *rb, u32 factor, bool *delta_ret,
			 struct akin_diag *diag)
{
	int err;

	*delta_ret = false;
	/* Too little to be made of. */
	rb->delta_len = SIZE_MAX;
	if (rb->h.ref_raw_len >= rb->h.raw_len / 4) {
		err = compress_delta(rb, diag);
		*delta_ret = rb->delta_len <= rb->h.raw_len / 8;
		if (err || *delta_ret)
			return err;
	}
	err = compress_plain(rb, diag);
	*delta_ret = rb->delta_len < rb->plain_len / factor;
	return err;
}

/* The entries, then the group. */
static int put_group(struct rebase *rb, bool delta, struct akin_diag *diag)
{
	const u8 *payload = delta ? rb->delta : rb->plain;
	struct gc_writer *w = rb->w;
	u32 i, off = 0;
	int err;

	err = gc_writer_close(w, diag);
	if (err)
		return err;
	if (!delta)
		rb->h.nr_refs = rb->h.ref_raw_len = rb->h.depth = 0;
	if (!delta && rb->plain_id == CODEC_NONE)
		payload = rb->raw;
	rb->h.codec_id = delta ? rb->delta_id : rb->plain_id;
	for (i = 0; i < rb->h.nr_chunks; i++) {
		gc_writer_entry(w, (u32)container_entry_index(w->from,
				rb->chunks[i].entry), off);
		off += rb->chunks[i].len;
	}
	err = gc_writer_group(w, &rb->h, payload,
			      delta ? rb->delta_len : rb->plain_len, diag);
	return err ? err : GC_REBASE_DONE;
}

/* Small ones without references go into one group with others. */
static int put_best(struct rebase *rb, bool delta, struct akin_diag *diag)
{
	if (!delta &&
	    rb->h.raw_len < rb->w->g->depot->super.group_bytes / 4 * 3)
		return GC_REBASE_PLAIN;
	return put_group(rb, delta, diag);
}

static bool leaves_any(struct gc *g, const struct group_header *h)
{
	u32 i, k;

	for (i = 0; g->leaving && i < h->nr_refs; i++) {
		for (k = 0; k < h->refs[i].nr; k++) {
			if (gc_is_left(g, h->refs[i].container,
				       h->refs[i].entry + k))
				return true;
		}
	}
	return false;
}

/*
 * The group has been gathered, and leaves some of @old. One that gains little
 * from what there is had better be what the others are made of.
 */
static int leave(struct rebase *rb, const struct group_header *old, u8 depth,
		 struct akin_diag *diag)
{
	bool delta;
	int err;

	begin_choice(rb, depth);
	find_heirs(rb, depth);
	gc_choose_heirs(&rb->c, rb->heirs, rb->h.nr_chunks);
	gc_choose_old(&rb->c, old, false);
	if (rb->c.unsettled)
		return GC_REBASE_LATER;
	read_all(rb);
	err = compress_best(rb, 2, &delta, diag);
	if (err)
		return err;
	rb->w->left++;
	become_heir(rb, delta ? rb->h.depth : 0);
	return put_best(rb, delta, diag);
}

/* A part of the group has been gathered; it stands on all that it stood on. */
static int stay(struct rebase *rb, const struct group_header *old, u8 depth,
		struct akin_diag *diag)
{
	bool delta;
	int err;

	begin_choice(rb, depth);
	gc_choose_old(&rb->c, old, true);
	read_all(rb);
	err = compress_best(rb, 1, &delta, diag);
	return err ? err : put_best(rb, delta, diag);
}

int gc_rebase(struct gc_writer *w, u32 index, bool whole,
	      struct akin_diag *diag)
{
	const struct dir_group *gr = &w->from->groups[index];
	u32 depth = w->g->depot->super.delta_depth;
	struct container_group cg;
	bool leaves;
	int err;

	/* One that cannot be read stays as it is; its copy says so. */
	if (container_read_group(w->reader, index, &cg, NULL))
		return GC_REBASE_NOT;
	leaves = leaves_any(w->g, &cg.header);
	if (whole && !leaves) {
		container_group_release(&cg);
		return GC_REBASE_NOT;
	}
	/* Depths may only fall. */
	depth = (u32)min_u64(gr->depth, max_u64(depth, 1));
	err = need(w, gr->raw_len, diag);
	if (!err) {
		w->rebase->w = w;
		err = gather(w->rebase, index);
	}
	if (err > 0)
		err = leaves ? leave(w->rebase, &cg.header, (u8)depth, diag) :
			       stay(w->rebase, &cg.header, (u8)depth, diag);
	container_group_release(&cg);
	return err;
}

/* What was written before ------------------------------------------------------*/

static int learn_group(struct gc_writer *w, u32 index, struct akin_diag *diag)
{
	int err;

	err = need(w, w->from->groups[index].raw_len, diag);
	if (err)
		return err;
	w->rebase->w = w;
	if (gather(w->rebase, index)) {
		make_sketches(w->rebase);
		become_heir(w->rebase, 0);
	}
	return 0;
}

int gc_rebase_learn(struct gc_writer *w, u32 index, struct akin_diag *diag)
{
	if (!w->g->leaving || !w->from->generation ||
	    w->from->groups[index].depth ||
	    !gc_has_live(w->from, index, w->bits))
		return 0;
	return learn_group(w, index, diag);
}

static int learn_container(struct gc_writer *w, u64 number,
			   struct akin_diag *diag)
{
	u32 i;
	int err;

	w->bits = gc_marks_get(w->g->marks, number);
	if (!w->bits ||
	    dircache_get(w->g->depot->dirs, number, &w->reader, NULL))
		return 0;
	w->from = container_directory(w->reader);
	err = gc_tick(w->g, diag);
	for (i = 0; !err && i < w->from->nr_groups; i++)
		err = gc_rebase_learn(w, i, diag);
	dircache_put(w->g->depot->dirs, number);
	return err;
}

int gc_learn_heirs(struct gc *g, u64 number, struct akin_diag *diag)
{
	struct gc_writer w = { .g = g };
	int err = 0;

	while (!err && g->nr_unlearned &&
	       g->unlearned[g->nr_unlearned - 1] < number)
		err = learn_container(&w, g->unlearned[--g->nr_unlearned],
				      diag);
	/* That one is the caller's. */
	if (!err && g->nr_unlearned &&
	    g->unlearned[g->nr_unlearned - 1] == number)
		g->nr_unlearned--;
	gc_rebase_free(w.rebase);
	return err;
}
