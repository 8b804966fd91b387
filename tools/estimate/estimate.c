/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting, counting and compressing; see estimate.h.
 *
 * A method has a buffer of its own, because each leaves another tail uncut.
 * What it finds new goes into a unit: a block, or a group of chunks. Units are
 * sampled like blocks are, by the fingerprint of their first block, and for the
 * same reason: a bounded number of results stands for all.
 */
#include "base/mem.h"
#include "chunk/chunk.h"
#include "codec/codec.h"
#include "estimate.h"
#include "hash/hash.h"

#define BUFFER ((size_t)1 << 20)
/* Of a pool. */
#define GROUP (128u << 10)
/* Compressed before sampling becomes coarser, and units at most: some seconds
 * for each method, and one in a hundred is known well enough. */
#define SAMPLE_BYTES (32u << 20)
#define SAMPLE_UNITS 4096
#define INDEX_ENTRIES 204
#define INDEX_PAGE 4096
#define ZFS_ENTRY 320
/* Buffers, maps, codecs and the program itself. */
#define FIXED_BYTES (32 * MiB)
static_assert(ESTIMATE_MEMORY_MIN > FIXED_BYTES, "something for the tables");

const char *const estimate_codecs[ESTIMATE_NR_CODECS] = {
	"none", "lz4", "lzjb", "gzip", "zstd",
};

const struct estimate_method estimate_methods[ESTIMATE_NR_METHODS] = {
	{ "fixed", 4096, true }, { "fixed", 8192, true },
	{ "fixed", 16384, true }, { "fixed", 131072, true },
	{ "content", 4096, false }, { "content", 8192, false },
	{ "content", 16384, false }, { "content", 65536, false },
};

struct unit_result {
	u64 fp;
	u32 raw, out[ESTIMATE_NR_CODECS];
};

struct method {
	const struct estimate_method *is;
	struct chunker *chunker;
	struct estimate_set set;
	u8 *buf;		/* BUFFER bytes */
	size_t len;
	u8 *unit;
	size_t unit_len, unit_size;
	u64 unit_fp;		/* of its first block */
	struct unit_result *units;
	u32 nr_units;
	unsigned unit_level;
	u64 bytes, blocks;
};

struct estimate {
	struct method methods[ESTIMATE_NR_METHODS];
	struct codec_ctx *codecs[ESTIMATE_NR_CODECS];
	struct chunk_scratch *scratch;
	u32 *lens;
	size_t max_lens;
	u8 *out;		/* of a codec */
};

static int method_init(struct method *m, const struct estimate_method *is,
		       u64 set_bytes, struct akin_diag *diag)
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
	m->unit_size = is->fixed ? is->block : GROUP;
	m->buf = mem_alloc(BUFFER);
	/* A chunk that begins within the group may end beyond. */
	m->unit = mem_alloc(m->unit_size + p.max);
	m->units = mem_calloc(SAMPLE_UNITS, sizeof(*m->units));
	if (!m->buf || !m->unit || !m->units ||
	    estimate_set_init(&m->set, set_bytes))
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	return chunker_new(&p, key, &m->chunker, diag);
}

static int codecs_init(struct estimate *e, struct akin_diag *diag)
{
	struct codec_choice choice;
	int i, err = 0;

	for (i = 0; i < ESTIMATE_NR_CODECS && !err; i++) {
		err = codec_parse(estimate_codecs[i], &choice, diag);
		if (!err)
			err = codec_ctx_new(&choice, &e->codecs[i], diag);
	}
	return err;
}

int estimate_new(u64 memory, struct estimate **out, struct akin_diag *diag)
{
	u64 share = (max_u64(memory, ESTIMATE_MEMORY_MIN) - FIXED_BYTES) /
		    ESTIMATE_NR_METHODS;
	struct estimate *e = mem_zalloc(sizeof(*e));
	int i, err = 0;

	if (!e)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	e->max_lens = BUFFER / CHUNK_MIN_BYTES + 1;
	e->lens = mem_calloc(e->max_lens, sizeof(*e->lens));
	e->out = mem_alloc(codec_bound(GROUP + 8 * (64 << 10)));
	if (!e->lens || !e->out)
		err = diag_set(diag, -AKIN_E_nomem, "out of memory");
	if (!err)
		err = chunk_scratch_new(BUFFER, &e->scratch, diag);
	if (!err)
		err = codecs_init(e, diag);
	for (i = 0; i < ESTIMATE_NR_METHODS && !err; i++)
		err = method_init(&e->methods[i], &estimate_methods[i], share,
				  diag);
	if (err) {
		estimate_free(e);
		return err;
	}
	*out = e;
	return 0;
}

void estimate_free(struct estimate *e)
{
	int i;

	if (!e)
		return;
	for (i = 0; i < ESTIMATE_NR_METHODS; i++) {
		chunker_free(e->methods[i].chunker);
		estimate_set_release(&e->methods[i].set);
		mem_free(e->methods[i].buf);
		mem_free(e->methods[i].unit);
		mem_free(e->methods[i].units);
	}
	for (i = 0; i < ESTIMATE_NR_CODECS; i++)
		codec_ctx_free(e->codecs[i]);
	chunk_scratch_free(e->scratch);
	mem_free(e->lens);
	mem_free(e->out);
	mem_free(e);
}

static bool unit_sampled(const struct method *m, u64 fp)
{
	/* Other bits than the set's: its survivors are alike in those. */
	return (fp >> 32 & (((u64)1 << m->unit_level) - 1)) == 0;
}

static void thin_out_units(struct method *m)
{
	u32 i, nr = 0;

	m->unit_level++;
	for (i = 0; i < m->nr_units; i++) {
		if (unit_sampled(m, m->units[i].fp))
			m->units[nr++] = m->units[i];
	}
	m->nr_units = nr;
}

static int compress_unit(struct estimate *e, struct method *m,
			 struct akin_diag *diag)
{
	u32 limit = (u32)min_u64(SAMPLE_BYTES / m->unit_size, SAMPLE_UNITS);
	struct unit_result r = { m->unit_fp, (u32)m->unit_len, { 0 } };
	size_t len;
	int i, err;
	u8 id;

	m->unit_len = 0;
	if (!r.raw || !unit_sampled(m, r.fp))
		return 0;
	for (i = 0; i < ESTIMATE_NR_CODECS; i++) {
		err = codec_compress(e->codecs[i], CODEC_GAIN_EIGHTH, m->unit,
				     r.raw, e->out, &len, &id, diag);
		if (err)
			return err;
		r.out[i] = id == CODEC_NONE ? r.raw : (u32)len;
	}
	m->units[m->nr_units++] = r;
	while (m->nr_units == limit && m->unit_level < 31)
		thin_out_units(m);
	return 0;
}

static int add_block(struct estimate *e, struct method *m, const u8 *p,
		     u32 len, struct akin_diag *diag)
{
	u64 fp = checksum64(p, len, 0);

	m->bytes += len;
	m->blocks++;
	if (!estimate_set_add(&m->set, fp, len))
		return 0;
	if (!m->unit_len)
		m->unit_fp = fp;
	memcpy(m->unit + m->unit_len, p, len);
	m->unit_len += len;
	if (!m->is->fixed && m->unit_len < m->unit_size)
		return 0;
	return compress_unit(e, m, diag);
}

/* Cut what is in the buffer; the tail moves to its front. */
static int drain(struct estimate *e, struct method *m, bool final,
		 struct akin_diag *diag)
{
	size_t nr, used, i, off = 0;
	int err;

	err = chunker_cut(m->chunker, e->scratch, m->buf, m->len, final,
			  e->lens, e->max_lens, &nr, &used);
	for (i = 0; i < nr && !err; i++) {
		err = add_block(e, m, m->buf + off, e->lens[i], diag);
		off += e->lens[i];
	}
	if (err)
		return diag_said(diag, err);
	m->len -= used;
	memmove(m->buf, m->buf + used, m->len);
	return 0;
}

static int feed_method(struct estimate *e, struct method *m, const u8 *p,
		       size_t n, struct akin_diag *diag)
{
	size_t part;
	int err = 0;

	for (; n && !err; p += part, n -= part) {
		part = min_u64(n, BUFFER - m->len);
		memcpy(m->buf + m->len, p, part);
		m->len += part;
		if (m->len == BUFFER)
			err = drain(e, m, false, diag);
	}
	return err;
}

int estimate_feed(struct estimate *e, const void *data, size_t n,
		  struct akin_diag *diag)
{
	int i, err = 0;

	for (i = 0; i < ESTIMATE_NR_METHODS && !err; i++)
		err = feed_method(e, &e->methods[i], data, n, diag);
	return err;
}

int estimate_end(struct estimate *e, struct akin_diag *diag)
{
	int i, err = 0;

	for (i = 0; i < ESTIMATE_NR_METHODS && !err; i++) {
		if (e->methods[i].len)
			err = drain(e, &e->methods[i], true, diag);
	}
	return err;
}

int estimate_finish(struct estimate *e, struct akin_diag *diag)
{
	int i, err = 0;

	for (i = 0; i < ESTIMATE_NR_METHODS && !err; i++)
		err = compress_unit(e, &e->methods[i], diag);
	return err;
}

static void get_factors(const struct method *m, struct estimate_result *out)
{
	u64 sum[ESTIMATE_NR_CODECS] = { 0 };
	u32 i, c;

	for (i = 0; i < m->nr_units; i++) {
		out->sample_bytes += m->units[i].raw;
		for (c = 0; c < ESTIMATE_NR_CODECS; c++)
			sum[c] += m->units[i].out[c];
	}
	for (c = 0; c < ESTIMATE_NR_CODECS; c++)
		out->factor[c] = sum[c] ? (double)out->sample_bytes /
					  (double)sum[c] : 1;
}

void estimate_get(const struct estimate *e, unsigned method,
		  struct estimate_result *out)
{
	const struct method *m = &e->methods[method];

	*out = (struct estimate_result){
		.bytes = m->bytes, .blocks = m->blocks,
		.distinct = estimate_set_count(&m->set),
		.unique = estimate_set_bytes(&m->set),
		.level = m->set.level,
	};
	out->distinct.value = min_u64(out->distinct.value, m->blocks);
	out->unique.value = min_u64(out->unique.value, m->bytes);
	get_factors(m, out);
}

u64 estimate_stored(const struct estimate_result *r, unsigned codec)
{
	return (u64)((double)r->unique.value / r->factor[codec] + 0.5);
}

u64 estimate_zfs_bytes(const struct estimate_result *r)
{
	return r->distinct.value * ZFS_ENTRY;
}

u64 estimate_index_bytes(const struct estimate_result *r)
{
	return (r->distinct.value + INDEX_ENTRIES - 1) / INDEX_ENTRIES *
	       INDEX_PAGE;
}
