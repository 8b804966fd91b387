/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was stored comes back: series of versions made by every kind of change,
 * and data made to be difficult, with every depth of references, engine and
 * codec; as backups leave them, and after they were optimized and what that
 * left behind was reclaimed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "akin/akin.h"
#include "simpool.h"

#define BYTES_MAX (192 * 1024)
#define VERSIONS 10
#define CHUNK 1024	/* simpool's */
#define ALIKE 40	/* blocks that differ by a bit */
static_assert(ALIKE * (4 * CHUNK + 1) <= BYTES_MAX, "they have room");

struct data {
	u8 b[BYTES_MAX];
	size_t n;
};

struct setup {
	int depth;	/* AKIN_DELTA_NONE: no references */
	enum akin_engine engine;
	const char *codec;
};

struct stored {
	struct data data[VERSIONS];
	u64 number[VERSIONS];
	u32 nr;
};

/* A series in a pool -------------------------------------------------------*/

struct source {
	const u8 *data;
	size_t left;
	bool differs;
};

static long give(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	struct source *s = ctx;
	size_t n = min_u64(cap, s->left);

	memcpy(buf, s->data, n);
	s->data += n;
	s->left -= n;
	return (long)n;
}

static int take(void *ctx, const void *data, size_t n)
{
	struct source *s = ctx;

	if (n > s->left || memcmp(s->data, data, n)) {
		s->differs = true;
		return 0;
	}
	s->data += n;
	s->left -= n;
	return 0;
}

static void must(int err, const char *what, const struct setup *u,
		 const struct akin_diag *diag)
{
	if (err)
		fail_msg("%s: depth %d, engine %d, %s: %s", what, u->depth,
			 u->engine, u->codec, diag->text);
}

static void put(struct akin_pool *p, const struct setup *u, struct stored *st,
		u32 i)
{
	struct akin_backup_options opt = { .host = "test",
					   .delta_depth = u->depth,
					   .engine = u->engine,
					   .compression = u->codec };
	struct source s = { st->data[i].b, st->data[i].n, false };
	struct akin_backup_result result;
	struct akin_diag d = { 0 };

	must(akin_backup_stream(p, &opt, "s", give, NULL, &s, &result, &d),
	     "backup", u, &d);
	st->number[i] = result.number;
}

static void expect_back(struct akin_pool *p, const struct setup *u,
			const struct stored *st, u32 i)
{
	struct source s = { st->data[i].b, st->data[i].n, false };
	struct akin_diag d = { 0 };

	must(akin_snapshot_read(p, st->number[i], "s", take, NULL, &s, &d),
	     "read", u, &d);
	if (s.differs || s.left)
		fail_msg("depth %d, engine %d, %s: version %u is another one",
			 u->depth, u->engine, u->codec, i);
}

static struct akin_pool *open_pool(struct simpool *sp, const struct setup *u)
{
	struct akin_diag d = { 0 };
	struct akin_pool *p = NULL;

	must(simpool_open(sp, false, &p, &d), "open", u, &d);
	return p;
}

static void expect_all(struct simpool *sp, const struct setup *u,
		       const struct stored *st)
{
	struct akin_pool *p = open_pool(sp, u);
	u32 i;

	for (i = st->nr; i > 0; i--)
		expect_back(p, u, st, i - 1);
	akin_pool_close(p);
	simpool_expect_sound(sp, u->codec);
}

static void optimize(struct simpool *sp, const struct setup *u)
{
	struct akin_optimize_options opt = { .delta_depth = u->depth,
					     .compression = u->codec };
	struct akin_optimize_result result;
	struct akin_gc_options gopt = { 0 };
	struct akin_gc_result gresult;
	struct akin_diag d = { 0 };
	struct akin_pool *p = open_pool(sp, u);

	must(akin_optimize(p, &opt, &result, &d), "optimize", u, &d);
	akin_pool_close(p);
	p = open_pool(sp, u);
	must(akin_gc(p, &gopt, &gresult, &d), "gc", u, &d);
	akin_pool_close(p);
}

static void round_trip(const struct setup *u, struct stored *st)
{
	struct akin_pool *p;
	struct simpool sp;
	u32 i;

	assert_int_equal(simpool_init(&sp, NULL), 0);
	sp.memory = 64 << 20;
	p = open_pool(&sp, u);
	for (i = 0; i < st->nr; i++)
		put(p, u, st, i);
	akin_pool_close(p);
	expect_all(&sp, u, st);
	optimize(&sp, u);
	expect_all(&sp, u, st);
	simpool_free(&sp);
}

/* Changes ------------------------------------------------------------------*/

/* Some text, some noise, some numbers. */
static void fill(struct rng *r, u8 *p, size_t n)
{
	static const char words[] = "to be or not that is the question ";
	size_t i, len;
	u64 kind;

	for (i = 0; i < n; i += len) {
		kind = rng_below(r, 3);
		len = min_u64(n - i, 200 + rng_below(r, 3000));
		if (kind == 0) {
			rng_fill(r, p + i, len);
			continue;
		}
		for (size_t k = 0; k < len; k++)
			p[i + k] = kind == 1 ? (u8)words[rng_below(r, 34)] :
					       (u8)(k % 4 ? 0 : k);
	}
}

static void insert(struct rng *r, struct data *d)
{
	size_t len = min_u64(1 + rng_below(r, 5000), BYTES_MAX - d->n);
	size_t at = rng_below(r, d->n + 1);

	memmove(d->b + at + len, d->b + at, d->n - at);
	fill(r, d->b + at, len);
	d->n += len;
}

static void cut(struct rng *r, struct data *d)
{
	size_t len = min_u64(1 + rng_below(r, 5000), d->n);
	size_t at = rng_below(r, d->n - len + 1);

	memmove(d->b + at, d->b + at + len, d->n - at - len);
	d->n -= len;
}

static void overwrite(struct rng *r, struct data *d)
{
	size_t len = min_u64(1 + rng_below(r, 3000), d->n);

	fill(r, d->b + rng_below(r, d->n - len + 1), len);
}

/* [a, b) and [b, c) change places: two neighbours, of any lengths. */
static void swap(struct rng *r, struct data *d)
{
	static u8 tmp[BYTES_MAX];
	size_t a = rng_below(r, d->n), c = a + rng_below(r, d->n - a) + 1;
	size_t b = a + rng_below(r, c - a);

	memcpy(tmp, d->b + a, b - a);
	memmove(d->b + a, d->b + b, c - b);
	memcpy(d->b + a + (c - b), tmp, b - a);
}

/* A piece is taken out and goes somewhere else. */
static void move(struct rng *r, struct data *d)
{
	static u8 tmp[8192];
	size_t len = min_u64(1 + rng_below(r, sizeof(tmp)), d->n);
	size_t at = rng_below(r, d->n - len + 1), to;

	memcpy(tmp, d->b + at, len);
	memmove(d->b + at, d->b + at + len, d->n - at - len);
	to = rng_below(r, d->n - len + 1);
	memmove(d->b + to + len, d->b + to, d->n - len - to);
	memcpy(d->b + to, tmp, len);
}

static void (*const changes[])(struct rng *r, struct data *d) = {
	insert, cut, overwrite, swap, move,
};

static void make_series(struct stored *st, u64 seed, u32 nr)
{
	struct rng r = { seed };
	u32 i, k;

	memset(st, 0, sizeof(*st));
	st->nr = nr;
	st->data[0].n = 60000 + rng_below(&r, 40000);
	fill(&r, st->data[0].b, st->data[0].n);
	for (i = 1; i < nr; i++) {
		st->data[i] = st->data[i - 1];
		/* One kind each, then all of them at once. */
		for (k = 0; k < 4; k++)
			changes[i <= ARRAY_SIZE(changes) ? i - 1 :
				rng_below(&r, ARRAY_SIZE(changes))]
				(&r, &st->data[i]);
	}
}

/* Data made to be difficult: the versions are its kinds. */
static void make_adversary(struct stored *st)
{
	static const u32 periods[] = { 1, 2, 3, 7, 255, CHUNK - 1, CHUNK,
				       4 * CHUNK + 1 };
	struct rng r = { 77 };
	struct data *d;
	u8 block[4 * CHUNK + 1];
	size_t i;
	u32 v;

	memset(st, 0, sizeof(*st));
	st->nr = VERSIONS;
	rng_fill(&r, block, sizeof(block));
	for (v = 0; v < ARRAY_SIZE(periods); v++) {
		d = &st->data[v];
		d->n = 100000 + v;
		for (i = 0; i < d->n; i++)
			d->b[i] = block[i % periods[v]];
	}
	/* All chunks alike but for one bit, another one in each. */
	d = &st->data[v++];
	d->n = ALIKE * sizeof(block);
	for (i = 0; i < d->n; i++)
		d->b[i] = block[i % sizeof(block)];
	for (i = 0; i < ALIKE; i++)
		d->b[i * sizeof(block) + rng_below(&r, sizeof(block))] ^=
			(u8)(1u << i % 8);
	/* And the same, each bit flipped back and another one flipped. */
	st->data[v] = *d;
	d = &st->data[v];
	for (i = 0; i < d->n; i++)
		d->b[i] = block[i % sizeof(block)];
	for (i = 0; i < ALIKE; i++)
		d->b[i * sizeof(block) + rng_below(&r, sizeof(block))] ^=
			(u8)(1u << i % 8);
}

/* --------------------------------------------------------------------------*/

static const int depths[] = { AKIN_DELTA_NONE, 1, 2, 3, AKIN_DELTA_DEPTH_MAX };
static const enum akin_engine all_engines[] = {
	AKIN_ENGINE_IDENTITY, AKIN_ENGINE_SIMILARITY, AKIN_ENGINE_HYBRID,
};
static const char *const codecs[] = { "none", "lz4", "lzjb", "gzip:1",
				      "zstd:1", "zstd:6" };

static struct stored st;

static void test_series_engines(void **state)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		for (k = 0; k < ARRAY_SIZE(all_engines); k++) {
			struct setup u = { depths[i], all_engines[k],
					   "zstd:1" };

			make_series(&st, 10 * i + k, 7);
			round_trip(&u, &st);
		}
	}
}

static void test_series_codecs(void **state)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(codecs); i++) {
		for (k = 0; k < 2; k++) {
			struct setup u = { k ? 2 : AKIN_DELTA_NONE,
					   AKIN_ENGINE_HYBRID, codecs[i] };

			make_series(&st, 100 + 10 * i + k, 7);
			round_trip(&u, &st);
		}
	}
}

static void test_adversary(void **state)
{
	u32 i;

	make_adversary(&st);
	for (i = 0; i < ARRAY_SIZE(codecs); i++) {
		struct setup u = { i % 2 ? AKIN_DELTA_DEPTH_MAX : 2,
				   all_engines[i % 3], codecs[i] };

		round_trip(&u, &st);
	}
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct setup u = { depths[i], all_engines[(i + 1) % 3],
				   "zstd:1" };

		round_trip(&u, &st);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series_engines),
		cmocka_unit_test(test_series_codecs),
		cmocka_unit_test(test_adversary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
