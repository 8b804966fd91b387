/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which content is where.
 *
 * Contents are sorted into classes by how often they occur. Laid side by side
 * their occurrences make as many slots as there are units; a permutation, which
 * is computed and not stored, says which slot a unit has. So counts are exact,
 * unlike those of who draws at random, and any unit can be made alone.
 *
 * The permutation is a Feistel network of four rounds over the next even number
 * of bits; what falls outside is permuted again (Black and Rogaway, 2002).
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen_internal.h"

#define ROUNDS 4
#define MAX_CLASSES 100000

int loadgen_fail(struct akin_diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d && !d->code) {
		d->code = code;
		va_start(ap, fmt);
		vsnprintf(d->text, sizeof(d->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

static int add_class(struct loadgen *l, uint64_t copies, uint64_t nr)
{
	struct loadgen_class *p;

	if (!nr || !copies)
		return 0;
	p = realloc(l->classes, (l->nr_classes + 1) * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	l->classes = p;
	p += l->nr_classes++;
	p->copies = copies;
	p->nr = nr;
	return 0;
}

/* @slots occurrences of @nr contents, as evenly as can be. */
static int spread(struct loadgen *l, uint64_t slots, uint64_t nr)
{
	uint64_t more = nr ? slots % nr : 0;
	int err;

	if (!nr)
		return 0;
	err = add_class(l, slots / nr, nr - more);
	return err ? err : add_class(l, slots / nr + 1, more);
}

static int plan_random(struct loadgen *l)
{
	uint64_t once = (uint64_t)llround((double)l->units *
					  l->opt.random_share);
	uint64_t rest = l->units - once, set = l->opt.set_units;
	int err;

	if (!set)
		set = l->units / 100;
	if (!set && rest)
		set = 1;
	if (set > rest)
		set = rest;
	err = add_class(l, 1, once);
	return err ? err : spread(l, rest, set);
}

/* "DUPLICATES CONTENTS" a line. */
int loadgen_read_distribution(FILE *f, const char *path,
			      struct loadgen_class **lines, uint32_t *nr_ret,
			      struct akin_diag *diag)
{
	unsigned long long duplicates, contents;
	struct loadgen_class *p;
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		if (line[strspn(line, " \t\r\n")] == 0)
			continue;
		if (sscanf(line, "%llu %llu", &duplicates, &contents) != 2 ||
		    duplicates > UINT32_MAX || contents > (1ull << 48) ||
		    *nr_ret == MAX_CLASSES)
			return loadgen_fail(diag, -AKIN_E_usage, "%s: line %u "
					    "is not 'DUPLICATES CONTENTS'",
					    path, *nr_ret + 1);
		p = realloc(*lines, (*nr_ret + 1) * sizeof(*p));
		if (!p)
			return loadgen_fail(diag, -AKIN_E_nomem, "%s", path);
		*lines = p;
		p[*nr_ret].copies = duplicates + 1;
		p[(*nr_ret)++].nr = contents;
	}
	return 0;
}

static int open_distribution(const char *path, struct loadgen_class **lines,
			     uint32_t *nr_ret, struct akin_diag *diag)
{
	FILE *f = fopen(path, "r");
	int err;

	if (!f)
		return loadgen_fail(diag, -AKIN_E_absent, "%s: %s", path,
				    strerror(errno));
	err = loadgen_read_distribution(f, path, lines, nr_ret, diag);
	fclose(f);
	return err;
}

/* Scaled to the units there are; what rounding leaves over occurs once. */
static int plan_distribution(struct loadgen *l, struct akin_diag *diag)
{
	struct loadgen_class *lines = NULL;
	uint64_t used = 0, nr;
	double total = 0, scale;
	uint32_t nr_lines = 0, i;
	int err;

	err = open_distribution(l->opt.distribution, &lines, &nr_lines, diag);
	for (i = 0; i < nr_lines; i++)
		total += (double)lines[i].copies * (double)lines[i].nr;
	if (!err && total == 0)
		err = loadgen_fail(diag, -AKIN_E_usage, "%s: no contents",
				   l->opt.distribution);
	scale = (double)l->units / total;
	for (i = 0; !err && i < nr_lines; i++) {
		nr = (uint64_t)((double)lines[i].nr * scale + 1e-9);
		if (nr > (l->units - used) / lines[i].copies)
			nr = (l->units - used) / lines[i].copies;
		used += nr * lines[i].copies;
		err = add_class(l, lines[i].copies, nr);
	}
	if (!err)
		err = add_class(l, 1, l->units - used);
	free(lines);
	return err;
}

static void number_classes(struct loadgen *l)
{
	uint64_t slot = 0;
	uint32_t i;

	for (i = 0; i < l->nr_classes; i++) {
		l->classes[i].first_slot = slot;
		l->classes[i].first_content = l->distinct;
		slot += l->classes[i].copies * l->classes[i].nr;
		l->distinct += l->classes[i].nr;
	}
	while (l->half_bits < 31 &&
	       l->units > (uint64_t)1 << (2 * l->half_bits))
		l->half_bits++;
}

int loadgen_make_plan(struct loadgen *l, struct akin_diag *diag)
{
	const struct loadgen_options *o = &l->opt;
	uint64_t distinct;
	int err;

	if (o->trace)
		return loadgen_read_trace(l, diag);
	l->stream_units = (o->stream_bytes + o->unit_bytes - 1) / o->unit_bytes;
	l->units = l->stream_units * o->nr_streams;
	l->stream_bytes = l->stream_units * o->unit_bytes;
	if (o->distribution) {
		err = plan_distribution(l, diag);
	} else if (o->dedup > 0) {
		distinct = (uint64_t)llround((double)l->units / o->dedup);
		err = spread(l, l->units, distinct ? distinct : 1);
	} else if (o->random_share >= 0) {
		err = plan_random(l);
	} else {
		err = add_class(l, 1, l->units);
	}
	if (err)
		return loadgen_fail(diag, err, "a plan for so many units");
	number_classes(l);
	return 0;
}

static uint64_t permute_once(const struct loadgen *l, uint64_t x)
{
	uint64_t mask = ((uint64_t)1 << l->half_bits) - 1;
	uint64_t left = x >> l->half_bits, right = x & mask, t;
	uint64_t round;

	for (round = 0; round < ROUNDS; round++) {
		t = left ^ (loadgen_mix2(l->opt.seed + round, right) & mask);
		left = right;
		right = t;
	}
	return left << l->half_bits | right;
}

uint64_t loadgen_content(const struct loadgen *l, uint64_t unit)
{
	const struct loadgen_class *c = l->classes;
	uint32_t low = 0, high = l->nr_classes, mid;
	uint64_t slot = unit;

	do {
		slot = permute_once(l, slot);
	} while (slot >= l->units);
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (c[mid].first_slot <= slot)
			low = mid;
		else
			high = mid;
	}
	slot -= c[low].first_slot;
	return c[low].first_content + slot / c[low].copies;
}

bool loadgen_is_similar(const struct loadgen *l, uint64_t content)
{
	double p = l->opt.similar_share;

	return content < LOADGEN_FRESH && content > 0 &&
	       floor((double)(content + 1) * p) > floor((double)content * p);
}
