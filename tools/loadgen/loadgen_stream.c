/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and their generations.
 *
 * A generation is a list of pieces: so many bytes of generation 0, or of what a
 * later one brought. The next is made in one pass: the stream is parted into as
 * many equal strata as there are edits, and each has one, somewhere in it. A
 * move exchanges what two neighbouring strata of that kind have.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen_internal.h"

#define UNIT_DEFAULT (128u << 10)
#define EDIT_DEFAULT (64u << 10)
#define SIMILAR_DEFAULT 16

struct piece {
	uint64_t off;		/* in the stream */
	uint64_t source;	/* in what generation @born brought */
	uint32_t born;
};

struct pieces {
	struct piece *v;
	size_t nr, cap;
	uint64_t bytes;
};

struct loadgen_stream {
	const struct loadgen *l;
	uint32_t stream;
	struct pieces now;
	size_t last;		/* piece that was read last */
};

static int check(const struct loadgen_options *o, struct akin_diag *diag)
{
	if (o->unit_bytes < LOADGEN_UNIT_MIN ||
	    o->unit_bytes > LOADGEN_UNIT_MAX ||
	    o->unit_bytes % LOADGEN_SEGMENT)
		return loadgen_fail(diag, -AKIN_E_usage, "a unit has 1 KiB to "
				    "16 MiB, in whole KiB");
	if (!o->nr_streams || o->nr_streams > LOADGEN_STREAMS_MAX)
		return loadgen_fail(diag, -AKIN_E_usage, "1 to %u streams",
				    LOADGEN_STREAMS_MAX);
	if (o->trace && (o->nr_streams > 1 || o->similar_share > 0 ||
			 o->distribution || o->dedup > 0 ||
			 o->random_share >= 0))
		return loadgen_fail(diag, -AKIN_E_usage, "a trace says itself "
				    "what repeats, and is one stream");
	if ((!o->stream_bytes && !o->trace) ||
	    o->stream_bytes > (uint64_t)1 << 46 ||
	    o->stream_bytes / o->unit_bytes >= UINT32_MAX)
		return loadgen_fail(diag, -AKIN_E_usage, "a stream has 1 to "
				    "2^32 units and 64 TiB at most");
	if (!(o->dedup == 0 || o->dedup >= 1) || !(o->random_share <= 1) ||
	    !(o->compressible >= 0 && o->compressible <= 0.99) ||
	    !(o->similar_share >= 0 && o->similar_share <= 1) ||
	    !(o->change_share >= 0 && o->change_share <= 0.5))
		return loadgen_fail(diag, -AKIN_E_usage, "a ratio is 1 or "
				    "more, a share 0 to 1; compressible up to "
				    "0.99, changed up to 0.5");
	if ((o->distribution != NULL) + (o->dedup > 0) +
	    (o->random_share >= 0) > 1)
		return loadgen_fail(diag, -AKIN_E_usage, "a distribution, a "
				    "ratio or a random share: one of them");
	if (o->object_min > o->object_max)
		return loadgen_fail(diag, -AKIN_E_usage, "objects: the "
				    "smallest is larger than the largest");
	return 0;
}

static void fill_defaults(struct loadgen_options *o)
{
	static const uint32_t edits[LOADGEN_NR_EDITS] = { 7, 1, 1, 1 };
	static const uint32_t none[LOADGEN_NR_EDITS];

	if (!o->unit_bytes)
		o->unit_bytes = UNIT_DEFAULT;
	if (!o->nr_streams)
		o->nr_streams = 1;
	if (!o->similar_bytes)
		o->similar_bytes = SIMILAR_DEFAULT;
	if (!o->edit_bytes)
		o->edit_bytes = EDIT_DEFAULT;
	if (memcmp(o->edits, none, sizeof(none)) == 0)
		memcpy(o->edits, edits, sizeof(edits));
}

static int keep_contents(struct loadgen *l)
{
	uint32_t unit = l->opt.unit_bytes;
	unsigned char *kept;
	uint64_t i;

	if (l->trace || l->distinct > l->opt.keep_bytes / unit)
		return 0;
	kept = malloc(l->distinct * unit);
	if (!kept)
		return -AKIN_E_nomem;
	for (i = 0; i < l->distinct; i++)
		loadgen_fill(l, i, 0, kept + i * unit, unit);
	l->kept = kept;
	return 0;
}

int loadgen_new(const struct loadgen_options *opt, struct loadgen **out,
		struct akin_diag *diag)
{
	struct loadgen *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return loadgen_fail(diag, -AKIN_E_nomem, "load");
	l->opt = *opt;
	fill_defaults(&l->opt);
	err = check(&l->opt, diag);
	if (!err) {
		l->random_bytes = (uint32_t)ceil(LOADGEN_SEGMENT *
						 (1 - l->opt.compressible));
		err = loadgen_make_plan(l, diag);
	}
	if (!err && keep_contents(l))
		err = loadgen_fail(diag, -AKIN_E_nomem, "contents to keep");
	if (err) {
		loadgen_free(l);
		return err;
	}
	*out = l;
	return 0;
}

void loadgen_free(struct loadgen *l)
{
	if (l) {
		free(l->classes);
		free(l->kept);
		loadgen_free_trace(l);
	}
	free(l);
}

void loadgen_get_plan(const struct loadgen *l, struct loadgen_plan *out)
{
	memset(out, 0, sizeof(*out));
	out->units = l->units;
	out->distinct = l->distinct;
	out->bytes = l->stream_bytes * l->opt.nr_streams;
	out->stream_bytes = l->stream_bytes;
	out->similar = (uint64_t)((double)l->distinct * l->opt.similar_share);
	out->unit_bytes = l->opt.unit_bytes;
	out->random_bytes = l->random_bytes * (l->opt.unit_bytes /
					       LOADGEN_SEGMENT);
}

static int add_piece(struct pieces *p, uint32_t born, uint64_t source,
		     uint64_t len)
{
	size_t cap = p->cap ? p->cap * 2 : 16;
	struct piece *last, *v;

	if (!len)
		return 0;
	last = p->nr ? &p->v[p->nr - 1] : NULL;
	if (last && last->born == born &&
	    last->source + (p->bytes - last->off) == source) {
		p->bytes += len;
		return 0;
	}
	if (p->nr == p->cap) {
		v = realloc(p->v, cap * sizeof(*v));
		if (!v)
			return -AKIN_E_nomem;
		p->v = v;
		p->cap = cap;
	}
	v = &p->v[p->nr++];
	v->off = p->bytes;
	v->source = source;
	v->born = born;
	p->bytes += len;
	return 0;
}

/* The last piece that begins at or before @off. */
static size_t find_piece(const struct pieces *p, uint64_t off)
{
	size_t low = 0, high = p->nr, mid;

	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (p->v[mid].off <= off)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static uint64_t piece_end(const struct pieces *p, size_t i)
{
	return i + 1 < p->nr ? p->v[i + 1].off : p->bytes;
}

/* Bytes [from, to) of @old behind @new. */
static int copy_range(struct pieces *new, const struct pieces *old,
		      uint64_t from, uint64_t to)
{
	uint64_t end, skip;
	size_t i;
	int err = 0;

	if (to > old->bytes)
		to = old->bytes;
	for (i = find_piece(old, from); !err && from < to; i++) {
		end = piece_end(old, i);
		end = end < to ? end : to;
		skip = from - old->v[i].off;
		err = add_piece(new, old->v[i].born, old->v[i].source + skip,
				end - from);
		from = end;
	}
	return err;
}

struct edits {
	const struct loadgen *l;
	const struct pieces *old;
	uint64_t key;		/* of stream and generation */
	uint64_t nr, stratum;
	uint32_t total;		/* of the weights */
};

static enum loadgen_edit edit_kind(const struct edits *e, uint64_t i)
{
	uint64_t draw = loadgen_mix2(e->key, 2 * i) % e->total;
	uint32_t kind = 0;

	while (draw >= e->l->opt.edits[kind])
		draw -= e->l->opt.edits[kind++];
	return (enum loadgen_edit)kind;
}

/* Where in the old generation; there is room for its bytes in its stratum. */
static uint64_t edit_off(const struct edits *e, uint64_t i)
{
	uint64_t room = e->stratum - e->l->opt.edit_bytes;

	return i * e->stratum + loadgen_mix2(e->key, 2 * i + 1) % (room + 1);
}

/* With whom stratum @i exchanges: the next one before or behind it that moves,
 * by turns; itself if there is none. */
static void find_partners(const struct edits *e, uint64_t *partner)
{
	uint64_t i, waiting = UINT64_MAX;

	for (i = 0; i < e->nr; i++) {
		partner[i] = i;
		if (edit_kind(e, i) != LOADGEN_MOVE)
			continue;
		if (waiting == UINT64_MAX) {
			waiting = i;
		} else {
			partner[i] = waiting;
			partner[waiting] = i;
			waiting = UINT64_MAX;
		}
	}
}

static int apply(const struct edits *e, const uint64_t *partner,
		 uint32_t generation, struct pieces *new)
{
	uint64_t len = e->l->opt.edit_bytes, at = 0, fresh = 0, i, off, from;
	enum loadgen_edit kind;
	int err = 0;

	for (i = 0; !err && i < e->nr; i++) {
		kind = edit_kind(e, i);
		off = edit_off(e, i);
		err = copy_range(new, e->old, at, off);
		at = kind == LOADGEN_INSERT ? off : off + len;
		if (!err && (kind == LOADGEN_OVERWRITE ||
			     kind == LOADGEN_INSERT)) {
			err = add_piece(new, generation, fresh, len);
			fresh += len;
		} else if (!err && kind == LOADGEN_MOVE) {
			from = edit_off(e, partner[i]);
			err = copy_range(new, e->old, from, from + len);
		}
	}
	return err ? err : copy_range(new, e->old, at, e->old->bytes);
}

static int next_generation(struct loadgen_stream *s, uint32_t generation)
{
	const struct loadgen_options *o = &s->l->opt;
	struct edits e = { .l = s->l, .old = &s->now };
	struct pieces new = { 0 };
	uint64_t *partner;
	uint32_t i;
	int err;

	e.nr = (uint64_t)((double)s->now.bytes * o->change_share /
			  o->edit_bytes);
	if (!e.nr)
		return 0;
	e.stratum = s->now.bytes / e.nr;
	e.key = loadgen_mix2(o->seed ^ LOADGEN_FRESH,
			     (uint64_t)s->stream << 32 | generation);
	for (i = 0; i < LOADGEN_NR_EDITS; i++)
		e.total += o->edits[i];
	partner = malloc(e.nr * sizeof(*partner));
	if (!partner)
		return -AKIN_E_nomem;
	find_partners(&e, partner);
	err = apply(&e, partner, generation, &new);
	free(partner);
	if (err) {
		free(new.v);
		return err;
	}
	free(s->now.v);
	s->now = new;
	return 0;
}

int loadgen_open(const struct loadgen *l, uint32_t stream, uint32_t generation,
		 struct loadgen_stream **out, struct akin_diag *diag)
{
	struct loadgen_stream *s;
	uint32_t g;
	int err;

	if (stream >= l->opt.nr_streams || generation > LOADGEN_GENERATIONS_MAX)
		return loadgen_fail(diag, -AKIN_E_usage, "no such stream or "
				    "generation");
	s = calloc(1, sizeof(*s));
	if (!s)
		return loadgen_fail(diag, -AKIN_E_nomem, "stream");
	s->l = l;
	s->stream = stream;
	err = add_piece(&s->now, 0, 0, l->stream_bytes);
	for (g = 1; !err && g <= generation; g++)
		err = next_generation(s, g);
	if (err) {
		loadgen_close(s);
		return loadgen_fail(diag, err, "stream");
	}
	*out = s;
	return 0;
}

void loadgen_close(struct loadgen_stream *s)
{
	if (s)
		free(s->now.v);
	free(s);
}

uint64_t loadgen_size(const struct loadgen_stream *s)
{
	return s->now.bytes;
}

static uint64_t content_of(const struct loadgen_stream *s, uint32_t born,
			   uint64_t unit)
{
	if (born == 0)
		return loadgen_content(s->l, s->stream * s->l->stream_units +
				       unit);
	return LOADGEN_FRESH | (uint64_t)s->stream << 48 |
	       (uint64_t)born << 32 | unit;
}

/* @n bytes of what generation @born brought, from @source on. */
static void fill_source(const struct loadgen_stream *s, uint32_t born,
			uint64_t source, unsigned char *to, size_t n)
{
	uint32_t unit_bytes = s->l->opt.unit_bytes, skip;
	size_t len;

	if (born == 0 && s->l->trace) {
		loadgen_fill_trace(s->l, source, to, n);
		return;
	}
	for (; n; n -= len, to += len, source += len) {
		skip = (uint32_t)(source % unit_bytes);
		len = unit_bytes - skip;
		if (len > n)
			len = n;
		loadgen_fill(s->l, content_of(s, born, source / unit_bytes),
			     skip, to, len);
	}
}

size_t loadgen_read(struct loadgen_stream *s, uint64_t off, void *to, size_t n)
{
	const struct pieces *p = &s->now;
	unsigned char *at = to;
	size_t left, i = s->last;
	uint64_t len;

	if (off >= p->bytes)
		return 0;
	if (n > p->bytes - off)
		n = (size_t)(p->bytes - off);
	if (p->v[i].off > off || piece_end(p, i) <= off)
		i = find_piece(p, off);
	for (left = n; left; left -= len, at += len, off += len) {
		while (piece_end(p, i) <= off)
			i++;
		len = piece_end(p, i) - off;
		if (len > left)
			len = left;
		fill_source(s, p->v[i].born, p->v[i].source + off -
			    p->v[i].off, at, (size_t)len);
	}
	s->last = i;
	return n;
}

uint64_t loadgen_object(const struct loadgen_stream *s, uint64_t off)
{
	const struct loadgen_options *o = &s->l->opt;
	uint64_t left = s->now.bytes - off, len = o->object_min, h;
	uint32_t doublings = 0;

	if (!o->object_max)
		return left;
	if (!len)
		len = 1;
	h = loadgen_mix2(o->seed + s->stream, off);
	/* As many of 1 to 2 as of 2 to 4. */
	while (len << doublings < o->object_max && doublings < 63)
		doublings++;
	if (doublings)
		len <<= h % doublings;
	len += (h >> 8) % len;
	if (len > o->object_max)
		len = o->object_max;
	return len < left ? len : left;
}
