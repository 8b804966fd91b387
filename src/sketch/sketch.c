/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From samples to super-features; the arithmetic is normative, see
 * docs/format/directory.md.
 */
#include "base/diag.h"
#include "base/mem.h"
#include "hash/hash.h"
#include "sketch/sketch.h"

#define FEATURES_PER_PART 4
#define NR_FEATURES (DIR_SKETCH_PARTS * FEATURES_PER_PART)
/* Fewer say nothing: their greatest values are all the same. */
#define SAMPLES_MIN 4

struct sketcher {
	const struct chunker *chunker;
	/* Feature k is the maximum of h * mul[k] + add[k], modulo 2^64. */
	u64 mul[NR_FEATURES], add[NR_FEATURES];
};

int sketcher_new(const struct chunker *c, const u8 key[32],
		 struct sketcher **out, struct akin_diag *diag)
{
	struct sketcher *s = mem_zalloc(sizeof(*s));
	u8 block[33], drawn[32];
	u32 k;

	if (!s)
		return diag_set(diag, -AKIN_E_nomem, "sketches");
	s->chunker = c;
	memcpy(block, key, 32);
	for (k = 0; k < NR_FEATURES; k++) {
		block[32] = (u8)k;
		hash_derive_key("akin 2026 sketch feature", block,
				sizeof(block), drawn);
		/* Odd: no two samples become one. */
		s->mul[k] = get_le64(drawn) | 1;
		s->add[k] = get_le64(drawn + 8);
	}
	*out = s;
	return 0;
}

void sketcher_free(struct sketcher *s)
{
	mem_free(s);
}

/* Both halves of the 128-bit product, folded. */
static inline u64 fold(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (u64)product ^ (u64)(product >> 64);
}

/* Four features in 32 bits, not zero, which is none. */
static u32 join(const struct sketcher *s, const u64 *f, u32 part)
{
	const u64 *mul = s->mul + part * FEATURES_PER_PART;
	u64 h = 0;
	u32 k;

	for (k = 0; k < FEATURES_PER_PART; k++)
		h = fold(h ^ f[k], mul[k]);
	h ^= h >> 32;
	return (u32)h ? (u32)h : 1;
}

bool sketch_from(const struct sketcher *s, const u64 *samples, size_t nr,
		 struct dir_sketch *out)
{
	u64 f[NR_FEATURES] = { 0 }, v;
	size_t i;
	u32 k;

	memset(out, 0, sizeof(*out));
	if (nr < SAMPLES_MIN)
		return false;
	for (i = 0; i < nr; i++) {
		for (k = 0; k < NR_FEATURES; k++) {
			v = samples[i] * s->mul[k] + s->add[k];
			f[k] = v > f[k] ? v : f[k];
		}
	}
	for (k = 0; k < DIR_SKETCH_PARTS; k++)
		out->part[k] = join(s, f + k * FEATURES_PER_PART, k);
	return true;
}

bool sketch_make(const struct sketcher *s, const u8 *data, size_t n,
		 struct dir_sketch *out)
{
	u64 samples[CHUNK_SAMPLES_MAX];

	return sketch_from(s, samples,
			   chunker_sample(s->chunker, data, n, samples), out);
}
