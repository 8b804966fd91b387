/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing groups against references: which of the places that were gathered
 * become references, and what is left of it all when something is missing.
 * Neighbours are made by hand here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "testlib.h"

#include "base/mem.h"
#include "container/container_reader.h"
#include "ingest/packer.h"
#include "simpool.h"
#include "store/store.h"
#include "store/store_cost.h"

/* Pools --------------------------------------------------------------------*/

#define CHUNK 4096
#define PER_GROUP 32	/* 128 KiB */

struct world {
	struct simpool sp;
	struct akin_pool *p;
	struct session *s;
	struct packer pk;
};

static void begin(struct world *w, u8 depth)
{
	struct session_options opt = { .lock = store_lock_session,
				       .delta_depth = depth };
	struct akin_diag d = { 0 };

	opt.lock_ctx = w->p;
	assert_int_equal(session_begin(&w->p->depot, w->p->catalog, &opt,
				       &w->s, &d), 0);
	w->p->reserve_session = session_number(w->s);
	assert_int_equal(packer_init(&w->pk, w->s, CONTAINER_DATA, &d), 0);
}

static int finish(struct world *w, struct akin_diag *d)
{
	int err, err2;

	err = packer_close(&w->pk, d);
	packer_release(&w->pk);
	err2 = session_end(w->s, true, d);
	store_unlock_session(w->p, session_number(w->s));
	session_free(w->s);
	w->s = NULL;
	return err ? err : err2;
}

static void end(struct world *w)
{
	struct akin_diag d = { 0 };

	if (finish(w, &d))
		fail_msg("%s", d.text);
}

static void world_init(struct world *w)
{
	struct akin_diag d = { 0 };

	memset(w, 0, sizeof(*w));
	assert_int_equal(simpool_init(&w->sp, &d), 0);
	assert_int_equal(simpool_open(&w->sp, false, &w->p, &d), 0);
}

static void world_release(struct world *w)
{
	akin_pool_close(w->p);
	simpool_free(&w->sp);
}

/* Chunk @i as version @version has it: random, but for some bytes as ever. */
static void make_chunk(u32 i, u32 version, u8 data[CHUNK])
{
	struct rng common = { 1000 + i }, own = { version * 100000 + i };
	u32 k;

	rng_fill(&common, data, CHUNK);
	for (k = 0; version && k < 8; k++)
		data[rng_below(&own, CHUNK)] ^= 1 + (u8)rng_below(&own, 255);
}

static int try_put(struct world *w, u32 i, u32 version,
		   const struct group_ref *near, u32 nr, struct place *at,
		   struct akin_diag *d)
{
	u8 data[CHUNK];
	struct fp fp;

	make_chunk(i, version, data);
	hasher_one(w->pk.kind == CONTAINER_METADATA ?
			   w->p->depot.meta_hasher : w->p->depot.data_hasher,
		   data, CHUNK, &fp);
	return packer_add(&w->pk, &fp, data, CHUNK, NULL, near, nr, at, d);
}

static struct place put(struct world *w, u32 i, u32 version,
			const struct group_ref *near, u32 nr)
{
	struct akin_diag d = { 0 };
	struct place at = { 0 };

	if (try_put(w, i, version, near, nr, &at, &d))
		fail_msg("%s", d.text);
	return at;
}

/* A session of @nr chunks, each near the same one in @base (0: none). */
static u64 store_version(struct world *w, u8 depth, u32 version, u32 nr,
			 u64 base)
{
	struct group_ref near = { base, 0, 1 };
	struct place at = { 0 };
	u32 i;

	begin(w, depth);
	for (i = 0; i < nr; i++) {
		near.entry = i;
		at = put(w, i, version, &near, base != 0);
		assert_int_equal(at.entry, i);
	}
	end(w);
	return at.container;
}

/* Group @index of a container; release with group_header_release. */
static struct group_header header_of(struct world *w, u64 container, u32 index)
{
	struct container_reader *r;
	struct container_group g;
	struct group_header h;
	struct akin_diag d = { 0 };

	if (dircache_get(w->p->depot.dirs, container, &r, &d))
		fail_msg("%s", d.text);
	if (container_read_group(r, index, &g, &d))
		fail_msg("%s", d.text);
	assert_int_equal(container_directory(r)->groups[index].depth,
			 g.header.depth);
	dircache_put(w->p->depot.dirs, container);
	h = g.header;
	memset(&g.header, 0, sizeof(g.header));
	container_group_release(&g);
	return h;
}

static void expect_refs(struct world *w, u64 container, u32 index, u8 depth,
			const struct group_ref *want, u32 nr)
{
	struct group_header h = header_of(w, container, index);
	u32 i, entries = 0;

	assert_int_equal(h.depth, depth);
	assert_int_equal(h.nr_refs, nr);
	for (i = 0; i < nr; i++) {
		assert_int_equal(h.refs[i].container, want[i].container);
		assert_int_equal(h.refs[i].entry, want[i].entry);
		assert_int_equal(h.refs[i].nr, want[i].nr);
		entries += want[i].nr;
	}
	assert_int_equal(h.ref_raw_len, entries * CHUNK);
	if (nr)
		assert_in_range(h.stored_len, 1, h.raw_len / 4);
	group_header_release(&h);
}

static void expect_bases(struct world *w, u64 container, const u64 *want,
			 u32 nr)
{
	const struct directory *dir;
	struct container_reader *r;
	struct akin_diag d = { 0 };
	u32 i;

	assert_int_equal(dircache_get(w->p->depot.dirs, container, &r, &d), 0);
	dir = container_directory(r);
	assert_int_equal(dir->nr_bases, nr);
	for (i = 0; i < nr; i++)
		assert_int_equal(dir->bases[i], want[i]);
	dircache_put(w->p->depot.dirs, container);
}

/* All chunks of a container that holds chunks 0, 1, 2... of @version. */
static void expect_content(struct world *w, u64 container, u32 version)
{
	const struct group_data *g;
	const struct directory *dir;
	struct container_reader *r;
	struct akin_diag d = { 0 };
	u8 want[CHUNK];
	u32 i;

	assert_int_equal(dircache_get(w->p->depot.dirs, container, &r, &d), 0);
	dir = container_directory(r);
	for (i = 0; i < dir->nr_entries; i++) {
		if (groupcache_get(w->p->depot.groups, &w->p->dec, container,
				   dir->entries[i].group, &g, &d))
			fail_msg("%s", d.text);
		make_chunk(i, version, want);
		assert_memory_equal(g->raw + dir->entries[i].raw_off, want,
				    CHUNK);
		groupcache_put(w->p->depot.groups, g);
	}
	dircache_put(w->p->depot.dirs, container);
}

/* The estimate is in the catalog: of @to, of its session, of the pool. */
static void expect_saved(struct world *w, u64 from, u64 to, u64 saved)
{
	struct catalog_container row;
	struct akin_factors f;
	struct akin_diag d = { 0 };
	u64 of_session, files;

	assert_int_equal(catalog_container(w->p->catalog, from, &row, &d), 0);
	assert_int_equal(row.saved_bytes, 0);
	files = row.file_bytes;
	assert_int_equal(catalog_container(w->p->catalog, to, &row, &d), 0);
	assert_int_equal(row.saved_bytes, saved);
	files += row.file_bytes;
	assert_int_equal(catalog_session_saved(w->p->catalog, row.session,
					       &of_session, &d), 0);
	assert_int_equal(of_session, saved);
	assert_int_equal(akin_stats_factors(w->p, 0, &f, &d), 0);
	assert_int_equal(f.bytes_logical, 0);	/* there is no snapshot */
	assert_int_equal(f.bytes_unique, 4 * PER_GROUP * CHUNK);
	assert_int_equal(f.bytes_stored, files);
	assert_int_equal(f.bytes_plain, files + saved);
	assert_int_equal(akin_stats_factors(w->p, 77, &f, &d),
			 -AKIN_E_snap_unknown);
}

static void test_refers_to_neighbours(void **state)
{
	struct session_stats st;
	struct group_ref want;
	struct world w;
	struct akin_diag d = { 0 };
	u64 a, b;
	u32 i;

	world_init(&w);
	a = store_version(&w, 2, 0, 2 * PER_GROUP, 0);
	expect_bases(&w, a, NULL, 0);
	begin(&w, 2);
	for (i = 0; i < 2 * PER_GROUP; i++) {
		want = (struct group_ref){ a, i, 1 };
		b = put(&w, i, 1, &want, 1).container;
	}
	assert_int_equal(packer_close(&w.pk, &d), 0);
	do {
		session_get_stats(w.s, &st);
	} while (st.nr_containers < 1);
	assert_int_equal(st.ref_groups, 2);
	assert_int_equal(st.ref_raw_bytes, 2 * PER_GROUP * CHUNK);
	/* Random bytes do not shrink by themselves. */
	assert_in_range(st.ref_saved_bytes, PER_GROUP * CHUNK * 3 / 2,
			2 * PER_GROUP * CHUNK);
	end(&w);
	want = (struct group_ref){ a, 0, PER_GROUP };
	expect_refs(&w, b, 0, 1, &want, 1);
	want.entry = PER_GROUP;
	expect_refs(&w, b, 1, 1, &want, 1);
	expect_bases(&w, b, &a, 1);
	expect_content(&w, b, 1);
	expect_saved(&w, a, b, st.ref_saved_bytes);
	world_release(&w);
}

/* A file of chunk 0 twice and 1 of version @v, and perhaps of one of 32. */
static int cost_of(struct world *w, u32 v, u64 container, bool second,
		   struct store_cost *c, struct akin_diag *d)
{
	struct hint hint = { .nr = 1, .containers = &container };
	struct content ct = { .kind = CONTENT_ENTRIES, .nr = second ? 3 : 2 };
	u8 data[CHUNK];
	u32 i;

	ct.bytes = (ct.nr + 1) * CHUNK;
	for (i = 0; i < ct.nr; i++) {
		make_chunk(i < 2 ? i : PER_GROUP, v, data);
		ct.entries[i].type = i ? RECIPE_CHUNK : RECIPE_REPEAT;
		ct.entries[i].len = CHUNK;
		ct.entries[i].count = i ? 1 : 2;
		hasher_one(w->p->depot.data_hasher, data, CHUNK,
			   &ct.entries[i].fp);
	}
	return store_cost_content(c, &ct, &hint, d);
}

/* Stored bytes of the first @nr groups of @container. */
static u64 stored_of(struct world *w, u64 container, u32 nr)
{
	struct container_reader *r;
	struct akin_diag d = { 0 };
	u64 sum = 0;
	u32 i;

	assert_int_equal(dircache_get(w->p->depot.dirs, container, &r, &d), 0);
	for (i = 0; i < nr; i++)
		sum += container_directory(r)->groups[i].len;
	dircache_put(w->p->depot.dirs, container);
	return sum;
}

static int try_cost(struct world *w, const u64 at[3], u32 nr,
		    struct akin_restore_cost *out, struct akin_diag *d)
{
	struct store_cost *c;
	int err;

	err = store_cost_new(&w->p->depot, &w->p->dec, 1 << 20, &c, d);
	if (err)
		return err;
	err = cost_of(w, 2, at[2], false, c, d);
	if (!err && nr > 1)
		err = cost_of(w, 1, at[1], true, c, d);
	if (!err && nr > 2)
		err = cost_of(w, 3, at[2], false, c, d);
	if (!err)
		err = store_cost_finish(c, NULL, NULL, out, d);
	store_cost_free(c);
	return err;
}

static void test_restore_cost(void **state)
{
	const u64 group = PER_GROUP * CHUNK;
	struct akin_restore_cost r, again;
	struct akin_diag d = { 0 };
	struct world w;
	u64 at[3];
	long n;
	u32 v;
	int err;

	world_init(&w);
	for (v = 0; v < 3; v++)
		at[v] = store_version(&w, 2, v, 2 * PER_GROUP,
				      v ? at[v - 1] : 0);
	if (try_cost(&w, at, 1, &r, &d))
		fail_msg("%s", d.text);
	assert_int_equal(r.bytes_logical, 3 * CHUNK);
	assert_int_equal(r.bytes_unique, 2 * CHUNK);
	assert_int_equal(r.containers, 3);
	assert_int_equal(r.groups, 1);
	assert_int_equal(r.groups_base, 2);
	assert_int_equal(r.depth, 2);
	assert_int_equal(r.bytes_decoded, 3 * group);
	assert_int_equal(r.bytes_read, stored_of(&w, at[0], 1) +
			 stored_of(&w, at[1], 1) + stored_of(&w, at[2], 1));
	assert_int_equal(r.missing + r.unreadable, 0);
	/* What is a base for one file is wanted by another: counted once. */
	assert_int_equal(try_cost(&w, at, 2, &r, &d), 0);
	assert_int_equal(r.bytes_logical, 7 * CHUNK);
	assert_int_equal(r.chunks, 5);
	assert_int_equal(r.groups, 3);
	assert_int_equal(r.groups_base, 2);
	assert_int_equal(r.bytes_decoded, 5 * group);
	assert_int_equal(r.bytes_read, stored_of(&w, at[0], 2) +
			 stored_of(&w, at[1], 2) + stored_of(&w, at[2], 1));

	/* Version 3 is nowhere. */
	assert_int_equal(try_cost(&w, at, 3, &again, &d), 0);
	assert_int_equal(again.missing, 2);
	assert_int_equal(again.bytes_read, r.bytes_read);
	for (n = 1, err = -1; err; n++) {
		memset(&d, 0, sizeof(d));
		mem_fail_after(n);
		err = try_cost(&w, at, 2, &again, &d);
		mem_fail_after(0);
		if (err)
			assert_int_equal(err, -AKIN_E_nomem);
	}
	assert_true(n > 4);
	assert_memory_equal(&again, &r, sizeof(r));
	world_release(&w);
}

/* Twelve versions, each near the one before, for every limit. */
static void test_depth_limits(void **state)
{
	struct group_ref want;
	u64 at[13], base;
	struct world w;
	u8 limit;
	u32 v;

	for (limit = 0; limit <= SESSION_DELTA_DEPTH_MAX; limit++) {
		world_init(&w);
		at[0] = 0;
		for (v = 1; v <= 12; v++) {
			at[v] = store_version(&w, limit, v, PER_GROUP,
					      at[v - 1]);
			if (limit == 0 || v == 1) {
				expect_refs(&w, at[v], 0, 0, NULL, 0);
				continue;
			}
			/* Too deep: what the one before was made from. */
			base = v - 1 <= limit ? at[v - 1] : at[limit];
			want = (struct group_ref){ base, 0, PER_GROUP };
			expect_refs(&w, at[v], 0,
				    (u8)min_u64(v - 1, limit), &want, 1);
			expect_bases(&w, at[v], &base, 1);
		}
		for (v = 1; v <= 12; v++)
			expect_content(&w, at[v], v);
		world_release(&w);
	}
}

/* One session in four stays a level below, whoever takes turns. */
static void test_depth_varies(void **state)
{
	struct session_options opt = { .lock = store_lock_session,
				       .delta_depth = 3, .vary_depth = true };
	u32 i, k, at[4] = { 0 }, low[4] = { 0 };
	struct akin_diag d = { 0 };
	struct session *s;
	struct world w;

	world_init(&w);
	opt.lock_ctx = w.p;
	for (i = 0; i < 128; i++) {
		assert_int_equal(session_begin(&w.p->depot, w.p->catalog, &opt,
					       &s, &d), 0);
		k = session_delta_depth(s);
		assert_in_range(k, 1, 3);
		at[k]++;
		low[i % 4] += k < 3;
		store_unlock_session(w.p, session_number(s));
		session_free(s);
	}
	assert_in_range(at[3], 94, 98);
	assert_in_range(at[2], 22, 26);
	assert_in_range(at[1], 6, 10);
	for (i = 0; i < 4; i++)
		assert_in_range(low[i], 7, 9);
	world_release(&w);
}

/* One chunk is replaced by its own part of its group's origins. */
static void test_redirects_in_proportion(void **state)
{
	struct group_ref near, want;
	struct world w;
	u64 a, b, c;
	u32 i, lo, hi;

	world_init(&w);
	a = store_version(&w, 1, 0, PER_GROUP, 0);
	b = store_version(&w, 1, 1, PER_GROUP, a);
	for (i = 0; i < PER_GROUP; i += 31) {
		begin(&w, 1);
		near = (struct group_ref){ b, i, 1 };
		c = put(&w, i, 2 + i, &near, 1).container;
		end(&w);
		lo = i ? i - 1 : 0;
		hi = i + 2 < PER_GROUP ? i + 2 : PER_GROUP;
		want = (struct group_ref){ a, lo, hi - lo };
		expect_refs(&w, c, 0, 1, &want, 1);
	}
	/* Written under a higher limit: two steps down. */
	c = store_version(&w, 4, 3, PER_GROUP, b);
	want = (struct group_ref){ b, 0, PER_GROUP };
	expect_refs(&w, c, 0, 2, &want, 1);
	c = store_version(&w, 1, 4, PER_GROUP, c);
	want = (struct group_ref){ a, 0, PER_GROUP };
	expect_refs(&w, c, 0, 1, &want, 1);
	world_release(&w);
}

/* Three times the group's size, the best of every chunk first. */
static void test_bounds(void **state)
{
	struct group_ref near, want[4];
	struct world w;
	u64 a, c;
	u32 i;

	world_init(&w);
	a = store_version(&w, 2, 0, 8 * PER_GROUP, 0);
	begin(&w, 2);
	for (i = 0; i < 4; i++) {
		near = (struct group_ref){ a, 64 * i, 1000 };
		want[i] = (struct group_ref){ a, 64 * i, 24 };
		c = put(&w, 64 * i, 1, &near, 1).container;
	}
	end(&w);
	expect_refs(&w, c, 0, 1, want, 4);
	world_release(&w);
}

static void test_many_groups(void **state)
{
	struct group_ref near[24], want[24];
	struct world w;
	u64 a, c;
	u32 i;

	world_init(&w);
	a = store_version(&w, 2, 0, 24 * PER_GROUP / 4, 0);
	begin(&w, 2);
	for (i = 0; i < 24; i++)
		want[i] = near[i] = (struct group_ref){ a, i * PER_GROUP / 4,
							1 };
	/* The best place says which group; four of them lie in it. */
	c = put(&w, 0, 1, near, 24).container;
	end(&w);
	expect_refs(&w, c, 0, 1, want, 4);
	/* Each is the best one of its chunk: there are six groups. */
	begin(&w, 2);
	for (i = 0; i < 24; i++)
		c = put(&w, i * PER_GROUP / 4, 2, near + i, 1).container;
	end(&w);
	expect_refs(&w, c, 0, 1, want, 24);

	/* Seven groups of one chunk each: the first six are used. */
	for (i = 0; i < 7; i++) {
		begin(&w, 2);
		near[i].container = put(&w, i, 50, NULL, 0).container;
		near[i].entry = 0;
		end(&w);
	}
	begin(&w, 2);
	for (i = 0; i < 7; i++)
		c = put(&w, i, 51, near + i, 1).container;
	end(&w);
	expect_refs(&w, c, 0, 1, near, 6);
	world_release(&w);
}

static void wait_sealed(struct session *s, u64 nr)
{
	struct session_stats st;

	do {
		usleep(1000);
		session_get_stats(s, &st);
	} while (st.nr_containers < nr);
}

static void swap(struct packer *a, struct packer *b)
{
	struct packer t = *a;

	*a = *b;
	*b = t;
}

/* What is open, or sealed by another and not yet published, is no base. */
static void test_only_what_stays(void **state)
{
	struct packer other;
	struct group_ref near;
	struct akin_diag d = { 0 };
	struct session *first;
	struct world w;
	u64 a, b, c;
	u32 i;

	world_init(&w);
	begin(&w, 2);
	first = w.s;
	a = put(&w, 0, 0, NULL, 0).container;
	near = (struct group_ref){ a, 0, 1 };
	/* Into its own container, from another one, before it is sealed. */
	put(&w, 1, 0, &near, 1);
	assert_int_equal(packer_init(&other, w.s, CONTAINER_DATA, &d), 0);
	swap(&w.pk, &other);
	b = put(&w, 0, 1, &near, 1).container;
	assert_true(b > a);
	assert_int_equal(packer_close(&w.pk, &d), 0);
	swap(&w.pk, &other);
	assert_int_equal(packer_close(&w.pk, &d), 0);
	wait_sealed(w.s, 2);
	/* Now it is. A smaller number may not refer to a larger one. */
	c = put(&w, 0, 2, &near, 1).container;
	assert_int_equal(packer_close(&w.pk, &d), 0);
	wait_sealed(w.s, 3);
	expect_refs(&w, a, 0, 0, NULL, 0);
	expect_refs(&w, b, 0, 0, NULL, 0);
	expect_refs(&w, c, 0, 1, &near, 1);

	/* A session besides it: only once the catalog names it. */
	packer_release(&other);
	other = w.pk;
	memset(&w.pk, 0, sizeof(w.pk));
	for (i = 0; i < 2; i++) {
		begin(&w, 2);
		b = put(&w, 0, 3 + i, &near, 1).container;
		end(&w);
		expect_refs(&w, b, 0, (u8)i, &near, i);
		w.p->reserve_session = session_number(first);
		if (session_checkpoint(first, &d))
			fail_msg("%s", d.text);
	}
	w.s = first;
	w.pk = other;
	end(&w);
	world_release(&w);
}

/* Bases that are gone, damaged, of another kind, or never were. */
static void test_bad_bases(void **state)
{
	char name[FORMAT_NAME_MAX];
	struct group_ref near, want[2];
	struct akin_diag d = { 0 };
	struct place at;
	struct world w;
	u64 a, b, c;

	world_init(&w);
	a = store_version(&w, 2, 0, PER_GROUP, 0);
	b = store_version(&w, 2, 50, PER_GROUP, 0);
	at = (struct place){ a, 10 };
	assert_int_equal(depot_damage_add(&w.p->depot.damage, &at, NULL), 0);
	c = store_version(&w, 2, 1, PER_GROUP, a);
	want[0] = (struct group_ref){ a, 0, 10 };
	want[1] = (struct group_ref){ a, 11, 21 };
	expect_refs(&w, c, 0, 1, want, 2);

	/* Known to nobody; behind its end; in metadata. */
	begin(&w, 2);
	near = (struct group_ref){ a + 1000, 0, 4 };
	put(&w, 0, 2, &near, 1);
	near = (struct group_ref){ b, PER_GROUP, 4 };
	c = put(&w, 1, 2, &near, 1).container;
	end(&w);
	expect_refs(&w, c, 0, 0, NULL, 0);
	begin(&w, 2);
	w.pk.kind = CONTAINER_METADATA;
	near = (struct group_ref){ b, 0, 4 };
	c = put(&w, 0, 3, &near, 1).container;
	end(&w);
	expect_refs(&w, c, 0, 0, NULL, 0);

	/* A flipped bit in the base; then no base at all. */
	format_container_name(b, 0, name);
	simdisk_flip_bit(w.sp.data, name, 5000, 3);
	c = store_version(&w, 2, 51, PER_GROUP, b);
	expect_refs(&w, c, 0, 0, NULL, 0);
	expect_content(&w, c, 51);
	assert_int_equal(disk_unlink(w.p->data, name, &d), 0);
	dircache_forget(w.p->depot.dirs, b);
	c = store_version(&w, 2, 52, PER_GROUP, b);
	expect_refs(&w, c, 0, 0, NULL, 0);
	expect_content(&w, c, 52);
	world_release(&w);
}

/* Metadata is compressed against metadata, in longer chains than data. */
static void test_metadata(void **state)
{
	struct group_ref near = { 0, 0, 1 }, want;
	struct world w;
	u64 at[12];
	u32 i, base;

	world_init(&w);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		begin(&w, 2);
		w.pk.kind = CONTAINER_METADATA;
		at[i] = put(&w, 0, i, &near, i > 0).container;
		end(&w);
		near.container = at[i];
	}
	/* Beyond the limit, what the predecessor was made from. */
	for (i = 1; i < ARRAY_SIZE(at); i++) {
		base = (u32)min_u64(i - 1, 7);
		want = (struct group_ref){ at[base], 0, 1 };
		expect_refs(&w, at[i], 0, (u8)(base + 1), &want, 1);
	}
	world_release(&w);
}

/* Neighbours that resemble nothing: after a while nobody reads them. */
static void test_rests_on_noise(void **state)
{
	struct group_ref near;
	struct world w;
	u32 i;
	u64 a;

	world_init(&w);
	a = store_version(&w, 2, 0, PER_GROUP, 0);
	begin(&w, 2);
	assert_true(packer_wants_near(&w.pk));
	for (i = 0; i < 12 * PER_GROUP; i++) {
		near = (struct group_ref){ a, i % PER_GROUP, 1 };
		put(&w, 100 + i, 7, &near, 1);
	}
	/* Some groups may still be on their way. */
	for (i = 0; packer_wants_near(&w.pk); i++) {
		assert_true(i < 5000);
		usleep(1000);
	}
	end(&w);
	begin(&w, 0);
	assert_false(packer_wants_near(&w.pk));
	end(&w);
	world_release(&w);
}

/* No allocation whose failure costs more than an error, or references. */
static void test_fail_nth_allocation(void **state)
{
	struct group_ref near;
	struct akin_diag d;
	struct place at;
	struct world w;
	u64 a, n, nr_failed = 0;
	int err, err2;
	u32 i;

	world_init(&w);
	a = store_version(&w, 1, 0, PER_GROUP, 0);
	a = store_version(&w, 1, 1, PER_GROUP, a);
	for (n = 1; n < 400; n += n < 100 ? 1 : 7) {
		memset(&d, 0, sizeof(d));
		begin(&w, 1);
		mem_fail_after(n);
		for (i = 0, err = 0; !err && i < PER_GROUP; i++) {
			near = (struct group_ref){ a, i, 1 };
			err = try_put(&w, i, 10 + (u32)n, &near, 1, &at, &d);
		}
		if (!err)
			err = packer_close(&w.pk, &d);
		mem_fail_after(0);
		if (err) {
			nr_failed++;
			assert_int_equal(err, -AKIN_E_nomem);
			assert_true(d.text[0] != 0);
		}
		memset(&d, 0, sizeof(d));
		err2 = finish(&w, &d);
		if (!err && !err2)
			expect_content(&w, at.container, 10 + (u32)n);
		if (err2)
			assert_int_equal(err2, -AKIN_E_nomem);
	}
	assert_true(nr_failed > 3);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refers_to_neighbours),
		cmocka_unit_test(test_restore_cost),
		cmocka_unit_test(test_depth_limits),
		cmocka_unit_test(test_depth_varies),
		cmocka_unit_test(test_redirects_in_proportion),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_only_what_stays),
		cmocka_unit_test(test_bad_bases),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_rests_on_noise),
		cmocka_unit_test(test_fail_nth_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
