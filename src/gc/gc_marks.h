/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks: which entries of which containers are needed.
 *
 * Two bits for an entry: *live* (a root leads to it) and *base* (a live or base
 * group refers to it). They are kept for containers from @low up to but not
 * including @high. When memory runs out the lowest containers are given up:
 * @low rises, and they are the next pass's.
 *
 * Thread safety: one caller at a time.
 */
#ifndef GC_MARKS_H
#define GC_MARKS_H

#include "base/types.h"
#include "format/format_container.h"

struct gc_bits {
	u64 container;
	struct gc_bits *chain;	/* the marks' own */
	u32 room;		/* entries there is room for */
	bool whole;		/* all of it is live */
	bool fresh;		/* bits have come since it was last looked at */
	/* Something refers to it that cannot be written anew. */
	bool fixed;
	/* The plan: its entries that only references need are to be left. */
	bool leave;
	/* References of its live groups to entries that nothing else needs. */
	u32 leans;
	u8 *live, *base;
	u8 *seen;		/* groups looked at, by their first entry */
};

struct gc_marks;

/* NULL if out of memory. */
struct gc_marks *gc_marks_new(size_t budget_bytes);
/* NULL is fine. */
void gc_marks_free(struct gc_marks *m);

u64 gc_marks_low(const struct gc_marks *m);
u64 gc_marks_high(const struct gc_marks *m);
/* That they take, of the budget. */
size_t gc_marks_bytes(const struct gc_marks *m);
/* Drop everything; the range is now what lay below it. False: nothing did. */
bool gc_marks_descend(struct gc_marks *m);

/* *new_ret: it had not been live. Out of range: not noted, *new_ret is false
 * and *outside_ret true. -AKIN_E_nomem; -AKIN_E_bad_field for an entry that
 * cannot be. */
int gc_marks_live(struct gc_marks *m, u64 container, u32 entry, bool *new_ret,
		  bool *outside_ret) __must_check;
/* *lone_ret: it is not live. */
int gc_marks_base(struct gc_marks *m, u64 container, u32 entry, bool *lone_ret)
	__must_check;
int gc_marks_whole(struct gc_marks *m, u64 container) __must_check;

/* As if all bits had just come. */
void gc_marks_refresh(struct gc_marks *m);

/* NULL: nothing of it is marked, or it is out of range. */
struct gc_bits *gc_marks_get(struct gc_marks *m, u64 container);
/* The numbers of all containers with marks, descending. Returns owned. */
int gc_marks_list(struct gc_marks *m, u64 **out, u32 *nr_ret) __must_check;

static inline bool gc_bit(const struct gc_bits *b, const u8 *bits, u32 entry)
{
	return entry < b->room && (bits[entry / 8] >> (entry % 8) & 1);
}
/*
 * Was group @g of @d seen before? It is now. Groups go by their first entry;
 * one that is not marked may have no room, and is never seen.
 */
static inline bool gc_see_group(struct gc_bits *b, const struct directory *d,
				const struct dir_group *g)
{
	u32 entry = d->entries[g->first].entry;

	if (entry >= b->room)
		return false;
	if (gc_bit(b, b->seen, entry))
		return true;
	b->seen[entry / 8] |= (u8)(1u << (entry % 8));
	return false;
}
static inline bool gc_is_live(const struct gc_bits *b, u32 entry)
{
	return b && (b->whole || gc_bit(b, b->live, entry));
}
/* Live, or stood on. */
static inline bool gc_is_kept(const struct gc_bits *b, u32 entry)
{
	return gc_is_live(b, entry) || (b && gc_bit(b, b->base, entry));
}
/* Only stood on, and by nothing that could not be written without it. */
static inline bool gc_is_lone(const struct gc_bits *b, u32 entry)
{
	return b && !b->fixed && !gc_is_live(b, entry) &&
	       gc_bit(b, b->base, entry);
}

#endif
