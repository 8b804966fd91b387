/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding groups, with what they were compressed against.
 *
 * A group's references name runs of chunks in containers of smaller number.
 * Their groups come out of the same cache, which decodes them in turn. All of
 * it is hostile input:
 *
 *  - a base lies less deep than the group that needs it, so that the recursion
 *    is no deeper than GROUP_MAX_DEPTH whatever the pool says;
 *  - the references' bytes add up to what the header promised, at most
 *    GROUP_MAX_REF_RAW, before a codec sees them;
 *  - one question from outside decodes GROUPCACHE_DECODES_MAX groups at most.
 *
 * A thread holds, for each level that it is down, one group as stored and the
 * prefix that it is putting together for it; then the bases it used last, up to
 * GROUPCACHE_HELD of them. A directory is pinned only while places are looked
 * up in it.
 *
 * Threads that wait for each other's bases cannot wait in a circle: a thread
 * waits for a group only while all those that it is decoding itself have
 * greater container numbers, and who decodes the one waited for is waiting for
 * a smaller number still, if at all.
 */
#include "base/mem.h"
#include "cache/groupcache_internal.h"
#include "os/clock.h"

/* Bases in use --------------------------------------------------------------*/

static void drop_oldest(struct groupcache_run *run)
{
	const struct group_data *g = run->held[--run->nr_held];

	run->held_bytes -= g->raw_len;
	groupcache_put(run->gc, g);
}

void groupcache_hold(struct groupcache_run *run, const struct group_data *g)
{
	u32 i = 0;

	while (i < run->nr_held && run->held[i] != g)
		i++;
	if (i < run->nr_held) {
		groupcache_put(run->gc, g);
	} else {
		while (run->nr_held &&
		       (run->nr_held == GROUPCACHE_HELD ||
			run->held_bytes + g->raw_len > GROUPCACHE_HELD_BYTES))
			drop_oldest(run);
		run->held_bytes += g->raw_len;
		i = run->nr_held++;
	}
	memmove(run->held + 1, run->held, i * sizeof(run->held[0]));
	run->held[0] = g;
}

void groupcache_let_go(struct groupcache_run *run)
{
	while (run->nr_held)
		drop_oldest(run);
}

/* References ----------------------------------------------------------------*/

/* Part of a reference: chunks that lie side by side in one group. */
struct span {
	u32 group;
	u32 chunk, nr;		/* in the group */
	u32 raw_off, len;
	u32 entry;		/* its first, for messages */
};

/* Looked up at a time, so that no directory is pinned while others load. */
#define SPANS_AT_ONCE 16

/* The prefix while it is put together. */
struct prefix {
	struct groupcache_run *run;
	struct buf *out;
	u32 left;		/* bytes still to come */
	u32 depth;		/* the bases' must be below */
	bool verified;
	struct group_ref ref;	/* what is left of the current one */
	u32 generation;		/* of its container */
	struct place failed;	/* the chunk it failed at; or 0 */
};

/* The next chunk of p->ref, @index in @d: a span of its own or part of the
 * last one. */
static int add_chunk(struct prefix *p, const struct directory *d, long index,
		     struct span *spans, u32 *nr, struct akin_diag *diag)
{
	struct span *s = *nr ? &spans[*nr - 1] : NULL;
	const struct dir_entry *e;

	if (index < 0)
		return diag_set(diag, -AKIN_E_bad_field, "there is no such "
				"entry");
	e = &d->entries[index];
	if (d->groups[e->group].depth >= p->depth)
		return diag_set(diag, -AKIN_E_bad_field, "its depth is %u, "
				"and must be below %u",
				d->groups[e->group].depth, p->depth);
	if (e->len > p->left)
		return diag_set(diag, -AKIN_E_bad_length, "more bytes than "
				"the references together");
	p->left -= e->len;
	if (!s || s->group != e->group) {
		s = &spans[(*nr)++];
		s->group = e->group;
		s->chunk = (u32)index - d->groups[e->group].first;
		s->nr = 0;
		s->raw_off = e->raw_off;
		s->len = 0;
		s->entry = e->entry;
	}
	s->nr++;
	s->len += e->len;
	return 0;
}

/* Where the next chunks of p->ref lie: at least one, unless it is an error. */
static int next_spans(struct prefix *p, struct span *spans, u32 *nr,
		      struct akin_diag *diag)
{
	const struct directory *d;
	struct container_reader *r;
	long index;
	int err;

	*nr = 0;
	err = dircache_get(p->run->gc->opt.dirs, p->ref.container, &r, diag);
	if (err)
		return err;
	d = container_directory(r);
	p->generation = d->generation;
	index = container_entry_index(d, p->ref.entry);
	while (!err && p->ref.nr && *nr < SPANS_AT_ONCE) {
		err = add_chunk(p, d, index, spans, nr, diag);
		if (err)
			break;
		p->ref.entry++;
		p->ref.nr--;
		index++;
		if (index >= d->nr_entries ||
		    d->entries[index].entry != p->ref.entry)
			index = -1;
	}
	dircache_put(p->run->gc->opt.dirs, p->ref.container);
	return err;
}

static int check_span(struct prefix *p, const struct group_data *g,
		      const struct span *s, struct akin_diag *diag)
{
	u32 chunks[64], i, n;
	int err = 0;

	for (i = 0; !err && i < s->nr; i += n) {
		for (n = 0; n < ARRAY_SIZE(chunks) && i + n < s->nr; n++)
			chunks[n] = s->chunk + i + n;
		err = groupcache_check(p->run->gc, p->run->dec, g, chunks, n,
				       diag);
	}
	return err;
}

static int copy_span(struct prefix *p, const struct span *s,
		     struct akin_diag *diag)
{
	const struct group_data *g;
	int err;

	err = groupcache_pin(p->run, p->ref.container, s->group, false, &g,
			     diag);
	if (err)
		return err;
	/* Unless the container changed between the two looks at it. */
	if (g->generation != p->generation || s->raw_off > g->raw_len ||
	    s->len > g->raw_len - s->raw_off)
		err = diag_set(diag, -AKIN_E_bad_length, "container %llu: it "
			       "changed while it was read",
			       (unsigned long long)p->ref.container);
	else if (p->verified)
		err = check_span(p, g, s, diag);
	if (!err)
		buf_put(p->out, g->raw + s->raw_off, s->len);
	groupcache_hold(p->run, g);
	return err;
}

static int copy_ref(struct prefix *p, const struct group_ref *ref,
		    struct akin_diag *diag)
{
	struct span spans[SPANS_AT_ONCE];
	u32 nr, i, at = ref->entry;
	int err = 0;

	p->ref = *ref;
	while (!err && p->ref.nr) {
		err = next_spans(p, spans, &nr, diag);
		if (err)
			at = p->ref.entry;
		for (i = 0; !err && i < nr; i++) {
			err = copy_span(p, &spans[i], diag);
			at = spans[i].entry;
		}
	}
	if (!err)
		return 0;
	p->failed.container = ref->container;
	p->failed.entry = at;
	diag_prefix(diag, "its reference to container %llu, entry %u cannot "
		    "be read", (unsigned long long)ref->container, at);
	return err;
}

static int build_prefix(struct prefix *p, const struct group_ref *refs,
			u32 nr_refs, struct akin_diag *diag)
{
	u32 i;
	int err = 0;

	buf_reset(p->out);
	if (!buf_reserve(p->out, p->left))
		return diag_set(diag, -AKIN_E_nomem, "references");
	for (i = 0; !err && i < nr_refs; i++)
		err = copy_ref(p, &refs[i], diag);
	if (!err && p->left)
		err = diag_set(diag, -AKIN_E_bad_length, "its references are "
			       "%u bytes short", p->left);
	return err;
}

int groupcache_prefix(struct groupcache *gc, struct decoder *dec,
		      const struct group_ref *refs, u32 nr_refs,
		      u32 expect_len, struct buf *out, struct akin_diag *diag)
{
	struct groupcache_run run = { .gc = gc, .dec = dec };
	struct prefix p = { .run = &run, .out = out, .left = expect_len,
			    .depth = GROUP_MAX_DEPTH, .verified = true };
	int err;

	if (expect_len > GROUP_MAX_REF_RAW)
		return diag_set(diag, -AKIN_E_bad_length,
				"references to %u bytes", expect_len);
	err = build_prefix(&p, refs, nr_refs, diag);
	groupcache_let_go(&run);
	return err;
}

/* Groups --------------------------------------------------------------------*/

static int read_group(struct groupcache_run *run, struct container_reader *r,
		      u32 index, struct container_group *out,
		      struct akin_diag *diag)
{
	struct buf room = decoder_take(&run->dec->stored);
	struct groupcache *gc = run->gc;
	int err;

	err = container_read_group_into(r, index, TAKE(&room), out, diag);
	if (err)
		return err;
	__atomic_fetch_add(&gc->read_bytes, out->bytes.len, __ATOMIC_RELAXED);
	counters_add(gc->opt.counters, group_bytes_read, out->bytes.len);
	counters_add(gc->opt.counters, sectors_healed, out->healed);
	return 0;
}

static void release_group(struct groupcache_run *run,
			  struct container_group *g)
{
	decoder_give(&run->dec->stored, &g->bytes);
	container_group_release(g);
}

/* *start_ret: when all was there that it takes to decode. */
static int unpack_ref(struct groupcache_run *run,
		      const struct container_group *g, u8 *raw, u64 *start_ret,
		      struct place *failed_ret, struct akin_diag *diag)
{
	const struct group_header *h = &g->header;
	struct buf prefix = decoder_take(&run->dec->prefixes);
	struct prefix p = { .run = run, .out = &prefix,
			    .left = h->ref_raw_len, .depth = h->depth };
	int err;

	err = build_prefix(&p, h->refs, h->nr_refs, diag);
	*start_ret = clock_ns();
	if (!err)
		err = codec_decompress_ref(run->dec->codec, h->codec_id,
					   prefix.data, prefix.len, g->payload,
					   h->stored_len, raw, h->raw_len);
	decoder_give(&run->dec->prefixes, &prefix);
	*failed_ret = p.failed;
	return err;
}

/* Decode what was read as group @g into @e. *failed_ret: the reference that
 * could not be read, if it was that. */
static int unpack(struct groupcache_run *run, struct groupcache_entry *e,
		  const struct container_group *g, struct place *failed_ret,
		  struct akin_diag *diag)
{
	const struct group_header *h = &g->header;
	struct akin_diag why = { 0 };
	u64 start = clock_ns();
	int err;

	e->raw = groupcache_take_raw(run->gc, h->raw_len, &e->cap);
	e->data.raw = e->raw;
	e->data.raw_len = h->raw_len;
	if (!e->raw)
		return diag_set(diag, -AKIN_E_nomem, "group");
	if (h->nr_refs)
		err = unpack_ref(run, g, e->raw, &start, failed_ret, &why);
	else
		err = codec_decompress(run->dec->codec, h->codec_id,
				       g->payload, h->stored_len, e->raw,
				       h->raw_len);
	if (err) {
		groupcache_give_raw(run->gc, e->raw, e->cap);
		e->raw = NULL;
		e->data.raw = NULL;
		return diag_set(diag, err, "container %llu: group %u: %s",
				(unsigned long long)e->data.container,
				h->number, why.code ? why.text :
				akin_strerror(err));
	}
	counters_stage(run->gc->opt.counters, stage_decode, h->raw_len,
		       clock_ns() - start);
	counters_add(run->gc->opt.counters, groups_read, 1);
	counters_add(run->gc->opt.counters, group_bytes_decoded, h->raw_len);
	return 0;
}

int groupcache_decode(struct groupcache_run *run, struct groupcache_entry *e,
		      struct akin_diag *diag)
{
	struct groupcache_source src;
	struct container_group g;
	struct place failed;
	int err;

	if (run->nr_decodes++ >= GROUPCACHE_DECODES_MAX)
		return diag_set(diag, -AKIN_E_nomem, "more than %u groups to "
				"decode for one; the cache is too small for "
				"them, or they were made to take long",
				GROUPCACHE_DECODES_MAX);
	err = groupcache_source_open(run->gc, &e->data, &src, diag);
	if (err)
		return err;
	e->data.generation = container_directory(src.r)->generation;
	err = read_group(run, src.r, e->data.index, &g, diag);
	/* Not pinned any longer: directories are few, and bases are next. */
	groupcache_source_close(run->gc, &e->data, &src);
	if (err)
		return err;
	err = unpack(run, e, &g, &failed, diag);
	release_group(run, &g);
	return err;
}

/* Tests ---------------------------------------------------------------------*/

/* Are the bases of @d what its group @h refers to? */
static void compare_bases(const struct directory *d,
			  const struct group_header *h, struct group_test *out)
{
	long at;
	u32 i;

	for (i = 0; i < h->nr_refs; i++) {
		at = container_base_index(d, h->refs[i].container);
		if (at < 0)
			out->stray = h->refs[i].container;
		else if (out->used)
			__atomic_store_n(&out->used[at], true,
					 __ATOMIC_RELAXED);
	}
}

int groupcache_test(struct groupcache *gc, struct decoder *dec,
		    struct container_reader *r, u32 index,
		    struct group_test *out, struct akin_diag *diag)
{
	const struct directory *d = container_directory(r);
	struct groupcache_run run = { .gc = gc, .dec = dec };
	struct groupcache_entry e = { 0 };
	struct container_group g;
	int err;

	out->bad = UINT32_MAX;
	memset(&out->base, 0, sizeof(out->base));
	out->stray = 0;
	e.data.container = d->container;
	e.data.index = index;
	err = read_group(&run, r, index, &g, diag);
	if (err)
		return err;
	compare_bases(d, &g.header, out);
	err = unpack(&run, &e, &g, &out->base, diag);
	release_group(&run, &g);
	groupcache_let_go(&run);
	if (!err)
		err = groupcache_verify_all(&run, d, &e.data, &out->bad, diag);
	groupcache_give_raw(gc, e.raw, e.cap);
	return err;
}
