/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of what an exact index finds is found by following from hooks, one
 * fingerprint in 64, with 1 MiB for directories, in an index padded a hundred
 * times: exactly, for made-up versions and shuffled copies of them
 * ("akin-bench follow" does it with real ones).
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "followrate.h"
#include "followworld.h"
#include "simdisk.h"

#define MAX_SOURCES 8
#define PAD_FACTOR 100

struct series {
	struct simdisk *disk[2][2];
	struct bytes v[MAX_SOURCES];
	char names[MAX_SOURCES][8];
	struct followrate_source sources[MAX_SOURCES];
	struct followrate rates[MAX_SOURCES];
	u32 nr;
};

static int disks(void *ctx, bool padded, struct disk **meta,
		 struct disk **data, struct akin_diag *diag)
{
	struct series *s = ctx;

	*meta = simdisk_attach(s->disk[padded][0], true);
	*data = simdisk_attach(s->disk[padded][1], true);
	return 0;
}

static int fill(void *ctx, u64 off, void *data, size_t n)
{
	const struct bytes *v = ctx;

	memcpy(data, v->b + off, n);
	return 0;
}

static void init(struct series *s)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < 2; i++) {
		s->disk[i][0] = simdisk_new("metadata");
		s->disk[i][1] = simdisk_new("data");
		simdisk_join(s->disk[i][1], s->disk[i][0]);
	}
}

static void release(struct series *s)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		simdisk_free(s->disk[i][1]);
		simdisk_free(s->disk[i][0]);
	}
	for (i = 0; i < s->nr; i++)
		free(s->v[i].b);
}

/* Takes it. */
static void add(struct series *s, struct bytes v)
{
	struct followrate_source *source = &s->sources[s->nr];

	s->v[s->nr] = v;
	snprintf(s->names[s->nr], sizeof(s->names[s->nr]), "v%u", s->nr);
	source->name = s->names[s->nr];
	source->bytes = v.n;
	source->fill = fill;
	source->ctx = &s->v[s->nr++];
}

static void run(struct series *s)
{
	struct followrate_setup setup = { .disks = disks, .ctx = s,
					  .pad_factor = PAD_FACTOR,
					  .threads = 1,
					  .exact_memory = 64 << 20 };
	struct akin_diag diag = { 0 };

	setup.init.chunk_size = 4096;
	setup.init.container_bytes = 1 << 20;
	if (followrate_run(&setup, s->sources, s->nr, s->rates, &diag))
		fail_msg("%s", diag.text);
}

/* Of source @i: duplicates there are, and those that were missed. */
static void expect_at(int line, const struct series *s, u32 i, u64 dups,
		      u64 missed)
{
	const struct followrate *r = &s->rates[i];

	if (r->chunks - r->new_exact != dups ||
	    r->new_chunks - r->new_exact != missed)
		fail_msg("line %d: source %u: %llu duplicates, %lld missed",
			 line, i, (unsigned long long)(r->chunks -
						       r->new_exact),
			 (long long)(r->new_chunks - r->new_exact));
}
#define expect(...) expect_at(__LINE__, __VA_ARGS__)

/* The next version: @nr places are changed, some lengths with them. */
static struct bytes next_version(const struct bytes *from, u32 nr, u64 seed)
{
	struct bytes v = bytes_copy(from);
	struct rng r = { seed };
	u32 i;

	for (i = 0; i < nr; i++)
		bytes_splice(&v, rng_below(&r, v.n - 9000),
			     rng_below(&r, 9000), rng_below(&r, 9000),
			     rng_next(&r));
	return v;
}

/* In another order, pieces of @mean / 2 to 3 / 2 @mean bytes. */
static struct bytes shuffled(const struct bytes *from, size_t mean, u64 seed)
{
	size_t at[1024], i, k, nr = 0, off, len, tmp;
	struct bytes v = { malloc(from->n), from->n };
	size_t lens[ARRAY_SIZE(at)];
	struct rng r = { seed };

	for (off = 0; off < from->n; off += lens[nr++]) {
		assert_true(nr < ARRAY_SIZE(at));
		len = mean / 2 + rng_below(&r, mean);
		at[nr] = off;
		lens[nr] = min_u64(len, from->n - off);
	}
	for (off = 0, i = nr; i > 0; i--) {
		k = rng_below(&r, i);
		memcpy(v.b + off, from->b + at[k], lens[k]);
		off += lens[k];
		tmp = at[i - 1];
		at[k] = tmp;
		lens[k] = lens[i - 1];
	}
	return v;
}

static void test_versions(void **state)
{
	struct series s;
	u32 i;

	init(&s);
	add(&s, bytes_random(1, 6 << 20));
	for (i = 1; i < 4; i++)
		add(&s, next_version(&s.v[i - 1], 75, 100 + i));
	add(&s, shuffled(&s.v[3], 1 << 20, 7));
	add(&s, shuffled(&s.v[3], 256 << 10, 8));
	run(&s);
	expect(&s, 0, 0, 0);
	expect(&s, 1, 1129, 0);
	expect(&s, 2, 1135, 0);
	expect(&s, 3, 1150, 0);
	/* Where pieces meet, what lies in containers that were not led to. */
	expect(&s, 4, 1316, 50);
	expect(&s, 5, 1289, 113);
	release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
