/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which containers are missing: a bitmap of those that the catalog names, from
 * which those that are listed are cleared. Pools of more than WINDOW
 * containers take more than one round.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/store_sound.h"
#include "verify/verify_content.h"

/* A mebibyte of bits: 64 TiB of containers of the usual size. */
#define WINDOW (8 * MiB)
#define SEEN_BYTES (2 * MiB)

struct store_soundness {
	struct depot *depot;
	struct decoder *dec;
	struct content_checker *checker;	/* made on first use */
};

struct missing {
	u64 base;		/* number of bit 0 */
	u64 max;		/* highest number named */
	u8 *bits;
};

static int load_mark(void *ctx, const struct catalog_damage *row)
{
	struct akin_pool *p = ctx;

	return depot_damage_add(&p->depot.damage, &row->place, NULL);
}

int store_damage_load(struct akin_pool *p, struct akin_diag *diag)
{
	int err;

	err = catalog_each_damage(p->catalog, load_mark, p, diag);
	return err ? diag_set(diag, err, "marks of damage") : 0;
}

static int expect(void *ctx, const struct catalog_container *row)
{
	struct missing *m = ctx;
	u64 bit = row->number - m->base;

	m->max = max_u64(m->max, row->number);
	if (row->number >= m->base && bit < WINDOW && !row->condemned_txn)
		m->bits[bit / 8] |= (u8)(1u << (bit % 8));
	return 0;
}

static int is_there(void *ctx, const char *name, bool is_dir)
{
	struct missing *m = ctx;
	char *end;
	u64 bit = strtoull(name, &end, 16) - m->base;

	if (!is_dir && *end == '.' && bit < WINDOW)
		m->bits[bit / 8] &= (u8)~(1u << (bit % 8));
	return 0;
}

static int add_missing(struct akin_pool *p, const struct missing *m)
{
	struct place at = { 0, DAMAGE_WHOLE };
	u64 i;
	int err = 0;

	for (i = 0; !err && i < WINDOW; i++) {
		if (m->bits[i / 8] == 0) {
			i |= 7;
			continue;
		}
		if (!(m->bits[i / 8] >> (i % 8) & 1))
			continue;
		at.container = m->base + i;
		err = depot_damage_add(&p->depot.damage, &at, NULL);
	}
	return err;
}

/* One window: *m->max tells whether there is another. */
static int find_missing(struct akin_pool *p, struct missing *m,
			struct akin_diag *diag)
{
	char dir[FORMAT_NAME_MAX];
	u32 i;
	int err;

	memset(m->bits, 0, WINDOW / 8);
	err = catalog_each_container(p->catalog, expect, m, diag);
	for (i = 0; !err && i < 256; i++) {
		snprintf(dir, sizeof(dir), DIR_CONTAINERS "/%02x", i);
		err = disk_list(p->data, dir, is_there, m, diag);
		/* A folder that is gone holds nothing. */
		if (err == -AKIN_E_absent) {
			diag_clear(diag);
			err = 0;
		}
	}
	if (!err)
		err = add_missing(p, m);
	return err;
}

int store_soundness_new(struct akin_pool *p, struct decoder *dec,
			struct store_soundness **out, struct akin_diag *diag)
{
	struct store_soundness *s = mem_zalloc(sizeof(*s));
	struct akin_diag why = { 0 };
	struct missing m = { .base = 1 };
	int err = 0;

	m.bits = mem_alloc(WINDOW / 8);
	if (!s || !m.bits)
		err = -AKIN_E_nomem;
	for (; !err; m.base += WINDOW) {
		err = find_missing(p, &m, &why);
		if (m.max < m.base + WINDOW)
			break;
	}
	mem_free(m.bits);
	if (err) {
		mem_free(s);
		return diag_set(diag, err, "listing containers: %s",
				why.code ? why.text : akin_strerror(err));
	}
	s->depot = &p->depot;
	s->dec = dec;
	*out = s;
	return 0;
}

void store_soundness_free(struct store_soundness *s)
{
	if (s)
		content_checker_free(s->checker);
	mem_free(s);
}

bool store_content_is_sound(struct store_soundness *s,
			    const struct content *ct, const struct hint *hint)
{
	struct content_verdict verdict;

	if (!depot_damage_any(&s->depot->damage))
		return true;
	if (!s->checker) {
		if (content_checker_new(s->depot, s->dec, SEEN_BYTES,
					&s->checker, NULL))
			return false;
		content_checker_doubt_bases(s->checker);
	}
	return !content_checker_check(s->checker, ct, hint, &verdict, NULL) &&
	       verdict.nr_bad == 0;
}
