/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chunk resembles that nothing lies near: a file that was moved and
 * changed, a near copy of something that was stored elsewhere.
 *
 * Its sketch is made, kept for those that come, and looked for. A chunk that is
 * found has neighbours, too: what comes next resembles theirs, whether or not
 * its own sketch says so, for a few chunks.
 *
 * Nothing is made where references are of no use: while the gate of the
 * stream's groups rests, and while these do not shrink at all.
 */
#include "ingest/stream_internal.h"

/* Chunks after a find that are taken for its continuation. */
#define CARRY_ON 4
/* Directories read for it: some at once, then one for so many bytes, and saved
 * up to a limit. */
#define LOADS_FIRST 16
#define LOAD_BYTES (256 * KiB)
#define LOADS_MAX 32

static void earn_loads(struct resembling *r, u32 bytes)
{
	if (!r->fed)
		r->loads_left = LOADS_FIRST;
	if ((r->fed + bytes) / LOAD_BYTES > r->fed / LOAD_BYTES)
		r->loads_left += r->loads_left < LOADS_MAX;
	r->fed += bytes;
}

static u32 around(const struct dir_hit *at, struct group_ref *out, u32 max)
{
	u32 nr = 0;

	out[nr].container = at->container;
	out[nr].entry = at->entry;
	out[nr++].nr = 2;
	if (at->entry && nr < max) {
		out[nr].container = at->container;
		out[nr].entry = at->entry - 1;
		out[nr++].nr = 1;
	}
	return nr;
}

/* From what cutting has sampled, if it has. */
static bool make_sketch(const struct ingest_stream *st, u32 k,
			struct dir_sketch *sk)
{
	const struct chunk_samples *sm = st->lane->samples;
	const struct hash_item *item = &st->lane->items[k];
	const struct sketcher *sketcher = st->depot->sketcher;
	u32 first;

	if (!sm)
		return sketch_make(sketcher, item->data, item->len, sk);
	first = k ? sm->ends[k - 1] : 0;
	return sketch_from(sketcher, sm->hashes + first, sm->ends[k] - first,
			   sk);
}

u32 stream_resemble(struct ingest_stream *st, u32 k, struct dir_sketch *sk,
		    struct group_ref *out, u32 max)
{
	struct resembling *r = &st->resembling;
	struct depot *d = st->depot;
	struct dir_hit at;
	u64 first;

	if (!d->similar || !packer_wants_sketches(&st->lane->data_packer) ||
	    !make_sketch(st, k, sk))
		return 0;
	counters_add(d->counters, chunks_sketched, 1);
	earn_loads(r, st->lane->items[k].len);
	first = r->since < CARRY_ON ? r->last.container : 0;
	if (depot_resembling(d, sk, first, &r->loads_left, &at)) {
		r->last = at;
		r->since = 0;
	} else if (first) {
		r->last.entry++;
		r->since++;
	} else {
		r->last.container = 0;
		return 0;
	}
	counters_add(d->counters, chunks_resembling, 1);
	st->tally.chunks_resembling++;
	return around(&r->last, out, max);
}
