/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that were compressed against others: what comes out is what went in,
 * at any depth, from any number of threads, with any budget; and whatever a
 * reference claims, the worst is an error that says so.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testlib.h"

#include "base/mem.h"
#include "cache/groupcache_internal.h"
#include "refbuild.h"
#include "simdisk.h"

#define OK(expr) assert_int_equal(expr, 0)

static const struct pool_id pool = { { 7 } };
static const u8 key[HASH_KEY_BYTES] = { 1 };

struct world {
	struct simdisk *sd;
	struct disk *disk;
	struct hasher *hasher;
	struct dircache *dirs;
	struct groupcache *groups;
	struct decoder dec;
};

static void open_caches(struct world *w, size_t budget)
{
	struct dircache_options dopt = { .pool = pool, .data = w->disk,
					 .budget_bytes = 1 << 20 };
	struct groupcache_options gopt = { .budget_bytes = budget };
	struct akin_diag d = { 0 };

	OK(dircache_new(&dopt, &w->dirs, &d));
	gopt.dirs = w->dirs;
	gopt.data_hasher = gopt.meta_hasher = w->hasher;
	OK(groupcache_new(&gopt, &w->groups, &d));
}

static void close_caches(struct world *w)
{
	groupcache_free(w->groups);
	dircache_free(w->dirs);
}

static void world_init(struct world *w, size_t budget)
{
	struct codec_choice choice = { CODEC_ZSTD, 3 };
	struct akin_diag d = { 0 };
	char name[64];
	int i;

	w->sd = simdisk_new("data");
	w->disk = simdisk_attach(w->sd, true);
	OK(disk_mkdir(w->disk, "containers", &d));
	for (i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "containers/%02x", i);
		OK(disk_mkdir(w->disk, name, &d));
	}
	OK(hasher_new(HASH_BLAKE3, key, &w->hasher, &d));
	OK(decoder_init(&w->dec, &choice, &d));
	open_caches(w, budget);
}

static void world_release(struct world *w)
{
	close_caches(w);
	decoder_release(&w->dec);
	hasher_free(w->hasher);
	disk_free(w->disk);
	simdisk_free(w->sd);
}

static void begin(struct world *w, struct refbuild *b, u64 number)
{
	struct container_header h = { .pool = pool, .number = number,
				      .kind = CONTAINER_DATA };

	refbuild_begin(b, w->disk, w->dec.codec, w->hasher, &h);
}

/* A series of versions -------------------------------------------------------
 *
 * Version v is container v: GROUPS groups of CHUNKS chunks, each the chunk of
 * the same number of version v - 1 with some bytes changed, its group made
 * against the same group and its neighbours there (and one of v - 2).
 */
#define VERSIONS 9
#define GROUPS 5
#define CHUNKS 6
#define ENTRIES (GROUPS * CHUNKS)
#define CHUNK_MAX 1500

struct series {
	u32 len[ENTRIES];
	u8 bytes[VERSIONS + 1][ENTRIES][CHUNK_MAX];
};

static void series_fill(struct series *s)
{
	struct rng r = { 42 };
	u32 v, i, k;

	for (i = 0; i < ENTRIES; i++) {
		s->len[i] = 500 + (u32)rng_below(&r, CHUNK_MAX - 500);
		rng_fill(&r, s->bytes[1][i], s->len[i]);
	}
	for (v = 2; v <= VERSIONS; v++) {
		for (i = 0; i < ENTRIES; i++) {
			memcpy(s->bytes[v][i], s->bytes[v - 1][i], CHUNK_MAX);
			for (k = 0; k < 3; k++)
				s->bytes[v][i][rng_below(&r, s->len[i])] ^= 1;
		}
	}
}

/* Version @v's group @g refers to these; their number. */
static u32 series_refs(u32 v, u32 g, struct group_ref refs[3])
{
	u32 first = g * CHUNKS, nr = 0;

	if (v > 2 && g == 2) {
		refs[nr].container = v - 2;
		refs[nr].entry = first;
		refs[nr++].nr = 1;
	}
	refs[nr].container = v - 1;
	refs[nr].entry = first - (g > 0 ? 2 : 0);
	refs[nr++].nr = CHUNKS / 2;
	refs[nr].container = v - 1;
	refs[nr].entry = first + 1;
	refs[nr++].nr = CHUNKS - (g == GROUPS - 1 ? 1 : 0);
	return nr;
}

static u32 gather(const struct series *s, const struct group_ref *refs, u32 nr,
		  u8 *out)
{
	u32 i, k, n = 0;

	for (i = 0; i < nr; i++) {
		for (k = refs[i].entry; k < refs[i].entry + refs[i].nr; k++) {
			memcpy(out + n, s->bytes[refs[i].container][k],
			       s->len[k]);
			n += s->len[k];
		}
	}
	return n;
}

static void series_write(struct world *w, const struct series *s)
{
	static u8 bytes[3 * ENTRIES * CHUNK_MAX];
	struct group_ref list[3];
	struct refs refs = { .refs = list, .bytes = bytes };
	struct refbuild b;
	u32 v, g, i;

	for (v = 1; v <= VERSIONS; v++) {
		begin(w, &b, v);
		for (g = 0; g < GROUPS; g++) {
			for (i = g * CHUNKS; i < (g + 1) * CHUNKS; i++)
				refbuild_chunk(&b, s->bytes[v][i], s->len[i]);
			if (v > 1) {
				refs.nr = series_refs(v, g, list);
				refs.len = gather(s, list, refs.nr, bytes);
				refs.depth = (u8)(v - 1);
			}
			assert_int_equal(refbuild_group(&b, v > 1 ? &refs :
							    NULL), v > 1);
		}
		refbuild_seal(&b);
	}
}

static void assert_group(const struct series *s, u32 v, u32 g,
			 const struct group_data *data)
{
	u32 i, n = 0;

	for (i = g * CHUNKS; i < (g + 1) * CHUNKS; i++) {
		assert_true(n + s->len[i] <= data->raw_len);
		assert_memory_equal(data->raw + n, s->bytes[v][i], s->len[i]);
		n += s->len[i];
	}
	assert_int_equal(n, data->raw_len);
}

static struct series *make_series(struct world *w, size_t budget)
{
	struct series *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	series_fill(s);
	world_init(w, budget);
	series_write(w, s);
	return s;
}

static void ask(struct world *w, const struct series *s, u32 v, u32 g)
{
	const struct group_data *data;
	struct akin_diag d = { 0 };
	int err;

	err = groupcache_get(w->groups, &w->dec, v, g, &data, &d);
	if (err)
		fail_msg("%u.%u: %s", v, g, d.text);
	assert_group(s, v, g, data);
	groupcache_put(w->groups, data);
}

static void test_round_trip(void **state)
{
	static const size_t budgets[] = { 0, 20000, 1 << 20 };
	struct groupcache_stats stats;
	struct rng r = { 1 };
	struct series *s;
	struct world w;
	u32 i, v, g;

	for (i = 0; i < ARRAY_SIZE(budgets); i++) {
		s = make_series(&w, budgets[i]);
		for (v = VERSIONS; v > 0; v--) {
			for (g = 0; g < GROUPS; g++)
				ask(&w, s, v, g);
		}
		for (v = 0; v < 20; v++)
			ask(&w, s, 1 + (u32)rng_below(&r, VERSIONS),
			    (u32)rng_below(&r, GROUPS));
		groupcache_get_stats(w.groups, &stats);
		assert_true(stats.bytes <= budgets[i]);
		/* With room for all, each is decoded once for all depths. */
		if (budgets[i] == 1 << 20)
			assert_int_equal(stats.reads, VERSIONS * GROUPS);
		world_release(&w);
		free(s);
	}
}

static void test_prefix(void **state)
{
	static u8 want[3 * ENTRIES * CHUNK_MAX];
	struct group_ref refs[3];
	struct akin_diag d = { 0 };
	struct buf out = { 0 };
	struct series *s;
	struct world w;
	u32 nr, n, v;

	s = make_series(&w, 0);
	for (v = 2; v <= VERSIONS; v++) {
		nr = series_refs(v, 2, refs);
		n = gather(s, refs, nr, want);
		OK(groupcache_prefix(w.groups, &w.dec, refs, nr, n, &out,
				     &d));
		assert_int_equal(out.len, n);
		assert_memory_equal(out.data, want, n);
	}
	assert_int_equal(groupcache_prefix(w.groups, &w.dec, refs, nr, n + 1,
					   &out, &d), -AKIN_E_bad_length);
	assert_string_equal(d.text, "its references are 1 bytes short");
	diag_clear(&d);
	assert_int_equal(groupcache_prefix(w.groups, &w.dec, refs, nr, n - 1,
					   &out, &d), -AKIN_E_bad_length);
	assert_non_null(strstr(d.text, "entry 18 cannot be read: more bytes "
			       "than the references together"));
	diag_clear(&d);
	refs[0].entry = ENTRIES - 1;
	refs[0].nr = 2;
	assert_int_equal(groupcache_prefix(w.groups, &w.dec, refs, 1, n, &out,
					   &d), -AKIN_E_bad_field);
	assert_string_equal(d.text, "its reference to container 7, entry 30 "
			    "cannot be read: there is no such entry");
	diag_clear(&d);
	assert_int_equal(groupcache_prefix(w.groups, &w.dec, refs, 1,
					   GROUP_MAX_REF_RAW + 1, &out, &d),
			 -AKIN_E_bad_length);
	OK(groupcache_prefix(w.groups, &w.dec, refs, 0, 0, &out, NULL));
	assert_int_equal(out.len, 0);
	buf_release(&out);
	world_release(&w);
	free(s);
}

/* Many threads ---------------------------------------------------------------*/

/* Version @v's group @g cannot be had if group @bg of @bv cannot. */
static bool needs(u32 v, u32 g, u32 bv, u32 bg)
{
	struct group_ref refs[3];
	u32 nr, i, k;

	if (v <= bv)
		return v == bv && g == bg;
	nr = series_refs(v, g, refs);
	for (i = 0; i < nr; i++) {
		for (k = refs[i].entry; k < refs[i].entry + refs[i].nr; k++) {
			if (needs((u32)refs[i].container, k / CHUNKS, bv, bg))
				return true;
			k = k / CHUNKS * CHUNKS + CHUNKS - 1;
		}
	}
	return false;
}

struct asker {
	pthread_t thread;
	struct world *w;
	const struct series *s;
	struct decoder dec;
	u64 seed;
	u32 nr_asked, nr_bad;
};

#define BAD_VERSION 5
#define BAD_GROUP 4

static void *ask_many(void *arg)
{
	const struct group_data *data;
	struct asker *a = arg;
	struct rng r = { a->seed };
	struct akin_diag d;
	u32 i, v, g;
	int err;

	for (i = 0; i < a->nr_asked; i++) {
		v = 1 + (u32)rng_below(&r, VERSIONS);
		g = (u32)rng_below(&r, GROUPS);
		memset(&d, 0, sizeof(d));
		err = groupcache_get(a->w->groups, &a->dec, v, g, &data, &d);
		if (needs(v, g, BAD_VERSION, BAD_GROUP)) {
			assert_int_equal(err, -AKIN_E_bad_checksum);
			assert_non_null(strstr(d.text,
					       "container 5: group 4"));
			a->nr_bad++;
			continue;
		}
		assert_int_equal(err, 0);
		assert_group(a->s, v, g, data);
		groupcache_put(a->w->groups, data);
	}
	return NULL;
}

static void damage(struct world *w, u64 container, u32 group)
{
	char name[FORMAT_NAME_MAX];
	struct container_reader *r;

	OK(container_open(w->disk, &pool, container, 0, &r, NULL));
	format_container_name(container, 0, name);
	simdisk_flip_bit(w->sd, name,
			 container_directory(r)->groups[group].off + 40, 3);
	container_close(r);
}

static void test_threads(void **state)
{
	static const size_t budgets[] = { 0, 30000, 1 << 20 };
	struct codec_choice choice = { CODEC_NONE, 0 };
	struct asker a[6] = { { 0 } };
	struct groupcache_stats stats;
	struct series *s;
	struct world w;
	u32 i, k, nr_bad;

	for (k = 0; k < ARRAY_SIZE(budgets); k++) {
		s = make_series(&w, budgets[k]);
		damage(&w, BAD_VERSION, BAD_GROUP);
		for (i = 0; i < ARRAY_SIZE(a); i++) {
			a[i].w = &w;
			a[i].s = s;
			a[i].seed = i + 1;
			a[i].nr_asked = budgets[k] ? 300 : 40;
			a[i].nr_bad = 0;
			OK(decoder_init(&a[i].dec, &choice, NULL));
			OK(pthread_create(&a[i].thread, NULL, ask_many,
					  &a[i]));
		}
		for (nr_bad = 0, i = 0; i < ARRAY_SIZE(a); i++) {
			pthread_join(a[i].thread, NULL);
			decoder_release(&a[i].dec);
			nr_bad += a[i].nr_bad;
		}
		assert_true(nr_bad > 10);
		groupcache_get_stats(w.groups, &stats);
		assert_true(stats.bytes <= budgets[k]);
		world_release(&w);
		free(s);
	}
}

/* What a reference may claim -------------------------------------------------*/

static const char word[] = "a chunk that is long enough to be compressed "
			   "against itself, and not at all without";

struct lie {
	const char *what;
	void (*lie)(struct group_header *h, void *ctx);
	void (*patch)(u8 *group, size_t len, void *ctx);
	int code;
	const char *text;
};

static void lie_missing_container(struct group_header *h, void *ctx)
{
	h->refs[0].container = 3;
}

static void lie_missing_entry(struct group_header *h, void *ctx)
{
	h->refs[0].nr = 4;
}

static void lie_hole(struct group_header *h, void *ctx)
{
	h->refs[0].entry = 2;
	h->refs[0].nr = 1;
}

static void lie_longer(struct group_header *h, void *ctx)
{
	h->ref_raw_len++;
}

static void lie_shorter(struct group_header *h, void *ctx)
{
	h->ref_raw_len--;
}

static void lie_depth(struct group_header *h, void *ctx)
{
	h->depth = 1;
}

static void lie_codec(struct group_header *h, void *ctx)
{
	h->codec_id = CODEC_LZ4;
}

static void lie_other_entry(struct group_header *h, void *ctx)
{
	/* As long as the right one, so that the sum holds. */
	h->refs[0].entry = 1;
	h->refs[0].nr = 1;
}

/*
 * The group's table in bytes: number, codec, flags, depth, stored_len,
 * nr_chunks, nr_refs, first, a length, ref_raw_len of two bytes, then the
 * reference: distance, entry, number.
 */
#define AT_DEPTH (16 + 3)
#define AT_NR_REFS (16 + 6)
#define AT_REF_LEN (16 + 9)
#define AT_REF (16 + 11)

static void patch_own(u8 *group, size_t len, void *ctx)
{
	assert_int_equal(group[AT_REF], 3);
	group[AT_REF] = 0;
}

static void patch_forward(u8 *group, size_t len, void *ctx)
{
	group[AT_REF] = 6;	/* 5 - 6 */
}

static void patch_zero(u8 *group, size_t len, void *ctx)
{
	group[AT_REF] = 5;
}

static void patch_depth(u8 *group, size_t len, void *ctx)
{
	assert_int_equal(group[AT_DEPTH], 2);
	group[AT_DEPTH] = GROUP_MAX_DEPTH + 1;
}

static void patch_no_refs(u8 *group, size_t len, void *ctx)
{
	assert_int_equal(group[AT_NR_REFS], 1);
	group[AT_NR_REFS] = 0;
}

static void patch_no_entries(u8 *group, size_t len, void *ctx)
{
	group[AT_REF + 2] = 0;
}

static const struct lie lies[] = {
	{ "nothing", NULL, NULL, 0, NULL },
	{ "missing container", lie_missing_container, NULL, -AKIN_E_absent,
	  "container 5: group 0: its reference to container 3, entry 0 cannot "
	  "be read: container 3" },
	{ "missing entry", lie_missing_entry, NULL, -AKIN_E_bad_field,
	  "container 5: group 0: its reference to container 2, entry 2 cannot "
	  "be read: there is no such entry" },
	{ "hole", lie_hole, NULL, -AKIN_E_bad_field,
	  "container 5: group 0: its reference to container 2, entry 2 cannot "
	  "be read: there is no such entry" },
	{ "longer", lie_longer, NULL, -AKIN_E_bad_length,
	  "container 5: group 0: its references are 1 bytes short" },
	{ "shorter", lie_shorter, NULL, -AKIN_E_bad_length,
	  "container 5: group 0: its reference to container 2, entry 1 cannot "
	  "be read: more bytes than the references together" },
	{ "depth of its base", lie_depth, NULL, -AKIN_E_bad_field,
	  "container 5: group 0: its reference to container 2, entry 0 cannot "
	  "be read: its depth is 1, and must be below 1" },
	{ "codec without references", lie_codec, NULL, -AKIN_E_bad_data,
	  "container 5: group 0: data does not decode" },
	{ "another entry", lie_other_entry, NULL, -AKIN_E_bad_length,
	  "container 5: group 0: its references are " },
	{ "own number", NULL, patch_own, -AKIN_E_bad_order,
	  "container 5: group 0 at 128: " },
	{ "forward", NULL, patch_forward, -AKIN_E_bad_order,
	  "container 5: group 0 at 128: " },
	{ "container 0", NULL, patch_zero, -AKIN_E_bad_field,
	  "container 5: group 0 at 128: " },
	{ "too deep", NULL, patch_depth, -AKIN_E_bad_length,
	  "container 5: group 0 at 128: " },
	{ "none, but depth", NULL, patch_no_refs, -AKIN_E_bad_length,
	  "container 5: group 0 at 128: " },
	{ "no entries", NULL, patch_no_entries, -AKIN_E_bad_field,
	  "container 5: group 0 at 128: " },
};

/* Containers 1 (depth 0), 2 (depth 1) and 5, whose group says what it is told
 * to about entries 0 and 1 of 2. Entry 2 of 2 is missing, 3 is there. */
static void make_lie(struct world *w, const struct lie *lie)
{
	u8 both[2 * sizeof(word)];
	struct group_ref ref = { 1, 0, 1 };
	struct refs refs = { .refs = &ref, .nr = 1, .bytes = word,
			     .len = sizeof(word), .depth = 1 };
	struct refbuild b;

	memcpy(both, word, sizeof(word));
	memcpy(both + sizeof(word), word, sizeof(word));
	begin(w, &b, 1);
	refbuild_chunk(&b, word, sizeof(word));
	refbuild_group(&b, NULL);
	refbuild_seal(&b);
	begin(w, &b, 2);
	refbuild_chunk(&b, word, sizeof(word));
	refbuild_chunk(&b, word, sizeof(word));
	refbuild_skip(&b);
	refbuild_chunk(&b, word, sizeof(word));
	refbuild_group(&b, &refs);
	refbuild_seal(&b);
	ref.container = 2;
	ref.nr = 2;
	refs.bytes = both;
	refs.len = sizeof(both);
	refs.depth = 2;
	refs.lie = lie->lie;
	refs.patch = lie->patch;
	begin(w, &b, 5);
	refbuild_chunk(&b, word, 60);
	refbuild_group(&b, &refs);
	refbuild_seal(&b);
}

static void test_lies(void **state)
{
	const struct group_data *data;
	struct container_reader *r;
	struct group_test t = { 0 };
	struct akin_diag d;
	struct world w;
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		world_init(&w, i % 2 ? 0 : 1 << 20);
		make_lie(&w, &lies[i]);
		memset(&d, 0, sizeof(d));
		err = groupcache_get(w.groups, &w.dec, 5, 0, &data, &d);
		if (err != lies[i].code)
			fail_msg("%s: %s", lies[i].what, d.text);
		if (!err)
			groupcache_put(w.groups, data);
		else if (strncmp(d.text, lies[i].text, strlen(lies[i].text)))
			fail_msg("%s: %s", lies[i].what, d.text);
		/* Past the cache it is the same. */
		OK(container_open(w.disk, &pool, 5, 0, &r, NULL));
		assert_int_equal(groupcache_test(w.groups, &w.dec, r, 0, &t,
						 NULL), lies[i].code);
		assert_int_equal(t.bad, UINT32_MAX);
		container_close(r);
		world_release(&w);
	}
}

/* A directory that says less of the depth than the group does. */
static void test_directory_lies(void **state)
{
	struct group_ref ref = { 1, 0, 1 };
	struct refs refs = { .refs = &ref, .nr = 1, .bytes = word,
			     .len = sizeof(word), .depth = 2 };
	const struct group_data *data;
	struct akin_diag d = { 0 };
	struct refbuild b;
	struct world w;

	world_init(&w, 0);
	begin(&w, &b, 1);
	refbuild_chunk(&b, word, sizeof(word));
	refbuild_group(&b, NULL);
	refbuild_seal(&b);
	begin(&w, &b, 2);
	refbuild_chunk(&b, word, sizeof(word));
	refbuild_group(&b, &refs);
	b.dir.groups[0].depth = 1;
	refbuild_seal(&b);
	assert_int_equal(groupcache_get(w.groups, &w.dec, 2, 0, &data, &d),
			 -AKIN_E_bad_identity);
	world_release(&w);
}

/* As a base, a group need not match its fingerprints; asked for, it must. */
static void test_lazy_fingerprints(void **state)
{
	struct group_ref ref = { 1, 0, 1 };
	struct refs refs = { .refs = &ref, .nr = 1, .bytes = word,
			     .len = sizeof(word), .depth = 1 };
	const struct group_data *data, *base;
	struct groupcache_stats stats;
	struct buf out = { 0 };
	struct refbuild b;
	struct world w;
	u32 i;

	world_init(&w, 1 << 20);
	begin(&w, &b, 1);
	refbuild_chunk(&b, word, sizeof(word));
	b.dir.entries[0].fp.b[0] ^= 1;
	refbuild_group(&b, NULL);
	refbuild_seal(&b);
	begin(&w, &b, 2);
	refbuild_chunk(&b, word, sizeof(word));
	refbuild_group(&b, &refs);
	refbuild_seal(&b);
	for (i = 0; i < 3; i++) {
		OK(groupcache_get(w.groups, &w.dec, 2, 0, &data, NULL));
		assert_memory_equal(data->raw, word, sizeof(word));
		assert_int_equal(groupcache_get(w.groups, &w.dec, 1, 0, &base,
						NULL), -AKIN_E_bad_fp);
		assert_int_equal(groupcache_prefix(w.groups, &w.dec, &ref, 1,
						   sizeof(word), &out, NULL),
				 -AKIN_E_bad_fp);
		groupcache_put(w.groups, data);
	}
	/* Once each, and once more for each prefix: what was asked for as a
	 * whole, and is wrong, is not kept. */
	groupcache_get_stats(w.groups, &stats);
	assert_int_equal(stats.reads, 2 + 3);
	buf_release(&out);
	world_release(&w);
}

/* Chunk by chunk: what is wrong harms nobody else; beyond what is remembered
 * it is told all the same. */
static void test_checks(void **state)
{
	enum { NR = GROUPCACHE_CHUNKS + 8 };
	static const u32 some[] = { 0, 3 }, mixed[] = { 1, 7, 9 }, bad = 7,
			 far = NR - 2, far_bad = NR - 1, none = NR;
	const struct group_data *g;
	struct akin_diag d = { 0 };
	struct rng r = { 3 };
	struct refbuild b;
	struct world w;
	u8 bytes[40];
	u32 i;

	world_init(&w, 1 << 20);
	begin(&w, &b, 1);
	for (i = 0; i < NR; i++) {
		rng_fill(&r, bytes, sizeof(bytes));
		refbuild_chunk(&b, bytes, sizeof(bytes));
	}
	b.dir.entries[bad].fp.b[0] ^= 1;
	b.dir.entries[far_bad].fp.b[31] ^= 1;
	refbuild_group(&b, NULL);
	refbuild_seal(&b);
	OK(groupcache_get_raw(w.groups, &w.dec, 1, 0, &g, &d));
	OK(groupcache_check(w.groups, &w.dec, g, some, 2, &d));
	OK(groupcache_check(w.groups, &w.dec, g, some, 0, &d));
	for (i = 0; i < NR; i++)
		assert_int_equal(groupcache_is_checked(g, i),
				 i == 0 || i == 3);
	assert_int_equal(groupcache_check(w.groups, &w.dec, g, mixed, 3, &d),
			 -AKIN_E_bad_fp);
	assert_string_equal(d.text, "container 1: chunk 7 does not match its "
				    "fingerprint");
	for (i = 0; i < NR; i++)
		assert_int_equal(groupcache_is_checked(g, i),
				 i == 0 || i == 3 || i == 1 || i == 9);
	assert_int_equal(groupcache_check(w.groups, &w.dec, g, &bad, 1, NULL),
			 -AKIN_E_bad_fp);
	OK(groupcache_check(w.groups, &w.dec, g, &far, 1, NULL));
	assert_false(groupcache_is_checked(g, far));
	assert_int_equal(groupcache_check(w.groups, &w.dec, g, &far_bad, 1,
					  NULL), -AKIN_E_bad_fp);
	assert_int_equal(groupcache_check(w.groups, &w.dec, g, &none, 1, NULL),
			 -AKIN_E_bad_field);
	groupcache_put(w.groups, g);
	assert_int_equal(groupcache_get(w.groups, &w.dec, 1, 0, &g, NULL),
			 -AKIN_E_bad_fp);
	world_release(&w);
}

#define WAYS_MAX (GROUPCACHE_HELD + 4)

/* As many containers as chains may be long, each group against all of the
 * container before. */
static void make_ways(struct world *w, u32 ways)
{
	static u8 all[WAYS_MAX * sizeof(word)];
	struct group_ref ref = { 0, 0, ways };
	struct refs refs = { .refs = &ref, .nr = 1, .bytes = all,
			     .len = ways * sizeof(word) };
	struct refbuild b;
	u32 v, g;

	for (g = 0; g < ways; g++)
		memcpy(all + g * sizeof(word), word, sizeof(word));
	for (v = 1; v <= GROUP_MAX_DEPTH + 1; v++) {
		begin(w, &b, v);
		ref.container = v - 1;
		refs.depth = (u8)(v - 1);
		for (g = 0; g < ways; g++) {
			refbuild_chunk(&b, word, sizeof(word));
			refbuild_group(&b, v > 1 ? &refs : NULL);
		}
		refbuild_seal(&b);
	}
}

/* More paths than anybody waits for, but few groups. */
static void test_many_ways(void **state)
{
	struct groupcache_stats stats;
	const struct group_data *data;
	struct akin_diag d = { 0 };
	struct world w;

	/* What was used last is kept without any budget. */
	world_init(&w, 0);
	make_ways(&w, 6);
	OK(groupcache_get(w.groups, &w.dec, GROUP_MAX_DEPTH + 1, 0, &data,
			  NULL));
	groupcache_put(w.groups, data);
	groupcache_get_stats(w.groups, &stats);
	assert_int_equal(stats.reads, 1 + GROUP_MAX_DEPTH * 6);
	assert_int_equal(stats.bytes, 0);
	world_release(&w);

	world_init(&w, 0);
	make_ways(&w, WAYS_MAX);
	assert_int_equal(groupcache_get(w.groups, &w.dec, GROUP_MAX_DEPTH + 1,
					0, &data, &d), -AKIN_E_nomem);
	groupcache_get_stats(w.groups, &stats);
	assert_in_range(stats.reads, GROUPCACHE_DECODES_MAX,
			GROUPCACHE_DECODES_MAX + 1);
	groupcache_set_budget(w.groups, 1 << 20);
	OK(groupcache_get(w.groups, &w.dec, GROUP_MAX_DEPTH + 1, 0, &data,
			  NULL));
	groupcache_put(w.groups, data);
	world_release(&w);
}

static void test_no_memory(void **state)
{
	const struct group_data *data;
	struct akin_diag d;
	struct series *s;
	struct world w;
	size_t n;
	int err;

	s = make_series(&w, 0);
	for (n = 1;; n++) {
		close_caches(&w);
		open_caches(&w, 1 << 20);
		memset(&d, 0, sizeof(d));
		mem_fail_after(n);
		err = groupcache_get(w.groups, &w.dec, 4, 2, &data, &d);
		mem_fail_after(0);
		if (!err)
			break;
		assert_int_equal(err, -AKIN_E_nomem);
		assert_int_equal(d.code, err);
		/* Nothing of it sticks. */
		ask(&w, s, 4, 2);
	}
	assert_true(n > 20);
	groupcache_put(w.groups, data);
	world_release(&w);
	free(s);
}

/* Memory for later --------------------------------------------------------- */

static u64 cached_bytes(struct world *w)
{
	struct groupcache_stats stats;

	groupcache_get_stats(w->groups, &stats);
	return stats.bytes;
}

/* What is kept counts, is bounded, and is handed on only where it fits. */
static void test_spares(void **state)
{
	const size_t room = 48 * KiB;
	struct world w;
	u8 *a, *b;
	size_t cap;

	world_init(&w, 2 * room * GROUPCACHE_SPARE_SHARE);
	a = mem_alloc(room);
	b = mem_alloc(room + 1);
	groupcache_give_raw(w.groups, a, room);
	assert_int_equal(cached_bytes(&w), room);
	groupcache_give_raw(w.groups, b, room + 1);	/* over the share */
	groupcache_give_raw(w.groups, mem_alloc(100), 100);
	groupcache_give_raw(w.groups, NULL, 0);
	assert_int_equal(cached_bytes(&w), room);
	b = groupcache_take_raw(w.groups, room / 2 - 1, &cap);
	assert_ptr_not_equal(a, b);
	assert_int_equal(cap, room / 2 - 1);
	mem_free(b);
	b = groupcache_take_raw(w.groups, room + 1, &cap);
	assert_ptr_not_equal(a, b);
	groupcache_give_raw(w.groups, b, cap - 1);	/* now it fits in */
	assert_int_equal(cached_bytes(&w), 2 * room);
	assert_ptr_equal(groupcache_take_raw(w.groups, room / 2, &cap), a);
	assert_int_equal(cap, room);
	assert_ptr_equal(groupcache_take_raw(w.groups, room, &cap), b);
	assert_int_equal(cached_bytes(&w), 0);
	groupcache_give_raw(w.groups, a, room);
	groupcache_give_raw(w.groups, b, room);
	groupcache_set_budget(w.groups, room);
	assert_int_equal(cached_bytes(&w), 0);
	world_release(&w);
}

/* The buffers of one level come back to the same level. */
static void test_decoder_spares(void **state)
{
	struct decoder_spares s = { 0 };
	struct buf b[DECODER_SPARES + 1] = { { 0 } };
	const u8 *mine[DECODER_SPARES];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(b); i++) {
		b[i] = decoder_take(&s);
		assert_null(b[i].data);
		buf_put_le64(&b[i], i);
	}
	for (i = 0; i < DECODER_SPARES; i++)
		mine[i] = b[i + 1].data;
	for (i = ARRAY_SIZE(b); i-- > 0;)
		decoder_give(&s, &b[i]);
	assert_int_equal(s.nr, DECODER_SPARES);
	for (i = DECODER_SPARES; i-- > 0;) {
		b[i] = decoder_take(&s);
		assert_ptr_equal(b[i].data, mine[DECODER_SPARES - 1 - i]);
		assert_int_equal(b[i].len, 0);
	}
	/* A huge one is not kept. */
	assert_non_null(buf_extend(&b[0], 1 << 20));
	decoder_give(&s, &b[0]);
	assert_int_equal(s.nr, 0);
	for (i = 0; i < DECODER_SPARES; i++)
		buf_release(&b[i]);
}

/* Groups of all sizes, in the memory of others. */
static void test_used_again(void **state)
{
	enum { NR = 40 };
	static u8 bytes[NR][60 * KiB];
	const struct group_data *data;
	struct rng r = { 5 };
	struct refbuild b;
	struct world w;
	u32 len[NR], i, round;

	world_init(&w, 1 << 20);
	begin(&w, &b, 1);
	for (i = 0; i < NR; i++) {
		len[i] = 20 * KiB + (u32)rng_below(&r, 40 * KiB);
		rng_fill(&r, bytes[i], len[i]);
		refbuild_chunk(&b, bytes[i], len[i]);
		refbuild_group(&b, NULL);
	}
	refbuild_seal(&b);
	for (round = 0; round < 4 * NR; round++) {
		i = round < 2 * NR ? round % NR : (u32)rng_below(&r, NR);
		OK(groupcache_get(w.groups, &w.dec, 1, i, &data, NULL));
		assert_int_equal(data->raw_len, len[i]);
		assert_memory_equal(data->raw, bytes[i], len[i]);
		groupcache_put(w.groups, data);
		assert_true(cached_bytes(&w) <= 1 << 20);
	}
	groupcache_clear(w.groups);
	assert_int_equal(cached_bytes(&w), 0);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_directory_lies),
		cmocka_unit_test(test_lazy_fingerprints),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_many_ways),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_spares),
		cmocka_unit_test(test_decoder_spares),
		cmocka_unit_test(test_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
