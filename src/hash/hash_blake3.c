/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keyed BLAKE3 of many messages at once.
 *
 * The messages of a batch are taken in rounds of up to ROUND_LEAVES leaves.
 * A round hashes
 *
 *   1. the full leaves of all messages, as they come, BLAKE3_WIDE at a time;
 *   2. the short last leaves, sorted by their number of blocks so that lanes
 *      which run together end together, and what was left over from 1;
 *   3. pairs of chaining values, one level of all trees after the other. At
 *      every level neighbours are paired from the left and an odd last one
 *      moves up as it is, which gives the tree of the specification (the left
 *      subtree is the largest power of two).
 *
 * Chaining values lie at the message's first leaf number of the round (@base)
 * in one of two arrays: a level reads one and writes the other.
 *
 * Messages longer than a round have leaves enough of their own and go to the
 * BLAKE3 project's code, as does everything where no kernel fits.
 *
 * I1. Jobs of one kernel call never read what the same call writes: leaves
 *     read input, pairs read the other array.
 * I2. A round has at most ROUND_LEAVES leaves, hence messages, short leaves
 *     and chaining values.
 */
#include <blake3.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "hash/hash_internal.h"

/*
 * 512 KiB of input a round: about 50 chunks of a usual batch, so that levels
 * up to the fourth still fill 32 lanes. More only costs cache: chaining values
 * are 32 bytes a leaf.
 */
#define ROUND_LEAVES 512

static_assert(ROUND_LEAVES >= 4 * BLAKE3_WIDE, "levels must fill the lanes");

/* A message of this round that has more than one chaining value left. */
struct tree {
	u32 base;
	u32 nr;
	struct fp *out;
};

struct hash_scratch {
	u8 cv[2][ROUND_LEAVES][BLAKE3_CV];
	u8 tail[ROUND_LEAVES][BLAKE3_BLOCK];	/* last blocks, padded */
	struct blake3_job wide[BLAKE3_WIDE];	/* jobs as they come */
	struct blake3_job shorts[ROUND_LEAVES + BLAKE3_WIDE];
	struct tree trees[ROUND_LEAVES];
	size_t nr_wide, nr_shorts, nr_trees;
};

/* One round of one batch. */
struct round {
	const struct blake3_kernel *kernel;
	const u32 *key;
	struct hash_scratch *s;
};

/* From the best to the one that always works. */
static const struct blake3_kernel kernels[] = {
#if defined(__x86_64__)
	{ "blake3/avx512", CPU_AVX512, blake3_run_avx512 },
	{ "blake3/avx2", CPU_AVX2, blake3_run_avx2 },
#endif
	{ "blake3/library", CPU_PORTABLE, NULL },
};

int hash_scratch_new(struct hash_scratch **out, struct akin_diag *d)
{
	*out = mem_aligned(BLAKE3_BLOCK, sizeof(**out));
	if (!*out)
		return diag_set(d, -AKIN_E_nomem,
				"no memory for hashing (%zu bytes)",
				sizeof(**out));
	return 0;
}

void hash_scratch_free(struct hash_scratch *s)
{
	mem_free(s);
}

size_t hash_scratch_bytes(void)
{
	return sizeof(struct hash_scratch);
}

static u32 leaves_of(u32 len)
{
	return len ? (u32)(((u64)len + BLAKE3_LEAF - 1) / BLAKE3_LEAF) : 1;
}

/* Is the last leaf short of 1,024 bytes? An empty message has an empty one. */
static bool has_short_leaf(u32 len)
{
	return len == 0 || len % BLAKE3_LEAF != 0;
}

static u32 blocks_of_short(u32 len)
{
	u32 rest = len % BLAKE3_LEAF;

	return rest ? (rest + BLAKE3_BLOCK - 1) / BLAKE3_BLOCK : 1;
}

static void wide_flush(struct round *r)
{
	if (r->s->nr_wide)
		r->kernel->run(r->s->wide, r->s->nr_wide, r->key);
	r->s->nr_wide = 0;
}

static struct blake3_job *wide_add(struct round *r)
{
	if (r->s->nr_wide == BLAKE3_WIDE)
		wide_flush(r);
	return &r->s->wide[r->s->nr_wide++];
}

static void add_full_leaves(struct round *r, const struct hash_item *it,
			    const struct tree *t)
{
	u32 nr = it->len / BLAKE3_LEAF;
	u32 i;

	for (i = 0; i < nr; i++) {
		struct blake3_job *j = wide_add(r);

		j->in = it->data + (size_t)i * BLAKE3_LEAF;
		j->last = j->in + BLAKE3_LEAF - BLAKE3_BLOCK;
		j->out = t->nr == 1 ? t->out->b : r->s->cv[0][t->base + i];
		j->counter = i;
		j->nr_blocks = BLAKE3_LEAF_BLOCKS;
		j->last_len = BLAKE3_BLOCK;
		j->flags_first = BLAKE3_CHUNK_START;
		j->flags_last = BLAKE3_CHUNK_END |
				(t->nr == 1 ? BLAKE3_ROOT : 0);
	}
}

/* @slot: its place in the order by number of blocks. */
static void add_short_leaf(struct round *r, const struct hash_item *it,
			   const struct tree *t, u32 slot)
{
	struct blake3_job *j = &r->s->shorts[slot];
	u32 leaf = t->nr - 1;
	u32 rest = it->len % BLAKE3_LEAF;
	u8 *tail = r->s->tail[slot];

	j->nr_blocks = (u8)blocks_of_short(it->len);
	j->last_len = (u8)(rest - (j->nr_blocks - 1) * BLAKE3_BLOCK);
	j->in = it->data;
	if (leaf)
		j->in += (size_t)leaf * BLAKE3_LEAF;
	memset(tail, 0, BLAKE3_BLOCK);
	if (j->last_len)
		memcpy(tail, j->in + (j->nr_blocks - 1) * BLAKE3_BLOCK,
		       j->last_len);
	j->last = tail;
	j->out = leaf == 0 ? t->out->b : r->s->cv[0][t->base + leaf];
	j->counter = leaf;
	j->flags_first = BLAKE3_CHUNK_START;
	j->flags_last = BLAKE3_CHUNK_END | (leaf == 0 ? BLAKE3_ROOT : 0);
}

/*
 * slot[b] = where in the shorts those of b blocks begin. What is left of the
 * full leaves comes behind them all.
 */
static void sort_shorts(struct round *r, const struct hash_item *items,
			size_t n, u32 slot[BLAKE3_LEAF_BLOCKS + 1])
{
	u32 count[BLAKE3_LEAF_BLOCKS + 1] = { 0 };
	size_t i;
	u32 b, at = 0;

	for (i = 0; i < n; i++) {
		if (has_short_leaf(items[i].len))
			count[blocks_of_short(items[i].len)]++;
	}
	for (b = 1; b <= BLAKE3_LEAF_BLOCKS; b++) {
		slot[b] = at;
		at += count[b];
	}
	r->s->nr_shorts = at;
}

/* Steps 1 and 2. */
static void hash_leaves(struct round *r, const struct hash_item *items,
			size_t n, struct fp *out)
{
	struct hash_scratch *s = r->s;
	u32 slot[BLAKE3_LEAF_BLOCKS + 1];
	struct tree t = { 0 };
	size_t i;

	s->nr_wide = 0;
	s->nr_trees = 0;
	sort_shorts(r, items, n, slot);
	for (i = 0; i < n; i++) {
		t.nr = leaves_of(items[i].len);
		t.out = &out[i];
		add_full_leaves(r, &items[i], &t);
		if (has_short_leaf(items[i].len))
			add_short_leaf(r, &items[i], &t,
				       slot[blocks_of_short(items[i].len)]++);
		if (t.nr > 1)
			s->trees[s->nr_trees++] = t;
		t.base += t.nr;
	}
	akin_dcheck(t.base <= ROUND_LEAVES); /* I2 */
	memcpy(&s->shorts[s->nr_shorts], s->wide,
	       s->nr_wide * sizeof(s->wide[0]));
	s->nr_shorts += s->nr_wide;
	s->nr_wide = 0;
	if (s->nr_shorts)
		r->kernel->run(s->shorts, s->nr_shorts, r->key);
}

/* One level of one tree, read from cv[side], written to cv[!side]. */
static void add_pairs(struct round *r, struct tree *t, int side)
{
	u8 (*from)[BLAKE3_CV] = &r->s->cv[side][t->base];
	u8 (*to)[BLAKE3_CV] = &r->s->cv[!side][t->base];
	u32 i, nr = t->nr / 2;

	for (i = 0; i < nr; i++) {
		struct blake3_job *j = wide_add(r);

		j->in = j->last = from[2 * i];
		j->out = t->nr == 2 ? t->out->b : to[i];
		j->counter = 0;
		j->nr_blocks = 1;
		j->last_len = BLAKE3_BLOCK;
		j->flags_first = BLAKE3_PARENT;
		j->flags_last = t->nr == 2 ? BLAKE3_ROOT : 0;
	}
	if (t->nr % 2)
		memcpy(to[nr], from[t->nr - 1], BLAKE3_CV);
	t->nr = nr + t->nr % 2;
}

/* Step 3. */
static void hash_pairs(struct round *r)
{
	struct hash_scratch *s = r->s;
	size_t i, left;
	int side;

	for (side = 0; s->nr_trees; side = !side) {
		left = 0;
		for (i = 0; i < s->nr_trees; i++) {
			add_pairs(r, &s->trees[i], side);
			if (s->trees[i].nr > 1)
				s->trees[left++] = s->trees[i];
		}
		wide_flush(r);
		s->nr_trees = left;
	}
}

static void library_one(const u8 key[HASH_KEY_BYTES], const void *data,
			size_t n, struct fp *out)
{
	blake3_hasher b;

	blake3_hasher_init_keyed(&b, key);
	blake3_hasher_update(&b, data, n);
	blake3_hasher_finalize(&b, out->b, sizeof(out->b));
}

/* Hash as many items as fit into a round; returns how many, maybe 0. */
static size_t hash_round(struct round *r, const struct hash_item *items,
			 size_t n, struct fp *out)
{
	u32 leaves = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		u32 more = leaves_of(items[i].len);

		if (leaves + more > ROUND_LEAVES)
			break;
		leaves += more;
	}
	if (i == 0)
		return 0;
	hash_leaves(r, items, i, out);
	hash_pairs(r);
	return i;
}

static void blake3_batch(const struct hasher *h, struct hash_scratch *s,
			 const struct hash_item *items, size_t n,
			 struct fp *out)
{
	struct round r = { h->blake3.kernel, h->blake3.words, s };
	size_t i, now;

	for (i = 0; i < n; i += now) {
		/* A single message would leave most lanes empty. */
		now = 0;
		if (r.kernel->run && n - i > 1)
			now = hash_round(&r, items + i, n - i, out + i);
		if (now == 0) {
			library_one(h->key, items[i].data, items[i].len,
				    &out[i]);
			now = 1;
		}
	}
}

static void blake3_one(const struct hasher *h, const void *data, size_t n,
		       struct fp *out)
{
	library_one(h->key, data, n, out);
}

static void blake3_expand(struct hasher *h)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(h->blake3.words); i++)
		h->blake3.words[i] = get_le32(h->key + 4 * i);
}

bool blake3_kernel_agrees(const struct blake3_kernel *k,
			  struct hash_scratch *s)
{
	/* 48 full leaves for the widest loop; short ones of all kinds. */
	static const u32 lens[] = {
		0,    1,    63,	  64,	65,   127,  1023, 1024,
		1025, 2047, 2048, 3073, 4096, 5121, 8192, 9000,
		7168, 7777, 3500, 960,
	};
	struct hasher h = { .ops = &hash_ops_blake3 };
	struct hash_item items[ARRAY_SIZE(lens)];
	struct fp got[ARRAY_SIZE(lens)], want;
	u8 data[9000 + ARRAY_SIZE(lens)];
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 167 + (i >> 8));
	memcpy(h.key, data, sizeof(h.key));
	blake3_expand(&h);
	h.blake3.kernel = k;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		items[i].data = data + i;
		items[i].len = lens[i];
	}
	memset(got, 0, sizeof(got));
	blake3_batch(&h, s, items, ARRAY_SIZE(lens), got);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		library_one(data, items[i].data, items[i].len, &want);
		if (!fp_equal(&got[i], &want))
			return false;
	}
	return true;
}

static void blake3_init(struct hasher *h, struct hash_scratch *s)
{
	const struct blake3_kernel *k = kernels;
	enum cpu_level level = cpu_level();

	/* The last one has no lanes and needs no test. */
	while (k->run && (level < k->level || !blake3_kernel_agrees(k, s)))
		k++;
	h->blake3.kernel = k;
}

static const char *blake3_kernel_name(const struct hasher *h)
{
	return h->blake3.kernel->name;
}

const struct hash_ops hash_ops_blake3 = {
	.name = "blake3",
	.id = HASH_BLAKE3,
	.init = blake3_init,
	.expand = blake3_expand,
	.kernel = blake3_kernel_name,
	.one = blake3_one,
	.batch = blake3_batch,
};
