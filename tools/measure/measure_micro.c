/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the engine alone, on one core and from memory: what a pool can reach
 * at most. Rates are of processor time, the best of several rounds.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chunk/chunk.h"
#include "codec/codec.h"
#include "hash/hash.h"
#include "loadgen.h"
#include "measure_pool.h"

#define BYTES (8u << 20)
#define BATCH (512u << 10)
#define GROUP (128u << 10)
#define MAX_LENS (BATCH / 2048 + 2)
#define ROUNDS 5
#define ROUND_SECONDS 0.05

static const struct measure_column micro_columns[] = {
	{ "gb_per_s", "GB/s", 2 },
	{ "ratio", "ratio", 2 },
};

static const struct measure_chart micro_charts[] = {
	{ "One core, from memory", "GB/s", MEASURE_BARS, { 0 }, 1, -1 },
};

struct micro {
	u8 *data, *out;
	struct loadgen_stream *load;
	struct chunker *chunker;
	struct chunk_scratch *cut;
	struct hasher *hasher;
	struct hash_scratch *scratch;
	struct codec_ctx *codec;
	u32 lens[MAX_LENS];
	struct hash_item items[MAX_LENS];
	struct fp fps[MAX_LENS];
	size_t made;		/* bytes that came out */
	int err;
};

static void run_load(struct micro *m)
{
	loadgen_read(m->load, 0, m->data, BYTES);
	m->made = BYTES;
}

static void run_copy(struct micro *m)
{
	memcpy(m->out, m->data, BYTES);
	m->made = BYTES;
}

/* In batches, as a stream does it. */
static void run_engine(struct micro *m, bool hash)
{
	size_t off, used, nr, i;
	const u8 *p;

	for (off = 0; off < BYTES && !m->err; off += used) {
		m->err = chunker_cut(m->chunker, m->cut, m->data + off,
				     min_u64(BATCH, BYTES - off),
				     BYTES - off <= BATCH, m->lens, MAX_LENS,
				     &nr, &used);
		if (m->err || !hash)
			continue;
		for (i = 0, p = m->data + off; i < nr; p += m->lens[i++]) {
			m->items[i].data = p;
			m->items[i].len = m->lens[i];
		}
		m->err = hasher_batch(m->hasher, m->scratch, m->items, nr,
				      m->fps);
	}
	m->made = BYTES;
}

static void run_cut(struct micro *m)
{
	run_engine(m, false);
}

static void run_both(struct micro *m)
{
	run_engine(m, true);
}

static void run_codec(struct micro *m)
{
	size_t off, len;
	u8 id;

	m->made = 0;
	for (off = 0; off < BYTES && !m->err; off += GROUP) {
		m->err = codec_compress(m->codec, CODEC_GAIN_EIGHTH,
					m->data + off, GROUP, m->out, &len, &id,
					NULL);
		m->made += id == CODEC_NONE ? GROUP : len;
	}
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int time_one(struct measure_report *r, const char *name,
		    struct micro *m, void (*run)(struct micro *m))
{
	double best = 0, begun, v[2];
	int round, times;

	run(m);			/* warm */
	for (round = 0; round < ROUNDS && !m->err; round++) {
		begun = cpu_seconds();
		for (times = 0; !m->err &&
		     cpu_seconds() - begun < ROUND_SECONDS; times++)
			run(m);
		v[0] = (double)BYTES * times / (cpu_seconds() - begun) / 1e9;
		best = v[0] > best ? v[0] : best;
	}
	v[0] = best;
	v[1] = (double)BYTES / (double)(m->made ? m->made : 1);
	return m->err ? m->err : measure_add(r, name, v);
}

static int time_codecs(const struct measure_options *opt, struct micro *m,
		       struct measure_report *r, struct akin_diag *diag)
{
	static const char *const names[] = { "lz4", "zstd:1", "zstd:3",
					     "zstd:9", "gzip:6", "lzjb" };
	struct codec_choice choice;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(names); i++) {
		if (opt->tick)
			err = opt->tick(opt->ctx, names[i]);
		if (!err)
			err = codec_parse(names[i], &choice, diag);
		if (!err)
			err = codec_ctx_new(&choice, &m->codec, diag);
		if (!err)
			err = time_one(r, names[i], m, run_codec);
		codec_ctx_free(m->codec);
		m->codec = NULL;
	}
	return err;
}

static int prepare(struct micro *m, struct loadgen *l, struct akin_diag *diag)
{
	struct chunk_params params = { CHUNK_CDC, 2048, 8192, 65536 };
	u8 key[HASH_KEY_BYTES] = { 1 };
	int err;

	m->data = malloc(BYTES);
	m->out = malloc(BYTES + codec_bound(GROUP));
	if (!m->data || !m->out)
		return measure_fail(diag, -AKIN_E_nomem, "buffers");
	err = loadgen_open(l, 0, 0, &m->load, diag);
	if (!err)
		err = chunker_new(&params, key, &m->chunker, diag);
	if (!err)
		err = chunk_scratch_new(BATCH, &m->cut, diag);
	if (!err)
		err = hasher_new(HASH_BLAKE3, key, &m->hasher, diag);
	if (!err)
		err = hash_scratch_new(&m->scratch, diag);
	return err;
}

static void release(struct micro *m)
{
	loadgen_close(m->load);
	chunker_free(m->chunker);
	chunk_scratch_free(m->cut);
	hasher_free(m->hasher);
	hash_scratch_free(m->scratch);
	free(m->data);
	free(m->out);
	free(m);
}

static int time_all(const struct measure_options *opt, struct micro *m,
		    struct measure_report *r, struct akin_diag *diag)
{
	char name[MEASURE_LABEL];
	int err;

	err = time_one(r, "copy memory", m, run_copy);
	if (!err)
		err = time_one(r, "make the load", m, run_load);
	snprintf(name, sizeof(name), "cut (%s)", chunker_kernel(m->chunker));
	if (!err)
		err = time_one(r, name, m, run_cut);
	snprintf(name, sizeof(name), "cut, %.32s", hasher_kernel(m->hasher));
	if (!err)
		err = time_one(r, name, m, run_both);
	return err ? err : time_codecs(opt, m, r, diag);
}

int measure_micro(const struct measure_options *opt,
		  struct measure_report *out, struct akin_diag *diag)
{
	struct loadgen_options lopt = { .stream_bytes = BYTES,
					.random_share = -1,
					.compressible = 0.5 };
	struct micro *m = calloc(1, sizeof(*m));
	struct loadgen *l = NULL;
	int err;

	memset(out, 0, sizeof(*out));
	out->verb = "micro";
	out->title = "Parts of the engine";
	out->text = "Each part alone on one core, on 8 MiB in memory of which "
		"half compresses away; the best of five rounds, in processor "
		"time. 'Cut' finds the borders of chunks, the row below it "
		"also fingerprints them.";
	out->row_title = "part";
	out->columns = micro_columns;
	out->nr_columns = ARRAY_SIZE(micro_columns);
	out->charts = micro_charts;
	out->nr_charts = ARRAY_SIZE(micro_charts);
	if (!m)
		return measure_fail(diag, -AKIN_E_nomem, "micro");
	err = loadgen_new(&lopt, &l, diag);
	if (!err)
		err = prepare(m, l, diag);
	if (!err)
		err = time_all(opt, m, out, diag);
	release(m);
	loadgen_free(l);
	measure_machine(out);
	return err ? measure_fail(diag, err, "%s", akin_strerror(err)) : 0;
}
