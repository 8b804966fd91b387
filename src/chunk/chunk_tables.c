/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the key to the tables of the cutter.
 *
 * The key is expanded by ChaCha20 (RFC 8439), so that cut positions, from
 * which the tables could be inferred, do not give away the key. The order of
 * the draws is normative: docs/format/chunking.md.
 *
 * A matrix is a word: bit j of M x is the parity of (byte j of M) & x.
 */
#include "chunk/chunk_internal.h"

#define MATRIX_IDENTITY 0x8040201008040201ull

struct keystream {
	u32 state[16];
	u8 block[64];
	unsigned int used;	/* bytes of @block handed out */
};

static inline u32 rotl32(u32 x, unsigned int n)
{
	return x << n | x >> (32 - n);
}

static void quarter_round(u32 *s, int a, int b, int c, int d)
{
	s[a] += s[b];
	s[d] = rotl32(s[d] ^ s[a], 16);
	s[c] += s[d];
	s[b] = rotl32(s[b] ^ s[c], 12);
	s[a] += s[b];
	s[d] = rotl32(s[d] ^ s[a], 8);
	s[c] += s[d];
	s[b] = rotl32(s[b] ^ s[c], 7);
}

static void keystream_init(struct keystream *ks, const u8 key[32])
{
	static const char constant[] = "expand 32-byte k";
	static const char nonce[] = "akin-chunk-1";
	int i;

	for (i = 0; i < 4; i++)
		ks->state[i] = get_le32(constant + 4 * i);
	for (i = 0; i < 8; i++)
		ks->state[4 + i] = get_le32(key + 4 * i);
	ks->state[12] = 0;
	for (i = 0; i < 3; i++)
		ks->state[13 + i] = get_le32(nonce + 4 * i);
	ks->used = sizeof(ks->block);
}

static void keystream_refill(struct keystream *ks)
{
	u32 s[16];
	int i;

	memcpy(s, ks->state, sizeof(s));
	for (i = 0; i < 10; i++) {
		quarter_round(s, 0, 4, 8, 12);
		quarter_round(s, 1, 5, 9, 13);
		quarter_round(s, 2, 6, 10, 14);
		quarter_round(s, 3, 7, 11, 15);
		quarter_round(s, 0, 5, 10, 15);
		quarter_round(s, 1, 6, 11, 12);
		quarter_round(s, 2, 7, 8, 13);
		quarter_round(s, 3, 4, 9, 14);
	}
	for (i = 0; i < 16; i++)
		put_le32(ks->block + 4 * i, s[i] + ks->state[i]);
	ks->state[12]++;
	ks->used = 0;
}

static u64 keystream_next(struct keystream *ks)
{
	u64 v;

	if (ks->used == sizeof(ks->block))
		keystream_refill(ks);
	v = get_le64(ks->block + ks->used);
	ks->used += 8;
	return v;
}

static u8 matrix_apply(u64 m, u8 x)
{
	u8 y = 0;
	int j;

	for (j = 0; j < 8; j++)
		y |= __builtin_parity((u8)(m >> 8 * j) & x) << j;
	return y;
}

/* Gaussian elimination; true if the rank is 8. */
static bool matrix_invertible(u64 m)
{
	u8 row[8], t;
	int i, col, pivot;

	for (i = 0; i < 8; i++)
		row[i] = (u8)(m >> 8 * i);
	for (col = 0; col < 8; col++) {
		for (pivot = col; pivot < 8; pivot++) {
			if (row[pivot] >> col & 1)
				break;
		}
		if (pivot == 8)
			return false;
		t = row[pivot];
		row[pivot] = row[col];
		row[col] = t;
		for (i = col + 1; i < 8; i++) {
			if (row[i] >> col & 1)
				row[i] ^= row[col];
		}
	}
	return true;
}

/*
 * M invertible: every tap keeps all of its byte. I + M invertible: so does a
 * run of equal bytes, hence only one byte value in 256 has runs that are all
 * candidates. About one word in twelve passes.
 */
static u64 draw_matrix(struct keystream *ks)
{
	u64 m;

	do {
		m = keystream_next(ks);
	} while (!matrix_invertible(m) ||
		 !matrix_invertible(m ^ MATRIX_IDENTITY));
	return m;
}

u8 chunk_map(const struct chunk_tables *t, unsigned int level, u8 x)
{
	return t->low[level][x & 15] ^ t->high[level][x >> 4];
}

u8 chunk_run_value(const struct chunk_tables *t, u8 x)
{
	unsigned int l;

	for (l = 0; l < CHUNK_LEVELS; l++)
		x ^= chunk_map(t, l, x);
	return x;
}

/*
 * The contribution of a byte to its own position and to those behind it. Tap
 * k goes through the matrices of the levels whose bits are set in k.
 */
static void init_portable(struct chunk_tables *t)
{
	unsigned int x, k, l;
	u8 y;

	for (x = 0; x < 256; x++) {
		t->gear[x] = 0;
		for (k = 0; k < 8; k++) {
			y = (u8)x;
			for (l = 0; l < 3; l++)
				y = k >> l & 1 ? chunk_map(t, l, y) : y;
			t->gear[x] |= (u64)y << (56 - 8 * k);
		}
		t->wide[x] = 0;
		for (k = 0; k < 4; k++) {
			y = (u8)x;
			for (l = 0; l < 2; l++)
				y = k >> l & 1 ? chunk_map(t, 3 + l, y) : y;
			t->wide[x] |= (u32)y << (24 - 8 * k);
		}
		t->wide[x] ^= (u32)t->target << 24;
	}
}

void chunk_tables_init(struct chunk_tables *t, const u8 key[32])
{
	struct keystream ks;
	unsigned int l, v;
	u64 m;

	keystream_init(&ks, key);
	for (l = 0; l < CHUNK_LEVELS; l++) {
		m = draw_matrix(&ks);
		t->gfni[l] = __builtin_bswap64(m);
		for (v = 0; v < 16; v++) {
			t->low[l][v] = matrix_apply(m, (u8)v);
			t->high[l][v] = matrix_apply(m, (u8)(v << 4));
		}
	}
	/* Runs of 0x00 and 0xff are common: they shall have no candidates. */
	do {
		t->target = (u8)keystream_next(&ks);
	} while (t->target == 0 || t->target == chunk_run_value(t, 0xff));
	for (v = 0; v < ARRAY_SIZE(t->hash_key); v++)
		t->hash_key[v] = keystream_next(&ks);
	init_portable(t);
}
