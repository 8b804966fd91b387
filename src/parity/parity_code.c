/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coefficients and their inversion; the bytes go through ISA-L.
 *
 * With e data sectors lost, e sound parity rows are e equations in them:
 *
 *	sum over lost j of c(r, j) D(j)  =  P(r) + sum over sound j of c(r, j) D(j)
 *
 * Their matrix is a part of a Cauchy matrix and can always be inverted. What
 * the inverse makes of the right side is one linear combination of k sound
 * sectors for each lost one, so one pass over them heals all.
 */
#include <isa-l.h>

#include "akin/error.h"
#include "base/check.h"
#include "base/mem.h"
#include "parity/parity_code.h"

/* Of expanded coefficients, as ec_init_tables() has it. */
#define TABLE_BYTES 32

struct parity_coder {
	u32 k, m;
	u8 *tables;		/* of all rows */
};

static u8 coefficient(u32 row, u32 j)
{
	return gf_inv((u8)((255 - row) ^ j));
}

struct parity_coder *parity_coder_new(u32 k, u32 m)
{
	struct parity_coder *c = mem_zalloc(sizeof(*c));
	u8 *matrix = mem_alloc((size_t)k * m);
	u32 r, j;

	akin_assert(k && m && k + m <= 255);
	if (c)
		c->tables = mem_alloc((size_t)k * m * TABLE_BYTES);
	if (!c || !matrix || !c->tables) {
		mem_free(matrix);
		parity_coder_free(c);
		return NULL;
	}
	c->k = k;
	c->m = m;
	for (r = 0; r < m; r++)
		for (j = 0; j < k; j++)
			matrix[r * k + j] = coefficient(r, j);
	ec_init_tables((int)k, (int)m, matrix, c->tables);
	mem_free(matrix);
	return c;
}

void parity_coder_free(struct parity_coder *c)
{
	if (!c)
		return;
	mem_free(c->tables);
	mem_free(c);
}

/* ISA-L takes what it only reads without const. */
static u8 *unconst(const u8 *p)
{
	union { const u8 *in; u8 *out; } u = { p };

	return u.out;
}

void parity_coder_add(const struct parity_coder *c, u32 j, const u8 *data,
		      u8 *const *parity, size_t len)
{
	u8 *rows[255];

	akin_assert(j < c->k);
	memcpy(rows, parity, c->m * sizeof(*rows));
	ec_encode_data_update((int)len, (int)c->k, (int)c->m, (int)j,
			      c->tables, unconst(data), rows);
}

/* Who is lost, and who makes up for it. */
struct healing {
	u32 nr;			/* sectors that are lost */
	u8 lost[255], rows[255];
	u8 *from[255], *to[255];
};

static int choose(const struct parity_coder *c, const bool *lost,
		  u8 *const *data, u8 *const *parity, struct healing *h)
{
	u32 j, r, n = 0, sound = 0;

	h->nr = 0;
	for (j = 0; j < c->k; j++) {
		if (lost[j]) {
			h->to[h->nr] = data[j];
			h->lost[h->nr++] = (u8)j;
		} else {
			h->from[sound++] = data[j];
		}
	}
	for (r = 0; r < c->m && n < h->nr; r++) {
		if (lost[c->k + r])
			continue;
		h->from[sound++] = parity[r];
		h->rows[n++] = (u8)r;
	}
	return n < h->nr ? -AKIN_E_bad_data : 0;
}

/* Row @b of @out: what the k sources of @h contribute to lost sector @b. */
static void combine(const struct parity_coder *c, const bool *lost,
		    const struct healing *h, const u8 *inverse, u32 b, u8 *out)
{
	u32 j, a, n = 0;
	u8 v;

	for (j = 0; j < c->k; j++) {
		if (lost[j])
			continue;
		for (v = 0, a = 0; a < h->nr; a++)
			v ^= gf_mul(inverse[b * h->nr + a],
				    coefficient(h->rows[a], j));
		out[n++] = v;
	}
	memcpy(out + n, inverse + b * h->nr, h->nr);
}

static int solve(const struct parity_coder *c, const bool *lost,
		 const struct healing *h, u8 *system, u8 *inverse, u8 *matrix)
{
	u32 a, b;

	for (a = 0; a < h->nr; a++)
		for (b = 0; b < h->nr; b++)
			system[a * h->nr + b] = coefficient(h->rows[a],
							    h->lost[b]);
	if (gf_invert_matrix(system, inverse, (int)h->nr))
		return -AKIN_E_internal;
	for (b = 0; b < h->nr; b++)
		combine(c, lost, h, inverse, b, matrix + b * c->k);
	return 0;
}

int parity_coder_heal(const struct parity_coder *c, const bool *lost,
		      u8 *const *data, u8 *const *parity, size_t len)
{
	u8 *system, *inverse, *matrix, *tables;
	struct healing h;
	size_t n;
	int err;

	err = choose(c, lost, data, parity, &h);
	if (err || !h.nr)
		return err;
	n = h.nr;
	system = mem_alloc(n * n * 2 + n * c->k * (1 + TABLE_BYTES));
	if (!system)
		return -AKIN_E_nomem;
	inverse = system + n * n;
	matrix = inverse + n * n;
	tables = matrix + n * c->k;
	err = solve(c, lost, &h, system, inverse, matrix);
	if (!err) {
		ec_init_tables((int)c->k, (int)n, matrix, tables);
		ec_encode_data((int)len, (int)c->k, (int)n, tables, h.from,
			       h.to);
	}
	mem_free(system);
	return err;
}
