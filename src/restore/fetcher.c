/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetcher: a ring of items, in the order in which they come out.
 *
 * What is pushed is begun (fetcher_ahead.c), then admitted: its group is wanted
 * (fetcher_groups.c), as far as the window goes. A group is wanted once however
 * many items point to it. Its worker pins the decoded bytes in the group cache;
 * the last item that wants it unpins them, and the cache keeps them for as long
 * as its budget allows.
 *
 * The caller's thread emits what is ready as soon as the window is full, and
 * waits only when it can neither admit nor push anything more. Nothing is
 * emitted before it was compared with its fingerprint.
 */
#include "base/mem.h"
#include "recipe/recipe_reader.h"
#include "restore/fetcher_internal.h"

/* Copies of one chunk looked for when the first cannot be read. */
#define COPIES_TRIED 4
/* Emitted before the pool's counters hear of it. */
#define TELL_BYTES MiB

int fetcher_new(struct depot *d, struct decoder *dec,
		const struct fetcher_options *opt, struct fetcher **out,
		struct akin_diag *diag)
{
	struct fetcher *f = mem_zalloc(sizeof(*f));

	if (!f)
		return diag_set(diag, -AKIN_E_nomem, "reader");
	f->depot = d;
	f->dec = dec;
	f->opt = *opt;
	f->lot_max = FETCHER_LOT_FIRST;
	fetcher_groups_init(f);
	f->ring = mem_calloc(FETCHER_ITEMS, sizeof(*f->ring));
	f->lot = mem_calloc(FETCHER_LOT_MAX, sizeof(*f->lot));
	f->fps = mem_calloc(RECIPE_LEAF_MAX, sizeof(*f->fps));
	f->hits = mem_calloc(RECIPE_LEAF_MAX, sizeof(*f->hits));
	if (!f->ring || !f->lot || !f->fps || !f->hits) {
		fetcher_free(f);
		return diag_set(diag, -AKIN_E_nomem, "reader");
	}
	*out = f;
	return 0;
}

static void item_release(struct fetcher *f, struct item *it)
{
	if (it->group)
		fetcher_unwant(f, it->group);
	mem_free(it->bytes);
	mem_free(it->why);
	memset(it, 0, sizeof(*it));
}

static void tell_counters(struct fetcher *f)
{
	counters_add(f->depot->counters, bytes_out, f->emitted);
	counters_stream_add(f->opt.shown, f->emitted, 0);
	f->emitted = 0;
}

void fetcher_free(struct fetcher *f)
{
	struct item *it;

	if (!f)
		return;
	tell_counters(f);
	for (; f->nr > 0; f->nr--) {
		it = fetcher_item(f, 0);
		if (it->type == ITEM_MARK && f->opt.drop)
			f->opt.drop(f->opt.ctx, it->what, it->token);
		item_release(f, it);
		f->first = (f->first + 1) % FETCHER_ITEMS;
	}
	pthread_cond_destroy(&f->ready);
	pthread_mutex_destroy(&f->lock);
	mem_free(f->ring);
	mem_free(f->lot);
	mem_free(f->fps);
	mem_free(f->hits);
	mem_free(f);
}

static int emit_bytes(struct fetcher *f, const struct item *it, const u8 *bytes,
		      struct akin_diag *diag)
{
	u64 i;
	int err = 0;

	f->emitted += it->len * it->count;
	for (i = 0; !err && i < it->count; i++)
		err = f->opt.data(f->opt.ctx, bytes, it->len, 0, NULL, diag);
	return err;
}

/*
 * A copy of the chunk that can be read, in place of one that could not: pinned
 * group and its spot, or NULL. What is damaged is remembered for as long as
 * the pool is open, so that locating it prefers the others.
 */
static const struct group_data *find_copy(struct fetcher *f,
					  const struct item *it,
					  struct chunk_spot *spot)
{
	struct place bad = { it->container, it->entry };
	const struct group_data *data;
	struct dir_hit at;
	int i;

	for (i = 0; i < COPIES_TRIED; i++) {
		if (depot_note_damage(f->depot, &bad) ||
		    depot_locate(f->depot, NULL, &it->fp, 1, &at, NULL) ||
		    depot_damage_has(&f->depot->damage, at.container,
				     at.entry) ||
		    depot_spot(f->depot, &at, &it->fp, spot, NULL))
			return NULL;
		if (!depot_spot_get(f->depot, f->dec, at.container, spot, &data,
				    NULL))
			return data;
		bad.container = at.container;
		bad.entry = at.entry;
	}
	return NULL;
}

static int emit_copy(struct fetcher *f, struct item *it, int why_code,
		     const struct akin_diag *why, struct akin_diag *diag)
{
	const struct group_data *data;
	struct chunk_spot spot;
	int err;

	counters_add(f->depot->counters, chunks_damaged, 1);
	data = find_copy(f, it, &spot);
	/* A file that is gone is damage here, as where the chunk is looked for. */
	if (!data && akin_error_class(why_code) == AKIN_CLASS_ABSENT)
		why_code = -AKIN_E_fp_unknown;
	if (!data)
		return f->opt.data(f->opt.ctx, NULL, it->len * it->count,
				   why_code, why, diag);
	err = emit_bytes(f, it, data->raw + spot.raw_off + it->skip, diag);
	groupcache_put(f->depot->groups, data);
	return err;
}

/* The oldest item, which was admitted, is out of the ring. */
static void advance(struct fetcher *f)
{
	f->first = (f->first + 1) % FETCHER_ITEMS;
	f->nr--;
	f->nr_begun--;
	f->nr_admitted--;
}

/*
 * Chunks that follow each other in the stream mostly do so in their group too:
 * one call, and one write, for all of them. @it's group is ready and good.
 */
static void take_followers(struct fetcher *f, struct item *it)
{
	u64 end = (u64)it->spot.raw_off + it->skip + it->len;
	struct item *next;

	while (it->count == 1 && f->nr_admitted > 0) {
		next = fetcher_item(f, 0);
		if (next->type != ITEM_CHUNK || next->group != it->group ||
		    next->count != 1 ||
		    (u64)next->spot.raw_off + next->skip != end ||
		    end + next->len > it->group->data->raw_len ||
		    !groupcache_is_checked(it->group->data, next->spot.chunk))
			return;
		it->len += next->len;
		end += next->len;
		item_release(f, next);
		advance(f);
	}
}

static int emit_chunk(struct fetcher *f, struct item *it,
		      struct akin_diag *diag)
{
	struct wanted_group *g = it->group;
	struct akin_diag why = { 0 };
	int err;

	fetcher_wait(f, g);
	if (g->err)
		return emit_copy(f, it, g->err, &g->diag, diag);
	/* The directory promised it. */
	if (it->spot.raw_off + it->skip + it->len > g->data->raw_len)
		err = diag_set(&why, -AKIN_E_bad_length, "container %llu: "
			       "entry %u is longer than its group",
			       (unsigned long long)g->container, it->entry);
	else
		err = groupcache_check(f->depot->groups, f->dec, g->data,
				       &it->spot.chunk, 1, &why);
	if (err)
		return emit_copy(f, it, err, &why, diag);
	take_followers(f, it);
	return emit_bytes(f, it, g->data->raw + it->spot.raw_off + it->skip,
			  diag);
}

/* Want what was begun, as far as the window goes, and one item in any case. */
static int admit(struct fetcher *f, struct akin_diag *diag)
{
	struct item *it;

	while (f->nr_admitted < f->nr_begun &&
	       (!f->nr_admitted || f->window <= f->opt.window_bytes)) {
		it = fetcher_item(f, f->nr_admitted);
		if (it->type == ITEM_CHUNK && !fetcher_want(f, it))
			return diag_set(diag, -AKIN_E_nomem, "reader");
		f->ahead -= it->ahead;
		it->ahead = 0;
		f->nr_admitted++;
	}
	return 0;
}

/* Waits for it. */
static int emit_first(struct fetcher *f, struct akin_diag *diag)
{
	struct item it;
	int err = 0;

	if (!f->nr_begun)
		fetcher_begin(f);
	if (!f->nr_admitted)
		err = admit(f, diag);
	if (err)
		return err;
	it = *fetcher_item(f, 0);
	memset(fetcher_item(f, 0), 0, sizeof(it));
	advance(f);
	switch (it.type) {
	case ITEM_CHUNK:
		err = emit_chunk(f, &it, diag);
		break;
	case ITEM_HOLE:
		f->emitted += it.len;
		err = f->opt.hole(f->opt.ctx, it.len, diag);
		break;
	case ITEM_INLINE:
		f->emitted += it.len;
		err = f->opt.data(f->opt.ctx, it.bytes, it.len, 0, NULL,
				  diag);
		break;
	case ITEM_FAILED:
		counters_add(f->depot->counters, chunks_damaged, 1);
		err = f->opt.data(f->opt.ctx, NULL, it.len * it.count, it.err,
				  it.why, diag);
		break;
	default:
		err = f->opt.mark(f->opt.ctx, it.what, it.token, diag);
		break;
	}
	item_release(f, &it);
	if (f->emitted >= TELL_BYTES)
		tell_counters(f);
	return err;
}

static bool is_ready(struct fetcher *f)
{
	struct item *it = fetcher_item(f, 0);

	return f->nr_admitted && (it->type != ITEM_CHUNK ||
				  atomic_load(&it->group->ready));
}

/* Large lots are good for the disk; workers that have nothing to do are not. */
static bool is_due(const struct fetcher *f)
{
	return !f->lot_nr || f->lot_nr == f->lot_max ||
	       f->ahead > f->opt.window_bytes ||
	       (f->nr_admitted == f->nr_begun &&
		f->lot_nr >= FETCHER_LOT_FIRST);
}

/* All that can be done without waiting for anybody. */
static int go_on(struct fetcher *f, struct akin_diag *diag)
{
	int err;

	for (;;) {
		if (is_due(f))
			fetcher_begin(f);
		err = admit(f, diag);
		if (err || f->nr_admitted == f->nr_begun || !is_ready(f))
			return err;
		err = emit_first(f, diag);
		if (err)
			return err;
	}
}

static bool is_full(const struct fetcher *f)
{
	return f->nr == FETCHER_ITEMS ||
	       (f->nr > 0 && f->ahead > f->opt.window_bytes);
}

/* Takes @it, also on failure: then it is released, a token excepted. */
static int push(struct fetcher *f, struct item *it, struct akin_diag *diag)
{
	int err = go_on(f, diag);

	while (!err && is_full(f)) {
		err = emit_first(f, diag);
		if (!err)
			err = go_on(f, diag);
	}
	if (err) {
		item_release(f, it);
		return err;
	}
	*fetcher_item(f, f->nr++) = *it;
	if (it->type == ITEM_CHUNK)
		fetcher_plan(f, fetcher_item(f, f->nr - 1));
	return 0;
}

int fetcher_mark(struct fetcher *f, int what, void *token,
		 struct akin_diag *diag)
{
	struct item it = { .type = ITEM_MARK, .what = what, .token = token };
	int err = push(f, &it, diag);

	if (err && f->opt.drop)
		f->opt.drop(f->opt.ctx, what, token);
	return err;
}

int fetcher_drain(struct fetcher *f, struct akin_diag *diag)
{
	int err = 0;

	fetcher_begin(f);
	while (!err && f->nr > 0) {
		err = admit(f, diag);
		if (!err)
			err = emit_first(f, diag);
	}
	tell_counters(f);
	return err;
}

static int push_failed(struct fetcher *f, u64 len, u64 count, int err,
		       const struct akin_diag *why, struct akin_diag *diag)
{
	struct item it = { .type = ITEM_FAILED, .len = len, .count = count,
			   .err = err };

	it.why = mem_dup(why, sizeof(*why));
	if (!it.why)
		return diag_set(diag, -AKIN_E_nomem, "reader");
	return push(f, &it, diag);
}

/* A located chunk, @skip bytes of it already passed, at most @left wanted. */
static int push_chunk(struct fetcher *f, const struct recipe_entry *e,
		      const struct dir_hit *at, u64 skip, u64 left,
		      struct akin_diag *diag)
{
	struct item it = { .type = ITEM_CHUNK, .len = e->len,
			   .count = e->count };
	struct akin_diag why = { 0 };
	int err;

	err = depot_spot(f->depot, at, &e->fp, &it.spot, &why);
	if (!err && it.spot.len != e->len)
		err = diag_set(&why, -AKIN_E_bad_length,
			       "container %llu: entry %u has another length",
			       (unsigned long long)at->container, at->entry);
	if (err)
		return push_failed(f, min_u64(left, recipe_entry_bytes(e) -
					      skip), 1, err, &why, diag);
	it.container = at->container;
	it.entry = at->entry;
	it.fp = e->fp;
	if (skip || left < recipe_entry_bytes(e)) {
		/* A part of one repetition; the caller comes back for more. */
		it.skip = (u32)(skip % e->len);
		it.len = min_u64(left, e->len - skip % e->len);
		it.count = 1;
	}
	return push(f, &it, diag);
}

/* One entry, from @skip on, at most @left bytes. */
static int push_entry(struct fetcher *f, const struct recipe_entry *e,
		      const struct dir_hit *at, const struct akin_diag *why,
		      u64 skip, u64 left, struct akin_diag *diag)
{
	struct item it = { 0 };
	u64 n;
	int err = 0;

	it.len = min_u64(recipe_entry_bytes(e) - skip, left);
	if (e->type == RECIPE_HOLE) {
		it.type = ITEM_HOLE;
		return push(f, &it, diag);
	}
	if (e->type == RECIPE_INLINE) {
		it.type = ITEM_INLINE;
		it.bytes = mem_dup(e->data + skip, it.len);
		if (!it.bytes)
			return diag_set(diag, -AKIN_E_nomem, "reader");
		return push(f, &it, diag);
	}
	if (!at->container)
		return push_failed(f, it.len, 1, why->code ? why->code :
				   -AKIN_E_fp_unknown, why, diag);
	if (!skip && it.len == recipe_entry_bytes(e))
		return push_chunk(f, e, at, 0, left, diag);
	for (left = it.len; !err && left > 0; left -= n, skip += n) {
		n = min_u64(left, e->len - skip % e->len);
		err = push_chunk(f, e, at, skip, n, diag);
	}
	return err;
}

/* Locate the chunks of some entries of one leaf; missing ones stay missing. */
static int locate(struct fetcher *f, const struct recipe_entry *e, u32 nr,
		  const struct hint *hint, struct akin_diag *why,
		  struct akin_diag *diag)
{
	u32 i, n = 0;
	int err;

	for (i = 0; i < nr; i++) {
		if (e[i].type == RECIPE_CHUNK || e[i].type == RECIPE_REPEAT)
			f->fps[n++] = e[i].fp;
	}
	if (n == 0)
		return 0;
	err = depot_locate(f->depot, hint, f->fps, n, f->hits, why);
	switch (akin_error_class(err)) {
	case AKIN_CLASS_OK:
	case AKIN_CLASS_CORRUPT:
	case AKIN_CLASS_IO:
	case AKIN_CLASS_ABSENT:
	case AKIN_CLASS_DENIED:
	case AKIN_CLASS_UNSUPPORTED:
		return 0;	/* others may be whole */
	default:
		return diag_pass(diag, err, why);
	}
}

/* @hint is that of these entries alone if @exact. */
static int push_leaf(struct fetcher *f, const struct recipe_entry *e, u32 nr,
		     const struct hint *hint, bool exact, u64 *skip, u64 *left,
		     struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	u32 i, k = 0;
	u64 n;
	int err;

	if (exact)
		depot_load_hinted(f->depot, hint);
	err = locate(f, e, nr, hint, &why, diag);
	for (i = 0; !err && i < nr && *left > 0; i++) {
		n = min_u64(recipe_entry_bytes(&e[i]) - *skip, *left);
		err = push_entry(f, &e[i], &f->hits[k], &why, *skip, *left,
				 diag);
		if (e[i].type == RECIPE_CHUNK || e[i].type == RECIPE_REPEAT)
			k++;
		*left -= n;
		*skip = 0;
	}
	return err;
}

int fetcher_content(struct fetcher *f, const struct content *ct,
		    const struct hint *hint, u64 off, u64 len,
		    struct akin_diag *diag)
{
	const struct recipe_entry *e;
	const struct hint *leaf_hint;
	struct akin_diag why = { 0 };
	struct recipe_reader *r;
	u64 skip = 0;
	u32 nr;
	int err, more = 0;

	err = recipe_reader_open(f->depot, f->dec, ct, hint, &r, diag);
	if (err)
		return err;
	len = off >= ct->bytes ? 0 : min_u64(len, ct->bytes - off);
	if (off)
		err = recipe_reader_seek(r, off, &skip, &why);
	while (!err && len > 0) {
		more = recipe_reader_next(r, &e, &nr, &leaf_hint, &why);
		if (more <= 0)
			break;
		err = push_leaf(f, e, nr, leaf_hint, ct->kind == CONTENT_ROOT,
				&skip, &len, diag);
	}
	recipe_reader_close(r);
	/* The recipe itself is damaged: what is left of the file is missing. */
	if (!why.code && more < 0)
		diag_set(&why, more, "recipe: %s", akin_strerror(more));
	if (!why.code && !err && more == 0 && len > 0)
		diag_set(&why, -AKIN_E_bad_length,
			 "the recipe ends before the content does");
	if (why.code && (!err || err == why.code))
		err = push_failed(f, len, 1, why.code, &why, diag);
	return err;
}
