/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One way to cut: cutting, counting, compressing a sample.
 *
 * A method has a buffer of its own, because each leaves another tail uncut.
 * What it finds new goes into a unit: a block, or a group of chunks. Units are
 * sampled like blocks are, by the fingerprint of their first block, and for the
 * same reason: a bounded number of results stands for all.
 *
 * Groups are made of what is new, and once the set is a sample it does not say
 * of every chunk whether it is. Duplicates come in runs; so a chunk that the
 * set would not remember is taken for what the last one was that it would,
 * unless it is among those seen lately. Groups of the sample alone would have
 * neighbours that lie far apart, and compress badly.
 */
#include "base/mem.h"
#include "estimate_internal.h"
#include "hash/hash.h"

/* Compressed before sampling becomes coarser, and units at most: some seconds
 * for each method, and one in a hundred is known well enough. */
#define SAMPLE_BYTES (32u << 20)
#define SAMPLE_UNITS 4096

const char *const estimate_codecs[ESTIMATE_NR_CODECS] = {
	"none", "lz4", "lzjb", "gzip", "zstd",
};

const struct estimate_method estimate_methods[ESTIMATE_NR_METHODS] = {
	{ "fixed", 4096, true, 4 }, { "fixed", 8192, true, 3 },
	{ "fixed", 16384, true, 2 }, { "fixed", 131072, true, 1 },
	{ "content", 4096, false, 4 }, { "content", 8192, false, 4 },
	{ "content", 16384, false, 2 }, { "content", 65536, false, 1 },
};

/* Tools of a thread ------------------------------------------------------- */

static int codecs_init(struct estimate_tools *t, struct akin_diag *diag)
{
	struct codec_choice choice;
	int i, err = 0;

	for (i = 0; i < ESTIMATE_NR_CODECS && !err; i++) {
		err = codec_parse(estimate_codecs[i], &choice, diag);
		if (!err)
			err = codec_ctx_new(&choice, &t->codecs[i], diag);
	}
	return err;
}

struct estimate_tools *estimate_tools_new(struct akin_diag *diag)
{
	struct estimate_tools *t = mem_zalloc(sizeof(*t));
	int err = 0;

	if (!t) {
		ignore_result(diag_set(diag, -AKIN_E_nomem, "out of memory"));
		return NULL;
	}
	t->max_lens = ESTIMATE_BUFFER / CHUNK_MIN_BYTES + 1;
	t->lens = mem_calloc(t->max_lens, sizeof(*t->lens));
	t->out = mem_alloc(codec_bound(ESTIMATE_GROUP + 8 * (64 << 10)));
	if (!t->lens || !t->out)
		err = diag_set(diag, -AKIN_E_nomem, "out of memory");
	if (!err)
		err = chunk_scratch_new(ESTIMATE_BUFFER, &t->scratch, diag);
	if (!err)
		err = codecs_init(t, diag);
	if (err) {
		estimate_tools_free(t);
		return NULL;
	}
	return t;
}

void estimate_tools_free(void *tools)
{
	struct estimate_tools *t = tools;
	int i;

	if (!t)
		return;
	for (i = 0; i < ESTIMATE_NR_CODECS; i++)
		codec_ctx_free(t->codecs[i]);
	chunk_scratch_free(t->scratch);
	mem_free(t->lens);
	mem_free(t->out);
	mem_free(t);
}

/* Units ------------------------------------------------------------------- */

static void thin_out_units(struct method *m)
{
	u32 i, nr = 0;

	m->unit_level++;
	m->units_raw = 0;
	for (i = 0; i < m->nr_units; i++) {
		if (!estimate_unit_counts(m, m->units[i].fp))
			continue;
		m->units_raw += m->units[i].raw;
		m->units[nr++] = m->units[i];
	}
	m->nr_units = nr;
}

/* Of what is only taken for new, something may come again. */
static bool unit_known(const struct method *m, u64 fp)
{
	u32 i;

	for (i = 0; m->set.level && i < m->nr_units; i++) {
		if (m->units[i].fp == fp)
			return true;
	}
	return false;
}

static int compress_unit(struct method *m, struct estimate_tools *t,
			 struct akin_diag *diag)
{
	struct unit_result r = { m->unit_fp, (u32)m->unit_len, { 0 } };
	size_t len;
	int i, err;
	u8 id;

	m->unit_len = 0;
	if (!r.raw || !estimate_unit_counts(m, r.fp) || unit_known(m, r.fp))
		return 0;
	for (i = 0; i < ESTIMATE_NR_CODECS; i++) {
		err = codec_compress(t->codecs[i], CODEC_GAIN_EIGHTH, m->unit,
				     r.raw, t->out, &len, &id, diag);
		if (err)
			return err;
		r.out[i] = id == CODEC_NONE ? r.raw : (u32)len;
	}
	m->raw += r.raw;
	m->out += r.out[ESTIMATE_ZSTD];
	m->units[m->nr_units++] = r;
	m->units_raw += r.raw;
	while ((m->nr_units == SAMPLE_UNITS || m->units_raw > m->sample) &&
	       m->unit_level < 31)
		thin_out_units(m);
	return 0;
}

/* Blocks ------------------------------------------------------------------ */

/* New, as far as anybody knows? */
static bool is_new(struct method *m, u64 fp, u32 len)
{
	enum estimate_seen seen = estimate_set_add(&m->set, fp, len);
	u64 *recent = m->recent ? &m->recent[fp >> 20 & (RECENT - 1)] : NULL;
	bool lately;

	if (seen == ESTIMATE_NEW)
		m->fresh += (u64)len << m->set.level;
	if (!recent)
		return seen == ESTIMATE_NEW;
	if (seen != ESTIMATE_LEFT_OUT)
		m->new = seen == ESTIMATE_NEW;
	lately = *recent == fp;
	*recent = fp;
	return m->new && !lately;
}

static int add_block(struct method *m, struct estimate_tools *t, const u8 *p,
		     u32 len, struct akin_diag *diag)
{
	u64 fp = checksum64(p, len, m->seed);

	m->bytes += len;
	m->blocks++;
	if (m->clusters)
		m->clusters[m->set.cluster % CLUSTERS] += len;
	if (!is_new(m, fp, len))
		return 0;
	if (!m->unit_len)
		m->unit_fp = fp;
	memcpy(m->unit + m->unit_len, p, len);
	m->unit_len += len;
	if (!m->is->fixed && m->unit_len < m->unit_size)
		return 0;
	return compress_unit(m, t, diag);
}

/* Cut what is in the buffer; the tail moves to its front. @drop: but for the
 * last piece. */
static int drain(struct method *m, struct estimate_tools *t, bool final,
		 bool drop, struct akin_diag *diag)
{
	size_t nr, used, i, off = 0;
	int err;

	err = chunker_cut(m->chunker, t->scratch, m->buf, m->len, final,
			  t->lens, t->max_lens, &nr, &used);
	for (i = 0; i + drop < nr && !err; i++) {
		if (!m->skip)
			err = add_block(m, t, m->buf + off, t->lens[i], diag);
		m->skip = false;
		off += t->lens[i];
	}
	if (err)
		return diag_said(diag, err);
	m->len -= used;
	memmove(m->buf, m->buf + used, m->len);
	return 0;
}

static int feed(struct method *m, struct estimate_tools *t, const u8 *p,
		size_t n, struct akin_diag *diag)
{
	size_t part;
	int err = 0;

	for (; n && !err; p += part, n -= part) {
		part = min_u64(n, ESTIMATE_BUFFER - m->len);
		memcpy(m->buf + m->len, p, part);
		m->len += part;
		if (m->len == ESTIMATE_BUFFER)
			err = drain(m, t, false, false, diag);
	}
	return err;
}

/* What the buffer has ends here; @whole: and so does the file. Where it does
 * not, the last chunk would have been another. */
static int cut_here(struct method *m, struct estimate_tools *t, bool whole,
		    struct akin_diag *diag)
{
	return m->len ? drain(m, t, true, !whole && !m->is->fixed, diag) : 0;
}

static int cut(struct method *m, struct estimate_tools *t,
	       const struct event *v, struct akin_diag *diag)
{
	int err = cut_here(m, t, false, diag);

	m->set.cluster = v->cluster;
	m->skip = !v->whole && !m->is->fixed;
	return err;
}

static void tell(struct method *m, struct event *v)
{
	if (m->is == &estimate_methods[ESTIMATE_POOL]) {
		v->fresh = m->fresh;
		v->raw = m->raw;
		v->out = m->out;
	}
	m->fresh = m->raw = m->out = 0;
}

static int consume(struct consumer *c, struct batch *b,
		   struct estimate_tools *t, struct akin_diag *diag)
{
	struct method *m = container_of(c, struct method, consumer);
	const u8 *p = b->data;
	struct event *v;
	int err = 0;
	u32 i;

	for (i = 0; i < b->nr && !err; i++) {
		v = &b->events[i];
		switch (v->type) {
		case EVENT_CUT:
			err = cut(m, t, v, diag);
			break;
		case EVENT_DATA:
			err = feed(m, t, p, v->len, diag);
			p += v->len;
			break;
		case EVENT_END:
			err = cut_here(m, t, v->whole, diag);
			tell(m, v);
			break;
		default:
			break;
		}
	}
	return err;
}

int estimate_method_finish(struct method *m, struct estimate_tools *tools,
			   struct akin_diag *diag)
{
	return compress_unit(m, tools, diag);
}

int estimate_method_init(struct method *m, const struct estimate_method *is,
			 const struct estimate_options *opt, u64 set_bytes,
			 struct akin_diag *diag)
{
	/* As a pool cuts; a key is needed but nothing depends on it. */
	static const u8 key[32] = { 1 };
	struct chunk_params p = {
		.method = is->fixed ? CHUNK_FIXED : CHUNK_CDC,
		.min = is->fixed ? is->block : is->block / 4,
		.avg = is->block,
		.max = is->fixed ? is->block : is->block * 8,
	};

	m->is = is;
	m->consumer.consume = consume;
	m->seed = opt->seed;
	m->unit_size = is->fixed ? is->block : ESTIMATE_GROUP;
	m->sample = opt->sample_bytes ? opt->sample_bytes : SAMPLE_BYTES;
	m->buf = mem_alloc(ESTIMATE_BUFFER);
	/* A chunk that begins within the group may end beyond. */
	m->unit = mem_alloc(m->unit_size + p.max);
	m->units = mem_calloc(SAMPLE_UNITS, sizeof(*m->units));
	if (!is->fixed)
		m->recent = mem_calloc(RECENT, sizeof(*m->recent));
	if (m->region)
		m->clusters = mem_calloc(CLUSTERS, sizeof(*m->clusters));
	if (!m->buf || !m->unit || !m->units || (!is->fixed && !m->recent) ||
	    (m->region && !m->clusters) ||
	    estimate_set_init(&m->set, set_bytes))
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	return chunker_new(&p, key, &m->chunker, diag);
}

void estimate_method_release(struct method *m)
{
	chunker_free(m->chunker);
	estimate_set_release(&m->set);
	mem_free(m->buf);
	mem_free(m->unit);
	mem_free(m->units);
	mem_free(m->recent);
	mem_free(m->clusters);
}
