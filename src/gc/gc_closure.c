/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What groups stand on: a group that was compressed against others cannot be
 * decoded without them, so their entries are kept, and what these stand on.
 * That holds for every group of a container of which anything is needed: the
 * next backup may match what is dead in it, for as long as it is there.
 *
 * References lead to smaller container numbers only, so going through the
 * containers from high to low sees everything in one pass; those that come into
 * play only on the way get another. Which groups refer to what stands in the
 * groups' heads; they are read under their checksum, because a wrong answer
 * here loses data.
 *
 * References to containers below the marks' range wait in a spill for the pass
 * that has them.
 */
#include "base/mem.h"
#include "container/container_reader.h"
#include "gc/gc_internal.h"

#define SPILL_BYTES (1 * MiB)
#define REF_BYTES 16

static int compare_refs(const void *a, size_t alen, const void *b, size_t blen)
{
	int c = memcmp(a, b, min_u64(alen, blen));

	return c ? c : (alen > blen) - (alen < blen);
}

static int spill_error(struct spill *sp, int err, struct akin_diag *diag)
{
	const struct akin_diag *d = spill_diag(sp);

	return diag_set(diag, err, "marks: %s", d->code ? d->text :
			akin_strerror(err));
}

static int keep_for_later(struct gc *g, const struct group_ref *ref,
			  struct akin_diag *diag)
{
	u8 rec[REF_BYTES];
	int err = 0;

	if (!g->below)
		err = spill_new(g->depot->meta, DIR_TMP, SPILL_BYTES,
				compare_refs, &g->below);
	if (err)
		return diag_set(diag, err, "marks");
	put_le64(rec, ref->container);
	put_le32(rec + 8, ref->entry);
	put_le32(rec + 12, ref->nr);
	err = spill_add(g->below, rec, sizeof(rec));
	return err ? spill_error(g->below, err, diag) : 0;
}

/* *lone_ret counts entries that nothing but references needs; @fixed: who refers
 * to them is not known, or not ours to write anew. */
static int mark_ref(struct gc *g, const struct group_ref *ref, bool fixed,
		    u32 *lone_ret, struct akin_diag *diag)
{
	struct gc_bits *b;
	bool lone;
	u32 i;
	int err = 0;

	*lone_ret = 0;
	if (ref->container < gc_marks_low(g->marks))
		return keep_for_later(g, ref, diag);
	for (i = 0; !err && i < ref->nr; i++) {
		err = gc_marks_base(g->marks, ref->container, ref->entry + i,
				    &lone);
		*lone_ret += lone;
	}
	if (err)
		return diag_set(diag, err, "marking container %llu",
				(unsigned long long)ref->container);
	b = gc_marks_get(g->marks, ref->container);
	if (b)
		b->fixed |= fixed;
	/* It may have been given up for want of memory. */
	return ref->container < gc_marks_low(g->marks) ?
		       keep_for_later(g, ref, diag) : 0;
}

/* A group that cannot be read keeps everything it may stand on. */
static int mark_bases(struct gc *g, const struct directory *d,
		      struct akin_diag *diag)
{
	struct group_ref all = { .nr = CONTAINER_MAX_ENTRIES };
	u32 i, lone;
	int err = 0;

	for (i = 0; !err && i < d->nr_bases; i++) {
		all.container = d->bases[i];
		err = mark_ref(g, &all, true, &lone, diag);
	}
	return err;
}

static int close_group(struct gc *g, struct container_reader *r, u32 index,
		       struct akin_diag *diag)
{
	const struct directory *d = container_directory(r);
	struct akin_diag why = { 0 };
	u64 number = d->container;
	struct container_group cg;
	struct gc_bits *b = gc_marks_get(g->marks, number);
	bool live = b && gc_has_live(d, index, b), fixed = !b || b->whole;
	u32 i, lone;
	int err;

	err = container_read_group(r, index, &cg, &why);
	if (err && akin_error_class(err) == AKIN_CLASS_CORRUPT)
		return mark_bases(g, d, diag);
	if (err)
		return diag_pass(diag, err, &why);
	for (i = 0; !err && i < cg.header.nr_refs; i++) {
		err = mark_ref(g, &cg.header.refs[i], fixed, &lone, diag);
		/* Looked up anew: marks move and go while others come. */
		b = gc_marks_get(g->marks, number);
		if (b && live)
			b->leans += lone;
	}
	container_group_release(&cg);
	return err;
}

static int close_container(struct gc *g, u64 number, struct akin_diag *diag)
{
	struct container_reader *r;
	const struct directory *d;
	struct gc_bits *b;
	u32 i;
	int err;

	err = dircache_get(g->depot->dirs, number, &r, diag);
	if (err)
		return err;
	d = container_directory(r);
	for (i = 0; !err && d->nr_bases && i < d->nr_groups; i++) {
		b = gc_marks_get(g->marks, number);
		if (!d->groups[i].depth || gc_see_group(b, d, &d->groups[i]))
			continue;
		err = close_group(g, r, i, diag);
		if (!err)
			err = gc_tick(g, diag);
	}
	dircache_put(g->depot->dirs, number);
	return err;
}

/* One descent over what has got new bits; how many had. */
static int descend(struct gc *g, struct akin_diag *diag)
{
	struct gc_bits *b;
	u64 *numbers;
	u32 nr, i;
	int err, done = 0;

	err = gc_marks_list(g->marks, &numbers, &nr);
	if (err)
		return diag_set(diag, err, "marks");
	for (i = 0; !err && i < nr; i++) {
		b = gc_marks_get(g->marks, numbers[i]);
		if (!b || !b->fresh)
			continue;
		b->fresh = false;
		done = 1;
		err = close_container(g, numbers[i], diag);
	}
	mem_free(numbers);
	return err ? err : done;
}

/* What the passes above this one have left. All of it is handed on: what is
 * noted here may have to be given up. */
static int take_from_above(struct gc *g, struct akin_diag *diag)
{
	struct group_ref ref;
	u32 lone;
	const void *rec;
	const u8 *p;
	size_t len;
	int more, err;

	if (!g->above)
		return 0;
	err = spill_finish(g->above);
	if (err)
		return spill_error(g->above, err, diag);
	while ((more = spill_next(g->above, &rec, &len)) > 0) {
		p = rec;
		ref.container = get_le64(p);
		ref.entry = get_le32(p + 8);
		ref.nr = get_le32(p + 12);
		if (ref.container >= gc_marks_high(g->marks))
			continue;
		err = keep_for_later(g, &ref, diag);
		if (!err)
			err = mark_ref(g, &ref, true, &lone, diag);
		if (err)
			return err;
	}
	if (more < 0)
		return spill_error(g->above, more, diag);
	spill_free(g->above);
	g->above = NULL;
	return 0;
}

int gc_close(struct gc *g, struct akin_diag *diag)
{
	u64 low;
	int more;

	more = take_from_above(g, diag);
	if (more)
		return more;
	do {
		low = gc_marks_low(g->marks);
		do {
			more = descend(g, diag);
		} while (more > 0);
		/* What was noted of containers given up since is lost: say it
		 * all again, into the spill. */
		if (gc_marks_low(g->marks) != low)
			gc_marks_refresh(g->marks);
	} while (!more && gc_marks_low(g->marks) != low);
	return more;
}
